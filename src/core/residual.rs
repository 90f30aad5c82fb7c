//! What a node keeps of a value for its reverse rule, and the hooks that turn it into something else meanwhile.

use super::level::{Below, GradMode, LevelId};
use super::node::Edge;
use super::tensor::Tensor;
use super::thread::this;
use crate::base::{Error, Result};
use crate::dense::Array;
use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;

/// A residual: a value of the levels below, and how it hangs on the tape.
#[derive(Clone)]
pub struct Residual {
    /// The value, or of a packed one a 0-d stand-in of its dtype.
    value: Tensor,
    held: Held,
}

#[derive(Clone)]
enum Held {
    /// The value is what it was.
    Plain(Link),
    Kept(Box<(Link, Keep)>),
}

/// What a residual was.
#[derive(Clone)]
pub enum Link {
    Input(u32),
    Output(u32),
    /// Another value of this tape, or a constant (`None`).
    Other(Option<Box<Edge>>),
}

#[derive(Clone)]
enum Keep {
    /// Of memory that others may write to: what it was when the residual was saved.
    Seal {
        version: u32,
        checksum: u64,
    },
    PackedResidual(Arc<dyn PackedResidual>),
}

/// What hooks made of a residual.
pub trait PackedResidual: Send + Sync {
    /// The value again, of the shape that was packed.
    fn unpack(&self) -> Result<Tensor>;
    fn as_any(&self) -> &dyn Any;
}

/// Hooks for everything that is saved while they are in force on this thread.
pub trait SavedHooks: Send + Sync {
    /// `value` belongs to the levels below `level`, whose tape saves it.
    fn pack(&self, level: LevelId, value: &Tensor) -> Result<Arc<dyn PackedResidual>>;
}

