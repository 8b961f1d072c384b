//! Instructions that compute a value from values, listed by the kinds of their operands. One module
//! for each type has all instructions that the type allows.

use super::asm::{Asm, BOOL, F32, I32, Scalar, Ty, U32};

/// Types that a row applies to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Int,
    /// Unsigned integers.
    Uint,
    /// Integers of 32 bits, which Vulkan requires for bit operations.
    Int32,
    Float,
    /// Floats of 32 or 16 bits, which GLSL.std.450 requires for most operations.
    Small,
    Float32,
    Bool,
    Any,
}

impl Of {
    fn takes(self, ty: Ty) -> bool {
        match (self, ty.of) {
            (Of::Any, _) | (Of::Bool, Scalar::Bool) | (Of::Uint, Scalar::Uint(_)) => true,
            (Of::Int, Scalar::Int(_) | Scalar::Uint(_)) | (Of::Float, Scalar::Float(_)) => true,
            (Of::Int32, Scalar::Int(w) | Scalar::Uint(w)) | (Of::Float32, Scalar::Float(w)) => w == 32,
            (Of::Small, Scalar::Float(w)) => w < 64,
            _ => false,
        }
    }
}

/// A row: opcode or extended instruction, types, and letters for result and operands.
///
/// - `s` is the type, `e` its component, and `d` a structure of two values of the type.
/// - `b` stands for booleans, and `n` for signed integers of 32 bits, with as many components.
/// - `u` is a word and `o` a boolean.
/// - Digits are literals, and `L` stands for as many literals as components.
/// - A leading `V` means vectors only, and a leading `3` means three components.
type Row = (u16, Of, &'static str);

#[rustfmt::skip]
const OPERATIONS: &[Row] = &[
    (77, Of::Any, "Vesu"), (78, Of::Any, "Vsseu"), (79, Of::Any, "VsssL"), (81, Of::Any, "Ves1"), (82, Of::Any, "Vses1"), (83, Of::Any, "ss"),
    (126, Of::Int, "ss"), (127, Of::Float, "ss"), (128, Of::Int, "sss"), (129, Of::Float, "sss"), (130, Of::Int, "sss"), (131, Of::Float, "sss"),
    (132, Of::Int, "sss"), (133, Of::Float, "sss"), (134, Of::Uint, "sss"), (135, Of::Int, "sss"), (136, Of::Float, "sss"), (137, Of::Uint, "sss"),
    (138, Of::Int, "sss"), (139, Of::Int, "sss"), (140, Of::Float, "sss"), (141, Of::Float, "sss"), (142, Of::Float, "Vsse"), (148, Of::Float, "Vess"),
    (149, Of::Uint, "dss"), (150, Of::Uint, "dss"), (151, Of::Uint, "dss"), (152, Of::Int, "dss"), (154, Of::Bool, "Vob"), (155, Of::Bool, "Vob"),
    (156, Of::Float, "bs"), (157, Of::Float, "bs"), (164, Of::Bool, "sss"), (165, Of::Bool, "sss"), (166, Of::Bool, "sss"), (167, Of::Bool, "sss"),
    (168, Of::Bool, "ss"), (169, Of::Any, "sbss"), (170, Of::Int, "bss"), (171, Of::Int, "bss"), (172, Of::Int, "bss"), (173, Of::Int, "bss"),
    (174, Of::Int, "bss"), (175, Of::Int, "bss"), (176, Of::Int, "bss"), (177, Of::Int, "bss"), (178, Of::Int, "bss"), (179, Of::Int, "bss"),
    (180, Of::Float, "bss"), (181, Of::Float, "bss"), (182, Of::Float, "bss"), (183, Of::Float, "bss"), (184, Of::Float, "bss"), (185, Of::Float, "bss"),
    (186, Of::Float, "bss"), (187, Of::Float, "bss"), (188, Of::Float, "bss"), (189, Of::Float, "bss"), (190, Of::Float, "bss"), (191, Of::Float, "bss"),
    (194, Of::Int, "sss"), (195, Of::Int, "sss"), (196, Of::Int, "sss"), (197, Of::Int, "sss"), (198, Of::Int, "sss"), (199, Of::Int, "sss"),
    (200, Of::Int, "ss"), (201, Of::Int, "sssuu"), (202, Of::Int, "ssuu"), (203, Of::Int, "ssuu"), (204, Of::Int, "ss"), (205, Of::Int, "ss"),
    (116, Of::Float32, "ss"),
];

/// Rows of GLSL.std.450.
#[rustfmt::skip]
const EXTENDED: &[Row] = &[
    (1, Of::Float, "ss"), (2, Of::Float, "ss"), (3, Of::Float, "ss"), (4, Of::Float, "ss"), (5, Of::Int, "ss"), (6, Of::Float, "ss"), (7, Of::Int, "ss"),
    (8, Of::Float, "ss"), (9, Of::Float, "ss"), (10, Of::Float, "ss"), (11, Of::Small, "ss"), (12, Of::Small, "ss"), (13, Of::Small, "ss"), (14, Of::Small, "ss"),
    (15, Of::Small, "ss"), (16, Of::Small, "ss"), (17, Of::Small, "ss"), (18, Of::Small, "ss"), (19, Of::Small, "ss"), (20, Of::Small, "ss"), (21, Of::Small, "ss"),
    (22, Of::Small, "ss"), (23, Of::Small, "ss"), (24, Of::Small, "ss"), (25, Of::Small, "sss"), (26, Of::Small, "sss"), (27, Of::Small, "ss"), (28, Of::Small, "ss"),
    (29, Of::Small, "ss"), (30, Of::Small, "ss"), (31, Of::Float, "ss"), (32, Of::Float, "ss"), (36, Of::Float, "ds"), (37, Of::Float, "sss"), (38, Of::Int, "sss"),
    (39, Of::Int, "sss"), (40, Of::Float, "sss"), (41, Of::Int, "sss"), (42, Of::Int, "sss"), (43, Of::Float, "ssss"), (44, Of::Int, "ssss"), (45, Of::Int, "ssss"),
    (46, Of::Float, "ssss"), (48, Of::Float, "sss"), (49, Of::Float, "ssss"), (50, Of::Float, "ssss"), (53, Of::Float, "ssn"), (66, Of::Float, "es"), (67, Of::Float, "ess"),
    (68, Of::Float, "3sss"), (69, Of::Float, "ss"), (70, Of::Float, "ssss"), (71, Of::Float, "sss"), (72, Of::Float, "ssse"), (73, Of::Int32, "ss"), (74, Of::Int32, "ss"),
    (75, Of::Int32, "ss"), (79, Of::Float, "sss"), (80, Of::Float, "sss"), (81, Of::Float, "ssss"),
];

/// Subgroup operations, each with its capability. The letter `S` stands for the scope.
#[rustfmt::skip]
const GROUPS: &[(u32, Row)] = &[
    (62, (336, Of::Any, "oSs")), (64, (337, Of::Any, "sSsu")), (64, (338, Of::Any, "sSs")),
    (65, (345, Of::Any, "sSsu")), (65, (346, Of::Any, "sSsu")), (66, (347, Of::Any, "sSsu")), (66, (348, Of::Any, "sSsu")),
    (63, (349, Of::Int, "sS0s")), (63, (349, Of::Int, "sS1s")), (63, (349, Of::Int, "sS2s")), (67, (349, Of::Int, "sS3s4")), (63, (350, Of::Float, "sS0s")), (67, (350, Of::Float, "sS3s4")),
    (63, (351, Of::Int, "sS1s")), (63, (352, Of::Float, "sS2s")), (63, (353, Of::Int, "sS0s")), (63, (354, Of::Uint, "sS0s")), (63, (355, Of::Float, "sS1s")), (63, (356, Of::Int, "sS2s")),
    (63, (357, Of::Uint, "sS0s")), (63, (358, Of::Float, "sS0s")), (63, (359, Of::Int, "sS1s")), (63, (360, Of::Int, "sS0s")), (63, (361, Of::Int, "sS2s")),
    (63, (362, Of::Bool, "sS0s")), (63, (363, Of::Bool, "sS1s")), (63, (364, Of::Bool, "sS2s")), (68, (365, Of::Any, "sSsQ")), (68, (366, Of::Any, "sSsQ")),
    (6026, (4431, Of::Any, "sSsu")), (6026, (4431, Of::Any, "sSsu4")),
];

/// Returns all scalar and vector types.
pub fn types() -> Vec<Ty> {
    let widths = [8, 16, 32, 64];
    let mut list = vec![Scalar::Bool];
    list.extend(widths.map(Scalar::Int));
    list.extend(widths.map(Scalar::Uint));
    list.extend([16, 32, 64].map(Scalar::Float));
    list.iter().flat_map(|&of| (1..=4).map(move |rows| Ty::new(of, rows))).collect()
}

/// Adds the instruction of a row and a use of its result.
fn add(a: &mut Asm, ty: Ty, (number, of, letters): Row, glsl: bool) {
    let letters = letters.as_bytes();
    let (only, letters) = match letters[0] {
        b'V' => (ty.rows > 1, &letters[1..]),
        b'3' => (ty.rows == 3, &letters[1..]),
        _ => (true, letters),
    };
    if !only || !of.takes(ty) {
        return;
    }
    let typed = |letter: u8| match letter {
        b'b' => ty.of(Scalar::Bool),
        b'e' => ty.element(),
        b'n' => ty.of(Scalar::Int(32)),
        b'u' => U32,
        b'o' => BOOL,
        _ => ty,
    };
    let literals = !glsl && number <= 82;
    let mut group = false;
    let operands = letters[1..].iter().filter(|&&letter| letter != b'L');
    let mut args: Vec<u32> = operands
        .map(|&letter| match letter {
            b'S' => {
                group = true;
                a.u(3)
            }
            b'Q' => a.u(1),
            // For group operations, the operation is a literal, but the cluster size is not.
            b'4' => a.u(4),
            b'0'..=b'9' if literals || group => u32::from(letter - b'0'),
            _ => a.value(typed(letter)),
        })
        .collect();
    if letters.contains(&b'L') {
        args.extend((0..ty.rows).rev());
    }
    let result = typed(letters[0]);
    let inner = a.ty(result);
    let ty = if letters[0] == b'd' { a.global(30, false, &[inner, inner]) } else { inner };
    let value = if glsl { a.glsl(number.into(), ty, &args) } else { a.r(number, ty, &args) };
    if letters[0] == b'd' {
        let parts = [0, 1].map(|i| a.r(81, inner, &[value, i]));
        parts.into_iter().for_each(|part| a.keep(result, part));
    } else {
        a.keep(result, value);
    }
}

/// Adds all operations that take or give values of a type.
pub fn operations(a: &mut Asm, ty: Ty) {
    OPERATIONS.iter().for_each(|&row| add(a, ty, row, false));
    // In Vulkan's environment, the extended instructions accept only integers of 32 bits.
    EXTENDED.iter().for_each(|&row| add(a, ty, row, true));
    let parts: Vec<u32> = (0..ty.rows).map(|_| a.value(ty.element())).collect();
    if ty.rows > 1 {
        let result = a.ty(ty);
        let value = a.r(80, result, &parts);
        a.keep(ty, value);
    }
    conversions(a, ty);
}

fn conversions(a: &mut Asm, ty: Ty) {
    for to in types().into_iter().filter(|to| to.rows == ty.rows) {
        let opcode = match (ty.of, to.of) {
            (Scalar::Float(_), Scalar::Uint(_)) => 109,
            (Scalar::Float(_), Scalar::Int(_)) => 110,
            (Scalar::Int(_), Scalar::Float(_)) => 111,
            (Scalar::Uint(_), Scalar::Float(_)) => 112,
            (Scalar::Int(_) | Scalar::Uint(_), Scalar::Uint(_)) if ty.width() != to.width() => 113,
            (Scalar::Int(_) | Scalar::Uint(_), Scalar::Int(_)) if ty.width() != to.width() => 114,
            (Scalar::Float(_), Scalar::Float(_)) if ty != to => 115,
            _ => 0,
        };
        let bits = ty != to && ty.width() == to.width() && ty.of != Scalar::Bool && to.of != Scalar::Bool;
        for opcode in [opcode, if bits { 124 } else { 0 }].into_iter().filter(|&op| op > 0) {
            let (value, result) = (a.value(ty), a.ty(to));
            let value = a.r(opcode, result, &[value]);
            a.keep(to, value);
        }
    }
}

/// Adds all subgroup operations on values of a type.
pub fn groups(a: &mut Asm, ty: Ty) {
    a.capabilities.insert(61);
    a.extensions.insert("SPV_KHR_subgroup_rotate");
    for &(capability, row) in GROUPS {
        a.capabilities.insert(capability);
        add(a, ty, row, false);
    }
    partitions(a, ty);
}

fn partitions(a: &mut Asm, ty: Ty) {
    a.capabilities.insert(5297);
    a.extensions.insert("SPV_NV_shader_subgroup_partitioned");
    let (value, four) = (a.value(ty), Ty::new(Scalar::Uint(32), 4));
    let (result, masks) = (a.ty(ty), a.ty(four));
    let mask = a.r(5296, masks, &[value]);
    a.keep(four, mask);
    let opcode = match ty.of {
        Scalar::Bool => 363,
        Scalar::Float(_) => 350,
        _ => 349,
    };
    let scope = a.u(3);
    for kind in [6, 7, 8] {
        let value = a.r(opcode, result, &[scope, kind, value, mask]);
        a.keep(ty, value);
    }
}

/// Adds votes and ballots.
pub fn ballots(a: &mut Asm) {
    a.capabilities.extend([61, 62, 64, 68, 5087]);
    a.extensions.insert("SPV_KHR_quad_control");
    let four = Ty::new(Scalar::Uint(32), 4);
    let (bool_ty, word, masks, scope) = (a.ty(BOOL), a.ty(U32), a.ty(four), a.u(3));
    let condition = a.value(BOOL);
    for (opcode, args) in [
        (333, &[scope][..]),
        (334, &[scope, condition]),
        (335, &[scope, condition]),
        (5110, &[condition]),
        (5111, &[condition]),
    ] {
        let value = a.r(opcode, bool_ty, args);
        a.keep(BOOL, value);
    }
    let mask = a.r(339, masks, &[scope, condition]);
    a.keep(four, mask);
    let index = a.value(U32);
    let inverse = a.r(340, bool_ty, &[scope, mask]);
    let bit = a.r(341, bool_ty, &[scope, mask, index]);
    [inverse, bit].into_iter().for_each(|v| a.keep(BOOL, v));
    for args in [&[scope, 0, mask][..], &[scope, 1, mask], &[scope, 2, mask]] {
        let value = a.r(342, word, args);
        a.keep(U32, value);
    }
    for opcode in [343, 344] {
        let value = a.r(opcode, word, &[scope, mask]);
        a.keep(U32, value);
    }
}

/// Adds the votes and ballots of the older extensions.
pub fn old_ballots(a: &mut Asm) {
    a.capabilities.extend([4423, 4431]);
    a.extensions.extend(["SPV_KHR_shader_ballot", "SPV_KHR_subgroup_vote"]);
    let four = Ty::new(Scalar::Uint(32), 4);
    let (bool_ty, float, masks) = (a.ty(BOOL), a.ty(F32), a.ty(four));
    let (condition, value, index) = (a.value(BOOL), a.value(F32), a.value(U32));
    let mask = a.r(4421, masks, &[condition]);
    a.keep(four, mask);
    let first = a.r(4422, float, &[value]);
    let read = a.r(4432, float, &[value, index]);
    [first, read].into_iter().for_each(|v| a.keep(F32, v));
    for opcode in [4428, 4429, 4430] {
        let value = a.r(opcode, bool_ty, &[condition]);
        a.keep(BOOL, value);
    }
}

/// Adds operations on matrices of a component type.
pub fn matrices(a: &mut Asm, of: Scalar, columns: u32, rows: u32) {
    a.capabilities.insert(0);
    let m = Ty { of, rows, columns };
    let (row, column) = (Ty::new(of, columns), Ty::new(of, rows));
    let transposed = Ty { of, rows: columns, columns: rows };
    let square = Ty { of, rows: columns, columns };
    let [x, s, r, c, q] = [m, m.element(), row, column, square].map(|ty| a.value(ty));
    for (opcode, result, args) in [
        (84, transposed, vec![x]),
        (143, m, vec![x, s]),
        (144, row, vec![c, x]),
        (145, column, vec![x, r]),
        (146, m, vec![x, q]),
        (147, m, vec![c, r]),
    ] {
        let ty = a.ty(result);
        let value = a.r(opcode, ty, &args);
        a.keep(result, value);
    }
    if columns == rows {
        let ty = a.ty(m);
        let inverse = a.glsl(34, ty, &[x]);
        a.keep(m, inverse);
        let ty = a.ty(s_of(m));
        let determinant = a.glsl(33, ty, &[x]);
        a.keep(s_of(m), determinant);
    }
}

fn s_of(m: Ty) -> Ty {
    m.element()
}

/// Adds packing, and instructions that return structures or store through a pointer.
pub fn packing(a: &mut Asm) {
    let f = |rows| Ty::new(Scalar::Float(32), rows);
    let double = Ty::new(Scalar::Float(64), 1);
    for (number, to, from) in [
        (54, U32, f(4)),
        (55, U32, f(4)),
        (56, U32, f(2)),
        (57, U32, f(2)),
        (58, U32, f(2)),
        (59, double, Ty::new(Scalar::Uint(32), 2)),
        (60, f(2), U32),
        (61, f(2), U32),
        (62, f(2), U32),
        (63, f(4), U32),
        (64, f(4), U32),
        (65, Ty::new(Scalar::Uint(32), 2), double),
    ] {
        let (value, ty) = (a.value(from), a.ty(to));
        let value = a.glsl(number, ty, &[value]);
        a.keep(to, value);
    }
    for rows in 1..=4 {
        let (float, int) = (f(rows), Ty::new(Scalar::Int(32), rows));
        let (value, ty, ints) = (a.value(float), a.ty(float), a.ty(int));
        let (whole, exponent) = (a.variable(6, ty, &[]), a.variable(6, ints, &[]));
        let parts = [a.glsl(35, ty, &[value, whole]), a.glsl(51, ty, &[value, exponent])];
        parts.into_iter().for_each(|part| a.keep(float, part));
        let [whole, exponent] = [(ty, whole), (ints, exponent)].map(|(ty, place)| a.r(61, ty, &[place]));
        a.keep(float, whole);
        a.keep(int, exponent);
        let both = a.global(30, false, &[ty, ints]);
        let both = a.glsl(52, both, &[value]);
        let [part, exponent] = [(ty, 0), (ints, 1)].map(|(ty, i)| a.r(81, ty, &[both, i]));
        a.keep(float, part);
        a.keep(int, exponent);
    }
}

/// Adds dot products of small integers, in vectors and packed in words.
pub fn dots(a: &mut Asm) {
    a.capabilities.extend([6016, 6017, 6018, 6019]);
    for (opcode, signs) in [(4450, [true, true]), (4451, [false, false]), (4452, [true, false])] {
        for (width, rows) in [(8, 4), (8, 2), (16, 4), (16, 3), (32, 2), (0, 1)] {
            let sign = |signed| if signed { Scalar::Int(width) } else { Scalar::Uint(width) };
            let packed: &[u32] = if width == 0 { &[0] } else { &[] };
            let [x, y] = signs.map(|signed| a.value(if width == 0 { U32 } else { Ty::new(sign(signed), rows) }));
            let result = if opcode == 4451 { U32 } else { I32 };
            let (ty, sum) = (a.ty(result), a.value(result));
            let value = a.r(opcode, ty, &[&[x, y], packed].concat());
            a.keep(result, value);
            let value = a.r(opcode + 3, ty, &[&[x, y, sum], packed].concat());
            a.keep(result, value);
        }
    }
}

/// Adds dot products of halves, bfloat16 and floats of 8 bits.
pub fn mixed_dots(a: &mut Asm) {
    a.capabilities.extend([5116, 4212, 6912, 6913, 6914, 6915]);
    a.extensions.extend(["SPV_KHR_bfloat16", "SPV_EXT_float8", "SPV_VALVE_mixed_float_dot_product"]);
    let half = Ty::new(Scalar::Float(16), 1);
    let (float, halves) = (a.ty(F32), a.ty(half));
    let [brain, e4m3, e5m2] = [[16, 0], [8, 4214], [8, 4215]].map(|encoding| a.global(22, false, &encoding));
    let (word, sum) = (a.value(U32), a.value(F32));
    // Each row has opcode, component type, number of components and result type.
    for (opcode, elem, n, result) in [
        (6916, halves, 2, float),
        (6917, halves, 2, halves),
        (6916, brain, 2, float),
        (6917, brain, 2, brain),
        (6918, e4m3, 4, float),
        (6918, e5m2, 4, float),
    ] {
        let vector = a.global(23, false, &[elem, n]);
        let x = a.r(124, vector, &[word]);
        let accumulator = if result == float { sum } else { a.r(81, elem, &[x, 0]) };
        let mut value = a.r(opcode, result, &[x, x, accumulator]);
        if result != float {
            value = a.r(115, float, &[value]);
        }
        a.keep(F32, value);
    }
}
