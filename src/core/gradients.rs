//! What the backward of a custom function returns.

use super::tensors::each_tuple;
use super::{Tangents, Tensor};

/// One gradient for each input of a custom function: tensors in any arrangement, `None` for an input without one.
pub trait Gradients {
    /// Adds the gradients to a list, in order.
    fn put(self, list: &mut Tangents);
}

impl Gradients for Tensor {
    fn put(self, list: &mut Tangents) {
        list.push(Some(self));
    }
}
impl Gradients for Option<Tensor> {
    fn put(self, list: &mut Tangents) {
        list.push(self);
    }
}
impl<G: Gradients, const N: usize> Gradients for [G; N] {
    fn put(self, list: &mut Tangents) {
        self.into_iter().for_each(|g| g.put(list));
    }
}
impl<G: Gradients> Gradients for Vec<G> {
    fn put(self, list: &mut Tangents) {
        self.into_iter().for_each(|g| g.put(list));
    }
}
impl Gradients for () {
    fn put(self, _: &mut Tangents) {}
}

macro_rules! tuples {
    ($(($($name:ident $i:tt),+);)*) => {$(
        impl<$($name: Gradients),+> Gradients for ($($name,)+) {
            fn put(self, list: &mut Tangents) {
                $(self.$i.put(list);)+
            }
        }
    )*};
}
each_tuple!(tuples);
