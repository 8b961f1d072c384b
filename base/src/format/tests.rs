//! Tests of the table and of packing over all rows.

use super::pack::{ONE, Texel, kernels, pack_row, unpack, unpack_row};
use super::{Aspect, ChannelName, ChannelType, Format, Layout, TABLE};

fn pack(format: Format, texel: Texel) -> [u8; 16] {
    let mut block = [0; 16];
    super::pack(format, texel, &mut block);
    block
}

fn named(name: &str) -> Format {
    Format(TABLE.iter().position(|row| row.name == name).unwrap() as u16)
}

#[test]
fn rows_are_sorted_and_complete() {
    assert!(TABLE.is_sorted_by(|a, b| a.vk < b.vk));
    for vk in 0..=184 {
        assert_eq!(Format::from_vk(vk), Some(Format(vk as u16)));
    }
    assert_eq!(Format::from_vk(1000340001).unwrap().info().name, "A4B4G4R4_UNORM_PACK16");
    assert_eq!(Format::from_vk(185), None);
}

#[test]
fn channels_fill_their_blocks() {
    for row in TABLE.iter().filter(|row| row.layout == Layout::Plain) {
        let bits: u32 = row.channels[..row.channel_count as usize].iter().map(|c| u32::from(c.bits)).sum();
        // The name "10X6" means 10 bits of 16.
        let unused: u32 =
            ["10X6", "12X4"].iter().zip([6, 4]).map(|(x, n)| row.name.matches(x).count() as u32 * n).sum();
        assert_eq!(bits + unused, u32::from(row.block_bytes) * 8, "{}", row.name);
    }
}

/// Tests that planes have the formats of rows, and that depth and stencil are a plane each.
#[test]
fn planes_are_rows() {
    for row in TABLE {
        let aspects: Vec<Aspect> = row.planes().iter().map(|p| p.aspect).collect();
        let format = Format::from_vk(row.vk).unwrap();
        match row.layout {
            Layout::DepthStencil => {
                let expected = [(format.has_depth(), Aspect::Depth), (format.has_stencil(), Aspect::Stencil)];
                assert!(aspects.iter().eq(expected.iter().filter(|(has, _)| *has).map(|(_, a)| a)), "{}", row.name);
            }
            Layout::MultiPlanar => assert_eq!(aspects, Aspect::PLANES[..aspects.len()]),
            _ => assert_eq!((&aspects[..], row.planes[0].vk), (&[Aspect::Color][..], row.vk)),
        }
        for (i, plane) in row.planes().iter().enumerate() {
            let own = plane.format().info();
            assert_eq!((own.vk, own.plane_count), (plane.vk, 1), "{}", row.name);
            if row.layout == Layout::DepthStencil {
                assert_eq!((own.planes[0], own.channels[0]), (*plane, row.channels[i]), "{}", row.name);
            }
            if i == 0 && row.layout != Layout::MultiPlanar {
                assert_eq!((own.block_bytes, own.block), (row.block_bytes, row.block), "{}", row.name);
            }
        }
    }
    assert_eq!(named("D24_UNORM_S8_UINT").of_aspect(Aspect::Stencil), Format::S8_UINT);
    assert_eq!(named("D24_UNORM_S8_UINT").of_aspect(Aspect::Depth), named("X8_D24_UNORM_PACK32"));
    assert_eq!(named("G8_B8R8_2PLANE_420_UNORM").of_aspect(Aspect::Plane1), named("R8G8_UNORM"));
    assert_eq!(named("R8_UNORM").of_aspect(Aspect::Plane1), named("R8_UNORM"), "as a view's format: the plane's own");
}

