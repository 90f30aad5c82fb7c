//! Convolution and its two transposes as primitives. Each one's transposes are the other two, with the same parameters,
//! and a batch of each is one larger convolution: so they differentiate and batch to any order.
//!
//! Shapes: x [N, C, *input], w [O, C/groups, *kernel], y [N, O, *output].

#![deny(clippy::arithmetic_side_effects)]

use crate::base::{DType, Result, Shape};
use crate::core::params::Dims;
use crate::core::{BatchArg, BatchInfo, Inferred, Params, Prim, Primitive, Tensor, call};
use crate::dense::conv::{self, ConvParams};
use crate::rules::{Bilinear, basis, batching, shapes};

fn formed(form: Result<(DType, Shape)>) -> Result<Inferred> {
    form.and_then(|(dtype, shape)| shapes::one(dtype, shape))
}

/// y from x and w.
pub static CONV: Bilinear = Bilinear {
    name: "conv",
    infer: |p, a| formed(conv::forward_form(shapes::first(a)?.form(), shapes::argument(a, 1)?.form(), p.get())),
    symbolic: None,
    eval: |p, x, w| conv::forward(x, w, p.get()),
    transposes: [
        |p, g, w, _| call(Prim::Static(&CONV_INPUT_GRAD), p, &[g, w]),
        |p, g, x, _| call(Prim::Static(&CONV_WEIGHT_GRAD), p, &[x, g]),
    ],
    batch: |me, p, args, info| {
        let folds = Folds {
            first: (Fold::outer(0), Fold::outer(0)),
            second: (Fold::inner(0), Fold::inner(1)),
            both: [1, 0, 1],
        };
        folds.run(me, p, args, info)
    },
};

/// x from y and w: the transposed convolution.
pub static CONV_INPUT_GRAD: Bilinear = Bilinear {
    name: "conv_transpose",
    infer: |p, a| formed(conv::input_grad_form(shapes::first(a)?.form(), shapes::argument(a, 1)?.form(), p.get())),
    symbolic: None,
    eval: |p, dy, w| conv::input_grad(dy, w, p.get()),
    transposes: [
        |p, g, w, _| call(Prim::Static(&CONV), p, &[g, w]),
        |p, g, dy, _| call(Prim::Static(&CONV_WEIGHT_GRAD), p, &[g, dy]),
    ],
    batch: |me, p, args, info| {
        let folds = Folds {
            first: (Fold::outer(0), Fold::outer(0)),
            second: (Fold::outer(1), Fold::inner(1)),
            both: [1, 0, 1],
        };
        folds.run(me, p, args, info)
    },
};

/// w from x and y.
pub static CONV_WEIGHT_GRAD: Bilinear = Bilinear {
    name: "conv_weight_grad",
    infer: |p, a| formed(conv::weight_grad_form(shapes::first(a)?.form(), shapes::argument(a, 1)?.form(), p.get())),
    symbolic: None,
    eval: |p, x, dy| conv::weight_grad(x, dy, p.get()),
    transposes: [
        |p, g, dy, _| call(Prim::Static(&CONV_INPUT_GRAD), p, &[dy, g]),
        |p, g, x, _| call(Prim::Static(&CONV), p, &[x, g]),
    ],
    batch: |me, p, args, info| {
        let folds = Folds {
            first: (Fold::inner(1), Fold::outer(1)),
            second: (Fold::inner(1), Fold::inner(0)),
            both: [1, 1, 0],
        };
        folds.run(me, p, args, info)
    },
};

/// The dimension of a member that a batch becomes part of: all of the batch in front of its elements, or, of channels in
/// groups, inside each group.
#[derive(Clone, Copy)]
struct Fold {
    dim: usize,
    in_groups: bool,
}

impl Fold {
    const fn outer(dim: usize) -> Fold {
        Fold { dim, in_groups: false }
    }
    const fn inner(dim: usize) -> Fold {
        Fold { dim, in_groups: true }
    }

