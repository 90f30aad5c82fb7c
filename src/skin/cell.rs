//! Shared cells: tensors that have views, and the views.
//!
//! NOTE. Cells form a tree. A *view* reads its elements through its base at the root of the tree, and a write to it is
//! a write to the root. An *alias* shares the elements of its parent and has a history of its own (`detach()`, `.data`,
//! a view that became a leaf). A *lift* is the argument of a function under `vmap` or `jvp`: the caller's tensor as a
//! value of that level. Each write counts up the version of the root, and a cell whose value was made from an older
//! version makes it again when it is read:
//! ```text
//! y = a * 2         y ── root, version 0
//! v = y[0]          v ── view of y, seen 0
//! d = y.detach()    y ── alias of D,  d ── alias of D     (D: the elements, without history)
//! d.mul_(3)         D version 1; y sees it, keeps its node, version 1; v sees it and reads y again
//! ```
//! Values of dependents are dropped before a write, so that the memory is not shared and can be written in place.

use super::history::{self, rewrap, strip};
use super::lens::{Lens, positions, region_in_memory};
use super::part;
use super::write::{check_leaf, merge, merge_region};
use crate::bail;
use crate::base::{DType, Error, Result};
use crate::core::level::{self, GradMode};
use crate::core::tensor::Payload;
use crate::core::{LevelId, Tensor};
use crate::dense::region::Region;
use crate::rules::basis;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// A tensor that others refer to.
pub struct Cell {
    state: Mutex<State>,
}

struct State {
    /// `None` while dropped: the next reader makes it again.
    value: Option<Tensor>,
    /// Nodes and tangents of an alias whose value is dropped.
    shell: Option<Tensor>,
    link: Link,
    birth: LevelId,
    /// Counts writes.
    version: u32,
    /// The version of the root or parent that the value was made from.
    seen: u32,
    /// Cells whose values share memory with this one.
    dependents: Vec<Weak<Cell>>,
    /// What the tensor that had this cell has now.
    successor: Option<Arc<Cell>>,
}

/// Where a cell's elements are.
#[derive(Clone)]
enum Link {
    /// Here.
    Root,
    View(View),
    /// In the parent, whose history is not this cell's.
    Alias {
        parent: Arc<Cell>,
        region: Option<Region>,
    },
    /// In the parent, as a value of a level.
    Lift {
        parent: Arc<Cell>,
        level: LevelId,
        dim: Option<usize>,
    },
}

#[derive(Clone)]
struct View {
    parent: Arc<Cell>,
    root: Arc<Cell>,
    lens: Lens,
    /// The elements of the root that it shows, when known.
    region: Option<Region>,
    /// Grad mode when it was made, under which it is made again.
    recorded: bool,
    dtype: DType,
    depth: u32,
}

/// Views of views deeper than this refer to their root directly.
const MAX_DEPTH: u32 = 8;

impl Cell {
    pub fn root(value: Tensor, birth: LevelId, version: u32) -> Arc<Cell> {
        Cell::make(Some(value), Link::Root, birth, version, 0)
    }

