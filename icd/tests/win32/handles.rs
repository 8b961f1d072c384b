//! Memory, semaphores and fences behind handles, in one process and in two.

use super::common::Context;
use ash::vk;
use std::fs::File;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::process::{Command, Stdio};
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::{GENERIC_READ, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Security::SECURITY_ATTRIBUTES;
use windows_sys::Win32::System::Memory::{CreateFileMappingW, PAGE_READWRITE, SEC_RESERVE};
use windows_sys::Win32::System::Threading::CreateEventW;

const BYTES: u64 = 1 << 18;
const MEMORY: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::OPAQUE_WIN32;
const SEMAPHORE: vk::ExternalSemaphoreHandleTypeFlags = vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_WIN32;
const FENCE: vk::ExternalFenceHandleTypeFlags = vk::ExternalFenceHandleTypeFlags::OPAQUE_WIN32;
const INVALID: vk::Result = vk::Result::ERROR_INVALID_EXTERNAL_HANDLE;

fn context() -> Context {
    let mut timeline = vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
    let extensions =
        [c"VK_KHR_external_memory_win32", c"VK_KHR_external_semaphore_win32", c"VK_KHR_external_fence_win32"];
    Context::with(&[], &extensions, &mut [&mut timeline])
}

/// Returns a name in UTF-16 that no other run of a test uses.
fn name(text: &str) -> Vec<u16> {
    format!("Local\\grus-test-{text}").encode_utf16().chain([0]).collect()
}

/// Attributes of handles that child processes inherit.
fn inherited() -> SECURITY_ATTRIBUTES {
    SECURITY_ATTRIBUTES {
        nLength: size_of::<SECURITY_ATTRIBUTES>() as u32,
        lpSecurityDescriptor: null_mut(),
        bInheritHandle: 1,
    }
}

/// Allocates memory for export.
fn exported_memory(
    c: &Context,
    attributes: &vk::ExportMemoryWin32HandleInfoKHR<'_>,
) -> Result<vk::DeviceMemory, vk::Result> {
    let mut attributes = *attributes;
    attributes.p_next = null();
    let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(MEMORY);
    let info =
        vk::MemoryAllocateInfo::default().allocation_size(BYTES).push_next(&mut export).push_next(&mut attributes);
    // SAFETY: valid usage.
    unsafe { c.device.allocate_memory(&info, None) }
}

fn import_memory(
    c: &Context,
    import: vk::ImportMemoryWin32HandleInfoKHR<'_>,
    bytes: u64,
) -> Result<vk::DeviceMemory, vk::Result> {
    let mut import = import.handle_type(MEMORY);
    let info = vk::MemoryAllocateInfo::default().allocation_size(bytes).push_next(&mut import);
    // SAFETY: the driver refuses handles that are not valid.
    unsafe { c.device.allocate_memory(&info, None) }
}

fn memory_handle(c: &Context, memory: vk::DeviceMemory) -> OwnedHandle {
    let functions = ash::khr::external_memory_win32::Device::new(&c.instance, &c.device);
    let info = vk::MemoryGetWin32HandleInfoKHR::default().memory(memory).handle_type(MEMORY);
    // SAFETY: valid usage; the test owns the handle.
    unsafe { OwnedHandle::from_raw_handle(functions.get_memory_win32_handle(&info).expect("a handle") as HANDLE) }
}

fn number(handle: &OwnedHandle) -> vk::HANDLE {
    handle.as_raw_handle() as vk::HANDLE
}

fn map(c: &Context, memory: vk::DeviceMemory) -> &'static mut [u8] {
    // SAFETY: the memory has this size, and the test does not use it after it is freed.
    unsafe {
        let place = c.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()).expect("a pointer");
        std::slice::from_raw_parts_mut(place.cast::<u8>(), BYTES as usize)
    }
}

