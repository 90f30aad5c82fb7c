//! Grad mode and forward mode: whether tapes record and dual numbers propagate.
//!
//! NOTE grad mode. It is one flag per thread. Entering a tape level saves it as `prev` and turns it on. Tape k records
//! if the flag and every `prev` of the tape levels above k are on. So `no_grad` inside a function cuts all live levels,
//! and `no_grad` around `grad(f)` cuts only the outer ones:
//! ```text
//! grad(grad(f)):  flag on ── tape 1 (prev on) ── tape 2 (prev on) ── f says no_grad: flag off, nothing records
//! no_grad; grad(f):  flag off ── tape 1 (prev off, flag on): tape 1 records, the ambient tape does not
//! ```

use super::{LevelId, this};
use crate::base::DType;

/// Whether tape `id` records now.
#[inline]
pub fn records(id: LevelId) -> bool {
    this(|t| t.grad.get() && id.depth() >= t.tape_cut.get())
}

/// Whether a tape right above level `id` records now. Where that tape is hidden it does: it runs something below it.
pub fn records_above(id: LevelId) -> bool {
    let above = 1 << (id.depth() + 1).min(127);
    this(|t| t.hidden.get() & above != 0 || (t.grad.get() && id.depth() + 1 >= t.tape_cut.get()))
}

#[inline]
pub fn grad_enabled() -> bool {
    this(|t| t.grad.get())
}
/// A grad mode, and whether the program itself set it.
#[derive(Debug, Clone, Copy)]
pub struct SavedMode {
    on: bool,
    own: bool,
}
impl From<bool> for SavedMode {
    fn from(on: bool) -> SavedMode {
        SavedMode { on, own: true }
    }
}
/// Sets the grad mode of this thread for the program and returns the old one.
#[inline]
pub fn set_grad_enabled(mode: impl Into<SavedMode>) -> SavedMode {
    let mode = mode.into();
    this(|t| SavedMode { on: t.grad.replace(mode.on), own: t.own.replace(mode.own) })
}
/// Whether the program itself set the grad mode since the running method of a custom function began.
#[inline]
pub fn is_own_mode() -> bool {
    this(|t| t.own.get())
}
/// Whether dual numbers of the innermost level propagate.
#[inline]
pub fn forward_enabled() -> bool {
    this(|t| t.forward.get())
}
/// Whether dual numbers of level `id` propagate now: as [`records`], for forward mode.
#[inline]
pub fn propagates(id: LevelId) -> bool {
    this(|t| t.forward.get() && id.depth() >= t.dual_cut.get())
}
pub fn set_forward_enabled(on: bool) -> bool {
    this(|t| t.forward.replace(on))
}

/// The dtype that autocast lowers to on this thread, where it is on.
#[inline]
pub fn autocast() -> Option<DType> {
    this(|t| t.autocast.get())
}
/// Sets what autocast lowers to, nothing where it is off, and returns what it was.
pub fn set_autocast(lower: Option<DType>) -> Option<DType> {
    this(|t| t.autocast.replace(lower))
}

/// Whether tensors that are made now are inference tensors.
#[inline]
pub fn inference() -> bool {
    this(|t| t.inference.get())
}
/// Sets the inference mode of this thread and returns the old one.
pub fn set_inference(on: bool) -> bool {
    this(|t| t.inference.replace(on))
}

/// What a tensor that is made now has from its thread.
#[derive(Debug, Clone, Copy)]
pub struct Birth {
    /// The highest visible level.
    pub level: LevelId,
    pub inference: bool,
}
impl Birth {
    #[inline]
    pub fn now() -> Birth {
        this(|t| Birth { level: t.top.get(), inference: t.inference.get() })
    }
}

/// Whether operators of this thread are recorded for reverse mode, until this is dropped: PyTorch's `no_grad`.
///
/// ```
/// use pullback::prelude::*;
/// let f = |x: &Tensor| {
///     let constant = {
///         let _no_grad = GradMode::set(false);
///         x.mul(x)?
///     };
///     constant.mul(x)?.sum_all()
/// };
/// assert_eq!(grad(f, &Tensor::from([3.0]))?.to_vec::<f64>()?, [9.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub struct GradMode(bool);
impl GradMode {
    /// Sets the mode; dropping the result puts the old one back.
    #[must_use]
    pub fn set(on: bool) -> GradMode {
        GradMode(this(|t| t.grad.replace(on)))
    }
}
impl Drop for GradMode {
    fn drop(&mut self) {
        this(|t| t.grad.set(self.0));
    }
}
