//! Tests of pipeline cache data that the driver did not write: it is treated as empty.

mod common;
#[path = "common/pipeline.rs"]
mod pipeline;
use ash::vk;
use common::{Context, spirv};
use pipeline::{Set, compute, run};

const TYPES: [(vk::DescriptorType, u32); 2] =
    [(vk::DescriptorType::STORAGE_BUFFER, 1), (vk::DescriptorType::UNIFORM_BUFFER, 1)];

/// Returns the pipeline's result over one workgroup.
fn result(c: &Context, set: &Set, pipeline: vk::Pipeline) -> Vec<u32> {
    let (mut data, mut uniform) = (c.buffer(4 * 64), c.buffer(16));
    data.fill_words(|i| i * 7);
    uniform.fill_words(|_| 1000);
    set.buffers(c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(data.buffer, 0, vk::WHOLE_SIZE)]);
    set.buffers(c, 1, vk::DescriptorType::UNIFORM_BUFFER, &[(uniform.buffer, 0, 16)]);
    run(c, set, pipeline, &5u32.to_le_bytes()).unwrap();
    let words = data.words();
    c.free(data);
    c.free(uniform);
    words
}

fn cache(c: &Context, data: &[u8]) -> vk::PipelineCache {
    // SAFETY: any data is valid.
    unsafe { c.device.create_pipeline_cache(&vk::PipelineCacheCreateInfo::default().initial_data(data), None) }.unwrap()
}

#[test]
fn damaged_data_is_ignored() {
    let c = Context::new(&[], &[]);
    let set = Set::new(&c, &TYPES);
    let words = spirv(include_bytes!("data/square.comp.spv"));
    // SAFETY: valid usage.
    let contents = |cache| unsafe { c.device.get_pipeline_cache_data(cache) }.unwrap();
    // SAFETY: valid usage.
    let destroy = |cache| unsafe { c.device.destroy_pipeline_cache(cache, None) };
    let make = |cache| compute(&c, cache, set.layout, &words, &[]);

    let empty = cache(&c, &[]);
    let nothing = contents(empty);
    let expected = result(&c, &set, make(empty));
    let data = contents(empty);
    destroy(empty);
    assert!(data.len() > nothing.len() + 200);
    // Complete data is used: the check below would notice if data were never used.
    let whole = cache(&c, &data);
    assert_eq!(contents(whole), data);
    assert_eq!(result(&c, &set, make(whole)), expected);
    destroy(whole);

    let mut checked = 0;
    let mut check = |what: &str, bad: &[u8]| {
        let cache = cache(&c, bad);
        assert_eq!(contents(cache), nothing, "{what}");
        // Compiling costs a millisecond, so not every one of thousands is compiled.
        checked += 1;
        if checked % 97 == 0 {
            assert_eq!(result(&c, &set, make(cache)), expected, "{what}");
            assert_eq!(contents(cache), data, "{what}: the cache is filled again");
        }
        destroy(cache);
    };
    for length in 0..data.len() {
        check(&format!("cut to {length}"), &data[..length]);
    }
    let header = 64;
    let bits = (0..header * 8).chain((header..data.len()).map(|byte| 8 * byte + byte * 5 % 8));
    for bit in bits {
        let mut flipped = data.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        check(&format!("bit {bit}"), &flipped);
    }
    // Another vendor, device, or build.
    for (at, bytes) in [(8, &b"abcd"[..]), (12, b"\0\0\0\x7f"), (16, b"another driver's")] {
        let mut other = data.clone();
        other[at..at + bytes.len()].copy_from_slice(bytes);
        check(&format!("header at {at}"), &other);
    }
    check("something behind", &[&data[..], &[0]].concat());
    check("twice", &[&data[..], &data].concat());
    // Foreign code: the code blob's own checksum is right, and everything that can be computed
    // without the key.
    let length = |at: usize| u64::from_le_bytes(data[header + at..header + at + 8].try_into().unwrap()) as usize;
    let blob = header + 24 + length(0) + length(8);
    let mut forged = data.clone();
    let last = forged.len() - 1;
    forged[last] = 0xcc;
    let sum = xxhash_rust::xxh3::xxh3_128(&forged[blob + 16..]).to_le_bytes();
    forged[blob..blob + 16].copy_from_slice(&sum);
    check("forged code", &forged);
    for tag in [[0; 32], *blake3::hash(&[&forged[..32], &forged[header..]].concat()).as_bytes()] {
        forged[32..header].copy_from_slice(&tag);
        check("forged code and tag", &forged);
    }
    set.destroy(&c);
}

