//! Modules for the stages of ray tracing.

use super::super::opcodes::op;
use super::asm::{Asm, BOOL, COMPUTE, F32, FRAGMENT, Scalar, Ty, U32};
use super::special::Special;

pub const RAY_GENERATION: u32 = 5313;
pub const INTERSECTION: u32 = 5314;
pub const ANY_HIT: u32 = 5315;
pub const CLOSEST_HIT: u32 = 5316;
pub const MISS: u32 = 5317;
const CALLABLE: u32 = 5318;

pub const F2: Ty = Ty::new(Scalar::Float(32), 2);
const F4: Ty = Ty::new(Scalar::Float(32), 4);
pub const F3: Ty = Ty::new(Scalar::Float(32), 3);
const U2: Ty = Ty::new(Scalar::Uint(32), 2);
const U3: Ty = Ty::new(Scalar::Uint(32), 3);
const U64: Ty = Ty::new(Scalar::Uint(64), 1);

pub const CASES: &[Special] = &[
    ("rays that are traced", RAY_GENERATION, traced),
    ("rays of hits", CLOSEST_HIT, traced_by_hits),
    ("rays that see two states of micromaps", RAY_GENERATION, traced_with_two_states),
    ("rays that miss", MISS, changed_payload),
    ("callable shaders", CALLABLE, called),
    ("ends of any-hit shaders", ANY_HIT, any_hit_ends),
    ("reported intersections", INTERSECTION, reported),
    ("built-ins of rays", CLOSEST_HIT, hit_builtins),
    ("ray queries", COMPUTE, queries),
    ("ray queries of fragments", FRAGMENT, queries),
    ("ray queries of hits", CLOSEST_HIT, queries),
    ("arrays of ray queries", COMPUTE, query_arrays),
    ("hit objects", RAY_GENERATION, hit_objects),
    ("hit objects of NV", RAY_GENERATION, hit_objects_nv),
    ("arrays of hit objects", CLOSEST_HIT, hit_object_arrays),
    ("hit objects of misses", MISS, recorded_misses),
];

/// RayTraversalPrimitiveCullingKHR, which flags that skip primitives need.
const PRIMITIVE_CULLING: u32 = 4478;

pub fn ray_tracing(a: &mut Asm) {
    a.capabilities.insert(4479);
    a.extensions.insert("SPV_KHR_ray_tracing");
}

/// Returns a type of a payload with scalars of several sizes and an array, and its variable.
pub fn payload(a: &mut Asm, class: u32) -> [u32; 2] {
    ray_tracing(a);
    let (float, long, four) = (a.ty(F32), a.ty(U64), a.u(4));
    let array = a.global(28, false, &[float, four]);
    let ty = a.global(30, false, &[float, long, array]);
    [ty, a.variable(class, ty, &[])]
}

fn traced_with_two_states(a: &mut Asm) {
    a.capabilities.extend([5381, 6032]);
    a.extensions.extend(["SPV_EXT_opacity_micromap", "SPV_KHR_opacity_micromap"]);
    let bool_ty = a.ty(BOOL);
    let enable = a.global(41, true, &[bool_ty]);
    a.id_modes.push(vec![6031, enable]);
    let [_, variable] = payload(a, 5338);
    trace_with(a, variable, 0x400);
}

/// Adds a trace with a payload, without boxes.
fn trace(a: &mut Asm, payload: u32) {
    a.capabilities.insert(PRIMITIVE_CULLING);
    trace_with(a, payload, 0x200);
}

/// Adds a trace with a payload and flags of the ray.
pub fn trace_with(a: &mut Asm, payload: u32, flags: u32) {
    let structure = a.global(5341, false, &[]);
    let address = a.value(U64);
    let structure = a.r(4447, structure, &[address]);
    let words = [flags, 0xff, 1, 2, 3].map(|word| a.u(word));
    let (origin, direction, start, end) = (a.value(F3), a.value(F3), a.value(F32), a.value(F32));
    a.i(4445, &[&[structure], &words[..], &[origin, start, direction, end, payload]].concat());
}