    /// [B, …, groups · r, …] to […, groups · B · r, …].
    fn merge(self, v: &Tensor, groups: usize) -> Result<Tensor> {
        let (groups, d) = (if self.in_groups { groups } else { 1 }, self.dim);
        let (batch, member) = (v.shape()[0], v.shape().without(0));
        let [next, after] = behind(d);
        let split = v.shape().with(next, groups);
        let split = inserted(split, after, member[d].checked_div(groups).unwrap_or(0));
        let mut order: Dims = (1..split.rank()).collect();
        order.insert(next, 0);
        let v = basis::permute(&basis::reshape(v, &split)?, &order)?;
        basis::reshape(&v, &member.with(d, member[d].saturating_mul(batch)))
    }

    /// The inverse of [`Fold::merge`] for a batch of this size.
    fn split(self, y: &Tensor, groups: usize, batch: usize) -> Result<Tensor> {
        let (groups, d) = (if self.in_groups { groups } else { 1 }, self.dim);
        let [next, after] = behind(d);
        let rest = y.shape()[d].checked_div(groups.saturating_mul(batch)).unwrap_or(0);
        let parts = inserted(inserted(y.shape().with(d, groups), next, batch), after, rest);
        let y = basis::move_dim(&basis::reshape(y, &parts)?, next, 0)?;
        basis::reshape(&y, &inserted(y.shape().without(next), next, groups.saturating_mul(rest)).without(after))
    }
}

/// The two dimensions behind one.
fn behind(d: usize) -> [usize; 2] {
    [d.saturating_add(1), d.saturating_add(2)]
}

fn inserted(mut shape: Shape, at: usize, size: usize) -> Shape {
    shape.insert(at, size);
    shape
}

/// How a batch runs as one convolution: where it is folded if the first or the second argument alone has it (argument,
/// result), and the dimensions of both arguments and the result if both have it, as more groups.
struct Folds {
    first: (Fold, Fold),
    second: (Fold, Fold),
    both: [usize; 3],
}

impl Folds {
    fn run(&self, me: Prim<'_>, params: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<Tensor> {
        let p = params.get::<ConvParams>();
        let (a, b) = (batching::front(&args[0])?, batching::front(&args[1])?);
        if info.size == 0 {
            return no_members(me, params, [a.as_deref(), b.as_deref()], args);
        }
        let (out, fold) = match (&a, &b) {
            (Some(a), Some(b)) => {
                let [i, j, o] = self.both.map(Fold::outer);
                let params = Params::other(p.with_groups(p.groups.saturating_mul(info.size)));
                (call(me, &params, &[&i.merge(a, 1)?, &j.merge(b, 1)?])?, o)
            }
            (Some(a), None) => {
                let (i, o) = self.first;
                (call(me, params, &[&i.merge(a, p.groups)?, args[1].value])?, o)
            }
            (None, Some(b)) => {
                let (i, o) = self.second;
                (call(me, params, &[args[0].value, &i.merge(b, p.groups)?])?, o)
            }
            (None, None) => crate::bail!(Internal, "conv(): nothing is batched"),
        };
        fold.split(&out, p.groups, info.size)
    }
}

/// The result for a batch without members: one of zeros tells the sizes.
fn no_members(me: Prim<'_>, params: &Params, batched: [Option<&Tensor>; 2], args: &[BatchArg<'_>]) -> Result<Tensor> {
    let member = |i: usize| match batched[i] {
        Some(v) => basis::full(&v.shape().without(0), v.dtype(), 0.0),
        None => Ok(args[i].value.clone()),
    };
    let one = call(me, params, &[&member(0)?, &member(1)?])?;
    basis::full(&inserted(one.shape().clone(), 0, 0), one.dtype(), 0.0)
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] = &[&CONV, &CONV_INPUT_GRAD, &CONV_WEIGHT_GRAD];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    primitives: &[PRIMITIVES],
    parameters: &[crate::core::params::Type::of::<crate::dense::conv::ConvParams>()],
    ..crate::ops::Family::EMPTY
};
