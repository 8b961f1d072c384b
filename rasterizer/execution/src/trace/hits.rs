//! Any-hit and intersection shaders of rays that are traced together. They neither trace nor call,
//! so that each shader runs once for all candidates that it decides about.

#![forbid(unsafe_code)]

use super::launch::TraceError;
use super::state::{Attribute, Start};
use super::tile::{Direction, Tile, by_shader};
use super::traversal::{Tracer, ray_flags};
use crate::stage::{StageMemory, aborted};
use base::shader::{InvocationEnd, ReportIntersectionOperand, Stage, SuspendReason};

/// The end of the any-hit shader, if there is one, of a ray's current intersection.
struct Decision {
    ray: u32,
    end: InvocationEnd,
}

/// An intersection shader's invocation that begins or waits at a point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Reporter {
    point: u32,
    /// Place of the reporter among the invocations that have begun together.
    place: usize,
}

/// Invocations of an intersection shader that have begun together.
#[derive(Clone, Copy)]
struct Reporters<'a> {
    shader: u32,
    /// In the order of rays.
    starts: &'a [Start],
    frames: &'a [u32],
}

impl<T: Tracer> Tile<'_, T> {
    /// Runs the any-hit shaders of candidates, which accept or ignore them.
    pub fn decide_candidates(&mut self, starts: &mut [Start], memory: &mut StageMemory) -> Result<(), TraceError> {
        let mut decisions = Vec::new();
        self.run_any_hits(starts, memory, &mut decisions)?;
        let tracer = self.launch.tracer;
        for Decision { ray, end } in decisions {
            let accepted = end != InvocationEnd::Ignored;
            if accepted {
                tracer.confirm(self.traversal(ray));
            }
            self.ends_ray(ray, end, accepted);
        }
        Ok(())
    }

    /// Ends a ray's traversal if the decision demands it; returns true if so.
    fn ends_ray(&mut self, ray: u32, end: InvocationEnd, accepted: bool) -> bool {
        let first = accepted && self.trace(ray).ray.flags & ray_flags::TERMINATE_ON_FIRST_HIT != 0;
        let ends = first || end == InvocationEnd::Terminated;
        if ends {
            self.launch.tracer.terminate(self.traversal(ray));
        }
        ends
    }

    /// Runs any-hit shaders, and appends their ends in the order of shaders and rays.
    fn run_any_hits(
        &mut self,
        starts: &mut [Start],
        memory: &mut StageMemory,
        decisions: &mut Vec<Decision>,
    ) -> Result<(), TraceError> {
        let (mut frames, mut ends) = (Vec::new(), Vec::new());
        base::alloc::or_unwind(base::alloc::reserve(decisions, starts.len()));
        for starts in by_shader(starts) {
            let shader = starts[0].callee.shader;
            self.begin_together(shader, starts, &mut frames)?;
            self.call(shader, 0, &frames, &mut ends, memory)?;
            if aborted(&self.launch.context) {
                return Ok(());
            }
            self.copy_data(shader, &frames, |i| starts[i].caller, Direction::ToCaller)?;
            for (start, &end) in starts.iter().zip(&ends) {
                let (end, ray) = (InvocationEnd::from_word(end), start.ray.ok_or(TraceError::Internal)?);
                if matches!(end, InvocationEnd::Suspended(_)) {
                    return Err(TraceError::Internal);
                }
                decisions.push(Decision { ray, end });
            }
        }
        Ok(())
    }

    /// Prepares invocations of a shader of which no others are executed.
    fn begin_together(&mut self, shader: u32, starts: &[Start], frames: &mut Vec<u32>) -> Result<(), TraceError> {
        let of_shader = self.frames.get_mut(shader as usize).ok_or(TraceError::Internal)?;
        of_shader.take_first(starts.len(), frames)?;
        self.prepare(shader, starts, frames)
    }

    /// Runs intersection shaders of candidates.
    pub fn intersect(&mut self, starts: &mut [Start], memory: &mut StageMemory) -> Result<(), TraceError> {
        let mut frames = Vec::new();
        for starts in by_shader(starts) {
            let shader = starts[0].callee.shader;
            self.begin_together(shader, starts, &mut frames)?;
            let all = Reporters { shader, starts, frames: &frames };
            let begins = (0..starts.len()).map(|place| Reporter { point: 0, place });
            let mut waiting = base::alloc::or_unwind(base::alloc::collect(begins));
            while !waiting.is_empty() && !aborted(&self.launch.context) {
                self.continue_reporters(all, &mut waiting, memory)?;
            }
        }
        Ok(())
    }

    /// Runs those of the waiting invocations that have come least far, and answers what they
    /// report.
    fn continue_reporters(
        &mut self,
        all: Reporters<'_>,
        waiting: &mut Vec<Reporter>,
        memory: &mut StageMemory,
    ) -> Result<(), TraceError> {
        waiting.sort_unstable();
        let point = waiting.first().map_or(0, |first| first.point);
        let count = waiting.iter().take_while(|reporter| reporter.point == point).count();
        let called: Vec<usize> =
            base::alloc::or_unwind(base::alloc::collect(waiting.drain(..count).map(|reporter| reporter.place)));
        let frames = base::alloc::or_unwind(base::alloc::collect(called.iter().map(|&place| all.frames[place])));
        let mut ends = Vec::new();
        self.call(all.shader, point, &frames, &mut ends, memory)?;
        if aborted(&self.launch.context) {
            return Ok(());
        }
        let mut reports = Vec::new();
        for (&place, &end) in called.iter().zip(&ends) {
            if let InvocationEnd::Suspended(point) = InvocationEnd::from_word(end) {
                base::alloc::or_unwind(base::alloc::push(&mut reports, Reporter { point, place }));
            }
        }
        self.answer_reports(all, &reports, waiting, memory)
    }

    /// Decides about reported intersections, and appends the invocations that continue to those
    /// that wait.
    fn answer_reports(
        &mut self,
        all: Reporters<'_>,
        reports: &[Reporter],
        waiting: &mut Vec<Reporter>,
        memory: &mut StageMemory,
    ) -> Result<(), TraceError> {
        let (mut any_hits, mut decisions) = (Vec::new(), Vec::new());
        for &report in reports {
            if let Some(ray) = self.reported(all, report)? {
                match self.of_hit_group(ray, Stage::AnyHit)? {
                    Some(callee) => {
                        let start = self.start_of(ray, callee, 2);
                        base::alloc::or_unwind(base::alloc::push(&mut any_hits, start));
                    }
                    None => {
                        let decision = Decision { ray, end: InvocationEnd::Returned };
                        base::alloc::or_unwind(base::alloc::push(&mut decisions, decision));
                    }
                }
            }
        }
        self.run_any_hits(&mut any_hits, memory, &mut decisions)?;
        if aborted(&self.launch.context) {
            return Ok(());
        }
        decisions.sort_unstable_by_key(|decision| decision.ray);
        // Reports are in the order of rays, too.
        let mut decisions = decisions.into_iter().peekable();
        for &report in reports {
            let ray = all.starts[report.place].ray.ok_or(TraceError::Internal)?;
            // Without a decision the intersection was outside of the interval.
            let accepted = match decisions.next_if(|decision| decision.ray == ray) {
                Some(decision) => self.generate(&decision)?,
                None => Some(false),
            };
            if let Some(accepted) = accepted {
                let first = self.point(all.shader, report.point)?.operands - ReportIntersectionOperand::COUNT;
                let t_max = self.launch.tracer.t_max(self.traversal(ray));
                let results = [t_max.to_bits(), accepted.into()];
                let to = &mut self.frames[all.shader as usize];
                to.set_each(&[all.frames[report.place]], (first, 0, 2), |_| results)?;
                base::alloc::or_unwind(base::alloc::push(waiting, report));
            }
        }
        Ok(())
    }

    /// Makes a reported intersection the ray's current one, and returns the ray; `None` if it lies
    /// outside of the ray's interval.
    fn reported(&mut self, all: Reporters<'_>, report: Reporter) -> Result<Option<u32>, TraceError> {
        let point = self.point(all.shader, report.point)?;
        let words = point.operands.checked_sub(ReportIntersectionOperand::COUNT).ok_or(TraceError::Internal)?;
        if point.reason != SuspendReason::ReportIntersection {
            return Err(TraceError::Internal);
        }
        let (frame, ray) = (all.frames[report.place], all.starts[report.place].ray.ok_or(TraceError::Internal)?);
        let frames = &mut self.frames[all.shader as usize];
        let mut attribute = Attribute::default();
        let count = attribute.len().min(words as usize);
        frames.read(frame, 0, &mut attribute[..count]);
        let t = f32::from_bits(frames.get(frame, words + ReportIntersectionOperand::T as u32));
        let kind = frames.get(frame, words + ReportIntersectionOperand::Kind as u32);
        let t_max = self.launch.tracer.t_max(self.traversal(ray));
        if !(t >= self.trace(ray).ray.t_min && t <= t_max) {
            return Ok(None);
        }
        let hit = self.hit(ray)?;
        (hit.intersection.t, hit.kind, hit.attribute) = (t, kind, attribute);
        Ok(Some(ray))
    }

    /// Accepts or ignores a reported intersection. Returns whether it was accepted; `None` if the
    /// ray has ended, and with it the intersection shader.
    fn generate(&mut self, &Decision { ray, end }: &Decision) -> Result<Option<bool>, TraceError> {
        let hit = *self.hit(ray)?;
        let accepted =
            end != InvocationEnd::Ignored && self.launch.tracer.generate(self.traversal(ray), hit.intersection.t);
        if accepted {
            self.trace(ray).reported = Some((hit.kind, hit.attribute));
        }
        Ok(if self.ends_ray(ray, end, accepted) { None } else { Some(accepted) })
    }
}
