//! Results of `vmap` that show what its arguments hold: they are the callers' tensors, or views of them.

use super::super::lens::Lens;
use super::link::ViewLink;
use super::{Cell, Face};
use crate::base::Result;
use crate::core::LevelId;
use crate::core::level::GradMode;
use crate::core::origin::Origin;
use crate::ops::bits::view_dtype;
use std::sync::Arc;

impl Cell {
    /// What this cell shows of a tensor below the batch level, which has closed, with the members along `to`; `None` if
    /// it shows none of the level's arguments.
    ///
    /// # Errors
    /// Those of reading the tensor below.
    pub fn members(self: &Arc<Cell>, level: LevelId, origin: Origin, to: usize) -> Result<Option<Arc<Cell>>> {
        match self.below_batch(level, origin, to)? {
            Some((cell, dim)) if dim != to => cell.through(Lens::members(Vec::new(), origin, dim, to)).map(Some),
            found => Ok(found.map(|(cell, _)| cell)),
        }
    }

    /// The cell below the level that has these elements, and along which dimension its members are: at `to` if a view
    /// has to be made anyway.
    fn below_batch(self: &Arc<Cell>, level: LevelId, origin: Origin, to: usize) -> Result<Option<(Arc<Cell>, usize)>> {
        let link = self.state().link.clone();
        match link {
            ViewLink::Lift { parent, face: Face::Batch { level: l, dim } } if l == level => Ok(Some((parent, dim))),
            ViewLink::Lift { parent, face: face @ (Face::Bits | Face::Numbers { .. }) } => {
                let Some((cell, dim)) = parent.below_batch(level, origin, 0)? else { return Ok(None) };
                let front = match dim {
                    0 => cell,
                    _ => cell.through(Lens::members(Vec::new(), origin, dim, 0))?,
                };
                let base = front.read()?;
                let value = match &face {
                    Face::Bits => view_dtype(&base, self.read_or_stale().dtype())?,
                    face => face.lift(&base, None)?,
                };
                Ok(Some((front.face(face, value), 0)))
            }
            ViewLink::View(v) => {
                let Some((cell, dim)) = v.root.below_batch(level, origin, 0)? else { return Ok(None) };
                let mut lenses = vec![v.lens.clone()];
                let mut above = v.parent.clone();
                loop {
                    let next = match &above.state().link {
                        ViewLink::View(v) => (v.lens.clone(), v.parent.clone()),
                        _ => break,
                    };
                    lenses.push(next.0);
                    above = next.1;
                }
                lenses.reverse();
                let _mode = GradMode::set(v.is_recorded());
                Ok(Some((cell.through(Lens::members(lenses, origin, dim, to))?, to)))
            }
            ViewLink::Alias { parent, region: None } => match parent.below_batch(level, origin, to)? {
                Some((cell, dim)) => Ok(Some((cell.detached()?, dim))),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }
}
