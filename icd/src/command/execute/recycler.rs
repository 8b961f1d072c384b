//! Shared values in the memory of earlier ones.

#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::sync::Arc;

/// Largest number of old values that are kept: more than a render pass instance has deferred
/// draws, each of which may refer to its own.
const MAX_OLD: usize = 2048;

/// Old values to which deferred draws may still refer. A new value takes the memory of one that no
/// draw refers to any more, because allocating and freeing memory for every draw takes longer than
/// the copy.
pub struct Recycler<T>(VecDeque<Arc<T>>);

impl<T> Default for Recycler<T> {
    fn default() -> Self {
        Recycler(VecDeque::new())
    }
}

impl<T> Recycler<T> {
    /// Makes a shared value, in the memory of the oldest one if nothing else refers to that.
    pub fn make(&mut self, value: T) -> Arc<T> {
        let Some(mut oldest) = self.0.pop_front() else { return Arc::new(value) };
        match Arc::get_mut(&mut oldest) {
            Some(place) => {
                *place = value;
                oldest
            }
            None => {
                self.0.push_back(oldest);
                Arc::new(value)
            }
        }
    }

    /// Takes over a value that has been replaced, if there is one.
    pub fn retire(&mut self, value: Option<Arc<T>>) {
        if self.0.len() < MAX_OLD {
            self.0.extend(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_once_nothing_refers_to_it() {
        let mut recycler = Recycler::default();
        let first = recycler.make(1);
        let (address, draw) = (Arc::as_ptr(&first), first.clone());
        recycler.retire(Some(first));
        let second = recycler.make(2);
        assert!(Arc::as_ptr(&second) != address && (*draw, *second) == (1, 2));
        drop(draw);
        let third = recycler.make(3);
        assert_eq!((Arc::as_ptr(&third), *third), (address, 3));
        recycler.retire(None);
        assert!(recycler.0.is_empty());
    }
}
