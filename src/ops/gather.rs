//! Elements picked and put by indices and masks.

use super::indexing;
use super::products::scatter_multiply;
use super::promote::fitting;
use super::shape::detach;
use super::value::{Operand, Updated, Value};
use crate::base::{DType, Error, ErrorKind, Result, Scalar, Shape};
use crate::core::Tensor;
use crate::dense::index as kernels;
use crate::ops::signature::{
    Chosen, Dim, HERE, IndexOrEmpty, IndexTensor, IndexVector, Integers, Mask, Ranked, SameDType, Single, Words,
    inside, of_dtype, other_shape, refused,
};
use crate::rules::basis::{self, cast};
use crate::rules::index::{self, Bounds, check_index};

pub(super) fn at_least_1d(x: &Tensor) -> Result<Tensor> {
    if x.rank() == 0 { basis::reshape(x, &[1].into()) } else { Ok(x.clone()) }
}

/// Elementwise index operators: all operands get a dimension if they have none, and ranks agree.
pub(super) struct Elementwise {
    pub x: Tensor,
    pub index: Tensor,
    pub dim: usize,
}

pub(super) fn elementwise(x: &Tensor, dim: usize, idx: &Tensor) -> Result<Elementwise> {
    let e = Elementwise { x: at_least_1d(x)?, index: at_least_1d(&cast(idx, DType::I64)?)?, dim };
    if e.index.rank() != e.x.rank() && idx.numel() != 0 {
        return Err(other_rank(("index", idx.rank()), ("input", x.rank())));
    }
    for d in 0..e.x.rank().min(e.index.rank()) {
        if d != dim && e.index.shape()[d] > e.x.shape()[d] && idx.numel() != 0 {
            refuse!(
                Runtime,
                "size does not match at dimension {d}: expected index {} to be no larger than self {} apart \
                 from dimension {dim}; cut index or expand() self",
                idx.shape(),
                x.shape()
            );
        }
    }
    Ok(e)
}

pub(super) fn source(e: &Elementwise, src: &Tensor) -> Result<Tensor> {
    let src = at_least_1d(of_dtype("src", src, e.x.dtype())?)?;
    if src.rank() != e.index.rank() {
        return Err(other_rank(("index", e.index.rank()), ("src", src.rank())));
    }
    for d in 0..src.rank() {
        if e.index.shape()[d] > src.shape()[d] {
            refuse!(
                Runtime,
                "expected index {} to be no larger than src {} in dimension {d}; cut index or expand() src",
                e.index.shape(),
                src.shape()
            );
        }
    }
    (0..src.rank()).try_fold(src, |s, d| basis::slice(&s, d, 0, e.index.shape()[d], 1))
}

#[cold]
fn other_rank((a, m): (&str, usize), (b, n): (&str, usize)) -> Error {
    refused(
        ErrorKind::Runtime,
        format_args!(
            "{a} tensor must have the same number of dimensions as {b} tensor, got {m} and {n}; add dimensions with \
             unsqueeze()"
        ),
    )
}

/// What `scatter` does where several values meet.
#[derive(Clone, Copy)]
enum Meeting {
    Add,
    Multiply,
}
impl Words for Meeting {
    const WORDS: &'static [(&'static str, Self)] = &[("add", Meeting::Add), ("multiply", Meeting::Multiply)];
}

fn scattered(input: &Tensor, dim: usize, idx: &Tensor, src: Operand<'_>, reduce: Option<Meeting>) -> Result<Tensor> {
    if idx.numel() == 0 {
        return Ok(input.clone());
    }
    let e = elementwise(input, dim, idx)?;
    let src = match src {
        Operand::Tensor(t) => source(&e, t)?,
        Operand::Number(n) => basis::full(e.index.shape(), e.x.dtype(), fitting(HERE, "value", n, e.x.dtype())?)?,
    };
    let out = match reduce {
        None => index::scatter(&e.x, e.dim, &e.index, &src).map_err(as_runtime)?,
        Some(Meeting::Add) => index::scatter_add(&e.x, e.dim, &e.index, &src).map_err(as_runtime)?,
        Some(Meeting::Multiply) => scatter_multiply(&e.x, e.dim, &e.index, &src).map_err(as_runtime)?,
    };
    basis::reshape(&out, input.shape())
}

