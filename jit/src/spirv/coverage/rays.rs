//! Modules for the stages of ray tracing.

use super::super::opcodes::op;
use super::asm::{Asm, BOOL, COMPUTE, F32, FRAGMENT, Scalar, Ty, U32};
use super::special::Special;

const RAY_GENERATION: u32 = 5313;
const INTERSECTION: u32 = 5314;
const ANY_HIT: u32 = 5315;
const CLOSEST_HIT: u32 = 5316;
const MISS: u32 = 5317;
const CALLABLE: u32 = 5318;

const F2: Ty = Ty::new(Scalar::Float(32), 2);
const F3: Ty = Ty::new(Scalar::Float(32), 3);
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
];

fn ray_tracing(a: &mut Asm) {
    a.capabilities.insert(4479);
    a.extensions.insert("SPV_KHR_ray_tracing");
}

/// Returns a type of a payload with scalars of several sizes and an array, and its variable.
fn payload(a: &mut Asm, class: u32) -> [u32; 2] {
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
    trace_with(a, payload, 0x200);
}

/// Adds a trace with a payload and flags.
fn trace_with(a: &mut Asm, payload: u32, flags: u32) {
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

fn hit_builtins(a: &mut Asm) {
    ray_tracing(a);
    a.capabilities.extend([5336, 6020]);
    a.extensions.extend(["SPV_KHR_ray_tracing_position_fetch", "SPV_KHR_ray_cull_mask"]);
    let words = [7, 6, 5327, 5333, 5351, 5352, 6021].map(|number| (number, U32));
    let floats = [5325, 5326].map(|number| (number, F32));
    let vectors = [5321, 5322, 5323, 5324].map(|number| (number, F3));
    for (number, ty) in words.into_iter().chain(floats).chain(vectors) {
        let inner = a.ty(ty);
        let variable = a.interface(1, inner, [11, number]);
        let value = a.r(61, inner, &[variable]);
        a.keep(ty, value);
    }
    let (vector, three) = (a.ty(F3), a.u(3));
    let matrix = a.global(24, false, &[vector, 4]);
    let vertices = a.global(28, false, &[vector, three]);
    let pointer = a.pointer(1, vector);
    for (number, ty) in [(5330, matrix), (5331, matrix), (5335, vertices)] {
        let (variable, index) = (a.interface(1, ty, [11, number]), a.value(U32));
        let place = a.r(65, pointer, &[variable, index]);
        let value = a.r(61, vector, &[place]);
        a.keep(F3, value);
    }
}

/// Set of the acceleration structures in the layout.
const STRUCTURES: u32 = 9;

/// Returns the type of ray queries.
fn query_type(a: &mut Asm) -> u32 {
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
    let getters = [
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
    for (opcode, ty) in getters {
        for which in [0, 1] {
            let (result, which) = (a.ty(ty), a.u(which));
            let value = a.r(opcode, result, &[query, which]);
            a.keep(ty, value);
        }
    }
    let of_ray = [
        (op::OpRayQueryGetRayTMinKHR, F32),
        (op::OpRayQueryGetRayFlagsKHR, U32),
        (op::OpRayQueryGetIntersectionCandidateAABBOpaqueKHR, BOOL),
        (op::OpRayQueryGetWorldRayDirectionKHR, F3),
        (op::OpRayQueryGetWorldRayOriginKHR, F3),
    ];
    for (opcode, ty) in of_ray {
        let result = a.ty(ty);
        let value = a.r(opcode, result, &[query]);
        a.keep(ty, value);
    }
    let (vector, three, one) = (a.ty(F3), a.u(3), a.u(1));
    let matrix = a.global(24, false, &[vector, 4]);
    let vertices = a.global(28, false, &[vector, three]);
    let composites = [
        (op::OpRayQueryGetIntersectionObjectToWorldKHR, matrix),
        (op::OpRayQueryGetIntersectionWorldToObjectKHR, matrix),
        (op::OpRayQueryGetIntersectionTriangleVertexPositionsKHR, vertices),
    ];
    for (opcode, ty) in composites {
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
