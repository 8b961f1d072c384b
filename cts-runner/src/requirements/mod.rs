//! Requirements of a program on a driver, as a JSON file (docs/ci.md), and what a driver lacks of
//! them.
//!
//! [`parse`] reads the file and knows all names from [`tables`]; [`check`] compares with a
//! [`DeviceReport`](crate::vk::DeviceReport).

pub mod check;
mod parse;
pub mod tables;

/// Requirements of a program.
#[derive(Debug, Default, PartialEq)]
pub struct Requirements {
    /// Lowest version of Vulkan, as `VK_MAKE_API_VERSION` encodes it; 0 for any.
    pub api_version: u32,
    /// Names of instance and device extensions.
    pub extensions: Vec<String>,
    /// Names of members of structures of features.
    pub features: Vec<String>,
    /// Names of limits with their required values.
    pub limits: Vec<(String, Bound)>,
    /// Formats with their required features.
    pub formats: Vec<FormatRequirement>,
}

/// Required value of a limit.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// Value of a `VkBool32`.
    Bool(bool),
    /// Numbers, as many as the limit has. Integers of 64 bits beyond 2^53 are rounded.
    Numbers(Vec<f64>),
    /// Bits of a mask, with their names.
    Bits(Vec<(String, u64)>),
}

/// Required features of a format.
#[derive(Debug, Clone, PartialEq)]
pub struct FormatRequirement {
    /// Name of the format.
    pub name: String,
    /// Value of `VkFormat`.
    pub format: i32,
    /// Required bits for optimal tiling, linear tiling and buffers, with their names.
    pub bits: [Vec<(String, u64)>; 3],
}

/// Keys of the three kinds of format features, in the order of [`FormatRequirement::bits`].
pub const FORMAT_KINDS: [&str; 3] = ["optimal", "linear", "buffer"];
