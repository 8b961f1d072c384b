//! Modules for spheres and linear swept spheres (SPV_NV_linear_swept_spheres).

use super::super::opcodes::op;
use super::asm::{Asm, BOOL, COMPUTE, F32, Ty};
use super::rays::{
    ANY_HIT, CLOSEST_HIT, F3, RAY_GENERATION, hit_object_type, initialize_with, pair, payload, query_type, ray_tracing,
    refuses_others, trace_operands, trace_with,
};
use super::special::Special;

pub const CASES: &[Special] = &[
    ("built-ins of spheres", ANY_HIT, sphere_builtins),
    ("ray queries of spheres", COMPUTE, sphere_queries),
    ("hit objects of spheres", RAY_GENERATION, sphere_hit_objects),
];

/// Declares spheres and linear swept spheres.
fn declare_spheres(a: &mut Asm) {
    a.capabilities.extend([5418, 5419]);
    a.extensions.insert("SPV_NV_linear_swept_spheres");
}

/// Built-ins of spheres with the shapes of their types.
const SPHERE_BUILTINS: [(u32, Shape); 6] = [
    (5359, Shape::Plain(BOOL)),
    (5360, Shape::Plain(BOOL)),
    (5361, Shape::Plain(F3)),
    (5420, Shape::Plain(F32)),
    (5396, Shape::Two(F3)),
    (5421, Shape::Two(F32)),
];

/// Getters of spheres: those of ray queries, and those of hit objects except one.
const SPHERE_GETTERS: [(u16, Option<u16>, Shape); 7] = [
    (op::OpRayQueryIsSphereHitNV, Some(op::OpHitObjectIsSphereHitNV), Shape::Plain(BOOL)),
    (op::OpRayQueryIsLSSHitNV, Some(op::OpHitObjectIsLSSHitNV), Shape::Plain(BOOL)),
    (op::OpRayQueryGetIntersectionSpherePositionNV, Some(op::OpHitObjectGetSpherePositionNV), Shape::Plain(F3)),
    (op::OpRayQueryGetIntersectionSphereRadiusNV, Some(op::OpHitObjectGetSphereRadiusNV), Shape::Plain(F32)),
    (op::OpRayQueryGetIntersectionLSSPositionsNV, Some(op::OpHitObjectGetLSSPositionsNV), Shape::Two(F3)),
    (op::OpRayQueryGetIntersectionLSSRadiiNV, Some(op::OpHitObjectGetLSSRadiiNV), Shape::Two(F32)),
    (op::OpRayQueryGetIntersectionLSSHitValueNV, None, Shape::Plain(F32)),
];

/// Type of a value of spheres.
#[derive(Clone, Copy)]
enum Shape {
    Plain(Ty),
    /// An array of two elements.
    Two(Ty),
}

impl Shape {
    fn declare(self, a: &mut Asm) -> u32 {
        match self {
            Shape::Plain(ty) => a.ty(ty),
            Shape::Two(ty) => pair(a, ty),
        }
    }

    /// Keeps a value, or the second element of an array.
    fn keep(self, a: &mut Asm, value: u32) {
        match self {
            Shape::Plain(ty) => a.keep(ty, value),
            Shape::Two(ty) => {
                let element = a.ty(ty);
                let value = a.r(op::OpCompositeExtract, element, &[value, 1]);
                a.keep(ty, value);
            }
        }
    }
}

fn sphere_builtins(a: &mut Asm) {
    ray_tracing(a);
    declare_spheres(a);
    for (number, shape) in SPHERE_BUILTINS {
        let ty = shape.declare(a);
        let variable = a.interface(1, ty, [11, number]);
        let value = a.r(op::OpLoad, ty, &[variable]);
        shape.keep(a, value);
    }
}

fn sphere_queries(a: &mut Asm) {
    let ty = query_type(a);
    declare_spheres(a);
    let query = a.variable(6, ty, &[]);
    initialize_with(a, query, 0x100);
    for (opcode, _, shape) in SPHERE_GETTERS {
        for which in [0, 1] {
            let (result, which) = (shape.declare(a), a.u(which));
            let value = a.r(opcode, result, &[query, which]);
            shape.keep(a, value);
        }
    }
}

fn sphere_hit_objects(a: &mut Asm) {
    let ty = hit_object_type(a, false);
    declare_spheres(a);
    let (object, payload) = (a.variable(6, ty, &[]), payload(a, 5338)[1]);
    let trace = trace_operands(a);
    a.i(op::OpHitObjectTraceRayNV, &[&[object], &trace[..], &[payload]].concat());
    for (_, opcode, shape) in SPHERE_GETTERS {
        let Some(opcode) = opcode else { continue };
        let result = shape.declare(a);
        let value = a.r(opcode, result, &[object]);
        shape.keep(a, value);
    }
}

#[test]
fn values_of_spheres_have_one_type() {
    for (of_query, of_object, shape) in SPHERE_GETTERS {
        refuses_others(COMPUTE, &format!("getter {of_query}"), |a, ty| {
            declare_spheres(a);
            let query = query_type(a);
            let (query, one) = (a.variable(6, query, &[]), a.u(1));
            a.r(of_query, ty, &[query, one]);
            shape.declare(a)
        });
        let Some(of_object) = of_object else { continue };
        refuses_others(RAY_GENERATION, &format!("getter {of_object}"), |a, ty| {
            declare_spheres(a);
            let object = hit_object_type(a, false);
            let object = a.variable(6, object, &[]);
            a.r(of_object, ty, &[object]);
            shape.declare(a)
        });
    }
    for (number, shape) in SPHERE_BUILTINS {
        refuses_others(CLOSEST_HIT, &format!("built-in {number}"), |a, other| {
            ray_tracing(a);
            declare_spheres(a);
            let variable = a.interface(1, other, [11, number]);
            a.r(61, other, &[variable]);
            shape.declare(a)
        });
    }
}

/// SkipBuiltinPrimitivesNV is the other name of SkipTrianglesKHR.
#[test]
fn spheres_enable_the_flag_that_skips_built_in_primitives() {
    for (flags, accepted) in [(0x100, true), (0x200, false)] {
        let case = super::case("flags", RAY_GENERATION, |a| {
            let [_, variable] = payload(a, 5338);
            declare_spheres(a);
            trace_with(a, variable, flags);
        });
        assert_eq!(super::compile(&case.words, case.stage).is_ok(), accepted, "{flags:#x}");
    }
}
