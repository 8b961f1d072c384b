//! Texel accesses without kernels: texels that lie side by side in a view of the type that the
//! shader's image declares, and of a kind that this module implements.
//!
//! A view describes the rows of texels of its first level ([`TexelRows`]). A few loads suffice if
//! every eight lanes of a chunk are a row of texels inside the view, as in most workgroups, or
//! quads of 2×2, as in fragments. The texels are converted here by the operations of the kernels,
//! so that the bits are equal.
//!
//! All other accesses call the kernel, in a cold block: texels that are apart, at a border or
//! outside, views of other kinds, null descriptors, lanes without effect. Each test is a separate
//! branch, so that it leaves only flags.
//!
//! All of this is an optional fast path ([`BlockData::fast_path`](crate::lir::BlockData)): code
//! that is compiled quickly consists of the calls alone.

use super::Emitter;
use super::element_run::ElementRun;
use super::memory::{guarded, trusted};
use super::value_rep::{ValueRep, elem};
use crate::error::{Error, Result};
use crate::host;
use crate::ir::{InstData, Ty, Value};
use crate::lir::{AccessReason, Block, Elem, IntCond, Type, Value as C};
use crate::passes::Steps;
use base::abi::{ImageView, MAX_LANES, TexelKind, TexelRows};
use base::format::{UNORM8, pack::ONE};
use core::mem::offset_of;
use smallvec::SmallVec;

/// Upper bound of the accesses of a function that are emitted this way, because each is several
/// times the code of a call.
const MAX_ACCESSES: usize = 32;

/// 1.5 · 2^23: the sum with a small number has the nearest integer in its low bits, as in
/// `base::round`.
const NEAREST: f32 = 12_582_912.0;

/// Arrangement of the lanes of a chunk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TexelOrder {
    /// Each [`ROW`] lanes are consecutive texels of a row.
    Rows,
    /// Each four lanes are a square of 2×2 texels.
    Quads,
}

impl TexelOrder {
    /// Returns the number of lanes whose texels have constant distances from that of the first
    /// lane.
    fn lanes(self) -> usize {
        match self {
            TexelOrder::Rows => ROW,
            TexelOrder::Quads => 4,
        }
    }
}

/// Number of lanes of a row, as in [`TexelRows`].
const ROW: usize = MAX_LANES;

/// An access that may need no kernel.
pub struct TexelAccess {
    kind: TexelKind,
    view: C,
    order: TexelOrder,
    x: ValueRep,
    /// Row coordinate; `None` is 0.
    y: Option<ValueRep>,
    z: Option<C>,
}

/// Location of a site's texels: the first texel of the slice, the bytes between rows, and offsets
/// of the first lane of each row or quad (I64).
struct TexelLocation {
    base: C,
    pitch: C,
    offsets: SmallVec<[C; 4]>,
}

