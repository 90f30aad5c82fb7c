//! L6: custom functions. A user's function is an ordinary primitive: the interpreters treat it as they treat operators of
//! the table, and its rules compose like theirs. Python's `autograd.Function` implements the same trait.
//!
//! NOTE levels. `Function::setup` runs once at each level that needs a rule, on that level's own inputs and outputs, so
//! what it computes and saves is a value of that level: a tape stores it without its nodes, a batch without its level.
//! `backward` and `jvp` run on values of the levels below, so that higher orders compose:
//! ```text
//! grad(grad(F)):  tape 2 ── call below ── tape 1 ── call below ── forward on arrays
//!                 setup at 2 (values of 2)   setup at 1 (values of 1)
//! sweep of 2: backward on values of 1, which records on tape 1; sweep of 1: backward on arrays
//! ```

mod agree;
mod alias;
#[doc(hidden)]
pub mod batched;
mod closures;
#[doc(hidden)]
pub mod custom;
mod derived;
mod draws;
mod followers;
mod hidden;
mod history;
mod linearity;
mod lost;
#[doc(hidden)]
pub mod operator;
#[doc(hidden)]
pub mod rules;
mod setup_of;
#[cfg(test)]
mod tests;

use crate::bail;
use crate::base::{Result, Shape};
use crate::core::Tensor;
use crate::core::node::Meta;
use crate::core::origin::at_here;
use crate::core::primitive::no_rule;
use crate::core::reach::Reach;

pub use crate::core::Forward;
use crate::rules::basis;
use smallvec::SmallVec;
use std::sync::Arc;

#[doc(hidden)]
pub use agree::agree;
#[doc(hidden)]
pub use alias::alias;
pub use closures::{custom_jvp, custom_vjp};
pub use custom::apply;
#[doc(hidden)]
pub use custom::apply_all;
#[doc(hidden)]
pub use derived::{Source, transposed};
#[doc(hidden)]
pub use followers::Followers;
#[doc(hidden)]
pub use history::History;
#[doc(hidden)]
pub use linearity::{is_tried, pass_on};
#[doc(hidden)]
pub use lost::lost;
#[doc(hidden)]
pub use setup_of::setup_of;

pub use crate::core::saved_context::Context;
pub use crate::core::{BatchInfo, Outputs, Set, Tangents};
/// A short list of tensors.
pub type Values = SmallVec<[Tensor; 4]>;

/// What `setup` leaves for the rules.
pub struct Setup {
    /// What else the rules need, as a value of any type.
    pub context: Context,
    /// The tensors that the rules need, values of the level that `setup` ran at.
    pub saved: Values,
    /// Outputs that carry no derivative.
    pub non_differentiable: Set,
    /// Whether missing (co)tangents are given to the rules as zeros.
    pub materialize: bool,
    /// In a backward, where the saved tensors hang on the tape that is swept.
    #[doc(hidden)]
    pub history: Option<History>,
}

impl Setup {
    /// Saves these tensors and keeps no other state.
    pub fn saving(saved: impl IntoIterator<Item = Tensor>) -> Setup {
        Setup {
            context: Arc::new(()),
            saved: saved.into_iter().collect(),
            non_differentiable: Set::NONE,
            materialize: true,
            history: None,
        }
    }
}

/// A rule that a function may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// For reverse mode.
    Backward,
    /// For forward mode.
    Jvp,
}

/// What errors call the rules of a function that is no class with methods.
#[doc(hidden)]
#[derive(Debug)]
pub struct Wording {
    /// The rule for reverse mode.
    pub backward: &'static str,
    /// What to write where it cannot be transposed.
    pub instead: &'static str,
    /// What follows the name of a function that has no rules.
    pub none: &'static str,
}

