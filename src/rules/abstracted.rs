//! Leaving the data behind: `x.to("meta")`.

use super::{Joint, shapes};
use crate::base::Result;
use crate::core::meta::{Meta, no_data};
use crate::core::primitive::Saves;
use crate::core::{Params, Prim, Tensor, call};
use smallvec::smallvec;

/// The value without its data, at every level.
pub(crate) static TO_META: Joint = Joint {
    name: "to_meta",
    infer: shapes::same,
    eval: |_, a| Ok(smallvec![Tensor::without_data(Meta::of(a[0]))]),
    linear: 0b1,
    saves: |_, _| Saves::default(),
    // The cotangent has no data, and the argument may have.
    transpose: |_, _, _, _, _| Err(no_data()),
    batch: |me, p, a, _| Ok(smallvec![(call(me, p, &[a[0].value])?, a[0].dim)]),
};

/// The same dtype, shape, levels and history, without data.
pub fn without_data(x: &Tensor) -> Result<Tensor> {
    if x.is_abstract() { Ok(x.clone()) } else { call(Prim::Static(&TO_META), &Params::None, &[x]) }
}
