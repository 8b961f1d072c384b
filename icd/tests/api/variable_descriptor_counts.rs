//! Tests of bindings with variable descriptor counts: behind a set's own count there are null
//! descriptors, for any count of the layout.

use crate::common::{Buffer, Context, spirv};
use crate::pipeline::compute;
use ash::vk;

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const SECRET: u32 = 0x5ec3e7;

fn context() -> Context {
    let mut features = vk::PhysicalDeviceDescriptorIndexingFeatures::default()
        .runtime_descriptor_array(true)
        .descriptor_binding_variable_descriptor_count(true)
        .descriptor_binding_partially_bound(true)
        .shader_storage_buffer_array_non_uniform_indexing(true)
        .shader_storage_texel_buffer_array_non_uniform_indexing(true)
        .shader_storage_texel_buffer_array_dynamic_indexing(true);
    let mut blocks = vk::PhysicalDeviceInlineUniformBlockFeatures::default().inline_uniform_block(true);
    Context::with(
        &[c"VK_KHR_get_physical_device_properties2"],
        &[
            c"VK_EXT_descriptor_indexing",
            c"VK_KHR_maintenance3",
            c"VK_EXT_inline_uniform_block",
            c"VK_KHR_maintenance1",
        ],
        &mut [&mut features, &mut blocks],
    )
}

/// A layout with a storage buffer at binding 0 and a variable binding 1, and sets of it.
struct Sets {
    set_layout: vk::DescriptorSetLayout,
    layout: vk::PipelineLayout,
    pool: vk::DescriptorPool,
    sets: Vec<vk::DescriptorSet>,
}

impl Sets {
    /// Makes one set per count.
    fn new(c: &Context, ty: vk::DescriptorType, most: u32, counts: &[u32]) -> Sets {
        let binding = |binding, ty, count| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(binding)
                .descriptor_type(ty)
                .descriptor_count(count)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
        };
        let bindings = [binding(0, STORAGE, 1), binding(1, ty, most)];
        let variable =
            vk::DescriptorBindingFlags::VARIABLE_DESCRIPTOR_COUNT | vk::DescriptorBindingFlags::PARTIALLY_BOUND;
        let flags = [vk::DescriptorBindingFlags::empty(), variable];
        let mut flags = vk::DescriptorSetLayoutBindingFlagsCreateInfo::default().binding_flags(&flags);
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings).push_next(&mut flags);
        let range = [vk::PushConstantRange { stage_flags: vk::ShaderStageFlags::COMPUTE, offset: 0, size: 16 }];
        let size = |ty, descriptor_count| vk::DescriptorPoolSize { ty, descriptor_count };
        let sizes = [size(STORAGE, counts.len() as u32), size(ty, counts.iter().sum::<u32>().max(1))];
        let sets = counts.len() as u32;
        // SAFETY: valid usage.
        unsafe {
            let set_layout = c.device.create_descriptor_set_layout(&info, None).unwrap();
            let layouts = [set_layout];
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts).push_constant_ranges(&range);
            let layout = c.device.create_pipeline_layout(&info, None).unwrap();
            let mut blocks =
                vk::DescriptorPoolInlineUniformBlockCreateInfo::default().max_inline_uniform_block_bindings(sets);
            let info = vk::DescriptorPoolCreateInfo::default().max_sets(sets).pool_sizes(&sizes).push_next(&mut blocks);
            let pool = c.device.create_descriptor_pool(&info, None).unwrap();
            let layouts = vec![set_layout; counts.len()];
            let mut counts = vk::DescriptorSetVariableDescriptorCountAllocateInfo::default().descriptor_counts(counts);
            let info = vk::DescriptorSetAllocateInfo::default()
                .descriptor_pool(pool)
                .set_layouts(&layouts)
                .push_next(&mut counts);
            let sets = c.device.allocate_descriptor_sets(&info).unwrap();
            Sets { set_layout, layout, pool, sets }
        }
    }

    fn buffers(&self, c: &Context, set: usize, binding: u32, first: u32, list: &[&Buffer]) {
        let whole = |b: &&Buffer| vk::DescriptorBufferInfo { buffer: b.buffer, offset: 0, range: vk::WHOLE_SIZE };
        let infos: Vec<_> = list.iter().map(whole).collect();
        let write = vk::WriteDescriptorSet::default()
            .dst_set(self.sets[set])
            .dst_binding(binding)
            .dst_array_element(first)
            .descriptor_type(STORAGE)
            .buffer_info(&infos);
        // SAFETY: valid usage.
        unsafe { c.device.update_descriptor_sets(&[write], &[]) };
    }

    fn run(&self, c: &Context, set: usize, pipeline: vk::Pipeline, push: &[u32]) {
        let bytes: Vec<u8> = push.iter().flat_map(|w| w.to_le_bytes()).collect();
        let point = vk::PipelineBindPoint::COMPUTE;
        c.run(|b| {
            // SAFETY: valid usage.
            unsafe {
                c.device.cmd_bind_pipeline(b, point, pipeline);
                c.device.cmd_bind_descriptor_sets(b, point, self.layout, 0, &[self.sets[set]], &[]);
                c.device.cmd_push_constants(b, self.layout, vk::ShaderStageFlags::COMPUTE, 0, &bytes);
                c.device.cmd_dispatch(b, 1, 1, 1);
            }
        })
        .unwrap();
    }

    fn destroy(self, c: &Context, pipeline: vk::Pipeline) {
        // SAFETY: valid usage.
        unsafe {
            c.device.destroy_pipeline(pipeline, None);
            c.device.destroy_descriptor_pool(self.pool, None);
            c.device.destroy_pipeline_layout(self.layout, None);
            c.device.destroy_descriptor_set_layout(self.set_layout, None);
        }
    }
}

