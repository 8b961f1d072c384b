//! Stores the names of millions of cases as one text, with the offset of each name.
//!
//! A complete run has 3.2 million names of 110 bytes. Separate strings in maps would take
//! gigabytes; in this form each name takes its bytes and ten more.
//!
//! Invariant: no name occurs twice. Numbers are given in the order of insertion and never change.

use hashbrown::HashTable;
use std::hash::{BuildHasher, RandomState};

/// Set of texts, each with a number.
#[derive(Clone, Debug, Default)]
pub struct Names {
    text: String,
    ends: Vec<usize>,
    places: HashTable<u32>,
    hasher: RandomState,
}

impl Names {
    /// Returns the number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there is no text.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the text with a number; empty for an unknown number.
    pub fn get(&self, number: u32) -> &str {
        text_of(&self.text, &self.ends, number)
    }

    /// Returns the number of a text.
    pub fn find(&self, name: &str) -> Option<u32> {
        let same = |&number: &u32| self.get(number) == name;
        self.places.find(self.hasher.hash_one(name), same).copied()
    }

    /// Returns the number of a text and inserts the text if it is new.
    pub fn insert(&mut self, name: &str) -> u32 {
        if let Some(number) = self.find(name) {
            return number;
        }
        // deqp has three million cases, so memory is exhausted long before the numbers are.
        let number = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        self.text.push_str(name);
        self.ends.push(self.text.len());
        let (text, ends, hasher) = (&self.text, &self.ends, &self.hasher);
        let hash = |&number: &u32| hasher.hash_one(text_of(text, ends, number));
        self.places.insert_unique(hasher.hash_one(name), number, hash);
        number
    }

    /// Returns all texts in the order of their numbers.
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
