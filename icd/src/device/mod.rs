//! Instance, physical device, and the logical device: what its children share, and its queue. Work comes to the queue as functions of the
//! device; what commands are is not known here.

#![forbid(unsafe_code)]

pub mod fault;
pub mod instance;
pub mod queue;
mod watchdog;

use crate::backend::compiler::Compiler;
use crate::backend::inspect::Memo;
use crate::backend::tiered::Policy;
use crate::caps::ExtensionSet;
use crate::caps::extensions::Extension;
use crate::ffi::handle::{OwnedDispatchable, objects};
use crate::object::descriptor_buffer::Living;
use crate::object::memory::Heap;
use crate::object::query::Query;
use crate::object::sync::Sync;
use ash::vk;
use base::abi::HelperTable;
use fault::{Cause, Faults};
use instance::{Instance, PhysicalDevice};
use queue::{Queue, QueueRef};
use rasterizer::Engine;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// `VkDevice`.
pub struct Device {
    /// Instance, for messages.
    pub instance: Arc<Instance>,
    /// Memory heap.
    pub heap: Arc<Heap>,
    /// Waits and the lost state.
    pub sync: Arc<Sync>,
    /// Draws and dispatches; starts its threads at the first work.
    pub engine: Arc<Engine>,
    /// Makes the code of pipelines, on the engine's pool.
    pub compiler: Arc<Compiler>,
    /// What tools have asked about a pipeline's code.
    pub inspected: Memo,
    /// Polled by generated loops; non-zero once the device is lost.
    pub abort: AtomicU32,
    /// Functions that generated code calls.
    pub helpers: HelperTable,
    /// The queue.
    pub queue: Queue,
    /// Enabled extensions.
    pub extensions: ExtensionSet,
    /// Why it was lost.
    pub faults: Faults,
    /// What descriptors in buffers may refer to.
    pub living: Living,
    queue_handle: OnceLock<OwnedDispatchable<QueueRef>>,
}

/// Who has these may ask why.
const FAULTS: [Extension; 2] = [Extension::VK_EXT_device_fault, Extension::VK_KHR_device_fault];

impl Device {
    /// A device; starts no thread.
    pub fn new(instance: Arc<Instance>, physical: &PhysicalDevice, extensions: ExtensionSet) -> Arc<Device> {
        let engine = Arc::new(Engine::new(crate::caps::thread_count()));
        let compiler = Compiler::new(instance.messages.clone(), engine.clone(), Policy::from_env());
        let device = Arc::new(Device {
            instance,
            heap: physical.heap.clone(),
            sync: Arc::default(),
            engine,
            compiler,
            inspected: Memo::default(),
            abort: AtomicU32::new(0),
            helpers: crate::backend::helpers::helpers(),
            queue: Queue::default(),
            living: Living::new(extensions.has(Extension::VK_EXT_descriptor_buffer)),
            faults: Faults::new(FAULTS.iter().any(|e| extensions.has(*e))),
            extensions,
            queue_handle: OnceLock::new(),
        });
        let queue = Arc::new(QueueRef { device: Arc::downgrade(&device) });
        let _ = device.queue_handle.set(OwnedDispatchable::new(queue));
        device
    }

    /// The queue's handle.
    pub fn queue_handle(&self) -> vk::Queue {
        self.queue_handle.get().map_or_else(vk::Queue::null, OwnedDispatchable::get)
    }

    /// Enabled?
    pub fn has_extension(&self, name: &str) -> bool {
        self.extensions.has_name(name)
    }

    /// Loses the device, once: generated code stops, the application is told why, waits return (in this order).
    ///
    /// Called by the queue's worker, which then ends its work; others use [`Device::lose_after`].
    pub fn lose(&self, cause: Cause, message: &str) {
        self.lose_after(cause, message, &self.queue.watchdog.pipelines_at_work(self), || ());
    }

    /// As [`Device::lose`], by these pipelines; waits return after `settled`, which waits for the worker: whoever is told of the loss may free memory
    /// that generated code must not touch any more.
    pub fn lose_after(&self, cause: Cause, message: &str, pipelines: &[u64], settled: impl FnOnce()) {
        if self.abort.swap(1, Ordering::AcqRel) == 0 {
            self.instance.report(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR, cause.id(), message);
            self.faults.keep(cause, message, pipelines);
            settled();
            self.sync.lose();
        }
    }

    /// Lost, or about to be.
    pub fn is_losing(&self) -> bool {
        self.abort.load(Ordering::Acquire) != 0
    }

    /// A query's results can be read, if what they count was executed to its end: not when the device is being lost.
    pub fn make_available(&self, query: &Query) {
        if !self.is_losing() {
            query.make_available(&self.sync);
        }
    }

    /// Tells the application that something is not supported.
    pub fn unsupported(&self, message: &str) {
        self.instance.report(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR, "GRUS-unsupported", message);
    }

    /// Tells the application that it did something invalid, and what became of it is not what it asked for.
    pub fn misuse(&self, message: &str) {
        self.instance.report(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR, "GRUS-misuse", message);
    }
}

objects! { DispatchableObject:
    Instance => Instance,
    PhysicalDevice => PhysicalDevice,
    Device => Device,
    QueueRef => Queue,
}
