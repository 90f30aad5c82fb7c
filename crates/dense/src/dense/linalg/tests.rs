use super::*;
use crate::base::{DType, Element, ErrorKind, Shape};
use crate::dense::Array;
use crate::dense::copy;
use num_complex::Complex;

type C = Complex<f64>;

/// A matrix in double precision for checking.
#[derive(Clone, Debug)]
struct M {
    m: usize,
    n: usize,
    x: Vec<C>,
}

impl M {
    fn new(m: usize, n: usize, mut f: impl FnMut(usize, usize) -> C) -> M {
        M { m, n, x: (0..m * n).map(|i| f(i / n, i % n)).collect() }
    }
    fn at(&self, i: usize, j: usize) -> C {
        self.x[i * self.n + j]
    }
    fn dot(&self, other: &M) -> M {
        assert_eq!(self.n, other.m);
        M::new(self.m, other.n, |i, j| (0..self.n).map(|p| self.at(i, p) * other.at(p, j)).sum())
    }
    fn adjoint(&self) -> M {
        M::new(self.n, self.m, |i, j| self.at(j, i).conj())
    }
    fn eye(n: usize) -> M {
        M::new(n, n, |i, j| C::new(f64::from(u8::from(i == j)), 0.0))
    }
    fn scale(&self, s: f64) -> M {
        M::new(self.m, self.n, |i, j| self.at(i, j) * s)
    }
    fn max(&self) -> f64 {
        self.x.iter().map(|z| z.re.abs().max(z.im.abs())).fold(0.0, f64::max)
    }
    /// The largest difference; infinite where one is not finite.
    fn gap(&self, other: &M) -> f64 {
        assert_eq!((self.m, self.n), (other.m, other.n));
        let d = |(a, b): (&C, &C)| if (a - b).is_finite() { (a - b).norm() } else { f64::INFINITY };
        self.x.iter().zip(&other.x).map(d).fold(0.0, f64::max)
    }
    fn array(&self, dtype: DType) -> Array {
        copy::cast(&Array::from_slice([self.m, self.n], &self.x).unwrap(), dtype).unwrap()
    }
}

/// Matrix number `t` of a batch (a vector is a column).
fn item(a: &Array, t: usize) -> M {
    let (m, n) = (a.shape()[a.rank() - 2], a.shape()[a.rank() - 1]);
    let x = a.to_vec::<C>().unwrap();
    M { m, n, x: x[t * m * n..(t + 1) * m * n].to_vec() }
}

fn random(m: usize, n: usize, complex: bool, seed: u64) -> M {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f64 / (1 << 23) as f64 - 1.0
    };
    M::new(m, n, |_, _| C::new(next(), if complex { next() } else { 0.0 }))
}

const DTYPES: [DType; 4] = [DType::F32, DType::F64, DType::C64, DType::C128];

fn eps(dtype: DType) -> f64 {
    if dtype.real() == DType::F32 { 1.2e-7 } else { 2.3e-16 }
}

/// The matrix as its dtype stores it.
fn stored(a: &M, dtype: DType) -> (Array, M) {
    let array = a.array(dtype);
    let back = item(&array, 0);
    (array, back)
}

const SIZES: [usize; 10] = [1, 2, 3, 7, 8, 16, 17, 33, 70, 130];

#[test]
fn cholesky_reproduces_positive_definite_matrices() {
    for dtype in DTYPES {
        for n in SIZES {
            let b = random(n, n, dtype.is_complex(), n as u64);
            let a = b.dot(&b.adjoint());
            let a = M::new(n, n, |i, j| a.at(i, j) + if i == j { C::new(0.5, 0.0) } else { C::ZERO });
            let (array, a) = stored(&a, dtype);
            for upper in [false, true] {
                let (factor, info) = cholesky(&array, upper).unwrap();
                assert_eq!(info.to_vec::<i32>().unwrap(), [0]);
                let f = item(&factor, 0);
                let other = |i: usize, j: usize| if upper { j < i } else { j > i };
                assert!((0..n * n).all(|x| !other(x / n, x % n) || f.x[x] == C::ZERO));
                let back = if upper { f.adjoint().dot(&f) } else { f.dot(&f.adjoint()) };
                assert!(back.gap(&a) < 10.0 * n as f64 * eps(dtype) * a.max(), "{dtype} {n} {upper}");
            }
        }
    }
}

