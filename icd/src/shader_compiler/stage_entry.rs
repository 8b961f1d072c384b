//! The stored form of a stage: the lengths of its SPIR-V, of the rest of its key and of its code,
//! followed by these three.

#![forbid(unsafe_code)]

use super::compile::{ForwardingHasher, StageKey};
use std::hash::Hash;
use std::sync::Arc;

/// Number of bytes of the lengths.
pub const LENGTHS: usize = 24;

/// A stage in its stored form, in memory that may change.
pub struct StageEntry<'a> {
    /// Copy of the lengths.
    pub lengths: [u8; LENGTHS],
    /// SPIR-V words, in the byte order of the processor.
    pub words: &'a [[u8; 4]],
    /// The rest of the key ([`StageKey::parameters`]).
    pub parameters: &'a [u8],
    /// The code blob.
    pub code: &'a [u8],
}

impl<'a> StageEntry<'a> {
    /// Splits bytes behind the entry with which they begin; `None` if the lengths do not fit.
    pub fn split(from: &'a [u8]) -> Option<(StageEntry<'a>, &'a [u8])> {
        let (lengths, rest) = from.split_first_chunk::<LENGTHS>()?;
        let lengths = *lengths;
        let length = |bytes: [u8; 8]| usize::try_from(u64::from_le_bytes(bytes)).ok();
        let ([words, parameters, code], _) = lengths.as_chunks::<8>() else { return None };
        let (words, rest) = rest.split_at_checked(length(*words)?)?;
        let (parameters, rest) = rest.split_at_checked(length(*parameters)?)?;
        let (code, rest) = rest.split_at_checked(length(*code)?)?;
        let (words, []) = words.as_chunks::<4>() else { return None };
        Some((StageEntry { lengths, words, parameters, code }, rest))
    }

    /// Copies the words.
    pub fn copy_words(&self) -> Arc<[u32]> {
        self.words.iter().map(|word| u32::from_ne_bytes(*word)).collect()
    }
}

/// Returns the number of bytes of an entry.
pub fn size(key: &StageKey, code: &[u8]) -> usize {
    LENGTHS + size_of_val(&key.words()[..]) + key.parameters().len() + code.len()
}

/// Appends an entry.
pub fn append(key: &StageKey, code: &[u8], to: &mut Vec<u8>) {
    let lengths = [size_of_val(&key.words()[..]), key.parameters().len(), code.len()];
    to.extend(lengths.iter().flat_map(|length| (*length as u64).to_le_bytes()));
    u32::hash_slice(key.words(), &mut ForwardingHasher::into_bytes(to));
    to.extend_from_slice(key.parameters());
    to.extend_from_slice(code);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_round_trips_and_its_lengths_are_checked() {
        let key = StageKey::new([1, 2, 3].into(), [4; 5].into());
        let mut bytes = Vec::new();
        append(&key, &[6; 7], &mut bytes);
        assert_eq!(bytes.len(), size(&key, &[6; 7]));
        let (entry, rest) = StageEntry::split(&bytes).expect("an entry");
        assert_eq!((&entry.copy_words()[..], entry.parameters, entry.code), (&[1, 2, 3][..], &[4; 5][..], &[6; 7][..]));
        assert!(rest.is_empty());
        assert!((0..bytes.len()).all(|length| StageEntry::split(&bytes[..length]).is_none()));
        for (at, length) in [(0, 11), (0, 13), (8, u64::MAX), (16, u64::MAX - 30), (16, 1 << 63)] {
            let mut lying = bytes.clone();
            lying[at..at + 8].copy_from_slice(&length.to_le_bytes());
            assert!(StageEntry::split(&lying).is_none(), "{length} at {at}");
        }
    }
}