fn timeline(c: &Context, attributes: Option<&mut vk::ExportSemaphoreWin32HandleInfoKHR<'_>>) -> vk::Semaphore {
    let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
    let mut export = vk::ExportSemaphoreCreateInfo::default().handle_types(SEMAPHORE);
    let mut info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
    if let Some(attributes) = attributes {
        info = info.push_next(&mut export).push_next(attributes);
    }
    // SAFETY: valid usage.
    unsafe { c.device.create_semaphore(&info, None).expect("a semaphore") }
}

fn semaphore_handle(c: &Context, semaphore: vk::Semaphore) -> OwnedHandle {
    let functions = ash::khr::external_semaphore_win32::Device::new(&c.instance, &c.device);
    let info = vk::SemaphoreGetWin32HandleInfoKHR::default().semaphore(semaphore).handle_type(SEMAPHORE);
    // SAFETY: valid usage; the test owns the handle.
    unsafe { OwnedHandle::from_raw_handle(functions.get_semaphore_win32_handle(&info).expect("a handle") as HANDLE) }
}

fn import_semaphore(c: &Context, info: vk::ImportSemaphoreWin32HandleInfoKHR<'_>) -> Result<(), vk::Result> {
    let functions = ash::khr::external_semaphore_win32::Device::new(&c.instance, &c.device);
    // SAFETY: the driver refuses handles that are not valid.
    unsafe { functions.import_semaphore_win32_handle(&info.handle_type(SEMAPHORE)) }
}

fn wait(c: &Context, semaphore: vk::Semaphore, value: u64, nanoseconds: u64) -> Result<(), vk::Result> {
    let (semaphores, values) = ([semaphore], [value]);
    let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
    // SAFETY: valid usage.
    unsafe { c.device.wait_semaphores(&info, nanoseconds) }
}

fn signal(c: &Context, semaphore: vk::Semaphore, value: u64) {
    let info = vk::SemaphoreSignalInfo::default().semaphore(semaphore).value(value);
    // SAFETY: valid usage.
    unsafe { c.device.signal_semaphore(&info) }.expect("a signal");
}

/// Variable that tells a child which objects to import: numbers of handles, or a part of names.
const OBJECTS: &str = "GRUS_TEST_OBJECTS";
/// Time after which a process counts as hanging, in nanoseconds.
const PATIENCE: u64 = 60_000_000_000;

/// Plays the part of the second process: waits for 1, adds 1 to each byte on the queue's side of
/// the shared memory, signals 2 by a submission, and waits for 3.
fn answer(objects: &str) {
    let c = context();
    let (memory, semaphore) = (named_or_inherited(objects), timeline(&c, None));
    let (memory_name, semaphore_name) = (name(&format!("{objects}-memory")), name(&format!("{objects}-semaphore")));
    let (memory, import) = match memory {
        Some([memory, semaphore]) => (
            vk::ImportMemoryWin32HandleInfoKHR::default().handle(memory),
            vk::ImportSemaphoreWin32HandleInfoKHR::default().handle(semaphore),
        ),
        None => (
            vk::ImportMemoryWin32HandleInfoKHR::default().name(memory_name.as_ptr()),
            vk::ImportSemaphoreWin32HandleInfoKHR::default().name(semaphore_name.as_ptr()),
        ),
    };
    let memory = import_memory(&c, memory, BYTES).expect("the memory of the parent");
    import_semaphore(&c, import.semaphore(semaphore)).expect("the semaphore of the parent");
    wait(&c, semaphore, 1, PATIENCE).expect("the parent has signaled");
    let bytes = map(&c, memory);
    assert!(bytes.iter().enumerate().all(|(i, &byte)| byte == i as u8), "the bytes of the parent");
    bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
    let (semaphores, values) = ([semaphore], [2]);
    let mut timeline = vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(&values);
    let submit = vk::SubmitInfo::default().signal_semaphores(&semaphores).push_next(&mut timeline);
    // SAFETY: valid usage.
    unsafe { c.device.queue_submit(c.queue, &[submit], vk::Fence::null()) }.expect("a submission");
    wait(&c, semaphore, 3, PATIENCE).expect("the parent has signaled again");
    // SAFETY: valid usage.
    unsafe {
        c.device.destroy_semaphore(semaphore, None);
        c.device.free_memory(memory, None);
    }
}

