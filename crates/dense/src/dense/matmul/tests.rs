use super::matmul;
use crate::base::{DType, ErrorKind, Layout, Scalar, Shape};
use crate::dense::{Array, copy};
use proptest::prelude::*;

pub(crate) fn values(shape: &[usize], dtype: DType, seed: u64) -> Array {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let a = Array::build::<f64>(shape.into(), |out| {
        for x in out {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *x = ((state >> 40) as f64 / (1 << 24) as f64 - 0.5) * 4.0;
        }
    })
    .unwrap();
    let a = if dtype.is_integer() || dtype.is_half() {
        Array::build::<f64>(shape.into(), |o| {
            o.iter_mut().zip(a.to_vec::<f64>().unwrap()).for_each(|(o, x)| *o = (x * 2.0).round())
        })
        .unwrap()
    } else {
        a
    };
    copy::cast(&a, dtype).unwrap()
}

/// The same values with other strides.
pub(super) fn restride(a: &Array, how: u8) -> Array {
    let r = a.rank();
    match how % 5 {
        0 => a.clone(),
        1 => {
            let mut order: Vec<usize> = (0..r).collect();
            order.swap(r - 1, r - 2);
            a.permute(&order).unwrap().contiguous().unwrap().permute(&order).unwrap()
        }
        2 => {
            let order: Vec<usize> = (0..r).rev().collect();
            a.permute(&order).unwrap().contiguous().unwrap().permute(&order).unwrap()
        }
        3 => {
            // Every second element of rows twice as long.
            let wide = a.shape().with(r - 1, 2 * a.shape()[r - 1]);
            let v = a.to_vec::<f64>().unwrap();
            let w = Array::build::<f64>(wide, |o| o.chunks_exact_mut(2).zip(&v).for_each(|(o, &x)| o.fill(x))).unwrap();
            copy::cast(&w, a.dtype()).unwrap().to_buffer().unwrap().slice(r - 1, 0, a.shape()[r - 1], 2).unwrap()
        }
        _ => {
            let flip = |l: &Layout| {
                (0..r).fold(l.clone(), |l, d| {
                    let n = l.shape[d];
                    l.slice(d, n.saturating_sub(1), n, -1)
                })
            };
            a.to_buffer().unwrap().view(flip).unwrap().contiguous().unwrap().to_buffer().unwrap().view(flip).unwrap()
        }
    }
}

fn naive(a: &Array, b: &Array) -> (Shape, Vec<f64>) {
    let lead = |x: &Array| Shape::new(&x.shape()[..x.rank() - 2]);
    let lead = crate::base::shape::broadcast2("t", &lead(a), &lead(b)).unwrap();
    let (m, k, n) = (a.shape()[a.rank() - 2], a.shape()[a.rank() - 1], b.shape()[b.rank() - 1]);
    let full = |x: &Array, r: usize, c: usize| x.expand(&lead.append(r).append(c)).unwrap().to_vec::<f64>().unwrap();
    let (va, vb) = (full(a, m, k), full(b, k, n));
    let mut out = vec![0.0; lead.numel() * m * n];
    for t in 0..lead.numel() {
        for i in 0..m {
            for j in 0..n {
                out[(t * m + i) * n + j] = (0..k).map(|p| va[(t * m + i) * k + p] * vb[(t * k + p) * n + j]).sum();
            }
        }
    }
    (lead.append(m).append(n), out)
}

fn assert_matches(a: &Array, b: &Array) {
    let c = matmul(a, b).unwrap();
    let (shape, want) = naive(a, b);
    assert_eq!(c.shape(), &shape);
    assert_eq!(c.dtype(), a.dtype());
    let k = a.shape()[a.rank() - 1] as f64;
    let eps = match a.dtype() {
        DType::F32 => 2e-6,
        DType::F64 => 1e-14,
        DType::F16 => 1e-3,
        DType::BF16 => 8e-3,
        _ => 0.0,
    };
    for (i, (x, y)) in c.to_vec::<f64>().unwrap().iter().zip(&want).enumerate() {
        let bound = eps * (k.sqrt() * 16.0 + y.abs());
        assert!((x - y).abs() <= bound, "element {i} of {shape}: {x} against {y} ({} k={k})", a.dtype());
    }
}

