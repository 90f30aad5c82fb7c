//! Transposes of linear maps that are written in operators, as programs.
//!
//! NOTE. The map runs once under a trace, on values without data, so that the steps are known and nothing is computed.
//! Then the trace goes on: the reverse rules of the steps that depend on the vectors run from the last to the first, and
//! what they call is recorded too. What the result does not need, such as the map itself, is pruned.

use super::basis;
use crate::bail;
use crate::base::Result;
use crate::core::level::Below;
use crate::core::origin::Origin;
use crate::core::trace::{Atom, Instruction};
use crate::core::{Mask, Meta, Point, Tangents, Tensor};
use crate::ir::{Program, Tracing};
use smallvec::SmallVec;

/// The transpose of a map, and which vectors it has a cotangent for.
pub struct Transpose {
    pub program: Program,
    pub present: SmallVec<[bool; 2]>,
}

/// The program from `fixed` and the cotangents of some of the map's results to the cotangents of its vectors.
///
/// `map` takes `fixed` and the vectors; `along` has the dtypes and shapes of those results that have a cotangent.
///
/// # Errors
/// Those of `map`; `Internal` if a step is not linear in the vectors.
pub fn transposed(
    fixed: &[Meta],
    vectors: &[Meta],
    along: &[Option<Meta>],
    map: impl FnOnce(&[Tensor], &[Tensor]) -> Result<Tangents>,
) -> Result<Transpose> {
    // The caller's levels and modes are none of the program's.
    let _below = Below::all();
    let inputs = fixed.iter().chain(along.iter().flatten());
    let args: Vec<Tensor> = inputs.chain(vectors).cloned().map(Tensor::without_data).collect();
    let (run, args) = Tracing::open(&args, Origin::UNKNOWN)?;
    let (fixed, rest) = args.split_at(fixed.len());
    let (cotangents, vectors) = rest.split_at(rest.len() - vectors.len());
    let results = map(fixed, vectors)?;
    let mut cotangents = cotangents.iter();
    let mut pairs: SmallVec<[(Tensor, &Tensor); 3]> = SmallVec::new();
    for (result, _) in results.into_iter().zip(along).filter(|(_, a)| a.is_some()) {
        if let (Some(result), Some(g)) = (result, cotangents.next()) {
            pairs.push((result, g));
        }
    }
    let pulled = pull(&run, &pairs, vectors)?;
    let present = pulled.iter().map(Option::is_some).collect();
    let outputs: Vec<Tensor> = pulled.into_iter().flatten().collect();
    let inputs = args.len() - vectors.len();
    drop(pairs);
    Ok(Transpose { program: run.close_with(inputs, &outputs, true)?.simplified(), present })
}

/// Cotangents of the steps' variables.
struct Sweep<'a> {
    run: &'a Tracing,
    /// Which variables depend on the vectors.
    depends: Vec<bool>,
    cotangents: Vec<Option<Tensor>>,
}

fn pull(run: &Tracing, results: &[(Tensor, &Tensor)], vectors: &[Tensor]) -> Result<Tangents> {
    let steps = run.instructions();
    let last = steps.iter().flat_map(|i| &i.outs).chain(&[0]).copied().max().unwrap_or(0);
    let vars: SmallVec<[u32; 2]> = vectors.iter().filter_map(|v| run.variable(v)).collect();
    let size = vars.iter().copied().max().unwrap_or(0).max(last) as usize + 1;
    let mut sweep = Sweep { run, depends: vec![false; size], cotangents: vec![None; size] };
    vars.iter().for_each(|&v| sweep.depends[v as usize] = true);
    for i in &steps {
        if i.args.iter().any(|a| sweep.follows(a)) {
            i.outs.iter().for_each(|&v| sweep.depends[v as usize] = true);
        }
    }
    for (result, g) in results {
        if let Some(var) = run.variable(result).filter(|&v| sweep.depends[v as usize]) {
            sweep.give(var, (*g).clone())?;
        }
    }
    steps.iter().rev().try_for_each(|i| sweep.step(i))?;
    Ok(vars.iter().map(|&v| sweep.cotangents[v as usize].take()).collect())
}

