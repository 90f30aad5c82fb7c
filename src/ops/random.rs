//! Random numbers. A draw depends on the generator's seed and on what was drawn before, not on threads.

use super::draw::{Law, Source, law};
use super::rejection::{ByParameter, by_parameters};
use super::shape::sizes;
use super::value::Value;
use crate::base::promote::default_float;
use crate::base::shape::broadcast2;
use crate::base::{DType, Result, Shape};
use crate::core::tensor::Payload;
use crate::core::{Meta, Params, Prim, Tensor, call, level};
use crate::dense::random as kernels;
use crate::ops::signature::{
    Count, Dropped, FloatDType, Floats, GivenGenerator, HERE, Inplace, Probability, RequiresGrad, float_dtype, floats,
    inside, int_of, ints_of, probability,
};
use crate::ops::value::setting::{Device, Layout, MemoryFormat, PinMemory};
use crate::rules::{Opaque, OpaqueBatch, Partial, basis, shapes};
use smallvec::smallvec;

/// The categories that random numbers choose by weights; leading dimensions broadcast.
pub(crate) static MULTINOMIAL: Opaque = Opaque {
    name: "multinomial",
    infer: |p, a| {
        let lead = |m: &Meta| m.shape.without(m.shape.rank() - 1);
        let rows = broadcast2("multinomial", &lead(shapes::first(a)?), &lead(shapes::argument(a, 1)?))?;
        shapes::one(DType::I64, rows.append(p.ints()[0] as usize))
    },
    eval: |p, a| {
        let (count, replacement) = (p.ints()[0] as usize, p.ints()[1] != 0);
        Ok(smallvec![kernels::choose(a[0].array()?, a[1].array()?, count, replacement)?.into()])
    },
    batching: OpaqueBatch::Align,
};

/// One with these probabilities, else zero. Uniform numbers are not rounded to half precision before they are compared.
fn chosen(p: &Tensor, dtype: DType, g: Source<'_>) -> Result<Tensor> {
    let wide = if p.dtype().is_half() { DType::F32 } else { p.dtype() };
    let u = law_like(Law::Uniform { low: 0.0, high: 1.0 }, wide, p, g)?;
    basis::cast(&super::compare::lt(&u, &basis::cast(p, wide)?)?, dtype)
}

binary! { DRAWS, DRAW_PRIMITIVES:
    /// `b`, drawn by a law whose parameter is `a`: it depends on it, and its derivative is 0.
    drawn_by = "random:drawn" kernel STEPPED Same [INTERNAL] da[] Partial::Zero, db[] Partial::Zero;
}

/// Values that tensors decide and do not move, such as numbers drawn by laws with these parameters, as a result of them:
/// PyTorch's require grad if one of the tensors does, and have the derivative 0.
pub(super) fn drawn(numbers: Tensor, from: &[&Tensor]) -> Result<Tensor> {
    from.iter().try_fold(numbers, |numbers, from| match from.payload() {
        Some(Payload::Taped { .. }) if !level::records(from.level()) => Ok(numbers),
        Some(Payload::Taped { .. } | Payload::Dual { .. } | Payload::Batched { .. })
            if numbers.dtype().is_differentiable() =>
        {
            let from = basis::cast(from, numbers.dtype())?;
            if numbers.dtype().is_complex() {
                return basis::where_(&basis::full(numbers.shape(), DType::Bool, 0.0)?, &from, &numbers);
            }
            drawn_by(&from, &numbers)
        }
        _ => Ok(numbers),
    })
}

/// Numbers for each element of a tensor, in the order of its memory; none are drawn for one without data.
fn law_like(what: Law, dtype: DType, x: &Tensor, g: Source<'_>) -> Result<Tensor> {
    let _without_data = x.is_abstract().then(level::WithoutData::enter);
    super::draw::law_like(HERE, what, dtype, x, g)
}

/// What the elements of a tensor become.
fn law_into(what: Law, x: &Tensor, g: Source<'_>) -> Result<Tensor> {
    let by_rows = x.innermost().is_none_or(|a| a.rank() != x.rank() || a.is_contiguous());
    law_like(if by_rows { what } else { what.one_by_one() }, x.dtype(), x, g)
}

