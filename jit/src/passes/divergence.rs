//! Divergence analysis: which values are the same for all lanes, or affine in the lane index.
//!
//! *Uniform* means: the same for all lanes that are **active** where the value is defined, of one chunk of lanes. The
//! analysis is optimistic: everything starts uniform and is raised until nothing changes. Shapes only go up, so the number
//! of rounds is bounded by loop nesting in practice.
//!
//! Control flow enters in two ways. An If with a varying condition is divergent: its results are varying. A break
//! is divergent with regard to its target when, between the target and the break, some lanes of the target may be
//! elsewhere: in the other arm of a divergent If, or gone by a divergent break to a label inside the target. Results of a label with a divergent break
//! are varying, because lanes left by different breaks or in different iterations (temporal divergence). The params of such a
//! loop are not: the lanes still in it have done the same number of iterations.
//!
//! A chunk begins at a multiple of its lanes: where these differ only in bits that the base has as zeros, shifts to the right and masks
//! stay uniform or affine.
//!
//! Barriers change nothing: that a workgroup agrees at a barrier does not say that a condition around it is uniform elsewhere.

use crate::ir::{
    Affine, Binary, Builtin, Effects, Inst, Label, Node, Op, Region, Shader, ShapeRule, Term, Ty, Value, ValueDef,
};
use base::shader::Interpolation;
use cranelift_entity::SecondaryMap;

/// After so many rounds loop params are varying without a proof: a loop can be written that hands a shape from param to param, one
/// each round.
const MAX_ROUNDS: u32 = 64;

/// Operations that are looked through for zeros.
const DEPTH: u32 = 6;

/// How a value depends on the lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// The same for all active lanes.
    #[default]
    Uniform,
    /// I32 only: lane `l` has `base + stride * l`, wrapping; the stride is never 0.
    Affine(i32),
    /// Anything.
    Varying,
}

/// What the analysis found.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// Shape of each value.
    pub shape: SecondaryMap<Value, Shape>,
    /// Labels with a break that some active lanes of the target may not take together with the others. For all other
    /// labels every break is a plain jump of all active lanes.
    pub divergent_labels: SecondaryMap<Label, bool>,
}

impl Divergence {
    /// True when all active lanes agree on the value.
    pub fn is_uniform(&self, v: Value) -> bool {
        self.shape[v] == Shape::Uniform
    }
    /// True when an If with this condition is divergent.
    pub fn is_divergent_if(&self, cond: Value) -> bool {
        !self.is_uniform(cond)
    }
    /// True when lanes may leave the label's node at different breaks.
    pub fn is_divergent_label(&self, label: Label) -> bool {
        self.divergent_labels[label]
    }
}

/// Whose invocations are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Among {
    /// Those of a chunk.
    Lanes(u32),
    /// All fragments of a primitive, whatever chunks they are in.
    Primitive,
}

/// Analyses a shader for chunks of `lanes` lanes.
pub fn divergence(shader: &Shader, lanes: u32) -> Divergence {
    analyse(shader, Among::Lanes(lanes))
}

/// Are the outputs of a fragment stage the same for all fragments of a primitive, and is there nothing else that a fragment does? One fragment
/// then says it for all.
pub fn is_flat(shader: &Shader) -> bool {
    let Some(facts) = shader.payload.fragment() else { return false };
    let other_effects = facts.kills
        || facts.writes_depth
        || facts.writes_stencil
        || facts.writes_sample_mask
        || facts.sample_shading
        || facts.reads_input_attachments
        || shader.side_effects
        || shader.uses_subgroup;
    if other_effects {
        return false;
    }
    let found = analyse(shader, Among::Primitive);
    found.all_alike(shader, &shader.root.body)
}

impl Divergence {
    /// No branch of a region separates invocations, and what it writes to outputs is the same for all.
    fn all_alike(&self, shader: &Shader, region: &Region) -> bool {
        region.nodes.iter().all(|node| match node {
            Node::Inst(inst) => {
                let data = &shader.insts[*inst];
                !data.op.row().effects.intersects(Effects::EXPORTS) || data.args.iter().all(|&v| self.is_uniform(v))
            }
            Node::If(n) => {
                self.is_uniform(n.cond) && self.all_alike(shader, &n.then) && self.all_alike(shader, &n.else_)
            }
            Node::Scope(n) => self.all_alike(shader, &n.body),
            Node::Loop(n) => self.all_alike(shader, &n.body),
        })
    }
}

