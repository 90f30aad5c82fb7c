//! How long a call will take, from the shapes of its arguments: whoever holds a lock of the host language gives it away
//! for long calls.

use super::entry::{Entry, Flags};
use super::value::Value;
use crate::base::Scalar;
use crate::core::primitive::operator_of;
use crate::core::{Primitive, Tensor};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::OnceLock;

/// What the time of an operator grows with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Cost {
    /// Nothing: a view, or a question about dtypes.
    Free,
    /// Elements, of which each takes little more than its way through memory.
    Cheap,
    /// Elements, of which each takes tens of instructions.
    Transcendental,
    /// Elements that are drawn, or gathered from anywhere.
    Scattered,
    /// n log n of elements that are compared.
    Sort,
    /// Products of matrices: rows times columns times what is summed over.
    Product,
    /// Decompositions of matrices: the cube of their size.
    Cubic,
    /// Outputs times the weights of each.
    Convolution,
    /// Elements times the size of the window, the first integers among the arguments.
    Window,
}

/// Nanoseconds from which a call is long: waiting for a lock costs less than this.
pub const LONG: f64 = 20_000.0;

impl Cost {
    /// Nanoseconds for one unit of work on one core; estimated, and rather too few than too many.
    const fn unit(self) -> f64 {
        match self {
            Cost::Free => 0.0,
            Cost::Cheap => 0.2,
            Cost::Transcendental | Cost::Scattered | Cost::Sort => 2.0,
            Cost::Product | Cost::Convolution => 0.04,
            Cost::Cubic | Cost::Window => 1.0,
        }
    }

    /// Elements of an operator on elements from which it is long.
    pub const fn limit(self) -> usize {
        match self {
            Cost::Free => usize::MAX,
            c => (LONG / c.unit()) as usize,
        }
    }

    /// Whether an operator on the elements of two tensors is long.
    #[inline(always)]
    pub fn is_long_of(self, a: &Tensor, b: &Tensor) -> bool {
        let limit = self.limit();
        // Two tensors span at most the product of their sizes; few exceed it, and their shapes tell.
        a.stored().saturating_mul(b.stored()) >= limit && self.is_long_spanned(a, b)
    }

    #[inline(never)]
    fn is_long_spanned(self, a: &Tensor, b: &Tensor) -> bool {
        match self {
            Cost::Product => product(&[a, b]) * self.unit() >= LONG,
            _ => spanned(&[a, b]) >= self.limit() as f64,
        }
    }
}

impl Cost {
    /// Units of work for these tensors.
    fn work(self, tensors: &[&Tensor]) -> f64 {
        match self {
            Cost::Sort => {
                let n = spanned(tensors);
                n * n.max(2.0).log2()
            }
            Cost::Product => product(tensors),
            Cost::Cubic => tensors.iter().map(|t| cubic(t)).fold(0.0, f64::max),
            Cost::Convolution => convolution(tensors),
            _ => spanned(tensors),
        }
    }
}

impl Flags {
    /// The cost class of an entry: what its flags say, or else what its kind suggests.
    pub const fn cost(self) -> Cost {
        const CLASSES: [Cost; 9] = [
            Cost::Free,
            Cost::Cheap,
            Cost::Transcendental,
            Cost::Scattered,
            Cost::Sort,
            Cost::Product,
            Cost::Cubic,
            Cost::Convolution,
            Cost::Window,
        ];
        match ((self.0 >> Flags::COST_SHIFT) & Flags::COST_MASK) as usize {
            0 if self.has(Flags::RANDOM) => Cost::Scattered,
            0 if self.has(Flags::VIEW) && !self.has(Flags::OR_COPY) => Cost::Free,
            0 => Cost::Cheap,
            n => CLASSES[n - 1],
        }
    }

    /// Whether a call with these arguments is long.
    pub fn is_long(self, values: &[Value]) -> bool {
        let cost = self.cost();
        if cost == Cost::Free {
            return false;
        }
        if self.is_short_for_sure(cost, values) {
            return false;
        }
        let mut tensors = Vec::new();
        values.iter().for_each(|v| collect(v, &mut tensors));
        let work = match cost {
            _ if self.has(Flags::CREATION) => asked(values).max(spanned(&tensors)),
            Cost::Window => spanned(&tensors) * window(values),
            _ if self.has(Flags::REPEATS) => spanned(&tensors) * window(values),
            _ => cost.work(&tensors),
        };
        work * cost.unit() >= LONG
    }

