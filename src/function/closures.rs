//! Functions whose derivatives are closures.

use super::followers::Followers;
use super::rules::{At, Part, Primal, ResidualPlace, Rules, Turn, apply_rules};
use super::{Forward, Rule};
use crate::bail;
use crate::base::Result;
use crate::core::node::Meta;
use crate::core::origin::{Origin, at_here};
use crate::core::tensor::Payload;
use crate::core::tensors::{list, rebuild};
use crate::core::{Gradients, Tangents, Tensor, Tensors, method_scope};
use crate::rules::basis;
use smallvec::SmallVec;
use std::borrow::Borrow;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

type List = SmallVec<[Tensor; 4]>;

/// What a user wrote, over lists, for one call of it.
trait ClosureRule: Send + Sync + 'static {
    fn name(&self) -> &str;
    fn origin(&self) -> Origin;
    /// The rule that there is; the other one is its transpose.
    fn rule(&self) -> Rule;
    /// Results and residuals.
    fn run(&self, args: List) -> Result<(List, List)>;
    /// Gradients, for these residuals and cotangents, or tangents, for these arguments and their tangents.
    fn derivative(&self, known: List, along: List) -> Result<Tangents>;
}

/// The parts of a function that all its calls share.
struct Closures<F, D> {
    name: String,
    origin: Origin,
    function: F,
    derivative: D,
}

impl<F, D> Closures<F, D> {
    #[track_caller]
    fn new(what: &str, function: F, derivative: D) -> Arc<Closures<F, D>> {
        let name = format!("{what} at {}", Location::caller());
        Arc::new(Closures { origin: Origin::intern(name.clone()), name, function, derivative })
    }
}

/// The arrangement of tensors, and how many there are.
struct Arranged<T: Tensors>(T::Structure, usize);

/// The tensors in the arrangement that a run of the forward has found.
fn arranged<T: Tensors>(name: &str, found: Option<&Arranged<T>>, tensors: List) -> Result<T::Owned> {
    match found {
        Some(Arranged(structure, count)) if tensors.len() == *count => Ok(rebuild::<T>(structure, tensors)),
        Some(Arranged(_, count)) => bail!(Internal, "{name}: got {} tensors for {count} of its forward", tensors.len()),
        None => bail!(Internal, "{name}: its forward has not run"),
    }
}

/// Gives the tensors as a list, and remembers their arrangement.
fn taken<T: Tensors>(tensors: &T, found: &OnceLock<Arranged<T>>) -> List {
    let all: List = list(tensors).into_iter().cloned().collect();
    found.get_or_init(|| Arranged(tensors.structure(), all.len()));
    all
}

/// A call of a function with a rule for reverse mode.
struct Backward<V: Tensors + ?Sized, O: Tensors, R: Tensors, F, B> {
    closures: Arc<Closures<F, B>>,
    inputs: V::Structure,
    outputs: OnceLock<Arranged<O>>,
    residuals: OnceLock<Arranged<R>>,
    signature: PhantomData<fn(&V)>,
}

impl<V, O, R, G, F, B> ClosureRule for Backward<V, O, R, F, B>
where
    V: Tensors<View = V> + ?Sized + 'static,
    O: Tensors + 'static,
    R: Tensors + 'static,
    G: Gradients,
    F: Fn(&V) -> Result<(O, R)> + Send + Sync + 'static,
    B: Fn(&R::View, &O::View) -> Result<G> + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        &self.closures.name
    }
    fn origin(&self) -> Origin {
        self.closures.origin
    }
    fn rule(&self) -> Rule {
        Rule::Backward
    }
    fn run(&self, args: List) -> Result<(List, List)> {
        let (outputs, residuals) = (self.closures.function)(rebuild::<V>(&self.inputs, args).borrow())?;
        Ok((taken(&outputs, &self.outputs), taken(&residuals, &self.residuals)))
    }
    fn derivative(&self, residuals: List, cotangents: List) -> Result<Tangents> {
        let residuals = arranged(self.name(), self.residuals.get(), residuals)?;
        let cotangents = arranged(self.name(), self.outputs.get(), cotangents)?;
        let mut grads = Tangents::new();
        (self.closures.derivative)(residuals.borrow(), cotangents.borrow())?.put(&mut grads);
        Ok(grads)
    }
}

/// A call of a function with a rule for forward mode.
struct Jvp<V: Tensors + ?Sized, O: Tensors, F, J> {
    closures: Arc<Closures<F, J>>,
    inputs: V::Structure,
    outputs: OnceLock<Arranged<O>>,
    signature: PhantomData<fn(&V)>,
}

