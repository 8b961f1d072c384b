//! Tests of memory that is mapped twice: data that a command writes through a resource at one
//! address is read through another resource at the other address.

use super::transfer;
use crate::caps::ExtensionSet;
use crate::device::instance::Instance;
use crate::device::{Device, QueueRequest};
use crate::object::buffer::Buffer;
use crate::object::image::Image;
use crate::object::memory::{Heap, Memory};
use crate::object::sparse::{SPARSE_BLOCK, SparseBind, SparseRange};
use crate::os::arena::AddressRequest;
use crate::os::backing::Backing;
use ash::vk;
use base::mem::DeviceMemory;
use std::sync::Arc;

const SIZE: u64 = 1 << 20;
/// An offset, in bytes, at which a part of the memory can be mapped.
const OFFSET: u64 = 3 << 16;

/// Creates a sparse buffer that shows some bytes of the memory at addresses of its own.
fn buffer(heap: &Arc<Heap>, memory: &Arc<Memory>, offset: u64, bytes: u64) -> Buffer {
    let flags = vk::BufferCreateFlags::SPARSE_BINDING;
    let buffer = Buffer::new(&vk::BufferCreateInfo::default().flags(flags).size(bytes), 0);
    buffer.reserve_addresses(heap).expect("addresses");
    bind(&buffer.sparse().expect("sparse"), memory, offset, bytes);
    buffer
}

fn bind(range: &Arc<SparseRange>, memory: &Arc<Memory>, offset: u64, bytes: u64) {
    SparseBind { range: range.clone(), offset: 0, bytes, memory: Some((memory.clone(), offset)) }
        .execute()
        .expect("bound");
}

fn image(heap: &Arc<Heap>, memory: &Arc<Memory>, offset: u64) -> Image {
    let info = vk::ImageCreateInfo::default()
        .flags(vk::ImageCreateFlags::SPARSE_BINDING)
        .image_type(vk::ImageType::TYPE_2D)
        .format(vk::Format::D32_SFLOAT_S8_UINT)
        .extent(vk::Extent3D { width: 64, height: 64, depth: 1 })
        .mip_levels(1)
        .array_layers(1)
        .samples(vk::SampleCountFlags::TYPE_1);
    let image = Image::new(&info).expect("image");
    image.reserve_addresses(heap).expect("addresses");
    bind(&image.sparse().expect("sparse"), memory, offset, image.layout.size);
    image
}

fn word(buffer: &Buffer, offset: u64) -> u32 {
    let mut bytes = [0; 4];
    // SAFETY: the range is the buffer's memory, which lives.
    assert!(unsafe { DeviceMemory::new(buffer.memory()) }.read(offset, &mut bytes));
    u32::from_le_bytes(bytes)
}

