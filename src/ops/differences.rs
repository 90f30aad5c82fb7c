//! Differences of neighbours, derivatives and integrals by them.

use super::promote::{common_dtype, single};
use super::promoted::{add, div, mul, sub};
use super::value::{Operand, Value};
use crate::base::{DType, Result, Scalar, Shape};
use crate::core::Tensor;
use crate::core::params::Dims;
use crate::ops::signature::{Dim, HERE, MemberDim, SomeDimensions};
use crate::rules::basis::{self, cast, slice};

/// All elements along a dimension but `before` at its front and `after` at its end.
fn within(x: &Tensor, dim: usize, before: usize, after: usize) -> Result<Tensor> {
    slice(x, dim, before, x.shape()[dim].saturating_sub(before.saturating_add(after)), 1)
}

/// The differences of neighbours, one fewer than there are elements.
pub(super) fn stepped(x: &Tensor, dim: usize) -> Result<Tensor> {
    if x.shape()[dim] == 0 {
        return Ok(x.clone());
    }
    let (late, early) = (within(x, dim, 1, 0)?, within(x, dim, 0, 1)?);
    if x.dtype() == DType::Bool { super::compare::ne(&late, &early) } else { sub(&late, &early) }
}

/// The sums of neighbours.
fn pairs(x: &Tensor, dim: usize) -> Result<Tensor> {
    add(&within(x, dim, 1, 0)?, &within(x, dim, 0, 1)?)
}

/// Integrates by the trapezoidal rule: of all pieces, or so far.
struct Trapezoids<'a> {
    x: Option<&'a Tensor>,
    dx: Option<Operand<'a>>,
    dim: usize,
}

impl Trapezoids<'_> {
    /// Twice the areas of the pieces.
    fn areas(&self, y: &Tensor) -> Result<Tensor> {
        for (name, t) in [("y", Some(y)), ("x", self.x)] {
            if t.is_some_and(|t| t.dtype() == DType::Bool) {
                refuse!(
                    Runtime,
                    "received a bool input for `{name}`, but bool is not supported; convert it with .float()"
                );
            }
        }
        let Some(x) = self.x else {
            let dx = self.dx.unwrap_or(Operand::Number(Scalar::Int(1)));
            return mul(&pairs(y, self.dim)?, dx);
        };
        if self.dx.is_some() {
            refuse!(
                Type,
                "arguments 'x' and 'dx' exclude each other; give the places in 'x' or their distance in 'dx'"
            );
        }
        mul(&stepped(&self.places(x, y)?, self.dim_of(x, y))?, &pairs(y, self.dim)?)
    }

    /// The places of samples in a form that broadcasts with them.
    fn places(&self, x: &Tensor, y: &Tensor) -> Result<Tensor> {
        let n = y.shape()[self.dim];
        let x = match x.rank() {
            1 => {
                let column = Shape::new(&vec![1; y.rank()]).with(self.dim, x.numel());
                basis::reshape(x, &column)?
            }
            r if r < y.rank() => {
                let mut shape = Shape::new(&vec![1; y.rank() - r]);
                x.shape().iter().for_each(|&n| shape.push(n));
                basis::reshape(x, &shape)?
            }
            _ => x.clone(),
        };
        let d = self.dim_of(&x, y);
        if x.shape().get(d) != Some(&n) {
            refuse!(
                Runtime,
                "There must be one `x` value for each sample point, but there are {} for {n} along dimension {}; give one \
                 for each",
                x.shape().get(d).copied().unwrap_or(0),
                self.dim
            );
        }
        Ok(x)
    }

    /// The dimension in `x`, which may have more of them in front.
    fn dim_of(&self, x: &Tensor, y: &Tensor) -> usize {
        self.dim + x.rank().max(y.rank()) - y.rank()
    }
}

/// Half of a result, as a float of the dtype that samples and places have together; half precision is computed in single.
fn halved(areas: &Tensor, y: &Tensor, x: Option<&Tensor>) -> Result<Tensor> {
    let half = div(areas, 2)?;
    let dtype = x.map_or(y.dtype(), |x| common_dtype(x.into(), y.into()));
    if dtype.is_half() { cast(&half, dtype) } else { Ok(half) }
}

