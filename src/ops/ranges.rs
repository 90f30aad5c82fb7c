//! New tensors by formulas: positions in triangles, ranges, powers, windows; and tensors with a layout of their own.

use super::creation::made;
use super::shape::sizes;
use super::value::Operand;
use crate::base::promote::default_float;
use crate::base::size::Whole;
use crate::base::{DType, ErrorKind, Layout as Strided, Result, Scalar, Shape};
use crate::core::Tensor;
use crate::dense::{Array, copy, index, memory};
use crate::ops::signature::{Count, HERE, NonZero, RequiresGrad, no_bools};
use crate::ops::value::setting::{Device, Layout, PinMemory};

/// How many elements of a `rows` by `cols` matrix lie on and below a diagonal.
fn below(rows: usize, cols: usize, diagonal: i128) -> i128 {
    let (rows, cols) = (rows as i128, cols as i128);
    // Row i has i + diagonal + 1 of them, from none to all columns.
    let first = (-diagonal).clamp(0, rows);
    let full = (cols - diagonal).clamp(first, rows);
    let partial = full - first;
    let ramp = partial * (first + diagonal + 1) + partial * (partial - 1) / 2;
    ramp + (rows - full) * cols
}

/// Row and column of each element of a triangle, row by row.
fn triangle(rows: usize, cols: usize, offset: i64, dtype: DType, upper: bool) -> Result<Tensor> {
    if !matches!(dtype, DType::I32 | DType::I64) {
        refuse!(NotImplemented, "not implemented for {dtype}; indices are int64 or int32");
    }
    let diagonal = i128::from(offset);
    Shape::new(&[rows, cols]).checked(HERE)?;
    let lower = below(rows, cols, if upper { diagonal - 1 } else { diagonal });
    let count = if upper { rows as i128 * cols as i128 - lower } else { lower };
    let count =
        usize::try_from(count).ok().map_or(Whole::from(-1i64), Whole::from).size_of(HERE, "the number of indices")?;
    made(dtype, &[2, count].into(), || {
        let mut all: Vec<i64> = memory::list(HERE, Whole::from(count).times(2usize).size_of(HERE, "a size")?, [])?;
        let row = |i: usize| {
            let edge = |e: i128| e.clamp(0, cols as i128) as usize;
            if upper { edge(i as i128 + diagonal)..cols } else { 0..edge(i as i128 + diagonal + 1) }
        };
        // Rows without elements are not visited: there may be more of them than anyone can count.
        let rows = first_row(rows, cols, diagonal, upper)..last_row(rows, cols, diagonal, upper);
        for i in rows.clone() {
            all.extend(row(i).map(|_| i as i64));
        }
        for i in rows {
            all.extend(row(i).map(|j| j as i64));
        }
        copy::cast(&Array::from_slice([2, count], &all)?, dtype)
    })
}
/// Both rows of each pair of different rows.
pub(super) fn triu_indices_of(n: usize) -> Result<Tensor> {
    triangle(n, n, 1, DType::I64, true)
}

fn first_row(rows: usize, cols: usize, diagonal: i128, upper: bool) -> usize {
    if upper || cols == 0 { 0 } else { (-diagonal).clamp(0, rows as i128) as usize }
}
fn last_row(rows: usize, cols: usize, diagonal: i128, upper: bool) -> usize {
    match (cols, upper) {
        (0, _) => 0,
        (_, true) => (cols as i128 - diagonal).clamp(0, rows as i128) as usize,
        _ => rows,
    }
}

/// A window of numbers in `dtype`, from a function of the position between 0 and 1.
fn window(n: usize, periodic: bool, dtype: Option<DType>, f: impl Fn(f64) -> f64) -> Result<Tensor> {
    let dtype = dtype.unwrap_or_else(default_float);
    if !dtype.is_float() {
        refuse!(Runtime, "expects floating point dtypes, got: {dtype}; give dtype, such as dtype=float32");
    }
    made(dtype, &[n].into(), || {
        let gaps = if periodic { n } else { n.saturating_sub(1) };
        let all = Array::build::<f64>([n].into(), |out| {
            for (i, o) in out.iter_mut().enumerate() {
                *o = if n == 1 { 1.0 } else { f(i as f64 / gaps as f64) };
            }
        })?;
        copy::cast(&all, dtype)
    })
}

