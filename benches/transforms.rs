//! What a transform costs: `(sin(x) · x).sum()` on eight elements, and nests of the same.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use pullback::ops::{reduce, unary};
use pullback::{Result, Tensor, grad, hessian, jvp, linearize, vmap};
use std::hint::black_box;

fn f(x: &Tensor) -> Result<Tensor> {
    reduce::sum(&unary::sin(x)?.mul(x)?, None, false, None)
}

fn values(shape: &[usize]) -> Tensor {
    let n = shape.iter().product::<usize>();
    let values: Vec<f32> = (0..n).map(|i| (i as f32 * 0.7).sin()).collect();
    Tensor::from_slice(shape.iter().copied().collect::<pullback::Shape>(), &values).expect("the values fill the shape")
}

fn single(c: &mut Criterion) {
    let (x, rows) = (values(&[8]), values(&[4, 8]));
    let mut group = c.benchmark_group("transforms, 8 float32");
    group.bench_function("plain", |b| b.iter(|| f(black_box(&x))));
    group.bench_function("grad", |b| b.iter(|| grad(f, black_box(&x))));
    group.bench_function("jvp", |b| b.iter(|| jvp(f, black_box(&x), &x)));
    group.bench_function("linearize", |b| b.iter(|| linearize(f, black_box(&x)).map(drop)));
    let push = linearize(f, &x).expect("the function has a derivative").1;
    group.bench_function("linearized", |b| b.iter(|| push(black_box(&x))));
    group.bench_function("vmap", |b| b.iter(|| vmap(f, black_box(&rows))));
    group.bench_function("vmap(grad)", |b| b.iter(|| vmap(|row| grad(f, row), black_box(&rows))));
    group.bench_function("grad(grad)", |b| b.iter(|| grad(|x| f(&grad(f, x)?), black_box(&x))));
    group.bench_function("hessian", |b| b.iter(|| hessian(f, black_box(&x))));
    group.finish();
}

/// grad of grad of … of the sine of a number.
fn nested(x: &Tensor, depth: usize) -> Result<Tensor> {
    if depth == 0 { unary::sin(x) } else { grad(|x| nested(x, depth - 1), x) }
}

fn depth(c: &mut Criterion) {
    let x = values(&[]);
    let mut group = c.benchmark_group("nested grad of a scalar sine");
    for d in 1..=6 {
        group.bench_with_input(BenchmarkId::from_parameter(d), &d, |b, &d| b.iter(|| nested(black_box(&x), d)));
    }
    group.finish();
}

criterion_group!(benches, single, depth);
criterion_main!(benches);
