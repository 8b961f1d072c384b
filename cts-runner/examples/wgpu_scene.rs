//! A program that uses the published `wgpu` crate: compute, a textured and depth-tested draw with
//! mipmaps, and read-back.
//!
//! It writes the compute results and then the picture (RGBA, 256×256) to the file that its argument
//! names. `VK_ICD_FILENAMES` selects the driver.

mod wgpu_common;

use std::error::Error;
use wgpu::*;
use wgpu_common::{adapter, entry, read, wait};

const RESULTS: u32 = 4096;
const SIZE: u32 = 256;
const TEXTURE: u32 = 128;
const LEVELS: u32 = 8;
const STRIPS: u32 = 12;
const COLOR: TextureFormat = TextureFormat::Rgba8Unorm;
const DEPTH: TextureFormat = TextureFormat::Depth32Float;

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::args_os().nth(1).ok_or("usage: wgpu_scene FILE")?;
    let adapter = adapter()?;
    let (device, queue) = wait(adapter.request_device(&DeviceDescriptor::default()))?;
    let module = device.create_shader_module(include_wgsl!("wgpu_scene.wgsl"));
    let results = compute(&device, &queue, &module);
    let texture = mipmapped_texture(&device, &queue, &module);
    let target = draw(&device, &queue, &module, &texture, &results);
    let size = u64::from(RESULTS) * 4;
    let mut bytes = read(&device, &queue, size, |encoder, to| encoder.copy_buffer_to_buffer(&results, 0, to, 0, size))?;
    bytes.extend(read(&device, &queue, u64::from(SIZE * SIZE) * 4, |encoder, to| {
        let layout = TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(SIZE * 4), rows_per_image: None };
        let to = TexelCopyBufferInfo { buffer: to, layout };
        encoder.copy_texture_to_buffer(target.as_image_copy(), to, target.size());
    })?);
    std::fs::write(out, bytes)?;
    Ok(())
}

fn buffer(device: &Device, size: u32, usage: BufferUsages) -> Buffer {
    device.create_buffer(&BufferDescriptor { label: None, size: size.into(), usage, mapped_at_creation: false })
}

fn compute(device: &Device, queue: &Queue, module: &ShaderModule) -> Buffer {
    let seeds = buffer(device, RESULTS * 4, BufferUsages::STORAGE | BufferUsages::COPY_DST);
    let results = buffer(device, RESULTS * 4, BufferUsages::STORAGE | BufferUsages::COPY_SRC);
    let values: Vec<u8> = (0..RESULTS).flat_map(|i| i.wrapping_mul(0x9E37_79B9).to_le_bytes()).collect();
    queue.write_buffer(&seeds, 0, &values);
    let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
        label: None,
        layout: None,
        module,
        entry_point: Some("simulate"),
        compilation_options: PipelineCompilationOptions::default(),
        cache: None,
    });
    let group = device.create_bind_group(&BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[entry(0, seeds.as_entire_binding()), entry(1, results.as_entire_binding())],
    });
    let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(RESULTS / 64, 1, 1);
    }
    queue.submit([encoder.finish()]);
    results
}

fn pipeline(device: &Device, module: &ShaderModule, vertex: &str, fragment: &str, strip: bool) -> RenderPipeline {
    let topology = if strip { PrimitiveTopology::TriangleStrip } else { PrimitiveTopology::TriangleList };
    let depth = DepthStencilState {
        format: DEPTH,
        depth_write_enabled: Some(true),
        depth_compare: Some(CompareFunction::Less),
        stencil: StencilState::default(),
        bias: DepthBiasState::default(),
    };
    device.create_render_pipeline(&RenderPipelineDescriptor {
        label: None,
        layout: None,
        vertex: VertexState {
            module,
            entry_point: Some(vertex),
            compilation_options: PipelineCompilationOptions::default(),
            buffers: &[],
        },
        primitive: PrimitiveState { topology, ..PrimitiveState::default() },
        depth_stencil: strip.then_some(depth),
        multisample: MultisampleState::default(),
        fragment: Some(FragmentState {
            module,
            entry_point: Some(fragment),
            compilation_options: PipelineCompilationOptions::default(),
            targets: &[Some(COLOR.into())],
        }),
        multiview_mask: None,
        cache: None,
    })
}

