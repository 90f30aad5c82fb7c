//! The three products over unrolled windows.

use super::columns::{Shifted, add_row, gather_row};
use super::element::Product;
use super::params::ConvParams;
use crate::base::{Error, Result};
use crate::dense::array::Written;
use crate::dense::matmul::{Mat, MatMut};
use crate::dense::parallel::{self, Shared};
use crate::dense::{Array, Buffer};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Bytes of columns that are unrolled at once: half of a usual second-level cache.
const BLOCK_BYTES: usize = 1 << 18;
/// Fewest pixels of a block.
const LEAST: usize = 64;
/// Tasks that are worth having.
const TASKS: usize = 16;

/// A convolution of `n` images with `c` channels to `o` channels.
pub struct Unrolled<'a, T> {
    p: &'a ConvParams,
    n: usize,
    /// Channels and output channels of a group.
    cg: usize,
    og: usize,
    taps: usize,
    /// Pixels of the input and of the output.
    inner: usize,
    outer: usize,
    element: PhantomData<T>,
}

/// A part of a convolution: channels `c .. c + channels` of a group of an image.
#[derive(Clone, Copy)]
struct Part {
    n: usize,
    g: usize,
    c: usize,
    channels: usize,
}

impl<'a, T: Product> Unrolled<'a, T> {
    pub fn new(p: &'a ConvParams, n: usize, c: usize, o: usize) -> Self {
        let groups = p.groups.max(1);
        Unrolled {
            p,
            n,
            cg: c / groups,
            og: o / groups,
            taps: p.taps(),
            inner: p.in_pixels(),
            outer: p.out_pixels(),
            element: PhantomData,
        }
    }

    fn depth(&self) -> usize {
        self.cg * self.taps
    }
    fn is_empty(&self) -> bool {
        [self.n, self.p.groups, self.cg, self.taps, self.og, self.inner, self.outer].contains(&0)
    }
    /// Pixels of a block of this many rows.
    fn block(&self, rows: usize) -> usize {
        // Columns are written once and read once per output channel: they should not leave the second cache between.
        let fit = BLOCK_BYTES / size_of::<T>() / rows.max(1);
        (fit / LEAST * LEAST).max(LEAST).min(self.outer)
    }
    /// Channels of a part, such that there are enough parts.
    fn channels(&self, parts: usize) -> usize {
        let cuts = TASKS.div_ceil(parts.max(1));
        self.cg.div_ceil(cuts).max(LEAST.div_ceil(self.taps)).min(self.cg)
    }
    fn x_plane(&self, part: Part, channel: usize) -> usize {
        ((part.n * self.p.groups + part.g) * self.cg + part.c + channel) * self.inner
    }
    /// The first element of a group's images in the output.
    fn y_group(&self, n: usize, g: usize) -> usize {
        (n * self.p.groups + g) * self.og * self.outer
    }

    /// Calls `body(task, scratch)` for all tasks, each of `work` multiply-adds, with memory for `scratch` elements.
    fn each(&self, tasks: usize, work: usize, scratch: usize, body: &(dyn Fn(usize, *mut T) + Sync)) -> Result<()> {
        let failed = AtomicBool::new(false);
        parallel::ranges(tasks, work / 16 + 1, &|lo, hi| {
            match Buffer::alloc(scratch.max(1) * size_of::<T>()) {
                Ok(buffer) => (lo..hi).for_each(|t| body(t, buffer.ptr().cast())),
                Err(_) => failed.store(true, Relaxed),
            };
        });
        if failed.into_inner() {
            return Err(Error::runtime(format!("conv(): not enough memory for {scratch} elements of scratch")));
        }
        Ok(())
    }

