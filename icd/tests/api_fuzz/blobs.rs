//! Mutated blobs of all kinds that the driver takes back.

use super::*;

/// Number of kinds of blobs.
const KINDS: usize = 4;

/// A kind of blob that the driver takes back.
struct Blob {
    data: Vec<u8>,
    /// Loads a blob, and returns true if it is used.
    load: Box<Load>,
}

type Load = dyn Fn(&Context, &[u8]) -> bool;

/// Returns the blobs of all kinds, with contents.
fn blobs(c: &Context, commands: Commands) -> [Blob; KINDS] {
    let set = Set::new(c, &[(D::STORAGE_BUFFER, 1), (D::UNIFORM_BUFFER, 1)]);
    let words = spirv(include_bytes!("../data/square.comp.spv"));
    let verdicts = ash::ext::validation_cache::Device::new(&c.instance, &c.device);
    let device = c.device.handle();
    // SAFETY: valid usage.
    let (binary, cached, verdict) = unsafe {
        let mut cache = vk::ValidationCacheEXT::null();
        (verdicts.fp().create_validation_cache_ext)(device, &Default::default(), std::ptr::null(), &mut cache)
            .result()
            .expect("a cache");
        let mut chained = vk::ShaderModuleValidationCacheCreateInfoEXT::default().validation_cache(cache);
        let info = vk::ShaderModuleCreateInfo::default().code(&words).push_next(&mut chained);
        let module = c.device.create_shader_module(&info, None).expect("a module");
        let verdict = verdict_data(c, cache);
        (verdicts.fp().destroy_validation_cache_ext)(device, cache, std::ptr::null());
        let mut flags = vk::PipelineCreateFlags2CreateInfoKHR::default().flags(binaries::CAPTURE_DATA);
        let stage = vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE);
        let info = vk::ComputePipelineCreateInfo::default().stage(stage.module(module).name(c"main"));
        let info = info.layout(set.layout);
        let made = |cache, info| c.device.create_compute_pipelines(cache, &[info], None).expect("a pipeline")[0];
        let captured = made(vk::PipelineCache::null(), info.push_next(&mut flags));
        let binary = commands.take(commands.of_pipeline(captured).expect("binaries")).remove(0);
        let cache = c.device.create_pipeline_cache(&Default::default(), None).expect("a cache");
        let pipelines = [captured, made(cache, info)];
        let cached = c.device.get_pipeline_cache_data(cache).expect("data");
        c.device.destroy_pipeline_cache(cache, None);
        pipelines.into_iter().for_each(|pipeline| c.device.destroy_pipeline(pipeline, None));
        c.device.destroy_shader_module(module, None);
        (binary, cached, verdict)
    };
    set.destroy(c);
    let (key, binary) = binary;
    let load_binary = move |_: &Context, data: &[u8]| {
        let (result, list) = commands.of_data(&[(key, data)]);
        if result != vk::Result::SUCCESS {
            assert_eq!((result, list[0]), (vk::Result::ERROR_INITIALIZATION_FAILED, 0));
            return false;
        }
        commands.destroy(list[0]);
        true
    };
    let load_cache = |c: &Context, data: &[u8]| {
        let info = vk::PipelineCacheCreateInfo::default().initial_data(data);
        // SAFETY: any data is valid.
        unsafe {
            let cache = c.device.create_pipeline_cache(&info, None).expect("a cache");
            let contents = c.device.get_pipeline_cache_data(cache).expect("data");
            c.device.destroy_pipeline_cache(cache, None);
            contents.len() > 64
        }
    };
    let load_verdicts = move |c: &Context, data: &[u8]| {
        let (info, mut cache) = (vk::ValidationCacheCreateInfoEXT::default().initial_data(data), Default::default());
        // SAFETY: any data is valid.
        unsafe {
            (verdicts.fp().create_validation_cache_ext)(device, &info, std::ptr::null(), &mut cache)
                .result()
                .expect("a cache");
            let contents = verdict_data(c, cache);
            (verdicts.fp().destroy_validation_cache_ext)(device, cache, std::ptr::null());
            contents.len() > 64
        }
    };
    [
        Blob { data: binary, load: Box::new(load_binary) },
        Blob { data: cached, load: Box::new(load_cache) },
        Blob { data: verdict, load: Box::new(load_verdicts) },
        shader_binary(c),
    ]
}

/// Returns the binary of a shader object.
fn shader_binary(c: &Context) -> Blob {
    let objects = ash::ext::shader_object::Device::new(&c.instance, &c.device);
    let words = spirv(include_bytes!("../data/full.vert.spv"));
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let info = |kind| {
        let info = vk::ShaderCreateInfoEXT::default().stage(vk::ShaderStageFlags::VERTEX);
        info.next_stage(vk::ShaderStageFlags::FRAGMENT).code_type(kind).name(c"main")
    };
    // SAFETY: valid usage.
    let data = unsafe {
        let made = objects.create_shaders(&[info(vk::ShaderCodeTypeEXT::SPIRV).code(&bytes)], None);
        let shader = made.expect("a shader")[0];
        let data = objects.get_shader_binary_data(shader).expect("data");
        objects.destroy_shader(shader, None);
        data
    };
    let load = move |_: &Context, data: &[u8]| {
        // SAFETY: the usage is valid, apart from the data.
        unsafe {
            match objects.create_shaders(&[info(vk::ShaderCodeTypeEXT::BINARY).code(data)], None) {
                Ok(shaders) => {
                    objects.destroy_shader(shaders[0], None);
                    true
                }
                Err((shaders, error)) => {
                    let refused = (vk::ShaderEXT::null(), vk::Result::INCOMPATIBLE_SHADER_BINARY_EXT);
                    assert_eq!((shaders[0], error), refused);
                    false
                }
            }
        }
    };
    Blob { data, load: Box::new(load) }
}

