//! Elementwise operators on dense arrays: [`unary`], [`binary`], [`ternary`] with a [`Kernel`].

mod elementwise;
mod kernel;
pub mod kernels;
mod macros;
pub mod program;
#[cfg(test)]
mod tests;

pub use elementwise::{Elementwise, Operands};
pub use kernel::{Body, Kernel, Loop, OutDtype, Row, Rows};

use super::array::{Array, Written};
use super::{donation, order, strided};
use crate::base::shape::{broadcast_all, broadcast2};
use crate::base::{DType, Error, Result, Shape, TypedShape};
use program::{CHUNK, Input, Output, Reg, RowProgram, Step};
use smallvec::SmallVec;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::ptr::null;

/// `k` of each element. The dtype must be one that [`Kernel::supports`].
#[inline]
pub fn unary(k: &Kernel, a: &Array) -> Result<Array> {
    if a.is_contiguous()
        && let Some(row) = k.native_row(a.dtype())
        && a.numel() <= CHUNK
        && k.arity == 1
    {
        return one_row(k, row, a.dtype(), a.shape(), a.ptr(), null(), null(), 0);
    }
    general(k, &[a], a.shape().clone())
}

/// `k` of each pair of elements; the shapes broadcast. The dtypes must be equal, but for a first operand of bools where
/// the kernel takes a condition. Beside half precision some operands may be in single: the result is in half.
#[inline]
pub fn binary(k: &Kernel, a: &Array, b: &Array) -> Result<Array> {
    let dtype = b.dtype();
    if a.dtype() == dtype
        && a.is_contiguous()
        && b.is_contiguous()
        && k.arity == 2
        && let Some(row) = k.native_row(dtype)
    {
        if a.shape() == b.shape() {
            if a.numel() <= CHUNK {
                return one_row(k, row, dtype, a.shape(), a.ptr(), b.ptr(), null(), 0);
            }
        } else if !(a.is_plain() && b.is_plain()) {
            // Their order is that of the strides, those that lead nowhere too.
        } else if b.rank() == 0 && a.numel() <= CHUNK {
            return one_row(k, row, dtype, a.shape(), a.ptr(), b.ptr(), null(), 2);
        } else if a.rank() == 0 && b.numel() <= CHUNK {
            return one_row(k, row, dtype, b.shape(), a.ptr(), b.ptr(), null(), 1);
        } else if let Some(rows) = Repeat::of(a.shape(), b.shape()) {
            return rows.run(k, row, dtype, a.shape(), (a, b), false);
        } else if let Some(rows) = Repeat::of(b.shape(), a.shape()) {
            return rows.run(k, row, dtype, b.shape(), (b, a), true);
        }
    }
    if k.condition { conditional(k, a, b) } else { general(k, &[a, b], broadcast2(k.name, a.shape(), b.shape())?) }
}

/// As [`binary`] where the first operand is a condition.
fn conditional(k: &Kernel, a: &Array, b: &Array) -> Result<Array> {
    let dtype = b.dtype();
    if a.dtype() == DType::Bool
        && a.is_plain()
        && b.is_plain()
        && k.arity == 2
        && let Some(row) = k.native_row(dtype)
    {
        let scalars = u32::from(a.rank() == 0) | u32::from(b.rank() == 0) << 1;
        let shape = if a.rank() == 0 { b.shape() } else { a.shape() };
        if (a.shape() == b.shape() || scalars != 0) && shape.numel() <= CHUNK {
            let scalars = if a.shape() == b.shape() { 0 } else { scalars };
            return one_row(k, row, dtype, shape, a.ptr(), b.ptr(), null(), scalars);
        }
        if let Some(rows) = Repeat::of(a.shape(), b.shape()) {
            return rows.run(k, row, dtype, a.shape(), (a, b), false);
        }
        if let Some(rows) = Repeat::of(b.shape(), a.shape()) {
            return rows.run(k, row, dtype, b.shape(), (b, a), true);
        }
    }
    general(k, &[a, b], broadcast2(k.name, a.shape(), b.shape())?)
}

/// `k` of each triple of elements; the shapes broadcast, and the dtypes are as for [`binary`].
#[inline]
pub fn ternary(k: &Kernel, a: &Array, b: &Array, c: &Array) -> Result<Array> {
    let dtype = c.dtype();
    if a.shape() == b.shape()
        && b.shape() == c.shape()
        && a.numel() <= CHUNK
        && a.is_contiguous()
        && b.is_contiguous()
        && c.is_contiguous()
        && k.arity == 3
        && b.dtype() == dtype
        && a.dtype() == if k.condition { DType::Bool } else { dtype }
        && let Some(row) = k.native_row(dtype)
    {
        return one_row(k, row, dtype, a.shape(), a.ptr(), b.ptr(), c.ptr(), 0);
    }
    general(k, &[a, b, c], broadcast_all(k.name, [a.shape(), b.shape(), c.shape()])?)
}

