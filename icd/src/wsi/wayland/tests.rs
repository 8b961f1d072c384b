//! Tests of Wayland surfaces with a test compositor ([`super::compositor`]), through the entry
//! points and below them. They are skipped with a message if there is no libwayland-client.

use super::compositor::{Client, Commit};
use super::connection::{Event, WaylandConnection, WaylandTarget};
use super::frame_queue::HIDDEN_FRAME_INTERVAL;
use super::window::Window;
use crate::os::backing::{Backing, Pages};
use crate::wsi::frame::{Frame, Listener, ShmBufferInfo};
use crate::wsi::tests::{FOREVER, NONE, SurfaceFixture};
use ash::vk;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

const LOST: vk::Result = vk::Result::ERROR_SURFACE_LOST_KHR;

/// Makes a surface of a client through Vulkan. The client must outlive it.
fn world(client: &Client) -> SurfaceFixture {
    SurfaceFixture::on(c"VK_KHR_wayland_surface", |entry, instance| {
        let wayland = ash::khr::wayland_surface::Instance::new(entry, instance);
        let info = vk::WaylandSurfaceCreateInfoKHR::default().display(client.display).surface(client.surface);
        // SAFETY: the calls follow Vulkan's valid usage rules.
        unsafe { wayland.create_wayland_surface(&info, None) }.unwrap()
    })
}

/// A swapchain and the objects to fill and present its images.
struct SwapchainBuffers<'a> {
    w: &'a SurfaceFixture,
    swapchain: vk::SwapchainKHR,
    images: Vec<vk::Image>,
    pool: vk::CommandPool,
    waits: ash::khr::present_wait::Device,
}

impl<'a> SwapchainBuffers<'a> {
    fn new(w: &'a SurfaceFixture, info: vk::SwapchainCreateInfoKHR<'_>) -> SwapchainBuffers<'a> {
        // SAFETY: the calls follow Vulkan's valid usage rules.
        unsafe {
            let swapchain = w.swapchains.create_swapchain(&info, None).unwrap();
            let images = w.swapchains.get_swapchain_images(swapchain).unwrap();
            let pool = w.device.create_command_pool(&Default::default(), None).unwrap();
            let waits = ash::khr::present_wait::Device::new(&w.instance, &w.device);
            SwapchainBuffers { w, swapchain, images, pool, waits }
        }
    }

    fn acquire(&self, timeout: u64) -> Result<u32, vk::Result> {
        // (An acquired image has been read, so there is nothing to wait for.) SAFETY: the tests
        // acquire without semaphore and fence only where no synchronisation is needed.
        unsafe { self.w.swapchains.acquire_next_image(self.swapchain, timeout, NONE, vk::Fence::null()) }
            .map(|(index, _)| index)
    }

    /// Fills an image with a colour.
    fn fill(&self, index: u32, color: [f32; 4]) {
        let (d, image) = (&self.w.device, self.images[index as usize]);
        let range =
            vk::ImageSubresourceRange::default().aspect_mask(vk::ImageAspectFlags::COLOR).level_count(1).layer_count(1);
        let (read, write) = (vk::AccessFlags::empty(), vk::AccessFlags::TRANSFER_WRITE);
        let (undefined, transfer) = (vk::ImageLayout::UNDEFINED, vk::ImageLayout::TRANSFER_DST_OPTIMAL);
        // SAFETY: the calls follow Vulkan's valid usage rules.
        unsafe {
            let info = vk::CommandBufferAllocateInfo::default().command_pool(self.pool).command_buffer_count(1);
            let commands = d.allocate_command_buffers(&info).unwrap();
            let once = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
            d.begin_command_buffer(commands[0], &once).unwrap();
            let barrier = |from, to, before, after| {
                let barrier = vk::ImageMemoryBarrier::default()
                    .image(image)
                    .subresource_range(range)
                    .old_layout(from)
                    .new_layout(to)
                    .src_access_mask(before)
                    .dst_access_mask(after);
                let all = vk::PipelineStageFlags::ALL_COMMANDS;
                d.cmd_pipeline_barrier(commands[0], all, all, Default::default(), &[], &[], &[barrier]);
            };
            barrier(undefined, transfer, read, write);
            let color = vk::ClearColorValue { float32: color };
            d.cmd_clear_color_image(commands[0], image, transfer, &color, &[range]);
            barrier(transfer, vk::ImageLayout::PRESENT_SRC_KHR, write, read);
            d.end_command_buffer(commands[0]).unwrap();
            let submit = vk::SubmitInfo::default().command_buffers(&commands);
            d.queue_submit(self.w.queue, &[submit], vk::Fence::null()).unwrap();
        }
    }

    /// Presents an image with a number and the rectangles in which it differs.
    fn present(&self, index: u32, id: u64, rectangles: &[vk::RectLayerKHR]) -> Result<bool, vk::Result> {
        let (chains, indices, ids) = ([self.swapchain], [index], [id]);
        let regions = [vk::PresentRegionKHR::default().rectangles(rectangles)];
        let mut regions = vk::PresentRegionsKHR::default().regions(&regions);
        let mut ids = vk::PresentIdKHR::default().present_ids(&ids);
        let info = vk::PresentInfoKHR::default().swapchains(&chains).image_indices(&indices);
        // SAFETY: the calls follow Vulkan's valid usage rules.
        unsafe { self.w.swapchains.queue_present(self.w.queue, &info.push_next(&mut ids).push_next(&mut regions)) }
    }

    /// Presents an image of one colour.
    fn show(&self, color: [f32; 4], id: u64) {
        let index = self.acquire(FOREVER).unwrap();
        self.fill(index, color);
        self.present(index, id, &[]).unwrap();
    }

    fn wait(&self, id: u64, timeout: Duration) -> Result<(), vk::Result> {
        // SAFETY: the calls follow Vulkan's valid usage rules.
        unsafe { self.waits.wait_for_present(self.swapchain, id, timeout.as_nanos() as u64) }
    }
}

