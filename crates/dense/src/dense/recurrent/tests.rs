use super::*;
use crate::dense::matmul::tests::values;
use crate::dense::threads::{set_num_threads, test_turn};

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// One sequence's states, step by step and unit by unit.
fn by_hand(cell: Cell, steps: &[&[f64]], w: &[f64], first: &[f64], more: &[f64]) -> Vec<Vec<f64>> {
    let units = first.len();
    let (mut h, mut c) = (first.to_vec(), more.to_vec());
    let state = |h: &[f64], row: usize| (0..units).map(|k| w[row * units + k] * h[k]).sum::<f64>();
    let mut out = Vec::new();
    for x in steps {
        let gate = |g: usize, u: usize| x[g * units + u] + state(&h, g * units + u);
        let next = (0..units).map(|u| match cell {
            Cell::Tanh => gate(0, u).tanh(),
            Cell::Relu => gate(0, u).max(0.0),
            Cell::Lstm => {
                c[u] = sigmoid(gate(1, u)) * c[u] + sigmoid(gate(0, u)) * gate(2, u).tanh();
                sigmoid(gate(3, u)) * c[u].tanh()
            }
            Cell::Gru => {
                let (r, z) = (sigmoid(gate(0, u)), sigmoid(gate(1, u)));
                let n = (x[2 * units + u] + r * (state(&h, 2 * units + u) + more[u])).tanh();
                n + z * (h[u] - n)
            }
        });
        h = next.collect();
        out.push(h.clone());
    }
    out
}

const CELLS: [Cell; 4] = [Cell::Tanh, Cell::Relu, Cell::Lstm, Cell::Gru];

struct Case {
    args: Vec<Array>,
    units: usize,
}

fn case(cell: Cell, dtype: DType, sizes: &[usize], units: usize, lead: usize) -> Case {
    let (rows, gates) = (sizes.iter().sum::<usize>(), cell.gates());
    let mut args = vec![
        values(&[lead, rows, gates * units], dtype, 1),
        values(&[lead, sizes[0], units], dtype, 2),
        values(&[lead, gates * units, units], dtype, 3),
    ];
    match cell {
        Cell::Lstm => args.push(values(&[lead, sizes[0], units], dtype, 4)),
        Cell::Gru => args.push(values(&[lead, units], dtype, 4)),
        _ => {}
    }
    Case { args, units }
}

fn refs(args: &[Array]) -> Vec<&Array> {
    args.iter().collect()
}

fn numbers(a: &Array) -> Vec<f64> {
    a.to_vec::<f64>().unwrap()
}

/// Whether each member's and sequence's states are those of the steps by hand.
fn check(cell: Cell, dtype: DType, sizes: &[usize], units: usize, reverse: bool) {
    let (lead, rows, gates) = (2, sizes.iter().sum::<usize>(), cell.gates());
    let Case { args, .. } = case(cell, dtype, sizes, units, lead);
    let out = forward(&refs(&args), Sequence { cell, sizes, reverse }).unwrap();
    let (got, values) = (numbers(&out[0]), args.iter().map(numbers).collect::<Vec<_>>());
    let starts: Vec<usize> = sizes.iter().scan(0, |e, &n| Some(std::mem::replace(e, *e + n))).collect();
    for m in 0..lead {
        for n in 0..sizes[0] {
            let own: Vec<usize> =
                (0..sizes.len()).filter(|&t| n < sizes[t]).map(|t| m * rows + starts[t] + n).collect();
            let own: Vec<usize> = if reverse { own.into_iter().rev().collect() } else { own };
            let steps: Vec<&[f64]> = own.iter().map(|r| &values[0][r * gates * units..][..gates * units]).collect();
            let first = &values[1][(m * sizes[0] + n) * units..][..units];
            let w = &values[2][m * gates * units * units..][..gates * units * units];
            let more = match cell {
                Cell::Lstm => &values[3][(m * sizes[0] + n) * units..][..units],
                Cell::Gru => &values[3][m * units..][..units],
                _ => &[],
            };
            for (row, want) in own.iter().zip(by_hand(cell, &steps, w, first, more)) {
                for (u, want) in want.iter().enumerate() {
                    let got = got[row * units + u];
                    let near = if dtype == DType::F32 { 1e-3 } else { 1e-10 } * (1.0 + want.abs());
                    assert!((got - want).abs() < near, "{cell:?} {sizes:?} {units} {reverse}: {got}, expected {want}");
                }
            }
        }
    }
}

