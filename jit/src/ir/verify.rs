//! Structure, types and visibility: what every pass may rely on and must keep.
//!
//! * each value is defined at most once, and before each use in the same region or a region around it;
//! * yields and breaks give as many values, of the same types, as their target's results or params;
//! * breaks name an enclosing label; each label is used by one node;
//! * operands and results fit the operation ([`super::Op`]'s doc comments).

use super::{
    Binary, Cmp, Convert, If, ImageQuery, Inst, InstData, InterpolateAt, Label, Loop, Node, Op, Region, SampleInfo,
    Scan, Scope, Shader, Space, Subgroup, Term, Ty, Unary, Value, Var,
};
use base::abi::{AtomicOp, LodMode, SampleOp};
use cranelift_entity::{EntityRef, SecondaryMap};

/// Checks a shader; the error names the value, label or instruction that breaks a rule.
pub fn verify(shader: &Shader) -> Result<(), String> {
    let mut v = Verifier {
        shader,
        visible: SecondaryMap::new(),
        defined: SecondaryMap::new(),
        placed: SecondaryMap::new(),
        labels: vec![false; shader.labels as usize],
        open: Vec::new(),
    };
    if !shader.root.results.is_empty() {
        return Err("the root scope has results".to_owned());
    }
    v.scope(&shader.root)
}

struct Verifier<'a> {
    shader: &'a Shader,
    visible: SecondaryMap<Value, bool>,
    defined: SecondaryMap<Value, bool>,
    placed: SecondaryMap<Inst, bool>,
    labels: Vec<bool>,
    /// Enclosing break targets with their result types.
    open: Vec<(Label, &'a [Value])>,
}

type Check = Result<(), String>;

impl<'a> Verifier<'a> {
    fn define(&mut self, value: Value, log: &mut Vec<Value>) -> Check {
        if value.index() >= self.shader.values.len() {
            return Err(format!("{value} does not exist"));
        }
        if std::mem::replace(&mut self.defined[value], true) {
            return Err(format!("{value} is defined twice"));
        }
        self.visible[value] = true;
        log.push(value);
        Ok(())
    }

    fn use_(&self, value: Value, what: &dyn Fn() -> String) -> Result<Ty, String> {
        if value.index() >= self.shader.values.len() || !self.visible[value] {
            return Err(format!("{}: {value} is not visible here", what()));
        }
        Ok(self.shader.ty(value))
    }

    fn flow(&self, args: &[Value], targets: &[Value], what: &dyn Fn() -> String) -> Check {
        if args.len() != targets.len() {
            return Err(format!("{}: {} values for {} targets", what(), args.len(), targets.len()));
        }
        for (&arg, &target) in args.iter().zip(targets) {
            let ty = self.use_(arg, what)?;
            if ty != self.shader.ty(target) {
                return Err(format!("{}: {arg} is {ty}, {target} is {}", what(), self.shader.ty(target)));
            }
        }
        Ok(())
    }

    /// `yields`: what a Yield of this region defines.
    fn region(&mut self, region: &'a Region, yields: &[Value], mut log: Vec<Value>) -> Check {
        for node in &region.nodes {
            self.node(node, &mut log)?;
        }
        match &region.term {
            Term::Yield(args) => self.flow(args, yields, &|| "yield".to_owned())?,
            Term::Break(label, args) => match self.open.iter().rev().find(|o| o.0 == *label) {
                Some(&(_, results)) => self.flow(args, results, &|| format!("break {label}"))?,
                None => return Err(format!("break {label}: not inside it")),
            },
            Term::Unreachable => {}
        }
        for value in log {
            self.visible[value] = false;
        }
        Ok(())
    }

    fn node(&mut self, node: &'a Node, log: &mut Vec<Value>) -> Check {
        match node {
            Node::Inst(inst) => self.inst(*inst, log),
            Node::If(n) => {
                self.if_(n)?;
                n.results.iter().try_for_each(|&r| self.define(r, log))
            }
            Node::Loop(n) => {
                self.loop_(n)?;
                n.results.iter().try_for_each(|&r| self.define(r, log))
            }
            Node::Scope(n) => {
                self.scope(n)?;
                n.results.iter().try_for_each(|&r| self.define(r, log))
            }
        }
    }

    fn if_(&mut self, n: &'a If) -> Check {
        if self.use_(n.cond, &|| "if".to_owned())? != Ty::B1 {
            return Err(format!("if: {} is not a boolean", n.cond));
        }
        self.region(&n.then, &n.results, Vec::new())?;
        self.region(&n.else_, &n.results, Vec::new())
    }

