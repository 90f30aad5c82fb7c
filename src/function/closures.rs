//! Functions whose derivatives are closures.

use super::followers::Followers;
use super::rules::{At, Part, Place, Primal, Rules, Turn, apply_rules};
use super::{Forward, Rule};
use crate::bail;
use crate::base::Result;
use crate::core::node::Meta;
use crate::core::origin::{Origin, at_here};
use crate::core::tensor::Payload;
use crate::core::{Tangents, Tensor, watch};
use crate::rules::basis;
use smallvec::SmallVec;
use std::panic::Location;
use std::sync::Arc;

type Run = dyn Fn(&[Tensor]) -> Result<(Vec<Tensor>, Vec<Tensor>)> + Send + Sync;
type Bwd = dyn Fn(&[Tensor], &[Tensor]) -> Result<Vec<Option<Tensor>>> + Send + Sync;
type Push = dyn Fn(&[Tensor], &[Tensor]) -> Result<Vec<Tensor>> + Send + Sync;

enum Derivative {
    Backward(Box<Bwd>),
    Jvp(Box<Push>),
}

/// A function and its rule.
struct Closures {
    name: String,
    origin: Origin,
    /// Results and residuals.
    run: Box<Run>,
    derivative: Derivative,
}

#[derive(Clone)]
struct Call(Arc<Closures>);

/// A function of tensors whose derivative `backward` gives.
///
/// `forward` returns the results and the *residuals*: what `backward` needs of them, of the arguments, or of what was
/// computed on the way. `backward` takes the residuals and one cotangent for each result (zeros where nothing depends on
/// it) and returns one gradient for each argument, `None` for those without. Both are written in operators, so the
/// function may stand anywhere in other transforms, and has derivatives of any order. Forward mode uses the transpose of
/// `backward`. What the closures capture is a constant.
///
/// # Errors
/// The returned function raises `Runtime` if `backward` returns another number of gradients than there are arguments, or
/// gradients of other shapes, and if `forward` uses a captured tensor that is being differentiated. Under forward mode it
/// raises if `backward` is not linear in the cotangents.
///
/// ```
/// use pullback::{Tensor, custom_vjp, grad, hessian, jvp, vmap};
///
/// // log(1 + exp(x)), whose derivative is written such that it does not overflow.
/// let softplus = custom_vjp(
///     |x| {
///         let y = x[0].exp()?.log1p()?;
///         Ok((vec![y], vec![x[0].clone()]))
///     },
///     |residuals, g| Ok(vec![Some(g[0].mul(&residuals[0].sigmoid()?)?)]),
/// );
/// let f = |x: &Tensor| softplus(&[x.clone()])?[0].sum_all();
///
/// let x = Tensor::from_slice([2], &[0.0, 1000.0])?;
/// assert_eq!(grad(&f, &x)?.to_vec::<f64>()?, [0.5, 1.0]);
/// assert_eq!(hessian(&f, &x)?.to_vec::<f64>()?, [0.25, 0.0, 0.0, 0.0]);
/// let rows = vmap(|row| grad(&f, row), &Tensor::stack(&[&x, &x], 0)?)?;
/// assert_eq!(rows.to_vec::<f64>()?, [0.5, 1.0, 0.5, 1.0]);
/// let along = Tensor::from_slice([2], &[1.0, 2.0])?;
/// let (_, tangent) = jvp(|x| softplus(x), &[x], &[along])?;
/// assert_eq!(tangent[0].to_vec::<f64>()?, [0.5, 2.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[track_caller]
pub fn custom_vjp<F, B>(forward: F, backward: B) -> impl Fn(&[Tensor]) -> Result<Vec<Tensor>> + Clone + Send + Sync
where
    F: Fn(&[Tensor]) -> Result<(Vec<Tensor>, Vec<Tensor>)> + Send + Sync + 'static,
    B: Fn(&[Tensor], &[Tensor]) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
{
    let name = format!("custom_vjp at {}", Location::caller());
    callable(name, Box::new(forward), Derivative::Backward(Box::new(backward)))
}

/// A function of tensors whose tangents `rule` gives.
///
/// `rule` takes the arguments and one tangent for each of them (zeros where there is none), and returns one tangent for
/// each result. It must be linear in the tangents and is written in operators: reverse mode is its transpose, and
/// derivatives of higher order are those of the rule.
///
/// # Errors
/// The returned function raises `Runtime` if `rule` returns another number of tangents than there are results, or
/// tangents of other shapes, and if `function` uses a captured tensor that is being differentiated. Under reverse mode it
/// raises if `rule` is not linear in the tangents.
///
/// ```
/// use pullback::{Tensor, custom_jvp, grad, jacfwd, vmap};
///
/// let cube = custom_jvp(
///     |x| Ok(vec![x[0].mul(&x[0])?.mul(&x[0])?]),
///     |x, t| Ok(vec![t[0].mul(&x[0])?.mul(&x[0])?.mul(3.0)?]),
/// );
/// let f = |x: &Tensor| cube(&[x.clone()])?[0].sum_all();
///
/// let x = Tensor::from_slice([2], &[1.0, 2.0])?;
/// assert_eq!(grad(&f, &x)?.to_vec::<f64>()?, [3.0, 12.0]);
/// assert_eq!(jacfwd(|x| grad(&f, x), &x)?.to_vec::<f64>()?, [6.0, 0.0, 0.0, 12.0]);
/// assert_eq!(vmap(|x| grad(&f, x), &x)?.to_vec::<f64>()?, [3.0, 12.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[track_caller]
pub fn custom_jvp<F, J>(function: F, rule: J) -> impl Fn(&[Tensor]) -> Result<Vec<Tensor>> + Clone + Send + Sync
where
    F: Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync + 'static,
    J: Fn(&[Tensor], &[Tensor]) -> Result<Vec<Tensor>> + Send + Sync + 'static,
{
    let name = format!("custom_jvp at {}", Location::caller());
    callable(name, Box::new(move |x| Ok((function(x)?, Vec::new()))), Derivative::Jvp(Box::new(rule)))
}

