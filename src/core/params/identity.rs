//! Parameters as words: their equality, their hash, and those that a saved program has.

use super::{Field, Params, Sink, Words, malformed};
use crate::base::{Error, Result};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::hash::{Hash, Hasher};

/// The number of [`Params::Other`] among the variants.
const OTHER: u64 = 10;

impl Field for Params {
    fn put(&self, sink: &mut dyn Sink) {
        match self {
            Params::None => sink.word(0),
            Params::Shape(shape) => tagged(1, shape, sink),
            Params::Dims { dims, keep } => {
                tagged(2, dims, sink);
                keep.put(sink);
            }
            Params::Order(order) => tagged(3, order, sink),
            Params::Dim(dim) => tagged(4, dim, sink),
            Params::Slice { dim, start, len, step } => {
                tagged(5, &[*dim, *start, *len], sink);
                step.put(sink);
            }
            Params::DType(dtype) => tagged(6, dtype, sink),
            Params::Fill { value, dtype, shape } => {
                tagged(7, value, sink);
                dtype.put(sink);
                shape.put(sink);
            }
            Params::Ints(ints) => tagged(8, ints, sink),
            Params::Float(x) => tagged(9, x, sink),
            Params::Other(other) => {
                tagged(OTHER, &Cow::Borrowed(other.type_name()), sink);
                other.put(sink);
            }
        }
    }

    fn take(words: &mut Words<'_>) -> Result<Params> {
        Ok(match words.word()? {
            0 => Params::None,
            1 => Params::Shape(Field::take(words)?),
            2 => Params::Dims { dims: Field::take(words)?, keep: Field::take(words)? },
            3 => Params::Order(Field::take(words)?),
            4 => Params::Dim(Field::take(words)?),
            5 => {
                let [dim, start, len] = Field::take(words)?;
                Params::Slice { dim, start, len, step: Field::take(words)? }
            }
            6 => Params::DType(Field::take(words)?),
            7 => Params::Fill { value: Field::take(words)?, dtype: Field::take(words)?, shape: Field::take(words)? },
            8 => Params::Ints(Field::take(words)?),
            9 => Params::Float(Field::take(words)?),
            OTHER => {
                let name: Cow<'_, str> = Field::take(words)?;
                let known = words.types().iter().find(|t| t.name == name);
                let known = known.ok_or_else(|| Error::value(format!("no operator has parameters '{name}'")))?;
                (known.take)(words)?
            }
            _ => return Err(malformed()),
        })
    }
}

fn tagged(tag: u64, field: &impl Field, sink: &mut dyn Sink) {
    sink.word(tag);
    field.put(sink);
}

impl PartialEq for Params {
    fn eq(&self, other: &Params) -> bool {
        let mut mine = Known::default();
        self.put(&mut mine);
        let mut same = Same { expected: mine.0.iter(), so_far: true };
        other.put(&mut same);
        same.so_far && same.expected.len() == 0
    }
}

impl Eq for Params {}

impl Hash for Params {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.put(&mut Hashing(state));
    }
}

#[derive(Default)]
struct Known(SmallVec<[u64; 24]>);

impl Sink for Known {
    fn word(&mut self, word: u64) {
        self.0.push(word);
    }
    fn object(&mut self, _: &'static str, address: usize) {
        self.0.push(address as u64);
    }
}

struct Same<'a> {
    expected: std::slice::Iter<'a, u64>,
    so_far: bool,
}

impl Sink for Same<'_> {
    fn word(&mut self, word: u64) {
        self.so_far &= self.expected.next() == Some(&word);
    }
    fn object(&mut self, _: &'static str, address: usize) {
        self.word(address as u64);
    }
}

struct Hashing<'a, H>(&'a mut H);

impl<H: Hasher> Sink for Hashing<'_, H> {
    fn word(&mut self, word: u64) {
        self.0.write_u64(word);
    }
    fn object(&mut self, _: &'static str, address: usize) {
        self.0.write_u64(address as u64);
    }
}

#[derive(Default)]
struct Saving {
    words: Vec<u64>,
    object: Option<&'static str>,
}

impl Sink for Saving {
    fn word(&mut self, word: u64) {
        self.words.push(word);
    }
    fn object(&mut self, what: &'static str, _: usize) {
        self.object = Some(what);
    }
}

/// The words of parameters of the table's types, from which [`Params::take`](Field::take) makes them again.
///
/// # Errors
/// What cannot be saved: an object that they hold, or a type that is not among `types`.
pub fn to_words(params: &Params, types: &[super::Type]) -> std::result::Result<Vec<u64>, String> {
    if let Params::Other(other) = params
        && !types.iter().any(|t| t.name == other.type_name())
    {
        return Err(format!("parameters of the type '{}'", other.type_name()));
    }
    let mut saving = Saving::default();
    params.put(&mut saving);
    match saving.object {
        None => Ok(saving.words),
        Some(what) => Err(what.to_string()),
    }
}
