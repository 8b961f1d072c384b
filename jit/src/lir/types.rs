//! Types of values: the element that a lane holds and the number of lanes.

#![forbid(unsafe_code)]

use std::fmt::{self, Debug, Display, Formatter};

/// Element type of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Elem {
    /// A truth value; a vector of them is a mask. Each back end chooses its own representation.
    B,
    /// Integer of 8 bits. Signedness is a property of the operation.
    I8,
    /// Integer of 16 bits.
    I16,
    /// Integer of 32 bits.
    I32,
    /// Integer of 64 bits, also used for addresses.
    I64,
    /// IEEE binary16, which is moved, selected, loaded, stored and converted, but not computed
    /// with.
    F16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

impl Elem {
    /// All elements.
    pub const ALL: [Elem; 8] = [Elem::B, Elem::I8, Elem::I16, Elem::I32, Elem::I64, Elem::F16, Elem::F32, Elem::F64];

    /// Returns the number of bits of a number, or 1 for a truth value.
    pub const fn bits(self) -> u32 {
        match self {
            Elem::B => 1,
            Elem::I8 => 8,
            Elem::I16 | Elem::F16 => 16,
            Elem::I32 | Elem::F32 => 32,
            Elem::I64 | Elem::F64 => 64,
        }
    }
    /// Returns true for `I8` to `I64`.
    pub const fn is_int(self) -> bool {
        matches!(self, Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64)
    }
    /// Returns the type of this element with `lanes` lanes.
    pub const fn by(self, lanes: usize) -> Type {
        Type { elem: self, lanes: lanes as u8 }
    }
    /// Returns a mask of the bits that a value of this element may have.
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

/// An element and a number of lanes: 1 for a scalar, or one of [`Type::LANES`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Type {
    /// Element type of a lane.
    pub elem: Elem,
    lanes: u8,
}

impl Type {
    /// Numbers of lanes that a vector may have.
    pub const LANES: [usize; 5] = [4, 8, 16, 32, 64];
    /// Largest number of lanes of a vector.
    pub const MAX_LANES_PER_VECTOR: usize = Type::LANES[Type::LANES.len() - 1];
    /// Type of a scalar truth value.
    pub const B: Type = Elem::B.by(1);
    /// Scalar integer of 8 bits.
    pub const I8: Type = Elem::I8.by(1);
    /// Scalar integer of 16 bits.
    pub const I16: Type = Elem::I16.by(1);
    /// Scalar integer of 32 bits.
    pub const I32: Type = Elem::I32.by(1);
    /// Scalar integer of 64 bits.
    pub const I64: Type = Elem::I64.by(1);
    /// Scalar IEEE binary16.
    pub const F16: Type = Elem::F16.by(1);
    /// Scalar IEEE binary32.
    pub const F32: Type = Elem::F32.by(1);
    /// Scalar IEEE binary64.
    pub const F64: Type = Elem::F64.by(1);

    /// Returns the number of lanes, 1 for a scalar.
    pub const fn lanes(self) -> usize {
        self.lanes as usize
    }
    /// Returns true if the type has several lanes.
    pub const fn is_vector(self) -> bool {
        self.lanes > 1
    }
    /// Returns true if the type exists. Pairs of 32-bit words exist only to be loaded and joined to
    /// longer vectors.
    pub fn is_valid(self) -> bool {
        let pair = self.lanes == 2 && self.lane_bytes() == 4;
        self.lanes == 1 || pair || Type::LANES.contains(&self.lanes())
    }
    /// Returns the type of a single lane.
    pub const fn scalar(self) -> Type {
        self.elem.by(1)
    }
    /// Returns the type of a comparison's result: a mask, or a truth value for a scalar.
    pub const fn mask(self) -> Type {
        self.with(Elem::B)
    }
    /// Returns the type with the same number of lanes and another element.
    pub const fn with(self, elem: Elem) -> Type {
        Type { elem, lanes: self.lanes }
    }
    /// Returns the number of bits of all lanes together.
    pub const fn bits(self) -> u32 {
        self.elem.bits() * self.lanes as u32
    }
    /// Returns the bytes of a lane in memory. A scalar truth value is a byte, 0 or 1; a lane of a
    /// mask is a 32-bit word, 0 or all ones.
    pub const fn lane_bytes(self) -> u32 {
        match (self.elem, self.lanes) {
            (Elem::B, 1) => 1,
            (Elem::B, _) => 4,
            (elem, _) => elem.bits() / 8,
        }
    }
    /// Returns the number of bytes in memory.
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