/// The places of samples along one dimension.
fn place(v: &Value) -> Result<&Tensor> {
    match v {
        Value::Tensor(t) => Ok(t),
        other => refuse!(
            Type,
            "argument 'spacing' must be a number, or a sequence of numbers or of tensors, but it holds {}",
            other.type_name()
        ),
    }
}

/// How far apart samples are along each dimension.
enum Spacing<'a> {
    Number(Operand<'a>),
    Numbers(Vec<Operand<'a>>),
    Places(Vec<&'a Tensor>),
}

fn spacing(v: &Value) -> Result<Spacing<'_>> {
    let number = |v: &'_ Value| match v {
        Value::Number(n) => Some(*n),
        Value::Int(i) => Some(Scalar::Int(*i)),
        Value::Float(x) => Some(Scalar::Float(*x)),
        _ => None,
    };
    match v {
        Value::None | Value::Missing => Ok(Spacing::Number(Operand::Number(Scalar::Int(1)))),
        Value::Tensor(t) if t.rank() == 0 => Ok(Spacing::Number(t.into())),
        Value::List(items) | Value::Tuple(items) if items.iter().all(|i| number(i).is_some()) => {
            Ok(Spacing::Numbers(items.iter().filter_map(number).map(Operand::Number).collect()))
        }
        Value::List(items) | Value::Tuple(items) => items.iter().map(place).collect::<Result<_>>().map(Spacing::Places),
        v => match number(v) {
            Some(n) => Ok(Spacing::Number(Operand::Number(n))),
            None => refuse!(
                Type,
                "argument 'spacing' must be a number, or a sequence of numbers or of tensors, not {}",
                v.type_name()
            ),
        },
    }
}

/// Derivatives along one dimension of samples `h` apart.
fn even_gradient(f: &Tensor, dim: usize, h: Operand<'_>, edge_order: i64) -> Result<Tensor> {
    let n = f.shape()[dim];
    let at = |i: usize| slice(f, dim, i, 1, 1);
    let centre = div(&div(&sub(&within(f, dim, 2, 0)?, &within(f, dim, 0, 2)?)?, h)?, 2)?;
    // The parabola through three samples, or the line through two; signs turn with the direction.
    let edge = |near: usize, next: usize, far: usize, sign: f64| -> Result<Tensor> {
        let rise = match edge_order {
            1 => sub(&at(next)?, &at(near)?)?,
            _ => add(&add(&mul(&at(near)?, -1.5)?, &mul(&at(next)?, 2.0)?)?, &mul(&at(far)?, -0.5)?)?,
        };
        div(&if sign < 0.0 { mul(&rise, -1)? } else { rise }, h)
    };
    let far = |i: usize| i.min(n - 1);
    joined([edge(0, 1, far(2), 1.0)?, centre, edge(n - 1, n - 2, n.saturating_sub(3), -1.0)?], dim)
}

/// The three parts joined, in the dtype of all.
fn joined(parts: [Tensor; 3], dim: usize) -> Result<Tensor> {
    let [first, centre, last] = &parts;
    let dtype = first.dtype();
    basis::cat(&[first, &cast(centre, dtype)?, &cast(last, dtype)?], dim)
}

/// Derivatives along one dimension of samples at these places.
fn placed_gradient(f: &Tensor, dim: usize, places: &Tensor, edge_order: i64) -> Result<Tensor> {
    let n = f.shape()[dim];
    if places.shape()[..] != [n] {
        refuse!(
            Runtime,
            "expected a vector of {n} places in 'spacing' for dimension {dim}, one for each sample, but it has the shape {}; \
             give as many",
            places.shape()
        );
    }
    let column = Shape::new(&vec![1; f.rank()]).with(dim, n - 1);
    let h = basis::reshape(&stepped(places, 0)?, &column)?;
    let at = |i: usize| slice(f, dim, i, 1, 1);
    let step = |i: usize| slice(&h, dim, i, 1, 1);
    let centre = parabola(f, dim, &h, Place::Middle)?;
    if edge_order == 1 {
        let edge = |i: usize| div(&sub(&at(i + 1)?, &at(i)?)?, &step(i)?);
        return joined([edge(0)?, centre, edge(n - 2)?], dim);
    }
    let part = |i: usize, place: Place| parabola(&slice(f, dim, i, 3, 1)?, dim, &slice(&h, dim, i, 2, 1)?, place);
    joined([part(0, Place::First)?, centre, part(n - 3, Place::Last)?], dim)
}