#[test]
fn cholesky_reads_one_triangle_and_names_the_minor() {
    let a = Array::from_slice([2, 2], &[4.0, f64::NAN, 2.0, 5.0]).unwrap();
    let (l, info) = cholesky(&a, false).unwrap();
    assert_eq!((l.to_vec::<f64>().unwrap(), info.to_vec::<i32>().unwrap()), (vec![2.0, 0.0, 1.0, 2.0], vec![0]));
    assert_eq!(cholesky(&a, true).unwrap().1.to_vec::<i32>().unwrap(), [2]);
    let mut big = M::eye(40);
    big.x[20 * 41] = C::new(-1.0, 0.0);
    assert_eq!(cholesky(&big.array(DType::F32), false).unwrap().1.to_vec::<i32>().unwrap(), [21]);
}

#[test]
fn lu_reproduces_any_shape_and_solves() {
    for dtype in DTYPES {
        for (m, n) in SIZES.iter().flat_map(|&m| [(m, m), (m, m / 2 + 1), (m / 3 + 1, m)]) {
            let (array, a) = stored(&random(m, n, dtype.is_complex(), (m * 7 + n) as u64), dtype);
            let (packed, pivots, info) = lu(&array).unwrap();
            assert_eq!(info.to_vec::<i32>().unwrap(), [0]);
            let (f, k) = (item(&packed, 0), m.min(n));
            let one = C::new(1.0, 0.0);
            let l = M::new(m, k, |i, j| {
                if i == j {
                    one
                } else if i > j {
                    f.at(i, j)
                } else {
                    C::ZERO
                }
            });
            let u = M::new(k, n, |i, j| if i <= j { f.at(i, j) } else { C::ZERO });
            let p = pivots_to_permutation(&pivots, m).unwrap().to_vec::<i64>().unwrap();
            let permuted = M::new(m, n, |i, j| a.at(p[i] as usize, j));
            assert!(l.dot(&u).gap(&permuted) < 10.0 * k as f64 * eps(dtype), "{dtype} {m}x{n}");
            assert!(l.x.iter().all(|z| z.norm() <= 1.5));
            if m == n {
                let b = random(n, 3, dtype.is_complex(), 5);
                let x = item(&lu_solve(&packed, &pivots, &b.array(dtype), false).unwrap(), 0);
                let size = 20.0 * n as f64 * eps(dtype) * (1.0 + x.max());
                assert!(a.dot(&x).gap(&b) < size * n as f64, "{dtype} {n}");
                let x = item(&lu_solve(&packed, &pivots, &b.array(dtype), true).unwrap(), 0);
                assert!(a.adjoint().dot(&x).gap(&b) < 20.0 * (n * n) as f64 * eps(dtype) * (1.0 + x.max()));
            }
        }
    }
}

#[test]
fn solve_and_inverse_have_small_residuals() {
    for dtype in DTYPES {
        for n in SIZES {
            let (array, a) = stored(&random(n, n, dtype.is_complex(), n as u64 + 90), dtype);
            for k in [1, 2, 9] {
                let b = random(n, k, dtype.is_complex(), 4);
                let x = item(&solve(&array, &b.array(dtype)).unwrap(), 0);
                assert!(a.dot(&x).gap(&b) < 20.0 * (n * n) as f64 * eps(dtype) * (1.0 + x.max()), "{dtype} {n} {k}");
            }
            let x = item(&inv(&array).unwrap(), 0);
            assert!(a.dot(&x).gap(&M::eye(n)) < 20.0 * (n * n) as f64 * eps(dtype) * (1.0 + x.max()), "{dtype} {n}");
        }
    }
}

#[test]
fn singular_matrices_are_reported_and_nan_stays_nan() {
    let a = Array::from_slice([2, 2, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 4.0]).unwrap();
    let e = solve(&a, &a).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::LinAlg);
    assert_eq!(e.message(), "linalg.solve: (Batch element 1): The solver failed because the input matrix is singular.");
    let e = inv(&a.slice(0, 1, 1, 1).unwrap().reshape(&[2, 2].into()).unwrap()).unwrap_err();
    assert!(e.message().starts_with("linalg.inv: The diagonal element 2 is zero"), "{e}");
    let nan = Array::from_slice([2, 2], &[f64::NAN, 1.0, 1.0, 2.0]).unwrap();
    assert!(solve(&nan, &nan).unwrap().to_vec::<f64>().unwrap().iter().all(|x| x.is_nan()));
    assert_eq!(pivot_sign::<f64>(&lu(&a).unwrap().1).unwrap().to_vec::<f64>().unwrap(), [1.0, -1.0]);
}

