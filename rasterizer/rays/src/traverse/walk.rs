//! The walk from node to node of one structure, up to the next leaf.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over axes index several arrays")]

use super::ray::BoxRay;
use crate::layout::{INDEX, LEAF, node_row};
use crate::view::{NodeRef, View};
use base::host::{Floats, Host, Ints};

/// Number of entries of the stack.
pub const STACK: usize = 64;

/// Bit of an entry's child that marks a group: further children of a node, which are not separate
/// entries because there is no room for them.
const GROUP: u32 = 1 << 30;

/// Children that remain to be visited. An entry has a child's word below and the bits of the
/// distance above, which order as the distances do. In a group the lowest 8 bits of the distance
/// are the mask of the node's children that remain.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Stack {
    entries: [u64; STACK],
    length: u32,
}

/// A child to visit next.
#[derive(Clone, Copy)]
pub struct Entry(u64);

impl Entry {
    /// Makes an entry of a child and its distance, which is not negative.
    #[inline(always)]
    pub fn new(child: u32, distance: f32) -> Entry {
        Entry(u64::from(child) | u64::from(distance.to_bits()) << 32)
    }

    #[inline(always)]
    fn from_bits(child: u32, distance: u32) -> Entry {
        Entry(u64::from(child) | u64::from(distance) << 32)
    }

    #[inline(always)]
    fn group(node: u32, mask: u32, distance: f32) -> Entry {
        Entry(u64::from(node | GROUP) | u64::from(distance.to_bits() & !0xff | mask) << 32)
    }

    /// Returns the child's word.
    #[inline(always)]
    pub fn child(self) -> u32 {
        self.0 as u32
    }

    /// Returns the distance, or one that is not greater.
    #[inline(always)]
    pub fn distance(self) -> f32 {
        let mask = if self.child() & (LEAF | GROUP) == GROUP { !0xff } else { !0 };
        f32::from_bits((self.0 >> 32) as u32 & mask)
    }

    #[inline(always)]
    fn mask(self) -> u32 {
        if self.child() & GROUP != 0 { (self.0 >> 32) as u32 & 0xff } else { 0xff }
    }
}

impl Stack {
    /// The empty stack.
    pub const EMPTY: Stack = Stack { entries: [0; STACK], length: 0 };

    /// Returns the number of entries.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.length
    }

    /// Removes the entries above the first `length`.
    #[inline(always)]
    pub fn truncate(&mut self, length: u32) {
        self.length = self.length.min(length);
    }

    /// Adds an entry. Trees of the builder leave room for it; an entry that does not fit is lost.
    #[inline(always)]
    pub fn push(&mut self, entry: Entry) {
        let at = self.length as usize;
        if at < STACK {
            self.entries[at] = entry.0;
            self.length += 1;
        }
    }

    #[inline(always)]
    fn pop(&mut self, base: u32) -> Option<Entry> {
        if self.length <= base {
            return None;
        }
        self.length -= 1;
        Some(Entry(self.entries[self.length as usize % STACK]))
    }
}

/// The structure that is walked, and how.
#[derive(Clone, Copy)]
pub struct Level<'a> {
    /// The structure.
    pub view: &'a View,
    /// The ray in its space.
    pub ray: &'a BoxRay,
    /// Number of entries of the stack that belong to the structure above.
    pub base: u32,
    /// Number of entries up to which children have entries of their own. The others are left for
    /// groups, one for each level of the tree below.
    pub room: u32,
    /// Beginning of the ray's interval.
    pub t_min: f32,
}

/// Vectors of a ray.
struct Lanes<H: Host> {
    near_origin: [H::Floats; 3],
    far_origin: [H::Floats; 3],
    near_inverse: [H::Floats; 3],
    far_inverse: [H::Floats; 3],
    t_min: H::Floats,
}

#[inline(always)]
fn splat<H: Host>([x, y, z]: [f32; 3]) -> [H::Floats; 3] {
    [H::Floats::splat(x), H::Floats::splat(y), H::Floats::splat(z)]
}

