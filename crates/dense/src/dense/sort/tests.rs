//! Orders against the standard library's stable sort.

use super::{argsort, kthvalue, median, mode, searchsorted, sort, topk, unique};
use crate::base::{DType, ErrorKind, Scalar};
use crate::dense::Array;
use crate::dense::samples::{Rng, at, check, filled, strided};
use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};
use std::cmp::Ordering;

/// Order of numbers where NaN is greatest.
fn compare(a: Scalar, b: Scalar) -> Ordering {
    match (a, b) {
        (Scalar::Int(x), Scalar::Int(y)) => x.cmp(&y),
        _ => {
            let (x, y) = (a.as_f64(), b.as_f64());
            x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
        }
    }
}

/// Indices of the line through `index`, in order.
fn ordered(a: &Array, dim: usize, index: &[usize], descending: bool) -> (Vec<Scalar>, Vec<usize>) {
    let line: Vec<Scalar> = (0..a.shape()[dim])
        .map(|k| at(a, &index.iter().enumerate().map(|(d, &i)| if d == dim { k } else { i }).collect::<Vec<_>>()))
        .collect();
    let mut order: Vec<usize> = (0..line.len()).collect();
    order.sort_by(|&i, &j| if descending { compare(line[j], line[i]) } else { compare(line[i], line[j]) });
    (line, order)
}

proptest! {
    #[test]
    fn sorts_are_stable_and_put_nan_last(
        shape in prop::collection::vec(0usize..8, 1..4), seed: u64, d in 0usize..10, descending: bool,
    ) {
        let (dtype, mut rng) = (DType::ALL[d], Rng(seed));
        let a = strided(&mut rng, dtype, &shape, Rng::special);
        let dim = rng.below(shape.len());
        let (values, indices) = sort(&a, dim, descending, true).unwrap();
        let of = |i: &[usize]| ordered(&a, dim, i, descending);
        check(&indices, DType::I64, a.shape(), |i| Scalar::Int(of(i).1[i[dim]] as i64));
        check(&values, dtype, a.shape(), |i| { let (v, o) = of(i); v[o[i[dim]]] });
        prop_assert_eq!(argsort(&a, dim, descending, false).unwrap().to_vec::<i64>().unwrap(), indices.to_vec::<i64>().unwrap());
        let k = rng.below(shape[dim] + 1);
        let (values, indices) = topk(&a, k, dim, descending, true).unwrap();
        let out = a.shape().with(dim, k);
        // Which of equal elements it is says `unstable`.
        check(&values, dtype, &out, |i| of(i).0[at(&indices, i).as_i64() as usize]);
        check(&values, dtype, &out, |i| { let (v, o) = of(i); v[o[i[dim]]] });
        if !shape.contains(&0) && k > 0 {
            let (values, indices) = kthvalue(&a, k, dim).unwrap();
            let out = a.shape().without(dim);
            let full = |i: &[usize]| { let mut f = i.to_vec(); f.insert(dim, 0); ordered(&a, dim, &f, false) };
            check(&values, dtype, &out, |i| full(i).0[at(&indices, i).as_i64() as usize]);
            check(&values, dtype, &out, |i| { let (v, o) = full(i); v[o[k - 1]] });
        }
    }

    /// Sizes on both sides of each algorithm's range.
    #[test]
    fn long_rows(
        n in prop::sample::select(vec![60usize, 100, 599, 601, 1799, 1801, 5000, 40_000]), seed: u64, d in 0usize..10,
        descending: bool,
    ) {
        let (dtype, mut rng) = (DType::ALL[d], Rng(seed));
        let wide = |rng: &mut Rng| match dtype.is_float() {
            true => Scalar::Float(f64::from(rng.next() as i32) / 1000.0),
            false => Scalar::Int((rng.next() >> rng.below(64)) as i64),
        };
        let a = filled(dtype, &[n], || wide(&mut rng));
        let (values, indices) = sort(&a, 0, descending, true).unwrap();
        let (line, order) = ordered(&a, 0, &[0], descending);
        prop_assert!(indices.to_vec::<i64>().unwrap().iter().zip(&order).all(|(&i, &o)| i as usize == o));
        prop_assert!((0..n).all(|i| compare(at(&values, &[i]), line[order[i]]) == Ordering::Equal));
        for k in [1, 5, n / 3] {
            let top = topk(&a, k, 0, descending, true).unwrap().1.to_vec::<i64>().unwrap();
            prop_assert!(top.iter().zip(&order).all(|(&i, &o)| compare(line[i as usize], line[o]).is_eq()));
        }
    }

    #[test]
    fn insertion_points_keep_the_order(n in 0usize..9, m in 0usize..5, rows in 1usize..3, seed: u64, d in 0usize..10) {
        let (dtype, mut rng) = (DType::ALL[d], Rng(seed));
        let a = strided(&mut rng, dtype, &[rows, n], Rng::special);
        let (sorted, _) = sort(&a, 1, false, true).unwrap();
        let values = strided(&mut rng, dtype, &[rows, m], Rng::special);
        for right in [false, true] {
            let got = searchsorted(&sorted, &values, right).unwrap();
            check(&got, DType::I64, values.shape(), |i| {
                let before = |k: usize| match compare(at(&sorted, &[i[0], k]), at(&values, i)) {
                    Ordering::Less => true,
                    Ordering::Equal => right,
                    Ordering::Greater => false,
                };
                Scalar::Int((0..n).filter(|&k| before(k)).count() as i64)
            });
            let first = sorted.slice(0, 0, 1, 1).unwrap().reshape(&[n].into()).unwrap();
            let one = searchsorted(&first, &values, right).unwrap();
            prop_assert_eq!(one.shape(), values.shape());
        }
    }
}

