//! Elementwise operators as steps of a program: kernels, and conversions between dtypes.

use super::kernel::{Kernel, OutDtype};
use super::program::{Reg, Step};
use crate::base::{DType, Error, Result};
use crate::dense::cast;

/// What computes an element of the result from the elements of the operands at its place.
#[derive(Clone, Copy)]
pub enum Elementwise<'a> {
    Kernel(&'a Kernel),
    /// The same value in another dtype.
    Convert(DType),
}

impl Elementwise<'_> {
    /// Number of operands.
    pub fn arity(&self) -> usize {
        match self {
            Elementwise::Kernel(k) => k.arity as usize,
            Elementwise::Convert(_) => 1,
        }
    }

    /// The dtype of the results for operands of `dtype`.
    pub fn out_dtype(&self, dtype: DType) -> DType {
        match self {
            Elementwise::Kernel(k) => k.out_dtype(dtype),
            Elementwise::Convert(to) => *to,
        }
    }

    /// The steps that compute it from `operands` in the registers `src`, of which it reads as many as it takes, into `dst`.
    /// Half precision is converted to single and back, in temporaries from `temp` on, of which it takes four at most.
    ///
    /// # Errors
    /// `NotImplemented` if the kernel does not know the dtype.
    pub fn plan<'s>(
        &self,
        operands: Operands,
        src: [Reg; 3],
        dst: Reg,
        temp: u8,
        steps: &'s mut [Step; 5],
    ) -> Result<&'s [Step]> {
        match self {
            Elementwise::Kernel(k) => kernel(k, operands, src, dst, temp, steps),
            Elementwise::Convert(to) => Ok(conversion(operands.dtype, *to, src[0], dst, temp, steps)),
        }
    }
}

/// The dtypes of a kernel's operands, but for a condition, which is bool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operands {
    pub dtype: DType,
    /// By bits, which of them are in single precision beside half, in which the kernel computes anyway: numbers that half
    /// precision would round.
    pub single: u32,
}

impl From<DType> for Operands {
    fn from(dtype: DType) -> Operands {
        Operands { dtype, single: 0 }
    }
}

impl Operands {
    /// Those of a kernel, from the dtypes of its arguments.
    #[inline]
    pub fn of(k: &Kernel, args: impl Iterator<Item = DType> + Clone) -> Operands {
        let (mut last, mut half) = (DType::F32, None);
        for d in args.clone() {
            last = d;
            half = if d.is_half() { Some(d) } else { half };
        }
        match half {
            Some(dtype) if k.arity > 1 => {
                let single = args.enumerate().filter(|(_, d)| *d == DType::F32).fold(0, |bits, (i, _)| bits | 1 << i);
                Operands { dtype, single }
            }
            _ => last.into(),
        }
    }
}

fn kernel<'s>(
    k: &Kernel,
    Operands { dtype, single }: Operands,
    mut src: [Reg; 3],
    dst: Reg,
    temp: u8,
    steps: &'s mut [Step; 5],
) -> Result<&'s [Step]> {
    let arity = k.arity as usize;
    src[arity..].fill(Reg::None);
    if let Some(row) = k.native_row(dtype).filter(|_| single == 0) {
        steps[0] = Step { row, dst, src };
        return Ok(&steps[..1]);
    }
    let (Some(row), true) = (k.native_row(DType::F32), k.supports(dtype)) else {
        return Err(unsupported(k, dtype));
    };
    let mut n = 0;
    let mut push = |step| {
        steps[n] = step;
        n += 1;
    };
    for (i, r) in src.iter_mut().enumerate().take(arity).skip(usize::from(k.condition)) {
        if single >> i & 1 == 1 {
            continue;
        }
        let wide = Reg::Temp(temp + i as u8);
        push(convert_step(dtype, DType::F32, *r, wide));
        *r = wide;
    }
    if k.out == OutDtype::Bool {
        push(Step { row, dst, src });
    } else {
        let wide = Reg::Temp(temp + 3);
        push(Step { row, dst: wide, src });
        push(convert_step(DType::F32, dtype, wide, dst));
    }
    Ok(&steps[..n])
}

