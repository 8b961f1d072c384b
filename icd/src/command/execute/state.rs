//! Pipelines, vertex and index buffers, dynamic state.

#![forbid(unsafe_code)]

use super::Executor;
use crate::command::{Place, VertexBufferBinding};
use crate::object::pipeline::{Pipeline, PipelineKind};
use crate::object::pipeline_state::{BindingStride, DynamicState};
use base::mem::MemoryRange;
use rasterizer::api::{IndexBuffer, MAX_VERTEX_BINDINGS};
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
            self.state.vertex_buffers[number] = self.range(&b.place.0, b.place.1, b.size);
            if let Some(stride) = b.stride {
                let stride = BindingStride { binding: number as u32, stride };
                self.set_dynamic_state(&DynamicState::VertexInputBindingStride(stride));
            }
        }
    }

    pub(super) fn bind_index_buffer(&mut self, (space, offset): &Place, size: u64, index_bytes: u32) {
        let range = self.range(space, *offset, size);
        self.state.index_buffer = Some(IndexBuffer { range, index_bytes, restart: None });
    }

    /// Until the next index buffer is bound.
    pub(super) fn set_primitive_restart_index(&mut self, index: u32) {
        self.state.index_buffer.iter_mut().for_each(|buffer| buffer.restart = Some(index));
    }

    pub(super) fn set_dynamic_state(&mut self, change: &DynamicState) {
        self.state.joined = None;
        change.apply(&mut self.state.values);
    }
}
