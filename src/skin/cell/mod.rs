//! Shared cells: tensors that have views, and the views.
//!
//! NOTE. Cells form a tree. A *view* reads its elements through its base at the root of the tree, and a write to it is
//! a write to the root. An *alias* shares the elements of its parent and has a history of its own (`detach()`, `.data`,
//! a view that became a leaf). A *lift* is another face of the caller's tensor: its value at a level (the argument of a
//! function under `vmap` or `jvp`, a dual tensor), the parts of a dual tensor, the bits under another dtype. Each write
//! counts up the version of the root, and a cell whose value was made from an older version makes it again when it is
//! read:
//! ```text
//! y = a * 2         y ── root, version 0
//! v = y[0]          v ── view of y, seen 0
//! d = y.detach()    y ── alias of D,  d ── alias of D     (D: the elements, without history)
//! d.mul_(3)         D version 1; y sees it, keeps its node, version 1; v sees it and reads y again
//! ```
//! Values of dependents are dropped before a write, so that the memory is not shared and can be written in place.

mod copying;
mod counting;
mod lend;
mod lift;
mod link;
mod members;
mod memory;
mod physical;
mod reach;
mod reading;
mod strided;
mod writing;

pub use copying::{Copies, deep_copy};
pub use lift::{Companion, Face};
pub use physical::{Delayed, own_layout, seen};

use super::history::{self, strip};
use super::lens::{Lens, region_in_memory};
use crate::base::Result;
use crate::core::level;
use crate::core::tensor::Payload;
use crate::core::{LevelId, Meta, Tensor};
use crate::dense::region::Region;
use link::{MAX_DEPTH, View, ViewLink, flattened};
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
    link: ViewLink,
    birth: LevelId,
    /// Counts writes, and moves to other memory, after which dependents read again.
    version: u32,
    /// By how much it exceeds the count of writes that programs see: by moves, less changes of a shape in place.
    moves: u32,
    /// How many writes came by handles that share the elements and not the history.
    beside: u32,
    /// Whether writes by this handle count here, and not where the elements are.
    apart: bool,
    /// Whether the memory was shown to others, who may have written to it.
    shown: bool,
    /// Whether programs know the address of the memory.
    placed: bool,
    /// The version of the root or parent that the value was made from.
    seen: u32,
    /// Cells whose values share memory with this one.
    dependents: Vec<Weak<Cell>>,
    /// What the tensor that had this cell has now.
    successor: Option<Arc<Cell>>,
    /// The object of the host language that stands for the cell, if it said so; its address says nothing about its life.
    host: usize,
    /// The custom function that returned it, where it shows elements of another tensor.
    made_by: Option<Box<MadeBy>>,
}

impl State {
    fn writes(&self) -> u32 {
        self.version.wrapping_sub(self.moves)
    }
}

/// Which result of a custom function.
#[derive(Clone)]
pub struct MadeBy {
    pub function: String,
    pub output: usize,
    /// Whether the function has several results.
    pub several: bool,
}

impl Cell {
    pub fn root(value: Tensor, birth: LevelId, version: u32) -> Arc<Cell> {
        Cell::make(Some(value), ViewLink::Root, birth, version, 0)
    }

    fn make(value: Option<Tensor>, link: ViewLink, birth: LevelId, version: u32, seen: u32) -> Arc<Cell> {
        let state = State {
            value,
            shell: None,
            link,
            birth,
            version,
            moves: 0,
            beside: 0,
            apart: false,
            shown: false,
            placed: false,
            seen,
            dependents: Vec::new(),
            successor: None,
            host: 0,
            made_by: None,
        };
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
        let value = history::as_result(value, &base)?;
        let (root, depth) = match &self.state().link {
            ViewLink::View(v) => (v.root.clone(), v.depth + 1),
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
            inference: level::inference(),
            dtype: value.dtype(),
            depth,
        };
        let view = if depth < MAX_DEPTH { view } else { flattened(view)? };
        let root = view.root.clone();
        let seen = root.state().version;
        let cell = Cell::make(Some(value), ViewLink::View(view), level::current(), 0, seen);
        cell.depends(&root);
        Ok(cell)
    }

    /// A cell with the same elements and no history.
    pub fn detached(self: &Arc<Cell>) -> Result<Arc<Cell>> {
        let value = distinct(strip(&self.read()?)?);
        let (parent, region) = self.data_root()?;
        let seen = parent.state().version;
        let link = ViewLink::Alias { parent: parent.clone(), region };
        let cell = Cell::make(Some(value), link, level::current(), 0, seen);
        cell.depends(&parent);
        Ok(cell)
    }

    /// As [`Cell::detached`], with a count of its own writes that begins at `writes`.
    pub fn apart(self: &Arc<Cell>, writes: u32) -> Result<Arc<Cell>> {
        let cell = self.detached()?;
        cell.count_from(writes);
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
        let face = match dim {
            Some(dim) => Face::Batch { level, dim },
            None => Face::Dual { level, tangent: None },
        };
        self.lift(face, value, level)
    }

    fn lift(self: &Arc<Cell>, face: Face, value: Tensor, birth: LevelId) -> Arc<Cell> {
        let seen = self.stamp().wrapping_add(face.stamp());
        let cell = Cell::make(Some(value), ViewLink::Lift { parent: self.clone(), face }, birth, 0, seen);
        cell.depends(self);
        cell
    }

