//! VK_EXT_descriptor_heap: descriptors as bytes, heaps of them (`object::descriptor_heap`), and
//! mappings of a shader's resources.

use super::recording::push;
use super::resource::view_of;
use super::sampler::sampler_of;
use crate::caps::limits::LIMITS;
use crate::caps::newer as vk;
use crate::command::Command;
use crate::device::Device;
use crate::ffi::handle::{address, dispatchable, get};
use crate::ffi::pointer::{find, slice};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, ext, row};
use crate::object::descriptor_heap::{DescriptorHeaps, HeapKind, HeapView, ViewKey};
use crate::object::descriptor_update::structure_descriptor;
use crate::object::image::format_of;
use crate::object::sampler::SamplerYcbcrConversion;
use base::abi::{self, DESCRIPTOR_SIZE};
use base::shader::{EmbeddedSampler, HeapIndex, HeapMapping, HeapPlace, MappingSource, Stage};
use smallvec::SmallVec;
use vk::Handle;

const DESCRIPTOR_HEAP: Requirement = ext("VK_EXT_descriptor_heap");

/// Rows of this family in the command table.
#[rustfmt::skip]
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, write_sampler_descriptors as vk::PFN_vkWriteSamplerDescriptorsEXT, vkWriteSamplerDescriptorsEXT: DESCRIPTOR_HEAP),
    row!(Device, write_resource_descriptors as vk::PFN_vkWriteResourceDescriptorsEXT, vkWriteResourceDescriptorsEXT: DESCRIPTOR_HEAP),
    row!(Device, cmd_bind_sampler_heap as vk::PFN_vkCmdBindSamplerHeapEXT, vkCmdBindSamplerHeapEXT: DESCRIPTOR_HEAP),
    row!(Device, cmd_bind_resource_heap as vk::PFN_vkCmdBindResourceHeapEXT, vkCmdBindResourceHeapEXT: DESCRIPTOR_HEAP),
    row!(Device, cmd_push_data as vk::PFN_vkCmdPushDataEXT, vkCmdPushDataEXT: DESCRIPTOR_HEAP),
    row!(PhysicalDevice, get_physical_device_descriptor_size as vk::PFN_vkGetPhysicalDeviceDescriptorSizeEXT, vkGetPhysicalDeviceDescriptorSizeEXT: DESCRIPTOR_HEAP),
    row!(Device, register_custom_border_color as vk::PFN_vkRegisterCustomBorderColorEXT, vkRegisterCustomBorderColorEXT: DESCRIPTOR_HEAP),
    row!(Device, unregister_custom_border_color as vk::PFN_vkUnregisterCustomBorderColorEXT, vkUnregisterCustomBorderColorEXT: DESCRIPTOR_HEAP),
    row!(Device, get_image_opaque_capture_data as vk::PFN_vkGetImageOpaqueCaptureDataEXT, vkGetImageOpaqueCaptureDataEXT: DESCRIPTOR_HEAP),
];

/// VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT.
pub const DESCRIPTOR_HEAP_BIT: vk::PipelineCreateFlags2KHR = vk::PipelineCreateFlags2KHR::from_raw(1 << 36);

// Descriptors.

