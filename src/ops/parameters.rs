//! The operator-specific parameters of all primitives, by their names in saved programs.

use crate::core::params::{Parameters, Type};
use std::sync::OnceLock;

/// The types of parameters that files of operators add.
pub fn types() -> &'static [Type] {
    static ALL: OnceLock<Vec<Type>> = OnceLock::new();
    ALL.get_or_init(|| super::families().flat_map(|f| f.parameters).copied().collect())
}

impl dyn Parameters {
    /// The types of parameters that saved programs may have.
    pub fn types() -> &'static [Type] {
        types()
    }
}

#[cfg(test)]
mod tests {
    use super::types;
    use crate::base::{DType, Scalar};
    use crate::core::Params;
    use crate::core::params::{Field, Words, fields, parameters, to_words};
    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestRng, TestRunner};
    use std::collections::hash_map::DefaultHasher;
    use std::hash::{Hash, Hasher};

    fn hash(p: &Params) -> u64 {
        let mut state = DefaultHasher::new();
        p.hash(&mut state);
        state.finish()
    }

    fn same(a: &Params, b: &Params) -> bool {
        let equal = a == b;
        assert_eq!(equal, b.eq(a), "{a:?} and {b:?}");
        assert!(!equal || hash(a) == hash(b), "{a:?} and {b:?} are equal and hash differently");
        equal
    }

    /// Parameters of every kind: what some words are read as.
    fn some_params(words: &[u64], kind: u64) -> Option<Params> {
        let mut all = vec![kind.min(10)];
        if let Some(t) = (kind as usize).checked_sub(10).map(|i| types()[i].name) {
            all.push(t.len() as u64);
            all.extend(t.bytes().map(u64::from));
        }
        all.extend_from_slice(words);
        Params::take(&mut Words::new(&all, types())).ok()
    }

    #[test]
    fn parameters_of_every_kind_are_read_back_as_they_were_written() {
        let config = Config { cases: 20_000, failure_persistence: None, ..Config::default() };
        let rng = TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &[7; 32]);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let kinds = 10 + types().len() as u64;
        let word = prop_oneof![8 => 0u64..4, 1 => any::<u64>()];
        let seen = std::cell::RefCell::new(vec![0; kinds as usize]);
        let input = (0..kinds, prop::collection::vec(word.clone(), 40), prop::collection::vec(word, 40));
        runner
            .run(&input, |(kind, words, others)| {
                let Some(a) = some_params(&words, kind) else { return Ok(()) };
                seen.borrow_mut()[kind as usize] += 1;
                let written = to_words(&a, types()).expect("nothing here holds an object");
                let mut reading = Words::new(&written, types());
                let back = Params::take(&mut reading).expect("they were written so");
                prop_assert!(reading.is_empty());
                prop_assert!(same(&a, &back), "{:?} {:?}", a, back);
                if let Some(b) = some_params(&others, kind) {
                    prop_assert_eq!(same(&a, &b), written == to_words(&b, types()).expect("as above"));
                }
                let cut = Params::take(&mut Words::new(&written[..written.len() - 1], types()));
                prop_assert!(cut.is_err());
                Ok(())
            })
            .expect("the property holds");
        assert!(seen.borrow().iter().all(|&n| n > 10), "{:?}", seen.borrow());
    }

    #[test]
    fn floats_are_equal_by_their_bits() {
        let (nan, zero, minus) = (Params::Float(f64::NAN), Params::Float(0.0), Params::Float(-0.0));
        assert!(same(&nan, &nan.clone()) && same(&zero, &Params::Float(0.0)) && !same(&zero, &minus));
        assert!(!same(&zero, &Params::None) && !same(&Params::Dim(0), &Params::Ints([0].as_slice().into())));
        let fill = |value| Params::Fill { value, dtype: DType::F32, shape: [2].into() };
        assert!(same(&fill(Scalar::Float(f64::NAN)), &fill(Scalar::Float(f64::NAN))));
        assert!(!same(&fill(Scalar::Float(1.0)), &fill(Scalar::Int(1))));
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = types().iter().map(|t| t.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), types().len());
    }

    #[derive(Debug)]
    struct Strange {
        x: f64,
    }
    fields! { struct Strange { x } }
    parameters! { Strange = "strange" }

    #[test]
    fn what_cannot_be_saved_says_so() {
        let strange = |x| Params::other(Strange { x });
        assert!(same(&strange(1.0), &strange(1.0)) && !same(&strange(1.0), &strange(2.0)));
        assert_eq!(to_words(&strange(1.0), types()), Err("parameters of the type 'strange'".into()));
    }
}
