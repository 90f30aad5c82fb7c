//! Against sums over all indices.

use super::*;
use crate::base::Scalar;
use crate::base::Shape;
use crate::dense::samples::{Rng, at, check, indices, strided};

struct Case {
    p: ConvParams,
    n: usize,
    c: usize,
    o: usize,
}

fn case(rng: &mut Rng) -> Case {
    let rank = 1 + rng.below(3);
    let groups = rng.pick(&[1, 1, 2, 3]);
    let mut sizes: [Vec<usize>; 5] = Default::default();
    for _ in 0..rank {
        let (kernel, dilation, padding) = (1 + rng.below(3), 1 + rng.below(2), rng.below(3));
        let least = ((kernel - 1) * dilation + 1).saturating_sub(2 * padding).max(1);
        let all = [least + rng.below(5), kernel, 1 + rng.below(3), padding, dilation];
        sizes.iter_mut().zip(all).for_each(|(v, x)| v.push(x));
    }
    let [input, kernel, stride, padding, dilation] = &sizes;
    let p = ConvParams::new(input, kernel, stride, padding, dilation, groups).unwrap();
    Case { p, n: rng.below(3), c: groups * (1 + rng.below(3)), o: groups * (1 + rng.below(3)) }
}

/// Calls `f(x index, w index, y index)` for every product that a convolution sums.
fn terms(k: &Case, mut f: impl FnMut(&[usize], &[usize], &[usize])) {
    let (p, lead) = (&k.p, 3 - k.p.rank);
    let (cg, og) = (k.c / p.groups, k.o / p.groups);
    for y in indices(&p.y_shape(k.n, k.o)) {
        for w in indices(&p.w_shape(1, cg)) {
            let place: Vec<isize> = (0..p.rank)
                .map(|d| {
                    (y[d + 2] * p.stride[lead + d] + w[d + 2] * p.dilation[lead + d]) as isize
                        - p.padding[lead + d] as isize
                })
                .collect();
            if place.iter().enumerate().any(|(d, &i)| i < 0 || i as usize >= p.input[lead + d]) {
                continue;
            }
            let x: Vec<usize> =
                [y[0], y[1] / og * cg + w[1]].into_iter().chain(place.iter().map(|&i| i as usize)).collect();
            f(&x, &[&[y[1]], &w[1..]].concat(), &y);
        }
    }
}

fn flat(shape: &Shape, index: &[usize]) -> usize {
    index.iter().zip(&shape[..]).fold(0, |at, (&i, &d)| at * d + i)
}

fn run(seed: u64, dtype: DType) {
    let mut rng = Rng(seed);
    let k = case(&mut rng);
    let (xs, ws, ys) = (k.p.x_shape(k.n, k.c), k.p.w_shape(k.o, k.c / k.p.groups), k.p.y_shape(k.n, k.o));
    let x = strided(&mut rng, dtype, &xs, Rng::small);
    let w = strided(&mut rng, dtype, &ws, Rng::small);
    let dy = strided(&mut rng, dtype, &ys, Rng::small);
    let mut sums = [vec![0.0; ys.numel()], vec![0.0; xs.numel()], vec![0.0; ws.numel()]];
    terms(&k, |i, j, o| {
        let (vx, vw, vy) = (at(&x, i).as_f64(), at(&w, j).as_f64(), at(&dy, o).as_f64());
        sums[0][flat(&ys, o)] += vx * vw;
        sums[1][flat(&xs, i)] += vy * vw;
        sums[2][flat(&ws, j)] += vx * vy;
    });
    let value = |x: f64| if dtype.is_integer() { Scalar::Int(x as i64) } else { Scalar::Float(x) };
    check(&forward(&x, &w, &k.p).unwrap(), dtype, &ys, |i| value(sums[0][flat(&ys, i)]));
    check(&input_grad(&dy, &w, &k.p).unwrap(), dtype, &xs, |i| value(sums[1][flat(&xs, i)]));
    check(&weight_grad(&x, &dy, &k.p).unwrap(), dtype, &ws, |i| value(sums[2][flat(&ws, i)]));
}

#[test]
fn random_convolutions_equal_the_sums() {
    for seed in 0..150 {
        for dtype in [DType::F32, DType::F64, DType::I64] {
            run(seed, dtype);
        }
    }
}

#[test]
fn large_images_run_in_blocks() {
    let p = ConvParams::new(&[70, 50], &[3, 5], &[1, 1], &[1, 2], &[1, 1], 2).unwrap();
    let mut rng = Rng(1);
    let x = strided(&mut rng, DType::F64, &[2, 60, 70, 50], Rng::small);
    let w = strided(&mut rng, DType::F64, &[4, 30, 3, 5], Rng::small);
    let dy = strided(&mut rng, DType::F64, &[2, 4, 70, 50], Rng::small);
    let dot = |a: &Array, b: &Array| -> f64 {
        a.to_vec::<f64>().unwrap().iter().zip(b.to_vec::<f64>().unwrap()).map(|(x, y)| x * y).sum()
    };
    let y = dot(&forward(&x, &w, &p).unwrap(), &dy);
    assert_ne!(y, 0.0);
    // Small integers: the sums are exact, so transposes agree to the last bit.
    assert_eq!(y, dot(&input_grad(&dy, &w, &p).unwrap(), &x));
    assert_eq!(y, dot(&weight_grad(&x, &dy, &p).unwrap(), &w));
}

#[test]
fn kernels_that_do_not_fit_are_errors() {
    let e = ConvParams::new(&[2, 2], &[3, 3], &[1, 1], &[0, 0], &[1, 1], 1).unwrap_err();
    assert!(e.message().contains("Kernel size can't be greater than actual input size"), "{e}");
    assert!(ConvParams::new(&[2], &[3], &[1], &[usize::MAX / 2 + 1], &[1], 1).is_err());
}
