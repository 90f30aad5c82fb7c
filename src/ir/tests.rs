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
    let (_, along) = jvp(f, &x, &vector(&[1.0, 0.0])).unwrap();
    assert_eq!(values(&along), [0.75]);
    // The outer derivative is forward, the inner one reverse: the inner gradient x² still has its tangent 2x.
    let (_, along) = jvp(|x| grad(f, x), &x, &vector(&[1.0, 1.0])).unwrap();
    assert_eq!(values(&along), [1.0, -4.0]);
    let rows = Tensor::stack(&[&x, &x], 1).unwrap();
    assert_eq!(values(&vmap(|x| grad(f, x), &rows).unwrap()), values(&rows.mul(&rows).unwrap()));
}

#[test]
fn stop_forward_drops_tangents_and_passes_cotangents() {
    let x = vector(&[0.5, -2.0]);
    let f = |x: &Tensor| stop(&STOP_FORWARD, &x.mul(x)?)?.mul(x)?.sum_all();
    assert_eq!(values(&grad(f, &x).unwrap()), [0.75, 12.0]);
    let (_, along) = jvp(f, &x, &vector(&[1.0, 0.0])).unwrap();
    assert_eq!(values(&along), [0.25]);
}

#[test]
fn what_runs_without_grad_mode_is_followed_by_a_stop() {
    let x = vector(&[0.5, -2.0]);
    let program = trace(half_stopped, &x).unwrap();
    assert_eq!(program.operators().collect::<Vec<_>>(), ["mul", "stop_reverse", "mul", "sum"]);
    let run = |x: &Tensor| program.call(x);
    assert_eq!(values(&grad(run, &x).unwrap()), values(&grad(half_stopped, &x).unwrap()));
    assert_eq!(values(&hessian(run, &x).unwrap()), values(&hessian(half_stopped, &x).unwrap()));
    let twice = trace(|x| grad(run, x), &x).unwrap();
    assert_eq!(values(&twice.call(&x).unwrap()), [0.25, 4.0]);
    assert!(level::grad_enabled());
}

#[test]
fn what_the_caller_did_to_the_modes_is_not_in_the_program() {
    let x = vector(&[0.5, -2.0]);
    let program = {
        let _off = GradMode::set(false);
        trace(|x| x.mul(x)?.sum_all(), &x).unwrap()
    };
    assert_eq!(program.operators().collect::<Vec<_>>(), ["mul", "sum"]);
    // A grad around the call that has its own no_grad inside, and one whose tape is cut from outside.
    let run = |x: &Tensor| program.call(x);
    assert_eq!(values(&grad(run, &x).unwrap()), [1.0, -4.0]);
    let cut = |x: &Tensor| {
        let _off = GradMode::set(false);
        grad(run, x)?.sum_all()
    };
    assert_eq!(values(&grad(cut, &x).unwrap()), [0.0, 0.0]);
    let traced = trace(cut, &x).unwrap();
    let run = |x: &Tensor| traced.call(x);
    assert_eq!((values(&run(&x).unwrap()), values(&grad(run, &x).unwrap())), (vec![-3.0], vec![0.0, 0.0]));
}

/// Elements of a value that a pointwise step may write over.
const MANY: usize = 600_000;

fn many(seed: f64) -> Tensor {
    vector(&(0..MANY).map(|i| (i as f64 * 0.01 + seed).sin()).collect::<Vec<_>>())
}

fn place(t: &Tensor) -> *const u8 {
    t.array().unwrap().ptr()
}

