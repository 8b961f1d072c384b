//! Device memory: pieces of the heap's arena, committed by the kernel when touched, counted against the heap; or memory of the application's.
//!
//! Behind memory of the arena there are bytes that may be touched (`base::abi::ADDRESS_TAIL`). Behind
//! memory of the application there are none: no access to a resource needs any, except those that a
//! descriptor promises, and these lie inside (`buffer::has_promised_bytes`).
//!
//! Memory is referenced by its handle and by the bindings of living buffers and images, and by
//! nothing else that stays: vkDestroyBuffer and vkDestroyImage end the binding ([`Binding::end`]),
//! whatever still refers to the resource (recorded commands, views). The last of these references
//! gives the memory back ("Device Memory" of the specification, vkFreeMemory), as soon as no
//! submission that had begun before executes ([`super::execution`]).

pub use super::heap::Heap;
use super::heap::Reserved;
use super::host_memory::HostMemory;
use super::sparse_range::SparseRange;
use crate::fallible;
use crate::os::arena::{Addresses, Arena, Piece};
use crate::os::backing::{Backing, Given};
use ash::vk;
use base::mem::MemoryRange;
use parking_lot::Mutex;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// `VkDeviceMemory`.
pub struct Memory {
    place: Place,
    /// Sparse resources that have been bound to it: they show its pages, which are to go when it goes.
    bound: Mutex<Vec<Weak<SparseRange>>>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        for range in self.bound.get_mut().drain(..).filter_map(|range| range.upgrade()) {
            range.forget(std::ptr::from_ref(&self.place) as usize);
        }
        if let Place::Arena(allocation) = self.take() {
            // Before the question which submissions execute: later ones find no live address in it.
            allocation.piece.hide();
            let heap = allocation.reserved.heap.clone();
            heap.executions.retire(allocation);
        }
    }
}

enum Place {
    Arena(Allocation),
    /// The application's, which keeps it alive as long as this.
    Host(HostMemory),
    /// No memory: [`Memory::take`] has handed it over because the object is being dropped.
    Released,
}

/// Memory of a heap.
struct Allocation {
    // Goes first: what is counted as free can be allocated.
    piece: Piece,
    reserved: Reserved,
}

impl Memory {
    /// Reserves `size` bytes of zeros. VK_ERROR_OUT_OF_DEVICE_MEMORY; VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS: not at the addresses that are asked for.
    pub fn allocate(heap: &Arc<Heap>, size: u64, backing: Backing, addresses: Addresses) -> Result<Memory, vk::Result> {
        Memory::place(heap, size, |arena, bytes| arena.allocate(bytes, backing, addresses).ok_or(addresses.refusal()))
    }

    /// `size` bytes that [`Memory::export`] gave away, here or in another process, or another driver's; the descriptor is duplicated.
    /// VK_ERROR_INVALID_EXTERNAL_HANDLE: it is not one of so many bytes.
    pub fn import(
        heap: &Arc<Heap>,
        size: u64,
        fd: i32,
        kind: Given,
        addresses: Addresses,
    ) -> Result<Memory, vk::Result> {
        let invalid = vk::Result::ERROR_INVALID_EXTERNAL_HANDLE;
        Memory::place(heap, size, |arena, bytes| arena.import(fd, kind, bytes, addresses).ok_or(invalid))
    }

    fn at(place: Place) -> Memory {
        Memory { place, bound: Mutex::default() }
    }

    /// Takes the memory out of an object that is being dropped.
    fn take(&mut self) -> Place {
        std::mem::replace(&mut self.place, Place::Released)
    }

    /// Gives the memory back without waiting for submissions that execute: the caller knows that
    /// none uses it.
    pub fn release(mut self) {
        drop(self.take());
    }

    fn place(
        heap: &Arc<Heap>,
        size: u64,
        place: impl FnOnce(&Arc<Arena>, usize) -> Result<Piece, vk::Result>,
    ) -> Result<Memory, vk::Result> {
        let out = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        let reserved = heap.reserve(size).filter(|_| size != 0).ok_or(out)?;
        let bytes = usize::try_from(size).map_err(|_| out)?;
        let piece = place(heap.arena().ok_or(out)?, bytes)?;
        Ok(Memory::at(Place::Arena(Allocation { piece, reserved })))
    }

    /// Memory of the application's: it may be read and written as long as this lives.
    pub fn of_host(heap: &Arc<Heap>, range: MemoryRange) -> Memory {
        Memory::at(Place::Host(HostMemory::new(heap, range)))
    }

    /// A descriptor of the memory, which was allocated to be given away. VK_ERROR_TOO_MANY_OBJECTS: the process may have no more of them;
    /// or the memory is not of that kind.
    pub fn export(&self, kind: Given) -> Result<File, vk::Result> {
        let file = match &self.place {
            Place::Arena(allocation) => allocation.piece.export(kind),
            Place::Host(_) | Place::Released => None,
        };
        file.ok_or(vk::Result::ERROR_TOO_MANY_OBJECTS)
    }

