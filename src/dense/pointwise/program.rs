//! The tile engine: runs a straight-line program of rows over an index space, tile by tile, so that what passes
//! between its steps stays in the first-level cache. An eager operator is a program of one step.

use super::gather::{self, Walk};
use super::kernel::Row;
use crate::dense::threads;
use smallvec::SmallVec;

/// Elements per unit of work. Fixed, so that results do not depend on the number of threads.
pub const CHUNK: usize = 32 * 1024;
/// Chunks from which on waking another thread pays.
const MIN_PARALLEL: usize = 4;
/// Bytes of a scratch register; elements per tile follow from the widest type.
const TILE_BYTES: usize = 2048;
/// Registers start one cache line further than the tile, or equal offsets of all registers would compete for the
/// same cache sets.
const REGISTER_BYTES: usize = TILE_BYTES + 64;
/// Inner runs shorter than this are gathered into tiles.
const MIN_RUN: usize = 64;
/// Registers that fit on the stack.
const STACK_REGISTERS: usize = 6;

/// An operand of the program: a strided view of memory, broadcast to the index space.
pub struct Input {
    pub ptr: *const u8,
    /// Bytes per element: 1, 2, 4, 8 or 16.
    pub width: usize,
    /// Element strides, one per dimension of the program's index space.
    pub strides: SmallVec<[isize; 6]>,
}

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
    fn arity(&self) -> usize {
        self.src.iter().take_while(|&&r| r != Reg::None).count()
    }
}

/// A straight-line program over an index space. Steps run in order on each tile.
pub struct Program {
    dims: SmallVec<[usize; 6]>,
    numel: usize,
    inputs: SmallVec<[Input; 3]>,
    outputs: SmallVec<[Output; 1]>,
    steps: SmallVec<[Step; 4]>,
    temps: usize,
    /// Elements per tile.
    tile: usize,
}

// SAFETY: the pointers are only read, or written at disjoint ranges, while `run` is on the stack of the caller that
// vouches for them.
unsafe impl Sync for Program {}

/// How one input is reached while a chunk runs.
#[derive(Clone, Copy, PartialEq)]
enum Access {
    /// Row-major over the whole index space.
    Direct,
    /// The same element everywhere.
    Scalar,
    Strided,
}

impl Program {
    /// A program over `dims`; the strides of each input must be given for these dimensions, which are merged where
    /// all inputs allow it.
    pub fn new(
        dims: &[usize],
        mut inputs: SmallVec<[Input; 3]>,
        outputs: SmallVec<[Output; 1]>,
        steps: SmallVec<[Step; 4]>,
    ) -> Program {
        let numel = dims.iter().product();
        let dims = gather::merge_dims(dims, &mut inputs);
        let temps = steps.iter().map(|s| if let Reg::Temp(t) = s.dst { t as usize + 1 } else { 0 }).max().unwrap_or(0);
        let widest = inputs.iter().map(|i| i.width).chain(outputs.iter().map(|o| o.width)).max().unwrap_or(8);
        // A temporary may be wider than what is stored: half precision computes in single.
        let tile = TILE_BYTES / if temps > 0 { widest.max(8) } else { widest };
        Program { dims, numel, inputs, outputs, steps, temps, tile }
    }

    /// Number of chunks; each may run on any thread.
    pub fn chunks(&self) -> usize {
        self.numel.div_ceil(CHUNK)
    }

