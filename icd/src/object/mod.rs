//! Objects behind the handles, one file per family. This is safe Rust over reference counts:
//! `entry` decodes Vulkan's structures into the descriptions of which objects are made. Raw
//! pointers stay there and in `ffi`, `os` and `shader_compiler`.

#![forbid(unsafe_code)]

pub mod acceleration_structure;
pub mod bind_point;
pub mod bound_shaders;
#[cfg(test)]
mod bound_shaders_tests;
pub mod buffer;
pub mod deferred_operation;
pub mod descriptor;
pub mod descriptor_buffer;
pub mod descriptor_heap;
pub mod descriptor_pool;
pub mod descriptor_update;
pub mod execution;
pub mod execution_set;
pub mod external_sync;
pub mod graphics_part;
mod heap;
mod host_memory;
pub mod image;
pub mod implicit;
pub mod indirect_commands;
pub mod live_structures;
pub mod memory;
pub mod payload;
pub mod pipeline;
pub mod pipeline_binary;
pub mod pipeline_key;
pub mod pipeline_layout;
pub mod pipeline_state;
pub mod program;
#[cfg(test)]
mod program_tests;
pub mod query;
pub mod ray_tracing;
pub mod render_pass;
pub mod sampler;
pub mod semaphore;
pub mod shader_module;
pub mod shader_object;
pub mod shared_layouts;
pub mod sparse;
mod sparse_range;
pub mod sync;

crate::ffi::handle::objects! { Object:
    memory::Memory => DeviceMemory,
    buffer::Buffer => Buffer,
    buffer::BufferView => BufferView,
    image::Image => Image,
    image::ImageView => ImageView,
    sampler::Sampler => Sampler,
    sampler::SamplerYcbcrConversion => SamplerYcbcrConversion,
    descriptor::SetLayout => DescriptorSetLayout,
    descriptor_pool::DescriptorPool => DescriptorPool,
    descriptor_pool::DescriptorSet => DescriptorSet,
    descriptor_update::UpdateTemplate => DescriptorUpdateTemplate,
    pipeline_layout::PipelineLayout => PipelineLayout,
    shader_module::ShaderModule => ShaderModule,
    shader_object::ShaderObject => ShaderEXT,
    crate::shader_compiler::pipeline_cache::PipelineCache => PipelineCache in CACHE,
    pipeline::Pipeline => Pipeline,
    render_pass::RenderPass => RenderPass,
    render_pass::Framebuffer => Framebuffer,
    query::QueryPool => QueryPool,
    deferred_operation::DeferredOperation => DeferredOperationKHR,
    acceleration_structure::AccelerationStructure => AccelerationStructureKHR,
    acceleration_structure::Micromap => MicromapEXT,
    sync::Event => Event,
    semaphore::Fence => Fence,
    semaphore::Semaphore => Semaphore,
    crate::shader_compiler::validation_cache::ValidationCache => ValidationCacheEXT in CACHE,
}

// `ash` does not have these handles.
impl crate::ffi::handle::Object for pipeline_binary::PipelineBinary {
    type Handle = crate::caps::newer::PipelineBinaryKHR;
}
