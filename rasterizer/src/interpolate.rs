//! Inputs of fragments at the positions of their invocations: generated code requests those of a
//! whole batch at once (`HelperTable::interpolate`).
//!
//! Quads are processed in pairs, the eight lanes of a row. On hosts with 512-bit vectors, four
//! quads of one primitive are processed together: the primitive's values are then the same in all
//! lanes, and an operand in memory. The bits are those of `FragmentPrimitive`'s formulas, operation
//! by operation.

use base::abi::{FragmentBatch, FragmentPrimitive, FragmentQuad, MAX_LANES, QuadPositions, SamplePositions};
use base::host::{Floats, Host, Ints, SimdLevel};
use core::ffi::c_void;

base::multiversion! {
    for Avx512 unsafe extern "code" fn interpolate_of
        (batch: *const FragmentBatch, quads: u32, inputs: *const u32, count: u32, rows: *mut f32) {
        let inputs = core::slice::from_raw_parts(inputs, count as usize);
        let quads = core::slice::from_raw_parts((*batch).quads, padded(&*batch, quads));
        batch_of::<H>(HOST, &*batch, quads, inputs, rows.cast());
    }
}

/// Implements `HelperTable::interpolate`.
///
/// # Safety
/// The requirements of the helper hold: a batch as a fragment stage takes it, `count` inputs
/// that its primitives have, and memory for all rows.
#[base::code_fn]
pub unsafe extern "code" fn interpolate(
    batch: *const c_void,
    quads: u32,
    inputs: *const u32,
    count: u32,
    rows: *mut f32,
) {
    // SAFETY: the level is the host's, and the `# Safety` section of this function requires the
    // same of the pointers.
    unsafe { interpolate_of(SimdLevel::detect())(batch.cast(), quads, inputs, count, rows) }
}

/// Returns the number of quads of a batch, with those that pad its last chunk of `chunk` quads.
#[inline(always)]
fn padded(batch: &FragmentBatch, chunk: u32) -> usize {
    batch.count.next_multiple_of(chunk) as usize
}

/// The values of an input at two quads.
type Row = [u32; MAX_LANES];

/// # Safety
/// The requirements of [`interpolate`] hold, and the host has level `H`.
#[inline(always)]
unsafe fn batch_of<H: Host>(
    host: H,
    batch: &FragmentBatch,
    mut rest: &[FragmentQuad],
    inputs: &[u32],
    mut rows: *mut Row,
) {
    // SAFETY: the quads have valid primitives, and there is memory for all rows (`# Safety`).
    unsafe {
        while let Some(first) = rest.first() {
            #[cfg(target_arch = "x86_64")]
            if let Some(v) = host.avx512()
                && let Some(four) = rest.first_chunk::<4>()
                && four.iter().all(|quad| quad.primitive == first.primitive && quad.sample == first.sample)
            {
                avx512::four_quads(v, batch, four, inputs, rows);
                (rest, rows) = (&rest[4..], rows.add(2 * inputs.len()));
                continue;
            }
            let second = rest.get(1).unwrap_or(first);
            if first.primitive == second.primitive {
                pair::<H, true>(host, batch, [first, second], inputs, rows);
            } else {
                pair::<H, false>(host, batch, [first, second], inputs, rows);
            }
            (rest, rows) = (rest.get(2..).unwrap_or_default(), rows.add(inputs.len()));
        }
    }
}

/// Returns a quad's positions inside of its pixels.
#[inline(always)]
fn inside<'a>(batch: &'a FragmentBatch, quad: &FragmentQuad) -> &'a QuadPositions {
    // SAFETY: a batch has positions.
    let positions = unsafe { &*batch.positions };
    positions.get(usize::from(quad.sample)).unwrap_or(&positions[FragmentBatch::CENTRE as usize])
}

/// Implements `HelperTable::centroids`.
///
/// # Safety
/// The requirements of the helper hold: a batch as a fragment stage takes it, and memory for
/// all rows.
#[base::code_fn]
pub unsafe extern "code" fn centroids(batch: *const c_void, quads: u32, rows: *mut f32) {
    // SAFETY: the batch has padded quads, and as many groups and centroids, if any; there is memory
    // for two rows of eight for each pair (`# Safety`).
    let (batch, quads, groups, positions, known, rows) = unsafe {
        let batch = &*batch.cast::<FragmentBatch>();
        let quads = core::slice::from_raw_parts(batch.quads, padded(batch, quads));
        let known = match batch.centroids.is_null() {
            true => &[][..],
            false => core::slice::from_raw_parts(batch.centroids, quads.len()),
        };
        let rows = core::slice::from_raw_parts_mut(rows, quads.len().div_ceil(2) * 2 * MAX_LANES);
        (batch, quads, core::slice::from_raw_parts(batch.groups, quads.len()), &*batch.positions, known, rows)
    };
    for (number, (quad, groups)) in quads.iter().zip(groups).enumerate() {
        for pixel in 0..4 {
            let of = |coverage: u16| u32::from(coverage >> (4 * pixel) & 0xf);
            let mask = match batch.samples {
                0..=4 => of(quad.coverage),
                _ => (0..).zip(groups).fold(0, |mask, (group, &coverage)| mask | of(coverage) << (4 * group)),
            };
            let at = match known.get(number) {
                Some(known) => [known.x[pixel], known.y[pixel]],
                None => centroid(positions, mask, batch.samples),
            };
            for (axis, at) in at.into_iter().enumerate() {
                rows[(number / 2 * 2 + axis) * MAX_LANES + number % 2 * 4 + pixel] = at;
            }
        }
    }
}

