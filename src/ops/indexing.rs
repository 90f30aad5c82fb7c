//! `x[…]` and `x[…] = v`: basic indexing by views, advanced indexing by rows of a flattened table.
//!
//! NOTE. An index expression becomes a list of view steps (slices, new dimensions) and at most one index tensor per
//! remaining dimension. Indexed dimensions move to the front and are flattened, so that one row number per result
//! element is enough: `x[i, :, j]` is rows `i * n2 + j` of a table of shape (n0 * n2, n1).

use super::value::IndexItem;
use crate::bail;
use crate::base::{DType, Result, Shape, size};
use crate::core::meta::depends_on_data;
use crate::core::params::Dims;
use crate::core::{Params, Prim, Tensor, call};
use crate::dense::index as kernels;
use crate::rules::basis::{self, cast};
use crate::rules::index::{Bounds, add_rows, check_index, set_rows, set_slice, take_rows};
use crate::rules::{Opaque, OpaqueBatch};
use smallvec::smallvec;

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
        bail!(Index, "too many indices for tensor of dimension {rank}");
    }
    if items.iter().filter(|i| matches!(i, IndexItem::Ellipsis)).count() > 1 {
        bail!(Index, "an index can only have a single ellipsis ('...')");
    }
    Ok(rank - used)
}

fn plan(shape: &Shape, items: &[IndexItem]) -> Result<Plan> {
    let free = check_count(items, shape.rank())?;
    let mut p = Plan { steps: Vec::new(), advanced: Vec::new() };
    // `dim` counts dimensions of the viewed tensor, `own` those of the original.
    let (mut dim, mut own) = (0, 0);
    for item in items {
        match item {
            IndexItem::Int(i) => {
                let n = shape[own];
                let Some(start) = size::index(*i, n) else {
                    bail!(Index, "index {i} is out of bounds for dimension {own} with size {n}");
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
        Step::Insert(d) => {
            let mut shape = x.shape().clone();
            shape.insert(d, 1);
            basis::reshape(x, &shape)
        }
    }
}

/// Advanced indices against a viewed tensor.
struct Advanced {
    /// Indexed dimensions first.
    order: Dims,
    indexed: usize,
    rows: Tensor,
    /// Where the index dimensions stand in the result.
    place: usize,
}

fn advanced(x: &Tensor, indices: &[Option<Tensor>]) -> Result<Option<Advanced>> {
    let dims: Dims = (0..indices.len()).filter(|&d| indices[d].is_some()).collect();
    let given: Vec<&Tensor> = indices.iter().flatten().collect();
    if given.is_empty() {
        return Ok(None);
    }
    let shapes = given.iter().map(|t| t.shape());
    let Ok(common) = crate::base::shape::broadcast_all("index", shapes) else {
        let all: Vec<String> = given.iter().map(|t| t.shape().to_string()).collect();
        bail!(Index, "shape mismatch: indexing tensors could not be broadcast together with shapes {}", all.join(", "));
    };
    let mut rows: Option<Tensor> = None;
    for (&d, t) in dims.iter().zip(&given) {
        rows = Some(match rows {
            None => (*t).clone(),
            Some(r) => {
                let n = Tensor::scalar(DType::I64, x.shape()[d] as i64);
                basis::add(&basis::mul(&r, &n)?, t)?
            }
        });
    }
    let Some(rows) = rows else { return Ok(None) };
    let rows = basis::expand(&rows, &common)?;
    let adjacent = dims.windows(2).all(|w| w[1] == w[0] + 1);
    let order = dims.iter().copied().chain((0..x.rank()).filter(|d| !dims.contains(d))).collect();
    Ok(Some(Advanced { order, indexed: dims.len(), rows, place: if adjacent { dims[0] } else { 0 } }))
}

impl Advanced {
    /// The table of rows.
    fn table(&self, x: &Tensor) -> Result<Tensor> {
        let front = basis::permute(x, &self.order)?;
        let n = front.shape()[..self.indexed].iter().product();
        let mut shape = Shape::from([n]);
        front.shape()[self.indexed..].iter().for_each(|&d| shape.push(d));
        basis::reshape(&front, &shape)
    }
    fn untable(&self, table: &Tensor, x: &Tensor) -> Result<Tensor> {
        let front: Shape = self.order.iter().map(|&d| x.shape()[d]).collect();
        let mut inverse: Dims = self.order.clone();
        self.order.iter().enumerate().for_each(|(i, &d)| inverse[d] = i);
        basis::permute(&basis::reshape(table, &front)?, &inverse)
    }
    /// Order of the result's dimensions: those before the place, the index's, the rest.
    fn result_order(&self, rank: usize) -> Dims {
        let k = self.rows.rank();
        (k..k + self.place).chain(0..k).chain(k + self.place..rank).collect()
    }
    fn take(&self, x: &Tensor) -> Result<Tensor> {
        let out = take_rows(&self.table(x)?, &self.rows)?;
        basis::permute(&out, &self.result_order(out.rank()))
    }
    fn put(&self, x: &Tensor, value: &Tensor, accumulate: bool) -> Result<Tensor> {
        let rest = x.rank() - self.indexed;
        let order = self.result_order(self.rows.rank() + rest);
        let lead: Shape =
            self.rows.shape().iter().copied().chain(self.order[self.indexed..].iter().map(|&d| x.shape()[d])).collect();
        let shape: Shape = order.iter().map(|&d| lead[d]).collect();
        let value = fit(value, &shape)?;
        let mut inverse: Dims = order.clone();
        order.iter().enumerate().for_each(|(i, &d)| inverse[d] = i);
        let src = basis::permute(&value, &inverse)?;
        let table = self.table(x)?;
        let out = if accumulate { add_rows(&table, &self.rows, &src)? } else { set_rows(&table, &self.rows, &src)? };
        self.untable(&out, x)
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
    match advanced(&view, &p.advanced)? {
        None => Ok(view),
        Some(a) => a.take(&view),
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
    let mut written = match advanced(&last, &p.advanced)? {
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
    match advanced(&view, &p.advanced)? {
        Some(a) => basis::reshape(&a.put(&view, value, accumulate)?, x.shape()),
        None => fit(value, x.shape()),
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { primitives: &[&[&NONZERO]], ..crate::ops::Family::EMPTY };
