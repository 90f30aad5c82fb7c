//! Maxima and averages over windows.

use super::formats::{arranged, by_rows};
use crate::bail;
use crate::base::{DType, Result, Scalar, Shape};
use crate::core::primitive::Saves;
use crate::core::{Meta, Outputs, Params, Prim, Primitive, Tensor, call, call_many};
use crate::dense::Array;
use crate::dense::window::{self, Slide, Windows};
use crate::ops::Value;
use crate::ops::signature::{NonZero, Spatial, Strides, Truth, inside, of_rank};
use crate::rules::{Batching, General, Linear, basis, batching, index, shapes};
use smallvec::{SmallVec, smallvec};

/// Averages over windows of the last dimensions.
static AVG_POOL: Linear = Linear {
    name: "avg_pool",
    infer: |p, a| {
        let x = shapes::first(a)?;
        shapes::one(x.dtype, window::pooled_shape("avg_pool", x.form(), p.get())?)
    },
    eval: |p, a| lying(window::avg_pool(a, p.get())?, a, p),
    transpose: |p, g, _, _| call(Prim::Static(&AVG_POOL_GRAD), p, &[g]),
    batching: Batching::With(|p, v| call(Prim::Static(&AVG_POOL), p, &[v])),
};

/// The result of a pool of images, with its channels where they were. Volumes of averages lie in row-major order, as in
/// PyTorch.
fn lying(out: Array, a: &Array, p: &Params) -> Result<Array> {
    if p.get::<Windows>().rank == 2 { out.arranged_as(&[a]) } else { Ok(out) }
}

/// The transpose of [`AVG_POOL`].
static AVG_POOL_GRAD: Linear = Linear {
    name: "avg_pool_grad",
    infer: |p, a| {
        let x = shapes::first(a)?;
        shapes::one(x.dtype, window::spread_shape("avg_pool", x.form(), p.get())?)
    },
    eval: |p, a| lying(window::avg_pool_grad(a, p.get())?, a, p),
    transpose: |p, g, _, _| call(Prim::Static(&AVG_POOL), p, &[g]),
    batching: Batching::With(|p, v| call(Prim::Static(&AVG_POOL_GRAD), p, &[v])),
};

/// Maxima over windows of the last dimensions, and their positions in the plane. Both rules follow the positions, as those
/// of `Choosing` do along one dimension: here windows share elements, in several dimensions.
static MAX_POOL: General = General {
    name: "max_pool",
    infer: |p, a| {
        let x = shapes::first(a)?;
        let shape = window::pooled_shape("max_pool", x.form(), p.get())?;
        Ok(smallvec![Meta { dtype: x.dtype, shape: shape.clone() }, Meta { dtype: DType::I64, shape }])
    },
    eval: |p, a| {
        let x = a[0].array()?;
        let (values, indices) = window::max_pool(x, p.get())?;
        Ok(smallvec![values.arranged_as(&[x])?.into(), indices.arranged_as(&[x])?.into()])
    },
    saves: |_, _| Saves { inputs: 0, outputs: 2 },
    jvp: |_, p, point, tangents| match tangents {
        [Some(t)] => {
            let (at, rank) = (point.output(1)?, p.get::<Windows>().rank);
            let picked = index::gather(&flat(t, rank)?, t.rank() - rank, &flat(at, rank)?)?;
            Ok(smallvec![Some(basis::reshape(&picked, at.shape())?), None])
        }
        _ => Ok(smallvec![None, None]),
    },
    vjp: |_, p, point, cotangents, _| match cotangents {
        [Some(g), ..] => {
            let (at, rank, shape) = (point.output(1)?, p.get::<Windows>().rank, point.in_shape(0)?);
            let zeros = basis::full(&flat_shape(shape, rank), g.dtype(), 0.0)?;
            let put = index::scatter_add(&zeros, g.rank() - rank, &flat(at, rank)?, &flat(g, rank)?)?;
            Ok(smallvec![Some(arranged(basis::reshape(&put, shape)?, g)?)])
        }
        _ => Ok(SmallVec::new()),
    },
    batch: |me, p, args, _| {
        let Some(v) = batching::front(&args[0])? else { bail!(Internal, "max_pool(): nothing is batched") };
        Ok(call_many(me, p, &[&v])?.into_iter().map(|o| (o, Some(0))).collect())
    },
};

/// The shape with its last `rank` dimensions as one.
fn flat_shape(shape: &Shape, rank: usize) -> Shape {
    let lead = shape.rank() - rank;
    Shape::new(&shape[..lead]).append(shape[lead..].iter().product())
}

