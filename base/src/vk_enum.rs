//! Enumerations that Vulkan numbers.

#![forbid(unsafe_code)]

/// Declares an enumeration whose variants have the order of Vulkan's numbers, from 0 on without a
/// gap. It has 32 bits, because the compiler makes blending with equations of 8 bits
/// (`rasterizer/src/tile/color/unorm8.rs`) half as fast.
#[macro_export]
macro_rules! vk_enum {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// All variants in the order of Vulkan's numbers.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// Returns the variant of one of Vulkan's numbers, or `None` if there is no such value.
            pub fn from_vk(number: i32) -> Option<$name> {
                usize::try_from(number).ok().and_then(|n| Self::ALL.get(n)).copied()
            }
        }
    };
}
