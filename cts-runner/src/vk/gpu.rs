//! Instance, device and queue, and the list of all objects made on them.

use super::api::Api;
use super::core::Core;
use super::error::{Context, Error, Result};
use super::generated_api;
use super::optional::Optional;
use ash::{ext, khr, vk};
use std::cell::RefCell;
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Name of the Khronos validation layer.
pub const VALIDATION_LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// First version of the validation layer that knows all structures of the harness.
const YOUNG: u32 = vk::make_api_version(0, 1, 3, 296);

/// Options for making a [`Gpu`].
#[derive(Clone, Copy)]
pub struct GpuOptions {
    /// `apiVersion` of the instance, which is lowered to the version that the driver supports.
    pub api_version: u32,
    /// Features to enable if the device has them.
    pub features: vk::PhysicalDeviceFeatures,
    /// Enables the validation layer and counts its messages.
    pub validation: bool,
    /// Enables the features of [`Optional`] that the device has, beside the required ones.
    pub optional: bool,
    /// Enables all features of [`Core`] instead of those of [`Optional`].
    pub core: bool,
}

impl GpuOptions {
    /// Returns options that enable every feature except `robustBufferAccess`, which costs time in
    /// every access.
    pub fn everything() -> Self {
        let features = all_features().robust_buffer_access(false);
        Self { api_version: vk::API_VERSION_1_3, features, validation: false, optional: true, core: false }
    }

    /// Adds `robustBufferAccess` to the options, for programs whose accesses are not known to be in
    /// bounds.
    pub fn robust(self) -> Self {
        Self { features: self.features.robust_buffer_access(true), ..self }
    }
}

impl Default for GpuOptions {
    fn default() -> Self {
        let features = vk::PhysicalDeviceFeatures::default();
        Self { api_version: vk::API_VERSION_1_0, features, validation: false, optional: false, core: false }
    }
}

/// A handle that the [`Gpu`] destroys.
#[derive(Clone, Copy)]
pub(crate) enum Owned {
    Buffer(vk::Buffer),
    BufferView(vk::BufferView),
    Image(vk::Image),
    ImageView(vk::ImageView),
    Memory(vk::DeviceMemory),
    Sampler(vk::Sampler),
    Conversion(vk::SamplerYcbcrConversion),
    Module(vk::ShaderModule),
    SetLayout(vk::DescriptorSetLayout),
    PipelineLayout(vk::PipelineLayout),
    DescriptorPool(vk::DescriptorPool),
    Pipeline(vk::Pipeline),
    PipelineCache(vk::PipelineCache),
    RenderPass(vk::RenderPass),
    Framebuffer(vk::Framebuffer),
    Shader(vk::ShaderEXT),
    ExecutionSet(u64),
    CommandsLayout(u64),
    Structure(vk::AccelerationStructureKHR),
    QueryPool(vk::QueryPool),
}

/// One device of one driver, one queue for graphics and compute, and all objects made on them.
pub struct Gpu {
    /// Instance-level Vulkan commands.
    pub instance: ash::Instance,
    /// The physical device in use.
    pub physical: vk::PhysicalDevice,
    /// Device-level Vulkan commands.
    pub device: ash::Device,
    /// A queue that supports graphics and compute.
    pub queue: vk::Queue,
    /// Properties of the physical device.
    pub properties: vk::PhysicalDeviceProperties,
    /// Vulkan 1.0 features that were enabled.
    pub features: vk::PhysicalDeviceFeatures,
    /// Features beyond Vulkan 1.0 that were enabled.
    pub optional: Optional,
    /// Features of Vulkan 1.1 to 1.3 that were enabled, if the options requested them.
    pub core: Option<Core>,
    /// Instance version in use, which is the requested version lowered to what the driver supports.
    pub api_version: u32,
    pub(crate) memory_types: vk::PhysicalDeviceMemoryProperties,
    pub(crate) pool: vk::CommandPool,
    /// Commands of `VK_EXT_shader_object`, if it is enabled.
    pub(super) objects: Option<ext::shader_object::Device>,
    /// Commands of `VK_EXT_device_generated_commands`, if it is enabled.
    pub(super) generated: Option<generated_api::Functions>,
    /// Commands of `VK_KHR_acceleration_structure`, if it is enabled.
    pub(super) structures: Option<khr::acceleration_structure::Device>,
    owned: RefCell<Vec<Owned>>,
    messenger: Option<Messenger>,
}

