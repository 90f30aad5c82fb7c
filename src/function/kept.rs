//! What the node of a custom function keeps.

use super::{History, Setup, Values};
use crate::base::Result;
use crate::core::Node;
use crate::core::few::Few;
use crate::core::node::{Link, Metas, Residual};
use std::sync::Arc;

/// For each saved value where it hangs; `None` for those that no program may differentiate.
pub(super) type Places = Few<Option<Link>>;

/// What a node keeps of a [`Setup`] whose tensors are its residuals.
pub(super) struct Kept {
    pub setup: Setup,
    pub places: Places,
    pub inputs: Metas,
    /// How many residuals are the setup's; the inputs may follow them.
    pub saved: usize,
    pub results: usize,
}

impl Kept {
    /// Where the values hang that the setup of `node` saves, which has `results` results.
    pub fn places(node: &Node, setup: &Setup, results: usize, residuals: &[Residual]) -> Places {
        let place = |r: &Residual| match r.link() {
            Link::Input(i) => Some(Link::Input(*i)),
            Link::Output(i) => {
                let rule = (*i as usize) < results && !setup.non_differentiable.has(*i as usize);
                rule.then_some(Link::Output(*i))
            }
            // What a forward recorded itself; a setup comes after the node, and what it computes is constant.
            Link::Other(Some(e)) if e.node.seq < node.seq => Some(r.link().clone()),
            Link::Other(_) => None,
        };
        residuals.iter().map(place).collect()
    }

    /// The setup with its tensors.
    pub fn setup(&self, saved: Values, history: Option<History>) -> Setup {
        Setup {
            context: self.setup.context.clone(),
            saved,
            non_differentiable: self.setup.non_differentiable.clone(),
            materialize: self.setup.materialize,
            history,
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
    Ok(Some((kept.setup(saved, None), !freed)))
}