impl<V, O, T, F, J> ClosureRule for Jvp<V, O, F, J>
where
    V: Tensors<View = V> + ?Sized + 'static,
    O: Tensors + 'static,
    T: Tensors<Owned = O::Owned>,
    F: Fn(&V) -> Result<O> + Send + Sync + 'static,
    J: Fn(&V, &V) -> Result<T> + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        &self.closures.name
    }
    fn origin(&self) -> Origin {
        self.closures.origin
    }
    fn rule(&self) -> Rule {
        Rule::Jvp
    }
    fn run(&self, args: List) -> Result<(List, List)> {
        let outputs = (self.closures.function)(rebuild::<V>(&self.inputs, args).borrow())?;
        Ok((taken(&outputs, &self.outputs), List::new()))
    }
    fn derivative(&self, primals: List, tangents: List) -> Result<Tangents> {
        let (x, t) = (rebuild::<V>(&self.inputs, primals), rebuild::<V>(&self.inputs, tangents));
        Ok(list(&(self.closures.derivative)(x.borrow(), t.borrow())?).into_iter().cloned().map(Some).collect())
    }
}

/// A function whose derivative `backward` gives.
///
/// `forward` takes the inputs and returns the results and the *residuals*: what `backward` needs of the results, of the
/// inputs, or of what was computed on the way. `backward` takes the residuals and one cotangent for each result (zeros
/// where nothing depends on it) and returns one gradient for each input, `None` for those without. All of these are tensors
/// in any arrangement ([`Tensors`]); only the type of the inputs has to be written. Both closures are written in operators,
/// so the function may stand anywhere in other transforms, and has derivatives of any order. Forward mode uses the transpose
/// of `backward`. What the closures capture is a constant.
///
/// # Errors
/// The returned function raises `Runtime` if `backward` returns another number of gradients than there are inputs, or
/// gradients of other shapes, and if `forward` uses a captured tensor that is being differentiated. Under forward mode it
/// raises if `backward` is not linear in the cotangents.
///
/// ```
/// use pullback::{Tensor, custom_vjp, grad, hessian, jvp, vmap};
///
/// // log(1 + exp(x)), whose derivative is written such that it does not overflow.
/// let softplus = custom_vjp(
///     |x: &Tensor| Ok((x.exp()?.log1p()?, x.clone())),
///     |x, g| g.mul(&x.sigmoid()?),
/// );
/// let f = |x: &Tensor| softplus(x)?.sum_all();
///
/// let x = Tensor::from_slice([2], &[0.0, 1000.0])?;
/// assert_eq!(grad(f, &x)?.to_vec::<f64>()?, [0.5, 1.0]);
/// assert_eq!(hessian(f, &x)?.to_vec::<f64>()?, [0.25, 0.0, 0.0, 0.0]);
/// let rows = vmap(|row| grad(f, row), &Tensor::stack(&[&x, &x], 0)?)?;
/// assert_eq!(rows.to_vec::<f64>()?, [0.5, 1.0, 0.5, 1.0]);
/// let along = Tensor::from_slice([2], &[1.0, 2.0])?;
/// let (_, tangent) = jvp(&softplus, &x, &along)?;
/// assert_eq!(tangent.to_vec::<f64>()?, [0.5, 2.0]);
///
/// // Two inputs, of which the second has no gradient.
/// let scaled = custom_vjp(
///     |(x, by): &(Tensor, Tensor)| Ok((x.mul(by)?, by.clone())),
///     |by, g| Ok((g.mul(by)?, None)),
/// );
/// let g = grad(|x| scaled(&(x.clone(), along.clone()))?.sum_all(), &x)?;
/// assert_eq!(g.to_vec::<f64>()?, [1.0, 2.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[track_caller]
pub fn custom_vjp<V, O, R, G>(
    forward: impl Fn(&V) -> Result<(O, R)> + Send + Sync + 'static,
    backward: impl Fn(&R::View, &O::View) -> Result<G> + Send + Sync + 'static,
) -> impl Fn(&V) -> Result<O::Owned> + Clone + Send + Sync
where
    V: Tensors<View = V> + ?Sized + 'static,
    O: Tensors + 'static,
    R: Tensors + 'static,
    G: Gradients,
{
    let closures = Closures::new("custom_vjp", forward, backward);
    move |args: &V| {
        let values = list(args);
        let followers = Followers::of(values.iter().copied());
        if followers.is_nobody() {
            return owned((closures.function)(args)?.0);
        }
        let (inputs, outputs, residuals) = (args.structure(), OnceLock::new(), OnceLock::new());
        let (closures, signature) = (closures.clone(), PhantomData);
        let call = Arc::new(Backward::<V, O, R, _, _> { closures, inputs, outputs, residuals, signature });
        let results = apply(call.clone(), &values, followers)?;
        arranged(call.name(), call.outputs.get(), results)
    }
}

