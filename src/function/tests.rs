//! What levels make of custom functions: where setup runs, what outputs carry, and which rules follow from others.

use super::{Forward, Function, Mapped, Rule, Setup, alias, apply, apply_all, custom_jvp, custom_vjp, lost};
use crate::core::level::{self, GradMode};
use crate::core::{BatchInfo, LevelId, Set, Tangents};
use crate::dense::random::default_generator;
use crate::ops::random::rand_like;
use crate::ops::value::setting::{Device, Layout, MemoryFormat};
use crate::{
    DType, ErrorKind, Result, Tensor, VmapOptions, bail, grad, hessian, jacfwd, jacrev, jvp, linearize, trace, vjp,
    vmap, vmap_with,
};
use smallvec::smallvec;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

const X: [f64; 3] = [0.5, -1.5, 2.0];

fn vector(values: &[f64]) -> Tensor {
    Tensor::from_slice([values.len()], values).unwrap()
}

fn close(got: &Tensor, want: &[f64]) {
    let got = got.to_vec::<f64>().unwrap();
    assert_eq!(got.len(), want.len());
    for (a, b) in got.iter().zip(want) {
        assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{got:?} instead of {want:?}");
    }
}

/// Tests that draw do so one by one: between the note of where the default generator stands and the draw, another thread
/// may have drawn.
static DRAWS: Mutex<()> = Mutex::new(());

pub(super) fn nobody_draws() -> MutexGuard<'static, ()> {
    DRAWS.lock().unwrap_or_else(|e| e.into_inner())
}