fn texture(device: &Device, size: u32, levels: u32, format: TextureFormat, usage: TextureUsages) -> Texture {
    device.create_texture(&TextureDescriptor {
        label: None,
        size: Extent3d { width: size, height: size, depth_or_array_layers: 1 },
        mip_level_count: levels,
        sample_count: 1,
        dimension: TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    })
}

fn level(texture: &Texture, level: u32) -> TextureView {
    let descriptor = TextureViewDescriptor { base_mip_level: level, mip_level_count: Some(1), ..Default::default() };
    texture.create_view(&descriptor)
}

/// Makes a texture with a soft pattern. Its mip levels are similar, so differences between drivers
/// in the precision of the level of detail stay below one step of 8 bits. The mean of four texels
/// is always a whole number, so no level depends on the rounding of ties.
fn mipmapped_texture(device: &Device, queue: &Queue, module: &ShaderModule) -> Texture {
    let usage = TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST | TextureUsages::RENDER_ATTACHMENT;
    let texture = texture(device, TEXTURE, LEVELS, COLOR, usage);
    let mut texels = Vec::new();
    for y in 0..TEXTURE {
        for x in 0..TEXTURE {
            let check = ((x / 8 + y / 8) & 1) as u8 * 6;
            let wave = (x.min(TEXTURE - 1 - x) / 8) as u8 * 2;
            texels.extend([160 + check + wave, 120 + check, 90 + wave, 255]);
        }
    }
    let layout = TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(TEXTURE * 4), rows_per_image: None };
    queue.write_texture(texture.as_image_copy(), &texels, layout, texture.size());
    let pipeline = pipeline(device, module, "fill", "halve", false);
    let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
    for to in 1..LEVELS {
        let (from_view, to_view) = (level(&texture, to - 1), level(&texture, to));
        let group = device.create_bind_group(&BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[entry(0, BindingResource::TextureView(&from_view))],
        });
        let mut pass = encoder.begin_render_pass(&RenderPassDescriptor {
            color_attachments: &[Some(attachment(&to_view))],
            ..Default::default()
        });
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.draw(0..3, 0..1);
    }
    queue.submit([encoder.finish()]);
    texture
}

fn attachment(view: &TextureView) -> RenderPassColorAttachment<'_> {
    let clear = Color { r: 0.125, g: 0.25, b: 0.5, a: 1.0 };
    let ops = Operations { load: LoadOp::Clear(clear), store: StoreOp::Store };
    RenderPassColorAttachment { view, depth_slice: None, resolve_target: None, ops }
}

fn draw(device: &Device, queue: &Queue, module: &ShaderModule, texture_in: &Texture, heights: &Buffer) -> Texture {
    let target = texture(device, SIZE, 1, COLOR, TextureUsages::RENDER_ATTACHMENT | TextureUsages::COPY_SRC);
    let depth = texture(device, SIZE, 1, DEPTH, TextureUsages::RENDER_ATTACHMENT);
    let (target_view, depth_view) = (level(&target, 0), level(&depth, 0));
    let sampler = device.create_sampler(&SamplerDescriptor {
        address_mode_u: AddressMode::Repeat,
        address_mode_v: AddressMode::Repeat,
        mag_filter: FilterMode::Linear,
        min_filter: FilterMode::Linear,
        mipmap_filter: MipmapFilterMode::Linear,
        ..Default::default()
    });
    let pipeline = pipeline(device, module, "strip", "shade", true);
    let view = texture_in.create_view(&TextureViewDescriptor::default());
    let group = device.create_bind_group(&BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[
            entry(0, BindingResource::TextureView(&view)),
            entry(1, BindingResource::Sampler(&sampler)),
            entry(2, heights.as_entire_binding()),
        ],
    });
    let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_render_pass(&RenderPassDescriptor {
            color_attachments: &[Some(attachment(&target_view))],
            depth_stencil_attachment: Some(RenderPassDepthStencilAttachment {
                view: &depth_view,
                depth_ops: Some(Operations { load: LoadOp::Clear(1.0), store: StoreOp::Store }),
                stencil_ops: None,
            }),
            ..Default::default()
        });
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.draw(0..4, 0..STRIPS);
    }
    queue.submit([encoder.finish()]);
    target
}