    fn loop_(&mut self, n: &'a Loop) -> Check {
        self.enter(n.label, &n.results)?;
        self.flow(&n.inits, &n.params, &|| format!("loop {}", n.label))?;
        let mut log = Vec::new();
        n.params.iter().try_for_each(|&p| self.define(p, &mut log))?;
        self.region(&n.body, &n.params, log)?;
        self.open.pop();
        Ok(())
    }

    fn scope(&mut self, n: &'a Scope) -> Check {
        self.enter(n.label, &n.results)?;
        self.region(&n.body, &n.results, Vec::new())?;
        self.open.pop();
        Ok(())
    }

    fn enter(&mut self, label: Label, results: &'a [Value]) -> Check {
        match self.labels.get_mut(label.index()) {
            None => return Err(format!("{label} was never given out")),
            Some(used) if *used => return Err(format!("{label} is used twice")),
            Some(used) => *used = true,
        }
        self.open.push((label, results));
        Ok(())
    }

    fn inst(&mut self, inst: Inst, log: &mut Vec<Value>) -> Check {
        if inst.index() >= self.shader.insts.len() || std::mem::replace(&mut self.placed[inst], true) {
            return Err(format!("{inst} does not exist or is placed twice"));
        }
        let data = &self.shader.insts[inst];
        let what = || format!("{inst} {:?} (%{})", data.op, data.source);
        let args = data.args.iter().map(|&a| self.use_(a, &what)).collect::<Result<Vec<Ty>, _>>()?;
        for result in data.results() {
            self.define(result, log)?;
        }
        let results: Vec<Ty> = data.results().map(|r| self.shader.ty(r)).collect();
        if !self.fits(data, &args, &results) {
            return Err(format!("{}: wrong types {args:?} -> {results:?}", what()));
        }
        Ok(())
    }

    fn fits(&self, data: &InstData, args: &[Ty], results: &[Ty]) -> bool {
        use Ty::{B1, Buf, F32, I32, Img, Smp};
        let shader = self.shader;
        match &data.op {
            Op::Const(bits) => args.is_empty() && matches!(results, &[t] if const_fits(t, *bits)),
            Op::Unary(op) => matches!((args, results), (&[a], &[r]) if unary_fits(*op, a, r)),
            Op::Binary(op) => matches!((args, results), (&[a, b], &[r]) if a == b && a == r && binary_fits(*op, a)),
            Op::Cmp(op) => matches!((args, results), (&[a, b], &[B1]) if a == b && cmp_fits(*op, a)),
            Op::Convert(op) => matches!((args, results), (&[a], &[r]) if convert_fits(*op, a, r)),
            Op::Select => matches!((args, results), (&[B1, a, b], &[r]) if a == b && a == r),
            Op::Fma => matches!((args, results), (&[a, b, c], &[r]) if a.is_float() && a == b && b == c && a == r),
            Op::Ldexp => matches!((args, results), (&[a, I32], &[r]) if a.is_float() && a == r),
            Op::Frexp => matches!((args, results), (&[a], &[r, I32]) if a.is_float() && a == r),
            Op::IAddCarry | Op::ISubBorrow => args == [I32, I32] && results == [I32, I32],
            Op::BitfieldInsert => {
                matches!((args, results), (&[a, b, I32, I32], &[r]) if a.is_int() && a == b && a == r)
            }
            Op::BitfieldSExtract | Op::BitfieldUExtract => {
                matches!((args, results), (&[a, I32, I32], &[r]) if a.is_int() && a == r)
            }
            Op::VarLoad(var) => self.var_fits(*var, args, results, None),
            Op::VarStore(var) => self.var_fits(*var, args, results, args.last()),
            Op::BufferDesc { .. } => args == [I32] && results == [Buf],
            Op::ImageDesc { .. } => args == [I32] && results == [Img],
            Op::SamplerDesc { .. } => args == [I32] && results == [Smp],
            Op::Load(space, _) => address(*space, args) == Some(&[]) && elements(results),
            Op::Store(space, _) => {
                *space != Space::Push && results.is_empty() && address(*space, args).is_some_and(elements)
            }
            Op::Atomic(space, op) => *space != Space::Push && atomic_fits(*op, address(*space, args), results),
            Op::BufferSize => args == [Buf] && results == [I32],
            Op::LoadInput(slot, at) => {
                let extra: &[Ty] = match at {
                    InterpolateAt::Offset => &[F32, F32],
                    InterpolateAt::AtSample => &[I32],
                    _ => &[],
                };
                (*slot as usize) < shader.inputs.len() && args == extra && matches!(results, [I32 | F32])
            }
            Op::StoreOutput(slot) => {
                (*slot as usize) < shader.outputs.len() && matches!(args, [I32 | F32]) && results.is_empty()
            }
            Op::Builtin(_) => args.is_empty() && matches!(results, [I32 | F32 | B1]),
            Op::Sample(info) => sample_fits(info, args, results),
            Op::ImageFetch { coords, level, sample } => {
                let ints = usize::from(*coords) + usize::from(*level) + usize::from(*sample);
                args.first() == Some(&Img) && args[1..].len() == ints && all(&args[1..], I32) && texel(results, 4)
            }
            Op::ImageStore { coords, sample } => {
                let ints = usize::from(*coords) + usize::from(*sample);
                results.is_empty()
                    && args.len() == 1 + ints + 4
                    && args[0] == Img
                    && all(&args[1..1 + ints], I32)
                    && texel(&args[1 + ints..], 4)
            }
            Op::ImageAtomic { op, coords, sample } => {
                let ints = usize::from(*coords) + usize::from(*sample);
                args.len() > ints
                    && args[0] == Img
                    && all(&args[1..1 + ints], I32)
                    && atomic_fits(*op, Some(&args[1 + ints..]), results)
            }
            Op::ImageQuery(query) => {
                let level =
                    args.len() == 2 && args[1] == I32 && !matches!(query, ImageQuery::Levels | ImageQuery::Samples);
                args.first() == Some(&Img) && (args.len() == 1 || level) && results == [I32]
            }
            Op::Ddx { .. } | Op::Ddy { .. } => matches!((args, results), (&[a], &[r]) if a.is_float() && a == r),
            Op::Subgroup(op) => subgroup_fits(*op, args, results),
            Op::Barrier | Op::MemoryBarrier | Op::Demote => args.is_empty() && results.is_empty(),
            Op::IsHelper => args.is_empty() && results == [B1],
        }
    }

