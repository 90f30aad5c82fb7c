//! What an entry declares about its arguments: `dim: i64 as Dim` is an integer to the caller and a checked dimension to
//! the body. Each kind says what is wrong in one sentence, and the name of the operator is put before it at one place.

mod dims;
mod relations;
mod tensors;
mod values;

pub use dims::*;
pub use relations::*;
pub use tensors::*;
pub use values::*;

use super::entry::Flags;
use super::value::{Operand, Value};
use crate::base::{DType, Error, ErrorKind, Result, Scalar};
use crate::core::Tensor;

/// Stands for the name of the operator in the text of an error, until the operator's own function puts it there.
pub const HERE: &str = "<operator>";

/// Runs the body of an operator; errors that do not know where they were made get its name.
#[inline(always)]
pub fn named<T>(path: &'static str, flags: Flags, body: impl FnOnce() -> Result<T>) -> Result<T> {
    match body() {
        Ok(out) => Ok(out),
        Err(e) => Err(name_error(path, flags, e)),
    }
}

#[cold]
#[inline(never)]
fn name_error(path: &str, flags: Flags, e: Error) -> Error {
    let path = crate::core::primitive::operator_of(path);
    if path.starts_with("linalg.") {
        return of_operator(e.replacing(&format!("{HERE}()"), path).replacing(HERE, path), path);
    }
    let short = path.rsplit_once('.').map_or(path, |(_, last)| last);
    if flags.has(Flags::INPLACE.or(Flags::NOT_FUNCTION)) && !flags.has(Flags::METHOD) {
        let short = format!("{short}_");
        return of_operator(e.replacing(HERE, &short), &format!("{short}()"));
    }
    of_operator(e.replacing(HERE, short), &format!("{short}()"))
}

/// The error under the name of the operator that was called, where it is that of an operator which that one is made of.
/// What a matrix lacks for a factorization stays an error of it.
fn of_operator(e: Error, head: &str) -> Error {
    if matches!(e.kind(), ErrorKind::LinAlg | ErrorKind::Foreign | ErrorKind::Internal) {
        return e;
    }
    let text = e.message();
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.')).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let own = match (rest.strip_prefix("(): "), rest.strip_prefix(": ")) {
        (Some(rest), _) if super::is_operator(name) || text.starts_with(head) => rest,
        (_, Some(rest)) if name.starts_with("linalg.") => rest,
        _ if e.kind() == ErrorKind::NotImplemented && rest.starts_with("() is") => text,
        _ => return e,
    };
    let own = own_text(own);
    let hint = if e.kind() == ErrorKind::NotImplemented && !own.contains(';') { OTHER_DTYPE } else { "" };
    Error::new(e.kind(), format!("{head}: {own}{hint}"))
}

/// The text behind the names of the operators that the called one is made of.
fn own_text(mut text: &str) -> &str {
    while let Some((name, rest)) = text.split_once("(): ")
        && super::is_operator(name)
    {
        text = rest;
    }
    text
}

/// What to do about a dtype that an operator does not know.
pub const OTHER_DTYPE: &str = "; convert it to a dtype that it knows, such as with .float() or .long(), and complex numbers by \
    their abs(), .real or .imag";

/// An error of the operator whose body runs.
#[cold]
pub fn refused(kind: crate::base::ErrorKind, text: std::fmt::Arguments<'_>) -> Error {
    Error::new(kind, format!("{HERE}(): {text}"))
}

/// The error of a part of the operator whose body runs.
#[cold]
pub fn inside(e: Error) -> Error {
    e.context(&format!("{HERE}()"))
}

/// Where an argument stands: its name, and the tensor that the operator is about.
#[derive(Clone, Copy)]
pub struct ArgumentPlace<'a> {
    pub name: &'static str,
    pub subject: Option<&'a Tensor>,
}

impl ArgumentPlace<'_> {
    fn rank(self) -> usize {
        self.subject.map_or(0, Tensor::rank)
    }
}

/// A first argument, which may be the tensor that others are about.
pub trait Subject {
    fn subject(&self) -> Option<&Tensor>;
}
impl Subject for &Tensor {
    fn subject(&self) -> Option<&Tensor> {
        Some(self)
    }
}
impl Subject for Vec<&Tensor> {
    /// The first, empty ones of one dimension aside: these may be joined with tensors of any rank.
    fn subject(&self) -> Option<&Tensor> {
        self.iter().find(|t| t.shape()[..] != [0]).or(self.first()).copied()
    }
}
impl Subject for Operand<'_> {
    fn subject(&self) -> Option<&Tensor> {
        match self {
            Operand::Tensor(t) => Some(t),
            Operand::Number(_) => None,
        }
    }
}
macro_rules! no_subject {
    ($($t:ty),*) => {$(
        impl Subject for $t {
            fn subject(&self) -> Option<&Tensor> {
                None
            }
        }
    )*};
}
no_subject!(&[i64], i64, usize, Scalar, &Value);

