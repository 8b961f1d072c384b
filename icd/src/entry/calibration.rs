//! VK_KHR_calibrated_timestamps, VK_EXT_calibrated_timestamps: the device's clock is one of the
//! host's.

use crate::ffi::pointer::{slice, write_array};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, ext, row};
use crate::os::clock;
use ash::vk;

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(
        PhysicalDevice,
        get_physical_device_calibrateable_time_domains as vk::PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsKHR,
        vkGetPhysicalDeviceCalibrateableTimeDomainsKHR: ext("VK_KHR_calibrated_timestamps"),
        vkGetPhysicalDeviceCalibrateableTimeDomainsEXT: ext("VK_EXT_calibrated_timestamps"),
    ),
    row!(
        Device,
        get_calibrated_timestamps as vk::PFN_vkGetCalibratedTimestampsKHR,
        vkGetCalibratedTimestampsKHR: ext("VK_KHR_calibrated_timestamps"),
        vkGetCalibratedTimestampsEXT: ext("VK_EXT_calibrated_timestamps"),
    ),
];

shims! {
    fn get_physical_device_calibrateable_time_domains(
        _device: vk::PhysicalDevice,
        count: *mut u32,
        domains: *mut vk::TimeDomainKHR,
    ) -> VkResult {
        write_array(&clock::TIME_DOMAINS.map(|(domain, _)| domain), count, domains)
    }

    fn get_calibrated_timestamps(
        _device: vk::Device,
        count: u32,
        infos: *const vk::CalibratedTimestampInfoKHR<'_>,
        timestamps: *mut u64,
        max_deviation: *mut u64,
    ) -> VkResult {
        let begin = clock::now();
        for (i, info) in slice(infos, count).iter().enumerate() {
            let row = clock::TIME_DOMAINS.iter().find(|(domain, _)| *domain == info.time_domain);
            let (_, read) = row.ok_or(vk::Result::ERROR_UNKNOWN)?;
            timestamps.add(i).write(read());
        }
        // All readings are in between; the clocks count in nanoseconds.
        *max_deviation = clock::now() - begin + 1;
        Ok(())
    }
}
