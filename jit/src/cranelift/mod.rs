//! The Cranelift back end, which translates LIR to Cranelift's IR and from there to machine code
//! (`isa`, `cost`, `code`).
//!
//! A vector becomes as many vectors of 128 bits as its lanes fill ([`Parts`]). A smaller vector
//! lies in the low lanes of one, and the lanes beside it are undefined. A mask is 32-bit words of
//! zeros or ones, whatever it was compared from. A truth value is an I8, a half the integer of its
//! bits. Constants are made once per block, at their first use.
//!
//! `cranelift_frontend`'s [`FunctionBuilder`] inserts the instructions. LIR is in SSA form with
//! block parameters, as Cranelift's IR is, so that the builder's variables have no use here: a
//! block's parameters are declared with the block, and all blocks are sealed at the end.
//!
//! Operations are expressed so that Cranelift's instruction selection finds the processor's
//! instructions; those without a vector form are done lane by lane. `alu`, `convert`, `vector` and
//! `memory` have the operations; `nan` handles the differences of floats between processors.

#![forbid(unsafe_code)]

mod alu;
mod code;
mod convert;
mod cost;
mod isa;
mod memory;
mod nan;
mod pinning;
mod place;
mod vector;

pub use code::{Settings, code};
pub use cost::cost_of;
pub use isa::Step;

use crate::error::{Error, Result};
use crate::lir::{self, Def, Effect, Elem, Imm, Inst, InstData, Op};
use base::hash::WordMap;
use cranelift_codegen::ir::immediates::{Ieee32, Ieee64};
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, Endianness, Function, InstBuilder, JumpTableData, MemFlagsData, SigRef, Signature,
    StackSlot, StackSlotData, StackSlotKind, Type, UserFuncName, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use cranelift_frontend::{FuncInstBuilder, FunctionBuilder, FunctionBuilderContext};
use smallvec::{SmallVec, smallvec};
use std::collections::HashSet;

/// The machine values of a value; a scalar has one.
type Parts = SmallVec<[Value; 4]>;

/// Translates a function that [`lir::verify`] accepts, with or without its [optional fast-path
/// blocks](lir::BlockData::fast_path), for the target of a step of code generation.
///
/// # Errors
/// Internal: the function is malformed. Unsupported: there is no target ([`isa::target`]).
pub fn translate(lir: &lir::Function, with_fast_paths: bool, step: Step) -> Result<Function> {
    let target = isa::target(step)?;
    let layout = lir.blocks_in_order(with_fast_paths);
    let entry = *layout.first().ok_or_else(|| Error::internal("a function without blocks"))?;
    let mut signature = Signature::new(CallConv::SystemV);
    for &param in &lir.blocks[entry].params {
        signature.params.push(AbiParam::new(part_type(lir.ty(param))));
    }
    let mut function = Function::with_name_signature(UserFuncName::default(), signature);
    let mut context = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut function, &mut context);
    let mut blocks = SecondaryMap::with_capacity(lir.blocks.len());
    let joined = if with_fast_paths { HashSet::new() } else { joined(lir, &layout) };
    for &block in layout.iter().filter(|block| !joined.contains(block)) {
        blocks[block] = Some(builder.create_block());
    }
    let slots = lir.slots.values();
    let slots = slots.map(|s| StackSlotData::new(StackSlotKind::ExplicitSlot, s.bytes, s.align));
    let slots = slots.map(|data| builder.create_sized_stack_slot(data)).collect();
    let mut lower = Lower {
        lir,
        builder,
        parts: SecondaryMap::new(),
        made: SecondaryMap::new(),
        wanted: Wanted::of(lir, &layout, with_fast_paths),
        with_fast_paths,
        joined,
        blocks,
        slots,
        constants: WordMap::default(),
        bytes: WordMap::default(),
        turned: WordMap::default(),
        current: entry,
        lane_buffers: WordMap::default(),
        signatures: WordMap::default(),
    };
    lower.parts.resize(lir.values.len());
    lower.made.resize(lir.values.len());
    lower.params(&layout)?;
    for &block in &layout {
        lower.block(block)?;
    }
    let mut builder = lower.builder;
    builder.seal_all_blocks();
    // Checks that all blocks are filled and sealed. Otherwise it would only spill values for a
    // garbage collector and clear the context for another function, in 20 KiB of code.
    if cfg!(debug_assertions) {
        builder.finalize(target.frontend_config());
    }
    Ok(function)
}

