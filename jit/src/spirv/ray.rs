//! Stages of ray tracing: payloads, callable data, hit attributes and shader records, the
//! instructions that trace and call, and those that end an any-hit shader.
//!
//! A payload or callable data are a private variable. Its words are the last operands and the
//! results of a trace or call, and inputs and outputs of the stage that is called: every scalar
//! takes one word, or two, in the order of the type. The stages of both sides therefore agree on
//! the words if they agree on the type.

use super::generated::capabilities::Capability;
use super::module::{NO_MEMBER, View};
use super::opcodes::op;
use super::ray_frame::{data_slot, ray_slot, type_of_words};
use super::translator::Translator;
use super::types::Type;
use super::value::{Flat, Pointer, PointerTarget, Val};
use super::{class, deco};
use crate::error::{Error, Result};
use crate::ir::{Cmp, Convert, InterpolateAt, Op, Term, Ty, Value};
use base::limits::MAX_FRAME_WORDS;
use base::shader::{RayValue, Slot, SlotType, Stage, SuspendReason};

/// Ray flags that skip primitives, each with the capabilities of which one enables it.
/// `SkipBuiltinPrimitivesNV` is the other name of the first flag.
const SKIP_FLAGS: [(i64, &str, &[Capability]); 2] = [
    (
        0x100,
        "SkipTrianglesKHR",
        &[
            Capability::RayTraversalPrimitiveCullingKHR,
            Capability::RayTracingSpheresGeometryNV,
            Capability::RayTracingLinearSweptSpheresGeometryNV,
        ],
    ),
    (0x200, "SkipAABBsKHR", &[Capability::RayTraversalPrimitiveCullingKHR]),
];

