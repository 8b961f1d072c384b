//! Random programs, made from the operation table, for tests of the back ends.
//!
//! A program gets the addresses of [`MEMORY`] bytes, of [`OUTPUT`] bytes for its results, of a
//! sink, and of a function like [`helper`]. It reads and writes only there, in bounds, and it
//! terminates. A NaN is replaced by a canonical one as soon as it occurs, so that results compare
//! bit by bit.

pub use base::random::XorshiftStar as Rng;
use jit::lir::op::{ImmKind, OperandRule, OperationRow, ROWS, VariadicRule};
use jit::lir::{
    Access, AccessReason, Args, Block, Builder, Elem, FloatCond, Function, Imm, IntCond, Op, Rmw, Type, Value, Variable,
};

/// Size in bytes of the memory that a program works on.
pub const MEMORY: usize = 2816;
/// First byte of the words of masks, which programs only read. `TRUTHS` is the first byte of the
/// truth values.
const MASKS: i32 = 2048;
const TRUTHS: i32 = 2560;
/// Size in bytes of the memory for results.
pub const OUTPUT: usize = 1 << 17;
/// Size in bytes of the sink.
pub const SINK: usize = 512;
/// Types of the parameters of a program: memory, output, sink, helper.
pub const PARAMS: [Type; 4] = [Type::I64; 4];

/// Properties of a random program.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Approximate number of instructions.
    pub size: usize,
    /// The only operation and type to generate, if set.
    pub only: Option<(Op, Type)>,
    /// True if [`Op::Fma`] may occur.
    pub fma: bool,
}

/// Generates a program.
pub fn program(seed: u64, options: Options) -> Function {
    let mut g = Generator::new(seed, options);
    g.load_sources();
    let mut left = options.size;
    while left > 0 {
        left -= 1;
        match options.only {
            Some((op, ty)) => g.row(op.row(), ty, 0),
            None => g.random_inst(0),
        }
    }
    g.results();
    g.b.return_();
    g.b.finish()
}

/// Returns the initial contents of the memory.
pub fn memory(seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut bytes: Vec<u8> = Vec::with_capacity(MEMORY);
    while bytes.len() < MEMORY {
        let at = bytes.len() as i32;
        let word = match at {
            MASKS..TRUTHS => (rng.next() as u32 & 1).wrapping_neg(),
            TRUTHS.. => rng.next() as u32 & 0x0101_0101,
            _ => word(&mut rng),
        };
        bytes.extend(word.to_le_bytes());
    }
    bytes
}

/// Returns a random word, often one that is an edge case.
fn word(rng: &mut Rng) -> u32 {
    match rng.below(5) {
        0 => rng.pick(&[0, 1, u32::MAX, 0x8000_0000, 0x7fff_ffff, 0xffff, 0x8000, 0x7fff, 0xff, 0x80, 0x7f]),
        1 => rng.pick(&[0.0f32, -0.0, 1.0, -2.5, 65520.0, 1e-40, 6e-8, 3e38, f32::INFINITY, f32::NAN]).to_bits(),
        2 => ((rng.below(4000) as f32 - 2000.0) / 64.0).to_bits(),
        3 => rng.below(64) as u32,
        _ => rng.next() as u32,
    }
}

/// Changes the word at `at` depending on the arguments. Programs call it.
///
/// # Safety
/// The word at `at` must be readable and writable.
#[base::code_fn]
pub unsafe extern "code" fn helper(at: *mut u64, a: u32, b: u64) {
    // SAFETY: the `# Safety` section requires that `at` is readable and writable.
    unsafe { *at = (*at).rotate_left(7) ^ (u64::from(a) << 32 | u64::from(a)).wrapping_mul(b | 1) };
}

struct Generator {
    b: Builder,
    rng: Rng,
    options: Options,
    memory: Value,
    output: Value,
    sink: Value,
    helper: Value,
    /// Numbers of lanes of the program's types. At most one wide number is included, so that the
    /// other types remain a large part of the program.
    lanes: Vec<usize>,
    /// Values that are visible at the current point.
    pool: Vec<Value>,
    variables: Vec<(Variable, Type)>,
}