/// The steps from one dtype to another.
fn conversion(from: DType, to: DType, src: Reg, dst: Reg, temp: u8, steps: &mut [Step; 5]) -> &[Step] {
    if (from.is_half() && to != DType::F32) || (to.is_half() && from != DType::F32) {
        steps[0] = convert_step(from, DType::F32, src, Reg::Temp(temp));
        steps[1] = convert_step(DType::F32, to, Reg::Temp(temp), dst);
        return &steps[..2];
    }
    steps[0] = convert_step(from, to, src, dst);
    &steps[..1]
}

fn convert_step(from: DType, to: DType, src: Reg, dst: Reg) -> Step {
    Step { row: cast::row(from, to), dst, src: [src, Reg::None, Reg::None] }
}

#[cold]
pub(super) fn unsupported(k: &Kernel, dtype: DType) -> Error {
    Error::not_implemented(format!("{}() is not implemented for {dtype}", k.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::Array;
    use crate::dense::array::Written;
    use crate::dense::pointwise::kernels::{LT, MUL, WHERE};
    use crate::dense::pointwise::program::{Input, Output, RowProgram};
    use crate::dense::pointwise::{binary, ternary};
    use smallvec::smallvec;

    /// `where(a < b, a * b, a)` and its conversion, in one program.
    fn fused(a: &Array, b: &Array, to: DType) -> Vec<f64> {
        let (dtype, n) = (a.dtype(), a.numel());
        let (x, y) = (Reg::Input(0), Reg::Input(1));
        let (mask, product, chosen) = (Reg::Temp(0), Reg::Temp(1), Reg::Temp(2));
        let all = [
            (Elementwise::Kernel(&LT), [x, y, Reg::None], mask),
            (Elementwise::Kernel(&MUL), [x, y, Reg::None], product),
            (Elementwise::Kernel(&WHERE), [mask, product, x], chosen),
            (Elementwise::Convert(to), [chosen, Reg::None, Reg::None], Reg::Output(0)),
        ];
        let mut steps = Vec::new();
        for (i, (f, src, dst)) in all.into_iter().enumerate() {
            let mut room = [Step::NONE; 5];
            steps.extend_from_slice(f.plan(dtype.into(), src, dst, 3 + 4 * i as u8, &mut room).unwrap());
        }
        let input = |x: &Array| Input { ptr: x.ptr(), width: dtype.size(), strides: smallvec![1] };
        let inputs = [input(a), input(b)];
        let out = Array::build_bytes(to, [n].into(), |ptr, _| {
            let outputs = [Output { ptr, width: to.size() }];
            // SAFETY: the operands hold n elements each, `ptr` has room for n results.
            assert!(!unsafe { RowProgram::new(&[n], &inputs, &outputs, &steps).run() });
            // SAFETY: the program writes each element.
            unsafe { Written::all() }
        });
        cast::cast(&out.unwrap(), DType::F64).unwrap().to_vec::<f64>().unwrap()
    }

    #[test]
    fn comparisons_selection_and_conversions_stand_in_one_program() {
        let n = 1000;
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64, DType::I64] {
            let of = |f: fn(usize) -> f64| {
                let x: Vec<f64> = (0..n).map(f).collect();
                cast::cast(&Array::from_slice([n], &x).unwrap(), dtype).unwrap()
            };
            let (a, b) = (of(|i| (i * 7 % 23) as f64 - 9.0), of(|i| (i * 5 % 19) as f64 * 0.5 - 4.0));
            for to in [DType::F32, DType::F16, DType::I32, DType::Bool] {
                let (mask, product) = (binary(&LT, &a, &b).unwrap(), binary(&MUL, &a, &b).unwrap());
                let chosen = cast::cast(&ternary(&WHERE, &mask, &product, &a).unwrap(), to).unwrap();
                let want = cast::cast(&chosen, DType::F64).unwrap().to_vec::<f64>().unwrap();
                assert_eq!(fused(&a, &b, to), want, "{dtype} to {to}");
            }
        }
        let mut room = [Step::NONE; 5];
        let complex =
            Elementwise::Kernel(&LT).plan(DType::C64.into(), [Reg::Input(0); 3], Reg::Output(0), 0, &mut room);
        assert!(complex.is_err_and(|e| e.message().contains("lt() is not implemented for complex64")));
    }
}
