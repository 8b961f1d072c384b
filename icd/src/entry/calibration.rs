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

const DOMAINS: [vk::TimeDomainKHR; 3] =
    [vk::TimeDomainKHR::DEVICE, vk::TimeDomainKHR::CLOCK_MONOTONIC, vk::TimeDomainKHR::CLOCK_MONOTONIC_RAW];

shims! {
    fn get_physical_device_calibrateable_time_domains(
        _device: vk::PhysicalDevice,
        count: *mut u32,
        domains: *mut vk::TimeDomainKHR,
    ) -> VkResult {
        write_array(&DOMAINS, count, domains)
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
            let raw = info.time_domain == vk::TimeDomainKHR::CLOCK_MONOTONIC_RAW;
            timestamps.add(i).write(if raw { clock::raw() } else { clock::now() });
        }
        // All readings are in between; the clocks count in nanoseconds.
        *max_deviation = clock::now() - begin + 1;
        Ok(())
    }
}
