//! Compositions against written-out derivatives, modes, escapes, and the state that errors leave.

mod deferred;
mod eval_shape;

use super::jacobian::{Blocks, JacobianOptions, jacfwd_many, jacrev_many};
use super::run::{Open, Values};
use super::vmap::Batch;
use crate::core::level::{self, GradMode, Randomness};
use crate::core::origin::Origin;
use crate::rules::basis;
use crate::{
    ErrorKind, Result, Tensor, VmapOptions, bail, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp,
    vmap, vmap_with,
};
use smallvec::smallvec;
use std::cell::RefCell;

const X: [f64; 3] = [0.8, 1.3, -0.6];

fn vector(values: &[f64]) -> Tensor {
    Tensor::from_slice([values.len()], values).unwrap()
}
fn scalar(value: f64) -> Tensor {
    Tensor::from_slice([] as [usize; 0], &[value]).unwrap()
}
fn values(t: &Tensor) -> Vec<f64> {
    t.to_vec().unwrap()
}
fn close(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= 1e-9 * (1.0 + y.abs()), "{a:?} instead of {b:?}");
    }
}

/// A function of one tensor.
type F<'a> = Box<dyn Fn(&Tensor) -> Result<Tensor> + 'a>;

/// Transforms of an elementwise function of a vector into its derivative of the given order, written with a transform.
const STEPS: [(&str, usize); 8] =
    [("grad", 1), ("vjp", 1), ("jvp", 1), ("linearize", 1), ("jacrev", 1), ("jacfwd", 1), ("hessian", 2), ("vmap", 0)];

fn step<'a>(name: &str, f: F<'a>) -> F<'a> {
    match name {
        "grad" => Box::new(move |x| grad(|u| f(u)?.sum_all(), x)),
        "vjp" => Box::new(move |x| {
            let (y, pull) = vjp(&f, x)?;
            pull(&y.ones_like()?)
        }),
        "jvp" => Box::new(move |x| Ok(jvp(&f, x, x.ones_like()?)?.1)),
        "linearize" => Box::new(move |x| linearize(&f, x)?.1(&x.ones_like()?)),
        "jacrev" => Box::new(move |x| jacrev(|u| f(u), x)?.sum(&[0], false)),
        "jacfwd" => Box::new(move |x| jacfwd(|u| f(u), x)?.sum(&[1], false)),
        "hessian" => Box::new(move |x| hessian(|u| f(u)?.sum_all(), x)?.sum(&[0], false)),
        _ => Box::new(move |x| vmap(|u| f(u), &Tensor::stack(&[x, &x.mul(2.0)?], 0)?)?.select(0, 0)),
    }
}

fn power(x: &Tensor, n: usize) -> Result<Tensor> {
    (1..n).try_fold(x.clone(), |p, _| p.mul(x))
}

fn check(names: &[(&str, usize)], n: usize) {
    let mut f: F<'_> = Box::new(move |x| power(x, n));
    let mut order = 0;
    for (name, d) in names {
        f = step(name, f);
        order += d;
    }
    let factor: f64 = (0..order).map(|i| n as f64 - i as f64).product();
    let want: Vec<f64> = X.iter().map(|x| factor * x.powi(n as i32 - order as i32)).collect();
    let height = level::height();
    match f(&vector(&X)) {
        Ok(got) => close(&values(&got), &want),
        Err(e) => panic!("{names:?}: {e}"),
    }
    assert_eq!(level::height(), height);
}

#[test]
fn pairs_and_triples_of_transforms() {
    for a in STEPS {
        for b in STEPS {
            check(&[a, b], 5);
            for c in STEPS {
                check(&[a, b, c], 7);
            }
        }
    }
}

#[test]
fn six_of_a_kind() {
    for a in STEPS {
        if a.1 < 2 {
            check(&[a; 6], 7);
        }
    }
}

#[test]
fn perturbations_are_not_confused() {
    let along =
        |f: &dyn Fn(&Tensor) -> Result<Tensor>, x: f64| -> Result<Tensor> { Ok(jvp(f, scalar(x), scalar(1.0))?.1) };
    let g = grad(|u| along(&|v| u.mul(v), 3.0), &scalar(2.0)).unwrap();
    close(&values(&g), &[1.0]);
    let g = grad(|u| u.mul(&grad(|v| u.add(v), &scalar(1.0))?), &scalar(1.0)).unwrap();
    close(&values(&g), &[1.0]);
    let t = along(&|u| u.mul(&along(&|v| u.add(v), 1.0)?), 1.0).unwrap();
    close(&values(&t), &[1.0]);
}