#[test]
fn scalars_and_errors() {
    let s = Array::scalar(DType::F32, Scalar::Float(3.0));
    let (v, i) = sort(&s, 0, false, true).unwrap();
    assert_eq!((v.rank(), i.item().unwrap()), (0, Scalar::Int(0)));
    assert_eq!(kthvalue(&s, 1, 0).unwrap().0.rank(), 0);
    let a = Array::from_slice([2], &[1i32, 2]).unwrap();
    assert!(topk(&a, 3, 0, true, true).unwrap_err().message().contains("selected index k out of range"));
    assert!(kthvalue(&a, 0, 0).unwrap_err().message().contains("k out of range"));
    let c = Array::zeros(DType::C64, [2].into()).unwrap();
    assert_eq!(sort(&c, 0, false, false).unwrap_err().kind(), ErrorKind::NotImplemented);
    let f = Array::zeros(DType::F32, [2, 2].into()).unwrap();
    assert!(searchsorted(&a, &f, false).unwrap_err().message().contains("same dtype"));
    let g = Array::zeros(DType::F32, [3, 2].into()).unwrap();
    assert!(searchsorted(&g, &f, false).unwrap_err().message().contains("must match"));
}

proptest! {
    #[test]
    fn medians_and_modes_are_places_of_the_order(n in 1usize..40, seed: u64, d in 0usize..10, skip_nan: bool) {
        let (dtype, mut rng) = (DType::ALL[d], Rng(seed));
        let a = strided(&mut rng, dtype, &[n, 3], Rng::special);
        let (m, at_m) = median(&a, 0, skip_nan).unwrap();
        let (most, at_most) = mode(&a, 0).unwrap();
        for j in 0..3 {
            let (line, order) = ordered(&a, 0, &[0, j], false);
            let is_nan = |i: &usize| line[*i].as_f64().is_nan();
            let numbers = order.iter().filter(|i| !is_nan(i)).count();
            let k = if numbers < n && !skip_nan { numbers } else { numbers.saturating_sub(1) / 2 };
            prop_assert_eq!(at(&at_m, &[0, j]).as_i64(), order[k] as i64);
            prop_assert_eq!(compare(at(&m, &[0, j]), line[order[k]]), Ordering::Equal);
            // A NaN equals nothing.
            let times = |i: usize| line.iter().filter(|x| compare(**x, line[i]).is_eq() && !is_nan(&i)).count().max(1);
            let best = order.iter().map(|&i| times(i)).max().unwrap();
            let least = order.iter().position(|&i| times(i) == best).unwrap();
            let place = at(&at_most, &[0, j]).as_i64() as usize;
            prop_assert!(compare(line[place], line[order[least]]).is_eq());
            prop_assert_eq!(compare(at(&most, &[0, j]), line[order[least]]), Ordering::Equal);
        }
    }

    #[test]
    fn rows_are_those_of_their_groups(n in 0usize..30, width in 0usize..3, seed: u64, d in 0usize..10, consecutive: bool) {
        let (dtype, mut rng) = (DType::ALL[d], Rng(seed));
        let a = strided(&mut rng, dtype, &[n, width], Rng::special);
        let found = unique(&a, consecutive).unwrap();
        let (first, inverse) = (found.first.to_vec::<i64>().unwrap(), found.inverse.to_vec::<i64>().unwrap());
        let counts = found.counts.to_vec::<i64>().unwrap();
        let row = |i: usize| (0..width).map(|j| at(&a, &[i, j])).collect::<Vec<_>>();
        let order = |i: usize, j: usize| {
            row(i).into_iter().zip(row(j)).map(|(x, y)| compare(x, y)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        };
        let is_equal = |i: usize, j: usize| order(i, j).is_eq() && row(i).iter().all(|x| !x.as_f64().is_nan());
        prop_assert_eq!(counts.iter().sum::<i64>() as usize, n);
        for (i, &k) in inverse.iter().enumerate() {
            let f = first[k as usize] as usize;
            prop_assert!(f == i || is_equal(f, i));
            prop_assert!(f <= i);
        }
        for (k, w) in first.windows(2).enumerate() {
            let (f, g) = (w[0] as usize, w[1] as usize);
            if consecutive {
                prop_assert!(f < g && !is_equal(f, g) && counts[k] as usize == g - f);
            } else {
                prop_assert!(order(f, g).is_lt() || (order(f, g).is_eq() && !is_equal(f, g)));
            }
        }
    }
}
