//! The loops over steps and rows.

use super::cells::{Gru, GruSlope, INS, Lstm, LstmSlope, OUTS, Plain, PlainSlope};
use super::units::{self, Units};
use super::{Arrays, Cell, Given, KNOWN, Plan, Sequence, threads};
use crate::base::{Result, Shape};
use crate::dense::Array;
use crate::dense::math::Fp;
use crate::dense::matmul::simd::SimdFloat;
use crate::dense::matmul::{Mat, MatMut, ProductElement, Stationary};
use crate::dense::parallel::Shared;
use crate::dense::scratch::Scratch;
use smallvec::SmallVec;
use std::ops::Range;
use std::ptr::{null, null_mut};
use std::sync::Mutex;

/// Work of a thread in nanoseconds that repays waking it.
const TASK_NS: usize = 80_000;
/// Rows of a task, unless threads need more of them: what a task works on stays in the second cache.
const MOST_ROWS: usize = 96;
const LEAST_ROWS: usize = 6;

/// Where rows are, for members that share weights (in groups) and sequences.
struct Rows<'a> {
    cell: Cell,
    reverse: bool,
    sizes: &'a [usize],
    starts: Vec<usize>,
    /// Members of a group, and groups.
    members: usize,
    groups: usize,
    batch: usize,
    hidden: usize,
    all: usize,
}

