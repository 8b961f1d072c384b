//! Instance, physical device, and the logical device with its queues and the state that its
//! children share. Work comes to a queue as functions of the device and the queue; this module does
//! not know commands.

#![forbid(unsafe_code)]

pub mod fault;
pub mod idle_builders;
pub mod instance;
pub mod queue;
mod watchdog;

use crate::caps::ExtensionSet;
use crate::caps::extensions::Extension;
use crate::ffi::handle::{OwnedDispatchable, objects};
use crate::object::descriptor_buffer::DescriptorNames;
use crate::object::descriptor_heap::DescriptorHeaps;
use crate::object::implicit::ImplicitImages;
use crate::object::live_structures::LiveStructures;
use crate::object::memory::Heap;
use crate::object::program::Linker;
use crate::object::query::Query;
use crate::object::shared_layouts::SharedLayouts;
use crate::object::sync::Sync;
use crate::shader_compiler::compiler::Compiler;
use crate::shader_compiler::inspect::ExecutableCache;
use crate::shader_compiler::ray_query::Structures;
use crate::shader_compiler::tiered::Policy;
use ash::vk;
use base::abi::HelperTable;
use fault::{Cause, Faults};
use instance::{Instance, PhysicalDevice};
use queue::{Queue, QueueRef};
use rasterizer::Engine;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use watchdog::Watchdog;

/// `VkDevice`.
pub struct Device {
    /// Instance, for messages.
    pub instance: Arc<Instance>,
    /// Memory heap.
    pub heap: Arc<Heap>,
    /// Waits and the lost state.
    pub sync: Arc<Sync>,
    /// Executes draws and dispatches; starts its threads at the first work.
    pub engine: Arc<Engine>,
    /// Makes the code of pipelines, on the engine's pool.
    pub compiler: Arc<Compiler>,
    /// Links of the stages of programs.
    pub linker: Linker,
    /// Layouts of programs of shader objects.
    pub layouts: SharedLayouts,
    /// Answers to queries about a pipeline's code.
    pub executables: ExecutableCache,
    /// Flag that generated loops poll; non-zero once the device is lost.
    pub abort: AtomicU32,
    /// Functions that generated code calls.
    pub helpers: HelperTable,
    /// Queues by number.
    pub queues: Box<[Arc<Queue>]>,
    /// Guards all queues against endless shaders.
    pub watchdog: Arc<Watchdog>,
    /// Enabled extensions.
    pub extensions: ExtensionSet,
    /// The reason for a loss.
    pub faults: Faults,
    /// Implicit images: samples of single-sampled attachments.
    pub implicit_images: ImplicitImages,
    /// Objects that descriptors in buffers may refer to.
    pub descriptor_names: DescriptorNames,
    /// Objects of descriptors in heaps; `None` if descriptor heaps are not enabled.
    pub heaps: Option<DescriptorHeaps>,
    /// Live acceleration structures.
    pub live_structures: Arc<LiveStructures>,
    /// Access to the live structures, for helpers of generated code and for builds.
    pub structures: Structures,
    /// Handles of `queues`.
    queue_handles: OnceLock<Box<[OwnedDispatchable<QueueRef>]>>,
}

/// Queues of a device that is created: a `VkDeviceQueueCreateInfo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRequest {
    /// Value of `queueFamilyIndex`.
    pub family: u32,
    /// Value of `flags`.
    pub flags: vk::DeviceQueueCreateFlags,
    /// Value of `queueCount`.
    pub count: u32,
}

/// Time that an aborted operation may take to end before waits return without it.
const ABORT_GRACE: Duration = Duration::from_secs(10);

/// Extensions that let the application query why the device was lost.
const FAULT_EXTENSIONS: [Extension; 2] = [Extension::VK_EXT_device_fault, Extension::VK_KHR_device_fault];

