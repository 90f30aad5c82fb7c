//! Complex numbers: made of parts, taken apart, conjugated.

use crate::base::{DType, Layout, Result};
use crate::core::{Params, Prim, Primitive, Tensor, call};
use crate::dense::copy;
use crate::ops::signature::{ComplexNumbers, FullFloats, SameDType};
use crate::rules::linear::{Batching, Linear};
use crate::rules::{basis, shapes};

/// Real and imaginary parts along a new last dimension. As maps of real numbers, this and its inverse are orthogonal:
/// each is the other's transpose.
static VIEW_AS_REAL: Linear = Linear {
    name: "view_as_real",
    infer: |_, a| {
        let a = shapes::first(a)?;
        shapes::one(a.dtype.real(), a.shape.iter().copied().chain([2]).collect())
    },
    eval: |_, a| a.reinterpreted(a.dtype().real(), layout_of_parts(a.layout())),
    transpose: |_, g, _, _| of_pairs(g),
    batching: Batching::Shift,
};

/// Complex numbers of pairs along the last dimension. Pairs that do not lie side by side are copied.
static VIEW_AS_COMPLEX: Linear = Linear {
    name: "view_as_complex",
    infer: |_, a| {
        let a = shapes::first(a)?;
        shapes::one(a.dtype.complex(), a.shape.without(a.shape.rank() - 1))
    },
    eval: |_, a| {
        let own;
        let a = if pairs_fault(&a.layout()).is_none() {
            a
        } else {
            own = copy::gather(a)?;
            &own
        };
        a.reinterpreted(a.dtype().complex(), layout_of_whole(a.layout()))
    },
    transpose: |_, g, _, _| view_parts(g),
    batching: Batching::Shift,
};

/// The layout of the parts of complex numbers.
pub(crate) fn layout_of_parts(mut l: Layout) -> Layout {
    l.strides.iter_mut().for_each(|s| *s = s.saturating_mul(2));
    l.shape.push(2);
    l.strides.push(1);
    Layout { offset: l.offset.saturating_mul(2), ..l }
}

/// The layout of complex numbers whose parts lie so along the last dimension.
pub(crate) fn layout_of_whole(mut l: Layout) -> Layout {
    let last = l.shape.rank().saturating_sub(1);
    l.strides.truncate(last);
    l.strides.iter_mut().for_each(|s| *s /= 2);
    Layout { shape: l.shape.without(last), strides: l.strides, offset: l.offset / 2 }
}

/// Why pairs along the last dimension are no complex numbers where they lie.
fn pairs_fault(l: &Layout) -> Option<&'static str> {
    let Some((last, lead)) = l.strides.split_last() else { return Some("one or more dimensions") };
    let odd = |(s, d): (&isize, &usize)| *d > 1 && s % 2 != 0;
    match () {
        () if l.shape[lead.len()] != 2 => Some("a last dimension of size 2"),
        () if *last != 1 => Some("a last dimension with stride 1"),
        () if lead.iter().zip(l.shape.iter()).any(odd) => Some("a stride divisible by 2 for all but last dimension"),
        () if !l.offset.is_multiple_of(2) => Some("a storage_offset divisible by 2"),
        () => None,
    }
}

/// Real and imaginary parts along a new last dimension.
pub(super) fn view_parts(z: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&VIEW_AS_REAL), &Params::None, &[z])
}

/// The complex numbers with these parts along the last dimension, of any layout.
pub fn of_pairs(parts: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&VIEW_AS_COMPLEX), &Params::None, &[parts])
}

/// Real (0) or imaginary (1) parts.
fn part(z: &Tensor, which: usize) -> Result<Tensor> {
    basis::select(&view_parts(z)?, z.rank(), which)
}

pub(crate) static PRIMITIVES: &[&dyn Primitive] = &[&VIEW_AS_REAL, &VIEW_AS_COMPLEX];

