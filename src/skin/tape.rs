//! The imperative face of the tape: `requires_grad`, `.backward()`, `autograd.grad`.

use crate::bail;
use crate::base::{Error, Result};
use crate::core::level::{self, GradMode, LevelKind};
use crate::core::node::{Meta, Node, Sink, locked};
use crate::core::origin::Origin;
use crate::core::tensor::Payload;
use crate::core::{Edge, LevelId, Randomness, Tensor, origin};
use crate::rules::basis;
use crate::transforms::backward::{self, Options};
use crate::transforms::vmap::Batch;
use rustc_hash::FxHashSet;
use std::rc::Rc;
use std::sync::Arc;

/// The tape that records operators of this value, and where the value hangs on it: that of the outermost wrapper.
/// Wrappers of transforms that are gone do not count, nor do those of `forward_ad`.
pub fn edge(t: &Tensor) -> Option<Edge> {
    let mut t = t;
    loop {
        let id = t.level();
        t = match t.payload()? {
            Payload::Taped { node, slot, .. } if level::is_live(id) => {
                return Some(Edge { node: node.clone(), slot: *slot });
            }
            Payload::Dual { primal, .. } if !level::is_live(id) || level::is_forward_ad(id) => primal,
            Payload::Taped { value, .. } => value,
            _ => return None,
        };
    }
}

pub fn requires_grad(t: &Tensor) -> bool {
    t.payload().is_some() && edge(t).is_some()
}

/// Whether no recorded operator gave the value.
pub fn is_leaf(t: &Tensor) -> bool {
    t.payload().is_none() || edge(t).is_none_or(|e| e.node.is_leaf())
}

/// An error inside of functions that are being transformed, where the ambient tape is out of reach.
pub fn check_outside(op: &str) -> Result<()> {
    let Some(l) = outermost() else { return Ok(()) };
    let place = l.origin.describe().unwrap_or_else(|| l.transform().into());
    bail!(
        Runtime,
        "You are attempting to call {op} (or perhaps using torch.autograd.functional.* APIs) inside of a function being \
         transformed, by {place}{}. This is unsupported: use the transforms of pullback.func (grad, vjp, jacrev, …) inside, or call {op} outside",
        origin::at_here()
    )
}

/// Whether no function is being transformed.
pub fn is_outside() -> bool {
    outermost().is_none()
}

/// The highest visible level of a transform of a function.
fn outermost() -> Option<level::Level> {
    if level::current() == LevelId::DENSE {
        return None;
    }
    let own = |l: &level::Level| {
        matches!(l.kind, LevelKind::Dual { ambient: true, .. } | LevelKind::Tape { method: true, .. })
    };
    level::visible().into_iter().find(|l| !own(l))
}

/// The value as a leaf of the ambient tape, whose gradients go to `sink`.
///
/// # Errors
/// `Runtime` for dtypes without derivative, and inside of functions that are being transformed.
pub fn leaf(t: &Tensor, sink: Arc<dyn Sink>) -> Result<Tensor> {
    check_outside("Tensor.requires_grad_()")?;
    new_leaf(t, sink)
}

/// As [`leaf`], also inside of functions that are being transformed: of a value that was made there and that nothing
/// follows, as the weights of a module are.
///
/// # Errors
/// `Runtime` for dtypes without derivative, and for values that a transform follows.
pub fn new_leaf(t: &Tensor, sink: Arc<dyn Sink>) -> Result<Tensor> {
    if !t.dtype().is_differentiable() {
        bail!(
            Runtime,
            "only Tensors of floating point and complex dtype can require gradients, got {}; convert it with .float() or \
             .double()",
            t.dtype()
        );
    }
    if let Some(Payload::Dual { primal, tangent }) = t.payload() {
        return Ok(Tensor::dual(t.level(), new_leaf(primal, sink)?, tangent.clone()));
    }
    if t.level() > LevelId::ABSTRACT {
        bail!(Runtime, "requires_grad_(): the value belongs to {}", t.level());
    }
    let node = Node::leaf(LevelId::AMBIENT, Meta::of(t), Some(sink));
    Ok(Tensor::taped(LevelId::AMBIENT, t.clone(), node, 0))
}

/// The value without the tape that it is a leaf of.
///
/// # Errors
/// `Runtime` if it is not a leaf: then the history can only be left behind by `detach()`.
pub fn unleaf(t: &Tensor) -> Result<Tensor> {
    match (t.payload(), edge(t)) {
        (_, Some(e)) if !e.node.is_leaf() => bail!(
            Runtime,
            "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a \
             subgraph that doesn't require differentiation use var_no_grad = var.detach()."
        ),
        (Some(Payload::Taped { value, .. }), _) => Ok(value.clone()),
        (Some(Payload::Dual { primal, tangent }), Some(_)) => {
            Ok(Tensor::dual(t.level(), unleaf(primal)?, tangent.clone()))
        }
        _ => Ok(t.clone()),
    }
}

