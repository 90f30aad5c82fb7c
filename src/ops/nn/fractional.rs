//! Maxima over windows of one size whose places are random, so that the output may have any size (Graham, 2014).

use crate::base::{DType, Result, Scalar};
use crate::core::Tensor;
use crate::dense::index as kernels;
use crate::ops::Value;
use crate::ops::random::rand_like;
use crate::ops::signature::{Spatial, Truth, floats, of_dtype, of_rank};
use crate::ops::unary::trunc;
use crate::ops::value::setting::{Device, Layout, MemoryFormat};
use crate::rules::basis::{self, add, cast, scale, sub};
use crate::rules::index::gather;

/// Sizes of the output: as given, or as fractions of the input's.
fn sizes(input: &[usize], size: &Value, ratio: &Value) -> Result<Vec<usize>> {
    let list = |v: &Value| match v {
        Value::Tuple(all) | Value::List(all) => all.clone(),
        Value::Ints(all) => all.iter().map(|&i| Value::Int(i)).collect(),
        one => vec![one.clone(); input.len()],
    };
    let number = |v: &Value| match v {
        Value::Int(i) | Value::Number(Scalar::Int(i)) => Ok(*i as f64),
        Value::Float(x) | Value::Number(Scalar::Float(x)) => Ok(*x),
        other => {
            refuse!(Type, "output_size and output_ratio must be numbers or tuples of them, not {}", other.type_name())
        }
    };
    let missing = |v: &Value| matches!(v, Value::None | Value::Missing);
    if missing(size) && missing(ratio) {
        refuse!(Value, "requires specifying either an output_size or an output_ratio; give one of them");
    }
    let given = list(if missing(size) { ratio } else { size });
    if given.len() != input.len() {
        refuse!(
            Runtime,
            "output_size and output_ratio have one number or {}, but got {}; give one for each dimension",
            input.len(),
            given.len()
        );
    }
    let mut out = Vec::new();
    for (v, &n) in given.iter().zip(input) {
        let x = number(v)?;
        if missing(size) && !(x > 0.0 && x < 1.0) {
            refuse!(
                Value,
                "output_ratio must be between 0 and 1 (got {x}); it is the size of the output by that of the input"
            );
        }
        let want = if missing(size) { (n as f64 * x) as i64 } else { x as i64 };
        if want < 1 {
            refuse!(
                Runtime,
                "the output size must be 1 or larger, but it is {want}; give a larger output_size or output_ratio"
            );
        }
        out.push(want as usize);
    }
    Ok(out)
}

/// Where the windows of each plane begin along one dimension, from a random number for each plane.
fn starts(u: &Tensor, input: usize, output: usize, kernel: usize) -> Result<Tensor> {
    let last = basis::full(&u.shape().with(2, 1), DType::I64, (input - kernel) as i64)?;
    if output == 1 {
        return Ok(last);
    }
    let alpha = (input - kernel) as f64 / (output - 1) as f64;
    let counts: Tensor = kernels::arange(u.dtype(), 0.into(), 1.into(), output - 1)?.into();
    let at = |x: &Tensor| trunc(&scale(x, alpha)?);
    let first = cast(&sub(&at(&add(&counts, u)?)?, &at(u)?)?, DType::I64)?;
    basis::cat(&[&first, &last], 2)
}

/// Positions in a plane of the elements of each window: (batch, channel, windows, elements).
fn positions(samples: &Tensor, input: &[usize], output: &[usize], kernel: &[usize]) -> Result<Tensor> {
    let rank = input.len();
    let mut sum: Option<Tensor> = None;
    for d in 0..rank {
        // In two dimensions the second number is that of the rows.
        let at = if rank == 2 { 1 - d } else { d };
        let u = basis::slice(samples, 2, at, 1, 1)?;
        let start = starts(&u, input[d], output[d], kernel[d])?;
        let stride: usize = input[d + 1..].iter().product();
        let mut shape = crate::Shape::new(&[start.shape()[0], start.shape()[1]]);
        (0..2 * rank).for_each(|k| shape.push(if k == d { output[d] } else { 1 }));
        let offsets: Tensor = kernels::arange(DType::I64, 0.into(), 1.into(), kernel[d])?.into();
        let column = crate::Shape::new(&vec![1; rank]).with(d, kernel[d]);
        let each = add(&basis::reshape(&start, &shape)?, &basis::reshape(&offsets, &column)?)?;
        let each = basis::mul(&each, &Tensor::scalar(DType::I64, stride as i64))?;
        sum = Some(match sum {
            Some(s) => add(&s, &each)?,
            None => each,
        });
    }
    let Some(all) = sum else { refuse!(Internal, "no dimensions") };
    let lead = [samples.shape()[0], samples.shape()[1], output.iter().product(), kernel.iter().product()];
    let whole = samples.shape()[..2].iter().chain(output).chain(kernel).copied().collect();
    basis::reshape(&basis::expand(&all, &whole)?, &lead.into())
}