#[test]
fn states_are_those_of_single_steps() {
    for cell in CELLS {
        for reverse in [false, true] {
            for sizes in [&[1][..], &[3, 3, 3], &[4, 2, 2, 1], &[7, 7]] {
                check(cell, DType::F64, sizes, 5, reverse);
                check(cell, DType::F32, sizes, 3, reverse);
            }
            check(cell, DType::F32, &[2, 1], 33, reverse);
        }
    }
}

/// The sum of all outputs times weights of their own.
fn loss(out: &Arrays) -> f64 {
    out.iter()
        .enumerate()
        .map(|(i, a)| numbers(a).iter().zip(numbers(&weight(a, i))).map(|(x, w)| x * w).sum::<f64>())
        .sum()
}

fn weight(a: &Array, i: usize) -> Array {
    values(a.shape(), DType::F64, 11 + i as u64)
}

#[test]
fn cotangents_are_differences_of_losses() {
    for cell in CELLS {
        for reverse in [false, true] {
            let sizes = &[3, 2, 2][..];
            let s = Sequence { cell, sizes, reverse };
            let Case { args, units } = case(cell, DType::F64, sizes, 3, 2);
            let out = forward(&refs(&args), s).unwrap();
            let mut back = match cell {
                Cell::Lstm => vec![args[2].clone(), out[1].clone(), out[2].clone(), args[3].clone()],
                Cell::Gru => vec![args[2].clone(), out[1].clone(), out[0].clone(), args[1].clone()],
                _ => vec![args[2].clone(), out[0].clone(), out[0].clone(), args[1].clone()],
            };
            back.extend(out.iter().enumerate().map(|(i, a)| weight(a, i)));
            let given = [true, cell.has_gates(), cell == Cell::Lstm];
            let grads = backward(&refs(&back), s, given).unwrap();
            let places = if cell == Cell::Lstm { vec![0, 1, 3] } else { vec![0, 1] };
            for (grad, place) in grads.iter().zip(places) {
                let (grad, at) = (numbers(grad), numbers(&args[place]));
                for i in 0..at.len() {
                    let moved = |by: f64| {
                        let mut moved = at.clone();
                        moved[i] += by;
                        let mut args = args.clone();
                        args[place] = Array::from_slice(args[place].shape().clone(), &moved).unwrap();
                        loss(&forward(&refs(&args), s).unwrap())
                    };
                    let want = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                    assert!((grad[i] - want).abs() < 1e-6 * (1.0 + want.abs()), "{cell:?} {place} {i} of {units}");
                }
            }
        }
    }
}

#[test]
fn shared_weights_and_threads_give_the_same_bits() {
    let _turn = test_turn();
    let (cell, sizes, lead) = (Cell::Lstm, &[17, 17, 9, 9][..], 3);
    let s = Sequence { cell, sizes, reverse: false };
    let Case { mut args, units } = case(cell, DType::F32, sizes, 64, lead);
    args[2] = args[2].slice(0, 0, 1, 1).unwrap().expand(&[lead, 4 * units, units].into()).unwrap();
    let run = |args: &[Array]| forward(&refs(args), s).unwrap().iter().map(numbers).collect::<Vec<_>>();
    let before = threads::get_num_threads();
    set_num_threads(1).unwrap();
    let want = run(&args);
    set_num_threads(3).unwrap();
    assert_eq!(run(&args), want);
    args[2] = args[2].contiguous().unwrap();
    assert_eq!(run(&args), want);
    set_num_threads(before as i64).unwrap();
}

#[test]
fn shapes_that_do_not_belong_together_are_refused() {
    let s = |sizes| Sequence { cell: Cell::Gru, sizes, reverse: false };
    let Case { args, .. } = case(Cell::Gru, DType::F32, &[3, 2], 4, 1);
    for sizes in [&[][..], &[2, 3], &[3], &[3, 3], &[usize::MAX, 1], &[3, 2, 0, 1]] {
        assert!(forward(&refs(&args), s(sizes)).is_err(), "{sizes:?}");
    }
    assert!(forward(&refs(&args[..3]), s(&[3, 2])).is_err());
    assert!(forward(&refs(&args), s(&[3, 2])).is_ok());
}
