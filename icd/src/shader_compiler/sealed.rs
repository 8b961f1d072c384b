//! Authenticated blobs: data that the driver gives to the application and takes back later.
//!
//! A blob is a header of [`HEADER`] bytes with the UUID of the build, a tag, then the payload. The
//! tag is a keyed BLAKE3 hash of the purpose and of everything but the tag, by a key of this user
//! and build ([`cache_key`]). A payload is thus accepted only if this user's driver sealed it for
//! the same purpose, wherever the application kept it meanwhile. The hash covers the driver's own
//! copy, because the application's memory may be a file that another process writes to.

#![forbid(unsafe_code)]

use super::cache_key::{SecretKey, cache_key};
use crate::fallible;

/// Use of a blob. A blob that was sealed for one purpose cannot be opened for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// `vkGetPipelineCacheData`.
    PipelineCache,
    /// `vkGetShaderBinaryDataEXT`.
    ShaderBinary,
    /// `vkGetPipelineBinaryDataKHR`.
    PipelineBinary,
    /// `vkGetValidationCacheDataEXT`.
    ValidationCache,
}

/// Number of bytes of a blob's header, which Vulkan defines for caches.
pub const HEADER: usize = 32;
/// Number of bytes of a blob's tag, which follows the header.
pub const TAG: usize = blake3::OUT_LEN;
/// Number of bytes before the payload.
pub const PAYLOAD: usize = HEADER + TAG;