/// Returns the mean of the positions of the masked ones of `samples` samples; the centre if the
/// mask has none or all.
fn centroid(positions: &SamplePositions, mask: u32, samples: u32) -> [f32; 2] {
    let count = mask.count_ones();
    if count == 0 || count >= samples {
        return [0.5; 2];
    }
    let mut sum = [0.0; 2];
    for (sample, position) in positions.iter().enumerate() {
        if mask >> sample & 1 != 0 {
            sum = [sum[0] + position.x[0], sum[1] + position.y[0]];
        }
    }
    sum.map(|sum| sum / count as f32)
}

/// Returns a float of each quad's primitive, which is the same one with `SAME`.
#[inline(always)]
fn each<H: Host, const SAME: bool>(a: f32, b: f32) -> H::Floats {
    if SAME {
        return H::Floats::splat(a);
    }
    let (a, b) = (a.to_bits(), b.to_bits());
    H::Ints::from_array([a, a, a, a, b, b, b, b]).as_floats()
}

/// Evaluates the plane `[dx, dy, c]` of each quad's primitive at (x, y).
#[inline(always)]
fn plane<H: Host, const SAME: bool>(a: &[f32; 3], b: &[f32; 3], [x, y]: [H::Floats; 2]) -> H::Floats {
    let row = each::<H, SAME>(a[1], b[1]).mul_add(y, each::<H, SAME>(a[2], b[2]));
    each::<H, SAME>(a[0], b[0]).mul_add(x, row)
}