fn callable(
    name: String,
    run: Box<Run>,
    derivative: Derivative,
) -> impl Fn(&[Tensor]) -> Result<Vec<Tensor>> + Clone + Send + Sync {
    let call = Call(Arc::new(Closures { origin: Origin::intern(name.clone()), name, run, derivative }));
    move |args| {
        let followers = Followers::of(args);
        if followers.is_nobody() {
            return Ok((call.0.run)(args)?.0);
        }
        let (_, mut run) = apply_rules(call.clone(), args, followers)?;
        let results = run.results() - run.unseen;
        run.outputs.truncate(results);
        Ok(run.outputs.into_vec())
    }
}

/// The arguments such that no two are one value: residuals are told by what they are.
fn apart(args: &[Tensor]) -> SmallVec<[Tensor; 4]> {
    let again = |(i, a): (usize, &Tensor)| match args[..i].iter().any(|b| b.same(a)) {
        true => match (a.payload(), a.dense()) {
            (Some(Payload::Batched { value, dim }), _) => Tensor::batched(a.level(), value.clone(), *dim),
            (None, Some(array)) => array.clone().into(),
            _ => a.clone(),
        },
        false => a.clone(),
    };
    args.iter().enumerate().map(again).collect()
}

/// An error if one of the values carries what nobody passed.
fn check_captured(values: &[Tensor]) -> Result<()> {
    match values.iter().position(watch::has_forbidden) {
        Some(i) => Err(watch::returned(i, values[i].level(), "that a transform follows")),
        None => Ok(()),
    }
}

fn zeros_of(m: &Meta) -> Result<Tensor> {
    basis::full(&m.shape, m.dtype, 0.0)
}

impl Rules for Call {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn origin(&self) -> Origin {
        self.0.origin
    }

    fn title(&self, part: Part) -> &'static str {
        match part {
            Part::Function => "the function itself",
            Part::Fwd => "the forward closure",
            Part::Bwd => "the backward closure",
            Part::Jvp => "the closure of tangents",
        }
    }

    fn remedy(&self, missing: Rule) -> &'static str {
        match missing {
            Rule::Jvp => "make it linear in the cotangents, or write the function with custom_jvp()",
            Rule::Backward => "make it linear in the tangents, or write the function with custom_vjp()",
        }
    }

    fn has(&self, rule: Rule) -> bool {
        matches!(
            (&self.0.derivative, rule),
            (Derivative::Backward(_), Rule::Backward) | (Derivative::Jvp(_), Rule::Jvp)
        )
    }

    fn run(&self, part: Part, args: &[Tensor], _: Turn) -> Result<Primal> {
        let args = apart(args);
        let (mut outputs, given) = (self.0.run)(&args)?;
        let count = outputs.len();
        let mut residuals = SmallVec::new();
        if part == Part::Fwd {
            for r in given {
                let place = match args.iter().position(|a| a.same(&r)) {
                    Some(i) => Place::Input(i),
                    None => Place::Output(outputs.iter().position(|o| o.same(&r)).unwrap_or_else(|| {
                        outputs.push(r);
                        outputs.len() - 1
                    })),
                };
                residuals.push(place);
            }
        }
        check_captured(&outputs)?;
        let unseen = outputs.len() - count;
        Ok(Primal { forward: Forward { unseen, ..Forward::of(outputs) }, residuals, written: Vec::new() })
    }

    fn backward(&self, at: &At<'_>, cotangents: &[Option<Tensor>]) -> Result<Tangents> {
        let Derivative::Backward(rule) = &self.0.derivative else { bail!(Internal, "{}: no backward", self.0.name) };
        let residuals: Vec<Tensor> = at.residuals().iter().map(|&k| at.saved()[k].clone()).collect();
        let dense = |(c, m): (&Option<Tensor>, &Meta)| c.clone().map_or_else(|| zeros_of(m), Ok);
        let cotangents = cotangents.iter().zip(at.outputs()).map(dense).collect::<Result<Vec<Tensor>>>()?;
        let grads = rule(&residuals, &cotangents)?;
        if grads.len() != at.inputs().len() {
            bail!(
                Runtime,
                "{}: {} returned {} gradients, expected one for each of {} arguments; give None for those without{}",
                self.0.name,
                self.title(Part::Bwd),
                grads.len(),
                at.inputs().len(),
                at_here()
            );
        }
        Ok(grads.into_iter().collect())
    }

    fn jvp(&self, at: &At<'_>, tangents: &[Option<Tensor>]) -> Result<Tangents> {
        let Derivative::Jvp(rule) = &self.0.derivative else { bail!(Internal, "{}: no jvp", self.0.name) };
        let primals: Vec<Tensor> = at.inputs().iter().flatten().map(|&k| at.saved()[k].clone()).collect();
        let dense = |(t, x): (&Option<Tensor>, &Tensor)| t.clone().map_or_else(|| basis::zeros_like(x), Ok);
        let tangents = tangents.iter().zip(&primals).map(dense).collect::<Result<Vec<Tensor>>>()?;
        let found = rule(&primals, &tangents)?;
        if found.len() != at.outputs().len() {
            bail!(
                Runtime,
                "{}: {} returned {} tangents, expected one for each of {} results{}",
                self.0.name,
                self.title(Part::Jvp),
                found.len(),
                at.outputs().len(),
                at_here()
            );
        }
        Ok(found.into_iter().map(Some).collect())
    }
}
