//! `bench`: the same Vulkan programs on several drivers, beside each other and beside the machine's own limits.
//!
//! Idea: the parent process starts a child per workload, driver and round, in turns (A B C A B C), so that whatever else
//! the machine does hits all drivers alike. A child opens its driver, checks what it computes, takes its times and prints
//! one JSON object; a crash or a hang is the child's and is reported as such. Ratios are taken round by round.

pub mod check;
pub mod graphics;
pub mod recording;
pub mod transfer;
pub mod workload;

pub use workload::{Amount, Family, Figure, Fresh, FreshError, Make, MakeError, Spec, Unit, Workload, Wrong};
