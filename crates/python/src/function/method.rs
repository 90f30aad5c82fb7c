//! A backward that differentiates what was saved itself: `with enable_grad(): y = f(x)`, then `autograd.grad(y, x, g)`.
//!
//! NOTE saved values require grad as the arguments that they are did, but only where a program looks: most backwards do
//! not, and pay nothing. On the first look they get their nodes back. In a sweep of the ambient tape that is all, and a
//! saved parameter is the parameter. The tapes of transforms have closed by then, so there the values become leaves of a
//! tape above all levels that the method sees, which closes with the method.

use super::call::Call;
use super::captured;
use super::ctx::Ctx;
use super::methods::Methods;
use super::saved::Context;
use crate::types::errors::PyResult;
use pullback::base::{Error, Result};
use pullback::core::level::{self, Guard};
use pullback::core::method_scope::{self, Closely};
use pullback::core::node::{Meta, Sink};
use pullback::core::origin::{Origin, at_here};
use pullback::core::tensor::Payload;
use pullback::core::{Edge, LevelId, Node, Tangents, Tensor};
use pullback::dense::first_thread::FastLocal;
use pullback::function::{self, History, Setup};
use pullback::skin::tape;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::{Cell, RefCell, RefMut};
use std::ptr::null;
use std::sync::Arc;

/// A backward that runs.
pub struct Method<'a> {
    call: &'a Call,
    ctx: &'a Ctx,
    context: &'a Context,
    setup: &'a Setup,
    cotangents: &'a [Option<Tensor>],
    /// Whether the method is recorded, where a tape follows what it gets.
    recorded: bool,
    /// `None` until the method does one of these things.
    state: RefCell<Option<Box<MethodState>>>,
}

#[derive(Default)]
struct MethodState {
    linked: bool,
    /// The tape that the method differentiates its saved values on, if it has one of its own.
    tape: Option<(Closely, Guard)>,
    /// Where the saved values hang on it.
    edges: Vec<Option<Edge>>,
    /// What hangs there of values that only other tapes follow, which must not be taken for the arguments again.
    aliases: Vec<(usize, Tensor)>,
    /// Where it computed gradients first without recording how, and what these depend on.
    lost: Option<String>,
    through: Vec<Tensor>,
    /// It reads what its forward recorded.
    recorded: bool,
    /// Where it took a leaf of a value without the tangent that saved values carry.
    cut: Option<String>,
}

/// How many results of gradients are looked at: a method may compute many in a loop.
const ROOTS: usize = 64;

thread_local! {
    static OWN: Cell<*const ()> = const { Cell::new(null()) };
}
static RUNNING: FastLocal<Cell<*const ()>> = FastLocal::new(&OWN);

/// Puts back what ran before.
struct ModesBefore(*const ());
impl Drop for ModesBefore {
    fn drop(&mut self) {
        RUNNING.with(|r| r.set(self.0));
    }
}

