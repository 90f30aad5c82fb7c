//! What the calls of functions hold, for the garbage collector.

use super::call::Call;
use super::inputs::Leaf;
use super::saved::Context;
use pullback::core::reach::Reach;
use pullback::function;

pub fn call(call: &Call, reach: &mut Reach<'_>) {
    for leaf in &call.inputs.leaves {
        match leaf {
            Leaf::Tensor { object, value, .. } => {
                reach.host(object);
                reach.value(value);
            }
            Leaf::Other(object) => reach.host(object),
        }
    }
}

pub fn context(context: &function::Context, reach: &mut Reach<'_>) {
    if let Some(context) = context.downcast_ref::<Context>() {
        reach.host(&context.ctx);
        context.objects().iter().for_each(|o| reach.host(o));
        if let (Some(state), Some(ran)) = (&context.state, context.ran())
            && let Some(classic) = &ran.classic
            && reach.owns(state)
        {
            reach.host(&classic.ctx);
            classic.kept.iter().for_each(|o| reach.host(o));
        }
    }
}
