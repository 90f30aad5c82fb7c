//! Repeating random draws: `vmap(randomness="same")` in chunks gives every chunk the same numbers, and a function that
//! runs again for a derivative draws what it drew before.

use crate::core::level::{self, Level, LevelKind, Randomness};
use crate::core::origin::Origin;
use crate::core::params::Parameters;
use crate::dense::random::{Generator, default_generator};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::Arc;

/// A generator (`None`: the default one), and its state at its first draw.
type Mark = (Option<Arc<dyn Parameters>>, [u8; 16]);

thread_local! {
    static MARKS: RefCell<Vec<Vec<Mark>>> = const { RefCell::new(Vec::new()) };
    static REPLAY: Cell<Span> = const { Cell::new((0, 0)) };
}

/// Moments between which levels were opened.
pub type Span = (u32, u32);

/// Says that the draws from now on repeat those of a moment: levels of `vmap` that began in the span let them pass, since
/// there was none of them then. An empty span ends it. Gives what was said before.
pub fn replay(span: Span) -> Span {
    REPLAY.replace(span)
}

/// Whether a level of `vmap` has nothing to do with the draws that are being repeated. The generated rule of a custom
/// function opens its level, which has no origin, for the repetition as it did for the first run.
pub fn passes(l: &Level) -> bool {
    let (from, to) = REPLAY.get();
    let strict = matches!(l.kind, LevelKind::Batch { randomness: Randomness::Error, .. });
    from != to && level::is_between(l.id, from, to) && (strict || l.origin != Origin::UNKNOWN)
}

/// While alive, remembers where each generator stood when this thread first drew from it.
#[must_use]
pub struct Rewind(PhantomData<*const ()>);

impl Rewind {
    pub fn open() -> Rewind {
        MARKS.with_borrow_mut(|m| m.push(Vec::new()));
        Rewind(PhantomData)
    }

    /// Puts the generators back, so that the next draws repeat those since the opening.
    pub fn restart(&self) {
        MARKS.with_borrow(|m| {
            for (g, state) in m.last().into_iter().flatten() {
                let of = g.as_ref().and_then(|g| (**g).as_any().downcast_ref::<Generator>());
                // The state is as long as the generator made it.
                let _ = of.unwrap_or(default_generator()).set_state(state);
            }
        });
    }
}

impl Drop for Rewind {
    fn drop(&mut self) {
        MARKS.with_borrow_mut(|m| m.pop());
    }
}

/// Called before every draw.
pub fn note(rng: &Generator, handle: &Option<Arc<dyn Parameters>>) {
    let of = |g: &Option<Arc<dyn Parameters>>| g.as_ref().map(|g| Arc::as_ptr(g).cast::<()>());
    MARKS.with_borrow_mut(|frames| {
        for frame in frames {
            if !frame.iter().any(|(g, _)| of(g) == of(handle)) {
                frame.push((handle.clone(), rng.get_state()));
            }
        }
    });
}
