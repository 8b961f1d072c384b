//! Test of an X server that dies under a program whose SIGPIPE has its default disposition, as in
//! any C program (Rust's ignore it). The calls return VK_ERROR_SURFACE_LOST_KHR and the process
//! lives. Skipped with a message if there is no Xvfb.
//!
//! Linux only: Windows has no X server.
#![cfg(unix)]

mod common;
use ash::vk;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ConnectionExt as _, CreateWindowAux, WindowClass};

/// Variable of the client process with the id of its server's process.
const SERVER: &str = "GRUS_TEST_X_SERVER";

/// Starts a server on a display number that it chooses.
fn xvfb(extra: &[&str]) -> Option<(Child, String)> {
    let mut command = Command::new("Xvfb");
    command.args(["-noreset", "-displayfd", "1", "-nolisten", "tcp"]).args(extra);
    let Ok(mut child) = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn() else {
        eprintln!("skipped: no Xvfb");
        return None;
    };
    let mut line = String::new();
    BufReader::new(child.stdout.take()?).read_line(&mut line).ok()?;
    Some((child, format!(":{}", line.trim())))
}

#[test]
fn a_dead_server_is_a_lost_surface_and_no_signal() {
    if let Ok(server) = std::env::var(SERVER) {
        return client(server.parse().expect("a process"));
    }
    for extra in [&[][..], &["-extension", "MIT-SHM"]] {
        let Some((mut server, display)) = xvfb(extra) else { return };
        let mut client = Command::new(std::env::current_exe().expect("the path of this test"));
        client.args(["--exact", "a_dead_server_is_a_lost_surface_and_no_signal", "--nocapture"]);
        let status = client.env(SERVER, server.id().to_string()).env("DISPLAY", display).status();
        // The server may have been killed already.
        let _ = server.kill();
        let _ = server.wait();
        let status = status.expect("this test runs again");
        assert!(status.success(), "with {extra:?}: {status}");
    }
}

/// Shows frames, kills the server and continues.
fn client(server: libc::pid_t) {
    // SAFETY: no other thread of this process depends on the signal's disposition.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let (x, screen) = x11rb::connect(None).expect("server");
    let (root, window) = (&x.setup().roots[screen], x.generate_id().expect("window"));
    let aux = CreateWindowAux::new();
    x.create_window(root.root_depth, window, root.root, 0, 0, 200, 100, 0, WindowClass::INPUT_OUTPUT, 0, &aux)
        .expect("window")
        .check()
        .expect("window");

    let c = common::Context::new(&[c"VK_KHR_surface", c"VK_KHR_xcb_surface"], &[c"VK_KHR_swapchain"]);
    let surfaces = ash::khr::surface::Instance::new(&c.entry, &c.instance);
    let xcb = ash::khr::xcb_surface::Instance::new(&c.entry, &c.instance);
    let swapchains = ash::khr::swapchain::Device::new(&c.instance, &c.device);
    // There is no libxcb in this process, and the driver has its own connection: only the window
    // matters.
    let info = vk::XcbSurfaceCreateInfoKHR::default().window(window);
    // SAFETY: valid usage, except for the missing connection.
    unsafe {
        let surface = xcb.create_xcb_surface(&info, None).expect("surface");
        let info = vk::SwapchainCreateInfoKHR::default()
            .surface(surface)
            .min_image_count(3)
            .image_format(vk::Format::B8G8R8A8_UNORM)
            .image_extent(
                surfaces.get_physical_device_surface_capabilities(c.physical, surface).expect("it").current_extent,
            )
            .image_array_layers(1)
            .image_usage(vk::ImageUsageFlags::TRANSFER_DST)
            .pre_transform(vk::SurfaceTransformFlagsKHR::IDENTITY)
            .composite_alpha(vk::CompositeAlphaFlagsKHR::OPAQUE)
            .present_mode(vk::PresentModeKHR::IMMEDIATE);
        let swapchain = swapchains.create_swapchain(&info, None).expect("swapchain");
        let fence = c.device.create_fence(&Default::default(), None).expect("fence");
        let frame = || {
            let (index, _) = swapchains.acquire_next_image(swapchain, u64::MAX, vk::Semaphore::null(), fence)?;
            c.device.wait_for_fences(&[fence], true, u64::MAX)?;
            c.device.reset_fences(&[fence])?;
            let (chains, indices) = ([swapchain], [index]);
            let info = vk::PresentInfoKHR::default().swapchains(&chains).image_indices(&indices);
            swapchains.queue_present(c.queue, &info)
        };
        (0..5).for_each(|_| assert_eq!(frame(), Ok(false)));
        libc::kill(server, libc::SIGKILL);
        // The kernel takes some time to close the sockets of a killed process.
        let reported = (0..100_000).find_map(|_| frame().err());
        assert_eq!(reported, Some(vk::Result::ERROR_SURFACE_LOST_KHR));
        let lost = |surface| surfaces.get_physical_device_surface_capabilities(c.physical, surface).unwrap_err();
        assert_eq!(lost(surface), vk::Result::ERROR_SURFACE_LOST_KHR);
        let late =
            xcb.create_xcb_surface(&vk::XcbSurfaceCreateInfoKHR::default().window(window), None).expect("surface");
        assert_eq!(lost(late), vk::Result::ERROR_SURFACE_LOST_KHR, "no server");
        c.device.device_wait_idle().expect("idle");
        c.device.destroy_fence(fence, None);
        swapchains.destroy_swapchain(swapchain, None);
        [surface, late].iter().for_each(|s| surfaces.destroy_surface(*s, None));
    }
}
