//! Load vectorizer: several loads of one element each that are side by side in a buffer for every
//! lane become one access, if all of it is in range.
//!
//! The plan is made before emission. Within a stretch of instructions without effects, loads whose
//! offsets differ by constants of less than four elements join the first of them. Each element is
//! checked separately, so an access that is partly out of range goes lane by lane. Elements of
//! several components join if all of them and all lanes lie side by side.

use super::Emitter;
use super::contiguous::MAX_COMPONENTS;
use super::element_run::ElementRun;
use super::memory::trusted;
use super::value_rep::{BufferRange, ValueRep};
use crate::error::Result;
use crate::ir::{Binary, Effects, Inst, MemFlags, Node, Op, Region, Shader, Space, Ty, Value, ValueDef};
use crate::lir::{Access, AccessReason, Type, Value as C};
use crate::passes::{Divergence, Shape, Steps};
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

/// Upper bound of the number of elements of a group.
const MAX_GROUP: u32 = 4;
/// Number of open groups that are compared with each load.
const MAX_OPEN_GROUPS: usize = 8;

/// A load, and the distance of its element from that of the leader.
pub type Member = (Inst, u32);

/// Role of a load in the plan.
#[derive(Clone, Default)]
enum LoadRole {
    #[default]
    Single,
    /// The load reads for these members, of which it is the first.
    Leader(SmallVec<[Member; 4]>),
    Follower,
}

/// The plan of a shader's loads.
pub struct VectorizedLoads {
    roles: SecondaryMap<Inst, LoadRole>,
    lanes: u32,
}

/// Address of a load without its constant part: the buffer, and the operands of the offset.
#[derive(Clone, Copy, PartialEq, Eq)]
struct LoadAddress {
    space: Space,
    flags: MemFlags,
    ty: Ty,
    /// Number of components of an element.
    n: u32,
    /// Offsets of the lanes relative to lane 0, for elements of several components.
    steps: Option<Steps>,
    buffer: Option<Value>,
    root: Value,
    /// Limit and scale of a bounded index.
    index: Option<(u64, u32)>,
}

struct LoadGroup {
    address: LoadAddress,
    start: u32,
    members: SmallVec<[Member; 4]>,
}

impl VectorizedLoads {
    /// Makes the plan for a shader.
    pub fn plan(shader: &Shader, div: &Divergence, lanes: u32) -> VectorizedLoads {
        let mut out = VectorizedLoads { roles: SecondaryMap::new(), lanes };
        out.region(shader, div, &shader.root.body);
        out
    }

    /// Returns true if an earlier load has loaded the value of this one.
    pub fn is_follower(&self, inst: Inst) -> bool {
        matches!(self.roles[inst], LoadRole::Follower)
    }

    /// Returns the loads that a load reads for, if it leads a group.
    pub fn group_led_by(&self, inst: Inst) -> Option<&[Member]> {
        match &self.roles[inst] {
            LoadRole::Leader(members) => Some(members),
            LoadRole::Single | LoadRole::Follower => None,
        }
    }

    fn region(&mut self, shader: &Shader, div: &Divergence, region: &Region) {
        let mut open: Vec<LoadGroup> = Vec::new();
        for node in &region.nodes {
            match node {
                Node::Inst(inst) => {
                    let op = &shader.insts[*inst].op;
                    if op.suspends().is_some() || op.effects().intersects(Effects::WRITES | Effects::ORDERS) {
                        self.close_groups(&mut open);
                    } else if let Some((address, at)) = load_address(shader, div, self.lanes, *inst) {
                        self.add(&mut open, *inst, address, at);
                    }
                    continue;
                }
                Node::If(n) => [&n.then, &n.else_].into_iter().for_each(|r| self.region(shader, div, r)),
                Node::Loop(n) => self.region(shader, div, &n.body),
                Node::Scope(n) => self.region(shader, div, &n.body),
            }
            self.close_groups(&mut open);
        }
        self.close_groups(&mut open);
    }

