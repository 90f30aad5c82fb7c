//! Diagonals and triangles.

use crate::bail;
use crate::base::size::Whole;
use crate::base::{DType, Layout, Result, Shape};
use crate::core::params::Dims;
use crate::core::params::{fields, parameters};
use crate::core::{Params, Prim, Primitive, Tensor, call};
use crate::dense::{Array, copy};
use crate::ops::signature::{AtLeast, Dim, HERE, NewDim, Ranked, Ranks, different};
use crate::rules::basis;
use crate::rules::{Batching, Linear, shapes};

/// The diagonal that starts at (`row`, `col`) of two dimensions; it becomes the last dimension.
#[derive(Debug, Clone)]
pub(super) struct Diagonal {
    dims: (usize, usize),
    start: (usize, usize),
    len: usize,
    /// Sizes of both dimensions, which the transpose restores.
    sizes: (usize, usize),
}

fields! { struct Diagonal { dims, start, len, sizes } }
parameters! { Diagonal = "diagonal" }

impl Diagonal {
    fn layout(&self, l: &Layout) -> Layout {
        let (i, j) = self.dims;
        let mut out = l.clone();
        if self.len > 0 {
            // One of both is 0.
            out.offset = if self.start.0 > 0 {
                l.moved(self.start.0, l.strides[i])
            } else {
                l.moved(self.start.1, l.strides[j])
            };
        }
        let step = l.strides[i].saturating_add(l.strides[j]);
        for d in [i.max(j), i.min(j)] {
            out.shape.remove(d);
            out.strides.remove(d);
        }
        out.shape.push(self.len);
        out.strides.push(step);
        out
    }
    fn shifted(&self) -> Diagonal {
        Diagonal { dims: (self.dims.0 + 1, self.dims.1 + 1), ..self.clone() }
    }
    fn full_shape(&self, diagonal: &Shape) -> Shape {
        let mut s = diagonal.without(diagonal.rank() - 1);
        let (i, j) = self.dims;
        let (lo, hi) =
            if i < j { ((i, self.sizes.0), (j, self.sizes.1)) } else { ((j, self.sizes.1), (i, self.sizes.0)) };
        s.insert(lo.0, lo.1);
        s.insert(hi.0, hi.1);
        s
    }
}

static DIAGONAL: Linear = Linear {
    name: "diagonal",
    infer: |p, a| shapes::reshaped(a, |x| Ok(p.get::<Diagonal>().layout(&Layout::contiguous(x.clone())).shape)),
    eval: |p, a| a.view(|l| p.get::<Diagonal>().layout(l)),
    transpose: |p, g, _, _| call(Prim::Static(&DIAGONAL_EMBED), p, &[g]),
    batching: Batching::With(|p, v| call(Prim::Static(&DIAGONAL), &Params::other(p.get::<Diagonal>().shifted()), &[v])),
};

/// Zeros with the given diagonal: the transpose of [`DIAGONAL`].
static DIAGONAL_EMBED: Linear = Linear {
    name: "diag_embed",
    infer: |p, a| shapes::reshaped(a, |x| p.get::<Diagonal>().full_shape(x).checked("diag_embed")),
    eval: |p, a| {
        let d = p.get::<Diagonal>();
        let mut out = Array::zeros(a.dtype(), d.full_shape(a.shape()))?;
        let target = d.layout(&Layout::contiguous(out.shape().clone()));
        copy::write(a, &mut out, &target)?;
        Ok(out)
    },
    transpose: |p, g, _, _| call(Prim::Static(&DIAGONAL), p, &[g]),
    batching: Batching::With(|p, v| {
        call(Prim::Static(&DIAGONAL_EMBED), &Params::other(p.get::<Diagonal>().shifted()), &[v])
    }),
};

/// The part on and above (below) a diagonal of the trailing matrices; zeros elsewhere.
static TRIANGLE: Linear = Linear {
    name: "tri",
    infer: |p, a| {
        crate::dense::index::check_matrices(&shapes::first(a)?.shape, p.ints().get(1) == Some(&1))?;
        shapes::same(p, a)
    },
    eval: |p, a| match p.ints() {
        [k, upper] => crate::dense::index::tri(a, *k, *upper == 1),
        _ => bail!(Internal, "tri(): parameters {p:?}"),
    },
    transpose: |p, g, _, _| call(Prim::Static(&TRIANGLE), p, &[g]),
    batching: Batching::With(|p, v| call(Prim::Static(&TRIANGLE), p, &[v])),
};

fn place(offset: i64, dims: (usize, usize), sizes: (usize, usize)) -> Diagonal {
    let start = if offset >= 0 { (0, offset as usize) } else { (offset.unsigned_abs() as usize, 0) };
    let len = sizes.0.saturating_sub(start.0).min(sizes.1.saturating_sub(start.1));
    Diagonal { dims, start, len, sizes }
}

