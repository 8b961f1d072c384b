//! VK_KHR_deferred_host_operations.

use super::memory_of;
use crate::ffi::handle::{self, get};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, ext, row};
use crate::object::deferred_operation::DeferredOperation;
use ash::vk;
use std::sync::Arc;

const DEFERRED: Requirement = ext("VK_KHR_deferred_host_operations");

/// Rows of this family in the command table.
#[rustfmt::skip]
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, create_deferred_operation as vk::PFN_vkCreateDeferredOperationKHR, vkCreateDeferredOperationKHR: DEFERRED),
    row!(Device, destroy_deferred_operation as vk::PFN_vkDestroyDeferredOperationKHR, vkDestroyDeferredOperationKHR: DEFERRED),
    row!(Device, get_deferred_operation_max_concurrency as vk::PFN_vkGetDeferredOperationMaxConcurrencyKHR, vkGetDeferredOperationMaxConcurrencyKHR: DEFERRED),
    row!(Device, get_deferred_operation_result as vk::PFN_vkGetDeferredOperationResultKHR, vkGetDeferredOperationResultKHR: DEFERRED),
    row!(Device, deferred_operation_join as vk::PFN_vkDeferredOperationJoinKHR, vkDeferredOperationJoinKHR: DEFERRED),
];

shims! {
    fn create_deferred_operation(
        device: vk::Device,
        allocator: *const vk::AllocationCallbacks<'_>,
        operation: *mut vk::DeferredOperationKHR,
    ) -> VkResult {
        *operation = handle::create(Arc::new(DeferredOperation), memory_of(device, allocator))?;
        Ok(())
    }

    fn destroy_deferred_operation(
        device: vk::Device,
        operation: vk::DeferredOperationKHR,
        allocator: *const vk::AllocationCallbacks<'_>,
    ) {
        handle::destroy::<DeferredOperation>(operation, memory_of(device, allocator));
    }

    fn get_deferred_operation_max_concurrency(_device: vk::Device, operation: vk::DeferredOperationKHR) -> u32 {
        get::<DeferredOperation>(operation).max_concurrency()
    }

    fn get_deferred_operation_result(_device: vk::Device, operation: vk::DeferredOperationKHR) -> VkResult {
        get::<DeferredOperation>(operation).result()
    }

    fn deferred_operation_join(_device: vk::Device, operation: vk::DeferredOperationKHR) -> VkResult {
        get::<DeferredOperation>(operation).result()
    }
}
