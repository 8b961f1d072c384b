//! Pipelines, vertex and index buffers, dynamic state.

#![forbid(unsafe_code)]

use super::Executor;
use crate::command::{DynamicState, VertexBufferBinding};
use crate::object::buffer::Buffer;
use crate::object::pipeline::{Pipeline, PipelineKind};
use ash::vk;
use base::mem::MemoryRange;
use rasterizer::api::{IndexBuffer, MAX_VERTEX_BINDINGS, MAX_VIEWPORTS};
use smallvec::SmallVec;
use std::sync::Arc;

impl Executor<'_> {
    pub(super) fn bind_pipeline(&mut self, pipeline: &Arc<Pipeline>) {
        if let PipelineKind::Graphics(graphics) = &pipeline.kind {
            self.state.values.take_static(&graphics.state.values, graphics.state.dynamic);
            self.state.joined = None;
        }
        self.state.points[pipeline.bind_point()].pipeline = Some(pipeline.clone());
    }

    pub(super) fn bind_vertex_buffers(&mut self, first: u32, buffers: &[VertexBufferBinding]) {
        for (number, b) in (first as usize..MAX_VERTEX_BINDINGS).zip(buffers) {
            if self.state.vertex_buffers.len() <= number {
                self.state.vertex_buffers.resize(number + 1, MemoryRange::NULL);
            }
            self.state.vertex_buffers[number] = range(b.buffer.as_deref(), b.offset, b.size);
            if let Some(stride) = b.stride {
                self.state.values.strides[number] = stride;
                self.state.joined = None;
            }
        }
    }

    pub(super) fn bind_index_buffer(&mut self, buffer: Option<&Buffer>, offset: u64, size: u64, index_bytes: u32) {
        self.state.index_buffer = Some(IndexBuffer { range: range(buffer, offset, size), index_bytes });
    }

    pub(super) fn set_dynamic_state(&mut self, change: &DynamicState) {
        self.state.joined = None;
        let v = &mut self.state.values;
        match change {
            DynamicState::Viewport { first, viewports } => replace(&mut v.viewports, *first, viewports),
            DynamicState::ViewportWithCount(viewports) => v.viewports = viewports.clone(),
            DynamicState::Scissor { first, scissors } => replace(&mut v.scissors, *first, scissors),
            DynamicState::ScissorWithCount(scissors) => v.scissors = scissors.clone(),
            DynamicState::LineWidth(width) => v.line_width = *width,
            DynamicState::DepthBias(bias) => v.depth_bias = *bias,
            DynamicState::BlendConstants(constants) => v.blend_constants = *constants,
            DynamicState::DepthBounds(bounds) => v.depth_bounds = *bounds,
            DynamicState::StencilCompareMask(faces, mask) => set_faces(&mut v.stencil_compare_mask, *faces, *mask),
            DynamicState::StencilWriteMask(faces, mask) => set_faces(&mut v.stencil_write_mask, *faces, *mask),
            DynamicState::StencilReference(faces, reference) => set_faces(&mut v.stencil_reference, *faces, *reference),
            DynamicState::CullMode(mode) => v.cull_mode = *mode,
            DynamicState::FrontFace(clockwise) => v.front_clockwise = *clockwise,
            DynamicState::PrimitiveTopology(topology) => v.topology = *topology,
            DynamicState::DepthTestEnable(enable) => v.depth_test = *enable,
            DynamicState::DepthWriteEnable(enable) => v.depth_write = *enable,
            DynamicState::DepthCompareOp(op) => v.depth_compare = *op,
            DynamicState::DepthBoundsTestEnable(enable) => v.depth_bounds_test = *enable,
            DynamicState::StencilTestEnable(enable) => v.stencil_test = *enable,
            DynamicState::StencilOp(faces, ops) => set_faces(&mut v.stencil_ops, *faces, *ops),
            DynamicState::RasterizerDiscardEnable(enable) => v.rasterizer_discard = *enable,
            DynamicState::DepthBiasEnable(enable) => v.depth_bias_enable = *enable,
            DynamicState::PrimitiveRestartEnable(enable) => v.primitive_restart = *enable,
            DynamicState::LogicOp(op) => v.logic_op = *op,
            DynamicState::LineStipple(stipple) => v.line_stipple = *stipple,
        }
    }
}

fn range(buffer: Option<&Buffer>, offset: u64, size: u64) -> MemoryRange {
    buffer.map_or(MemoryRange::NULL, |b| b.range(offset, size))
}

fn replace<T: Copy>(list: &mut SmallVec<[T; 1]>, first: u32, values: &[T]) {
    for (number, value) in (first as usize..MAX_VIEWPORTS).zip(values) {
        if list.len() <= number {
            list.resize(number + 1, *value);
        }
        list[number] = *value;
    }
}

fn set_faces<T: Copy>(values: &mut [T; 2], faces: vk::StencilFaceFlags, value: T) {
    for (i, face) in [vk::StencilFaceFlags::FRONT, vk::StencilFaceFlags::BACK].into_iter().enumerate() {
        if faces.contains(face) {
            values[i] = value;
        }
    }
}