/// Adds a change of an element of a payload's array with any index.
fn change(a: &mut Asm, class: u32, variable: u32) {
    let (index, two, value, float) = (a.value(U32), a.u(2), a.value(F32), a.ty(F32));
    let pointer = a.pointer(class, float);
    let place = a.r(65, pointer, &[variable, two, index]);
    let old = a.r(61, float, &[place]);
    let sum = a.r(129, float, &[old, value]);
    a.i(62, &[place, sum]);
}

fn traced(a: &mut Asm) {
    let [ty, variable] = payload(a, 5338);
    change(a, 5338, variable);
    trace(a, variable);
    let float = a.ty(F32);
    let value = a.r(61, ty, &[variable]);
    let value = a.r(81, float, &[value, 2, 3]);
    a.keep(F32, value);
    let (index, data) = (a.value(U32), payload(a, 5328)[1]);
    a.i(4446, &[index, data]);
    for number in [5319, 5320] {
        let vector = a.ty(U3);
        let variable = a.interface(1, vector, [11, number]);
        let value = a.r(61, vector, &[variable]);
        a.keep(U3, value);
    }
    let block = a.block(F32);
    let record = a.variable(5343, block, &[]);
    let (pointer, zero) = (a.pointer(5343, float), a.u(0));
    let place = a.r(65, pointer, &[record, zero]);
    let value = a.r(61, float, &[place]);
    a.keep(F32, value);
}

/// Traces in a loop with the payload that the stage was called with.
fn traced_by_hits(a: &mut Asm) {
    let [_, variable] = payload(a, 5342);
    let [header, body, next, merge] = [(); 4].map(|()| a.id());
    let condition = a.value(BOOL);
    a.i(249, &[header]);
    a.label(header);
    a.i(246, &[merge, next, 0]);
    a.i(250, &[condition, body, merge]);
    a.label(body);
    trace(a, variable);
    a.i(249, &[next]);
    a.label(next);
    a.i(249, &[header]);
    a.label(merge);
    let vector = a.ty(F2);
    let attribute = a.variable(5339, vector, &[]);
    let value = a.r(61, vector, &[attribute]);
    a.keep(F2, value);
}

fn changed_payload(a: &mut Asm) {
    let [_, variable] = payload(a, 5342);
    change(a, 5342, variable);
}

fn called(a: &mut Asm) {
    let [_, variable] = payload(a, 5329);
    change(a, 5329, variable);
    let (index, data) = (a.value(U32), payload(a, 5328)[1]);
    a.i(4446, &[index, data]);
}

fn any_hit_ends(a: &mut Asm) {
    let [_, variable] = payload(a, 5342);
    for op in [4448, 4449] {
        let condition = a.value(BOOL);
        let [then, merge] = [(); 2].map(|()| a.id());
        a.i(247, &[merge, 0]);
        a.i(250, &[condition, then, merge]);
        a.label(then);
        change(a, 5342, variable);
        a.i(op, &[]);
        a.label(merge);
    }
}

fn reported(a: &mut Asm) {
    ray_tracing(a);
    let vector = a.ty(F2);
    let (attribute, value) = (a.variable(5339, vector, &[]), a.value(F2));
    a.i(62, &[attribute, value]);
    let (bool_ty, t, kind) = (a.ty(BOOL), a.value(F32), a.u(7));
    let accepted = a.r(5334, bool_ty, &[t, kind]);
    a.keep(BOOL, accepted);
}

/// Built-ins with their types.
const BUILTINS: [(u32, Ty); 13] = [
    (7, U32),
    (6, U32),
    (5327, U32),
    (5333, U32),
    (5351, U32),
    (5352, U32),
    (6021, U32),
    (5325, F32),
    (5326, F32),
    (5321, F3),
    (5322, F3),
    (5323, F3),
    (5324, F3),
];

/// Adds what built-ins of rays need.
fn declare_builtins(a: &mut Asm) {
    ray_tracing(a);
    a.capabilities.extend([5336, 6020]);
    a.extensions.extend(["SPV_KHR_ray_tracing_position_fetch", "SPV_KHR_ray_cull_mask"]);
}

