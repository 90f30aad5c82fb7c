//! A recurrent layer over a sequence as a primitive, and its derivative as another one. Their kernels know all steps; where a
//! derivative of a derivative is asked for, and in forward mode, the steps are operators ([`super::steps`]).

use super::steps;
use crate::base::{Result, Shape};
use crate::core::level;
use crate::core::origin::Origin;
use crate::core::params::{fields, parameters};
use crate::core::primitive::Saves;
use crate::core::tensor::Payload;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Outputs, Params, Point, Prim, Primitive, Tangents, Tensor,
    call_many,
};
use crate::dense::Array;
use crate::dense::recurrent::{self as kernels, Cell, Given, KNOWN, Sequence};
use crate::rules::{General, Matrix, basis, batching};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;

/// A layer's cell, how many sequences each step has, and whether it begins at the end.
#[derive(Debug, Clone)]
pub struct Layer {
    pub cell: Cell,
    pub sizes: Vec<usize>,
    pub reverse: bool,
}

/// A layer, and which of its outputs have a cotangent.
#[derive(Debug, Clone)]
pub struct Pulled {
    layer: Layer,
    given: Given,
}

fields! { enum Cell { 0 => Tanh, 1 => Relu, 2 => Lstm, 3 => Gru } }
fields! { struct Layer { cell, sizes, reverse } }
fields! { struct Pulled { layer, given } }
parameters! { Layer = "recurrent", Pulled = "recurrent:slope" }

impl Layer {
    fn sequence(&self) -> Sequence<'_> {
        Sequence { cell: self.cell, sizes: &self.sizes, reverse: self.reverse }
    }
    /// Steps in the order in which the layer runs, or against it, each with its first row and its number of rows.
    pub fn steps(&self, against: bool) -> Vec<(usize, usize)> {
        let mut end = 0;
        let step = |&n: &usize| {
            end += n;
            (end - n, n)
        };
        let mut all: Vec<_> = self.sizes.iter().map(step).collect();
        if self.reverse != against {
            all.reverse();
        }
        all
    }
    /// The states in front of each row's step, from the first states and those after each.
    pub fn previous(&self, first: &Tensor, all: &Tensor) -> Result<Tensor> {
        if self.sizes.first() == self.sizes.last() {
            return self.previous_even(first, all);
        }
        let d = all.rank() - 2;
        let mut parts = Vec::with_capacity(self.sizes.len());
        let steps = self.steps(false);
        for (i, &(start, n)) in steps.iter().enumerate() {
            let before = if i == 0 { (0, 0) } else { steps[i - 1] };
            let known = before.1.min(n);
            let known = (known > 0).then(|| basis::slice(all, d, before.0, known, 1)).transpose()?;
            let new = n - known.as_ref().map_or(0, |k| k.shape()[d]);
            let new = (new > 0).then(|| basis::slice(first, d, n - new, new, 1)).transpose()?;
            parts.push((start, [known, new]));
        }
        parts.sort_by_key(|(start, _)| *start);
        join(&parts.into_iter().flat_map(|(_, p)| p).flatten().collect::<Vec<_>>(), d)
    }
    /// The same where all steps have as many rows.
    fn previous_even(&self, first: &Tensor, all: &Tensor) -> Result<Tensor> {
        let (d, n) = (all.rank() - 2, first.shape()[first.rank() - 2]);
        let rest = all.shape()[d] - n;
        if rest == 0 {
            return Ok(first.clone());
        }
        let kept = basis::slice(all, d, if self.reverse { n } else { 0 }, rest, 1)?;
        basis::cat(&if self.reverse { [&kept, first] } else { [first, &kept] }, d)
    }
    /// The last states of the sequences.
    pub fn last(&self, all: &Tensor) -> Result<Tensor> {
        let d = all.rank() - 2;
        if self.reverse {
            return basis::slice(all, d, 0, self.sizes[0], 1);
        }
        let (mut parts, mut ended) = (Vec::new(), 0);
        for (start, n) in self.steps(true) {
            if n > ended {
                parts.push(basis::slice(all, d, start + ended, n - ended, 1)?);
                ended = n;
            }
        }
        if parts.is_empty() { basis::slice(all, d, 0, 0, 1) } else { join(&parts, d) }
    }
}

/// Tensors joined along a dimension.
pub fn join(parts: &[Tensor], dim: usize) -> Result<Tensor> {
    match parts {
        [only] => Ok(only.clone()),
        parts => basis::cat(&parts.iter().collect::<Vec<_>>(), dim),
    }
}

fn arrays<'a>(args: &[&'a Tensor]) -> Result<SmallVec<[&'a Array; 8]>> {
    args.iter().map(|a| a.array()).collect()
}

