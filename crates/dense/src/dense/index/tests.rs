//! Index operators against plain loops.

use super::{Fold, add_at, arange, cat, eye, gather, linspace, masked_scatter, masked_select, nonzero, one_hot, pad};
use super::{put_at, put_many, roll, scatter, scatter_add, scatter_reduce, select, take_many, tri};
use crate::base::{DType, ErrorKind, Scalar, Shape};
use crate::dense::Array;
use crate::dense::copy::cast;
use crate::dense::samples::{Rng, at, check, filled, indices, strided};
use num_complex::Complex;
use proptest::prelude::{prop, proptest};
use std::collections::HashMap;

fn ints(shape: &[usize], rng: &mut Rng, below: usize) -> Array {
    let a = filled(DType::I64, shape, || Scalar::Int(rng.below(below) as i64));
    // Sometimes with unusual strides.
    match shape.len() {
        2 if rng.below(2) == 0 => {
            a.permute(&[1, 0]).unwrap().contiguous().unwrap().to_buffer().unwrap().reshape(&shape.into()).unwrap()
        }
        _ => a,
    }
}

fn with(index: &[usize], dim: usize, value: usize) -> Vec<usize> {
    let mut i = index.to_vec();
    i[dim] = value;
    i
}

fn int(a: &Array, index: &[usize]) -> usize {
    at(a, index).as_i64() as usize
}

fn add(x: Scalar, y: Scalar, dtype: DType) -> Scalar {
    match dtype {
        DType::Bool => Scalar::Bool(!x.is_zero() || !y.is_zero()),
        d if d.is_differentiable() => Scalar::Complex(x.as_complex() + y.as_complex()),
        d => cast(&Array::scalar(DType::I64, Scalar::Int(x.as_i64() + y.as_i64())), d).unwrap().item().unwrap(),
    }
}

/// The elements of `a` after the writes, in order.
fn written(a: &Array, writes: Vec<(Vec<usize>, Scalar)>, accumulate: bool) -> HashMap<Vec<usize>, Scalar> {
    let mut all: HashMap<Vec<usize>, Scalar> = indices(a.shape()).into_iter().map(|i| (i.clone(), at(a, &i))).collect();
    for (i, x) in writes {
        let old = all[&i];
        all.insert(i, if accumulate { add(old, x, a.dtype()) } else { x });
    }
    all
}

