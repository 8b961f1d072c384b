//! Fragment chunks: the quads of a chunk, interpolation, the fragment stage's built-ins, helper
//! invocations.
//!
//! Most inputs are read at the position of the invocation. A helper computes these at the start of
//! the batch for all of its quads: quads of one primitive share its data, and vectors are as wide
//! as the host's. Inputs at other positions are computed where they are used. No code is generated
//! for inputs that a shader does not use.

use super::Emitter;
use super::memory::read_only;
use super::value_rep::{ValueRep, elem, scalar_type};
use crate::error::{Error, Result};
use crate::ir::{Builtin, InstData, InterpolateAt, Ty, Value};
use crate::lir::{AccessReason, Elem, IntCond, Type, Value as C};
use base::abi::{FragmentBatch, FragmentPrimitive, FragmentQuad, QuadPositions, SampleGroups};
use base::limits::MAX_SAMPLES;
use base::shader::Interpolation;
use core::mem::offset_of;
use smallvec::SmallVec;

/// The quads of a fragment chunk: scalars by group of four lanes, and vectors.
pub struct FragmentState {
    /// Pointers to the `FragmentPrimitive` of each quad.
    primitives: SmallVec<[C; 2]>,
    /// Pointers to the attributes of these primitives.
    attributes: SmallVec<[C; 2]>,
    /// Coverage (I32) of each quad; `samples` has the sample index (I32) of each.
    coverage: SmallVec<[C; 2]>,
    samples: SmallVec<[C; 2]>,
    /// Position of the quads, I32.
    pixel: [SmallVec<[C; 2]>; 2],
    /// Positions of the samples or centres relative to the quad.
    inside: [C; 2],
    /// Positions relative to the primitive's origin.
    relative: [C; 2],
}

impl FragmentState {
    /// Makes the state of a chunk of a rectangle, which has no quads, from its primitive, the
    /// attributes, and the positions of its lanes relative to the primitive's origin.
    pub fn for_rectangle((primitive, attributes): (C, C), relative: [C; 2]) -> FragmentState {
        FragmentState {
            primitives: [primitive].into_iter().collect(),
            attributes: [attributes].into_iter().collect(),
            coverage: SmallVec::new(),
            samples: SmallVec::new(),
            pixel: [SmallVec::new(), SmallVec::new()],
            inside: relative,
            relative,
        }
    }
}

/// Returns the offset of the positions of a sample along an axis; the quad's first pixel comes
/// first.
const fn first_position(axis: usize) -> usize {
    if axis == 0 { offset_of!(QuadPositions, x) } else { offset_of!(QuadPositions, y) }
}

