//! Validation caches: the identifiers of modules that obey the universal rules of SPIR-V
//! (`Module::parse`).
//!
//! A verdict saves the validation of a module when it is created, and in every pipeline that uses
//! it. Reading and translation still refuse what they cannot understand. Data is authenticated
//! ([`sealed`]): a module is taken for valid only if a driver of this user and build has found it
//! valid. Modules that are not valid have no entry, because their errors are reported anew.

#![forbid(unsafe_code)]

use super::identifier::Identifier;
use super::sealed::{self, PAYLOAD, Purpose};
use jit::spirv::Module;
use parking_lot::Mutex;
use std::collections::BTreeSet;

/// `VkValidationCacheEXT`.
#[derive(Default)]
pub struct ValidationCache {
    valid: Mutex<BTreeSet<Identifier>>,
}

impl ValidationCache {
    /// Makes a cache with the verdicts of `data`, or an empty one if the data is not authentic.
    pub fn new(data: &[u8]) -> ValidationCache {
        let payload = sealed::open(Purpose::ValidationCache, data).unwrap_or_default();
        let (identifiers, _) = payload.as_chunks();
        ValidationCache { valid: Mutex::new(identifiers.iter().map(|bytes| Identifier(*bytes)).collect()) }
    }

    /// Returns true if the words are a valid module, by the cache's verdict or by validation, whose
    /// verdict the cache then has.
    pub fn is_valid(&self, words: &[u32]) -> bool {
        let identifier = Identifier::of(words);
        if self.valid.lock().contains(&identifier) {
            return true;
        }
        let valid = Module::parse(words).is_ok();
        if valid {
            self.valid.lock().insert(identifier);
        }
        valid
    }

    /// `vkMergeValidationCachesEXT`.
    pub fn merge(&self, from: &ValidationCache) {
        if !std::ptr::eq(self, from) {
            let others = from.valid.lock().clone();
            self.valid.lock().extend(others);
        }
    }

    /// Returns the blob with as many verdicts as fit into `limit` bytes. The flag is true if all
    /// do.
    pub fn data(&self, limit: usize) -> (Vec<u8>, bool) {
        let valid = self.valid.lock();
        if limit < PAYLOAD {
            // Vulkan's header must be returned if it fits.
            let header = sealed::header(Purpose::ValidationCache);
            return (if limit < header.len() { Vec::new() } else { header.to_vec() }, false);
        }
        let fits = ((limit - PAYLOAD) / Identifier::SIZE).min(valid.len());
        let payload: Vec<u8> = valid.iter().take(fits).flat_map(|identifier| identifier.0).collect();
        match sealed::seal(Purpose::ValidationCache, &payload) {
            Some(blob) => (blob, fits == valid.len()),
            None => (sealed::header(Purpose::ValidationCache).to_vec(), false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(count: u8) -> ValidationCache {
        let cache = ValidationCache::default();
        cache.valid.lock().extend((0..count).map(|i| Identifier([i; Identifier::SIZE])));
        cache
    }

    fn entries(data: &[u8]) -> usize {
        ValidationCache::new(data).valid.lock().len()
    }

    #[test]
    fn only_valid_modules_have_a_verdict() {
        let bytes = include_bytes!("../../tests/data/triangle.vert.spv");
        let mut words: Vec<u32> = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let cache = ValidationCache::default();
        assert!(cache.is_valid(&words) && cache.is_valid(&words));
        assert_eq!(cache.valid.lock().len(), 1);
        let (data, complete) = cache.data(usize::MAX);
        assert!(complete && ValidationCache::new(&data).is_valid(&words));
        // The last instruction, OpFunctionEnd, is missing.
        words.pop();
        assert!(!cache.is_valid(&words) && !cache.is_valid(&[]));
        assert_eq!(cache.valid.lock().len(), 1);
    }

    /// Checks that a verdict is what decides: a cache that has one for a module that is not valid
    /// does not validate it.
    #[test]
    fn a_verdict_saves_the_validation() {
        let cache = ValidationCache::default();
        cache.valid.lock().insert(Identifier::of(&[1, 2, 3]));
        assert!(cache.is_valid(&[1, 2, 3]) && !cache.is_valid(&[1, 2]));
    }

    #[test]
    fn data_is_cut_between_verdicts_and_damaged_data_is_ignored() {
        let cache = filled(5);
        let (all, complete) = cache.data(usize::MAX);
        assert!(complete && entries(&all) == 5);
        for limit in 0..all.len() {
            let (some, complete) = cache.data(limit);
            assert!(!complete && some.len() <= limit);
            assert_eq!(entries(&some), limit.saturating_sub(PAYLOAD) / Identifier::SIZE);
            assert_eq!(some.get(..sealed::HEADER), all.get(..sealed::HEADER).filter(|_| limit >= sealed::HEADER));
            assert_eq!(entries(&all[..limit]), 0, "truncated to {limit}");
        }
        for bit in 0..all.len() * 8 {
            let mut flipped = all.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(entries(&flipped), 0, "bit {bit}");
        }
        assert_eq!(entries(&sealed::seal(Purpose::PipelineBinary, &all[PAYLOAD..]).expect("a key")), 0);
    }

    #[test]
    fn merging_unites_verdicts() {
        let (cache, other) = (filled(3), filled(7));
        cache.merge(&other);
        cache.merge(&cache);
        assert_eq!((cache.valid.lock().len(), other.valid.lock().len()), (7, 7));
    }
}
