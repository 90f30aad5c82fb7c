//! Equal rows found and counted.

use super::by_order;
use super::key::Sortable;
use crate::bail;
use crate::base::{DType, Result, Shape};
use crate::dense::array::Array;
use crate::dense::threads;
use half::{bf16, f16};

/// Which rows there are, all of dtype int64.
pub struct Distinct {
    /// Where each stands first.
    pub first: Array,
    /// For every row, which of them it is.
    pub inverse: Array,
    /// How often each is there.
    pub counts: Array,
}

/// The distinct rows (along dimension 0) in lexicographic order; with `consecutive`, each run of equal rows in the order
/// in which they stand. NaN equals nothing, both zeros are one.
///
/// Error: `NotImplemented` for complex dtypes.
pub fn unique(a: &Array, consecutive: bool) -> Result<Distinct> {
    const OP: &str = "unique";
    let Some((&n, rest)) = a.shape().split_first() else {
        bail!(Internal, "{OP}(): expected rows, got no dimension");
    };
    let width: usize = rest.iter().product();
    let a = a.contiguous()?;
    let groups = by_order!(OP, a.dtype(), T => {
        let x: &[T] = a.as_slice().unwrap_or(&[]);
        let rows = Rows { x, width };
        let order = match width {
            // Rows of one element are sorted as elements are.
            1 if !consecutive => {
                let order = super::argsort(&a.reshape(&[n].into())?, 0, false, true)?.to_vec::<i64>()?;
                order.into_iter().map(|i| i as usize).collect()
            }
            _ if consecutive => (0..n).collect(),
            _ => sorted(n, &rows),
        };
        grouped(&order, &rows)
    });
    let ints = |v: &[i64]| Array::from_slice(Shape::from([v.len()]), v);
    Ok(Distinct { first: ints(&groups.first)?, inverse: ints(&groups.inverse)?, counts: ints(&groups.counts)? })
}

struct Rows<'a, T> {
    x: &'a [T],
    width: usize,
}

impl<T: Sortable> Rows<'_, T> {
    fn row(&self, i: usize) -> &[T] {
        &self.x[i * self.width..(i + 1) * self.width]
    }
    fn compare(&self, i: usize, j: usize) -> std::cmp::Ordering {
        self.row(i).iter().map(|x| x.key()).cmp(self.row(j).iter().map(|x| x.key()))
    }
    fn are_equal(&self, i: usize, j: usize) -> bool {
        self.row(i).iter().zip(self.row(j)).all(|(x, y)| x.key() == y.key() && !x.is_nan())
    }
}

/// The numbers of the rows, sorted stably; the sort may be given up between pieces.
fn sorted<T: Sortable>(n: usize, rows: &Rows<'_, T>) -> Vec<usize> {
    /// Rows that are sorted at once.
    const PIECE: usize = 1 << 16;
    let mut order: Vec<usize> = (0..n).collect();
    for piece in order.chunks_mut(PIECE) {
        super::sort_places(piece, &|i, j| rows.compare(i, j));
        threads::cancellation_point();
    }
    // Pieces in order merge in linear time.
    if order.len() > PIECE {
        super::sort_places(&mut order, &|i, j| rows.compare(i, j));
    }
    order
}

struct Groups {
    first: Vec<i64>,
    inverse: Vec<i64>,
    counts: Vec<i64>,
}

fn grouped<T: Sortable>(order: &[usize], rows: &Rows<'_, T>) -> Groups {
    let mut groups = Groups { first: Vec::new(), inverse: vec![0; order.len()], counts: Vec::new() };
    let mut before: Option<usize> = None;
    for &i in order {
        match groups.counts.last_mut() {
            Some(count) if before.is_some_and(|b| rows.are_equal(b, i)) => *count += 1,
            _ => {
                groups.first.push(i as i64);
                groups.counts.push(1);
            }
        }
        groups.inverse[i] = groups.counts.len() as i64 - 1;
        before = Some(i);
    }
    groups
}
