//! Handles: the one place that turns them into references and back.
//!
//! A non-dispatchable handle is the address of an `Arc`'s content and owns one reference. A dispatchable handle is the
//! address of a [`Dispatchable`], whose first word belongs to the loader. What else is known by handle ends with it
//! ([`forget`](crate::object::private_data::forget)).

use crate::object::private_data::forget;
use ash::vk::{self, Handle};
use std::mem::offset_of;
use std::sync::Arc;

/// What the loader expects in the first word of a dispatchable object before it puts its own pointer there.
const ICD_LOADER_MAGIC: usize = 0x01CD_C0DE;

/// An object behind a non-dispatchable handle.
pub trait Object: Send + Sync + Sized + 'static {
    /// Its handle type.
    type Handle: Handle + Copy;
}

/// Makes a handle that owns one reference; the last step of a creation. When memory was short on the way, the object goes.
pub fn create<T: Object>(object: Arc<T>) -> Result<T::Handle, vk::Result> {
    crate::fallible::check()?;
    Ok(T::Handle::from_raw(Arc::into_raw(object) as u64))
}

/// The handle of an object that has one already.
pub fn raw<T>(object: &Arc<T>) -> u64 {
    Arc::as_ptr(object) as u64
}

/// The object behind a handle.
///
/// # Safety
/// `handle` is a live handle made by [`create`] for a `T`; the reference is used only while it lives.
pub unsafe fn get<'a, T: Object>(handle: T::Handle) -> &'a T {
    // SAFETY: the caller's promise.
    unsafe { &*(handle.as_raw() as *const T) }
}

/// Another reference to the object behind a handle.
///
/// # Safety
/// As [`get`].
pub unsafe fn share<T: Object>(handle: T::Handle) -> Arc<T> {
    let pointer = handle.as_raw() as *const T;
    // SAFETY: the handle owns a reference, so the count is at least 1.
    unsafe {
        Arc::increment_strong_count(pointer);
        Arc::from_raw(pointer)
    }
}

/// As [`share`], `None` for VK_NULL_HANDLE.
///
/// # Safety
/// As [`get`], or null.
pub unsafe fn optional<T: Object>(handle: T::Handle) -> Option<Arc<T>> {
    // SAFETY: not null, and otherwise the caller's promise.
    (handle.as_raw() != 0).then(|| unsafe { share(handle) })
}

/// Gives the handle's reference up; null is ignored.
///
/// # Safety
/// As [`get`], or null; the handle is not used again.
pub unsafe fn destroy<T: Object>(handle: T::Handle) {
    if handle.as_raw() != 0 {
        forget(handle.as_raw());
        // SAFETY: the handle's own reference.
        drop(unsafe { Arc::from_raw(handle.as_raw() as *const T) });
    }
}

/// The memory a dispatchable handle points to.
#[repr(C)]
pub struct Dispatchable<T> {
    loader_data: usize,
    object: Arc<T>,
}

/// A [`Dispatchable`] as it is allocated. Loaders before 1.4.345 may read the first word of a destroyed device's handle while
/// another thread destroys it (`loader_get_icd_and_device`); allocators put their own pointers into the first words of what is freed, so
/// the loader's word does not lie there.
#[repr(C)]
struct Allocation<T> {
    for_the_allocator: [usize; 2],
    dispatchable: Dispatchable<T>,
}

/// An object behind a dispatchable handle.
pub trait DispatchableObject: Send + Sync + Sized + 'static {
    /// Its handle type.
    type Handle: Handle + Copy;
}

/// Makes a dispatchable handle; otherwise as [`create`].
pub fn create_dispatchable<T: DispatchableObject>(object: Arc<T>) -> Result<T::Handle, vk::Result> {
    crate::fallible::check()?;
    let handle = inner_dispatchable(object);
    crate::fallible::check().inspect_err(|_| {
        // SAFETY: just made, and nobody has it.
        drop(unsafe { destroy_dispatchable::<T>(handle) });
    })?;
    Ok(handle)
}

/// A dispatchable handle that another object owns, whose creation is to be checked.
pub fn inner_dispatchable<T: DispatchableObject>(object: Arc<T>) -> T::Handle {
    let dispatchable = Dispatchable { loader_data: ICD_LOADER_MAGIC, object };
    let allocation = Box::into_raw(Box::new(Allocation { for_the_allocator: [0; 2], dispatchable }));
    T::Handle::from_raw(allocation as u64 + offset_of!(Allocation<T>, dispatchable) as u64)
}

/// The object behind a dispatchable handle.
///
/// # Safety
/// `handle` is live and was made by [`create_dispatchable`] for a `T`; the reference is used only while it lives.
pub unsafe fn dispatchable<'a, T: DispatchableObject>(handle: T::Handle) -> &'a Arc<T> {
    // SAFETY: the caller's promise.
    unsafe { &(*(handle.as_raw() as *const Dispatchable<T>)).object }
}

/// Frees the memory of a dispatchable handle and returns its object; `None` for null.
///
/// # Safety
/// As [`dispatchable`], or null; the handle is not used again.
pub unsafe fn destroy_dispatchable<T: DispatchableObject>(handle: T::Handle) -> Option<Arc<T>> {
    if handle.as_raw() == 0 {
        return None;
    }
    forget(handle.as_raw());
    let allocation = handle.as_raw() - offset_of!(Allocation<T>, dispatchable) as u64;
    // SAFETY: made by `Box::into_raw` in `create_dispatchable`.
    Some(unsafe { Box::from_raw(allocation as *mut Allocation<T>) }.dispatchable.object)
}

/// One line per object: which handle type is which.
macro_rules! objects {
    ($trait:ident: $($object:path => $handle:ident),* $(,)?) => {
        $(impl $trait for $object { type Handle = vk::$handle; })*
    };
}

objects! { DispatchableObject:
    crate::object::instance::Instance => Instance,
    crate::object::instance::PhysicalDevice => PhysicalDevice,
    crate::object::device::Device => Device,
    crate::queue::QueueRef => Queue,
    crate::command::CommandBuffer => CommandBuffer,
}

objects! { Object:
    crate::object::instance::Messenger => DebugUtilsMessengerEXT,
    crate::object::memory::Memory => DeviceMemory,
    crate::object::buffer::Buffer => Buffer,
    crate::object::buffer::BufferView => BufferView,
    crate::object::image::Image => Image,
    crate::object::image::ImageView => ImageView,
    crate::object::sampler::Sampler => Sampler,
    crate::object::descriptor::SetLayout => DescriptorSetLayout,
    crate::object::descriptor_pool::DescriptorPool => DescriptorPool,
    crate::object::descriptor_pool::DescriptorSet => DescriptorSet,
    crate::object::descriptor_update::UpdateTemplate => DescriptorUpdateTemplate,
    crate::object::pipeline_layout::PipelineLayout => PipelineLayout,
    crate::object::shader_module::ShaderModule => ShaderModule,
    crate::object::pipeline_cache::PipelineCache => PipelineCache,
    crate::object::pipeline::Pipeline => Pipeline,
    crate::object::render_pass::RenderPass => RenderPass,
    crate::object::render_pass::Framebuffer => Framebuffer,
    crate::object::query::QueryPool => QueryPool,
    crate::object::sync::Event => Event,
    crate::object::sync::Fence => Fence,
    crate::object::sync::Semaphore => Semaphore,
    crate::object::private_data::PrivateDataSlot => PrivateDataSlot,
    crate::command::CommandPool => CommandPool,
}
