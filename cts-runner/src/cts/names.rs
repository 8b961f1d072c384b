//! Names of cases, millions of them: one text, and for each name its place in it.
//!
//! A complete run has 3.2 million names of 110 bytes. As texts of their own in maps they take gigabytes; here, each takes its bytes and ten more.
//!
//! Invariant: no name is in it twice; numbers are given in the order of insertion and never change.

use hashbrown::HashTable;
use std::hash::{BuildHasher, RandomState};

/// Texts without repetition, by number.
#[derive(Clone, Debug, Default)]
pub struct Names {
    text: String,
    ends: Vec<usize>,
    places: HashTable<u32>,
    hasher: RandomState,
}

impl Names {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text with a number; empty for a number that none has.
    pub fn get(&self, number: u32) -> &str {
        text_of(&self.text, &self.ends, number)
    }

    /// The number of a text.
    pub fn find(&self, name: &str) -> Option<u32> {
        let same = |&number: &u32| self.get(number) == name;
        self.places.find(self.hasher.hash_one(name), same).copied()
    }

    /// The number of a text, which is taken in when it is not there yet.
    pub fn insert(&mut self, name: &str) -> u32 {
        if let Some(number) = self.find(name) {
            return number;
        }
        // deqp has three million cases; memory ends long before the numbers do.
        let number = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        self.text.push_str(name);
        self.ends.push(self.text.len());
        let (text, ends, hasher) = (&self.text, &self.ends, &self.hasher);
        let hash = |&number: &u32| hasher.hash_one(text_of(text, ends, number));
        self.places.insert_unique(hasher.hash_one(name), number, hash);
        number
    }

    /// All texts, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..).take(self.len()).map(|number| self.get(number))
    }
}

fn text_of<'a>(text: &'a str, ends: &[usize], number: u32) -> &'a str {
    let place = number as usize;
    let start = place.checked_sub(1).map_or(0, |before| ends.get(before).copied().unwrap_or(0));
    let end = ends.get(place).copied().unwrap_or(start);
    &text[start..end]
}

impl<'a> FromIterator<&'a str> for Names {
    fn from_iter<I: IntoIterator<Item = &'a str>>(all: I) -> Self {
        let mut names = Names::default();
        for name in all {
            names.insert(name);
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_numbers_and_are_there_once() {
        let mut names = Names::default();
        let texts: Vec<String> = (0..5000).map(|i| format!("group.{}{}", "x".repeat(i % 7), i / 2)).collect();
        let numbers: Vec<u32> = texts.iter().map(|text| names.insert(text)).collect();
        for (text, &number) in texts.iter().zip(&numbers) {
            assert_eq!((names.get(number), names.find(text)), (text.as_str(), Some(number)));
        }
        let mut distinct = numbers.clone();
        distinct.dedup();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(names.len(), distinct.len());
        assert_eq!(names.iter().count(), names.len());
        assert_eq!((names.find("group."), names.get(1 << 30)), (None, ""));
        let empty = names.insert("");
        assert_eq!((names.find(""), names.get(empty)), (Some(empty), ""));
    }
}
