//! Fragment chunks: the quads of a chunk, interpolation, the fragment stage's built-ins, helper invocations.
//!
//! What most inputs share (positions relative to the primitive's origin, barycentric weights) is computed once at the start of the
//! chunk; of what a shader does not use, nothing is generated.

use super::Emitter;
use super::cell::Cells;
use super::memory::read_only;
use super::rep::{Rep, Vecs, scalar_type, vector_type};
use crate::error::{Error, Result};
use crate::ir::{Builtin, InstData, InterpolateAt, Ty, Value};
use base::abi::{FragmentBatch, FragmentPrimitive, FragmentQuad, QuadPositions};
use base::shader::Interpolation;
use core::mem::offset_of;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value as C, types};
use smallvec::SmallVec;

/// The quads of a fragment chunk, by group of four lanes.
pub struct FragmentState {
    /// `FragmentPrimitive` pointers.
    primitives: SmallVec<[C; 2]>,
    /// Their attributes.
    attributes: SmallVec<[C; 2]>,
    /// Coverage (I32) and sample (I32).
    coverage: SmallVec<[C; 2]>,
    samples: SmallVec<[C; 2]>,
    /// Position of the quad, I32.
    pixel: [Vecs; 2],
    /// Sample or centre positions relative to it, F32X4.
    inside: [Vecs; 2],
    /// Position relative to the primitive's origin, F32X4.
    relative: SmallVec<[[C; 2]; 2]>,
    /// Weights of vertices 1 and 2 there: linear, and with perspective.
    weights: SmallVec<[[[C; 2]; 2]; 2]>,
    /// Lanes with coverage.
    pub covered: Vecs,
    /// Lanes neither killed nor demoted.
    pub alive: Cells,
}

/// Where the positions of sample 0 along an axis lie in a batch, the quad's first pixel first.
const fn first_position(axis: usize) -> usize {
    offset_of!(FragmentBatch, positions)
        + if axis == 0 { offset_of!(QuadPositions, x) } else { offset_of!(QuadPositions, y) }
}