thread_local! {
    static HOOKS: RefCell<Vec<Arc<dyn SavedHooks>>> = const { RefCell::new(Vec::new()) };
    /// The last numbers that became values while hooks were in force.
    static NUMBERS: RefCell<Vec<Tensor>> = const { RefCell::new(Vec::new()) };
    /// Why hooks are forbidden on this thread.
    static FORBIDDEN: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Puts hooks in force, in place of the present ones, until [`pop_hooks`].
///
/// # Errors
/// `Runtime` while hooks are forbidden.
pub fn push_hooks(hooks: Arc<dyn SavedHooks>) -> Result<()> {
    if let Some(why) = FORBIDDEN.with_borrow(Clone::clone) {
        return Err(Error::runtime(why));
    }
    HOOKS.with_borrow_mut(|h| h.push(hooks));
    this(|t| t.packing.set(true));
    Ok(())
}

pub fn pop_hooks() -> Option<Arc<dyn SavedHooks>> {
    let (hooks, left) = HOOKS.with_borrow_mut(|h| (h.pop(), h.len()));
    this(|t| t.packing.set(left > 0));
    if left == 0 {
        drop(NUMBERS.take());
    }
    hooks
}

/// The value of a number in a formula: hooks see tensors of the program alone.
#[inline]
pub fn number(value: Tensor) -> Tensor {
    if this(|t| t.packing.get()) {
        note(&value);
    }
    value
}

/// How many numbers an operator may hold.
const MAX_NUMBERS: usize = 16;

#[cold]
fn note(value: &Tensor) {
    NUMBERS.with_borrow_mut(|n| {
        n.truncate(MAX_NUMBERS - 1);
        n.insert(0, value.clone());
    });
}

/// Forbids hooks on this thread with this message, or allows them again; gives what was there.
///
/// # Errors
/// `Runtime` with the message if hooks are in force.
pub fn forbid_hooks(why: Option<String>) -> Result<Option<String>> {
    if let Some(why) = &why
        && HOOKS.with_borrow(|h| !h.is_empty())
    {
        return Err(Error::runtime(why.clone()));
    }
    Ok(FORBIDDEN.replace(why))
}

pub fn hooks_forbidden() -> Option<String> {
    FORBIDDEN.with_borrow(Clone::clone)
}

/// Hooks that are out of force while this lives.
struct Unhooked;
impl Unhooked {
    fn new() -> Unhooked {
        this(|t| t.packing.set(false));
        Unhooked
    }
}
impl Drop for Unhooked {
    fn drop(&mut self) {
        let any = HOOKS.with_borrow(|h| !h.is_empty());
        this(|t| t.packing.set(any));
    }
}

impl Residual {
    /// Keeps a value for the tape `level`.
    #[inline(always)]
    pub fn save(level: LevelId, value: Tensor, link: Link) -> Result<Residual> {
        if this(|t| t.packing.get()) {
            return Residual::pack(level, &value, link);
        }
        Ok(Residual::own(value, link))
    }

    /// Keeps a value that hooks do not see.
    #[inline(always)]
    pub fn own(value: Tensor, link: Link) -> Residual {
        let held = match value.innermost() {
            Some(a) if a.is_exported() => Held::Kept(Box::new((link, Keep::seal(a)))),
            _ => Held::Plain(link),
        };
        Residual { value, held }
    }

    #[cold]
    fn pack(level: LevelId, value: &Tensor, link: Link) -> Result<Residual> {
        let Some(hooks) = HOOKS.with_borrow(|h| h.last().cloned()) else {
            return Err(Error::internal("hooks of saved tensors are in force, and there are none"));
        };
        if NUMBERS.with_borrow(|n| n.iter().any(|t| t.same(value))) {
            return Ok(Residual::own(value.clone(), link));
        }
        let _unhooked = Unhooked::new();
        let _below = Below::enter(level);
        let _mode = (level == LevelId::AMBIENT).then(|| GradMode::set(false));
        let packed = hooks.pack(level, value)?;
        let value = Tensor::scalar(value.dtype(), 0.0);
        Ok(Residual { value, held: Held::Kept(Box::new((link, Keep::PackedResidual(packed)))) })
    }

    /// How it hangs on the tape.
    #[inline]
    pub fn link(&self) -> &Link {
        match &self.held {
            Held::Plain(link) => link,
            Held::Kept(kept) => &kept.0,
        }
    }

    fn keep(&self) -> Option<&Keep> {
        match &self.held {
            Held::Plain(_) => None,
            Held::Kept(kept) => Some(&kept.1),
        }
    }

    /// The value.
    ///
    /// # Errors
    /// `Runtime` if its memory was written to since it was saved, by us or by who shares it; what unpacking raises.
    pub fn value(&self, op: &str) -> Result<Tensor> {
        match self.keep() {
            None => Ok(self.value.clone()),
            Some(Keep::PackedResidual(packed)) => {
                let value = packed.unpack()?;
                if value.dtype() != self.value.dtype() {
                    return Err(Error::runtime(format!(
                        "backward(): the unpack hook gave a {} tensor for a residual of {op}(), which was {}",
                        value.dtype(),
                        self.value.dtype()
                    )));
                }
                Ok(value)
            }
            Some(seal) => match self.value.innermost() {
                Some(a) if !seal.holds(a) => Err(Error::runtime(format!(
                    "backward(): one of the variables needed for gradient computation has been modified by an inplace \
                     operation: the derivative of {op}() needs a {} tensor of shape {} whose memory, shared with NumPy \
                     or another library, was written to since; clone() it before",
                    self.value.dtype(),
                    self.value.shape()
                ))),
                _ => Ok(self.value.clone()),
            },
        }
    }

    /// Whether the value is what is stored, come what may.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.held, Held::Plain(_))
    }

    /// Puts what a rule reads in place of what is stored.
    pub(super) fn set(&mut self, value: Tensor) {
        self.value = value;
        if let Held::Kept(kept) = &mut self.held {
            let link = std::mem::replace(&mut kept.0, Link::Other(None));
            self.held = Held::Plain(link);
        }
    }

    /// The value of an opened residual, see [`Node::open`](super::node::Node::open).
    #[inline]
    pub fn opened(&self) -> &Tensor {
        &self.value
    }

    /// What is stored, without looking at it.
    pub(super) fn stored(&self) -> (&Tensor, Option<&Arc<dyn PackedResidual>>) {
        match self.keep() {
            Some(Keep::PackedResidual(p)) => (&self.value, Some(p)),
            _ => (&self.value, None),
        }
    }
}

impl Keep {
    #[cold]
    fn seal(a: &Array) -> Keep {
        Keep::Seal { version: a.buffer().map_or(0, |b| b.version()), checksum: a.checksum() }
    }
    fn holds(&self, a: &Array) -> bool {
        match (self, Keep::seal(a)) {
            (Keep::Seal { version, checksum }, Keep::Seal { version: v, checksum: c }) => {
                (*version, *checksum) == (v, c)
            }
            _ => true,
        }
    }
}