fn analyse(shader: &Shader, among: Among) -> Divergence {
    let mut a = Analysis {
        shader,
        among,
        shape: SecondaryMap::with_capacity(shader.values.len()),
        divergent_labels: SecondaryMap::new(),
        frames: Vec::new(),
        params: SecondaryMap::new(),
        again: true,
        rounds: 0,
    };
    while std::mem::take(&mut a.again) {
        a.rounds += 1;
        a.scope(shader.root.label, &shader.root.body, &[]);
    }
    let mut shape = SecondaryMap::with_default(Shape::Varying);
    for value in shader.values.keys() {
        shape[value] = a.shape[value].unwrap_or(Shape::Varying);
    }
    Divergence { shape, divergent_labels: a.divergent_labels }
}

/// A structured node around the current point.
enum Frame<'a> {
    If {
        divergent: bool,
    },
    /// `left`: some lanes may have broken to this label before the current point.
    Label {
        label: Label,
        results: &'a [Value],
        left: bool,
    },
}

struct Analysis<'a> {
    shader: &'a Shader,
    among: Among,
    /// None: not reached yet.
    shape: SecondaryMap<Value, Option<Shape>>,
    divergent_labels: SecondaryMap<Label, bool>,
    frames: Vec<Frame<'a>>,
    /// What params of loops start with and go on with.
    params: SecondaryMap<Value, Option<(Value, Value)>>,
    /// Something at or before a loop header changed after it was used.
    again: bool,
    rounds: u32,
}

/// Merge of values that arrive over different uniform paths.
fn join(a: Option<Shape>, b: Option<Shape>) -> Option<Shape> {
    match (a, b) {
        (None, x) | (x, None) => x,
        (Some(x), Some(y)) if x == y => a,
        _ => Some(Shape::Varying),
    }
}

fn affine(stride: i32) -> Shape {
    if stride == 0 { Shape::Uniform } else { Shape::Affine(stride) }
}

impl<'a> Analysis<'a> {
    /// Joins into a region value; true when that changed it.
    fn raise(&mut self, value: Value, shape: Option<Shape>) -> bool {
        let new = join(self.shape[value], shape);
        std::mem::replace(&mut self.shape[value], new) != new
    }

    fn region(&mut self, region: &'a Region) {
        for node in &region.nodes {
            match node {
                Node::Inst(inst) => self.inst(*inst),
                Node::If(n) => self.if_(n.cond, &n.then, &n.else_, &n.results),
                Node::Scope(n) => self.scope(n.label, &n.body, &n.results),
                Node::Loop(n) => {
                    let next = if let Term::Yield(args) = &n.body.term { &args[..] } else { &[] };
                    for (i, (&param, &init)) in n.params.iter().zip(&n.inits).enumerate() {
                        self.raise(param, self.shape[init]);
                        self.params[param] = next.get(i).map(|&next| (init, next));
                    }
                    let divergent_before = self.divergent_labels[n.label];
                    self.frames.push(Frame::Label { label: n.label, results: &n.results, left: divergent_before });
                    self.region(&n.body);
                    self.frames.pop();
                    if let Term::Yield(args) = &n.body.term {
                        for (&param, &arg) in n.params.iter().zip(args) {
                            let shape = if self.rounds > MAX_ROUNDS { Some(Shape::Varying) } else { self.shape[arg] };
                            self.again |= self.raise(param, shape);
                        }
                    }
                    self.again |= self.divergent_labels[n.label] != divergent_before;
                    self.close_label(n.label, &n.results);
                }
            }
        }
        if let Term::Break(label, args) = &region.term {
            self.break_(*label, args);
        }
    }

    fn if_(&mut self, cond: Value, then: &'a Region, else_: &'a Region, results: &[Value]) {
        let divergent = self.shape[cond] != Some(Shape::Uniform);
        self.frames.push(Frame::If { divergent });
        self.region(then);
        self.region(else_);
        self.frames.pop();
        match (&then.term, &else_.term) {
            (Term::Yield(a), Term::Yield(b)) => {
                for ((&result, &x), &y) in results.iter().zip(a).zip(b) {
                    let merged =
                        if divergent && x != y { Some(Shape::Varying) } else { join(self.shape[x], self.shape[y]) };
                    self.raise(result, merged);
                }
            }
            // Only the lanes of one arm go on.
            (Term::Yield(args), _) | (_, Term::Yield(args)) => {
                for (&result, &arg) in results.iter().zip(args) {
                    self.raise(result, self.shape[arg]);
                }
            }
            _ => {}
        }
    }