fn tangent(f: impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result<Tensor> {
    let along = x.ones_like()?;
    Ok(jvp(f, x, along)?.1)
}

/// How x³ gives its derivative.
#[derive(Clone, Copy, PartialEq)]
enum CubeRule {
    Backward,
    Jvp,
    /// By a slope that the forward computed and that is no result.
    Hidden,
    /// By one that is a result without a derivative.
    Constant,
    /// By one that only the setup sees.
    Unseen,
}

/// x³, which counts what runs.
struct Cube {
    way: CubeRule,
    forwards: AtomicUsize,
    setups: AtomicUsize,
}

impl Cube {
    fn new(way: CubeRule) -> Arc<Cube> {
        Arc::new(Cube { way, forwards: AtomicUsize::new(0), setups: AtomicUsize::new(0) })
    }
    fn counts(&self) -> (usize, usize) {
        (self.forwards.swap(0, Relaxed), self.setups.swap(0, Relaxed))
    }
    fn call(self: &Arc<Cube>, x: &Tensor) -> Result<Tensor> {
        let f: Arc<dyn Function> = self.clone();
        Ok(apply(&f, std::slice::from_ref(x))?.remove(0))
    }
}

impl Function for Cube {
    fn name(&self) -> &str {
        "Cube"
    }
    fn has(&self, rule: Rule) -> bool {
        rule == if self.way == CubeRule::Jvp { Rule::Jvp } else { Rule::Backward }
    }
    fn forward(&self, args: &[Tensor]) -> Result<Forward> {
        self.forwards.fetch_add(1, Relaxed);
        let square = args[0].mul(&args[0])?;
        let (y, slope) = (square.mul(&args[0])?, square.mul(3.0)?);
        Ok(match self.way {
            CubeRule::Backward | CubeRule::Jvp => Forward::of([y]),
            CubeRule::Hidden => Forward { hidden: 1, ..Forward::of([y, slope]) },
            CubeRule::Unseen => Forward { unseen: 1, ..Forward::of([y, slope]) },
            CubeRule::Constant => Forward::of([y, slope]),
        })
    }
    fn setup(&self, inputs: &[Tensor], run: &mut Forward, _: &Set) -> Result<Setup> {
        self.setups.fetch_add(1, Relaxed);
        let mut setup = match self.way {
            CubeRule::Backward | CubeRule::Jvp => Setup::saving([inputs[0].mul(&inputs[0])?.mul(3.0)?]),
            _ => Setup::saving([run.outputs[1].clone()]),
        };
        if self.way == CubeRule::Constant {
            setup.non_differentiable.add(1);
        }
        Ok(setup)
    }
    fn backward(&self, setup: &Setup, g: &[Option<Tensor>], _: &Set) -> Result<Tangents> {
        let own = g[0].as_ref().map(|g| g.mul(&setup.saved[0])).transpose()?;
        if self.way != CubeRule::Unseen {
            return Ok(smallvec![own]);
        }
        // The slope depends on x, too: by 6x = 2 sqrt(3 slope) where x is positive.
        let slope = g[1].as_ref().map(|g| g.mul(&setup.saved[0].mul(12.0)?.sqrt()?)).transpose()?;
        Ok(smallvec![match (own, slope) {
            (Some(a), Some(b)) => Some(a.add(&b)?),
            (a, b) => a.or(b),
        }])
    }
    fn jvp(&self, setup: &Setup, t: &[Option<Tensor>]) -> Result<Tangents> {
        Ok(smallvec![t[0].as_ref().map(|t| t.mul(&setup.saved[0])).transpose()?])
    }
}

#[test]
fn setup_runs_once_at_each_level_that_needs_a_rule() {
    let x = vector(&X);
    let cube = Cube::new(CubeRule::Backward);
    let f = |x: &Tensor| cube.call(x)?.sum_all();
    f(&x).unwrap();
    assert_eq!(cube.counts(), (1, 0));
    vmap(f, &x).unwrap();
    assert_eq!(cube.counts(), (1, 0));
    grad(f, &x).unwrap();
    assert_eq!(cube.counts(), (1, 1));
    vmap(|x| grad(f, x), &x).unwrap();
    assert_eq!(cube.counts(), (1, 1));
    grad(|x| vmap(f, x)?.sum_all(), &x).unwrap();
    assert_eq!(cube.counts(), (1, 1));
    tangent(f, &x).unwrap();
    assert_eq!(cube.counts(), (1, 1));
    grad(|x| grad(f, x)?.sum_all(), &x).unwrap();
    assert_eq!(cube.counts(), (1, 2));
    let _off = GradMode::set(false);
    f(&x).unwrap();
    assert_eq!(cube.counts(), (1, 0));
}

#[test]
fn all_ways_to_a_slope_have_the_same_derivatives() {
    let x = vector(&[0.5, 1.5, 2.0]);
    for way in [CubeRule::Backward, CubeRule::Jvp, CubeRule::Hidden, CubeRule::Constant, CubeRule::Unseen] {
        let cube = Cube::new(way);
        let f = |x: &Tensor| cube.call(x)?.sum_all();
        let first = [0.75, 6.75, 12.0];
        close(&grad(f, &x).unwrap(), &first);
        close(&vmap(|x| grad(f, x), &x).unwrap(), &first);
        close(&grad(|x| vmap(f, x)?.sum_all(), &x).unwrap(), &first);
        close(&tangent(|x| cube.call(x), &x).unwrap(), &first);
        let second = [3.0, 9.0, 12.0];
        close(&grad(|x| grad(f, x)?.sum_all(), &x).unwrap(), &second);
        close(&tangent(|x| grad(f, x), &x).unwrap(), &second);
        close(&vmap(|x| grad(|x| grad(f, x), x), &x).unwrap(), &second);
        close(&hessian(f, &x).unwrap().sum(&[0], false).unwrap(), &second);
    }
}

#[test]
fn a_forward_runs_again_only_to_differentiate_what_has_no_rule() {
    let x = vector(&X);
    for (way, again) in [(CubeRule::Backward, 0), (CubeRule::Hidden, 1), (CubeRule::Constant, 1)] {
        let cube = Cube::new(way);
        let f = |x: &Tensor| cube.call(x)?.sum_all();
        grad(f, &x).unwrap();
        assert_eq!(cube.counts(), (1, 1));
        grad(|x| grad(f, x)?.sum_all(), &x).unwrap();
        assert_eq!(cube.counts().0, 1 + again);
    }
}

#[test]
fn what_apply_gives_are_the_results() {
    let x = vector(&X);
    for (way, results, outputs) in
        [(CubeRule::Backward, 1, 1), (CubeRule::Hidden, 1, 2), (CubeRule::Constant, 2, 2), (CubeRule::Unseen, 1, 2)]
    {
        let f: Arc<dyn Function> = Cube::new(way);
        let count = |x: &Tensor| {
            let args = std::slice::from_ref(x);
            assert_eq!(apply(&f, args)?.len(), results);
            assert_eq!(apply_all(&f, args)?.outputs.len(), outputs);
            x.sum_all()
        };
        count(&x).unwrap();
        grad(count, &x).unwrap();
        vmap(|x| grad(count, x), &x).unwrap();
        tangent(count, &x).unwrap();
    }
}

#[test]
fn a_constant_output_has_no_derivative_at_any_level() {
    let f: Arc<dyn Function> = Cube::new(CubeRule::Constant);
    let both = |x: &Tensor| {
        let y = apply(&f, std::slice::from_ref(x))?;
        y[0].add(&y[1])?.sum_all()
    };
    let slopes = X.map(|x| 3.0 * x * x);
    close(&grad(both, &vector(&X)).unwrap(), &slopes);
    close(&vmap(|x| grad(both, x), vector(&X)).unwrap(), &slopes);
    close(&grad(|x| vmap(both, x)?.sum_all(), &vector(&X)).unwrap(), &slopes);
    close(&tangent(both, &vector(&X)).unwrap(), &[slopes.iter().sum()]);
}

#[test]
fn rules_of_operators_and_functions_compose() {
    let x = vector(&X);
    let cube = Cube::new(CubeRule::Backward);
    let f = |x: &Tensor| cube.call(&cube.call(x)?.sin()?)?.sum_all();
    let plain = |x: &Tensor| {
        let cube = |x: &Tensor| x.mul(x)?.mul(x);
        cube(&cube(x)?.sin()?)?.sum_all()
    };
    let values = |t: Result<Tensor>| t.unwrap().to_vec::<f64>().unwrap();
    close(&grad(f, &x).unwrap(), &values(grad(plain, &x)));
    close(&hessian(f, &x).unwrap(), &values(hessian(plain, &x)));
    close(&jacfwd(|x| grad(f, x), &x).unwrap(), &values(hessian(plain, &x)));
    close(&jacrev(|x| grad(f, x), &x).unwrap(), &values(hessian(plain, &x)));
}

/// a · b, member by member where nobody says how to do all at once.
struct Dot {
    dirty: bool,
    vmap: Option<usize>,
}

impl Function for Dot {
    fn name(&self) -> &str {
        "Dot"
    }
    fn forward(&self, args: &[Tensor]) -> Result<Forward> {
        let y = args[0].mul(&args[1])?.sum_all()?;
        Ok(Forward { dirty: if self.dirty { vec![(1, 0)] } else { Vec::new() }, ..Forward::of([y]) })
    }
    fn setup(&self, inputs: &[Tensor], _: &mut Forward, _: &Set) -> Result<Setup> {
        Ok(Setup::saving(inputs.iter().cloned()))
    }
    fn has(&self, rule: Rule) -> bool {
        rule == Rule::Backward
    }
    fn backward(&self, s: &Setup, g: &[Option<Tensor>], needs: &Set) -> Result<Tangents> {
        let Some(g) = &g[0] else { return Ok(smallvec![None, None]) };
        let times = |i: usize| needs.has(1 - i).then(|| g.mul(&s.saved[i])).transpose();
        Ok(smallvec![times(1)?, times(0)?])
    }
    fn vmap(&self, _: BatchInfo, dims: &[Option<usize>], args: &[Tensor]) -> Result<Option<Mapped>> {
        let Some(dim) = self.vmap else { return Ok(None) };
        assert_eq!(dims, [Some(0), None]);
        let forward = Forward::of([args[0].mul(&args[1])?.sum(&[1], false)?]);
        Ok(Some(Mapped { forward, dims: smallvec![Some(dim)] }))
    }
}

fn dot(f: Dot) -> impl Fn(&Tensor, &Tensor) -> Result<Tensor> {
    let f: Arc<dyn Function> = Arc::new(f);
    move |a, b| Ok(apply(&f, &[a.clone(), b.clone()])?.remove(0))
}

#[test]
fn the_generated_batch_sums_cotangents_of_shared_inputs() {
    let rows = Tensor::from_slice([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let w = vector(&X);
    let f = dot(Dot { dirty: false, vmap: None });
    let sum = |w: &Tensor| vmap(|row| f(row, w), &rows)?.sum_all();
    close(&sum(&w).unwrap(), &[5.0 * 0.5 - 7.0 * 1.5 + 9.0 * 2.0]);
    close(&grad(sum, &w).unwrap(), &[5.0, 7.0, 9.0]);
    close(&vmap(|row| grad(|w| f(row, w), &w), &rows).unwrap(), &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    close(&tangent(sum, &w).unwrap(), &[21.0]);
    let none = Tensor::zeros([0, 3], DType::F64).unwrap();
    close(&grad(|w| vmap(|row| f(row, w), &none)?.sum_all(), &w).unwrap(), &[0.0; 3]);
}

#[test]
fn a_batching_rule_is_used_and_checked() {
    let (rows, w) = (Tensor::ones([2, 3], DType::F64).unwrap(), vector(&X));
    let over = |f: Dot| {
        let f = dot(f);
        vmap_with(|(row, w)| f(row, w), (&rows, &w), &VmapOptions::default().in_dims([Some(0), None]))
    };
    close(&over(Dot { dirty: false, vmap: Some(0) }).unwrap(), &[1.0, 1.0]);
    let e = over(Dot { dirty: false, vmap: Some(1) }).unwrap_err();
    assert!(e.message().starts_with("Dot.vmap: output 0 of shape [2] has no batch of size 2 at dimension 1"), "{e}");
}

#[test]
fn changed_arguments_are_told_through_all_levels() {
    let f: Arc<dyn Function> = Arc::new(Dot { dirty: true, vmap: None });
    let w = vector(&X);
    let check = |x: &Tensor| {
        let run = apply_all(&f, &[x.clone(), w.clone()])?;
        assert_eq!(run.dirty, [(1, 0)]);
        run.outputs[0].sum_all()
    };
    check(&w).unwrap();
    grad(check, &w).unwrap();
    tangent(check, &w).unwrap();
    let rows = Tensor::ones([2, 3], DType::F64).unwrap();
    vmap(|row| grad(check, row), &rows).unwrap();
    grad(|rows| vmap(check, rows)?.sum_all(), &rows).unwrap();
}

/// Rules that are wrong in the way that is asked for.
struct Wrong(&'static str);

impl Function for Wrong {
    fn name(&self) -> &str {
        "Wrong"
    }
    fn forward(&self, args: &[Tensor]) -> Result<Forward> {
        Ok(Forward::of([args[0].mul(2.0)?]))
    }
    fn setup(&self, inputs: &[Tensor], _: &mut Forward, _: &Set) -> Result<Setup> {
        Ok(Setup::saving(inputs.iter().cloned()))
    }
    fn has(&self, rule: Rule) -> bool {
        self.0 != "nothing" && rule == if self.0.starts_with("jvp") { Rule::Jvp } else { Rule::Backward }
    }
    fn backward(&self, s: &Setup, g: &[Option<Tensor>], _: &Set) -> Result<Tangents> {
        let g = g[0].clone().map_or_else(|| s.saved[0].zeros_like(), Ok)?;
        Ok(match self.0 {
            "count" => smallvec![Some(g.clone()), Some(g)],
            "shape" => smallvec![Some(vector(&[1.0, 2.0]))],
            "broadcast" => smallvec![Some(Tensor::stack(&[&g, &g], 0)?)],
            "affine" => smallvec![Some(g.mul(2.0)?.add(1.0)?)],
            "square" => smallvec![Some(g.mul(&g)?)],
            _ => smallvec![Some(g.mul(2.0)?)],
        })
    }
    fn jvp(&self, _: &Setup, t: &[Option<Tensor>]) -> Result<Tangents> {
        Ok(match (self.0, &t[0]) {
            ("jvp shape", _) => smallvec![Some(vector(&[1.0]))],
            ("jvp square", Some(t)) => smallvec![Some(t.mul(t)?)],
            _ => smallvec![None],
        })
    }
}

#[test]
fn wrong_rules_raise() {
    let x = vector(&X);
    let wrong = |what: &'static str| {
        let f: Arc<dyn Function> = Arc::new(Wrong(what));
        move |x: &Tensor| apply(&f, std::slice::from_ref(x))?.remove(0).sum_all()
    };
    for (what, text) in [
        ("count", "Wrong.backward: function returned an incorrect number of gradients (expected 1, got 2)"),
        ("shape", "Wrong.backward: function returned an invalid gradient at index 0, for argument 0 - got [2]"),
        ("jvp square", "Wrong: has no backward staticmethod, and it cannot be derived from jvp, which is not linear"),
        ("nothing", "Wrong: has no backward staticmethod"),
    ] {
        let e = grad(wrong(what), &x).unwrap_err();
        assert!(e.message().starts_with(text), "{e}");
    }
    for (what, text) in [
        ("affine", "Wrong: has no jvp staticmethod, and it cannot be derived from backward, which is not linear"),
        ("square", "Wrong: has no jvp staticmethod, and it cannot be derived from backward, which is not linear"),
        ("jvp shape", "Wrong.jvp: tangent 0 has dtype float64 and shape [1], expected those of output 0"),
        ("jvp none", "Wrong.jvp: returned None for output 0, which is differentiable"),
        ("nothing", "Wrong: has no jvp staticmethod"),
    ] {
        let e = tangent(wrong(what), &x).unwrap_err();
        assert!(e.message().starts_with(text), "{e}");
    }
    close(&grad(wrong("broadcast"), &x).unwrap(), &[2.0; 3]);
    assert_eq!(grad(wrong("nothing"), &x).unwrap_err().kind(), ErrorKind::NotImplemented);
}

#[test]
fn an_alias_hangs_behind_its_value() {
    let x = vector(&X);
    let g = grad(
        |x| {
            let twin = alias(x)?;
            assert!(!twin.same(x));
            twin.mul(x)?.sum_all()
        },
        &x,
    );
    close(&g.unwrap(), &X.map(|x| 2.0 * x));
    close(&vmap(alias, &x).unwrap(), &X);
    close(&tangent(alias, &x).unwrap(), &[1.0; 3]);
}

#[test]
fn what_lost_its_history_raises_where_it_is_differentiated() {
    let (x, c) = (vector(&X), vector(&[1.0; 3]));
    let f = |x: &Tensor| lost("why it is lost", &c, &[x])?.sum_all();
    close(&f(&x).unwrap(), &[3.0]);
    close(&vmap(f, &x).unwrap(), &[3.0; 3]);
    let e = grad(f, &x).unwrap_err();
    assert!(e.message().contains("why it is lost"), "{e}");
}

#[test]
fn a_traced_function_stays_one_operator_with_its_rules() {
    let x = vector(&X);
    let cube = Cube::new(CubeRule::Constant);
    let program = trace(|x| cube.call(x)?.sin()?.sum_all(), &x).unwrap();
    assert_eq!(program.to_string().matches("Cube").count(), 1);
    cube.counts();
    let run = |x: &Tensor| program.call(x);
    let want = X.map(|x: f64| 3.0 * x * x * (x * x * x).cos());
    close(&grad(run, &x).unwrap(), &want);
    assert_eq!(cube.counts(), (1, 1));
    let rows = Tensor::stack(&[&x, &x], 0).unwrap();
    close(&vmap(|row| grad(run, row), &rows).unwrap(), &[want, want].concat());
    let push = linearize(|x| cube.call(x), &x).unwrap().1;
    close(&push(&x.ones_like().unwrap()).unwrap(), &X.map(|x| 3.0 * x * x));
}

/// exp(x) sin(x) with a residual that its forward computes.
fn wave() -> impl Fn(&Tensor) -> Result<Tensor> {
    custom_vjp(
        |x: &Tensor| {
            let (e, s) = (x.exp()?, x.sin()?);
            Ok((e.mul(&s)?, (e, x.clone())))
        },
        |(e, x), g| g.mul(e)?.mul(&x.sin()?.add(&x.cos()?)?),
    )
}

#[test]
fn closures_have_derivatives_of_all_orders() {
    let (x, f) = (vector(&X), wave());
    let total = |x: &Tensor| f(x)?.sum_all();
    let first = X.map(|x: f64| x.exp() * (x.sin() + x.cos()));
    let second = X.map(|x: f64| 2.0 * x.exp() * x.cos());
    let third = X.map(|x: f64| 2.0 * x.exp() * (x.cos() - x.sin()));
    close(&f(&x).unwrap(), &X.map(|x: f64| x.exp() * x.sin()));
    close(&grad(total, &x).unwrap(), &first);
    close(&tangent(&f, &x).unwrap(), &first);
    close(&vmap(|x| grad(&f, x), &x).unwrap(), &first);
    close(&grad(|x| vmap(&f, x)?.sum_all(), &x).unwrap(), &first);
    close(&hessian(total, &x).unwrap().sum(&[0], false).unwrap(), &second);
    close(&tangent(|x| grad(total, x), &x).unwrap(), &second);
    close(&grad(|x| tangent(&f, x)?.sum_all(), &x).unwrap(), &second);
    close(&vmap(|x| grad(|x| grad(&f, x), x), &x).unwrap(), &second);
    close(&vmap(|x| grad(|x| grad(|x| grad(&f, x), x), x), &x).unwrap(), &third);
    close(&jacfwd(|x| grad(|x| grad(total, x)?.sum_all(), x), &x).unwrap().sum(&[0], false).unwrap(), &third);
    let (_, pull) = vjp(&f, &x).unwrap();
    close(&pull(&x.ones_like().unwrap()).unwrap(), &first);
}

#[test]
fn a_tangent_rule_serves_both_modes() {
    let f = custom_jvp(
        |[x, y]: &[Tensor; 2]| Ok((x.mul(y)?, x.sin()?)),
        |[x, y], [t, u]| Ok((t.mul(y)?.add(&x.mul(u)?)?, t.mul(&x.cos()?)?)),
    );
    let (x, y) = (vector(&X), vector(&[2.0, 3.0, -1.0]));
    let total = |x: &Tensor| {
        let out = f(&[x.clone(), y.clone()])?;
        out.0.mul(&out.1)?.sum_all()
    };
    let at = [2.0, 3.0, -1.0];
    let first: Vec<f64> = X.iter().zip(at).map(|(x, y)| y * (x.sin() + x * x.cos())).collect();
    let second: Vec<f64> = X.iter().zip(at).map(|(x, y)| y * (2.0 * x.cos() - x * x.sin())).collect();
    close(&grad(total, &x).unwrap(), &first);
    close(&tangent(|x| grad(total, x), &x).unwrap(), &second);
    close(&grad(|x| grad(total, x)?.sum_all(), &x).unwrap(), &second);
    close(&grad(|x| tangent(total, x), &x).unwrap(), &second);
}

#[test]
fn residuals_of_equal_arguments_are_told_apart() {
    let f = custom_vjp(
        |x: &[Tensor]| Ok((vec![x[0].mul(&x[1])?], x.to_vec())),
        |r, g| Ok(vec![Some(g[0].mul(&r[1])?), Some(g[0].mul(&r[0])?)]),
    );
    let x = vector(&X);
    let product = |a: &Tensor, b: &Tensor| f(&[a.clone(), b.clone()])?[0].sum_all();
    // d/db of d/da (a b) is 1, d/da of it is 0, although both are one array.
    let slope = |a: &Tensor, b: &Tensor| grad(|a| product(a, b), a)?.sum_all();
    close(&grad(|b| slope(&x, b), &x).unwrap(), &[1.0; 3]);
    close(&grad(|a| slope(a, &x), &x).unwrap(), &[0.0; 3]);
    close(&grad(|x| product(x, x), &x).unwrap(), &X.map(|x| 2.0 * x));
}

#[test]
fn wrong_closures_raise() {
    let x = vector(&X);
    let of = |back: fn(&(), &[Tensor]) -> Result<Vec<Option<Tensor>>>| {
        let f = custom_vjp(|x: &[Tensor]| Ok((vec![x[0].mul(2.0)?], ())), back);
        move |x: &Tensor| Ok(f(std::slice::from_ref(x))?.remove(0))
    };
    let message = |result: Result<Tensor>| result.unwrap_err().message().to_string();
    let total = |f: &dyn Fn(&Tensor) -> Result<Tensor>| message(grad(|x| f(x)?.sum_all(), &x));
    let e = total(&of(|_, _| Ok(Vec::new())));
    assert!(e.contains("tests.rs:") && e.contains("returned 0 gradients, expected one for each of 1 arguments"), "{e}");
    let e = total(&of(|_, _| Ok(vec![Some(vector(&[1.0, 2.0]))])));
    assert!(e.contains("invalid gradient at index 0") && e.contains("got [2]"), "{e}");
    let e = total(&of(|_, _| bail!(Value, "stop")));
    assert!(e.contains("stop"), "{e}");
    let e = message(tangent(of(|_, g| Ok(vec![Some(g[0].mul(&g[0])?)])), &x));
    assert!(e.contains("the backward closure is not linear in the gradients") && e.contains("custom_jvp()"), "{e}");
    let f = custom_jvp(|x: &[Tensor]| Ok(vec![x[0].mul(2.0)?]), |_, _| Ok(Vec::<Tensor>::new()));
    let e = message(tangent(|x| Ok(f(std::slice::from_ref(x))?.remove(0)), &x));
    assert!(e.contains("returned 0 tangents, expected one for each of 1 results"), "{e}");
    let f = custom_jvp(|x: &[Tensor]| Ok(vec![x[0].mul(2.0)?]), |_, t| Ok(vec![t[0].mul(&t[0])?]));
    let e = message(grad(|x| f(std::slice::from_ref(x))?[0].sum_all(), &x));
    assert!(e.contains("the closure of tangents is not linear in the tangents") && e.contains("custom_vjp()"), "{e}");
    assert_eq!(level::height(), 0);
}

#[test]
fn what_a_forward_captures_must_be_an_argument() {
    let x = vector(&X);
    let scaled = |w: &Tensor| {
        let w = w.clone();
        custom_vjp(move |x: &Tensor| Ok((x.mul(&w)?, ())), |_, g| Ok(g.clone()))
    };
    let sum = |w: &Tensor| scaled(w)(&w.mul(2.0)?)?.sum_all();
    close(&sum(&x).unwrap(), &[2.0 * X.iter().map(|x| x * x).sum::<f64>()]);
    let e = grad(sum, &x).unwrap_err();
    assert!(e.message().contains("the forward closure: mul() uses a captured tensor that requires grad"), "{e}");
    let given = |w: &Tensor| {
        let w = w.clone();
        let f = custom_vjp(move |_: &[Tensor]| Ok((vec![w.clone()], ())), |_, g| Ok(vec![Some(g[0].clone())]));
        f(&[x.mul(2.0)?, x.clone()][..1])
    };
    let plain = given(&x).unwrap();
    assert_eq!(plain[0].level(), LevelId::DENSE);
}

#[test]
fn another_run_draws_the_same_numbers() {
    let _alone = nobody_draws();
    let f = custom_vjp(
        |x: &Tensor| {
            let noise = rand_like(x, None, None, Layout::None, Device::None, false, MemoryFormat::None)?;
            let slope = noise.mul(x)?;
            Ok((slope.mul(x)?.mul(0.5)?, slope))
        },
        |slope, g| g.mul(slope),
    );
    let total = |x: &Tensor| f(x)?.sum_all();
    // The derivative of what `slope` is: the noise, which its second run draws again.
    let g = grad(|x| grad(total, x)?.sum_all(), &vector(&X)).unwrap().to_vec::<f64>().unwrap();
    assert!(g.iter().all(|g| (0.0..1.0).contains(g)) && g[0] != g[1], "{g:?}");
}

#[test]
fn draws_of_other_threads_are_no_part_of_a_run() {
    let _alone = nobody_draws();
    let f = custom_vjp(
        |x: &Tensor| {
            let elsewhere = x.detach()?;
            let draw = move || rand_like(&elsewhere, None, None, Layout::None, Device::None, false, MemoryFormat::None);
            std::thread::spawn(draw).join().expect("the other thread ends")?;
            let slope = x.mul(3.0)?;
            Ok((slope.mul(x)?.mul(0.5)?, slope))
        },
        |slope, g| slope.mul(g),
    );
    let x = vector(&X);
    let before = default_generator().position();
    let total = |x: &Tensor| f(x)?.sum_all();
    close(&grad(|x| grad(total, x)?.sum_all(), &x).unwrap(), &[3.0; 3]);
    assert_ne!(default_generator().position(), before);
}
