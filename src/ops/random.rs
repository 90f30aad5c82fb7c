//! Random numbers. A draw depends on the generator's seed and on how much was drawn before, not on threads.
//!
//! NOTE levels. Every draw is offered to each visible level from the top down, whatever its arguments: `vmap` raises,
//! draws one array with a batch in front ("different"), or lets the draw pass ("same"); a trace records it.

use super::rewind;
use super::shape::sizes;
use super::value::Value;
use crate::bail;
use crate::base::promote::default_float;
use crate::base::{DType, Error, Result, Scalar, Shape};
use crate::core::level::{self, Below, LevelKind, Randomness};
use crate::core::params::Parameters;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Mask, Outputs, Params, Point, Prim, Primitive, Tangents, Tensor, call,
};
use crate::dense::random::{self as kernels, Generator};
use crate::dense::{Array, index};
use crate::rules::{Opaque, OpaqueBatch, basis};
use smallvec::smallvec;
use std::sync::Arc;

type Source<'a> = Option<&'a Arc<dyn Parameters>>;

/// What to draw.
#[derive(Debug, Clone, Copy)]
enum Law {
    Uniform {
        low: f64,
        high: f64,
    },
    Normal {
        mean: f64,
        std: f64,
    },
    Integers {
        low: i64,
        high: i64,
    },
    Exponential {
        rate: f64,
    },
    Cauchy {
        median: f64,
        scale: f64,
    },
    LogNormal {
        mean: f64,
        std: f64,
    },
    Geometric {
        p: f64,
    },
    Bernoulli {
        p: f64,
    },
    /// A permutation along the last dimension.
    Permutation,
}

#[derive(Clone)]
struct Draw {
    law: Law,
    dtype: DType,
    shape: Shape,
    generator: Option<Arc<dyn Parameters>>,
}

fn generator(g: &Option<Arc<dyn Parameters>>) -> Result<&Generator> {
    match g {
        None => Ok(kernels::default_generator()),
        Some(g) => match (**g).as_any().downcast_ref::<Generator>() {
            Some(g) => Ok(g),
            None => bail!(Type, "argument 'generator' must be a Generator"),
        },
    }
}

impl std::fmt::Debug for Draw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let meta = crate::core::node::Meta { dtype: self.dtype, shape: self.shape.clone() };
        write!(f, "{:?}, {meta}{}", self.law, if self.generator.is_some() { ", own generator" } else { "" })
    }
}

impl Draw {
    fn run(&self) -> Result<Array> {
        let (rng, dtype, shape) = (generator(&self.generator)?, self.dtype, &self.shape);
        rewind::note(rng, &self.generator);
        match self.law {
            Law::Uniform { low, high } => kernels::uniform(rng, dtype, shape, low, high),
            Law::Normal { mean, std } => kernels::normal(rng, dtype, shape, mean, std),
            Law::Integers { low, high } => kernels::randint(rng, dtype, shape, low, high),
            Law::Exponential { rate } => kernels::exponential(rng, dtype, shape, rate),
            Law::Cauchy { median, scale } => kernels::cauchy(rng, dtype, shape, median, scale),
            Law::LogNormal { mean, std } => kernels::log_normal(rng, dtype, shape, mean, std),
            Law::Geometric { p } => kernels::geometric(rng, dtype, shape, p),
            Law::Bernoulli { p } => kernels::bernoulli_with(rng, dtype, shape, p),
            Law::Permutation => self.permutations(rng),
        }
    }

    fn permutations(&self, rng: &Generator) -> Result<Array> {
        let n = self.shape[self.shape.rank() - 1];
        let rows: usize = self.shape[..self.shape.rank() - 1].iter().product();
        let parts: Vec<Array> =
            (0..rows).map(|_| kernels::randperm(rng, n as i64, self.dtype)).collect::<Result<_>>()?;
        if parts.is_empty() {
            return Array::zeros(self.dtype, self.shape.clone());
        }
        index::cat(&parts, 0)?.reshape(&self.shape)
    }
}

