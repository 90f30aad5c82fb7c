//! Memory that is given up while an operator runs: what would be a copy with some elements changed is the array itself.

use super::array::Array;
use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

thread_local! {
    /// The first element and the bytes of the array that is given up.
    static GIVEN: Cell<(*const u8, usize)> = const { Cell::new((ptr::null(), 0)) };
}

fn bytes(a: &Array) -> usize {
    a.numel() * a.dtype().size()
}

/// Takes back what was given up, also if an operator panics.
struct Taken((*const u8, usize));

impl Drop for Taken {
    fn drop(&mut self) {
        GIVEN.set(self.0);
    }
}

/// Runs `f`, in which one operator may change elements of `own` in its memory, if nobody else holds that. The caller uses
/// `own` for nothing afterwards but what `f` gave.
pub fn give_up<R>(own: &Array, f: impl FnOnce() -> R) -> R {
    let sole = |a: &Array| a.buffer().is_some_and(|b| Arc::strong_count(b) == 1 && !b.is_exported() && !b.is_foreign());
    if !own.is_contiguous() || !sole(own) {
        return f();
    }
    let _taken = Taken(GIVEN.replace((own.ptr(), bytes(own))));
    f()
}

/// Whether these are all elements of what was given up.
pub(super) fn is_given(a: &Array) -> bool {
    let (start, size) = GIVEN.get();
    !start.is_null() && start == a.ptr() && size == bytes(a) && a.is_contiguous()
}

/// The array itself, whose elements may be changed, if its memory was given up: once.
pub(super) fn take(a: &Array) -> Option<Array> {
    is_given(a).then(|| {
        GIVEN.set((ptr::null(), 0));
        a.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::index::{add_at, put_at, put_many, scatter, scatter_add};

    fn numbers(n: usize) -> Array {
        Array::from_slice([n], &(0..n as i64).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn what_is_given_up_is_changed_in_place_once() {
        let (i, v) = (Array::from_slice([2], &[3i64, 999]).unwrap(), numbers(2));
        let plain = |a: &Array| put_at(a, 0, &i, &v).unwrap();
        let (a, expected) = (numbers(1000), plain(&numbers(1000)));
        let (first, second) = give_up(&a, || {
            let first = plain(&a);
            let second = plain(&first);
            (first, second)
        });
        assert_eq!((first.ptr(), first.bytes().unwrap()), (a.ptr(), expected.bytes().unwrap()));
        assert_ne!(second.ptr(), a.ptr());
        assert_ne!(plain(&first).ptr(), a.ptr());
    }

    #[test]
    fn what_others_see_is_copied() {
        let (i, v) = (Array::from_slice([1], &[0i64]).unwrap(), numbers(1));
        let a = numbers(1000);
        let part = a.slice(0, 3, 10, 1).unwrap();
        assert_ne!(give_up(&a, || add_at(&a, 0, &i, &v).unwrap()).ptr(), a.ptr());
        drop(part);
        let other = numbers(1000);
        assert_ne!(give_up(&a, || put_at(&other, 0, &i, &v).unwrap()).ptr(), other.ptr());
        let export = a.buffer().unwrap().clone().export();
        assert_ne!(give_up(&a, || put_at(&a, 0, &i, &v).unwrap()).ptr(), a.ptr());
        drop(export);
    }

    #[test]
    fn errors_leave_it_as_it_was() {
        let (bad, v) = (Array::from_slice([2], &[1i64, 1000]).unwrap(), numbers(2));
        let a = numbers(1000);
        assert!(give_up(&a, || scatter(&a, 0, &bad, &v)).is_err());
        assert!(give_up(&a, || scatter_add(&a, 0, &bad, &v)).is_err());
        assert!(give_up(&a, || put_at(&a, 0, &bad, &v)).is_err());
        assert!(give_up(&a, || put_many(&a, &[bad], &v, true)).is_err());
        assert_eq!(a.bytes().unwrap(), numbers(1000).bytes().unwrap());
    }
}
