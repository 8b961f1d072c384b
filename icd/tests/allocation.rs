//! Tests of the application's allocator: handles are in its memory from their creation to their
//! destruction, and it is called for nothing else.

mod common;
#[path = "common/pipeline.rs"]
mod pipeline;

use ash::vk::{self, Handle};
use common::{Context, entry, info, spirv};
use std::alloc::Layout;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::ThreadId;

type Scope = vk::SystemAllocationScope;

/// An allocator that counts, and fails on request.
#[derive(Default)]
struct Allocator {
    blocks: Mutex<HashMap<usize, (Layout, Scope)>>,
    /// Number of calls of the allocation function.
    calls: AtomicUsize,
    failing: AtomicBool,
    /// Thread that may call now.
    thread: Mutex<Option<ThreadId>>,
}

unsafe extern "system" fn allocate(user: *mut c_void, size: usize, align: usize, scope: Scope) -> *mut c_void {
    // SAFETY: the allocator outlives the objects that it is given to.
    let a = unsafe { &*user.cast::<Allocator>() };
    assert_eq!(*a.thread.lock().unwrap(), Some(std::thread::current().id()), "during a command, on its thread");
    a.calls.fetch_add(1, Ordering::Relaxed);
    if a.failing.load(Ordering::Relaxed) {
        return std::ptr::null_mut();
    }
    let layout = Layout::from_size_align(size, align).unwrap();
    // SAFETY: the layout is not empty.
    let block = unsafe { std::alloc::alloc(layout) };
    a.blocks.lock().unwrap().insert(block as usize, (layout, scope));
    block.cast()
}

unsafe extern "system" fn reallocate(_: *mut c_void, _: *mut c_void, _: usize, _: usize, _: Scope) -> *mut c_void {
    std::ptr::null_mut()
}

unsafe extern "system" fn free(user: *mut c_void, block: *mut c_void) {
    // SAFETY: the allocator outlives the objects that it is given to.
    let a = unsafe { &*user.cast::<Allocator>() };
    assert_eq!(*a.thread.lock().unwrap(), Some(std::thread::current().id()), "during a command, on its thread");
    let (layout, _) = a.blocks.lock().unwrap().remove(&(block as usize)).expect("a block of this allocator");
    // SAFETY: the block was allocated by `allocate`, with this layout. It is overwritten so that
    // reads after the free are noticed.
    unsafe {
        block.cast::<u8>().write_bytes(0xa5, layout.size());
        std::alloc::dealloc(block.cast(), layout);
    }
}

impl Allocator {
    fn callbacks(&self) -> vk::AllocationCallbacks<'_> {
        vk::AllocationCallbacks {
            p_user_data: std::ptr::from_ref(self).cast_mut().cast(),
            pfn_allocation: Some(allocate),
            pfn_reallocation: Some(reallocate),
            pfn_free: Some(free),
            ..Default::default()
        }
    }

    /// Runs a command that may call the allocator.
    fn during<R>(&self, command: impl FnOnce() -> R) -> R {
        *self.thread.lock().unwrap() = Some(std::thread::current().id());
        let result = command();
        *self.thread.lock().unwrap() = None;
        result
    }

    fn scopes(&self) -> Vec<Scope> {
        self.blocks.lock().unwrap().values().map(|(_, scope)| *scope).collect()
    }
}

type Callbacks<'a> = Option<&'a vk::AllocationCallbacks<'a>>;

/// Creates and destroys objects of one kind.
struct Checker<'a> {
    allocator: &'a Allocator,
    checked: usize,
}

