//! Decompositions and triangular systems: ours, and `faer` behind the same arrays in row-major order.

use super::{race, time};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::{
    cholesky::llt::factor as llt, householder, lu::partial_pivoting::factor as lu, qr::no_pivoting::factor as qr,
};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::traits::ComplexField;
use faer::{Conj, MatMut, MatRef, Par};
use num_complex::Complex;
use pullback_dense::base::Element;
use pullback_dense::dense::{Array, linalg, threads};

/// An element of both libraries.
trait Both: Element + ComplexField {
    const NAME: &'static str;
    fn of(x: f64, y: f64) -> Self;
}
macro_rules! both {
    ($($t:ty, $name:literal, ($x:ident, $y:ident) $make:expr;)*) => {$(
        impl Both for $t {
            const NAME: &'static str = $name;
            #[allow(unused_variables)]
            fn of($x: f64, $y: f64) -> $t { $make }
        }
    )*};
}
both! {
    f32, "f32", (x, y) x as f32;
    f64, "f64", (x, y) x;
    Complex<f32>, "c64", (x, y) Complex::new(x as f32, y as f32);
    Complex<f64>, "c128", (x, y) Complex::new(x, y);
}

pub fn all(threads: i64) {
    threads::set_num_threads(threads).unwrap();
    let par = if threads > 1 { Par::rayon(threads as usize) } else { Par::Seq };
    println!(
        "| routine | dtype | n x batch | ours | faer, rows | faer, columns | ours/best |\n|---|---|---|---|---|---|---|"
    );
    for (n, count) in [(4, 64), (8, 64), (32, 1), (128, 1), (512, 1), (1024, 1)] {
        row_set::<f64>(n, count, par);
        row_set::<f32>(n, count, par);
        if n <= 512 {
            row_set::<Complex<f64>>(n, count, par);
            row_set::<Complex<f32>>(n, count, par);
        }
    }
}

/// Matrices that all four routines like: Hermitian, diagonally dominant.
fn matrices<T: Both>(n: usize, count: usize) -> Array {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let mut all = vec![T::of(0.0, 0.0); count * n * n];
    for a in all.chunks_exact_mut(n * n) {
        for i in 0..n {
            a[i * n + i] = T::of(n as f64 + 1.0, 0.0);
            for j in 0..i {
                let (x, y) = (next(), next());
                a[i * n + j] = T::of(x, y);
                a[j * n + i] = T::of(x, -y);
            }
        }
    }
    Array::from_slice([count, n, n], &all).unwrap()
}

fn report<T: Both>(what: &str, n: usize, count: usize, [ours, rows, columns]: [f64; 3]) {
    let best = rows.min(columns);
    println!(
        "| {what} | {} | {n} x {count} | {} | {} | {} | {:.2} |",
        T::NAME,
        time(ours),
        time(rows),
        time(columns),
        ours / best
    );
}

/// Runs `one(matrix as rows or as columns, its place)` on a copy of each matrix of the batch.
fn each<T: Both>(a: &Array, columns: bool, one: &(dyn Fn(MatMut<'_, T>) + Sync)) {
    let n = a.shape()[2];
    let from = a.as_slice::<T>().unwrap();
    let out = Array::build::<T>(a.shape().clone(), |out| {
        let parts = Parts(out.as_mut_ptr());
        let work = |i: usize| {
            let size = n * n;
            // SAFETY: item i is written by one task.
            let out = unsafe { std::slice::from_raw_parts_mut(parts.at(i * size), size) };
            let from = &from[i * size..(i + 1) * size];
            if !columns {
                out.copy_from_slice(from);
                return one(MatMut::from_row_major_slice_mut(out, n, n));
            }
            let mut flipped = vec![T::of(0.0, 0.0); size];
            turn(n, from, &mut flipped);
            one(MatMut::from_column_major_slice_mut(&mut flipped, n, n));
            turn(n, &flipped, out);
        };
        let group = (30_000 / (size_cost(n))).max(1);
        threads::run_chunks(a.shape()[0], group, &|range| range.for_each(work));
    });
    std::hint::black_box(out.unwrap());
}

fn size_cost(n: usize) -> usize {
    (n * n * n / 8).max(100)
}

struct Parts<T>(*mut T);
// SAFETY: tasks write disjoint parts.
unsafe impl<T> Sync for Parts<T> {}
impl<T> Parts<T> {
    fn at(&self, i: usize) -> *mut T {
        self.0.wrapping_add(i)
    }
}

/// The transpose, in blocks.
fn turn<T: Copy>(n: usize, from: &[T], to: &mut [T]) {
    for i0 in (0..n).step_by(16) {
        for j0 in (0..n).step_by(16) {
            for i in i0..n.min(i0 + 16) {
                for j in j0..n.min(j0 + 16) {
                    to[j * n + i] = from[i * n + j];
                }
            }
        }
    }
}

fn row_set<T: Both>(n: usize, count: usize, par: Par) {
    let a = matrices::<T>(n, count);
    let faer_lu = |m: MatMut<'_, T>| {
        let (mut perm, mut inverse) = (vec![0u32; n], vec![0u32; n]);
        let mut memory = MemBuffer::new(lu::lu_in_place_scratch::<u32, T>(n, n, par, Default::default()));
        lu::lu_in_place(m, &mut perm, &mut inverse, par, MemStack::new(&mut memory), Default::default());
        std::hint::black_box(perm);
    };
    report::<T>(
        "lu",
        n,
        count,
        race([&mut || drop(std::hint::black_box(linalg::lu(&a))), &mut || each(&a, false, &faer_lu), &mut || {
            each(&a, true, &faer_lu)
        }]),
    );
    let faer_llt = |m: MatMut<'_, T>| {
        let mut memory = MemBuffer::new(llt::cholesky_in_place_scratch::<T>(n, par, Default::default()));
        llt::cholesky_in_place(m, Default::default(), par, MemStack::new(&mut memory), Default::default()).unwrap();
    };
    report::<T>(
        "cholesky",
        n,
        count,
        race([
            &mut || drop(std::hint::black_box(linalg::cholesky(&a, false))),
            &mut || each(&a, false, &faer_llt),
            &mut || each(&a, true, &faer_llt),
        ]),
    );
    let faer_qr = |m: MatMut<'_, T>| faer_qr(n, par, m);
    report::<T>(
        "qr",
        n,
        count,
        race([
            &mut || drop(std::hint::black_box(linalg::qr(&a, false))),
            &mut || each(&a, false, &faer_qr),
            &mut || each(&a, true, &faer_qr),
        ]),
    );
    triangular::<T>(n, count, par, &a);
}