/// Contiguous operands of at most one chunk: straight into the new array.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn one_row(
    k: &Kernel,
    row: Row,
    dtype: DType,
    shape: &Shape,
    a: *const u8,
    b: *const u8,
    c: *const u8,
    scalars: u32,
) -> Result<Array> {
    Array::try_build_bytes(k.out_dtype(dtype), shape.clone(), |dst, n| {
        // SAFETY: each operand holds n elements, or one if it is a scalar; `dst` is new memory for n results; the
        // row is one for the instruction set in use.
        let (fault, written) = unsafe { (row(dst, a, b, c, n, scalars), Written::all()) };
        if fault { Err(faulty(k)) } else { Ok(written) }
    })
}

/// The commonest broadcasts of two contiguous operands, as a few rows: the smaller operand repeats for each outer
/// index of the larger (a bias), or each of its elements stands for one inner run (a scale per row).
struct Repeat {
    outer: usize,
    inner: usize,
    /// One element per outer index, otherwise all elements for each.
    per_row: bool,
}

impl Repeat {
    /// Longest loop of rows that is worth it.
    const MAX_ROWS: usize = 64;

    #[inline]
    fn of(large: &Shape, small: &Shape) -> Option<Repeat> {
        let lead = large.rank().checked_sub(small.rank())?;
        let equal = |d: &usize| small[*d] == large[lead + d];
        let one = |d: &usize| small[*d] == 1;
        // Equal dimensions behind ones, or ones behind equal dimensions.
        let per_row = lead == 0 && small.first().is_some_and(|&d| d != 1);
        let split = if per_row {
            (0..small.rank()).take_while(equal).count()
        } else {
            small.rank() - (0..small.rank()).rev().take_while(equal).count()
        };
        let rest_is_one = if per_row { (split..small.rank()).all(|d| one(&d)) } else { (0..split).all(|d| one(&d)) };
        let outer = large[..lead + split].iter().product();
        let inner = large[lead + split..].iter().product();
        (rest_is_one && outer <= Repeat::MAX_ROWS && inner <= CHUNK).then_some(Repeat { outer, inner, per_row })
    }

    fn run(
        self,
        k: &Kernel,
        row: Row,
        dtype: DType,
        shape: &Shape,
        (large, small): (&Array, &Array),
        swapped: bool,
    ) -> Result<Array> {
        let (width, out_dtype) = (small.dtype().size(), k.out_dtype(dtype));
        let narrow = (1..=NARROW).contains(&self.inner) && self.outer * self.inner <= SPREAD;
        if self.per_row && narrow && (width == 4 || width == 8) {
            return self.run_spread(k, row, dtype, shape, (large, small), swapped);
        }
        let (step, out_step) = (self.inner * large.dtype().size(), self.inner * out_dtype.size());
        let small_step = if self.per_row { width } else { 0 };
        let scalars = u32::from(self.per_row) << u32::from(!swapped);
        let mut fault = false;
        Array::try_build_bytes(out_dtype, shape.clone(), |dst, _| {
            for i in 0..self.outer {
                // SAFETY: row i of the larger operand and of the result have `inner` elements; the smaller operand
                // has as many, or one for each i.
                unsafe {
                    let (x, y) = (large.ptr().add(i * step), small.ptr().add(i * small_step));
                    let (x, y) = if swapped { (y, x) } else { (x, y) };
                    fault |= row(dst.add(i * out_step), x, y, null(), self.inner, scalars);
                }
            }
            // SAFETY: the rows cover the result.
            if fault { Err(faulty(k)) } else { Ok(unsafe { Written::all() }) }
        })
    }
}

/// Rows of at most so many elements cost more to begin than to compute.
const NARROW: usize = 32;
/// Elements of the buffer in which an operand is written out.
const SPREAD: usize = 512;

