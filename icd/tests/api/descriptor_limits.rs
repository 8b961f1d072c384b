//! Tests that use descriptors up to their limits.

use crate::common::{Buffer, Context};
use crate::pipeline::compute_with;
use ash::vk;

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const COMPUTE: vk::PipelineBindPoint = vk::PipelineBindPoint::COMPUTE;

fn binding(binding: u32, ty: vk::DescriptorType, count: u32) -> vk::DescriptorSetLayoutBinding<'static> {
    let stages = vk::ShaderStageFlags::COMPUTE;
    let info = vk::DescriptorSetLayoutBinding::default().binding(binding).descriptor_type(ty);
    info.descriptor_count(count).stage_flags(stages)
}

/// Sets of some bindings each, with their pool and layouts.
struct Sets {
    set_layouts: Vec<vk::DescriptorSetLayout>,
    layout: vk::PipelineLayout,
    pool: vk::DescriptorPool,
    sets: Vec<vk::DescriptorSet>,
}

impl Sets {
    fn new(c: &Context, sets: &[&[vk::DescriptorSetLayoutBinding<'_>]]) -> Sets {
        let size = |b: &vk::DescriptorSetLayoutBinding<'_>| vk::DescriptorPoolSize {
            ty: b.descriptor_type,
            descriptor_count: b.descriptor_count,
        };
        let sizes: Vec<_> = sets.iter().copied().flatten().map(size).collect();
        // SAFETY: valid usage.
        unsafe {
            let create = |bindings: &&[vk::DescriptorSetLayoutBinding<'_>]| {
                let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(bindings);
                c.device.create_descriptor_set_layout(&info, None).unwrap()
            };
            let set_layouts: Vec<_> = sets.iter().map(create).collect();
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&set_layouts);
            let layout = c.device.create_pipeline_layout(&info, None).unwrap();
            let mut blocks =
                vk::DescriptorPoolInlineUniformBlockCreateInfo::default().max_inline_uniform_block_bindings(64);
            let info = vk::DescriptorPoolCreateInfo::default().max_sets(2).pool_sizes(&sizes).push_next(&mut blocks);
            let pool = c.device.create_descriptor_pool(&info, None).unwrap();
            let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&set_layouts);
            let sets = c.device.allocate_descriptor_sets(&info).unwrap();
            Sets { set_layouts, layout, pool, sets }
        }
    }

    fn write(&self, c: &Context, set: usize, binding: u32, ty: vk::DescriptorType, info: &[vk::DescriptorBufferInfo]) {
        let write = vk::WriteDescriptorSet::default().dst_set(self.sets[set]).dst_binding(binding);
        // SAFETY: valid usage.
        unsafe { c.device.update_descriptor_sets(&[write.descriptor_type(ty).buffer_info(info)], &[]) };
    }

    fn run(&self, c: &Context, words: &[u32], constants: &[(u32, u32)], offsets: &[u32]) {
        let pipeline = compute_with(c, vk::PipelineCache::null(), self.layout, words, constants).unwrap();
        // SAFETY: valid usage.
        unsafe {
            c.run(|b| {
                c.device.cmd_bind_pipeline(b, COMPUTE, pipeline);
                c.device.cmd_bind_descriptor_sets(b, COMPUTE, self.layout, 0, &self.sets, offsets);
                c.device.cmd_dispatch(b, 1, 1, 1);
            })
            .unwrap();
            c.device.destroy_pipeline(pipeline, None);
        }
    }

    fn destroy(self, c: &Context) {
        // SAFETY: valid usage.
        unsafe {
            c.device.destroy_descriptor_pool(self.pool, None);
            c.device.destroy_pipeline_layout(self.layout, None);
            self.set_layouts.iter().for_each(|&layout| c.device.destroy_descriptor_set_layout(layout, None));
        }
    }
}

fn whole(buffer: &Buffer) -> vk::DescriptorBufferInfo {
    vk::DescriptorBufferInfo { buffer: buffer.buffer, offset: 0, range: vk::WHOLE_SIZE }
}

