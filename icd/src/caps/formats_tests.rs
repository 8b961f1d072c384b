//! Tests of answers that are required of every implementation: the "Mandatory format support"
//! tables, and the image-format rules.

use super::*;
use base::limits::{MAX_DIMENSION, MAX_DIMENSION_3D, MAX_LAYERS, MAX_LEVELS};

fn query(format: vk::Format, ty: vk::ImageType, usage: Usage) -> ImageQuery {
    ImageQuery { format, ty, tiling: vk::ImageTiling::OPTIMAL, usage, flags: Create::empty() }
}

/// Returns true if the format table of `base` has rows; without rows there is nothing to check.
fn table_landed() -> bool {
    let landed = row(vk::Format::R8G8B8A8_UNORM).is_some();
    if !landed {
        eprintln!("skipped: base::format::TABLE has no rows");
    }
    landed
}

#[test]
fn unknown_formats_have_no_features() {
    // The last one is a row of the table.
    for raw in [-1, 0, 999, i32::MAX, i32::MIN + 157] {
        let properties = format_properties(vk::Format::from_raw(raw));
        assert!(properties.optimal_tiling_features.is_empty() && properties.buffer_features.is_empty());
        let sampled = query(vk::Format::from_raw(raw), vk::ImageType::TYPE_2D, Usage::SAMPLED);
        assert_eq!(image_format_properties(&sampled).unwrap_err(), NOT_SUPPORTED);
    }
}

#[test]
fn image_rules() {
    if !table_landed() {
        return;
    }
    let rgba = vk::Format::R8G8B8A8_UNORM;
    let sampled = query(rgba, vk::ImageType::TYPE_2D, Usage::SAMPLED | Usage::COLOR_ATTACHMENT);
    let p = image_format_properties(&sampled).unwrap();
    assert_eq!(
        (p.max_extent.width, p.max_mip_levels, p.max_array_layers),
        (MAX_DIMENSION, MAX_LEVELS as u32, MAX_LAYERS)
    );
    assert_eq!(p.sample_counts, SAMPLE_COUNTS);
    assert!(p.max_resource_size >= 1 << 31);

    let cube = ImageQuery { flags: Create::CUBE_COMPATIBLE, ..sampled };
    assert_eq!(image_format_properties(&cube).unwrap().sample_counts, vk::SampleCountFlags::TYPE_1);
    let cube_3d = ImageQuery { flags: Create::CUBE_COMPATIBLE, ty: vk::ImageType::TYPE_3D, ..sampled };
    assert!(image_format_properties(&cube_3d).is_err());
    let sparse = |flags| image_format_properties(&ImageQuery { flags, ..sampled }).is_ok();
    assert!(sparse(Create::SPARSE_BINDING) && sparse(Create::SPARSE_BINDING | Create::SPARSE_ALIASED));
    assert!(!sparse(Create::SPARSE_RESIDENCY) && !sparse(Create::SPARSE_ALIASED));
    let resident = sparse(Create::SPARSE_BINDING | Create::SPARSE_RESIDENCY);
    assert_eq!(resident, Feature::sparseResidencyImage2D.is_advertised());
    let depth_usage = ImageQuery { usage: Usage::DEPTH_STENCIL_ATTACHMENT, ..sampled };
    assert!(image_format_properties(&depth_usage).is_err());
    let read = Usage::SAMPLED | Usage::ATTACHMENT_FEEDBACK_LOOP_EXT;
    for (format, may) in
        [(rgba, true), (vk::Format::X8_D24_UNORM_PACK32, true), (vk::Format::BC1_RGB_UNORM_BLOCK, false)]
    {
        assert_eq!(image_format_properties(&query(format, vk::ImageType::TYPE_2D, read)).is_ok(), may, "{format:?}");
    }
    let storage = ImageQuery { usage: Usage::STORAGE, ..sampled };
    assert_eq!(image_format_properties(&storage).unwrap().sample_counts, SAMPLE_COUNTS);
    let volume = image_format_properties(&query(rgba, vk::ImageType::TYPE_3D, Usage::SAMPLED)).unwrap();
    assert_eq!((volume.max_extent.depth, volume.max_array_layers), (MAX_DIMENSION_3D, 1));
    let line = image_format_properties(&query(rgba, vk::ImageType::TYPE_1D, Usage::SAMPLED)).unwrap();
    assert_eq!((line.max_extent.width, line.max_extent.height), (MAX_DIMENSION, 1));
    // Linear colour images have the layout of others, for any type; depth and stencil have optimal
    // tiling only, also as volumes.
    let linear = |ty, format| ImageQuery { tiling: vk::ImageTiling::LINEAR, ..query(format, ty, Usage::TRANSFER_SRC) };
    for ty in [vk::ImageType::TYPE_1D, vk::ImageType::TYPE_2D, vk::ImageType::TYPE_3D] {
        let reported = image_format_properties(&linear(ty, rgba)).unwrap();
        let optimal = image_format_properties(&query(rgba, ty, Usage::TRANSFER_SRC)).unwrap();
        assert_eq!(reported.sample_counts, vk::SampleCountFlags::TYPE_1);
        assert_eq!((reported.max_extent, reported.max_mip_levels), (optimal.max_extent, optimal.max_mip_levels));
        assert!(image_format_properties(&linear(ty, vk::Format::D32_SFLOAT)).is_err());
        assert!(image_format_properties(&query(vk::Format::D24_UNORM_S8_UINT, ty, Usage::SAMPLED)).is_ok());
    }
}

