//! `x[…]` and `x[…] = v`: basic indexing by views, advanced indexing by rows of a flattened table.
//!
//! NOTE. An index expression becomes a list of view steps (slices, new dimensions) and at most one index tensor per
//! remaining dimension. Indexed dimensions are flattened to one, so that one number per member is enough; those that are
//! not neighbours move to the front first: `x[i, :, j]` is members `i * n2 + j` of a table of shape (n0 * n2, n1).

use super::value::IndexItem;
use crate::bail;
use crate::base::{DType, Error, Layout, Result, Shape, Strides, size};
use crate::core::meta::depends_on_data;
use crate::core::params::Dims;
use crate::core::{Params, Prim, Tensor, call};
use crate::dense::{Array, index as kernels, order};
use crate::rules::basis::{self, cast};
use crate::rules::index::{Bounds, add_members, check_index, set_members, set_slice, take_members};
use crate::rules::{Opaque, OpaqueBatch};
use smallvec::{SmallVec, smallvec};

/// One view step.
#[derive(Debug, Clone)]
enum Step {
    Slice {
        dim: usize,
        start: usize,
        len: usize,
        step: isize,
    },
    /// Drops a dimension of size 1.
    Drop(usize),
    Insert(usize),
}

/// An index expression against a shape.
struct Plan {
    steps: Vec<Step>,
    /// Index tensors by dimension of the viewed tensor.
    advanced: Vec<Option<Tensor>>,
    /// Dimensions indexed by 0-d tensors. Like integers, they have no say in where the index dimensions go.
    numbers: Dims,
}

/// Multi-indices of the non-zero elements, one per row: int64 of shape (count, rank).
pub(crate) static NONZERO: Opaque = Opaque {
    name: "nonzero",
    infer: |_, _| {
        let fix = "use where(mask, a, b), or give the values";
        Err(depends_on_data("nonzero() or indexing with a mask", fix))
    },
    eval: |_, args| Ok(smallvec![kernels::nonzero(args[0].array()?)?.into()]),
    batching: OpaqueBatch::With(|_, _, _, _| {
        bail!(
            Runtime,
            "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over \
             aten::nonzero: its shape, and that of indexing with a bool mask, depends on the data and may differ between \
             members of the batch{}; use pullback.where(mask, a, b) instead",
            crate::core::origin::at_here()
        )
    }),
};

pub fn nonzero_rows(x: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&NONZERO), &Params::None, &[x])
}

/// One int64 tensor per dimension.
pub fn nonzero_columns(x: &Tensor) -> Result<Vec<Tensor>> {
    let rows = nonzero_rows(x)?;
    (0..x.rank()).map(|d| basis::select(&rows, 1, d)).collect()
}

fn consumed(item: &IndexItem) -> usize {
    match item {
        IndexItem::Int(_) | IndexItem::Slice { .. } => 1,
        IndexItem::Tensor(t) if matches!(t.dtype(), DType::Bool | DType::U8) => t.rank(),
        IndexItem::Tensor(_) => 1,
        _ => 0,
    }
}

fn check_count(items: &[IndexItem], rank: usize) -> Result<usize> {
    let used: usize = items.iter().map(consumed).sum();
    if used > rank {
        bail!(Index, "too many indices for tensor of dimension {rank}; give {rank} at most");
    }
    if items.iter().filter(|i| matches!(i, IndexItem::Ellipsis)).count() > 1 {
        bail!(Index, "an index can only have a single ellipsis ('...'); leave one out");
    }
    Ok(rank - used)
}