/// A draw without regard to levels, which [`draw`] has asked before.
struct Random;
static RANDOM: Random = Random;

impl Primitive for Random {
    fn name(&self) -> &str {
        "random"
    }
    fn eval(&self, params: &Params, _: &[&Tensor]) -> Result<Tensor> {
        params.get::<Draw>().run().map(Tensor::from)
    }
    fn is_constant(&self) -> bool {
        true
    }
    fn replay(&self, _: Prim<'_>, params: &Params, _: &[&Tensor]) -> Result<Outputs> {
        draw("random", params.get::<Draw>().clone()).map(|t| smallvec![t])
    }
    fn jvp(&self, _: Prim<'_>, _: &Params, _: &Point<'_>, _: &[Option<&Tensor>]) -> Result<Tangents> {
        Ok(smallvec![None])
    }
    fn vjp(&self, _: Prim<'_>, _: &Params, _: &Point<'_>, _: &[Option<Tensor>], _: Mask) -> Result<Tangents> {
        Ok(Tangents::new())
    }
    fn batch(&self, me: Prim<'_>, params: &Params, _: &[BatchArg<'_>], _: BatchInfo) -> Result<BatchOut> {
        Ok(smallvec![(call(me, params, &[])?, None)])
    }
}

/// The categories that random numbers choose by weights; leading dimensions broadcast.
static MULTINOMIAL: Opaque = Opaque {
    name: "multinomial",
    eval: |p, a| {
        let (count, replacement) = (p.ints()[0] as usize, p.ints()[1] != 0);
        Ok(smallvec![kernels::choose(a[0].array()?, a[1].array()?, count, replacement)?.into()])
    },
    batching: OpaqueBatch::Align,
};

#[cold]
fn forbidden(op: &str, l: &level::Level) -> Error {
    let origin = l.origin.describe().unwrap_or_default();
    let fix = if origin.starts_with("jacrev") {
        format!(
            "{origin} runs reverse rules for all rows at once: draw in the forward and save the numbers, or pass \
             chunk_size=1 to jacrev, which goes row by row"
        )
    } else if origin.starts_with("jacfwd") || origin.starts_with("hessian") {
        format!("pass randomness='different' or randomness='same' to jacfwd for {origin}, or draw before it")
    } else {
        "pass randomness='different' or randomness='same' to vmap, or draw before it".to_string()
    };
    Error::runtime(format!(
        "vmap: called random operation {op}() while in randomness error mode{}; {fix}",
        crate::core::origin::at_here()
    ))
}

fn draw(op: &str, d: Draw) -> Result<Tensor> {
    crate::core::watch::check_random(op)?;
    for l in level::visible() {
        let LevelKind::Batch { size, randomness } = l.kind else { continue };
        match if rewind::passes(&l) { Randomness::Same } else { randomness } {
            Randomness::Error => return Err(forbidden(op, &l)),
            Randomness::Same => {
                let _below = Below::enter(l.id);
                return draw(op, d);
            }
            Randomness::Different => {
                let below = Below::enter(l.id);
                let all = draw(op, Draw { shape: d.shape.prepend(size), ..d })?;
                drop(below);
                return Ok(Tensor::batched(l.id, all, 0));
            }
        }
    }
    call(Prim::Static(&RANDOM), &Params::other(d), &[])
}

fn law(op: &str, law: Law, dtype: DType, shape: Shape, g: Source<'_>) -> Result<Tensor> {
    draw(op, Draw { law, dtype, shape, generator: g.cloned() })
}

fn float(op: &str, dtype: Option<DType>) -> Result<DType> {
    let d = dtype.unwrap_or(default_float());
    if !d.is_differentiable() {
        bail!(NotImplemented, "{op}(): not implemented for {d} tensors");
    }
    Ok(d)
}