impl Checker<'_> {
    fn check<T: Handle + Copy>(
        &mut self,
        name: &str,
        scope: Scope,
        create: impl Fn(Callbacks<'_>) -> Result<T, vk::Result>,
        destroy: impl Fn(T, Callbacks<'_>),
    ) {
        let a = self.allocator;
        let (callbacks, before) = (a.callbacks(), a.blocks.lock().unwrap().len());
        // A failed creation leaves nothing behind.
        a.failing.store(true, Ordering::Relaxed);
        let failed = a.during(|| create(Some(&callbacks))).err();
        a.failing.store(false, Ordering::Relaxed);
        assert_eq!(failed, Some(vk::Result::ERROR_OUT_OF_HOST_MEMORY), "{name}");
        assert_eq!(a.blocks.lock().unwrap().len(), before, "{name}");
        let object = a.during(|| create(Some(&callbacks))).unwrap_or_else(|error| panic!("{name}: {error}"));
        let scopes = a.scopes();
        assert_eq!(scopes.len(), before + 1, "{name}");
        assert!(scopes.contains(&scope), "{name}: {scopes:?}");
        a.during(|| destroy(object, Some(&callbacks)));
        assert_eq!(a.blocks.lock().unwrap().len(), before, "{name} leaves something");
        self.checked += 1;
    }
}

/// Checks one kind by the names of ash's functions.
macro_rules! check {
    ($checker:ident, $d:expr, $create:ident($info:expr), $destroy:ident) => {
        check!($checker, Scope::OBJECT, $d, $create($info), $destroy)
    };
    ($checker:ident, $scope:expr, $d:expr, $create:ident($info:expr), $destroy:ident) => {
        $checker.check(
            stringify!($create),
            $scope,
            // SAFETY: valid usage.
            |a| unsafe { $d.$create($info, a) },
            // SAFETY: valid usage.
            |o, a| unsafe { $d.$destroy(o, a) },
        )
    };
}

fn resources(c: &Context, k: &mut Checker<'_>) {
    let d = &c.device;
    let buffer = c.buffer(4096);
    let image = c.image(info::RGBA8, [16, 16], vk::SampleCountFlags::TYPE_1, 1);
    check!(k, d, allocate_memory(&vk::MemoryAllocateInfo::default().allocation_size(4096)), free_memory);
    let usage = vk::BufferUsageFlags::TRANSFER_DST;
    check!(k, d, create_buffer(&vk::BufferCreateInfo::default().size(64).usage(usage)), destroy_buffer);
    let view = vk::BufferViewCreateInfo::default().buffer(buffer.buffer).format(vk::Format::R32_UINT).range(64);
    check!(k, d, create_buffer_view(&view), destroy_buffer_view);
    let of_image = vk::ImageCreateInfo::default()
        .image_type(vk::ImageType::TYPE_2D)
        .format(info::RGBA8)
        .extent(vk::Extent3D { width: 8, height: 8, depth: 1 })
        .mip_levels(1)
        .array_layers(1)
        .samples(vk::SampleCountFlags::TYPE_1)
        .usage(vk::ImageUsageFlags::SAMPLED);
    check!(k, d, create_image(&of_image), destroy_image);
    let view = vk::ImageViewCreateInfo::default()
        .image(image.image)
        .view_type(vk::ImageViewType::TYPE_2D)
        .format(info::RGBA8)
        .subresource_range(info::range(vk::ImageAspectFlags::COLOR, 1));
    check!(k, d, create_image_view(&view), destroy_image_view);
    check!(k, d, create_sampler(&vk::SamplerCreateInfo::default()), destroy_sampler);
    let conversion = vk::SamplerYcbcrConversionCreateInfo::default()
        .format(vk::Format::G8_B8R8_2PLANE_420_UNORM)
        .ycbcr_model(vk::SamplerYcbcrModelConversion::YCBCR_601)
        .chroma_filter(vk::Filter::NEAREST);
    check!(k, d, create_sampler_ycbcr_conversion(&conversion), destroy_sampler_ycbcr_conversion);
    let pool = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::OCCLUSION).query_count(4);
    check!(k, d, create_query_pool(&pool), destroy_query_pool);
    let pass = vk::RenderPassCreateInfo::default();
    let subpasses = [vk::SubpassDescription::default()];
    let pass = pass.subpasses(&subpasses);
    check!(k, d, create_render_pass(&pass), destroy_render_pass);
    // SAFETY: valid usage.
    let render_pass = unsafe { d.create_render_pass(&pass, None) }.unwrap();
    let framebuffer = vk::FramebufferCreateInfo::default().render_pass(render_pass).width(8).height(8).layers(1);
    check!(k, d, create_framebuffer(&framebuffer), destroy_framebuffer);
    // SAFETY: valid usage.
    unsafe { d.destroy_render_pass(render_pass, None) };
    c.free(buffer);
    c.free_image(image);
}

