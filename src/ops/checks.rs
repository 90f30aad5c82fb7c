//! What several operators ask of the values of an argument: steps that are there to refuse them.

use crate::base::{DType, Error, Result};
use crate::core::params::{fields, parameters};
use crate::core::{Params, Prim, Primitive, Tensor, call};
use crate::dense::copy;
use crate::rules::{Opaque, OpaqueBatch, shapes};
use smallvec::smallvec;
use std::borrow::Cow;

/// What each value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// In [0, 1].
    Fraction,
    NotNegative,
    NotZero,
    Finite,
}

fields! { enum Rule { 0 => Fraction, 1 => NotNegative, 2 => NotZero, 3 => Finite } }

impl Rule {
    fn holds(self, x: f64) -> bool {
        match self {
            Rule::Fraction => (0.0..=1.0).contains(&x),
            // NaN is refused by nobody here.
            Rule::NotNegative => !x.is_sign_negative() || x == 0.0 || x.is_nan(),
            Rule::NotZero => x != 0.0,
            Rule::Finite => x.is_finite(),
        }
    }
    fn refused(self, name: &str, x: f64) -> String {
        match self {
            Rule::Fraction => format!("{name} values must be in the range [0, 1], but got {x}; they are fractions"),
            Rule::NotNegative => format!("{name} cannot be negative, but got {x}; give numbers that are 0 or larger"),
            Rule::NotZero => format!("{name} sum to zero, can't be normalized; give one that is larger than 0"),
            Rule::Finite => {
                format!(
                    "the range of {name} is not finite, since an element is {x}; give the range, or leave such elements out"
                )
            }
        }
    }
}

/// A rule, and what has to follow it: the operator and the values, as messages call them.
#[derive(Debug, Clone)]
struct Checked {
    rule: Rule,
    op: Cow<'static, str>,
    name: Cow<'static, str>,
}

fields! { struct Checked { rule, op, name } }
parameters! { Checked = "checked" }

static CHECK: Opaque = Opaque {
    name: "values:check",
    infer: |_, a| shapes::one(DType::Bool, shapes::first(a)?.shape.clone()),
    eval: |p, args| {
        let Checked { rule, op, name } = p.get::<Checked>();
        let values = copy::cast(args[0].array()?, DType::F64)?.to_vec::<f64>()?;
        if let Some(&wrong) = values.iter().find(|&&x| !rule.holds(x)) {
            return Err(Error::runtime(format!("{op}(): {}", rule.refused(name, wrong))));
        }
        Ok(smallvec![crate::dense::Array::full(DType::Bool, args[0].shape().clone(), true.into())?.into()])
    },
    batching: OpaqueBatch::Check,
};

/// An error if a real value does not follow the rule; at every level.
pub(super) fn check_values(op: &'static str, x: &Tensor, rule: Rule, name: &'static str) -> Result<()> {
    let checked = Checked { rule, op: op.into(), name: name.into() };
    call(Prim::Static(&CHECK), &Params::other(checked), &[x]).map(drop)
}

static PRIMITIVES: &[&dyn Primitive] = &[&CHECK];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    primitives: &[PRIMITIVES],
    parameters: &[crate::core::params::Type::of::<Checked>()],
    ..crate::ops::Family::EMPTY
};