/// Checks as many dynamic buffers as fit a shader's context, some more, bindings that fit partly,
/// and the maximum: each buffer is at its own dynamic offset.
#[test]
fn dynamic_buffers() {
    const WORDS: u32 = 1 << 14;
    let features = vk::PhysicalDeviceFeatures::default()
        .shader_uniform_buffer_array_dynamic_indexing(true)
        .shader_storage_buffer_array_dynamic_indexing(true);
    let c = Context::with(&[], &[], &mut [&mut vk::PhysicalDeviceFeatures2::default().features(features)]);
    // SAFETY: valid usage.
    let limits = unsafe { c.instance.get_physical_device_properties(c.physical) }.limits;
    let most = [limits.max_descriptor_set_uniform_buffers_dynamic, limits.max_descriptor_set_storage_buffers_dynamic];
    assert!(most.iter().all(|&n| n >= 1 << 19));
    let (mut data, result) = (c.buffer(u64::from(4 * WORDS)), c.buffer(512));
    let word = |i: u32| i * 7 + 3;
    data.fill_words(word);
    for counts in [[2, 3], [16, 8], [20, 8], [24, 1], [100, 200], most] {
        let [uniforms, storages] = counts;
        let types = [vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC, vk::DescriptorType::STORAGE_BUFFER_DYNAMIC];
        let first = [binding(0, STORAGE, 1), binding(1, types[0], uniforms)];
        let sets = Sets::new(&c, &[&first, &[binding(0, types[1], storages)]]);
        sets.write(&c, 0, 0, STORAGE, &[whole(&result)]);
        let of = |count| vec![vk::DescriptorBufferInfo { buffer: data.buffer, offset: 0, range: 16 }; count as usize];
        sets.write(&c, 0, 1, types[0], &of(uniforms));
        sets.write(&c, 1, 0, types[1], &of(storages));
        // Offsets in bytes: ascending, and descending.
        let at = [|i: u32| 16 * i % (4 * WORDS), |i: u32| 4 * WORDS - 16 - 16 * i % (4 * WORDS)];
        let offsets: Vec<u32> = (0..uniforms).map(at[0]).chain((0..storages).map(at[1])).collect();
        sets.run(&c, &shader!("most_dynamic.comp"), &[(0, uniforms), (1, storages)], &offsets);
        for (k, got) in (0..64).zip(result.words().as_chunks::<2>().0) {
            let want = [0, 1].map(|kind| word(at[kind](k * (counts[kind] - 1) / 63) / 4));
            assert_eq!(*got, want, "{k} of {counts:?}");
        }
        sets.destroy(&c);
    }
    c.free(data);
    c.free(result);
}

/// Checks as many blocks as a set may have, and one as large as a block may be.
#[test]
fn inline_uniform_blocks() {
    let mut blocks = vk::PhysicalDeviceInlineUniformBlockFeatures::default().inline_uniform_block(true);
    let c = Context::with(&[], &[], &mut [&mut blocks]);
    let ty = vk::DescriptorType::INLINE_UNIFORM_BLOCK;
    let mut limits = vk::PhysicalDeviceInlineUniformBlockProperties::default();
    // SAFETY: valid usage.
    unsafe {
        let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut limits);
        c.instance.get_physical_device_properties2(c.physical, &mut all);
    }
    let (size, count) = (limits.max_inline_uniform_block_size, limits.max_descriptor_set_inline_uniform_blocks);
    assert_eq!((size, count), (1 << 20, 64));
    let bindings: Vec<_> =
        [binding(0, STORAGE, 1)].into_iter().chain((1..=count).map(|b| binding(b, ty, size))).collect();
    let sets = Sets::new(&c, &[&bindings]);
    let result = c.buffer(128);
    sets.write(&c, 0, 0, STORAGE, &[whole(&result)]);
    let word = |block: u32, i: u32| i * 11 + block;
    for block in [1, count] {
        let data: Vec<u8> = (0..size / 4).flat_map(|i| word(block, i).to_le_bytes()).collect();
        let mut data = vk::WriteDescriptorSetInlineUniformBlock::default().data(&data);
        let write = vk::WriteDescriptorSet::default().dst_set(sets.sets[0]).dst_binding(block).descriptor_type(ty);
        let mut write = write.push_next(&mut data);
        write.descriptor_count = size;
        // SAFETY: valid usage.
        unsafe { c.device.update_descriptor_sets(&[write], &[]) };
    }
    sets.run(&c, &shader!("most_inline.comp"), &[], &[]);
    for (i, got) in (0..).zip(result.words().as_chunks::<4>().0) {
        let (front, back) = (4 * i, size / 4 - 4 - 4 * i);
        assert_eq!(*got, [word(1, front), word(1, back + 3), word(count, front + 1), word(count, back + 2)], "{i}");
    }
    sets.destroy(&c);
    c.free(result);
}

