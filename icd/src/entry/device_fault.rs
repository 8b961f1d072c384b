//! VK_EXT_device_fault, VK_KHR_device_fault: the reason why a device was lost (`device::fault`).

use crate::caps::{copy_str, newer};
use crate::device::Device;
use crate::device::fault::{Cause, Fault};
use crate::ffi::handle::dispatchable;
use crate::ffi::pointer::slice_mut;
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, ext, row};
use ash::vk;
use core::ffi::c_char;

const KHR: Requirement = ext("VK_KHR_device_fault");

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(
        Device,
        get_device_fault_info as vk::PFN_vkGetDeviceFaultInfoEXT,
        vkGetDeviceFaultInfoEXT: ext("VK_EXT_device_fault")
    ),
    row!(
        Device,
        get_device_fault_reports as newer::PFN_vkGetDeviceFaultReportsKHR,
        vkGetDeviceFaultReportsKHR: KHR
    ),
    row!(
        Device,
        get_device_fault_debug_info as newer::PFN_vkGetDeviceFaultDebugInfoKHR,
        vkGetDeviceFaultDebugInfoKHR: KHR
    ),
];

/// Bits of `VkDeviceFaultFlagBitsKHR`.
const DEVICE_LOST: u32 = 1;
const VENDOR: u32 = 8;
const WATCHDOG_TIMEOUT: u32 = 16;

/// Number of the only fault of a device.
const GROUP: u64 = 1;

shims! {
    fn get_device_fault_info(
        device: vk::Device,
        counts: *mut vk::DeviceFaultCountsEXT<'_>,
        info: *mut vk::DeviceFaultInfoEXT<'_>,
    ) -> VkResult {
        let (fault, counts) = (dispatchable::<Device>(device).faults.fault(), &mut *counts);
        // There is no dump, and there are no addresses.
        (counts.address_info_count, counts.vendor_binary_size) = (0, 0);
        let reports = fault.as_ref().map_or(&[][..], |fault| &fault.reports);
        let Some(info) = info.as_mut() else {
            counts.vendor_info_count = reports.len() as u32;
            return Ok(());
        };
        put(&mut info.description, fault.as_ref().map_or("the device is not lost", |fault| &fault.message));
        let fits = if info.p_vendor_infos.is_null() { 0 } else { reports.len().min(counts.vendor_info_count as usize) };
        counts.vendor_info_count = fits as u32;
        let infos = slice_mut(info.p_vendor_infos, fits as u32);
        for (out, (report, fault)) in infos.iter_mut().zip(reports.iter().zip(fault.iter().cycle())) {
            *out = vendor_info(fault, &report.description, report.pipeline);
        }
        if fits < reports.len() { Err(vk::Result::INCOMPLETE) } else { Ok(()) }
    }

    fn get_device_fault_reports(
        device: vk::Device,
        timeout: u64,
        count: *mut u32,
        out: *mut newer::DeviceFaultInfoKHR<'_>,
    ) -> VkResult {
        let device = dispatchable::<Device>(device);
        // A lost device reports nothing new, so that the wait ends at once.
        let _ = device.sync.wait(timeout, || device.faults.pending() > 0);
        let pending = device.faults.pending();
        if out.is_null() || pending == 0 {
            *count = pending as u32;
            return if pending == 0 { Err(vk::Result::TIMEOUT) } else { Ok(()) };
        }
        let Some((fault, taken)) = device.faults.take(*count as usize) else { return Err(vk::Result::TIMEOUT) };
        *count = taken.len() as u32;
        for (out, i) in slice_mut(out, *count).iter_mut().zip(taken.clone()) {
            let (report, last) = (&fault.reports[i], i + 1 == fault.reports.len());
            let timeout = if fault.cause == Cause::Timeout { WATCHDOG_TIMEOUT } else { 0 };
            out.flags = VENDOR | timeout | if last { DEVICE_LOST } else { 0 };
            out.group_id = GROUP;
            put(&mut out.description, &report.description);
            (out.fault_address_info, out.instruction_address_info) = Default::default();
            out.vendor_info = vendor_info(&fault, &fault.message, report.pipeline);
        }
        if taken.end < fault.reports.len() { Err(vk::Result::INCOMPLETE) } else { Ok(()) }
    }

    fn get_device_fault_debug_info(_device: vk::Device, info: *mut newer::DeviceFaultDebugInfoKHR<'_>) -> VkResult {
        (*info).vendor_binary_size = 0;
        Ok(())
    }
}

/// Writes as many whole characters of a text as there is space for.
fn put<const N: usize>(out: &mut [c_char; N], text: &str) {
    copy_str(out, &text[..text.floor_char_boundary(N - 1)]);
}

fn vendor_info(fault: &Fault, description: &str, pipeline: u64) -> vk::DeviceFaultVendorInfoEXT {
    let mut info = vk::DeviceFaultVendorInfoEXT {
        vendor_fault_code: fault.cause as u64,
        vendor_fault_data: pipeline,
        ..Default::default()
    };
    put(&mut info.description, description);
    info
}