impl Generator {
    fn new(seed: u64, options: Options) -> Generator {
        let b = Builder::new(&PARAMS);
        let params: Vec<Value> = b.params(b.current()).to_vec();
        let [memory, output, sink, helper] = [0, 1, 2, 3].map(|i| params[i]);
        let rng = Rng::new(seed);
        let widest = options.only.map_or(Type::LANES[2 + seed as usize % 3], |(_, ty)| ty.lanes());
        let lanes = [1, 4, 8, 16].into_iter().chain((widest > 16).then_some(widest)).collect();
        Generator { b, rng, options, memory, output, sink, helper, lanes, pool: Vec::new(), variables: Vec::new() }
    }

    fn types(&self) -> Vec<Type> {
        Elem::ALL.into_iter().flat_map(|e| self.lanes.iter().map(move |&lanes| e.by(lanes))).collect()
    }

    /// Loads values of every type from memory, and declares variables.
    fn load_sources(&mut self) {
        for ty in self.types() {
            let count = if ty.elem == Elem::B { 3 } else { 2 };
            for _ in 0..count {
                let v = self.load(ty);
                self.pool.push(v);
            }
        }
        for _ in 0..6 {
            let ty = self.ty();
            let (var, v) = (self.b.declare_var(ty), self.value(ty));
            self.b.def_var(var, v);
            self.variables.push((var, ty));
        }
    }

    /// Stores the visible values.
    fn results(&mut self) {
        for i in 0..self.variables.len() {
            let v = self.b.use_var(self.variables[i].0);
            self.pool.push(v);
        }
        let mut at = 0;
        for v in std::mem::take(&mut self.pool) {
            let bytes = self.b.ty(v).bytes().next_multiple_of(16) as i32;
            if at + bytes <= OUTPUT as i32 {
                self.b.store(Access { offset: at, ..Access::new(AccessReason::Caller) }, v, self.output);
            }
            at += bytes;
        }
    }

    fn ty(&mut self) -> Type {
        let elem = self.rng.pick(&Elem::ALL);
        elem.by(self.rng.pick(&[1, 1, 4, 8, 8, 16, self.lanes[self.lanes.len() - 1]]))
    }

    /// Generates an instruction of a random row.
    fn random_inst(&mut self, depth: usize) {
        let row = &ROWS[self.rng.below(ROWS.len())];
        if let Some(ty) = self.type_for(row) {
            self.row(row, ty, depth);
        }
    }

    fn type_for(&mut self, row: &OperationRow) -> Option<Type> {
        let types: Vec<Type> = self.types().into_iter().filter(|&ty| row.accepts_type(ty)).collect();
        (row.op != Op::Fma || self.options.fma).then(|| self.rng.pick(&types))
    }

    // Operands.

    /// Returns a value of a type: a visible one, or a constant whose lanes are equal or random.
    fn value(&mut self, ty: Type) -> Value {
        let known: Vec<Value> = self.pool.iter().copied().filter(|&v| self.b.ty(v) == ty).collect();
        if !known.is_empty() && self.rng.chance(80) {
            // Newer values are chosen more often, because they depend on more instructions.
            let back = self.rng.below(known.len()).min(self.rng.below(known.len()));
            return known[known.len() - 1 - back];
        }
        let lane = |rng: &mut Rng| u64::from(word(rng)) << 32 | u64::from(word(rng));
        if self.rng.chance(50) {
            let bits = lane(&mut self.rng);
            return self.b.constant(ty, bits);
        }
        let lanes: Vec<u64> = (0..ty.lanes()).map(|_| lane(&mut self.rng)).collect();
        self.b.constant_lanes(ty.elem, &lanes)
    }

    fn operand(&mut self, rule: OperandRule, t: Type, op: Op) -> Value {
        let types: Vec<Type> = match rule {
            OperandRule::Address => return self.address(op, t),
            OperandRule::Function => return self.helper,
            _ => self.types().into_iter().filter(|&ty| rule.accepts(t, ty)).collect(),
        };
        let ty = self.rng.pick(&types);
        self.value(ty)
    }

    /// Returns an address in memory at which an access of up to 512 bytes is in bounds.
    fn address(&mut self, op: Op, t: Type) -> Value {
        if t.elem == Elem::B && op == Op::Load {
            let (start, step) = if t.is_vector() { (MASKS, 4) } else { (TRUTHS, 1) };
            let at = start + step * self.rng.below(32) as i32;
            return self.b.iadd_imm(self.memory, at.into());
        }
        let random_inst = self.value(Type::I32);
        let offset = self.b.and_imm(random_inst, 0x3f0);
        let offset = self.b.zext(Type::I64, offset);
        self.b.iadd(self.memory, offset)
    }

