//! Rays that are traced together: all for which invocations of a tile wait at a time.
//!
//! A wave has few traversals, which fit into the processor's caches. A ray begins when there is one
//! for it, and takes over the memory of a ray that has ended. Shaders that decide about candidates
//! are therefore called for many rays at a time until the last rays of the wave have begun.

#![forbid(unsafe_code)]

use super::state::{Hit, Trace};
use super::traversal::Tracer;

/// Largest number of rays whose traversals go on at a time.
const SLOTS: usize = 128;

/// Largest number of rays that begin together.
const TOGETHER: usize = 32;

/// Memory of a traversal.
struct Slot<R> {
    /// The ray, by its number in the wave, whose traversal goes on.
    ray: Option<u32>,
    traversal: R,
}

/// Rays that are traced together. A ray is known by its number.
pub(super) struct Wave<T: Tracer> {
    pub rays: Vec<Trace>,
    /// Number of rays that have begun.
    begun: usize,
    /// The structures of the rays.
    structures: Vec<(u64, T::Structure)>,
    slots: Vec<Slot<T::Traversal>>,
    /// Numbers of the rays whose traversals go on, in the order of slots.
    pub active: Vec<u32>,
}

impl<T: Tracer> Default for Wave<T> {
    fn default() -> Self {
        Wave { rays: Vec::new(), begun: 0, structures: Vec::new(), slots: Vec::new(), active: Vec::new() }
    }
}

impl<T: Tracer> Wave<T> {
    /// Forgets all rays, and makes room for `rays` others.
    pub fn clear(&mut self, rays: usize) {
        (self.begun, self.rays) = (0, core::mem::take(&mut self.rays));
        self.rays.clear();
        self.structures.clear();
        self.active.clear();
        self.slots.iter_mut().for_each(|slot| slot.ray = None);
        base::alloc::or_unwind(base::alloc::reserve(&mut self.rays, rays));
    }

    /// Returns the number of the structure at an address for the rays of the wave.
    pub fn structure(&mut self, tracer: &T, address: u64) -> u32 {
        // The rays of a wave usually have one structure.
        if self.structures.last().is_none_or(|last| last.0 != address) {
            let opened = (address, tracer.open(address));
            base::alloc::or_unwind(base::alloc::push(&mut self.structures, opened));
        }
        self.structures.len() as u32 - 1
    }

    /// Returns a structure of the wave.
    pub fn opened(&self, structure: u32) -> &T::Structure {
        &self.structures[structure as usize].1
    }

    /// Returns the traversal of a ray, which goes on.
    pub fn traversal(&self, ray: &Trace) -> &T::Traversal {
        &self.slots[ray.slot as usize].traversal
    }

    /// Returns the traversal of the ray with a number, which goes on.
    pub fn traversal_mut(&mut self, ray: u32) -> &mut T::Traversal {
        &mut self.slots[self.rays[ray as usize].slot as usize].traversal
    }

    /// Continues the traversals that go on up to their next candidates, which become the rays'
    /// intersections, and begins those of further rays. The committed intersection of a ray that
    /// ends becomes that of the ray. Returns false if no traversal goes on.
    pub fn proceed(&mut self, tracer: &T) -> bool {
        let continued = self.slots.iter_mut().filter(|slot| slot.ray.is_some());
        proceed_all(continued, &mut self.rays, tracer);
        let mut free = self.slots.iter().filter(|slot| slot.ray.is_none()).count();
        while self.begun < self.rays.len() {
            if free < TOGETHER {
                let more = SLOTS.saturating_sub(self.slots.len()).min(TOGETHER);
                if more == 0 {
                    break;
                }
                base::alloc::or_unwind(base::alloc::reserve(&mut self.slots, more));
                self.slots.extend((0..more).map(|_| Slot { ray: None, traversal: tracer.ended() }));
                free += more;
            }
            free -= self.begin(tracer);
        }
        self.active.clear();
        base::alloc::or_unwind(base::alloc::reserve(&mut self.active, self.slots.len()));
        self.active.extend(self.slots.iter().filter_map(|slot| slot.ray));
        !self.active.is_empty()
    }

    /// Begins the traversals of the next rays, of which up to [`TOGETHER`] fit into free slots, and
    /// returns the number of those that go on.
    fn begin(&mut self, tracer: &T) -> usize {
        let Wave { rays, begun, structures, slots, .. } = self;
        let free = slots.iter_mut().enumerate().filter(|(_, slot)| slot.ray.is_none());
        let waiting = rays.iter_mut().enumerate().skip(*begun).take(TOGETHER);
        let mut begin: [Option<&mut Slot<T::Traversal>>; TOGETHER] = [const { None }; TOGETHER];
        let mut count = 0;
        for ((place, (number, ray)), (at, slot)) in begin.iter_mut().zip(waiting).zip(free) {
            ray.slot = at as u32;
            slot.ray = Some(number as u32);
            tracer.begin(&mut slot.traversal, &structures[ray.structure as usize].1, &ray.ray);
            *place = Some(slot);
            count += 1;
        }
        *begun += count;
        proceed_all(begin.into_iter().flatten(), rays, tracer)
    }
}

/// Continues traversals up to their next candidates or their ends, and returns the number of those
/// that go on.
fn proceed_all<'a, T: Tracer>(
    slots: impl Iterator<Item = &'a mut Slot<T::Traversal>>,
    rays: &mut [Trace],
    tracer: &T,
) -> usize
where
    T::Traversal: 'a,
{
    let mut traversals: [Option<&mut T::Traversal>; SLOTS] = [const { None }; SLOTS];
    let mut owners: [Option<&mut Option<u32>>; SLOTS] = [const { None }; SLOTS];
    let mut count = 0;
    for ((place, owner), slot) in traversals.iter_mut().zip(&mut owners).zip(slots) {
        (*place, *owner) = (Some(&mut slot.traversal), Some(&mut slot.ray));
        count += 1;
    }
    let traversals = &mut traversals[..count];
    tracer.proceed(traversals);
    let mut going_on = 0;
    for (traversal, owner) in traversals.iter().flatten().zip(owners.into_iter().flatten()) {
        let Some(ray) = owner.and_then(|number| rays.get_mut(number as usize)) else { continue };
        match tracer.candidate(traversal) {
            Some(candidate) => {
                ray.hit = Some(Hit::new(candidate));
                going_on += 1;
            }
            None => {
                ray.end(tracer.committed(traversal));
                *owner = None;
            }
        }
    }
    going_on
}
