//! New tensors.

use super::promote::fitting;
use super::shape::sizes;
use super::value::Operand;
use crate::base::dtype::Category;
use crate::base::promote::default_float;
use crate::base::{DType, Error, ErrorKind, Result, Scalar, Shape};
use crate::core::{LevelId, Meta, Tensor, level};
use crate::dense::{Array, index};
use crate::ops::signature::{Count, HERE, NonZero, RequiresGrad, no_bools, refused};
use crate::ops::value::setting::{Device, Layout, MemoryFormat, PinMemory};
use crate::rules::{basis, constant};
use std::fmt::Display;

/// A filled tensor. Its layout options must name what exists: the CPU, strided.
fn filled(shape: &Shape, dtype: DType, value: Scalar) -> Result<Tensor> {
    match level::tracing() {
        LevelId::DENSE => made(dtype, shape, || Array::full(dtype, shape.clone(), value)),
        _ => basis::full(shape, dtype, value),
    }
}

/// A new tensor of this dtype and shape; without data where that is asked for, and where only shapes are. There a number
/// keeps its value, which takes no memory.
pub(super) fn made(dtype: DType, shape: &Shape, make: impl FnOnce() -> Result<Array>) -> Result<Tensor> {
    if level::is_without_data() || (level::is_undrawn() && shape.rank() > 0) {
        return Ok(Tensor::without_data(Meta { dtype, shape: shape.clone().checked(HERE)? }));
    }
    make().map(Tensor::from)
}

/// A tensor filled with a number that the user gave.
fn filled_with(shape: &Shape, dtype: DType, value: Scalar) -> Result<Tensor> {
    filled(shape, dtype, fitting(HERE, "fill_value", value, dtype)?)
}

/// The number of elements of `start, start + step, … < end`.
fn arange_length(start: f64, end: f64, step: f64) -> Result<usize> {
    if !(start.is_finite() && end.is_finite()) || step.is_nan() {
        refuse!(
            Runtime,
            "unsupported range: {start} -> {end} by {step}; give finite bounds and a step that is a number"
        );
    }
    if (end - start) * step < 0.0 {
        return Err(wrong_way(&start, &end, &step));
    }
    let n = ((end - start) / step).ceil();
    if n >= isize::MAX as f64 {
        return Err(too_many());
    }
    Ok(n as usize)
}

#[cold]
fn wrong_way(start: &dyn Display, end: &dyn Display, step: &dyn Display) -> Error {
    refused(
        ErrorKind::Runtime,
        format_args!(
            "upper bound and lower bound inconsistent with step sign: got start={start}, end={end}, step={step}; give a \
             step that leads from start to end"
        ),
    )
}
#[cold]
fn too_many() -> Error {
    refused(
        ErrorKind::Runtime,
        format_args!("invalid size, possible overflow; give bounds closer together or a larger step"),
    )
}

/// As [`arange_length`], in integers that cannot overflow.
fn whole_length(start: i64, end: i64, step: i64) -> Result<usize> {
    let (span, step) = (i128::from(end) - i128::from(start), i128::from(step));
    if span.signum() * step.signum() < 0 {
        return Err(wrong_way(&start, &end, &step));
    }
    let n = (span + step - step.signum()) / step;
    match isize::try_from(n) {
        Ok(n) => Ok(n as usize),
        Err(_) => Err(too_many()),
    }
}

/// The elements of `arange`. Of an integer dtype they are counted in 64-bit integers: of int64 between the truncated
/// bounds, of the others as many as there are between the bounds as given.
fn counted(dtype: DType, [start, end, step]: [Scalar; 3]) -> Result<Tensor> {
    if dtype == DType::Bool || dtype.is_complex() {
        refuse!(
            NotImplemented,
            "not implemented for {dtype} tensors; count in numbers and convert them with .to({dtype})"
        );
    }
    for (name, n) in [("start", start), ("end", end), ("step", step)] {
        fitting(HERE, name, n, DType::F64)?;
    }
    let whole = |s: Scalar| s.category() <= Category::Integer;
    let exact = whole(start) && whole(end) && whole(step);
    let floats = || arange_length(start.as_f64(), end.as_f64(), step.as_f64());
    if !dtype.is_integer() && !exact {
        let n = floats()?;
        return made(dtype, &[n].into(), || index::arange(dtype, start, step, n));
    }
    let roughly = if exact { 0 } else { floats()? };
    for (name, n) in [("start", start), ("end", end), ("step", step)] {
        fitting(HERE, name, n, DType::I64)?;
    }
    let (a, b, s) = (start.as_i64(), end.as_i64(), step.as_i64());
    if s == 0 {
        refuse!(
            Value,
            "argument 'step' must not be 0, but {step} is 0 in {dtype}; give a float dtype or a larger step"
        );
    }
    let n = if exact || dtype == DType::I64 { whole_length(a, b, s)? } else { roughly };
    made(dtype, &[n].into(), || index::arange(dtype, a.into(), s.into(), n))
}

