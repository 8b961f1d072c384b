//! Builder of LIR functions.
//!
//! Blocks are created, entered and ended in any order that a walk over structured control flow
//! yields. A block is sealed when no more edges to it will come ([`Builder::seal_block`]). It
//! should be sealed before it is entered, because value numbering uses only blocks that are known
//! to dominate.

#![forbid(unsafe_code)]

use super::op::VariadicRule;
use super::ssa::Ssa;
use super::value_numbering::ValueNumbering;
use super::{
    Access, Args, Block, BlockData, Def, Effect, Elem, FloatCond, Function, Imm, Inst, InstData, IntCond, List, Op,
    Rmw, Slot, SlotData, Target, Type, Value, ValueData, eval, weight,
};
use base::hash::WordMap;
use smallvec::{SmallVec, smallvec};

/// A function under construction.
#[derive(Default)]
pub struct Builder {
    pub(super) func: Function,
    current: Option<Block>,
    pub(super) ssa: Ssa,
    value_numbering: ValueNumbering,
    constants: WordMap<(Type, u64), Value>,
    vectors: WordMap<(Type, List), Value>,
    lists: WordMap<Box<[u64]>, List>,
    weight: usize,
}

impl Builder {
    /// Starts a function with these parameters and enters its first block.
    pub fn new(params: &[Type]) -> Builder {
        let mut b = Builder::default();
        let entry = b.create_block();
        params.iter().for_each(|&ty| {
            b.append_param(entry, ty);
        });
        b.seal_block(entry);
        b.switch_to_block(entry);
        b
    }

    /// Returns the finished function, in which every block is sealed and ended. Unreachable blocks
    /// are dropped.
    pub fn finish(mut self) -> Function {
        self.seal_all_blocks();
        let mut reached = vec![false; self.func.blocks.len()];
        let mut todo: Vec<Block> = self.func.layout.first().copied().into_iter().collect();
        while let Some(block) = todo.pop() {
            if !std::mem::replace(&mut reached[block.0 as usize], true) {
                todo.extend(self.func.blocks[block].targets.iter().map(|t| t.block));
            }
        }
        self.func.layout.retain(|b| reached[b.0 as usize]);
        let Function { values, insts, blocks, layout, .. } = &mut self.func;
        let resolve = |v: &mut Value| {
            while let Def::Alias(to) = values[*v].def {
                *v = to;
            }
        };
        for &block in layout.iter() {
            let block = &mut blocks[block];
            block.insts.iter().for_each(|&inst| insts[inst].args.iter_mut().for_each(resolve));
            block.targets.iter_mut().for_each(|t| t.args.iter_mut().for_each(resolve));
        }
        self.func
    }

    /// Returns the function as built so far.
    pub fn func(&self) -> &Function {
        &self.func
    }
    /// Returns the [`Function::weight`] of the function as built so far.
    pub fn weight(&self) -> usize {
        self.weight
    }
    /// Returns the type of a value.
    pub fn ty(&self, v: Value) -> Type {
        self.func.values[v].ty
    }

    pub(super) fn resolve(&self, mut v: Value) -> Value {
        while let Def::Alias(to) = self.func.values[v].def {
            v = to;
        }
        v
    }

    // Blocks.

    /// Creates a block.
    pub fn create_block(&mut self) -> Block {
        self.func.blocks.push(BlockData::default())
    }
    /// Appends a parameter to a block. The block must not have incoming edges yet.
    pub fn append_param(&mut self, block: Block, ty: Type) -> Value {
        let param = self.func.values.push(ValueData { ty, def: Def::Param(block) });
        self.func.blocks[block].params.push(param);
        param
    }
    /// Returns the parameters of a block.
    pub fn params(&self, block: Block) -> &[Value] {
        &self.func.blocks[block].params
    }
    /// Marks a block as rarely executed.
    pub fn set_cold_block(&mut self, block: Block) {
        self.func.blocks[block].cold = true;
    }
    /// Marks a block as an optional fast path ([`BlockData::fast_path`]).
    pub fn set_fast_path_block(&mut self, block: Block) {
        self.func.blocks[block].fast_path = true;
    }
    /// Returns the block under construction.
    ///
    /// # Panics
    /// Panics if the last entered block is ended and no other one is entered.
    pub fn current(&self) -> Block {
        match self.current {
            Some(block) => block,
            None => panic!("no block is entered"),
        }
    }

