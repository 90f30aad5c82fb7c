//! Norms of vectors and matrices.

use super::arith::{divide_floats, pow_same};
use super::compare::{eq, ne};
use super::promote::single;
use super::random::drawn;
use super::reduce::{amax_over, amin_over};
use super::unary::{abs, sign};
use super::value::Value;
use crate::bail;
use crate::base::{DType, Result, Scalar};
use crate::core::params::Dims;
use crate::core::primitive::Saves;
use crate::core::{Params, Prim, Tensor, call};
use crate::dense::composed;
use crate::dense::pointwise::kernels;
use crate::ops::signature::{AtLeast, Dimensions, NormDType, Reduced, SomeDimensions, real_values};
use crate::rules::basis::{self, cast, number, where_};
use crate::rules::{Partial, Reduction, Weight, shapes};

/// The Euclidean norm; its derivative at 0 is 0.
pub(crate) static NORM: Reduction = Reduction {
    name: "norm",
    infer: |p, a| {
        shapes::pointwise(&kernels::SQRT, &a[..1])?;
        shapes::reduced(p, a)
    },
    eval: |dims, keep, a| composed::norm(a, dims, keep),
    saves: Saves { inputs: 1, outputs: 1 },
    weight: |_, point, y| {
        let Some(y) = y else { bail!(Internal, "norm(): its output was not saved") };
        let zero = eq(y, 0.0)?;
        let safe = where_(&zero, &number(y, 1.0), y)?;
        let mask = ne(y, 0.0)?;
        let value = divide_floats(point.input(0)?, &safe)?;
        Ok(Weight::Where { mask, value })
    },
};

unary! { UNITS, PRIMITIVES:
    /// The norm of one element, which takes no powers; its derivative at 0 is 0, as that of other norms.
    norm_of_one = "norm:one" kernel NORM_OF_ONE [INTERNAL] d[x] Ok(Partial::where_value(&ne(x, 0.0)?, &sign(x)?));
}

fn is_single(x: &Tensor, dims: &[usize]) -> bool {
    dims.iter().all(|&d| x.shape().get(d).is_none_or(|&n| n == 1))
}

fn euclidean(x: &Tensor, dims: &[usize], keep: bool) -> Result<Tensor> {
    if x.dtype().is_complex() {
        return euclidean(&abs(x)?, dims, keep);
    }
    if is_single(x, dims) {
        return squeezed(&norm_of_one(x)?, dims, keep);
    }
    let y = call(Prim::Static(&NORM), &Params::Dims { dims: Dims::from_slice(dims), keep }, &[&single(x)?])?;
    cast(&y, x.dtype())
}

pub(super) fn vector(x: &Tensor, p: f64, dims: &[usize], keep: bool) -> Result<Tensor> {
    if x.dtype().is_complex() {
        return vector(&abs(x)?, p, dims, keep);
    }
    // The only dimension that a 0-d tensor may be asked for is 0.
    let dims = if x.rank() == 0 { &[] } else { dims };
    let empty = dims.iter().any(|&d| x.shape()[d] == 0);
    if empty && (p < 0.0 || p == f64::INFINITY) {
        refuse!(
            Runtime,
            "cannot compute the {p} norm on an empty dimension because the operation has no identity; give it \
            elements, or another order"
        );
    }
    if p == 2.0 {
        return euclidean(x, dims, keep);
    }
    if p == f64::INFINITY {
        return amax_over(&abs(x)?, dims, keep);
    }
    if p == f64::NEG_INFINITY {
        return amin_over(&abs(x)?, dims, keep);
    }
    if p == 0.0 {
        return basis::sum(&drawn(cast(&ne(x, 0.0)?, x.dtype())?, &[x])?, dims, keep);
    }
    if is_single(x, dims) {
        return squeezed(&norm_of_one(x)?, dims, keep);
    }
    let a = abs(x)?;
    if p == 1.0 {
        return basis::sum(&a, dims, keep);
    }
    if a.dtype().is_half() {
        return cast(&powers(&single(&a)?, p, dims, keep)?, a.dtype());
    }
    powers(&a, p, dims, keep)
}

