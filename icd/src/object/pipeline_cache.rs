//! Pipeline caches: stages by key, and their bytes.
//!
//! The blob is `VkPipelineCacheHeaderVersionOne`, then a checksum over the rest, then entries (key, length, code blob). A
//! blob whose header, checksum or lengths do not fit is ignored as a whole: nothing in it is ever trusted.

use crate::backend::compile::Key;
use crate::backend::tiered::TieredCode;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes before the entries: Vulkan's header and our checksum.
const HEADER: usize = 32 + 16;

#[derive(Clone)]
enum Entry {
    /// As it came.
    Stored(Arc<[u8]>),
    /// In use; its code may still be in the making.
    Living(Arc<TieredCode>),
}

/// `VkPipelineCache`.
#[derive(Default)]
pub struct PipelineCache {
    entries: Mutex<HashMap<Key, Entry>>,
}

impl PipelineCache {
    /// A cache with what is usable of `data`.
    pub fn new(data: &[u8]) -> PipelineCache {
        PipelineCache { entries: Mutex::new(parse(data).unwrap_or_default()) }
    }

    /// The stage, if cached; `load` makes it from its bytes.
    pub fn find(&self, key: &Key, load: impl FnOnce(&[u8]) -> Option<Arc<TieredCode>>) -> Option<Arc<TieredCode>> {
        let mut entries = self.entries.lock();
        let entry = entries.get_mut(key)?;
        if let Entry::Stored(bytes) = entry {
            *entry = Entry::Living(load(bytes)?);
        }
        match entry {
            Entry::Living(code) => Some(code.clone()),
            Entry::Stored(_) => None,
        }
    }

    /// Remembers a stage.
    pub fn insert(&self, code: &Arc<TieredCode>) {
        self.entries.lock().insert(*code.key(), Entry::Living(code.clone()));
    }

    /// `vkMergePipelineCaches`.
    pub fn merge(&self, from: &PipelineCache) {
        if std::ptr::eq(self, from) {
            return;
        }
        let others: Vec<(Key, Entry)> = from.entries.lock().iter().map(|(k, e)| (*k, e.clone())).collect();
        let mut entries = self.entries.lock();
        for (key, entry) in others {
            entries.entry(key).or_insert(entry);
        }
    }

    /// Every entry's bytes, by key; waits for code in the making.
    fn sorted(&self) -> Vec<(Key, Arc<[u8]>)> {
        let entries: Vec<(Key, Entry)> = self.entries.lock().iter().map(|(k, e)| (*k, e.clone())).collect();
        let bytes = |entry: Entry| match entry {
            Entry::Stored(bytes) => Some(bytes),
            Entry::Living(code) => code.bytes().map(Arc::from),
        };
        let mut list: Vec<_> = entries.into_iter().filter_map(|(key, entry)| Some((key, bytes(entry)?))).collect();
        list.sort_by_key(|(key, _)| *key);
        list
    }

    /// The blob. With `limit`, as many whole entries as fit; the flag says whether all did.
    pub fn data(&self, limit: Option<usize>) -> (Vec<u8>, bool) {
        let limit = limit.unwrap_or(usize::MAX);
        if limit < HEADER {
            return (Vec::new(), false);
        }
        let (mut body, mut complete) = (Vec::new(), true);
        for (key, bytes) in self.sorted() {
            if HEADER + body.len() + 24 + bytes.len() > limit {
                complete = false;
                break;
            }
            body.extend_from_slice(&key);
            body.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            body.extend_from_slice(&bytes);
        }
        let mut data = header().to_vec();
        data.extend_from_slice(&checksum(&body));
        data.extend_from_slice(&body);
        (data, complete)
    }
}

fn header() -> [u8; 32] {
    let mut header = [0; 32];
    let properties = crate::caps::properties();
    header[0..4].copy_from_slice(&32u32.to_le_bytes());
    header[4..8].copy_from_slice(&1u32.to_le_bytes());
    header[8..12].copy_from_slice(&properties.vendor_id.to_le_bytes());
    header[12..16].copy_from_slice(&properties.device_id.to_le_bytes());
    header[16..32].copy_from_slice(&properties.pipeline_cache_uuid);
    header
}

fn checksum(bytes: &[u8]) -> Key {
    crate::backend::hash::hash128(&[bytes])
}

fn parse(data: &[u8]) -> Option<HashMap<Key, Entry>> {
    let body = data.get(HEADER..)?;
    if data[..32] != header() || data[32..HEADER] != checksum(body) {
        return None;
    }
    let mut entries = HashMap::new();
    let mut rest = body;
    while !rest.is_empty() {
        let key: Key = rest.get(..16)?.try_into().ok()?;
        let length = usize::try_from(u64::from_le_bytes(rest.get(16..24)?.try_into().ok()?)).ok()?;
        let blob = rest.get(24..24usize.checked_add(length)?)?;
        entries.insert(key, Entry::Stored(blob.into()));
        rest = &rest[24 + length..];
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled() -> PipelineCache {
        let cache = PipelineCache::default();
        for i in 0..5u8 {
            cache.entries.lock().insert([i; 16], Entry::Stored(vec![i; 10 + i as usize].into()));
        }
        cache
    }

    #[test]
    fn a_blob_comes_back_whole() {
        let (data, complete) = filled().data(None);
        assert!(complete);
        let again = PipelineCache::new(&data);
        assert_eq!(again.entries.lock().len(), 5);
        assert_eq!(again.data(None).0, data);
    }

    #[test]
    fn damaged_blobs_are_ignored() {
        let (data, _) = filled().data(None);
        for length in 0..data.len() {
            assert!(PipelineCache::new(&data[..length]).entries.lock().is_empty(), "truncated to {length}");
        }
        for bit in 0..data.len() * 8 {
            let mut flipped = data.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(PipelineCache::new(&flipped).entries.lock().is_empty(), "bit {bit}");
        }
    }

    #[test]
    fn a_limit_cuts_between_entries() {
        let cache = filled();
        let (all, _) = cache.data(None);
        let (some, complete) = cache.data(Some(all.len() - 1));
        assert!(!complete && some.len() < all.len());
        assert_eq!(PipelineCache::new(&some).entries.lock().len(), 4);
    }
}