    /// Enters a block.
    pub fn switch_to_block(&mut self, block: Block) {
        self.enter(block, false);
    }

    /// Enters the header of a loop, which is a block to which more edges will come, from blocks
    /// that are reached only through it.
    pub fn enter_loop(&mut self, block: Block) {
        self.enter(block, true);
    }

    /// Enters a block to which more edges will come, all of them from blocks that `dominator`
    /// dominates.
    pub fn enter_dominated_by(&mut self, block: Block, dominator: Block) {
        self.current = Some(block);
        self.func.layout.push(block);
        self.value_numbering.enter(block, std::iter::once(dominator));
    }

    /// Continues a block that was entered and is not ended yet. Several such blocks may exist at a
    /// time.
    pub fn resume_block(&mut self, block: Block) {
        self.current = Some(block);
    }

    /// Returns true if a value is a result of one of the block's instructions.
    pub fn is_defined_in(&self, v: Value, block: Block) -> bool {
        match self.func.values[v].def {
            Def::Inst(inst) => self.func.blocks[block].insts.contains(&inst),
            _ => false,
        }
    }

    /// Returns true if every known path to `b` goes through `a`. Both blocks must have been
    /// entered.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        self.value_numbering.dominates(a, b)
    }

    fn enter(&mut self, block: Block, dominates: bool) {
        self.current = Some(block);
        self.func.layout.push(block);
        if dominates || self.ssa.is_sealed(block) {
            self.value_numbering.enter(block, self.ssa.preds(block));
        } else {
            self.value_numbering.enter_unknown(block);
        }
    }

    /// Creates a stack slot.
    pub fn create_slot(&mut self, bytes: u32, align: u8) -> Slot {
        self.func.slots.push(SlotData { bytes, align })
    }

    // Constants.

    /// Returns a constant with the same bits in every lane.
    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        let bits = bits & ty.elem.mask();
        let values = &mut self.func.values;
        *self.constants.entry((ty, bits)).or_insert_with(|| values.push(ValueData { ty, def: Def::Const(bits) }))
    }

    /// Returns an integer constant, the same in every lane.
    pub fn iconst(&mut self, ty: Type, value: i64) -> Value {
        self.constant(ty, value as u64)
    }

    /// Returns a constant with separate bits per lane.
    pub fn constant_lanes(&mut self, elem: Elem, lanes: &[u64]) -> Value {
        let ty = elem.by(lanes.len());
        let lanes: SmallVec<[u64; 16]> = lanes.iter().map(|bits| bits & elem.mask()).collect();
        if lanes.iter().all(|&l| l == lanes[0]) {
            return self.constant(ty, lanes[0]);
        }
        let list = self.list(&lanes);
        let values = &mut self.func.values;
        *self.vectors.entry((ty, list)).or_insert_with(|| values.push(ValueData { ty, def: Def::Lanes(list) }))
    }

    fn list(&mut self, lanes: &[u64]) -> List {
        if let Some(&list) = self.lists.get(lanes) {
            return list;
        }
        let list = self.func.lists.push(lanes.into());
        self.lists.insert(lanes.into(), list);
        list
    }

    // Instructions.

    /// Appends an instruction, or reuses an earlier one with the same results. Returns the first
    /// result; the others are the values that follow it.
    pub fn inst(&mut self, op: Op, ty: Type, args: &[Value], imm: Imm) -> Value {
        let mut args = Args::from_slice(args);
        args.iter_mut().for_each(|v| *v = self.resolve(*v));
        let first = Value(self.func.values.len() as u32);
        let mut data = InstData { op, ty, args, imm, first, count: 0 };
        let pure = match op.row().effect {
            Effect::Pure => true,
            Effect::Read => matches!(imm, Imm::Access(a) | Imm::Gather(a, _) if a.readonly),
            Effect::Write | Effect::Call | Effect::Control => false,
        };
        if !pure {
            return self.push(data);
        }
        if let Some(v) = self
            .identity_operand(&data)
            .or_else(|| self.fold(&data))
            .or_else(|| self.divide_by_constant(op, ty, &data.args))
        {
            return v;
        }
        let hash = ValueNumbering::hash(&data);
        let insts = &self.func.insts;
        let same = |inst: Inst| {
            let other = &insts[inst];
            (other.op, other.ty, other.imm) == (op, ty, imm) && other.args == data.args
        };
        let block = self.current();
        if let Some(inst) = self.value_numbering.find(hash, block, same) {
            return self.func.insts[inst].first;
        }
        data.first = first;
        let value = self.push(data);
        let inst = Inst(self.func.insts.len() as u32 - 1);
        self.value_numbering.add(hash, inst, block);
        value
    }

    fn push(&mut self, mut data: InstData) -> Value {
        let block = self.current();
        self.weight += weight(data.op, data.ty);
        let types = self.func.result_types(data.op, data.ty, data.imm);
        data.count = types.len() as u8;
        let first = data.first;
        let inst = self.func.insts.push(data);
        for ty in types {
            self.func.values.push(ValueData { ty, def: Def::Inst(inst) });
        }
        self.func.blocks[block].insts.push(inst);
        first
    }

    /// Returns the operand that equals the result of an integer operation with a neutral element.
    fn identity_operand(&self, data: &InstData) -> Option<Value> {
        let neutral = match data.op {
            Op::Iadd | Op::Isub | Op::Or | Op::Xor | Op::Shl | Op::Lshr | Op::Ashr => 0,
            Op::Imul => 1,
            _ => return None,
        };
        let is_neutral = |v: Value| self.func.constant(v) == Some(neutral);
        match data.args[..] {
            [a, b] if is_neutral(b) => Some(a),
            [a, b] if is_neutral(a) && matches!(data.op, Op::Iadd | Op::Or | Op::Xor | Op::Imul) => Some(b),
            _ => None,
        }
    }

    /// Returns the result of an operation on constants. Back ends would differ in the NaN that an
    /// operation on constants gives, so every such operation is folded here. Only conversions are
    /// left to them, because these have one operand and one possible NaN.
    fn fold(&mut self, data: &InstData) -> Option<Value> {
        let constant = |&v: &Value| matches!(self.func.values[v].def, Def::Const(_) | Def::Lanes(_));
        if data.args.is_empty() || !data.args.iter().all(constant) || data.op.row().effect != Effect::Pure {
            return None;
        }
        let result = self.func.result_types(data.op, data.ty, data.imm)[0];
        // A splat of a constant is the most frequent case.
        if let (Op::Splat, Def::Const(bits)) = (data.op, self.func.values[data.args[0]].def) {
            return Some(self.constant(result, bits));
        }
        let args = data.args.iter().map(|&v| self.func.constant_lanes(v)).collect::<Option<Vec<_>>>()?;
        let types: SmallVec<[Type; 4]> = data.args.iter().map(|&v| self.ty(v)).collect();
        let mut lanes = eval::pure(&self.func, data, &types, &args);
        let is_float = matches!(result.elem, Elem::F16 | Elem::F32 | Elem::F64);
        if is_float && lanes.iter().any(|&bits| is_nan(result.elem, bits)) {
            match nan_source(data.op) {
                NanSource::Bits => {}
                NanSource::First(order) => {
                    for (i, bits) in lanes.iter_mut().enumerate().filter(|(_, bits)| is_nan(result.elem, **bits)) {
                        let operand = order.iter().filter_map(|&a| args.get(a)).map(|arg| arg[i]);
                        *bits = machine_nan(result.elem, operand.into_iter().find(|&bits| is_nan(result.elem, bits)));
                    }
                }
                NanSource::Left => return None,
            }
        }
        Some(self.constant_lanes(result.elem, &lanes))
    }

    fn terminate(&mut self, op: Op, args: &[Value], targets: SmallVec<[Target; 2]>) {
        let block = self.current();
        self.inst(op, Type::B, args, Imm::None);
        for (i, target) in targets.iter().enumerate() {
            self.ssa.edge(block, i, target.block);
        }
        self.func.blocks[block].targets = targets;
        self.current = None;
    }

    /// Ends the block with a jump to another one.
    pub fn jump(&mut self, block: Block, args: &[Value]) {
        self.terminate(Op::Jump, &[], smallvec![Target { block, args: args.into() }]);
    }
    /// Ends the block with a branch to one of two blocks.
    pub fn branch(&mut self, cond: Value, then: Block, then_args: &[Value], other: Block, other_args: &[Value]) {
        let targets = [(then, then_args), (other, other_args)];
        let targets = targets.into_iter().map(|(block, args)| Target { block, args: args.into() });
        self.terminate(Op::Branch, &[cond], targets.collect());
    }
    /// Ends the block with a jump to the block that `index` selects, or to `default`.
    pub fn branch_table(&mut self, index: Value, blocks: &[Block], default: Block) {
        let targets = blocks.iter().chain([&default]).map(|&block| Target { block, args: Args::new() });
        self.terminate(Op::BranchTable, &[index], targets.collect());
    }
    /// Ends the block with a return.
    pub fn return_(&mut self) {
        self.terminate(Op::Return, &[], SmallVec::new());
    }
}

