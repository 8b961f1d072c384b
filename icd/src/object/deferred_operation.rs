//! Deferred host operations (VK_KHR_deferred_host_operations).

/// `VkDeferredOperationKHR`.
///
/// The driver does not defer operations: a command that receives one does its work before it
/// returns, on all threads of the device where that is faster, and returns
/// `VK_OPERATION_NOT_DEFERRED_KHR`. A deferred operation therefore has no state and is always
/// complete.
pub struct DeferredOperation;

impl DeferredOperation {
    /// Returns the number of threads that can join the operation: 0, since it is complete.
    pub fn max_concurrency(&self) -> u32 {
        0
    }

    /// Returns the result of the operation: success, since none was deferred.
    pub fn result(&self) -> Result<(), ash::vk::Result> {
        Ok(())
    }
}
