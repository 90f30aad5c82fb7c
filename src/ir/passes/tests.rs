use crate::ops::nn::loss;
use crate::ops::random;
use crate::ops::value::setting::{Device, Layout, MemoryFormat};
use crate::{Result, Tensor, grad, jvp, trace, vmap};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::Cell;

fn vector(values: &[f64]) -> Tensor {
    Tensor::from_slice([values.len()], values).unwrap()
}
fn bits(t: &Tensor) -> Vec<u64> {
    t.to_vec::<f64>().unwrap().into_iter().map(f64::to_bits).collect()
}
fn lengths(f: impl Fn(&[Tensor]) -> Result<Vec<Tensor>>, args: &[Tensor]) -> (usize, usize) {
    let program = trace(f, args).unwrap();
    let simplified = program.simplified();
    let (a, b) = (program.call(args).unwrap(), simplified.call(args).unwrap());
    assert_eq!(a.iter().map(bits).collect::<Vec<_>>(), b.iter().map(bits).collect::<Vec<_>>());
    (program.len(), simplified.len())
}

#[test]
fn steps_that_nothing_needs_are_left_out() {
    let f = |x: &[Tensor]| {
        let _ = x[0].sin()?.mul(&x[0])?;
        Ok(vec![x[0].cos()?])
    };
    assert_eq!(lengths(f, &[vector(&[0.5, 1.0])]), (3, 1));
}

#[test]
fn steps_that_repeat_others_are_merged() {
    let f = |x: &[Tensor]| {
        let once = x[0].sin()?.mul(2.0)?.sum(&[0], false)?;
        let again = x[0].sin()?.mul(2.0)?.sum(&[0], false)?;
        let other = x[0].sin()?.mul(2.0)?.sum(&[0], true)?;
        Ok(vec![once.add(&again)?, other])
    };
    assert_eq!(lengths(f, &[vector(&[0.5, 1.0])]), (10, 5));
    let signs = |x: &[Tensor]| Ok(vec![x[0].div(0.0)?, x[0].div(-0.0)?]);
    assert_eq!(lengths(signs, &[vector(&[1.0])]), (2, 2));
}

#[test]
fn steps_on_constants_are_computed_unless_the_result_is_large() {
    let c = vector(&[1.0, 2.0]);
    let f = |x: &[Tensor]| Ok(vec![x[0].mul(&c.sin()?.exp()?)?, c.cos()?]);
    assert_eq!(lengths(f, &[vector(&[0.5, 1.0])]), (4, 1));
    let large = |x: &[Tensor]| {
        let wide = c.reshape(&[2, 1])?.expand(&[2, 1 << 16])?.sin()?;
        Ok(vec![x[0].mul(&wide.sum(&[1], false)?)?])
    };
    let (before, after) = lengths(large, &[vector(&[0.5, 1.0])]);
    assert!((3..before).contains(&after), "{before} to {after}");
}

fn drawn(x: &Tensor) -> Result<Tensor> {
    random::rand_like(x, None, None, Layout::None, Device::None, false, MemoryFormat::None)
}

#[test]
fn draws_and_checks_stay() {
    let f = |x: &[Tensor]| {
        let _ = drawn(&x[0])?;
        Ok(vec![x[0].add(&drawn(&x[0])?)?.sub(&drawn(&x[0])?)?])
    };
    let x = vector(&[0.5, 1.0]);
    let simplified = trace(f, std::slice::from_ref(&x)).unwrap().simplified();
    assert_eq!(simplified.operators().filter(|o| *o == "random").count(), 3);
    let check = |x: &Tensor| loss::binary_cross_entropy(x, x, None, None, None, "mean");
    let simplified = trace(check, &vector(&[0.5, 1.0])).unwrap().simplified();
    assert!(simplified.call(&vector(&[0.5, 1.5])).is_err());
}

/// A function of a vector: each step applies an operator to values before it.
fn apply(steps: &[(u8, usize, usize)], x: &Tensor) -> Result<Tensor> {
    let mut values = vec![x.clone(), x.mul(&vector(&[2.0, -1.0, 0.5]))?, vector(&[0.25, 0.0, -1.5]), x.cos()?];
    for &(op, i, j) in steps {
        let (a, b) = (&values[i % values.len()], &values[j % values.len()]);
        values.push(match op {
            0 => a.add(b)?,
            1 => a.mul(b)?,
            2 => a.sub(b)?,
            3 => a.sin()?,
            4 => a.tanh()?,
            5 => a.sum(&[0], true)?.expand(&[3])?,
            6 => a.neg()?,
            7 => {
                let _stopped = crate::core::level::GradMode::set(false);
                a.mul(b)?
            }
            _ => a.maximum(b)?,
        });
    }
    let last = values.len() - 1;
    values[last].add(&values[last / 2])
}

#[test]
fn random_programs_give_the_same_bits_with_fewer_steps() {
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[12; 32]));
    let (before, after) = (Cell::new(0), Cell::new(0));
    let x = vector(&[0.3, -0.8, 1.1]);
    let rows = Tensor::stack(&[&x, &x.sin().unwrap()], 0).unwrap();
    runner
        .run(&prop::collection::vec((0u8..9, 0usize..30, 0usize..30), 0..25), |steps| {
            let program = trace(|x| apply(&steps, x), &x).unwrap();
            let simplified = program.simplified();
            prop_assert!(simplified.len() <= program.len());
            before.set(before.get() + program.len());
            after.set(after.get() + simplified.len());
            let run = |p: &crate::ir::Program, x: &Tensor| Ok(p.call(std::slice::from_ref(x))?.remove(0));
            let here = run(&simplified, &x).unwrap();
            prop_assert_eq!(bits(&here), bits(&run(&program, &x).unwrap()));
            prop_assert_eq!(bits(&here), bits(&apply(&steps, &x).unwrap()));
            let batched = |p| bits(&vmap(|r| run(p, r), &rows).unwrap());
            prop_assert_eq!(batched(&simplified), batched(&program));
            let along = x.cos().unwrap();
            let tangent = |p| {
                let out = jvp(|u| run(p, u), &x, &along).unwrap().1;
                out.to_vec::<f64>().unwrap()
            };
            let gradient = |p| grad(|u| run(p, u)?.sum_all(), &x).unwrap().to_vec::<f64>().unwrap();
            let direct = grad(|u| apply(&steps, u)?.sum_all(), &x).unwrap().to_vec::<f64>().unwrap();
            let pairs = [(tangent(&simplified), tangent(&program)), (gradient(&simplified), gradient(&program))];
            for (a, b) in pairs.iter().map(|(a, b)| (a, b)).chain([(&gradient(&program), &direct)]) {
                for (a, b) in a.iter().zip(b) {
                    let same = a.to_bits() == b.to_bits() || (a - b).abs() <= 1e-9 * (1.0 + b.abs());
                    prop_assert!(same || (a.is_nan() && b.is_nan()), "{} {}", a, b);
                }
            }
            Ok(())
        })
        .expect("the property holds");
    assert!(after.get() * 5 < before.get() * 4, "{} of {} steps are left", after.get(), before.get());
}
