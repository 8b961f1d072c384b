//! Headers of rpm packages, in the format of version 4: values by tag.
//!
//! A header is a magic number, the number of entries, the size of the values, an entry for each tag
//! (tag, type, offset, count), and the values. All numbers are big-endian. The first entry is the
//! region, whose value is the last one and looks like an entry; the digest of the package covers
//! what it encloses.

use std::collections::BTreeMap;

/// Value of a tag.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Numbers of 16 bits.
    Shorts(Vec<u16>),
    /// Numbers of 32 bits.
    Words(Vec<u32>),
    /// A text.
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
    /// A text in the language `C`.
    Localized(String),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u32> for Value {
    fn from(word: u32) -> Self {
        Self::Words(vec![word])
    }
}

impl Value {
    /// Returns the type in an entry, and the alignment of the value.
    fn kind(&self) -> (u32, usize) {
        match self {
            Self::Shorts(_) => (3, 2),
            Self::Words(_) => (4, 4),
            Self::Text(_) => (6, 1),
            Self::Texts(_) => (8, 1),
            Self::Localized(_) => (9, 1),
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Shorts(all) => all.len(),
            Self::Words(all) => all.len(),
            Self::Texts(all) => all.len(),
            Self::Text(_) | Self::Localized(_) => 1,
        }
    }

    fn write(&self, store: &mut Vec<u8>) {
        let mut text = |text: &String| store.extend(text.bytes().chain([0]));
        match self {
            Self::Shorts(all) => store.extend(all.iter().flat_map(|half| half.to_be_bytes())),
            Self::Words(all) => store.extend(all.iter().flat_map(|word| word.to_be_bytes())),
            Self::Texts(all) => all.iter().for_each(text),
            Self::Text(one) | Self::Localized(one) => text(one),
        }
    }
}

/// Region of the header that is signed.
pub const SIGNATURES: u32 = 62;
/// Region of the header that describes the package.
pub const IMMUTABLE: u32 = 63;

/// Returns a header with a region that encloses all values.
pub fn header(region: u32, values: &BTreeMap<u32, Value>) -> Vec<u8> {
    const BINARY: u32 = 7;
    const ENTRY: usize = 16;
    let (mut entries, mut store) = (Vec::new(), Vec::new());
    for (tag, value) in values {
        let (kind, align) = value.kind();
        store.resize(store.len().next_multiple_of(align), 0);
        entries.extend([*tag, kind, store.len() as u32, value.count() as u32]);
        value.write(&mut store);
    }
    let count = values.len() + 1;
    let first = [region, BINARY, store.len() as u32, ENTRY as u32];
    let begin = (count * ENTRY) as u32;
    let last = [region, BINARY, begin.wrapping_neg(), ENTRY as u32];
    let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>();
    store.extend(bytes(&last));
    let magic = [0x8ead_e801, 0, count as u32, store.len() as u32];
    [bytes(&magic), bytes(&first), bytes(&entries), store].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_region_encloses_the_entries() {
        let values = BTreeMap::from([(1000, Value::from("ab")), (1006, Value::from(7))]);
        let bytes = header(IMMUTABLE, &values);
        let words: Vec<u32> =
            bytes.chunks(4).map(|word| u32::from_be_bytes(word.try_into().expect("four bytes"))).collect();
        assert_eq!(words[..4], [0x8ead_e801, 0, 3, 24]);
        assert_eq!(words[4..8], [63, 7, 8, 16]);
        assert_eq!(words[8..16], [1000, 6, 0, 1, 1006, 4, 4, 1]);
        assert_eq!(bytes[64..72], *b"ab\0\0\0\0\0\x07");
        assert_eq!(words[18..], [63, 7, 48u32.wrapping_neg(), 16]);
    }
}