/// Returns the handles of a child's text; `None` if the text is a part of names.
fn named_or_inherited(objects: &str) -> Option<[vk::HANDLE; 2]> {
    let (memory, semaphore) = objects.split_once(' ')?;
    Some([memory, semaphore].map(|text| text.parse().expect("a number")))
}

/// Shares memory and a timeline with a child, which runs `test` of this binary.
fn share_with_child(test: &str, by_name: bool) {
    if let Ok(objects) = std::env::var(OBJECTS) {
        return answer(&objects);
    }
    let c = context();
    let part = format!("{}", std::process::id());
    let (memory_name, semaphore_name) = (name(&format!("{part}-memory")), name(&format!("{part}-semaphore")));
    let security = inherited();
    let mut for_memory = vk::ExportMemoryWin32HandleInfoKHR::default();
    let mut for_semaphore = vk::ExportSemaphoreWin32HandleInfoKHR::default();
    if by_name {
        for_memory = for_memory.name(memory_name.as_ptr());
        for_semaphore = for_semaphore.name(semaphore_name.as_ptr());
    } else {
        // DXGI_SHARED_RESOURCE_READ and DXGI_SHARED_RESOURCE_WRITE.
        let access = GENERIC_READ | 1;
        for_memory = for_memory.dw_access(access);
        for_memory.p_attributes = (&raw const security).cast();
        for_semaphore = for_semaphore.dw_access(access);
        for_semaphore.p_attributes = (&raw const security).cast();
    }
    let memory = exported_memory(&c, &for_memory).expect("memory");
    if by_name {
        assert_eq!(exported_memory(&c, &for_memory), Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY), "the name exists");
    }
    let semaphore = timeline(&c, Some(&mut for_semaphore));
    let handles = [memory_handle(&c, memory), semaphore_handle(&c, semaphore)];
    let objects = if by_name { part } else { format!("{} {}", number(&handles[0]), number(&handles[1])) };
    let mut child = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(OBJECTS, objects)
        .stdin(Stdio::null())
        .spawn()
        .expect("a child");
    let bytes = map(&c, memory);
    bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte = i as u8);
    signal(&c, semaphore, 1);
    wait(&c, semaphore, 2, PATIENCE).expect("the child has signaled");
    assert!(bytes.iter().enumerate().all(|(i, &byte)| byte == (i as u8).wrapping_add(1)), "the bytes of the child");
    signal(&c, semaphore, 3);
    assert!(child.wait().expect("an end").success());
    // SAFETY: valid usage.
    unsafe {
        c.device.destroy_semaphore(semaphore, None);
        c.device.free_memory(memory, None);
    }
}

#[test]
fn a_child_inherits_memory_and_a_timeline() {
    share_with_child("handles::a_child_inherits_memory_and_a_timeline", false);
}

#[test]
fn a_child_opens_memory_and_a_timeline_by_name() {
    share_with_child("handles::a_child_opens_memory_and_a_timeline_by_name", true);
}

/// Checks that an import shows the same bytes as the memory that was exported, lives longer than
/// it, and can be exported again; the queue copies through both.
#[test]
fn imported_memory_shows_the_same_bytes() {
    let c = context();
    let one = exported_memory(&c, &Default::default()).expect("memory");
    let handle = memory_handle(&c, one);
    let import =
        |bytes| import_memory(&c, vk::ImportMemoryWin32HandleInfoKHR::default().handle(number(&handle)), bytes);
    let two = import(BYTES).expect("the same memory");
    map(&c, one).fill(0x5a);
    assert!(map(&c, two).iter().all(|&byte| byte == 0x5a));
    assert_eq!(import(BYTES + (1 << 20)), Err(INVALID), "more bytes than there are");
    // SAFETY: valid usage.
    unsafe { c.device.free_memory(one, None) };
    assert!(map_again(&c, two).iter().all(|&byte| byte == 0x5a));
    let third = memory_handle(&c, two);
    let three = import_memory(&c, vk::ImportMemoryWin32HandleInfoKHR::default().handle(number(&third)), BYTES);
    let three = three.expect("the same memory");
    map(&c, three)[7] = 9;
    assert_eq!(map_again(&c, two)[7], 9);
    // SAFETY: valid usage.
    unsafe { [two, three].into_iter().for_each(|memory| c.device.free_memory(memory, None)) };
}

