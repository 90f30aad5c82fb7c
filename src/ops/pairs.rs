//! Sums of powers of the differences of all pairs of rows, as distances are made of: closed under derivatives.
//!
//! NOTE. All of these are slopes of `T = Σ g[i, j] s[i, m] t[j, m] f(a[i, m] - b[j, m])` with a power f: along g
//! ([`SUMS`]), along s ([`SHARES`]), and along t, which is `SHARES` with the roles of both sides exchanged. What they are in a
//! and b is the same with the next derivative of f.

use super::arith::pow_same;
use super::compare::eq;
use super::unary::{abs, sqrt};
use crate::bail;
use crate::base::{DType, Result, Shape};
use crate::core::params::{fields, parameters};
use crate::core::primitive::Saves;
use crate::core::{Mask, Meta, Params, Point, Prim, Primitive, Tangents, Tensor, call};
use crate::dense::pairs as kernels;
use crate::rules::basis::{self, add_into, mul, neg, number, sub, swap_last, where_};
use crate::rules::{General, Opaque, OpaqueBatch, batching, index, shapes};
use smallvec::{SmallVec, smallvec};

/// See [`kernels::Power`].
#[derive(Debug, Clone, Copy)]
struct Power {
    p: f64,
    order: usize,
}

fields! { struct Power { p, order } }
parameters! { Power = "power of differences" }

impl Power {
    fn of(p: &Params) -> kernels::Power {
        let Power { p, order } = *p.get::<Power>();
        kernels::Power { p, order }
    }
}

fn parameters(power: kernels::Power) -> Params {
    Params::other(Power { p: power.p, order: power.order })
}

/// The shapes [..., P, M] and [..., R, M] of points, for arguments that belong together: `first` has the shape of `a`, or is
/// [..., P, R].
fn points<'a>(p: &Params, args: &'a [Meta], of_pairs: bool) -> Result<[&'a Meta; 2]> {
    let [first, t, a, b] = args else { bail!(Internal, "cdist(): {} arguments", args.len()) };
    let (Some((lead_a, [rows, m])), Some((lead_b, [columns, n]))) =
        (a.shape.split_last_chunk(), b.shape.split_last_chunk())
    else {
        bail!(Internal, "cdist(): points of shapes {} and {}", a.shape, b.shape)
    };
    let want = if of_pairs { Shape::new(lead_a).append(*rows).append(*columns) } else { a.shape.clone() };
    let fits = lead_a == lead_b && m == n && first.shape == want && t.shape == b.shape;
    if !fits || args.iter().any(|x| x.dtype != a.dtype) || !a.dtype.is_float() || Power::of(p).order > 1000 {
        bail!(Internal, "cdist(): {first:?} and {t:?} do not fit points {a:?} and {b:?}");
    }
    Ok([a, b])
}

/// `-x` if asked for.
fn signed(negative: bool, x: Tensor) -> Result<Tensor> {
    if negative { neg(&x) } else { Ok(x) }
}

fn sums(power: kernels::Power, s: &Tensor, t: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if power.vanishes() {
        return basis::full(&a.shape().with(a.rank() - 1, b.shape()[b.rank() - 2]), a.dtype(), 0.0);
    }
    call(Prim::Static(&SUMS), &parameters(power), &[s, t, a, b])
}

fn shares(power: kernels::Power, g: &Tensor, t: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if power.vanishes() {
        return basis::full(a.shape(), a.dtype(), 0.0);
    }
    call(Prim::Static(&SHARES), &parameters(power), &[g, t, a, b])
}

/// [`shares`] of the other side: `Σ_i g[i, j] s[i, m] f(a[i, m] - b[j, m])`.
fn shares_below(power: kernels::Power, g: &Tensor, s: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    signed(power.is_odd(), shares(power, &swap_last(g)?, s, b, a)?)
}

fn total(parts: SmallVec<[Tensor; 4]>) -> Result<Tangents> {
    let sum = parts.into_iter().map(Ok).reduce(|x, y| add_into(x?, &y?)).transpose()?;
    Ok(smallvec![sum])
}

/// The four arguments that both operators have.
fn read<'a>(point: &Point<'a>) -> Result<[&'a Tensor; 4]> {
    Ok([point.input(0)?, point.input(1)?, point.input(2)?, point.input(3)?])
}

const ALL: Saves = Saves { inputs: 0b1111, outputs: 0 };

/// `Σ_m s[i, m] t[j, m] f(a[i, m] - b[j, m])` of s, t, a and b.
static SUMS: General = General {
    name: "cdist",
    infer: |p, args| {
        let [a, b] = points(p, args, false)?;
        let rank = a.shape.rank();
        shapes::one(a.dtype, a.shape.with(rank - 1, b.shape[rank - 2]))
    },
    eval: |p, args| {
        let [s, t, a, b] = [args[0].array()?, args[1].array()?, args[2].array()?, args[3].array()?];
        Ok(smallvec![kernels::sums(Power::of(p), [s, t], [a, b])?.into()])
    },
    saves: |_, _| ALL,
    jvp: |_, p, point, tangents| {
        let (f, [s, t, a, b]) = (Power::of(p), read(point)?);
        let mut parts = SmallVec::new();
        if let Some(ds) = tangents[0] {
            parts.push(sums(f, ds, t, a, b)?);
        }
        if let Some(dt) = tangents[1] {
            parts.push(sums(f, s, dt, a, b)?);
        }
        if let Some(da) = tangents[2] {
            parts.push(sums(f.slope(), &mul(s, da)?, t, a, b)?);
        }
        if let Some(db) = tangents[3] {
            parts.push(neg(&sums(f.slope(), s, &mul(t, db)?, a, b)?)?);
        }
        total(parts)
    },
    vjp: |_, p, point, g, needs| {
        let [Some(g)] = g else { return Ok(SmallVec::new()) };
        let (f, [s, t, a, b]) = (Power::of(p), read(point)?);
        each(
            needs,
            [
                &|| shares(f, g, t, a, b),
                &|| shares_below(f, g, s, a, b),
                &|| mul(s, &shares(f.slope(), g, t, a, b)?),
                &|| neg(&mul(t, &shares_below(f.slope(), g, s, a, b)?)?),
            ],
        )
    },
    batch: batching::leading,
};

