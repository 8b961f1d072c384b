//! A test as users of the crate write it: wgpu clears a texture on Grus.

use std::task::{Context, Poll, Waker};

/// Clears a texture of 64×64 texels and returns its bytes.
fn clear(device: &wgpu::Device, queue: &wgpu::Queue) -> Vec<u8> {
    let size = wgpu::Extent3d { width: 64, height: 64, depth_or_array_layers: 1 };
    let texture = device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size,
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba8Unorm,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 64 * 64 * 4,
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let view = texture.create_view(&Default::default());
    let mut encoder = device.create_command_encoder(&Default::default());
    let color = wgpu::Color { r: 1.0, g: 0.5, b: 0.25, a: 1.0 };
    drop(encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view: &view,
            depth_slice: None,
            resolve_target: None,
            ops: wgpu::Operations { load: wgpu::LoadOp::Clear(color), store: wgpu::StoreOp::Store },
        })],
        ..Default::default()
    }));
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(64 * 4), rows_per_image: None };
    encoder.copy_texture_to_buffer(
        texture.as_image_copy(),
        wgpu::TexelCopyBufferInfo { buffer: &buffer, layout },
        size,
    );
    queue.submit([encoder.finish()]);
    buffer.map_async(wgpu::MapMode::Read, .., |_| ());
    device.poll(wgpu::PollType::wait_indefinitely()).expect("the queue ends");
    buffer.get_mapped_range(..).expect("a mapped buffer").to_vec()
}

#[test]
fn wgpu_clears_a_texture_on_grus() {
    // SAFETY: this is the only test of the program, and no other thread uses the environment.
    let manifest = unsafe { grus_vulkan::use_for_tests() }.expect("the driver");
    assert!(manifest.is_file());
    // A second call finds the first one's choice.
    // SAFETY: a later call only reads what the first has stored.
    assert_eq!(unsafe { grus_vulkan::use_for_tests() }.expect("the driver"), manifest);
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::VULKAN,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let adapters = wait(instance.enumerate_adapters(wgpu::Backends::VULKAN));
    let names: Vec<String> = adapters.iter().map(|adapter| adapter.get_info().name).collect();
    assert!(names.len() == 1 && names[0].starts_with("Grus"), "{names:?}");
    let (device, queue) = wait(adapters[0].request_device(&Default::default())).expect("a device");
    let pixels = clear(&device, &queue);
    assert_eq!(pixels.len(), 64 * 64 * 4);
    assert!(pixels.chunks(4).all(|pixel| pixel == [255, 128, 64, 255]), "{:?}", &pixels[..4]);
}

/// Waits for a future, which wgpu completes at once on native systems.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("wgpu completes requests at once"),
    }
}
