//! Presents frames to an Xlib window and reads the last one back from the X server.
//!
//! Debian 12 has no unmodified program that presents through `VK_KHR_xlib_surface` (its vkcube only
//! supports xcb), so this program does it. Xlib is opened at run time. The loader's environment
//! variables select driver and layers.

use ash::{khr, vk};
use cts_runner::vk::Api;
use std::error::Error;
use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};
use std::time::{Duration, Instant};

const SIZE: u32 = 200;
const FRAMES: u32 = 300;
/// Colour of the last frame.
const LAST: [u8; 3] = [64, 128, 192];

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The functions of Xlib that are used.
struct Xlib {
    display: *mut vk::Display,
    window: c_ulong,
    get_image:
        unsafe extern "C" fn(*mut vk::Display, c_ulong, c_int, c_int, c_uint, c_uint, c_ulong, c_int) -> *mut c_void,
    get_pixel: unsafe extern "C" fn(*mut c_void, c_int, c_int) -> c_ulong,
}

impl Xlib {
    fn open() -> Outcome<Self> {
        type OpenDisplay = unsafe extern "C" fn(*const c_char) -> *mut vk::Display;
        type RootWindow = unsafe extern "C" fn(*mut vk::Display) -> c_ulong;
        type CreateWindow = unsafe extern "C" fn(
            *mut vk::Display,
            c_ulong,
            c_int,
            c_int,
            c_uint,
            c_uint,
            c_uint,
            c_ulong,
            c_ulong,
        ) -> c_ulong;
        type MapWindow = unsafe extern "C" fn(*mut vk::Display, c_ulong) -> c_int;
        type Sync = unsafe extern "C" fn(*mut vk::Display, c_int) -> c_int;
        // SAFETY: the symbols have these types in every libX11.so.6, and the library is never
        // unloaded.
        unsafe {
            let library = Box::leak(Box::new(libloading::Library::new("libX11.so.6")?));
            let display = library.get::<OpenDisplay>(b"XOpenDisplay\0")?(std::ptr::null());
            if display.is_null() {
                return Err("no X display".into());
            }
            let root = library.get::<RootWindow>(b"XDefaultRootWindow\0")?(display);
            let create = library.get::<CreateWindow>(b"XCreateSimpleWindow\0")?;
            let window = create(display, root, 0, 0, SIZE, SIZE, 0, 0, 0);
            library.get::<MapWindow>(b"XMapWindow\0")?(display, window);
            library.get::<Sync>(b"XSync\0")?(display, 0);
            let get_image = *library.get(b"XGetImage\0")?;
            let get_pixel = *library.get(b"XGetPixel\0")?;
            Ok(Self { display, window, get_image, get_pixel })
        }
    }

    /// Returns the colour in the centre of the window.
    fn middle(&self) -> Option<[u8; 3]> {
        const ALL_PLANES: c_ulong = !0;
        const Z_PIXMAP: c_int = 2;
        let at = (SIZE / 2) as c_int;
        // SAFETY: display and window are alive, and the 1×1 image lies inside the mapped window.
        let pixel = unsafe {
            let image = (self.get_image)(self.display, self.window, at, at, 1, 1, ALL_PLANES, Z_PIXMAP);
            if image.is_null() {
                return None;
            }
            (self.get_pixel)(image, 0, 0)
        };
        Some([(pixel >> 16) as u8, (pixel >> 8) as u8, pixel as u8])
    }
}

fn main() -> Outcome<()> {
    let xlib = Xlib::open()?;
    let api = Api::open_loader()?;
    // SAFETY: `xlib` is open, and the program has only one thread of its own.
    unsafe { present(&api.entry, &xlib) }
}

