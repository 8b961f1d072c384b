//! Random numbers for tests.

/// Xorshift; never 0.
pub struct Rng(pub u64);

impl Rng {
    /// 64 bits, the upper ones better.
    pub fn wide(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    pub fn next(&mut self) -> u32 {
        (self.wide() >> 16) as u32
    }
    pub fn below(&mut self, n: u32) -> u32 {
        self.next() % n
    }
    /// In -1..1.
    pub fn unit(&mut self) -> f32 {
        self.next() as f32 / 2147483648.0 - 1.0
    }
    pub fn float(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.wide() >> 40) as f32 / (1u64 << 24) as f32
    }
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }
}
