//! Code shared by the passes: renaming of values, the pool of constants, replacement of
//! instructions.

use crate::ir::{
    Binary, Builder, Convert, FloatFlags, Inst, InstData, Node, Op, Region, Shader, Ty, Value, ValueDef, Var,
};
use base::hash::WordMap;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use smallvec::smallvec;
use std::cell::Cell;

/// Replaced values. Chains are followed, so a target may be replaced later; they are shortened on
/// the way.
#[derive(Default)]
pub struct Renames(SecondaryMap<Value, Cell<PackedOption<Value>>>);

impl Renames {
    /// Replaces `from` by `to` from now on.
    pub fn set(&mut self, from: Value, to: Value) {
        debug_assert!(self.resolve(to) != from);
        self.0[from] = Cell::new(to.into());
    }
    /// Returns the value that replaces a value, which is the value itself if it is not replaced.
    pub fn resolve(&self, mut v: Value) -> Value {
        while let Some(next) = self.0[v].get().expand() {
            if let Some(behind) = self.0[next].get().expand() {
                // The index is inside the map, because `next` has a replacement.
                self.0[v].set(behind.into());
            }
            v = next;
        }
        v
    }
    /// Replaces values in place.
    pub fn apply(&self, values: &mut [Value]) {
        for v in values {
            *v = self.resolve(*v);
        }
    }
}

/// Constants at the start of the root body, where all regions see them; each (type, bits) once.
pub struct ConstantPool {
    known: WordMap<(Ty, u64), Value>,
    new: Vec<Node>,
}

impl ConstantPool {
    /// Finds the constants that are already at the start of the root body.
    pub fn new(shader: &Shader) -> Self {
        let constant = |node: &Node| {
            let Node::Inst(inst) = *node else { return None };
            let Op::Const(bits) = shader.insts[inst].op else { return None };
            let value = shader.insts[inst].first_result;
            Some(((shader.ty(value), bits), value))
        };
        let nodes = &shader.root.body.nodes;
        let count = nodes.iter().take_while(|node| constant(node).is_some()).count();
        let mut known = WordMap::with_capacity_and_hasher(count, Default::default());
        for (key, value) in nodes[..count].iter().filter_map(constant) {
            known.entry(key).or_insert(value);
        }
        ConstantPool { known, new: Vec::new() }
    }

    /// Returns the constant with these bits.
    pub fn get(&mut self, shader: &mut Shader, ty: Ty, bits: u64) -> Value {
        *self.known.entry((ty, bits)).or_insert_with(|| {
            let inst = shader.inst(Op::Const(bits), &[], &[ty], 0);
            self.new.push(Node::Inst(inst));
            shader.insts[inst].first_result
        })
    }

    /// Puts the new constants into the shader. Must be called when the root body is in place.
    pub fn finish(self, shader: &mut Shader) {
        if !self.new.is_empty() {
            shader.root.body.nodes.splice(0..0, self.new);
        }
    }
}

/// Visits every instruction in program order.
pub fn for_each_inst(region: &Region, f: &mut impl FnMut(Inst)) {
    for node in &region.nodes {
        match node {
            Node::Inst(inst) => f(*inst),
            Node::If(n) => {
                for_each_inst(&n.then, f);
                for_each_inst(&n.else_, f);
            }
            Node::Loop(n) => for_each_inst(&n.body, f),
            Node::Scope(n) => for_each_inst(&n.body, f),
        }
    }
}

/// Returns the variables that hold ray queries.
pub fn query_variables(shader: &Shader) -> EntitySet<Var> {
    let mut found = EntitySet::with_capacity(shader.vars.len());
    for_each_inst(&shader.root.body, &mut |inst| {
        shader.insts[inst].op.query_variables().for_each(|var| {
            found.insert(var);
        });
    });
    found
}

/// Replaces every instruction, in program order: `rewrite` appends the replacement, or the
/// instruction itself if it stays.
pub fn rewrite_insts(region: &mut Region, rewrite: &mut impl FnMut(Inst, &mut Vec<Node>)) {
    let mut out = Vec::with_capacity(region.nodes.len());
    for mut node in std::mem::take(&mut region.nodes) {
        match &mut node {
            Node::Inst(inst) => {
                rewrite(*inst, &mut out);
                continue;
            }
            Node::If(n) => {
                rewrite_insts(&mut n.then, rewrite);
                rewrite_insts(&mut n.else_, rewrite);
            }
            Node::Loop(n) => rewrite_insts(&mut n.body, rewrite),
            Node::Scope(n) => rewrite_insts(&mut n.body, rewrite),
        }
        out.push(node);
    }
    region.nodes = out;
}

/// Appends instructions that define an instruction's results by `values`: a conversion each,
/// without float flags.
pub fn define_results_from(
    shader: &mut Shader,
    data: &InstData,
    convert: Convert,
    values: impl IntoIterator<Item = Value>,
    out: &mut Vec<Node>,
) {
    for (result, value) in data.results().zip(values) {
        let inst = shader.insts.push(InstData {
            op: Op::Convert(convert),
            args: smallvec![value],
            first_result: result,
            result_count: 1,
            float: FloatFlags::NONE,
            source: data.source,
        });
        shader.values[result].def = ValueDef::Inst(inst, 0);
        out.push(Node::Inst(inst));
    }
}

/// Builds a sum of floats and the part of it that was rounded away (Knuth's TwoSum).
pub fn two_sum(b: &mut Builder<'_>, x: Value, y: Value) -> [Value; 2] {
    let sum = b.binary(Binary::FAdd, x, y);
    let part = b.binary(Binary::FSub, sum, x);
    let rest = b.binary(Binary::FSub, sum, part);
    let lost_x = b.binary(Binary::FSub, x, rest);
    let lost_y = b.binary(Binary::FSub, y, part);
    [sum, b.binary(Binary::FAdd, lost_x, lost_y)]
}
