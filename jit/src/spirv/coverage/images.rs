//! Modules that use images of every dimension with all image instructions.

use super::asm::{Asm, COMPUTE, F32, FRAGMENT, I32, Made, Scalar, Ty, U32};

/// An image's type: component, dimension, arrayed, multisampled, sampled (1) or storage (2), and
/// format.
#[derive(Clone, Copy, Debug)]
struct Image {
    of: Scalar,
    dim: u32,
    arrayed: u32,
    ms: u32,
    sampled: u32,
    format: u32,
}

const D1: u32 = 0;
const D2: u32 = 1;
const D3: u32 = 2;
const CUBE: u32 = 3;
const SUBPASS: u32 = 6;
const FLOAT: Scalar = Scalar::Float(32);
const UINT: Scalar = Scalar::Uint(32);

impl Image {
    const fn sampled(dim: u32, arrayed: u32) -> Image {
        Image { of: FLOAT, dim, arrayed, ms: 0, sampled: 1, format: 0 }
    }
    const fn storage(of: Scalar, dim: u32, [arrayed, ms]: [u32; 2], format: u32) -> Image {
        Image { of, dim, arrayed, ms, sampled: 2, format }
    }
    fn id(self, a: &mut Asm, depth: u32) -> u32 {
        let of = a.ty(Ty::new(self.of, 1));
        a.global(25, false, &[of, self.dim, depth, self.arrayed, self.ms, self.sampled, self.format])
    }
    /// Returns the number of components of a coordinate.
    fn coordinates(self) -> u32 {
        let own = match self.dim {
            D1 => 1,
            D3 | CUBE => 3,
            _ => 2,
        };
        own + self.arrayed
    }
}

/// Storage images, each with the capabilities that it needs.
const STORED: &[(&[u32], Image)] = &[
    (&[44], Image::storage(FLOAT, D1, [0, 0], 3)),
    (&[44], Image::storage(FLOAT, D1, [1, 0], 3)),
    (&[], Image::storage(FLOAT, D2, [0, 0], 1)),
    (&[], Image::storage(UINT, D2, [1, 0], 33)),
    (&[], Image::storage(FLOAT, D3, [0, 0], 2)),
    (&[], Image::storage(FLOAT, CUBE, [0, 0], 3)),
    (&[34], Image::storage(FLOAT, CUBE, [1, 0], 3)),
    (&[27], Image::storage(FLOAT, D2, [0, 1], 3)),
    (&[27, 48], Image::storage(FLOAT, D2, [1, 1], 3)),
    (&[49], Image::storage(FLOAT, D2, [0, 0], 6)),
    (&[55, 56], Image::storage(FLOAT, D2, [0, 0], 0)),
    (&[12, 5016], Image::storage(Scalar::Uint(64), D2, [0, 0], 40)),
];

/// Sampled images, each with the capabilities that it needs.
const SAMPLED: &[(&[u32], Image)] = &[
    (&[43], Image::sampled(D1, 0)),
    (&[43], Image::sampled(D1, 1)),
    (&[], Image::sampled(D2, 0)),
    (&[], Image::sampled(D2, 1)),
    (&[], Image::sampled(D3, 0)),
    (&[], Image::sampled(CUBE, 0)),
    (&[45], Image::sampled(CUBE, 1)),
];

pub fn tables() -> Vec<Made> {
    let mut list: Vec<Made> = Vec::new();
    for &(capabilities, image) in STORED {
        list.push((format!("{image:?}"), COMPUTE, Box::new(move |a| stored(a, capabilities, image))));
    }
    for &(capabilities, image) in SAMPLED {
        list.push((format!("{image:?}"), FRAGMENT, Box::new(move |a| sampled(a, capabilities, image))));
    }
    list.push(("comparisons of integers".to_owned(), FRAGMENT, Box::new(integer_comparisons)));
    for capability in [5303, 5310] {
        list.push((format!("attachments {capability}"), FRAGMENT, Box::new(move |a| attachments(a, capability))));
    }
    list
}