    /// The columns of the output pixels `from .. to`, one row per channel and kernel position.
    ///
    /// # Safety
    /// `x` is the input; `scratch` has room for the columns.
    unsafe fn columns(&self, x: *const T, part: Part, from: usize, to: usize, scratch: *mut T) -> Mat<T> {
        // SAFETY: planes lie inside the input, rows inside the scratch.
        unsafe {
            if self.p.is_pointwise() {
                return Mat { ptr: x.add(self.x_plane(part, 0) + from), rs: self.inner as isize, cs: 1 };
            }
            for t in 0..self.taps {
                let tap = self.p.tap(t);
                let shifted = Shifted::of(self.p, tap);
                for c in 0..part.channels {
                    let plane = x.add(self.x_plane(part, c));
                    let row = scratch.add((c * self.taps + t) * (to - from));
                    match &shifted {
                        Some(s) => s.gather(plane, from, to, row),
                        None => gather_row(self.p, tap, plane, T::zero(), from, to, row),
                    }
                }
            }
        }
        Mat { ptr: scratch, rs: (to - from) as isize, cs: 1 }
    }

    pub fn forward(&self, x: &Array, w: &Array) -> Result<Array> {
        let shape = self.p.y_shape(self.n, self.og * self.p.groups);
        if self.is_empty() {
            return Array::zeros(T::DTYPE, shape);
        }
        let (depth, block) = (self.depth(), self.block(self.depth()));
        let blocks = self.outer.div_ceil(block);
        let (x, w) = (Shared(x.ptr().cast_mut().cast::<T>()), Shared(w.ptr().cast_mut().cast::<T>()));
        let mut done = Ok(());
        let out = Array::build_typed::<T>(shape, |y, _| {
            let y = Shared(y);
            let tasks = self.n * self.p.groups * blocks;
            done = self.each(tasks, depth * self.og * block, depth * block, &|task, scratch| {
                let (image, b) = (task / blocks, task % blocks);
                let part = Part { n: image / self.p.groups, g: image % self.p.groups, c: 0, channels: self.cg };
                let (from, to) = (b * block, self.outer.min((b + 1) * block));
                // SAFETY: tasks write different pixels of y; everything lies inside the arrays.
                unsafe {
                    let columns = self.columns(x.at(0), part, from, to, scratch);
                    let w = Mat { ptr: w.at(part.g * self.og * depth).cast_const(), rs: depth as isize, cs: 1 };
                    let y = MatMut { ptr: y.at(self.y_group(part.n, part.g) + from), rs: self.outer as isize, cs: 1 };
                    T::product(self.og, to - from, depth, w, columns, y);
                }
            });
            // SAFETY: the products write all before they add to it; where a task fails, the array is dropped.
            unsafe { Written::all() }
        })?;
        done.map(|()| out)
    }

    pub fn input_grad(&self, dy: &Array, w: &Array) -> Result<Array> {
        let shape = self.p.x_shape(self.n, self.cg * self.p.groups);
        if self.is_empty() {
            return Array::zeros(T::DTYPE, shape);
        }
        let channels = self.channels(self.n * self.p.groups);
        let cuts = self.cg.div_ceil(channels);
        let block = self.block(channels * self.taps);
        let (dy, w) = (Shared(dy.ptr().cast_mut().cast::<T>()), Shared(w.ptr().cast_mut().cast::<T>()));
        let mut done = Ok(());
        let out = Array::build_typed::<T>(shape, |dx, _| {
            let dx = Shared(dx);
            let (tasks, work) = (self.n * self.p.groups * cuts, channels * self.taps * self.og * self.outer);
            done = self.each(tasks, work, channels * self.taps * block, &|task, scratch| {
                let (image, c) = (task / cuts, task % cuts * channels);
                let (n, g) = (image / self.p.groups, image % self.p.groups);
                let part = Part { n, g, c, channels: channels.min(self.cg - c) };
                // SAFETY: tasks write different channels of dx; everything lies inside the arrays.
                unsafe { self.input_grad_part(part, block, dy.at(0), w.at(0), scratch, dx.at(0)) }
            });
            // SAFETY: the products write all before they add to it; where a task fails, the array is dropped.
            unsafe { Written::all() }
        })?;
        done.map(|()| out)
    }

