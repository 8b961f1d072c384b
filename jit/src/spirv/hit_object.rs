//! Hit objects and the reordering of invocations (SPV_EXT_shader_invocation_reorder and
//! SPV_NV_shader_invocation_reorder).
//!
//! A hit object has no value that moves: instructions take pointers to variables. A variable is
//! that of its words ([`HitObjectField`]), so that words that nothing reads are removed. Those that
//! live across a call wait in the frame of the invocation.

use super::class;
use super::module::View;
use super::opcodes::op;
use super::translator::Translator;
use super::types::Type;
use super::value::{Flat, LocalTarget, Pointer, PointerTarget};
use crate::error::{Error, Result};
use crate::ir::{Binary, Cmp, Convert, Op, RayQueryOp, Ty, Value};
use base::abi::RayGetter;
use base::shader::{
    HitObjectField as Field, HitObjectKind as Kind, InstanceWord, LSS_HIT_KIND, RayValue, SPHERE_HIT_KIND, Stage,
    TRIANGLE_HIT_KINDS,
};

/// Source of a getter's result.
#[derive(Clone, Copy)]
enum Source {
    /// A boolean that is true for hit objects of this kind.
    Is(Kind),
    /// A field, whose scalars have this type.
    Field(Field, Ty),
    /// A value of the built-in primitive that is hit.
    Primitive(RayValue),
    /// A boolean that is true for hits of this kind.
    IsHitOf(u32),
    /// The origin or the direction of the ray in the space of the instance, with the fourth
    /// component of its vector.
    ObjectSpace(Field, f32),
    /// Address of the data of the record.
    Record,
}

/// Getters.
const GETTERS: &[(&[u16], Source)] = &[
    (&[op::OpHitObjectIsEmptyEXT, op::OpHitObjectIsEmptyNV], Source::Is(Kind::Empty)),
    (&[op::OpHitObjectIsMissEXT, op::OpHitObjectIsMissNV], Source::Is(Kind::Miss)),
    (&[op::OpHitObjectIsHitEXT, op::OpHitObjectIsHitNV], Source::Is(Kind::Hit)),
    (&[op::OpHitObjectGetRayFlagsEXT], Source::Field(Field::RayFlags, Ty::I32)),
    (&[op::OpHitObjectGetRayTMinEXT, op::OpHitObjectGetRayTMinNV], Source::Field(Field::RayTmin, Ty::F32)),
    (&[op::OpHitObjectGetRayTMaxEXT, op::OpHitObjectGetRayTMaxNV], Source::Field(Field::RayTmax, Ty::F32)),
    (
        &[op::OpHitObjectGetWorldRayOriginEXT, op::OpHitObjectGetWorldRayOriginNV],
        Source::Field(Field::WorldRayOrigin, Ty::F32),
    ),
    (
        &[op::OpHitObjectGetWorldRayDirectionEXT, op::OpHitObjectGetWorldRayDirectionNV],
        Source::Field(Field::WorldRayDirection, Ty::F32),
    ),
    (
        &[op::OpHitObjectGetObjectRayOriginEXT, op::OpHitObjectGetObjectRayOriginNV],
        Source::ObjectSpace(Field::WorldRayOrigin, 1.0),
    ),
    (
        &[op::OpHitObjectGetObjectRayDirectionEXT, op::OpHitObjectGetObjectRayDirectionNV],
        Source::ObjectSpace(Field::WorldRayDirection, 0.0),
    ),
    (
        &[op::OpHitObjectGetObjectToWorldEXT, op::OpHitObjectGetObjectToWorldNV],
        Source::Field(Field::ObjectToWorld, Ty::F32),
    ),
    (
        &[op::OpHitObjectGetWorldToObjectEXT, op::OpHitObjectGetWorldToObjectNV],
        Source::Field(Field::WorldToObject, Ty::F32),
    ),
    (
        &[op::OpHitObjectGetIntersectionTriangleVertexPositionsEXT],
        Source::Primitive(RayValue::HitTriangleVertexPositions),
    ),
    (&[op::OpHitObjectGetSpherePositionNV], Source::Primitive(RayValue::HitSpherePosition)),
    (&[op::OpHitObjectGetSphereRadiusNV], Source::Primitive(RayValue::HitSphereRadius)),
    (&[op::OpHitObjectGetLSSPositionsNV], Source::Primitive(RayValue::HitLssPositions)),
    (&[op::OpHitObjectGetLSSRadiiNV], Source::Primitive(RayValue::HitLssRadii)),
    (&[op::OpHitObjectIsSphereHitNV], Source::IsHitOf(SPHERE_HIT_KIND)),
    (&[op::OpHitObjectIsLSSHitNV], Source::IsHitOf(LSS_HIT_KIND)),
    (
        &[op::OpHitObjectGetPrimitiveIndexEXT, op::OpHitObjectGetPrimitiveIndexNV],
        Source::Field(Field::PrimitiveId, Ty::I32),
    ),
    (
        &[op::OpHitObjectGetGeometryIndexEXT, op::OpHitObjectGetGeometryIndexNV],
        Source::Field(Field::RayGeometryIndex, Ty::I32),
    ),
    (&[op::OpHitObjectGetInstanceIdEXT, op::OpHitObjectGetInstanceIdNV], Source::Field(Field::InstanceId, Ty::I32)),
    (
        &[op::OpHitObjectGetInstanceCustomIndexEXT, op::OpHitObjectGetInstanceCustomIndexNV],
        Source::Field(Field::InstanceCustomIndex, Ty::I32),
    ),
    (&[op::OpHitObjectGetHitKindEXT, op::OpHitObjectGetHitKindNV], Source::Field(Field::HitKind, Ty::I32)),
    (
        &[op::OpHitObjectGetShaderBindingTableRecordIndexEXT, op::OpHitObjectGetShaderBindingTableRecordIndexNV],
        Source::Field(Field::RecordIndex, Ty::I32),
    ),
    (&[op::OpHitObjectGetShaderRecordBufferHandleEXT, op::OpHitObjectGetShaderRecordBufferHandleNV], Source::Record),
    (
        &[op::OpHitObjectGetCurrentTimeEXT, op::OpHitObjectGetCurrentTimeNV],
        Source::Field(Field::CurrentRayTime, Ty::F32),
    ),
];

