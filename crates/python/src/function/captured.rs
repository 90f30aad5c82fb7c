//! What reaches a method behind its arguments: a callable argument may hold tensors that are arguments too, and an
//! output may carry what nobody passed.

use super::call::Call;
use super::inputs::{Inputs, Leaf};
use super::method;
use crate::tensor;
use crate::tensor::history::Followed;
use crate::types::errors::PyResult;
use pullback::base::Result;
use pullback::core::method_scope::{self, Captured, RunningMethod};
use pullback::core::tensor::Payload;
use pullback::core::{LevelId, Node, Set, Tensor, level};
use pullback::dense::first_thread::FastLocal;
use pullback::skin::tape;
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::Cell;
use std::collections::HashSet;
use std::ptr::{from_ref, null};
use std::sync::Arc;

thread_local! {
    static OWN: Cell<*const Active<'static>> = const { Cell::new(null()) };
}
/// The method that runs on this thread, innermost.
static ACTIVE: FastLocal<Cell<*const Active<'static>>> = FastLocal::new(&OWN);

/// A method of a call that may run.
pub struct Active<'a> {
    call: &'a Call,
    /// What ran when it began.
    before: Cell<*const Active<'static>>,
}

/// A method that runs until this is dropped.
pub struct Runs<'a> {
    pub running: RunningMethod,
    active: &'a Active<'a>,
}

impl<'a> Active<'a> {
    pub fn new(call: &'a Call) -> Active<'a> {
        Active { call, before: Cell::new(null()) }
    }

    /// Begins, once.
    #[inline]
    pub fn run(&'a self, running: RunningMethod) -> Runs<'a> {
        self.before.set(ACTIVE.with(|a| a.replace(from_ref(self).cast())));
        Runs { running, active: self }
    }
}

impl Drop for Runs<'_> {
    #[inline]
    fn drop(&mut self) {
        ACTIVE.with(|a| a.set(self.active.before.get()));
    }
}

/// The calls whose methods run on this thread, innermost first.
fn calls<'a>() -> impl Iterator<Item = &'a Call> {
    let mut next = ACTIVE.with(Cell::get);
    std::iter::from_fn(move || {
        // SAFETY: what `run` returned borrows the method's place, and takes it off the list when it is dropped; no method
        // ends while the caller looks through the list.
        let active = unsafe { next.as_ref() }?;
        next = active.before.get();
        Some(active.call)
    })
}

/// A tensor argument of a call that runs.
struct Argument {
    call: *const Call,
    index: usize,
    /// Whether it is the argument as the caller has it, and not as a level below does.
    whole: bool,
}

/// The argument of a call that runs that something is true of, at some level of its value.
fn find_argument(f: impl FnMut(&Tensor) -> bool) -> Option<Argument> {
    find_argument_of(calls(), f)
}

fn find_argument_of<'a>(calls: impl Iterator<Item = &'a Call>, mut f: impl FnMut(&Tensor) -> bool) -> Option<Argument> {
    for call in calls {
        for leaf in &call.inputs.leaves {
            let Leaf::Tensor { index, value, .. } = leaf else { continue };
            let mut next = Some(value);
            while let Some(t) = next {
                if f(t) {
                    return Some(Argument { call: from_ref(call), index: *index, whole: t.same(value) });
                }
                next = t.below();
            }
        }
    }
    None
}

/// Whether two values are one, whichever objects hold them.
fn is_same(a: &Tensor, b: &Tensor) -> bool {
    let nodes = |a: &Arc<Node>, b: &Arc<Node>| Arc::ptr_eq(a, b);
    a.same(b)
        || (a.level() == b.level()
            && match (a.payload(), b.payload()) {
                (Some(Payload::Taped { node, slot, .. }), Some(Payload::Taped { node: other, slot: place, .. })) => {
                    nodes(node, other) && slot == place
                }
                (Some(Payload::Dual { primal, tangent }), Some(Payload::Dual { primal: p, tangent: t })) => {
                    is_same(primal, p) && tangent.same(t)
                }
                (Some(Payload::Batched { value, dim }), Some(Payload::Batched { value: v, dim: d })) => {
                    dim == d && is_same(value, v)
                }
                _ => false,
            })
}

/// What a value is to the method that runs.
pub fn what(t: &Tensor) -> Captured {
    match find_argument(|a| a.level() != LevelId::DENSE && is_same(a, t)) {
        None => Captured::Stranger,
        // What a level below has is also what the tape of the twin calls operators on.
        Some(Argument { whole: false, .. }) => Captured::Argument,
        Some(a) => method::twin(a.call, a.index).map_or(Captured::Argument, Captured::Twin),
    }
}

