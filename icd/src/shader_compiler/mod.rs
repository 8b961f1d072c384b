//! Interfaces to the shader compiler and to generated code: stages by key, their code by tier,
//! caches of them, the memory of descriptor sets, and helpers.

mod cache_key;
pub mod compile;
pub mod compiler;
pub mod heap_resources;
pub mod heap_table;
pub mod helpers;
pub mod identifier;
pub mod inspect;
pub mod pipeline_cache;
pub mod ray_query;
pub mod ray_tracer;
mod recent_modules;
pub mod sealed;
pub mod set_memory;
pub mod shader_binary;
pub mod shader_state;
pub mod stage_entry;
pub mod tiered;
pub mod validation_cache;
mod warm_up;

#[cfg(test)]
mod tiered_tests;