/// Shows the method that runs on this thread to `f`, if there is one.
#[inline(always)]
fn running<R>(f: impl FnOnce(&Method<'_>) -> R) -> Option<R> {
    let method = RUNNING.with(Cell::get).cast::<Method<'_>>();
    if method.is_null() {
        return None;
    }
    // SAFETY: `Method::run` keeps its method in place for as long as this thread's pointer is there.
    Some(f(unsafe { &*method }))
}

/// The value as one of a tape: below the levels of forward mode that lie above that.
fn hang(value: &Tensor, level: LevelId, edge: &Edge) -> Tensor {
    match value.payload() {
        Some(Payload::Dual { primal, tangent }) if value.level() > level => {
            Tensor::dual(value.level(), hang(primal, level, edge), tangent.clone())
        }
        _ => Tensor::taped(level, value.clone(), edge.node.clone(), edge.slot),
    }
}

/// Whether a tape that is live leads to the value, also to members of it.
fn is_followed(value: &Tensor) -> bool {
    let is_live = |t: &Tensor| matches!(t.payload(), Some(Payload::Taped { .. })) && level::is_live(t.level());
    std::iter::successors(Some(value), |t| t.below()).any(is_live)
}

/// The value without the tape `level`.
fn unhung(value: Tensor, level: LevelId) -> Tensor {
    match value.payload() {
        Some(Payload::Taped { value: below, .. }) if value.level() == level => below.clone(),
        Some(Payload::Dual { primal, tangent }) if value.level() > level => {
            Tensor::dual(value.level(), unhung(primal.clone(), level), tangent.clone())
        }
        _ => value,
    }
}

impl<'a> Method<'a> {
    pub fn new(call: &'a Call, context: &'a Context, setup: &'a Setup, cotangents: &'a [Option<Tensor>]) -> Method<'a> {
        let recorded = level::grad_enabled();
        Method { call, ctx: context.ctx.get(), context, setup, cotangents, recorded, state: RefCell::new(None) }
    }

    /// The method reads what its forward recorded for itself, which does not lead to the arguments.
    pub fn reads_recorded(&self) {
        if self.recorded && !self.is_derived() {
            let mut s = self.state();
            (s.lost, s.recorded) = (Some(String::new()), true);
        }
    }

    fn state(&self) -> RefMut<'_, MethodState> {
        RefMut::map(self.state.borrow_mut(), |s| &mut **s.get_or_insert_default())
    }

    fn is_linked(&self) -> bool {
        self.state.borrow().as_ref().is_some_and(|s| s.linked)
    }

    fn is_derived(&self) -> bool {
        self.setup.history.as_ref().is_some_and(History::is_derived)
    }

    /// Runs `f` as the method.
    #[inline]
    pub fn run<R>(&self, f: impl FnOnce() -> R) -> R {
        let _before = ModesBefore(RUNNING.with(|r| r.replace(std::ptr::from_ref(self).cast())));
        f()
    }

    /// Whether saved values are differentiated on the ambient tape, which is the one that is being swept.
    fn is_ambient(&self) -> bool {
        self.setup.history.as_ref().is_some_and(History::is_ambient) && tape::is_outside()
    }

    /// The program makes a leaf of a value; a tangent that `detach()` left behind is missing from what follows.
    fn cut(&self, value: &Tensor) {
        let tangent = |t: &Tensor| matches!(t.payload(), Some(Payload::Dual { .. })) && level::is_live(t.level());
        let carries = |t: &Tensor| std::iter::successors(Some(t), |t| t.below()).any(tangent);
        if !carries(value) && self.setup.saved.iter().any(carries) {
            self.state().cut.get_or_insert_with(at_here);
        }
    }

    /// The tape of the method's own, if it is open.
    fn own(&self) -> Option<LevelId> {
        self.state.borrow().as_ref()?.tape.as_ref().map(|t| t.1.id())
    }

    /// The tape of the method's own, which opens when it is first asked for.
    fn tape(&self) -> LevelId {
        let open = || (method_scope::look_closely(), level::push_method_tape(Origin::UNKNOWN));
        self.state().tape.get_or_insert_with(open).1.id()
    }

    /// Gives the saved values their nodes back.
    #[cold]
    #[inline(never)]
    fn link(&self, py: Python<'_>) -> PyResult<()> {
        if std::mem::replace(&mut self.state().linked, true) {
            return Ok(());
        }
        let Some(history) = &self.setup.history else { return Ok(()) };
        level::check_room()?;
        let ambient = self.is_ambient();
        let (mut edges, mut aliases) = (Vec::<Option<Edge>>::new(), Vec::new());
        for (i, value) in self.setup.saved.iter().enumerate() {
            // What other tapes follow, too: the method may want gradients of it that nobody asked for.
            let elsewhere = !ambient && !history.follows(i) && history.is_argument(i) && is_followed(value);
            if elsewhere {
                aliases.push((i, function::alias(value)?));
            }
            let level = match ambient {
                _ if !(history.follows(i) || elsewhere) || !value.dtype().is_differentiable() => LevelId::DENSE,
                true if tape::requires_grad(value) => LevelId::DENSE,
                true => LevelId::AMBIENT,
                false => self.tape(),
            };
            let leaf = || Edge { node: Node::leaf(level, Meta::of(value), None), slot: 0 };
            edges.push(match level {
                LevelId::DENSE => None,
                LevelId::AMBIENT if !history.is_shared(i) => history.edge(i),
                _ => Some(leaf()),
            });
        }
        {
            let mut s = self.state();
            s.edges.clone_from(&edges);
            s.aliases.clone_from(&aliases);
        }
        let alias = |edge: &Edge| {
            let is_it = |i: usize| edges[i].as_ref().is_some_and(|e| Arc::ptr_eq(&e.node, &edge.node));
            aliases.iter().find(|a| is_it(a.0)).map(|a| &a.1)
        };
        self.ctx.link(py, &edges, |value, edge| hang(alias(edge).unwrap_or(value), edge.node.level, edge))
    }

    /// The gradients as the sweep gets them: without what the method recorded for itself, and such that whoever goes on
    /// to differentiate what it did not record is told so.
    #[inline]
    pub fn close(self, methods: &Methods, grads: Tangents) -> Result<Tangents> {
        if self.state.borrow().is_none() { Ok(grads) } else { self.close_used(methods, grads) }
    }

    #[cold]
    #[inline(never)]
    fn close_used(self, methods: &Methods, grads: Tangents) -> Result<Tangents> {
        let ambient = self.is_linked() && self.is_ambient();
        let Method { call, setup, cotangents, state, .. } = self;
        let MethodState { tape, lost, through, recorded, cut, .. } = *state.into_inner().unwrap_or_default();
        if let Some(place) = cut {
            return Err(Error::runtime(format!(
                "{}.backward: its result has a tangent, and it computed gradients from a leaf that it made of a detached \
                 tensor, whose tangent is lost{place}: use what ctx.saved_tensors gives under enable_grad(), without \
                 detach()",
                methods.name
            )));
        }
        let own = tape.as_ref().map(|t| t.1.id());
        drop(tape);
        // A backward that must not be differentiated says so itself.
        let lost = lost.filter(|_| !methods.once).map(|place| match place.is_empty() {
            true => format!(
                "{}.backward: its result is being differentiated, and it reads what its forward recorded for itself, \
                 which does not lead to the arguments, so that derivatives would be lost; compute it in backward, with \
                 create_graph=True",
                methods.name
            ),
            false => format!(
                "{}.backward: its result is being differentiated, and it computed gradients without recording how, so \
                 that their derivatives would be lost{place}: give create_graph=True to autograd.grad() there",
                methods.name
            ),
        });
        // What a forward recorded hangs on leaves of its own; the arguments, saved last, are what matters.
        let (saved, through) = match recorded {
            true => (&setup.saved[setup.saved.len() - call.inputs.tensors().min(setup.saved.len())..], Vec::new()),
            false => (&setup.saved[..], through),
        };
        let all = saved.iter().chain(cotangents.iter().flatten()).chain(&through);
        let through: Vec<&Tensor> = all.filter(|t| t.level() > LevelId::ABSTRACT).collect();
        let finish = |g: Tensor| {
            let g = match own {
                Some(own) => unhung(g, own),
                None if ambient && !level::records(LevelId::AMBIENT) => unhung(g, LevelId::AMBIENT),
                None => g,
            };
            match &lost {
                Some(why) => function::lost(why, &g, &through),
                None => Ok(g),
            }
        };
        grads.into_iter().map(|g| g.map(finish).transpose()).collect()
    }
}

