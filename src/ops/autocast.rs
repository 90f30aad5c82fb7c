//! Autocast: inside of it some operators get their arguments in a dtype of half precision, and others in float32. Which
//! ones is a flag of each entry, so that the conversion stands at the door, in front of promotion, and is an operator with
//! a derivative like any other. What an operator is made of does not pass the door again.

use super::entry::{Entry, Flags};
use super::value::Value;
use crate::bail;
use crate::base::{DType, Result};
use crate::core::node_name::Since;
use crate::core::{Tensor, level};
use crate::rules::basis;

impl Flags {
    /// Under autocast, floats are lowered to its dtype: products and convolutions.
    pub const LOWERS: Flags = Flags(1 << 32);
    /// Under autocast, floats become float32.
    pub const IN_SINGLE: Flags = Flags(1 << 33);
    /// Under autocast, floats become float32 if one of them is that, and otherwise its dtype.
    pub const WIDEST: Flags = Flags(1 << 34);
    const POLICY: u64 = Flags::LOWERS.0 | Flags::IN_SINGLE.0 | Flags::WIDEST.0;

    /// Whether autocast changes the dtypes of arguments.
    #[inline(always)]
    pub const fn has_policy(self) -> bool {
        self.0 & Flags::POLICY != 0
    }
}

/// Whether autocast converts tensors of this dtype: float64 stays.
fn is_eligible(t: &Tensor) -> bool {
    t.dtype() == DType::F32 || t.dtype().is_half()
}

fn each<'a>(values: &'a [Value], see: &mut impl FnMut(&'a Tensor) -> Result<()>) -> Result<()> {
    values.iter().try_for_each(|v| match v {
        Value::Tensor(t) if is_eligible(t) => see(t),
        Value::List(items) | Value::Tuple(items) => each(items, see),
        _ => Ok(()),
    })
}

fn converted(values: &[Value], dtype: DType) -> Result<Vec<Value>> {
    let one = |v: &Value| match v {
        Value::Tensor(t) if is_eligible(t) => basis::cast(t, dtype).map(Value::Tensor),
        Value::List(items) => converted(items, dtype).map(Value::List),
        Value::Tuple(items) => converted(items, dtype).map(Value::Tuple),
        other => Ok(other.clone()),
    };
    values.iter().map(one).collect()
}

/// The dtype that the flags of an operator ask for, where autocast lowers to `lower`.
fn wanted(flags: Flags, lower: DType, values: &[Value]) -> Result<DType> {
    if flags.has(Flags::LOWERS) {
        return Ok(lower);
    }
    if flags.has(Flags::IN_SINGLE) {
        return Ok(DType::F32);
    }
    let mut widest = lower;
    each(values, &mut |t| {
        if t.dtype() != lower && t.dtype() != DType::F32 {
            bail!(
                Runtime,
                "Unexpected floating ScalarType in autocast: {} beside {lower}; convert one of them",
                t.dtype()
            );
        }
        if t.dtype() == DType::F32 {
            widest = DType::F32;
        }
        Ok(())
    })?;
    Ok(widest)
}

/// Autocast is off until this is dropped.
struct Off(Option<DType>);
impl Off {
    fn new() -> Off {
        Off(level::set_autocast(None))
    }
}
impl Drop for Off {
    fn drop(&mut self) {
        level::set_autocast(self.0);
    }
}

impl Entry {
    /// Runs it as callers see it: autocast may give its arguments other dtypes.
    #[inline(always)]
    pub fn call(&'static self, values: &[Value]) -> Result<Value> {
        if self.flags.has_policy()
            && let Some(lower) = level::autocast()
        {
            return self.call_cast(values, lower);
        }
        let since = Since::now();
        let out = (self.run)(values)?;
        self.name_nodes(since, values, &out);
        Ok(out)
    }

    #[cold]
    #[inline(never)]
    fn call_cast(&'static self, values: &[Value], lower: DType) -> Result<Value> {
        let values = converted(values, wanted(self.flags, lower, values)?)?;
        let _off = Off::new();
        let since = Since::now();
        let out = (self.run)(&values)?;
        self.name_nodes(since, &values, &out);
        Ok(out)
    }
}

/// Operands of a product that an operator without a policy of its own is made of.
pub fn lowered(tensors: [&Tensor; 2]) -> Result<[Tensor; 2]> {
    let [a, b] = tensors.map(|t| match level::autocast() {
        Some(lower) if is_eligible(t) => basis::cast(t, lower),
        _ => Ok(t.clone()),
    });
    Ok([a?, b?])
}

/// The product of matrices as `matmul` gives it under autocast, for operators that are made of products.
pub fn product(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if level::autocast().is_none() {
        return basis::matmul(a, b);
    }
    let [a, b] = lowered([a, b])?;
    basis::matmul(&a, &b)
}

/// Runs `f` as it is without autocast.
pub fn without<R>(f: impl FnOnce() -> R) -> R {
    let _off = level::autocast().map(|_| Off::new());
    f()
}

/// A tensor as operators that compute in float32 under autocast get it.
pub fn in_single(x: &Tensor) -> Result<Tensor> {
    if level::autocast().is_some() && is_eligible(x) { basis::cast(x, DType::F32) } else { Ok(x.clone()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::entry::Fast;

    #[test]
    fn shortcuts_do_not_pass_autocast_by() {
        let mut with_policy = 0;
        for e in crate::ops::table() {
            with_policy += usize::from(e.flags.has_policy());
            assert!(!e.flags.has_policy() || matches!(e.fast, Fast::No | Fast::Product(_)), "{}", e.name);
            let policies = [Flags::LOWERS, Flags::IN_SINGLE, Flags::WIDEST].map(|f| usize::from(e.flags.has(f)));
            assert!(policies.iter().sum::<usize>() <= 1, "{}", e.name);
        }
        assert!(with_policy > 50, "{with_policy}");
    }
}
