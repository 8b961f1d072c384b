//! The set-up records of primitives, and the output of a chunk for the tiles.

use super::coverage::EdgeFunction;
use super::line::{LinePrim, StipplePhase};
use base::abi::FragmentPrimitive;
use base::limits::STREAMS;

/// A set-up primitive. It takes two cache lines, because there are many, and each is written by one
/// worker and read by another.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct Prim {
    /// Data for the fragment stage. They come first, so that a quad's pointer to them also finds
    /// the other fields. `attributes` is the index of the first row until the output is sealed.
    pub shade: FragmentPrimitive,
    /// Index, among its output's edges, of the first half plane that excludes a part of the
    /// rectangle.
    pub first_edge: u32,
    /// Number of such half planes; 0 if `pixels` has the whole coverage.
    pub edge_count: u16,
    /// Pixels that the primitive covers: bit `4*j + i` is pixel (i, j) from the rectangle's corner
    /// on. It is 0 if the rectangle is larger than 4×4, or if there is more than one sample per
    /// pixel.
    pub pixels: u16,
    /// The sides of [`Prim::rect`].
    pub sides: [u16; 4],
    /// Range to which fragment depth is clamped.
    pub depth_range: [f32; 2],
}

/// Number of words of a primitive.
const WORDS: usize = size_of::<Prim>() / size_of::<u32>();
const _: () = assert!(WORDS == 32);

/// Number of primitives that are made together.
pub const GROUP: usize = 8;

/// Primitives word by word, as loops over lanes make them: each row has one word of all primitives.
#[derive(Clone, Copy)]
pub struct PrimLanes(pub [[u32; GROUP]; WORDS]);

/// Returns the index of a field's word, which is also its row in [`PrimLanes`].
macro_rules! word_of {
    ($($field:tt)*) => {
        core::mem::offset_of!($crate::prim::Prim, $($field)*) / size_of::<u32>()
    };
}
pub(crate) use word_of;

impl Default for PrimLanes {
    fn default() -> Self {
        PrimLanes([[0; GROUP]; WORDS])
    }
}

impl Prim {
    /// Returns the pixels that the primitive may touch: x0, y0, x1, y1, never empty.
    #[inline(always)]
    pub fn rect(&self) -> [i32; 4] {
        let [x0, y0, x1, y1] = self.sides;
        [i32::from(x0), i32::from(y0), i32::from(x1), i32::from(y1)]
    }

    /// Returns the clamped plane depth of a W×W block at (x, y), at `offset` in the pixels.
    #[inline(always)]
    pub fn plane_z<const W: usize>(&self, x: i32, y: i32, offset: [f32; 2]) -> [f32; 16] {
        let [zx, zy, zc] = self.shade.z;
        let (x, y) = ((x - self.shade.origin[0]) as f32, (y - self.shade.origin[1]) as f32);
        let mut z = [0.0; 16];
        for (i, z) in z.iter_mut().enumerate().take(W * W) {
            let (px, py) = (x + (i % W) as f32 + offset[0], y + (i / W) as f32 + offset[1]);
            *z = self.clamp_depth(zx * px + (zy * py + zc));
        }
        z
    }

    /// Clamps to the primitive's depth range; not-a-number becomes the low end.
    #[inline(always)]
    pub fn clamp_depth(&self, z: f32) -> f32 {
        let [low, high] = self.depth_range;
        let z = if z > low { z } else { low };
        if z < high { z } else { high }
    }
}

/// The output of a chunk for the tiles.
#[derive(Default)]
pub struct ChunkOutput {
    /// Set-up primitives.
    pub prims: Vec<Prim>,
    /// Half planes of the primitives. They are separate from the records, because most primitives
    /// have few, and small ones none.
    pub edges: Vec<EdgeFunction>,
    /// Attribute rows, and one more.
    pub attributes: Vec<[u32; 3]>,
    /// Sorted values `node << 32 | primitive`.
    pub bins: Vec<u64>,
    /// Nodes that occur in `bins`, and the index of their first bin.
    pub nodes: Vec<(u32, u32)>,
    /// Data of special lines: one for every primitive of a draw with
    /// [`crate::api::DrawState::has_special_lines`], else none.
    pub lines: Vec<LinePrim>,
    /// Stipple counter at the end.
    pub phase: StipplePhase,
    /// Number of primitives that came to setup.
    pub taken: u32,
    /// The processor whose caches have the output.
    pub processor: usize,
    /// Captured primitives whose space is not known yet, by stream.
    pub captured: [CapturedPrimitives; STREAMS],
}

