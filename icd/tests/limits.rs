//! Tests of limits of the system: address space, data, workgroup memory. Each test that limits the
//! process runs in a process of its own.
//!
//! Linux only: limits of a process are those of setrlimit.
#![cfg(unix)]

mod common;
#[path = "common/pipeline.rs"]
mod pipeline;
use ash::vk;
use common::{Context, spirv};
use pipeline::{Messenger, Set, compute, run};

/// In a child process, runs `inside` under a limit. In the test, starts the child and expects its
/// success.
fn in_a_child(test: &str, inside: impl FnOnce()) {
    const CHILD: &str = "GRUS_TEST_CHILD";
    if std::env::var(CHILD).is_ok_and(|name| name == test) {
        return inside();
    }
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", test, "--nocapture"]).env(CHILD, test).env("GRUS_THREADS", "2").output();
    let output = output.unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}\n{}", output.status, text(&output.stdout), text(&output.stderr));
}

fn limit(resource: libc::__rlimit_resource_t, bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: this changes only the process's own limit.
    assert_eq!(unsafe { libc::setrlimit(resource, &limit) }, 0);
}

/// Returns the bytes of a field of /proc/self/statm.
fn used(field: usize) -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    4096 * text.split_whitespace().nth(field).unwrap().parse::<u64>().unwrap()
}

fn heap(c: &Context) -> u64 {
    // SAFETY: valid usage.
    unsafe { c.instance.get_physical_device_memory_properties(c.physical) }.memory_heaps[0].size
}

/// Allocates until memory is exhausted and returns the sum.
fn fill(c: &Context, size: u64) -> u64 {
    let info = vk::MemoryAllocateInfo::default().allocation_size(size);
    let mut list = Vec::new();
    let error = loop {
        // SAFETY: valid usage.
        match unsafe { c.device.allocate_memory(&info, None) } {
            Ok(memory) => list.push(memory),
            Err(error) => break error,
        }
    };
    assert_eq!(error, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
    // SAFETY: valid usage.
    list.iter().for_each(|memory| unsafe { c.device.free_memory(*memory, None) });
    list.len() as u64 * size
}

#[test]
fn address_space_is_shared_fairly_and_the_heap_is_what_there_is() {
    in_a_child("address_space_is_shared_fairly_and_the_heap_is_what_there_is", || {
        let left = 4 << 30;
        limit(libc::RLIMIT_AS, used(0) + left);
        let before = used(0);
        let c = Context::new(&[], &[]);
        assert!(used(0) < before + (300 << 20), "enumeration and a device reserve nothing: {}", used(0) - before);
        let heap = heap(&c);
        assert!(heap <= left / 2 && heap >= left / 3, "a heap of {heap}");
        let first = c.buffer(1 << 20);
        let taken = used(0) - before;
        assert!(taken <= left / 2 + (300 << 20), "{taken} of {left} taken");
        for size in [1 << 20, 16 << 20, 100 << 20] {
            let sum = fill(&c, size);
            assert!(sum <= heap && sum + 2 * size >= heap / 100 * 97, "{sum} of {heap} in pieces of {size}");
        }
        // Another instance beside it takes no more addresses.
        let other = Context::new(&[], &[]);
        let second = other.buffer(1 << 20);
        assert!(used(0) - before <= left / 2 + (400 << 20), "{} of {left} taken by two", used(0) - before);
        other.free(second);
        c.free(first);
    });
}

#[test]
fn a_limit_of_data_is_a_limit_of_the_heap() {
    in_a_child("a_limit_of_data_is_a_limit_of_the_heap", || {
        let left = 1 << 30;
        limit(libc::RLIMIT_DATA, used(5) + left);
        let c = Context::new(&[], &[]);
        let heap = heap(&c);
        assert!(heap <= left / 2 && heap >= left / 3, "a heap of {heap}");
        let sum = fill(&c, 16 << 20);
        assert!(sum <= heap && sum + (32 << 20) >= heap / 100 * 97, "{sum} of {heap}");
    });
}

#[test]
fn very_little_address_space_suffices() {
    in_a_child("very_little_address_space_suffices", || {
        limit(libc::RLIMIT_AS, used(0) + (400 << 20));
        let c = Context::new(&[], &[]);
        let set = Set::new(&c, &[(vk::DescriptorType::STORAGE_BUFFER, 1)]);
        let words = spirv(include_bytes!("data/shared.comp.spv"));
        let pipeline = compute(&c, vk::PipelineCache::null(), set.layout, &words, &[64]);
        let out = c.buffer(256);
        set.buffers(&c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(out.buffer, 0, vk::WHOLE_SIZE)]);
        run(&c, &set, pipeline, &[]).unwrap();
        assert_eq!(out.words(), (0..64).rev().collect::<Vec<u32>>());
        c.free(out);
        set.destroy(&c);
    });
}