/// One of three neighbours.
enum Place {
    First,
    Middle,
    Last,
}

/// The slopes of the parabola through each three neighbours, `h` apart, at one of them: a sum of the three with weights, so
/// that these have the precision of the places.
fn parabola(f: &Tensor, dim: usize, h: &Tensor, place: Place) -> Result<Tensor> {
    let (h1, h2) = (&within(h, dim, 0, 1)?, &within(h, dim, 1, 0)?);
    let whole = &add(h1, h2)?;
    let negative = |x: &Tensor| mul(x, -1);
    let (a, b, c) = match place {
        Place::First => (negative(&add(&mul(h1, 2)?, h2)?)?, whole.clone(), negative(h1)?),
        Place::Middle => (negative(h2)?, sub(h2, h1)?, h1.clone()),
        Place::Last => (h2.clone(), negative(whole)?, add(&mul(h2, 2)?, h1)?),
    };
    let weighted = |i: usize, over: &Tensor, by: &Tensor, to: &Tensor| -> Result<Tensor> {
        mul(&div(over, &mul(by, to)?)?, &within(f, dim, i, 2 - i)?)
    };
    add(&add(&weighted(0, &a, h1, whole)?, &weighted(1, &b, h1, h2)?)?, &weighted(2, &c, h2, whole)?)
}

