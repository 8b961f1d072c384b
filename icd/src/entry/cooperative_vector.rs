//! Conversions of matrices of cooperative vectors (VK_NV_cooperative_vector), in command buffers
//! and on the host.

use super::recording::push;
use crate::caps::newer;
use crate::command::Command;
use crate::command::cooperative_vector::MatrixConversion;
use crate::device::Device;
use crate::fallible;
use crate::ffi::handle::dispatchable;
use crate::ffi::pointer::slice;
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, ext, row};
use ash::vk;
use base::mem::{DeviceMemory, MemoryRange};

const COOPERATIVE_VECTORS: Requirement = ext("VK_NV_cooperative_vector");

type Info<'a> = newer::ConvertCooperativeVectorMatrixInfoNV<'a>;

/// Rows of this family in the command table.
#[rustfmt::skip]
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, convert_cooperative_vector_matrix as newer::PFN_vkConvertCooperativeVectorMatrixNV, vkConvertCooperativeVectorMatrixNV: COOPERATIVE_VECTORS),
    row!(Device, cmd_convert_cooperative_vector_matrix as newer::PFN_vkCmdConvertCooperativeVectorMatrixNV, vkCmdConvertCooperativeVectorMatrixNV: COOPERATIVE_VECTORS),
];

/// Returns the application's memory.
///
/// # Safety
/// There are `size` bytes at the address as long as the result is used, or the address is null.
unsafe fn host_memory(address: u64, size: usize) -> DeviceMemory {
    let size = if address == 0 { 0 } else { size as u64 };
    // SAFETY: the bytes exist, as the `# Safety` section demands.
    unsafe { DeviceMemory::new(MemoryRange { address: address as *mut u8, size }) }
}

shims! {
    fn convert_cooperative_vector_matrix(device: vk::Device, info: *const Info<'_>) -> VkResult {
        const COMMAND: &str = "vkConvertCooperativeVectorMatrixNV";
        let device = dispatchable::<Device>(device);
        let info = &*info;
        let (src, dst) = (info.src_data, info.dst_data);
        let refuse = |why: &str| {
            device.report_invalid_usage(&format!("{COMMAND}: {why}"));
            vk::Result::ERROR_FEATURE_NOT_PRESENT
        };
        let size = MatrixConversion::destination_size(info).map_err(refuse)?;
        let Ok(needed) = usize::try_from(size) else { return Err(vk::Result::ERROR_OUT_OF_HOST_MEMORY) };
        if dst == 0 {
            *info.p_dst_size = needed;
            return Ok(());
        }
        let given = *info.p_dst_size;
        let conversion = MatrixConversion::new(info, [src, dst]).map_err(refuse)?;
        if given < needed {
            return Err(vk::Result::INCOMPLETE);
        }
        *info.p_dst_size = needed;
        if (info.src_size as u64) < conversion.sizes()[0] {
            device.report_invalid_usage(&format!("{COMMAND}: srcSize is less than the source has"));
        }
        conversion.convert(host_memory(src, info.src_size), host_memory(dst, needed));
        Ok(())
    }

    fn cmd_convert_cooperative_vector_matrix(buffer: vk::CommandBuffer, count: u32, infos: *const Info<'_>) {
        let conversions = slice(infos, count).iter().map(|info| {
            MatrixConversion::new(info, [info.src_data, info.dst_data])
        });
        push(buffer, Command::ConvertCooperativeVectorMatrix(fallible::collect(conversions)?));
    }
}
