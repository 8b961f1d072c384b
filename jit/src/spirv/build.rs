//! The builder: appends instructions to the region in hand and checks their types.
//!
//! Appending never fails; the first instruction whose operand types do not fit leaves a *fault*, which the translator turns into an
//! error after the SPIR-V instruction in hand. So a module that breaks the rules cannot make ill-typed IR, and
//! the lowering code stays readable. Constants are made once, at the head of the root region.

use crate::ir::{
    Binary, Cmp, Convert, If, Inst, Loop, Node, Op, Region, Scope, Shader, Space, Subgroup, Term, Ty, Unary, Value,
    Var, VarData,
};
use std::collections::HashMap;

/// See the module header.
pub(crate) struct Builder {
    pub shader: Shader,
    stack: Vec<Region>,
    head: Vec<Node>,
    consts: HashMap<(Ty, u64), Value>,
    /// SPIR-V id given to the instructions made.
    pub source: u32,
    pub no_contraction: bool,
    pub fault: Option<&'static str>,
}

impl Builder {
    pub fn new(shader: Shader) -> Self {
        Builder {
            shader,
            stack: vec![Region::default()],
            head: Vec::new(),
            consts: HashMap::new(),
            source: 0,
            no_contraction: false,
            fault: None,
        }
    }

    /// Closes the root region.
    pub fn finish(mut self) -> Shader {
        let mut body = self.stack.pop().unwrap_or_default();
        let mut nodes = self.head;
        nodes.append(&mut body.nodes);
        self.shader.root.body = Region { nodes, term: Term::Yield(Vec::new()) };
        self.shader
    }

    fn node(&mut self, node: Node) {
        if let Some(region) = self.stack.last_mut() {
            region.nodes.push(node);
        }
    }

    pub fn push_region(&mut self) {
        self.stack.push(Region::default());
    }

    pub fn pop_region(&mut self, term: Term) -> Region {
        let mut region = self.stack.pop().unwrap_or_default();
        region.term = term;
        region
    }

    /// Appends a region's nodes to the one in hand, which takes its end.
    pub fn append(&mut self, mut region: Region) {
        if let Some(top) = self.stack.last_mut() {
            top.nodes.append(&mut region.nodes);
            top.term = region.term;
        }
    }

    /// Takes the region in hand with the end it has.
    pub fn pop_parts(&mut self) -> (Vec<Node>, Term) {
        let region = self.stack.pop().unwrap_or_default();
        (region.nodes, region.term)
    }

    pub fn if_(&mut self, cond: Value, then: Region, else_: Region) {
        self.expect(self.shader.ty(cond) == Ty::B1, "condition is not a boolean");
        self.node(Node::If(Box::new(If { cond, then, else_, results: Vec::new() })));
    }

    pub fn loop_(&mut self, label: crate::ir::Label, body: Region) {
        let (params, inits, results) = (Vec::new(), Vec::new(), Vec::new());
        self.node(Node::Loop(Box::new(Loop { label, params, inits, body, results })));
    }

    pub fn scope(&mut self, label: crate::ir::Label, body: Region) {
        self.node(Node::Scope(Box::new(Scope { label, body, results: Vec::new() })));
    }

    fn expect(&mut self, ok: bool, message: &'static str) {
        if !ok && self.fault.is_none() {
            self.fault = Some(message);
        }
    }

    pub fn emit(&mut self, op: Op, args: &[Value], results: &[Ty]) -> Inst {
        if !self.well_typed(&op, args, results) {
            self.expect(false, "operand types do not fit");
        }
        let inst = self.shader.inst(op, args, results, self.source);
        self.shader.insts[inst].no_contraction = self.no_contraction;
        self.node(Node::Inst(inst));
        inst
    }

    pub fn val(&mut self, op: Op, args: &[Value], ty: Ty) -> Value {
        let inst = self.emit(op, args, &[ty]);
        self.shader.insts[inst].first_result
    }

    pub fn vals(&mut self, op: Op, args: &[Value], tys: &[Ty]) -> Vec<Value> {
        let inst = self.emit(op, args, tys);
        self.shader.insts[inst].results().collect()
    }

    pub fn ty(&self, v: Value) -> Ty {
        self.shader.ty(v)
    }

    pub fn konst(&mut self, ty: Ty, bits: u64) -> Value {
        if let Some(&v) = self.consts.get(&(ty, bits)) {
            return v;
        }
        let inst = self.shader.inst(Op::Const(bits), &[], &[ty], 0);
        self.head.push(Node::Inst(inst));
        let v = self.shader.insts[inst].first_result;
        self.consts.insert((ty, bits), v);
        v
    }

    pub fn i32(&mut self, v: u32) -> Value {
        self.konst(Ty::I32, v.into())
    }

    pub fn bool(&mut self, v: bool) -> Value {
        self.konst(Ty::B1, v.into())
    }