struct Messenger {
    functions: ext::debug_utils::Instance,
    handle: vk::DebugUtilsMessengerEXT,
    count: Box<AtomicUsize>,
}

impl Gpu {
    /// Makes an instance and a device on the first physical device.
    pub fn new(api: &Api, options: &GpuOptions) -> Result<Self> {
        if options.validation && !api.has_layer(VALIDATION_LAYER) {
            return Err(Error::Missing("VK_LAYER_KHRONOS_validation".into()));
        }
        let (instance, api_version) = create_instance(api, options.api_version, options.validation)?;
        let messenger = options.validation.then(|| Messenger::new(api, &instance)).transpose()?;
        let physical = first_physical_device(&instance)?;
        // SAFETY: `physical` belongs to `instance`; the commands are queries without preconditions.
        let (properties, supported, families, memory_types) = unsafe {
            (
                instance.get_physical_device_properties(physical),
                instance.get_physical_device_features(physical),
                instance.get_physical_device_queue_family_properties(physical),
                instance.get_physical_device_memory_properties(physical),
            )
        };
        let wanted = vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE;
        let family = families.iter().position(|f| f.queue_flags.contains(wanted));
        let family = family.ok_or_else(|| Error::Missing("a queue with graphics and compute".into()))? as u32;
        let features = intersect(&options.features, &supported);
        let queue_infos = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
        let version = api_version.min(properties.api_version);
        let optional = if options.optional {
            let young = !options.validation || api.layer_version(VALIDATION_LAYER) >= Some(YOUNG);
            Optional::query(&instance, physical, version, young)
        } else {
            Optional::default()
        };
        let core = options.core.then(|| Core::query(&instance, physical, version)).flatten();
        let (mut more, mut whole) = (optional.features(), core);
        let extensions = if core.is_some() { Vec::new() } else { optional.extensions(version) };
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queue_infos)
            .enabled_features(&features)
            .enabled_extension_names(&extensions);
        let info = match &mut whole {
            Some(core) => core.chain(info),
            None => more.chain(info),
        };
        // SAFETY: `info` and what it points to are valid; the enabled features are a subset of the
        // supported ones.
        let device = unsafe { instance.create_device(physical, &info, None) }.context("vkCreateDevice")?;
        // SAFETY: the family has at least one queue, and the device was created with one queue of
        // it.
        let queue = unsafe { device.get_device_queue(family, 0) };
        let info = vk::CommandPoolCreateInfo::default()
            .queue_family_index(family)
            .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
        // SAFETY: `device` is alive and `info` valid.
        let pool = unsafe { device.create_command_pool(&info, None) }.context("vkCreateCommandPool")?;
        let programs = if core.is_some() { Default::default() } else { optional.programs };
        let objects = programs.shader_object.then(|| ext::shader_object::Device::new(&instance, &device));
        let generated = programs.generated_commands.then(|| generated_api::Functions::load(&instance, &device));
        let generated = generated.transpose()?;
        let rays = if core.is_some() { Default::default() } else { optional.rays };
        let structures = rays.structures.then(|| khr::acceleration_structure::Device::new(&instance, &device));
        let owned = RefCell::default();
        Ok(Self {
            instance,
            physical,
            device,
            queue,
            properties,
            features,
            optional,
            core,
            api_version,
            memory_types,
            pool,
            objects,
            generated,
            structures,
            owned,
            messenger,
        })
    }

    /// Returns the name of the device.
    pub fn name(&self) -> String {
        self.properties.device_name_as_c_str().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Returns the features of a format with optimal tiling, as
    /// `vkGetPhysicalDeviceFormatProperties` reports them.
    pub fn optimal_features(&self, format: vk::Format) -> vk::FormatFeatureFlags {
        // SAFETY: `physical` belongs to `instance`; the command is a query without preconditions.
        unsafe { self.instance.get_physical_device_format_properties(self.physical, format) }.optimal_tiling_features
    }

    /// Returns the number of warnings and errors that the validation layer has reported so far.
    pub fn validation_messages(&self) -> usize {
        self.messenger.as_ref().map_or(0, |m| m.count.load(Ordering::Relaxed))
    }

    /// Returns the current position in the list of owned objects, for [`Self::release_to`].
    pub fn mark(&self) -> usize {
        self.owned.borrow().len()
    }

    /// Waits for the device, then destroys all objects made since the mark, newest first.
    pub fn release_to(&self, mark: usize) {
        // SAFETY: `device` is alive. A lost device also ends the wait, and its objects may be
        // destroyed.
        let _ = unsafe { self.device.device_wait_idle() };
        let mut owned = self.owned.borrow_mut();
        while owned.len() > mark {
            if let Some(object) = owned.pop() {
                self.destroy(object);
            }
        }
    }

    pub(crate) fn own(&self, object: Owned) {
        self.owned.borrow_mut().push(object);
    }

    fn destroy(&self, object: Owned) {
        let d = &self.device;
        // SAFETY: the handle was made on this device, is listed once and the device is idle.
        unsafe {
            match object {
                Owned::Buffer(h) => d.destroy_buffer(h, None),
                Owned::BufferView(h) => d.destroy_buffer_view(h, None),
                Owned::Image(h) => d.destroy_image(h, None),
                Owned::ImageView(h) => d.destroy_image_view(h, None),
                Owned::Memory(h) => d.free_memory(h, None),
                Owned::Sampler(h) => d.destroy_sampler(h, None),
                Owned::Module(h) => d.destroy_shader_module(h, None),
                Owned::Conversion(h) => d.destroy_sampler_ycbcr_conversion(h, None),
                Owned::SetLayout(h) => d.destroy_descriptor_set_layout(h, None),
                Owned::PipelineLayout(h) => d.destroy_pipeline_layout(h, None),
                Owned::DescriptorPool(h) => d.destroy_descriptor_pool(h, None),
                Owned::Pipeline(h) => d.destroy_pipeline(h, None),
                Owned::PipelineCache(h) => d.destroy_pipeline_cache(h, None),
                Owned::RenderPass(h) => d.destroy_render_pass(h, None),
                Owned::Framebuffer(h) => d.destroy_framebuffer(h, None),
                Owned::Shader(h) => {
                    self.objects.iter().for_each(|functions| functions.destroy_shader(h, None));
                }
                Owned::ExecutionSet(h) => {
                    self.generated.iter().for_each(|functions| functions.destroy_set(d.handle(), h));
                }
                Owned::CommandsLayout(h) => {
                    self.generated.iter().for_each(|functions| functions.destroy_layout(d.handle(), h));
                }
                Owned::Structure(h) => {
                    self.structures.iter().for_each(|functions| functions.destroy_acceleration_structure(h, None));
                }
                Owned::QueryPool(h) => d.destroy_query_pool(h, None),
            }
        }
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        self.release_to(0);
        // SAFETY: the device is idle and all objects made on it are destroyed. Children are
        // destroyed before parents.
        unsafe {
            self.device.destroy_command_pool(self.pool, None);
            self.device.destroy_device(None);
            if let Some(m) = &self.messenger {
                m.functions.destroy_debug_utils_messenger(m.handle, None);
            }
            self.instance.destroy_instance(None);
        }
    }
}

