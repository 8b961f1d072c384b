//! Runs a Vulkan driver from outside: demo, CTS, installation, comparison of two drivers, and the
//! harness of the tests.
//!
//! This crate depends on no driver crate, so all of it works with any ICD.

pub mod vk;

pub mod bench;
pub mod compare;
pub mod cts;
pub mod demo;
pub mod driver;
mod fnv;
pub mod hashes;
pub mod install;
mod locate;
mod os;
pub mod requirements;
pub mod run;