#[test]
fn triangular_systems_on_both_sides() {
    for dtype in DTYPES {
        for n in [1, 5, 16, 40] {
            for case in 0..8 {
                let (upper, left, unit) = (case & 1 == 1, case & 2 == 2, case & 4 == 4);
                let r = random(n, n, dtype.is_complex(), case + 3);
                let full = M::new(n, n, |i, j| if i == j { C::new(2.0, 0.0) } else { r.at(i, j) / n as f64 });
                let b = if left { random(n, 3, dtype.is_complex(), 9) } else { random(3, n, dtype.is_complex(), 9) };
                let x = item(&solve_triangular(&full.array(dtype), &b.array(dtype), upper, left, unit).unwrap(), 0);
                let t = M::new(n, n, |i, j| match (i == j, (j > i) == upper) {
                    (true, _) => {
                        if unit {
                            C::new(1.0, 0.0)
                        } else {
                            full.at(i, j)
                        }
                    }
                    (_, true) => full.at(i, j),
                    _ => C::ZERO,
                });
                let back = if left { t.dot(&x) } else { x.dot(&t) };
                assert!(back.gap(&b) < 100.0 * n as f64 * eps(dtype), "{dtype} {n} {case}");
            }
        }
    }
}

fn assert_orthonormal(q: &M, dtype: DType, what: &str) {
    let gap = q.adjoint().dot(q).gap(&M::eye(q.n));
    assert!(gap < 20.0 * eps(dtype) * q.m as f64, "{what}: {gap:e}");
}

#[test]
fn qr_reproduces_every_shape() {
    for dtype in DTYPES {
        for (m, n) in [(1, 1), (8, 8), (3, 5), (5, 3), (40, 16), (33, 33), (20, 70), (100, 37), (1, 4), (4, 1)] {
            for complete in [false, true] {
                let (array, a) = stored(&random(m, n, dtype.is_complex(), (m + n) as u64), dtype);
                let (q, r) = qr(&array, complete).unwrap();
                let (q, r) = (item(&q, 0), item(&r, 0));
                assert_eq!(q.n, if complete { m } else { m.min(n) });
                assert_orthonormal(&q, dtype, "q");
                assert!(q.dot(&r).gap(&a) < 10.0 * eps(dtype) * (m + n) as f64, "{dtype} {m}x{n}");
                assert!((0..r.m * n).all(|x| x % n >= x / n || r.x[x] == C::ZERO));
                assert!((0..r.m.min(n)).all(|i| r.at(i, i).im == 0.0));
            }
        }
    }
}

/// Matrices that decompositions stumble over.
fn structured(m: usize, n: usize, complex: bool) -> Vec<(&'static str, M)> {
    let real = |x: f64| C::new(x, 0.0);
    let (a, b) = (random(m, 2, complex, 1), random(2, n, complex, 2));
    let noise = random(m, n, complex, 3);
    vec![
        ("random", noise.clone()),
        ("zero", M::new(m, n, |_, _| C::ZERO)),
        ("ones", M::new(m, n, |_, _| real(1.0))),
        ("identity", M::new(m, n, |i, j| real(f64::from(u8::from(i == j))))),
        ("rank two", a.dot(&b)),
        ("rank two and noise", {
            let r = a.dot(&b);
            M::new(m, n, |i, j| r.at(i, j) + noise.at(i, j) * 1e-13)
        }),
        ("huge", noise.scale(1e150)),
        ("tiny", noise.scale(1e-150)),
        ("graded rows", M::new(m, n, |i, j| noise.at(i, j) * 10f64.powi(-(i as i32) * 300 / m as i32 + 140))),
        ("graded columns", M::new(m, n, |i, j| noise.at(i, j) * 10f64.powi(-(j as i32) * 20 / n as i32))),
        (
            "repeated",
            M::new(m, n, |i, j| {
                real(if i == j {
                    3.0
                } else if i + j == 2 {
                    1.0
                } else {
                    0.0
                })
            }),
        ),
        ("one column", M::new(m, n, |i, j| if j == n / 2 { noise.at(i, j) } else { C::ZERO })),
        ("bidiagonal", M::new(m, n, |i, j| real(if i == j || i + 1 == j { 1.0 } else { 0.0 }))),
        ("denormal", noise.scale(1e-310)),
    ]
}