fn programs(c: &Context, k: &mut Checker<'_>) {
    let d = &c.device;
    let set =
        pipeline::Set::new(c, &[(vk::DescriptorType::STORAGE_BUFFER, 1), (vk::DescriptorType::UNIFORM_BUFFER, 1)]);
    check!(k, d, create_descriptor_set_layout(&Default::default()), destroy_descriptor_set_layout);
    check!(k, d, create_pipeline_layout(&Default::default()), destroy_pipeline_layout);
    check!(k, d, create_descriptor_pool(&vk::DescriptorPoolCreateInfo::default().max_sets(1)), destroy_descriptor_pool);
    let words = spirv(include_bytes!("data/square.comp.spv"));
    check!(k, d, create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&words)), destroy_shader_module);
    check!(k, Scope::CACHE, d, create_pipeline_cache(&Default::default()), destroy_pipeline_cache);
    let module = pipeline::module(c, &words);
    let stage =
        vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE).module(module).name(c"main");
    let infos = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(set.layout)];
    // SAFETY: valid usage.
    let create = |a: Callbacks<'_>| unsafe {
        d.create_compute_pipelines(vk::PipelineCache::null(), &infos, a).map(|list| list[0]).map_err(|(list, error)| {
            assert_eq!(list[0], vk::Pipeline::null());
            error
        })
    };
    // SAFETY: valid usage.
    k.check("create_compute_pipelines", Scope::OBJECT, create, |o, a| unsafe { d.destroy_pipeline(o, a) });
    // SAFETY: valid usage.
    unsafe { d.destroy_shader_module(module, None) };
    set.destroy(c);
}

fn others(c: &Context, k: &mut Checker<'_>) {
    let d = &c.device;
    check!(k, d, create_event(&Default::default()), destroy_event);
    check!(k, d, create_fence(&Default::default()), destroy_fence);
    check!(k, d, create_semaphore(&Default::default()), destroy_semaphore);
    check!(k, d, create_command_pool(&Default::default()), destroy_command_pool);
    check!(k, d, create_private_data_slot(&Default::default()), destroy_private_data_slot);
}

#[test]
fn handles_lie_in_the_applications_memory() {
    let mut features = vk::PhysicalDevicePrivateDataFeatures::default().private_data(true);
    let mut conversion = vk::PhysicalDeviceSamplerYcbcrConversionFeatures::default().sampler_ycbcr_conversion(true);
    let c = Context::with(&[], &[], &mut [&mut features, &mut conversion]);
    let allocator = Allocator::default();
    let mut k = Checker { allocator: &allocator, checked: 0 };
    resources(&c, &mut k);
    programs(&c, &mut k);
    others(&c, &mut k);
    assert_eq!(k.checked, 21);
}