    /// # Safety
    /// The pointers are the arrays'; only this part's channels of `dx` are written.
    unsafe fn input_grad_part(&self, part: Part, block: usize, dy: *const T, w: *const T, scratch: *mut T, dx: *mut T) {
        let rows = part.channels * self.taps;
        // SAFETY: by the contract; the scratch holds `rows` rows of a block.
        unsafe {
            let w = w.add(part.g * self.og * self.depth() + part.c * self.taps);
            let w = Mat { ptr: w, rs: 1, cs: self.depth() as isize };
            let dy = dy.add(self.y_group(part.n, part.g));
            let dx = dx.add(self.x_plane(part, 0));
            if self.p.is_pointwise() {
                let dy = Mat { ptr: dy, rs: self.outer as isize, cs: 1 };
                let dx = MatMut { ptr: dx, rs: self.inner as isize, cs: 1 };
                return T::product(rows, self.outer, self.og, w, dy, dx);
            }
            // Windows overlap, so that rows are added; a task has whole channels, so that no two add to one place.
            std::slice::from_raw_parts_mut(dx, part.channels * self.inner).fill(T::zero());
            for from in (0..self.outer).step_by(block) {
                let to = self.outer.min(from + block);
                let dy = Mat { ptr: dy.add(from), rs: self.outer as isize, cs: 1 };
                let columns = MatMut { ptr: scratch, rs: (to - from) as isize, cs: 1 };
                T::product(rows, to - from, self.og, w, dy, columns);
                for row in 0..rows {
                    let plane = dx.add(row / self.taps * self.inner);
                    let (tap, row) = (self.p.tap(row % self.taps), scratch.add(row * (to - from)));
                    match Shifted::of(self.p, tap) {
                        Some(s) => s.add(row, from, to, plane, T::plus),
                        None => add_row(self.p, tap, row, from, to, plane, T::plus),
                    }
                }
            }
        }
    }

    pub fn weight_grad(&self, x: &Array, dy: &Array) -> Result<Array> {
        let shape = self.p.w_shape(self.og * self.p.groups, self.cg);
        if self.is_empty() {
            return Array::zeros(T::DTYPE, shape);
        }
        let channels = self.channels(self.p.groups);
        let cuts = self.cg.div_ceil(channels);
        let block = self.block(channels * self.taps);
        let (x, dy) = (Shared(x.ptr().cast_mut().cast::<T>()), Shared(dy.ptr().cast_mut().cast::<T>()));
        let mut done = Ok(());
        let out = Array::build_typed::<T>(shape, |dw, _| {
            let dw = Shared(dw);
            let (tasks, work) = (self.p.groups * cuts, self.n * channels * self.taps * self.og * self.outer);
            done = self.each(tasks, work, channels * self.taps * block, &|task, scratch| {
                let (g, c) = (task / cuts, task % cuts * channels);
                let part = Part { n: 0, g, c, channels: channels.min(self.cg - c) };
                // SAFETY: tasks write different channels of dw; everything lies inside the arrays.
                unsafe { self.weight_grad_part(part, block, x.at(0), dy.at(0), scratch, dw.at(0)) }
            });
            // SAFETY: the products write all before they add to it; where a task fails, the array is dropped.
            unsafe { Written::all() }
        })?;
        done.map(|()| out)
    }

    /// # Safety
    /// The pointers are the arrays'; only this part's channels of `dw` are written.
    unsafe fn weight_grad_part(
        &self,
        part: Part,
        block: usize,
        x: *const T,
        dy: *const T,
        scratch: *mut T,
        dw: *mut T,
    ) {
        let cols = part.channels * self.taps;
        // SAFETY: by the contract; the scratch holds the columns of a block.
        unsafe {
            let dw = dw.add(part.g * self.og * self.depth() + part.c * self.taps);
            let dw = MatMut { ptr: dw, rs: self.depth() as isize, cs: 1 };
            // Images one after the other, never by threads: the sum over them has one order.
            for n in 0..self.n {
                let dy = dy.add(self.y_group(n, part.g));
                for from in (0..self.outer).step_by(block) {
                    let to = self.outer.min(from + block);
                    let columns = self.columns(x, Part { n, ..part }, from, to, scratch).transposed();
                    let dy = Mat { ptr: dy.add(from), rs: self.outer as isize, cs: 1 };
                    if n == 0 && from == 0 {
                        T::product(self.og, cols, to - from, dy, columns, dw);
                    } else {
                        T::product_add(self.og, cols, to - from, dy, columns, dw);
                    }
                }
            }
        }
    }
}
