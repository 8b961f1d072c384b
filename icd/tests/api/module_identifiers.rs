//! Tests of module identifiers, and of validation caches, which know modules by them.

use crate::binaries;
use crate::common::Context;
use crate::pipeline::{Set, module};
use ash::vk;

const TYPES: [(vk::DescriptorType, u32); 2] =
    [(vk::DescriptorType::STORAGE_BUFFER, 1), (vk::DescriptorType::UNIFORM_BUFFER, 1)];
const STRICT: vk::PipelineCreateFlags = vk::PipelineCreateFlags::FAIL_ON_PIPELINE_COMPILE_REQUIRED;
const REQUIRED: vk::Result = vk::Result::PIPELINE_COMPILE_REQUIRED;

/// Returns the identifier of a module, by both commands.
fn identifier(c: &Context, words: &[u32]) -> Vec<u8> {
    let functions = ash::ext::shader_module_identifier::Device::new(&c.instance, &c.device);
    let info = vk::ShaderModuleCreateInfo::default().code(words);
    let (mut of_module, mut of_info) = <[vk::ShaderModuleIdentifierEXT<'_>; 2]>::default().into();
    // SAFETY: valid usage.
    unsafe {
        let module = module(c, words);
        let device = c.device.handle();
        (functions.fp().get_shader_module_identifier_ext)(device, module, &mut of_module);
        (functions.fp().get_shader_module_create_info_identifier_ext)(device, &info, &mut of_info);
        c.device.destroy_shader_module(module, None);
    }
    let [of_module, of_info] =
        [of_module, of_info].map(|made| made.identifier[..made.identifier_size as usize].to_vec());
    assert_eq!(of_module, of_info);
    of_module
}

/// Creates a compute pipeline of a module or of an identifier.
fn create(
    c: &Context,
    layout: vk::PipelineLayout,
    cache: vk::PipelineCache,
    source: Result<vk::ShaderModule, &[u8]>,
    constant: u32,
) -> Result<(vk::Pipeline, bool), vk::Result> {
    let entries = [vk::SpecializationMapEntry { constant_id: 1, offset: 0, size: 4 }];
    let data = constant.to_le_bytes();
    let constants = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
    let mut stage = vk::PipelineShaderStageCreateInfo::default()
        .stage(vk::ShaderStageFlags::COMPUTE)
        .name(c"main")
        .specialization_info(&constants);
    let mut chained = vk::PipelineShaderStageModuleIdentifierCreateInfoEXT::default();
    let mut flags = vk::PipelineCreateFlags::empty();
    match source {
        Ok(module) => stage = stage.module(module),
        Err(identifier) => {
            chained = chained.identifier(identifier);
            (stage, flags) = (stage.push_next(&mut chained), STRICT);
        }
    }
    let (mut whole, mut stages) = Default::default();
    let mut feedback = vk::PipelineCreationFeedbackCreateInfo::default()
        .pipeline_creation_feedback(&mut whole)
        .pipeline_stage_creation_feedbacks(std::slice::from_mut(&mut stages));
    let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout).flags(flags);
    // SAFETY: valid usage.
    let made = unsafe { c.device.create_compute_pipelines(cache, &[info.push_next(&mut feedback)], None) };
    let hit = whole.flags.contains(vk::PipelineCreationFeedbackFlags::APPLICATION_PIPELINE_CACHE_HIT);
    made.map(|list| (list[0], hit)).map_err(|(list, error)| {
        assert_eq!(list[0], vk::Pipeline::null());
        error
    })
}

#[test]
fn identifiers_are_hashes_of_the_words() {
    let (c, _) = binaries::context(&[], &mut []);
    let words = shader!("square.comp");
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(identifier(&c, &words), blake3::hash(&bytes).as_bytes());
    assert_ne!(identifier(&c, &words), identifier(&c, &shader!("red.frag")));
    let mut algorithm = vk::PhysicalDeviceShaderModuleIdentifierPropertiesEXT::default();
    let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut algorithm);
    // SAFETY: valid usage.
    unsafe { c.instance.get_physical_device_properties2(c.physical, &mut all) };
    assert_ne!(algorithm.shader_module_identifier_algorithm_uuid, [0; 16]);
}