fn hit_builtins(a: &mut Asm) {
    declare_builtins(a);
    for (number, ty) in BUILTINS {
        let inner = a.ty(ty);
        let variable = a.interface(1, inner, [11, number]);
        let value = a.r(61, inner, &[variable]);
        a.keep(ty, value);
    }
    let vector = a.ty(F3);
    let [matrix, vertices] = composites(a);
    let pointer = a.pointer(1, vector);
    for (number, ty) in [(5330, matrix), (5331, matrix), (5335, vertices)] {
        let (variable, index) = (a.interface(1, ty, [11, number]), a.value(U32));
        let place = a.r(65, pointer, &[variable, index]);
        let value = a.r(61, vector, &[place]);
        a.keep(F3, value);
    }
}

/// Returns the types of transforms and of positions.
fn composites(a: &mut Asm) -> [u32; 2] {
    let (vector, three) = (a.ty(F3), a.u(3));
    [a.global(24, false, &[vector, 4]), a.global(28, false, &[vector, three])]
}

/// Set of the acceleration structures in the layout.
const STRUCTURES: u32 = 9;

/// Returns the type of ray queries.
pub fn query_type(a: &mut Asm) -> u32 {
    a.capabilities.extend([4472, 4478]);
    a.extensions.insert("SPV_KHR_ray_query");
    a.global(op::OpTypeRayQueryKHR, false, &[])
}

/// Adds an initialization of a query with an acceleration structure.
fn initialize(a: &mut Asm, query: u32, structure: u32) {
    let words = [0x100, 0xff].map(|word| a.u(word));
    let (origin, direction, start, end) = (a.value(F3), a.value(F3), a.value(F32), a.value(F32));
    a.i(op::OpRayQueryInitializeKHR, &[query, structure, words[0], words[1], origin, start, direction, end]);
}

/// Adds an initialization of a query with any structure and with flags of the ray.
pub fn initialize_with(a: &mut Asm, query: u32, flags: u32) {
    let structure = any_structure(a);
    let (flags, mask, point, distance) = (a.u(flags), a.u(0xff), a.value(F3), a.value(F32));
    a.i(op::OpRayQueryInitializeKHR, &[query, structure, flags, mask, point, distance, point, distance]);
}

/// Getters of an intersection.
const GETTERS: [(u16, Ty); 11] = [
    (op::OpRayQueryGetIntersectionTypeKHR, U32),
    (op::OpRayQueryGetIntersectionTKHR, F32),
    (op::OpRayQueryGetIntersectionInstanceCustomIndexKHR, U32),
    (op::OpRayQueryGetIntersectionInstanceIdKHR, U32),
    (op::OpRayQueryGetIntersectionInstanceShaderBindingTableRecordOffsetKHR, U32),
    (op::OpRayQueryGetIntersectionGeometryIndexKHR, U32),
    (op::OpRayQueryGetIntersectionPrimitiveIndexKHR, U32),
    (op::OpRayQueryGetIntersectionBarycentricsKHR, F2),
    (op::OpRayQueryGetIntersectionFrontFaceKHR, BOOL),
    (op::OpRayQueryGetIntersectionObjectRayDirectionKHR, F3),
    (op::OpRayQueryGetIntersectionObjectRayOriginKHR, F3),
];

/// Getters of a ray.
const RAY_GETTERS: [(u16, Ty); 5] = [
    (op::OpRayQueryGetRayTMinKHR, F32),
    (op::OpRayQueryGetRayFlagsKHR, U32),
    (op::OpRayQueryGetIntersectionCandidateAABBOpaqueKHR, BOOL),
    (op::OpRayQueryGetWorldRayDirectionKHR, F3),
    (op::OpRayQueryGetWorldRayOriginKHR, F3),
];

/// Getters of an intersection whose type is one of [`composites`].
const COMPOSITE_GETTERS: [(u16, usize); 3] = [
    (op::OpRayQueryGetIntersectionObjectToWorldKHR, 0),
    (op::OpRayQueryGetIntersectionWorldToObjectKHR, 0),
    (op::OpRayQueryGetIntersectionTriangleVertexPositionsKHR, 1),
];

