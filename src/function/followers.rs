//! Which levels differentiate values now.

use crate::core::tensor::Payload;
use crate::core::{LevelId, Tensor, level};
use smallvec::SmallVec;

/// What follows a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Followers {
    /// How many tapes record one of the values.
    pub tapes: usize,
    /// How many levels of forward mode they carry.
    pub duals: usize,
    /// Whether operators are traced.
    pub traced: bool,
}

type LevelIds = SmallVec<[LevelId; 4]>;

fn collect(value: &Tensor, tapes: &mut LevelIds, duals: &mut LevelIds) {
    let mut next = Some(value);
    while let Some(t) = next {
        let id = t.level();
        let found = match t.payload() {
            Some(Payload::Taped { .. }) if level::is_live(id) && level::records(id) => Some(&mut *tapes),
            Some(Payload::Dual { tangent, .. }) if level::is_live(id) => {
                collect(tangent, tapes, duals);
                Some(&mut *duals)
            }
            _ => None,
        };
        if let Some(found) = found
            && !found.contains(&id)
        {
            found.push(id);
        }
        next = t.below();
    }
}

impl Followers {
    /// What follows these values.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a Tensor>) -> Followers {
        let (mut tapes, mut duals) = (LevelIds::new(), LevelIds::new());
        values.into_iter().filter(|t| t.level() != LevelId::DENSE).for_each(|t| collect(t, &mut tapes, &mut duals));
        Followers { tapes: tapes.len(), duals: duals.len(), traced: level::tracing() != LevelId::DENSE }
    }

    /// How many levels differentiate.
    pub fn levels(self) -> usize {
        self.tapes + self.duals
    }

    /// Whether nobody would notice whether the function runs by its rules.
    pub fn is_nobody(self) -> bool {
        self == Followers::default()
    }
}
