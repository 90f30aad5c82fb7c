//! The garbage collector: which Python objects tensors and nodes hold through values that it cannot see.

use crate::tensor::gradient::Accumulator;
use crate::tensor::upward;
use pullback::core::reach::Reach;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use std::any::Any;

/// Shows the collector the Python objects in what a walk finds.
pub struct Visitor<'a> {
    visit: PyVisit<'a>,
    done: Result<(), PyTraverseError>,
}

impl Visitor<'_> {
    pub fn new(visit: PyVisit<'_>) -> Visitor<'_> {
        Visitor { visit, done: Ok(()) }
    }

    pub fn object<T>(&mut self, object: &Py<T>) {
        if self.done.is_ok() {
            self.done = self.visit.call(object);
        }
    }

    fn found(&mut self, held: &dyn Any) {
        if let Some(object) = held.downcast_ref::<Py<PyAny>>() {
            self.object(object);
        } else if let Some(leaf) = held.downcast_ref::<Accumulator>() {
            leaf.visit(self);
        } else {
            upward::show(held, self);
        }
    }

    /// Shows what only the things hold that `start` meets.
    pub fn walk(&mut self, start: impl FnOnce(&mut Reach<'_>)) {
        let mut found = |held: &dyn Any| self.found(held);
        let mut reach = Reach::new(&mut found);
        start(&mut reach);
        reach.run();
    }

    pub fn finish(self) -> Result<(), PyTraverseError> {
        self.done
    }
}
