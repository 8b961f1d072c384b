//! Memory that is mapped twice: what a command writes through a resource at one address is read through another at the other.

use super::transfer;
use crate::caps::ExtensionSet;
use crate::device::Device;
use crate::device::instance::Instance;
use crate::object::buffer::Buffer;
use crate::object::image::Image;
use crate::object::memory::Memory;
use crate::os::backing::Backing;
use ash::vk;
use base::mem::DeviceMemory;
use std::sync::Arc;

const SIZE: u64 = 1 << 20;
/// An offset at which a part can be mapped.
const OFFSET: u64 = 3 << 16;

fn buffer(memory: &Arc<Memory>) -> Buffer {
    let buffer = Buffer::new(&vk::BufferCreateInfo::default().size(memory.size()), 0);
    buffer.bind(memory.clone(), 0).expect("bound");
    buffer
}

fn image(memory: &Arc<Memory>) -> Image {
    let info = vk::ImageCreateInfo::default()
        .image_type(vk::ImageType::TYPE_2D)
        .format(vk::Format::D32_SFLOAT_S8_UINT)
        .extent(vk::Extent3D { width: 64, height: 64, depth: 1 })
        .mip_levels(1)
        .array_layers(1)
        .samples(vk::SampleCountFlags::TYPE_1);
    let image = Image::new(&info, 0).expect("image");
    image.bind(memory.clone(), 0).expect("bound");
    image
}

fn word(buffer: &Buffer, offset: u64) -> u32 {
    let mut bytes = [0; 4];
    // SAFETY: the buffer's memory.
    assert!(unsafe { DeviceMemory::new(buffer.memory()) }.read(offset, &mut bytes));
    u32::from_le_bytes(bytes)
}

#[test]
fn commands_see_one_memory_at_two_addresses() {
    let instance = Instance::new(vk::API_VERSION_1_3, ExtensionSet::default());
    let physical = instance.physical();
    let device = Device::new(instance.clone(), &physical, ExtensionSet::default());
    let one = Arc::new(Memory::allocate(&device.heap, SIZE, Backing::Memfd).expect("memory"));
    let two = Arc::new(one.map_again(0, SIZE).expect("a second mapping"));
    let part = Arc::new(one.map_again(OFFSET, 1 << 16).expect("a part"));
    let [first, second, third] = [&one, &two, &part].map(buffer);

    transfer::fill_buffer(&device, first.range(0, vk::WHOLE_SIZE), 0x1234_5678);
    assert_eq!([word(&second, SIZE - 4), word(&third, 0)], [0x1234_5678; 2]);
    transfer::update_buffer(third.range(8, 4), &7u32.to_le_bytes());
    assert_eq!([word(&first, OFFSET + 8), word(&second, OFFSET + 8)], [7; 2]);
    // From one address to the other, other bytes of the same memory.
    transfer::copy_buffer(&device, third.range(8, 4), second.range(0, 4));
    assert_eq!(word(&first, 0), 7);

    // Aspects are planes; a clear at one address, a copy from the other.
    let [at_one, at_part] = [&one, &part].map(image);
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
    device.queue.stop(&device);
    device.compiler.stop();
}