/// Maps memory that is mapped already.
fn map_again(c: &Context, memory: vk::DeviceMemory) -> &'static mut [u8] {
    // SAFETY: valid usage.
    unsafe { c.device.unmap_memory(memory) };
    map(c, memory)
}

/// Checks that a handle without the right to write is no handle to import.
#[test]
fn access_rights_are_those_that_were_requested() {
    let c = context();
    for (access, is_imported) in [(GENERIC_READ, false), (GENERIC_READ | 1, true), (0, true)] {
        let memory = exported_memory(&c, &vk::ExportMemoryWin32HandleInfoKHR::default().dw_access(access));
        let memory = memory.expect("memory");
        let handle = memory_handle(&c, memory);
        let import = vk::ImportMemoryWin32HandleInfoKHR::default().handle(number(&handle));
        let two = import_memory(&c, import, BYTES);
        assert_eq!(two.is_ok(), is_imported, "{access:#x}: {two:?}");
        // SAFETY: valid usage.
        unsafe {
            two.into_iter().for_each(|two| c.device.free_memory(two, None));
            c.device.free_memory(memory, None);
        }
    }
}

/// Makes a section of another program.
fn section(file: HANDLE, protection: u32, bytes: u32) -> OwnedHandle {
    // SAFETY: the section is new, and only the result owns its handle.
    unsafe {
        let handle = CreateFileMappingW(file, null(), protection, 0, bytes, null());
        assert!(!handle.is_null(), "{}", std::io::Error::last_os_error());
        OwnedHandle::from_raw_handle(handle)
    }
}

#[test]
fn foreign_handles_are_refused() {
    let c = context();
    let path = std::env::temp_dir().join(format!("grus-test-{}", std::process::id()));
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).expect("a file");
    file.set_len(BYTES).expect("bytes");
    // SAFETY: the event is new, and only this function owns its handle.
    let event = unsafe { OwnedHandle::from_raw_handle(CreateEventW(null(), 0, 0, null())) };
    let none = INVALID_HANDLE_VALUE;
    let sections = [
        ("small", section(none, PAGE_READWRITE, 1 << 16)),
        ("no whole granules", section(none, PAGE_READWRITE, BYTES as u32 + 4096)),
        ("without pages", section(none, PAGE_READWRITE | SEC_RESERVE, BYTES as u32)),
        ("of a file", section(file.as_raw_handle(), PAGE_READWRITE, BYTES as u32)),
        ("an event", event),
    ];
    let numbers = [0, -1, -2, 0x7fff_fff0, number(&sections[0].1) + 1_000_000];
    let cases = sections.iter().map(|(what, handle)| (*what, number(handle)));
    for (what, handle) in cases.chain(numbers.into_iter().map(|number| ("no handle", number))) {
        let import = vk::ImportMemoryWin32HandleInfoKHR::default().handle(handle);
        assert_eq!(import_memory(&c, import, BYTES), Err(INVALID), "{what} {handle:#x}");
        let semaphore = timeline(&c, None);
        let import = vk::ImportSemaphoreWin32HandleInfoKHR::default().semaphore(semaphore).handle(handle);
        assert_eq!(import_semaphore(&c, import), Err(INVALID), "{what} {handle:#x}");
        // SAFETY: valid usage.
        unsafe { c.device.destroy_semaphore(semaphore, None) };
    }
    let missing = name("missing");
    let import = vk::ImportMemoryWin32HandleInfoKHR::default().name(missing.as_ptr());
    assert_eq!(import_memory(&c, import, BYTES), Err(INVALID), "no such name");
    drop(file);
    let _ = std::fs::remove_file(path);
    // The handles of memory and of a semaphore are not exchangeable.
    let memory = exported_memory(&c, &Default::default()).expect("memory");
    let semaphore = timeline(&c, Some(&mut Default::default()));
    let handles = [memory_handle(&c, memory), semaphore_handle(&c, semaphore)];
    let import = vk::ImportSemaphoreWin32HandleInfoKHR::default().semaphore(semaphore).handle(number(&handles[0]));
    assert_eq!(import_semaphore(&c, import), Err(INVALID));
    let import = vk::ImportMemoryWin32HandleInfoKHR::default().handle(number(&handles[1]));
    assert_eq!(import_memory(&c, import, 4096), Err(INVALID));
    // SAFETY: valid usage.
    unsafe {
        c.device.destroy_semaphore(semaphore, None);
        c.device.free_memory(memory, None);
    }
}

