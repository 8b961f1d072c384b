//! Runs a Vulkan driver from outside: demo, the CTS, installation, comparison of two drivers, and the harness the tests use.
//!
//! Knows no driver crate: everything here works with any ICD.

pub mod vk;

pub mod bench;
pub mod compare;
pub mod cts;
pub mod demo;
pub mod driver;
mod fnv;
pub mod hashes;
pub mod install;
