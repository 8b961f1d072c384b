//! The logical device: what its children share.

use super::instance::{Instance, PhysicalDevice};
use super::memory::Heap;
use super::sync::Sync;
use crate::backend::compiler::{Compiler, Policy};
use crate::caps::ExtensionSet;
use crate::entry::handle;
use crate::queue::{Queue, QueueRef};
use ash::vk;
use base::abi::HelperTable;
use parking_lot::Mutex;
use rasterizer::Engine;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// `VkDevice`.
pub struct Device {
    /// Instance, for messages.
    pub instance: Arc<Instance>,
    /// Memory heap.
    pub heap: Arc<Heap>,
    /// Waits and the lost state.
    pub sync: Sync,
    /// Draws and dispatches; starts its threads at the first work.
    pub engine: Arc<Engine>,
    /// Makes the code of pipelines, on the engine's pool.
    pub compiler: Arc<Compiler>,
    /// Polled by generated loops; non-zero once the device is lost.
    pub abort: AtomicU32,
    /// Functions that generated code calls.
    pub helpers: HelperTable,
    /// The queue.
    pub queue: Queue,
    /// Enabled extensions.
    pub extensions: ExtensionSet,
    queue_handle: OnceLock<vk::Queue>,
    names: Mutex<HashMap<u64, String>>,
}

impl Device {
    /// A device; starts no thread.
    pub fn new(instance: Arc<Instance>, physical: &PhysicalDevice, extensions: ExtensionSet) -> Arc<Device> {
        let engine = Arc::new(Engine::new(crate::caps::thread_count()));
        let compiler = Compiler::new(instance.clone(), engine.clone(), Policy::from_env());
        let device = Arc::new(Device {
            instance,
            heap: physical.heap.clone(),
            sync: Sync::default(),
            engine,
            compiler,
            abort: AtomicU32::new(0),
            helpers: crate::backend::helpers::helpers(),
            queue: Queue::default(),
            extensions,
            queue_handle: OnceLock::new(),
            names: Mutex::default(),
        });
        let queue = Arc::new(QueueRef { device: Arc::downgrade(&device) });
        let _ = device.queue_handle.set(handle::inner_dispatchable(queue));
        device
    }

    /// The queue's handle.
    pub fn queue_handle(&self) -> vk::Queue {
        self.queue_handle.get().copied().unwrap_or_default()
    }

    /// Enabled?
    pub fn has_extension(&self, name: &str) -> bool {
        self.extensions.has_name(name)
    }

    /// Loses the device, once: generated code stops, the application is told why, waits return (in this order).
    ///
    /// Called by the queue's worker, which then ends its work; others use [`Device::lose_after`].
    pub fn lose(&self, id: &str, message: &str) {
        self.lose_after(id, message, || ());
    }

    /// As [`Device::lose`]; waits return after `settled`, which waits for the worker: whoever is told of the loss may free memory
    /// that generated code must not touch any more.
    pub fn lose_after(&self, id: &str, message: &str, settled: impl FnOnce()) {
        if self.abort.swap(1, Ordering::AcqRel) == 0 {
            self.instance.report(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR, id, message, None);
            settled();
            self.sync.lose();
        }
    }

    /// Lost, or about to be.
    pub fn is_losing(&self) -> bool {
        self.abort.load(Ordering::Acquire) != 0
    }

    /// Tells the application that something is not supported.
    pub fn unsupported(&self, message: &str) {
        self.instance.report(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR, "GRUS-unsupported", message, None);
    }

    /// Tells the application that it did something invalid, and what became of it is not what it asked for.
    pub fn misuse(&self, message: &str) {
        self.instance.report(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR, "GRUS-misuse", message, None);
    }

    /// `vkSetDebugUtilsObjectNameEXT`.
    pub fn set_name(&self, object: u64, name: Option<String>) -> Result<(), vk::Result> {
        let mut names = self.names.lock();
        base::alloc::optional(|| names.try_reserve(1)).map_err(|_| vk::Result::ERROR_OUT_OF_HOST_MEMORY)?;
        match name.filter(|n| !n.is_empty()) {
            Some(name) => names.insert(object, name),
            None => names.remove(&object),
        };
        Ok(())
    }

    /// The name the application gave, or the handle's number.
    pub fn name(&self, object: u64) -> String {
        self.names.lock().get(&object).cloned().unwrap_or_else(|| format!("{object:#x}"))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: made in `new`; the application may not use the queue after vkDestroyDevice.
        drop(unsafe { handle::destroy_dispatchable::<QueueRef>(self.queue_handle()) });
    }
}
