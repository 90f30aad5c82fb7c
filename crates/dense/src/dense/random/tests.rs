//! Properties of draws: ranges, moments, independence of threads and instruction sets, errors.

use super::*;
use crate::base::{DType, ErrorKind, Result, Shape};
use crate::dense::{Array, threads};

fn rng(seed: u64) -> Generator {
    Generator::new(seed)
}

fn values(a: Array) -> Vec<f64> {
    a.to_vec::<f64>().unwrap()
}

fn mean_and_variance(x: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    (mean, x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n)
}

/// Mean and variance within six standard errors (a bit more for the variance, whose error depends on the tails).
fn check_moments(what: &str, x: &[f64], mean: f64, variance: f64) {
    let (m, v) = mean_and_variance(x);
    let error = (variance / x.len() as f64).sqrt();
    assert!((m - mean).abs() < 6.0 * error, "{what}: mean {m}, expected {mean} within {error}");
    assert!((v / variance - 1.0).abs() < 0.05, "{what}: variance {v}, expected {variance}");
}

const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];
const N: usize = 100_000;

fn shape() -> Shape {
    Shape::from([N])
}

#[test]
fn uniform_stays_below_the_upper_end_and_has_the_right_moments() {
    for d in FLOATS {
        let x = values(uniform(&rng(1), d, &shape(), -1.0, 3.0).unwrap());
        assert!(x.iter().all(|&v| (-1.0..3.0).contains(&v)), "{d}");
        check_moments(d.name(), &x, 1.0 - if d == DType::BF16 { 2.0 / 256.0 } else { 0.0 }, 16.0 / 12.0);
        // Rounding up to the end would show here: the interval is a few units in the last place long.
        let (low, high) = if d.is_half() { (100.0, 101.0) } else { (1e6, 1e6 + 1.0) };
        let x = values(uniform(&rng(2), d, &shape(), low, high).unwrap());
        assert!(x.iter().all(|&v| (low..high).contains(&v)), "{d}");
        let x = values(uniform(&rng(2), d, &Shape::from([70]), 2.5, 2.5).unwrap());
        assert!(x.iter().all(|&v| v == 2.5));
    }
    assert!(uniform(&rng(1), DType::F32, &shape(), 0.0, -0.0).is_ok());
}

#[test]
fn normal_has_the_right_moments_and_tails() {
    for d in FLOATS {
        let x = values(normal(&rng(3), d, &shape(), 0.5, 2.0).unwrap());
        check_moments(d.name(), &x, 0.5, 4.0);
    }
    for d in [DType::F32, DType::F64] {
        let x = values(normal(&rng(4), d, &Shape::from([1000, 1000]), 0.0, 1.0).unwrap());
        check_moments(d.name(), &x, 0.0, 1.0);
        let fourth = x.iter().map(|v| v.powi(4)).sum::<f64>() / 1e6;
        assert!((fourth - 3.0).abs() < 0.06, "{fourth}");
        for (bound, expected) in [(1.0, 0.317_310_5), (2.0, 0.045_500_3), (3.0, 0.002_699_8)] {
            let share = x.iter().filter(|v| v.abs() > bound).count() as f64 / 1e6;
            assert!((share - expected).abs() < 6.0 * (expected / 1e6f64).sqrt(), "{bound}: {share}");
        }
        // The two of a pair, and neighbours, are uncorrelated.
        for lag in [1, 16, 64] {
            let r = x.iter().zip(&x[lag..]).map(|(a, b)| a * b).sum::<f64>() / 1e6;
            assert!(r.abs() < 0.006, "lag {lag}: {r}");
        }
    }
}

#[test]
fn complex_draws_have_independent_parts() {
    for d in [DType::C64, DType::C128] {
        let z = normal(&rng(5), d, &shape(), 3.0, 2.0).unwrap();
        assert_eq!(z.shape(), &shape());
        let z = z.to_vec::<num_complex::Complex<f64>>().unwrap();
        let re: Vec<f64> = z.iter().map(|z| z.re).collect();
        let im: Vec<f64> = z.iter().map(|z| z.im).collect();
        check_moments("re", &re, 3.0, 2.0);
        check_moments("im", &im, 0.0, 2.0);
        let r = re.iter().zip(&im).map(|(a, b)| (a - 3.0) * b).sum::<f64>() / N as f64;
        assert!(r.abs() < 0.05, "{r}");
    }
}

