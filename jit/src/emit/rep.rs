//! How an IR value is held in machine values, and conversions between the forms.
//!
//! A value whose shape is uniform is one scalar. An affine one is a scalar base (lane 0) and a stride. A varying one is
//! `lanes × bytes / 16` vectors of 128 bits; booleans are I32X4 masks. Conversions are pure instructions, made where they
//! are wanted: Cranelift's value numbering merges repeats.

use super::Emitter;
use crate::error::{Error, Result};
use crate::ir::{Op, Ty, Value, ValueDef};
use crate::passes::Shape;
use cranelift_codegen::ir::{Block, InstBuilder, Type, Value as C, types};
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;

/// The vectors of a varying value.
pub type Vecs = SmallVec<[C; 4]>;

/// A buffer in machine values.
#[derive(Clone, Copy, Debug)]
pub struct BufPair {
    /// I64.
    pub address: C,
    /// I64, bytes.
    pub range: C,
}

/// Machine form of an IR value.
#[derive(Clone, Debug)]
pub enum Rep {
    /// One scalar for all lanes (I8 for booleans).
    Uniform(C),
    /// I32: base of lane 0, stride per lane.
    Affine(C, i32),
    /// Vectors.
    Varying(Vecs),
    /// One buffer for all lanes.
    Buffer(BufPair),
    /// A buffer per lane.
    Buffers(SmallVec<[BufPair; 8]>),
    /// View or sampler pointers (I64) per lane.
    Pointers(SmallVec<[C; 8]>),
}

/// What a block has already made: it dominates the rest of the block. Without it repeats are merged by the full tier only.
#[derive(Default)]
pub struct Memo {
    block: Option<Block>,
    /// By type and bytes.
    constants: HashMap<(Type, [u8; 16]), C>,
    /// Uniform and affine values as vectors.
    vectors: HashMap<Value, Vecs>,
}

/// Scalar machine type.
pub fn scalar_type(ty: Ty) -> Type {
    match ty {
        Ty::B1 | Ty::I8 => types::I8,
        Ty::I16 => types::I16,
        Ty::I32 => types::I32,
        Ty::I64 | Ty::Img | Ty::Smp | Ty::Buf => types::I64,
        Ty::F16 => types::F16,
        Ty::F32 => types::F32,
        Ty::F64 => types::F64,
    }
}

/// Vector machine type of a varying value.
pub fn vector_type(ty: Ty) -> Type {
    match ty {
        Ty::B1 | Ty::I32 => types::I32X4,
        Ty::I8 => types::I8X16,
        Ty::I16 => types::I16X8,
        Ty::I64 | Ty::Img | Ty::Smp | Ty::Buf => types::I64X2,
        Ty::F16 => types::F16X8,
        Ty::F32 => types::F32X4,
        Ty::F64 => types::F64X2,
    }
}

