//! A robust regression with its uncertainty: every transform once, a custom function, threads and random numbers.
//!
//!     cargo run --release --example regression

use pullback::prelude::*;

tensors! {
    /// The parameters of a layer.
    #[derive(Clone)]
    struct Layer {
        weight: Tensor,
        offset: Tensor,
    }
}

fn predict(layer: &Layer, x: &Tensor) -> Result<Tensor> {
    x.matmul(&layer.weight)?.add(&layer.offset)
}

fn main() -> Result<()> {
    // |r| rounded off at 0, whose derivative is written such that it does not overflow.
    let soft_abs = custom_vjp(
        |r: &Tensor| Ok((r.abs()?.add(&r.abs()?.mul(-2.0)?.exp()?.log1p()?)?, r.clone())),
        |r, g| g.mul(&r.tanh()?),
    );
    manual_seed(7);
    let truth = Layer { weight: Tensor::from([1.5, -2.0, 0.5]), offset: Tensor::from(0.25) };
    let x = Tensor::randn([200, 3], DType::F64)?;
    let noise = Tensor::randn([200], DType::F64)? * 0.1;
    let y = (predict(&truth, &x)? + noise).with_index(..10, 30.0)?; // ten outliers
    let losses = |layer: &Layer| soft_abs(&predict(layer, &x)?.sub(&y)?);
    let loss = |layer: &Layer| losses(layer)?.mean_all();

    let mut layer = Layer { weight: Tensor::zeros([3], DType::F64)?, offset: Tensor::from(0.0) };
    for step in 0..300 {
        let (slope, value) = grad_and_value(loss, &layer)?;
        if step % 100 == 0 {
            println!("step {step}: {:.4}", value.item::<f64>()?);
        }
        layer.weight = &layer.weight - slope.weight * 0.5;
        layer.offset = &layer.offset - slope.offset * 0.5;
    }
    println!("{} {}", layer.weight, layer.offset);
    let error = layer.weight.sub(&truth.weight)?.abs()?.amax(&[], false)?.item::<f64>()?;
    assert!(error < 0.1, "off by {error}");

    // The gradient of each sample by itself, three ways: a batch of gradients, and the rows and columns of a Jacobian.
    let one = |w: &Tensor, x: &Tensor, y: &Tensor| soft_abs(&x.dot(w)?.add(&layer.offset)?.sub(y)?);
    let each = vmap(|(x, y)| grad(|w| one(w, x, y), &layer.weight), (&x, &y))?;
    let rows = jacrev(losses, &layer)?.weight;
    let columns = jacfwd(losses, &layer)?.weight;
    for other in [&rows, &columns] {
        assert!(each.sub(other)?.abs()?.amax(&[], false)?.item::<f64>()? < 1e-12);
    }
    // Curvature along a direction, by both derivatives of the derivative, and the whole matrix.
    let direction = Tensor::from([1.0, 0.0, 0.0]);
    let at = |w: &Tensor| loss(&Layer { weight: w.clone(), offset: layer.offset.clone() });
    let (_, along) = jvp(|w| grad(at, w), &layer.weight, &direction)?;
    let (_, pull) = vjp(|w| grad(at, w), &layer.weight)?;
    let (_, push) = linearize(|w| grad(at, w), &layer.weight)?;
    let curvature = hessian(at, &layer.weight)?;
    let first = curvature.index((.., 0))?;
    for other in [along, pull(&direction)?, push(&direction)?] {
        assert!(first.sub(&other)?.abs()?.amax(&[], false)?.item::<f64>()? < 1e-12);
    }
    let spread = linalg::inv(&curvature)?.diagonal(0, 0, 1)?.div(200.0)?.sqrt()?;
    println!("uncertainty {spread}");

    // A program of the loss, its shape without data, and the gradient from another thread.
    let program = trace(at, &layer.weight)?.simplified();
    println!("{program}");
    assert_eq!(eval_shape(at, &layer.weight)?.rank(), 0);
    let weight = layer.weight.clone();
    let slope = std::thread::spawn(move || grad(|w| program.call(w), &weight)).join().unwrap()?;
    assert!(slope.sub(&grad(at, &layer.weight)?)?.abs()?.amax(&[], false)?.item::<f64>()? < 1e-12);
    let wrong = predict(&layer, &Tensor::from([1.0, 2.0])).unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Runtime, "{wrong}");
    Ok(())
}

#[test]
fn it_runs() -> Result<()> {
    main()
}
