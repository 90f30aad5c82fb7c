//! Where a tensor's `.grad` is kept: one object, added to in place.

use crate::tensor;
use crate::tensor::PyTensor;
use crate::tensor::gc::Visitor;
use crate::types::class::type_name;
use crate::types::errors::PyResult;
use crate::types::errors::to_error;
use pullback::base::{Error, Layout, Result};
use pullback::core::level::{self, GradMode};
use pullback::core::node::{Sink, locked};
use pullback::core::{LevelId, Node, Tensor};
use pullback::dense::copy::gather;
use pullback::rules::basis;
use pullback::skin::{history, write};
use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;
use std::any::Any;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A hook that gets the tensor after accumulation, with an id for removal.
pub type PostHook = (u64, Arc<Py<PyAny>>);

/// The gradient of one tensor, which owns it.
#[derive(Default)]
pub struct GradBox {
    grad: Mutex<Option<Py<PyTensor>>>,
}

thread_local! {
    /// Gradients that wait to be dropped, while another one is: a gradient may have a gradient, and so on.
    static WAITING: RefCell<Option<Vec<Py<PyTensor>>>> = const { RefCell::new(None) };
}

impl Drop for GradBox {
    fn drop(&mut self) {
        let grad = self.grad.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(grad) = grad {
            drop_flat(grad);
        }
    }
}

/// Drops a gradient without recursion.
fn drop_flat(grad: Py<PyTensor>) {
    let mut next = Some(grad);
    let outermost = WAITING.try_with(|w| match w.borrow_mut().as_mut() {
        Some(waiting) => {
            waiting.extend(next.take());
            false
        }
        None => true,
    });
    if !matches!(outermost, Ok(true)) {
        return drop(next);
    }
    WAITING.set(Some(Vec::new()));
    while let Some(grad) = next {
        drop(grad);
        next = WAITING.with_borrow_mut(|w| w.as_mut().and_then(Vec::pop));
    }
    WAITING.set(None);
}

impl GradBox {
    pub fn new() -> Arc<GradBox> {
        Arc::new(GradBox::default())
    }

    pub fn get(&self, py: Python<'_>) -> Option<Py<PyTensor>> {
        locked(&self.grad).as_ref().map(|g| g.clone_ref(py))
    }

    /// Replaces the gradient. The old one is dropped when the lock is free.
    pub fn set(&self, grad: Option<Py<PyTensor>>) {
        let old = std::mem::replace(&mut *locked(&self.grad), grad);
        drop(old);
    }

    /// For the garbage collector, which must not wait.
    pub fn visit(&self, visitor: &mut Visitor<'_>) {
        if let Ok(g) = self.grad.try_lock()
            && let Some(g) = &*g
        {
            visitor.object(g);
        }
    }

    /// Adds a gradient: in place, so that who holds the object sees the sum; a recorded sum is a new object.
    pub fn add(&self, py: Python<'_>, g: &Tensor, recorded: bool, lies: &dyn Fn(Python<'_>) -> Lies) -> PyResult<()> {
        match self.get(py) {
            None => self.set(Some(tensor::wrap(py, in_order(py, g, lies)?)?.unbind())),
            Some(old) if recorded => {
                let sum = basis::add(&old.get().value(), g)?;
                self.set(Some(tensor::wrap(py, sum)?.unbind()));
            }
            Some(old) => {
                let _off = GradMode::set(false);
                let sum = basis::add(&old.get().value(), g)?;
                old.get().write("backward", &sum)?;
            }
        }
        Ok(())
    }
}

/// How the elements of a gradient are to lie in memory.
pub enum Lies {
    /// As they are, without gaps.
    AsItIs,
    ByRows,
    AsLeaf(Layout),
}

/// A first gradient with its elements in the order of the leaf's, whatever views the cotangent went through and however
/// the input of a convolution lies: programs write `p.grad.view(-1)`.
fn in_order(py: Python<'_>, g: &Tensor, lies: &dyn Fn(Python<'_>) -> Lies) -> Result<Tensor> {
    let (None, Some(array)) = (g.symbolic(), g.dense()) else { return Ok(g.clone()) };
    if array.rank() < 2 && array.is_contiguous() {
        return Ok(g.clone());
    }
    match lies(py) {
        Lies::AsItIs if array.layout().is_dense() => Ok(g.clone()),
        Lies::AsLeaf(layout) if layout.shape == *array.shape() => Ok(array.laid_as(&layout)?.into()),
        _ if array.is_contiguous() => Ok(g.clone()),
        _ => Ok(gather(array)?.into()),
    }
}