/// The program turns grad mode on, or asks whether a tensor requires grad.
#[inline]
pub fn look(py: Python<'_>) -> PyResult<()> {
    running(|m| if m.is_linked() { Ok(()) } else { m.link(py) }).unwrap_or(Ok(()))
}

/// The value as a leaf of the running method's own tape, if it is to have one: under transforms the ambient one is out of
/// reach.
pub fn leaf(
    py: Python<'_>,
    value: &Tensor,
    sink: impl FnOnce() -> PyResult<Arc<dyn Sink>>,
) -> PyResult<Option<Tensor>> {
    let made = running(|m| {
        m.cut(value);
        if m.is_ambient() {
            return Ok(None);
        }
        m.link(py)?;
        level::check_room()?;
        let level = m.tape();
        if value.level() > level || !value.dtype().is_differentiable() {
            return Ok(None);
        }
        let node = Node::leaf(level, Meta::of(value), Some(sink()?));
        Ok(Some(Tensor::taped(level, value.clone(), node, 0)))
    });
    made.unwrap_or(Ok(None))
}

/// An argument of the call of the running method, as the saved value that the method differentiates.
pub fn twin(call: *const Call, argument: usize) -> Option<Tensor> {
    running(|m| {
        if !std::ptr::eq(m.call, call) {
            return None;
        }
        let own = m.own()?;
        let place = m.setup.history.as_ref()?.place_of(argument)?;
        let state = m.state.borrow();
        let state = state.as_ref()?;
        let edge = state.edges.get(place)?.as_ref()?;
        let alias = state.aliases.iter().find(|a| a.0 == place).map(|a| &a.1);
        Some(hang(alias.unwrap_or(&m.setup.saved[place]), own, edge))
    })
    .flatten()
}