/// Checks formats that allow only copies, and formats that allow everything but storage.
#[test]
fn rare_formats_have_the_features_of_similar_ones() {
    use Features as F;
    let optimal = |format| format_properties(format).optimal_tiling_features;
    let blend = F::SAMPLED_IMAGE_FILTER_LINEAR | F::COLOR_ATTACHMENT_BLEND;
    assert!(optimal(vk::Format::R32G32B32_SFLOAT).contains(blend));
    assert!(optimal(vk::Format::R32G32B32_UINT).contains(F::SAMPLED_IMAGE | F::COLOR_ATTACHMENT));
    for format in [vk::Format::R64G64_SINT, vk::Format::R64G64B64A64_UINT] {
        assert_eq!(optimal(format), F::TRANSFER_SRC | F::TRANSFER_DST | F::STORAGE_IMAGE);
    }
    // Descriptors of any image can be captured.
    let captured = query(vk::Format::R8G8B8A8_UNORM, vk::ImageType::TYPE_2D, Usage::SAMPLED);
    let flags = vk::ImageCreateFlags::DESCRIPTOR_BUFFER_CAPTURE_REPLAY_EXT;
    assert!(image_format_properties(&ImageQuery { flags, ..captured }).is_ok());
    // Views of other formats access such images.
    let scaled = vk::Format::A2B10G10R10_USCALED_PACK32;
    assert_eq!(optimal(scaled), F::BLIT_SRC | F::BLIT_DST);
    let usable = |usage| image_format_properties(&query(scaled, vk::ImageType::TYPE_2D, usage)).is_ok();
    assert!(usable(Usage::HOST_TRANSFER_EXT) && !usable(Usage::TRANSFER_DST) && !usable(Usage::SAMPLED));
    // A transient image also names its other usage.
    let transient = query(vk::Format::BC1_RGB_UNORM_BLOCK, vk::ImageType::TYPE_2D, Usage::TRANSIENT_ATTACHMENT);
    assert!(image_format_properties(&transient).is_ok());
    let target = ImageQuery { usage: transient.usage | Usage::COLOR_ATTACHMENT, ..transient };
    assert!(image_format_properties(&target).is_err());
}

/// Checks that each plane has blocks of its own, and that the host copies to bound memory.
#[test]
fn sparse_images_are_of_any_format() {
    let reported = |format| {
        let sampled = query(format, vk::ImageType::TYPE_2D, Usage::SAMPLED | Usage::HOST_TRANSFER_EXT);
        let all = sparse_image_format_properties(&sampled, vk::SampleCountFlags::TYPE_1);
        all.map(|p| (p.aspect_mask, p.image_granularity.width, p.flags.is_empty())).collect::<Vec<_>>()
    };
    use vk::ImageAspectFlags as Aspects;
    assert_eq!(reported(vk::Format::R8G8B8A8_UNORM), [(Aspects::COLOR, 128, true)]);
    assert_eq!(reported(vk::Format::R32G32B32_SFLOAT), [(Aspects::COLOR, 64, false)]);
    assert_eq!(reported(vk::Format::B8G8R8G8_422_UNORM), [(Aspects::COLOR, 256, false)]);
    assert_eq!(reported(vk::Format::D24_UNORM_S8_UINT), [(Aspects::DEPTH, 128, true), (Aspects::STENCIL, 256, true)]);
    let planes = [(Aspects::PLANE_0, 256, true), (Aspects::PLANE_1, 256, true)];
    assert_eq!(reported(vk::Format::G8_B8R8_2PLANE_420_UNORM), planes);
    assert_eq!(reported(vk::Format::R8G8B8_UNORM), []);
}

