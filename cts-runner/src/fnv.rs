//! FNV-1a hash of 64 bits. Published hashes and the selection of cases depend on it, so it never
//! changes.

/// Hash of data that is given in pieces.
pub(crate) struct Fnv(pub(crate) u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    }
}

/// Returns the hash of all bytes.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash = Fnv::default();
    hash.write(bytes);
    hash.0
}