fn forms(args: &[Meta]) -> SmallVec<[crate::base::TypedShape<'_>; 8]> {
    args.iter().map(Meta::form).collect()
}

fn inferred(forms: impl IntoIterator<Item = (crate::DType, Shape)>) -> Inferred {
    forms.into_iter().map(|(dtype, shape)| Meta { dtype, shape }).collect()
}

/// Arguments and outputs as those of [`kernels::forward`]. The products with the weights make it no map of elements, and its
/// derivative reads what it computed on the way.
pub static LAYER: General = General {
    name: "recurrent",
    infer: |p, a| Ok(inferred(kernels::forward_form(&forms(a), p.get::<Layer>().sequence())?)),
    eval: |p, a| {
        let out = kernels::forward(&arrays(a)?, p.get::<Layer>().sequence())?;
        Ok(out.into_iter().map(Tensor::from).collect())
    },
    saves: |p, _| match p.get::<Layer>().cell {
        Cell::Lstm => Saves { inputs: 0b1110, outputs: 0b111 },
        Cell::Gru => Saves { inputs: 0b0110, outputs: 0b11 },
        _ => Saves { inputs: 0b0110, outputs: 0b1 },
    },
    jvp: |_, p, point, t| along(point, t, |args| steps::forward(p.get(), args)),
    vjp,
    batch: |me, p, a, info| {
        batched(me, p, a, info, if p.get::<Layer>().cell == Cell::Gru { &[(2, 2), (3, 1)] } else { &[(2, 2)] })
    },
};

fn vjp(_: Prim<'_>, p: &Params, point: &Point<'_>, cotangents: &[Option<Tensor>], needs: Mask) -> Result<Tangents> {
    let layer = p.get::<Layer>();
    let (first, w, h) = (point.input(1)?, point.input(2)?, point.output(0)?);
    let mut args: SmallVec<[&Tensor; 8]> = match layer.cell {
        Cell::Lstm => smallvec![w, point.output(1)?, point.output(2)?, point.input(3)?],
        Cell::Gru => smallvec![w, point.output(1)?, h, first],
        _ => smallvec![w, h, h, first],
    };
    let mut given = [false; 3];
    for (i, g) in cotangents.iter().enumerate() {
        given[i] = g.is_some();
        args.extend(g);
    }
    let params = Params::other(Pulled { layer: layer.clone(), given });
    let slopes = call_many(Prim::Static(&SLOPE), &params, &args)?;
    let of_state = &slopes[if layer.cell == Cell::Gru { 2 } else { 0 }];
    let mut out: Tangents = smallvec![Some(slopes[0].clone()), Some(slopes[1].clone()), None];
    if needs >> 2 & 1 == 1 {
        let before = layer.previous(first, h)?;
        out[2] = Some(match w.rank() {
            // One product adds up the members.
            2 => basis::matmul(&basis::swap_last(&basis::rows(of_state)?)?, &basis::rows(&before)?)?,
            _ => basis::matmul(&basis::swap_last(of_state)?, &before)?,
        });
    }
    match layer.cell {
        Cell::Lstm => out.push(Some(slopes[2].clone())),
        Cell::Gru if needs >> 3 & 1 == 1 => {
            let (last, units) = (of_state.rank() - 1, h.shape()[h.rank() - 1]);
            let g = basis::slice(of_state, last, 2 * units, units, 1)?;
            let sum = basis::sum(&g, &[last - 1], false)?;
            out.push(Some(basis::unbroadcast(sum, point.in_shape(3)?)?));
        }
        _ => {}
    }
    Ok(out)
}

/// Arguments and outputs as those of [`kernels::backward`]: linear in the cotangents, not in what is in front of them.
static SLOPE: General = General {
    name: "recurrent:slope",
    infer: slope_infer,
    eval: slope_eval,
    saves: |_, needs| transposed(needs).reads,
    jvp: |_, p, point, t| slope_tangents(p, point, t),
    vjp: |me, p, point, g, needs| transposed(needs).vjp(me, p, point, g, needs),
    batch: |me, p, a, info| batched(me, p, a, info, &[(0, 2)]),
};

/// [`SLOPE`]'s cotangents by transposition of its tangents.
const TRANSPOSED: Matrix = Matrix {
    name: "recurrent:slope",
    infer: slope_infer,
    eval: slope_eval,
    reads: Saves { inputs: 0b111_1111, outputs: 0 },
    tangents: slope_tangents,
    fault: |e| e,
};
/// The same where only cotangents are followed, which are not read then.
const TRANSPOSED_LINEAR: Matrix = Matrix {
    name: "recurrent:slope:linear",
    infer: slope_infer,
    eval: slope_eval,
    reads: Saves { inputs: 0b1111, outputs: 0 },
    tangents: slope_tangents,
    fault: |e| e,
};

