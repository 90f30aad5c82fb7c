use super::*;
use crate::dense::threads::{set_num_threads, test_turn};

/// As [`super::step`], of arrays that lie side by side.
fn stepped(rule: &dyn Step, param: &mut Array, states: &mut [Array], grad: &Array) -> Result<()> {
    let mut targets: Vec<&mut Array> = std::iter::once(param).chain(states).collect();
    super::step(rule, &mut targets, grad)
}

fn numbers(n: usize, scale: f64) -> Vec<f64> {
    (0..n).map(|i| (i as f64 * 0.7 + 0.3).sin() * scale).collect()
}

fn prepared(a: &Algorithm, values: &mut [f64]) -> Box<dyn Step> {
    let options: Vec<f64> = match a.name {
        "sgd" => vec![0.1, 0.9, 0.1, 0.01, 0.0, 0.0],
        "adam" => vec![0.1, 0.9, 0.99, 1e-8, 0.01, 0.0, 1.0, 0.0],
        "adamax" => vec![0.1, 0.9, 0.99, 1e-8, 0.01, 1.0],
        "nadam" => vec![0.1, 0.9, 0.99, 1e-8, 0.01, 0.004, 1.0, 0.0],
        "radam" => vec![0.1, 0.9, 0.99, 1e-8, 0.01, 0.0, 0.0],
        "adagrad" => vec![0.1, 0.01, 0.01, 1e-8, 0.0],
        "adadelta" => vec![1.0, 0.9, 1e-6, 0.01, 0.0],
        "rmsprop" => vec![0.1, 0.9, 1e-8, 0.01, 0.5, 1.0, 0.0],
        "rprop" => vec![0.5, 1.2, 1e-6, 50.0, 0.0],
        _ => vec![0.1, 1e-4, 0.75, 1.0, 0.01, 0.0],
    };
    let dtypes = vec![DType::F32; values.len()];
    (a.prepare)(&options, &mut Scalars { values, dtypes: &dtypes }).unwrap()
}

/// Parameter and states after three steps, as float64.
fn walk(a: &Algorithm, n: usize, dtype: DType) -> Vec<Vec<f64>> {
    let mut kept = vec![0.0; a.scalars.len()];
    if let Some(product) = kept.get_mut(1) {
        *product = 1.0;
    }
    let array = |x: &[f64]| crate::dense::cast::cast(&Array::from_slice([n], x).unwrap(), dtype).unwrap();
    let mut param = array(&numbers(n, 1.0));
    let states = prepared(a, &mut kept.clone()).states();
    let mut states: Vec<Array> = (0..states).map(|_| array(&vec![0.1; n])).collect();
    for k in 0..3 {
        let rule = prepared(a, &mut kept);
        stepped(&*rule, &mut param, &mut states, &array(&numbers(n, 0.5 - k as f64 * 0.4))).unwrap();
    }
    std::iter::once(&param).chain(&states).map(|a| a.to_vec::<f64>().unwrap()).collect()
}

#[test]
fn elements_do_not_depend_on_their_number_nor_on_threads() {
    let _turn = test_turn();
    for a in ALGORITHMS {
        let few = walk(a, 7, DType::F64);
        assert!(few.iter().flatten().all(|x| x.is_finite()), "{}", a.name);
        for threads in [1, 3] {
            set_num_threads(threads).unwrap();
            for (few, many) in few.iter().zip(walk(a, 70_000, DType::F64)) {
                assert_eq!(few[..], many[..7], "{}", a.name);
            }
        }
    }
    set_num_threads(2).unwrap();
}

#[test]
fn precisions_agree() {
    for a in ALGORITHMS {
        let exact = walk(a, 600, DType::F64);
        for (dtype, allowed) in [(DType::F32, 2e-5), (DType::F16, 0.03), (DType::BF16, 0.2)] {
            for (x, y) in exact.iter().flatten().zip(walk(a, 600, dtype).iter().flatten()) {
                assert!((x - y).abs() <= allowed * (1.0 + x.abs()), "{} {dtype}: {x} {y}", a.name);
            }
        }
    }
}

#[test]
fn memory_of_others_is_left_alone() {
    let a = Algorithm::find("sgd").unwrap();
    let rule = prepared(a, &mut []);
    let big: Vec<f64> = numbers(1000, 1.0);
    let mut param = Array::from_slice([1000], &big).unwrap();
    let (kept, at) = (param.clone(), param.ptr());
    let mut states = [Array::zeros(DType::F64, [1000].into()).unwrap()];
    let place = states[0].ptr();
    stepped(&*rule, &mut param, &mut states, &kept).unwrap();
    assert_ne!(param.ptr(), at);
    assert_eq!(kept.to_vec::<f64>().unwrap(), big);
    assert_eq!(states[0].ptr(), place);
    let at = param.ptr();
    stepped(&*rule, &mut param, &mut states, &kept).unwrap();
    assert_eq!(param.ptr(), at);
}

#[test]
fn what_does_not_fit_is_refused() {
    let rule = prepared(Algorithm::find("sgd").unwrap(), &mut []);
    let zeros = |n: usize, d| Array::zeros(d, [n].into()).unwrap();
    let mut p = zeros(3, DType::F32);
    let e = stepped(&*rule, &mut p, &mut [zeros(3, DType::F32)], &zeros(4, DType::F32)).unwrap_err();
    assert!(e.message().contains("gradient"), "{e:?}");
    let e = stepped(&*rule, &mut p, &mut [zeros(3, DType::F64)], &zeros(3, DType::F32)).unwrap_err();
    assert!(e.message().contains("state"), "{e:?}");
    let mut p = zeros(3, DType::I64);
    assert!(stepped(&*rule, &mut p, &mut [zeros(3, DType::I64)], &zeros(3, DType::I64)).is_err());
    assert!(
        (Algorithm::find("adam").unwrap().prepare)(&[1.0], &mut Scalars { values: &mut [0.0], dtypes: &[DType::F32] })
            .is_err()
    );
}
