use super::*;
use crate::dense::matmul::matmul;
use proptest::prelude::*;

/// A step that may keep a constant symbolic, chosen by a few numbers.
fn step(s: &Symbolic, kind: u8, a: usize, b: usize) -> Option<Symbolic> {
    let rank = s.shape().rank();
    match kind {
        0 => {
            let mut order: Vec<usize> = (0..rank).collect();
            order.swap(a % rank, b % rank);
            Some(s.permute(&order))
        }
        1 => {
            let wide = s.shape().iter().map(|&n| if n == 1 { 1 + b % 3 } else { n }).collect::<Shape>();
            Some(s.expand(&if a.is_multiple_of(2) { wide } else { wide.prepend(2) }))
        }
        2 => {
            let mut shape = s.shape().clone();
            shape.insert(a % (rank + 1), 1);
            s.reshape(&shape)
        }
        _ => {
            // Splits a dimension, or merges it with the next one.
            let (d, mut shape) = (a % rank, s.shape().clone());
            if let Some(f) = (2..shape[d]).find(|f| shape[d] % f == 0) {
                shape = shape.with(d, shape[d] / f);
                shape.insert(d + 1, f);
            } else if d + 1 < rank {
                let next = shape.remove(d + 1);
                shape = shape.with(d, shape[d] * next);
            }
            s.reshape(&shape)
        }
    }
}

fn same(a: &Array, b: &Array) -> bool {
    a.shape() == b.shape() && a.to_vec::<f64>().unwrap() == b.to_vec::<f64>().unwrap()
}

/// The same step on elements in memory.
fn dense_step(a: &Array, before: &Symbolic, after: &Symbolic, kind: u8, x: usize, y: usize) -> Array {
    match kind {
        0 => {
            let mut order: Vec<usize> = (0..a.rank()).collect();
            order.swap(x % a.rank(), y % before.shape().rank());
            a.permute(&order).unwrap()
        }
        1 => a.expand(after.shape()).unwrap(),
        _ => a.reshape(after.shape()).unwrap(),
    }
}

proptest! {
    #[test]
    fn views_are_those_of_the_elements(
        rows in 2usize..9, cols in 2usize..9, shift in -9isize..10,
        steps in proptest::collection::vec((0u8..4, 0usize..8, 0usize..8), 0..6),
    ) {
        let mut s = Symbolic::eye(DType::F64, rows, cols, shift).unwrap();
        let mut dense = s.array().unwrap().clone();
        for (i, x) in dense.to_vec::<f64>().unwrap().into_iter().enumerate() {
            let (r, c) = ((i / cols) as isize, (i % cols) as isize);
            prop_assert_eq!(x, f64::from(r + shift == c));
        }
        for (kind, x, y) in steps {
            let Some(next) = step(&s, kind, x, y) else { continue };
            dense = dense_step(&dense, &s, &next, kind, x, y);
            s = next;
            prop_assert!(same(s.array().unwrap(), &dense), "{:?} {}", s.form(), s.shape());
        }
    }

    #[test]
    fn products_pick_what_a_kernel_computes(
        rows in 2usize..6, cols in 2usize..6, shift in -3isize..4, size in 1usize..4, lead in 0usize..3,
        places in proptest::collection::vec((0u8..3, 0usize..4, 0usize..4), 0..4), is_left in any::<bool>(),
    ) {
        let mut s = Symbolic::eye(DType::F64, rows, cols, shift).unwrap();
        for (kind, x, y) in places {
            s = step(&s, kind, x, y).unwrap_or(s);
        }
        let rank = s.shape().rank();
        let inner = s.shape()[if is_left { rank - 1 } else { rank - 2 }];
        let mut shape: Shape = if is_left { [inner, size].into() } else { [size, inner].into() };
        (0..lead).for_each(|i| shape.insert(0, if i + 3 <= rank && i % 2 == 0 { s.shape()[rank - 3 - i] } else { 1 }));
        let n = shape.numel();
        let other = Array::from_slice(shape, &(1..=n).map(|x| x as f64).collect::<Vec<_>>()).unwrap();
        let (a, b) = if is_left { (s.array().unwrap(), &other) } else { (&other, s.array().unwrap()) };
        let want = matmul(a, b).unwrap();
        if let Some(got) = s.product(&other, is_left).unwrap() {
            prop_assert!(same(&got, &want), "{:?} {} and {}", s.form(), s.shape(), other.shape());
        }
    }
}

#[test]
fn a_plain_product_with_the_identity_is_the_other_factor() {
    let s = Symbolic::eye(DType::F64, 3, 3, 0).unwrap();
    // Too large to lie inside the array itself.
    let w = Array::from_slice([3, 4], &[1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., f64::INFINITY]).unwrap();
    let out = s.product(&w, true).unwrap().unwrap();
    assert_eq!((out.ptr(), out.to_vec::<f64>().unwrap()), (w.ptr(), w.to_vec::<f64>().unwrap()));
    // One row of a batch each: (3, 1, 3) times (3, 4).
    let rows = s.reshape(&[3, 1, 3].into()).unwrap();
    let out = rows.product(&w, true).unwrap().unwrap();
    assert_eq!((&out.shape()[..], out.to_vec::<f64>().unwrap()), (&[3, 1, 4][..], w.to_vec::<f64>().unwrap()));
}
