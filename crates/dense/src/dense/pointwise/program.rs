//! The tile engine: runs a straight-line program of rows over an index space, tile by tile, so that what passes
//! between its steps stays in the first-level cache. An eager operator is a program of one step.

use super::kernel::Row;
use crate::dense::strided::{self, Walk};
use crate::dense::threads;
use smallvec::SmallVec;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

pub use crate::dense::strided::Strided as Input;

/// Elements per unit of work. Fixed, so that results do not depend on the number of threads.
pub const CHUNK: usize = 32 * 1024;
/// Chunks from which on waking another thread pays.
const MIN_PARALLEL: usize = 4;
/// Bytes of a scratch register; elements per tile follow from the widest type.
const TILE_BYTES: usize = 2048;
/// Bytes of a cache line.
const LINE: usize = 64;
/// Registers start one cache line further than the tile, or equal offsets of all registers would compete for the
/// same cache sets.
const REGISTER_BYTES: usize = TILE_BYTES + LINE;
/// Inner runs shorter than this are gathered into tiles.
const MIN_RUN: usize = 64;
/// Registers that fit on the stack.
const STACK_REGISTERS: usize = 7;

/// Row-major results.
#[derive(Clone, Copy)]
pub struct Output {
    pub ptr: *mut u8,
    pub width: usize,
}

/// Where a step reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reg {
    None,
    Input(u8),
    /// Scratch; no step may write the register that it reads.
    Temp(u8),
    Output(u8),
}

/// One row call per tile.
#[derive(Clone, Copy)]
pub struct Step {
    pub row: Row,
    pub dst: Reg,
    pub src: [Reg; 3],
}

impl Step {
    /// Does nothing.
    pub const NONE: Step = Step { row: nothing, dst: Reg::None, src: [Reg::None; 3] };

    fn arity(&self) -> usize {
        self.src.iter().take_while(|&&r| r != Reg::None).count()
    }
}

/// # Safety
/// None is needed.
unsafe fn nothing(_: *mut u8, _: *const u8, _: *const u8, _: *const u8, _: usize, _: u32) -> bool {
    false
}

/// A straight-line program over an index space, with its operands. Steps run in order on each tile.
pub struct RowProgram<'a> {
    dims: &'a [usize],
    numel: usize,
    inputs: &'a [Input],
    access: SmallVec<[OperandAccess; 4]>,
    outputs: &'a [Output],
    steps: &'a [Step],
    /// Scratch registers of the steps; those of the inputs follow.
    temps: usize,
    /// Elements per tile.
    tile: usize,
    /// Every strided input is reached run by run, without a copy.
    by_run: bool,
    /// Some input is written out again and again.
    cycles: bool,
    /// Inputs of one element are repeated in their registers.
    spread: bool,
    /// Something passes through a scratch register.
    tiled: bool,
}

// SAFETY: the pointers are only read, or written at disjoint ranges, while `run` is on the stack of the caller that
// vouches for them.
unsafe impl Sync for RowProgram<'_> {}

/// How one input is reached while a chunk runs.
#[derive(Clone, Copy, PartialEq)]
enum OperandAccess {
    /// Row-major over the whole index space.
    Direct,
    /// The same element everywhere.
    Scalar,
    /// Innermost runs of contiguous elements, or of one element repeated, in place.
    Run,
    /// Copied tile by tile.
    Gather,
    /// Copied for a whole chunk, several rows at a time.
    Panel,
    /// The same elements for each outer index, as a bias: written out several times in a row, so that a row of the program
    /// is longer than they are. With their number.
    Cycle(usize),
}

/// Elements up to which it pays to write an operand that repeats out, and how many there are then at least.
const SHORT_CYCLE: usize = 1024;
const LONG_ROW: usize = 2048;

/// How many elements repeat, if all of the outer dimensions repeat the inner ones, and often.
fn cycle(dims: &[usize], strides: &[isize]) -> Option<usize> {
    let outer = strides.iter().take_while(|&&s| s == 0).count();
    let (times, period) = (dims[..outer].iter().product::<usize>(), dims[outer..].iter().product::<usize>());
    let whole = strided::is_row_major(&dims[outer..], &strides[outer..]);
    // A row of several cycles must be there many times to be worth writing out.
    (whole && (2..=SHORT_CYCLE).contains(&period) && times * period >= 8 * LONG_ROW).then_some(period)
}

/// How many elements are written out of a cycle of `period`.
fn written_out(period: usize) -> usize {
    LONG_ROW.next_multiple_of(period)
}

