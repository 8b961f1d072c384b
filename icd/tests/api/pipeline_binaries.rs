//! Tests of pipeline binaries: what pipelines are made of them, where they come from, keys, and
//! data that the driver did not make.

use crate::binaries::{self, CAPTURE_DATA, Commands, Info, Key, MISSING, NOT_ENOUGH_SPACE};
use crate::common::info::{RGBA8, Triangles};
use crate::common::{Chain, Context};
use crate::pipeline::{AREA, Messenger, Set, module, render, run};
use ash::vk;

const TYPES: [(vk::DescriptorType, u32); 2] =
    [(vk::DescriptorType::STORAGE_BUFFER, 1), (vk::DescriptorType::UNIFORM_BUFFER, 1)];
const STRICT: vk::PipelineCreateFlags2KHR = vk::PipelineCreateFlags2KHR::FAIL_ON_PIPELINE_COMPILE_REQUIRED;
const NONE: vk::PipelineCreateFlags2KHR = vk::PipelineCreateFlags2KHR::empty();

/// A device with a compute module and what it needs.
struct Setup {
    c: Context,
    commands: Commands,
    set: Set,
    module: vk::ShaderModule,
}

impl Setup {
    fn new() -> Setup {
        Setup::with(&[], &mut [])
    }

    fn with(instance: &[&std::ffi::CStr], features: &mut [&mut dyn Chain]) -> Setup {
        let (c, commands) = binaries::context(instance, features);
        let set = Set::new(&c, &TYPES);
        let module = module(&c, &shader!("square.comp"));
        Setup { c, commands, set, module }
    }

