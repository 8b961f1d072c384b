//! The walk from node to node of one structure: the children that remain, and visits of nodes.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over axes index several arrays")]

use super::ray::{BoxRay, Rows};
use crate::layout::{INDEX, LEAF, MAX_DEPTH};
use crate::pack::{Pack, Packed};
use crate::view::{NodeRef, NodeRow, View};
use base::host::{Floats, Ints};

/// Number of entries of the stack.
pub const STACK: usize = 64;

/// Child of an entry that ends the entries of a structure. The entries of the structure above are
/// below it. Its bit [`LEAF`] separates it from nodes ([`Walk::next_is_leaf`]).
const END: u32 = LEAF | GROUP;

/// Bit of an entry's child that marks a group: further children of a node, which are not separate
/// entries because there is no room for them. [`NodeRef::children`] removes the bit from what is
/// read of memory.
const GROUP: u32 = 1 << 30;

/// Bits of a group's distance that are the mask of the node's children that remain.
const GROUP_MASK: u32 = 0xff;

/// The rows of no ray.
const NO_ROWS: Rows = [[NodeRow::new(0); 4]; 2];

/// The order of [`Pack::pack`] in which lanes keep their places.
const IN_PLACE: u32 = 0o7654_3210;

/// Returns the number of levels for which a top-level structure leaves entries: its own, and those
/// of an instance with an entry that ends it.
#[inline(always)]
pub fn levels_of_top(view: &View) -> u32 {
    view.depth() + MAX_DEPTH + 1
}

/// Returns the number of entries up to which children have entries of their own, if room is left
/// for groups of a number of levels.
#[inline(always)]
pub fn room(depth: u32) -> u32 {
    (STACK as u32).saturating_sub(depth)
}

/// The structure that is walked, the ray in its space, and the children that remain to be visited.
///
/// No entry is behind the end of the ray's interval, because [`Walk::drop_behind`] removes those
/// that are when the interval becomes shorter. An entry can therefore be taken without a test.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Walk {
    /// Words of the children that remain, [`GROUP`]s and [`END`]s.
    children: [u32; STACK],
    /// Bits of their distances, which are not negative. In a group the lowest 8 bits are the mask
    /// of the node's children that remain.
    distances: [u32; STACK],
    /// Number of entries.
    length: u32,
    /// Greatest number of entries below the children of a node that become entries of their own.
    /// Above it there is only room for groups, one for each level of the tree below.
    last_place: u32,
    /// Beginning of the interval: of the ray's, or of that of the instance's box.
    t_min: f32,
    /// Octant of the direction: bit `axis` is set if the ray goes down.
    octant: u32,
    /// Rows of near and far planes in a node.
    rows: Rows,
    /// Number of nodes and leaves that may still be visited.
    steps: u64,
    /// The structure.
    view: View,
    /// The ray in the structure's space.
    ray: BoxRay,
}