/// `cos(2πkt)`
fn wave(k: f64, t: f64) -> f64 {
    (std::f64::consts::TAU * k * t).cos()
}

/// Zeros in memory that these strides lead through.
fn strided(size: &[i64], stride: &[i64], dtype: DType) -> Result<Tensor> {
    let shape = sizes(HERE, size)?;
    if shape.rank() != stride.len() {
        refuse!(
            Runtime,
            "dimensionality of sizes ({}) must match dimensionality of strides ({}); give a stride for each dimension",
            shape.rank(),
            stride.len()
        );
    }
    let layout = Strided::strided(HERE, shape.clone(), stride, 0usize)?;
    made(dtype, &shape, || {
        let reach = layout.reach().map_or(Whole::from(0i64), |(_, last)| last.plus(1i64));
        Array::zeros(dtype, [reach.size_of(HERE, "the size of the memory")?].into())?
            .to_buffer()?
            .view(|_| layout.clone())
    })
}

ops! { TABLE:
    /// Rows and columns of the elements on and below a diagonal of a matrix, as a tensor of two rows.
    ///
    /// >>> import pullback
    /// >>> pullback.tril_indices(2, 2)
    /// tensor([[0, 1, 1],
    ///         [0, 0, 1]])
    fn tril_indices = "tril_indices" (row: i64 as Count, col: i64 as Count, offset: i64 = 0; dtype: Option<DType> = None,
        layout: Layout = Layout::None, device: Device = Device::None, pin_memory: PinMemory = PinMemory::None) -> Tensor [CREATION, NO_OUT] {
        let _ = (layout, device, pin_memory);
        triangle(row, col, offset, dtype.unwrap_or(DType::I64), false)
    }

    /// Rows and columns of the elements on and above a diagonal of a matrix, as a tensor of two rows.
    ///
    /// >>> import pullback
    /// >>> pullback.triu_indices(2, 2)
    /// tensor([[0, 0, 1],
    ///         [0, 1, 1]])
    fn triu_indices = "triu_indices" (row: i64 as Count, col: i64 as Count, offset: i64 = 0; dtype: Option<DType> = None,
        layout: Layout = Layout::None, device: Device = Device::None, pin_memory: PinMemory = PinMemory::None) -> Tensor [CREATION, NO_OUT] {
        let _ = (layout, device, pin_memory);
        triangle(row, col, offset, dtype.unwrap_or(DType::I64), true)
    }

    /// `start, start + step, …` up to `end`, which is included. `arange` leaves it out, as Python's `range` does.
    ///
    /// >>> import pullback
    /// >>> pullback.range(0, 2)
    /// tensor([0., 1., 2.])
    fn range = "range" (start: Scalar, end: Scalar, step: Scalar as NonZero = Scalar::Int(1); dtype: Option<DType> = None,
        layout: Layout = Layout::None, device: Device = Device::None, requires_grad: bool as RequiresGrad = false,
        pin_memory: PinMemory = PinMemory::None) -> Tensor [CREATION] {
        let _ = (layout, device, requires_grad, pin_memory);
        crate::core::host::warn("range(): deprecated: it includes the end, unlike Python's range; call arange()")?;
        let dtype = dtype.unwrap_or_else(default_float);
        let gaps = (end.as_f64() - start.as_f64()) / step.as_f64();
        if gaps < 0.0 {
            refuse!(Runtime, "upper bound and lower bound inconsistent with step sign: got start={start}, end={end}, \
                step={step}; give a step that leads from start to end");
        }
        if dtype == DType::Bool || dtype.is_complex() {
            refuse!(NotImplemented, "not implemented for {dtype} tensors; count in numbers and convert them with .to({dtype})");
        }
        if !gaps.is_finite() || gaps >= isize::MAX as f64 {
            refuse!(Runtime, "unsupported range: {start} -> {end} by {step}; give finite bounds that are closer together");
        }
        let n = gaps.floor() as usize + 1;
        if dtype.is_integer() && step.as_i64() == 0 {
            refuse!(Runtime, "step must be nonzero, but {step} is 0 in {dtype}; give a float dtype or a larger step");
        }
        // Integers are counted from bounds that are whole.
        let whole = |s: Scalar| if dtype.is_integer() { Scalar::Int(s.as_i64()) } else { s };
        made(dtype, &[n].into(), || index::arange(dtype, whole(start), whole(step), n))
    }

    /// `steps` powers of `base`, from `base**start` to `base**end`, with evenly spaced exponents.
    ///
    /// >>> import pullback
    /// >>> pullback.logspace(0, 2, 3)
    /// tensor([  1.,  10., 100.])
    fn logspace = "logspace" (start: Operand<'_>, end: Operand<'_>, steps: i64 as Count, base: f64 = 10.0; dtype: Option<DType> = None,
        layout: Layout = Layout::None, device: Device = Device::None, requires_grad: bool as RequiresGrad = false,
        pin_memory: PinMemory = PinMemory::None) -> Tensor [CREATION] {
        let _ = (layout, device, requires_grad, pin_memory);
        let complex = |o: Operand<'_>| match o {
            Operand::Number(n) => matches!(n, Scalar::Complex(_)),
            Operand::Tensor(t) => t.dtype().is_complex(),
        };
        let dtype = match dtype {
            None if complex(start) || complex(end) => default_float().complex(),
            d => d.unwrap_or_else(default_float),
        };
        no_bools(ErrorKind::NotImplemented, dtype)?;
        let wide = if dtype.is_complex() { DType::C128 } else { DType::F64 };
        // Bounds of integers are integers.
        let [start, end] = [super::creation::constant(start)?, super::creation::constant(end)?];
        let [start, end] = [start, end].map(|o| match o {
            Operand::Number(n) if dtype.is_integer() => Operand::Number(Scalar::Float(n.as_f64().trunc())),
            o => o,
        });
        let exponents = super::creation::linspace(start, end, steps as i64, Some(wide), Layout::None,
            Device::None, false, PinMemory::None).map_err(|e| e.of("linspace", HERE))?;
        crate::rules::basis::cast(&super::arith::pow_same(base, &exponents)?, dtype)
    }

    /// Hann's window `(1 - cos(2πk / N)) / 2`; N is the length, or one less with `periodic=False`.
    ///
    /// >>> import pullback
    /// >>> pullback.hann_window(4)
    /// tensor([0.0000, 0.5000, 1.0000, 0.5000])
    fn hann_window = "hann_window" (window_length: i64 as Count, periodic: bool = true; dtype: Option<DType> = None,
        layout: Layout = Layout::None, device: Device = Device::None, requires_grad: bool as RequiresGrad = false,
        pin_memory: PinMemory = PinMemory::None) -> Tensor [CREATION, NO_OUT] {
        let _ = (layout, device, requires_grad, pin_memory);
        window(window_length, periodic, dtype, |t| 0.5 - 0.5 * wave(1.0, t))
    }

    /// Hamming's window `alpha - beta * cos(2πk / N)`; N is the length, or one less with `periodic=False`.
    ///
    /// >>> import pullback
    /// >>> pullback.hamming_window(4)
    /// tensor([0.0800, 0.5400, 1.0000, 0.5400])
    fn hamming_window = "hamming_window" (window_length: i64 as Count, periodic: bool = true, alpha: f64 = 0.54, beta: f64 = 0.46;
        dtype: Option<DType> = None, layout: Layout = Layout::None, device: Device = Device::None,
        requires_grad: bool as RequiresGrad = false, pin_memory: PinMemory = PinMemory::None) -> Tensor [CREATION, NO_OUT] {
        let _ = (layout, device, requires_grad, pin_memory);
        window(window_length, periodic, dtype, |t| alpha - beta * wave(1.0, t))
    }

    /// Bartlett's window, a triangle; it has its length as period, or one less with `periodic=False`.
    ///
    /// >>> import pullback
    /// >>> pullback.bartlett_window(4)
    /// tensor([0.0000, 0.5000, 1.0000, 0.5000])
    fn bartlett_window = "bartlett_window" (window_length: i64 as Count, periodic: bool = true; dtype: Option<DType> = None,
        layout: Layout = Layout::None, device: Device = Device::None, requires_grad: bool as RequiresGrad = false,
        pin_memory: PinMemory = PinMemory::None) -> Tensor [CREATION, NO_OUT] {
        let _ = (layout, device, requires_grad, pin_memory);
        window(window_length, periodic, dtype, |t| 1.0 - (2.0 * t - 1.0).abs())
    }

    /// Blackman's window `0.42 - 0.5 cos(2πk / N) + 0.08 cos(4πk / N)`; N is the length, or one less with `periodic=False`.
    ///
    /// >>> import pullback
    /// >>> pullback.blackman_window(3)
    /// tensor([-1.3878e-17,  6.3000e-01,  6.3000e-01])
    fn blackman_window = "blackman_window" (window_length: i64 as Count, periodic: bool = true; dtype: Option<DType> = None,
        layout: Layout = Layout::None, device: Device = Device::None, requires_grad: bool as RequiresGrad = false,
        pin_memory: PinMemory = PinMemory::None) -> Tensor [CREATION, NO_OUT] {
        let _ = (layout, device, requires_grad, pin_memory);
        window(window_length, periodic, dtype, |t| 0.42 - 0.5 * wave(1.0, t) + 0.08 * wave(2.0, t))
    }

    /// Kaiser's window `I₀(beta √(1 - (2k / N - 1)²)) / I₀(beta)`; N is the length, or one less with `periodic=False`.
    ///
    /// >>> import pullback
    /// >>> pullback.kaiser_window(3, beta=0.0)
    /// tensor([1., 1., 1.])
    fn kaiser_window = "kaiser_window" (window_length: i64 as Count, periodic: bool = true, beta: f64 = 12.0;
        dtype: Option<DType> = None, layout: Layout = Layout::None, device: Device = Device::None,
        requires_grad: bool as RequiresGrad = false, pin_memory: PinMemory = PinMemory::None) -> Tensor [CREATION, NO_OUT] {
        use crate::dense::pointwise::kernels::scaled_bessel;
        let _ = (layout, device, requires_grad, pin_memory);
        window(window_length, periodic, dtype, |t| {
            let x = beta * (1.0 - (2.0 * t - 1.0).powi(2)).max(0.0).sqrt();
            scaled_bessel(0, x) / scaled_bessel(0, beta) * (x.abs() - beta.abs()).exp()
        })
    }

    /// A tensor of this shape whose elements lie as the strides say. Its values do not matter; ours are zeros.
    ///
    /// >>> import pullback
    /// >>> pullback.empty_strided((2, 3), (1, 2)).stride()
    /// (1, 2)
    fn empty_strided = "empty_strided" (size: &[i64], stride: &[i64]; dtype: Option<DType> = None, layout: Layout = Layout::None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false, pin_memory: PinMemory = PinMemory::None)
        -> Tensor [CREATION, NO_OUT, KEEPS_ORDER] {
        let _ = (layout, device, requires_grad, pin_memory);
        strided(size, stride, dtype.unwrap_or_else(default_float))
    }

    /// As `empty_strided`, of the same dtype.
    fn new_empty_strided = "Tensor.new_empty_strided" (input: &Tensor, size: &[i64], stride: &[i64]; dtype: Option<DType> = None,
        layout: Layout = Layout::None, device: Device = Device::None, requires_grad: bool as RequiresGrad = false,
        pin_memory: PinMemory = PinMemory::None) -> Tensor [METHOD, NOT_FUNCTION, CREATION, KEEPS_ORDER] {
        let _ = (layout, device, requires_grad, pin_memory);
        strided(size, stride, dtype.unwrap_or(input.dtype()))
    }

    /// A tensor whose dimensions lie in memory in this order, the last one closest. Its values do not matter; ours are zeros.
    ///
    /// >>> import pullback
    /// >>> pullback.empty_permuted((2, 3), (1, 0)).stride()
    /// (1, 2)
    fn empty_permuted = "empty_permuted" (size: &[i64], physical_layout: &[i64]; dtype: Option<DType> = None, layout: Layout = Layout::None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false, pin_memory: PinMemory = PinMemory::None)
        -> Tensor [CREATION, NO_OUT] {
        let _ = (layout, device, requires_grad, pin_memory);
        let rank = size.len();
        if physical_layout.len() != rank {
            refuse!(Runtime, "Number of dimensions in size does not match the length of the physical_layout; i.e. \
                len(size) = {rank} is not equal to len(physical_layout) = {}", physical_layout.len());
        }
        let shape = sizes(HERE, size)?;
        let order = crate::base::shape::wrap_arguments(HERE, "physical_layout", physical_layout, rank)?;
        let mut strides = vec![0; rank];
        let mut next = 1;
        for &d in order.iter().rev() {
            strides[d] = next;
            next *= shape[d].max(1) as i64;
        }
        strided(size, &strides, dtype.unwrap_or_else(default_float))
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family { entries: &[TABLE], ..crate::ops::Family::EMPTY };