    /// Shows the bytes from `offset` on in some granules of a sparse resource, until it is bound to others or this is freed.
    /// VK_ERROR_OUT_OF_HOST_MEMORY; VK_ERROR_OUT_OF_DEVICE_MEMORY: they are not inside, the memory is of a type that sparse resources have not, or the kernel
    /// refuses (a process may have some 65,000 mappings).
    pub fn show_in(
        &self,
        range: &Arc<SparseRange>,
        granules: std::ops::Range<usize>,
        offset: u64,
    ) -> Result<usize, vk::Result> {
        let out = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        let Place::Arena(Allocation { piece, .. }) = &self.place else { return Err(out) };
        let mut bound = self.bound.lock();
        if !bound.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(range))) {
            bound.retain(|known| known.strong_count() > 0);
            fallible::push(&mut bound, Arc::downgrade(range))?;
        }
        let shown = range.piece().bind(granules, piece, usize::try_from(offset).map_err(|_| out)?);
        if shown { Ok(std::ptr::from_ref(&self.place) as usize) } else { Err(out) }
    }

    /// All bytes.
    fn all(&self) -> MemoryRange {
        match &self.place {
            Place::Arena(allocation) => allocation.piece.range(),
            Place::Host(memory) => memory.range(),
            Place::Released => MemoryRange::NULL,
        }
    }

    /// Its handle ends: who asks for its addresses by a capture gets them.
    pub fn leave(&self) {
        if let Place::Arena(allocation) = &self.place {
            allocation.piece.leave();
        }
    }

    /// `opaqueCaptureAddress`: where it lies.
    pub fn address(&self) -> u64 {
        self.all().address as u64
    }

    /// `allocationSize`.
    pub fn size(&self) -> u64 {
        self.all().size
    }

    /// `bytes` bytes at `offset`, if they are inside.
    pub fn range(&self, offset: u64, bytes: u64) -> Option<MemoryRange> {
        self.all().exact(offset, bytes)
    }
}

/// Where a resource lies, set once, until the resource's handle ends.
pub struct Binding {
    range: MemoryRange,
    /// The resource's handle has ended.
    ended: AtomicBool,
    keeps: Mutex<Option<Keeps>>,
}

/// What a binding keeps alive.
enum Keeps {
    Memory { _memory: Arc<Memory> },
    Sparse(Arc<SparseRange>),
}

impl Binding {
    /// Binds `bytes` bytes at `offset`; VK_ERROR_OUT_OF_DEVICE_MEMORY when they are not inside it.
    pub fn new(memory: Arc<Memory>, offset: u64, bytes: u64) -> Result<Binding, vk::Result> {
        let range = memory.range(offset, bytes).ok_or(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)?;
        Ok(Binding::at(range, Keeps::Memory { _memory: memory }))
    }

    /// `bytes` bytes of addresses whose memory comes and goes. As [`Heap::sparse`].
    pub fn sparse(heap: &Arc<Heap>, bytes: u64, addresses: Addresses) -> Result<Binding, vk::Result> {
        let sparse = SparseRange::new(heap, bytes, addresses)?;
        let range = sparse.piece().range();
        Ok(Binding::at(range, Keeps::Sparse(sparse)))
    }

    fn at(range: MemoryRange, keeps: Keeps) -> Binding {
        Binding { range, ended: AtomicBool::new(false), keeps: Mutex::new(Some(keeps)) }
    }

    /// The resource's handle ends: from now on there are no bytes, and the memory is referenced no
    /// more. A submission that has begun before may use the bytes until it ends.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
        let keeps = self.keeps.lock().take();
        if let Some(Keeps::Sparse(range)) = keeps {
            SparseRange::end(range);
        }
    }

    /// The bytes, until the resource's handle has ended.
    pub fn range(&self) -> Option<MemoryRange> {
        (!self.ended.load(Ordering::Acquire)).then_some(self.range)
    }

    /// Of a sparse resource.
    pub fn as_sparse(&self) -> Option<Arc<SparseRange>> {
        match &*self.keeps.lock() {
            Some(Keeps::Sparse(range)) => Some(range.clone()),
            Some(Keeps::Memory { .. }) | None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_the_host_holds_resources_up_to_its_end() {
        let mut bytes = [0u8; 256];
        let heap = Arc::new(Heap::default());
        let range = MemoryRange { address: bytes.as_mut_ptr(), size: 256 };
        let memory = || Arc::new(Memory::of_host(&heap, range));
        let bound = [(0, 256), (64, 192), (0, 257), (256, 1), (0, u64::MAX), (u64::MAX, 64)]
            .map(|(offset, size)| Binding::new(memory(), offset, size).is_ok());
        assert_eq!(bound, [true, true, false, false, false, false]);
        assert_eq!(memory().export(Given::File).err(), Some(vk::Result::ERROR_TOO_MANY_OBJECTS));
    }
}