/// Adds all operations on a query.
fn queries(a: &mut Asm) {
    let ty = query_type(a);
    a.capabilities.insert(5391);
    a.extensions.insert("SPV_KHR_ray_tracing_position_fetch");
    let (query, structure) = (a.variable(6, ty, &[]), a.global(op::OpTypeAccelerationStructureKHR, false, &[]));
    let variable = a.bound(0, structure, STRUCTURES);
    let loaded = a.r(op::OpLoad, structure, &[variable]);
    initialize(a, query, loaded);
    let bool_ty = a.ty(BOOL);
    let more = a.r(op::OpRayQueryProceedKHR, bool_ty, &[query]);
    a.keep(BOOL, more);
    let t = a.value(F32);
    a.i(op::OpRayQueryGenerateIntersectionKHR, &[query, t]);
    a.i(op::OpRayQueryConfirmIntersectionKHR, &[query]);
    for (opcode, ty) in GETTERS {
        for which in [0, 1] {
            let (result, which) = (a.ty(ty), a.u(which));
            let value = a.r(opcode, result, &[query, which]);
            a.keep(ty, value);
        }
    }
    for (opcode, ty) in RAY_GETTERS {
        let result = a.ty(ty);
        let value = a.r(opcode, result, &[query]);
        a.keep(ty, value);
    }
    let (vector, one) = (a.ty(F3), a.u(1));
    let types = composites(a);
    for (opcode, ty) in COMPOSITE_GETTERS.map(|(opcode, ty)| (opcode, types[ty])) {
        let value = a.r(opcode, ty, &[query, one]);
        let value = a.r(op::OpCompositeExtract, vector, &[value, 2]);
        a.keep(F3, value);
    }
    a.i(op::OpRayQueryTerminateKHR, &[query]);
}

/// Indexes arrays of queries and of structures with any numbers.
fn query_arrays(a: &mut Asm) {
    let ty = query_type(a);
    let (three, four) = (a.u(3), a.u(4));
    let array = a.global(28, false, &[ty, three]);
    let structure = a.global(op::OpTypeAccelerationStructureKHR, false, &[]);
    let structures = a.global(28, false, &[structure, four]);
    let (queries, variable) = (a.variable(6, array, &[]), a.bound(0, structures, STRUCTURES));
    let (index, pointer) = (a.value(U32), a.pointer(6, ty));
    let query = a.r(op::OpAccessChain, pointer, &[queries, index]);
    let (index, pointer) = (a.value(U32), a.pointer(0, structure));
    let place = a.r(op::OpAccessChain, pointer, &[variable, index]);
    let loaded = a.r(op::OpLoad, structure, &[place]);
    initialize(a, query, loaded);
    let bool_ty = a.ty(BOOL);
    let more = a.r(op::OpRayQueryProceedKHR, bool_ty, &[query]);
    a.keep(BOOL, more);
}

/// Declares hit objects of EXT or of NV and returns their type.
pub fn hit_object_type(a: &mut Asm, ext: bool) -> u32 {
    ray_tracing(a);
    a.capabilities.insert(if ext { 5388 } else { 5383 });
    a.extensions.insert(if ext { "SPV_EXT_shader_invocation_reorder" } else { "SPV_NV_shader_invocation_reorder" });
    a.global(if ext { op::OpTypeHitObjectEXT } else { op::OpTypeHitObjectNV }, false, &[])
}

/// Getters of hit objects, of EXT and of NV.
const OBJECT_GETTERS: [(u16, u16, Ty); 17] = [
    (op::OpHitObjectIsEmptyEXT, op::OpHitObjectIsEmptyNV, BOOL),
    (op::OpHitObjectIsHitEXT, op::OpHitObjectIsHitNV, BOOL),
    (op::OpHitObjectIsMissEXT, op::OpHitObjectIsMissNV, BOOL),
    (op::OpHitObjectGetRayTMinEXT, op::OpHitObjectGetRayTMinNV, F32),
    (op::OpHitObjectGetRayTMaxEXT, op::OpHitObjectGetRayTMaxNV, F32),
    (op::OpHitObjectGetCurrentTimeEXT, op::OpHitObjectGetCurrentTimeNV, F32),
    (op::OpHitObjectGetWorldRayOriginEXT, op::OpHitObjectGetWorldRayOriginNV, F3),
    (op::OpHitObjectGetWorldRayDirectionEXT, op::OpHitObjectGetWorldRayDirectionNV, F3),
    (op::OpHitObjectGetObjectRayOriginEXT, op::OpHitObjectGetObjectRayOriginNV, F3),
    (op::OpHitObjectGetObjectRayDirectionEXT, op::OpHitObjectGetObjectRayDirectionNV, F3),
    (op::OpHitObjectGetPrimitiveIndexEXT, op::OpHitObjectGetPrimitiveIndexNV, U32),
    (op::OpHitObjectGetGeometryIndexEXT, op::OpHitObjectGetGeometryIndexNV, U32),
    (op::OpHitObjectGetInstanceIdEXT, op::OpHitObjectGetInstanceIdNV, U32),
    (op::OpHitObjectGetInstanceCustomIndexEXT, op::OpHitObjectGetInstanceCustomIndexNV, U32),
    (op::OpHitObjectGetHitKindEXT, op::OpHitObjectGetHitKindNV, U32),
    (op::OpHitObjectGetShaderBindingTableRecordIndexEXT, op::OpHitObjectGetShaderBindingTableRecordIndexNV, U32),
    (op::OpHitObjectGetShaderRecordBufferHandleEXT, op::OpHitObjectGetShaderRecordBufferHandleNV, U2),
];

