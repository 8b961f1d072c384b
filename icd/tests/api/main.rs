//! Tests of the API's guarantees, one module per part of it, all in one program, which is built and
//! linked with the driver once. Some tests read or change properties of the whole process:
//! variables, limits, memory and the reuse of addresses, threads. Each of those is a program of its
//! own beside this folder.

#[path = "../common/binaries.rs"]
mod binaries;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/generated.rs"]
mod generated;
#[path = "../common/heaps.rs"]
mod heaps;
#[path = "../common/pipeline.rs"]
mod pipeline;
#[path = "../common/rays.rs"]
mod rays;

/// Returns the bytes of a module in `data`.
macro_rules! bytes {
    ($name:literal) => {
        include_bytes!(concat!("../data/", $name, ".spv"))
    };
}

/// Returns the words of a module in `data`.
macro_rules! shader {
    ($name:literal) => {
        crate::common::spirv(bytes!($name))
    };
}

mod acceleration_structures;
mod application_profiles;
mod blending;
mod bounds;
mod buffer_addresses;
mod command_inheritance;
mod conformance;
mod conservative_rasterization;
mod cooperative_vector;
mod debug;
mod deferred_operations;
mod descriptor_limits;
mod device_address_commands;
mod device_group;
mod dynamic_state;
mod extended_flags;
mod floats;
mod generated_commands;
mod hit_objects;
mod hostile_structures;
mod invocation_groups;
mod layers;
mod leftover_data;
mod long_texels;
mod maintenance;
mod memory_release;
mod micromaps;
#[cfg(unix)] // Modifiers are those of dma-bufs.
mod modifiers;
mod module_identifiers;
mod motion_blur;
mod mutable_descriptors;
mod pipeline_binaries;
mod pipeline_libraries;
mod primitive_order;
mod provoking_vertex;
mod raw_access_chains;
mod ray_descriptors;
mod ray_mappings;
mod ray_queries;
mod ray_tracing;
mod shader_objects;
mod shaders;
mod shading_rate;
mod single_sampled;
mod subgroup_sizes;
mod swept_spheres;
mod texel_offsets;
mod transform_feedback;
mod variable_descriptor_counts;
mod versions;
mod views_and_nesting;
mod vulkan14;