#[test]
fn every_size_and_stride_agrees_with_the_loop() {
    let sizes = [(1, 1, 1), (8, 8, 8), (3, 5, 7), (16, 16, 16), (17, 3, 2), (1, 33, 65), (70, 1, 130), (1, 1, 5000)];
    let more = [(2, 16, 9), (33, 34, 35), (64, 64, 64), (130, 70, 300), (5, 600, 40), (1, 5000, 3), (3, 1, 9000)];
    for dtype in [DType::F32, DType::F64] {
        for &(m, n, k) in sizes.iter().chain(&more) {
            for how in 0..25 {
                let a = restride(&values(&[m, k], dtype, 1), how / 5);
                let b = restride(&values(&[k, n], dtype, 2), how % 5);
                assert_matches(&a, &b);
            }
        }
    }
}

#[test]
fn large_products_are_cut_into_blocks() {
    for (m, n, k) in [(600, 530, 40), (1, 1100, 2100), (1100, 1, 2100), (2, 3, 70_000)] {
        assert_matches(&values(&[m, k], DType::F32, 3), &values(&[k, n], DType::F32, 4));
    }
    for dtype in [DType::F32, DType::F64] {
        assert_matches(&restride(&values(&[490, 470], dtype, 3), 4), &restride(&values(&[470, 451], dtype, 4), 1));
    }
}

#[test]
fn other_dtypes() {
    for dtype in [DType::U8, DType::I8, DType::I16, DType::I32, DType::I64, DType::F16, DType::BF16] {
        let unsigned = dtype == DType::U8;
        for (m, n, k) in [(3, 4, 5), (1, 70, 6), (65, 1, 3), (20, 66, 9)] {
            let bring = |x: Array| {
                if unsigned {
                    copy::cast(&Array::full(DType::U8, x.shape().clone(), Scalar::Int(2)).unwrap(), DType::U8).unwrap()
                } else {
                    x
                }
            };
            let a = bring(values(&[2, m, k], dtype, 5));
            let b = bring(values(&[k, n], dtype, 6));
            assert_matches(&a, &restride(&b, 1));
        }
    }
    let a = Array::full(DType::I8, [2, 3].into(), Scalar::Int(100)).unwrap();
    let c = matmul(&a, &a.permute(&[1, 0]).unwrap()).unwrap();
    assert_eq!(c.to_vec::<i64>().unwrap(), [30000 % 256; 4].map(|x: i64| x as i8 as i64));
}

#[test]
fn complex_products() {
    use num_complex::Complex;
    let z = |re: f64, im: f64| Complex::new(re, im);
    let a = Array::from_slice([1, 2], &[z(1.0, 2.0), z(0.0, -1.0)]).unwrap();
    let b = Array::from_slice([2, 1], &[z(3.0, 0.0), z(1.0, 1.0)]).unwrap();
    let c = matmul(&a, &b).unwrap();
    assert_eq!(c.to_vec::<Complex<f64>>().unwrap(), [z(3.0, 6.0) + z(1.0, -1.0)]);
    let narrow = |x: &Array| copy::cast(x, DType::C64).unwrap();
    assert_eq!(matmul(&narrow(&a), &narrow(&b)).unwrap().to_vec::<Complex<f64>>().unwrap(), [z(4.0, 5.0)]);
}

#[test]
fn empty_contractions_are_zero_and_empty_results_keep_their_shape() {
    let z = |s: &[usize]| Array::zeros(DType::F32, s.into()).unwrap();
    assert_eq!(matmul(&z(&[2, 0]), &z(&[0, 3])).unwrap().to_vec::<f32>().unwrap(), [0.0; 6]);
    assert_eq!(&matmul(&z(&[0, 4]), &z(&[4, 3])).unwrap().shape()[..], &[0, 3]);
    assert_eq!(&matmul(&z(&[5, 0, 2, 4]), &z(&[4, 3])).unwrap().shape()[..], &[5, 0, 2, 3]);
}