#[test]
fn no_grad_cuts_live_levels_and_not_those_inside() {
    let f = |u: &Tensor| {
        let c = {
            let _off = GradMode::set(false);
            u.mul(u)?
        };
        u.mul(&c)
    };
    close(&values(&grad(f, &scalar(3.0)).unwrap()), &[9.0]);
    close(&values(&grad(|u| grad(f, u), &scalar(3.0)).unwrap()), &[0.0]);
    let _off = GradMode::set(false);
    close(&values(&grad(f, &scalar(3.0)).unwrap()), &[9.0]);
    assert!(!level::grad_enabled());
}

#[test]
fn no_grad_around_an_inner_grad_cuts_the_outer_one() {
    let f = |u: &Tensor| {
        let slope = {
            let _off = GradMode::set(false);
            grad(|v| v.mul(v)?.mul(v), u)?
        };
        slope.mul(u)
    };
    // The slope 3u² counts as a constant: d/du (c·u) = c.
    close(&values(&grad(f, &scalar(2.0)).unwrap()), &[12.0]);
}

#[test]
fn a_pullback_serves_again_and_below_other_transforms() {
    let x = vector(&[1.0, 2.0]);
    let (_, pull) = vjp(|u| Ok(vec![power(&u[0], 3)?]), std::slice::from_ref(&x)).unwrap();
    let call = |c: &Tensor| Ok(pull(std::slice::from_ref(c))?.remove(0));
    for _ in 0..2 {
        close(&values(&call(&vector(&[1.0, 10.0])).unwrap()), &[3.0, 120.0]);
    }
    let eye = Tensor::eye(2, crate::DType::F64).unwrap();
    close(&values(&vmap(call, &eye).unwrap()), &[3.0, 0.0, 0.0, 12.0]);
    let penalty = |u: &Tensor| {
        let (_, pull) = vjp(|v| Ok(vec![power(&v[0], 3)?]), std::slice::from_ref(u))?;
        let ones = [u.ones_like()?];
        pull(&ones)?[0].mul(&pull(&ones)?[0])?.sum_all()
    };
    close(&values(&grad(penalty, &x).unwrap()), &[36.0, 36.0 * 8.0]);
    close(&values(&grad(|c| call(c)?.square()?.sum_all(), &vector(&[1.0, 1.0])).unwrap()), &[18.0, 288.0]);
}

#[test]
fn a_linear_map_serves_again_and_keeps_only_what_is_linear() {
    let x = vector(&X);
    let (y, push) = linearize(|u| Ok((u.sin()?.mul(u)?, u.exp()?.exp()?)), &x).unwrap();
    close(&values(&y.0), &X.map(|x| x.sin() * x));
    let slope = X.map(|x| x.cos() * x + x.sin());
    for scale in [1.0, -2.5] {
        let t = x.ones_like().unwrap().mul(scale).unwrap();
        close(&values(&push(&t).unwrap().0), &slope.map(|s| scale * s));
    }
    let eye = Tensor::eye(3, crate::DType::F64).unwrap();
    let rows = vmap(|t| Ok(push(t)?.0), &eye).unwrap();
    close(&values(&rows.sum(&[0], false).unwrap()), &slope);
    let g = grad(|t| push(t)?.0.sum_all(), &x).unwrap();
    close(&values(&g), &slope);
    for (wrong, term) in [(vector(&[1.0]), "shape"), (x.to_dtype(crate::DType::F32).unwrap(), "dtype")] {
        let e = push(&wrong).map(drop).unwrap_err();
        assert!(e.kind() == ErrorKind::Runtime && e.message().contains(term), "{e}");
    }
}

#[test]
fn what_does_not_depend_on_the_input_has_a_zero_derivative() {
    let (x, c) = (vector(&X), vector(&[1.0, 2.0]));
    close(&values(&grad(|_| c.sum_all(), &x).unwrap()), &[0.0; 3]);
    assert_eq!(jacrev(|_| Ok(c.clone()), &x).unwrap().shape()[..], [2, 3]);
    assert_eq!(jacfwd(|_| Ok(c.clone()), &x).unwrap().shape()[..], [2, 3]);
    let push = linearize(|_| Ok(c.clone()), &x).unwrap().1;
    close(&values(&push(&x).unwrap()), &[0.0; 2]);
    assert_eq!(vmap(|_| Ok(c.clone()), &x).unwrap().shape()[..], [3, 2]);
}

