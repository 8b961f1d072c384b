//! Traversals of the rays of a wave.
//!
//! A wave has few traversals, which fit into the processor's caches. A ray begins when there is a
//! slot for it, and takes over the memory of a ray that has ended. Shaders that decide about
//! candidates are therefore called for many rays at a time until the last rays of the wave have
//! begun. Rays that the tracer continues together are decided about while it does so.

#![forbid(unsafe_code)]

use super::launch::TraceError;
use super::state::{Slot, Traversals};
use super::tile::Tile;
use super::traversal::Tracer;
use crate::stage::{StageMemory, aborted};

/// Largest number of rays whose traversals go on at a time.
const SLOTS: usize = 128;

/// Largest number of rays that begin together.
const TOGETHER: usize = 32;

impl<T: Tracer> Tile<'_, T> {
    /// Traces the rays of the wave to their ends. The committed intersection of a ray that ends
    /// becomes that of the ray.
    pub fn trace_wave(&mut self, memory: &mut StageMemory) -> Result<(), TraceError> {
        let mut slots = core::mem::take(&mut self.slots);
        slots.iter_mut().for_each(|slot| slot.ray = None);
        let traced = self.trace_in(&mut slots, memory);
        self.slots = slots;
        traced
    }

    fn trace_in(&mut self, slots: &mut Vec<Slot<T::Traversal>>, memory: &mut StageMemory) -> Result<(), TraceError> {
        loop {
            self.proceed(slots.iter_mut().filter(|slot| slot.ray.is_some()), memory)?;
            self.begin_waiting(slots, memory)?;
            let mut traversals: [Option<&mut T::Traversal>; SLOTS] = [const { None }; SLOTS];
            self.wave.active.clear();
            base::alloc::or_unwind(base::alloc::reserve(&mut self.wave.active, slots.len()));
            for (place, (slot, to)) in slots.iter_mut().zip(&mut traversals).enumerate() {
                let Some(ray) = slot.ray else { continue };
                self.trace(ray).place = place as u32;
                self.wave.active.push(ray);
                *to = Some(&mut slot.traversal);
            }
            if self.wave.active.is_empty() || aborted(&self.launch.context) {
                return Ok(());
            }
            self.decide(&mut traversals, memory)?;
        }
    }

    /// Begins the traversals of rays that have not begun, as long as there are free slots.
    fn begin_waiting(
        &mut self,
        slots: &mut Vec<Slot<T::Traversal>>,
        memory: &mut StageMemory,
    ) -> Result<(), TraceError> {
        let tracer = self.launch.tracer;
        let mut free = slots.iter().filter(|slot| slot.ray.is_none()).count();
        while self.wave.begun < self.wave.rays.len() {
            if free < TOGETHER {
                let more = SLOTS.saturating_sub(slots.len()).min(TOGETHER);
                if more == 0 {
                    break;
                }
                base::alloc::or_unwind(base::alloc::reserve(slots, more));
                slots.extend((0..more).map(|_| Slot { ray: None, traversal: tracer.ended() }));
                free += more;
            }
            let mut begin: [Option<&mut Slot<T::Traversal>>; TOGETHER] = [const { None }; TOGETHER];
            let unused = slots.iter_mut().filter(|slot| slot.ray.is_none());
            for (place, slot) in begin.iter_mut().zip(unused) {
                let number = self.wave.begun;
                let Some(trace) = self.wave.rays.get(number) else { break };
                slot.ray = Some(number as u32);
                tracer.begin(&mut slot.traversal, self.wave.opened(trace.structure), &trace.ray);
                *place = Some(slot);
                self.wave.begun += 1;
            }
            free -= self.proceed(begin.into_iter().flatten(), memory)?;
        }
        Ok(())
    }

    /// Continues traversals up to their next candidates, which become the rays' intersections, or
    /// to their ends, and returns the number of those that go on.
    fn proceed<'s>(
        &mut self,
        slots: impl Iterator<Item = &'s mut Slot<T::Traversal>>,
        memory: &mut StageMemory,
    ) -> Result<usize, TraceError>
    where
        T::Traversal: 's,
    {
        let tracer = self.launch.tracer;
        let mut traversals: [Option<&mut T::Traversal>; SLOTS] = [const { None }; SLOTS];
        let mut owners: [Option<&mut Option<u32>>; SLOTS] = [const { None }; SLOTS];
        let (mut numbers, mut count) = ([0; SLOTS], 0);
        for (place, slot) in slots.enumerate().take(SLOTS) {
            numbers[place] = slot.ray.unwrap_or(u32::MAX);
            (traversals[place], owners[place]) = (Some(&mut slot.traversal), Some(&mut slot.ray));
            count += 1;
        }
        let traversals = &mut traversals[..count];
        let mut decided = Ok(());
        tracer.proceed(traversals, &mut |positions, together| {
            if decided.is_ok() {
                let rays = positions.iter().map(|&position| numbers[position as usize % SLOTS]);
                decided = self.decide_together(rays, together, memory);
            }
            if decided.is_err() || aborted(&self.launch.context) {
                together.iter_mut().flatten().for_each(|traversal| tracer.terminate(traversal));
            }
        });
        decided?;
        let mut going_on = 0;
        for (traversal, owner) in traversals.iter().flatten().zip(owners.into_iter().flatten()) {
            let Some(trace) = owner.and_then(|number| self.wave.rays.get_mut(number as usize)) else { continue };
            match tracer.candidate(traversal) {
                Some(candidate) => {
                    trace.meet(candidate, tracer.t_max(traversal));
                    going_on += 1;
                }
                None => {
                    trace.end(tracer.committed(traversal));
                    *owner = None;
                }
            }
        }
        Ok(going_on)
    }

    /// Decides about the candidates of rays that the tracer continues together.
    fn decide_together(
        &mut self,
        rays: impl Iterator<Item = u32>,
        traversals: &mut Traversals<'_, T::Traversal>,
        memory: &mut StageMemory,
    ) -> Result<(), TraceError> {
        let tracer = self.launch.tracer;
        self.wave.active.clear();
        base::alloc::or_unwind(base::alloc::reserve(&mut self.wave.active, traversals.len()));
        for (place, (ray, traversal)) in rays.zip(&*traversals).enumerate() {
            let traversal = traversal.as_deref().ok_or(TraceError::Internal)?;
            let candidate = tracer.candidate(traversal).ok_or(TraceError::Internal)?;
            let trace = self.wave.rays.get_mut(ray as usize).ok_or(TraceError::Internal)?;
            trace.meet(candidate, tracer.t_max(traversal));
            trace.place = place as u32;
            self.wave.active.push(ray);
        }
        self.decide(traversals, memory)
    }
}