/// Defines methods for operations without immediate whose T is the type of the first operand.
macro_rules! simple {
    ($($name:ident $op:ident ($($arg:ident),*);)*) => {
        /// Methods named after their operations, whose meaning [`Op`] describes.
        #[allow(missing_docs, reason = "the table has them")]
        impl Builder {
            $(pub fn $name(&mut self, $($arg: Value),*) -> Value {
                let args = [$($arg),*];
                let ty = self.ty(args[0]);
                self.inst(Op::$op, ty, &args, Imm::None)
            })*
        }
    };
}

simple! {
    iadd Iadd (a, b); isub Isub (a, b); imul Imul (a, b); ineg Ineg (a);
    and And (a, b); or Or (a, b); xor Xor (a, b); and_not AndNot (a, b); not Not (a);
    smin Smin (a, b); smax Smax (a, b); umin Umin (a, b); umax Umax (a, b);
    smul_high SmulHigh (a, b); umul_high UmulHigh (a, b);
    sdiv Sdiv (a, b); udiv Udiv (a, b); srem Srem (a, b); urem Urem (a, b);
    shl Shl (a, n); lshr Lshr (a, n); ashr Ashr (a, n);
    shlv ShlV (a, n); lshrv LshrV (a, n); ashrv AshrV (a, n);
    clz Clz (a); ctz Ctz (a); popcnt Popcnt (a); bit_reverse BitReverse (a);
    fadd Fadd (a, b); fsub Fsub (a, b); fmul Fmul (a, b); fdiv Fdiv (a, b); fma Fma (a, b, c);
    fneg Fneg (a); fabs Fabs (a); sqrt Sqrt (a); floor Floor (a); ceil Ceil (a); trunc Trunc (a); nearest Nearest (a);
    any Any (m); all All (m); mask_bits MaskBits (m); extract_at ExtractAt (a, lane); permute Permute (a, lanes);
}

