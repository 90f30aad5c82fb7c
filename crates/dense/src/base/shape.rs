//! Shapes and strides, inline up to six dimensions, and the algebra of dimensions.

#![deny(clippy::arithmetic_side_effects)]

use super::dtype::DType;
use super::error::{Error, Result};
use super::size;
use smallvec::SmallVec;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// What can be said of an array without its elements.
pub type TypedShape<'a> = (DType, &'a Shape);
/// Element strides, one per dimension. Zero and negative strides are legal.
pub type Strides = SmallVec<[isize; 6]>;

/// The largest number of dimensions of a tensor.
pub const MAX_RANK: usize = 64;

/// Sizes of the dimensions of a tensor; derefs to a slice.
#[derive(Default)]
pub struct Shape(SmallVec<[usize; 6]>);

impl Clone for Shape {
    /// Low ranks without a loop or a call: shapes are copied many times for every operator.
    #[inline]
    fn clone(&self) -> Self {
        let few = |buf, n| Shape(SmallVec::from_buf_and_len(buf, n));
        match *self.0 {
            [] => Shape::scalar(),
            [a] => few([a, 0, 0, 0, 0, 0], 1),
            [a, b] => few([a, b, 0, 0, 0, 0], 2),
            [a, b, c] => few([a, b, c, 0, 0, 0], 3),
            ref more => Shape(SmallVec::from_slice(more)),
        }
    }
}

impl Shape {
    /// The shape of these sizes.
    #[inline]
    pub fn new(dims: &[usize]) -> Self {
        Shape(SmallVec::from_slice(dims))
    }
    /// That of a 0-d tensor.
    #[inline]
    pub fn scalar() -> Self {
        Shape(SmallVec::new())
    }
    /// How many dimensions there are.
    #[inline]
    pub fn rank(&self) -> usize {
        self.0.len()
    }
    /// The shape of sizes that a user gave.
    ///
    /// # Errors
    /// `Runtime` for negative sizes, and for more elements than memory can address.
    #[doc(hidden)]
    pub fn of_sizes(op: &str, sizes: &[i64]) -> Result<Shape> {
        if let Some(s) = sizes.iter().find(|&&s| s < 0) {
            let text =
                format!("{op}(): trying to create tensor with negative dimension {s}: {sizes:?}; sizes are 0 or more");
            return Err(Error::runtime(text));
        }
        sizes.iter().map(|&s| s as usize).collect::<Shape>().checked(op)
    }
    /// The shape itself, if one may exist.
    ///
    /// # Errors
    /// `Runtime` if its elements, or those of a part of its dimensions, cannot be counted.
    #[doc(hidden)]
    #[inline]
    pub fn checked(self, op: &str) -> Result<Shape> {
        if size::volume(&self).is_some() { Ok(self) } else { Err(self.too_large(op)) }
    }
    #[cold]
    fn too_large(&self, op: &str) -> Error {
        let what = if self.contains(&0) { "Stride" } else { "Storage size" };
        Error::runtime(format!(
            "{op}(): {what} calculation overflowed: shape {self} has more elements than memory can address"
        ))
    }
    /// Number of elements of a tensor's shape. It was counted when the tensor was made ([`Shape::checked`]), and so
    /// was every part of it: nothing wraps.
    #[inline]
    pub fn numel(&self) -> usize {
        self.0.iter().product()
    }
    /// Number of elements of a shape that no tensor may have yet, `None` if none may.
    #[doc(hidden)]
    pub fn checked_numel(&self) -> Option<usize> {
        size::elements(&self.0)
    }
    /// Number of bytes of elements of this many each, `None` if memory cannot address them.
    #[doc(hidden)]
    pub fn checked_bytes(&self, each: usize) -> Option<usize> {
        self.checked_numel().and_then(|n| n.checked_mul(each)).filter(|&n| n <= size::LARGEST)
    }
    /// Adds a dimension behind the others.
    pub fn push(&mut self, dim: usize) {
        self.0.push(dim);
    }
    /// Adds a dimension before dimension `at`.
    pub fn insert(&mut self, at: usize, dim: usize) {
        self.0.insert(at, dim);
    }
    /// Takes dimension `at` away; gives its size.
    pub fn remove(&mut self, at: usize) -> usize {
        self.0.remove(at)
    }
    /// The shape with `dim` put before the first dimension.
    #[doc(hidden)]
    pub fn prepend(&self, dim: usize) -> Shape {
        let mut v = SmallVec::with_capacity(self.0.len().saturating_add(1));
        v.push(dim);
        v.extend_from_slice(&self.0);
        Shape(v)
    }
    /// The shape with `dim` added after the last dimension.
    #[doc(hidden)]
    pub fn append(&self, dim: usize) -> Shape {
        let mut s = self.clone();
        s.push(dim);
        s
    }
    /// The shape without dimension `at`.
    #[doc(hidden)]
    pub fn without(&self, at: usize) -> Shape {
        debug_assert!(at < self.rank());
        let mut s = SmallVec::new();
        for (i, &d) in self.0.iter().enumerate() {
            if i != at {
                s.push(d);
            }
        }
        Shape(s)
    }
    /// The shape with dimension `at` replaced.
    #[doc(hidden)]
    pub fn with(&self, at: usize, dim: usize) -> Shape {
        let mut s = self.clone();
        s[at] = dim;
        s
    }
    /// Whether a tensor of this shape can be broadcast to `wide`.
    #[doc(hidden)]
    pub fn expands_to(&self, wide: &Shape) -> bool {
        self.rank() <= wide.rank() && self.iter().rev().zip(wide.iter().rev()).all(|(&d, &w)| d == w || d == 1)
    }
    /// An error if the elements cannot have this shape instead: `Runtime` for one whose sizes are too large.
    #[doc(hidden)]
    pub fn check_reshape(&self, shape: &Shape) -> Result<()> {
        match shape.checked_numel() {
            Some(n) if n == self.numel() => Ok(()),
            Some(_) => Err(Error::internal(format!("reshape(): {self} was to become {shape}"))),
            None => Err(Error::runtime(format!("reshape(): shape {shape} has sizes that memory cannot address"))),
        }
    }
    /// A `Runtime` error if it does not broadcast to this shape, or that one has too many elements to be counted.
    #[doc(hidden)]
    pub fn check_expand(&self, shape: &Shape) -> Result<()> {
        if !self.expands_to(shape) {
            let text = format!("expand(): a tensor of shape {self} cannot be expanded to shape {shape}");
            return Err(Error::runtime(text));
        }
        match shape.checked_numel() {
            Some(_) => Ok(()),
            None => Err(Error::runtime(format!("expand(): shape {shape} has more elements than can be counted"))),
        }
    }
    /// Row-major strides. Those of a tensor's shape fit: they are parts of its counted number of elements.
    #[doc(hidden)]
    #[inline]
    pub fn contiguous_strides(&self) -> Strides {
        let mut strides: Strides = SmallVec::from_elem(1, self.rank());
        let mut acc = 1isize;
        for (s, &d) in strides.iter_mut().zip(&self.0).rev() {
            *s = acc;
            acc = acc.wrapping_mul(d.max(1) as isize);
        }
        strides
    }
}

