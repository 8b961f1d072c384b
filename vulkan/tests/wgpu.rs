//! A test as users of the crate write it: wgpu draws a triangle on Grus. `.ci/clean-roots` runs
//! this file in a new crate, too.

use std::task::{Context, Poll, Waker};

/// Width and height of the texture.
const SIZE: u32 = 64;

/// A green triangle with its right angle in the upper left corner. Its longest edge contains no
/// centre of a texel.
const SHADERS: &str = "
@vertex fn vertex(@builtin(vertex_index) index: u32) -> @builtin(position) vec4f {
    let corner = vec2f(f32(index & 1u), f32(index >> 1u));
    return vec4f(-1.0 + 1.01 * corner.x, 1.0 - 1.01 * corner.y, 0.0, 1.0);
}
@fragment fn fragment() -> @location(0) vec4f {
    return vec4f(0.0, 1.0, 0.0, 1.0);
}";

fn pipeline(device: &wgpu::Device, format: wgpu::TextureFormat) -> wgpu::RenderPipeline {
    let source = wgpu::ShaderSource::Wgsl(SHADERS.into());
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
    let (entry_point, compilation_options) = (None, wgpu::PipelineCompilationOptions::default());
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: None,
        layout: None,
        vertex: wgpu::VertexState {
            module: &module,
            entry_point,
            compilation_options: compilation_options.clone(),
            buffers: &[],
        },
        primitive: Default::default(),
        depth_stencil: None,
        multisample: Default::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point,
            compilation_options,
            targets: &[Some(format.into())],
        }),
        multiview_mask: None,
        cache: None,
    })
}

/// Clears a texture, draws the triangle, and returns the texels.
fn draw(device: &wgpu::Device, queue: &wgpu::Queue) -> Vec<u8> {
    let format = wgpu::TextureFormat::Rgba8Unorm;
    let size = wgpu::Extent3d { width: SIZE, height: SIZE, depth_or_array_layers: 1 };
    let texture = device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size,
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: u64::from(SIZE * SIZE * 4),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let view = texture.create_view(&Default::default());
    let mut encoder = device.create_command_encoder(&Default::default());
    let color = wgpu::Color { r: 1.0, g: 0.5, b: 0.25, a: 1.0 };
    let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view: &view,
            depth_slice: None,
            resolve_target: None,
            ops: wgpu::Operations { load: wgpu::LoadOp::Clear(color), store: wgpu::StoreOp::Store },
        })],
        ..Default::default()
    });
    pass.set_pipeline(&pipeline(device, format));
    pass.draw(0..3, 0..1);
    drop(pass);
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(SIZE * 4), rows_per_image: None };
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
fn wgpu_draws_a_triangle_on_grus() {
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
    let texels = draw(&device, &queue);
    assert_eq!(texels.len() as u32, SIZE * SIZE * 4);
    for (texel, at) in texels.chunks(4).zip(0u32..) {
        let (x, y) = (at % SIZE, at / SIZE);
        // The legs have half the texture's length, and the centres of the diagonal x + y = 31 are
        // inside, because the legs are one percent longer.
        let expected = if x + y < SIZE / 2 { [0, 255, 0, 255] } else { [255, 128, 64, 255] };
        assert_eq!(texel, expected, "({x}, {y})");
    }
}

/// Waits for a future, which wgpu completes at once on native systems.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("wgpu completes requests at once"),
    }
}
