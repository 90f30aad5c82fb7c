//! Repeating random draws: `vmap(randomness="same")` in chunks gives every chunk the same numbers, and a function that
//! runs again for a derivative draws what it drew before.

use crate::core::level::{self, Level, LevelKind, Randomness};
use crate::core::origin::Origin;
use crate::core::params::Parameters;
use crate::dense::random::{Generator, Position, default_generator};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::Arc;

/// A generator (`None`: the default one), and where it stood at its first draw.
type Mark = (Option<Arc<dyn Parameters>>, Position);

/// What a part of the program drew from.
#[derive(Clone, Default)]
pub struct Marks(Vec<Mark>);

/// A part of the program whose draws are noted.
struct DrawFrame {
    marks: Marks,
    /// It repeats earlier draws, and puts the generators back: the parts around it have not drawn.
    repeats: bool,
}

thread_local! {
    static FRAMES: RefCell<Vec<DrawFrame>> = const { RefCell::new(Vec::new()) };
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

impl Marks {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where the same generators stand now.
    #[must_use]
    pub fn now(&self) -> Marks {
        Marks(self.0.iter().map(|(g, _)| (g.clone(), generator(g).position())).collect())
    }

    /// Puts the generators where they stood.
    pub fn restore(&self) {
        for (g, position) in &self.0 {
            generator(g).restore(position);
        }
    }
}

fn generator(handle: &Option<Arc<dyn Parameters>>) -> &Generator {
    let own = handle.as_ref().and_then(|g| (**g).as_any().downcast_ref::<Generator>());
    own.unwrap_or(default_generator())
}

/// While alive, remembers where each generator stood when this thread first drew from it. Draws of other threads do not
/// count.
#[must_use]
pub struct Rewind(PhantomData<*const ()>);

impl Rewind {
    pub fn open() -> Rewind {
        Rewind::with(false)
    }

    /// Of a part that repeats draws: for the parts around it nothing is drawn.
    pub fn repeating() -> Rewind {
        Rewind::with(true)
    }

    fn with(repeats: bool) -> Rewind {
        FRAMES.with_borrow_mut(|f| f.push(DrawFrame { marks: Marks::default(), repeats }));
        Rewind(PhantomData)
    }

    /// What was drawn from since the opening.
    pub fn marks(&self) -> Marks {
        FRAMES.with_borrow(|f| f.last().map(|f| f.marks.clone()).unwrap_or_default())
    }

    /// Whether this thread has drawn since the opening.
    pub fn has_drawn(&self) -> bool {
        FRAMES.with_borrow(|f| f.last().is_some_and(|f| !f.marks.is_empty()))
    }

    /// Puts the generators back, so that the next draws repeat those since the opening.
    pub fn restart(&self) {
        self.marks().restore();
    }
}

impl Drop for Rewind {
    fn drop(&mut self) {
        FRAMES.with_borrow_mut(|f| f.pop());
    }
}

/// Called before every draw.
pub fn note(rng: &Generator, handle: &Option<Arc<dyn Parameters>>) {
    let of = |g: &Option<Arc<dyn Parameters>>| g.as_ref().map(|g| Arc::as_ptr(g).cast::<()>());
    FRAMES.with_borrow_mut(|frames| {
        for frame in frames.iter_mut().rev() {
            if !frame.marks.0.iter().any(|(g, _)| of(g) == of(handle)) {
                frame.marks.0.push((handle.clone(), rng.position()));
            }
            if frame.repeats {
                break;
            }
        }
    });
}