impl Translator<'_> {
    /// Translates the end of an any-hit shader by OpIgnoreIntersectionKHR or OpTerminateRayKHR.
    pub fn end_any_hit(&mut self, op: Op) -> Result<Term> {
        let end = self.ray.end.ok_or_else(|| self.misplaced("end of an any-hit shader"))?;
        self.b.emit(op, &[], &[]);
        Ok(Term::Break(end, Vec::new()))
    }

    /// Translates OpVariable of a storage class of ray tracing.
    pub fn ray_variable(&mut self, v: View<'_>, to: u32) -> Result<Pointer> {
        let class = v.arg(0)?;
        let stages: &[Stage] = match class {
            class::RAY_PAYLOAD => &[Stage::RayGeneration, Stage::ClosestHit, Stage::Miss],
            class::INCOMING_RAY_PAYLOAD => &[Stage::AnyHit, Stage::ClosestHit, Stage::Miss],
            class::CALLABLE_DATA => &[Stage::RayGeneration, Stage::ClosestHit, Stage::Miss, Stage::Callable],
            class::INCOMING_CALLABLE_DATA => &[Stage::Callable],
            class::HIT_ATTRIBUTE => &[Stage::Intersection, Stage::AnyHit, Stage::ClosestHit],
            class::HIT_OBJECT_ATTRIBUTE_NV | class::HIT_OBJECT_ATTRIBUTE_EXT => {
                &[Stage::RayGeneration, Stage::ClosestHit, Stage::Miss]
            }
            _ => &[
                Stage::RayGeneration,
                Stage::AnyHit,
                Stage::ClosestHit,
                Stage::Miss,
                Stage::Intersection,
                Stage::Callable,
            ],
        };
        if !stages.contains(&self.stage) {
            return Err(self.misplaced("variable of such a storage class"));
        }
        if v.args.len() > 1 {
            return Err(Error::invalid("initialiser of a variable of ray tracing"));
        }
        if class == class::SHADER_RECORD_BUFFER {
            return self.shader_record(to);
        }
        let p = self.make_local(v.result, to, Vec::new())?;
        let words = self.words_of_type(to)?;
        match class {
            class::INCOMING_RAY_PAYLOAD | class::INCOMING_CALLABLE_DATA => {
                if self.ray.incoming.replace(p.clone()).is_some() {
                    return Err(Error::invalid("two incoming payloads of an entry point"));
                }
                let inputs = self.load_frame_words(words, data_slot);
                self.store_words(&p, &inputs)?;
                // Only what the shader itself stores is an output.
                if let PointerTarget::Local(place) = &p.place {
                    self.locals[place.local].vars.iter().for_each(|var| _ = self.touched.remove(var));
                }
            }
            class::HIT_ATTRIBUTE => {
                if words > RayValue::HitAttribute.words() {
                    return Err(Error::limit("hit attribute"));
                }
                if self.ray.attribute.replace(p.clone()).is_some() {
                    return Err(Error::invalid("two hit attributes of an entry point"));
                }
                if self.stage != Stage::Intersection {
                    let inputs = self.load_frame_words(words, |word| ray_slot(RayValue::HitAttribute, word));
                    self.store_words(&p, &inputs)?;
                }
            }
            _ => {}
        }
        Ok(p)
    }

    /// Checks the types of the built-ins that an input is or has as its members.
    pub fn check_ray_builtins(&self, variable: u32, ty: u32) -> Result<()> {
        let check = |target, member, ty| {
            let number = self.m.decoration_value(target, member, deco::BUILT_IN);
            let Some(value) = number.and_then(RayValue::of_builtin) else { return Ok(()) };
            let leaf = type_of_words(value);
            match self.s.is_ray_type(ty, value.elements(), value.words(), leaf)? {
                true => Ok(()),
                false => Err(Error::invalid("type of a built-in of ray tracing").with_id(variable)),
            }
        };
        check(variable, NO_MEMBER, ty)?;
        let Type::Struct(members) = self.s.ty(ty)? else { return Ok(()) };
        (0..).zip(members).try_for_each(|(i, &member)| check(ty, i, member))
    }

    /// Returns a pointer to the data of the shader binding table's record.
    fn shader_record(&mut self, to: u32) -> Result<Pointer> {
        let words = self.load_frame_words(2, |word| ray_slot(RayValue::ShaderRecord, word));
        let address = self.b.join(&words, Ty::I64);
        let mut p = self.physical_pointer(address, to);
        if let PointerTarget::Memory(m) = &mut p.place {
            m.readonly = true;
        }
        Ok(p)
    }

    /// Stores the incoming payload or callable data in the frame, if the shader may have changed
    /// them.
    pub fn store_incoming(&mut self) -> Result<()> {
        let Some(p) = self.ray.incoming.clone() else { return Ok(()) };
        let PointerTarget::Local(place) = &p.place else { return Ok(()) };
        let changed = self.locals[place.local].vars.iter().any(|var| self.touched.contains(var));
        if !changed {
            return Ok(());
        }
        for (word, v) in (0..).zip(self.load_words_of(&p)?) {
            self.b.shader.outputs.push(data_slot(word));
            self.b.emit(Op::StoreOutput(word), &[v], &[]);
        }
        Ok(())
    }

    /// Translates the instructions that trace and call.
    pub fn ray_op(&mut self, v: View<'_>) -> Result<()> {
        match v.op {
            op::OpTraceRayKHR => {
                let args = self.trace_operands(v, 0, false)?;
                self.trace_ray(args, v.arg(10)?)
            }
            op::OpTraceRayMotionNV => {
                let args = self.trace_operands(v, 0, true)?;
                self.trace_ray(args, v.arg(11)?)
            }
            op::OpTraceMotionNV => {
                let args = self.trace_operands(v, 0, true)?;
                let payload = self.payload_at(v.arg(11)?)?;
                self.trace_ray(args, payload)
            }
            op::OpExecuteCallableKHR => {
                let index = self.word(v.arg(0)?)?;
                let args = Flat::from_slice(&[index]);
                self.call_with(Op::ExecuteCallable, args, v.arg(1)?, class::CALLABLE_DATA).map(drop)
            }
            _ => self.report_intersection(v),
        }
    }

    fn trace_ray(&mut self, args: Flat, payload: u32) -> Result<()> {
        self.call_with(Op::TraceRay, args, payload, class::RAY_PAYLOAD).map(drop)
    }

    /// Returns the variable of a payload that has the constant number `id` as its location.
    fn payload_at(&mut self, id: u32) -> Result<u32> {
        let location = self.s.constant_int(id).and_then(|number| u32::try_from(number).ok());
        let m = self.m;
        for inst in m.globals.clone() {
            let v = m.view(inst);
            let is_payload = v.op == op::OpVariable && v.args.first() == Some(&class::RAY_PAYLOAD);
            let own = m.decoration_value(v.result, NO_MEMBER, deco::LOCATION);
            if is_payload && location.is_some() && own == location && self.get(v.result).is_ok() {
                return Ok(v.result);
            }
        }
        Err(Error::invalid("number of no payload").with_id(id))
    }

    /// Returns the operands of a trace, from that number on of an instruction. The ray's time
    /// follows the others, or is 0 for instructions without it.
    pub fn trace_operands(&mut self, v: View<'_>, first: usize, has_time: bool) -> Result<Flat> {
        self.check_ray_flags(v.arg(first + 1)?)?;
        let mut args = self.structure(v, first)?;
        for i in 1..6 {
            args.push(self.word(v.arg(first + i)?)?);
        }
        for (i, components) in [(6, 3), (7, 1), (8, 3), (9, 1)] {
            args.extend(self.ray_floats(v, first + i, components)?);
        }
        args.push(self.time(v, first + 10, has_time)?);
        Ok(args)
    }

    /// Returns the time that an operand has; 0 for instructions without it.
    pub fn time(&mut self, v: View<'_>, operand: usize, has_time: bool) -> Result<Value> {
        if has_time { Ok(self.ray_floats(v, operand, 1)?[0]) } else { Ok(self.b.konst(Ty::F32, 0)) }
    }

    /// Returns the words of an acceleration structure's address.
    pub fn structure(&mut self, v: View<'_>, i: usize) -> Result<Flat> {
        if !matches!(self.type_of(v.arg(i)?).and_then(|ty| self.s.ty(ty))?, Type::AccelerationStructure) {
            return Err(Error::invalid("trace of something else than an acceleration structure"));
        }
        let structure = self.operand1(v, i)?;
        Ok(self.b.split(structure, Ty::I32, 2))
    }

    /// Returns the components of an operand that describes a ray.
    pub fn ray_floats(&mut self, v: View<'_>, i: usize, components: usize) -> Result<Flat> {
        let floats = self.operand(v, i)?;
        if floats.len() != components || floats.iter().any(|&x| self.b.ty(x) != Ty::F32) {
            return Err(Error::invalid("ray of other types than floats of 32 bits"));
        }
        Ok(floats)
    }

    /// Checks the flags of a ray, if they are constant: those that skip primitives need a
    /// capability.
    pub fn check_ray_flags(&self, id: u32) -> Result<()> {
        let flags = self.s.constant_int(id).unwrap_or(0);
        for (flag, name, capabilities) in SKIP_FLAGS {
            let is_enabled = capabilities.iter().any(|&one| self.m.capabilities.contains(&(one as u32)));
            if flags & flag != 0 && !is_enabled {
                return Err(Error::invalid(format!("ray flag {name} without its capability")).with_id(id));
            }
        }
        Ok(())
    }

    /// Returns an operand that is a word.
    pub fn word(&mut self, id: u32) -> Result<Value> {
        let v = self.scalar(id)?;
        if self.b.ty(v) != Ty::I32 {
            return Err(Error::invalid("operand of another type than a word").with_id(id));
        }
        Ok(v)
    }

    /// Emits an operation that calls shaders with the variable `data`, of the storage class `own`
    /// or incoming. Returns the results behind the data.
    pub fn call_with(&mut self, op: Op, mut args: Flat, data: u32, own: u32) -> Result<Vec<Value>> {
        let stages: &[Stage] = match op {
            Op::TraceRay | Op::TraceHitObject | Op::ExecuteHitObject => {
                &[Stage::RayGeneration, Stage::ClosestHit, Stage::Miss]
            }
            _ => &[Stage::RayGeneration, Stage::ClosestHit, Stage::Miss, Stage::Callable],
        };
        if !stages.contains(&self.stage) {
            return Err(self.misplaced("call of a shader"));
        }
        let incoming =
            if own == class::RAY_PAYLOAD { class::INCOMING_RAY_PAYLOAD } else { class::INCOMING_CALLABLE_DATA };
        let variable = self.m.def(data)?;
        if variable.op != op::OpVariable || ![own, incoming].contains(&variable.arg(0)?) {
            return Err(Error::invalid("payload that is no such variable").with_id(data));
        }
        let Val::Ptr(p) = self.get(data)? else { return Err(Error::invalid("payload that is no pointer")) };
        let words = self.load_words_of(&p)?;
        let count = words.len();
        args.extend(words);
        let new_words = op.suspends().map_or(0, SuspendReason::new_words);
        let mut results = self.b.vals(op, &args, &vec![Ty::I32; count + new_words as usize]);
        let behind = results.split_off(count.min(results.len()));
        self.store_words(&p, &results)?;
        Ok(behind)
    }

    fn report_intersection(&mut self, v: View<'_>) -> Result<()> {
        if self.stage != Stage::Intersection {
            return Err(self.misplaced("report of an intersection"));
        }
        let mut args = match self.ray.attribute.clone() {
            Some(p) => self.load_words_of(&p)?,
            None => Flat::new(),
        };
        let (t, kind) = (self.operand1(v, 0)?, self.word(v.arg(1)?)?);
        if self.b.ty(t) != Ty::F32 {
            return Err(Error::invalid("distance of another type than a float of 32 bits"));
        }
        args.extend([t, kind]);
        let results = self.b.vals(Op::ReportIntersection, &args, &[Ty::F32, Ty::I32]);
        let &[t_max, accepted] = &results[..] else { return Err(Error::internal("results of a report")) };
        if let Some(var) = self.ray.t_max {
            self.b.store_var(var, None, t_max);
        }
        let accepted = self.b.bit_to_bool(accepted);
        self.result(v, Flat::from_slice(&[accepted]))
    }

    /// Returns the number of words of a type.
    pub fn words_of_type(&self, ty: u32) -> Result<u32> {
        let words = self.s.leaf_types(ty)?.iter().map(|ty| ty.bytes().div_ceil(4).max(1)).sum();
        if words > MAX_FRAME_WORDS {
            return Err(Error::limit(format!("{words} words of data for shaders")));
        }
        Ok(words)
    }

    /// Loads a variable as words.
    pub fn load_words_of(&mut self, p: &Pointer) -> Result<Flat> {
        self.words_of_type(p.ty)?;
        let Val::Flat(leaves) = self.load(p, false)? else { return Err(Error::invalid("payload of such a type")) };
        let mut words = Flat::new();
        for v in leaves {
            words.extend(self.leaf_words(v));
        }
        Ok(words)
    }

    /// Stores words in a variable.
    pub fn store_words(&mut self, p: &Pointer, mut words: &[Value]) -> Result<()> {
        let mut leaves = Flat::new();
        for ty in self.s.leaf_types(p.ty)? {
            let count = if ty.bytes() == 8 { 2 } else { 1 };
            let (leaf, rest) =
                words.split_at_checked(count).ok_or_else(|| Error::internal("too few words for a variable"))?;
            leaves.push(self.leaf_of_words(leaf, ty));
            words = rest;
        }
        self.store(p, leaves, false)
    }

    fn leaf_words(&mut self, v: Value) -> Flat {
        match self.b.ty(v) {
            Ty::B1 => {
                let [one, zero] = [1, 0].map(|bit| self.b.i32(bit));
                Flat::from_slice(&[self.b.select(v, one, zero)])
            }
            Ty::I64 | Ty::F64 => self.b.split(v, Ty::I32, 2),
            ty => {
                let bits = self.b.cvt(Convert::Bitcast, v, ty.integer());
                Flat::from_slice(&[self.b.cvt(Convert::UToU, bits, Ty::I32)])
            }
        }
    }

    fn leaf_of_words(&mut self, words: &[Value], ty: Ty) -> Value {
        match (ty, words) {
            (Ty::B1, &[word]) => {
                let zero = self.b.i32(0);
                self.b.cmp(Cmp::INe, word, zero)
            }
            (_, &[word]) => {
                let bits = self.b.cvt(Convert::UToU, word, ty.integer());
                self.b.cvt(Convert::Bitcast, bits, ty)
            }
            _ => self.b.join(words, ty),
        }
    }

    /// Creates the variable of the end of the ray's remaining interval, which reports change.
    pub fn load_t_max(&mut self) {
        let t_max = self.b.var(Ty::F32, 1, "RayTmaxKHR");
        let slot = self.input_slot(Slot { ty: SlotType::Float, ..ray_slot(RayValue::RayTmax, 0) });
        let first = self.b.val(Op::LoadInput(slot, InterpolateAt::Default), &[], Ty::F32);
        self.b.store_var(t_max, None, first);
        self.ray.t_max = Some(t_max);
    }
}
