//! Tests of mutable descriptors: each element is the descriptor that was written or copied to it
//! last; and of null descriptors of each type.

use crate::common::{Context, range, spirv};
use crate::pipeline::{GENERAL, compute};
use ash::vk;

const MUTABLE: vk::DescriptorType = vk::DescriptorType::MUTABLE_EXT;
const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const TYPES: [vk::DescriptorType; 4] = [
    STORAGE,
    vk::DescriptorType::UNIFORM_TEXEL_BUFFER,
    vk::DescriptorType::STORAGE_IMAGE,
    vk::DescriptorType::UNIFORM_BUFFER,
];

fn context() -> Context {
    let mut mutable = vk::PhysicalDeviceMutableDescriptorTypeFeaturesEXT::default().mutable_descriptor_type(true);
    let mut robust = vk::PhysicalDeviceRobustness2FeaturesEXT::default()
        .null_descriptor(true)
        .robust_buffer_access2(true)
        .robust_image_access2(true);
    let mut features = vk::PhysicalDeviceFeatures2::default()
        .features(vk::PhysicalDeviceFeatures::default().robust_buffer_access(true));
    Context::with(
        &[],
        &[c"VK_EXT_mutable_descriptor_type", c"VK_EXT_robustness2"],
        &mut [&mut mutable, &mut robust, &mut features],
    )
}

/// Makes a layout of a storage buffer and four mutable descriptors; `None` if it is not supported.
fn layout(c: &Context, types: &[vk::DescriptorType]) -> Option<vk::DescriptorSetLayout> {
    let binding = |binding, ty, count| {
        vk::DescriptorSetLayoutBinding::default()
            .binding(binding)
            .descriptor_type(ty)
            .descriptor_count(count)
            .stage_flags(vk::ShaderStageFlags::ALL)
    };
    let bindings = [binding(0, STORAGE, 1), binding(1, MUTABLE, 4)];
    let lists = [
        vk::MutableDescriptorTypeListEXT::default(),
        vk::MutableDescriptorTypeListEXT::default().descriptor_types(types),
    ];
    let mut lists = vk::MutableDescriptorTypeCreateInfoEXT::default().mutable_descriptor_type_lists(&lists);
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings).push_next(&mut lists);
    let mut support = vk::DescriptorSetLayoutSupport::default();
    // SAFETY: valid usage (the query takes any list).
    unsafe {
        c.device.get_descriptor_set_layout_support(&info, &mut support);
        (support.supported == vk::TRUE).then(|| c.device.create_descriptor_set_layout(&info, None).expect("layout"))
    }
}

