//! Short lists of known length, without loops: most nodes have one or two of everything, and what is written as a whole
//! is read as a whole.

use std::ops::{Deref, DerefMut};

/// A list, in place up to two elements.
#[derive(Debug, Clone, Default)]
pub enum InlineList<T> {
    #[default]
    None,
    One([T; 1]),
    Two([T; 2]),
    Many(Box<[T]>),
}

impl<T> InlineList<T> {
    #[inline]
    pub fn three(items: [T; 3]) -> InlineList<T> {
        InlineList::Many(Box::new(items))
    }
}

impl<T> FromIterator<T> for InlineList<T> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> InlineList<T> {
        let mut items = items.into_iter();
        let Some(a) = items.next() else { return InlineList::None };
        let Some(b) = items.next() else { return InlineList::One([a]) };
        let Some(c) = items.next() else { return InlineList::Two([a, b]) };
        match items.next() {
            None => InlineList::three([a, b, c]),
            Some(d) => InlineList::Many([a, b, c, d].into_iter().chain(items).collect()),
        }
    }
}

impl<T> Deref for InlineList<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            InlineList::None => &[],
            InlineList::One(a) => a,
            InlineList::Two(a) => a,
            InlineList::Many(a) => a,
        }
    }
}

impl<T> DerefMut for InlineList<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            InlineList::None => &mut [],
            InlineList::One(a) => a,
            InlineList::Two(a) => a,
            InlineList::Many(a) => a,
        }
    }
}

/// A list, in place if it has one element.
#[derive(Debug, Clone)]
pub enum OneOrMany<T> {
    One([T; 1]),
    Many(Box<[T]>),
}

impl<T> FromIterator<T> for OneOrMany<T> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> OneOrMany<T> {
        let mut items = items.into_iter();
        let Some(a) = items.next() else { return OneOrMany::Many(Box::default()) };
        match items.next() {
            None => OneOrMany::One([a]),
            Some(b) => OneOrMany::Many([a, b].into_iter().chain(items).collect()),
        }
    }
}

impl<T> Deref for OneOrMany<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            OneOrMany::One(a) => a,
            OneOrMany::Many(a) => a,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_any_length() {
        for n in 0..6 {
            let mut list: InlineList<usize> = (0..n).collect();
            let many: OneOrMany<usize> = (0..n).collect();
            assert_eq!((list.len(), many.len()), (n, n));
            assert!(list.iter().chain(many.iter()).copied().eq((0..n).chain(0..n)));
            list.iter_mut().for_each(|x| *x += 1);
            assert!(list.iter().copied().eq(1..=n));
        }
    }
}
