//! Enumerations that Vulkan numbers.

#![forbid(unsafe_code)]

/// An enumeration whose variants stand in the order of Vulkan's numbers, from 0 on without a gap. It has 32 bits: of equations of 8 bits the compiler
/// makes blending (`rasterizer/src/tile/color/eight.rs`) of half the speed.
#[macro_export]
macro_rules! numbered {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// By Vulkan's numbers.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// Of one of Vulkan's numbers; `None`: there is no such value.
            pub fn from_vk(number: i32) -> Option<$name> {
                usize::try_from(number).ok().and_then(|n| Self::ALL.get(n)).copied()
            }
        }
    };
}
