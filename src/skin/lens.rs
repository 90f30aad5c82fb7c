//! How a view's value is made from its base's, again and again.

use super::cell::MadeBy;
use super::index;
use super::read::{innermost, layout};
use crate::base::{Error, Layout, Result};
use crate::core::Tensor;
use crate::core::level::Randomness;
use crate::core::origin::Origin;
use crate::dense::region::Region;
use crate::ops::value::IndexItem;
use crate::ops::{Entry, Value, indexing};
use crate::rules::part;
use crate::transforms::vmap::Batch;
use std::sync::Arc;

/// An operator that gave a view, without its base, and which of its outputs the view is.
#[derive(Clone)]
pub struct Lens {
    call: ReplayedView,
    output: usize,
}

#[derive(Clone)]
enum ReplayedView {
    /// An entry of the table; the first argument stands for the base.
    Entry {
        entry: &'static Entry,
        args: Arc<[Value]>,
        many: bool,
    },
    Index(Arc<[IndexItem]>),
    Region(Arc<Region>),
    /// For each member along `from`, what the lenses show one after another; the members are along `to` then.
    Members {
        lenses: Arc<[Lens]>,
        origin: Origin,
        from: usize,
        to: usize,
    },
}

/// Lenses of all outputs of a call; `many` if it may have several.
pub fn lenses(entry: &'static Entry, mut args: Vec<Value>, outputs: usize, many: bool) -> impl Iterator<Item = Lens> {
    if let Some(base) = args.first_mut() {
        // The base's memory must not be held here.
        *base = Value::Missing;
    }
    let args: Arc<[Value]> = args.into();
    (0..outputs).map(move |output| Lens { call: ReplayedView::Entry { entry, args: args.clone(), many }, output })
}

impl Lens {
    /// A basic index.
    pub fn index(items: Vec<IndexItem>) -> Lens {
        Lens { call: ReplayedView::Index(items.into()), output: 0 }
    }
    pub fn region(region: Region) -> Lens {
        Lens { call: ReplayedView::Region(Arc::new(region)), output: 0 }
    }
    /// What `lenses` show of each member of a batch.
    pub fn members(lenses: Vec<Lens>, origin: Origin, from: usize, to: usize) -> Lens {
        Lens { call: ReplayedView::Members { lenses: lenses.into(), origin, from, to }, output: 0 }
    }

    /// The view of a value.
    pub fn apply(&self, base: &Tensor) -> Result<Tensor> {
        match &self.call {
            ReplayedView::Index(items) => indexing::get(base, items),
            ReplayedView::Region(region) => part::show(base, region),
            ReplayedView::Members { lenses, origin, from, to } => {
                let batch = Batch::open(base.shape()[*from], Randomness::Error, *origin)?;
                let member = lenses.iter().try_fold(batch.lift(base, *from), |member, lens| lens.apply(&member))?;
                batch.lower(&member, *to)
            }
            ReplayedView::Entry { entry, args, .. } => {
                let mut args = args.to_vec();
                if let Some(first) = args.first_mut() {
                    *first = Value::Tensor(base.clone());
                }
                let out = (entry.run)(&args)?;
                outputs(&out)
                    .nth(self.output)
                    .cloned()
                    .ok_or_else(|| Error::internal(format!("{}(): gave fewer views than before", entry.short_name())))
            }
        }
    }

    /// The part of a layout that the view shows, where that is known without running it.
    pub fn part(&self) -> Option<impl Fn(&Layout) -> Result<Layout> + '_> {
        match &self.call {
            ReplayedView::Index(items) => Some(|l: &Layout| index::part(l, items)),
            _ => None,
        }
    }

    /// Which of several outputs it shows, and of what: it must not be written to while a tape records.
    pub fn one_of_several(&self) -> Option<MadeBy> {
        match &self.call {
            ReplayedView::Entry { entry, many: true, .. } => {
                Some(MadeBy { function: capitalised(entry.short_name()), output: self.output, several: true })
            }
            ReplayedView::Members { lenses, .. } => lenses.iter().find_map(Lens::one_of_several),
            _ => None,
        }
    }
}

/// The name of an operator as that of its node begins: `Unbind`.
fn capitalised(name: &str) -> String {
    let (first, rest) = name.split_at(name.len().min(1));
    format!("{}{rest}", first.to_uppercase())
}

/// The tensors of a result.
pub fn outputs(v: &Value) -> Box<dyn Iterator<Item = &Tensor> + '_> {
    match v {
        Value::Tensor(t) => Box::new(std::iter::once(t)),
        Value::List(items) | Value::Tuple(items) => Box::new(items.iter().flat_map(outputs)),
        _ => Box::new(std::iter::empty()),
    }
}

/// The positions of a region's elements, as an integer tensor of its shape.
pub fn positions(region: &Region) -> Result<Tensor> {
    Tensor::from_slice(region.shape().clone(), &region.positions()?)
}

/// The elements of `root` that `view` shows, read off their places in memory; `None` if that does not tell.
pub fn region_in_memory(root: &Tensor, view: &Tensor) -> Option<Region> {
    // An array without elements says nothing of where they would be.
    let (a, b) = (innermost(root)?, innermost(view).filter(|b| b.shape().numel() > 0)?);
    if !Arc::ptr_eq(a.buffer()?, b.buffer()?) || root.dtype() != view.dtype() {
        return None;
    }
    let (strides, offset) = layout(root);
    if !(Layout { shape: root.shape().clone(), strides, offset }).is_contiguous() {
        return None;
    }
    let (strides, start) = layout(view);
    let region = Layout { shape: view.shape().clone(), strides, offset: start.checked_sub(offset)? };
    let inside = region.needed().is_some_and(|n| n <= root.numel());
    inside.then_some(Region::Strided(region))
}
