//! A workload with something of everything: each kind of object, compilation, a cache that is saved
//! and loaded, dispatches, draws, copies, queries, presentation.
//!
//! It ends at the first error and destroys all objects.

use crate::info::{self, RGBA8, Triangles, area, range, region, spirv, viewport};
use ash::vk;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const WAIT: u64 = 60_000_000_000;
const SIDE: u32 = 96;
const DATA: u64 = 1024;

static MESSAGES: AtomicU64 = AtomicU64::new(0);

unsafe extern "system" fn count_message(
    _: vk::DebugUtilsMessageSeverityFlagsEXT,
    _: vk::DebugUtilsMessageTypeFlagsEXT,
    _: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    _: *mut std::ffi::c_void,
) -> vk::Bool32 {
    MESSAGES.fetch_add(1, Relaxed);
    vk::FALSE
}

/// Destructors that run at the end, in reverse order.
struct Later<'a>(Vec<Box<dyn FnOnce() + 'a>>);

impl<'a> Later<'a> {
    fn add(&mut self, destroy: impl FnOnce() + 'a) {
        self.0.push(Box::new(destroy));
    }
}

impl Drop for Later<'_> {
    fn drop(&mut self) {
        while let Some(destroy) = self.0.pop() {
            destroy();
        }
    }
}

/// Makes an object of the device and registers its destruction.
macro_rules! made {
    ($later:ident, $d:expr, $create:ident($($arg:expr),*), $destroy:ident) => {{
        let object = $d.$create($($arg,)* None)?;
        let functions = $d.clone();
        $later.add(move || functions.$destroy(object, None));
        object
    }};
}

/// Runs the whole workload.
///
/// # Errors
/// Returns the driver's first error, or ERROR_VALIDATION_FAILED_EXT if a result is wrong.
pub fn run(functions: &ash::StaticFn) -> Result<(), vk::Result> {
    let functions = ash::StaticFn { get_instance_proc_addr: functions.get_instance_proc_addr };
    // SAFETY: valid usage.
    let entry = unsafe { ash::Entry::from_static_fn(functions) };
    // SAFETY: valid usage.
    unsafe {
        entry.enumerate_instance_extension_properties(None)?;
        let names = [c"VK_EXT_debug_utils".as_ptr(), c"VK_KHR_surface".as_ptr(), c"VK_EXT_headless_surface".as_ptr()];
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let info = vk::InstanceCreateInfo::default().application_info(&application).enabled_extension_names(&names);
        let instance = entry.create_instance(&info, None)?;
        let mut later = Later(Vec::new());
        let destroy = instance.clone();
        later.add(move || destroy.destroy_instance(None));
        let utils = ash::ext::debug_utils::Instance::new(&entry, &instance);
        let info = vk::DebugUtilsMessengerCreateInfoEXT::default()
            .message_severity(
                vk::DebugUtilsMessageSeverityFlagsEXT::ERROR | vk::DebugUtilsMessageSeverityFlagsEXT::WARNING,
            )
            .message_type(vk::DebugUtilsMessageTypeFlagsEXT::GENERAL)
            .pfn_user_callback(Some(count_message));
        let _messenger = made!(later, utils, create_debug_utils_messenger(&info), destroy_debug_utils_messenger);
        let physical = instance.enumerate_physical_devices()?[0];
        instance.enumerate_device_extension_properties(physical)?;

        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
        let names = [c"VK_KHR_swapchain".as_ptr()];
        let mut more = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
        let mut newer = vk::PhysicalDeviceVulkan13Features::default().private_data(true);
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&names)
            .push_next(&mut more)
            .push_next(&mut newer);
        let device = instance.create_device(physical, &info, None)?;
        let destroy = device.clone();
        later.add(move || destroy.destroy_device(None));
        let work =
            Work { entry: &entry, instance: &instance, d: &device, queue: device.get_device_queue(0, 0), physical };
        // No object is in use any more when it is destroyed, after any error.
        let result = work.all();
        let _ = device.device_wait_idle();
        result
    }
}

