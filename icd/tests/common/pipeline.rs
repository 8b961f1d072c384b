//! Descriptor sets, pipelines and messages for the tests of invalid input.

#![allow(dead_code, reason = "each test file uses a part")]

#[allow(unused_imports, reason = "each test file uses a part")]
pub use super::common::info::RGBA8;
use super::common::info::Triangles;
use super::common::{Context, Image};
use ash::vk;
use cts_runner::vk::{Constants, PipelineDesc, stage_info};
use std::ffi::{CStr, c_void};
use std::sync::Mutex;

pub const GENERAL: vk::ImageLayout = vk::ImageLayout::GENERAL;
pub const AREA: vk::Rect2D =
    vk::Rect2D { offset: vk::Offset2D { x: 0, y: 0 }, extent: vk::Extent2D { width: 64, height: 64 } };

/// One set, with its layouts (with 16 bytes of push constants) and pool.
pub struct Set {
    pub set_layout: vk::DescriptorSetLayout,
    pub layout: vk::PipelineLayout,
    pool: vk::DescriptorPool,
    pub set: vk::DescriptorSet,
}

impl Set {
    /// Creates a set with bindings from 0 on and their counts.
    pub fn new(c: &Context, types: &[(vk::DescriptorType, u32)]) -> Set {
        Set::with_sampler(c, types, &[])
    }

    /// Creates a set with an immutable sampler, if one is given, in binding 0.
    pub fn with_sampler(c: &Context, types: &[(vk::DescriptorType, u32)], sampler: &[vk::Sampler]) -> Set {
        let d = &c.device;
        let binding = |(binding, &(ty, count)): (u32, &(vk::DescriptorType, u32))| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(binding)
                .descriptor_type(ty)
                .descriptor_count(count)
                .stage_flags(vk::ShaderStageFlags::ALL)
        };
        let mut bindings: Vec<_> = (0..).zip(types).map(binding).collect();
        if !sampler.is_empty() {
            bindings[0] = bindings[0].immutable_samplers(sampler);
        }
        let sizes: Vec<_> =
            types.iter().map(|&(ty, descriptor_count)| vk::DescriptorPoolSize { ty, descriptor_count }).collect();
        // SAFETY: valid usage.
        unsafe {
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let set_layout = d.create_descriptor_set_layout(&info, None).unwrap();
            let layouts = [set_layout];
            let range = [vk::PushConstantRange { stage_flags: vk::ShaderStageFlags::ALL, offset: 0, size: 16 }];
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts).push_constant_ranges(&range);
            let layout = d.create_pipeline_layout(&info, None).unwrap();
            let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
            let pool = d.create_descriptor_pool(&info, None).unwrap();
            let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
            Set { set_layout, layout, pool, set: d.allocate_descriptor_sets(&info).unwrap()[0] }
        }
    }

    pub fn set_layout(&self) -> vk::DescriptorSetLayout {
        self.set_layout
    }

    fn write(&self, binding: u32, ty: vk::DescriptorType) -> vk::WriteDescriptorSet<'_> {
        vk::WriteDescriptorSet::default().dst_set(self.set).dst_binding(binding).descriptor_type(ty)
    }

    /// Writes buffers (handle, offset, range) of an array from element 0 on.
    pub fn buffers(&self, c: &Context, binding: u32, ty: vk::DescriptorType, list: &[(vk::Buffer, u64, u64)]) {
        let info: Vec<_> =
            list.iter().map(|&(buffer, offset, range)| vk::DescriptorBufferInfo { buffer, offset, range }).collect();
        // SAFETY: valid usage.
        unsafe { c.device.update_descriptor_sets(&[self.write(binding, ty).buffer_info(&info)], &[]) };
    }

    /// Writes images of an array from element 0 on.
    pub fn images(&self, c: &Context, binding: u32, ty: vk::DescriptorType, list: &[(vk::ImageView, vk::Sampler)]) {
        let info: Vec<_> = list
            .iter()
            .map(|&(image_view, sampler)| vk::DescriptorImageInfo { sampler, image_view, image_layout: GENERAL })
            .collect();
        // SAFETY: valid usage.
        unsafe { c.device.update_descriptor_sets(&[self.write(binding, ty).image_info(&info)], &[]) };
    }

    /// Writes texel buffers of an array from element 0 on.
    pub fn texels(&self, c: &Context, binding: u32, ty: vk::DescriptorType, list: &[vk::BufferView]) {
        let mut write = self.write(binding, ty).texel_buffer_view(list);
        write.descriptor_count = list.len() as u32;
        // SAFETY: valid usage.
        unsafe { c.device.update_descriptor_sets(&[write], &[]) };
    }

    pub fn destroy(self, c: &Context) {
        // SAFETY: valid usage.
        unsafe {
            c.device.destroy_descriptor_pool(self.pool, None);
            c.device.destroy_pipeline_layout(self.layout, None);
            c.device.destroy_descriptor_set_layout(self.set_layout, None);
        }
    }
}

