//! The machine: threads, memory, families of queues.

use crate::os::arena::Arena;
use crate::os::environment::number;
use crate::os::memory_limits::{addresses_left, control_groups, data_left, memory_available};
use ash::vk;
use std::sync::OnceLock;

/// Threads that work uses: `GRUS_THREADS`, else what affinity and the cgroup's quota leave.
pub fn thread_count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| {
        let asked = number("GRUS_THREADS").filter(|n| *n > 0).map(|n| n.min(1024) as usize);
        asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()))
    })
}

/// Bytes of the memory heap: `GRUS_HEAP_MB`, else three quarters of the machine's memory (or of the cgroup's limit); but no more than half of
/// what the process may have, where its address space or its data are limited. What an arena can give is what is told here.
pub fn heap_size() -> u64 {
    static SIZE: OnceLock<u64> = OnceLock::new();
    *SIZE.get_or_init(|| {
        let asked = number("GRUS_HEAP_MB").filter(|n| *n > 0).map(|n| n.saturating_mul(1 << 20));
        let wanted = asked.unwrap_or_else(|| machine_memory() / 4 * 3);
        let in_addresses = addresses_left().map_or(u64::MAX, |left| Arena::holds(left / 2));
        let in_data = data_left().map_or(u64::MAX, |left| left / 2);
        (wanted.min(in_addresses).min(in_data) & !0xf_ffff).clamp(1 << 20, 1 << 46)
    })
}

fn machine_memory() -> u64 {
    // SAFETY: sysconf only reads.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let physical = if pages > 0 && page > 0 { pages as u64 * page as u64 } else { 1 << 30 };
    physical.min(control_groups().unwrap_or(u64::MAX))
}

/// `heapBudget`: what is allocated, and what the machine has left, as far as the heap goes.
pub fn heap_budget(used: u64) -> u64 {
    heap_size().min(used.saturating_add(memory_available().unwrap_or(u64::MAX)))
}

/// Memory types as bits: of what is not sparse, the first before the second.
pub const MEMORY_TYPES: u32 = 0b11;
/// The type of memory that can be mapped twice: what sparse resources are bound to. Its pages are dearer to touch first (`os::backing`), so it comes last, and who takes
/// the first type that fits pays nothing for it.
pub const SPARSE_MEMORY_TYPE: u32 = 1;

/// Answer of vkGetPhysicalDeviceMemoryProperties: one heap, two types that have everything.
pub fn memory_properties() -> vk::PhysicalDeviceMemoryProperties {
    use vk::MemoryPropertyFlags as Flags;
    let mut properties = vk::PhysicalDeviceMemoryProperties {
        memory_type_count: MEMORY_TYPES.count_ones(),
        memory_heap_count: 1,
        ..Default::default()
    };
    properties.memory_types[..2].fill(vk::MemoryType {
        property_flags: Flags::DEVICE_LOCAL | Flags::HOST_VISIBLE | Flags::HOST_COHERENT | Flags::HOST_CACHED,
        heap_index: 0,
    });
    properties.memory_heaps[0] = vk::MemoryHeap { size: heap_size(), flags: vk::MemoryHeapFlags::DEVICE_LOCAL };
    properties
}

const fn family(flags: &[vk::QueueFlags], queue_count: u32) -> vk::QueueFamilyProperties {
    let (mut all, mut i) = (0, 0);
    while i < flags.len() {
        all |= flags[i].as_raw();
        i += 1;
    }
    vk::QueueFamilyProperties {
        queue_flags: vk::QueueFlags::from_raw(all),
        queue_count,
        timestamp_valid_bits: 64,
        min_image_transfer_granularity: vk::Extent3D { width: 1, height: 1, depth: 1 },
    }
}

/// Answer of vkGetPhysicalDeviceQueueFamilyProperties: one family does everything; one computes beside it and one only transfers, where applications look for
/// queues that run concurrently with the first. To bind sparse memory is a call of the system's, which any queue's thread makes; on a queue of its own it waits for no drawing.
/// There is a queue more of each than engines are known to ask for: one that is not used costs nothing.
pub const QUEUE_FAMILIES: [vk::QueueFamilyProperties; 3] = {
    use vk::QueueFlags as Q;
    [
        family(&[Q::GRAPHICS, Q::COMPUTE, Q::TRANSFER, Q::SPARSE_BINDING], 4),
        family(&[Q::COMPUTE, Q::TRANSFER, Q::SPARSE_BINDING], 4),
        family(&[Q::TRANSFER, Q::SPARSE_BINDING], 2),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_memory_types() {
        let memory = memory_properties();
        let flags = memory.memory_types[0].property_flags;
        assert!(flags.contains(vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT));
        assert!(flags.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL));
        assert_eq!(
            (memory.memory_type_count, memory.memory_types[SPARSE_MEMORY_TYPE as usize].property_flags),
            (2, flags)
        );
        assert!(memory.memory_heaps[0].size >= 1 << 20 && thread_count() >= 1);
    }

    /// What engines look for: a family that does everything comes first, one without graphics, and one without computing too.
    #[test]
    fn families_are_told_apart_by_what_they_do() {
        use vk::QueueFlags as Q;
        let flags = QUEUE_FAMILIES.map(|family| family.queue_flags & (Q::GRAPHICS | Q::COMPUTE | Q::TRANSFER));
        assert_eq!(flags, [Q::GRAPHICS | Q::COMPUTE | Q::TRANSFER, Q::COMPUTE | Q::TRANSFER, Q::TRANSFER]);
    }
}
