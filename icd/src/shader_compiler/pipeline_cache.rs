//! Pipeline caches, which map the keys of stages to their bytes.
//!
//! The blob is authenticated ([`sealed`]): it is `VkPipelineCacheHeaderVersionOne`, then a tag,
//! then entries ([`stage_entry`]). Machine code is thus taken from a blob only if this user's
//! driver put it there. A blob whose header, lengths or tag do not match is ignored as a whole.
//!
//! `vkGetPipelineCacheData` is called for the size and then for the data, while code may be
//! replaced by better code of another size. The announced blob is therefore kept for the second
//! call, as long as no stage is added in between.

#![forbid(unsafe_code)]

use super::cache_key::{self, cache_key};
use super::compile::{ForwardingHasher, StageKey};
use super::identifier::{Identifier, IdentifierIndex};
use super::sealed::{self, Authenticator, PAYLOAD, Purpose};
use super::stage_entry::{self, StageEntry};
use super::tiered::TieredCode;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

#[derive(Clone)]
enum CacheEntry {
    /// An entry in its stored form.
    Stored(Arc<[u8]>),
    /// A stage in use, whose code may still be under construction.
    Live(Arc<TieredCode>),
}

/// A stage's key and the bytes of its code blob.
type StoredStage = (StageKey, Arc<[u8]>);

#[derive(Default)]
struct Entries {
    by_key: HashMap<StageKey, CacheEntry>,
    identifiers: IdentifierIndex,
    /// Counter that changes with the set of keys.
    generation: u64,
}

/// `VkPipelineCache`.
#[derive(Default)]
pub struct PipelineCache {
    entries: Mutex<Entries>,
    /// The blob whose size was queried, and its generation.
    announced: Mutex<Option<(u64, Arc<[u8]>)>>,
}

impl PipelineCache {
    /// Makes a cache with the usable entries of `data`.
    pub fn new(data: &[u8]) -> PipelineCache {
        // The key is not needed if there is nothing to check.
        let usable = data.len() > PAYLOAD;
        Self::with_key(data, if usable { cache_key() } else { None })
    }

    fn with_key(data: &[u8], key: Option<&cache_key::SecretKey>) -> PipelineCache {
        let by_key = key.and_then(|key| parse(data, key)).unwrap_or_default();
        PipelineCache { entries: Mutex::new(Entries { by_key, ..Entries::default() }), announced: Mutex::default() }
    }

    /// Returns true if the cache has no stages.
    pub fn is_empty(&self) -> bool {
        self.entries.lock().by_key.is_empty()
    }

    /// Returns the stage if it is cached; `load` makes it from its bytes.
    pub fn find(&self, key: &StageKey, load: impl FnOnce(&[u8]) -> Option<Arc<TieredCode>>) -> Option<Arc<TieredCode>> {
        let mut entries = self.entries.lock();
        let entry = entries.by_key.get_mut(key)?;
        if let CacheEntry::Stored(bytes) = entry {
            *entry = CacheEntry::Live(load(bytes)?);
        }
        match entry {
            CacheEntry::Live(code) => Some(code.clone()),
            CacheEntry::Stored(_) => None,
        }
    }

    /// Returns the words of the module with this identifier, if the cache has a stage of it.
    pub fn words(&self, identifier: &Identifier) -> Option<Arc<[u32]>> {
        let Entries { by_key, identifiers, .. } = &mut *self.entries.lock();
        identifiers.find(identifier, by_key.keys().map(StageKey::words))
    }

    /// Adds a stage.
    pub fn insert(&self, code: &Arc<TieredCode>) {
        let mut entries = self.entries.lock();
        entries.identifiers.insert(code.key().words());
        entries.by_key.insert(code.key().clone(), CacheEntry::Live(code.clone()));
        entries.generation += 1;
    }

    /// `vkMergePipelineCaches`.
    pub fn merge(&self, from: &PipelineCache) {
        if std::ptr::eq(self, from) {
            return;
        }
        let others: Vec<(StageKey, CacheEntry)> =
            from.entries.lock().by_key.iter().map(|(k, e)| (k.clone(), e.clone())).collect();
        let mut entries = self.entries.lock();
        for (key, entry) in others {
            entries.identifiers.insert(key.words());
            entries.by_key.entry(key).or_insert(entry);
        }
        entries.generation += 1;
    }

    /// Returns the generation and every entry's bytes, ordered by key; waits for code that is under
    /// construction.
    fn sorted(&self) -> (u64, Vec<StoredStage>) {
        let (generation, entries): (_, Vec<(StageKey, CacheEntry)>) = {
            let entries = self.entries.lock();
            (entries.generation, entries.by_key.iter().map(|(k, e)| (k.clone(), e.clone())).collect())
        };
        let bytes = |entry: CacheEntry| match entry {
            CacheEntry::Stored(bytes) => Some(bytes),
            CacheEntry::Live(code) => code.bytes().map(Arc::from),
        };
        let mut list: Vec<_> = entries.into_iter().filter_map(|(key, entry)| Some((key, bytes(entry)?))).collect();
        list.sort_by(|(a, _), (b, _)| a.cmp(b));
        (generation, list)
    }

