//! Which method of a custom function runs, and which values it must not use: those that reach it behind its arguments,
//! whose derivative or batch would be lost without a word.

use super::level::{self, LevelId, LevelKind};
use super::node::{Node, present_seq};
use super::origin::{Origin, at_here};
use super::primitive::Prim;
use super::tensor::{Payload, Tensor};
use super::thread::this;
use crate::base::{Error, Result};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

/// LevelSet by depth, as bits.
#[derive(Debug, Clone, Copy, Default)]
pub struct LevelSet {
    tapes: u128,
    others: u128,
}

impl LevelSet {
    pub const NONE: LevelSet = LevelSet { tapes: 0, others: 0 };

    /// All that follow values now.
    #[inline]
    pub fn live() -> LevelSet {
        if level::height() == 0 {
            return LevelSet { tapes: u128::from(level::grad_enabled()), others: 0 };
        }
        let mut found = LevelSet { tapes: u128::from(level::records(LevelId::AMBIENT)), others: 0 };
        level::each_visible(|l| match l.kind {
            LevelKind::Tape { .. } if level::records(l.id) => found.tapes |= level::bit(l.id),
            LevelKind::Dual { .. } if level::forward_enabled() => found.others |= level::bit(l.id),
            LevelKind::Batch { .. } => found.others |= level::bit(l.id),
            _ => {}
        });
        found
    }

    /// Those that a running rule does not see.
    #[inline]
    pub fn hidden(self) -> LevelSet {
        let hidden = level::hidden();
        LevelSet { tapes: self.tapes & hidden, others: self.others & hidden }
    }

    /// Those that a forward loses: it records on no tape, and is below the hidden levels.
    #[inline]
    pub fn tapes_and_hidden(self) -> LevelSet {
        LevelSet { tapes: self.tapes, others: self.others & level::hidden() }
    }

    /// Whether one of them is somewhere in the value.
    pub fn touch(self, value: &Tensor) -> bool {
        touches(self.tapes | self.others, value)
    }
}

/// A running method.
#[derive(Clone, Copy)]
pub(super) struct MethodFrame {
    function: Origin,
    method: &'static str,
    levels: LevelSet,
    /// Nodes from this one on were made by the method.
    seq: u64,
    no_random: bool,
    /// LevelSet whose values count as what the method gets if they are arguments, and may be used if not.
    soft: u128,
}

/// Some arguments of a forward, as [`sight`] sees them.
pub(super) type Known = [usize; 3];

/// A value of a tape, told by its node and slot; 0 for others.
#[inline]
fn sight(t: &Tensor) -> usize {
    match t.payload() {
        Some(Payload::Taped { node, slot, .. }) if (*slot as usize) < align_of::<Node>() => {
            Arc::as_ptr(node).addr() | *slot as usize
        }
        _ => 0,
    }
}

impl MethodFrame {
    pub const NOBODY: MethodFrame = MethodFrame {
        function: Origin::UNKNOWN,
        method: "",
        levels: LevelSet::NONE,
        seq: 0,
        no_random: false,
        soft: 0,
    };

    fn current() -> MethodFrame {
        this(|t| t.frame.get())
    }

    /// The levels whose values must not be used.
    fn bits(&self) -> u128 {
        self.levels.tapes | self.levels.others
    }
}

/// A method that runs until this is dropped.
pub struct RunningMethod {
    before: MethodFrame,
    own: bool,
    known: Known,
}

/// Announces that a method of a function runs, which must not use values of these levels.
#[inline]
pub fn enter(function: Origin, method: &'static str, mut levels: LevelSet) -> RunningMethod {
    let seq = present_seq();
    this(|t| {
        let (before, own) = (t.frame.get(), t.own.replace(false));
        levels.others |= before.levels.others;
        if !own {
            levels.tapes |= before.levels.tapes;
        }
        t.forbidden.set(levels.tapes | levels.others | t.always.get());
        t.frame.set(MethodFrame { function, method, levels, seq, no_random: before.no_random, soft: 0 });
        RunningMethod { before, own, known: t.known.take() }
    })
}

