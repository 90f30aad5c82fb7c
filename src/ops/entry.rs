//! One operator of the table.

use super::named::NamedType;
use super::value::{ArgKind, Value};
use crate::base::Result;
use crate::core::node_name::Since;
use crate::core::{Primitive, Tensor};

/// A parameter of an entry.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    pub name: &'static str,
    /// Other keywords for it, besides those that hold for all operators.
    pub aliases: &'static [&'static str],
    pub kind: ArgKind,
    /// Whether `None` is accepted.
    pub optional: bool,
    /// The default as written in Rust; `None` if the argument is required.
    pub default: Option<&'static str>,
    pub keyword_only: bool,
    /// What it is declared to be beyond its type, such as `Dim`: a kind of [`super::signature`].
    pub declared: Option<&'static str>,
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

/// What a view may show instead of its argument's own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Shown {
    Conjugates,
    /// The conjugates of transposed matrices.
    Adjoints,
    /// Real and imaginary parts along a last dimension.
    Parts,
    /// Complex numbers of such parts.
    Whole,
    RealParts,
    ImaginaryParts,
    Negatives,
}
impl Shown {
    const ALL: [Shown; 7] = [
        Shown::Conjugates,
        Shown::Adjoints,
        Shown::Parts,
        Shown::Whole,
        Shown::RealParts,
        Shown::ImaginaryParts,
        Shown::Negatives,
    ];
}

/// Where an entry appears besides its function, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags(pub u64);

impl Flags {
    pub const NONE: Flags = Flags(0);
    /// Also a method of `Tensor`, its first parameter being the tensor.
    pub const METHOD: Flags = Flags(1);
    /// The same in Python alone, where Rust's method of the name is another one.
    pub const PYTHON_METHOD: Flags = Flags::METHOD;
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
    /// A view only where the layout allows it, and a copy elsewhere.
    pub const OR_COPY: Flags = Flags(1 << 13);
    /// A view only where the layout allows it, and an error elsewhere.
    pub const OR_ERROR: Flags = Flags(1 << 14);
    /// A view without history.
    pub const HISTORYLESS: Flags = Flags(1 << 15);
    /// Gives the argument itself back where nothing changes.
    pub const SAME_OBJECT: Flags = Flags(1 << 16);
    /// Writes to `out` as it is: its dtype must be the result's.
    pub const EXACT_OUT: Flags = Flags(1 << 17);
    /// A function that gives new tensors and does not take `out`.
    pub const NO_OUT: Flags = Flags(1 << 18);
    /// Also a function `name_`, which puts the result into its first argument.
    pub const INPLACE_FUNCTION: Flags = Flags(1 << 19);
    /// The shape of the result depends on the data of the arguments.
    pub const DYNAMIC: Flags = Flags(1 << 20);
    /// A dtype in place of the shape shows the same memory as elements of it.
    pub const TAKES_DTYPE: Flags = Flags(1 << 21);
    /// The result has as many times the elements of the argument as the integers say.
    pub const REPEATS: Flags = Flags(1 << 22);
    /// The result is in row-major order, though its rule moves dimensions.
    pub const ROW_MAJOR: Flags = Flags(1 << 26);
    /// Results of the first argument's shape lie in memory as it does; with [`Flags::CREATION`], a new tensor lies in its
    /// memory as it was made, with gaps and elements that share a place.
    pub const KEEPS_ORDER: Flags = Flags(1 << 35);
    /// The first argument serves for nothing but a copy in which some elements change: `name_` may change them in place.
    pub const OVERWRITES: Flags = Flags(1 << 31);

    /// The cost class, as its number plus one; see [`super::cost::Cost`].
    pub(super) const COST_SHIFT: u32 = 27;
    pub(super) const COST_MASK: u64 = 15;
    const fn of_cost(class: super::cost::Cost) -> Flags {
        Flags((class as u64 + 1) << Flags::COST_SHIFT)
    }
    pub const FREE: Flags = Flags::of_cost(super::cost::Cost::Free);
    pub const TRANSCENDENTAL: Flags = Flags::of_cost(super::cost::Cost::Transcendental);
    pub const SCATTERED: Flags = Flags::of_cost(super::cost::Cost::Scattered);
    pub const SORT: Flags = Flags::of_cost(super::cost::Cost::Sort);
    pub const PRODUCT: Flags = Flags::of_cost(super::cost::Cost::Product);
    pub const CUBIC: Flags = Flags::of_cost(super::cost::Cost::Cubic);
    pub const CONVOLUTION: Flags = Flags::of_cost(super::cost::Cost::Convolution);
    pub const WINDOW: Flags = Flags::of_cost(super::cost::Cost::Window);

    /// Which other numbers than its argument's a view shows, as the number of the [`Shown`] plus one: with [`Flags::VIEW`].
    const SHOWN_SHIFT: u32 = 23;
    const fn of_shown(shown: Shown) -> Flags {
        Flags((shown as u64 + 1) << Flags::SHOWN_SHIFT)
    }
    pub const CONJUGATES: Flags = Flags::of_shown(Shown::Conjugates);
    pub const ADJOINTS: Flags = Flags::of_shown(Shown::Adjoints);
    pub const PARTS: Flags = Flags::of_shown(Shown::Parts);
    pub const WHOLE: Flags = Flags::of_shown(Shown::Whole);
    pub const REAL_PARTS: Flags = Flags::of_shown(Shown::RealParts);
    pub const IMAGINARY_PARTS: Flags = Flags::of_shown(Shown::ImaginaryParts);
    pub const NEGATIVES: Flags = Flags::of_shown(Shown::Negatives);
    /// Which other numbers than its argument's a view shows.
    pub const fn shown(self) -> Option<Shown> {
        match (self.0 >> Flags::SHOWN_SHIFT) & 7 {
            0 => None,
            n => Some(Shown::ALL[n as usize - 1]),
        }
    }

