//! What the node of a custom function keeps beside its residuals.

use super::inline_list::InlineList;
use super::node::{Link, Metas, Node, Residual};
use super::set::Set;
use std::any::Any;
use std::sync::Arc;

/// State of a custom function between its forward and its rules, without the tensors.
pub type Context = Arc<dyn Any + Send + Sync>;

/// For each saved value where it hangs; `None` for those that no program may differentiate.
pub type Places = InlineList<Option<Link>>;

pub struct SavedContext {
    pub context: Context,
    /// Outputs that carry no derivative.
    pub non_differentiable: Set,
    /// Whether missing (co)tangents are given to the rules as zeros.
    pub materialize: bool,
    pub places: Places,
    pub inputs: Metas,
    /// How many residuals are what the setup saved; the inputs may follow them.
    pub saved: usize,
    /// How many of the outputs are results.
    pub results: usize,
}

/// Where the values hang that were saved for `node`, which has `results` results.
pub fn places(node: &Node, constant: &Set, results: usize, residuals: &[Residual]) -> Places {
    let place = |r: &Residual| match r.link() {
        Link::Input(i) => Some(Link::Input(*i)),
        Link::Output(i) => {
            let rule = (*i as usize) < results && !constant.has(*i as usize);
            rule.then_some(Link::Output(*i))
        }
        // What a forward recorded itself; a setup comes after the node, and what it computes is constant.
        Link::Other(Some(e)) if e.node.seq < node.seq => Some(r.link().clone()),
        Link::Other(_) => None,
    };
    residuals.iter().map(place).collect()
}