/// Tests the required bits that are not obvious from the rules of the table.
#[test]
fn required_features() {
    use super::features::*;
    let sampled = SAMPLED_IMAGE | BLIT_SRC | TRANSFER_SRC | TRANSFER_DST;
    let filtered = sampled | SAMPLED_IMAGE_FILTER_LINEAR;
    let target = COLOR_ATTACHMENT | BLIT_DST;
    let blended = target | COLOR_ATTACHMENT_BLEND;
    let buffers = VERTEX_BUFFER | UNIFORM_TEXEL_BUFFER;
    let all_buffers = buffers | STORAGE_TEXEL_BUFFER;
    for (names, image, buffer) in [
        ("B4G4R4A4_UNORM_PACK16 A4R4G4B4_UNORM_PACK16 A4B4G4R4_UNORM_PACK16", filtered, 0),
        ("R5G6B5_UNORM_PACK16 A1R5G5B5_UNORM_PACK16", filtered | blended, 0),
        ("A1B5G5R5_UNORM_PACK16", filtered, 0),
        ("A8_UNORM", filtered | blended | STORAGE_IMAGE, 0),
        ("R8_UNORM R8G8_UNORM", filtered | blended | STORAGE_IMAGE, buffers),
        ("R8_SNORM R8G8_SNORM", filtered | STORAGE_IMAGE, buffers),
        ("R8_UINT R8_SINT R8G8_UINT R8G8_SINT", sampled | target | STORAGE_IMAGE, buffers),
        ("R8G8B8A8_UNORM A8B8G8R8_UNORM_PACK32", filtered | blended | STORAGE_IMAGE, all_buffers),
        ("R8G8B8A8_SNORM A8B8G8R8_SNORM_PACK32", filtered | STORAGE_IMAGE, all_buffers),
        ("R8G8B8A8_UINT R8G8B8A8_SINT A8B8G8R8_UINT_PACK32", sampled | target | STORAGE_IMAGE, all_buffers),
        ("R8G8B8A8_SRGB B8G8R8A8_SRGB A8B8G8R8_SRGB_PACK32", filtered | blended, 0),
        ("B8G8R8A8_UNORM", filtered | blended, buffers),
        ("A2B10G10R10_UNORM_PACK32", filtered | blended | STORAGE_IMAGE, buffers),
        ("A2B10G10R10_UINT_PACK32", sampled | target | STORAGE_IMAGE, UNIFORM_TEXEL_BUFFER),
        ("R16_SFLOAT R16G16_SFLOAT R16G16B16A16_SFLOAT", filtered | blended | STORAGE_IMAGE, buffers),
        ("R16_UINT R16G16_SINT R16G16B16A16_UINT", sampled | target | STORAGE_IMAGE, buffers),
        ("R16_UNORM R16G16_SNORM R16G16B16A16_UNORM", STORAGE_IMAGE, VERTEX_BUFFER),
        (
            "R32_UINT R32_SINT",
            sampled | target | STORAGE_IMAGE | STORAGE_IMAGE_ATOMIC,
            all_buffers | STORAGE_TEXEL_BUFFER_ATOMIC,
        ),
        (
            "R64_UINT R64_SINT",
            STORAGE_IMAGE | STORAGE_IMAGE_ATOMIC,
            UNIFORM_TEXEL_BUFFER | STORAGE_TEXEL_BUFFER | STORAGE_TEXEL_BUFFER_ATOMIC,
        ),
        (
            "R64G64_UINT R64G64_SINT R64G64B64A64_UINT R64G64B64A64_SINT",
            STORAGE_IMAGE,
            UNIFORM_TEXEL_BUFFER | STORAGE_TEXEL_BUFFER,
        ),
        ("R64G64B64_UINT R64G64B64_SINT", 0, UNIFORM_TEXEL_BUFFER),
        (
            "R32_SFLOAT R16G16_SFLOAT R16G16B16A16_SFLOAT",
            STORAGE_IMAGE | STORAGE_IMAGE_ATOMIC,
            STORAGE_TEXEL_BUFFER | STORAGE_TEXEL_BUFFER_ATOMIC,
        ),
        ("R32_SFLOAT R32G32_SFLOAT R32G32B32A32_UINT", sampled | target | STORAGE_IMAGE, all_buffers),
        ("R32G32B32_SFLOAT R32G32B32_UINT R32G32B32_SINT", 0, VERTEX_BUFFER),
        ("B10G11R11_UFLOAT_PACK32", filtered | STORAGE_IMAGE, UNIFORM_TEXEL_BUFFER),
        ("ASTC_4x4_UNORM_BLOCK ASTC_12x10_SRGB_BLOCK ASTC_12x12_SFLOAT_BLOCK", filtered, 0),
        ("E5B9G9R9_UFLOAT_PACK32 BC1_RGB_UNORM_BLOCK BC7_SRGB_BLOCK BC6H_SFLOAT_BLOCK", filtered, 0),
        ("D16_UNORM D32_SFLOAT D24_UNORM_S8_UINT D32_SFLOAT_S8_UINT", sampled | DEPTH_STENCIL_ATTACHMENT, 0),
    ] {
        for name in names.split(' ') {
            let row = named(name).info();
            assert_eq!(row.image_features & image, image, "{name}");
            assert_eq!(row.buffer_features & buffer, buffer, "{name}");
        }
    }
    for row in TABLE.iter().filter(|row| row.layout == Layout::DepthStencil) {
        assert_eq!(row.buffer_features, 0);
    }
}

