//! Divergence analysis: which values are equal in all lanes, or affine in the lane index.
//!
//! *Uniform* means equal in all lanes of one chunk that are **active** where the value is defined.
//! The analysis is optimistic: all values start as uniform and are raised until nothing changes.
//! Shapes only go up, so the number of rounds is bounded by loop nesting in practice.
//!
//! Control flow enters in two ways. An If with a varying condition is divergent: its results are
//! varying. A break is divergent with regard to its target if some lanes of the target may be
//! elsewhere. They may be in the other arm of a divergent If, or gone by a divergent break to a
//! label inside the target. Results of a label with a divergent break are varying, because lanes
//! left by different breaks or in different iterations (temporal divergence). The params of such a
//! loop are not: the lanes still in it have done the same number of iterations.
//!
//! A chunk begins at a multiple of its number of lanes. If the lanes differ only in bits that are
//! zero in the base, shifts to the right and masks stay uniform or affine, as rows and columns of
//! tiles do ([`Steps`]).
//!
//! Barriers change nothing: that a workgroup agrees at a barrier does not imply that a condition
//! around it is uniform elsewhere. Lanes that are suspended one by one are gone for the rest of the
//! call, and those of a later call are at the same point. They may have got there in different
//! ways, so that values that their frames keep ([`Suspension`]) are varying.

use super::{Steps, Suspension};
use crate::ir::{
    AffineRule, Binary, Builtin, Effects, Inst, Label, Node, Op, Region, Shader, ShapeRule, Term, Ty, Value, ValueDef,
};
use base::abi::BatchKind;
use base::shader::Interpolation;
use cranelift_entity::SecondaryMap;

/// Number of rounds after which loop params are taken as varying without a proof. The bound is
/// needed because a loop can pass a shape from param to param, one each round.
const MAX_ROUNDS: u32 = 64;

/// Largest number of operations through which trailing zeros are traced.
const DEPTH: u32 = 6;

/// Dependence of a value on the lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// The value is equal in all active lanes.
    #[default]
    Uniform,
    /// Lane `l` has `base + steps.at(l)`, wrapping. Only I32 values; the steps are never all 0.
    Affine(Steps),
    /// Nothing is known.
    Varying,
}

/// Result of the analysis.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// Shape of each value.
    pub shape: SecondaryMap<Value, Shape>,
    /// True for labels with a break that some active lanes of the target may not take together with
    /// the others. For all other labels, every break is a plain jump of all active lanes.
    pub divergent_labels: SecondaryMap<Label, bool>,
}

impl Divergence {
    /// Returns true if all active lanes agree on the value.
    pub fn is_uniform(&self, v: Value) -> bool {
        self.shape[v] == Shape::Uniform
    }
    /// Returns true if an If with this condition is divergent.
    pub fn is_divergent_if(&self, cond: Value) -> bool {
        !self.is_uniform(cond)
    }
    /// Returns true if lanes may leave the label's node at different breaks.
    pub fn is_divergent_label(&self, label: Label) -> bool {
        self.divergent_labels[label]
    }
}

/// The invocations that are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ComparedInvocations {
    /// The lanes of a chunk, of which there are this many.
    Lanes(u32),
    /// All fragments of a primitive, in any chunk.
    Primitive,
}

/// Analyses a shader for chunks of `lanes` lanes.
pub fn divergence(shader: &Shader, lanes: u32) -> Divergence {
    analyse(shader, ComparedInvocations::Lanes(lanes))
}

/// Returns true if a fragment stage only writes outputs, and these are equal for all fragments of a
/// primitive. Shading one fragment then suffices.
pub fn is_flat(shader: &Shader) -> bool {
    let Some(info) = shader.stage_info.fragment() else { return false };
    let other_effects = info.kills
        || info.writes_depth
        || info.writes_stencil
        || info.writes_sample_mask
        || info.sample_shading
        || info.reads_input_attachments
        || shader.side_effects
        || shader.uses_subgroup;
    if other_effects {
        return false;
    }
    let found = analyse(shader, ComparedInvocations::Primitive);
    found.all_alike(shader, &shader.root.body)
}

impl Divergence {
    /// Returns true if no branch of a region separates invocations and all invocations write the
    /// same to outputs.
    fn all_alike(&self, shader: &Shader, region: &Region) -> bool {
        region.nodes.iter().all(|node| match node {
            Node::Inst(inst) => {
                let data = &shader.insts[*inst];
                !data.op.effects().intersects(Effects::EXPORTS) || data.args.iter().all(|&v| self.is_uniform(v))
            }
            Node::If(n) => {
                self.is_uniform(n.cond) && self.all_alike(shader, &n.then) && self.all_alike(shader, &n.else_)
            }
            Node::Scope(n) => self.all_alike(shader, &n.body),
            Node::Loop(n) => self.all_alike(shader, &n.body),
        })
    }
}