proptest! {
    #[test]
    fn gather_and_scatter_follow_their_definition(
        shape in prop::collection::vec(1usize..5, 1..4), seed: u64, d in 0usize..12,
    ) {
        let (dtype, mut rng) = (DType::ALL[d], Rng(seed));
        let a = strided(&mut rng, dtype, &shape, Rng::small);
        let dim = rng.below(shape.len());
        let mut index_shape: Vec<usize> = shape.iter().map(|&n| 1 + rng.below(n)).collect();
        index_shape[dim] = rng.below(7);
        let index = ints(&index_shape, &mut rng, shape[dim]);
        check(&gather(&a, dim, &index).unwrap(), dtype, index.shape(), |i| at(&a, &with(i, dim, int(&index, i))));
        let src_shape: Vec<usize> = index_shape.iter().map(|&n| n + rng.below(2)).collect();
        let src = strided(&mut rng, dtype, &src_shape, Rng::small);
        let writes: Vec<_> =
            indices(&index_shape).into_iter().map(|i| (with(&i, dim, int(&index, &i)), at(&src, &i))).collect();
        let want = written(&a, writes.clone(), false);
        check(&scatter(&a, dim, &index, &src).unwrap(), dtype, a.shape(), |i| want[i]);
        let want = written(&a, writes, true);
        check(&scatter_add(&a, dim, &index, &src).unwrap(), dtype, a.shape(), |i| want[i]);
    }

    #[test]
    fn selecting_and_adding_rows(
        shape in prop::collection::vec(1usize..5, 1..4), count in 0usize..6, seed: u64, d in 0usize..12,
    ) {
        let (dtype, mut rng) = (DType::ALL[d], Rng(seed));
        let a = strided(&mut rng, dtype, &shape, Rng::small);
        let dim = rng.below(shape.len());
        let index = ints(&[count], &mut rng, shape[dim]);
        let out = a.shape().with(dim, count);
        check(&select(&a, dim, &index).unwrap(), dtype, &out, |i| at(&a, &with(i, dim, int(&index, &[i[dim]]))));
        let src = strided(&mut rng, dtype, &out, Rng::small);
        let writes: Vec<_> =
            indices(&out).into_iter().map(|i| (with(&i, dim, int(&index, &[i[dim]])), at(&src, &i))).collect();
        let want = written(&a, writes.clone(), true);
        check(&add_at(&a, dim, &index, &src).unwrap(), dtype, a.shape(), |i| want[i]);
        let want = written(&a, writes, false);
        check(&put_at(&a, dim, &index, &src).unwrap(), dtype, a.shape(), |i| want[i]);
    }

    #[test]
    fn advanced_indexing(
        shape in prop::collection::vec(1usize..5, 1..4), common in prop::collection::vec(0usize..4, 0..3),
        seed: u64, d in 0usize..12,
    ) {
        let (dtype, mut rng) = (DType::ALL[d], Rng(seed));
        let a = strided(&mut rng, dtype, &shape, Rng::small);
        let k = 1 + rng.below(shape.len());
        let lists: Vec<Array> = (0..k)
            .map(|d| filled(DType::I64, &common, || Scalar::Int(rng.below(2 * shape[d]) as i64 - shape[d] as i64)))
            .collect();
        let source = |i: &[usize]| -> Vec<usize> {
            let (lead, rest) = i.split_at(common.len());
            let first = (0..k).map(|d| at(&lists[d], lead).as_i64().rem_euclid(shape[d] as i64) as usize);
            first.chain(rest.iter().copied()).collect()
        };
        let out: Shape = common.iter().chain(&shape[k..]).copied().collect();
        check(&take_many(&a, &lists).unwrap(), dtype, &out, |i| at(&a, &source(i)));
        let src = strided(&mut rng, dtype, &out, Rng::small);
        let writes: Vec<_> = indices(&out).into_iter().map(|i| (source(&i), at(&src, &i))).collect();
        for accumulate in [false, true] {
            let want = written(&a, writes.clone(), accumulate);
            check(&put_many(&a, &lists, &src, accumulate).unwrap(), dtype, a.shape(), |i| want[i]);
        }
    }

    #[test]
    fn joining_padding_rolling_and_triangles(
        shape in prop::collection::vec(0usize..5, 1..4), seed: u64, d in 0usize..12,
    ) {
        let (dtype, mut rng) = (DType::ALL[d], Rng(seed));
        let dim = rng.below(shape.len());
        let parts: Vec<Array> = (0..1 + rng.below(3))
            .map(|_| {
                let n = rng.below(4);
                strided(&mut rng, dtype, &with(&shape, dim, n), Rng::small)
            })
            .collect();
        let owners: Vec<(usize, usize)> =
            parts.iter().enumerate().flat_map(|(p, a)| (0..a.shape()[dim]).map(move |i| (p, i))).collect();
        let out = Shape::from(with(&shape, dim, owners.len()));
        check(&cat(&parts, dim).unwrap(), dtype, &out, |i| {
            let (part, k) = owners[i[dim]];
            at(&parts[part], &with(i, dim, k))
        });

        let a = strided(&mut rng, dtype, &shape, Rng::small);
        let pads: Vec<(i64, i64)> = shape
            .iter()
            .map(|&n| {
                let before = rng.below(n + 3) as i64 - n as i64;
                (before, rng.below(4) as i64 - (n as i64 + before).min(2))
            })
            .collect();
        let out: Shape = shape.iter().zip(&pads).map(|(&n, &(b, e))| (n as i64 + b + e) as usize).collect();
        check(&pad(&a, &pads, Scalar::Int(1)).unwrap(), dtype, &out, |i| {
            let from: Vec<i64> = i.iter().zip(&pads).map(|(&i, &(b, _))| i as i64 - b).collect();
            let inside = from.iter().zip(&shape).all(|(&i, &n)| i >= 0 && i < n as i64);
            let from: Vec<usize> = from.iter().map(|&i| i as usize).collect();
            if inside { at(&a, &from) } else if dtype == DType::Bool { true.into() } else { Scalar::Int(1) }
        });

        let dims: Vec<usize> = (0..1 + rng.below(shape.len())).collect();
        let shifts: Vec<i64> = dims.iter().map(|_| rng.below(11) as i64 - 5).collect();
        check(&roll(&a, &shifts, &dims).unwrap(), dtype, a.shape(), |i| {
            let mut i = i.to_vec();
            for (&d, &s) in dims.iter().zip(&shifts) {
                i[d] = (i[d] as i64 - s).rem_euclid(shape[d] as i64) as usize;
            }
            at(&a, &i)
        });
        if shape.len() >= 2 {
            let diagonal = rng.below(9) as i64 - 4;
            for upper in [true, false] {
                check(&tri(&a, diagonal, upper).unwrap(), dtype, a.shape(), |i| {
                    let gap = i[i.len() - 1] as i64 - i[i.len() - 2] as i64;
                    let kept = if upper { gap >= diagonal } else { gap <= diagonal };
                    if kept { at(&a, i) } else { Array::zeros(dtype, Shape::scalar()).unwrap().item().unwrap() }
                });
            }
        }
    }

    #[test]
    fn masks(shape in prop::collection::vec(0usize..5, 0..4), seed: u64, d in 0usize..12) {
        let (dtype, mut rng) = (DType::ALL[d], Rng(seed));
        let a = strided(&mut rng, dtype, &shape, Rng::special);
        let mask = strided(&mut rng, DType::Bool, &shape, Rng::small);
        let truthy: Vec<_> = indices(&shape).into_iter().filter(|i| !at(&a, i).is_zero()).collect();
        check(&nonzero(&a).unwrap(), DType::I64, &[truthy.len(), shape.len()].into(), |i| {
            Scalar::Int(truthy[i[0]][i[1]] as i64)
        });
        let chosen: Vec<_> = indices(&shape).into_iter().filter(|i| !at(&mask, i).is_zero()).collect();
        check(&masked_select(&a, &mask).unwrap(), dtype, &[chosen.len()].into(), |i| at(&a, &chosen[i[0]]));
        let src = strided(&mut rng, dtype, &[chosen.len() + 1], Rng::small);
        check(&masked_scatter(&a, &mask, &src).unwrap(), dtype, a.shape(), |i| {
            chosen.iter().position(|c| c == i).map_or(at(&a, i), |k| at(&src, &[k]))
        });
    }
}