impl<'a> Rows<'a> {
    fn new(plan: &Plan, s: Sequence<'a>, shared: bool) -> Rows<'a> {
        let starts = s.sizes.iter().scan(0, |end, &n| Some(std::mem::replace(end, *end + n))).collect();
        let (members, groups) = if shared { (plan.members(), 1) } else { (1, plan.members()) };
        Rows {
            cell: s.cell,
            reverse: s.reverse,
            sizes: s.sizes,
            starts,
            members,
            groups,
            batch: plan.batch,
            hidden: plan.hidden,
            all: plan.rows,
        }
    }

    /// The member and the sequence of row `r` of a group. Sequences come first, so that those of a step are in front.
    #[inline]
    fn of(&self, group: usize, r: usize) -> (usize, usize) {
        (group * self.members + r % self.members, r / self.members)
    }
    /// The row of a sequence at step t among all rows.
    #[inline]
    fn at(&self, member: usize, t: usize, n: usize) -> usize {
        member * self.all + self.starts[t] + n
    }
    /// The row of the state before, or `None` for the first one.
    #[inline]
    fn before(&self, member: usize, t: usize, n: usize) -> Option<usize> {
        let t = if self.reverse { t + 1 } else { t.wrapping_sub(1) };
        (self.sizes.get(t).is_some_and(|&size| n < size)).then(|| self.at(member, t, n))
    }
    /// How many of these rows step t has.
    fn active(&self, t: usize, rows: &Range<usize>) -> usize {
        (self.sizes[t] * self.members).clamp(rows.start, rows.end) - rows.start
    }
    /// Steps in the order in which the layer runs, or against it.
    fn steps(&self, against: bool) -> impl Iterator<Item = usize> {
        let (count, down) = (self.sizes.len(), self.reverse != against);
        (0..count).map(move |i| if down { count - 1 - i } else { i })
    }

    /// Runs a task for parts of the rows, each with room for its rows times `each` elements and as many as `more` says. A
    /// row's bits do not depend on what other rows a task has, so threads may decide.
    fn run<T: ProductElement>(
        &self,
        room: &(dyn Fn(usize) -> usize + Sync),
        task: &(dyn Fn(usize, Range<usize>, *mut T) + Sync),
    ) -> Result<()> {
        let rows = self.batch * self.members;
        let work =
            (self.all * self.members * self.groups).saturating_mul(self.cell.gates() * self.hidden * self.hidden);
        let threads = if work / T::PER_NS < 2 * TASK_NS { 1 } else { threads::get_num_threads().div_ceil(self.groups) };
        let part = rows.div_ceil(threads).next_multiple_of(LEAST_ROWS).min(MOST_ROWS);
        let parts = rows.div_ceil(part);
        let failed = Mutex::new(None);
        threads::run(parts * self.groups, &|i| {
            let from = i % parts * part;
            let rows = from..rows.min(from + part);
            match Scratch::new(room(rows.len())) {
                Ok(room) => task(i / parts, rows, room.ptr()),
                Err(e) => *failed.lock().unwrap_or_else(|e| e.into_inner()) = Some(e),
            }
        });
        match failed.into_inner().unwrap_or_else(|e| e.into_inner()) {
            Some(e) => Err(e),
            None => Ok(()),
        }
    }
}

/// Weights, of all members or of each. Rows of a matrix are those of the products' columns.
struct Weights<T> {
    each: Vec<Stationary<T>>,
    shared: bool,
}

/// Whether all members have the same values, given `rank` dimensions of each.
fn is_shared(a: &Array, rank: usize) -> bool {
    let strides = a.strides();
    let lead = a.rank() - rank;
    (0..lead).all(|d| a.shape()[d] <= 1 || strides[d] == 0)
}

/// The values of each member, one after the other, given `rank` dimensions of each.
fn own(plan: &Plan, a: &Array, rank: usize) -> Result<Array> {
    let member = Shape::new(&a.shape()[a.rank() - rank..]);
    a.expand(&plan.with_lead(&member))?.contiguous()
}

impl<T: SimdFloat> Weights<T> {
    /// Matrices of `rows` from `from` on, transposed if the products go forward.
    fn new(plan: &Plan, w: &Array, shared: bool, (from, rows): (usize, usize), transposed: bool) -> Result<Weights<T>> {
        let w = if shared { w.clone() } else { own(plan, w, 2)? };
        let (rank, strides) = (w.rank(), w.strides());
        let (all, cols) = (w.shape()[rank - 2], w.shape()[rank - 1]);
        let count = if shared { 1 } else { w.shape()[..rank - 2].iter().product() };
        let one = |i: usize| {
            let m = Mat { ptr: w.ptr().cast::<T>(), rs: strides[rank - 2], cs: strides[rank - 1] };
            // SAFETY: the matrix of member i, whose rows these are.
            unsafe {
                let m = Mat { ptr: m.ptr.wrapping_add(i * all * cols), ..m }.offset(from, 0);
                if transposed { Stationary::new(m.transposed(), cols, rows) } else { Stationary::new(m, rows, cols) }
            }
        };
        Ok(Weights { each: (0..count).map(one).collect::<Result<_>>()?, shared })
    }
    fn of(&self, group: usize) -> &Stationary<T> {
        &self.each[if self.shared { 0 } else { group }]
    }
}

/// # Safety
/// There are `n` elements in both places, which do not overlap.
#[inline(always)]
unsafe fn copy<T>(from: *const T, to: *mut T, n: usize) {
    // SAFETY: by the contract.
    unsafe { to.copy_from_nonoverlapping(from, n) }
}

pub struct Forward<'a, T> {
    rows: Rows<'a>,
    /// What the weights are multiplied into: matrices, and the parts of a row where their columns begin.
    weights: Vec<(Weights<T>, usize)>,
    units: Units<T>,
    projected: Array,
    first: Array,
    /// The first c, or the bias.
    more: Option<Array>,
    empty: bool,
}