impl Emitter<'_> {
    /// Reads the chunk's quads and computes what is shared by inputs.
    pub fn start_fragment(&mut self, ones: &Vecs) {
        self.set_exec(ones, true);
        let groups = self.lanes as usize / 4;
        let quads = self.b.ins().load(types::I64, read_only(), self.batch, offset_of!(FragmentBatch, quads) as i32);
        let size = size_of::<FragmentQuad>() as i64;
        let chunk = self.b.ins().uextend(types::I64, self.chunk);
        let start = self.b.ins().imul_imm_s(chunk, size * groups as i64);
        let quads = self.b.ins().iadd(quads, start);
        let mut state = FragmentState {
            primitives: SmallVec::new(),
            coverage: SmallVec::new(),
            samples: SmallVec::new(),
            attributes: SmallVec::new(),
            relative: SmallVec::new(),
            weights: SmallVec::new(),
            pixel: [Vecs::new(), Vecs::new()],
            inside: [Vecs::new(), Vecs::new()],
            covered: Vecs::new(),
            alive: self.vector_cells(Ty::B1, false),
        };
        for g in 0..groups {
            let at = |field: usize| (g * size as usize + field) as i32;
            let half = |e: &mut Self, field: usize| e.b.ins().uload16(types::I32, read_only(), quads, at(field));
            let primitive = self.b.ins().load(types::I64, read_only(), quads, at(offset_of!(FragmentQuad, primitive)));
            state.primitives.push(primitive);
            let coverage = half(self, offset_of!(FragmentQuad, coverage));
            state.coverage.push(coverage);
            let sample = half(self, offset_of!(FragmentQuad, sample));
            state.samples.push(sample);
            let inside = self.sample_inside(sample);
            for (axis, field) in [offset_of!(FragmentQuad, x), offset_of!(FragmentQuad, y)].into_iter().enumerate() {
                let p = half(self, field);
                state.pixel[axis].push(p);
                state.inside[axis].push(inside[axis]);
            }
            self.start_interpolation(&mut state, g);
            let bits = self.b.ins().splat(types::I32X4, coverage);
            let nibbles = self.vector_constant([0xf, 0xf0, 0xf00, 0xf000]);
            let bits = self.b.ins().band(bits, nibbles);
            let zero = self.vector_constant([0; 4]);
            let covered = self.b.ins().icmp(IntCC::NotEqual, bits, zero);
            state.covered.push(covered);
        }
        let alive = state.alive.clone();
        self.set_cell_vectors(&alive, ones);
        self.fragment = Some(state);
    }

    /// What inputs at the default location share.
    fn start_interpolation(&mut self, state: &mut FragmentState, g: usize) {
        let primitive = state.primitives[g];
        let relative = [0, 1].map(|axis| {
            let (pixel, inside) = (state.pixel[axis][g], state.inside[axis][g]);
            self.relative(primitive, axis, pixel, inside)
        });
        state.relative.push(relative);
        let has = |i: Interpolation| self.shader.inputs.iter().any(|slot| slot.interpolation == i);
        let (linear, smooth) = (has(Interpolation::Linear), has(Interpolation::Smooth));
        let weights = [(linear, false), (smooth, true)].map(|(wanted, perspective)| {
            // Never read where they are not wanted.
            if wanted { self.weights(primitive, relative, perspective) } else { relative }
        });
        state.weights.push(weights);
        if !self.shader.inputs.is_empty() {
            let field = offset_of!(FragmentPrimitive, attributes) as i32;
            state.attributes.push(self.b.ins().load(types::I64, read_only(), primitive, field));
        }
    }

    /// Positions along either axis relative to the quad's: the sample's, or the centres for per-pixel shading. F32X4.
    fn sample_inside(&mut self, sample: C) -> [C; 2] {
        let address = self.sample_address(sample);
        [0, 1].map(|axis| self.b.ins().load(types::F32X4, read_only(), address, first_position(axis) as i32))
    }

    /// Batch and the offset of a sample's positions.
    fn sample_address(&mut self, index: C) -> C {
        let index = self.b.ins().uextend(types::I64, index);
        let offset = self.b.ins().imul_imm_s(index, size_of::<QuadPositions>() as i64);
        self.b.ins().iadd(self.batch, offset)
    }

    /// F32: position of a sample (any index; clamped).
    fn sample_position(&mut self, sample: C, axis: usize) -> C {
        let last = self.b.ins().iconst(types::I32, 3);
        let index = self.b.ins().umin(sample, last);
        let address = self.sample_address(index);
        self.b.ins().load(types::F32, read_only(), address, first_position(axis) as i32)
    }

    fn fragment(&self) -> Result<&FragmentState> {
        self.fragment.as_ref().ok_or_else(|| Error::invalid("a fragment operation outside of a fragment stage"))
    }

    /// `Op::Demote`.
    pub fn demote(&mut self) -> Result<()> {
        let alive = self.fragment()?.alive.clone();
        let exec = self.exec_mask();
        let old = self.cell_vectors(&alive);
        let new = self.mask_and_not(&old, &exec);
        self.set_cell_vectors(&alive, &new);
        Ok(())
    }

    /// `Op::IsHelper`.
    pub fn is_helper(&mut self, data: &InstData) -> Result<()> {
        let (covered, alive) = (self.fragment()?.covered.clone(), self.fragment()?.alive.clone());
        let alive = self.cell_vectors(&alive);
        let working = self.mask_and(&covered, &alive);
        let helper = working.iter().map(|&m| self.b.ins().bnot(m)).collect();
        self.define(data.result(), Rep::Varying(helper))
    }

    /// Plane `[dx, dy, c]` of a primitive at positions relative to its origin.
    fn plane(&mut self, primitive: C, field: usize, x: C, y: C) -> C {
        let [dx, dy, c] = [0, 4, 8].map(|o| self.primitive_f32(primitive, field + o));
        let row = self.fused(dy, y, c);
        self.fused(dx, x, row)
    }

    /// The depth plane: the operations of the rasterizer's tests, for the same bits.
    fn depth(&mut self, primitive: C, [x, y]: [C; 2]) -> C {
        let field = offset_of!(FragmentPrimitive, z);
        let [dx, dy, c] = [0, 4, 8].map(|o| self.primitive_f32(primitive, field + o));
        let py = self.b.ins().fmul(dy, y);
        let row = self.b.ins().fadd(py, c);
        let px = self.b.ins().fmul(dx, x);
        self.b.ins().fadd(px, row)
    }

    /// A float of a primitive in all lanes.
    fn primitive_f32(&mut self, primitive: C, field: usize) -> C {
        if field >= offset_of!(FragmentPrimitive, attributes) {
            let c = self.b.ins().load(types::F32, read_only(), primitive, field as i32);
            return self.b.ins().splat(types::F32X4, c);
        }
        // The planes fill whole vectors: one load serves four floats.
        let row = self.b.ins().load(types::F32X4, read_only(), primitive, (field & !15) as i32);
        self.shuffle_words(row, row, [(field / 4 % 4) as u8; 4])
    }

    /// Position relative to the primitive's origin, F32X4. (Small numbers with few fraction bits: every sum is exact.)
    fn relative(&mut self, primitive: C, axis: usize, pixel: C, inside: C) -> C {
        let field = offset_of!(FragmentPrimitive, origin) + 4 * axis;
        let origin = self.b.ins().load(types::I32, read_only(), primitive, field as i32);
        let delta = self.b.ins().isub(pixel, origin);
        self.beside(delta, inside)
    }

    /// A whole number and positions relative to it.
    fn beside(&mut self, corner: C, inside: C) -> C {
        let corner = self.b.ins().fcvt_from_sint(types::F32, corner);
        let corner = self.b.ins().splat(types::F32X4, corner);
        self.b.ins().fadd(corner, inside)
    }

    /// (weight of vertex 1, weight of vertex 2) at a position relative to the primitive's origin.
    fn weights(&mut self, primitive: C, [x, y]: [C; 2], perspective: bool) -> [C; 2] {
        let l1 = self.plane(primitive, offset_of!(FragmentPrimitive, b1), x, y);
        let l2 = self.plane(primitive, offset_of!(FragmentPrimitive, b2), x, y);
        if !perspective {
            return [l1, l2];
        }
        let inv_w = self.plane(primitive, offset_of!(FragmentPrimitive, inv_w), x, y);
        let one = self.splat_constant(Ty::F32, u64::from(1f32.to_bits()));
        let w = self.b.ins().fdiv(one, inv_w);
        [(l1, offset_of!(FragmentPrimitive, inv_w1)), (l2, offset_of!(FragmentPrimitive, inv_w2))].map(|(l, field)| {
            let scale = self.primitive_f32(primitive, field);
            let p = self.b.ins().fmul(l, scale);
            self.b.ins().fmul(p, w)
        })
    }

    /// The weights where an input is evaluated.
    fn weights_at(&mut self, g: usize, at: InterpolateAt, perspective: bool, data: &InstData) -> Result<[C; 2]> {
        let Some(inside) = self.location(g, at, data)? else {
            return Ok(self.fragment()?.weights[g][usize::from(perspective)]);
        };
        let f = self.fragment()?;
        let (primitive, pixel) = (f.primitives[g], [f.pixel[0][g], f.pixel[1][g]]);
        let steps = [[0f32, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]];
        let relative = [0, 1].map(|axis| {
            let steps = self.vector_constant(steps[axis].map(|s| s.to_bits() as i32));
            let steps = self.bitcast(types::F32X4, steps);
            let corner = self.relative(primitive, axis, pixel[axis], steps);
            self.b.ins().fadd(corner, inside[axis])
        });
        Ok(self.weights(primitive, relative, perspective))
    }

    /// An input at each lane.
    pub fn interpolate(&mut self, slot: u32, at: InterpolateAt, ty: Ty, data: &InstData) -> Result<Vecs> {
        let interpolation = self.shader.inputs[slot as usize].interpolation;
        let mut out = Vecs::new();
        for g in 0..self.lanes as usize / 4 {
            let list = self.fragment()?.attributes[g];
            let field = slot as i32 * 12;
            if interpolation == Interpolation::Flat {
                let c = self.b.ins().load(scalar_type(ty), read_only(), list, field);
                out.push(self.b.ins().splat(vector_type(ty), c));
                continue;
            }
            let weights = self.weights_at(g, at, interpolation == Interpolation::Smooth, data)?;
            // One load for the row (and four bytes behind it).
            let row = self.b.ins().load(types::F32X4, read_only(), list, field);
            let [a0, d1, d2] = [0, 1, 2].map(|i| self.shuffle_words(row, row, [i; 4]));
            let sum = self.fused(weights[0], d1, a0);
            let v = self.fused(weights[1], d2, sum);
            out.push(self.bitcast(vector_type(ty), v));
        }
        Ok(out)
    }

    /// Position inside the pixel where an input is evaluated, F32X4 each; `None` for where the invocation is.
    fn location(&mut self, g: usize, at: InterpolateAt, data: &InstData) -> Result<Option<[C; 2]>> {
        Ok(Some(match at {
            InterpolateAt::Default | InterpolateAt::Sample => return Ok(None),
            InterpolateAt::Centroid => self.centroid(g)?,
            InterpolateAt::Offset => {
                let half = self.splat_constant(Ty::F32, u64::from(0.5f32.to_bits()));
                let x = self.vectors(data.args[0])?[g];
                let y = self.vectors(data.args[1])?[g];
                [self.b.ins().fadd(x, half), self.b.ins().fadd(y, half)]
            }
            InterpolateAt::AtSample => {
                let mut lanes: [Vec<C>; 2] = [Vec::new(), Vec::new()];
                for lane in 0..4 {
                    let sample = self.value_lane(data.args[0], g * 4 + lane)?;
                    for (axis, list) in lanes.iter_mut().enumerate() {
                        list.push(self.sample_or_centre(sample, axis));
                    }
                }
                lanes.map(|l| self.gather_lanes(Ty::F32, &l)[0])
            }
        }))
    }

    /// Position of a sample, the centre when the pipeline has one sample.
    fn sample_or_centre(&mut self, sample: C, axis: usize) -> C {
        let samples = self.b.ins().load(types::I32, read_only(), self.batch, offset_of!(FragmentBatch, samples) as i32);
        let single = self.b.ins().icmp_imm_u(IntCC::Equal, samples, 1);
        let half = self.constant(Ty::F32, u64::from(0.5f32.to_bits()));
        let position = self.sample_position(sample, axis);
        self.b.ins().select(single, half, position)
    }

    /// I32X4 masks of sample `s` in each pixel of the quad.
    fn sample_covered(&mut self, g: usize, s: usize) -> Result<C> {
        let coverage = self.fragment()?.coverage[g];
        let bits = self.b.ins().splat(types::I32X4, coverage);
        let want = self.vector_constant([1 << s, 1 << (4 + s), 1 << (8 + s), 1 << (12 + s)]);
        let bits = self.b.ins().band(bits, want);
        Ok(self.b.ins().icmp(IntCC::Equal, bits, want))
    }

    /// The centre of a pixel with all samples (or none) covered, else the mean of the covered samples' positions.
    fn centroid(&mut self, g: usize) -> Result<[C; 2]> {
        let samples = self.b.ins().load(types::I32, read_only(), self.batch, offset_of!(FragmentBatch, samples) as i32);
        let single = self.b.ins().icmp_imm_u(IntCC::Equal, samples, 1);
        let one = self.splat_constant(Ty::F32, u64::from(1f32.to_bits()));
        let zero = self.zero(types::F32X4);
        let (mut count, mut sums) = (zero, [zero; 2]);
        for s in 0..4 {
            let covered = self.sample_covered(g, s)?;
            let covered = self.bitcast(types::F32X4, covered);
            let weight = self.b.ins().band(covered, one);
            count = self.b.ins().fadd(count, weight);
            for (axis, sum) in sums.iter_mut().enumerate() {
                let field = first_position(axis) + s * size_of::<QuadPositions>();
                let p = self.b.ins().load(types::F32, read_only(), self.batch, field as i32);
                let p = self.b.ins().splat(types::F32X4, p);
                let p = self.b.ins().band(covered, p);
                *sum = self.b.ins().fadd(*sum, p);
            }
        }
        let four = self.splat_constant(Ty::F32, u64::from(4f32.to_bits()));
        let full = self.b.ins().fcmp(FloatCC::Equal, count, four);
        let none = self.b.ins().fcmp(FloatCC::Equal, count, zero);
        let centre = self.b.ins().bor(full, none);
        let centre = self.bitcast(types::F32X4, centre);
        let half = self.splat_constant(Ty::F32, u64::from(0.5f32.to_bits()));
        Ok(sums.map(|sum| {
            let mean = self.b.ins().fdiv(sum, count);
            let p = self.b.ins().bitselect(centre, half, mean);
            self.b.ins().select(single, half, p)
        }))
    }

    /// Built-ins of the fragment stage.
    pub fn fragment_builtin(&mut self, builtin: Builtin, result: Value) -> Result<()> {
        let mut out = Vecs::new();
        for g in 0..self.lanes as usize / 4 {
            let f = self.fragment()?;
            let (primitive, sample) = (f.primitives[g], f.samples[g]);
            let [x, y] = f.relative[g];
            let covered = f.covered[g];
            out.push(match builtin {
                Builtin::FragCoord(c @ (0 | 1)) => self.frag_xy(g, usize::from(c))?,
                Builtin::FragCoord(2) => self.depth(primitive, [x, y]),
                Builtin::FragCoord(_) => self.plane(primitive, offset_of!(FragmentPrimitive, inv_w), x, y),
                Builtin::PointCoord(c) => {
                    let axis = usize::from(c.min(1));
                    let p = self.frag_xy(g, axis)?;
                    let origin = self.primitive_f32(primitive, offset_of!(FragmentPrimitive, point_origin) + 4 * axis);
                    let scale = self.primitive_f32(primitive, offset_of!(FragmentPrimitive, point_inv_size));
                    let d = self.b.ins().fsub(p, origin);
                    self.b.ins().fmul(d, scale)
                }
                Builtin::FrontFacing => {
                    let field = offset_of!(FragmentPrimitive, front_facing);
                    let v = self.primitive_word(primitive, field);
                    let zero = self.vector_constant([0; 4]);
                    self.b.ins().icmp(IntCC::NotEqual, v, zero)
                }
                Builtin::PrimitiveId => self.primitive_word(primitive, offset_of!(FragmentPrimitive, primitive_id)),
                Builtin::Layer => self.primitive_word(primitive, offset_of!(FragmentPrimitive, layer)),
                Builtin::ViewportIndex => self.primitive_word(primitive, offset_of!(FragmentPrimitive, viewport_index)),
                Builtin::SampleId => {
                    let id = self.sample_id(sample);
                    self.b.ins().splat(types::I32X4, id)
                }
                Builtin::SamplePosition(c) => {
                    let id = self.sample_id(sample);
                    let p = self.sample_or_centre(id, usize::from(c.min(1)));
                    self.b.ins().splat(types::F32X4, p)
                }
                Builtin::SampleMaskIn => {
                    let mut bits = self.vector_constant([0; 4]);
                    for s in 0..4 {
                        let on = self.sample_covered(g, s)?;
                        let bit = self.vector_constant([1 << s; 4]);
                        let bit = self.b.ins().band(on, bit);
                        bits = self.b.ins().bor(bits, bit);
                    }
                    bits
                }
                Builtin::HelperInvocation => self.b.ins().bnot(covered),
                other @ (Builtin::VertexIndex
                | Builtin::InstanceIndex
                | Builtin::BaseVertex
                | Builtin::BaseInstance
                | Builtin::DrawIndex
                | Builtin::ViewIndex
                | Builtin::DeviceIndex
                | Builtin::LocalInvocationIndex
                | Builtin::LocalInvocationId(_)
                | Builtin::WorkgroupId(_)
                | Builtin::NumWorkgroups(_)
                | Builtin::GlobalInvocationId(_)
                | Builtin::SubgroupInvocation
                | Builtin::SubgroupSize
                | Builtin::SubgroupId
                | Builtin::NumSubgroups) => return Err(Error::invalid(format!("{other:?} is no fragment's"))),
            });
        }
        self.define(result, Rep::Varying(out))
    }

    /// Framebuffer coordinate of the fragment along an axis.
    fn frag_xy(&mut self, g: usize, axis: usize) -> Result<C> {
        let f = self.fragment()?;
        let (pixel, inside) = (f.pixel[axis][g], f.inside[axis][g]);
        Ok(self.beside(pixel, inside))
    }

    fn primitive_word(&mut self, primitive: C, field: usize) -> C {
        let c = self.b.ins().load(types::I32, read_only(), primitive, field as i32);
        self.b.ins().splat(types::I32X4, c)
    }

    fn sample_id(&mut self, sample: C) -> C {
        let per_pixel = self.b.ins().icmp_imm_u(IntCC::Equal, sample, i64::from(FragmentBatch::CENTRE));
        let zero = self.b.ins().iconst(types::I32, 0);
        self.b.ins().select(per_pixel, zero, sample)
    }
}