/// Returns the blocks that are merged with the block before them when optional fast-path blocks are
/// omitted: that block is their only predecessor and has no other target.
fn joined(lir: &lir::Function, layout: &[lir::Block]) -> HashSet<lir::Block> {
    let mut ways: SecondaryMap<lir::Block, u32> = SecondaryMap::new();
    layout.iter().flat_map(|&block| lir.targets(block, false)).for_each(|target| ways[target.block] += 1);
    let next = |pair: &[lir::Block]| match lir.targets(pair[0], false) {
        [only] if only.block == pair[1] && ways[pair[1]] == 1 => Some(pair[1]),
        _ => None,
    };
    layout.windows(2).filter_map(next).collect()
}

/// Returns the machine type of a value, or of its parts.
fn part_type(ty: lir::Type) -> Type {
    if ty.is_vector() {
        return match ty.elem {
            Elem::B | Elem::I32 => types::I32X4,
            Elem::I8 => types::I8X16,
            Elem::I16 | Elem::F16 => types::I16X8,
            Elem::I64 => types::I64X2,
            Elem::F32 => types::F32X4,
            Elem::F64 => types::F64X2,
        };
    }
    match ty.elem {
        Elem::B | Elem::I8 => types::I8,
        Elem::I16 | Elem::F16 => types::I16,
        Elem::I32 => types::I32,
        Elem::I64 => types::I64,
        Elem::F32 => types::F32,
        Elem::F64 => types::F64,
    }
}

/// Returns the number of parts of a value.
fn part_count(ty: lir::Type) -> usize {
    ty.bytes().div_ceil(16) as usize
}

/// Returns the number of lanes of a part.
fn per_part(ty: lir::Type) -> usize {
    if ty.is_vector() { (16 / ty.lane_bytes()) as usize } else { 1 }
}

/// The forms in which values are used.
struct Wanted(SecondaryMap<lir::Value, u8>);

impl Wanted {
    /// The value is used as its own type, by anything other than a shuffle.
    const TYPED: u8 = 1;
    /// The value is used as 0 or 1, by anything other than a condition.
    const TRUTH: u8 = 2;

    fn of(lir: &lir::Function, layout: &[lir::Block], with_fast_paths: bool) -> Wanted {
        let mut wanted = SecondaryMap::new();
        wanted.resize(lir.values.len());
        for &block in layout {
            for data in lir.blocks[block].insts.iter().map(|&i| &lir.insts[i]) {
                for (i, &v) in data.args.iter().enumerate() {
                    wanted[v] |= match (data.op, i) {
                        (Op::Shuffle, _) => Self::TRUTH,
                        (Op::Select, 0) | (Op::Branch, _) => Self::TYPED,
                        _ => Self::TYPED | Self::TRUTH,
                    };
                }
            }
            for &v in lir.targets(block, with_fast_paths).iter().flat_map(|t| &t.args) {
                wanted[v] |= Self::TYPED | Self::TRUTH;
            }
        }
        Wanted(wanted)
    }

    fn as_type(&self, v: lir::Value) -> bool {
        self.0[v] & Self::TYPED != 0
    }
    fn as_truth(&self, v: lir::Value) -> bool {
        self.0[v] & Self::TRUTH != 0
    }
}

/// State of the translation of one function.
struct Lower<'a> {
    lir: &'a lir::Function,
    builder: FunctionBuilder<'a>,
    parts: SecondaryMap<lir::Value, Parts>,
    /// The last block that made parts for a constant.
    made: SecondaryMap<lir::Value, PackedOption<lir::Block>>,
    wanted: Wanted,
    /// Optional fast-path blocks are included.
    with_fast_paths: bool,
    joined: HashSet<lir::Block>,
    blocks: SecondaryMap<lir::Block, Option<Block>>,
    slots: Vec<StackSlot>,
    /// The newest constant of each type and bytes, with the block that made it; vectors are also
    /// kept as I8X16 in `bytes`.
    constants: WordMap<(Type, [u8; 16]), (lir::Block, Value)>,
    bytes: WordMap<Value, (lir::Block, Value)>,
    /// Floats converted between their form in memory and their form in registers, in either
    /// direction ([`nan`]).
    turned: WordMap<Value, (lir::Block, Value)>,
    current: lir::Block,
    /// Stack slots in which lanes are looked up by number, by their size in bytes.
    lane_buffers: WordMap<u32, StackSlot>,
    signatures: WordMap<SmallVec<[Type; 8]>, SigRef>,
}