#[test]
fn jacobians_of_several_inputs_and_outputs_in_chunks() {
    let (a, b) = (vector(&X), vector(&[2.0, -1.0]));
    let f = |x: Values| Ok((smallvec![x[0].outer(&x[1])?, x[1].square()?], x[0].sum_all()?));
    let of = |found: Result<(Blocks, Tensor)>| {
        let (blocks, sum) = found.unwrap();
        close(&values(&sum), &[1.5]);
        blocks.iter().flatten().flat_map(values).collect::<Vec<f64>>()
    };
    let inputs = [a, b];
    let whole = of(jacrev_many(&inputs, JacobianOptions::default(), f, |sum, tape| tape.below(&sum)));
    assert_eq!(whole.len(), 6 * 3 + 6 * 2 + 2 * 3 + 2 * 2);
    for chunk in [None, Some(1), Some(2), Some(4), Some(100)] {
        let options = JacobianOptions { chunk_size: chunk, ..Default::default() };
        close(&of(jacrev_many(&inputs, options, f, |sum, tape| tape.below(&sum))), &whole);
        close(&of(jacfwd_many(&inputs, options, f, |sum, columns| columns.below(&sum))), &whole);
    }
}

#[test]
fn empty_inputs_have_empty_derivatives() {
    let none = vector(&[]);
    assert_eq!(jacrev(|x| x.mul(2.0), &none).unwrap().shape()[..], [0, 0]);
    assert_eq!(jacfwd(|x| x.mul(2.0), &none).unwrap().shape()[..], [0, 0]);
    assert_eq!(hessian(|x| x.square()?.sum_all(), &none).unwrap().shape()[..], [0, 0]);
    let empty = Tensor::zeros([0, 3], crate::DType::F64).unwrap();
    assert_eq!(vmap(|v| v.sum_all(), &empty).unwrap().shape()[..], [0]);
}

/// More nodes wait at once than the front keeps in its list.
#[test]
fn a_wide_sum_of_many_branches() {
    let x = scalar(1.5);
    let f = |x: &Tensor| {
        let branches: Vec<Tensor> = (0..200).map(|i| x.mul(f64::from(i))).collect::<Result<_>>()?;
        let refs: Vec<&Tensor> = branches.iter().rev().collect();
        let joined = Tensor::stack(&refs, 0)?.square()?.sum_all()?;
        branches.iter().try_fold(joined, |sum, b| sum.add(b))
    };
    let squares: f64 = (0..200).map(|i| f64::from(i * i)).sum();
    let sum: f64 = (0..200).map(f64::from).sum();
    close(&values(&grad(f, &x).unwrap()), &[2.0 * 1.5 * squares + sum]);
}

#[test]
fn many_inputs() {
    let xs: Vec<Tensor> = (0..100).map(|i| scalar(f64::from(i))).collect();
    let f = |x: &[Tensor]| x.iter().try_fold(scalar(0.0), |sum, x| sum.add(&x.square()?));
    let (grads, value) = grad_and_value(f, &xs).unwrap();
    close(&values(&value), &[(0..100).map(|i| f64::from(i * i)).sum()]);
    close(
        &grads.iter().flat_map(values).collect::<Vec<_>>(),
        &(0..100).map(|i| 2.0 * f64::from(i)).collect::<Vec<_>>(),
    );
}

#[test]
fn errors_leave_the_stack_as_it_was() {
    let x = vector(&X);
    let stop = |_: &Tensor| -> Result<Tensor> { bail!(Value, "stop") };
    let height = level::height();
    for result in [
        grad(stop, &x),
        vmap(stop, &x),
        jacrev(stop, &x),
        jacfwd(stop, &x),
        hessian(stop, &x),
        vmap(|_| grad(stop, &x), &x),
        grad(|u| vmap(|v| jacfwd(stop, v), u), &x),
    ] {
        assert_eq!(result.unwrap_err().message(), "stop");
        assert_eq!(level::height(), height);
    }
    assert!(level::grad_enabled() && level::forward_enabled());
    let panicked = std::panic::catch_unwind(|| grad(|_| panic!("stop"), &vector(&X)).map(drop));
    assert!(panicked.is_err());
    assert_eq!(level::height(), height);
}

