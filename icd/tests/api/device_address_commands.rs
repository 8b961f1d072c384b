//! Tests of commands that take addresses in place of buffers (VK_KHR_device_address_commands).

use crate::common::{Buffer, Context, device_address_commands, spirv};
use crate::generated::{command, tagged};
use crate::pipeline::{GENERAL, Messenger, RGBA8, Set};
use crate::{common, pipeline};
use ash::vk;
use vulkan_grus::caps::newer;

struct Commands {
    c: Context,
    fill: newer::PFN_vkCmdFillMemoryKHR,
    update: newer::PFN_vkCmdUpdateMemoryKHR,
    copy: newer::PFN_vkCmdCopyMemoryKHR,
    to_image: newer::PFN_vkCmdCopyMemoryToImageKHR,
    from_image: newer::PFN_vkCmdCopyMemoryToImageKHR,
    dispatch: newer::PFN_vkCmdDispatchIndirect2KHR,
    results: newer::PFN_vkCmdCopyQueryPoolResultsToMemoryKHR,
    vertices: newer::PFN_vkCmdBindVertexBuffers3KHR,
    indices: newer::PFN_vkCmdBindIndexBuffer3KHR,
    draw: newer::PFN_vkCmdDrawIndirect2KHR,
    draw_count: newer::PFN_vkCmdDrawIndirectCount2KHR,
    condition: newer::PFN_vkCmdBeginConditionalRendering2EXT,
}

impl Commands {
    fn new() -> Commands {
        let mut v12 =
            vk::PhysicalDeviceVulkan12Features::default().buffer_device_address(true).draw_indirect_count(true);
        let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
        let mut conditional = vk::PhysicalDeviceConditionalRenderingFeaturesEXT::default().conditional_rendering(true);
        let features = vk::PhysicalDeviceFeatures::default().multi_draw_indirect(true);
        let mut features = vk::PhysicalDeviceFeatures2::default().features(features);
        let extensions = [
            c"VK_KHR_device_address_commands",
            c"VK_KHR_dynamic_rendering",
            c"VK_EXT_conditional_rendering",
            c"VK_KHR_external_memory",
            c"VK_EXT_external_memory_host",
        ];
        let c = Context::with(
            &[c"VK_EXT_debug_utils"],
            &extensions,
            &mut [&mut features, &mut v12, &mut rendering, &mut conditional, &mut device_address_commands()],
        );
        Commands {
            fill: command!(c, c"vkCmdFillMemoryKHR" as newer::PFN_vkCmdFillMemoryKHR),
            update: command!(c, c"vkCmdUpdateMemoryKHR" as newer::PFN_vkCmdUpdateMemoryKHR),
            copy: command!(c, c"vkCmdCopyMemoryKHR" as newer::PFN_vkCmdCopyMemoryKHR),
            to_image: command!(c, c"vkCmdCopyMemoryToImageKHR" as newer::PFN_vkCmdCopyMemoryToImageKHR),
            from_image: command!(c, c"vkCmdCopyImageToMemoryKHR" as newer::PFN_vkCmdCopyMemoryToImageKHR),
            dispatch: command!(c, c"vkCmdDispatchIndirect2KHR" as newer::PFN_vkCmdDispatchIndirect2KHR),
            results: command!(
                c,
                c"vkCmdCopyQueryPoolResultsToMemoryKHR" as newer::PFN_vkCmdCopyQueryPoolResultsToMemoryKHR
            ),
            vertices: command!(c, c"vkCmdBindVertexBuffers3KHR" as newer::PFN_vkCmdBindVertexBuffers3KHR),
            indices: command!(c, c"vkCmdBindIndexBuffer3KHR" as newer::PFN_vkCmdBindIndexBuffer3KHR),
            draw: command!(c, c"vkCmdDrawIndirect2KHR" as newer::PFN_vkCmdDrawIndirect2KHR),
            draw_count: command!(c, c"vkCmdDrawIndexedIndirectCount2KHR" as newer::PFN_vkCmdDrawIndirectCount2KHR),
            condition: command!(
                c,
                c"vkCmdBeginConditionalRendering2EXT" as newer::PFN_vkCmdBeginConditionalRendering2EXT
            ),
            c,
        }
    }