/// `Σ_j g[i, j] t[j, m] f(a[i, m] - b[j, m])` of g, t, a and b.
static SHARES: General = General {
    name: "cdist:shares",
    infer: |p, args| {
        let [a, _] = points(p, args, true)?;
        shapes::one(a.dtype, a.shape.clone())
    },
    eval: |p, args| {
        let [g, t, a, b] = [args[0].array()?, args[1].array()?, args[2].array()?, args[3].array()?];
        Ok(smallvec![kernels::shares(Power::of(p), [g, t], [a, b])?.into()])
    },
    saves: |_, _| ALL,
    jvp: |_, p, point, tangents| {
        let (f, [g, t, a, b]) = (Power::of(p), read(point)?);
        let mut parts = SmallVec::new();
        if let Some(dg) = tangents[0] {
            parts.push(shares(f, dg, t, a, b)?);
        }
        if let Some(dt) = tangents[1] {
            parts.push(shares(f, g, dt, a, b)?);
        }
        if let Some(da) = tangents[2] {
            parts.push(mul(da, &shares(f.slope(), g, t, a, b)?)?);
        }
        if let Some(db) = tangents[3] {
            parts.push(neg(&shares(f.slope(), g, &mul(t, db)?, a, b)?)?);
        }
        total(parts)
    },
    vjp: |_, p, point, c, needs| {
        let [Some(c)] = c else { return Ok(SmallVec::new()) };
        let (f, [g, t, a, b]) = (Power::of(p), read(point)?);
        each(
            needs,
            [
                &|| sums(f, c, t, a, b),
                &|| shares_below(f, g, c, a, b),
                &|| mul(c, &shares(f.slope(), g, t, a, b)?),
                &|| neg(&mul(t, &shares_below(f.slope(), g, c, a, b)?)?),
            ],
        )
    },
    batch: batching::leading,
};

fn each(needs: Mask, cotangents: [&dyn Fn() -> Result<Tensor>; 4]) -> Result<Tangents> {
    let wanted = |(i, f): (usize, &&dyn Fn() -> Result<Tensor>)| {
        if needs >> i & 1 == 1 { f().map(Some) } else { Ok(None) }
    };
    cotangents.iter().enumerate().map(wanted).collect()
}

/// The coordinate in which each two rows differ most.
static FARTHEST: Opaque = Opaque {
    name: "cdist:farthest",
    infer: |_, args| {
        let (a, b) = (shapes::first(args)?, shapes::argument(args, 1)?);
        let rank = a.shape.rank();
        shapes::one(DType::I64, a.shape.with(rank - 1, b.shape[rank - 2]))
    },
    eval: |_, args| Ok(smallvec![kernels::farthest(args[0].array()?, args[1].array()?)?.into()]),
    batching: OpaqueBatch::With(batching::leading),
};

/// The p-norms of the differences of all pairs of rows, which have one coordinate at least; where one is 0 its derivative
/// is 0. The leading dimensions are equal.
pub(super) fn distances(a: &Tensor, b: &Tensor, p: f64) -> Result<Tensor> {
    let (dtype, last) = (a.dtype(), a.rank() - 1);
    if dtype.is_half() {
        let wide = |x: &Tensor| basis::cast(x, DType::F32);
        return basis::cast(&distances(&wide(a)?, &wide(b)?, p)?, dtype);
    }
    if p == f64::INFINITY {
        let at = call(Prim::Static(&FARTHEST), &Params::None, &[a, b])?;
        let other = swap_last(&index::gather(b, last, &swap_last(&at)?)?)?;
        return abs(&sub(&index::gather(a, last, &at)?, &other)?);
    }
    // The norm of one number takes no powers.
    let p = if a.shape()[last] == 1 && p > 0.0 { 1.0 } else { p };
    let ones = |x: &Tensor| basis::expand(&basis::full(&Shape::scalar(), dtype, 1.0)?, x.shape());
    let total = sums(kernels::Power { p, order: 0 }, &ones(a)?, &ones(b)?, a, b)?;
    if p == 0.0 || p == 1.0 {
        return Ok(total);
    }
    let none = eq(&total, 0.0)?;
    let safe = where_(&none, &number(&total, 1.0), &total)?;
    let root = if p == 2.0 { sqrt(&safe)? } else { pow_same(&safe, 1.0 / p)? };
    where_(&none, &number(&total, 0.0), &root)
}

static PRIMITIVES: &[&dyn Primitive] = &[&SUMS, &SHARES, &FARTHEST];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    primitives: &[PRIMITIVES],
    parameters: &[crate::core::params::Type::of::<Power>()],
    ..crate::ops::Family::EMPTY
};