/// A function with rules of its own.
///
/// ```
/// use pullback::function::{Forward, Function, Set, Setup, Tangents, apply};
/// use pullback::{Result, Tensor, grad};
/// use std::sync::Arc;
///
/// struct Cube;
/// impl Function for Cube {
///     fn name(&self) -> &str { "Cube" }
///     fn forward(&self, args: &[Tensor]) -> Result<Forward> {
///         Ok(Forward::of([args[0].mul(&args[0])?.mul(&args[0])?]))
///     }
///     fn setup(&self, inputs: &[Tensor], _: &mut Forward, _: &Set) -> Result<Setup> {
///         Ok(Setup::saving([inputs[0].clone()]))
///     }
///     fn backward(&self, s: &Setup, g: &[Option<Tensor>], _: &Set) -> Result<Tangents> {
///         let x = &s.saved[0];
///         let Some(g) = &g[0] else { return Ok(Tangents::new()) };
///         let three = Tensor::scalar(x.dtype(), 3.0);
///         Ok([Some(g.mul(&three)?.mul(x)?.mul(x)?)].into_iter().collect())
///     }
/// }
///
/// let cube: Arc<dyn Function> = Arc::new(Cube);
/// let x = Tensor::from_slice([1], &[2.0])?;
/// let g = grad(|x| apply(&cube, &[x.clone()])?[0].sum_all(), &x)?;
/// assert_eq!(g.to_vec::<f64>()?, [12.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub trait Function: Send + Sync + 'static {
    /// What messages call it.
    fn name(&self) -> &str;

    /// The outputs, and what is true of them. Gets dense tensors, or batched ones under a generated batching rule.
    fn forward(&self, args: &[Tensor]) -> Result<Forward>;

    /// The outputs once more, from values of any level that records. `setup` is what the first run led to.
    fn rerun(&self, _setup: &Setup, args: &[Tensor]) -> Result<Outputs> {
        Ok(self.forward(args)?.outputs)
    }

    /// Whether the function gives this rule itself. If it gives one of both, the other is derived by transposition.
    fn has(&self, _: Rule) -> bool {
        true
    }

    /// Whether backward must not be differentiated, so that nothing can be derived from it.
    fn once(&self) -> bool {
        false
    }

    /// What a trial of the function depends on besides shapes and dtypes; `None` if that is not known.
    fn signature(&self) -> Option<String> {
        None
    }

    /// What error messages call argument `i`.
    fn argument(&self, i: usize) -> String {
        format!("argument {i}")
    }

    /// What they call the rules, if it is no class with methods.
    #[doc(hidden)]
    fn wording(&self) -> Option<&'static Wording> {
        None
    }

    /// Keeps what the rules need. The outputs of the run are values of the level that asks, as the inputs are; what it
    /// says of changed arguments may be put right. `needs` has the inputs that are differentiated.
    fn setup(&self, inputs: &[Tensor], run: &mut Forward, needs: &Set) -> Result<Setup>;

    /// Cotangents of the inputs.
    fn backward(&self, _: &Setup, _cotangents: &[Option<Tensor>], _needs: &Set) -> Result<Tangents> {
        Err(no_rule(self.name(), "backward"))
    }

    /// Tangents of the outputs.
    fn jvp(&self, _: &Setup, _tangents: &[Option<Tensor>]) -> Result<Tangents> {
        Err(no_rule(self.name(), "jvp"))
    }

    /// The function over a batch, with the true batch dimensions; `None` asks for the generated rule.
    fn vmap(&self, _: BatchInfo, _in_dims: &[Option<usize>], _args: &[Tensor]) -> Result<Option<Mapped>> {
        Ok(None)
    }

    /// Shows a walk what the function holds of the host language.
    #[doc(hidden)]
    fn reach(&self, _: &mut Reach<'_>) {}

    /// Shows a walk what a context of this function holds.
    #[doc(hidden)]
    fn reach_context(&self, _: &Context, _: &mut Reach<'_>) {}
}

/// What a batching rule gives.
pub struct Mapped {
    /// The outputs, each for all members at once.
    pub forward: Forward,
    /// For each output where its batch is.
    pub dims: SmallVec<[Option<usize>; 4]>,
}

/// The cotangents that a rule returned, after a check of their number, each in the shape of its input.
pub(crate) fn checked_gradients(f: &dyn Function, mut grads: Tangents, inputs: &[Meta]) -> Result<Tangents> {
    let name = f.name();
    let extra = grads.iter().skip(inputs.len()).any(Option::is_some);
    if grads.len() < inputs.len() || extra {
        bail!(
            Runtime,
            "{name}.backward: function returned an incorrect number of gradients (expected {}, got {}){}",
            inputs.len(),
            grads.len(),
            at_here()
        );
    }
    for (i, (g, m)) in grads.iter_mut().zip(inputs).enumerate() {
        if let Some(given) = g
            && let Some(fitted) = fitted(f, i, given, m)?
        {
            *g = Some(fitted);
        }
    }
    Ok(grads)
}

/// The gradient of input `i` summed over what broadcasting the input repeats; `None` if it has the input's shape.
///
/// # Errors
/// `Runtime` if the input does not broadcast to the gradient's shape, or their dtypes do not go together.
pub(crate) fn fitted(f: &dyn Function, i: usize, g: &Tensor, input: &Meta) -> Result<Option<Tensor>> {
    // Whole numbers of a straight-through estimate become the input's; an imaginary part is not dropped.
    let (own, whole) = (input.dtype.is_complex(), !g.dtype().is_differentiable());
    if input.dtype.is_differentiable() && (own != g.dtype().is_complex()) && (whole || !own) {
        bail!(
            Runtime,
            "{}.backward: function returned an invalid gradient at index {i}, for {} - expected type {} but got {}; {}{}",
            f.name(),
            f.argument(i),
            input.dtype,
            g.dtype(),
            if own { "convert it" } else { "give its .real" },
            at_here()
        );
    }
    if g.shape() == &input.shape { Ok(None) } else { summed(f, i, g, input).map(Some) }
}

/// Whether a shape broadcasts to another one.
fn repeats(from: &Shape, to: &Shape) -> bool {
    let trailing = to.len().checked_sub(from.len()).map(|lead| &to[lead..]);
    trailing.is_some_and(|to| from.iter().zip(to).all(|(&a, &b)| a == b || a == 1))
}

#[cold]
fn summed(f: &dyn Function, i: usize, g: &Tensor, input: &Meta) -> Result<Tensor> {
    if !repeats(&input.shape, g.shape()) {
        bail!(
            Runtime,
            "{}.backward: function returned an invalid gradient at index {i}, for {} - got {} but expected shape \
             compatible with {}; sum it over the dimensions that the forward broadcasts{}",
            f.name(),
            f.argument(i),
            g.shape(),
            input.shape,
            at_here()
        );
    }
    basis::unbroadcast(g.clone(), &input.shape)
}

/// Checks the tangents that a rule returned for these outputs.
pub(crate) fn check_tangents(f: &dyn Function, setup: &Setup, tangents: &Tangents, outs: &[Tensor]) -> Result<()> {
    let name = f.name();
    if tangents.len() != outs.len() {
        bail!(
            Runtime,
            "{name}.jvp: returned {} tangents, expected one for each of {} outputs{}",
            tangents.len(),
            outs.len(),
            at_here()
        );
    }
    for (i, (t, o)) in tangents.iter().zip(outs).enumerate() {
        let differentiable = o.dtype().is_differentiable() && !setup.non_differentiable.has(i);
        match t {
            None if differentiable && setup.materialize => bail!(
                Runtime,
                "{name}.jvp: returned None for output {i}, which is differentiable; return a tensor of zeros, or call \
                 ctx.mark_non_differentiable() on the output{}",
                at_here()
            ),
            Some(t) if differentiable && (t.shape() != o.shape() || t.dtype() != o.dtype()) => bail!(
                Runtime,
                "{name}.jvp: tangent {i} has dtype {} and shape {}, expected those of output {i}: {} and {}{}",
                t.dtype(),
                t.shape(),
                o.dtype(),
                o.shape(),
                at_here()
            ),
            _ => {}
        }
    }
    Ok(())
}
