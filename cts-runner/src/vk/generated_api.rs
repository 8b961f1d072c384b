//! Structures and commands of `VK_EXT_device_generated_commands`, which is newer than `ash`.

use super::error::{Error, Result};
use ash::vk;
use std::ffi::{CStr, c_void};
use std::mem::transmute;
use std::ptr;

/// Name of the extension.
pub(super) const NAME: &CStr = c"VK_EXT_device_generated_commands";
/// `VK_PIPELINE_CREATE_2_INDIRECT_BINDABLE_BIT_EXT`.
pub(super) const INDIRECT_BINDABLE_PIPELINE: vk::PipelineCreateFlags2KHR =
    vk::PipelineCreateFlags2KHR::from_raw(1 << 38);
/// `VK_SHADER_CREATE_INDIRECT_BINDABLE_BIT_EXT`.
pub(super) const INDIRECT_BINDABLE_SHADER: vk::ShaderCreateFlagsEXT = vk::ShaderCreateFlagsEXT::from_raw(1 << 7);
/// `VK_BUFFER_USAGE_2_PREPROCESS_BUFFER_BIT_EXT`.
pub(super) const PREPROCESS_BUFFER: vk::BufferUsageFlags2KHR = vk::BufferUsageFlags2KHR::from_raw(1 << 31);

/// Values of `VkStructureType` of the extension.
pub(super) mod tag {
    pub const FEATURES: i32 = 1_000_572_000;
    pub const MEMORY_REQUIREMENTS: i32 = 1_000_572_002;
    pub const EXECUTION_SET: i32 = 1_000_572_003;
    pub const GENERATED_COMMANDS: i32 = 1_000_572_004;
    pub const LAYOUT: i32 = 1_000_572_006;
    pub const TOKEN: i32 = 1_000_572_007;
    pub const WRITE_PIPELINE: i32 = 1_000_572_008;
    pub const WRITE_SHADER: i32 = 1_000_572_009;
    pub const SET_OF_PIPELINES: i32 = 1_000_572_010;
    pub const SET_OF_SHADERS: i32 = 1_000_572_011;
    pub const SHADER_LAYOUT: i32 = 1_000_572_012;
    pub const PIPELINE: i32 = 1_000_572_013;
}

/// Values of `VkIndirectCommandsTokenTypeEXT`.
pub(super) mod token {
    pub const EXECUTION_SET: i32 = 0;
    pub const PUSH_CONSTANT: i32 = 1;
    pub const DRAW: i32 = 6;
}

/// `VkPhysicalDeviceDeviceGeneratedCommandsFeaturesEXT`.
#[repr(C)]
pub(super) struct Features {
    s_type: vk::StructureType,
    p_next: *mut c_void,
    /// `deviceGeneratedCommands`.
    pub device_generated_commands: vk::Bool32,
    dynamic_generated_pipeline_layout: vk::Bool32,
}

// SAFETY: the structure has the tag and the layout of the extension's feature structure.
unsafe impl vk::ExtendsPhysicalDeviceFeatures2 for Features {}
// SAFETY: the structure has the tag and the layout of the extension's feature structure.
unsafe impl vk::ExtendsDeviceCreateInfo for Features {}

impl Default for Features {
    fn default() -> Self {
        let s_type = vk::StructureType::from_raw(tag::FEATURES);
        let p_next = ptr::null_mut();
        Self { s_type, p_next, device_generated_commands: vk::FALSE, dynamic_generated_pipeline_layout: vk::FALSE }
    }
}

impl Features {
    /// Returns the structure that enables the commands.
    pub(super) fn enabled() -> Self {
        Self { device_generated_commands: vk::TRUE, ..Self::default() }
    }
}

/// `VkIndirectCommandsExecutionSetTokenEXT`.
#[repr(C)]
pub(super) struct SetToken {
    pub kind: i32,
    pub stages: vk::ShaderStageFlags,
}

/// `VkIndirectCommandsLayoutTokenEXT`, whose union is one pointer. It points to a [`SetToken`] or
/// to a `VkIndirectCommandsPushConstantTokenEXT`, which is a `VkPushConstantRange`.
#[repr(C)]
pub(super) struct Token {
    pub s_type: i32,
    pub p_next: *const c_void,
    pub kind: i32,
    pub data: *const c_void,
    pub offset: u32,
}

impl Token {
    /// Describes a token at an offset in a sequence.
    pub fn new(kind: i32, data: *const c_void, offset: u32) -> Self {
        Self { s_type: tag::TOKEN, p_next: ptr::null(), kind, data, offset }
    }
}

/// `VkIndirectCommandsLayoutCreateInfoEXT`.
#[repr(C)]
pub(super) struct LayoutInfo {
    pub s_type: i32,
    pub p_next: *const c_void,
    pub flags: u32,
    pub stages: vk::ShaderStageFlags,
    pub stride: u32,
    pub layout: vk::PipelineLayout,
    pub count: u32,
    pub tokens: *const Token,
}

/// `VkIndirectExecutionSetPipelineInfoEXT`.
#[repr(C)]
pub(super) struct SetOfPipelines {
    pub s_type: i32,
    pub p_next: *const c_void,
    pub initial: vk::Pipeline,
    pub max: u32,
}

/// `VkIndirectExecutionSetShaderLayoutInfoEXT`.
#[repr(C)]
pub(super) struct ShaderLayout {
    pub s_type: i32,
    pub p_next: *const c_void,
    pub count: u32,
    pub layouts: *const vk::DescriptorSetLayout,
}

