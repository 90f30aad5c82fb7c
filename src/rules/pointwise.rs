//! Pointwise operators of one to three arguments, with broadcasting.

use super::{General, basis, batching, shapes};
use crate::bail;
use crate::base::{DType, Result};
use crate::core::primitive::{Saves, no_rule, operator_of};
use crate::core::symbolic::ConstantForm;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Params, Point, Prim, Primitive, Tangents, Tensor, call,
};
use crate::dense::Array;
use crate::dense::pointwise::{self, Elementwise, Kernel, OutDtype};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;

/// A partial derivative of the output with respect to one argument.
pub enum Partial<'a> {
    /// Constant almost everywhere.
    Zero,
    One,
    /// One on each of pieces between which the function jumps.
    Piece,
    MinusOne,
    Value(Tensor),
    /// The reciprocal of a value. Dividing by it is exact to the last bit, and derivatives of the quotient overflow later
    /// than those of a product with the reciprocal.
    Over(Tensor),
    /// One of the values that the rule read.
    Read(&'a Tensor),
    /// 1 where the mask holds. Elsewhere the operator is constant in its argument, so that nothing passes, not even
    /// infinity. Inputs and static parameters decide such a mask, never the value of another partial.
    Where(Tensor),
    /// 1 where the mask does not hold; where it does, the operator is constant.
    Unless(Tensor),
    /// The operator conjugates: its tangent is the conjugate of the argument's.
    Conjugate,
    /// Of an operator that is not holomorphic: the tangent `dx` becomes `a dx + b conj(dx)`.
    Pair(Box<(Tensor, Tensor)>),
    /// A value where the mask holds; elsewhere the operator is constant, and the value does not matter.
    WhereValue(Box<(Tensor, Tensor)>),
}

impl Partial<'_> {
    /// Whether it was computed from what the rule read.
    fn is_computed(&self) -> bool {
        matches!(
            self,
            Partial::Value(_) | Partial::Where(_) | Partial::Unless(_) | Partial::WhereValue(_) | Partial::Pair(_)
        )
    }

    /// `value` where the mask holds.
    pub fn where_value(mask: &Tensor, value: &Tensor) -> Partial<'static> {
        Partial::WhereValue(Box::new((mask.clone(), value.clone())))
    }

    /// `value(x)` where the mask holds, for a function that is constant elsewhere. The formula reads `fallback` there
    /// instead of `x`: its derivatives must not be infinite where they do not count.
    pub fn of(
        mask: Tensor,
        x: &Tensor,
        fallback: f64,
        value: impl Fn(&Tensor) -> Result<Tensor>,
    ) -> Result<Partial<'static>> {
        let safe = basis::where_(&mask, x, &basis::number(x, fallback))?;
        Ok(Partial::WhereValue(Box::new((mask, value(&safe)?))))
    }
}

/// What a partial's formula may evaluate to.
pub trait IntoPartial<'a> {
    fn into_partial(self) -> Result<Partial<'a>>;
}
impl<'a> IntoPartial<'a> for Partial<'a> {
    fn into_partial(self) -> Result<Partial<'a>> {
        Ok(self)
    }
}
impl<'a> IntoPartial<'a> for Result<Tensor> {
    fn into_partial(self) -> Result<Partial<'a>> {
        self.map(Partial::Value)
    }
}
impl<'a> IntoPartial<'a> for Result<Partial<'a>> {
    fn into_partial(self) -> Result<Partial<'a>> {
        self
    }
}
impl<'a> IntoPartial<'a> for &'a Tensor {
    fn into_partial(self) -> Result<Partial<'a>> {
        Ok(Partial::Read(self))
    }
}

/// How to compute a partial, and which values it reads.
pub struct PartialRule {
    pub saves: Saves,
    pub rule: for<'a> fn(&Point<'a>) -> Result<Partial<'a>>,
}

/// A pointwise operator. Arguments have equal dtypes (the first of `where` is bool) and broadcast. Beside half precision
/// some may be in single, as numbers are that half precision would round; the result is in half.
///
/// NOTE complex numbers. A cotangent g stands for the linear form `dx -> Re(conj(g) dx)`, so what is multiplied with a
/// tangent as `p` is multiplied with a cotangent as `conj(p)`. This also holds between real and complex values: of a real
/// function of complex arguments (`abs`) the partial is the p of `dy = Re(p dx)`, of a complex function of real ones it is
/// the derivative. Products are computed in the complex dtype, and what belongs to a real value is their real part. Complex
/// functions that are not holomorphic have a [`Partial::Pair`].
pub struct Pointwise {
    pub name: &'static str,
    pub kernel: &'static Kernel,
    /// One per argument, `None` where a derivative does not exist; empty for constants, such as comparisons.
    pub partials: &'static [Option<PartialRule>],
}

