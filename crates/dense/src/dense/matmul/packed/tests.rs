use super::*;
use crate::base::{DType, Layout};
use crate::dense::matmul::tests::{restride, values};
use crate::dense::{Array, isa};
use proptest::prelude::*;

/// Small blocks, so that small shapes have edges of all kinds.
const SMALL: Sizes = Sizes { rows: 12, depth: 8, cols: 32 };

fn mat<T>(x: &Array) -> Mat<T> {
    Mat { ptr: x.ptr().cast(), rs: x.strides()[0], cs: x.strides()[1] }
}

/// The product and what lies around it: rows of c are `n + 3` long and there are two more.
fn run<T: SimdFloat>(a: &Array, b: &Array, sizes: Sizes) -> Option<Vec<T>> {
    let (m, k, n) = (a.shape()[0], a.shape()[1], b.shape()[1]);
    let mut c = vec![T::one(); (m + 2) * (n + 3)];
    let to = MatMut { ptr: c.as_mut_ptr(), rs: (n + 3) as isize, cs: 1 };
    if !isa::available().any(|i| i == Isa::V3) {
        return None;
    }
    // SAFETY: the matrices have these sizes and strides, and the machine has the instructions.
    unsafe { sized(m, n, k, mat(a), mat(b), to, sizes) };
    Some(c)
}

/// Whether [`run`] gave the product to the accuracy of the type, and nothing but the product.
fn check<T: SimdFloat>(a: &Array, b: &Array, sizes: Sizes) {
    let (m, k, n) = (a.shape()[0], a.shape()[1], b.shape()[1]);
    let Some(c) = run::<T>(a, b, sizes) else { return };
    let c = Array::from_slice([m + 2, n + 3], &c).unwrap().to_vec::<f64>().unwrap();
    let (x, y) = (a.to_vec::<f64>().unwrap(), b.to_vec::<f64>().unwrap());
    let eps = if T::DTYPE == DType::F32 { 1e-6 } else { 1e-15 };
    for i in 0..m + 2 {
        for j in 0..n + 3 {
            let got = c[i * (n + 3) + j];
            if i >= m || j >= n {
                assert_eq!(got, 1.0, "({i}, {j}) outside of {m} x {n}");
                continue;
            }
            let want: f64 = (0..k).map(|p| x[i * k + p] * y[p * n + j]).sum();
            let size: f64 = (0..k).map(|p| (x[i * k + p] * y[p * n + j]).abs()).sum();
            assert!((got - want).abs() <= eps * (size + 1.0), "({i}, {j}) of {m} x {k} x {n}: {got}, expected {want}");
        }
    }
}

fn operands(dtype: DType, (m, k, n): (usize, usize, usize), how: u8) -> (Array, Array) {
    (restride(&values(&[m, k], dtype, 1), how / 5), restride(&values(&[k, n], dtype, 2), how % 5))
}

#[test]
fn tiles_and_blocks_end_anywhere() {
    for m in [1, 5, 6, 7, 11, 12, 13, 25] {
        for n in [1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65] {
            for k in [1, 2, 3, 4, 7, 8, 9, 16, 17] {
                let how = (m + n + k) as u8 % 25;
                let (a, b) = operands(DType::F32, (m, k, n), how);
                check::<f32>(&a, &b, SMALL);
                let (a, b) = operands(DType::F64, (m, k, n), how);
                check::<f64>(&a, &b, SMALL);
            }
        }
    }
}

#[test]
fn operands_have_any_strides() {
    for how in 0..25 {
        for shape in [(13, 9, 35), (6, 8, 16), (12, 16, 32), (7, 21, 50)] {
            let (a, b) = operands(DType::F32, shape, how);
            check::<f32>(&a, &b, SMALL);
            let (a, b) = operands(DType::F64, shape, how);
            check::<f64>(&a, &b, SMALL);
        }
    }
    // Rows and columns that repeat.
    let once = |l: &Layout| l.slice(0, 0, 1, 1);
    let a = values(&[9, 10], DType::F64, 3).view(once).unwrap().expand(&[13, 10].into()).unwrap();
    check::<f64>(&a, &a.permute(&[1, 0]).unwrap(), SMALL);
}

#[test]
fn the_sizes_in_use_end_anywhere_too() {
    for (m, k, n) in [(95, 255, 17), (96, 256, 16), (97, 257, 15), (49, 513, 9), (48, 512, 8), (2, 3, 2049)] {
        let (a, b) = operands(DType::F32, (m, k, n), 0);
        check::<f32>(&a, &b, Sizes::of::<f32>());
        let (a, b) = operands(DType::F64, (m, k, n), 6);
        check::<f64>(&a, &b, Sizes::of::<f64>());
    }
}

#[test]
fn bits_do_not_depend_on_blocks_or_strides() {
    let shape = (50, 40, 70);
    let of = |how, sizes| {
        let (a, b) = operands(DType::F32, shape, how);
        run::<f32>(&a, &b, sizes)
    };
    let want = of(0, SMALL);
    for how in 0..25 {
        assert_eq!(of(how, SMALL), want);
        assert_eq!(of(how, Sizes { rows: 18, cols: 16, ..SMALL }), want);
        assert_eq!(of(how, Sizes { rows: 96, cols: 96, ..SMALL }), want);
    }
}

#[test]
fn only_large_shapes_on_this_isa() {
    let here = cfg!(target_arch = "x86_64") && isa() == Isa::V3;
    for (m, n, k) in [(1024, 1024, 1024), (1000, 1100, 700), (4096, 4096, 64), (256, 256, 2048)] {
        assert_eq!(pays(m, n, k), here, "{m} {n} {k}");
    }
    for (m, n, k) in [(256, 256, 256), (64, 1024, 1024), (100, 100, 5000), (128, 256, 784), (4096, 64, 4096)] {
        assert!(!pays(m, n, k), "{m} {n} {k}");
    }
    assert!(!pays(0, usize::MAX, usize::MAX));
}

proptest! {
    #[test]
    fn any_shape(
        (m, k, n) in (1usize..40, 1usize..40, 1usize..80),
        how in 0u8..25,
        (rows, cols) in (1usize..5, 1usize..5),
    ) {
        let sizes = Sizes { rows: ROWS * rows, depth: 8, cols: 16 * cols };
        let (a, b) = operands(DType::F32, (m, k, n), how);
        check::<f32>(&a, &b, sizes);
        let (a, b) = operands(DType::F64, (m, k, n), how);
        check::<f64>(&a, &b, sizes);
    }
}