    fn load(&mut self, ty: Type) -> Value {
        let at = match (ty.elem, ty.is_vector()) {
            (Elem::B, true) => MASKS + 4 * self.rng.below(48) as i32,
            (Elem::B, false) => TRUTHS + self.rng.below(64) as i32,
            _ => self.rng.below(1024) as i32,
        };
        let v = self.b.load(ty, Access { offset: at, ..Access::new(AccessReason::Caller) }, self.memory);
        self.canonicalize_nan(v)
    }

    /// Returns the value with all NaNs replaced by one quiet NaN.
    fn canonicalize_nan(&mut self, v: Value) -> Value {
        let ty = self.b.ty(v);
        let quiet = match ty.elem {
            Elem::F32 => 0x7fc0_0000,
            Elem::F64 => 0x7ff8 << 48,
            _ => return v,
        };
        let nan = self.b.fcmp(FloatCond::Uno, v, v);
        let quiet = self.b.constant(ty, quiet);
        self.b.select(nan, quiet, v)
    }

    fn imm(&mut self, kind: ImmKind, t: Type) -> Imm {
        let access = Access { offset: self.rng.below(16) as i32 * 16, ..Access::new(AccessReason::Caller) };
        match kind {
            ImmKind::None => Imm::None,
            ImmKind::Lane => Imm::Lane(self.rng.below(t.lanes()) as u8),
            ImmKind::Int => Imm::Int(self.rng.pick(&IntCond::ALL)),
            ImmKind::Float => Imm::Float(self.rng.pick(&FloatCond::ALL)),
            ImmKind::Rmw => Imm::Rmw(self.rng.pick(&Rmw::ALL)),
            ImmKind::Access => Imm::Access(Access { aligned: self.rng.chance(20) && t.bytes() <= 16, ..access }),
            ImmKind::Gather => {
                let most = (16 / t.lane_bytes() as usize).min(4);
                Imm::Gather(access, 1 + self.rng.below(most) as u8)
            }
            ImmKind::Pattern | ImmKind::Slot => Imm::None,
        }
    }

    /// Returns lanes for a shuffle, often in runs as real programs have them.
    fn pattern(&mut self, t: Type) -> Vec<usize> {
        let (lanes, len) = (t.lanes(), self.rng.pick(&self.lanes[1..]));
        let start = self.rng.below(2 * lanes);
        let step = self.rng.below(3);
        match self.rng.below(4) {
            0 => (0..len).map(|_| self.rng.below(2 * lanes)).collect(),
            1 => (0..len).map(|_| self.rng.below(lanes)).collect(),
            2 => (0..len).map(|i| (start / 4 * 4 + i) % (2 * lanes)).collect(),
            _ => (0..len).map(|i| (start + i * step) % (2 * lanes)).collect(),
        }
    }

    // Instructions.

    /// Generates an instruction of a row, or a piece of program that contains one.
    fn row(&mut self, row: &OperationRow, t: Type, depth: usize) {
        match row.op {
            Op::Jump | Op::Branch | Op::BranchTable | Op::Return => return self.control(row.op, depth),
            Op::StackAddress => return self.stack(),
            Op::Shuffle => {
                let [a, b] = [self.value(t), self.value(t)];
                let pattern = self.pattern(t);
                let v = self.b.shuffle(a, b, &pattern);
                return self.pool.push(v);
            }
            Op::Call => {
                let (at, a, b) = (self.address(Op::Call, t), self.value(Type::I32), self.value(Type::I64));
                return self.b.call(self.helper, &[at, a, b]);
            }
            _ => {}
        }
        let imm = self.imm(row.imm, t);
        let mut args: Args = row.args.iter().map(|&rule| self.operand(rule, t, row.op)).collect();
        if matches!(row.op, Op::Gather | Op::Scatter) {
            args[2] = self.b.and_imm(args[2], 0x1fc);
        }
        if row.op == Op::Scatter {
            args[3] = self.sink;
        }
        let variadic = match (row.variadic, imm) {
            (VariadicRule::PerLane, _) => (0..t.lanes()).map(|_| self.value(t.scalar())).collect(),
            (VariadicRule::Count, Imm::Gather(_, n)) => (0..n).map(|_| self.value(t)).collect(),
            _ => Vec::new(),
        };
        args.extend(variadic);
        let imm = match (row.op, imm) {
            // The memory from which B may be read is small, so the access has no offset.
            (Op::Load, Imm::Access(_)) if t.elem == Elem::B => Imm::Access(Access::new(AccessReason::Caller)),
            (_, imm) => imm,
        };
        let first = self.b.inst(row.op, t, &args, imm);
        let count = self.b.func().result_types(row.op, t, imm).len() as u32;
        for i in 0..count {
            let v = self.canonicalize_nan(Value::from_u32(first.as_u32() + i));
            self.pool.push(v);
        }
    }

