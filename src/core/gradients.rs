//! What the backward of a custom function returns.

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

macro_rules! tuples {
    ($(($($name:ident $i:tt),*);)*) => {$(
        impl<$($name: Gradients),*> Gradients for ($($name,)*) {
            fn put(self, _list: &mut Tangents) {
                $(self.$i.put(_list);)*
            }
        }
    )*};
}
tuples! {
    ();
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}