impl Emitter<'_> {
    /// Vectors of a varying value of the type.
    pub fn vector_count(&self, ty: Ty) -> usize {
        self.lanes as usize / vector_type(ty).lane_count() as usize
    }

    /// Shape that the analysis found.
    pub fn shape(&self, v: Value) -> Shape {
        self.div.shape[v]
    }

    /// Machine form of a value, reloaded when it was defined before a barrier that lies between.
    pub fn rep(&mut self, v: Value) -> Result<Rep> {
        if let Some(bits) = self.constant_bits(v) {
            return Ok(Rep::Uniform(self.constant(self.shader.ty(v), bits)));
        }
        if let Some(slot) = self.spilled(v) {
            return self.reload(v, slot);
        }
        self.reps[v].clone().ok_or_else(|| Error::internal(format!("{v:?} is used before it is defined")))
    }

    /// Sets the machine form of a value. What the analysis promised to be uniform becomes a scalar whatever
    /// the operation made of it (a kernel's result, a private array's element): control flow relies on the promise.
    pub fn define(&mut self, v: Value, rep: Rep) -> Result<()> {
        let rep = match (self.shape(v), rep) {
            (Shape::Uniform, Rep::Varying(vecs)) => Rep::Uniform(self.first_of(self.shader.ty(v), &vecs)),
            (Shape::Affine(stride), Rep::Varying(vecs)) => Rep::Affine(self.affine_base(&vecs, stride), stride),
            (_, rep) => rep,
        };
        self.spill(v, &rep)?;
        self.reps[v] = Some(rep);
        Ok(())
    }

    /// The memo of the current block.
    fn memo(&mut self) -> &mut Memo {
        let block = self.b.current_block();
        if self.memo.block != block {
            self.memo = Memo { block, ..Memo::default() };
        }
        &mut self.memo
    }

    /// A constant that is made once a block.
    fn remembered(&mut self, ty: Type, bytes: [u8; 16], make: impl FnOnce(&mut Self) -> C) -> C {
        if let Some(&c) = self.memo().constants.get(&(ty, bytes)) {
            return c;
        }
        let c = make(self);
        self.memo().constants.insert((ty, bytes), c);
        c
    }

    /// A zero of a machine type.
    pub fn zero(&mut self, ty: Type) -> C {
        use cranelift_codegen::ir::immediates::{Ieee16, Ieee32, Ieee64};
        if ty == types::F16X8 {
            let zero = self.vector_constant([0; 4]);
            return self.bitcast(ty, zero);
        }
        if ty.is_vector() {
            return self.vector_bytes(ty, &[0; 16]);
        }
        self.remembered(ty, [0; 16], |e| match ty {
            types::F32 => e.b.ins().f32const(Ieee32::with_bits(0)),
            types::F64 => e.b.ins().f64const(Ieee64::with_bits(0)),
            types::F16 => e.b.ins().f16const(Ieee16::with_bits(0)),
            ty => e.b.ins().iconst(ty, 0),
        })
    }

    /// A scalar constant from its IR bits.
    pub fn constant(&mut self, ty: Ty, bits: u64) -> C {
        use cranelift_codegen::ir::immediates::{Ieee32, Ieee64};
        self.remembered(scalar_type(ty), u128::from(bits).to_le_bytes(), |e| match ty {
            Ty::F32 => e.b.ins().f32const(Ieee32::with_bits(bits as u32)),
            Ty::F64 => e.b.ins().f64const(Ieee64::with_bits(bits)),
            Ty::B1 => e.b.ins().iconst(types::I8, (bits & 1) as i64),
            Ty::I32 => e.b.ins().iconst(types::I32, i64::from(bits as u32)),
            _ => e.b.ins().iconst(scalar_type(ty), bits as i64),
        })
    }

    /// One vector with a constant in every lane.
    pub fn splat_constant(&mut self, ty: Ty, bits: u64) -> C {
        let word = match ty {
            Ty::B1 => (bits as u32 & 1).wrapping_neg(),
            _ => bits as u32,
        };
        match vector_type(ty).lane_bits() {
            32 => self.vector_bytes(vector_type(ty), [word.to_le_bytes(); 4].as_flattened()),
            64 => self.vector_bytes(vector_type(ty), [bits.to_le_bytes(); 2].as_flattened()),
            _ => {
                let c = self.constant(ty, bits);
                self.b.ins().splat(vector_type(ty), c)
            }
        }
    }

    /// A vector constant from its 16 bytes.
    pub fn vector_bytes(&mut self, ty: Type, bytes: &[u8]) -> C {
        let mut key = [0; 16];
        key.copy_from_slice(bytes);
        self.remembered(ty, key, |e| {
            let handle = e.b.func.dfg.constants.insert(bytes.to_vec().into());
            e.b.ins().vconst(ty, handle)
        })
    }

    /// The bits of a constant.
    pub fn constant_bits(&self, v: Value) -> Option<u64> {
        match self.shader.values[v].def {
            ValueDef::Inst(inst, _) => match self.shader.insts[inst].op {
                Op::Const(bits) => Some(bits),
                _ => None,
            },
            ValueDef::Region => None,
        }
    }

    /// A uniform value as scalar; of vectors the lowest active lane's (constructs that are uniform by definition).
    pub fn scalar(&mut self, v: Value) -> Result<C> {
        let ty = self.shader.ty(v);
        Ok(match self.rep(v)? {
            Rep::Uniform(c) | Rep::Affine(c, _) => c,
            Rep::Varying(vecs) => self.first_of(ty, &vecs),
            Rep::Pointers(p) => p[0],
            Rep::Buffer(_) | Rep::Buffers(_) => return Err(Error::internal("a buffer is not a scalar")),
        })
    }

    /// A value as vectors.
    pub fn vectors(&mut self, v: Value) -> Result<Vecs> {
        let ty = self.shader.ty(v);
        if let Some(bits) = self.constant_bits(v) {
            let c = self.splat_constant(ty, bits);
            return Ok(smallvec![c; self.vector_count(ty)]);
        }
        if let Some(vecs) = self.memo().vectors.get(&v) {
            return Ok(vecs.clone());
        }
        let rep = self.rep(v)?;
        let vecs = self.rep_vectors(ty, &rep)?;
        if !matches!(rep, Rep::Varying(_)) {
            self.memo().vectors.insert(v, vecs.clone());
        }
        Ok(vecs)
    }

    /// A machine form as vectors.
    pub fn rep_vectors(&mut self, ty: Ty, rep: &Rep) -> Result<Vecs> {
        Ok(match rep {
            Rep::Varying(vecs) => vecs.clone(),
            Rep::Uniform(c) => self.splat(ty, *c),
            Rep::Affine(base, stride) => self.ramp(*base, *stride),
            _ => return Err(Error::internal("a descriptor is not a vector")),
        })
    }

    /// A scalar in every lane.
    pub fn splat(&mut self, ty: Ty, c: C) -> Vecs {
        let c = if ty == Ty::B1 { self.bool_to_mask_scalar(c) } else { c };
        let v = self.b.ins().splat(vector_type(ty), c);
        smallvec![v; self.vector_count(ty)]
    }

    /// I8 truth value → I32 0 or -1.
    pub fn bool_to_mask_scalar(&mut self, c: C) -> C {
        let wide = self.b.ins().uextend(types::I32, c);
        self.b.ins().ineg(wide)
    }

    /// I32 0 or -1 → I8 truth value, 0 or 1.
    pub fn mask_word_to_bool(&mut self, c: C) -> C {
        let c = self.b.ins().ireduce(types::I8, c);
        self.b.ins().band_imm_u(c, 1)
    }

    /// base + stride * lane.
    fn ramp(&mut self, base: C, stride: i32) -> Vecs {
        let splat = self.b.ins().splat(types::I32X4, base);
        let count = self.lanes as usize / 4;
        (0..count)
            .map(|i| {
                let steps = [0, 1, 2, 3].map(|l| stride.wrapping_mul(i as i32 * 4 + l));
                let steps = self.vector_constant(steps);
                self.b.ins().iadd(splat, steps)
            })
            .collect()
    }

    /// A vector of four integers.
    pub fn vector_constant(&mut self, words: [i32; 4]) -> C {
        self.vector_bytes(types::I32X4, words.map(i32::to_le_bytes).as_flattened())
    }

    /// One lane of vectors as scalar (booleans: I32 0 or -1).
    pub fn lane(&mut self, ty: Ty, vecs: &Vecs, lane: usize) -> C {
        let per = vector_type(ty).lane_count() as usize;
        self.b.ins().extractlane(vecs[lane / per], (lane % per) as u8)
    }

    /// One lane of a value as scalar (booleans: I8).
    pub fn value_lane(&mut self, v: Value, lane: usize) -> Result<C> {
        let ty = self.shader.ty(v);
        Ok(match self.rep(v)? {
            Rep::Uniform(c) => c,
            Rep::Affine(base, stride) => {
                let step = self.b.ins().iconst(types::I32, i64::from(stride.wrapping_mul(lane as i32) as u32));
                self.b.ins().iadd(base, step)
            }
            Rep::Varying(vecs) => {
                let c = self.lane(ty, &vecs, lane);
                if ty == Ty::B1 { self.mask_word_to_bool(c) } else { c }
            }
            Rep::Pointers(p) => p[lane],
            Rep::Buffer(_) | Rep::Buffers(_) => return Err(Error::internal("a buffer has no scalar lanes")),
        })
    }

    /// Vectors from one scalar per lane (booleans: I32 0 or -1).
    pub fn gather_lanes(&mut self, ty: Ty, lanes: &[C]) -> Vecs {
        let vt = vector_type(ty);
        let per = vt.lane_count() as usize;
        lanes
            .chunks(per)
            .map(|chunk| {
                let mut v = self.b.ins().scalar_to_vector(vt, chunk[0]);
                for (i, &c) in chunk.iter().enumerate().skip(1) {
                    v = self.b.ins().insertlane(v, c, i as u8);
                }
                v
            })
            .collect()
    }

    /// Reinterprets a machine value.
    pub fn bitcast(&mut self, to: Type, c: C) -> C {
        if self.b.func.dfg.value_type(c) == to {
            return c;
        }
        let mut flags = cranelift_codegen::ir::MemFlagsData::new();
        flags.set_endianness(cranelift_codegen::ir::Endianness::Little);
        self.b.ins().bitcast(to, flags, c)
    }

    /// `mask ? a : b` per lane, for vectors of one type; masks are I32X4 and stretched for 64-bit types.
    pub fn select_vectors(&mut self, ty: Ty, mask: &Vecs, a: &Vecs, b: &Vecs) -> Vecs {
        let vt = vector_type(ty);
        let mask = self.mask_for(ty, mask);
        let count = a.len();
        (0..count)
            .map(|i| {
                let m = self.bitcast(vt, mask[i]);
                self.b.ins().bitselect(m, a[i], b[i])
            })
            .collect()
    }

    /// A lane mask in the element width of a type.
    pub fn mask_for(&mut self, ty: Ty, mask: &Vecs) -> Vecs {
        if vector_type(ty).lane_count() != 2 {
            return mask.clone();
        }
        let mut out = Vecs::new();
        for &m in mask {
            out.push(self.b.ins().swiden_low(m));
            out.push(self.b.ins().swiden_high(m));
        }
        out
    }

    /// 64-bit comparison masks back to one I32 lane each.
    pub fn narrow_mask(&mut self, wide: &[C]) -> Vecs {
        wide.chunks(2)
            .map(|pair| {
                let low = self.bitcast(types::I32X4, pair[0]);
                let high = self.bitcast(types::I32X4, pair[1]);
                self.shuffle_words(low, high, [0, 2, 4, 6])
            })
            .collect()
    }

    /// Words 0..=3 of `a`, 4..=7 of `b`.
    pub fn shuffle_words(&mut self, a: C, b: C, words: [u8; 4]) -> C {
        let ty = self.b.func.dfg.value_type(a);
        let (a, b) = (self.bitcast(types::I8X16, a), self.bitcast(types::I8X16, b));
        let r = self.shuffle_bytes(a, b, words);
        self.bitcast(ty, r)
    }

    /// As [`Emitter::shuffle_words`], of I8X16.
    pub fn shuffle_bytes(&mut self, a: C, b: C, words: [u8; 4]) -> C {
        let bytes = words.map(|w| [0, 1, 2, 3].map(|i| w * 4 + i));
        let imm = self.b.func.dfg.immediates.push(bytes.as_flattened().into());
        self.b.ins().shuffle(a, b, imm)
    }
}