fn stored(a: &mut Asm, capabilities: &[u32], image: Image) {
    a.capabilities.extend(capabilities);
    a.capabilities.insert(50);
    let (ty, texel) = (image.id(a, 0), Ty::new(image.of, 4));
    if image.of == Scalar::Uint(64) {
        a.extensions.insert("SPV_EXT_shader_image_int64");
    }
    let variable = a.bound(0, ty, 5);
    let at = a.value(Ty::new(Scalar::Int(32), image.coordinates()));
    let loaded = a.r(61, ty, &[variable]);
    let sample = if image.ms == 1 { vec![0x40, a.u(1)] } else { Vec::new() };
    let result = a.ty(texel);
    let value = a.r(98, result, &[&[loaded, at], &sample[..]].concat());
    a.keep(texel, value);
    if image.dim == D2 {
        a.capabilities.insert(41);
        let int = a.ty(I32);
        let both = a.global(30, false, &[int, result]);
        let read = a.r(320, both, &[&[loaded, at], &sample[..]].concat());
        let (value, code) = (a.r(81, result, &[read, 1]), a.r(81, int, &[read, 0]));
        a.keep(texel, value);
        a.keep(I32, code);
    }
    let value = a.value(texel);
    a.i(99, &[&[loaded, at, value], &sample[..]].concat());
    let size = Ty::new(Scalar::Int(32), if image.dim == CUBE { image.coordinates() - 1 } else { image.coordinates() });
    let ty = a.ty(size);
    let value = a.r(104, ty, &[loaded]);
    a.keep(size, value);
    if image.ms == 1 {
        let ty = a.ty(I32);
        let value = a.r(107, ty, &[loaded]);
        a.keep(I32, value);
    }
    // Formats of one 32-bit integer allow atomics.
    if [33, 40].contains(&image.format) {
        let element = texel.element();
        let ty = a.ty(element);
        let pointer = a.pointer(11, ty);
        let (zero, scope) = (a.u(0), a.u(1));
        let place = a.r(60, pointer, &[variable, at, zero]);
        let value = a.value(element);
        let old = a.r(234, ty, &[place, scope, zero, value]);
        a.keep(element, old);
    }
}

fn sampled(a: &mut Asm, capabilities: &[u32], image: Image) {
    a.capabilities.extend(capabilities);
    a.capabilities.extend([42, 50]);
    let (texel, one) = (Ty::new(FLOAT, 4), F32);
    let [plain, depth] = [0, 1].map(|depth| {
        let ty = image.id(a, depth);
        let held = a.global(27, false, &[ty]);
        let variable = a.bound(0, held, 2);
        (a.r(61, held, &[variable]), ty)
    });
    sparse(a, image, plain, depth);
    let n = image.coordinates();
    let at = a.value(Ty::new(FLOAT, n));
    let (level, reference) = (a.value(F32), a.value(F32));
    let [vector, scalar] = [texel, one].map(|ty| a.ty(ty));
    let keep = |a: &mut Asm, op: u16, dref: bool, args: &[u32]| {
        let value = a.r(op, if dref && op != 97 { scalar } else { vector }, args);
        a.keep(if dref && op != 97 { one } else { texel }, value);
    };
    keep(a, 87, false, &[plain.0, at]);
    keep(a, 87, false, &[plain.0, at, 0x80, level]);
    keep(a, 88, false, &[plain.0, at, 2, level]);
    if image.dim != D3 {
        keep(a, 89, true, &[depth.0, at, reference]);
        keep(a, 90, true, &[depth.0, at, reference, 2, level]);
    }
    if image.arrayed == 0 && image.dim != CUBE {
        let at = a.value(Ty::new(FLOAT, n + 1));
        keep(a, 91, false, &[plain.0, at]);
        keep(a, 92, false, &[plain.0, at, 2, level]);
        if image.dim != D3 {
            keep(a, 93, true, &[depth.0, at, reference]);
            keep(a, 94, true, &[depth.0, at, reference, 2, level]);
        }
    }
    if image.dim == D2 || image.dim == CUBE {
        let component = a.u(2);
        keep(a, 96, false, &[plain.0, at, component]);
        keep(a, 97, true, &[depth.0, at, reference]);
    }
    if image.dim == D2 {
        a.capabilities.insert(25);
        let (component, offset) = (a.u(1), a.value(Ty::new(Scalar::Int(32), 2)));
        keep(a, 96, false, &[plain.0, at, component, 0x10, offset]);
    }
    queries(a, image, plain, at);
}

/// Adds comparisons with the depths of images whose component type is an integer.
fn integer_comparisons(a: &mut Asm) {
    for of in [UINT, Scalar::Int(32)] {
        let ty = Image { of, ..Image::sampled(D2, 0) }.id(a, 1);
        let held = a.global(27, false, &[ty]);
        let variable = a.bound(0, held, 2);
        let loaded = a.r(61, held, &[variable]);
        let (at, reference) = (a.value(Ty::new(FLOAT, 2)), a.value(F32));
        let (one, four) = (Ty::new(of, 1), Ty::new(of, 4));
        let [scalar, vector] = [one, four].map(|ty| a.ty(ty));
        let value = a.r(89, scalar, &[loaded, at, reference]);
        a.keep(one, value);
        let value = a.r(97, vector, &[loaded, at, reference]);
        a.keep(four, value);
    }
}