fn filled(c: &Context, bytes: u64, word: impl Fn(u32) -> u32) -> Buffer {
    let mut buffer = c.buffer(bytes);
    buffer.fill_words(word);
    buffer
}

/// Checks that indices behind the count give nothing. The memory behind a set has its neighbours,
/// full of descriptors of one buffer.
#[test]
fn descriptors_beyond_the_sets_count_are_null() {
    let c = context();
    const COUNTS: [u32; 64] = [3; 64];
    for most in [4, 1 << 16] {
        let sets = Sets::new(&c, STORAGE, most, &COUNTS);
        let (out, secret) = (filled(&c, 64, |_| 0), filled(&c, 64, |_| SECRET));
        for set in 0..COUNTS.len() {
            sets.buffers(&c, set, 0, 0, &[&out]);
            sets.buffers(&c, set, 1, 0, &[&secret, &secret, &secret]);
        }
        let words = spirv(include_bytes!("../data/variable.comp.spv"));
        let pipeline = compute(&c, vk::PipelineCache::null(), sets.layout, &words, &[]);
        for set in [0, 7, 30, 63] {
            // An element that the set has.
            sets.run(&c, set, pipeline, &[0, SECRET, 2, 1]);
            assert_eq!(out.words()[..3], [0, SECRET, 16]);
            assert_eq!(secret.words()[1], 1);
            // Elements that the set does not have.
            for index in (3..64).chain([most - 1, most, 1 << 20, u32::MAX]) {
                sets.run(&c, set, pipeline, &[0, SECRET, index, 2]);
                assert_eq!(out.words()[..3], [0, 0, 0], "set {set}, index {index} of {most}");
                assert_eq!(secret.words()[1], 1, "set {set}, index {index} of {most}");
            }
        }
        sets.destroy(&c, pipeline);
        c.free(out);
        c.free(secret);
    }
}