/// Runs `f` with the interpreter, unless that has ended.
fn attached(f: impl FnOnce(Python<'_>) -> PyResult<()>) -> Result<()> {
    let done = Python::try_attach(|py| f(py).map_err(to_error));
    done.unwrap_or_else(|| Err(Error::runtime("backward(): the interpreter has ended")))
}

/// The gradient of a tensor that an operator made, and that is to keep it.
impl Sink for GradBox {
    fn accumulate(&self, _: &Arc<Node>, gradient: &Tensor) -> Result<()> {
        attached(|py| self.add(py, gradient, level::grad_enabled(), &|_| Lies::AsItIs))
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What the tape knows of a leaf's tensor: not more than it needs, so that a gradient with a graph of its own, which
/// leads to the leaf again, is no cycle.
#[derive(Default)]
pub struct Accumulator {
    grad: Mutex<Weak<GradBox>>,
    owner: Mutex<Holder>,
    pub hooks: Mutex<Vec<PostHook>>,
}

#[derive(Default)]
enum Holder {
    #[default]
    Unknown,
    Alive(Py<PyWeakrefReference>),
    /// The program dropped the tensor, and a graph still leads here.
    Orphan {
        data: Tensor,
        grad: Option<Py<PyTensor>>,
    },
}

impl Accumulator {
    /// Of a tensor that becomes a leaf.
    pub fn new(owner: &Bound<'_, PyTensor>) -> PyResult<Arc<Accumulator>> {
        let a = Accumulator::default();
        *locked(&a.grad) = Arc::downgrade(&owner.get().gradient_box());
        *locked(&a.owner) = Holder::Alive(PyWeakrefReference::new(owner)?.unbind());
        Ok(Arc::new(a))
    }

    /// The leaf's value is another object's now.
    pub fn moved(to: &Bound<'_, PyTensor>) -> PyResult<()> {
        let value = to.get().value();
        if let Some(a) = value.node_at(LevelId::AMBIENT).and_then(|(node, _)| Accumulator::of_node(node)) {
            let alive = Holder::Alive(PyWeakrefReference::new(to)?.unbind());
            let before = std::mem::replace(&mut *locked(&a.owner), alive);
            drop(before);
        }
        Ok(())
    }

    pub fn of_node(node: &Node) -> Option<&Accumulator> {
        node.sink()?.as_any().downcast_ref()
    }

    /// For the garbage collector, which must not wait.
    pub fn visit(&self, visitor: &mut Visitor<'_>) {
        if let Ok(hooks) = self.hooks.try_lock() {
            for (_, hook) in hooks.iter().filter(|h| Arc::strong_count(&h.1) == 1) {
                visitor.object(hook);
            }
        }
        if let Ok(owner) = self.owner.try_lock() {
            match &*owner {
                Holder::Orphan { grad: Some(grad), .. } => visitor.object(grad),
                Holder::Alive(reference) => visitor.object(reference),
                Holder::Orphan { .. } | Holder::Unknown => {}
            }
        }
    }

    /// Where the gradient is; the asking tensor keeps it if nobody does.
    pub fn gradient_box(&self, asking: &PyTensor) -> Arc<GradBox> {
        let mut grad = locked(&self.grad);
        if let Some(known) = grad.upgrade() {
            return known;
        }
        let made = asking.gradient_box();
        *grad = Arc::downgrade(&made);
        drop(grad);
        if let Holder::Orphan { grad, .. } = &mut *locked(&self.owner)
            && let Some(grad) = grad.take()
        {
            *locked(&made.grad) = Some(grad);
        }
        made
    }

    /// The leaf's tensor, made again if the program has dropped it.
    pub fn variable<'py>(&self, py: Python<'py>, node: &Arc<Node>) -> PyResult<Option<Bound<'py, PyTensor>>> {
        let (data, grad) = match &*locked(&self.owner) {
            Holder::Unknown => return Ok(None),
            Holder::Alive(r) => return Ok(r.bind(py).upgrade_as::<PyTensor>()?),
            Holder::Orphan { data, grad } => (data.clone(), grad.as_ref().map(|g| g.clone_ref(py))),
        };
        let made = tensor::wrap_shared(py, Tensor::taped(LevelId::AMBIENT, data, node.clone(), 0))?;
        let held = made.get().gradient_box();
        held.set(grad);
        *locked(&self.grad) = Arc::downgrade(&held);
        let alive = Holder::Alive(PyWeakrefReference::new(&made)?.unbind());
        let before = std::mem::replace(&mut *locked(&self.owner), alive);
        drop(before);
        Ok(Some(made))
    }

    /// The program drops the leaf's tensor: what a graph that still leads here may ask for. A gradient that has a
    /// history would keep that graph alive.
    pub fn orphan(py: Python<'_>, value: &Tensor, held: &GradBox) {
        let Some((node, _)) = value.node_at(LevelId::AMBIENT) else { return };
        let Some(a) = Accumulator::of_node(node) else { return };
        if Arc::strong_count(node) == 1 || !std::ptr::eq(locked(&a.grad).as_ptr(), held) {
            return;
        }
        let Some(data) = value.below().filter(|d| d.dense().is_some()) else { return };
        let grad = held.get(py).filter(|g| !history::has_history(&g.get().value()));
        let before = std::mem::replace(&mut *locked(&a.owner), Holder::Orphan { data: data.clone(), grad });
        drop(before);
    }
}

impl Accumulator {
    /// An error where a gradient without data would be that of a tensor that has data.
    #[cold]
    fn check_data(&self, node: &Arc<Node>, gradient: &Tensor) -> Result<()> {
        attached(|py| match self.variable(py, node)? {
            Some(leaf) => Ok(write::check_data("backward", &leaf.get().value(), gradient)?),
            None => Ok(()),
        })
    }

    /// How the leaf lies in memory.
    #[cold]
    fn lies(&self, py: Python<'_>) -> Lies {
        let Holder::Alive(reference) = &*locked(&self.owner) else { return Lies::ByRows };
        let Ok(Some(leaf)) = reference.bind(py).upgrade_as::<PyTensor>() else { return Lies::ByRows };
        let value = leaf.get().value();
        match value.below().unwrap_or(&value).dense() {
            Some(a) if !a.is_contiguous() && a.layout().is_dense() => Lies::AsLeaf(a.layout()),
            _ => Lies::ByRows,
        }
    }

    /// To the gradient of a tensor that the program has dropped.
    fn add_to_orphan(&self, py: Python<'_>, gradient: &Tensor) -> PyResult<()> {
        let grad = match &*locked(&self.owner) {
            Holder::Orphan { grad, .. } => grad.as_ref().map(|g| g.clone_ref(py)),
            _ => return Ok(()),
        };
        let held = GradBox { grad: Mutex::new(grad) };
        held.add(py, gradient, false, &|_| Lies::ByRows)?;
        let mut grad = held.get(py);
        if let Holder::Orphan { grad: before, .. } = &mut *locked(&self.owner) {
            std::mem::swap(before, &mut grad);
        }
        drop(grad);
        Ok(())
    }
}

impl Sink for Accumulator {
    fn accumulate(&self, node: &Arc<Node>, gradient: &Tensor) -> Result<()> {
        if gradient.is_abstract() {
            self.check_data(node, gradient)?;
        }
        let known = locked(&self.grad).upgrade();
        match known {
            Some(held) => attached(|py| held.add(py, gradient, level::grad_enabled(), &|py| self.lies(py)))?,
            None => attached(|py| self.add_to_orphan(py, gradient))?,
        }
        let hooks: Vec<PostHook> = locked(&self.hooks).clone();
        if hooks.is_empty() {
            return Ok(());
        }
        attached(|py| {
            let Some(variable) = self.variable(py, node)? else { return Ok(()) };
            for (_, hook) in &hooks {
                let out = hook.bind(py).call1((&variable,))?;
                if !out.is_none() {
                    return Err(Error::runtime(format!(
                        "register_post_accumulate_grad_hook(): hooks should return None, and this one returned {}; write \
                         to .grad in the hook instead",
                        type_name(&out)
                    ))
                    .into());
                }
            }
            Ok(())
        })
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}
