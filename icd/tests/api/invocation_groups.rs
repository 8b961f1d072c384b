//! Tests of operations between invocations through the API: clocks, cooperative matrices, quads of
//! compute stages, partitions; also untyped pointers and replicated composites.
//! `jit/tests/spirv/groups.rs` checks all results of most of these shaders.

use crate::common::{Context, spirv};
use crate::pipeline::{Set, compute, run};
use crate::{common, pipeline};
use ash::vk;

macro_rules! shader {
    ($path:literal) => {
        spirv(include_bytes!(concat!($path, ".spv")))
    };
}

/// Returns the words of storage buffers 0, 1, … after a workgroup.
fn dispatch(c: &Context, words: &[u32], buffers: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let types: Vec<_> = buffers.iter().map(|_| (vk::DescriptorType::STORAGE_BUFFER, 1)).collect();
    let set = Set::new(c, &types);
    let mut made = Vec::new();
    for (binding, content) in (0..).zip(buffers) {
        let mut buffer = c.buffer(4 * content.len() as u64);
        buffer.fill_words(|i| content[i as usize]);
        set.buffers(c, binding, vk::DescriptorType::STORAGE_BUFFER, &[(buffer.buffer, 0, vk::WHOLE_SIZE)]);
        made.push(buffer);
    }
    let pipeline = compute(c, vk::PipelineCache::null(), set.layout, words, &[]);
    run(c, &set, pipeline, &[]).unwrap();
    let after = made.iter().map(|b| b.words()).collect();
    made.into_iter().for_each(|b| c.free(b));
    set.destroy(c);
    after
}

#[test]
fn clocks_go_on() {
    let c = Context::new(&[], &[c"VK_KHR_shader_clock"]);
    let mut before = 1;
    for _ in 0..3 {
        let words = dispatch(&c, &shader!("../data/clock.comp"), &[vec![0; 64]]).remove(0);
        let times: Vec<u64> = words.chunks(2).map(|w| u64::from(w[0]) | u64::from(w[1]) << 32).collect();
        for lane in times.chunks(4) {
            assert!(lane.is_sorted() && lane[0] >= before, "{lane:?} after {before}");
        }
        before = times[31];
    }
}

#[test]
fn cooperative_matrices() {
    let c = Context::new(&[], &[c"VK_KHR_cooperative_matrix"]);
    let functions = ash::khr::cooperative_matrix::Instance::new(&c.entry, &c.instance);
    // SAFETY: the device has this extension.
    let all = unsafe { functions.get_physical_device_cooperative_matrix_properties(c.physical) }.unwrap();
    let has = |size: u32, factor, sum, saturating: bool| {
        all.iter().any(|p| {
            [p.m_size, p.n_size, p.k_size] == [size; 3]
                && [p.a_type, p.b_type, p.c_type, p.result_type] == [factor, factor, sum, sum]
                && (p.saturating_accumulation == vk::TRUE) == saturating
                && p.scope == vk::ScopeKHR::SUBGROUP
        })
    };
    use vk::ComponentTypeKHR as T;
    for size in [8, 16] {
        assert!(has(size, T::FLOAT16, T::FLOAT32, false) && has(size, T::FLOAT32, T::FLOAT32, false));
        assert!(has(size, T::SINT8, T::SINT32, true) && !has(size, T::FLOAT16, T::FLOAT32, true));
    }
    let [brain, e4m3] = [1_000_141_000, 1_000_491_002].map(T::from_raw);
    assert!(has(16, brain, brain, false) && has(8, brain, T::FLOAT32, false) && has(16, e4m3, T::FLOAT16, false));
    let get = functions.fp().get_physical_device_cooperative_matrix_properties_khr;
    let (mut count, mut some) = (2, [vk::CooperativeMatrixPropertiesKHR::default(); 3]);
    // SAFETY: the array has space for two.
    let result = unsafe { get(c.physical, &mut count, some.as_mut_ptr()) };
    assert_eq!((result, count, some[1].m_size > 0, some[2].m_size), (vk::Result::INCOMPLETE, 2, true, 0));

    // Whole numbers, which are exact in any order of summation.
    let float = |i: usize| ((i * 7) % 11) as f32 - 5.0;
    let buffers = [(0..1000).map(|i| float(i).to_bits()).collect(), vec![0; 80], vec![0; 32], vec![0; 1000]];
    // bfloat16, E4M3 and E5M2 can represent them too; sums are floats.
    let small = [(0..192).map(|i| float(i).to_bits()).collect(), vec![0; 384]];
    let out = dispatch(&c, &shader!("../../../jit/tests/data/cooperative_small.comp"), &small).remove(1);
    for (i, chunk) in out.chunks(128).enumerate() {
        for (n, bits) in chunk[..64].iter().enumerate() {
            let dot: f32 = (0..8).map(|k| float(n / 8 * 8 + k) * float(64 + n % 8 * 8 + k)).sum();
            assert_eq!(f32::from_bits(*bits), dot + float(128 + n), "type {i}, element {n}");
        }
    }
    let out = dispatch(&c, &shader!("../../../jit/tests/data/cooperative.comp"), &buffers).remove(3);
    for (i, &bits) in out[..256].iter().enumerate() {
        let (row, column) = (i / 16, i % 16);
        let dot: f32 = (0..16).map(|k| float(3 + 17 * row + k) * float(300 + 16 * column + k)).sum();
        assert_eq!(f32::from_bits(bits), float(600 + 18 * row + column) + dot, "row {row}, column {column}");
    }
}

