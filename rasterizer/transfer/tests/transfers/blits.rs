//! Tests that compare blits and resolves of every format with their definition, texel by texel, in
//! the driver's order of operations.

use super::*;
use base::format::{Texel, features};

/// Returns the indices of two texels and the weight of the second.
fn tap(d: i32, src: [i32; 2], size: u32, dst: [i32; 2], filter: Filter) -> (u32, u32, f32) {
    let last = f64::from(size - 1);
    let scale = (f64::from(src[1]) - f64::from(src[0])) / (f64::from(dst[1]) - f64::from(dst[0]));
    let u = (f64::from(d) + 0.5 - f64::from(dst[0])) * scale + f64::from(src[0]);
    if filter == Filter::Nearest {
        let i = u.floor().clamp(0.0, last) as u32;
        return (i, i, 0.0);
    }
    let base = (u - 0.5).floor();
    (base.clamp(0.0, last) as u32, (base + 1.0).clamp(0.0, last) as u32, (u - 0.5 - base) as f32)
}

fn value(o: &Owned, layer: u32, at: [u32; 3]) -> Texel {
    let format = o.image.layout.desc.format;
    let bytes = texel(o, 0, layer, 0, at);
    if !format.is_compressed() {
        return format::unpack(format, &bytes);
    }
    let mut block = [0; 16];
    block[..bytes.len()].copy_from_slice(&bytes);
    format::decode_texel(format, &block, [at[0], at[1]])
}

fn between(a: Texel, b: Texel, w: f32) -> Texel {
    std::array::from_fn(|c| (f32::from_bits(a[c]) * (1.0 - w) + f32::from_bits(b[c]) * w).to_bits())
}

/// Returns true if a blit neither scales nor mirrors and lies inside of both images, so that it
/// copies the texels themselves, including the sign of zeros.
fn is_copy(src: &Owned, dst: &Owned, region: &ImageBlit) -> bool {
    let size = |o: &[[i32; 3]; 2]| [0, 1, 2].map(|i| o[1][i] - o[0][i]);
    let inside = |image: &Owned, o: &[[i32; 3]; 2]| {
        let extent = image.image.layout.planes()[0].levels[0].extent;
        (0..3).all(|i| o[0][i] >= 0 && o[1][i] > o[0][i] && o[1][i] as u32 <= extent[i])
    };
    size(&region.src_offsets) == size(&region.dst_offsets)
        && inside(src, &region.src_offsets)
        && inside(dst, &region.dst_offsets)
}

/// Returns the texel that a blit makes.
fn blitted(src: &Owned, dst: &Owned, region: &ImageBlit, filter: Filter, layer: u32, at: [u32; 3]) -> Vec<u8> {
    let (from, to) = (src.image.layout.desc.format, dst.image.layout.desc.format);
    let size = src.image.layout.planes()[0].levels[0].extent;
    let filter = if from.is_integer() { Filter::Nearest } else { filter };
    let axis = |i: usize| {
        let corners = |o: &[[i32; 3]; 2]| [o[0][i], o[1][i]];
        tap(at[i] as i32, corners(&region.src_offsets), size[i], corners(&region.dst_offsets), filter)
    };
    let (x, y) = (axis(0), axis(1));
    let z = if src.image.layout.desc.dim == Dim::D3 { axis(2) } else { (0, 0, 0.0) };
    if from == to && is_copy(src, dst, region) {
        return texel(src, 0, layer, 0, [x.0, y.0, z.0]);
    }
    let mut out = vec![0; usize::from(to.info().block_bytes)];
    if filter == Filter::Nearest {
        if from == to {
            return texel(src, 0, layer, 0, [x.0, y.0, z.0]);
        }
        let mut value = value(src, layer, [x.0, y.0, z.0]);
        if from.is_integer() {
            value = clamp_integer(value, from, to);
        }
        format::pack(to, value, &mut out);
        return out;
    }
    let row = |y: u32, z: u32| between(value(src, layer, [x.0, y, z]), value(src, layer, [x.1, y, z]), x.2);
    let plane = |z: u32| between(row(y.0, z), row(y.1, z), y.2);
    let value = if z.2 == 0.0 { plane(z.0) } else { between(plane(z.0), plane(z.1), z.2) };
    format::pack(to, value, &mut out);
    out
}

/// Asserts that texels have equal bytes, or NaNs in the same components.
fn assert_same(format: Format, got: &[u8], want: &[u8], what: impl Fn() -> String) {
    let nan = |t: Texel| t.map(|c| f32::from_bits(c).is_nan());
    let (a, b) = (format::unpack(format, got), format::unpack(format, want));
    let same = |c: usize| a[c] == b[c] || nan(a)[c] && nan(b)[c];
    let floats = !format.is_integer() && (0..4).any(|c| nan(b)[c]);
    assert!(got == want || floats && (0..4).all(same), "{}: {got:x?}, not {want:x?}", what());
}

