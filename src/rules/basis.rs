//! The entries that rules are written in, and shorthands for calling them. The operator table includes them.

use super::linear::{Batching, Linear};
use super::pointwise::{Partial, PartialRule, Pointwise};
use super::{Bilinear, Joint, View, batching, constant, shapes};
use crate::bail;
use crate::base::{DType, Layout, Result, Scalar, Shape};
use crate::core::params::Dims;
use crate::core::params::{fields, parameters};
use crate::core::primitive::Saves;
use crate::core::residual;
use crate::core::symbolic::Symbolic;
use crate::core::{BatchArg, BatchInfo, Mask, Meta, Params, Prim, Primitive, Tangents, Tensor, call, call_into};
use crate::dense::pointwise::{Elementwise, kernels};
use crate::dense::{Array, copy, index, matmul as products, reduce};
use smallvec::{SmallVec, smallvec};

/// Which of the first two inputs (bits 0, 1) a partial reads.
const fn reads(inputs: u64) -> Saves {
    Saves { inputs, outputs: 0 }
}

pub static ADD: Pointwise = Pointwise {
    name: "add",
    kernel: &kernels::ADD,
    partials: &[
        Some(PartialRule { saves: reads(0), rule: |_| Ok(Partial::One) }),
        Some(PartialRule { saves: reads(0), rule: |_| Ok(Partial::One) }),
    ],
};
pub static SUB: Pointwise = Pointwise {
    name: "sub",
    kernel: &kernels::SUB,
    partials: &[
        Some(PartialRule { saves: reads(0), rule: |_| Ok(Partial::One) }),
        Some(PartialRule { saves: reads(0), rule: |_| Ok(Partial::MinusOne) }),
    ],
};
pub static MUL: Pointwise = Pointwise {
    name: "mul",
    kernel: &kernels::MUL,
    partials: &[
        Some(PartialRule { saves: reads(2), rule: |p| Ok(Partial::Read(p.input(1)?)) }),
        Some(PartialRule { saves: reads(1), rule: |p| Ok(Partial::Read(p.input(0)?)) }),
    ],
};
/// The quotient of floats.
pub static DIV: Pointwise = Pointwise {
    name: "div",
    kernel: &kernels::DIV,
    partials: &[
        Some(PartialRule { saves: reads(2), rule: |p| Ok(Partial::Over(p.input(1)?.clone())) }),
        Some(PartialRule {
            saves: Saves { inputs: 2, outputs: 1 },
            rule: |p| neg(&div(p.output(0)?, p.input(1)?)?).map(Partial::Value),
        }),
    ],
};
pub static NEG: Pointwise = Pointwise {
    name: "neg",
    kernel: &kernels::NEG,
    partials: &[Some(PartialRule { saves: reads(0), rule: |_| Ok(Partial::MinusOne) })],
};
/// `where(condition, a, b)`; linear in `a` and `b`.
pub static WHERE: Pointwise = Pointwise {
    name: "where",
    kernel: &kernels::WHERE,
    partials: &[
        None,
        Some(PartialRule { saves: reads(1), rule: |p| Ok(Partial::Where(p.input(0)?.clone())) }),
        Some(PartialRule { saves: reads(1), rule: |p| Ok(Partial::Unless(p.input(0)?.clone())) }),
    ],
};
/// `x` where the condition holds, 0 elsewhere.
static KEEP: Pointwise = Pointwise {
    name: "where:keep",
    kernel: &kernels::WHERE_KEEP,
    partials: &[None, Some(PartialRule { saves: reads(1), rule: |p| Ok(Partial::Where(p.input(0)?.clone())) })],
};
/// `x * y` where the condition holds, 0 elsewhere.
static KEEP_PRODUCT: Pointwise = Pointwise {
    name: "where:product",
    kernel: &kernels::WHERE_PRODUCT,
    partials: &[
        None,
        Some(PartialRule {
            saves: Saves { inputs: 5, outputs: 0 },
            rule: |p| Ok(Partial::where_value(p.input(0)?, p.input(2)?)),
        }),
        Some(PartialRule { saves: reads(3), rule: |p| Ok(Partial::where_value(p.input(0)?, p.input(1)?)) }),
    ],
};
/// 0 where the condition holds, `x` elsewhere.
static CLEAR: Pointwise = Pointwise {
    name: "where:clear",
    kernel: &kernels::WHERE_CLEAR,
    partials: &[None, Some(PartialRule { saves: reads(1), rule: |p| Ok(Partial::Unless(p.input(0)?.clone())) })],
};