/// `sum(a^p)^(1/p)` of elements that are not negative.
fn powers(a: &Tensor, p: f64, dims: &[usize], keep: bool) -> Result<Tensor> {
    // |x|^p has no finite slope at 0 for p < 1, and its root has none where the sum is 0.
    let zero = eq(a, 0.0)?;
    let safe = where_(&zero, &number(a, 1.0), a)?;
    let raised = pow_same(&safe, p)?;
    let terms = where_(&zero, &number(a, if p > 0.0 { 0.0 } else { f64::INFINITY }), &raised)?;
    let total = basis::sum(&terms, dims, keep)?;
    let none = eq(&total, 0.0)?;
    let rooted = pow_same(&where_(&none, &number(&total, 1.0), &total)?, 1.0 / p)?;
    where_(&none, &number(&total, if p > 0.0 { 0.0 } else { f64::INFINITY }), &rooted)
}

/// Order of a norm: a number or a name.
enum Order<'a> {
    Default,
    P(f64),
    Name(&'a str),
}

/// The order of a norm as a number, which has a size.
pub(super) fn real_order(name: &str, p: Scalar) -> Result<f64> {
    match p {
        Scalar::Complex(z) => {
            refuse!(
                Runtime,
                "Expected a non-complex scalar as the order of norm, but got {name}={z}; give its real part"
            )
        }
        p => Ok(p.as_f64()),
    }
}

fn order(name: &str, v: &Value) -> Result<Order<'static>> {
    Ok(match v {
        Value::None | Value::Missing => Order::Default,
        Value::Int(i) => Order::P(*i as f64),
        Value::Float(x) => Order::P(*x),
        Value::Number(s) => Order::P(real_order(name, *s)?),
        Value::Tensor(t)
            if t.rank() == 0
                && let Some(one) = t.dense() =>
        {
            Order::P(real_order(name, one.item()?)?)
        }
        Value::Str(s) => match &s[..] {
            "fro" => Order::Name("fro"),
            "nuc" => Order::Name("nuc"),
            "inf" => Order::P(f64::INFINITY),
            "-inf" => Order::P(f64::NEG_INFINITY),
            other => refuse!(Runtime, "order {other} is not supported; use a number, 'fro' or 'nuc'"),
        },
        other => refuse!(Type, "argument '{name}' must be a number or str, not {}", other.type_name()),
    })
}

fn of_matrix(x: &Tensor, order: &Order<'_>, dims: &[usize], keep: bool) -> Result<Tensor> {
    let &[rows, cols] = dims else {
        refuse!(Runtime, "a matrix norm needs two dimensions, got {}; name two in 'dim'", dims.len())
    };
    let along = |sum: usize, over: usize, largest: bool| -> Result<Tensor> {
        let s = basis::sum(&abs(x)?, &[sum], true)?;
        let y = if largest { most(&s, over, true)? } else { amin_over(&s, &[over], true)? };
        squeezed(&y, dims, keep)
    };
    let singular = |f: &dyn Fn(&Tensor) -> Result<Tensor>| -> Result<Tensor> {
        let order: Dims = (0..x.rank()).filter(|d| !dims.contains(d)).chain([rows, cols]).collect();
        let values = super::linalg::svdvals(&basis::permute(x, &order)?, super::value::setting::Driver::None)?;
        let y = f(&values)?;
        if keep { basis::unsqueeze_dims(&y, dims) } else { Ok(y) }
    };
    let last = |s: &Tensor| s.rank() - 1;
    match order {
        Order::Default | Order::Name("fro") => euclidean(x, dims, keep),
        Order::Name(_) => singular(&|s| basis::sum(s, &[last(s)], false)),
        Order::P(p) if *p == 2.0 => singular(&|s| most(s, last(s), false)),
        Order::P(p) if *p == -2.0 => singular(&|s| amin_over(s, &[last(s)], false)),
        Order::P(p) if p.abs() == 1.0 => along(rows, cols, *p > 0.0),
        Order::P(p) if p.is_infinite() => along(cols, rows, *p > 0.0),
        Order::P(p) => {
            refuse!(Runtime, "order {p} not supported for matrices; use 1, 2, inf, -1, -2, -inf, 'fro' or 'nuc'")
        }
    }
}

/// The largest of numbers that are not negative: 0 of none.
pub(super) fn most(x: &Tensor, dim: usize, keep: bool) -> Result<Tensor> {
    if x.shape()[dim] == 0 { basis::sum(x, &[dim], keep) } else { amax_over(x, &[dim], keep) }
}