    /// Whether the tensors are too few and too small, whatever their shapes are: no work exceeds the product of their sizes,
    /// or its square where the elements of one meet each other.
    #[inline]
    fn is_short_for_sure(self, cost: Cost, values: &[Value]) -> bool {
        let power = match cost {
            Cost::Window => return false,
            _ if self.has(Flags::CREATION) || self.has(Flags::REPEATS) => return false,
            Cost::Sort | Cost::Cubic => 2,
            _ => 1,
        };
        let mut most = 1usize;
        for v in values {
            match v {
                Value::Tensor(t) => most = most.saturating_mul(t.stored().max(t.numel()).max(1)),
                Value::List(_) | Value::Tuple(_) => return false,
                _ => {}
            }
        }
        (most as f64).powi(power) * cost.unit() < LONG
    }
}

/// Elements of the largest tensor below which no operator is long: not even a decomposition of a square matrix.
const SMALL: usize = 700;

/// Whether a rule of a primitive is long that reads these tensors, the arguments of the operator in front.
#[inline]
pub fn is_long_rule<'a>(p: &dyn Primitive, tensors: impl Iterator<Item = &'a Tensor> + Clone) -> bool {
    tensors.clone().any(|t| t.stored() >= SMALL) && is_long_of_class(p, &tensors.collect::<SmallVec<[_; 8]>>())
}

#[inline(never)]
fn is_long_of_class(p: &dyn Primitive, tensors: &[&Tensor]) -> bool {
    let cost = of_primitive(p);
    cost.work(tensors) * cost.unit() >= LONG
}

/// The class of the operator that a primitive is a part of.
fn of_primitive(p: &dyn Primitive) -> Cost {
    // Primitives are known by where they are; those made at run time, whose place may be used again, are not among them.
    static CLASSES: OnceLock<FxHashMap<usize, Cost>> = OnceLock::new();
    let classes = CLASSES.get_or_init(|| {
        let names = |e: &'static Entry| [Some(e.name), e.primitive.map(|p| operator_of(p.name()))];
        let entries = super::entries().flat_map(|e| names(e).into_iter().flatten().map(|name| (name, e.flags.cost())));
        let of_operator: FxHashMap<&str, Cost> = entries.collect();
        let class = |p: &&'static dyn Primitive| Some((place(*p), *of_operator.get(operator_of(p.name()))?));
        super::primitives::all().filter_map(|p| class(&p)).collect()
    });
    match classes.get(&place(p)) {
        // A view's derivative moves elements.
        None | Some(Cost::Free) => Cost::Cheap,
        Some(&cost) => cost,
    }
}

fn place(p: &dyn Primitive) -> usize {
    std::ptr::from_ref(p).cast::<()>() as usize
}

fn collect<'a>(v: &'a Value, out: &mut Vec<&'a Tensor>) {
    match v {
        Value::Tensor(t) => out.push(t),
        Value::List(items) | Value::Tuple(items) => items.iter().for_each(|v| collect(v, out)),
        _ => {}
    }
}

/// Members of a batch, which the shape of a value does not show.
fn members(t: &Tensor) -> f64 {
    (t.stored() as f64 / t.numel().max(1) as f64).max(1.0)
}

/// Elements of what tensors broadcast to, or of the largest of them.
fn spanned(tensors: &[&Tensor]) -> f64 {
    if let [t] = tensors {
        return t.stored().max(t.numel()) as f64;
    }
    let rank = tensors.iter().map(|t| t.rank()).max().unwrap_or(0);
    let along = |i: usize| tensors.iter().filter_map(|t| t.shape().iter().rev().nth(i)).max();
    let span: f64 = (0..rank).filter_map(along).map(|&n| n as f64).product();
    let most = tensors.iter().map(|t| t.stored()).max().unwrap_or(0) as f64;
    (span * tensors.iter().map(|t| members(t)).fold(1.0, f64::max)).max(most)
}

/// Multiplications of the product of the last two matrices or vectors among the tensors.
fn product(tensors: &[&Tensor]) -> f64 {
    let [.., a, b] = tensors else { return spanned(tensors) };
    let shared = a.shape().last().copied().unwrap_or(1).max(1) as f64;
    // Batches of both are the same matrices one by one.
    let lead = |t: &Tensor| t.shape().iter().rev().skip(2).map(|&n| n as f64).product::<f64>();
    let batches = lead(a).min(lead(b)).max(1.0) * members(a).min(members(b));
    a.stored().max(a.numel()) as f64 * b.stored().max(b.numel()) as f64 / shared / batches
}