/// Tests that every value of every channel of up to 16 bits survives unpack and pack.
#[test]
fn channels_round_trip_exhaustively() {
    for (i, row) in TABLE.iter().enumerate() {
        let format = Format(i as u16);
        if !matches!(row.layout, Layout::Plain | Layout::DepthStencil) || row.channels[0].bits > 16 {
            continue;
        }
        for channel in &row.channels[..row.channel_count as usize] {
            if channel.bits > 16 || channel.name == ChannelName::E || row.channels[3].name == ChannelName::E {
                continue;
            }
            if channel.name == ChannelName::S && row.channels[0].name == ChannelName::D {
                continue;
            }
            for v in 0..1u64 << channel.bits {
                let mut block = [0; 16];
                block.copy_from_slice(&(u128::from(v) << channel.shift).to_le_bytes());
                let texel = unpack(format, &block);
                let back = pack(format, texel);
                let smallest = 1 << (channel.bits - 1);
                let is_nan = texel.iter().any(|&c| f32::from_bits(c).is_nan()) && !format.is_integer();
                if is_nan || (channel.ty == ChannelType::Snorm && v == smallest) {
                    continue;
                }
                let mut got = u128::from_le_bytes(back) >> channel.shift & ((1 << channel.bits) - 1);
                // Minus zero of floats keeps its sign, so bits are compared.
                if channel.ty == ChannelType::Snorm && v == smallest {
                    got = smallest as u128;
                }
                assert_eq!(got, u128::from(v), "{} {:?} {v:x}", row.name, channel.name);
            }
        }
    }
}

#[test]
fn known_texels() {
    let f = |x: f32| x.to_bits();
    let check = |name, block: &[u8], want: Texel| assert_eq!(unpack(named(name), block), want, "{name}");
    check("R8G8B8A8_UNORM", &[0, 51, 102, 255], [0, f(0.2), f(0.4), ONE]);
    check("B8G8R8A8_UNORM", &[0, 51, 102, 255], [f(0.4), f(0.2), 0, ONE]);
    check("R8G8_SNORM", &[0x80, 0x7f], [f(-1.0), ONE, 0, ONE]);
    check("R10X6_UNORM_PACK16", &[0x3f, 0xff], [f(1020.0 / 1023.0), 0, 0, ONE]);
    check(
        "R12X4G12X4B12X4A12X4_UNORM_4PACK16",
        &[0, 0, 0xf0, 0xff, 0x1f, 0, 0xff, 0xff],
        [0, ONE, f(1.0 / 4095.0), ONE],
    );
    check("R8_UINT", &[200], [200, 0, 0, 1]);
    check("R16_SINT", &[0xff, 0xff], [u32::MAX, 0, 0, 1]);
    check("R5G6B5_UNORM_PACK16", &0xf800u16.to_le_bytes(), [ONE, 0, 0, ONE]);
    check("A2B10G10R10_UNORM_PACK32", &0xc000_03ffu32.to_le_bytes(), [ONE, 0, 0, ONE]);
    check("A2R10G10B10_UINT_PACK32", &0x4000_0005u32.to_le_bytes(), [0, 0, 5, 1]);
    check("B10G11R11_UFLOAT_PACK32", &0x3c0u32.to_le_bytes(), [ONE, 0, 0, ONE]);
    check("D24_UNORM_S8_UINT", &[0xff, 0xff, 0xff, 0xaa], [ONE, 0, 0, ONE]);
    check("D32_SFLOAT", &0.25f32.to_le_bytes(), [f(0.25), 0, 0, ONE]);
    check("R32G32B32_SFLOAT", &[0; 12], [0, 0, 0, ONE]);
    assert_eq!(
        pack(named("R10X6G10X6B10X6A10X6_UNORM_4PACK16"), [0, ONE, 0, ONE])[..8],
        [0, 0, 0xc0, 0xff, 0, 0, 0xc0, 0xff]
    );
    assert_eq!(pack(named("R8_UINT"), [300, 0, 0, 0])[0], 255);
    assert_eq!(pack(named("R8_SINT"), [-300i32 as u32, 0, 0, 0])[0], 0x80);
    assert_eq!(pack(named("R8_UNORM"), [f(f32::NAN), 0, 0, 0])[0], 0);
    assert_eq!(pack(named("D24_UNORM_S8_UINT"), [ONE, 0, 0, 0])[..4], [0xff, 0xff, 0xff, 0]);
}

#[test]
fn rows_equal_single_texels() {
    let mut random = crate::random::Rng(0x9e37_79b9);
    for (i, row) in TABLE.iter().enumerate() {
        let format = Format(i as u16);
        let bytes = kernels(format).bytes;
        if bytes == 0 {
            continue;
        }
        let src: Vec<u8> = (0..bytes * 33).map(|_| random.next() as u8).collect();
        let mut texels = vec![[0; 4]; 33];
        unpack_row(format, &src, &mut texels);
        let mut packed = vec![0; bytes * 33];
        pack_row(format, &texels, &mut packed);
        for (t, texel) in texels.iter().enumerate() {
            let block = &src[t * bytes..];
            assert_eq!(*texel, unpack(format, &block[..bytes]), "{}", row.name);
            assert_eq!(packed[t * bytes..(t + 1) * bytes], pack(format, *texel)[..bytes], "{}", row.name);
        }
    }
}
