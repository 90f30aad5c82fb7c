//! Chains of pointwise operators on large arrays: each result in new memory, and over the value that it ends.

use super::{race, time};
use pullback_dense::base::{Element, Scalar};
use pullback_dense::dense::Array;
use pullback_dense::dense::pointwise::{self, Kernel, kernels};

pub fn all() {
    println!("| chain of 10, elements | new memory | over | ratio |\n|---|---|---|---|");
    for n in [10_000, 100_000, 1_000_000, 4_000_000] {
        row::<f64>("f64", n);
        row::<f32>("f32", n);
    }
}

fn row<T: Element>(name: &str, n: usize) {
    let x = Array::full(T::DTYPE, [n].into(), Scalar::Float(1.5)).unwrap();
    let steps: Vec<&Kernel> = (0..5).flat_map(|_| [&kernels::ADD, &kernels::MUL]).collect();
    let start = || pointwise::binary(&kernels::MUL, &x, &x).unwrap();
    let [new, over] =
        race([&mut || drop(steps.iter().fold(start(), |y, k| pointwise::binary(k, &y, &x).unwrap())), &mut || {
            drop(steps.iter().fold(start(), |y, k| pointwise::apply_into(k, y, 0, &[&x]).unwrap()))
        }]);
    println!("| {name} {n} | {} | {} | {:.2} |", time(new), time(over), over / new);
}