impl Device {
    /// Makes a device with queues; starts no thread.
    pub fn new(
        instance: Arc<Instance>,
        physical: &PhysicalDevice,
        extensions: ExtensionSet,
        queues: &[QueueRequest],
    ) -> Result<Arc<Device>, vk::Result> {
        let places = queues.iter().flat_map(|request| (0..request.count).map(move |index| (request, index)));
        let queue = |(number, (request, index)): (usize, (&QueueRequest, u32))| {
            Arc::new(Queue::new(number, request.family, request.flags, index))
        };
        let queues: Box<[Arc<Queue>]> = places.enumerate().map(queue).collect();
        let engine = Arc::new(Engine::new(crate::caps::thread_count()));
        let compiler = Compiler::new(instance.messages.clone(), engine.clone(), Policy::from_env());
        let live_structures = Arc::new(LiveStructures::new(physical.heap.clone()));
        let device = Arc::new(Device {
            instance,
            heap: physical.heap.clone(),
            sync: Arc::default(),
            engine,
            compiler,
            linker: Linker::default(),
            layouts: SharedLayouts::default(),
            executables: ExecutableCache::default(),
            implicit_images: ImplicitImages::default(),
            abort: AtomicU32::new(0),
            helpers: crate::shader_compiler::helpers::helpers(),
            queues,
            watchdog: Arc::default(),
            heaps: extensions.has(Extension::VK_EXT_descriptor_heap).then(DescriptorHeaps::new).transpose()?,
            descriptor_names: DescriptorNames::new(extensions.has(Extension::VK_EXT_descriptor_buffer)),
            faults: Faults::new(FAULT_EXTENSIONS.iter().any(|e| extensions.has(*e))),
            extensions,
            structures: Structures::new(live_structures.clone()),
            live_structures,
            queue_handles: OnceLock::new(),
        });
        let place = |queue: &Arc<Queue>| QueueRef { device: Arc::downgrade(&device), queue: queue.clone() };
        let handles = device.queues.iter().map(|queue| OwnedDispatchable::new(Arc::new(place(queue)), None)).collect();
        let _ = device.queue_handles.set(handles);
        Ok(device)
    }

    /// Returns a queue's handle; null if it was not created.
    pub fn queue_handle(&self, family: u32, flags: vk::DeviceQueueCreateFlags, index: u32) -> vk::Queue {
        let is_it = |queue: &Arc<Queue>| (queue.family, queue.flags, queue.index) == (family, flags, index);
        let number = self.queues.iter().position(is_it);
        let handle = number.zip(self.queue_handles.get()).and_then(|(number, handles)| handles.get(number));
        handle.map_or_else(vk::Queue::null, OwnedDispatchable::get)
    }

    /// Waits until everything submitted so far to any queue is done.
    pub fn wait_idle(&self) -> Result<(), vk::Result> {
        let targets: SmallVec<[u64; 16]> = self.queues.iter().map(|queue| queue.submitted()).collect();
        let done = || self.queues.iter().zip(&targets).all(|(queue, &target)| queue.has_completed(target));
        self.sync.wait_until(done)
    }

    /// Ends and joins the workers, the watchdog and the compiler. Waits of submissions end at once,
    /// whichever queue they wait for.
    pub fn stop(&self) {
        self.sync.notify(|| self.queues.iter().for_each(|queue| queue.request_stop()));
        self.queues.iter().for_each(|queue| queue.join());
        self.watchdog.stop();
        self.compiler.stop();
    }

    /// Returns true if the extension is enabled.
    pub fn has_extension(&self, name: &str) -> bool {
        self.extensions.has_name(name)
    }

    /// Loses the device, once: generated code stops, the application gets a message, and waits
    /// return, in this order.
    ///
    /// `pipelines` are the handles of those that caused the loss. Waits return after `settled`,
    /// which waits for the workers ([`Device::wait_for_workers`]). An application that learns of
    /// the loss may free memory, which generated code must no longer access by then.
    pub fn lose_after(&self, cause: Cause, message: &str, pipelines: &[u64], settled: impl FnOnce()) {
        // The flag is set before the check for executing workers; `queue::perform` does both in the
        // other order.
        if self.abort.swap(1, Ordering::SeqCst) == 0 {
            // Threads that wait while they execute end their waits.
            self.sync.notify(|| ());
            self.instance.report(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR, cause.id(), message);
            self.faults.record(cause, message, pipelines);
            settled();
            self.sync.lose();
        }
    }

    /// Returns true if the device is lost, or is about to be.
    pub fn is_losing(&self) -> bool {
        self.abort.load(Ordering::SeqCst) != 0
    }

    /// Waits until no worker except that of `but` executes anything, which takes little time after
    /// the abort flag is set.
    pub fn wait_for_workers(&self, but: Option<&Queue>) {
        let deadline = Instant::now() + ABORT_GRACE;
        let others = || self.queues.iter().filter(|queue| but.is_none_or(|but| but.number != queue.number));
        while others().any(|queue| queue.watched.is_executing()) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Makes a query's results available if the counted work was executed to its end, which does
    /// not hold while the device is being lost.
    pub fn make_available(&self, query: &Query) {
        if !self.is_losing() {
            query.make_available(&self.sync);
        }
    }

    /// Reports to the application that something is not supported.
    pub fn report_unsupported(&self, message: &str) {
        self.instance.report(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR, "GRUS-unsupported", message);
    }

    /// Reports to the application that it did something invalid, so that the result differs from
    /// its request.
    pub fn report_invalid_usage(&self, message: &str) {
        self.instance.report(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR, "GRUS-misuse", message);
    }
}

objects! { DispatchableObject:
    Instance => Instance in INSTANCE,
    PhysicalDevice => PhysicalDevice,
    Device => Device in DEVICE,
    QueueRef => Queue,
}
