//! Device memory: pieces of the heap's arena, which the kernel commits when they are touched and
//! which count against the heap; or imported memory of the application.
//!
//! Bytes behind memory of the arena may be accessed (`base::abi::ADDRESS_TAIL`). There are none
//! behind memory of the application. No access to a resource needs any, except those that a
//! descriptor guarantees, and these lie inside (`buffer::has_guaranteed_bytes`).
//!
//! Memory is referenced by its handle and by the bindings of living buffers and images, and by
//! nothing else that persists. vkDestroyBuffer and vkDestroyImage end the binding
//! ([`Binding::end`]), even if recorded commands or views still refer to the resource. The last of
//! these references releases the memory ("Device Memory" of the specification, vkFreeMemory), as
//! soon as no submission that had begun before executes ([`super::execution`]).

pub use super::heap::Heap;
use super::heap::HeapReservation;
use super::host_memory::HostMemory;
use super::sparse_range::SparseRange;
use crate::fallible;
use crate::os::arena::{AddressRequest, Arena, Piece};
use crate::os::backing::Backing;
use crate::os::descriptor::{ExportAttributes, MemoryHandleKind, OwnedHandle, RawHandle};
use ash::vk;
use base::mem::MemoryRange;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// Object behind a `VkDeviceMemory`.
pub struct Memory {
    storage: MemoryStorage,
    /// Sparse resources that were bound to the memory: they show its pages, and must not do so
    /// after it is freed.
    bound: Mutex<Vec<Weak<SparseRange>>>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        for range in self.bound.get_mut().drain(..).filter_map(|range| range.upgrade()) {
            range.remove_memory(std::ptr::from_ref(&self.storage) as usize);
        }
        if let MemoryStorage::Arena(allocation) = self.take() {
            // This comes before the check for executing submissions, so that later ones find no
            // live address in the memory.
            allocation.piece.mark_dead();
            let heap = allocation.reserved.heap.clone();
            heap.executions.retire(allocation);
        }
    }
}

enum MemoryStorage {
    Arena(Allocation),
    /// Memory of the application, which the application keeps valid as long as this object lives.
    Host(HostMemory),
    /// No memory: [`Memory::take`] has handed it over because the object is being dropped.
    Released,
}

/// Memory of a heap.
struct Allocation {
    // This field is dropped first, because memory that counts as free can be allocated.
    piece: Piece,
    reserved: HeapReservation,
}

impl Memory {
    /// Allocates `size` bytes of zeros. Fails with VK_ERROR_OUT_OF_DEVICE_MEMORY, or with
    /// VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS if the requested addresses are not available.
    pub fn allocate(
        heap: &Arc<Heap>,
        size: u64,
        backing: Backing,
        addresses: AddressRequest,
    ) -> Result<Memory, vk::Result> {
        Memory::allocate_with(heap, size, |arena, bytes| {
            arena.allocate(bytes, backing, addresses).ok_or(addresses.failure())
        })
    }

    /// Allocates `size` bytes of zeros that can be exported. Fails as [`Memory::allocate`] does.
    pub fn allocate_for_export(
        heap: &Arc<Heap>,
        size: u64,
        attributes: &ExportAttributes,
        addresses: AddressRequest,
    ) -> Result<Memory, vk::Result> {
        Memory::allocate_with(heap, size, |arena, bytes| {
            arena.allocate_for_export(bytes, attributes, addresses).ok_or(addresses.failure())
        })
    }

    /// Imports `size` bytes that [`Memory::export`] of this process or another one exported, or
    /// that another driver exported. The handle is duplicated. Fails with
    /// VK_ERROR_INVALID_EXTERNAL_HANDLE if it does not have this number of bytes.
    pub fn import(
        heap: &Arc<Heap>,
        size: u64,
        handle: RawHandle,
        kind: MemoryHandleKind,
        addresses: AddressRequest,
    ) -> Result<Memory, vk::Result> {
        let invalid = vk::Result::ERROR_INVALID_EXTERNAL_HANDLE;
        Memory::allocate_with(heap, size, |arena, bytes| arena.import(handle, kind, bytes, addresses).ok_or(invalid))
    }

    fn at(storage: MemoryStorage) -> Memory {
        Memory { storage, bound: Mutex::default() }
    }

    /// Takes the memory out of an object that is being dropped.
    fn take(&mut self) -> MemoryStorage {
        std::mem::replace(&mut self.storage, MemoryStorage::Released)
    }

    /// Releases the memory without waiting for executing submissions: the caller knows that none
    /// uses it.
    pub fn release(mut self) {
        drop(self.take());
    }

    fn allocate_with(
        heap: &Arc<Heap>,
        size: u64,
        storage: impl FnOnce(&Arc<Arena>, usize) -> Result<Piece, vk::Result>,
    ) -> Result<Memory, vk::Result> {
        let out = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        let reserved = heap.reserve(size).filter(|_| size != 0).ok_or(out)?;
        let bytes = usize::try_from(size).map_err(|_| out)?;
        let piece = storage(heap.arena().ok_or(out)?, bytes)?;
        Ok(Memory::at(MemoryStorage::Arena(Allocation { piece, reserved })))
    }

    /// Creates memory of the application, which may be read and written as long as the object
    /// lives.
    pub fn from_host(heap: &Arc<Heap>, range: MemoryRange) -> Memory {
        Memory::at(MemoryStorage::Host(HostMemory::new(&heap.host_ranges, range)))
    }

    /// Returns a handle of the memory, which was allocated for export. Fails with
    /// VK_ERROR_TOO_MANY_OBJECTS if the process may have no more handles, or if the memory is not
    /// of that kind.
    pub fn export(&self, kind: MemoryHandleKind) -> Result<OwnedHandle, vk::Result> {
        let handle = match &self.storage {
            MemoryStorage::Arena(allocation) => allocation.piece.export(kind),
            MemoryStorage::Host(_) | MemoryStorage::Released => None,
        };
        handle.ok_or(vk::Result::ERROR_TOO_MANY_OBJECTS)
    }