impl<'a> RowProgram<'a> {
    /// A program over `dims`, one at least, none of size 0; the inputs have a stride for each. The dimensions should
    /// be merged ([`strided::merge_dims`]).
    pub fn new(dims: &'a [usize], inputs: &'a [Input], outputs: &'a [Output], steps: &'a [Step]) -> RowProgram<'a> {
        let temps = steps.iter().map(|s| if let Reg::Temp(t) = s.dst { t as usize + 1 } else { 0 }).max().unwrap_or(0);
        let widest = inputs.iter().map(|i| i.width).chain(outputs.iter().map(|o| o.width)).max().unwrap_or(8);
        // A temporary may be wider than what is stored: half precision computes in single.
        let tile = TILE_BYTES / if temps > 0 { widest.max(8) } else { widest };
        let numel = dims.iter().product();
        let mut p = RowProgram {
            dims,
            numel,
            inputs,
            access: SmallVec::new(),
            outputs,
            steps,
            temps,
            tile,
            by_run: false,
            cycles: false,
            spread: false,
            tiled: false,
        };
        p.choose_access();
        p
    }

    fn choose_access(&mut self) {
        let zero_or_one = |i: &Input| matches!(i.strides.last(), None | Some(0 | 1));
        let runs = self.dims.last().is_some_and(|&d| d >= MIN_RUN) && self.inputs.iter().all(zero_or_one);
        for input in self.inputs {
            self.access.push(if self.outputs.iter().any(|o| o.ptr.cast_const() == input.ptr) {
                // Rows may not read what they write: a tile is copied before its results take its place.
                OperandAccess::Gather
            } else if input.strides.iter().all(|&s| s == 0) {
                OperandAccess::Scalar
            } else if strided::is_row_major(self.dims, &input.strides) {
                OperandAccess::Direct
            } else if let Some(period) = cycle(self.dims, &input.strides) {
                OperandAccess::Cycle(period)
            } else if runs {
                OperandAccess::Run
            } else if self.numel >= CHUNK && strided::is_transposed(self.dims, &input.strides) {
                OperandAccess::Panel
            } else {
                OperandAccess::Gather
            });
        }
        self.by_run = self.access.contains(&OperandAccess::Run);
        self.cycles = self.access.iter().any(|a| matches!(a, OperandAccess::Cycle(_)));
        self.spread = self.repeats_scalars();
        self.tiled = self.temps > 0 || self.access.contains(&OperandAccess::Gather) || self.spread;
    }

    /// Whether a scalar operand must be repeated in a register, because its row does not take it as it is.
    fn repeats_scalars(&self) -> bool {
        let scalar = |r: &Reg| match r {
            Reg::Input(i) => self.is_scalar(*i as usize),
            _ => false,
        };
        self.steps.iter().any(|s| s.arity() != 2 && s.src.iter().any(scalar))
    }

    fn is_scalar(&self, k: usize) -> bool {
        match self.access[k] {
            OperandAccess::Scalar => true,
            OperandAccess::Run => self.inputs[k].strides.last() == Some(&0),
            _ => false,
        }
    }

    /// Number of chunks; each may run on any thread.
    pub fn chunks(&self) -> usize {
        self.numel.div_ceil(CHUNK)
    }

    /// Runs all chunks, in parallel if there are enough. Returns whether a step reported a fault.
    ///
    /// # Safety
    /// Inputs must be readable wherever their strides lead, outputs writable for all elements and disjoint from
    /// everything else; the rows' instruction set must be available. An output may be the memory of one row-major input of
    /// its width if no step after the one that writes it reads that input.
    pub unsafe fn run(&self) -> bool {
        let n = self.chunks();
        if n <= 1 {
            // SAFETY: handed through.
            return n == 1 && unsafe { self.run_chunk(0) };
        }
        let fault = AtomicBool::new(false);
        let chunk = |i| {
            // SAFETY: chunks write disjoint ranges of the outputs; the rest is handed through.
            if unsafe { self.run_chunk(i) } {
                fault.store(true, Ordering::Relaxed);
            }
        };
        if n < MIN_PARALLEL {
            (0..n).for_each(chunk)
        } else {
            threads::run(n, &chunk)
        }
        fault.into_inner()
    }

    /// # Safety
    /// As for [`Program::run`], for the elements of chunk `i`.
    unsafe fn run_chunk(&self, i: usize) -> bool {
        let lo = i * CHUNK;
        let hi = (lo + CHUNK).min(self.numel);
        let panels: usize = self.panels().map(|k| self.panel_bytes(k, hi - lo)).sum();
        let registers = (self.temps + self.inputs.len()) * REGISTER_BYTES;
        if panels == 0 && registers <= STACK_REGISTERS * REGISTER_BYTES {
            let mut scratch = Scratch([const { MaybeUninit::uninit() }; STACK_REGISTERS * REGISTER_BYTES]);
            // SAFETY: handed through; the scratch holds the registers.
            return unsafe { self.run_range(lo, hi, scratch.0.as_mut_ptr().cast()) };
        }
        let mut scratch = LARGE.take();
        scratch.reserve((registers + panels).div_ceil(LINE));
        // SAFETY: handed through; the scratch holds the registers, and the panels behind them.
        let fault = unsafe { self.run_range(lo, hi, scratch.as_mut_ptr().cast()) };
        LARGE.set(scratch);
        fault
    }

    /// Elements from `at` to the end of what is written out of an input that repeats.
    fn cycle_left(&self, at: usize) -> usize {
        let left = |a: &OperandAccess| match a {
            OperandAccess::Cycle(period) => written_out(*period) - at % period,
            _ => usize::MAX,
        };
        self.access.iter().map(left).min().unwrap_or(usize::MAX)
    }

    /// The inputs that are copied for a whole chunk.
    fn panels(&self) -> impl Iterator<Item = usize> {
        (0..self.inputs.len()).filter(|&k| matches!(self.access[k], OperandAccess::Panel | OperandAccess::Cycle(_)))
    }

    /// Memory of the copy of input `k` for a chunk of `len` elements, and a gap to the next one: whole cache lines, so that
    /// the next one is aligned whatever its elements are.
    fn panel_bytes(&self, k: usize, len: usize) -> usize {
        let elements = if let OperandAccess::Cycle(period) = self.access[k] { written_out(period) } else { len };
        (elements * self.inputs[k].width).next_multiple_of(LINE) + LINE
    }

    /// Copies input `k` for the elements `lo .. hi`.
    ///
    /// # Safety
    /// As for [`Program::run`]; `panel` has room for [`RowProgram::panel_bytes`].
    unsafe fn fill_panel(&self, k: usize, lo: usize, hi: usize, panel: *mut u8) {
        let input = &self.inputs[k];
        // SAFETY: handed through; a cycle lies in a row.
        unsafe {
            match self.access[k] {
                OperandAccess::Cycle(period) => {
                    let bytes = period * input.width;
                    for i in 0..written_out(period) / period {
                        std::ptr::copy_nonoverlapping(input.ptr, panel.add(i * bytes), bytes);
                    }
                }
                _ => strided::range(input, self.dims, lo, hi, panel),
            }
        }
    }

    /// # Safety
    /// As for [`Program::run`], for elements `lo .. hi`; `scratch` has room for all registers and panels.
    unsafe fn run_range(&self, lo: usize, hi: usize, scratch: *mut u8) -> bool {
        let mut panels: SmallVec<[*const u8; 4]> = SmallVec::new();
        let mut free = (self.temps + self.inputs.len()) * REGISTER_BYTES;
        for k in self.panels() {
            // SAFETY: the panel lies in the scratch behind the registers and the panels before it.
            unsafe {
                let panel = scratch.add(free);
                self.fill_panel(k, lo, hi, panel);
                panels.push(panel);
            }
            free += self.panel_bytes(k, hi - lo);
        }
        if self.spread {
            // SAFETY: the registers of the inputs are in the scratch, and hold a tile each.
            unsafe { self.spread_scalars(self.tile.min(hi - lo), scratch) };
        }
        let mut walk = Walk::at(self.dims, self.inputs, lo);
        let (mut fault, mut at) = (false, lo);
        while at < hi {
            let mut m = hi - at;
            if self.tiled {
                m = m.min(self.tile);
            }
            if self.by_run {
                m = m.min(walk.inner_left());
            }
            if self.cycles {
                m = m.min(self.cycle_left(at));
            }
            // SAFETY: handed through.
            let now = unsafe { self.reach(&walk, &panels, (lo, at, m), scratch) };
            for step in self.steps {
                // SAFETY: handed through.
                fault |= unsafe { self.step(step, &now, at, m, scratch) };
            }
            at += m;
            if at < hi {
                walk.advance(m);
            }
        }
        fault
    }

    /// Where the elements `at .. at + m` of the inputs are, in a chunk that begins at `lo`.
    ///
    /// # Safety
    /// As for [`Program::run`]; the panels are filled.
    #[inline(always)]
    unsafe fn reach(
        &self,
        walk: &Walk<'_>,
        panels: &[*const u8],
        (lo, at, m): (usize, usize, usize),
        scratch: *mut u8,
    ) -> SmallVec<[*const u8; 4]> {
        let mut now: SmallVec<[*const u8; 4]> = SmallVec::new();
        let mut panel = panels.iter();
        for (k, input) in self.inputs.iter().enumerate() {
            let mut of_panel = |first: usize| {
                // SAFETY: inside the panel.
                panel.next().map_or(std::ptr::null(), |p| unsafe { p.add(first * input.width) })
            };
            // SAFETY: inside the input, its panel, or its register.
            now.push(unsafe {
                match self.access[k] {
                    OperandAccess::Direct => input.ptr.add(at * input.width),
                    OperandAccess::Scalar => input.ptr,
                    OperandAccess::Run => input.ptr.offset(walk.offset(k) * input.width as isize),
                    OperandAccess::Panel => of_panel(at - lo),
                    OperandAccess::Cycle(period) => of_panel(at % period),
                    OperandAccess::Gather => {
                        let register = self.register(scratch, self.temps + k);
                        strided::tile(input, self.dims, walk, k, m, register);
                        register.cast_const()
                    }
                }
            });
        }
        now
    }

    /// Repeats the inputs of one element in their registers, for rows that do not take them as they are.
    ///
    /// # Safety
    /// `scratch` has room for all registers, each of which holds `len` elements.
    unsafe fn spread_scalars(&self, len: usize, scratch: *mut u8) {
        for (k, input) in self.inputs.iter().enumerate() {
            if self.access[k] == OperandAccess::Scalar {
                // SAFETY: by the contract.
                unsafe { strided::fill(input.ptr, input.width, self.register(scratch, self.temps + k), len) };
            }
        }
    }

    /// # Safety
    /// As for [`Program::run`]; `now` says where the elements of the inputs are.
    unsafe fn step(&self, step: &Step, now: &[*const u8], at: usize, m: usize, scratch: *mut u8) -> bool {
        let arity = step.arity();
        let mut src = [std::ptr::null::<u8>(); 3];
        let mut scalars = 0;
        for (i, p) in src.iter_mut().enumerate().take(arity) {
            *p = match step.src[i] {
                Reg::Input(k) => {
                    let (k, scalar) = (k as usize, self.is_scalar(k as usize));
                    if scalar && arity != 2 {
                        // SAFETY: the register of the input is unused, for the input is a scalar.
                        unsafe {
                            let register = self.register(scratch, self.temps + k);
                            if self.access[k] != OperandAccess::Scalar {
                                strided::fill(now[k], self.inputs[k].width, register, m);
                            }
                            register
                        }
                    } else {
                        scalars |= (scalar as u32) << i;
                        now[k]
                    }
                }
                // SAFETY: inside the scratch or the output.
                Reg::Temp(t) => unsafe { self.register(scratch, t as usize) },
                // SAFETY: as above.
                Reg::Output(o) => unsafe { self.output(o, at) },
                Reg::None => std::ptr::null(),
            };
        }
        // SAFETY: by the contract of `run` every operand holds m elements, and the destination has room for them.
        unsafe {
            let dst = match step.dst {
                Reg::Temp(t) => self.register(scratch, t as usize),
                Reg::Output(o) => self.output(o, at),
                Reg::Input(_) | Reg::None => return false,
            };
            (step.row)(dst, src[0], src[1], src[2], m, scalars)
        }
    }

    /// # Safety
    /// `scratch` has room for register `k`.
    unsafe fn register(&self, scratch: *mut u8, k: usize) -> *mut u8 {
        // SAFETY: by the contract.
        unsafe { scratch.add(k * REGISTER_BYTES) }
    }

    /// # Safety
    /// `at` is an element of the output.
    unsafe fn output(&self, o: u8, at: usize) -> *mut u8 {
        let out = self.outputs[o as usize];
        // SAFETY: by the contract.
        unsafe { out.ptr.add(at * out.width) }
    }
}

#[repr(C, align(64))]
struct Line([MaybeUninit<u8>; LINE]);

#[repr(C, align(64))]
struct Scratch([MaybeUninit<u8>; STACK_REGISTERS * REGISTER_BYTES]);

thread_local! {
    /// Scratch that does not fit on the stack, kept for the next chunk.
    static LARGE: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}