struct Asked<'a> {
    kernel: Vec<i64>,
    size: &'a Value,
    ratio: &'a Value,
    indices: bool,
    samples: Option<&'a Tensor>,
}

fn pool(input: &Tensor, asked: &Asked<'_>) -> Result<Value> {
    let rank = asked.kernel.len();
    floats(of_rank("input", input, rank + 1, rank + 2)?)?;
    let batched = input.rank() == rank + 2;
    let x = if batched { input.clone() } else { basis::unsqueeze_dims(input, &[0])? };
    let plane = &x.shape()[2..];
    let kernel: Vec<usize> = asked.kernel.iter().map(|&k| k as usize).collect();
    let output = sizes(plane, asked.size, asked.ratio)?;
    for d in 0..rank {
        if (output[d] - 1).saturating_add(kernel[d]) > plane[d] {
            refuse!(
                Runtime,
                "pool size {} and output size {} are too large relative to input size {} of dimension {}; give smaller ones",
                kernel[d],
                output[d],
                plane[d],
                d + 2
            );
        }
    }
    let places = crate::Shape::new(&[x.shape()[0], x.shape()[1], rank]);
    let samples = match asked.samples {
        Some(s) => of_dtype("_random_samples", s, x.dtype())?.clone(),
        None => {
            let like = basis::full(&places, x.dtype(), 0.0)?;
            rand_like(&like, None, None, Layout::None, Device::None, false, MemoryFormat::None)?
        }
    };
    if samples.shape() != &places {
        refuse!(
            Runtime,
            "expected _random_samples of shape {places}, but got {}; give a number for each plane and dimension",
            samples.shape()
        );
    }
    let at = positions(&samples, plane, &output, &kernel)?;
    let flat = basis::reshape(&x, &[x.shape()[0], x.shape()[1], plane.iter().product()].into())?;
    let every = basis::reshape(&at, &[x.shape()[0], x.shape()[1], at.shape()[2] * at.shape()[3]].into())?;
    let windows = basis::reshape(&gather(&flat, 2, &every)?, at.shape())?;
    let best = crate::ops::sorting::argmax(&super::super::shape::detach(&windows)?, Some(3), true)?;
    let chosen = basis::reshape(&gather(&at, 3, &best)?, &at.shape().without(3))?;
    let values = gather(&flat, 2, &chosen)?;
    let lead = usize::from(!batched);
    let shape = x.shape()[lead..2].iter().chain(&output).copied().collect();
    let values = Value::Tensor(basis::reshape(&values, &shape)?);
    if !asked.indices {
        return Ok(values);
    }
    Ok(Value::Tuple(vec![values, Value::Tensor(basis::reshape(&chosen, &shape)?)]))
}

ops! { TABLE:
    /// The largest element of windows at random places, as many as `output_size` says, or `output_ratio` of the input's
    /// size; with `return_indices` also where it is.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.fractional_max_pool2d(pullback.ones(1, 5, 5), 2, output_size=3).shape
    /// pullback.Size([1, 3, 3])
    fn fractional_max_pool2d = "nn.functional.fractional_max_pool2d" (input: &Tensor, kernel_size: &[i64] as Spatial<2, 1>,
        output_size: &Value = &Value::None, output_ratio: &Value = &Value::None, return_indices: bool as Truth = false,
        _random_samples: Option<&Tensor> = None) -> Value [RANDOM, NO_OUT, IN_SINGLE] {
        pool(input, &Asked { kernel: kernel_size, size: output_size, ratio: output_ratio, indices: return_indices, samples: _random_samples })
    }

    /// The same over three dimensions.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.fractional_max_pool3d(pullback.ones(1, 5, 5, 5), 2, output_size=3).shape
    /// pullback.Size([1, 3, 3, 3])
    fn fractional_max_pool3d = "nn.functional.fractional_max_pool3d" (input: &Tensor, kernel_size: &[i64] as Spatial<3, 1>,
        output_size: &Value = &Value::None, output_ratio: &Value = &Value::None, return_indices: bool as Truth = false,
        _random_samples: Option<&Tensor> = None) -> Value [RANDOM, NO_OUT, IN_SINGLE] {
        pool(input, &Asked { kernel: kernel_size, size: output_size, ratio: output_ratio, indices: return_indices, samples: _random_samples })
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family { entries: &[TABLE], ..crate::ops::Family::EMPTY };