/// Checks a set at an address that no offset of 32 bits reaches.
#[test]
fn descriptor_buffers() {
    let mut buffers = vk::PhysicalDeviceDescriptorBufferFeaturesEXT::default().descriptor_buffer(true);
    let mut addresses = vk::PhysicalDeviceBufferDeviceAddressFeatures::default().buffer_device_address(true);
    let c = Context::with(&[], &[c"VK_EXT_descriptor_buffer"], &mut [&mut buffers, &mut addresses]);
    let mut limits = vk::PhysicalDeviceDescriptorBufferPropertiesEXT::default();
    // SAFETY: valid usage.
    unsafe {
        let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut limits);
        c.instance.get_physical_device_properties2(c.physical, &mut all);
    }
    let offset = (1 << 32) + (1 << 20);
    if limits.max_resource_descriptor_buffer_range < 2 * offset {
        eprintln!("skipped: a heap of {} bytes", limits.max_resource_descriptor_buffer_range);
        return;
    }
    let functions = ash::ext::descriptor_buffer::Device::new(&c.instance, &c.device);
    let (mut heap, result) = (c.buffer(offset + 4096), c.buffer(32));
    let address = |buffer: &Buffer| {
        let info = vk::BufferDeviceAddressInfo::default().buffer(buffer.buffer);
        // SAFETY: valid usage, except that the buffer was not created for it, which the driver
        // ignores.
        unsafe { c.device.get_buffer_device_address(&info) }
    };
    let of_result = vk::DescriptorAddressInfoEXT::default().address(address(&result)).range(32);
    let data = vk::DescriptorDataEXT { p_storage_buffer: &of_result };
    let info = vk::DescriptorGetInfoEXT { ty: STORAGE, data, ..Default::default() };
    let bindings = [binding(0, STORAGE, 1)];
    let range = [vk::PushConstantRange { stage_flags: vk::ShaderStageFlags::COMPUTE, offset: 0, size: 4 }];
    // SAFETY: valid usage.
    unsafe {
        functions
            .get_descriptor(&info, &mut heap.bytes_mut()[offset as usize..][..limits.storage_buffer_descriptor_size]);
        let flags = vk::DescriptorSetLayoutCreateFlags::DESCRIPTOR_BUFFER_EXT;
        let info = vk::DescriptorSetLayoutCreateInfo::default().flags(flags).bindings(&bindings);
        let set_layout = c.device.create_descriptor_set_layout(&info, None).unwrap();
        let set_layouts = [set_layout];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&set_layouts).push_constant_ranges(&range);
        let layout = c.device.create_pipeline_layout(&info, None).unwrap();
        let pipeline = compute_with(&c, vk::PipelineCache::null(), layout, &shader!("count.comp"), &[]).unwrap();
        let usage = vk::BufferUsageFlags::RESOURCE_DESCRIPTOR_BUFFER_EXT;
        let bound = [vk::DescriptorBufferBindingInfoEXT::default().address(address(&heap)).usage(usage)];
        c.run(|b| {
            c.device.cmd_bind_pipeline(b, COMPUTE, pipeline);
            functions.cmd_bind_descriptor_buffers(b, &bound);
            functions.cmd_set_descriptor_buffer_offsets(b, COMPUTE, layout, 0, &[0], &[offset]);
            c.device.cmd_push_constants(b, layout, vk::ShaderStageFlags::COMPUTE, 0, &[0; 4]);
            c.device.cmd_dispatch(b, 1, 1, 1);
        })
        .unwrap();
        c.device.destroy_pipeline(pipeline, None);
        c.device.destroy_pipeline_layout(layout, None);
        c.device.destroy_descriptor_set_layout(set_layout, None);
    }
    assert_eq!(result.words(), [0, 1, 2, 3, 4, 5, 6, 7]);
    c.free(heap);
    c.free(result);
}
