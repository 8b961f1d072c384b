//! Draws, dispatches and clears of attachments.

use super::bind::DrawParameters;
use super::device_range::words_at;
use super::{CommandState, Executor};
use crate::command::{ConditionalRendering, DeviceLocation, DrawIndirect, DrawMulti, IndirectKind};
use crate::device::fault::Cause;
use crate::object::bind_point::BindPoint;
use crate::object::pipeline_state::join;
use crate::object::program::{BoundProgram, ExecutableStages};
use ash::vk;
use base::mem::DeviceMemory;
use execution::Dispatch;
use rasterizer::RenderPassInstance;
use rasterizer::api::{Draw, DrawCounts, statistic};
use std::sync::atomic::Ordering;

/// Kind and counts of a draw.
#[derive(Clone, Copy)]
pub(super) enum DrawKind {
    Vertices(DrawCounts),
    Indexed(DrawCounts),
    /// A draw of this number of mesh workgroups.
    MeshTasks([u32; 3]),
}

impl DrawKind {
    /// Reads the structure of an indirect draw; `None` if it is not in the memory.
    pub fn read(kind: IndirectKind, memory: DeviceMemory, offset: u64) -> Option<DrawKind> {
        Some(match kind {
            IndirectKind::Vertices => {
                let [count, instances, first, first_instance] = words_at(memory, offset)?;
                DrawKind::Vertices(DrawCounts { count, instances, first, vertex_offset: 0, first_instance })
            }
            IndirectKind::Indexed => DrawKind::Indexed(indexed_counts(words_at(memory, offset)?)),
            IndirectKind::MeshTasks => DrawKind::MeshTasks(words_at(memory, offset)?),
        })
    }

    fn is_empty(&self) -> bool {
        match self {
            DrawKind::Vertices(counts) | DrawKind::Indexed(counts) => counts.count == 0 || counts.instances == 0,
            DrawKind::MeshTasks(groups) => groups.contains(&0),
        }
    }

    /// Returns the parameters that shaders read; `number` is the number of the draw in its command.
    fn parameters(&self, number: Option<u32>) -> DrawParameters {
        let (base_vertex, base_instance) = match self {
            DrawKind::Vertices(counts) => (counts.first, counts.first_instance),
            DrawKind::Indexed(counts) => (counts.vertex_offset as u32, counts.first_instance),
            DrawKind::MeshTasks(_) => (0, 0),
        };
        DrawParameters { base_vertex, base_instance, draw_index: number.unwrap_or(0), ..DrawParameters::default() }
    }
}

