//! Handles: the one place that turns them into references and back.
//!
//! A non-dispatchable handle is the address of an `Arc`'s content and owns one reference. A dispatchable handle is the
//! address of a [`Dispatchable`], whose first word belongs to the loader. What else is known by handle ends with it
//! ([`forget`]).

use super::known::forget;
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
// SAFETY: (the attribute) code, in a section of code; see `vk_icdNegotiateLoaderICDInterfaceVersion`.
#[unsafe(link_section = ".text_start")]
pub fn create_dispatchable<T: DispatchableObject>(object: Arc<T>) -> Result<T::Handle, vk::Result> {
    crate::fallible::check()?;
    let handle = inner_dispatchable(object);
    crate::fallible::check().inspect_err(|_| {
        // SAFETY: just made, and nobody has it.
        drop(unsafe { destroy_dispatchable::<T>(handle) });
    })?;
    Ok(handle)
}

fn inner_dispatchable<T: DispatchableObject>(object: Arc<T>) -> T::Handle {
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

/// A handle that an object of the driver owns: it ends with the owner.
pub struct Owned<T: Object>(T::Handle);

impl<T: Object> Owned<T> {
    /// As [`create`].
    pub fn new(object: Arc<T>) -> Result<Owned<T>, vk::Result> {
        create(object).map(Owned)
    }
    /// The handle.
    pub fn get(&self) -> T::Handle {
        self.0
    }
}

impl<T: Object> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: made in `new`; the application may not use it any more when its owner is destroyed.
        unsafe { destroy::<T>(self.0) };
    }
}

/// As [`Owned`], dispatchable. The creation of its owner is to be checked.
pub struct OwnedDispatchable<T: DispatchableObject>(T::Handle);

impl<T: DispatchableObject> OwnedDispatchable<T> {
    /// A handle.
    pub fn new(object: Arc<T>) -> OwnedDispatchable<T> {
        OwnedDispatchable(inner_dispatchable(object))
    }
    /// The object.
    #[cfg(test)]
    pub fn object(&self) -> &Arc<T> {
        // SAFETY: the handle lives as long as its owner.
        unsafe { dispatchable::<T>(self.0) }
    }
    /// The handle.
    pub fn get(&self) -> T::Handle {
        self.0
    }
}

impl<T: DispatchableObject> Drop for OwnedDispatchable<T> {
    fn drop(&mut self) {
        // SAFETY: as for [`Owned`].
        drop(unsafe { destroy_dispatchable::<T>(self.0) });
    }
}

/// One line per object, in the module that has them: which handle type is which.
macro_rules! objects {
    ($trait:ident: $($object:path => $handle:ident),* $(,)?) => {
        $(impl $crate::ffi::handle::$trait for $object { type Handle = ash::vk::$handle; })*
    };
}
pub(crate) use objects;
