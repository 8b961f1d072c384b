//! Tests of device creations of clients that other drivers accept: each has a list of extensions
//! and features, and the queries before it.
//!
//! Linux only: the clients use file descriptors.
#![cfg(unix)]

mod common;
use ash::vk;
use common::{Context, entry};
use std::ffi::CStr;

/// Creates the device of `extensions` and a chain of features, and returns the error if it was
/// refused.
fn create(extensions: &[&CStr], chain: &mut [&mut dyn common::Chain]) -> Result<(), vk::Result> {
    let entry = entry();
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
    let priorities = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
    let names: Vec<_> = extensions.iter().map(|n| n.as_ptr()).collect();
    let mut info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&names);
    for link in chain {
        info = link.chain(info);
    }
    // SAFETY: the usage is valid, except for requests that are refused.
    unsafe {
        let surfaces = [c"VK_KHR_surface".as_ptr()];
        let instance = vk::InstanceCreateInfo::default().application_info(&application);
        let instance = entry.create_instance(&instance.enabled_extension_names(&surfaces), None).expect("instance");
        let physical = instance.enumerate_physical_devices().expect("devices")[0];
        let device = instance.create_device(physical, &info, None);
        let result = device.map(|device| device.destroy_device(None));
        instance.destroy_instance(None);
        result
    }
}

/// Checks the device of GTK 4.24 (`GSK_RENDERER=vulkan`): names of extensions that 1.1 and 1.2
/// absorbed, features in structures of 1.1, 1.2 and 1.0.
#[test]
fn gtk_4s_device() {
    let extensions = [
        c"VK_KHR_swapchain",
        c"VK_KHR_external_semaphore",
        c"VK_KHR_timeline_semaphore",
        c"VK_KHR_incremental_present",
    ];
    let core = vk::PhysicalDeviceFeatures::default().dual_src_blend(true).pipeline_statistics_query(true);
    let mut core = vk::PhysicalDeviceFeatures2::default().features(core);
    let mut v12 = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
    let mut v11 = vk::PhysicalDeviceVulkan11Features::default();
    assert_eq!(create(&extensions, &mut [&mut core, &mut v12, &mut v11]), Ok(()));
}

/// A kind of handle and its features: for fences and semaphores bit 0 is exportable and bit 1
/// importable, for memory bits 1 and 2.
type Kinds<T, const N: usize> = [(T, u32); N];
const SEMAPHORES: Kinds<vk::ExternalSemaphoreHandleTypeFlags, 3> = [
    (vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD, 3),
    (vk::ExternalSemaphoreHandleTypeFlags::SYNC_FD, 3),
    (vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_WIN32, 0),
];
const FENCES: Kinds<vk::ExternalFenceHandleTypeFlags, 3> = [
    (vk::ExternalFenceHandleTypeFlags::OPAQUE_FD, 3),
    (vk::ExternalFenceHandleTypeFlags::SYNC_FD, 3),
    (vk::ExternalFenceHandleTypeFlags::OPAQUE_WIN32, 0),
];
const MEMORIES: Kinds<vk::ExternalMemoryHandleTypeFlags, 3> = [
    (vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD, 6),
    (vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT, 4),
    (vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT, 4),
];

fn makes_dma_bufs() -> bool {
    std::fs::File::options().read(true).write(true).open("/dev/udmabuf").is_ok()
}

const EXTERNAL: [&CStr; 4] = [
    c"VK_KHR_external_memory_fd",
    c"VK_KHR_external_semaphore_fd",
    c"VK_KHR_external_fence_fd",
    c"VK_EXT_external_memory_host",
];

