//! One target index per element.

use super::find_bad;
use super::gather::{index_axes, prepare, size_at};
use super::moves::{by_width, fresh_copy};
use crate::bail;
use crate::base::{DType, Element, Result, Scalar, TypedShape};
use crate::dense::array::Array;
use crate::dense::copy::{Convert, cast};
use crate::dense::donation;
use crate::dense::reduce::op::{Max, Min, Op, Prod, Sum};
use crate::dense::reduce::plan::{Walk, volume};
use num_complex::Complex;

/// What [`scatter_reduce`] does with values that meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    Sum,
    Prod,
    Mean,
    Amax,
    Amin,
}

/// A copy of `a` with `out[index[i][j]][j] = src[i][j]` for `dim` 0, and so on; of several writes the last stays.
///
/// Errors: `Runtime` if shapes or dtypes do not fit, `Index` for an index outside `0..a.shape()[dim]`.
pub fn scatter(a: &Array, dim: usize, index: &Array, src: &Array) -> Result<Array> {
    let put = by_width!(a.dtype().size(), T => write::<T, Replace> as Writer);
    run("scatter", a, dim, index, src, put)
}

/// As [`scatter`], but adds (for bool: or). Halves are added up in float32.
pub fn scatter_add(a: &Array, dim: usize, index: &Array, src: &Array) -> Result<Array> {
    fold_with("scatter_add", a, dim, index, src, Fold::Sum)
}

/// As [`scatter`], but joins the values that meet; the value of `a` is one of them if `include_self`. A mean of
/// integers rounds down.
pub fn scatter_reduce(
    a: &Array,
    dim: usize,
    index: &Array,
    src: &Array,
    fold: Fold,
    include_self: bool,
) -> Result<Array> {
    const OP: &str = "scatter_reduce";
    if a.dtype().is_complex() && matches!(fold, Fold::Amax | Fold::Amin) {
        bail!(NotImplemented, "{OP}(): complex numbers have no order; got dtype {}", a.dtype());
    }
    if a.dtype().is_half() && src.dtype() == a.dtype() {
        let wide = scatter_reduce(&cast(a, DType::F32)?, dim, index, &cast(src, DType::F32)?, fold, include_self)?;
        return cast(&wide, a.dtype());
    }
    let mut from = a.clone();
    if !include_self {
        let start = Array::full(a.dtype(), src.shape().clone(), start_of(a.dtype(), fold))?;
        from = run(OP, a, dim, index, &start, by_width!(a.dtype().size(), T => write::<T, Replace> as Writer))?;
    }
    let joined = fold_with(OP, &from, dim, index, src, fold)?;
    if fold != Fold::Mean {
        return Ok(joined);
    }
    let first = Array::full(DType::F64, a.shape().clone(), Scalar::Int(i64::from(include_self)))?;
    let ones = Array::full(DType::F64, src.shape().clone(), Scalar::Int(1))?;
    divide(&joined, &fold_with(OP, &first, dim, index, &ones, Fold::Sum)?)?.reshape(a.shape())
}

/// The neutral element, which a first write puts in the place of an element that is not to count.
fn start_of(dtype: DType, fold: Fold) -> Scalar {
    fn ends(dtype: DType) -> (Scalar, Scalar) {
        match dtype {
            DType::Bool => (Scalar::Bool(false), Scalar::Bool(true)),
            DType::U8 => (Scalar::Int(0), Scalar::Int(255)),
            DType::I8 => (Scalar::Int(-128), Scalar::Int(127)),
            DType::I16 => (Scalar::Int(i16::MIN.into()), Scalar::Int(i16::MAX.into())),
            DType::I32 => (Scalar::Int(i32::MIN.into()), Scalar::Int(i32::MAX.into())),
            DType::I64 => (Scalar::Int(i64::MIN), Scalar::Int(i64::MAX)),
            _ => (Scalar::Float(f64::NEG_INFINITY), Scalar::Float(f64::INFINITY)),
        }
    }
    match fold {
        Fold::Sum | Fold::Mean => Scalar::Int(0),
        Fold::Prod => Scalar::Int(1),
        Fold::Amax => ends(dtype).0,
        Fold::Amin => ends(dtype).1,
    }
}