impl RunningMethod {
    /// Arguments of the call that carry these levels count as what the method gets of them.
    pub fn soften(&mut self, levels: LevelSet) {
        this(|t| {
            let frame = t.frame.get();
            let soft = (levels.tapes | levels.others) & !frame.bits();
            t.forbidden.set(t.forbidden.get() | soft);
            t.frame.set(MethodFrame { soft, ..frame });
        });
    }

    /// What the caller gave for the arguments of a forward.
    pub fn know<'a>(&mut self, given: impl Iterator<Item = &'a Tensor>) {
        let mut known = Known::default();
        let on_tape = given.filter(|t| t.level() == LevelId::AMBIENT);
        known.iter_mut().zip(on_tape).for_each(|(place, t)| *place = sight(t));
        this(|t| t.known.set(known));
    }

    /// Random operators raise while the method runs.
    pub fn forbid_random(&mut self) {
        this(|t| t.frame.set(MethodFrame { no_random: true, ..t.frame.get() }));
    }
}

/// Says what the running method is to its user, where that is no method of a Function class: "the fwd of defvjp()".
pub fn rename(rule: &'static str) {
    let frame = MethodFrame::current();
    if frame.function != Origin::UNKNOWN {
        this(|t| t.frame.set(MethodFrame { method: rule, ..frame }));
    }
}

/// Names of a method, and of what calls it: `F.forward` and `F.apply()`, or `f: the fwd of defvjp()` and `f()`.
fn names(frame: &MethodFrame) -> (String, String) {
    let name = frame.function.describe().unwrap_or_default();
    match frame.method.contains(' ') {
        true => (format!("{name}: {}", frame.method), format!("{name}()")),
        false => (format!("{name}.{}", frame.method), format!("{name}.apply()")),
    }
}

/// An error if the running method must not draw random numbers.
pub fn check_random(op: &str) -> Result<()> {
    let frame = MethodFrame::current();
    if !frame.no_random {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "vmap: {}.{} called random operation while in randomness error mode: {op}(){}; pass randomness='different' or \
         randomness='same' to vmap, or draw before it",
        frame.function.describe().unwrap_or_default(),
        frame.method,
        at_here()
    )))
}

impl Drop for RunningMethod {
    fn drop(&mut self) {
        this(|t| {
            t.forbidden.set(self.before.bits() | self.before.soft | t.always.get());
            t.frame.set(self.before);
            t.own.set(self.own);
            t.known.set(self.known);
        });
    }
}

/// Whether an operator on values of this level needs a closer look.
#[inline]
pub(super) fn forbids(id: LevelId) -> bool {
    this(|t| t.forbidden.get()) & level::bit(id) != 0
}

/// Whether the running method must not use values of a level.
pub fn is_forbidden(id: LevelId) -> bool {
    MethodFrame::current().bits() & level::bit(id) != 0
}

/// Whether one of the levels of a value is one that the running method must not use values of.
pub fn has_forbidden(value: &Tensor) -> bool {
    touches(this(|t| t.frame.get().bits()), value)
}

/// Arguments of the running call count as what its method differentiates in their place, until this is dropped.
pub struct Closely(u128);

pub fn look_closely() -> Closely {
    closely(u128::MAX)
}

fn closely(bits: u128) -> Closely {
    this(|t| {
        t.forbidden.set(t.forbidden.get() | bits);
        Closely(t.always.replace(t.always.get() | bits))
    })
}

impl Drop for Closely {
    fn drop(&mut self) {
        set_always(self.0 | ATTENDED.get());
    }
}

fn set_always(bits: u128) {
    this(|t| {
        t.always.set(bits);
        let frame = t.frame.get();
        t.forbidden.set(frame.bits() | frame.soft | bits);
    });
}

thread_local! {
    /// Batch levels that have values which are the same for all members.
    static ATTENDED: std::cell::Cell<u128> = const { std::cell::Cell::new(0) };
}

