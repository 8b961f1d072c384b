//! Aligned scratch memory of a worker: the buffers that compiled stages read and write.
//!
//! Buffers only grow (without memory for it, the thread unwinds); contents are unspecified between uses (they are always initialised bytes).

/// 64 bytes, aligned to 64.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// A growing buffer aligned to 64 bytes.
#[derive(Default)]
pub struct AlignedBuf {
    lines: Vec<Line>,
}

impl AlignedBuf {
    /// At least `bytes` bytes; the pointer is valid until the next call.
    pub fn ensure(&mut self, bytes: usize) -> *mut u8 {
        let lines = bytes.div_ceil(64).max(1);
        if self.lines.len() < lines {
            let more = lines - self.lines.len();
            base::alloc::or_unwind(base::alloc::reserve(&mut self.lines, more));
            self.lines.resize(lines, Line([0; 64]));
        }
        self.lines.as_mut_ptr().cast()
    }

    /// As [`AlignedBuf::ensure`], in 32-bit words, as a slice.
    pub fn words(&mut self, words: usize) -> &mut [u32] {
        let p = self.ensure(words * 4).cast::<u32>();
        // SAFETY: `ensure` made at least `words * 4` initialised bytes, aligned to 64; the borrow of self keeps them.
        unsafe { core::slice::from_raw_parts_mut(p, words) }
    }

    /// The first `words` words as they are; the buffer must have been sized before.
    pub fn as_words(&self, words: usize) -> &[u32] {
        assert!(words * 4 <= self.lines.len() * 64, "buffer sized before");
        // SAFETY: inside the initialised lines by the assertion, aligned to 64.
        unsafe { core::slice::from_raw_parts(self.lines.as_ptr().cast(), words) }
    }

    /// Gives memory back when the buffer has grown beyond `bytes`.
    pub fn trim(&mut self, bytes: usize) {
        if self.lines.len() * 64 > bytes {
            self.lines = Vec::new();
        }
    }
}

/// The processor that this thread is on, which may be another one at once: whose caches have what it has just written.
pub fn processor() -> usize {
    // SAFETY: no arguments.
    usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}