/// The complex conjugate: linear over the reals, its own transpose.
pub static CONJ: Pointwise = Pointwise {
    name: "conj",
    kernel: &kernels::CONJ,
    partials: &[Some(PartialRule { saves: reads(0), rule: |_| Ok(Partial::Conjugate) })],
};

/// Conversion to another dtype. Its transpose converts back; complex to real takes the real part.
pub static CAST: Linear = Linear {
    name: "to",
    infer: |p, a| shapes::one(p.dtype(), shapes::first(a)?.shape.clone()),
    eval: |p, a| copy::cast_in_place(a, p.dtype()),
    transpose: |_, g, _, dtype| cast(g, dtype),
    batching: Batching::Elementwise(|p| Elementwise::Convert(p.dtype())),
};
/// A copy with memory of its own, whose elements are in the same order.
pub static CLONE: Linear = Linear {
    name: "clone",
    infer: shapes::same,
    eval: |_, a| copy::gather_in_place(a),
    transpose: |_, g, _, _| Ok(g.clone()),
    batching: Batching::Shift,
};
/// A copy with memory of its own, in row-major order.
pub static COPY: Linear = Linear {
    name: "clone:rows",
    infer: shapes::same,
    eval: |_, a| copy::gather(a),
    transpose: |_, g, _, _| Ok(g.clone()),
    batching: Batching::Shift,
};
/// Broadcast without copying.
pub static EXPAND: View = View {
    linear: Linear {
        name: "expand",
        infer: |p, a| shapes::reshaped(a, |x| x.check_expand(p.shape()).map(|()| p.shape().clone())),
        eval: |p, a| a.expand(p.shape()),
        transpose: |_, g, shape, _| unbroadcast(g.clone(), shape),
        batching: Batching::With(|p, v| {
            let lead = p.shape().rank() + 1 - v.rank();
            let mut aligned = Shape::new(&v.shape()[..1]);
            (0..lead).for_each(|_| aligned.push(1));
            v.shape()[1..].iter().for_each(|&d| aligned.push(d));
            expand(&reshape(v, &aligned)?, &p.shape().prepend(v.shape()[0]))
        }),
    },
    symbolic: |p, s| Some(s.expand(p.shape())),
};
/// The same elements in another shape.
pub static RESHAPE: View = View {
    linear: Linear {
        name: "reshape",
        infer: |p, a| shapes::reshaped(a, |x| x.check_reshape(p.shape()).map(|()| p.shape().clone())),
        eval: |p, a| a.reshape(p.shape()),
        transpose: |_, g, shape, _| reshape(g, shape),
        batching: Batching::With(|p, v| reshape(v, &p.shape().prepend(v.shape()[0]))),
    },
    symbolic: |p, s| s.reshape(p.shape()),
};
/// A new dimension of size 1, whose stride is that of all that follows, which the shape alone does not say.
static UNSQUEEZE: View = View {
    linear: Linear {
        name: "unsqueeze",
        infer: |p, a| shapes::reshaped(a, |x| Ok(with_one(x, p.dim()))),
        eval: |p, a| a.unsqueeze(p.dim()),
        transpose: |_, g, shape, _| reshape(g, shape),
        batching: Batching::Shift,
    },
    symbolic: |p, s| s.reshape(&with_one(s.shape(), p.dim())),
};
pub static PERMUTE: View = View {
    linear: Linear {
        name: "permute",
        infer: |p, a| shapes::reshaped(a, |x| Ok(p.order().iter().map(|&d| x[d]).collect())),
        eval: |p, a| a.permute(p.order()),
        transpose: |p, g, _, _| permute(g, &inverse(p.order())),
        batching: Batching::Shift,
    },
    symbolic: |p, s| Some(s.permute(p.order())),
};
pub static SUM: Linear = Linear {
    name: "sum",
    infer: |p, a| match shapes::first(a)?.dtype {
        DType::Bool => Err(reduce::no_bools("sum")),
        _ => shapes::reduced(p, a),
    },
    eval: |p, a| {
        let (dims, keep) = p.dims();
        reduce::sum(a, dims, keep)
    },
    transpose: |p, g, shape, _| {
        let (dims, keep) = p.dims();
        let g = if keep { g.clone() } else { unsqueeze_dims(g, dims)? };
        expand(&g, shape)
    },
    batching: Batching::Shift,
};
/// Elements `start + step * i` of one dimension; negative steps are legal. Also `flip` and `select`.
pub static SLICE: Linear = Linear {
    name: "slice",
    infer: |p, a| match *p {
        Params::Slice { dim, len, .. } => shapes::reshaped(a, |x| Ok(x.with(dim, len))),
        _ => bail!(Internal, "slice(): parameters {p:?}"),
    },
    eval: |p, a| match *p {
        Params::Slice { dim, start, len, step } => a.slice(dim, start, len, step),
        _ => bail!(Internal, "slice(): parameters {p:?}"),
    },
    transpose: |p, g, shape, _| call(Prim::Static(&UNSLICE), &unslice_params(p, shape), &[g]),
    batching: Batching::Shift,
};
/// The transpose of [`SLICE`]: zeros with the given elements at their places.
pub static UNSLICE: Linear = Linear {
    name: "unslice",
    infer: |p, a| {
        let u = p.get::<Unslice>();
        shapes::reshaped(a, |x| x.with(u.dim, u.size).checked("unslice"))
    },
    eval: |p, a| {
        let u = p.get::<Unslice>();
        crate::dense::copy::unslice(a, u.size, u.dim, u.start, u.step)
    },
    transpose: |p, g, _, _| {
        let u = p.get::<Unslice>();
        slice(g, u.dim, u.start, u.len, u.step)
    },
    batching: Batching::With(|p, v| {
        let u = p.get::<Unslice>();
        call(Prim::Static(&UNSLICE), &Params::other(Unslice { dim: u.dim + 1, ..u.clone() }), &[v])
    }),
};

