//! Accesses at affine offsets whose lanes do not lie side by side: rows and columns of tiles,
//! fields of structures.
//!
//! The distances of the lanes from lane 0 are constants. One bounds check therefore covers all
//! lanes, and each has a constant distance from one address. Adjacent elements are loaded and
//! stored as vectors, and equal ones once.
//!
//! If the chunk is not in range as a whole, or some lanes do not write, a cold loop goes lane by
//! lane.

use super::Emitter;
use super::contiguous::Offsets;
use super::element_run::ElementRun;
use super::memory::{access_at_offset, trusted};
use super::value_rep::{BufferRange, ValueRep, scalar_type};
use crate::error::Result;
use crate::ir::{Ty, Value};
use crate::lir::{Access, AccessReason, IntCond, Type, Value as C};
use crate::passes::Steps;
use smallvec::{SmallVec, smallvec};

/// Number of lanes that are accessed together.
const GROUP_LANES: usize = 4;

/// Arrangement of the elements of a group of lanes.
enum LaneOrder {
    /// Each lane follows the one before it.
    Consecutive,
    /// All lanes have the same element.
    Equal,
    Any,
}

fn order(distances: &[i32], bytes: i32) -> LaneOrder {
    let first = distances[0];
    let is = |step: i32| (0..).zip(distances).all(|(i, &p)| p == first.wrapping_add(step.wrapping_mul(i)));
    match () {
        () if is(bytes) => LaneOrder::Consecutive,
        () if is(0) => LaneOrder::Equal,
        () => LaneOrder::Any,
    }
}

/// Loaded values with their keys.
type Loaded<K> = SmallVec<[(K, C); 8]>;

