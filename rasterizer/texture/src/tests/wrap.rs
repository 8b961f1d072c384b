//! The wrapping of the texels of an axis: every lane wraps as one does.

use crate::address::{self, mode};
use crate::lanes8::sample_2d::wrap_of;
use base::abi::MAX_LANES;
use base::host::SimdLevel;
use base::random::Rng;

base::multiversion! {
    unsafe fn wrapped(texels: &mut [[u32; MAX_LANES]; 2], size: i32, address_mode: u32) {
        wrap_of(HOST, texels, size, address_mode);
    }
}

#[test]
fn all_lanes_wrap_as_one_does() {
    let mut rng = Rng(0x11fe_57a7_0000_0031);
    for round in 0..20_000 {
        let size = rng.pick(&[1, 2, 3, 5, 8, 13, 100, 255, 257, 4097, 16383, 16384]);
        let max = rng.pick(&[8, 64, 20_000, 1 << 22, 1_000_000_040]);
        let at: [u32; MAX_LANES] = std::array::from_fn(|_| (rng.below(2 * max) as i32 - max as i32) as u32);
        let address_mode = [mode::REPEAT, mode::MIRRORED_REPEAT, mode::MIRROR_CLAMP_TO_EDGE][round % 3];
        for level in SimdLevel::all_supported() {
            let mut got = [at; 2];
            // SAFETY: the host has the level.
            unsafe { wrapped(level)(&mut got, size, address_mode) };
            let want = at.map(|at| address::wrap(at as i32, size, address_mode) as u32);
            assert_eq!(got, [want; 2], "{size} {address_mode} {at:?}");
        }
    }
}
