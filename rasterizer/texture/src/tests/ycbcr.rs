//! Views with a sampler Y'CbCr conversion against the specification's formulae in f64, for all
//! formats that have a conversion.

use super::chunks::in_chunks;
use super::*;
use base::format::{Layout, TABLE, features};
use texture::levels::converted;
use texture::{YcbcrConversion, YcbcrModel, converted_view};

/// Returns a stored channel of the image (R, G, B or A) at a texel of the channel's resolution,
/// from 0 to 1; `None` if the format lacks the channel.
fn stored(image: &TestImage, layer: u32, channel: usize, [x, y]: [u32; 2]) -> Option<f64> {
    let layout = &image.memory.layout;
    let info = layout.desc.format.info();
    let bits = u32::from(layout.desc.format.component_bits());
    let bytes = if bits == 8 { 1 } else { 2 };
    let (plane, at, word) = match (info.layout, channel) {
        (Layout::MultiPlanar, 1) => (0, [x, y], 0),
        (Layout::MultiPlanar, 2) => (1, [x, y], 0),
        (Layout::MultiPlanar, 0) => (info.planes().len() - 1, [x, y], if info.planes().len() == 2 { 1 } else { 0 }),
        (Layout::Packed422, 0..3) => {
            // Names of packed formats begin with the component that comes first.
            let luma_first = info.name.starts_with('G');
            let word = match (channel, luma_first) {
                (1, true) => 2 * (x % 2),
                (1, false) => 2 * (x % 2) + 1,
                (2, true) => 1,
                (2, false) => 0,
                (_, true) => 3,
                (_, false) => 2,
            };
            (0, [if channel == 1 { x } else { 2 * x }, y], word)
        }
        (Layout::Plain, _) => (0, [x, y], channel as u32),
        _ => return None,
    };
    let offset = layout.offset(plane, 0, layer, 0, [at[0], at[1], 0]) as usize + (word * bytes) as usize;
    // SAFETY: the texel lies inside the test's memory.
    let raw = unsafe {
        match bytes {
            1 => u32::from(image.memory.base.add(offset).read()),
            _ => u32::from(image.memory.base.add(offset).cast::<u16>().read_unaligned()) >> (16 - bits),
        }
    };
    Some(f64::from(raw) / f64::from((1u32 << bits) - 1))
}

/// Returns a channel at unnormalised coordinates of the image by "Implicit Reconstruction".
fn reconstructed(
    image: &TestImage,
    layer: u32,
    channel: usize,
    at: [f64; 2],
    c: &YcbcrConversion,
    linear: bool,
) -> Option<f64> {
    let desc = &image.memory.layout.desc;
    let name = desc.format.info().name;
    let halved = [name.contains("_42") && channel != 1, name.contains("_420") && channel != 1];
    let size = [0, 1].map(|axis: usize| desc.extent[axis] / if halved[axis] { 2 } else { 1 });
    let uv: [f64; 2] = std::array::from_fn(|axis| match (halved[axis], c.cosited[axis]) {
        (false, _) => at[axis],
        (true, true) => 0.5 * (at[axis] + 0.5),
        (true, false) => 0.5 * at[axis],
    });
    let texel = |x: f64, y: f64| {
        let inside = |i: f64, size: u32| i.clamp(0.0, f64::from(size - 1)) as u32;
        stored(image, layer, channel, [inside(x, size[0]), inside(y, size[1])])
    };
    if !linear {
        return texel(uv[0].floor(), uv[1].floor());
    }
    let [(i, a), (j, b)] = uv.map(|u| ((u - 0.5).floor(), (u - 0.5) - (u - 0.5).floor()));
    Some(
        (texel(i, j)? * (1.0 - a) + texel(i + 1.0, j)? * a) * (1.0 - b)
            + (texel(i, j + 1.0)? * (1.0 - a) + texel(i + 1.0, j + 1.0)? * a) * b,
    )
}

