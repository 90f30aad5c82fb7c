//! A pointwise kernel: row functions for each dtype and instruction set, made from one body.

use crate::base::DType;
use crate::dense::isa::{self, Isa, isa};
use crate::dense::math::Lane;
use std::marker::PhantomData;

/// Computes `n` results at `dst` from up to three operands. Bit i of `scalars` says that operand i is one element
/// for all results; only rows of two operands look at it. Returns whether an element could not be computed.
///
/// # Safety
/// The row's instruction set must be available; the operands must hold `n` elements (or one) of the row's dtypes,
/// aligned, and `dst` room for `n` results that overlaps none of them.
pub type Row = unsafe fn(dst: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize, scalars: u32) -> bool;

/// The dtype of a kernel's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutDtype {
    /// That of the (last) operand.
    Same,
    Bool,
    /// The real dtype of the same precision.
    Real,
    /// The complex dtype of the same precision.
    Complex,
}

/// An elementwise function of one to three operands; made by [`crate::pointwise_kernel`].
pub struct Kernel {
    /// Its name in error messages.
    pub name: &'static str,
    pub arity: u8,
    pub out: OutDtype,
    /// The first operand is a bool whatever the dtype of the others.
    pub condition: bool,
    rows: [[Option<Row>; DType::ALL.len()]; isa::COUNT],
}

impl Kernel {
    pub const fn new(name: &'static str, arity: u8, out: OutDtype, condition: bool) -> Kernel {
        Kernel { name, arity, out, condition, rows: [[None; DType::ALL.len()]; isa::COUNT] }
    }

    /// Adds rows for a dtype: `Base` without fused multiply-add, `Fused` with it.
    ///
    /// # Safety
    /// The loops take as many operands as the kernel, all of this dtype (but for a condition), and give its results.
    pub const unsafe fn with<Base: Loop, Fused: Loop>(mut self, dtype: DType) -> Kernel {
        let d = dtype as usize;
        self.rows[Isa::V1 as usize][d] = Some(v1::<Base>);
        #[cfg(target_arch = "x86_64")]
        {
            self.rows[Isa::V3 as usize][d] = Some(v3::<Fused>);
            self.rows[Isa::V4 as usize][d] = Some(v4::<Fused>);
        }
        let _ = PhantomData::<Fused>;
        self
    }

    /// Adds the same row for every instruction set.
    ///
    /// # Safety
    /// As for [`Kernel::with`].
    pub const unsafe fn with_serial<L: Loop>(mut self, dtype: DType) -> Kernel {
        let mut isa = 0;
        while isa < isa::COUNT {
            self.rows[isa][dtype as usize] = Some(v1::<L>);
            isa += 1;
        }
        self
    }

    /// Whether the kernel has rows for `dtype`. Half precision runs in single precision.
    pub fn supports(&self, dtype: DType) -> bool {
        let through_single = dtype.is_half() && self.out != OutDtype::Complex;
        self.row(Isa::V1, dtype).is_some() || (through_single && self.row(Isa::V1, DType::F32).is_some())
    }

    /// The row for a dtype under an instruction set.
    #[inline(always)]
    pub fn row(&self, isa: Isa, dtype: DType) -> Option<Row> {
        self.rows[isa as usize][dtype as usize]
    }

    /// The row for a dtype under the instruction set in use.
    #[inline(always)]
    pub fn native_row(&self, dtype: DType) -> Option<Row> {
        self.row(isa(), dtype)
    }

    /// The dtype of the results for operands of `dtype`.
    #[inline(always)]
    pub fn out_dtype(&self, dtype: DType) -> DType {
        match self.out {
            OutDtype::Same => dtype,
            OutDtype::Bool => DType::Bool,
            OutDtype::Real => dtype.real(),
            OutDtype::Complex => dtype.complex(),
        }
    }
}

/// The scalar body of a kernel for operands of one kind.
pub trait Body<X> {
    type Out;
    fn call(x: X) -> Self::Out;
}

