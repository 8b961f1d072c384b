//! A small builder that appends instructions and structured nodes to the region under construction.
//!
//! Structured nodes take closures that fill the nested region and return its [`Term`]:
//!
//! ```
//! # use jit::ir::{Builder, Binary, Cmp, Shader, Term, Ty};
//! # use base::shader::Stage;
//! let mut shader = Shader::new(Stage::Compute, "main");
//! let mut b = Builder::new(&mut shader);
//! let (zero, one, ten) = (b.i32(0), b.i32(1), b.i32(10));
//! let sum = b.loop_(&[zero, zero], &[Ty::I32], |b, label, p| {
//!     let done = b.cmp(Cmp::ULe, ten, p[0]);
//!     b.break_if(done, label, &[p[1]]);
//!     let next = b.binary(Binary::IAdd, p[0], one);
//!     let acc = b.binary(Binary::IAdd, p[1], p[0]);
//!     Term::Yield(vec![next, acc])
//! });
//! # let _ = sum;
//! b.finish();
//! ```

use super::{
    Binary, Builtin, Cmp, Convert, FloatFlags, If, Inst, Label, Loop, MemFlags, Node, Op, Region, Scope, Shader, Space,
    Term, Ty, Unary, Value, Var, VarData,
};

/// Builder that appends to a list of nodes, which later becomes a region or part of one.
pub struct Builder<'a> {
    /// The shader that owns values and instructions.
    pub shader: &'a mut Shader,
    /// Nodes that were appended so far.
    pub nodes: Vec<Node>,
    /// SPIR-V id that the new instructions get as `source`.
    pub source: u32,
    /// Float flags that the new instructions get.
    pub float: FloatFlags,
}

impl<'a> Builder<'a> {
    /// Creates a builder with an empty list.
    pub fn new(shader: &'a mut Shader) -> Self {
        Builder { shader, nodes: Vec::new(), source: 0, float: FloatFlags::NONE }
    }

    /// Makes the list the body of the root scope.
    pub fn finish(self) {
        self.shader.root.body = Region { nodes: self.nodes, term: Term::default() };
    }

    /// Appends an instruction with any number of results.
    pub fn inst(&mut self, op: Op, args: &[Value], results: &[Ty]) -> Inst {
        let inst = self.shader.inst(op, args, results, self.source);
        self.shader.set_float(inst, self.float);
        self.nodes.push(Node::Inst(inst));
        inst
    }

    /// Appends an instruction with one result.
    pub fn op(&mut self, op: Op, args: &[Value], result: Ty) -> Value {
        let inst = self.inst(op, args, &[result]);
        self.shader.insts[inst].first_result
    }

    /// Appends a constant, given by its bits.
    pub fn constant(&mut self, ty: Ty, bits: u64) -> Value {
        self.op(Op::Const(bits), &[], ty)
    }
    /// Appends a boolean constant.
    pub fn bool(&mut self, value: bool) -> Value {
        self.constant(Ty::B1, u64::from(value))
    }
    /// Appends a 32-bit integer constant, given as signed.
    pub fn i32(&mut self, value: i32) -> Value {
        self.constant(Ty::I32, u64::from(value as u32))
    }
    /// Appends a 32-bit integer constant, given as unsigned.
    pub fn u32(&mut self, value: u32) -> Value {
        self.constant(Ty::I32, u64::from(value))
    }
    /// Appends a 32-bit float constant.
    pub fn f32(&mut self, value: f32) -> Value {
        self.constant(Ty::F32, u64::from(value.to_bits()))
    }