/// Outputs with their cotangents as roots of a sweep.
///
/// # Errors
/// `Runtime` for outputs that no tape follows, and for missing cotangents of outputs that are not real scalars.
pub fn roots(op: &str, outputs: &[Tensor], cotangents: &[Option<Tensor>]) -> Result<Vec<(Edge, Tensor)>> {
    let given = |i: usize| cotangents.get(i).cloned().flatten();
    outputs.iter().enumerate().map(|(i, y)| root(op, i, y, given(i))).collect()
}

fn root(op: &str, i: usize, y: &Tensor, cotangent: Option<Tensor>) -> Result<(Edge, Tensor)> {
    let Some(edge) = edge(y) else {
        if super::read::has_level(y, LevelId::AMBIENT) {
            bail!(
                Runtime,
                "{op}(): element {i} of tensors is a value of {}, which the tape below cannot be swept through: that \
                 would sum over its members{}; use pullback.func.grad inside, or call {op}() outside",
                y.level(),
                origin::at_here()
            );
        }
        bail!(
            Runtime,
            "{op}(): element {i} of tensors does not require grad and does not have a grad_fn; call requires_grad_() on \
             what it is computed from"
        );
    };
    let meta = &edge.node.metas[edge.slot as usize];
    let seed = match cotangent {
        Some(c) => {
            if c.shape() != &meta.shape {
                bail!(
                    Runtime,
                    "{op}(): Mismatch in shape: grad_output[{i}] has a shape of {} and output[{i}] has a shape of {}",
                    c.shape(),
                    meta.shape
                );
            }
            if c.dtype().is_complex() != meta.dtype.is_complex() {
                bail!(
                    Runtime,
                    "{op}(): For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch \
                     in dtype: grad_output[{i}] has a dtype of {} and output[{i}] has a dtype of {}; convert the gradient",
                    c.dtype(),
                    meta.dtype
                );
            }
            basis::cast(&c, meta.dtype)?
        }
        None if meta.shape.numel() != 1 => {
            bail!(
                Runtime,
                "{op}(): grad can be implicitly created only for scalar outputs, but output {i} has shape {}; give its \
                 gradient, or reduce it to a scalar",
                meta.shape
            )
        }
        None if meta.dtype.is_complex() => {
            bail!(Runtime, "{op}(): grad can be implicitly created only for real scalar outputs but got {}", meta.dtype)
        }
        None => basis::full(&meta.shape, meta.dtype, 1.0)?,
    };
    Ok((edge, seed))
}

/// The nodes from which a sweep that starts at the roots can reach one of the targets.
fn leading_to(roots: &[(Edge, Tensor)], targets: &[Edge]) -> FxHashSet<u64> {
    let first = targets.iter().map(|e| e.node.seq).min().unwrap_or(u64::MAX);
    let mut leads: FxHashSet<u64> = targets.iter().map(|e| e.node.seq).collect();
    let mut seen = FxHashSet::default();
    // A node is met a second time after all its inputs.
    let mut stack: Vec<(&Arc<Node>, bool)> = roots.iter().map(|(e, _)| (&e.node, false)).collect();
    while let Some((node, finished)) = stack.pop() {
        let inputs = || node.edges.iter().flatten().filter(|e| e.node.seq >= first).map(|e| &e.node);
        if finished {
            if inputs().any(|n| leads.contains(&n.seq)) {
                leads.insert(node.seq);
            }
        } else if seen.insert(node.seq) {
            stack.push((node, true));
            stack.extend(inputs().filter(|n| !seen.contains(&n.seq)).map(|n| (n, false)));
        }
    }
    leads
}

/// Gradients of the roots with respect to the targets; `None` where nothing depends on one.
pub fn gradients(roots: Vec<(Edge, Tensor)>, targets: &[Edge], options: Options) -> Result<Vec<Option<Tensor>>> {
    let within = Rc::new(leading_to(&roots, targets));
    let roots: Vec<_> = roots.into_iter().filter(|(e, _)| within.contains(&e.node.seq)).collect();
    let mut found: Vec<Option<Tensor>> = vec![None; targets.len()];
    let nodes = within.clone();
    let mut visit = |node: &Arc<Node>, grads: &[Option<Tensor>]| {
        for (target, slot) in targets.iter().zip(&mut found) {
            if target.node.seq == node.seq {
                *slot = grads[target.slot as usize].clone();
            }
        }
        retain(node, grads)?;
        Ok(node.edges.iter().flatten().any(|e| nodes.contains(&e.node.seq)))
    };
    let _mode = GradMode::set(options.create_graph);
    backward::sweep(roots, options, Some(within), &mut visit)?;
    Ok(found)
}

