//! The bytes of nodes: bounds of children, and the orders in which rays visit them.

use crate::layout::{NODE_BYTES, WIDTH, bytes_of, node_row};
use crate::leaf::VectorBounds;
use crate::vec4::F32x4;
use base::host::{Floats, Host, Ints};
use base::mem::DeviceMemory;

/// A child of a node that is written.
#[derive(Clone, Copy)]
pub struct Child {
    /// The child's word in the node; 0 for none.
    pub word: u32,
    /// Bounds of the child.
    pub bounds: VectorBounds,
}

impl Child {
    /// Returns no child.
    #[inline(always)]
    pub fn none() -> Child {
        Child { word: 0, bounds: VectorBounds::empty() }
    }
}

/// Slots of a node as floats.
const SLOTS: [f32; WIDTH] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

/// For each slot, 1 in those after it.
const IS_AFTER: [[u32; WIDTH]; WIDTH] = {
    let mut rows = [[0; WIDTH]; WIDTH];
    let mut i = 0;
    while i < WIDTH * WIDTH {
        rows[i / WIDTH][i % WIDTH] = (i % WIDTH > i / WIDTH) as u32;
        i += 1;
    }
    rows
};

/// Returns the row of orders of a node: for each octant, the slots by descending distance of the
/// boxes' centres along the octant's diagonal. `sums` has the sums of both bounds of each axis.
#[inline(always)]
fn visiting_orders<H: Host>(sums: [H::Ints; 3]) -> [u32; WIDTH] {
    let mut orders = [0; WIDTH];
    // A number of 0 to 7 times 2^(3 · place) is made by adding to the exponent of its float; the
    // number 0 becomes less than 1.
    let slots = H::Ints::from_array(SLOTS.map(f32::to_bits));
    for octant in 0..4u32 {
        let x = (sums[0] ^ H::Ints::splat((octant & 1) << 31)).as_floats();
        let y = (sums[1] ^ H::Ints::splat((octant >> 1 & 1) << 31)).as_floats();
        let z = (sums[2] ^ H::Ints::splat((octant >> 2 & 1) << 31)).as_floats();
        let distance = x + y + z;
        // Not-a-number has different bits on different processors.
        let farthest = H::Ints::splat(f32::NEG_INFINITY.to_bits());
        let bits = distance.greater_or_equal(distance).select(distance.bits(), farthest);
        // Integers order as the distances do; none is the least integer.
        let keys = bits ^ (bits.sar(31) & H::Ints::splat(i32::MAX as u32));
        let mut places = H::Ints::splat(0);
        for (other, &is_after) in IS_AFTER.iter().enumerate() {
            // Of equal keys, that of the lower slot comes first.
            let key = keys.broadcast_lane(other as u32);
            places = places - key.greater(keys - H::Ints::from_array(is_after));
        }
        let exponents = (places.shl(1) + places).shl(23);
        let forward = (slots + exponents).as_floats().truncate_to_int().to_array();
        let backward = (slots + H::Ints::splat(21 << 23) - exponents).as_floats().truncate_to_int().to_array();
        orders[octant as usize] = forward.into_iter().fold(0, |order, bits| order | bits);
        orders[7 - octant as usize] = backward.into_iter().fold(0, |order, bits| order | bits);
    }
    orders
}

/// Returns the first three rows of eight vectors as columns.
#[inline(always)]
fn rows([a, b, c, d, e, f, g, h]: [F32x4; WIDTH]) -> [[u32; WIDTH]; 3] {
    let (low, high) = (F32x4::transpose([a, b, c, d]), F32x4::transpose([e, f, g, h]));
    let mut rows = [[0; WIDTH]; 3];
    for (axis, row) in rows.iter_mut().enumerate() {
        row[..4].copy_from_slice(&low[axis].to_bits());
        row[4..].copy_from_slice(&high[axis].to_bits());
    }
    rows
}

/// Writes a node, and returns the bounds of its children.
#[inline(always)]
pub fn write_node<H: Host>(target: DeviceMemory, offset: u64, children: &[Child; WIDTH]) -> VectorBounds {
    let mut union = VectorBounds::empty();
    let (mut min, mut max) = ([union.min; WIDTH], [union.max; WIDTH]);
    for (slot, child) in children.iter().enumerate() {
        union = union.union(child.bounds);
        (min[slot], max[slot]) = (child.bounds.min, child.bounds.max);
    }
    let (min, max) = (rows(min), rows(max));
    let mut sums = [H::Ints::splat(0); 3];
    for (axis, sum) in sums.iter_mut().enumerate() {
        *sum = (H::Ints::from_array(min[axis]).as_floats() + H::Ints::from_array(max[axis]).as_floats()).bits();
    }
    let mut bytes = [0; NODE_BYTES as usize];
    let rows = bytes.as_chunks_mut::<{ WIDTH * 4 }>().0;
    for axis in 0..3 {
        rows[node_row::MIN + axis] = bytes_of(&min[axis]);
        rows[node_row::MAX + axis] = bytes_of(&max[axis]);
    }
    rows[node_row::CHILD] = bytes_of(&children.map(|child| child.word));
    rows[node_row::ORDER] = bytes_of(&visiting_orders::<H>(sums));
    target.write(offset, &bytes);
    union
}