/// Returns true if a cache has code for this processor from which a compute pipeline can be made.
fn only_cached(c: &Context, cache: vk::PipelineCache, layout: vk::PipelineLayout, words: &[u32]) -> bool {
    let module = pipeline::module(c, words);
    let stage =
        vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE).module(module).name(c"main");
    let flags = vk::PipelineCreateFlags::FAIL_ON_PIPELINE_COMPILE_REQUIRED;
    let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout).flags(flags);
    // SAFETY: valid usage.
    match unsafe { c.device.create_compute_pipelines(cache, &[info], None) } {
        Ok(_) => true,
        Err((_, result)) => {
            assert_eq!(result, vk::Result::PIPELINE_COMPILE_REQUIRED);
            false
        }
    }
}

/// Performs the action that the environment names in a process of its own: `save`, `find` (its
/// status says whether the stage came from the data), `need` (says whether there is code), or
/// `make` (says whether a pipeline computes the same as without the data).
#[test]
fn child() {
    let Ok(what) = std::env::var("GRUS_TEST_CACHE") else { return };
    let file = std::path::PathBuf::from(std::env::var_os("GRUS_TEST_FILE").unwrap());
    let c = Context::new(&[], &[]);
    let set = Set::new(&c, &TYPES);
    let words = spirv(include_bytes!("data/square.comp.spv"));
    if what == "save" {
        let cache = cache(&c, &[]);
        compute(&c, cache, set.layout, &words, &[]);
        // SAFETY: valid usage.
        std::fs::write(&file, unsafe { c.device.get_pipeline_cache_data(cache) }.unwrap()).unwrap();
    } else {
        let data = std::fs::read(&file).unwrap();
        let cache = cache(&c, &data);
        if what == "make" {
            let (expected, made) = {
                let make = |cache| result(&c, &set, compute(&c, cache, set.layout, &words, &[]));
                (make(vk::PipelineCache::null()), make(cache))
            };
            std::process::exit(if made == expected { 42 } else { 43 });
        }
        if what == "need" {
            std::process::exit(if only_cached(&c, cache, set.layout, &words) { 42 } else { 43 });
        }
        // SAFETY: valid usage.
        let contents = unsafe { c.device.get_pipeline_cache_data(cache) }.unwrap();
        let found = contents == data;
        assert!(found || contents.len() == 64, "all or nothing");
        std::process::exit(if found { 42 } else { 43 });
    }
}

/// Variable with the folder of the user's key.
const STATE: &str = if cfg!(windows) { "LOCALAPPDATA" } else { "XDG_STATE_HOME" };

/// Checks that the user's other processes accept the data, and processes without the user's key do
/// not.
#[test]
fn data_of_another_user_is_ignored() {
    let place = std::env::temp_dir().join(format!("grus-cache-{}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    let child = |what: &str, state: Option<&str>| {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child"]).env("GRUS_TEST_CACHE", what).env("GRUS_TEST_FILE", place.join("data"));
        command.env_remove(STATE).env_remove("HOME");
        if let Some(state) = state {
            command.env(STATE, place.join(state));
        }
        command.output().unwrap().status.code().unwrap()
    };
    assert_eq!(child("save", Some("one")), 0);
    assert_eq!(child("find", Some("one")), 42, "the same user");
    assert_eq!(child("find", Some("two")), 43, "another user");
    assert_eq!(child("find", None), 43, "no place for a key");
    assert_eq!(child("save", None), 0, "works inside of the process");
    assert_eq!(child("find", None), 43, "another process without a place");
    assert_eq!(child("find", Some("one")), 43);
    std::fs::remove_dir_all(&place).unwrap();
}

/// Checks that a processor without the features of the code's own processor does not accept the
/// code.
#[test]
#[cfg(target_arch = "x86_64")]
fn data_is_valid_on_processors_with_the_same_features() {
    let place = std::env::temp_dir().join(format!("grus-cache-cpu-{}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    let child = |what: &str, cpu: &str| {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child"]).env("GRUS_TEST_CACHE", what).env("GRUS_TEST_FILE", place.join("data"));
        command.env(STATE, &place).env("GRUS_CPU", cpu).output().unwrap().status.code().unwrap()
    };
    let levels = ["v2", "v3", "v4"];
    let here = match (is_x86_feature_detected!("avx2"), is_x86_feature_detected!("avx512vl")) {
        (_, true) => 3,
        (true, _) => 2,
        _ => 1,
    };
    for (made, by) in levels[..here].iter().enumerate() {
        assert_eq!(child("save", by), 0);
        for (found, other) in levels[..here].iter().enumerate() {
            assert_eq!(child("need", other), if found >= made { 42 } else { 43 }, "made with {by}, for {other}");
            assert_eq!(child("make", other), 42, "made with {by}, for {other}");
        }
    }
    std::fs::remove_dir_all(&place).unwrap();
}

/// Makes a compute pipeline with these flags.
fn captured(c: &Context, layout: vk::PipelineLayout, flags: vk::PipelineCreateFlags) -> vk::Pipeline {
    let module = pipeline::module(c, &spirv(include_bytes!("data/square.comp.spv")));
    let stage =
        vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE).module(module).name(c"main");
    let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout).flags(flags);
    // SAFETY: valid usage.
    unsafe {
        let pipelines = c.device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None).expect("pipeline");
        c.device.destroy_shader_module(module, None);
        pipelines[0]
    }
}

