//! Modules for everything that does not compute a value from values: memory, atomics, images,
//! control flow and interfaces of stages. It also has capabilities that only allow something.

use super::asm::{
    Asm, BOOL, COMPUTE, CONTROL, EVALUATION, F32, FRAGMENT, GEOMETRY, I32, MESH, Made, Scalar, TASK, Ty, U32, VERTEX,
    text,
};

pub type Special = (&'static str, u32, fn(&mut Asm));

/// Opcodes that every module has, that have no effect on the compiler, or that belong to other
/// environments and have a meaning all the same.
#[rustfmt::skip]
pub const ELSEWHERE: &[u16] = &[
    0, 2, 3, 4, 5, 6, 7, 8, 10, 11, 14, 15, 16, 17, 31, 54, 56, 64, 70, 71, 72, 162, 163, 248, 253, 256, 257, 317, 330, 4433, 4472, 5341, 5358,
];

/// Opcodes that the specification reserves for a future version, although a capability enables
/// them.
pub const RESERVED: [u16; 11] = [309, 310, 311, 312, 5249, 5250, 5251, 5256, 5306, 5312, 5317];

const F4: Ty = Ty::new(Scalar::Float(32), 4);
const F3: Ty = Ty::new(Scalar::Float(32), 3);
const F2: Ty = Ty::new(Scalar::Float(32), 2);
const I2: Ty = Ty::new(Scalar::Int(32), 2);
const U3: Ty = Ty::new(Scalar::Uint(32), 3);

pub const CASES: &[Special] = &[
    ("control flow", COMPUTE, control_flow),
    ("conversions of cooperative matrices", COMPUTE, matrix_conversions),
    ("memory", COMPUTE, memory),
    ("barriers", COMPUTE, barriers),
    ("constants", COMPUTE, constants),
    ("derivatives", FRAGMENT, derivatives),
    ("derivatives of lines", COMPUTE, line_derivatives),
    ("derivatives of lines in a task", TASK, task_derivatives),
    ("inputs of 16 bits", FRAGMENT, small_inputs),
    ("transform feedback", VERTEX, transform_feedback),
    ("variable pointers", COMPUTE, variable_pointers),
    ("physical pointers", COMPUTE, physical_pointers),
    ("untyped pointers", COMPUTE, untyped_pointers),
    ("raw access chains", COMPUTE, raw_access_chains),
    ("descriptor heaps", COMPUTE, descriptor_heaps),
    ("coverage behind depth", FRAGMENT, post_depth_coverage),
    ("one invocation of a pixel after the other", FRAGMENT, pixel_interlock),
    ("one invocation of a sample after the other", FRAGMENT, sample_interlock),
    ("stencil", FRAGMENT, stencil),
    ("stencil with early and late tests", FRAGMENT, early_and_late_stencil),
    ("early tests that late ones may follow", FRAGMENT, early_and_late),
    ("vertices that are made", GEOMETRY, made_vertices),
    ("patches that are made", CONTROL, made_patches),
    ("places in patches", EVALUATION, patch_places),
    ("meshes that are asked for", TASK, asked_meshes),
    ("meshes that are made", MESH, made_meshes),
    ("float controls", COMPUTE, float_controls),
    ("clock", COMPUTE, clock),
    ("the device's scope", COMPUTE, device_scope),
    ("expectations", COMPUTE, expectations),
    ("ends", FRAGMENT, ends),
    ("decorations", COMPUTE, decorations),
];

/// Returns the cases that tables define.
pub fn tables() -> Vec<Made> {
    let mut list: Vec<Made> = Vec::new();
    for &(class, ty, capability, op, operands) in ATOMICS {
        list.push((
            format!("atomic {op} of {ty:?} in {class}"),
            COMPUTE,
            Box::new(move |a| {
                atomic(a, class, ty, capability, (op, operands));
            }),
        ));
    }
    for &(capability, model, number, ty, count) in BUILTINS {
        list.push((format!("built-in {number}"), model, Box::new(move |a| builtin(a, capability, number, ty, count))));
    }
    for &(capability, set, extension) in INDEXED {
        list.push((
            format!("indexed {capability}"),
            COMPUTE,
            Box::new(move |a| indexed(a, capability, set, extension)),
        ));
    }
    list
}

fn derivatives(a: &mut Asm) {
    a.capabilities.insert(51);
    for ty in [F32, F2, F4] {
        let (value, result) = (a.value(ty), a.ty(ty));
        for op in 207..=215 {
            let value = a.r(op, result, &[value]);
            a.keep(ty, value);
        }
    }
}

fn line_derivatives(a: &mut Asm) {
    a.capabilities.insert(5350);
    // The older name is declared too, because SPIRV-Tools may know only that one.
    a.extensions.extend(["SPV_KHR_compute_shader_derivatives", "SPV_NV_compute_shader_derivatives"]);
    a.modes.push(vec![5290]);
    derivatives(a);
}

fn task_derivatives(a: &mut Asm) {
    line_derivatives(a);
    asked_meshes(a);
}

fn small_inputs(a: &mut Asm) {
    a.capabilities.insert(4436);
    let ty = a.ty(F16);
    let variable = a.interface(1, ty, [30, 0]);
    let value = a.r(61, ty, &[variable]);
    a.keep(F16, value);
}

fn transform_feedback(a: &mut Asm) {
    a.capabilities.insert(53);
    a.modes.push(vec![11]);
    for (number, ty) in (0..).zip([F32, F4, Ty::new(Scalar::Float(64), 1)]) {
        let (of, value) = (a.ty(ty), a.value(ty));
        let variable = a.interface(3, of, [30, number]);
        for [decoration, value] in [[36, number], [37, 16 + 8 * number], [35, 8 * number]] {
            a.decorate(&[variable, decoration, value]);
        }
        a.i(62, &[variable, value]);
    }
}

fn variable_pointers(a: &mut Asm) {
    a.capabilities.extend([4441, 4442]);
    let (condition, x, y, word) = (a.value(BOOL), a.place(U32), a.place(U32), a.ty(U32));
    let pointer = a.pointer(12, word);
    let chosen = a.r(169, pointer, &[condition, x, y]);
    let value = a.r(61, word, &[chosen]);
    a.keep(U32, value);
}

fn physical_pointers(a: &mut Asm) {
    a.capabilities.insert(5347);
    a.memory_model = [5348, 1];
    let (number, word, wide) = (a.value(U64), a.ty(U32), a.ty(U64));
    let pointer = a.pointer(5349, word);
    let place = a.r(120, pointer, &[number]);
    let value = a.r(61, word, &[place, 2, 4]);
    a.keep(U32, value);
    let number = a.r(117, wide, &[place]);
    a.keep(U64, number);
}

fn untyped_pointers(a: &mut Asm) {
    a.capabilities.extend([4473, 4441]);
    a.extensions.insert("SPV_KHR_untyped_pointers");
    let (block, word, zero, four) = (a.block(U32), a.ty(U32), a.u(0), a.u(4));
    let pointer = a.global(4417, false, &[12]);
    let variable = a.untyped(pointer, block);
    let place = a.r(4420, pointer, &[block, variable, zero]);
    let other = a.r(4424, pointer, &[word, place, zero]);
    a.i(4426, &[place, four]);
    for place in [place, other] {
        let value = a.r(61, word, &[place]);
        a.keep(U32, value);
    }
}

fn raw_access_chains(a: &mut Asm) {
    a.capabilities.extend([5347, 5414]);
    a.extensions.insert("SPV_NV_raw_access_chains");
    a.memory_model = [5348, 1];
    let block = a.block(U32);
    let (buffer, number, [index, stride]) = (a.bound(12, block, 0), a.value(U64), [3, 16].map(|n| a.u(n)));
    let word = a.ty(U32);
    let physical = a.pointer(5349, word);
    let address = a.r(120, physical, &[number]);
    for ty in [U32, F2, U3, F4] {
        let (of, offset) = (a.ty(ty), a.value(U32));
        let [near, far] = [12, 5349].map(|class| a.pointer(class, of));
        for (pointer, base, checks) in [
            (near, buffer, &[][..]),
            (near, buffer, &[0]),
            (near, buffer, &[1]),
            (near, buffer, &[2]),
            (far, address, &[]),
        ] {
            let place = a.r(5398, pointer, &[&[base, stride, index, offset], checks].concat());
            a.decorate(&[place, 21]);
            let value = a.r(61, of, &[place, 2, 4]);
            a.keep(ty, value);
            a.i(62, &[place, value, 2, 4]);
        }
    }
}

fn descriptor_heaps(a: &mut Asm) {
    a.capabilities.extend([4473, 5128]);
    a.extensions.extend(["SPV_KHR_untyped_pointers", "SPV_EXT_descriptor_heap"]);
    let [word, float, four] = [U32, F32, F4].map(|ty| a.ty(ty));
    let [zero, one] = [0, 1].map(|n| a.u(n));
    let opaque = a.global(4417, false, &[0]);
    let [samplers, resources] = [5122, 5123].map(|number| a.heap(opaque, number));
    let buffer = a.global(5115, false, &[12]);
    let void = a.void();
    let nothing = a.global(25, false, &[void, 1, 0, 0, 0, 0, 0]);
    let sizes = [nothing, buffer].map(|ty| a.global(5129, true, &[word, ty]));
    let size = a.global(52, true, &[word, 134, sizes[0], sizes[1]]);
    let size = a.global(52, true, &[word, 132, size, sizes[1]]);
    let (stored, sampled) =
        (a.global(25, false, &[word, 1, 0, 0, 0, 2, 33]), a.global(25, false, &[float, 1, 0, 0, 0, 1, 0]));
    let (sampler, both) = (a.global(26, false, &[]), a.global(27, false, &[sampled]));
    let buffers = a.global(29, false, &[buffer]);
    a.decoration(332, &[buffers, 5124, size]);
    let images = a.global(30, false, &[stored, sampled]);
    a.member(&[images, 0, 35, 0]);
    a.decoration(5127, &[images, 1, 5125, size]);
    // The descriptor is that of a buffer.
    let place = a.r(4419, opaque, &[buffers, resources, one]);
    let pointer = a.pointer(12, word);
    // The pointer may have the decorations of a memory object declaration, of which compilers use
    // NonWritable.
    for decorations in [&[][..], &[24], &[24, 19], &[21, 23, 25]] {
        let place = a.r(5119, pointer, &[place]);
        decorations.iter().for_each(|&decoration| a.decorate(&[place, decoration]));
        let value = a.r(61, word, &[place]);
        a.keep(U32, value);
    }
    // The heap also contains data.
    let words = a.global(23, false, &[word, 4]);
    let place = a.r(4419, opaque, &[words, resources, one]);
    let value = a.r(61, word, &[place]);
    a.keep(U32, value);
    // An atomic accesses a texel of a storage image.
    let place = a.r(4419, opaque, &[images, resources, zero]);
    let (texels, at) = (a.global(4417, false, &[11]), a.value(I2));
    let place = a.r(5126, texels, &[stored, place, at, zero]);
    let value = a.r(234, word, &[place, one, zero, one]);
    a.keep(U32, value);
    // An image is sampled.
    let place = a.r(4419, opaque, &[images, resources, one]);
    let image = a.r(61, sampled, &[place]);
    let place = a.r(4419, opaque, &[sampler, samplers]);
    let own = a.r(61, sampler, &[place]);
    let image = a.r(86, both, &[image, own]);
    let (at, level) = (a.value(F2), a.value(F32));
    let value = a.r(88, four, &[image, at, 2, level]);
    a.keep(F4, value);
}

fn post_depth_coverage(a: &mut Asm) {
    a.capabilities.insert(4447);
    a.extensions.insert("SPV_KHR_post_depth_coverage");
    a.modes.extend([vec![9], vec![4446]]);
    builtin(a, 4447, 20, I32, 1);
}

fn pixel_interlock(a: &mut Asm) {
    interlock(a, 5378, 5366);
}

fn sample_interlock(a: &mut Asm) {
    interlock(a, 5363, 5369);
}

fn interlock(a: &mut Asm, capability: u32, mode: u32) {
    a.capabilities.insert(capability);
    a.extensions.insert("SPV_EXT_fragment_shader_interlock");
    a.modes.push(vec![mode]);
    a.i(5364, &[]);
    a.i(5365, &[]);
}

fn made_vertices(a: &mut Asm) {
    a.capabilities.extend([2, 24, 54]);
    let (four, one, zero) = (a.ty(F4), a.u(1), a.u(0));
    let points = a.global(28, false, &[four, one]);
    let input = a.interface(1, points, [30, 0]);
    let output = a.interface(3, four, [30, 0]);
    let float = a.ty(F32);
    let size = a.interface(3, float, [11, 1]);
    let pointer = a.pointer(1, four);
    let place = a.r(65, pointer, &[input, zero]);
    let color = a.r(61, four, &[place]);
    let wide = a.value(F32);
    a.i(62, &[output, color]);
    a.i(62, &[size, wide]);
    a.i(218, &[]);
    a.i(219, &[]);
    a.i(220, &[zero]);
    a.i(221, &[zero]);
}

/// Adds a tessellation control stage that copies a vertex of the input patch to the output patch
/// and, after a barrier, writes a level.
fn made_patches(a: &mut Asm) {
    a.capabilities.extend([3, 23]);
    let (four, three, zero) = (a.ty(F4), a.u(3), a.u(0));
    let vertices = a.global(28, false, &[four, three]);
    let input = a.interface(1, vertices, [30, 0]);
    let output = a.interface(3, vertices, [30, 0]);
    let (float, two) = (a.ty(F32), a.u(2));
    let levels = a.global(28, false, &[float, two]);
    let inner = a.interface(3, levels, [11, 12]);
    builtin(a, 3, 8, U32, 0);
    builtin(a, 3, 14, U32, 0);
    let pointer = a.pointer(1, four);
    let place = a.r(65, pointer, &[input, zero]);
    let color = a.r(61, four, &[place]);
    let pointer = a.pointer(3, four);
    let place = a.r(65, pointer, &[output, zero]);
    a.i(62, &[place, color]);
    let (patch, invocation, nothing) = (a.u(2), a.u(4), a.u(0));
    a.i(224, &[patch, invocation, nothing]);
    let pointer = a.pointer(3, float);
    let place = a.r(65, pointer, &[inner, zero]);
    let level = a.value(F32);
    a.i(62, &[place, level]);
}

fn patch_places(a: &mut Asm) {
    a.capabilities.extend([3, 23]);
    let (four, three, zero) = (a.ty(F4), a.u(3), a.u(0));
    let vertices = a.global(28, false, &[four, three]);
    let input = a.interface(1, vertices, [30, 0]);
    let output = a.interface(3, four, [30, 0]);
    let float = a.ty(F32);
    let count = a.u(4);
    let levels = a.global(28, false, &[float, count]);
    let outer = a.interface(1, levels, [11, 11]);
    builtin(a, 3, 13, Ty::new(Scalar::Float(32), 3), 0);
    let pointer = a.pointer(1, float);
    let place = a.r(65, pointer, &[outer, zero]);
    a.r(61, float, &[place]);
    let pointer = a.pointer(1, four);
    let place = a.r(65, pointer, &[input, zero]);
    let color = a.r(61, four, &[place]);
    a.i(62, &[output, color]);
}

fn asked_meshes(a: &mut Asm) {
    a.capabilities.insert(5283);
    a.extensions.insert("SPV_EXT_mesh_shader");
    let (count, one, behind) = (a.value(U32), a.u(1), a.id());
    a.i(5294, &[count, one, one]);
    a.label(behind);
}

/// Adds a mesh stage that writes a vertex, and a triangle whose index is not constant.
fn made_meshes(a: &mut Asm) {
    a.capabilities.insert(5283);
    a.extensions.insert("SPV_EXT_mesh_shader");
    let (four, three, two, one) = (a.ty(F4), a.u(3), a.u(2), a.u(1));
    let count = a.u(4);
    let vertices = a.global(28, false, &[four, count]);
    let positions = a.interface(3, vertices, [11, 0]);
    let corners = a.ty(U3);
    let triangles = a.global(28, false, &[corners, two]);
    let indices = a.interface(3, triangles, [11, 5296]);
    a.i(5295, &[three, one]);
    let pointer = a.pointer(3, four);
    let (place, position) = (a.r(65, pointer, &[positions, two]), a.value(F4));
    a.i(62, &[place, position]);
    let (pointer, number) = (a.pointer(3, corners), a.value(U32));
    let (place, all) = (a.r(65, pointer, &[indices, number]), a.value(U3));
    a.i(62, &[place, all]);
}

fn stencil(a: &mut Asm) {
    a.capabilities.insert(5013);
    a.extensions.insert("SPV_EXT_shader_stencil_export");
    a.modes.push(vec![5027]);
    let int = a.ty(I32);
    let (output, value) = (a.interface(3, int, [11, 5014]), a.value(I32));
    a.i(62, &[output, value]);
}

fn early_and_late_stencil(a: &mut Asm) {
    a.extensions.insert("SPV_AMD_shader_early_and_late_fragment_tests");
    a.modes.extend([[5017], [5079], [5083]].map(Vec::from));
    stencil(a);
}

fn early_and_late(a: &mut Asm) {
    a.extensions.insert("SPV_AMD_shader_early_and_late_fragment_tests");
    a.modes.push(vec![5017]);
}

fn float_controls(a: &mut Asm) {
    a.capabilities.extend([4464, 4465, 4466, 4467, 4468, 6029]);
    a.extensions.insert("SPV_KHR_float_controls2");
    a.modes.extend([vec![4459, 16], vec![4460, 32], vec![4462, 32], vec![4463, 16]]);
    for ty in [F16, F32] {
        let (value, result) = (a.value(ty), a.ty(ty));
        let sum = a.r(129, result, &[value, value]);
        a.decorate(&[sum, 40, 1]);
        a.keep(ty, sum);
    }
}

fn clock(a: &mut Asm) {
    a.capabilities.insert(5055);
    a.extensions.insert("SPV_KHR_shader_clock");
    let (wide, scope) = (a.ty(U64), a.u(3));
    let time = a.r(5056, wide, &[scope]);
    a.keep(U64, time);
}

fn device_scope(a: &mut Asm) {
    a.capabilities.extend([5345, 5346]);
    a.memory_model = [0, 3];
    atomic(a, 12, U32, 1, (234, 1));
}

fn expectations(a: &mut Asm) {
    a.capabilities.insert(5629);
    a.extensions.insert("SPV_KHR_expect_assume");
    let (condition, value, word, seven) = (a.value(BOOL), a.value(U32), a.ty(U32), a.u(7));
    a.i(5630, &[condition]);
    let value = a.r(5631, word, &[value, seven]);
    a.keep(U32, value);
}

/// Adds blocks that end the invocation, or that cannot be reached.
fn ends(a: &mut Asm) {
    a.capabilities.insert(5379);
    for op in [4416, 252, 255] {
        let condition = a.value(BOOL);
        let [then, merge] = [(); 2].map(|()| a.id());
        a.i(247, &[merge, 0]);
        a.i(250, &[condition, then, merge]);
        a.label(then);
        a.i(op, &[]);
        a.label(merge);
    }
    a.i(5380, &[]);
    let bool_ty = a.ty(BOOL);
    let helper = a.r(5381, bool_ty, &[]);
    a.keep(BOOL, helper);
}

/// Adds decorations by groups, with ids and with strings, and the workgroup's size by ids.
fn decorations(a: &mut Asm) {
    let [group, members] = [(); 2].map(|()| a.id());
    let (x, scope, word) = (a.value(U32), a.u(3), a.ty(U32));
    let inner = a.fresh(30, false, &[word]);
    let variable = a.variable(6, inner, &[]);
    a.decorate(&[group, 0]);
    a.decoration(73, &[group]);
    a.decoration(74, &[group, x]);
    a.decorate(&[members, 0]);
    a.decoration(73, &[members]);
    a.decoration(75, &[members, inner, 0]);
    a.decoration(332, &[x, 27, scope]);
    a.decoration(5632, &[&[variable, 5635], &text("SEMANTIC")[..]].concat());
    a.decoration(5633, &[&[inner, 0, 5635], &text("SEMANTIC")[..]].concat());
    a.keep(U32, x);
    let sizes = [8, 1, 1].map(|n| a.u(n));
    a.modes.clear();
    a.used.insert(331);
    a.id_modes.push([&[38], &sizes[..]].concat());
}

/// Adds conversions of matrices. A compiler's module (`tests/data/cooperative2.comp`) covers
/// instructions that need functions of elements.
fn matrix_conversions(a: &mut Asm) {
    a.capabilities.extend([6022, 5431, 5345]);
    a.memory_model = [0, 3];
    a.extensions.extend(["SPV_KHR_cooperative_matrix", "SPV_NV_cooperative_matrix2"]);
    let (float, scope, rows, columns) = (a.ty(F32), a.u(3), a.u(16), a.u(8));
    let [left, right, sum] = [0, 1, 2].map(|n| a.u(n));
    let matrix = a.global(4456, false, &[float, scope, rows, columns, sum]);
    let [own, turned] = [(rows, columns, left), (columns, rows, right)]
        .map(|(rows, columns, usage)| a.global(4456, false, &[float, scope, rows, columns, usage]));
    let value = a.value(F32);
    let all = a.r(80, matrix, &[value]);
    for (op, ty) in [(5293, own), (5390, turned)] {
        let other = a.r(op, ty, &[all]);
        let element = a.r(81, float, &[other, 0]);
        a.keep(F32, element);
    }
}

fn control_flow(a: &mut Asm) {
    let (word, condition) = (a.ty(U32), a.value(BOOL));
    let [header, then, merge, switch, one, behind, loops, body, next, end] = [(); 10].map(|()| a.id());
    let start = a.id();
    a.i(249, &[start]);
    a.label(start);
    a.i(247, &[merge, 0]);
    a.i(250, &[condition, then, merge]);
    a.label(then);
    let x = a.value(U32);
    a.i(249, &[merge]);
    a.label(merge);
    let zero = a.u(0);
    let phi = a.id();
    a.i(245, &[word, phi, x, then, zero, start]);
    a.i(249, &[switch]);
    a.label(switch);
    a.i(247, &[behind, 0]);
    a.i(251, &[phi, behind, 3, one]);
    a.label(one);
    a.i(249, &[behind]);
    a.label(behind);
    a.i(249, &[header]);
    a.label(header);
    let (i, more) = (a.id(), a.id());
    a.i(245, &[word, i, zero, behind, more, next]);
    a.i(246, &[end, next, 0]);
    a.i(249, &[loops]);
    a.label(loops);
    let limit = a.u(9);
    let bool_ty = a.ty(BOOL);
    let c = a.r(176, bool_ty, &[i, limit]);
    a.i(250, &[c, body, end]);
    a.label(body);
    a.i(249, &[next]);
    a.label(next);
    let one = a.u(1);
    a.i(128, &[word, more, i, one]);
    a.i(249, &[header]);
    a.label(end);
    a.keep(U32, i);
}

fn memory(a: &mut Asm) {
    let (float, vector) = (a.ty(F32), a.ty(F4));
    let [x, y] = [a.variable(6, vector, &[]), a.variable(6, vector, &[])];
    let value = a.value(F4);
    a.i(62, &[x, value]);
    a.i(63, &[y, x]);
    let (pointer, index) = (a.pointer(6, float), a.value(U32));
    let place = a.r(66, pointer, &[y, index]);
    let loaded = a.r(61, float, &[place]);
    a.keep(F32, loaded);
    let undefined = a.r(1, vector, &[]);
    let copied = a.r(83, vector, &[undefined]);
    a.keep(F4, copied);
    let array = a.global(29, false, &[float]);
    a.decorate(&[array, 6, 4]);
    let block = a.fresh(30, false, &[array]);
    a.decorate(&[block, 2]);
    a.member(&[block, 0, 35, 0]);
    let (buffer, word) = (a.bound(12, block, 0), a.ty(U32));
    let length = a.r(68, word, &[buffer, 0]);
    a.keep(U32, length);
}

fn barriers(a: &mut Asm) {
    let (group, order) = (a.u(2), a.u(0x108));
    a.i(224, &[group, group, order]);
    a.i(225, &[group, order]);
}

fn constants(a: &mut Asm) {
    let (bool_ty, word, vector) = (a.ty(BOOL), a.ty(U32), a.ty(Ty::new(Scalar::Uint(32), 2)));
    let yes = a.fresh(48, true, &[bool_ty]);
    let no = a.fresh(49, true, &[bool_ty]);
    let number = a.fresh(50, true, &[word, 7]);
    [(yes, 0), (no, 1), (number, 2)].into_iter().for_each(|(id, n)| a.decorate(&[id, 1, n]));
    let both = a.fresh(51, true, &[vector, number, number]);
    let sum = a.fresh(52, true, &[word, 128, number, number]);
    let (plain, off) = (a.global(41, true, &[bool_ty]), a.global(42, true, &[bool_ty]));
    let pair = a.global(44, true, &[vector, number, number]);
    for value in [yes, no, plain, off] {
        a.keep(BOOL, value);
    }
    [both, pair].into_iter().for_each(|v| a.keep(Ty::new(Scalar::Uint(32), 2), v));
    a.keep(U32, sum);
}

/// Rows of atomics: storage class, type, capability, opcode, number of values.
#[rustfmt::skip]
const ATOMICS: &[(u32, Ty, u32, u16, usize)] = &[
    (12, U32, 1, 227, 0), (12, U32, 1, 228, 1), (12, U32, 1, 229, 1), (4, I32, 1, 230, 2), (12, U32, 1, 232, 0), (4, U32, 1, 233, 0),
    (12, U32, 1, 234, 1), (12, I32, 1, 235, 1), (4, I32, 1, 236, 1), (12, U32, 1, 237, 1), (12, I32, 1, 238, 1), (4, U32, 1, 239, 1),
    (12, U32, 1, 240, 1), (4, U32, 1, 241, 1), (12, I32, 1, 242, 1),
    (12, U64, 12, 234, 1), (4, U64, 12, 229, 1), (12, I64, 12, 236, 1), (12, U64, 12, 230, 2),
    (12, F32, 6033, 6035, 1), (12, F64, 6034, 6035, 1), (4, F16, 6095, 6035, 1),
    (12, H2, 5404, 6035, 1), (4, H4, 5404, 5614, 1), (12, H4, 5404, 5615, 1), (4, H2, 5404, 229, 1),
    (12, F32, 5612, 5614, 1), (12, F64, 5613, 5615, 1), (12, F16, 5616, 5614, 1), (4, F32, 5612, 5615, 1),
];
const U64: Ty = Ty::new(Scalar::Uint(64), 1);
const I64: Ty = Ty::new(Scalar::Int(64), 1);
const F16: Ty = Ty::new(Scalar::Float(16), 1);
const H2: Ty = Ty::new(Scalar::Float(16), 2);
const H4: Ty = Ty::new(Scalar::Float(16), 4);
const F64: Ty = Ty::new(Scalar::Float(64), 1);

fn atomic(a: &mut Asm, class: u32, ty: Ty, capability: u32, (op, values): (u16, usize)) {
    a.capabilities.insert(capability);
    a.extensions.extend(match capability {
        6033 | 6034 => Some("SPV_EXT_shader_atomic_float_add"),
        6095 => Some("SPV_EXT_shader_atomic_float16_add"),
        5404 => Some("SPV_NV_shader_atomic_fp16_vector"),
        5612..=5616 => Some("SPV_EXT_shader_atomic_float_min_max"),
        _ => None,
    });
    let result = a.ty(ty);
    let place = if class == 4 { a.variable(4, result, &[]) } else { a.place(ty) };
    let (scope, order) = (a.u(1), a.u(0));
    let mut args = vec![place, scope, order];
    if values == 2 {
        args.push(order);
    }
    args.extend((0..values).map(|_| a.value(ty)));
    if op == 228 {
        return a.i(op, &args);
    }
    let old = a.r(op, result, &args);
    a.keep(ty, old);
}

/// Rows of built-ins: capability, stage, built-in, type of an element, and number of elements (0
/// for no array).
#[rustfmt::skip]
const BUILTINS: &[(u32, u32, u32, Ty, u32)] = &[
    (1, COMPUTE, 24, U3, 0), (1, COMPUTE, 26, U3, 0), (1, COMPUTE, 27, U3, 0), (1, COMPUTE, 28, U3, 0), (1, COMPUTE, 29, U32, 0),
    (61, COMPUTE, 36, U32, 0), (61, COMPUTE, 38, U32, 0), (61, COMPUTE, 40, U32, 0), (61, COMPUTE, 41, U32, 0),
    (1, VERTEX, 42, I32, 0), (1, VERTEX, 43, I32, 0), (4427, VERTEX, 4424, I32, 0), (4427, VERTEX, 4425, I32, 0), (4427, VERTEX, 4426, I32, 0),
    (4437, VERTEX, 4438, I32, 0), (4439, VERTEX, 4440, I32, 0), (1, FRAGMENT, 15, F4, 0), (1, FRAGMENT, 16, F2, 0), (1, FRAGMENT, 17, BOOL, 0),
    (35, FRAGMENT, 18, I32, 0), (35, FRAGMENT, 19, F2, 0), (1, FRAGMENT, 23, BOOL, 0), (32, FRAGMENT, 3, F32, 2), (33, FRAGMENT, 4, F32, 2),
    (5265, FRAGMENT, 5264, BOOL, 0), (5284, FRAGMENT, 5286, F3, 0), (5284, FRAGMENT, 5287, F3, 0),
    (69, FRAGMENT, 9, I32, 0), (70, FRAGMENT, 10, I32, 0), (57, FRAGMENT, 10, I32, 0), (5254, FRAGMENT, 9, I32, 0), (1, FRAGMENT, 20, I32, 1),
    (4422, FRAGMENT, 4444, I32, 0),
];

fn builtin(a: &mut Asm, capability: u32, number: u32, ty: Ty, count: u32) {
    a.capabilities.insert(capability);
    match capability {
        4422 => _ = a.extensions.insert("SPV_KHR_fragment_shading_rate"),
        5254 => _ = a.extensions.insert("SPV_EXT_shader_viewport_index_layer"),
        5265 => _ = a.extensions.insert("SPV_EXT_fragment_fully_covered"),
        5284 => _ = a.extensions.insert("SPV_KHR_fragment_shader_barycentric"),
        _ => {}
    }
    let element = a.ty(ty);
    let whole = match count {
        0 => element,
        n => {
            let length = a.u(n);
            a.global(28, false, &[element, length])
        }
    };
    let variable = a.interface(1, whole, [11, number]);
    let integer = matches!(ty.of, Scalar::Int(_) | Scalar::Uint(_));
    if integer && a.is_fragment() {
        a.decorate(&[variable, 14]);
    }
    let mut place = variable;
    if count > 0 {
        let (pointer, zero) = (a.pointer(1, element), a.u(0));
        place = a.r(65, pointer, &[variable, zero]);
    }
    let value = a.r(61, element, &[place]);
    a.keep(ty, value);
}

/// Rows of indexed descriptors: capability, set (which is the descriptor's kind), and whether the
/// index is not uniform.
#[rustfmt::skip]
const INDEXED: &[(u32, u32, bool)] = &[
    (28, 1, false), (30, 0, false), (29, 2, false), (31, 5, false), (5304, 6, false), (5305, 7, false),
    (5306, 1, true), (5307, 2, true), (5308, 0, true), (5309, 5, true), (5311, 6, true), (5312, 7, true), (5302, 0, false),
];

/// Adds an array of descriptors at an index that is uniform in a subgroup or, with `apart`, is not.
fn indexed(a: &mut Asm, capability: u32, set: u32, apart: bool) {
    a.capabilities.insert(capability);
    if apart || capability >= 5300 {
        a.capabilities.insert(5301);
    }
    let four = a.u(4);
    let (float, vector) = (a.ty(F32), a.ty(F4));
    let index = if apart {
        let (ids, word) = (a.ty(U3), a.ty(U32));
        let id = a.interface(1, ids, [11, 27]);
        let all = a.r(61, ids, &[id]);
        let x = a.r(81, word, &[all, 0]);
        a.decorate(&[x, 5300]);
        x
    } else {
        a.value(U32)
    };
    let array = |a: &mut Asm, of: u32| match capability {
        5302 => a.global(29, false, &[of]),
        _ => a.global(28, false, &[of, four]),
    };
    if set < 2 {
        let block = a.block(F4);
        let (class, arrays) = (if set == 0 { 12 } else { 2 }, array(a, block));
        let variable = a.bound(class, arrays, set);
        let (pointer, zero) = (a.pointer(class, vector), a.u(0));
        let place = a.r(65, pointer, &[variable, index, zero]);
        if apart {
            a.decorate(&[place, 5300]);
        }
        let value = a.r(61, vector, &[place]);
        return a.keep(F4, value);
    }
    let image = match set {
        2 => a.global(25, false, &[float, 1, 0, 0, 0, 1, 0]),
        5 => a.global(25, false, &[float, 1, 0, 0, 0, 2, 3]),
        6 => {
            a.capabilities.insert(46);
            a.global(25, false, &[float, 5, 0, 0, 0, 1, 0])
        }
        _ => {
            a.capabilities.insert(47);
            a.global(25, false, &[float, 5, 0, 0, 0, 2, 3])
        }
    };
    let held = if set == 2 { a.global(27, false, &[image]) } else { image };
    let arrays = array(a, held);
    let variable = a.bound(0, arrays, set);
    let pointer = a.pointer(0, held);
    let place = a.r(65, pointer, &[variable, index]);
    let loaded = a.r(61, held, &[place]);
    if apart {
        a.decorate(&[place, 5300]);
        a.decorate(&[loaded, 5300]);
    }
    let value = match set {
        2 => {
            let (at, zero) = (a.value(F2), a.value(F32));
            a.r(88, vector, &[loaded, at, 2, zero])
        }
        5 => {
            let at = a.value(I2);
            a.r(98, vector, &[loaded, at])
        }
        6 => {
            let at = a.value(I32);
            a.r(95, vector, &[loaded, at])
        }
        _ => {
            let at = a.value(I32);
            a.r(98, vector, &[loaded, at])
        }
    };
    a.keep(F4, value);
}
