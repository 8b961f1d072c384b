//! Tests of buffer views at any multiple of a texel (`*TexelBufferOffsetSingleTexelAlignment`).

use crate::common::{Context, spirv};
use crate::pipeline::{Set, compute, run};
use ash::vk;

const SOURCE: vk::DescriptorType = vk::DescriptorType::UNIFORM_TEXEL_BUFFER;
const TARGET: vk::DescriptorType = vk::DescriptorType::STORAGE_TEXEL_BUFFER;
const TEXELS: usize = 50;

/// Formats, the bytes of a texel, and the alignment of a view's offset.
const FORMATS: [(vk::Format, usize, usize); 9] = [
    (vk::Format::R8_UNORM, 1, 1),
    (vk::Format::R8G8_UNORM, 2, 2),
    (vk::Format::R8G8B8A8_UNORM, 4, 4),
    (vk::Format::R16_SFLOAT, 2, 2),
    (vk::Format::R16G16B16A16_SFLOAT, 8, 8),
    (vk::Format::R32_SFLOAT, 4, 4),
    (vk::Format::R32G32_SFLOAT, 8, 8),
    (vk::Format::R32G32B32A32_SFLOAT, 16, 16),
    (vk::Format::R32G32B32_SFLOAT, 12, 4),
];

#[test]
fn views_begin_at_any_texel() {
    let c = Context::new(&[], &[]);
    let set = Set::new(&c, &[(SOURCE, 1), (TARGET, 1)]);
    let code = spirv(include_bytes!("../data/texel_copy.comp.spv"));
    let (mut source, mut target) = (c.buffer(4096), c.buffer(4096));
    // No exponent is that of an infinity, in any format.
    source.bytes_mut().iter_mut().zip(0usize..).for_each(|(byte, i)| *byte = (i * 37 % 113) as u8);
    let bytes = source.bytes_mut().to_vec();
    for (format, size, unit) in FORMATS {
        // A format to which no shader can store is copied to one with the same components.
        let stored = if size == 12 { vk::Format::R32G32B32A32_SFLOAT } else { format };
        let (wide, step) = if size == 12 { (16, 16) } else { (size, unit) };
        for (from, to) in [(1, 3), (3, 2), (7, 1)] {
            target.bytes_mut().fill(0xee);
            let (from, to) = (from * unit, to * step);
            let view = |buffer, format, offset: usize, size: usize| {
                let info = vk::BufferViewCreateInfo::default().buffer(buffer).format(format);
                let info = info.offset(offset as u64).range((size * TEXELS) as u64);
                // SAFETY: valid usage.
                unsafe { c.device.create_buffer_view(&info, None) }.expect("view")
            };
            let views = [view(source.buffer, format, from, size), view(target.buffer, stored, to, wide)];
            set.texels(&c, 0, SOURCE, &views[..1]);
            set.texels(&c, 1, TARGET, &views[1..]);
            let pipeline = compute(&c, vk::PipelineCache::null(), set.layout, &code, &[]);
            run(&c, &set, pipeline, &[0; 16]).expect("run");
            for texel in 0..TEXELS {
                let wanted = &bytes[from + texel * size..][..size];
                let got = &target.bytes_mut()[to + texel * wide..][..wide];
                assert_eq!(&got[..size], wanted, "{format:?} at {from}, {to}: {texel}");
            }
            let outside = |target: &[u8]| target[..to].iter().chain(&target[to + TEXELS * wide..]).all(|&b| b == 0xee);
            assert!(outside(target.bytes_mut()), "{format:?} at {to}");
            // SAFETY: valid usage.
            views.into_iter().for_each(|view| unsafe { c.device.destroy_buffer_view(view, None) });
        }
    }
    set.destroy(&c);
    c.free(source);
    c.free(target);
}
