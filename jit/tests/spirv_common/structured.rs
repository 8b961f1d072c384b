//! Mutants that respect the structure of instructions.
//!
//! An operand becomes another one of its type, an opcode another one of its family, a literal one
//! at an edge; types, decorations, modes, blocks and branches are changed as such. Most of these
//! still pass validation, so that they reach the code behind it. They are mixed with those of
//! [`super::mutate`] and with damaged words.

use super::mutate::{self, instructions};
use base::random::XorshiftStar as Rng;
use std::collections::HashMap;

/// Families of opcodes that take roughly the same operands.
const FAMILIES: &[&[u32]] = &[
    &[128, 130, 132, 134, 135, 137, 138, 139, 194, 195, 196, 197, 198, 199],
    &[129, 131, 133, 136, 140, 141],
    &[170, 171, 172, 173, 174, 175, 176, 177, 178, 179],
    &[162, 163, 180, 181, 182, 183, 184, 185, 186, 187, 188, 189, 190, 191],
    &[164, 165, 166, 167],
    &[109, 110, 111, 112, 113, 114, 115, 124],
    &[126, 127, 200, 204, 205, 83, 84],
    &[207, 208, 209, 210, 211, 212, 213, 214, 215],
    &[142, 143, 144, 145, 146, 147, 148],
    &[149, 150, 151, 152],
    &[154, 155, 156, 157],
    &[229, 234, 235, 236, 237, 238, 239, 240, 241, 242, 5614, 5615, 6035],
    &[337, 345, 346, 347, 348, 365, 366],
    &[349, 350, 351, 352, 353, 354, 355, 356, 357, 358, 359, 360, 361, 362, 363, 364],
    &[334, 335, 336, 338, 339],
    &[65, 66, 67, 70],
    &[87, 91, 95, 98],
    &[88, 92],
    &[252, 253, 255, 4416],
    &[28, 29],
    &[43, 50],
    &[44, 51],
    &[4450, 4451, 4452],
    &[4453, 4454, 4455],
];

/// Numbers at which a range begins or ends.
const EDGES: &[u32] = &[
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    16,
    31,
    32,
    33,
    63,
    64,
    255,
    256,
    1023,
    1024,
    0xffff,
    0x1_0000,
    0x10_0000,
    0x7f80_0000,
    0x7fc0_0001,
    0x7fff_fffe,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xff80_0000,
    0xffff_fff8,
    0xffff_fffc,
    0xffff_ffff,
];

/// Decorations, each with whether it has an operand.
const DECORATIONS: &[(u32, bool)] = &[
    (0, false),
    (1, true),
    (2, false),
    (3, false),
    (4, false),
    (6, true),
    (7, true),
    (11, true),
    (13, false),
    (14, false),
    (16, false),
    (17, false),
    (18, false),
    (19, false),
    (20, false),
    (21, false),
    (24, false),
    (25, false),
    (30, true),
    (31, true),
    (33, true),
    (34, true),
    (35, true),
    (39, true),
    (40, true),
    (42, false),
    (5300, false),
];

/// Execution modes, with the number of their operands.
const MODES: &[(u32, usize)] = &[
    (7, 0),
    (9, 0),
    (12, 0),
    (14, 0),
    (15, 0),
    (17, 3),
    (4446, 0),
    (4459, 1),
    (4460, 1),
    (4461, 1),
    (4462, 1),
    (4463, 1),
    (5027, 0),
    (5088, 0),
    (5089, 0),
    (5289, 0),
    (5290, 0),
    (6023, 0),
];

/// Structure of a module, as the changes need it.
struct Shape {
    /// Start and length of every instruction.
    list: Vec<(usize, usize)>,
    /// For every value, its type and the instruction that defines it.
    values: HashMap<u32, (u32, usize)>,
    of_type: HashMap<u32, Vec<u32>>,
    types: Vec<u32>,
    labels: Vec<u32>,
    /// First instruction of a function.
    functions: usize,
}