impl<'a> Lower<'a> {
    fn ins(&mut self) -> FuncInstBuilder<'_, 'a> {
        self.builder.ins()
    }

    fn machine_type(&self, c: Value) -> Type {
        self.builder.func.dfg.value_type(c)
    }

    fn block_of(&self, block: lir::Block) -> Result<Block> {
        self.blocks[block].ok_or_else(|| Error::internal(format!("{block} is not in the layout")))
    }

    /// Creates the parameters of all blocks first, because a value may be used before its block is
    /// translated.
    fn params(&mut self, layout: &[lir::Block]) -> Result<()> {
        let lir = self.lir;
        for &from in layout {
            let Some(block) = self.blocks[from] else { continue };
            for &param in &lir.blocks[from].params {
                let ty = lir.ty(param);
                let parts = (0..part_count(ty)).map(|_| self.builder.append_block_param(block, part_type(ty)));
                self.parts[param] = parts.collect();
            }
        }
        Ok(())
    }

    fn block(&mut self, from: lir::Block) -> Result<()> {
        let lir = self.lir;
        if let Some(block) = self.blocks[from] {
            self.builder.switch_to_block(block);
            if lir.blocks[from].cold {
                self.builder.set_cold_block(block);
            }
            self.current = from;
        }
        for &inst in &lir.blocks[from].insts {
            self.inst(inst, from)?;
        }
        Ok(())
    }

    fn inst(&mut self, inst: Inst, block: lir::Block) -> Result<()> {
        let lir = self.lir;
        let data = &lir.insts[inst];
        match data.op.row().effect {
            Effect::Control => self.end(data, block),
            Effect::Read | Effect::Write | Effect::Call => self.access(data),
            Effect::Pure => {
                let parts = self.pure(data)?;
                self.parts[data.first] = parts;
                Ok(())
            }
        }
    }

    fn pure(&mut self, data: &InstData) -> Result<Parts> {
        use Op::*;
        match data.op {
            Iadd | Isub | Imul | Ineg | And | Or | Xor | AndNot | Not | Smin | Smax | Umin | Umax | SmulHigh
            | UmulHigh | Sdiv | Udiv | Srem | Urem | Shl | Lshr | Ashr | ShlV | LshrV | AshrV | Clz | Ctz | Popcnt
            | BitReverse | Fadd | Fsub | Fmul | Fdiv | Fma | Fneg | Fabs | Sqrt | Floor | Ceil | Trunc | Nearest
            | Icmp | Fcmp | Select => self.alu(data),
            Sext | Zext | Narrow | Fwiden | Fnarrow | HalfToFloat | FloatToHalf | SintToFloat | UintToFloat
            | FloatToSint | FloatToUint | Bitcast => self.convert(data),
            Splat | Extract | Insert | Build | Shuffle | ExtractAt | Permute | Any | All | MaskBits | BitsMask => {
                self.vector(data)
            }
            StackAddress => {
                let Imm::Slot(slot, offset) = data.imm else { return Err(malformed(data)) };
                let slot = self.slots[slot.as_u32() as usize];
                Ok(smallvec![self.ins().stack_addr(types::I64, slot, offset)])
            }
            Load | LoadU8 | LoadU16 | Store | Gather | Scatter | AtomicRmw | AtomicCas | AtomicLoad | Fence | Call
            | Jump | Branch | BranchTable | Return => Err(malformed(data)),
        }
    }

