//! Kernels and drivers against plain loops.

use super::*;
use crate::base::{Element, Layout};
use crate::dense::copy::{Convert, to_scalar};
use crate::pointwise_kernel;
use half::{bf16, f16};
use num_complex::Complex;
use proptest::prelude::*;

pointwise_kernel! { SIN(x) { float => x.sin() } }
pointwise_kernel! { NEG(x) { float => -x, int => x.neg() } }
pointwise_kernel! { MUL(a, b) { float => a * b, int => a * b, bool => a & b } }
pointwise_kernel! { SUB(a, b) { float => a - b, int => a - b } }
pointwise_kernel! { LT(a, b) -> bool { float => a.lt(b), int => a.lt(b), bool => a.lt(b) } }
pointwise_kernel! { FLOOR_DIV(a, b) { float => a.floor_div(b), int => a.floor_div(b) } }
pointwise_kernel! { LERP(a, b, w) { float => w * (b - a) + a } }
pointwise_kernel! { WHERE(c: bool, a, b) { any => if c { a } else { b } } }
pointwise_kernel! { FINITE(a, b) -> bool { float => !(a + b).is_inf() } }
pointwise_kernel! { KEEP(c: bool, a) { any => if c { a } else { a.blank() } } }
pointwise_kernel! { ABS(x) -> real { float => x.abs(), complex => x.abs() } }
pointwise_kernel! { POLAR(r, t) -> complex { float => complex(r * t.cos(), r * t.sin()) } }
pointwise_kernel! { ACOS(x) { float => x.acos(), complex => x.acos() } }
pointwise_kernel! { IS_NAN(x) -> bool { float => x.is_nan(), complex => x.is_nan(), int => false, bool => false } }

/// A view of a fresh array: permuted, sliced with steps, reversed, expanded.
#[derive(Debug, Clone)]
struct View {
    dims: Vec<(usize, u8)>,
    transpose: bool,
}

impl View {
    /// An array of this shape with `value(i)` at storage position i.
    fn make<T: Element>(&self, value: impl Fn(usize) -> T) -> Array {
        let storage: Vec<usize> = self
            .dims
            .iter()
            .map(|&(d, how)| match how {
                1 => d * 2 + 1,
                3 => 1,
                _ => d,
            })
            .collect();
        let shape = Shape::from(storage);
        let base = Array::build::<T>(shape, |o| o.iter_mut().enumerate().for_each(|(i, x)| *x = value(i))).unwrap();
        let mut a = base;
        for (at, &(d, how)) in self.dims.iter().enumerate() {
            a = match how {
                1 => a.slice(at, 1, d, 2).unwrap(),
                2 if d > 0 => a.slice(at, d - 1, d, -1).unwrap(),
                3 => a.expand(&a.shape().with(at, d)).unwrap(),
                _ => a,
            };
        }
        if self.transpose && a.rank() > 1 {
            let order: Vec<usize> = (0..a.rank()).rev().collect();
            a = a.permute(&order).unwrap().contiguous().unwrap().permute(&order).unwrap();
        }
        a
    }
}

/// The element at a row-major index of a shape that `a` broadcasts to.
fn at<T: Element>(a: &Array, shape: &Shape, flat: usize) -> T {
    let layout: Layout = a.layout();
    let mut left = flat;
    let mut offset = layout.offset as isize;
    let lead = shape.rank() - a.rank();
    for d in (0..shape.rank()).rev() {
        let i = left % shape[d];
        left /= shape[d];
        if d >= lead && layout.shape[d - lead] != 1 {
            offset += i as isize * layout.strides[d - lead];
        }
    }
    let start = a.ptr().cast::<T>().wrapping_offset(-(layout.offset as isize));
    // SAFETY: the index is inside the shape, so the offset is inside the buffer.
    unsafe { start.offset(offset).read() }
}

