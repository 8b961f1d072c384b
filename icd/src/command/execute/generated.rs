//! Generated commands (`vkCmdExecuteGeneratedCommandsEXT`): sequences of tokens in device memory,
//! which become the executor's own operations.
//!
//! The application may change the memory meanwhile. Each word is therefore read once, every number
//! in it is checked, and only live addresses are used. A sequence that cannot be executed is
//! skipped; the first one of a command, and their number, are reported at its end.
//!
//! A token whose words have not changed since the last sequence has no effect, so that draws which
//! share their bindings also share the rasterizer's plans of them.

#![forbid(unsafe_code)]

use super::Executor;
use super::device_range::{first_part, words_at};
use super::draw::DrawKind;
use super::inheritance::BindingKind;
use super::trace::decode_launch;
use crate::caps::limits::MAX_INDIRECT_SEQUENCES;
use crate::command::{BufferOrAddress, DrawIndirect, GeneratedCommands, IndirectKind};
use crate::object::bind_point::BindPoint;
use crate::object::bound_shaders::ProgramError;
use crate::object::indirect_commands::{IndexTypeWords, MAX_COUNTED_DRAWS, MAX_SHADERS, Token};
use crate::object::pipeline_state::{BindingStride, DynamicState};
use crate::object::program::{BoundProgram, ExecutableStages};
use base::limits::MAX_PUSH_CONSTANTS;
use base::mem::DeviceMemory;
use base::partial_range::PartialRange;
use rasterizer::api::IndexBuffer;
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Reason why a command, one of its sequences or a part of a sequence is not executed as the
/// application requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rejection {
    /// The layout has a token of an execution set, and the command names none.
    ExecutionSet,
    /// The programs of the execution set are of another bind point than the sequences.
    BindPoint,
    /// The number of sequences is where no memory is.
    Count,
    /// There is no memory at the address of the sequences.
    Sequences,
    /// The sequence reaches beyond the memory.
    BeyondMemory,
    /// The execution set has nothing at this number.
    NoMember(u32),
    /// Nothing is bound.
    Unbound,
    /// The shader objects do not form a program.
    Program(ProgramError),
    /// The program has a mesh stage and the draw is of vertices, or the other way round.
    MeshStage,
    /// A draw outside of a render pass instance.
    OutsidePass,
    /// A dispatch inside of a render pass instance.
    InsidePass,
    /// An indexed draw without an index buffer.
    NoIndexBuffer,
    /// A word that is not the type of indices.
    IndexType(u32),
    /// A draw of a count reads where no memory is.
    Draw(u32),
    /// An index or vertex buffer reaches where no memory is.
    Dead { address: u64, size: u32 },
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejection::ExecutionSet => f.write_str("the layout's token of an execution set has no set"),
            Rejection::BindPoint => f.write_str("the execution set is of another bind point than the layout"),
            Rejection::Count => f.write_str("the number of sequences is where no memory is"),
            Rejection::Sequences => f.write_str("the sequences are where no memory is"),
            Rejection::BeyondMemory => f.write_str("the sequence reaches beyond its memory"),
            Rejection::NoMember(number) => {
                write!(f, "index {number} of the execution set has no pipeline or shader object of the token's kind")
            }
            Rejection::Unbound => f.write_str("neither a pipeline nor a shader object is bound"),
            Rejection::Program(error) => write!(f, "the bound shader objects are not a program: {error}"),
            Rejection::MeshStage => {
                f.write_str("a draw of vertices with a program of a mesh stage, or of mesh tasks without one")
            }
            Rejection::OutsidePass => f.write_str("a draw outside of a render pass"),
            Rejection::InsidePass => f.write_str("a dispatch inside of a render pass"),
            Rejection::NoIndexBuffer => f.write_str("an indexed draw without an index buffer"),
            Rejection::IndexType(word) => write!(f, "{word} is not a type of indices"),
            Rejection::Draw(number) => write!(f, "draw {number} of the sequence reads where no memory is"),
            Rejection::Dead { address, size } => {
                write!(f, "a buffer of {size} bytes at {address:#x} reaches where no memory is; reads there give 0")
            }
        }
    }
}

