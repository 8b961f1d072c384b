//! Random numbers for tests, which are the same on every machine. There are two generators, because
//! existing tests depend on the sequences of both.

#![forbid(unsafe_code)]

/// A xorshift generator; its state is never 0.
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

#[expect(clippy::should_implement_trait, reason = "`next` is not an iterator's")]
impl Rng {
    /// Returns 64 bits, of which the upper ones are better.
    pub fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    /// Returns 32 bits.
    pub fn next(&mut self) -> u32 {
        (self.next_u64() >> 16) as u32
    }
    /// Returns a number below `n`.
    pub fn below(&mut self, n: u32) -> u32 {
        self.next() % n
    }
    /// Returns a number in -1..1.
    pub fn unit(&mut self) -> f32 {
        self.next() as f32 / 2147483648.0 - 1.0
    }
    /// Returns a number in `low..high`.
    pub fn float(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.next_u64() >> 40) as f32 / (1u64 << 24) as f32
    }
    /// Returns an element of a slice.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }
}

/// A xorshift64* generator, whose bits are all good.
#[derive(Clone, Debug)]
pub struct XorshiftStar(u64);

#[expect(clippy::should_implement_trait, reason = "`next` is not an iterator's")]
impl XorshiftStar {
    /// Makes a generator from any seed.
    pub fn new(seed: u64) -> Self {
        let mut rng = XorshiftStar(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        rng.next();
        rng
    }
    /// Returns 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    /// Returns a number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.next() >> 33) as usize) % n.max(1)
    }
    /// Returns true with a probability of `percent` in 100.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
    /// Returns an element of a slice.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}
