//! Modules for motion blur (SPV_NV_ray_tracing_motion_blur).

use super::super::opcodes::op;
use super::asm::{Asm, F32, U32};
use super::rays::{
    ANY_HIT, CLOSEST_HIT, F2, INTERSECTION, MISS, RAY_GENERATION, any_structure, hit_object_type, payload, ray,
    ray_tracing, refuses_others, trace_operands,
};
use super::special::Special;
use crate::error::ErrorKind;

pub const CASES: &[Special] = &[
    ("rays with a time", RAY_GENERATION, traced),
    ("time of a ray that misses", MISS, time),
    ("time of a ray that hits", CLOSEST_HIT, time),
    ("time of a candidate", ANY_HIT, time),
    ("time of a box", INTERSECTION, time),
    ("hit objects with a time", RAY_GENERATION, hit_objects),
    ("hit objects of NV with a time", RAY_GENERATION, hit_objects_nv),
];

/// CurrentRayTimeNV.
const TIME: u32 = 5334;

fn declare(a: &mut Asm) {
    ray_tracing(a);
    a.capabilities.insert(5341);
    a.extensions.insert("SPV_NV_ray_tracing_motion_blur");
}

/// Adds a payload with a location.
fn payload_at(a: &mut Asm, location: u32) -> u32 {
    let [_, variable] = payload(a, 5338);
    a.decorate(&[variable, 30, location]);
    variable
}

/// Adds a trace that names its payload by a number.
fn trace_by_number(a: &mut Asm, number: u32) {
    let (operands, time, number) = (trace_operands(a), a.value(F32), a.u(number));
    a.i(op::OpTraceMotionNV, &[&operands[..], &[time, number]].concat());
}

fn traced(a: &mut Asm) {
    declare(a);
    let [first, _] = [3, 5].map(|location| payload_at(a, location));
    let (operands, time) = (trace_operands(a), a.value(F32));
    a.i(op::OpTraceRayMotionNV, &[&operands[..], &[time, first]].concat());
    trace_by_number(a, 5);
}

fn time(a: &mut Asm) {
    declare(a);
    let float = a.ty(F32);
    let variable = a.interface(1, float, [11, TIME]);
    let value = a.r(op::OpLoad, float, &[variable]);
    a.keep(F32, value);
}

fn keep_time(a: &mut Asm, object: u32, getter: u16) {
    let float = a.ty(F32);
    let value = a.r(getter, float, &[object]);
    a.keep(F32, value);
}

fn hit_objects(a: &mut Asm) {
    let ty = hit_object_type(a, true);
    declare(a);
    let (object, payload) = (a.variable(6, ty, &[]), payload(a, 5338)[1]);
    let (trace, time, word) = (trace_operands(a), a.value(F32), a.u(1));
    let (hint, bits) = (a.value(U32), a.u(3));
    a.i(op::OpHitObjectTraceRayMotionEXT, &[&[object], &trace[..], &[time, payload]].concat());
    keep_time(a, object, op::OpHitObjectGetCurrentTimeEXT);
    a.i(op::OpHitObjectTraceMotionReorderExecuteEXT, &[&[object], &trace[..], &[time, payload]].concat());
    a.i(op::OpHitObjectTraceMotionReorderExecuteEXT, &[&[object], &trace[..], &[time, payload, hint, bits]].concat());
    let ray = ray(a);
    a.i(op::OpHitObjectRecordMissMotionEXT, &[&[object, word, word], &ray[..], &[time]].concat());
    keep_time(a, object, op::OpHitObjectGetCurrentTimeEXT);
}

fn hit_objects_nv(a: &mut Asm) {
    let ty = hit_object_type(a, false);
    declare(a);
    let (object, vector) = (a.variable(6, ty, &[]), a.ty(F2));
    let (attribute, payload) = (a.variable(5385, vector, &[]), payload(a, 5338)[1]);
    let (trace, time) = (trace_operands(a), a.value(F32));
    a.i(op::OpHitObjectTraceRayMotionNV, &[&[object], &trace[..], &[time, payload]].concat());
    keep_time(a, object, op::OpHitObjectGetCurrentTimeNV);
    let (structure, ray) = (any_structure(a), ray(a));
    let words = [0, 1, 2, 3, 4, 5].map(|word| a.u(word));
    let tail = [&ray[..], &[time, attribute]].concat();
    a.i(op::OpHitObjectRecordHitMotionNV, &[&[object, structure], &words[..], &tail].concat());
    keep_time(a, object, op::OpHitObjectGetCurrentTimeNV);
    a.i(op::OpHitObjectRecordHitWithIndexMotionNV, &[&[object, structure], &words[..5], &tail].concat());
    keep_time(a, object, op::OpHitObjectGetCurrentTimeNV);
    a.i(op::OpHitObjectRecordMissMotionNV, &[&[object, words[0]], &ray[..], &[time]].concat());
    keep_time(a, object, op::OpHitObjectGetCurrentTimeNV);
}

#[test]
fn the_time_is_a_float() {
    refuses_others(CLOSEST_HIT, "CurrentRayTimeNV", |a, other| {
        declare(a);
        let variable = a.interface(1, other, [11, TIME]);
        a.r(op::OpLoad, other, &[variable]);
        a.ty(F32)
    });
}

/// Times of other types, numbers of no payload, and stages that have no time.
#[test]
fn wrong_instructions_are_refused() {
    let wrong_time = |a: &mut Asm| {
        declare(a);
        let variable = payload_at(a, 0);
        let (operands, time) = (trace_operands(a), a.u(1));
        a.i(op::OpTraceRayMotionNV, &[&operands[..], &[time, variable]].concat());
    };
    let wrong_number = |a: &mut Asm| {
        declare(a);
        payload_at(a, 2);
        trace_by_number(a, 3);
    };
    let variable_number = |a: &mut Asm| {
        declare(a);
        payload_at(a, 2);
        let (operands, time, number) = (trace_operands(a), a.value(F32), a.value(U32));
        a.i(op::OpTraceMotionNV, &[&operands[..], &[time, number]].concat());
    };
    for (model, make) in [
        (RAY_GENERATION, wrong_time as fn(&mut Asm)),
        (RAY_GENERATION, wrong_number),
        (RAY_GENERATION, variable_number),
        (ANY_HIT, traced),
        (RAY_GENERATION, time),
    ] {
        let case = super::case("wrong", model, make);
        let refused = super::compile(&case.words, case.stage).expect_err("a module that is wrong");
        assert_eq!(refused.kind, ErrorKind::Invalid, "{refused}");
    }
}