    /// Returns the blob. Without `limit` the blob is kept for the next call; with one, the blob has
    /// as many whole entries as fit. The flag is true if all entries fit.
    pub fn data(&self, limit: Option<usize>) -> (Arc<[u8]>, bool) {
        let Some(limit) = limit else {
            let (generation, blob, complete) = self.blob(usize::MAX, cache_key());
            *self.announced.lock() = Some((generation, blob.clone()));
            return (blob, complete);
        };
        let announced = self.announced.lock().take();
        if let Some((generation, blob)) = announced
            && blob.len() <= limit
            && generation == self.entries.lock().generation
        {
            return (blob, true);
        }
        if limit < PAYLOAD {
            // Vulkan's header must be returned if it fits. Without a tag there is nothing else.
            let header = sealed::header(Purpose::PipelineCache);
            let header = if limit < header.len() { Arc::default() } else { Arc::from(header) };
            return (header, false);
        }
        let (_, blob, complete) = self.blob(limit, cache_key());
        (blob, complete)
    }

    /// Returns the generation, a blob with at least a header, and whether the blob is complete.
    /// Without a key it has no entries.
    fn blob(&self, limit: usize, key: Option<&cache_key::SecretKey>) -> (u64, Arc<[u8]>, bool) {
        let (generation, list) = self.sorted();
        let (mut data, mut complete) = (sealed::header(Purpose::PipelineCache).to_vec(), true);
        data.resize(PAYLOAD, 0);
        for (stage, bytes) in list {
            if key.is_none() || data.len() + stage_entry::size(&stage, &bytes) > limit {
                complete = false;
                break;
            }
            stage_entry::append(&stage, &bytes, &mut data);
        }
        if let Some(key) = key {
            let tag = Authenticator::new(Purpose::PipelineCache, key).update(&data[PAYLOAD..]).tag();
            data[sealed::HEADER..PAYLOAD].copy_from_slice(&tag);
        }
        (generation, data.into(), complete)
    }
}

/// Copies the entries and returns them if the tag matches the copies.
fn parse(data: &[u8], key: &cache_key::SecretKey) -> Option<HashMap<StageKey, CacheEntry>> {
    let (tag, mut rest) = sealed::split(Purpose::PipelineCache, data)?;
    let mut authenticator = Authenticator::new(Purpose::PipelineCache, key);
    let mut entries = HashMap::new();
    while !rest.is_empty() {
        let (entry, tail) = StageEntry::split(rest)?;
        let words = entry.copy_words();
        let (others, blob): (Arc<[u8]>, Arc<[u8]>) = (entry.parameters.into(), entry.code.into());
        authenticator.update(&entry.lengths);
        u32::hash_slice(
            &words,
            &mut ForwardingHasher(&mut authenticator, |authenticator, words| {
                authenticator.update(words);
            }),
        );
        authenticator.update(&others).update(&blob);
        entries.insert(StageKey::new(words, others), CacheEntry::Stored(blob));
        rest = tail;
    }
    authenticator.matches(&tag).then_some(entries)
}

#[cfg(test)]
mod tests {
    use super::sealed::{HEADER, TAG};
    use super::stage_entry::LENGTHS;
    use super::*;

    fn key(i: u8) -> StageKey {
        StageKey::new([u32::from(i); 5].into(), [i; 12].into())
    }

    fn filled() -> PipelineCache {
        let cache = PipelineCache::default();
        for i in 0..5u8 {
            let entry = CacheEntry::Stored(vec![i; 10 + i as usize].into());
            cache.entries.lock().by_key.insert(key(i), entry);
        }
        cache
    }

    fn entries(cache: &PipelineCache) -> usize {
        cache.entries.lock().by_key.len()
    }

    /// Returns the offset of entry `i` of [`filled`].
    fn entry_at(i: usize) -> usize {
        PAYLOAD + (0..i).map(|i| LENGTHS + 32 + 10 + i).sum::<usize>()
    }

    #[test]
    fn a_blob_round_trips() {
        let (data, complete) = filled().data(None);
        assert!(complete);
        let again = PipelineCache::new(&data);
        assert_eq!(entries(&again), 5);
        assert_eq!(again.data(None).0, data);
    }

