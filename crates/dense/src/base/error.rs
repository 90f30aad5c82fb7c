//! One error type for all crates; the Python module maps each [`ErrorKind`] to a class in one place.

use std::any::Any;
use std::fmt;

/// What went wrong, as a class that callers can match on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operation cannot be carried out (shapes, levels, freed graphs, memory).
    Runtime,
    /// An argument has the right type and a wrong value.
    Value,
    /// An argument has the wrong type.
    Type,
    /// An index or a dimension is out of range.
    Index,
    /// The operator has no kernel or rule for these arguments.
    NotImplemented,
    /// A number is too large for where it goes.
    Overflow,
    /// A decomposition failed (singular or non-convergent input).
    LinAlg,
    /// Calls or structures are nested too deep.
    Recursion,
    /// A bug in this library.
    Internal,
    /// An exception of another language, carried through unchanged.
    Foreign,
}

struct Inner {
    kind: ErrorKind,
    message: String,
    foreign: Option<Box<dyn Any + Send + Sync>>,
}

/// The error of every fallible function of this crate. One pointer wide, so that results stay small.
pub struct Error(Box<Inner>);

/// What functions that can fail return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of this kind.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner { kind, message: message.into(), foreign: None }))
    }
    /// An error of the kind [`ErrorKind::Runtime`].
    #[cold]
    pub fn runtime(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Runtime, message)
    }
    /// An error of the kind [`ErrorKind::Value`].
    #[cold]
    pub fn value(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Value, message)
    }
    /// An error of the kind [`ErrorKind::Type`].
    #[cold]
    pub fn type_(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Type, message)
    }
    /// An error of the kind [`ErrorKind::Index`].
    #[cold]
    pub fn index(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Index, message)
    }
    /// An error of the kind [`ErrorKind::NotImplemented`].
    #[cold]
    pub fn not_implemented(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotImplemented, message)
    }
    /// An error of the kind [`ErrorKind::Overflow`].
    #[cold]
    pub fn overflow(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Overflow, message)
    }
    /// An error of the kind [`ErrorKind::LinAlg`].
    #[cold]
    pub fn linalg(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::LinAlg, message)
    }
    /// An error of the kind [`ErrorKind::Internal`].
    #[cold]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }
    /// Carries an exception of another language; [`Error::into_foreign`] gives it back.
    #[doc(hidden)]
    #[cold]
    pub fn foreign(message: impl Into<String>, payload: Box<dyn Any + Send + Sync>) -> Self {
        Error(Box::new(Inner { kind: ErrorKind::Foreign, message: message.into(), foreign: Some(payload) }))
    }

    /// What went wrong, as a class.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }
    /// What went wrong, in words.
    pub fn message(&self) -> &str {
        &self.0.message
    }
    /// The carried exception, or the error itself if it carries none.
    #[doc(hidden)]
    pub fn into_foreign(self) -> std::result::Result<Box<dyn Any + Send + Sync>, Error> {
        let mut inner = self.0;
        match inner.foreign.take() {
            Some(payload) => Ok(payload),
            None => Err(Error(inner)),
        }
    }
    /// Whether this is an exception of another language that is no ordinary error: a wish to stop, or the program's own.
    #[doc(hidden)]
    pub fn has_no_text(&self) -> bool {
        self.0.kind == ErrorKind::Foreign && self.0.message.is_empty()
    }
    /// The error that `f` makes of this one's text, or this one if it has none.
    #[doc(hidden)]
    #[cold]
    pub fn quoted(self, f: impl FnOnce(&str) -> Error) -> Error {
        if self.has_no_text() { self } else { f(&self.0.message) }
    }
    /// The error of the operator `inner` as one of `outer`, which is made of it.
    #[doc(hidden)]
    pub fn of(mut self, inner: &str, outer: &str) -> Self {
        if let Some(rest) = self.0.message.strip_prefix(inner).and_then(|m| m.strip_prefix("(): ")) {
            self.0.message = format!("{outer}(): {rest}");
        }
        self
    }
    /// The same error with one part of its text in place of another; foreign errors stay as they are.
    #[doc(hidden)]
    pub fn replacing(mut self, part: &str, by: &str) -> Self {
        if self.0.kind != ErrorKind::Foreign && self.0.message.contains(part) {
            self.0.message = self.0.message.replace(part, by);
        }
        self
    }
    /// The same error with `prefix: ` before its message; foreign errors stay as they are.
    #[doc(hidden)]
    pub fn context(mut self, prefix: &str) -> Self {
        if self.0.kind != ErrorKind::Foreign {
            self.0.message = format!("{prefix}: {}", self.0.message);
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}Error: {}", self.0.kind, self.0.message)
    }
}

impl std::error::Error for Error {}

/// `bail!(Value, "op(): argument 'dim' …")` returns an error of that kind.
#[doc(hidden)]
#[macro_export]
macro_rules! bail {
    ($kind:ident, $($arg:tt)*) => {
        return Err($crate::base::Error::new($crate::base::ErrorKind::$kind, format!($($arg)*)))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_errors_come_back_unchanged() {
        let e = Error::foreign("boom", Box::new(7_i32)).context("add()");
        assert_eq!(e.message(), "boom");
        assert_eq!(*e.into_foreign().unwrap().downcast::<i32>().unwrap(), 7);
    }

    #[test]
    fn only_ordinary_errors_are_quoted() {
        let other = |why: &str| Error::value(format!("no: {why}"));
        assert_eq!(Error::runtime("boom").quoted(other).message(), "no: boom");
        assert_eq!(Error::foreign("boom", Box::new(7_i32)).quoted(other).message(), "no: boom");
        let stop = Error::foreign("", Box::new(7_i32)).quoted(other);
        assert_eq!(*stop.into_foreign().unwrap().downcast::<i32>().unwrap(), 7);
    }

    #[test]
    fn results_stay_small() {
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }
}