#[test]
fn external_memory_matches_its_row() {
    use vk::ExternalMemoryFeatureFlags as Features;
    use vk::ExternalMemoryHandleTypeFlags as Type;
    let both = Features::EXPORTABLE | Features::IMPORTABLE;
    // A dma-buf can be exported if the kernel has a device for it, and imported on every Linux.
    let dma_buf = if crate::os::dma_buf::can_be_made() { both } else { Features::IMPORTABLE };
    let rows = [
        (Type::OPAQUE_FD, cfg!(unix).then_some(both)),
        (Type::OPAQUE_WIN32, cfg!(windows).then_some(both)),
        (Type::HOST_ALLOCATION_EXT, Some(Features::IMPORTABLE)),
        (Type::DMA_BUF_EXT, cfg!(unix).then_some(dma_buf)),
        (Type::ZIRCON_VMO_FUCHSIA, None),
    ];
    for (ty, expected) in rows {
        let mut external = vk::PhysicalDeviceExternalImageFormatInfo::default().handle_type(ty);
        let info = vk::PhysicalDeviceImageFormatInfo2::default()
            .format(vk::Format::R8G8B8A8_UNORM)
            .ty(vk::ImageType::TYPE_2D)
            .usage(Usage::SAMPLED)
            .push_next(&mut external);
        let mut reported = vk::ExternalImageFormatProperties::default();
        let mut out = vk::ImageFormatProperties2::default().push_next(&mut reported);
        // SAFETY: both structures head valid chains.
        let result = unsafe { fill_image_format_properties2(&info, &mut out) };
        assert_eq!(result.err(), if expected.is_none() { Some(NOT_SUPPORTED) } else { None });
        assert_eq!(out.image_format_properties.max_mip_levels == 0, expected.is_none());
        assert_eq!(reported.external_memory_properties.external_memory_features, expected.unwrap_or_default());
    }
}

