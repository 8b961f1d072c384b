//! Format and image-format queries, all derived from the table of `base::format`.

use super::extensions::Extension;
use super::features::Feature;
use super::limits::{LIMITS, SAMPLE_COUNTS};
use super::{modifiers, newer};
use crate::ffi::pointer::find;
use ash::vk::{self, TaggedStructure};
use base::abi::Dim;
use base::format::{Aspect, Format, Layout, Plane};
use base::image::ImageLayout;
use base::limits::{MAX_DIMENSION, MAX_DIMENSION_3D, MAX_LAYERS};
use core::ffi::c_void;
use vk::{FormatFeatureFlags as Features, ImageCreateFlags as Create, ImageUsageFlags as Usage};

/// Returns the row of a format that has any use.
fn row(format: vk::Format) -> Option<Format> {
    let row = u32::try_from(format.as_raw()).ok().and_then(Format::from_vk)?;
    (row.info().layout != Layout::None).then_some(row)
}

/// Returns the answer of vkGetPhysicalDeviceFormatProperties. Linear tiling has the layout of
/// optimal tiling, and is offered for colour formats.
pub fn format_properties(format: vk::Format) -> vk::FormatProperties {
    let Some(row) = row(format) else { return vk::FormatProperties::default() };
    let info = row.info();
    let mut optimal = Features::from_raw(info.image_features);
    if Feature::samplerFilterMinmax.row().support.is_yes() && has_minmax(row, optimal) {
        optimal |= Features::SAMPLED_IMAGE_FILTER_MINMAX;
    }
    let mut buffer = Features::from_raw(info.buffer_features);
    if Extension::VK_KHR_acceleration_structure.is_advertised() && is_structure_vertex(format) {
        buffer |= Features::ACCELERATION_STRUCTURE_VERTEX_BUFFER_KHR;
    }
    if Extension::VK_KHR_fragment_shading_rate.is_advertised() && format == vk::Format::R8_UINT {
        optimal |= Features::FRAGMENT_SHADING_RATE_ATTACHMENT_KHR;
    }
    vk::FormatProperties {
        linear_tiling_features: if info.layout == Layout::DepthStencil { Features::empty() } else { optimal },
        optimal_tiling_features: optimal,
        buffer_features: buffer,
    }
}

/// `VK_FORMAT_FEATURE_2_ACCELERATION_STRUCTURE_RADIUS_BUFFER_BIT_NV`.
const RADIUS_BUFFER: vk::FormatFeatureFlags2 = vk::FormatFeatureFlags2::from_raw(1 << 51);

/// Returns true if spheres of acceleration structures have radii of the format.
pub fn is_structure_radius(format: vk::Format) -> bool {
    matches!(format, vk::Format::R32_SFLOAT | vk::Format::R16_SFLOAT)
}

/// Returns true if acceleration structures are built from vertices of the format: the required
/// formats, and the others with the same kinds of numbers.
pub fn is_structure_vertex(format: vk::Format) -> bool {
    use vk::Format as F;
    matches!(
        format,
        F::R32G32_SFLOAT
            | F::R32G32B32_SFLOAT
            | F::R32G32B32A32_SFLOAT
            | F::R64G64_SFLOAT
            | F::R64G64B64_SFLOAT
            | F::R64G64B64A64_SFLOAT
            | F::R16G16_SFLOAT
            | F::R16G16B16_SFLOAT
            | F::R16G16B16A16_SFLOAT
            | F::R16G16_SNORM
            | F::R16G16B16_SNORM
            | F::R16G16B16A16_SNORM
            | F::R16G16_UNORM
            | F::R16G16B16_UNORM
            | F::R16G16B16A16_UNORM
            | F::R8G8_SNORM
            | F::R8G8B8_SNORM
            | F::R8G8B8A8_SNORM
            | F::R8G8_UNORM
            | F::R8G8B8_UNORM
            | F::R8G8B8A8_UNORM
            | F::A2B10G10R10_UNORM_PACK32
            | F::A2B10G10R10_SNORM_PACK32
    )
}

/// Returns true if minimum and maximum filters are supported, which need an order on texels:
/// filterable colour and depth have one.
fn has_minmax(row: Format, features: Features) -> bool {
    features.contains(Features::SAMPLED_IMAGE)
        && !row.needs_conversion()
        && (features.contains(Features::SAMPLED_IMAGE_FILTER_LINEAR) || row.has_depth())
}

