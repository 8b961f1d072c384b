//! Tests of requirements of core versions above 1.0 that no other test covers: subgroup size
//! control, inline uniform blocks, refusals of optional commands.

use crate::common::{Buffer, Context, spirv};
use ash::vk::{self, Handle};

/// Number of invocations of a workgroup of `square.comp`, with its own constants.
const GROUP: u32 = 64;

/// Layout of `square.comp`: a storage buffer, and 16 bytes of uniforms of either kind.
struct Layout {
    set: vk::DescriptorSetLayout,
    pipeline: vk::PipelineLayout,
}

impl Layout {
    fn new(c: &Context, uniform: vk::DescriptorType) -> Layout {
        let binding = |binding, ty, count| {
            let b = vk::DescriptorSetLayoutBinding::default().binding(binding).descriptor_type(ty);
            b.descriptor_count(count).stage_flags(vk::ShaderStageFlags::COMPUTE)
        };
        // The count of an inline block is its number of bytes.
        let count = if uniform == vk::DescriptorType::INLINE_UNIFORM_BLOCK { 16 } else { 1 };
        let bindings = [binding(0, vk::DescriptorType::STORAGE_BUFFER, 1), binding(1, uniform, count)];
        let push = [vk::PushConstantRange { stage_flags: vk::ShaderStageFlags::COMPUTE, offset: 0, size: 4 }];
        // SAFETY: valid usage.
        unsafe {
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let set = c.device.create_descriptor_set_layout(&info, None).unwrap();
            let sets = [set];
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(&push);
            Layout { set, pipeline: c.device.create_pipeline_layout(&info, None).unwrap() }
        }
    }

    fn destroy(&self, c: &Context) {
        // SAFETY: valid usage.
        unsafe {
            c.device.destroy_pipeline_layout(self.pipeline, None);
            c.device.destroy_descriptor_set_layout(self.set, None);
        }
    }
}

/// Makes a pipeline of `square.comp`, with a required subgroup size if there is one.
fn pipeline(c: &Context, layout: &Layout, subgroup: Option<u32>) -> Result<vk::Pipeline, vk::Result> {
    let words = spirv(include_bytes!("../data/square.comp.spv"));
    let mut required = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default()
        .required_subgroup_size(subgroup.unwrap_or_default());
    // SAFETY: valid usage, except for sizes outside the limits.
    unsafe {
        let module = c.device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&words), None).unwrap();
        let flags = vk::PipelineShaderStageCreateFlags::REQUIRE_FULL_SUBGROUPS;
        let stage = vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE).module(module);
        let mut stage = stage.name(c"main").flags(flags);
        if subgroup.is_some() {
            stage = stage.push_next(&mut required);
        }
        let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout.pipeline);
        let result = c.device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
        c.device.destroy_shader_module(module, None);
        result.map(|p| p[0]).map_err(|(_, error)| error)
    }
}

#[test]
fn the_subgroup_sizes_of_the_limits_can_be_required() {
    let c = Context::new(&[], &[]);
    let layout = Layout::new(&c, vk::DescriptorType::UNIFORM_BUFFER);
    let mut control = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut control);
    // SAFETY: valid usage.
    unsafe { c.instance.get_physical_device_properties2(c.physical, &mut properties) };
    assert_eq!((control.min_subgroup_size, control.max_subgroup_size), (4, 64));
    let stages = vk::ShaderStageFlags::COMPUTE
        | vk::ShaderStageFlags::FRAGMENT
        | vk::ShaderStageFlags::TASK_EXT
        | vk::ShaderStageFlags::MESH_EXT;
    assert_eq!(control.required_subgroup_size_stages, stages);
    for good in [None, Some(4), Some(8), Some(16), Some(32), Some(64)] {
        let pipeline = pipeline(&c, &layout, good).unwrap();
        // SAFETY: valid usage.
        unsafe { c.device.destroy_pipeline(pipeline, None) };
    }
    for bad in [0, 2, 12, 128] {
        assert_eq!(pipeline(&c, &layout, Some(bad)), Err(vk::Result::ERROR_INVALID_SHADER_NV), "{bad} lanes");
    }
    layout.destroy(&c);
}

/// Writes `bytes` at `offset` of a set's inline block.
fn write_inline(c: &Context, set: vk::DescriptorSet, offset: u32, bytes: &[u8]) {
    let mut block = vk::WriteDescriptorSetInlineUniformBlock::default().data(bytes);
    let write = vk::WriteDescriptorSet {
        dst_set: set,
        dst_binding: 1,
        dst_array_element: offset,
        descriptor_count: bytes.len() as u32,
        descriptor_type: vk::DescriptorType::INLINE_UNIFORM_BLOCK,
        ..Default::default()
    };
    // SAFETY: valid usage.
    unsafe { c.device.update_descriptor_sets(&[write.push_next(&mut block)], &[]) };
}

