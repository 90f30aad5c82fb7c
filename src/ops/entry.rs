//! One operator of the table.

use super::value::{Kind, Value};
use crate::base::Result;
use crate::core::Tensor;

/// A parameter of an entry.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    pub name: &'static str,
    pub kind: Kind,
    /// Whether `None` is accepted.
    pub optional: bool,
    /// The default as written in Rust; `None` if the argument is required.
    pub default: Option<&'static str>,
    pub keyword_only: bool,
}

impl Param {
    /// The default in Python's spelling.
    pub fn python_default(&self) -> Option<String> {
        let d = self.default?.trim_end_matches(".into()").trim();
        Some(match d {
            "true" => "True".into(),
            "false" => "False".into(),
            "&[]" => "()".into(),
            _ => match d.split_once("::") {
                // `Scalar::Int(1)` reads as `1`.
                Some((_, rest)) => match rest.split_once('(') {
                    Some((_, inner)) => inner.trim_end_matches(')').to_string(),
                    None => rest.to_string(),
                },
                None => d.replace('"', "'").replace("& [", "(").replace("&[", "(").replace(']', ")"),
            },
        })
    }
}

/// Where an entry appears besides its function, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags(pub u32);

impl Flags {
    pub const NONE: Flags = Flags(0);
    /// Also a method of `Tensor`, its first parameter being the tensor.
    pub const METHOD: Flags = Flags(1);
    /// Also `name_`, which puts the result into its first argument.
    pub const INPLACE: Flags = Flags(2);
    /// A read-only property of `Tensor` (and no function).
    pub const PROPERTY: Flags = Flags(4);
    /// A method only.
    pub const NOT_FUNCTION: Flags = Flags(8);
    /// The result shares its elements with the first argument: writes go both ways.
    pub const VIEW: Flags = Flags(16);
    /// Draws random numbers.
    pub const RANDOM: Flags = Flags(32);
    /// The last positional parameter also takes all remaining arguments: `x.reshape(2, 3)`.
    pub const VARIADIC: Flags = Flags(64);
    /// A building block of other entries: neither function nor method.
    pub const INTERNAL: Flags = Flags(128);
    /// Makes a new tensor: `requires_grad=True` makes the result a leaf, and `device` must name the CPU.
    pub const CREATION: Flags = Flags(256);
    /// `inplace=True` writes the result into the first argument.
    pub const INPLACE_KEYWORD: Flags = Flags(512);
    /// Also writes new values into some of its arguments: the result is an [`super::value::Updated`].
    pub const UPDATES: Flags = Flags(1024);
    /// Takes tensors only, where its macro would also take numbers.
    pub const TENSORS: Flags = Flags(2048);
    /// Takes a tensor and a number in any order, and not two numbers.
    pub const MIXED: Flags = Flags(4096);

    pub const fn or(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Shortcuts past [`Value`]s for the commonest signatures.
#[derive(Clone, Copy)]
pub enum Fast {
    No,
    Unary(fn(&Tensor) -> Result<Tensor>),
    Binary(fn(&Tensor, &Tensor) -> Result<Tensor>),
}

/// An operator of the table.
pub struct Entry {
    /// Path below the package: `sin`, `linalg.solve`, `nn.functional.relu`.
    pub name: &'static str,
    /// Other paths of the same operator.
    pub aliases: &'static [&'static str],
    pub params: &'static [Param],
    /// What `run` gives, as in [`super::value::IntoValue::RETURNS`]; for stubs.
    pub returns: &'static str,
    pub doc: &'static [&'static str],
    pub flags: Flags,
    pub run: fn(&[Value]) -> Result<Value>,
    pub fast: Fast,
}

impl Entry {
    /// The last part of the path, which messages and methods use.
    pub fn short_name(&self) -> &'static str {
        match self.name.rsplit_once('.') {
            Some((_, last)) => last,
            None => self.name,
        }
    }
    /// Doc comment as text.
    pub fn documentation(&self) -> String {
        self.doc.iter().map(|l| l.strip_prefix(' ').unwrap_or(l)).collect::<Vec<_>>().join("\n")
    }
    /// `name(input, dim=None, *, keepdim=False)`
    pub fn signature(&self, method: bool) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut star = false;
        for (i, p) in self.params.iter().enumerate() {
            if p.keyword_only && !star {
                parts.push("*".into());
                star = true;
            }
            let name = if method && i == 0 { "self" } else { p.name };
            parts.push(match p.python_default() {
                Some(d) => format!("{name}={d}"),
                None => name.to_string(),
            });
        }
        format!("({})", parts.join(", "))
    }
}
