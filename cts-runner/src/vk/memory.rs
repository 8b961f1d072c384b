//! Buffers in mapped memory and images in device memory.

use super::error::{Context, Error, Result};
use super::gpu::{Gpu, Owned};
use ash::vk;
use std::ptr::NonNull;

/// A buffer in host-visible coherent memory, mapped for its whole life.
#[derive(Clone, Copy)]
pub struct Buffer {
    /// Vulkan handle of the buffer.
    pub handle: vk::Buffer,
    /// Size in bytes.
    pub size: usize,
    map: NonNull<u8>,
}

// SAFETY: the mapping belongs to the device, not to a thread. `Buffer` only offers copies into and
// out of it.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Copies words into the buffer. The device must not use the buffer during the call.
    pub fn write(&self, offset: usize, words: &[u32]) {
        assert!(offset + size_of_val(words) <= self.size, "write past the end of a buffer");
        // SAFETY: the range lies inside the mapping (asserted), and no submission that uses the
        // buffer is pending.
        unsafe {
            std::ptr::copy_nonoverlapping(words.as_ptr().cast(), self.map.as_ptr().add(offset), size_of_val(words))
        }
    }

    /// Copies floats into the buffer. The device must not use the buffer during the call.
    pub fn write_f32(&self, offset: usize, values: &[f32]) {
        let words: Vec<u32> = values.iter().map(|v| v.to_bits()).collect();
        self.write(offset, &words);
    }

    /// Returns a copy of the whole buffer as words. The device must not use the buffer during the
    /// call.
    pub fn read(&self) -> Vec<u32> {
        let mut words = vec![0u32; self.size / 4];
        // SAFETY: the mapping holds `size` bytes, and no submission that uses the buffer is
        // pending.
        unsafe { std::ptr::copy_nonoverlapping(self.map.as_ptr(), words.as_mut_ptr().cast(), words.len() * 4) }
        words
    }

    /// Returns a copy of the whole buffer as bytes. The device must not use the buffer during the
    /// call.
    pub fn read_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0u8; self.size];
        // SAFETY: the mapping holds `size` bytes, and no submission that uses the buffer is
        // pending.
        unsafe { std::ptr::copy_nonoverlapping(self.map.as_ptr(), bytes.as_mut_ptr(), bytes.len()) }
        bytes
    }
}

/// Parameters of an image and its view.
#[derive(Clone, Copy)]
pub struct ImageDesc {
    /// View type. The image type, the cube flag and the aspect follow from it and the format.
    pub view: vk::ImageViewType,
    /// Format of the texels.
    pub format: vk::Format,
    /// Width, height and depth in texels.
    pub extent: [u32; 3],
    /// Number of array layers.
    pub layers: u32,
    /// Number of mip levels.
    pub levels: u32,
    /// Vulkan usage flags of the image.
    pub usage: vk::ImageUsageFlags,
}

impl ImageDesc {
    /// Describes a 2D image with one layer and one level.
    pub fn d2(format: vk::Format, width: u32, height: u32, usage: vk::ImageUsageFlags) -> Self {
        let view = vk::ImageViewType::TYPE_2D;
        Self { view, format, extent: [width, height, 1], layers: 1, levels: 1, usage }
    }
}

/// An image with a view of all of it.
#[derive(Clone, Copy)]
pub struct Image {
    /// Vulkan handle of the image.
    pub handle: vk::Image,
    /// View of all levels and layers; null if the image is only used for transfers.
    pub view: vk::ImageView,
    /// Parameters from which the image was made.
    pub desc: ImageDesc,
    /// Number of samples per texel.
    pub samples: vk::SampleCountFlags,
}

impl Image {
    /// Returns the aspect of the image, which is depth or colour because the harness uses no
    /// stencil.
    pub fn aspect(&self) -> vk::ImageAspectFlags {
        aspect_of(self.desc.format)
    }

    /// Returns the range of all levels and layers.
    pub fn full_range(&self) -> vk::ImageSubresourceRange {
        vk::ImageSubresourceRange::default()
            .aspect_mask(self.aspect())
            .level_count(self.desc.levels)
            .layer_count(self.desc.layers)
    }

    /// Returns all layers of a level.
    pub fn layers_of(&self, level: u32) -> vk::ImageSubresourceLayers {
        vk::ImageSubresourceLayers::default().aspect_mask(self.aspect()).mip_level(level).layer_count(self.desc.layers)
    }