impl Drop for SwapchainBuffers<'_> {
    fn drop(&mut self) {
        // SAFETY: the calls follow Vulkan's valid usage rules.
        unsafe {
            self.w.device.device_wait_idle().unwrap();
            self.w.device.destroy_command_pool(self.pool, None);
            self.w.swapchains.destroy_swapchain(self.swapchain, None);
        }
    }
}

/// Returns a colour by its bytes.
fn color(bytes: [u8; 4]) -> [f32; 4] {
    bytes.map(|byte| f32::from(byte) / 255.0)
}

fn is_all(commit: &Commit, pixel: [u8; 4]) -> bool {
    commit.pixels.as_chunks::<4>().0.iter().all(|p| *p == pixel)
}

fn info(w: &SurfaceFixture, mode: vk::PresentModeKHR, images: u32) -> vk::SwapchainCreateInfoKHR<'static> {
    w.info(mode, vk::SwapchainKHR::null()).min_image_count(images)
}

#[test]
fn the_surface_reports_the_compositors_formats() {
    let Some(client) = Client::new() else { return };
    let w = world(&client);
    // SAFETY: the calls follow Vulkan's valid usage rules.
    unsafe {
        let caps = w.surfaces.get_physical_device_surface_capabilities(w.physical, w.surface).unwrap();
        assert_eq!(caps.current_extent, vk::Extent2D { width: u32::MAX, height: u32::MAX });
        let alpha = vk::CompositeAlphaFlagsKHR::OPAQUE | vk::CompositeAlphaFlagsKHR::PRE_MULTIPLIED;
        assert_eq!(caps.supported_composite_alpha, alpha);
        let formats = w.surfaces.get_physical_device_surface_formats(w.physical, w.surface).unwrap();
        let known: Vec<_> = formats.iter().map(|f| f.format).collect();
        let (unorm, rgba) = (vk::Format::B8G8R8A8_UNORM, vk::Format::R8G8B8A8_UNORM);
        assert!(known[0] == unorm && known.contains(&rgba), "{known:?}");
        assert!(!known.contains(&vk::Format::A2R10G10B10_UNORM_PACK32), "it takes no such thing");
        let spaces: Vec<_> = formats.iter().filter(|f| f.format == unorm).map(|f| f.color_space).collect();
        assert_eq!(spaces, [vk::ColorSpaceKHR::SRGB_NONLINEAR, vk::ColorSpaceKHR::PASS_THROUGH_EXT]);
        assert_eq!(w.modes(), [vk::PresentModeKHR::FIFO, vk::PresentModeKHR::MAILBOX]);
        let wayland = ash::khr::wayland_surface::Instance::new(&w.entry, &w.instance);
        let display = &mut *client.display;
        assert!(wayland.get_physical_device_wayland_presentation_support(w.physical, 0, display));
        let refused = w.swapchains.create_swapchain(&info(&w, vk::PresentModeKHR::IMMEDIATE, 2), None);
        assert_eq!(refused.unwrap_err(), vk::Result::ERROR_INITIALIZATION_FAILED);
    }
}

