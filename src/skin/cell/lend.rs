//! The elements of a cell on loan to a kernel that changes them in place.

use super::super::history;
use super::super::lend::{self, Loan};
use super::Cell;
use super::link::Link;
use crate::core::Tensor;
use std::sync::Arc;

impl Cell {
    /// The cell that the elements of this one are lent by: itself, or the one whose elements it shows all of.
    fn lender(self: &Arc<Cell>) -> Option<Arc<Cell>> {
        let link = self.state().link.clone();
        match link {
            Link::Root => Some(self.clone()),
            Link::Alias { parent, region: None } if matches!(parent.state().link, Link::Root) => Some(parent),
            _ => None,
        }
    }

    /// The elements, which [`Cell::give_back`] must put back; `None` if they must be written to by operators.
    pub fn lend(self: &Arc<Cell>) -> Option<Loan> {
        if !lend::is_open() {
            return None;
        }
        let lender = self.lender()?;
        lend::plain(&self.read().ok()?)?;
        if !Arc::ptr_eq(&lender, self) && history::has_history(&lender.read().ok()?) {
            return None;
        }
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
    }
}