impl Deref for Shape {
    type Target = [usize];
    #[inline]
    fn deref(&self) -> &[usize] {
        &self.0
    }
}
impl DerefMut for Shape {
    #[inline]
    fn deref_mut(&mut self) -> &mut [usize] {
        &mut self.0
    }
}
impl PartialEq for Shape {
    #[inline]
    fn eq(&self, other: &Shape) -> bool {
        let (a, b) = (&self.0[..], &other.0[..]);
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x == y)
    }
}
impl Eq for Shape {}
impl std::hash::Hash for Shape {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0[..].hash(state);
    }
}
impl PartialEq<[usize]> for Shape {
    fn eq(&self, other: &[usize]) -> bool {
        self.0[..] == *other
    }
}
impl<const N: usize> PartialEq<[usize; N]> for Shape {
    fn eq(&self, other: &[usize; N]) -> bool {
        self.0[..] == *other
    }
}
impl From<&[usize]> for Shape {
    fn from(dims: &[usize]) -> Self {
        Shape::new(dims)
    }
}
impl<const N: usize> From<[usize; N]> for Shape {
    fn from(dims: [usize; N]) -> Self {
        Shape::new(&dims)
    }
}
impl<const N: usize> From<&[usize; N]> for Shape {
    fn from(dims: &[usize; N]) -> Self {
        Shape::new(dims)
    }
}
impl From<Vec<usize>> for Shape {
    fn from(dims: Vec<usize>) -> Self {
        Shape(dims.into())
    }
}
impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(iter: I) -> Self {
        Shape(iter.into_iter().collect())
    }
}
impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Display for Shape {
    /// Prints as PyTorch's error messages do: `[2, 3]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter()).finish()
    }
}

/// The shape that two shapes broadcast to.
pub fn broadcast2(op: &str, a: &Shape, b: &Shape) -> Result<Shape> {
    if a == b {
        return Ok(a.clone());
    }
    let (long, short) = if a.rank() >= b.rank() { (a, b) } else { (b, a) };
    let mut out = long.clone();
    for (o, &y) in out.iter_mut().rev().zip(short.iter().rev()) {
        *o = match (*o, y) {
            (x, y) if x == y => x,
            (1, y) => y,
            (x, 1) => x,
            _ => return Err(mismatch(op, a, b)),
        };
    }
    out.checked(op)
}