ops! { TABLE:
    /// The complex numbers with these real and imaginary parts, which broadcast.
    ///
    /// >>> import pullback
    /// >>> pullback.complex(pullback.tensor([1.0]), pullback.tensor([2.0]))
    /// tensor([1.+2.j])
    fn complex = "complex" (real: &Tensor as FullFloats, imag: &Tensor as SameDType) -> Tensor [KEEPS_ORDER] {
        // Parts that are joined are never multiplied, so that infinite cotangents of one do not reach the other.
        let shape = crate::base::shape::broadcast2("complex", real.shape(), imag.shape())?;
        let part = |x: &Tensor| basis::unsqueeze_dims(&basis::expand(x, &shape)?, &[shape.rank()]);
        of_pairs(&basis::cat(&[&part(real)?, &part(imag)?], shape.rank())?)
    }

    /// The complex numbers with these absolute values and angles (in radians), which broadcast.
    ///
    /// >>> import pullback
    /// >>> pullback.polar(pullback.tensor([2.0]), pullback.tensor([0.0]))
    /// tensor([2.+0.j])
    fn polar = "polar" (abs: &Tensor, angle: &Tensor) -> Tensor [IN_SINGLE, KEEPS_ORDER] {
        complex(&abs.mul(&angle.cos()?)?, &abs.mul(&angle.sin()?)?)
    }

    /// The real parts; real tensors are their own. A view.
    ///
    /// >>> import pullback
    /// >>> pullback.real(pullback.tensor([1 + 2j]))
    /// tensor([1.])
    fn real = "real" (input: &Tensor) -> Tensor [VIEW, REAL_PARTS] {
        if input.dtype().is_complex() { part(input, 0) } else { Ok(input.clone()) }
    }

    /// The imaginary parts, a view.
    ///
    /// >>> import pullback
    /// >>> pullback.imag(pullback.tensor([1 + 2j]))
    /// tensor([2.])
    fn imag = "imag" (input: &Tensor as ComplexNumbers) -> Tensor [VIEW, IMAGINARY_PARTS] {
        part(input, 1)
    }

    /// Real and imaginary parts along a new last dimension of size 2: the same memory as real numbers.
    ///
    /// >>> import pullback
    /// >>> pullback.view_as_real(pullback.tensor([1 + 2j]))
    /// tensor([[1., 2.]])
    fn view_as_real = "view_as_real" (input: &Tensor as ComplexNumbers) -> Tensor [VIEW, PARTS] {
        view_parts(input)
    }

    /// The same memory as complex numbers: pairs along the last dimension are their parts.
    ///
    /// >>> import pullback
    /// >>> pullback.view_as_complex(pullback.tensor([[1.0, 2.0]]))
    /// tensor([1.+2.j])
    fn view_as_complex = "view_as_complex" (input: &Tensor as FullFloats) -> Tensor [VIEW, WHOLE] {
        let lies = |l: Layout| pairs_fault(&l);
        let shaped = || lies(Layout::contiguous(input.shape().clone()));
        if let Some(what) = input.dense().map_or_else(shaped, |a| lies(a.layout())) {
            refuse!(Runtime, "Tensor must have {what}; make it contiguous(), with pairs in the last \
                dimension");
        }
        of_pairs(input)
    }

    /// The complex conjugate, a view; real tensors are their own.
    ///
    /// >>> import pullback
    /// >>> pullback.conj(pullback.tensor([1 + 2j]))
    /// tensor([1.-2.j])
    fn conj = "conj" (input: &Tensor) -> Tensor [METHOD, VIEW, CONJUGATES] {
        basis::conj(input)
    }

    /// The negated numbers, a view.
    ///
    /// >>> import pullback
    /// >>> pullback._neg_view(pullback.tensor([1.0, -2.0]))
    /// tensor([-1.,  2.])
    fn neg_view = "_neg_view" (input: &Tensor) -> Tensor [METHOD, VIEW, NEGATIVES] {
        super::unary::negative(input)
    }

    /// The complex conjugate in memory of its own; real tensors are their own.
    ///
    /// >>> import pullback
    /// >>> pullback.conj_physical(pullback.tensor([1 + 2j]))
    /// tensor([1.-2.j])
    fn conj_physical = "conj_physical" (input: &Tensor) -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION, SAME_OBJECT] {
        basis::conj(input)
    }

    /// The trailing matrices transposed and conjugated, a view; a 0-d tensor is conjugated, with a warning.
    ///
    /// >>> import pullback
    /// >>> pullback.adjoint(pullback.tensor([[1j, 2.0]]))
    /// tensor([[0.-1.j],
    ///         [2.-0.j]])
    fn adjoint = "adjoint" (input: &Tensor) -> Tensor [METHOD, VIEW, ADJOINTS] {
        super::shape::adjoint_of("adjoint()", input)
    }

    /// A matrix transposed and conjugated, a view.
    fn big_h = "Tensor.H" (input: &Tensor) -> Tensor [PROPERTY, VIEW, ADJOINTS] node "TransposeBackward0" {
        match input.rank() {
            0 => basis::conj(input),
            2 => basis::adjoint(input),
            r => refuse!(Runtime, "only supported on matrices (2-D tensors). Got {r}-D tensor; use mH for batches"),
        }
    }

    /// Whether elements have no imaginary part.
    ///
    /// >>> import pullback
    /// >>> pullback.isreal(pullback.tensor([1j, 1.0]))
    /// tensor([False,  True])
    fn isreal = "isreal" (input: &Tensor) -> Tensor [METHOD] {
        if !input.dtype().is_complex() {
            return basis::full(input.shape(), DType::Bool, true);
        }
        super::compare::eq(&part(input, 1)?, 0.0)
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[PRIMITIVES], ..crate::ops::Family::EMPTY };
