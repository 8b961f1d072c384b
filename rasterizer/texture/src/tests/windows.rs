//! Windows of texels: they have the texels that are gathered lane by lane.

use crate::memory::TexelMemory;
use crate::slice::Slice;
use crate::window::{footprint, neighbours};
use crate::words::Words;
use base::abi::MAX_LANES;
use base::host::{Host, Ints, SimdLevel};
use base::random::Rng;
use core::cell::Cell;

type Coordinates = [[u32; MAX_LANES]; 4];
type Found = Option<[[[u32; MAX_LANES]; 4]; 4]>;

fn lanes<H: Host>(words: Words<H>) -> [[u32; MAX_LANES]; 4] {
    words.map(Ints::to_array)
}

base::multiversion! {
    /// Finds a footprint by windows, and by gathers.
    unsafe fn footprints(slice: &Slice<'_>, at: &Coordinates, near: &mut Found, all: &mut Found) {
        let [x0, x1, y0, y1] = at.map(<H as Host>::Ints::from_array);
        *near = footprint(HOST, slice, [x0, x1], [y0, y1]).map(|words| words.map(lanes::<H>));
        let each = |x, y| lanes::<H>(slice.memory.gather::<H, 1>(HOST, slice.offsets::<_, 1>(x, y)));
        *all = Some([each(x0, y0), each(x1, y0), each(x0, y1), each(x1, y1)]);
    }
    /// Finds single texels of neighbours by wide loads, and by gathers.
    unsafe fn texels [const N: usize] [N] (slice: &Slice<'_>, at: &Coordinates, near: &mut Found, all: &mut Found) {
        let (x, y) = (<H as Host>::Ints::from_array(at[0]), <H as Host>::Ints::from_array(at[2]));
        *near = neighbours::<H, N>(HOST, slice, x, y).map(|words| [lanes::<H>(words); 4]);
        *all = Some([lanes::<H>(slice.memory.gather::<H, N>(HOST, slice.offsets::<_, N>(x, y))); 4]);
    }
}

type Both = unsafe fn(&Slice<'_>, &Coordinates, &mut Found, &mut Found);

/// Compares both ways over random slices and the coordinates that `at` returns. Returns how
/// many were found in windows.
fn check(both: Both, bytes: u32, at: impl Fn(&mut Rng, [u32; 2]) -> Coordinates) -> u32 {
    let mut rng = Rng(0x7e8e_15ca_9e00_0001 + u64::from(bytes));
    let mut found = 0;
    for _ in 0..20_000 {
        let size = [0; 2].map(|_| rng.pick(&[1, 2, 3, 4, 5, 8, 11, 16, 64]));
        let pitch = size[0] * bytes + rng.pick(&[0, 0, 4, 16]);
        // The memory has exactly the slice's size, so that an address sanitizer detects
        // accesses outside.
        let bytes = pitch * (size[1] - 1) + size[0] * bytes;
        let memory: Vec<Cell<u8>> = (0..bytes).map(|_| Cell::new(rng.next() as u8)).collect();
        let mask = rng.pick(&[0xff, 0xff, 0x0f, 0x80, 0xa7]);
        let slice = Slice { memory: TexelMemory::of(&memory), pitch, size, mask };
        let at = at(&mut rng, size);
        let (mut near, mut all) = (None, None);
        // SAFETY: the host has the level.
        unsafe { both(&slice, &at, &mut near, &mut all) };
        let (Some(near), Some(all)) = (near, all) else { continue };
        found += 1;
        for lane in (0..MAX_LANES).filter(|lane| mask >> lane & 1 != 0) {
            for (near, all) in near.iter().flatten().zip(all.iter().flatten()) {
                assert_eq!(near[lane], all[lane], "{lane} {size:?} {at:?}");
            }
        }
    }
    found
}

/// Returns the coordinates of two quads at random places, in steps of up to two texels; some
/// wrap, and some have one lane elsewhere.
fn quads(rng: &mut Rng, size: [u32; 2]) -> Coordinates {
    let mut at = [[0; MAX_LANES]; 4];
    let step = rng.pick(&[0.3, 1.0, 1.9, 2.5]);
    for quad in 0..2 {
        let first = [rng.float(0.0, 1.0) * size[0] as f32, rng.float(0.0, 1.0) * size[1] as f32];
        for lane in 0..4 {
            for c in 0..2 {
                let moved = first[c] + step * (lane >> c & 1) as f32;
                let (texel, wraps) = (moved as u32, rng.below(8) == 0);
                let inside = |texel: u32| if wraps { texel % size[c] } else { texel.min(size[c] - 1) };
                at[2 * c][4 * quad + lane] = inside(texel);
                at[2 * c + 1][4 * quad + lane] = inside(texel + 1);
            }
        }
    }
    if rng.below(4) == 0 {
        let lane = rng.below(8) as usize;
        at[0][lane] = rng.below(size[0]);
        at[3][lane] = rng.below(size[1]);
    }
    at
}

/// Returns 2×2 texels for each quad or eight in a row, with small deviations.
fn squares(rng: &mut Rng, size: [u32; 2]) -> Coordinates {
    let mut at = [[0; MAX_LANES]; 4];
    let row = rng.below(2) == 0;
    let first: [[u32; 2]; 2] = [0; 2].map(|_| [rng.below(size[0]), rng.below(size[1])]);
    for lane in 0..MAX_LANES {
        let [x, y] = first[if row { 0 } else { lane / 4 }];
        let (right, below) = if row { (lane as u32, 0) } else { (lane as u32 & 1, lane as u32 >> 1 & 1) };
        (at[0][lane], at[2][lane]) = ((x + right).min(size[0] - 1), (y + below).min(size[1] - 1));
    }
    if rng.below(4) == 0 {
        at[2 * rng.below(2) as usize][rng.below(8) as usize] = 0;
    }
    at
}

#[test]
fn windows_have_the_texels_that_are_gathered() {
    for level in SimdLevel::all_supported() {
        let found = [
            check(footprints(level), 1, quads),
            check(texels::<4>(level), 4, squares),
            check(texels::<8>(level), 8, squares),
        ];
        let windows = level != SimdLevel::Portable;
        assert!(found.iter().all(|&found| if windows { found > 4000 } else { found == 0 }), "{level:?} {found:?}");
    }
}
