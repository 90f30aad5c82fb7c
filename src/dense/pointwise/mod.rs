//! Elementwise operators on dense arrays: [`unary`], [`binary`], [`ternary`] with a [`Kernel`].

mod gather;
mod kernel;
mod macros;
pub mod program;
#[cfg(test)]
mod tests;

pub use kernel::{Body, Kernel, Loop, Out, Row, Rows};

use super::array::Array;
use super::convert;
use crate::base::shape::{broadcast_all, broadcast2};
use crate::base::{DType, Error, Result, Shape};
use program::{CHUNK, Input, Output, Program, Reg, Step};
use smallvec::{SmallVec, smallvec};
use std::ptr::null;

/// `k` of each element. The dtype must be one that [`Kernel::supports`].
#[inline]
pub fn unary(k: &Kernel, a: &Array) -> Result<Array> {
    if a.is_contiguous()
        && let Some(row) = k.native_row(a.dtype())
        && a.numel() <= CHUNK
    {
        return one_row(k, row, a.dtype(), a.shape(), a.ptr(), null(), null(), 0);
    }
    general(k, &[a], a.dtype(), a.shape().clone())
}

/// `k` of each pair of elements; the shapes broadcast. The dtypes must be equal.
#[inline]
pub fn binary(k: &Kernel, a: &Array, b: &Array) -> Result<Array> {
    let dtype = b.dtype();
    if a.dtype() == dtype
        && a.is_contiguous()
        && b.is_contiguous()
        && let Some(row) = k.native_row(dtype)
    {
        if a.shape() == b.shape() {
            if a.numel() <= CHUNK {
                return one_row(k, row, dtype, a.shape(), a.ptr(), b.ptr(), null(), 0);
            }
        } else if b.rank() == 0 && a.numel() <= CHUNK {
            return one_row(k, row, dtype, a.shape(), a.ptr(), b.ptr(), null(), 2);
        } else if a.rank() == 0 && b.numel() <= CHUNK {
            return one_row(k, row, dtype, b.shape(), a.ptr(), b.ptr(), null(), 1);
        }
    }
    general(k, &[a, b], dtype, broadcast2(k.name, a.shape(), b.shape())?)
}

/// `k` of each triple of elements; the shapes broadcast. The dtypes must be equal, but for a first operand of bools
/// where the kernel takes a condition.
#[inline]
pub fn ternary(k: &Kernel, a: &Array, b: &Array, c: &Array) -> Result<Array> {
    let dtype = c.dtype();
    if a.shape() == b.shape()
        && b.shape() == c.shape()
        && a.numel() <= CHUNK
        && a.is_contiguous()
        && b.is_contiguous()
        && c.is_contiguous()
        && b.dtype() == dtype
        && a.dtype() == if k.condition { DType::Bool } else { dtype }
        && let Some(row) = k.native_row(dtype)
    {
        return one_row(k, row, dtype, a.shape(), a.ptr(), b.ptr(), c.ptr(), 0);
    }
    general(k, &[a, b, c], dtype, broadcast_all(k.name, [a.shape(), b.shape(), c.shape()])?)
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
        let fault = unsafe { row(dst, a, b, c, n, scalars) };
        if fault { Err(faulty(k)) } else { Ok(()) }
    })
}

/// Anything else: strided, broadcast, large, half precision.
#[inline(never)]
fn general(k: &Kernel, args: &[&Array], dtype: DType, shape: Shape) -> Result<Array> {
    check_dtypes(k, args, dtype)?;
    let steps = plan(k, dtype)?;
    let inputs: SmallVec<[Input; 3]> = args.iter().map(|a| operand(a, &shape)).collect();
    let out_dtype = k.out_dtype(dtype);
    Array::try_build_bytes(out_dtype, shape.clone(), |dst, n| {
        if n == 0 {
            return Ok(());
        }
        let program = Program::new(&shape, inputs, smallvec![Output { ptr: dst, width: out_dtype.size() }], steps);
        // SAFETY: the arrays keep their elements alive and their layouts stay inside; `dst` is new memory.
        let fault = unsafe { program.run() };
        if fault { Err(faulty(k)) } else { Ok(()) }
    })
}

/// The steps that compute `k` in `dtype`: half precision is converted to single and back.
fn plan(k: &Kernel, dtype: DType) -> Result<SmallVec<[Step; 4]>> {
    let args = [Reg::Input(0), Reg::Input(1), Reg::Input(2)];
    let sources = |regs: [Reg; 3]| {
        let mut src = [Reg::None; 3];
        src[..k.arity as usize].copy_from_slice(&regs[..k.arity as usize]);
        src
    };
    if let Some(row) = k.native_row(dtype) {
        return Ok(smallvec![Step { row, dst: Reg::Output(0), src: sources(args) }]);
    }
    let (Some(row), true) = (k.native_row(DType::F32), k.supports(dtype)) else {
        return Err(unsupported(k, dtype));
    };
    let mut steps = SmallVec::new();
    let mut regs = args;
    for i in usize::from(k.condition)..k.arity as usize {
        regs[i] = Reg::Temp(i as u8);
        steps.push(Step { row: convert::row(dtype, DType::F32), dst: regs[i], src: [args[i], Reg::None, Reg::None] });
    }
    if k.out == Out::Bool {
        steps.push(Step { row, dst: Reg::Output(0), src: sources(regs) });
    } else {
        steps.push(Step { row, dst: Reg::Temp(3), src: sources(regs) });
        let src = [Reg::Temp(3), Reg::None, Reg::None];
        steps.push(Step { row: convert::row(DType::F32, dtype), dst: Reg::Output(0), src });
    }
    Ok(steps)
}

/// An array as an operand of a program over `shape`.
fn operand(a: &Array, shape: &Shape) -> Input {
    let lead = shape.rank() - a.rank();
    let mut strides: SmallVec<[isize; 6]> = SmallVec::from_elem(0, shape.rank());
    for (i, (&d, s)) in a.shape().iter().zip(a.strides()).enumerate() {
        if d != 1 {
            strides[lead + i] = s;
        }
    }
    Input { ptr: a.ptr(), width: a.dtype().size(), strides }
}

fn check_dtypes(k: &Kernel, args: &[&Array], dtype: DType) -> Result<()> {
    for (i, a) in args.iter().enumerate() {
        let wanted = if k.condition && i == 0 { DType::Bool } else { dtype };
        if a.dtype() != wanted {
            crate::bail!(Runtime, "{}(): expected operand {i} of dtype {wanted}, got {}", k.name, a.dtype());
        }
    }
    Ok(())
}

#[cold]
fn unsupported(k: &Kernel, dtype: DType) -> Error {
    Error::not_implemented(format!("{}() is not implemented for {dtype}", k.name))
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