impl Pointwise {
    /// An operator whose results are constants for every derivative.
    pub const fn constant(name: &'static str, kernel: &'static Kernel) -> Pointwise {
        Pointwise { name, kernel, partials: &[] }
    }

    #[inline]
    fn partial<'a>(&self, i: usize, point: &Point<'a>) -> Result<Partial<'a>> {
        match self.partials.get(i) {
            Some(Some(p)) => (p.rule)(point),
            _ => Err(no_rule(operator_of(self.name), "derivative")),
        }
    }
}

impl Pointwise {
    /// The cotangent of argument `i`.
    #[inline(always)]
    fn pull(&self, i: usize, point: &Point<'_>, g: &Tensor) -> Result<Option<Tensor>> {
        if self.kernel.out != OutDtype::Same && point.in_dtype(i)? != g.dtype() {
            return self.pull_across(i, point, g);
        }
        if g.dtype().is_half() {
            return self.pull_half(i, point, g);
        }
        self.pull_same(i, point, g)
    }

    /// As [`Pointwise::pull`] in half precision: slopes of several steps are computed in single precision, and the product
    /// is rounded once.
    #[inline(never)]
    fn pull_half(&self, i: usize, point: &Point<'_>, g: &Tensor) -> Result<Option<Tensor>> {
        let wide = |values: &[Option<&Tensor>]| -> Result<SmallVec<[Option<Tensor>; 3]>> {
            let one = |t: &Tensor| if t.dtype() == g.dtype() { basis::cast(t, DType::F32) } else { Ok(t.clone()) };
            values.iter().map(|t| t.map(one).transpose()).collect()
        };
        let (inputs, outputs) = (wide(point.inputs)?, wide(point.outputs)?);
        let inputs: SmallVec<[Option<&Tensor>; 3]> = inputs.iter().map(Option::as_ref).collect();
        let outputs: SmallVec<[Option<&Tensor>; 3]> = outputs.iter().map(Option::as_ref).collect();
        let (node, residuals, recording) = (point.node, point.residuals, point.recording);
        let point = Point { inputs: &inputs, outputs: &outputs, node, residuals, recording };
        let x = self.pull_same(i, &point, &basis::cast(g, DType::F32)?)?;
        let to = if point.node.is_some() { point.in_dtype(i)? } else { g.dtype() };
        x.map(|x| basis::cast(&x, to)).transpose()
    }

    /// As [`Pointwise::pull`] where one of argument and result is real and the other one complex.
    #[inline(never)]
    fn pull_across(&self, i: usize, point: &Point<'_>, g: &Tensor) -> Result<Option<Tensor>> {
        let to = point.in_dtype(i)?;
        let g = if to.is_complex() { basis::cast(g, to)? } else { g.clone() };
        self.pull_same(i, point, &g)?.map(|x| basis::cast(&x, to)).transpose()
    }

    #[inline(always)]
    fn pull_same(&self, i: usize, point: &Point<'_>, g: &Tensor) -> Result<Option<Tensor>> {
        let partial = self.partial(i, point)?;
        let partial = if g.dtype().is_complex() { conjugated(partial)? } else { partial };
        let links = point.recording && partial.is_computed();
        match times(g, partial)? {
            Some(x) => {
                let x = if links { linked(x, point)? } else { x };
                basis::unbroadcast(x, point.in_shape(i)?).map(Some)
            }
            // The argument took part: its gradient is 0, not missing.
            None => basis::full(point.in_shape(i)?, g.dtype(), 0.0).map(Some),
        }
    }
}