/// `VkIndirectExecutionSetShaderInfoEXT`.
#[repr(C)]
pub(super) struct SetOfShaders {
    pub s_type: i32,
    pub p_next: *const c_void,
    pub count: u32,
    pub initial: *const vk::ShaderEXT,
    pub layouts: *const ShaderLayout,
    pub max: u32,
    pub range_count: u32,
    pub ranges: *const vk::PushConstantRange,
}

/// `VkIndirectExecutionSetCreateInfoEXT`, whose union is one pointer.
#[repr(C)]
pub(super) struct SetInfo {
    pub s_type: i32,
    pub p_next: *const c_void,
    pub kind: i32,
    pub info: *const c_void,
}

/// `VkWriteIndirectExecutionSetPipelineEXT` and `VkWriteIndirectExecutionSetShaderEXT`, which
/// differ in the type of the handle.
#[repr(C)]
pub(super) struct SetWrite {
    pub s_type: i32,
    pub p_next: *const c_void,
    pub index: u32,
    pub handle: u64,
}

/// `VkGeneratedCommandsPipelineInfoEXT`.
#[repr(C)]
pub(super) struct PipelineInfo {
    pub s_type: i32,
    pub p_next: *mut c_void,
    pub pipeline: vk::Pipeline,
}

/// `VkGeneratedCommandsMemoryRequirementsInfoEXT`.
#[repr(C)]
pub(super) struct RequirementsInfo {
    pub s_type: i32,
    pub p_next: *const c_void,
    pub set: u64,
    pub layout: u64,
    pub max_sequences: u32,
    pub max_draws: u32,
}

/// `VkGeneratedCommandsInfoEXT`.
#[repr(C)]
pub(super) struct GeneratedInfo {
    pub s_type: i32,
    pub p_next: *const c_void,
    pub stages: vk::ShaderStageFlags,
    pub set: u64,
    pub layout: u64,
    pub commands: vk::DeviceAddress,
    pub commands_size: vk::DeviceSize,
    pub preprocess: vk::DeviceAddress,
    pub preprocess_size: vk::DeviceSize,
    pub max_sequences: u32,
    pub count_address: vk::DeviceAddress,
    pub max_draws: u32,
}

/// A command as `vkGetDeviceProcAddr` returns it.
type Loaded = unsafe extern "system" fn();
type Create<I> = unsafe extern "system" fn(vk::Device, *const I, *const c_void, *mut u64) -> vk::Result;
type Destroy = unsafe extern "system" fn(vk::Device, u64, *const c_void);
type Update = unsafe extern "system" fn(vk::Device, u64, u32, *const SetWrite);
type Requirements =
    unsafe extern "system" fn(vk::Device, *const RequirementsInfo, *mut vk::MemoryRequirements2<'static>);
type Execute = unsafe extern "system" fn(vk::CommandBuffer, vk::Bool32, *const GeneratedInfo);

/// Commands of the extension.
#[derive(Clone, Copy)]
pub(crate) struct Functions {
    pub(super) create_layout: Create<LayoutInfo>,
    pub(super) destroy_layout: Destroy,
    pub(super) create_set: Create<SetInfo>,
    pub(super) destroy_set: Destroy,
    pub(super) update_pipelines: Update,
    pub(super) update_shaders: Update,
    pub(super) requirements: Requirements,
    pub(super) execute: Execute,
}

impl Functions {
    /// Loads the commands of a device that has the extension enabled.
    pub(super) fn load(instance: &ash::Instance, device: &ash::Device) -> Result<Self> {
        let get = |name: &CStr| {
            // SAFETY: the device is alive and the name ends in 0.
            let found = unsafe { (instance.fp_v1_0().get_device_proc_addr)(device.handle(), name.as_ptr()) };
            found.ok_or_else(|| Error::Missing(name.to_string_lossy().into_owned()))
        };
        // SAFETY: each type is that of the command in the extension's specification.
        unsafe {
            Ok(Self {
                create_layout: transmute::<Loaded, Create<LayoutInfo>>(get(c"vkCreateIndirectCommandsLayoutEXT")?),
                destroy_layout: transmute::<Loaded, Destroy>(get(c"vkDestroyIndirectCommandsLayoutEXT")?),
                create_set: transmute::<Loaded, Create<SetInfo>>(get(c"vkCreateIndirectExecutionSetEXT")?),
                destroy_set: transmute::<Loaded, Destroy>(get(c"vkDestroyIndirectExecutionSetEXT")?),
                update_pipelines: transmute::<Loaded, Update>(get(c"vkUpdateIndirectExecutionSetPipelineEXT")?),
                update_shaders: transmute::<Loaded, Update>(get(c"vkUpdateIndirectExecutionSetShaderEXT")?),
                requirements: transmute::<Loaded, Requirements>(get(c"vkGetGeneratedCommandsMemoryRequirementsEXT")?),
                execute: transmute::<Loaded, Execute>(get(c"vkCmdExecuteGeneratedCommandsEXT")?),
            })
        }
    }

    /// Destroys an indirect commands layout.
    ///
    /// # Safety
    /// The layout belongs to the device and is not in use.
    pub(super) unsafe fn destroy_layout(&self, device: vk::Device, layout: u64) {
        // SAFETY: the `# Safety` section of this function has the rules of the command.
        unsafe { (self.destroy_layout)(device, layout, ptr::null()) }
    }

    /// Destroys an indirect execution set.
    ///
    /// # Safety
    /// The set belongs to the device and is not in use.
    pub(super) unsafe fn destroy_set(&self, device: vk::Device, set: u64) {
        // SAFETY: the `# Safety` section of this function has the rules of the command.
        unsafe { (self.destroy_set)(device, set, ptr::null()) }
    }
}
