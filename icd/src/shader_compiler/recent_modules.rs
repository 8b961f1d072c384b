//! The modules that were parsed last.
//!
//! Several stages are often created of one module in a row: entry points of a library, or one entry
//! point with different specialization constants. The words are then parsed and validated once. The
//! parsed form is twice as large as the words, which it shares, so that few modules are kept, and
//! none that is large.

#![forbid(unsafe_code)]

use jit::error::Error;
use jit::spirv::Module;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// Largest number of modules that are kept: those of a graphics pipeline.
const MAX_MODULES: usize = 4;

/// Largest number of words of a module that is kept: 64 KiB, with a parsed form of some 128 KiB.
const MAX_WORDS: usize = 16 << 10;

/// Modules without errors of their own, the last one first.
#[derive(Default)]
pub struct RecentModules(Mutex<VecDeque<Arc<Module>>>);

impl RecentModules {
    /// Returns the parsed module of these words. If it is not kept it is parsed, and validated
    /// unless `is_validated` is set.
    ///
    /// # Errors
    /// The errors of [`Module::parse`].
    pub fn parse(&self, words: &Arc<[u32]>, is_validated: bool) -> Result<Arc<Module>, Error> {
        let is_same = |module: &&Arc<Module>| std::ptr::eq(module.words(), &**words) || module.words() == &**words;
        if let Some(module) = self.0.lock().iter().find(is_same) {
            return Ok(module.clone());
        }
        let parse = if is_validated { Module::parse_again } else { Module::parse_shared };
        let module = Arc::new(parse(words.clone())?);
        if words.len() <= MAX_WORDS {
            let mut modules = self.0.lock();
            modules.push_front(module.clone());
            let dropped = if modules.len() > MAX_MODULES { modules.pop_back() } else { None };
            // Destructors run without the lock.
            drop(modules);
            drop(dropped);
        }
        Ok(module)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a module; each number gives another one.
    fn words(number: u32) -> Arc<[u32]> {
        let (words, _) = include_bytes!("../../tests/data/triangle.vert.spv").as_chunks();
        let mut words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        words[3] += number;
        words.into()
    }

    /// Returns a module with a string of more words than a module has that is kept.
    fn large() -> Arc<[u32]> {
        const OP_SOURCE: u32 = 3;
        const OP_STRING: u32 = 7;
        let words = words(1);
        let (id, mut at) = (words[3] - 1, 5);
        while words[at] & 0xffff != OP_SOURCE {
            at += (words[at] >> 16) as usize;
        }
        let mut string = vec![u32::from_le_bytes(*b"text"); MAX_WORDS];
        string.push(0);
        let length = 2 + string.len() as u32;
        [&words[..at], &[length << 16 | OP_STRING, id], &string, &words[at..]].concat().into()
    }

    #[test]
    fn equal_words_are_parsed_once_while_they_are_recent() {
        let modules = RecentModules::default();
        let first = modules.parse(&words(1), false).expect("a module");
        assert!(Arc::ptr_eq(&first, &modules.parse(&words(1), false).expect("a module")));
        assert!(Arc::ptr_eq(&first, &modules.parse(&words(1), true).expect("a module")));
        for number in 2..2 + MAX_MODULES as u32 {
            let other = modules.parse(&words(number), false).expect("a module");
            assert!(!Arc::ptr_eq(&first, &other));
        }
        assert!(!Arc::ptr_eq(&first, &modules.parse(&words(1), false).expect("a module")), "it is not recent");
        assert_eq!(modules.0.lock().len(), MAX_MODULES);
    }

    #[test]
    fn neither_modules_with_errors_nor_large_ones_are_kept() {
        let modules = RecentModules::default();
        assert!(modules.parse(&Arc::from([1, 2, 3]), false).is_err());
        assert!(modules.parse(&Arc::from([1, 2, 3]), true).is_err());
        modules.parse(&large(), false).expect("a module");
        assert!(modules.0.lock().is_empty());
    }
}