    fn scope(&mut self, label: Label, body: &'a Region, results: &'a [Value]) {
        self.frames.push(Frame::Label { label, results, left: false });
        self.region(body);
        self.frames.pop();
        if let Term::Yield(args) = &body.term {
            for (&result, &arg) in results.iter().zip(args) {
                self.raise(result, self.shape[arg]);
            }
        }
        self.close_label(label, results);
    }

    fn close_label(&mut self, label: Label, results: &[Value]) {
        if self.divergent_labels[label] {
            for &result in results {
                self.raise(result, Some(Shape::Varying));
            }
        }
    }

    fn break_(&mut self, label: Label, args: &[Value]) {
        let mut divergent = false;
        for frame in self.frames.iter_mut().rev() {
            match frame {
                Frame::If { divergent: d } => divergent |= *d,
                Frame::Label { label: l, results, left } if *l == label => {
                    *left |= divergent;
                    self.divergent_labels[label] |= divergent;
                    let results: &'a [Value] = results;
                    for (&result, &arg) in results.iter().zip(args) {
                        self.raise(result, self.shape[arg]);
                    }
                    return;
                }
                Frame::Label { left, .. } => divergent |= *left,
            }
        }
    }

    fn inst(&mut self, inst: Inst) {
        let data = &self.shader.insts[inst];
        let shape = self.transfer(&data.op, &data.args);
        for result in data.results() {
            self.shape[result] = Some(shape);
        }
    }

    /// The shape of an operation's results.
    fn transfer(&self, op: &Op, args: &[Value]) -> Shape {
        let one_primitive = self.among == Among::Primitive;
        match op.row().shape {
            ShapeRule::Uniform => Shape::Uniform,
            ShapeRule::Primitive if one_primitive => Shape::Uniform,
            ShapeRule::Input if one_primitive && self.is_flat_input(op) => Shape::Uniform,
            ShapeRule::Kernel if one_primitive => self.operands(args),
            // The number of a lane says nothing of a primitive.
            ShapeRule::Lane | ShapeRule::Place if one_primitive => Shape::Varying,
            ShapeRule::Varying | ShapeRule::Primitive | ShapeRule::Input | ShapeRule::Kernel => Shape::Varying,
            ShapeRule::Operands => self.operands(args),
            ShapeRule::Lane => Shape::Affine(1),
            ShapeRule::Place => {
                let Op::Builtin(Builtin::LocalInvocationId(c) | Builtin::GlobalInvocationId(c)) = op else {
                    return Shape::Varying;
                };
                self.place(*c)
            }
            ShapeRule::Select if self.shape[args[0]] == Some(Shape::Uniform) => {
                join(self.shape[args[1]], self.shape[args[2]]).unwrap_or(Shape::Varying)
            }
            ShapeRule::Select => self.operands(args),
            ShapeRule::Affine(rule) if self.shader.ty(args[0]) == Ty::I32 => {
                self.affine(rule, args[0], args[1]).unwrap_or_else(|| self.operands(args))
            }
            ShapeRule::Affine(_) => self.operands(args),
        }
    }

    fn is_flat_input(&self, op: &Op) -> bool {
        let Op::LoadInput(slot, _) = op else { return false };
        self.shader.inputs.get(*slot as usize).is_some_and(|slot| slot.interpolation == Interpolation::Flat)
    }

    fn operands(&self, args: &[Value]) -> Shape {
        let uniform = args.iter().all(|&v| self.shape[v] == Some(Shape::Uniform));
        if uniform { Shape::Uniform } else { Shape::Varying }
    }

    /// Affine arithmetic; None when the result is not affine.
    fn affine(&self, rule: Affine, a: Value, b: Value) -> Option<Shape> {
        let stride = |v: Value| match self.shape[v]? {
            Shape::Uniform => Some(0),
            Shape::Affine(s) => Some(s),
            Shape::Varying => None,
        };
        let constant = |v: Value| self.shader.as_const(v).map(|bits| bits as u32 as i32);
        let (sa, sb) = (stride(a)?, stride(b)?);
        match rule {
            Affine::Sum => Some(affine(sa.wrapping_add(sb))),
            Affine::Difference => Some(affine(sa.wrapping_sub(sb))),
            Affine::Product => match (constant(a), constant(b)) {
                (_, Some(c)) => Some(affine(sa.wrapping_mul(c))),
                (Some(c), None) => Some(affine(sb.wrapping_mul(c))),
                (None, None) => None,
            },
            Affine::Bound => {
                let limit = constant(b)?;
                (sa == 0 || Binary::bound_stays_affine(sa, limit as u32)).then(|| affine(sa))
            }
            Affine::Shift => constant(b).map(|c| affine(sa.wrapping_shl(c as u32 & 31))),
            Affine::Quotient | Affine::Mask if sa == 0 && sb == 0 => Some(Shape::Uniform),
            Affine::Quotient => self.quotient(a, sa, constant(b)? as u32 & 31),
            Affine::Mask => match (constant(a), constant(b)) {
                (_, Some(mask)) => self.masked(a, sa, mask as u32),
                (Some(mask), None) => self.masked(b, sb, mask as u32),
                (None, None) => None,
            },
        }
    }