/// A chunk output on the heap. A round moves its outputs from list to list several times, and a
/// small draw fills only a few bytes of the memory to which an output refers.
pub type BoxedOutput = Box<ChunkOutput>;

/// Captured primitives of a stream.
#[derive(Default)]
pub struct CapturedPrimitives {
    /// Captured words, vertex by vertex.
    pub words: Vec<u32>,
    /// Number of captured primitives.
    pub primitives: u32,
}

/// Attribute rows that are being appended to an output. (The standard library would make a call for
/// every few rows.)
pub struct AttributeRowWriter<'a> {
    all: &'a mut Vec<[u32; 3]>,
    len: usize,
    end: usize,
}

impl AttributeRowWriter<'_> {
    /// Number of rows after the last one that may be written.
    const MORE: usize = 3;

    /// Appends a row; does nothing after the last one.
    #[inline(always)]
    pub fn push_one(&mut self, row: [u32; 3]) {
        if self.len < self.end {
            // SAFETY: the capacity reaches up to `end`.
            unsafe { self.all.as_mut_ptr().add(self.len).write(row) };
            self.len += 1;
        }
    }

    /// Appends `count` rows, at most four, given column by column.
    #[inline(always)]
    pub fn push_four(&mut self, columns: [[u32; 4]; 3], count: usize) {
        if self.len < self.end {
            let rows = interleaved(columns);
            // SAFETY: the capacity includes three rows after `end`.
            unsafe { self.all.as_mut_ptr().add(self.len).cast::<[[u32; 4]; 3]>().write_unaligned(rows) };
            self.len += count.min(4);
        }
    }
}

impl Drop for AttributeRowWriter<'_> {
    fn drop(&mut self) {
        // SAFETY: `len` rows were written, which fit the capacity.
        unsafe { self.all.set_len(self.len.min(self.end)) };
    }
}

/// Transposes a 4×4 matrix of words.
#[inline(always)]
pub fn transposed(rows: [[u32; 4]; 4]) -> [[u32; 4]; 4] {
    #[cfg(target_arch = "x86_64")]
    {
        use base::host::Sse2;
        let [a, b] = [Sse2.load_128(&rows[0]), Sse2.load_128(&rows[1])];
        let [c, d] = [Sse2.load_128(&rows[2]), Sse2.load_128(&rows[3])];
        let (low, high) = (Sse2._mm_unpacklo_epi32(a, b), Sse2._mm_unpackhi_epi32(a, b));
        let (lower, higher) = (Sse2._mm_unpacklo_epi32(c, d), Sse2._mm_unpackhi_epi32(c, d));
        let mut columns = [[0; 4]; 4];
        Sse2.store_128(&mut columns[0], Sse2._mm_unpacklo_epi64(low, lower));
        Sse2.store_128(&mut columns[1], Sse2._mm_unpackhi_epi64(low, lower));
        Sse2.store_128(&mut columns[2], Sse2._mm_unpacklo_epi64(high, higher));
        Sse2.store_128(&mut columns[3], Sse2._mm_unpackhi_epi64(high, higher));
        columns
    }
    #[cfg(not(target_arch = "x86_64"))]
    core::array::from_fn(|column| core::array::from_fn(|row| rows[row][column]))
}

/// Interleaves three rows of four words, column by column.
#[inline(always)]
fn interleaved(rows: [[u32; 4]; 3]) -> [[u32; 4]; 3] {
    #[cfg(target_arch = "x86_64")]
    {
        use base::host::Sse2;
        let [a, b] = [Sse2.load_128(&rows[0]), Sse2.load_128(&rows[1])];
        let [a, b] = [Sse2._mm_castsi128_ps(a), Sse2._mm_castsi128_ps(b)];
        let c = Sse2._mm_castsi128_ps(Sse2.load_128(&rows[2]));
        let (low, high) = (Sse2._mm_unpacklo_ps(a, b), Sse2._mm_unpackhi_ps(a, b));
        // The vectors are (c0 c0 a1 a1), (b1 b1 c1 c1) and (c2 c3 a3 b3).
        let x = Sse2._mm_shuffle_ps::<0b10_10_00_00>(c, low);
        let y = Sse2._mm_shuffle_ps::<0b01_01_11_11>(low, c);
        let z = Sse2._mm_shuffle_ps::<0b11_10_11_10>(c, high);
        let mut columns = [[0; 4]; 3];
        Sse2.store_128(&mut columns[0], Sse2._mm_castps_si128(Sse2._mm_shuffle_ps::<0b10_00_01_00>(low, x)));
        Sse2.store_128(&mut columns[1], Sse2._mm_castps_si128(Sse2._mm_shuffle_ps::<0b01_00_10_00>(y, high)));
        Sse2.store_128(&mut columns[2], Sse2._mm_castps_si128(Sse2._mm_shuffle_ps::<0b01_11_10_00>(z, z)));
        columns
    }
    #[cfg(not(target_arch = "x86_64"))]
    core::array::from_fn(|four| core::array::from_fn(|i| rows[(4 * four + i) % 3][(4 * four + i) / 3]))
}

