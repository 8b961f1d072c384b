//! Ray tracing pipelines and their shader binding tables.
//!
//! Idea: a [`RayProgram`] is a pipeline with one ray generation shader and tables without shader
//! records. Entry `i` of a table is the shader (or hit group) `i` of the description.

use super::draw::bindings;
use super::error::{Context, Error, Result};
use super::gpu::Gpu;
use super::graphics::{Constants, stage_info};
use super::pipeline::Resource;
use super::recorder::Recorder;
use ash::{khr, vk};

/// The shaders of a hit group, each empty for none. A group with an intersection shader is for
/// boxes.
#[derive(Clone, Copy, Default)]
pub struct HitGroup<'a> {
    /// SPIR-V of the closest hit shader.
    pub closest: &'a [u32],
    /// SPIR-V of the any-hit shader.
    pub any: &'a [u32],
    /// SPIR-V of the intersection shader.
    pub intersection: &'a [u32],
}

/// Parameters from which a [`RayProgram`] is made.
#[derive(Clone, Copy, Default)]
pub struct RayProgramDesc<'a> {
    /// SPIR-V of the ray generation shader.
    pub generation: &'a [u32],
    /// SPIR-V of the miss shaders.
    pub misses: &'a [&'a [u32]],
    /// Hit groups.
    pub hits: &'a [HitGroup<'a>],
    /// SPIR-V of the callable shaders.
    pub callables: &'a [&'a [u32]],
    /// Specialisation constants of all stages, as pairs `(constant_id, value)`.
    pub constants: &'a [(u32, u32)],
    /// Resources of descriptor set 0, whose binding numbers are the indices.
    pub resources: &'a [Resource],
    /// Number of bytes of push constants.
    pub push: u32,
    /// Maximum depth of recursion.
    pub depth: u32,
}

/// A ray tracing pipeline with its layout, descriptor set and tables.
#[derive(Clone)]
pub struct RayProgram {
    commands: khr::ray_tracing_pipeline::Device,
    pipeline: vk::Pipeline,
    layout: vk::PipelineLayout,
    set: vk::DescriptorSet,
    /// Tables of ray generation, miss, hit and callable shaders.
    tables: [vk::StridedDeviceAddressRegionKHR; 4],
}

/// Stages that can access push constants and descriptors of a [`RayProgram`].
const RAY_STAGES: vk::ShaderStageFlags = vk::ShaderStageFlags::from_raw(
    vk::ShaderStageFlags::RAYGEN_KHR.as_raw()
        | vk::ShaderStageFlags::ANY_HIT_KHR.as_raw()
        | vk::ShaderStageFlags::CLOSEST_HIT_KHR.as_raw()
        | vk::ShaderStageFlags::MISS_KHR.as_raw()
        | vk::ShaderStageFlags::INTERSECTION_KHR.as_raw()
        | vk::ShaderStageFlags::CALLABLE_KHR.as_raw(),
);

/// The stages and groups of a pipeline, in the order of the tables.
#[derive(Default)]
struct Groups<'a> {
    stages: Vec<(vk::ShaderStageFlags, &'a [u32])>,
    groups: Vec<vk::RayTracingShaderGroupCreateInfoKHR<'a>>,
}

impl<'a> Groups<'a> {
    fn of(desc: &RayProgramDesc<'a>) -> Self {
        let mut all = Self::default();
        all.general(vk::ShaderStageFlags::RAYGEN_KHR, desc.generation);
        desc.misses.iter().for_each(|code| all.general(vk::ShaderStageFlags::MISS_KHR, code));
        desc.hits.iter().for_each(|group| all.hit(group));
        desc.callables.iter().for_each(|code| all.general(vk::ShaderStageFlags::CALLABLE_KHR, code));
        all
    }

    /// Adds a stage and returns its index, or `VK_SHADER_UNUSED_KHR` without code.
    fn stage(&mut self, stage: vk::ShaderStageFlags, code: &'a [u32]) -> u32 {
        if code.is_empty() {
            return vk::SHADER_UNUSED_KHR;
        }
        self.stages.push((stage, code));
        self.stages.len() as u32 - 1
    }

    fn general(&mut self, stage: vk::ShaderStageFlags, code: &'a [u32]) {
        let index = self.stage(stage, code);
        self.groups.push(unused().ty(vk::RayTracingShaderGroupTypeKHR::GENERAL).general_shader(index));
    }

    fn hit(&mut self, group: &HitGroup<'a>) {
        let kind = match group.intersection {
            [] => vk::RayTracingShaderGroupTypeKHR::TRIANGLES_HIT_GROUP,
            _ => vk::RayTracingShaderGroupTypeKHR::PROCEDURAL_HIT_GROUP,
        };
        let closest = self.stage(vk::ShaderStageFlags::CLOSEST_HIT_KHR, group.closest);
        let any = self.stage(vk::ShaderStageFlags::ANY_HIT_KHR, group.any);
        let intersection = self.stage(vk::ShaderStageFlags::INTERSECTION_KHR, group.intersection);
        let info = unused().ty(kind).closest_hit_shader(closest).any_hit_shader(any);
        self.groups.push(info.intersection_shader(intersection));
    }
}