    #[test]
    fn damaged_blobs_are_ignored() {
        let (data, _) = filled().data(None);
        for length in 0..data.len() {
            assert_eq!(entries(&PipelineCache::new(&data[..length])), 0, "truncated to {length}");
        }
        for bit in 0..data.len() * 8 {
            let mut flipped = data.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(entries(&PipelineCache::new(&flipped)), 0, "bit {bit}");
        }
    }

    /// Tries everything that is possible without the key: removing, inserting and exchanging
    /// entries, using tags of other blobs, and guessing.
    #[test]
    fn forged_blobs_are_ignored() {
        let (data, _) = filled().data(None);
        let (other, _) = filled().data(Some(entry_at(3)));
        assert_eq!(entries(&PipelineCache::new(&other)), 3, "a cut blob is whole in itself");
        let nothing = |what: &str, forged: &[u8]| assert_eq!(entries(&PipelineCache::new(forged)), 0, "{what}");
        for i in 0..5 {
            let without = [&data[..entry_at(i)], &data[entry_at(i + 1)..]].concat();
            nothing("an entry less", &without);
            let twice = [&data[..entry_at(i + 1)], &data[entry_at(i)..]].concat();
            nothing("an entry twice", &twice);
        }
        nothing("another blob's entries", &[&data[..PAYLOAD], &other[PAYLOAD..]].concat());
        nothing("more entries", &[&other[..], &data[entry_at(3)..]].concat());
        let mut keys = data.to_vec();
        let (first, second) = keys.split_at_mut(entry_at(1));
        first[entry_at(0) + LENGTHS..][..32].swap_with_slice(&mut second[LENGTHS..][..32]);
        nothing("exchanged keys", &keys);
        let unkeyed = {
            let mut hasher = blake3::Hasher::new();
            hasher.update(&data[..HEADER]).update(&data[PAYLOAD..]);
            *hasher.finalize().as_bytes()
        };
        for tag in [[0; TAG], [255; TAG], unkeyed] {
            nothing("a guessed tag", &[&data[..HEADER], &tag, &data[PAYLOAD..]].concat());
        }
        // The lengths are wrong.
        for at in [PAYLOAD, PAYLOAD + 8, PAYLOAD + 16] {
            for length in [0, 9, 11, 31, 33, u64::MAX, u64::MAX - 71, 1 << 63] {
                let mut lying = data.to_vec();
                lying[at..at + 8].copy_from_slice(&length.to_le_bytes());
                nothing("a length", &lying);
            }
        }
    }

    #[test]
    fn a_blob_is_ignored_with_another_key_or_without_one() {
        let keys = [[1; 32], [2; 32]];
        let (_, data, complete) = filled().blob(usize::MAX, Some(&keys[0]));
        assert!(complete);
        assert_eq!(entries(&PipelineCache::with_key(&data, Some(&keys[0]))), 5);
        assert_eq!(entries(&PipelineCache::with_key(&data, Some(&keys[1]))), 0);
        assert_eq!(entries(&PipelineCache::with_key(&data, None)), 0);
        assert_eq!(entries(&PipelineCache::new(&data)), 0);
        // Without a key no entry is stored, and the blob is reported as incomplete.
        let (_, data, complete) = filled().blob(usize::MAX, None);
        assert!(!complete && data.len() == PAYLOAD);
        assert_eq!(entries(&PipelineCache::with_key(&data, None)), 0);
    }

    #[test]
    fn a_limit_cuts_between_entries() {
        let cache = filled();
        let (all, _) = cache.data(None);
        let (some, complete) = cache.data(Some(all.len() - 1));
        assert!(!complete && some.len() < all.len());
        assert_eq!(entries(&PipelineCache::new(&some)), 4);
        for limit in 0..all.len() {
            let (some, complete) = cache.data(Some(limit));
            assert!(!complete && some.len() <= limit);
            assert_eq!(some.get(..HEADER), all.get(..HEADER).filter(|_| limit >= HEADER));
        }
    }

    #[test]
    fn the_announced_blob_is_returned_unless_stages_are_added() {
        let cache = filled();
        let (announced, _) = cache.data(None);
        // An entry's bytes grow, as those of better code may.
        cache.entries.lock().by_key.insert(key(0), CacheEntry::Stored(vec![9; 1000].into()));
        assert_eq!(cache.data(Some(announced.len())), (announced.clone(), true));
        // A second call with a limit gets the current state, as far as it fits.
        let (now, complete) = cache.data(Some(announced.len()));
        assert!(!complete && now.len() <= announced.len());
        // A stage that was added in between is missing, and the blob is reported as incomplete.
        let (announced, _) = cache.data(None);
        let more = PipelineCache::default();
        more.entries.lock().by_key.insert(key(77), CacheEntry::Stored(vec![7; 10].into()));
        cache.merge(&more);
        assert!(!cache.data(Some(announced.len())).1);
        assert!(cache.data(Some(announced.len() + LENGTHS + 32 + 10)).1);
    }
}