/// The compositor gets the images' own memory: it sees their bytes, with the right format.
#[test]
fn images_reach_the_compositor() {
    let Some(client) = Client::new() else { return };
    let (w, compositor) = (world(&client), &client.compositor);
    compositor.set(|log| log.answers_frames_at_once = true);
    let fifo = info(&w, vk::PresentModeKHR::FIFO, 3);
    let odd = vk::Extent2D { width: 61, height: 7 };
    {
        let swapchain = SwapchainBuffers::new(&w, fifo.image_extent(odd));
        for frame in 1..=10u8 {
            let index = swapchain.acquire(FOREVER).unwrap();
            swapchain.fill(index, color([frame, 2, 3, 4]));
            let rectangles = [vk::RectLayerKHR {
                offset: vk::Offset2D { x: 5, y: 1 },
                extent: vk::Extent2D { width: frame.into(), height: 2 },
                layer: 0,
            }];
            swapchain.present(index, frame.into(), if frame == 1 { &[] } else { &rectangles }).unwrap();
            let commit = compositor.commit(frame.into());
            // The format is XRGB8888.
            assert_eq!((commit.extent, commit.format), ([61, 7], 1));
            assert!(is_all(&commit, [3, 2, frame, 4]), "frame {frame}: {:?}", &commit.pixels[..8]);
            let everything = [0, 0, i32::MAX as u32, i32::MAX as u32];
            assert_eq!(commit.damage, [if frame == 1 { everything } else { [5, 1, frame.into(), 2] }]);
            swapchain.wait(frame.into(), Duration::from_secs(20)).unwrap();
        }
        assert_eq!(compositor.wait(|log| Some(log.buffers)), 3);
    }
    compositor.wait(|log| (log.buffers == 0).then_some(()));
    let rgba = fifo.image_format(vk::Format::R8G8B8A8_UNORM);
    let swapchain = SwapchainBuffers::new(&w, rgba.composite_alpha(vk::CompositeAlphaFlagsKHR::PRE_MULTIPLIED));
    swapchain.show(color([1, 2, 3, 4]), 0);
    let commit = compositor.commit(11);
    assert_eq!((commit.extent, commit.format), ([64, 32], u32::from_le_bytes(*b"AB24")));
    assert!(is_all(&commit, [1, 2, 3, 4]));
}

