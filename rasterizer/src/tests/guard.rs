//! Draws with buffers and attachments at the ends of mapped memory (`test_support::guard`), for all
//! formats: an access beyond them ends the test's process.

use super::*;
use base::format::features;
use base::mem::ImageMemory;
use test_support::guard::{Guarded, SIDES, formats};

#[base::code_fn]
unsafe extern "code" fn copy_eight(_: *const ShaderContext, batch: *mut BatchHeader) {
    // SAFETY: the stage is called with a `VertexBatch` of 12 slots in and out, and 8 lanes.
    unsafe {
        let b = &*batch.cast::<VertexBatch>();
        core::ptr::copy_nonoverlapping(b.inputs, b.outputs, b.count.next_multiple_of(8) as usize * 12);
    }
}

/// Returns the vertex stage with chunks of four or eight lanes.
fn vertices_of(lanes: u32) -> CompiledStage {
    let four = vertex_stage();
    if lanes == 4 { four } else { stage(StageSpecificInfo::Vertex, copy_eight, 8, (*four.info.interface).clone()) }
}

/// Returns an attachment of a level of an image.
fn attachment(image: &ImageMemory, level: u32) -> Option<Attachment> {
    let desc = image.layout.desc;
    let slices = desc.dim == Dim::D3;
    let layers = if slices { (desc.extent[2] >> level).max(1) } else { desc.layers };
    Some(Attachment { image: image.clone(), format: desc.format, level, base_layer: 0, layers, slices })
}

/// Returns random positions in front of the viewer, mostly on the screen.
fn corners(random: &mut Rng, count: u32) -> Vec<V> {
    let mut at = |scale: f32| random.unit() * scale;
    (0..count).map(|_| v(at(1.6), at(1.6), 0.5 + at(0.4), [at(1.0), at(1.0), at(2.0), at(1.0)])).collect()
}

fn random_state(random: &mut Rng, extent: [u32; 2], format: Format) -> DrawState {
    use Topology::{LineStrip, PointList, TriangleList, TriangleStrip};
    let topology = [TriangleList, TriangleList, TriangleStrip, LineStrip, PointList][random.below(5) as usize];
    let mut s = state(topology, extent[0], extent[1]);
    s.pixel.depth_test = random.below(4) != 0;
    s.pixel.depth_write = random.below(3) != 0;
    s.pixel.depth_compare = CompareOp::ALL[random.below(8) as usize];
    let blends = format.info().image_features & features::COLOR_ATTACHMENT_BLEND != 0;
    match random.below(5) {
        0 if blends => s.pixel.blend[0] = ADDITIVE,
        1 => s.pixel.blend[0].write_mask = random.below(16) as u8,
        2 if format.info().name.contains("INT") || format.info().name.contains("UNORM") => {
            (s.pixel.logic_op_enable, s.pixel.logic_op) = (true, LogicOp::ALL[random.below(16) as usize]);
        }
        _ => {}
    }
    s.line_mode = [LineMode::Rectangular, LineMode::Bresenham, LineMode::Smooth][random.below(3) as usize];
    s.line_width = 1.0 + random.below(5) as f32;
    if random.below(4) == 0 {
        let op = |n: u32| [StencilOp::Replace, StencilOp::Invert, StencilOp::IncrementAndWrap][n as usize % 3];
        let (fail, pass, depth_fail) = (op(random.next()), op(random.next()), op(random.next()));
        let compare = CompareOp::ALL[random.below(8) as usize];
        (s.pixel.stencil_test, s.pixel.stencil) = (true, [StencilOps { fail, pass, depth_fail, compare }; 2]);
        s.pixel_values.stencil = [StencilValues { compare_mask: 255, write_mask: 255, reference: 7 }; 2];
    }
    s
}