/// Memory in which bins are sorted; a worker keeps it.
#[derive(Default)]
pub struct BinSorter {
    /// Counters by node, from the least node on: first the number of bins, then the index of the
    /// next one.
    places: Vec<u32>,
    sorted: Vec<u64>,
}

impl BinSorter {
    /// Sorts (node, primitive) pairs that are in the order of the primitives.
    pub fn sort(&mut self, bins: &mut Vec<u64>) {
        let node = |bin: u64| (bin >> 32) as usize;
        let (mut min, mut max, mut ascends, mut last) = (u64::MAX, 0, true, 0);
        for &bin in bins.iter() {
            (min, max) = (min.min(bin), max.max(bin));
            ascends &= last <= bin;
            last = bin;
        }
        if ascends {
            return;
        }
        let (first, nodes) = (node(min), node(max) - node(min) + 1);
        if nodes > MAX_PLACES.max(2 * bins.len()) {
            return bins.sort_unstable();
        }
        self.places.clear();
        self.places.resize(nodes, 0);
        bins.iter().for_each(|&bin| self.places[node(bin) - first] += 1);
        let mut before = 0;
        for count in &mut self.places {
            before += core::mem::replace(count, before);
        }
        self.sorted.resize(bins.len(), 0);
        for &bin in bins.iter() {
            let place = &mut self.places[node(bin) - first];
            self.sorted[*place as usize] = bin;
            *place += 1;
        }
        core::mem::swap(bins, &mut self.sorted);
    }
}

/// Largest number of counters; clearing and summing so many takes negligible time.
const MAX_PLACES: usize = 1024;

// SAFETY: the pointers in `prims` point into `attributes` of the same output (or are null). One
// worker fills the output, and afterwards it is only read.
unsafe impl Send for ChunkOutput {}
// SAFETY: a shared output is only read, and its pointers point into its own `attributes`.
unsafe impl Sync for ChunkOutput {}

impl ChunkOutput {
    /// Returns the half planes of a primitive.
    #[inline(always)]
    pub fn edges_of(&self, prim: &Prim) -> &[EdgeFunction] {
        &self.edges[prim.first_edge as usize..][..prim.edge_count as usize]
    }