fn cubic(t: &Tensor) -> f64 {
    let small = t.shape().iter().rev().take(2).min().copied().unwrap_or(1);
    t.stored() as f64 * small as f64
}

/// Each element of the input meets each weight, but of its own channel only.
fn convolution(tensors: &[&Tensor]) -> f64 {
    let [input, weight, ..] = tensors else { return spanned(tensors) };
    let channels = input.shape().iter().rev().nth(weight.rank().saturating_sub(2)).copied().unwrap_or(1);
    input.stored() as f64 * weight.stored() as f64 / channels.max(1) as f64
}

/// The product of the first integers among the arguments.
fn window(values: &[Value]) -> f64 {
    let sizes = values.iter().find_map(|v| match v {
        Value::Ints(sizes) => Some(sizes.iter().map(|&n| n.max(1) as f64).product()),
        Value::Int(n) => Some((*n).max(1) as f64),
        _ => None,
    });
    sizes.unwrap_or(1.0)
}

/// Elements that the arguments of a maker of tensors ask for: the product of a shape, or a count.
fn asked(values: &[Value]) -> f64 {
    let shape = values.iter().find_map(|v| match v {
        Value::Ints(sizes) => Some(sizes.iter().map(|&n| n.max(1) as f64).product::<f64>()),
        _ => None,
    });
    let count = |v: &Value| match v {
        Value::Int(n) => (*n).max(1) as f64,
        _ => 1.0,
    };
    let end = |v: &Value| match v {
        Value::Number(n @ (Scalar::Int(_) | Scalar::Float(_))) => n.as_f64().abs(),
        _ => 0.0,
    };
    shape.unwrap_or_else(|| values.iter().map(count).product::<f64>().max(values.iter().map(end).fold(0.0, f64::max)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::DType;

    fn is_long(name: &str, shapes: &[&[usize]]) -> bool {
        let tensor = |s: &&[usize]| Value::Tensor(Tensor::zeros(*s, DType::F64).unwrap());
        let entry = crate::ops::find(name).unwrap();
        entry.flags.is_long(&shapes.iter().map(tensor).collect::<Vec<_>>())
    }

    #[test]
    fn time_decides_and_not_the_number_of_elements() {
        assert!(is_long("linalg.svd", &[&[300, 300]]));
        assert!(!is_long("linalg.svd", &[&[8, 8]]));
        assert!(is_long("linalg.cholesky", &[&[1000, 8, 8]]));
        assert!(!is_long("add", &[&[50_000], &[50_000]]));
        assert!(is_long("add", &[&[200_000], &[]]));
        assert!(is_long("sin", &[&[50_000]]));
        assert!(!is_long("sin", &[&[5_000]]));
        assert!(is_long("sort", &[&[10_000]]));
        assert!(!is_long("sort", &[&[100]]));
    }

    #[test]
    fn what_two_arguments_span_counts() {
        assert!(is_long("add", &[&[1_000, 1], &[1, 1_000]]));
        assert!(is_long("matmul", &[&[200, 200], &[200, 200]]));
        assert!(!is_long("matmul", &[&[32, 32], &[32, 32]]));
        assert!(!is_long("matmul", &[&[100, 8, 8], &[100, 8, 8]]));
        assert!(is_long("nn.functional.linear", &[&[64, 512], &[512, 512]]));
        assert!(is_long("nn.functional.conv2d", &[&[1, 16, 64, 64], &[32, 16, 3, 3]]));
        assert!(!is_long("nn.functional.conv2d", &[&[1, 1, 8, 8], &[2, 1, 3, 3]]));
    }

    #[test]
    fn views_take_no_time_and_makers_what_they_are_asked_for() {
        assert!(!is_long("t", &[&[2000, 2000]]));
        let zeros = crate::ops::find("zeros").unwrap().flags;
        assert!(zeros.is_long(&[Value::Ints([1000, 1000].into_iter().collect())]));
        assert!(!zeros.is_long(&[Value::Ints([10, 10].into_iter().collect())]));
        let arange = crate::ops::find("arange").unwrap().flags;
        assert!(arange.is_long(&[Value::Number(Scalar::Int(1_000_000))]));
    }
}
