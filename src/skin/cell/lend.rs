//! The elements of a cell on loan to a kernel that changes them in place.

use super::super::history;
use super::super::lend::{self, Loan, Sole};
use super::Cell;
use super::link::ViewLink;
use crate::core::Tensor;
use std::sync::Arc;

impl Cell {
    /// The cell that the elements of this one are lent by: itself, or the one whose elements it shows all of.
    fn lender(self: &Arc<Cell>) -> Option<Arc<Cell>> {
        let link = self.state().link.clone();
        match link {
            ViewLink::Root => Some(self.clone()),
            ViewLink::Alias { parent, region: None } if matches!(parent.state().link, ViewLink::Root) => Some(parent),
            _ => None,
        }
    }

    /// What a tensor that only `handles` handles on this cell stand for holds by itself: nothing else shows its elements.
    pub fn sole(self: &Arc<Cell>, handles: usize) -> Option<Sole> {
        if Arc::strong_count(self) != handles || !lend::is_open() {
            return None;
        }
        let link = self.state().link.clone();
        let below = match link {
            ViewLink::Root => None,
            // One handle is in the cell, the other one here.
            ViewLink::Alias { parent, region: None }
                if Arc::strong_count(&parent) == 2 && matches!(parent.state().link, ViewLink::Root) =>
            {
                Some(parent)
            }
            _ => return None,
        };
        let value = self.read().ok()?;
        lend::plain(&value)?;
        let shown = self.is_written() || below.is_some_and(|cell| cell.is_written());
        Some(Sole { value, birth: self.birth(), version: self.version(), shown })
    }

    /// Whether [`Cell::lend`] gives them, as long as nobody else has them.
    pub fn is_lendable(self: &Arc<Cell>) -> bool {
        let open = lend::is_open() && self.read().is_ok_and(|value| lend::plain(&value).is_some());
        open && self
            .lender()
            .is_some_and(|l| Arc::ptr_eq(&l, self) || l.read().is_ok_and(|value| !history::has_history(&value)))
    }

    /// The elements, which [`Cell::give_back`] must put back; `None` if somebody has them already. They must be lendable.
    pub fn lend(self: &Arc<Cell>) -> Option<Loan> {
        let lender = self.lender()?;
        lender.drop_dependents();
        let value = lender.state().value.take()?;
        match Loan::of(value) {
            Ok(loan) => Some(loan),
            Err(value) => {
                lender.replace(Some(value), |_| ());
                None
            }
        }
    }

    /// Puts elements back, `written` or as they were.
    pub fn give_back(self: &Arc<Cell>, loan: Loan, written: bool) {
        let Some(lender) = self.lender() else { return };
        let beside = !Arc::ptr_eq(&lender, self);
        let value: Tensor = loan.value();
        lender.replace(Some(value), |s| {
            s.version = s.version.wrapping_add(u32::from(written));
            s.beside = s.beside.wrapping_add(u32::from(written && beside));
        });
        if written && beside {
            self.count_apart(&lender);
        }
    }
}
