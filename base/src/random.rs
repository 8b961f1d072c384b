//! Random numbers for tests: the same on every machine. Two generators, because sequences of both are what tests were made with.

#![forbid(unsafe_code)]

/// Xorshift; never 0.
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

#[expect(clippy::should_implement_trait, reason = "`next` is not an iterator's")]
impl Rng {
    /// 64 bits, the upper ones better.
    pub fn wide(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    /// 32 bits.
    pub fn next(&mut self) -> u32 {
        (self.wide() >> 16) as u32
    }
    /// Below `n`.
    pub fn below(&mut self, n: u32) -> u32 {
        self.next() % n
    }
    /// In -1..1.
    pub fn unit(&mut self) -> f32 {
        self.next() as f32 / 2147483648.0 - 1.0
    }
    /// In low..high.
    pub fn float(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.wide() >> 40) as f32 / (1u64 << 24) as f32
    }
    /// One of a list.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }
}

/// xorshift64*: any seed, all bits good.
#[derive(Clone, Debug)]
pub struct Star(u64);

#[expect(clippy::should_implement_trait, reason = "`next` is not an iterator's")]
impl Star {
    /// Any seed.
    pub fn new(seed: u64) -> Self {
        let mut rng = Star(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        rng.next();
        rng
    }
    /// 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    /// Below `n`, or 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.next() >> 33) as usize) % n.max(1)
    }
    /// True with a chance of `percent`.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
    /// One of a list.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}