impl Shape {
    fn of(words: &[u32]) -> Shape {
        let list = instructions(words);
        let (mut values, mut of_type) = (HashMap::new(), HashMap::<u32, Vec<u32>>::new());
        let (mut types, mut labels) = (Vec::new(), Vec::new());
        let mut is_type = HashMap::new();
        let functions = list.iter().position(|&(at, _)| words[at] & 0xffff == 54).unwrap_or(list.len());
        for (n, &(at, len)) in list.iter().enumerate() {
            match (words[at] & 0xffff, len) {
                (19..=33 | 4417 | 4456, 2..) => {
                    types.push(words[at + 1]);
                    is_type.insert(words[at + 1], ());
                }
                (248, 2) => labels.push(words[at + 1]),
                (5..=8 | 14..=17 | 39 | 71..=76, _) => {}
                (_, 3..) if is_type.contains_key(&words[at + 1]) => {
                    values.insert(words[at + 2], (words[at + 1], n));
                    of_type.entry(words[at + 1]).or_default().push(words[at + 2]);
                }
                _ => {}
            }
        }
        Shape { list, values, of_type, types, labels, functions }
    }

    fn any(&self, rng: &mut Rng) -> (usize, usize, usize) {
        let n = rng.below(self.list.len());
        (n, self.list[n].0, self.list[n].1)
    }

    /// Returns an instruction of a function.
    fn inner(&self, rng: &mut Rng) -> (usize, usize, usize) {
        let n = self.functions + rng.below(self.list.len() - self.functions);
        let n = n.min(self.list.len() - 1);
        (n, self.list[n].0, self.list[n].1)
    }

    /// Returns an instruction of one of these opcodes.
    fn one_of(&self, words: &[u32], ops: &[u32], rng: &mut Rng) -> Option<(usize, usize)> {
        let found: Vec<_> = self.list.iter().filter(|&&(at, _)| ops.contains(&(words[at] & 0xffff))).collect();
        (!found.is_empty()).then(|| *found[rng.below(found.len())])
    }
}

/// A change, which keeps the number of words or may change it.
#[derive(Clone, Copy)]
enum Change {
    Words(fn(&mut [u32], &Shape, &mut Rng)),
    Number(fn(&mut Vec<u32>, &Shape, &mut Rng)),
}

/// The changes; those listed twice are twice as likely.
const CHANGES: &[Change] = &[
    Change::Words(other_value),
    Change::Words(other_value),
    Change::Words(other_value),
    Change::Words(other_opcode),
    Change::Words(other_opcode),
    Change::Words(literal_on_an_edge),
    Change::Words(constant),
    Change::Words(constant),
    Change::Words(other_type),
    Change::Words(part_of_a_type),
    Change::Words(part_of_a_type),
    Change::Words(storage_class),
    Change::Number(add_decoration),
    Change::Words(change_decoration),
    Change::Number(mode),
    Change::Words(swap_blocks),
    Change::Words(branch),
    Change::Number(again),
    Change::Number(drop_one),
    Change::Words(extended),
];

/// Replaces an operand by another value of its type.
fn other_value(words: &mut [u32], shape: &Shape, rng: &mut Rng) {
    let (n, at, len) = shape.inner(rng);
    let places: Vec<usize> = (1..len).filter(|&o| shape.values.get(&words[at + o]).is_some_and(|v| v.1 != n)).collect();
    if places.is_empty() {
        return;
    }
    let o = at + rng.pick(&places);
    let ty = shape.values[&words[o]].0;
    let before: Vec<u32> = shape.of_type[&ty].iter().copied().filter(|v| shape.values[v].1 < n).collect();
    if !before.is_empty() {
        words[o] = rng.pick(&before);
    }
}

fn other_opcode(words: &mut [u32], shape: &Shape, rng: &mut Rng) {
    for _ in 0..8 {
        let (_, at, _) = shape.inner(rng);
        let op = words[at] & 0xffff;
        if let Some(family) = FAMILIES.iter().find(|f| f.contains(&op)) {
            words[at] = words[at] & 0xffff_0000 | rng.pick(family);
            return;
        }
    }
}

fn literal_on_an_edge(words: &mut [u32], shape: &Shape, rng: &mut Rng) {
    let (_, at, len) = shape.any(rng);
    if len > 1 {
        words[at + 1 + rng.below(len - 1)] = rng.pick(EDGES);
    }
}