/// Adds all getters of a hit object.
fn object_getters(a: &mut Asm, object: u32, ext: bool) {
    for (number, of_nv, ty) in OBJECT_GETTERS {
        let result = a.ty(ty);
        let value = a.r(if ext { number } else { of_nv }, result, &[object]);
        a.keep(ty, value);
    }
    let [matrix, vertices] = composites(a);
    let matrices = match ext {
        true => [op::OpHitObjectGetObjectToWorldEXT, op::OpHitObjectGetWorldToObjectEXT],
        false => [op::OpHitObjectGetObjectToWorldNV, op::OpHitObjectGetWorldToObjectNV],
    };
    let mut all = matrices.map(|opcode| (opcode, matrix)).to_vec();
    if ext {
        all.push((op::OpHitObjectGetIntersectionTriangleVertexPositionsEXT, vertices));
        let word = a.ty(U32);
        let flags = a.r(op::OpHitObjectGetRayFlagsEXT, word, &[object]);
        a.keep(U32, flags);
    }
    let vector = a.ty(F3);
    for (opcode, ty) in all {
        let value = a.r(opcode, ty, &[object]);
        let value = a.r(op::OpCompositeExtract, vector, &[value, 1]);
        a.keep(F3, value);
    }
}

/// Adds an acceleration structure of any address.
pub fn any_structure(a: &mut Asm) -> u32 {
    let structure = a.global(op::OpTypeAccelerationStructureKHR, false, &[]);
    let address = a.value(U64);
    a.r(op::OpConvertUToAccelerationStructureKHR, structure, &[address])
}

/// Returns the operands of a trace up to the end of the interval.
pub fn trace_operands(a: &mut Asm) -> Vec<u32> {
    let structure = any_structure(a);
    let words = [1, 0xff, 1, 2, 3].map(|word| a.u(word));
    [&[structure], &words[..], &ray(a)].concat()
}

/// Returns the operands of a ray.
pub fn ray(a: &mut Asm) -> [u32; 4] {
    [a.value(F3), a.value(F32), a.value(F3), a.value(F32)]
}

fn hit_objects(a: &mut Asm) {
    let ty = hit_object_type(a, true);
    let (object, vector) = (a.variable(6, ty, &[]), a.ty(F2));
    let (attribute, payload) = (a.variable(5411, vector, &[]), payload(a, 5338)[1]);
    a.i(op::OpHitObjectRecordEmptyEXT, &[object]);
    let trace = trace_operands(a);
    a.i(op::OpHitObjectTraceRayEXT, &[&[object], &trace[..], &[payload]].concat());
    let (hint, bits) = (a.value(U32), a.u(3));
    a.i(op::OpReorderThreadWithHintEXT, &[hint, bits]);
    a.i(op::OpReorderThreadWithHitObjectEXT, &[object]);
    a.i(op::OpReorderThreadWithHitObjectEXT, &[object, hint, bits]);
    object_getters(a, object, true);
    a.i(op::OpHitObjectGetAttributesEXT, &[object, attribute]);
    let value = a.r(op::OpLoad, vector, &[attribute]);
    a.keep(F2, value);
    a.i(op::OpHitObjectSetShaderBindingTableRecordIndexEXT, &[object, bits]);
    a.i(op::OpHitObjectExecuteShaderEXT, &[object, payload]);
    a.i(op::OpHitObjectReorderExecuteShaderEXT, &[object, payload]);
    a.i(op::OpHitObjectReorderExecuteShaderEXT, &[object, payload, hint, bits]);
    a.i(op::OpHitObjectTraceReorderExecuteEXT, &[&[object], &trace[..], &[payload]].concat());
    a.i(op::OpHitObjectTraceReorderExecuteEXT, &[&[object], &trace[..], &[payload, hint, bits]].concat());
    let query = query_type(a);
    let query = a.variable(6, query, &[]);
    a.i(op::OpHitObjectRecordFromQueryEXT, &[object, query, bits, attribute]);
    a.i(op::OpHitObjectRecordFromQueryEXT, &[object, query, bits, attribute, hint]);
    object_getters(a, object, true);
}

