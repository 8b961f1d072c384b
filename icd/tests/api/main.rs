//! Tests of the API's guarantees, one module per part of it, all in one program, which is built and
//! linked with the driver once. Some tests read or change properties of the whole process:
//! variables, limits, memory and the reuse of addresses, threads. Each of those is a program of its
//! own beside this folder.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/pipeline.rs"]
mod pipeline;

/// Returns the words of a module in `data`.
macro_rules! shader {
    ($name:literal) => {
        crate::common::spirv(include_bytes!(concat!("../data/", $name, ".spv")))
    };
}

mod address;
mod blending;
mod bounds;
mod conformance;
mod debug;
mod device_address;
mod device_group;
mod dynamic_state;
mod floats;
mod floors;
mod groups;
mod leftover;
mod long_texels;
mod maintenance;
mod modifiers;
mod most;
mod mutable;
mod order;
mod provoking;
mod release;
mod shaders;
mod single_sampled;
mod subgroup_sizes;
mod texel_offsets;
mod transform_feedback;
mod users;
mod variable;
mod versions;
mod views_and_nesting;
mod vulkan14;
