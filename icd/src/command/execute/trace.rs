//! Launches of ray tracing.

#![forbid(unsafe_code)]

use super::Executor;
use super::bind::DrawParameters;
use crate::caps::limits::MAX_NESTED_SHADERS;
use crate::command::{BufferOrAddress, LaunchSize, TraceRays};
use crate::device::fault::Cause;
use crate::object::bind_point::BindPoint;
use crate::object::program::{BoundProgram, ExecutableStages};
use crate::object::ray_tracing::{GroupHandle, RayTracingStages};
use crate::shader_compiler::ray_tracer::SceneTracer;
use base::mem::DeviceMemory;
use execution::trace::{GroupHandles, Launch, ShaderTable, ShaderTables, TraceError, trace_rays};

/// Number of words of a `VkTraceRaysIndirectCommand2KHR`: eleven addresses and sizes, and the size
/// of the launch.
const COMMAND_WORDS: usize = 25;

impl Executor<'_> {
    pub(super) fn trace_rays(&mut self, c: &TraceRays) {
        let size = match c.size {
            LaunchSize::Direct(size) => size,
            LaunchSize::Indirect(address) => match self.read_words(&BufferOrAddress::Addresses, address) {
                Some(size) => size,
                None => return self.report_no_memory(),
            },
        };
        self.launch(c.tables, size);
    }

    pub(super) fn trace_rays_indirect2(&mut self, address: u64) {
        match self.read_words::<COMMAND_WORDS>(&BufferOrAddress::Addresses, address) {
            Some(words) => {
                let (tables, size) = decode_launch(&words);
                self.launch(tables, size);
            }
            None => self.report_no_memory(),
        }
    }

    fn report_no_memory(&self) {
        self.device.report_invalid_usage("an indirect launch reads where no memory is");
    }

    fn launch(&mut self, tables: ShaderTables, size: [u32; 3]) {
        let Some(program) = self.program(BindPoint::RayTracing) else { return };
        self.queue.watched.begin(program.number());
        self.launch_program(&program, tables, size);
        self.queue.watched.end();
    }

    /// Launches the bound program, as a part of the command that the watchdog observes.
    pub(super) fn launch_program(&mut self, program: &BoundProgram, tables: ShaderTables, size: [u32; 3]) {
        let device = self.device;
        let ExecutableStages::RayTracing(stages) = program.stages().executable() else { return };
        if size.contains(&0) {
            return;
        }
        if let Err(message) = program.stages().ready() {
            return self.lose_without_code(program, &message);
        }
        let point = &mut self.state.points[BindPoint::RayTracing];
        let context = point.context(
            (device, &mut self.materialized_sets),
            program.layout(),
            &self.state.push_constants.0,
            DrawParameters::default(),
        );
        let table_memory = |table: ShaderTable| Table { table, memory: self.live_memory(table.address, table.size) };
        let ShaderTables { ray_generation, miss, hit, callable } = tables;
        let handles = TableHandles { stages, tables: [hit, miss, callable, ray_generation].map(table_memory) };
        let tracer = SceneTracer::new(self.accessible_structures(), &device.abort, stages.flags());
        let launch = Launch {
            running: self.queue.watched.running(),
            program: stages.program(),
            context,
            tables,
            handles: &handles,
            tracer: &tracer,
            size,
            max_depth: MAX_NESTED_SHADERS,
        };
        let done = trace_rays(device.engine.pool(), &launch);
        if let Err(error) = done {
            let message = match error {
                TraceError::TooDeep => "its shaders trace rays and call shaders without end",
                TraceError::FrameMemory => "its shaders trace rays and call shaders more deeply than there is memory",
                TraceError::Internal => "its shaders contradict their description",
            };
            let message = format!("{}: {message}", program.name());
            self.queue.lose_with_pipelines(device, Cause::Nesting, &message, &[program.number()]);
        }
    }
}

/// Decodes a `VkTraceRaysIndirectCommand2KHR`.
pub(super) fn decode_launch(words: &[u32; COMMAND_WORDS]) -> (ShaderTables, [u32; 3]) {
    let pair = |i: usize| u64::from(words[2 * i]) | u64::from(words[2 * i + 1]) << 32;
    let table = |first| ShaderTable { address: pair(first), size: pair(first + 1), stride: pair(first + 2) };
    let ray_generation = ShaderTable { address: pair(0), size: pair(1), stride: pair(1) };
    let tables = ShaderTables { ray_generation, miss: table(2), hit: table(5), callable: table(8) };
    (tables, [words[22], words[23], words[24]])
}

/// A shader binding table with its live memory.
struct Table {
    table: ShaderTable,
    memory: Option<DeviceMemory>,
}

/// The handles in the tables of a launch, with their meaning for a pipeline.
struct TableHandles<'a> {
    stages: &'a RayTracingStages,
    tables: [Table; 4],
}

impl GroupHandles for TableHandles<'_> {
    fn group(&self, address: u64) -> Option<u32> {
        let mut handle = GroupHandle::NULL;
        let is_read = self.tables.iter().any(|Table { table, memory }| {
            let offset = address.checked_sub(table.address);
            offset.zip(*memory).is_some_and(|(offset, memory)| memory.read(offset, &mut handle.0))
        });
        if is_read { self.stages.group(&handle) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indirect_commands_have_the_layout_of_the_api() {
        use ash::vk::TraceRaysIndirectCommand2KHR as C;
        assert_eq!(std::mem::offset_of!(C, depth) + 4, 4 * COMMAND_WORDS);
        let words = std::array::from_fn(|i| i as u32);
        let (tables, size) = decode_launch(&words);
        let at = |offset: usize| u64::from(words[offset / 4]) | u64::from(words[offset / 4 + 1]) << 32;
        assert_eq!(tables.ray_generation.address, at(std::mem::offset_of!(C, raygen_shader_record_address)));
        assert_eq!(tables.ray_generation.size, at(std::mem::offset_of!(C, raygen_shader_record_size)));
        let offsets = [
            (
                tables.miss,
                [
                    std::mem::offset_of!(C, miss_shader_binding_table_address),
                    std::mem::offset_of!(C, miss_shader_binding_table_size),
                    std::mem::offset_of!(C, miss_shader_binding_table_stride),
                ],
            ),
            (
                tables.hit,
                [
                    std::mem::offset_of!(C, hit_shader_binding_table_address),
                    std::mem::offset_of!(C, hit_shader_binding_table_size),
                    std::mem::offset_of!(C, hit_shader_binding_table_stride),
                ],
            ),
            (
                tables.callable,
                [
                    std::mem::offset_of!(C, callable_shader_binding_table_address),
                    std::mem::offset_of!(C, callable_shader_binding_table_size),
                    std::mem::offset_of!(C, callable_shader_binding_table_stride),
                ],
            ),
        ];
        for (table, of) in offsets {
            assert_eq!([table.address, table.size, table.stride], of.map(at));
        }
        assert_eq!(size[0] as usize * 4, std::mem::offset_of!(C, width));
    }
}
