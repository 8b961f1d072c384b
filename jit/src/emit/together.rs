//! Sample batching: samples of one view that lie close together in the program are taken by one
//! call.
//!
//! A sample is a long chain of operations, from its coordinates to its result. A processor overlaps
//! several samples if little code lies between them. In a run of instructions without effects that
//! samples several times through the same descriptors, all coordinates are therefore computed
//! first. A helper then calls the kernel for one sample after the other, and each finds its results
//! in rows of the frame.
//!
//! Only operations that have no effect and read nothing that could change are moved forward, so the
//! program's results are the same.

use super::Emitter;
use super::early::{COORDINATES, KernelRows, LINE, RESULTS, ROW, is_plain};
use super::memory::trusted;
use super::rep::Rep;
use crate::error::{Error, Result};
use crate::ir::{Effects, Inst, InstData, Node, Op, Region, Shader, Space, Value};
use crate::lir::{Reason, Slot, Type, Value as C};
use crate::passes::{Divergence, Shape};
use base::abi::MAX_LANES;
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

/// Upper bound of the number of samples of a call, for which the rows stay in the first-level
/// cache.
const MOST: usize = 16;
/// Upper bound of the distance of a sample from the first of its group, in instructions.
const NEAR: usize = 192;

/// Samples that are taken by one call.
#[derive(Clone, Debug)]
struct Group {
    members: SmallVec<[Inst; MOST]>,
    /// Operations that compute the coordinates of all members but the first, in program order.
    steps: Vec<Inst>,
    /// Rows of the results, and the number of members that have not read theirs.
    rows: Option<(Slot, usize)>,
}

/// The groups of a shader.
#[derive(Default)]
pub struct Together {
    groups: Vec<Group>,
    /// Group of each sample, and its index in the group.
    places: SecondaryMap<Inst, Option<(u32, u32)>>,
    /// Steps that have been emitted before their place in the program.
    done: SecondaryMap<Inst, bool>,
    /// Slots of rows that are no longer used.
    free: Vec<Slot>,
}

impl Together {
    /// Finds the groups, for chunks of `lanes` lanes, among the samples that `taken` does not
    /// contain.
    pub fn of(shader: &Shader, div: &Divergence, lanes: u32, taken: impl Fn(Inst) -> bool) -> Together {
        let mut out = Together::default();
        if lanes as usize >= MAX_LANES && shader.insts.values().any(|data| matches!(data.op, Op::Sample(_))) {
            Finder { shader, div, taken: &taken, late: SecondaryMap::new(), out: &mut out }.region(&shader.root.body);
        }
        out
    }

    /// Returns true if an instruction was emitted before its place in the program.
    pub fn is_done(&self, inst: Inst) -> bool {
        self.done[inst]
    }
}

struct Finder<'a> {
    shader: &'a Shader,
    div: &'a Divergence,
    taken: &'a dyn Fn(Inst) -> bool,
    /// Mark of the sample behind which a value must be computed; each sample has its own mark.
    late: SecondaryMap<Value, u32>,
    out: &'a mut Together,
}

impl Finder<'_> {
    fn region(&mut self, region: &Region) {
        for (i, node) in region.nodes.iter().enumerate() {
            match node {
                Node::Inst(inst) if self.is_sample(*inst) && self.out.places[*inst].is_none() => {
                    self.group(*inst, &region.nodes[i + 1..]);
                }
                Node::Inst(_) => {}
                Node::If(n) => [&n.then, &n.else_].into_iter().for_each(|r| self.region(r)),
                Node::Loop(n) => self.region(&n.body),
                Node::Scope(n) => self.region(&n.body),
            }
        }
    }

    /// Returns true for a plain sample through descriptors that all lanes share.
    fn is_sample(&self, inst: Inst) -> bool {
        let data = &self.shader.insts[inst];
        let Op::Sample(info) = &data.op else { return false };
        is_plain(self.shader, info, data)
            && data.args[..2].iter().all(|&v| self.div.shape[v] == Shape::Uniform)
            && !(self.taken)(inst)
    }

    /// Returns true if two samples differ only in their coordinates.
    fn alike(&self, a: Inst, b: Inst) -> bool {
        let [a, b] = [a, b].map(|inst| &self.shader.insts[inst]);
        let other = 2 + COORDINATES as usize;
        a.op == b.op && a.args[..2] == b.args[..2] && a.args[other..] == b.args[other..]
    }

    /// Makes the group of a first sample from the nodes that follow it.
    fn group(&mut self, first: Inst, behind: &[Node]) {
        let mark = first.as_u32() + 1;
        let mut members: SmallVec<[Inst; MOST]> = SmallVec::from_slice(&[first]);
        let mut steps = Vec::new();
        self.mark(first, mark);
        for node in behind.iter().take(NEAR) {
            let &Node::Inst(inst) = node else { break };
            let data = &self.shader.insts[inst];
            if data.op.effects().is_kept() || members.len() == MOST {
                break;
            }
            let ready = data.args.iter().all(|&v| self.late[v] != mark);
            if ready && self.is_step(data) {
                steps.push(inst);
                continue;
            }
            if ready && self.is_sample(inst) && self.out.places[inst].is_none() && self.alike(first, inst) {
                members.push(inst);
            }
            self.mark(inst, mark);
        }
        if members.len() > 1 {
            self.keep(members, steps);
        }
    }

    /// Marks the results of an instruction as available only behind the group's call.
    fn mark(&mut self, inst: Inst, mark: u32) {
        self.shader.insts[inst].results().for_each(|v| self.late[v] = mark);
    }

    /// Returns true if an instruction may be emitted before its place, provided that nothing in
    /// between changes memory.
    fn is_step(&self, data: &InstData) -> bool {
        match data.op {
            Op::LoadInput(..) | Op::Builtin(_) | Op::BufferDesc { .. } => true,
            // Loads at varying addresses are excluded, because they may be loaded together with
            // their neighbours.
            Op::Load(Space::Push | Space::Buffer, flags) => {
                !flags.volatile && data.args.iter().all(|&v| self.div.shape[v] == Shape::Uniform)
            }
            _ => data.op.effects() == Effects::NONE && data.result_count == 1,
        }
    }

    fn keep(&mut self, members: SmallVec<[Inst; MOST]>, mut steps: Vec<Inst>) {
        let shader = self.shader;
        let mut needed: SecondaryMap<Value, bool> = SecondaryMap::new();
        let coordinates = |inst: Inst| shader.insts[inst].args[2..2 + COORDINATES as usize].iter();
        members[1..].iter().flat_map(|&inst| coordinates(inst)).for_each(|&v| needed[v] = true);
        steps.reverse();
        steps.retain(|&inst| {
            let data = &shader.insts[inst];
            let needs = data.results().any(|v| needed[v]);
            if needs {
                data.args.iter().for_each(|&v| needed[v] = true);
            }
            needs
        });
        steps.reverse();
        let group = self.out.groups.len() as u32;
        for (i, &inst) in members.iter().enumerate() {
            self.out.places[inst] = Some((group, i as u32));
        }
        self.out.groups.push(Group { members, steps, rows: None });
    }
}