/// Parameters of [`UNSLICE`]: the slice, and the size that the dimension had.
#[derive(Debug, Clone)]
pub struct Unslice {
    pub dim: usize,
    pub size: usize,
    pub start: usize,
    pub len: usize,
    pub step: isize,
}

fields! { struct Unslice { dim, size, start, len, step } }
parameters! { Unslice = "unslice" }

fn unslice_params(p: &Params, shape: &Shape) -> Params {
    match *p {
        Params::Slice { dim, start, len, step } => Params::other(Unslice { dim, size: shape[dim], start, len, step }),
        _ => Params::None,
    }
}

/// Batched matrix product of operands of rank two or more; leading dimensions broadcast.
pub static MATMUL: Bilinear = Bilinear {
    name: "matmul",
    infer: |_, a| {
        let (a, b) = (shapes::first(a)?, shapes::argument(a, 1)?);
        shapes::one(a.dtype, products::product_shape(a.form(), b.form())?)
    },
    eval: |_, a, b| products::matmul(a, b),
    symbolic: Some(Symbolic::product),
    transposes: [
        |_, g, b, shape| unbroadcast(matmul(g, &swap_last(b)?)?, shape),
        |_, g, a, shape| {
            if shape.rank() == 2 && a.rank() > 2 && a.rank() == g.rank() {
                // One product of long rows and columns adds up the batch.
                return matmul(&swap_last(&rows(a)?)?, &rows(g)?);
            }
            unbroadcast(matmul(&swap_last(a)?, g)?, shape)
        },
    ],
    batch: batch_matmul,
};

/// All rows of a batch of matrices as one matrix.
pub fn rows(x: &Tensor) -> Result<Tensor> {
    let columns = x.shape()[x.rank() - 1];
    reshape(x, &[x.shape()[..x.rank() - 1].iter().product(), columns].into())
}

pub fn batch_matmul(me: Prim<'_>, params: &Params, args: &[BatchArg<'_>], _: BatchInfo) -> Result<Tensor> {
    let rank = batching::logical_rank(args);
    let a = batching::aligned(&args[0], rank)?;
    let b = batching::aligned(&args[1], rank)?;
    call(me, params, &[&a, &b])
}