#[test]
fn other_continuous_distributions() {
    for d in [DType::F32, DType::F64] {
        let x = values(exponential(&rng(6), d, &shape(), 4.0).unwrap());
        assert!(x.iter().all(|&v| v > 0.0));
        check_moments("exponential", &x, 0.25, 1.0 / 16.0);
        let x = values(log_normal(&rng(7), d, &shape(), 0.2, 0.3).unwrap());
        let mean = (0.2f64 + 0.045).exp();
        check_moments("log_normal", &x, mean, (0.09f64.exp() - 1.0) * mean * mean);
        let mut x = values(cauchy(&rng(8), d, &shape(), 1.0, 2.0).unwrap());
        x.sort_by(f64::total_cmp);
        for (share, quantile) in [(0.25, -1.0), (0.5, 1.0), (0.75, 3.0)] {
            assert!((x[(share * N as f64) as usize] - quantile).abs() < 0.1);
        }
    }
}

#[test]
fn integers_cover_their_range_evenly() {
    for d in [DType::U8, DType::I8, DType::I16, DType::I32, DType::I64, DType::F32, DType::F16] {
        let x = values(randint(&rng(9), d, &shape(), 3, 13).unwrap());
        for k in 3..13 {
            let count = x.iter().filter(|&&v| v == f64::from(k)).count() as f64;
            assert!((count - 1e4).abs() < 600.0, "{d} {k}: {count}");
        }
        assert!(x.iter().all(|&v| (3.0..13.0).contains(&v)));
    }
    let x = values(randint(&rng(10), DType::Bool, &shape(), 0, 2).unwrap());
    check_moments("bool", &x, 0.5, 0.25);
    let x = values(randint(&rng(11), DType::I64, &shape(), -1_000_000, 2_000_000).unwrap());
    check_moments("wide", &x, 5e5 - 0.5, 9e12 / 12.0);
    let x = integers(&rng(12), DType::I64, &shape(), i64::MIN, i64::MAX).unwrap().to_vec::<i64>().unwrap();
    for bit in 0..64 {
        let ones = x.iter().filter(|&&v| v >> bit & 1 == 1).count();
        assert!(ones.abs_diff(N / 2) < 1000, "bit {bit}: {ones}");
    }
    assert_eq!(values(randint(&rng(1), DType::I64, &Shape::scalar(), 7, 8).unwrap()), [7.0]);
}

#[test]
fn permutations_hold_each_index_once() {
    for (n, d) in [(0, DType::I64), (1, DType::I32), (257, DType::I64), (100, DType::I8), (2048, DType::F16)] {
        let p = randperm(&rng(13), n, d).unwrap();
        assert_eq!(p.dtype(), d);
        let mut p = values(p);
        p.sort_by(f64::total_cmp);
        assert!(p.iter().enumerate().all(|(i, &v)| v == i as f64));
        assert_eq!(p.len(), n as usize);
    }
    // Each of the six orders of three is as likely as the others.
    let g = rng(14);
    let mut counts = std::collections::HashMap::new();
    for _ in 0..6000 {
        *counts.entry(randperm(&g, 3, DType::I64).unwrap().to_vec::<i64>().unwrap()).or_insert(0) += 1;
    }
    assert!(counts.len() == 6 && counts.values().all(|&c: &i32| (c - 1000).abs() < 200), "{counts:?}");
}

#[test]
fn bernoulli_follows_each_probability() {
    for d in FLOATS {
        let p = uniform(&rng(15), d, &shape(), 0.0, 1.0).unwrap();
        let x = bernoulli(&rng(16), &p).unwrap();
        assert_eq!(x.dtype(), d);
        let (p, x) = (values(p), values(x));
        let low: Vec<f64> = p.iter().zip(&x).filter(|(p, _)| **p < 0.25).map(|(_, x)| *x).collect();
        assert!((mean_and_variance(&low).0 - 0.125).abs() < 0.02);
        let ends = Array::from_slice([2, 1], &[0.0, 1.0]).unwrap().expand(&[2, 500].into()).unwrap();
        let x = values(bernoulli(&rng(17), &crate::dense::copy::cast(&ends, d).unwrap()).unwrap());
        assert!(x[..500].iter().all(|&v| v == 0.0) && x[500..].iter().all(|&v| v == 1.0));
    }
    for d in DType::ALL {
        let x = values(bernoulli_with(&rng(18), d, &shape(), 0.3).unwrap());
        check_moments(d.name(), &x, 0.3, 0.21);
        assert!(values(bernoulli_with(&rng(18), d, &[99].into(), 1.0).unwrap()).iter().all(|&v| v == 1.0));
    }
}