    fn address(&self, buffer: &Buffer) -> u64 {
        self.c.address(buffer)
    }

    fn copy(&self, b: vk::CommandBuffer, from: u64, to: u64, size: u64) {
        let range = |address| newer::DeviceAddressRangeKHR { address, size };
        let region = newer::DeviceMemoryCopyKHR { src_range: range(from), dst_range: range(to), ..tagged() };
        let info = newer::CopyDeviceMemoryInfoKHR { region_count: 1, p_regions: &region, ..tagged() };
        // SAFETY: valid usage.
        unsafe { (self.copy)(b, &info) };
    }

    fn image_copy(
        &self,
        image: &common::Image,
        address: u64,
        size: u64,
        with: impl FnOnce(&newer::CopyDeviceMemoryImageInfoKHR<'_>),
    ) {
        let [width, height] = image.extent;
        let region = newer::DeviceMemoryImageCopyKHR {
            address_range: newer::DeviceAddressRangeKHR { address, size },
            image_subresource: common::layers(image.aspect, 0),
            image_layout: GENERAL,
            image_extent: vk::Extent3D { width, height, depth: 1 },
            ..tagged()
        };
        with(&newer::CopyDeviceMemoryImageInfoKHR {
            image: image.image,
            region_count: 1,
            p_regions: &region,
            ..tagged()
        });
    }
}

#[test]
fn transfers_between_addresses() {
    let t = Commands::new();
    let c = &t.c;
    let (mut from, to) = (c.buffer(1024), c.buffer(1024));
    from.fill_words(|i| i * 3 + 1);
    let (a, b) = (t.address(&from), t.address(&to));
    let image = c.image(RGBA8, [8, 8], vk::SampleCountFlags::TYPE_1, 1);
    c.run(|buffer| {
        let range = |address, size| newer::DeviceAddressRangeKHR { address, size };
        // SAFETY: valid usage.
        unsafe {
            (t.fill)(buffer, &range(b, 1024), 0, 0xabcd_ef01);
            t.copy(buffer, a + 4, b + 16, 8);
            (t.update)(buffer, &range(b + 32, 8), 0, 8, [5u32, 6].as_ptr().cast());
            t.image_copy(&image, a, 256, |info| (t.to_image)(buffer, info));
            t.image_copy(&image, b + 512, 256, |info| (t.from_image)(buffer, info));
        }
    })
    .expect("done");
    let expected: Vec<u32> = (0..256)
        .map(|i| match i {
            4 | 5 => (i - 4 + 1) * 3 + 1,
            8 | 9 => i - 3,
            128..192 => (i - 128) * 3 + 1,
            _ => 0xabcd_ef01,
        })
        .collect();
    assert_eq!(to.words(), expected);
    c.free_image(image);
    c.free(from);
    c.free(to);
}

#[test]
fn dispatches_and_results_at_addresses() {
    let t = Commands::new();
    let c = &t.c;
    let (mut groups, mut data) = (c.buffer(64), c.buffer(1024));
    groups.fill_words(|i| [9, 2, 1, 1].get(i as usize).copied().unwrap_or(0));
    data.fill_words(|_| 1);
    let set = Set::new(c, &[(vk::DescriptorType::STORAGE_BUFFER, 1), (vk::DescriptorType::UNIFORM_BUFFER, 1)]);
    set.buffers(c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(data.buffer, 0, 1024)]);
    set.buffers(c, 1, vk::DescriptorType::UNIFORM_BUFFER, &[(groups.buffer, 32, 16)]);
    let module = pipeline::module(c, &spirv(include_bytes!("../data/square.comp.spv")));
    let stage = vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE);
    let info = vk::ComputePipelineCreateInfo::default().stage(stage.module(module).name(c"main")).layout(set.layout);
    let pool = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(2);
    // SAFETY: valid usage.
    unsafe {
        let pipeline = c.device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None).unwrap()[0];
        let pool = c.device.create_query_pool(&pool, None).unwrap();
        c.run(|b| {
            c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::COMPUTE, pipeline);
            c.device.cmd_bind_descriptor_sets(b, vk::PipelineBindPoint::COMPUTE, set.layout, 0, &[set.set], &[]);
            c.device.cmd_push_constants(b, set.layout, vk::ShaderStageFlags::ALL, 0, &4u32.to_le_bytes());
            let address_range = newer::DeviceAddressRangeKHR { address: t.address(&groups) + 4, size: 12 };
            (t.dispatch)(b, &newer::DispatchIndirect2InfoKHR { address_range, ..tagged() });
            c.device.cmd_reset_query_pool(b, pool, 0, 2);
            c.device.cmd_write_timestamp(b, vk::PipelineStageFlags::TOP_OF_PIPE, pool, 1);
            let address = t.address(&data) + 768;
            let range = newer::StridedDeviceAddressRangeKHR { address, size: 64, stride: 32 };
            let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WITH_AVAILABILITY;
            (t.results)(b, pool, 0, 2, &range, 0, flags);
        })
        .expect("done");
        c.device.destroy_query_pool(pool, None);
        c.device.destroy_pipeline(pipeline, None);
        c.device.destroy_shader_module(module, None);
    }
    let words = data.words();
    // Two workgroups of 64 give 1 * 3 + 0 + 4.
    assert!(words[..128].iter().all(|&w| w == 7) && words[128..192].iter().all(|&w| w == 1), "{words:?}");
    // The first query has no result; the second one has a result and is available.
    assert_eq!((words[194], words[195], words[202], words[203]), (0, 0, 1, 0), "{:?}", &words[192..208]);
    assert_ne!((words[200], words[201]), (1, 1));
    set.destroy(c);
    c.free(groups);
    c.free(data);
}