#[test]
fn surfaces_swapchains_and_messengers_lie_there() {
    let instance = [c"VK_KHR_surface", c"VK_EXT_headless_surface", c"VK_EXT_debug_utils"];
    let c = Context::new(&instance, &[c"VK_KHR_swapchain"]);
    let allocator = Allocator::default();
    let mut k = Checker { allocator: &allocator, checked: 0 };
    let surfaces = ash::khr::surface::Instance::new(&c.entry, &c.instance);
    let headless = ash::ext::headless_surface::Instance::new(&c.entry, &c.instance);
    let swapchains = ash::khr::swapchain::Device::new(&c.instance, &c.device);
    let messengers = ash::ext::debug_utils::Instance::new(&c.entry, &c.instance);
    // SAFETY: valid usage.
    k.check(
        "surface",
        Scope::OBJECT,
        |a| unsafe { headless.create_headless_surface(&Default::default(), a) },
        |o, a| unsafe { surfaces.destroy_surface(o, a) },
    );
    // SAFETY: valid usage.
    unsafe {
        let surface = headless.create_headless_surface(&Default::default(), None).unwrap();
        let format = surfaces.get_physical_device_surface_formats(c.physical, surface).unwrap()[0];
        let info = info::swapchain(surface, format, 2, 16, vk::ImageUsageFlags::TRANSFER_DST);
        let create = |a: Callbacks<'_>| swapchains.create_swapchain(&info, a);
        k.check("swapchain", Scope::OBJECT, create, |o, a| swapchains.destroy_swapchain(o, a));
        surfaces.destroy_surface(surface, None);
        let info = vk::DebugUtilsMessengerCreateInfoEXT::default();
        let create = |a: Callbacks<'_>| messengers.create_debug_utils_messenger(&info, a);
        k.check("messenger", Scope::OBJECT, create, |o, a| messengers.destroy_debug_utils_messenger(o, a));
    }
}

/// Checks that the most specific allocator is called: the device's for an object without one, the
/// instance's for a device without one.
#[test]
fn children_lie_in_their_parents_memory() {
    let entry = entry();
    let [of_instance, of_device] = [Allocator::default(), Allocator::default()];
    let [for_instance, for_device] = [of_instance.callbacks(), of_device.callbacks()];
    let priorities = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
    let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
    // SAFETY: valid usage.
    unsafe {
        of_instance.failing.store(true, Ordering::Relaxed);
        let failed = of_instance.during(|| entry.create_instance(&Default::default(), Some(&for_instance)).err());
        assert_eq!(failed, Some(vk::Result::ERROR_OUT_OF_HOST_MEMORY));
        of_instance.failing.store(false, Ordering::Relaxed);
        let instance = of_instance.during(|| entry.create_instance(&Default::default(), Some(&for_instance)).unwrap());
        assert_eq!(of_instance.scopes(), [Scope::INSTANCE]);
        let physical = instance.enumerate_physical_devices().unwrap()[0];

        let device = of_instance.during(|| instance.create_device(physical, &info, None).unwrap());
        let fence = of_instance.during(|| device.create_fence(&Default::default(), None).unwrap());
        let mut scopes = of_instance.scopes();
        scopes.sort_unstable();
        assert_eq!(scopes, [Scope::OBJECT, Scope::DEVICE, Scope::INSTANCE]);
        of_instance.during(|| device.destroy_fence(fence, None));
        of_instance.during(|| device.destroy_device(None));
        assert_eq!(of_instance.scopes(), [Scope::INSTANCE]);

        let device = of_device.during(|| instance.create_device(physical, &info, Some(&for_device)).unwrap());
        let fence = of_device.during(|| device.create_fence(&Default::default(), None).unwrap());
        assert_eq!(of_device.scopes().len(), 2);
        of_device.during(|| device.destroy_fence(fence, None));
        of_device.during(|| device.destroy_device(Some(&for_device)));
        of_instance.during(|| instance.destroy_instance(Some(&for_instance)));
    }
    assert_eq!((of_instance.scopes(), of_device.scopes()), (vec![], vec![]));
}

