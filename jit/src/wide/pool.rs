//! Constants behind the code, which instructions address relative to the instruction pointer, so
//! that they need neither a register nor a relocation.

#![forbid(unsafe_code)]

use base::hash::WordMap;

/// Size in bytes and alignment of the largest constant.
pub const LARGEST: usize = 64;

/// Constants under construction.
#[derive(Default)]
pub struct Pool {
    entries: Vec<Vec<u8>>,
    numbers: WordMap<Vec<u8>, u32>,
}

impl Pool {
    /// Returns the number of a constant of 4, 8, 16, 32 or 64 bytes; its size is its alignment too.
    pub fn add(&mut self, bytes: &[u8]) -> u32 {
        debug_assert!(bytes.len().is_power_of_two() && bytes.len() <= LARGEST);
        if let Some(&number) = self.numbers.get(bytes) {
            return number;
        }
        let number = self.entries.len() as u32;
        self.entries.push(bytes.to_vec());
        self.numbers.insert(bytes.to_vec(), number);
        number
    }

    /// Appends the constants to the code and returns their offsets by number.
    pub fn finish(&self, code: &mut Vec<u8>) -> Vec<u32> {
        let mut offsets = vec![0; self.entries.len()];
        if self.entries.is_empty() {
            return offsets;
        }
        // The largest constants come first, so that all are aligned.
        let mut size = self.entries.iter().map(Vec::len).max().unwrap_or(1);
        code.resize(code.len().next_multiple_of(size), 0);
        while size != 0 {
            for (entry, offset) in self.entries.iter().zip(&mut offsets).filter(|(entry, _)| entry.len() == size) {
                *offset = code.len() as u32;
                code.extend(entry);
            }
            size /= 2;
        }
        offsets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_kept_once_and_aligned() {
        let mut pool = Pool::default();
        let entries: Vec<Vec<u8>> = [4, 32, 8, 16, 4, 32].iter().zip(1u8..).map(|(&n, i)| vec![i; n]).collect();
        let numbers: Vec<u32> = entries.iter().map(|e| pool.add(e)).collect();
        assert_eq!(numbers, entries.iter().map(|e| pool.add(e)).collect::<Vec<_>>());
        let mut code = vec![0xcc; 45];
        let offsets = pool.finish(&mut code);
        for (entry, number) in entries.iter().zip(numbers) {
            let at = offsets[number as usize] as usize;
            assert_eq!(at % entry.len(), 0);
            assert_eq!(&code[at..at + entry.len()], entry);
        }
        assert_eq!(code.len(), 64 + 4 + 32 + 8 + 16 + 4 + 32);
    }
}
