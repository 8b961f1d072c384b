//! Handles: the one place that turns them into references and back.
//!
//! A non-dispatchable handle is the address of an `Arc`'s content and owns one reference. A dispatchable handle is the
//! address of a [`Dispatchable`], whose first word belongs to the loader. What else is known by handle ends with it
//! ([`forget`]).
//!
//! Where the application gives an allocator, a handle lies in memory of it ([`super::allocator`]) from its creation to its end: of a dispatchable one
//! the [`Allocation`], of another one a [`Cell`] with the content's address, which the handle then is the address of, with [`IN_CELL`]. The content is the
//! driver's own in any case: others own references, and may drop them when no command with the allocator runs.

use super::allocator::Callbacks;
use super::known::forget;
use ash::vk::{self, Handle};
use std::alloc::Layout;
use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::Arc;

/// What the loader expects in the first word of a dispatchable object before it puts its own pointer there.
const ICD_LOADER_MAGIC: usize = 0x01CD_C0DE;

/// What the application's allocator is told of an object's handle.
const OF_OBJECT: vk::SystemAllocationScope = vk::SystemAllocationScope::OBJECT;

/// An object behind a non-dispatchable handle.
pub trait Object: Send + Sync + Sized + 'static {
    /// Its handle type.
    type Handle: Handle + Copy;
    /// How long its memory lives.
    const SCOPE: vk::SystemAllocationScope = OF_OBJECT;
}

/// A handle in memory of the application's.
#[repr(C)]
struct Cell {
    /// The address of the `Arc`'s content.
    object: u64,
}

/// In the number of a handle: it is a [`Cell`]'s address. Contents of `Arc`s never have it, as counters lie before them.
const IN_CELL: u64 = 1;

/// Makes a handle that owns one reference; the last step of a creation. It lies in `memory`, if there is an allocator. When memory was short on the
/// way, the object goes.
pub fn create<T: Object>(object: Arc<T>, memory: Option<Callbacks>) -> Result<T::Handle, vk::Result> {
    crate::fallible::check()?;
    let cell = memory.map(|memory| new_cell(memory, T::SCOPE)).transpose()?;
    let object = Arc::into_raw(object) as u64;
    Ok(T::Handle::from_raw(cell.map_or(object, |cell| put(cell, object))))
}

/// Out of the way of who gives no allocator.
#[cold]
fn new_cell(memory: Callbacks, scope: vk::SystemAllocationScope) -> Result<NonNull<Cell>, vk::Result> {
    Ok(memory.allocate(Layout::new::<Cell>(), scope)?.cast())
}

/// A handle in a cell.
#[cold]
fn put(cell: NonNull<Cell>, object: u64) -> u64 {
    // SAFETY: new memory of this size and alignment.
    unsafe { cell.write(Cell { object }) };
    cell.as_ptr() as u64 | IN_CELL
}

/// The handle of an object that has one already, where it lies in no memory of the application's; otherwise what [`address`] says of it.
pub fn raw<T>(object: &Arc<T>) -> u64 {
    Arc::as_ptr(object) as u64
}

/// What an object is known by to the driver, whatever its handle is: the address of its content, or the number of a dispatchable handle. 0 of null.
///
/// # Safety
/// The handle is live, or null.
pub unsafe fn address(handle: u64) -> u64 {
    if handle & IN_CELL == 0 {
        return handle;
    }
    // SAFETY: the caller's promise.
    unsafe { (*((handle & !IN_CELL) as *const Cell)).object }
}

/// The object behind a handle.
///
/// # Safety
/// `handle` is a live handle made by [`create`] for a `T`; the reference is used only while it lives.
pub unsafe fn get<'a, T: Object>(handle: T::Handle) -> &'a T {
    // SAFETY: the caller's promise.
    unsafe { &*(address(handle.as_raw()) as *const T) }
}

