//! Pointwise operators of one to three arguments, with broadcasting.

use super::basis;
use super::batching;
use crate::bail;
use crate::base::Result;
use crate::core::primitive::{Saves, no_rule};
use crate::core::{BatchArg, BatchInfo, BatchOut, Mask, Params, Point, Prim, Primitive, Tangents, Tensor, call};
use crate::dense::pointwise::{self, Kernel};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;

/// A partial derivative of the output with respect to one argument.
pub enum Partial {
    /// Constant almost everywhere.
    Zero,
    One,
    MinusOne,
    Value(Tensor),
}

/// What a partial's formula may evaluate to.
pub trait IntoPartial {
    fn into_partial(self) -> Result<Partial>;
}
impl IntoPartial for Partial {
    fn into_partial(self) -> Result<Partial> {
        Ok(self)
    }
}
impl IntoPartial for Result<Tensor> {
    fn into_partial(self) -> Result<Partial> {
        self.map(Partial::Value)
    }
}
impl IntoPartial for Result<Partial> {
    fn into_partial(self) -> Result<Partial> {
        self
    }
}
impl IntoPartial for &Tensor {
    fn into_partial(self) -> Result<Partial> {
        Ok(Partial::Value(self.clone()))
    }
}

/// How to compute a partial, and which values it reads.
pub struct PartialRule {
    pub saves: Saves,
    pub rule: fn(&Point<'_>) -> Result<Partial>,
}

/// A pointwise operator. Arguments have equal dtypes (the first of `where` is bool) and broadcast.
pub struct Pointwise {
    pub name: &'static str,
    pub kernel: &'static Kernel,
    /// One per argument; `None` where a derivative does not exist.
    pub partials: &'static [Option<PartialRule>],
}

impl Pointwise {
    fn partial(&self, i: usize, point: &Point<'_>) -> Result<Partial> {
        match self.partials.get(i) {
            Some(Some(p)) => (p.rule)(point),
            _ => Err(no_rule(self.name, "derivative")),
        }
    }
}

/// `x * ∂`, `None` for zero.
fn times(x: &Tensor, partial: Partial) -> Result<Option<Tensor>> {
    Ok(match partial {
        Partial::Zero => None,
        Partial::One => Some(x.clone()),
        Partial::MinusOne => Some(basis::neg(x)?),
        Partial::Value(d) => Some(basis::mul(x, &d)?),
    })
}

impl Primitive for Pointwise {
    fn name(&self) -> &str {
        self.name
    }

    fn is_elementwise(&self) -> bool {
        true
    }

    #[inline]
    fn eval(&self, _: &Params, args: &[&Tensor]) -> Result<Tensor> {
        Ok(match args {
            [a] => pointwise::unary(self.kernel, a.array()?)?.into(),
            [a, b] => pointwise::binary(self.kernel, a.array()?, b.array()?)?.into(),
            [a, b, c] => pointwise::ternary(self.kernel, a.array()?, b.array()?, c.array()?)?.into(),
            _ => bail!(Internal, "{}(): a pointwise operator has one to three arguments", self.name),
        })
    }

    fn saves(&self, _: &Params, needs: Mask) -> Saves {
        let mut all = Saves::default();
        for (i, p) in self.partials.iter().enumerate() {
            if let Some(p) = p
                && needs >> i & 1 == 1
            {
                all.inputs |= p.saves.inputs;
                all.outputs |= p.saves.outputs;
            }
        }
        all
    }

    fn jvp(&self, _: Prim<'_>, _: &Params, point: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Tangents> {
        let mut sum: Option<Tensor> = None;
        for (i, t) in tangents.iter().enumerate() {
            let Some(t) = t else { continue };
            let Some(term) = times(t, self.partial(i, point)?)? else { continue };
            sum = Some(match sum {
                None => term,
                Some(s) => basis::add(&s, &term)?,
            });
        }
        let out = point.output(0)?.shape();
        Ok(smallvec![match sum {
            Some(s) if s.shape() != out => Some(basis::expand(&s, out)?),
            s => s,
        }])
    }

    fn vjp(
        &self,
        _: Prim<'_>,
        _: &Params,
        point: &Point<'_>,
        cotangents: &[Option<Tensor>],
        needs: Mask,
    ) -> Result<Tangents> {
        let Some(Some(g)) = cotangents.first() else { return Ok(SmallVec::new()) };
        let mut grads = Tangents::new();
        for i in 0..self.partials.len() {
            if needs >> i & 1 == 0 {
                grads.push(None);
                continue;
            }
            let partial = match self.partial(i, point)? {
                Partial::Value(d) => Partial::Value(basis::conj(&d)?),
                p => p,
            };
            grads.push(match times(g, partial)? {
                Some(x) => Some(basis::unbroadcast(&x, point.in_shape(i)?)?),
                None => None,
            });
        }
        Ok(grads)
    }

    fn batch(&self, me: Prim<'_>, params: &Params, args: &[BatchArg<'_>], _: BatchInfo) -> Result<BatchOut> {
        let rank = batching::logical_rank(args);
        let values: SmallVec<[Cow<'_, Tensor>; 3]> =
            args.iter().map(|a| batching::aligned(a, rank)).collect::<Result<_>>()?;
        let refs: SmallVec<[&Tensor; 3]> = values.iter().map(|v| &**v).collect();
        Ok(smallvec![(call(me, params, &refs)?, Some(0))])
    }
}
