//! The oracle: runs a shader over a group of lanes in lockstep, slowly and plainly.
//!
//! Control flow is executed under a mask, exactly as the structure prescribes. An If runs both arms
//! with the lanes that take them, a loop runs until no lane is left in it, and a break parks lanes
//! (with their results) at its label. With one lane this is a scalar interpreter. A whole workgroup
//! runs in one group, so barriers need no action. Derivatives use groups of four lanes (2×2),
//! subgroup operations groups of [`Group::subgroup`] lanes.
//!
//! Images are refused, because the kernels have their own tests.

#![forbid(unsafe_code)]

use base::abi::AtomicOp;
use base::limits::MAX_PATCH_VERTICES;
use jit::ir::eval::{self, eval};
use jit::ir::modes;
use jit::ir::{
    Binary, Builtin, Inst, InstData, Label, Node, Op, Region, Scan, Scope, Shader, Space, Subgroup, Term, Ty, Value,
};

/// Largest number of lanes of a group.
pub const MAX_GROUP: usize = 128;

/// Memory that the lanes access.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Buffers by (set, binding); several entries of one binding are an array, in order.
    pub buffers: Vec<((u32, u32), Vec<u8>)>,
    /// Push constants.
    pub push: Vec<u8>,
    /// Workgroup memory, which is grown to the shader's size.
    pub shared: Vec<u8>,
}

impl Memory {
    /// Returns the bytes of a buffer.
    pub fn buffer(&self, set: u32, binding: u32) -> Option<&[u8]> {
        self.buffers.iter().find(|b| b.0 == (set, binding)).map(|b| b.1.as_slice())
    }
}

/// Observer of a run, which checks what an analysis claims.
pub trait Observer {
    /// Reports that a value was defined for the lanes of the mask; `bits` are those of all lanes.
    fn value(&self, value: Value, bits: &[u64], mask: u128);
    /// Reports that lanes entered a loop or scope.
    fn enter(&self, label: Label, mask: u128);
    /// Reports that lanes left a loop or scope together: by one break, or by the yield of a scope.
    fn leave(&self, label: Label, mask: u128);
}

/// Function that runs the callable shader of a number on data.
pub type CallableShaders<'a> = &'a dyn Fn(u32, &mut [u32]);

/// A group of lanes, with the values that differ between lanes at entry.
pub struct Group<'a> {
    /// Number of lanes, 1..=[`MAX_GROUP`].
    pub lanes: usize,
    /// Number of lanes per subgroup.
    pub subgroup: usize,
    /// Function that returns the bits of a built-in value for a lane.
    pub builtin: &'a dyn Fn(Builtin, usize) -> u64,
    /// Inputs as `[slot][lane]`, or `[slot][vertex][lane]` in a stage of primitives.
    pub inputs: Vec<Vec<u32>>,
    /// Largest number of instructions executed (per group, not per lane).
    pub budget: u64,
    /// Callable shaders: the number of the shader, and the words of the data, which it changes.
    pub callable: Option<CallableShaders<'a>>,
    /// Observer that is called during the run.
    pub observer: Option<&'a dyn Observer>,
}

/// Results of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Outputs as `[slot][lane]`, or `[slot][vertex][lane]` in a stage of primitives, for the
    /// vertices that exist.
    pub outputs: Vec<Vec<u32>>,
    /// Number of vertices that each lane has made, in a stage of primitives.
    pub vertices: Vec<u32>,
    /// Mask of the lanes that were demoted.
    pub demoted: u128,
    /// Mask of the lanes that ended their ray.
    pub terminated: u128,
    /// Number of instructions executed.
    pub steps: u64,
}

/// Reason why a run stopped early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The budget is used up.
    Budget,
    /// The interpreter does not support this operation.
    Unsupported(String),
}