/// As [`gradients`], where targets may be on several tapes: each is swept for its own.
///
/// # Errors
/// `Runtime` if an output is on a target's tape under a level that this would sum over.
pub fn gradients_of_tapes(
    outputs: &[Tensor],
    cotangents: &[Option<Tensor>],
    targets: &[Edge],
    options: Options,
) -> Result<Vec<Option<Tensor>>> {
    let given = roots("grad", outputs, cotangents)?;
    let level = |e: &Edge| e.node.level;
    if given.iter().all(|(e, _)| targets.iter().all(|t| level(t) == level(e))) {
        return gradients(given, targets, options);
    }
    let mut found = vec![None; targets.len()];
    let mut tapes: Vec<LevelId> = targets.iter().map(level).collect();
    tapes.sort();
    tapes.dedup();
    for tape in tapes {
        let mut seeded = Vec::new();
        for (y, (_, seed)) in outputs.iter().zip(&given) {
            if let Some(edge) = edge_at(y, tape)? {
                seeded.push((edge, seed.clone()));
            }
        }
        let which: Vec<usize> = (0..targets.len()).filter(|&i| level(&targets[i]) == tape).collect();
        let own: Vec<Edge> = which.iter().map(|&i| targets[i].clone()).collect();
        for (i, g) in which.into_iter().zip(gradients(seeded, &own, options)?) {
            found[i] = g;
        }
    }
    Ok(found)
}

/// Where a value hangs on a tape below others.
fn edge_at(y: &Tensor, tape: LevelId) -> Result<Option<Edge>> {
    let mut t = y;
    while t.level() > tape {
        match t.payload() {
            Some(Payload::Taped { value, .. }) => t = value,
            Some(Payload::Dual { primal, .. }) if !level::is_live(t.level()) || level::is_forward_ad(t.level()) => {
                t = primal;
            }
            _ if super::read::has_level(t, tape) => bail!(
                Runtime,
                "grad(): an input is on the tape below {}, which it cannot be swept through{}: pass the tensor to apply() \
                 as an argument, save it, and use what ctx.saved_tensors gives",
                t.level(),
                origin::at_here()
            ),
            _ => return Ok(None),
        }
    }
    Ok(t.node_at(tape).map(|(node, slot)| Edge { node: node.clone(), slot }))
}

/// Gradients for a batch of cotangents, along their dimension 0, which is also that of the results.
pub fn batched_gradients(
    outputs: &[Tensor],
    cotangents: &[Option<Tensor>],
    targets: &[Edge],
    options: Options,
) -> Result<Vec<Option<Tensor>>> {
    let sizes: Vec<usize> = cotangents.iter().flatten().filter_map(|c| c.shape().first().copied()).collect();
    let Some(&size) = sizes.first() else {
        bail!(Runtime, "grad(): is_grads_batched=True needs grad_outputs with a batch dimension in front");
    };
    if sizes.iter().any(|s| *s != size) {
        bail!(Runtime, "grad(): is_grads_batched=True needs grad_outputs of one batch size, got {sizes:?}");
    }
    let batch = Batch::open(size, Randomness::Error, Origin::UNKNOWN)?;
    let lifted: Vec<_> = cotangents.iter().map(|c| c.as_ref().map(|c| batch.lift(c, 0))).collect();
    let roots = roots("grad", outputs, &lifted).map_err(|e| {
        let text =
            "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension";
        if e.message().contains("Mismatch") { Error::new(e.kind(), format!("{}. {text}", e.message())) } else { e }
    })?;
    let grads = gradients(roots, targets, options)?;
    grads.into_iter().map(|g| g.map(|g| batch.lower(&g, 0)).transpose()).collect()
}

/// Accumulates the gradients of all leaves that the roots depend on.
pub fn backward(roots: Vec<(Edge, Tensor)>, options: Options) -> Result<()> {
    let _mode = GradMode::set(options.create_graph);
    backward::sweep(roots, options, None, &mut |node, grads| {
        retain(node, grads)?;
        Ok(true)
    })
}

/// Accumulates the gradients of the targets: of leaves, and of values whose gradient is retained.
pub fn backward_to(roots: Vec<(Edge, Tensor)>, targets: &[Edge], options: Options) -> Result<()> {
    let within = Rc::new(leading_to(&roots, targets));
    let roots: Vec<_> = roots.into_iter().filter(|(e, _)| within.contains(&e.node.seq)).collect();
    let nodes = within.clone();
    let _mode = GradMode::set(options.create_graph);
    backward::sweep(roots, options, Some(within), &mut |node, grads| {
        retain(node, grads)?;
        // The hooks of a target run too.
        Ok(node.extra_if_any().is_some()
            || node.is_leaf()
            || node.edges.iter().flatten().any(|e| nodes.contains(&e.node.seq)))
    })
}