impl Source {
    /// Returns the number of elements of the result, which is 1 if it is no array, and the number
    /// and the type of its scalars.
    fn shape(self) -> (u32, u32, Ty) {
        match self {
            Source::Is(_) | Source::IsHitOf(_) => (1, 1, Ty::B1),
            Source::Field(field, leaf) => (1, field.words(), leaf),
            Source::Primitive(value) => (value.elements(), value.words(), Ty::F32),
            Source::ObjectSpace(..) => (1, 3, Ty::F32),
            Source::Record => (1, 2, Ty::I32),
        }
    }
}

/// Returns true for instructions on hit objects and those that reorder invocations.
pub(super) fn is_hit_object_op(number: u16) -> bool {
    matches!(
        number,
        op::OpHitObjectRecordHitMotionNV..=op::OpReorderThreadWithHintNV
            | op::OpHitObjectRecordFromQueryEXT..=op::OpHitObjectTraceMotionReorderExecuteEXT
            | op::OpReorderThreadWithHintEXT..=op::OpHitObjectGetRayTMaxEXT
            | op::OpHitObjectGetRayTMinEXT..=op::OpHitObjectIsMissEXT
            | op::OpHitObjectGetSpherePositionNV..=op::OpHitObjectIsLSSHitNV
    )
}

/// Operands of the ray in an instruction that records one.
struct RecordedRay {
    /// Number of the first operand.
    origin: usize,
    /// True if the ray's time follows the other operands.
    has_time: bool,
}

