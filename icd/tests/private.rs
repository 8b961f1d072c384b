//! Tests that private data are removed with their object: the next one at the same address has
//! none.

mod common;
use ash::vk::{self, Handle};
use common::Context;

type Slot = vk::PrivateDataSlot;

struct Private<'a> {
    c: &'a Context,
    functions: ash::ext::private_data::Device,
    slots: [Slot; 2],
}

impl Private<'_> {
    fn set<T: Handle + Copy>(&self, object: T, data: u64) {
        // SAFETY: valid usage.
        self.slots.iter().for_each(|s| unsafe { self.functions.set_private_data(object, *s, data) }.unwrap());
    }

    fn get<T: Handle + Copy>(&self, object: T) -> [u64; 2] {
        // SAFETY: valid usage.
        self.slots.map(|s| unsafe { self.functions.get_private_data(object, s) })
    }

    /// Creates and destroys objects until one has an earlier one's address.
    fn check<T: Handle + Copy>(
        &self,
        kind: &str,
        create: impl Fn(&ash::Device) -> T,
        destroy: impl Fn(&ash::Device, T),
    ) {
        let mut seen = std::collections::HashSet::new();
        let mut again = 0;
        for _ in 0..200 {
            let object = create(&self.c.device);
            again += usize::from(!seen.insert(object.as_raw()));
            assert_eq!(self.get(object), [0, 0], "{kind}: another object's data");
            self.set(object, 42);
            assert_eq!(self.get(object), [42, 42], "{kind}");
            destroy(&self.c.device, object);
            if again > 2 {
                return;
            }
        }
        panic!("{kind}: no address came again, nothing is tested");
    }
}

fn context() -> Context {
    let mut features = vk::PhysicalDevicePrivateDataFeatures::default().private_data(true);
    let instance = [c"VK_KHR_get_physical_device_properties2", c"VK_KHR_surface", c"VK_EXT_headless_surface"];
    let device = [c"VK_EXT_private_data", c"VK_KHR_swapchain"];
    Context::with(&instance, &device, &mut [&mut features])
}

fn private(c: &Context) -> Private<'_> {
    let functions = ash::ext::private_data::Device::new(&c.instance, &c.device);
    // SAFETY: valid usage.
    let slot = || unsafe { functions.create_private_data_slot(&Default::default(), None) }.unwrap();
    let slots = [slot(), slot()];
    Private { c, functions, slots }
}

impl Drop for Private<'_> {
    fn drop(&mut self) {
        // SAFETY: valid usage.
        self.slots.iter().for_each(|s| unsafe { self.functions.destroy_private_data_slot(*s, None) });
    }
}

#[test]
fn objects_with_a_create_call() {
    let c = context();
    let p = private(&c);
    macro_rules! check {
        ($kind:literal, $info:expr, $create:ident, $destroy:ident) => {
            // SAFETY: valid usage.
            p.check($kind, |d| unsafe { d.$create(&$info, None) }.unwrap(), |d, o| unsafe { d.$destroy(o, None) });
        };
    }
    let usage = vk::BufferUsageFlags::UNIFORM_TEXEL_BUFFER;
    let buffer_info = vk::BufferCreateInfo::default().size(64).usage(usage);
    let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_SRC;
    let image_info = common::image_info(vk::Format::R8G8B8A8_UNORM, [4, 4], usage);
    let spirv = common::spirv(include_bytes!("data/square.comp.spv"));
    let target = c.image(vk::Format::R8G8B8A8_UNORM, [4, 4], vk::SampleCountFlags::TYPE_1, 1);
    let buffer = c.buffer(64);
    let view_info = vk::ImageViewCreateInfo::default()
        .image(target.image)
        .view_type(vk::ImageViewType::TYPE_2D)
        .format(vk::Format::R8G8B8A8_UNORM)
        .subresource_range(common::range(vk::ImageAspectFlags::COLOR, 1));
    let texels = vk::BufferViewCreateInfo::default().buffer(buffer.buffer).format(vk::Format::R32_UINT).range(64);
    let events = vk::EventCreateInfo::default();
    let queries = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::OCCLUSION).query_count(4);
    check!("fence", vk::FenceCreateInfo::default(), create_fence, destroy_fence);
    check!("semaphore", vk::SemaphoreCreateInfo::default(), create_semaphore, destroy_semaphore);
    check!("event", events, create_event, destroy_event);
    check!("query pool", queries, create_query_pool, destroy_query_pool);
    check!("buffer", buffer_info, create_buffer, destroy_buffer);
    check!("buffer view", texels, create_buffer_view, destroy_buffer_view);
    check!("image", image_info, create_image, destroy_image);
    check!("image view", view_info, create_image_view, destroy_image_view);
    check!("memory", vk::MemoryAllocateInfo::default().allocation_size(64), allocate_memory, free_memory);
    check!("sampler", vk::SamplerCreateInfo::default(), create_sampler, destroy_sampler);
    let modules = vk::ShaderModuleCreateInfo::default().code(&spirv);
    check!("shader module", modules, create_shader_module, destroy_shader_module);
    check!("pipeline cache", vk::PipelineCacheCreateInfo::default(), create_pipeline_cache, destroy_pipeline_cache);
    let layouts = vk::PipelineLayoutCreateInfo::default();
    check!("pipeline layout", layouts, create_pipeline_layout, destroy_pipeline_layout);
    let sets = vk::DescriptorSetLayoutCreateInfo::default();
    check!("set layout", sets, create_descriptor_set_layout, destroy_descriptor_set_layout);
    let pools = vk::DescriptorPoolCreateInfo::default().max_sets(1);
    check!("descriptor pool", pools, create_descriptor_pool, destroy_descriptor_pool);
    check!("command pool", vk::CommandPoolCreateInfo::default(), create_command_pool, destroy_command_pool);
    let passes = [vk::SubpassDescription::default()];
    let pass_info = vk::RenderPassCreateInfo::default().subpasses(&passes);
    check!("render pass", pass_info, create_render_pass, destroy_render_pass);
    // SAFETY: valid usage.
    let pass = unsafe { c.device.create_render_pass(&pass_info, None) }.unwrap();
    let framebuffers = vk::FramebufferCreateInfo::default().render_pass(pass).width(4).height(4).layers(1);
    check!("framebuffer", framebuffers, create_framebuffer, destroy_framebuffer);
    // SAFETY: valid usage.
    unsafe { c.device.destroy_render_pass(pass, None) };
    p.check(
        "slot",
        // SAFETY: valid usage.
        |_| unsafe { p.functions.create_private_data_slot(&Default::default(), None) }.unwrap(),
        // SAFETY: valid usage.
        |_, slot| unsafe { p.functions.destroy_private_data_slot(slot, None) },
    );
    c.free_image(target);
    c.free(buffer);
}