/// Returns R, G, B, A after "Sampler Y'CbCr Conversion".
fn convert(texel: [f64; 4], c: &YcbcrConversion, bits: u32) -> [f64; 4] {
    let [cr, y, cb, a] = c.components.map(|source| match source {
        0..=3 => texel[usize::from(source)],
        5 => 1.0,
        _ => 0.0,
    });
    let (n, max) = (f64::from(bits), 2f64.powi(bits as i32) - 1.0);
    let (y, cb, cr) = match (c.model, c.narrow) {
        (YcbcrModel::RgbIdentity, _) => return [cr, y, cb, a],
        (_, false) => (y, cb - 2f64.powf(n - 1.0) / max, cr - 2f64.powf(n - 1.0) / max),
        (_, true) => {
            let unit = 2f64.powf(n - 8.0);
            let chroma = |c: f64| (c * max - 128.0 * unit) / (224.0 * unit);
            ((y * max - 16.0 * unit) / (219.0 * unit), chroma(cb), chroma(cr))
        }
    };
    // The matrices of the Data Format Specification have their published digits.
    let [r, g1, g2, b] = match c.model {
        YcbcrModel::Ycbcr709 => [1.5748, 0.187_324_273, 0.468_124_273, 1.8556],
        YcbcrModel::Ycbcr601 => [1.402, 0.344_136_286, 0.714_136_286, 1.772],
        YcbcrModel::Ycbcr2020 => [1.4746, 0.164_553_127, 0.571_353_127, 1.8814],
        _ => return [cr, y, cb, a],
    };
    [y + r * cr, y - g1 * cb - g2 * cr, y + b * cb, a]
}

fn random_conversion(rng: &mut Rng) -> YcbcrConversion {
    let swapped = rng.below(4) == 0;
    YcbcrConversion {
        model: rng.pick(&YcbcrModel::ALL),
        narrow: rng.below(2) == 0,
        components: if swapped { [2, 1, 0, 5] } else { [0, 1, 2, 3] },
        cosited: [rng.below(2) == 0, rng.below(2) == 0],
        linear: rng.below(2) == 0,
    }
}

#[test]
fn conversions_are_the_specifications() {
    let mut rng = Rng(0x4ccb_c412_0000_0001);
    let names = TABLE.iter().filter(|row| row.image_features & features::COSITED_CHROMA_SAMPLES != 0);
    let names: Vec<_> = names.map(|row| row.name).collect();
    assert_eq!(names.len(), 34);
    for round in 0..names.len() * 12 {
        let name = names[round % names.len()];
        let max = rng.pick(&[9, 9, 40]);
        let extent = [2 * (1 + rng.below(max)), 2 * (1 + rng.below(max)), 1];
        let layers = 1 + rng.below(3);
        let image = TestImage::new(&mut rng, name, Dim::D2, extent, 1, layers, 1);
        let conversion = random_conversion(&mut rng);
        let request = image.request(Dim::D2, layers > 1, Aspect::Color);
        let view = converted_view(&request, &conversion);
        // Luma may have another filter than chroma.
        let filter = rng.below(2);
        let s = new_sampler(Sampler { mag_filter: filter, min_filter: filter, address_mode: [2; 3], ..sampler() });
        let mut a = args();
        let mut places = [([0.0; 2], 0); MAX_LANES];
        for (lane, place) in places.iter_mut().enumerate() {
            // Coordinates lie between the centre of a texel and its edge, where no two texels are
            // equally near.
            let mut axis = |size: u32| rng.below(size + 4) as f32 - 2.0 + rng.pick(&[0.1, 0.3, 0.4, 0.6, 0.8]);
            let at = [axis(extent[0]), axis(extent[1])];
            let layer = rng.below(layers);
            (a.coord[0][lane], a.coord[1][lane]) = (at[0] / extent[0] as f32, at[1] / extent[1] as f32);
            a.coord[2][lane] = layer as f32;
            *place = (at.map(f64::from), layer);
        }
        let before = a;
        for level in SimdLevel::all_supported() {
            a = before;
            // SAFETY: view, sampler and arguments are valid, and the host has the level.
            unsafe { converted(level)(&*view.view, &s, &mut a) };
            assert_eq!((a.coord, a.mask), (before.coord, before.mask), "arguments stay");
            for (lane, (at, layer)) in places.into_iter().enumerate() {
                let channel = |channel: usize| {
                    let luma = channel == 1 || !request.format.has_parts();
                    let linear = if luma { filter == 1 } else { conversion.linear };
                    reconstructed(&image, layer, channel, at, &conversion, linear)
                };
                let texel = [0, 1, 2, 3].map(|c| channel(c).unwrap_or(1.0));
                let want = convert(texel, &conversion, request.format.component_bits().into());
                for c in 0..4 {
                    let got = f64::from(f32::from_bits(a.result[c][lane]));
                    assert!((got - want[c]).abs() < 2e-5, "{name} {c} {at:?} {conversion:?} {filter}: {got} {want:?}");
                }
            }
        }
        assert_eq!(
            view.view.kernels[KERNEL_SAMPLE + s.class as usize] as usize,
            converted(SimdLevel::detect()) as usize
        );
    }
}

