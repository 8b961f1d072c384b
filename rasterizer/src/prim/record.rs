//! The set-up records of primitives, and what a chunk of them leaves for the tiles.

use super::coverage::Edge;
use super::line::{LinePrim, Phase};
use base::abi::FragmentPrimitive;
use base::shader::STREAMS;

/// A set-up primitive.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Prim {
    /// What the fragment stage sees. First, so that a quad's pointer to it also finds the rest.
    pub shade: FragmentPrimitive,
    /// Index of the first half plane that excludes something of `rect`, among its output's.
    pub first_edge: u32,
    /// How many of them; none when `pixels` says it all.
    pub edge_count: u32,
    /// Index of its first attribute row until `shade.attributes` is set.
    pub first_attribute: u32,
    /// Pixels it may touch: x0, y0, x1, y1, never empty.
    pub rect: [i32; 4],
    /// Clamp of fragment depth.
    pub depth_range: [f32; 2],
    /// Pixels it covers, bit `4*j + i` is pixel (i, j) from the rectangle's corner on; 0 when it is larger than 4×4, or has more than one
    /// sample per pixel.
    pub pixels: u32,
}

impl Prim {
    /// Clamped plane depth of a W×W block at (x, y), at `offset` in the pixels.
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

/// What a chunk leaves for the tiles.
#[derive(Default)]
pub struct ChunkOutput {
    /// Set-up primitives.
    pub prims: Vec<Prim>,
    /// Half planes: most primitives have less than a record has room for, the small ones none.
    pub edges: Vec<Edge>,
    /// Attribute rows, and one more.
    pub attributes: Vec<[u32; 3]>,
    /// `node << 32 | primitive`, sorted.
    pub bins: Vec<u64>,
    /// One for every primitive of a draw with [`crate::api::DrawState::lines_are_special`], else none.
    pub lines: Vec<LinePrim>,
    /// Stipple counter at the end.
    pub phase: Phase,
    /// Primitives that came to setup.
    pub taken: u32,
    /// Captured primitives whose place is not known yet, by stream.
    pub captured: [Kept; STREAMS],
}

/// Captured primitives of a stream.
#[derive(Default)]
pub struct Kept {
    /// Captured words, vertex by vertex.
    pub words: Vec<u32>,
    /// How many primitives these are.
    pub primitives: u32,
}

// SAFETY: the pointers in `prims` point into `attributes` of the same output (or are null); it is filled by one worker and
// then only read.
unsafe impl Send for ChunkOutput {}
// SAFETY: as above.
unsafe impl Sync for ChunkOutput {}

impl ChunkOutput {
    /// The half planes of a primitive.
    #[inline(always)]
    pub fn edges_of(&self, prim: &Prim) -> &[Edge] {
        &self.edges[prim.first_edge as usize..][..prim.edge_count as usize]
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.prims)
            + size_of_val(&*self.edges)
            + size_of_val(&*self.attributes)
            + size_of_val(&*self.bins)
            + size_of_val(&*self.lines)
            + self.captured.iter().map(|kept| size_of_val(&*kept.words)).sum::<usize>()
    }

    /// Bytes allocated.
    pub fn capacity(&self) -> usize {
        self.prims.capacity() * size_of::<Prim>()
            + self.edges.capacity() * size_of::<Edge>()
            + self.attributes.capacity() * size_of::<[u32; 3]>()
            + self.bins.capacity() * size_of::<u64>()
            + self.lines.capacity() * size_of::<LinePrim>()
            + self.captured.iter().map(|kept| kept.words.capacity() * size_of::<u32>()).sum::<usize>()
    }

    /// Empties it, keeping the capacity.
    pub fn clear(&mut self) {
        self.prims.clear();
        self.edges.clear();
        self.attributes.clear();
        self.bins.clear();
        self.lines.clear();
        self.phase = Phase::NONE;
        self.taken = 0;
        for kept in &mut self.captured {
            kept.words.clear();
            kept.primitives = 0;
        }
    }

    /// Points the primitives at their attributes and sorts the bins; nothing may be pushed afterwards.
    pub fn seal(&mut self) {
        // The fragment stage reads a row and four bytes more.
        self.attributes.push([0; 3]);
        for prim in &mut self.prims {
            prim.shade.attributes = self.attributes[prim.first_attribute as usize..].as_ptr();
        }
        self.bins.sort_unstable();
    }
}