/// Result of a token, or of a part of a command.
type Outcome<T = ()> = Result<T, Rejection>;

/// Sequences of a command in live memory.
#[derive(Clone, Copy)]
struct Sequences {
    memory: DeviceMemory,
    count: u32,
    /// Largest number of draws of a token with a count.
    max_draws: u32,
}

/// Words of a token that binds something. A token with fewer has zeros behind them.
type Words = [u32; MAX_SHADERS as usize];

/// Progress of a command.
struct Progress {
    /// Words of each token in the last sequence; `None` before the first one, and after an error.
    last: SmallVec<[Option<Words>; 8]>,
    /// The first rejection, with the number of its sequence.
    first: Option<(u32, Rejection)>,
    /// Number of rejections.
    rejections: u32,
}

impl Progress {
    /// Returns true, and remembers the words, if they differ from those of the token in the last
    /// sequence.
    fn changes(&mut self, token: usize, words: &[u32]) -> bool {
        let mut all = Words::default();
        all[..words.len()].copy_from_slice(words);
        self.last[token].replace(all) != Some(all)
    }

    #[cold]
    fn reject(&mut self, sequence: u32, rejection: Rejection) {
        self.first.get_or_insert((sequence, rejection));
        self.rejections += 1;
    }
}

impl Executor<'_> {
    pub(super) fn execute_generated_commands(&mut self, c: &GeneratedCommands) {
        match self.sequences(c) {
            Ok(sequences) => self.execute_sequences(c, sequences),
            Err(rejection) => {
                self.device.report_invalid_usage(&format!("vkCmdExecuteGeneratedCommandsEXT: {rejection}"))
            }
        }
    }

    /// Finds the memory and the number of the sequences, and checks what all of them share.
    fn sequences(&self, c: &GeneratedCommands) -> Outcome<Sequences> {
        let point = c.layout.bind_point();
        if c.layout.execution_set_token().is_some() {
            let set = c.execution_set.as_ref().ok_or(Rejection::ExecutionSet)?;
            if set.bind_point() != point {
                return Err(Rejection::BindPoint);
            }
        }
        if self.render.is_some() != (point == BindPoint::Graphics) {
            return Err(if self.render.is_some() { Rejection::InsidePass } else { Rejection::OutsidePass });
        }
        let requested = match c.sequence_count_address {
            Some(address) => {
                let [count] = self.read_words(&BufferOrAddress::Addresses, address).ok_or(Rejection::Count)?;
                count.min(c.max_sequence_count)
            }
            None => c.max_sequence_count,
        };
        let memory = self.live_memory(c.indirect_address, c.indirect_address_size);
        let memory = memory.ok_or(Rejection::Sequences)?;
        let count = self.limited("sequences", requested, MAX_INDIRECT_SEQUENCES);
        let max_draws = match c.layout.action() {
            Token::DrawCount(_) => {
                let all = (MAX_COUNTED_DRAWS - 1) / c.max_sequence_count.clamp(1, MAX_INDIRECT_SEQUENCES);
                self.limited("draws of each sequence", c.max_draw_count, all)
            }
            _ => 0,
        };
        Ok(Sequences { memory, count, max_draws })
    }

    /// Reports a number that exceeds its limit, and returns the limit in its place.
    fn limited(&self, what: &str, number: u32, limit: u32) -> u32 {
        if number > limit {
            self.device.report_invalid_usage(&format!(
                "vkCmdExecuteGeneratedCommandsEXT: {number} {what} are more than the {limit} that there may be"
            ));
        }
        number.min(limit)
    }

    /// Executes the sequences in the order of their numbers, which is one of the orders in which
    /// unordered sequences may be executed. The watchdog's budget covers the whole command.
    fn execute_sequences(&mut self, c: &GeneratedCommands, sequences: Sequences) {
        let bound = self.find_program(c.layout.bind_point());
        self.queue.watched.begin(bound.map_or(0, |program| program.number()));
        let last = SmallVec::from_elem(None, c.layout.tokens().len());
        let mut progress = Progress { last, first: None, rejections: 0 };
        for number in 0..sequences.count {
            if self.device.abort.load(Ordering::Relaxed) != 0 {
                break;
            }
            let offset = u64::from(number) * u64::from(c.layout.stride());
            if offset + u64::from(c.layout.bytes()) > sequences.memory.len() {
                // All further sequences lie behind this one.
                progress.reject(number, Rejection::BeyondMemory);
                progress.rejections += sequences.count - number - 1;
                break;
            }
            if let Err(rejection) = self.execute_sequence(c, sequences, (number, offset), &mut progress) {
                progress.last.fill(None);
                progress.reject(number, rejection);
            }
        }
        self.queue.watched.end();
        if let Some((sequence, rejection)) = progress.first {
            self.device.report_invalid_usage(&format!(
                "vkCmdExecuteGeneratedCommandsEXT: sequence {sequence} of {}: {rejection} ({} errors in all)",
                sequences.count, progress.rejections
            ));
        }
    }

    /// Executes the tokens of a sequence, which has a number and an offset.
    fn execute_sequence(
        &mut self,
        c: &GeneratedCommands,
        sequences: Sequences,
        (number, offset): (u32, u64),
        progress: &mut Progress,
    ) -> Outcome {
        let memory = sequences.memory;
        for (i, placed) in c.layout.tokens().iter().enumerate() {
            let at = offset + u64::from(placed.offset);
            match placed.token {
                Token::BindProgram => {
                    let [index] = words(memory, at)?;
                    if progress.changes(i, &[index]) {
                        self.bind_program_of_set(c, index)?;
                    }
                }
                Token::BindShaders { count } => {
                    let mut indices = Words::default();
                    let indices = &mut indices[..count as usize];
                    for (at, index) in (at..).step_by(4).zip(&mut *indices) {
                        [*index] = words(memory, at)?;
                    }
                    if progress.changes(i, indices) {
                        self.bind_shaders_of_set(c, indices)?;
                    }
                }
                Token::PushConstants { to, bytes } => {
                    let mut constants = [0; MAX_PUSH_CONSTANTS];
                    let constants = &mut constants[..bytes as usize];
                    if !memory.read(at, constants) {
                        return Err(Rejection::BeyondMemory);
                    }
                    self.push_changed_constants(to, constants);
                }
                Token::PushSequenceIndex { to } => self.push_changed_constants(to, &number.to_ne_bytes()),
                Token::BindIndexBuffer(types) => {
                    let words = words(memory, at)?;
                    if progress.changes(i, &words) {
                        self.bind_index_words(types, words)?.into_iter().for_each(|dead| progress.reject(number, dead));
                    }
                }
                Token::BindVertexBuffer { binding } => {
                    let words = words(memory, at)?;
                    if progress.changes(i, &words) {
                        self.bind_vertex_words(binding, words)
                            .into_iter()
                            .for_each(|dead| progress.reject(number, dead));
                    }
                }
                Token::Draw(kind) => {
                    self.check_draw(kind)?;
                    let drawn = DrawKind::read(kind, memory, at).ok_or(Rejection::BeyondMemory)?;
                    self.draw_one(drawn, Some(0));
                }
                Token::DrawCount(kind) => {
                    self.check_draw(kind)?;
                    self.draw_counted(kind, sequences.max_draws, words(memory, at)?)?;
                }
                Token::Dispatch => {
                    let program = self.bound_program(BindPoint::Compute)?;
                    self.dispatch_program(&program, [0; 3], words(memory, at)?);
                }
                Token::TraceRays => {
                    let program = self.bound_program(BindPoint::RayTracing)?;
                    let (tables, size) = decode_launch(&words(memory, at)?);
                    self.launch_program(&program, tables, size);
                }
            }
        }
        Ok(())
    }

    /// Binds a program of the execution set.
    fn bind_program_of_set(&mut self, c: &GeneratedCommands, index: u32) -> Outcome {
        let program = c.execution_set.as_ref().and_then(|set| set.program(index));
        let program = program.ok_or(Rejection::NoMember(index))?;
        self.queue.watched.set_pipeline(program.number());
        self.bind_program(&program);
        Ok(())
    }

    /// Binds shader objects of the execution set.
    fn bind_shaders_of_set(&mut self, c: &GeneratedCommands, indices: &[u32]) -> Outcome {
        let mut shaders: SmallVec<[_; MAX_SHADERS as usize]> = SmallVec::new();
        for &index in indices {
            let shader = c.execution_set.as_ref().and_then(|set| set.shader(index));
            let shader = shader.ok_or(Rejection::NoMember(index))?;
            shaders.push((shader.stage(), Some(shader)));
        }
        self.bind_shaders(c.layout.bind_point(), &shaders);
        let program = self.bound_program(c.layout.bind_point())?;
        self.queue.watched.set_pipeline(program.number());
        Ok(())
    }

    /// Returns the bound program.
    fn bound_program(&mut self, bind_point: BindPoint) -> Outcome<Arc<BoundProgram>> {
        self.find_program(bind_point).map_err(|error| error.map_or(Rejection::Unbound, Rejection::Program))
    }

    /// Writes push constants that differ from the current ones.
    fn push_changed_constants(&mut self, to: u32, bytes: &[u8]) {
        let start = to as usize;
        if self.state.push_constants.0.get(start..start + bytes.len()).is_some_and(|old| old != bytes) {
            self.push_constants(to, bytes);
        }
    }

    /// Binds an index buffer of these words: address, size, type. Returns a rejection if not all of
    /// it is memory.
    fn bind_index_words(
        &mut self,
        types: IndexTypeWords,
        [low, high, size, ty]: [u32; 4],
    ) -> Outcome<Option<Rejection>> {
        let index_bytes = types.index_bytes(ty).ok_or(Rejection::IndexType(ty))?;
        let address = address_of(low, high);
        let (parts, is_cut) = self.find_live_parts(address, size.into());
        let (range, before) = first_part(address, &parts);
        self.record_binding(BindingKind::Index, &(BufferOrAddress::Addresses, address), size.into());
        self.state.index_buffer = Some(IndexBuffer { range, before, index_bytes, restart: None });
        Ok(is_cut.then_some(Rejection::Dead { address, size }))
    }

    /// Binds a vertex buffer of these words: address, size, stride. Returns a rejection if not all
    /// of it is memory.
    fn bind_vertex_words(&mut self, binding: u32, [low, high, size, stride]: [u32; 4]) -> Option<Rejection> {
        let address = address_of(low, high);
        let (parts, is_cut) = self.find_live_parts(address, size.into());
        self.bind_vertex_range(binding as usize, PartialRange::new(address, &parts));
        let location = (BufferOrAddress::Addresses, address);
        self.record_binding(BindingKind::Vertex(binding as usize), &location, size.into());
        if self.state.values.strides.0.get(binding as usize).is_some_and(|old| *old != stride) {
            self.set_dynamic_state(&DynamicState::VertexInputBindingStride(BindingStride { binding, stride }));
        }
        is_cut.then_some(Rejection::Dead { address, size })
    }

    /// Checks that the bound program can draw.
    fn check_draw(&mut self, kind: IndirectKind) -> Outcome {
        let program = self.bound_program(BindPoint::Graphics)?;
        let ExecutableStages::Graphics(stages) = program.stages().executable() else { return Err(Rejection::Unbound) };
        if stages.mesh().is_some() != (kind == IndirectKind::MeshTasks) {
            return Err(Rejection::MeshStage);
        }
        if kind == IndirectKind::Indexed && self.state.index_buffer.is_none() {
            return Err(Rejection::NoIndexBuffer);
        }
        Ok(())
    }

    /// Draws with the structures to which these words refer: address, stride, number of draws.
    fn draw_counted(&mut self, kind: IndirectKind, max_draws: u32, [low, high, stride, count]: [u32; 4]) -> Outcome {
        let location = (BufferOrAddress::Addresses, address_of(low, high));
        let draw_count = count.min(max_draws);
        let draws = DrawIndirect { location, count: None, draw_count, stride: stride.into(), kind };
        self.draw_indirectly(&draws, draw_count).map_err(Rejection::Draw)
    }
}

/// Returns the address of two words.
fn address_of(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Reads words of a sequence.
fn words<const N: usize>(memory: DeviceMemory, at: u64) -> Outcome<[u32; N]> {
    words_at(memory, at).ok_or(Rejection::BeyondMemory)
}