#[test]
fn values_that_escape() {
    let (x, held) = (vector(&X), RefCell::new(None));
    let keep = |v: &Tensor| {
        *held.borrow_mut() = Some(v.mul(2.0)?);
        v.sum_all()
    };
    vmap(keep, Tensor::stack(&[&x, &x], 0).unwrap()).unwrap();
    let e = held.take().unwrap().add(1.0).unwrap_err();
    assert!(e.message().contains("vmap") && e.message().contains("escaped"), "{e}");
    // A value that left grad or jvp otherwise than as the result is its plain value.
    grad(keep, &x).unwrap();
    close(&values(&held.take().unwrap().add(0.0).unwrap()), &X.map(|x| 2.0 * x));
    // Also when it is the result of a transform outside.
    let y = vmap(
        |row| {
            grad(keep, row)?;
            Ok(held.borrow().clone().unwrap())
        },
        Tensor::stack(&[&x, &x], 0).unwrap(),
    );
    close(&values(&y.unwrap()), &[X, X].concat().iter().map(|x| 2.0 * x).collect::<Vec<_>>());
}

#[test]
fn wrong_arguments() {
    let (x, n) = (vector(&X), Tensor::from_slice([2], &[1_i64, 2]).unwrap());
    let case = |e: Result<Tensor>, kind: ErrorKind, term: &str| {
        let e = e.unwrap_err();
        assert!(e.kind() == kind && e.message().contains(term), "{e:?}");
    };
    case(grad(|x| Ok(x.clone()), &x), ErrorKind::Runtime, "scalar");
    case(grad(|x| x.sum_all(), &n), ErrorKind::Runtime, "floating point");
    case(jacrev(|x| x.eq(1.0), &x), ErrorKind::Runtime, "floating-point");
    case(jacfwd(|x| x.sum_all(), &n), ErrorKind::Value, "floating point");
    case(vmap(|x| Ok(x.clone()), scalar(1.0)), ErrorKind::Value, "in_dim");
    let two = |inputs: [&Tensor; 2], dims: [Option<i64>; 2]| {
        vmap_with(|[x, _]| Ok(x.clone()), inputs, &VmapOptions::default().in_dims(dims))
    };
    case(two([&x, &n], [Some(0), Some(0)]), ErrorKind::Value, "same size in the mapped dimension, got sizes [3, 2]");
    case(two([&x, &n], [None, None]), ErrorKind::Value, "at least one Tensor");
    case(two([&x, &n], [Some(1), None]), ErrorKind::Value, "got in_dim=1 for an input of 1 dimensions");
    let one = VmapOptions::default();
    case(vmap_with(|x| Ok(x.clone()), &x, &one.clone().in_dims([])), ErrorKind::Value, "1 inputs and 0 in_dims");
    case(vmap_with(|x| Ok(x.clone()), &x, &one.clone().out_dims([0, 0])), ErrorKind::Value, "1 outputs and 2 out_dims");
    case(vmap_with(|x| Ok(x.clone()), &x, &one.out_dims([1])), ErrorKind::Value, "got out_dim=1 for an output of 1");
    let short = |t: Tensor| jvp(|x| Ok(x.to_vec()), &[vector(&X)], &[t]).map(|mut y| y.0.remove(0));
    case(short(vector(&[1.0])), ErrorKind::Runtime, "different size");
    case(short(Tensor::from_slice([3], &[1_i64, 2, 3]).unwrap()), ErrorKind::Value, "floating point");
    let (_, pull) = vjp(|x| Ok(x.to_vec()), &[x.clone()]).unwrap();
    assert!(pull(&[scalar(1.0)]).unwrap_err().message().contains("Mismatch in shape"));
    assert!(pull(&[]).is_err());
}

#[test]
fn tangents_and_cotangents_take_the_dtype_of_their_values() {
    let x = vector(&X).to_dtype(crate::DType::F32).unwrap();
    let (_, t) = jvp(|x| Ok(vec![x[0].mul(&x[0])?]), &[x.clone()], &[vector(&X)]).unwrap();
    assert_eq!(t[0].dtype(), crate::DType::F32);
    let (_, pull) = vjp(|x| Ok(vec![x[0].to_dtype(crate::DType::F64)?]), &[x.clone()]).unwrap();
    assert_eq!(pull(&[vector(&X)]).unwrap()[0].dtype(), crate::DType::F32);
}

