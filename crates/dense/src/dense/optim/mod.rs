//! Steps of optimisers: a parameter and what its algorithm keeps of it, each byte read and written once.
//!
//! NOTE. An [`Algorithm`] makes a [`Step`] from the options of a group and the numbers that it keeps of one parameter. The
//! step is a [`Rule`] for one element, which [`rows`] compiles for each instruction set:
//! ```text
//! options, numbers ── prepare ──> Adam { rate, root, … } ── element(p, g, [m, v]) ──> p, [m, v]
//! ```

mod adagrad;
mod adam;
mod asgd;
mod rms;
mod rows;
mod rprop;
mod sgd;
#[cfg(test)]
mod tests;

pub use rows::Step;

use super::array::Array;
use super::copy;
use super::math::Fp;
use super::math::fp::pick;
use super::region;
use crate::bail;
use crate::base::{DType, Layout, Result};
use smallvec::SmallVec;
use std::ops::Range;
use std::ptr::null_mut;

/// An algorithm with its coefficients for one step of one parameter.
pub trait Rule: Send + Sync {
    /// How many tensors of the parameter's shape it keeps.
    const STATES: usize;
    /// The new parameter and states. `F`: fused multiply-add is an instruction.
    fn element<T: Fp, const F: bool>(&self, p: T, g: T, s: [T; 3]) -> (T, [T; 3]);
}

/// What makes the steps of one algorithm.
pub struct Algorithm {
    pub name: &'static str,
    /// The options of a group that it reads, in their order; a pair counts as two numbers.
    pub options: &'static [&'static str],
    /// The numbers that it keeps of a parameter.
    pub scalars: &'static [&'static str],
    /// The step that these options and numbers ask for; the numbers become those after it.
    pub prepare: fn(&[f64], &mut Scalars<'_>) -> Result<Box<dyn Step>>,
}

/// Numbers that are kept of a parameter, in tensors whose dtype rounds them.
pub struct Scalars<'a> {
    pub values: &'a mut [f64],
    pub dtypes: &'a [DType],
}

impl Scalars<'_> {
    /// A number as the tensor would hold it.
    fn rounded(&self, at: usize, x: f64) -> f64 {
        if self.dtypes[at] == DType::F64 { x } else { f64::from(x as f32) }
    }
    fn set(&mut self, at: usize, x: f64) -> f64 {
        let rounded = self.rounded(at, x);
        self.values[at] = rounded;
        rounded
    }
    /// One more step: how many there are.
    fn count(&mut self) -> f64 {
        self.set(0, self.values[0] + 1.0)
    }
}

/// All algorithms, by name.
pub static ALGORITHMS: [&Algorithm; 10] = [
    &sgd::SGD,
    &adam::ADAM,
    &adam::ADAMAX,
    &adam::NADAM,
    &adam::RADAM,
    &adagrad::ADAGRAD,
    &adagrad::ADADELTA,
    &rms::RMSPROP,
    &rprop::RPROP,
    &asgd::ASGD,
];

impl Algorithm {
    pub fn find(name: &str) -> Option<&'static Algorithm> {
        ALGORITHMS.iter().find(|a| a.name == name).copied()
    }
}

/// The numbers of a group, as many as the algorithm reads.
fn options<const N: usize>(h: &[f64]) -> Result<[f64; N]> {
    match h.try_into() {
        Ok(all) => Ok(all),
        Err(_) => bail!(Value, "expected {N} numbers for the options, got {}", h.len()),
    }
}

/// The gradient that a rule sees: downhill, with the weights' decay.
#[inline(always)]
fn gradient<T: Fp, const F: bool>(p: T, g: T, sign: f64, decay: f64) -> T {
    let g = g * T::of(sign);
    pick(decay == 0.0, g, p.fma::<F>(T::of(decay), g))
}

/// `-1` to go uphill.
fn sign(maximize: f64) -> f64 {
    if maximize == 0.0 { 1.0 } else { -1.0 }
}

/// `a + w (b - a)`, counted from the nearer end.
#[inline(always)]
fn lerp<T: Fp, const F: bool>(a: T, b: T, w: f64) -> T {
    let span = b - a;
    pick(w.abs() < 0.5, span.fma::<F>(T::of(w), a), b - span * T::of(1.0 - w))
}

/// The larger one; NaN if either is.
#[inline(always)]
fn larger<T: Fp>(a: T, b: T) -> T {
    pick(a > b || !a.is_number(), a, b)
}

/// Makes the elements of an array ones that may be written over: in place where nobody else holds them or everybody is
/// to see it, otherwise in a copy. Memory that others see in another order than row-major is written by way of the
/// array that comes back.
fn writable(a: &mut Array) -> Result<Option<Array>> {
    if !a.is_exported() {
        if !(a.is_contiguous() && a.is_unique()) {
            *a = copy::gather(a)?;
        }
        return Ok(None);
    }
    if a.buffer().is_some_and(|b| !b.is_writable()) {
        bail!(Runtime, "the memory of this tensor is read-only; clone() it before writing to it");
    }
    if a.layout().may_overlap() {
        bail!(Runtime, "more than one element of the written-to tensor refers to a single memory location; clone() it");
    }
    if a.is_contiguous() { Ok(None) } else { copy::gather(a).map(Some) }
}