    /// Runs all chunks, in parallel if there are enough. Returns whether a step reported a fault.
    ///
    /// # Safety
    /// Inputs must be readable wherever their strides lead, outputs writable for all elements and disjoint from
    /// everything else; the rows' instruction set must be available.
    pub unsafe fn run(&self) -> bool {
        let n = self.chunks();
        if n <= 1 {
            // SAFETY: handed through.
            return n == 1 && unsafe { self.run_chunk(0) };
        }
        let fault = std::sync::atomic::AtomicBool::new(false);
        let chunk = |i| {
            // SAFETY: chunks write disjoint ranges of the outputs; the rest is handed through.
            if unsafe { self.run_chunk(i) } {
                fault.store(true, std::sync::atomic::Ordering::Relaxed);
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
        let registers = self.temps + self.inputs.len();
        if registers <= STACK_REGISTERS {
            let mut scratch = Scratch([const { std::mem::MaybeUninit::uninit() }; STACK_REGISTERS * REGISTER_BYTES]);
            // SAFETY: handed through; the scratch holds the registers.
            unsafe { self.run_range(lo, hi, scratch.0.as_mut_ptr().cast()) }
        } else {
            let mut scratch: Vec<std::mem::MaybeUninit<Line>> = Vec::with_capacity(registers * REGISTER_BYTES / 64);
            // SAFETY: handed through; the scratch holds the registers.
            unsafe { self.run_range(lo, hi, scratch.as_mut_ptr().cast()) }
        }
    }

    /// # Safety
    /// As for [`Program::run`], for elements `lo .. hi`; `scratch` has room for all registers.
    unsafe fn run_range(&self, lo: usize, hi: usize, scratch: *mut u8) -> bool {
        let access: SmallVec<[Access; 3]> = self.inputs.iter().map(|i| self.access(i)).collect();
        let by_run = self.runs_in_place(&access);
        let tiled = self.temps > 0
            || access.iter().any(|&a| a == Access::Strided && !by_run)
            || !self.takes_scalars_directly(&access, by_run);
        let mut walk = Walk::at(&self.dims, &self.inputs, lo);
        let mut fault = false;
        let mut at = lo;
        while at < hi {
            let mut m = hi - at;
            if tiled {
                m = m.min(self.tile);
            }
            if by_run {
                m = m.min(walk.inner_left());
            }
            let mut now: SmallVec<[(*const u8, bool); 3]> = SmallVec::new();
            for (k, (input, &acc)) in self.inputs.iter().zip(&access).enumerate() {
                // SAFETY: the register of input k lies inside the scratch; the rest is handed through.
                now.push(unsafe {
                    self.fetch(k, input, acc, by_run, at, m, &walk, self.register(scratch, self.temps + k))
                });
            }
            for step in &self.steps {
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

    fn access(&self, input: &Input) -> Access {
        if input.strides.iter().all(|&s| s == 0) {
            Access::Scalar
        } else if self.dims.len() == 1 && input.strides[0] == 1 {
            Access::Direct
        } else if self.dims.len() > 1 && gather::is_row_major(&self.dims, &input.strides) {
            Access::Direct
        } else {
            Access::Strided
        }
    }

    /// Whether the innermost dimension is long and every input steps by 0 or 1 along it.
    fn runs_in_place(&self, access: &[Access]) -> bool {
        self.dims.last().is_some_and(|&d| d >= MIN_RUN)
            && access.contains(&Access::Strided)
            && self.inputs.iter().all(|i| matches!(i.strides.last(), None | Some(0 | 1)))
    }

    /// Whether every scalar operand goes to a row of two operands, which takes it as it is.
    fn takes_scalars_directly(&self, access: &[Access], by_run: bool) -> bool {
        let scalar = |r: &Reg| match r {
            Reg::Input(i) => {
                let (acc, input) = (access[*i as usize], &self.inputs[*i as usize]);
                acc == Access::Scalar || (by_run && acc == Access::Strided && input.strides.last() == Some(&0))
            }
            _ => false,
        };
        self.steps.iter().all(|s| s.arity() == 2 || !s.src.iter().any(scalar))
    }

    /// Where the rows find `m` elements of an input from `at` on, and whether it is one element for all.
    ///
    /// # Safety
    /// As for [`Program::run`]; `register` has room for a tile.
    #[allow(clippy::too_many_arguments)]
    unsafe fn fetch(
        &self,
        k: usize,
        input: &Input,
        access: Access,
        by_run: bool,
        at: usize,
        m: usize,
        walk: &Walk,
        register: *mut u8,
    ) -> (*const u8, bool) {
        // SAFETY: handed through.
        unsafe {
            match access {
                Access::Direct => (input.ptr.add(at * input.width), false),
                Access::Scalar => (input.ptr, true),
                Access::Strided if by_run => {
                    (input.ptr.offset(walk.offset(k) * input.width as isize), input.strides.last() == Some(&0))
                }
                Access::Strided => {
                    gather::tile(input, &self.dims, walk, k, m, register);
                    (register, false)
                }
            }
        }
    }

    /// # Safety
    /// As for [`Program::run`].
    unsafe fn step(&self, step: &Step, now: &[(*const u8, bool)], at: usize, m: usize, scratch: *mut u8) -> bool {
        let arity = step.arity();
        let mut src = [std::ptr::null::<u8>(); 3];
        let mut scalars = 0;
        for (i, p) in src.iter_mut().enumerate().take(arity) {
            *p = match step.src[i] {
                Reg::Input(k) => {
                    let (ptr, scalar) = now[k as usize];
                    if scalar && arity != 2 {
                        // SAFETY: the register of the input is unused, for the input is a scalar.
                        unsafe {
                            let register = self.register(scratch, self.temps + k as usize);
                            gather::fill(ptr, self.inputs[k as usize].width, register, m);
                            register
                        }
                    } else {
                        scalars |= (scalar as u32) << i;
                        ptr
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
struct Line([u8; 64]);

#[repr(C, align(64))]
struct Scratch([std::mem::MaybeUninit<u8>; STACK_REGISTERS * REGISTER_BYTES]);