/// Operators on values of a level are looked at from now on.
pub(super) fn attend(level: LevelId) {
    ATTENDED.set(ATTENDED.get() | level::bit(level));
    set_always(this(|t| t.always.get()) | level::bit(level));
}

/// Only those of the levels below this one are.
pub(super) fn attend_below(level: LevelId) {
    let left = ATTENDED.get() & (level::bit(level) - 1);
    let gone = ATTENDED.replace(left) & !left;
    let always = this(|t| t.always.get());
    if always != u128::MAX {
        set_always(always & !gone);
    }
}

/// The number of the first node that the running method can have made.
pub fn began() -> u64 {
    MethodFrame::current().seq
}

/// Whether all of these that are on the ambient tape are arguments of the forward that runs, which records nothing.
#[inline]
pub(super) fn are_known(args: &[&Tensor]) -> bool {
    let known = this(|t| t.known.get());
    let is_known =
        |t: &&Tensor| t.level() <= LevelId::ABSTRACT || matches!(sight(t), s if s != 0 && known.contains(&s));
    args.iter().all(is_known) && !level::is_own_mode()
}

/// Arguments of an operator, some of them in another form.
pub(super) type Instead = SmallVec<[Tensor; 4]>;

/// What a value is to the running method that it reached behind its arguments.
pub enum Captured {
    /// None of them.
    Stranger,
    Argument,
    /// An argument that the method differentiates itself, as this value.
    Twin(Tensor),
}

static ARGUMENT: OnceLock<fn(&Tensor) -> Captured> = OnceLock::new();
static LEADS_OUT: OnceLock<fn(&Arc<Node>) -> bool> = OnceLock::new();

/// Installs the functions that know which values are arguments, and whether a graph leads to what is none and older than
/// the running method.
pub fn set_arguments(which: fn(&Tensor) -> Captured, leads_out: fn(&Arc<Node>) -> bool) {
    let _ = ARGUMENT.set(which);
    let _ = LEADS_OUT.set(leads_out);
}

/// Whether the method recorded the node, also under the program's own grad mode, and from nothing that is captured.
fn is_inner(node: &Arc<Node>, frame: &MethodFrame) -> bool {
    node.seq >= frame.seq && !LEADS_OUT.get().is_some_and(|f| f(node))
}

thread_local! {
    /// Batch levels, and those that methods get the members under meanwhile.
    static LIFTED: RefCell<Vec<(LevelId, LevelId)>> = const { RefCell::new(Vec::new()) };
}

/// A batch level stands for another one until this is dropped.
pub struct Lifted {
    before: u128,
    _look: Closely,
}

pub fn lift(from: LevelId, to: LevelId) -> Lifted {
    LIFTED.with_borrow_mut(|l| l.push((from, to)));
    let before = this(|t| t.lifted.replace(t.lifted.get() | level::bit(from)));
    // Operators at the new level meet captured members of the old one: these are looked at before a rule runs.
    Lifted { before, _look: closely(level::bit(to)) }
}

impl Drop for Lifted {
    fn drop(&mut self) {
        LIFTED.with_borrow_mut(Vec::pop);
        this(|t| t.lifted.set(self.before));
    }
}

/// A captured value as the running method gets it, if it is an argument of the call.
#[cold]
pub fn as_argument(a: &Tensor) -> Option<Tensor> {
    match ARGUMENT.get().map(|f| f(a))? {
        Captured::Stranger => return None,
        Captured::Twin(twin) => return Some(twin),
        Captured::Argument => {}
    }
    match a.payload()? {
        Payload::Taped { value, .. } | Payload::Dual { primal: value, .. } => Some(value.clone()),
        Payload::Batched { value, dim } => {
            let to = LIFTED.with_borrow(|l| l.iter().rfind(|(from, _)| *from == a.level()).map(|l| l.1))?;
            level::is_live(to).then(|| Tensor::batched(to, value.clone(), *dim))
        }
        Payload::Traced { .. } => None,
    }
}