    fn end(&mut self, data: &InstData, block: lir::Block) -> Result<()> {
        let lir = self.lir;
        let mut targets: SmallVec<[(Block, SmallVec<[BlockArg; 8]>); 2]> = SmallVec::new();
        let all = lir.targets(block, self.with_fast_paths);
        if let [only] = all
            && self.joined.contains(&only.block)
        {
            for (&param, &v) in lir.blocks[only.block].params.iter().zip(&only.args) {
                self.parts[param] = self.get(v);
            }
            return Ok(());
        }
        for target in all {
            let mut args = SmallVec::new();
            for &v in &target.args {
                self.get(v).iter().for_each(|&c| args.push(BlockArg::Value(c)));
            }
            targets.push((self.block_of(target.block)?, args));
        }
        match (data.op, &targets[..]) {
            (Op::Jump | Op::Branch, [(block, args)]) => {
                self.ins().jump(*block, args);
            }
            (Op::Branch, [(then, then_args), (other, other_args)]) => {
                let cond = self.get(data.args[0])[0];
                self.ins().brif(cond, *then, then_args, *other, other_args);
            }
            (Op::BranchTable, [table @ .., (default, args)]) => {
                let index = self.get(data.args[0])[0];
                let dfg = &mut self.builder.func.dfg;
                let calls: Vec<_> = table.iter().map(|(b, args)| dfg.block_call(*b, args)).collect();
                let default = dfg.block_call(*default, args);
                let table = self.builder.create_jump_table(JumpTableData::new(default, &calls));
                self.ins().br_table(index, table);
            }
            (Op::Return, []) => {
                self.ins().return_(&[]);
            }
            _ => return Err(malformed(data)),
        }
        Ok(())
    }

    /// Returns the machine values of a value, in its own type.
    fn get(&mut self, v: lir::Value) -> Parts {
        let lir = self.lir;
        let data = &lir.values[v];
        let constant = match data.def {
            Def::Inst(_) | Def::Param(_) | Def::Alias(_) => return Parts::from_slice(&self.parts[v]),
            _ if self.made[v] == self.current.into() => return Parts::from_slice(&self.parts[v]),
            Def::Const(bits) => {
                let c = self.constant(data.ty, bits);
                smallvec![c; part_count(data.ty)]
            }
            Def::Lanes(list) => self.lane_constants(data.ty, &lir.lists[list]),
        };
        self.made[v] = self.current.into();
        self.parts[v] = Parts::from_slice(&constant);
        constant
    }

    /// Returns the only machine value of a scalar.
    fn scalar(&mut self, v: lir::Value) -> Value {
        self.get(v)[0]
    }

    /// Returns a constant; for a vector one of its parts, which are all equal.
    fn constant(&mut self, ty: lir::Type, bits: u64) -> Value {
        let bits = nan::turn_constant(ty.elem, bits);
        if ty.is_vector() {
            let (bits, bytes) = if ty.elem == Elem::B { (bits.wrapping_neg(), 4) } else { (bits, ty.lane_bytes()) };
            let lane = &bits.to_le_bytes()[..bytes as usize];
            let mut all = [0; 16];
            all.chunks_mut(lane.len()).for_each(|chunk| chunk.copy_from_slice(lane));
            return self.vector_constant(part_type(ty), all);
        }
        let machine = part_type(ty);
        self.remembered(machine, u128::from(bits).to_le_bytes(), |e| match ty.elem {
            Elem::F32 => e.ins().f32const(Ieee32::with_bits(bits as u32)),
            Elem::F64 => e.ins().f64const(Ieee64::with_bits(bits)),
            _ => e.ins().iconst(machine, bits as i64),
        })
    }

    fn lane_constants(&mut self, ty: lir::Type, lanes: &[u64]) -> Parts {
        let bytes = ty.lane_bytes() as usize;
        let bits = |&l: &u64| if ty.elem == Elem::B { l.wrapping_neg() } else { nan::turn_constant(ty.elem, l) };
        let part = |chunk: &[u64]| {
            let mut all = [0; 16];
            for (place, lane) in all.chunks_mut(bytes).zip(chunk.iter().map(bits)) {
                place.copy_from_slice(&lane.to_le_bytes()[..bytes]);
            }
            all
        };
        lanes.chunks(16 / bytes).map(|chunk| self.vector_constant(part_type(ty), part(chunk))).collect()
    }

    /// Returns a vector constant from its bytes.
    fn vector_constant(&mut self, ty: Type, bytes: [u8; 16]) -> Value {
        self.remembered(ty, bytes, |e| {
            let handle = e.builder.func.dfg.constants.insert(bytes.to_vec().into());
            e.ins().vconst(ty, handle)
        })
    }

    /// Returns a vector constant of four words.
    fn words(&mut self, words: [u32; 4]) -> Value {
        let mut bytes = [0; 16];
        bytes.chunks_mut(4).zip(words).for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
        self.vector_constant(types::I32X4, bytes)
    }

