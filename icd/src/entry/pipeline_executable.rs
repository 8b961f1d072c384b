//! VK_KHR_pipeline_executable_properties: the code that a pipeline has (`backend::inspect`).

use crate::caps::copy_str;
use crate::device::Device;
use crate::ffi::handle::{dispatchable, get};
use crate::ffi::pointer::fill_array;
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, ext, row};
use crate::object::pipeline::Pipeline;
use crate::shader_compiler::inspect::{Executable, Statistic};
use ash::vk;
use jit::backend::Text;
use std::sync::Arc;

const EXECUTABLE: Requirement = ext("VK_KHR_pipeline_executable_properties");
const TEXTS: vk::PipelineCreateFlags2KHR = vk::PipelineCreateFlags2KHR::CAPTURE_INTERNAL_REPRESENTATIONS;
const STATISTICS: vk::PipelineCreateFlags2KHR = vk::PipelineCreateFlags2KHR::CAPTURE_STATISTICS;

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(
        Device,
        get_pipeline_executable_properties as vk::PFN_vkGetPipelineExecutablePropertiesKHR,
        vkGetPipelineExecutablePropertiesKHR: EXECUTABLE
    ),
    row!(
        Device,
        get_pipeline_executable_statistics as vk::PFN_vkGetPipelineExecutableStatisticsKHR,
        vkGetPipelineExecutableStatisticsKHR: EXECUTABLE
    ),
    row!(
        Device,
        get_pipeline_executable_internal_representations as vk::PFN_vkGetPipelineExecutableInternalRepresentationsKHR,
        vkGetPipelineExecutableInternalRepresentationsKHR: EXECUTABLE
    ),
];

shims! {
    fn get_pipeline_executable_properties(
        device: vk::Device,
        info: *const vk::PipelineInfoKHR<'_>,
        count: *mut u32,
        out: *mut vk::PipelineExecutablePropertiesKHR<'_>,
    ) -> VkResult {
        let pipeline = get::<Pipeline>((*info).pipeline);
        let executables = executables(dispatchable::<Device>(device), pipeline)?;
        fill_array(&executables, count, out, |to, from| {
            to.stages = vk::ShaderStageFlags::from_raw(from.stage.row().flag_bit);
            copy_str(&mut to.name, &from.name);
            copy_str(&mut to.description, &from.description);
            to.subgroup_size = from.lanes;
            Ok(())
        })
    }

    fn get_pipeline_executable_statistics(
        device: vk::Device,
        info: *const vk::PipelineExecutableInfoKHR<'_>,
        count: *mut u32,
        out: *mut vk::PipelineExecutableStatisticKHR<'_>,
    ) -> VkResult {
        let (device, pipeline) = (dispatchable::<Device>(device), get::<Pipeline>((*info).pipeline));
        let executables = executables(device, pipeline)?;
        let none: &[Statistic] = &[];
        let list = captured(device, pipeline, STATISTICS).then(|| executables.get((*info).executable_index as usize));
        fill_array(list.flatten().map_or(none, |e| &e.statistics), count, out, |to, from| {
            copy_str(&mut to.name, from.name);
            copy_str(&mut to.description, from.description);
            to.format = vk::PipelineExecutableStatisticFormatKHR::UINT64;
            to.value = vk::PipelineExecutableStatisticValueKHR { u64: from.value };
            Ok(())
        })
    }

    fn get_pipeline_executable_internal_representations(
        device: vk::Device,
        info: *const vk::PipelineExecutableInfoKHR<'_>,
        count: *mut u32,
        out: *mut vk::PipelineExecutableInternalRepresentationKHR<'_>,
    ) -> VkResult {
        let (device, pipeline) = (dispatchable::<Device>(device), get::<Pipeline>((*info).pipeline));
        let executables = executables(device, pipeline)?;
        let none: &[Text] = &[];
        let list = captured(device, pipeline, TEXTS).then(|| executables.get((*info).executable_index as usize));
        fill_array(list.flatten().map_or(none, |e| &e.texts), count, out, |to, from| {
            copy_str(&mut to.name, from.name);
            copy_str(&mut to.description, from.description);
            to.is_text = vk::TRUE;
            fill_text(to, from.text.as_bytes())
        })
    }
}

/// Returns a pipeline's executables, with texts if it captures them.
fn executables(device: &Device, pipeline: &Pipeline) -> Result<Arc<[Executable]>, vk::Result> {
    let executables = device.executables.of_pipeline(pipeline.code(), pipeline.flags.contains(TEXTS));
    executables.map_err(|error| {
        device.report_unsupported(&format!("a pipeline's executables: {error}"));
        vk::Result::ERROR_OUT_OF_HOST_MEMORY
    })
}

/// Returns true if the pipeline was created with this flag, and reports invalid usage otherwise.
fn captured(device: &Device, pipeline: &Pipeline, flag: vk::PipelineCreateFlags2KHR) -> bool {
    let captured = pipeline.flags.contains(flag);
    if !captured {
        device.report_invalid_usage(&format!(
            "a pipeline's executables are asked for what needs {flag:?} at its creation"
        ));
    }
    captured
}

/// Writes as much of a text as there is space for, always with a terminating null.
///
/// # Safety
/// `p_data` is null or has space for `data_size` bytes.
unsafe fn fill_text(
    to: &mut vk::PipelineExecutableInternalRepresentationKHR<'_>,
    text: &[u8],
) -> Result<(), vk::Result> {
    let all = text.len() + 1;
    if to.p_data.is_null() {
        to.data_size = all;
        return Ok(());
    }
    let size = to.data_size.min(all);
    to.data_size = size;
    if size > 0 {
        // SAFETY: `p_data` has space for `data_size` bytes, as the `# Safety` section demands; the
        // text has at least `size - 1` bytes.
        unsafe {
            let data = to.p_data.cast::<u8>();
            data.copy_from_nonoverlapping(text.as_ptr(), size - 1);
            data.add(size - 1).write(0);
        }
    }
    if size < all { Err(vk::Result::INCOMPLETE) } else { Ok(()) }
}