/// Another reference to the object behind a handle.
///
/// # Safety
/// As [`get`].
pub unsafe fn share<T: Object>(handle: T::Handle) -> Arc<T> {
    // SAFETY: the caller's promise; the handle owns a reference, so the count is at least 1.
    unsafe {
        let pointer = address(handle.as_raw()) as *const T;
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

/// Gives the handle's reference up, and its memory to the allocator, which is compatible with the one that [`create`] had; null is ignored.
///
/// # Safety
/// As [`get`], or null; the handle is not used again.
pub unsafe fn destroy<T: Object>(handle: T::Handle, memory: Option<Callbacks>) {
    let number = handle.as_raw();
    if number != 0 {
        // SAFETY: the caller's promise.
        let object = unsafe { address(number) };
        forget(object);
        if number & IN_CELL != 0 {
            // SAFETY: the cell of this handle, which ends here.
            unsafe { give_back((number & !IN_CELL) as *mut Cell, memory) };
        }
        // SAFETY: the handle's own reference.
        drop(unsafe { Arc::from_raw(object as *const T) });
    }
}

/// Gives memory back. Without an allocator, which is invalid, it stays.
///
/// # Safety
/// It was allocated by a compatible allocator and is used no more.
#[cold]
unsafe fn give_back<T>(block: *mut T, memory: Option<Callbacks>) {
    if let Some(memory) = memory {
        // SAFETY: the caller's promise.
        unsafe { memory.free(block.cast()) };
    }
}

/// The memory a dispatchable handle points to.
#[repr(C)]
pub struct Dispatchable<T> {
    loader_data: usize,
    /// The allocator of what is made with this handle and has none of its own.
    memory: Option<Callbacks>,
    /// The allocation is from it, or from one that is compatible.
    is_lent: bool,
    object: Arc<T>,
}

/// The most specific allocator that there is for a child of `parent`: what its command is given, else the parent's.
///
/// # Safety
/// `parent` is live and was made by [`create_dispatchable`] for a `T`; the callbacks are null or valid.
pub unsafe fn memory<T: DispatchableObject>(
    parent: T::Handle,
    given: *const vk::AllocationCallbacks<'_>,
) -> Option<Callbacks> {
    // SAFETY: the caller's promise.
    unsafe { Callbacks::of(given).or_else(|| (*(parent.as_raw() as *const Dispatchable<T>)).memory) }
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
    /// How long its memory lives.
    const SCOPE: vk::SystemAllocationScope = OF_OBJECT;
}

/// Makes a dispatchable handle; otherwise as [`create`].
// SAFETY: (the attribute) code, in a section of code; see `vk_icdNegotiateLoaderICDInterfaceVersion`.
#[unsafe(link_section = ".text_start")]
pub fn create_dispatchable<T: DispatchableObject>(
    object: Arc<T>,
    memory: Option<Callbacks>,
) -> Result<T::Handle, vk::Result> {
    crate::fallible::check()?;
    if let Some(memory) = memory {
        return lent_dispatchable(object, memory);
    }
    let handle = inner_dispatchable(object, None);
    crate::fallible::check().inspect_err(|_| {
        // SAFETY: just made, and nobody has it.
        drop(unsafe { destroy_dispatchable::<T>(handle, None) });
    })?;
    Ok(handle)
}

/// In memory of the application's.
#[cold]
fn lent_dispatchable<T: DispatchableObject>(object: Arc<T>, memory: Callbacks) -> Result<T::Handle, vk::Result> {
    let allocation = memory.allocate(Layout::new::<Allocation<T>>(), T::SCOPE)?.cast::<Allocation<T>>();
    // SAFETY: new memory of this size and alignment.
    unsafe { allocation.write(Allocation::new(object, Some(memory), true)) };
    Ok(handle_of(allocation.as_ptr()))
}

impl<T> Allocation<T> {
    fn new(object: Arc<T>, memory: Option<Callbacks>, is_lent: bool) -> Allocation<T> {
        let dispatchable = Dispatchable { loader_data: ICD_LOADER_MAGIC, memory, is_lent, object };
        Allocation { for_the_allocator: [0; 2], dispatchable }
    }
}

fn handle_of<T: DispatchableObject>(allocation: *mut Allocation<T>) -> T::Handle {
    T::Handle::from_raw(allocation as u64 + offset_of!(Allocation<T>, dispatchable) as u64)
}

fn inner_dispatchable<T: DispatchableObject>(object: Arc<T>, memory: Option<Callbacks>) -> T::Handle {
    handle_of(Box::into_raw(Box::new(Allocation::new(object, memory, false))))
}

/// The object behind a dispatchable handle.
///
/// # Safety
/// `handle` is live and was made by [`create_dispatchable`] for a `T`; the reference is used only while it lives.
pub unsafe fn dispatchable<'a, T: DispatchableObject>(handle: T::Handle) -> &'a Arc<T> {
    // SAFETY: the caller's promise.
    unsafe { &(*(handle.as_raw() as *const Dispatchable<T>)).object }
}

/// Frees the memory of a dispatchable handle and returns its object; `None` for null. `given`: an allocator that is compatible with the one that it was made with,
/// if the command has one.
///
/// # Safety
/// As [`dispatchable`], or null; the handle is not used again.
pub unsafe fn destroy_dispatchable<T: DispatchableObject>(
    handle: T::Handle,
    given: Option<Callbacks>,
) -> Option<Arc<T>> {
    if handle.as_raw() == 0 {
        return None;
    }
    forget(handle.as_raw());
    let allocation = (handle.as_raw() - offset_of!(Allocation<T>, dispatchable) as u64) as *mut Allocation<T>;
    // SAFETY: (all here) made by `Box::into_raw`, or in memory of the application's, as it says.
    unsafe {
        if !(*allocation).dispatchable.is_lent {
            return Some(Box::from_raw(allocation).dispatchable.object);
        }
        let Dispatchable { memory, object, .. } = allocation.read().dispatchable;
        give_back(allocation, given.or(memory));
        Some(object)
    }
}

/// A handle that an object of the driver owns: it ends with the owner.
pub struct Owned<T: Object> {
    handle: T::Handle,
    memory: Option<Callbacks>,
}

impl<T: Object> Owned<T> {
    /// As [`create`]. With an allocator, the owner ends during a command with a compatible one.
    pub fn new(object: Arc<T>, memory: Option<Callbacks>) -> Result<Owned<T>, vk::Result> {
        create(object, memory).map(|handle| Owned { handle, memory })
    }
    /// The handle.
    pub fn get(&self) -> T::Handle {
        self.handle
    }
    /// The object.
    pub fn object(&self) -> &T {
        // SAFETY: the handle lives as long as its owner.
        unsafe { get::<T>(self.handle) }
    }
}

impl<T: Object> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: made in `new`; the application may not use it any more when its owner is destroyed.
        unsafe { destroy::<T>(self.handle, self.memory) };
    }
}

/// As [`Owned`], dispatchable. The creation of its owner is to be checked.
pub struct OwnedDispatchable<T: DispatchableObject>(T::Handle);

impl<T: DispatchableObject> OwnedDispatchable<T> {
    /// A handle, whose children may have memory of this allocator.
    pub fn new(object: Arc<T>, memory: Option<Callbacks>) -> OwnedDispatchable<T> {
        OwnedDispatchable(inner_dispatchable(object, memory))
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
        drop(unsafe { destroy_dispatchable::<T>(self.0, None) });
    }
}

/// One line per object, in the module that has them: which handle type is which, and how long its memory lives where that is not as long as an object.
macro_rules! objects {
    ($trait:ident: $($object:path => $handle:ident $(in $scope:ident)?),* $(,)?) => {
        $(impl $crate::ffi::handle::$trait for $object {
            type Handle = ash::vk::$handle;
            $(const SCOPE: ash::vk::SystemAllocationScope = ash::vk::SystemAllocationScope::$scope;)?
        })*
    };
}
pub(crate) use objects;