impl Repeat {
    /// Narrow rows in one, with the smaller operand's elements written out.
    fn run_spread(
        self,
        k: &Kernel,
        row: Row,
        dtype: DType,
        shape: &Shape,
        (large, small): (&Array, &Array),
        swapped: bool,
    ) -> Result<Array> {
        let mut spread = [MaybeUninit::<u64>::uninit(); SPREAD];
        let to = spread.as_mut_ptr();
        // SAFETY: the smaller operand has `outer` elements of this width, and the buffer has room for `inner` of each.
        unsafe {
            match small.dtype().size() {
                4 => write_out(small.ptr().cast::<u32>(), to.cast::<MaybeUninit<u32>>(), self.outer, self.inner),
                _ => write_out(small.ptr().cast::<u64>(), to, self.outer, self.inner),
            }
        }
        let (x, y) = (large.ptr(), to.cast_const().cast::<u8>());
        let (x, y) = if swapped { (y, x) } else { (x, y) };
        one_row(k, row, dtype, shape, x, y, null(), 0)
    }
}

/// # Safety
/// `from` holds `count` elements, and there is room for `times` as many at `to`.
unsafe fn write_out<T: Copy>(from: *const T, to: *mut MaybeUninit<T>, count: usize, times: usize) {
    // SAFETY: as the caller promises.
    let (from, to) =
        unsafe { (std::slice::from_raw_parts(from, count), std::slice::from_raw_parts_mut(to, count * times)) };
    for (run, x) in to.chunks_exact_mut(times).zip(from) {
        run.fill(MaybeUninit::new(*x));
    }
}

/// Bytes from which on it pays to write results into an operand's memory, since tiles are copied first: a chain of ten takes
/// 1.12 of its time in new memory at 0.8 MB, 0.97 at 4 MB, 0.88 at 8 MB, 0.66 at 16 and 32 MB. Less in tests of this crate.
pub const LARGE: usize = if cfg!(test) { 1 << 16 } else { 1 << 22 };

/// `k` of one to three operands, of which the caller gives up `own`, operand number `at` among the `others`: the result
/// takes its memory if that is large, nobody else holds it, and each element fits in its place.
///
/// # Errors
/// As [`unary`], [`binary`] and [`ternary`].
pub fn apply_into(k: &Kernel, own: Array, at: usize, others: &[&Array]) -> Result<Array> {
    let own = match try_into(k, own, at, others) {
        ControlFlow::Break(result) => return result,
        ControlFlow::Continue(own) => own,
    };
    let mut args: SmallVec<[&Array; 3]> = SmallVec::from_slice(others);
    args.insert(at, &own);
    match args[..] {
        [a] => unary(k, a),
        [a, b] => binary(k, a, b),
        [a, b, c] => ternary(k, a, b, c),
        _ => crate::bail!(Internal, "{}(): {} operands", k.name, args.len()),
    }
}

/// The result in the memory of `own`; `own`, untouched, to go on with, if its memory cannot be taken.
fn try_into(k: &Kernel, own: Array, at: usize, others: &[&Array]) -> ControlFlow<Result<Array>, Array> {
    let shape = own.shape().clone();
    let mut steps = [Step::NONE; 5];
    let planned = {
        let mut args: SmallVec<[&Array; 3]> = SmallVec::from_slice(others);
        args.insert(at, &own);
        let operands = Operands::of(k, args.iter().map(|a| a.dtype()));
        let fits = own.numel() * own.dtype().size() >= LARGE
            && check_operands(k, args.iter().map(|a| a.dtype()), operands.dtype).is_ok()
            && broadcast_all(k.name, args.iter().map(|a| a.shape())).is_ok_and(|s| s == shape)
            && order::of_result(&shape, &args).is_none();
        let steps = Elementwise::Kernel(k).plan(operands, OPERANDS, Reg::Output(0), 0, &mut steps).ok();
        let inputs: SmallVec<[Input; 3]> =
            if fits { args.iter().map(|a| operand(a, &shape)).collect() } else { SmallVec::new() };
        steps.filter(|_| fits).map(|steps| (operands.dtype, inputs, steps))
    };
    let Some((dtype, mut inputs, steps)) = planned else { return ControlFlow::Continue(own) };
    let mut dims = SmallVec::from_slice(&shape);
    strided::merge_dims(&mut dims, &mut inputs);
    let out_dtype = k.out_dtype(dtype);
    own.build_over(out_dtype, |dst, _| run_one(k, &dims, &inputs, dst, out_dtype, steps))
}

/// The operands of a program with a single operator.
const OPERANDS: [Reg; 3] = [Reg::Input(0), Reg::Input(1), Reg::Input(2)];