/// In single precision the exponents are a sixth.
fn fit(a: &M, dtype: DType) -> M {
    if dtype.real() == DType::F64 || (1e-15..1e15).contains(&a.max()) {
        return a.clone();
    }
    let e = a.max().max(1e-300).log10();
    M::new(a.m, a.n, |i, j| a.at(i, j) * 10f64.powf(-e + e / 8.0))
}

#[test]
fn svd_reproduces_structured_matrices() {
    for dtype in DTYPES {
        for (m, n) in [(1, 1), (2, 2), (8, 8), (5, 9), (23, 7), (30, 30), (60, 25), (26, 130)] {
            for (name, a) in structured(m, n, dtype.is_complex()) {
                let (array, a) = stored(&fit(&a, dtype), dtype);
                for full in [false, true] {
                    let (u, s, vh) = svd(&array, full).unwrap_or_else(|e| panic!("{name} {dtype} {m}x{n}: {e}"));
                    let (u, s, vh) = (item(&u, 0), s.to_vec::<f64>().unwrap(), item(&vh, 0));
                    let what = format!("{name} {dtype} {m}x{n} {full}");
                    assert_eq!((u.n, vh.m), if full { (m, n) } else { (m.min(n), m.min(n)) });
                    assert!(s.windows(2).all(|w| w[0] >= w[1]) && s.iter().all(|&x| x >= 0.0), "{what} {s:?}");
                    assert_orthonormal(&u, dtype, &what);
                    assert_orthonormal(&vh.adjoint(), dtype, &what);
                    let us = M::new(m, s.len(), |i, j| u.at(i, j) * s[j]);
                    let top = M::new(s.len(), n, |i, j| vh.at(i, j));
                    let bound = 20.0 * eps(dtype) * (m + n) as f64 * s[0] + 1e-322;
                    let gap = us.dot(&top).gap(&a);
                    assert!(gap <= bound, "{what}: {gap:e} {bound:e}");
                }
            }
        }
    }
}

#[test]
fn eigh_reproduces_structured_matrices() {
    for dtype in DTYPES {
        for n in [1, 2, 3, 8, 17, 31, 32, 60, 140] {
            for (name, a) in structured(n, n, dtype.is_complex()) {
                if n == 140 && dtype.is_complex() && name != "random" {
                    continue;
                }
                let a = fit(&a, dtype);
                let h = M::new(n, n, |i, j| (a.at(i, j) + a.at(j, i).conj()) * 0.5);
                let (array, a) = stored(&h, dtype);
                // The other triangle is not read.
                let junk = M::new(n, n, |i, j| if j > i { C::new(f64::NAN, 0.0) } else { a.at(i, j) }).array(dtype);
                let (values, vectors) = eigh(&junk, false).unwrap_or_else(|e| panic!("{name} {dtype} {n}: {e}"));
                let (w, v) = (values.to_vec::<f64>().unwrap(), item(&vectors, 0));
                let what = format!("{name} {dtype} {n}");
                assert!(w.windows(2).all(|x| x[0] <= x[1]), "{what}");
                assert_orthonormal(&v, dtype, &what);
                let vw = M::new(n, n, |i, j| v.at(i, j) * w[j]);
                let size = w[0].abs().max(w[n - 1].abs());
                let gap = vw.dot(&v.adjoint()).gap(&a);
                assert!(gap <= 20.0 * eps(dtype) * n as f64 * size + 1e-322, "{what}: {gap:e}");
                let upper = eigvalsh(&array, true).unwrap().to_vec::<f64>().unwrap();
                assert!(upper.iter().zip(&w).all(|(x, y)| (x - y).abs() <= 50.0 * eps(dtype) * size + 1e-322));
            }
        }
    }
}

#[test]
fn values_that_are_not_finite_are_named() {
    let mut a = Array::from_slice([2, 2, 2], &[1.0, 2.0, 2.0, 1.0, f64::INFINITY, 0.0, 0.0, 1.0]).unwrap();
    let text =
        "(Batch element 1): The algorithm failed to converge because the input matrix contained non-finite values.";
    for op in ["linalg.svd", "linalg.eigh"] {
        let e = if op == "linalg.svd" { svd(&a, true).unwrap_err() } else { eigh(&a, false).unwrap_err() };
        assert_eq!((e.kind(), e.message()), (ErrorKind::LinAlg, format!("{op}: {text}").as_str()));
    }
    a = Array::from_slice([1, 1], &[f32::NAN]).unwrap();
    assert!(svdvals(&a).unwrap_err().message().starts_with("linalg.svd: The algorithm failed"));
}

