//! Generated commands (VK_EXT_device_generated_commands) for tests.

#![allow(dead_code, reason = "each test file uses a part")]

use super::common::{Buffer, Context, Features};
use ash::vk::{self, Handle};
use vulkan_grus::caps::newer::{self, TaggedStructure};

/// Returns `VkPhysicalDeviceDeviceGeneratedCommandsFeaturesEXT`.
pub fn features() -> Features<2> {
    Features::new(1_000_572_000)
}

/// Returns a structure with its tag; all other fields are zero.
pub fn tagged<T: TaggedStructure>() -> T {
    // SAFETY: the structure consists of numbers, handles and pointers, for which zero is valid.
    let mut structure: T = unsafe { std::mem::zeroed() };
    // SAFETY: the structure begins with its tag.
    unsafe { (&raw mut structure).cast::<vk::StructureType>().write(T::STRUCTURE_TYPE) };
    structure
}

/// Types of tokens (`VkIndirectCommandsTokenTypeEXT`).
#[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "the specification's names")]
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Type {
    EXECUTION_SET = 0,
    PUSH_CONSTANT = 1,
    SEQUENCE_INDEX = 2,
    INDEX_BUFFER = 3,
    VERTEX_BUFFER = 4,
    DRAW_INDEXED = 5,
    DRAW = 6,
    DRAW_INDEXED_COUNT = 7,
    DRAW_COUNT = 8,
    DISPATCH = 9,
    PUSH_DATA = 1_000_135_000,
    DRAW_MESH_TASKS_NV = 1_000_202_002,
    DRAW_MESH_TASKS = 1_000_328_000,
    DRAW_MESH_TASKS_COUNT = 1_000_328_001,
    TRACE_RAYS2 = 1_000_386_004,
}

impl Type {
    /// Returns true if the token begins with an address.
    pub fn has_address(self) -> bool {
        use Type::{DRAW_COUNT, DRAW_INDEXED_COUNT, DRAW_MESH_TASKS_COUNT, INDEX_BUFFER, VERTEX_BUFFER};
        matches!(self, INDEX_BUFFER | VERTEX_BUFFER | DRAW_COUNT | DRAW_INDEXED_COUNT | DRAW_MESH_TASKS_COUNT)
    }
}

/// A token with the two words of its data (offset and size, binding, mode, or type and stages) and
/// its offset.
pub type Token = (Type, [u32; 2], u32);

/// Parameters of a command; the buffers of a command with its sequences are elsewhere.
#[derive(Clone, Copy, Default)]
pub struct Sequences {
    pub layout: newer::IndirectCommandsLayoutEXT,
    pub set: newer::IndirectExecutionSetEXT,
    pub address: u64,
    pub size: u64,
    pub count: u32,
    pub count_address: u64,
    pub draws: u32,
    /// Pipeline that is bound, if there is no execution set.
    pub pipeline: vk::Pipeline,
    pub stages: vk::ShaderStageFlags,
    pub preprocessed: bool,
}

/// A device with the extension, and its commands.
pub struct Generated {
    pub c: Context,
    pub functions: Functions,
}

impl std::ops::Deref for Generated {
    type Target = Functions;
    fn deref(&self) -> &Functions {
        &self.functions
    }
}

/// The commands of the extension.
pub struct Functions {
    device: ash::Device,
    create_layout: newer::PFN_vkCreateIndirectCommandsLayoutEXT,
    destroy_layout: newer::PFN_vkDestroyIndirectCommandsLayoutEXT,
    create_set: newer::PFN_vkCreateIndirectExecutionSetEXT,
    destroy_set: newer::PFN_vkDestroyIndirectExecutionSetEXT,
    update_set: newer::PFN_vkUpdateIndirectExecutionSetPipelineEXT,
    update_shaders: newer::PFN_vkUpdateIndirectExecutionSetShaderEXT,
    requirements: newer::PFN_vkGetGeneratedCommandsMemoryRequirementsEXT,
    preprocess: newer::PFN_vkCmdPreprocessGeneratedCommandsEXT,
    execute: newer::PFN_vkCmdExecuteGeneratedCommandsEXT,
}