/// The main diagonal of two dimensions, moved to the end.
pub fn diagonal_at(x: &Tensor, i: usize, j: usize) -> Result<Tensor> {
    let d = place(0, (i, j), (x.shape()[i], x.shape()[j]));
    call(Prim::Static(&DIAGONAL), &Params::other(d), &[x])
}

/// A matrix with this diagonal.
fn embed(x: &Tensor, offset: i64, dim1: usize, dim2: usize) -> Result<Tensor> {
    let n = Whole::from(x.shape()[x.rank() - 1]).plus(i64::try_from(offset.unsigned_abs()).unwrap_or(i64::MAX));
    let n = n.size_of(HERE, "the size of the matrix")?;
    call(Prim::Static(&DIAGONAL_EMBED), &Params::other(place(offset, (dim1, dim2), (n, n))), &[x])
}

fn triangle(x: &Tensor, diagonal: i64, upper: bool) -> Result<Tensor> {
    call(Prim::Static(&TRIANGLE), &Params::Ints([diagonal, i64::from(upper)].into_iter().collect()), &[x])
}

ops! { TABLE:
    /// A diagonal of two dimensions as the last dimension.
    ///
    /// >>> import pullback
    /// >>> pullback.diagonal(pullback.tensor([[1, 2], [3, 4]]))
    /// tensor([1, 4])
    fn diagonal = "diagonal" (input: &Tensor, offset: i64 = 0, dim1: i64 as Dim = 0, dim2: i64 as Dim = 1) -> Tensor [METHOD, VIEW] of DIAGONAL {
        different(("dim1", dim1), ("dim2", dim2))?;
        let (i, j) = (dim1, dim2);
        let d = place(offset, (i, j), (input.shape()[i], input.shape()[j]));
        call(Prim::Static(&DIAGONAL), &Params::other(d), &[input])
    }

    /// As `diagonal`, of the last two dimensions.
    fn linalg_diagonal = "linalg.diagonal" (A: &Tensor | input; offset: i64 = 0, dim1: i64 = -2, dim2: i64 = -1) -> Tensor [VIEW] node "DiagonalBackward0" of DIAGONAL {
        diagonal(A, offset, dim1, dim2)
    }

    /// Of a vector, the matrix with it as diagonal; of a matrix, its diagonal.
    ///
    /// >>> import pullback
    /// >>> pullback.diag(pullback.tensor([1, 2]))
    /// tensor([[1, 0],
    ///         [0, 2]])
    fn diag = "diag" (input: &Tensor as Ranks<1, 2>, diagonal: i64 = 0) -> Tensor [METHOD] node "DiagonalBackward0_copy" {
        if input.rank() == 1 { embed(input, diagonal, 0, 1) } else { self::diagonal(input, diagonal, 0, 1) }
    }

    /// Matrices with the last dimension as a diagonal.
    ///
    /// >>> import pullback
    /// >>> pullback.diag_embed(pullback.tensor([1, 2]))
    /// tensor([[1, 0],
    ///         [0, 2]])
    fn diag_embed = "diag_embed" (input: &Tensor, offset: i64 = 0, dim1: i64 as NewDim = -2, dim2: i64 as NewDim = -1) -> Tensor [METHOD] of DIAGONAL_EMBED {
        different(("dim1", dim1), ("dim2", dim2))?;
        embed(input, offset, dim1, dim2)
    }

    /// The sum of the main diagonal of a matrix.
    ///
    /// >>> import pullback
    /// >>> pullback.trace(pullback.tensor([[1.0, 2.0], [3.0, 4.0]]))
    /// tensor(5.)
    fn trace = "trace" (input: &Tensor as Ranked<2>) -> Tensor [METHOD, IN_SINGLE] {
        let x = if input.dtype().is_differentiable() { input.clone() } else { basis::cast(input, DType::I64)? };
        let dims: Dims = [0].into_iter().collect();
        basis::sum(&diagonal_at(&x, 0, 1)?, &dims, false)
    }

    /// The part on and below a diagonal of the trailing matrices; zeros elsewhere.
    ///
    /// >>> import pullback
    /// >>> pullback.tril(pullback.ones(2, 2))
    /// tensor([[1., 0.],
    ///         [1., 1.]])
    fn tril = "tril" (input: &Tensor as AtLeast<2>, diagonal: i64 = 0) -> Tensor [METHOD, INPLACE, EXACT_OUT] {
        triangle(input, diagonal, false)
    }

    /// The part on and above a diagonal of the trailing matrices; zeros elsewhere.
    ///
    /// >>> import pullback
    /// >>> pullback.triu(pullback.ones(2, 2))
    /// tensor([[1., 1.],
    ///         [0., 1.]])
    fn triu = "triu" (input: &Tensor as AtLeast<2>, diagonal: i64 = 0) -> Tensor [METHOD, INPLACE, EXACT_OUT] {
        triangle(input, diagonal, true)
    }
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] = &[&DIAGONAL, &DIAGONAL_EMBED, &TRIANGLE];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[TABLE],
    primitives: &[PRIMITIVES],
    parameters: &[crate::core::params::Type::of::<Diagonal>()],
};
