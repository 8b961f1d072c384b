//! VK_EXT_validation_cache: verdicts about modules (`shader_compiler::validation_cache`).

use super::memory_of;
use crate::fallible;
use crate::ffi::handle::{self, get, optional};
use crate::ffi::pointer::{bytes, find, slice};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, ext, row};
use crate::shader_compiler::validation_cache::ValidationCache;
use ash::vk;
use core::ffi::c_void;
use std::sync::Arc;

const VALIDATION_CACHE: Requirement = ext("VK_EXT_validation_cache");

/// Rows of this family in the command table.
#[rustfmt::skip]
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, create_validation_cache as vk::PFN_vkCreateValidationCacheEXT, vkCreateValidationCacheEXT: VALIDATION_CACHE),
    row!(Device, destroy_validation_cache as vk::PFN_vkDestroyValidationCacheEXT, vkDestroyValidationCacheEXT: VALIDATION_CACHE),
    row!(Device, merge_validation_caches as vk::PFN_vkMergeValidationCachesEXT, vkMergeValidationCachesEXT: VALIDATION_CACHE),
    row!(Device, get_validation_cache_data as vk::PFN_vkGetValidationCacheDataEXT, vkGetValidationCacheDataEXT: VALIDATION_CACHE),
];

/// Returns true if the validation cache in the chain of a module's create info has the verdict that
/// the words are valid, or gets it now.
///
/// # Safety
/// The chain is valid.
pub unsafe fn is_validated(chain: *const c_void, words: &[u32]) -> bool {
    // SAFETY: the chain is valid, as the `# Safety` section demands.
    let info = unsafe { find::<vk::ShaderModuleValidationCacheCreateInfoEXT<'_>>(chain) };
    // SAFETY: the structure is an element of the valid chain, so that its handle is null or live.
    let cache = info.and_then(|info| unsafe { optional::<ValidationCache>(info.validation_cache) });
    cache.is_some_and(|cache| cache.is_valid(words))
}

shims! {
    fn create_validation_cache(
        device: vk::Device,
        info: *const vk::ValidationCacheCreateInfoEXT<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        cache: *mut vk::ValidationCacheEXT,
    ) -> VkResult {
        let info = &*info;
        let data = bytes(info.p_initial_data, info.initial_data_size);
        fallible::available(2 * data.len())?;
        *cache = handle::create(Arc::new(ValidationCache::new(data)), memory_of(device, allocator))?;
        Ok(())
    }

    fn destroy_validation_cache(
        device: vk::Device,
        cache: vk::ValidationCacheEXT,
        allocator: *const vk::AllocationCallbacks<'_>,
    ) {
        handle::destroy::<ValidationCache>(cache, memory_of(device, allocator));
    }

    fn merge_validation_caches(
        _device: vk::Device,
        cache: vk::ValidationCacheEXT,
        count: u32,
        from: *const vk::ValidationCacheEXT,
    ) -> VkResult {
        let cache = get::<ValidationCache>(cache);
        slice(from, count).iter().for_each(|f| cache.merge(get::<ValidationCache>(*f)));
        Ok(())
    }

    fn get_validation_cache_data(
        _device: vk::Device,
        cache: vk::ValidationCacheEXT,
        size: *mut usize,
        data: *mut c_void,
    ) -> VkResult {
        let limit = if data.is_null() { usize::MAX } else { *size };
        let (bytes, complete) = get::<ValidationCache>(cache).data(limit);
        *size = bytes.len();
        if data.is_null() {
            return Ok(());
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast(), bytes.len());
        if complete { Ok(()) } else { Err(vk::Result::INCOMPLETE) }
    }
}