#[test]
fn fifo_frames_wait_for_the_compositor() {
    let Some(client) = Client::new() else { return };
    let (w, compositor) = (world(&client), &client.compositor);
    let swapchain = SwapchainBuffers::new(&w, info(&w, vk::PresentModeKHR::FIFO, 4));
    let start = Instant::now();
    (1..=3).for_each(|id| swapchain.show(color([id as u8; 4]), id));
    compositor.commit(1);
    // SAFETY: the calls follow Vulkan's valid usage rules.
    unsafe { w.device.device_wait_idle().unwrap() };
    if start.elapsed() < HIDDEN_FRAME_INTERVAL / 2 {
        assert_eq!(compositor.commits(), 1, "nobody waits for it on the queue");
        assert_eq!(swapchain.wait(1, Duration::ZERO), Err(vk::Result::TIMEOUT));
    }
    compositor.tick();
    swapchain.wait(1, Duration::from_secs(20)).unwrap();
    assert!(is_all(&compositor.commit(2), [2; 4]));
    // An invisible frame is replaced after a while, so that no wait is endless.
    let start = Instant::now();
    assert!(is_all(&compositor.commit(3), [3; 4]));
    assert!(start.elapsed() >= HIDDEN_FRAME_INTERVAL / 2 && swapchain.wait(3, Duration::ZERO).is_err());
    compositor.tick();
    swapchain.wait(3, Duration::from_secs(20)).unwrap();
    // The next swapchain's frames follow those of the last.
    (4..=5).for_each(|id| swapchain.show(color([id as u8; 4]), id));
    let large = vk::Extent2D { width: 90, height: 9 };
    let next = SwapchainBuffers::new(
        &w,
        info(&w, vk::PresentModeKHR::FIFO, 2).image_extent(large).old_swapchain(swapchain.swapchain),
    );
    assert_eq!(swapchain.acquire(FOREVER), Err(vk::Result::ERROR_OUT_OF_DATE_KHR));
    next.show(color([6; 4]), 1);
    for frame in 4..=6 {
        let commit = compositor.commit(frame.into());
        assert!(is_all(&commit, [frame; 4]) && (commit.extent == [90, 9]) == (frame == 6));
        compositor.tick();
    }
}

#[test]
fn mailbox_images_are_released_after_they_were_read() {
    let Some(client) = Client::new() else { return };
    let (w, compositor) = (world(&client), &client.compositor);
    compositor.set(|log| log.releases_previous_buffer = false);
    let swapchain = SwapchainBuffers::new(&w, info(&w, vk::PresentModeKHR::MAILBOX, 3));
    (1..=3).for_each(|id| swapchain.show(color([id as u8; 4]), 0));
    assert!(is_all(&compositor.commit(3), [3; 4]), "without a tick");
    assert_eq!(swapchain.acquire(0), Err(vk::Result::NOT_READY));
    assert_eq!(swapchain.acquire(5_000_000), Err(vk::Result::TIMEOUT));
    let buffers: Vec<u32> = (1..=3).map(|commit| compositor.commit(commit).buffer).collect();
    compositor.release(buffers[1]);
    assert_eq!(swapchain.acquire(FOREVER), Ok(1));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| swapchain.acquire(FOREVER));
        compositor.release(buffers[0]);
        assert_eq!(waiter.join().unwrap(), Ok(0));
    });
}

#[test]
fn a_compositor_that_dies_is_a_lost_surface_and_not_a_hang() {
    let Some(client) = Client::new() else { return };
    let (w, compositor) = (world(&client), &client.compositor);
    compositor.set(|log| log.releases_previous_buffer = false);
    let swapchain = SwapchainBuffers::new(&w, info(&w, vk::PresentModeKHR::FIFO, 2));
    (1..=2).for_each(|id| swapchain.show(color([1; 4]), id));
    std::thread::scope(|scope| {
        let acquires = scope.spawn(|| swapchain.acquire(FOREVER));
        let waits = scope.spawn(|| swapchain.wait(2, Duration::MAX));
        compositor.commit(1);
        compositor.disconnect();
        assert_eq!(acquires.join().unwrap(), Err(LOST));
        assert_eq!(waits.join().unwrap(), Err(LOST));
    });
    assert_eq!(swapchain.acquire(0), Err(LOST));
    // SAFETY: the calls follow Vulkan's valid usage rules.
    unsafe {
        let caps = w.surfaces.get_physical_device_surface_capabilities(w.physical, w.surface);
        assert_eq!(caps.unwrap_err(), LOST);
        let again = info(&w, vk::PresentModeKHR::FIFO, 2).old_swapchain(swapchain.swapchain);
        assert_eq!(w.swapchains.create_swapchain(&again, None), Err(LOST));
    }
}

/// Calls of a window's listener, in order.
#[derive(Debug, PartialEq)]
enum Notification {
    Released(usize),
    Shown(u64),
    WaylandError,
}

#[derive(Default)]
struct RecordingListener(Mutex<Vec<Notification>>);