fn plan(shape: &Shape, items: &[IndexItem]) -> Result<Plan> {
    let free = check_count(items, shape.rank())?;
    let mut p = Plan { steps: Vec::new(), advanced: Vec::new(), numbers: Dims::new() };
    // `dim` counts dimensions of the viewed tensor, `own` those of the original.
    let (mut dim, mut own) = (0, 0);
    for item in items {
        match item {
            IndexItem::Int(i) => {
                let n = shape[own];
                let Some(start) = size::index(*i, n) else {
                    return Err(size::out_of_bounds(*i, own, n, true));
                };
                p.steps.push(Step::Slice { dim, start, len: 1, step: 1 });
                p.steps.push(Step::Drop(dim));
                own += 1;
            }
            IndexItem::Slice { start, stop, step } => {
                let size::Slice { start, len, step } = size::slice(*start, *stop, *step, shape[own])?;
                if (start, len, step) != (0, shape[own], 1) {
                    p.steps.push(Step::Slice { dim, start, len, step });
                }
                p.advanced.push(None);
                dim += 1;
                own += 1;
            }
            IndexItem::Ellipsis => {
                (0..free).for_each(|_| p.advanced.push(None));
                dim += free;
                own += free;
            }
            IndexItem::NewAxis => {
                p.steps.push(Step::Insert(dim));
                p.advanced.push(None);
                dim += 1;
            }
            IndexItem::Bool(b) => {
                p.steps.push(Step::Insert(dim));
                let hits: &[i64] = if *b { &[0] } else { &[] };
                p.advanced.push(Some(Tensor::from_slice([hits.len()], hits)?));
                dim += 1;
            }
            IndexItem::Tensor(t) => {
                let n = push_tensor(&mut p, t, shape, own, dim)?;
                if t.rank() == 0 && !is_mask(t) {
                    p.numbers.push(dim);
                }
                dim += n.max(usize::from(t.rank() == 0 && is_mask(t)));
                own += n;
            }
        }
    }
    Ok(p)
}

fn is_mask(t: &Tensor) -> bool {
    matches!(t.dtype(), DType::Bool | DType::U8)
}

/// Adds an index tensor; returns how many dimensions it takes.
fn push_tensor(p: &mut Plan, t: &Tensor, shape: &Shape, own: usize, dim: usize) -> Result<usize> {
    if !is_mask(t) {
        if !t.dtype().is_integer() {
            bail!(Index, "tensors used as indices must be long, int, byte or bool tensors, got {}", t.dtype());
        }
        let bounds = Bounds { size: shape[own], dim: own, wrap: true };
        p.advanced.push(Some(check_index(&cast(t, DType::I64)?, bounds)?));
        return Ok(1);
    }
    for d in 0..t.rank() {
        if t.shape()[d] != shape[own + d] {
            bail!(
                Index,
                "the shape of the mask {} at index {d} does not match the shape of the indexed tensor {shape} at index {}",
                t.shape(),
                own + d
            );
        }
    }
    if t.rank() == 0 {
        p.steps.push(Step::Insert(dim));
        let hits = nonzero_rows(&basis::reshape(t, &[1].into())?)?;
        p.advanced.push(Some(basis::select(&hits, 1, 0)?));
        return Ok(0);
    }
    p.advanced.extend(nonzero_columns(t)?.into_iter().map(Some));
    Ok(t.rank())
}

fn forward(x: &Tensor, step: &Step) -> Result<Tensor> {
    match *step {
        Step::Slice { dim, start, len, step } => basis::slice(x, dim, start, len, step),
        Step::Drop(d) => basis::reshape(x, &x.shape().without(d)),
        Step::Insert(d) => basis::unsqueeze(x, d),
    }
}

/// Where the indexed dimensions of a viewed tensor go.
struct Placement {
    /// The indexed dimensions, the others, and how many of these stand in front.
    dims: Dims,
    others: Dims,
    place: usize,
}

impl Placement {
    fn new(p: &Plan, rank: usize) -> Option<Placement> {
        let (dims, others): (Dims, Dims) = (0..rank).partition(|&d| matches!(p.advanced.get(d), Some(Some(_))));
        // Those that are no single numbers are neighbours if nothing else stands between them.
        let mut lists = dims.iter().filter(|d| !p.numbers.contains(d)).copied();
        let first = lists.next().or(dims.first().copied())?;
        let last = lists.last().unwrap_or(first);
        let before = |d: usize| others.iter().filter(|&&o| o < d).count();
        let place = if before(first) == before(last) { before(first) } else { 0 };
        Some(Placement { dims, others, place })
    }

