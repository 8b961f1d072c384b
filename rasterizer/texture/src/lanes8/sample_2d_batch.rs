//! The most frequent samples of many chunks in one loop, on hosts whose vectors have eight lanes.
//! Values that are the same for all chunks are computed before the loop. The samples are those of
//! `planar::sample`; `whole` has those of hosts with the 512-bit level.
//!
//! A chunk is sampled alone if its quads have different levels. The same holds if it samples texels
//! outside of its level that one operation cannot wrap.

use super::super::address::mode;
use super::super::chunk_batch::{ChunkAt, ChunkRows, SEVERAL};
use super::super::lod::{Detail, detail_of_quads, foretold};
use super::super::memory::{ValidView, ViewKernel};
use super::super::sampler_class::{is_common, is_detailed, one_of_all};
use super::super::slice::Slice;
use super::super::texel::Texels;
use super::super::words::Words;
use super::sample_2d::{filtered, lerp, located, over_255};
use base::abi::{ImageArgs, MAX_LANES, Sampler};
use base::host::{Floats, Host, Ints};

/// Samples all chunks of a batch. Uncommon samples, and single chunks, use the kernel for `any`
/// samples.
#[inline(always)]
pub fn sample_chunks<H: Host, T: Texels, const LINEAR: bool>(
    host: H,
    view: ValidView<'_>,
    sampler: &Sampler,
    args: &mut ImageArgs,
    rows: &mut ChunkRows<'_>,
    any: ViewKernel,
) {
    const ALL: u32 = (1 << MAX_LANES) - 1;
    let detailed = is_detailed(&view, sampler);
    let of_all = if detailed { one_of_all(args) } else { Some([0.0; 2]) };
    let (Some(of_all), true) = (of_all, is_common(&view, sampler, args) && args.mask & ALL == ALL) else {
        return rows.one_by_one(view, sampler, args, any);
    };
    let mut level_cache = LevelCache::<H>::new(host, view, sampler.address_mode[0]);
    if !detailed {
        let level = &level_cache.levels[0].1;
        while let Some(chunk) = rows.next() {
            match level.sample::<T, LINEAR>(host, view, chunk.coords_of(host)) {
                Some(found) => chunk.give_words::<H>(over_255::<H, T>(found)),
                None => chunk.sample(view, sampler, args, any),
            }
        }
        return;
    }
    let mut detail = Detail::BASE;
    loop {
        let Some((several, count)) = rows.several() else { return };
        // The levels of the quads of several chunks are computed in one vector.
        detail_of_quads(host, &view, sampler, of_all, &corners(host, several), &mut detail);
        for (i, &chunk) in several.iter().enumerate().take(count) {
            match level_cache.sample::<T, LINEAR>(&detail, i, chunk) {
                Some(found) => chunk.give_words::<H>(over_255::<H, T>(found)),
                None => chunk.sample(view, sampler, args, any),
            }
        }
    }
}

/// The state of the levels that were sampled last.
struct LevelCache<'a, H: Host> {
    host: H,
    view: ValidView<'a>,
    address_mode: u32,
    /// The last level with an even number, and the last one with an odd number.
    levels: [(u32, MipLevel<'a, H>); 2],
}

impl<'a, H: Host> LevelCache<'a, H> {
    #[inline(always)]
    fn new(host: H, view: ValidView<'a>, address_mode: u32) -> Self {
        let [first, other] = [MipLevel::new(view, address_mode, 0), MipLevel::new(view, address_mode, 0)];
        // No level has the largest number.
        LevelCache { host, view, address_mode, levels: [(0, first), (u32::MAX, other)] }
    }

    /// Samples the chunk whose first quad has lane `i` in `detail`, and whose second quad has lane
    /// `i + SEVERAL`. `None` means that their levels differ, or has the meaning of that of
    /// [`MipLevel::sample`].
    #[inline(always)]
    fn sample<T: Texels, const LINEAR: bool>(
        &mut self,
        detail: &Detail,
        i: usize,
        chunk: ChunkAt<'_>,
    ) -> Option<Words<H>> {
        let (a, b) = (i, i + SEVERAL);
        // Weights are not negative, so that a weight above zero has nonzero bits.
        let [near, far] = [detail.weight[a], detail.weight[b]];
        let passes = 1 + usize::from(near | far != 0);
        let mut found = [H::Ints::splat(0); 4];
        // The loop makes the compiler emit one copy of the code for both levels.
        for (pass, numbers) in detail.level.iter().enumerate().take(passes) {
            if numbers[a] != numbers[b] {
                return None;
            }
            let (host, view) = (self.host, self.view);
            let level = self.level(foretold(numbers[a]));
            let texels = level.sample::<T, LINEAR>(host, view, chunk.coords_of(host))?;
            if pass == 0 {
                found = texels;
                continue;
            }
            let weight = H::Ints::from_array([near, near, near, near, far, far, far, far]).as_floats();
            let has = weight.greater(H::Floats::splat(0.0));
            for c in 0..4 {
                found[c] = has.select(lerp::<H>(found[c], texels[c], weight), found[c]);
            }
        }
        Some(found)
    }

    #[inline(always)]
    fn level(&mut self, number: u32) -> &MipLevel<'a, H> {
        let level_cache = &mut self.levels[number as usize % 2];
        if level_cache.0 != number {
            *level_cache = (number, MipLevel::new(self.view, self.address_mode, number));
        }
        &level_cache.1
    }
}