/// Makes all objects, presents the frames, checks the last one and destroys all objects.
///
/// # Safety
/// `xlib` is open and used by no other thread.
unsafe fn present(entry: &ash::Entry, xlib: &Xlib) -> Outcome<()> {
    let extensions = [khr::surface::NAME.as_ptr(), khr::xlib_surface::NAME.as_ptr()];
    let info = vk::InstanceCreateInfo::default().enabled_extension_names(&extensions);
    // SAFETY: only this thread uses `xlib` (`# Safety`) and the objects. All handles are alive, all
    // infos are valid, and objects are destroyed in the reverse order of their creation.
    unsafe {
        let instance = entry.create_instance(&info, None)?;
        let surfaces = khr::surface::Instance::new(entry, &instance);
        let info = vk::XlibSurfaceCreateInfoKHR::default().dpy(xlib.display).window(xlib.window);
        let surface = khr::xlib_surface::Instance::new(entry, &instance).create_xlib_surface(&info, None)?;
        let physical = *instance.enumerate_physical_devices()?.first().ok_or("no physical device")?;
        if !surfaces.get_physical_device_surface_support(physical, 0, surface)? {
            return Err("queue family 0 cannot present".into());
        }
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let extensions = [khr::swapchain::NAME.as_ptr()];
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&extensions);
        let device = instance.create_device(physical, &info, None)?;
        let functions = khr::swapchain::Device::new(&instance, &device);
        let limits = surfaces.get_physical_device_surface_capabilities(physical, surface)?;
        if !limits.supported_usage_flags.contains(vk::ImageUsageFlags::TRANSFER_DST) {
            return Err("swapchain images cannot be cleared".into());
        }
        let formats = surfaces.get_physical_device_surface_formats(physical, surface)?;
        let unorm = |f: &&vk::SurfaceFormatKHR| f.format == vk::Format::B8G8R8A8_UNORM;
        let format = formats.iter().find(unorm).ok_or("no B8G8R8A8_UNORM")?;
        let info = vk::SwapchainCreateInfoKHR::default()
            .surface(surface)
            .min_image_count(limits.min_image_count)
            .image_format(format.format)
            .image_color_space(format.color_space)
            .image_extent(vk::Extent2D { width: SIZE, height: SIZE })
            .image_array_layers(1)
            .image_usage(vk::ImageUsageFlags::TRANSFER_DST)
            .pre_transform(limits.current_transform)
            .composite_alpha(vk::CompositeAlphaFlagsKHR::OPAQUE)
            .present_mode(vk::PresentModeKHR::FIFO)
            .clipped(true);
        let swapchain = functions.create_swapchain(&info, None)?;
        let frames = Frames::new(&device, &functions, swapchain)?;
        for index in 0..FRAMES {
            let color = if index + 1 == FRAMES { LAST } else { [index as u8, 255 - index as u8, 7] };
            frames.show(color)?;
        }
        device.device_wait_idle()?;
        let outcome = wait_for_last(xlib);
        frames.destroy();
        functions.destroy_swapchain(swapchain, None);
        device.destroy_device(None);
        surfaces.destroy_surface(surface, None);
        instance.destroy_instance(None);
        outcome
    }
}