#[test]
fn identifiers_find_living_stages_and_those_of_the_cache() {
    let none = vk::PipelineCache::null();
    let words = shader!("square.comp");
    let data = {
        let (c, _) = binaries::context(&[], &mut []);
        let set = Set::new(&c, &TYPES);
        let id = identifier(&c, &words);
        let made = |cache, source, constant| create(&c, set.layout, cache, source, constant);
        // SAFETY: the pipelines are not in use.
        let destroy = |pipeline| unsafe { c.device.destroy_pipeline(pipeline, None) };
        assert_eq!(made(none, Err(&id), 3), Err(REQUIRED), "no pipeline has the module");
        // SAFETY: valid usage.
        let cache = unsafe { c.device.create_pipeline_cache(&Default::default(), None) }.expect("a cache");
        assert_eq!(made(cache, Err(&id), 3), Err(REQUIRED));
        let module = module(&c, &words);
        let (first, hit) = made(none, Ok(module), 3).expect("a pipeline");
        assert!(!hit);
        // SAFETY: the module is not in use.
        unsafe { c.device.destroy_shader_module(module, None) };
        let (second, hit) = made(none, Err(&id), 3).expect("a living stage");
        assert!(!hit, "it is in no cache");
        assert_eq!(made(none, Err(&id), 4), Err(REQUIRED), "another constant");
        let flipped = [&[id[0] ^ 1][..], &id[1..]].concat();
        for wrong in [&id[..31], &id[..1], &flipped] {
            assert_eq!(made(cache, Err(wrong), 3), Err(REQUIRED));
        }
        let (third, _) = made(cache, Err(&id), 3).expect("a living stage, which the cache gets");
        [first, second, third].into_iter().for_each(destroy);
        let (fourth, hit) = made(cache, Err(&id), 3).expect("the cache's stage");
        assert!(hit);
        destroy(fourth);
        // SAFETY: valid usage.
        let data = unsafe {
            let data = c.device.get_pipeline_cache_data(cache).expect("data");
            c.device.destroy_pipeline_cache(cache, None);
            data
        };
        assert_eq!(made(none, Err(&id), 3), Err(REQUIRED), "the stage does not live any more");
        set.destroy(&c);
        data
    };
    let (c, _) = binaries::context(&[], &mut []);
    let set = Set::new(&c, &TYPES);
    let id = identifier(&c, &words);
    let load = |data: &[u8]| {
        let info = vk::PipelineCacheCreateInfo::default().initial_data(data);
        // SAFETY: any data is valid.
        unsafe { c.device.create_pipeline_cache(&info, None) }.expect("a cache")
    };
    let caches = [load(&data), load(&data[..data.len() - 1]), load(&[])];
    // Stages of the intact data live as soon as they are used.
    assert_eq!(create(&c, set.layout, caches[1], Err(&id), 3), Err(REQUIRED), "damaged data");
    assert_eq!(create(&c, set.layout, caches[2], Err(&id), 3), Err(REQUIRED), "no data");
    let (pipeline, hit) = create(&c, set.layout, caches[0], Err(&id), 3).expect("the data's stage");
    assert!(hit);
    // SAFETY: the pipeline is not in use.
    unsafe { c.device.destroy_pipeline(pipeline, None) };
    // A cache has the modules of those that are merged into it, also after a look-up.
    // SAFETY: valid usage.
    unsafe {
        c.device.merge_pipeline_caches(caches[2], &caches[..1]).expect("merge");
        let (pipeline, hit) = create(&c, set.layout, caches[2], Err(&id), 3).expect("the merged stage");
        assert!(hit);
        c.device.destroy_pipeline(pipeline, None);
        caches.into_iter().for_each(|cache| c.device.destroy_pipeline_cache(cache, None));
    }
    set.destroy(&c);
}

/// Creates a module with a validation cache.
fn validated(c: &Context, cache: vk::ValidationCacheEXT, words: &[u32]) -> vk::ShaderModule {
    let mut chained = vk::ShaderModuleValidationCacheCreateInfoEXT::default().validation_cache(cache);
    let info = vk::ShaderModuleCreateInfo::default().code(words).push_next(&mut chained);
    // SAFETY: the usage is valid, apart from the words of a test.
    unsafe { c.device.create_shader_module(&info, None) }.expect("a module")
}

/// Commands of VK_EXT_validation_cache, with caches that end with the value.
struct Verdicts<'a> {
    c: &'a Context,
    functions: ash::ext::validation_cache::Device,
}

