//! `bench`: the same Vulkan programs on several drivers, beside each other and beside the machine's own limits.
//!
//! Idea: the parent process starts a child per workload, driver and round, in turns (A B C, then B C A), so that whatever else
//! the machine does hits all drivers alike. A child opens its driver, checks what it computes, takes its times and prints
//! one JSON object; a crash or a hang is the child's and is reported as such. Ratios are taken round by round.

pub mod check;
pub mod child;
pub mod drivers;
pub mod figure;
pub mod graphics;
pub mod kit;
pub mod limits;
pub mod options;
pub mod place;
pub mod process;
pub mod recording;
pub mod report;
pub mod results;
pub mod stats;
pub mod transfer;
pub mod workload;

mod engine;
mod json;
mod svg;
mod table;

mod compute;
mod corpus;
mod create;
mod start;

pub use engine::run;
pub use figure::{Amount, Figure, MakeError, Unit, Wrong};
pub use options::{HELP, Options};
pub use results::{Driver, Results};
pub use workload::{Family, Fresh, FreshError, Make, Spec, Workload};

/// All workloads of all families that need no folder.
pub fn specs() -> Vec<Spec> {
    let (graphics, transfer) = (graphics::SPECS.concat(), transfer::SPECS.concat());
    [create::SPECS, compute::SPECS, &graphics, &transfer, start::SPECS].concat()
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