/// Returns the header of blobs: its size, version 1, and the identity of the device and build, in
/// the order of `VkPipelineCacheHeaderVersionOne`, or of `VkValidationCacheHeaderVersionEXT` with
/// the numbers of vendor and device behind the UUID.
pub fn header(purpose: Purpose) -> [u8; HEADER] {
    let properties = crate::caps::properties();
    let (vendor, device) = (properties.vendor_id.to_le_bytes(), properties.device_id.to_le_bytes());
    let uuid = &properties.pipeline_cache_uuid[..];
    let identity = match purpose {
        Purpose::PipelineCache | Purpose::ShaderBinary | Purpose::PipelineBinary => [&vendor, &device, uuid],
        Purpose::ValidationCache => [uuid, &vendor, &device],
    };
    let mut header = [0; HEADER];
    header[0..4].copy_from_slice(&(HEADER as u32).to_le_bytes());
    header[4..8].copy_from_slice(&1u32.to_le_bytes());
    let mut at = 8;
    for part in identity {
        header[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    header
}

/// Hash of a blob's contents, which may come in pieces.
pub struct Authenticator(blake3::Hasher);

impl Authenticator {
    /// Creates the hash of an empty payload.
    pub fn new(purpose: Purpose, key: &SecretKey) -> Authenticator {
        let mut hasher = blake3::Hasher::new_keyed(key);
        hasher.update(&(purpose as u32).to_le_bytes()).update(&header(purpose));
        Authenticator(hasher)
    }

    /// Appends a part of the payload.
    pub fn update(&mut self, part: &[u8]) -> &mut Authenticator {
        self.0.update(part);
        self
    }

    /// Returns the tag.
    pub fn tag(&self) -> [u8; TAG] {
        *self.0.finalize().as_bytes()
    }

    /// Returns true if the tag is that of the contents. The comparison takes constant time.
    pub fn matches(&self, tag: &[u8; TAG]) -> bool {
        self.0.finalize() == *tag
    }
}

/// Returns a blob with the payload; `None` if there is no memory or no key.
pub fn seal(purpose: Purpose, payload: &[u8]) -> Option<Vec<u8>> {
    seal_with(cache_key()?, purpose, payload)
}

/// Copies the payload of a blob and returns the copy if it is authentic. `None` means that the data
/// is damaged, forged, or was sealed for another purpose, by another build or for another user, or
/// that there is no memory.
pub fn open(purpose: Purpose, data: &[u8]) -> Option<Vec<u8>> {
    // The key is not read if the header refuses the data.
    split(purpose, data)?;
    open_with(cache_key()?, purpose, data)
}

/// Returns a hash that changes with the key of user and build, as well as with the given bytes.
pub fn fingerprint(bytes: &[u8]) -> [u8; TAG] {
    // Without a key no blob is authentic, and none is made.
    let key = cache_key().copied().unwrap_or_default();
    // No purpose has this number, so that the hash is no tag.
    *blake3::Hasher::new_keyed(&key).update(&u32::MAX.to_le_bytes()).update(bytes).finalize().as_bytes()
}

/// Copies the header and the tag of a blob. Returns the tag and the rest of the data if the header
/// is that of this device and build.
pub fn split(purpose: Purpose, data: &[u8]) -> Option<([u8; TAG], &[u8])> {
    let (start, payload) = data.split_first_chunk::<PAYLOAD>()?;
    let own = *start;
    let (start, tag) = own.split_first_chunk::<HEADER>()?;
    (*start == header(purpose)).then_some((*tag.first_chunk()?, payload))
}

fn seal_with(key: &SecretKey, purpose: Purpose, payload: &[u8]) -> Option<Vec<u8>> {
    let mut blob = Vec::new();
    fallible::reserve(&mut blob, PAYLOAD + payload.len()).ok()?;
    blob.extend_from_slice(&header(purpose));
    blob.extend_from_slice(&Authenticator::new(purpose, key).update(payload).tag());
    blob.extend_from_slice(payload);
    Some(blob)
}

fn open_with(key: &SecretKey, purpose: Purpose, data: &[u8]) -> Option<Vec<u8>> {
    let (tag, payload) = split(purpose, data)?;
    let payload = fallible::to_vec(payload).ok()?;
    Authenticator::new(purpose, key).update(&payload).matches(&tag).then_some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PURPOSES: [Purpose; 4] =
        [Purpose::PipelineCache, Purpose::ShaderBinary, Purpose::PipelineBinary, Purpose::ValidationCache];

    #[test]
    fn a_payload_round_trips() {
        for purpose in PURPOSES {
            for payload in [&[][..], &[7], &[0; 4000]] {
                let blob = seal(purpose, payload).expect("a key");
                assert_eq!(blob.len(), PAYLOAD + payload.len());
                assert_eq!(open(purpose, &blob).as_deref(), Some(payload));
            }
        }
    }

    #[test]
    fn damaged_blobs_are_refused() {
        for purpose in PURPOSES {
            let blob = seal(purpose, &[1, 2, 3, 4, 5, 6, 7]).expect("a key");
            for length in 0..blob.len() {
                assert_eq!(open(purpose, &blob[..length]), None, "truncated to {length}");
            }
            assert_eq!(open(purpose, &[&blob[..], &[0]].concat()), None, "a byte more");
            for bit in 0..blob.len() * 8 {
                let mut flipped = blob.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(open(purpose, &flipped), None, "bit {bit}");
            }
        }
    }

    #[test]
    fn forged_blobs_are_refused() {
        let (purpose, payload) = (Purpose::PipelineBinary, [0xcc; 20]);
        let unkeyed = blake3::hash(&[&header(purpose)[..], &payload].concat());
        let other = seal(purpose, &[0xcd; 20]).expect("a key");
        for tag in [&[0; TAG][..], &[255; TAG], unkeyed.as_bytes(), &other[HEADER..PAYLOAD]] {
            assert_eq!(open(purpose, &[&header(purpose), tag, &payload].concat()), None);
        }
    }

    #[test]
    fn a_blob_is_refused_with_another_key_or_for_another_purpose() {
        let keys = [[1; 32], [2; 32]];
        for purpose in PURPOSES {
            let blob = seal_with(&keys[0], purpose, &[9; 9]).expect("memory");
            assert_eq!(open_with(&keys[0], purpose, &blob), Some(vec![9; 9]));
            assert_eq!(open_with(&keys[1], purpose, &blob), None);
            assert_eq!(open(purpose, &blob), None, "the user's key is neither");
            for other in PURPOSES.into_iter().filter(|other| *other != purpose) {
                assert_eq!(open_with(&keys[0], other, &blob), None, "{purpose:?} as {other:?}");
                // The other purpose's header does not help.
                let claim = [&header(other), &blob[HEADER..]].concat();
                assert_eq!(open_with(&keys[0], other, &claim), None, "{purpose:?} as {other:?}");
            }
        }
    }

    #[test]
    fn headers_are_those_of_vulkan() {
        let properties = crate::caps::properties();
        let cache = header(Purpose::PipelineCache);
        assert_eq!(cache[..8], [32, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(cache[8..16], [properties.vendor_id.to_le_bytes(), properties.device_id.to_le_bytes()].concat());
        assert_eq!(cache[16..], properties.pipeline_cache_uuid);
        let verdicts = header(Purpose::ValidationCache);
        assert_eq!((&verdicts[..8], &verdicts[8..24]), (&cache[..8], &cache[16..]));
    }
}
