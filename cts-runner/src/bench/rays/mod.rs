//! Family `rays`: rays through a hall of 249,866 triangles, and builds of its acceleration
//! structure; ray tracing pipelines with any-hit and intersection shaders and with recursion, and
//! their first use.

pub mod mesh;
pub mod reference;
pub mod world;

mod builds;
mod first_use;
mod pipelines;
mod queries;

use super::workload::{Family, Make, Spec};
pub use first_use::studio_picture;

const R: Family = Family::Rays;

/// Workloads of the family.
pub const SPECS: &[Spec] = &[
    Spec::quick("rays/primary", R, queries::primary),
    Spec::quick("rays/shadow", R, queries::shadow),
    Spec::quick("rays/diffuse", R, queries::diffuse),
    Spec::quick("rays/shadow-fragment", R, queries::shadow_fragment),
    Spec::quick("rays/foliage", R, pipelines::foliage),
    Spec::quick("rays/procedural", R, pipelines::procedural),
    Spec::quick("rays/recursion", R, pipelines::recursion),
    Spec::quick("rays/build", R, builds::fast_trace),
    Spec::quick("rays/build-fast", R, builds::fast_build),
    Spec::quick("rays/refit", R, builds::refit),
    Spec::quick("rays/compaction", R, builds::compaction),
    Spec { name: "rays/first-trace", family: R, quick: true, make: Make::Fresh(first_use::first_trace) },
    Spec { name: "rays/pipeline-20", family: R, quick: true, make: Make::Fresh(first_use::pipeline_20) },
];
