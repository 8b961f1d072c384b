//! Types: what a lane holds, and how many lanes there are.

#![forbid(unsafe_code)]

use std::fmt::{self, Debug, Display, Formatter};

/// What a lane holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Elem {
    /// A truth value. With several lanes: a mask. How it is held is a back end's own affair.
    B,
    /// Integers; signedness is the operation's.
    I8,
    /// 16 bits.
    I16,
    /// 32 bits.
    I32,
    /// 64 bits; addresses too.
    I64,
    /// IEEE binary16: moved, selected, loaded, stored and converted, not computed with.
    F16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

impl Elem {
    /// All of them.
    pub const ALL: [Elem; 8] = [Elem::B, Elem::I8, Elem::I16, Elem::I32, Elem::I64, Elem::F16, Elem::F32, Elem::F64];

    /// Bits of a number; 1 for a truth value.
    pub const fn bits(self) -> u32 {
        match self {
            Elem::B => 1,
            Elem::I8 => 8,
            Elem::I16 | Elem::F16 => 16,
            Elem::I32 | Elem::F32 => 32,
            Elem::I64 | Elem::F64 => 64,
        }
    }
    /// True for I8..I64.
    pub const fn is_int(self) -> bool {
        matches!(self, Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64)
    }
    /// This element in so many lanes.
    pub const fn by(self, lanes: usize) -> Type {
        Type { elem: self, lanes: lanes as u8 }
    }
    /// The bits that a value of it may have.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }
    fn name(self) -> &'static str {
        match self {
            Elem::B => "b",
            Elem::I8 => "i8",
            Elem::I16 => "i16",
            Elem::I32 => "i32",
            Elem::I64 => "i64",
            Elem::F16 => "f16",
            Elem::F32 => "f32",
            Elem::F64 => "f64",
        }
    }
}

/// An element and a number of lanes: 1 (a scalar), or [`Type::LANES`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Type {
    /// What a lane holds.
    pub elem: Elem,
    lanes: u8,
}

impl Type {
    /// Lanes that a vector may have.
    pub const LANES: [usize; 5] = [4, 8, 16, 32, 64];
    /// The most of them.
    pub const MOST_LANES: usize = Type::LANES[Type::LANES.len() - 1];
    /// A truth value.
    pub const B: Type = Elem::B.by(1);
    /// Scalars.
    pub const I8: Type = Elem::I8.by(1);
    /// 16 bits.
    pub const I16: Type = Elem::I16.by(1);
    /// 32 bits.
    pub const I32: Type = Elem::I32.by(1);
    /// 64 bits.
    pub const I64: Type = Elem::I64.by(1);
    /// IEEE binary16.
    pub const F16: Type = Elem::F16.by(1);
    /// IEEE binary32.
    pub const F32: Type = Elem::F32.by(1);
    /// IEEE binary64.
    pub const F64: Type = Elem::F64.by(1);

    /// Lanes; 1 for a scalar.
    pub const fn lanes(self) -> usize {
        self.lanes as usize
    }
    /// Several lanes.
    pub const fn is_vector(self) -> bool {
        self.lanes > 1
    }
    /// One of the types that there are. Pairs of words are loaded and joined to longer vectors, and no more.
    pub fn is_valid(self) -> bool {
        let pair = self.lanes == 2 && self.lane_bytes() == 4;
        self.lanes == 1 || pair || Type::LANES.contains(&self.lanes())
    }
    /// A lane of it.
    pub const fn scalar(self) -> Type {
        self.elem.by(1)
    }
    /// The mask, or truth value, that a comparison of it gives.
    pub const fn mask(self) -> Type {
        self.with(Elem::B)
    }
    /// As many lanes of another element.
    pub const fn with(self, elem: Elem) -> Type {
        Type { elem, lanes: self.lanes }
    }
    /// Bits of all lanes.
    pub const fn bits(self) -> u32 {
        self.elem.bits() * self.lanes as u32
    }
    /// Bytes of a lane in memory: a truth value is a byte, 0 or 1; a lane of a mask is a 32-bit word, 0 or all ones.
    pub const fn lane_bytes(self) -> u32 {
        match (self.elem, self.lanes) {
            (Elem::B, 1) => 1,
            (Elem::B, _) => 4,
            (elem, _) => elem.bits() / 8,
        }
    }
    /// Bytes in memory.
    pub const fn bytes(self) -> u32 {
        self.lane_bytes() * self.lanes as u32
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.elem.name())?;
        if self.is_vector() { write!(f, "x{}", self.lanes) } else { Ok(()) }
    }
}

impl Debug for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}
