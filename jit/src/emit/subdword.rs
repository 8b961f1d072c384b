//! Sub-dword unpacking: loads of dwords that each hold several packed elements, where the lanes'
//! words lie in a small range.
//!
//! If the number of such an element is affine, the number of its word is not, because lane 0 may
//! start anywhere in a word. But the distance between the lanes' words is bounded: a few vectors
//! hold all of them, and each lane selects its own. If the window is not in range as a whole, each
//! lane loads separately.

use super::Emitter;
use super::element_run::ElementRun;
use super::memory::access_at_offset;
use super::value_rep::{BufferRange, ValueRep};
use crate::error::Result;
use crate::ir::{Binary, Op, Ty, Value, ValueDef};
use crate::lir::{Access, IntCond, Type, Value as C};
use crate::passes::Steps;
use crate::wide;
use smallvec::SmallVec;

/// Number of bytes of a word.
const DWORD_BYTES: i64 = 4;
/// Upper bound of the elements of a word, as a base-2 logarithm. The element numbers, which a
/// buffer's end bounds, then do not wrap.
const MAX_ELEMENTS_SHIFT: u64 = 2;
/// Number of lanes that a vector must have for each vector of a window.
const MIN_LANES: u64 = 4;

/// Location of the words of a load: that of lane l is at word `(base + steps) >> shift`, and `plus`
/// bytes behind.
pub struct DwordWindow {
    base: C,
    steps: Steps,
    shift: u32,
    plus: i64,
    vectors: usize,
}

impl Emitter<'_> {
    /// Returns the window of a load at an offset, with one element per lane.
    pub fn dword_window(&mut self, offset: Value, ty: Ty) -> Result<Option<DwordWindow>> {
        if i64::from(ty.bytes()) != DWORD_BYTES || !wide::is_available() {
            return Ok(None);
        }
        let Some((index, _, DWORD_BYTES, plus)) = self.bounded_index(offset) else { return Ok(None) };
        let ValueDef::Inst(inst, _) = self.shader.values[index].def else { return Ok(None) };
        let data = &self.shader.insts[inst];
        let (Op::Binary(Binary::LShr), &[element, by]) = (&data.op, &data.args[..]) else { return Ok(None) };
        let Some(shift @ 1..=MAX_ELEMENTS_SHIFT) = self.constant_bits(by) else { return Ok(None) };
        if !self.suspension.is_available(element) {
            return Ok(None);
        }
        let ValueRep::Affine(base, steps) = self.value_rep(element)? else { return Ok(None) };
        let lanes = u64::from(self.lanes.count());
        // Lane 0 may be the last element of its word.
        let words = (steps.reach() >> shift) + 2;
        let vectors = words.div_ceil(lanes);
        let grows = (0..self.lanes.count() as usize).all(|lane| steps.at(lane) >= 0);
        let fits = grows && vectors * MIN_LANES <= lanes;
        Ok(fits.then_some(DwordWindow { base, steps, shift: shift as u32, plus, vectors: vectors as usize }))
    }

    /// Emits a load from a window; `each` emits the load of each lane, for a window that is not in
    /// range.
    pub fn load_subdword(
        &mut self,
        pair: BufferRange,
        window: &DwordWindow,
        (ty, access): (Ty, Access),
        each: impl FnOnce(&mut Self) -> Result<Vec<C>>,
    ) -> Result<Vec<C>> {
        let first = self.b.lshr_imm(window.base, window.shift);
        let offset64 = self.b.zext(Type::I64, first);
        let offset64 = self.b.imul_imm(offset64, DWORD_BYTES);
        let offset64 = self.b.iadd_imm(offset64, window.plus);
        let bytes = self.vector_type(ty).bytes() * window.vectors as u32;
        let ok = self.in_range_i64(pair, offset64, bytes);
        let access = Access { guarded: true, ..access };
        let whole = |e: &mut Self, address: C| vec![e.select_dwords(window, ty, address, access)];
        self.load_checked((ok, pair, offset64), ElementRun::checked_together(ty, 1), true, whole, each)
    }

    /// Returns each lane's word, selected from the vectors at an address.
    fn select_dwords(&mut self, window: &DwordWindow, ty: Ty, address: C, access: Access) -> C {
        let words = self.vector_type(Ty::I32);
        let begin = self.b.and_imm(window.base, (1 << window.shift) - 1);
        let begin = self.b.splat(words, begin);
        let steps = self.words(|lane| window.steps.at(lane));
        let numbers = self.b.iadd(begin, steps);
        let numbers = self.b.lshr_imm(numbers, window.shift);
        let vector = self.vector_type(ty);
        let found: SmallVec<[C; 4]> = (0..window.vectors)
            .map(|i| {
                let words = self.b.load(vector, access_at_offset(access, (i as u32 * vector.bytes()) as i32), address);
                self.b.permute(words, numbers)
            })
            .collect();
        let mut own = found[0];
        for (i, &c) in found.iter().enumerate().skip(1) {
            let behind = self.b.icmp_imm(IntCond::Uge, numbers, i as i64 * i64::from(self.lanes.count()));
            own = self.b.select(behind, c, own);
        }
        own
    }
}
