//! What functions take and return: one tensor, or an arrangement of several.

use super::Tensor;
use smallvec::SmallVec;
use std::borrow::Borrow;

/// Calls a macro with the type names and places of tuples of one to eight.
macro_rules! each_tuple {
    ($macro:ident) => {
        $macro! {
            (A 0);
            (A 0, B 1);
            (A 0, B 1, C 2);
            (A 0, B 1, C 2, D 3);
            (A 0, B 1, C 2, D 3, E 4);
            (A 0, B 1, C 2, D 3, E 4, F 5);
            (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
            (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
        }
    };
}
pub(crate) use each_tuple;

/// One tensor, or several of them: what a transform's function takes and returns.
///
/// A [`Tensor`], a reference to one, an array, a slice, a `Vec`, a tuple of up to eight, and these in each other; structs of
/// your own by [`tensors!`](crate::tensors). `()` is none at all. A transform takes its inputs in any of these forms, gives
/// the function a reference to the same arrangement, of tensors that it owns, and returns results in it:
///
/// | inputs | the function takes | gradients |
/// |---|---|---|
/// | `&x` | `&Tensor` | `Tensor` |
/// | `[&a, &b]` | `&[Tensor; 2]` | `[Tensor; 2]` |
/// | `(&a, &b)` | `&(Tensor, Tensor)` | `(Tensor, Tensor)` |
/// | `&vec`, `&vec[..]` | `&[Tensor]` | `Vec<Tensor>` |
/// | `(&a, &vec)` | `&(Tensor, Vec<Tensor>)` | `(Tensor, Vec<Tensor>)` |
///
/// ```
/// use pullback::{Tensor, grad};
/// let (a, b) = (Tensor::from_slice([2], &[1.0, 2.0])?, Tensor::from_slice([2], &[3.0, 4.0])?);
/// let (ga, gb) = grad(|(a, b)| a.mul(b)?.sum_all(), (&a, &b))?;
/// assert_eq!(ga.to_vec::<f64>()?, [3.0, 4.0]);
/// assert_eq!(gb.to_vec::<f64>()?, [1.0, 2.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub trait Tensors {
    /// The same arrangement of tensors that it owns, which results have.
    type Owned: Tensors<Owned = Self::Owned, View = Self::View> + Borrow<Self::View> + 'static;
    /// What a function takes a reference to: [`Owned`](Self::Owned), or the slice that it holds.
    type View: Tensors<Owned = Self::Owned, View = Self::View> + ?Sized + 'static;
    /// The same arrangement with an `L` in place of each tensor.
    type Each<L>;
    /// What is known of the arrangement only at run time: how long its lists are.
    type Structure: Clone + Send + Sync + 'static;

    /// How long the lists are.
    fn structure(&self) -> Self::Structure;
    /// Shows each tensor, in order.
    fn visit<'a>(&'a self, visit: &mut impl FnMut(&'a Tensor));
    /// The arrangement of tensors that come in order.
    fn build(structure: &Self::Structure, next: &mut impl FnMut() -> Tensor) -> Self::Owned;
    /// The arrangement of other things that come in order.
    fn arrange<L>(structure: &Self::Structure, next: &mut impl FnMut() -> L) -> Self::Each<L>;
}

/// References to all tensors, in order.
#[inline]
pub fn list<T: Tensors + ?Sized>(tensors: &T) -> SmallVec<[&Tensor; 2]> {
    let mut all = SmallVec::new();
    tensors.visit(&mut |t| all.push(t));
    all
}

/// The arrangement of these tensors, which are as many as it holds.
#[inline]
pub fn rebuild<T: Tensors + ?Sized>(structure: &T::Structure, tensors: impl IntoIterator<Item = Tensor>) -> T::Owned {
    let mut tensors = tensors.into_iter();
    T::build(structure, &mut || tensors.next().expect("a structure holds as many tensors as it was read from"))
}

impl Tensors for Tensor {
    type Owned = Tensor;
    type View = Tensor;
    type Each<L> = L;
    type Structure = ();

    fn structure(&self) {}
    #[inline]
    fn visit<'a>(&'a self, visit: &mut impl FnMut(&'a Tensor)) {
        visit(self);
    }
    #[inline]
    fn build((): &(), next: &mut impl FnMut() -> Tensor) -> Tensor {
        next()
    }
    fn arrange<L>((): &(), next: &mut impl FnMut() -> L) -> L {
        next()
    }
}

impl<T: Tensors + ?Sized> Tensors for &T {
    type Owned = T::Owned;
    type View = T::View;
    type Each<L> = T::Each<L>;
    type Structure = T::Structure;

    #[inline]
    fn structure(&self) -> T::Structure {
        T::structure(self)
    }
    #[inline]
    fn visit<'a>(&'a self, visit: &mut impl FnMut(&'a Tensor)) {
        T::visit(self, visit);
    }
    #[inline]
    fn build(structure: &T::Structure, next: &mut impl FnMut() -> Tensor) -> T::Owned {
        T::build(structure, next)
    }
    fn arrange<L>(structure: &T::Structure, next: &mut impl FnMut() -> L) -> T::Each<L> {
        T::arrange(structure, next)
    }
}

impl<T: Tensors> Tensors for [T] {
    type Owned = Vec<T::Owned>;
    type View = [T::Owned];
    type Each<L> = Vec<T::Each<L>>;
    type Structure = Vec<T::Structure>;

    fn structure(&self) -> Self::Structure {
        self.iter().map(T::structure).collect()
    }
    fn visit<'a>(&'a self, visit: &mut impl FnMut(&'a Tensor)) {
        self.iter().for_each(|t| t.visit(visit));
    }
    fn build(structure: &Self::Structure, next: &mut impl FnMut() -> Tensor) -> Self::Owned {
        structure.iter().map(|s| T::build(s, next)).collect()
    }
    fn arrange<L>(structure: &Self::Structure, next: &mut impl FnMut() -> L) -> Self::Each<L> {
        structure.iter().map(|s| T::arrange(s, next)).collect()
    }
}

impl<T: Tensors> Tensors for Vec<T> {
    type Owned = Vec<T::Owned>;
    type View = [T::Owned];
    type Each<L> = Vec<T::Each<L>>;
    type Structure = Vec<T::Structure>;

    fn structure(&self) -> Self::Structure {
        self[..].structure()
    }
    fn visit<'a>(&'a self, visit: &mut impl FnMut(&'a Tensor)) {
        self[..].visit(visit);
    }
    fn build(structure: &Self::Structure, next: &mut impl FnMut() -> Tensor) -> Self::Owned {
        <[T]>::build(structure, next)
    }
    fn arrange<L>(structure: &Self::Structure, next: &mut impl FnMut() -> L) -> Self::Each<L> {
        <[T]>::arrange(structure, next)
    }
}

impl<T: Tensors, const N: usize> Tensors for [T; N] {
    type Owned = [T::Owned; N];
    type View = [T::Owned; N];
    type Each<L> = [T::Each<L>; N];
    type Structure = [T::Structure; N];

    fn structure(&self) -> Self::Structure {
        std::array::from_fn(|i| self[i].structure())
    }
    fn visit<'a>(&'a self, visit: &mut impl FnMut(&'a Tensor)) {
        self.iter().for_each(|t| t.visit(visit));
    }
    fn build(structure: &Self::Structure, next: &mut impl FnMut() -> Tensor) -> Self::Owned {
        std::array::from_fn(|i| T::build(&structure[i], next))
    }
    fn arrange<L>(structure: &Self::Structure, next: &mut impl FnMut() -> L) -> Self::Each<L> {
        std::array::from_fn(|i| T::arrange(&structure[i], next))
    }
}

impl Tensors for () {
    type Owned = ();
    type View = ();
    type Each<L> = ();
    type Structure = ();

    fn structure(&self) {}
    fn visit<'a>(&'a self, _: &mut impl FnMut(&'a Tensor)) {}
    fn build((): &(), _: &mut impl FnMut() -> Tensor) {}
    fn arrange<L>((): &(), _: &mut impl FnMut() -> L) {}
}

macro_rules! tuples {
    ($(($($name:ident $i:tt),+);)*) => {$(
        impl<$($name: Tensors),+> Tensors for ($($name,)+) {
            type Owned = ($($name::Owned,)+);
            type View = ($($name::Owned,)+);
            type Each<L> = ($($name::Each<L>,)+);
            type Structure = ($($name::Structure,)+);

            fn structure(&self) -> Self::Structure {
                ($(self.$i.structure(),)+)
            }
            fn visit<'a>(&'a self, visit: &mut impl FnMut(&'a Tensor)) {
                $(self.$i.visit(visit);)+
            }
            fn build(structure: &Self::Structure, next: &mut impl FnMut() -> Tensor) -> Self::Owned {
                ($($name::build(&structure.$i, next),)+)
            }
            fn arrange<L>(structure: &Self::Structure, next: &mut impl FnMut() -> L) -> Self::Each<L> {
                ($($name::arrange(&structure.$i, next),)+)
            }
        }
    )*};
}
each_tuple!(tuples);

/// Declares structs of tensors that transforms take and return as they do one tensor: their fields are tensors, or
/// arrangements of them ([`Tensors`](crate::Tensors)).
///
/// Where a Jacobian has several blocks, a tuple of the fields stands for the struct.
///
/// ```
/// use pullback::{DType, Tensor, grad, tensors};
/// tensors! {
///     /// The parameters of a line.
///     #[derive(Clone)]
///     struct Line {
///         slope: Tensor,
///         offset: Tensor,
///     }
/// }
/// let line = Line { slope: Tensor::scalar(DType::F64, 2.0), offset: Tensor::scalar(DType::F64, 1.0) };
/// let x = Tensor::from_slice([3], &[0.0, 1.0, 2.0])?;
/// let g: Line = grad(|l| x.mul(&l.slope)?.add(&l.offset)?.square()?.sum_all(), &line)?;
/// assert_eq!(g.slope.to_scalar()?.as_f64(), 26.0);
/// assert_eq!(g.offset.to_scalar()?.as_f64(), 18.0);
/// # Ok::<(), pullback::Error>(())
/// ```
#[macro_export]
macro_rules! tensors {
    ($($(#[$attribute:meta])* $visible:vis struct $name:ident {
        $($(#[$note:meta])* $shown:vis $field:ident: $type:ty),+ $(,)?
    })+) => {$(
        $(#[$attribute])*
        $visible struct $name {
            $($(#[$note])* $shown $field: $type),+
        }

        impl $crate::Tensors for $name {
            type Owned = $name;
            type View = $name;
            type Each<L> = ($(<$type as $crate::Tensors>::Each<L>,)+);
            type Structure = ($(<$type as $crate::Tensors>::Structure,)+);

            fn structure(&self) -> Self::Structure {
                ($($crate::Tensors::structure(&self.$field),)+)
            }
            fn visit<'a>(&'a self, visit: &mut impl FnMut(&'a $crate::Tensor)) {
                $($crate::Tensors::visit(&self.$field, visit);)+
            }
            fn build(structure: &Self::Structure, next: &mut impl FnMut() -> $crate::Tensor) -> Self {
                let ($($field,)+) = structure;
                $name { $($field: <$type as $crate::Tensors>::build($field, next)),+ }
            }
            fn arrange<L>(structure: &Self::Structure, next: &mut impl FnMut() -> L) -> Self::Each<L> {
                let ($($field,)+) = structure;
                ($(<$type as $crate::Tensors>::arrange($field, next),)+)
            }
        }

        impl $crate::Gradients for $name {
            fn put(self, list: &mut $crate::core::Tangents) {
                $($crate::Gradients::put(self.$field, list);)+
            }
        }
    )+};
}