impl Emitter<'_> {
    /// Returns the site of an access by these coordinates, if it may do without a kernel.
    pub fn texel_access(&mut self, kind: TexelKind, data: &InstData, coords: &[Value]) -> Result<Option<TexelAccess>> {
        let words = data.results().chain(data.args.last().copied()).all(|v| self.shader.ty(v).bytes() == 4);
        let fits = matches!(self.lanes.count() as usize / ROW, 1 | 2);
        if kind == TexelKind::None || !fits || !words || self.texels == MAX_ACCESSES {
            return Ok(None);
        }
        let ValueRep::Uniform(view) = self.value_rep(data.args[0])? else { return Ok(None) };
        let z = match coords.get(2) {
            Some(&z) => match self.value_rep(z)? {
                ValueRep::Uniform(z) => Some(z),
                _ => return Ok(None),
            },
            None => None,
        };
        let x = self.value_rep(coords[0])?;
        let y = coords.get(1).map(|&y| self.value_rep(y)).transpose()?;
        let varies = |rep: &ValueRep| !matches!(rep, ValueRep::Uniform(_));
        let order = match (self.shader.stage().has_quads(), y.as_ref().is_some_and(varies)) {
            (true, true) => TexelOrder::Quads,
            (true, false) => return Ok(None),
            (false, _) => TexelOrder::Rows,
        };
        let fits = match (order, &x) {
            (TexelOrder::Rows, ValueRep::Affine(_, steps)) => is_stepping(*steps, 1),
            _ => varies(&x),
        };
        let column =
            matches!((order, &y), (TexelOrder::Rows, Some(ValueRep::Affine(_, steps))) if !is_stepping(*steps, 0));
        if !fits || column {
            return Ok(None);
        }
        self.texels += 1;
        Ok(Some(TexelAccess { kind, view, order, x, y, z }))
    }

    /// Defines the results of a fetch; `kernel` computes them if the fast path does not apply.
    pub fn fetch_texels(
        &mut self,
        access: &TexelAccess,
        data: &InstData,
        kernel: impl FnOnce(&mut Self) -> Result<Vec<C>>,
    ) -> Result<()> {
        let results: SmallVec<[Value; 4]> = data.results().collect();
        let used: SmallVec<[usize; 4]> =
            (0..results.len()).filter(|&i| self.region_infos.is_used(results[i])).collect();
        let vector = self.vector_type(self.shader.ty(results[0]));
        let (slow, done) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        let params: SmallVec<[C; 4]> = used.iter().map(|_| self.b.append_param(done, vector)).collect();
        let place = self.texel_location(access, slow)?;
        let words = self.load_texels(access, &place);
        let texels: SmallVec<[C; 4]> =
            used.iter().map(|&i| self.unpack_texel(access.kind, &words, i, vector)).collect();
        self.b.jump(done, &texels);
        self.enter(slow);
        let texels = kernel(self)?;
        let texels: SmallVec<[C; 4]> = used.iter().map(|&i| texels[i]).collect();
        self.b.jump(done, &texels);
        self.enter(done);
        // Inactive lanes are set to zero, as behind a kernel, which some tiers never call.
        let mask = (!self.lanes.is_full()).then(|| self.exec_mask());
        let none = self.b.constant(vector, 0);
        used.iter().zip(params).try_for_each(|(&i, c)| {
            let c = mask.map_or(c, |mask| self.b.select(mask, c, none));
            self.define(results[i], ValueRep::Varying(c))
        })
    }

    /// Stores texels; `kernel` does it if the fast path does not apply.
    pub fn store_texels(
        &mut self,
        access: &TexelAccess,
        texel: &[Value],
        kernel: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        if access.order != TexelOrder::Rows {
            return kernel(self);
        }
        let (slow, done) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        let texel = texel.iter().map(|&v| self.vector(v)).collect::<Result<SmallVec<[C; 4]>>>()?;
        if let Some(mask) = self.side_effect_mask() {
            let all = self.b.all(mask);
            self.branch_unless(all, slow);
        }
        let place = self.texel_location(access, slow)?;
        let words: SmallVec<[C; 4]> = match access.kind {
            TexelKind::Unorm8 => [self.pack_unorm8(&texel)].into_iter().collect(),
            TexelKind::Words => self.interleave(&texel),
            TexelKind::Float | TexelKind::Word | TexelKind::None => [texel[0]].into_iter().collect(),
        };
        for (row, &offset) in place.offsets.iter().enumerate() {
            let address = self.b.iadd(place.base, offset);
            for (at, c) in self.row_words(&words, row, place.offsets.len()).into_iter().enumerate() {
                self.b.store(trusted(AccessReason::Texels, at as i32 * self.b.ty(c).bytes() as i32), c, address);
            }
        }
        self.b.jump(done, &[]);
        self.enter(slow);
        kernel(self)?;
        self.b.jump(done, &[]);
        self.enter(done);
        Ok(())
    }

    /// Returns the words of row `row` of `rows`, from consecutive vectors with the words of all
    /// texels.
    fn row_words(&mut self, words: &[C], row: usize, rows: usize) -> SmallVec<[C; 4]> {
        match *words {
            [all] => {
                let lanes = self.b.ty(all).lanes() / rows;
                [self.b.slice(all, row * lanes, lanes)].into_iter().collect()
            }
            _ => words[words.len() / rows * row..][..words.len() / rows].iter().copied().collect(),
        }
    }

    /// Continues in a new block if `ok`, otherwise in `slow`.
    fn branch_unless(&mut self, ok: C, slow: Block) {
        let next = self.b.create_block();
        self.b.set_fast_path_block(next);
        self.b.branch(ok, next, &[], slow, &[]);
        self.enter(next);
    }

    /// Loads a field of the view's rows.
    fn rows_field(&mut self, access: &TexelAccess, ty: Type, field: usize) -> C {
        self.b.load(ty, guarded(AccessReason::Field, (offset_of!(ImageView, rows) + field) as i32), access.view)
    }

    /// Returns the location of the texels. Control goes to `slow` unless they are of the right
    /// kind, inside the view, and arranged as the site's order says.
    fn texel_location(&mut self, access: &TexelAccess, slow: Block) -> Result<TexelLocation> {
        let kind = self.rows_field(access, Type::I32, offset_of!(TexelRows, kind));
        let same = self.b.icmp_imm(IntCond::Eq, kind, access.kind as i64);
        self.branch_unless(same, slow);
        let mut base = self.rows_field(access, Type::I64, offset_of!(TexelRows, base));
        if let Some(z) = access.z {
            let slices = self.rows_field(access, Type::I32, offset_of!(TexelRows, slices));
            let inside = self.b.icmp(IntCond::Ult, z, slices);
            self.branch_unless(inside, slow);
            let pitch = self.rows_field(access, Type::I64, offset_of!(TexelRows, slice_pitch));
            let z = self.b.zext(Type::I64, z);
            let offset = self.b.imul(z, pitch);
            base = self.b.iadd(base, offset);
        }
        let pitch = self.rows_field(access, Type::I32, offset_of!(TexelRows, row_pitch));
        let offsets = match access.order {
            TexelOrder::Rows => self.row_offsets(access, pitch, slow)?,
            TexelOrder::Quads => self.quad_offsets(access, pitch, slow)?,
        };
        Ok(TexelLocation { base, pitch: self.b.zext(Type::I64, pitch), offsets })
    }

    /// Returns the offsets of rows of eight texels.
    fn row_offsets(&mut self, access: &TexelAccess, pitch: C, slow: Block) -> Result<SmallVec<[C; 4]>> {
        let (xs, x_differs) = self.first_coordinates(&access.x, 1)?;
        let (ys, y_differs) = match &access.y {
            Some(rep) => {
                let (ys, differs) = self.first_coordinates(rep, 0)?;
                (Some(ys), differs)
            }
            None => (None, None),
        };
        if let Some(differs) = self.or_masks(x_differs, y_differs) {
            let same = self.b.icmp_imm(IntCond::Eq, differs, 0);
            let all = self.b.all(same);
            self.branch_unless(all, slow);
        }
        let eights = self.rows_field(access, Type::I32, offset_of!(TexelRows, eights));
        let mut offsets = SmallVec::new();
        for &x in &xs {
            let inside = self.b.icmp(IntCond::Ult, x, eights);
            self.branch_unless(inside, slow);
            let x = self.b.zext(Type::I64, x);
            offsets.push(self.b.shl_imm(x, texel_shift(access.kind)));
        }
        let Some(ys) = ys else { return Ok(offsets) };
        let height = self.rows_field(access, Type::I32, offset_of!(TexelRows, height));
        let pitch = self.b.zext(Type::I64, pitch);
        for (offset, y) in offsets.iter_mut().zip(ys) {
            let inside = self.b.icmp(IntCond::Ult, y, height);
            self.branch_unless(inside, slow);
            let y = self.b.zext(Type::I64, y);
            let rows = self.b.imul(y, pitch);
            *offset = self.b.iadd(rows, *offset);
        }
        Ok(offsets)
    }

    fn or_masks(&mut self, a: Option<C>, b: Option<C>) -> Option<C> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.b.or(a, b)),
            (a, b) => a.or(b),
        }
    }

    /// Returns a coordinate of each row's first lane, and a vector that is 0 in the lanes where the
    /// coordinate grows by `step` from lane to lane; `None` if it does in all lanes.
    fn first_coordinates(&mut self, rep: &ValueRep, step: i32) -> Result<(SmallVec<[C; 2]>, Option<C>)> {
        let firsts = (0..self.lanes.count() as usize).step_by(ROW);
        Ok(match *rep {
            ValueRep::Varying(c) => {
                let own: SmallVec<[C; 2]> = firsts.map(|lane| self.b.extract(c, lane)).collect();
                let all = match *own {
                    [first] => self.b.splat(self.b.ty(c), first),
                    _ => {
                        let pattern: SmallVec<[usize; 16]> =
                            (0..self.lanes.count() as usize).map(|l| l / ROW * ROW).collect();
                        self.b.shuffle(c, c, &pattern)
                    }
                };
                let steps = self.words(|lane| (lane % ROW) as i32 * step);
                let rows = self.b.iadd(all, steps);
                (own, Some(self.b.xor(c, rows)))
            }
            // The site was made only for coordinates that form rows.
            ValueRep::Affine(c, steps) => (firsts.map(|l| self.b.iadd_imm(c, i64::from(steps.at(l)))).collect(), None),
            ValueRep::Uniform(c) => (firsts.map(|_| c).collect(), None),
            ValueRep::Buffer(_) | ValueRep::Buffers(_) | ValueRep::Pointers(_) => {
                return Err(Error::internal("a coordinate is no number"));
            }
        })
    }

    /// Returns the offsets of squares.
    fn quad_offsets(&mut self, access: &TexelAccess, pitch: C, slow: Block) -> Result<SmallVec<[C; 4]>> {
        let words = self.vector_type(Ty::I32);
        let x = self.rep_to_vector(Ty::I32, &access.x)?;
        let y = match &access.y {
            Some(y) => self.rep_to_vector(Ty::I32, y)?,
            None => self.word(0),
        };
        let mut wrong: Option<C> = None;
        let sizes = [offset_of!(TexelRows, width), offset_of!(TexelRows, height)];
        for ((c, bit), size) in [(x, 0), (y, 1)].into_iter().zip(sizes) {
            let first = self.shuffle_quads(c, [0; 4]);
            let steps = self.words(|lane| (lane >> bit & 1) as i32);
            let square = self.b.iadd(first, steps);
            let differs = self.b.xor(c, square);
            // A negative coordinate or a negative distance to the last texel means outside.
            let size = self.rows_field(access, Type::I32, size);
            let last = self.b.iadd_imm(size, -1);
            let last = self.b.splat(words, last);
            let rest = self.b.isub(last, c);
            let outside = self.b.or(c, rest);
            let outside = self.b.ashr_imm(outside, 31);
            let here = self.b.or(differs, outside);
            wrong = self.or_masks(wrong, Some(here));
        }
        if let Some(wrong) = wrong {
            let right = self.b.icmp_imm(IntCond::Eq, wrong, 0);
            let all = self.b.all(right);
            self.branch_unless(all, slow);
        }
        let pitch = self.b.splat(words, pitch);
        let rows = self.b.imul(y, pitch);
        let columns = self.b.shl_imm(x, texel_shift(access.kind));
        let offsets = self.b.iadd(rows, columns);
        let firsts = (0..self.lanes.count() as usize).step_by(access.order.lanes());
        Ok(firsts.map(|lane| self.first_offset(offsets, lane)).collect())
    }

    fn first_offset(&mut self, offsets: C, lane: usize) -> C {
        let offset = self.b.extract(offsets, lane);
        self.b.zext(Type::I64, offset)
    }

    /// Loads the words of the texels, as vectors with one word per lane.
    fn load_texels(&mut self, access: &TexelAccess, place: &TexelLocation) -> Vec<C> {
        let n = 1 << (texel_shift(access.kind) - 2);
        let (whole, row) = (self.vector_type(Ty::I32), elem(Ty::I32).by(ROW));
        match access.order {
            TexelOrder::Rows if place.offsets.len() == 1 => {
                let address = self.b.iadd(place.base, place.offsets[0]);
                self.load_interleaved(address, ElementRun { ty: Ty::I32, n, unit: 4 }, trusted(AccessReason::Texels, 0))
            }
            TexelOrder::Rows => {
                let rows: SmallVec<[C; 4]> =
                    place.offsets.iter().map(|&offset| self.b.iadd(place.base, offset)).collect();
                if n == 1 {
                    let rows: SmallVec<[C; 4]> =
                        rows.iter().map(|&at| self.b.load(row, trusted(AccessReason::Texels, 0), at)).collect();
                    return vec![self.concat(&rows)];
                }
                let vectors = n / rows.len();
                let place = |i: usize| {
                    (rows[i / vectors], trusted(AccessReason::Texels, (i % vectors) as i32 * whole.bytes() as i32))
                };
                let raws: Vec<C> = (0..n).map(place).map(|(at, access)| self.b.load(whole, access, at)).collect();
                self.components(&raws, n)
            }
            TexelOrder::Quads => {
                // Each load takes two texels.
                let below = self.b.iadd(place.base, place.pitch);
                let pairs: SmallVec<[C; 8]> = (place.offsets.iter().copied())
                    .flat_map(|offset| [(place.base, offset), (below, offset)])
                    .map(|(row, offset)| self.b.iadd(row, offset))
                    .collect();
                if n == 4 {
                    let raws: Vec<C> =
                        pairs.iter().map(|&at| self.b.load(row, trusted(AccessReason::Texels, 0), at)).collect();
                    let raws: Vec<C> = raws.chunks(place.offsets.len() / 2).map(|raws| self.concat(raws)).collect();
                    return self.components(&raws, n);
                }
                let pairs: SmallVec<[C; 8]> =
                    pairs.iter().map(|&at| self.b.load(Type::F64, trusted(AccessReason::Texels, 0), at)).collect();
                let all = self.b.build(&pairs);
                vec![self.b.bitcast(whole, all)]
            }
        }
    }

    /// Returns component `i` of texels, converted from their words as the kernels do it.
    fn unpack_texel(&mut self, kind: TexelKind, words: &[C], i: usize, to: Type) -> C {
        let c = match (kind, i) {
            (TexelKind::Unorm8, _) => self.unpack_unorm8(words[0], i),
            (TexelKind::Words, _) => words[i],
            (_, 0) => words[0],
            (TexelKind::Float, 3) => self.word(ONE as i32),
            (TexelKind::Word, 3) => self.word(1),
            _ => self.word(0),
        };
        self.b.bitcast(to, c)
    }

    /// Converts byte `i` of words from an unsigned normalised number. The byte is converted in its
    /// position, because a power of two changes no rounding.
    fn unpack_unorm8(&mut self, words: C, i: usize) -> C {
        let floats = self.b.ty(words).with(Elem::F32);
        let (byte, scale) = match i {
            // The top byte is shifted down, because in its position it would be a negative number.
            3 => (self.b.lshr_imm(words, 24), 1.0),
            _ => (self.b.and_imm(words, 0xff << (8 * i)), f32::from_bits((127 + 8 * i as u32) << 23)),
        };
        let raw = self.b.sint_to_float(floats, byte);
        let [max_value, rest] = UNORM8.map(|part| u64::from((part / scale).to_bits()));
        let (max_value, rest) = (self.b.constant(floats, max_value), self.b.constant(floats, rest));
        let rest = self.b.fmul(raw, rest);
        // The first product is exact, so one rounding and two give the same result.
        if host::has_fma() {
            return self.b.fma(raw, max_value, rest);
        }
        let max_value = self.b.fmul(raw, max_value);
        self.b.fadd(max_value, rest)
    }

    /// Packs four components to words of unsigned normalised bytes.
    pub fn pack_unorm8(&mut self, texel: &[C]) -> C {
        let floats = self.vector_type(Ty::F32);
        let words = floats.with(elem(Ty::I32));
        let constant = |e: &mut Self, x: f32| e.b.constant(floats, x.to_bits().into());
        let (zero, one, max_value, nearest) =
            (constant(self, 0.0), constant(self, 1.0), constant(self, 255.0), constant(self, NEAREST));
        let bytes = texel.iter().zip((0..).step_by(8)).map(|(&c, shift)| {
            // NaN becomes 0.
            let c = self.b.bitcast(floats, c);
            let c = self.select_min_max(true, c, zero);
            let c = self.select_min_max(false, c, one);
            let c = self.b.fmul(c, max_value);
            let c = self.b.fadd(c, nearest);
            let c = self.b.bitcast(words, c);
            // The shift removes the high bits of the last components.
            let c = if shift < 16 { self.b.and_imm(c, 0xff) } else { c };
            self.b.shl_imm(c, shift)
        });
        let bytes: SmallVec<[C; 4]> = bytes.collect();
        bytes[1..].iter().fold(bytes[0], |word, &byte| self.b.or(word, byte))
    }
}

/// Returns true if a value grows by `step` from each lane of a row to the next.
fn is_stepping(steps: Steps, step: i32) -> bool {
    (0..ROW).all(|lane| steps.at(lane) == lane as i32 * step)
}

/// Returns the base-2 logarithm of the bytes of a texel.
fn texel_shift(kind: TexelKind) -> u32 {
    match kind {
        TexelKind::Words => 4,
        TexelKind::None | TexelKind::Unorm8 | TexelKind::Float | TexelKind::Word => 2,
    }
}