fn constant(words: &mut [u32], shape: &Shape, rng: &mut Rng) {
    if let Some((at, len)) = shape.one_of(words, &[43, 50], rng)
        && len > 3
    {
        words[at + 3 + rng.below(len - 3)] = if rng.chance(80) { rng.pick(EDGES) } else { rng.next() as u32 };
    }
}

fn other_type(words: &mut [u32], shape: &Shape, rng: &mut Rng) {
    let (_, at, len) = shape.any(rng);
    let places: Vec<usize> = (1..len).filter(|&o| shape.types.contains(&words[at + o])).collect();
    if !places.is_empty() {
        words[at + rng.pick(&places)] = rng.pick(&shape.types);
    }
}

/// Changes a width, a sign, a number of components or a property of an image.
fn part_of_a_type(words: &mut [u32], shape: &Shape, rng: &mut Rng) {
    let Some((at, len)) = shape.one_of(words, &[21, 22, 23, 24, 25, 25, 28, 30], rng) else { return };
    let o = 2 + rng.below(len.saturating_sub(2).max(1));
    if o >= len {
        return;
    }
    words[at + o] = match words[at] & 0xffff {
        21 | 22 if o == 2 => rng.pick(&[8, 16, 32, 64]),
        21 => rng.below(2) as u32,
        23 | 24 if o == 3 => 1 + rng.below(4) as u32,
        25 if o > 2 => rng.below(if o == 8 { 42 } else { 7 }) as u32,
        _ => rng.pick(&shape.types),
    };
}

/// Changes the storage class of a pointer's type and of the variables of that type.
fn storage_class(words: &mut [u32], shape: &Shape, rng: &mut Rng) {
    let Some((at, 4)) = shape.one_of(words, &[32], rng) else { return };
    let (ty, class) = (words[at + 1], rng.pick(&[0, 1, 2, 3, 4, 6, 7, 9, 12, 5349]));
    words[at + 2] = class;
    for &(at, len) in &shape.list {
        if words[at] & 0xffff == 59 && len > 3 && words[at + 1] == ty {
            words[at + 3] = class;
        }
    }
}

fn add_decoration(words: &mut Vec<u32>, shape: &Shape, rng: &mut Rng) {
    let Some((to, _)) = shape.one_of(words, &[71, 72], rng) else { return };
    let mut targets: Vec<u32> =
        shape.values.iter().filter(|v| v.1.1 < shape.functions || *v.0 % 8 == 0).map(|v| *v.0).collect();
    // The table's order differs from run to run.
    targets.sort_unstable();
    let target = if rng.chance(50) || targets.is_empty() { rng.pick(&shape.types) } else { rng.pick(&targets) };
    let (kind, operand) = rng.pick(DECORATIONS);
    let mut inst = vec![71, target];
    if rng.chance(40) {
        inst = vec![72, target, rng.below(4) as u32];
    }
    inst.push(kind);
    if operand {
        inst.push(if rng.chance(50) { rng.below(48) as u32 } else { rng.pick(EDGES) });
    }
    inst[0] |= (inst.len() as u32) << 16;
    words.splice(to..to, inst);
}

fn change_decoration(words: &mut [u32], shape: &Shape, rng: &mut Rng) {
    let Some((at, len)) = shape.one_of(words, &[71, 72], rng) else { return };
    let first = if words[at] & 0xffff == 71 { 2 } else { 3 };
    if len > first + 1 && rng.chance(70) {
        words[at + first + 1] = if rng.chance(70) { rng.below(40) as u32 } else { rng.pick(EDGES) };
    } else if len > first {
        words[at + first] = rng.pick(DECORATIONS).0;
    }
}

fn mode(words: &mut Vec<u32>, shape: &Shape, rng: &mut Rng) {
    let Some((at, len)) = shape.one_of(words, &[16], rng) else { return };
    if len == 6 && rng.chance(60) {
        words[at + 3 + rng.below(3)] = rng.pick(&[0, 1, 2, 3, 4, 7, 8, 15, 32, 64, 128, 1024, 1025, 0xffff_ffff]);
        return;
    }
    let (mode, operands) = rng.pick(MODES);
    let mut inst = vec![16 | (3 + operands as u32) << 16, words[at + 1], mode];
    inst.extend((0..operands).map(|_| rng.pick(&[1, 2, 16, 32, 64])));
    words.splice(at..at, inst);
}