fn flat(x: &Tensor, rank: usize) -> Result<Tensor> {
    basis::reshape(x, &flat_shape(x.shape(), rank))
}

/// Integer arguments of a pool; an empty stride is the kernel size.
struct Sizes {
    kernel: Vec<i64>,
    stride: Option<Vec<i64>>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    ceil: bool,
    count_padding: bool,
}

impl Sizes {
    fn windows(&self, rank: usize, input: &Tensor) -> Result<Windows> {
        check_input(input, rank)?;
        let (kernel, padding, dilation) = (&self.kernel, &self.padding, &self.dilation);
        let stride = self.stride.as_ref().unwrap_or(kernel);
        let mut slides = Vec::with_capacity(rank);
        for d in 0..rank {
            let (k, s, p, dil) = (kernel[d], stride[d], padding[d], dilation[d]);
            if p > ((k - 1).saturating_mul(dil).saturating_add(1)) / 2 {
                refuse!(
                    Runtime,
                    "pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and \
                     dilation={dil}; pad() the input"
                );
            }
            slides.push(Slide {
                kernel: k as usize,
                stride: s as usize,
                padding: p as usize,
                dilation: dil as usize,
                ceil: self.ceil,
                count_padding: self.count_padding,
            });
        }
        let size = &input.shape()[input.rank() - rank..];
        let windows = Windows::sliding(size, &slides).map_err(inside)?;
        if windows.output().any(|n| n == 0) {
            refuse!(
                Runtime,
                "given input size {size:?} and kernel size {kernel:?}, the calculated output size is {:?}: output \
                 size is too small; give a larger input, or a smaller kernel",
                windows.output().collect::<Vec<_>>()
            );
        }
        Ok(windows)
    }
}

/// An input with channels, and with or without a batch.
fn check_input(input: &Tensor, rank: usize) -> Result<()> {
    of_rank("input", input, rank + 1, rank + 2)?;
    if input.shape()[input.rank() - rank..].contains(&0) {
        refuse!(
            Runtime,
            "expected input to have non-zero size for non-batch dimensions, but got sizes {}; give it elements",
            input.shape()
        );
    }
    Ok(())
}

/// Maxima and their positions.
fn max_outputs(input: &Tensor, windows: Windows) -> Result<(Tensor, Tensor)> {
    let outs: Outputs = call_many(Prim::Static(&MAX_POOL), &Params::other(windows), &[input])?;
    let mut outs = outs.into_iter();
    match (outs.next(), outs.next()) {
        (Some(values), Some(indices)) => Ok((values, indices)),
        _ => bail!(Internal, "max_pool(): expected two outputs"),
    }
}

fn max_value(input: &Tensor, windows: Windows, return_indices: bool) -> Result<Value> {
    let (values, indices) = max_outputs(input, windows)?;
    Ok(if return_indices {
        Value::Tuple(vec![Value::Tensor(values), Value::Tensor(indices)])
    } else {
        Value::Tensor(values)
    })
}

fn average(input: &Tensor, windows: Windows) -> Result<Tensor> {
    call(Prim::Static(&AVG_POOL), &Params::other(windows), &[input])
}

fn avg(rank: usize, input: &Tensor, sizes: Sizes, divisor: Option<i64>) -> Result<Tensor> {
    average(input, Windows { divisor, ..sizes.windows(rank, input)? })
}

/// Windows of an adaptive pool; `None` keeps the size of a dimension.
fn adaptive(rank: usize, input: &Tensor, output_size: &Value) -> Result<Windows> {
    if input.rank() < rank + 1 {
        refuse!(
            Value,
            "Input dimension should be at least {}, got {}; add dimensions with unsqueeze()",
            rank + 1,
            input.rank()
        );
    }
    check_input(input, rank)?;
    let sizes = &input.shape()[input.rank() - rank..];
    let asked = match output_size {
        Value::Tuple(v) | Value::List(v) => v.clone(),
        Value::Ints(v) => v.iter().map(|&i| Value::Int(i)).collect(),
        one => vec![one.clone(); rank],
    };
    if asked.len() != rank {
        refuse!(Runtime, "argument 'output_size' must be an int or have {rank} elements, got {}", asked.len());
    }
    let mut out = Vec::with_capacity(rank);
    for (size, &own) in asked.iter().zip(sizes) {
        out.push(match size {
            Value::None => own,
            Value::Int(i) | Value::Number(Scalar::Int(i)) if *i >= 0 => *i as usize,
            Value::Int(i) | Value::Number(Scalar::Int(i)) => {
                refuse!(
                    Runtime,
                    "elements of output_size must be greater than or equal to 0 but received {i}; give None to \
                    keep the size"
                )
            }
            other => refuse!(Type, "argument 'output_size' must be ints or None, not {}", other.type_name()),
        });
    }
    // Fails before a list of windows that memory cannot hold is made.
    let all: Shape = input.shape()[..input.rank() - rank].iter().chain(&out).copied().collect();
    match all.checked_numel() {
        Some(n) if n < 1 << 48 => Windows::adaptive(sizes, &out),
        _ => refuse!(Runtime, "output_size {out:?} has more elements than memory can hold; give smaller sizes"),
    }
}

