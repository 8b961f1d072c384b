//! Transform feedback: the vertex stage runs as a kernel, and nothing is rasterized.

use super::super::check::{Random, as_floats, close};
use super::super::figure::{Amount, Unit};
use super::super::recording::{Recording, SetupResult, need};
use super::super::workload::{Family, Spec, spirv};
use super::target::{Target, float_vertices};
use crate::vk::{Gpu, ProgramDesc, Recorder, Stream};
use ash::vk;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[Spec::quick("graphics/transform-feedback", Family::Graphics, transform_feedback)];

const VERTICES: u32 = 1 << 20;
/// Number of floats of a vertex, both of the input and of the captured output.
const FLOATS: usize = 8;

fn transform_feedback(gpu: &Gpu) -> SetupResult {
    need(gpu.optional.transform_feedback.into(), "transformFeedback")?;
    let target = Target::covered(gpu, 16)?;
    // The values are chosen so that sums of products are exact, with or without fused
    // multiply-adds.
    let particles: Vec<f32> =
        Random::new(7).words(VERTICES as usize * FLOATS).into_iter().map(|w| (w >> 20) as f32 / 16.0).collect();
    let vertices = float_vertices(gpu, &particles)?;
    let captured = gpu.buffer(particles.len() * 4, vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT)?;
    let four = vk::Format::R32G32B32A32_SFLOAT;
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/capture.vert"),
            streams: &[Stream { stride: 4 * FLOATS as u32, per_instance: false, attributes: &[(four, 0), (four, 16)] }],
            topology: vk::PrimitiveTopology::POINT_LIST,
            discard: true,
            ..Default::default()
        },
    )?;
    let feedback = ash::ext::transform_feedback::Device::new(&gpu.instance, &gpu.device);
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.vertices(&[vertices]);
        r.capture(&feedback, &captured, || r.draw(VERTICES, 1));
        r.end();
    };
    Recording::make(gpu, Amount::new(VERTICES, Unit::Vertex), record, move |_| {
        let stepped = |p: &[f32]| {
            let moved = [0, 1, 2, 3].map(|i| p[i] + 0.5 * p[4 + i]);
            let [x, y, z] = [0, 1, 2].map(|i| p[4 + i] - 0.25 * p[i]);
            [moved, [x, y, z, p[7]]].concat()
        };
        let expected: Vec<f32> = particles.chunks_exact(FLOATS).flat_map(stepped).collect();
        close(&as_floats(&captured.read()), &expected, 0.0)
    })
}
