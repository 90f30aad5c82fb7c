//! Indexing as in Python: integers, ranges, new dimensions, and tensors of positions or bools.

use crate::base::Result;
use crate::core::Tensor;
use crate::core::tensors::each_tuple;
use crate::ops::indexing;
use crate::ops::value::IndexItem;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo};

/// One part of an index.
#[derive(Debug, Clone)]
pub struct IndexPart(IndexItem);

/// A new dimension of size 1 in an index, as `None` in Python.
#[derive(Debug, Clone, Copy)]
pub struct NewAxis;

/// All dimensions that an index does not name, as `...` in Python.
#[derive(Debug, Clone, Copy)]
pub struct Ellipsis;

/// What [`Tensor::index`] takes: one part, a tuple of up to eight, or a slice of [`IndexPart`]s.
///
/// A part is an integer (`-1` is the last), a range (`1..`, `..-1`, `..`), [`NewAxis`], [`Ellipsis`], a tensor of integers
/// (the elements at these positions) or of bools (the elements where it is true).
pub trait Index {
    /// The parts, in order.
    fn parts(self) -> Vec<IndexPart>;
}

/// A range with a step, as `start:stop:step` in Python.
pub fn stepped(range: impl Into<IndexPart>, step: i64) -> IndexPart {
    match range.into().0 {
        IndexItem::Slice { start, stop, .. } => IndexPart(IndexItem::Slice { start, stop, step: Some(step) }),
        other => IndexPart(other),
    }
}

macro_rules! parts {
    ($($t:ty, $value:ident => $item:expr;)*) => {$(
        impl From<$t> for IndexPart {
            fn from($value: $t) -> IndexPart {
                IndexPart($item)
            }
        }
        impl Index for $t {
            fn parts(self) -> Vec<IndexPart> {
                vec![self.into()]
            }
        }
    )*};
}
fn range(start: Option<i64>, stop: Option<i64>) -> IndexItem {
    IndexItem::Slice { start, stop, step: None }
}
parts! {
    i32, i => IndexItem::Int(i64::from(i));
    i64, i => IndexItem::Int(i);
    usize, i => IndexItem::Int(i64::try_from(i).unwrap_or(i64::MAX));
    RangeFull, _all => range(None, None);
    Range<i64>, r => range(Some(r.start), Some(r.end));
    RangeFrom<i64>, r => range(Some(r.start), None);
    RangeTo<i64>, r => range(None, Some(r.end));
    // Up to and with -1 is up to the end.
    RangeInclusive<i64>, r => range(Some(*r.start()), r.end().checked_add(1).filter(|&e| e != 0));
    NewAxis, _one => IndexItem::NewAxis;
    Ellipsis, _rest => IndexItem::Ellipsis;
    &Tensor, t => IndexItem::Tensor(t.clone());
    Tensor, t => IndexItem::Tensor(t);
}

impl Index for IndexPart {
    fn parts(self) -> Vec<IndexPart> {
        vec![self]
    }
}
impl Index for &[IndexPart] {
    fn parts(self) -> Vec<IndexPart> {
        self.to_vec()
    }
}

macro_rules! tuples {
    ($(($($name:ident $i:tt),+);)*) => {$(
        impl<$($name: Into<IndexPart>),+> Index for ($($name,)+) {
            fn parts(self) -> Vec<IndexPart> {
                vec![$(self.$i.into()),+]
            }
        }
    )*};
}
each_tuple!(tuples);

fn items(index: impl Index) -> Vec<IndexItem> {
    index.parts().into_iter().map(|p| p.0).collect()
}

impl Tensor {
    /// The elements that an index names, as `x[index]` in Python.
    ///
    /// # Errors
    /// `Index` where it names elements that there are not.
    ///
    /// ```
    /// use pullback::{NewAxis, Tensor};
    /// let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// assert_eq!(x.index((0, 1))?.to_scalar()?.as_f64(), 2.0);
    /// assert_eq!(x.index((.., -1))?.to_vec::<f64>()?, [3.0, 6.0]);
    /// assert_eq!(x.index((1, 1..))?.to_vec::<f64>()?, [5.0, 6.0]);
    /// assert_eq!(x.index((.., NewAxis, ..2))?.shape().to_vec(), [2, 1, 2]);
    /// assert_eq!(x.index(&x.gt(2.5)?)?.to_vec::<f64>()?, [3.0, 4.0, 5.0, 6.0]);
    /// assert_eq!(x.index((.., &Tensor::from([2, 0])))?.to_vec::<f64>()?, [3.0, 1.0, 6.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn index(&self, index: impl Index) -> Result<Tensor> {
        indexing::get(self, &items(index))
    }

    /// This tensor with other values where an index names elements, as after `x[index] = value` in Python; `value`
    /// broadcasts.
    ///
    /// # Errors
    /// `Index` where it names elements that there are not; `Runtime` if the shape of `value` does not broadcast.
    ///
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// let y = x.with_index((.., 0), 9.0)?;
    /// assert_eq!(y.to_vec::<f64>()?, [9.0, 2.0, 9.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn with_index(&self, index: impl Index, value: impl Into<Tensor>) -> Result<Tensor> {
        indexing::put(self, &items(index), &value.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_name_what_they_name_in_python() {
        let x = Tensor::arange(0, 24, 1).unwrap().reshape(&[2, 3, 4]).unwrap();
        let values = |t: Result<Tensor>| t.unwrap().to_vec::<i64>().unwrap();
        assert_eq!(values(x.index((1, .., 0))), [12, 16, 20]);
        assert_eq!(values(x.index((Ellipsis, -1))), [3, 7, 11, 15, 19, 23]);
        assert_eq!(values(x.index((0, 0, stepped(.., 2)))), [0, 2]);
        assert_eq!(values(x.index((0, 1..=1, -2..=-1))), [6, 7]);
        assert_eq!(values(x.index((0_usize, ..-2, 1..3))), [1, 2]);
        assert_eq!(values(x.index(&[1.into(), 2.into(), 3.into()][..])), [23]);
        let e = x.index((0, 3)).unwrap_err();
        assert_eq!(e.kind(), crate::ErrorKind::Index);
        let y = x.with_index((0, 0), x.index((1, 0)).unwrap()).unwrap();
        assert_eq!(values(y.index((0, 0))), [12, 13, 14, 15]);
    }
}
