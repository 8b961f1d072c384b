//! The builder, which appends instructions to the current region and checks their types.
//!
//! Appending never fails. The first instruction whose operand types do not fit leaves a *fault*,
//! which the translator turns into an error after the current SPIR-V instruction. A module that
//! breaks the rules therefore cannot make ill-typed IR, and the lowering code stays readable.
//! Constants are made once, at the head of the root region.

use super::float_mode::{FloatModes, NSZ};
use super::value::Flat;
use crate::ir::{
    Binary, Builtin, Cmp, Convert, FloatFlags, If, Inst, Loop, Node, Op, Region, Scope, Shader, Space, Term, Ty, Unary,
    Value, Var, VarData, eval,
};
use base::hash::WordMap;
use smallvec::SmallVec;

/// Number of operands of most instructions: those of a sample operation, with a margin. Calls of
/// shaders have more.
const USUAL_OPERANDS: usize = 24;

/// Builder of a shader's regions, with the flags that new instructions get.
pub(crate) struct Builder {
    pub shader: Shader,
    stack: Vec<Region>,
    head: Vec<Node>,
    consts: WordMap<(Ty, u64), Value>,
    /// SPIR-V id that the new instructions get.
    pub source: u32,
    /// Float flags that the new instructions get, beside those of `modes`.
    pub float: FloatFlags,
    /// FPFastMathMode with which the current SPIR-V instruction is decorated.
    pub fast: Option<u32>,
    /// True if the current instruction is decorated to round to the nearest even number, which
    /// overrides the entry point's mode.
    pub nearest: bool,
    pub modes: FloatModes,
    pub fault: Option<&'static str>,
}

impl Builder {
    pub fn new(shader: Shader, modes: FloatModes) -> Self {
        Builder {
            shader,
            stack: vec![Region::default()],
            head: Vec::new(),
            consts: WordMap::default(),
            source: 0,
            float: FloatFlags::NONE,
            fast: None,
            nearest: false,
            modes,
            fault: None,
        }
    }

    /// Closes the root region and returns the shader.
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

    /// Appends a region's nodes to the current one, which also takes over its term.
    pub fn append(&mut self, mut region: Region) {
        if let Some(top) = self.stack.last_mut() {
            top.nodes.append(&mut region.nodes);
            top.term = region.term;
        }
    }

    /// Removes the current region and returns its nodes and term.
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
        let types: SmallVec<[Ty; USUAL_OPERANDS]> = args.iter().map(|&v| self.shader.ty(v)).collect();
        let fits = op.fits(&self.shader, &types, results);
        self.expect(fits, "operand types do not fit");
        let inst = self.shader.inst(op, args, results, self.source);
        if !self.float.is_empty() || self.fast.is_some() || !self.modes.is_empty() {
            let types = results.iter().chain(&types);
            let float = self.float | self.modes.of(types, self.fast);
            let float = if self.nearest { float.without(FloatFlags::ROUND_ZERO) } else { float };
            self.shader.set_float(inst, float);
        }
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

    /// Returns a float constant of any width, rounded to the nearest number for a half.
    pub fn float(&mut self, ty: Ty, v: f32) -> Value {
        let bits =
            eval::eval(&Op::Convert(Convert::FToF), Ty::F32, ty, &[v.to_bits().into()]).map_or(0, |bits| bits[0]);
        self.konst(ty, bits)
    }

    pub fn un(&mut self, op: Unary, a: Value) -> Value {
        let ty = if op == Unary::BitCount { Ty::I32 } else { self.ty(a) };
        self.val(Op::Unary(op), &[a], ty)
    }

    pub fn bin(&mut self, op: Binary, a: Value, b: Value) -> Value {
        self.val(Op::Binary(op), &[a, b], self.ty(a))
    }

    /// Appends [`Binary::FMin`] or [`Binary::FMax`]. -0 is less than 0 if a FPFastMathMode is given
    /// that requires the signs of zeros.
    pub fn extreme(&mut self, op: Binary, a: Value, b: Value) -> Value {
        let extreme = self.bin(op, a, b);
        let ty = self.ty(a);
        if !self.signs_zeros(ty) {
            return extreme;
        }
        // Operands that compare equal differ at most in the sign of a zero.
        let equal = self.cmp(Cmp::FOrdEq, a, b);
        let [a, b] = [a, b].map(|x| self.cvt(Convert::Bitcast, x, ty.integer()));
        let both = self.bin(if op == Binary::FMin { Binary::Or } else { Binary::And }, a, b);
        let both = self.cvt(Convert::Bitcast, both, ty);
        self.select(equal, both, extreme)
    }

    /// Returns a float with the sign of `sign` added. The float must have that sign or be zero.
    pub fn sign_zero(&mut self, x: Value, sign: Value) -> Value {
        let (ty, words) = (self.ty(x), self.ty(x).integer());
        let [x, sign] = [x, sign].map(|x| self.cvt(Convert::Bitcast, x, words));
        let mask = self.konst(words, 1 << (words.bytes() * 8 - 1));
        let sign = self.bin(Binary::And, sign, mask);
        let x = self.bin(Binary::Or, x, sign);
        self.cvt(Convert::Bitcast, x, ty)
    }