fn vector(v: &[i64]) -> Array {
    Array::from_slice([v.len()], v).unwrap()
}

#[test]
fn scatter_reduce_joins_with_and_without_the_old_value() {
    let a = Array::from_slice([4], &[10.0f32, 20.0, 30.0, 40.0]).unwrap();
    let src = Array::from_slice([4], &[1.0f32, 2.0, 3.0, f32::NAN]).unwrap();
    let index = vector(&[0, 0, 1, 3]);
    let run = |fold, include| scatter_reduce(&a, 0, &index, &src, fold, include).unwrap().to_vec::<f32>().unwrap();
    assert_eq!(run(Fold::Sum, true)[..3], [13.0, 23.0, 30.0]);
    assert_eq!(run(Fold::Sum, false)[..3], [3.0, 3.0, 30.0]);
    assert_eq!(run(Fold::Prod, false)[..3], [2.0, 3.0, 30.0]);
    assert_eq!(run(Fold::Mean, true)[..3], [13.0 / 3.0, 11.5, 30.0]);
    assert_eq!(run(Fold::Mean, false)[..3], [1.5, 3.0, 30.0]);
    assert_eq!(run(Fold::Amax, false)[..3], [2.0, 3.0, 30.0]);
    assert_eq!(run(Fold::Amin, true)[..3], [1.0, 3.0, 30.0]);
    assert!(run(Fold::Amax, true)[3].is_nan());
    let (a, src) = (vector(&[-7, 0]), vector(&[0, 5]));
    let mean = scatter_reduce(&a, 0, &vector(&[0, 1]), &src, Fold::Mean, true).unwrap();
    assert_eq!(mean.to_vec::<i64>().unwrap(), [-4, 2]);
}