/// Checks that objects of a pool are in the pool's memory.
#[test]
fn pooled_objects_lie_in_their_pools_memory() {
    let (c, a) = (Context::new(&[], &[]), Allocator::default());
    let (d, callbacks) = (&c.device, a.callbacks());
    let sizes = [vk::DescriptorPoolSize { ty: vk::DescriptorType::STORAGE_BUFFER, descriptor_count: 8 }];
    let flags = vk::DescriptorPoolCreateFlags::FREE_DESCRIPTOR_SET;
    let pool = vk::DescriptorPoolCreateInfo::default().max_sets(8).pool_sizes(&sizes).flags(flags);
    // SAFETY: valid usage.
    unsafe {
        let pool = a.during(|| d.create_descriptor_pool(&pool, Some(&callbacks)).unwrap());
        let layout = d.create_descriptor_set_layout(&Default::default(), None).unwrap();
        let layouts = [layout; 3];
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
        let sets = a.during(|| d.allocate_descriptor_sets(&info).unwrap());
        assert_eq!(a.scopes().len(), 4);
        a.failing.store(true, Ordering::Relaxed);
        assert_eq!(a.during(|| d.allocate_descriptor_sets(&info)), Err(vk::Result::ERROR_OUT_OF_HOST_MEMORY));
        a.failing.store(false, Ordering::Relaxed);
        a.during(|| d.free_descriptor_sets(pool, &sets[..1]).unwrap());
        assert_eq!(a.scopes().len(), 3);
        a.during(|| d.reset_descriptor_pool(pool, Default::default()).unwrap());
        assert_eq!(a.scopes().len(), 1);
        a.during(|| d.allocate_descriptor_sets(&info).unwrap());
        a.during(|| d.destroy_descriptor_pool(pool, Some(&callbacks)));
        assert_eq!(a.scopes(), []);
        d.destroy_descriptor_set_layout(layout, None);

        let pool = a.during(|| d.create_command_pool(&Default::default(), Some(&callbacks)).unwrap());
        let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(3);
        let buffers = a.during(|| d.allocate_command_buffers(&info).unwrap());
        assert_eq!(a.scopes().len(), 4);
        a.failing.store(true, Ordering::Relaxed);
        assert_eq!(a.during(|| d.allocate_command_buffers(&info)), Err(vk::Result::ERROR_OUT_OF_HOST_MEMORY));
        a.failing.store(false, Ordering::Relaxed);
        a.during(|| d.free_command_buffers(pool, &buffers[..1]));
        assert_eq!(a.scopes().len(), 3);
        a.during(|| d.destroy_command_pool(pool, Some(&callbacks)));
        assert_eq!(a.scopes(), []);
    }
}

/// Checks that objects with such handles work as others do, and that recorded commands keep the
/// objects that they use without the handle.
#[test]
fn such_objects_are_used_and_outlived() {
    let mut features = vk::PhysicalDevicePrivateDataFeatures::default().private_data(true);
    let c = Context::with(&[], &[], &mut [&mut features]);
    let (d, a) = (&c.device, Allocator::default());
    let callbacks = a.callbacks();
    let target = c.buffer(256);
    let info = vk::BufferCreateInfo::default().size(256).usage(vk::BufferUsageFlags::from_raw(3));
    // SAFETY: valid usage; destroying a buffer before its recorded command is reset is valid too.
    unsafe {
        let slot = d.create_private_data_slot(&Default::default(), None).unwrap();
        let mut numbers = std::collections::HashSet::new();
        for round in 1..=20u32 {
            let buffer = a.during(|| d.create_buffer(&info, Some(&callbacks)).unwrap());
            numbers.insert(buffer.as_raw());
            assert_eq!(d.get_private_data(buffer, slot), 0, "another object's data");
            d.set_private_data(buffer, slot, 7).unwrap();
            assert_eq!(d.get_private_data(buffer, slot), 7);
            let allocation = vk::MemoryAllocateInfo::default().allocation_size(4096);
            let memory = a.during(|| d.allocate_memory(&allocation, Some(&callbacks)).unwrap());
            d.bind_buffer_memory(buffer, memory, 0).unwrap();
            let copy = vk::BufferCopy { src_offset: 0, dst_offset: 0, size: 256 };
            c.run(|b| {
                d.cmd_fill_buffer(b, buffer, 0, 256, round);
                d.cmd_copy_buffer(b, buffer, target.buffer, &[copy]);
            })
            .unwrap();
            assert_eq!(target.words(), [round; 64]);
            a.during(|| d.destroy_buffer(buffer, Some(&callbacks)));
            a.during(|| d.free_memory(memory, Some(&callbacks)));
            assert_eq!(a.scopes(), []);
        }
        d.reset_command_pool(c.pool, Default::default()).unwrap();
        d.destroy_private_data_slot(slot, None);
        assert!(numbers.len() < 20, "no address came again, nothing is tested");
    }
    c.free(target);
}
