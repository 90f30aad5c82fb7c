//! What an operator costs when its arrays are tiny.

use criterion::{Criterion, criterion_group, criterion_main};
use pullback::ops::{reduce, unary};
use pullback::rules::basis;
use pullback::{Result, Tensor};
use std::hint::black_box;

fn vector() -> Tensor {
    let values: Vec<f32> = (0..8).map(|i| (i as f32).sin()).collect();
    Tensor::from_slice([8], &values).expect("eight values fill a vector of eight")
}

/// Twenty operators, one after the other.
fn chain(x: &Tensor) -> Result<Tensor> {
    let mut x = x.clone();
    for _ in 0..4 {
        x = basis::scale(&x, 1.5)?;
        x = unary::sin(&x)?;
        x = basis::shift(&x, 0.5)?;
        x = x.mul(&x)?;
        x = unary::tanh(&x)?;
    }
    Ok(x)
}

fn dispatch(c: &mut Criterion) {
    let (x, y) = (vector(), vector());
    let mut group = c.benchmark_group("dispatch, 8 float32");
    group.bench_function("add", |b| b.iter(|| basis::add(black_box(&x), black_box(&y))));
    group.bench_function("sin", |b| b.iter(|| unary::sin(black_box(&x))));
    group.bench_function("sum", |b| b.iter(|| reduce::sum(black_box(&x), None, false, None)));
    group.bench_function("chain of 20", |b| b.iter(|| chain(black_box(&x))));
    group.finish();
}

criterion_group!(benches, dispatch);
criterion_main!(benches);
