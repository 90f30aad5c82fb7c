//! A rule over many elements: compiled for each instruction set, in parallel, half precision by way of single.

use super::Rule;
use crate::base::DType;
use crate::dense::cast;
use crate::dense::isa::{Isa, isa};
use crate::dense::math::Fp;
use crate::dense::parallel::Shared;
use crate::dense::threads;
use std::mem::MaybeUninit;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Elements of a task.
const TASK: usize = 1 << 15;
/// Elements of half precision that are converted at a time.
const TILE: usize = 512;
/// The parameter and its states.
const TARGETS: usize = 4;

/// A rule for any number of elements; every [`Rule`] is one.
pub trait Step: Send + Sync {
    fn states(&self) -> usize;
    /// # Safety
    /// `to` are the starts of `n` elements each, for the parameter and as many states as there are, and `grad` is too;
    /// nobody else uses the former meanwhile, and they do not overlap.
    unsafe fn single(&self, to: [*mut f32; TARGETS], grad: *const f32, n: usize);
    /// # Safety
    /// As for [`Step::single`].
    unsafe fn double(&self, to: [*mut f64; TARGETS], grad: *const f64, n: usize);
}

impl<R: Rule> Step for R {
    fn states(&self) -> usize {
        R::STATES
    }
    unsafe fn single(&self, to: [*mut f32; TARGETS], grad: *const f32, n: usize) {
        // SAFETY: handed through.
        unsafe { compiled(self, to, grad, n) }
    }
    unsafe fn double(&self, to: [*mut f64; TARGETS], grad: *const f64, n: usize) {
        // SAFETY: handed through.
        unsafe { compiled(self, to, grad, n) }
    }
}

/// # Safety
/// As for [`Step::single`].
unsafe fn compiled<T: Fp, R: Rule>(rule: &R, to: [*mut T; TARGETS], grad: *const T, n: usize) {
    let room = |state: usize| if state < R::STATES { n } else { 0 };
    // SAFETY: by the contract; of states that do not exist, nothing is made of a pointer that is not null. The
    // functions are compiled for what the machine has.
    unsafe {
        let part = |at: usize, n: usize| if n == 0 { &mut [] } else { from_raw_parts_mut(to[at], n) };
        let (p, g) = (part(0, n), if n == 0 { &[] } else { from_raw_parts(grad, n) });
        let (a, b, c) = (part(1, room(0)), part(2, room(1)), part(3, room(2)));
        match isa() {
            #[cfg(target_arch = "x86_64")]
            Isa::V4 => v4(rule, p, g, a, b, c),
            #[cfg(target_arch = "x86_64")]
            Isa::V3 => v3(rule, p, g, a, b, c),
            _ => v1(rule, p, g, a, b, c),
        }
    }
}

/// The loop. Its slices are arguments of the functions below, which is how the compiler knows them apart.
#[inline(always)]
fn elements<T: Fp, R: Rule, const F: bool>(rule: &R, p: &mut [T], g: &[T], a: &mut [T], b: &mut [T], c: &mut [T]) {
    let n = p.len();
    let g = &g[..n];
    let (a, b, c) = (&mut a[..n * usize::from(R::STATES > 0)], &mut b[..n * usize::from(R::STATES > 1)], c);
    let c = &mut c[..n * usize::from(R::STATES > 2)];
    for i in 0..n {
        let mut s = [T::default(); 3];
        if R::STATES > 0 {
            s[0] = a[i];
        }
        if R::STATES > 1 {
            s[1] = b[i];
        }
        if R::STATES > 2 {
            s[2] = c[i];
        }
        let (x, s) = rule.element::<T, F>(p[i], g[i], s);
        p[i] = x;
        if R::STATES > 0 {
            a[i] = s[0];
        }
        if R::STATES > 1 {
            b[i] = s[1];
        }
        if R::STATES > 2 {
            c[i] = s[2];
        }
    }
}

macro_rules! compiled {
    ($($(#[$feature:meta])* $name:ident, $fused:literal;)*) => {$(
        /// # Safety
        /// The machine has the instructions.
        $(#[$feature])*
        #[inline(never)]
        unsafe fn $name<T: Fp, R: Rule>(
            rule: &R,
            p: &mut [T],
            g: &[T],
            a: &mut [T],
            b: &mut [T],
            c: &mut [T],
        ) {
            elements::<T, R, $fused>(rule, p, g, a, b, c);
        }
    )*};
}

compiled! {
    v1, false;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c")]
    v3, true;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
    v4, true;
}

/// Runs a rule over `n` elements of a dtype. Complex numbers are pairs of real ones, as in PyTorch.
///
/// # Safety
/// As for [`Step::single`], with elements of that dtype, which is a float or a complex one.
pub unsafe fn run(rule: &dyn Step, dtype: DType, n: usize, to: [*mut u8; TARGETS], grad: *const u8) {
    let n = if dtype.is_complex() { 2 * n } else { n };
    let width = dtype.real().size();
    let targets = 1 + rule.states();
    let (to, grad) = (to.map(Shared), Shared(grad.cast_mut()));
    let (to, grad) = (&to, &grad);
    let part = |range: std::ops::Range<usize>| {
        let mut at = [std::ptr::null_mut(); TARGETS];
        for (at, to) in at.iter_mut().zip(&to[..targets]) {
            *at = to.at(range.start * width);
        }
        let g = grad.at(range.start * width).cast_const();
        // SAFETY: by the contract; ranges are disjoint parts of the elements.
        unsafe {
            match dtype.real() {
                DType::F32 => rule.single(at.map(|p| p.cast()), g.cast(), range.len()),
                DType::F64 => rule.double(at.map(|p| p.cast()), g.cast(), range.len()),
                half => halves(rule, half, targets, at, g, range.len()),
            }
        }
    };
    if n <= TASK { part(0..n) } else { threads::run_chunks(n, TASK, &part) }
}

/// # Safety
/// As for [`Step::single`], with elements of a half dtype.
unsafe fn halves(rule: &dyn Step, dtype: DType, targets: usize, to: [*mut u8; TARGETS], grad: *const u8, n: usize) {
    let (widen, narrow) = (cast::row(dtype, DType::F32), cast::row(DType::F32, dtype));
    let mut wide = [[MaybeUninit::<f32>::uninit(); TILE]; TARGETS + 1];
    let mut at = 0;
    while at < n {
        let count = TILE.min(n - at);
        let offset = at * dtype.size();
        let [p, a, b, c, g] = &mut wide;
        let tiles = [p, a, b, c].map(|tile| tile.as_mut_ptr().cast::<f32>());
        // SAFETY: the tiles hold `count` elements, which are converted before they are read; the rest by the contract.
        unsafe {
            let none = std::ptr::null();
            for i in 0..targets {
                widen(tiles[i].cast(), to[i].add(offset), none, none, count, 0);
            }
            widen(g.as_mut_ptr().cast(), grad.add(offset), none, none, count, 0);
            rule.single(tiles, g.as_ptr().cast(), count);
            for i in 0..targets {
                narrow(to[i].add(offset), tiles[i].cast_const().cast(), none, none, count, 0);
            }
        }
        at += count;
    }
}