/// Checks that every answer is written as a whole, also over previous content.
#[test]
fn handle_types_have_the_features_of_their_rows() {
    let c = Context::new(&[], &EXTERNAL);
    // SAFETY: the usage is valid in all calls of this block.
    unsafe {
        for (handle_type, features) in SEMAPHORES {
            for timeline in [false, true] {
                let ty = if timeline { vk::SemaphoreType::TIMELINE } else { vk::SemaphoreType::BINARY };
                let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(ty);
                let info =
                    vk::PhysicalDeviceExternalSemaphoreInfo::default().handle_type(handle_type).push_next(&mut kind);
                let all = vk::ExternalSemaphoreHandleTypeFlags::from_raw(u32::MAX);
                let mut out = vk::ExternalSemaphoreProperties::default().compatible_handle_types(all);
                out = out.external_semaphore_features(vk::ExternalSemaphoreFeatureFlags::from_raw(u32::MAX));
                c.instance.get_physical_device_external_semaphore_properties(c.physical, &info, &mut out);
                let copied = timeline && handle_type == vk::ExternalSemaphoreHandleTypeFlags::SYNC_FD;
                let features = if copied { 0 } else { features };
                assert_eq!(out.external_semaphore_features.as_raw(), features, "{handle_type:?}");
                assert_eq!(out.compatible_handle_types.contains(handle_type), features != 0);
                assert_eq!(out.export_from_imported_handle_types.contains(handle_type), features != 0);
            }
        }
        for (handle_type, features) in FENCES {
            let info = vk::PhysicalDeviceExternalFenceInfo::default().handle_type(handle_type);
            let mut out = vk::ExternalFenceProperties::default();
            out = out.external_fence_features(vk::ExternalFenceFeatureFlags::from_raw(u32::MAX));
            c.instance.get_physical_device_external_fence_properties(c.physical, &info, &mut out);
            assert_eq!(out.external_fence_features.as_raw(), features, "{handle_type:?}");
            assert_eq!(out.compatible_handle_types.contains(handle_type), features != 0);
        }
        for (handle_type, features) in MEMORIES {
            let ask = |usage| {
                let info = vk::PhysicalDeviceExternalBufferInfo::default().usage(usage).handle_type(handle_type);
                let mut out = vk::ExternalBufferProperties::default();
                out.external_memory_properties.external_memory_features =
                    vk::ExternalMemoryFeatureFlags::from_raw(u32::MAX);
                c.instance.get_physical_device_external_buffer_properties(c.physical, &info, &mut out);
                // "compatibleHandleTypes must include at least handleType".
                assert_eq!(out.external_memory_properties.compatible_handle_types, handle_type);
                out.external_memory_properties.external_memory_features.as_raw()
            };
            // A dma-buf can also be exported if the kernel has a device for it.
            let made = handle_type == vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT && makes_dma_bufs();
            let features = if made { 6 } else { features };
            assert_eq!(ask(vk::BufferUsageFlags::TRANSFER_SRC), features, "{handle_type:?}");
            // Shader pointers are checked against the driver's own memory, so imported memory has
            // no device addresses.
            let host = handle_type == vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;
            let expected = if host { 0 } else { features };
            assert_eq!(ask(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS), expected, "{handle_type:?}");
        }
    }
}

/// Checks that creations for existing handle types, or for none, succeed, and that those for other
/// types are refused regardless of their other parameters.
#[test]
fn creations_for_unknown_handle_types_are_refused_and_others_are_not() {
    let c = Context::new(&[], &EXTERNAL);
    let refused = vk::Result::ERROR_INVALID_EXTERNAL_HANDLE;
    use vk::{
        ExternalFenceHandleTypeFlags as F, ExternalMemoryHandleTypeFlags as M, ExternalSemaphoreHandleTypeFlags as S,
    };
    // SAFETY: the usage is valid, except for handle types that no query offers.
    unsafe {
        let semaphore = |types| {
            let mut export = vk::ExportSemaphoreCreateInfo::default().handle_types(types);
            let info = vk::SemaphoreCreateInfo::default().push_next(&mut export);
            c.device.create_semaphore(&info, None).map(|s| c.device.destroy_semaphore(s, None))
        };
        let known = [S::empty(), S::OPAQUE_FD, S::SYNC_FD, S::OPAQUE_FD | S::SYNC_FD];
        assert_eq!(known.map(semaphore), [Ok(()); 4]);
        assert_eq!(semaphore(S::OPAQUE_FD | S::OPAQUE_WIN32), Err(refused));
        let fence = |types| {
            let mut export = vk::ExportFenceCreateInfo::default().handle_types(types);
            let info = vk::FenceCreateInfo::default().push_next(&mut export);
            c.device.create_fence(&info, None).map(|f| c.device.destroy_fence(f, None))
        };
        assert_eq!([F::empty(), F::OPAQUE_FD, F::SYNC_FD].map(fence), [Ok(()); 3]);
        assert_eq!(fence(F::OPAQUE_WIN32), Err(refused));
        let buffer = |types| {
            let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(types);
            let info = vk::BufferCreateInfo::default().size(64).usage(vk::BufferUsageFlags::TRANSFER_SRC);
            c.device.create_buffer(&info.push_next(&mut external), None).map(|b| c.device.destroy_buffer(b, None))
        };
        assert_eq!([M::empty(), M::OPAQUE_FD, M::DMA_BUF_EXT, M::HOST_ALLOCATION_EXT].map(buffer), [Ok(()); 4]);
        assert_eq!(buffer(M::OPAQUE_WIN32), Err(refused));
        let image = |types| {
            let mut external = vk::ExternalMemoryImageCreateInfo::default().handle_types(types);
            let info = common::image_info(vk::Format::R8G8B8A8_UNORM, [4, 4], vk::ImageUsageFlags::SAMPLED)
                .push_next(&mut external);
            c.device.create_image(&info, None).map(|i| c.device.destroy_image(i, None))
        };
        assert_eq!([M::empty(), M::OPAQUE_FD, M::DMA_BUF_EXT, M::HOST_ALLOCATION_EXT].map(image), [Ok(()); 4]);
        assert_eq!(image(M::OPAQUE_WIN32), Err(refused));
        let memory = |types| {
            let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(types);
            let info = vk::MemoryAllocateInfo::default().allocation_size(64).push_next(&mut export);
            c.device.allocate_memory(&info, None).map(|m| c.device.free_memory(m, None))
        };
        assert_eq!([M::empty(), M::OPAQUE_FD].map(memory), [Ok(()); 2]);
        assert_eq!([M::OPAQUE_WIN32, M::HOST_ALLOCATION_EXT].map(memory), [Err(refused); 2]);
        assert_eq!(memory(M::DMA_BUF_EXT), if makes_dma_bufs() { Ok(()) } else { Err(refused) });
    }
}