    /// Another face of this cell, with its present value.
    pub fn face(self: &Arc<Cell>, face: Face, value: Tensor) -> Arc<Cell> {
        // What is the same face of a face is one of the cell below: chains stay short.
        let below = match (&self.state().link, &face) {
            (ViewLink::Lift { parent, face: Face::Bits }, Face::Bits) => Some(parent.clone()),
            (ViewLink::Lift { parent, face: Face::Primal { level: a } }, Face::Primal { level: b }) if a == b => {
                Some(parent.clone())
            }
            _ => None,
        };
        if let Some(below) = below {
            return below.face(face, value);
        }
        self.lift(face, value, level::current())
    }

    /// The tangent that this dual tensor was made with, and the object that stands for it.
    pub fn companion(self: &Arc<Cell>, at: LevelId) -> Option<Companion> {
        match &self.state().link {
            ViewLink::Lift { face: Face::Dual { level, tangent }, .. } if *level == at => tangent.clone(),
            _ => None,
        }
    }

    /// The cell that holds the elements without history, and where in it they are. A root that has a history hands its
    /// elements to a new cell, so that who shares the elements does not keep the graph alive.
    fn data_root(self: &Arc<Cell>) -> Result<(Arc<Cell>, Option<Region>)> {
        let link = self.state().link.clone();
        match link {
            ViewLink::Alias { parent, region } => {
                let below =
                    matches!(parent.state().link, ViewLink::Alias { .. }).then(|| parent.data_root()).transpose()?;
                Ok(match below {
                    None | Some((_, None)) => (parent, region),
                    Some((data, outer)) if region.is_none() => (data, outer),
                    Some((data, outer)) => {
                        (data, outer.zip(region).map(|(outer, region)| outer.compose(&region)).transpose()?)
                    }
                })
            }
            ViewLink::View(v) => {
                let region = self.region()?;
                Ok(match v.root.data_root()? {
                    (data, None) => (data, Some(region)),
                    (data, Some(outer)) => (data, Some(outer.compose(&region)?)),
                })
            }
            ViewLink::Lift { parent, face: Face::Dual { .. } | Face::Primal { .. } } => parent.data_root(),
            ViewLink::Lift { .. } => Ok((self.clone(), None)),
            ViewLink::Root => {
                let value = self.read()?;
                if !history::has_history(&value) {
                    return Ok((self.clone(), None));
                }
                let plain = strip(&value)?;
                let data = {
                    let mut s = self.state();
                    let data = Cell::root(plain, s.birth, s.version);
                    data.state().placed = s.placed;
                    s.link = ViewLink::Alias { parent: data.clone(), region: None };
                    s.seen = s.version;
                    data
                };
                self.depends(&data);
                Ok((data, None))
            }
        }
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
                ViewLink::Root => None,
                ViewLink::View(View { parent, .. })
                | ViewLink::Alias { parent, .. }
                | ViewLink::Lift { parent, .. } => Some(parent.clone()),
            };
        }
        self.state().successor = Some(by.clone());
    }
    pub fn successor(&self) -> Option<Arc<Cell>> {
        self.state().successor.clone()
    }

    /// Whether the elements were written to, or shown to others for writing, otherwise than by `.data` and `detach()`.
    pub fn is_written(&self) -> bool {
        self.own_writes() != (0, false)
    }
    /// How many such writes there were, and whether there was such a showing.
    pub fn own_writes(&self) -> (u32, bool) {
        let s = self.state();
        (s.writes().wrapping_sub(s.beside), s.shown)
    }
    /// The memory is shown to others, for writing too.
    pub fn show(&self) {
        let mut s = self.state();
        (s.shown, s.placed) = (true, true);
    }

    /// What changes with each write that this cell's dependents must see.
    fn stamp(self: &Arc<Cell>) -> u32 {
        let root = match &self.state().link {
            ViewLink::View(v) => Some(v.root.clone()),
            _ => None,
        };
        root.map_or_else(|| self.state().version, |r| r.state().version)
    }

    pub fn birth(&self) -> LevelId {
        self.state().birth
    }

    /// Whether the elements are another cell's, with whose history this one's goes.
    pub fn is_view(&self) -> bool {
        matches!(self.state().link, ViewLink::View(_))
    }

    /// The cell that this one is a view of: the root.
    pub fn base(self: &Arc<Cell>) -> Option<Arc<Cell>> {
        let below = match &self.state().link {
            ViewLink::View(v) => v.root.clone(),
            ViewLink::Lift { parent, face } if face.shares_memory() => parent.clone(),
            _ => return None,
        };
        Some(below.base().unwrap_or(below))
    }

    /// A custom function returned it, and it shows elements of another tensor: what is recorded of it is the function.
    pub fn set_made_by(&self, function: MadeBy) {
        self.state().made_by = Some(Box::new(function));
    }

    /// The object that stands for the cell, as its owner said.
    pub fn host(&self) -> usize {
        self.state().host
    }
    /// Says which object stands for the cell, unless another does or it is a view; returns whether it is so now.
    pub fn claim(&self, host: usize) -> bool {
        let mut s = self.state();
        let free = s.host == 0 && !matches!(s.link, ViewLink::View(_));
        if free {
            s.host = host;
        }
        free
    }
    /// Says which object stands for the cell; 0 if none does any more.
    pub fn set_host(&self, host: usize) {
        self.state().host = host;
    }
}

/// Another handle on the same elements: a detached tensor is another argument than the tensor itself.
fn distinct(t: Tensor) -> Tensor {
    match t.dense() {
        Some(a) => a.clone().into(),
        None if t.level() == LevelId::ABSTRACT => Tensor::without_data(Meta::of(&t)),
        None => t,
    }
}