/// A loop over elements, before it is compiled for an instruction set.
pub trait Loop {
    /// Whether flagged elements must be computed again by [`Loop::redo`].
    const HARD: bool;
    /// # Safety
    /// As for [`Row`].
    unsafe fn run(dst: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize, scalars: u32) -> bool;
    /// Computes the flagged elements again, one by one in careful mode.
    ///
    /// # Safety
    /// As for [`Row`].
    unsafe fn redo(dst: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize, scalars: u32);
}

/// The loop of body `K` over operands of the lane types in the tuple `X`.
pub struct Rows<K, X>(PhantomData<(K, X)>);

/// # Safety
/// `p` must be the start of `n` elements, aligned, that nobody writes meanwhile.
#[inline(always)]
unsafe fn source<'a, A: Lane>(p: *const u8, n: usize) -> &'a [A::Mem] {
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts(p.cast(), n) }
}

/// # Safety
/// `p` must be the start of room for `n` elements, aligned, that nobody else uses meanwhile.
#[inline(always)]
unsafe fn target<'a, T>(p: *mut u8, n: usize) -> &'a mut [T] {
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts_mut(p.cast(), n) }
}

impl<K, A, O> Loop for Rows<K, (A,)>
where
    A: Lane,
    O: Lane,
    K: Body<(A,), Out = O> + Body<(A::Exact,)>,
    <K as Body<(A::Exact,)>>::Out: Lane<Mem = O::Mem>,
{
    const HARD: bool = A::HARD;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, a: *const u8, _: *const u8, _: *const u8, n: usize, _: u32) -> bool {
        // SAFETY: the contract of rows.
        let (dst, a) = unsafe { (target::<O::Mem>(dst, n), source::<A>(a, n)) };
        let mut flag = false;
        for (o, &x) in dst.iter_mut().zip(a) {
            let y: O = K::call((A::load(x),));
            flag |= y.flag();
            *o = y.store();
        }
        flag
    }

    #[inline(always)]
    unsafe fn redo(dst: *mut u8, a: *const u8, _: *const u8, _: *const u8, n: usize, _: u32) {
        // SAFETY: the contract of rows.
        let (dst, a) = unsafe { (target::<O::Mem>(dst, n), source::<A>(a, n)) };
        for (o, &x) in dst.iter_mut().zip(a) {
            let y: O = K::call((A::load(x),));
            if y.flag() {
                *o = <K as Body<(A::Exact,)>>::call((A::Exact::load(x),)).store();
            }
        }
    }
}

impl<K, A, B, O> Loop for Rows<K, (A, B)>
where
    A: Lane,
    B: Lane,
    O: Lane,
    K: Body<(A, B), Out = O> + Body<(A::Exact, B::Exact)>,
    <K as Body<(A::Exact, B::Exact)>>::Out: Lane<Mem = O::Mem>,
{
    const HARD: bool = A::HARD | B::HARD;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, a: *const u8, b: *const u8, _: *const u8, n: usize, scalars: u32) -> bool {
        let (na, nb) = (if scalars & 1 != 0 { 1 } else { n }, if scalars & 2 != 0 { 1 } else { n });
        // SAFETY: the contract of rows.
        let (dst, a, b) = unsafe { (target::<O::Mem>(dst, n), source::<A>(a, na), source::<B>(b, nb)) };
        let mut flag = false;
        // A macro, because a closure is a function of its own that need not be inlined.
        macro_rules! step {
            ($o:ident, $x:expr, $y:expr) => {{
                let z: O = K::call(($x, $y));
                flag |= z.flag();
                *$o = z.store();
            }};
        }
        if scalars == 0 {
            for ((o, &x), &y) in dst.iter_mut().zip(a).zip(b) {
                step!(o, A::load(x), B::load(y));
            }
        } else if scalars == 1 {
            let x = A::load(a[0]);
            for (o, &y) in dst.iter_mut().zip(b) {
                step!(o, x, B::load(y));
            }
        } else {
            // Both scalar: one result for all, for the same loop.
            let y = B::load(b[0]);
            let n = if scalars == 2 { n } else { n.min(1) };
            for (o, &x) in dst[..n].iter_mut().zip(a) {
                step!(o, A::load(x), y);
            }
            if let (3, Some(&first)) = (scalars, dst.first()) {
                dst.fill(first);
            }
        }
        flag
    }

    #[inline(always)]
    unsafe fn redo(dst: *mut u8, a: *const u8, b: *const u8, _: *const u8, n: usize, scalars: u32) {
        let (na, nb) = (if scalars & 1 != 0 { 1 } else { n }, if scalars & 2 != 0 { 1 } else { n });
        // SAFETY: the contract of rows.
        let (dst, a, b) = unsafe { (target::<O::Mem>(dst, n), source::<A>(a, na), source::<B>(b, nb)) };
        for (i, o) in dst.iter_mut().enumerate() {
            let (x, y) = (a[i.min(na - 1)], b[i.min(nb - 1)]);
            let z: O = K::call((A::load(x), B::load(y)));
            if z.flag() {
                *o = <K as Body<(A::Exact, B::Exact)>>::call((A::Exact::load(x), B::Exact::load(y))).store();
            }
        }
    }
}

