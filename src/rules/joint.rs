//! Operators that are linear in some of their arguments together, while the others say where elements come from and go
//! to: gathers, scatters, joins, writes. The tangents are what the operator makes of those of the arguments.

use super::{Infer, basis};
use crate::base::Result;
use crate::core::primitive::{Saves, only};
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Outputs, Params, Point, Prim, Primitive, Tangents, Tensor,
    call,
};
use smallvec::{SmallVec, smallvec};

/// A linear operator of any number of arguments, with one output.
pub struct Joint {
    pub name: &'static str,
    pub infer: Infer,
    pub eval: fn(&Params, &[&Tensor]) -> Result<Outputs>,
    /// The arguments that it is linear in.
    pub linear: Mask,
    pub saves: fn(&Params, Mask) -> Saves,
    /// Cotangents of the arguments from that of the output.
    pub transpose: fn(Prim<'_>, &Params, &Point<'_>, &[Option<Tensor>], Mask) -> Result<Tangents>,
    pub batch: fn(Prim<'_>, &Params, &[BatchArg<'_>], BatchInfo) -> Result<BatchOut>,
}

impl Joint {
    fn is_linear_in(&self, i: usize) -> bool {
        self.linear >> i.min(63) & 1 == 1
    }

    /// Where some arguments have no tangent.
    #[inline(never)]
    fn jvp_of_some(&self, me: Prim<'_>, p: &Params, point: &Point<'_>, t: &[Option<&Tensor>]) -> Result<Tangents> {
        if t.iter().enumerate().all(|(i, t)| t.is_none() || !self.is_linear_in(i)) {
            return Ok(smallvec![None]);
        }
        let along = |(i, t): (usize, &Option<&Tensor>)| match t {
            _ if !self.is_linear_in(i) => point.input(i).cloned(),
            Some(t) => Ok((*t).clone()),
            None => basis::zeros_like(point.input(i)?),
        };
        let all: SmallVec<[Tensor; 4]> = t.iter().enumerate().map(along).collect::<Result<_>>()?;
        let refs: SmallVec<[&Tensor; 4]> = all.iter().collect();
        Ok(smallvec![Some(call(me, p, &refs)?)])
    }
}

impl Primitive for Joint {
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

    fn saves(&self, params: &Params, needs: Mask) -> Saves {
        (self.saves)(params, needs)
    }

    fn jvp(&self, me: Prim<'_>, p: &Params, point: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Tangents> {
        let mut refs: SmallVec<[&Tensor; 4]> = SmallVec::new();
        let mut given = false;
        for (i, t) in tangents.iter().enumerate() {
            match t {
                _ if !self.is_linear_in(i) => refs.push(point.input(i)?),
                Some(t) => {
                    given = true;
                    refs.push(t);
                }
                None => return self.jvp_of_some(me, p, point, tangents),
            }
        }
        Ok(smallvec![if given { Some(call(me, p, &refs)?) } else { None }])
    }

    fn vjp(
        &self,
        me: Prim<'_>,
        params: &Params,
        point: &Point<'_>,
        cotangents: &[Option<Tensor>],
        needs: Mask,
    ) -> Result<Tangents> {
        // An index may lead to a node, as an output of a custom function does; nothing flows there.
        if needs & self.linear == 0 {
            return Ok(SmallVec::new());
        }
        (self.transpose)(me, params, point, cotangents, needs)
    }

    fn batch(&self, me: Prim<'_>, params: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut> {
        (self.batch)(me, params, args, info)
    }
}