#[test]
fn a_step_writes_over_a_value_that_ends_there() {
    let x = many(0.0);
    let chain = |x: &[Tensor]| Ok(vec![x[0].sin()?.mul(&x[0])?.exp()?.add(1.0)?.neg()?]);
    let program = trace(chain, std::slice::from_ref(&x)).unwrap();
    let over: Vec<bool> = program.steps.iter().map(|s| s.over.is_some()).collect();
    assert_eq!(over.iter().filter(|&&o| o).count(), 4, "{program}");
    assert_eq!(values(&program.call(std::slice::from_ref(&x)).unwrap()[0]), values(&chain(&[x.clone()]).unwrap()[0]));
    assert_eq!(values(&x), values(&many(0.0)));
    // By itself, a value that nobody else holds gives its memory, and one that somebody holds does not.
    let (own, other) = (many(1.0), many(2.0));
    let at = place(&own);
    let sum = crate::rules::basis::add_into(own, &other).unwrap();
    assert_eq!((place(&sum), values(&sum)), (at, values(&many(1.0).add(&other).unwrap())));
    let held = sum.clone();
    assert_ne!(place(&crate::rules::basis::mul_into(&other, sum).unwrap()), at);
    assert_eq!(values(&held), values(&many(1.0).add(&other).unwrap()));
}

/// What is held outside of a program, or returned by it, is never written, whatever else holds it.
#[test]
fn nothing_that_is_held_is_written_over() {
    let (x, table) = (many(0.0), many(3.0));
    let views = [x.reshape(&[MANY as i64 / 2, 2]).unwrap(), x.narrow(0, 5, 9).unwrap()];
    let before: Vec<Vec<f64>> = [&x, &table].into_iter().chain(&views).map(values).collect();
    let f = |a: &[Tensor]| {
        let first = a[0].mul(&table)?;
        let second = first.exp()?;
        // A view of a value that ends, a value that is used twice by one step, and one that is an output as well.
        let seen = second.reshape(&[MANY as i64 / 2, 2])?;
        let third = second.neg()?;
        Ok(vec![third.mul(&third)?, seen, first.clone(), first.sin()?.add(&a[0])?, a[0].neg()?])
    };
    let expected: Vec<Vec<f64>> = f(&[x.clone()]).unwrap().iter().map(values).collect();
    let program = trace(f, std::slice::from_ref(&x)).unwrap();
    let run = |a: &Tensor| program.call(std::slice::from_ref(a));
    let twice = (run(&x).unwrap(), run(&x).unwrap());
    let got = |outs: &[Tensor]| outs.iter().map(values).collect::<Vec<_>>();
    assert_eq!((got(&twice.0), got(&twice.1)), (expected.clone(), expected.clone()));
    // Given away by the caller, the argument is still the caller's until the call returns.
    assert_eq!(got(&program.call(&[x.clone()]).unwrap()), expected);
    let sum = |a: &Tensor| run(a)?.remove(0).sum_all();
    let eager = |a: &Tensor| f(std::slice::from_ref(a))?.remove(0).sum_all();
    assert_eq!(values(&grad(sum, &x).unwrap()), values(&grad(eager, &x).unwrap()));
    let rows = Tensor::stack(&[&x, &table], 0).unwrap();
    let batched = vmap(|a| Ok(run(a)?.remove(3)), &rows).unwrap();
    assert_eq!(values(&batched), values(&vmap(|a| Ok(f(std::slice::from_ref(a))?.remove(3)), &rows).unwrap()));
    let after: Vec<Vec<f64>> = [&x, &table].into_iter().chain(&views).map(values).collect();
    assert!(after == before);
}

#[test]
fn cotangents_that_are_held_stay() {
    let x = many(0.5);
    let f = |x: &Tensor| x.sin()?.mul(x)?.add(&x.exp()?)?.sum_all();
    let expected: Vec<f64> = values(&x).iter().map(|x| x.cos() * x + x.sin() + x.exp()).collect();
    let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
    assert!(close(&values(&grad(f, &x).unwrap()), &expected));
    let seed = many(2.0);
    let (_, pull) = crate::vjp(|x| Ok(vec![x[0].exp()?.mul(&x[0].exp()?)?]), std::slice::from_ref(&x)).unwrap();
    let first = pull(std::slice::from_ref(&seed)).unwrap();
    let second = pull(std::slice::from_ref(&seed)).unwrap();
    assert_eq!((values(&first[0]), values(&seed)), (values(&second[0]), values(&many(2.0))));
}