/// Sums over counts, both contiguous; where nothing was counted the sum stays. Integers round down.
fn divide(sums: &Array, counts: &Array) -> Result<Array> {
    match sums.dtype() {
        DType::F32 => quotients::<f32>(sums, counts, |x, n| (f64::from(x) / n) as f32),
        DType::F64 => quotients::<f64>(sums, counts, |x, n| x / n),
        DType::C64 => quotients::<Complex<f32>>(sums, counts, |x, n| Complex::of_complex(x.to_complex() / n)),
        DType::C128 => quotients::<Complex<f64>>(sums, counts, |x, n| x / n),
        DType::I64 => quotients::<i64>(sums, counts, |x, n| x.div_euclid(n as i64)),
        dtype => cast(&divide(&cast(sums, DType::I64)?, counts)?, dtype),
    }
}

fn quotients<T: Element>(sums: &Array, counts: &Array, over: impl Fn(T, f64) -> T) -> Result<Array> {
    let sums: &[T] = sums.as_slice().unwrap_or(&[]);
    let counts: &[f64] = counts.as_slice().unwrap_or(&[]);
    Array::build::<T>([sums.len()].into(), |out| {
        for ((o, &x), &n) in out.iter_mut().zip(sums).zip(counts) {
            *o = over(x, n.max(1.0));
        }
    })
}

fn fold_with(op: &str, a: &Array, dim: usize, index: &Array, src: &Array, fold: Fold) -> Result<Array> {
    if a.dtype().is_half() && src.dtype() == a.dtype() {
        let wide = fold_with(op, &cast(a, DType::F32)?, dim, index, &cast(src, DType::F32)?, fold)?;
        return cast(&wide, a.dtype());
    }
    let join: Writer = match (a.dtype(), fold) {
        // On bytes 0 and 1 "or" is the greater, "and" the lesser.
        (DType::Bool, Fold::Sum | Fold::Mean | Fold::Amax) => write::<u8, Joined<Max<u8>>>,
        (DType::Bool, Fold::Prod | Fold::Amin) => write::<u8, Joined<Min<u8>>>,
        (DType::C64, Fold::Prod) => write::<Complex<f32>, Joined<Prod<Complex<f32>>>>,
        (DType::C64, _) => write::<Complex<f32>, Joined<Sum<Complex<f32>>>>,
        (DType::C128, Fold::Prod) => write::<Complex<f64>, Joined<Prod<Complex<f64>>>>,
        (DType::C128, _) => write::<Complex<f64>, Joined<Sum<Complex<f64>>>>,
        (dtype, fold) => crate::match_dtype!(dtype, number T => match fold {
            Fold::Sum | Fold::Mean => write::<T, Joined<Sum<T>>>,
            Fold::Prod => write::<T, Joined<Prod<T>>>,
            Fold::Amax => write::<T, Joined<Max<T>>>,
            Fold::Amin => write::<T, Joined<Min<T>>>,
        }, else bail!(Internal, "{op}(): unexpected dtype {dtype}")),
    };
    run(op, a, dim, index, src, join)
}

/// An error if elements like `src` cannot be written into an array like `a` at indices like these along `dim`.
pub fn check_scatter(
    op: &str,
    a: TypedShape<'_>,
    index: TypedShape<'_>,
    src: TypedShape<'_>,
    dim: usize,
) -> Result<()> {
    if a.0 != src.0 {
        bail!(Runtime, "{op}(): Expected self.dtype to be equal to src.dtype, got {} and {}", a.0, src.0);
    }
    super::gather::check_index(op, a.1, index, dim)?;
    let (i, s) = (index.1, src.1);
    let rank = i.rank().max(1);
    let fits = s.rank().max(1) == rank && (0..rank).all(|d| size_at(i, d) <= size_at(s, d));
    if i.numel() > 0 && !fits {
        bail!(Runtime, "{op}(): Expected index {i} to be no larger than src {s} in any dimension");
    }
    Ok(())
}