/// `x * ∂`, `None` for zero.
#[inline(always)]
fn times(x: &Tensor, partial: Partial<'_>) -> Result<Option<Tensor>> {
    Ok(match partial {
        Partial::Zero => None,
        Partial::One | Partial::Piece => Some(x.clone()),
        Partial::MinusOne => Some(basis::neg(x)?),
        // The slope was made for this product alone.
        Partial::Value(d) if d.is_large() => Some(basis::mul_into(x, d)?),
        Partial::Value(d) => Some(basis::mul(x, &d)?),
        Partial::Read(d) => Some(basis::mul(x, d)?),
        Partial::Over(d) => Some(basis::div(x, &d)?),
        Partial::Conjugate => Some(basis::conj(x)?),
        Partial::Pair(both) => Some(basis::add(&basis::mul(x, &both.0)?, &basis::mul(&basis::conj(x)?, &both.1)?)?),
        Partial::Where(mask) => Some(basis::keep_where(&mask, x)?),
        Partial::Unless(mask) => Some(basis::clear_where(&mask, x)?),
        Partial::WhereValue(both) => Some(basis::product_where(&both.0, x, &both.1)?),
    })
}

/// As [`times`] for a tangent, where one of argument and result is real and the other one complex.
#[inline(never)]
fn times_across(t: &Tensor, partial: Partial<'_>, to: DType) -> Result<Option<Tensor>> {
    let t = if to.is_complex() { basis::cast(t, to)? } else { t.clone() };
    times(&t, partial)?.map(|x| basis::cast(&x, to)).transpose()
}

/// A slope that is constant on pieces depends on what it was read from, with a derivative of 0: a sweep that records itself
/// says so, so that the gradient can be differentiated again.
#[inline(never)]
fn linked(x: Tensor, point: &Point<'_>) -> Result<Tensor> {
    if x.dense().is_none() {
        return Ok(x);
    }
    let mut read = point.inputs.iter().chain(point.outputs).copied().flatten();
    match read.find(|t| t.dense().is_none() && t.dtype().is_differentiable()) {
        Some(from) => call(Prim::Static(&LINKED), &Params::None, &[&x, from]),
        None => Ok(x),
    }
}

/// The first argument, as a function of both that does not depend on the second.
pub(crate) static LINKED: General = General {
    name: "where:linked",
    infer: shapes::same,
    eval: |_, args| Ok(smallvec![args[0].clone()]),
    saves: |_, _| Saves::default(),
    jvp: |_, _, _, tangents| Ok(smallvec![tangents.first().copied().flatten().cloned()]),
    vjp: |_, _, point, cotangents, needs| {
        let [Some(g)] = cotangents else { return Ok(SmallVec::new()) };
        let zeros = match needs & 2 {
            0 => None,
            _ => Some(basis::full(point.in_shape(1)?, point.in_dtype(1)?, 0.0)?),
        };
        Ok(smallvec![Some(g.clone()), zeros])
    },
    batch: |_, _, args, _| Ok(smallvec![(args[0].value.clone(), args[0].dim)]),
};

