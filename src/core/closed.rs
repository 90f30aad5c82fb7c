//! Values whose transforms have returned.

use super::level::{self, LevelId};
use super::tensor::{Payload, Tensor};
use crate::base::Result;
use std::borrow::Cow;

/// A value as the level `at` sees it: without the wrappers of transforms that have returned. A value that left such a
/// transform otherwise than as its output is its plain value.
///
/// # Errors
/// `Runtime` if it belongs to a batch or a trace that is gone, or to a transform of another thread.
fn strip_closed(y: &Tensor, at: LevelId) -> Result<Cow<'_, Tensor>> {
    let mut value = y;
    while value.level() != at && !level::is_live(value.level()) {
        let id = value.level();
        value = match value.payload() {
            Some(Payload::Batched { .. }) => return Err(level::escaped(id, "vmap")),
            Some(Payload::Traced { .. }) => return Err(level::escaped(id, "trace")),
            Some(_) if level::is_live_anywhere(id) => return Err(level::escaped(id, "grad or jvp")),
            Some(Payload::Dual { primal, .. }) => primal,
            Some(Payload::Taped { value, .. }) => value,
            None => break,
        };
    }
    Ok(Cow::Borrowed(value))
}

/// Takes the wrapper of `level` off a value that leaves the level, and those of transforms that have returned: what
/// `wrapped` makes of the wrapper, or `plain` of a value that has none.
///
/// # Errors
/// `Runtime` if the value belongs to a batch or a trace that is gone, or to a transform of another thread.
#[inline]
pub fn taken_off<R>(
    y: &Tensor,
    level: LevelId,
    wrapped: impl FnOnce(&Tensor, &Payload) -> Result<R>,
    plain: impl FnOnce(Tensor) -> Result<R>,
) -> Result<R> {
    let y = strip_closed(y, level)?;
    match y.payload_at(level) {
        Some(payload) => wrapped(&y, payload),
        None => plain(y.into_owned()),
    }
}
