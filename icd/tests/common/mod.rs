//! A device of the driver under test. Functions come from `vk_icdGetInstanceProcAddr`, without the
//! loader and without layers, unless a variable demands the loader.

#![allow(dead_code, reason = "each test file uses a part")]

pub mod info;

use ash::vk;
#[allow(unused_imports, reason = "each test file uses a part")]
pub use info::{layers, range, spirv};
use std::ffi::CStr;

pub struct Context {
    pub entry: ash::Entry,
    pub instance: ash::Instance,
    pub physical: vk::PhysicalDevice,
    pub device: ash::Device,
    pub queue: vk::Queue,
    pub pool: vk::CommandPool,
}

/// Returns the driver's own functions. If `GRUS_TEST_LOADER` is set, it returns those of the Vulkan
/// loader, so that layers see the calls of a test.
pub fn entry() -> ash::Entry {
    let get_instance_proc_addr = match std::env::var_os("GRUS_TEST_LOADER") {
        None => vulkan_grus::vk_icdGetInstanceProcAddr,
        Some(_) => loader(),
    };
    // SAFETY: the function is that of the driver or of the loader.
    unsafe { ash::Entry::from_static_fn(ash::StaticFn { get_instance_proc_addr }) }
}

/// Layers are tested on Linux only.
#[cfg(windows)]
fn loader() -> vk::PFN_vkGetInstanceProcAddr {
    panic!("GRUS_TEST_LOADER is not supported on this system")
}

/// Returns `vkGetInstanceProcAddr` of the Vulkan loader, which stays loaded.
#[cfg(unix)]
fn loader() -> vk::PFN_vkGetInstanceProcAddr {
    // SAFETY: both names end in 0, and the symbol of the loader is a function of this type.
    unsafe {
        let library = libc::dlopen(c"libvulkan.so.1".as_ptr(), libc::RTLD_NOW);
        assert!(!library.is_null(), "the Vulkan loader is not installed");
        let function = libc::dlsym(library, c"vkGetInstanceProcAddr".as_ptr());
        std::mem::transmute::<*mut libc::c_void, Option<vk::PFN_vkGetInstanceProcAddr>>(function).expect("the function")
    }
}

/// Returns the description of a 2D image with one level, layer and sample.
pub fn image_info(
    format: vk::Format,
    [width, height]: [u32; 2],
    usage: vk::ImageUsageFlags,
) -> vk::ImageCreateInfo<'static> {
    vk::ImageCreateInfo::default()
        .image_type(vk::ImageType::TYPE_2D)
        .format(format)
        .extent(vk::Extent3D { width, height, depth: 1 })
        .mip_levels(1)
        .array_layers(1)
        .samples(vk::SampleCountFlags::TYPE_1)
        .usage(usage)
}

impl Context {
    pub fn new(instance_extensions: &[&CStr], device_extensions: &[&CStr]) -> Context {
        Context::with(instance_extensions, device_extensions, &mut [])
    }