fn wait_for_last(xlib: &Xlib) -> Outcome<()> {
    let start = Instant::now();
    loop {
        let shown = xlib.middle();
        if shown == Some(LAST) {
            println!("{FRAMES} frames presented");
            return Ok(());
        }
        if start.elapsed() > Duration::from_secs(10) {
            return Err(format!("the window shows {shown:?} instead of {LAST:?}").into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Objects for presenting frames, with one frame in flight.
struct Frames<'a> {
    device: &'a ash::Device,
    functions: &'a khr::swapchain::Device,
    swapchain: vk::SwapchainKHR,
    images: Vec<vk::Image>,
    queue: vk::Queue,
    pool: vk::CommandPool,
    commands: vk::CommandBuffer,
    acquired: vk::Semaphore,
    drawn: Vec<vk::Semaphore>,
    fence: vk::Fence,
}

impl<'a> Frames<'a> {
    /// Makes the objects for the images of a swapchain.
    ///
    /// # Safety
    /// The device has queue 0 of family 0, and the swapchain belongs to the device.
    unsafe fn new(
        device: &'a ash::Device,
        functions: &'a khr::swapchain::Device,
        swapchain: vk::SwapchainKHR,
    ) -> Outcome<Self> {
        // SAFETY: queue and swapchain belong to the device, which the `# Safety` section requires.
        // All infos are valid.
        unsafe {
            let images = functions.get_swapchain_images(swapchain)?;
            let flags = vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER;
            let pool = device.create_command_pool(&vk::CommandPoolCreateInfo::default().flags(flags), None)?;
            let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
            let semaphore = || device.create_semaphore(&vk::SemaphoreCreateInfo::default(), None);
            Ok(Self {
                device,
                functions,
                swapchain,
                queue: device.get_device_queue(0, 0),
                pool,
                commands: device.allocate_command_buffers(&info)?[0],
                acquired: semaphore()?,
                // There is one semaphore per image. It is free again when its image is acquired
                // again.
                drawn: images.iter().map(|_| semaphore()).collect::<Result<_, _>>()?,
                fence: device.create_fence(&vk::FenceCreateInfo::default(), None)?,
                images,
            })
        }
    }

    /// Clears the next image to a colour and presents it.
    ///
    /// # Safety
    /// All objects are alive and used by this thread alone.
    unsafe fn show(&self, color: [u8; 3]) -> Outcome<()> {
        // SAFETY: all objects are alive and only this thread uses them, which the `# Safety`
        // section requires. All infos are valid.
        unsafe {
            let (index, _) =
                self.functions.acquire_next_image(self.swapchain, u64::MAX, self.acquired, vk::Fence::null())?;
            self.record(self.images[index as usize], color)?;
            let (wait, signal, commands) = ([self.acquired], [self.drawn[index as usize]], [self.commands]);
            let submit = vk::SubmitInfo::default()
                .wait_semaphores(&wait)
                .wait_dst_stage_mask(&[vk::PipelineStageFlags::TRANSFER])
                .command_buffers(&commands)
                .signal_semaphores(&signal);
            self.device.queue_submit(self.queue, &[submit], self.fence)?;
            let (swapchains, indices) = ([self.swapchain], [index]);
            let info =
                vk::PresentInfoKHR::default().wait_semaphores(&signal).swapchains(&swapchains).image_indices(&indices);
            self.functions.queue_present(self.queue, &info)?;
            self.device.wait_for_fences(&[self.fence], true, u64::MAX)?;
            self.device.reset_fences(&[self.fence])?;
        }
        Ok(())
    }

    /// Records a clear of an image to a colour.
    ///
    /// # Safety
    /// All objects are alive and used by this thread alone.
    unsafe fn record(&self, image: vk::Image, color: [u8; 3]) -> Outcome<()> {
        use vk::ImageLayout as L;
        let range =
            vk::ImageSubresourceRange::default().aspect_mask(vk::ImageAspectFlags::COLOR).level_count(1).layer_count(1);
        let barrier = |from, to| {
            vk::ImageMemoryBarrier::default()
                .image(image)
                .old_layout(from)
                .new_layout(to)
                .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
                .dst_access_mask(vk::AccessFlags::MEMORY_WRITE | vk::AccessFlags::MEMORY_READ)
                .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
                .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
                .subresource_range(range)
        };
        let (d, cmd, all) = (self.device, self.commands, vk::PipelineStageFlags::ALL_COMMANDS);
        let none = vk::DependencyFlags::empty();
        let [r, g, b] = color.map(|c| f32::from(c) / 255.0);
        let clear = vk::ClearColorValue { float32: [r, g, b, 1.0] };
        let flags = vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT;
        // SAFETY: all objects are alive and only this thread uses them, which the `# Safety`
        // section requires. The barriers move the image to the layouts that the commands name.
        unsafe {
            d.begin_command_buffer(cmd, &vk::CommandBufferBeginInfo::default().flags(flags))?;
            let to = barrier(L::UNDEFINED, L::TRANSFER_DST_OPTIMAL);
            d.cmd_pipeline_barrier(cmd, all, all, none, &[], &[], &[to]);
            d.cmd_clear_color_image(cmd, image, L::TRANSFER_DST_OPTIMAL, &clear, &[range]);
            let to = barrier(L::TRANSFER_DST_OPTIMAL, L::PRESENT_SRC_KHR);
            d.cmd_pipeline_barrier(cmd, all, all, none, &[], &[], &[to]);
            d.end_command_buffer(cmd)?;
        }
        Ok(())
    }

    /// Destroys all objects.
    ///
    /// # Safety
    /// The device is idle.
    unsafe fn destroy(self) {
        // SAFETY: the device is idle, which the `# Safety` section requires. Each object is
        // destroyed once, because `self` is consumed.
        unsafe {
            self.device.destroy_fence(self.fence, None);
            self.drawn.iter().for_each(|s| self.device.destroy_semaphore(*s, None));
            self.device.destroy_semaphore(self.acquired, None);
            self.device.destroy_command_pool(self.pool, None);
        }
    }
}