/// Uniform numbers in [0, 1) like a tensor: the base of draws with tensor arguments.
fn uniform_like(op: &str, x: &Tensor, g: Source<'_>) -> Result<Tensor> {
    law(op, Law::Uniform { low: 0.0, high: 1.0 }, x.dtype(), x.shape().clone(), g)
}

fn check_probability(op: &str, p: f64) -> Result<()> {
    if !(0.0..=1.0).contains(&p) {
        bail!(Runtime, "{op}(): expects p to be in [0, 1], but got p={p}");
    }
    Ok(())
}

/// Probabilities must lie in [0, 1]; values of a transform are checked where they are dense.
fn check_probabilities(op: &str, p: &Tensor) -> Result<()> {
    if !p.dtype().is_float() {
        bail!(NotImplemented, "{op}(): not implemented for {} tensors", p.dtype());
    }
    let Some(a) = p.innermost() else { bail!(Internal, "{op}(): no array") };
    if a.numel() > 0 {
        let dims: Vec<usize> = (0..a.rank()).collect();
        let low = crate::dense::reduce::amin(a, &dims, false)?.item()?.as_f64();
        let high = crate::dense::reduce::amax(a, &dims, false)?.item()?.as_f64();
        if !(low >= 0.0 && high <= 1.0) {
            bail!(Runtime, "{op}(): expected probabilities p_in to be >= 0 and <= 1, got values in [{low}, {high}]");
        }
    }
    Ok(())
}