/// Fills in the answer of vkGetPhysicalDeviceFormatProperties2.
///
/// # Safety
/// `out` heads a valid chain.
pub unsafe fn fill_format_properties2(format: vk::Format, out: &mut vk::FormatProperties2<'_>) {
    let properties = format_properties(format);
    out.format_properties = properties;
    let mut next = out.p_next.cast::<vk::BaseOutStructure<'_>>();
    while !next.is_null() {
        // SAFETY: `next` is an element of the valid chain that `out` heads.
        let s_type = unsafe { (*next).s_type };
        if s_type == vk::FormatProperties3::STRUCTURE_TYPE {
            // SAFETY: the tag identifies the structure's type.
            let properties3 = unsafe { &mut *next.cast::<vk::FormatProperties3<'_>>() };
            properties3.linear_tiling_features = flags2(format, properties.linear_tiling_features, false);
            properties3.optimal_tiling_features = flags2(format, properties.optimal_tiling_features, false);
            properties3.buffer_features = flags2(format, properties.buffer_features, true);
        } else if s_type == newer::FormatProperties4KHR::STRUCTURE_TYPE {
            // SAFETY: the tag identifies the structure's type.
            let properties4 = unsafe { &mut *next.cast::<newer::FormatProperties4KHR<'_>>() };
            // The structure adds to the others; no feature is defined for it yet.
            (properties4.linear_tiling_features, properties4.optimal_tiling_features) = (0, 0);
            properties4.buffer_features = 0;
        } else if s_type == vk::DrmFormatModifierPropertiesListEXT::STRUCTURE_TYPE {
            let modifier = linear_modifier(format);
            // SAFETY: the tag identifies the structure's type, and the list is valid.
            unsafe { modifiers::fill_list(modifier, &mut *next.cast::<vk::DrmFormatModifierPropertiesListEXT<'_>>()) };
        } else if s_type == vk::DrmFormatModifierPropertiesList2EXT::STRUCTURE_TYPE {
            let modifier = linear_modifier(format);
            // SAFETY: the tag identifies the structure's type, and the list is valid.
            unsafe {
                modifiers::fill_list2(modifier, &mut *next.cast::<vk::DrmFormatModifierPropertiesList2EXT<'_>>())
            };
        } else if s_type == vk::SubpassResolvePerformanceQueryEXT::STRUCTURE_TYPE {
            // SAFETY: the tag identifies the structure's type.
            let resolve = unsafe { &mut *next.cast::<vk::SubpassResolvePerformanceQueryEXT<'_>>() };
            // Samples are stored to memory and read again.
            resolve.optimal = vk::FALSE;
        }
        // SAFETY: `next` is an element of the valid chain that `out` heads.
        next = unsafe { (*next).p_next };
    }
}

/// Returns the offer of a format in linear images, or `None` if there is none.
fn linear_modifier(format: vk::Format) -> Option<modifiers::ModifierFeatures> {
    let features = format_properties(format).linear_tiling_features;
    let row = u32::try_from(format.as_raw()).ok().and_then(Format::from_vk).filter(|_| !features.is_empty())?;
    Some((features, flags2(format, features, false), u32::from(row.info().plane_count)))
}

/// Returns the 64-bit flags: the 32-bit ones, and those that exist in 64 bits only.
fn flags2(format: vk::Format, flags: Features, buffer: bool) -> vk::FormatFeatureFlags2 {
    use vk::FormatFeatureFlags2 as Flags2;
    let mut wide = Flags2::from_raw(u64::from(flags.as_raw()));
    let storage = if buffer { Features::STORAGE_TEXEL_BUFFER } else { Features::STORAGE_IMAGE };
    if flags.contains(storage) {
        wide |= Flags2::STORAGE_READ_WITHOUT_FORMAT | Flags2::STORAGE_WRITE_WITHOUT_FORMAT;
    }
    if !buffer && flags.intersects(HOST_COPYABLE) {
        wide |= Flags2::HOST_IMAGE_TRANSFER_EXT;
    }
    if !buffer && flags.contains(Features::TRANSFER_DST) {
        // VK_FORMAT_FEATURE_2_COPY_IMAGE_INDIRECT_DST_BIT_KHR.
        wide |= Flags2::from_raw(1 << 59);
    }
    if buffer && Feature::spheres.row().support.is_yes() && is_structure_radius(format) {
        wide |= RADIUS_BUFFER;
    }
    if flags.contains(Features::SAMPLED_IMAGE) && row(format).is_some_and(Format::has_depth) {
        wide |= Flags2::SAMPLED_IMAGE_DEPTH_COMPARISON;
    }
    wide
}

/// The parameters of an image-format query.
#[derive(Clone, Copy, Debug)]
pub struct ImageQuery {
    /// Format of the image.
    pub format: vk::Format,
    /// Dimensions: 1D, 2D or 3D.
    pub ty: vk::ImageType,
    /// Tiling of the image.
    pub tiling: vk::ImageTiling,
    /// Usage, combined over all aspects.
    pub usage: vk::ImageUsageFlags,
    /// Creation flags of the image.
    pub flags: vk::ImageCreateFlags,
}

/// Flags that the driver accepts; disjoint only for formats with planes. Protected and subsampled
/// images are refused. Split-instance bind regions are accepted, because a group has one device,
/// whose one instance of memory is the whole image's.
const CREATE_FLAGS: Create = Create::from_raw(
    Create::MUTABLE_FORMAT.as_raw()
        | Create::CUBE_COMPATIBLE.as_raw()
        | Create::TYPE_2D_ARRAY_COMPATIBLE.as_raw()
        | Create::TYPE_2D_VIEW_COMPATIBLE_EXT.as_raw()
        | Create::EXTENDED_USAGE.as_raw()
        | Create::ALIAS.as_raw()
        | Create::SPLIT_INSTANCE_BIND_REGIONS.as_raw()
        | Create::DISJOINT.as_raw()
        | Create::SAMPLE_LOCATIONS_COMPATIBLE_DEPTH_EXT.as_raw()
        | Create::DESCRIPTOR_BUFFER_CAPTURE_REPLAY_EXT.as_raw()
        | Create::MULTISAMPLED_RENDER_TO_SINGLE_SAMPLED_EXT.as_raw()
        | SPARSE.as_raw()
        | super::newer::IMAGE_CREATE_ALIAS_SINGLE_LAYER_DESCRIPTOR.as_raw()
        | Create::BLOCK_TEXEL_VIEW_COMPATIBLE.as_raw(),
);

/// Flags of sparse images.
const SPARSE: Create = Create::from_raw(
    Create::SPARSE_BINDING.as_raw() | Create::SPARSE_RESIDENCY.as_raw() | Create::SPARSE_ALIASED.as_raw(),
);

/// Returns true if an image may be sparse in the requested way. Residency requires binding; the
/// addresses are one range. A volume's slices are not layers (the specification does not allow
/// views of several slices, but views of one slice).
fn supports_sparse(query: &ImageQuery, row: Format) -> bool {
    let bound = query.flags.contains(Create::SPARSE_BINDING)
        && !query.flags.intersects(Create::DISJOINT | Create::TYPE_2D_ARRAY_COMPATIBLE)
        && !query.usage.contains(Usage::TRANSIENT_ATTACHMENT);
    let resident = || {
        let feature = match query.ty {
            vk::ImageType::TYPE_2D => Feature::sparseResidencyImage2D,
            vk::ImageType::TYPE_3D => Feature::sparseResidencyImage3D,
            _ => return false,
        };
        let has_cells = row.info().planes().iter().all(|plane| sparse_block_shape(query.ty, plane).is_some());
        feature.is_advertised() && has_cells
    };
    !query.flags.intersects(SPARSE) || bound && (!query.flags.contains(Create::SPARSE_RESIDENCY) || resident())
}

/// Returns the number of texels of a sparse image block of a plane.
fn sparse_block_shape(ty: vk::ImageType, plane: &Plane) -> Option<[u32; 3]> {
    let dim = match ty {
        vk::ImageType::TYPE_2D => Dim::D2,
        vk::ImageType::TYPE_3D => Dim::D3,
        _ => return None,
    };
    ImageLayout::sparse_block_shape(plane, dim)
}

/// Returns the answer of vkGetPhysicalDeviceSparseImageFormatProperties: the shapes of the planes'
/// blocks, if such an image can have memory block by block.
pub fn sparse_image_format_properties(
    query: &ImageQuery,
    samples: vk::SampleCountFlags,
) -> impl Iterator<Item = vk::SparseImageFormatProperties> + use<> {
    let query = ImageQuery { flags: query.flags | Create::SPARSE_BINDING | Create::SPARSE_RESIDENCY, ..*query };
    let exists = samples == vk::SampleCountFlags::TYPE_1 && image_format_properties(&query).is_ok();
    let planes = row(query.format).filter(|_| exists).map_or(&[][..], |row| row.info().planes());
    planes.iter().filter_map(move |plane| {
        Some(sparse_properties(plane.aspect, plane.format(), sparse_block_shape(query.ty, plane)?))
    })
}

/// Returns the properties of a plane with blocks of this many texels, and a tail for each layer.
/// There is a standard shape for texels and compressed blocks of up to 16 bytes, a power of two.
pub fn sparse_properties(
    aspect: Aspect,
    format: Format,
    [width, height, depth]: [u32; 3],
) -> vk::SparseImageFormatProperties {
    let bytes = format.info().block_bytes;
    let is_standard = bytes.is_power_of_two() && bytes <= 16 && !format.has_parts();
    vk::SparseImageFormatProperties {
        aspect_mask: vk::ImageAspectFlags::from_raw(aspect.bit()),
        image_granularity: vk::Extent3D { width, height, depth },
        flags: match is_standard {
            true => vk::SparseImageFormatFlags::empty(),
            false => vk::SparseImageFormatFlags::NONSTANDARD_BLOCK_SIZE,
        },
    }
}

/// Features that a usage needs of a format: any one of them. A transient image also has another
/// usage, which needs features.
const USAGE_FEATURES: &[(Usage, Features)] = &[
    (Usage::TRANSFER_SRC, Features::TRANSFER_SRC),
    (Usage::TRANSFER_DST, Features::TRANSFER_DST),
    (Usage::SAMPLED, Features::SAMPLED_IMAGE),
    (Usage::STORAGE, Features::STORAGE_IMAGE),
    (Usage::COLOR_ATTACHMENT, Features::COLOR_ATTACHMENT),
    (Usage::DEPTH_STENCIL_ATTACHMENT, Features::DEPTH_STENCIL_ATTACHMENT),
    (Usage::INPUT_ATTACHMENT, ATTACHMENT),
    (Usage::FRAGMENT_SHADING_RATE_ATTACHMENT_KHR, Features::FRAGMENT_SHADING_RATE_ATTACHMENT_KHR),
    (Usage::HOST_TRANSFER_EXT, HOST_COPYABLE),
    (Usage::TRANSIENT_ATTACHMENT, Features::from_raw(!0)),
    (Usage::ATTACHMENT_FEEDBACK_LOOP_EXT, ATTACHMENT),
];
const ATTACHMENT: Features =
    Features::from_raw(Features::COLOR_ATTACHMENT.as_raw() | Features::DEPTH_STENCIL_ATTACHMENT.as_raw());

/// The host can copy any image that the device can move.
const HOST_COPYABLE: Features = Features::from_raw(Features::TRANSFER_SRC.as_raw() | Features::BLIT_SRC.as_raw());

const NOT_SUPPORTED: vk::Result = vk::Result::ERROR_FORMAT_NOT_SUPPORTED;

/// Returns the answer of vkGetPhysicalDeviceImageFormatProperties.
pub fn image_format_properties(query: &ImageQuery) -> Result<vk::ImageFormatProperties, vk::Result> {
    let row = row(query.format).ok_or(NOT_SUPPORTED)?;
    let properties = format_properties(query.format);
    let features = match query.tiling {
        vk::ImageTiling::OPTIMAL => properties.optimal_tiling_features,
        vk::ImageTiling::LINEAR | MODIFIER_TILING => properties.linear_tiling_features,
        _ => Features::empty(),
    };
    let has = |flag: Create, may: bool| query.flags.contains(flag) && !may;
    let misfit = has(Create::DISJOINT, features.contains(Features::DISJOINT))
        || has(Create::BLOCK_TEXEL_VIEW_COMPATIBLE, row.is_compressed());
    let misfit = misfit || !supports_sparse(query, row) || !supports_modifier(query);
    if features.is_empty() || misfit || !CREATE_FLAGS.contains(query.flags) || !supports_usage(query, features) {
        return Err(NOT_SUPPORTED);
    }
    let extent = max_extent(query, row).ok_or(NOT_SUPPORTED)?;
    let flat = query.tiling == MODIFIER_TILING;
    Ok(vk::ImageFormatProperties {
        max_extent: extent,
        max_mip_levels: if row.needs_conversion() || flat { 1 } else { extent.width.max(extent.depth).ilog2() + 1 },
        max_array_layers: if query.ty == vk::ImageType::TYPE_3D || flat { 1 } else { MAX_LAYERS },
        sample_counts: sample_counts(query, row, features),
        max_resource_size: super::heap_size().max(1 << 31),
    })
}

const MODIFIER_TILING: vk::ImageTiling = vk::ImageTiling::DRM_FORMAT_MODIFIER_EXT;

/// Returns true if an image may have a modifier. Such images are plain 2D pictures: a plane has a
/// start and a row pitch, and nothing else.
fn supports_modifier(query: &ImageQuery) -> bool {
    query.tiling != MODIFIER_TILING
        || query.ty == vk::ImageType::TYPE_2D && !query.flags.intersects(SPARSE | Create::CUBE_COMPATIBLE)
}

/// Returns true if the format's features allow every usage. With EXTENDED_USAGE, a view's format
/// has to allow it instead.
fn supports_usage(query: &ImageQuery, features: Features) -> bool {
    let known = USAGE_FEATURES.iter().fold(Usage::empty(), |all, (usage, _)| all | *usage);
    let extended = query.flags.contains(Create::EXTENDED_USAGE | Create::MUTABLE_FORMAT);
    let fits = |(usage, any): &(Usage, Features)| !query.usage.contains(*usage) || features.intersects(*any);
    known.contains(query.usage) && (extended || USAGE_FEATURES.iter().all(fits))
}

fn max_extent(query: &ImageQuery, row: Format) -> Option<vk::Extent3D> {
    let extent = |width, height, depth| Some(vk::Extent3D { width, height, depth });
    let compressed = row.info().block != (1, 1);
    if row.needs_conversion() && (query.ty != vk::ImageType::TYPE_2D || query.flags.contains(Create::CUBE_COMPATIBLE)) {
        return None;
    }
    let (cube, slices) =
        (Create::CUBE_COMPATIBLE, Create::TYPE_2D_ARRAY_COMPATIBLE | Create::TYPE_2D_VIEW_COMPATIBLE_EXT);
    match query.ty {
        vk::ImageType::TYPE_1D if !compressed && !query.flags.intersects(cube | slices) => extent(MAX_DIMENSION, 1, 1),
        vk::ImageType::TYPE_2D if !query.flags.intersects(slices) => extent(MAX_DIMENSION, MAX_DIMENSION, 1),
        vk::ImageType::TYPE_3D if !query.flags.contains(cube) => {
            extent(MAX_DIMENSION_3D, MAX_DIMENSION_3D, MAX_DIMENSION_3D)
        }
        _ => None,
    }
}

/// Returns the sample counts of an image, by the specification's rules for multisampled images and
/// what the driver supports.
fn sample_counts(query: &ImageQuery, row: Format, features: Features) -> vk::SampleCountFlags {
    let multisampled = query.ty == vk::ImageType::TYPE_2D
        && query.tiling == vk::ImageTiling::OPTIMAL
        && !query.flags.contains(Create::CUBE_COMPATIBLE)
        && row.info().block == (1, 1)
        && !query.flags.contains(Create::SPARSE_RESIDENCY)
        && !row.needs_conversion()
        && features.intersects(ATTACHMENT);
    match multisampled {
        true if query.usage.contains(Usage::STORAGE) => LIMITS.storage_image_sample_counts,
        true => SAMPLE_COUNTS,
        false => vk::SampleCountFlags::TYPE_1,
    }
}

/// Create flags and usage of an image: those of its create info, or those of the structures of
/// VK_KHR_extended_flags that replace them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectiveFlags {
    /// Create flags.
    pub flags: Create,
    /// Usage.
    pub usage: Usage,
}

impl EffectiveFlags {
    /// Looks up the structures in the chain of a create info; `None` if they have a flag that does
    /// not exist.
    ///
    /// # Safety
    /// `p_next` is a valid chain.
    pub unsafe fn find(flags: Create, usage: Usage, p_next: *const c_void) -> Option<EffectiveFlags> {
        // SAFETY: the chain is valid, as the `# Safety` section requires.
        let (flags2, usage2) = unsafe {
            let flags2 = find::<newer::ImageCreateFlags2CreateInfoKHR<'_>>(p_next).map(|info| info.flags);
            (flags2, find::<newer::ImageUsageFlags2CreateInfoKHR<'_>>(p_next).map(|info| info.usage))
        };
        let flags = flags2.map_or(Some(flags), |wide| u32::try_from(wide).ok().map(Create::from_raw))?;
        let usage = usage2.map_or(Some(usage), |wide| u32::try_from(wide).ok().map(Usage::from_raw))?;
        Some(EffectiveFlags { flags, usage })
    }
}

/// Fills in the answer of vkGetPhysicalDeviceImageFormatProperties2.
///
/// # Safety
/// `info` and `out` head valid chains.
pub unsafe fn fill_image_format_properties2(
    info: &vk::PhysicalDeviceImageFormatInfo2<'_>,
    out: &mut vk::ImageFormatProperties2<'_>,
) -> Result<(), vk::Result> {
    out.image_format_properties = vk::ImageFormatProperties::default();
    // SAFETY: `info` heads a valid chain, as the `# Safety` section requires.
    let effective = unsafe { EffectiveFlags::find(info.flags, info.usage, info.p_next) };
    let EffectiveFlags { flags, mut usage } = effective.ok_or(NOT_SUPPORTED)?;
    let mut shared = vk::ExternalMemoryProperties::default();
    let mut next = info.p_next.cast::<vk::BaseInStructure<'_>>();
    while !next.is_null() {
        // SAFETY: `next` is an element of the valid chain that `info` heads.
        let s_type = unsafe { (*next).s_type };
        if s_type == vk::PhysicalDeviceExternalImageFormatInfo::STRUCTURE_TYPE {
            // SAFETY: the tag identifies the structure's type.
            let external = unsafe { &*next.cast::<vk::PhysicalDeviceExternalImageFormatInfo<'_>>() };
            if !external.handle_type.is_empty() {
                shared = super::external::image_memory(external.handle_type).ok_or(NOT_SUPPORTED)?;
            }
        } else if s_type == vk::PhysicalDeviceImageDrmFormatModifierInfoEXT::STRUCTURE_TYPE {
            // SAFETY: the tag identifies the structure's type.
            let modifier = unsafe { &*next.cast::<vk::PhysicalDeviceImageDrmFormatModifierInfoEXT<'_>>() };
            if modifier.drm_format_modifier != modifiers::LINEAR {
                return Err(NOT_SUPPORTED);
            }
        } else if s_type == vk::ImageStencilUsageCreateInfo::STRUCTURE_TYPE {
            // SAFETY: the tag identifies the structure's type.
            usage |= unsafe { &*next.cast::<vk::ImageStencilUsageCreateInfo<'_>>() }.stencil_usage;
        } else if s_type == newer::ImageStencilUsage2CreateInfoKHR::STRUCTURE_TYPE {
            // SAFETY: the tag identifies the structure's type.
            let wide = unsafe { &*next.cast::<newer::ImageStencilUsage2CreateInfoKHR<'_>>() }.stencil_usage;
            usage |= Usage::from_raw(u32::try_from(wide).map_err(|_| NOT_SUPPORTED)?);
        }
        // SAFETY: `next` is an element of the valid chain that `info` heads.
        next = unsafe { (*next).p_next };
    }
    let query = ImageQuery { format: info.format, ty: info.ty, tiling: info.tiling, usage, flags };
    out.image_format_properties = image_format_properties(&query)?;
    let mut next = out.p_next.cast::<vk::BaseOutStructure<'_>>();
    while !next.is_null() {
        // SAFETY: `next` is an element of the valid chain that `out` heads.
        let s_type = unsafe { (*next).s_type };
        if s_type == vk::ExternalImageFormatProperties::STRUCTURE_TYPE {
            // SAFETY: the tag identifies the structure's type.
            let external = unsafe { &mut *next.cast::<vk::ExternalImageFormatProperties<'_>>() };
            external.external_memory_properties = shared;
        } else if s_type == vk::SamplerYcbcrConversionImageFormatProperties::STRUCTURE_TYPE {
            // SAFETY: the tag identifies the structure's type.
            let ycbcr = unsafe { &mut *next.cast::<vk::SamplerYcbcrConversionImageFormatProperties<'_>>() };
            // One descriptor of a view covers all of its planes.
            ycbcr.combined_image_sampler_descriptor_count = 1;
        } else if s_type == vk::HostImageCopyDevicePerformanceQueryEXT::STRUCTURE_TYPE {
            // SAFETY: the tag identifies the structure's type.
            let host = unsafe { &mut *next.cast::<vk::HostImageCopyDevicePerformanceQueryEXT<'_>>() };
            // Usage does not affect an image's layout.
            (host.optimal_device_access, host.identical_memory_layout) = (vk::TRUE, vk::TRUE);
        }
        // SAFETY: `next` is an element of the valid chain that `out` heads.
        next = unsafe { (*next).p_next };
    }
    Ok(())
}

#[cfg(test)]
#[path = "formats_tests.rs"]
mod tests;