    /// Bits in which the lanes differ: `stride * lane` where the base has zeros. None when sums may carry.
    fn own_bits(&self, v: Value, stride: i32) -> Option<u32> {
        let most = u32::try_from(stride).ok()?.checked_mul(self.lanes() - 1)?;
        let bits = u32::MAX.checked_shr(most.leading_zeros()).unwrap_or(0);
        (bits.trailing_ones() <= self.zeros(v, DEPTH)).then_some(bits)
    }

    fn quotient(&self, v: Value, stride: i32, by: u32) -> Option<Shape> {
        let bits = self.own_bits(v, stride)?;
        match stride.trailing_zeros() {
            _ if bits >> by == 0 => Some(Shape::Uniform),
            zeros if zeros >= by => Some(affine(stride >> by)),
            _ => None,
        }
    }

    fn masked(&self, v: Value, stride: i32, mask: u32) -> Option<Shape> {
        let bits = self.own_bits(v, stride)?;
        match bits & mask {
            0 => Some(Shape::Uniform),
            all if all == bits => Some(affine(stride)),
            _ => None,
        }
    }

    /// Zeros at the lower end of a uniform value, or of an affine one's base, which is that of lane 0; looking through `depth` operations.
    fn zeros(&self, v: Value, depth: u32) -> u32 {
        if let Some((init, next)) = self.params[v] {
            // What a loop counts by.
            let ValueDef::Inst(inst, _) = self.shader.values[next].def else { return 0 };
            let data = &self.shader.insts[inst];
            return match data.op {
                Op::Binary(Binary::IAdd) if data.args[0] == v && depth != 0 => {
                    self.zeros(init, depth - 1).min(self.zeros(data.args[1], depth - 1))
                }
                _ => 0,
            };
        }
        let ValueDef::Inst(inst, _) = self.shader.values[v].def else { return 0 };
        let data = &self.shader.insts[inst];
        if depth == 0 {
            return 0;
        }
        let zeros = |n: usize| self.zeros(data.args[n], depth - 1);
        let chunk = self.lanes().trailing_zeros();
        match data.op {
            Op::Const(bits) => (bits as u32).trailing_zeros(),
            Op::Builtin(Builtin::SubgroupInvocation) => 32,
            Op::Builtin(Builtin::LocalInvocationIndex) => chunk,
            Op::Builtin(Builtin::LocalInvocationId(0) | Builtin::GlobalInvocationId(0))
                if self.place(0) == Shape::Affine(1) =>
            {
                chunk
            }
            Op::Binary(Binary::IAdd | Binary::ISub | Binary::Or | Binary::Xor) => zeros(0).min(zeros(1)),
            Op::Binary(Binary::IMul) => (zeros(0) + zeros(1)).min(32),
            Op::Binary(Binary::And) => zeros(0).max(zeros(1)),
            Op::Binary(Binary::Shl) => match self.shader.as_const(data.args[1]) {
                Some(by) => (zeros(0) + (by as u32 & 31)).min(32),
                None => 0,
            },
            _ => 0,
        }
    }

    /// Lanes that shapes count; a primitive's fragments have no numbers.
    fn lanes(&self) -> u32 {
        match self.among {
            Among::Lanes(lanes) => lanes,
            Among::Primitive => 1,
        }
    }

    /// Component of the place in the workgroup. A chunk lies in one row of it (or column, when rows have one invocation).
    fn place(&self, component: u8) -> Shape {
        let Some(facts) = self.shader.payload.workgroup() else { return Shape::Varying };
        let Among::Lanes(lanes) = self.among else { return Shape::Varying };
        let [x, y, _] = facts.local_size;
        match component {
            0 if x == 1 => Shape::Uniform,
            0 if x % lanes == 0 => Shape::Affine(1),
            1 if x % lanes == 0 || y == 1 => Shape::Uniform,
            1 if x == 1 && y % lanes == 0 => Shape::Affine(1),
            2 if (x * y) % lanes == 0 => Shape::Uniform,
            2 if x * y == 1 => Shape::Affine(1),
            _ => Shape::Varying,
        }
    }
}
