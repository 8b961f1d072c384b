//! The machine: threads, memory, families of queues.

#![forbid(unsafe_code)]

use crate::os::arena::Arena;
use crate::os::environment::number;
use crate::os::memory_limits::{addresses_left, control_groups, data_left, memory_available, physical_memory};
use ash::vk;
use std::sync::OnceLock;

/// Returns the number of threads that work uses: `GRUS_THREADS`, else what affinity and the
/// cgroup's quota allow.
pub fn thread_count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| {
        let configured = number("GRUS_THREADS").filter(|n| *n > 0).map(|n| n.min(1024) as usize);
        configured.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()))
    })
}

/// Returns the number of bytes of the memory heap: `GRUS_HEAP_MB`, else three quarters of the
/// machine's memory (or of the cgroup's limit). If the process's address space or data are limited,
/// it is at most half of what remains. The result is an amount that an arena can provide.
pub fn heap_size() -> u64 {
    static SIZE: OnceLock<u64> = OnceLock::new();
    *SIZE.get_or_init(|| {
        let configured = number("GRUS_HEAP_MB").filter(|n| *n > 0).map(|n| n.saturating_mul(1 << 20));
        let wanted = configured.unwrap_or_else(|| machine_memory() / 4 * 3);
        let in_addresses = addresses_left().map_or(u64::MAX, |left| Arena::heap_bytes_for(left / 2));
        let in_data = data_left().map_or(u64::MAX, |left| left / 2);
        (wanted.min(in_addresses).min(in_data) & !0xf_ffff).clamp(1 << 20, 1 << 46)
    })
}

fn machine_memory() -> u64 {
    physical_memory().unwrap_or(1 << 30).min(control_groups().unwrap_or(u64::MAX))
}

/// Returns `heapBudget`: what is allocated plus what the machine has left, at most the size of the
/// heap.
pub fn heap_budget(used: u64) -> u64 {
    heap_size().min(used.saturating_add(memory_available().unwrap_or(u64::MAX)))
}

/// Bits of the memory types: the one that is not sparse comes before the other.
pub const MEMORY_TYPES: u32 = 0b11;
/// Index of the type of memory that can be mapped twice, to which sparse resources are bound. Its
/// pages cost more on the first access (`os::pages`), so it comes last: an application that takes
/// the first suitable type does not pay for it.
pub const SPARSE_MEMORY_TYPE: u32 = 1;

/// Returns the answer of vkGetPhysicalDeviceMemoryProperties: one heap, two types with all
/// properties.
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

/// Answer of vkGetPhysicalDeviceQueueFamilyProperties. One family supports everything. One for
/// compute and one for transfers stand beside it, because applications look there for queues that
/// run concurrently with the first.
///
/// Binding sparse memory is a system call that any queue's thread can make; on a queue of its own
/// it does not wait for drawing. Each family has one queue more than engines are known to request,
/// because an unused queue costs nothing.
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

    /// Checks the families that engines look for: one that supports everything comes first, then
    /// one without graphics, and one without compute too.
    #[test]
    fn queue_families_can_be_distinguished_by_their_flags() {
        use vk::QueueFlags as Q;
        let flags = QUEUE_FAMILIES.map(|family| family.queue_flags & (Q::GRAPHICS | Q::COMPUTE | Q::TRANSFER));
        assert_eq!(flags, [Q::GRAPHICS | Q::COMPUTE | Q::TRANSFER, Q::COMPUTE | Q::TRANSFER, Q::TRANSFER]);
    }
}