#[test]
fn expanded_operands_are_not_copied_and_shared_batches_are_computed_once() {
    let a = values(&[1, 1, 3, 4], DType::F32, 1).expand(&[1 << 20, 1 << 10, 3, 4].into()).unwrap();
    let b = values(&[4, 5], DType::F32, 2);
    let c = matmul(&a, &b).unwrap();
    assert_eq!(&c.shape()[..], &[1 << 20, 1 << 10, 3, 5]);
    assert_eq!(&c.strides()[..2], &[0, 0]);
}

#[test]
fn messages_name_the_shapes() {
    let z = |s: &[usize]| Array::zeros(DType::F32, s.into()).unwrap();
    let e = matmul(&z(&[2, 3]), &z(&[4, 5])).unwrap_err();
    assert_eq!(
        (e.kind(), e.message()),
        (ErrorKind::Runtime, "matmul(): mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)")
    );
    assert!(matmul(&z(&[3]), &z(&[3, 1])).unwrap_err().message().contains("at least 2 dimensions, got shapes [3]"));
    assert!(matmul(&z(&[2, 2, 2]), &z(&[3, 2, 2])).unwrap_err().message().contains("size of tensor a (2)"));
    let i = Array::zeros(DType::I32, [2, 2].into()).unwrap();
    assert!(matmul(&z(&[2, 2]), &i).unwrap_err().message().contains("float32 and int32"));
    let b = Array::zeros(DType::Bool, [2, 2].into()).unwrap();
    assert_eq!(matmul(&b, &b).unwrap_err().kind(), ErrorKind::NotImplemented);
}

proptest! {
    #[test]
    fn batches_broadcast(
        (m, n, k) in (1usize..7, 1usize..7, 1usize..6),
        dims in prop::collection::vec((1usize..4, 0u8..3), 0..4),
        (cut_a, cut_b) in (0usize..3, 0usize..3),
        (how_a, how_b) in (0u8..5, 0u8..5),
    ) {
        // Each batch dimension is of both operands, or of one of them only.
        let lead = |keep: u8, cut: usize| -> Vec<usize> {
            dims.iter().map(|&(d, who)| if who == keep || who == 2 { d } else { 1 }).skip(cut).collect()
        };
        let (mut sa, mut sb) = (lead(0, cut_a), lead(1, cut_b));
        sa.extend([m, k]);
        sb.extend([k, n]);
        let a = restride(&values(&sa, DType::F64, 7), how_a);
        let b = restride(&values(&sb, DType::F64, 8), how_b);
        assert_matches(&a, &b);
    }
}

#[test]
fn blocks_do_not_change_the_bits() {
    for dtype in [DType::F32, DType::F64, DType::C64] {
        let sizes = [(1030, 700, 300), (40, 1500, 1030), (257, 513, 257), (300, 2049, 40), (128, 600, 900)];
        // These take the packed loop on machines with AVX2 and no AVX-512.
        let packed = [(1000, 700, 1100), (519, 301, 777), (256, 1530, 261)];
        for (m, k, n) in sizes.into_iter().chain(packed) {
            let (a, b) = (values(&[m, k], dtype, 1), values(&[k, n], dtype, 2));
            for (a, b) in [(a.clone(), b.clone()), (restride(&a, 1), restride(&b, 1))] {
                let mut bits = Vec::new();
                for threads in [1, 2, 3, 8] {
                    crate::dense::threads::set_num_threads(threads).unwrap();
                    bits.push(matmul(&a, &b).unwrap().checksum());
                }
                crate::dense::threads::set_num_threads(2).unwrap();
                bits.dedup();
                assert_eq!(bits.len(), 1, "{dtype} {m} {k} {n}");
            }
        }
    }
}
