//! The scheduler of a tile: invocations, their queues, calls of shaders by shaders, and returns.

#![forbid(unsafe_code)]

use super::frames::Frames;
use super::launch::{GROUP_HANDLE_BYTES, Launch, ShaderTable, TraceError};
use super::plan::InputPlan;
use super::state::{Callee, Caller, Invocation, Slab, Trace};
use super::traversal::Tracer;
use crate::stage::{StageMemory, aborted};
use base::shader::{ExecuteCallableOperand, InvocationEnd, Stage, SuspendReason, SuspensionPoint};
use core::cmp::Reverse;

/// Invocations of a shader that wait at the same point, or begin.
struct Queue {
    shader: u32,
    point: u32,
    /// Depth of the invocation that was queued first.
    depth: u32,
    invocations: Vec<Queued>,
}

/// An invocation in a queue, which comes before others in the order of launch ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Queued {
    launch: u32,
    invocation: u32,
}

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
    pub traces: Slab<Trace<T::Traversal>>,
    /// The queues that have invocations.
    queues: Vec<Queue>,
    /// Memory of queues that have become empty.
    spare: Vec<Vec<Queued>>,
    /// Ends of a call.
    ends: Vec<u32>,
    /// Words that are being copied.
    copied: Vec<u32>,
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
            traces: Slab::default(),
            queues: Vec::new(),
            spare: Vec::new(),
            ends: Vec::new(),
            copied: Vec::new(),
        })
    }

    /// Forgets all launch ids, and keeps the memory.
    pub fn clear(&mut self) {
        self.frames.iter_mut().for_each(Frames::clear);
        self.invocations.clear();
        self.traces.clear();
        self.queues.clear();
    }

    /// Executes launch ids.
    pub fn run(&mut self, ids: Vec<[u32; 3]>, memory: &mut StageMemory) -> Result<(), TraceError> {
        let Some(callee) = self.callee(&self.launch.tables.ray_generation, 0, Stage::RayGeneration) else {
            return Ok(());
        };
        self.ids = ids;
        for launch in 0..self.ids.len() as u32 {
            self.start(callee, launch, Caller::Launch, 0)?;
        }
        while let Some(queue) = self.next_queue() {
            if aborted(&self.launch.context) {
                return Ok(());
            }
            self.run_queue(&queue, memory)?;
            self.spare.push(queue.invocations);
        }
        Ok(())
    }

    /// Returns the shader that a record of a table names.
    pub fn callee(&self, table: &ShaderTable, index: u64, stage: Stage) -> Option<Callee> {
        let address = table.record(index)?;
        let shader = self.launch.program.shader(self.launch.handles.group(address), stage)?;
        Some(Callee { shader, data: address.wrapping_add(GROUP_HANDLE_BYTES) })
    }

    /// Takes the fullest queue; among equals the most deeply nested one, because its callers can
    /// then continue together, and then that of the first shader and point.
    fn next_queue(&mut self) -> Option<Queue> {
        let order = |queue: &Queue| (Reverse((queue.invocations.len(), queue.depth)), queue.shader, queue.point);
        let at = (0..self.queues.len()).min_by_key(|&i| order(&self.queues[i]))?;
        let mut queue = self.queues.swap_remove(at);
        if !queue.invocations.is_sorted() {
            queue.invocations.sort_unstable();
        }
        Some(queue)
    }

    /// Queues an invocation, which begins or continues behind its point.
    pub fn queue(&mut self, invocation: u32) -> Result<(), TraceError> {
        let Invocation { shader, point, depth, launch, .. } = *self.invocations.get(invocation)?;
        let at = match self.queues.iter().position(|queue| (queue.shader, queue.point) == (shader, point)) {
            Some(at) => at,
            None => {
                let mut invocations = self.spare.pop().unwrap_or_default();
                invocations.clear();
                base::alloc::or_unwind(base::alloc::push(
                    &mut self.queues,
                    Queue { shader, point, depth, invocations },
                ));
                self.queues.len() - 1
            }
        };
        base::alloc::or_unwind(base::alloc::push(&mut self.queues[at].invocations, Queued { launch, invocation }));
        Ok(())
    }

    fn run_queue(&mut self, queue: &Queue, memory: &mut StageMemory) -> Result<(), TraceError> {
        let stage = self.launch.program.shaders.get(queue.shader as usize).ok_or(TraceError::Internal)?;
        let frames = self.frames.get_mut(queue.shader as usize).ok_or(TraceError::Internal)?;
        let invocations = &self.invocations;
        let of = queue.invocations.iter().map(|at| invocations.get(at.invocation).map_or(0, |one| one.frame));
        let mut ends = core::mem::take(&mut self.ends);
        frames.call(stage, &self.launch.context, memory, queue.point, of, &mut ends);
        // Ends are undefined if the abort flag is set.
        if aborted(&self.launch.context) {
            return Ok(());
        }
        let each = queue.invocations.iter().zip(&ends);
        let done = each.map(|(at, &end)| match InvocationEnd::from_word(end) {
            InvocationEnd::Suspended(point) => self.suspended(at.invocation, point),
            end => self.ended(at.invocation, stage.info.stage(), end),
        });
        let done = done.collect();
        self.ends = ends;
        done
    }

    /// Starts a shader for a caller, whose data it takes over.
    pub fn start(&mut self, callee: Callee, launch: u32, caller: Caller, depth: u32) -> Result<(), TraceError> {
        if depth >= self.launch.max_depth {
            return Err(TraceError::TooDeep);
        }
        let frame = self.frames[callee.shader as usize].take()?;
        let invocation = Invocation { shader: callee.shader, frame, launch, caller, depth, point: 0 };
        let at = self.invocations.add(invocation);
        self.set_inputs(invocation, callee.data)?;
        self.copy_data(invocation, Direction::FromCaller)?;
        self.queue(at)
    }

    /// Frees an invocation that has ended.
    pub fn remove(&mut self, invocation: u32) -> Result<Invocation, TraceError> {
        let one = *self.invocations.get(invocation)?;
        self.invocations.remove(invocation)?;
        self.frames[one.shader as usize].release(one.frame);
        Ok(one)
    }

    /// Returns the point at which an invocation waits.
    pub fn point(&self, invocation: u32) -> Result<SuspensionPoint, TraceError> {
        let one = self.invocations.get(invocation)?;
        self.frames[one.shader as usize].point(one.point)
    }

    /// Reads the first operands of the point at which an invocation waits.
    pub fn operands(&mut self, invocation: u32, to: &mut [u32]) -> Result<(), TraceError> {
        if (self.point(invocation)?.operands as usize) < to.len() {
            return Err(TraceError::Internal);
        }
        let one = *self.invocations.get(invocation)?;
        self.frames[one.shader as usize].read(one.frame, 0, to);
        Ok(())
    }

    /// Returns an operand of the point at which an invocation waits.
    pub fn operand(&mut self, invocation: u32, number: u32) -> Result<u32, TraceError> {
        let operands = self.point(invocation)?.operands;
        let one = *self.invocations.get(invocation)?;
        if number >= operands {
            return Err(TraceError::Internal);
        }
        Ok(self.frames[one.shader as usize].get(one.frame, number))
    }

    fn suspended(&mut self, invocation: u32, point: u32) -> Result<(), TraceError> {
        self.invocations.get_mut(invocation)?.point = point;
        match self.point(invocation)?.reason {
            SuspendReason::ExecuteCallable => self.execute_callable(invocation),
            SuspendReason::TraceRay => self.begin_trace(invocation),
            SuspendReason::ReportIntersection => self.report(invocation),
            SuspendReason::Barrier => Err(TraceError::Internal),
        }
    }

    fn execute_callable(&mut self, invocation: u32) -> Result<(), TraceError> {
        let index = self.operand(invocation, ExecuteCallableOperand::Index as u32)?;
        let one = *self.invocations.get(invocation)?;
        match self.callee(&self.launch.tables.callable, index.into(), Stage::Callable) {
            Some(callee) => self.start(callee, one.launch, Caller::Invocation(invocation), one.depth + 1),
            None => self.queue(invocation),
        }
    }

    fn ended(&mut self, invocation: u32, stage: Stage, end: InvocationEnd) -> Result<(), TraceError> {
        let one = *self.invocations.get(invocation)?;
        self.copy_data(one, Direction::ToCaller)?;
        self.remove(invocation)?;
        match (stage, one.caller) {
            (_, Caller::Launch) => Ok(()),
            (_, Caller::Invocation(caller)) => self.queue(caller),
            (Stage::AnyHit, Caller::Trace(trace)) => self.decide(trace, end),
            (Stage::Intersection, Caller::Trace(trace)) => self.advance(trace),
            (_, Caller::Trace(trace)) => self.end_trace(trace),
        }
    }

    /// Copies the payload or the callable data between an invocation and its caller. Words that
    /// only one of them has are not copied.
    fn copy_data(&mut self, one: Invocation, direction: Direction) -> Result<(), TraceError> {
        let caller = match one.caller {
            Caller::Launch => return Ok(()),
            Caller::Invocation(caller) => caller,
            Caller::Trace(trace) => self.traces.get(trace)?.caller,
        };
        let point = self.point(caller)?;
        let caller = *self.invocations.get(caller)?;
        let first = point.operands.checked_sub(point.results).ok_or(TraceError::Internal)?;
        let plan = self.plans.get(one.shader as usize).ok_or(TraceError::Internal)?;
        for run in &plan.data {
            let count = run.count.min(point.results.saturating_sub(run.location));
            let (own, other) = ((one, run.own), (caller, first + run.location));
            let (from, to) = match direction {
                Direction::FromCaller => (other, own),
                Direction::ToCaller => (own, other),
            };
            self.copied.clear();
            base::alloc::or_unwind(base::alloc::reserve(&mut self.copied, count as usize));
            self.copied.resize(count as usize, 0);
            self.frames[from.0.shader as usize].read(from.0.frame, from.1, &mut self.copied);
            self.frames[to.0.shader as usize].write(to.0.frame, to.1, &self.copied);
        }
        Ok(())
    }
}

/// Direction in which data are copied.
#[derive(Clone, Copy)]
enum Direction {
    FromCaller,
    ToCaller,
}
