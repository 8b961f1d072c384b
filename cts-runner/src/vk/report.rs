//! Queries of what a driver has, by numbers: extensions, features, limits and formats, for tools
//! that know them from tables and not as types.

use super::api::Api;
use super::error::{Context, Result};
use super::gpu::{create_instance, first_physical_device};
use ash::vk;
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::mem::size_of;

/// The first physical device of a driver, without a logical device.
pub struct DeviceReport {
    instance: ash::Instance,
    physical: vk::PhysicalDevice,
    version: u32,
    extensions: BTreeSet<String>,
}

/// Features of a format: optimal tiling, linear tiling, buffers, as `VkFormatFeatureFlags2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatFeatures {
    /// Features of images with optimal tiling.
    pub optimal: u64,
    /// Features of images with linear tiling.
    pub linear: u64,
    /// Features of buffers.
    pub buffer: u64,
}

impl DeviceReport {
    /// Makes an instance of the highest version, and lists the extensions of the instance and of
    /// the device.
    pub fn new(api: &Api) -> Result<Self> {
        let (instance, api_version) = create_instance(api, u32::MAX, false)?;
        let mut report =
            Self { instance, physical: vk::PhysicalDevice::null(), version: 0, extensions: BTreeSet::new() };
        report.physical = first_physical_device(&report.instance)?;
        // SAFETY: the physical device belongs to the instance; the commands are queries.
        let (properties, of_device, of_instance) = unsafe {
            (
                report.instance.get_physical_device_properties(report.physical),
                report.instance.enumerate_device_extension_properties(report.physical),
                api.entry.enumerate_instance_extension_properties(None),
            )
        };
        let of_device = of_device.context("vkEnumerateDeviceExtensionProperties")?;
        let of_instance = of_instance.context("vkEnumerateInstanceExtensionProperties")?;
        let names = of_device.iter().chain(&of_instance).filter_map(|e| e.extension_name_as_c_str().ok());
        report.extensions = names.map(|name| name.to_string_lossy().into_owned()).collect();
        report.version = api_version.min(properties.api_version);
        Ok(report)
    }

    /// Returns the version of Vulkan of the device, at most that of the instance.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Reports whether the instance or the device has an extension.
    pub fn has_extension(&self, name: &str) -> bool {
        self.extensions.contains(name)
    }

    /// Returns the members of `VkPhysicalDeviceFeatures`.
    pub fn core_features(&self) -> Vec<u32> {
        const COUNT: usize = size_of::<vk::PhysicalDeviceFeatures>() / size_of::<vk::Bool32>();
        // SAFETY: the physical device belongs to the instance. The structure consists of `COUNT`
        // values of `VkBool32`, without padding.
        unsafe {
            let features = self.instance.get_physical_device_features(self.physical);
            std::mem::transmute::<vk::PhysicalDeviceFeatures, [u32; COUNT]>(features).to_vec()
        }
    }

    /// Returns the `count` members of a structure of features with this tag. The device must have
    /// the version or the extension that provides the structure, and Vulkan 1.1.
    pub fn features(&self, tag: i32, count: usize) -> Vec<u32> {
        let mut memory = Chained::new(tag, HEADER + 4 * count);
        let mut all = vk::PhysicalDeviceFeatures2 { p_next: memory.pointer(), ..Default::default() };
        // SAFETY: `memory` is a structure with a tag, an empty chain and room for `count` members.
        unsafe { self.instance.get_physical_device_features2(self.physical, &mut all) };
        memory.bytes()[HEADER..]
            .chunks_exact(4)
            .take(count)
            .map(|b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
            .collect()
    }

    /// Returns the bytes of a structure of properties with this tag and size. The device must have
    /// the version or the extension that provides the structure, and Vulkan 1.1.
    pub fn properties(&self, tag: i32, size: usize) -> Vec<u8> {
        let mut memory = Chained::new(tag, size);
        let mut all = vk::PhysicalDeviceProperties2 { p_next: memory.pointer(), ..Default::default() };
        // SAFETY: `memory` is a structure with a tag, an empty chain and `size` bytes.
        unsafe { self.instance.get_physical_device_properties2(self.physical, &mut all) };
        memory.bytes()
    }

    /// Returns the bytes of `VkPhysicalDeviceLimits`.
    pub fn limits(&self) -> Vec<u8> {
        type Properties = vk::PhysicalDeviceProperties;
        const OFFSET: usize = std::mem::offset_of!(Properties, limits);
        let mut words = vec![0u64; size_of::<Properties>().div_ceil(8)];
        // SAFETY: the physical device belongs to the instance. `words` has the size and the
        // alignment of the structure, and stays initialized where the structure has padding.
        unsafe {
            let command = self.instance.fp_v1_0().get_physical_device_properties;
            command(self.physical, words.as_mut_ptr().cast::<Properties>());
        }
        let bytes = words.iter().flat_map(|word| word.to_ne_bytes());
        bytes.skip(OFFSET).take(size_of::<vk::PhysicalDeviceLimits>()).collect()
    }

    /// Returns the features of a format. Bits above 31 need Vulkan 1.3 or
    /// `VK_KHR_format_feature_flags2`.
    pub fn format(&self, format: i32) -> FormatFeatures {
        let format = vk::Format::from_raw(format);
        if self.version >= vk::API_VERSION_1_3 || self.has_extension("VK_KHR_format_feature_flags2") {
            let mut wide = vk::FormatProperties3::default();
            let mut all = vk::FormatProperties2::default().push_next(&mut wide);
            // SAFETY: the device has the version or extension of the chained structure.
            unsafe { self.instance.get_physical_device_format_properties2(self.physical, format, &mut all) };
            return FormatFeatures {
                optimal: wide.optimal_tiling_features.as_raw(),
                linear: wide.linear_tiling_features.as_raw(),
                buffer: wide.buffer_features.as_raw(),
            };
        }
        // SAFETY: the physical device belongs to the instance; the command is a query.
        let narrow = unsafe { self.instance.get_physical_device_format_properties(self.physical, format) };
        FormatFeatures {
            optimal: narrow.optimal_tiling_features.as_raw().into(),
            linear: narrow.linear_tiling_features.as_raw().into(),
            buffer: narrow.buffer_features.as_raw().into(),
        }
    }
}

impl Drop for DeviceReport {
    fn drop(&mut self) {
        // SAFETY: the instance has no children, and nothing uses it afterwards.
        unsafe { self.instance.destroy_instance(None) };
    }
}

/// Bytes of the tag and the chain pointer of a structure.
const HEADER: usize = size_of::<vk::BaseOutStructure<'_>>();

/// Memory of a chained structure that is known by its tag and size.
struct Chained(Vec<u64>, usize);

impl Chained {
    fn new(tag: i32, size: usize) -> Self {
        let mut words = vec![0; size.max(HEADER).div_ceil(8)];
        let mut first = [0; 8];
        first[..4].copy_from_slice(&tag.to_ne_bytes());
        words[0] = u64::from_ne_bytes(first);
        Self(words, size)
    }

    fn pointer(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }

    fn bytes(&self) -> Vec<u8> {
        let bytes = self.0.iter().flat_map(|word| word.to_ne_bytes());
        bytes.take(self.1).collect()
    }
}