#[test]
fn counts_have_the_right_moments() {
    let filled = |v: f64| Array::full(DType::F64, shape(), crate::base::Scalar::Float(v)).unwrap();
    for rate in [0.3, 4.0, 9.99, 10.0, 35.0, 1e4] {
        check_moments("poisson", &values(poisson(&rng(19), &filled(rate)).unwrap()), rate, rate);
    }
    assert_eq!(values(poisson(&rng(19), &filled(0.0)).unwrap())[0], 0.0);
    for (n, p) in [(10.0, 0.3), (10.0, 0.9), (100.0, 0.4), (1000.0, 0.02), (1e5, 0.75)] {
        let x = values(binomial(&rng(20), &filled(n), &filled(p)).unwrap());
        assert!(x.iter().all(|&v| (0.0..=n).contains(&v)));
        check_moments("binomial", &x, n * p, n * p * (1.0 - p));
    }
    for (n, p, want) in [(5.5, 1.0, 5.0), (5.0, 1.5, 5.0), (-1.0, 0.5, 0.0), (5.0, -1.0, 0.0)] {
        assert_eq!(values(binomial(&rng(20), &filled(n), &filled(p)).unwrap())[0], want);
    }
    let endless = filled(f64::INFINITY);
    for endless in [poisson(&rng(19), &endless), standard_gamma(&rng(19), &endless)] {
        assert_eq!(values(endless.unwrap())[0], f64::INFINITY);
    }
    let unknown = binomial(&rng(20), &filled(5.0), &filled(f64::NAN)).unwrap();
    assert!(values(unknown).iter().all(|v| v.is_nan()));
    for p in [0.05, 0.5, 0.9] {
        let x = values(geometric(&rng(21), DType::I64, &shape(), p).unwrap());
        assert!(x.iter().all(|&v| v >= 1.0));
        check_moments("geometric", &x, 1.0 / p, (1.0 - p) / (p * p));
    }
    for alpha in [0.2, 1.0, 7.5] {
        check_moments("gamma", &values(standard_gamma(&rng(22), &filled(alpha)).unwrap()), alpha, alpha);
    }
}

#[test]
fn categories_come_with_their_weights() {
    let w = Array::from_slice([2, 4], &[1.0f32, 0.0, 3.0, 0.0, 0.0, 5.0, 5.0, 0.0]).unwrap();
    let x = multinomial(&rng(23), &w, N as i64, true).unwrap();
    assert_eq!((x.dtype(), &x.shape()[..]), (DType::I64, &[2, N][..]));
    let x = values(x);
    let share = |row: usize, k: f64| x[row * N..(row + 1) * N].iter().filter(|&&v| v == k).count() as f64 / N as f64;
    assert!((share(0, 0.0) - 0.25).abs() < 0.01 && (share(0, 2.0) - 0.75).abs() < 0.01);
    assert!((share(1, 1.0) - 0.5).abs() < 0.01 && (share(1, 2.0) - 0.5).abs() < 0.01);
    // Without replacement: the first is drawn by weight, the second is the other one.
    let g = rng(24);
    let mut first = 0;
    for _ in 0..4000 {
        let x = values(multinomial(&g, &w, 2, false).unwrap());
        assert!(x[0] + x[1] == 2.0 && x[2] + x[3] == 3.0);
        first += usize::from(x[0] == 0.0);
    }
    assert!(first.abs_diff(1000) < 170, "{first}");
    assert_eq!(&multinomial(&g, &w.reshape(&[8].into()).unwrap(), 1, true).unwrap().shape()[..], &[1]);
}