/// Concatenation of any number of tensors along a dimension; linear in each. Its parameters are the dimension and then
/// the size of each part.
pub static CAT: Joint = Joint {
    name: "cat",
    infer: |p, a| {
        let (dtype, shape) = index::joined_form(a.iter().map(Meta::form), p.ints()[0] as usize)?;
        shapes::one(dtype, shape)
    },
    eval: |p, args| {
        let arrays: SmallVec<[Array; 4]> = args.iter().map(|a| a.array().cloned()).collect::<Result<_>>()?;
        Ok(smallvec![index::cat(&arrays, p.ints()[0] as usize)?.into()])
    },
    linear: Mask::MAX,
    saves: |_, _| Saves::default(),
    transpose: |_, p, point, cotangents, _| {
        let [Some(g)] = cotangents else { return Ok(SmallVec::new()) };
        let (dim, sizes) = (p.ints()[0] as usize, &p.ints()[1..]);
        let mut start = 0;
        let mut grads = Tangents::new();
        for (i, &size) in sizes.iter().enumerate() {
            let wanted = point.node.is_none_or(|n| n.edges[i].is_some());
            grads.push(if wanted { Some(slice(g, dim, start, size as usize, 1)?) } else { None });
            start += size as usize;
        }
        Ok(grads)
    },
    batch: |me, p, args, info| {
        let values: SmallVec<[_; 4]> = args.iter().map(|a| batching::front_expanded(a, info)).collect::<Result<_>>()?;
        let refs: SmallVec<[&Tensor; 4]> = values.iter().map(|v| &**v).collect();
        let mut ints: SmallVec<[i64; 6]> = SmallVec::from_slice(p.ints());
        ints[0] += 1;
        Ok(smallvec![(call(me, &Params::Ints(ints), &refs)?, Some(0))])
    },
};

fn inverse(order: &[usize]) -> Dims {
    let mut inv: Dims = SmallVec::from_elem(0, order.len());
    for (i, &d) in order.iter().enumerate() {
        inv[d] = i;
    }
    inv
}

