//! Tests of images with an external row layout (VK_EXT_image_drm_format_modifier), in memory of
//! another source (VK_EXT_external_memory_dma_buf).
//!
//! A file of the driver replaces a dma-buf if the kernel has no device that makes one: it is mapped
//! in the same way.

use crate::common::{Context, Image, range};
use ash::vk;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const DMA_BUF: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT;
const OPAQUE: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;
const TILING: vk::ImageTiling = vk::ImageTiling::DRM_FORMAT_MODIFIER_EXT;
const FORMAT: vk::Format = vk::Format::R8G8B8A8_UNORM;
const USAGE: vk::ImageUsageFlags =
    vk::ImageUsageFlags::from_raw(vk::ImageUsageFlags::TRANSFER_SRC.as_raw() | vk::ImageUsageFlags::SAMPLED.as_raw());

/// `DRM_FORMAT_MOD_LINEAR`, and the modifier of some vendor.
const LINEAR: u64 = 0;
const TILED: u64 = 1 << 56 | 1;

fn context() -> Context {
    let names = [c"VK_KHR_external_memory_fd", c"VK_EXT_external_memory_dma_buf", c"VK_EXT_image_drm_format_modifier"];
    Context::new(&[], &names)
}

/// Returns the properties of images with a modifier, and the features of external memory.
fn requested(
    c: &Context,
    modifier: u64,
    ty: vk::ImageType,
) -> Result<(vk::ImageFormatProperties, vk::ExternalMemoryFeatureFlags), vk::Result> {
    let mut modified = vk::PhysicalDeviceImageDrmFormatModifierInfoEXT::default().drm_format_modifier(modifier);
    let mut external = vk::PhysicalDeviceExternalImageFormatInfo::default().handle_type(DMA_BUF);
    let info = vk::PhysicalDeviceImageFormatInfo2::default()
        .format(FORMAT)
        .ty(ty)
        .tiling(TILING)
        .usage(USAGE)
        .push_next(&mut modified)
        .push_next(&mut external);
    let mut shared = vk::ExternalImageFormatProperties::default();
    let mut out = vk::ImageFormatProperties2::default().push_next(&mut shared);
    // SAFETY: valid usage.
    unsafe { c.instance.get_physical_device_image_format_properties2(c.physical, &info, &mut out) }?;
    let properties = out.image_format_properties;
    Ok((properties, shared.external_memory_properties.external_memory_features))
}

fn image_info<'a>(extent: [u32; 2]) -> vk::ImageCreateInfo<'a> {
    vk::ImageCreateInfo::default()
        .image_type(vk::ImageType::TYPE_2D)
        .format(FORMAT)
        .extent(vk::Extent3D { width: extent[0], height: extent[1], depth: 1 })
        .mip_levels(1)
        .array_layers(1)
        .samples(vk::SampleCountFlags::TYPE_1)
        .tiling(TILING)
        .usage(USAGE)
}

/// Makes an image whose only plane begins at `offset`, with `row_pitch` bytes between rows.
fn laid_out(c: &Context, offset: u64, row_pitch: u64, modifier: u64) -> Result<vk::Image, vk::Result> {
    let planes = [vk::SubresourceLayout { offset, row_pitch, ..Default::default() }];
    let mut explicit =
        vk::ImageDrmFormatModifierExplicitCreateInfoEXT::default().drm_format_modifier(modifier).plane_layouts(&planes);
    let mut external = vk::ExternalMemoryImageCreateInfo::default().handle_types(DMA_BUF);
    let info = image_info([20, 10]).push_next(&mut explicit).push_next(&mut external);
    // SAFETY: valid usage, or the driver refuses it.
    unsafe { c.device.create_image(&info, None) }
}

