//! The Hessian of the Rosenbrock function, compared with its formula and with differences of the gradient, and used for
//! Newton's method.
//!
//!     cargo run --release --example hessian

use pullback::{DType, Result, Tensor, grad, hessian};

/// `sum(100 (x[i+1] - x[i]²)² + (1 - x[i])²)`
fn rosenbrock(x: &Tensor) -> Result<Tensor> {
    let n = x.numel() as i64;
    let (head, tail) = (x.narrow(0, 0, n - 1)?, x.narrow(0, 1, n - 1)?);
    let valley = tail.sub(&head.square()?)?.square()?.mul(100.0)?;
    valley.add(&head.sub(1.0)?.square()?)?.sum_all()
}

/// The Hessian as one writes it down: it has three diagonals.
fn formula(x: &[f64]) -> Vec<f64> {
    let n = x.len();
    let mut h = vec![0.0; n * n];
    for i in 0..n - 1 {
        h[i * n + i] += 1200.0 * x[i] * x[i] - 400.0 * x[i + 1] + 2.0;
        h[(i + 1) * n + i + 1] += 200.0;
        h[i * n + i + 1] = -400.0 * x[i];
        h[(i + 1) * n + i] = -400.0 * x[i];
    }
    h
}

fn deviation(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Columns by central differences of the gradient.
fn differences(x: &Tensor) -> Result<Vec<f64>> {
    let (n, step) = (x.numel(), 1e-5);
    let mut h = vec![0.0; n * n];
    let unit = Tensor::eye(n, DType::F64)?;
    for j in 0..n {
        let shift = unit.select(0, j as i64)?.mul(step)?;
        let ahead: Vec<f64> = grad(rosenbrock, &x.add(&shift)?)?.to_vec()?;
        let behind: Vec<f64> = grad(rosenbrock, &x.sub(&shift)?)?.to_vec()?;
        for i in 0..n {
            h[i * n + j] = (ahead[i] - behind[i]) / (2.0 * step);
        }
    }
    Ok(h)
}

/// Solves `h p = g` for a positive definite band of three diagonals, by elimination.
fn solve(h: &[f64], g: &[f64]) -> Vec<f64> {
    let n = g.len();
    let (mut diagonal, mut right): (Vec<f64>, Vec<f64>) = ((0..n).map(|i| h[i * n + i]).collect(), g.to_vec());
    for i in 1..n {
        let factor = h[i * n + i - 1] / diagonal[i - 1];
        diagonal[i] -= factor * h[(i - 1) * n + i];
        right[i] -= factor * right[i - 1];
    }
    for i in (0..n).rev() {
        let above = if i + 1 < n { h[i * n + i + 1] * right[i + 1] } else { 0.0 };
        right[i] = (right[i] - above) / diagonal[i];
    }
    right
}

fn main() -> Result<()> {
    let start: Vec<f64> = (0..10).map(|i| 1.0 + 0.2 * (1.7 * f64::from(i)).sin()).collect();
    let x = Tensor::from_slice([10], &start)?;
    let h: Vec<f64> = hessian(rosenbrock, &x)?.to_vec()?;
    for row in h.chunks(10) {
        println!("{}", row.iter().map(|v| format!("{v:9.2}")).collect::<String>());
    }
    let (exact, close) = (deviation(&h, &formula(&start)), deviation(&h, &differences(&x)?));
    println!("largest deviation from the formula {exact:.1e}, from differences of the gradient {close:.1e}");
    assert!(exact < 1e-9 && close < 1e-3);

    let mut x = x;
    for step in 0..20 {
        let g = grad(rosenbrock, &x)?;
        let size = deviation(&g.to_vec()?, &[0.0; 10]);
        println!("step {step}: f = {:.3e}, largest slope {size:.1e}", rosenbrock(&x)?.to_scalar()?.as_f64());
        if size < 1e-12 {
            break;
        }
        let direction = solve(&hessian(rosenbrock, &x)?.to_vec::<f64>()?, &g.to_vec::<f64>()?);
        x = x.sub(&Tensor::from_slice([10], &direction)?)?;
    }
    let end: Vec<f64> = x.to_vec()?;
    assert!(deviation(&end, &[1.0; 10]) < 1e-9, "Newton's method ended at {end:?}");
    Ok(())
}

#[test]
fn it_runs() -> Result<()> {
    main()
}