    fn make(value: Option<Tensor>, link: Link, birth: LevelId, version: u32, seen: u32) -> Arc<Cell> {
        let state = State { value, shell: None, link, birth, version, seen, dependents: Vec::new(), successor: None };
        Arc::new(Cell { state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Replaces the value and what comes with it. The old value is dropped when the lock is free: that may run code of
    /// the host language, which may come back here.
    fn replace(&self, value: Option<Tensor>, change: impl FnOnce(&mut State)) {
        let old = {
            let mut s = self.state();
            change(&mut s);
            (std::mem::replace(&mut s.value, value), s.shell.take())
        };
        drop(old);
    }

    /// Registers a cell whose value shares memory with this one's.
    fn depends(self: &Arc<Cell>, on: &Cell) {
        let mut s = on.state();
        if s.dependents.len() == s.dependents.capacity() {
            s.dependents.retain(|w| w.strong_count() > 0);
        }
        s.dependents.push(Arc::downgrade(self));
    }

    /// A view with the present value `value`, which `lens` made of this cell's.
    pub fn view(self: &Arc<Cell>, lens: Lens, value: Tensor) -> Result<Arc<Cell>> {
        let base = self.read()?;
        let (root, depth) = match &self.state().link {
            Link::View(v) => (v.root.clone(), v.depth + 1),
            _ => (self.clone(), 0),
        };
        let root_value = if depth == 0 { base } else { root.read()? };
        let region = region_in_memory(&root_value, &value);
        drop(root_value);
        let view = View {
            parent: self.clone(),
            root,
            lens,
            region,
            recorded: level::grad_enabled(),
            dtype: value.dtype(),
            depth,
        };
        let view = if depth < MAX_DEPTH { view } else { flattened(view)? };
        let root = view.root.clone();
        let seen = root.state().version;
        let cell = Cell::make(Some(value), Link::View(view), level::current(), 0, seen);
        cell.depends(&root);
        Ok(cell)
    }

    /// A cell with the same elements and no history.
    pub fn detached(self: &Arc<Cell>) -> Result<Arc<Cell>> {
        let value = distinct(strip(&self.read()?)?);
        let (parent, region) = self.data_root()?;
        let seen = parent.state().version;
        let link = Link::Alias { parent: parent.clone(), region };
        let cell = Cell::make(Some(value), link, level::current(), 0, seen);
        cell.depends(&parent);
        Ok(cell)
    }

    /// A cell with the same elements and its own history, that of `value`.
    pub fn with_history(self: &Arc<Cell>, value: Tensor) -> Result<Arc<Cell>> {
        let cell = self.detached()?;
        cell.replace(Some(value), |_| ());
        Ok(cell)
    }

    /// Gives the elements another history, `value`'s. A view cannot have one of its own: it becomes another cell, which
    /// is returned.
    pub fn adopt(self: &Arc<Cell>, value: Tensor) -> Result<Option<Arc<Cell>>> {
        if self.is_view() {
            return self.with_history(value).map(Some);
        }
        self.refresh()?;
        self.replace(Some(value), |_| ());
        Ok(None)
    }

    /// The argument of a function under `vmap` or `jvp`: `value` is this cell's value lifted to its level.
    pub fn lifted(self: &Arc<Cell>, value: Tensor) -> Arc<Cell> {
        let dim = match value.payload() {
            Some(Payload::Batched { dim, .. }) => Some(*dim),
            _ => None,
        };
        let level = value.level();
        let seen = self.state().version;
        let cell = Cell::make(Some(value), Link::Lift { parent: self.clone(), level, dim }, level, 0, seen);
        cell.depends(self);
        cell
    }

    /// The cell that holds the elements without history, and where in it they are. A root that has a history hands its
    /// elements to a new cell, so that who shares the elements does not keep the graph alive.
    fn data_root(self: &Arc<Cell>) -> Result<(Arc<Cell>, Option<Region>)> {
        let link = self.state().link.clone();
        match link {
            Link::Alias { parent, region } => Ok((parent, region)),
            Link::View(v) => {
                let region = self.region()?;
                Ok(match v.root.data_root()? {
                    (data, None) => (data, Some(region)),
                    (data, Some(outer)) => (data, Some(outer.compose(&region))),
                })
            }
            Link::Lift { .. } => Ok((self.clone(), None)),
            Link::Root => {
                let value = self.read()?;
                if !history::has_history(&value) {
                    return Ok((self.clone(), None));
                }
                let plain = strip(&value)?;
                let data = {
                    let mut s = self.state();
                    let data = Cell::root(plain, s.birth, s.version);
                    s.link = Link::Alias { parent: data.clone(), region: None };
                    s.seen = s.version;
                    data
                };
                self.depends(&data);
                Ok((data, None))
            }
        }
    }

    /// The present value; if it can no longer be made, because a transform has returned, one that says so when used.
    pub fn read_or_stale(self: &Arc<Cell>) -> Tensor {
        self.read().unwrap_or_else(|_| {
            let (value, root) = {
                let s = self.state();
                let root = match &s.link {
                    Link::View(v) => Some(v.root.clone()),
                    Link::Alias { parent, .. } | Link::Lift { parent, .. } => Some(parent.clone()),
                    Link::Root => None,
                };
                (s.value.clone(), root)
            };
            match (value, root) {
                (Some(value), _) => value,
                (None, Some(root)) => root.read_or_stale(),
                (None, None) => Tensor::scalar(DType::F32, f64::NAN),
            }
        })
    }

    /// The present value.
    pub fn read(self: &Arc<Cell>) -> Result<Tensor> {
        let (link, seen, value) = {
            let s = self.state();
            (s.link.clone(), s.seen, s.value.clone())
        };
        match link {
            Link::Root => value.ok_or_else(|| Error::internal("a cell has lost its value")),
            Link::View(v) => {
                v.root.refresh()?;
                let version = v.root.state().version;
                match value {
                    Some(value) if seen == version => Ok(value),
                    _ => self.reread(&v, version),
                }
            }
            Link::Alias { parent, region } => {
                parent.refresh()?;
                let version = parent.state().version;
                match value {
                    Some(value) if seen == version => Ok(value),
                    value => {
                        let data = strip(&parent.read()?)?;
                        let data = region.map_or_else(|| Ok(distinct(data.clone())), |r| part::read(&data, &r))?;
                        let around = value.or_else(|| self.state().shell.take());
                        let value = around.map_or_else(|| Ok(data.clone()), |shell| rewrap(&shell, &data))?;
                        Ok(self.remember(&parent, value, version))
                    }
                }
            }
            Link::Lift { parent, level, dim } => {
                parent.refresh()?;
                let version = parent.state().version;
                match value {
                    Some(value) if seen == version || !level::is_live(level) => Ok(value),
                    value => {
                        let base = parent.read()?;
                        let around = value.or_else(|| self.state().shell.take());
                        let value = match (dim, around.as_ref().and_then(|v| v.payload_at(level))) {
                            (Some(dim), _) => Tensor::batched(level, base, dim),
                            (None, Some(Payload::Dual { tangent, .. })) => Tensor::dual(level, base, tangent.clone()),
                            _ => base,
                        };
                        Ok(self.remember(&parent, value, version))
                    }
                }
            }
        }
    }

    fn reread(self: &Arc<Cell>, v: &View, version: u32) -> Result<Tensor> {
        let base = v.parent.read()?;
        let _mode = GradMode::set(v.recorded);
        let value = v.lens.apply(&base)?;
        self.replace(Some(value.clone()), |s| s.seen = version);
        self.depends(&v.root);
        Ok(value)
    }

    /// Keeps a value made from `version` of the parent. Views of this cell see that it moved.
    fn remember(self: &Arc<Cell>, parent: &Arc<Cell>, value: Tensor, version: u32) -> Tensor {
        self.replace(Some(value.clone()), |s| {
            s.version += u32::from(s.seen != version);
            s.seen = version;
        });
        self.depends(parent);
        value
    }

    /// Brings the version up to date with what lies below.
    fn refresh(self: &Arc<Cell>) -> Result<()> {
        if matches!(self.state().link, Link::Root) { Ok(()) } else { self.read().map(drop) }
    }

    /// The tensor that had this cell has another one now. One that shows the elements of this cell needs no mention, and
    /// would hold it for ever.
    pub fn succeed(self: &Arc<Cell>, by: &Arc<Cell>) {
        let mut below = Some(by.clone());
        while let Some(cell) = below {
            if Arc::ptr_eq(&cell, self) {
                return;
            }
            below = match &cell.state().link {
                Link::Root => None,
                Link::View(View { parent, .. }) | Link::Alias { parent, .. } | Link::Lift { parent, .. } => {
                    Some(parent.clone())
                }
            };
        }
        self.state().successor = Some(by.clone());
    }
    pub fn successor(&self) -> Option<Arc<Cell>> {
        self.state().successor.clone()
    }

    /// How often the elements were written to.
    pub fn version(self: &Arc<Cell>) -> u32 {
        let root = match &self.state().link {
            Link::View(v) => Some(v.root.clone()),
            _ => None,
        };
        root.map_or_else(|| self.state().version, |r| r.state().version)
    }

    pub fn birth(&self) -> LevelId {
        self.state().birth
    }

    pub fn is_view(&self) -> bool {
        matches!(self.state().link, Link::View(_))
    }

    /// The elements of the root that a view shows.
    pub fn region(self: &Arc<Cell>) -> Result<Region> {
        let view = match &self.state().link {
            Link::View(v) => v.clone(),
            _ => bail!(Internal, "only views have a region"),
        };
        let region = region_of(&view)?;
        if let Link::View(v) = &mut self.state().link {
            v.region = Some(region.clone());
        }
        Ok(region)
    }

    /// Forgets values that share memory with this cell's.
    fn drop_dependents(self: &Arc<Cell>) {
        let dependents = std::mem::take(&mut self.state().dependents);
        for cell in dependents.iter().filter_map(Weak::upgrade) {
            let dropped = {
                let mut s = cell.state();
                let value = s.value.take();
                if let (Some(v), Link::Alias { .. } | Link::Lift { .. }) = (&value, &s.link) {
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
        let view = match &self.state().link {
            Link::View(v) => v.clone(),
            _ => return Ok(()),
        };
        check_leaf(op, &view.root.read()?, true)?;
        if let Some(what) = view.lens.forbids_writes()
            && history::has_history(&view.root.read()?)
            && level::grad_enabled()
        {
            bail!(
                Runtime,
                "{op}(): {what} is a view and is being modified inplace. This view is the output of a function that \
                 returns multiple views. Such functions do not allow the output views to be modified inplace. You \
                 should replace the inplace operation by an out-of-place one"
            );
        }
        Ok(())
    }

    /// Writes the result of an in-place operator, of this cell's shape and dtype.
    pub fn write(self: &Arc<Cell>, op: &str, new: Tensor) -> Result<()> {
        let view = match &self.state().link {
            Link::View(v) => Some(v.clone()),
            _ => None,
        };
        let Some(v) = view else { return self.write_whole(op, new) };
        if v.dtype != v.root.read()?.dtype() {
            bail!(NotImplemented, "{op}(): writing through a view of another dtype; write to the tensor itself");
        }
        if !v.recorded && level::grad_enabled() && history::has_history(&new) {
            bail!(
                Runtime,
                "{op}(): A view was created in no_grad mode and is being modified inplace with grad mode enabled. Make \
                 the view where gradients are enabled, or write to it under no_grad"
            );
        }
        let region = self.region()?;
        v.root.write_region(op, &region, &new)
    }

    fn write_whole(self: &Arc<Cell>, op: &str, new: Tensor) -> Result<()> {
        let (old, birth) = (self.read()?, self.birth());
        let new = merge(op, &old, birth, new)?;
        self.drop_dependents();
        self.install(op, new)
    }

    /// Writes to a region of this cell, which is no view.
    pub fn write_region(self: &Arc<Cell>, op: &str, region: &Region, value: &Tensor) -> Result<()> {
        if self.is_view() {
            bail!(Internal, "write_region() of a view");
        }
        self.refresh()?;
        self.drop_dependents();
        let (old, birth) = {
            let mut s = self.state();
            (s.value.take(), s.birth)
        };
        let old = match old {
            Some(old) => old,
            None => self.read()?,
        };
        match merge_region(op, old, birth, region, value) {
            Ok(new) => self.install(op, new),
            Err((old, e)) => {
                self.replace(Some(old), |_| ());
                Err(e)
            }
        }
    }

    /// Puts the new value in place, and its elements where they belong.
    fn install(self: &Arc<Cell>, op: &str, new: Tensor) -> Result<()> {
        let link = self.state().link.clone();
        let parent = match &link {
            Link::Root | Link::View(_) => None,
            Link::Alias { parent, region } => {
                parent.write_data(op, region.as_ref(), &strip(&new)?)?;
                Some(parent)
            }
            Link::Lift { parent, level, dim } => {
                parent.write(op, lower(&new, *level, *dim)?)?;
                Some(parent)
            }
        };
        let seen = parent.map_or(0, |p| p.state().version);
        self.replace(Some(new), |s| {
            s.version += 1;
            s.seen = seen;
        });
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
        let written = match region {
            None => merge(op, &plain, birth, data.clone()).map_err(|e| (plain, e)),
            Some(region) => merge_region(op, plain, birth, region, data),
        };
        let around = |data: Tensor| shell.as_ref().map_or_else(|| Ok(data.clone()), |s| rewrap(s, &data));
        match written {
            Ok(data) => {
                let new = around(data)?;
                self.install(op, new)
            }
            Err((data, e)) => {
                let old = around(data)?;
                self.replace(Some(old), |_| ());
                Err(e)
            }
        }
    }

    /// The cell whose memory is this one's, and the value here with its elements in a buffer that nobody else holds or
    /// that is visible outside already.
    pub fn export(self: &Arc<Cell>) -> Result<Tensor> {
        let (data, _) = self.data_root()?;
        if matches!(data.state().link, Link::Root) {
            data.settle_memory()?;
        }
        self.read()
    }

    fn settle_memory(self: &Arc<Cell>) -> Result<()> {
        self.drop_dependents();
        let value = self.state().value.take();
        let Some(mut value) = value else { bail!(Internal, "a cell has lost its value") };
        let made = super::slot::make_exportable(&mut value);
        self.replace(Some(value), |s| s.version += 1);
        made
    }
}

/// Another handle on the same elements: a detached tensor is another argument than the tensor itself.
fn distinct(t: Tensor) -> Tensor {
    t.dense().cloned().map_or(t, Tensor::from)
}

/// The value of the level below for a value of a lifted cell.
fn lower(new: &Tensor, level: LevelId, dim: Option<usize>) -> Result<Tensor> {
    match (new.payload_at(level), dim) {
        (Some(Payload::Batched { value, dim: from }), Some(to)) => basis::move_dim(value, *from, to),
        (Some(Payload::Dual { primal, .. }), _) => Ok(primal.clone()),
        (None, Some(dim)) => {
            // Written with a value that is the same for all members.
            let size = level::with(level, |l| match l.kind {
                level::LevelKind::Batch { size, .. } => size,
                _ => 1,
            });
            let stacked = basis::expand(new, &new.shape().prepend(size.unwrap_or(1)))?;
            basis::move_dim(&stacked, 0, dim)
        }
        _ => Ok(new.clone()),
    }
}

/// The elements of the root that a view shows.
fn region_of(v: &View) -> Result<Region> {
    if let Some(region) = &v.region {
        return Ok(region.clone());
    }
    let parent = match &v.parent.state().link {
        Link::View(p) => Some(p.clone()),
        _ => None,
    };
    let base = match &parent {
        Some(p) => region_of(p)?,
        None => Region::whole(v.root.read()?.shape()),
    };
    if let (Region::Strided(l), Some(part)) = (&base, v.lens.part()) {
        return Ok(Region::Strided(part(l)?));
    }
    // Nothing of this belongs into a program that is being recorded.
    let _outside = level::Below::all();
    let at = v.lens.apply(&positions(&base)?)?;
    let list = at.to_vec::<i64>()?;
    Ok(Region::of_positions(at.shape(), &list))
}

/// The same view, of the root itself.
fn flattened(v: View) -> Result<View> {
    let region = region_of(&v)?;
    if region.overlaps() || v.dtype != v.root.read()?.dtype() {
        return Ok(v);
    }
    let root = v.root;
    let lens = Lens::region(region.clone());
    Ok(View { parent: root.clone(), root, lens, region: Some(region), recorded: v.recorded, dtype: v.dtype, depth: 0 })
}
