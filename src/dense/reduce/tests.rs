//! Reductions against plain loops.

use super::{all, amax, amin, any, prod, result_shape, sum};
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
            if !dtype.is_half() {
                check(&p, dtype, &out, |i| fold_all(&of(i), dtype, 1, |x, y| x * y, i64::wrapping_mul));
            }
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
        let m = a.reshape(&[n].into()).unwrap().view(|l| l.slice(0, 0, n / cols * cols, 1)).unwrap();
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
    assert_eq!(err.message(), "amax(): Expected reduction dim 0 to have non-zero size.");
    let s = Array::scalar(DType::F64, Scalar::Float(2.5));
    assert_eq!(sum(&s, &[], false).unwrap().item().unwrap(), Scalar::Float(2.5));
}