/// Whether the value is an argument of the running method's call, which gets an array for it.
pub fn is_argument(a: &Tensor) -> bool {
    !level::is_own_mode() && has_forbidden(a) && as_argument(a).is_some_and(|value| value.level() == LevelId::DENSE)
}

/// An error if the operator uses a value that the running method must not use; the arguments to use instead, where it
/// is an argument of the method's call. Reading under the program's own grad mode, and without a derivative, is allowed
/// on tapes.
pub(super) fn check(prim: Prim<'_>, args: &[&Tensor]) -> Result<Option<Instead>> {
    let bits = this(|t| match t.always.get() {
        u128::MAX => u128::MAX,
        _ => {
            let frame = t.frame.get();
            frame.bits() | frame.soft | t.lifted.get()
        }
    });
    if args.iter().any(|a| touches(bits, a)) { check_closely(prim, args) } else { Ok(None) }
}

/// Whether one of these levels is somewhere in the value.
fn touches(bits: u128, value: &Tensor) -> bool {
    let mut next = Some(value);
    while let Some(t) = next {
        if t.level() > LevelId::ABSTRACT && bits & level::bit(t.level()) != 0 {
            return true;
        }
        next = t.below();
    }
    false
}

#[cold]
#[inline(never)]
fn check_closely(prim: Prim<'_>, args: &[&Tensor]) -> Result<Option<Instead>> {
    if let Some(twins) = twins(args) {
        return Ok(Some(twins));
    }
    let frame = MethodFrame::current();
    let mut instead: Option<Instead> = None;
    for (i, a) in args.iter().enumerate() {
        if a.level() <= LevelId::ABSTRACT {
            continue;
        }
        let Some(what) = watched(prim, a, &frame) else { continue };
        let value = match as_argument(a) {
            Some(value) => value,
            None => match what {
                Watched::Soft => continue,
                Watched::Lost(id, what) => return Err(captured(&frame, id, prim.operator(), what)),
            },
        };
        instead.get_or_insert_with(|| args.iter().map(|a| (*a).clone()).collect())[i] = value;
    }
    Ok(instead)
}

