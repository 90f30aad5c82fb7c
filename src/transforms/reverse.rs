//! `grad` and `vjp`: run a function on a tape, then sweep it.

use super::backward;
use super::run::Values;
use crate::bail;
use crate::base::Result;
use crate::core::closed::taken_off;
use crate::core::level::{self, Guard};
use crate::core::node::Meta;
use crate::core::origin::{Origin, at_here};
use crate::core::tensor::Payload;
use crate::core::{Edge, LevelId, Node, Tangents, Tensor};
use crate::rules::basis;
use smallvec::SmallVec;
use std::sync::Arc;

/// The inputs of a tape, in the order of their creation.
pub type Leaves = SmallVec<[Arc<Node>; 2]>;

/// A tape level with its leaves.
pub struct Tape {
    guard: Guard,
    leaves: Leaves,
}

impl Tape {
    /// # Errors
    /// `Recursion` if too many levels are open.
    #[inline]
    pub fn open(origin: Origin) -> Result<Tape> {
        level::check_room()?;
        Ok(Tape { guard: level::push_tape(origin), leaves: Leaves::new() })
    }
    pub fn level(&self) -> LevelId {
        self.guard.id()
    }
    /// An input to differentiate with respect to. Its dtype must be differentiable.
    pub fn leaf(&mut self, x: &Tensor) -> Tensor {
        let node = Node::leaf(self.level(), Meta::of(x), None);
        self.leaves.push(node.clone());
        Tensor::taped(self.level(), x.clone(), node, 0)
    }
    /// The value of the levels below, and where it hangs on this tape.
    pub fn detach(&self, y: &Tensor) -> Result<(Tensor, Option<Edge>)> {
        let taped = |y: &Tensor, payload: &Payload| match payload {
            Payload::Taped { value, node, slot } => Ok((value.clone(), Some(Edge { node: node.clone(), slot: *slot }))),
            _ => Ok((y.clone(), None)),
        };
        taken_off(y, self.level(), taped, |y| Ok((y, None)))
    }
    /// Closes the level and keeps what a sweep needs.
    pub fn close(self) -> Leaves {
        self.leaves
    }
}

/// Gradients of the leaves of a closed tape for the given cotangents; `None` where nothing depends on the leaf. Without
/// `retain` the residuals are freed on the way.
pub fn pull(leaves: &[Arc<Node>], roots: impl IntoIterator<Item = (Edge, Tensor)>, retain: bool) -> Result<Tangents> {
    let mut out = Tangents::from_elem(None, leaves.len());
    backward::sweep_closed(roots, retain, &mut |node, grads| {
        if node.is_leaf()
            && let Ok(i) = leaves.binary_search_by_key(&node.seq, |l| l.seq)
        {
            out[i] = grads[0].clone();
        }
        Ok(true)
    })?;
    Ok(out)
}

/// Sweeps a closed function's graph as often as asked, at whatever levels are live then.
pub struct Pullback {
    leaves: Leaves,
    roots: SmallVec<[Option<Edge>; 2]>,
    outputs: SmallVec<[Meta; 2]>,
}

impl Pullback {
    /// From the leaves of a closed tape and what [`Tape::detach`] gave for the outputs; also returns their values.
    pub fn new(leaves: Leaves, outputs: impl IntoIterator<Item = (Tensor, Option<Edge>)>) -> (Values, Pullback) {
        let mut pullback = Pullback { leaves, roots: SmallVec::new(), outputs: SmallVec::new() };
        let mut values = Values::new();
        for (y, root) in outputs {
            pullback.outputs.push(Meta::of(&y));
            pullback.roots.push(root);
            values.push(y);
        }
        (values, pullback)
    }

    /// Of the cotangents that [`Pullback::call`] takes.
    pub fn outputs(&self) -> &[Meta] {
        &self.outputs
    }

    /// Cotangents of the inputs; `None` is zero on both sides. There is one cotangent for each output.
    ///
    /// # Errors
    /// `Runtime` if a cotangent's shape is not the output's, or the residuals are freed.
    pub fn pull(&self, cotangents: &[Option<Tensor>], retain: bool) -> Result<Tangents> {
        if cotangents.len() != self.outputs.len() {
            bail!(Runtime, "vjp(): expected {} cotangents, got {}", self.outputs.len(), cotangents.len());
        }
        for (i, (c, m)) in cotangents.iter().zip(&self.outputs).enumerate() {
            if let Some(c) = c
                && c.shape() != &m.shape
            {
                bail!(
                    Runtime,
                    "vjp(): Mismatch in shape: cotangent {i} has a shape of {} and output {i} has a shape of {}{}",
                    c.shape(),
                    m.shape,
                    at_here()
                );
            }
        }
        let roots = self.roots.iter().zip(cotangents).filter_map(|(e, c)| e.clone().zip(c.clone()));
        pull(&self.leaves, roots, retain)
    }

    /// As [`Pullback::pull`], with zeros written out.
    pub fn call(&self, cotangents: &[Option<Tensor>], retain: bool) -> Result<Vec<Tensor>> {
        let grads = self.pull(cotangents, retain)?;
        let dense = |(g, leaf): (Option<Tensor>, &Arc<Node>)| match g {
            Some(g) => Ok(g),
            None => basis::full(&leaf.metas[0].shape, leaf.metas[0].dtype, 0.0),
        };
        grads.into_iter().zip(&self.leaves).map(dense).collect()
    }
}

/// An error unless the dtype can carry derivatives.
pub fn check_differentiable(op: &str, x: &Tensor) -> Result<()> {
    if !x.dtype().is_differentiable() {
        bail!(
            Runtime,
            "{op}(): only Tensors of floating point or complex dtype can require gradients, got {}{}; give a float, as in \
             3.0, or convert the tensor with .float() or .double()",
            x.dtype(),
            at_here()
        );
    }
    Ok(())
}

/// An error unless an output has a dtype that cotangents can have.
pub fn check_output(op: &str, y: &Tensor) -> Result<()> {
    if !y.dtype().is_differentiable() {
        bail!(
            Runtime,
            "{op}(): All outputs of f must be floating-point or complex Tensors, got a Tensor with dtype {}{}",
            y.dtype(),
            at_here()
        );
    }
    Ok(())
}

/// An error unless the output is 0-d.
pub fn check_scalar(op: &str, y: &Tensor) -> Result<()> {
    if y.rank() != 0 {
        bail!(
            Runtime,
            "{op}(): Expected the function to return a scalar Tensor, got a Tensor with {} dims and shape {}; \
             sum it, or use vjp or jacrev instead{}",
            y.rank(),
            y.shape(),
            at_here()
        );
    }
    if y.dtype().is_complex() {
        bail!(
            Runtime,
            "{op}(): gradients can be implicitly created only for real scalar outputs but got {}; take its real or \
             imaginary part, or use vjp{}",
            y.dtype(),
            at_here()
        );
    }
    Ok(())
}
