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
use super::memory::{at, trusted};
use super::rep::{BufPair, Rep, scalar_type};
use super::run::Run;
use crate::error::Result;
use crate::ir::{Ty, Value};
use crate::lir::{Access, IntCond, Reason, Type, Value as C};
use crate::passes::Steps;
use smallvec::{SmallVec, smallvec};

/// Number of lanes that are accessed together.
const GROUP: usize = 4;

/// Arrangement of the elements of a group of lanes.
enum Order {
    /// Each lane follows the one before it.
    Following,
    /// All lanes have the same element.
    Same,
    Any,
}

fn order(places: &[i32], bytes: i32) -> Order {
    let first = places[0];
    let is = |step: i32| (0..).zip(places).all(|(i, &p)| p == first.wrapping_add(step.wrapping_mul(i)));
    match () {
        () if is(bytes) => Order::Following,
        () if is(0) => Order::Same,
        () => Order::Any,
    }
}

/// Loaded values with their keys.
type Loaded<K> = SmallVec<[(K, C); 8]>;

impl Emitter<'_> {
    /// Returns the distance of each lane from lane 0.
    fn places(&self, steps: Steps) -> SmallVec<[i32; 16]> {
        (0..self.lanes as usize).map(|lane| steps.at(lane)).collect()
    }

    /// Returns, as I8, whether `bytes` bytes of every lane are in range. Lane 0's offset is given
    /// as I64.
    fn stepped_in_range(&mut self, pair: BufPair, wide: C, places: &[i32], bytes: u32) -> C {
        let least = places.iter().copied().min().unwrap_or(0);
        let most = places.iter().copied().max().unwrap_or(0);
        let end = self.b.iadd_imm(wide, i64::from(most) + i64::from(bytes));
        let ends = self.b.icmp(IntCond::Ule, end, pair.range);
        if least >= 0 {
            return ends;
        }
        let starts = self.b.icmp_imm(IntCond::Uge, wide, -i64::from(least));
        self.b.and(starts, ends)
    }

    /// Loads the elements at each lane's offset.
    pub fn load_stepped(
        &mut self,
        pair: BufPair,
        (base, wide): (C, C),
        steps: Steps,
        run: Run,
        access: Access,
    ) -> Result<Vec<C>> {
        let places = self.places(steps);
        let ok = self.stepped_in_range(pair, wide, &places, run.bytes());
        let whole = |e: &mut Self, address: C| {
            let access = Access { guarded: true, ..access };
            if run.ty.bytes() == 4 && matches!(run.n, 2 | 4) {
                return e.load_rows_at(address, &places, run, access);
            }
            let column = |i: usize| e.load_lanes_at(address, &places, run.ty, at(access, i as i32));
            (0..run.n).map(|i| i * run.ty.bytes() as usize).map(column).collect()
        };
        let by_lane = |e: &mut Self| {
            let offsets = e.rep_vector(Ty::I32, &Rep::Affine(base, steps))?;
            Ok(e.load_by_offset(pair, offsets, run, access))
        };
        self.load_behind((ok, pair, wide), run, false, whole, by_lane)
    }

    /// Loads a value at a distance, or returns it if it is loaded already.
    fn load_once(&mut self, ty: Type, (address, access): (C, Access), place: i32, loaded: &mut Loaded<i32>) -> C {
        if let Some(&(_, c)) = loaded.iter().find(|l| l.0 == place) {
            return c;
        }
        let c = self.b.load(ty, at(access, access.offset.wrapping_add(place)), address);
        loaded.push((place, c));
        c
    }

    /// Loads one element of each lane.
    fn load_lanes_at(&mut self, address: C, places: &[i32], ty: Ty, access: Access) -> C {
        let (scalar, group) = (scalar_type(ty), scalar_type(ty).elem.by(GROUP));
        let mut groups: Loaded<&[i32]> = SmallVec::new();
        let mut loaded: Loaded<i32> = SmallVec::new();
        let mut parts: SmallVec<[C; 16]> = SmallVec::new();
        for places in places.chunks(GROUP) {
            let known = groups.iter().find(|g| g.0 == places).map(|g| g.1);
            let part = known.unwrap_or_else(|| {
                if let Order::Following = order(places, ty.bytes() as i32) {
                    return self.b.load(group, at(access, access.offset.wrapping_add(places[0])), address);
                }
                let lane = |&p: &i32| self.load_once(scalar, (address, access), p, &mut loaded);
                let lanes: SmallVec<[C; GROUP]> = places.iter().map(lane).collect();
                match order(places, 0) {
                    Order::Any => self.b.build(&lanes),
                    Order::Following | Order::Same => self.b.splat(group, lanes[0]),
                }
            });
            groups.push((places, part));
            parts.push(part);
        }
        self.concat(&parts)
    }

    /// Loads two or four words of each lane as rows, and transposes them.
    fn load_rows_at(&mut self, address: C, places: &[i32], run: Run, access: Access) -> Vec<C> {
        let row = scalar_type(run.ty).elem.by(run.n);
        let mut loaded: Loaded<i32> = SmallVec::new();
        let mut columns: SmallVec<[SmallVec<[C; 16]>; 4]> = smallvec![SmallVec::new(); run.n];
        for places in places.chunks(GROUP) {
            let lane = |&p: &i32| self.load_once(row, (address, access), p, &mut loaded);
            let rows: SmallVec<[C; GROUP]> = places.iter().map(lane).collect();
            let turned = self.columns_of(&rows, run.n, order(places, 0));
            columns.iter_mut().zip(turned).for_each(|(list, c)| list.push(c));
        }
        columns.iter().map(|parts| self.concat(parts)).collect()
    }

    /// Returns the columns of four rows with two or four elements each.
    fn columns_of(&mut self, rows: &[C], n: usize, order: Order) -> SmallVec<[C; 4]> {
        let [a, b, c, d] = [rows[0], rows[1], rows[2], rows[3]];
        match (order, n) {
            (Order::Same | Order::Following, _) => (0..n).map(|i| self.b.shuffle(a, a, &[i; GROUP])).collect(),
            (Order::Any, 2) => {
                let (low, high) = (self.b.concat(a, b), self.b.concat(c, d));
                [[0, 2, 4, 6], [1, 3, 5, 7]].iter().map(|p| self.b.shuffle(low, high, p)).collect()
            }
            (Order::Any, _) => {
                let pairs = [[0, 4, 1, 5], [2, 6, 3, 7]];
                let halves = pairs.map(|p| (self.b.shuffle(a, b, &p), self.b.shuffle(c, d, &p)));
                let whole = [[0, 1, 4, 5], [2, 3, 6, 7]];
                halves.iter().flat_map(|&(x, y)| whole.map(|p| self.b.shuffle(x, y, &p))).collect()
            }
        }
    }

    /// Stores elements at each lane's offset, lane by lane if the fast path does not apply.
    pub fn store_stepped(
        &mut self,
        pair: BufPair,
        (base, wide): (C, C),
        steps: Steps,
        values: &[Value],
        run: Run,
    ) -> Result<()> {
        let places = self.places(steps);
        let ok = self.stepped_in_range(pair, wide, &places, run.bytes());
        let whole = |e: &mut Self, vectors: &[C], address: C| e.store_at(address, &places, vectors, run);
        let offsets = |e: &mut Self| Ok(Offsets::Each(e.rep_vector(Ty::I32, &Rep::Affine(base, steps))?));
        self.store_behind((ok, pair, wide), values, run, whole, offsets)
    }

    fn store_at(&mut self, address: C, places: &[i32], vectors: &[C], run: Run) {
        for (first, group) in (0..).step_by(GROUP).zip(places.chunks(GROUP)) {
            if let (Order::Following, [c]) = (order(group, run.ty.bytes() as i32), vectors) {
                let part = if places.len() == GROUP { *c } else { self.b.slice(*c, first, GROUP) };
                self.b.store(trusted(Reason::Checked, group[0]), part, address);
                continue;
            }
            for (lane, &place) in (first..).zip(group) {
                for (i, &c) in (0..).zip(vectors) {
                    let c = self.b.extract(c, lane);
                    self.b.store(trusted(Reason::Checked, place.wrapping_add(i * run.ty.bytes() as i32)), c, address);
                }
            }
        }
    }
}
