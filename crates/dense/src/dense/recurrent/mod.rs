//! A recurrent layer over a sequence, in one direction, and its derivative.
//!
//! The products of the input with its weights are done before, for all steps at once; what is left of a step is the product
//! of the state with the weights, which are packed once, and the cell's function of each unit.
//!
//! Steps lie one after the other: step t has `sizes[t]` rows, those of the first sequences, and sequences only end. Leading
//! dimensions are members, each with a layer of its own; members that share their weights are rows of one product.

mod cells;
mod run;
mod units;

use super::array::Written;
use super::{Array, threads};
use crate::bail;
use crate::base::{DType, Result, Shape, TypedShape};
use run::{Backward, Forward};
use smallvec::SmallVec;

/// What a unit of a layer computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    Tanh,
    Relu,
    Lstm,
    Gru,
}

impl Cell {
    /// Values that the input gives to each unit, which is also how many rows of weights a unit has.
    pub const fn gates(self) -> usize {
        match self {
            Cell::Tanh | Cell::Relu => 1,
            Cell::Lstm => 4,
            Cell::Gru => 3,
        }
    }
    /// Values of each unit that its derivative reads: those of the gates, or h.
    pub const fn kept(self) -> usize {
        if self.has_gates() { 4 } else { 1 }
    }
    pub const fn has_gates(self) -> bool {
        matches!(self, Cell::Lstm | Cell::Gru)
    }
}

/// A layer's cell, how many sequences each step has, and whether it begins at the end.
#[derive(Debug, Clone, Copy)]
pub struct Sequence<'a> {
    pub cell: Cell,
    pub sizes: &'a [usize],
    pub reverse: bool,
}

/// The outputs of an operator.
pub type Arrays = SmallVec<[Array; 3]>;
type Forms = SmallVec<[(DType, Shape); 3]>;

/// Sizes of a layer: what its arguments have in common.
#[derive(Debug, Clone)]
struct Plan {
    dtype: DType,
    lead: Shape,
    /// Sequences, units, and rows of all steps.
    batch: usize,
    hidden: usize,
    rows: usize,
}

impl Plan {
    /// From first states [..., N, H] and weights [..., G H, H].
    fn new(first: TypedShape<'_>, weights: TypedShape<'_>, s: Sequence<'_>) -> Result<Plan> {
        let (dtype, state) = first;
        let falls = s.sizes.windows(2).all(|w| w[0] >= w[1]);
        let rows = s.sizes.iter().try_fold(0usize, |a, &b| a.checked_add(b));
        let (Some(rows), true, true) = (rows, falls && dtype.is_float(), state.rank() >= 2) else {
            bail!(Internal, "recurrent(): {dtype} states of shape {state} for steps {:?}", s.sizes);
        };
        let at = state.rank() - 2;
        let (lead, batch, hidden) = (Shape::new(&state[..at]), state[at], state[at + 1]);
        let plan = Plan { dtype, lead, batch, hidden, rows };
        if s.sizes.first() != Some(&batch) {
            bail!(Internal, "recurrent(): states of shape {state} for steps {:?}", s.sizes);
        }
        plan.check_weights(weights, Shape::new(&[s.cell.gates() * hidden, hidden]))?;
        Ok(plan)
    }
    /// Weights are those of each member, or one for all.
    fn check_weights(&self, what: TypedShape<'_>, shape: Shape) -> Result<()> {
        if what.1 == &shape { self.check(what, &shape) } else { self.check(what, &self.with_lead(&shape)) }
    }
    fn with_lead(&self, shape: &Shape) -> Shape {
        shape.iter().fold(self.lead.clone(), |all, &d| all.append(d))
    }
    fn members(&self) -> usize {
        self.lead.iter().product()
    }
    /// Shape of `parts` values of each unit in each of `rows` rows.
    fn shape(&self, rows: usize, parts: usize) -> Shape {
        self.lead.clone().append(rows).append(parts * self.hidden)
    }
    fn all(&self, parts: usize) -> (DType, Shape) {
        (self.dtype, self.shape(self.rows, parts))
    }
    fn check(&self, what: TypedShape<'_>, shape: &Shape) -> Result<()> {
        if what.0 != self.dtype || what.1 != shape {
            bail!(Internal, "recurrent(): {} of shape {} in place of {} of shape {shape}", what.0, what.1, self.dtype);
        }
        Ok(())
    }
    fn is_empty(&self) -> bool {
        self.members() * self.rows * self.hidden == 0
    }
}