/// Defines methods for operations that convert a value to a type that is given.
macro_rules! conversions {
    ($($name:ident $op:ident;)*) => {
        /// Methods named after their conversions, whose meaning [`Op`] describes.
        #[allow(missing_docs, reason = "the table has them")]
        impl Builder {
            $(pub fn $name(&mut self, to: Type, a: Value) -> Value {
                self.inst(Op::$op, to, &[a], Imm::None)
            })*
        }
    };
}

conversions! {
    sext Sext; zext Zext; narrow Narrow; fwiden Fwiden; fnarrow Fnarrow;
    half_to_float HalfToFloat; float_to_half FloatToHalf;
    sint_to_float SintToFloat; uint_to_float UintToFloat; float_to_sint FloatToSint; float_to_uint FloatToUint;
    splat Splat; bits_mask BitsMask;
}

/// Defines methods with an integer constant as the second operand.
macro_rules! immediates {
    ($($name:ident $op:ident;)*) => {
        /// Methods for operations with a constant as the second operand.
        #[allow(missing_docs, reason = "the table has them")]
        impl Builder {
            $(pub fn $name(&mut self, a: Value, b: i64) -> Value {
                let ty = self.ty(a);
                let b = self.constant(ty, b as u64);
                self.inst(Op::$op, ty, &[a, b], Imm::None)
            })*
        }
    };
}

immediates! {
    iadd_imm Iadd; imul_imm Imul; and_imm And; or_imm Or; xor_imm Xor; udiv_imm Udiv; urem_imm Urem;
}