fn transposed(needs: Mask) -> Matrix {
    if needs & 0b1111 == 0 { TRANSPOSED_LINEAR } else { TRANSPOSED }
}

fn slope_infer(p: &Params, a: &[Meta]) -> Result<Inferred> {
    let p = p.get::<Pulled>();
    Ok(inferred(kernels::backward_form(&forms(a), p.layer.sequence(), p.given)?))
}

fn slope_eval(p: &Params, a: &[&Tensor]) -> Result<Outputs> {
    let p = p.get::<Pulled>();
    let out = kernels::backward(&arrays(a)?, p.layer.sequence(), p.given)?;
    Ok(out.into_iter().map(Tensor::from).collect())
}

fn slope_tangents(p: &Params, point: &Point<'_>, t: &[Option<&Tensor>]) -> Result<Tangents> {
    let p = p.get::<Pulled>();
    if t[..KNOWN].iter().any(Option::is_some) {
        return along(point, t, |args| steps::backward(&p.layer, p.given, args));
    }
    // What is linear is its own tangent.
    let mut args: Vec<Tensor> = (0..KNOWN).map(|i| point.input(i).cloned()).collect::<Result<_>>()?;
    let mut followed = t[KNOWN..].iter();
    let given = p.given.map(|g| match g.then(|| followed.next()).flatten() {
        Some(Some(t)) => {
            args.push((*t).clone());
            true
        }
        _ => false,
    });
    Ok(steps::backward(&p.layer, given, &args)?.into_iter().map(Some).collect())
}

/// Tangents of what `f` gives.
fn along(point: &Point<'_>, t: &[Option<&Tensor>], f: impl FnOnce(&[Tensor]) -> Result<Outputs>) -> Result<Tangents> {
    level::check_room()?;
    let dual = level::push_dual(Origin::UNKNOWN);
    let lift = |(i, t): (usize, &Option<&Tensor>)| {
        let x = point.input(i)?.clone();
        Ok(match t {
            Some(t) => Tensor::dual(dual.id(), x, (*t).clone()),
            None => x,
        })
    };
    let args: Vec<Tensor> = t.iter().enumerate().map(lift).collect::<Result<_>>()?;
    let tangent = |y: Tensor| match y.payload_at(dual.id()) {
        Some(Payload::Dual { tangent, .. }) => Some(tangent.clone()),
        _ => None,
    };
    Ok(f(&args)?.into_iter().map(tangent).collect())
}

/// The batch becomes a leading dimension of all arguments, but for weights that no member has an own value of. `weights` are
/// arguments with their rank.
fn batched(
    me: Prim<'_>,
    p: &Params,
    a: &[BatchArg<'_>],
    info: BatchInfo,
    weights: &[(usize, usize)],
) -> Result<BatchOut> {
    let shared = weights.iter().all(|&(i, rank)| a[i].dim.is_none() && a[i].value.rank() == rank);
    // The members that there are already, as the states in front of the cotangents have them.
    let inner = a[1].logical_shape();
    let inner = &inner[..inner.len() - 2];
    let value = |i: usize| -> Result<Cow<'_, Tensor>> {
        let Some(&(_, rank)) = weights.iter().find(|(w, _)| *w == i) else {
            return batching::front_expanded(&a[i], info);
        };
        if shared {
            return Ok(Cow::Borrowed(a[i].value));
        }
        let v = batching::front_expanded(&a[i], info)?;
        if v.rank() > rank + 1 || inner.is_empty() {
            return Ok(v);
        }
        let (mut ones, mut full) = (Shape::new(&[info.size]), Shape::new(&[info.size]));
        for &d in inner {
            ones.push(1);
            full.push(d);
        }
        for &d in &v.shape()[1..] {
            ones.push(d);
            full.push(d);
        }
        Ok(Cow::Owned(basis::expand(&basis::reshape(&v, &ones)?, &full)?))
    };
    let values: SmallVec<[Cow<'_, Tensor>; 8]> = (0..a.len()).map(value).collect::<Result<_>>()?;
    let refs: SmallVec<[&Tensor; 8]> = values.iter().map(|v| &**v).collect();
    Ok(call_many(me, p, &refs)?.into_iter().map(|o| (o, Some(0))).collect())
}

/// What this file adds to the table.
pub(super) static PRIMITIVES: &[&dyn Primitive] = &[&LAYER, &SLOPE];
pub(super) const PARAMETERS: &[crate::core::params::Type] =
    &[crate::core::params::Type::of::<Layer>(), crate::core::params::Type::of::<Pulled>()];
