//! `bench`: runs the same Vulkan programs on several drivers, and compares them with each other and
//! with the machine's own limits.
//!
//! Idea: the parent process starts a child per workload, driver and round. The drivers alternate (A
//! B C, then B C A), so that other load of the machine affects all drivers equally. A child opens
//! its driver, checks its results, measures its times and prints one JSON object. A crash or a hang
//! only ends the child and is reported. Ratios are computed within each round.

pub mod check;
pub mod child;
pub mod drivers;
pub mod figure;
pub mod graphics;
pub mod kernel;
pub mod limits;
pub mod options;
pub mod process;
pub mod recording;
pub mod report;
pub mod results;
pub mod stats;
pub mod sysroot;
pub mod transfer;
pub mod workload;

mod engine;
mod json;
mod svg;
mod table;

mod compute;
mod corpus;
mod create;
mod programs;
mod rays;
mod start;

pub use engine::run;
pub use figure::{Amount, CheckError, Figure, SetupError, Unit};
pub use options::{HELP, Options};
pub use results::{MeasuredDriver, Results};
pub use workload::{Family, Fresh, FreshError, Make, Spec, Workload};

/// Returns all workloads of all families that need no folder.
pub fn specs() -> Vec<Spec> {
    let [graphics, transfer, programs] = [graphics::SPECS, transfer::SPECS, programs::SPECS].map(<[_]>::concat);
    [create::SPECS, compute::SPECS, &graphics, &transfer, start::SPECS, &programs, rays::SPECS].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_begin_with_their_family() {
        let specs = specs();
        let mut names: Vec<_> = specs.iter().map(|s| s.name).collect();
        for spec in &specs {
            let family = spec.name.split('/').next();
            assert_eq!(family, Some(spec.family.name()), "{}", spec.name);
            assert!(!spec.name.contains(' '), "{}: the table separates figures by a space", spec.name);
        }
        names.sort_unstable();
        assert!(names.windows(2).all(|w| w[0] != w[1]), "two workloads of one name");
    }
}
