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
    }
}