#[inline]
pub fn add(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&ADD), &Params::None, &[a, b])
}
/// `a + b`, where the caller gives up `a`.
pub fn add_into(a: Tensor, b: &Tensor) -> Result<Tensor> {
    call_into(Prim::Static(&ADD), &Params::None, a, 0, &[b])
}
#[inline]
pub fn sub(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&SUB), &Params::None, &[a, b])
}
#[inline]
pub fn mul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&MUL), &Params::None, &[a, b])
}
/// `a * b`, where the caller gives up `b`.
pub fn mul_into(a: &Tensor, b: Tensor) -> Result<Tensor> {
    call_into(Prim::Static(&MUL), &Params::None, b, 1, &[a])
}
/// `a / b` of floats.
#[inline]
pub fn div(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&DIV), &Params::None, &[a, b])
}
#[inline]
pub fn neg(a: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&NEG), &Params::None, &[a])
}
/// `a` where `condition` (bool) holds, `b` elsewhere; all broadcast, dtypes of `a` and `b` are equal.
pub fn where_(condition: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&WHERE), &Params::None, &[condition, a, b])
}
/// `x` where `condition` (bool) holds, 0 elsewhere; both broadcast. Unlike a product with the mask, it gives 0 in place of
/// an infinity, and so do its derivatives.
pub fn keep_where(condition: &Tensor, x: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&KEEP), &Params::None, &[condition, x])
}
/// `x * y` where `condition` (bool) holds, 0 elsewhere, whatever `x` and `y` are there; all broadcast.
pub fn product_where(condition: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&KEEP_PRODUCT), &Params::None, &[condition, x, y])
}
/// 0 where `condition` (bool) holds, `x` elsewhere; both broadcast.
pub fn clear_where(condition: &Tensor, x: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&CLEAR), &Params::None, &[condition, x])
}
/// The complex conjugate; real tensors are their own.
#[inline]
pub fn conj(a: &Tensor) -> Result<Tensor> {
    if a.dtype().is_complex() { call(Prim::Static(&CONJ), &Params::None, &[a]) } else { Ok(a.clone()) }
}
#[inline]
pub fn cast(a: &Tensor, dtype: DType) -> Result<Tensor> {
    if a.dtype() == dtype {
        return Ok(a.clone());
    }
    call(Prim::Static(&CAST), &Params::DType(dtype), &[a])
}
/// A copy that shares no memory.
pub fn copy(a: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&COPY), &Params::None, &[a])
}
/// As `copy`, with the elements in the order in which they are.
#[inline]
pub fn copy_in_order(a: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&CLONE), &Params::None, &[a])
}
#[inline]
pub fn expand(a: &Tensor, shape: &Shape) -> Result<Tensor> {
    if a.shape() == shape {
        return Ok(a.clone());
    }
    call(Prim::Static(&EXPAND), &Params::Shape(shape.clone()), &[a])
}
#[inline]
pub fn reshape(a: &Tensor, shape: &Shape) -> Result<Tensor> {
    if a.shape() == shape {
        return Ok(a.clone());
    }
    call(Prim::Static(&RESHAPE), &Params::Shape(shape.clone()), &[a])
}
fn with_one(shape: &Shape, dim: usize) -> Shape {
    let mut shape = shape.clone();
    shape.insert(dim, 1);
    shape
}
/// A dimension of size 1 put at the position `dim` of the result.
pub fn unsqueeze(a: &Tensor, dim: usize) -> Result<Tensor> {
    call(Prim::Static(&UNSQUEEZE), &Params::Dim(dim), &[a])
}
/// Dimension i of the result is dimension `order[i]`.
pub fn permute(a: &Tensor, order: &[usize]) -> Result<Tensor> {
    if order.iter().enumerate().all(|(i, &d)| i == d) {
        return Ok(a.clone());
    }
    call(Prim::Static(&PERMUTE), &Params::Order(SmallVec::from_slice(order)), &[a])
}
pub fn move_dim(a: &Tensor, from: usize, to: usize) -> Result<Tensor> {
    let mut order: Dims = (0..a.rank()).collect();
    let d = order.remove(from);
    order.insert(to, d);
    permute(a, &order)
}
pub fn swap_dims(a: &Tensor, i: usize, j: usize) -> Result<Tensor> {
    let mut order: Dims = (0..a.rank()).collect();
    order.swap(i, j);
    permute(a, &order)
}
/// The transpose of the trailing matrices.
pub fn swap_last(a: &Tensor) -> Result<Tensor> {
    swap_dims(a, a.rank() - 2, a.rank() - 1)
}
/// The adjoint of the trailing matrices: transposed and conjugated.
pub fn adjoint(a: &Tensor) -> Result<Tensor> {
    swap_last(&conj(a)?)
}
pub fn sum(a: &Tensor, dims: &[usize], keep: bool) -> Result<Tensor> {
    call(Prim::Static(&SUM), &Params::Dims { dims: SmallVec::from_slice(dims), keep }, &[a])
}
/// The sum of all elements, 0-d.
pub fn sum_all(a: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&SUM), &Params::Dims { dims: (0..a.rank()).collect(), keep: false }, &[a])
}
/// Elements `start + step * i`, i in 0..len, along `dim`; all must exist.
pub fn slice(a: &Tensor, dim: usize, start: usize, len: usize, step: isize) -> Result<Tensor> {
    call(Prim::Static(&SLICE), &Params::Slice { dim, start, len, step }, &[a])
}
/// Element `index` along `dim`, without that dimension.
pub fn select(a: &Tensor, dim: usize, index: usize) -> Result<Tensor> {
    reshape(&slice(a, dim, index, 1, 1)?, &a.shape().without(dim))
}
#[inline]
pub fn matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&MATMUL), &Params::None, &[a, b])
}
/// Whether the strides of a value say that its channels lie behind the other dimensions.
pub fn suggests_channels_last(x: &Tensor) -> bool {
    (4..=5).contains(&x.rank())
        && x.innermost().is_some_and(|a| !a.is_plain())
        && Layout { shape: x.shape().clone(), strides: x.lies().0, offset: 0 }.suggests_channels_last()
}
/// Tensors of equal dtype and rank joined along `dim`; the other dimensions agree. Where the channels of all lie behind the
/// other dimensions, those of the result do.
pub fn cat(parts: &[&Tensor], dim: usize) -> Result<Tensor> {
    let Some(first) = parts.first().filter(|_| parts.iter().all(|p| suggests_channels_last(p))) else {
        return cat_rows(parts, dim);
    };
    let last = first.rank() - 1;
    let behind: SmallVec<[Tensor; 2]> = parts.iter().map(|t| move_dim(t, 1, last)).collect::<Result<_>>()?;
    let behind: SmallVec<[&Tensor; 2]> = behind.iter().collect();
    let along = if dim == 1 { last } else { dim - usize::from(dim > 1) };
    move_dim(&cat_rows(&behind, along)?, last, 1)
}
/// As [`cat`], in row-major order.
pub fn cat_rows(parts: &[&Tensor], dim: usize) -> Result<Tensor> {
    let ints = std::iter::once(dim as i64).chain(parts.iter().map(|p| p.shape()[dim] as i64)).collect();
    call(Prim::Static(&CAT), &Params::Ints(ints), parts)
}
/// Dimensions of size 1 put at the positions `dims` of the result.
pub fn unsqueeze_dims(a: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let mut sorted: Dims = SmallVec::from_slice(dims);
    sorted.sort_unstable();
    let mut shape = a.shape().clone();
    for d in sorted {
        // Reductions of 0-d tensors name dimension 0, which does not exist.
        if d <= shape.rank() && (a.rank() + dims.len() > d) {
            shape.insert(d, 1);
        }
    }
    reshape(a, &shape)
}
/// Sums what broadcasting from `shape` repeated.
#[inline(always)]
pub fn unbroadcast(g: Tensor, shape: &Shape) -> Result<Tensor> {
    if g.shape() == shape { Ok(g) } else { sum_to(&g, shape) }
}
#[inline(never)]
fn sum_to(g: &Tensor, shape: &Shape) -> Result<Tensor> {
    let narrow = |(&a, &b): (&usize, &usize)| a == 1 && b != 1;
    if g.rank() < shape.rank() || (g.rank() == shape.rank() && g.shape().iter().zip(shape.iter()).any(narrow)) {
        // A derivative that is constant along a broadcast dimension.
        return expand(g, shape);
    }
    let lead = g.rank() - shape.rank();
    let dims: Dims = (0..g.rank()).filter(|&i| i < lead || (shape[i - lead] == 1 && g.shape()[i] != 1)).collect();
    let summed = if dims.is_empty() { g.clone() } else { sum(g, &dims, false)? };
    reshape(&summed, shape)
}
/// A tensor of one value, which needs no memory until a kernel reads it.
pub fn full(shape: &Shape, dtype: DType, value: impl Into<Scalar>) -> Result<Tensor> {
    constant::fill(shape, dtype, value.into())
}
pub fn zeros_like(a: &Tensor) -> Result<Tensor> {
    full(a.shape(), a.dtype(), 0.0)
}
pub fn ones_like(a: &Tensor) -> Result<Tensor> {
    full(a.shape(), a.dtype(), 1.0)
}
/// A 0-d constant of the dtype of `like`.
#[inline]
pub fn number(like: &Tensor, value: f64) -> Tensor {
    residual::number(Tensor::scalar(like.dtype(), value))
}
/// A 0-d constant that stands beside `like` in arithmetic: half precision, which would round it, meets it in single.
#[inline]
fn beside(like: &Tensor, value: f64) -> Tensor {
    let dtype = if like.dtype().is_half() { DType::F32 } else { like.dtype() };
    residual::number(Tensor::scalar(dtype, value))
}
/// `a * value`
pub fn scale(a: &Tensor, value: f64) -> Result<Tensor> {
    mul(a, &beside(a, value))
}
/// `a + value`
pub fn shift(a: &Tensor, value: f64) -> Result<Tensor> {
    add(a, &beside(a, value))
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] = &[
    &ADD,
    &SUB,
    &MUL,
    &DIV,
    &NEG,
    &WHERE,
    &KEEP,
    &KEEP_PRODUCT,
    &CLEAR,
    &CONJ,
    &CAST,
    &CLONE,
    &COPY,
    &EXPAND,
    &RESHAPE,
    &UNSQUEEZE,
    &PERMUTE,
    &SUM,
    &SLICE,
    &UNSLICE,
    &MATMUL,
    &CAT,
];