/// Loads a command of the device with its type.
macro_rules! command {
    ($c:expr, $name:literal as $ty:ty) => {{
        // SAFETY: valid usage.
        let function = unsafe { $c.instance.get_device_proc_addr($c.device.handle(), $name.as_ptr()) };
        // SAFETY: the type is that of the command.
        unsafe { std::mem::transmute::<unsafe extern "system" fn(), $ty>(function.expect("a command")) }
    }};
}
#[allow(unused_imports, reason = "each test file uses a part")]
pub(crate) use command;

impl Generated {
    pub fn new() -> Generated {
        let c = context();
        Generated { functions: Functions::new(&c), c }
    }
}

/// Makes a device with the extension.
pub fn context() -> Context {
    let mut generated = features();
    let mut v12 = vk::PhysicalDeviceVulkan12Features::default().buffer_device_address(true).draw_indirect_count(true);
    let mut v13 = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
    let mut mesh = vk::PhysicalDeviceMeshShaderFeaturesEXT::default().task_shader(true).mesh_shader(true);
    let mut v11 = vk::PhysicalDeviceVulkan11Features::default().multiview(true).shader_draw_parameters(true);
    let mut conditional = vk::PhysicalDeviceConditionalRenderingFeaturesEXT::default().conditional_rendering(true);
    let mut five = vk::PhysicalDeviceMaintenance5FeaturesKHR::default().maintenance5(true);
    let mut objects = vk::PhysicalDeviceShaderObjectFeaturesEXT::default().shader_object(true);
    let mut bytes = vk::PhysicalDeviceIndexTypeUint8FeaturesKHR::default().index_type_uint8(true);
    let features = vk::PhysicalDeviceFeatures::default()
        .multi_draw_indirect(true)
        .draw_indirect_first_instance(true)
        .pipeline_statistics_query(true)
        .occlusion_query_precise(true);
    let mut features = vk::PhysicalDeviceFeatures2::default().features(features);
    let names = [
        c"VK_EXT_device_generated_commands",
        c"VK_KHR_maintenance5",
        c"VK_KHR_dynamic_rendering",
        c"VK_KHR_index_type_uint8",
        c"VK_EXT_conditional_rendering",
        c"VK_EXT_mesh_shader",
        c"VK_EXT_shader_object",
    ];
    Context::with(
        &[c"VK_EXT_debug_utils"],
        &names,
        &mut [
            &mut features,
            &mut v11,
            &mut v12,
            &mut v13,
            &mut mesh,
            &mut conditional,
            &mut five,
            &mut objects,
            &mut bytes,
            &mut generated,
        ],
    )
}

impl Functions {
    /// Loads the commands.
    pub fn new(c: &Context) -> Functions {
        use newer::*;
        Functions {
            device: c.device.clone(),
            create_layout: command!(c, c"vkCreateIndirectCommandsLayoutEXT" as PFN_vkCreateIndirectCommandsLayoutEXT),
            destroy_layout: command!(
                c,
                c"vkDestroyIndirectCommandsLayoutEXT" as PFN_vkDestroyIndirectCommandsLayoutEXT
            ),
            create_set: command!(c, c"vkCreateIndirectExecutionSetEXT" as PFN_vkCreateIndirectExecutionSetEXT),
            destroy_set: command!(c, c"vkDestroyIndirectExecutionSetEXT" as PFN_vkDestroyIndirectExecutionSetEXT),
            update_set: command!(
                c,
                c"vkUpdateIndirectExecutionSetPipelineEXT" as PFN_vkUpdateIndirectExecutionSetPipelineEXT
            ),
            update_shaders: command!(
                c,
                c"vkUpdateIndirectExecutionSetShaderEXT" as PFN_vkUpdateIndirectExecutionSetShaderEXT
            ),
            requirements: command!(
                c,
                c"vkGetGeneratedCommandsMemoryRequirementsEXT" as PFN_vkGetGeneratedCommandsMemoryRequirementsEXT
            ),
            preprocess: command!(c, c"vkCmdPreprocessGeneratedCommandsEXT" as PFN_vkCmdPreprocessGeneratedCommandsEXT),
            execute: command!(c, c"vkCmdExecuteGeneratedCommandsEXT" as PFN_vkCmdExecuteGeneratedCommandsEXT),
        }
    }