/// Probabilities must lie in [0, 1]; values of a transform are checked where they are dense.
fn check_probabilities(p: &Tensor) -> Result<()> {
    floats(p)?;
    if p.is_abstract() {
        return Ok(());
    }
    let Some(a) = p.innermost() else { refuse!(Internal, "no array") };
    if a.numel() > 0 {
        let dims: Vec<usize> = (0..a.rank()).collect();
        let low = crate::dense::reduce::amin(a, &dims, false)?.item()?.as_f64();
        let high = crate::dense::reduce::amax(a, &dims, false)?.item()?.as_f64();
        if !(low >= 0.0 && high <= 1.0) {
            refuse!(
                Runtime,
                "expected probabilities p_in to be >= 0 and <= 1, got values in [{low}, {high}]; clamp() them, or \
                take their sigmoid()"
            );
        }
    }
    Ok(())
}

fn randint_bounds(low: &Value, high: &Value, size: &Value) -> Result<(i64, i64, Vec<i64>)> {
    let int = |v: &Value| match int_of(v) {
        Some(i) => Ok(i),
        None => refuse!(Type, "arguments 'low' and 'high' must be int, not {}", v.type_name()),
    };
    let list = |v: &Value| ints_of("size", v).map(|d| d.unwrap_or_default().to_vec());
    let sequence = |v: &Value| matches!(v, Value::Tuple(_) | Value::List(_));
    match (low, high, size) {
        (l, s, Value::None | Value::Missing) if sequence(s) => Ok((0, int(l)?, list(s)?)),
        (Value::None | Value::Missing, h, s) => Ok((0, int(h)?, list(s)?)),
        (l, Value::None | Value::Missing, s) => Ok((0, int(l)?, list(s)?)),
        (l, h, s) => Ok((int(l)?, int(h)?, list(s)?)),
    }
}

macro_rules! ignore {
    ($($x:ident),*) => { $( let _ = $x; )* };
}

