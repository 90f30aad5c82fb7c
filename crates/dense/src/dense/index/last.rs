//! Which of several writes to one place is the last.

use super::gather::index_axes;
use super::require_indices;
use crate::base::{Result, Shape};
use crate::dense::array::Array;
use crate::dense::reduce::plan::{Walk, volume};
use std::collections::HashSet;

/// Targets per index up to which a table of all targets is better than a set of those that were met.
const SPARSE: usize = 32;

/// Indices that are compared pair by pair.
const FEW: usize = 16;

/// The targets in `0..size` that one line of indices has met.
enum Met {
    /// The number of the last line that met each.
    Table(Vec<u32>),
    Set(HashSet<i64>),
}

impl Met {
    fn new(size: usize, indices: usize) -> Met {
        if size / SPARSE <= indices { Met::Table(vec![0; size]) } else { Met::Set(HashSet::with_capacity(indices)) }
    }

    fn begin(&mut self, line: u32) {
        match self {
            Met::Set(s) => s.clear(),
            Met::Table(t) if line == 1 => t.fill(0),
            Met::Table(_) => {}
        }
    }

    /// Whether this line meets the target for the first time.
    fn first(&mut self, target: i64, line: u32) -> bool {
        match self {
            Met::Set(s) => s.insert(target),
            Met::Table(t) => match t.get_mut(target as usize) {
                Some(seen) => std::mem::replace(seen, line) != line,
                None => true,
            },
        }
    }
}

/// Whether a short list names each target once, found without a table.
fn are_few_and_distinct(index: &Array, size: usize) -> bool {
    let Some(list) = index.as_slice::<i64>().filter(|l| l.len() <= FEW && index.rank() == 1) else { return false };
    let target = |i: i64| if i < 0 { i.wrapping_add(size as i64) } else { i };
    list.iter().enumerate().all(|(k, &i)| list[..k].iter().all(|&j| target(i) != target(j)))
}

/// For each index whether none after it along `dim` names the same of `size` targets; negative ones count from the
/// end. `None` if that is true of all, as it is where no index repeats.
pub fn last_writes(index: &Array, dim: usize, size: usize) -> Result<Option<Array>> {
    require_indices("index", index.dtype())?;
    let index = if index.rank() == 0 { index.reshape(&Shape::from([1]))? } else { index.clone() };
    if index.shape()[dim] < 2 || index.numel() == 0 || are_few_and_distinct(&index, size) {
        return Ok(None);
    }
    let mut repeated = false;
    let mask = Array::build::<bool>(index.shape().clone(), |out| {
        let steps = index.shape().contiguous_strides();
        let axes = index_axes(&steps, &index, usize::MAX);
        let along = axes[dim];
        let outer: Vec<_> = axes.iter().enumerate().filter(|(d, _)| *d != dim).map(|(_, a)| *a).collect();
        let mut walk = Walk::new(&outer, 0);
        let mut met = Met::new(size, index.numel());
        for line in 0..volume(&outer) {
            // Numbers of lines start anew before they wrap.
            let number = (line % (u32::MAX as usize - 1)) as u32 + 1;
            met.begin(number);
            for k in (0..along.n as isize).rev() {
                // SAFETY: the walk and the line stay inside the index's layout.
                let i = unsafe { *index.ptr().cast::<i64>().offset(walk.out + k * along.out) };
                let first = met.first(if i < 0 { i.wrapping_add(size as i64) } else { i }, number);
                repeated |= !first;
                out[(walk.at + k * along.step) as usize] = first;
            }
            walk.next();
        }
    })?;
    Ok(repeated.then_some(mask))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(shape: &[usize], values: &[i64]) -> Array {
        Array::from_slice(Shape::new(shape), values).unwrap()
    }

    #[test]
    fn the_last_of_equal_indices_is_marked() {
        let last = |a: &Array, dim, size| last_writes(a, dim, size).unwrap().map(|m| m.to_vec::<bool>().unwrap());
        for size in [4, 4000] {
            let a = index(&[5], &[0, 3, 0, -1, 3]);
            let by_end = if size == 4 { [false, false, true, false, true] } else { [false, false, true, true, true] };
            assert_eq!(last(&a, 0, size).unwrap(), by_end);
            assert_eq!(last(&index(&[3], &[2, 0, 1]), 0, size), None);
        }
        let a = index(&[2, 3], &[0, 1, 0, 0, 0, 0]);
        assert_eq!(last(&a, 1, 2).unwrap(), [false, true, true, false, false, true]);
        assert_eq!(last(&a, 0, 2).unwrap(), [false, true, false, true, true, true]);
        let turned = a.permute(&[1, 0]).unwrap();
        assert_eq!(last(&turned, 0, 2).unwrap(), [false, false, true, false, true, true]);
        assert_eq!(last(&index(&[1], &[0]).expand(&[3].into()).unwrap(), 0, 1).unwrap(), [false, false, true]);
        assert_eq!(last(&index(&[0], &[]), 0, 3), None);
    }
}