/// Anything else: strided, broadcast, large, half precision.
#[inline(never)]
fn general(k: &Kernel, args: &[&Array], shape: Shape) -> Result<Array> {
    let operands = Operands::of(k, args.iter().map(|a| a.dtype()));
    let dtype = operands.dtype;
    check_operands(k, args.iter().map(|a| a.dtype()), dtype)?;
    let order = order::of_result(&shape, args);
    let mut steps = [Step::NONE; 5];
    let steps = Elementwise::Kernel(k).plan(operands, OPERANDS, Reg::Output(0), 0, &mut steps)?;
    let mut inputs: SmallVec<[Input; 3]> = SmallVec::new();
    args.iter().for_each(|a| inputs.push(operand(a, &shape)));
    let shape = match &order {
        Some(order) => {
            inputs.iter_mut().for_each(|i| i.strides = order.iter().map(|&d| i.strides[d]).collect());
            order::permuted(&shape, order)
        }
        None => shape,
    };
    let mut dims = SmallVec::from_slice(&shape);
    strided::merge_dims(&mut dims, &mut inputs);
    let out_dtype = k.out_dtype(dtype);
    // Kernels of these numbers never fail half way.
    let given = args.first().filter(|a| a.shape() == &shape && a.dtype() == out_dtype && dtype.is_differentiable());
    if let Some(mut own) = given.and_then(|a| donation::take(a)) {
        let to = own.ptr_mut();
        return run_one(k, &dims, &inputs, to, out_dtype, steps).map(|_| own);
    }
    let out = Array::try_build_bytes(out_dtype, shape, |dst, n| {
        if n == 0 {
            // SAFETY: there is nothing to write.
            return Ok(unsafe { Written::all() });
        }
        run_one(k, &dims, &inputs, dst, out_dtype, steps)
    })?;
    let Some(order) = &order else { return Ok(out) };
    let out = out.permute_back(order)?;
    out.with_strides_of_operands(args)
}

/// Runs the steps of one operator into `dst`, which is new memory, or that of an input with an element at each place.
fn run_one(
    k: &Kernel,
    dims: &[usize],
    inputs: &[Input],
    dst: *mut u8,
    out_dtype: DType,
    steps: &[Step],
) -> Result<Written> {
    let outputs = [Output { ptr: dst, width: out_dtype.size() }];
    let program = RowProgram::new(dims, inputs, &outputs, steps);
    // SAFETY: the arrays keep their elements alive and their layouts stay inside; `dst` is as the program asks, and its
    // one output is what the last step writes.
    let (fault, written) = unsafe { (program.run(), Written::all()) };
    if fault { Err(faulty(k)) } else { Ok(written) }
}

/// An array as an operand of a program over `shape`.
fn operand(a: &Array, shape: &Shape) -> Input {
    Input { ptr: a.ptr(), width: a.dtype().size(), strides: order::strides_over(a, shape) }
}

fn check_operands(k: &Kernel, args: impl ExactSizeIterator<Item = DType>, dtype: DType) -> Result<()> {
    if args.len() != k.arity as usize {
        crate::bail!(Internal, "{}(): {} operands for a kernel of {}", k.name, args.len(), k.arity);
    }
    for (i, d) in args.enumerate() {
        let wanted = if k.condition && i == 0 { DType::Bool } else { dtype };
        if d != wanted && !(d == DType::F32 && wanted.is_half()) {
            crate::bail!(Runtime, "{}(): expected operand {i} of dtype {wanted}, got {d}", k.name);
        }
    }
    Ok(())
}

/// Dtype and shape of `k` of operands like these, without computing it.
///
/// # Errors
/// Those of [`unary`], [`binary`] and [`ternary`], but for what depends on elements.
pub fn result(k: &Kernel, args: &[TypedShape<'_>]) -> Result<(DType, Shape)> {
    let Some(&(_, shape)) = args.last() else {
        crate::bail!(Internal, "{}(): a pointwise kernel has one to three operands", k.name)
    };
    let dtype = Operands::of(k, args.iter().map(|a| a.0)).dtype;
    check_operands(k, args.iter().map(|a| a.0), dtype)?;
    if !k.supports(dtype) {
        return Err(elementwise::unsupported(k, dtype));
    }
    let shape = if args.len() == 1 { shape.clone() } else { broadcast_all(k.name, args.iter().map(|a| a.1))? };
    Ok((k.out_dtype(dtype), shape))
}

#[cold]
fn faulty(k: &Kernel) -> Error {
    Error::runtime(format!("{}(): integer division by zero", k.name))
}

/// Lower case at compile time, for names of kernels.
pub const fn lowercase<const N: usize>(s: &str) -> [u8; N] {
    let mut out = [0; N];
    let mut i = 0;
    while i < N {
        out[i] = s.as_bytes()[i].to_ascii_lowercase();
        i += 1;
    }
    out
}