fn retain(node: &Arc<Node>, grads: &[Option<Tensor>]) -> Result<()> {
    let Some(extra) = node.extra_if_any() else { return Ok(()) };
    let retained: Vec<_> = locked(&extra.retained).clone();
    for (slot, sink) in retained {
        if let (Some(Some(g)), Some(sink)) = (grads.get(slot as usize), sink.upgrade()) {
            sink.accumulate(node, g)?;
        }
    }
    Ok(())
}

/// The error for an input that no output depends on.
#[cold]
pub fn unused(i: usize) -> Error {
    Error::runtime(format!(
        "grad(): One of the differentiated Tensors appears to not have been used in the graph (input {i}). Set \
         allow_unused=True if this is the desired behavior."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::any::Any;
    use std::sync::Mutex;

    #[derive(Default)]
    struct GradientSum(Mutex<Vec<f64>>);
    impl Sink for GradientSum {
        fn accumulate(&self, _: &Arc<Node>, g: &Tensor) -> Result<()> {
            self.0.lock().unwrap().extend(g.to_vec::<f64>()?);
            Ok(())
        }
        fn as_any(&self) -> &dyn Any {
            self
        }
    }

    fn numbers(v: &[f64]) -> Tensor {
        Tensor::from_slice([v.len()], v).unwrap()
    }

    #[test]
    fn a_sweep_reaches_the_leaves() {
        let sink = Arc::new(GradientSum::default());
        let x = leaf(&numbers(&[1.0, 2.0]), sink.clone()).unwrap();
        let y = x.mul(&x).unwrap().sum_all().unwrap();
        assert!(requires_grad(&y) && !is_leaf(&y) && is_leaf(&x));
        backward(roots("backward", &[y.clone()], &[]).unwrap(), Options { retain: true, create_graph: false }).unwrap();
        assert_eq!(*sink.0.lock().unwrap(), [2.0, 4.0]);
        backward(roots("backward", &[y.clone()], &[]).unwrap(), Options::default()).unwrap();
        let e = backward(roots("backward", &[y], &[]).unwrap(), Options::default()).unwrap_err();
        assert!(e.message().contains("second time"));
    }

    #[test]
    fn a_million_nodes_are_swept_and_dropped() {
        let sink = Arc::new(GradientSum::default());
        let mut y = leaf(&numbers(&[1.0]), sink.clone()).unwrap();
        for _ in 0..1_000_000 {
            y = y.exp().unwrap();
        }
        let one = Some(numbers(&[0.0]));
        backward(roots("backward", &[y.clone()], &[one]).unwrap(), Options { retain: true, create_graph: false })
            .unwrap();
        assert_eq!(sink.0.lock().unwrap().len(), 1);
        drop(y);
    }

    #[test]
    fn only_what_leads_to_a_target_is_swept() {
        let sink = Arc::new(GradientSum::default());
        let x = leaf(&numbers(&[3.0]), sink.clone()).unwrap();
        let w = leaf(&numbers(&[5.0]), sink.clone()).unwrap();
        let h = x.mul(&w).unwrap();
        let y = h.mul(&w).unwrap().sum_all().unwrap();
        let targets = [edge(&w).unwrap(), edge(&h).unwrap()];
        let g = gradients(roots("grad", &[y], &[]).unwrap(), &targets, Options::default()).unwrap();
        let value = |i: usize| g[i].as_ref().unwrap().to_vec::<f64>().unwrap();
        assert_eq!((value(0), value(1)), (vec![30.0], vec![5.0]));
        assert!(sink.0.lock().unwrap().is_empty());
        let other = leaf(&numbers(&[1.0]), sink).unwrap();
        let z = other.mul(&other).unwrap().sum_all().unwrap();
        assert!(gradients(roots("grad", &[z], &[]).unwrap(), &targets, Options::default()).unwrap()[0].is_none());
    }

    #[test]
    fn wrong_roots_are_named() {
        let e = roots("backward", &[numbers(&[1.0])], &[]).err().unwrap();
        assert!(e.message().contains("element 0 of tensors does not require grad"));
        let x = leaf(&numbers(&[1.0, 2.0]), Arc::new(GradientSum::default())).unwrap();
        assert!(roots("backward", &[x.clone()], &[]).err().unwrap().message().contains("only for scalar outputs"));
        assert!(roots("grad", &[x], &[Some(numbers(&[1.0]))]).err().unwrap().message().contains("Mismatch in shape"));
    }
}