/// An entry that is no node.
#[derive(Clone, Copy)]
pub enum Entry {
    /// A leaf or instance: its index and its distance.
    Leaf(u32, f32),
    /// The end of the structure's entries. The structure above has further ones.
    End,
    /// The end of all entries.
    LastEnd,
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
        last_place: 0,
        t_min: 0.0,
        octant: 0,
        rows: NO_ROWS,
        steps: 0,
        view: View::EMPTY,
        ray: BoxRay::NONE,
    };

    /// Forgets all entries.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.length = 0;
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

    /// Counts a node or a leaf; returns false if there have been too many.
    #[inline(always)]
    pub fn count_step(&mut self) -> bool {
        let may = self.steps != 0;
        self.steps = self.steps.saturating_sub(1);
        may
    }

    /// Continues in a structure, of which no entry has been visited yet. `depth` is the number of
    /// levels for which room is left for groups.
    #[inline(always)]
    pub fn enter(&mut self, view: View, ray: BoxRay, t_min: f32, depth: u32, steps: u64) {
        self.last_place = room(depth).saturating_sub(8);
        (self.rows, self.octant) = ray.rows_and_octant();
        (self.view, self.ray, self.t_min, self.steps) = (view, ray, t_min, steps);
    }

    /// Forgets all entries and continues in a structure with those that are pushed afterwards.
    #[inline(always)]
    pub fn resume(&mut self, view: View, ray: BoxRay, t_min: f32, depth: u32, steps: u64) {
        self.clear();
        self.push_end();
        self.enter(view, ray, t_min, depth, steps);
    }

    /// Adds the root as an entry. Trees of the builder leave room for it; an entry that does not
    /// fit is lost.
    #[inline(always)]
    pub fn push_root(&mut self, distance: f32) {
        self.push_child(0, distance);
    }

    /// Makes the entries so far those of the structure above. If it has none, the end of all
    /// entries is also the end of those of the structure.
    #[inline(always)]
    pub fn push_end(&mut self) {
        if self.length != 1 {
            self.push(END, 0);
        }
    }

    /// Adds a child that is visited before all other entries.
    #[inline(always)]
    pub fn push_child(&mut self, child: u32, distance: f32) {
        self.push(child, distance.to_bits());
    }

    #[inline(always)]
    fn push(&mut self, child: u32, distance: u32) {
        let at = self.length as usize;
        if at < STACK {
            (self.children[at], self.distances[at]) = (child, distance);
            self.length += 1;
        }
    }

    /// Returns true if the entry that is visited next is no node.
    #[inline(always)]
    pub fn next_is_leaf(&self) -> bool {
        self.next() & LEAF != 0
    }

    /// Prefetches the child that is visited next, which happens when the other rays have had their
    /// turn; returns true if it is no node.
    #[inline(always)]
    pub fn prefetch_next(&self) -> bool {
        let next = self.next();
        self.view.prefetch(next);
        next & LEAF != 0
    }

    #[inline(always)]
    fn next(&self) -> u32 {
        self.children.get((self.length as usize).wrapping_sub(1)).copied().unwrap_or(END)
    }

    /// Removes the next entry, which is no node.
    #[inline(always)]
    pub fn pop(&mut self) -> Entry {
        let child = self.next();
        self.length = self.length.saturating_sub(1);
        if child & END == END {
            return if self.length == 0 { Entry::LastEnd } else { Entry::End };
        }
        let distance = self.distances.get(self.length as usize).copied().unwrap_or(0);
        Entry::Leaf(child & INDEX, f32::from_bits(distance))
    }

    /// Returns the distance of the entry that was removed last, if none was added since.
    pub fn popped_distance(&self) -> f32 {
        f32::from_bits(self.distances.get(self.length as usize).copied().unwrap_or(0))
    }

    /// Forgets the entries of the structure, which is not a tree: its steps are used up.
    #[cold]
    pub fn give_up(&mut self) {
        while self.next() & END != END {
            self.length -= 1;
        }
    }

    /// Removes entries whose distance is above `t_max`, and may keep those that are little above.
    #[inline(always)]
    pub fn drop_behind<H: Pack>(&mut self, t_max: f32) {
        // The lowest bits of a group's distance are no part of it. No distance is negative, so
        // bits order as distances do.
        let t_max = H::Floats::splat(f32::from_bits(t_max.to_bits() | GROUP_MASK)).bits();
        let (length, mut kept) = (self.length as usize, 0);
        for first in (0..length).step_by(8) {
            let row = |rows: &[u32; STACK]| rows.get(first..first + 8).and_then(|row| row.first_chunk()).copied();
            let (Some(children), Some(distances)) = (row(&self.children), row(&self.distances)) else { break };
            let exists = H::Ints::from_mask((1u32 << (length - first).min(8)) - 1);
            let far = exists.select(t_max, H::Ints::splat(f32::NEG_INFINITY.to_bits())).as_floats();
            let (near, children) = (H::Ints::from_array(distances).as_floats(), H::Ints::from_array(children));
            kept += self.store(kept, H::pack(near, far, children, IN_PLACE));
        }
        self.length = kept as u32;
    }

    /// Stores entries at a place and returns their number; places behind them have no meaning.
    #[inline(always)]
    fn store(&mut self, at: usize, Packed { children, distances, count }: Packed) -> usize {
        if let Some(places) = self.children.get_mut(at..at + 8) {
            places.copy_from_slice(&children);
        }
        if let Some(places) = self.distances.get_mut(at..at + 8) {
            places.copy_from_slice(&distances);
        }
        count as usize
    }

    /// Visits the next entry, which is a node: its children that are hit become entries.
    #[inline(always)]
    pub fn visit<H: Pack>(&mut self, t_max: f32) {
        let at = (self.length as usize).wrapping_sub(1);
        let Some(&child) = self.children.get(at) else { return };
        let Some(steps) = self.steps.checked_sub(1) else { return self.give_up() };
        (self.steps, self.length) = (steps, at as u32);
        let index = child & INDEX & !GROUP;
        let Some(node) = self.view.node(index) else { return };
        let (near, mut far) = self.test::<H>(node, t_max);
        if child & GROUP != 0 {
            let mask = self.distances.get(at).copied().unwrap_or(0) & GROUP_MASK;
            far = H::Ints::from_mask(mask).select(far.bits(), H::Ints::splat(f32::NEG_INFINITY.to_bits())).as_floats();
        }
        let children = node.children::<H>();
        if at > self.last_place as usize {
            let hit = far.greater_or_equal(near).movemask();
            self.push_group(index, hit, node.order(self.octant), near.bits().to_array(), children.to_array());
            return;
        }
        let count = self.store(at, H::pack(near, far, children, node.order(self.octant)));
        self.length = (at + count) as u32;
    }

    /// Tests the children of a node; returns near and far distances.
    #[inline(always)]
    fn test<H: Pack>(&self, node: NodeRef, t_max: f32) -> (H::Floats, H::Floats) {
        let ray = &self.ray;
        let mut near = H::Floats::splat(self.t_min);
        let mut far = H::Floats::splat(t_max);
        for axis in 0..3 {
            let (near_plane, far_plane) = (node.row_at::<H>(self.rows[0][axis]), node.row_at::<H>(self.rows[1][axis]));
            let to_near = near_plane - H::Floats::splat(ray.near_origin[axis]);
            let to_far = far_plane - H::Floats::splat(ray.far_origin[axis]);
            near = (to_near * H::Floats::splat(ray.near_inverse[axis])).max(near);
            far = (to_far * H::Floats::splat(ray.far_inverse[axis])).min(far);
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
            self.push(index | GROUP, distance);
        }
        self.push(children[first], near[first]);
    }
}
