//! Operators from outside: a kernel on arrays that transforms do not look into, and what was registered for it. Tapes,
//! duals and batches treat it as any function; here is what it needs where a rule is missing.
//!
//! NOTE missing rules. Forward mode is the transpose of the rule for reverse mode. A batch without a rule is a loop over
//! its members, whose calls are calls of the operator at the level below, with all rules. Results for values without data
//! are those of the shape rule.
//!
//! NOTE writes. At levels an operator writes to copies, whose values are further outputs: values that a level, a tape or a
//! trace holds do not change. Results must lie in memory of their own, or a later write would reach an argument.

use super::{Context, Function, Mapped, Rule, Setup, Wording, apply_all};
use crate::bail;
use crate::base::{Error, Result};
use crate::core::node::Meta;
use crate::core::origin::at_here;
use crate::core::reach::Reach;
use crate::core::{BatchInfo, Forward, Outputs, Randomness, Set, Tangents, Tensor};
use crate::ops::rewind::Rewind;
use crate::rules::basis;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// What was registered for an operator. Its `forward` is the kernel, which may write to the arguments that it says, for
/// they are its own; behind the results come their new values.
pub trait Operator: Function {
    /// The arguments that it writes to.
    fn written(&self) -> &[usize];
    /// Whether there is a rule that says what shapes results have.
    fn has_shapes(&self) -> bool;
    /// What that rule gives for values without data.
    fn infer(&self, args: &[Tensor]) -> Result<Forward>;
    /// Whether there is a rule for batches, which `vmap` is.
    fn has_batches(&self) -> bool;
    /// So many members of a batch are about to run one by one.
    fn loops(&self, members: usize) -> Result<()>;
    /// Whether two runs gave results of one kind.
    fn is_alike(&self, a: &Forward, b: &Forward) -> Result<bool>;
}

static WORDING: Wording = Wording {
    backward: "the backward of register_autograd()",
    instead: "use reverse mode, or make it linear",
    none: ".default but no autograd formula was registered. Please use register_autograd to add one.",
};

/// An error where a result is an argument, or lies in the memory of one or of another result. Of each tensor it takes where
/// it lies: the address of its first element, or of the tensor itself if it has none.
///
/// # Errors
/// `Runtime`.
pub fn check_aliases(name: &str, args: &[usize], results: &[usize]) -> Result<()> {
    for (i, place) in results.iter().enumerate() {
        if args.contains(place) || results[..i].contains(place) {
            bail!(
                Runtime,
                "{name}: The output of this custom operator (1) must not also be an input to this custom operator and \
                 (2) may not alias any inputs to this custom operator or other returns. Output {i} does; return a \
                 clone() of it, or do not return it{}",
                at_here()
            );
        }
    }
    Ok(())
}

/// An operator as a function with all rules.
pub struct Registered<O>(Arc<O>);

impl<O: Operator> Registered<O> {
    pub fn new(operator: O) -> Registered<O> {
        Registered(Arc::new(operator))
    }

    pub fn operator(&self) -> &O {
        &self.0
    }

