//! The text of a program:
//! ```text
//! program(%0: float32[3], %1: float32[]) reads (%2: float32[3]):
//!     %3: float32[3] = mul(%0, %2)                                # model.py:12
//!     return %3
//! ```

use super::{Output, Program};
use crate::core::Params;
use crate::core::Tensor;
use crate::core::node::Meta;
use crate::core::trace::Atom;
use std::fmt::{self, Display, Formatter};

/// Column of the comments.
const MARGIN: usize = 72;

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let declared = |vars: Vec<u32>| vars.iter().map(|&v| self.declaration(v)).collect::<Vec<_>>().join(", ");
        write!(f, "program({})", declared((0..self.inputs as u32).collect()))?;
        if !self.captures.is_empty() {
            write!(f, " reads ({})", declared(self.captures.iter().map(|c| c.1).collect()))?;
        }
        writeln!(f, ":")?;
        for step in &self.steps {
            let i = &step.instruction;
            let outs: Vec<String> = i.outs.iter().map(|&v| self.declaration(v)).collect();
            let mut args: Vec<String> = i.args.iter().map(atom).collect();
            args.extend(parameters(&i.params));
            let mut line = format!("    {} = {}({})", outs.join(", "), i.prim.name(), args.join(", "));
            if let Some(place) = &i.line {
                line = format!("{line:<MARGIN$}  # {place}");
            }
            writeln!(f, "{line}")?;
        }
        let outs: Vec<String> = self.outputs.iter().map(output).collect();
        write!(f, "    return {}", outs.join(", "))
    }
}

impl Program {
    fn declaration(&self, var: u32) -> String {
        format!("%{var}: {}", self.vars[var as usize])
    }
}

fn atom(a: &Atom) -> String {
    match a {
        Atom::Var(v) => format!("%{v}"),
        Atom::Const(t) => constant(t),
    }
}

fn output(o: &Output) -> String {
    match o {
        Output::Var(v) => format!("%{v}"),
        Output::Const(t) => constant(t),
    }
}

/// A constant: its value if it is a number, else what it is.
fn constant(t: &Tensor) -> String {
    match t.dense() {
        Some(a) if a.rank() == 0 => a.item().map_or_else(|_| Meta::of(t).to_string(), |s| s.to_string()),
        _ => format!("const {}", Meta::of(t)),
    }
}

fn parameters(p: &Params) -> Option<String> {
    Some(match p {
        Params::None => return None,
        Params::Shape(s) => format!("shape={s}"),
        Params::Dims { dims, keep: false } => format!("dims={dims:?}"),
        Params::Dims { dims, keep: true } => format!("dims={dims:?}, keepdim"),
        Params::Order(o) => format!("order={o:?}"),
        Params::Dim(d) => format!("dim={d}"),
        Params::Slice { dim, start, len, step } => format!("dim={dim}, start={start}, length={len}, step={step}"),
        Params::DType(d) => format!("{d}"),
        Params::Fill { value, dtype, shape } => format!("{value}, {}", Meta { dtype: *dtype, shape: shape.clone() }),
        Params::Ints(v) => format!("{v:?}"),
        Params::Float(x) => format!("{x}"),
        Params::Other(o) => format!("{o:?}"),
    })
}
