//! Writing to a cell: the new value goes where the elements are, and who depends on them makes its value again.

use super::super::history::{self, rewrap, strip};
use super::super::lens::Lens;
use super::super::read::innermost;
use super::super::tape;
use super::super::write::{check_leaf, merge, merge_region};
use super::link::ViewLink;
use super::{Cell, Face, MadeBy};
use crate::bail;
use crate::base::{Error, Result, Shape};
use crate::core::level::{self, GradMode};
use crate::core::origin::at_here;
use crate::core::{LevelId, Tensor};
use crate::dense::region::Region;
use smallvec::{SmallVec, smallvec};
use std::sync::{Arc, Weak};

impl Cell {
    /// Forgets values that share memory with this cell's.
    pub fn drop_dependents(self: &Arc<Cell>) {
        let dependents = std::mem::take(&mut self.state().dependents);
        for cell in dependents.iter().filter_map(Weak::upgrade) {
            let dropped = {
                let mut s = cell.state();
                if matches!(s.link, ViewLink::Lift { face: Face::Tangent { .. }, .. }) {
                    continue;
                }
                let value = s.value.take();
                if let (Some(v), ViewLink::Alias { .. } | ViewLink::Lift { .. }) = (&value, &s.link) {
                    s.shell = Some(history::shell(v));
                }
                value
            };
            drop(dropped);
            cell.drop_dependents();
        }
    }

    /// An error if an in-place operator may not write to this cell now.
    pub fn check_writable(self: &Arc<Cell>, op: &str) -> Result<()> {
        check_leaf(op, &self.read()?, false)?;
        let link = self.state().link.clone();
        let view = match link {
            ViewLink::View(v) => v,
            ViewLink::Lift { parent, face } => {
                face.check_beside(op)?;
                check_leaf(op, &parent.read()?, true)?;
                return self.check_base(op);
            }
            _ => return self.check_made(op, None),
        };
        self.check_made(op, None)?;
        check_leaf(op, &view.root.read()?, true)?;
        view.root.check_base(op)
    }

    /// An error if this view was made in a way that a recorded write cannot follow. `new` is what will be written, if
    /// known: without it, and without a tape that follows the root, nothing is recorded.
    pub fn check_made(self: &Arc<Cell>, op: &str, new: Option<&Tensor>) -> Result<()> {
        if !level::grad_enabled() {
            return Ok(());
        }
        if !new.is_some_and(history::is_recorded) && !history::is_recorded(&self.of_view().read()?) {
            return Ok(());
        }
        let mut views: SmallVec<[Arc<Cell>; 4]> = smallvec![self.clone()];
        while let Some(above) = views.last().and_then(Cell::parent_of_view) {
            views.push(above);
        }
        views.iter().rev().try_for_each(|c| c.check_one_made(op))
    }

    fn parent_of_view(self: &Arc<Cell>) -> Option<Arc<Cell>> {
        match &self.state().link {
            ViewLink::View(v) => Some(v.parent.clone()),
            _ => None,
        }
    }

    fn check_one_made(&self, op: &str) -> Result<()> {
        let (made_by, link) = {
            let s = self.state();
            (s.made_by.clone(), s.link.clone())
        };
        if let Some(made) = made_by.as_deref() {
            return Err(made.forbids(op));
        }
        let ViewLink::View(v) = link else { return Ok(()) };
        if !v.recorded {
            let mode = if v.inference { "inference" } else { "no_grad" };
            bail!(
                Runtime,
                "{op}(): A view was created in {mode} mode and is being modified inplace with grad mode enabled{}. Make \
                 the view where gradients are enabled, or write to it under no_grad",
                at_here()
            );
        }
        v.lens.one_of_several().map_or(Ok(()), |made| Err(made.forbids(op)))
    }

    /// The function among those that this view was made by whose results no recorded write may reach.
    pub(super) fn made(self: &Arc<Cell>) -> Option<MadeBy> {
        let own = {
            let s = self.state();
            match (&s.made_by, &s.link) {
                (Some(made), _) => Some(MadeBy::clone(made)),
                (None, ViewLink::View(v)) => v.lens.one_of_several(),
                _ => None,
            }
        };
        own.or_else(|| self.parent_of_view()?.made())
    }

    /// Whether it is a view that was made where gradients are disabled.
    pub fn is_unrecorded_view(&self) -> bool {
        matches!(&self.state().link, ViewLink::View(v) if !v.recorded)
    }

    /// Whether it, or what it is a view of, was made so from a value that a tape follows.
    pub fn leaves_tape(self: &Arc<Cell>) -> bool {
        let unrecorded = matches!(&self.state().link, ViewLink::View(v) if !v.is_recorded());
        unrecorded && self.of_view().read().is_ok_and(|root| tape::requires_grad(&root))
    }