    /// The arguments, with copies of those that the operator writes to.
    fn to_write<'a>(&self, args: &'a [Tensor]) -> Result<Cow<'a, [Tensor]>> {
        let written = self.0.written();
        if written.is_empty() {
            return Ok(Cow::Borrowed(args));
        }
        let mut args = args.to_vec();
        for &k in written {
            args[k] = basis::copy(&args[k])?;
        }
        Ok(Cow::Owned(args))
    }

    /// The run says which of its outputs are new values of arguments.
    fn noted(&self, mut run: Forward) -> Forward {
        let written = self.0.written();
        let first = run.results().saturating_sub(written.len());
        run.dirty = written.iter().enumerate().map(|(j, &k)| (k, first + j)).collect();
        run
    }

    /// Runs the members one by one.
    fn loop_over(&self, info: BatchInfo, in_dims: &[Option<usize>], args: &[Tensor]) -> Result<Mapped> {
        let name = self.0.name();
        self.0.loops(info.size)?;
        if self.0.written().iter().any(|&k| in_dims[k].is_none()) {
            bail!(
                Runtime,
                "vmap: {name} writes to an argument that has no batch, but others have one; expand it first{}",
                at_here()
            );
        }
        if info.size == 0 {
            return self.of_no_member(in_dims, args);
        }
        let function: Arc<dyn Function> = Arc::new(Registered(self.0.clone()));
        let draws = Rewind::open();
        let mut runs: Vec<Forward> = Vec::with_capacity(info.size);
        for i in 0..info.size {
            if info.randomness == Randomness::Same {
                draws.restart();
            }
            let member = |(x, d): (&Tensor, &Option<usize>)| match d {
                Some(d) => basis::select(x, *d, i),
                None => Ok(x.clone()),
            };
            let member = args.iter().zip(in_dims).map(member).collect::<Result<SmallVec<[Tensor; 4]>>>()?;
            runs.push(apply_all(&function, &member)?);
        }
        if info.randomness == Randomness::Error && draws.has_drawn() {
            bail!(
                Runtime,
                "vmap: called random operation while in randomness error mode: {name}(); pass randomness='different' or \
                 randomness='same' to vmap{}",
                at_here()
            );
        }
        self.stacked(runs)
    }

    /// The runs of the members as one, its batch in front.
    fn stacked(&self, mut runs: Vec<Forward>) -> Result<Mapped> {
        let name = self.0.name();
        let first = &runs[0];
        for run in &runs[1..] {
            if run.outputs.len() != first.outputs.len() || !self.0.is_alike(first, run)? {
                bail!(Runtime, "vmap: {name} gives members of the batch results of different kinds{}", at_here());
            }
        }
        let mut outputs = Outputs::new();
        for j in 0..first.outputs.len() {
            let mut shapes: Vec<String> = runs.iter().map(|r| r.outputs[j].shape().to_string()).collect();
            shapes.sort();
            shapes.dedup();
            if shapes.len() > 1 {
                let shapes = shapes.join(", ");
                bail!(Runtime, "vmap: {name} gives members of the batch different shapes: {shapes}{}", at_here());
            }
            let rows = runs.iter().map(|r| basis::unsqueeze_dims(&r.outputs[j], &[0])).collect::<Result<Vec<_>>>()?;
            outputs.push(basis::cat(&rows.iter().collect::<Vec<_>>(), 0)?);
        }
        let dims = outputs.iter().map(|_| Some(0)).collect();
        Ok(Mapped { forward: runs.swap_remove(0).with(outputs), dims })
    }

    /// The results over a batch without members.
    fn of_no_member(&self, in_dims: &[Option<usize>], args: &[Tensor]) -> Result<Mapped> {
        if !self.0.has_shapes() {
            bail!(
                Runtime,
                "vmap: the batch is empty, and {} has no rule that says what shapes its results have; write one with \
                 register_fake or register_vmap{}",
                self.0.name(),
                at_here()
            );
        }
        let member = |(x, d): (&Tensor, &Option<usize>)| {
            let shape = d.map_or_else(|| x.shape().clone(), |d| x.shape().without(d));
            Tensor::without_data(Meta { dtype: x.dtype(), shape })
        };
        let members: Vec<Tensor> = args.iter().zip(in_dims).map(member).collect();
        let run = self.noted(self.0.infer(&members)?);
        let (mut outputs, mut dims) = (Outputs::new(), SmallVec::new());
        for (j, y) in run.outputs.iter().enumerate() {
            let (value, dim) = match run.dirty.iter().find(|(_, output)| *output == j) {
                Some(&(k, _)) => (args[k].clone(), in_dims[k]),
                None => (basis::full(&y.shape().prepend(0), y.dtype(), 0.0)?, Some(0)),
            };
            outputs.push(value);
            dims.push(dim);
        }
        Ok(Mapped { forward: run.with(outputs), dims })
    }
}