ops! { TABLE:
    /// Differences of neighbours along a dimension, `n` times over, with `prepend` in front and `append` behind. Those of
    /// bools say where they change.
    ///
    /// >>> import pullback
    /// >>> pullback.diff(pullback.tensor([1, 4, 2]))
    /// tensor([ 3, -2])
    fn diff = "diff" (input: &Tensor, n: i64 = 1, dim: i64 as Dim = -1, prepend: Option<&Tensor> = None, append: Option<&Tensor> = None)
        -> Tensor [METHOD] node "SubBackward0" {
        if input.rank() == 0 {
            refuse!(Runtime, "expects input to be at least one-dimensional; add a dimension with unsqueeze(0)");
        }
        if n < 0 {
            refuse!(Runtime, "order must be non-negative but got {n}; give the number of times in 'n'");
        }
        for t in [prepend, append].into_iter().flatten() {
            if t.rank() != input.rank() {
                refuse!(Runtime, "expects prepend or append to be the same dimension as input, but they have {} and {} \
                    dimensions; add some with unsqueeze()", t.rank(), input.rank());
            }
        }
        if n == 0 {
            return basis::copy_in_order(input);
        }
        let mut x = input.clone();
        if prepend.is_some() || append.is_some() {
            let parts: Vec<&Tensor> = [prepend, Some(input), append].into_iter().flatten().collect();
            x = super::join::cat(parts, dim as i64)?;
        }
        let times = (n as u64).min(x.shape()[dim] as u64);
        (0..times).try_fold(x, |x, _| stepped(&x, dim))
    }

    /// The integral along a dimension by the trapezoidal rule, of samples at the places `x` or `dx` apart.
    ///
    /// >>> import pullback
    /// >>> pullback.trapezoid(pullback.tensor([1.0, 2.0, 3.0]))
    /// tensor(4.)
    fn trapezoid = "trapezoid" | "trapz" (y: &Tensor, x: Option<&Tensor> = None; dx: Option<Operand<'_>> = None, dim: i64 as MemberDim = -1)
        -> Tensor [NO_OUT] node "DivBackward1" {
        let areas = Trapezoids { x, dx, dim }.areas(&single(y)?)?;
        // Places may have more dimensions in front.
        let d = dim + areas.rank() - y.rank();
        halved(&basis::sum(&super::reduce::accumulated(&areas, None)?, &[d], false)?, y, x)
    }

    /// The integral so far, one fewer than there are samples.
    ///
    /// >>> import pullback
    /// >>> pullback.cumulative_trapezoid(pullback.tensor([1.0, 2.0, 3.0]))
    /// tensor([1.5000, 4.0000])
    fn cumulative_trapezoid = "cumulative_trapezoid" (y: &Tensor, x: Option<&Tensor> = None; dx: Option<Operand<'_>> = None,
        dim: i64 as MemberDim = -1) -> Tensor [NO_OUT] node "DivBackward1" {
        let areas = Trapezoids { x, dx, dim }.areas(&single(y)?)?;
        let d = dim + areas.rank() - y.rank();
        halved(&super::sorting::cumsum(&areas, d as i64, None)?, y, x)
    }

    /// Derivatives of a function along dimensions, from its samples: central differences inside, at the edges lines
    /// (`edge_order` 1) or parabolas (2). `spacing` is the distance of samples, one for each dimension, or a vector of places
    /// for each.
    ///
    /// >>> import pullback
    /// >>> pullback.gradient(pullback.tensor([1.0, 4.0, 9.0]))
    /// (tensor([3., 4., 5.]),)
    fn gradient = "gradient" (input: &Tensor; spacing: &Value = &Value::None, dim: &Value as SomeDimensions = &Value::None,
        edge_order: i64 = 1) -> Vec<Tensor> [NO_OUT] node "CatBackward0" {
        let spacing = self::spacing(spacing)?;
        if !matches!(edge_order, 1 | 2) {
            refuse!(Runtime, "only supports edge_order=1 and edge_order=2, but got {edge_order}; give one of them");
        }
        if input.dtype() == DType::U8 {
            refuse!(Runtime, "does not support uint8 input, whose differences wrap; convert it with .float()");
        }
        let dims: Dims = dim.unwrap_or_else(|| (0..input.rank()).collect());
        let given = match &spacing {
            Spacing::Number(_) => dims.len(),
            Spacing::Numbers(v) => v.len(),
            Spacing::Places(v) => v.len(),
        };
        if given != dims.len() {
            refuse!(Runtime, "expected spacing to be unspecified, a scalar, or a list of length {}, one for each dimension, \
                but got a list of length {given}; give as many, or name dimensions in 'dim'", dims.len());
        }
        if let Some(&d) = dims.iter().find(|&&d| (input.shape()[d] as u64) < edge_order as u64 + 1) {
            refuse!(Runtime, "expected each dimension size to be at least edge_order+1, but dimension {d} has size {}; give \
                more samples, or other dimensions in 'dim'", input.shape()[d]);
        }
        let along = |(i, &d): (usize, &usize)| match &spacing {
            Spacing::Number(h) => even_gradient(input, d, *h, edge_order),
            Spacing::Numbers(v) => even_gradient(input, d, v[i], edge_order),
            Spacing::Places(v) => placed_gradient(input, d, v[i], edge_order),
        };
        dims.iter().enumerate().map(along).collect()
    }

    /// The tensor summed over dimensions until it has this size, from which it could be broadcast.
    ///
    /// >>> import pullback
    /// >>> pullback.tensor([[1, 2], [3, 4]]).sum_to_size(1, 2)
    /// tensor([[4, 6]])
    fn sum_to_size = "Tensor.sum_to_size" (input: &Tensor, size: &[i64]) -> Tensor
        [METHOD, NOT_FUNCTION, VARIADIC, SAME_OBJECT] node "SumBackward1" {
        let want = super::shape::sizes(HERE, size)?;
        let lead = input.rank().checked_sub(want.rank());
        let fits = |lead: usize| input.shape()[lead..].iter().zip(want.iter()).all(|(&n, &w)| w == n || w == 1);
        if !lead.is_some_and(fits) {
            refuse!(Runtime, "size {want} is not expandable to size {}; give the same sizes, or 1", input.shape());
        }
        if &want == input.shape() && (want.rank() > 0 || input.dtype().is_differentiable()) {
            return if want.rank() > 0 { Ok(input.clone()) } else { basis::copy_in_order(input) };
        }
        basis::unbroadcast(super::reduce::accumulated(input, None)?, &want)
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family { entries: &[TABLE], ..crate::ops::Family::EMPTY };
