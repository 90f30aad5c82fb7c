//! Parameters of a primitive that are not tensors.

mod fields;
mod identity;

pub use fields::{Field, Named, Sink, Type, Words, malformed};
pub(crate) use fields::{fields, parameters};
pub use identity::to_words;

use crate::base::{DType, Scalar, Shape};
use crate::dense::random::Generator;
use smallvec::SmallVec;
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// Integers such as a permutation or slice bounds.
pub type Ints = SmallVec<[i64; 6]>;
/// Dimensions, already wrapped to `0..rank`.
pub type Dims = SmallVec<[usize; 6]>;

/// Parameters by shape, not by operator. Anything else is an [`Params::Other`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Params {
    /// There are none.
    #[default]
    None,
    /// A target shape (expand, reshape, fill).
    Shape(Shape),
    /// Dimensions to work along, and whether to keep them.
    Dims {
        /// The dimensions.
        dims: Dims,
        /// Whether they stay, with size 1.
        keep: bool,
    },
    /// A permutation: dimension i of the result is dimension `order[i]` of the input.
    Order(Dims),
    /// One dimension.
    Dim(usize),
    /// `start + step * i`, i in 0..len, along a dimension.
    Slice {
        /// The dimension.
        dim: usize,
        /// The first position.
        start: usize,
        /// How many positions.
        len: usize,
        /// From each to the next.
        step: isize,
    },
    /// A dtype to convert to.
    DType(DType),
    /// A value, a dtype and a shape (creation).
    Fill {
        /// The value of each element.
        value: Scalar,
        /// The dtype of the result.
        dtype: DType,
        /// The shape of the result.
        shape: Shape,
    },
    /// Integers.
    Ints(Ints),
    /// A number.
    Float(f64),
    /// Operator-specific parameters.
    #[doc(hidden)]
    Other(Arc<dyn Parameters>),
}

/// Operator-specific parameters: printable, recovered by type, and made of words that equality, hashes and saved
/// programs read. The macros `fields!` and `parameters!` implement it.
pub trait Parameters: Any + Debug + Send + Sync {
    fn as_any(&self) -> &dyn Any;
    /// What the type is called in saved programs.
    fn type_name(&self) -> &'static str;
    fn put(&self, sink: &mut dyn Sink);
}

impl Parameters for Generator {
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn type_name(&self) -> &'static str {
        "generator"
    }
    fn put(&self, sink: &mut dyn Sink) {
        sink.object("a generator of its own", std::ptr::from_ref(self).addr());
    }
}

impl Params {
    #[doc(hidden)]
    pub fn other(p: impl Parameters) -> Params {
        Params::Other(Arc::new(p))
    }

    /// The operator-specific parameters of type `T`.
    #[doc(hidden)]
    ///
    /// # Panics
    /// If the entry that made them gave another type: a mistake in the operator table.
    pub fn get<T: Any>(&self) -> &T {
        match self {
            Params::Other(p) => match (**p).as_any().downcast_ref() {
                Some(t) => t,
                None => mismatch(self, std::any::type_name::<T>()),
            },
            _ => mismatch(self, std::any::type_name::<T>()),
        }
    }
    /// The same parameters for a value with one more dimension in front, where dimensions are all they name.
    pub fn shifted(&self) -> Option<Params> {
        Some(match self {
            Params::None | Params::DType(_) | Params::Float(_) => self.clone(),
            Params::Dims { dims, keep } => Params::Dims { dims: dims.iter().map(|d| d + 1).collect(), keep: *keep },
            Params::Order(o) => Params::Order(std::iter::once(0).chain(o.iter().map(|d| d + 1)).collect()),
            Params::Dim(d) => Params::Dim(d + 1),
            Params::Slice { dim, start, len, step } => {
                Params::Slice { dim: dim + 1, start: *start, len: *len, step: *step }
            }
            _ => return None,
        })
    }
    /// The shape of `Shape` or `Fill`.
    #[inline]
    pub fn shape(&self) -> &Shape {
        match self {
            Params::Shape(s) | Params::Fill { shape: s, .. } => s,
            _ => mismatch(self, "Shape"),
        }
    }
    /// The dimensions of `Dims`, and whether they stay.
    #[inline]
    pub fn dims(&self) -> (&[usize], bool) {
        match self {
            Params::Dims { dims, keep } => (dims, *keep),
            _ => mismatch(self, "Dims"),
        }
    }
    /// The permutation of `Order`.
    #[inline]
    pub fn order(&self) -> &[usize] {
        match self {
            Params::Order(o) => o,
            _ => mismatch(self, "Order"),
        }
    }
    /// The dimension of `Dim` or `Slice`.
    #[inline]
    pub fn dim(&self) -> usize {
        match self {
            Params::Dim(d) | Params::Slice { dim: d, .. } => *d,
            _ => mismatch(self, "Dim"),
        }
    }
    /// The dtype of `DType` or `Fill`.
    pub fn dtype(&self) -> DType {
        match self {
            Params::DType(d) | Params::Fill { dtype: d, .. } => *d,
            _ => mismatch(self, "DType"),
        }
    }
    /// The integers of `Ints`.
    pub fn ints(&self) -> &[i64] {
        match self {
            Params::Ints(v) => v,
            _ => mismatch(self, "Ints"),
        }
    }
    /// The number of `Float`.
    pub fn float(&self) -> f64 {
        match self {
            Params::Float(x) => *x,
            _ => mismatch(self, "Float"),
        }
    }
}

#[cold]
#[inline(never)]
fn mismatch(p: &Params, want: &str) -> ! {
    unreachable!("the operator table gave parameters {p:?} where {want} is declared")
}