impl Emitter<'_> {
    /// Loads the chunk's quads and computes the values that inputs share.
    pub fn start_fragment(&mut self, ones: C) {
        self.set_exec(ones, true);
        let groups = self.lanes.count() as usize / 4;
        let quads = self.b.load(
            Type::I64,
            read_only(AccessReason::Field, offset_of!(FragmentBatch, quads) as i32),
            self.function.batch(),
        );
        let size = size_of::<FragmentQuad>() as i64;
        let chunk = self.b.zext(Type::I64, self.function.chunk());
        let start = self.b.imul_imm(chunk, size * groups as i64);
        let quads = self.b.iadd(quads, start);
        let mut primitives = SmallVec::new();
        let (mut coverage, mut samples) = (SmallVec::new(), SmallVec::new());
        let mut pixel = [SmallVec::new(), SmallVec::new()];
        for g in 0..groups {
            let at = |field: usize| (g * size as usize + field) as i32;
            let half = |e: &mut Self, field: usize| {
                e.b.load_u16(Type::I32, read_only(AccessReason::Element, at(field)), quads)
            };
            primitives.push(self.b.load(
                Type::I64,
                read_only(AccessReason::Element, at(offset_of!(FragmentQuad, primitive))),
                quads,
            ));
            coverage.push(half(self, offset_of!(FragmentQuad, coverage)));
            samples.push(half(self, offset_of!(FragmentQuad, sample)));
            pixel[0].push(half(self, offset_of!(FragmentQuad, x)));
            pixel[1].push(half(self, offset_of!(FragmentQuad, y)));
        }
        let inside = self.sample_positions_in_quad(&samples);
        let relative = [0, 1].map(|axis| self.relative_position(&primitives, axis, &pixel[axis], inside[axis]));
        let attributes = if self.shader.inputs.is_empty() {
            SmallVec::new()
        } else {
            let field = offset_of!(FragmentPrimitive, attributes) as i32;
            primitives.iter().map(|&p| self.b.load(Type::I64, read_only(AccessReason::Field, field), p)).collect()
        };
        let bits = self.splat_quads(&coverage);
        let nibbles = self.words(|l| 0xf << (4 * (l & 3)));
        let bits = self.b.and(bits, nibbles);
        let covered = self.b.icmp_imm(IntCond::Ne, bits, 0);
        self.start_effects(covered, ones);
        self.fragment = Some(FragmentState { primitives, attributes, coverage, samples, pixel, inside, relative });
    }

    /// Expands one scalar per quad to all lanes of the quad.
    fn splat_quads(&mut self, scalars: &[C]) -> C {
        if self.rectangles.is_some() {
            return self.splat_word(scalars[0]);
        }
        let four = self.b.ty(scalars[0]).elem.by(4);
        let quads: SmallVec<[C; 4]> = scalars.iter().map(|&c| self.b.splat(four, c)).collect();
        self.concat(&quads)
    }

    /// Returns positions along both axes relative to the quad's: those of the sample, or the
    /// centres with per-pixel shading.
    fn sample_positions_in_quad(&mut self, samples: &[C]) -> [C; 2] {
        let addresses: SmallVec<[C; 4]> = samples.iter().map(|&s| self.sample_address(s)).collect();
        [0, 1].map(|axis| {
            let field = read_only(AccessReason::Element, first_position(axis) as i32);
            let quads: SmallVec<[C; 4]> = addresses.iter().map(|&a| self.b.load(Elem::F32.by(4), field, a)).collect();
            self.concat(&quads)
        })
    }

    /// Returns the address of a sample's positions.
    fn sample_address(&mut self, index: C) -> C {
        let positions = self.b.load(
            Type::I64,
            read_only(AccessReason::Field, offset_of!(FragmentBatch, positions) as i32),
            self.function.batch(),
        );
        let index = self.b.zext(Type::I64, index);
        let offset = self.b.imul_imm(index, size_of::<QuadPositions>() as i64);
        self.b.iadd(positions, offset)
    }

    /// Loads the position (F32) of a sample along an axis. Any index is valid: it is clamped.
    /// Indices that the pipeline has no sample for give the centre, and so does the only sample of
    /// a pipeline.
    fn clamped_position(&mut self, sample: C, axis: usize) -> C {
        let last = self.b.iconst(Type::I32, i64::from(FragmentBatch::CENTRE));
        let index = self.b.umin(sample, last);
        self.sample_position(index, axis)
    }

    /// Loads the position (F32) along an axis that a quad's sample number stands for, in the first
    /// fragment.
    fn sample_position(&mut self, sample: C, axis: usize) -> C {
        let address = self.sample_address(sample);
        self.b.load(Type::F32, read_only(AccessReason::Element, first_position(axis) as i32), address)
    }

    fn fragment(&self) -> Result<&FragmentState> {
        self.fragment.as_ref().ok_or_else(|| Error::invalid("a fragment operation outside of a fragment stage"))
    }

    /// Emits `Op::IsHelper`.
    pub fn is_helper(&mut self, data: &InstData) -> Result<()> {
        let (covered, alive) = (self.effects.covered()?, self.alive()?);
        let working = self.b.and(covered, alive);
        let helper = self.b.not(working);
        self.define(data.result(), ValueRep::Varying(helper))
    }

    /// Evaluates the plane `[dx, dy, c]` of the primitives at positions relative to their origins.
    fn plane(&mut self, primitives: &[C], field: usize, x: C, y: C) -> C {
        let [dx, dy, c] = [0, 4, 8].map(|o| self.primitive_f32(primitives, field + o));
        let row = self.fused(dy, y, c);
        self.fused(dx, x, row)
    }

    /// Evaluates the depth plane with the operations of the rasterizer's tests, for identical bits.
    fn depth(&mut self, primitives: &[C], [x, y]: [C; 2]) -> C {
        let field = offset_of!(FragmentPrimitive, z);
        let [dx, dy, c] = [0, 4, 8].map(|o| self.primitive_f32(primitives, field + o));
        let py = self.b.fmul(dy, y);
        let row = self.b.fadd(py, c);
        let px = self.b.fmul(dx, x);
        self.b.fadd(px, row)
    }

    /// Returns a float field of each quad's primitive in all lanes.
    fn primitive_f32(&mut self, primitives: &[C], field: usize) -> C {
        if field >= offset_of!(FragmentPrimitive, attributes) || self.rectangles.is_some() {
            return self.primitive_value(Type::F32, primitives, field);
        }
        // The planes fill whole vectors, so that one load serves four floats.
        let quads: SmallVec<[C; 4]> = primitives
            .iter()
            .map(|&p| {
                let row = self.b.load(Elem::F32.by(4), read_only(AccessReason::Field, (field & !15) as i32), p);
                self.b.shuffle(row, row, &[field / 4 % 4; 4])
            })
            .collect();
        self.concat(&quads)
    }

    /// Returns a field of each quad's primitive in all lanes.
    fn primitive_value(&mut self, ty: Type, primitives: &[C], field: usize) -> C {
        let scalars: SmallVec<[C; 4]> =
            primitives.iter().map(|&p| self.b.load(ty, read_only(AccessReason::Field, field as i32), p)).collect();
        self.splat_quads(&scalars)
    }

    /// Returns the position relative to the primitive's origin. The numbers are small and have few
    /// fraction bits, so every sum is exact.
    fn relative_position(&mut self, primitives: &[C], axis: usize, pixel: &[C], inside: C) -> C {
        let field = offset_of!(FragmentPrimitive, origin) + 4 * axis;
        let deltas: SmallVec<[C; 4]> = primitives
            .iter()
            .zip(pixel)
            .map(|(&primitive, &pixel)| {
                let origin = self.b.load(Type::I32, read_only(AccessReason::Field, field as i32), primitive);
                self.b.isub(pixel, origin)
            })
            .collect();
        self.add_corners(&deltas, inside)
    }

    /// Returns the sums of integer corners, one per quad, and positions relative to them.
    fn add_corners(&mut self, corners: &[C], inside: C) -> C {
        let corners: SmallVec<[C; 4]> = corners.iter().map(|&c| self.b.sint_to_float(Type::F32, c)).collect();
        let corners = self.splat_quads(&corners);
        self.b.fadd(corners, inside)
    }

    /// Returns the weights of vertices 1 and 2 at a position relative to the primitive's origin.
    pub fn weights(&mut self, primitives: &[C], [x, y]: [C; 2], perspective: bool) -> [C; 2] {
        let l1 = self.plane(primitives, offset_of!(FragmentPrimitive, b1), x, y);
        let l2 = self.plane(primitives, offset_of!(FragmentPrimitive, b2), x, y);
        if !perspective {
            return [l1, l2];
        }
        let inv_w = self.plane(primitives, offset_of!(FragmentPrimitive, inv_w), x, y);
        let one = self.splat_constant(Ty::F32, u64::from(1f32.to_bits()));
        let w = self.b.fdiv(one, inv_w);
        [(l1, offset_of!(FragmentPrimitive, inv_w1)), (l2, offset_of!(FragmentPrimitive, inv_w2))].map(|(l, field)| {
            let scale = self.primitive_f32(primitives, field);
            let p = self.b.fmul(l, scale);
            self.b.fmul(p, w)
        })
    }

    /// Returns an input at each lane.
    pub fn interpolate(&mut self, slot: u32, at: InterpolateAt, ty: Ty, data: &InstData) -> Result<C> {
        let interpolation = self.shader.inputs[slot as usize].interpolation;
        let lists = self.fragment()?.attributes.clone();
        let field = read_only(AccessReason::Element, (slot as usize * size_of::<[u32; 3]>()) as i32);
        if interpolation == Interpolation::Flat {
            let scalars: SmallVec<[C; 4]> = lists.iter().map(|&l| self.b.load(scalar_type(ty), field, l)).collect();
            return Ok(self.splat_quads(&scalars));
        }
        if let Some(chunk_position) = self.chunk_position() {
            let relative = self.fragment()?.relative;
            let v = self.rectangle_input(slot, &chunk_position, relative);
            let to = self.b.ty(v).with(elem(ty));
            return Ok(self.b.bitcast(to, v));
        }
        let Some(inside) = self.position_in_pixel(at, data)? else { return self.interpolated(slot, ty) };
        let weights = self.weights_at(inside, interpolation == Interpolation::Smooth)?;
        // One load takes the row and the four bytes behind it.
        let rows: SmallVec<[C; 4]> = lists.iter().map(|&l| self.b.load(Elem::F32.by(4), field, l)).collect();
        let [a0, d1, d2] = [0, 1, 2].map(|i| {
            let quads: SmallVec<[C; 4]> = rows.iter().map(|&row| self.b.shuffle(row, row, &[i; 4])).collect();
            self.concat(&quads)
        });
        let sum = self.fused(weights[0], d1, a0);
        let v = self.fused(weights[1], d2, sum);
        let to = self.b.ty(v).with(elem(ty));
        Ok(self.b.bitcast(to, v))
    }

    /// Returns the weights at a position inside the pixels, or larger fragments.
    fn weights_at(&mut self, inside: [C; 2], perspective: bool) -> Result<[C; 2]> {
        let f = self.fragment()?;
        let (primitives, pixel, samples) = (f.primitives.clone(), f.pixel.clone(), f.samples.clone());
        let positions = f.inside;
        let relative = [0, 1].map(|axis| {
            // All positions of a quad are at the same place in their fragments.
            let first: SmallVec<[C; 4]> = samples.iter().map(|&sample| self.sample_position(sample, axis)).collect();
            let first = self.splat_quads(&first);
            let steps = self.b.fsub(positions[axis], first);
            let corner = self.relative_position(&primitives, axis, &pixel[axis], steps);
            self.b.fadd(corner, inside[axis])
        });
        Ok(self.weights(&primitives, relative, perspective))
    }

    /// Returns the centres of the fragments of each lane along an axis, relative to the corner.
    fn centres(&mut self, axis: usize) -> Result<C> {
        let samples = self.fragment()?.samples.clone();
        let pixel = self.b.iconst(Type::I32, i64::from(FragmentBatch::CENTRE));
        let centres: SmallVec<[C; 4]> = samples
            .iter()
            .map(|&sample| {
                let size = self.b.umax(sample, pixel);
                self.sample_position(size, axis)
            })
            .collect();
        Ok(self.splat_quads(&centres))
    }

    /// Returns the position inside the pixel where an input is evaluated, or `None` for the
    /// position of the invocation.
    fn position_in_pixel(&mut self, at: InterpolateAt, data: &InstData) -> Result<Option<[C; 2]>> {
        Ok(Some(match at {
            InterpolateAt::Default | InterpolateAt::Sample => return Ok(None),
            InterpolateAt::Centroid => self.centroids()?,
            InterpolateAt::Offset => {
                let centres = [self.centres(0)?, self.centres(1)?];
                let x = self.vector(data.args[0])?;
                let y = self.vector(data.args[1])?;
                [self.b.fadd(x, centres[0]), self.b.fadd(y, centres[1])]
            }
            InterpolateAt::AtSample => {
                let mut lanes: [Vec<C>; 2] = [Vec::new(), Vec::new()];
                for lane in 0..self.lanes.count() as usize {
                    let sample = self.value_lane(data.args[0], lane)?;
                    for (axis, list) in lanes.iter_mut().enumerate() {
                        list.push(self.clamped_position(sample, axis));
                    }
                }
                lanes.map(|l| self.b.build(&l))
            }
        }))
    }

    /// Returns the mask of covered samples of each lane, one bit per sample.
    fn sample_mask(&mut self) -> Result<C> {
        let coverage = self.fragment()?.coverage.clone();
        let samples = self.b.load(
            Type::I32,
            read_only(AccessReason::Field, offset_of!(FragmentBatch, samples) as i32),
            self.function.batch(),
        );
        let few = self.b.icmp_imm(IntCond::Ule, samples, 4);
        let groups = self.b.load(
            Type::I64,
            read_only(AccessReason::Field, offset_of!(FragmentBatch, groups) as i32),
            self.function.batch(),
        );
        let chunk = self.b.zext(Type::I64, self.function.chunk());
        let size = size_of::<SampleGroups>();
        let start = self.b.imul_imm(chunk, (size * coverage.len()) as i64);
        let groups = self.b.iadd(groups, start);
        let shifts = self.words(|l| 4 * (l as i32 & 3));
        let mut mask = self.word(0);
        for group in 0..MAX_SAMPLES / 4 {
            let quads: SmallVec<[C; 4]> = coverage
                .iter()
                .enumerate()
                .map(|(quad, &coverage)| {
                    let word = self.b.load_u16(
                        Type::I32,
                        read_only(AccessReason::Element, (quad * size + 2 * group) as i32),
                        groups,
                    );
                    // With at most four samples per pixel, the quad itself has the mask, and the
                    // words of all groups are zero.
                    if group == 0 { self.b.select(few, coverage, word) } else { word }
                })
                .collect();
            let bits = self.splat_quads(&quads);
            let bits = self.b.lshrv(bits, shifts);
            let nibble = self.word(0xf);
            let bits = self.b.and(bits, nibble);
            let bits = self.b.shl_imm(bits, 4 * group as u32);
            mask = self.b.or(mask, bits);
        }
        Ok(mask)
    }

    /// Returns the lanes whose pixels the primitive contains.
    fn fully_covered(&mut self) -> Result<C> {
        let quads = self.fragment()?.primitives.len();
        let field = read_only(AccessReason::Field, offset_of!(FragmentBatch, contained) as i32);
        let list = self.b.load(Type::I64, field, self.function.batch());
        let chunk = self.b.zext(Type::I64, self.function.chunk());
        let start = self.b.imul_imm(chunk, (size_of::<u16>() * quads) as i64);
        let list = self.b.iadd(list, start);
        let pixels: SmallVec<[C; 4]> = (0..quads)
            .map(|quad| {
                let at = (quad * size_of::<u16>()) as i32;
                self.b.load_u16(Type::I32, read_only(AccessReason::Element, at), list)
            })
            .collect();
        let pixels = self.splat_quads(&pixels);
        let own = self.words(|lane| 1 << (lane & 3));
        let bits = self.b.and(pixels, own);
        Ok(self.b.icmp_imm(IntCond::Ne, bits, 0))
    }

    /// Emits a built-in of the fragment stage.
    pub fn fragment_builtin(&mut self, builtin: Builtin, result: Value) -> Result<()> {
        let f = self.fragment()?;
        let (primitives, samples) = (f.primitives.clone(), f.samples.clone());
        let [x, y] = f.relative;
        let c = match builtin {
            Builtin::FragCoord(c @ (0 | 1)) => self.frag_xy(usize::from(c))?,
            Builtin::FragCoord(2) => self.depth(&primitives, [x, y]),
            Builtin::FragCoord(_) => self.plane(&primitives, offset_of!(FragmentPrimitive, inv_w), x, y),
            Builtin::PointCoord(c) => {
                let axis = usize::from(c.min(1));
                let p = self.frag_xy(axis)?;
                let origin = self.primitive_f32(&primitives, offset_of!(FragmentPrimitive, point_origin) + 4 * axis);
                let scale = self.primitive_f32(&primitives, offset_of!(FragmentPrimitive, point_inv_size));
                let d = self.b.fsub(p, origin);
                self.b.fmul(d, scale)
            }
            Builtin::FrontFacing => {
                let field = offset_of!(FragmentPrimitive, front_facing);
                let v = self.primitive_value(Type::I32, &primitives, field);
                self.b.icmp_imm(IntCond::Ne, v, 0)
            }
            Builtin::PrimitiveId => {
                self.primitive_value(Type::I32, &primitives, offset_of!(FragmentPrimitive, primitive_id))
            }
            Builtin::Layer => self.primitive_value(Type::I32, &primitives, offset_of!(FragmentPrimitive, layer)),
            Builtin::ViewportIndex => {
                self.primitive_value(Type::I32, &primitives, offset_of!(FragmentPrimitive, viewport_index))
            }
            Builtin::SampleId => {
                let ids: SmallVec<[C; 4]> = samples.iter().map(|&s| self.sample_id(s)).collect();
                self.splat_quads(&ids)
            }
            Builtin::SamplePosition(c) => {
                let axis = usize::from(c.min(1));
                let positions: SmallVec<[C; 4]> = samples
                    .iter()
                    .map(|&sample| {
                        let id = self.sample_id(sample);
                        self.clamped_position(id, axis)
                    })
                    .collect();
                self.splat_quads(&positions)
            }
            Builtin::SampleMaskIn => self.sample_mask()?,
            Builtin::HelperInvocation => self.b.not(self.effects.covered()?),
            Builtin::FullyCovered => self.fully_covered()?,
            Builtin::ShadingRate => {
                let sizes: SmallVec<[C; 4]> = samples.iter().map(|&sample| self.fragment_size(sample)).collect();
                self.splat_quads(&sizes)
            }
            other => return Err(Error::invalid(format!("{other:?} is no fragment's"))),
        };
        self.define(result, ValueRep::Varying(c))
    }

    /// Returns the framebuffer coordinate of the fragments along an axis.
    fn frag_xy(&mut self, axis: usize) -> Result<C> {
        if let Some(chunk_position) = self.chunk_position() {
            return Ok(self.rectangle_xy(&chunk_position, axis));
        }
        let f = self.fragment()?;
        let (pixel, inside) = (f.pixel[axis].clone(), f.inside[axis]);
        Ok(self.add_corners(&pixel, inside))
    }

    fn sample_id(&mut self, sample: C) -> C {
        let per_pixel = self.b.icmp_imm(IntCond::Uge, sample, i64::from(FragmentBatch::CENTRE));
        let zero = self.b.iconst(Type::I32, 0);
        self.b.select(per_pixel, zero, sample)
    }

    /// Returns the size of the fragments of a quad as ShadingRateKHR encodes it.
    fn fragment_size(&mut self, sample: C) -> C {
        let pixel = self.b.iconst(Type::I32, i64::from(FragmentBatch::CENTRE));
        let sample = self.b.umax(sample, pixel);
        self.b.isub(sample, pixel)
    }
}
