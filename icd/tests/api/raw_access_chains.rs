//! Tests of pointers at byte offsets of buffers (VK_NV_raw_access_chains): the components that lie
//! inside of the buffer, by the kind of check.

use crate::common::Context;
use crate::pipeline::{Set, compute, run};
use ash::vk;

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
/// Bytes of the bound part: seven elements of 20 bytes, and two of the four words of one more.
const RANGE: u64 = 7 * 20 + 4 + 2 * 4;
/// Numbers of elements: inside, partly inside, outside, and such that byte offsets wrap.
const INDICES: [u32; 16] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1 << 20, 0x0ccc_cccd, 0x3333_3333, 1 << 31, u32::MAX - 1, u32::MAX];

#[test]
fn components_are_checked_together_or_alone() {
    let mut chains = vk::PhysicalDeviceRawAccessChainsFeaturesNV::default().shader_raw_access_chains(true);
    let mut robust = vk::PhysicalDeviceFeatures2::default()
        .features(vk::PhysicalDeviceFeatures::default().robust_buffer_access(true));
    let c = Context::with(&[], &[c"VK_NV_raw_access_chains"], &mut [&mut chains, &mut robust]);
    let set = Set::new(&c, &[(STORAGE, 1); 4]);
    let [mut source, mut out, mut target, mut indices] = [4096, 4 * 16 * 12, 4096, 64].map(|bytes| c.buffer(bytes));
    source.fill_words(|i| 1000 + i);
    out.fill_words(|_| 7);
    target.fill_words(|_| 7);
    indices.fill_words(|i| INDICES[i as usize]);
    for (binding, buffer, range) in
        [(0, &source, RANGE), (1, &out, vk::WHOLE_SIZE), (2, &target, RANGE), (3, &indices, vk::WHOLE_SIZE)]
    {
        set.buffers(&c, binding, STORAGE, &[(buffer.buffer, 0, range)]);
    }
    let pipeline = compute(&c, vk::PipelineCache::null(), set.layout, &shader!("raw_chains.comp"), &[]);
    run(&c, &set, pipeline, &[]).expect("run");

    let inside = |index: u32, component: u64| 20 * u64::from(index) + 4 + 4 * component + 4 <= RANGE;
    let (read, mut written) = (out.words(), vec![7; 1024]);
    for (i, &index) in INDICES.iter().enumerate() {
        let [alone, together]: [[u32; 4]; 2] = [false, true].map(|whole| {
            [0, 1, 2, 3].map(|c| {
                let reached = inside(index, if whole { 3 } else { c });
                if reached { 1000 + 5 * index + 1 + c as u32 } else { 0 }
            })
        });
        let got = &read[12 * i..][..12];
        assert_eq!(got, [together, alone, together].concat(), "element {index:#x}");
        for component in (0..4).filter(|&component| inside(index, component)) {
            written[(5 * index + 1) as usize + component as usize] = i as u32 + 1 + component as u32;
        }
    }
    assert_eq!(target.words(), written);
    set.destroy(&c);
    [source, out, target, indices].into_iter().for_each(|buffer| c.free(buffer));
}