/// Returns at most this many bytes of a text.
fn text(
    executables: &ash::khr::pipeline_executable_properties::Device,
    info: &vk::PipelineExecutableInfoKHR<'_>,
    number: usize,
    most: usize,
) -> (vk::Result, Vec<u8>) {
    let get = executables.fp().get_pipeline_executable_internal_representations_khr;
    // SAFETY: valid usage.
    let mut list = unsafe { executables.get_pipeline_executable_internal_representations(info) }.unwrap();
    let mut bytes = vec![b'x'; list[number].data_size.min(most)];
    (list[number].data_size, list[number].p_data) = (bytes.len(), bytes.as_mut_ptr().cast());
    let mut count = list.len() as u32;
    // SAFETY: valid usage.
    let result = unsafe { get(executables.device(), info, &mut count, list.as_mut_ptr()) };
    assert_eq!((list[number].is_text, list[number].data_size), (vk::TRUE, bytes.len()));
    (result, bytes)
}

#[test]
fn a_pipeline_reports_its_code_if_captured() {
    type Flags = vk::PipelineCreateFlags;
    let mut feature =
        vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default().pipeline_executable_info(true);
    let c = Context::with(&[], &[c"VK_KHR_pipeline_executable_properties"], &mut [&mut feature]);
    let executables = ash::khr::pipeline_executable_properties::Device::new(&c.instance, &c.device);
    let set = Set::new(&c, &TYPES);
    let all = Flags::CAPTURE_STATISTICS_KHR | Flags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR;
    let pipelines = [Flags::empty(), Flags::CAPTURE_STATISTICS_KHR, all].map(|flags| captured(&c, set.layout, flags));
    let mut seen = Vec::new();
    for &pipeline in &pipelines {
        let info = vk::PipelineInfoKHR::default().pipeline(pipeline);
        // SAFETY: valid usage.
        let list = unsafe { executables.get_pipeline_executable_properties(&info) }.unwrap();
        let of = |e: &vk::PipelineExecutablePropertiesKHR<'_>| {
            assert_eq!((e.stages, e.subgroup_size), (vk::ShaderStageFlags::COMPUTE, 8));
            e.name_as_c_str().unwrap().to_owned()
        };
        seen.push(list.iter().map(of).collect::<Vec<_>>());
    }
    assert!(seen[0][0].to_str().unwrap().starts_with("Compute by tier "), "{seen:?}");
    assert!(seen[0].len() < 2 || seen[0][0] != seen[0][1], "{seen:?}");
    assert!(seen[0] == seen[1] && seen[1] == seen[2], "what is captured changes nothing: {seen:?}");
    for number in 0..seen[0].len() as u32 {
        let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipelines[1]).executable_index(number);
        // SAFETY: valid usage.
        let statistics = unsafe { executables.get_pipeline_executable_statistics(&info) }.unwrap();
        let value = |name: &str| {
            let named = statistics.iter().find(|s| s.name_as_c_str().unwrap().to_str() == Ok(name));
            // SAFETY: the filter leaves only statistics of this format.
            named
                .filter(|s| s.format == vk::PipelineExecutableStatisticFormatKHR::UINT64)
                .map(|s| unsafe { s.value.u64 })
        };
        let code = value("Code size").unwrap();
        assert!(code > 16 && value("LIR instructions").unwrap() > 8 && value("IR instructions").unwrap() > 4);
        let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipelines[2]).executable_index(number);
        // SAFETY: valid usage.
        let texts = unsafe { executables.get_pipeline_executable_internal_representations(&info) }.unwrap();
        let names: Vec<_> = texts.iter().map(|t| t.name_as_c_str().unwrap().to_str().unwrap().to_owned()).collect();
        let machine = names.iter().position(|n| n == "Machine code").unwrap();
        assert!(names.starts_with(&["IR".into(), "LIR".into()]) && names.len() > 3, "{names:?}");
        let (result, hex) = text(&executables, &info, machine, usize::MAX);
        assert_eq!((result, hex.last(), hex.iter().filter(|b| **b == 0).count()), (vk::Result::SUCCESS, Some(&0), 1));
        let bytes = hex.split(|b| b" \n".contains(b)).filter(|word| word.len() == 2).count();
        assert_eq!(bytes as u64, code, "both pipelines have the same code");
        let (result, part) = text(&executables, &info, machine, 9);
        assert_eq!((result, &part[..]), (vk::Result::INCOMPLETE, &[&hex[..8], b"\0"].concat()[..]));
    }
    // SAFETY: valid usage.
    pipelines.iter().for_each(|&p| unsafe { c.device.destroy_pipeline(p, None) });
    set.destroy(&c);
}