ops! { TABLE:
    /// Uniform random numbers in [0, 1).
    ///
    /// >>> import pullback
    /// >>> pullback.rand(2, 3).shape
    /// pullback.Size([2, 3])
    fn rand = "rand" (size: &[i64]; generator: Source<'_> as GivenGenerator = None, dtype: Option<DType> as FloatDType = None,
        layout: Layout = Layout::None, device: Device = Device::None, requires_grad: bool as RequiresGrad = false,
        pin_memory: PinMemory = PinMemory::None) -> Tensor [VARIADIC, CREATION, RANDOM] {
        ignore!(layout, device, requires_grad, pin_memory);
        law(HERE, Law::Uniform { low: 0.0, high: 1.0 }, dtype, sizes(HERE, size)?, generator)
    }

    /// Standard normal random numbers.
    ///
    /// >>> import pullback
    /// >>> pullback.randn(2, 3).shape
    /// pullback.Size([2, 3])
    fn randn = "randn" (size: &[i64]; generator: Source<'_> as GivenGenerator = None, dtype: Option<DType> as FloatDType = None,
        layout: Layout = Layout::None, device: Device = Device::None, requires_grad: bool as RequiresGrad = false,
        pin_memory: PinMemory = PinMemory::None) -> Tensor [VARIADIC, CREATION, RANDOM] {
        ignore!(layout, device, requires_grad, pin_memory);
        law(HERE, Law::Normal { mean: 0.0, std: 1.0 }, dtype, sizes(HERE, size)?, generator)
    }

    /// Uniform random numbers in [0, 1) with the shape and dtype of another tensor.
    fn rand_like = "rand_like" (input: &Tensor; generator: Source<'_> as GivenGenerator = None, dtype: Option<DType> = None,
        layout: Layout = Layout::None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false, memory_format: MemoryFormat = MemoryFormat::None)
        -> Tensor [CREATION, RANDOM] {
        ignore!(layout, device, requires_grad, memory_format);
        let d = float_dtype(Some(dtype.unwrap_or(input.dtype())))?;
        law_like(Law::Uniform { low: 0.0, high: 1.0 }, d, input, generator)
    }

    /// Standard normal random numbers with the shape and dtype of another tensor.
    fn randn_like = "randn_like" (input: &Tensor; generator: Source<'_> as GivenGenerator = None, dtype: Option<DType> = None,
        layout: Layout = Layout::None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false, memory_format: MemoryFormat = MemoryFormat::None)
        -> Tensor [CREATION, RANDOM] {
        ignore!(layout, device, requires_grad, memory_format);
        let d = float_dtype(Some(dtype.unwrap_or(input.dtype())))?;
        law_like(Law::Normal { mean: 0.0, std: 1.0 }, d, input, generator)
    }

    /// Random integers in [low, high): `randint(high, size)` or `randint(low, high, size)`.
    ///
    /// >>> import pullback
    /// >>> pullback.randint(10, (4,)).dtype
    /// pullback.int64
    fn randint = "randint" (low: &Value = &Value::None, high: &Value = &Value::None, size: &Value = &Value::None;
        generator: Source<'_> as GivenGenerator = None, dtype: Option<DType> = None, layout: Layout = Layout::None,
        device: Device = Device::None, requires_grad: bool as RequiresGrad = false, pin_memory: PinMemory = PinMemory::None)
        -> Tensor [CREATION, RANDOM] {
        ignore!(layout, device, requires_grad, pin_memory);
        let (low, high, size) = randint_bounds(low, high, size)?;
        law(HERE, Law::Integers { low, high }, dtype.unwrap_or(DType::I64), sizes(HERE, &size)?, generator)
    }

    /// Random integers in [low, high) with the shape of another tensor: `randint_like(x, high)` or
    /// `randint_like(x, low, high)`.
    fn randint_like = "randint_like" (input: &Tensor, low: Option<i64> = None, high: Option<i64> = None;
        generator: Source<'_> as GivenGenerator = None, dtype: Option<DType> = None,
        layout: Layout = Layout::None, device: Device = Device::None, requires_grad: bool as RequiresGrad = false,
        memory_format: MemoryFormat = MemoryFormat::None) -> Tensor [CREATION, RANDOM] {
        ignore!(layout, device, requires_grad, memory_format);
        let (low, high) = match (low, high) {
            (Some(low), Some(high)) => (low, high),
            (Some(high), None) | (None, Some(high)) => (0, high),
            (None, None) => refuse!(Type, "missing required argument 'high'; give the end of the range, as in randint_like(x, 10)"),
        };
        law_like(Law::Integers { low, high }, dtype.unwrap_or(input.dtype()), input, generator)
    }

    /// A random permutation of 0 … n - 1.
    ///
    /// >>> import pullback
    /// >>> pullback.randperm(4).sort().values
    /// tensor([0, 1, 2, 3])
    fn randperm = "randperm" (n: i64 as Count; generator: Source<'_> as GivenGenerator = None, dtype: Option<DType> = None,
        layout: Layout = Layout::None, device: Device = Device::None, requires_grad: bool as RequiresGrad = false,
        pin_memory: PinMemory = PinMemory::None) -> Tensor [CREATION, RANDOM] {
        ignore!(layout, device, requires_grad, pin_memory);
        law(HERE, Law::Permutation, dtype.unwrap_or(DType::I64), [n].into(), generator)
    }

    /// Normal random numbers; mean and std are numbers or tensors. With two numbers, `size` is needed.
    ///
    /// >>> import pullback
    /// >>> pullback.normal(0.0, 1.0, (3,)).shape
    /// pullback.Size([3])
    fn normal = "normal" (mean: super::value::Operand<'_>, std: super::value::Operand<'_> = 1.0.into(),
        size: Option<&[i64]> = None; generator: Source<'_> as GivenGenerator = None, dtype: Option<DType> = None,
        layout: Layout = Layout::None, device: Device = Device::None, requires_grad: bool as RequiresGrad = false,
        pin_memory: PinMemory = PinMemory::None) -> Tensor [CREATION, RANDOM] {
        use super::value::Operand::{Number, Tensor as T};
        ignore!(layout, device, requires_grad, pin_memory);
        if let Number(s) = std
            && s.as_f64() < 0.0
        {
            refuse!(Runtime, "expects std >= 0.0, but found std {}; give its absolute value", s.as_f64());
        }
        let has_dims = |o: super::value::Operand<'_>| matches!(o, T(t) if t.rank() > 0);
        if size.is_some() && (has_dims(mean) || has_dims(std)) {
            refuse!(Type, "argument 'size' goes with numbers, but mean or std is a tensor, whose shape the result has; leave \
                it out, or expand() the tensor");
        }
        match (mean, std, size) {
            (Number(m), Number(s), Some(size)) => {
                let law_ = Law::Normal { mean: m.as_f64(), std: s.as_f64() };
                law(HERE, law_, float_dtype(dtype)?, sizes(HERE, size)?, generator)
            }
            (Number(_), Number(_), None) => refuse!(Type, "missing required argument 'size'; give the shape of the result"),
            (m, s, size) => {
                let shapes = [m, s].map(|o| match o { T(t) => t.shape().clone(), Number(_) => Shape::scalar() });
                let shape = match size {
                    Some(size) => sizes(HERE, size)?,
                    None => crate::base::shape::broadcast2(HERE, &shapes[0], &shapes[1])?,
                };
                let d = match (m, s) { (T(t), _) | (_, T(t)) => t.dtype(), _ => default_float() };
                let z = law(HERE, Law::Normal { mean: 0.0, std: 1.0 }, float_dtype(Some(d))?, shape, generator)?;
                let spread = super::arith::mul(T(&z), s)?;
                let numbers = super::shape::detach(&super::arith::add(T(&spread), m, None)?)?;
                let tensors: Vec<&crate::Tensor> = [m, s].into_iter().filter_map(|o| match o { T(t) => Some(t), Number(_) => None }).collect();
                drawn(numbers, &tensors)
            }
        }
    }

    /// 1 with the probability that each element gives, else 0.
    ///
    /// >>> import pullback
    /// >>> pullback.bernoulli(pullback.tensor([0.0, 1.0]))
    /// tensor([0., 1.])
    fn bernoulli = "bernoulli" (input: &Tensor, p: Option<f64> as Option<Probability> = None; generator: Source<'_> as GivenGenerator = None)
        -> Tensor [METHOD, RANDOM, ROW_MAJOR] {
        if let Some(p) = p {
            return drawn(law_like(Law::Bernoulli { p }, input.dtype(), input, generator)?, &[input]);
        }
        check_probabilities(input)?;
        drawn(chosen(input, input.dtype(), generator)?, &[input])
    }

    /// Poisson distributed counts with the rate that each element gives.
    ///
    /// >>> import pullback
    /// >>> pullback.poisson(pullback.tensor([0.0, 0.0]))
    /// tensor([0., 0.])
    fn poisson = "poisson" (input: &Tensor as Floats, generator: Source<'_> as GivenGenerator = None) -> Tensor [RANDOM, NO_OUT] {
        drawn(by_parameters(ByParameter::Poisson, &[input], generator)?, &[input])
    }

    /// The number of successes of `count` trials with the probability `prob`, element by element.
    ///
    /// >>> import pullback
    /// >>> pullback.binomial(pullback.tensor([3.0, 5.0]), pullback.tensor([0.0, 1.0]))
    /// tensor([0., 5.])
    fn binomial = "binomial" (count: &Tensor, prob: &Tensor, generator: Source<'_> as GivenGenerator = None) -> Tensor [RANDOM, NO_OUT] {
        for (name, t) in [("count", count), ("prob", prob)] {
            if !t.dtype().is_float() {
                refuse!(Value, "only supports floating-point dtypes for {name}, got: {}; convert it with .float()", t.dtype());
            }
        }
        crate::ops::signature::of_dtype("prob", prob, count.dtype())?;
        let shape = broadcast2(HERE, count.shape(), prob.shape())?;
        let args = [basis::expand(count, &shape)?, basis::expand(prob, &shape)?];
        drawn(by_parameters(ByParameter::Binomial, &[&args[0], &args[1]], generator)?, &[count, prob])
    }

    /// `num_samples` indices drawn by the weights in each row.
    ///
    /// >>> import pullback
    /// >>> pullback.multinomial(pullback.tensor([0.0, 1.0]), 1)
    /// tensor([1])
    fn multinomial = "multinomial" (input: &Tensor, num_samples: i64, replacement: bool = false;
        generator: Source<'_> as GivenGenerator = None) -> Tensor [METHOD, RANDOM] of MULTINOMIAL {
        // One number is drawn as without replacement.
        let replacement = replacement && num_samples != 1;
        let noise = kernels::noise_shape(input.shape(), input.dtype(), num_samples, replacement)?;
        let _without_data = input.is_abstract().then(level::WithoutData::enter);
        // A call that fails leaves the generator alone, where the weights can be looked at.
        if let Some(weights) = input.dense() {
            kernels::check_weights(weights, num_samples as usize, replacement)?;
        }
        let kind = if replacement { Law::Uniform { low: 0.0, high: 1.0 } } else { Law::Exponential { rate: 1.0 } };
        let noise = law(HERE, kind, DType::F64, noise, generator)?;
        let params = Params::Ints([num_samples, i64::from(replacement)].into_iter().collect());
        call(Prim::Static(&MULTINOMIAL), &params, &[input, &noise])
    }

    /// Each element zeroed with probability `p`, the others scaled by `1 / (1 - p)`; unchanged unless training.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.dropout(pullback.ones(3), p=0.0)
    /// tensor([1., 1., 1.])
    fn dropout = "nn.functional.dropout" (input: &Tensor, p: f64 as Dropped = 0.5, training: bool = true, inplace: bool as Inplace = false)
        -> Tensor [INPLACE_KEYWORD, RANDOM, NO_OUT, SAME_OBJECT] node "MulBackward0" {
        let _ = inplace;
        if !training || p == 0.0 || input.numel() == 0 {
            return Ok(input.clone());
        }
        if !input.dtype().is_float() {
            refuse!(Runtime, "result type {} can't be scaled; convert the input with .float()", input.dtype());
        }
        if p == 1.0 {
            return basis::keep_where(&Tensor::scalar(DType::Bool, false), input);
        }
        let which = Law::Bernoulli { p: 1.0 - p };
        // The mask of a batch is a tensor of its own, with the batch in front.
        let keep = match input.innermost() {
            Some(a) if a.rank() != input.rank() => law(HERE, which, DType::Bool, input.shape().clone(), None)?,
            _ => law_like(which, DType::Bool, input, None)?,
        };
        basis::product_where(&keep, input, &basis::number(input, 1.0 / (1.0 - p)))
    }
}

macro_rules! fills {
    ($($(#[doc = $doc:literal])* $name:ident = $path:literal ( $($p:ident : $t:ty = $d:expr),* ) $law:expr;)*) => {
        ops! { FILLS: $(
            $(#[doc = $doc])*
            fn $name = $path (input: &Tensor, $($p: $t = $d),*; generator: Source<'_> as GivenGenerator = None)
                -> Tensor [INPLACE, NOT_FUNCTION, RANDOM] {
                drawn(law_into($law, input, generator)?, &[input])
            }
        )* }
    };
}

fills! {
    /// Fills with uniform random numbers in [from, to).
    uniform_fill = "Tensor.uniform" (from_: f64 = 0.0, to: f64 = 1.0) Law::Uniform { low: from_, high: to };
    /// Fills with normal random numbers.
    normal_fill = "Tensor.normal" (mean: f64 = 0.0, std: f64 = 1.0) Law::Normal { mean, std };
    /// Fills with exponentially distributed numbers.
    exponential_fill = "Tensor.exponential" (lambd: f64 = 1.0) Law::Exponential { rate: lambd };
    /// Fills with Cauchy distributed numbers.
    cauchy_fill = "Tensor.cauchy" (median: f64 = 0.0, sigma: f64 = 1.0) Law::Cauchy { median, scale: sigma };
    /// Fills with log-normally distributed numbers.
    log_normal_fill = "Tensor.log_normal" (mean: f64 = 1.0, std: f64 = 2.0) Law::LogNormal { mean, std };
    /// Fills with geometrically distributed numbers.
    geometric_fill = "Tensor.geometric" (p: f64 = 0.5) Law::Geometric { p };
}

ops! { MORE_FILLS:
    /// Fills with 0 and 1, the latter with probability `p`, a number or a tensor.
    fn bernoulli_fill = "Tensor.bernoulli" (input: &Tensor, p: super::value::Operand<'_> = 0.5.into();
        generator: Source<'_> as GivenGenerator = None) -> Tensor [INPLACE, NOT_FUNCTION, RANDOM] {
        match p {
            super::value::Operand::Number(p) => {
                probability("p", p.as_f64())?;
                drawn(law_like(Law::Bernoulli { p: p.as_f64() }, input.dtype(), input, generator)?, &[input])
            }
            super::value::Operand::Tensor(p) => {
                check_probabilities(p)?;
                let p = basis::expand(p, input.shape()).map_err(inside)?;
                drawn(chosen(&p, input.dtype(), generator)?, &[input, &p])
            }
        }
    }

    /// Fills with random integers in [from, to): by default all that the dtype represents exactly.
    fn random_fill = "Tensor.random" (input: &Tensor, from_: Option<i64> = None, to: Option<i64> = None;
        generator: Source<'_> as GivenGenerator = None) -> Tensor [INPLACE, NOT_FUNCTION, RANDOM] {
        let law_ = match (from_, to) {
            (Some(low), Some(high)) => Law::Integers { low, high },
            (Some(high), None) | (None, Some(high)) => Law::Integers { low: 0, high },
            (None, None) => Law::Anything,
        };
        law_like(law_, input.dtype(), input, generator)
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[DRAWS, FILLS, MORE_FILLS, TABLE],
    primitives: &[DRAW_PRIMITIVES, &[&MULTINOMIAL]],
    ..crate::ops::Family::EMPTY
};
