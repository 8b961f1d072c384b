//! Handles: the one place that turns them into references and back.
//!
//! A non-dispatchable handle is the address of an `Arc`'s content and owns one reference. A
//! dispatchable handle is the address of a [`Dispatchable`], whose first word belongs to the
//! loader. Names and private data of a handle are removed with it ([`remove`]).
//!
//! If the application gives an allocator, a handle's memory comes from it ([`super::allocator`])
//! from its creation to its destruction. For a dispatchable handle this is the [`Allocation`]. For
//! another one it is a [`HandleBox`] with the content's address; the handle is then the address of
//! the cell, with [`BOX_BIT`]. The content is the driver's own in any case: other objects own
//! references and may drop them when no command with the allocator runs.

use super::allocator::Callbacks;
use super::object_data;
use ash::vk::{self, Handle};
use std::alloc::Layout;
use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::Arc;

/// Value that the loader expects in the first word of a dispatchable object before it puts its own
/// pointer there.
const ICD_LOADER_MAGIC: usize = 0x01CD_C0DE;

/// Scope of an object's handle, for the application's allocator.
const OBJECT_SCOPE: vk::SystemAllocationScope = vk::SystemAllocationScope::OBJECT;

/// An object behind a non-dispatchable handle.
pub trait Object: Send + Sync + Sized + 'static {
    /// Type of the object's handles.
    type Handle: Handle + Copy;
    /// Lifetime of the handle's memory, for the application's allocator.
    const SCOPE: vk::SystemAllocationScope = OBJECT_SCOPE;
}

/// A handle in the application's memory.
#[repr(C)]
struct HandleBox {
    /// Address of the `Arc`'s content.
    object: u64,
}

/// Bit of a handle's number that marks it as a [`HandleBox`]'s address. Contents of `Arc`s never
/// have it, because counters lie before them.
const BOX_BIT: u64 = 1;

/// Makes a handle that owns one reference, as the last step of a creation. The handle is in
/// `memory`, if there is an allocator. If an allocation failed during the creation, the object is
/// dropped and an error returned.
pub fn create<T: Object>(object: Arc<T>, memory: Option<Callbacks>) -> Result<T::Handle, vk::Result> {
    crate::fallible::check()?;
    let handle_box = memory.map(|memory| allocate_box(memory, T::SCOPE)).transpose()?;
    let object = Arc::into_raw(object) as u64;
    Ok(T::Handle::from_raw(handle_box.map_or(object, |handle_box| fill_box(handle_box, object))))
}

/// Allocates a handle box, apart from the path without an allocator.
#[cold]
fn allocate_box(memory: Callbacks, scope: vk::SystemAllocationScope) -> Result<NonNull<HandleBox>, vk::Result> {
    Ok(memory.allocate(Layout::new::<HandleBox>(), scope)?.cast())
}

/// Writes an object's address to a handle box and returns its handle.
#[cold]
fn fill_box(handle_box: NonNull<HandleBox>, object: u64) -> u64 {
    // SAFETY: `handle_box` is new memory of this size and alignment.
    unsafe { handle_box.write(HandleBox { object }) };
    handle_box.as_ptr() as u64 | BOX_BIT
}

/// Returns the handle of an object that has one, if the handle is not in the application's memory;
/// otherwise the number that [`address`] returns.
pub fn raw<T>(object: &Arc<T>) -> u64 {
    Arc::as_ptr(object) as u64
}

/// Returns the number by which the driver identifies an object with any kind of handle: the address
/// of its content, or the number of a dispatchable handle. Returns 0 for null.
///
/// # Safety
/// The handle is live, or null.
pub unsafe fn address(handle: u64) -> u64 {
    if handle & BOX_BIT == 0 {
        return handle;
    }
    // SAFETY: the handle is live and marked as the address of a cell.
    unsafe { (*((handle & !BOX_BIT) as *const HandleBox)).object }
}

/// Returns the object behind a handle.
///
/// # Safety
/// `handle` is a live handle made by [`create`] for a `T`; the reference is used only while it
/// lives.
pub unsafe fn get<'a, T: Object>(handle: T::Handle) -> &'a T {
    // SAFETY: the handle is live and was made for a `T`, as the `# Safety` section demands.
    unsafe { &*(address(handle.as_raw()) as *const T) }
}

/// Returns another reference to the object behind a handle.
///
/// # Safety
/// The requirements of [`get`] hold.
pub unsafe fn share<T: Object>(handle: T::Handle) -> Arc<T> {
    // SAFETY: the handle is live and was made for a `T`; it owns a reference, so the count is at
    // least 1.
    unsafe {
        let pointer = address(handle.as_raw()) as *const T;
        Arc::increment_strong_count(pointer);
        Arc::from_raw(pointer)
    }
}