fn unused<'a>() -> vk::RayTracingShaderGroupCreateInfoKHR<'a> {
    vk::RayTracingShaderGroupCreateInfoKHR::default()
        .general_shader(vk::SHADER_UNUSED_KHR)
        .closest_hit_shader(vk::SHADER_UNUSED_KHR)
        .any_hit_shader(vk::SHADER_UNUSED_KHR)
        .intersection_shader(vk::SHADER_UNUSED_KHR)
}

impl Gpu {
    /// Makes a ray tracing pipeline with its layout, descriptor set and tables.
    pub fn ray_program(&self, desc: &RayProgramDesc<'_>) -> Result<RayProgram> {
        if !self.optional.rays.pipelines {
            return Err(Error::Missing("rayTracingPipeline".into()));
        }
        let commands = khr::ray_tracing_pipeline::Device::new(&self.instance, &self.device);
        let bindings = bindings(desc.resources, &[]);
        let kinds: Vec<_> = bindings.iter().map(|b| (b.index, b.resource.kind())).collect();
        let set_layout = self.set_layout(&kinds, RAY_STAGES)?;
        let layout = self.pipeline_layout(set_layout, desc.push, RAY_STAGES)?;
        let set = self.descriptor_set(set_layout, &bindings)?;
        let constants = Constants::new(desc.constants);
        let special = constants.info();
        let Groups { stages, groups } = Groups::of(desc);
        let stages: Vec<_> = stages
            .into_iter()
            .map(|(stage, code)| Ok(stage_info(stage, self.module(code)?, &special)))
            .collect::<Result<_>>()?;
        let info = vk::RayTracingPipelineCreateInfoKHR::default()
            .stages(&stages)
            .groups(&groups)
            .max_pipeline_ray_recursion_depth(desc.depth)
            .layout(layout);
        let (none, cache) = (vk::DeferredOperationKHR::null(), vk::PipelineCache::null());
        // SAFETY: `info` and what it points to are valid.
        let made = unsafe { commands.create_ray_tracing_pipelines(none, cache, &[info], None) };
        let pipeline = self.keep_pipeline(made, "vkCreateRayTracingPipelinesKHR")?;
        let counts = [1, desc.misses.len(), desc.hits.len(), desc.callables.len()];
        let tables = self.tables(&commands, pipeline, counts)?;
        Ok(RayProgram { commands, pipeline, layout, set, tables })
    }

    /// Makes the tables of the groups of a pipeline, which follow each other.
    fn tables(
        &self,
        commands: &khr::ray_tracing_pipeline::Device,
        pipeline: vk::Pipeline,
        counts: [usize; 4],
    ) -> Result<[vk::StridedDeviceAddressRegionKHR; 4]> {
        let [size, alignment, base] = self.optional.rays.handles.map(|n| n as usize);
        let (stride, groups) = (size.next_multiple_of(alignment), counts.iter().sum::<usize>());
        // SAFETY: the pipeline is alive and has this number of groups.
        let handles =
            unsafe { commands.get_ray_tracing_shader_group_handles(pipeline, 0, groups as u32, groups * size) }
                .context("vkGetRayTracingShaderGroupHandlesKHR")?;
        let usage = vk::BufferUsageFlags::SHADER_BINDING_TABLE_KHR | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
        let bytes = counts.map(|count| (count * stride).next_multiple_of(base));
        let buffer = self.buffer(bytes.iter().sum::<usize>() + base, usage)?;
        let start = self.address(buffer.handle).next_multiple_of(base as u64);
        let mut offset = (start - self.address(buffer.handle)) as usize;
        let mut handles = handles.chunks_exact(size);
        let mut tables = [vk::StridedDeviceAddressRegionKHR::default(); 4];
        for ((table, count), bytes) in tables.iter_mut().zip(counts).zip(bytes) {
            if count > 0 {
                *table = vk::StridedDeviceAddressRegionKHR::default()
                    .device_address(self.address(buffer.handle) + offset as u64)
                    .stride(stride as u64)
                    .size((count * stride) as u64);
            }
            for (i, handle) in handles.by_ref().take(count).enumerate() {
                let words = handle.chunks_exact(4).map(|b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]));
                buffer.write(offset + i * stride, &words.collect::<Vec<_>>());
            }
            offset += bytes;
        }
        Ok(tables)
    }
}

impl Recorder<'_> {
    /// Records `vkCmdTraceRaysKHR` with these push constants and this size.
    pub fn trace(self, program: &RayProgram, push: &[u32], [width, height, depth]: [u32; 3]) {
        let point = vk::PipelineBindPoint::RAY_TRACING_KHR;
        let bytes: Vec<u8> = push.iter().flat_map(|w| w.to_ne_bytes()).collect();
        let [generation, miss, hit, callable] = &program.tables;
        // SAFETY: the objects of the program live as long as the device (module invariant), and its
        // resources match its layout.
        unsafe {
            self.d.cmd_bind_pipeline(self.cmd, point, program.pipeline);
            self.d.cmd_bind_descriptor_sets(self.cmd, point, program.layout, 0, &[program.set], &[]);
            if !bytes.is_empty() {
                self.d.cmd_push_constants(self.cmd, program.layout, RAY_STAGES, 0, &bytes);
            }
            program.commands.cmd_trace_rays(self.cmd, generation, miss, hit, callable, width, height, depth);
        }
    }
}