/// Checks objects that are destroyed with a pool, or by resetting it.
#[test]
fn objects_of_pools() {
    let c = context();
    let p = private(&c);
    // SAFETY: valid usage.
    unsafe {
        let set_layout = c.device.create_descriptor_set_layout(&Default::default(), None).unwrap();
        let layouts = [set_layout];
        let pool_info = vk::DescriptorPoolCreateInfo::default()
            .max_sets(1)
            .flags(vk::DescriptorPoolCreateFlags::FREE_DESCRIPTOR_SET);
        let pool = c.device.create_descriptor_pool(&pool_info, None).unwrap();
        let set = |pool| {
            let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
            c.device.allocate_descriptor_sets(&info).unwrap()[0]
        };
        p.check("set, freed", |_| set(pool), |d, s| d.free_descriptor_sets(pool, &[s]).unwrap());
        p.check("set, reset", |_| set(pool), |d, _| d.reset_descriptor_pool(pool, Default::default()).unwrap());
        c.device.destroy_descriptor_pool(pool, None);
        let pool = std::cell::Cell::new(vk::DescriptorPool::null());
        let create = |d: &ash::Device| {
            pool.set(d.create_descriptor_pool(&pool_info, None).unwrap());
            set(pool.get())
        };
        p.check("set, pool destroyed", create, |d, _| d.destroy_descriptor_pool(pool.get(), None));
        c.device.destroy_descriptor_set_layout(set_layout, None);

        let buffer = |pool| {
            let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
            c.device.allocate_command_buffers(&info).unwrap()[0]
        };
        p.check("command buffer, freed", |_| buffer(c.pool), |d, b| d.free_command_buffers(c.pool, &[b]));
        let pool = std::cell::Cell::new(vk::CommandPool::null());
        let create = |d: &ash::Device| {
            pool.set(d.create_command_pool(&Default::default(), None).unwrap());
            buffer(pool.get())
        };
        p.check("command buffer, pool destroyed", create, |d, _| d.destroy_command_pool(pool.get(), None));
    }
}

#[test]
fn swapchains_and_their_images() {
    let c = context();
    let p = private(&c);
    let headless = ash::ext::headless_surface::Instance::new(&c.entry, &c.instance);
    let surfaces = ash::khr::surface::Instance::new(&c.entry, &c.instance);
    let swapchains = ash::khr::swapchain::Device::new(&c.instance, &c.device);
    // SAFETY: valid usage.
    unsafe {
        let surface = headless.create_headless_surface(&Default::default(), None).unwrap();
        let format = surfaces.get_physical_device_surface_formats(c.physical, surface).unwrap()[0];
        let info = common::info::swapchain(surface, format, 2, 8, vk::ImageUsageFlags::COLOR_ATTACHMENT);
        let create = |_: &ash::Device| swapchains.create_swapchain(&info, None).unwrap();
        p.check("swapchain", create, |_, s| swapchains.destroy_swapchain(s, None));
        let swapchain = std::cell::Cell::new(vk::SwapchainKHR::null());
        let create = |_: &ash::Device| {
            swapchain.set(swapchains.create_swapchain(&info, None).unwrap());
            swapchains.get_swapchain_images(swapchain.get()).unwrap()[0]
        };
        p.check("swapchain image", create, |_, _| swapchains.destroy_swapchain(swapchain.get(), None));
        surfaces.destroy_surface(surface, None);
    }
}

/// Checks that a slot's data are not visible in another slot, even if that one replaces a destroyed
/// slot.
#[test]
fn slots_have_separate_data() {
    let c = context();
    let p = private(&c);
    // SAFETY: valid usage.
    unsafe {
        let fence = c.device.create_fence(&Default::default(), None).unwrap();
        p.functions.set_private_data(fence, p.slots[0], 1).unwrap();
        assert_eq!(p.get(fence), [1, 0]);
        for i in 0..20 {
            let slot = p.functions.create_private_data_slot(&Default::default(), None).unwrap();
            assert_eq!(p.functions.get_private_data(fence, slot), 0);
            p.functions.set_private_data(fence, slot, 7 + i).unwrap();
            assert_eq!(p.functions.get_private_data(fence, slot), 7 + i);
            p.functions.set_private_data(c.device.handle(), slot, 9).unwrap();
            p.functions.set_private_data(c.queue, slot, 10).unwrap();
            assert_eq!(p.functions.get_private_data(c.device.handle(), slot), 9);
            assert_eq!(p.functions.get_private_data(c.queue, slot), 10);
            p.functions.destroy_private_data_slot(slot, None);
        }
        assert_eq!(p.get(fence), [1, 0]);
        c.device.destroy_fence(fence, None);
    }
}