/// A kind of argument: what a caller gives, and what the body gets.
pub trait Declared<Given> {
    type Checked;
    fn check(given: Given, at: ArgumentPlace<'_>) -> Result<Self::Checked>;
}

impl<G, K: Declared<G>> Declared<Option<G>> for Option<K> {
    type Checked = Option<K::Checked>;
    #[inline]
    fn check(given: Option<G>, at: ArgumentPlace<'_>) -> Result<Self::Checked> {
        given.map(|g| K::check(g, at)).transpose()
    }
}

/// The name of a kind, by which the list of entries tells what a parameter is declared to be.
pub trait KindOf {
    const NAME: &'static str;
}
impl<K: KindOf> KindOf for Option<K> {
    const NAME: &'static str = K::NAME;
}
/// Names kinds as they are called.
macro_rules! kinds {
    ($($kind:ident)*) => {$(
        impl KindOf for $kind {
            const NAME: &'static str = stringify!($kind);
        }
    )*};
}

use kinds;

/// What a method takes for a parameter of an entry: the value itself, or what stands for it without doubt.
///
/// ```
/// # use pullback::Tensor;
/// let x = Tensor::from_slice([2, 2], &[1.0, 2.0, 3.0, 4.0])?;
/// assert_eq!(x.sum(&[0], false)?.to_vec::<f64>()?, [4.0, 6.0]);
/// assert_eq!(x.sum(None, false)?.to_vec::<f64>()?, [10.0]);
/// assert_eq!(x.add(1)?.prod(1, false)?.to_vec::<f64>()?, [6.0, 20.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub trait Given<'a, P: Parameter> {
    fn given(self) -> P::Of<'a>;
}

/// The type of a parameter without its lifetime: `fn(&Tensor)` stands for references to tensors of any.
pub trait Parameter {
    type Of<'a>;
}

/// What stands for a parameter type: itself, and each listed type by an expression.
macro_rules! given {
    ($($t:ty as $of:ty $(, $from:ty: $x:ident $([$n:ident])? => $out:expr)*;)*) => {$(
        impl Parameter for fn($t) {
            type Of<'a> = $of;
        }
        impl<'a> Given<'a, fn($t)> for $of {
            #[inline]
            fn given(self) -> $of {
                self
            }
        }
        $(impl<'a $(, const $n: usize)?> Given<'a, fn($t)> for $from {
            #[inline]
            fn given(self) -> $of {
                let $x = self;
                $out
            }
        })*
    )*};
}
given! {
    bool as bool;
    i64 as i64;
    f64 as f64;
    DType as DType;
    &str as &'a str;
    &Tensor as &'a Tensor;
    &Value as &'a Value;
    &[i64] as &'a [i64], &'a [i64; N]: x [N] => x;
    Scalar as Scalar, f64: x => x.into(), f32: x => x.into(), i64: x => x.into(), i32: x => x.into(), bool: x => x.into();
    Operand<'_> as Operand<'a>, &'a Tensor: x => x.into(), Scalar: x => x.into(), f64: x => x.into(), f32: x => x.into(),
        i64: x => x.into(), i32: x => x.into(), bool: x => x.into();
    Option<bool> as Option<bool>, bool: x => Some(x);
    Option<i64> as Option<i64>, i64: x => Some(x);
    Option<f64> as Option<f64>, f64: x => Some(x);
    Option<DType> as Option<DType>, DType: x => Some(x);
    Option<&str> as Option<&'a str>, &'a str: x => Some(x);
    Option<&Tensor> as Option<&'a Tensor>, &'a Tensor: x => Some(x);
    Option<&[i64]> as Option<&'a [i64]>, &'a [i64]: x => Some(x), &'a [i64; N]: x [N] => Some(x);
    Option<Operand<'_>> as Option<Operand<'a>>, &'a Tensor: x => Some(x.into()), f64: x => Some(x.into()),
        i64: x => Some(x.into()), Operand<'a>: x => Some(x);
}

#[cfg(test)]
mod tests {
    use crate::base::DType;
    use crate::core::Tensor;
    use crate::ops;
    use crate::ops::value::Operand;

    #[test]
    fn errors_carry_the_name_of_the_operator_once() {
        let x = Tensor::zeros([2, 3], DType::F64).unwrap();
        let e = ops::softmax::softmax(&x, 2, None).unwrap_err();
        assert!(e.message().starts_with("softmax(): argument 'dim': Dimension out of range"), "{e}");
        let e = ops::linalg::inv(&x).unwrap_err();
        assert!(e.message().starts_with("linalg.inv: A must be batches of square matrices"), "{e}");
        let e = ops::nn::activation::glu(&Tensor::scalar(DType::I64, 1), -1).unwrap_err();
        assert!(!e.message().contains(super::HERE), "{e}");
    }

    #[test]
    fn errors_have_the_name_of_the_operator_that_was_called() {
        let (a, b) = (Tensor::zeros([2, 3], DType::F64).unwrap(), Tensor::zeros([4, 2], DType::F64).unwrap());
        let e = ops::matmul::addmm(&a, &a, &b, 1.into(), 1.into()).unwrap_err();
        assert!(e.message().starts_with("addmm(): "), "{e}");
        let e = ops::matmul::mm(&a, &b).unwrap_err();
        assert!(e.message().starts_with("mm(): mat1 and mat2 shapes"), "{e}");
        let e = ops::floats::float_power(Operand::Tensor(&a), Operand::Tensor(&b)).unwrap_err();
        assert!(e.message().starts_with("float_power(): The size of tensor a (3)"), "{e}");
    }
}
