//! Hit objects: words that stages of ray tracing keep in variables, with everything that the
//! closest-hit or miss shader of a ray reads.

#![forbid(unsafe_code)]

use super::{PRIMITIVE_WORDS, RayValue};
use core::ops::Range;

/// Content of a hit object (`HitObjectField::Kind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum HitObjectKind {
    /// Nothing, which executes no shader.
    Empty,
    /// A ray that has missed.
    Miss,
    /// An intersection.
    Hit,
}

impl HitObjectKind {
    /// Returns the kind with a number; a hit object of another one is empty.
    pub const fn from_word(word: u32) -> HitObjectKind {
        match word {
            1 => HitObjectKind::Miss,
            2 => HitObjectKind::Hit,
            _ => HitObjectKind::Empty,
        }
    }
}

macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident $value:expr, $words:expr;)*) => {
        /// A part of a hit object.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum HitObjectField {
            $($(#[$doc])* $name,)*
        }

        impl HitObjectField {
            /// All fields in the order of their words.
            pub const ALL: &'static [HitObjectField] = &[$(HitObjectField::$name),*];

            /// Returns the number of words.
            pub const fn words(self) -> u32 {
                match self {
                    $(HitObjectField::$name => $words,)*
                }
            }

            /// Returns the value that the shaders of the hit object read there.
            pub const fn value(self) -> Option<RayValue> {
                match self {
                    $(HitObjectField::$name => $value,)*
                }
            }
        }
    };
}

fields! {
    /// [`HitObjectKind`].
    Kind None, 1;
    /// Index of the record of the closest-hit or miss shader in its table.
    RecordIndex None, 1;
    /// `RayFlags`.
    RayFlags Some(RayValue::IncomingRayFlags), 1;
    /// Mask of instances.
    CullMask Some(RayValue::CullMask), 1;
    /// Origin in the world.
    WorldRayOrigin Some(RayValue::WorldRayOrigin), 3;
    /// Start of the interval.
    RayTmin Some(RayValue::RayTmin), 1;
    /// Direction in the world.
    WorldRayDirection Some(RayValue::WorldRayDirection), 3;
    /// Distance of the intersection, or the end of the interval.
    RayTmax Some(RayValue::RayTmax), 1;
    /// Time of the ray.
    CurrentRayTime Some(RayValue::CurrentRayTime), 1;
    /// Index of the primitive.
    PrimitiveId Some(RayValue::PrimitiveId), 1;
    /// Index of the geometry.
    RayGeometryIndex Some(RayValue::RayGeometryIndex), 1;
    /// Index of the instance.
    InstanceId Some(RayValue::InstanceId), 1;
    /// Custom index of the instance.
    InstanceCustomIndex Some(RayValue::InstanceCustomIndex), 1;
    /// Hit kind.
    HitKind Some(RayValue::HitKind), 1;
    /// Hit attribute.
    HitAttribute Some(RayValue::HitAttribute), RayValue::HitAttribute.words();
    /// Transform of the instance, by columns.
    ObjectToWorld Some(RayValue::ObjectToWorld), 12;
    /// Transform to the instance, by columns.
    WorldToObject Some(RayValue::WorldToObject), 12;
    /// Words of the built-in primitive that is hit ([`PRIMITIVE_WORDS`]).
    Primitive Some(RayValue::HitTriangleVertexPositions), PRIMITIVE_WORDS;
}

impl HitObjectField {
    /// Number of words of a hit object.
    pub const WORDS: u32 = {
        let (mut words, mut i) = (0, 0);
        while i < Self::ALL.len() {
            words += Self::ALL[i].words();
            i += 1;
        }
        words
    };

    /// Returns the number of the first word.
    pub const fn first(self) -> u32 {
        let (mut words, mut i) = (0, 0);
        while i < self as usize {
            words += Self::ALL[i].words();
            i += 1;
        }
        words
    }

    /// Returns the numbers of the words of a hit object that a value has there; `None` if it is no
    /// part of a hit object.
    pub fn words_of_value(value: RayValue) -> Option<Range<usize>> {
        let first = match value.word_of_primitive() {
            Some(word) => Self::Primitive.first() + word,
            None => Self::ALL.iter().find(|field| field.value() == Some(value))?.first(),
        };
        Some(first as usize..(first + value.words()) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_follow_each_other() {
        let mut next = 0;
        for &field in HitObjectField::ALL {
            assert_eq!(field.first(), next, "{field:?}");
            next += field.words();
            assert!(field.value().is_none_or(|value| value.words() == field.words()), "{field:?}");
        }
        assert_eq!(next, HitObjectField::WORDS);
        let primitive = HitObjectField::Primitive.first() as usize;
        assert_eq!(HitObjectField::words_of_value(RayValue::HitLssRadii), Some(primitive + 6..primitive + 8));
        assert_eq!(HitObjectField::words_of_value(RayValue::LaunchId), None);
        for kind in [HitObjectKind::Empty, HitObjectKind::Miss, HitObjectKind::Hit] {
            assert_eq!(HitObjectKind::from_word(kind as u32), kind);
        }
    }
}