    /// The view of these sizes and strides that an operator leaves which changes them in place; see
    /// [`Cell::reviewed`].
    ///
    /// # Errors
    /// Those of [`Cell::check_made`] and [`Cell::as_strided`].
    pub fn restrided(
        self: &Arc<Cell>,
        op: &str,
        shape: Shape,
        strides: &[i64],
        offset: Option<usize>,
    ) -> Result<Arc<Cell>> {
        self.check_made(op, None)?;
        let _mode = GradMode::set(self.is_made_recorded());
        let view = self.as_strided(shape, strides, offset)?;
        if let Some(made) = self.made().filter(|_| self.is_made_recorded()) {
            view.set_made_by(made);
        }
        Ok(view)
    }

    fn is_made_recorded(&self) -> bool {
        match &self.state().link {
            ViewLink::View(v) => v.is_recorded(),
            _ => true,
        }
    }

    /// This cell shown by another lens, as if the two views were one: what an operator that changes a shape in place
    /// leaves.
    ///
    /// # Errors
    /// As [`Cell::check_made`].
    pub fn reviewed(self: &Arc<Cell>, op: &str, lens: Lens) -> Result<Arc<Cell>> {
        self.check_made(op, None)?;
        let _mode = GradMode::set(self.is_made_recorded());
        let value = lens.apply(&self.read()?)?;
        self.view(lens, value)
    }

    /// As [`Cell::check_writable`] for what shows this cell's numbers in another form.
    fn check_base(self: &Arc<Cell>, op: &str) -> Result<()> {
        let ViewLink::Lift { parent, face: Face::Numbers { .. } } = self.state().link.clone() else { return Ok(()) };
        check_leaf(op, &parent.read()?, true)?;
        let root = parent.of_view();
        check_leaf(op, &root.read()?, true)?;
        root.check_base(op)
    }

    /// Writes the result of an in-place operator, of this cell's shape and dtype.
    pub fn write(self: &Arc<Cell>, op: &str, new: Tensor) -> Result<()> {
        let view = match &self.state().link {
            ViewLink::View(v) => Some(v.clone()),
            _ => None,
        };
        let Some(v) = view else { return self.write_whole(op, new) };
        if new.payload().is_some() {
            self.check_made(op, Some(&new))?;
        }
        let region = self.region()?;
        v.root.write_region(op, &region, &new)
    }

    fn write_whole(self: &Arc<Cell>, op: &str, new: Tensor) -> Result<()> {
        let (old, birth) = (self.read()?, self.birth());
        self.drop_dependents();
        // The cell holds the value, and this function does.
        let handles = if self.state().placed { 2 } else { 0 };
        let new = merge(op, &old, birth, new, handles)?;
        drop(old);
        self.install(op, new)
    }

    /// Writes to a region of this cell, which is no view.
    pub fn write_region(self: &Arc<Cell>, op: &str, region: &Region, value: &Tensor) -> Result<()> {
        if self.is_view() {
            bail!(Internal, "write_region() of a view");
        }
        self.refresh()?;
        if let Some(all) = self.all_in_place(region, value)? {
            return self.write_whole(op, all);
        }
        self.drop_dependents();
        let (old, birth) = {
            let mut s = self.state();
            (s.value.take(), s.birth)
        };
        let old = match old {
            Some(old) => old,
            None => self.read()?,
        };
        let parent = self.empty_parent(&old);
        let written = merge_region(op, old, birth, region, value);
        if let (Some(parent), Ok(t) | Err((t, _))) = (parent, &written) {
            let data = strip(t)?;
            parent.replace(Some(data), |_| ());
        }
        match written {
            Ok(new) => self.install(op, new),
            Err((old, e)) => {
                self.replace(Some(old), |_| ());
                Err(e)
            }
        }
    }

    /// A value for all elements of a plain cell in its shape, if somebody knows where they are: there they stay.
    fn all_in_place(self: &Arc<Cell>, region: &Region, value: &Tensor) -> Result<Option<Tensor>> {
        if !self.state().placed || !region.is_whole(value.numel()) {
            return Ok(None);
        }
        let old = self.read()?;
        match (old.dense(), value.dense()) {
            (Some(old), Some(new)) if old.form() == (new.dtype(), old.shape()) && old.numel() == new.numel() => {
                Ok(Some(new.reshape(old.shape())?.into()))
            }
            _ => Ok(None),
        }
    }

    /// The cell that holds the memory of all of this one, without its value, so that the memory is this one's alone. The
    /// caller gives it a value again.
    fn empty_parent(self: &Arc<Cell>, value: &Tensor) -> Option<Arc<Cell>> {
        let parent = match &self.state().link {
            ViewLink::Alias { parent, region: None } => parent.clone(),
            _ => return None,
        };
        if !matches!(parent.state().link, ViewLink::Root) || innermost(value).is_none_or(|a| a.is_exported()) {
            return None;
        }
        parent.drop_dependents();
        parent.replace(None, |_| ());
        Some(parent)
    }