/// Checks valid usage in which only existing descriptors are requested, but lanes without an
/// invocation compute other indices.
#[test]
fn lanes_without_invocations_reach_no_further() {
    let c = context();
    for count in 1..5 {
        let sets = Sets::new(&c, STORAGE, 4000, &[count; 16]);
        let (out, data) = (filled(&c, 64, |_| 77), filled(&c, 64, |_| 5));
        let words = spirv(include_bytes!("../data/variable.comp.spv"));
        let pipeline = compute(&c, vk::PipelineCache::null(), sets.layout, &words, &[]);
        for set in 0..16 {
            sets.buffers(&c, set, 0, 0, &[&out]);
            sets.buffers(&c, set, 1, 0, &vec![&data; count as usize]);
            sets.run(&c, set, pipeline, &[count - 1, 5, 0, 5]);
            assert_eq!(out.words()[..3], [0, 5, 16]);
        }
        sets.destroy(&c, pipeline);
        c.free(out);
        c.free(data);
    }
}

#[test]
fn a_count_of_zero_has_no_descriptors() {
    let c = context();
    for ty in [STORAGE, vk::DescriptorType::STORAGE_TEXEL_BUFFER] {
        let sets = Sets::new(&c, ty, 1 << 12, &[0; 8]);
        let out = filled(&c, 64, |_| 77);
        let words = match ty {
            STORAGE => spirv(include_bytes!("../data/variable.comp.spv")),
            _ => spirv(include_bytes!("../data/variable_image.comp.spv")),
        };
        let pipeline = compute(&c, vk::PipelineCache::null(), sets.layout, &words, &[]);
        for set in 0..8 {
            sets.buffers(&c, set, 0, 0, &[&out]);
            for index in [0, 1, 4095, 1 << 30] {
                sets.run(&c, set, pipeline, &[index, 0, index, 5]);
                assert_eq!(out.words()[..3], [0, 0, 0]);
            }
        }
        sets.destroy(&c, pipeline);
        c.free(out);
    }
}

/// Checks that bytes behind a block's own size read as zero, and that copies only access bytes that
/// both sets have.
#[test]
fn blocks_end_where_the_set_says() {
    let c = context();
    let sets = Sets::new(&c, vk::DescriptorType::INLINE_UNIFORM_BLOCK, 1024, &[16, 64, 1024]);
    let out = filled(&c, 256, |_| 77);
    let words = spirv(include_bytes!("../data/variable_block.comp.spv"));
    let pipeline = compute(&c, vk::PipelineCache::null(), sets.layout, &words, &[]);
    for (set, size) in [16u32, 64, 1024].into_iter().enumerate() {
        sets.buffers(&c, set, 0, 0, &[&out]);
        let bytes: Vec<u8> = (0..size / 4).flat_map(|_| 9u32.to_le_bytes()).collect();
        let mut block = vk::WriteDescriptorSetInlineUniformBlock::default().data(&bytes);
        let mut write = vk::WriteDescriptorSet::default()
            .dst_set(sets.sets[set])
            .dst_binding(1)
            .descriptor_type(vk::DescriptorType::INLINE_UNIFORM_BLOCK)
            .push_next(&mut block);
        write.descriptor_count = size;
        // SAFETY: valid usage.
        unsafe { c.device.update_descriptor_sets(&[write], &[]) };
        sets.run(&c, set, pipeline, &[0]);
        let expected: Vec<u32> = (0..64).map(|i| if i * 16 < size { 9 } else { 0 }).collect();
        assert_eq!(out.words(), expected, "{size} bytes");
    }
    // From the small block to the large one: 16 bytes are copied, although more are requested.
    let copy = vk::CopyDescriptorSet::default()
        .src_set(sets.sets[0])
        .src_binding(1)
        .dst_set(sets.sets[2])
        .dst_binding(1)
        .dst_array_element(512)
        .descriptor_count(512);
    // SAFETY: this exceeds valid usage, to check that nothing behind the first set's memory is
    // copied.
    unsafe { c.device.update_descriptor_sets(&[], &[copy]) };
    sets.run(&c, 2, pipeline, &[0]);
    assert_eq!(out.words(), [9; 64]);
    sets.destroy(&c, pipeline);
    c.free(out);
}