/// Checks that a descriptor of something else than memory, a semaphore or a fence is refused, and
/// that the application keeps it.
#[test]
fn descriptors_of_something_else_are_refused() {
    let c = Context::new(&[], &EXTERNAL);
    let invalid = vk::Result::ERROR_INVALID_EXTERNAL_HANDLE;
    // SAFETY: the usage is valid, except for the objects behind the descriptors, which this test
    // owns.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        let exported = |timeline| {
            let mut export =
                vk::ExportSemaphoreCreateInfo::default().handle_types(vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD);
            let ty = if timeline { vk::SemaphoreType::TIMELINE } else { vk::SemaphoreType::BINARY };
            let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(ty);
            let info = vk::SemaphoreCreateInfo::default().push_next(&mut export).push_next(&mut kind);
            c.device.create_semaphore(&info, None).expect("semaphore")
        };
        let semaphores = ash::khr::external_semaphore_fd::Device::new(&c.instance, &c.device);
        let opaque = vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD;
        let [timeline, binary] = [true, false].map(exported);
        let of_timeline = semaphores
            .get_semaphore_fd(&vk::SemaphoreGetFdInfoKHR::default().semaphore(timeline).handle_type(opaque))
            .expect("a descriptor");
        let import = |fd| {
            let info = vk::ImportSemaphoreFdInfoKHR::default().semaphore(binary).handle_type(opaque).fd(fd);
            semaphores.import_semaphore_fd(&info)
        };
        for fd in [null, of_timeline, -1] {
            assert_eq!(import(fd), Err(invalid));
        }
        for (fd, size) in [(null, 64), (of_timeline, 64), (of_timeline, 1 << 16), (-1, 64)] {
            let ty = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;
            let mut import = vk::ImportMemoryFdInfoKHR::default().handle_type(ty).fd(fd);
            let info = vk::MemoryAllocateInfo::default().allocation_size(size).push_next(&mut import);
            assert_eq!(c.device.allocate_memory(&info, None).err(), Some(invalid));
        }
        // These are files of huge pages, and files that refuse to be mapped for writing. Both have
        // the required size, which cannot change.
        for (flags, seals) in [(libc::MFD_HUGETLB, 0), (0, libc::F_SEAL_FUTURE_WRITE)] {
            let fd = libc::memfd_create(c"test".as_ptr(), flags | libc::MFD_ALLOW_SEALING);
            if fd < 0 {
                continue;
            }
            assert_eq!(libc::ftruncate(fd, 8 << 20), 0);
            assert_eq!(libc::fcntl(fd, libc::F_ADD_SEALS, seals | libc::F_SEAL_SHRINK), 0);
            for ty in [vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD, vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT] {
                for size in [64, 1 << 16, 3 << 20, 8 << 20] {
                    let mut import = vk::ImportMemoryFdInfoKHR::default().handle_type(ty).fd(fd);
                    let info = vk::MemoryAllocateInfo::default().allocation_size(size).push_next(&mut import);
                    assert_eq!(c.device.allocate_memory(&info, None).err(), Some(invalid), "{ty:?} {size}");
                }
            }
            assert_eq!(libc::close(fd), 0, "it was left to the application");
        }
        for fd in [null, of_timeline] {
            assert_eq!(libc::close(fd), 0, "it was left to the application");
        }
        [timeline, binary].into_iter().for_each(|s| c.device.destroy_semaphore(s, None));
    }
}

