//! Matrix products.

use super::promote;
use super::value::Operand;
use crate::base::{DType, Error, ErrorKind, Result, Scalar};
use crate::core::Tensor;
use crate::core::symbolic::Symbolic;
use crate::core::{Params, Prim, call};
use crate::dense::{Array, matmul as products};
use crate::ops::signature::{AtLeast, Factor, HERE, Ranked, Ranks, SameDType, inside, no_bools, refused};
use crate::rules::{Affine, Bilinear, basis, shapes};
use smallvec::SmallVec;

/// An error unless all tensors have one dtype that has products.
pub fn same_dtype(tensors: &[&Tensor]) -> Result<()> {
    let first = tensors[0].dtype();
    if let Some(t) = tensors.iter().find(|t| t.dtype() != first) {
        refuse!(
            Runtime,
            "expected all arguments to have the same dtype, but got {first} and {}; convert \
            them with .to()",
            t.dtype()
        );
    }
    no_bools(ErrorKind::NotImplemented, first)
}

#[cold]
fn not_multipliable(m: usize, k: usize, k2: usize, n: usize) -> Error {
    refused(
        ErrorKind::Runtime,
        format_args!(
            "mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {k2}x{n}); the first needs as many columns as the \
             second has rows, perhaps transposed"
        ),
    )
}

/// The matrix product of operands of rank two or more, sizes checked.
fn product(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (m, k) = (a.shape()[a.rank() - 2], a.shape()[a.rank() - 1]);
    let (k2, n) = (b.shape()[b.rank() - 2], b.shape()[b.rank() - 1]);
    if k != k2 {
        return Err(not_multipliable(m, k, k2, n));
    }
    crate::base::shape::broadcast2(HERE, &a.shape()[..a.rank() - 2].into(), &b.shape()[..b.rank() - 2].into())?;
    basis::matmul(a, b)
}

/// `beta * input + alpha * product`, where a zero ignores what it multiplies.
fn combine(input: &Tensor, product: &Tensor, beta: Scalar, alpha: Scalar) -> Result<Tensor> {
    let by = |x: &Tensor, name: &str, s: Scalar| -> Result<Tensor> {
        factor(name, s, x.dtype())?;
        if s.as_complex() == num_complex::Complex::new(1.0, 0.0) {
            Ok(x.clone())
        } else {
            basis::mul(x, &promote::fitted(HERE, name, s, x.dtype())?)
        }
    };
    let scaled = match alpha.is_zero() && product.dtype().is_differentiable() {
        // A product that is not asked for is no NaN either.
        true => basis::keep_where(&Tensor::scalar(DType::Bool, false), product)?,
        false => by(product, "alpha", alpha)?,
    };
    if beta.is_zero() {
        // What the input holds does not count; where it is followed, its derivative is 0.
        let never = Tensor::scalar(DType::Bool, false);
        return match input.dense() {
            Some(_) => Ok(scaled),
            None => basis::where_(&never, &basis::expand(input, product.shape())?, &scaled),
        };
    }
    let input = basis::expand(input, product.shape()).map_err(inside)?;
    basis::add(&by(&input, "beta", beta)?, &scaled)
}

/// Integers have no fractions to be multiplied with.
fn factor(name: &str, s: Scalar, dtype: DType) -> Result<()> {
    if !dtype.is_differentiable() && s.as_complex() != num_complex::Complex::new(s.as_f64().trunc(), 0.0) {
        refuse!(
            Runtime,
            "for integral input tensors, argument '{name}' must not be a fraction, but got {s}; give an \
            int, or convert them with .float()"
        );
    }
    Ok(())
}

/// `beta * input + alpha * product(a, b)`, half precision in single.
fn plus_product(
    input: &Tensor,
    product: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
    [a, b]: [&Tensor; 2],
    [beta, alpha]: [Scalar; 2],
) -> Result<Tensor> {
    let dtype = a.dtype();
    let all = |x: &Tensor| x.dtype() == dtype;
    if dtype.is_half() && all(b) && all(input) {
        let wide = |x: &Tensor| basis::cast(x, DType::F32);
        let out = plus_product(&wide(input)?, product, [&wide(a)?, &wide(b)?], [beta, alpha])?;
        return basis::cast(&out, dtype);
    }
    let p = product(a, b)?;
    expandable(input, p.shape())?;
    same_dtype(&[input, &p])?;
    combine(input, &p, beta, alpha)
}