impl Emitter<'_> {
    /// Defines the results of a sample that belongs to a group; returns false if it does not. The
    /// first sample of a group emits the call for all.
    pub fn take_together(&mut self, inst: Inst) -> Result<bool> {
        let Some((group, member)) = self.together.places[inst] else { return Ok(false) };
        let group = group as usize;
        if member == 0 {
            self.sample_group(group)?;
        }
        let Some((slot, left)) = &mut self.together.groups[group].rows else {
            return Err(Error::internal("a sample before the first of its group"));
        };
        *left -= 1;
        let (slot, last) = (*slot, *left == 0);
        let rows = self.group_rows(slot);
        let first = self.most_chunks() * ROW * COORDINATES + u64::from(member) * self.kernel_parts() * ROW * RESULTS;
        let data = &self.shader.insts[inst];
        for (i, v) in data.results().enumerate() {
            let places = KernelRows { first, per_chunk: RESULTS, row: i as u64 };
            let c = self.load_kernel_rows(self.shader.ty(v), rows, places, trusted(Reason::Frame, 0));
            self.define(v, Rep::Varying(c))?;
        }
        if last {
            self.together.free.push(slot);
        }
        Ok(true)
    }

    /// Computes the coordinates of a group and takes its samples.
    fn sample_group(&mut self, group: usize) -> Result<()> {
        let Group { members, steps, .. } = self.together.groups[group].clone();
        for inst in steps {
            if !self.together.done[inst] {
                self.inst(inst)?;
                self.together.done[inst] = true;
            }
        }
        let (parts, most) = (self.kernel_parts(), self.most_chunks());
        let bytes = most * ROW * (COORDINATES + RESULTS) + LINE;
        let slot = self.together.free.pop().unwrap_or_else(|| self.b.create_slot(bytes as u32, 4));
        let rows = self.group_rows(slot);
        let shader = self.shader;
        for (i, &inst) in members.iter().enumerate() {
            for (c, &v) in shader.insts[inst].args[2..2 + COORDINATES as usize].iter().enumerate() {
                let v = self.vector(v)?;
                let first = i as u64 * parts * COORDINATES * ROW;
                let places = KernelRows { first, per_chunk: COORDINATES, row: c as u64 };
                self.store_kernel_rows(v, rows, places, Reason::Frame);
            }
        }
        let data = &shader.insts[members[0]];
        let Op::Sample(info) = &data.op else { return Err(Error::internal("a group of other than samples")) };
        let results = self.b.iadd_imm(rows, (most * ROW * COORDINATES) as i64);
        let count = self.b.iconst(Type::I32, (members.len() as u64 * parts) as i64);
        self.sample_chunks(info, data, [rows, results, count])?;
        self.together.groups[group].rows = Some((slot, members.len()));
        Ok(())
    }

    /// Returns the maximum number of kernel chunks in a group.
    fn most_chunks(&self) -> u64 {
        MOST as u64 * self.kernel_parts()
    }

    /// Returns the address of the rows, aligned to two rows.
    fn group_rows(&mut self, slot: Slot) -> C {
        let address = self.b.stack_address(slot, 0);
        let address = self.b.iadd_imm(address, LINE as i64 - 1);
        self.b.and_imm(address, -(LINE as i64))
    }
}