/// Checks the rows of the mandatory tables: formats that must have features with optimal tiling,
/// and as buffers.
#[test]
fn mandatory_format_support() {
    if !table_landed() {
        return;
    }
    use Features as F;
    let blit_src = F::SAMPLED_IMAGE | F::BLIT_SRC | F::TRANSFER_SRC | F::TRANSFER_DST;
    let filter = blit_src | F::SAMPLED_IMAGE_FILTER_LINEAR;
    let target = F::COLOR_ATTACHMENT | F::BLIT_DST;
    let blend = target | F::COLOR_ATTACHMENT_BLEND;
    let storage = F::STORAGE_IMAGE;
    let atomic = F::STORAGE_IMAGE | F::STORAGE_IMAGE_ATOMIC;
    let depth = F::DEPTH_STENCIL_ATTACHMENT;
    use vk::Format as V;
    let images: &[(&[V], F)] = &[
        (&[V::B4G4R4A4_UNORM_PACK16, V::E5B9G9R9_UFLOAT_PACK32, V::R8_SNORM, V::R8G8_SNORM], filter),
        (&[V::R5G6B5_UNORM_PACK16, V::A1R5G5B5_UNORM_PACK16, V::R8_UNORM, V::R8G8_UNORM], filter | blend),
        (&[V::R8G8B8A8_SRGB, V::B8G8R8A8_UNORM, V::B8G8R8A8_SRGB, V::A8B8G8R8_SRGB_PACK32], filter | blend),
        (&[V::R8G8B8A8_UNORM, V::A8B8G8R8_UNORM_PACK32, V::R16G16B16A16_SFLOAT], filter | blend | storage),
        (&[V::A2B10G10R10_UNORM_PACK32, V::R16_SFLOAT, V::R16G16_SFLOAT], filter | blend),
        (&[V::R8G8B8A8_SNORM, V::A8B8G8R8_SNORM_PACK32], filter | storage),
        (&[V::B10G11R11_UFLOAT_PACK32], filter),
        (&[V::R8_UINT, V::R8_SINT, V::R8G8_UINT, V::R8G8_SINT, V::A2B10G10R10_UINT_PACK32], blit_src | target),
        (&[V::R16_UINT, V::R16_SINT, V::R16G16_UINT, V::R16G16_SINT], blit_src | target),
        (
            &[V::R8G8B8A8_UINT, V::R8G8B8A8_SINT, V::R16G16B16A16_UINT, V::R16G16B16A16_SINT],
            blit_src | target | storage,
        ),
        (&[V::R32_UINT, V::R32_SINT], blit_src | target | atomic),
        (&[V::R32_SFLOAT, V::R32G32_UINT, V::R32G32_SINT, V::R32G32_SFLOAT], blit_src | target | storage),
        (&[V::R32G32B32A32_UINT, V::R32G32B32A32_SINT, V::R32G32B32A32_SFLOAT], blit_src | target | storage),
        (&[V::D16_UNORM], blit_src | depth),
        (&[V::D32_SFLOAT], depth | F::SAMPLED_IMAGE | F::BLIT_SRC),
        (&[V::BC1_RGB_UNORM_BLOCK, V::BC1_RGBA_SRGB_BLOCK, V::BC2_UNORM_BLOCK, V::BC3_SRGB_BLOCK], filter),
        (&[V::BC4_UNORM_BLOCK, V::BC4_SNORM_BLOCK, V::BC5_UNORM_BLOCK, V::BC5_SNORM_BLOCK], filter),
        (&[V::BC6H_UFLOAT_BLOCK, V::BC6H_SFLOAT_BLOCK, V::BC7_UNORM_BLOCK, V::BC7_SRGB_BLOCK], filter),
    ];
    for format in [V::R16G16_SFLOAT, V::R16G16B16A16_SFLOAT] {
        assert!(format_properties(format).optimal_tiling_features.contains(atomic), "{format:?}");
    }
    for (formats, features) in images {
        for format in *formats {
            let has = format_properties(*format).optimal_tiling_features;
            assert!(has.contains(*features), "{format:?} lacks {:?}", *features & !has);
        }
    }
    for astc in (157..=184).chain(1_000_066_000..=1_000_066_013).map(V::from_raw) {
        assert!(format_properties(astc).optimal_tiling_features.contains(filter), "{astc:?}");
    }
    let either = |a: V, b: V| {
        let has = |f| format_properties(f).optimal_tiling_features.contains(depth);
        assert!(has(a) || has(b), "{a:?} or {b:?} as a depth/stencil attachment");
    };
    either(V::X8_D24_UNORM_PACK32, V::D32_SFLOAT);
    either(V::D24_UNORM_S8_UINT, V::D32_SFLOAT_S8_UINT);
}

#[test]
fn mandatory_buffer_formats() {
    if !table_landed() {
        return;
    }
    use Features as F;
    use vk::Format as V;
    let uniform = F::UNIFORM_TEXEL_BUFFER;
    let storage = uniform | F::STORAGE_TEXEL_BUFFER;
    let atomic = storage | F::STORAGE_TEXEL_BUFFER_ATOMIC;
    let vertex = F::VERTEX_BUFFER;
    let buffers: &[(&[V], F)] = &[
        (
            &[V::R8_UNORM, V::R8_SNORM, V::R8_UINT, V::R8_SINT, V::R8G8_UNORM, V::R8G8_SNORM, V::R8G8_UINT],
            vertex | uniform,
        ),
        (&[V::R8G8B8A8_UNORM, V::R8G8B8A8_SNORM, V::R8G8B8A8_UINT, V::R8G8B8A8_SINT], vertex | storage),
        (&[V::A8B8G8R8_UNORM_PACK32, V::A8B8G8R8_SNORM_PACK32, V::A8B8G8R8_UINT_PACK32], vertex | storage),
        (&[V::B8G8R8A8_UNORM, V::A2B10G10R10_UNORM_PACK32], vertex | uniform),
        (&[V::R16_UNORM, V::R16_SNORM, V::R16G16_UNORM, V::R16G16_SNORM, V::R16G16B16A16_UNORM], vertex),
        (
            &[V::R16_UINT, V::R16_SINT, V::R16_SFLOAT, V::R16G16_UINT, V::R16G16_SINT, V::R16G16_SFLOAT],
            vertex | uniform,
        ),
        (&[V::R16G16B16A16_UINT, V::R16G16B16A16_SINT, V::R16G16B16A16_SFLOAT], vertex | storage),
        (&[V::R32_UINT, V::R32_SINT], vertex | atomic),
        (&[V::R32_SFLOAT, V::R32G32_UINT, V::R32G32_SINT, V::R32G32_SFLOAT], vertex | storage),
        (&[V::R32G32B32A32_UINT, V::R32G32B32A32_SINT, V::R32G32B32A32_SFLOAT], vertex | storage),
        (&[V::R32G32B32_UINT, V::R32G32B32_SINT, V::R32G32B32_SFLOAT], vertex),
        (&[V::B10G11R11_UFLOAT_PACK32], uniform),
    ];
    for (formats, features) in buffers {
        for format in *formats {
            let has = format_properties(*format).buffer_features;
            assert!(has.contains(*features), "{format:?} lacks {:?}", *features & !has);
        }
    }
}

