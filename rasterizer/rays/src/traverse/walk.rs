//! The walk from node to node of one structure: the children that remain, and visits of nodes.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over axes index several arrays")]

use super::ray::BoxRay;
use crate::layout::{INDEX, LEAF, node_row};
use crate::pack::{Pack, Packed};
use crate::view::{NodeRef, View};
use base::host::{Floats, Ints};

/// Number of entries of the stack.
pub const STACK: usize = 64;

/// Bit of an entry's child that marks a group: further children of a node, which are not separate
/// entries because there is no room for them.
const GROUP: u32 = 1 << 30;

/// Bits of a group's distance that are the mask of the node's children that remain.
const GROUP_MASK: u32 = 0xff;

/// Returns the number of entries up to which children have entries of their own, if room is left
/// for groups of a number of levels.
#[inline(always)]
pub fn room(depth: u32) -> u32 {
    (STACK as u32).saturating_sub(depth)
}

/// The structure that is walked, the ray in its space, and the children that remain to be visited.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Walk {
    /// Words of the children that remain.
    children: [u32; STACK],
    /// Bits of their distances, which are not negative. In a group the lowest 8 bits are the mask
    /// of the node's children that remain.
    distances: [u32; STACK],
    /// Number of entries.
    length: u32,
    /// Number of entries that belong to the structure above.
    base: u32,
    /// Number of entries up to which children have entries of their own. The others are left for
    /// groups, one for each level of the tree below.
    room: u32,
    /// Beginning of the interval: of the ray's, or of that of the instance's box.
    t_min: f32,
    /// Offsets of the rows of near and far planes in a node, by axis.
    rows: [[u8; 4]; 2],
    /// Octant of the direction: bit `axis` is set if the ray goes down.
    octant: u32,
    /// The ray in the structure's space.
    ray: BoxRay,
    /// The structure.
    view: View,
    /// Number of nodes and leaves that may still be visited.
    steps: u64,
}

/// A child to visit next.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The child's word.
    child: u32,
    /// Bits of its distance.
    distance: u32,
}

impl Entry {
    /// Returns the index of the leaf or instance; `None` if the child is a node.
    #[inline(always)]
    pub fn leaf(self) -> Option<u32> {
        (self.child & LEAF != 0).then_some(self.child & INDEX)
    }

    /// Returns the distance of a leaf.
    #[inline(always)]
    pub fn distance(self) -> f32 {
        f32::from_bits(self.distance)
    }

    #[inline(always)]
    fn is_group(self) -> bool {
        self.child & (LEAF | GROUP) == GROUP
    }
}

impl Walk {
    /// Number of the first bytes, which are the entries of the stack: those beyond its length may
    /// have any contents.
    pub const STACK_BYTES: usize = core::mem::offset_of!(Walk, length);

    /// The walk through no structure.
    pub const NONE: Walk = Walk {
        children: [0; STACK],
        distances: [0; STACK],
        length: 0,
        base: 0,
        room: 0,
        t_min: 0.0,
        rows: [[0; 4]; 2],
        octant: 0,
        ray: BoxRay::NONE,
        view: View::EMPTY,
        steps: 0,
    };

    /// Forgets all entries.
    pub fn clear(&mut self) {
        (self.length, self.base) = (0, 0);
    }

    /// Returns the structure.
    #[inline(always)]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Returns the ray in the structure's space.
    #[inline(always)]
    pub fn ray(&self) -> &BoxRay {
        &self.ray
    }

    /// Returns the beginning of the interval.
    #[inline(always)]
    pub fn t_min(&self) -> f32 {
        self.t_min
    }

    /// Returns the number of nodes and leaves that may still be visited.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Counts a leaf; returns false if there have been too many nodes and leaves.
    #[inline(always)]
    pub fn count_leaf(&mut self) -> bool {
        let may = self.steps != 0;
        self.steps = self.steps.saturating_sub(1);
        may
    }

    /// Continues in a structure, of which no entry has been visited yet. `depth` is the number of
    /// levels for which room is left for groups.
    #[inline(always)]
    pub fn enter(&mut self, view: View, ray: BoxRay, t_min: f32, depth: u32, steps: u64) {
        (self.base, self.room) = (self.length, room(depth));
        (self.rows, self.octant) = ray.rows_and_octant();
        (self.view, self.ray, self.t_min, self.steps) = (view, ray, t_min, steps);
    }

    /// Adds the root as an entry. Trees of the builder leave room for it; an entry that does not
    /// fit is lost.
    #[inline(always)]
    pub fn push_root(&mut self, distance: f32) {
        self.push(Entry { child: 0, distance: distance.to_bits() });
    }

    /// Continues in the structure above with the entries that remain.
    pub fn leave(&mut self, view: View, ray: BoxRay, t_min: f32, depth: u32, steps: u64) {
        self.length = self.length.min(self.base);
        self.enter(view, ray, t_min, depth, steps);
        self.base = 0;
    }