#[test]
fn the_linear_modifier_is_reported_and_accepted() {
    let c = context();
    let mut list = vk::DrmFormatModifierPropertiesListEXT::default();
    let mut out = vk::FormatProperties2::default().push_next(&mut list);
    // SAFETY: valid usage.
    unsafe { c.instance.get_physical_device_format_properties2(c.physical, FORMAT, &mut out) };
    let linear = out.format_properties.linear_tiling_features;
    assert_eq!(list.drm_format_modifier_count, 1);
    let mut room = [vk::DrmFormatModifierPropertiesEXT { drm_format_modifier: 7, ..Default::default() }; 3];
    let mut wide = [vk::DrmFormatModifierProperties2EXT::default(); 1];
    let mut list = vk::DrmFormatModifierPropertiesListEXT::default().drm_format_modifier_properties(&mut room);
    let mut list2 = vk::DrmFormatModifierPropertiesList2EXT::default().drm_format_modifier_properties(&mut wide);
    let mut out = vk::FormatProperties2::default().push_next(&mut list).push_next(&mut list2);
    // SAFETY: valid usage.
    unsafe { c.instance.get_physical_device_format_properties2(c.physical, FORMAT, &mut out) };
    assert_eq!((list.drm_format_modifier_count, list2.drm_format_modifier_count), (1, 1));
    assert_eq!((room[0].drm_format_modifier, room[0].drm_format_modifier_plane_count), (LINEAR, 1));
    assert_eq!((room[0].drm_format_modifier_tiling_features, room[1].drm_format_modifier), (linear, 7));
    // The flags of 32 bits, and further ones.
    assert_eq!(wide[0].drm_format_modifier_tiling_features.as_raw() & 0x7fff_ffff, u64::from(linear.as_raw()));
    let mut list = vk::DrmFormatModifierPropertiesListEXT::default();
    let mut out = vk::FormatProperties2::default().push_next(&mut list);
    // SAFETY: valid usage.
    unsafe { c.instance.get_physical_device_format_properties2(c.physical, vk::Format::D32_SFLOAT, &mut out) };
    assert_eq!(list.drm_format_modifier_count, 0, "depth lies nowhere in particular");

    let (properties, features) = requested(&c, LINEAR, vk::ImageType::TYPE_2D).expect("pictures");
    assert_eq!((properties.max_mip_levels, properties.max_array_layers), (1, 1));
    assert!(features.contains(vk::ExternalMemoryFeatureFlags::IMPORTABLE));
    let refused = Some(vk::Result::ERROR_FORMAT_NOT_SUPPORTED);
    assert_eq!(requested(&c, TILED, vk::ImageType::TYPE_2D).err(), refused);
    assert_eq!(requested(&c, LINEAR, vk::ImageType::TYPE_3D).err(), refused);

    let known = ash::ext::image_drm_format_modifier::Device::new(&c.instance, &c.device);
    let modifiers = [TILED, LINEAR];
    let mut list = vk::ImageDrmFormatModifierListCreateInfoEXT::default().drm_format_modifiers(&modifiers);
    // SAFETY: valid usage.
    unsafe {
        let image = c.device.create_image(&image_info([20, 10]).push_next(&mut list), None).expect("image");
        let mut chosen = vk::ImageDrmFormatModifierPropertiesEXT { drm_format_modifier: 7, ..Default::default() };
        known.get_image_drm_format_modifier_properties(image, &mut chosen).expect("modifier");
        assert_eq!(chosen.drm_format_modifier, LINEAR);
        let plane = vk::ImageSubresource::default().aspect_mask(vk::ImageAspectFlags::MEMORY_PLANE_0_EXT);
        let layout = c.device.get_image_subresource_layout(image, plane);
        assert_eq!((layout.offset, layout.row_pitch), (0, 80));
        c.device.destroy_image(image, None);
    }
    let misfit = Some(vk::Result::ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT);
    for (offset, pitch, modifier) in [(0, 64, LINEAR), (0, 81, LINEAR), (4, 80, LINEAR), (0, 80, TILED)] {
        assert_eq!(laid_out(&c, offset, pitch, modifier).err(), misfit, "{offset} {pitch} {modifier}");
    }
}

/// Checks that memory planes are the format's, at any offsets.
#[test]
fn planes_have_the_reported_layout() {
    let c = context();
    let planes = [(4096, 64), (0, 48)].map(|(offset, row_pitch)| vk::SubresourceLayout {
        offset,
        row_pitch,
        ..Default::default()
    });
    let mut explicit = vk::ImageDrmFormatModifierExplicitCreateInfoEXT::default().plane_layouts(&planes);
    let info = image_info([40, 20]).format(vk::Format::G8_B8R8_2PLANE_420_UNORM).push_next(&mut explicit);
    // SAFETY: valid usage.
    unsafe {
        let image = c.device.create_image(&info, None).expect("image");
        assert_eq!(c.device.get_image_memory_requirements(image).size, 4096 + 20 * 64);
        let aspects = [vk::ImageAspectFlags::MEMORY_PLANE_0_EXT, vk::ImageAspectFlags::MEMORY_PLANE_1_EXT];
        let reported = aspects.map(|aspect| {
            let plane = vk::ImageSubresource::default().aspect_mask(aspect);
            let layout = c.device.get_image_subresource_layout(image, plane);
            (layout.offset, layout.row_pitch, layout.size)
        });
        assert_eq!(reported, [(4096, 64, 20 * 64), (0, 48, 10 * 48)]);
        c.device.destroy_image(image, None);
    }
}

