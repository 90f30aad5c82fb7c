//! Which method of a custom function runs, and which values it must not use: those that reach it behind its arguments,
//! whose derivative or batch would be lost without a word.

use super::level::{self, LevelId, LevelKind};
use super::node::present_seq;
use super::origin::{Origin, at_here};
use super::primitive::Prim;
use super::tensor::{Payload, Tensor};
use super::thread::this;
use crate::base::{Error, Result};

/// Levels by depth, as bits.
#[derive(Debug, Clone, Copy, Default)]
pub struct Levels {
    tapes: u128,
    others: u128,
}

impl Levels {
    pub const NONE: Levels = Levels { tapes: 0, others: 0 };

    /// All that follow values now.
    #[inline]
    pub fn live() -> Levels {
        if level::height() == 0 {
            return Levels { tapes: u128::from(level::grad_enabled()), others: 0 };
        }
        let mut found = Levels { tapes: u128::from(level::records(LevelId::AMBIENT)), others: 0 };
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
    pub fn hidden(self) -> Levels {
        let hidden = level::hidden();
        Levels { tapes: self.tapes & hidden, others: self.others & hidden }
    }

    /// Those that a forward loses: it records on no tape, and is below the hidden levels.
    #[inline]
    pub fn tapes_and_hidden(self) -> Levels {
        Levels { tapes: self.tapes, others: self.others & level::hidden() }
    }

    /// Whether one of them is somewhere in the value.
    pub fn touch(self, value: &Tensor) -> bool {
        let mut t = Some(value);
        while let Some(x) = t {
            if x.level() != LevelId::DENSE && (self.tapes | self.others) & level::bit(x.level()) != 0 {
                return true;
            }
            t = x.below();
        }
        false
    }
}

/// A running method.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    function: Origin,
    method: &'static str,
    levels: Levels,
    /// Nodes from this one on were made by the method.
    seq: u64,
    no_random: bool,
}

impl Frame {
    pub const NOBODY: Frame =
        Frame { function: Origin::UNKNOWN, method: "", levels: Levels::NONE, seq: 0, no_random: false };

    fn current() -> Frame {
        this(|t| t.frame.get())
    }
}

/// A method that runs until this is dropped.
pub struct Running {
    before: Frame,
    own: bool,
}

/// Announces that a method of a function runs, which must not use values of these levels.
#[inline]
pub fn enter(function: Origin, method: &'static str, mut levels: Levels) -> Running {
    let seq = present_seq();
    this(|t| {
        let (before, own) = (t.frame.get(), t.own.replace(false));
        levels.others |= before.levels.others;
        if !own {
            levels.tapes |= before.levels.tapes;
        }
        t.forbidden.set(levels.tapes | levels.others);
        t.frame.set(Frame { function, method, levels, seq, no_random: before.no_random });
        Running { before, own }
    })
}

impl Running {
    /// Random operators raise while the method runs.
    pub fn forbid_random(&mut self) {
        this(|t| t.frame.set(Frame { no_random: true, ..t.frame.get() }));
    }
}

/// Says what the running method is to its user, where that is no method of a Function class: "the fwd of defvjp()".
pub fn rename(rule: &'static str) {
    let frame = Frame::current();
    if frame.function != Origin::UNKNOWN {
        this(|t| t.frame.set(Frame { method: rule, ..frame }));
    }
}

/// Names of a method, and of what calls it: `F.forward` and `F.apply()`, or `f: the fwd of defvjp()` and `f()`.
fn names(frame: &Frame) -> (String, String) {
    let name = frame.function.describe().unwrap_or_default();
    match frame.method.contains(' ') {
        true => (format!("{name}: {}", frame.method), format!("{name}()")),
        false => (format!("{name}.{}", frame.method), format!("{name}.apply()")),
    }
}

/// An error if the running method must not draw random numbers.
pub fn check_random(op: &str) -> Result<()> {
    let frame = Frame::current();
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

impl Drop for Running {
    fn drop(&mut self) {
        this(|t| {
            t.forbidden.set(self.before.levels.tapes | self.before.levels.others);
            t.frame.set(self.before);
            t.own.set(self.own);
        });
    }
}

/// Whether an operator on values of this level needs a closer look.
#[inline]
pub(super) fn forbids(id: LevelId) -> bool {
    this(|t| t.forbidden.get()) & level::bit(id) != 0
}

/// An error if the operator uses a value that the running method must not use. Reading under the program's own grad
/// mode, and without a derivative, is allowed on tapes.
#[cold]
pub(super) fn check(id: LevelId, prim: Prim<'_>, args: &[&Tensor]) -> Result<()> {
    let frame = Frame::current();
    if !level::is_live(id) {
        return Ok(());
    }
    for a in args {
        let what = match a.payload_at(id) {
            Some(Payload::Taped { node, .. }) => {
                if node.seq >= frame.seq || level::is_own_mode() || prim.is_constant() {
                    continue;
                }
                "that requires grad, or depends on an input of grad or vjp"
            }
            Some(Payload::Dual { .. }) if prim.is_constant() => continue,
            Some(Payload::Dual { .. }) => "that carries a tangent",
            Some(Payload::Batched { .. }) => "that is batched by vmap",
            _ => continue,
        };
        return Err(captured(&frame, id, prim.name(), what));
    }
    Ok(())
}

#[cold]
fn captured(frame: &Frame, id: LevelId, op: &str, what: &str) -> Error {
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
    let frame = Frame::current();
    (frame.function != Origin::UNKNOWN).then(|| names(&frame).0)
}

/// What to write if a method of a custom function reads the data of a batch.
pub fn advice() -> String {
    let frame = Frame::current();
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
