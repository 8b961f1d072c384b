//! Tests that an application or the loader may close the driver's library at any time when no
//! device is left.

mod support;

use cts_runner::vk::raw as vk;
use cts_runner::vk::{Api, Gpu, GpuOptions, Manifest};
use std::ffi::c_char;
use std::process::Command;
use support::{driver, succeed};

/// Variable that marks the child process, which may crash.
const CHILD: &str = "GRUS_TEST_UNLOAD";

type GetInstanceProcAddr = unsafe extern "system" fn(vk::Instance, *const c_char) -> vk::PFN_vkVoidFunction;

/// Opens the library, makes a device whose queue, watchdog and pool work, destroys it, and closes
/// the library at once.
fn round(manifest: &Manifest, words: usize) {
    // SAFETY: the test runs the initialisers of the driver on purpose. All objects made from the
    // library are destroyed before it is closed.
    unsafe {
        let library = libloading::Library::new(&manifest.library).expect("the library opens");
        let get = *library.get::<GetInstanceProcAddr>(b"vk_icdGetInstanceProcAddr").expect("the interface");
        let entry = ash::Entry::from_static_fn(ash::StaticFn { get_instance_proc_addr: get });
        let api = Api { entry, name: "the driver".into(), through_loader: false };
        let gpu = Gpu::new(&api, &GpuOptions::default()).expect("a device");
        let usage = vk::BufferUsageFlags::TRANSFER_DST;
        let buffer = gpu.buffer(words * 4, usage).expect("a buffer");
        gpu.run(|d, cmd| d.cmd_fill_buffer(cmd, buffer.handle, 0, vk::WHOLE_SIZE, 7)).expect("a fill");
        assert!(buffer.read().iter().all(|w| *w == 7));
        drop(gpu);
        library.close().expect("the library closes");
    }
}

#[test]
fn the_library_can_be_closed_after_use() {
    if let Some(icd) = std::env::var_os(CHILD) {
        let manifest = Manifest::read(icd.as_ref()).expect("a manifest");
        for _ in 0..20 {
            // The thread must end, because the thread-local destructors of a running thread would
            // also keep the library loaded.
            let manifest = manifest.clone();
            std::thread::spawn(move || round(&manifest, 1 << 20)).join().expect("no panic");
        }
        // Threads that are still running get time to end.
        std::thread::sleep(std::time::Duration::from_millis(300));
        // SAFETY: the test runs the initialisers of the driver on purpose, and uses no symbol of
        // it.
        let library = unsafe { libloading::Library::new(&manifest.library) }.expect("the library opens");
        library.close().expect("the library closes");
        let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
        let name = manifest.library.file_name().and_then(|n| n.to_str()).expect("a name");
        return assert!(maps.contains(name), "{name} was unloaded: its threads may still run");
    }
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", "the_library_can_be_closed_after_use", "--nocapture"]);
    succeed(command.env(CHILD, driver()).env("GRUS_THREADS", "4"));
}