fn hit_objects_nv(a: &mut Asm) {
    let ty = hit_object_type(a, false);
    let (object, vector) = (a.variable(6, ty, &[]), a.ty(F2));
    let (attribute, payload) = (a.variable(5385, vector, &[]), payload(a, 5338)[1]);
    a.i(op::OpHitObjectRecordEmptyNV, &[object]);
    let trace = trace_operands(a);
    a.i(op::OpHitObjectTraceRayNV, &[&[object], &trace[..], &[payload]].concat());
    let (hint, bits) = (a.value(U32), a.u(3));
    a.i(op::OpReorderThreadWithHintNV, &[hint, bits]);
    a.i(op::OpReorderThreadWithHitObjectNV, &[object]);
    a.i(op::OpReorderThreadWithHitObjectNV, &[object, hint, bits]);
    object_getters(a, object, false);
    a.i(op::OpHitObjectExecuteShaderNV, &[object, payload]);
    let (structure, ray) = (any_structure(a), ray(a));
    let words = [0, 1, 2, 3, 4, 5].map(|word| a.u(word));
    let hit = [&[object, structure], &words[..], &ray, &[attribute]].concat();
    a.i(op::OpHitObjectRecordHitNV, &hit);
    object_getters(a, object, false);
    let hit = [&[object, structure], &words[..5], &ray, &[attribute]].concat();
    a.i(op::OpHitObjectRecordHitWithIndexNV, &hit);
    a.i(op::OpHitObjectGetAttributesNV, &[object, attribute]);
    let value = a.r(op::OpLoad, vector, &[attribute]);
    a.keep(F2, value);
    a.i(op::OpHitObjectRecordMissNV, &[&[object, bits], &ray[..]].concat());
    object_getters(a, object, false);
}

/// Traces with an element of an array that any number selects.
fn hit_object_arrays(a: &mut Asm) {
    let ty = hit_object_type(a, true);
    let three = a.u(3);
    let array = a.global(28, false, &[ty, three]);
    let (objects, payload) = (a.variable(6, array, &[]), payload(a, 5338)[1]);
    let (index, pointer) = (a.value(U32), a.pointer(6, ty));
    let object = a.r(op::OpAccessChain, pointer, &[objects, index]);
    let trace = trace_operands(a);
    a.i(op::OpHitObjectTraceRayEXT, &[&[object], &trace[..], &[payload]].concat());
    object_getters(a, object, true);
    a.i(op::OpHitObjectExecuteShaderEXT, &[object, payload]);
}

fn recorded_misses(a: &mut Asm) {
    let ty = hit_object_type(a, true);
    let (object, ray, word) = (a.variable(6, ty, &[]), ray(a), a.u(1));
    a.i(op::OpHitObjectRecordMissEXT, &[&[object, word, word], &ray[..]].concat());
    object_getters(a, object, true);
}

/// Returns the type of arrays of two elements.
pub fn pair(a: &mut Asm, element: Ty) -> u32 {
    let (element, two) = (a.ty(element), a.u(2));
    a.global(28, false, &[element, two])
}