#[test]
fn elements_have_the_last_written_type() {
    let c = context();
    let set_layout = layout(&c, &TYPES).expect("supported");
    let (mut out, mut words) = (c.buffer(32), c.buffer(64));
    words.fill_words(|i| 100 + i);
    let image = c.image(vk::Format::R32_UINT, [4, 4], vk::SampleCountFlags::TYPE_1, 1);
    let sizes = [(STORAGE, 2), (MUTABLE, 8)];
    let sizes = sizes.map(|(ty, descriptor_count)| vk::DescriptorPoolSize { ty, descriptor_count });
    let layouts = [set_layout; 2];
    // SAFETY: valid usage.
    unsafe {
        let d = &c.device;
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(2).pool_sizes(&sizes);
        let pool = d.create_descriptor_pool(&info, None).expect("pool");
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
        let sets = d.allocate_descriptor_sets(&info).expect("sets");
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts[..1]);
        let pipeline_layout = d.create_pipeline_layout(&info, None).expect("layout");
        let code = spirv(include_bytes!("../data/mutable.comp.spv"));
        let pipeline = compute(&c, vk::PipelineCache::null(), pipeline_layout, &code, &[]);
        let texels =
            vk::BufferViewCreateInfo::default().buffer(words.buffer).format(vk::Format::R32_UINT).range(vk::WHOLE_SIZE);
        let texels = d.create_buffer_view(&texels, None).expect("view");

        let write = |set: usize, element, ty, buffer: vk::Buffer, texels: vk::BufferView, image_view| {
            let buffers = [vk::DescriptorBufferInfo { buffer, offset: 0, range: vk::WHOLE_SIZE }];
            let (views, images) =
                ([texels], [vk::DescriptorImageInfo { image_view, image_layout: GENERAL, ..Default::default() }]);
            let to = vk::WriteDescriptorSet::default().dst_set(sets[set]).dst_binding(1).dst_array_element(element);
            let to = to.descriptor_type(ty).buffer_info(&buffers).texel_buffer_view(&views).image_info(&images);
            d.update_descriptor_sets(&[to], &[]);
        };
        let whole = [vk::DescriptorBufferInfo { buffer: out.buffer, offset: 0, range: vk::WHOLE_SIZE }];
        for set in &sets {
            let to = vk::WriteDescriptorSet::default().dst_set(*set).descriptor_type(STORAGE).buffer_info(&whole);
            d.update_descriptor_sets(&[to], &[]);
        }
        // Another descriptor is written first: only the last write counts.
        write(0, 0, TYPES[2], vk::Buffer::null(), vk::BufferView::null(), image.view);
        for (element, ty) in (0..).zip(TYPES) {
            write(0, element, ty, words.buffer, texels, image.view);
        }
        let copies = [vk::CopyDescriptorSet::default()
            .src_set(sets[0])
            .src_binding(1)
            .dst_set(sets[1])
            .dst_binding(1)
            .descriptor_count(4)];
        d.update_descriptor_sets(&[], &copies);
        let mut results = |set: usize| {
            out.fill_words(|_| 77);
            c.run(|b| {
                let range = range(vk::ImageAspectFlags::COLOR, 1);
                let barrier = |from, to, old_layout| {
                    vk::ImageMemoryBarrier::default()
                        .image(image.image)
                        .subresource_range(range)
                        .old_layout(old_layout)
                        .new_layout(GENERAL)
                        .src_access_mask(from)
                        .dst_access_mask(to)
                };
                let before =
                    barrier(vk::AccessFlags::empty(), vk::AccessFlags::TRANSFER_WRITE, vk::ImageLayout::UNDEFINED);
                let after = barrier(vk::AccessFlags::TRANSFER_WRITE, vk::AccessFlags::SHADER_READ, GENERAL);
                let (all, none) = (vk::PipelineStageFlags::ALL_COMMANDS, vk::DependencyFlags::empty());
                d.cmd_pipeline_barrier(b, all, all, none, &[], &[], &[before]);
                let color = vk::ClearColorValue { uint32: [5, 0, 0, 0] };
                d.cmd_clear_color_image(b, image.image, GENERAL, &color, &[range]);
                d.cmd_pipeline_barrier(b, all, all, none, &[], &[], &[after]);
                d.cmd_bind_pipeline(b, vk::PipelineBindPoint::COMPUTE, pipeline);
                d.cmd_bind_descriptor_sets(
                    b,
                    vk::PipelineBindPoint::COMPUTE,
                    pipeline_layout,
                    0,
                    &sets[set..=set],
                    &[],
                );
                d.cmd_dispatch(b, 1, 1, 1);
            })
            .expect("run");
            out.words()
        };
        let written = [101, 16, 102, 16, 5, 4, 1, 102];
        assert_eq!(results(0), written);
        assert_eq!(results(1), written, "copied");
        for (element, ty) in (0..).zip(TYPES) {
            write(0, element, ty, vk::Buffer::null(), vk::BufferView::null(), vk::ImageView::null());
        }
        assert_eq!(results(0), [0; 8], "null");
        assert_eq!(results(1), written, "the copy is its own");
        d.destroy_pipeline(pipeline, None);
        d.destroy_buffer_view(texels, None);
        d.destroy_descriptor_pool(pool, None);
        d.destroy_pipeline_layout(pipeline_layout, None);
        d.destroy_descriptor_set_layout(set_layout, None);
    }
    c.free_image(image);
    c.free(out);
    c.free(words);
}

#[test]
fn unsupported_mutable_types_are_refused() {
    let c = context();
    for ty in [
        vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC,
        vk::DescriptorType::STORAGE_BUFFER_DYNAMIC,
        vk::DescriptorType::INLINE_UNIFORM_BLOCK,
        MUTABLE,
        vk::DescriptorType::ACCELERATION_STRUCTURE_NV,
    ] {
        assert!(layout(&c, &[STORAGE, ty]).is_none(), "{ty:?}");
    }
}
