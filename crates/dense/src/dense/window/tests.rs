//! Against the definition of each window.

use super::*;
use crate::base::Scalar;
use crate::dense::samples::{Rng, at, check, indices, strided};

fn slides(rng: &mut Rng, rank: usize) -> (Vec<usize>, Vec<Slide>) {
    let count_padding = rng.below(2) == 0;
    let ceil = rng.below(2) == 0;
    (0..rank)
        .map(|_| {
            let (kernel, dilation) = (1 + rng.below(3), 1 + rng.below(2));
            let padding = rng.below(((kernel - 1) * dilation).div_ceil(2) + 1);
            let least = ((kernel - 1) * dilation + 1).saturating_sub(2 * padding).max(1);
            (least + rng.below(6), Slide { kernel, stride: 1 + rng.below(3), padding, dilation, ceil, count_padding })
        })
        .unzip()
}

/// Positions of a window in the padded input, `None` in the padding.
fn window(n: usize, s: &Slide, o: usize) -> Vec<Option<usize>> {
    (0..s.kernel)
        .map(|k| o * s.stride + k * s.dilation)
        .filter(|&i| i < n + 2 * s.padding)
        .map(|i| i.checked_sub(s.padding).filter(|&i| i < n))
        .collect()
}

/// The positions in the input of window `o`, and the number of elements with padding.
fn members(input: &[usize], s: &[Slide], o: &[usize]) -> (Vec<Vec<usize>>, usize) {
    let mut all = vec![vec![]];
    let mut padded = 1;
    for d in 0..input.len() {
        let w = window(input[d], &s[d], o[d]);
        padded *= w.len();
        all = all.iter().flat_map(|i: &Vec<usize>| w.iter().flatten().map(|&k| [&i[..], &[k]].concat())).collect();
    }
    (all, padded)
}

#[test]
fn windows_hold_what_they_should() {
    for seed in 0..300 {
        let mut rng = Rng(seed);
        let rank = 1 + rng.below(3);
        let (input, s) = slides(&mut rng, rank);
        let w = Windows::sliding(&input, &s).unwrap();
        let planes = rng.below(3);
        let x = strided(&mut rng, DType::F64, &[&[planes][..], &input].concat(), Rng::special);
        let out: Shape = std::iter::once(planes).chain(w.output()).collect();
        let values = |o: &[usize]| -> Vec<f64> {
            members(&input, &s, &o[1..]).0.iter().map(|i| at(&x, &[&o[..1], i].concat()).as_f64()).collect()
        };
        let max = |v: &[f64]| v.iter().fold(f64::NEG_INFINITY, |m, &x| if x > m || x.is_nan() { x } else { m });
        let (top, index) = max_pool(&x, &w).unwrap();
        check(&top, DType::F64, &out, |o| Scalar::Float(max(&values(o))));
        let flat = x.reshape(&[planes, input.iter().product()].into()).unwrap();
        for o in indices(&out) {
            if !values(&o).is_empty() {
                let Scalar::Int(i) = at(&index, &o) else { panic!("indices are integers") };
                let picked = at(&flat, &[o[0], i as usize]).as_f64();
                assert!(picked == max(&values(&o)) || picked.is_nan());
            }
        }
        if s.iter().all(|s| s.dilation == 1) {
            check_average(&x, &w, &out, |o| {
                let (v, padded) = (values(o), members(&input, &s, &o[1..]).1);
                let n = if s[0].count_padding { padded } else { v.len() };
                if v.is_empty() { 0.0 } else { v.iter().sum::<f64>() / n as f64 }
            });
        }
    }
}

fn check_average(x: &Array, w: &Windows, shape: &Shape, want: impl Fn(&[usize]) -> f64) {
    let y = avg_pool(x, w).unwrap();
    assert_eq!(y.shape(), shape);
    for o in indices(shape) {
        let (a, b) = (at(&y, &o).as_f64(), want(&o));
        assert!(a == b || (a - b).abs() < 1e-12 || (a.is_nan() && b.is_nan()), "{o:?}: {a} {b}");
    }
}

#[test]
fn the_gradient_is_the_transpose() {
    for seed in 0..100 {
        let mut rng = Rng(seed);
        let rank = 1 + rng.below(3);
        let (input, s) = slides(&mut rng, rank);
        let s: Vec<Slide> =
            s.into_iter().map(|s| Slide { dilation: 1, padding: s.padding.min(s.kernel / 2), ..s }).collect();
        let w = if seed % 2 == 0 {
            Windows::sliding(&input, &s).unwrap()
        } else {
            Windows::adaptive(&input, &[3, 1, 4][..rank]).unwrap()
        };
        let x = strided(&mut rng, DType::F64, &[&[2, 1][..], &input].concat(), Rng::small);
        let y = avg_pool(&x, &w).unwrap();
        let g = strided(&mut rng, DType::F64, y.shape(), Rng::small);
        let dot = |a: &Array, b: &Array| -> f64 {
            a.to_vec::<f64>().unwrap().iter().zip(b.to_vec::<f64>().unwrap()).map(|(x, y)| x * y).sum()
        };
        let (a, b) = (dot(&y, &g), dot(&x, &avg_pool_grad(&g, &w).unwrap()));
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
}

#[test]
fn adaptive_windows_cover_the_input() {
    let w = Windows::adaptive(&[7], &[3]).unwrap();
    let spans: Vec<(usize, usize)> = w.spans[2].iter().map(|s| (s.start, s.end)).collect();
    assert_eq!(spans, [(0, 3), (2, 5), (4, 7)]);
}