fn run(op: &str, a: &Array, dim: usize, index: &Array, src: &Array, put: Writer) -> Result<Array> {
    check_scatter(op, a.form(), index.form(), src.form(), dim)?;
    let shape = a.shape().clone();
    let (a, index) = prepare(op, a, index, dim)?;
    let src = if src.rank() == 0 { src.reshape(&[1].into())? } else { src.clone() };
    let size = a.shape()[dim];
    if donation::is_given(&a) && !all_below(&index, size)? {
        return Err(find_bad(op, &index, dim, size));
    }
    let mut out = fresh_copy(&a)?;
    if index.numel() == 0 {
        return out.reshape(&shape);
    }
    // SAFETY: `out` is ours, contiguous and of the shape of `a`; shapes were checked.
    if size == 0 || unsafe { write_all(out.ptr_mut(), &a, dim, &index, &src, put) } {
        return Err(find_bad(op, &index, dim, size));
    }
    out.reshape(&shape)
}

fn all_below(index: &Array, size: usize) -> Result<bool> {
    let index = index.contiguous()?;
    Ok(index.as_slice::<i64>().unwrap_or(&[]).iter().all(|&i| (i as u64) < size as u64))
}

/// How a value gets into its place.
trait Put<T> {
    fn put(old: T, new: T) -> T;
}
struct Replace;
impl<T> Put<T> for Replace {
    #[inline(always)]
    fn put(_: T, new: T) -> T {
        new
    }
}
struct Joined<O>(std::marker::PhantomData<O>);
impl<T, O: Op<A = T>> Put<T> for Joined<O> {
    #[inline(always)]
    fn put(old: T, new: T) -> T {
        O::join(old, new)
    }
}

/// Writes the elements at `src` to the places at `dst` that the indices at `index` name, `n` of each at these steps in
/// elements; tells whether an index was not below `size` (the first place got its value).
type Writer = unsafe fn(dst: *mut u8, index: *const i64, src: *const u8, n: usize, steps: Steps, size: u64) -> bool;

/// What lies between neighbours of a row: places of one index, places of neighbouring indices, indices, sources.
#[derive(Clone, Copy)]
struct Steps {
    place: isize,
    dst: isize,
    index: isize,
    src: isize,
}

/// # Safety
/// For every `j < n` and `i < size` the elements at `dst + j * steps.dst + i * steps.place`, and the `j`th index and
/// source, can be used; `size` is not 0.
unsafe fn write<T: Copy, P: Put<T>>(
    dst: *mut u8,
    index: *const i64,
    src: *const u8,
    n: usize,
    steps: Steps,
    size: u64,
) -> bool {
    let mut wrong = false;
    for j in 0..n as isize {
        // SAFETY: by the contract; every index is brought into range before use.
        unsafe {
            let i = *index.offset(j * steps.index) as u64;
            wrong |= i >= size;
            let i = if i < size { i } else { 0 };
            let place = dst.cast::<T>().offset(j * steps.dst + i as isize * steps.place);
            place.write(P::put(place.read(), src.cast::<T>().offset(j * steps.src).read()));
        }
    }
    wrong
}

/// Writes `src` by `index` into the contiguous elements at `out`, row by row; tells whether an index was out of range.
///
/// # Safety
/// `out` holds the elements of `a`, which has some along `dim`, and `put` is of their dtype; the shapes of `index` and
/// `src` fit.
unsafe fn write_all(out: *mut u8, a: &Array, dim: usize, index: &Array, src: &Array, put: Writer) -> bool {
    let (places, size) = (a.shape().contiguous_strides(), a.shape()[dim] as u64);
    let axes = index_axes(&places, index, dim);
    let Some((&row, outer)) = axes.split_last() else { return false };
    let src_steps = src.strides();
    let src_axes = index_axes(&src_steps, index, usize::MAX);
    let Some((src_row, src_outer)) = src_axes.split_last() else { return false };
    let steps = Steps { place: places[dim], dst: row.step, index: row.out, src: src_row.step };
    let (mut to, mut from) = (Walk::new(outer, 0), Walk::new(src_outer, 0));
    let width = a.dtype().size() as isize;
    let mut wrong = false;
    for _ in 0..volume(outer) {
        // SAFETY: the walks and the rows stay inside the layouts.
        wrong |= unsafe {
            let (dst, src) = (out.offset(to.at * width), src.ptr().offset(from.at * width));
            put(dst, index.ptr().cast::<i64>().offset(to.out), src, row.n, steps, size)
        };
        to.next();
        from.next();
    }
    wrong
}