impl<'a, T: SimdFloat + Fp + ProductElement> Forward<'a, T> {
    pub fn new(plan: &Plan, s: Sequence<'a>, args: &[&Array]) -> Result<Forward<'a, T>> {
        let shared = is_shared(args[2], 2) && (s.cell != Cell::Gru || is_shared(args[3], 1));
        let (h, empty) = (plan.hidden, plan.is_empty());
        let blocks: &[(usize, usize, usize)] = match s.cell {
            _ if empty => &[],
            Cell::Gru => &[(0, 2, 0), (2, 1, 3)],
            Cell::Lstm => &[(0, 4, 0)],
            _ => &[(0, 1, 0)],
        };
        let weight = |&(from, rows, to): &(usize, usize, usize)| {
            Ok((Weights::new(plan, args[2], shared, (from * h, rows * h), true)?, to * h))
        };
        Ok(Forward {
            rows: Rows::new(plan, s, shared),
            weights: blocks.iter().map(weight).collect::<Result<_>>()?,
            units: match s.cell {
                Cell::Lstm => units::of::<T, Lstm>(),
                Cell::Gru => units::of::<T, Gru>(),
                Cell::Tanh => units::of::<T, Plain<false>>(),
                Cell::Relu => units::of::<T, Plain<true>>(),
            },
            projected: args[0].contiguous()?,
            first: args[1].contiguous()?,
            more: match s.cell {
                Cell::Gru => Some(own(plan, args[3], 1)?),
                _ => args.get(3).map(|a| a.contiguous()).transpose()?,
            },
            empty,
        })
    }

    pub fn run(&self, mut out: Arrays) -> Result<Arrays> {
        if self.empty {
            return Ok(out);
        }
        let to: Parts<T> = parts(&mut out);
        let parts = self.rows.cell.kept();
        let room = |rows: usize| rows * self.rows.hidden * (parts + 2) + products(&self.weights, rows);
        // SAFETY: the arguments have these shapes, tasks have rows and room of their own.
        self.rows.run::<T>(&room, &|group, rows, room| unsafe { self.task(group, rows, &to, room) })?;
        Ok(out)
    }

    /// # Safety
    /// `to` are outputs of the shapes that go with the arguments; nobody else uses these rows of them, nor the room.
    unsafe fn task(&self, group: usize, rows: Range<usize>, to: &Parts<T>, room: *mut T) {
        let (all, h, parts) = (&self.rows, self.rows.hidden, self.rows.cell.kept());
        let (gates, count, cell) = (all.cell.gates(), rows.len(), all.cell);
        let (projected, first) = (self.projected.ptr().cast::<T>(), self.first.ptr().cast::<T>());
        let more = self.more.as_ref().map_or(null(), |m| m.ptr().cast::<T>());
        // SAFETY: by the contract; rows, and parts of them, lie inside what they are parts of.
        unsafe {
            let (state, memory) = (room.add(count * parts * h), room.add(count * (parts + 1) * h));
            let rest = room.add(count * (parts + 2) * h);
            for r in 0..count {
                let (m, n) = all.of(group, rows.start + r);
                let from = (m * all.batch + n) * h;
                copy(first.add(from), state.add(r * h), h);
                if cell == Cell::Lstm {
                    copy(more.add(from), memory.add(r * h), h);
                }
            }
            for t in all.steps(false) {
                threads::cancellation_point();
                let active = all.active(t, &rows);
                for r in 0..active {
                    let (m, n) = all.of(group, rows.start + r);
                    copy(projected.add(all.at(m, t, n) * gates * h), room.add(r * parts * h), gates * h);
                    if cell == Cell::Gru {
                        copy(more.add(m * h), room.add((r * parts + 3) * h), h);
                    }
                }
                for (weights, column) in &self.weights {
                    let (a, c) = (rows_of(state, h), rows_to(room.add(*column), parts * h));
                    weights.of(group).product(active, a, rest, c, true);
                }
                for r in 0..active {
                    let (m, n) = all.of(group, rows.start + r);
                    let (at, own) = (all.at(m, t, n), room.add(r * parts * h));
                    let out = to[0].at(at * h);
                    let (mut ins, mut outs) = ([null(); INS], [null_mut(); OUTS]);
                    for i in 0..parts {
                        ins[i] = own.add(i * h).cast_const();
                        outs[i] = if parts == 1 { out } else { to[1].at((at * parts + i) * h) };
                    }
                    if cell == Cell::Lstm {
                        ins[4] = memory.add(r * h);
                        (outs[4], outs[5]) = (to[2].at(at * h), out);
                    } else if cell == Cell::Gru {
                        (ins[4], outs[4]) = (state.add(r * h), out);
                    }
                    (self.units)(h, &ins, &outs);
                    copy(out, state.add(r * h), h);
                    if cell == Cell::Lstm {
                        copy(outs[4], memory.add(r * h), h);
                    }
                }
            }
        }
    }
}

pub struct Backward<'a, T> {
    rows: Rows<'a>,
    weights: Vec<(Weights<T>, usize)>,
    units: Units<T>,
    /// Gates, states and first states.
    known: SmallVec<[Array; 3]>,
    /// Cotangents of h, of the gates and of c.
    given: [Option<Array>; 3],
    empty: bool,
}