/// Fills an image with random texels: any bits, or special numbers.
fn texels(o: &Owned, rng: &mut Rng) {
    randomize(o, rng);
    let format = o.image.layout.desc.format;
    if format.is_compressed() || rng.below(3) == 0 {
        return;
    }
    let size = usize::from(format.info().block_bytes);
    let memory = memory_of(&o.image);
    let numbers = [0.0, 1.0, -1.0, 0.5, 65504.0, -0.0, 1e-7, f32::INFINITY];
    for at in (0..memory.len()).step_by(size) {
        let value = [0; 4].map(|_| match rng.below(12) {
            n if format.is_integer() => rng.next() >> n,
            0 => numbers[rng.below(8) as usize].to_bits(),
            _ => (rng.unit() * 1.5 - 0.25).to_bits(),
        });
        let mut bytes = vec![0; size];
        format::pack(format, value, &mut bytes);
        memory.write(at, &bytes);
    }
}

/// Returns the formats with a feature that have one plane of colour.
fn colors(wanted: u32) -> Vec<Format> {
    let all = test_support::guard::formats(|row| row.image_features & wanted != 0);
    all.filter(|f| !f.has_depth() && !f.has_stencil() && f.info().plane_count == 1).collect()
}

/// Returns a size, and corners on an axis of both images: whole, halved, doubled, mirrored, cut, or
/// outside.
fn axis(rng: &mut Rng, max: u32) -> (u32, u32, [i32; 2], [i32; 2]) {
    let n = 1 + rng.below(max);
    let (src, dst) = match rng.below(6) {
        0 => (2 * n, n),
        1 => (n, 2 * n),
        2 => (n, n),
        _ => (n, 1 + rng.below(max)),
    };
    let (mut from, mut to) = ([0, src as i32], [0, dst as i32]);
    match rng.below(8) {
        0 => from.swap(0, 1),
        1 => to.swap(0, 1),
        2 => from = [rng.below(src) as i32, rng.below(2 * src) as i32],
        3 => to = [rng.below(dst) as i32 - 3, 2 * dst as i32],
        _ => {}
    }
    (src, dst, from, to)
}

#[test]
fn blits_of_all_formats_are_those_of_single_texels() {
    let mut rng = Rng(0xb117_0000_1234);
    let pool = execution::work_sharing::WorkSharingPool::new(3);
    let (sources, targets) = (colors(features::BLIT_SRC), colors(features::BLIT_DST));
    assert!(sources.len() > 60 && targets.len() > 40, "{} {}", sources.len(), targets.len());
    // The formats are RGBA8 and BGRA8 with and without sRGB, R8, RG8, R16F, RGBA16F, R32F and
    // RGBA32F.
    let common = [37, 43, 44, 50, 9, 16, 76, 97, 100, 109].map(|vk| Format::from_vk(vk).expect("format"));
    for round in 0..sources.len() * 10 {
        let from = if round % 3 == 0 { common[rng.below(10) as usize] } else { sources[round % sources.len()] };
        let fits = |to: &Format| to.is_integer() == from.is_integer();
        let others: Vec<Format> = targets.iter().copied().filter(fits).collect();
        let any = others[rng.below(others.len() as u32) as usize];
        let to = match rng.below(3) {
            0 if others.contains(&from) => from,
            1 if !from.is_integer() => common[rng.below(10) as usize],
            _ => any,
        };
        let volume = rng.below(4) == 0 && !from.is_compressed();
        let max = if volume { 9 } else { 70 };
        let axes =
            [axis(&mut rng, max), axis(&mut rng, 12), if volume { axis(&mut rng, 5) } else { (1, 1, [0, 1], [0, 1]) }];
        let (dim, layers) = if volume { (Dim::D3, 1) } else { (Dim::D2, 1 + rng.below(2)) };
        let src = image(from.info().vk, dim, axes.map(|a| a.0), 1, layers, 1);
        let dst = image(to.info().vk, dim, axes.map(|a| a.1), 1, layers, 1);
        texels(&src, &mut rng);
        randomize(&dst, &mut rng);
        let corner = |i: usize| [axes.map(|a| a.2[i]), axes.map(|a| a.3[i])];
        let ([src_low, dst_low], [src_high, dst_high]) = (corner(0), corner(1));
        let region = ImageBlit {
            src: color(0, 0, layers),
            src_offsets: [src_low, src_high],
            dst: color(0, 0, layers),
            dst_offsets: [dst_low, dst_high],
        };
        let filter = if rng.below(3) == 0 { Filter::Nearest } else { Filter::Linear };
        let before = bytes_of(&dst);
        blit_image((round % 2 == 0).then_some(&pool), &src.image, &dst.image, &region, filter);
        let [width, height, depth] = axes.map(|a| a.1);
        for i in 0..width * height * depth * layers {
            let (at, layer) = ([i % width, i / width % height, i / width / height % depth], i / width / height / depth);
            let got = texel(&dst, 0, layer, 0, at);
            let inside =
                |i: usize| (dst_low[i].min(dst_high[i])..dst_low[i].max(dst_high[i])).contains(&(at[i] as i32));
            let offset = dst.image.layout.offset(0, 0, layer, 0, at) as usize;
            // Texels outside of the destination region keep their bytes.
            let want = if inside(0) && inside(1) && inside(2) {
                blitted(&src, &dst, &region, filter, layer, at)
            } else {
                before[offset..offset + got.len()].to_vec()
            };
            let what = || format!("{} to {} {filter:?} {region:?} {layer} {at:?}", from.info().name, to.info().name);
            assert_same(to, &got, &want, what);
        }
    }
}

