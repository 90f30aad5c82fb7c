//! Repeating random draws: `vmap(randomness="same")` in chunks gives every chunk the same numbers.

use crate::core::params::Parameters;
use crate::dense::random::{Generator, default_generator};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::Arc;

/// A generator (`None`: the default one), and its state at its first draw.
type Mark = (Option<Arc<dyn Parameters>>, [u8; 16]);

thread_local! {
    static MARKS: RefCell<Vec<Vec<Mark>>> = const { RefCell::new(Vec::new()) };
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
