//! Tests of deferred host operations that no command has received.

use crate::common::Context;
use ash::vk;

#[test]
fn operations_are_complete() {
    let c = Context::new(&[], &[c"VK_KHR_deferred_host_operations"]);
    let functions = ash::khr::deferred_host_operations::Device::new(&c.instance, &c.device);
    let device = c.device.handle();
    // SAFETY: valid usage.
    unsafe {
        let [first, second] = [(); 2].map(|()| functions.create_deferred_operation(None).expect("an operation"));
        assert!(first != second && first != vk::DeferredOperationKHR::null());
        for operation in [first, second] {
            assert_eq!(functions.get_deferred_operation_max_concurrency(operation), 0);
            assert_eq!((functions.fp().get_deferred_operation_result_khr)(device, operation), vk::Result::SUCCESS);
            assert_eq!((functions.fp().deferred_operation_join_khr)(device, operation), vk::Result::SUCCESS);
            functions.destroy_deferred_operation(operation, None);
        }
        functions.destroy_deferred_operation(vk::DeferredOperationKHR::null(), None);
    }
}