impl Executor<'_> {
    pub(super) fn draw_mesh_tasks(&mut self, groups: [u32; 3]) {
        self.draw_one(DrawKind::MeshTasks(groups), None);
        self.queue.watched.end();
    }

    pub(super) fn draw(&mut self, vertex_count: u32, instance_count: u32, first_vertex: u32, first_instance: u32) {
        let counts = DrawCounts {
            count: vertex_count,
            instances: instance_count,
            first: first_vertex,
            vertex_offset: 0,
            first_instance,
        };
        self.draw_counts(counts, false, None);
        self.queue.watched.end();
    }

    /// Draws with `[indexCount, instanceCount, firstIndex, vertexOffset, firstInstance]`, as in an
    /// indirect buffer.
    pub(super) fn draw_indexed(&mut self, words: [u32; 5]) {
        self.draw_counts(indexed_counts(words), true, None);
        self.queue.watched.end();
    }

    pub(super) fn draw_indirect(&mut self, c: &DrawIndirect) {
        self.execute_draws(|executor| executor.indirect_draws(c));
    }

    pub(super) fn draw_multi(&mut self, c: &DrawMulti) {
        self.execute_draws(|executor| {
            for (number, &(first, count, vertex_offset)) in (0..).zip(&c.draws) {
                if executor.device.abort.load(Ordering::Relaxed) != 0 {
                    return;
                }
                let (instances, first_instance) = (c.instance_count, c.first_instance);
                let counts = DrawCounts { count, instances, first, vertex_offset, first_instance };
                executor.draw_counts(counts, c.indexed, Some(number));
            }
        });
    }

    /// Executes the draws of one command. The watchdog's budget covers the whole command, not each
    /// draw.
    fn execute_draws(&mut self, draws: impl FnOnce(&mut Self)) {
        if let Some(program) = self.program(BindPoint::Graphics) {
            self.queue.watched.begin(program.number());
        }
        draws(self);
        self.queue.watched.end();
    }

    /// Begins conditional rendering. The value of the word at this time holds until the end,
    /// because changing it meanwhile has undefined results.
    pub(super) fn begin_conditional_rendering(&mut self, c: &ConditionalRendering) {
        match self.read_words::<1>(&c.location.0, c.location.1) {
            Some([word]) => self.discarding = (word == 0) != c.inverted,
            None => self.device.report_invalid_usage("conditional rendering reads where no memory is"),
        }
    }

    fn indirect_draws(&mut self, c: &DrawIndirect) {
        let limit = match &c.count {
            Some((base, offset)) => match self.read_words::<1>(base, *offset) {
                Some([count]) => count.min(c.draw_count),
                None => return self.device.report_invalid_usage("an indirect draw reads its count where no memory is"),
            },
            None => c.draw_count,
        };
        if let Err(number) = self.draw_indirectly(c, limit) {
            self.device.report_invalid_usage(&format!("an indirect draw reads where no memory is (draw {number})"));
        }
    }

    /// Executes `count` indirect draws. The error is the number of a draw that reads where no
    /// memory is, at which execution ends.
    pub(super) fn draw_indirectly(&mut self, c: &DrawIndirect, count: u32) -> Result<(), u32> {
        let (base, first) = &c.location;
        for number in 0..count {
            if self.device.abort.load(Ordering::Relaxed) != 0 {
                break;
            }
            let offset = first.saturating_add(u64::from(number).saturating_mul(c.stride));
            let memory = self.exact_memory(base, offset, c.kind.bytes().into());
            let drawn = memory.and_then(|memory| DrawKind::read(c.kind, memory, 0)).ok_or(number)?;
            self.draw_one(drawn, Some(number));
        }
        Ok(())
    }

    /// Draws with counts; `number` is the number of the draw in its command, if that has several.
    pub(super) fn draw_counts(&mut self, counts: DrawCounts, indexed: bool, number: Option<u32>) {
        self.draw_one(if indexed { DrawKind::Indexed(counts) } else { DrawKind::Vertices(counts) }, number);
    }

    pub(super) fn draw_one(&mut self, drawn: DrawKind, number: Option<u32>) {
        let device = self.device;
        let Some(program) = self.program(BindPoint::Graphics) else { return };
        let ExecutableStages::Graphics(stages) = program.stages().executable() else { return };
        let Some(render) = &mut self.render else {
            return device.report_invalid_usage("a draw outside of a render pass");
        };
        if drawn.is_empty() {
            return;
        }
        let meshes = matches!(drawn, DrawKind::MeshTasks(_));
        if stages.mesh().is_some() != meshes {
            return device.report_invalid_usage(
                "a draw of vertices with a program of a mesh stage, or of mesh tasks without one",
            );
        }
        if let Err(message) = program.stages().ready() {
            return self.lose_without_code(&program, &message);
        }
        let indexed = matches!(drawn, DrawKind::Indexed(_));
        let index_buffer = if indexed { self.state.index_buffer } else { None };
        if indexed && index_buffer.is_none() {
            return device.report_invalid_usage("an indexed draw without an index buffer");
        }
        if program.state().is_none() && self.state.values.locations != render.locations {
            // Shader objects have no locations of their own.
            self.state.values.locations = render.locations;
            self.state.discard_draw_state();
        }
        let CommandState { joined_draw_state, old_draw_states, values, .. } = &mut self.state;
        let state = joined_draw_state.get_or_insert_with(|| old_draw_states.make(join(values))).clone();
        if self.state.values.locations != render.locations && !state.rasterizer_discard {
            device.report_invalid_usage(
                "the pipeline of a draw has other attachment locations than vkCmdSetRenderingAttachmentLocations",
            );
        }
        let mut parameters = DrawParameters::default();
        // Draws whose stages do not read the parameters share a context.
        if stages.read_draw_parameters() {
            parameters = drawn.parameters(number);
        }
        if number.is_none() {
            self.queue.watched.begin(program.number());
        }
        let running = self.queue.watched.running();
        render.use_samples(device, self.state.values.samples);
        let Some(pass) = &mut render.pass else { return };
        let (counts, groups) = match drawn {
            DrawKind::Vertices(counts) | DrawKind::Indexed(counts) => (counts, [1; 3]),
            DrawKind::MeshTasks(groups) => (DrawCounts::default(), groups),
        };
        let feedback = self.state.feedback.active.clone().filter(|_| !meshes);
        for &view_index in &render.views {
            parameters.view_index = view_index;
            let point = &mut self.state.points[BindPoint::Graphics];
            let context = point.context(
                (device, &mut self.materialized_sets),
                program.layout(),
                &self.state.push_constants.0,
                parameters,
            );
            let excessive = pass.draw(Draw {
                running,
                stages: stages.clone(),
                state: state.clone(),
                context,
                vertex_buffers: self.state.vertex_buffers.clone(),
                index_buffer,
                counts,
                groups,
                feedback: feedback.clone(),
                queries: self.queries.clone(),
            });
            if excessive != 0 {
                device.report_invalid_usage(&format!(
                    "{excessive} task workgroups asked for more mesh workgroups than maxMeshWorkGroupTotalCount, and got so many"
                ));
            }
        }
    }

    pub(super) fn dispatch(&mut self, base: [u32; 3], groups: [u32; 3]) {
        let Some(program) = self.program(BindPoint::Compute) else { return };
        self.queue.watched.begin(program.number());
        self.dispatch_program(&program, base, groups);
        self.queue.watched.end();
    }

    /// Dispatches workgroups of the bound program, as a part of the command that the watchdog
    /// observes.
    pub(super) fn dispatch_program(&mut self, program: &BoundProgram, base: [u32; 3], groups: [u32; 3]) {
        let device = self.device;
        let ExecutableStages::Compute(stage) = program.stages().executable() else { return };
        if groups.contains(&0) {
            return;
        }
        if let Err(message) = program.stages().ready() {
            return self.lose_without_code(program, &message);
        }
        let parameters = DrawParameters { num_workgroups: groups, ..Default::default() };
        let point = &mut self.state.points[BindPoint::Compute];
        let context = point.context(
            (device, &mut self.materialized_sets),
            program.layout(),
            &self.state.push_constants.0,
            parameters,
        );
        let dispatch = Dispatch { running: self.queue.watched.running(), stage: stage.clone(), context, base, groups };
        let invocations = execution::dispatch(device.engine.pool(), &dispatch);
        self.queries.count(statistic::COMPUTE_INVOCATIONS, invocations);
    }

    /// Loses the device because code generation failed after creation. This is an error of Grus,
    /// after which nothing can be drawn.
    pub(super) fn lose_without_code(&self, program: &BoundProgram, message: &str) {
        let (device, number) = (self.device, program.number());
        let message = format!("{}: no code: {message}", program.name());
        self.queue.lose_with_pipelines(device, Cause::NoCode, &message, &[number]);
    }

    pub(super) fn dispatch_indirect(&mut self, (base, offset): &DeviceLocation) {
        match self.read_words::<3>(base, *offset) {
            Some(groups) => self.dispatch([0; 3], groups),
            None => self.device.report_invalid_usage("an indirect dispatch reads where no memory is"),
        }
    }

    pub(super) fn clear_attachments(&mut self, attachments: &[vk::ClearAttachment], rects: &[vk::ClearRect]) {
        let Some(render) = &mut self.render else { return };
        let multiview = render.is_multiview();
        let Some(pass) = &mut render.pass else { return };
        for rect in rects {
            let layers = (rect.base_array_layer, rect.layer_count);
            for clear in attachments {
                if multiview {
                    render.views.iter().for_each(|&view| clear_attachment(pass, clear, rect.rect, (view, 1)));
                } else {
                    clear_attachment(pass, clear, rect.rect, layers);
                }
            }
        }
    }
}

fn clear_attachment(
    pass: &mut RenderPassInstance<'_>,
    clear: &vk::ClearAttachment,
    r: vk::Rect2D,
    (first, count): (u32, u32),
) {
    let area = super::render::area_of(&r);
    // SAFETY: every member of the unions is plain 32-bit words.
    let (color, depth_stencil) = unsafe { (clear.clear_value.color.uint32, clear.clear_value.depth_stencil) };
    if clear.aspect_mask.contains(vk::ImageAspectFlags::COLOR) {
        pass.clear_color(clear.color_attachment as usize, color, area, first, count);
    }
    let depth = clear.aspect_mask.contains(vk::ImageAspectFlags::DEPTH).then_some(depth_stencil.depth);
    let stencil = clear.aspect_mask.contains(vk::ImageAspectFlags::STENCIL).then_some(depth_stencil.stencil);
    if depth.is_some() || stencil.is_some() {
        pass.clear_depth_stencil(depth, stencil, area, first, count);
    }
}

fn indexed_counts([count, instances, first, vertex_offset, first_instance]: [u32; 5]) -> DrawCounts {
    DrawCounts { count, instances, first, vertex_offset: vertex_offset as i32, first_instance }
}
