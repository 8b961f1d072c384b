//! The objects behind the handles, one file per family. Safe Rust over reference counts; the entry points keep the raw world out.

pub mod arena;
pub mod buffer;
pub mod cache_key;
pub mod descriptor;
pub mod descriptor_pool;
pub mod descriptor_update;
pub mod device;
pub mod image;
pub mod instance;
pub mod memory;
pub mod pipeline;
pub mod pipeline_cache;
pub mod pipeline_layout;
pub mod pipeline_state;
pub mod private_data;
pub mod query;
pub mod render_pass;
pub mod sampler;
pub mod shader_module;
pub mod sync;
