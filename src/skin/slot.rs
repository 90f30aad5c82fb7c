//! A cell that holds a value.

use super::read::{self, Reading};
use crate::base::Result;
use crate::core::{LevelId, Tensor, level};
use crate::dense::Array;

/// What a tensor object of the host language holds. Its owner provides the lock.
pub struct Slot {
    value: Tensor,
    /// The level where the cell was made: values of higher levels may not be written into it.
    birth: LevelId,
    version: u32,
}

impl Slot {
    #[inline]
    pub fn new(value: Tensor) -> Slot {
        Slot { value, birth: level::current(), version: 0 }
    }
    #[inline]
    pub fn value(&self) -> &Tensor {
        &self.value
    }
    pub fn birth(&self) -> LevelId {
        self.birth
    }
    pub fn version(&self) -> u32 {
        self.version
    }
    /// Replaces the value and returns the old one, which the caller drops when nothing is borrowed any more.
    pub fn set(&mut self, value: Tensor) -> Tensor {
        self.version += 1;
        std::mem::replace(&mut self.value, value)
    }

    /// The value with its elements in a buffer, so that their address stays.
    pub fn to_buffer(&mut self) -> Result<Tensor> {
        if let Some(a) = self.value.dense()
            && a.buffer().is_none()
        {
            self.value = a.to_buffer()?.into();
        }
        Ok(self.value.clone())
    }

    /// The array of a plain value, in memory that others may see.
    pub fn export(&mut self, what: &str) -> Result<Array> {
        let value = self.to_buffer()?;
        read::array(&value, what, Reading::Elements)?.to_buffer()
    }
}