    /// Calls a function with the create info of a pipeline whose constant 1 has this value.
    fn info<T>(
        &self,
        module: vk::ShaderModule,
        factor: u32,
        flags: vk::PipelineCreateFlags2KHR,
        binaries: &[u64],
        call: impl FnOnce(&vk::ComputePipelineCreateInfo<'_>) -> T,
    ) -> T {
        let entries = [vk::SpecializationMapEntry { constant_id: 1, offset: 0, size: 4 }];
        let data = factor.to_le_bytes();
        let constants = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(c"main")
            .specialization_info(&constants);
        let mut flags = vk::PipelineCreateFlags2CreateInfoKHR::default().flags(flags);
        let mut binaries = Info::new(binaries);
        let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(self.set.layout);
        call(&info.push_next(&mut flags).push_next(&mut binaries))
    }

    fn create(
        &self,
        module: vk::ShaderModule,
        factor: u32,
        flags: vk::PipelineCreateFlags2KHR,
        binaries: &[u64],
    ) -> Result<vk::Pipeline, vk::Result> {
        self.info(module, factor, flags, binaries, |info| {
            // SAFETY: the usage is valid, apart from the binaries of some tests.
            let made = unsafe { self.c.device.create_compute_pipelines(vk::PipelineCache::null(), &[*info], None) };
            made.map(|list| list[0]).map_err(|(_, error)| error)
        })
    }

    fn captured(&self, factor: u32) -> vk::Pipeline {
        self.create(self.module, factor, CAPTURE_DATA, &[]).expect("a pipeline")
    }

    /// Returns key and data of the binary of a pipeline.
    fn stored(&self, factor: u32) -> (Key, Vec<u8>) {
        let pipeline = self.captured(factor);
        let mut list = self.commands.take(self.commands.of_pipeline(pipeline).expect("binaries"));
        self.destroy(pipeline);
        assert_eq!(list.len(), 1, "a binary for each stage");
        list.remove(0)
    }

    fn destroy(&self, pipeline: vk::Pipeline) {
        // SAFETY: the pipeline is not in use.
        unsafe { self.c.device.destroy_pipeline(pipeline, None) };
    }

    /// Returns the result of a pipeline, which is destroyed.
    fn result(&self, pipeline: vk::Pipeline) -> Vec<u32> {
        let (mut data, mut uniform) = (self.c.buffer(4 * 64), self.c.buffer(16));
        data.fill_words(|i| i * 7);
        uniform.fill_words(|_| 1000);
        self.set.buffers(&self.c, 0, TYPES[0].0, &[(data.buffer, 0, vk::WHOLE_SIZE)]);
        self.set.buffers(&self.c, 1, TYPES[1].0, &[(uniform.buffer, 0, 16)]);
        run(&self.c, &self.set, pipeline, &5u32.to_le_bytes()).expect("run");
        let words = data.words();
        self.c.free(data);
        self.c.free(uniform);
        words
    }

    fn end(self) {
        // SAFETY: the module is not in use.
        unsafe { self.c.device.destroy_shader_module(self.module, None) };
        self.set.destroy(&self.c);
    }
}

/// Returns the words that a pipeline with this factor computes.
fn expected(factor: u32) -> Vec<u32> {
    (0..64).map(|i| (63 - i) * 7 * factor + 1000 + 5).collect()
}

#[test]
fn a_pipeline_is_made_of_data_of_another_device_without_a_module() {
    let s = Setup::new();
    let (key, data) = s.stored(9);
    s.end();
    let s = Setup::new();
    assert_eq!(s.create(s.module, 9, STRICT, &[]), Err(vk::Result::PIPELINE_COMPILE_REQUIRED));
    let (result, list) = s.commands.of_data(&[(key, &data)]);
    assert_eq!((result, list.len()), (vk::Result::SUCCESS, 1));
    assert_eq!(s.commands.data(list[0]), (key, data), "what was put in");
    let pipeline = s.create(vk::ShaderModule::null(), 9, STRICT, &list).expect("nothing to compile");
    s.commands.destroy(list[0]);
    assert_eq!(s.result(pipeline), expected(9));
    // The binary itself is no longer needed for the code to run.
    s.end();
}

#[test]
fn a_graphics_pipeline_has_a_binary_for_each_stage() {
    let (c, commands) = binaries::context(&[], &mut []);
    let set = Set::new(&c, &TYPES);
    let target = c.image_of(
        &crate::common::image_info(
            RGBA8,
            [64, 64],
            vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC,
        ),
        vk::ImageAspectFlags::COLOR,
    );
    let [vertex, fragment] = [module(&c, &shader!("full.vert")), module(&c, &shader!("red.frag"))];
    let create = |[vertex, fragment]: [vk::ShaderModule; 2], flags, binaries: &[u64]| {
        let binaries = Info::new(binaries);
        let (flags, next) = (Some(flags), Some(&binaries as _));
        let triangles = Triangles { side: Some(64), flags, next, ..Triangles::new(vertex, fragment, set.layout) };
        triangles.create(&c.device)
    };
    let drawn = |pipeline| {
        render(&c, &target, AREA, |b| {
            // SAFETY: valid usage.
            unsafe {
                c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
                c.device.cmd_draw(b, 3, 1, 0, 0);
            }
        })
        .expect("draw");
        // SAFETY: the pipeline is not in use any more.
        unsafe { c.device.destroy_pipeline(pipeline, None) };
        c.read_image(&target, 4)
    };
    let pipeline = create([vertex, fragment], CAPTURE_DATA, &[]).expect("a pipeline");
    let list = commands.of_pipeline(pipeline).expect("binaries");
    assert_eq!(list.len(), 2);
    let (result, one) = commands.some_of_pipeline(pipeline, 1);
    assert_eq!((result, one.len()), (vk::Result::INCOMPLETE, 1));
    assert_eq!(commands.data(one[0]), commands.data(list[0]));
    commands.destroy(one[0]);
    let pixels = drawn(pipeline);
    assert!(pixels.iter().any(|byte| *byte != 0));
    let none = [vk::ShaderModule::null(); 2];
    let again = create(none, STRICT, &list).expect("nothing to compile");
    assert_eq!(drawn(again), pixels);
    // The order of binaries is that of the driver; a missing one is noticed.
    assert!(create(none, STRICT, &list[..1]).is_err());
    list.into_iter().for_each(|binary| commands.destroy(binary));
    // SAFETY: the modules are not in use.
    [vertex, fragment].into_iter().for_each(|module| unsafe { c.device.destroy_shader_module(module, None) });
    c.free_image(target);
    set.destroy(&c);
}

#[test]
fn no_binaries_mean_a_pipeline_of_modules() {
    let s = Setup::new();
    let pipeline = s.create(s.module, 3, NONE, &[]).expect("a pipeline");
    assert_eq!(s.result(pipeline), expected(3));
    s.commands.destroy(0);
    s.end();
}

#[test]
fn too_little_space_for_data_is_an_error_that_says_how_much_is_needed() {
    let s = Setup::new();
    let pipeline = s.captured(2);
    let list = s.commands.of_pipeline(pipeline).expect("binaries");
    let (_, data) = s.commands.data(list[0]);
    for space in [1, 63, 64, data.len() - 1] {
        let (result, _, bytes) = s.commands.data_in(list[0], Some(space));
        assert_eq!(result, NOT_ENOUGH_SPACE);
        assert!(bytes.iter().all(|byte| *byte == 0xee), "nothing is written");
    }
    let (result, _, bytes) = s.commands.data_in(list[0], Some(data.len() + 5));
    assert_eq!(result, vk::Result::SUCCESS);
    assert_eq!((&bytes[..data.len()], &bytes[data.len()..]), (&data[..], &[0xee; 5][..]));
    s.commands.destroy(list[0]);
    s.destroy(pipeline);
    s.end();
}

#[test]
fn the_internal_cache_has_the_stages_of_living_pipelines() {
    let s = Setup::new();
    let cached = |factor| s.info(s.module, factor, NONE, &[], |info| s.commands.of_info(info));
    assert_eq!(cached(4), Err(MISSING));
    let pipeline = s.create(s.module, 4, NONE, &[]).expect("a pipeline");
    let list = cached(4).expect("a living stage");
    assert_eq!(cached(5), Err(MISSING), "another constant");
    s.destroy(pipeline);
    assert_eq!(cached(4), Err(MISSING), "no pipeline has the stage any more");
    let pipeline = s.create(vk::ShaderModule::null(), 4, STRICT, &list).expect("nothing to compile");
    assert_eq!(s.result(pipeline), expected(4));
    s.commands.destroy(list[0]);
    s.end();
}

#[test]
fn without_the_internal_cache_every_pipeline_has_its_own_stages() {
    let mut control = binaries::without_internal_cache();
    let s = Setup::with(&[], &mut [&mut control]);
    let pipeline = s.create(s.module, 4, NONE, &[]).expect("a pipeline");
    assert_eq!(s.create(s.module, 4, STRICT, &[]), Err(vk::Result::PIPELINE_COMPILE_REQUIRED));
    let second = s.captured(4);
    let (key, data) = s.commands.take(s.commands.of_pipeline(second).expect("binaries")).remove(0);
    for pipeline in [pipeline, second] {
        assert_eq!(s.result(pipeline), expected(4));
    }
    let (_, list) = s.commands.of_data(&[(key, &data)]);
    let third = s.create(vk::ShaderModule::null(), 4, STRICT, &list).expect("nothing to compile");
    assert_eq!(s.result(third), expected(4));
    s.commands.destroy(list[0]);
    s.end();
}

#[test]
fn equal_keys_are_those_of_equal_binaries() {
    let keys = || {
        let s = Setup::new();
        let of = |factor, flags| s.info(s.module, factor, flags, &[], |info| s.commands.key(info));
        let (key, other) = (of(7, CAPTURE_DATA), of(8, CAPTURE_DATA));
        assert_eq!(of(7, NONE), key, "flags are no part of the code");
        assert_ne!(key, other);
        let set = Set::new(&s.c, &TYPES[..1]);
        let another = s.info(s.module, 7, NONE, &[], |info| s.commands.key(&info.layout(set.layout)));
        assert_ne!(another, key, "another layout");
        set.destroy(&s.c);
        let all = (s.commands.global_key(), key, s.stored(7), s.stored(8));
        assert_ne!(all.2, all.3);
        assert_ne!(all.0, key);
        s.end();
        all
    };
    assert_eq!(keys(), keys(), "two devices");
}

#[test]
fn a_key_is_that_of_the_module_by_its_identifier_too() {
    let s = Setup::new();
    let functions = ash::ext::shader_module_identifier::Device::new(&s.c.instance, &s.c.device);
    let mut identifier = vk::ShaderModuleIdentifierEXT::default();
    // SAFETY: valid usage.
    unsafe { (functions.fp().get_shader_module_identifier_ext)(s.c.device.handle(), s.module, &mut identifier) };
    let key = s.info(s.module, 7, NONE, &[], |info| s.commands.key(info));
    let by_identifier = s.info(vk::ShaderModule::null(), 7, STRICT, &[], |info| {
        let mut chained = vk::PipelineShaderStageModuleIdentifierCreateInfoEXT::default()
            .identifier(&identifier.identifier[..identifier.identifier_size as usize]);
        let mut info = *info;
        info.stage = info.stage.push_next(&mut chained);
        s.commands.key(&info)
    });
    assert_eq!(by_identifier, key);
    s.end();
}

#[test]
fn released_data_is_no_longer_captured() {
    let s = Setup::with(&[c"VK_EXT_debug_utils"], &mut []);
    let messenger = Messenger::new(&s.c);
    let pipeline = s.captured(6);
    s.commands.release_captured(pipeline);
    assert_eq!(s.commands.of_pipeline(pipeline), Err(vk::Result::ERROR_INITIALIZATION_FAILED));
    assert_eq!(messenger.take().len(), 1);
    assert_eq!(s.result(pipeline), expected(6));
    let uncaptured = s.create(s.module, 6, NONE, &[]).expect("a pipeline");
    assert_eq!(s.commands.of_pipeline(uncaptured), Err(vk::Result::ERROR_INITIALIZATION_FAILED));
    s.destroy(uncaptured);
    drop(messenger);
    s.end();
}

#[test]
fn data_that_the_driver_did_not_make_is_an_error() {
    let s = Setup::with(&[c"VK_EXT_debug_utils"], &mut []);
    let messenger = Messenger::new(&s.c);
    let (key, data) = s.stored(9);
    let (other_key, other) = s.stored(10);
    let mut refused = 0;
    let mut check = |what: &str, key: Key, data: &[u8]| {
        let (result, list) = s.commands.of_data(&[(key, data)]);
        assert_eq!((result, &list[..]), (vk::Result::ERROR_INITIALIZATION_FAILED, &[0][..]), "{what}");
        refused += 1;
    };
    let header = 64;
    for length in (0..header + 8).chain((header..data.len()).step_by(7)) {
        check(&format!("cut to {length}"), key, &data[..length]);
    }
    for bit in (0..header * 8).chain((header..data.len()).map(|byte| 8 * byte + byte * 5 % 8)) {
        let mut flipped = data.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        check(&format!("bit {bit}"), key, &flipped);
    }
    check("something behind", key, &[&data[..], &[0]].concat());
    check("another binary's contents", key, &[&data[..header], &other[header..]].concat());
    check("another binary's tag", key, &[&data[..32], &other[32..header], &data[header..]].concat());
    check("another key", other_key, &data);
    check("a shorter key", Key::new(&key.bytes[..31]), &data);
    check("no key", Key::new(&[]), &data);
    let mut unkeyed = data.clone();
    unkeyed[32..header].copy_from_slice(blake3::hash(&[&data[..32], &data[header..]].concat()).as_bytes());
    check("a tag without the key", key, &unkeyed);
    // Blobs of other kinds have other tags.
    let empty = vk::PipelineCacheCreateInfo::default();
    // SAFETY: valid usage.
    let cache = unsafe {
        let cache = s.c.device.create_pipeline_cache(&empty, None).expect("a cache");
        let data = s.c.device.get_pipeline_cache_data(cache).expect("data");
        s.c.device.destroy_pipeline_cache(cache, None);
        data
    };
    check("a pipeline cache", key, &cache);
    assert_eq!(messenger.take().len(), refused, "a message each");
    // The others are made, and the first error is returned.
    let bad = &data[..data.len() - 1];
    let (result, list) = s.commands.of_data(&[(key, &data), (key, bad), (other_key, &other)]);
    assert_eq!((result, list[1]), (vk::Result::ERROR_INITIALIZATION_FAILED, 0));
    assert_eq!((s.commands.data(list[0]), s.commands.data(list[2])), ((key, data.clone()), (other_key, other)));
    [list[0], list[2]].into_iter().for_each(|binary| s.commands.destroy(binary));
    drop(messenger);
    s.end();
}

#[test]
fn a_binary_of_another_pipeline_is_refused() {
    let s = Setup::with(&[c"VK_EXT_debug_utils"], &mut []);
    let messenger = Messenger::new(&s.c);
    let (key, data) = s.stored(9);
    let (_, list) = s.commands.of_data(&[(key, &data)]);
    assert_eq!(s.create(vk::ShaderModule::null(), 8, NONE, &list), Err(vk::Result::ERROR_INVALID_SHADER_NV));
    let messages = messenger.take();
    assert!(messages.len() == 1 && messages[0].contains("pipeline binary"), "{messages:?}");
    s.commands.destroy(list[0]);
    drop(messenger);
    s.end();
}

/// Checks that feedback of pipelines of binaries names no application's cache.
#[test]
fn feedback_says_where_a_stage_came_from() {
    use vk::PipelineCreationFeedbackFlags as F;
    let s = Setup::new();
    let (key, data) = s.stored(9);
    let (_, list) = s.commands.of_data(&[(key, &data)]);
    let made = |module, binaries: &[u64], cache| {
        let (mut whole, mut stages) = Default::default();
        let mut feedback = vk::PipelineCreationFeedbackCreateInfo::default()
            .pipeline_creation_feedback(&mut whole)
            .pipeline_stage_creation_feedbacks(std::slice::from_mut(&mut stages));
        let pipeline = s.info(module, 9, NONE, binaries, |info| {
            let info = info.push_next(&mut feedback);
            // SAFETY: valid usage.
            unsafe { s.c.device.create_compute_pipelines(cache, &[info], None) }.expect("a pipeline")[0]
        });
        assert_eq!(s.result(pipeline), expected(9));
        [whole.flags, stages.flags]
    };
    let hit = F::VALID | F::APPLICATION_PIPELINE_CACHE_HIT;
    let none = vk::PipelineCache::null();
    assert_eq!(made(vk::ShaderModule::null(), &list, none), [F::VALID; 2]);
    let living = s.create(s.module, 9, NONE, &[]).expect("a pipeline");
    assert_eq!(made(s.module, &[], none), [F::VALID; 2], "a living stage is in no cache of the application");
    // SAFETY: valid usage.
    let cache = unsafe { s.c.device.create_pipeline_cache(&Default::default(), None) }.expect("a cache");
    assert_eq!(made(s.module, &[], cache), [F::VALID; 2]);
    assert_eq!(made(s.module, &[], cache), [hit; 2]);
    // SAFETY: the cache is not in use.
    unsafe { s.c.device.destroy_pipeline_cache(cache, None) };
    s.destroy(living);
    s.commands.destroy(list[0]);
    s.end();
}