#[test]
fn indices_out_of_range_are_errors_with_their_place() {
    let a = Array::zeros(DType::F32, [2, 3].into()).unwrap();
    let index = Array::from_slice([1, 2], &[0i64, 3]).unwrap();
    let e = gather(&a, 1, &index).unwrap_err();
    assert_eq!(
        (e.kind(), e.message()),
        (ErrorKind::Index, "gather(): index 3 is out of bounds for dimension 1 with size 3; valid indices are 0 to 2")
    );
    let src = Array::zeros(DType::F32, [1, 2].into()).unwrap();
    assert_eq!(scatter(&a, 1, &index, &src).unwrap_err().kind(), ErrorKind::Index);
    assert_eq!(scatter_add(&a, 1, &index, &src).unwrap_err().kind(), ErrorKind::Index);
    let e = select(&a, 0, &vector(&[0, -1])).unwrap_err();
    assert!(e.message().contains("index -1 is out of bounds for dimension 0 with size 2"));
    assert!(take_many(&a, &[vector(&[-1])]).is_ok());
    let e = take_many(&a, &[vector(&[-3])]).unwrap_err();
    assert!(e.message().contains("index -3 is out of bounds for dimension 0 with size 2"));
    assert!(gather(&a, 1, &vector(&[0])).unwrap_err().message().contains("same number of dimensions"));
    let none = Array::zeros(DType::F32, [0].into()).unwrap();
    assert_eq!(gather(&none, 0, &vector(&[0])).unwrap_err().kind(), ErrorKind::Index);
}

#[test]
fn zero_dimensional_arrays_count_as_vectors() {
    let a = Array::scalar(DType::F64, Scalar::Float(3.0));
    let index = Array::scalar(DType::I64, Scalar::Int(0));
    assert_eq!(gather(&a, 0, &index).unwrap().item().unwrap(), Scalar::Float(3.0));
    assert_eq!(select(&a, 0, &index).unwrap().rank(), 0);
    let out = scatter_add(&a, 0, &index, &a).unwrap();
    assert_eq!((out.rank(), out.item().unwrap()), (0, Scalar::Float(6.0)));
    assert_eq!(nonzero(&a).unwrap().shape(), &Shape::from([1, 0]));
    assert_eq!(add_at(&a, 0, &index, &a).unwrap().item().unwrap(), Scalar::Float(6.0));
}

#[test]
fn halves_add_up_in_single_precision() {
    let a = Array::zeros(DType::BF16, [1].into()).unwrap();
    let src = Array::full(DType::BF16, [1000].into(), Scalar::Float(1.0)).unwrap();
    let index = Array::zeros(DType::I64, [1000].into()).unwrap();
    assert_eq!(add_at(&a, 0, &index, &src).unwrap().item().unwrap(), Scalar::Float(1000.0));
    assert_eq!(scatter_add(&a, 0, &index, &src).unwrap().item().unwrap(), Scalar::Float(1000.0));
}