impl Listener for RecordingListener {
    fn image_released(&self, image: usize) {
        self.0.lock().push(Notification::Released(image));
    }
    fn frame_shown(&self, id: u64) {
        self.0.lock().push(Notification::Shown(id));
    }
    fn surface_lost(&self) {
        self.0.lock().push(Notification::WaylandError);
    }
}

/// A stopped compositor loses the surface after a bounded time, and blocks no thread for ever.
#[test]
fn waits_for_a_stopped_compositor_are_bounded() {
    let timeout = Duration::from_millis(100);
    // SAFETY: the client outlives the windows.
    let window =
        |client: &Client| unsafe { Window::with_timeout(WaylandTarget::new(client.display, client.surface), timeout) };
    let Some(client) = Client::new() else { return };
    client.compositor.set(|log| log.is_silent = true);
    let start = Instant::now();
    let is_silent = window(&client).unwrap();
    assert!(is_silent.formats().is_err() && is_silent.check().is_err());
    assert!(start.elapsed() >= timeout && start.elapsed() < timeout * 20);
    drop(is_silent);

    let client = Client::new().unwrap();
    let window = window(&client).unwrap();
    assert!(window.formats().unwrap().contains(&1));
    let Some(Pages::File(file)) = Pages::new(Backing::Memfd, 1 << 12) else { panic!("a file") };
    let picture = ShmBufferInfo { size: 1 << 12, offset: 0, stride: 64, extent: [16, 16], format: 1 };
    let ear = Arc::new(RecordingListener::default());
    let images = [(file.try_clone().unwrap(), picture)];
    assert_eq!(window.add(7, &images, ear.clone()), Ok(true));
    let frame = |image| Frame { swapchain: 7, image, damage: Vec::new(), id: 9 };
    // There is no such image, so there is nothing to show.
    (0..2).for_each(|image| window.present(frame(image), false).unwrap());
    client.compositor.commit(1);
    window.check_responding();
    client.compositor.set(|log| log.is_silent = true);
    let start = Instant::now();
    while window.check().is_ok() {
        window.check_responding();
        std::thread::sleep(window.interval());
        assert!(start.elapsed() < timeout * 20);
    }
    assert!(start.elapsed() >= timeout / 2);
    assert_eq!(ear.0.lock().last(), Some(&Notification::WaylandError));
    assert!(window.present(frame(0), true).is_err() && window.add(8, &images, ear).is_err());
    window.remove(7);
}

/// A thread that has events to dispatch prepares no read, and cancels none. Otherwise the reads of
/// other threads would wait for ever for a read that does not exist.
#[test]
fn reads_are_announced_once() {
    let (sender, receiver) = std::sync::mpsc::channel();
    // A read that is prepared twice waits for ever, so it runs in another thread.
    std::thread::spawn(move || {
        open_two_while_one_reads();
        sender.send(())
    });
    assert_eq!(receiver.recv_timeout(Duration::from_secs(20)), Ok(()));
}

fn open_two_while_one_reads() {
    let Some(client) = Client::new() else { return };
    // SAFETY: the client outlives the connections.
    let target: &'static WaylandTarget =
        Box::leak(Box::new(unsafe { WaylandTarget::new(client.display, client.surface) }));
    let open = || WaylandConnection::open(target, Duration::from_secs(5));
    let one = open().unwrap();
    let answer = one.sync().unwrap();
    // This also reads the answer.
    let two = open().unwrap();
    assert!((0..3).all(|_| one.prepare_read().is_none()));
    assert_eq!(std::thread::spawn(move || open().map(drop)).join().unwrap(), Ok(()));
    assert_eq!(one.dispatch(), Ok(vec![Event::Done(answer.id())]));
    drop((answer, two));
}

/// A window without a connection does not touch the application's objects.
#[test]
fn null_pointers_are_a_lost_surface() {
    // SAFETY: both pointers are null.
    let window = Window::new(unsafe { WaylandTarget::new(std::ptr::null_mut(), std::ptr::null_mut()) }).unwrap();
    assert!(window.formats().is_err() && window.ping().is_err());
}
