//! What depends on the product kernels inside `faer`: run with its feature `std` and without.

use super::{race, time};
use pullback_dense::base::Element;
use pullback_dense::dense::{Array, linalg, matmul};

pub fn all() {
    println!("| routine | dtype | n | time |\n|---|---|---|---|");
    for n in [32, 256, 1024] {
        set::<f64>("f64", n, |x| x);
        set::<f32>("f32", n, |x| x as f32);
    }
}

fn set<T: Element>(name: &str, n: usize, of: fn(f64) -> T) {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let values: Vec<T> = (0..n * n).map(|_| of(next())).collect();
    let a = Array::from_slice([n, n], &values).unwrap();
    let ways: [(&str, &mut dyn FnMut()); 5] = [
        ("matmul", &mut || drop(std::hint::black_box(matmul::matmul(&a, &a)))),
        ("solve", &mut || drop(std::hint::black_box(linalg::solve(&a, &a)))),
        ("lu", &mut || drop(std::hint::black_box(linalg::lu(&a)))),
        ("eigh", &mut || drop(std::hint::black_box(linalg::eigh(&a, false)))),
        ("svd", &mut || drop(std::hint::black_box(linalg::svd(&a, false)))),
    ];
    for (what, way) in ways {
        let [t] = race([way]);
        println!("| {what} | {name} | {n} | {} |", time(t));
    }
}