    /// The order in memory of what is taken, by PyTorch's rule: that of an elementwise operator's result, whose operands are
    /// the tensor, which stands still along the dimensions of the lists, and the lists. `None` if it is row-major.
    fn order_of_result(&self, x: &Tensor, p: &Plan) -> Result<Option<Dims>> {
        let lists: SmallVec<[&Tensor; 4]> = p.advanced.iter().flatten().collect();
        let common = common(&lists)?;
        let (front, back) = self.others.split_at(self.place);
        let size = |d: &usize| x.shape()[*d];
        let shape: Shape = front.iter().map(size).chain(common.iter().copied()).chain(back.iter().map(size)).collect();
        let steps = x.lies().0;
        let still = common.iter().map(|_| 0);
        let mut operands: Vec<Strides> =
            vec![front.iter().map(|&d| steps[d]).chain(still).chain(back.iter().map(|&d| steps[d])).collect()];
        // A list has a dimension for each of the result, of size 1 where it stands still.
        let lists_at = self.place..self.place + common.rank();
        let spread: Shape = (0..shape.rank()).map(|d| if lists_at.contains(&d) { shape[d] } else { 1 }).collect();
        for t in lists {
            let own = Layout { shape: t.shape().clone(), strides: t.lies().0, offset: 0 }.expand(&common);
            let steps = own.reshape(&spread).map_or_else(|| spread.contiguous_strides(), |l| l.strides);
            let step = |(d, s): (usize, isize)| if spread[d] == 1 && shape[d] != 1 { 0 } else { s };
            operands.push(steps.into_iter().enumerate().map(step).collect());
        }
        Ok(order::of_strides(&shape, &operands).map(|order| order.into_iter().collect()))
    }

    /// The indexed dimensions beside each other, if they are not already.
    fn order(&self) -> Option<Dims> {
        let (front, back) = self.others.split_at(self.place);
        let order: Dims = front.iter().chain(&self.dims).chain(back).copied().collect();
        order.iter().enumerate().any(|(i, &d)| i != d).then_some(order)
    }
}

/// Advanced indices against a viewed tensor.
struct Advanced {
    /// The dimensions with the indexed ones beside each other, if they are not.
    order: Option<Dims>,
    /// The first indexed dimension in this order, and how many there are.
    place: usize,
    indexed: usize,
    rows: Tensor,
}

/// The shape of all indices together.
fn common(given: &[&Tensor]) -> Result<Shape> {
    let shapes = given.iter().map(|t| t.shape());
    crate::base::shape::broadcast_all("index", shapes).map_err(|_| {
        let all: Vec<String> = given.iter().map(|t| t.shape().to_string()).collect();
        let all = all.join(", ");
        Error::index(format!("shape mismatch: indexing tensors could not be broadcast together with shapes {all}"))
    })
}

fn advanced(x: &Tensor, p: &Plan) -> Result<Option<Advanced>> {
    let Some(placement) = Placement::new(p, x.rank()) else { return Ok(None) };
    let given: Vec<&Tensor> = p.advanced.iter().flatten().collect();
    let common = common(&given)?;
    let mut rows = given[0].clone();
    for (&d, t) in placement.dims.iter().zip(&given).skip(1) {
        let n = Tensor::scalar(DType::I64, x.shape()[d] as i64);
        rows = basis::add(&basis::mul(&rows, &n)?, t)?;
    }
    let rows = basis::expand(&rows, &common)?;
    let (order, indexed) = (placement.order(), placement.dims.len());
    Ok(Some(Advanced { order, place: placement.place, indexed, rows }))
}

/// Few elements of a large tensor by indices of dimensions that are not neighbours: each by its number among all elements,
/// so that nothing is put in another order.
fn take_few(x: &Tensor, p: &Plan) -> Result<Option<Tensor>> {
    const FEW: usize = 4;
    let Some(Placement { others, .. }) = Placement::new(p, x.rank()).filter(|p| p.place == 0 && p.order().is_some())
    else {
        return Ok(None);
    };
    let common = common(&p.advanced.iter().flatten().collect::<Vec<_>>())?;
    let rest: Shape = others.iter().map(|&d| x.shape()[d]).collect();
    let count = size::volume(&common).and_then(|n| n.checked_mul(FEW)?.checked_mul(rest.numel()));
    if x.numel() == 0 || count.is_none_or(|n| n > x.numel()) {
        return Ok(None);
    }
    let steps = x.shape().contiguous_strides();
    let mut places: Vec<i64> = vec![0];
    for &d in &others {
        let (n, step) = (x.shape()[d] as i64, steps[d] as i64);
        places = places.iter().flat_map(|&at| (0..n).map(move |i| at + i * step)).collect();
    }
    let mut at = Tensor::from_slice(rest.clone(), &places)?;
    for (d, t) in p.advanced.iter().enumerate().filter_map(|(d, t)| Some((d, t.as_ref()?))) {
        let shape = t.shape().iter().copied().chain(rest.iter().map(|_| 1)).collect();
        let step = Tensor::scalar(DType::I64, steps[d] as i64);
        at = basis::add(&basis::mul(&basis::reshape(t, &shape)?, &step)?, &at)?;
    }
    let at = basis::expand(&at, &common.iter().chain(rest.iter()).copied().collect())?;
    take_members(&basis::reshape(x, &[x.numel()].into())?, 0, &at).map(Some)
}

