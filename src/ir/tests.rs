use crate::core::level::{self, GradMode};
use crate::core::stop::{STOP_FORWARD, STOP_REVERSE};
use crate::core::{Params, Prim, Primitive, call};
use crate::{Result, Tensor, grad, hessian, jvp, trace, vmap};

fn vector(values: &[f64]) -> Tensor {
    Tensor::from_slice([values.len()], values).unwrap()
}
fn values(t: &Tensor) -> Vec<f64> {
    t.to_vec().unwrap()
}
fn stop(which: &'static dyn Primitive, x: &Tensor) -> Result<Tensor> {
    call(Prim::Static(which), &Params::None, &[x])
}

/// `x² · x`, whose first factor has no derivative on a tape.
fn half_stopped(x: &Tensor) -> Result<Tensor> {
    let square = {
        let _off = GradMode::set(false);
        x.mul(x)?
    };
    square.mul(x)?.sum_all()
}

#[test]
fn stop_reverse_cuts_tapes_and_passes_tangents() {
    let x = vector(&[0.5, -2.0]);
    let f = |x: &Tensor| stop(&STOP_REVERSE, &x.mul(x)?)?.mul(x)?.sum_all();
    assert_eq!(values(&grad(f, &x).unwrap()), [0.25, 4.0]);
    let (_, along) = jvp(|x| Ok(vec![f(&x[0])?]), std::slice::from_ref(&x), &[vector(&[1.0, 0.0])]).unwrap();
    assert_eq!(values(&along[0]), [0.75]);
    // The outer derivative is forward, the inner one reverse: the inner gradient x² still has its tangent 2x.
    let (_, along) = jvp(|x| Ok(vec![grad(f, &x[0])?]), std::slice::from_ref(&x), &[vector(&[1.0, 1.0])]).unwrap();
    assert_eq!(values(&along[0]), [1.0, -4.0]);
    let rows = Tensor::stack(&[&x, &x], 1).unwrap();
    assert_eq!(values(&vmap(|x| grad(f, x), &rows).unwrap()), values(&rows.mul(&rows).unwrap()));
}

#[test]
fn stop_forward_drops_tangents_and_passes_cotangents() {
    let x = vector(&[0.5, -2.0]);
    let f = |x: &Tensor| stop(&STOP_FORWARD, &x.mul(x)?)?.mul(x)?.sum_all();
    assert_eq!(values(&grad(f, &x).unwrap()), [0.75, 12.0]);
    let (_, along) = jvp(|x| Ok(vec![f(&x[0])?]), std::slice::from_ref(&x), &[vector(&[1.0, 0.0])]).unwrap();
    assert_eq!(values(&along[0]), [0.25]);
}

#[test]
fn what_runs_without_grad_mode_is_followed_by_a_stop() {
    let x = vector(&[0.5, -2.0]);
    let program = trace(|x| Ok(vec![half_stopped(&x[0])?]), std::slice::from_ref(&x)).unwrap();
    assert_eq!(program.operators().collect::<Vec<_>>(), ["mul", "stop_reverse", "mul", "sum"]);
    let run = |x: &Tensor| Ok(program.call(std::slice::from_ref(x))?.remove(0));
    assert_eq!(values(&grad(run, &x).unwrap()), values(&grad(half_stopped, &x).unwrap()));
    assert_eq!(values(&hessian(run, &x).unwrap()), values(&hessian(half_stopped, &x).unwrap()));
    let twice = trace(|x| Ok(vec![grad(run, &x[0])?]), std::slice::from_ref(&x)).unwrap();
    assert_eq!(values(&twice.call(std::slice::from_ref(&x)).unwrap()[0]), [0.25, 4.0]);
    assert!(level::grad_enabled());
}

#[test]
fn what_the_caller_did_to_the_modes_is_not_in_the_program() {
    let x = vector(&[0.5, -2.0]);
    let program = {
        let _off = GradMode::set(false);
        trace(|x| Ok(vec![x[0].mul(&x[0])?.sum_all()?]), std::slice::from_ref(&x)).unwrap()
    };
    assert_eq!(program.operators().collect::<Vec<_>>(), ["mul", "sum"]);
    // A grad around the call that has its own no_grad inside, and one whose tape is cut from outside.
    let run = |x: &Tensor| Ok(program.call(std::slice::from_ref(x))?.remove(0));
    assert_eq!(values(&grad(run, &x).unwrap()), [1.0, -4.0]);
    let cut = |x: &Tensor| {
        let _off = GradMode::set(false);
        grad(run, x)?.sum_all()
    };
    assert_eq!(values(&grad(cut, &x).unwrap()), [0.0, 0.0]);
    let traced = trace(|x| Ok(vec![cut(&x[0])?]), std::slice::from_ref(&x)).unwrap();
    let run = |x: &Tensor| Ok(traced.call(std::slice::from_ref(x))?.remove(0));
    assert_eq!((values(&run(&x).unwrap()), values(&grad(run, &x).unwrap())), (vec![-3.0], vec![0.0, 0.0]));
}