    pub const fn or(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A doc comment as text, from the lines that the compiler gives.
pub fn plain_text(lines: &str) -> String {
    lines.lines().map(|l| l.strip_prefix(' ').unwrap_or(l)).collect::<Vec<_>>().join("\n")
}

/// Shortcuts past [`Value`]s for the commonest signatures.
#[derive(Clone, Copy)]
pub enum Fast {
    No,
    Unary(fn(&Tensor) -> Result<Tensor>),
    /// Of two operands, whatever other parameters there are having their defaults.
    Binary(fn(&Tensor, &Tensor) -> Result<Tensor>),
    /// Of two matrices, perhaps with a summand.
    Product(fn(&Tensor, &Tensor, Option<&Tensor>) -> Result<Tensor>),
}

/// What nodes of an entry's results are called, as [`crate::core::node_name::class_of`] reads it.
#[derive(Clone, Copy)]
pub struct NodeNames {
    pub usual: &'static str,
    /// Where the parameter at place `by` was given, and not as its default or as a number in place of a tensor.
    pub other: &'static str,
    pub by: usize,
}

impl NodeNames {
    pub const fn one(name: &'static str) -> NodeNames {
        NodeNames { usual: name, other: name, by: 0 }
    }
    /// Two names, by the parameter of a name.
    ///
    /// # Panics
    /// If there is none: at compile time.
    pub const fn two(usual: &'static str, params: &[&str], by: &str, other: &'static str) -> NodeNames {
        let mut i = 0;
        while !is_same(params[i], by) {
            i += 1;
        }
        NodeNames { usual, other, by: i }
    }
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// An operator of the table.
pub struct Entry {
    /// Path below the package: `sin`, `linalg.solve`, `nn.functional.relu`.
    pub name: &'static str,
    /// Other paths of the same operator.
    pub aliases: &'static [&'static str],
    /// The primitive that it runs; composites have none.
    pub primitive: Option<&'static dyn Primitive>,
    pub params: &'static [Param],
    /// What `run` gives, as in [`super::value::IntoValue::RETURNS`]; for stubs.
    pub returns: &'static str,
    /// The named tuple that it gives; `max` and `min` do where they reduce a dimension.
    pub named: Option<&'static NamedType>,
    /// Lines as the compiler gives them. One text has one address that is relocated when the library is loaded.
    pub doc: &'static str,
    pub flags: Flags,
    /// Where nodes are not called after the path.
    pub nodes: Option<&'static NodeNames>,
    pub run: fn(&[Value]) -> Result<Value>,
    pub fast: Fast,
}

fn name_all(since: Since, out: &Value, called: &'static &'static str) {
    match out {
        Value::Tensor(t) => since.name(t, called),
        Value::List(items) | Value::Tuple(items) => items.iter().for_each(|v| name_all(since, v, called)),
        Value::Named(named) => named.items.iter().for_each(|v| name_all(since, v, called)),
        Value::Updated(u) => since.name(&u.out, called),
        _ => {}
    }
}

impl Entry {
    /// The last part of the path, which messages and methods use.
    pub fn short_name(&self) -> &'static str {
        match self.name.rsplit_once('.') {
            Some((_, last)) => last,
            None => self.name,
        }
    }
    /// Whether it is a function, and not only a method or a property.
    pub const fn is_function(&self) -> bool {
        !self.flags.has(Flags::NOT_FUNCTION) && !self.flags.has(Flags::PROPERTY)
    }
    /// Whether the function takes `out=`: all that give new tensors, unless their flags say otherwise.
    pub const fn takes_out(&self) -> bool {
        self.is_function() && !self.flags.has(Flags::VIEW) && !self.flags.has(Flags::NO_OUT)
    }
    fn is_other(&self, nodes: &NodeNames, args: &[Value]) -> bool {
        let Some(by) = self.params.get(nodes.by).filter(|_| nodes.by > 0) else { return false };
        match args.get(nodes.by) {
            None | Some(Value::Missing | Value::None) => false,
            Some(Value::Number(_)) => by.kind != ArgKind::Operand,
            Some(Value::Str(word)) => by.default.is_none_or(|default| default.trim_matches('"') != word),
            Some(_) => true,
        }
    }
    /// What nodes of its results are usually called, and what they are called otherwise.
    pub fn node_names(&'static self) -> (&'static &'static str, &'static &'static str) {
        self.nodes.map_or((&self.name, &self.name), |nodes| (&nodes.usual, &nodes.other))
    }
    /// Gives the new nodes that a result comes from the name of this operator.
    #[inline(always)]
    pub fn name_nodes(&'static self, since: Since, args: &[Value], out: &Value) {
        let named = match self.nodes {
            None => &self.name,
            Some(nodes) if self.is_other(nodes, args) => &nodes.other,
            Some(nodes) => &nodes.usual,
        };
        match out {
            Value::Tensor(t) => since.name(t, named),
            out => name_all(since, out, named),
        }
    }
    /// Doc comment as text.
    pub fn documentation(&self) -> String {
        plain_text(self.doc)
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