    /// Appends a unary operation. `BitCount` gives I32, all others the operand's type.
    pub fn unary(&mut self, op: Unary, a: Value) -> Value {
        let ty = if op == Unary::BitCount { Ty::I32 } else { self.shader.ty(a) };
        self.op(Op::Unary(op), &[a], ty)
    }
    /// Appends a binary operation of the first operand's type.
    pub fn binary(&mut self, op: Binary, a: Value, b: Value) -> Value {
        let ty = self.shader.ty(a);
        self.op(Op::Binary(op), &[a, b], ty)
    }
    /// Appends the comparison `a op b`, which gives a B1.
    pub fn cmp(&mut self, op: Cmp, a: Value, b: Value) -> Value {
        self.op(Op::Cmp(op), &[a, b], Ty::B1)
    }
    /// Appends the conversion of `a` to type `to`.
    pub fn convert(&mut self, op: Convert, a: Value, to: Ty) -> Value {
        self.op(Op::Convert(op), &[a], to)
    }
    /// Appends `c ? a : b`.
    pub fn select(&mut self, c: Value, a: Value, b: Value) -> Value {
        let ty = self.shader.ty(a);
        self.op(Op::Select, &[c, a, b], ty)
    }
    /// Appends `a * b + c` with one rounding.
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        let ty = self.shader.ty(a);
        self.op(Op::Fma, &[a, b, c], ty)
    }
    /// Appends a built-in of the given type.
    pub fn builtin(&mut self, builtin: Builtin, ty: Ty) -> Value {
        self.op(Op::Builtin(builtin), &[], ty)
    }

    /// Adds a private variable to the shader.
    pub fn var(&mut self, ty: Ty, len: u32, name: &str) -> Var {
        self.shader.vars.push(VarData { ty, len, name: name.to_owned() })
    }
    /// Appends a load of a variable; `index` is given if it is an array.
    pub fn var_load(&mut self, var: Var, index: Option<Value>) -> Value {
        let ty = self.shader.vars[var].ty;
        self.op(Op::VarLoad(var), index.as_slice(), ty)
    }
    /// Appends a store to a variable; `index` is given if it is an array.
    pub fn var_store(&mut self, var: Var, index: Option<Value>, value: Value) {
        match index {
            Some(index) => self.inst(Op::VarStore(var), &[index, value], &[]),
            None => self.inst(Op::VarStore(var), &[value], &[]),
        };
    }

    /// Appends the descriptor of a buffer binding, element 0.
    pub fn buffer(&mut self, set: u32, binding: u32) -> Value {
        let zero = self.i32(0);
        self.op(Op::BufferDesc { set, binding }, &[zero], Ty::Buf)
    }
    /// Appends a load of one element from a buffer.
    pub fn load(&mut self, buf: Value, offset: Value, ty: Ty) -> Value {
        let flags = MemFlags { align: ty.bytes() as u8, ..MemFlags::default() };
        self.op(Op::Load(Space::Buffer, flags), &[buf, offset], ty)
    }
    /// Appends a store of one element into a buffer.
    pub fn store(&mut self, buf: Value, offset: Value, value: Value) {
        let align = self.shader.ty(value).bytes() as u8;
        let flags = MemFlags { align, ..MemFlags::default() };
        self.inst(Op::Store(Space::Buffer, flags), &[buf, offset, value], &[]);
    }

    /// Builds a nested region with a closure.
    pub fn region(&mut self, fill: impl FnOnce(&mut Self) -> Term) -> Region {
        let outer = std::mem::take(&mut self.nodes);
        let term = fill(self);
        let nodes = std::mem::replace(&mut self.nodes, outer);
        Region { nodes, term }
    }

    fn region_values(&mut self, types: &[Ty]) -> Vec<Value> {
        types.iter().map(|&ty| self.shader.region_value(ty)).collect()
    }

    /// Appends a two-way branch; both arms yield values of the result types (or break).
    pub fn if_(
        &mut self,
        cond: Value,
        results: &[Ty],
        then: impl FnOnce(&mut Self) -> Term,
        else_: impl FnOnce(&mut Self) -> Term,
    ) -> Vec<Value> {
        let then = self.region(then);
        let else_ = self.region(else_);
        let results = self.region_values(results);
        self.nodes.push(Node::If(Box::new(If { cond, then, else_, results: results.clone() })));
        results
    }

    /// Appends `if cond { break label(args) }`.
    pub fn break_if(&mut self, cond: Value, label: Label, args: &[Value]) {
        self.if_(cond, &[], |_| Term::Break(label, args.to_vec()), |_| Term::default());
    }

    /// Appends an endless loop with carried values; the closure gets its label and params and ends
    /// with the back edge.
    pub fn loop_(
        &mut self,
        inits: &[Value],
        results: &[Ty],
        body: impl FnOnce(&mut Self, Label, &[Value]) -> Term,
    ) -> Vec<Value> {
        let label = self.shader.new_label();
        let types: Vec<Ty> = inits.iter().map(|&v| self.shader.ty(v)).collect();
        let params = self.region_values(&types);
        let body = self.region(|b| body(b, label, &params));
        let results = self.region_values(results);
        let node = Loop { label, params, inits: inits.to_vec(), body, results: results.clone() };
        self.nodes.push(Node::Loop(Box::new(node)));
        results
    }

    /// Appends a labelled block; the closure gets its label.
    pub fn scope(&mut self, results: &[Ty], body: impl FnOnce(&mut Self, Label) -> Term) -> Vec<Value> {
        let label = self.shader.new_label();
        let body = self.region(|b| body(b, label));
        let results = self.region_values(results);
        self.nodes.push(Node::Scope(Box::new(Scope { label, body, results: results.clone() })));
        results
    }
}