/// Adds the sparse instructions, which return a residency code in addition to the texel. The
/// projective ones are reserved.
fn sparse(a: &mut Asm, image: Image, plain: (u32, u32), depth: (u32, u32)) {
    // One-dimensional images have no sparse capability.
    if image.dim == D1 {
        return;
    }
    a.capabilities.insert(41);
    let (texel, n) = (Ty::new(FLOAT, 4), image.coordinates());
    let [int, vector, scalar] = [I32, texel, F32].map(|ty| a.ty(ty));
    let [whole, single] = [vector, scalar].map(|ty| a.global(30, false, &[int, ty]));
    let at = a.value(Ty::new(FLOAT, n));
    let (level, reference) = (a.value(F32), a.value(F32));
    let keep = |a: &mut Asm, op: u16, args: &[u32]| {
        let one = matches!(op, 307 | 308);
        let both = a.r(op, if one { single } else { whole }, args);
        let code = a.r(81, int, &[both, 0]);
        let truth = a.ty(Ty::new(Scalar::Bool, 1));
        let is = a.r(316, truth, &[code]);
        a.keep(Ty::new(Scalar::Bool, 1), is);
        let value = a.r(81, if one { scalar } else { vector }, &[both, 1]);
        a.keep(if one { F32 } else { texel }, value);
    };
    keep(a, 305, &[plain.0, at]);
    keep(a, 305, &[plain.0, at, 0x80, level]);
    keep(a, 306, &[plain.0, at, 2, level]);
    if image.dim != D3 {
        keep(a, 307, &[depth.0, at, reference]);
        keep(a, 308, &[depth.0, at, reference, 2, level]);
    }
    if image.dim == D2 || image.dim == CUBE {
        let component = a.u(1);
        keep(a, 314, &[plain.0, at, component]);
        keep(a, 315, &[depth.0, at, reference]);
    }
    if image.dim != CUBE {
        let own = a.r(100, plain.1, &[plain.0]);
        let (level, at) = (a.value(I32), a.value(Ty::new(Scalar::Int(32), n)));
        keep(a, 313, &[own, at, 2, level]);
    }
}

fn queries(a: &mut Asm, image: Image, (held, ty): (u32, u32), at: u32) {
    let n = image.coordinates();
    let own = a.r(100, ty, &[held]);
    if image.dim != CUBE {
        let (texel, level) = (Ty::new(FLOAT, 4), a.value(I32));
        let (at, vector) = (a.value(Ty::new(Scalar::Int(32), n)), a.ty(texel));
        let value = a.r(95, vector, &[own, at, 2, level]);
        a.keep(texel, value);
    }
    let size = Ty::new(Scalar::Int(32), if image.dim == CUBE { n - 1 } else { n });
    let (ty, level, int) = (a.ty(size), a.value(I32), a.ty(I32));
    let value = a.r(103, ty, &[own, level]);
    a.keep(size, value);
    let levels = a.r(106, int, &[own]);
    a.keep(I32, levels);
    let pair = Ty::new(FLOAT, 2);
    let (mut at, ty) = (at, a.ty(pair));
    // The coordinate of a level query does not include the layer.
    if image.arrayed == 1 {
        at = a.value(Ty::new(FLOAT, n - 1));
    }
    let lod = a.r(105, ty, &[held, at]);
    a.keep(pair, lod);
}

/// Adds an array of input attachments.
fn attachments(a: &mut Asm, capability: u32) {
    a.capabilities.extend([40, capability]);
    if capability > 5303 {
        a.capabilities.insert(5301);
    }
    let image = Image { of: FLOAT, dim: SUBPASS, arrayed: 0, ms: 0, sampled: 2, format: 0 };
    let (ty, four) = (image.id(a, 0), a.u(4));
    let array = a.global(28, false, &[ty, four]);
    let variable = a.bound(0, array, 8);
    a.decorate(&[variable, 43, 0]);
    let (index, pointer) = (a.value(U32), a.pointer(0, ty));
    let place = a.r(65, pointer, &[variable, index]);
    let loaded = a.r(61, ty, &[place]);
    if capability > 5303 {
        [index, place, loaded].into_iter().for_each(|id| a.decorate(&[id, 5300]));
    }
    let (texel, pair) = (Ty::new(FLOAT, 4), a.ty(Ty::new(Scalar::Int(32), 2)));
    let result = a.ty(texel);
    let corner = a.global(46, true, &[pair]);
    let value = a.r(98, result, &[loaded, corner]);
    a.keep(texel, value);
}