impl<O: Operator> Function for Registered<O> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn forward(&self, args: &[Tensor]) -> Result<Forward> {
        if !args.iter().any(Tensor::is_abstract) {
            return Ok(self.noted(self.0.forward(&self.to_write(args)?)?));
        }
        if !self.0.has_shapes() {
            return Err(Error::not_implemented(format!(
                "{}: has no rule that says what shapes its results have, and runs on tensors without data (of device \
                 'meta', or under eval_shape); write one with register_fake{}",
                self.0.name(),
                at_here()
            )));
        }
        Ok(self.noted(self.0.infer(args)?))
    }

    fn rerun(&self, setup: &Setup, args: &[Tensor]) -> Result<Outputs> {
        self.0.rerun(setup, args)
    }

    fn has(&self, rule: Rule) -> bool {
        rule == Rule::Backward && self.0.has(rule)
    }

    fn once(&self) -> bool {
        self.0.once()
    }

    fn signature(&self) -> Option<String> {
        self.0.signature()
    }

    fn argument(&self, i: usize) -> String {
        self.0.argument(i)
    }

    fn wording(&self) -> Option<&'static Wording> {
        Some(&WORDING)
    }

    fn setup(&self, inputs: &[Tensor], run: &mut Forward, needs: &Set) -> Result<Setup> {
        self.0.setup(inputs, run, needs)
    }

    fn backward(&self, setup: &Setup, cotangents: &[Option<Tensor>], needs: &Set) -> Result<Tangents> {
        self.0.backward(setup, cotangents, needs)
    }

    fn vmap(&self, info: BatchInfo, in_dims: &[Option<usize>], args: &[Tensor]) -> Result<Option<Mapped>> {
        if !self.0.has_batches() {
            return self.loop_over(info, in_dims, args).map(Some);
        }
        let mapped = self.0.vmap(info, in_dims, &self.to_write(args)?)?;
        Ok(mapped.map(|m| Mapped { forward: self.noted(m.forward), ..m }))
    }

    fn reach(&self, reach: &mut Reach<'_>) {
        if reach.owns(&self.0) {
            self.0.reach(reach);
        }
    }

    fn reach_context(&self, context: &Context, reach: &mut Reach<'_>) {
        self.0.reach_context(context, reach);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::level;
    use crate::function::apply;
    use crate::function::tests::nobody_draws;
    use crate::ops::random::rand_like;
    use crate::ops::value::setting::{Device, Layout, MemoryFormat};
    use crate::{DType, grad, jvp, trace, vmap};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Doubles what it reads, and adds it to what it writes to.
    #[derive(Default)]
    struct Double {
        written: Vec<usize>,
        shapes: bool,
        backward: bool,
        batches: bool,
        draws: bool,
        /// What the shape of the results depends on besides the arguments.
        grows: bool,
        bent: bool,
        loops: AtomicUsize,
    }

    impl Function for Double {
        fn name(&self) -> &str {
            "double"
        }
        fn forward(&self, args: &[Tensor]) -> Result<Forward> {
            assert!(args.iter().all(|a| a.dense().is_some()));
            let mut y = args[0].mul(2.0)?;
            if self.draws {
                y = y.add(&rand_like(&y, None, None, Layout::None, Device::None, false, MemoryFormat::None)?)?;
            }
            if self.grows && args[0].sum_all()?.to_vec::<f64>()?[0] > 0.0 {
                y = y.expand(&[2, y.numel() as i64])?;
            }
            let new = self.written.iter().map(|&k| args[k].add(&y)).collect::<Result<Vec<_>>>()?;
            Ok(Forward::of([y].into_iter().chain(new)))
        }
        fn has(&self, rule: Rule) -> bool {
            rule == Rule::Backward && self.backward
        }
        fn setup(&self, inputs: &[Tensor], _: &mut Forward, _: &Set) -> Result<Setup> {
            Ok(Setup::saving(inputs.iter().cloned()))
        }
        fn backward(&self, _: &Setup, cotangents: &[Option<Tensor>], _: &Set) -> Result<Tangents> {
            let pulled = |c: &Tensor| if self.bent { c.abs() } else { c.mul(2.0) };
            Ok([cotangents[0].as_ref().map(pulled).transpose()?].into_iter().collect())
        }
        fn vmap(&self, _: BatchInfo, dims: &[Option<usize>], args: &[Tensor]) -> Result<Option<Mapped>> {
            let forward = Forward::of([args[0].mul(2.0)?]);
            Ok(Some(Mapped { forward, dims: [dims[0]].into_iter().collect() }))
        }
    }

    impl Operator for Double {
        fn written(&self) -> &[usize] {
            &self.written
        }
        fn has_shapes(&self) -> bool {
            self.shapes
        }
        fn infer(&self, args: &[Tensor]) -> Result<Forward> {
            Ok(Forward::of(std::iter::once(args[0].clone()).chain(self.written.iter().map(|&k| args[k].clone()))))
        }
        fn has_batches(&self) -> bool {
            self.batches
        }
        fn loops(&self, members: usize) -> Result<()> {
            self.loops.fetch_add(members, Relaxed);
            Ok(())
        }
        fn is_alike(&self, a: &Forward, b: &Forward) -> Result<bool> {
            Ok(a.outputs.len() == b.outputs.len())
        }
    }

    fn made(operator: Double) -> (Arc<Registered<Double>>, impl Fn(&Tensor) -> Result<Tensor>) {
        let operator = Arc::new(Registered::new(operator));
        let function: Arc<dyn Function> = operator.clone();
        (operator, move |x: &Tensor| Ok(apply(&function, &[x.clone()])?.remove(0)))
    }

    fn numbers(shape: &[usize], v: &[f64]) -> Tensor {
        Tensor::from_slice(shape, v).unwrap()
    }

    fn text(e: Error) -> String {
        e.message().to_string()
    }

    #[test]
    fn a_batch_without_a_rule_is_a_loop_below_every_level() {
        let x = numbers(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let (operator, f) = made(Double { backward: true, ..Double::default() });
        let y = vmap(&f, &x).unwrap();
        assert_eq!(y.to_vec::<f64>().unwrap(), [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
        assert_eq!(operator.operator().loops.load(Relaxed), 3);
        let slopes = vmap(|r| grad(|r| f(r)?.mul(r)?.sum_all(), r), &x).unwrap();
        assert_eq!(slopes.to_vec::<f64>().unwrap(), [4.0, 8.0, 12.0, 16.0, 20.0, 24.0]);
        let slopes = grad(|x| vmap(&f, x)?.sum_all(), &x).unwrap();
        assert_eq!(slopes.to_vec::<f64>().unwrap(), [2.0; 6]);
        let (operator, f) = made(Double { batches: true, ..Double::default() });
        assert_eq!(vmap(&f, &x).unwrap().to_vec::<f64>().unwrap(), y.to_vec::<f64>().unwrap());
        assert_eq!(operator.operator().loops.load(Relaxed), 0);
        assert_eq!(level::height(), 0);
    }

    #[test]
    fn forward_mode_is_the_transpose() {
        let x = numbers(&[2], &[1.0, 2.0]);
        let run = |operator: Double| {
            let (_, f) = made(operator);
            jvp(&f, &x, &x)?.1.to_vec::<f64>()
        };
        assert_eq!(run(Double { backward: true, ..Double::default() }).unwrap(), [2.0, 4.0]);
        let e = text(run(Double::default()).unwrap_err());
        assert!(e.starts_with("Trying to use forward mode through double.default"), "{e}");
        let e = text(run(Double { backward: true, bent: true, ..Double::default() }).unwrap_err());
        assert!(e.contains("backward of register_autograd() is not linear"), "{e}");
    }

    #[test]
    fn values_without_data_and_batches_without_members_need_a_shape_rule() {
        let bare = Tensor::without_data(Meta::new(DType::F64, [2]));
        let empty = numbers(&[0, 2], &[]);
        let (_, f) = made(Double { shapes: true, ..Double::default() });
        assert!(f(&bare).unwrap().is_abstract());
        assert_eq!(vmap(&f, &empty).unwrap().shape()[..], [0, 2]);
        let (_, f) = made(Double::default());
        assert!(text(f(&bare).unwrap_err()).contains("register_fake"));
        assert!(text(vmap(&f, &empty).unwrap_err()).contains("the batch is empty"));
    }

    #[test]
    fn members_draw_as_vmap_says_and_agree_in_shape() {
        let _alone = nobody_draws();
        let x = numbers(&[2, 2], &[1.0, 1.0, -1.0, -1.0]);
        let (_, f) = made(Double { draws: true, ..Double::default() });
        assert!(text(vmap(&f, &x).unwrap_err()).contains("random operation"));
        let draws = Rewind::open();
        f(&x).unwrap();
        assert!(draws.has_drawn());
        let (_, f) = made(Double { grows: true, ..Double::default() });
        assert!(text(vmap(&f, &x).unwrap_err()).contains("different shapes: [2, 2], [2]"));
    }

    #[test]
    fn results_lie_in_memory_of_their_own() {
        assert!(check_aliases("op", &[1, 2], &[3, 4]).is_ok());
        assert!(check_aliases("op", &[1, 1], &[]).is_ok());
        for (args, results) in [(&[1, 2][..], &[3, 2][..]), (&[], &[1, 1])] {
            let e = text(check_aliases("op", args, results).unwrap_err());
            assert!(e.starts_with("op: ") && e.contains("Output 1 does; return a clone()"), "{e}");
        }
    }

    #[test]
    fn new_values_of_arguments_are_outputs() {
        let (operator, _) = made(Double { written: vec![1], shapes: true, ..Double::default() });
        let function: Arc<dyn Function> = operator;
        let (x, w) = (numbers(&[2], &[1.0, 2.0]), numbers(&[2], &[10.0, 20.0]));
        let run = apply_all(&function, &[x.clone(), w.clone()]).unwrap();
        assert_eq!(run.dirty, [(1, 1)]);
        assert_eq!(run.outputs[1].to_vec::<f64>().unwrap(), [12.0, 24.0]);
        assert_eq!(w.to_vec::<f64>().unwrap(), [10.0, 20.0]);
        let e = vmap(|x| Ok(apply(&function, &[x.clone(), w.clone()])?.remove(0)), &x).unwrap_err();
        assert!(text(e).contains("writes to an argument that has no batch"));
        let program = trace(|a: &[Tensor; 2]| Ok(apply(&function, a)?.into_vec()), &[x, w]).unwrap();
        let again = [numbers(&[2], &[1.0, 1.0]), numbers(&[2], &[1.0, 1.0])];
        assert_eq!(program.call(&again).unwrap()[1].to_vec::<f64>().unwrap(), [3.0, 3.0]);
    }
}
