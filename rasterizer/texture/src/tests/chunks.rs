//! Tests of many chunks in one call.

use super::*;
use base::abi::ChunksKernel;

/// Samples chunks in one call, in rows of one chunk and of two, by the kernels of all levels that
/// the host has. Asserts that they give the same bits.
pub fn in_chunks(
    view: &ImageView,
    s: &Sampler,
    args: &ImageArgs,
    coords: &[[[f32; MAX_LANES]; 2]],
) -> Vec<[[u32; MAX_LANES]; 4]> {
    let sampled = |row_lanes: usize, kernel: ChunksKernel| {
        let chunks = row_lanes / MAX_LANES;
        // Returns the index of a chunk's row.
        let place = |chunk: usize, rows: usize, row: usize| {
            (chunk / chunks * rows + row) * row_lanes + chunk % chunks * MAX_LANES
        };
        let padded = coords.len().next_multiple_of(chunks);
        let (mut from, mut to) = (vec![0f32; padded * 2 * MAX_LANES], vec![0u32; padded * 4 * MAX_LANES]);
        for (chunk, coords) in coords.iter().enumerate() {
            for (axis, row) in coords.iter().enumerate() {
                from[place(chunk, 2, axis)..][..MAX_LANES].copy_from_slice(row);
            }
        }
        let mut all = ImageArgs { row_lanes: row_lanes as u32, ..*args };
        // SAFETY: view, sampler and arguments are valid, and there are rows for each chunk.
        unsafe { kernel(view, s, &mut all, from.as_ptr(), to.as_mut_ptr(), coords.len() as u32) };
        let row = |chunk: usize, c: usize| std::array::from_fn(|lane| to[place(chunk, 4, c) + lane]);
        (0..coords.len()).map(|chunk| std::array::from_fn(|c| row(chunk, c))).collect::<Vec<[[u32; MAX_LANES]; 4]>>()
    };
    // Results of lanes that are not wanted have no meaning.
    let wanted = |results: &[[[u32; MAX_LANES]; 4]]| -> Vec<u32> {
        let lanes = (0..MAX_LANES).filter(|lane| args.mask >> lane & 1 != 0);
        lanes.flat_map(|lane| results.iter().flatten().map(move |row| row[lane]).collect::<Vec<_>>()).collect()
    };
    let one = sampled(MAX_LANES, view.chunks);
    let kernels = SimdLevel::all_supported().map(|level| levels::joint_of(Format(view.format as u16), level).1);
    for (row_lanes, kernel) in kernels.flat_map(|kernel| [(MAX_LANES, kernel), (2 * MAX_LANES, kernel)]) {
        let other = sampled(row_lanes, kernel);
        assert!(wanted(&one).iter().zip(wanted(&other)).all(|(&a, b)| same(a, b)), "{one:x?} {other:x?}");
    }
    one
}