/// PyTorch's numbers from the seed 1234.
#[test]
fn numbers_are_those_of_pytorch() {
    let start = |f: &dyn Fn(&Generator) -> Result<Array>| values(f(&rng(1234)).unwrap());
    let n = Shape::from([4]);
    let close = |a: Vec<f64>, b: [f64; 4]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6 * (1.0 + b.abs()));
    let u = start(&|g| uniform(g, DType::F32, &n, 0.0, 1.0));
    assert!(close(u, [0.028_979_242, 0.401_898_563, 0.259_844_184, 0.366_641_343]));
    let few = start(&|g| normal(g, DType::F32, &n, 0.0, 1.0));
    assert!(close(few, [0.046_130_463, 0.402_402_818, -1.011_529_088, 0.216_738_239]));
    let many = start(&|g| normal(g, DType::F32, &[20].into(), 0.0, 1.0));
    assert!(close(many, [-0.111_718_565, -0.496_590_108, 0.163_073_704, -0.881_687_760]));
    let waits = start(&|g| exponential(g, DType::F32, &n, 1.0));
    assert!(close(waits, [0.263_749_659, 0.082_028_024, 0.628_120_303, 0.535_083_294]));
    let g = rng(1234);
    let order = values(randperm(&g, 10, DType::I64).unwrap());
    assert_eq!(order.len(), 10);
    // A permutation takes a word for each element but the last.
    let other = rng(1234);
    uniform(&other, DType::F32, &[9].into(), 0.0, 1.0).unwrap();
    assert_eq!(g.position(), other.position());
}

/// All draws, as bits.
fn all_draws(seed: u64) -> Vec<Vec<u64>> {
    let (g, s) = (rng(seed), Shape::from([3, 33_000]));
    let p = uniform(&g, DType::F32, &s, 0.0, 1.0).unwrap();
    let draws = [
        normal(&g, DType::F32, &s, 0.0, 1.0),
        normal(&g, DType::F64, &s, 0.0, 1.0),
        normal(&g, DType::BF16, &s, 0.0, 1.0),
        uniform(&g, DType::C64, &s, 0.0, 1.0),
        log_normal(&g, DType::F64, &s, 0.0, 1.0),
        cauchy(&g, DType::F32, &s, 0.0, 1.0),
        exponential(&g, DType::F64, &s, 1.0),
        randint(&g, DType::I64, &s, 0, 10),
        randint(&g, DType::I64, &s, 0, 1 << 40),
        randperm(&g, 70_000, DType::I64),
        bernoulli(&g, &p),
        bernoulli_with(&g, DType::U8, &s, 0.5),
        geometric(&g, DType::I32, &s, 0.1),
        poisson(&g, &p),
        standard_gamma(&g, &p.reshape(&[99_000].into()).unwrap().slice(0, 0, 98, 1).unwrap()),
        multinomial(&g, &p, 50, true),
        multinomial(&g, &p, 50, false),
        Ok(p.clone()),
    ];
    draws.into_iter().map(|a| values(a.unwrap()).into_iter().map(f64::to_bits).collect()).collect()
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let _turn = threads::test_turn();
    threads::set_num_threads(1).unwrap();
    let one = all_draws(25);
    threads::set_num_threads(2).unwrap();
    assert!(one == all_draws(25));
    threads::set_num_threads(5).unwrap();
    assert!(one == all_draws(25));
    assert!(one != all_draws(26));
    threads::set_num_threads(2).unwrap();
}

#[test]
fn generators_remember_seed_and_position() {
    let g = rng(28);
    let draw = |g: &Generator| values(normal(g, DType::F32, &[5].into(), 0.0, 1.0).unwrap());
    let first = draw(&g);
    let state = g.get_state();
    let second = draw(&g);
    assert_ne!(first, second);
    g.set_state(&state).unwrap();
    assert_eq!(draw(&g), second);
    let copy = g.clone_state();
    assert_eq!(draw(&copy), draw(&g));
    g.manual_seed(28);
    assert_eq!((draw(&g), g.initial_seed()), (first, 28));
    let seed = g.seed();
    assert_eq!(g.initial_seed(), seed);
    assert!(seed < 1 << 53 && seed != g.seed());
    assert_eq!(Generator::default().initial_seed(), 67_280_421_310_721);
    // An empty draw uses nothing.
    let before = g.position();
    uniform(&g, DType::F64, &[0, 7].into(), 0.0, 1.0).unwrap();
    assert_eq!(g.position(), before);
    draw(&g);
    assert_ne!(g.position(), before);
    g.restore(&before);
    assert_eq!(g.position(), before);
    for bad in [0, 16, 5055, 5057] {
        assert!(g.set_state(&vec![0; bad]).unwrap_err().message().contains("RNG state is wrong size"));
    }
    // Positions that no generator has: more words left than there are, and none but zeros.
    draw(&g);
    for (at, byte) in [(8, 0xff), (9, 0xff), (16, 0xff), (23, 0xff)] {
        let mut state = g.get_state();
        state[at] = byte;
        assert!(g.set_state(&state).is_err_and(|e| e.message().contains("RNG state is invalid")));
    }
    assert!(g.set_state(&vec![0; 5056]).unwrap_err().message().contains("RNG state is invalid"));
}

