//! Aligned scratch memory of a worker: the buffers that compiled stages read and write.
//!
//! Buffers only grow (if there is no memory for it, the thread unwinds). Their contents are
//! unspecified between uses, but always initialised bytes.

/// A block of 64 bytes, aligned to 64.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct CacheLine([u8; 64]);

/// A growing buffer aligned to 64 bytes.
#[derive(Default)]
pub struct AlignedBuf {
    lines: Vec<CacheLine>,
}

impl AlignedBuf {
    /// Makes the buffer at least `bytes` bytes long; the pointer is valid until the next call.
    #[inline]
    pub fn ensure(&mut self, bytes: usize) -> *mut u8 {
        let lines = bytes.div_ceil(64).max(1);
        if self.lines.len() < lines {
            self.grow(lines);
        }
        self.lines.as_mut_ptr().cast()
    }

    #[cold]
    fn grow(&mut self, lines: usize) {
        let more = lines - self.lines.len();
        base::alloc::or_unwind(base::alloc::reserve(&mut self.lines, more));
        self.lines.resize(lines, CacheLine([0; 64]));
    }

    /// Makes the buffer long enough, as [`AlignedBuf::ensure`] does, and returns its first `words`
    /// words.
    #[inline]
    pub fn words(&mut self, words: usize) -> &mut [u32] {
        let p = self.ensure(words * 4).cast::<u32>();
        // SAFETY: `ensure` made at least `words * 4` initialised bytes, aligned to 64, which the
        // borrow of self keeps alive.
        unsafe { core::slice::from_raw_parts_mut(p, words) }
    }

    /// Returns the first `words` words unchanged; the buffer must have been sized before.
    #[inline]
    pub fn as_words(&self, words: usize) -> &[u32] {
        assert!(words * 4 <= self.lines.len() * 64, "buffer sized before");
        // SAFETY: by the assertion, the words are inside of the initialised lines, which are
        // aligned to 64.
        unsafe { core::slice::from_raw_parts(self.lines.as_ptr().cast(), words) }
    }

    /// Frees the memory if the buffer has grown beyond `bytes`.
    pub fn trim(&mut self, bytes: usize) {
        if self.lines.len() * 64 > bytes {
            self.lines = Vec::new();
        }
    }
}