    /// `value`: type of the stored value; None for a load.
    fn var_fits(&self, var: Var, args: &[Ty], results: &[Ty], value: Option<&Ty>) -> bool {
        let Some(data) = self.shader.vars.get(var) else { return false };
        let indices = &args[..args.len() - usize::from(value.is_some())];
        let index_fits = if data.len > 1 { indices == [Ty::I32] } else { indices.is_empty() };
        let value_fits = match value {
            Some(&ty) => ty == data.ty && results.is_empty(),
            None => results == [data.ty],
        };
        index_fits && value_fits && !matches!(data.ty, Ty::Buf | Ty::Img | Ty::Smp)
    }
}

fn all(types: &[Ty], ty: Ty) -> bool {
    types.iter().all(|&t| t == ty)
}

/// `n` components of one texel type.
fn texel(types: &[Ty], n: usize) -> bool {
    types.len() == n && (all(types, Ty::I32) || all(types, Ty::F32) || all(types, Ty::I64))
}

/// 1 to 4 elements of one memory type.
fn elements(types: &[Ty]) -> bool {
    matches!(types.len(), 1..=4) && types[0].bytes() != 0 && all(types, types[0])
}

/// The operands behind the address, if the address operands fit the space.
fn address(space: Space, args: &[Ty]) -> Option<&[Ty]> {
    let address: &[Ty] = match space {
        Space::Buffer => &[Ty::Buf, Ty::I32],
        Space::Shared | Space::Push => &[Ty::I32],
        Space::Global => &[Ty::I64],
    };
    args.strip_prefix(address)
}

fn atomic_fits(op: AtomicOp, operands: Option<&[Ty]>, results: &[Ty]) -> bool {
    let memory = |ty: Ty| matches!(ty, Ty::I32 | Ty::F32 | Ty::I64 | Ty::F64);
    let Some(operands) = operands else { return false };
    match (op, operands, results) {
        (AtomicOp::Load, &[], &[r]) => memory(r),
        (AtomicOp::Store, &[v], &[]) => memory(v),
        (AtomicOp::CompareExchange, &[v, c], &[r]) => memory(r) && v == r && c == r,
        (AtomicOp::Load | AtomicOp::Store | AtomicOp::CompareExchange, ..) => false,
        (_, &[v], &[r]) => memory(r) && v == r,
        _ => false,
    }
}

