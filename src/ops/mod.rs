//! L5: the table of operators, and composites made of them.
//!
//! An operator is one entry. Its Rust function, Python function, method, in-place form, stub and documentation follow
//! from the entry; its rules follow from the category of the primitives that it is made of.

#[macro_use]
pub mod macros;
mod adjugate;
pub mod arith;
pub mod bits;
pub mod compare;
pub mod complex;
pub mod convert;
pub mod cost;
pub mod creation;
pub mod decompositions;
pub mod determinant;
pub mod diagonal;
mod draw;
pub mod einsum;
pub mod entry;
pub mod gather;
mod gauge;
pub mod indexing;
pub mod join;
pub mod linalg;
pub mod matmul;
pub mod named;
pub mod nn;
pub mod norms;
pub mod parameters;
pub mod primitives;
pub mod products;
pub mod promote;
pub mod random;
pub mod reduce;
pub mod rewind;
pub mod shape;
pub mod signature;
mod singular;
pub mod softmax;
pub mod sorting;
pub mod unary;
pub mod value;
pub mod windows;

pub use cost::Cost;
pub use entry::{Entry, Flags, Param};
pub use value::{Arg, Kind, Value};

/// All families of the table. Adding a file of entries means adding its line here.
static FAMILIES: &[&[Entry]] = &[
    arith::BINARY,
    arith::TABLE,
    compare::BITWISE,
    compare::CLOSE,
    compare::PREDICATES,
    compare::TABLE,
    complex::TABLE,
    convert::CONVERSIONS,
    convert::TABLE,
    creation::TABLE,
    diagonal::TABLE,
    einsum::TABLE,
    gather::TABLE,
    join::TABLE,
    linalg::TABLE,
    matmul::TABLE,
    norms::TABLE,
    norms::UNITS,
    nn::activation::TABLE,
    nn::activation::UNITS,
    nn::attention::TABLE,
    nn::conv::TABLE,
    nn::loss::HELPERS,
    nn::loss::LOGIT_UNITS,
    nn::loss::TABLE,
    nn::loss::UNITS,
    nn::norm::TABLE,
    nn::pad::TABLE,
    nn::patches::TABLE,
    nn::pool::AVG_TABLE,
    nn::pool::MAX_TABLE,
    nn::unpool::TABLE,
    random::FILLS,
    random::MORE_FILLS,
    random::TABLE,
    reduce::TABLE,
    shape::TABLE,
    softmax::TABLE,
    sorting::TABLE,
    unary::ACTIVATIONS,
    unary::MORE,
    unary::NEGATION,
    unary::TABLE,
    windows::TABLE,
];

/// Every public entry of the table, in a fixed order.
pub fn table() -> impl Iterator<Item = &'static Entry> {
    FAMILIES.iter().flat_map(|f| f.iter()).filter(|e| !e.flags.has(Flags::INTERNAL))
}

/// How many entries [`table`] gives.
pub const COUNT: usize = {
    let (mut n, mut family) = (0, 0);
    while family < FAMILIES.len() {
        let mut i = 0;
        while i < FAMILIES[family].len() {
            n += !FAMILIES[family][i].flags.has(Flags::INTERNAL) as usize;
            i += 1;
        }
        family += 1;
    }
    n
};

/// The entry with this public name, such as `linalg.solve`.
pub fn find(name: &str) -> Option<&'static Entry> {
    table().find(|e| e.name == name)
}

/// An error for more pieces of a tensor than memory can hold: each is a tensor of its own.
pub fn check_pieces(op: &str, count: usize) -> crate::Result<()> {
    const EACH: usize = 512;
    crate::dense::memory::check_list(op, count, EACH)
}