/// Checks that copying the state of a binary semaphore or a fence succeeds when it is signaled, and
/// resets it. An imported state is used once.
#[test]
fn states_are_copied_out_and_in() {
    let c = Context::new(&[], &EXTERNAL);
    // SAFETY: valid usage.
    unsafe {
        let mut export =
            vk::ExportSemaphoreCreateInfo::default().handle_types(vk::ExternalSemaphoreHandleTypeFlags::SYNC_FD);
        let semaphore = c.device.create_semaphore(&vk::SemaphoreCreateInfo::default().push_next(&mut export), None);
        let semaphore = semaphore.expect("semaphore");
        let mut export = vk::ExportFenceCreateInfo::default().handle_types(vk::ExternalFenceHandleTypeFlags::SYNC_FD);
        let fence = c.device.create_fence(&vk::FenceCreateInfo::default().push_next(&mut export), None).expect("fence");
        let signals = [semaphore];
        let submit = vk::SubmitInfo::default().signal_semaphores(&signals);
        c.device.queue_submit(c.queue, &[submit], fence).expect("submit");
        let semaphores = ash::khr::external_semaphore_fd::Device::new(&c.instance, &c.device);
        let fences = ash::khr::external_fence_fd::Device::new(&c.instance, &c.device);
        let ty = vk::ExternalSemaphoreHandleTypeFlags::SYNC_FD;
        let info = vk::SemaphoreGetFdInfoKHR::default().semaphore(semaphore).handle_type(ty);
        assert_eq!(semaphores.get_semaphore_fd(&info), Ok(-1));
        let import = vk::ImportSemaphoreFdInfoKHR::default().semaphore(semaphore).handle_type(ty).fd(-1);
        semaphores.import_semaphore_fd(&import.flags(vk::SemaphoreImportFlags::TEMPORARY)).expect("signaled");
        let ty = vk::ExternalFenceHandleTypeFlags::SYNC_FD;
        assert_eq!(fences.get_fence_fd(&vk::FenceGetFdInfoKHR::default().fence(fence).handle_type(ty)), Ok(-1));
        assert_eq!(c.device.get_fence_status(fence), Ok(false), "as by vkResetFences");
        let import = vk::ImportFenceFdInfoKHR::default().fence(fence).handle_type(ty).fd(-1);
        fences.import_fence_fd(&import.flags(vk::FenceImportFlags::TEMPORARY)).expect("signaled");
        assert_eq!(c.device.get_fence_status(fence), Ok(true));
        c.device.reset_fences(&[fence]).expect("reset");
        assert_eq!(c.device.get_fence_status(fence), Ok(false), "the permanent payload");
        // This wait takes the imported signal of the semaphore.
        let stages = [vk::PipelineStageFlags::ALL_COMMANDS];
        let submit = vk::SubmitInfo::default().wait_semaphores(&signals).wait_dst_stage_mask(&stages);
        c.device.queue_submit(c.queue, &[submit], fence).expect("submit");
        c.device.wait_for_fences(&[fence], true, 60_000_000_000).expect("the wait");
        // A pipe is a file that can be polled and that is not signaled until it contains data.
        let mut ends = [0; 2];
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0);
        c.device.reset_fences(&[fence]).expect("reset");
        fences.import_fence_fd(&import.flags(vk::FenceImportFlags::TEMPORARY).fd(ends[0])).expect("a file");
        assert_eq!(c.device.wait_for_fences(&[fence], true, 2_000_000), Err(vk::Result::TIMEOUT));
        let writer = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert_eq!(libc::write(ends[1], c"!".as_ptr().cast(), 1), 1);
        });
        c.device.wait_for_fences(&[fence], true, 60_000_000_000).expect("the file");
        writer.join().expect("no panic");
        libc::close(ends[1]);
        c.device.destroy_fence(fence, None);
        c.device.destroy_semaphore(semaphore, None);
    }
}