#[test]
fn elements_of_cooperative_matrices() {
    let c = Context::new(&[], &[c"VK_KHR_cooperative_matrix", c"VK_NV_cooperative_matrix2", c"VK_KHR_shader_bfloat16"]);
    let name = c"vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV";
    // SAFETY: the instance has this command, with this type.
    let count = unsafe {
        let command = c.entry.get_instance_proc_addr(c.instance.handle(), name.as_ptr()).unwrap();
        type Query = unsafe extern "system" fn(vk::PhysicalDevice, *mut u32, *mut std::ffi::c_void) -> vk::Result;
        let query = std::mem::transmute::<unsafe extern "system" fn(), Query>(command);
        let mut count = 7;
        assert_eq!(query(c.physical, &mut count, std::ptr::null_mut()), vk::Result::SUCCESS);
        count
    };
    assert_eq!(count, 0, "sizes are those of the other query");
    let floats: Vec<u32> = (0..512).map(|i| (((i * 7) % 11) as f32).to_bits()).collect();
    let buffers = [floats, (0..256).collect(), vec![0; 1408], vec![0; 3072]];
    let out = dispatch(&c, &shader!("../../../jit/tests/data/cooperative2.comp"), &buffers);
    let greatest = |row: u32| (0..16).map(|c| (16 * row + c) * 7 % 11).max().unwrap_or(0);
    for (i, &bits) in out[2][320..576].iter().enumerate() {
        assert_eq!(f32::from_bits(bits), greatest(i as u32 / 16) as f32, "row {}", i / 16);
    }
    assert_eq!(out[3][2304..2368], [255 * 128; 64], "the sum of all");
}

#[test]
fn quads_of_compute_stages() {
    let c = Context::new(&[], &[c"VK_KHR_compute_shader_derivatives"]);
    let out = dispatch(&c, &shader!("../../../jit/tests/data/quads.comp"), &[vec![0; 384]]).remove(0);
    // Derivatives of x² + 10 y² + 100 z + x y at (3, 1, 1), along x and y in its square.
    let at = 3 + 6 + 24;
    assert_eq!(out[8 * at..8 * at + 2], [(9.0f32 - 4.0 + 1.0).to_bits(), 13f32.to_bits()]);
}

#[test]
fn partitions() {
    let c = Context::new(&[], &[c"VK_NV_shader_subgroup_partitioned"]);
    let keys = [1, 0, 2, 0, 1, 0, 2, 0, 1, 0, 9, 9, 1, 0, 2, 0];
    let buffers = [keys.repeat(8), vec![0; 64 * 9]];
    let out = dispatch(&c, &shader!("../../../jit/tests/data/partition.comp"), &buffers).remove(1);
    let ballots: Vec<u32> = out.chunks(9).take(8).map(|invocation| invocation[0]).collect();
    assert_eq!(ballots, [0b0101_0101, 0b1000_1010, 0b0101_0101, 0b1000_1010, 0b0101_0101, 0, 0b0101_0101, 0b1000_1010]);
}

#[test]
fn untyped_pointers_and_replicated_composites() {
    let c = Context::new(&[], &[c"VK_KHR_shader_untyped_pointers", c"VK_EXT_shader_replicated_composites"]);
    let input: Vec<u32> = (0..43).map(|i| 0x10001 * i).collect();
    let after = dispatch(&c, &shader!("../../../jit/tests/data/untyped.comp"), &[input, vec![5; 12], vec![0; 128]]);
    assert_eq!((after[1][0], after[2][2], after[2][3], after[2][16 + 5]), (45, 0, 9, 16));
    assert_eq!(after[2][16 + 8..16 + 11], [0x10001, 0x20002, 0x30003]);
    let after = dispatch(&c, &shader!("../../../jit/tests/data/replicated.comp"), &[vec![0, 0, 0, 21]]);
    assert_eq!(after[0], [7, 5, 42, 21]);
}

/// Checks that the vertices of a draw are a subgroup too.
#[test]
fn vertices_use_subgroup_operations() {
    let c = pipeline::render_context(&[], false);
    let target = c.image(vk::Format::R8G8B8A8_UNORM, [64; 2], vk::SampleCountFlags::TYPE_1, 1);
    // SAFETY: valid usage.
    let layout = unsafe { c.device.create_pipeline_layout(&vk::PipelineLayoutCreateInfo::default(), None) }.unwrap();
    let pipeline =
        pipeline::graphics(&c, &shader!("../data/subgroup.vert"), &shader!("../data/triangle.frag"), layout, false);
    // SAFETY: valid usage.
    let drawn = pipeline::render(&c, &target, common::info::area(64), |b| unsafe {
        c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
        c.device.cmd_draw(b, 3, 1, 0, 0);
    });
    assert_eq!(drawn, Ok(()));
    let texels = c.read_image(&target, 4);
    for texel in texels.as_chunks::<4>().0 {
        assert_eq!(*texel, [6, 3, 41, 2]);
    }
    // SAFETY: valid usage.
    unsafe {
        c.device.destroy_pipeline(pipeline, None);
        c.device.destroy_pipeline_layout(layout, None);
    }
    c.free_image(target);
}
