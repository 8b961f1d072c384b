//! The build id, by which pipeline caches of different builds are distinguished.
//!
//! It is made of the version and the identity of the library's file ([`library::identity`]).

#![forbid(unsafe_code)]

use crate::os::library;
use std::sync::OnceLock;

/// Returns 16 bytes that differ between builds.
pub fn build_id() -> [u8; 16] {
    static ID: OnceLock<[u8; 16]> = OnceLock::new();
    *ID.get_or_init(|| {
        let mut hash = Fnv128::new();
        hash.write(env!("CARGO_PKG_VERSION").as_bytes());
        hash.write(&library::identity().unwrap_or_default());
        hash.0.to_le_bytes()
    })
}

/// Returns 16 bytes that differ between builds, and between processors with different features.
pub fn code_id() -> [u8; 16] {
    let mut hash = Fnv128::new();
    hash.write(&build_id());
    hash.write(&jit::host::cpu_features().to_le_bytes());
    hash.0.to_le_bytes()
}

/// The FNV-1a hash with 128 bits.
struct Fnv128(u128);

impl Fnv128 {
    fn new() -> Fnv128 {
        Fnv128(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_and_not_zero() {
        assert_eq!(build_id(), build_id());
        assert_ne!(build_id(), [0; 16]);
        assert!(code_id() == code_id() && code_id() != build_id());
    }
}
