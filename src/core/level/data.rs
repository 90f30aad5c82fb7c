//! Whether what is made now has data.

use super::{LevelId, refresh, this};
use std::marker::PhantomData;

/// While it lives, every operator gives values without data, whatever its arguments: what `device="meta"` asks of a maker
/// of tensors.
#[must_use]
pub struct WithoutData {
    before: LevelId,
    /// It puts back what its thread had.
    _not_send: PhantomData<*const ()>,
}

impl WithoutData {
    #[cold]
    pub fn enter() -> WithoutData {
        let before = this(|t| t.base.replace(LevelId::ABSTRACT));
        refresh();
        WithoutData { before, _not_send: PhantomData }
    }
}

impl Drop for WithoutData {
    fn drop(&mut self) {
        this(|t| t.base.set(self.before));
        refresh();
    }
}

/// Whether a tensor that is made now has no data.
#[inline]
pub fn is_without_data() -> bool {
    this(|t| t.base.get() == LevelId::ABSTRACT)
}

/// While it lives, makers of tensors give values without data, and random operators draw nothing: a function runs for the
/// shapes of its results, and leaves generators as they are.
#[must_use]
pub struct Undrawn {
    before: bool,
    _not_send: PhantomData<*const ()>,
}

impl Undrawn {
    #[cold]
    pub fn enter() -> Undrawn {
        Undrawn { before: this(|t| t.undrawn.replace(true)), _not_send: PhantomData }
    }
}

impl Drop for Undrawn {
    fn drop(&mut self) {
        this(|t| t.undrawn.set(self.before));
    }
}

/// Whether random operators draw nothing.
#[inline]
pub fn is_undrawn() -> bool {
    this(|t| t.undrawn.get())
}