    /// Returns the size of a level in texels.
    pub fn level_extent(&self, level: u32) -> vk::Extent3D {
        let [width, height, depth] = self.desc.extent.map(|n| (n >> level).max(1));
        vk::Extent3D { width, height, depth }
    }
}

const TRANSFERS: vk::ImageUsageFlags = vk::ImageUsageFlags::from_raw(
    vk::ImageUsageFlags::TRANSFER_SRC.as_raw() | vk::ImageUsageFlags::TRANSFER_DST.as_raw(),
);

fn aspect_of(format: vk::Format) -> vk::ImageAspectFlags {
    match format {
        vk::Format::D16_UNORM | vk::Format::D32_SFLOAT | vk::Format::X8_D24_UNORM_PACK32 => vk::ImageAspectFlags::DEPTH,
        _ => vk::ImageAspectFlags::COLOR,
    }
}

impl Gpu {
    /// Makes a buffer in mapped memory that is filled with zeros.
    pub fn buffer(&self, size: usize, usage: vk::BufferUsageFlags) -> Result<Buffer> {
        let info = vk::BufferCreateInfo::default().size(size as u64).usage(usage);
        // SAFETY: `info` is valid.
        let handle = unsafe { self.device.create_buffer(&info, None) }.context("vkCreateBuffer")?;
        self.own(Owned::Buffer(handle));
        // SAFETY: `handle` is alive.
        let needs = unsafe { self.device.get_buffer_memory_requirements(handle) };
        let flags = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let addressed = usage.contains(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS);
        let memory = self.allocate(&needs, flags, addressed)?;
        // SAFETY: memory and buffer are new and fit each other. The memory is host-visible and
        // mapped once.
        let map = unsafe {
            self.device.bind_buffer_memory(handle, memory, 0).context("vkBindBufferMemory")?;
            self.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()).context("vkMapMemory")?
        };
        let map = NonNull::new(map.cast::<u8>()).ok_or_else(|| Error::Missing("a mapped pointer".into()))?;
        // SAFETY: the mapping covers at least `size` bytes.
        unsafe { map.as_ptr().write_bytes(0, size) };
        Ok(Buffer { handle, size, map })
    }

    /// Makes a buffer in device memory with a usage of `VkBufferUsageFlags2`, of which only the
    /// address is used. The device must have the features `maintenance5` and `bufferDeviceAddress`.
    pub fn addressed_buffer(&self, size: u64, usage: vk::BufferUsageFlags2KHR) -> Result<vk::Buffer> {
        let usage = usage | vk::BufferUsageFlags2KHR::SHADER_DEVICE_ADDRESS;
        let mut usage = vk::BufferUsageFlags2CreateInfoKHR::default().usage(usage);
        self.unmapped_buffer(&vk::BufferCreateInfo::default().size(size).push_next(&mut usage))
    }

    /// Makes a buffer in device memory whose address can be used. The device must have the feature
    /// `bufferDeviceAddress`.
    pub(super) fn unmapped_buffer(&self, info: &vk::BufferCreateInfo<'_>) -> Result<vk::Buffer> {
        // SAFETY: `info` is valid.
        let buffer = unsafe { self.device.create_buffer(info, None) }.context("vkCreateBuffer")?;
        self.own(Owned::Buffer(buffer));
        // SAFETY: `buffer` is alive.
        let needs = unsafe { self.device.get_buffer_memory_requirements(buffer) };
        let memory = self.allocate(&needs, vk::MemoryPropertyFlags::empty(), true)?;
        // SAFETY: memory and buffer are new and fit each other.
        unsafe { self.device.bind_buffer_memory(buffer, memory, 0) }.context("vkBindBufferMemory")?;
        Ok(buffer)
    }

    /// Returns the device address of a buffer with the usage `SHADER_DEVICE_ADDRESS`. The device
    /// must have the feature `bufferDeviceAddress`.
    pub fn address(&self, buffer: vk::Buffer) -> vk::DeviceAddress {
        let info = vk::BufferDeviceAddressInfo::default().buffer(buffer);
        // SAFETY: the buffer is alive, bound and has the usage.
        unsafe { self.device.get_buffer_device_address(&info) }
    }

    /// Makes an image in device memory and a view of all of it. Its layout is undefined.
    pub fn image(&self, desc: &ImageDesc) -> Result<Image> {
        self.image_of_samples(desc, vk::SampleCountFlags::TYPE_1)
    }

    /// Makes an image as [`Self::image`] does, with several samples per texel.
    pub fn image_of_samples(&self, desc: &ImageDesc, samples: vk::SampleCountFlags) -> Result<Image> {
        let mut image = self.bound_image(desc, samples)?;
        // An image that is only copied needs no view and must not have one.
        if desc.usage & !TRANSFERS == vk::ImageUsageFlags::empty() {
            return Ok(image);
        }
        let info = vk::ImageViewCreateInfo::default()
            .image(image.handle)
            .view_type(desc.view)
            .format(desc.format)
            .subresource_range(image.full_range());
        // SAFETY: `info` is valid and the image bound.
        image.view = unsafe { self.device.create_image_view(&info, None) }.context("vkCreateImageView")?;
        self.own(Owned::ImageView(image.view));
        Ok(image)
    }

    /// Makes an image as [`Self::image`] does but without a view, so that the caller can make a
    /// view of another kind.
    pub fn image_without_view(&self, desc: &ImageDesc) -> Result<Image> {
        self.bound_image(desc, vk::SampleCountFlags::TYPE_1)
    }

    fn bound_image(&self, desc: &ImageDesc, samples: vk::SampleCountFlags) -> Result<Image> {
        use vk::ImageViewType as V;
        let (kind, flags) = match desc.view {
            V::TYPE_1D | V::TYPE_1D_ARRAY => (vk::ImageType::TYPE_1D, vk::ImageCreateFlags::empty()),
            V::TYPE_3D => (vk::ImageType::TYPE_3D, vk::ImageCreateFlags::empty()),
            V::CUBE | V::CUBE_ARRAY => (vk::ImageType::TYPE_2D, vk::ImageCreateFlags::CUBE_COMPATIBLE),
            _ => (vk::ImageType::TYPE_2D, vk::ImageCreateFlags::empty()),
        };
        let [width, height, depth] = desc.extent;
        let info = vk::ImageCreateInfo::default()
            .flags(flags)
            .image_type(kind)
            .format(desc.format)
            .extent(vk::Extent3D { width, height, depth })
            .mip_levels(desc.levels)
            .array_layers(desc.layers)
            .samples(samples)
            .usage(desc.usage);
        // SAFETY: `info` is valid.
        let handle = unsafe { self.device.create_image(&info, None) }.context("vkCreateImage")?;
        self.own(Owned::Image(handle));
        // SAFETY: `handle` is alive.
        let needs = unsafe { self.device.get_image_memory_requirements(handle) };
        let memory = self.allocate(&needs, vk::MemoryPropertyFlags::empty(), false)?;
        // SAFETY: memory and image are new and fit each other.
        unsafe { self.device.bind_image_memory(handle, memory, 0) }.context("vkBindImageMemory")?;
        Ok(Image { handle, view: vk::ImageView::null(), desc: *desc, samples })
    }

    /// Makes a view of a texel buffer.
    pub fn texel_view(&self, buffer: &Buffer, format: vk::Format) -> Result<vk::BufferView> {
        let info = vk::BufferViewCreateInfo::default().buffer(buffer.handle).format(format).range(vk::WHOLE_SIZE);
        // SAFETY: `info` is valid and the buffer bound.
        let view = unsafe { self.device.create_buffer_view(&info, None) }.context("vkCreateBufferView")?;
        self.own(Owned::BufferView(view));
        Ok(view)
    }

    /// Makes a sampler.
    pub fn sampler(&self, info: &vk::SamplerCreateInfo<'_>) -> Result<vk::Sampler> {
        // SAFETY: `info` is valid.
        let sampler = unsafe { self.device.create_sampler(info, None) }.context("vkCreateSampler")?;
        self.own(Owned::Sampler(sampler));
        Ok(sampler)
    }

    /// Allocates memory with these properties, whose address can be used if `addressed` is true.
    fn allocate(
        &self,
        needs: &vk::MemoryRequirements,
        flags: vk::MemoryPropertyFlags,
        addressed: bool,
    ) -> Result<vk::DeviceMemory> {
        let types = self.memory_types.memory_types_as_slice();
        let fits = |(i, t): (usize, &vk::MemoryType)| {
            (needs.memory_type_bits >> i & 1 == 1 && t.property_flags.contains(flags)).then_some(i as u32)
        };
        let index = types.iter().enumerate().find_map(fits);
        let index = index.ok_or_else(|| Error::Missing(format!("a memory type with {flags:?}")))?;
        let mut address = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let mut info = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(index);
        if addressed {
            info = info.push_next(&mut address);
        }
        // SAFETY: `info` is valid.
        let memory = unsafe { self.device.allocate_memory(&info, None) }.context("vkAllocateMemory")?;
        self.own(Owned::Memory(memory));
        Ok(memory)
    }
}