#[test]
fn levels_of_another_thread_raise() {
    let e = grad(
        |x| {
            let inside = x.clone();
            std::thread::spawn(move || grad(|u| u.mul(&inside)?.sum_all(), &vector(&X))).join().expect("no panic")
        },
        &vector(&X),
    );
    assert!(e.unwrap_err().message().contains("thread"));
    let threads: Vec<_> = (0..4)
        .map(|i| {
            std::thread::spawn(move || {
                let x = scalar(f64::from(i));
                (0..50).all(|_| values(&grad(|x| grad(|x| power(x, 3), x), &x).unwrap()) == [6.0 * f64::from(i)])
            })
        })
        .collect();
    assert!(threads.into_iter().all(|t| t.join().unwrap()));
}

#[test]
fn a_batch_in_any_dimension() {
    let x = Tensor::from_slice([2, 3, 4], &(0..24).map(f64::from).collect::<Vec<_>>()).unwrap();
    for dim in 0..3 {
        for out in 0..3 {
            let batch = Batch::open(x.shape()[dim], Randomness::Error, Origin::UNKNOWN).unwrap();
            let y = batch.lower(&batch.lift(&x, dim).mul(2.0).unwrap(), out).unwrap();
            drop(batch);
            let want = basis::move_dim(&x, dim, out).unwrap();
            close(&values(&y), &values(&want.mul(2.0).unwrap()));
        }
    }
}

#[test]
fn value_and_gradient_come_together() {
    let (g, y) = grad_and_value(|x| x.square()?.sum_all(), &vector(&X)).unwrap();
    close(&values(&g), &X.map(|x| 2.0 * x));
    close(&values(&y), &[X.iter().map(|x| x * x).sum()]);
}

crate::tensors! {
    /// The parameters of a line, and of others.
    #[derive(Clone)]
    struct Model {
        slope: Tensor,
        others: Vec<Tensor>,
    }
}

#[test]
fn inputs_and_outputs_in_any_arrangement() {
    let (a, b) = (vector(&X), vector(&[2.0, -1.0, 0.5]));
    let model = Model { slope: a.clone(), others: vec![b.clone(), b.clone()] };
    let f = |m: &Model| m.slope.mul(&m.others[0])?.add(&m.others[1])?.sum_all();
    let g = grad(f, &model).unwrap();
    let by_parts =
        grad(|(a, others)| f(&Model { slope: a.clone(), others: others.clone() }), (&a, &model.others)).unwrap();
    for (got, want) in [(&g.slope, &b), (&g.others[0], &a), (&by_parts.0, &b), (&by_parts.1[0], &a)] {
        close(&values(got), &values(want));
    }
    close(&values(&g.others[1]), &[1.0; 3]);
    let (y, pull) = vjp(|m: &Model| Ok([m.slope.mul(&m.others[0])?, m.others[1].clone()]), &model).unwrap();
    let back = pull(&y).unwrap();
    close(&values(&back.others[0]), &values(&y[0].mul(&a).unwrap()));
    let (_, tangent) = jvp(|m: &Model| Ok((m.slope.mul(&m.others[0])?, ())), &model, back).unwrap();
    assert_eq!(tangent.0.shape(), a.shape());
    let blocks = jacrev(|m: &Model| Ok(vec![f(m)?, m.slope.sum_all()?]), &model).unwrap();
    close(&values(&blocks[1].slope), &[1.0; 3]);
    close(&values(&blocks[1].others[0]), &[0.0; 3]);
    let ((_, across), others) = hessian(|(a, b)| a.mul(b)?.sum_all(), (&a, &b)).unwrap();
    close(&values(&across), &values(&Tensor::eye(3, crate::DType::F64).unwrap()));
    close(&values(&others.0), &values(&across));
    let columns = Tensor::stack(&[&a, &b], 1).unwrap();
    let options = VmapOptions::default().in_dims([Some(-1), None]).out_dims([-1, 0]);
    let (scaled, sums) = vmap_with(|(x, w)| Ok((x.mul(w)?, x.sum_all()?)), (&columns, &a), &options).unwrap();
    assert_eq!((&scaled.shape()[..], &sums.shape()[..]), (&[3, 2][..], &[2][..]));
    close(&values(&scaled.select(1, 1).unwrap()), &values(&a.mul(&b).unwrap()));
    let program = crate::trace(|m: &Model| Ok((f(m)?, [m.slope.clone()])), &model).unwrap();
    let (total, [same]) = program.call(&model).unwrap();
    close(&values(&total), &values(&f(&model).unwrap()));
    close(&values(&same), &X);
}