/// Returns a type that no value of ray tracing has, or that of some.
fn any_type(a: &mut Asm, number: usize) -> u32 {
    let (vector, plain) = (a.ty(F3), [U32, F32, BOOL, F2, F3, U3, F4, U64, U2]);
    let four = a.u(4);
    match number {
        9 => composites(a)[0],
        10 => composites(a)[1],
        11 => a.global(24, false, &[vector, 3]),
        12 => a.global(28, false, &[vector, four]),
        13 => pair(a, F3),
        14 => pair(a, F32),
        _ => a.ty(plain[number]),
    }
}

const TYPES: usize = 15;

/// Asserts that a module is refused as wrong if a value has another type than its own.
pub fn refuses_others(model: u32, what: &str, make: impl Fn(&mut Asm, u32) -> u32) {
    let mut accepted = 0;
    for number in 0..TYPES {
        let mut own = false;
        let case = super::case("types", model, |a| {
            let ty = any_type(a, number);
            own = make(a, ty) == ty;
        });
        match super::compile(&case.words, case.stage) {
            Ok(()) => {
                assert!(own, "{what}, type {number}");
                accepted += 1;
            }
            Err(e) => {
                assert!(!own, "{what}, type {number}: {e}");
                assert_eq!(e.kind, crate::error::ErrorKind::Invalid, "{what}, type {number}: {e}");
            }
        }
    }
    assert_eq!(accepted, 1, "{what}");
}

#[test]
fn values_have_one_type() {
    let getter = |opcode: u16, selects: bool, own: fn(&mut Asm) -> u32| {
        refuses_others(COMPUTE, &format!("getter {opcode}"), |a, ty| {
            a.capabilities.insert(5391);
            a.extensions.insert("SPV_KHR_ray_tracing_position_fetch");
            let query = query_type(a);
            let (query, one) = (a.variable(6, query, &[]), a.u(1));
            a.r(opcode, ty, &[query, one][..1 + usize::from(selects)]);
            own(a)
        });
    };
    for (opcode, selects, ty) in
        GETTERS.map(|(opcode, ty)| (opcode, true, ty)).into_iter().chain(RAY_GETTERS.map(|(op, ty)| (op, false, ty)))
    {
        getter(
            opcode,
            selects,
            match ty {
                U32 => |a| a.ty(U32),
                F32 => |a| a.ty(F32),
                BOOL => |a| a.ty(BOOL),
                F2 => |a| a.ty(F2),
                _ => |a| a.ty(F3),
            },
        );
    }
    for (opcode, ty) in COMPOSITE_GETTERS {
        getter(opcode, true, if ty == 0 { |a| composites(a)[0] } else { |a| composites(a)[1] });
    }
    for (number, _, own) in OBJECT_GETTERS {
        refuses_others(RAY_GENERATION, &format!("getter {number}"), |a, ty| {
            let object = hit_object_type(a, true);
            let object = a.variable(6, object, &[]);
            a.r(number, ty, &[object]);
            a.ty(own)
        });
    }
    let launch = [(5319, U3), (5320, U3)];
    for (number, ty) in BUILTINS.into_iter().chain(launch) {
        refuses_others(CLOSEST_HIT, &format!("built-in {number}"), |a, other| {
            declare_builtins(a);
            let variable = a.interface(1, other, [11, number]);
            a.r(61, other, &[variable]);
            a.ty(ty)
        });
    }
}

#[test]
fn flags_that_skip_primitives_need_their_capability() {
    for (flags, capability, accepted) in
        [(0x3, false, true), (0x100, false, false), (0x201, false, false), (0x100, true, true), (0x201, true, true)]
    {
        let traced = super::case("flags", RAY_GENERATION, |a| {
            let [_, variable] = payload(a, 5338);
            if capability {
                a.capabilities.insert(PRIMITIVE_CULLING);
            }
            trace_with(a, variable, flags);
        });
        let queried = super::case("flags", COMPUTE, |a| {
            let ty = query_type(a);
            if !capability {
                a.capabilities.remove(&PRIMITIVE_CULLING);
            }
            let query = a.variable(6, ty, &[]);
            initialize_with(a, query, flags);
        });
        for case in [traced, queried] {
            let result = super::compile(&case.words, case.stage);
            assert_eq!(result.is_ok(), accepted, "{flags:#x} {capability} {result:?}");
        }
    }
}