/// What would become of an operator's value that is no argument of the running method's call.
enum Watched {
    /// The operator may use it.
    Soft,
    /// It belongs to this level, and what it is would be lost.
    Lost(LevelId, &'static str),
}

/// Whether the value counts as what the running method gets of it, if it is an argument.
fn watched(prim: Prim<'_>, a: &Tensor, frame: &MethodFrame) -> Option<Watched> {
    const BATCHED: &str = "that is batched by vmap";
    let id = a.level();
    let hard = |id: LevelId| frame.bits() & level::bit(id) != 0;
    let is_watched = (hard(id) || frame.soft & level::bit(id) != 0) && level::is_live(id);
    // Members below a tape or a tangent meet those of the method's own arguments, whatever the mode.
    if let Some(batch) = batch_below(a, frame) {
        return Some(if hard(batch) { Watched::Lost(batch, BATCHED) } else { Watched::Soft });
    }
    let what = match a.payload_at(id)? {
        Payload::Taped { node, .. } if is_watched => {
            if level::is_own_mode() || prim.is_constant() || is_inner(node, frame) {
                return None;
            }
            "that requires grad, or depends on an input of grad or vjp"
        }
        Payload::Dual { .. } if is_watched && !prim.is_constant() => "that carries a tangent",
        Payload::Batched { .. } if is_watched || is_lifted(id) => BATCHED,
        _ => return None,
    };
    Some(if is_watched && hard(id) { Watched::Lost(id, what) } else { Watched::Soft })
}

/// The batch level of a value below other levels, where the running method has another one in its place.
fn batch_below(a: &Tensor, frame: &MethodFrame) -> Option<LevelId> {
    let is_batch = |t: &&Tensor| {
        let id = t.level();
        let watched = (frame.bits() | frame.soft) & level::bit(id) != 0 && level::is_live(id);
        matches!(t.payload(), Some(Payload::Batched { .. })) && (watched || is_lifted(id))
    };
    match a.payload() {
        Some(Payload::Taped { .. } | Payload::Dual { .. }) => {
            std::iter::successors(a.below(), |t| t.below()).find(is_batch).map(Tensor::level)
        }
        _ => None,
    }
}

/// Whether another level stands for this one.
fn is_lifted(id: LevelId) -> bool {
    LIFTED.with_borrow(|l| l.iter().any(|(from, _)| *from == id))
}

/// The arguments to use instead, where some are what the running method differentiates in another form.
fn twins(args: &[&Tensor]) -> Option<Instead> {
    if this(|t| t.always.get()) != u128::MAX {
        return None;
    }
    let found = ARGUMENT.get()?;
    let mut any = false;
    let twin = |a: &&Tensor| match a.payload().map(|_| found(a)) {
        Some(Captured::Twin(twin)) => {
            any = true;
            twin
        }
        _ => (*a).clone(),
    };
    let instead = args.iter().map(twin).collect();
    any.then_some(instead)
}

/// The arguments to use instead of these, where a batch that has ended came with an argument of the running call.
#[cold]
pub(super) fn revived(top: LevelId, args: &[&Tensor]) -> Option<Instead> {
    if let Some(twins) = twins(args) {
        return Some(twins);
    }
    let ended = |a: &&&Tensor| matches!(a.payload_at(top), Some(Payload::Batched { .. }));
    args.iter().find(ended)?;
    let value = |a: &&Tensor| match a.payload_at(top) {
        Some(Payload::Batched { .. }) => as_argument(a),
        _ => Some((*a).clone()),
    };
    args.iter().map(value).collect()
}

/// The error for an output of the running method that carries what it captured.
#[cold]
pub fn returned(i: usize, id: LevelId, what: &str) -> Error {
    let (rule, call) = names(&MethodFrame::current());
    let place = level::with(id, |l| l.origin.describe()).flatten().map(|p| format!(" in {p}")).unwrap_or_default();
    Error::runtime(format!(
        "{rule}: output {i} depends on a captured tensor {what}; it is not an argument of {call}, so its derivative or \
         batch{place} would be lost: pass it to {call} as an argument, or detach() what does not depend on it{}",
        at_here()
    ))
}

#[cold]
fn captured(frame: &MethodFrame, id: LevelId, op: &str, what: &str) -> Error {
    let (rule, call) = names(frame);
    let place = level::with(id, |l| l.origin.describe()).flatten().map(|p| format!(" in {p}")).unwrap_or_default();
    let constant = match what.starts_with("that requires") {
        true => "; if it is a constant here, read it under no_grad() or detach() it",
        false => "",
    };
    Error::runtime(format!(
        "{rule}: {op}() uses a captured tensor {what}; it is not an argument of {call}, so its derivative or \
         batch{place} would be lost: pass it to {call} as an argument{constant}{}",
        at_here()
    ))
}

/// The running method of a custom function, as its user knows it.
pub fn running() -> Option<String> {
    let frame = MethodFrame::current();
    (frame.function != Origin::UNKNOWN).then(|| names(&frame).0)
}

/// What to write if a method of a custom function reads data where there is none.
pub fn without_data() -> String {
    match running() {
        Some(rule) => format!(
            " {rule} leaves the library, so that the shapes of its results are not known without running it: make it a \
             pullback.library.custom_op and give it a shape rule with register_fake"
        ),
        None => String::new(),
    }
}

/// What to write if a method of a custom function reads the data of a batch.
pub fn advice() -> String {
    let frame = MethodFrame::current();
    if frame.function == Origin::UNKNOWN {
        return String::new();
    }
    let (rule, _) = names(&frame);
    if frame.method == "forward" {
        return format!(
            "; {rule} leaves the library, so that its batching rule cannot be generated: write\n    \
             @staticmethod\n    def vmap(info, in_dims, *args): ..."
        );
    }
    format!(
        "; {rule} leaves the library, so that it cannot run on a batch: move that part into a Function of its \
         own and write for it\n    @staticmethod\n    def vmap(info, in_dims, *args): ..."
    )
}