/// Runs one group.
pub fn run(shader: &Shader, memory: &mut Memory, group: &Group<'_>) -> Result<Outcome, Stop> {
    let lanes = group.lanes.min(MAX_GROUP);
    let shared = shader.stage_info.workgroup().map_or(0, |w| w.shared_bytes as usize);
    memory.shared.resize(memory.shared.len().max(shared), 0);
    let mut m = Machine {
        shader,
        memory,
        group,
        lanes,
        values: vec![0; shader.values.len() * lanes],
        vars: shader.vars.values().map(|v| vec![0; v.len as usize * lanes]).collect(),
        parked: vec![0; shader.labels as usize],
        targets: vec![&[]; shader.labels as usize],
        out: Outcome {
            outputs: vec![vec![0; lanes]; shader.outputs.len()],
            vertices: vec![0; if shader.stage().has_primitives() { lanes } else { 0 }],
            demoted: 0,
            terminated: 0,
            steps: 0,
        },
    };
    let all = u128::MAX >> (128 - lanes);
    m.scope(&shader.root, all)?;
    Ok(m.out)
}

/// Runs one workgroup of a compute shader (at most [`MAX_GROUP`] invocations).
pub fn run_workgroup(
    shader: &Shader,
    memory: &mut Memory,
    workgroup: [u32; 3],
    workgroups: [u32; 3],
    subgroup: usize,
    observer: Option<&dyn Observer>,
) -> Result<Outcome, Stop> {
    let info = shader.workgroup().map_err(|e| Stop::Unsupported(e.to_string()))?;
    let [x, y, z] = info.local_size;
    let lanes = (x * y * z) as usize;
    let local = |lane: usize, c: u8| match c {
        0 => lane as u32 % x,
        1 => lane as u32 / x % y,
        _ => lane as u32 / (x * y),
    };
    let builtin = |b: Builtin, lane: usize| {
        u64::from(match b {
            Builtin::LocalInvocationIndex => lane as u32,
            Builtin::LocalInvocationId(c) => local(lane, c),
            Builtin::GlobalInvocationId(c) => {
                workgroup[c as usize % 3] * info.local_size[c as usize % 3] + local(lane, c)
            }
            Builtin::WorkgroupId(c) => workgroup[c as usize % 3],
            Builtin::NumWorkgroups(c) => workgroups[c as usize % 3],
            Builtin::SubgroupInvocation => (lane % subgroup) as u32,
            Builtin::SubgroupSize => subgroup as u32,
            Builtin::SubgroupId => (lane / subgroup) as u32,
            Builtin::NumSubgroups => lanes.div_ceil(subgroup) as u32,
            Builtin::DrawIndex | Builtin::ViewIndex | Builtin::DeviceIndex => 0,
            // Built-ins that no compute stage has.
            Builtin::VertexIndex | Builtin::InstanceIndex | Builtin::BaseVertex | Builtin::BaseInstance => 0,
            Builtin::FragCoord(_) | Builtin::FrontFacing | Builtin::PointCoord(_) | Builtin::SampleId => 0,
            Builtin::SamplePosition(_) | Builtin::SampleMaskIn => 0,
            Builtin::HelperInvocation | Builtin::FullyCovered | Builtin::ShadingRate => 0,
            Builtin::PrimitiveId | Builtin::InvocationId | Builtin::Layer | Builtin::ViewportIndex => 0,
            Builtin::PatchVertices | Builtin::TessCoord(_) => 0,
        })
    };
    memory.shared.clear();
    run(
        shader,
        memory,
        &Group {
            lanes,
            subgroup,
            builtin: &builtin,
            inputs: Vec::new(),
            budget: 100_000_000,
            callable: None,
            observer,
        },
    )
}

struct Machine<'a, 'b> {
    shader: &'a Shader,
    memory: &'b mut Memory,
    group: &'b Group<'b>,
    lanes: usize,
    /// Bits as `[value][lane]`.
    values: Vec<u64>,
    /// Bits of elements as `[var][element][lane]`.
    vars: Vec<Vec<u64>>,
    /// Mask of the lanes that broke to each label.
    parked: Vec<u128>,
    /// Results of each open label.
    targets: Vec<&'a [Value]>,
    out: Outcome,
}

