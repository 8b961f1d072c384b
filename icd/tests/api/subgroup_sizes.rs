//! Tests of subgroups of every size that a pipeline may request: the values of each invocation,
//! against a model of the shader in Rust.

use crate::common;
use crate::common::{Context, spirv};
use crate::pipeline::{GENERAL, Set, module, run};
use ash::vk;
use base::random::XorshiftStar as Rng;

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const IMAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_IMAGE;
const COMBINED: vk::DescriptorType = vk::DescriptorType::COMBINED_IMAGE_SAMPLER;

/// Number of words before the results: the total and the values.
const VALUES: usize = 127;
/// Number of words of an invocation.
const ROW: usize = 24;

/// Makes a pipeline with subgroups of a size, for workgroups of `invocations`.
fn pipeline_of(c: &Context, set: &Set, size: u32, invocations: u32) -> vk::Pipeline {
    let module = module(c, &spirv(include_bytes!("../data/subgroup_sizes.comp.spv")));
    let entries = [vk::SpecializationMapEntry { constant_id: 0, offset: 0, size: 4 }];
    let data = invocations.to_le_bytes();
    let specialization = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
    let mut required = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default().required_subgroup_size(size);
    let stage = vk::PipelineShaderStageCreateInfo::default()
        .stage(vk::ShaderStageFlags::COMPUTE)
        .module(module)
        .name(c"main")
        .specialization_info(&specialization)
        .push_next(&mut required);
    let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(set.layout);
    // SAFETY: valid usage.
    unsafe {
        let pipelines = c.device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None).expect("pipeline");
        c.device.destroy_shader_module(module, None);
        pipelines[0]
    }
}

/// Returns the words that the shader's invocation `i` writes; `None` if it writes nothing or any
/// value.
fn expected(values: &[u32], size: usize, i: usize) -> Vec<Option<u32>> {
    let (n, lane, first) = (values.len(), i % size, i / size * size);
    let lanes = || (first..n.min(first + size)).map(|j| (j - first, values[j]));
    let v = values[i];
    let bits = |of: &dyn Fn(usize, u32) -> bool| lanes().filter(|&(l, v)| of(l, v)).fold(0u128, |b, (l, _)| b | 1 << l);
    let ballot = bits(&|_, v| v % 2 == 1);
    let word = |bits: u128, w: u32| (bits >> (32 * w)) as u32;
    let all = (1u128 << size) - 1;
    let (eq, lt) = (1u128 << lane, (1u128 << lane) - 1);
    let odd = v % 2 == 1;
    let present = n.min(first + size) - first;
    let cluster = lanes().filter(|&(l, _)| l / 4 == lane / 4).map(|(_, v)| v).max();
    let first_odd = lanes().find(|&(_, v)| v % 2 == 1);
    let product = lanes().filter(|&(l, v)| l < lane && v % 2 == 1).fold(1u32, |p, (_, v)| p.wrapping_mul(v % 3 + 1));
    let other = (i * 5 + 1) % n;
    let even: u32 = values.iter().filter(|&v| v % 2 == 0).sum();
    let met: usize = (0..v % 7).map(|round| lanes().filter(|&(_, v)| round < v % 7).count()).sum();
    vec![
        Some(size as u32),
        Some((i / size) as u32),
        Some(lane as u32),
        Some(n.div_ceil(size) as u32),
        Some(word(ballot, 0)),
        Some(word(ballot, 1)),
        Some(0),
        Some(lanes().filter(|&(l, _)| l <= lane).map(|(_, v)| v).sum()),
        Some(values[first + v as usize % present]),
        cluster,
        Some(word(eq, 0) ^ word(all & !(lt | eq), 1)),
        Some(word(lt, 0) ^ word(lt | eq, 1)),
        Some((ballot & lt).count_ones()),
        Some(if ballot == 0 { 99 } else { 127 - ballot.leading_zeros() }),
        values.get(i ^ 1).copied(),
        first_odd.filter(|_| odd).map(|(l, v)| v + if l == lane { 1_000_000 } else { 0 }),
        odd.then_some(product),
        Some(values[n - 1 - i]),
        Some(values[other]),
        Some(values[other]),
        Some(even),
        Some(met as u32),
    ]
}

#[test]
fn every_size_computes_what_its_lanes_say() {
    let c = Context::new(&[], &[]);
    let set = Set::new(&c, &[(STORAGE, 1), (IMAGE, 1), (COMBINED, 1), (IMAGE, 1)]);
    let one = vk::SampleCountFlags::TYPE_1;
    let (stored, counters) =
        (c.image(vk::Format::R32_SFLOAT, [16, 8], one, 1), c.image(vk::Format::R32_UINT, [1, 1], one, 1));
    // SAFETY: valid usage.
    let sampler = unsafe { c.device.create_sampler(&vk::SamplerCreateInfo::default(), None) }.unwrap();
    let bytes = 4 * (1 + VALUES + 128 * ROW) as u64;
    let mut data = c.buffer(bytes);
    set.buffers(&c, 0, STORAGE, &[(data.buffer, 0, bytes)]);
    set.images(&c, 1, IMAGE, &[(stored.view, vk::Sampler::null())]);
    set.images(&c, 2, COMBINED, &[(stored.view, sampler)]);
    set.images(&c, 3, IMAGE, &[(counters.view, vk::Sampler::null())]);
    c.run(|b| {
        let discard = |image| {
            vk::ImageMemoryBarrier::default()
                .image(image)
                .new_layout(GENERAL)
                .subresource_range(common::info::range(vk::ImageAspectFlags::COLOR, 1))
        };
        let barriers = [discard(stored.image), discard(counters.image)];
        let stages = vk::PipelineStageFlags::ALL_COMMANDS;
        // SAFETY: valid usage.
        unsafe { c.device.cmd_pipeline_barrier(b, stages, stages, Default::default(), &[], &[], &barriers) };
    })
    .unwrap();
    let mut rng = Rng::new(3);
    for size in [4u32, 8, 16, 32, 64] {
        // Less than a subgroup, whole ones, and several with a partial one.
        for n in [3usize, 64, 77, 127] {
            let values: Vec<u32> = (0..n).map(|_| rng.below(1000) as u32).collect();
            data.fill_words(|i| (i as usize).checked_sub(1).and_then(|i| values.get(i)).copied().unwrap_or(0));
            let pipeline = pipeline_of(&c, &set, size, n as u32);
            run(&c, &set, pipeline, &[]).expect("run");
            let words = data.words();
            assert_eq!(words[0], values.iter().sum::<u32>(), "{size} lanes, {n} invocations");
            for i in 0..n {
                let got = &words[1 + VALUES + i * ROW..][..ROW];
                for (at, want) in expected(&values, size as usize, i).into_iter().enumerate() {
                    let Some(want) = want else { continue };
                    assert_eq!(got[at], want, "word {at} of invocation {i} of {n}, {size} lanes");
                }
            }
        }
    }
    // SAFETY: valid usage.
    unsafe { c.device.destroy_sampler(sampler, None) };
    set.destroy(&c);
    c.free(data);
    c.free_image(stored);
    c.free_image(counters);
}