/// Makes an instance, and returns its version: `api_version`, or that of the driver if it is lower.
pub(super) fn create_instance(api: &Api, api_version: u32, validation: bool) -> Result<(ash::Instance, u32)> {
    // SAFETY: the command is a global query; `None` means a Vulkan 1.0 implementation.
    let known = unsafe { api.entry.try_enumerate_instance_version() }.context("vkEnumerateInstanceVersion")?;
    let api_version = api_version.min(known.unwrap_or(vk::API_VERSION_1_0));
    let application = vk::ApplicationInfo::default().application_name(c"cts-runner").api_version(api_version);
    let layers = [VALIDATION_LAYER.as_ptr()];
    let extensions = [ext::debug_utils::NAME.as_ptr()];
    let mut info = vk::InstanceCreateInfo::default().application_info(&application);
    if validation {
        info = info.enabled_layer_names(&layers).enabled_extension_names(&extensions);
    }
    // SAFETY: `info` and what it points to are valid for the call.
    let instance = unsafe { api.entry.create_instance(&info, None) }.context("vkCreateInstance")?;
    Ok((instance, api_version))
}

/// Returns the first physical device of an instance.
pub(super) fn first_physical_device(instance: &ash::Instance) -> Result<vk::PhysicalDevice> {
    // SAFETY: the instance is alive.
    let all = unsafe { instance.enumerate_physical_devices() }.context("vkEnumeratePhysicalDevices")?;
    all.first().copied().ok_or_else(|| Error::Missing("a physical device".into()))
}