    /// Returns the number of bytes in use.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.prims)
            + size_of_val(&*self.edges)
            + size_of_val(&*self.attributes)
            + size_of_val(&*self.bins)
            + size_of_val(&*self.nodes)
            + size_of_val(&*self.lines)
            + self.captured.iter().map(|kept| size_of_val(&*kept.words)).sum::<usize>()
    }

    /// Returns the number of allocated bytes.
    pub fn capacity(&self) -> usize {
        self.prims.capacity() * size_of::<Prim>()
            + self.edges.capacity() * size_of::<EdgeFunction>()
            + self.attributes.capacity() * size_of::<[u32; 3]>()
            + self.bins.capacity() * size_of::<u64>()
            + self.nodes.capacity() * size_of::<(u32, u32)>()
            + self.lines.capacity() * size_of::<LinePrim>()
            + self.captured.iter().map(|kept| kept.words.capacity() * size_of::<u32>()).sum::<usize>()
    }

    /// Empties the output, keeping the capacity.
    pub fn clear(&mut self) {
        self.prims.clear();
        self.edges.clear();
        self.attributes.clear();
        self.bins.clear();
        self.nodes.clear();
        self.lines.clear();
        self.phase = StipplePhase::NONE;
        self.taken = 0;
        for kept in &mut self.captured {
            kept.words.clear();
            kept.primitives = 0;
        }
    }

    /// Appends the first `count` primitives of a group.
    #[inline(always)]
    pub fn push_lanes(&mut self, lanes: &PrimLanes, count: usize) {
        self.prims.reserve(GROUP);
        let len = self.prims.len();
        // SAFETY: the capacity was reserved for a group, and a primitive is `WORDS` words, in which
        // any bits are valid. All of them are written before the length includes them.
        unsafe {
            let to = self.prims.as_mut_ptr().add(len).cast::<[u32; WORDS]>();
            for half in 0..GROUP / 4 {
                for four in 0..WORDS / 4 {
                    let row = |k: usize| lanes.0[4 * four + k].as_ptr().add(4 * half).cast::<[u32; 4]>().read();
                    let words = transposed([row(0), row(1), row(2), row(3)]);
                    for (k, words) in words.into_iter().enumerate() {
                        to.add(4 * half + k).cast::<[u32; 4]>().add(four).write(words);
                    }
                }
            }
            self.prims.set_len(len + count.min(GROUP));
        }
    }

    /// Appends one primitive of a group.
    #[inline(always)]
    pub fn push_lane(&mut self, lanes: &PrimLanes, lane: usize) {
        let words: [u32; WORDS] = core::array::from_fn(|word| lanes.0[word][lane % GROUP]);
        // SAFETY: a primitive is `WORDS` words, in which any bits are valid.
        self.prims.push(unsafe { core::mem::transmute::<[u32; WORDS], Prim>(words) });
    }

    /// Returns a writer that appends up to `count` attribute rows.
    #[inline(always)]
    pub fn rows(&mut self, count: usize) -> AttributeRowWriter<'_> {
        self.attributes.reserve(count + AttributeRowWriter::MORE);
        let len = self.attributes.len();
        AttributeRowWriter { len, end: len + count, all: &mut self.attributes }
    }

    /// Points the primitives at their attributes and sorts the bins; nothing may be appended
    /// afterwards.
    pub fn seal(&mut self, sorting: &mut BinSorter) {
        // The fragment stage reads a row and four bytes more.
        self.attributes.push([0; 3]);
        for prim in &mut self.prims {
            prim.shade.attributes = self.attributes[prim.shade.attributes.addr()..].as_ptr();
        }
        sorting.sort(&mut self.bins);
        self.list_nodes();
    }

    /// Lists the nodes of the sorted bins.
    pub fn list_nodes(&mut self) {
        self.nodes.clear();
        let mut last = None;
        for (node, i) in self.bins.iter().map(|bin| (bin >> 32) as u32).zip(0..) {
            if last != Some(node) {
                self.nodes.push((node, i));
                last = Some(node);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        let row = |k: u32| [10 * k, 10 * k + 1, 10 * k + 2, 10 * k + 3];
        assert_eq!(transposed([0, 1, 2, 3].map(row)), [0, 1, 2, 3].map(|k| [k, 10 + k, 20 + k, 30 + k]));
        let columns = [[0, 10, 20, 1], [11, 21, 2, 12], [22, 3, 13, 23]];
        assert_eq!(interleaved([0, 1, 2].map(row)), columns);
    }

    #[test]
    fn lanes_become_records() {
        let mut lanes = PrimLanes::default();
        for (word, row) in (0..).zip(&mut lanes.0) {
            *row = core::array::from_fn(|lane| 1000 * lane as u32 + word);
        }
        let mut all = ChunkOutput::default();
        all.push_lanes(&lanes, 5);
        (5..GROUP).for_each(|lane| all.push_lane(&lanes, lane));
        assert_eq!(all.prims.len(), GROUP);
        for (lane, prim) in (0..).zip(&all.prims) {
            assert_eq!(prim.first_edge, 1000 * lane + (word_of!(first_edge)) as u32);
            assert_eq!(prim.shade.layer, 1000 * lane + (word_of!(shade.layer)) as u32);
            assert_eq!(prim.depth_range[1].to_bits(), 1000 * lane + 31);
        }
    }

    #[test]
    fn bins_are_sorted_by_node_and_primitive() {
        let (mut random, mut sorting) = (base::random::Rng(3), BinSorter::default());
        for round in 0..200 {
            let (nodes, first) = ([1, 7, 900, 1 << 30][round % 4], random.below(1 << 20));
            let mut bins: Vec<u64> = (0..random.below(600))
                .map(|prim| u64::from(first + random.below(nodes)) << 32 | u64::from(prim))
                .collect();
            let mut want = bins.clone();
            want.sort_unstable();
            sorting.sort(&mut bins);
            assert_eq!(bins, want);
        }
    }
}