/// Creates a shader module.
pub fn module(c: &Context, words: &[u32]) -> vk::ShaderModule {
    // SAFETY: valid usage.
    unsafe { c.device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(words), None) }.unwrap()
}

/// A stage of a pipeline and its words, whose entry point is `main`.
pub type Code<'a> = (vk::ShaderStageFlags, &'a [u32]);

/// Calls a function with the stages of a pipeline. Specialization constants are pairs
/// `(constant_id, value)`, which all stages have.
pub fn with_stages<T>(
    c: &Context,
    code: &[Code<'_>],
    constants: &[(u32, u32)],
    call: impl FnOnce(&[vk::PipelineShaderStageCreateInfo<'_>]) -> T,
) -> T {
    let modules: Vec<_> = code.iter().map(|(_, words)| module(c, words)).collect();
    let constants = Constants::new(constants);
    let special = constants.info();
    let stages: Vec<_> = code.iter().zip(&modules).map(|((kind, _), m)| stage_info(*kind, *m, &special)).collect();
    let result = call(&stages);
    // SAFETY: no call uses the modules any more.
    modules.into_iter().for_each(|module| unsafe { c.device.destroy_shader_module(module, None) });
    result
}

/// Creates the pipeline of a description with stages in place of its own.
pub fn create(c: &Context, code: &[Code<'_>], desc: PipelineDesc<'_>) -> Result<vk::Pipeline, vk::Result> {
    with_stages(c, code, &[], |stages| PipelineDesc { stages, ..desc }.create(&c.device))
}

/// Creates a compute pipeline with specialization constants 0, 1, ….
pub fn compute(
    c: &Context,
    cache: vk::PipelineCache,
    layout: vk::PipelineLayout,
    words: &[u32],
    constants: &[u32],
) -> vk::Pipeline {
    let constants: Vec<_> = (0..).zip(constants.iter().copied()).collect();
    compute_with(c, cache, layout, words, &constants).expect("pipeline")
}

/// Creates a compute pipeline with specialization constants by their ids. If it is refused, its
/// handle is null.
pub fn compute_with(
    c: &Context,
    cache: vk::PipelineCache,
    layout: vk::PipelineLayout,
    words: &[u32],
    constants: &[(u32, u32)],
) -> Result<vk::Pipeline, vk::Result> {
    with_stages(c, &[(vk::ShaderStageFlags::COMPUTE, words)], constants, |stages| {
        let info = vk::ComputePipelineCreateInfo::default().stage(stages[0]).layout(layout);
        // SAFETY: the usage is valid, apart from the words of some tests.
        let result = unsafe { c.device.create_compute_pipelines(cache, &[info], None) };
        result.map(|p| p[0]).map_err(|(pipelines, error)| {
            assert_eq!(pipelines[0], vk::Pipeline::null());
            error
        })
    })
}

/// Records binding and dispatching.
pub fn record_dispatch(c: &Context, b: vk::CommandBuffer, set: &Set, pipeline: vk::Pipeline, push: &[u8], groups: u32) {
    let point = vk::PipelineBindPoint::COMPUTE;
    // SAFETY: valid usage.
    unsafe {
        c.device.cmd_bind_pipeline(b, point, pipeline);
        c.device.cmd_bind_descriptor_sets(b, point, set.layout, 0, &[set.set], &[]);
        if !push.is_empty() {
            c.device.cmd_push_constants(b, set.layout, vk::ShaderStageFlags::ALL, 0, push);
        }
        if groups > 0 {
            c.device.cmd_dispatch(b, groups, 1, 1);
        }
    }
}

/// Runs one workgroup and destroys the pipeline.
pub fn run(c: &Context, set: &Set, pipeline: vk::Pipeline, push: &[u8]) -> Result<(), vk::Result> {
    let result = c.run(|b| record_dispatch(c, b, set, pipeline, push, 1));
    // SAFETY: the pipeline is not in use any more.
    unsafe { c.device.destroy_pipeline(pipeline, None) };
    result
}

/// Creates a context with dynamic rendering and more extensions.
pub fn render_context(instance: &[&CStr], robust: bool) -> Context {
    let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
    let features = vk::PhysicalDeviceFeatures::default();
    let features = features.robust_buffer_access(robust).geometry_shader(true).tessellation_shader(true);
    let mut features = vk::PhysicalDeviceFeatures2::default().features(features);
    let mut mesh = vk::PhysicalDeviceMeshShaderFeaturesEXT::default().task_shader(true).mesh_shader(true);
    let mut sizes = vk::PhysicalDeviceSubgroupSizeControlFeatures::default().subgroup_size_control(true);
    let mut addresses = vk::PhysicalDeviceBufferDeviceAddressFeatures::default().buffer_device_address(true);
    let mut instance = instance.to_vec();
    instance.push(c"VK_KHR_get_physical_device_properties2");
    let extensions = [
        c"VK_KHR_buffer_device_address",
        c"VK_KHR_dynamic_rendering",
        c"VK_KHR_depth_stencil_resolve",
        c"VK_KHR_create_renderpass2",
        c"VK_KHR_multiview",
        c"VK_KHR_maintenance2",
        c"VK_EXT_mesh_shader",
        c"VK_EXT_subgroup_size_control",
    ];
    Context::with(&instance, &extensions, &mut [&mut features, &mut rendering, &mut mesh, &mut sizes, &mut addresses])
}

/// Creates a pipeline for triangles over a 64×64 target; `attributes` is a vec2 from binding 0.
pub fn graphics(
    c: &Context,
    vertex: &[u32],
    fragment: &[u32],
    layout: vk::PipelineLayout,
    attributes: bool,
) -> vk::Pipeline {
    graphics_with(c, [vertex, fragment], Between::default(), layout, attributes)
}

/// Stages between the vertex and the fragment stage.
#[derive(Clone, Copy, Default)]
pub struct Between<'a> {
    /// Control and evaluation stages, of patches of three vertices.
    pub tessellation: Option<[&'a [u32]; 2]>,
    pub geometry: Option<&'a [u32]>,
}

/// Creates a pipeline as [`graphics`] does, with stages between the vertex and the fragment stage.
pub fn graphics_with(
    c: &Context,
    [vertex, fragment]: [&[u32]; 2],
    between: Between<'_>,
    layout: vk::PipelineLayout,
    attributes: bool,
) -> vk::Pipeline {
    let (vertex, fragment) = (module(c, vertex), module(c, fragment));
    let geometry = between.geometry.map(|words| module(c, words));
    let tessellation = between.tessellation.map(|both| both.map(|words| module(c, words)));
    let side = Some(64);
    let mut triangles = Triangles { side, tessellation, geometry, ..Triangles::new(vertex, fragment, layout) };
    if attributes {
        (triangles.stride, triangles.attributes) = (8, &[(vk::Format::R32G32_SFLOAT, 0)]);
    }
    let pipeline = triangles.create(&c.device).expect("pipeline");
    // SAFETY: valid usage.
    unsafe {
        c.device.destroy_shader_module(vertex, None);
        c.device.destroy_shader_module(fragment, None);
        let between = tessellation.into_iter().flatten().chain(geometry);
        between.for_each(|module| c.device.destroy_shader_module(module, None));
    }
    pipeline
}

/// Creates a pipeline as [`graphics`] does, with a mesh stage, and a task stage before it if there
/// is one.
pub fn graphics_of_meshes(
    c: &Context,
    task: Option<&[u32]>,
    [mesh, fragment]: [&[u32]; 2],
    layout: vk::PipelineLayout,
) -> vk::Pipeline {
    let task = task.map(|words| module(c, words));
    let (mesh, fragment) = (module(c, mesh), module(c, fragment));
    let triangles = Triangles { side: Some(64), mesh: Some((task, mesh)), ..Triangles::new(mesh, fragment, layout) };
    let pipeline = triangles.create(&c.device).expect("pipeline");
    // SAFETY: valid usage.
    task.iter().chain([&mesh, &fragment]).for_each(|&module| unsafe { c.device.destroy_shader_module(module, None) });
    pipeline
}

/// Renders in a dynamic rendering instance over a cleared (black, transparent) target.
pub fn render(
    c: &Context,
    target: &Image,
    area: vk::Rect2D,
    with: impl FnOnce(vk::CommandBuffer),
) -> Result<(), vk::Result> {
    let rendering = ash::khr::dynamic_rendering::Device::new(&c.instance, &c.device);
    let attachments = [vk::RenderingAttachmentInfo::default()
        .image_view(target.view)
        .image_layout(GENERAL)
        .load_op(vk::AttachmentLoadOp::CLEAR)
        .store_op(vk::AttachmentStoreOp::STORE)];
    let info = vk::RenderingInfo::default().render_area(area).layer_count(1).color_attachments(&attachments);
    c.run(|b| {
        // SAFETY: valid usage.
        unsafe {
            rendering.cmd_begin_rendering(b, &info);
            with(b);
            rendering.cmd_end_rendering(b);
        }
    })
}

/// Gives a pipeline a name for messages.
pub fn name(c: &Context, pipeline: vk::Pipeline, name: &CStr) {
    let names = ash::ext::debug_utils::Device::new(&c.instance, &c.device);
    let info = vk::DebugUtilsObjectNameInfoEXT::default().object_handle(pipeline).object_name(name);
    // SAFETY: valid usage.
    unsafe { names.set_debug_utils_object_name(&info) }.unwrap();
}

/// Collects the errors that the driver reports.
pub struct Messenger {
    functions: ash::ext::debug_utils::Instance,
    messenger: vk::DebugUtilsMessengerEXT,
    messages: Box<Mutex<Vec<String>>>,
}

unsafe extern "system" fn collect(
    _: vk::DebugUtilsMessageSeverityFlagsEXT,
    _: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    user: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the data are the driver's, and the messenger keeps the list alive.
    let (message, list) = unsafe { (CStr::from_ptr((*data).p_message), &*user.cast::<Mutex<Vec<String>>>()) };
    list.lock().unwrap().push(message.to_string_lossy().into_owned());
    vk::FALSE
}

impl Messenger {
    pub fn new(c: &Context) -> Messenger {
        Messenger::for_instance(&c.entry, &c.instance)
    }

    /// Creates a messenger as [`Messenger::new`] does, for warnings too.
    pub fn of_warnings(c: &Context) -> Messenger {
        let severity = vk::DebugUtilsMessageSeverityFlagsEXT::ERROR | vk::DebugUtilsMessageSeverityFlagsEXT::WARNING;
        Messenger::of_severity(&c.entry, &c.instance, severity)
    }

    pub fn for_instance(entry: &ash::Entry, instance: &ash::Instance) -> Messenger {
        Messenger::of_severity(entry, instance, vk::DebugUtilsMessageSeverityFlagsEXT::ERROR)
    }

    fn of_severity(
        entry: &ash::Entry,
        instance: &ash::Instance,
        severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    ) -> Messenger {
        let functions = ash::ext::debug_utils::Instance::new(entry, instance);
        let messages: Box<Mutex<Vec<String>>> = Box::default();
        let info = vk::DebugUtilsMessengerCreateInfoEXT::default()
            .message_severity(severity)
            .message_type(vk::DebugUtilsMessageTypeFlagsEXT::GENERAL)
            .pfn_user_callback(Some(collect))
            .user_data((&raw const *messages).cast_mut().cast());
        // SAFETY: valid usage.
        let messenger = unsafe { functions.create_debug_utils_messenger(&info, None) }.unwrap();
        Messenger { functions, messenger, messages }
    }

    /// Returns the messages since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.messages.lock().unwrap())
    }
}

impl Drop for Messenger {
    fn drop(&mut self) {
        // SAFETY: valid usage.
        unsafe { self.functions.destroy_debug_utils_messenger(self.messenger, None) };
    }
}