impl<'a, T: SimdFloat + Fp + ProductElement> Backward<'a, T> {
    pub fn new(plan: &Plan, s: Sequence<'a>, args: &[&Array], given: Given) -> Result<Backward<'a, T>> {
        let (shared, empty) = (is_shared(args[0], 2), plan.is_empty());
        let all = s.cell.gates() * plan.hidden;
        let weights = if empty { None } else { Some((Weights::new(plan, args[0], shared, (0, all), false)?, 0)) };
        let mut more = args[KNOWN..].iter();
        let mut cotangents = [None, None, None];
        for (to, given) in cotangents.iter_mut().zip(given) {
            if given {
                *to = more.next().map(|a| a.contiguous()).transpose()?;
            }
        }
        Ok(Backward {
            rows: Rows::new(plan, s, shared),
            weights: weights.into_iter().collect(),
            units: match s.cell {
                Cell::Lstm => units::of::<T, LstmSlope>(),
                Cell::Gru => units::of::<T, GruSlope>(),
                Cell::Tanh => units::of::<T, PlainSlope<false>>(),
                Cell::Relu => units::of::<T, PlainSlope<true>>(),
            },
            known: args[1..KNOWN].iter().map(|a| a.contiguous()).collect::<Result<_>>()?,
            given: cotangents,
            empty,
        })
    }

    pub fn run(&self, mut out: Arrays) -> Result<Arrays> {
        if self.empty {
            return out.into_iter().map(|a| Array::zeros(a.dtype(), a.shape().clone())).collect();
        }
        let to: Parts<T> = parts(&mut out);
        let gates = self.rows.cell.gates();
        let room = |rows: usize| (rows * (gates + 2) + 1) * self.rows.hidden + products(&self.weights, rows);
        // SAFETY: the arguments have these shapes, tasks have rows and room of their own.
        self.rows.run::<T>(&room, &|group, rows, room| unsafe { self.task(group, rows, &to, room) })?;
        Ok(out)
    }

    /// # Safety
    /// As [`Forward::task`].
    unsafe fn task(&self, group: usize, rows: Range<usize>, to: &Parts<T>, room: *mut T) {
        let (all, h, count, cell) = (&self.rows, self.rows.hidden, rows.len(), self.rows.cell);
        let gates = cell.gates();
        // SAFETY: by the contract; rows, and parts of them, lie inside what they are parts of.
        unsafe {
            let (state, memory) = (room.add(count * gates * h), room.add(count * (gates + 1) * h));
            let (zeros, rest) = (room.add(count * (gates + 2) * h), room.add((count * (gates + 2) + 1) * h));
            (0..(2 * count + 1) * h).for_each(|i| state.add(i).write(T::zero()));
            for t in all.steps(true) {
                threads::cancellation_point();
                let active = all.active(t, &rows);
                for r in 0..active {
                    let (m, n) = all.of(group, rows.start + r);
                    let (at, own) = (all.at(m, t, n), room.add(r * gates * h));
                    let carried = [state.add(r * h), memory.add(r * h)];
                    let mut outs = [null_mut(); OUTS];
                    for i in 0..gates {
                        outs[i] = own.add(i * h);
                    }
                    match cell {
                        Cell::Lstm => outs[4] = carried[1],
                        Cell::Gru => (outs[3], outs[4]) = (to[0].at((at * gates + 2) * h), carried[0]),
                        _ => {}
                    }
                    (self.units)(h, &self.values((m, t, n), carried, zeros), &outs);
                    if cell == Cell::Gru {
                        copy(own, to[0].at(at * gates * h), 2 * h);
                        copy(own, to[2].at(at * gates * h), gates * h);
                    } else {
                        copy(own, to[0].at(at * gates * h), gates * h);
                    }
                }
                for (weights, _) in &self.weights {
                    let (a, c) = (rows_of(room, gates * h), rows_to(state, h));
                    weights.of(group).product(active, a, rest, c, cell == Cell::Gru);
                }
            }
            for r in 0..count {
                let (m, n) = all.of(group, rows.start + r);
                let at = (m * all.batch + n) * h;
                copy(state.add(r * h), to[1].at(at), h);
                if cell == Cell::Lstm {
                    copy(memory.add(r * h), to[2].at(at), h);
                }
            }
        }
    }

    /// What the cell's derivative reads for a row.
    ///
    /// # Safety
    /// As [`Forward::task`]; there is a row of zeros.
    #[inline(always)]
    unsafe fn values(&self, (m, t, n): (usize, usize, usize), carried: [*mut T; 2], zeros: *mut T) -> [*const T; INS] {
        let (all, h, at) = (&self.rows, self.rows.hidden, self.rows.at(m, t, n));
        let known = |i: usize| self.known[i].ptr().cast::<T>();
        // SAFETY: by the contract.
        unsafe {
            let cotangent = |i: usize, parts: usize, part: usize| match &self.given[i] {
                Some(g) => g.ptr().cast::<T>().add((at * parts + part) * h),
                None => zeros.cast_const(),
            };
            let mut ins = [null(); INS];
            if !all.cell.has_gates() {
                (ins[0], ins[1], ins[2]) = (known(0).add(at * h), cotangent(0, 1, 0), carried[0]);
                return ins;
            }
            for i in 0..4 {
                ins[i] = known(0).add((at * 4 + i) * h);
            }
            ins[4] = match all.before(m, t, n) {
                Some(before) => known(1).add(before * h),
                None => known(2).add((m * all.batch + n) * h),
            };
            let next = if all.cell == Cell::Lstm {
                ins[5] = known(1).add(at * h);
                (ins[6], ins[7]) = (cotangent(0, 1, 0), carried[0]);
                (ins[8], ins[9]) = (cotangent(2, 1, 0), carried[1]);
                10
            } else {
                (ins[5], ins[6]) = (cotangent(0, 1, 0), carried[0]);
                7
            };
            for i in 0..4 {
                ins[next + i] = cotangent(1, 4, i);
            }
            ins
        }
    }
}

/// The outputs' first elements.
type Parts<T> = [Shared<T>; 3];

fn parts<T>(out: &mut Arrays) -> Parts<T> {
    let mut at = out.iter_mut().map(|a| a.ptr_mut().cast());
    std::array::from_fn(|_| Shared(at.next().unwrap_or(null_mut())))
}

/// Room of the products of so many rows.
fn products<T: SimdFloat>(weights: &[(Weights<T>, usize)], rows: usize) -> usize {
    weights.iter().map(|(w, _)| w.of(0).room(rows)).max().unwrap_or(0)
}

fn rows_of<T>(ptr: *mut T, width: usize) -> Mat<T> {
    Mat { ptr: ptr.cast_const(), rs: width as isize, cs: 1 }
}

fn rows_to<T>(ptr: *mut T, width: usize) -> MatMut<T> {
    MatMut { ptr, rs: width as isize, cs: 1 }
}