/// Returns another reference to the object behind a handle, or `None` for VK_NULL_HANDLE.
///
/// # Safety
/// The handle is null, or the requirements of [`get`] hold.
pub unsafe fn optional<T: Object>(handle: T::Handle) -> Option<Arc<T>> {
    // SAFETY: the handle is not null, so the requirements of [`get`] hold.
    (handle.as_raw() != 0).then(|| unsafe { share(handle) })
}

/// Drops the handle's reference and returns its memory to the allocator, which must be compatible
/// with the one that [`create`] had. Null is ignored.
///
/// # Safety
/// The handle is null, or the requirements of [`get`] hold; the handle is not used again.
pub unsafe fn destroy<T: Object>(handle: T::Handle, memory: Option<Callbacks>) {
    let number = handle.as_raw();
    if number != 0 {
        // SAFETY: the handle is not null, so it is live.
        let object = unsafe { address(number) };
        object_data::remove(object);
        if number & BOX_BIT != 0 {
            // SAFETY: the cell belongs to this handle, which is not used again.
            unsafe { free((number & !BOX_BIT) as *mut HandleBox, memory) };
        }
        // SAFETY: the handle owns this reference and is not used again.
        drop(unsafe { Arc::from_raw(object as *const T) });
    }
}

/// Frees memory. Without an allocator, which is invalid, it is leaked.
///
/// # Safety
/// The memory was allocated by a compatible allocator and is not used any more.
#[cold]
unsafe fn free<T>(block: *mut T, memory: Option<Callbacks>) {
    if let Some(memory) = memory {
        // SAFETY: the memory is from a compatible allocator and not used any more, as the
        // `# Safety` section demands.
        unsafe { memory.free(block.cast()) };
    }
}

/// The memory that a dispatchable handle points to.
#[repr(C)]
pub struct Dispatchable<T> {
    loader_data: usize,
    /// Allocator of objects that are made with this handle and have none of their own.
    memory: Option<Callbacks>,
    /// True if the allocation is from this allocator, or from one that is compatible.
    is_app_allocated: bool,
    object: Arc<T>,
}

/// Returns the most specific allocator for a child of `parent`: the one that its command received,
/// else the parent's.
///
/// # Safety
/// `parent` is live and was made by [`create_dispatchable`] for a `T`; the callbacks are null or
/// valid.
pub unsafe fn memory<T: DispatchableObject>(
    parent: T::Handle,
    allocator: *const vk::AllocationCallbacks<'_>,
) -> Option<Callbacks> {
    // SAFETY: `parent` is live and the callbacks are null or valid, as the `# Safety` section
    // demands.
    unsafe { Callbacks::from_raw(allocator).or_else(|| (*(parent.as_raw() as *const Dispatchable<T>)).memory) }
}

/// A [`Dispatchable`] as it is allocated. Loaders before 1.4.345 may read the first word of a
/// destroyed device's handle while another thread destroys it (`loader_get_icd_and_device`).
/// Allocators put their own pointers into the first words of freed memory, so the loader's word
/// must not be there.
#[repr(C)]
struct Allocation<T> {
    allocator_words: [usize; 2],
    dispatchable: Dispatchable<T>,
}

/// An object behind a dispatchable handle.
pub trait DispatchableObject: Send + Sync + Sized + 'static {
    /// Type of the object's handles.
    type Handle: Handle + Copy;
    /// Lifetime of the handle's memory, for the application's allocator.
    const SCOPE: vk::SystemAllocationScope = OBJECT_SCOPE;
}

/// Makes a dispatchable handle, by the rules of [`create`].
// SAFETY: (the attribute) this is code in a section of code; see
// `vk_icdNegotiateLoaderICDInterfaceVersion`.
#[unsafe(link_section = ".text_start")]
pub fn create_dispatchable<T: DispatchableObject>(
    object: Arc<T>,
    memory: Option<Callbacks>,
) -> Result<T::Handle, vk::Result> {
    crate::fallible::check()?;
    if let Some(memory) = memory {
        return app_allocated_dispatchable(object, memory);
    }
    let handle = driver_allocated_dispatchable(object, None);
    crate::fallible::check().inspect_err(|_| {
        // SAFETY: the handle was just made and not passed on.
        drop(unsafe { destroy_dispatchable::<T>(handle, None) });
    })?;
    Ok(handle)
}

/// Makes a dispatchable handle in the application's memory.
#[cold]
fn app_allocated_dispatchable<T: DispatchableObject>(
    object: Arc<T>,
    memory: Callbacks,
) -> Result<T::Handle, vk::Result> {
    let allocation = memory.allocate(Layout::new::<Allocation<T>>(), T::SCOPE)?.cast::<Allocation<T>>();
    // SAFETY: this is new memory of this size and alignment.
    unsafe { allocation.write(Allocation::new(object, Some(memory), true)) };
    Ok(handle_of(allocation.as_ptr()))
}

