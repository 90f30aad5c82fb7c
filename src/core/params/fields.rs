//! The fields of parameters as words of 64 bits: their equality, their hash and their form in a saved program.
//!
//! NOTE. A value is its words, one after the other; a list begins with its length, an enum with the number of its
//! variant, and floats are their bits. So `nan` equals itself, 0.0 does not equal -0.0, and what is read back from
//! the words of a value equals it.

use crate::base::{DType, Error, Layout, Result, Scalar, Shape, Strides};
use crate::dense::conv::ConvParams;
use crate::dense::region::Region;
use crate::dense::window::{Span, Windows};
use num_complex::Complex;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// Takes the words of a value.
pub trait Sink {
    fn word(&mut self, word: u64);
    /// In place of words, for an object that equals itself alone. Whoever saves a program refuses it.
    fn object(&mut self, what: &'static str, address: usize);
}

/// The words that a value is read from.
pub struct Words<'a> {
    rest: std::slice::Iter<'a, u64>,
    types: &'a [Type],
}

impl<'a> Words<'a> {
    /// `types`: the operator-specific parameters that may occur.
    pub fn new(words: &'a [u64], types: &'a [Type]) -> Words<'a> {
        Words { rest: words.iter(), types }
    }
    /// # Errors
    /// `Value` at the end.
    pub fn word(&mut self) -> Result<u64> {
        self.rest.next().copied().ok_or_else(malformed)
    }
    /// Words that are left.
    pub fn len(&self) -> usize {
        self.rest.len()
    }
    pub fn is_empty(&self) -> bool {
        self.rest.len() == 0
    }
    /// The operator-specific parameters that may occur.
    pub fn types(&self) -> &'a [Type] {
        self.types
    }
}

/// The error for words that no value has.
#[cold]
pub fn malformed() -> Error {
    Error::value("the bytes of the program are damaged, or of another version".to_string())
}

/// A value that is made of words.
pub trait Field: Sized {
    fn put(&self, sink: &mut dyn Sink);
    /// # Errors
    /// `Value` if the words are those of no such value.
    fn take(words: &mut Words<'_>) -> Result<Self>;
}

/// A type of operator-specific parameters, as those who read programs know it.
#[derive(Clone, Copy)]
pub struct Type {
    pub name: &'static str,
    pub take: fn(&mut Words<'_>) -> Result<super::Params>,
}

/// A type of operator-specific parameters with a name of its own.
pub trait Named: Field + super::Parameters {
    const NAME: &'static str;
}

impl Type {
    pub const fn of<T: Named>() -> Type {
        Type { name: T::NAME, take: |words| Ok(super::Params::other(T::take(words)?)) }
    }
}

/// Implements [`Field`] for structs, and for enums whose variants have a number each.
macro_rules! fields {
    (struct $t:ty { $($f:tt),* $(,)? }) => {
        impl $crate::core::params::Field for $t {
            fn put(&self, sink: &mut dyn $crate::core::params::Sink) {
                $( $crate::core::params::Field::put(&self.$f, sink); )*
            }
            fn take(words: &mut $crate::core::params::Words<'_>) -> $crate::base::Result<Self> {
                Ok(Self { $( $f: $crate::core::params::Field::take(words)?, )* })
            }
        }
    };
    (enum $t:ident { $($tag:literal => $v:ident $({ $($f:ident),* })? $(( $($e:ident),* ))?),* $(,)? }) => {
        impl $crate::core::params::Field for $t {
            fn put(&self, sink: &mut dyn $crate::core::params::Sink) {
                match self {
                    $( $t::$v $({ $($f),* })? $(( $($e),* ))? => {
                        sink.word($tag);
                        $($( $crate::core::params::Field::put($f, sink); )*)?
                        $($( $crate::core::params::Field::put($e, sink); )*)?
                    } )*
                }
            }
            fn take(words: &mut $crate::core::params::Words<'_>) -> $crate::base::Result<Self> {
                Ok(match words.word()? {
                    $( $tag => {
                        $($( let $f = $crate::core::params::Field::take(words)?; )*)?
                        $($( let $e = $crate::core::params::Field::take(words)?; )*)?
                        $t::$v $({ $($f),* })? $(( $($e),* ))?
                    } )*
                    _ => return Err($crate::core::params::malformed()),
                })
            }
        }
    };
}

/// Makes a type with [`fields!`] the parameters of operators, under a name of its own in saved programs.
macro_rules! parameters {
    ($($t:ty = $name:literal),* $(,)?) => {$(
        impl $crate::core::params::Parameters for $t {
            fn as_any(&self) -> &dyn std::any::Any {
                self
            }
            fn type_name(&self) -> &'static str {
                <$t as $crate::core::params::Named>::NAME
            }
            fn put(&self, sink: &mut dyn $crate::core::params::Sink) {
                $crate::core::params::Field::put(self, sink);
            }
        }
        impl $crate::core::params::Named for $t {
            const NAME: &'static str = $name;
        }
    )*};
}

pub(crate) use {fields, parameters};

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Field for $t {
            fn put(&self, sink: &mut dyn Sink) {
                sink.word(*self as u64);
            }
            fn take(words: &mut Words<'_>) -> Result<Self> {
                let word = words.word()?;
                let value = word as $t;
                if value as u64 == word { Ok(value) } else { Err(malformed()) }
            }
        }
    )*};
}

integers!(u64, i64, usize, isize);

impl Field for bool {
    fn put(&self, sink: &mut dyn Sink) {
        sink.word(u64::from(*self));
    }
    fn take(words: &mut Words<'_>) -> Result<bool> {
        match words.word()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(malformed()),
        }
    }
}