    /// Returns true if `memoryTypeBits` of sparse resources has the type of the memory.
    pub fn supports_sparse(&self) -> bool {
        matches!(&self.storage, MemoryStorage::Arena(allocation) if allocation.piece.is_shared())
    }

    /// Maps the bytes from `offset` on in some granules of a sparse resource, until it is bound to
    /// other bytes or this memory is freed. Fails with VK_ERROR_OUT_OF_HOST_MEMORY. Fails with
    /// VK_ERROR_OUT_OF_DEVICE_MEMORY if the bytes are not inside, if sparse resources cannot use
    /// the memory's type, or if the kernel refuses (a process may have some 65,000 mappings).
    pub fn map_into(
        &self,
        range: &Arc<SparseRange>,
        granules: std::ops::Range<usize>,
        offset: u64,
    ) -> Result<usize, vk::Result> {
        let out = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        let MemoryStorage::Arena(Allocation { piece, .. }) = &self.storage else { return Err(out) };
        let mut bound = self.bound.lock();
        if !bound.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(range))) {
            bound.retain(|known| known.strong_count() > 0);
            fallible::push(&mut bound, Arc::downgrade(range))?;
        }
        let shown = range.piece().bind(granules, piece, usize::try_from(offset).map_err(|_| out)?);
        if shown { Ok(std::ptr::from_ref(&self.storage) as usize) } else { Err(out) }
    }

    /// Returns all bytes.
    fn all(&self) -> MemoryRange {
        match &self.storage {
            MemoryStorage::Arena(allocation) => allocation.piece.range(),
            MemoryStorage::Host(memory) => memory.range(),
            MemoryStorage::Released => MemoryRange::NULL,
        }
    }

    /// Notes that the handle is destroyed: a request for its capture address gets the addresses.
    pub fn allow_address_reuse(&self) {
        if let MemoryStorage::Arena(allocation) = &self.storage {
            allocation.piece.allow_address_reuse();
        }
    }

    /// Returns `opaqueCaptureAddress`, the address of the first byte.
    pub fn address(&self) -> u64 {
        self.all().address as u64
    }

    /// Returns `allocationSize` in bytes.
    pub fn size(&self) -> u64 {
        self.all().size
    }

    /// Returns `bytes` bytes at `offset` if they are inside.
    pub fn range(&self, offset: u64, bytes: u64) -> Option<MemoryRange> {
        self.all().exact(offset, bytes)
    }
}

/// Memory of a resource. It is set once and lasts until the resource's handle is destroyed.
pub struct Binding {
    range: MemoryRange,
    /// True after the resource's handle has been destroyed.
    ended: AtomicBool,
    target: Mutex<Option<BindingTarget>>,
}

/// Object that a binding keeps alive.
enum BindingTarget {
    Memory { _memory: Arc<Memory> },
    Sparse(Arc<SparseRange>),
}

impl Binding {
    /// Binds `bytes` bytes at `offset`; fails with VK_ERROR_OUT_OF_DEVICE_MEMORY if they are not
    /// inside the memory.
    pub fn new(memory: Arc<Memory>, offset: u64, bytes: u64) -> Result<Binding, vk::Result> {
        let range = memory.range(offset, bytes).ok_or(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)?;
        Ok(Binding::at(range, BindingTarget::Memory { _memory: memory }))
    }

    /// Binds `bytes` bytes of addresses whose memory can be exchanged. Fails as [`Heap::sparse`]
    /// does.
    pub fn sparse(heap: &Arc<Heap>, bytes: u64, addresses: AddressRequest) -> Result<Binding, vk::Result> {
        let sparse = SparseRange::new(heap, bytes, addresses)?;
        let range = sparse.piece().range();
        Ok(Binding::at(range, BindingTarget::Sparse(sparse)))
    }

    fn at(range: MemoryRange, target: BindingTarget) -> Binding {
        Binding { range, ended: AtomicBool::new(false), target: Mutex::new(Some(target)) }
    }

    /// Ends the binding because the resource's handle is destroyed. From now on there are no bytes,
    /// and the memory is not referenced any more. A submission that has begun before may use the
    /// bytes until it ends.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
        let target = self.target.lock().take();
        if let Some(BindingTarget::Sparse(range)) = target {
            SparseRange::end(range);
        }
    }

    /// Returns the bytes, until the resource's handle has been destroyed.
    pub fn range(&self) -> Option<MemoryRange> {
        (!self.ended.load(Ordering::Acquire)).then_some(self.range)
    }

    /// Returns the addresses of a sparse resource.
    pub fn as_sparse(&self) -> Option<Arc<SparseRange>> {
        match &*self.target.lock() {
            Some(BindingTarget::Sparse(range)) => Some(range.clone()),
            Some(BindingTarget::Memory { .. }) | None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_memory_holds_resources_up_to_its_end() {
        let mut bytes = [0u8; 256];
        let heap = Arc::new(Heap::default());
        let range = MemoryRange { address: bytes.as_mut_ptr(), size: 256 };
        let memory = || Arc::new(Memory::from_host(&heap, range));
        let bound = [(0, 256), (64, 192), (0, 257), (256, 1), (0, u64::MAX), (u64::MAX, 64)]
            .map(|(offset, size)| Binding::new(memory(), offset, size).is_ok());
        assert_eq!(bound, [true, true, false, false, false, false]);
        assert_eq!(memory().export(MemoryHandleKind::Opaque).err(), Some(vk::Result::ERROR_TOO_MANY_OBJECTS));
    }
}