/// A function whose tangents `rule` gives.
///
/// `rule` takes the inputs and one tangent for each of them (zeros where there is none), and returns one tangent for
/// each result; all of these in any arrangement ([`Tensors`]). It must be linear in the tangents and is written in
/// operators: reverse mode is its transpose, and derivatives of higher order are those of the rule.
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
///     |x: &Tensor| x.mul(x)?.mul(x),
///     |x, t| t.mul(x)?.mul(x)?.mul(3.0),
/// );
/// let f = |x: &Tensor| cube(x)?.sum_all();
///
/// let x = Tensor::from_slice([2], &[1.0, 2.0])?;
/// assert_eq!(grad(f, &x)?.to_vec::<f64>()?, [3.0, 12.0]);
/// assert_eq!(jacfwd(|x| grad(f, x), &x)?.to_vec::<f64>()?, [6.0, 0.0, 0.0, 12.0]);
/// assert_eq!(vmap(|x| grad(f, x), &x)?.to_vec::<f64>()?, [3.0, 12.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[track_caller]
pub fn custom_jvp<V, O, T>(
    function: impl Fn(&V) -> Result<O> + Send + Sync + 'static,
    rule: impl Fn(&V, &V) -> Result<T> + Send + Sync + 'static,
) -> impl Fn(&V) -> Result<O::Owned> + Clone + Send + Sync
where
    V: Tensors<View = V> + ?Sized + 'static,
    O: Tensors + 'static,
    T: Tensors<Owned = O::Owned>,
{
    let closures = Closures::new("custom_jvp", function, rule);
    move |args: &V| {
        let values = list(args);
        let followers = Followers::of(values.iter().copied());
        if followers.is_nobody() {
            return owned((closures.function)(args)?);
        }
        let (inputs, outputs, signature) = (args.structure(), OnceLock::new(), PhantomData);
        let call = Arc::new(Jvp::<V, O, _, _> { closures: closures.clone(), inputs, outputs, signature });
        let results = apply(call.clone(), &values, followers)?;
        arranged(call.name(), call.outputs.get(), results)
    }
}

/// Results in the arrangement of those that the function returned itself.
fn owned<O: Tensors>(results: O) -> Result<O::Owned> {
    let structure = results.structure();
    Ok(rebuild::<O>(&structure, list(&results).into_iter().cloned()))
}

#[derive(Clone)]
struct ClosureRules(Arc<dyn ClosureRule>);

fn apply(call: Arc<dyn ClosureRule>, args: &[&Tensor], followers: Followers) -> Result<List> {
    let args: List = args.iter().map(|&a| a.clone()).collect();
    let (_, mut run) = apply_rules(ClosureRules(call), &args, followers)?;
    let results = run.results() - run.unseen;
    run.outputs.truncate(results);
    Ok(run.outputs.into_iter().collect())
}

/// The arguments such that no two are one value: residuals are told by what they are.
fn apart(args: &[Tensor]) -> List {
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
    match values.iter().position(method_scope::has_forbidden) {
        Some(i) => Err(method_scope::returned(i, values[i].level(), "that a transform follows")),
        None => Ok(()),
    }
}

fn zeros_of(m: &Meta) -> Result<Tensor> {
    basis::full(&m.shape, m.dtype, 0.0)
}

impl Rules for ClosureRules {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn origin(&self) -> Origin {
        self.0.origin()
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
        self.0.rule() == rule
    }

    fn run(&self, part: Part, args: &[Tensor], _: Turn) -> Result<Primal> {
        let args = apart(args);
        let (mut outputs, given) = self.0.run(args.clone())?;
        let count = outputs.len();
        let mut residuals = SmallVec::new();
        if part == Part::Fwd {
            for r in given {
                let place = match args.iter().position(|a| a.same(&r)) {
                    Some(i) => ResidualPlace::Input(i),
                    None => ResidualPlace::Output(outputs.iter().position(|o| o.same(&r)).unwrap_or_else(|| {
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
        let residuals = at.residuals().iter().map(|&k| at.saved()[k].clone()).collect();
        let dense = |(c, m): (&Option<Tensor>, &Meta)| c.clone().map_or_else(|| zeros_of(m), Ok);
        let cotangents = cotangents.iter().zip(at.outputs()).map(dense).collect::<Result<List>>()?;
        let grads = self.0.derivative(residuals, cotangents)?;
        if grads.len() != at.inputs().len() {
            bail!(
                Runtime,
                "{}: {} returned {} gradients, expected one for each of {} arguments; give None for those without{}",
                self.0.name(),
                self.title(Part::Bwd),
                grads.len(),
                at.inputs().len(),
                at_here()
            );
        }
        Ok(grads)
    }

    fn jvp(&self, at: &At<'_>, tangents: &[Option<Tensor>]) -> Result<Tangents> {
        let primals: List = at.inputs().iter().flatten().map(|&k| at.saved()[k].clone()).collect();
        if primals.len() != tangents.len() {
            bail!(Internal, "{}: {} of its {} arguments are saved", self.0.name(), primals.len(), tangents.len());
        }
        let dense = |(t, x): (&Option<Tensor>, &Tensor)| t.clone().map_or_else(|| basis::zeros_like(x), Ok);
        let tangents = tangents.iter().zip(&primals).map(dense).collect::<Result<List>>()?;
        let found = self.0.derivative(primals, tangents)?;
        if found.len() != at.outputs().len() {
            bail!(
                Runtime,
                "{}: {} returned {} tangents, expected one for each of {} results{}",
                self.0.name(),
                self.title(Part::Jvp),
                found.len(),
                at.outputs().len(),
                at_here()
            );
        }
        Ok(found)
    }
}