#[test]
fn addresses_without_memory_are_ignored_and_reported() {
    let t = Commands::new();
    let c = &t.c;
    let messages = Messenger::new(c);
    let mut buffer = c.buffer(256);
    buffer.fill_words(|i| i);
    let address = t.address(&buffer);
    let image = c.image(RGBA8, [4, 4], vk::SampleCountFlags::TYPE_1, 1);
    for wild in [0, 64, u64::MAX - 3, address + (1 << 33)] {
        c.run(|b| {
            t.copy(b, wild, address, 16);
            t.copy(b, address, wild, 16);
            let range = newer::DeviceAddressRangeKHR { address: wild, size: 16 };
            let dispatch = newer::DispatchIndirect2InfoKHR { address_range: range, ..tagged() };
            // SAFETY: only the address is invalid.
            unsafe {
                (t.fill)(b, &range, 0, 1);
                (t.update)(b, &range, 0, 4, [5u32].as_ptr().cast());
                (t.dispatch)(b, &dispatch);
                t.image_copy(&image, wild, 64, |info| (t.to_image)(b, info));
                t.image_copy(&image, wild, 64, |info| (t.from_image)(b, info));
            }
        })
        .expect("done");
        let reported = messages.take();
        assert_eq!(reported.len(), 7, "{wild:#x}: {reported:#?}");
    }
    assert_eq!(buffer.words(), Vec::from_iter(0..64));
    c.free_image(image);
    c.free(buffer);
    drop(messages);
}

