use super::*;

fn arange(n: usize) -> Array {
    Array::build::<f32>([n].into(), |o| o.iter_mut().enumerate().for_each(|(i, x)| *x = i as f32)).unwrap()
}

#[test]
fn small_arrays_live_inline_and_views_of_them_work() {
    let a = arange(6).reshape(&[2, 3].into()).unwrap();
    assert!(a.buffer().is_none());
    assert_eq!(a.permute(&[1, 0]).unwrap().to_vec::<f32>().unwrap(), [0., 3., 1., 4., 2., 5.]);
    let big = a.expand(&[100, 2, 3].into()).unwrap();
    assert_eq!(big.strides()[0], 0);
    assert_eq!(big.to_vec::<f32>().unwrap()[599], 5.0);
}

#[test]
fn views_share_and_reshape_copies_only_when_it_must() {
    let a = arange(600).reshape(&[20, 30].into()).unwrap();
    let t = a.permute(&[1, 0]).unwrap();
    assert_eq!(t.ptr(), a.ptr());
    assert_eq!(t.reshape(&[600].into()).unwrap().to_vec::<f32>().unwrap()[1], 30.0);
    let r = a.slice(0, 19, 20, -1).unwrap();
    assert_eq!(r.to_vec::<f32>().unwrap()[0], 570.0);
}

#[test]
fn views_that_leave_the_array_are_refused() {
    let all =
        |shape: &[usize], strides: &[isize], offset| Layout { shape: shape.into(), strides: strides.into(), offset };
    for n in [6, 600] {
        let a = arange(n).reshape(&[2, n / 2].into()).unwrap();
        let (far, last) = (isize::MAX, n - 1);
        for l in [
            all(&[n + 1], &[1], 0),
            all(&[1], &[1], n),
            all(&[2], &[1], last),
            all(&[2], &[-1], 0),
            all(&[3, 3], &[far, far], 0),
            all(&[1 << 40, 1 << 40], &[0, 0], 0),
        ] {
            assert!(a.view(|_| l.clone()).is_err(), "{l:?}");
        }
        assert_eq!(a.view(|_| all(&[2], &[-1], last)).unwrap().to_vec::<f32>().unwrap()[1], last as f32 - 1.0);
        assert!(a.permute(&[0, 0]).is_err() && a.permute(&[1]).is_err() && a.permute(&[0, 2]).is_err());
        let refused = [(2, 0, 1, 1), (0, 0, 3, 1), (0, 2, 1, 1), (0, 1, 2, 1), (0, 0, 2, -1), (0, 0, 2, far)];
        assert!(refused.iter().all(|&(dim, start, len, step)| a.slice(dim, start, len, step).is_err()));
        assert_eq!(a.slice(1, 9, 0, 1).unwrap().numel(), 0);
    }
}

#[test]
fn what_is_not_set_is_zero() {
    for n in [3, 300] {
        drop(Array::full(DType::I64, [n].into(), Scalar::Int(-1)).unwrap());
        let a = Array::build::<i64>([n].into(), |o| o[1] = 5).unwrap();
        let v = a.as_slice::<i64>().unwrap();
        assert!(v.iter().enumerate().all(|(i, &x)| x == if i == 1 { 5 } else { 0 }));
    }
}

#[test]
fn impossible_sizes_are_errors() {
    assert!(Array::zeros(DType::F64, [usize::MAX / 4, 4].into()).is_err());
    assert!(Array::zeros(DType::F64, [1 << 45].into()).is_err());
}
