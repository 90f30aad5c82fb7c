use super::*;
use crate::core::level::GradMode;
use crate::{Result, Tensor, custom_vjp, grad, trace, vmap};
use proptest::prelude::*;

fn numbers(shape: &[usize]) -> Tensor {
    let n: usize = shape.iter().product();
    let values: Vec<f64> = (0..n).map(|i| (i as f64 * 0.37).sin() + 1.5).collect();
    Tensor::from_slice(shape, &values).unwrap()
}

/// Programs that between them have constants, parameters of many kinds, several outputs, and results of transforms.
fn programs() -> Vec<(Program, Vec<Tensor>)> {
    let (m, v) = (numbers(&[3, 3]), numbers(&[3]));
    let table = numbers(&[5, 3]);
    let at = Tensor::from_slice([2], &[4_i64, 0]).unwrap();
    let stopped = |x: &Tensor| {
        let _off = GradMode::set(false);
        x.mul(x)
    };
    let mut all = Vec::new();
    let mut add = |f: &dyn Fn(&[Tensor]) -> Result<Vec<Tensor>>, args: &[&Tensor]| {
        let args: Vec<Tensor> = args.iter().map(|&a| a.clone()).collect();
        all.push((Program::from(trace(f, &args).unwrap()), args));
    };
    add(&|x| Ok(vec![x[0].sin()?.mul(&x[0])?.sum_all()?, x[0].clone(), table.clone()]), &[&v]);
    add(&|x| Ok(vec![x[0].matmul(&x[1])?, x[0].transpose(0, 1)?.reshape(&[9])?]), &[&m, &v]);
    add(&|x| Ok(vec![table.index_select(0, &at)?.add(&x[0])?]), &[&v]);
    add(&|x| Ok(vec![grad(|x| stopped(x)?.mul(x)?.sum_all(), &x[0])?]), &[&v]);
    add(&|x| Ok(vec![vmap(|x| grad(|x| x.exp()?.sum_all(), x), &x[0])?]), &[&m]);
    add(&|x| Ok(vec![Tensor::stack(&[&x[0], &x[0]], 1)?.narrow(1, 0, 1)?]), &[&v]);
    all
}

fn bits(all: &[Tensor]) -> Vec<(Meta, Vec<u8>)> {
    let bytes = |t: &Tensor| t.array().unwrap().contiguous().unwrap().bytes().unwrap().to_vec();
    all.iter().map(|t| (Meta::of(t), bytes(t))).collect()
}

#[test]
fn programs_are_read_back_as_they_were_written() {
    for (program, args) in programs() {
        for program in [program.simplified(), program] {
            let bytes = program.to_bytes().unwrap();
            let again = Program::from_bytes(&bytes).unwrap();
            assert_eq!(again.to_string(), program.to_string());
            assert_eq!(again.to_bytes().unwrap(), bytes);
            assert_eq!(bits(&again.call(&args).unwrap()), bits(&program.call(&args).unwrap()));
        }
    }
}

#[test]
fn what_lives_in_this_process_alone_is_named() {
    let square = custom_vjp(
        |x: &[Tensor]| Ok((vec![x[0].mul(&x[0])?], vec![x[0].clone()])),
        |kept: &[Tensor], g: &[Tensor]| Ok(vec![Some(kept[0].mul(&g[0])?)]),
    );
    let program = trace(|x| square(x), &[numbers(&[3])]).unwrap();
    let error = program.to_bytes().unwrap_err();
    assert!(error.message().contains("lives in this process alone"), "{error}");
}

#[test]
fn other_bytes_are_refused_with_their_fault() {
    let (program, _) = programs().remove(0);
    let bytes = program.to_bytes().unwrap();
    let fault = |bytes: &[u8]| Program::from_bytes(bytes).map(drop).unwrap_err().message().to_string();
    assert!(fault(b"").contains("are no program") && fault(&bytes[1..]).contains("are no program"));
    let mut newer = bytes.clone();
    newer[8] = 9;
    assert!(fault(&newer).contains("version 9"));
    for n in [8, 12, 20, bytes.len() / 2, bytes.len() - 1] {
        assert!(fault(&bytes[..n]).contains("damaged"), "{n}");
    }
    let text = |from: &str, to: &str| {
        let at = bytes.windows(from.len()).position(|w| w == from.as_bytes()).unwrap();
        let mut other = bytes.clone();
        other[at..at + to.len()].copy_from_slice(to.as_bytes());
        sealed(other)
    };
    assert!(fault(&text("sin", "sim")).contains("an operator 'sim'"));
    assert!(fault(&text("float64", "float32")).contains("damaged"));
}

/// With the checksum of what the bytes say now.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len().saturating_sub(8));
    bytes.extend(checksum(&bytes).to_le_bytes());
    bytes
}

#[derive(Debug, Clone)]
enum Damage {
    Byte(usize, u8),
    Word(usize, u64),
    Cut(usize),
    Double(usize, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let word = prop_oneof![3 => 0u64..6, 1 => any::<u64>(), 1 => Just(u64::MAX), 1 => Just(1 << 40)];
    prop_oneof![
        3 => (any::<usize>(), any::<u8>()).prop_map(|(at, b)| Damage::Byte(at, b)),
        5 => (any::<usize>(), word).prop_map(|(at, w)| Damage::Word(at, w)),
        1 => any::<usize>().prop_map(Damage::Cut),
        1 => (any::<usize>(), 1usize..64).prop_map(|(at, n)| Damage::Double(at, n)),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    let len = bytes.len();
    match *damage {
        Damage::Byte(at, b) => bytes[at % len] = b,
        Damage::Word(at, w) => {
            let at = at % (len - 8);
            bytes[at..at + 8].copy_from_slice(&w.to_le_bytes());
        }
        Damage::Cut(at) => {
            bytes.remove(at % len);
        }
        Damage::Double(at, n) => {
            let at = at % (len - 8);
            let part = bytes[at..len.min(at + n)].to_vec();
            bytes.splice(at..at, part);
        }
    }
}

/// Damage that the checksum does not tell: what is read all the same is a program that can be printed, written and run.
#[test]
fn forged_bytes_never_do_harm() {
    let programs: Vec<(Vec<u8>, Vec<Tensor>)> =
        programs().into_iter().map(|(p, args)| (p.to_bytes().unwrap(), args)).collect();
    let count = programs.len();
    let config = ProptestConfig { cases: 6000, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &[5; 32]),
    );
    let seen = std::cell::Cell::new((0, 0));
    runner
        .run(&(0..count, prop::collection::vec(damage(), 1..4)), |(which, all)| {
            let (bytes, args) = &programs[which];
            let mut bytes = bytes.clone();
            all.iter().for_each(|d| apply(&mut bytes, d));
            let (read, refused) = seen.get();
            match Program::from_bytes(&sealed(bytes)) {
                Ok(program) => {
                    seen.set((read + 1, refused));
                    let written = program.to_bytes().expect("all of it was read");
                    prop_assert_eq!(
                        Program::from_bytes(&written).expect("just written").to_string(),
                        program.to_string()
                    );
                    if program.inputs().iter().eq(args.iter().map(Meta::of).collect::<Vec<_>>().iter()) {
                        let _ = program.call(args);
                    }
                }
                Err(e) => {
                    seen.set((read, refused + 1));
                    prop_assert!(
                        e.kind() == crate::base::ErrorKind::Value || e.kind() == crate::base::ErrorKind::Runtime
                    );
                }
            }
            Ok(())
        })
        .expect("no case does harm");
    let (read, refused) = seen.get();
    assert!(read > 50 && refused > 1000, "{read} read, {refused} refused");
}