/// Arguments are the input's products [..., S, G H], the first h [..., N, H], the weights [..., G H, H], and the first c of an
/// LSTM [..., N, H] or a GRU's bias [..., H] of the state's part of n. Weights and the bias may be without leading
/// dimensions.
fn forward_plan(args: &[TypedShape<'_>], s: Sequence<'_>) -> Result<Plan> {
    let [projected, first, weights, ref more @ ..] = *args else { bail!(Internal, "recurrent(): too few arguments") };
    let plan = Plan::new(first, weights, s)?;
    plan.check(projected, &plan.shape(plan.rows, s.cell.gates()))?;
    match (s.cell, more) {
        (Cell::Lstm, [c]) => plan.check(*c, first.1)?,
        (Cell::Gru, [bias]) => plan.check_weights(*bias, Shape::new(&[plan.hidden]))?,
        (Cell::Tanh | Cell::Relu, []) => {}
        _ => bail!(Internal, "recurrent(): {} arguments", args.len()),
    }
    Ok(plan)
}

/// Dtypes and shapes of what [`forward`] gives.
///
/// # Errors
/// `Internal` if the shapes do not belong together: callers have checked them.
pub fn forward_form(args: &[TypedShape<'_>], s: Sequence<'_>) -> Result<Forms> {
    let plan = forward_plan(args, s)?;
    let mut out = Forms::from_iter([plan.all(1)]);
    if s.cell.has_gates() {
        out.push(plan.all(s.cell.kept()));
    }
    if s.cell == Cell::Lstm {
        out.push(plan.all(1));
    }
    Ok(out)
}

/// All h [..., S, H]; of an LSTM and a GRU also the gates [..., S, 4 H] (i, f, g, o, and r, z, n and the state's part of n), and of
/// an LSTM all c [..., S, H].
///
/// # Errors
/// Those of [`forward_form`]; `Runtime` if there is not enough memory.
pub fn forward(args: &[&Array], s: Sequence<'_>) -> Result<Arrays> {
    let plan = forward_plan(&forms(args), s)?;
    match plan.dtype {
        DType::F64 => Forward::<f64>::new(&plan, s, args)?.run(new(forward_form(&forms(args), s)?)?),
        DType::F32 => Forward::<f32>::new(&plan, s, args)?.run(new(forward_form(&forms(args), s)?)?),
        other => bail!(Internal, "recurrent(): no kernel for {other}"),
    }
}

/// Which cotangents [`backward`] is given: of h, of the gates, of c.
pub type Given = [bool; 3];
/// Arguments of [`backward`] in front of the cotangents.
pub const KNOWN: usize = 4;

/// Arguments are the weights, the gates (h of a plain cell), all states with the first ones (c of an LSTM, h of the others),
/// and then the cotangents that are given.
fn backward_plan(args: &[TypedShape<'_>], s: Sequence<'_>, given: Given) -> Result<Plan> {
    if args.len() != KNOWN + given.iter().filter(|g| **g).count() {
        bail!(Internal, "recurrent(): {} arguments", args.len());
    }
    let plan = Plan::new(args[3], args[0], s)?;
    plan.check(args[1], &plan.shape(plan.rows, s.cell.kept()))?;
    plan.check(args[2], &plan.shape(plan.rows, 1))?;
    let parts = [1, s.cell.kept(), 1].into_iter().zip(given).filter(|(_, g)| *g);
    for (arg, (parts, _)) in args[KNOWN..].iter().zip(parts) {
        plan.check(*arg, &plan.shape(plan.rows, parts))?;
    }
    Ok(plan)
}

/// Dtypes and shapes of what [`backward`] gives.
///
/// # Errors
/// `Internal` if the shapes do not belong together: callers have checked them.
pub fn backward_form(args: &[TypedShape<'_>], s: Sequence<'_>, given: Given) -> Result<Forms> {
    let plan = backward_plan(args, s, given)?;
    let first = (plan.dtype, plan.shape(plan.batch, 1));
    let mut out = Forms::from_iter([plan.all(s.cell.gates()), first.clone()]);
    match s.cell {
        Cell::Lstm => out.push(first),
        Cell::Gru => out.push(plan.all(3)),
        _ => {}
    }
    Ok(out)
}

/// Cotangents of the input's products and of the first h; of an LSTM also of the first c, and of a GRU those of the state's
/// products.
///
/// # Errors
/// Those of [`backward_form`]; `Runtime` if there is not enough memory.
pub fn backward(args: &[&Array], s: Sequence<'_>, given: Given) -> Result<Arrays> {
    let plan = backward_plan(&forms(args), s, given)?;
    match plan.dtype {
        DType::F64 => Backward::<f64>::new(&plan, s, args, given)?.run(new(backward_form(&forms(args), s, given)?)?),
        DType::F32 => Backward::<f32>::new(&plan, s, args, given)?.run(new(backward_form(&forms(args), s, given)?)?),
        other => bail!(Internal, "recurrent(): no kernel for {other}"),
    }
}

fn forms<'a>(args: &[&'a Array]) -> SmallVec<[TypedShape<'a>; 8]> {
    args.iter().map(|a| a.form()).collect()
}

/// Arrays whose elements the kernels write.
fn new(forms: Forms) -> Result<Arrays> {
    // SAFETY: the kernels write each element before anybody else sees the arrays.
    forms.into_iter().map(|(dtype, shape)| Array::build_bytes(dtype, shape, |_, _| unsafe { Written::all() })).collect()
}

#[cfg(test)]
mod tests;