    fn stack(&mut self) {
        let ty = self.ty();
        let slot = self.b.create_slot(ty.bytes() + 32, 4);
        let at = self.b.stack_address(slot, 16);
        let v = self.value(ty);
        self.b.store(Access::new(AccessReason::Caller), v, at);
        let v = self.b.load(ty, Access::new(AccessReason::Caller), at);
        self.pool.push(v);
    }

    /// Generates instructions in an arm. Their results are not visible behind it, but variables
    /// are.
    fn arm(&mut self, depth: usize) {
        let visible = self.pool.len();
        for _ in 0..1 + self.rng.below(6) {
            if self.options.only.is_none() && depth < 3 {
                self.random_inst(depth + 1);
            }
        }
        for _ in 0..self.rng.below(3) {
            let (var, ty) = self.rng.pick(&self.variables);
            let v = self.value(ty);
            self.b.def_var(var, v);
        }
        self.pool.truncate(visible);
        if self.rng.chance(50) {
            let (var, _) = self.rng.pick(&self.variables);
            let v = self.b.use_var(var);
            // The value is visible only in the arm, which ends here, so that the edge may use it.
            self.pool.push(v);
        }
    }

    /// Ends an arm with a jump that passes an argument of a type.
    fn leave(&mut self, to: Block, ty: Type, visible: usize) {
        let v = self.value(ty);
        self.b.jump(to, &[v]);
        self.pool.truncate(visible);
    }

    fn control(&mut self, op: Op, depth: usize) {
        let visible = self.pool.len();
        let ty = self.ty();
        let end = self.b.create_block();
        let param = self.b.append_param(end, ty);
        match op {
            Op::Branch if self.rng.chance(50) => self.loop_(end, ty, depth),
            Op::Jump => self.leave(end, ty, visible),
            Op::BranchTable => {
                let index = self.value(Type::I32);
                let index = self.b.and_imm(index, 7);
                let arms: Vec<Block> = (0..4).map(|_| self.b.create_block()).collect();
                self.b.branch_table(index, &arms[..3], arms[3]);
                self.arms(&arms, end, ty, depth);
            }
            _ => {
                let cond = self.value(Type::B);
                let arms: Vec<Block> = (0..2).map(|_| self.b.create_block()).collect();
                self.b.branch(cond, arms[0], &[], arms[1], &[]);
                if op == Op::Return {
                    self.b.seal_block(arms[0]);
                    self.b.set_cold_block(arms[0]);
                    self.b.switch_to_block(arms[0]);
                    self.b.return_();
                    self.arms(&arms[1..], end, ty, depth);
                } else {
                    self.arms(&arms, end, ty, depth);
                }
            }
        }
        self.b.seal_block(end);
        self.b.switch_to_block(end);
        self.pool.truncate(visible);
        self.pool.push(param);
    }

    fn arms(&mut self, arms: &[Block], end: Block, ty: Type, depth: usize) {
        let visible = self.pool.len();
        for &arm in arms {
            self.b.seal_block(arm);
            self.b.switch_to_block(arm);
            self.arm(depth);
            self.leave(end, ty, visible);
        }
    }

    /// Generates a loop of a few iterations, counted by a parameter.
    fn loop_(&mut self, end: Block, ty: Type, depth: usize) {
        let visible = self.pool.len();
        let (header, body) = (self.b.create_block(), self.b.create_block());
        let count = self.b.append_param(header, Type::I32);
        let carried = self.b.append_param(header, ty);
        let (zero, first) = (self.b.constant(Type::I32, 0), self.value(ty));
        self.b.jump(header, &[zero, first]);
        self.b.enter_loop(header);
        let variadic = self.b.icmp_imm(IntCond::Ult, count, 1 + self.rng.below(3) as i64);
        self.b.branch(variadic, body, &[], end, &[carried]);
        self.b.seal_block(body);
        self.b.switch_to_block(body);
        self.pool.push(carried);
        self.arm(depth);
        let (next, v) = (self.b.iadd_imm(count, 1), self.value(ty));
        self.b.jump(header, &[next, v]);
        self.b.seal_block(header);
        self.pool.truncate(visible);
    }
}
