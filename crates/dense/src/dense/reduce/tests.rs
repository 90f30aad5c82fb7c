//! Reductions against plain loops.

use super::{all, amax, amin, any, prod, result_shape, sum};
use super::{argmax, argmin, max_with_index, min_with_index};
use crate::base::{DType, Scalar, Shape};
use crate::dense::Array;
use crate::dense::samples::{Rng, at, check, indices, strided};
use half::bf16;
use num_complex::Complex;
use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

type C128 = Complex<f64>;

/// The elements that one result folds, in row-major order.
fn group(a: &Array, dims: &[usize], keep: bool, index: &[usize]) -> Vec<Scalar> {
    indices(a.shape())
        .into_iter()
        .filter(|i| {
            let mut kept = index.iter();
            (0..a.rank()).all(|d| match dims.contains(&d) {
                true if keep => kept.next() == Some(&0),
                true => true,
                false => kept.next() == Some(&i[d]),
            })
        })
        .map(|i| at(a, &i))
        .collect()
}

fn wrap(dtype: DType, x: i64) -> Scalar {
    match_int(dtype, x).unwrap_or(Scalar::Int(x))
}
fn match_int(dtype: DType, x: i64) -> Option<Scalar> {
    Some(Scalar::Int(match dtype {
        DType::U8 => x as u8 as i64,
        DType::I8 => x as i8 as i64,
        DType::I16 => x as i16 as i64,
        DType::I32 => x as i32 as i64,
        _ => return None,
    }))
}

fn fold_all(values: &[Scalar], dtype: DType, start: i64, f: fn(C128, C128) -> C128, g: fn(i64, i64) -> i64) -> Scalar {
    if dtype.is_differentiable() {
        return Scalar::Complex(values.iter().fold(C128::new(start as f64, 0.0), |s, x| f(s, x.as_complex())));
    }
    wrap(dtype, values.iter().fold(start, |s, x| g(s, x.as_i64())))
}

fn extreme(values: &[Scalar], sign: f64) -> Scalar {
    let x = values
        .iter()
        .map(|x| sign * x.as_f64())
        .fold(f64::NEG_INFINITY, |m, x| if x > m || x.is_nan() { x } else { m });
    Scalar::Float(sign * x)
}

proptest! {
    #[test]
    fn reductions_equal_plain_loops(
        shape in prop::collection::vec(0usize..5, 0..5), seed: u64, keep: bool, d in 0usize..12,
    ) {
        let dtype = DType::ALL[d];
        let mut rng = Rng(seed);
        let a = strided(&mut rng, dtype, &shape, Rng::small);
        let count = rng.below(shape.len() + 1);
        let dims: Vec<usize> = rng.order(shape.len()).into_iter().take(count).collect();
        let out = result_shape(a.shape(), &dims, keep);
        let of = |i: &[usize]| group(&a, &dims, keep, i);
        if dtype != DType::Bool {
            check(&sum(&a, &dims, keep).unwrap(), dtype, &out, |i| fold_all(&of(i), dtype, 0, |x, y| x + y, |x, y| x + y));
            let p = prod(&a, &dims, keep).unwrap();
            check(&p, dtype, &out, |i| {
                let want = fold_all(&of(i), dtype, 1, |x, y| x * y, i64::wrapping_mul);
                // Large products round, differently in each order.
                let (g, w) = (at(&p, i).as_complex(), want.as_complex());
                let near = (g - w).norm() <= 0.02 * w.norm() || w.norm() > 6e4;
                if dtype.is_differentiable() && near { at(&p, i) } else { want }
            });
        }
        check(&all(&a, &dims, keep).unwrap(), DType::Bool, &out, |i| of(i).iter().all(|x| !x.is_zero()).into());
        check(&any(&a, &dims, keep).unwrap(), DType::Bool, &out, |i| of(i).iter().any(|x| !x.is_zero()).into());
        let b = strided(&mut rng, dtype, &shape, Rng::special);
        let of = |i: &[usize]| group(&b, &dims, keep, i);
        if dtype.is_complex() || dims.iter().any(|&d| shape[d] == 0) {
            prop_assert!(amax(&b, &dims, keep).is_err() && amin(&b, &dims, keep).is_err());
        } else {
            check(&amax(&b, &dims, keep).unwrap(), dtype, &out, |i| extreme(&of(i), 1.0));
            check(&amin(&b, &dims, keep).unwrap(), dtype, &out, |i| extreme(&of(i), -1.0));
        }
    }

    /// Sizes around lanes, tiles, blocks and pieces; integers as floats, so that every order gives the same sum.
    #[test]
    fn large_reductions_are_exact(
        rows in 1usize..700, cols in prop::sample::select(vec![1usize, 2, 3, 7, 31, 64, 100, 255, 1000, 4097]),
        seed: u64, axis in 0usize..3, half: bool,
    ) {
        let mut rng = Rng(seed);
        let dtype = if half { DType::BF16 } else { DType::F32 };
        let a = strided(&mut rng, dtype, &[rows, cols], Rng::small);
        let v: Vec<f32> = a.to_vec().unwrap();
        let dims: &[usize] = [&[0][..], &[1], &[0, 1]][axis];
        let got = sum(&a, dims, false).unwrap();
        let mut want = vec![0f32; got.numel()];
        for (i, x) in v.iter().enumerate() {
            want[[i % cols, i / cols, 0][axis]] += x;
        }
        let want: Vec<f32> = want.iter().map(|&x| if half { bf16::from_f32(x).to_f32() } else { x }).collect();
        prop_assert_eq!(got.to_vec::<f32>().unwrap(), want);
    }
}

