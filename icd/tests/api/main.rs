//! What the API promises, one module per part of it, all in one program: it is built, and linked with the driver, once. A test that reads or changes what belongs
//! to the whole process (variables, limits, memory and whether its addresses come again, its threads) is a program of its own beside this folder.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/pipeline.rs"]
mod pipeline;

/// The words of a module in `data`.
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
