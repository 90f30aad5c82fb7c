//! Arguments and results of table entries, as a host language passes them.

use super::named::NamedType;
use crate::base::{DType, Error, Result, Scalar};
use crate::core::Tensor;
use crate::core::params::Parameters;
use smallvec::SmallVec;
use std::sync::Arc;

/// What a parameter accepts; the host language converts by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArgKind {
    Tensor,
    /// A tensor, or a number, which is weak in promotion.
    Operand,
    Number,
    Int,
    Float,
    Bool,
    Str,
    /// One integer or several.
    Ints,
    DType,
    /// A sequence of tensors.
    Tensors,
    /// A sequence of tensors or numbers.
    Operands,
    /// An index expression: integers, slices, `None`, `...`, tensors.
    Index,
    Generator,
    /// What has one value here, which the host language checks.
    Setting(Setting),
    /// Anything; the entry looks at it.
    Any,
}

/// Settings of PyTorch that have few values here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Setting {
    Device,
    Layout,
    PinMemory,
    MemoryFormat,
    Driver,
}

/// Parameter types of settings: the host language has checked them, and entries have nothing to do with them.
pub mod setting {
    use super::{Arg, ArgKind, Result, Setting, Value};

    macro_rules! settings {
        ($($(#[doc = $doc:literal])* $name:ident)*) => {$(
            $(#[doc = $doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub enum $name {
                None,
            }
            impl Arg<'_> for $name {
                const KIND: ArgKind = ArgKind::Setting(Setting::$name);
                fn from_value(_: &Value) -> Result<Self> {
                    Ok($name::None)
                }
            }
        )*};
    }
    settings! {
        /// Where the elements are: in main memory.
        Device
        /// How elements are stored: by strides.
        Layout
        /// Whether the memory is pinned, which needs an accelerator.
        PinMemory
        /// The order of dimensions in memory, into which the host language brings the result.
        MemoryFormat
        /// Which of an accelerator's algorithms runs.
        Driver
    }
}

impl ArgKind {
    /// The name in stubs and in the list that Python sees.
    pub const fn name(self) -> &'static str {
        match self {
            ArgKind::Tensor => "Tensor",
            ArgKind::Operand => "TensorOrNumber",
            ArgKind::Number => "Number",
            ArgKind::Int => "int",
            ArgKind::Float => "float",
            ArgKind::Bool => "bool",
            ArgKind::Str => "str",
            ArgKind::Ints => "ints",
            ArgKind::DType => "dtype",
            ArgKind::Tensors => "Tensors",
            ArgKind::Operands => "TensorsOrNumbers",
            ArgKind::Index => "index",
            ArgKind::Generator => "Generator",
            ArgKind::Setting(_) | ArgKind::Any => "any",
        }
    }
}

/// One item of an index expression.
#[derive(Debug, Clone)]
pub enum IndexItem {
    Int(i64),
    Slice {
        start: Option<i64>,
        stop: Option<i64>,
        step: Option<i64>,
    },
    NewAxis,
    Ellipsis,
    /// A bool of the host language: a mask without dimensions.
    Bool(bool),
    /// Integer or bool tensor.
    Tensor(Tensor),
}

/// Values with a field name each, such as `(values, indices)`.
#[derive(Debug, Clone)]
pub struct Named {
    pub class: &'static NamedType,
    pub items: Vec<Value>,
}

/// An argument or a result.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// Not given: the default applies.
    #[default]
    Missing,
    None,
    Tensor(Tensor),
    Number(Scalar),
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    Ints(SmallVec<[i64; 6]>),
    DType(DType),
    List(Vec<Value>),
    Tuple(Vec<Value>),
    Named(Box<Named>),
    Index(Vec<IndexItem>),
    /// A result, and values that the caller writes into arguments.
    Updated(Box<Updated>),
    /// A generator or another object of the library.
    Object(Arc<dyn Parameters>),
}

impl Value {
    pub fn is_missing(&self) -> bool {
        matches!(self, Value::Missing)
    }
    /// What it is, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Missing => "nothing",
            Value::None => "None",
            Value::Tensor(_) => "Tensor",
            Value::Number(Scalar::Bool(_)) | Value::Bool(_) => "bool",
            Value::Number(Scalar::Int(_) | Scalar::Unsigned(_) | Scalar::Huge(_)) | Value::Int(_) => "int",
            Value::Number(Scalar::Float(_)) | Value::Float(_) => "float",
            Value::Number(Scalar::Complex(_)) => "complex",
            Value::Str(_) => "str",
            Value::Ints(_) => "tuple of ints",
            Value::DType(_) => "dtype",
            Value::List(_) => "list",
            Value::Tuple(_) | Value::Named(_) => "tuple",
            Value::Index(_) => "index",
            Value::Object(_) | Value::Updated(_) => "object",
        }
    }
}

/// A Rust parameter type of an entry.
pub trait Arg<'a>: Sized {
    const KIND: ArgKind;
    /// Whether `None` is accepted.
    const OPTIONAL: bool = false;
    fn from_value(v: &'a Value) -> Result<Self>;
}

#[cold]
fn wrong(want: ArgKind, got: &Value) -> Error {
    Error::type_(format!("expected {}, got {}", want.name(), got.type_name()))
}