impl Verdicts<'_> {
    fn new(c: &Context) -> Verdicts<'_> {
        Verdicts { c, functions: ash::ext::validation_cache::Device::new(&c.instance, &c.device) }
    }

    fn create(&self, data: &[u8]) -> vk::ValidationCacheEXT {
        let info = vk::ValidationCacheCreateInfoEXT::default().initial_data(data);
        let (create, mut cache) = (self.functions.fp().create_validation_cache_ext, Default::default());
        // SAFETY: any data is valid.
        unsafe { create(self.c.device.handle(), &info, std::ptr::null(), &mut cache) }.result().expect("a cache");
        cache
    }

    fn data(&self, cache: vk::ValidationCacheEXT) -> Vec<u8> {
        let mut size = 0;
        assert_eq!(self.fill(cache, &mut size, std::ptr::null_mut()), vk::Result::SUCCESS);
        let mut data = vec![0; size];
        assert_eq!(self.fill(cache, &mut size, data.as_mut_ptr()), vk::Result::SUCCESS);
        data
    }

    fn fill(&self, cache: vk::ValidationCacheEXT, size: &mut usize, data: *mut u8) -> vk::Result {
        let get = self.functions.fp().get_validation_cache_data_ext;
        // SAFETY: the callers pass the size of the data.
        unsafe { get(self.c.device.handle(), cache, size, data.cast()) }
    }

    fn merge(&self, to: vk::ValidationCacheEXT, from: &[vk::ValidationCacheEXT]) {
        let merge = self.functions.fp().merge_validation_caches_ext;
        // SAFETY: valid usage.
        unsafe { merge(self.c.device.handle(), to, from.len() as u32, from.as_ptr()) }.result().expect("merge");
    }

    /// Returns the number of verdicts in the data.
    fn count(&self, cache: vk::ValidationCacheEXT) -> usize {
        (self.data(cache).len() - 64) / 32
    }

    fn destroy(&self, caches: &[vk::ValidationCacheEXT]) {
        let destroy = self.functions.fp().destroy_validation_cache_ext;
        // SAFETY: the caches are not in use.
        caches.iter().for_each(|cache| unsafe { destroy(self.c.device.handle(), *cache, std::ptr::null()) });
    }

    fn modules(&self, modules: &[vk::ShaderModule]) {
        // SAFETY: the modules are not in use.
        modules.iter().for_each(|module| unsafe { self.c.device.destroy_shader_module(*module, None) });
    }
}

#[test]
fn verdicts_are_saved_loaded_and_merged() {
    let (c, _) = binaries::context(&[], &mut []);
    let verdicts = Verdicts::new(&c);
    let (first, second) = (verdicts.create(&[]), verdicts.create(&[]));
    let header = verdicts.data(first);
    assert_eq!((header.len(), &header[..8]), (64, &[32, 0, 0, 0, 1, 0, 0, 0][..]));
    let words = shader!("square.comp");
    let modules = [&words[..], &words, &shader!("red.frag")].map(|words| validated(&c, first, words));
    assert_eq!(verdicts.count(first), 2);
    let other = validated(&c, second, &shader!("full.vert"));
    verdicts.merge(second, &[first]);
    assert_eq!((verdicts.count(first), verdicts.count(second)), (2, 3));
    let data = verdicts.data(second);
    let loaded = verdicts.create(&data);
    assert_eq!(verdicts.data(loaded), data);
    // Too little space: whole verdicts, or nothing if the header does not fit.
    for (space, filled) in [(16, 0), (40, 32), (64, 64), (95, 64), (96, 96), (127, 96)] {
        let (mut bytes, mut size) = (vec![0u8; space], space);
        let result = verdicts.fill(second, &mut size, bytes.as_mut_ptr());
        assert_eq!((result, size), (vk::Result::INCOMPLETE, filled), "{space}");
        let some = verdicts.create(&bytes[..size]);
        assert_eq!(verdicts.count(some), filled.saturating_sub(64) / 32);
        verdicts.destroy(&[some]);
    }
    for bad in [&data[..data.len() - 1], &[&data[..], &[0; 32]].concat(), &[&header[..], &data[64..]].concat()] {
        let cache = verdicts.create(bad);
        assert_eq!(verdicts.data(cache), header, "bad data is ignored");
        verdicts.destroy(&[cache]);
    }
    verdicts.modules(&modules);
    verdicts.modules(&[other]);
    verdicts.destroy(&[first, second, loaded]);
}

/// Checks that a module with a verdict makes the same pipelines as one without, and that a module
/// that is not valid has no verdict and makes none.
#[test]
fn a_verdict_changes_no_pipeline() {
    let (c, _) = binaries::context(&[], &mut []);
    let (set, verdicts) = (Set::new(&c, &TYPES), Verdicts::new(&c));
    let cache = verdicts.create(&[]);
    let words = shader!("square.comp");
    // The last instruction, OpFunctionEnd, is missing.
    let modules = [&words[..], &words, &words[..words.len() - 1]].map(|words| validated(&c, cache, words));
    assert_eq!(verdicts.count(cache), 1);
    let none = vk::PipelineCache::null();
    for (module, constant) in [(modules[0], 2), (modules[1], 3)] {
        let (pipeline, _) = create(&c, set.layout, none, Ok(module), constant).expect("a pipeline");
        let (mut data, uniform) = (c.buffer(256), c.buffer(16));
        data.fill_words(|i| i);
        set.buffers(&c, 0, TYPES[0].0, &[(data.buffer, 0, vk::WHOLE_SIZE)]);
        set.buffers(&c, 1, TYPES[1].0, &[(uniform.buffer, 0, 16)]);
        crate::pipeline::run(&c, &set, pipeline, &[0; 4]).expect("run");
        assert!(data.words().iter().zip(0..).all(|(word, i)| *word == (63 - i) * constant));
        c.free(data);
        c.free(uniform);
    }
    assert!(create(&c, set.layout, none, Ok(modules[2]), 2).is_err_and(|error| error.as_raw() < 0));
    verdicts.modules(&modules);
    verdicts.destroy(&[cache]);
    set.destroy(&c);
}