fn natural(values: &[Scalar]) -> DType {
    if values.iter().any(|v| matches!(v, Scalar::Float(_))) { default_float() } else { DType::I64 }
}

macro_rules! options {
    ($($x:ident),*) => { $( let _ = $x; )* };
}

ops! { TABLE:
    /// A tensor of this shape filled with one value. The dtype is that of the value unless given.
    ///
    /// >>> import pullback
    /// >>> pullback.full((2,), 3.0)
    /// tensor([3., 3.])
    fn full = "full" (size: &[i64], fill_value: Scalar; dtype: Option<DType> = None, layout: Layout = Layout::None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false, pin_memory: PinMemory = PinMemory::None) -> Tensor [CREATION] {
        options!(layout, device, requires_grad, pin_memory);
        let dtype = dtype.unwrap_or(fill_value.dtype(default_float()));
        filled_with(&sizes(HERE, size)?, dtype, fill_value)
    }

    /// A tensor of zeros.
    ///
    /// >>> import pullback
    /// >>> pullback.zeros(2)
    /// tensor([0., 0.])
    fn zeros = "zeros" (size: &[i64]; dtype: Option<DType> = None, layout: Layout = Layout::None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false, pin_memory: PinMemory = PinMemory::None)
        -> Tensor [VARIADIC, CREATION] {
        options!(layout, device, requires_grad, pin_memory);
        filled(&sizes(HERE, size)?, dtype.unwrap_or(default_float()), Scalar::Int(0))
    }

    /// A tensor of ones.
    ///
    /// >>> import pullback
    /// >>> pullback.ones(2)
    /// tensor([1., 1.])
    fn ones = "ones" (size: &[i64]; dtype: Option<DType> = None, layout: Layout = Layout::None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false, pin_memory: PinMemory = PinMemory::None)
        -> Tensor [VARIADIC, CREATION] {
        options!(layout, device, requires_grad, pin_memory);
        filled(&sizes(HERE, size)?, dtype.unwrap_or(default_float()), Scalar::Int(1))
    }

    /// A tensor whose values do not matter. Ours are zeros, so that programs are reproducible.
    ///
    /// >>> import pullback
    /// >>> pullback.empty(2, 3).shape
    /// pullback.Size([2, 3])
    fn empty = "empty" (size: &[i64]; dtype: Option<DType> = None, layout: Layout = Layout::None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false, pin_memory: PinMemory = PinMemory::None,
        memory_format: MemoryFormat = MemoryFormat::None) -> Tensor [VARIADIC, CREATION] {
        options!(layout, device, requires_grad, pin_memory, memory_format);
        filled(&sizes(HERE, size)?, dtype.unwrap_or(default_float()), Scalar::Int(0))
    }

    /// Zeros with the shape and dtype of another tensor.
    ///
    /// >>> import pullback
    /// >>> pullback.zeros_like(pullback.tensor([1, 2]))
    /// tensor([0, 0])
    fn zeros_like = "zeros_like" (input: &Tensor; dtype: Option<DType> = None, layout: Layout = Layout::None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false, memory_format: MemoryFormat = MemoryFormat::None) -> Tensor [CREATION] {
        options!(layout, device, requires_grad, memory_format);
        filled(input.shape(), dtype.unwrap_or(input.dtype()), Scalar::Int(0))
    }

    /// Ones with the shape and dtype of another tensor.
    ///
    /// >>> import pullback
    /// >>> pullback.ones_like(pullback.tensor([1, 2]))
    /// tensor([1, 1])
    fn ones_like = "ones_like" (input: &Tensor; dtype: Option<DType> = None, layout: Layout = Layout::None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false, memory_format: MemoryFormat = MemoryFormat::None) -> Tensor [CREATION] {
        options!(layout, device, requires_grad, memory_format);
        filled(input.shape(), dtype.unwrap_or(input.dtype()), Scalar::Int(1))
    }

    /// As `zeros_like`: values that do not matter.
    fn empty_like = "empty_like" (input: &Tensor; dtype: Option<DType> = None, layout: Layout = Layout::None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false, memory_format: MemoryFormat = MemoryFormat::None) -> Tensor [CREATION] {
        options!(layout, device, requires_grad, memory_format);
        filled(input.shape(), dtype.unwrap_or(input.dtype()), Scalar::Int(0))
    }

    /// One value with the shape and dtype of another tensor.
    ///
    /// >>> import pullback
    /// >>> pullback.full_like(pullback.tensor([1, 2]), 7)
    /// tensor([7, 7])
    fn full_like = "full_like" (input: &Tensor, fill_value: Scalar; dtype: Option<DType> = None,
        layout: Layout = Layout::None, device: Device = Device::None, requires_grad: bool as RequiresGrad = false,
        memory_format: MemoryFormat = MemoryFormat::None) -> Tensor [CREATION] {
        options!(layout, device, requires_grad, memory_format);
        filled_with(input.shape(), dtype.unwrap_or(input.dtype()), fill_value)
    }

    /// Zeros of the same dtype in another shape.
    fn new_zeros = "Tensor.new_zeros" (input: &Tensor, size: &[i64]; dtype: Option<DType> = None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false) -> Tensor [METHOD, NOT_FUNCTION, VARIADIC, CREATION] {
        options!(device, requires_grad);
        filled(&sizes(HERE, size)?, dtype.unwrap_or(input.dtype()), Scalar::Int(0))
    }

    /// Ones of the same dtype in another shape.
    fn new_ones = "Tensor.new_ones" (input: &Tensor, size: &[i64]; dtype: Option<DType> = None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false) -> Tensor [METHOD, NOT_FUNCTION, VARIADIC, CREATION] {
        options!(device, requires_grad);
        filled(&sizes(HERE, size)?, dtype.unwrap_or(input.dtype()), Scalar::Int(1))
    }

    /// As `new_zeros`: values that do not matter.
    fn new_empty = "Tensor.new_empty" (input: &Tensor, size: &[i64]; dtype: Option<DType> = None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false) -> Tensor [METHOD, NOT_FUNCTION, VARIADIC, CREATION] {
        options!(device, requires_grad);
        filled(&sizes(HERE, size)?, dtype.unwrap_or(input.dtype()), Scalar::Int(0))
    }

    /// One value, of the same dtype, in another shape.
    fn new_full = "Tensor.new_full" (input: &Tensor, size: &[i64], fill_value: Scalar; dtype: Option<DType> = None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false) -> Tensor [METHOD, NOT_FUNCTION, CREATION] {
        options!(device, requires_grad);
        filled_with(&sizes(HERE, size)?, dtype.unwrap_or(input.dtype()), fill_value)
    }

    /// `start, start + step, …` below `end`. With one argument, `0, 1, …, start - 1`. Floats give the default float.
    ///
    /// >>> import pullback
    /// >>> pullback.arange(1, 7, 2)
    /// tensor([1, 3, 5])
    fn arange = "arange" (start: Scalar = Scalar::Int(0), end: Option<Scalar> = None, step: Scalar as NonZero = Scalar::Int(1);
        dtype: Option<DType> = None, layout: Layout = Layout::None, device: Device = Device::None,
        requires_grad: bool as RequiresGrad = false, pin_memory: PinMemory = PinMemory::None) -> Tensor [CREATION] {
        options!(layout, device, requires_grad, pin_memory);
        let (start, end) = match end {
            Some(e) => (start, e),
            None => (Scalar::Int(0), start),
        };
        let dtype = dtype.unwrap_or(natural(&[start, end, step]));
        counted(dtype, [start, end, step])
    }

    /// `steps` evenly spaced values from `start` to `end`, both included.
    ///
    /// >>> import pullback
    /// >>> pullback.linspace(0, 1, 3)
    /// tensor([0.0000, 0.5000, 1.0000])
    fn linspace = "linspace" (start: Operand<'_>, end: Operand<'_>, steps: i64 as Count; dtype: Option<DType> = None,
        layout: Layout = Layout::None, device: Device = Device::None, requires_grad: bool as RequiresGrad = false,
        pin_memory: PinMemory = PinMemory::None) -> Tensor [CREATION] {
        options!(layout, device, requires_grad, pin_memory);
        let complex = |o: Operand<'_>| matches!(o, Operand::Number(Scalar::Complex(_)));
        let dtype = match dtype {
            None if complex(start) || complex(end) => Scalar::Complex(Default::default()).dtype(default_float()),
            d => d.unwrap_or(default_float()),
        };
        if !dtype.is_complex() && (complex(start) || complex(end)) {
            refuse!(Runtime, "complex bounds cannot be cast to {dtype} safely; give a complex dtype");
        }
        no_bools(ErrorKind::NotImplemented, dtype)?;
        match (constant(start)?, constant(end)?) {
            (Operand::Number(a), Operand::Number(b)) => {
                for (name, n, least) in [("start", a, 1), ("end", b, 2)] {
                    if steps >= least {
                        fitting(HERE, name, n, dtype)?;
                    }
                }
                made(dtype, &[steps].into(), || index::linspace(dtype, a, if steps > 1 { b } else { a }, steps))
            }
            _ => between(start, end, steps, dtype),
        }
    }

    /// The identity matrix with `n` rows and `m` (or `n`) columns.
    ///
    /// >>> import pullback
    /// >>> pullback.eye(2)
    /// tensor([[1., 0.],
    ///         [0., 1.]])
    fn eye = "eye" (n: i64 as Count, m: Option<i64> as Option<Count> = None; dtype: Option<DType> = None, layout: Layout = Layout::None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false, pin_memory: PinMemory = PinMemory::None) -> Tensor [CREATION] {
        options!(layout, device, requires_grad, pin_memory);
        let (dtype, m) = (dtype.unwrap_or(default_float()), m.unwrap_or(n));
        match level::tracing() {
            LevelId::DENSE => made(dtype, &[n, m].into(), || Array::unit_rows(dtype, n, m, 0, 0, n.min(m))),
            _ => identity(dtype, n, m),
        }
    }

    /// A number as a 0-d tensor.
    fn scalar_tensor = "scalar_tensor" (s: Scalar; dtype: Option<DType> = None, layout: Layout = Layout::None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false, pin_memory: PinMemory = PinMemory::None) -> Tensor [CREATION] {
        options!(layout, device, requires_grad, pin_memory);
        let dtype = dtype.unwrap_or(default_float());
        let s = fitting(HERE, "s", s, dtype)?;
        made(dtype, &Shape::scalar(), || Ok(Array::scalar(dtype, s)))
    }
}