    pub fn address(&self, buffer: &Buffer) -> u64 {
        let info = vk::BufferDeviceAddressInfo::default().buffer(buffer.buffer);
        // SAFETY: valid usage.
        unsafe { self.device.get_buffer_device_address(&info) }
    }

    /// Makes a layout of tokens.
    pub fn layout(
        &self,
        (layout, stages): (vk::PipelineLayout, vk::ShaderStageFlags),
        tokens: &[Token],
        stride: u32,
        flags: u32,
    ) -> Result<newer::IndirectCommandsLayoutEXT, vk::Result> {
        // The structures to which tokens point begin with these words.
        let data: Vec<[u32; 3]> = tokens
            .iter()
            .map(|&(ty, [a, b], _)| match ty {
                Type::PUSH_CONSTANT | Type::SEQUENCE_INDEX | Type::PUSH_DATA => [u32::MAX >> 1, a, b],
                _ => [a, b, 0],
            })
            .collect();
        let infos: Vec<_> = tokens
            .iter()
            .zip(&data)
            .map(|(&(ty, _, offset), data)| newer::IndirectCommandsLayoutTokenEXT {
                ty: ty as i32,
                data: data.as_ptr().cast(),
                offset,
                ..tagged()
            })
            .collect();
        let info = newer::IndirectCommandsLayoutCreateInfoEXT {
            flags,
            shader_stages: stages,
            indirect_stride: stride,
            pipeline_layout: layout,
            token_count: infos.len() as u32,
            p_tokens: infos.as_ptr(),
            ..tagged()
        };
        let mut made = newer::IndirectCommandsLayoutEXT::default();
        // SAFETY: the structures are valid; some tests describe layouts that cannot exist.
        unsafe { (self.create_layout)(self.device.handle(), &info, std::ptr::null(), &mut made) }
            .result_with_success(made)
    }

    /// Makes an execution set of pipelines, the first of which is the initial one.
    pub fn set(&self, pipelines: &[vk::Pipeline], count: u32) -> newer::IndirectExecutionSetEXT {
        let pipeline = newer::IndirectExecutionSetPipelineInfoEXT {
            initial_pipeline: pipelines[0],
            max_pipeline_count: count,
            ..tagged()
        };
        let info: *const newer::IndirectExecutionSetPipelineInfoEXT<'_> = &pipeline;
        let info = newer::IndirectExecutionSetCreateInfoEXT { ty: 0, info: info.cast(), ..tagged() };
        let mut set = newer::IndirectExecutionSetEXT::default();
        // SAFETY: valid usage.
        let result = unsafe { (self.create_set)(self.device.handle(), &info, std::ptr::null(), &mut set) };
        result.result().expect("an execution set");
        (1..).zip(&pipelines[1..]).for_each(|(index, &pipeline)| self.update(set, index, pipeline));
        set
    }

    /// Makes an execution set of shader objects, the first of which is the initial one.
    pub fn set_of_shaders(&self, shaders: &[vk::ShaderEXT], count: u32) -> newer::IndirectExecutionSetEXT {
        let shader = newer::IndirectExecutionSetShaderInfoEXT {
            shader_count: 1,
            p_initial_shaders: shaders.as_ptr(),
            max_shader_count: count,
            ..tagged()
        };
        let info: *const newer::IndirectExecutionSetShaderInfoEXT<'_> = &shader;
        let info = newer::IndirectExecutionSetCreateInfoEXT { ty: 1, info: info.cast(), ..tagged() };
        let mut set = newer::IndirectExecutionSetEXT::default();
        // SAFETY: valid usage.
        let result = unsafe { (self.create_set)(self.device.handle(), &info, std::ptr::null(), &mut set) };
        result.result().expect("an execution set");
        (1..).zip(&shaders[1..]).for_each(|(index, &shader)| self.update_shader(set, index, shader));
        set
    }