impl Sweep<'_> {
    fn follows(&self, arg: &Atom) -> bool {
        matches!(arg, Atom::Var(v) if self.depends[*v as usize])
    }

    fn give(&mut self, var: u32, g: Tensor) -> Result<()> {
        let place = &mut self.cotangents[var as usize];
        *place = Some(match place.take() {
            Some(before) => basis::add(&before, &g)?,
            None => g,
        });
        Ok(())
    }

    fn step(&mut self, i: &Instruction) -> Result<()> {
        let cotangents: SmallVec<[Option<Tensor>; 2]> =
            i.outs.iter().map(|&v| self.cotangents[v as usize].take()).collect();
        if cotangents.iter().all(Option::is_none) {
            return Ok(());
        }
        let prim = i.prim.as_prim();
        let needs = i.args.iter().enumerate().fold(0, |m: Mask, (k, a)| m | Mask::from(self.follows(a)) << k.min(63));
        if !prim.is_affine(&i.params, needs) {
            bail!(Internal, "{}() is not linear, and stands in a map that is transposed", prim.name());
        }
        let value = |a: &Atom| match a {
            Atom::Var(v) => self.run.value(*v),
            Atom::Const(t) => t.clone(),
        };
        let args: SmallVec<[Tensor; 3]> = i.args.iter().map(value).collect();
        let outs: SmallVec<[Tensor; 2]> = i.outs.iter().map(|&v| self.run.value(v)).collect();
        let inputs: SmallVec<[_; 3]> = args.iter().map(Some).collect();
        let outputs: SmallVec<[_; 2]> = outs.iter().map(Some).collect();
        let point = Point { inputs: &inputs, outputs: &outputs, node: None, residuals: &[], recording: false };
        let grads = prim.vjp(prim, &i.params, &point, &cotangents, needs)?;
        for (arg, g) in i.args.iter().zip(grads) {
            if let (Atom::Var(v), Some(g), true) = (arg, g, self.follows(arg)) {
                self.give(*v, g)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;
    use crate::ops::diagonal::tril;
    use crate::{grad, trace, vmap};

    fn meta(shape: &[usize]) -> Meta {
        Meta::new(DType::F64, shape)
    }
    fn numbers(shape: &[usize], by: f64) -> Tensor {
        let n = shape.iter().product::<usize>();
        let v: Vec<f64> = (0..n).map(|i| (by * (i as f64 + 1.0)).sin()).collect();
        Tensor::from_slice(shape, &v).unwrap()
    }

    /// `x -> tril(a x) + 2 x`, and the diagonal's sum.
    fn map(fixed: &[Tensor], x: &[Tensor]) -> Result<Tangents> {
        let low = tril(&basis::matmul(&fixed[0], &x[0])?, 0)?;
        let total = basis::sum(&basis::mul(&x[0], &fixed[0])?, &[0, 1], false)?;
        Ok([Some(basis::add(&low, &basis::scale(&x[0], 2.0)?)?), Some(total)].into_iter().collect())
    }

    #[test]
    fn the_transpose_has_the_same_products() {
        let square = [meta(&[3, 3])];
        let along = [Some(meta(&[3, 3])), Some(meta(&[]))];
        let t = transposed(&square, &square, &along, map).unwrap();
        assert_eq!(t.present[..], [true]);
        let (a, x) = (numbers(&[3, 3], 1.0), numbers(&[3, 3], 2.0));
        let (g, h) = (numbers(&[3, 3], 3.0), numbers(&[], 4.0));
        let back = t.program.call(&[a.clone(), g.clone(), h.clone()]).unwrap();
        let out = map(std::slice::from_ref(&a), std::slice::from_ref(&x)).unwrap();
        let dot = |a: &Tensor, b: &Tensor| a.mul(b).unwrap().sum_all().unwrap().to_vec::<f64>().unwrap()[0];
        let forward = dot(out[0].as_ref().unwrap(), &g) + dot(out[1].as_ref().unwrap(), &h);
        assert!((forward - dot(&back[0], &x)).abs() < 1e-12);
    }

    #[test]
    fn what_is_not_asked_for_is_pruned() {
        let square = [meta(&[3, 3])];
        let both = transposed(&square, &square, &[Some(meta(&[3, 3])), Some(meta(&[]))], map).unwrap();
        let one = transposed(&square, &square, &[None, Some(meta(&[]))], map).unwrap();
        assert!(one.program.operators().all(|o| o != "matmul" && o != "tri"));
        assert!(one.program.len() < both.program.len());
        let none = transposed(&square, &square, &[None, None], map).unwrap();
        assert_eq!((none.present[..].to_vec(), none.program.len()), (vec![false], 0));
    }

    #[test]
    fn steps_that_are_not_linear_are_refused() {
        let v = [meta(&[2])];
        let e = transposed(&[], &v, &[Some(meta(&[2]))], |_, x| Ok([Some(x[0].sin()?)].into_iter().collect()));
        assert!(e.err().unwrap().message().contains("sin() is not linear"));
    }

    #[test]
    fn the_callers_levels_are_not_seen() {
        let x = numbers(&[2, 3, 3], 1.0);
        let derive = |x: &Tensor| {
            let square = [meta(&[3, 3])];
            let t = transposed(&square, &square, &[Some(meta(&[3, 3])), None], map)?;
            Ok(t.program.call(&[x.clone(), x.clone()])?.remove(0))
        };
        let outside = vmap(derive, &x).unwrap();
        let program = trace(|a| Ok(vec![vmap(|x| grad(|x| derive(x)?.sum_all(), x), &a[0])?]), &[x.clone()]).unwrap();
        assert!(program.operators().any(|o| o == "matmul"));
        let direct = vmap(|x| grad(|x| derive(x)?.sum_all(), x), &x).unwrap();
        let bits = |t: &Tensor| t.to_vec::<f64>().unwrap();
        assert_eq!(bits(&program.call(&[x.clone()]).unwrap()[0]), bits(&direct));
        assert_eq!(&outside.shape()[..], &[2, 3, 3]);
    }
}
