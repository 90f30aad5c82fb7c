//! `eval_shape`: dtypes and shapes run through functions and transforms, without data.

use crate::Result;
use crate::core::level;
use crate::core::{Meta, Tensor};
use crate::ops::linalg;
use crate::rules::{abstracted, index, part};
use crate::{DType, ErrorKind, eval_shape, grad, jacfwd, jvp, trace, vjp, vmap};

type F = fn(&[Tensor]) -> Result<Vec<Tensor>>;

fn numbers(shape: &[usize]) -> Tensor {
    let n = shape.iter().product::<usize>();
    let v: Vec<f64> = (0..n).map(|i| 0.3 + 0.2 * i as f64).collect();
    Tensor::from_slice(shape, &v).unwrap()
}

/// Functions of a 3 by 3 matrix and a vector of 3.
const FUNCTIONS: [(&str, F); 16] = [
    ("pointwise", |a| Ok(vec![a[0].sin()?.mul(&a[1])?.exp()?, a[0].gt(0.5)?, a[0].logical_not()?])),
    ("sums", |a| Ok(vec![a[0].sum(&[1], false)?, a[0].mean_all()?, a[0].sum(&[0], true)?])),
    ("reductions", |a| Ok(vec![a[0].amax(&[0], true)?, a[0].logsumexp(&[1], false)?, a[0].prod(Some(1), true)?])),
    ("products", |a| Ok(vec![a[0].matmul(&a[1])?, a[0].matmul(&a[0])?])),
    ("views", |a| Ok(vec![a[0].transpose(0, 1)?, a[0].reshape(&[9])?, a[0].select(0, 1)?, a[1].expand(&[2, 3])?])),
    ("joined", |a| Ok(vec![Tensor::cat(&[&a[0], &a[0]], 1)?, Tensor::stack(&[&a[1], &a[1]], 0)?])),
    ("solved", |a| Ok(vec![linalg::inv(&a[0])?, linalg::det(&a[0])?])),
    ("softmax", |a| Ok(vec![a[0].softmax(1, None)?, a[1].log_softmax(0, None)?])),
    ("cast", |a| Ok(vec![a[0].to_dtype(DType::I32)?.sum_all()?, a[0].to_dtype(DType::F16)?.mul(2.0)?])),
    ("gathered", |a| {
        let at = Tensor::from_slice([2], &[2i64, 0])?;
        Ok(vec![index::take_rows(&a[0], &at)?, index::gather(&a[1], 0, &at)?])
    }),
    ("scattered", |a| {
        let at = Tensor::from_slice([2], &[2i64, 0])?;
        Ok(vec![index::scatter_add(&a[1], 0, &at, &index::gather(&a[1], 0, &at)?)?])
    }),
    ("regions", |a| {
        let region = crate::dense::region::Region::of_positions(&[2].into(), &[4, 1]);
        let read = part::read(&a[0], &region)?;
        Ok(vec![part::write(&a[0], &region, &read, false)?, read])
    }),
    ("sorted", |a| Ok(vec![a[0].argmax(Some(0), false)?, a[0].argmin(None, true)?, a[0].cumsum(1)?])),
    ("triangles", |a| Ok(vec![a[0].tril(0)?, a[0].trace()?])),
    ("gradient", |a| Ok(vec![grad(|x| x.sin()?.mul(&a[1])?.sum_all(), &a[0])?])),
    ("jacobian", |a| Ok(vec![jacfwd(|x| x.sin(), &a[1])?, vmap(|r| r.mul(&a[1])?.sum_all(), &a[0])?])),
];

fn check(name: &str, f: impl Fn(&[Tensor]) -> Result<Vec<Tensor>>, args: &[Tensor]) {
    let wanted: Vec<Meta> =
        f(args).unwrap_or_else(|e| panic!("{name}: {}", e.message())).iter().map(Meta::of).collect();
    let height = level::height();
    let got = eval_shape(f, args).unwrap_or_else(|e| panic!("{name}: {}", e.message()));
    let got: Vec<Meta> = got.iter().map(Meta::of).collect();
    assert_eq!(got, wanted, "{name}");
    assert_eq!(level::height(), height);
}

#[test]
fn dtypes_and_shapes_are_those_of_values() {
    let args = [numbers(&[3, 3]), numbers(&[3])];
    for (name, f) in FUNCTIONS {
        check(name, f, &args);
    }
}

#[test]
fn transforms_run_without_data() {
    let args = [numbers(&[3, 3]), numbers(&[3])];
    let batch = [numbers(&[4, 3, 3]), numbers(&[4, 3])];
    for (name, f) in FUNCTIONS {
        check(name, |b| vmap(f, b), &batch);
        check(name, |a| jvp(f, a, a).map(|(y, t)| [y, t].concat()), &args);
        let reverse = |a: &[Tensor]| {
            let (y, pull) =
                vjp(|x| Ok(f(x)?.into_iter().filter(|y| y.dtype().is_differentiable()).collect::<Vec<_>>()), a)?;
            let g: Vec<Tensor> = y.iter().map(Tensor::ones_like).collect::<Result<_>>()?;
            pull(&g)
        };
        check(name, reverse, &args);
    }
}

#[test]
fn programs_are_recorded_without_data() {
    let x = Tensor::without_data(Meta::new(DType::F64, [2]));
    let f = |a: &[Tensor]| Ok(vec![grad(|x| x.mul(x)?.sum_all(), &a[0])?]);
    let program = trace(f, std::slice::from_ref(&x)).unwrap();
    let y = program.call(&[numbers(&[2])]).unwrap();
    assert_eq!(y[0].to_vec::<f64>().unwrap(), [0.6, 1.0]);
    assert!(program.call(&[x]).unwrap()[0].is_abstract());
}

#[test]
fn data_is_asked_for_in_vain() {
    let x = Tensor::without_data(Meta::new(DType::F64, [2]));
    let e = x.to_vec::<f64>().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotImplemented);
    assert!(e.message().contains("no data"), "{}", e.message());
    let e = crate::ops::indexing::nonzero_rows(&x).unwrap_err();
    assert!(e.message().contains("depends on the data"), "{}", e.message());
    let e = x.matmul(&Tensor::without_data(Meta::new(DType::F64, [3, 3]))).unwrap_err();
    assert!(e.message().contains("2"), "{}", e.message());
}

#[test]
fn values_lose_their_data_at_every_level() {
    let rows = numbers(&[4, 3]);
    let y = vmap(|r| abstracted::without_data(r)?.sum_all(), &rows).unwrap();
    assert!(y.is_abstract());
    assert_eq!(&y.shape()[..], &[4]);
    let (_, t) = jvp(|a| Ok(vec![abstracted::without_data(&a[0])?]), &[numbers(&[2])], &[numbers(&[2])]).unwrap();
    assert!(t[0].is_abstract());
}
