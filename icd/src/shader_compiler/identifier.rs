//! Identifiers of SPIR-V modules, and the index by which a module's words are found again.
//!
//! An identifier is the BLAKE3 hash of the words. Two modules with the same one cannot be made, so
//! that words that are found by it may be used like words that the application gives.

#![forbid(unsafe_code)]

use super::compile::ForwardingHasher;
use base::swept_map::SweptMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};

/// Identifier of a module (`vkGetShaderModuleIdentifierEXT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identifier(pub [u8; Identifier::SIZE]);

impl Identifier {
    /// Number of bytes of an identifier.
    pub const SIZE: usize = blake3::OUT_LEN;

    /// Returns the identifier of a module.
    pub fn of(words: &[u32]) -> Identifier {
        let mut hasher = blake3::Hasher::new();
        let update = |hasher: &mut &mut blake3::Hasher, bytes: &[u8]| _ = hasher.update(bytes);
        u32::hash_slice(words, &mut ForwardingHasher(&mut hasher, update));
        Identifier(*hasher.finalize().as_bytes())
    }

    /// Returns the identifier with these bytes; `None` if there are not as many as it has.
    pub fn from_bytes(bytes: &[u8]) -> Option<Identifier> {
        bytes.try_into().ok().map(Identifier)
    }
}

/// Index of modules by identifier. It has no entries before the first look-up, because few
/// applications use identifiers.
#[derive(Default)]
pub struct IdentifierIndex {
    /// The modules, once there was a look-up. An entry does not keep the words alive.
    modules: Option<SweptMap<Identifier, Weak<[u32]>, SWEEP>>,
}

/// Least number of entries at which the index is swept.
const SWEEP: usize = 64;

impl IdentifierIndex {
    /// Returns the words of a module. `all` are those of all modules of the index, which are
    /// entered at the first look-up.
    pub fn find<'a>(
        &mut self,
        identifier: &Identifier,
        all: impl Iterator<Item = &'a Arc<[u32]>>,
    ) -> Option<Arc<[u32]>> {
        if self.modules.is_none() {
            self.modules = Some(SweptMap::default());
            all.for_each(|words| self.insert(words));
        }
        self.modules.as_ref()?.get(identifier)?.upgrade()
    }

    /// Enters a module, if there was a look-up.
    pub fn insert(&mut self, words: &Arc<[u32]>) {
        if let Some(modules) = &mut self.modules {
            modules.insert(Identifier::of(words), Arc::downgrade(words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_hashes_of_little_endian_words() {
        let words = [0x0723_0203, 1, 2];
        let bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        assert_eq!(Identifier::of(&words).0, *blake3::hash(&bytes).as_bytes());
        assert_ne!(Identifier::of(&[1, 2]), Identifier::of(&[2, 1]));
        assert_ne!(Identifier::of(&[]), Identifier::of(&[0]));
        assert_eq!(Identifier::from_bytes(&Identifier::of(&words).0), Some(Identifier::of(&words)));
        assert!([0, 31, 33].iter().all(|size| Identifier::from_bytes(&vec![0; *size]).is_none()));
    }

    #[test]
    fn modules_are_found_as_long_as_they_live() {
        let mut index = IdentifierIndex::default();
        let modules: Vec<Arc<[u32]>> = (0..4).map(|i| vec![i; 5].into()).collect();
        index.insert(&modules[0]);
        assert!(index.modules.is_none(), "nothing is hashed before a look-up");
        let id = Identifier::of(&[2; 5]);
        let found = index.find(&id, modules[..3].iter()).expect("the module");
        assert!(Arc::ptr_eq(&found, &modules[2]));
        assert!(index.find(&Identifier::of(&[3; 5]), modules.iter()).is_none(), "only the first look-up enters all");
        index.insert(&modules[3]);
        assert!(index.find(&Identifier::of(&[3; 5]), [].iter()).is_some());
        drop((modules, found));
        assert!(index.find(&id, [].iter()).is_none());
    }

    #[test]
    fn dropped_modules_are_swept() {
        let mut index = IdentifierIndex::default();
        let kept: Arc<[u32]> = vec![7; 3].into();
        index.find(&Identifier::of(&[]), [&kept].into_iter());
        for i in 0..1000 {
            index.insert(&vec![i; 2].into());
        }
        assert!(index.modules.as_ref().expect("entries").len() <= SWEEP);
        assert!(index.find(&Identifier::of(&[7; 3]), [].iter()).is_some());
    }
}
