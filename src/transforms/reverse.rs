//! `grad` and `vjp`: run a function on a tape, then sweep it.

use super::backward::{self, Options};
use crate::bail;
use crate::base::Result;
use crate::core::level::{self, Guard};
use crate::core::node::Meta;
use crate::core::origin::Origin;
use crate::core::{Edge, LevelId, Node, Tensor};
use crate::rules::basis;
use std::sync::Arc;

/// A tape level with its leaves.
pub struct Tape {
    guard: Guard,
    leaves: Vec<Arc<Node>>,
}

impl Tape {
    pub fn open(origin: Origin) -> Tape {
        Tape { guard: level::push_tape(origin), leaves: Vec::new() }
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
    pub fn detach(&self, y: &Tensor) -> (Tensor, Option<Edge>) {
        match (y.node_at(self.level()), y.below()) {
            (Some((node, slot)), Some(value)) => (value.clone(), Some(Edge { node: node.clone(), slot })),
            _ => (y.clone(), None),
        }
    }
    /// Closes the level and keeps what a sweep needs.
    pub fn close(self) -> Vec<Arc<Node>> {
        self.leaves
    }
}

/// Gradients of the leaves for the given cotangents; `None` where nothing depends on the leaf.
pub fn pull(
    leaves: &[Arc<Node>],
    roots: impl IntoIterator<Item = (Edge, Tensor)>,
    options: Options,
) -> Result<Vec<Option<Tensor>>> {
    let mut out: Vec<Option<Tensor>> = vec![None; leaves.len()];
    backward::sweep(roots, options, &mut |node, grads| {
        if node.is_leaf()
            && let Some(i) = leaves.iter().position(|l| Arc::ptr_eq(l, node))
        {
            out[i] = grads[0].clone();
        }
        Ok(true)
    })?;
    Ok(out)
}

/// Sweeps a closed function's graph as often as asked, at whatever levels are live then.
pub struct Pullback {
    leaves: Vec<Arc<Node>>,
    inputs: Vec<Meta>,
    roots: Vec<Option<Edge>>,
    outputs: Vec<Meta>,
}

impl Pullback {
    pub fn new(leaves: Vec<Arc<Node>>, outputs: Vec<(Tensor, Option<Edge>)>) -> (Vec<Tensor>, Pullback) {
        let inputs = leaves.iter().map(|l| l.metas[0].clone()).collect();
        let metas = outputs.iter().map(|(y, _)| Meta::of(y)).collect();
        let (values, roots) = outputs.into_iter().unzip();
        (values, Pullback { leaves, inputs, roots, outputs: metas })
    }
    pub fn outputs(&self) -> &[Meta] {
        &self.outputs
    }
    /// Cotangents of the inputs, zeros where an input has no influence.
    pub fn call(&self, cotangents: &[Tensor], options: Options) -> Result<Vec<Tensor>> {
        if cotangents.len() != self.outputs.len() {
            bail!(Runtime, "vjp(): expected {} cotangents, got {}", self.outputs.len(), cotangents.len());
        }
        for (i, (c, m)) in cotangents.iter().zip(&self.outputs).enumerate() {
            if c.shape() != &m.shape {
                bail!(Runtime, "vjp(): cotangent {i} has shape {}, expected the output's shape {}", c.shape(), m.shape);
            }
        }
        let roots = self.roots.iter().zip(cotangents);
        let roots = roots.filter_map(|(e, c)| e.clone().map(|e| (e, c.clone())));
        let grads = pull(&self.leaves, roots, options)?;
        grads
            .into_iter()
            .zip(&self.inputs)
            .map(|(g, m)| g.map_or_else(|| basis::full(&m.shape, m.dtype, 0.0), Ok))
            .collect()
    }
}

/// The gradient of a scalar function, and its value.
///
/// # Errors
/// `Runtime` if `f` does not return a 0-d tensor of a float dtype, or `x` is not of one.
///
/// ```
/// use pullback::{Tensor, grad_and_value};
/// let x = Tensor::from_slice([2], &[1.0, 2.0])?;
/// let (g, y) = grad_and_value(|x| x.mul(x)?.sum_all(), &x)?;
/// assert_eq!(y.to_vec::<f64>()?, [5.0]);
/// assert_eq!(g.to_vec::<f64>()?, [2.0, 4.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn grad_and_value(f: impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result<(Tensor, Tensor)> {
    check_differentiable("grad", x)?;
    let mut tape = Tape::open(Origin::UNKNOWN);
    let leaf = tape.leaf(x);
    let y = f(&leaf)?;
    drop(leaf);
    check_scalar("grad", &y)?;
    let (value, edge) = tape.detach(&y);
    drop(y);
    let leaves = tape.close();
    let seed = basis::ones_like(&value)?;
    let grad = pull(&leaves, edge.map(|e| (e, seed)), Options::default())?.pop().flatten();
    Ok((grad.map_or_else(|| basis::zeros_like(x), Ok)?, value))
}

/// The gradient of a scalar function at `x`.
///
/// ```
/// use pullback::{Tensor, grad};
/// let x = Tensor::from_slice([1], &[3.0])?;
/// let g = grad(|x| x.mul(x)?.sum_all(), &x)?;
/// assert_eq!(g.to_vec::<f64>()?, [6.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn grad(f: impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result<Tensor> {
    Ok(grad_and_value(f, x)?.0)
}

/// The outputs of `f`, and the map from output cotangents to input cotangents, which can be called any number of times.
///
/// ```
/// use pullback::{Tensor, vjp};
/// let x = Tensor::from_slice([2], &[1.0, 2.0])?;
/// let (y, pullback) = vjp(|x| Ok(vec![x[0].mul(&x[0])?]), &[x])?;
/// let g = pullback(&[Tensor::from_slice([2], &[1.0, 10.0])?])?;
/// assert_eq!(g[0].to_vec::<f64>()?, [2.0, 40.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn vjp(
    f: impl Fn(&[Tensor]) -> Result<Vec<Tensor>>,
    xs: &[Tensor],
) -> Result<(Vec<Tensor>, impl Fn(&[Tensor]) -> Result<Vec<Tensor>>)> {
    let mut tape = Tape::open(Origin::UNKNOWN);
    for x in xs {
        check_differentiable("vjp", x)?;
    }
    let leaves: Vec<Tensor> = xs.iter().map(|x| tape.leaf(x)).collect();
    let outputs = f(&leaves)?.iter().map(|y| tape.detach(y)).collect();
    let (values, pullback) = Pullback::new(tape.close(), outputs);
    let options = Options { retain: true, create_graph: true };
    Ok((values, move |cotangents: &[Tensor]| pullback.call(cotangents, options)))
}

/// An error unless the dtype can carry derivatives.
pub fn check_differentiable(op: &str, x: &Tensor) -> Result<()> {
    if !x.dtype().is_differentiable() {
        bail!(Runtime, "{op}(): only Tensors of floating point dtype can be differentiated, got {}", x.dtype());
    }
    Ok(())
}

/// An error unless the output is a 0-d float tensor.
pub fn check_scalar(op: &str, y: &Tensor) -> Result<()> {
    if y.rank() != 0 {
        bail!(
            Runtime,
            "{op}(): expected the function to return a scalar tensor, got a tensor with {} dims and shape {}; \
             sum it, or use vjp or jacrev{}",
            y.rank(),
            y.shape(),
            crate::core::origin::at_here()
        );
    }
    if !y.dtype().is_differentiable() {
        bail!(
            Runtime,
            "{op}(): expected the function to return a floating point tensor, got {}{}",
            y.dtype(),
            crate::core::origin::at_here()
        );
    }
    Ok(())
}