/// Checks draws whose vertices, indices, parameters, count and condition all lie at addresses.
#[test]
fn draws_of_addresses() {
    let t = Commands::new();
    let c = &t.c;
    let d = &c.device;
    let set = Set::new(c, &[]);
    let words = [spirv(include_bytes!("../data/attribute.vert.spv")), spirv(include_bytes!("../data/red.frag.spv"))];
    let pipeline = pipeline::graphics(c, &words[0], &words[1], set.layout, true);
    let target = c.image(RGBA8, [64, 64], vk::SampleCountFlags::TYPE_1, 1);
    // The buffer contains a triangle that covers everything, behind two numbers; its indices; draws
    // of nothing, of the triangle, and beyond the count; the count; and a false and a true
    // condition.
    let mut data = c.buffer(512);
    let floats = [-1.0f32, -1.0, 3.0, -1.0, -1.0, 3.0].map(f32::to_bits);
    let (vertices, indices, draws, count, whether) = (8, 64, 96, 208, 224);
    let mut all = vec![0u32; 128];
    all[vertices / 4..][..6].copy_from_slice(&floats);
    all[indices / 4..][..3].copy_from_slice(&[2, 0, 1]);
    // Indexed draws are 32 bytes apart: indexCount, instanceCount, firstIndex, vertexOffset,
    // firstInstance.
    all[draws / 4..][..5].copy_from_slice(&[0, 1, 0, 0, 0]);
    all[draws / 4 + 8..][..5].copy_from_slice(&[3, 1, 0, 0, 0]);
    all[count / 4] = 2;
    all[whether / 4 + 1] = 1;
    // The draw without indices lies here.
    all[240 / 4..][..4].copy_from_slice(&[3, 1, 0, 0]);
    data.fill_words(|i| all[i as usize]);
    let address = t.address(&data);
    let range = |at: usize, size| newer::DeviceAddressRangeKHR { address: address + at as u64, size };
    let strided =
        |at: usize, size, stride| newer::StridedDeviceAddressRangeKHR { address: address + at as u64, size, stride };
    let bind = |b| {
        let vertex = newer::BindVertexBuffer3InfoKHR { address_range: strided(vertices, 24, 0), ..tagged() };
        let index = newer::BindIndexBuffer3InfoKHR {
            address_range: range(indices, 12),
            index_type: vk::IndexType::UINT32,
            ..tagged()
        };
        // SAFETY: valid usage.
        unsafe {
            d.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
            (t.vertices)(b, 0, 1, &vertex);
            (t.indices)(b, &index);
        }
    };
    let indexed = |b, most| {
        let info = newer::DrawIndirectCount2InfoKHR {
            address_range: strided(draws, 96, 32),
            count_address_range: range(count, 4),
            max_draw_count: most,
            ..tagged()
        };
        // SAFETY: valid usage.
        unsafe { (t.draw_count)(b, &info) };
    };
    let red = |with: &dyn Fn(vk::CommandBuffer)| {
        pipeline::render(c, &target, pipeline::AREA, |b| {
            bind(b);
            with(b);
        })
        .expect("drawn");
        let texels = c.read_image(&target, 4);
        assert!(texels.chunks(4).all(|t| t == &texels[..4]));
        texels[0] == 255
    };
    // There is one draw of nothing, then the second one too; the count decides between them.
    assert!(!red(&|b| indexed(b, 1)));
    assert!(red(&|b| indexed(b, 3)));
    let draw = |b| {
        let info = newer::DrawIndirect2InfoKHR { address_range: strided(240, 16, 16), draw_count: 1, ..tagged() };
        // SAFETY: valid usage.
        unsafe { (t.draw)(b, &info) };
    };
    assert!(red(&draw));
    // A range without a whole command contains no draw.
    assert!(!red(&|b| {
        let info = newer::DrawIndirect2InfoKHR { address_range: strided(240, 12, 16), draw_count: 1, ..tagged() };
        // SAFETY: only the range is invalid.
        unsafe { (t.draw)(b, &info) };
    }));
    let functions = ash::ext::conditional_rendering::Device::new(&c.instance, d);
    for (at, inverted, drawn) in [(whether, false, false), (whether + 4, false, true), (whether, true, true)] {
        let flags = if inverted { vk::ConditionalRenderingFlagsEXT::INVERTED } else { Default::default() };
        let condition = newer::ConditionalRenderingBeginInfo2EXT { address_range: range(at, 4), flags, ..tagged() };
        let found = red(&|b| {
            // SAFETY: valid usage.
            unsafe {
                (t.condition)(b, &condition);
                draw(b);
                (functions.fp().cmd_end_conditional_rendering_ext)(b);
            }
        });
        assert_eq!(found, drawn, "{at} {inverted}");
    }
    // SAFETY: valid usage.
    unsafe { d.destroy_pipeline(pipeline, None) };
    set.destroy(c);
    c.free_image(target);
    c.free(data);
}

