//! Programs of functions that take and return arrangements of tensors.

use super::{Program, Tracing};
use crate::base::Result;
use crate::core::origin::Origin;
use crate::core::tensors::{list, rebuild};
use crate::core::{Tensor, Tensors};
use smallvec::SmallVec;
use std::borrow::Borrow;
use std::fmt::{self, Debug, Display, Formatter};
use std::marker::PhantomData;
use std::ops::Deref;

/// The [`Program`] of a function, which takes and returns tensors as the function does.
pub struct Traced<I: ?Sized, O: Tensors> {
    program: Program,
    structure: O::Structure,
    signature: PhantomData<fn(&I) -> O>,
}

impl<I: Tensors + ?Sized, O: Tensors> Traced<I, O> {
    /// What the function returns for these inputs, which may be values of any transform.
    ///
    /// # Errors
    /// `Runtime` unless the inputs have the dtypes and shapes that the function was traced with.
    pub fn call(&self, inputs: &I) -> Result<O::Owned> {
        let args: SmallVec<[Tensor; 4]> = list(inputs).into_iter().cloned().collect();
        Ok(rebuild::<O>(&self.structure, self.program.call(&args)?))
    }

    /// See [`Program::simplified`].
    #[must_use]
    pub fn simplified(&self) -> Traced<I, O> {
        let (program, structure) = (self.program.simplified(), self.structure.clone());
        Traced { program, structure, signature: PhantomData }
    }
}

impl<I: ?Sized, O: Tensors> Deref for Traced<I, O> {
    type Target = Program;
    fn deref(&self) -> &Program {
        &self.program
    }
}

impl<I: ?Sized, O: Tensors> From<Traced<I, O>> for Program {
    /// The program over lists of tensors, as it can be saved.
    fn from(traced: Traced<I, O>) -> Program {
        traced.program
    }
}

impl<I: ?Sized, O: Tensors> Display for Traced<I, O> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.program, f)
    }
}

impl<I: ?Sized, O: Tensors> Debug for Traced<I, O> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.program, f)
    }
}

/// Runs `f` once and returns what it did as a straight-line program, which takes tensors of the same dtypes and shapes.
///
/// The inputs need no data ([`Tensor::meta`]).
///
/// # Errors
/// Those of `f`; `Runtime` where `f` reads data of its arguments.
///
/// ```
/// use pullback::{Tensor, grad, trace};
/// let x = Tensor::from_slice([2], &[1.0, 3.0])?;
/// let program = trace(|x| x.mul(x)?.sum_all(), &x)?;
/// assert_eq!(program.operators().collect::<Vec<_>>(), ["mul", "sum"]);
/// let g = grad(|x| program.call(x), &x)?;
/// assert_eq!(g.to_vec::<f64>()?, [2.0, 6.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn trace<I: Tensors, O: Tensors>(f: impl Fn(&I::View) -> Result<O>, inputs: I) -> Result<Traced<I::View, O>> {
    let args: SmallVec<[Tensor; 4]> = list(&inputs).into_iter().cloned().collect();
    let (run, lifted) = Tracing::open(&args, Origin::UNKNOWN)?;
    let results = f(rebuild::<I>(&inputs.structure(), lifted).borrow())?;
    let outputs: SmallVec<[Tensor; 4]> = list(&results).into_iter().cloned().collect();
    let structure = results.structure();
    Ok(Traced { program: run.close(&outputs)?, structure, signature: PhantomData })
}