    fn add(&mut self, open: &mut Vec<LoadGroup>, inst: Inst, address: LoadAddress, at: u32) {
        let bytes = address.ty.bytes() * address.n;
        let element = |g: &LoadGroup| (at.wrapping_sub(g.start) / bytes, at.wrapping_sub(g.start) % bytes);
        let most = MAX_GROUP.min(MAX_COMPONENTS / address.n);
        let fits = |g: &&mut LoadGroup| g.address == address && element(g).0 < most && element(g).1 == 0;
        match open.iter_mut().find(fits) {
            Some(group) => {
                let member = (inst, element(group).0);
                group.members.push(member);
            }
            None => {
                if open.len() == MAX_OPEN_GROUPS {
                    let oldest = open.remove(0);
                    self.assign_roles(oldest);
                }
                open.push(LoadGroup { address, start: at, members: SmallVec::from_slice(&[(inst, 0)]) });
            }
        }
    }

    fn close_groups(&mut self, open: &mut Vec<LoadGroup>) {
        open.drain(..).for_each(|group| self.assign_roles(group));
    }

    fn assign_roles(&mut self, group: LoadGroup) {
        let last = group.members.iter().map(|m| m.1).max().unwrap_or(0);
        let LoadAddress { ty, n, steps, .. } = group.address;
        let is_contiguous = |steps: Steps| steps.is_even(((last + 1) * n * ty.bytes()) as i32, self.lanes);
        if last == 0 || steps.is_some_and(|steps| !(last + 1).is_power_of_two() || !is_contiguous(steps)) {
            return;
        }
        group.members.iter().skip(1).for_each(|m| self.roles[m.0] = LoadRole::Follower);
        let leader = group.members[0].0;
        self.roles[leader] = LoadRole::Leader(group.members);
    }
}

/// Returns the origin of a load of one element per lane, and its constant offset. Returns `None`
/// for loads with a better form: one element for all lanes, or adjacent lanes side by side.
fn load_address(shader: &Shader, div: &Divergence, lanes: u32, inst: Inst) -> Option<(LoadAddress, u32)> {
    let data = &shader.insts[inst];
    let Op::Load(space, flags) = data.op else { return None };
    let (buffer, offset) = match space {
        Space::Buffer if div.shape[data.args[0]] == Shape::Uniform => (Some(data.args[0]), data.args[1]),
        Space::Shared => (None, data.args[0]),
        Space::Buffer | Space::Push | Space::Global => return None,
    };
    let (ty, n) = (shader.ty(data.results().next()?), u32::from(data.result_count));
    let has_better_form = match div.shape[offset] {
        Shape::Uniform => true,
        Shape::Affine(steps) => steps.is_even((n * ty.bytes()) as i32, lanes),
        Shape::Varying => n != 1,
    };
    if !n.is_power_of_two()
        || n > MAX_COMPONENTS
        || flags.volatile
        || has_better_form
        || ty.bytes() > 4
        || n > 1 && ty.bytes() != 4
    {
        return None;
    }
    let steps = match div.shape[offset] {
        Shape::Affine(steps) if n != 1 => Some(steps),
        _ => None,
    };
    let operation = |v: Value| match shader.values[v].def {
        ValueDef::Inst(inst, _) => match shader.insts[inst].op {
            Op::Binary(op) => Some((op, shader.insts[inst].args[0], shader.insts[inst].args[1])),
            _ => None,
        },
        ValueDef::Region => None,
    };
    let constant = |v: Value| shader.as_const(v).map(|bits| bits as u32);
    let sum = |v: Value| match operation(v) {
        Some((Binary::IAdd, a, b)) => constant(b).map_or((v, 0), |b| (a, b)),
        _ => (v, 0),
    };
    let (scaled, plus) = sum(offset);
    let bounded = match operation(scaled) {
        Some((Binary::IMul, a, b)) => constant(b).map(|scale| (a, scale)),
        Some((Binary::Shl, a, b)) => constant(b).map(|by| (a, 1 << (by & 31))),
        _ => Some((scaled, 1)),
    };
    let index = bounded.and_then(|(v, scale)| match operation(v) {
        Some((Binary::Bound, index, limit)) => Some((index, shader.as_const(limit)?, scale)),
        _ => None,
    });
    let base = LoadAddress { space, flags, ty, n, steps, buffer, root: scaled, index: None };
    Some(match index {
        // An offset that the bound changes is out of range with and without the constant.
        Some((index, limit, scale)) => {
            let (root, more) = sum(index);
            (LoadAddress { root, index: Some((limit, scale)), ..base }, plus.wrapping_add(more.wrapping_mul(scale)))
        }
        None => (base, plus),
    })
}