impl Emitter<'_> {
    /// Returns the distance of each lane from lane 0.
    fn distances(&self, steps: Steps) -> SmallVec<[i32; 16]> {
        (0..self.lanes.count() as usize).map(|lane| steps.at(lane)).collect()
    }

    /// Returns, as I8, whether `bytes` bytes of every lane are in range. Lane 0's offset is given
    /// as I64.
    fn strided_in_range(&mut self, pair: BufferRange, offset64: C, distances: &[i32], bytes: u32) -> C {
        let min_distance = distances.iter().copied().min().unwrap_or(0);
        let max_distance = distances.iter().copied().max().unwrap_or(0);
        let end = self.b.iadd_imm(offset64, i64::from(max_distance) + i64::from(bytes));
        let ends = self.b.icmp(IntCond::Ule, end, pair.range);
        if min_distance >= 0 {
            return ends;
        }
        let starts = self.b.icmp_imm(IntCond::Uge, offset64, -i64::from(min_distance));
        self.b.and(starts, ends)
    }

    /// Loads the elements at each lane's offset.
    pub fn load_strided(
        &mut self,
        pair: BufferRange,
        (base, offset64): (C, C),
        steps: Steps,
        run: ElementRun,
        access: Access,
    ) -> Result<Vec<C>> {
        let distances = self.distances(steps);
        let ok = self.strided_in_range(pair, offset64, &distances, run.bytes());
        let whole = |e: &mut Self, address: C| {
            let access = Access { guarded: true, ..access };
            if run.ty.bytes() == 4 && matches!(run.n, 2 | 4) {
                return e.load_rows_at(address, &distances, run, access);
            }
            let column = |i: usize| e.load_lanes_at(address, &distances, run.ty, access_at_offset(access, i as i32));
            (0..run.n).map(|i| i * run.ty.bytes() as usize).map(column).collect()
        };
        let by_lane = |e: &mut Self| {
            let offsets = e.rep_to_vector(Ty::I32, &ValueRep::Affine(base, steps))?;
            Ok(e.load_by_offset(pair, offsets, run, access))
        };
        self.load_checked((ok, pair, offset64), run, false, whole, by_lane)
    }

    /// Loads a value at a distance, or returns it if it is loaded already.
    fn load_once(&mut self, ty: Type, (address, access): (C, Access), distance: i32, loaded: &mut Loaded<i32>) -> C {
        if let Some(&(_, c)) = loaded.iter().find(|l| l.0 == distance) {
            return c;
        }
        let c = self.b.load(ty, access_at_offset(access, access.offset.wrapping_add(distance)), address);
        loaded.push((distance, c));
        c
    }

    /// Loads one element of each lane.
    fn load_lanes_at(&mut self, address: C, distances: &[i32], ty: Ty, access: Access) -> C {
        let (scalar, group) = (scalar_type(ty), scalar_type(ty).elem.by(GROUP_LANES));
        let mut groups: Loaded<&[i32]> = SmallVec::new();
        let mut loaded: Loaded<i32> = SmallVec::new();
        let mut parts: SmallVec<[C; 16]> = SmallVec::new();
        for distances in distances.chunks(GROUP_LANES) {
            let known = groups.iter().find(|g| g.0 == distances).map(|g| g.1);
            let part = known.unwrap_or_else(|| {
                if let LaneOrder::Consecutive = order(distances, ty.bytes() as i32) {
                    return self.b.load(
                        group,
                        access_at_offset(access, access.offset.wrapping_add(distances[0])),
                        address,
                    );
                }
                let lane = |&p: &i32| self.load_once(scalar, (address, access), p, &mut loaded);
                let lanes: SmallVec<[C; GROUP_LANES]> = distances.iter().map(lane).collect();
                match order(distances, 0) {
                    LaneOrder::Any => self.b.build(&lanes),
                    LaneOrder::Consecutive | LaneOrder::Equal => self.b.splat(group, lanes[0]),
                }
            });
            groups.push((distances, part));
            parts.push(part);
        }
        self.concat(&parts)
    }

    /// Loads two or four words of each lane as rows, and transposes them.
    fn load_rows_at(&mut self, address: C, distances: &[i32], run: ElementRun, access: Access) -> Vec<C> {
        let row = scalar_type(run.ty).elem.by(run.n);
        let mut loaded: Loaded<i32> = SmallVec::new();
        let mut columns: SmallVec<[SmallVec<[C; 16]>; 4]> = smallvec![SmallVec::new(); run.n];
        for distances in distances.chunks(GROUP_LANES) {
            let lane = |&p: &i32| self.load_once(row, (address, access), p, &mut loaded);
            let rows: SmallVec<[C; GROUP_LANES]> = distances.iter().map(lane).collect();
            let turned = self.columns_of(&rows, run.n, order(distances, 0));
            columns.iter_mut().zip(turned).for_each(|(list, c)| list.push(c));
        }
        columns.iter().map(|parts| self.concat(parts)).collect()
    }

    /// Returns the columns of four rows with two or four elements each.
    fn columns_of(&mut self, rows: &[C], n: usize, order: LaneOrder) -> SmallVec<[C; 4]> {
        let [a, b, c, d] = [rows[0], rows[1], rows[2], rows[3]];
        match (order, n) {
            (LaneOrder::Equal | LaneOrder::Consecutive, _) => {
                (0..n).map(|i| self.b.shuffle(a, a, &[i; GROUP_LANES])).collect()
            }
            (LaneOrder::Any, 2) => {
                let (low, high) = (self.b.concat(a, b), self.b.concat(c, d));
                [[0, 2, 4, 6], [1, 3, 5, 7]].iter().map(|p| self.b.shuffle(low, high, p)).collect()
            }
            (LaneOrder::Any, _) => {
                let pairs = [[0, 4, 1, 5], [2, 6, 3, 7]];
                let halves = pairs.map(|p| (self.b.shuffle(a, b, &p), self.b.shuffle(c, d, &p)));
                let whole = [[0, 1, 4, 5], [2, 3, 6, 7]];
                halves.iter().flat_map(|&(x, y)| whole.map(|p| self.b.shuffle(x, y, &p))).collect()
            }
        }
    }

    /// Stores elements at each lane's offset, lane by lane if the fast path does not apply.
    pub fn store_strided(
        &mut self,
        pair: BufferRange,
        (base, offset64): (C, C),
        steps: Steps,
        values: &[Value],
        run: ElementRun,
    ) -> Result<()> {
        let distances = self.distances(steps);
        let ok = self.strided_in_range(pair, offset64, &distances, run.bytes());
        let whole = |e: &mut Self, vectors: &[C], address: C| e.store_at(address, &distances, vectors, run);
        let offsets = |e: &mut Self| Ok(Offsets::PerLane(e.rep_to_vector(Ty::I32, &ValueRep::Affine(base, steps))?));
        self.store_checked((ok, pair, offset64), values, run, whole, offsets)
    }

    fn store_at(&mut self, address: C, distances: &[i32], vectors: &[C], run: ElementRun) {
        for (first, group) in (0..).step_by(GROUP_LANES).zip(distances.chunks(GROUP_LANES)) {
            if let (LaneOrder::Consecutive, [c]) = (order(group, run.ty.bytes() as i32), vectors) {
                let part = if distances.len() == GROUP_LANES { *c } else { self.b.slice(*c, first, GROUP_LANES) };
                self.b.store(trusted(AccessReason::Checked, group[0]), part, address);
                continue;
            }
            for (lane, &distance) in (first..).zip(group) {
                for (i, &c) in (0..).zip(vectors) {
                    let c = self.b.extract(c, lane);
                    self.b.store(
                        trusted(AccessReason::Checked, distance.wrapping_add(i * run.ty.bytes() as i32)),
                        c,
                        address,
                    );
                }
            }
        }
    }
}
