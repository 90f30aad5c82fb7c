//! Products that wait until they are read.

use crate::{Result, Tensor, grad, jvp};

fn numbers(shape: &[usize], of: fn(f64) -> f64) -> Tensor {
    let n = shape.iter().product::<usize>();
    let v: Vec<f64> = (0..n).map(|i| of(i as f64)).collect();
    Tensor::from_slice(shape, &v).unwrap()
}

/// The gradient and a Hessian-vector product of `sum((x w)⁴)`, with matrices `w` of `n` by `n`.
fn both(n: usize, x: &Tensor) -> Result<[Tensor; 3]> {
    let (w, v) = (numbers(&[n, n], f64::sin), numbers(&[n, n], f64::cos));
    let loss = |w: &Tensor| {
        let y = x.matmul(w)?;
        let square = y.mul(&y)?;
        square.mul(&square)?.sum_all()
    };
    let (gradient, product) = jvp(|w| grad(loss, w), &w, &v)?;
    Ok([gradient, product, grad(loss, &w)?])
}

#[test]
fn a_gradient_beside_a_product_is_computed_when_it_is_read() {
    let [gradient, product, alone] = both(96, &numbers(&[5, 96], f64::cos)).unwrap();
    assert!(gradient.in_memory().is_none() && product.in_memory().is_some() && alone.in_memory().is_some());
    assert_eq!((gradient.dtype(), gradient.shape()), (alone.dtype(), alone.shape()));
    let shown = gradient.array().unwrap().ptr();
    assert_eq!(gradient.to_vec::<f64>().unwrap(), alone.to_vec::<f64>().unwrap());
    assert_eq!(gradient.clone().array().unwrap().ptr(), shown);
}

#[test]
fn small_products_do_not_wait() {
    let [gradient, ..] = both(8, &numbers(&[5, 8], f64::cos)).unwrap();
    assert!(gradient.in_memory().is_some());
}

#[test]
fn memory_that_others_see_is_read_at_once() {
    let x = numbers(&[5, 96], f64::cos);
    let export = x.array().unwrap().buffer().unwrap().clone().export();
    let [gradient, ..] = both(96, &x).unwrap();
    assert!(gradient.in_memory().is_some());
    drop(export);
}