/// The same values in memory in an order.
fn laid_out(x: &Tensor, order: &[usize]) -> Result<Tensor> {
    basis::permute(&basis::copy(&basis::permute(x, order)?)?, &order::inverse(order))
}

impl Advanced {
    /// The tensor with its indexed dimensions as one, and its shape before that.
    fn table(&self, x: &Tensor) -> Result<(Tensor, Shape)> {
        let ordered = self.order.as_ref().map_or_else(|| Ok(x.clone()), |order| basis::permute(x, order))?;
        let n = ordered.shape()[self.place..self.place + self.indexed].iter().product();
        let shape = ordered.shape().clone();
        Ok((basis::reshape(&ordered, &self.with(&shape, &[n]))?, shape))
    }
    /// The shape of the ordered tensor with others in the place of the indexed dimensions.
    fn with(&self, ordered: &Shape, middle: &[usize]) -> Shape {
        let (before, behind) = (&ordered[..self.place], &ordered[self.place + self.indexed..]);
        before.iter().chain(middle).chain(behind).copied().collect()
    }
    fn take(&self, x: &Tensor) -> Result<Tensor> {
        take_members(&self.table(x)?.0, self.place, &self.rows)
    }
    /// As [`Advanced::take`], with the dimensions of the result in memory in an order.
    fn take_in_order(&self, x: &Tensor, order: &[usize]) -> Result<Tensor> {
        let lists = self.place..self.place + self.rows.rank();
        let first = order.iter().position(|d| lists.contains(d)).unwrap_or(0);
        if !order[first..].iter().take(lists.len()).copied().eq(lists.clone()) {
            return laid_out(&self.take(x)?, order);
        }
        // The indexed dimensions stand where those of the lists will.
        let own = self.order.clone().unwrap_or_else(|| (0..x.rank()).collect());
        let others = |d: &&usize| !lists.contains(d);
        let source = |&d: &usize| own[if d < self.place { d } else { d - lists.len() + self.indexed }];
        let (front, back) = (&order[..first], &order[first..]);
        let turned: Dims = front
            .iter()
            .map(source)
            .chain(own[self.place..self.place + self.indexed].iter().copied())
            .chain(back.iter().filter(others).map(source))
            .collect();
        let turned = Advanced { order: Some(turned), place: first, indexed: self.indexed, rows: self.rows.clone() };
        basis::permute(&turned.take(x)?, &order::inverse(order))
    }
    fn put(&self, x: &Tensor, value: &Tensor, accumulate: bool) -> Result<Tensor> {
        let (table, shape) = self.table(x)?;
        let src = fit(value, &self.with(&shape, self.rows.shape()))?;
        let write = if accumulate { add_members } else { set_members };
        let out = basis::reshape(&write(&table, self.place, &self.rows, &src)?, &shape)?;
        let Some(order) = &self.order else { return Ok(out) };
        let mut inverse: Dims = order.clone();
        order.iter().enumerate().for_each(|(i, &d)| inverse[d] = i);
        basis::permute(&out, &inverse)
    }
}

/// A value broadcast to the shape that it is written to; leading dimensions of size 1 may be left over.
fn fit(value: &Tensor, shape: &Shape) -> Result<Tensor> {
    let extra = value.rank().saturating_sub(shape.rank());
    let trimmed = if extra > 0 && value.shape()[..extra].iter().all(|&d| d == 1) {
        basis::reshape(value, &value.shape()[extra..].into())?
    } else {
        value.clone()
    };
    let fits = trimmed.rank() <= shape.rank()
        && trimmed.shape().iter().rev().zip(shape.iter().rev()).all(|(&v, &s)| v == s || v == 1);
    if !fits {
        bail!(
            Runtime,
            "shape mismatch: value tensor of shape {} cannot be broadcast to indexing result of shape {shape}",
            value.shape()
        );
    }
    basis::expand(&trimmed, shape)
}

