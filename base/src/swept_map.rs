//! Hash maps whose entries become useless by themselves, because they refer to values weakly.

#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Weak;

/// A value of a [`SweptMap`].
pub trait SweptEntry {
    /// Returns false if the entry is useless, which it then remains.
    fn is_live(&self) -> bool;
}

impl<T: ?Sized> SweptEntry for Weak<T> {
    fn is_live(&self) -> bool {
        self.strong_count() > 0
    }
}

/// A hash map that removes useless entries when it has twice as many entries as after the last
/// removal, and at least `LEAST`. Insertion thus takes constant time on average, and the map has at
/// most twice as many entries as there were live ones, or `LEAST`. Keys that an application or a
/// shader chooses need the random `S`, so that they cannot be made to collide.
#[derive(Debug)]
pub struct SweptMap<K, V, const LEAST: usize, S = RandomState> {
    entries: HashMap<K, V, S>,
    /// Number of entries at which useless ones are removed.
    sweep_at: usize,
}

impl<K, V, const LEAST: usize, S: Default> Default for SweptMap<K, V, LEAST, S> {
    fn default() -> Self {
        SweptMap { entries: HashMap::default(), sweep_at: LEAST }
    }
}

impl<K: Eq + Hash, V: SweptEntry, const LEAST: usize, S: BuildHasher> SweptMap<K, V, LEAST, S> {
    /// Returns the value of a key, which may be useless.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key)
    }

    /// Inserts a value in place of the one that the key has.
    pub fn insert(&mut self, key: K, value: V) {
        if self.entries.len() >= self.sweep_at {
            self.entries.retain(|_, value| value.is_live());
            self.sweep_at = (2 * self.entries.len()).max(LEAST);
        }
        self.entries.insert(key, value);
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn useless_entries_are_removed_and_live_ones_stay() {
        let mut map: SweptMap<usize, Weak<usize>, 4> = SweptMap::default();
        let kept: Vec<_> = (0..10).map(Arc::new).collect();
        for value in &kept {
            map.insert(**value, Arc::downgrade(value));
        }
        assert_eq!(map.len(), kept.len());
        for i in 10..1000 {
            map.insert(i, Arc::downgrade(&Arc::new(i)));
            assert!(map.len() <= 2 * kept.len(), "{i}: {}", map.len());
        }
        assert!(kept.iter().all(|value| map.get(value).is_some_and(SweptEntry::is_live)));
    }
}