#[test]
fn batches_strides_and_broadcast_agree_with_single_matrices() {
    let a = Array::build::<f64>([3, 4, 5, 5].into(), |o| {
        o.copy_from_slice(&random(60, 5, false, 8).x.iter().map(|z| z.re).collect::<Vec<_>>())
    })
    .unwrap()
    .permute(&[1, 0, 3, 2])
    .unwrap();
    let all = [inv(&a).unwrap(), qr(&a, false).unwrap().1, svd(&a, false).unwrap().0, lu(&a).unwrap().0];
    for t in 0..12 {
        let one = item(&a, t).array(DType::F64);
        let want = [inv(&one).unwrap(), qr(&one, false).unwrap().1, svd(&one, false).unwrap().0, lu(&one).unwrap().0];
        for (x, y) in all.iter().zip(&want) {
            assert_eq!(item(x, t).x, item(y, 0).x);
        }
    }
    let b = random(5, 2, false, 3).array(DType::F64);
    let x = solve(&a, &b).unwrap();
    assert_eq!(&x.shape()[..], &[4, 3, 5, 2]);
    assert!(item(&a, 7).dot(&item(&x, 7)).gap(&item(&b, 0)) < 1e-10);
    let one = item(&a, 0).array(DType::F64);
    let many = b.expand(&[6, 5, 2].into()).unwrap();
    assert_eq!(item(&solve(&one, &many).unwrap(), 5).x, item(&solve(&one, &b).unwrap(), 0).x);
}

#[test]
fn matrices_without_elements() {
    let z = |s: &[usize]| Array::zeros(DType::F32, s.into()).unwrap();
    let shape = |a: &Array| a.shape().to_vec();
    for s in [&[0, 0][..], &[2, 0, 0], &[0, 3, 3]] {
        let lead = &s[..s.len() - 2];
        let (l, info) = cholesky(&z(s), false).unwrap();
        assert_eq!((shape(&l), shape(&info)), (s.to_vec(), lead.to_vec()));
        assert_eq!(shape(&inv(&z(s)).unwrap()), s);
        assert_eq!(shape(&solve(&z(s), &z(s)).unwrap()), s);
        assert_eq!(shape(&eigh(&z(s), false).unwrap().1), s);
        assert_eq!(shape(&solve_triangular(&z(s), &z(s), true, false, false).unwrap()), s);
    }
    let (q, r) = qr(&z(&[2, 3, 0]), true).unwrap();
    assert_eq!((shape(&q), shape(&r)), (vec![2, 3, 3], vec![2, 3, 0]));
    assert_eq!(item(&q, 1).x, M::eye(3).x);
    let (u, s, vh) = svd(&z(&[0, 4]), true).unwrap();
    assert_eq!((shape(&u), shape(&s), shape(&vh)), (vec![0, 0], vec![0], vec![4, 4]));
    assert_eq!(item(&vh, 0).x, M::eye(4).x);
    let (p, piv, info) = lu(&z(&[3, 0])).unwrap();
    assert_eq!((shape(&p), shape(&piv), shape(&info)), (vec![3, 0], vec![0], vec![]));
}

#[test]
fn arguments_are_checked() {
    let z = |s: &[usize], d: DType| Array::zeros(d, Shape::new(s)).unwrap();
    let e = cholesky(&z(&[2, 3], DType::F32), false).unwrap_err();
    assert_eq!(e.message(), "linalg.cholesky: A must be batches of square matrices, but they are 2 by 3 matrices");
    assert_eq!(qr(&z(&[2, 2], DType::F16), false).unwrap_err().kind(), ErrorKind::NotImplemented);
    assert!(svd(&z(&[2, 2], DType::I64), false).unwrap_err().message().contains("Got int64"));
    assert!(lu(&z(&[3], DType::F32)).unwrap_err().message().contains("at least 2 dimensions"));
    let e = solve(&z(&[2, 2], DType::F32), &z(&[3, 1], DType::F32)).unwrap_err();
    assert!(e.message().contains("AX = B (2x2 and 3x1)"));
    assert!(solve(&z(&[2, 2], f32::DTYPE), &z(&[2, 1], f64::DTYPE)).unwrap_err().message().contains("same dtype"));
    let e = lu_solve(&z(&[2, 2], DType::F32), &z(&[2], DType::I32), &z(&[2, 1], DType::F32), false).unwrap_err();
    assert!(e.message().contains("pivots given to lu_solve must all be greater or equal to 1"));
}