/// The program differentiates in a forward: the arguments hang on the ambient tape where the caller's tensors do, if no
/// transform runs.
pub fn link(py: Python<'_>) -> PyResult<()> {
    let Some(call) = calls().next().filter(|call| !call.needs.is_empty()) else { return Ok(()) };
    let objects = Followed::of(py, from_ref(call) as usize);
    if objects.is_empty() || !tape::is_outside() {
        return Ok(());
    }
    let given = call.inputs.leaves.iter().filter_map(|leaf| match leaf {
        Leaf::Tensor { index, value, .. } if call.needs.has(*index) => Some(value),
        _ => None,
    });
    for (given, object) in given.zip(&objects) {
        let Some(t) = tensor::cell(object) else { continue };
        // What was written to meanwhile is no longer what the caller gave.
        let unwritten = given.below().is_some_and(|below| below.same(&t.value()));
        if unwritten && given.level() == LevelId::AMBIENT {
            t.adopt(given.clone())?;
        }
    }
    Ok(())
}

/// Arguments of a forward that the program keeps behind its `ctx`, in an object that the forward made, are the caller's
/// tensors once it has run. `held`: the objects that are known to be kept elsewhere.
pub fn link_kept(
    inputs: &Inputs,
    needs: &Set,
    objects: &[Bound<'_, PyAny>],
    held: &[*mut ffi::PyObject],
) -> PyResult<()> {
    for (leaf, o) in inputs.leaves.iter().zip(objects) {
        let Leaf::Tensor { index, object, value } = leaf else { continue };
        if !needs.has(*index) || value.level() != LevelId::AMBIENT || o.is(object) {
            continue;
        }
        let known = 1 + held.iter().filter(|h| **h == o.as_ptr()).count();
        let Some(t) = tensor::cell(o).filter(|_| refs(o) > known && tape::is_outside()) else {
            continue;
        };
        if value.below().is_some_and(|below| below.same(&t.value())) {
            t.adopt(value.clone())?;
        }
    }
    Ok(())
}

fn refs(o: &Bound<'_, PyAny>) -> usize {
    // SAFETY: the object is alive; this reads its count.
    unsafe { ffi::Py_REFCNT(o.as_ptr()) as usize }
}

fn is_argument(t: &Tensor) -> bool {
    !matches!(what(t), Captured::Stranger)
}

/// Whether the running method recorded the value itself.
pub fn is_recorded(t: &Tensor) -> bool {
    let mut next = Some(t);
    while let Some(t) = next {
        if t.node_at(t.level()).is_some_and(|(node, _)| node.seq >= method_scope::began()) {
            return true;
        }
        next = t.below();
    }
    false
}

/// Whether a graph leads to something that is older than the running method and no argument of it.
pub fn leads_out(node: &Arc<Node>) -> bool {
    leads_past(node, usize::MAX)
}

/// Whether a forward runs inside of the method of `outer`, and the graphs of these lead to nothing older but its arguments:
/// what it computes from them is its own function's business.
pub fn is_inside_forward(outer: &Call, values: &[Tensor]) -> bool {
    let is_inner = calls().next().is_some_and(|call| !std::ptr::eq(call, outer));
    let leads = |t: &Tensor| {
        std::iter::successors(Some(t), |t| t.below())
            .any(|t| t.node_at(t.level()).is_some_and(|(node, _)| leads_past(node, 1)))
    };
    is_inner && !values.iter().any(leads)
}

/// Whether a graph leads to something that is older than the running method and no argument of the `depth` innermost calls.
fn leads_past(node: &Arc<Node>, depth: usize) -> bool {
    let began = method_scope::began();
    let mut seen = HashSet::new();
    let mut rest = vec![node];
    while let Some(n) = rest.pop() {
        if !seen.insert(n.seq) {
            continue;
        }
        if n.seq >= began {
            rest.extend(n.edges.iter().flatten().map(|e| &e.node));
        } else {
            let is_it = |a: &Tensor| a.node_at(n.level).is_some_and(|(known, _)| Arc::ptr_eq(known, n));
            if find_argument_of(calls().take(depth), is_it).is_none() {
                return true;
            }
        }
    }
    false
}

/// An output of a forward as a value of the levels that it runs at: what it recorded for itself ends here.
///
/// # Errors
/// `Runtime` if it depends on a tensor that is followed, and that nobody passed.
pub fn lowered(i: usize, t: &Tensor) -> Result<Tensor> {
    let (id, lost) = (t.level(), method_scope::is_forbidden(t.level()) && level::is_live(t.level()));
    match t.payload() {
        None | Some(Payload::Traced { .. }) => Ok(t.clone()),
        Some(Payload::Taped { value, node, .. }) if lost => match !is_argument(t) && leads_out(node) {
            true => Err(method_scope::returned(i, id, "that requires grad, or depends on an input of grad or vjp")),
            false => lowered(i, value),
        },
        Some(_) if lost => match method_scope::as_argument(t) {
            Some(value) => lowered(i, &value),
            None if matches!(t.payload(), Some(Payload::Dual { .. })) => {
                Err(method_scope::returned(i, id, "that carries a tangent"))
            }
            None => Err(method_scope::returned(i, id, "that is batched by vmap")),
        },
        Some(Payload::Batched { value, dim }) => {
            let inner = lowered(i, value)?;
            Ok(if inner.same(value) { t.clone() } else { Tensor::batched(id, inner, *dim) })
        }
        Some(Payload::Taped { .. } | Payload::Dual { .. }) => Ok(t.clone()),
    }
}