/// Tests the children of a node; returns a mask of those that are hit, and all distances.
#[inline(always)]
fn test<H: Host>(node: NodeRef, lanes: &Lanes<H>, rows: [usize; 3], t_max: f32) -> (u32, H::Floats) {
    let mut near = lanes.t_min;
    let mut far = H::Floats::splat(t_max);
    for axis in 0..3 {
        let near_plane = node.row::<H>(node_row::MIN + axis + rows[axis]);
        let far_plane = node.row::<H>(node_row::MAX + axis - rows[axis]);
        near = ((near_plane - lanes.near_origin[axis]) * lanes.near_inverse[axis]).max(near);
        far = ((far_plane - lanes.far_origin[axis]) * lanes.far_inverse[axis]).min(far);
    }
    (far.greater_or_equal(near).movemask(), near)
}

/// Visits nodes until a leaf is reached, and returns it with its distance; `None` if the structure
/// has no further one. `t_max` is the distance behind which nothing matters; `steps` is the number
/// of nodes that may still be visited.
#[inline(always)]
pub fn next_leaf<H: Host>(level: &Level, stack: &mut Stack, t_max: f32, steps: &mut u64) -> Option<Entry> {
    let rows = level.ray.near_rows();
    let lanes = Lanes::<H> {
        near_origin: splat::<H>(level.ray.near_origin),
        far_origin: splat::<H>(level.ray.far_origin),
        near_inverse: splat::<H>(level.ray.near_inverse),
        far_inverse: splat::<H>(level.ray.far_inverse),
        t_min: H::Floats::splat(level.t_min),
    };
    let mut entry = stack.pop(level.base)?;
    loop {
        if entry.distance() > t_max {
            entry = stack.pop(level.base)?;
            continue;
        }
        if entry.child() & LEAF != 0 {
            return Some(entry);
        }
        *steps = steps.checked_sub(1)?;
        let index = entry.child() & INDEX & !GROUP;
        let Some(node) = level.view.node(index) else {
            entry = stack.pop(level.base)?;
            continue;
        };
        let (hit, near) = test::<H>(node, &lanes, rows, t_max);
        let hit = hit & entry.mask();
        if hit == 0 {
            entry = stack.pop(level.base)?;
            continue;
        }
        let distances = near.bits().to_array();
        let at = |slot: u32| Entry::from_bits(node.child(slot as usize), distances[slot as usize & 7]);
        let (first, rest) = (hit.trailing_zeros(), hit & (hit - 1));
        if rest == 0 {
            entry = at(first);
            continue;
        }
        let (second, more) = (rest.trailing_zeros(), rest & (rest - 1));
        if stack.length + hit.count_ones() > level.room {
            entry = push_group(stack, index, hit, &distances, node);
            continue;
        }
        let (a, b) = (at(first), at(second));
        let (mut nearest, further) = if b.0 < a.0 { (b, a) } else { (a, b) };
        if more == 0 {
            stack.push(further);
            entry = nearest;
            continue;
        }
        // The entries are sorted by insertion, the nearest one last.
        let base = stack.length as usize;
        stack.push(further);
        let mut more = more;
        while more != 0 {
            let mut new = at(more.trailing_zeros());
            more &= more - 1;
            if new.0 < nearest.0 {
                (new, nearest) = (nearest, new);
            }
            let mut place = stack.length as usize;
            stack.push(new);
            while place > base && stack.entries[(place - 1) % STACK] < new.0 {
                stack.entries[place % STACK] = stack.entries[(place - 1) % STACK];
                place -= 1;
            }
            stack.entries[place % STACK] = new.0;
        }
        entry = nearest;
    }
}

/// Adds a group of all children that are hit but the nearest, which is returned.
#[cold]
fn push_group(stack: &mut Stack, index: u32, hit: u32, distances: &[u32; 8], node: NodeRef) -> Entry {
    let mut nearest = hit.trailing_zeros() as usize & 7;
    for slot in 0..8 {
        if hit >> slot & 1 != 0 && distances[slot] < distances[nearest] {
            nearest = slot;
        }
    }
    let distance = distances[nearest];
    stack.push(Entry::group(index, hit & !(1 << nearest), f32::from_bits(distance)));
    Entry::from_bits(node.child(nearest), distance)
}