fn const_fits(ty: Ty, bits: u64) -> bool {
    match ty {
        Ty::B1 => bits <= 1,
        Ty::Buf | Ty::Img | Ty::Smp => false,
        _ => ty.bytes() == 8 || bits >> (ty.bytes() * 8) == 0,
    }
}

fn unary_fits(op: Unary, a: Ty, r: Ty) -> bool {
    match op {
        Unary::BitCount => a.is_int() && r == Ty::I32,
        Unary::Not => (a.is_int() || a == Ty::B1) && a == r,
        Unary::INeg | Unary::BitReverse | Unary::FindLsb | Unary::FindSMsb | Unary::FindUMsb => a.is_int() && a == r,
        _ => a.is_float() && a == r,
    }
}

fn binary_fits(op: Binary, ty: Ty) -> bool {
    match op {
        Binary::And | Binary::Or | Binary::Xor => ty.is_int() || ty == Ty::B1,
        Binary::FAdd
        | Binary::FSub
        | Binary::FMul
        | Binary::FDiv
        | Binary::FMin
        | Binary::FMax
        | Binary::FRem
        | Binary::FMod
        | Binary::Pow
        | Binary::Atan2 => ty.is_float(),
        _ => ty.is_int(),
    }
}

fn cmp_fits(op: Cmp, ty: Ty) -> bool {
    match op {
        Cmp::IEq | Cmp::INe => ty.is_int() || ty == Ty::B1,
        Cmp::SLt | Cmp::SLe | Cmp::ULt | Cmp::ULe => ty.is_int(),
        _ => ty.is_float(),
    }
}

fn convert_fits(op: Convert, a: Ty, r: Ty) -> bool {
    match op {
        Convert::FToS | Convert::FToU => a.is_float() && r.is_int(),
        Convert::SToF | Convert::UToF => a.is_int() && r.is_float(),
        Convert::FToF | Convert::FToFRtz => a.is_float() && r.is_float(),
        Convert::UToU | Convert::SToS => a.is_int() && r.is_int(),
        Convert::Bitcast => a.bytes() != 0 && a.bytes() == r.bytes(),
        Convert::BToI => a == Ty::B1 && r == Ty::I32,
    }
}

fn sample_fits(info: &SampleInfo, args: &[Ty], results: &[Ty]) -> bool {
    let floats_before_offset =
        usize::from(info.coords) + usize::from(info.dref) + usize::from(info.lod) + 2 * usize::from(info.grad);
    let offset = usize::from(info.offset);
    let count = floats_before_offset + offset + usize::from(info.min_lod);
    if args.len() != 2 + count || args[..2] != [Ty::Img, Ty::Smp] || (info.lod_mode == LodMode::Grad) != (info.grad > 0)
    {
        return false;
    }
    let (floats, rest) = args[2..].split_at(floats_before_offset);
    let (offsets, min_lod) = rest.split_at(offset);
    let results_fit = match info.op {
        SampleOp::Sample | SampleOp::Gather | SampleOp::GatherDref => texel(results, 4),
        SampleOp::SampleDref => texel(results, 1),
        SampleOp::QueryLod => texel(results, 2),
    };
    all(floats, Ty::F32) && all(offsets, Ty::I32) && all(min_lod, Ty::F32) && results_fit
}

fn subgroup_fits(op: Subgroup, args: &[Ty], results: &[Ty]) -> bool {
    match (op, args, results) {
        (Subgroup::Elect, &[], &[Ty::B1]) => true,
        (Subgroup::All | Subgroup::Any, &[Ty::B1], &[Ty::B1]) => true,
        (Subgroup::AllEqual, &[_], &[Ty::B1]) => true,
        (Subgroup::Ballot, &[Ty::B1], &[Ty::I32]) => true,
        (Subgroup::Broadcast | Subgroup::Shuffle | Subgroup::QuadBroadcast, &[a, Ty::I32], &[r]) => a == r,
        (
            Subgroup::BroadcastFirst
            | Subgroup::QuadSwapHorizontal
            | Subgroup::QuadSwapVertical
            | Subgroup::QuadSwapDiagonal,
            &[a],
            &[r],
        ) => a == r,
        (Subgroup::Arithmetic(op, scan), &[a], &[r]) => {
            let cluster = !matches!(scan, Scan::Cluster(n) if !n.is_power_of_two());
            a == r && a.bytes() >= 4 && binary_fits(op, a) && super::eval::identity(op, a).is_some() && cluster
        }
        _ => false,
    }
}
