//! The scheduler of a tile: invocations, their queues, calls of shaders by shaders, and returns.

#![forbid(unsafe_code)]

use super::frames::{FrameWords, Frames, copy_words};
use super::launch::{GROUP_HANDLE_BYTES, Launch, ShaderTable, TraceError};
use super::plan::InputPlan;
use super::queues::{Queue, Queued, Queues};
use super::records::Records;
use super::state::{Callee, HitMemory, Invocation, Slab, Slot, Start};
use super::traversal::Tracer;
use super::wave::Wave;
use crate::stage::{StageMemory, aborted};
use base::shader::{ExecuteCallableOperand, InvocationEnd, Stage, SuspendReason, SuspensionPoint};

/// A tile of launch ids that are being executed.
pub(super) struct Tile<'a, T: Tracer> {
    pub launch: &'a Launch<'a, T>,
    /// Inputs of each shader.
    pub plans: &'a [InputPlan],
    /// Launch ids by their number in the tile.
    pub ids: Vec<[u32; 3]>,
    /// Frames by shader.
    pub frames: Vec<Frames>,
    pub invocations: Slab<Invocation>,
    pub queues: Queues,
    /// The rays that are traced together.
    pub wave: Wave<T>,
    /// Memory of their traversals.
    pub slots: Vec<Slot<T::Traversal>>,
    /// Shaders of records that were read.
    records: Records,
    pub hit_memory: HitMemory,
    /// Memory of lists: ends of a call, frames of invocations, and those of their callers.
    ends: Vec<u32>,
    called: Vec<u32>,
    callers: Vec<u32>,
}