/// A tensor or a number.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Operand<'a> {
    /// A tensor.
    Tensor(&'a Tensor),
    /// A number.
    Number(Scalar),
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(t: &'a Tensor) -> Self {
        Operand::Tensor(t)
    }
}
impl<T: Into<Scalar>> From<T> for Operand<'_> {
    fn from(x: T) -> Self {
        Operand::Number(x.into())
    }
}

macro_rules! arg {
    ($($t:ty, $kind:ident, $($pat:pat => $out:expr),+;)*) => {$(
        impl<'a> Arg<'a> for $t {
            const KIND: ArgKind = ArgKind::$kind;
            #[inline]
            fn from_value(v: &'a Value) -> Result<Self> {
                match v { $($pat => Ok($out),)+ other => Err(wrong(ArgKind::$kind, other)) }
            }
        }
    )*};
}

arg! {
    &'a Tensor, Tensor, Value::Tensor(t) => t;
    Operand<'a>, Operand, Value::Tensor(t) => Operand::Tensor(t), Value::Number(s) => Operand::Number(*s);
    Scalar, Number, Value::Number(s) => *s, Value::Int(i) => Scalar::Int(*i), Value::Float(x) => Scalar::Float(*x),
        Value::Bool(b) => Scalar::Bool(*b);
    i64, Int, Value::Int(i) => *i;
    f64, Float, Value::Float(x) => *x, Value::Int(i) => *i as f64;
    bool, Bool, Value::Bool(b) => *b;
    &'a str, Str, Value::Str(s) => s;
    &'a [i64], Ints, Value::Ints(v) => v;
    DType, DType, Value::DType(d) => *d;
    &'a [IndexItem], Index, Value::Index(v) => v;
    &'a Arc<dyn Parameters>, Generator, Value::Object(o) => o;
}

impl<'a> Arg<'a> for &'a Value {
    const KIND: ArgKind = ArgKind::Any;
    fn from_value(v: &'a Value) -> Result<Self> {
        Ok(v)
    }
}

impl<'a> Arg<'a> for Vec<&'a Tensor> {
    const KIND: ArgKind = ArgKind::Tensors;
    fn from_value(v: &'a Value) -> Result<Self> {
        match v {
            Value::List(items) | Value::Tuple(items) => items.iter().map(<&Tensor>::from_value).collect(),
            other => Err(wrong(ArgKind::Tensors, other)),
        }
    }
}

impl<'a> Arg<'a> for Vec<Operand<'a>> {
    const KIND: ArgKind = ArgKind::Operands;
    fn from_value(v: &'a Value) -> Result<Self> {
        match v {
            Value::List(items) | Value::Tuple(items) => items.iter().map(Operand::from_value).collect(),
            other => Err(wrong(ArgKind::Operands, other)),
        }
    }
}

impl<'a, T: Arg<'a>> Arg<'a> for Option<T> {
    const KIND: ArgKind = T::KIND;
    const OPTIONAL: bool = true;
    #[inline]
    fn from_value(v: &'a Value) -> Result<Self> {
        match v {
            Value::None | Value::Missing => Ok(None),
            v => T::from_value(v).map(Some),
        }
    }
}

/// A result, and new values for arguments by position (running statistics).
#[derive(Debug, Clone)]
pub struct Updated {
    pub out: Tensor,
    pub updates: Vec<(usize, Tensor)>,
}

impl IntoValue for Updated {
    const RETURNS: &'static str = "Tensor";
    fn into_value(self) -> Value {
        Value::Updated(Box::new(self))
    }
}

/// What an entry's Rust function may return.
pub trait IntoValue {
    /// The kind of value, in the words of stubs; `any` where it depends on the arguments.
    const RETURNS: &'static str = "any";
    fn into_value(self) -> Value;
}
impl IntoValue for Value {
    fn into_value(self) -> Value {
        self
    }
}
impl IntoValue for Tensor {
    const RETURNS: &'static str = "Tensor";
    #[inline]
    fn into_value(self) -> Value {
        Value::Tensor(self)
    }
}
impl IntoValue for bool {
    const RETURNS: &'static str = "bool";
    fn into_value(self) -> Value {
        Value::Bool(self)
    }
}
impl IntoValue for DType {
    const RETURNS: &'static str = "dtype";
    fn into_value(self) -> Value {
        Value::DType(self)
    }
}
impl IntoValue for Vec<Tensor> {
    const RETURNS: &'static str = "tuple of Tensors";
    fn into_value(self) -> Value {
        Value::Tuple(self.into_iter().map(Value::Tensor).collect())
    }
}
impl IntoValue for (Tensor, Tensor) {
    const RETURNS: &'static str = "2 Tensors";
    fn into_value(self) -> Value {
        Value::Tuple(vec![Value::Tensor(self.0), Value::Tensor(self.1)])
    }
}
impl IntoValue for (Tensor, Tensor, Tensor) {
    const RETURNS: &'static str = "3 Tensors";
    fn into_value(self) -> Value {
        Value::Tuple(vec![Value::Tensor(self.0), Value::Tensor(self.1), Value::Tensor(self.2)])
    }
}
impl IntoValue for Named {
    const RETURNS: &'static str = "named tuple";
    fn into_value(self) -> Value {
        Value::Named(Box::new(self))
    }
}

impl Named {
    pub fn new(class: &'static NamedType, items: impl IntoIterator<Item = Tensor>) -> Named {
        Named { class, items: items.into_iter().map(Value::Tensor).collect() }
    }
}