impl Emitter<'_> {
    /// Loads the elements of a group at the offset of its leader.
    pub fn load_group(
        &mut self,
        pair: BufferRange,
        offset: Value,
        ty: Ty,
        members: &[Member],
        access: Access,
    ) -> Result<()> {
        let last = members.iter().map(|m| m.1).max().unwrap_or(0) as usize;
        let per = usize::from(self.shader.insts[members[0].0].result_count);
        // Three elements have no load of their own and are loaded as four; the same holds for two
        // elements of one byte.
        let elements = if last == 1 && ty.bytes() > 1 { 2 } else { 4 };
        let run = ElementRun { ty, n: per * elements, unit: per as u32 * ty.bytes() };
        let rep = self.value_rep(offset)?;
        let words = match rep {
            ValueRep::Affine(base, steps) => {
                let at = (base, self.offset_i64(offset, base)?);
                if run.is_contiguous(steps, self.lanes.count()) {
                    self.load_contiguous(pair, at, run, access)?
                } else {
                    self.load_strided(pair, at, steps, run, access)?
                }
            }
            _ => self.gather_group(pair, offset, &rep, run, access)?,
        };
        for &(inst, element) in members {
            let own = words.iter().skip(element as usize * per);
            for (result, &word) in self.shader.insts[inst].results().zip(own) {
                self.define(result, ValueRep::Varying(word))?;
            }
        }
        Ok(())
    }

    fn gather_group(
        &mut self,
        pair: BufferRange,
        offset: Value,
        rep: &ValueRep,
        run: ElementRun,
        access: Access,
    ) -> Result<Vec<C>> {
        let (vector, n) = (self.vector_type(run.ty), run.n);
        let offsets = self.gather_offsets(offset, rep)?;
        let exact = self.rep_to_vector(Ty::I32, rep)?;
        let ok = self.in_range_mask(pair, offsets, run.bytes());
        let wanted = if self.lanes.is_full() {
            ok
        } else {
            let exec = self.exec_mask();
            let others = self.b.not(exec);
            self.b.or(ok, others)
        };
        let (fast, slow, done) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        let params: Vec<C> = (0..n).map(|_| self.b.append_param(done, vector)).collect();
        let all = self.b.all(wanted);
        self.b.branch(all, fast, &[], slow, &[]);
        self.enter(fast);
        let words = self.b.gather(vector, access, n, ok, pair.address, offsets);
        self.b.jump(done, &words);
        self.enter(slow);
        let words = self.load_by_offset(pair, exact, run, access);
        self.b.jump(done, &words);
        self.enter(done);
        Ok(params)
    }

    /// Loads the elements at each lane's offset; each element is checked separately.
    pub fn load_by_offset(&mut self, pair: BufferRange, offsets: C, run: ElementRun, access: Access) -> Vec<C> {
        let (rows, last) = (self.lane_rows(), trusted(AccessReason::Frame, self.row_bytes() * MAX_GROUP as i32));
        self.b.store(last, offsets, rows);
        let lanes = self.begin_lanes();
        let words = self.lane_column(rows, &lanes, 4);
        let offset = self.b.load(Type::I32, last, words);
        let column = self.lane_column(rows, &lanes, run.ty.bytes());
        self.load_column(pair, offset, column, run, access);
        self.end_lanes(&lanes);
        self.load_rows(rows, run)
    }
}