#[test]
fn resolves_of_all_formats_are_those_of_single_texels() {
    let mut rng = Rng(0x0e50_1ce5);
    let formats = colors(features::COLOR_ATTACHMENT);
    for round in 0..formats.len() * 8 {
        let format = formats[round % formats.len()];
        let samples = [2, 4, 4, 8][rng.below(4) as usize];
        let mode = [ResolveMode::Average, ResolveMode::Min, ResolveMode::Max, ResolveMode::SampleZero]
            [round / formats.len() % 4];
        let (width, height) = (1 + rng.below(40), 1 + rng.below(20));
        let a = image(format.info().vk, Dim::D2, [width, height, 1], 1, 1, samples);
        let b = image(format.info().vk, Dim::D2, [width, height, 1], 1, 1, 1);
        texels(&a, &mut rng);
        let (src, dst) = (color(0, 0, 1), color(0, 0, 1));
        let region = ImageResolve { src, src_offset: [0; 3], dst, dst_offset: [0; 3], extent: [width, height, 1] };
        resolve_image(None, &a.image, &b.image, format, &region, mode);
        let integer = format.is_integer();
        for at in (0..width * height).map(|i| [i % width, i / width, 0]) {
            let bytes: Vec<Vec<u8>> = (0..samples).map(|s| texel(&a, 0, 0, s, at)).collect();
            let values: Vec<Texel> = bytes.iter().map(|bytes| format::unpack(format, bytes)).collect();
            let float = |c: usize, f: fn(f32, f32) -> f32| {
                values[1..].iter().fold(f32::from_bits(values[0][c]), |a, v| f(a, f32::from_bits(v[c]))).to_bits()
            };
            let whole = |c: usize, f: fn(u32, u32) -> u32| values[1..].iter().fold(values[0][c], |a, v| f(a, v[c]));
            let want: Texel = std::array::from_fn(|c| match mode {
                ResolveMode::Average if !integer => {
                    (f32::from_bits(float(c, |a, b| a + b)) * (1.0 / samples as f32)).to_bits()
                }
                ResolveMode::Min if integer => whole(c, u32::min),
                ResolveMode::Max if integer => whole(c, u32::max),
                ResolveMode::Min => float(c, |a, b| if b < a { b } else { a }),
                ResolveMode::Max => float(c, |a, b| if b > a { b } else { a }),
                _ => values[0][c],
            });
            let mut packed = vec![0; bytes[0].len()];
            format::pack(format, want, &mut packed);
            if mode == ResolveMode::SampleZero || mode == ResolveMode::Average && integer {
                packed.clone_from(&bytes[0]);
            }
            let got = texel(&b, 0, 0, 0, at);
            let what = || format!("{} {mode:?} of {samples} {at:?}", format.info().name);
            if mode == ResolveMode::Average
                && samples == 4
                && format.info().channels[..usize::from(format.info().channel_count)]
                    .iter()
                    .all(|c| c.bits == 8 && c.ty == base::format::ChannelType::Unorm)
            {
                // The mean of codes is exact, ties to even.
                for (i, &got) in got.iter().enumerate() {
                    let mean = bytes.iter().map(|b| f32::from(b[i])).sum::<f32>() / 4.0;
                    assert_eq!(f32::from(got), mean.round_ties_even(), "{}", what());
                }
            } else {
                assert_same(format, &got, &packed, what);
            }
        }
    }
}
