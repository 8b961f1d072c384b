//! The lanes of a chunk: their number, the exec mask, constants and shuffles of vectors.
//!
//! Every operation uses these, and they use nothing but the builder.

use super::Emitter;
use super::value_rep::{elem, scalar_type};
use crate::ir::Ty;
use crate::lir::{Block, Elem, Type, Value as C, Variable};
use crate::passes::Steps;
use smallvec::SmallVec;

/// The lanes of the chunk that is emitted.
pub struct LaneState {
    lanes: u32,
    row_lanes: u32,
    /// The exec mask, once a chunk has started.
    exec: Option<Variable>,
    full: bool,
}

impl LaneState {
    /// Creates the state before the first chunk, where all lanes are active.
    pub fn new(lanes: u32, row_lanes: u32) -> LaneState {
        LaneState { lanes, row_lanes, exec: None, full: true }
    }

    /// Returns the number of lanes.
    pub fn count(&self) -> u32 {
        self.lanes
    }

    /// Returns the number of lanes of a row of slots.
    pub fn row(&self) -> u32 {
        self.row_lanes
    }

    /// Returns true if the exec mask is statically full.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Sets whether the exec mask is known to be full, where the mask itself does not change.
    pub fn set_full(&mut self, full: bool) {
        self.full = full;
    }

    /// Starts a chunk, whose exec mask lives in this variable.
    pub fn start_chunk(&mut self, exec: Variable) {
        self.exec = Some(exec);
    }
}

impl Emitter<'_> {
    /// Returns the type of a varying value.
    pub fn vector_type(&self, ty: Ty) -> Type {
        elem(ty).by(self.lanes.count() as usize)
    }

    /// Returns the exec mask.
    pub fn exec_mask(&mut self) -> C {
        match self.lanes.exec {
            Some(exec) if !self.lanes.full => self.b.use_var(exec),
            _ => self.mask(true),
        }
    }

    /// Sets the exec mask.
    pub fn set_exec(&mut self, mask: C, full: bool) {
        debug_assert!(self.lanes.exec.is_some(), "no chunk has started");
        if let Some(exec) = self.lanes.exec {
            self.b.def_var(exec, mask);
        }
        self.lanes.full = full;
    }

    /// Returns the mask of all lanes or of none.
    pub fn mask(&mut self, all: bool) -> C {
        self.splat_constant(Ty::B1, u64::from(all))
    }

    /// Returns `chunk * lanes`, I32.
    pub fn first_lane(&mut self) -> C {
        self.b.shl_imm(self.function.chunk(), self.lanes.count().trailing_zeros())
    }

    /// Returns a scalar constant from its IR bits.
    pub fn constant(&mut self, ty: Ty, bits: u64) -> C {
        self.b.constant(scalar_type(ty), bits)
    }

    /// Returns a constant in every lane.
    pub fn splat_constant(&mut self, ty: Ty, bits: u64) -> C {
        let vector = self.vector_type(ty);
        self.b.constant(vector, bits)
    }

    /// Returns a 32-bit integer in every lane.
    pub fn word(&mut self, word: i32) -> C {
        self.splat_constant(Ty::I32, u64::from(word as u32))
    }

    /// Returns a vector of 32-bit integers that `lane` computes from the lane's index.
    pub fn words(&mut self, lane: impl Fn(usize) -> i32) -> C {
        let lanes: SmallVec<[u64; 16]> = (0..self.lanes.count() as usize).map(|l| u64::from(lane(l) as u32)).collect();
        self.b.constant_lanes(Elem::I32, &lanes)
    }

    /// Returns `base + steps` as a vector.
    pub fn ramp(&mut self, base: C, steps: Steps) -> C {
        let vector = self.vector_type(Ty::I32);
        let splat = self.b.splat(vector, base);
        let steps = self.words(|l| steps.at(l));
        self.b.iadd(splat, steps)
    }

    /// Concatenates a power of two of vectors with equal numbers of lanes.
    pub fn concat(&mut self, parts: &[C]) -> C {
        match *parts {
            [one] => one,
            _ => {
                let (low, high) = parts.split_at(parts.len() / 2);
                let (low, high) = (self.concat(low), self.concat(high));
                self.b.concat(low, high)
            }
        }
    }

    /// Shuffles each group of four lanes by the pattern `lanes`.
    pub fn shuffle_quads(&mut self, c: C, lanes: [u8; 4]) -> C {
        let pattern: SmallVec<[usize; 16]> =
            (0..self.lanes.count() as usize).map(|l| (l & !3) + usize::from(lanes[l & 3])).collect();
        self.b.shuffle(c, c, &pattern)
    }

    /// Returns a mask as bits: at most 32 lanes, and at most `max_lanes`, in each word.
    pub fn mask_words(&mut self, mask: C, max_lanes: u32) -> SmallVec<[C; 2]> {
        let per = max_lanes.min(32).min(self.lanes.count()) as usize;
        let firsts = (0..self.lanes.count() as usize).step_by(per);
        firsts
            .map(|first| {
                let part = self.b.slice(mask, first, per);
                self.b.mask_bits(part)
            })
            .collect()
    }

    /// Returns a mask as a number (I64) with one bit per lane.
    pub fn mask_bits(&mut self, mask: C) -> C {
        let words = self.mask_words(mask, self.lanes.count());
        let bits: SmallVec<[C; 2]> = words.into_iter().map(|word| self.b.zext(Type::I64, word)).collect();
        match bits[..] {
            [low, high] => {
                let high = self.b.shl_imm(high, 32);
                self.b.or(low, high)
            }
            _ => bits[0],
        }
    }

    /// Returns the index of the lowest active lane, or that of any lane if none is active.
    pub fn first_active(&mut self) -> C {
        let exec = self.exec_mask();
        let bits = self.mask_bits(exec);
        let lane = self.b.ctz(bits);
        let lane = self.b.narrow(Type::I32, lane);
        self.b.and_imm(lane, i64::from(self.lanes.count()) - 1)
    }

    /// Returns the element of the lowest active lane, as a scalar.
    pub fn first_of(&mut self, v: C) -> C {
        if self.lanes.is_full() {
            return self.b.extract(v, 0);
        }
        let lane = self.first_active();
        self.b.extract_at(v, lane)
    }

    /// Returns the base of integers that are affine over the active lanes.
    pub fn affine_base(&mut self, v: C, steps: Steps) -> C {
        let steps = self.words(|l| steps.at(l));
        let bases = self.b.isub(v, steps);
        self.first_of(bases)
    }

    /// Returns a vector whose lane `l` is lane `from(l)` of `x`, or lane `l` of `fill` if that is
    /// `None`.
    pub fn pick(&mut self, x: C, fill: C, from: impl Fn(usize) -> Option<usize>) -> C {
        let lanes = self.lanes.count() as usize;
        let pattern: SmallVec<[usize; 16]> = (0..lanes).map(|l| from(l).unwrap_or(lanes + l)).collect();
        self.b.shuffle(x, fill, &pattern)
    }

    /// Seals and enters a block whose predecessors are all known.
    pub fn enter(&mut self, block: Block) {
        self.b.seal_block(block);
        self.b.switch_to_block(block);
    }
}
