//! Presentation of frames, for the programs that open a window of some window system.

use ash::{khr, vk};
use cts_runner::vk::Api;
use std::error::Error;
use std::ffi::CStr;
use std::time::{Duration, Instant};

/// Width and height of the window in pixels.
pub const SIZE: u32 = 200;
/// Number of frames.
pub const FRAMES: u32 = 300;
/// Red, green and blue of the last frame in the upper left, upper right, lower left and lower right
/// quarter.
pub const LAST: [[u8; 3]; 4] = [[64, 128, 192], [250, 200, 10], [20, 220, 90], [200, 30, 60]];

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// Presents the frames on a surface, and calls `check` while the window shows the last one.
///
/// # Safety
/// `make_surface` makes a surface of the instance for a window of [`SIZE`].
pub unsafe fn present(
    api: &Api,
    extension: &CStr,
    make_surface: impl FnOnce(&ash::Instance) -> Outcome<vk::SurfaceKHR>,
    check: impl FnOnce() -> Outcome<()>,
) -> Outcome<()> {
    let entry = &api.entry;
    let extensions = [khr::surface::NAME.as_ptr(), extension.as_ptr()];
    let info = vk::InstanceCreateInfo::default().enabled_extension_names(&extensions);
    // SAFETY: only this thread uses the objects. All handles are alive, all infos are valid, and
    // objects are destroyed in the reverse order of their creation.
    unsafe {
        let instance = entry.create_instance(&info, None)?;
        let surfaces = khr::surface::Instance::new(entry, &instance);
        let surface = make_surface(&instance)?;
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
            return Err("swapchain images cannot be written by copies".into());
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
        let frames =
            Frames::new(&device, &functions, swapchain, &instance.get_physical_device_memory_properties(physical))?;
        for index in 0..FRAMES {
            let colors = if index + 1 == FRAMES { LAST } else { [[index as u8, 255 - index as u8, 7]; 4] };
            frames.show(colors)?;
        }
        device.device_wait_idle()?;
        let outcome = check();
        frames.destroy();
        functions.destroy_swapchain(swapchain, None);
        device.destroy_device(None);
        surfaces.destroy_surface(surface, None);
        instance.destroy_instance(None);
        outcome?;
        println!("{FRAMES} frames presented");
        Ok(())
    }
}

/// Waits until a window shows the last frame: `middle(quarter)` returns the colour in the middle of
/// a quarter of the window.
pub fn wait_for_last(mut middle: impl FnMut(usize) -> Option<[u8; 3]>) -> Outcome<()> {
    let start = Instant::now();
    loop {
        let shown: [_; 4] = std::array::from_fn(&mut middle);
        if shown == LAST.map(Some) {
            return Ok(());
        }
        if start.elapsed() > Duration::from_secs(10) {
            return Err(format!("the window shows {shown:?} instead of {LAST:?}").into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the middle of a quarter of the window: x and y.
pub fn middle(quarter: usize) -> [u32; 2] {
    [quarter % 2, quarter / 2].map(|half| SIZE / 4 + SIZE / 2 * half as u32)
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
    /// Buffer with the pixels of a frame, its memory, and the address of that.
    source: vk::Buffer,
    memory: vk::DeviceMemory,
    pixels: *mut u8,
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
        memories: &vk::PhysicalDeviceMemoryProperties,
    ) -> Outcome<Self> {
        // SAFETY: queue and swapchain belong to the device, which the `# Safety` section requires.
        // All infos are valid.
        unsafe {
            let images = functions.get_swapchain_images(swapchain)?;
            let flags = vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER;
            let pool = device.create_command_pool(&vk::CommandPoolCreateInfo::default().flags(flags), None)?;
            let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
            let usage = vk::BufferUsageFlags::TRANSFER_SRC;
            let buffer = vk::BufferCreateInfo::default().size(u64::from(SIZE * SIZE * 4)).usage(usage);
            let source = device.create_buffer(&buffer, None)?;
            let needs = device.get_buffer_memory_requirements(source);
            let coherent = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
            let mut types = (0..).zip(memories.memory_types_as_slice());
            let suits = |(index, ty): &(u32, &vk::MemoryType)| {
                needs.memory_type_bits & (1 << index) != 0 && ty.property_flags.contains(coherent)
            };
            let (ty, _) = types.find(suits).ok_or("no coherent memory")?;
            let allocation = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(ty);
            let memory = device.allocate_memory(&allocation, None)?;
            device.bind_buffer_memory(source, memory, 0)?;
            let pixels = device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())?.cast();
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
                source,
                memory,
                pixels,
            })
        }
    }

    /// Draws the next image with a colour in each quarter and presents it.
    ///
    /// # Safety
    /// All objects are alive and used by this thread alone.
    unsafe fn show(&self, colors: [[u8; 3]; 4]) -> Outcome<()> {
        // SAFETY: all objects are alive and only this thread uses them, which the `# Safety`
        // section requires. All infos are valid.
        unsafe {
            let bytes = std::slice::from_raw_parts_mut(self.pixels, (SIZE * SIZE * 4) as usize);
            for (i, out) in (0..).zip(bytes.as_chunks_mut::<4>().0) {
                let [r, g, b] = colors[(2 * (i / SIZE / (SIZE / 2)) + i % SIZE / (SIZE / 2)) as usize];
                *out = [b, g, r, 255];
            }
            let (index, _) =
                self.functions.acquire_next_image(self.swapchain, u64::MAX, self.acquired, vk::Fence::null())?;
            self.record(self.images[index as usize])?;
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

    /// Records a copy of the pixels into an image.
    ///
    /// # Safety
    /// All objects are alive and used by this thread alone.
    unsafe fn record(&self, image: vk::Image) -> Outcome<()> {
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
        let layers = vk::ImageSubresourceLayers::default().aspect_mask(vk::ImageAspectFlags::COLOR).layer_count(1);
        let extent = vk::Extent3D { width: SIZE, height: SIZE, depth: 1 };
        let region = vk::BufferImageCopy::default().image_subresource(layers).image_extent(extent);
        let flags = vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT;
        // SAFETY: all objects are alive and only this thread uses them, which the `# Safety`
        // section requires. The barriers move the image to the layouts that the commands name.
        unsafe {
            d.begin_command_buffer(cmd, &vk::CommandBufferBeginInfo::default().flags(flags))?;
            let to = barrier(L::UNDEFINED, L::TRANSFER_DST_OPTIMAL);
            d.cmd_pipeline_barrier(cmd, all, all, none, &[], &[], &[to]);
            d.cmd_copy_buffer_to_image(cmd, self.source, image, L::TRANSFER_DST_OPTIMAL, &[region]);
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
            self.device.destroy_buffer(self.source, None);
            self.device.free_memory(self.memory, None);
            self.device.destroy_fence(self.fence, None);
            self.drawn.iter().for_each(|s| self.device.destroy_semaphore(*s, None));
            self.device.destroy_semaphore(self.acquired, None);
            self.device.destroy_command_pool(self.pool, None);
        }
    }
}
