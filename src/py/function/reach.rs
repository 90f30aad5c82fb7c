//! What the calls of functions hold, for the garbage collector.

use super::{Argument, Call, Context};
use crate::core::reach::Reach;
use crate::function;

pub(super) fn call(call: &Call, reach: &mut Reach<'_>) {
    for a in &call.args {
        match a {
            Argument::Tensor { object, value, .. } => {
                reach.host(object);
                reach.value(value);
            }
            Argument::Other(object) => reach.host(object),
        }
    }
    if let Ok(classic) = call.classic.try_lock()
        && let Some(classic) = &*classic
    {
        reach.host(&classic.ctx);
    }
}

pub(super) fn context(context: &function::Context, reach: &mut Reach<'_>) {
    if let Some(context) = context.downcast_ref::<Context>() {
        reach.host(&context.ctx);
    }
}