/// Swaps two consecutive blocks of a function, neither of which is the first one.
fn swap_blocks(words: &mut [u32], shape: &Shape, rng: &mut Rng) {
    let starts: Vec<usize> = shape.list.iter().filter(|&&(at, _)| words[at] & 0xffff == 248).map(|i| i.0).collect();
    if starts.len() < 4 {
        return;
    }
    let n = 1 + rng.below(starts.len() - 3);
    let (a, b, c) = (starts[n], starts[n + 1], starts[n + 2]);
    if !shape.list.iter().any(|&(at, _)| at > a && at < c && words[at] & 0xffff == 56) {
        words[a..c].rotate_left(b - a);
    }
}

fn branch(words: &mut [u32], shape: &Shape, rng: &mut Rng) {
    let Some((at, len)) = shape.one_of(words, &[245, 246, 247, 249, 250, 250, 251], rng) else { return };
    let places: Vec<usize> = (1..len).filter(|&o| shape.labels.contains(&words[at + o])).collect();
    if !places.is_empty() {
        let near = shape.labels.iter().position(|&l| l == words[at + rng.pick(&places)]).unwrap_or(0);
        let to = (near + rng.below(7)).saturating_sub(3).min(shape.labels.len() - 1);
        words[at + rng.pick(&places)] = shape.labels[to];
    }
}

/// Repeats an instruction, with a result of its own.
fn again(words: &mut Vec<u32>, shape: &Shape, rng: &mut Rng) {
    let (_, at, len) = shape.inner(rng);
    let mut inst = words[at..at + len].to_vec();
    if len > 2 && shape.values.contains_key(&inst[2]) && shape.types.contains(&inst[1]) {
        inst[2] = words[3];
        words[3] += 1;
    }
    words.splice(at + len..at + len, inst);
}

/// Drops an instruction that has no result.
fn drop_one(words: &mut Vec<u32>, shape: &Shape, rng: &mut Rng) {
    if let Some((at, len)) = shape.one_of(words, &[16, 17, 62, 63, 71, 72, 224, 225, 246, 247], rng) {
        words.drain(at..at + len);
    }
}

/// Changes the number of an extended instruction.
fn extended(words: &mut [u32], shape: &Shape, rng: &mut Rng) {
    if let Some((at, 5..)) = shape.one_of(words, &[12], rng) {
        words[at + 4] = 1 + rng.below(81) as u32;
    }
}

/// Damages one to five words.
fn noise(words: &mut Vec<u32>, rng: &mut Rng) {
    for _ in 0..=rng.below(4) {
        let at = rng.below(words.len());
        match rng.below(6) {
            0 => words[at] = rng.next() as u32,
            1 => words[at] ^= 1 << rng.below(32),
            2 => words[at] = rng.below(words[3].min(1 << 16) as usize) as u32,
            3 => words[at] = words[at] & 0xffff_0000 | rng.below(450) as u32,
            4 => words[at] = words[rng.below(words.len())],
            _ => drop(words.remove(at)),
        }
        if words.len() < 5 {
            return;
        }
    }
}

/// Returns a mutant of any kind.
pub fn mutant(words: &[u32], rng: &mut Rng) -> Vec<u32> {
    match rng.below(20) {
        0 => {
            let mut words = words.to_vec();
            noise(&mut words, rng);
            words
        }
        1..=3 => mutate::mutant(words, rng),
        _ => {
            let mut words = words.to_vec();
            for _ in 0..=rng.below(3) {
                let shape = Shape::of(&words);
                if shape.list.is_empty() || shape.types.is_empty() {
                    break;
                }
                match rng.pick(CHANGES) {
                    Change::Words(change) => change(&mut words, &shape, rng),
                    Change::Number(change) => change(&mut words, &shape, rng),
                }
            }
            words
        }
    }
}