    /// Puts the new value in place, and its elements where they belong.
    fn install(self: &Arc<Cell>, op: &str, new: Tensor) -> Result<()> {
        let link = self.state().link.clone();
        let parent = match &link {
            ViewLink::Root | ViewLink::View(_) => None,
            ViewLink::Alias { parent, region } => {
                parent.write_data(op, region.as_ref(), &strip(&new)?)?;
                if self.state().apart {
                    parent.uncount_write();
                }
                Some(parent)
            }
            ViewLink::Lift { parent, face } => {
                face.write_beside(op, &new)?;
                parent.write(op, face.lower(&new, parent)?)?;
                Some(parent)
            }
        };
        let beside = if let ViewLink::Lift { face, .. } = &link { face.stamp() } else { 0 };
        let seen = parent.map_or(0, |p| p.stamp().wrapping_add(beside));
        // Elements that stayed in the parent's memory are read from there.
        let around = match &link {
            ViewLink::Alias { parent, .. } if parent.state().placed => Some(history::shell(&new)),
            _ => None,
        };
        self.replace(if around.is_some() { None } else { Some(new) }, |s| {
            s.version += 1;
            s.seen = seen;
        });
        if around.is_some() {
            self.state().shell = around;
        }
        if let Some(parent) = parent {
            self.depends(parent);
        }
        Ok(())
    }

    /// Replaces elements and keeps every node and tangent.
    pub fn write_data(self: &Arc<Cell>, op: &str, region: Option<&Region>, data: &Tensor) -> Result<()> {
        if self.is_view() {
            bail!(Internal, "write_data() of a view");
        }
        let old = self.read()?;
        self.drop_dependents();
        let birth = self.birth();
        let plain = strip(&old)?;
        let shell = history::has_history(&old).then(|| history::shell(&old));
        let taken = self.state().value.take();
        drop((old, taken));
        let _off = GradMode::set(false);
        let handles = usize::from(self.state().placed);
        let written = match region {
            None => merge(op, &plain, birth, data.clone(), handles).map_err(|e| (plain, e)),
            Some(region) => merge_region(op, plain, birth, region, data),
        };
        let around = |data: Tensor| shell.as_ref().map_or_else(|| Ok(data.clone()), |s| rewrap(s, &data));
        match written {
            Ok(data) => {
                let new = around(data)?;
                self.install(op, new)?;
                self.state().beside += 1;
                Ok(())
            }
            Err((data, e)) => {
                let old = around(data)?;
                self.replace(Some(old), |_| ());
                Err(e)
            }
        }
    }

    /// Counts a write that changed no element.
    ///
    /// # Errors
    /// Those of reading the cell.
    pub fn count_write(self: &Arc<Cell>) -> Result<()> {
        let memory = self.memory()?;
        memory.state().version += 1;
        self.refresh()
    }

    /// The cell that this is a view of, or this one.
    pub fn of_view(self: &Arc<Cell>) -> Arc<Cell> {
        match &self.state().link {
            ViewLink::View(v) => v.root.clone(),
            _ => self.clone(),
        }
    }

    /// Whether it follows from no other cell.
    pub fn is_root(&self) -> bool {
        matches!(self.state().link, ViewLink::Root)
    }

    /// Values of a level may be written here as if the cell had been made under it, until [`Cell::dismiss`].
    pub fn admit(&self, level: LevelId) {
        self.state().birth = level;
    }

    /// The cell counts as made where it was, and has the value that is left of it without levels that are gone.
    pub fn dismiss(self: &Arc<Cell>, birth: LevelId) {
        self.state().birth = birth;
        if let Ok(value) = self.read()
            && let Ok(plain) = history::without_closed(value.clone())
            && !plain.same(&value)
        {
            self.replace(Some(plain), |_| ());
        }
    }
}

impl MadeBy {
    /// The error of a write to such a result.
    #[cold]
    fn forbids(&self, op: &str) -> Error {
        let MadeBy { function, output, several } = self;
        let why = match several {
            false => {
                "was created inside a custom Function (or because an input was returned as-is), whose backward would \
                 not be that of what is written"
            }
            true => {
                "is the output of a function that returns multiple views. Such functions do not allow the output views \
                 to be modified inplace"
            }
        };
        Error::runtime(format!(
            "{op}(): Output {output} of {function} is a view and is being modified inplace. This view {why}; clone() the \
             output of the function before, or replace the inplace operation by an out-of-place one{}",
            at_here()
        ))
    }
}