/// Defines methods that shift by a constant.
macro_rules! shifts {
    ($($name:ident $op:ident;)*) => {
        /// Methods that shift all lanes by a constant.
        #[allow(missing_docs, reason = "the table has them")]
        impl Builder {
            $(pub fn $name(&mut self, a: Value, n: u32) -> Value {
                let (ty, n) = (self.ty(a), self.constant(Type::I32, n.into()));
                self.inst(Op::$op, ty, &[a, n], Imm::None)
            })*
        }
    };
}

shifts! { shl_imm Shl; lshr_imm Lshr; ashr_imm Ashr; }

/// Methods for all other operations.
impl Builder {
    /// Compares integers.
    pub fn icmp(&mut self, cond: IntCond, a: Value, b: Value) -> Value {
        self.inst(Op::Icmp, self.ty(a), &[a, b], Imm::Int(cond))
    }
    /// Compares integers with a constant.
    pub fn icmp_imm(&mut self, cond: IntCond, a: Value, b: i64) -> Value {
        let b = self.constant(self.ty(a), b as u64);
        self.icmp(cond, a, b)
    }
    /// Compares floats.
    pub fn fcmp(&mut self, cond: FloatCond, a: Value, b: Value) -> Value {
        self.inst(Op::Fcmp, self.ty(a), &[a, b], Imm::Float(cond))
    }
    /// Returns `cond ? a : b`, per lane if `cond` is a mask.
    pub fn select(&mut self, cond: Value, a: Value, b: Value) -> Value {
        if a == b {
            return a;
        }
        self.inst(Op::Select, self.ty(a), &[cond, a, b], Imm::None)
    }
    /// Reinterprets the bits of a value as another type of the same size.
    pub fn bitcast(&mut self, to: Type, a: Value) -> Value {
        if self.ty(a) == to { a } else { self.inst(Op::Bitcast, to, &[a], Imm::None) }
    }
    /// Returns one lane of a vector.
    pub fn extract(&mut self, a: Value, lane: usize) -> Value {
        self.inst(Op::Extract, self.ty(a), &[a], Imm::Lane(lane as u8))
    }
    /// Returns a vector in which one lane is replaced.
    pub fn insert(&mut self, a: Value, lane: usize, value: Value) -> Value {
        self.inst(Op::Insert, self.ty(a), &[a, value], Imm::Lane(lane as u8))
    }
    /// Builds a vector of scalars.
    pub fn build(&mut self, lanes: &[Value]) -> Value {
        let ty = self.ty(lanes[0]).elem.by(lanes.len());
        self.inst(Op::Build, ty, lanes, Imm::None)
    }
    /// Returns the lanes of two vectors that `pattern` selects, counted through `a` and then `b`.
    pub fn shuffle(&mut self, a: Value, b: Value, pattern: &[usize]) -> Value {
        let lanes = self.ty(a).lanes();
        if pattern.len() == lanes && pattern.iter().enumerate().all(|(i, &l)| i == l) {
            return a;
        }
        let pattern: SmallVec<[u64; 16]> = pattern.iter().map(|&l| l as u64).collect();
        let pattern = self.list(&pattern);
        self.inst(Op::Shuffle, self.ty(a), &[a, b], Imm::Pattern(pattern))
    }
    /// Concatenates the lanes of two vectors.
    pub fn concat(&mut self, a: Value, b: Value) -> Value {
        let pattern: SmallVec<[usize; 16]> = (0..2 * self.ty(a).lanes()).collect();
        self.shuffle(a, b, &pattern)
    }
    /// Returns `count` lanes, starting at the lane `first`.
    pub fn slice(&mut self, a: Value, first: usize, count: usize) -> Value {
        let pattern: SmallVec<[usize; 16]> = (first..first + count).collect();
        self.shuffle(a, a, &pattern)
    }
    /// Loads a value.
    pub fn load(&mut self, ty: Type, access: Access, address: Value) -> Value {
        self.inst(Op::Load, ty, &[address], Imm::Access(access))
    }
    /// Loads 16 bits and extends them with zeros.
    pub fn load_u16(&mut self, ty: Type, access: Access, address: Value) -> Value {
        self.inst(Op::LoadU16, ty, &[address], Imm::Access(access))
    }
    /// Stores a value.
    pub fn store(&mut self, access: Access, value: Value, address: Value) {
        self.inst(Op::Store, self.ty(value), &[address, value], Imm::Access(access));
    }
    /// Loads `count` components per lane. The components are the result and the values that follow
    /// it.
    pub fn gather(
        &mut self,
        ty: Type,
        access: Access,
        count: usize,
        mask: Value,
        address: Value,
        offsets: Value,
    ) -> SmallVec<[Value; 4]> {
        let first = self.inst(Op::Gather, ty, &[mask, address, offsets], Imm::Gather(access, count as u8));
        (0..count as u32).map(|i| Value(first.0 + i)).collect()
    }
    /// Stores components per lane. Inactive lanes may write to `sink`.
    pub fn scatter(
        &mut self,
        access: Access,
        mask: Value,
        address: Value,
        offsets: Value,
        sink: Value,
        values: &[Value],
    ) {
        debug_assert_eq!(Op::Scatter.row().variadic, VariadicRule::Count);
        let args: Args = [mask, address, offsets, sink].iter().chain(values).copied().collect();
        self.inst(Op::Scatter, self.ty(values[0]), &args, Imm::Gather(access, values.len() as u8));
    }
    /// Appends an atomic read-modify-write, which returns the old value.
    pub fn atomic_rmw(&mut self, rmw: Rmw, address: Value, value: Value) -> Value {
        self.inst(Op::AtomicRmw, self.ty(value), &[address, value], Imm::Rmw(rmw))
    }
    /// Appends an atomic compare-and-swap, which returns the old value.
    pub fn atomic_cas(&mut self, address: Value, expected: Value, value: Value) -> Value {
        self.inst(Op::AtomicCas, self.ty(value), &[address, expected, value], Imm::None)
    }
    /// Appends an atomic load.
    pub fn atomic_load(&mut self, ty: Type, address: Value) -> Value {
        self.inst(Op::AtomicLoad, ty, &[address], Imm::None)
    }
    /// Appends a memory fence.
    pub fn fence(&mut self) {
        self.inst(Op::Fence, Type::B, &[], Imm::None);
    }
    /// Returns an address in a stack slot.
    pub fn stack_address(&mut self, slot: Slot, offset: i32) -> Value {
        self.inst(Op::StackAddress, Type::I64, &[], Imm::Slot(slot, offset))
    }
    /// Calls a function.
    pub fn call(&mut self, function: Value, args: &[Value]) {
        let args: Args = [function].iter().chain(args).copied().collect();
        self.inst(Op::Call, Type::B, &args, Imm::None);
    }
}