/// PyTorch reports indices out of range here as a RuntimeError.
pub(super) fn as_runtime(e: crate::Error) -> crate::Error {
    if e.kind() == crate::ErrorKind::Index { crate::Error::runtime(e.message()) } else { e }
}

/// The error for an index of `embedding` that names no row.
#[cold]
fn no_row(e: crate::Error, rows: usize) -> crate::Error {
    let hint = "the elements of input are rows of weight, of which there are num_embeddings";
    crate::Error::new(e.kind(), format!("{HERE}(): index out of range in self: {}; {hint}={rows}", e.message()))
}

ops! { TABLE:
    /// `out[i][j] = input[index[i][j]][j]` for dim 0, and so on: the result has the shape of `index`.
    ///
    /// >>> import pullback
    /// >>> pullback.gather(pullback.tensor([[1, 2], [3, 4]]), 1, pullback.tensor([[0, 0], [1, 0]]))
    /// tensor([[1, 1],
    ///         [4, 3]])
    fn gather = "gather" (input: &Tensor, dim: i64 as Dim, index: &Tensor as IndexOrEmpty; sparse_grad: bool = false) -> Tensor [METHOD, EXACT_OUT, SCATTERED] of crate::rules::index::GATHER {
        let _ = sparse_grad;
        if index.numel() == 0 {
            return basis::reshape(&basis::slice(&super::shape::ravel(input)?, 0, 0, 0, 1)?, index.shape());
        }
        let e = elementwise(input, dim, index)?;
        basis::reshape(&index::gather(&e.x, e.dim, &e.index).map_err(as_runtime)?, index.shape())
    }

    /// A copy of `input` with `out[index[i][j]][j] = src[i][j]` for dim 0, and so on; `src` may be a number.
    ///
    /// >>> import pullback
    /// >>> pullback.scatter(pullback.zeros(3), 0, pullback.tensor([2]), 5.0)
    /// tensor([0., 0., 5.])
    fn scatter = "scatter" (input: &Tensor, dim: i64 as Dim, index: &Tensor as IndexOrEmpty, src: Option<Operand<'_>> = None;
        value: Option<Operand<'_>> = None, reduce: Option<&str> as Option<Chosen<Meeting>> = None) -> Tensor [METHOD, INPLACE, EXACT_OUT, SCATTERED, OVERWRITES] {
        match src.or(value) {
            Some(s) => scattered(input, dim, index, s, reduce),
            None => refuse!(Type, "missing required argument 'src'; give a tensor or a number"),
        }
    }

    /// A copy of `input` with `out[index[i][j]][j] += src[i][j]` for dim 0, and so on.
    ///
    /// >>> import pullback
    /// >>> pullback.scatter_add(pullback.zeros(3), 0, pullback.tensor([2, 2]), pullback.ones(2))
    /// tensor([0., 0., 2.])
    fn scatter_add = "scatter_add" (input: &Tensor, dim: i64 as Dim, index: &Tensor as IndexOrEmpty, src: &Tensor as SameDType)
        -> Tensor [METHOD, INPLACE, EXACT_OUT, SCATTERED, OVERWRITES] of crate::rules::index::SCATTER_ADD {
        scattered(input, dim, index, Operand::Tensor(src), Some(Meeting::Add))
    }

    /// The members of a dimension that a vector of indices names.
    ///
    /// >>> import pullback
    /// >>> pullback.index_select(pullback.tensor([5, 6, 7]), 0, pullback.tensor([2, 0]))
    /// tensor([7, 5])
    fn index_select = "index_select" (input: &Tensor, dim: i64 as Dim, index: &Tensor as IndexVector) -> Tensor [METHOD, SCATTERED, ROW_MAJOR] {
        let x = at_least_1d(input)?;
        let i = check_index(&index, Bounds { size: x.shape()[dim], dim, wrap: false })
            .map_err(inside)?;
        let out = index::take_members(&x, dim, &i)?;
        if input.rank() == 0 { basis::reshape(&out, input.shape()) } else { Ok(out) }
    }

    /// A copy of `input` with `alpha * source` added to the members of a dimension that `index` names.
    ///
    /// >>> import pullback
    /// >>> pullback.index_add(pullback.zeros(3), 0, pullback.tensor([0, 0]), pullback.ones(2))
    /// tensor([2., 0., 0.])
    fn index_add = "index_add" (input: &Tensor, dim: i64 as Dim, index: &Tensor as IndexVector, source: &Tensor as SameDType; alpha: Scalar = Scalar::Int(1))
        -> Tensor [METHOD, INPLACE, EXACT_OUT, SCATTERED, OVERWRITES, ROW_MAJOR] of crate::rules::index::ADD_ROWS {
        let (x, src) = (at_least_1d(input)?, at_least_1d(source)?);
        let want = x.shape().with(dim, index.numel());
        if source.rank() != input.rank() || src.shape() != &want {
            return Err(other_shape(ErrorKind::Runtime, "source", source.shape(), &want));
        }
        let i = check_index(&index, Bounds { size: x.shape()[dim], dim, wrap: false })
            .map_err(inside)?;
        let alpha = fitting(HERE, "alpha", alpha, x.dtype())?;
        let src = if alpha.as_f64() == 1.0 { src } else { basis::mul(&src, &Tensor::scalar(x.dtype(), alpha))? };
        basis::reshape(&self::index::add_members(&x, dim, &i, &src)?, input.shape())
    }

    /// A copy of `input` with `input[indices] = values` done to it, or `+=` if `accumulate`.
    ///
    /// >>> import pullback
    /// >>> pullback.index_put(pullback.zeros(3), (pullback.tensor([1]),), pullback.tensor([4.0]))
    /// tensor([0., 4., 0.])
    fn index_put = "index_put" (input: &Tensor, indices: &Value, values: &Tensor as SameDType, accumulate: bool = false)
        -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION, SCATTERED, OVERWRITES, KEEPS_ORDER] {
        let list = match indices {
            Value::Tuple(v) | Value::List(v) => v.iter().map(|x| match x {
                Value::Tensor(t) => Ok(Some(t)),
                Value::None => Ok(None),
                other => refuse!(Type, "argument 'indices' must be tuple of Tensors, not of {}", other.type_name()),
            }).collect::<Result<Vec<_>>>()?,
            other => refuse!(Type, "argument 'indices' must be tuple of Tensors, not {}", other.type_name()),
        };
        indexing::put_tensors(input, &list, values, accumulate).map_err(inside)
    }

    /// Elements of `input` at `indices` along a dimension, both broadcast against each other elsewhere; of the flattened
    /// input if no dimension is named.
    ///
    /// >>> import pullback
    /// >>> pullback.take_along_dim(pullback.tensor([[3, 1, 2]]), pullback.tensor([[1, 2, 0]]), 1)
    /// tensor([[1, 2, 3]])
    fn take_along_dim = "take_along_dim" (input: &Tensor, indices: &Tensor as IndexTensor, dim: Option<i64> as Option<Dim> = None) -> Tensor [METHOD, SCATTERED] node "GatherBackward0" {
        let Some(d) = dim else {
            let (x, i) = (super::shape::ravel(input)?, super::shape::ravel(indices)?);
            return gather(&x, 0, &i, false);
        };
        if input.rank() != indices.rank() {
            return Err(other_rank(("indices", indices.rank()), ("input", input.rank())));
        }
        if input.rank() == 0 {
            return gather(input, 0, indices, false);
        }
        let one = |t: &Tensor| t.shape().with(d, 1);
        let common = crate::base::shape::broadcast2(HERE, &one(input), &one(indices))?;
        let x = basis::expand(input, &common.with(d, input.shape()[d]))?;
        let i = basis::expand(indices, &common.with(d, indices.shape()[d]))?;
        let i = check_index(&i, Bounds { size: x.shape()[d], dim: d, wrap: true })
            .map_err(inside)?;
        index::gather(&x, d, &i)
    }

    /// `input` with `value` (a number or 0-d tensor) where `mask` is true.
    ///
    /// >>> import pullback
    /// >>> pullback.masked_fill(pullback.tensor([1, 2]), pullback.tensor([True, False]), 9)
    /// tensor([9, 2])
    fn masked_fill = "masked_fill" (input: &Tensor, mask: &Tensor as Mask, value: Operand<'_> as Single) -> Tensor [METHOD, INPLACE, ROW_MAJOR] {
        let v = match value {
            Operand::Tensor(t) if let Some(number) = t.dense() => {
                super::promote::fitted(HERE, "value", number.item()?, input.dtype())?
            }
            Operand::Tensor(t) => {
                if t.dtype().category() > input.dtype().category() {
                    refuse!(Runtime, "value of dtype {} cannot be converted to {} without loss; convert it with .to()",
                        t.dtype(), input.dtype());
                }
                cast(t, input.dtype())?
            }
            Operand::Number(n) => super::promote::fitted(HERE, "value", n, input.dtype())?,
        };
        basis::where_(mask, &v, input)
    }

    /// The elements of `input` where `mask` is true, in row-major order, after broadcasting both.
    fn masked_select = "masked_select" (input: &Tensor, mask: &Tensor as Mask) -> Tensor [METHOD, DYNAMIC, SCATTERED] {
        let both = super::shape::broadcast(&[input, mask])?;
        indexing::get(&both[0], &[super::value::IndexItem::Tensor(both[1].clone())])
    }

    /// Multi-indices of the elements that are not zero, one per row; with `as_tuple`, one tensor per dimension.
    ///
    /// >>> import pullback
    /// >>> pullback.nonzero(pullback.tensor([0, 3, 4]))
    /// tensor([[1],
    ///         [2]])
    fn nonzero = "nonzero" (input: &Tensor; as_tuple: bool = false) -> Value [METHOD, DYNAMIC, SCATTERED, ROW_MAJOR] of super::indexing::NONZERO {
        if !as_tuple {
            return indexing::nonzero_rows(input).map(Value::Tensor);
        }
        let x = at_least_1d(input)?;
        Ok(Value::Tuple(indexing::nonzero_columns(&x)?.into_iter().map(Value::Tensor).collect()))
    }

    /// Rows of a table at integer indices: the result has the shape `input.shape + (dim,)`. The row `padding_idx` gets no
    /// gradient. Rows that are looked up are first shortened to the norm `max_norm`, in place. With `scale_grad_by_freq`
    /// the gradient of a row is divided by how often it is looked up.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.embedding(pullback.tensor([1, 0]), pullback.tensor([[1.0], [2.0]]))
    /// tensor([[2.],
    ///         [1.]])
    fn embedding = "nn.functional.embedding" (input: &Tensor as Integers, weight: &Tensor as Ranked<2>, padding_idx: Option<i64> = None,
        max_norm: Option<f64> = None, norm_type: f64 = 2.0, scale_grad_by_freq: bool = false, sparse: bool = false)
        -> Updated [UPDATES, SCATTERED, NO_OUT] {
        let _ = sparse;
        let rows = weight.shape()[0];
        let i = cast(input, DType::I64)?;
        let i = check_index(&i, Bounds { size: rows, dim: 0, wrap: false }).map_err(|e| no_row(e, rows))?;
        let mut out = index::take_rows(weight, &i)?;
        if scale_grad_by_freq {
            out = slowed(&out, &index::take_rows(&counts(weight, &i)?, &i)?)?;
        }
        let mut updates = Vec::new();
        if let Some(most) = max_norm {
            let shortened = shortened(weight, &i, norm_type, most)?;
            // The gradient is that of the rows as they are now.
            out = basis::add(&index::take_rows(&shortened, &i)?, &basis::sub(&out, &detach(&out)?)?)?;
            updates.push((1, shortened));
        }
        let Some(p) = padding_idx else { return Ok(Updated { out, updates }) };
        if p < -(rows as i64) || p >= rows as i64 {
            refuse!(Runtime, "padding_idx must be within num_embeddings ({rows}), got {p}; name a row of weight");
        }
        let p = if p < 0 { p + rows as i64 } else { p };
        let padded = super::compare::eq(&basis::unsqueeze_dims(&i, &[i.rank()])?, p)?;
        let out = basis::where_(&padded, &detach(&out)?, &out)?;
        Ok(Updated { out, updates })
    }

    /// int64 ones at the classes along a new last dimension, zeros elsewhere. `num_classes` -1 is the largest class + 1.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.one_hot(pullback.tensor([1, 0]), 2)
    /// tensor([[0, 1],
    ///         [1, 0]])
    fn one_hot = "nn.functional.one_hot" (tensor: &Tensor as IndexTensor | input, num_classes: i64 = -1) -> Tensor [DYNAMIC, NO_OUT, ROW_MAJOR] {
        let classes = if num_classes >= 0 { num_classes as usize } else { inferred_classes(tensor)? };
        if num_classes == 0 && tensor.numel() > 0 {
            refuse!(Runtime, "num_classes must be positive, got 0; give the largest class + 1, or -1");
        }
        let i = check_index(tensor, Bounds { size: classes, dim: 0, wrap: false }).map_err(|_| {
            crate::Error::runtime(format!("{HERE}(): class values must be non-negative and smaller than num_classes \
                ({classes})"))
        })?;
        let range = kernels::arange(DType::I64, 0.into(), 1.into(), classes)?.into();
        let column: Shape = i.shape().append(1);
        cast(&super::compare::eq(&basis::reshape(&i, &column)?, &range)?, DType::I64)
    }
}