#[test]
fn errors_name_the_argument_and_leave_the_generator_alone() {
    let (g, s) = (rng(29), Shape::from([3]));
    let before = g.position();
    let probs = |v: &[f32]| Array::from_slice([v.len()], v).unwrap();
    let cases = [
        (randint(&g, DType::I64, &s, 5, 5), "expects 'from' to be less than 'to', but got from=5 >= to=5"),
        (randint(&g, DType::U8, &s, -1, 5), "from is out of bounds for uint8"),
        (randint(&g, DType::I8, &s, 0, 129), "to - 1 is out of bounds for int8"),
        (uniform(&g, DType::F32, &s, 1.0, 0.0), "found from=1 > to=0"),
        (uniform(&g, DType::F32, &s, f64::NAN, 0.0), "[from, to) range"),
        (uniform(&g, DType::F32, &s, -3e38, 3e38), "expects to-from <="),
        (normal(&g, DType::F32, &s, 0.0, -1.0), "expects std >= 0.0, but found std -1"),
        (exponential(&g, DType::F32, &s, 0.0), "expects lambda > 0.0, but found lambda=0"),
        (cauchy(&g, DType::F32, &s, 0.0, -1.0), "expects sigma > 0.0, but found sigma=-1"),
        (log_normal(&g, DType::F32, &s, 0.0, 0.0), "expects std > 0.0, but found std=0"),
        (geometric(&g, DType::F32, &s, 1.0), "expects p to be in (0, 1), but got p=1"),
        (bernoulli_with(&g, DType::F32, &s, 1.5), "expects p to be in [0, 1], but got p=1.5"),
        (bernoulli(&g, &probs(&[0.5, -0.1])), "Expected p_in >= 0 && p_in <= 1"),
        (bernoulli(&g, &probs(&[f32::NAN])), "Expected p_in >= 0 && p_in <= 1"),
        (randperm(&g, -1, DType::I64), "must be non-negative, got -1"),
        (randperm(&g, 129, DType::I8), "n is too large for result tensor type int8"),
        (poisson(&g, &probs(&[-1.0])), "invalid Poisson rate"),
        (multinomial(&g, &probs(&[0.5, 0.5]), 0, true), "cannot sample n_sample <= 0 samples"),
        (multinomial(&g, &probs(&[0.5, 0.5]), 3, false), "cannot sample n_sample > prob_dist.size(-1) samples"),
        (multinomial(&g, &probs(&[0.0, 0.0]), 1, true), "sum of probabilities <= 0"),
        (multinomial(&g, &probs(&[1.0, f32::INFINITY]), 1, true), "either `inf`, `nan` or element < 0"),
        (multinomial(&g, &probs(&[1.0, 0.0]), 2, false), "not enough non-negative category to sample"),
        (multinomial(&g, &probs(&[1.0]).reshape(&[].into()).unwrap(), 2, false), "prob_dist must be 1 or 2 dim"),
    ];
    for (result, text) in cases {
        let e = result.unwrap_err();
        assert!(e.message().contains(text), "{e}");
        assert_eq!(e.kind(), ErrorKind::Runtime, "{e}");
    }
    for d in [DType::Bool, DType::I64] {
        for r in [uniform(&g, d, &s, 0.0, 1.0), normal(&g, d, &s, 0.0, 1.0), cauchy(&g, d, &s, 0.0, 1.0)] {
            let e = r.unwrap_err();
            assert!(e.message().contains(&format!("not implemented for dtype {d}")), "{e}");
            assert_eq!(e.kind(), ErrorKind::NotImplemented);
        }
    }
    assert_eq!(g.position(), before);
}
