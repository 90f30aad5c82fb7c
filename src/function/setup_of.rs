//! What the node of a custom function keeps, as a [`Setup`] again.

use super::{History, Setup, Values};
use crate::base::Result;
use crate::core::Node;
use crate::core::node::Residual;
use crate::core::saved_context::SavedContext;
use std::sync::Arc;

/// The setup with its tensors.
pub(super) fn opened(kept: &SavedContext, saved: Values, history: Option<History>) -> Setup {
    Setup {
        context: kept.context.clone(),
        saved,
        non_differentiable: kept.non_differentiable.clone(),
        materialize: kept.materialize,
        history,
    }
}

/// What the node of a custom function keeps for its rules, each tensor with its history; without the tensors, which is
/// what `false` says, once they are freed. `None` for nodes of the table's operators.
pub fn setup_of(node: &Arc<Node>) -> Result<Option<(Setup, bool)>> {
    let Some(kept) = node.saved_context() else { return Ok(None) };
    let (residuals, freed) = {
        let saved = node.saved();
        (saved.residuals.clone(), saved.freed)
    };
    let read = |r: &Residual| Ok(node.relink(r.link(), r.value(node.name())?));
    let saved =
        if freed { Values::new() } else { residuals.iter().take(kept.saved).map(read).collect::<Result<_>>()? };
    Ok(Some((opened(kept, saved, None), !freed)))
}
