//! The garbage collector: which Python objects tensors and nodes hold through values that it cannot see.

use crate::autograd::graph::{Hosted, PyNode};
use crate::autograd::saving::PyPacked;
use crate::function::Ctx;
use crate::tensor::gradient::Accumulator;
use pullback::core::reach::Reach;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use std::any::Any;
use std::sync::Arc;

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
        } else if let Some(ctx) = held.downcast_ref::<Py<Ctx>>() {
            self.object(ctx);
        } else if let Some(packed) = held.downcast_ref::<PyPacked>() {
            self.object(&packed.object);
            if Arc::strong_count(&packed.unpack) == 1 {
                self.object(&packed.unpack);
            }
        } else if let Some(hosted) = held.downcast_ref::<Hosted>() {
            hosted.visit(self);
        } else if let Some(leaf) = held.downcast_ref::<Accumulator>() {
            leaf.visit(self);
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

/// For the traversal of a node's object.
pub fn node(node: &PyNode, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
    let mut visitor = Visitor::new(visit);
    visitor.walk(|reach| reach.node(&node.0));
    visitor.finish()
}