    /// Returns true if a FPFastMathMode requires the signs of zeros.
    pub fn signs_zeros(&self, ty: Ty) -> bool {
        let mode = self.fast.or(self.modes.fast(ty));
        mode.is_some_and(|allowed| allowed & NSZ == 0)
    }

    pub fn cmp(&mut self, op: Cmp, a: Value, b: Value) -> Value {
        self.val(Op::Cmp(op), &[a, b], Ty::B1)
    }

    pub fn cvt(&mut self, op: Convert, a: Value, ty: Ty) -> Value {
        if self.ty(a) == ty && matches!(op, Convert::Bitcast | Convert::UToU | Convert::SToS | Convert::FToF) {
            return a;
        }
        let a = if matches!(op, Convert::FToF | Convert::FToFRtz) { self.flushed(a) } else { a };
        self.val(Op::Convert(op), &[a], ty)
    }

    /// Returns a float operand of a conversion, flushed if the mode of its type flushes denormals;
    /// the conversion's own flags are those of its result. A product with 1 does the flushing.
    fn flushed(&mut self, a: Value) -> Value {
        let ty = self.ty(a);
        if !self.modes.flags(ty).contains(FloatFlags::FLUSH_DENORMALS) {
            return a;
        }
        let one = self.float(ty, 1.0);
        self.bin(Binary::FMul, a, one)
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

    /// Appends an addition of addresses; folds constants, so that static offsets stay static.
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        match (self.shader.as_const(a), self.shader.as_const(b)) {
            (Some(0), _) => b,
            (_, Some(0)) => a,
            (Some(x), Some(y)) if self.ty(a) == Ty::I32 => self.i32(x.wrapping_add(y) as u32),
            (Some(x), Some(y)) => self.konst(Ty::I64, x.wrapping_add(y)),
            _ => self.bin(Binary::IAdd, a, b),
        }
    }

    /// Appends a multiplication of an offset; folds constants as [`Builder::add`] does.
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

    /// Appends [`Binary::Bound`] of an offset or index.
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

    /// Converts an integer of any width, taken as signed, to another width.
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

    /// Joins smaller scalars into one, lowest first.
    pub fn join(&mut self, parts: &[Value], to: Ty) -> Value {
        let wide = to.integer();
        let mut bits = self.konst(wide, 0);
        for (i, &p) in (0..).zip(parts) {
            let ty = self.ty(p);
            let p = self.cvt(Convert::Bitcast, p, ty.integer());
            let p = self.cvt(Convert::UToU, p, wide);
            let by = self.konst(wide, u64::from(i * ty.bytes() * 8));
            let p = if i == 0 { p } else { self.bin(Binary::Shl, p, by) };
            bits = if i == 0 { p } else { self.bin(Binary::Or, bits, p) };
        }
        self.cvt(Convert::Bitcast, bits, to)
    }

    /// Splits one scalar into `n` smaller ones, lowest first.
    pub fn split(&mut self, whole: Value, to: Ty, n: u32) -> Flat {
        let wide = self.ty(whole).integer();
        let bits = self.cvt(Convert::Bitcast, whole, wide);
        let part = |i: u32| {
            let by = self.konst(wide, u64::from(i * to.bytes() * 8));
            let part = if i == 0 { bits } else { self.bin(Binary::LShr, bits, by) };
            let part = self.cvt(Convert::UToU, part, to.integer());
            self.cvt(Convert::Bitcast, part, to)
        };
        (0..n).map(part).collect()
    }

    /// Returns a boolean that is true if `v` is not zero.
    pub fn bit_to_bool(&mut self, v: Value) -> Value {
        let zero = self.i32(0);
        let v = self.int_as(v, Ty::I32);
        self.cmp(Cmp::INe, v, zero)
    }

    /// Returns the component with a dynamic number; the last one if the number is out of range.
    pub fn pick(&mut self, all: &[Value], comp: Value) -> Value {
        let comp = self.int_as(comp, Ty::I32);
        let Some((&last, rest)) = all.split_last() else { return comp };
        let mut v = last;
        for (c, &x) in rest.iter().enumerate().rev() {
            let which = self.i32(c as u32);
            let hit = self.cmp(Cmp::IEq, comp, which);
            v = self.select(hit, x, v);
        }
        v
    }

    /// Returns the number of the lane in its subgroup.
    pub fn lane(&mut self) -> Value {
        self.val(Op::Builtin(Builtin::SubgroupInvocation), &[], Ty::I32)
    }
}

/// Returns the number of address operands of a space.
pub(crate) fn address_len(space: Space) -> usize {
    if space == Space::Buffer { 2 } else { 1 }
}