/// Makes a pipeline with this many words of workgroup memory.
fn with_shared_words(c: &Context, set: &Set, words: u32) -> Result<vk::Pipeline, vk::Result> {
    let code = spirv(include_bytes!("data/shared.comp.spv"));
    let entries = [vk::SpecializationMapEntry { constant_id: 0, offset: 0, size: 4 }];
    let data = words.to_le_bytes();
    let specialization = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
    // SAFETY: valid usage, except for the size.
    unsafe {
        let module = c.device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&code), None)?;
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(c"main")
            .specialization_info(&specialization);
        let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(set.layout);
        let made = c.device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
        c.device.destroy_shader_module(module, None);
        made.map(|p| p[0]).map_err(|(_, error)| error)
    }
}

#[test]
fn workgroup_memory_beyond_the_limit_is_refused() {
    let c = Context::new(&[c"VK_EXT_debug_utils"], &[]);
    let messages = Messenger::new(&c);
    let set = Set::new(&c, &[(vk::DescriptorType::STORAGE_BUFFER, 1)]);
    // SAFETY: valid usage.
    let limits = unsafe { c.instance.get_physical_device_properties(c.physical) }.limits;
    let most = limits.max_compute_shared_memory_size / 4;
    let pipeline = with_shared_words(&c, &set, most).expect("as much as is advertised");
    // SAFETY: valid usage.
    unsafe { c.device.destroy_pipeline(pipeline, None) };
    assert_eq!(messages.take(), [""; 0]);
    for words in [most + 1, 2 * most, 1 << 20, 1 << 29] {
        assert!(with_shared_words(&c, &set, words).is_err(), "{words} words");
        let said = messages.take();
        assert_eq!(said.len(), 1, "{said:?}");
        if words <= 1 << 20 {
            let expected =
                format!("{} bytes of workgroup memory, maxComputeSharedMemorySize is {}", 4 * words, 4 * most);
            assert!(said[0].contains(&expected), "{said:?}");
        }
    }
    set.destroy(&c);
    drop(messages);
}

/// Checks that addresses of a sparse buffer are not counted as data, bound or not, and that all of
/// them can be written.
#[test]
fn sparse_buffers_are_addresses_only() {
    in_a_child("sparse_buffers_are_addresses_only", || {
        limit(libc::RLIMIT_DATA, used(5) + (512 << 20));
        let c = Context::new(&[], &[]);
        let d = &c.device;
        let flags = vk::BufferCreateFlags::SPARSE_BINDING | vk::BufferCreateFlags::SPARSE_RESIDENCY;
        let usage = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
        let size = 2 << 30;
        let info = vk::BufferCreateInfo::default().size(size).usage(usage).flags(flags);
        let memory = vk::MemoryAllocateInfo::default().allocation_size(1 << 16).memory_type_index(1);
        // SAFETY: valid usage.
        unsafe {
            let buffer = d.create_buffer(&info, None).expect("addresses");
            let memory = d.allocate_memory(&memory, None).expect("memory");
            let binds = [vk::SparseMemoryBind::default().resource_offset(size / 2).size(1 << 16).memory(memory)];
            let binds = [vk::SparseBufferMemoryBindInfo::default().buffer(buffer).binds(&binds)];
            let info = [vk::BindSparseInfo::default().buffer_binds(&binds)];
            d.queue_bind_sparse(c.queue, &info, vk::Fence::null()).expect("bound");
            c.run(|commands| d.cmd_fill_buffer(commands, buffer, size / 4, size / 2, 7)).expect("filled");
            let mapped = d.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()).expect("mapped");
            assert_eq!(*mapped.cast::<u32>().add((1 << 14) - 1), 7);
            d.destroy_buffer(buffer, None);
            d.free_memory(memory, None);
            // More addresses than there are for sparse resources.
            let properties = c.instance.get_physical_device_properties(c.physical).limits;
            let info = vk::BufferCreateInfo::default()
                .size(properties.sparse_address_space_size + 1)
                .usage(usage)
                .flags(flags);
            assert_eq!(d.create_buffer(&info, None), Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
        }
    });
}