impl<T> Allocation<T> {
    fn new(object: Arc<T>, memory: Option<Callbacks>, is_app_allocated: bool) -> Allocation<T> {
        let dispatchable = Dispatchable { loader_data: ICD_LOADER_MAGIC, memory, is_app_allocated, object };
        Allocation { allocator_words: [0; 2], dispatchable }
    }
}

fn handle_of<T: DispatchableObject>(allocation: *mut Allocation<T>) -> T::Handle {
    T::Handle::from_raw(allocation as u64 + offset_of!(Allocation<T>, dispatchable) as u64)
}

fn driver_allocated_dispatchable<T: DispatchableObject>(object: Arc<T>, memory: Option<Callbacks>) -> T::Handle {
    handle_of(Box::into_raw(Box::new(Allocation::new(object, memory, false))))
}

/// Returns the object behind a dispatchable handle.
///
/// # Safety
/// `handle` is live and was made by [`create_dispatchable`] for a `T`; the reference is used only
/// while it lives.
pub unsafe fn dispatchable<'a, T: DispatchableObject>(handle: T::Handle) -> &'a Arc<T> {
    // SAFETY: the handle is live and was made for a `T`, as the `# Safety` section demands.
    unsafe { &(*(handle.as_raw() as *const Dispatchable<T>)).object }
}

/// Frees the memory of a dispatchable handle and returns its object; `None` for null. `allocator`
/// is an allocator that is compatible with the one that the handle was made with, if the command
/// has one.
///
/// # Safety
/// The handle is null, or the requirements of [`dispatchable`] hold; the handle is not used again.
pub unsafe fn destroy_dispatchable<T: DispatchableObject>(
    handle: T::Handle,
    allocator: Option<Callbacks>,
) -> Option<Arc<T>> {
    if handle.as_raw() == 0 {
        return None;
    }
    object_data::remove(handle.as_raw());
    let allocation = (handle.as_raw() - offset_of!(Allocation<T>, dispatchable) as u64) as *mut Allocation<T>;
    // SAFETY: the allocation was made by `Box::into_raw`, or is in the application's memory if
    // `is_app_allocated`; the handle is not used again.
    unsafe {
        if !(*allocation).dispatchable.is_app_allocated {
            return Some(Box::from_raw(allocation).dispatchable.object);
        }
        let Dispatchable { memory, object, .. } = allocation.read().dispatchable;
        free(allocation, allocator.or(memory));
        Some(object)
    }
}

/// A handle that an object of the driver owns and that is destroyed with its owner.
pub struct Owned<T: Object> {
    handle: T::Handle,
    memory: Option<Callbacks>,
}

impl<T: Object> Owned<T> {
    /// Makes a handle, as [`create`] does. With an allocator, the owner must be destroyed during a
    /// command with a compatible one.
    pub fn new(object: Arc<T>, memory: Option<Callbacks>) -> Result<Owned<T>, vk::Result> {
        create(object, memory).map(|handle| Owned { handle, memory })
    }
    /// Returns the handle.
    pub fn get(&self) -> T::Handle {
        self.handle
    }
}

impl<T: Object> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: the handle was made in `new`; the application may not use it any more when its
        // owner is destroyed.
        unsafe { destroy::<T>(self.handle, self.memory) };
    }
}

/// A dispatchable handle that an object of the driver owns. The caller must check its owner's
/// creation.
pub struct OwnedDispatchable<T: DispatchableObject>(T::Handle);

impl<T: DispatchableObject> OwnedDispatchable<T> {
    /// Makes a handle, whose children may have memory of this allocator.
    pub fn new(object: Arc<T>, memory: Option<Callbacks>) -> OwnedDispatchable<T> {
        OwnedDispatchable(driver_allocated_dispatchable(object, memory))
    }
    /// Returns the object.
    #[cfg(test)]
    pub fn object(&self) -> &Arc<T> {
        // SAFETY: the handle lives as long as its owner.
        unsafe { dispatchable::<T>(self.0) }
    }
    /// Returns the handle.
    pub fn get(&self) -> T::Handle {
        self.0
    }
}

impl<T: DispatchableObject> Drop for OwnedDispatchable<T> {
    fn drop(&mut self) {
        // SAFETY: the handle was made in `new`; the application may not use it any more when its
        // owner is destroyed.
        drop(unsafe { destroy_dispatchable::<T>(self.0, None) });
    }
}

/// Assigns handle types to objects, one line per object, in the module that has them. `in` gives
/// the lifetime of the memory if it is not that of an object.
macro_rules! objects {
    ($trait:ident: $($object:path => $handle:ident $(in $scope:ident)?),* $(,)?) => {
        $(impl $crate::ffi::handle::$trait for $object {
            type Handle = ash::vk::$handle;
            $(const SCOPE: ash::vk::SystemAllocationScope = ash::vk::SystemAllocationScope::$scope;)?
        })*
    };
}
pub(crate) use objects;
