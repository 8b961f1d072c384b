//! placeholder

pub mod caps;