/// Requests objects that do not fit into the addresses that the process may have: each is refused,
/// and small ones still work.
///
/// # Errors
/// Returns a message about an object that was not refused as it should be.
pub fn too_large(functions: &ash::StaticFn) -> Result<(), String> {
    let functions = ash::StaticFn { get_instance_proc_addr: functions.get_instance_proc_addr };
    // SAFETY: valid usage.
    let entry = unsafe { ash::Entry::from_static_fn(functions) };
    // SAFETY: valid usage.
    unsafe {
        let instance = entry.create_instance(&Default::default(), None).map_err(|e| e.to_string())?;
        let physical = instance.enumerate_physical_devices().map_err(|e| e.to_string())?[0];
        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
        let d = instance.create_device(physical, &info, None).map_err(|e| e.to_string())?;
        // The memory that the application itself uses for its calls, before the limit is set.
        let code = vec![0u32; 64 << 20];
        let statm = std::fs::read_to_string("/proc/self/statm").map_err(|e| e.to_string())?;
        let pages: u64 = statm.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        let limit = libc::rlimit { rlim_cur: pages * 4096 + (64 << 20), rlim_max: libc::RLIM_INFINITY };
        if libc::setrlimit(libc::RLIMIT_AS, &raw const limit) != 0 {
            return Err("setrlimit".into());
        }
        let refused = |what: &str, result: Result<(), vk::Result>| match result {
            Err(vk::Result::ERROR_OUT_OF_HOST_MEMORY) => Ok(()),
            other => Err(format!("{what}: {other:?}")),
        };
        for count in [2 << 20, 400 << 20] {
            let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(count);
            refused("queries", d.create_query_pool(&info, None).map(drop))?;
        }
        let info = vk::ShaderModuleCreateInfo::default().code(&code);
        refused("shader module", d.create_shader_module(&info, None).map(drop))?;
        let pool = d.create_command_pool(&Default::default(), None).map_err(|e| e.to_string())?;
        let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        let commands = d.allocate_command_buffers(&info).map_err(|e| e.to_string())?[0];
        d.begin_command_buffer(commands, &Default::default()).map_err(|e| e.to_string())?;
        for _ in 0..4 << 20 {
            d.cmd_set_viewport(commands, 0, &[viewport(SIDE)]);
        }
        refused("commands", d.end_command_buffer(commands))?;
        d.begin_command_buffer(commands, &Default::default()).map_err(|e| e.to_string())?;
        d.cmd_set_viewport(commands, 0, &[viewport(SIDE)]);
        d.end_command_buffer(commands).map_err(|e| e.to_string())?;
        d.destroy_command_pool(pool, None);
        d.destroy_device(None);
        instance.destroy_instance(None);
        Ok(())
    }
}

struct Work<'a> {
    entry: &'a ash::Entry,
    instance: &'a ash::Instance,
    physical: vk::PhysicalDevice,
    d: &'a ash::Device,
    queue: vk::Queue,
}

