//! Gradients of a network's loss for each sample of a batch, by `vmap` of `grad`, compared with a loop.
//!
//!     cargo run --release --example per_sample_gradients

use pullback::{DType, Result, Tensor, grad, vmap};
use std::time::Instant;

const SAMPLES: usize = 64;
const LAYERS: [usize; 3] = [20, 32, 5];

/// Numbers between -1 and 1 that look random and are the same on every run.
fn noise(shape: &[usize], seed: f64) -> Result<Tensor> {
    let n: usize = shape.iter().product();
    let values: Vec<f64> = (0..n).map(|i| ((i as f64 + seed) * 12.9898).sin() * 43758.5453 % 1.0).collect();
    Tensor::from_slice(shape.iter().copied().collect::<pullback::Shape>(), &values)
}

fn parameters() -> Result<Vec<Tensor>> {
    let mut all = Vec::new();
    for (i, pair) in LAYERS.windows(2).enumerate() {
        all.push(noise(pair, 7.0 * i as f64 + 1.0)?.mul(1.0 / (pair[0] as f64).sqrt())?);
        all.push(Tensor::zeros([pair[1]], DType::F64)?);
    }
    Ok(all)
}

/// Cross entropy of one sample, `target` being its class as a row of zeros with a one.
fn loss(parameters: &[Tensor], sample: &Tensor, target: &Tensor) -> Result<Tensor> {
    let hidden = sample.matmul(&parameters[0])?.add(&parameters[1])?.tanh()?;
    let scores = hidden.matmul(&parameters[2])?.add(&parameters[3])?;
    scores.log_softmax(0, None)?.mul(target)?.sum_all()?.neg()
}

fn main() -> Result<()> {
    let parameters = parameters()?;
    let samples = noise(&[SAMPLES, LAYERS[0]], 0.5)?;
    let classes = Tensor::eye(LAYERS[2], DType::F64)?;
    let labels: Vec<i64> = (0..SAMPLES as i64).map(|i| i * 7 % LAYERS[2] as i64).collect();
    let targets = classes.index_select(0, &Tensor::from_slice([SAMPLES], &labels)?)?;

    let started = Instant::now();
    let of_one = |sample: &Tensor, target: &Tensor| grad(|p| loss(p, sample, target), &parameters);
    let batched = vmap(|(sample, target)| of_one(sample, target), (&samples, &targets))?;
    let together = started.elapsed();

    let started = Instant::now();
    let mut deviation: f64 = 0.0;
    for i in 0..SAMPLES as i64 {
        let alone = of_one(&samples.select(0, i)?, &targets.select(0, i)?)?;
        for (all, one) in batched.iter().zip(&alone) {
            let difference = all.select(0, i)?.sub(one)?.abs()?.amax(&[], false)?;
            deviation = deviation.max(difference.to_scalar()?.as_f64());
        }
    }
    let loop_ = started.elapsed();

    let mut squares = Tensor::zeros([SAMPLES], DType::F64)?;
    for g in &batched {
        println!("gradients of shape {}", g.shape());
        squares = squares.add(&g.square()?.flatten(1, -1)?.sum(&[1], false)?)?;
    }
    let norms: Vec<f64> = squares.sqrt()?.to_vec()?;
    let largest = (0..SAMPLES).max_by(|&a, &b| norms[a].total_cmp(&norms[b])).unwrap_or(0);
    println!("the largest gradient is that of sample {largest}, of norm {:.3}", norms[largest]);
    println!("together {together:.1?}, in a loop {loop_:.1?}, largest deviation {deviation:.1e}");
    assert!(deviation < 1e-12);
    assert_eq!(batched[0].shape()[..], [SAMPLES, LAYERS[0], LAYERS[1]]);
    Ok(())
}

#[test]
fn it_runs() -> Result<()> {
    main()
}