impl Translator<'_> {
    /// Translates an instruction on a hit object, or one that reorders invocations.
    pub fn hit_object_op(&mut self, v: View<'_>) -> Result<()> {
        if ![Stage::RayGeneration, Stage::ClosestHit, Stage::Miss].contains(&self.stage) {
            return Err(self.misplaced("hit object"));
        }
        if let Some((_, source)) = GETTERS.iter().find(|(numbers, _)| numbers.contains(&v.op)) {
            let flat = self.hit_object_getter(v, *source)?;
            return self.result(v, flat);
        }
        match v.op {
            op::OpReorderThreadWithHintEXT | op::OpReorderThreadWithHintNV => return self.reorder(None, v, 0),
            op::OpReorderThreadWithHitObjectEXT | op::OpReorderThreadWithHitObjectNV => {
                let object = self.hit_object(v.arg(0)?)?;
                return self.reorder(Some(object), v, 1);
            }
            _ => {}
        }
        let object = self.hit_object(v.arg(0)?)?;
        match v.op {
            op::OpHitObjectRecordEmptyEXT | op::OpHitObjectRecordEmptyNV => self.record_kind(object, Kind::Empty),
            op::OpHitObjectRecordMissEXT | op::OpHitObjectRecordMissMotionEXT => {
                let (flags, index) = (self.word(v.arg(1)?)?, self.word(v.arg(2)?)?);
                let has_time = v.op == op::OpHitObjectRecordMissMotionEXT;
                self.record_miss(v, object, flags, index, &RecordedRay { origin: 3, has_time })
            }
            op::OpHitObjectRecordMissNV | op::OpHitObjectRecordMissMotionNV => {
                let (flags, index) = (self.b.i32(0), self.word(v.arg(1)?)?);
                let has_time = v.op == op::OpHitObjectRecordMissMotionNV;
                self.record_miss(v, object, flags, index, &RecordedRay { origin: 2, has_time })
            }
            op::OpHitObjectRecordFromQueryEXT => self.record_from_query(v, object),
            op::OpHitObjectRecordHitNV
            | op::OpHitObjectRecordHitWithIndexNV
            | op::OpHitObjectRecordHitMotionNV
            | op::OpHitObjectRecordHitWithIndexMotionNV => self.record_hit(v, object),
            op::OpHitObjectSetShaderBindingTableRecordIndexEXT => {
                let index = self.word(v.arg(1)?)?;
                self.set_field(object, Field::RecordIndex, &[index])
            }
            op::OpHitObjectGetAttributesEXT | op::OpHitObjectGetAttributesNV => {
                let words = self.field(object, Field::HitAttribute)?;
                let (p, count) = self.hit_attribute(v.arg(1)?)?;
                self.store_words(&p, &words[..count])
            }
            op::OpHitObjectTraceRayEXT | op::OpHitObjectTraceRayNV => self.trace_hit_object(v, object, false).map(drop),
            op::OpHitObjectTraceRayMotionEXT | op::OpHitObjectTraceRayMotionNV => {
                self.trace_hit_object(v, object, true).map(drop)
            }
            op::OpHitObjectExecuteShaderEXT | op::OpHitObjectExecuteShaderNV => {
                self.execute_hit_object(object, v.arg(1)?)
            }
            op::OpHitObjectReorderExecuteShaderEXT => {
                self.reorder(Some(object), v, 2)?;
                self.execute_hit_object(object, v.arg(1)?)
            }
            op::OpHitObjectTraceReorderExecuteEXT | op::OpHitObjectTraceMotionReorderExecuteEXT => {
                let has_time = v.op == op::OpHitObjectTraceMotionReorderExecuteEXT;
                let payload = self.trace_hit_object(v, object, has_time)?;
                self.reorder(Some(object), v, payload + 1)?;
                self.execute_hit_object(object, v.arg(payload)?)
            }
            _ => Err(Error::unsupported("such an instruction on hit objects")),
        }
    }

    /// Returns the hit object that a pointer points to.
    fn hit_object(&mut self, id: u32) -> Result<LocalTarget> {
        let p = self.pointer(id)?;
        match (p.place, self.s.ty(p.ty)?) {
            (PointerTarget::Local(place), Type::HitObject) => Ok(place),
            _ => Err(Error::invalid("operand does not point to a hit object").with_id(id)),
        }
    }

    /// Returns the words of a field.
    fn field(&mut self, object: LocalTarget, field: Field) -> Result<Flat> {
        self.object_words(object, field.first(), field.words())
    }

    /// Returns consecutive words of a hit object.
    fn object_words(&mut self, object: LocalTarget, first: u32, count: u32) -> Result<Flat> {
        let vars = self.locals[object.local].vars.get(object.first + first as usize..).unwrap_or_default();
        let vars: Vec<_> = vars.iter().copied().take(count as usize).collect();
        if vars.len() != count as usize {
            return Err(Error::internal("a hit object with too few words"));
        }
        Ok(vars.into_iter().map(|var| self.b.load_var(var, Some(object.index))).collect())
    }

    /// Sets the words of a field; those behind `words` become 0.
    fn set_field(&mut self, object: LocalTarget, field: Field, words: &[Value]) -> Result<()> {
        let zero = self.b.i32(0);
        for i in 0..field.words() as usize {
            let var = self.locals[object.local].vars.get(object.first + field.first() as usize + i).copied();
            let var = var.ok_or_else(|| Error::internal("a hit object with too few words"))?;
            self.b.store_var(var, Some(object.index), words.get(i).copied().unwrap_or(zero));
        }
        Ok(())
    }

    /// Sets the kind, and everything else to 0.
    fn record_kind(&mut self, object: LocalTarget, kind: Kind) -> Result<()> {
        Field::ALL.iter().try_for_each(|&field| self.set_field(object, field, &[]))?;
        let kind = self.b.i32(kind as u32);
        self.set_field(object, Field::Kind, &[kind])
    }

    /// Sets the ray of a recorded hit or miss.
    fn record_ray(&mut self, v: View<'_>, object: LocalTarget, ray: &RecordedRay) -> Result<()> {
        let fields = [Field::WorldRayOrigin, Field::RayTmin, Field::WorldRayDirection, Field::RayTmax];
        for (i, field) in fields.into_iter().enumerate() {
            let floats = self.ray_floats(v, ray.origin + i, field.words() as usize)?;
            let words: Flat = floats.into_iter().map(|x| self.b.cvt(Convert::Bitcast, x, Ty::I32)).collect();
            self.set_field(object, field, &words)?;
        }
        let time = self.recorded_time(v, ray)?;
        self.set_field(object, Field::CurrentRayTime, &[time])
    }

    /// Returns the word of a recorded ray's time.
    fn recorded_time(&mut self, v: View<'_>, ray: &RecordedRay) -> Result<Value> {
        let time = self.time(v, ray.origin + 4, ray.has_time)?;
        Ok(self.b.cvt(Convert::Bitcast, time, Ty::I32))
    }

    fn record_miss(
        &mut self,
        v: View<'_>,
        object: LocalTarget,
        flags: Value,
        index: Value,
        ray: &RecordedRay,
    ) -> Result<()> {
        self.record_kind(object, Kind::Miss)?;
        self.record_ray(v, object, ray)?;
        self.set_field(object, Field::RayFlags, &[flags])?;
        self.set_field(object, Field::RecordIndex, &[index])
    }

    /// Returns a variable of hit attributes, and the number of its words.
    fn hit_attribute(&mut self, id: u32) -> Result<(Pointer, usize)> {
        let variable = self.m.def(id)?;
        let classes = [class::HIT_OBJECT_ATTRIBUTE_EXT, class::HIT_OBJECT_ATTRIBUTE_NV];
        if variable.op != op::OpVariable || !classes.contains(&variable.arg(0)?) {
            return Err(Error::invalid("hit attribute that is no such variable").with_id(id));
        }
        let p = self.pointer(id)?;
        let words = self.words_of_type(p.ty)?;
        if words > RayValue::HitAttribute.words() {
            return Err(Error::limit("hit attribute").with_id(id));
        }
        Ok((p, words as usize))
    }

    fn record_from_query(&mut self, v: View<'_>, object: LocalTarget) -> Result<()> {
        let query = v.arg(1)?;
        let p = self.pointer(query)?;
        let query = self.ray_query(&p).map_err(|e| e.with_id(query))?;
        let index = self.word(v.arg(2)?)?;
        let (attribute, _) = self.hit_attribute(v.arg(3)?)?;
        let own_kind = match v.args.get(4) {
            Some(&id) => self.word(id)?,
            None => self.b.i32(0),
        };
        let mut get = |getter| {
            let get = RayQueryOp::Get { getter, committed: true };
            let initialized = self.b.load_var(query.initialized, Some(query.index));
            let types = vec![Ty::I32; getter.components()];
            self.b.vals(Op::RayQuery(query.words, get), &[query.index, initialized], &types)
        };
        let fields = [
            (Field::RayFlags, RayGetter::RayFlags),
            (Field::CullMask, RayGetter::CullMask),
            (Field::WorldRayOrigin, RayGetter::WorldRayOrigin),
            (Field::RayTmin, RayGetter::RayTMin),
            (Field::WorldRayDirection, RayGetter::WorldRayDirection),
            (Field::RayTmax, RayGetter::IntersectionT),
            (Field::PrimitiveId, RayGetter::PrimitiveIndex),
            (Field::RayGeometryIndex, RayGetter::GeometryIndex),
            (Field::InstanceId, RayGetter::InstanceId),
            (Field::InstanceCustomIndex, RayGetter::InstanceCustomIndex),
            (Field::ObjectToWorld, RayGetter::ObjectToWorld),
            (Field::WorldToObject, RayGetter::WorldToObject),
            (Field::Primitive, RayGetter::TriangleVertexPositions),
        ];
        let words = fields.map(|(field, getter)| (field, get(getter)));
        let [intersection, front] = [RayGetter::IntersectionType, RayGetter::FrontFace].map(|getter| get(getter)[0]);
        let [sphere, lss] = [RayGetter::IsSphere, RayGetter::IsLss].map(|getter| get(getter)[0]);
        let barycentrics = get(RayGetter::Barycentrics);
        let own = self.load_words_of(&attribute)?;
        for (field, words) in words {
            self.set_field(object, field, &words)?;
        }
        self.set_field(object, Field::RecordIndex, &[index])?;
        self.set_field(object, Field::CurrentRayTime, &[])?;
        // The kinds of committed intersections: none, triangle (or sphere), generated.
        let [zero, one] = [0, 1].map(|word| self.b.i32(word));
        let (none, triangle) = (self.b.cmp(Cmp::IEq, intersection, zero), self.b.cmp(Cmp::IEq, intersection, one));
        let front = self.b.cmp(Cmp::INe, front, zero);
        let [empty, hit] = [Kind::Empty, Kind::Hit].map(|kind| self.b.i32(kind as u32));
        let kind = self.b.select(none, empty, hit);
        self.set_field(object, Field::Kind, &[kind])?;
        let [back_kind, front_kind] = TRIANGLE_HIT_KINDS.map(|word| self.b.i32(word));
        let mut built_in = self.b.select(front, front_kind, back_kind);
        for (is_one, kind) in [(sphere, SPHERE_HIT_KIND), (lss, LSS_HIT_KIND)] {
            let (is_one, kind) = (self.b.cmp(Cmp::INe, is_one, zero), self.b.i32(kind));
            built_in = self.b.select(is_one, kind, built_in);
        }
        let hit_kind = self.b.select(triangle, built_in, own_kind);
        self.set_field(object, Field::HitKind, &[hit_kind])?;
        let attribute: Flat = (0..Field::HitAttribute.words() as usize)
            .map(|i| {
                let of_triangle = barycentrics.get(i).copied().unwrap_or(zero);
                let of_box = own.get(i).copied().unwrap_or(zero);
                self.b.select(triangle, of_triangle, of_box)
            })
            .collect();
        self.set_field(object, Field::HitAttribute, &attribute)
    }

    /// Translates OpHitObjectRecordHitNV and OpHitObjectRecordHitWithIndexNV, and their forms with
    /// a time. What the structure knows about the instance comes from the scheduler.
    fn record_hit(&mut self, v: View<'_>, object: LocalTarget) -> Result<()> {
        let structure = self.structure(v, 1)?;
        let [instance, primitive, geometry, kind] = [2, 3, 4, 5].map(|i| v.arg(i).and_then(|id| self.word(id)));
        let (instance, primitive, geometry, kind) = (instance?, primitive?, geometry?, kind?);
        let (attribute, _) = self.hit_attribute(*v.args.last().unwrap_or(&0))?;
        let attribute = self.load_words_of(&attribute)?;
        let (origin, has_index, has_time) = match v.op {
            op::OpHitObjectRecordHitNV => (8, false, false),
            op::OpHitObjectRecordHitMotionNV => (8, false, true),
            op::OpHitObjectRecordHitWithIndexNV => (7, true, false),
            _ => (7, true, true),
        };
        let ray = RecordedRay { origin, has_time };
        let time = self.recorded_time(v, &ray)?;
        let args = [&structure[..], &[instance, time]].concat();
        let found = self.b.vals(Op::ReadInstance, &args, &[Ty::I32; InstanceWord::COUNT as usize]);
        let own = self.word(v.arg(6)?)?;
        let index = if has_index {
            own
        } else {
            let stride = self.word(v.arg(7)?)?;
            let of_geometry = self.b.bin(Binary::IMul, geometry, stride);
            let index = self.b.add(found[InstanceWord::SbtOffset as usize], own);
            self.b.add(index, of_geometry)
        };
        self.record_kind(object, Kind::Hit)?;
        self.record_ray(v, object, &ray)?;
        let words = |first: InstanceWord, count| &found[first as usize..][..count];
        let fields = [
            (Field::RecordIndex, &[index][..]),
            (Field::PrimitiveId, &[primitive]),
            (Field::RayGeometryIndex, &[geometry]),
            (Field::InstanceId, &[instance]),
            (Field::InstanceCustomIndex, words(InstanceWord::CustomIndex, 1)),
            (Field::HitKind, &[kind]),
            (Field::HitAttribute, &attribute),
            (Field::ObjectToWorld, words(InstanceWord::ObjectToWorld, 12)),
            (Field::WorldToObject, words(InstanceWord::WorldToObject, 12)),
        ];
        fields.into_iter().try_for_each(|(field, words)| self.set_field(object, field, words))
    }

    fn hit_object_getter(&mut self, v: View<'_>, source: Source) -> Result<Flat> {
        let (elements, words, leaf) = source.shape();
        if !self.s.is_ray_type(v.ty, elements, words, leaf)? {
            return Err(Error::invalid("result type"));
        }
        let object = self.hit_object(v.arg(0)?)?;
        match source {
            Source::Is(kind) => {
                let (own, kind) = (self.field(object, Field::Kind)?[0], self.b.i32(kind as u32));
                Ok(Flat::from_slice(&[self.b.cmp(Cmp::IEq, own, kind)]))
            }
            Source::Field(field, leaf) => {
                let words = self.field(object, field)?;
                Ok(words.into_iter().map(|word| self.b.cvt(Convert::Bitcast, word, leaf)).collect())
            }
            Source::Primitive(value) => {
                let first = Field::Primitive.first() + value.word_of_primitive().unwrap_or(0);
                let words = self.object_words(object, first, value.words())?;
                Ok(words.into_iter().map(|word| self.b.cvt(Convert::Bitcast, word, Ty::F32)).collect())
            }
            Source::IsHitOf(kind) => {
                let (own, kind) = (self.field(object, Field::HitKind)?[0], self.b.i32(kind));
                Ok(Flat::from_slice(&[self.b.cmp(Cmp::IEq, own, kind)]))
            }
            Source::ObjectSpace(field, w) => self.object_space(object, field, w),
            Source::Record => self.record_of(object),
        }
    }

    /// Returns a vector of the ray in the space of the instance, with the operations in the order
    /// in which the shaders of rays get it.
    fn object_space(&mut self, object: LocalTarget, field: Field, w: f32) -> Result<Flat> {
        let floats = |t: &mut Self, field| {
            let words = t.field(object, field)?;
            Ok::<Flat, Error>(words.into_iter().map(|word| t.b.cvt(Convert::Bitcast, word, Ty::F32)).collect())
        };
        let (v, columns) = (floats(self, field)?, floats(self, Field::WorldToObject)?);
        let w = self.b.konst(Ty::F32, w.to_bits().into());
        let vector = [v[0], v[1], v[2], w];
        let row = |t: &mut Self, row: usize| {
            let products = [0, 1, 2, 3].map(|column| t.b.bin(Binary::FMul, columns[column * 3 + row], vector[column]));
            products.into_iter().reduce(|sum, product| t.b.bin(Binary::FAdd, sum, product)).unwrap_or(w)
        };
        Ok((0..3).map(|i| row(self, i)).collect())
    }

    /// Returns the words of the address of the record's data.
    fn record_of(&mut self, object: LocalTarget) -> Result<Flat> {
        let (kind, index) = (self.field(object, Field::Kind)?[0], self.field(object, Field::RecordIndex)?[0]);
        let [miss, hit] = [RayValue::MissRecords, RayValue::HitRecords].map(|table| self.load_ray_value(table));
        let of_hit = self.b.i32(Kind::Hit as u32);
        let of_hit = self.b.cmp(Cmp::IEq, kind, of_hit);
        let chosen: Flat = hit.iter().zip(&miss).map(|(&hit, &miss)| self.b.select(of_hit, hit, miss)).collect();
        let [first, stride] = [0, 2].map(|i| self.b.join(&chosen[i..i + 2], Ty::I64));
        let index = self.b.cvt(Convert::UToU, index, Ty::I64);
        let offset = self.b.bin(Binary::IMul, index, stride);
        let address = self.b.add(first, offset);
        Ok(self.b.split(address, Ty::I32, 2))
    }

    /// Translates a trace into a hit object ([`Translator::trace_operands`] describes `has_time`).
    /// Returns the number of the operand that is the payload.
    fn trace_hit_object(&mut self, v: View<'_>, object: LocalTarget, has_time: bool) -> Result<usize> {
        let args = self.trace_operands(v, 1, has_time)?;
        let payload = if has_time { 12 } else { 11 };
        let words = self.call_with(Op::TraceHitObject, args, v.arg(payload)?, class::RAY_PAYLOAD)?;
        for &field in Field::ALL {
            let own = words.get(field.first() as usize..).and_then(|words| words.get(..field.words() as usize));
            self.set_field(object, field, own.ok_or_else(|| Error::internal("results of a trace"))?)?;
        }
        Ok(payload)
    }

    fn execute_hit_object(&mut self, object: LocalTarget, payload: u32) -> Result<()> {
        let args = self.object_words(object, 0, Field::WORDS)?;
        self.call_with(Op::ExecuteHitObject, args, payload, class::RAY_PAYLOAD).map(drop)
    }

    /// Translates the reordering of an instruction whose operands have an optional hint and its
    /// number of bits from `first` on.
    fn reorder(&mut self, object: Option<LocalTarget>, v: View<'_>, first: usize) -> Result<()> {
        if self.stage != Stage::RayGeneration {
            return Err(self.misplaced("reordering"));
        }
        let zero = self.b.i32(0);
        let (hint, bits) = match v.args.get(first..).unwrap_or_default() {
            [] => (zero, zero),
            &[hint, bits] => (self.word(hint)?, self.word(bits)?),
            _ => return Err(Error::invalid("hint without its number of bits")),
        };
        let (kind, record) = match object {
            Some(object) => (self.field(object, Field::Kind)?[0], self.field(object, Field::RecordIndex)?[0]),
            None => (zero, zero),
        };
        self.b.emit(Op::Reorder, &[kind, record, hint, bits], &[]);
        Ok(())
    }
}
