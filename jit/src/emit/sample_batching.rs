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
use super::kernel_rows::{KernelRows, ROW};
use super::memory::trusted;
use super::sample_hoisting::{COORDINATES, RESULTS, ROW_ALIGNMENT, is_plain_sample};
use super::value_rep::ValueRep;
use crate::error::{Error, Result};
use crate::ir::{Effects, Inst, InstData, Node, Op, Region, Shader, Space, Value};
use crate::lir::{AccessReason, Slot, Type, Value as C};
use crate::passes::{Divergence, Shape};
use base::abi::MAX_LANES;
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

/// Upper bound of the number of samples of a call, for which the rows stay in the first-level
/// cache.
const MAX_BATCH: usize = 16;
/// Upper bound of the distance of a sample from the first of its group, in instructions.
const MAX_DISTANCE: usize = 192;

/// Samples that are taken by one call.
#[derive(Clone, Debug)]
struct SampleBatch {
    members: SmallVec<[Inst; MAX_BATCH]>,
    /// Operations that compute the coordinates of all members but the first, in program order.
    coordinate_ops: Vec<Inst>,
    /// Rows of the results, and the number of members that have not read theirs.
    rows: Option<(Slot, usize)>,
}

/// The groups of a shader.
#[derive(Default)]
pub struct SampleBatches {
    groups: Vec<SampleBatch>,
    /// Group of each sample, and its index in the group.
    places: SecondaryMap<Inst, Option<(u32, u32)>>,
    /// Steps that have been emitted before their place in the program.
    done: SecondaryMap<Inst, bool>,
    /// Slots of rows that are no longer used.
    free: Vec<Slot>,
}

impl SampleBatches {
    /// Finds the groups, for chunks of `lanes` lanes, among the samples that `is_hoisted` does not
    /// contain.
    pub fn find(shader: &Shader, div: &Divergence, lanes: u32, is_hoisted: impl Fn(Inst) -> bool) -> SampleBatches {
        let mut out = SampleBatches::default();
        if lanes as usize >= MAX_LANES && shader.live_insts().any(|data| matches!(data.op, Op::Sample(_))) {
            BatchFinder { shader, div, is_hoisted: &is_hoisted, blocked_by: SecondaryMap::new(), out: &mut out }
                .region(&shader.root.body);
        }
        out
    }

    /// Returns true if an instruction was emitted before its place in the program.
    pub fn is_done(&self, inst: Inst) -> bool {
        self.done[inst]
    }
}

struct BatchFinder<'a> {
    shader: &'a Shader,
    div: &'a Divergence,
    is_hoisted: &'a dyn Fn(Inst) -> bool,
    /// Mark of the sample behind which a value must be computed; each sample has its own mark.
    blocked_by: SecondaryMap<Value, u32>,
    out: &'a mut SampleBatches,
}

impl BatchFinder<'_> {
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
        is_plain_sample(self.shader, info, data)
            && data.args[..2].iter().all(|&v| self.div.shape[v] == Shape::Uniform)
            && !(self.is_hoisted)(inst)
    }

    /// Returns true if two samples differ only in their coordinates.
    fn differ_only_in_coordinates(&self, a: Inst, b: Inst) -> bool {
        let [a, b] = [a, b].map(|inst| &self.shader.insts[inst]);
        let other = 2 + COORDINATES as usize;
        a.op == b.op && a.args[..2] == b.args[..2] && a.args[other..] == b.args[other..]
    }

    /// Makes the group of a first sample from the nodes that follow it.
    fn group(&mut self, first: Inst, behind: &[Node]) {
        let mark = first.as_u32() + 1;
        let mut members: SmallVec<[Inst; MAX_BATCH]> = SmallVec::from_slice(&[first]);
        let mut coordinate_ops = Vec::new();
        self.mark(first, mark);
        for node in behind.iter().take(MAX_DISTANCE) {
            let &Node::Inst(inst) = node else { break };
            let data = &self.shader.insts[inst];
            if data.op.effects().is_kept() || members.len() == MAX_BATCH {
                break;
            }
            let ready = data.args.iter().all(|&v| self.blocked_by[v] != mark);
            if ready && self.can_be_moved(data) {
                coordinate_ops.push(inst);
                continue;
            }
            if ready
                && self.is_sample(inst)
                && self.out.places[inst].is_none()
                && self.differ_only_in_coordinates(first, inst)
            {
                members.push(inst);
            }
            self.mark(inst, mark);
        }
        if members.len() > 1 {
            self.add_batch(members, coordinate_ops);
        }
    }

    /// Marks the results of an instruction as available only behind the group's call.
    fn mark(&mut self, inst: Inst, mark: u32) {
        self.shader.insts[inst].results().for_each(|v| self.blocked_by[v] = mark);
    }

    /// Returns true if an instruction may be emitted before its place, provided that nothing in
    /// between changes memory.
    fn can_be_moved(&self, data: &InstData) -> bool {
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

    fn add_batch(&mut self, members: SmallVec<[Inst; MAX_BATCH]>, mut coordinate_ops: Vec<Inst>) {
        let shader = self.shader;
        let mut needed: SecondaryMap<Value, bool> = SecondaryMap::new();
        let coordinates = |inst: Inst| shader.insts[inst].args[2..2 + COORDINATES as usize].iter();
        members[1..].iter().flat_map(|&inst| coordinates(inst)).for_each(|&v| needed[v] = true);
        coordinate_ops.reverse();
        coordinate_ops.retain(|&inst| {
            let data = &shader.insts[inst];
            let needs = data.results().any(|v| needed[v]);
            if needs {
                data.args.iter().for_each(|&v| needed[v] = true);
            }
            needs
        });
        coordinate_ops.reverse();
        let group = self.out.groups.len() as u32;
        for (i, &inst) in members.iter().enumerate() {
            self.out.places[inst] = Some((group, i as u32));
        }
        self.out.groups.push(SampleBatch { members, coordinate_ops, rows: None });
    }
}