/// Exports a descriptor of memory, which the caller owns.
fn export(c: &Context, memory: vk::DeviceMemory, ty: vk::ExternalMemoryHandleTypeFlags) -> Result<OwnedFd, vk::Result> {
    let files = ash::khr::external_memory_fd::Device::new(&c.instance, &c.device);
    // SAFETY: valid usage; the descriptor has no other owner.
    unsafe {
        let info = vk::MemoryGetFdInfoKHR::default().memory(memory).handle_type(ty);
        Ok(OwnedFd::from_raw_fd(files.get_memory_fd(&info)?))
    }
}

fn allocate_for(c: &Context, size: u64, ty: vk::ExternalMemoryHandleTypeFlags) -> Result<vk::DeviceMemory, vk::Result> {
    let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(ty);
    let info = vk::MemoryAllocateInfo::default().allocation_size(size).push_next(&mut export);
    // SAFETY: valid usage, or the driver refuses it.
    unsafe { c.device.allocate_memory(&info, None) }
}

fn import(c: &Context, fd: OwnedFd, size: u64) -> Result<vk::DeviceMemory, vk::Result> {
    let mut import = vk::ImportMemoryFdInfoKHR::default().handle_type(DMA_BUF).fd(fd.as_raw_fd());
    let info = vk::MemoryAllocateInfo::default().allocation_size(size).push_next(&mut import);
    // SAFETY: valid usage, or the driver refuses it; the driver owns the descriptor after a
    // successful import.
    let memory = unsafe { c.device.allocate_memory(&info, None) }?;
    std::mem::forget(fd);
    Ok(memory)
}

#[test]
fn an_image_in_imported_memory_is_read() {
    let c = context();
    let (offset, pitch) = (128, 96);
    let image = laid_out(&c, offset, pitch, LINEAR).expect("image");
    // SAFETY: valid usage.
    let size = unsafe { c.device.get_image_memory_requirements(image) }.size;
    assert_eq!(size, offset + 10 * pitch);
    let made = requested(&c, LINEAR, vk::ImageType::TYPE_2D)
        .expect("told")
        .1
        .contains(vk::ExternalMemoryFeatureFlags::EXPORTABLE);
    let theirs = if made { DMA_BUF } else { OPAQUE };
    let memory = allocate_for(&c, size, theirs).expect("memory");
    let other = allocate_for(&c, size, DMA_BUF);
    assert_eq!(other.is_ok(), made, "{other:?}");
    let file = export(&c, memory, theirs).expect("a descriptor");
    let files = ash::khr::external_memory_fd::Device::new(&c.instance, &c.device);
    let mut reported = vk::MemoryFdPropertiesKHR::default();
    // SAFETY: valid usage.
    unsafe { files.get_memory_fd_properties(DMA_BUF, file.as_raw_fd(), &mut reported) }.expect("known");
    assert_ne!(reported.memory_type_bits & 1, 0);
    let invalid = Some(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE);
    let null = std::fs::File::open("/dev/null").expect("a file");
    // SAFETY: the driver refuses the descriptor.
    assert_eq!(unsafe { files.get_memory_fd_properties(DMA_BUF, null.as_raw_fd(), &mut reported) }.err(), invalid);
    assert_eq!(import(&c, null.into(), size).err(), invalid);
    assert_eq!(import(&c, file.try_clone().expect("a copy"), 1 << 30).err(), invalid, "too many bytes");
    let again = import(&c, file, size).expect("memory");
    // Imported memory can be exported as the kind that it is.
    assert!(export(&c, again, DMA_BUF).is_ok() && export(&c, again, OPAQUE).is_err());
    // SAFETY: valid usage.
    unsafe {
        let bytes =
            c.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()).expect("map").cast::<u8>();
        for (x, y) in (0..10).flat_map(|y| (0..20).map(move |x| (x, y))) {
            let texel = bytes.add((offset + y * pitch + x * 4) as usize).cast::<[u8; 4]>();
            texel.write([x as u8, y as u8, 0x5a, 0xff]);
        }
        c.device.bind_image_memory(image, again, 0).expect("bind");
        let aspect = vk::ImageAspectFlags::COLOR;
        let view = c.view(image, FORMAT, range(aspect, 1));
        let image = Image { image, memory: again, view, extent: [20, 10], aspect };
        let texels = c.read_image(&image, 4);
        for (i, texel) in texels.as_chunks::<4>().0.iter().enumerate() {
            assert_eq!(*texel, [(i % 20) as u8, (i / 20) as u8, 0x5a, 0xff], "{i}");
        }
        c.free_image(image);
        for memory in [memory].into_iter().chain(other) {
            c.device.free_memory(memory, None);
        }
    }
}