fn unsupported(op: &Op) -> Result<(), Stop> {
    Err(Stop::Unsupported(format!("{op:?}")))
}

fn bits(mut mask: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < 128).then_some(lane as usize)
    })
}

impl<'a> Machine<'a, '_> {
    fn get(&self, value: Value, lane: usize) -> u64 {
        self.values[value.as_u32() as usize * self.lanes + lane]
    }

    fn set(&mut self, value: Value, lane: usize, bits: u64) {
        self.values[value.as_u32() as usize * self.lanes + lane] = bits;
    }

    /// Copies values in parallel.
    fn flow(&mut self, args: &[Value], targets: &[Value], mask: u128) {
        for lane in bits(mask) {
            let values: Vec<u64> = args.iter().map(|&a| self.get(a, lane)).collect();
            for (&target, bits) in targets.iter().zip(values) {
                self.set(target, lane, bits);
            }
        }
    }

    fn observe(&self, values: &[Value], mask: u128) {
        let Some(observer) = self.group.observer else { return };
        for &value in values {
            let start = value.as_u32() as usize * self.lanes;
            observer.value(value, &self.values[start..start + self.lanes], mask);
        }
    }

    /// Runs a region, writes the values of the lanes that yield to `yields`, and returns these
    /// lanes.
    fn region(&mut self, region: &'a Region, mut mask: u128, yields: &[Value]) -> Result<u128, Stop> {
        for node in &region.nodes {
            if mask == 0 {
                return Ok(0);
            }
            match node {
                Node::Inst(inst) => self.inst(*inst, mask)?,
                Node::If(n) => {
                    let taken = bits(mask).filter(|&l| self.get(n.cond, l) != 0).fold(0, |m, l| m | 1 << l);
                    let then = self.region(&n.then, taken, &n.results)?;
                    let else_ = self.region(&n.else_, mask & !taken, &n.results)?;
                    mask = then | else_;
                    self.observe(&n.results, mask);
                }
                Node::Scope(n) => {
                    mask = self.scope(n, mask)?;
                    self.observe(&n.results, mask);
                }
                Node::Loop(n) => {
                    self.flow(&n.inits, &n.params, mask);
                    self.open(n.label, &n.results, mask);
                    while mask != 0 {
                        self.step()?;
                        self.observe(&n.params, mask);
                        mask = self.region(&n.body, mask, &n.params)?;
                    }
                    mask = self.parked[n.label.as_u32() as usize];
                    self.observe(&n.results, mask);
                }
            }
        }
        match &region.term {
            Term::Yield(args) => {
                self.flow(args, yields, mask);
                Ok(mask)
            }
            Term::Break(label, args) => {
                if let Some(observer) = self.group.observer {
                    observer.leave(*label, mask);
                }
                let label = label.as_u32() as usize;
                self.flow(args, self.targets[label], mask);
                self.parked[label] |= mask;
                Ok(0)
            }
            Term::Unreachable => Ok(0),
        }
    }

    fn open(&mut self, label: Label, results: &'a [Value], mask: u128) {
        if let Some(observer) = self.group.observer {
            observer.enter(label, mask);
        }
        self.parked[label.as_u32() as usize] = 0;
        self.targets[label.as_u32() as usize] = results;
    }

    fn scope(&mut self, n: &'a Scope, mask: u128) -> Result<u128, Stop> {
        self.open(n.label, &n.results, mask);
        let yielded = self.region(&n.body, mask, &n.results)?;
        if let Some(observer) = self.group.observer {
            observer.leave(n.label, yielded);
        }
        Ok(yielded | self.parked[n.label.as_u32() as usize])
    }

    fn step(&mut self) -> Result<(), Stop> {
        self.out.steps += 1;
        if self.out.steps > self.group.budget { Err(Stop::Budget) } else { Ok(()) }
    }

    fn inst(&mut self, inst: Inst, mask: u128) -> Result<(), Stop> {
        self.step()?;
        let shader = self.shader;
        let data = &shader.insts[inst];
        if !data.float.is_default() && matches!(data.op, Op::Ddx { .. } | Op::Ddy { .. }) {
            return Err(Stop::Unsupported(format!("{:?}{}", data.op, data.float)));
        }
        match &data.op {
            Op::Subgroup(op) => self.subgroup(*op, data, mask),
            Op::Ddx { fine } => self.derivative(data, mask, 1, *fine),
            Op::Ddy { fine } => self.derivative(data, mask, 2, *fine),
            Op::Demote => self.out.demoted |= mask,
            Op::TerminateRay => self.out.terminated |= mask,
            // The group runs in lockstep, so a barrier does nothing.
            Op::Barrier | Op::MemoryBarrier => {}
            // `lane_inst` refuses operations that involve several lanes.
            _ => bits(mask).try_for_each(|lane| self.lane_inst(data, lane))?,
        }
        if self.group.observer.is_some() {
            let results: Vec<Value> = data.results().collect();
            self.observe(&results, mask);
        }
        Ok(())
    }

    fn lane_inst(&mut self, data: &InstData, lane: usize) -> Result<(), Stop> {
        let mut args = [0u64; 8];
        for (slot, &arg) in args.iter_mut().zip(&data.args) {
            *slot = self.get(arg, lane);
        }
        let args = &args[..data.args.len().min(8)];
        let result = match &data.op {
            Op::Const(_) | Op::Unary(_) | Op::Binary(_) | Op::Cmp(_) | Op::Convert(_) | Op::Select | Op::Fma => {
                return self.arithmetic(data, args, lane);
            }
            Op::Ldexp | Op::Frexp | Op::IAddCarry | Op::ISubBorrow => return self.arithmetic(data, args, lane),
            Op::BitfieldInsert | Op::BitfieldSExtract | Op::BitfieldUExtract => {
                return self.arithmetic(data, args, lane);
            }
            Op::VarLoad(var) => {
                let at = self.element(var.as_u32(), args.first(), lane);
                self.vars[var.as_u32() as usize][at]
            }
            Op::VarStore(var) => {
                let index = if args.len() > 1 { args.first() } else { None };
                let at = self.element(var.as_u32(), index, lane);
                self.vars[var.as_u32() as usize][at] = args[args.len() - 1];
                return Ok(());
            }
            Op::BufferDesc { set, binding } => {
                let buffers = self.memory.buffers.iter().enumerate();
                let mut own = buffers.filter(|b| b.1.0 == (*set, *binding)).map(|b| b.0 as u64);
                let last = own.clone().next_back().unwrap_or(u64::MAX);
                own.nth(args[0] as usize).unwrap_or(last)
            }
            Op::BufferSize => self.bytes(Space::Buffer, args[0]).len() as u64,
            Op::ExecuteCallable => return self.call(data, lane),
            Op::Load(space, _) => return self.load(*space, data, args, lane),
            Op::Store(space, _) => return self.store(*space, data, args),
            Op::Atomic(space, op) => return self.atomic(*space, *op, data, args, lane),
            Op::LoadInput(slot, _) => {
                self.group.inputs.get(*slot as usize).and_then(|s| s.get(lane)).map_or(0, |&b| u64::from(b))
            }
            Op::StoreOutput(slot) => {
                self.out.outputs[*slot as usize][lane] = args[0] as u32;
                return Ok(());
            }
            Op::LoadVertex(slot) => {
                let most = MAX_PATCH_VERTICES;
                let last = self.shader.stage_info.geometry().map_or(most, |info| info.input.vertices()) - 1;
                let at = args[0].min(last.into()) as usize * self.lanes + lane;
                self.group.inputs.get(*slot as usize).and_then(|s| s.get(at)).map_or(0, |&b| u64::from(b))
            }
            Op::StoreVertex(slot) => {
                if self.shader.stage_info.geometry().is_none_or(|info| args[0] >= u64::from(info.max_vertices)) {
                    return Ok(());
                }
                let at = args[0] as usize * self.lanes + lane;
                let rows = &mut self.out.outputs[*slot as usize];
                rows.resize(rows.len().max(at + 1), 0);
                rows[at] = args[1] as u32;
                return Ok(());
            }
            Op::StoreVertexCount => {
                self.out.vertices[lane] = args[0] as u32;
                return Ok(());
            }
            Op::Builtin(b) => (self.group.builtin)(*b, lane),
            Op::IsHelper => {
                u64::from(self.out.demoted >> lane & 1 == 1) | (self.group.builtin)(Builtin::HelperInvocation, lane)
            }
            Op::ImageDesc { .. } | Op::SamplerDesc { .. } | Op::ImageQuery(_) => return unsupported(&data.op),
            Op::StructureDesc { .. } | Op::Clock | Op::RayQuery(..) => return unsupported(&data.op),
            Op::Sample(_)
            | Op::ImageFetch { .. }
            | Op::ImageResident { .. }
            | Op::ImageStore { .. }
            | Op::ImageAtomic { .. } => {
                return unsupported(&data.op);
            }
            Op::Subgroup(_) | Op::Ddx { .. } | Op::Ddy { .. } | Op::Barrier | Op::MemoryBarrier | Op::Demote => {
                return unsupported(&data.op);
            }
            Op::TraceRay | Op::ReportIntersection | Op::TraceHitObject => return unsupported(&data.op),
            Op::ExecuteHitObject | Op::Reorder | Op::ReadInstance => return unsupported(&data.op),
            Op::TerminateRay | Op::IgnoreIntersection => return unsupported(&data.op),
        };
        self.set(data.first_result, lane, result);
        Ok(())
    }

    fn call(&mut self, data: &InstData, lane: usize) -> Result<(), Stop> {
        let Some(callable) = self.group.callable else { return unsupported(&data.op) };
        let mut words: Vec<u32> = data.args.iter().map(|&arg| self.get(arg, lane) as u32).collect();
        let Some((shader, words)) = words.split_first_mut() else { return unsupported(&data.op) };
        callable(*shader, words);
        data.results().zip(words).for_each(|(result, word)| self.set(result, lane, u64::from(*word)));
        Ok(())
    }

    fn arithmetic(&mut self, data: &InstData, args: &[u64], lane: usize) -> Result<(), Stop> {
        let Some(bits) = modes::reference(self.shader, data, args) else { return unsupported(&data.op) };
        data.results().zip(bits).for_each(|(result, bits)| self.set(result, lane, bits));
        Ok(())
    }

    /// Returns the position of a variable's element, with the index clamped.
    fn element(&self, var: u32, index: Option<&u64>, lane: usize) -> usize {
        let len = self.vars[var as usize].len() / self.lanes;
        index.map_or(0, |&i| i as usize).min(len - 1) * self.lanes + lane
    }

    fn bytes(&mut self, space: Space, buffer: u64) -> &mut [u8] {
        match space {
            Space::Shared => &mut self.memory.shared,
            Space::Push => &mut self.memory.push,
            Space::Buffer | Space::Global => {
                self.memory.buffers.get_mut(buffer as usize).map_or(&mut [], |b| b.1.as_mut_slice())
            }
        }
    }

    /// Returns the buffer, the byte offset and the number of address operands.
    fn address(space: Space, args: &[u64]) -> Result<(u64, u64, usize), Stop> {
        match space {
            Space::Buffer => Ok((args[0], args[1], 2)),
            Space::Shared | Space::Push => Ok((0, args[0], 1)),
            Space::Global => Err(Stop::Unsupported("physical addresses".to_owned())),
        }
    }

    fn read(&mut self, space: Space, buffer: u64, offset: u64, bytes: u32) -> u64 {
        let memory = self.bytes(space, buffer);
        let Some(source) = memory.get(offset as usize..(offset + u64::from(bytes)) as usize) else { return 0 };
        source.iter().rev().fold(0, |acc, &b| acc << 8 | u64::from(b))
    }

    fn write(&mut self, space: Space, buffer: u64, offset: u64, bytes: u32, value: u64) {
        let memory = self.bytes(space, buffer);
        if let Some(target) = memory.get_mut(offset as usize..(offset + u64::from(bytes)) as usize) {
            target.copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
        }
    }

    fn load(&mut self, space: Space, data: &InstData, args: &[u64], lane: usize) -> Result<(), Stop> {
        let (buffer, offset, _) = Self::address(space, args)?;
        let bytes = self.shader.ty(data.first_result).bytes();
        // An access is in bounds as a whole or not at all.
        let ok = offset + u64::from(bytes) * u64::from(data.result_count) <= self.bytes(space, buffer).len() as u64;
        for (i, result) in data.results().enumerate() {
            if !ok {
                self.set(result, lane, 0);
                continue;
            }
            let value = self.read(space, buffer, offset + i as u64 * u64::from(bytes), bytes);
            self.set(result, lane, value);
        }
        Ok(())
    }

    fn store(&mut self, space: Space, data: &InstData, args: &[u64]) -> Result<(), Stop> {
        let (buffer, offset, first) = Self::address(space, args)?;
        let bytes = self.shader.ty(data.args[first]).bytes();
        if offset + u64::from(bytes) * (args.len() - first) as u64 > self.bytes(space, buffer).len() as u64 {
            return Ok(());
        }
        for (i, &value) in args[first..].iter().enumerate() {
            self.write(space, buffer, offset + i as u64 * u64::from(bytes), bytes, value);
        }
        Ok(())
    }

    fn atomic(&mut self, space: Space, op: AtomicOp, data: &InstData, args: &[u64], lane: usize) -> Result<(), Stop> {
        let (buffer, offset, first) = Self::address(space, args)?;
        let ty = match data.args.get(first) {
            Some(&value) => self.shader.ty(value),
            None => self.shader.ty(data.first_result),
        };
        let old = self.read(space, buffer, offset, ty.bytes());
        let operand = args.get(first).copied().unwrap_or(0);
        let comparator = args.get(first + 1).copied().unwrap_or(0);
        if let Some(new) = atomic_value(op, ty, old, operand, comparator) {
            self.write(space, buffer, offset, ty.bytes(), new);
        }
        if data.result_count > 0 {
            self.set(data.first_result, lane, old);
        }
        Ok(())
    }

    fn derivative(&mut self, data: &InstData, mask: u128, step: usize, fine: bool) {
        let ty = self.shader.ty(data.args[0]);
        for lane in bits(mask) {
            // Without `fine`, the other axis comes from the quad's first row or column.
            let keep = if fine { lane & 3 & !step } else { 0 };
            let near = (lane & !3) | keep;
            let far = (near | step).min(self.lanes - 1);
            let operands = [self.get(data.args[0], far), self.get(data.args[0], near)];
            let difference = eval(&Op::Binary(Binary::FSub), ty, ty, &operands);
            self.set(data.first_result, lane, difference.map_or(0, |d| d[0]));
        }
    }

    fn subgroup(&mut self, op: Subgroup, data: &InstData, mask: u128) {
        let size = self.group.subgroup.max(1);
        for start in (0..self.lanes).step_by(size) {
            let active: Vec<usize> = bits(mask).filter(|l| (start..start + size).contains(l)).collect();
            let Some(&first) = active.first() else { continue };
            let arg = |m: &Self, n: usize, lane: usize| {
                data.args.get(n).map_or(0, |&a| if lane < m.lanes { m.get(a, lane) } else { 0 })
            };
            if let Subgroup::Arithmetic(op, scan) = op {
                let values: Vec<u64> = (start..start + size).map(|l| arg(self, 0, l)).collect();
                let mask = mask >> start;
                let values = arithmetic(op, scan, self.shader.ty(data.first_result), &values, mask);
                active.iter().for_each(|&lane| self.set(data.first_result, lane, values[lane - start]));
                continue;
            }
            let ballot = active.iter().filter(|&&l| arg(self, 0, l) != 0).fold(0u64, |b, &l| b | 1 << (l - start));
            let values: Vec<u64> = active
                .iter()
                .map(|&lane| match op {
                    Subgroup::Elect => u64::from(lane == first),
                    Subgroup::All => u64::from(active.iter().all(|&l| arg(self, 0, l) != 0)),
                    Subgroup::Any => u64::from(ballot != 0),
                    Subgroup::AllEqual => u64::from(active.iter().all(|&l| arg(self, 0, l) == arg(self, 0, first))),
                    Subgroup::BroadcastFirst => arg(self, 0, first),
                    Subgroup::Ballot(word) => ballot.checked_shr(32 * u32::from(word)).unwrap_or(0) & 0xffff_ffff,
                    Subgroup::Broadcast | Subgroup::Shuffle => arg(self, 0, start + arg(self, 1, lane) as usize % size),
                    Subgroup::QuadBroadcast => arg(self, 0, (lane & !3) + (arg(self, 1, lane) as usize & 3)),
                    Subgroup::QuadSwapHorizontal => arg(self, 0, lane ^ 1),
                    Subgroup::QuadSwapVertical => arg(self, 0, lane ^ 2),
                    Subgroup::QuadSwapDiagonal => arg(self, 0, lane ^ 3),
                    Subgroup::Arithmetic(..) => 0,
                })
                .collect();
            for (&lane, value) in active.iter().zip(values) {
                self.set(data.first_result, lane, value);
            }
        }
    }
}