#[test]
fn counted_arrays() {
    let v = arange(DType::I32, Scalar::Int(5), Scalar::Int(-2), 4).unwrap();
    assert_eq!(v.to_vec::<i32>().unwrap(), [5, 3, 1, -1]);
    let v = arange(DType::F64, Scalar::Float(0.5), Scalar::Int(1), 3).unwrap();
    assert_eq!(v.to_vec::<f64>().unwrap(), [0.5, 1.5, 2.5]);
    let n = 1_000_001;
    let v = linspace(DType::F32, Scalar::Float(-1.0), Scalar::Float(1.0), n).unwrap().to_vec::<f32>().unwrap();
    assert_eq!((v[0], v[n - 1]), (-1.0, 1.0));
    assert!(v[n / 2].abs() < 1e-7);
    assert!((0..n / 2).all(|i| v[i] == -v[n - 1 - i]));
    assert_eq!(linspace(DType::F32, Scalar::Int(3), Scalar::Int(9), 1).unwrap().to_vec::<f32>().unwrap(), [3.0]);
    assert_eq!(linspace(DType::I64, Scalar::Int(0), Scalar::Int(9), 4).unwrap().to_vec::<i64>().unwrap(), [0, 3, 6, 9]);
    let z = linspace(DType::C64, Scalar::Int(0), Scalar::Complex(Complex::new(0.0, 2.0)), 3).unwrap();
    assert_eq!(z.to_vec::<Complex<f32>>().unwrap()[1], Complex::new(0.0, 1.0));
    assert_eq!(eye(DType::Bool, 2, 3).unwrap().to_vec::<i64>().unwrap(), [1, 0, 0, 0, 1, 0]);
    assert_eq!(one_hot(&vector(&[2, 0]), 3).unwrap().to_vec::<i64>().unwrap(), [0, 0, 1, 1, 0, 0]);
    assert!(one_hot(&vector(&[3]), 3).unwrap_err().message().contains("smaller than num_classes"));
    assert!(one_hot(&vector(&[-1]), 3).unwrap_err().message().contains("non-negative"));
}

#[test]
fn parts_that_do_not_fit_are_named() {
    let (a, b) = (vector(&[1, 2]), Array::zeros(DType::I64, [0].into()).unwrap());
    assert_eq!(cat(&[b.clone(), a.clone(), b], 0).unwrap().to_vec::<i64>().unwrap(), [1, 2]);
    let (m, w) = (a.reshape(&[1, 2].into()).unwrap(), Array::zeros(DType::I64, [1, 3].into()).unwrap());
    assert!(cat(&[m.clone(), w], 0).unwrap_err().message().contains("Expected size 2 but got size 3"));
    assert!(cat(&[m, a], 0).unwrap_err().message().contains("same number of dimensions"));
    assert!(cat(&[], 0).unwrap_err().message().contains("non-empty list"));
    let e = pad(&vector(&[1]), &[(-1, -1)], Scalar::Int(0)).unwrap_err();
    assert!(e.message().contains("negative output size"));
}

/// Large enough for several tasks.
#[test]
fn large_moves_agree_with_small_ones() {
    let n = 500_000;
    let a = arange(DType::F32, Scalar::Int(0), Scalar::Int(1), n).unwrap();
    let down = arange(DType::I64, Scalar::Int(n as i64 - 1), Scalar::Int(-1), n).unwrap();
    let flipped = gather(&a, 0, &down).unwrap();
    assert_eq!(flipped.to_vec::<f32>().unwrap()[7], (n - 8) as f32);
    assert_eq!(select(&a, 0, &down).unwrap().to_vec::<f32>().unwrap(), flipped.to_vec::<f32>().unwrap());
    let m = a.reshape(&[500, 1000].into()).unwrap();
    let rows = ints(&[700], &mut Rng(3), 500);
    let picked = select(&m, 0, &rows).unwrap();
    let back = add_at(&Array::zeros(DType::F32, [500, 1000].into()).unwrap(), 0, &rows, &picked).unwrap();
    let mut times = [0f32; 500];
    rows.to_vec::<i64>().unwrap().iter().for_each(|&i| times[i as usize] += 1.0);
    let v = back.to_vec::<f32>().unwrap();
    assert!((0..n).all(|i| v[i] == times[i / 1000] * i as f32));
}

#[test]
fn large_transposed_parts_are_laid_out_in_squares() {
    let (n, m) = (203, 517);
    let a = arange(DType::F64, Scalar::Int(0), Scalar::Int(1), n * m).unwrap().reshape(&[n, m].into()).unwrap();
    let turned = a.permute(&[1, 0]).unwrap();
    let back = turned.slice(1, n - 1, n, -1).unwrap();
    let v = cat(&[turned, back], 0).unwrap().to_vec::<f64>().unwrap();
    let at = |i: usize, j: usize| (j * m + i) as f64;
    assert!((0..m).all(|i| (0..n).all(|j| v[i * n + j] == at(i, j) && v[(m + i) * n + j] == at(i, n - 1 - j))));
}
