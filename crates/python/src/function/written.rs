//! Arguments that a forward writes to. What it declares is a result. What it does not is the program's own business until
//! somebody goes on to differentiate the argument.

use super::call::{Call, Changes, Ran};
use super::inputs::Leaf;
use super::outputs::Parsed;
use crate::tensor;
use crate::tensor::PyTensor;
use crate::types::errors::PyResult;
use pullback::core::level::GradMode;
use pullback::core::origin::at_here;
use pullback::core::{Forward, Outputs, Tensor, level, spoilt};
use pullback::function;
use pullback::skin::history;
use pyo3::prelude::*;
use smallvec::SmallVec;

/// How a forward wrote to an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the caller's own object, where no level follows it or the program itself sees to that.
    Own,
    /// Through `.data` or `detach()`: the program's own word.
    Beside,
    /// By an operator, or through memory that it showed to NumPy.
    Silent,
}

/// An argument that a forward wrote to and did not declare.
#[derive(Clone, Copy)]
pub struct Written {
    pub leaf: usize,
    /// The output that has its new value, perhaps a hidden one.
    pub output: usize,
    /// Whether it was returned.
    pub returned: bool,
    pub way: Way,
    /// Whether the object that the forward got is the caller's.
    own: bool,
}

/// How many writes each leaf had seen that its forward answers for.
pub(super) type Writes = SmallVec<[(u32, bool); 2]>;

impl Call {
    /// What the writes of a forward to objects of the caller are told by.
    pub(super) fn writes(objects: &[Bound<'_, PyAny>]) -> Writes {
        let count = |o| tensor::cell(o).map_or((0, false), |cell| cell.with(|s| s.writes()));
        objects.iter().map(count).collect()
    }

    /// Which leaves the forward changed. Showing the memory to NumPy counts as a write only if something was written.
    pub(super) fn changed(
        &self,
        objects: &[Bound<'_, PyAny>],
        values: &[Tensor],
        before: &Writes,
    ) -> Vec<(usize, Way)> {
        let mut changed = Vec::new();
        for (i, leaf) in self.inputs.leaves.iter().enumerate() {
            if let Leaf::Tensor { object, index, value } = leaf
                && let Some(cell) = tensor::cell(&objects[i])
                && !is_unchanged(cell, [&values[*index], value])
            {
                let is_own = objects[i].is(object);
                let before = before.get(i).copied().filter(|_| is_own).unwrap_or_default();
                changed.push(match cell.with(|s| s.writes()) != before {
                    _ if is_own && value.same(&values[*index]) => (i, Way::Own),
                    true => (i, Way::Silent),
                    false if is_own => (i, Way::Own),
                    false => (i, Way::Beside),
                });
            }
        }
        changed
    }

    /// Notes what was written and not declared; values that are no results become hidden outputs.
    #[cold]
    pub(super) fn note_written(
        &self,
        objects: &[Bound<'_, PyAny>],
        p: &mut Parsed<'_>,
        changed: Vec<(usize, Way)>,
    ) -> (Vec<Written>, Vec<usize>) {
        let (mut written, mut extra) = (Vec::new(), Vec::new());
        for (leaf, way) in changed {
            let place = p.objects.iter().position(|o| o.is(&objects[leaf]));
            let output = place.unwrap_or(p.tensors.len());
            if place.is_none() {
                let Some(value) = super::value_of(&objects[leaf]) else { continue };
                p.tensors.push(value);
                extra.push(leaf);
            }
            let own = matches!(&self.inputs.leaves[leaf], Leaf::Tensor { object, .. } if objects[leaf].is(object));
            written.push(Written { leaf, output, returned: place.is_some(), way, own });
        }
        (written, extra)
    }

    /// The values of the arguments that the first run of the forward wrote to, behind the results of another run.
    pub(super) fn append_written(ran: Option<&Ran>, objects: &[Bound<'_, PyAny>], tensors: &mut Outputs) {
        let Some(changes) = Ran::changes(ran) else { return };
        tensors.extend(changes.extra.iter().filter_map(|&i| super::value_of(&objects[i])));
    }

    /// Why a changed argument cannot be differentiated any more.
    #[cold]
    pub(super) fn why_spoilt(&self, leaf: usize) -> String {
        format!(
            "{}: its forward changed {} in place, which is part of a derivative, without telling, and the changed value \
             is used: call ctx.mark_dirty() on it and return it, change a clone() of it, or write through .data if its \
             derivative does not matter",
            self.methods.name,
            self.methods.argument(leaf)
        )
    }

    /// The error for a backward that reads such an argument, if the forward wrote to this leaf so.
    pub(super) fn spoilt(changes: &Changes, leaf: usize) -> bool {
        changes.written.iter().any(|w| w.leaf == leaf && w.way == Way::Silent && !w.returned)
    }

    /// Gives the caller's objects the elements that the forward wrote. They keep the history that they have.
    #[cold]
    pub(super) fn write_back(&self, py: Python<'_>, run: &Forward, written: &[Written]) -> PyResult<()> {
        for w in written.iter().filter(|w| w.way != Way::Own) {
            let (Some(Leaf::Tensor { object, index, .. }), Some(value)) =
                (self.inputs.leaves.get(w.leaf), run.outputs.get(w.output))
            else {
                continue;
            };
            // What the setup declared is a result.
            if run.dirty.iter().any(|d| d.0 == *index) {
                continue;
            }
            let Some(cell) = tensor::cell(object.bind(py)) else { continue };
            let value = history::strip(value)?;
            let spoilt = w.way == Way::Silent && history::has_history(&cell.value());
            if spoilt && cell.is_view() {
                // As an operator that cannot be differentiated: the base sees it too.
                let why = format!("{}{}", self.why_spoilt(w.leaf), at_here());
                let value = function::lost(&why, &value, &[&cell.value()])?;
                cell.write(&self.methods.name, &value)?;
                continue;
            }
            if !w.own {
                // Neither a tape nor a tangent follows the write.
                let _off = GradMode::set(false);
                let forward = level::set_forward_enabled(false);
                let written = cell.write(&self.methods.name, &value);
                level::set_forward_enabled(forward);
                written?;
            }
            if spoilt {
                cell.adopt(spoilt::spoil(cell.value(), self.why_spoilt(w.leaf)))?;
            }
        }
        Ok(())
    }
}

/// Whether an object still has this value, or one with the same elements.
fn is_unchanged(cell: &PyTensor, known: [&Tensor; 2]) -> bool {
    let before = known[0];
    if cell.with(|s| s.quick().map(|v| known.iter().any(|k| v.same(k)))) == Some(true) {
        return true;
    }
    let now = cell.value();
    let identical = || match (now.innermost(), before.innermost()) {
        (Some(a), Some(b)) => a.is_identical(b),
        (a, b) => a.is_none() && b.is_none(),
    };
    now.same(before) || identical()
}
