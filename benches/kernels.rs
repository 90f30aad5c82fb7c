//! The kernels at sizes that live in the first cache and in memory.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pullback::ops::{matmul, reduce, unary};
use pullback::rules::basis;
use pullback::{Result, Tensor};
use std::hint::black_box;

fn values(shape: impl Into<pullback::Shape>) -> Tensor {
    let shape = shape.into();
    let n = shape.iter().product::<usize>();
    let values: Vec<f32> = (0..n).map(|i| (i as f32 * 0.37).sin()).collect();
    Tensor::from_slice(shape, &values).expect("the values fill the shape")
}

fn pointwise(c: &mut Criterion) {
    type Unary = fn(&Tensor) -> Result<Tensor>;
    let kernels: [(&str, Unary); 4] =
        [("sin", unary::sin), ("exp", unary::exp), ("tanh", unary::tanh), ("x + x", |x| basis::add(x, x))];
    let mut group = c.benchmark_group("pointwise, float32");
    for n in [4096_usize, 1_000_000] {
        let x = values([n]);
        group.throughput(Throughput::Elements(n as u64));
        for (name, f) in kernels {
            group.bench_with_input(BenchmarkId::new(name, n), &x, |b, x| b.iter(|| f(black_box(x))));
        }
    }
    group.finish();
}

fn reductions(c: &mut Criterion) {
    let x = values([1024, 1024]);
    let mut group = c.benchmark_group("sum of (1024, 1024) float32");
    group.throughput(Throughput::Elements(1024 * 1024));
    for dim in [0, 1] {
        let dims = [dim];
        group.bench_function(format!("axis {dim}"), |b| {
            b.iter(|| reduce::sum(black_box(&x), Some(&dims), false, None));
        });
    }
    group.finish();
}

fn products(c: &mut Criterion) {
    let mut group = c.benchmark_group("matmul, float32");
    for n in [8_usize, 64, 256] {
        let a = values([n, n]);
        group.throughput(Throughput::Elements(2 * (n * n * n) as u64));
        group.bench_with_input(BenchmarkId::from_parameter(n), &a, |b, a| b.iter(|| matmul::matmul(black_box(a), a)));
    }
    group.finish();
}

criterion_group!(benches, pointwise, reductions, products);
criterion_main!(benches);
