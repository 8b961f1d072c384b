//! The epilogue of a stage that takes rectangles: colours are packed, blended in integers and
//! stored, one row of texels at a time.
//!
//! The bits are those of the rasterizer's `tile/color/bytes.rs`. Sources are packed first. A result
//! is `(s * fs + d * fd) / 255`, or the same with a difference, rounded to the nearest once and
//! clamped to a byte.
//!
//! Bytes are processed as words of 16 bits, the even bytes and the odd bytes separately. Every
//! second odd byte is alpha.

use super::Emitter;
use super::memory::trusted;
use super::rectangle::ChunkPosition;
use crate::ir::Ty;
use crate::lir::{AccessReason, Elem, IntCond, Type, Value as C};
use base::pixel::{BlendEquation, BlendEquations, BlendFactor, BlendOp};

/// Largest product of two bytes.
const MAX_PRODUCT: i64 = 255 * 255;

/// The bytes of texels as words of 16 bits: the even bytes, and the odd bytes.
type EvenOddBytes = [C; 2];

/// Source and target of blending, as words of 32 bits and as halves.
struct BlendOperands {
    words: [C; 2],
    even_odd: [EvenOddBytes; 2],
}

/// A blend factor; `None` is 0.
type Factor = Option<EvenOddBytes>;

/// Returns true if the sum of the two products never exceeds [`MAX_PRODUCT`].
fn is_bounded((source, target, op): BlendEquation) -> bool {
    use BlendFactor::*;
    let complement = matches!(
        (source, target),
        (SrcAlpha, OneMinusSrcAlpha)
            | (OneMinusSrcAlpha, SrcAlpha)
            | (DstAlpha, OneMinusDstAlpha)
            | (OneMinusDstAlpha, DstAlpha)
            | (SrcColor, OneMinusSrcColor)
            | (OneMinusSrcColor, SrcColor)
            | (DstColor, OneMinusDstColor)
            | (OneMinusDstColor, DstColor)
    );
    op != BlendOp::Add || complement || source == Zero || target == Zero
}