#[test]
fn formats_that_are_converted_have_one_level() {
    let nv12 = vk::Format::G8_B8R8_2PLANE_420_UNORM;
    let sampled = query(nv12, vk::ImageType::TYPE_2D, Usage::SAMPLED | Usage::TRANSFER_DST);
    let p = image_format_properties(&ImageQuery { flags: Create::DISJOINT, ..sampled }).unwrap();
    assert_eq!((p.max_mip_levels, p.max_array_layers, p.sample_counts), (1, MAX_LAYERS, vk::SampleCountFlags::TYPE_1));
    for misfit in [
        query(nv12, vk::ImageType::TYPE_3D, Usage::SAMPLED),
        query(nv12, vk::ImageType::TYPE_2D, Usage::COLOR_ATTACHMENT),
        ImageQuery { flags: Create::CUBE_COMPATIBLE, ..sampled },
        // A format with one plane is not disjoint, and single texels are not blocks.
        ImageQuery { flags: Create::DISJOINT, format: vk::Format::R8_UNORM, ..sampled },
        ImageQuery { flags: Create::BLOCK_TEXEL_VIEW_COMPATIBLE, ..sampled },
    ] {
        assert_eq!(image_format_properties(&misfit).unwrap_err(), NOT_SUPPORTED, "{misfit:?}");
    }
    let blocks = vk::Format::EAC_R11G11_SNORM_BLOCK;
    assert!(
        image_format_properties(&ImageQuery { flags: Create::BLOCK_TEXEL_VIEW_COMPATIBLE, format: blocks, ..sampled })
            .is_ok()
    );
    let plane = ImageQuery { flags: Create::MUTABLE_FORMAT | Create::EXTENDED_USAGE, usage: Usage::STORAGE, ..sampled };
    assert!(image_format_properties(&plane).is_ok(), "a view of a plane is one of R8");
    let chroma = Features::MIDPOINT_CHROMA_SAMPLES | Features::COSITED_CHROMA_SAMPLES;
    let minmax = Features::SAMPLED_IMAGE_FILTER_MINMAX;
    let packed = format_properties(vk::Format::G8B8G8R8_422_UNORM).linear_tiling_features;
    assert!(packed.contains(chroma) && !packed.intersects(minmax | Features::BLIT_SRC | Features::DISJOINT));
}

/// Checks that the 64-bit flags report image loads and stores without a format, which work on every
/// storage format.
#[test]
fn wide_flags_follow_from_the_narrow_ones() {
    for raw in 0..200 {
        let format = vk::Format::from_raw(raw);
        let narrow = format_properties(format);
        let mut wide = vk::FormatProperties3::default();
        let mut out = vk::FormatProperties2::default().push_next(&mut wide);
        // SAFETY: `out` heads a valid chain.
        unsafe { fill_format_properties2(format, &mut out) };
        let both = wide.optimal_tiling_features.as_raw() as u32
            & (Features::FRAGMENT_SHADING_RATE_ATTACHMENT_KHR.as_raw() | 0x1ffff);
        assert_eq!(both, narrow.optimal_tiling_features.as_raw());
        let without_format = vk::FormatFeatureFlags2::STORAGE_READ_WITHOUT_FORMAT;
        let storage = narrow.optimal_tiling_features.contains(Features::STORAGE_IMAGE);
        assert_eq!(wide.optimal_tiling_features.contains(without_format), storage);
        // Vulkan 1.4.309 and later: buffers have neither depth, nor stencil, nor planes.
        let attachment = narrow.optimal_tiling_features.contains(Features::DEPTH_STENCIL_ATTACHMENT);
        let planes = Format::from_vk(raw as u32).is_some_and(|row| row.info().planes().len() > 1);
        assert!(!attachment && !planes || narrow.buffer_features.is_empty(), "{format:?}");
    }
}