/// Checks that writes and copies beyond a set's count are dropped: the null descriptor is kept.
#[test]
fn updates_end_at_the_sets_count() {
    let c = context();
    let sets = Sets::new(&c, STORAGE, 64, &[2, 5]);
    let (out, data) = (filled(&c, 64, |_| 0), filled(&c, 64, |_| SECRET));
    let words = spirv(include_bytes!("../data/variable.comp.spv"));
    let pipeline = compute(&c, vk::PipelineCache::null(), sets.layout, &words, &[]);
    sets.buffers(&c, 0, 0, 0, &[&out]);
    sets.buffers(&c, 1, 1, 0, &[&data; 5]);
    // This exceeds valid usage.
    sets.buffers(&c, 0, 1, 0, &[&data; 8]);
    let copy = vk::CopyDescriptorSet::default()
        .src_set(sets.sets[1])
        .src_binding(1)
        .dst_set(sets.sets[0])
        .dst_binding(1)
        .descriptor_count(20);
    // SAFETY: this exceeds valid usage: neither set has these elements.
    unsafe { c.device.update_descriptor_sets(&[], &[copy]) };
    for (index, expected) in [(0, SECRET), (1, SECRET), (2, 0), (3, 0), (63, 0)] {
        sets.run(&c, 0, pipeline, &[0, SECRET, index, 1]);
        assert_eq!(out.words()[1], expected, "index {index}");
    }
    sets.destroy(&c, pipeline);
    c.free(out);
    c.free(data);
}

/// Returns the answer of vkGetDescriptorSetLayoutSupport for a variable binding behind three
/// uniform buffers.
fn support(c: &Context, ty: vk::DescriptorType, count: u32, flags: vk::DescriptorBindingFlags) -> (bool, u32) {
    let functions = ash::khr::maintenance3::Device::new(&c.instance, &c.device);
    let binding = |binding, ty, count| {
        let stages = vk::ShaderStageFlags::COMPUTE;
        let b = vk::DescriptorSetLayoutBinding::default().binding(binding).descriptor_type(ty);
        b.descriptor_count(count).stage_flags(stages)
    };
    let bindings = [binding(1, vk::DescriptorType::UNIFORM_BUFFER, 3), binding(7, ty, count)];
    let flags = [vk::DescriptorBindingFlags::empty(), flags];
    let mut flags = vk::DescriptorSetLayoutBindingFlagsCreateInfo::default().binding_flags(&flags);
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings).push_next(&mut flags);
    let mut variable = vk::DescriptorSetVariableDescriptorCountLayoutSupport {
        max_variable_descriptor_count: u32::MAX,
        ..Default::default()
    };
    let mut answer = vk::DescriptorSetLayoutSupport::default().push_next(&mut variable);
    // SAFETY: valid usage.
    unsafe { functions.get_descriptor_set_layout_support(&info, &mut answer) };
    (answer.supported != 0, variable.max_variable_descriptor_count)
}

/// Checks that the reported maximum does not depend on the requested count, and can be allocated.
#[test]
fn the_reported_maximum_is_supported() {
    let c = context();
    let variable = vk::DescriptorBindingFlags::VARIABLE_DESCRIPTOR_COUNT;
    use vk::DescriptorType as T;
    for ty in [T::SAMPLER, T::SAMPLED_IMAGE, T::STORAGE_BUFFER, T::STORAGE_TEXEL_BUFFER, T::INLINE_UNIFORM_BLOCK] {
        let (supported, most) = support(&c, ty, 4, variable);
        assert!(supported && most >= 1024, "{ty:?}: {most}");
        for count in [0, 400, most] {
            assert_eq!(support(&c, ty, count, variable), (true, most), "{ty:?} of {count}");
        }
        assert_eq!(support(&c, ty, 4, vk::DescriptorBindingFlags::empty()), (true, 0), "{ty:?}");
    }
    assert_eq!(support(&c, T::STORAGE_BUFFER, 1, variable), (true, (1 << 20) - 3));
}
