//! What of a cell lies in memory: where the elements are, and whether they are conjugates or negatives of what is there.

use super::super::history::strip;
use super::super::lens::Lens;
use super::super::numbers::Numbers;
use super::super::read;
use super::link::{ViewLink, in_memory};
use super::{Cell, Face};
use crate::base::{Error, Layout, Result};
use crate::core::tensor::Payload;
use crate::core::{Tensor, level};
use crate::dense::{Array, stack};
use crate::ops::{bits, complex};
use crate::rules::part;
use std::sync::Arc;

/// How elements follow from the numbers that are in memory.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Delayed {
    pub conjugated: bool,
    pub negated: bool,
    /// Only the imaginary ones of these parts are negated: those of conjugates.
    halves: bool,
}

impl Delayed {
    /// Whether the elements are what is in memory.
    pub fn is_none(self) -> bool {
        self == Delayed::default()
    }

    /// An error if the elements are not what is in memory.
    pub fn check(self, op: &str) -> Result<()> {
        let (bit, resolve) = match self {
            Delayed { conjugated: true, negated: true, .. } => {
                ("conjugate and negative bits", "resolve_conj().resolve_neg()")
            }
            Delayed { conjugated: true, .. } => ("conjugate bit", "resolve_conj()"),
            Delayed { negated: true, .. } => ("negative bit", "resolve_neg()"),
            Delayed { halves: true, .. } => ("negative bit for every other element", "clone()"),
            _ => return Ok(()),
        };
        Err(Error::runtime(format!(
            "Can't call {op} on Tensor that has {bit} set. Use tensor.{resolve}.{op} instead: its elements are nowhere in \
             memory"
        )))
    }

    fn through(self, numbers: Numbers) -> Delayed {
        match numbers {
            Numbers::Conjugates => Delayed { conjugated: !self.conjugated, ..self },
            Numbers::Negatives => Delayed { negated: !self.negated, ..self },
            Numbers::Parts => Delayed { conjugated: false, halves: self.conjugated, ..self },
            Numbers::Whole => Delayed { conjugated: self.halves, halves: false, ..self },
        }
    }
}

fn share_memory(a: &Tensor, b: &Tensor) -> bool {
    let buffer = |t| read::innermost(t).and_then(Array::buffer);
    matches!((buffer(a), buffer(b)), (Some(a), Some(b)) if Arc::ptr_eq(a, b))
}

/// What a view does to a layout; None if what it gives is a copy.
pub fn seen(lens: &Lens, layout: &Layout) -> Result<Option<Layout>> {
    if let Some(part) = lens.part() {
        return part(layout).map(Some);
    }
    let _outside = level::Below::all();
    let place = Tensor::from(in_memory(layout)?);
    let shown = lens.apply(&place)?;
    Ok(match (place.dense().and_then(Array::buffer), shown.dense().and_then(Array::buffer)) {
        (Some(a), Some(b)) if Arc::ptr_eq(a, b) => Some(shown.array()?.layout()),
        _ => None,
    })
}

/// The layout of a value in a memory whose first element counts as the one at `to` and not as the one at `from`.
fn moved(value: &Tensor, from: usize, to: usize) -> Layout {
    let (strides, offset) = read::layout(value);
    Layout { shape: value.shape().clone(), strides, offset: offset.saturating_sub(from).saturating_add(to) }
}

/// The layout of numbers that are shown in another form.
fn in_form(numbers: Numbers, l: Layout) -> Layout {
    match numbers {
        Numbers::Conjugates | Numbers::Negatives => l,
        Numbers::Parts => complex::layout_of_parts(l),
        Numbers::Whole => complex::layout_of_whole(l),
    }
}

impl Cell {
    /// How the elements follow from the numbers that are in memory.
    pub fn delayed(self: &Arc<Cell>) -> Delayed {
        let (mut on_the_way, mut cell) = (Vec::new(), self.clone());
        loop {
            let below = match &cell.state().link {
                ViewLink::View(v) => v.root.clone(),
                ViewLink::Alias { parent, .. }
                | ViewLink::Lift { parent, face: Face::Dual { .. } | Face::Primal { .. } } => parent.clone(),
                ViewLink::Lift { parent, face: Face::Numbers { numbers, .. } } => {
                    on_the_way.push(*numbers);
                    parent.clone()
                }
                _ => break,
            };
            cell = below;
        }
        on_the_way.into_iter().rev().fold(Delayed::default(), Delayed::through)
    }

    /// The cell that this one shows the `numbers` of, with the same lenses, if recorded as this one is.
    pub(in crate::skin) fn behind(self: &Arc<Cell>, numbers: Numbers) -> Result<Option<Arc<Cell>>> {
        let link = self.state().link.clone();
        match link {
            ViewLink::Lift { parent, face: Face::Numbers { numbers: n, recorded } } if n == numbers => {
                Ok((recorded || !level::grad_enabled()).then_some(parent))
            }
            ViewLink::View(v) if numbers.is_elementwise() && (v.recorded || !level::grad_enabled()) => {
                if self.made().is_some() {
                    return Ok(None);
                }
                v.parent.behind(numbers)?.map(|below| below.through(v.lens)).transpose()
            }
            _ => Ok(None),
        }
    }

