//! Programs, vertex and index buffers, dynamic state.

#![forbid(unsafe_code)]

use super::device_range::first_part;
use super::inheritance::BindingKind;
use super::{CommandState, Executor};
use crate::command::{BufferOrAddress, DeviceLocation, VertexBufferBinding};
use crate::object::bind_point::BindPoint;
use crate::object::bound_shaders::ProgramError;
use crate::object::pipeline_state::{BindingStride, DynamicState, StateMask, Values};
use crate::object::program::BoundProgram;
use crate::object::shader_object::ShaderObject;
use base::limits::MAX_VERTEX_BINDINGS;
use base::partial_range::PartialRange;
use base::shader::Stage;
use rasterizer::api::IndexBuffer;
use std::sync::Arc;

impl CommandState {
    /// Discards the joined draw state, because a value has changed.
    pub(super) fn discard_draw_state(&mut self) {
        self.old_draw_states.retire(self.joined_draw_state.take());
    }
}

impl Executor<'_> {
    pub(super) fn bind_program(&mut self, program: &Arc<BoundProgram>) {
        if let Some(state) = program.state() {
            self.state.values.take(&state.values, state.static_rows());
            self.state.discard_draw_state();
        }
        self.state.points[program.stages().bind_point()].bind_program(program);
    }

    /// Binds shader objects, which unbinds the program of a pipeline.
    pub(super) fn bind_shaders(&mut self, bind_point: BindPoint, shaders: &[(Stage, Option<Arc<ShaderObject>>)]) {
        if self.state.points[bind_point].has_state() {
            // Rows that no command sets have no value of the pipeline any more.
            self.state.values.take(&Values::default(), StateMask::fixed());
            self.state.discard_draw_state();
        }
        self.state.points[bind_point].bind_shaders(shaders);
    }

    /// Returns the program of a bind point, after linking the shader objects that are bound to it
    /// if they have changed. Reports why there is none.
    pub(super) fn program(&mut self, bind_point: BindPoint) -> Option<Arc<BoundProgram>> {
        let device = self.device;
        match self.find_program(bind_point) {
            Ok(program) => Some(program),
            Err(None) => {
                device.report_invalid_usage(&format!(
                    "neither a pipeline nor a shader object is bound to the bind point {bind_point:?}"
                ));
                None
            }
            Err(Some(error)) => {
                device.report_invalid_usage(&format!("the bound shader objects are not a program: {error}"));
                None
            }
        }
    }

    /// Returns the program as [`Executor::program`] does, or the reason why there is none; `None`
    /// if nothing is bound.
    pub(super) fn find_program(&mut self, bind_point: BindPoint) -> Result<Arc<BoundProgram>, Option<ProgramError>> {
        let device = self.device;
        let (program, is_new) = self.state.points[bind_point].program(&device.linker, &device.layouts)?;
        if is_new {
            device.faults.register(&program);
        }
        Ok(program)
    }

    pub(super) fn bind_vertex_buffers(&mut self, first: u32, buffers: &[VertexBufferBinding]) {
        for (number, b) in (first as usize..MAX_VERTEX_BINDINGS).zip(buffers) {
            self.bind_vertex_range(number, self.vertex_range(number, &b.location, b.size));
            self.record_binding(BindingKind::Vertex(number), &b.location, b.size);
            if let Some(stride) = b.stride {
                let stride = BindingStride { binding: number as u32, stride };
                self.set_dynamic_state(&DynamicState::VertexInputBindingStride(stride));
            }
        }
    }

    /// Binds the memory of a vertex buffer.
    pub(super) fn bind_vertex_range(&mut self, number: usize, range: PartialRange) {
        if self.state.vertex_buffers.len() <= number {
            self.state.vertex_buffers.resize(number + 1, PartialRange::NULL);
        }
        self.state.vertex_buffers[number] = range;
    }

    fn vertex_range(&self, number: usize, (base, offset): &DeviceLocation, size: u64) -> PartialRange {
        match base {
            BufferOrAddress::Buffer(_) => self.range(base, *offset, size).into(),
            BufferOrAddress::Addresses => {
                PartialRange::new(*offset, &self.live_parts(&format!("vertex buffer {number}"), *offset, size))
            }
        }
    }

    pub(super) fn bind_index_buffer(&mut self, location: &DeviceLocation, size: u64, index_bytes: u32) {
        let (base, offset) = location;
        let (range, before) = match base {
            BufferOrAddress::Buffer(_) => (self.range(base, *offset, size), 0),
            BufferOrAddress::Addresses => first_part(*offset, &self.live_parts("the index buffer", *offset, size)),
        };
        self.record_binding(BindingKind::Index, location, size);
        self.state.index_buffer = Some(IndexBuffer { range, before, index_bytes, restart: None });
    }

    /// Sets the restart index, which is valid until the next index buffer is bound.
    pub(super) fn set_primitive_restart_index(&mut self, index: u32) {
        self.state.index_buffer.iter_mut().for_each(|buffer| buffer.restart = Some(index));
    }

    pub(super) fn set_dynamic_state(&mut self, change: &DynamicState) {
        self.state.discard_draw_state();
        change.apply(&mut self.state.values);
    }
}