macro_rules! max_sizes {
    ($kernel:ident, $stride:ident, $padding:ident, $dilation:ident, $ceil:ident) => {
        Sizes {
            kernel: $kernel,
            stride: $stride,
            padding: $padding,
            dilation: $dilation,
            ceil: $ceil,
            count_padding: false,
        }
    };
}
macro_rules! avg_sizes {
    ($kernel:ident, $stride:ident, $padding:ident, $ceil:ident, $count:ident) => {
        Sizes {
            dilation: vec![1; $kernel.len()],
            kernel: $kernel,
            stride: $stride,
            padding: $padding,
            ceil: $ceil,
            count_padding: $count,
        }
    };
}

ops! { MAX_TABLE:
    /// The largest element of each window of the last dimension; with `return_indices` also where it is.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.max_pool1d(pullback.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    /// tensor([[3., 2.]])
    fn max_pool1d = "nn.functional.max_pool1d" | "max_pool1d" (input: &Tensor, kernel_size: &[i64] as Spatial<1, 1>,
        stride: Option<&[i64]> as Strides<1> = None, padding: &[i64] as Spatial<1, 0> = &[0], dilation: &[i64] as Spatial<1, 1> = &[1], ceil_mode: bool = false,
        return_indices: bool as Truth = false) -> Value [WINDOW, NO_OUT] node "SqueezeBackward1" {
        let sizes = max_sizes!(kernel_size, stride, padding, dilation, ceil_mode);
        max_value(input, sizes.windows(1, input)?, return_indices)
    }

    /// The largest element of each window of the last two dimensions; with `return_indices` also where it is.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.max_pool2d(pullback.ones(1, 4, 4), 2).shape
    /// pullback.Size([1, 2, 2])
    fn max_pool2d = "nn.functional.max_pool2d" | "max_pool2d" (input: &Tensor, kernel_size: &[i64] as Spatial<2, 1>,
        stride: Option<&[i64]> as Strides<2> = None, padding: &[i64] as Spatial<2, 0> = &[0], dilation: &[i64] as Spatial<2, 1> = &[1], ceil_mode: bool = false,
        return_indices: bool as Truth = false) -> Value [WINDOW, NO_OUT] node "MaxPool2DWithIndicesBackward0" {
        let sizes = max_sizes!(kernel_size, stride, padding, dilation, ceil_mode);
        max_value(input, sizes.windows(2, input)?, return_indices)
    }

    /// The largest element of each window of the last three dimensions; with `return_indices` also where it is.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.max_pool3d(pullback.ones(1, 4, 4, 4), 2).shape
    /// pullback.Size([1, 2, 2, 2])
    fn max_pool3d = "nn.functional.max_pool3d" | "max_pool3d" (input: &Tensor, kernel_size: &[i64] as Spatial<3, 1>,
        stride: Option<&[i64]> as Strides<3> = None, padding: &[i64] as Spatial<3, 0> = &[0], dilation: &[i64] as Spatial<3, 1> = &[1], ceil_mode: bool = false,
        return_indices: bool as Truth = false) -> Value [WINDOW, NO_OUT, IN_SINGLE] node "MaxPool3DWithIndicesBackward0" {
        let sizes = max_sizes!(kernel_size, stride, padding, dilation, ceil_mode);
        max_value(input, sizes.windows(3, input)?, return_indices)
    }

    /// The largest element of each of `output_size` windows of the last dimension.
    fn adaptive_max_pool1d = "nn.functional.adaptive_max_pool1d" (input: &Tensor, output_size: &Value,
        return_indices: bool as Truth = false) -> Value [NO_OUT] node "SqueezeBackward1" {
        max_value(input, adaptive(1, input, output_size)?, return_indices)
    }

    /// The largest element of each of `output_size` windows of the last two dimensions.
    fn adaptive_max_pool2d = "nn.functional.adaptive_max_pool2d" (input: &Tensor, output_size: &Value,
        return_indices: bool as Truth = false) -> Value [NO_OUT] {
        max_value(input, adaptive(2, input, output_size)?, return_indices)
    }

    /// The largest element of each of `output_size` windows of the last three dimensions.
    fn adaptive_max_pool3d = "nn.functional.adaptive_max_pool3d" (input: &Tensor, output_size: &Value,
        return_indices: bool as Truth = false) -> Value [NO_OUT, IN_SINGLE] {
        // Its volumes lie in row-major order, as in PyTorch.
        max_value(&by_rows(input)?, adaptive(3, input, output_size)?, return_indices)
    }
}

