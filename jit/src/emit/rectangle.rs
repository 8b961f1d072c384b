//! Rectangles of a primitive, for a fragment stage that writes its colours itself
//! (`base::epilogue`). A chunk consists of pixels of one row and has no quads.
//!
//! Values of the primitive or the row are computed before the loops over rows and chunks. The chunk
//! emits the same operations, and value numbering finds them there.
//!
//! All of a rectangle's pixels are inside the primitive. The last chunk of a row starts further
//! left if its lanes would extend beyond the tile. Pixels that do not belong to a chunk are written
//! back unchanged.

use super::Emitter;
use super::fragment::FragmentState;
use super::memory::read_only;
use super::ssa_variable::SsaVariable;
use crate::ir::{Shader, Ty};
use crate::lir::{AccessReason, Elem, Type, Value as C};
use base::abi::{FragmentPrimitive, MAX_LANES, RECTANGLE_LANES};
use base::epilogue::Epilogue;
use base::shader::{Interpolation, SlotType, Stage};
use core::mem::offset_of;
use smallvec::SmallVec;

/// State of a stage that takes rectangles.
pub struct RectangleState {
    /// The operations that are applied to its colours.
    pub epilogue: Epilogue,
    /// Written outputs by slot, for the slots that the epilogue takes.
    pub outputs: Vec<Option<SsaVariable>>,
    /// The current rectangle, row and chunk.
    pub chunk_position: Option<ChunkPosition>,
}

/// Position of a chunk.
#[derive(Clone, Copy)]
pub struct ChunkPosition {
    /// Address of the primitive, and that of its attributes.
    pub primitive: C,
    pub attributes: C,
    /// Row as the built-in has it, and relative to the primitive's origin, in all lanes.
    pub y: [C; 2],
    /// First column of the primitive, I32.
    pub origin: C,
    /// Address of the row's texel 0.
    pub row: C,
    /// First column of the chunk, column behind the rectangle's last one, and column of the first
    /// lane (I32).
    pub columns: [C; 3],
    /// True if some lanes are pixels that do not belong to the chunk.
    pub partial: C,
}

impl RectangleState {
    /// Returns the state for a stage that can take rectangles.
    ///
    /// Returns `None` for stages that depend on quads, samples or coverage, have other effects than
    /// writing colours, or call kernels.
    pub fn try_new(shader: &Shader, lanes: u32, epilogue: &Epilogue) -> Option<RectangleState> {
        let info = shader.stage_info.fragment().filter(|_| shader.stage() == Stage::Fragment)?;
        let writes_more_than_colors = info.kills || info.writes_depth || info.writes_stencil || info.writes_sample_mask;
        let reads_coverage =
            info.sample_shading || info.reads_input_attachments || info.reads_sample_mask || info.ordered;
        let float = |slot: u16| shader.outputs.get(usize::from(slot)).is_some_and(|slot| slot.ty == SlotType::Float);
        let fits = matches!(lanes as usize, MAX_LANES | RECTANGLE_LANES)
            && !(writes_more_than_colors || reads_coverage || shader.side_effects || shader.uses_subgroup)
            && epilogue.is_supported()
            && epilogue.slots.iter().flatten().all(|&slot| float(slot))
            && shader.live_insts().all(|data| data.op.info().pixel_local);
        fits.then(|| RectangleState { epilogue: *epilogue, outputs: Vec::new(), chunk_position: None })
    }
}