impl Emitter<'_> {
    /// Defines the results of a sample that belongs to a group; returns false if it does not. The
    /// first sample of a group emits the call for all.
    pub fn take_batched_sample(&mut self, inst: Inst) -> Result<bool> {
        let Some((group, member)) = self.sample_batches.places[inst] else { return Ok(false) };
        let group = group as usize;
        if member == 0 {
            self.emit_sample_batch(group)?;
        }
        let Some((slot, left)) = &mut self.sample_batches.groups[group].rows else {
            return Err(Error::internal("a sample before the first of its group"));
        };
        *left -= 1;
        let (slot, last) = (*slot, *left == 0);
        let rows = self.batch_rows(slot);
        let first =
            self.max_batch_chunks() * ROW * COORDINATES + u64::from(member) * self.kernel_parts() * ROW * RESULTS;
        let data = &self.shader.insts[inst];
        for (i, v) in data.results().enumerate() {
            let places = KernelRows { first, per_chunk: RESULTS, row: i as u64 };
            let c = self.load_kernel_rows(self.shader.ty(v), rows, places, trusted(AccessReason::Frame, 0));
            self.define(v, ValueRep::Varying(c))?;
        }
        if last {
            self.sample_batches.free.push(slot);
        }
        Ok(true)
    }

    /// Computes the coordinates of a group and takes its samples.
    fn emit_sample_batch(&mut self, group: usize) -> Result<()> {
        let SampleBatch { members, coordinate_ops, .. } = self.sample_batches.groups[group].clone();
        for inst in coordinate_ops {
            if !self.sample_batches.done[inst] {
                self.inst(inst)?;
                self.sample_batches.done[inst] = true;
            }
        }
        let (parts, most) = (self.kernel_parts(), self.max_batch_chunks());
        let bytes = most * ROW * (COORDINATES + RESULTS) + ROW_ALIGNMENT;
        let slot = self.sample_batches.free.pop().unwrap_or_else(|| self.b.create_slot(bytes as u32, 4));
        let rows = self.batch_rows(slot);
        let shader = self.shader;
        for (i, &inst) in members.iter().enumerate() {
            for (c, &v) in shader.insts[inst].args[2..2 + COORDINATES as usize].iter().enumerate() {
                let v = self.vector(v)?;
                let first = i as u64 * parts * COORDINATES * ROW;
                let places = KernelRows { first, per_chunk: COORDINATES, row: c as u64 };
                self.store_kernel_rows(v, rows, places, AccessReason::Frame);
            }
        }
        let data = &shader.insts[members[0]];
        let Op::Sample(info) = &data.op else { return Err(Error::internal("a group of other than samples")) };
        let results = self.b.iadd_imm(rows, (most * ROW * COORDINATES) as i64);
        let count = self.b.iconst(Type::I32, (members.len() as u64 * parts) as i64);
        self.sample_chunks(info, data, [rows, results, count])?;
        self.sample_batches.groups[group].rows = Some((slot, members.len()));
        Ok(())
    }

    /// Returns the maximum number of kernel chunks in a group.
    fn max_batch_chunks(&self) -> u64 {
        MAX_BATCH as u64 * self.kernel_parts()
    }

    /// Returns the address of the rows, aligned to two rows.
    fn batch_rows(&mut self, slot: Slot) -> C {
        let address = self.b.stack_address(slot, 0);
        let address = self.b.iadd_imm(address, ROW_ALIGNMENT as i64 - 1);
        self.b.and_imm(address, -(ROW_ALIGNMENT as i64))
    }
}