fn expandable(input: &Tensor, shape: &crate::Shape) -> Result<()> {
    let out = crate::base::shape::broadcast2(HERE, input.shape(), shape)?;
    if out != *shape {
        refuse!(
            Runtime,
            "input of shape {} does not broadcast to the product's shape {shape}; reshape() it",
            input.shape()
        );
    }
    Ok(())
}

/// `a @ bᵀ`: the cotangent of `b` has its rows where those of `b` are, which a product with a transposed view has not.
static LINEAR: Bilinear = Bilinear {
    name: "linear",
    infer: |_, a| {
        let (a, b) = (shapes::first(a)?, shapes::argument(a, 1)?);
        let swapped = swapped(b.shape.rank()).iter().map(|&d| b.shape[d]).collect();
        shapes::one(a.dtype, products::product_shape(a.form(), (b.dtype, &swapped))?)
    },
    eval: |_, a, b| products::linear(a, b),
    symbolic: Some(|constant, array, is_left| match is_left {
        true => Symbolic::product(constant, &transposed(array)?, true),
        false => Ok(None),
    }),
    transposes: [
        |_, g, b, shape| basis::unbroadcast(basis::matmul(g, b)?, shape),
        |_, g, a, shape| {
            if shape.rank() == 2 && g.rank() > 2 {
                return basis::matmul(&basis::swap_last(&basis::rows(g)?)?, &basis::rows(a)?);
            }
            basis::unbroadcast(basis::matmul(&basis::swap_last(g)?, a)?, shape)
        },
    ],
    batch: basis::batch_matmul,
};

static BIASED: Affine =
    Affine { name: "linear:biased", product: &LINEAR, eval: |_, [a, b, bias]| products::small_affine(a, b, bias) };

/// The order of dimensions with the last two swapped.
#[inline]
fn swapped(rank: usize) -> SmallVec<[usize; 6]> {
    let mut order: SmallVec<[usize; 6]> = (0..rank).collect();
    order.swap(rank - 2, rank - 1);
    order
}

/// One number for each column of the product, or one for all.
#[inline]
fn is_of_columns(bias: &Tensor, weight: &Tensor) -> bool {
    matches!(bias.shape()[..], [] | [1]) || bias.shape()[..] == weight.shape()[..1]
}

/// The row of numbers that a vector gives.
#[inline]
fn flat(rows: Tensor, input: &Tensor) -> Result<Tensor> {
    if input.rank() > 1 { Ok(rows) } else { basis::reshape(&rows, &rows.shape().without(0)) }
}

#[inline]
fn transposed(b: &Array) -> Result<Array> {
    b.permute(&swapped(b.rank()))
}