fn randint_bounds(low: &Value, high: &Value, size: &Value) -> Result<(i64, i64, Vec<i64>)> {
    let int = |v: &Value| match v {
        Value::Int(i) | Value::Number(Scalar::Int(i)) => Ok(*i),
        other => bail!(Type, "randint(): arguments 'low' and 'high' must be int, not {}", other.type_name()),
    };
    let list = |v: &Value| super::reduce::dims_of("randint", v).map(|d| d.unwrap_or_default().to_vec());
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
    fn rand = "rand" (size: &[i64]; generator: Source<'_> = None, dtype: Option<DType> = None,
        layout: &Value = &Value::None, device: &Value = &Value::None, requires_grad: bool = false,
        pin_memory: &Value = &Value::None) -> Tensor [VARIADIC, CREATION, RANDOM] {
        ignore!(layout, device, requires_grad, pin_memory);
        law("rand", Law::Uniform { low: 0.0, high: 1.0 }, float("rand", dtype)?, sizes("rand", size)?, generator)
    }

    /// Standard normal random numbers.
    ///
    /// >>> import pullback
    /// >>> pullback.randn(2, 3).shape
    /// pullback.Size([2, 3])
    fn randn = "randn" (size: &[i64]; generator: Source<'_> = None, dtype: Option<DType> = None,
        layout: &Value = &Value::None, device: &Value = &Value::None, requires_grad: bool = false,
        pin_memory: &Value = &Value::None) -> Tensor [VARIADIC, CREATION, RANDOM] {
        ignore!(layout, device, requires_grad, pin_memory);
        law("randn", Law::Normal { mean: 0.0, std: 1.0 }, float("randn", dtype)?, sizes("randn", size)?, generator)
    }

    /// Uniform random numbers in [0, 1) with the shape and dtype of another tensor.
    fn rand_like = "rand_like" (input: &Tensor; dtype: Option<DType> = None, layout: &Value = &Value::None,
        device: &Value = &Value::None, requires_grad: bool = false, memory_format: &Value = &Value::None)
        -> Tensor [CREATION, RANDOM] {
        ignore!(layout, device, requires_grad, memory_format);
        let d = float("rand_like", Some(dtype.unwrap_or(input.dtype())))?;
        law("rand_like", Law::Uniform { low: 0.0, high: 1.0 }, d, input.shape().clone(), None)
    }

    /// Standard normal random numbers with the shape and dtype of another tensor.
    fn randn_like = "randn_like" (input: &Tensor; dtype: Option<DType> = None, layout: &Value = &Value::None,
        device: &Value = &Value::None, requires_grad: bool = false, memory_format: &Value = &Value::None)
        -> Tensor [CREATION, RANDOM] {
        ignore!(layout, device, requires_grad, memory_format);
        let d = float("randn_like", Some(dtype.unwrap_or(input.dtype())))?;
        law("randn_like", Law::Normal { mean: 0.0, std: 1.0 }, d, input.shape().clone(), None)
    }

    /// Random integers in [low, high): `randint(high, size)` or `randint(low, high, size)`.
    ///
    /// >>> import pullback
    /// >>> pullback.randint(10, (4,)).dtype
    /// pullback.int64
    fn randint = "randint" (low: &Value = &Value::None, high: &Value = &Value::None, size: &Value = &Value::None;
        generator: Source<'_> = None, dtype: Option<DType> = None, layout: &Value = &Value::None,
        device: &Value = &Value::None, requires_grad: bool = false, pin_memory: &Value = &Value::None)
        -> Tensor [CREATION, RANDOM] {
        ignore!(layout, device, requires_grad, pin_memory);
        let (low, high, size) = randint_bounds(low, high, size)?;
        law("randint", Law::Integers { low, high }, dtype.unwrap_or(DType::I64), sizes("randint", &size)?, generator)
    }

    /// Random integers in [low, high) with the shape of another tensor: `randint_like(x, high)` or
    /// `randint_like(x, low, high)`.
    fn randint_like = "randint_like" (input: &Tensor, low: i64, high: Option<i64> = None; dtype: Option<DType> = None,
        layout: &Value = &Value::None, device: &Value = &Value::None, requires_grad: bool = false,
        memory_format: &Value = &Value::None) -> Tensor [CREATION, RANDOM] {
        ignore!(layout, device, requires_grad, memory_format);
        let (low, high) = high.map_or((0, low), |h| (low, h));
        law("randint_like", Law::Integers { low, high }, dtype.unwrap_or(input.dtype()), input.shape().clone(), None)
    }

    /// A random permutation of 0 … n - 1.
    ///
    /// >>> import pullback
    /// >>> pullback.randperm(4).sort().values
    /// tensor([0, 1, 2, 3])
    fn randperm = "randperm" (n: i64; generator: Source<'_> = None, dtype: Option<DType> = None,
        layout: &Value = &Value::None, device: &Value = &Value::None, requires_grad: bool = false,
        pin_memory: &Value = &Value::None) -> Tensor [CREATION, RANDOM] {
        ignore!(layout, device, requires_grad, pin_memory);
        if n < 0 {
            bail!(Runtime, "randperm(): n must be non-negative, got {n}");
        }
        law("randperm", Law::Permutation, dtype.unwrap_or(DType::I64), [n as usize].into(), generator)
    }

    /// Normal random numbers; mean and std are numbers or tensors. With two numbers, `size` is needed.
    ///
    /// >>> import pullback
    /// >>> pullback.normal(0.0, 1.0, (3,)).shape
    /// pullback.Size([3])
    fn normal = "normal" (mean: super::value::Operand<'_>, std: super::value::Operand<'_> = 1.0.into(),
        size: Option<&[i64]> = None; generator: Source<'_> = None, dtype: Option<DType> = None,
        device: &Value = &Value::None, requires_grad: bool = false) -> Tensor [CREATION, RANDOM] {
        use super::value::Operand::{Number, Tensor as T};
        ignore!(device, requires_grad);
        if let Number(s) = std
            && s.as_f64() < 0.0
        {
            bail!(Runtime, "normal(): expects std >= 0.0, but found std {}", s.as_f64());
        }
        match (mean, std, size) {
            (Number(m), Number(s), Some(size)) => {
                let law_ = Law::Normal { mean: m.as_f64(), std: s.as_f64() };
                law("normal", law_, float("normal", dtype)?, sizes("normal", size)?, generator)
            }
            (Number(_), Number(_), None) => bail!(Type, "normal(): missing required argument 'size'"),
            (m, s, _) => {
                let shapes = [m, s].map(|o| match o { T(t) => t.shape().clone(), Number(_) => Shape::scalar() });
                let shape = crate::base::shape::broadcast2("normal", &shapes[0], &shapes[1])?;
                let d = match (m, s) { (T(t), _) | (_, T(t)) => t.dtype(), _ => default_float() };
                let z = law("normal", Law::Normal { mean: 0.0, std: 1.0 }, float("normal", Some(d))?, shape, generator)?;
                let spread = super::arith::mul(T(&z), s)?;
                super::shape::detach(&super::arith::add(T(&spread), m, None)?)
            }
        }
    }

    /// 1 with the probability that each element gives, else 0.
    ///
    /// >>> import pullback
    /// >>> pullback.bernoulli(pullback.tensor([0.0, 1.0]))
    /// tensor([0., 1.])
    fn bernoulli = "bernoulli" (input: &Tensor, p: Option<f64> = None; generator: Source<'_> = None)
        -> Tensor [METHOD, RANDOM] {
        if let Some(p) = p {
            check_probability("bernoulli", p)?;
            return law("bernoulli", Law::Bernoulli { p }, input.dtype(), input.shape().clone(), generator);
        }
        check_probabilities("bernoulli", input)?;
        let u = uniform_like("bernoulli", input, generator)?;
        basis::cast(&super::compare::lt(&u, input)?, input.dtype())
    }

    /// `num_samples` indices drawn by the weights in each row.
    ///
    /// >>> import pullback
    /// >>> pullback.multinomial(pullback.tensor([0.0, 1.0]), 1)
    /// tensor([1])
    fn multinomial = "multinomial" (input: &Tensor, num_samples: i64, replacement: bool = false;
        generator: Source<'_> = None) -> Tensor [METHOD, RANDOM] {
        let noise = kernels::noise_shape(input.shape(), input.dtype(), num_samples, replacement)?;
        // A call that fails leaves the generator alone, where the weights can be looked at.
        if let Some(weights) = input.dense() {
            kernels::check_weights(weights, num_samples as usize, replacement)?;
        }
        let kind = if replacement { Law::Uniform { low: 0.0, high: 1.0 } } else { Law::Exponential { rate: 1.0 } };
        let noise = law("multinomial", kind, DType::F64, noise, generator)?;
        let params = Params::Ints([num_samples, i64::from(replacement)].into_iter().collect());
        call(Prim::Static(&MULTINOMIAL), &params, &[input, &noise])
    }

    /// Each element zeroed with probability `p`, the others scaled by `1 / (1 - p)`; unchanged unless training.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.dropout(pullback.ones(3), p=0.0)
    /// tensor([1., 1., 1.])
    fn dropout = "nn.functional.dropout" (input: &Tensor, p: f64 = 0.5, training: bool = true, inplace: bool = false)
        -> Tensor [INPLACE_KEYWORD, RANDOM] {
        let _ = inplace;
        if !(0.0..=1.0).contains(&p) {
            bail!(Value, "dropout(): dropout probability has to be between 0 and 1, but got {p}");
        }
        if !training || p == 0.0 || input.numel() == 0 {
            return Ok(input.clone());
        }
        if !input.dtype().is_float() {
            bail!(Runtime, "dropout(): result type {} can't be scaled; the input must be floating point", input.dtype());
        }
        if p == 1.0 {
            return basis::mul(input, &basis::number(input, 0.0));
        }
        let keep = law("dropout", Law::Bernoulli { p: 1.0 - p }, input.dtype(), input.shape().clone(), None)?;
        basis::mul(input, &basis::scale(&keep, 1.0 / (1.0 - p))?)
    }
}

macro_rules! fills {
    ($($(#[doc = $doc:literal])* $name:ident = $path:literal, $short:literal ( $($p:ident : $t:ty = $d:expr),* ) $law:expr;)*) => {
        ops! { FILLS: $(
            $(#[doc = $doc])*
            fn $name = $path (input: &Tensor, $($p: $t = $d),*; generator: Source<'_> = None)
                -> Tensor [INPLACE, NOT_FUNCTION, RANDOM] {
                law($short, $law, input.dtype(), input.shape().clone(), generator)
            }
        )* }
    };
}

fills! {
    /// Fills with uniform random numbers in [from, to).
    uniform_fill = "Tensor.uniform", "uniform_" (from_: f64 = 0.0, to: f64 = 1.0) Law::Uniform { low: from_, high: to };
    /// Fills with normal random numbers.
    normal_fill = "Tensor.normal", "normal_" (mean: f64 = 0.0, std: f64 = 1.0) Law::Normal { mean, std };
    /// Fills with exponentially distributed numbers.
    exponential_fill = "Tensor.exponential", "exponential_" (lambd: f64 = 1.0) Law::Exponential { rate: lambd };
    /// Fills with Cauchy distributed numbers.
    cauchy_fill = "Tensor.cauchy", "cauchy_" (median: f64 = 0.0, sigma: f64 = 1.0) Law::Cauchy { median, scale: sigma };
    /// Fills with log-normally distributed numbers.
    log_normal_fill = "Tensor.log_normal", "log_normal_" (mean: f64 = 1.0, std: f64 = 2.0) Law::LogNormal { mean, std };
    /// Fills with geometrically distributed numbers.
    geometric_fill = "Tensor.geometric", "geometric_" (p: f64 = 0.5) Law::Geometric { p };
}

ops! { MORE_FILLS:
    /// Fills with 0 and 1, the latter with probability `p`, a number or a tensor.
    fn bernoulli_fill = "Tensor.bernoulli" (input: &Tensor, p: super::value::Operand<'_> = 0.5.into();
        generator: Source<'_> = None) -> Tensor [INPLACE, NOT_FUNCTION, RANDOM] {
        match p {
            super::value::Operand::Number(p) => {
                check_probability("bernoulli_", p.as_f64())?;
                law("bernoulli_", Law::Bernoulli { p: p.as_f64() }, input.dtype(), input.shape().clone(), generator)
            }
            super::value::Operand::Tensor(p) => {
                check_probabilities("bernoulli_", p)?;
                let p = basis::expand(p, input.shape()).map_err(|e| e.context("bernoulli_()"))?;
                let u = uniform_like("bernoulli_", &p, generator)?;
                basis::cast(&super::compare::lt(&u, &p)?, input.dtype())
            }
        }
    }

    /// Fills with random integers in [from, to): by default all that the dtype represents exactly.
    fn random_fill = "Tensor.random" (input: &Tensor, from_: Option<i64> = None, to: Option<i64> = None;
        generator: Source<'_> = None) -> Tensor [INPLACE, NOT_FUNCTION, RANDOM] {
        let top = match input.dtype() {
            DType::Bool => 2,
            DType::U8 => 256,
            DType::I8 => 128,
            DType::I16 => 1 << 15,
            DType::I32 => 1 << 31,
            DType::F16 => (1 << 11) + 1,
            DType::BF16 => (1 << 8) + 1,
            DType::F32 => (1 << 24) + 1,
            DType::F64 => (1 << 53) + 1,
            _ => i64::MAX,
        };
        let (low, high) = match (from_, to) {
            (Some(f), Some(t)) => (f, t),
            (Some(t), None) | (None, Some(t)) => (0, t),
            (None, None) => (0, top),
        };
        law("random_", Law::Integers { low, high }, input.dtype(), input.shape().clone(), generator)
    }
}