/// Returns the text of a version: "1.4.3".
pub fn version_text(version: u32) -> String {
    let (major, minor) = (vk::api_version_major(version), vk::api_version_minor(version));
    format!("{major}.{minor}.{}", vk::api_version_patch(version))
}

impl Messenger {
    fn new(api: &Api, instance: &ash::Instance) -> Result<Self> {
        let functions = ext::debug_utils::Instance::new(&api.entry, instance);
        let count = Box::new(AtomicUsize::new(0));
        let info = vk::DebugUtilsMessengerCreateInfoEXT::default()
            .message_severity(
                vk::DebugUtilsMessageSeverityFlagsEXT::WARNING | vk::DebugUtilsMessageSeverityFlagsEXT::ERROR,
            )
            .message_type(
                vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION | vk::DebugUtilsMessageTypeFlagsEXT::PERFORMANCE,
            )
            .pfn_user_callback(Some(on_message))
            .user_data(std::ptr::from_ref(&*count).cast_mut().cast());
        // SAFETY: `info` is valid; the boxed counter lives as long as the messenger.
        let handle =
            unsafe { functions.create_debug_utils_messenger(&info, None) }.context("vkCreateDebugUtilsMessengerEXT")?;
        Ok(Self { functions, handle, count })
    }
}

unsafe extern "system" fn on_message(
    severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _types: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    user: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: `user` is the counter given at creation; `data` and its string are valid during the
    // call.
    unsafe {
        (*user.cast::<AtomicUsize>()).fetch_add(1, Ordering::Relaxed);
        if let Some(message) = (*data).message_as_c_str() {
            eprintln!("{severity:?}: {}", message.to_string_lossy());
        }
    }
    vk::FALSE
}

/// Number of features in `VkPhysicalDeviceFeatures`.
const FEATURES: usize = size_of::<vk::PhysicalDeviceFeatures>() / size_of::<vk::Bool32>();

/// Returns the features that are both wanted and supported.
fn intersect(a: &vk::PhysicalDeviceFeatures, b: &vk::PhysicalDeviceFeatures) -> vk::PhysicalDeviceFeatures {
    // SAFETY: the structure is a C struct of `FEATURES` VkBool32 and nothing else.
    unsafe {
        let a: [vk::Bool32; FEATURES] = std::mem::transmute(*a);
        let b: [vk::Bool32; FEATURES] = std::mem::transmute(*b);
        let both: [vk::Bool32; FEATURES] = std::array::from_fn(|i| a[i] & b[i]);
        std::mem::transmute(both)
    }
}

/// Returns a structure with every feature set.
fn all_features() -> vk::PhysicalDeviceFeatures {
    // SAFETY: the structure is a C struct of `FEATURES` values of type VkBool32 and nothing else.
    unsafe { std::mem::transmute([vk::TRUE; FEATURES]) }
}
