//! Which object stands for a cell: `view._base` is that object.

use crate::tensor::PyTensor;
use pullback::skin::Cell;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Distance between an object and the `PyTensor` in it, once it is known.
static CONTENTS: AtomicUsize = AtomicUsize::new(0);

/// Makes `slf` the object that stands for the cell, unless another does: `view._base` is that object.
pub fn stand_for(cell: &Arc<Cell>, slf: &Bound<'_, PyTensor>) {
    stands_for(cell, slf.as_ptr() as usize, slf.get());
}

/// As [`stand_for`], where the object is `t` at this address.
pub fn stands_for(cell: &Arc<Cell>, object: usize, t: &PyTensor) {
    if cell.claim(object) {
        CONTENTS.store(std::ptr::from_ref(t) as usize - object, Relaxed);
    }
}

/// What `t`, which is going away or gets another cell, must say to the cell that it stood for.
pub fn stand_down(cell: &Arc<Cell>, t: &PyTensor) {
    if cell.host() == (std::ptr::from_ref(t) as usize).wrapping_sub(CONTENTS.load(Relaxed)) {
        cell.set_host(0);
    }
}