fn analyse(shader: &Shader, compared: ComparedInvocations) -> Divergence {
    let mut reached = SecondaryMap::new();
    reached.resize(shader.values.len());
    let mut a = Analysis {
        shader,
        compared,
        kept: kept_values(shader),
        shape: reached,
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
    shape.resize(shader.values.len());
    for value in shader.values.keys() {
        shape[value] = a.shape[value].unwrap_or(Shape::Varying);
    }
    Divergence { shape, divergent_labels: a.divergent_labels }
}

/// Returns the values that frames of invocations keep. A shader whose analysis fails is not
/// emitted.
fn kept_values(shader: &Shader) -> SecondaryMap<Value, bool> {
    let mut kept = SecondaryMap::new();
    if shader.stage().row().batch == BatchKind::Invocations
        && let Ok(suspension) = Suspension::analyze(shader, &|_| false)
    {
        shader.values.keys().for_each(|v| kept[v] = suspension.is_kept(v));
    }
    kept
}

/// A structured node around the current point.
enum Frame<'a> {
    If {
        divergent: bool,
    },
    /// A loop or scope. `left` is true if some lanes may have broken to this label before the
    /// current point.
    Label {
        label: Label,
        results: &'a [Value],
        left: bool,
    },
}

struct Analysis<'a> {
    shader: &'a Shader,
    compared: ComparedInvocations,
    /// True of values that frames of invocations keep.
    kept: SecondaryMap<Value, bool>,
    /// Shape of each value; `None` before it is reached.
    shape: SecondaryMap<Value, Option<Shape>>,
    divergent_labels: SecondaryMap<Label, bool>,
    frames: Vec<Frame<'a>>,
    /// Initial and next value of each param of a loop.
    params: SecondaryMap<Value, Option<(Value, Value)>>,
    /// True if something at or before a loop header changed after it was used.
    again: bool,
    rounds: u32,
}

/// Merges the shapes of values that arrive over different uniform paths.
fn join(a: Option<Shape>, b: Option<Shape>) -> Option<Shape> {
    match (a, b) {
        (None, x) | (x, None) => x,
        (Some(x), Some(y)) if x == y => a,
        _ => Some(Shape::Varying),
    }
}

fn affine(steps: Steps) -> Shape {
    if steps.is_none() { Shape::Uniform } else { Shape::Affine(steps) }
}