#[test]
fn long_folds_are_cut_into_pieces_and_stay_accurate() {
    let n = 3_000_017;
    let a = Array::full(DType::F32, [n].into(), Scalar::Float(0.1)).unwrap();
    let want = n as f64 * f64::from(0.1f32);
    let near = |x: Array| assert!((x.item().unwrap().as_f64() - want).abs() < want * 1e-6);
    near(sum(&a, &[0], false).unwrap());
    for cols in [1usize, 2, 3, 16, 300] {
        let m = a.reshape(&[n].into()).unwrap().slice(0, 0, n / cols * cols, 1).unwrap();
        let m = m.reshape(&[n / cols, cols].into()).unwrap();
        let s = sum(&m, &[0], false).unwrap();
        let one = (n / cols) as f64 * f64::from(0.1f32);
        assert!(s.to_vec::<f64>().unwrap().iter().all(|x| (x - one).abs() < one * 1e-6), "{cols}");
    }
}

#[test]
fn empty_and_scalar_inputs() {
    let e = Array::zeros(DType::F32, [0, 3].into()).unwrap();
    assert_eq!(sum(&e, &[0], false).unwrap().to_vec::<f32>().unwrap(), [0.0; 3]);
    assert_eq!(prod(&e, &[0, 1], false).unwrap().to_vec::<f32>().unwrap(), [1.0]);
    assert_eq!(amax(&e, &[1], false).unwrap().shape(), &Shape::from([0]));
    let err = amax(&e, &[0], false).unwrap_err();
    assert_eq!(err.message(), "amax(): Expected reduction dim 0 to have non-zero size; reduce another one");
    let s = Array::scalar(DType::F64, Scalar::Float(2.5));
    assert_eq!(sum(&s, &[], false).unwrap().item().unwrap(), Scalar::Float(2.5));
}

/// Position of the first best value, where NaN beats every number.
fn first_best(values: &[Scalar], sign: f64) -> usize {
    let v: Vec<f64> = values.iter().map(|x| sign * x.as_f64()).collect();
    v.iter().position(|x| x.is_nan()).unwrap_or_else(|| {
        let top = v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        v.iter().position(|&x| x == top).unwrap()
    })
}

proptest! {
    #[test]
    fn arg_reductions_find_the_first_best(
        shape in prop::collection::vec(1usize..6, 1..4), seed: u64, keep: bool, d in 0usize..10,
    ) {
        let dtype = DType::ALL[d];
        let mut rng = Rng(seed);
        let a = strided(&mut rng, dtype, &shape, Rng::special);
        let dim = rng.below(shape.len());
        let out = result_shape(a.shape(), &[dim], keep);
        let of = |i: &[usize]| group(&a, &[dim], keep, i);
        let index = |sign: f64| move |i: &[usize]| Scalar::Int(first_best(&of(i), sign) as i64);
        check(&argmax(&a, Some(dim), keep).unwrap(), DType::I64, &out, index(1.0));
        check(&argmin(&a, Some(dim), keep).unwrap(), DType::I64, &out, index(-1.0));
        for (sign, (values, indices)) in [
            (1.0, max_with_index(&a, dim, keep).unwrap()),
            (-1.0, min_with_index(&a, dim, keep).unwrap()),
        ] {
            check(&indices, DType::I64, &out, index(sign));
            check(&values, dtype, &out, |i| of(i)[first_best(&of(i), sign)]);
        }
        let all: Vec<usize> = (0..shape.len()).collect();
        let flat = argmax(&a, None, keep).unwrap();
        check(&flat, DType::I64, &result_shape(a.shape(), &all, keep), |_| {
            Scalar::Int(first_best(&group(&a, &all, false, &[]), 1.0) as i64)
        });
    }
}

#[test]
fn long_rows_are_searched_in_pieces() {
    let n = 700_000;
    let mut v = vec![1i32; n];
    (v[5], v[300_000], v[300_001], v[600_000]) = (-3, 9, 9, 9);
    let a = Array::from_slice([n], &v).unwrap();
    assert_eq!(argmax(&a, None, false).unwrap().item().unwrap(), Scalar::Int(300_000));
    assert_eq!(argmin(&a, Some(0), false).unwrap().item().unwrap(), Scalar::Int(5));
    let wide = a.reshape(&[700, 1000].into()).unwrap();
    let (values, indices) = max_with_index(&wide, 0, false).unwrap();
    assert_eq!((values.to_vec::<i32>().unwrap()[1], indices.to_vec::<i64>().unwrap()[1]), (9, 300));
}

#[test]
fn arg_errors_name_the_dimension() {
    let e = Array::zeros(DType::F32, [2, 0].into()).unwrap();
    assert_eq!(argmax(&e, Some(0), false).unwrap().shape(), &Shape::from([0]));
    assert!(argmax(&e, Some(1), false).unwrap_err().message().contains("reduction dim 1 to have non-zero size"));
    assert!(argmin(&e, None, false).unwrap_err().message().contains("numel() == 0"));
    let c = Array::zeros(DType::C64, [2].into()).unwrap();
    assert_eq!(argmax(&c, None, false).unwrap_err().kind(), crate::base::ErrorKind::NotImplemented);
}