    /// Sizes, strides and offset of the elements, for small ones as if they were in memory too.
    pub fn layout(self: &Arc<Cell>) -> Result<Layout> {
        stack::check()?;
        let value = self.read()?;
        let link = self.state().link.clone();
        match link {
            ViewLink::Root => Ok(own_layout(&value)),
            ViewLink::View(v) => {
                let root = v.root.layout()?;
                if (root.is_contiguous() || root.is_dense())
                    && let Some(l) = self.region()?.in_layout(&root)
                {
                    return Ok(l);
                }
                let base = v.root.read()?;
                if !share_memory(&base, &value)
                    && let Some(l) = seen(&v.lens, &v.parent.layout()?)?
                {
                    return Ok(l);
                }
                Ok(moved(&value, read::layout(&base).1, root.offset))
            }
            ViewLink::Lift { parent, face: Face::Numbers { numbers, .. } } => Ok(in_form(numbers, parent.layout()?)),
            ViewLink::Lift { parent, face: Face::Bits } => {
                let from = parent.read()?.dtype();
                bits::relayout(&parent.layout()?, from, value.dtype())
            }
            ViewLink::Lift { parent, face: Face::Dual { .. } | Face::Primal { .. } } => parent.layout(),
            ViewLink::Alias { parent, region: None } => parent.layout(),
            ViewLink::Alias { parent, region: Some(region) } => {
                let whole = parent.layout()?;
                match region.in_layout(&whole) {
                    Some(l) => Ok(l),
                    None => Ok(moved(&value, read::layout(&parent.read()?).1, whole.offset)),
                }
            }
            ViewLink::Lift { .. } => Ok(moved(&value, 0, 0)),
        }
    }

    /// The value, with its elements in a buffer that nobody else holds or that is visible outside already.
    ///
    /// # Errors
    /// `Runtime` if the elements are nowhere in memory, because conjugation or negation is delayed.
    pub fn export(self: &Arc<Cell>, op: &str) -> Result<Tensor> {
        self.delayed().check(op)?;
        self.export_memory()
    }

    /// As [`Cell::export`], with what is in memory where the elements are conjugates or negatives of it.
    pub fn export_memory(self: &Arc<Cell>) -> Result<Tensor> {
        stack::check()?;
        let (data, _) = self.data_root()?;
        let link = data.state().link.clone();
        match link {
            ViewLink::Root => {
                data.settle_memory()?;
                if !matches!(self.state().link, ViewLink::Alias { .. }) {
                    data.show();
                }
                self.read()
            }
            ViewLink::Lift { parent, face: Face::Bits | Face::Numbers { .. } } => {
                drop(parent.export_memory()?);
                let _outside = level::Below::all();
                self.physical()
            }
            _ => self.read(),
        }
    }

    /// What is in memory, as this cell shows it, without history.
    fn physical(self: &Arc<Cell>) -> Result<Tensor> {
        let link = self.state().link.clone();
        match link {
            ViewLink::View(v) => v.lens.apply(&v.parent.physical()?),
            ViewLink::Alias { parent, region: None } => parent.physical(),
            ViewLink::Alias { parent, region: Some(region) } => {
                let whole = parent.physical()?;
                let array = read::innermost(&whole).filter(|_| whole.payload().is_none());
                match array.and_then(|a| Some((a.buffer()?, region.in_layout(&a.layout())?, a.dtype()))) {
                    Some((buffer, part, dtype)) => Ok(Array::from_buffer(buffer.clone(), dtype, part)?.into()),
                    None => part::read(&whole, &region),
                }
            }
            ViewLink::Lift { parent, face: Face::Numbers { numbers, .. } } => numbers.in_memory(&parent.physical()?),
            ViewLink::Lift { parent, face: Face::Bits } => bits::view_dtype(&parent.physical()?, self.read()?.dtype()),
            ViewLink::Lift { parent, face: Face::Dual { .. } | Face::Primal { .. } } => parent.physical(),
            _ => strip(&self.read()?),
        }
    }

    fn settle_memory(self: &Arc<Cell>) -> Result<()> {
        self.drop_dependents();
        let value = self.state().value.take();
        let Some(mut value) = value else { crate::bail!(Internal, "a cell has lost its value") };
        let made = super::super::slot::make_exportable(&mut value);
        self.replace(Some(value), |s| {
            s.version = s.version.wrapping_add(1);
            s.moves = s.moves.wrapping_add(1);
            s.placed = true;
        });
        made
    }
}

/// The layout of a value in memory of its own: an operator that had nothing to do may have left it in somebody else's.
pub fn own_layout(value: &Tensor) -> Layout {
    let (strides, offset) = read::layout(value);
    // Dimensions that run backwards begin behind the first element, and a batch's members are where the batch says.
    let begins = !matches!(value.payload(), Some(Payload::Batched { .. })) && strides.iter().all(|s| *s >= 0);
    Layout { shape: value.shape().clone(), strides, offset: if begins { 0 } else { offset } }
}