ops! { AVG_TABLE:
    /// The average of each window of the last dimension.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.avg_pool1d(pullback.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    /// tensor([[2., 1.]])
    fn avg_pool1d = "nn.functional.avg_pool1d" | "avg_pool1d" (input: &Tensor, kernel_size: &[i64] as Spatial<1, 1>,
        stride: Option<&[i64]> as Strides<1> = None, padding: &[i64] as Spatial<1, 0> = &[0], ceil_mode: bool = false, count_include_pad: bool = true)
        -> Tensor [WINDOW, NO_OUT] node "SqueezeBackward1" {
        avg(1, input, avg_sizes!(kernel_size, stride, padding, ceil_mode, count_include_pad), None)
    }

    /// The average of each window of the last two dimensions.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.avg_pool2d(pullback.ones(1, 4, 4), 2)
    /// tensor([[[1., 1.],
    ///          [1., 1.]]])
    fn avg_pool2d = "nn.functional.avg_pool2d" (input: &Tensor, kernel_size: &[i64] as Spatial<2, 1>, stride: Option<&[i64]> as Strides<2> = None,
        padding: &[i64] as Spatial<2, 0> = &[0], ceil_mode: bool = false, count_include_pad: bool = true,
        divisor_override: Option<i64> as Option<NonZero> = None) -> Tensor [WINDOW] {
        let sizes = avg_sizes!(kernel_size, stride, padding, ceil_mode, count_include_pad);
        avg(2, input, sizes, divisor_override)
    }

    /// The average of each window of the last three dimensions.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.avg_pool3d(pullback.ones(1, 4, 4, 4), 2).shape
    /// pullback.Size([1, 2, 2, 2])
    fn avg_pool3d = "nn.functional.avg_pool3d" (input: &Tensor, kernel_size: &[i64] as Spatial<3, 1>, stride: Option<&[i64]> as Strides<3> = None,
        padding: &[i64] as Spatial<3, 0> = &[0], ceil_mode: bool = false, count_include_pad: bool = true,
        divisor_override: Option<i64> as Option<NonZero> = None) -> Tensor [WINDOW, IN_SINGLE] {
        let sizes = avg_sizes!(kernel_size, stride, padding, ceil_mode, count_include_pad);
        avg(3, input, sizes, divisor_override)
    }

    /// The average of each of `output_size` windows of the last dimension.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.adaptive_avg_pool1d(pullback.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    /// tensor([[2., 1.]])
    fn adaptive_avg_pool1d = "nn.functional.adaptive_avg_pool1d" | "adaptive_avg_pool1d" (input: &Tensor,
        output_size: &Value) -> Tensor [NO_OUT] node "SqueezeBackward1" {
        average(input, adaptive(1, input, output_size)?)
    }

    /// The average of each of `output_size` windows of the last two dimensions; `None` keeps a size.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.adaptive_avg_pool2d(pullback.ones(1, 5, 4), (2, None)).shape
    /// pullback.Size([1, 2, 4])
    fn adaptive_avg_pool2d = "nn.functional.adaptive_avg_pool2d" (input: &Tensor, output_size: &Value) -> Tensor [NO_OUT] {
        average(input, adaptive(2, input, output_size)?)
    }

    /// The average of each of `output_size` windows of the last three dimensions; `None` keeps a size.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.adaptive_avg_pool3d(pullback.ones(1, 5, 4, 3), 1).shape
    /// pullback.Size([1, 1, 1, 1])
    fn adaptive_avg_pool3d = "nn.functional.adaptive_avg_pool3d" (input: &Tensor, output_size: &Value) -> Tensor [NO_OUT, IN_SINGLE] {
        average(input, adaptive(3, input, output_size)?)
    }
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] = &[&AVG_POOL, &AVG_POOL_GRAD, &MAX_POOL];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[AVG_TABLE, MAX_TABLE],
    primitives: &[PRIMITIVES],
    parameters: &[crate::core::params::Type::of::<crate::dense::window::Windows>()],
};