impl Field for f64 {
    fn put(&self, sink: &mut dyn Sink) {
        sink.word(self.to_bits());
    }
    fn take(words: &mut Words<'_>) -> Result<f64> {
        words.word().map(f64::from_bits)
    }
}

impl Field for Complex<f64> {
    fn put(&self, sink: &mut dyn Sink) {
        (self.re, self.im).put(sink);
    }
    fn take(words: &mut Words<'_>) -> Result<Complex<f64>> {
        let (re, im) = Field::take(words)?;
        Ok(Complex { re, im })
    }
}

impl Field for DType {
    fn put(&self, sink: &mut dyn Sink) {
        sink.word(*self as u64);
    }
    fn take(words: &mut Words<'_>) -> Result<DType> {
        let at = usize::take(words)?;
        DType::ALL.get(at).copied().ok_or_else(malformed)
    }
}

impl<A: Field, B: Field> Field for (A, B) {
    fn put(&self, sink: &mut dyn Sink) {
        self.0.put(sink);
        self.1.put(sink);
    }
    fn take(words: &mut Words<'_>) -> Result<(A, B)> {
        Ok((A::take(words)?, B::take(words)?))
    }
}

impl<T: Field> Field for Option<T> {
    fn put(&self, sink: &mut dyn Sink) {
        sink.word(u64::from(self.is_some()));
        if let Some(value) = self {
            value.put(sink);
        }
    }
    fn take(words: &mut Words<'_>) -> Result<Option<T>> {
        Ok(if bool::take(words)? { Some(T::take(words)?) } else { None })
    }
}

impl<T: Field, const N: usize> Field for [T; N] {
    fn put(&self, sink: &mut dyn Sink) {
        self.iter().for_each(|x| x.put(sink));
    }
    fn take(words: &mut Words<'_>) -> Result<[T; N]> {
        let items = (0..N).map(|_| T::take(words)).collect::<Result<Vec<T>>>()?;
        items.try_into().map_err(|_| malformed())
    }
}

fn put_list<T: Field>(items: &[T], sink: &mut dyn Sink) {
    sink.word(items.len() as u64);
    items.iter().for_each(|x| x.put(sink));
}

fn take_list<T: Field, L: FromIterator<T>>(words: &mut Words<'_>) -> Result<L> {
    let n = usize::take(words)?;
    // Each item has a word at least: a damaged length must not ask for memory.
    if n > words.len() {
        return Err(malformed());
    }
    (0..n).map(|_| T::take(words)).collect()
}

impl<T: Field> Field for Vec<T> {
    fn put(&self, sink: &mut dyn Sink) {
        put_list(self, sink);
    }
    fn take(words: &mut Words<'_>) -> Result<Vec<T>> {
        take_list(words)
    }
}

impl<A: smallvec::Array> Field for SmallVec<A>
where
    A::Item: Field,
{
    fn put(&self, sink: &mut dyn Sink) {
        put_list(self, sink);
    }
    fn take(words: &mut Words<'_>) -> Result<SmallVec<A>> {
        take_list(words)
    }
}

impl<T: Field> Field for Arc<[T]> {
    fn put(&self, sink: &mut dyn Sink) {
        put_list(self, sink);
    }
    fn take(words: &mut Words<'_>) -> Result<Arc<[T]>> {
        take_list(words)
    }
}

impl Field for Cow<'static, str> {
    fn put(&self, sink: &mut dyn Sink) {
        sink.word(self.len() as u64);
        self.bytes().for_each(|b| sink.word(b.into()));
    }
    fn take(words: &mut Words<'_>) -> Result<Cow<'static, str>> {
        let bytes: Vec<u64> = Field::take(words)?;
        let bytes = bytes.into_iter().map(u8::try_from).collect::<std::result::Result<_, _>>();
        let text = bytes.ok().and_then(|b: Vec<u8>| String::from_utf8(b).ok());
        text.map(Cow::Owned).ok_or_else(malformed)
    }
}

impl Field for Shape {
    fn put(&self, sink: &mut dyn Sink) {
        put_list(self, sink);
    }
    fn take(words: &mut Words<'_>) -> Result<Shape> {
        take_list::<usize, Shape>(words)?.checked("program")
    }
}

impl Field for Layout {
    fn put(&self, sink: &mut dyn Sink) {
        self.shape.put(sink);
        self.strides.put(sink);
        self.offset.put(sink);
    }
    fn take(words: &mut Words<'_>) -> Result<Layout> {
        let (shape, strides): (Shape, Strides) = Field::take(words)?;
        let strides: Vec<i64> = strides.iter().map(|&s| s as i64).collect();
        Layout::strided("program", shape, &strides, usize::take(words)?)
    }
}

impl Field for Arc<dyn super::Parameters> {
    fn put(&self, sink: &mut dyn Sink) {
        (**self).put(sink);
    }
    fn take(_: &mut Words<'_>) -> Result<Arc<dyn super::Parameters>> {
        Err(malformed())
    }
}

fields! { enum Scalar {
    0 => Bool(x), 1 => Int(x), 2 => Unsigned(x), 3 => Huge(x), 4 => Float(x), 5 => Complex(x),
} }
fields! { enum Region { 0 => Strided(layout), 1 => Listed { shape, at }, 2 => Ordered { base, order, part } } }
fields! { struct Span { start, end, weight } }
fields! { struct Windows { rank, input, step, spans, divisor } }
fields! { struct ConvParams { rank, groups, input, kernel, output, stride, padding, dilation } }
parameters! { Windows = "windows", ConvParams = "convolution" }
