//! Which elements a basic index names: integers, slices, `None` and `...`, the indices that give views.

#![deny(clippy::arithmetic_side_effects)]

use crate::bail;
use crate::base::{Layout, Result, size};
use crate::ops::value::IndexItem;

/// The integer in a 0-d integer tensor that no transform follows; such tensors index as numbers do.
fn integer(item: &IndexItem) -> Option<i64> {
    match item {
        IndexItem::Int(i) => Some(*i),
        IndexItem::Tensor(t) if t.rank() == 0 && t.dtype().is_integer() && t.dtype() != crate::DType::U8 => {
            Some(t.dense()?.item().ok()?.as_i64())
        }
        _ => None,
    }
}

/// Whether an index gives a view: it names no elements by tensors or masks.
pub fn is_basic(items: &[IndexItem]) -> bool {
    items.iter().all(|i| match i {
        IndexItem::Bool(_) => false,
        IndexItem::Tensor(_) => integer(i).is_some(),
        _ => true,
    })
}

/// A basic index with numbers in place of 0-d tensors.
pub fn plain(items: Vec<IndexItem>) -> Vec<IndexItem> {
    items.into_iter().map(|i| integer(&i).map_or(i, IndexItem::Int)).collect()
}

/// The part of a layout that a valid basic index names.
pub fn part(layout: &Layout, items: &[IndexItem]) -> Result<Layout> {
    let named = items.iter().filter(|i| !matches!(i, IndexItem::NewAxis | IndexItem::Ellipsis)).count();
    let rank = layout.shape.rank();
    if named > rank {
        bail!(Index, "too many indices for tensor of dimension {rank}; give {rank} at most");
    }
    let hidden = rank.saturating_sub(named);
    let mut out = Layout { shape: Default::default(), strides: Default::default(), offset: layout.offset };
    let mut push = |l: &Layout, d: usize| {
        out.shape.push(l.shape[d]);
        out.strides.push(l.strides[d]);
    };
    let mut l = layout.clone();
    let mut dim = 0;
    for item in items {
        match item {
            IndexItem::Int(i) => {
                let n = l.shape[dim];
                let Some(at) = size::index(*i, n) else {
                    return Err(size::out_of_bounds(*i, dim, n, true));
                };
                l = l.slice(dim, at, 1, 1);
                dim = dim.saturating_add(1);
            }
            IndexItem::Slice { start, stop, step } => {
                let s = size::slice(*start, *stop, *step, l.shape[dim])?;
                l = l.slice(dim, s.start, s.len, s.step);
                push(&l, dim);
                dim = dim.saturating_add(1);
            }
            IndexItem::NewAxis => {
                let step = |(&n, &s): (&usize, &isize)| s.saturating_mul(n.min(size::LARGEST) as isize);
                let step = l.shape.get(dim).zip(l.strides.get(dim)).map_or(1, step);
                push(&Layout { shape: [1].into(), strides: [step].into_iter().collect(), offset: 0 }, 0);
            }
            IndexItem::Ellipsis => {
                (dim..dim.saturating_add(hidden)).for_each(|d| push(&l, d));
                dim = dim.saturating_add(hidden);
            }
            IndexItem::Bool(_) | IndexItem::Tensor(_) => bail!(Internal, "{item:?} is no basic index"),
        }
    }
    (dim..rank).for_each(|d| push(&l, d));
    out.offset = l.offset;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::region::{Region, read};
    use crate::ops::indexing;
    use crate::{Shape, Tensor};

    fn slice(start: Option<i64>, stop: Option<i64>, step: Option<i64>) -> IndexItem {
        IndexItem::Slice { start, stop, step }
    }

    #[test]
    fn the_part_has_the_elements_that_indexing_gives() {
        let shape = Shape::from([3, 4, 5]);
        let v: Vec<i64> = (0..60).collect();
        let x = Tensor::from_slice(shape.clone(), &v).unwrap();
        let all = slice(None, None, None);
        let cases: [&[IndexItem]; 7] = [
            &[IndexItem::Int(-1)],
            &[slice(Some(-2), None, None), IndexItem::Int(1)],
            &[IndexItem::Ellipsis, slice(None, None, Some(3))],
            &[slice(Some(5), Some(9), None)],
            &[IndexItem::NewAxis, IndexItem::Ellipsis, IndexItem::Int(0), IndexItem::NewAxis],
            &[all.clone(), all, IndexItem::Int(2)],
            &[],
        ];
        for items in cases {
            let want = indexing::get(&x, items).unwrap();
            let part = part(&Layout::contiguous(shape.clone()), items).unwrap();
            let got = read(x.array().unwrap(), &Region::Strided(part), 0).unwrap();
            assert_eq!(got.shape(), want.shape(), "{items:?}");
            assert_eq!(got.to_vec::<i64>().unwrap(), want.to_vec::<i64>().unwrap(), "{items:?}");
        }
    }
}