#[test]
fn attachments_of_all_formats_are_not_left() {
    let random = &mut Rng(0x1357_9bdf_0246);
    let colors: Vec<Format> = formats(|row| row.image_features & features::COLOR_ATTACHMENT != 0).collect();
    let depths: Vec<Format> = formats(|row| row.image_features & features::DEPTH_STENCIL_ATTACHMENT != 0).collect();
    assert!(colors.len() > 30 && depths.len() >= 4, "{} {}", colors.len(), depths.len());
    let sizes = [1, 2, 3, 5, 6, 7, 13, 31, 65, 70];
    for round in 0..colors.len() * 8 {
        let format = colors[round % colors.len()];
        let depth_format = depths[round % depths.len()];
        let side = SIDES[round / colors.len() % 2];
        let samples = if random.below(3) == 0 { random.pick(&[2, 4, 4, 8, 16]) } else { 1 };
        let volume = samples == 1 && random.below(6) == 0;
        let pick = |random: &mut Rng| sizes[random.below(sizes.len() as u32) as usize];
        let (w, h, layers) = (pick(random), pick(random), 1 + random.below(3));
        let levels = if samples == 1 { 1 + u32::ilog2(w.max(h)).min(2) } else { 1 };
        let level = random.below(levels);
        let (dim, extent, color_layers) =
            if volume { (Dim::D3, [w, h, layers << level], 1) } else { (Dim::D2, [w, h, 1], layers) };
        let desc = ImageDesc { format, dim, extent, levels, layers: color_layers, samples };
        let (_color, color) = Guarded::image(desc, side, random);
        let desc = ImageDesc { format: depth_format, dim: Dim::D2, extent: [w, h, 1], levels, layers, samples };
        let (_depth, depth) = Guarded::image(desc, side, random);
        let size = [w, h].map(|n| (n >> level).max(1));
        let area = [0, 0, size[0], size[1]];
        // The area and layers of the targets are larger than the attachments, so that they must be
        // clipped.
        let more = area.map(|n| if n == 0 { 0 } else { n + random.below(3) });
        let mut t = RenderTargets { samples, layers: layers + 1, area: more, ..RenderTargets::default() };
        t.color[0] = attachment(&color, level);
        t.depth = attachment(&depth, level).filter(|_| depth_format.has_depth());
        t.stencil = attachment(&depth, level).filter(|_| depth_format.has_stencil());
        let engine = Engine::new(1);
        let mut pass = engine.begin_rendering(t);
        pass.clear_color(0, [random.next(), 2, 3, 4], area, 0, layers);
        if round % 2 == 0 {
            pass.clear_depth_stencil(Some(0.5), Some(3), area, 0, layers);
        }
        for _ in 0..6 {
            let vertices = corners(random, 12);
            // The vertices' second extra component selects a layer, which may be the last one.
            let layer = random.below(layers);
            let vertices: Vec<V> =
                vertices.into_iter().map(|v| V { extra: [9.0, f32::from_bits(layer), 0.0, 1.0], ..v }).collect();
            let buffer = Guarded::of(&vertices, side);
            let mut d = draw(random_state(random, size, format), &vertices);
            d.vertex_buffers[0] = buffer.range().into();
            pass.draw(d);
            pass.flush();
        }
        let corner = [size[0] - 1, size[1] - 1, 9, 9];
        pass.clear_color(0, [1; 4], corner, layers - 1, 9);
        pass.clear_depth_stencil(Some(1.0), Some(1), corner, layers - 1, 9);
        pass.end();
    }
}

#[test]
fn vertex_and_index_buffers_are_not_left() {
    let random = &mut Rng(0xfeed_0bad_cafe);
    let all: Vec<Format> = formats(|row| row.buffer_features & features::VERTEX_BUFFER != 0).collect();
    assert!(all.len() > 30, "{}", all.len());
    let image = Image::new(R32F, 16, 16, 1, 1);
    for round in 0..all.len() * 12 {
        let (format, side) = (all[round % all.len()], SIDES[round / all.len() % 2]);
        let bytes = u32::from(format.info().block_bytes);
        let count = 1 + random.below(20);
        let (stride, offset) = ([0, bytes, bytes + 3][random.below(3) as usize], random.below(5));
        // The buffer has exactly the bytes of all vertices, or a few bytes less.
        let size = (offset + stride * (count - 1) + bytes).saturating_sub([0, 0, 1, 7][random.below(4) as usize]);
        let attributes = Guarded::random(size as usize, side, random);
        let vertices = Guarded::of(&corners(random, count), side);
        let index_bytes = [1u32, 2, 4][random.below(3) as usize];
        let indices: Vec<u8> = (0..count)
            .flat_map(|_| {
                random.below(count + 1).to_le_bytes().into_iter().take(index_bytes as usize).collect::<Vec<_>>()
            })
            .collect();
        let indices = Guarded::of(&indices[random.below(3).min(count) as usize..], side);
        let mut s = state(Topology::TriangleStrip, 16, 16);
        s.attributes[1] = VertexAttribute { location: 1, binding: 1, format, offset };
        s.primitive_restart = random.below(2) == 0;
        let per_instance = random.below(3) == 0;
        let divisor = random.below(3);
        s.bindings.push(VertexBinding { binding: 1, stride, per_instance, divisor });
        let mut d = draw(s, &[]);
        let fragment = d.stages.fragment().cloned();
        d.stages = stages(vertices_of([4, 8][round % 2]), fragment);
        d.vertex_buffers = [vertices.range().into(), attributes.range().into()][..].into();
        d.counts.count = count + random.below(3);
        d.counts.instances = 1 + random.below(3);
        d.counts.first = random.below(3);
        if random.below(3) != 0 {
            d.counts.vertex_offset = random.below(5) as i32 - 2;
            d.index_buffer = Some(IndexBuffer { range: indices.range(), before: 0, index_bytes, restart: None });
        }
        render(1, targets(&image, None), [d]);
    }
}