impl Emitter<'_> {
    /// Returns the middle of a pixel along an axis, in all lanes. The numbers are small and have
    /// few fraction bits, so every sum is exact.
    pub fn pixel_center(&mut self, pixel: C) -> C {
        let corner = self.b.sint_to_float(Type::F32, pixel);
        let half = self.b.constant(Type::F32, 0.5f32.to_bits().into());
        let middle = self.b.fadd(corner, half);
        let floats = self.vector_type(Ty::F32);
        self.b.splat(floats, middle)
    }

    /// Returns the middle of each lane's pixel along an axis.
    fn pixel_centers(&mut self, pixels: C) -> C {
        let floats = self.vector_type(Ty::F32);
        let corners = self.b.sint_to_float(floats, pixels);
        let half = self.b.constant(floats, 0.5f32.to_bits().into());
        self.b.fadd(corners, half)
    }

    /// Computes the values of the primitive that its chunks use.
    pub fn start_primitive(&mut self, primitive: C, attributes: C) {
        let shader = self.shader;
        if !shader.inputs.iter().any(|input| input.interpolation != Interpolation::Flat) {
            return;
        }
        for plane in [offset_of!(FragmentPrimitive, b1), offset_of!(FragmentPrimitive, b2)] {
            for component in 0..3 {
                self.load_splat(AccessReason::Field, primitive, plane + 4 * component);
            }
        }
        for (slot, input) in shader.inputs.iter().enumerate() {
            if input.interpolation != Interpolation::Flat {
                (0..3).for_each(|i| {
                    self.load_splat(AccessReason::Element, attributes, slot * size_of::<[u32; 3]>() + 4 * i);
                });
            }
        }
    }

    /// Computes the values of a row that its chunks use.
    pub fn start_row(&mut self, primitive: C, y: C) {
        if self.shader.inputs.iter().any(|input| input.interpolation != Interpolation::Flat) {
            for plane in [offset_of!(FragmentPrimitive, b1), offset_of!(FragmentPrimitive, b2)] {
                let [dy, c] =
                    [4, 8].map(|component| self.load_splat(AccessReason::Field, primitive, plane + component));
                self.fused(dy, y, c);
            }
        }
    }

    /// Loads a float and splats it to all lanes.
    fn load_splat(&mut self, reason: AccessReason, base: C, offset: usize) -> C {
        let float = self.b.load(Type::F32, read_only(reason, offset as i32), base);
        let floats = self.vector_type(Ty::F32);
        self.b.splat(floats, float)
    }

    /// Returns an input that is not flat. The primitive is affine, so linear weights equal those
    /// with perspective.
    pub fn rectangle_input(&mut self, slot: u32, chunk_position: &ChunkPosition, relative: [C; 2]) -> C {
        let primitives: SmallVec<[C; 2]> = [chunk_position.primitive].into_iter().collect();
        let weights = self.weights(&primitives, relative, false);
        let first = slot as usize * size_of::<[u32; 3]>();
        let [a0, d1, d2] =
            [0, 4, 8].map(|i| self.load_splat(AccessReason::Element, chunk_position.attributes, first + i));
        let sum = self.fused(weights[0], d1, a0);
        self.fused(weights[1], d2, sum)
    }

    /// Returns the position of the chunk, in a stage that takes rectangles.
    pub fn chunk_position(&self) -> Option<ChunkPosition> {
        self.rectangles.as_ref().and_then(|rectangles| rectangles.chunk_position)
    }

    /// Returns the framebuffer coordinate of a rectangle's fragments along an axis.
    pub fn rectangle_xy(&mut self, chunk_position: &ChunkPosition, axis: usize) -> C {
        if axis != 0 {
            return chunk_position.y[0];
        }
        let pixels = self.columns_from(chunk_position.columns[2]);
        self.pixel_centers(pixels)
    }

    /// Returns the lanes' columns of a chunk that starts at column `first`.
    pub fn columns_from(&mut self, first: C) -> C {
        let words = self.vector_type(Ty::I32);
        let first = self.b.splat(words, first);
        let steps = self.words(|lane| lane as i32);
        self.b.iadd(first, steps)
    }

    /// Initialises the state of a chunk of a rectangle.
    pub fn start_rectangle(&mut self, chunk_position: &ChunkPosition, ones: C) {
        self.set_exec(ones, true);
        let first = self.b.isub(chunk_position.columns[2], chunk_position.origin);
        let columns = self.columns_from(first);
        let relative = [self.pixel_centers(columns), chunk_position.y[1]];
        self.start_effects(ones, ones);
        self.fragment =
            Some(FragmentState::for_rectangle((chunk_position.primitive, chunk_position.attributes), relative));
    }

    /// Splats a word of the batch's primitives to all lanes.
    pub fn splat_word(&mut self, scalar: C) -> C {
        let elem: Elem = self.b.ty(scalar).elem;
        self.b.splat(elem.by(self.lanes.count() as usize), scalar)
    }
}