impl Emitter<'_> {
    /// Emits the end of a chunk of a rectangle: packs, blends and stores its colours.
    pub fn write_colors(&mut self, chunk_position: &ChunkPosition) {
        let Some(rectangles) = &self.rectangles else { return };
        let epilogue = rectangles.epilogue;
        let outputs = epilogue.slots.map(|slot| slot.and_then(|slot| rectangles.outputs[usize::from(slot)].clone()));
        let zero = self.splat_constant(Ty::F32, 0);
        let color = outputs.map(|cells| cells.map_or(zero, |cells| self.read_single(&cells)));
        let [r, g, b, a] = color;
        let source = self.pack_unorm8(&if epilogue.swap { [b, g, r, a] } else { color });
        let [first, end, begin] = chunk_position.columns;
        let column = self.b.zext(Type::I64, begin);
        let offset = self.b.shl_imm(column, 2);
        let address = self.b.iadd(chunk_position.row, offset);
        let words = self.vector_type(Ty::I32);
        let old = epilogue.blend.map(|_| self.b.load(words, trusted(AccessReason::Element, 0), address));
        let new = match (&epilogue.blend, old) {
            (Some(equations), Some(old)) => self.blended(equations, source, old),
            _ => source,
        };
        let (some, all, done) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.branch(chunk_position.partial, some, &[], all, &[]);
        self.enter(all);
        self.b.store(trusted(AccessReason::Element, 0), new, address);
        self.b.jump(done, &[]);
        self.enter(some);
        let [first, end] = [first, end].map(|column| self.b.splat(words, column));
        let pixels = self.columns_from(begin);
        let before = self.b.icmp(IntCond::Slt, pixels, first);
        let inside = self.b.icmp(IntCond::Slt, pixels, end);
        let inside = self.b.and_not(inside, before);
        let old = old.unwrap_or_else(|| self.b.load(words, trusted(AccessReason::Element, 0), address));
        let merged = self.b.select(inside, new, old);
        self.b.store(trusted(AccessReason::Element, 0), merged, address);
        self.b.jump(done, &[]);
        self.enter(done);
    }

    /// Returns the texels `s` blended with the texels `d`.
    fn blended(&mut self, equations: &BlendEquations, s: C, d: C) -> C {
        const ONES: BlendEquation = (BlendFactor::One, BlendFactor::One, BlendOp::Add);
        if [equations.color, equations.alpha] == [ONES; 2] {
            let bytes = Elem::I8.by(4 * self.lanes.count() as usize);
            let sum = [s, d].map(|words| self.b.bitcast(bytes, words));
            let sum = self.saturated_sum(sum);
            return self.b.bitcast(self.vector_type(Ty::I32), sum);
        }
        let even_odd = [self.even_odd(s), self.even_odd(d)];
        let operands = BlendOperands { words: [s, d], even_odd };
        let mut result = self.equation(equations.color, &operands);
        if equations.alpha != equations.color {
            let alpha = self.equation(equations.alpha, &operands);
            let lanes: Vec<u64> =
                (0..2 * self.lanes.count() as usize).map(|i| if i % 2 == 0 { 0xffff } else { 0 }).collect();
            let green = self.b.constant_lanes(Elem::I16, &lanes);
            let color = self.b.and(result[1], green);
            let alpha = self.b.and_not(alpha[1], green);
            result[1] = self.b.or(color, alpha);
        }
        let odd = self.b.shl_imm(result[1], 8);
        let texels = self.b.or(result[0], odd);
        self.b.bitcast(self.vector_type(Ty::I32), texels)
    }

    fn even_odd(&mut self, words: C) -> EvenOddBytes {
        let bytes = self.b.bitcast(Elem::I16.by(2 * self.lanes.count() as usize), words);
        [self.b.and_imm(bytes, 0xff), self.b.lshr_imm(bytes, 8)]
    }

    /// Returns `a + b`, saturated at the largest value of the type.
    fn saturated_sum(&mut self, [a, b]: [C; 2]) -> C {
        let room = self.b.not(a);
        let b = self.b.umin(b, room);
        self.b.iadd(a, b)
    }

    /// Evaluates a blend equation for all four components.
    fn equation(&mut self, equation: BlendEquation, operands: &BlendOperands) -> EvenOddBytes {
        let (source, target, op) = equation;
        let [s, d] = operands.even_odd;
        if matches!(op, BlendOp::Min | BlendOp::Max) {
            return [0, 1].map(|i| if op == BlendOp::Min { self.b.umin(s[i], d[i]) } else { self.b.umax(s[i], d[i]) });
        }
        let (fs, fd) = (self.factor(source, operands), self.factor(target, operands));
        [0, 1].map(|i| {
            let zero = self.b.constant(self.b.ty(s[i]), 0);
            let p = fs.map_or(zero, |fs| self.b.imul(s[i], fs[i]));
            let q = fd.map_or(zero, |fd| self.b.imul(d[i], fd[i]));
            let sum = match op {
                BlendOp::Subtract => self.saturated_difference(p, q),
                BlendOp::ReverseSubtract => self.saturated_difference(q, p),
                _ if fs.is_none() => q,
                _ if fd.is_none() => p,
                _ if is_bounded(equation) => self.b.iadd(p, q),
                _ => {
                    let sum = self.saturated_sum([p, q]);
                    let max_value = self.b.constant(self.b.ty(sum), MAX_PRODUCT as u64);
                    self.b.umin(sum, max_value)
                }
            };
            self.div_255(sum)
        })
    }

    /// Returns `a - b`, or 0 if the difference is negative.
    fn saturated_difference(&mut self, a: C, b: C) -> C {
        let b = self.b.umin(a, b);
        self.b.isub(a, b)
    }

    /// Divides words of at most [`MAX_PRODUCT`] by 255 and rounds to the nearest.
    fn div_255(&mut self, x: C) -> C {
        let x = self.b.iadd_imm(x, 128);
        let high = self.b.lshr_imm(x, 8);
        let x = self.b.iadd(x, high);
        self.b.lshr_imm(x, 8)
    }

    fn factor(&mut self, factor: BlendFactor, operands: &BlendOperands) -> Factor {
        use BlendFactor::*;
        let ([s, d], [source, target]) = (operands.words, operands.even_odd);
        Some(match factor {
            Zero => return None,
            SrcColor => source,
            DstColor => target,
            SrcAlpha => self.alpha(s),
            DstAlpha => self.alpha(d),
            OneMinusSrcColor => source.map(|half| self.b.xor_imm(half, 0xff)),
            OneMinusDstColor => target.map(|half| self.b.xor_imm(half, 0xff)),
            OneMinusSrcAlpha => self.alpha(s).map(|half| self.b.xor_imm(half, 0xff)),
            OneMinusDstAlpha => self.alpha(d).map(|half| self.b.xor_imm(half, 0xff)),
            One => [self.b.constant(self.b.ty(source[0]), 255); 2],
            // The epilogue is not made for states with these factors.
            SrcAlphaSaturate
            | ConstantColor
            | OneMinusConstantColor
            | ConstantAlpha
            | OneMinusConstantAlpha
            | Src1Color
            | OneMinusSrc1Color
            | Src1Alpha
            | OneMinusSrc1Alpha => return None,
        })
    }

    /// Copies the alpha of each texel to all of its bytes.
    fn alpha(&mut self, words: C) -> EvenOddBytes {
        let alpha = self.b.lshr_imm(words, 24);
        let above = self.b.shl_imm(alpha, 16);
        let both = self.b.or(alpha, above);
        [self.b.bitcast(Elem::I16.by(2 * self.lanes.count() as usize), both); 2]
    }
}
