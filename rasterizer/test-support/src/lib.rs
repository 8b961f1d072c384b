//! Support for the tests of several crates: memory at whose ends accesses fault, images of random
//! texels, and stages written in Rust. Only dev-dependencies name this crate.

pub mod guard;
pub mod image;
pub mod stage;