fn write_storage(c: &Context, set: vk::DescriptorSet, data: &Buffer) {
    let info = [vk::DescriptorBufferInfo { buffer: data.buffer, offset: 0, range: vk::WHOLE_SIZE }];
    let write = vk::WriteDescriptorSet::default().dst_set(set).buffer_info(&info);
    // SAFETY: valid usage.
    unsafe { c.device.update_descriptor_sets(&[write.descriptor_type(vk::DescriptorType::STORAGE_BUFFER)], &[]) };
}

/// Dispatches one workgroup: each word of `data` becomes its mirror image times 3, plus the block's
/// first word.
fn dispatch(c: &Context, layout: &Layout, pipeline: vk::Pipeline, set: vk::DescriptorSet, data: &mut Buffer, add: u32) {
    data.fill_words(|i| i);
    c.run(|b| {
        let point = vk::PipelineBindPoint::COMPUTE;
        // SAFETY: valid usage.
        unsafe {
            c.device.cmd_bind_pipeline(b, point, pipeline);
            c.device.cmd_bind_descriptor_sets(b, point, layout.pipeline, 0, &[set], &[]);
            c.device.cmd_push_constants(b, layout.pipeline, vk::ShaderStageFlags::COMPUTE, 0, &[0; 4]);
            c.device.cmd_dispatch(b, 1, 1, 1);
        }
    })
    .unwrap();
    for (i, word) in (0..).zip(data.words()) {
        assert_eq!(word, (GROUP - 1 - i) * 3 + add, "word {i}");
    }
}

#[test]
fn inline_uniform_blocks_are_written_in_part_and_copied() {
    let c = Context::new(&[], &[]);
    let layout = Layout::new(&c, vk::DescriptorType::INLINE_UNIFORM_BLOCK);
    let pipeline = pipeline(&c, &layout, None).unwrap();
    let mut data = c.buffer(u64::from(GROUP) * 4);
    // SAFETY: valid usage.
    unsafe {
        let sizes = [
            vk::DescriptorPoolSize { ty: vk::DescriptorType::STORAGE_BUFFER, descriptor_count: 2 },
            vk::DescriptorPoolSize { ty: vk::DescriptorType::INLINE_UNIFORM_BLOCK, descriptor_count: 32 },
        ];
        let mut blocks = vk::DescriptorPoolInlineUniformBlockCreateInfo::default().max_inline_uniform_block_bindings(2);
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(2).pool_sizes(&sizes).push_next(&mut blocks);
        let pool = c.device.create_descriptor_pool(&info, None).unwrap();
        let layouts = [layout.set; 2];
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
        let sets = c.device.allocate_descriptor_sets(&info).unwrap();
        sets.iter().for_each(|&set| write_storage(&c, set, &data));

        write_inline(&c, sets[0], 0, &[1000u32.to_le_bytes(), [0xff; 4]].concat());
        write_inline(&c, sets[0], 4, &[7; 12]);
        dispatch(&c, &layout, pipeline, sets[0], &mut data, 1000);

        let copy = vk::CopyDescriptorSet::default().src_set(sets[0]).src_binding(1).dst_set(sets[1]).dst_binding(1);
        c.device.update_descriptor_sets(&[], &[copy.descriptor_count(4)]);
        dispatch(&c, &layout, pipeline, sets[1], &mut data, 1000);
        // The copy is independent of the original.
        write_inline(&c, sets[0], 0, &5u32.to_le_bytes());
        dispatch(&c, &layout, pipeline, sets[1], &mut data, 1000);
        dispatch(&c, &layout, pipeline, sets[0], &mut data, 5);

        c.device.destroy_descriptor_pool(pool, None);
        c.device.destroy_pipeline(pipeline, None);
    }
    c.free(data);
    layout.destroy(&c);
}

/// Checks that conversions of unsupported formats, and an unsupported reconstruction, are refused.
#[test]
fn conversions_of_other_formats_are_refused() {
    let mut ycbcr = vk::PhysicalDeviceSamplerYcbcrConversionFeatures::default().sampler_ycbcr_conversion(true);
    let c = Context::with(&[], &[], &mut [&mut ycbcr]);
    let two = vk::Format::G8_B8R8_2PLANE_420_UNORM;
    let refused = |info: vk::SamplerYcbcrConversionCreateInfo<'_>| {
        let mut conversion = vk::SamplerYcbcrConversion::from_raw(77);
        let create = c.device.fp_v1_1().create_sampler_ycbcr_conversion;
        // SAFETY: the format does not have the features, and the driver has to refuse it.
        let result = unsafe { create(c.device.handle(), &info, std::ptr::null(), &mut conversion) };
        assert_eq!((result, conversion), (vk::Result::ERROR_OUT_OF_HOST_MEMORY, vk::SamplerYcbcrConversion::null()));
    };
    let info = vk::SamplerYcbcrConversionCreateInfo::default();
    refused(info.format(vk::Format::R8G8B8A8_UNORM));
    refused(info.format(vk::Format::UNDEFINED));
    refused(info.format(two).force_explicit_reconstruction(true));
}