/// Checks that types of Direct3D and global (KMT) handles have no features, and are refused.
#[test]
fn other_types_of_handles_are_refused() {
    let c = context();
    type M = vk::ExternalMemoryHandleTypeFlags;
    for ty in
        [M::OPAQUE_WIN32_KMT, M::D3D11_TEXTURE, M::D3D11_TEXTURE_KMT, M::D3D12_HEAP, M::D3D12_RESOURCE, M::OPAQUE_FD]
    {
        let info =
            vk::PhysicalDeviceExternalBufferInfo::default().handle_type(ty).usage(vk::BufferUsageFlags::TRANSFER_DST);
        let mut out = vk::ExternalBufferProperties::default();
        // SAFETY: valid usage.
        unsafe { c.instance.get_physical_device_external_buffer_properties(c.physical, &info, &mut out) };
        assert!(out.external_memory_properties.external_memory_features.is_empty(), "{ty:?}");
        let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(ty);
        let info = vk::MemoryAllocateInfo::default().allocation_size(BYTES).push_next(&mut export);
        // SAFETY: the driver refuses types without features.
        assert_eq!(unsafe { c.device.allocate_memory(&info, None) }, Err(INVALID), "{ty:?}");
    }
    let info = vk::PhysicalDeviceExternalSemaphoreInfo::default().handle_type(SEMAPHORE);
    let mut out = vk::ExternalSemaphoreProperties::default();
    // SAFETY: valid usage.
    unsafe { c.instance.get_physical_device_external_semaphore_properties(c.physical, &info, &mut out) };
    assert_eq!((out.compatible_handle_types, out.export_from_imported_handle_types), (SEMAPHORE, SEMAPHORE));
}