/// The chunks of a batch in one call have the results of single chunks, whether the parts' kernels
/// take them or not.
#[test]
fn chunks_are_converted_as_each_alone() {
    let mut rng = Rng(0x4ccb_c412_0000_0002);
    let names = TABLE.iter().filter(|row| row.image_features & features::COSITED_CHROMA_SAMPLES != 0);
    for name in names.map(|row| row.name).cycle().take(34 * 6) {
        let extent = [0; 2].map(|_| 2 * (1 + rng.below(40)));
        let image = TestImage::new(&mut rng, name, Dim::D2, [extent[0], extent[1], 1], 1, 1, 1);
        let request = image.request(Dim::D2, false, Aspect::Color);
        let converted_to = converted_view(&request, &random_conversion(&mut rng));
        let view = &*converted_to.view;
        let [mag_filter, min_filter] = [rng.below(2), rng.below(2)];
        let s = new_sampler(Sampler { mag_filter, min_filter, address_mode: [2; 3], ..sampler() });
        // Quads of pixels lie side by side, with a step between them.
        let step = rng.pick(&[0.3, 0.7, 1.0, 1.9]) / extent[0] as f32;
        let first = [rng.float(-0.2, 1.0), rng.float(-0.2, 1.0)];
        let coords: Vec<[[f32; MAX_LANES]; 2]> = (0..rng.below(40) as usize)
            .map(|chunk| {
                let pixel = |lane: usize| [(4 * chunk + 2 * (lane / 4) + lane % 2) as f32, (lane / 2 % 2) as f32];
                [0, 1].map(|c: usize| std::array::from_fn(|lane| first[c] + step * pixel(lane)[c]))
            })
            .collect();
        let mut one = args();
        (one.has_offset, one.lod_mode, one.mask) = (0, LodMode::Implicit, rng.pick(&[0xff, 0xff, 0x72]));
        let results = in_chunks(view, &s, &one, &coords);
        for (coords, result) in coords.iter().zip(&results) {
            for level in SimdLevel::all_supported() {
                let mut one = one;
                one.coord[..2].copy_from_slice(coords);
                // SAFETY: view, sampler and arguments are valid, and the host has the level.
                unsafe { converted(level)(view, &s, &mut one) };
                for lane in (0..MAX_LANES).filter(|lane| one.mask >> lane & 1 != 0) {
                    let got = [0, 1, 2, 3].map(|c| result[c][lane]);
                    assert_eq!(got, lane_of(&one, lane), "{name} {extent:?} {lane} {s:?} {one:?}");
                }
            }
        }
    }
}

/// A converted view has luma's size and supports only samples; a view that does not fit its image
/// is a null view.
#[test]
fn a_converted_view_is_sampled_and_nothing_else() {
    let mut rng = Rng(7);
    let image = TestImage::new(&mut rng, "G8_B8R8_2PLANE_420_UNORM", Dim::D2, [8, 4, 1], 1, 1, 1);
    let conversion = random_conversion(&mut rng);
    let request = image.request(Dim::D2, false, Aspect::Color);
    let view = converted_view(&request, &conversion);
    assert_eq!((view.view.level[0].width, view.view.level[0].height, view.view.levels), (8, 4, 1));
    for (op, kernel) in [(SampleOp::Gather, KERNEL_SAMPLE), (SampleOp::Sample, KERNEL_FETCH)] {
        let mut a = ImageArgs { op, ..args() };
        // SAFETY: view, sampler and arguments are valid.
        unsafe { (view.view.kernels[kernel])(&*view.view, &sampler(), &mut a) };
        assert_eq!(a.result, [[0; MAX_LANES]; 4], "{op:?}");
    }
    let mut a = ImageArgs { op: SampleOp::QueryLod, lod_mode: LodMode::Implicit, ..args() };
    // SAFETY: view, sampler and arguments are valid.
    unsafe { (view.view.kernels[KERNEL_SAMPLE])(&*view.view, &sampler(), &mut a) };
    assert_eq!(a.result[0], [0; MAX_LANES]);
    let beyond = converted_view(&ViewRequest { layers: (1, 1), ..request }, &conversion);
    assert_eq!((beyond.view.levels, beyond.view.samples), (0, 0));
}