    /// A float constant of any width, exact for the values used here.
    pub fn float(&mut self, ty: Ty, v: f32) -> Value {
        let bits = match ty {
            Ty::F64 => f64::from(v).to_bits(),
            Ty::F16 => half_bits(v).into(),
            _ => v.to_bits().into(),
        };
        self.konst(ty, bits)
    }

    pub fn un(&mut self, op: Unary, a: Value) -> Value {
        let ty = if op == Unary::BitCount { Ty::I32 } else { self.ty(a) };
        self.val(Op::Unary(op), &[a], ty)
    }

    pub fn bin(&mut self, op: Binary, a: Value, b: Value) -> Value {
        self.val(Op::Binary(op), &[a, b], self.ty(a))
    }

    pub fn cmp(&mut self, op: Cmp, a: Value, b: Value) -> Value {
        self.val(Op::Cmp(op), &[a, b], Ty::B1)
    }

    pub fn cvt(&mut self, op: Convert, a: Value, ty: Ty) -> Value {
        if self.ty(a) == ty && matches!(op, Convert::Bitcast | Convert::UToU | Convert::SToS | Convert::FToF) {
            return a;
        }
        self.val(Op::Convert(op), &[a], ty)
    }

    pub fn select(&mut self, c: Value, a: Value, b: Value) -> Value {
        if a == b {
            return a;
        }
        self.val(Op::Select, &[c, a, b], self.ty(a))
    }

    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.val(Op::Fma, &[a, b, c], self.ty(a))
    }

    /// Address arithmetic: folds constants, so that static offsets stay static.
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        match (self.shader.as_const(a), self.shader.as_const(b)) {
            (Some(0), _) => b,
            (_, Some(0)) => a,
            (Some(x), Some(y)) if self.ty(a) == Ty::I32 => self.i32(x.wrapping_add(y) as u32),
            (Some(x), Some(y)) => self.konst(Ty::I64, x.wrapping_add(y)),
            _ => self.bin(Binary::IAdd, a, b),
        }
    }

    /// See [`Builder::add`].
    pub fn mul(&mut self, a: Value, by: u64) -> Value {
        let ty = self.ty(a);
        match self.shader.as_const(a) {
            _ if by == 1 => a,
            Some(x) if ty == Ty::I32 => self.i32(x.wrapping_mul(by) as u32),
            Some(x) => self.konst(ty, x.wrapping_mul(by)),
            None => {
                let by = self.konst(ty, by);
                self.bin(Binary::IMul, a, by)
            }
        }
    }

    /// [`Binary::Bound`] of an offset or index.
    pub fn bound(&mut self, a: Value, limit: u32) -> Value {
        match self.shader.as_const(a) {
            Some(x) => {
                let limit = i64::from(limit);
                self.i32(i64::from(x as u32 as i32).clamp(-limit, limit) as u32)
            }
            None => {
                let limit = self.i32(limit);
                self.bin(Binary::Bound, a, limit)
            }
        }
    }

    /// An integer of any width as a signed one of another.
    pub fn int_as(&mut self, a: Value, ty: Ty) -> Value {
        let from = self.ty(a);
        match self.shader.as_const(a) {
            Some(x) if from.is_int() => {
                let x = super::types::sign_extend(x, from.bytes() * 8);
                self.konst(ty, x & super::types::mask(ty.bytes() * 8))
            }
            _ => self.cvt(Convert::SToS, a, ty),
        }
    }

    pub fn var(&mut self, ty: Ty, len: u32, name: &str) -> Var {
        self.expect(!matches!(ty, Ty::Buf | Ty::Img | Ty::Smp), "descriptor in a variable");
        self.shader.vars.push(VarData { ty, len, name: name.to_owned() })
    }

    pub fn load_var(&mut self, var: Var, index: Option<Value>) -> Value {
        let VarData { ty, len, .. } = self.shader.vars[var];
        match (len, index) {
            (1, _) => self.val(Op::VarLoad(var), &[], ty),
            (_, Some(i)) => self.val(Op::VarLoad(var), &[i], ty),
            (_, None) => {
                let zero = self.i32(0);
                self.val(Op::VarLoad(var), &[zero], ty)
            }
        }
    }

    pub fn store_var(&mut self, var: Var, index: Option<Value>, v: Value) {
        let VarData { ty, len, .. } = self.shader.vars[var];
        let ok = ty == self.ty(v);
        self.expect(ok, "value does not have the variable's type");
        let zero = if len > 1 && index.is_none() { Some(self.i32(0)) } else { None };
        match index.or(zero).filter(|_| len > 1) {
            Some(i) => self.emit(Op::VarStore(var), &[i, v], &[]),
            None => self.emit(Op::VarStore(var), &[v], &[]),
        };
    }

    /// True when argument and result types are what the operation's documentation says.
    fn well_typed(&self, op: &Op, args: &[Value], results: &[Ty]) -> bool {
        let ty = |i: usize| args.get(i).map(|&v| self.ty(v));
        let all = |t: Ty| args.iter().all(|&v| self.ty(v) == t);
        let same = || args.windows(2).all(|w| self.ty(w[0]) == self.ty(w[1]));
        let float = || ty(0).is_some_and(Ty::is_float);
        let int = || ty(0).is_some_and(Ty::is_int);
        match *op {
            Op::Unary(u) => match u {
                Unary::Not => int() || ty(0) == Some(Ty::B1),
                Unary::INeg
                | Unary::BitReverse
                | Unary::BitCount
                | Unary::FindLsb
                | Unary::FindSMsb
                | Unary::FindUMsb => int(),
                _ => float(),
            },
            Op::Binary(b) => {
                same() && if is_float_binary(b) { float() } else { int() || (is_logic(b) && ty(0) == Some(Ty::B1)) }
            }
            Op::Cmp(c) => {
                let is_eq = matches!(c, Cmp::IEq | Cmp::INe);
                let is_int = is_eq || matches!(c, Cmp::SLt | Cmp::SLe | Cmp::ULt | Cmp::ULe);
                same() && if is_int { int() || (is_eq && ty(0) == Some(Ty::B1)) } else { float() }
            }
            Op::Convert(c) => {
                let to = results[0];
                match c {
                    Convert::FToS | Convert::FToU => float() && to.is_int(),
                    Convert::SToF | Convert::UToF => int() && to.is_float(),
                    Convert::FToF | Convert::FToFRtz => float() && to.is_float(),
                    Convert::UToU | Convert::SToS => int() && to.is_int(),
                    Convert::Bitcast => ty(0).map(Ty::bytes) == Some(to.bytes()) && to.bytes() > 0,
                    Convert::BToI => ty(0) == Some(Ty::B1) && to == Ty::I32,
                }
            }
            Op::Select => ty(0) == Some(Ty::B1) && ty(1) == ty(2),
            Op::Fma => same() && float(),
            Op::Ldexp => float() && ty(1) == Some(Ty::I32),
            Op::Frexp => float(),
            Op::IAddCarry | Op::ISubBorrow => all(Ty::I32),
            Op::BitfieldInsert => int() && ty(0) == ty(1) && ty(2) == Some(Ty::I32) && ty(3) == Some(Ty::I32),
            Op::BitfieldSExtract | Op::BitfieldUExtract => int() && ty(1) == Some(Ty::I32) && ty(2) == Some(Ty::I32),
            Op::VarLoad(_) | Op::VarStore(_) if args.len() + results.len() > 1 => ty(0) == Some(Ty::I32),
            Op::Load(space, _) => self.address(space, args) && results.iter().all(|t| t.bytes() > 0),
            Op::Store(space, _) => {
                self.address(space, args) && args[address_len(space)..].iter().all(|&v| self.ty(v).bytes() > 0)
            }
            Op::Atomic(space, _) => {
                self.address(space, args)
                    && args[address_len(space)..].windows(2).all(|w| self.ty(w[0]) == self.ty(w[1]))
            }
            Op::Ddx { .. } | Op::Ddy { .. } => float(),
            Op::Subgroup(Subgroup::All | Subgroup::Any | Subgroup::Ballot) => all(Ty::B1),
            Op::Subgroup(Subgroup::Broadcast | Subgroup::Shuffle | Subgroup::QuadBroadcast) => ty(1) == Some(Ty::I32),
            Op::Subgroup(Subgroup::Arithmetic(op, _)) => match op {
                Binary::And | Binary::Or | Binary::Xor => int(),
                op => {
                    (if is_float_binary(op) { float() } else { int() }) && args.iter().all(|&v| self.ty(v).bytes() >= 4)
                }
            },
            _ => true,
        }
    }

    fn address(&self, space: Space, args: &[Value]) -> bool {
        let want: &[Ty] = match space {
            Space::Buffer => &[Ty::Buf, Ty::I32],
            Space::Shared | Space::Push => &[Ty::I32],
            Space::Global => &[Ty::I64],
        };
        args.len() >= want.len() && args.iter().zip(want).all(|(&v, &t)| self.ty(v) == t)
    }
}

/// Address operands of a space.
pub(crate) fn address_len(space: Space) -> usize {
    if space == Space::Buffer { 2 } else { 1 }
}

fn is_float_binary(b: Binary) -> bool {
    matches!(
        b,
        Binary::FAdd
            | Binary::FSub
            | Binary::FMul
            | Binary::FDiv
            | Binary::FMin
            | Binary::FMax
            | Binary::FRem
            | Binary::FMod
            | Binary::Pow
            | Binary::Atan2
    )
}

fn is_logic(b: Binary) -> bool {
    matches!(b, Binary::And | Binary::Or | Binary::Xor)
}

/// Bits of a half; exact for normal halves.
fn half_bits(v: f32) -> u16 {
    let bits = v.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude < 0x3880_0000 {
        return sign;
    }
    sign | ((magnitude - 0x3800_0000) >> 13).min(0x7c00) as u16
}