impl<'a, T: Tracer> Tile<'a, T> {
    /// Makes a tile without launch ids.
    pub fn new(launch: &'a Launch<'a, T>, plans: &'a [InputPlan]) -> Result<Tile<'a, T>, TraceError> {
        let frames = launch.program.shaders.iter().map(Frames::new).collect::<Result<_, _>>()?;
        Ok(Tile {
            launch,
            plans,
            ids: Vec::new(),
            frames,
            invocations: Slab::default(),
            queues: Queues::default(),
            wave: Wave::default(),
            slots: Vec::new(),
            records: Records::default(),
            hit_memory: HitMemory::default(),
            ends: Vec::new(),
            called: Vec::new(),
            callers: Vec::new(),
        })
    }

    /// Forgets all launch ids, and keeps the memory.
    pub fn clear(&mut self) {
        self.frames.iter_mut().for_each(Frames::clear);
        self.invocations.clear();
        self.queues.clear();
    }

    /// Executes launch ids.
    pub fn run(&mut self, ids: Vec<[u32; 3]>, memory: &mut StageMemory) -> Result<(), TraceError> {
        let Some(callee) = self.callee(&self.launch.tables.ray_generation, 0, Stage::RayGeneration) else {
            return Ok(());
        };
        self.ids = ids;
        self.launch.tracer.begin_tile();
        let start = |launch| Start { callee, launch, caller: None, ray: None, depth: 0 };
        let mut starts = base::alloc::or_unwind(base::alloc::collect((0..self.ids.len() as u32).map(start)));
        self.start_all(&mut starts)?;
        while !aborted(&self.launch.context) {
            if self.queues.rays_are_next() {
                self.trace_rays(memory)?;
            } else if let Some(mut queue) = self.queues.take() {
                self.reorder(&mut queue)?;
                self.run_queue(&queue, memory)?;
                self.queues.give_back(queue);
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Returns the shader that a record of a table names.
    pub fn callee(&mut self, table: &ShaderTable, index: u64, stage: Stage) -> Option<Callee> {
        let address = table.record(index)?;
        let Launch { program, handles, .. } = *self.launch;
        let shader = self.records.shader(address, stage, || program.shader(handles.group(address), stage))?;
        Some(Callee { shader, data: address.wrapping_add(GROUP_HANDLE_BYTES) })
    }

    /// Queues an invocation, which begins or continues behind its point.
    pub fn queue(&mut self, invocation: u32) -> Result<(), TraceError> {
        let Invocation { shader, point, depth, launch, .. } = *self.invocations.get(invocation)?;
        self.queues.add((shader, point), depth, Queued { launch, invocation });
        Ok(())
    }

    fn run_queue(&mut self, queue: &Queue, memory: &mut StageMemory) -> Result<(), TraceError> {
        let mut frames = core::mem::take(&mut self.called);
        frames.clear();
        base::alloc::or_unwind(base::alloc::reserve(&mut frames, queue.invocations.len()));
        for at in &queue.invocations {
            frames.push(self.invocations.get(at.invocation)?.frame);
        }
        let mut ends = core::mem::take(&mut self.ends);
        self.call(queue.shader, queue.point, &frames, &mut ends, memory)?;
        self.called = frames;
        // Ends are undefined if the abort flag is set.
        if !aborted(&self.launch.context) {
            self.answer(queue, &ends)?;
        }
        self.ends = ends;
        Ok(())
    }

    /// Runs invocations of a shader with these frames.
    pub fn call(
        &mut self,
        shader: u32,
        point: u32,
        frames: &[u32],
        ends: &mut Vec<u32>,
        memory: &mut StageMemory,
    ) -> Result<(), TraceError> {
        let stage = self.launch.program.shaders.get(shader as usize).ok_or(TraceError::Internal)?;
        let of_shader = self.frames.get_mut(shader as usize).ok_or(TraceError::Internal)?;
        of_shader.call(stage, &self.launch.context, memory, point, frames, ends)
    }

    /// Answers the ends of a call for the invocations of a queue.
    fn answer(&mut self, queue: &Queue, ends: &[u32]) -> Result<(), TraceError> {
        let (mut returned, mut calls) = (Vec::new(), Vec::new());
        for (at, &end) in queue.invocations.iter().zip(ends) {
            let InvocationEnd::Suspended(point) = InvocationEnd::from_word(end) else {
                base::alloc::or_unwind(base::alloc::push(&mut returned, at.invocation));
                continue;
            };
            let one = self.invocations.get_mut(at.invocation)?;
            one.point = point;
            let depth = one.depth;
            match self.point(queue.shader, point)?.reason {
                SuspendReason::TraceRay | SuspendReason::TraceHitObject => self.queues.add_ray(depth, *at),
                SuspendReason::ExecuteHitObject => {
                    if let Some(start) = self.execute(*at)? {
                        base::alloc::or_unwind(base::alloc::push(&mut calls, start));
                    }
                }
                SuspendReason::Reorder => self.queue(at.invocation)?,
                SuspendReason::ReadInstance => self.read_instance(at.invocation)?,
                SuspendReason::ExecuteCallable => {
                    if let Some(start) = self.callable(*at)? {
                        base::alloc::or_unwind(base::alloc::push(&mut calls, start));
                    }
                }
                SuspendReason::ReportIntersection | SuspendReason::Barrier => return Err(TraceError::Internal),
            }
        }
        self.start_all(&mut calls)?;
        self.end_all(queue.shader, &returned)
    }

    /// Returns the description of a point of a shader.
    pub fn point(&self, shader: u32, number: u32) -> Result<SuspensionPoint, TraceError> {
        self.frames.get(shader as usize).ok_or(TraceError::Internal)?.point(number)
    }

    /// Returns the callable shader that an invocation calls, or continues it if there is none.
    fn callable(&mut self, at: Queued) -> Result<Option<Start>, TraceError> {
        let one = *self.invocations.get(at.invocation)?;
        if self.point(one.shader, one.point)?.operands < ExecuteCallableOperand::COUNT {
            return Err(TraceError::Internal);
        }
        let index = self.frames[one.shader as usize].get(one.frame, ExecuteCallableOperand::Index as u32);
        match self.callee(&self.launch.tables.callable, index.into(), Stage::Callable) {
            Some(callee) => {
                let caller = Some(at.invocation);
                Ok(Some(Start { callee, launch: at.launch, caller, ray: None, depth: one.depth + 1 }))
            }
            None => self.queue(at.invocation).map(|()| None),
        }
    }

    /// Starts invocations, which take over the data of their callers.
    pub fn start_all(&mut self, starts: &mut [Start]) -> Result<(), TraceError> {
        for starts in by_shader(starts) {
            let shader = starts[0].callee.shader;
            let mut frames = core::mem::take(&mut self.called);
            frames.clear();
            self.frames.get_mut(shader as usize).ok_or(TraceError::Internal)?.take(starts.len(), &mut frames)?;
            self.prepare(shader, starts, &frames)?;
            for (&Start { launch, caller, depth, .. }, &frame) in starts.iter().zip(&frames) {
                let invocation = self.invocations.add(Invocation { shader, frame, launch, caller, depth, point: 0 });
                self.queues.add((shader, 0), depth, Queued { launch, invocation });
            }
            self.called = frames;
        }
        Ok(())
    }

    /// Sets the inputs of invocations of a shader, which begin with these frames.
    pub fn prepare(&mut self, shader: u32, starts: &[Start], frames: &[u32]) -> Result<(), TraceError> {
        if starts.iter().any(|start| start.depth >= self.launch.max_depth) {
            return Err(TraceError::TooDeep);
        }
        self.set_inputs(shader, starts, frames)?;
        self.copy_data(shader, frames, |i| starts[i].caller, Direction::FromCaller)
    }

    /// Frees invocations of a shader that have ended, and continues their callers.
    fn end_all(&mut self, shader: u32, ended: &[u32]) -> Result<(), TraceError> {
        let mut frames = core::mem::take(&mut self.called);
        frames.clear();
        base::alloc::or_unwind(base::alloc::reserve(&mut frames, ended.len()));
        for &invocation in ended {
            frames.push(self.invocations.get(invocation)?.frame);
        }
        let mut callers = Vec::new();
        base::alloc::or_unwind(base::alloc::reserve(&mut callers, ended.len()));
        for &invocation in ended {
            callers.push(self.invocations.get(invocation)?.caller);
        }
        self.copy_data(shader, &frames, |i| callers[i], Direction::ToCaller)?;
        for (&invocation, &frame) in ended.iter().zip(&frames).rev() {
            self.invocations.remove(invocation)?;
            self.frames[shader as usize].release(frame);
        }
        self.called = frames;
        callers.into_iter().flatten().try_for_each(|caller| self.queue(caller))
    }

    /// Copies the payload or the callable data between invocations of a shader and their callers.
    /// Words that the caller does not have are 0 for the other one.
    pub fn copy_data(
        &mut self,
        shader: u32,
        frames: &[u32],
        caller: impl Fn(usize) -> Option<u32>,
        direction: Direction,
    ) -> Result<(), TraceError> {
        let plan = self.plans.get(shader as usize).ok_or(TraceError::Internal)?;
        let runs = match direction {
            Direction::FromCaller => &plan.data,
            Direction::ToCaller => &plan.results,
        };
        let mut first = 0;
        while first < frames.len() && !runs.is_empty() {
            let Some(one) = caller(first) else {
                first += 1;
                continue;
            };
            // Callers that wait at the same point are handled together.
            let Invocation { shader: of, point: number, .. } = *self.invocations.get(one)?;
            self.callers.clear();
            base::alloc::or_unwind(base::alloc::reserve(&mut self.callers, frames.len() - first));
            for other in (first..frames.len()).map_while(&caller) {
                let other = self.invocations.get(other)?;
                if (other.shader, other.point) != (of, number) {
                    break;
                }
                self.callers.push(other.frame);
            }
            let end = first + self.callers.len();
            let point = self.point(of, number)?;
            let results = point.operands.checked_sub(point.results).ok_or(TraceError::Internal)?;
            for run in runs {
                let own = FrameWords { shader, frames: &frames[first..end], first: run.own };
                let other = FrameWords { shader: of, frames: &self.callers, first: results + run.location };
                let count = run.count.min(point.data_words().saturating_sub(run.location));
                match direction {
                    Direction::FromCaller => {
                        copy_words(&mut self.frames, other, own, count)?;
                        self.frames[shader as usize].zero(own.frames, run.own + count..run.own + run.count);
                    }
                    Direction::ToCaller => copy_words(&mut self.frames, own, other, count)?,
                }
            }
            first = end;
        }
        Ok(())
    }
}

/// Direction in which data are copied.
#[derive(Clone, Copy)]
pub(super) enum Direction {
    FromCaller,
    ToCaller,
}

/// Sorts invocations by shader, and returns those of each shader, of which there is at least one.
pub(super) fn by_shader(starts: &mut [Start]) -> impl Iterator<Item = &[Start]> {
    let shader = |start: &Start| start.callee.shader;
    if !starts.is_sorted_by_key(shader) {
        starts.sort_by_key(shader);
    }
    starts.chunk_by(move |a, b| shader(a) == shader(b))
}