/// The caller's object of a value that the running method, whose ctx this is, has saved: see [`Inputs::object_of`].
///
/// [`Inputs::object_of`]: super::inputs::Inputs::object_of
pub fn argument<'py>(py: Python<'py>, ctx: &Ctx, value: &Tensor) -> Option<Bound<'py, PyAny>> {
    running(|m| {
        // Under transforms saved values get places on a tape of the method's own, where the caller's objects are not.
        let ambient = m.setup.history.as_ref().is_none_or(History::is_ambient) && tape::is_outside();
        let found = || m.call.inputs.object_of(py, value).or_else(|| m.context.kept(py, value));
        (ambient && std::ptr::eq(m.ctx, ctx)).then(found)
    })
    .flatten()
    .flatten()
}

/// The objects of the saved values that the running method differentiates, if they are these.
pub fn saved_objects<'py>(py: Python<'py>, saved: &[Tensor]) -> Option<PyResult<Bound<'py, PyTuple>>> {
    running(|m| std::ptr::eq(m.setup.saved.as_slice(), saved).then(|| m.ctx.saved_tensors(py))).flatten()
}

/// Whether what the running method computes is followed for the sake of another rule, whatever it asks for.
pub fn is_derived() -> bool {
    running(|m| m.is_derived()) == Some(true)
}

/// The running method's own tape, if it has opened one.
pub fn open_tape() -> Option<LevelId> {
    running(|m| m.own()).flatten()
}

/// The method computed gradients of these without recording how.
pub fn computed(outputs: &[Tensor]) {
    running(|m| {
        if !m.recorded || m.is_derived() || captured::is_inside_forward(m.call, outputs) {
            return;
        }
        let own = m.own();
        let mut s = m.state();
        if s.lost.as_ref().is_none_or(String::is_empty) {
            s.lost = Some(at_here());
        }
        let below = |y: &Tensor| own.map_or_else(|| y.clone(), |own| unhung(y.clone(), own));
        let followed = outputs.iter().map(below).filter(|y| y.level() > LevelId::ABSTRACT);
        let room = ROOTS.saturating_sub(s.through.len());
        s.through.extend(followed.take(room));
    });
}

/// Whether `.backward()` of these stays on the running method's own tape.
///
/// # Errors
/// `Runtime` if it would stop there, and tensors that the method captured went without their gradients.
pub fn check_reach(outputs: &[Tensor]) -> Result<bool> {
    let Some(own) = open_tape() else { return Ok(false) };
    let followed = |y: &Tensor| y.level() == own && y.below().is_some_and(tape::requires_grad);
    if !outputs.iter().any(followed) {
        return Ok(outputs.iter().all(|y| y.level() == own));
    }
    Err(Error::runtime(format!(
        "backward(): called in the backward of a custom function under a transform, it would not reach the tensors \
         outside of it that require grad; use autograd.grad() with the tensors that you want gradients of{}",
        at_here()
    )))
}