/// Two or three shapes that broadcast, as views of every kind.
fn views(n: usize) -> impl Strategy<Value = Vec<View>> {
    let dim = prop_oneof![8 => 1usize..7, 1 => Just(0usize), 2 => 60usize..90, 1 => 500usize..900];
    prop::collection::vec(dim, 0..4).prop_flat_map(move |dims| {
        let one = prop::collection::vec((any::<prop::sample::Index>(), 0u8..4), dims.len()).prop_map({
            let dims = dims.clone();
            move |how| {
                dims.iter().zip(how).map(|(&d, (i, h))| (if i.index(4) == 0 { 1 } else { d }, h)).collect::<Vec<_>>()
            }
        });
        let one = (one, 0..=dims.len(), any::<bool>()).prop_map(|(dims, drop, transpose)| View {
            dims: if drop > 2 { dims } else { dims[drop.min(dims.len())..].to_vec() },
            transpose,
        });
        prop::collection::vec(one, n)
            .prop_filter("small", |v| v.iter().all(|v| v.dims.iter().map(|d| d.0.max(1)).product::<usize>() < 200_000))
    })
}

fn check2<T: Element + Convert>(k: &Kernel, v: &[View], f: impl Fn(T, T) -> T) {
    let a = v[0].make(|i| T::of_i64(i as i64 % 13 + 1));
    let b = v[1].make(|i| T::of_i64(i as i64 % 7 + 1));
    let out = binary(k, &a, &b).unwrap();
    assert_eq!(out.dtype(), T::DTYPE);
    assert_eq!(*out.shape(), broadcast2("", a.shape(), b.shape()).unwrap());
    for (i, &x) in out.to_vec::<T>().unwrap().iter().enumerate() {
        assert_eq!(to_scalar(x), to_scalar(f(at(&a, out.shape(), i), at(&b, out.shape(), i))), "element {i}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn binary_equals_the_plain_loop(v in views(2)) {
        check2::<f32>(&SUB, &v, |a, b| a - b);
        check2::<f64>(&MUL, &v, |a, b| a * b);
        check2::<i64>(&SUB, &v, |a, b| a - b);
        check2::<u8>(&SUB, &v, |a, b| a.wrapping_sub(b));
        check2::<i16>(&MUL, &v, |a, b| a * b);
        check2::<bool>(&MUL, &v, |a, b| a & b);
        check2::<f16>(&SUB, &v, |a, b| f16::from_f32(a.to_f32() - b.to_f32()));
        check2::<bf16>(&MUL, &v, |a, b| bf16::from_f32(a.to_f32() * b.to_f32()));
    }

    #[test]
    fn predicates_and_where_equal_the_plain_loop(v in views(3)) {
        let a = v[0].make(|i| (i % 11) as i32);
        let b = v[1].make(|i| (i % 5) as i32);
        let c = v[2].make(|i| Complex::new(i as f64, -(i as f64)));
        let lt = binary(&LT, &a, &b).unwrap();
        let got = lt.to_vec::<bool>().unwrap();
        for (i, &x) in got.iter().enumerate() {
            prop_assert_eq!(x, at::<i32>(&a, lt.shape(), i) < at::<i32>(&b, lt.shape(), i));
        }
        let d = v[0].make(|i| Complex::new(0.5, i as f64));
        let w = ternary(&WHERE, &lt, &c, &d).unwrap();
        for (i, &x) in w.to_vec::<Complex<f64>>().unwrap().iter().enumerate() {
            let want = if at(&lt, w.shape(), i) { at(&c, w.shape(), i) } else { at(&d, w.shape(), i) };
            prop_assert_eq!(x, want);
        }
        // An infinity that is not kept leaves no trace.
        let e = v[2].make(|i| if i % 3 == 0 { f16::INFINITY } else { f16::from_f32(i as f32) });
        for mask in [&lt, &binary(&FINITE, &e, &e).unwrap()] {
            let k = binary(&KEEP, mask, &e).unwrap();
            for (i, &x) in k.to_vec::<f16>().unwrap().iter().enumerate() {
                let want = if at(mask, k.shape(), i) { at(&e, k.shape(), i) } else { f16::ZERO };
                prop_assert_eq!(x, want);
            }
        }
    }

    #[test]
    fn unary_and_ternary_equal_the_plain_loop(v in views(3)) {
        let (a, b, c) = (v[0].make(|i| i as f32), v[1].make(|i| 2.0 * i as f32), v[2].make(|i| 0.25 * (i % 9) as f32));
        let neg = unary(&NEG, &a).unwrap();
        for (i, &x) in neg.to_vec::<f32>().unwrap().iter().enumerate() {
            prop_assert_eq!(x, -at::<f32>(&a, neg.shape(), i));
        }
        let l = ternary(&LERP, &a, &b, &c).unwrap();
        for (i, &x) in l.to_vec::<f32>().unwrap().iter().enumerate() {
            let (a, b, w) = (at::<f32>(&a, l.shape(), i), at::<f32>(&b, l.shape(), i), at::<f32>(&c, l.shape(), i));
            prop_assert_eq!(x, w * (b - a) + a);
        }
    }
}

/// A matrix that is read by columns, of more than one unit of work.
fn columns<T: Element>(rows: usize, cols: usize, value: impl Fn(usize) -> T) -> Array {
    let fill = |o: &mut [T]| o.iter_mut().enumerate().for_each(|(i, x)| *x = value(i));
    Array::build::<T>([cols, rows].into(), fill).unwrap().permute(&[1, 0]).unwrap()
}

fn chooses<T: Element + PartialEq + std::fmt::Debug>(
    rows: usize,
    cols: usize,
    a: impl Fn(usize) -> T,
    b: impl Fn(usize) -> T,
) {
    let mask = columns(rows, cols, |i| i % 3 == 0);
    let (a, b) = (columns(rows, cols, a), columns(rows, cols, b));
    let w = ternary(&WHERE, &mask, &a, &b).unwrap();
    for (i, &x) in w.to_vec::<T>().unwrap().iter().enumerate() {
        let from = if at(&mask, w.shape(), i) { &a } else { &b };
        assert_eq!(x, at(from, w.shape(), i), "{rows} x {cols}, element {i}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Copies of operands lie behind each other, narrow ones first, and a unit of work may end at any element.
    #[test]
    fn copied_operands_of_different_widths_are_aligned(rows in 180usize..260, cols in 180usize..260) {
        chooses::<u8>(rows, cols, |i| i as u8, |i| !(i as u8));
        chooses::<f16>(rows, cols, |i| f16::from_f32(i as f32 % 512.0), |i| f16::from_f32(-(i as f32) % 512.0));
        chooses::<f32>(rows, cols, |i| i as f32, |i| -(i as f32));
        chooses::<i64>(rows, cols, |i| i as i64, |i| !(i as i64));
        chooses(rows, cols, |i| Complex::new(i as f64, 1.0), |i| Complex::new(0.5, i as f64));
    }
}

#[test]
fn integer_division_by_zero_is_an_error_and_overflow_wraps() {
    let a = Array::from_slice([3], &[7i64, -7, i64::MIN]).unwrap();
    let b = Array::from_slice([3], &[2i64, 2, -1]).unwrap();
    assert_eq!(binary(&FLOOR_DIV, &a, &b).unwrap().to_vec::<i64>().unwrap(), [3, -4, i64::MIN]);
    let z = Array::from_slice([3], &[2i64, 0, -1]).unwrap();
    let e = binary(&FLOOR_DIV, &a, &z).unwrap_err();
    assert_eq!(e.message(), "floor_div(): integer division by zero");
    let big = Array::full(DType::I32, [200_000].into(), crate::base::Scalar::Int(1)).unwrap();
    let zero = Array::scalar(DType::I32, crate::base::Scalar::Int(0));
    assert!(binary(&FLOOR_DIV, &big, &zero).is_err());
}

#[test]
fn wrong_dtypes_and_shapes_are_errors() {
    let a = Array::from_slice([3], &[1i32, 2, 3]).unwrap();
    let b = Array::from_slice([3], &[1f32, 2., 3.]).unwrap();
    assert!(binary(&SUB, &a, &b).unwrap_err().message().contains("expected operand 0 of dtype float32, got int32"));
    assert_eq!(unary(&SIN, &a).unwrap_err().message(), "sin() is not implemented for int32");
    let c = Array::from_slice([2], &[1f32, 2.]).unwrap();
    assert!(binary(&SUB, &b, &c).unwrap_err().message().starts_with("sub(): The size of tensor a (3)"));
    assert!(!SIN.supports(DType::I32) && SIN.supports(DType::F16) && WHERE.supports(DType::C128));
}

#[test]
fn half_precision_predicates_and_scalars() {
    let a = Array::from_slice([4], &[1.0, 2.0, 3.0, f64::NAN].map(f16::from_f64)).unwrap();
    let two = Array::from_slice([], &[f16::from_f64(2.0)]).unwrap();
    assert_eq!(binary(&LT, &a, &two).unwrap().to_vec::<bool>().unwrap(), [true, false, false, false]);
    assert_eq!(binary(&SUB, &two, &a).unwrap().to_vec::<f32>().unwrap()[..3], [1.0, 0.0, -1.0]);
}

#[test]
fn complex_kernels_have_real_and_complex_results() {
    let a = Array::from_slice([2], &[Complex::new(3f32, 4.0), Complex::new(0.0, f32::NAN)]).unwrap();
    let abs = unary(&ABS, &a).unwrap();
    assert_eq!((abs.dtype(), abs.to_vec::<f32>().unwrap()[0]), (DType::F32, 5.0));
    assert_eq!(unary(&IS_NAN, &a).unwrap().to_vec::<bool>().unwrap(), [false, true]);
    let z = binary(&POLAR, &Array::scalar(DType::F64, 2.0.into()), &Array::scalar(DType::F64, 0.5.into())).unwrap();
    assert!((z.to_vec::<Complex<f64>>().unwrap()[0] - Complex::from_polar(2.0, 0.5)).norm() < 1e-15);
    let w = unary(&ACOS, &z).unwrap().to_vec::<Complex<f64>>().unwrap()[0];
    assert!((w.cos() - Complex::from_polar(2.0, 0.5)).norm() < 1e-15);
    assert!(!POLAR.supports(DType::F16));
}

/// Operands that are given up: the result takes the memory, bit for bit what it is elsewhere.
#[test]
fn results_take_the_memory_of_an_operand_that_nobody_holds() {
    let n = 70_001;
    let numbers = |dtype: DType, seed: usize| {
        let v: Vec<f64> = (0..n).map(|i| ((i * 37 + seed) % 201) as f64 / 16.0 - 5.0).collect();
        crate::dense::copy::cast(&Array::from_slice([n], &v).unwrap(), dtype).unwrap()
    };
    let same = |a: &Array, b: &Array| a.is_identical(b);
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::I64, DType::C64, DType::C128] {
        let (other, row) = (numbers(dtype, 9), Array::scalar(dtype, crate::base::Scalar::Int(3)));
        let held = numbers(dtype, 4);
        for (k, arity) in [(&kernels::ADD, 2), (&kernels::MUL, 2), (&kernels::SUB, 2), (&kernels::NEG, 1)] {
            for at in 0..arity {
                for with in [&other, &row] {
                    let others = &[with][..arity - 1];
                    let plain = |own: &Array| match (arity, at) {
                        (1, _) => unary(k, own).unwrap(),
                        (_, 0) => binary(k, own, with).unwrap(),
                        _ => binary(k, with, own).unwrap(),
                    };
                    let own = numbers(dtype, 4);
                    let (place, expected) = (own.ptr(), plain(&own));
                    let result = apply_into(k, own, at, others).unwrap();
                    assert!(same(&result, &expected) && result.ptr() == place, "{} {dtype}", k.name);
                    // Held by another handle, by a view, or seen by others: the memory stays what it is.
                    let shared = held.clone();
                    let view = held.slice(0, 7, 100, 3).unwrap();
                    assert!(same(&apply_into(k, shared, at, others).unwrap(), &expected));
                    assert!(same(&held, &numbers(dtype, 4)) && view.numel() == 100);
                    let seen = numbers(dtype, 4);
                    let (buffer, seen_at) = (seen.buffer().unwrap().clone(), seen.ptr());
                    let export = buffer.export();
                    drop(buffer);
                    assert_ne!(apply_into(k, seen, at, others).unwrap().ptr(), seen_at);
                    drop(export);
                }
            }
        }
        assert!(apply_into(&kernels::ADD, numbers(dtype, 1), 0, &[]).is_err());
    }
    let small = Array::from_slice([3], &[1.0_f32, 2.0, 3.0]).unwrap();
    assert_eq!(apply_into(&kernels::NEG, small, 0, &[]).unwrap().to_vec::<f32>().unwrap(), [-1.0, -2.0, -3.0]);
}

#[test]
fn kernels_refuse_another_number_of_operands() {
    let a = Array::from_slice([3], &[1.0_f64, 2.0, 3.0]).unwrap();
    assert!(unary(&kernels::ADD, &a).is_err() && binary(&kernels::NEG, &a, &a).is_err());
    assert!(ternary(&kernels::ADD, &a, &a, &a).is_err() && binary(&kernels::WHERE, &a, &a).is_err());
}