/// The bytes that an array's elements lie among.
fn span(a: &Array) -> Range<usize> {
    let from = a.ptr() as usize;
    let count = Layout { offset: 0, ..a.layout() }.needed().unwrap_or(0);
    from..from + count * a.dtype().size()
}

fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// One step of a parameter: it and its states are written where they are if nobody else holds their memory, and take new
/// memory otherwise.
///
/// # Errors
/// `Runtime` if dtypes, shapes or the number of states do not fit, if memory is read-only, or if two of the arrays that
/// are written share memory. Nothing has been written then.
pub fn step(rule: &dyn Step, targets: &mut [&mut Array], grad: &Array) -> Result<()> {
    check(rule, targets, grad)?;
    let gathered;
    let grad = if grad.is_contiguous() {
        grad
    } else {
        gathered = copy::gather(grad)?;
        &gathered
    };
    if !targets.iter_mut().all(|t| t.is_contiguous() && t.is_unique()) {
        return step_elsewhere(rule, targets, grad);
    }
    let mut to = [null_mut(); 4];
    for (to, t) in to.iter_mut().zip(targets.iter_mut()) {
        *to = t.ptr_mut();
    }
    let (dtype, n) = (grad.dtype(), grad.numel());
    // SAFETY: `check` found that all arrays have so many elements of this dtype, which lie in row-major order, and that
    // there are as many states as the rule has; the targets are different arrays, and nobody else holds their memory.
    unsafe { rows::run(rule, dtype, n, to, grad.ptr()) };
    Ok(())
}

/// An error unless the gradient and the states are like the parameter.
fn check(rule: &dyn Step, targets: &[&mut Array], grad: &Array) -> Result<()> {
    let Some((param, states)) = targets.split_first() else { bail!(Internal, "a step without a parameter") };
    let (dtype, shape) = (param.dtype(), param.shape());
    if !(dtype.is_float() || dtype.is_complex()) {
        bail!(Runtime, "parameters must be of a floating point or complex dtype, got {dtype}");
    }
    if states.len() != rule.states() {
        bail!(Internal, "{} states for a rule of {}", states.len(), rule.states());
    }
    for (what, a) in std::iter::once(("gradient", grad)).chain(states.iter().map(|s| ("state", &**s))) {
        if a.dtype() != dtype || a.shape() != shape {
            bail!(
                Runtime,
                "the parameter has shape {shape} and dtype {dtype}, and its {what} shape {} and dtype {}",
                a.shape(),
                a.dtype()
            );
        }
    }
    Ok(())
}

/// The step where memory is seen by others or held by somebody else.
#[cold]
fn step_elsewhere(rule: &dyn Step, targets: &mut [&mut Array], grad: &Array) -> Result<()> {
    let mut copies: SmallVec<[Option<Array>; 4]> = SmallVec::new();
    for t in targets.iter_mut() {
        copies.push(writable(t)?);
    }
    check_apart(targets)?;
    let gathered;
    let grad = if targets.iter().any(|t| meet(&span(t), &span(grad))) {
        gathered = copy::gather(grad)?;
        &gathered
    } else {
        grad
    };
    let mut to = [null_mut(); 4];
    for (to, (t, copy)) in to.iter_mut().zip(targets.iter_mut().zip(&mut copies)) {
        *to = copy.as_mut().unwrap_or(t).ptr_mut();
    }
    // SAFETY: as in `step`, but for memory: each pointer is to a copy, or to what `writable` found or made ours to write;
    // those of others were found apart, and the gradient elsewhere.
    unsafe { rows::run(rule, grad.dtype(), grad.numel(), to, grad.ptr()) };
    for (t, copy) in targets.iter().zip(&copies) {
        match copy {
            Some(copy) => region::overwrite(t, copy)?,
            None if t.is_exported() => t.buffer().into_iter().for_each(|b| b.bump_version()),
            None => {}
        }
    }
    Ok(())
}

fn check_apart(targets: &[&mut Array]) -> Result<()> {
    for (i, a) in targets.iter().enumerate() {
        if targets[..i].iter().any(|b| meet(&span(a), &span(b))) {
            bail!(Runtime, "a parameter and its states, or two of its states, share memory; clone() one of them");
        }
    }
    Ok(())
}

/// The number in an array of one element.
pub fn number(a: &Array) -> Option<(f64, DType)> {
    let known = a.numel() == 1 && a.dtype().is_float();
    known.then(|| a.item().ok()).flatten().map(|x| (x.as_f64(), a.dtype()))
}

/// Puts a number into an array of one element, in place if nobody else holds its memory.
pub fn set_number(a: &mut Array, x: f64) -> Result<()> {
    if a.numel() == 1 && a.is_unique() {
        let p = a.ptr_mut();
        // SAFETY: there is one element, of this dtype, and nobody else holds it.
        let done = unsafe {
            match a.dtype() {
                DType::F32 => {
                    p.cast::<f32>().write(x as f32);
                    true
                }
                DType::F64 => {
                    p.cast::<f64>().write(x);
                    true
                }
                _ => false,
            }
        };
        if done {
            return Ok(());
        }
    }
    *a = Array::full(a.dtype(), a.shape().clone(), x.into())?;
    Ok(())
}