/// The NaN that an operation gives.
enum NanSource {
    /// The operation only moves bits.
    Bits,
    /// The first operand in this order that is a NaN, made quiet. Without such an operand, the
    /// machine's default NaN.
    First(&'static [usize]),
    /// The NaN is left to the generated code.
    Left,
}

fn nan_source(op: Op) -> NanSource {
    use Op::*;
    match op {
        Fadd | Fsub | Fmul | Fdiv | Sqrt | Floor | Ceil | Trunc | Nearest => NanSource::First(&[0, 1]),
        Fma => NanSource::First(&[1, 0, 2]),
        Fneg | Fabs | Select | Bitcast | Splat | Extract | Insert | Build | Shuffle | ExtractAt | Permute => {
            NanSource::Bits
        }
        _ => NanSource::Left,
    }
}

fn is_nan(elem: Elem, bits: u64) -> bool {
    match elem {
        Elem::F16 => bits & 0x7fff > 0x7c00,
        Elem::F32 => f32::from_bits(bits as u32).is_nan(),
        Elem::F64 => f64::from_bits(bits).is_nan(),
        Elem::B | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 => false,
    }
}

/// Returns the quiet form that x86 makes of a NaN operand, or its default NaN without one.
fn machine_nan(elem: Elem, operand: Option<u64>) -> u64 {
    let (quiet, own) = match elem {
        Elem::F64 => (1 << 51, 0xfff8 << 48),
        Elem::F16 => (1 << 9, 0xfe00),
        _ => (1 << 22, 0xffc0_0000),
    };
    operand.map_or(own, |bits| bits | quiet)
}