    /// Returns a constant that is made once per block.
    fn remembered(&mut self, ty: Type, bytes: [u8; 16], make: impl FnOnce(&mut Self) -> Value) -> Value {
        match self.constants.get(&(ty, bytes)) {
            Some(&(block, c)) if block == self.current => return c,
            _ => {}
        }
        let c = make(self);
        self.constants.insert((ty, bytes), (self.current, c));
        c
    }

    /// Reinterprets a machine value as another type.
    fn bitcast(&mut self, to: Type, c: Value) -> Value {
        if self.machine_type(c) == to {
            return c;
        }
        let mut flags = MemFlagsData::new();
        flags.set_endianness(Endianness::Little);
        self.ins().bitcast(to, flags, c)
    }

    // Iteration over the parts of values.

    /// Applies a function to each part of up to three operands.
    fn each(&mut self, data: &InstData, f: impl Fn(&mut Self, &[Value]) -> Value) -> Parts {
        let operands: [Parts; 3] = std::array::from_fn(|i| data.args.get(i).map_or_else(Parts::new, |&v| self.get(v)));
        let count = data.args.len().min(operands.len());
        let mut row = [operands[0][0]; 3];
        let mut out = Parts::new();
        for i in 0..operands[0].len() {
            for (place, parts) in row.iter_mut().zip(&operands[..count]) {
                *place = parts[i];
            }
            out.push(f(self, &row[..count]));
        }
        out
    }

    /// Applies a scalar operation to each lane. Operands that are scalars are the same for every
    /// lane.
    fn by_lane(&mut self, data: &InstData, result: lir::Type, f: impl Fn(&mut Self, &[Value]) -> Value) -> Parts {
        let args: SmallVec<[(lir::Type, Parts); 4]> = data.args.iter().map(|&v| self.lane_source(v)).collect();
        let lanes: SmallVec<[Value; 16]> = (0..result.lanes())
            .map(|lane| {
                let row: Parts = args.iter().map(|(ty, parts)| self.lane(*ty, parts, lane)).collect();
                f(self, &row)
            })
            .collect();
        self.assemble(result, &lanes)
    }

    /// Returns the value that lanes are taken from: the scalar, if all lanes are equal.
    fn lane_source(&mut self, v: lir::Value) -> (lir::Type, Parts) {
        let (lir, ty) = (self.lir, self.lir.ty(v));
        match (lir.constant(v), lir.definition(v)) {
            (Some(bits), _) if ty.elem != Elem::B => (ty.scalar(), smallvec![self.constant(ty.scalar(), bits)]),
            (_, Some(data)) if data.op == Op::Splat && ty.elem != Elem::B => (ty.scalar(), self.get(data.args[0])),
            _ => (ty, self.get(v)),
        }
    }

    /// Returns a lane as a scalar; for a mask its word.
    fn lane(&mut self, ty: lir::Type, parts: &Parts, lane: usize) -> Value {
        if !ty.is_vector() {
            return parts[0];
        }
        let per = per_part(ty);
        self.ins().extractlane(parts[lane / per], (lane % per) as u8)
    }

    /// Assembles a value from its lanes; a mask from words.
    fn assemble(&mut self, ty: lir::Type, lanes: &[Value]) -> Parts {
        if !ty.is_vector() {
            return smallvec![lanes[0]];
        }
        let machine = part_type(ty);
        let narrow = matches!(ty.elem, Elem::I8 | Elem::I16 | Elem::F16);
        lanes
            .chunks(per_part(ty))
            .map(|chunk| {
                let first = chunk[0];
                let mut v = if narrow {
                    // There is no such instruction for narrow lanes.
                    let word = self.ins().uextend(types::I32, first);
                    let word = self.ins().scalar_to_vector(types::I32X4, word);
                    self.bitcast(machine, word)
                } else {
                    self.ins().scalar_to_vector(machine, first)
                };
                for (i, &c) in chunk.iter().enumerate().skip(1) {
                    v = self.ins().insertlane(v, c, i as u8);
                }
                v
            })
            .collect()
    }
}

/// Returns the error for an instruction that verification should have refused.
fn malformed(data: &InstData) -> Error {
    Error::internal(format!("a malformed {}", data.op.row().name))
}