/// Returns the two numbers of a resource's descriptor.
///
/// # Safety
/// `info` is valid with its pointers and handles.
unsafe fn packed_descriptor(
    (device, heaps): (&Device, &DescriptorHeaps),
    info: &vk::ResourceDescriptorInfoEXT<'_>,
) -> Result<[u64; 2], vk::Result> {
    use vk::DescriptorType as T;
    if info.data.is_null() {
        return Ok([0; 2]);
    }
    // SAFETY: `info` is valid with its pointers and handles in all blocks of this function; the
    // type implies the structure to which the union points.
    Ok(match info.ty {
        T::UNIFORM_BUFFER | T::STORAGE_BUFFER => {
            // SAFETY: `info` is valid, and this type has a range.
            let range = unsafe { *info.data.cast::<vk::DeviceAddressRangeKHR>() };
            [range.address, range.size]
        }
        T::ACCELERATION_STRUCTURE_KHR => {
            // SAFETY: `info` is valid, and this type has the range of a structure.
            let range = unsafe { *info.data.cast::<vk::DeviceAddressRangeKHR>() };
            structure_descriptor(range.address)
        }
        T::UNIFORM_TEXEL_BUFFER | T::STORAGE_TEXEL_BUFFER => {
            // SAFETY: `info` is valid, and this type has a description of texels.
            let texels = unsafe { &*info.data.cast::<vk::TexelBufferDescriptorInfoEXT<'_>>() };
            let vk::DeviceAddressRangeKHR { address, size } = texels.address_range;
            [heaps.texels(&device.heap, format_of(texels.format)?, address, size)?, 0]
        }
        T::SAMPLED_IMAGE | T::STORAGE_IMAGE | T::INPUT_ATTACHMENT => {
            // SAFETY: `info` is valid, and this type has a description of an image.
            let view = unsafe { &*(*info.data.cast::<vk::ImageDescriptorInfoEXT<'_>>()).p_view };
            let storage = info.ty == T::STORAGE_IMAGE;
            // SAFETY: the description of the view is valid with its chain and handles.
            let (key, make) = unsafe { (view_key(view, storage), || view_of(view)) };
            let seen = if storage { HeapView::Storage } else { HeapView::Sampled };
            [heaps.view(key, || make().map(seen))?, 0]
        }
        _ => [0; 2],
    })
}

/// Returns a key with the whole contents of a view's description, except layouts, which have no
/// effect.
///
/// # Safety
/// `info` is valid with its chain and handles.
unsafe fn view_key(info: &vk::ImageViewCreateInfo<'_>, storage: bool) -> ViewKey {
    // SAFETY: `info` is valid with its chain, as the `# Safety` section demands.
    let (min_lod, sliced, conversion, decode) = unsafe {
        (
            find::<vk::ImageViewMinLodCreateInfoEXT<'_>>(info.p_next).map_or(0, |m| m.min_lod.to_bits()),
            find::<vk::ImageViewSlicedCreateInfoEXT<'_>>(info.p_next),
            find::<vk::SamplerYcbcrConversionInfo<'_>>(info.p_next).filter(|info| !info.conversion.is_null()),
            find::<vk::ImageViewASTCDecodeModeEXT<'_>>(info.p_next).map_or(0, |mode| mode.decode_mode.as_raw()),
        )
    };
    let (c, r) = (info.components, info.subresource_range);
    let mut words = vec![
        storage.into(),
        info.view_type.as_raw() as u32,
        info.format.as_raw() as u32,
        r.aspect_mask.as_raw(),
        r.base_mip_level,
        r.level_count,
        r.base_array_layer,
        r.layer_count,
        min_lod,
        decode as u32,
    ];
    words.extend([c.r, c.g, c.b, c.a].map(|swizzle| swizzle.as_raw() as u32));
    words.extend(sliced.map_or([0, u32::MAX], |s| [s.slice_offset, s.slice_count]));
    if let Some(info) = conversion {
        // SAFETY: the conversion is not null, so it is live.
        let conversion = unsafe { get::<SamplerYcbcrConversion>(info.conversion) };
        words.extend(format!("{:?}", conversion.conversion).bytes().map(u32::from));
    }
    // SAFETY: the image is live or null, as the `# Safety` section demands.
    ViewKey::Image(unsafe { address(info.image.as_raw()) }, words)
}

/// Writes as many bytes as there is space for.
///
/// # Safety
/// `to` is valid.
unsafe fn write(to: &vk::HostAddressRangeEXT, numbers: [u64; 2]) {
    let bytes: [u8; DESCRIPTOR_SIZE] = std::array::from_fn(|i| numbers[i / 8].to_le_bytes()[i % 8]);
    // SAFETY: `to` is valid, as the `# Safety` section demands; bytes need no alignment.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.address.cast(), to.size.min(bytes.len())) };
}

// Recording.

/// Records a bound heap.
///
/// # Safety
/// `info` is null or valid; `buffer` is live.
unsafe fn bind(buffer: vk::CommandBuffer, kind: HeapKind, info: *const vk::BindHeapInfoEXT<'_>) {
    // SAFETY: `info` is null or valid, as the `# Safety` section demands.
    if let Some(info) = unsafe { info.as_ref() } {
        let vk::DeviceAddressRangeKHR { address, size } = info.heap_range;
        // SAFETY: `buffer` is live, as the `# Safety` section demands.
        unsafe { push(buffer, Command::BindHeap { kind, address, size }) };
    }
}

/// Records the heaps that a secondary command buffer inherits.
///
/// # Safety
/// `buffer` is live and secondary; `info` is valid with its chain.
pub unsafe fn inherit(buffer: vk::CommandBuffer, info: &vk::CommandBufferInheritanceInfo<'_>) {
    // SAFETY: `buffer` is live and `info` is valid with its chain, as the `# Safety` section
    // demands.
    unsafe {
        if let Some(heaps) = find::<vk::CommandBufferInheritanceDescriptorHeapInfoEXT<'_>>(info.p_next) {
            bind(buffer, HeapKind::Samplers, heaps.p_sampler_heap_bind_info);
            bind(buffer, HeapKind::Resources, heaps.p_resource_heap_bind_info);
        }
    }
}

// Mappings.

/// Returns the mappings in a stage's chain, and appends the samplers that these embed.
///
/// # Safety
/// The chain is valid.
pub unsafe fn mappings(
    chain: *const std::ffi::c_void,
    stage: Stage,
    samplers: &mut Vec<abi::Sampler>,
) -> Vec<HeapMapping> {
    // SAFETY: the chain is valid, as the `# Safety` section demands.
    let infos = unsafe {
        find::<vk::ShaderDescriptorSetAndBindingMappingInfoEXT<'_>>(chain)
            .map_or(&[][..], |info| slice(info.p_mappings, info.mapping_count))
    };
    let mappings = infos.iter().filter_map(|m| {
        // SAFETY: the mapping is an element of the valid chain.
        let source = unsafe { source(m, stage, samplers) }?;
        let &vk::DescriptorSetAndBindingMappingEXT { first_binding, binding_count, resource_mask, .. } = m;
        Some(HeapMapping { set: m.descriptor_set, first_binding, binding_count, resource_mask, source })
    });
    mappings.collect()
}

/// Returns the location of a mapping's resources; `None` for an unknown source.
///
/// # Safety
/// `m` is valid with its pointers.
unsafe fn source(
    m: &vk::DescriptorSetAndBindingMappingEXT<'_>,
    stage: Stage,
    samplers: &mut Vec<abi::Sampler>,
) -> Option<MappingSource> {
    let data = m.source_data.as_ptr();
    let first = m.source_data[0] as u32;
    let second = (m.source_data[0] >> 32) as u32;
    let mut embed = |info: *const vk::SamplerCreateInfo<'_>| {
        // SAFETY: `m` is valid with its pointers, so `info` is null or valid.
        let info = unsafe { info.as_ref() }?;
        // SAFETY: `info` is valid with its chain.
        samplers.push(texture::new_sampler(unsafe { sampler_of(info) }));
        Some(EmbeddedSampler { set: stage as u32, index: samplers.len() as u32 - 1 })
    };
    let place = |offset, array_stride, index, index_stride| HeapPlace { offset, array_stride, index, index_stride };
    // SAFETY: the source implies the member of the union in all blocks below; the union's words are
    // as large as any member, and aligned.
    Some(match m.source {
        0 => {
            // SAFETY: this source has this member of the union.
            let d = unsafe { &*data.cast::<vk::DescriptorMappingSourceConstantOffsetEXT<'_>>() };
            MappingSource::Heap {
                resource: place(d.heap_offset, d.heap_array_stride, HeapIndex::None, 0),
                sampler: place(d.sampler_heap_offset, d.sampler_heap_array_stride, HeapIndex::None, 0),
                embedded: embed(d.p_embedded_sampler),
                combined: false,
            }
        }
        1 | 8 => {
            // SAFETY: the first source has this member of the union, and the other one has
            // VkDescriptorMappingSourceShaderRecordIndexEXT, whose members are the same, with the
            // shader record in the place of push data.
            let d = unsafe { &*data.cast::<vk::DescriptorMappingSourcePushIndexEXT<'_>>() };
            let index: fn(u32) -> HeapIndex = if m.source == 1 { HeapIndex::Push } else { HeapIndex::Record };
            MappingSource::Heap {
                resource: place(d.heap_offset, d.heap_array_stride, index(d.push_offset), d.heap_index_stride),
                sampler: place(
                    d.sampler_heap_offset,
                    d.sampler_heap_array_stride,
                    index(d.sampler_push_offset),
                    d.sampler_heap_index_stride,
                ),
                embedded: embed(d.p_embedded_sampler),
                combined: d.use_combined_image_sampler_index != 0,
            }
        }
        2 => {
            // SAFETY: this source has this member of the union.
            let d = unsafe { &*data.cast::<vk::DescriptorMappingSourceIndirectIndexEXT<'_>>() };
            let index = |push, offset| HeapIndex::Indirect { push, offset };
            let sampler = index(d.sampler_push_offset, d.sampler_address_offset);
            MappingSource::Heap {
                resource: place(
                    d.heap_offset,
                    d.heap_array_stride,
                    index(d.push_offset, d.address_offset),
                    d.heap_index_stride,
                ),
                sampler: place(
                    d.sampler_heap_offset,
                    d.sampler_heap_array_stride,
                    sampler,
                    d.sampler_heap_index_stride,
                ),
                embedded: embed(d.p_embedded_sampler),
                combined: d.use_combined_image_sampler_index != 0,
            }
        }
        3 => {
            // SAFETY: this source has this member of the union.
            let d = unsafe { &*data.cast::<vk::DescriptorMappingSourceIndirectIndexArrayEXT<'_>>() };
            let index = |push, offset| HeapIndex::IndirectArray { push, offset };
            let sampler = index(d.sampler_push_offset, d.sampler_address_offset);
            MappingSource::Heap {
                resource: place(d.heap_offset, 0, index(d.push_offset, d.address_offset), d.heap_index_stride),
                sampler: place(d.sampler_heap_offset, 0, sampler, d.sampler_heap_index_stride),
                embedded: embed(d.p_embedded_sampler),
                combined: d.use_combined_image_sampler_index != 0,
            }
        }
        4 => MappingSource::HeapData { offset: first, push: second },
        5 => MappingSource::PushData(first),
        6 => MappingSource::PushAddress(first),
        7 => MappingSource::IndirectAddress { push: first, offset: second },
        9 => MappingSource::RecordData(first),
        10 => MappingSource::RecordAddress(first),
        _ => return None,
    })
}

/// Returns the device's heaps.
fn heaps_of(device: &Device) -> Result<&DescriptorHeaps, vk::Result> {
    device.heaps.as_ref().ok_or(vk::Result::ERROR_OUT_OF_HOST_MEMORY)
}

shims! {
    fn write_sampler_descriptors(
        device: vk::Device,
        count: u32,
        samplers: *const vk::SamplerCreateInfo<'_>,
        descriptors: *const vk::HostAddressRangeEXT,
    ) -> VkResult {
        let heaps = heaps_of(dispatchable::<Device>(device))?;
        for (info, to) in slice(samplers, count).iter().zip(slice(descriptors, count)) {
            write(to, [heaps.sampler(sampler_of(info))?, 0]);
        }
        Ok(())
    }

    fn write_resource_descriptors(
        device: vk::Device,
        count: u32,
        resources: *const vk::ResourceDescriptorInfoEXT<'_>,
        descriptors: *const vk::HostAddressRangeEXT,
    ) -> VkResult {
        let device = dispatchable::<Device>(device);
        let heaps = heaps_of(device)?;
        for (info, to) in slice(resources, count).iter().zip(slice(descriptors, count)) {
            write(to, packed_descriptor((device, heaps), info)?);
        }
        Ok(())
    }

    fn cmd_bind_sampler_heap(buffer: vk::CommandBuffer, info: *const vk::BindHeapInfoEXT<'_>) {
        bind(buffer, HeapKind::Samplers, info);
    }

    fn cmd_bind_resource_heap(buffer: vk::CommandBuffer, info: *const vk::BindHeapInfoEXT<'_>) {
        bind(buffer, HeapKind::Resources, info);
    }

    fn cmd_push_data(buffer: vk::CommandBuffer, info: *const vk::PushDataInfoEXT<'_>) {
        let info = &*info;
        let bytes = SmallVec::from_slice(slice(info.data.address.cast::<u8>(), info.data.size as u32));
        push(buffer, Command::PushConstants { offset: info.offset, bytes });
    }

    fn get_physical_device_descriptor_size(_physical: vk::PhysicalDevice, _ty: vk::DescriptorType) -> vk::DeviceSize {
        DESCRIPTOR_SIZE as vk::DeviceSize
    }

    fn register_custom_border_color(
        device: vk::Device,
        _color: *const vk::SamplerCustomBorderColorCreateInfoEXT<'_>,
        wants: vk::Bool32,
        index: *mut u32,
    ) -> VkResult {
        let wanted = (wants != 0).then(|| *index);
        let most = LIMITS.max_sampler_allocation_count;
        *index = heaps_of(dispatchable::<Device>(device))?.register_color(wanted, most)?;
        Ok(())
    }

    fn unregister_custom_border_color(device: vk::Device, index: u32) {
        dispatchable::<Device>(device).heaps.iter().for_each(|heaps| heaps.unregister_color(index));
    }

    // Without descriptorHeapCaptureReplay no call of this is valid; the data has no bytes.
    fn get_image_opaque_capture_data(
        _device: vk::Device,
        _count: u32,
        _images: *const vk::Image,
        _data: *mut vk::HostAddressRangeEXT,
    ) -> VkResult {
        Ok(())
    }
}