#[test]
fn commands_see_one_memory_at_two_addresses() {
    let instance = Instance::new(vk::API_VERSION_1_3, ExtensionSet::default(), None);
    let physical = instance.physical();
    let device = Device::new(
        instance.clone(),
        &physical,
        ExtensionSet::default(),
        &[QueueRequest { family: 0, flags: Default::default(), count: 1 }],
    )
    .expect("device");
    let one = Arc::new(Memory::allocate(&device.heap, SIZE, Backing::Memfd, AddressRequest::Any).expect("memory"));
    let [first, second, third] =
        [(0, SIZE), (0, SIZE), (OFFSET, 1 << 16)].map(|(offset, bytes)| buffer(&device.heap, &one, offset, bytes));

    transfer::fill_buffer(&device, first.range(0, vk::WHOLE_SIZE), 0x1234_5678);
    assert_eq!([word(&second, SIZE - 4), word(&third, 0)], [0x1234_5678; 2]);
    transfer::update_buffer(third.range(8, 4), &7u32.to_le_bytes());
    assert_eq!([word(&first, OFFSET + 8), word(&second, OFFSET + 8)], [7; 2]);
    // This copies from one address to the other, between other bytes of the same memory.
    transfer::copy_buffer(&device, &[(third.range(8, 4), second.range(0, 4))]);
    assert_eq!(word(&first, 0), 7);

    // Aspects are planes: this clears at one address and copies from the other.
    let [at_one, at_part] = [0, OFFSET].map(|offset| image(&device.heap, &one, offset));
    let both = vk::ImageAspectFlags::DEPTH | vk::ImageAspectFlags::STENCIL;
    let range = vk::ImageSubresourceRange { aspect_mask: both, level_count: 1, layer_count: 1, ..Default::default() };
    let value = vk::ClearDepthStencilValue { depth: 0.25, stencil: 9 };
    transfer::clear_depth_stencil_image(&device, &at_part.memory().expect("bound"), value, &range);
    assert_eq!([word(&second, OFFSET), word(&second, OFFSET + 64 * 64 * 4)], [0.25f32.to_bits(), 0x0909_0909]);
    let region = vk::BufferImageCopy {
        image_subresource: vk::ImageSubresourceLayers {
            aspect_mask: vk::ImageAspectFlags::STENCIL,
            layer_count: 1,
            ..Default::default()
        },
        image_extent: vk::Extent3D { width: 64, height: 64, depth: 1 },
        ..Default::default()
    };
    let to = second.range(1 << 19, vk::WHOLE_SIZE);
    transfer::copy_image_to_buffer(&device, &at_part.memory().expect("bound"), to, &region);
    transfer::copy_buffer_to_image(&device, to, &at_one.memory().expect("bound"), &region);
    assert_eq!(word(&second, 64 * 64 * 4 + 4092), 0x0909_0909);
    device.stop();
}

/// Returns a byte of a sparse resource.
fn byte(range: &SparseRange, offset: u64) -> u8 {
    let mut out = [0];
    // SAFETY: the range is the sparse piece's, which lives.
    assert!(unsafe { DeviceMemory::new(range.piece().range()) }.read(offset, &mut out));
    out[0]
}

#[test]
fn sparse_resources_show_what_was_bound_last_and_nothing_that_was_freed() {
    let heap = Arc::new(Heap::default());
    let memory = |value: u8| {
        let memory =
            Arc::new(Memory::allocate(&heap, 4 * SPARSE_BLOCK, Backing::Memfd, AddressRequest::Any).expect("memory"));
        for block in 0..4 {
            let range = memory.range(block * SPARSE_BLOCK, 1).expect("inside");
            // SAFETY: the range is the memory's, which lives.
            assert!(unsafe { DeviceMemory::new(range) }.write(0, &[value + block as u8]));
        }
        memory
    };
    let (a, b) = (memory(10), memory(20));
    let range = SparseRange::new(&heap, 8 * SPARSE_BLOCK, AddressRequest::Any).expect("addresses");
    let bind = |first: u64, count: u64, memory: Option<(&Arc<Memory>, u64)>| {
        let memory = memory.map(|(memory, block)| (memory.clone(), block * SPARSE_BLOCK));
        let (offset, bytes) = (first * SPARSE_BLOCK, count * SPARSE_BLOCK);
        SparseBind { range: range.clone(), offset, bytes, memory }.execute().expect("bound");
    };
    let bytes = |blocks: [u64; 4]| blocks.map(|block| byte(&range, block * SPARSE_BLOCK));
    bind(0, 4, Some((&a, 0)));
    bind(4, 4, Some((&a, 0)));
    assert_eq!(bytes([0, 3, 4, 7]), [10, 13, 10, 13]);
    bind(3, 2, Some((&b, 2)));
    bind(1, 1, None);
    assert_eq!(bytes([0, 2, 3, 4]), [10, 12, 22, 23]);
    drop(a);
    assert_eq!(bytes([3, 4, 3, 4]), [22, 23, 22, 23]);
    for (block, was) in [(0, 10), (2, 12), (5, 11), (7, 13)] {
        assert_ne!(byte(&range, block * SPARSE_BLOCK), was);
    }
}
