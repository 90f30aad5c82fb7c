//! A cell that holds a value.

use crate::core::{LevelId, Tensor, level};

/// What a tensor object of the host language holds. Its owner provides the lock.
pub struct Slot {
    value: Tensor,
    /// The level where the cell was made: values of higher levels may not be written into it.
    birth: LevelId,
}

impl Slot {
    #[inline]
    pub fn new(value: Tensor) -> Slot {
        Slot { value, birth: level::current() }
    }
    #[inline]
    pub fn value(&self) -> &Tensor {
        &self.value
    }
    pub fn birth(&self) -> LevelId {
        self.birth
    }
    /// Replaces the value.
    pub fn set(&mut self, value: Tensor) {
        self.value = value;
    }
}