/// Evaluates `Subgroup::Arithmetic` on the values of a subgroup's lanes, in the order that [`Scan`]
/// defines.
fn arithmetic(op: Binary, scan: Scan, ty: Ty, values: &[u64], mask: u128) -> Vec<u64> {
    let identity = eval::identity(op, ty).unwrap_or(0);
    let join = |a: u64, b: u64| eval(&Op::Binary(op), ty, ty, &[a, b]).map_or(0, |r| r[0]);
    let mut x: Vec<u64> =
        values.iter().enumerate().map(|(l, &v)| if mask >> l & 1 == 1 { v } else { identity }).collect();
    let most = match scan {
        Scan::Cluster(n) => usize::from(n).min(x.len()),
        Scan::Reduce | Scan::Inclusive | Scan::Exclusive => x.len(),
    };
    let is_scan = matches!(scan, Scan::Inclusive | Scan::Exclusive);
    for step in (0..).map(|i| 1 << i).take_while(|&step| step < most) {
        let lane = |l: usize| match is_scan {
            true if l >= step => join(x[l - step], x[l]),
            true => join(identity, x[l]),
            false => join(x[l & !step], x[l | step]),
        };
        x = (0..x.len()).map(lane).collect();
    }
    if scan == Scan::Exclusive {
        x.insert(0, eval::exclusive_first(op, ty).unwrap_or(0));
    }
    x
}

/// Returns the value that an atomic operation stores, if it stores one.
fn atomic_value(op: AtomicOp, ty: Ty, old: u64, operand: u64, comparator: u64) -> Option<u64> {
    let op = match op {
        AtomicOp::Load => return None,
        AtomicOp::Exchange | AtomicOp::Store => return Some(operand),
        AtomicOp::CompareExchange => return (old == comparator).then_some(operand),
        AtomicOp::Add => Binary::IAdd,
        AtomicOp::Sub => Binary::ISub,
        AtomicOp::SMin => Binary::SMin,
        AtomicOp::UMin => Binary::UMin,
        AtomicOp::SMax => Binary::SMax,
        AtomicOp::UMax => Binary::UMax,
        AtomicOp::And => Binary::And,
        AtomicOp::Or => Binary::Or,
        AtomicOp::Xor => Binary::Xor,
        AtomicOp::FAdd => Binary::FAdd,
        AtomicOp::FMin => Binary::FMin,
        AtomicOp::FMax => Binary::FMax,
    };
    eval(&Op::Binary(op), ty, ty, &[old, operand]).map(|r| r[0])
}