impl<K, A, B, C, O> Loop for Rows<K, (A, B, C)>
where
    A: Lane,
    B: Lane,
    C: Lane,
    O: Lane,
    K: Body<(A, B, C), Out = O> + Body<(A::Exact, B::Exact, C::Exact)>,
    <K as Body<(A::Exact, B::Exact, C::Exact)>>::Out: Lane<Mem = O::Mem>,
{
    const HARD: bool = A::HARD | B::HARD | C::HARD;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize, _: u32) -> bool {
        // SAFETY: the contract of rows.
        let (dst, a) = unsafe { (target::<O::Mem>(dst, n), source::<A>(a, n)) };
        // SAFETY: the contract of rows.
        let (b, c) = unsafe { (source::<B>(b, n), source::<C>(c, n)) };
        let mut flag = false;
        for (((o, &x), &y), &z) in dst.iter_mut().zip(a).zip(b).zip(c) {
            let w: O = K::call((A::load(x), B::load(y), C::load(z)));
            flag |= w.flag();
            *o = w.store();
        }
        flag
    }

    #[inline(always)]
    unsafe fn redo(dst: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize, _: u32) {
        // SAFETY: the contract of rows.
        let (dst, a) = unsafe { (target::<O::Mem>(dst, n), source::<A>(a, n)) };
        // SAFETY: the contract of rows.
        let (b, c) = unsafe { (source::<B>(b, n), source::<C>(c, n)) };
        for (((o, &x), &y), &z) in dst.iter_mut().zip(a).zip(b).zip(c) {
            let w: O = K::call((A::load(x), B::load(y), C::load(z)));
            if w.flag() {
                let exact = (A::Exact::load(x), B::Exact::load(y), C::Exact::load(z));
                *o = <K as Body<(A::Exact, B::Exact, C::Exact)>>::call(exact).store();
            }
        }
    }
}

macro_rules! compiled {
    ($($(#[$feature:meta])* $name:ident, $redo:ident;)*) => {$(
        /// # Safety
        /// As for [`Row`].
        $(#[$feature])*
        unsafe fn $name<L: Loop>(d: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize, s: u32) -> bool {
            // SAFETY: handed through.
            let flag = unsafe { L::run(d, a, b, c, n, s) };
            if L::HARD && flag {
                // SAFETY: handed through.
                unsafe { $redo::<L>(d, a, b, c, n, s) };
                return false;
            }
            flag
        }
    )*};
}

compiled! {
    v1, redo_base;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c")]
    v3, redo_fused;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
    v4, redo_fused;
}

/// # Safety
/// As for [`Row`].
#[cold]
#[inline(never)]
unsafe fn redo_base<L: Loop>(d: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize, s: u32) {
    // SAFETY: handed through.
    unsafe { L::redo(d, a, b, c, n, s) }
}

/// # Safety
/// As for [`Row`].
#[cold]
#[inline(never)]
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn redo_fused<L: Loop>(d: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize, s: u32) {
    // SAFETY: handed through.
    unsafe { L::redo(d, a, b, c, n, s) }
}