    pub fn update_shader(&self, set: newer::IndirectExecutionSetEXT, index: u32, shader: vk::ShaderEXT) {
        let write = newer::WriteIndirectExecutionSetShaderEXT { index, shader, ..tagged() };
        // SAFETY: the handles are valid; some tests use indices that do not exist.
        unsafe { (self.update_shaders)(self.device.handle(), set, 1, &write) };
    }

    pub fn update(&self, set: newer::IndirectExecutionSetEXT, index: u32, pipeline: vk::Pipeline) {
        let write = newer::WriteIndirectExecutionSetPipelineEXT { index, pipeline, ..tagged() };
        // SAFETY: the handles are valid; some tests use indices that do not exist.
        unsafe { (self.update_set)(self.device.handle(), set, 1, &write) };
    }

    pub fn destroy(&self, layout: newer::IndirectCommandsLayoutEXT, set: newer::IndirectExecutionSetEXT) {
        // SAFETY: the objects are not in use any more.
        unsafe {
            (self.destroy_layout)(self.device.handle(), layout, std::ptr::null());
            (self.destroy_set)(self.device.handle(), set, std::ptr::null());
        }
    }

    /// Calls a function with the structure of a command.
    fn info<R>(s: &Sequences, with: impl FnOnce(&newer::GeneratedCommandsInfoEXT<'_>) -> R) -> R {
        let mut pipeline = newer::GeneratedCommandsPipelineInfoEXT { pipeline: s.pipeline, ..tagged() };
        let p_next = if s.set.as_raw() == 0 { (&raw mut pipeline).cast() } else { std::ptr::null_mut() };
        with(&newer::GeneratedCommandsInfoEXT {
            p_next,
            shader_stages: s.stages,
            indirect_execution_set: s.set,
            indirect_commands_layout: s.layout,
            indirect_address: s.address,
            indirect_address_size: s.size,
            max_sequence_count: s.count,
            sequence_count_address: s.count_address,
            max_draw_count: s.draws,
            ..tagged()
        })
    }

    pub fn execute(&self, b: vk::CommandBuffer, s: &Sequences) {
        // SAFETY: the structure is valid; some tests have invalid addresses and counts.
        Functions::info(s, |info| unsafe { (self.execute)(b, s.preprocessed.into(), info) });
    }

    pub fn preprocess(&self, b: vk::CommandBuffer, s: &Sequences, state: vk::CommandBuffer) {
        // SAFETY: valid usage.
        Functions::info(s, |info| unsafe { (self.preprocess)(b, info, state) });
    }

    /// Returns the requirements of the buffer for preprocessing.
    pub fn requirements(&self, s: &Sequences) -> vk::MemoryRequirements {
        let mut pipeline = newer::GeneratedCommandsPipelineInfoEXT { pipeline: s.pipeline, ..tagged() };
        let p_next = if s.set.as_raw() == 0 { (&raw mut pipeline).cast() } else { std::ptr::null_mut() };
        let info = newer::GeneratedCommandsMemoryRequirementsInfoEXT {
            p_next,
            indirect_execution_set: s.set,
            indirect_commands_layout: s.layout,
            max_sequence_count: s.count,
            max_draw_count: s.draws,
            ..tagged()
        };
        let mut out = vk::MemoryRequirements2::default();
        // SAFETY: valid usage.
        unsafe { (self.requirements)(self.device.handle(), &info, &mut out) };
        out.memory_requirements
    }
}