/// The error for two shapes that do not broadcast.
#[cold]
fn mismatch(op: &str, a: &Shape, b: &Shape) -> Error {
    let rank = a.rank().max(b.rank());
    let pairs = a.iter().rev().zip(b.iter().rev()).zip((0..rank).rev());
    let Some(((x, y), dim)) = pairs.into_iter().find(|((x, y), _)| x != y && **x != 1 && **y != 1) else {
        return Error::internal(format!("{op}(): shapes {a} and {b} broadcast"));
    };
    Error::runtime(format!(
        "{op}(): The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {dim}; \
         shapes {a} and {b} do not broadcast"
    ))
}

/// The shape that all shapes broadcast to.
pub fn broadcast_all<'a>(op: &str, shapes: impl IntoIterator<Item = &'a Shape>) -> Result<Shape> {
    shapes.into_iter().try_fold(Shape::scalar(), |acc, s| broadcast2(op, &acc, s))
}

/// A dimension given by the user, wrapped to `0..rank`. Rank 0 accepts 0 and -1.
pub fn wrap_dim(op: &str, dim: i64, rank: usize) -> Result<usize> {
    wrap_argument(op, "dim", dim, rank)
}

/// The same, of an argument with another name.
pub fn wrap_argument(op: &str, argument: &str, dim: i64, rank: usize) -> Result<usize> {
    let r = rank.max(1);
    size::index(dim, r).ok_or_else(|| {
        let there = match rank {
            0 => "there are no dimensions, so only 0 and -1 name all of it".to_string(),
            1 => "there is 1 dimension; name it 0 or -1".to_string(),
            n => format!("there are {n} dimensions; count them from 0, or from the last, which is -1"),
        };
        Error::index(format!(
            "{op}(): argument '{argument}': Dimension out of range (expected to be in range of [-{r}, {}], but got \
             {dim}): {there}",
            r.saturating_sub(1)
        ))
    })
}

/// Dimensions given by the user, wrapped; a repeated one is an error.
pub fn wrap_dims(op: &str, dims: &[i64], rank: usize) -> Result<SmallVec<[usize; 6]>> {
    wrap_arguments(op, "dim", dims, rank)
}

/// The same, of an argument with another name.
pub fn wrap_arguments(op: &str, argument: &str, dims: &[i64], rank: usize) -> Result<SmallVec<[usize; 6]>> {
    let mut out: SmallVec<[usize; 6]> = SmallVec::new();
    for &d in dims {
        let d = wrap_argument(op, argument, d, rank)?;
        if out.contains(&d) {
            return Err(Error::runtime(format!(
                "{op}(): dim {d} appears multiple times in the list of dims; name it once"
            )));
        }
        out.push(d);
    }
    Ok(out)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn broadcast_follows_trailing_dimensions() {
        let s = broadcast2("add", &[3, 1].into(), &[2, 1, 4].into()).unwrap();
        assert_eq!(&s[..], &[2, 3, 4]);
        let e = broadcast2("add", &[3].into(), &[4].into()).unwrap_err();
        assert!(e.message().contains("add(): The size of tensor a (3)"));
        assert_eq!(&broadcast2("add", &[0].into(), &[1].into()).unwrap()[..], &[0]);
    }

    #[test]
    fn shapes_expand_along_dimensions_of_one() {
        let expands = |a: &[usize], b: &[usize]| Shape::new(a).expands_to(&Shape::new(b));
        assert!(expands(&[], &[2]) && expands(&[1, 3], &[4, 2, 3]) && expands(&[1], &[0]));
        assert!(!expands(&[3], &[3, 5]) && !expands(&[0], &[3]) && !expands(&[2, 3], &[3]));
    }

    #[test]
    fn dims_wrap_and_report_their_range() {
        assert_eq!(wrap_dim("sum", -1, 3).unwrap(), 2);
        assert_eq!(wrap_dim("sum", -1, 0).unwrap(), 0);
        assert!(wrap_dim("sum", 3, 3).unwrap_err().message().contains("[-3, 2], but got 3"));
        assert!(wrap_dims("sum", &[0, -2], 2).is_err());
    }

    #[test]
    fn huge_shapes_are_caught() {
        assert_eq!(Shape::from([usize::MAX, 2]).checked_numel(), None);
        assert_eq!(Shape::from([usize::MAX, 0]).checked_numel(), None);
        assert_eq!(Shape::from([size::LARGEST, 0]).checked_numel(), Some(0));
        assert_eq!(Shape::from([0, 1 << 40, 1 << 40]).checked_numel(), None);
        assert_eq!(Shape::from([1 << 61]).checked_bytes(4), None);
        assert!(broadcast2("add", &[1 << 40, 1].into(), &[1, 1 << 40].into()).is_err());
        assert!(Shape::of_sizes("zeros", &[1 << 62, 4]).unwrap_err().message().contains("more elements than memory"));
        assert!(Shape::of_sizes("zeros", &[2, -1]).is_err());
    }
}