/// `x[items]`. Basic indices give views.
pub fn get(x: &Tensor, items: &[IndexItem]) -> Result<Tensor> {
    if let [IndexItem::Int(i)] = items
        && x.rank() > 0
        && (*i >= 0 && (*i as usize) < x.shape()[0])
    {
        return basis::select(x, 0, *i as usize);
    }
    if x.rank() == 0 && items.iter().any(|i| matches!(i, IndexItem::Int(_) | IndexItem::Slice { .. })) {
        bail!(Index, "invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a number");
    }
    let p = plan(x.shape(), items)?;
    let view = p.steps.iter().try_fold(x.clone(), |v, s| forward(&v, s))?;
    if p.advanced.iter().all(Option::is_none) {
        return Ok(view);
    }
    let plain = |t: &Tensor| t.innermost().is_none_or(Array::is_plain);
    let order = if plain(&view) && p.advanced.iter().flatten().all(plain) {
        None
    } else {
        Placement::new(&p, view.rank()).map_or(Ok(None), |placement| placement.order_of_result(&view, &p))?
    };
    if let Some(out) = take_few(&view, &p)? {
        return match order {
            Some(order) => laid_out(&out, &order),
            None => Ok(out),
        };
    }
    match (advanced(&view, &p)?, order) {
        (None, _) => Ok(view),
        (Some(a), None) => a.take(&view),
        (Some(a), Some(order)) => a.take_in_order(&view, &order),
    }
}

/// Whether an index expression gives a view: nothing but integers, slices, `None` and `...`.
pub fn is_basic(items: &[IndexItem]) -> bool {
    !items.iter().any(|i| matches!(i, IndexItem::Tensor(_) | IndexItem::Bool(_)))
}

/// `x` with `x[items] = value` done to a copy; `value` is broadcast and converted to the dtype of `x`.
pub fn put(x: &Tensor, items: &[IndexItem], value: &Tensor) -> Result<Tensor> {
    let value = cast(value, x.dtype())?;
    if let [IndexItem::Tensor(mask)] = items
        && is_mask(mask)
        && value.numel() == 1
        && mask.rank() <= x.rank()
        && mask.shape()[..] == x.shape()[..mask.rank()]
    {
        let mut shape = mask.shape().clone();
        (mask.rank()..x.rank()).for_each(|_| shape.push(1));
        let mask = super::compare::condition(&basis::reshape(mask, &shape)?)?;
        return basis::expand(&basis::where_(&mask, &basis::reshape(&value, &Shape::scalar())?, x)?, x.shape());
    }
    let p = plan(x.shape(), items)?;
    let mut views = vec![x.clone()];
    for s in &p.steps {
        let next = forward(&views[views.len() - 1], s)?;
        views.push(next);
    }
    let Some(last) = views.pop() else { bail!(Internal, "index_put(): no view") };
    let mut written = match advanced(&last, &p)? {
        Some(a) => a.put(&last, &value, false)?,
        None => fit(&value, last.shape())?,
    };
    for (s, before) in p.steps.iter().rev().zip(views.iter().rev()) {
        written = match *s {
            Step::Slice { dim, start, len, step } => set_slice(before, &written, dim, start, len, step)?,
            Step::Drop(_) | Step::Insert(_) => basis::reshape(&written, before.shape())?,
        };
    }
    Ok(written)
}

/// `index_put`: one index tensor (or None) per leading dimension.
pub fn put_tensors(x: &Tensor, indices: &[Option<&Tensor>], value: &Tensor, accumulate: bool) -> Result<Tensor> {
    let items: Vec<IndexItem> = indices
        .iter()
        .map(|i| match i {
            Some(t) => IndexItem::Tensor((*t).clone()),
            None => IndexItem::Slice { start: None, stop: None, step: None },
        })
        .collect();
    let p = plan(x.shape(), &items)?;
    let view = p.steps.iter().try_fold(x.clone(), |v, s| forward(&v, s))?;
    match advanced(&view, &p)? {
        Some(a) => basis::reshape(&a.put(&view, value, accumulate)?, x.shape()),
        None => fit(value, x.shape()),
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { primitives: &[&[&NONZERO]], ..crate::ops::Family::EMPTY };