/// How often each row of a table is looked up, in the dtype of the table.
fn counts(weight: &Tensor, i: &Tensor) -> Result<Tensor> {
    let none = basis::full(&[weight.shape()[0]].into(), weight.dtype(), 0.0)?;
    let places = basis::reshape(i, &[i.numel()].into())?;
    index::add_rows(&none, &places, &basis::full(places.shape(), weight.dtype(), 1.0)?)
}

/// `rows` with gradients divided by a number for each.
fn slowed(rows: &Tensor, by: &Tensor) -> Result<Tensor> {
    let still = detach(rows)?;
    let by = basis::unsqueeze_dims(by, &[by.rank()])?;
    basis::add(&still, &super::arith::divide_floats(&basis::sub(rows, &still)?, &by)?)
}

/// A table in which the rows that are looked up have at most this norm.
fn shortened(weight: &Tensor, i: &Tensor, norm_type: f64, most: f64) -> Result<Tensor> {
    let weight = detach(weight)?;
    let used = super::compare::gt(&counts(&weight, i)?, 0.0)?;
    let short = super::statistics::renormed(&weight, norm_type, 0, most)?;
    basis::where_(&basis::unsqueeze_dims(&used, &[1])?, &short, &weight)
}

/// The largest class + 1; it depends on the data, so no transform can follow.
fn inferred_classes(t: &Tensor) -> Result<usize> {
    if t.numel() == 0 {
        refuse!(Runtime, "cannot infer total number of classes from empty tensor; give num_classes");
    }
    let Some(array) = t.dense() else {
        refuse!(
            Runtime,
            "the number of classes depends on the data under a transform{}; give num_classes",
            crate::core::origin::at_here()
        )
    };
    let largest = crate::dense::reduce::amax(array, &(0..t.rank()).collect::<Vec<_>>(), false)?.item()?;
    Ok(largest.as_i64().max(-1).wrapping_add(1) as usize)
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family { entries: &[TABLE], ..crate::ops::Family::EMPTY };
