//! Decompositions of matrices: the tangents are written down, the cotangents follow by transposition.

use super::transpose::{Transpose, transposed};
use super::{Infer, batching};
use crate::base::{Error, Result};
use crate::core::primitive::{Saves, only};
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Outputs, Params, Point, Prim, Primitive, Tangents, Tensor,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex};

/// An operator on the trailing matrices of its arguments; leading dimensions are batches.
pub struct Matrix {
    pub name: &'static str,
    pub infer: Infer,
    pub eval: fn(&Params, &[&Tensor]) -> Result<Outputs>,
    /// What the tangents are computed from.
    pub reads: Saves,
    /// Tangents of the outputs, linear in those of the inputs.
    pub tangents: fn(&Params, &Point<'_>, &[Option<&Tensor>]) -> Result<Tangents>,
    /// What an error says that a derivative meets.
    pub fault: fn(Error) -> Error,
}

impl Primitive for Matrix {
    fn name(&self) -> &str {
        self.name
    }

    fn eval(&self, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
        only(self.name, (self.eval)(params, args)?)
    }

    fn eval_many(&self, params: &Params, args: &[&Tensor]) -> Result<Outputs> {
        (self.eval)(params, args)
    }

    fn infer(&self, params: &Params, args: &[Meta]) -> Result<Inferred> {
        (self.infer)(params, args)
    }

    fn saves(&self, _: &Params, _: Mask) -> Saves {
        self.reads
    }

    fn jvp(&self, _: Prim<'_>, p: &Params, point: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Tangents> {
        if tangents.iter().all(Option::is_none) {
            return Ok(point.outputs.iter().map(|_| None).collect());
        }
        (self.tangents)(p, point, tangents).map_err(self.fault)
    }

    fn vjp(
        &self,
        _: Prim<'_>,
        p: &Params,
        point: &Point<'_>,
        cotangents: &[Option<Tensor>],
        needs: Mask,
    ) -> Result<Tangents> {
        if needs == 0 || cotangents.iter().all(Option::is_none) {
            return Ok(Tangents::new());
        }
        let transpose = self.transpose(p, point, cotangents, needs)?;
        let saved = |values: &[Option<&Tensor>], read: Mask| -> SmallVec<[Tensor; 4]> {
            values.iter().enumerate().filter(|(i, _)| read >> i & 1 == 1).filter_map(|(_, v)| v.cloned()).collect()
        };
        let mut args = saved(point.inputs, self.reads.inputs);
        args.extend(saved(point.outputs, self.reads.outputs));
        args.extend(cotangents.iter().flatten().cloned());
        let mut grads = transpose.program.run(&args).map_err(self.fault)?.into_iter();
        let mut present = transpose.present.iter();
        let mut grad = |i| if needs >> i & 1 == 1 && present.next() == Some(&true) { grads.next() } else { None };
        Ok((0..=needs.ilog2()).map(&mut grad).collect())
    }

    fn batch(&self, me: Prim<'_>, p: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut> {
        batching::leading(me, p, args, info)
    }
}

/// What the transpose of a tangent map depends on.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    name: &'static str,
    params: Params,
    inputs: SmallVec<[Meta; 1]>,
    /// Outputs that have a cotangent.
    given: Mask,
    needs: Mask,
}

/// Transposes that were asked for.
static KNOWN: Mutex<Option<FxHashMap<Key, Arc<Transpose>>>> = Mutex::new(None);
/// How many of them are kept. Programs of many shapes make them anew, which takes as long as some small operators.
const KEPT: usize = 1024;

impl Matrix {
    fn transpose(
        &self,
        p: &Params,
        point: &Point<'_>,
        cotangents: &[Option<Tensor>],
        needs: Mask,
    ) -> Result<Arc<Transpose>> {
        let count = point.inputs.len().max(point.node.map_or(0, |n| n.edges.len()));
        let meta = |i| Ok(Meta::new(point.in_dtype(i)?, point.in_shape(i)?.clone()));
        let inputs = (0..count).map(meta).collect::<Result<_>>()?;
        let given = cotangents.iter().enumerate().fold(0, |m, (i, g)| m | Mask::from(g.is_some()) << i);
        let key = Key { name: self.name, params: p.clone(), inputs, given, needs };
        let known = || KNOWN.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(found) = known().as_ref().and_then(|k| k.get(&key)) {
            return Ok(found.clone());
        }
        let made = Arc::new(self.derive(&key)?);
        let mut known = known();
        let known = known.get_or_insert_default();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(key, made.clone());
        Ok(made)
    }

    fn derive(&self, key: &Key) -> Result<Transpose> {
        let outputs = (self.infer)(&key.params, &key.inputs)?;
        let read = |i: usize, mask: Mask| mask >> i & 1 == 1;
        let of = |metas: &[Meta], mask: Mask| -> Vec<Meta> {
            metas.iter().enumerate().filter(|(i, _)| read(*i, mask)).map(|(_, m)| m.clone()).collect()
        };
        let fixed = [of(&key.inputs, self.reads.inputs), of(&outputs, self.reads.outputs)].concat();
        let along: Vec<Option<Meta>> =
            outputs.iter().enumerate().map(|(i, m)| read(i, key.given).then(|| m.clone())).collect();
        let vectors = of(&key.inputs, key.needs);
        transposed(&fixed, &vectors, &along, |fixed, vectors| {
            let (mut fixed, mut vectors) = (fixed.iter(), vectors.iter());
            let place = |count: usize, mask: Mask, values: &mut std::slice::Iter<'_, Tensor>| {
                (0..count).map(|i| if read(i, mask) { values.next().cloned() } else { None }).collect::<Vec<_>>()
            };
            let inputs = place(key.inputs.len(), self.reads.inputs, &mut fixed);
            let outputs = place(outputs.len(), self.reads.outputs, &mut fixed);
            let tangents = place(key.inputs.len(), key.needs, &mut vectors);
            let inputs: Vec<_> = inputs.iter().map(Option::as_ref).collect();
            let outputs: Vec<_> = outputs.iter().map(Option::as_ref).collect();
            let tangents: Vec<_> = tangents.iter().map(Option::as_ref).collect();
            let point = Point { inputs: &inputs, outputs: &outputs, node: None, residuals: &[], recording: false };
            (self.tangents)(&key.params, &point, &tangents)
        })
    }
}