    /// Creates a device with feature structures (each one is chained).
    pub fn with(
        instance_extensions: &[&CStr],
        device_extensions: &[&CStr],
        features: &mut [&mut dyn Chain],
    ) -> Context {
        let entry = entry();
        let names: Vec<_> = instance_extensions.iter().map(|n| n.as_ptr()).collect();
        // The application has the driver's own version, so that every core command exists.
        // SAFETY: valid usage.
        let version = unsafe { entry.try_enumerate_instance_version() }.expect("version").expect("at least 1.1");
        let application = vk::ApplicationInfo::default().api_version(version);
        let info = vk::InstanceCreateInfo::default().application_info(&application).enabled_extension_names(&names);
        // SAFETY: valid usage.
        let instance = unsafe { entry.create_instance(&info, None) }.expect("instance");
        // SAFETY: valid usage.
        let physical = unsafe { instance.enumerate_physical_devices() }.expect("devices")[0];
        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
        let names: Vec<_> = device_extensions.iter().map(|n| n.as_ptr()).collect();
        let mut info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&names);
        for feature in features {
            info = feature.chain(info);
        }
        // SAFETY: valid usage.
        let device = unsafe { instance.create_device(physical, &info, None) }.expect("device");
        // SAFETY: valid usage.
        let queue = unsafe { device.get_device_queue(0, 0) };
        let info = vk::CommandPoolCreateInfo::default();
        // SAFETY: valid usage.
        let pool = unsafe { device.create_command_pool(&info, None) }.expect("pool");
        Context { entry, instance, physical, device, queue, pool }
    }

    pub fn memory(&self, size: u64) -> (vk::DeviceMemory, *mut u8) {
        let info = vk::MemoryAllocateInfo::default().allocation_size(size);
        // SAFETY: valid usage.
        unsafe {
            let memory = self.device.allocate_memory(&info, None).expect("memory");
            let pointer = self.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()).expect("map");
            (memory, pointer.cast())
        }
    }

    /// Makes a buffer with its own mapped memory, of any usage.
    pub fn buffer(&self, size: u64) -> Buffer {
        let usage = vk::BufferUsageFlags::from_raw(0x1ff);
        let info = vk::BufferCreateInfo::default().size(size).usage(usage);
        // SAFETY: valid usage.
        unsafe {
            let buffer = self.device.create_buffer(&info, None).expect("buffer");
            let requirements = self.device.get_buffer_memory_requirements(buffer);
            let (memory, pointer) = self.memory(requirements.size);
            self.device.bind_buffer_memory(buffer, memory, 0).expect("bind");
            Buffer { buffer, memory, pointer, size }
        }
    }

    /// Makes a buffer with its own mapped memory, whose usage has a device address.
    pub fn addressed_buffer(&self, size: u64, usage: vk::BufferUsageFlags) -> Buffer {
        let usage = usage | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
        let info = vk::BufferCreateInfo::default().size(size).usage(usage);
        let d = &self.device;
        // SAFETY: valid usage.
        unsafe {
            let buffer = d.create_buffer(&info, None).expect("buffer");
            let requirements = d.get_buffer_memory_requirements(buffer);
            let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
            let info = vk::MemoryAllocateInfo::default().allocation_size(requirements.size).push_next(&mut flags);
            let memory = d.allocate_memory(&info, None).expect("memory");
            let pointer = d.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()).expect("map").cast();
            d.bind_buffer_memory(buffer, memory, 0).expect("bind");
            Buffer { buffer, memory, pointer, size }
        }
    }

    /// Returns the device address of a buffer.
    pub fn address(&self, buffer: &Buffer) -> u64 {
        let info = vk::BufferDeviceAddressInfo::default().buffer(buffer.buffer);
        // SAFETY: valid usage.
        unsafe { self.device.get_buffer_device_address(&info) }
    }

    pub fn free(&self, buffer: Buffer) {
        // SAFETY: valid usage.
        unsafe {
            self.device.destroy_buffer(buffer.buffer, None);
            self.device.free_memory(buffer.memory, None);
        }
    }

    /// Makes a 2D colour or depth image for copies; one of integers is a storage image too.
    pub fn image(&self, format: vk::Format, extent: [u32; 2], samples: vk::SampleCountFlags, levels: u32) -> Image {
        let mut usage = vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
        if matches!(format, vk::Format::R32_UINT | vk::Format::R32_SFLOAT | vk::Format::R64_UINT) {
            usage |= vk::ImageUsageFlags::STORAGE;
        }
        if format == vk::Format::R32_UINT {
            usage |= vk::ImageUsageFlags::SAMPLED;
        }
        let aspect = match format {
            vk::Format::D32_SFLOAT | vk::Format::D16_UNORM => vk::ImageAspectFlags::DEPTH,
            _ => vk::ImageAspectFlags::COLOR,
        };
        self.image_of(&image_info(format, extent, usage).samples(samples).mip_levels(levels), aspect)
    }

    /// Makes a 2D image with memory of its own, and a view of all of its levels.
    pub fn image_of(&self, info: &vk::ImageCreateInfo<'_>, aspect: vk::ImageAspectFlags) -> Image {
        // SAFETY: valid usage.
        unsafe {
            let image = self.device.create_image(info, None).expect("image");
            let (memory, _) = self.memory(self.device.get_image_memory_requirements(image).size);
            self.device.bind_image_memory(image, memory, 0).expect("bind");
            let view = self.view(image, info.format, range(aspect, info.mip_levels));
            Image { image, memory, view, extent: [info.extent.width, info.extent.height], aspect }
        }
    }

    /// Makes a 2D view of an image that has memory.
    pub fn view(&self, image: vk::Image, format: vk::Format, range: vk::ImageSubresourceRange) -> vk::ImageView {
        let info = vk::ImageViewCreateInfo::default()
            .image(image)
            .view_type(vk::ImageViewType::TYPE_2D)
            .format(format)
            .subresource_range(range);
        // SAFETY: valid usage.
        unsafe { self.device.create_image_view(&info, None) }.expect("view")
    }

    pub fn free_image(&self, image: Image) {
        // SAFETY: valid usage.
        unsafe {
            self.device.destroy_image_view(image.view, None);
            self.device.destroy_image(image.image, None);
            self.device.free_memory(image.memory, None);
        }
    }

    pub fn record(&self, with: impl FnOnce(vk::CommandBuffer)) -> vk::CommandBuffer {
        let info = vk::CommandBufferAllocateInfo::default().command_pool(self.pool).command_buffer_count(1);
        // SAFETY: valid usage.
        unsafe {
            let buffer = self.device.allocate_command_buffers(&info).expect("command buffer")[0];
            self.device.begin_command_buffer(buffer, &Default::default()).expect("begin");
            with(buffer);
            self.device.end_command_buffer(buffer).expect("end");
            buffer
        }
    }

    /// Records, submits and waits.
    pub fn run(&self, with: impl FnOnce(vk::CommandBuffer)) -> Result<(), vk::Result> {
        let buffers = [self.record(with)];
        let submit = vk::SubmitInfo::default().command_buffers(&buffers);
        // SAFETY: valid usage.
        unsafe {
            let fence = self.device.create_fence(&Default::default(), None)?;
            self.device.queue_submit(self.queue, &[submit], fence)?;
            let result = self.device.wait_for_fences(&[fence], true, 60_000_000_000);
            self.device.destroy_fence(fence, None);
            result
        }
    }

    /// Returns the texels of an image's first level.
    pub fn read_image(&self, image: &Image, texel_bytes: u64) -> Vec<u8> {
        let size = u64::from(image.extent[0]) * u64::from(image.extent[1]) * texel_bytes;
        let buffer = self.buffer(size);
        self.run(|c| {
            let region = region(image);
            // SAFETY: valid usage.
            unsafe {
                self.device.cmd_copy_image_to_buffer(
                    c,
                    image.image,
                    vk::ImageLayout::GENERAL,
                    buffer.buffer,
                    &[region],
                );
            }
        })
        .expect("copy");
        let bytes = buffer.bytes().to_vec();
        self.free(buffer);
        bytes
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: valid usage.
        unsafe {
            let _ = self.device.device_wait_idle();
            self.device.destroy_command_pool(self.pool, None);
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}

/// A feature structure that can be chained to a device's creation.
pub trait Chain {
    fn chain<'a>(&'a mut self, info: vk::DeviceCreateInfo<'a>) -> vk::DeviceCreateInfo<'a>;
}
impl<T: vk::ExtendsDeviceCreateInfo> Chain for T {
    fn chain<'a>(&'a mut self, info: vk::DeviceCreateInfo<'a>) -> vk::DeviceCreateInfo<'a> {
        info.push_next(self)
    }
}

/// A structure of features that `ash` lacks: its tag, and `N` features, which are all enabled.
#[repr(C)]
pub struct Features<const N: usize> {
    s_type: i32,
    p_next: *mut std::ffi::c_void,
    enabled: [vk::Bool32; N],
}
// SAFETY: `Features::new` gets the tag of a structure that extends that of the device's creation
// and has N features.
unsafe impl<const N: usize> vk::ExtendsDeviceCreateInfo for Features<N> {}

impl<const N: usize> Features<N> {
    /// Returns the structure with this tag, which must be that of a structure with `N` features.
    pub fn new(s_type: i32) -> Features<N> {
        Features { s_type, p_next: std::ptr::null_mut(), enabled: [vk::TRUE; N] }
    }
}

/// Returns `VkPhysicalDeviceDeviceAddressCommandsFeaturesKHR`.
pub fn device_address_commands() -> Features<1> {
    Features::new(1_000_318_006)
}

pub struct Buffer {
    pub buffer: vk::Buffer,
    pub memory: vk::DeviceMemory,
    pub pointer: *mut u8,
    pub size: u64,
}

impl Buffer {
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the memory is mapped, and the tests read it when the device is idle.
        unsafe { std::slice::from_raw_parts(self.pointer, self.size as usize) }
    }
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the memory is mapped, and the tests write it when the device is idle.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.size as usize) }
    }
    pub fn words(&self) -> Vec<u32> {
        self.bytes().as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect()
    }
    pub fn fill_words(&mut self, word: impl Fn(u32) -> u32) {
        for (i, bytes) in self.bytes_mut().as_chunks_mut::<4>().0.iter_mut().enumerate() {
            *bytes = word(i as u32).to_le_bytes();
        }
    }
}

pub struct Image {
    pub image: vk::Image,
    pub memory: vk::DeviceMemory,
    pub view: vk::ImageView,
    pub extent: [u32; 2],
    pub aspect: vk::ImageAspectFlags,
}

pub fn region(image: &Image) -> vk::BufferImageCopy {
    info::region(image.aspect, image.extent)
}

/// Returns the largest number of resident bytes of the process so far.
pub fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).expect("a line");
    line.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).expect("a number") << 10
}