/// The number in a 0-d tensor that no derivative or batch follows.
pub(super) fn constant(x: Operand<'_>) -> Result<Operand<'_>> {
    Ok(match x {
        Operand::Tensor(t) if t.rank() == 0 => t.dense().map(Array::item).transpose()?.map_or(x, Operand::Number),
        x => x,
    })
}

/// Evenly spaced values between two numbers, either of which may be a 0-d tensor.
fn between(start: Operand<'_>, end: Operand<'_>, steps: usize, dtype: DType) -> Result<Tensor> {
    if let (Operand::Tensor(t), _) | (_, Operand::Tensor(t)) = (start, end)
        && t.rank() > 0
    {
        refuse!(
            Runtime,
            "only supports 0-dimensional start and end tensors, got {} dimensions; give numbers, or stack() \
            the rows",
            t.rank()
        );
    }
    let wide = if dtype.is_float() { dtype } else { DType::F64 };
    let (a, b) = (super::promote::convert(start, wide)?, super::promote::convert(end, wide)?);
    let weights = index::linspace(wide, 0.0.into(), 1.0.into(), steps)?.into();
    let x = basis::add(&a, &basis::mul(&basis::sub(&b, &a)?, &weights)?)?;
    basis::cast(&x, dtype)
}

/// The identity matrix.
pub fn identity(dtype: DType, n: usize, m: usize) -> Result<Tensor> {
    constant::eye(dtype, n, m, 0)
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family { entries: &[TABLE], ..crate::ops::Family::EMPTY };