/// Checks that clients can import the number of bytes that they requested, or that number rounded
/// up to whole pages or to the descriptor's own size.
#[test]
fn descriptors_are_imported_with_rounded_sizes() {
    let c = Context::new(&[], &EXTERNAL);
    let ty = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;
    let functions = ash::khr::external_memory_fd::Device::new(&c.instance, &c.device);
    for size in [1u64, 4096, 65_472, 65_536, 128_000, 131_008, 131_072, 196_608, 3 << 20] {
        // SAFETY: valid usage.
        unsafe {
            let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(ty);
            let info = vk::MemoryAllocateInfo::default().allocation_size(size).push_next(&mut export);
            let memory = c.device.allocate_memory(&info, None).expect("memory");
            let descriptor = || {
                let info = vk::MemoryGetFdInfoKHR::default().memory(memory).handle_type(ty);
                functions.get_memory_fd(&info).expect("a descriptor")
            };
            let fd = descriptor();
            let end = libc::lseek(fd, 0, libc::SEEK_END) as u64;
            libc::close(fd);
            for import in [size, size.next_multiple_of(4096), size.next_multiple_of(65_536), end] {
                let mut from = vk::ImportMemoryFdInfoKHR::default().handle_type(ty).fd(descriptor());
                let info = vk::MemoryAllocateInfo::default().allocation_size(import).push_next(&mut from);
                let other = c.device.allocate_memory(&info, None);
                let other = other.unwrap_or_else(|error| panic!("{import} bytes of {size}: {error}"));
                let map = |memory, offset| {
                    let place = c.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty());
                    place.expect("mapped").cast::<u8>().add(offset)
                };
                let last = size as usize - 1;
                map(memory, last).write(import as u8 | 1);
                assert_eq!(map(other, last).read(), import as u8 | 1);
                map(other, import as usize - 1).write(9);
                c.device.free_memory(other, None);
            }
            c.device.free_memory(memory, None);
        }
    }
}

/// Checks that a page of the application can be a buffer's memory: the device writes to it, and it
/// may be the last page before one without access.
#[test]
fn memory_of_the_host_is_imported() {
    const PAGE: usize = 4096;
    let c = Context::new(&[], &EXTERNAL);
    // SAFETY: the usage is valid, and this test owns the mapping.
    unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let place = libc::mmap(std::ptr::null_mut(), 2 * PAGE, access, flags, -1, 0);
        assert_ne!(place, libc::MAP_FAILED);
        assert_eq!(libc::mprotect(place.add(PAGE), PAGE, libc::PROT_NONE), 0);
        let host = vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;
        let pointers = ash::ext::external_memory_host::Device::new(&c.instance, &c.device);
        let mut properties = vk::MemoryHostPointerPropertiesEXT::default();
        let ask = pointers.fp().get_memory_host_pointer_properties_ext;
        assert_eq!(ask(c.device.handle(), host, place, &mut properties), vk::Result::SUCCESS);
        assert_ne!(properties.memory_type_bits, 0);
        let allocate = |pointer: *mut std::ffi::c_void, size| {
            let mut import = vk::ImportMemoryHostPointerInfoEXT::default().handle_type(host).host_pointer(pointer);
            let info = vk::MemoryAllocateInfo::default().allocation_size(size).push_next(&mut import);
            c.device.allocate_memory(&info, None)
        };
        let invalid = Some(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE);
        assert_eq!(allocate(place.add(64), PAGE as u64).err(), invalid);
        assert_eq!([0, 8, 4090].map(|size| allocate(place, size).err()), [invalid; 3]);
        // The import has the buffer's size, the size that the buffer requires, or that of whole
        // pages; the buffer lies at the end of each.
        for (size, whole) in [(1024, true), (1000, true), (1024, false), (PAGE as u64, true), (PAGE as u64, false)] {
            let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(host);
            let usage = vk::BufferUsageFlags::TRANSFER_DST | vk::BufferUsageFlags::TRANSFER_SRC;
            let info = vk::BufferCreateInfo::default().size(size).usage(usage).push_next(&mut external);
            let buffer = c.device.create_buffer(&info, None).expect("buffer");
            let required = c.device.get_buffer_memory_requirements(buffer).size;
            assert!(required < size + 64, "{required} of {size}");
            let bytes = if whole { PAGE as u64 } else { required };
            let memory = allocate(place, bytes).expect("memory");
            let offset = bytes - required;
            c.device.bind_buffer_memory(buffer, memory, offset).expect("bind");
            c.run(|b| c.device.cmd_fill_buffer(b, buffer, 0, vk::WHOLE_SIZE, 0xabcd_1234)).expect("fill");
            let words = std::slice::from_raw_parts_mut(place.cast::<u32>(), PAGE / 4);
            let (first, last) = ((offset / 4) as usize, ((offset + size) / 4) as usize);
            assert!(words[first..last].iter().all(|word| *word == 0xabcd_1234));
            assert!(words[..first].iter().chain(&words[last..]).all(|word| *word == 0));
            words.fill(0);
            c.device.destroy_buffer(buffer, None);
            c.device.free_memory(memory, None);
        }
        assert_eq!(libc::munmap(place, 2 * PAGE), 0, "it stays the application's");
    }
}
