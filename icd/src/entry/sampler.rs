//! `VkSamplerCreateInfo` and `VkSamplerYcbcrConversionCreateInfo`.

use crate::ffi::pointer::find;
use crate::object::image::{format_of, swizzle};
use crate::object::sampler::SamplerYcbcrConversion;
use ash::vk;
use base::abi;
use texture::{YcbcrConversion, YcbcrModel};

/// Returns the sampler of a create info.
///
/// # Safety
/// `info` is valid with its chain.
pub unsafe fn sampler_of(info: &vk::SamplerCreateInfo<'_>) -> abi::Sampler {
    // SAFETY: `info` is valid with its chain, as the `# Safety` section demands.
    let (reduction, custom) = unsafe {
        (
            find::<vk::SamplerReductionModeCreateInfo<'_>>(info.p_next),
            find::<vk::SamplerCustomBorderColorCreateInfoEXT<'_>>(info.p_next),
        )
    };
    let (border_color, border_is_int) = border_color(info.border_color, custom);
    let flag = |on: vk::Bool32| u32::from(on != 0);
    abi::Sampler {
        class: 0,
        mag_filter: info.mag_filter.as_raw() as u32,
        min_filter: info.min_filter.as_raw() as u32,
        mipmap_mode: info.mipmap_mode.as_raw() as u32,
        address_mode: [info.address_mode_u, info.address_mode_v, info.address_mode_w].map(|m| m.as_raw() as u32),
        lod_bias: info.mip_lod_bias,
        min_lod: info.min_lod,
        max_lod: info.max_lod,
        max_anisotropy: if info.anisotropy_enable != 0 { info.max_anisotropy.clamp(1.0, 16.0) } else { 1.0 },
        compare_enable: flag(info.compare_enable),
        compare_op: info.compare_op.as_raw() as u32,
        border_color,
        border_is_int,
        unnormalized: flag(info.unnormalized_coordinates),
        reduction: reduction.map_or(0, |r| r.reduction_mode.as_raw() as u32),
        non_seamless: info.flags.contains(vk::SamplerCreateFlags::NON_SEAMLESS_CUBE_MAP_EXT).into(),
    }
}

fn border_color(
    color: vk::BorderColor,
    custom: Option<&vk::SamplerCustomBorderColorCreateInfoEXT<'_>>,
) -> ([u32; 4], u32) {
    let one = 1.0f32.to_bits();
    match color {
        vk::BorderColor::INT_TRANSPARENT_BLACK => ([0; 4], 1),
        vk::BorderColor::INT_OPAQUE_BLACK => ([0, 0, 0, 1], 1),
        vk::BorderColor::INT_OPAQUE_WHITE => ([1; 4], 1),
        vk::BorderColor::FLOAT_OPAQUE_BLACK => ([0, 0, 0, one], 0),
        vk::BorderColor::FLOAT_OPAQUE_WHITE => ([one; 4], 0),
        vk::BorderColor::FLOAT_CUSTOM_EXT | vk::BorderColor::INT_CUSTOM_EXT => {
            // SAFETY: every member of the union is four plain 32-bit words.
            let words = custom.map_or([0; 4], |c| unsafe { c.custom_border_color.uint32 });
            (words, u32::from(color == vk::BorderColor::INT_CUSTOM_EXT))
        }
        _ => ([0; 4], 0),
    }
}

/// Returns the conversion of a create info; `None` for one that is not supported.
pub fn conversion_of(info: &vk::SamplerYcbcrConversionCreateInfo<'_>) -> Option<SamplerYcbcrConversion> {
    format_of(info.format)
        .ok()
        .filter(|format| SamplerYcbcrConversion::has(*format) && info.force_explicit_reconstruction == 0)?;
    let model = usize::try_from(info.ycbcr_model.as_raw()).ok().and_then(|model| YcbcrModel::ALL.get(model))?;
    let conversion = YcbcrConversion {
        model: *model,
        narrow: info.ycbcr_range == vk::SamplerYcbcrRange::ITU_NARROW,
        components: swizzle(&info.components),
        cosited: [info.x_chroma_offset, info.y_chroma_offset].map(|at| at == vk::ChromaLocation::COSITED_EVEN),
        linear: info.chroma_filter == vk::Filter::LINEAR,
    };
    Some(SamplerYcbcrConversion { conversion })
}