impl<'a> Analysis<'a> {
    /// Joins a shape into a region value and returns true if that changed it.
    fn raise(&mut self, value: Value, shape: Option<Shape>) -> bool {
        let shape = if self.kept[value] { shape.map(|_| Shape::Varying) } else { shape };
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
            // Only the lanes of one arm continue.
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
            self.shape[result] = Some(if self.kept[result] { Shape::Varying } else { shape });
        }
    }

    /// Returns the shape of an operation's results.
    fn transfer(&self, op: &Op, args: &[Value]) -> Shape {
        let one_primitive = self.compared == ComparedInvocations::Primitive;
        match op.info().shape {
            ShapeRule::Uniform => Shape::Uniform,
            ShapeRule::Primitive if one_primitive => Shape::Uniform,
            ShapeRule::Input if one_primitive && self.is_flat_input(op) => Shape::Uniform,
            ShapeRule::Kernel if one_primitive => self.operands(args),
            // The number of a lane implies nothing about a primitive.
            ShapeRule::Lane | ShapeRule::Position if one_primitive => Shape::Varying,
            ShapeRule::Varying | ShapeRule::Primitive | ShapeRule::Input | ShapeRule::Kernel => Shape::Varying,
            ShapeRule::Operands => self.operands(args),
            ShapeRule::Lane => affine(Steps::even(1, self.lanes())),
            ShapeRule::Position => {
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

    /// Returns the shape of affine arithmetic, or `None` if the result is not affine.
    fn affine(&self, rule: AffineRule, a: Value, b: Value) -> Option<Shape> {
        let steps = |v: Value| match self.shape[v]? {
            Shape::Uniform => Some(Steps::default()),
            Shape::Affine(s) => Some(s),
            Shape::Varying => None,
        };
        let constant = |v: Value| self.shader.as_const(v).map(|bits| bits as u32 as i32);
        let (sa, sb) = (steps(a)?, steps(b)?);
        match rule {
            AffineRule::Sum => Some(affine(sa.map2(sb, i32::wrapping_add))),
            AffineRule::Difference => Some(affine(sa.map2(sb, i32::wrapping_sub))),
            AffineRule::Product => match (constant(a), constant(b)) {
                (_, Some(c)) => Some(affine(sa.map(|s| s.wrapping_mul(c)))),
                (Some(c), None) => Some(affine(sb.map(|s| s.wrapping_mul(c)))),
                (None, None) => None,
            },
            AffineRule::Bound => {
                let limit = constant(b)?;
                Binary::bound_stays_affine(sa.reach(), limit as u32).then(|| affine(sa))
            }
            AffineRule::Shift => constant(b).map(|c| affine(sa.map(|s| s.wrapping_shl(c as u32 & 31)))),
            AffineRule::Quotient | AffineRule::Mask if sa.is_none() && sb.is_none() => Some(Shape::Uniform),
            AffineRule::Quotient => {
                let by = constant(b)? as u32 & 31;
                self.of_own_bits(a, sa, |bits| bits >> by)
            }
            AffineRule::Mask => {
                let (v, steps, mask) = match (constant(a), constant(b)) {
                    (_, Some(mask)) => (a, sa, mask as u32),
                    (Some(mask), None) => (b, sb, mask as u32),
                    (None, None) => return None,
                };
                self.of_own_bits(v, steps, |bits| bits & mask)
            }
        }
    }

    /// Returns the shape of an operation that extracts bits, or `None` if it is not affine. It is
    /// affine if the lanes differ only in bits that are zero in the base; `f` computes the result
    /// for these bits.
    fn of_own_bits(&self, v: Value, steps: Steps, f: impl Fn(u32) -> u32) -> Option<Shape> {
        let own = |lane: u32| steps.at(lane as usize) as u32;
        let all = (0..self.lanes()).fold(0, |all, lane| all | own(lane));
        if u32::BITS - all.leading_zeros() > self.zeros(v, DEPTH) {
            return None;
        }
        Steps::new(self.lanes(), |lane| f(own(lane)) as i32).map(affine)
    }

    /// Returns the number of trailing zeros of a uniform value, or of an affine value's base, which
    /// is that of lane 0. Looks through at most `depth` operations.
    fn zeros(&self, v: Value, depth: u32) -> u32 {
        if let Some((init, next)) = self.params[v] {
            // The increment of a loop's counter.
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
            Op::Builtin(Builtin::LocalInvocationId(c)) => self.extent(c).map_or(0, |(_, own)| own.trailing_zeros()),
            Op::Builtin(Builtin::GlobalInvocationId(c)) => {
                let size = self.shader.stage_info.workgroup().map_or(1, |info| info.local_size[usize::from(c)]);
                self.extent(c).map_or(0, |(_, own)| own.trailing_zeros().min(size.trailing_zeros()))
            }
            Op::Binary(Binary::IAdd | Binary::ISub | Binary::Or | Binary::Xor) => zeros(0).min(zeros(1)),
            Op::Binary(Binary::IMul) => (zeros(0) + zeros(1)).min(32),
            Op::Binary(Binary::And) => zeros(0).max(zeros(1)),
            Op::Binary(Binary::Shl) => match self.shader.as_const(data.args[1]) {
                Some(by) => (zeros(0) + (by as u32 & 31)).min(32),
                None => 0,
            },
            Op::Binary(Binary::LShr) => match (self.shader.as_const(data.args[1]), zeros(0)) {
                (_, 32) => 32,
                (Some(by), low) => low.saturating_sub(by as u32 & 31),
                (None, _) => 0,
            },
            _ => 0,
        }
    }

    /// Returns the number of lanes of a shape; 1 for a primitive, whose fragments have no numbers.
    fn lanes(&self) -> u32 {
        match self.compared {
            ComparedInvocations::Lanes(lanes) => lanes,
            ComparedInvocations::Primitive => 1,
        }
    }

    /// Returns the shape of a component of the position in the workgroup.
    fn place(&self, component: u8) -> Shape {
        match self.extent(component) {
            Some((before, own)) => {
                let steps = Steps::new(self.lanes(), |lane| (lane / before % own) as i32);
                steps.map_or(Shape::Varying, affine)
            }
            None => Shape::Varying,
        }
    }

    /// Returns how many lanes a component's value stays the same, which is the extent of the
    /// components before it, and how many values it takes in a chunk. `None` if a chunk is not a
    /// block of the workgroup, that is, part of a row, whole rows, and so on. The chunk's first
    /// value is a multiple of these numbers.
    fn extent(&self, component: u8) -> Option<(u32, u32)> {
        let size = self.shader.stage_info.workgroup()?.local_size;
        let ComparedInvocations::Lanes(lanes) = self.compared else { return None };
        let mut before = 1;
        for c in 0..size.len() {
            let left = lanes / before;
            // There are no invocations behind the end of the last component.
            let last = size[c + 1..].iter().all(|&n| n == 1);
            let own = match size[c] {
                1 => 1,
                n if n % left == 0 || last => left,
                n if left % n == 0 => n,
                _ => return None,
            };
            if c == usize::from(component) {
                return Some((before, own));
            }
            before *= own;
        }
        None
    }
}