/// Returns the coordinates of the first three invocations of all quads: the first quads of the
/// chunks, then the second ones.
#[inline(always)]
fn corners<H: Host>(host: H, chunks: [ChunkAt<'_>; SEVERAL]) -> [[[u32; MAX_LANES]; 2]; 3] {
    let [first, second, third, fourth] = chunks;
    let (a, b) = (first.coords_of(host), second.coords_of(host));
    let (c, d) = (third.coords_of(host), fourth.coords_of(host));
    let mut corners = [[[0; MAX_LANES]; 2]; 3];
    for axis in 0..2 {
        let [near_even, near_odd] = a[axis].bits().unzip(b[axis].bits());
        let [far_even, far_odd] = c[axis].bits().unzip(d[axis].bits());
        let ([first, below], [right, _]) = (near_even.unzip(far_even), near_odd.unzip(far_odd));
        for (corner, lanes) in corners.iter_mut().zip([first, right, below]) {
            corner[axis] = lanes.to_array();
        }
    }
    corners
}

/// A level whose texels are sampled.
struct MipLevel<'a, H: Host> {
    slice: Slice<'a>,
    axes: [WrapAxis<H>; 2],
}

/// The wrapping of texels of an axis: a mask of their bits, a lower bound and an upper bound.
/// `checked` is all ones if these operations do not wrap every texel, so that texels outside are
/// detected.
struct WrapAxis<H: Host> {
    size: H::Floats,
    last: H::Ints,
    bits: H::Ints,
    min: H::Ints,
    max: H::Ints,
    checked: H::Ints,
}

impl<H: Host> WrapAxis<H> {
    #[inline(always)]
    fn new(size: u32, address_mode: u32) -> WrapAxis<H> {
        let last = size - 1;
        let (bits, min, max, checked) = match address_mode {
            mode::REPEAT if size & last == 0 => (last, i32::MIN as u32, i32::MAX as u32, 0),
            mode::CLAMP_TO_EDGE => (u32::MAX, 0, last, 0),
            _ => (u32::MAX, i32::MIN as u32, i32::MAX as u32, u32::MAX),
        };
        WrapAxis {
            size: H::Floats::splat(size as i32 as f32),
            last: H::Ints::splat(last),
            bits: H::Ints::splat(bits),
            min: H::Ints::splat(min),
            max: H::Ints::splat(max),
            checked: H::Ints::splat(checked),
        }
    }

    /// Returns the texels, the weight of the second one, and signs for lanes whose texels are
    /// outside; it equals the computation of `planar`.
    #[inline(always)]
    fn texels<const LINEAR: bool>(&self, coord: H::Floats) -> ([H::Ints; 2], H::Floats, H::Ints) {
        let (first, weight) = located::<H, LINEAR>(coord, self.size);
        let texels = [first, first + H::Ints::splat(1)];
        let outside = (first | (self.last - texels[usize::from(LINEAR)])) & self.checked;
        let mut inside = texels;
        // The host's operations are not inlined in closures.
        for texels in &mut inside {
            *texels = (*texels & self.bits).max(self.min).min(self.max);
        }
        (inside, weight, outside)
    }
}

impl<'a, H: Host> MipLevel<'a, H> {
    #[inline(always)]
    fn new(view: ValidView<'a>, address_mode: u32, number: u32) -> MipLevel<'a, H> {
        let level = &view.level[number as usize];
        let slice = Slice {
            memory: view.memory(level.offset),
            pitch: level.row_pitch as u32,
            size: [level.width, level.height],
            mask: (1 << MAX_LANES) - 1,
        };
        let axes = [WrapAxis::new(level.width, address_mode), WrapAxis::new(level.height, address_mode)];
        MipLevel { slice, axes }
    }

    /// Returns the components; those of a scaled class are still multiplied by 255. `None` means
    /// that texels outside cannot be wrapped here, or that the texels of a filter are not
    /// neighbours.
    #[inline(always)]
    fn sample<T: Texels, const LINEAR: bool>(
        &self,
        host: H,
        view: ValidView<'_>,
        [x, y]: [H::Floats; 2],
    ) -> Option<Words<H>> {
        let (x, x_weight, x_outside) = self.axes[0].texels::<LINEAR>(x);
        let (y, y_weight, y_outside) = self.axes[1].texels::<LINEAR>(y);
        if (x_outside | y_outside).movemask() != 0 {
            return None;
        }
        if !LINEAR {
            T::prefetch::<H, 3>(&self.slice, x[0], y[0]);
            let words = T::words(host, view, &self.slice, x[0], y[0]);
            return Some(T::components::<_, true>(&words));
        }
        if (x[0] + H::Ints::splat(1)).equal(x[1]).movemask() != (1 << MAX_LANES) - 1 {
            return None;
        }
        T::prefetch::<H, 4>(&self.slice, x[0], y[0]);
        let words = T::adjacent(host, view, &self.slice, x, y);
        Some(filtered::<H, T, false>(&words, x_weight, y_weight))
    }
}