ops! { TABLE:
    /// Matrix product, with 1-D operands taken as vectors and leading dimensions broadcast.
    ///
    /// >>> import pullback
    /// >>> pullback.matmul(pullback.ones(2, 3), pullback.ones(3)).shape
    /// pullback.Size([2])
    fn matmul = "matmul" | "linalg.matmul" (input: &Tensor as AtLeast<1>, other: &Tensor as AtLeast<1>)
        -> Tensor [METHOD, PRODUCT, LOWERS] node "DotBackward0|MvBackward0|MmBackward0|UnsafeViewBackward0" of basis::MATMUL as Product {
        same_dtype(&[input, other])?;
        let a = if input.rank() == 1 { basis::unsqueeze_dims(input, &[0])? } else { input.clone() };
        let b = if other.rank() == 1 { basis::unsqueeze_dims(other, &[1])? } else { other.clone() };
        let mut out = product(&a, &b)?;
        if other.rank() == 1 {
            out = basis::reshape(&out, &out.shape().without(out.rank() - 1))?;
        }
        if input.rank() == 1 {
            let at = out.rank() - if other.rank() == 1 { 1 } else { 2 };
            out = basis::reshape(&out, &out.shape().without(at))?;
        }
        Ok(out)
    }

    /// Product of two matrices.
    ///
    /// >>> import pullback
    /// >>> pullback.mm(pullback.ones(2, 3), pullback.ones(3, 4)).shape
    /// pullback.Size([2, 4])
    fn mm = "mm" (input: &Tensor as Ranked<2>, mat2: &Tensor as Ranked<2>) -> Tensor [METHOD, EXACT_OUT, PRODUCT, LOWERS] as Product {
        same_dtype(&[input, mat2])?;
        product(input, mat2)
    }

    /// Products of two batches of matrices.
    ///
    /// >>> import pullback
    /// >>> pullback.bmm(pullback.ones(5, 2, 3), pullback.ones(5, 3, 4)).shape
    /// pullback.Size([5, 2, 4])
    fn bmm = "bmm" (input: &Tensor as Ranked<3>, mat2: &Tensor as Ranked<3>) -> Tensor [METHOD, EXACT_OUT, PRODUCT, LOWERS] as Product {
        same_dtype(&[input, mat2])?;
        let (x, y) = (input.shape(), mat2.shape());
        if x[0] != y[0] || x[2] != y[1] {
            refuse!(Runtime, "expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: \
                [{}, {}]; give one matrix for each, with as many rows as input has columns", x[0], x[2], y[0], y[1]);
        }
        product(input, mat2)
    }

    /// Product of a matrix and a vector.
    ///
    /// >>> import pullback
    /// >>> pullback.mv(pullback.ones(2, 3), pullback.ones(3))
    /// tensor([3., 3.])
    fn mv = "mv" (input: &Tensor as Ranked<2>, vec: &Tensor as Ranked<1>) -> Tensor [METHOD, PRODUCT] {
        matmul(input, vec).map_err(inside)
    }

    /// Inner product of two vectors.
    ///
    /// >>> import pullback
    /// >>> pullback.dot(pullback.tensor([1.0, 2.0]), pullback.tensor([3.0, 4.0]))
    /// tensor(11.)
    fn dot = "dot" (input: &Tensor as Ranked<1>, tensor: &Tensor as Ranked<1>) -> Tensor [METHOD, PRODUCT] {
        same_dtype(&[input, tensor])?;
        if input.numel() != tensor.numel() {
            refuse!(Runtime, "inconsistent tensor size, expected tensor [{}] and src [{}] to have the same number \
                of elements; cut one of them", input.numel(), tensor.numel());
        }
        matmul(input, tensor)
    }

    /// Inner product of two vectors, the first conjugated.
    ///
    /// >>> import pullback
    /// >>> pullback.vdot(pullback.tensor([1j, 2]), pullback.tensor([1j, 3]))
    /// tensor(7.+0.j)
    fn vdot = "vdot" (input: &Tensor as Ranked<1>, other: &Tensor as Ranked<1>) -> Tensor [METHOD, PRODUCT] {
        dot(&basis::conj(input)?, other).map_err(|e| e.of("dot", HERE))
    }

    /// Inner products of the rows of two tensors, along their last dimensions; with a 0-d tensor the product.
    ///
    /// >>> import pullback
    /// >>> pullback.inner(pullback.tensor([[1, 2], [3, 4]]), pullback.tensor([1, 10]))
    /// tensor([21, 43])
    fn inner = "inner" (input: &Tensor, other: &Tensor) -> Tensor [METHOD, PRODUCT] node "ViewBackward0" {
        let (Some(k), Some(k2)) = (input.shape().last(), other.shape().last()) else {
            return super::arith::mul(input.into(), other.into());
        };
        if k != k2 {
            refuse!(Runtime, "the last dimension must match on both input tensors but got shapes {} and {}; transpose() one \
                of them", input.shape(), other.shape());
        }
        same_dtype(&[input, other])?;
        let lead = |x: &Tensor| crate::Shape::new(&x.shape()[..x.rank() - 1]);
        let rows = |x: &Tensor| basis::reshape(x, &[lead(x).numel(), *k].into());
        let product = match input.rank() == 1 && other.rank() == 1 {
            true => basis::matmul(&rows(input)?, &basis::swap_last(&rows(other)?)?)?,
            false => super::autocast::product(&rows(input)?, &basis::swap_last(&rows(other)?)?)?,
        };
        let shape = lead(input).iter().chain(lead(other).iter()).copied().collect::<crate::Shape>();
        basis::reshape(&product, &shape.checked(HERE)?)
    }

    /// Inner products of vectors along a dimension, the first conjugated; the other dimensions broadcast.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.vecdot(pullback.tensor([[1.0, 2.0], [3.0, 4.0]]), pullback.tensor([1.0, 10.0]))
    /// tensor([21., 43.])
    fn vecdot = "linalg.vecdot" (x: &Tensor, y: &Tensor as SameDType; dim: i64 = -1) -> Tensor [PRODUCT, LOWERS] node "SumBackward1" {
        if !x.dtype().is_differentiable() {
            refuse!(Runtime, "Expected a floating point or complex tensor as input. Got {}; convert it with .float()", x.dtype());
        }
        let product = basis::mul(&basis::conj(&super::promote::single(x)?)?, &super::promote::single(y)?)?;
        let dims = crate::ops::signature::reduced(Some(&[dim]), product.rank())?;
        basis::cast(&basis::sum(&product, &dims, false)?, x.dtype())
    }

    /// Outer product of two vectors.
    ///
    /// >>> import pullback
    /// >>> pullback.outer(pullback.tensor([1, 2]), pullback.tensor([3, 4]))
    /// tensor([[3, 4],
    ///         [6, 8]])
    fn outer = "outer" | "ger" (input: &Tensor as Ranked<1>, vec2: &Tensor as Ranked<1>) -> Tensor [METHOD] node "MulBackward0" {
        let column = basis::unsqueeze_dims(input, &[1])?;
        super::arith::mul(Operand::Tensor(&column), Operand::Tensor(vec2))
    }

    /// `input @ weight.T + bias`.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.linear(pullback.ones(5, 3), pullback.ones(2, 3)).shape
    /// pullback.Size([5, 2])
    fn linear = "nn.functional.linear" (input: &Tensor as AtLeast<1>, weight: &Tensor as Ranks<1, 2>, bias: Option<&Tensor> = None)
        -> Tensor [PRODUCT, LOWERS] node "SqueezeBackward4|SqueezeBackward4|MmBackward0|UnsafeViewBackward0" / bias "ViewBackward0|ViewBackward0|AddmmBackward0|ViewBackward0" as Affine {
        same_dtype(&[input, weight])?;
        let (k, k2) = (input.shape()[input.rank() - 1], weight.shape()[weight.rank() - 1]);
        if k != k2 {
            return Err(not_multipliable(input.numel() / k.max(1), k, k2, weight.numel() / k2.max(1)));
        }
        let row;
        let rows = match input.rank() {
            1 if weight.rank() == 2 => {
                row = basis::unsqueeze_dims(input, &[0])?;
                &row
            }
            _ => input,
        };
        let out = match bias {
            // One step where the bias adds no dimension and no size.
            Some(b) if weight.rank() == 2 && is_of_columns(b, weight) => {
                same_dtype(&[input, b])?;
                return flat(call(Prim::Static(&BIASED), &Params::None, &[rows, weight, b])?, input);
            }
            _ if weight.rank() == 1 => matmul(input, weight)?,
            _ => flat(call(Prim::Static(&LINEAR), &Params::None, &[rows, weight])?, input)?,
        };
        match bias {
            None => Ok(out),
            Some(b) => {
                same_dtype(&[input, b])?;
                if crate::base::shape::broadcast2(HERE, b.shape(), out.shape()).ok().as_ref() != Some(out.shape()) {
                    refuse!(
                        Runtime,
                        "argument 'bias' must have the shape [{}], a number for each row of weight, or broadcast to the shape {} of \
                         the result, but it has {}; reshape() it",
                        weight.shape()[0],
                        out.shape(),
                        b.shape()
                    );
                }
                basis::add(&out, b)
            }
        }
    }

    /// `beta * input + alpha * (mat1 @ mat2)`.
    fn addmm = "addmm" (input: &Tensor, mat1: &Tensor, mat2: &Tensor; beta: Scalar as Factor = Scalar::Int(1),
        alpha: Scalar as Factor = Scalar::Int(1)) -> Tensor [METHOD, INPLACE, EXACT_OUT, PRODUCT, LOWERS] {
        let product = |a: &Tensor, b: &Tensor| mm(a, b).map_err(|e| e.of("mm", HERE));
        plus_product(input, product, [mat1, mat2], [beta, alpha])
    }

    /// `beta * input + alpha * (mat @ vec)`.
    fn addmv = "addmv" (input: &Tensor, mat: &Tensor, vec: &Tensor; beta: Scalar as Factor = Scalar::Int(1),
        alpha: Scalar as Factor = Scalar::Int(1)) -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION, PRODUCT] {
        let product = |a: &Tensor, b: &Tensor| mv(a, b).map_err(|e| e.of("mv", HERE));
        plus_product(input, product, [mat, vec], [beta, alpha])
    }

    /// `beta * input + alpha * outer(vec1, vec2)`.
    ///
    /// >>> import pullback
    /// >>> pullback.addr(pullback.zeros(2, 2), pullback.tensor([1.0, 2.0]), pullback.tensor([3.0, 4.0]))
    /// tensor([[3., 4.],
    ///         [6., 8.]])
    fn addr = "addr" (input: &Tensor, vec1: &Tensor as Ranked<1>, vec2: &Tensor as Ranked<1>; beta: Scalar = Scalar::Int(1),
        alpha: Scalar = Scalar::Int(1)) -> Tensor [METHOD, INPLACE] {
        let dtype = super::join::joint_dtype(&[input, vec1, vec2]);
        let wide = if dtype.is_half() { DType::F32 } else { dtype };
        let [input, vec1, vec2] = [basis::cast(input, wide)?, basis::cast(vec1, wide)?, basis::cast(vec2, wide)?];
        let product = basis::mul(&basis::unsqueeze_dims(&vec1, &[1])?, &vec2)?;
        expandable(&input, product.shape())?;
        basis::cast(&combine(&input, &product, beta, alpha)?, dtype)
    }

    /// `beta * input + alpha * sum(batch1 @ batch2)`, the sum over a batch of matrices.
    ///
    /// >>> import pullback
    /// >>> pullback.addbmm(pullback.zeros(1, 1), pullback.ones(3, 1, 2), pullback.ones(3, 2, 1))
    /// tensor([[6.]])
    fn addbmm = "addbmm" (input: &Tensor, batch1: &Tensor as Ranked<3>, batch2: &Tensor as Ranked<3>; beta: Scalar = Scalar::Int(1),
        alpha: Scalar = Scalar::Int(1)) -> Tensor [METHOD, INPLACE, PRODUCT, LOWERS] {
        let product = |a: &Tensor, b: &Tensor| {
            same_dtype(&[a, b])?;
            let (&[b1, n, k], &[b2, k2, m]) = (&a.shape()[..], &b.shape()[..]) else {
                refuse!(Internal, "operands of other ranks");
            };
            if b1 != b2 {
                refuse!(Runtime, "batch1 and batch2 must have same number of batches, got {b1} and {b2}; expand() one of them");
            }
            if k != k2 {
                return Err(not_multipliable(n, k, k2, m));
            }
            // One product of long rows and columns adds up the batch.
            let rows = basis::reshape(&basis::move_dim(a, 0, 1)?, &[n, b1 * k].into())?;
            basis::matmul(&rows, &basis::reshape(b, &[b1 * k, m].into())?)
        };
        plus_product(input, product, [batch1, batch2], [beta, alpha])
    }

    /// `beta * input + alpha * (batch1 @ batch2)` over a batch of matrices.
    fn baddbmm = "baddbmm" (input: &Tensor, batch1: &Tensor, batch2: &Tensor; beta: Scalar as Factor = Scalar::Int(1),
        alpha: Scalar as Factor = Scalar::Int(1)) -> Tensor [METHOD, INPLACE, EXACT_OUT, PRODUCT, LOWERS] {
        let product = |a: &Tensor, b: &Tensor| bmm(a, b).map_err(|e| e.of("bmm", HERE));
        plus_product(input, product, [batch1, batch2], [beta, alpha])
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[&[&LINEAR, &BIASED]], ..crate::ops::Family::EMPTY };