/// Pages that the test owns and imports, and a buffer that covers them.
struct Imported {
    place: *mut u8,
    memory: vk::DeviceMemory,
    buffer: vk::Buffer,
}

const PAGES: usize = 2 << 12;
const LAYOUT: std::alloc::Layout = match std::alloc::Layout::from_size_align(PAGES, 1 << 12) {
    Ok(layout) => layout,
    Err(_) => panic!("a valid layout"),
};

impl Imported {
    fn new(c: &Context) -> Imported {
        let host = vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;
        // SAFETY: the usage is valid, and this test owns the pages.
        unsafe {
            let place = std::alloc::alloc_zeroed(LAYOUT);
            assert!(!place.is_null());
            let mut import = vk::ImportMemoryHostPointerInfoEXT::default().handle_type(host).host_pointer(place.cast());
            let info = vk::MemoryAllocateInfo::default().allocation_size(PAGES as u64).push_next(&mut import);
            let memory = c.device.allocate_memory(&info, None).expect("memory");
            let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(host);
            let usage = vk::BufferUsageFlags::from_raw(0x1ff);
            let info = vk::BufferCreateInfo::default().size(PAGES as u64).usage(usage).push_next(&mut external);
            let buffer = c.device.create_buffer(&info, None).expect("buffer");
            c.device.bind_buffer_memory(buffer, memory, 0).expect("bind");
            Imported { place, memory, buffer }
        }
    }

    fn words(&mut self) -> &mut [u32] {
        // SAFETY: no submission executes, and the pages are mapped.
        unsafe { std::slice::from_raw_parts_mut(self.place.cast(), PAGES / 4) }
    }

    fn free(self, c: &Context) {
        // SAFETY: the objects and the mapping are not in use any more.
        unsafe {
            c.device.destroy_buffer(self.buffer, None);
            c.device.free_memory(self.memory, None);
            std::alloc::dealloc(self.place, LAYOUT);
        }
    }
}

