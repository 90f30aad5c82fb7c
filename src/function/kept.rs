//! What the node of a custom function keeps.

use super::{Setup, Values};
use crate::base::Result;
use crate::core::Node;
use crate::core::node::{Metas, Residual};
use std::sync::Arc;

/// What a node keeps of a [`Setup`] whose tensors are its residuals.
pub(super) struct Kept {
    pub setup: Setup,
    pub inputs: Metas,
    /// How many residuals are the setup's; the inputs may follow them.
    pub saved: usize,
    pub results: usize,
}

impl Kept {
    /// The setup with its tensors.
    pub fn setup(&self, saved: Values) -> Setup {
        Setup {
            context: self.setup.context.clone(),
            saved,
            non_differentiable: self.setup.non_differentiable.clone(),
            materialize: self.setup.materialize,
            history: None,
        }
    }
}

/// What the node of a custom function keeps for its rules, each tensor with its history; without the tensors, which is
/// what `false` says, once they are freed. `None` for nodes of the table's operators.
pub fn kept(node: &Arc<Node>) -> Result<Option<(Setup, bool)>> {
    let (context, residuals, freed) = {
        let saved = node.saved();
        (saved.context.clone(), saved.residuals.clone(), saved.freed)
    };
    let Some(kept) = context.as_ref().and_then(|c| c.downcast_ref::<Kept>()) else { return Ok(None) };
    let read = |r: &Residual| Ok(node.relink(r.link(), r.value(node.name())?));
    let saved =
        if freed { Values::new() } else { residuals.iter().take(kept.saved).map(read).collect::<Result<_>>()? };
    Ok(Some((kept.setup(saved), !freed)))
}