    /// Forgets all entries and continues in a structure with those that are pushed afterwards.
    pub fn resume(&mut self, view: View, ray: BoxRay, t_min: f32, depth: u32, steps: u64) {
        self.clear();
        self.enter(view, ray, t_min, depth, steps);
    }

    /// Makes the entries so far those of the structure above.
    pub fn set_base(&mut self) {
        self.base = self.length;
    }

    /// Adds a child that is visited before all other entries.
    #[inline(always)]
    pub fn push_child(&mut self, child: u32, distance: f32) {
        self.push(Entry { child, distance: distance.to_bits() });
    }

    /// Returns true if neither this structure nor the one above has an entry.
    pub fn is_empty(&self) -> bool {
        self.length.min(self.base) == 0
    }

    #[inline(always)]
    fn push(&mut self, entry: Entry) {
        let at = self.length as usize;
        if at < STACK {
            (self.children[at], self.distances[at]) = (entry.child, entry.distance);
            self.length += 1;
        }
    }

    /// Removes the next entry whose distance is at most `t_max`; `None` if the structure has no
    /// further one.
    #[inline(always)]
    pub fn pop(&mut self, t_max: f32) -> Option<Entry> {
        loop {
            if self.length <= self.base {
                return None;
            }
            self.length -= 1;
            let at = self.length as usize % STACK;
            let entry = Entry { child: self.children[at], distance: self.distances[at] };
            let is_behind = f32::from_bits(entry.distance) > t_max;
            if is_behind && !(entry.is_group() && f32::from_bits(entry.distance & !GROUP_MASK) <= t_max) {
                continue;
            }
            return Some(entry);
        }
    }

    /// Prefetches the child that is visited next. It is visited when the other rays have had their
    /// turn.
    #[inline(always)]
    pub fn prefetch_next(&self) {
        if self.length > self.base {
            self.view.prefetch(self.children[(self.length as usize - 1) % STACK]);
        }
    }

    /// Visits a node: its children that are hit become entries. Returns false if there have been
    /// too many nodes.
    #[inline(always)]
    pub fn visit<H: Pack>(&mut self, entry: Entry, t_max: f32) -> bool {
        let Some(steps) = self.steps.checked_sub(1) else { return false };
        self.steps = steps;
        let index = entry.child & INDEX & !GROUP;
        let Some(node) = self.view.node(index) else { return true };
        let (near, mut far) = self.test::<H>(node, t_max);
        if entry.is_group() {
            let members = H::Ints::from_mask(entry.distance & GROUP_MASK);
            far = members.select(far.bits(), H::Ints::splat(f32::NEG_INFINITY.to_bits())).as_floats();
        }
        let children = node.row::<H>(node_row::CHILD).bits();
        let at = self.length as usize;
        let room = self.room.min(STACK as u32) as usize;
        if at + 8 > room {
            let hit = far.greater_or_equal(near).movemask();
            self.push_group(index, hit, node.order(self.octant), near.bits().to_array(), children.to_array());
            return true;
        }
        let Packed { children, distances, count } = H::pack(near, far, children, node.order(self.octant));
        if let Some(places) = self.children.get_mut(at..at + 8) {
            places.copy_from_slice(&children);
        }
        if let Some(places) = self.distances.get_mut(at..at + 8) {
            places.copy_from_slice(&distances);
        }
        self.length += count;
        true
    }

    /// Tests the children of a node; returns near and far distances.
    #[inline(always)]
    fn test<H: Pack>(&self, node: NodeRef, t_max: f32) -> (H::Floats, H::Floats) {
        let ray = &self.ray;
        let mut near = H::Floats::splat(self.t_min);
        let mut far = H::Floats::splat(t_max);
        for axis in 0..3 {
            let [near_plane, far_plane] = self.rows.map(|rows| node.row_at::<H>(rows[axis]));
            let [near_origin, far_origin] = [ray.near_origin[axis], ray.far_origin[axis]].map(H::Floats::splat);
            let [near_inverse, far_inverse] = [ray.near_inverse[axis], ray.far_inverse[axis]].map(H::Floats::splat);
            near = ((near_plane - near_origin) * near_inverse).max(near);
            far = ((far_plane - far_origin) * far_inverse).min(far);
        }
        (near, far)
    }

    /// Adds an entry for the child that comes first, and a group of all others that are hit.
    #[cold]
    fn push_group(&mut self, index: u32, hit: u32, order: u32, near: [u32; 8], children: [u32; 8]) {
        let in_order = (0..8).rev().map(|place| (order >> (3 * place) & 7) as usize);
        let Some(first) = in_order.into_iter().find(|&slot| hit >> slot & 1 != 0) else { return };
        let rest = hit & !(1 << first);
        if rest != 0 {
            let nearest = (0..8).filter(|&slot| rest >> slot & 1 != 0).map(|slot| near[slot]).min();
            let distance = nearest.unwrap_or(0) & !GROUP_MASK | rest;
            self.push(Entry { child: index | GROUP, distance });
        }
        self.push(Entry { child: children[first], distance: near[first] });
    }
}