fn verdict_data(c: &Context, cache: vk::ValidationCacheEXT) -> Vec<u8> {
    let verdicts = ash::ext::validation_cache::Device::new(&c.instance, &c.device);
    let (get, mut size) = (verdicts.fp().get_validation_cache_data_ext, 0);
    // SAFETY: valid usage.
    unsafe {
        get(c.device.handle(), cache, &mut size, std::ptr::null_mut()).result().expect("size");
        let mut data = vec![0u8; size];
        get(c.device.handle(), cache, &mut size, data.as_mut_ptr().cast()).result().expect("data");
        data
    }
}

/// Changes a blob in one way; `others` are those of all kinds.
fn mutate(data: &mut Vec<u8>, others: &[Blob], rng: &mut Rng) {
    let at = rng.below(data.len().max(1));
    let Some(byte) = data.get_mut(at) else { return data.push(rng.next() as u8) };
    match rng.below(9) {
        0..=2 => *byte ^= 1 << rng.below(8),
        3 => *byte = rng.next() as u8,
        4 => data.truncate(at),
        5 => data.extend((0..1 + rng.below(40)).map(|_| rng.next() as u8)),
        6 => {
            // A length, for the most part, at a multiple of 4.
            let number = near(rng, data.len() as u64).to_le_bytes();
            let at = at & !3;
            let end = data.len().min(at + 8);
            data[at..end].copy_from_slice(&number[..end - at]);
        }
        7 => {
            let from = &others[rng.below(others.len())].data;
            let length = rng.below(from.len().min(data.len() - at) + 1);
            let begin = rng.below(from.len() - length + 1);
            data[at..at + length].copy_from_slice(&from[begin..begin + length]);
        }
        _ => {
            let end = at + rng.below(data.len() - at + 1);
            data.drain(at..end);
        }
    }
}

#[test]
fn blobs_are_used_only_as_the_driver_made_them() {
    let (c, commands) = binaries::context(&[], &mut []);
    let blobs = blobs(&c, commands);
    assert!(blobs.iter().all(|blob| (blob.load)(&c, &blob.data)), "the driver's own blobs are used");
    let mut changed = [0; KINDS];
    rounds(|number, rng| {
        let kind = rng.below(blobs.len());
        let blob = &blobs[kind];
        let mut data = blob.data.clone();
        (0..1 + rng.below(3)).for_each(|_| mutate(&mut data, &blobs, rng));
        let intact = data == blob.data;
        changed[kind] += u64::from(!intact);
        assert_eq!((blob.load)(&c, &data), intact, "seed {number}, kind {kind}");
    });
    assert!(changed.iter().all(|count| *count > 0), "{changed:?}");
}

/// Checks that a blob that changes while it is read is used only if what was read is authentic.
#[test]
fn blobs_may_change_while_they_are_read() {
    let (c, commands) = binaries::context(&[], &mut []);
    let [blob, ..] = blobs(&c, commands);
    let (_, list) = {
        let key = blake3::hash(&blob.data[64..]);
        commands.of_data(&[(binaries::Key::new(key.as_bytes()), &blob.data)])
    };
    let (key, original) = commands.data(list[0]);
    commands.destroy(list[0]);
    let shared: Vec<AtomicU32> = original
        .chunks(4)
        .map(|chunk| AtomicU32::new(chunk.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))))
        .collect();
    // SAFETY: the words live as long as the test; the driver reads them while another thread
    // writes, which the test is about.
    let data = unsafe { std::slice::from_raw_parts(shared.as_ptr().cast::<u8>(), original.len()) };
    let stop = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let mut rng = Rng::new(3);
            while !stop.load(Ordering::Relaxed) {
                let word = &shared[rng.below(shared.len())];
                word.fetch_xor(1, Ordering::Relaxed);
                (0..rng.below(2000)).for_each(|_| std::hint::spin_loop());
                word.fetch_xor(1, Ordering::Relaxed);
                (0..rng.below(20_000)).for_each(|_| std::hint::spin_loop());
            }
        });
        let (mut used, mut refused) = (0, 0);
        rounds(|_, _| {
            let (result, list) = commands.of_data(&[(key, data)]);
            if result == vk::Result::SUCCESS {
                assert_eq!(commands.data(list[0]), (key, original.clone()), "the original contents");
                commands.destroy(list[0]);
                used += 1;
            } else {
                refused += 1;
            }
        });
        stop.store(true, Ordering::Relaxed);
        eprintln!("{used} used, {refused} refused");
    });
}