/// Checks that existing vertices are fetched if the buffer's address lies before its memory, far
/// before it, or in imported memory. The missing part is reported.
#[test]
fn vertex_buffers_begin_before_their_memory() {
    let t = Commands::new();
    let c = &t.c;
    let messages = Messenger::new(c);
    let set = Set::new(c, &[]);
    let words = [spirv(include_bytes!("../data/attribute.vert.spv")), spirv(include_bytes!("../data/red.frag.spv"))];
    let pipeline = pipeline::graphics(c, &words[0], &words[1], set.layout, true);
    let target = c.image(RGBA8, [64, 64], vk::SampleCountFlags::TYPE_1, 1);
    let triangle = [-1.0f32, -1.0, 3.0, -1.0, -1.0, 3.0].map(f32::to_bits);
    let mut imported = Imported::new(c);
    // The memory before the second buffer, where its range begins, is live too.
    let (before, mut own) = (c.buffer(1 << 16), c.buffer(512));
    own.fill_words(|i| triangle.get(i as usize).copied().unwrap_or(0));
    imported.words()[..6].copy_from_slice(&triangle);
    for (address, size) in [(t.address(&own), 512), (imported.place as u64, PAGES as u64)] {
        for (first, indexed) in [(0u32, false), (4, false), (20_000, false), (4, true)] {
            let missing = u64::from(first) * 8;
            let begin = address - missing;
            pipeline::render(c, &target, pipeline::AREA, |b| {
                let address_range =
                    newer::StridedDeviceAddressRangeKHR { address: begin, size: missing + size, stride: 0 };
                let vertex = newer::BindVertexBuffer3InfoKHR { address_range, ..tagged() };
                // SAFETY: the usage is valid, except that the range may begin before its memory.
                unsafe {
                    c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
                    (t.vertices)(b, 0, 1, &vertex);
                    if indexed {
                        // The indices are zeros, so all vertices are selected by the offset.
                        c.device.cmd_bind_index_buffer(b, before.buffer, 0, vk::IndexType::UINT32);
                        c.device.cmd_draw_indexed(b, 3, 1, 0, first as i32, 0);
                    } else {
                        c.device.cmd_draw(b, 3, 1, first, 0);
                    }
                }
            })
            .expect("drawn");
            let red = c.read_image(&target, 4)[0] == 255;
            assert_eq!(red, !indexed, "{first} before {address:#x}");
            assert_eq!(messages.take().len(), usize::from(first != 0), "{first} before {address:#x}");
        }
    }
    // SAFETY: valid usage.
    unsafe { c.device.destroy_pipeline(pipeline, None) };
    imported.free(c);
    set.destroy(c);
    c.free_image(target);
    c.free(own);
    c.free(before);
    drop(messages);
}

/// Checks that commands can read and write imported memory of the application at its addresses, up
/// to its last byte and no further.
#[test]
fn commands_find_imported_memory() {
    let t = Commands::new();
    let c = &t.c;
    let messages = Messenger::new(c);
    let mut imported = Imported::new(c);
    let mut own = c.buffer(256);
    own.fill_words(|i| i + 7);
    let info = vk::BufferDeviceAddressInfo::default().buffer(imported.buffer);
    // SAFETY: valid usage.
    let address = unsafe { c.device.get_buffer_device_address(&info) };
    assert_eq!((address, messages.take().len()), (imported.place as u64, 1));
    let end = address + PAGES as u64;
    let image = c.image(RGBA8, [8, 8], vk::SampleCountFlags::TYPE_1, 1);
    c.run(|b| {
        let range = |address, size| newer::DeviceAddressRangeKHR { address, size };
        // SAFETY: valid usage.
        unsafe {
            (t.fill)(b, &range(address, 64), 0, 0xabcd_ef01);
            (t.update)(b, &range(end - 8, 8), 0, 8, [5u32, 6].as_ptr().cast());
            t.copy(b, t.address(&own), address + 1024, 256);
            t.image_copy(&image, address + 1024, 256, |info| (t.to_image)(b, info));
            t.image_copy(&image, end - 512, 256, |info| (t.from_image)(b, info));
        }
    })
    .expect("done");
    let (words, last) = (imported.words(), PAGES / 4);
    assert!(words[..16].iter().all(|&word| word == 0xabcd_ef01) && words[16] == 0);
    assert_eq!(words[last - 2..], [5, 6]);
    for place in [256, last - 128] {
        assert!(words[place..place + 64].iter().zip(7..).all(|(&word, i)| word == i), "{place}");
    }
    assert!(messages.take().is_empty());
    // The addresses are beyond the end, before the beginning, and in memory that is not imported
    // any more.
    let refused = |address: u64| {
        c.run(|b| t.copy(b, address, t.address(&own), 16)).expect("done");
        messages.take().len()
    };
    assert_eq!([end - 16, end - 15, address - 1, address].map(refused), [0, 1, 1, 0]);
    imported.free(c);
    assert_eq!(refused(address), 1);
    c.free_image(image);
    c.free(own);
    drop(messages);
}
