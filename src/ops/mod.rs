//! L5: the table of operators, and composites made of them.
//!
//! An operator is one entry. Its Rust function, Python function, method, in-place form, stub and documentation follow
//! from the entry; its rules follow from the category of the primitives that it is made of.

#[macro_use]
pub mod macros;
mod adjugate;
pub mod arith;
pub mod arrange;
pub mod autocast;
pub mod bits;
pub mod chains;
mod checks;
pub mod compare;
pub mod complex;
pub mod convert;
pub mod cost;
pub mod creation;
pub mod decompositions;
pub mod determinant;
pub mod diagonal;
pub mod differences;
pub mod distances;
pub mod distinct;
mod draw;
pub mod eig;
pub mod einsum;
pub mod entry;
pub mod floats;
pub mod folds;
pub mod fused;
mod gamma;
pub mod gather;
mod gauge;
pub mod indexing;
pub mod join;
pub mod ldl;
pub mod least_squares;
pub mod limits;
pub mod linalg;
pub mod linalg_names;
pub mod lu;
pub mod matmul;
pub mod named;
pub mod nn;
pub mod norms;
pub mod order;
mod pairs;
pub mod parameters;
pub mod primitives;
pub mod products;
pub mod promote;
mod promoted;
pub mod random;
pub mod ranges;
pub mod reduce;
pub mod reflectors;
mod rejection;
pub mod rewind;
pub mod scans;
pub mod search;
pub mod shape;
pub mod signature;
mod singular;
pub mod softmax;
pub mod sorting;
pub mod special;
pub mod statistics;
pub mod unary;
pub mod value;
pub mod windows;

pub use cost::Cost;
pub use entry::{Entry, Flags, Param};
pub use value::{Arg, ArgKind, Value};

use crate::core::Primitive;
use crate::core::params::Type;

/// What a file of operators adds: tables of entries, the primitives that they run, and the types of parameters that these
/// have and no other file adds.
pub(crate) struct Family {
    pub entries: &'static [&'static [Entry]],
    pub primitives: &'static [&'static [&'static dyn Primitive]],
    pub parameters: &'static [Type],
}

impl Family {
    pub const EMPTY: Family = Family { entries: &[], primitives: &[], parameters: &[] };
}

/// A file of operators is declared above and has its line here; nothing else knows of it.
static FILES: &[Family] = &[
    adjugate::FAMILY,
    arith::FAMILY,
    arrange::FAMILY,
    bits::FAMILY,
    checks::FAMILY,
    chains::FAMILY,
    compare::FAMILY,
    complex::FAMILY,
    convert::FAMILY,
    creation::FAMILY,
    decompositions::FAMILY,
    determinant::FAMILY,
    diagonal::FAMILY,
    differences::FAMILY,
    distances::FAMILY,
    distinct::FAMILY,
    draw::FAMILY,
    eig::FAMILY,
    einsum::FAMILY,
    floats::FAMILY,
    folds::FAMILY,
    fused::FAMILY,
    gather::FAMILY,
    gamma::FAMILY,
    gauge::FAMILY,
    indexing::FAMILY,
    join::FAMILY,
    limits::FAMILY,
    ldl::FAMILY,
    least_squares::FAMILY,
    linalg::FAMILY,
    linalg_names::FAMILY,
    lu::FAMILY,
    matmul::FAMILY,
    norms::FAMILY,
    order::FAMILY,
    pairs::FAMILY,
    products::FAMILY,
    random::FAMILY,
    ranges::FAMILY,
    reduce::FAMILY,
    scans::FAMILY,
    search::FAMILY,
    reflectors::FAMILY,
    rejection::FAMILY,
    shape::FAMILY,
    singular::FAMILY,
    softmax::FAMILY,
    sorting::FAMILY,
    special::FAMILY,
    statistics::FAMILY,
    unary::FAMILY,
    windows::FAMILY,
];

static FAMILIES: &[&[Family]] = &[&[primitives::BASIS], FILES, nn::FILES];

fn families() -> impl Iterator<Item = &'static Family> {
    FAMILIES.iter().flat_map(|f| f.iter())
}

/// Every entry, building blocks included.
fn entries() -> impl Iterator<Item = &'static Entry> {
    families().flat_map(|f| f.entries.iter()).flat_map(|t| t.iter())
}

/// Every public entry of the table, in a fixed order.
pub fn table() -> impl Iterator<Item = &'static Entry> {
    entries().filter(|e| !e.flags.has(Flags::INTERNAL))
}

const fn count_public(table: &[Entry]) -> usize {
    let (mut n, mut i) = (0, 0);
    while i < table.len() {
        n += !table[i].flags.has(Flags::INTERNAL) as usize;
        i += 1;
    }
    n
}

/// How many entries [`table`] gives.
pub const COUNT: usize = {
    let (mut n, mut part) = (0, 0);
    while part < FAMILIES.len() {
        let mut file = 0;
        while file < FAMILIES[part].len() {
            let mut t = 0;
            while t < FAMILIES[part][file].entries.len() {
                n += count_public(FAMILIES[part][file].entries[t]);
                t += 1;
            }
            file += 1;
        }
        part += 1;
    }
    n
};

/// Whether errors may begin with this name as that of an operator, or of a part of one.
#[cold]
fn is_operator(name: &str) -> bool {
    let is_its = |n: &str| n == name || n.rsplit_once('.').is_some_and(|(_, last)| last == name);
    let primitives = || families().flat_map(|f| f.primitives.iter()).flat_map(|p| p.iter());
    entries().any(|e| is_its(e.name)) || primitives().any(|p| is_its(crate::core::primitive::operator_of(p.name())))
}

/// The building block `name:part` of an entry.
pub fn part_of(entry: &Entry, part: &str) -> Option<&'static Entry> {
    static PARTS: std::sync::OnceLock<Vec<&'static Entry>> = std::sync::OnceLock::new();
    let is_part = |e: &&'static Entry| e.flags.has(Flags::INTERNAL) && e.name.contains(':');
    let parts = PARTS.get_or_init(|| entries().filter(is_part).collect());
    let is_it = |e: &&&'static Entry| e.name.strip_prefix(entry.name).and_then(|n| n.strip_prefix(':')) == Some(part);
    parts.iter().find(is_it).copied()
}

/// The entry with this public name, such as `linalg.solve`.
pub fn find(name: &str) -> Option<&'static Entry> {
    table().find(|e| e.name == name)
}

/// An error for more pieces of a tensor than memory can hold: each is a tensor of its own.
pub fn check_pieces(op: &str, count: usize) -> crate::Result<()> {
    const EACH: usize = 512;
    crate::dense::memory::check_list(op, count, EACH)
}