/// Interpolates the inputs of two quads, which have one primitive with `SAME`.
///
/// # Safety
/// The requirements of [`batch_of`] hold, and the quads belong to the batch.
#[inline(always)]
unsafe fn pair<H: Host, const SAME: bool>(
    host: H,
    batch: &FragmentBatch,
    [first, second]: [&FragmentQuad; 2],
    inputs: &[u32],
    rows: *mut Row,
) {
    // SAFETY: the quads belong to the batch, so their primitives are valid (`# Safety`).
    let (a, b) = unsafe { (&*first.primitive, &*second.primitive) };
    let corner = |quad: &FragmentQuad, primitive: &FragmentPrimitive| {
        let [x, y] = primitive.origin;
        [i32::from(quad.x).wrapping_sub(x) as f32, i32::from(quad.y).wrapping_sub(y) as f32]
    };
    let (corner_a, corner_b) = (corner(first, a), corner(second, b));
    let (inside_a, inside_b) = (inside(batch, first), inside(batch, second));
    let x = host.halves(&inside_a.x, &inside_b.x).as_floats();
    let y = host.halves(&inside_a.y, &inside_b.y).as_floats();
    let at = [each::<H, false>(corner_a[0], corner_b[0]) + x, each::<H, false>(corner_a[1], corner_b[1]) + y];
    let linear = [plane::<H, SAME>(&a.b1, &b.b1, at), plane::<H, SAME>(&a.b2, &b.b2, at)];
    let smooth = if a.affine & b.affine != 0 {
        linear
    } else {
        let w = H::Floats::splat(1.0) / plane::<H, SAME>(&a.inv_w, &b.inv_w, at);
        [linear[0] * each::<H, SAME>(a.inv_w1, b.inv_w1) * w, linear[1] * each::<H, SAME>(a.inv_w2, b.inv_w2) * w]
    };
    for (i, input) in inputs.iter().enumerate() {
        let slot = (input >> 1) as usize;
        let [w1, w2] = if input & 1 != 0 { smooth } else { linear };
        // SAFETY: the primitives have the slot, and there is memory for the row (`# Safety`).
        unsafe {
            let (a, b) = ((*a.attributes.add(slot)).map(f32::from_bits), (*b.attributes.add(slot)).map(f32::from_bits));
            let sum = w1.mul_add(each::<H, SAME>(a[1], b[1]), each::<H, SAME>(a[0], b[0]));
            let value = w2.mul_add(each::<H, SAME>(a[2], b[2]), sum);
            rows.add(i).write(value.bits().to_array());
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::{Row, inside};
    use base::abi::{FragmentBatch, FragmentQuad};
    use base::host::Avx512;
    use core::arch::x86_64::*;

    /// Evaluates the plane `[dx, dy, c]` at (x, y).
    #[inline(always)]
    fn plane(v: Avx512, plane: &[f32; 3], [x, y]: [__m512; 2]) -> __m512 {
        let row = v._mm512_fmadd_ps(v._mm512_set1_ps(plane[1]), y, v._mm512_set1_ps(plane[2]));
        v._mm512_fmadd_ps(v._mm512_set1_ps(plane[0]), x, row)
    }

    /// Interpolates the inputs of four quads of one primitive, at the same sample: two rows of each
    /// input.
    ///
    /// # Safety
    /// The requirements of [`super::batch_of`] hold, and the quads belong to the batch.
    #[inline(always)]
    pub unsafe fn four_quads(
        v: Avx512,
        batch: &FragmentBatch,
        quads: &[FragmentQuad; 4],
        inputs: &[u32],
        rows: *mut Row,
    ) {
        const { assert!(size_of::<FragmentQuad>() == 16 && core::mem::offset_of!(FragmentQuad, x) == 0) };
        const { assert!(core::mem::offset_of!(FragmentQuad, y) == 2) };
        // SAFETY: the quads belong to the batch (`# Safety`), and the host has the level because
        // the token exists.
        unsafe {
            let primitive = &*quads[0].primitive;
            // The first word of each quad, x and y, is broadcast to all of its lanes.
            let corners = v._mm512_shuffle_epi32::<0>(_mm512_loadu_si512(quads.as_ptr().cast()));
            let x = v._mm512_and_si512(corners, v._mm512_set1_epi32(0xffff));
            let y = v._mm512_srli_epi32::<16>(corners);
            let [x, y] = [
                v._mm512_cvtepi32_ps(v._mm512_sub_epi32(x, v._mm512_set1_epi32(primitive.origin[0]))),
                v._mm512_cvtepi32_ps(v._mm512_sub_epi32(y, v._mm512_set1_epi32(primitive.origin[1]))),
            ];
            let inside = inside(batch, &quads[0]);
            let at = [
                v._mm512_add_ps(x, v._mm512_broadcast_f32x4(v._mm_castsi128_ps(v.load_128(&inside.x)))),
                v._mm512_add_ps(y, v._mm512_broadcast_f32x4(v._mm_castsi128_ps(v.load_128(&inside.y)))),
            ];
            let linear = [plane(v, &primitive.b1, at), plane(v, &primitive.b2, at)];
            let smooth = if primitive.affine != 0 {
                linear
            } else {
                let w = v._mm512_div_ps(v._mm512_set1_ps(1.0), plane(v, &primitive.inv_w, at));
                [
                    v._mm512_mul_ps(v._mm512_mul_ps(linear[0], v._mm512_set1_ps(primitive.inv_w1)), w),
                    v._mm512_mul_ps(v._mm512_mul_ps(linear[1], v._mm512_set1_ps(primitive.inv_w2)), w),
                ]
            };
            for (i, input) in inputs.iter().enumerate() {
                let [w1, w2] = if input & 1 != 0 { smooth } else { linear };
                let [a0, d1, d2] = (*primitive.attributes.add((input >> 1) as usize)).map(f32::from_bits);
                let sum = v._mm512_fmadd_ps(w1, v._mm512_set1_ps(d1), v._mm512_set1_ps(a0));
                let value = v._mm512_castps_si512(v._mm512_fmadd_ps(w2, v._mm512_set1_ps(d2), sum));
                _mm256_storeu_si256(rows.add(i).cast(), v._mm512_castsi512_si256(value));
                _mm256_storeu_si256(rows.add(inputs.len() + i).cast(), v._mm512_extracti64x4_epi64::<1>(value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::interpolate as oracle;
    use base::abi::{BatchHeader, interpolated};
    use base::random::Rng;
    use base::shader::Interpolation::{Linear, Smooth};

    const SLOTS: usize = 5;

    fn primitive(rng: &mut Rng, attributes: &[[u32; 3]]) -> FragmentPrimitive {
        let affine = rng.below(3) == 0;
        let mut near = || rng.float(-0.25, 0.25);
        let (b1, b2) = ([near(), near(), near()], [near(), near(), near()]);
        let distance = [near() / 64.0, near() / 64.0, 1.0 + near(), 1.0 + near(), 1.0 + near()];
        let [dx, dy, inv_w, inv_w1, inv_w2] = if affine { [0.0, -0.0, 1.0, 1.0, 1.0] } else { distance };
        FragmentPrimitive {
            b1,
            b2,
            inv_w: [dx, dy, inv_w],
            inv_w1,
            inv_w2,
            z: [0.0; 3],
            origin: [rng.below(64) as i32 - 32, rng.below(16384) as i32],
            attributes: attributes.as_ptr(),
            front_facing: 1,
            primitive_id: 0,
            layer: 0,
            viewport_index: 0,
            point_origin: [0.0; 2],
            point_inv_size: 0.0,
            affine: u32::from(affine),
        }
    }

    /// Makes quads of few primitives, with several consecutive quads of each.
    fn quads(rng: &mut Rng, primitives: &[FragmentPrimitive], count: u32) -> Vec<FragmentQuad> {
        let (mut primitive, mut sample) = (0, FragmentBatch::CENTRE);
        let mut quad = |_| {
            if rng.below(4) == 0 {
                primitive = rng.below(primitives.len() as u32) as usize;
            }
            if rng.below(8) == 0 {
                sample = rng.pick(&[0, 1, 2, 3, FragmentBatch::CENTRE]);
            }
            let [x, y] = [0; 2].map(|_| 2 * rng.below(8192) as u16);
            FragmentQuad { x, y, coverage: 0x1111, sample, primitive: &primitives[primitive] }
        };
        (0..count).map(&mut quad).collect()
    }

    #[test]
    fn every_level_has_the_bits_of_the_formulas() {
        let mut rng = Rng(0x1d3a_0000_b17e_0011);
        for _ in 0..400 {
            let attributes: Vec<[[u32; 3]; SLOTS]> = (0..3)
                .map(|_| {
                    std::array::from_fn(|_| {
                        std::array::from_fn(|_| match rng.below(16) {
                            0 => rng.pick(&[0.0, -0.0, f32::INFINITY, 1e-40]).to_bits(),
                            _ => rng.float(-100.0, 100.0).to_bits(),
                        })
                    })
                })
                .collect();
            let primitives: Vec<_> = attributes.iter().map(|rows| primitive(&mut rng, rows)).collect();
            let count = 1 + rng.below(FragmentBatch::MAX_QUADS as u32);
            let quads = quads(&mut rng, &primitives, count);
            // Positions have few bits, so that sums are exact in any order.
            let samples: [[f32; 2]; 4] = std::array::from_fn(|_| [0; 2].map(|_| rng.below(16) as f32 / 16.0));
            let positions = FragmentBatch::positions(&samples);
            let batch = FragmentBatch {
                header: BatchHeader { scratch: core::ptr::null_mut(), sink: core::ptr::null_mut() },
                count,
                samples: 4,
                quads: quads.as_ptr(),
                outputs: core::ptr::null_mut(),
                alive: core::ptr::null_mut(),
                positions: &positions,
                groups: FragmentBatch::NO_GROUPS.as_ptr(),
                contained: core::ptr::null(),
                centroids: core::ptr::null(),
            };
            let inputs = [(4, true), (0, false), (2, true), (0, true)];
            let inputs = &inputs[..1 + rng.below(4) as usize];
            let list: Vec<u32> = inputs.iter().map(|&(slot, perspective)| interpolated(slot, perspective)).collect();
            for level in SimdLevel::all_supported() {
                // One more pair is allocated, which must stay unchanged.
                let pairs = quads.len().div_ceil(2);
                let mut rows = vec![[7u32; MAX_LANES]; (pairs + 1) * list.len()];
                // SAFETY: the host has the level, the quads are valid, their primitives have the
                // slots, and there is memory for the rows.
                unsafe { interpolate_of(level)(&batch, 1, list.as_ptr(), list.len() as u32, rows.as_mut_ptr().cast()) };
                assert!(rows[pairs * list.len()..].iter().all(|row| *row == [7; MAX_LANES]));
                for (number, quad) in quads.iter().enumerate() {
                    let at = &positions[usize::from(quad.sample)];
                    // SAFETY: the primitives outlive the quads.
                    let primitive = unsafe { &*quad.primitive };
                    for (i, &(slot, perspective)) in inputs.iter().enumerate() {
                        for lane in 0..4 {
                            let [x, y] = [f32::from(quad.x) + at.x[lane], f32::from(quad.y) + at.y[lane]];
                            let mode = if perspective { Smooth } else { Linear };
                            // SAFETY: the primitive has the slot.
                            let want = unsafe { oracle(primitive, slot as usize, x, y, mode) };
                            let got = rows[number / 2 * list.len() + i][number % 2 * 4 + lane];
                            let nan = f32::from_bits(want).is_nan() && f32::from_bits(got).is_nan();
                            assert!(want == got || nan, "{level:?} quad {number} of {count}: {got:x}, not {want:x}");
                        }
                    }
                }
            }
        }
    }
}
