//! Grad mode and forward mode in a program: what ran where one of them was off gives results that do not carry that
//! derivative further.
//!
//! NOTE. `no_grad` inside a function cuts every tape and leaves tangents alone, so that it is not `detach`, which stops
//! both. An operator that ran under it is an operator of the program like the others, followed by `stop_reverse` on each
//! of its results.

use super::call::call;
use super::meta::{Inferred, Meta};
use super::params::Params;
use super::primitive::{BatchArg, BatchInfo, BatchOut, Mask, Point, Prim, Primitive, Tangents};
use super::tensor::Tensor;
use crate::base::Result;
use smallvec::smallvec;

/// The identity, without the derivative of one mode or with those of both.
pub struct Stop {
    name: &'static str,
    mode: StoppedMode,
}

#[derive(Clone, Copy, PartialEq)]
enum StoppedMode {
    Reverse,
    Forward,
    Neither,
}

/// The value without its history on any tape; tangents pass.
pub static STOP_REVERSE: Stop = Stop { name: "stop_reverse", mode: StoppedMode::Reverse };
/// The value without its tangents; cotangents pass.
pub static STOP_FORWARD: Stop = Stop { name: "stop_forward", mode: StoppedMode::Forward };
/// The same value as the result of an operator: another one to a tape that records, free of one that does not.
pub static ALIAS: Stop = Stop { name: "alias", mode: StoppedMode::Neither };
/// All, for the list of primitives.
pub static PRIMITIVES: &[&dyn Primitive] = &[&STOP_REVERSE, &STOP_FORWARD, &ALIAS];

impl Primitive for Stop {
    fn name(&self) -> &str {
        self.name
    }

    fn eval(&self, _: &Params, args: &[&Tensor]) -> Result<Tensor> {
        Ok(args[0].clone())
    }

    fn infer(&self, _: &Params, args: &[Meta]) -> Result<Inferred> {
        Ok(smallvec![args[0].clone()])
    }

    fn is_constant_in_reverse(&self) -> bool {
        self.mode == StoppedMode::Reverse
    }

    fn is_constant_in_forward(&self) -> bool {
        self.mode == StoppedMode::Forward
    }

    fn is_affine(&self, _: &Params, _: Mask) -> bool {
        self.mode != StoppedMode::Reverse
    }

    fn jvp(&self, me: Prim<'_>, params: &Params, _: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Tangents> {
        Ok(match tangents {
            [Some(t)] => smallvec![Some(call(me, params, &[t])?)],
            _ => smallvec![None],
        })
    }

    fn vjp(&self, _: Prim<'_>, _: &Params, _: &Point<'_>, cotangents: &[Option<Tensor>], _: Mask) -> Result<Tangents> {
        Ok(smallvec![cotangents.first().cloned().flatten()])
    }

    fn batch(&self, me: Prim<'_>, params: &Params, args: &[BatchArg<'_>], _: BatchInfo) -> Result<BatchOut> {
        Ok(smallvec![(call(me, params, &[args[0].value])?, args[0].dim)])
    }
}

/// Which of the two follow what runs in these modes.
pub(super) fn stops(grad: bool, forward: bool) -> impl Iterator<Item = &'static Stop> {
    [(grad, &STOP_REVERSE), (forward, &STOP_FORWARD)].into_iter().filter(|(on, _)| !on).map(|(_, stop)| stop)
}