impl Work<'_> {
    unsafe fn all(&self) -> Result<(), vk::Result> {
        // SAFETY: valid usage.
        unsafe {
            self.small_objects()?;
            let mut later = Later(Vec::new());
            let pool = made!(later, self.d, create_command_pool(&Default::default()), destroy_command_pool);
            self.compute(pool)?;
            self.graphics(pool)?;
            self.present(pool)
        }
    }

    unsafe fn small_objects(&self) -> Result<(), vk::Result> {
        let d = self.d;
        // SAFETY: valid usage.
        unsafe {
            let mut later = Later(Vec::new());
            let event = made!(later, d, create_event(&Default::default()), destroy_event);
            d.set_event(event)?;
            let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
            let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
            let timeline = made!(later, d, create_semaphore(&info), destroy_semaphore);
            d.signal_semaphore(&vk::SemaphoreSignalInfo::default().semaphore(timeline).value(3))?;
            let (semaphores, values) = ([timeline], [3]);
            d.wait_semaphores(&vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values), WAIT)?;
            let slot = made!(later, d, create_private_data_slot(&Default::default()), destroy_private_data_slot);
            d.set_private_data(event, slot, 7)?;
            let debug = ash::ext::debug_utils::Device::new(self.instance, d);
            let name = vk::DebugUtilsObjectNameInfoEXT::default().object_handle(event).object_name(c"event");
            debug.set_debug_utils_object_name(&name)?;
            made!(later, d, create_sampler(&Default::default()), destroy_sampler);
            Ok(())
        }
    }

    /// Makes a buffer in memory of its own, mapped.
    unsafe fn buffer<'l>(&'l self, later: &mut Later<'l>, size: u64) -> Result<(vk::Buffer, *mut u32), vk::Result> {
        let d = self.d;
        // SAFETY: valid usage.
        unsafe {
            let info = vk::BufferCreateInfo::default().size(size).usage(vk::BufferUsageFlags::from_raw(0x1ff));
            let buffer = made!(later, d, create_buffer(&info), destroy_buffer);
            let info = vk::MemoryAllocateInfo::default().allocation_size(d.get_buffer_memory_requirements(buffer).size);
            let memory = made!(later, d, allocate_memory(&info), free_memory);
            d.bind_buffer_memory(buffer, memory, 0)?;
            Ok((buffer, d.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())?.cast()))
        }
    }

    unsafe fn image<'l>(&'l self, later: &mut Later<'l>) -> Result<(vk::Image, vk::ImageView), vk::Result> {
        let d = self.d;
        // SAFETY: valid usage.
        unsafe {
            let info = vk::ImageCreateInfo::default()
                .image_type(vk::ImageType::TYPE_2D)
                .format(RGBA8)
                .extent(vk::Extent3D { width: SIDE, height: SIDE, depth: 1 })
                .mip_levels(1)
                .array_layers(1)
                .samples(vk::SampleCountFlags::TYPE_1)
                .usage(vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::COLOR_ATTACHMENT);
            let image = made!(later, d, create_image(&info), destroy_image);
            let info = vk::MemoryAllocateInfo::default().allocation_size(d.get_image_memory_requirements(image).size);
            let memory = made!(later, d, allocate_memory(&info), free_memory);
            d.bind_image_memory(image, memory, 0)?;
            let info = vk::ImageViewCreateInfo::default()
                .image(image)
                .view_type(vk::ImageViewType::TYPE_2D)
                .format(RGBA8)
                .subresource_range(range(vk::ImageAspectFlags::COLOR, 1));
            Ok((image, made!(later, d, create_image_view(&info), destroy_image_view)))
        }
    }

    unsafe fn module<'l>(&'l self, later: &mut Later<'l>, bytes: &[u8]) -> Result<vk::ShaderModule, vk::Result> {
        let d = self.d;
        let words = spirv(bytes);
        let info = vk::ShaderModuleCreateInfo::default().code(&words);
        // SAFETY: valid usage.
        Ok(unsafe { made!(later, d, create_shader_module(&info), destroy_shader_module) })
    }

    /// Records a command buffer.
    unsafe fn record(
        &self,
        pool: vk::CommandPool,
        level: vk::CommandBufferLevel,
        with: impl FnOnce(vk::CommandBuffer),
    ) -> Result<vk::CommandBuffer, vk::Result> {
        let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).level(level).command_buffer_count(1);
        let inheritance = vk::CommandBufferInheritanceInfo::default();
        // SAFETY: valid usage.
        unsafe {
            let buffer = self.d.allocate_command_buffers(&info)?[0];
            self.d
                .begin_command_buffer(buffer, &vk::CommandBufferBeginInfo::default().inheritance_info(&inheritance))?;
            with(buffer);
            self.d.end_command_buffer(buffer)?;
            Ok(buffer)
        }
    }

    unsafe fn submit_and_wait(&self, buffer: vk::CommandBuffer) -> Result<(), vk::Result> {
        let mut later = Later(Vec::new());
        let d = self.d;
        // SAFETY: valid usage.
        unsafe {
            let fence = made!(later, d, create_fence(&Default::default()), destroy_fence);
            let buffers = [buffer];
            d.queue_submit(self.queue, &[vk::SubmitInfo::default().command_buffers(&buffers)], fence)?;
            let result = d.wait_for_fences(&[fence], true, WAIT);
            let _ = d.device_wait_idle();
            result
        }
    }

    /// Makes a compute pipeline twice (the second from the cache's saved data), and runs a dispatch
    /// in a secondary command buffer.
    unsafe fn compute(&self, pool: vk::CommandPool) -> Result<(), vk::Result> {
        let d = self.d;
        // SAFETY: valid usage.
        unsafe {
            let mut later = Later(Vec::new());
            let (storage, data) = self.buffer(&mut later, DATA)?;
            let (uniform, offset) = self.buffer(&mut later, 64)?;
            (0..DATA as u32 / 4).for_each(|i| data.add(i as usize).write(i));
            offset.write(1000);
            let types = [vk::DescriptorType::STORAGE_BUFFER, vk::DescriptorType::UNIFORM_BUFFER];
            let binding = |i: usize| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(i as u32)
                    .descriptor_type(types[i])
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::ALL)
            };
            let bindings = [binding(0), binding(1)];
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let layouts = [made!(later, d, create_descriptor_set_layout(&info), destroy_descriptor_set_layout)];
            let push = [vk::PushConstantRange { stage_flags: vk::ShaderStageFlags::COMPUTE, offset: 0, size: 16 }];
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts).push_constant_ranges(&push);
            let layout = made!(later, d, create_pipeline_layout(&info), destroy_pipeline_layout);
            let sizes = types.map(|ty| vk::DescriptorPoolSize { ty, descriptor_count: 2 });
            let info = vk::DescriptorPoolCreateInfo::default().max_sets(2).pool_sizes(&sizes);
            let sets = made!(later, d, create_descriptor_pool(&info), destroy_descriptor_pool);
            let both = [layouts[0]; 2];
            let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(sets).set_layouts(&both);
            let sets = d.allocate_descriptor_sets(&info)?;
            let buffers = [storage, uniform]
                .map(|buffer| [vk::DescriptorBufferInfo { buffer, offset: 0, range: vk::WHOLE_SIZE }]);
            let write = |i: usize| {
                vk::WriteDescriptorSet::default()
                    .dst_set(sets[0])
                    .dst_binding(i as u32)
                    .descriptor_type(types[i])
                    .buffer_info(&buffers[i])
            };
            let copy = vk::CopyDescriptorSet::default().src_set(sets[0]).dst_set(sets[1]).descriptor_count(1);
            d.update_descriptor_sets(&[write(0), write(1)], &[copy]);
            let entries = [vk::DescriptorUpdateTemplateEntry {
                dst_binding: 1,
                dst_array_element: 0,
                descriptor_count: 1,
                descriptor_type: types[1],
                offset: 0,
                stride: 0,
            }];
            let info = vk::DescriptorUpdateTemplateCreateInfo::default()
                .descriptor_update_entries(&entries)
                .template_type(vk::DescriptorUpdateTemplateType::DESCRIPTOR_SET)
                .descriptor_set_layout(layouts[0]);
            let template =
                made!(later, d, create_descriptor_update_template(&info), destroy_descriptor_update_template);
            d.update_descriptor_set_with_template(sets[1], template, buffers[1].as_ptr().cast());

            let module = self.module(&mut later, include_bytes!("../data/square.comp.spv"))?;
            let constants = [vk::SpecializationMapEntry { constant_id: 1, offset: 0, size: 4 }];
            let three = 5u32.to_le_bytes();
            let special = vk::SpecializationInfo::default().map_entries(&constants).data(&three);
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(c"main")
                .specialization_info(&special);
            let infos = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout)];
            let made_by = |cache| {
                d.create_compute_pipelines(cache, &infos, None).map_err(|(made, error)| {
                    made.into_iter().for_each(|p| d.destroy_pipeline(p, None));
                    error
                })
            };
            let cache = made!(later, d, create_pipeline_cache(&Default::default()), destroy_pipeline_cache);
            let first = made_by(cache)?[0];
            later.add(move || d.destroy_pipeline(first, None));
            let bytes = d.get_pipeline_cache_data(cache)?;
            let info = vk::PipelineCacheCreateInfo::default().initial_data(&bytes);
            let loaded = made!(later, d, create_pipeline_cache(&info), destroy_pipeline_cache);
            let second = made_by(loaded)?[0];
            later.add(move || d.destroy_pipeline(second, None));
            d.merge_pipeline_caches(cache, &[loaded])?;

            let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(8);
            let queries = made!(later, d, create_query_pool(&info), destroy_query_pool);
            let inner = self.record(pool, vk::CommandBufferLevel::SECONDARY, |c| {
                d.cmd_bind_descriptor_sets(c, vk::PipelineBindPoint::COMPUTE, layout, 0, &sets[..1], &[]);
                d.cmd_push_constants(c, layout, vk::ShaderStageFlags::COMPUTE, 0, &7u32.to_le_bytes());
                d.cmd_bind_pipeline(c, vk::PipelineBindPoint::COMPUTE, second);
                d.cmd_dispatch(c, 2, 1, 1);
            })?;
            let outer = self.record(pool, vk::CommandBufferLevel::PRIMARY, |c| {
                d.cmd_reset_query_pool(c, queries, 0, 8);
                d.cmd_write_timestamp(c, vk::PipelineStageFlags::TOP_OF_PIPE, queries, 0);
                d.cmd_execute_commands(c, &[inner]);
                d.cmd_update_buffer(c, storage, 512, &[9; 256]);
                d.cmd_fill_buffer(c, storage, 768, 256, 3);
                d.cmd_write_timestamp(c, vk::PipelineStageFlags::BOTTOM_OF_PIPE, queries, 1);
                d.cmd_copy_query_pool_results(c, queries, 0, 1, uniform, 16, 8, vk::QueryResultFlags::TYPE_64);
            })?;
            self.submit_and_wait(outer)?;
            let mut times = [0u64; 2];
            d.get_query_pool_results(queries, 0, &mut times, vk::QueryResultFlags::TYPE_64)?;
            expect((0..64).all(|i| data.add(i as usize).read() == (63 - i) * 5 + 1007))?;
            expect(data.add(128).read() == 0x0909_0909 && data.add(192).read() == 3 && times[1] >= times[0])
        }
    }

    /// Draws a triangle over the whole target in a render pass and reads it back.
    unsafe fn graphics(&self, pool: vk::CommandPool) -> Result<(), vk::Result> {
        let d = self.d;
        // SAFETY: valid usage.
        unsafe {
            let mut later = Later(Vec::new());
            let (image, view) = self.image(&mut later)?;
            let (out, texels) = self.buffer(&mut later, u64::from(SIDE * SIDE * 4))?;
            let attachments = [vk::AttachmentDescription::default()
                .format(RGBA8)
                .samples(vk::SampleCountFlags::TYPE_1)
                .load_op(vk::AttachmentLoadOp::CLEAR)
                .store_op(vk::AttachmentStoreOp::STORE)
                .final_layout(vk::ImageLayout::TRANSFER_SRC_OPTIMAL)];
            let references =
                [vk::AttachmentReference { attachment: 0, layout: vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL }];
            let subpasses = [vk::SubpassDescription::default().color_attachments(&references)];
            let info = vk::RenderPassCreateInfo::default().attachments(&attachments).subpasses(&subpasses);
            let render_pass = made!(later, d, create_render_pass(&info), destroy_render_pass);
            let views = [view];
            let info = vk::FramebufferCreateInfo::default()
                .render_pass(render_pass)
                .attachments(&views)
                .width(SIDE)
                .height(SIDE)
                .layers(1);
            let framebuffer = made!(later, d, create_framebuffer(&info), destroy_framebuffer);
            let layout = made!(later, d, create_pipeline_layout(&Default::default()), destroy_pipeline_layout);
            let vertex = self.module(&mut later, include_bytes!("../data/full.vert.spv"))?;
            let fragment = self.module(&mut later, include_bytes!("../data/red.frag.spv"))?;
            let triangles = Triangles { pass: render_pass, ..Triangles::new(vertex, fragment, layout) };
            let pipeline = triangles.create(d)?;
            later.add(move || d.destroy_pipeline(pipeline, None));
            let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::OCCLUSION).query_count(1);
            let queries = made!(later, d, create_query_pool(&info), destroy_query_pool);
            let area = area(SIDE);
            let clear = [vk::ClearValue::default()];
            let begin = vk::RenderPassBeginInfo::default()
                .render_pass(render_pass)
                .framebuffer(framebuffer)
                .render_area(area)
                .clear_values(&clear);
            let commands = self.record(pool, vk::CommandBufferLevel::PRIMARY, |c| {
                d.cmd_reset_query_pool(c, queries, 0, 1);
                d.cmd_begin_render_pass(c, &begin, vk::SubpassContents::INLINE);
                d.cmd_bind_pipeline(c, vk::PipelineBindPoint::GRAPHICS, pipeline);
                d.cmd_set_viewport(c, 0, &[viewport(SIDE)]);
                d.cmd_set_scissor(c, 0, &[area]);
                d.cmd_begin_query(c, queries, 0, vk::QueryControlFlags::PRECISE);
                d.cmd_draw(c, 3, 1, 0, 0);
                d.cmd_end_query(c, queries, 0);
                d.cmd_end_render_pass(c);
                let region = region(vk::ImageAspectFlags::COLOR, [SIDE; 2]);
                d.cmd_copy_image_to_buffer(c, image, vk::ImageLayout::TRANSFER_SRC_OPTIMAL, out, &[region]);
            })?;
            self.submit_and_wait(commands)?;
            let mut samples = [0u64];
            d.get_query_pool_results(queries, 0, &mut samples, vk::QueryResultFlags::TYPE_64)?;
            let red = (0..SIDE * SIDE).all(|i| texels.add(i as usize).read() == 0xff00_00ff);
            expect(red && samples[0] == u64::from(SIDE * SIDE))
        }
    }

    /// Presents three frames to a headless swapchain.
    unsafe fn present(&self, pool: vk::CommandPool) -> Result<(), vk::Result> {
        let d = self.d;
        // SAFETY: valid usage.
        unsafe {
            let mut later = Later(Vec::new());
            let headless = ash::ext::headless_surface::Instance::new(self.entry, self.instance);
            let surfaces = ash::khr::surface::Instance::new(self.entry, self.instance);
            let surface = headless.create_headless_surface(&Default::default(), None)?;
            let destroy = surfaces.clone();
            later.add(move || destroy.destroy_surface(surface, None));
            let _ = surfaces.get_physical_device_surface_capabilities(self.physical, surface)?;
            let formats = surfaces.get_physical_device_surface_formats(self.physical, surface)?;
            let swapchains = ash::khr::swapchain::Device::new(self.instance, d);
            let info = info::swapchain(surface, formats[0], 3, SIDE, vk::ImageUsageFlags::TRANSFER_DST);
            let swapchain = made!(later, swapchains, create_swapchain(&info), destroy_swapchain);
            // Presentation ends before the swapchain is destroyed.
            later.add(move || _ = d.device_wait_idle());
            let images = swapchains.get_swapchain_images(swapchain)?;
            let acquired = made!(later, d, create_semaphore(&Default::default()), destroy_semaphore);
            let drawn = made!(later, d, create_semaphore(&Default::default()), destroy_semaphore);
            later.add(move || _ = d.device_wait_idle());
            for _ in 0..3 {
                let (index, _) = swapchains.acquire_next_image(swapchain, WAIT, acquired, vk::Fence::null())?;
                let commands = self.record(pool, vk::CommandBufferLevel::PRIMARY, |c| {
                    let color = vk::ClearColorValue { float32: [0.5; 4] };
                    let image = images[index as usize];
                    d.cmd_clear_color_image(
                        c,
                        image,
                        vk::ImageLayout::GENERAL,
                        &color,
                        &[range(vk::ImageAspectFlags::COLOR, 1)],
                    );
                })?;
                let (waits, stages, buffers) = ([acquired], [vk::PipelineStageFlags::TRANSFER], [commands]);
                let signals = [drawn];
                let submit = vk::SubmitInfo::default()
                    .wait_semaphores(&waits)
                    .wait_dst_stage_mask(&stages)
                    .command_buffers(&buffers)
                    .signal_semaphores(&signals);
                d.queue_submit(self.queue, &[submit], vk::Fence::null())?;
                let (chains, indices) = ([swapchain], [index]);
                let present =
                    vk::PresentInfoKHR::default().wait_semaphores(&signals).swapchains(&chains).image_indices(&indices);
                swapchains.queue_present(self.queue, &present)?;
                // The semaphores are free again.
                d.device_wait_idle()?;
            }
            Ok(())
        }
    }
}

fn expect(right: bool) -> Result<(), vk::Result> {
    if right { Ok(()) } else { Err(vk::Result::ERROR_VALIDATION_FAILED_EXT) }
}