/// Checks binary semaphores and fences: permanent imports share the payload, and temporary ones end
/// with a wait or a reset.
#[test]
fn payloads_are_shared_by_reference() {
    let c = context();
    let d = &c.device;
    // SAFETY: valid usage.
    unsafe {
        let mut export = vk::ExportSemaphoreCreateInfo::default().handle_types(SEMAPHORE);
        let one = d.create_semaphore(&vk::SemaphoreCreateInfo::default().push_next(&mut export), None).expect("one");
        let two = d.create_semaphore(&Default::default(), None).expect("two");
        let handle = semaphore_handle(&c, one);
        let import = vk::ImportSemaphoreWin32HandleInfoKHR::default().semaphore(two).handle(number(&handle));
        let (ones, twos, stages) = ([one], [two], [vk::PipelineStageFlags::ALL_COMMANDS]);
        let signal = vk::SubmitInfo::default().signal_semaphores(&ones);
        let wait = vk::SubmitInfo::default().wait_semaphores(&twos).wait_dst_stage_mask(&stages);
        for flags in [vk::SemaphoreImportFlags::TEMPORARY, vk::SemaphoreImportFlags::empty()] {
            import_semaphore(&c, import.flags(flags)).expect("the payload");
            d.queue_submit(c.queue, &[signal], vk::Fence::null()).expect("a signal");
            d.queue_submit(c.queue, &[wait], vk::Fence::null()).expect("a wait");
            d.device_wait_idle().expect("no work");
        }
        let functions = ash::khr::external_fence_win32::Device::new(&c.instance, d);
        let mut export = vk::ExportFenceCreateInfo::default().handle_types(FENCE);
        let one_fence = d.create_fence(&vk::FenceCreateInfo::default().push_next(&mut export), None).expect("one");
        let two_fence = d.create_fence(&Default::default(), None).expect("two");
        let info = vk::FenceGetWin32HandleInfoKHR::default().fence(one_fence).handle_type(FENCE);
        let handle = functions.get_fence_win32_handle(&info).expect("a handle");
        let import = vk::ImportFenceWin32HandleInfoKHR::default().fence(two_fence).handle_type(FENCE).handle(handle);
        functions.import_fence_win32_handle(&import.flags(vk::FenceImportFlags::TEMPORARY)).expect("the payload");
        d.queue_submit(c.queue, &[], one_fence).expect("a submission");
        d.wait_for_fences(&[two_fence], true, PATIENCE).expect("a signal");
        d.reset_fences(&[two_fence]).expect("a reset");
        assert_eq!((d.get_fence_status(one_fence), d.get_fence_status(two_fence)), (Ok(true), Ok(false)));
        functions.import_fence_win32_handle(&import).expect("the payload");
        d.reset_fences(&[two_fence]).expect("a reset");
        assert_eq!(d.get_fence_status(one_fence), Ok(false));
        drop(OwnedHandle::from_raw_handle(handle as HANDLE));
        [one_fence, two_fence].into_iter().for_each(|fence| d.destroy_fence(fence, None));
        [one, two].into_iter().for_each(|semaphore| d.destroy_semaphore(semaphore, None));
    }
}

/// Checks that a waiter is released by the end of the process that promised the signal.
#[test]
fn the_end_of_a_process_keeps_its_promise() {
    const TEST: &str = "handles::the_end_of_a_process_keeps_its_promise";
    if let Ok(objects) = std::env::var(OBJECTS) {
        let c = context();
        let semaphore = timeline(&c, None);
        let semaphore_name = name(&objects);
        let import = vk::ImportSemaphoreWin32HandleInfoKHR::default().name(semaphore_name.as_ptr());
        import_semaphore(&c, import.semaphore(semaphore)).expect("the semaphore of the parent");
        let blocker = timeline(&c, None);
        let (waits, signals, values) = ([blocker], [semaphore], [1]);
        let stages = [vk::PipelineStageFlags::ALL_COMMANDS];
        let mut info =
            vk::TimelineSemaphoreSubmitInfo::default().wait_semaphore_values(&values).signal_semaphore_values(&values);
        let submit = vk::SubmitInfo::default()
            .wait_semaphores(&waits)
            .wait_dst_stage_mask(&stages)
            .signal_semaphores(&signals)
            .push_next(&mut info);
        // SAFETY: valid usage, but for the end of the process with pending work.
        unsafe { c.device.queue_submit(c.queue, &[submit], vk::Fence::null()) }.expect("a submission");
        std::process::exit(0);
    }
    let c = context();
    let part = format!("{}-promise", std::process::id());
    let semaphore_name = name(&part);
    let mut attributes = vk::ExportSemaphoreWin32HandleInfoKHR::default().name(semaphore_name.as_ptr());
    let semaphore = timeline(&c, Some(&mut attributes));
    let mut child = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", TEST, "--nocapture", "--test-threads=1"])
        .env(OBJECTS, part)
        .spawn()
        .expect("a child");
    wait(&c, semaphore, 1, PATIENCE).expect("the promise of the child");
    assert!(child.wait().expect("an end").success());
    // SAFETY: valid usage.
    unsafe { c.device.destroy_semaphore(semaphore, None) };
}