fn squeezed(y: &Tensor, dims: &[usize], keep: bool) -> Result<Tensor> {
    if keep {
        return Ok(y.clone());
    }
    let shape = (0..y.rank()).filter(|d| !dims.contains(d)).map(|d| y.shape()[d]).collect();
    basis::reshape(y, &shape)
}

ops! { TABLE:
    /// A norm: of all elements as a vector, or by `ord` of vectors (one dim) or matrices (two dims).
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.norm(pullback.tensor([3.0, 4.0]))
    /// tensor(5.)
    fn linalg_norm = "linalg.norm" (A: &Tensor | input, ord: &Value = &Value::None, dim: &Value as SomeDimensions = &Value::None,
        keepdim: bool = false; dtype: Option<DType> as NormDType = None) -> Tensor [CUBIC] node "LinalgVectorNormBackward0" {
        let x = cast(A, dtype)?;
        let order = order("ord", ord)?;
        if let Some(d) = &dim
            && d.len() > 2
        {
            refuse!(Runtime, "if dim is specified, it must be of length 1 or 2, got {}; name one or two dimensions", d.len());
        }
        let all: Dims = (0..x.rank()).collect();
        match (&order, dim) {
            (Order::Default, d) => euclidean(&x, &d.unwrap_or(all), keepdim),
            (_, None) if x.rank() == 2 => of_matrix(&x, &order, &all, keepdim),
            (Order::P(p), None) if x.rank() == 1 => vector(&x, *p, &all, keepdim),
            (Order::P(p), Some(d)) if d.len() == 1 => vector(&x, *p, &d, keepdim),
            (_, Some(d)) if d.len() == 2 => of_matrix(&x, &order, &d, keepdim),
            _ => refuse!(Runtime, "if dim is not specified but ord is, the input must be 1D or 2D, got {}D; name \
                its dimensions in 'dim'", x.rank()),
        }
    }

    /// `sum(|x|^ord)^(1/ord)` over dimensions, or over all.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.vector_norm(pullback.tensor([3.0, 4.0]), 1)
    /// tensor(7.)
    fn vector_norm = "linalg.vector_norm" (x: &Tensor | input, ord: Scalar = Scalar::Int(2), dim: Option<&[i64]> as Reduced = None,
        keepdim: bool = false; dtype: Option<DType> as NormDType = None) -> Tensor [] {
        let v = cast(x, dtype)?;
        vector(&v, ord.as_f64(), &dim, keepdim)
    }

    /// A matrix norm over two dimensions: 'fro', 'nuc', or of order 1, 2, inf or their negatives.
    fn matrix_norm = "linalg.matrix_norm" (A: &Tensor as AtLeast<2> | input, ord: &Value = &Value::None, dim: &[i64] as Dimensions = &[-2, -1],
        keepdim: bool = false; dtype: Option<DType> as NormDType = None) -> Tensor [CUBIC] node "LinalgVectorNormBackward0" {
        let x = cast(A, dtype)?;
        of_matrix(&x, &order("ord", ord)?, &dim, keepdim)
    }

    /// The p-norm over dimensions, or over all; 'fro' and 'nuc' are matrix norms.
    ///
    /// >>> import pullback
    /// >>> pullback.norm(pullback.tensor([3.0, 4.0]))
    /// tensor(5.)
    fn norm = "norm" (input: &Tensor, p: &Value = &Value::None, dim: &Value as Reduced = &Value::None, keepdim: bool = false,
        dtype: Option<DType> as NormDType = None) -> Tensor [METHOD] node "LinalgVectorNormBackward0" {
        let x = cast(input, dtype)?;
        match order("p", p)? {
            Order::Default | Order::Name("fro") => euclidean(&x, &dim, keepdim),
            Order::P(p) => vector(&x, p, &dim, keepdim),
            name => of_matrix(&x, &name, &dim, keepdim),
        }
    }

    /// The p-norm of the difference.
    fn dist = "dist" (input: &Tensor, other: &Tensor, p: f64 = 2.0) -> Tensor [METHOD] {
        let d = super::arith::sub(input.into(), other.into(), None)?;
        let dims: Dims = (0..d.rank()).collect();
        vector(if d.dtype().is_complex() { &d } else { real_values(&d)? }, p, &dims, false)
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE, UNITS], primitives: &[PRIMITIVES, &[&NORM]], ..crate::ops::Family::EMPTY };