/// What a complex cotangent is multiplied with. The partials of real ones are real.
#[inline(never)]
fn conjugated(partial: Partial<'_>) -> Result<Partial<'_>> {
    Ok(match &partial {
        Partial::Value(d) if d.dtype().is_complex() => Partial::Value(basis::conj(d)?),
        Partial::Over(d) if d.dtype().is_complex() => Partial::Over(basis::conj(d)?),
        Partial::Read(d) if d.dtype().is_complex() => Partial::Value(basis::conj(d)?),
        Partial::Pair(both) => Partial::Pair(Box::new((basis::conj(&both.0)?, both.1.clone()))),
        Partial::WhereValue(both) if both.1.dtype().is_complex() => {
            Partial::WhereValue(Box::new((both.0.clone(), basis::conj(&both.1)?)))
        }
        _ => partial,
    })
}

impl Pointwise {
    /// A constant of one value stands as a number that is read again and again.
    #[cold]
    #[inline(never)]
    fn eval_symbolic(&self, args: &[&Tensor]) -> Result<Tensor> {
        let of = |x: &&Tensor| match x.symbolic().map(|s| (s, s.form())) {
            Some((s, ConstantForm::Fill(value))) => {
                Array::scalar(s.dtype(), *value).expand(s.shape()).map(Tensor::from)
            }
            _ => x.array().cloned().map(Tensor::from),
        };
        let args: SmallVec<[Tensor; 3]> = args.iter().map(of).collect::<Result<_>>()?;
        self.eval(&Params::None, &args.iter().collect::<SmallVec<[&Tensor; 3]>>())
    }
}

impl Primitive for Pointwise {
    fn name(&self) -> &str {
        self.name
    }

    fn is_constant(&self) -> bool {
        self.partials.is_empty()
    }

    fn is_elementwise(&self) -> bool {
        true
    }

    fn elementwise(&self, _: &Params) -> Option<Elementwise<'_>> {
        Some(Elementwise::Kernel(self.kernel))
    }

    #[inline]
    fn eval(&self, _: &Params, args: &[&Tensor]) -> Result<Tensor> {
        Ok(match args {
            [a] => match a.in_memory() {
                Some(a) => pointwise::unary(self.kernel, a)?.into(),
                None => self.eval_symbolic(args)?,
            },
            [a, b] => match (a.in_memory(), b.in_memory()) {
                (Some(a), Some(b)) => pointwise::binary(self.kernel, a, b)?.into(),
                _ => self.eval_symbolic(args)?,
            },
            [a, b, c] => match (a.in_memory(), b.in_memory(), c.in_memory()) {
                (Some(a), Some(b), Some(c)) => pointwise::ternary(self.kernel, a, b, c)?.into(),
                _ => self.eval_symbolic(args)?,
            },
            _ => bail!(Internal, "{}(): a pointwise operator has one to three arguments", self.name),
        })
    }

    fn eval_into(&self, params: &Params, own: Tensor, at: usize, others: &[&Tensor]) -> Result<Tensor> {
        // Memory that is not worth taking, of the commonest operators.
        if let (Some(a), [b]) = (own.in_memory(), others)
            && a.numel() * a.dtype().size() < pointwise::LARGE
            && let Some(b) = b.in_memory()
        {
            let (a, b) = if at == 0 { (a, b) } else { (b, a) };
            return pointwise::binary(self.kernel, a, b).map(Tensor::from);
        }
        let arrays: Option<SmallVec<[&Array; 3]>> = others.iter().map(|a| a.in_memory()).collect();
        let own = match (own.into_array(), arrays) {
            (Ok(array), Some(others)) => {
                return pointwise::apply_into(self.kernel, array, at, &others).map(Tensor::from);
            }
            (Ok(array), None) => array.into(),
            (Err(own), _) => own,
        };
        let mut args: SmallVec<[&Tensor; 3]> = SmallVec::from_slice(others);
        args.insert(at, &own);
        self.eval(params, &args)
    }

    fn infer(&self, _: &Params, args: &[Meta]) -> Result<Inferred> {
        shapes::pointwise(self.kernel, args)
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

    fn is_affine(&self, _: &Params, args: Mask) -> bool {
        if self.is_constant() {
            return false;
        }
        let nowhere = Point { inputs: &[], outputs: &[], node: None, residuals: &[], recording: false };
        self.partials.iter().enumerate().filter(|(i, _)| args >> i & 1 == 1).all(|(_, p)| match p {
            Some(p) if p.saves == Saves::default() => {
                matches!(
                    (p.rule)(&nowhere),
                    Ok(Partial::One | Partial::MinusOne | Partial::Value(_) | Partial::Conjugate)
                )
            }
            Some(p) => p.saves.outputs == 0 && p.saves.inputs & args == 0,
            None => false,
        })
    }

    fn jvp(&self, _: Prim<'_>, _: &Params, point: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Tangents> {
        if self.is_constant() {
            return Ok(smallvec![None]);
        }
        let mut sum: Option<Tensor> = None;
        for (i, t) in tangents.iter().enumerate() {
            let Some(t) = t else { continue };
            let partial = self.partial(i, point)?;
            let term = match self.kernel.out {
                OutDtype::Real | OutDtype::Complex if t.dtype() != point.output(0)?.dtype() => {
                    times_across(t, partial, point.output(0)?.dtype())?
                }
                _ => times(t, partial)?,
            };
            let Some(term) = term else { continue };
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
        let pull = |i: usize| if needs >> i & 1 == 1 { self.pull(i, point, g) } else { Ok(None) };
        Ok(match self.partials {
            [_] => smallvec![pull(0)?],
            [_, _] => smallvec![pull(0)?, pull(1)?],
            more => (0..more.len()).map(pull).collect::<Result<_>>()?,
        })
    }

    fn batch(&self, me: Prim<'_>, params: &Params, args: &[BatchArg<'_>], _: BatchInfo) -> Result<BatchOut> {
        let rank = batching::logical_rank(args);
        let values: SmallVec<[Cow<'_, Tensor>; 3]> =
            args.iter().map(|a| batching::aligned(a, rank)).collect::<Result<_>>()?;
        let refs: SmallVec<[&Tensor; 3]> = values.iter().map(|v| &**v).collect();
        Ok(smallvec![(call(me, params, &refs)?, Some(0))])
    }
}
