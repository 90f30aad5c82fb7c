//! Which loops a reduction runs: dimensions sorted by how far they step in memory, neighbours merged.

use crate::base::{Layout, Shape};
use smallvec::SmallVec;

/// One loop: its length, its step in the input, and its step in the output (unused if reduced).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    pub n: usize,
    pub step: isize,
    pub out: isize,
}

pub type Axes = SmallVec<[Axis; 6]>;

/// Loops of a non-empty reduction, each list from the longest step to the shortest.
#[derive(Debug)]
pub struct ReductionPlan {
    /// Start in the input and in the output, relative to the first element of each.
    pub start: isize,
    pub out_start: isize,
    pub kept: Axes,
    pub reduced: Axes,
    /// The loop with the shortest step.
    pub inner: Axis,
    pub inner_reduced: bool,
}

/// The shape of a reduction's result.
pub fn result_shape(shape: &Shape, dims: &[usize], keep: bool) -> Shape {
    if shape.rank() == 0 || (!keep && dims.len() == shape.rank()) {
        return Shape::scalar();
    }
    let is_reduced = |i: &usize| dims.contains(i);
    match keep {
        true => (0..shape.rank()).map(|i| if is_reduced(&i) { 1 } else { shape[i] }).collect(),
        false => (0..shape.rank()).filter(|i| !is_reduced(i)).map(|i| shape[i]).collect(),
    }
}

impl ReductionPlan {
    /// Loops over `layout` (no dimension of size 0) for a contiguous output.
    pub fn new(layout: &Layout, dims: &[usize]) -> ReductionPlan {
        let rank = layout.shape.rank();
        let mut axes: SmallVec<[(Axis, bool); 6]> = SmallVec::new();
        let (mut start, mut out_start, mut out) = (0, 0, 1isize);
        for d in (0..rank).rev() {
            let (n, step, reduced) = (layout.shape[d], layout.strides[d], dims.contains(&d));
            let mut axis = Axis { n, step, out: if reduced { 0 } else { out } };
            if !reduced {
                out *= n as isize;
            }
            if n == 1 {
                continue;
            }
            if step < 0 {
                start += (n as isize - 1) * step;
                out_start += (n as isize - 1) * axis.out;
                axis = Axis { n, step: -step, out: -axis.out };
            }
            axes.push((axis, reduced));
        }
        axes.reverse();
        // A repeated dimension (step 0) goes outermost: nothing is gained by running it inside.
        axes.sort_by_key(|(a, _)| std::cmp::Reverse(if a.step == 0 { isize::MAX } else { a.step }));
        let axes = merge(&axes);
        let mut plan = ReductionPlan {
            start,
            out_start,
            kept: Axes::new(),
            reduced: Axes::new(),
            inner: Axis { n: 1, step: 1, out: 1 },
            inner_reduced: true,
        };
        if let Some((&(inner, inner_reduced), outer)) = axes.split_last() {
            plan.inner = inner;
            plan.inner_reduced = inner_reduced;
            for &(axis, reduced) in outer {
                if reduced { plan.reduced.push(axis) } else { plan.kept.push(axis) }
            }
        }
        plan
    }
}

impl ReductionPlan {
    /// Two plans for a fold whose innermost loop and others are reduced: the first folds the others into contiguous
    /// rows, the second folds the rows.
    pub fn split(&self) -> (ReductionPlan, ReductionPlan) {
        let (mut between, mut after) = (self.kept.clone(), self.kept.clone());
        let mut step = self.inner.n as isize;
        for (b, a) in between.iter_mut().zip(&mut after).rev() {
            (b.out, a.step) = (step, step);
            step *= b.n as isize;
        }
        let axes: SmallVec<[(Axis, bool); 6]> =
            between.iter().chain([&Axis { out: 1, ..self.inner }]).map(|&a| (a, false)).collect();
        let mut kept: Axes = merge(&axes).into_iter().map(|(a, _)| a).collect();
        let inner = kept.pop().unwrap_or(self.inner);
        let first = ReductionPlan {
            start: self.start,
            out_start: 0,
            kept,
            reduced: self.reduced.clone(),
            inner,
            inner_reduced: false,
        };
        let second = ReductionPlan {
            start: 0,
            out_start: self.out_start,
            kept: after,
            reduced: Axes::new(),
            inner: Axis { step: 1, ..self.inner },
            inner_reduced: true,
        };
        (first, second)
    }
}

fn merge(axes: &[(Axis, bool)]) -> SmallVec<[(Axis, bool); 6]> {
    let mut merged: SmallVec<[(Axis, bool); 6]> = SmallVec::new();
    for &(axis, reduced) in axes {
        let n = axis.n as isize;
        match merged.last_mut() {
            Some((o, r)) if *r == reduced && o.step == axis.step * n && o.out == axis.out * n => {
                *o = Axis { n: o.n * axis.n, ..axis };
            }
            _ => merged.push((axis, reduced)),
        }
    }
    merged
}

pub fn volume(axes: &[Axis]) -> usize {
    axes.iter().map(|a| a.n).product()
}

/// Steps through nested loops in order, from any position.
pub struct Walk<'a> {
    axes: &'a [Axis],
    index: SmallVec<[usize; 6]>,
    /// Present position in the input and the output, in elements.
    pub at: isize,
    pub out: isize,
}

impl<'a> Walk<'a> {
    pub fn new(axes: &'a [Axis], mut position: usize) -> Self {
        let mut walk = Walk { axes, index: SmallVec::from_elem(0, axes.len()), at: 0, out: 0 };
        for (i, axis) in axes.iter().enumerate().rev() {
            if position == 0 {
                break;
            }
            let k = position % axis.n;
            position /= axis.n;
            walk.index[i] = k;
            walk.at += k as isize * axis.step;
            walk.out += k as isize * axis.out;
        }
        walk
    }

    #[inline]
    pub fn next(&mut self) {
        for (i, axis) in self.axes.iter().enumerate().rev() {
            self.index[i] += 1;
            self.at += axis.step;
            self.out += axis.out;
            if self.index[i] < axis.n {
                return;
            }
            self.at -= axis.n as isize * axis.step;
            self.out -= axis.n as isize * axis.out;
            self.index[i] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_merge_and_order_follows_memory() {
        let l = Layout::contiguous([2, 3, 4, 5].into());
        let p = ReductionPlan::new(&l, &[2, 3]);
        assert_eq!((p.inner.n, p.inner_reduced, p.kept.len(), p.reduced.len()), (20, true, 1, 0));
        let p = ReductionPlan::new(&l.permute(&[3, 2, 1, 0]), &[0]);
        assert_eq!((p.inner.n, p.inner_reduced), (5, true));
        assert_eq!(p.kept.iter().map(|a| a.out).collect::<Vec<_>>(), [1, 2, 6]);
    }

    #[test]
    fn walking_from_anywhere_agrees() {
        let axes = [Axis { n: 3, step: 10, out: 1 }, Axis { n: 4, step: -1, out: 3 }];
        let mut w = Walk::new(&axes, 0);
        for p in 0..12 {
            let v = Walk::new(&axes, p);
            assert_eq!((w.at, w.out), (v.at, v.out));
            w.next();
        }
    }
}