/// Factors and forms q; r is left in place.
fn faer_qr<T: Both>(n: usize, par: Par, mut a: MatMut<'_, T>) {
    let block = qr::recommended_block_size::<T>(n, n);
    let mut coefficients = vec![T::of(0.0, 0.0); block * n];
    let mut coefficients = MatMut::from_column_major_slice_mut(&mut coefficients, block, n);
    let mut memory = MemBuffer::new(
        qr::qr_in_place_scratch::<T>(n, n, block, par, Default::default())
            .or(householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<T>(n, block, n)),
    );
    qr::qr_in_place(a.rb_mut(), coefficients.rb_mut(), par, MemStack::new(&mut memory), Default::default());
    let mut q = vec![T::of(0.0, 0.0); n * n];
    (0..n).for_each(|i| q[i * n + i] = T::of(1.0, 0.0));
    let q_matrix = MatMut::from_column_major_slice_mut(&mut q, n, n);
    householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
        a.rb(),
        coefficients.rb(),
        Conj::No,
        q_matrix,
        par,
        MemStack::new(&mut memory),
    );
    std::hint::black_box(&q);
}

/// Lower triangles against as many columns as rows, and against one.
fn triangular<T: Both>(n: usize, count: usize, par: Par, a: &Array) {
    let from = a.as_slice::<T>().unwrap();
    let matrix = MatRef::from_row_major_slice(&from[..n * n], n, n);
    let faer_solve = |m: MatMut<'_, T>| {
        faer::linalg::triangular_solve::solve_lower_triangular_in_place(matrix, m, par);
    };
    report::<T>(
        "triangular, n columns",
        n,
        count,
        race([
            &mut || drop(std::hint::black_box(linalg::solve_triangular(a, a, false, true, false))),
            &mut || each(a, false, &faer_solve),
            &mut || each(a, true, &faer_solve),
        ]),
    );
    let b = Array::build::<T>([count, n, 1].into(), |b| b.fill(T::of(1.0, 0.5))).unwrap();
    let solve_one = || {
        let x = Array::build::<T>([count, n, 1].into(), |x| {
            x.copy_from_slice(b.as_slice::<T>().unwrap());
            for (i, x) in x.chunks_exact_mut(n).enumerate() {
                let matrix = MatRef::from_row_major_slice(&from[i * n * n..(i + 1) * n * n], n, n);
                let x = MatMut::from_column_major_slice_mut(x, n, 1);
                faer::linalg::triangular_solve::solve_lower_triangular_in_place(matrix, x, par);
            }
        });
        std::hint::black_box(x.unwrap());
    };
    let [ours, theirs] =
        race([&mut || drop(std::hint::black_box(linalg::solve_triangular(a, &b, false, true, false))), &mut || {
            solve_one()
        }]);
    report::<T>("triangular, 1 column", n, count, [ours, theirs, theirs]);
}
