//! Guarantees that the driver gives for its structures: which pointer each field holds, how large
//! the pointed-to memory is, and which words of the driver are bounded. The proofs of all other
//! modules here end at these tables.

use base::abi::{
    ADDRESS_TAIL, AddressSpace, BatchHeader, BatchKind, ComputeBatch, ControlBatch, DESCRIPTOR_SIZE, DynamicBuffers,
    EvaluationBatch, FragmentBatch, FragmentPrimitive, FragmentQuad, HeapContext, Heaps, HelperTable, ImageView,
    InputSource, InvocationBatch, MeshBatch, PrimitiveBatch, QuadPositions, Rectangle, RectangleBatch, SAMPLER_CLASSES,
    SET_HEADER, SampleGroups, Sampler, ShaderContext, VertexBatch,
};
use base::limits::{MAX_DESCRIPTOR_SETS, MAX_PUSH_CONSTANTS};
use base::shader::{BindingLayout, DescriptorKind, FrameInfo, PipelineLayoutInfo};
use core::mem::offset_of;

/// Inputs of a stage that proofs need.
#[derive(Clone, Copy, Debug)]
pub struct StageLayout<'a> {
    /// Kind of the stage's batch.
    pub batch: BatchKind,
    /// True if the batch is a [`RectangleBatch`].
    pub rectangles: bool,
    /// Size of the scratch memory in bytes.
    pub scratch: u64,
    /// Size of workgroup memory in bytes; 0 if the stage has none.
    pub shared: u64,
    /// Distance in bytes between the memory of consecutive workgroups, if each one has its own.
    pub workgroup_stride: Option<u64>,
    /// Number of input slots of the stage.
    pub inputs: u64,
    /// Number of words of an invocation's frame, in stages whose batches have frames.
    pub frame_words: u32,
    /// Layout of the descriptors.
    pub layout: &'a PipelineLayoutInfo,
}

/// An array that a structure points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// Kind of the elements.
    pub element: Element,
    /// True if the stage may write the array.
    pub written: bool,
}

/// Kind of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A number that the driver has computed.
    Number,
    /// A word that comes from the application.
    Data,
    /// A [`FragmentQuad`].
    Quad,
    /// A [`Rectangle`].
    Rectangle,
    /// An [`InputSource`]; the array has one for each input slot.
    Source,
    /// The byte offset of an invocation's frame.
    FrameOffset,
    /// Attributes of a primitive: three words for each input slot, and four bytes.
    Attributes,
}

/// Memory that a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryRegion {
    /// The [`ShaderContext`].
    Context,
    /// The stage's batch.
    Batch,
    /// The [`HelperTable`].
    Helpers,
    /// A [`FragmentPrimitive`].
    Primitive,
    /// An [`ImageView`].
    View,
    /// A [`Sampler`].
    Sampler,
    /// An array of the driver.
    Array(Array),
    /// Memory of the descriptor set with this number.
    Set(usize),
    /// Resolved dynamic buffers of the descriptor set with this number.
    Dynamic(usize),
    /// The sink, [`BatchHeader::sink`].
    Sink,
    /// The zeros, [`AddressSpace::zeros`].
    Zeros,
    /// The flag that makes code return early.
    Abort,
    /// The null buffer, [`Heaps::null_buffer`].
    NullBuffer,
    /// A table of live granules, with entries of this size: 1 for bytes, 4 for words.
    Live(u64),
    /// The entries for the objects of a heap.
    Entries(HeapKind),
    /// The scratch memory, [`BatchHeader::scratch`].
    Scratch,
    /// The workgroup memory, [`ComputeBatch::shared`].
    Shared,
    /// The frames of invocations, [`InvocationBatch::memory`].
    Frames,
}

/// A descriptor heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeapKind {
    /// The heap of images and buffers.
    Resources,
    /// The heap of samplers.
    Samplers,
}

impl HeapKind {
    /// Returns the byte offset of the heap in the context.
    pub const fn at(self) -> i64 {
        let own = match self {
            HeapKind::Resources => offset_of!(Heaps, resources),
            HeapKind::Samplers => offset_of!(Heaps, samplers),
        };
        (offset_of!(ShaderContext, heaps) + own) as i64
    }
}

/// Number of bytes that a null view and a null buffer have, and that are readable from the first
/// byte of every buffer.
pub const READABLE: i64 = 16;

const NUMBERS: MemoryRegion = MemoryRegion::Array(Array { element: Element::Number, written: false });
const RESULTS: MemoryRegion = MemoryRegion::Array(Array { element: Element::Number, written: true });
const INPUTS: MemoryRegion = MemoryRegion::Array(Array { element: Element::Data, written: false });
const OUTPUTS: MemoryRegion = MemoryRegion::Array(Array { element: Element::Data, written: true });
const SOURCES: MemoryRegion = MemoryRegion::Array(Array { element: Element::Source, written: false });

/// Returns the pointers in each kind of batch, by byte offset.
fn batch_pointers(stage_layout: &StageLayout<'_>) -> &'static [(usize, MemoryRegion)] {
    if stage_layout.rectangles {
        return &[
            (
                offset_of!(RectangleBatch, rectangles),
                MemoryRegion::Array(Array { element: Element::Rectangle, written: false }),
            ),
            (offset_of!(RectangleBatch, target), OUTPUTS),
        ];
    }
    match stage_layout.batch {
        BatchKind::Vertices => &[
            (offset_of!(VertexBatch, vertex_index), NUMBERS),
            (offset_of!(VertexBatch, instance_index), NUMBERS),
            (offset_of!(VertexBatch, inputs), INPUTS),
            (offset_of!(VertexBatch, outputs), OUTPUTS),
        ],
        BatchKind::Patches => &[
            (offset_of!(ComputeBatch, shared), MemoryRegion::Shared),
            (offset_of!(ControlBatch, inputs), INPUTS),
            (offset_of!(ControlBatch, sources), SOURCES),
            (offset_of!(ControlBatch, vertices), NUMBERS),
            (offset_of!(ControlBatch, primitive_id), NUMBERS),
        ],
        BatchKind::Domain => &[
            (offset_of!(EvaluationBatch, inputs), INPUTS),
            (offset_of!(EvaluationBatch, sources), SOURCES),
            (offset_of!(EvaluationBatch, patches), NUMBERS),
            (offset_of!(EvaluationBatch, coordinates), INPUTS),
            (offset_of!(EvaluationBatch, primitive_id), NUMBERS),
            (offset_of!(EvaluationBatch, outputs), OUTPUTS),
        ],
        BatchKind::Primitives => &[
            (offset_of!(PrimitiveBatch, inputs), INPUTS),
            (offset_of!(PrimitiveBatch, sources), SOURCES),
            (offset_of!(PrimitiveBatch, vertices), NUMBERS),
            (offset_of!(PrimitiveBatch, primitive_id), NUMBERS),
            (offset_of!(PrimitiveBatch, invocation_id), NUMBERS),
            (offset_of!(PrimitiveBatch, outputs), OUTPUTS),
            (offset_of!(PrimitiveBatch, counts), OUTPUTS),
            (offset_of!(PrimitiveBatch, first_rows), RESULTS),
        ],
        BatchKind::Quads => &[
            (offset_of!(FragmentBatch, quads), MemoryRegion::Array(Array { element: Element::Quad, written: false })),
            (offset_of!(FragmentBatch, outputs), OUTPUTS),
            (offset_of!(FragmentBatch, alive), RESULTS),
            (offset_of!(FragmentBatch, positions), NUMBERS),
            (offset_of!(FragmentBatch, groups), NUMBERS),
            (offset_of!(FragmentBatch, contained), NUMBERS),
        ],
        BatchKind::Mesh | BatchKind::Workgroup => &[(offset_of!(ComputeBatch, shared), MemoryRegion::Shared)],
        BatchKind::Invocations => &[
            (
                offset_of!(InvocationBatch, frames),
                MemoryRegion::Array(Array { element: Element::FrameOffset, written: false }),
            ),
            (offset_of!(InvocationBatch, memory), MemoryRegion::Frames),
            (offset_of!(InvocationBatch, ends), RESULTS),
        ],
    }
}

impl StageLayout<'_> {
    /// Returns the size of the batch in bytes.
    fn batch_bytes(&self) -> usize {
        if self.rectangles {
            return size_of::<RectangleBatch>();
        }
        match self.batch {
            BatchKind::Vertices => size_of::<VertexBatch>(),
            BatchKind::Patches => size_of::<ControlBatch>(),
            BatchKind::Domain => size_of::<EvaluationBatch>(),
            BatchKind::Primitives => size_of::<PrimitiveBatch>(),
            BatchKind::Mesh => size_of::<MeshBatch>(),
            BatchKind::Quads => size_of::<FragmentBatch>(),
            BatchKind::Workgroup => size_of::<ComputeBatch>(),
            BatchKind::Invocations => size_of::<InvocationBatch>(),
        }
    }

    /// Returns the first byte and the end of the memory that a pointer points to. Returns `None` if
    /// only the driver knows its size.
    pub fn extent(&self, base: MemoryRegion) -> Option<(i64, i64)> {
        let bytes = match base {
            MemoryRegion::Context => size_of::<ShaderContext>(),
            MemoryRegion::Batch => self.batch_bytes(),
            MemoryRegion::Helpers => size_of::<HelperTable>(),
            MemoryRegion::Primitive => size_of::<FragmentPrimitive>(),
            MemoryRegion::View => size_of::<ImageView>(),
            MemoryRegion::Sampler => size_of::<Sampler>(),
            MemoryRegion::Array(Array { element: Element::Source, .. }) => {
                self.inputs as usize * size_of::<InputSource>()
            }
            MemoryRegion::Array(Array { element: Element::Attributes, .. }) => {
                self.inputs as usize * size_of::<[u32; 3]>() + size_of::<u32>()
            }
            MemoryRegion::Sink | MemoryRegion::Zeros => ADDRESS_TAIL,
            MemoryRegion::NullBuffer => READABLE as usize,
            MemoryRegion::Abort => size_of::<u32>(),
            MemoryRegion::Scratch => self.scratch as usize,
            MemoryRegion::Shared => self.shared as usize,
            MemoryRegion::Set(_)
            | MemoryRegion::Dynamic(_)
            | MemoryRegion::Live(_)
            | MemoryRegion::Entries(_)
            | MemoryRegion::Frames
            | MemoryRegion::Array(_) => return None,
        };
        Some((0, bytes as i64))
    }

    /// Returns the memory that a pointer points to, if it is stored at a constant byte of a
    /// structure, or of each element of an array.
    pub fn pointee(&self, base: MemoryRegion, at: i64) -> Option<MemoryRegion> {
        let place = usize::try_from(at).ok()?;
        match base {
            MemoryRegion::Context => context_pointer(place),
            MemoryRegion::Batch if place == offset_of!(BatchHeader, scratch) => Some(MemoryRegion::Scratch),
            MemoryRegion::Batch if place == offset_of!(BatchHeader, sink) => Some(MemoryRegion::Sink),
            MemoryRegion::Batch => batch_pointers(self).iter().find(|p| p.0 == place).map(|p| p.1),
            MemoryRegion::Primitive if place == offset_of!(FragmentPrimitive, attributes) => {
                Some(MemoryRegion::Array(Array { element: Element::Attributes, written: false }))
            }
            MemoryRegion::Array(Array { element: Element::Quad, .. })
                if place % size_of::<FragmentQuad>() == offset_of!(FragmentQuad, primitive) =>
            {
                Some(MemoryRegion::Primitive)
            }
            MemoryRegion::Array(Array { element: Element::Rectangle, .. })
                if place == offset_of!(Rectangle, primitive) =>
            {
                Some(MemoryRegion::Primitive)
            }
            MemoryRegion::Set(set) => {
                use DescriptorKind::*;
                let binding = self.binding(set, at)?;
                match (binding.kind, (at - i64::from(binding.offset)) % DESCRIPTOR_SIZE as i64) {
                    (
                        CombinedImageSampler | SampledImage | StorageImage | UniformTexelBuffer | StorageTexelBuffer
                        | InputAttachment | Mutable,
                        0,
                    ) => Some(MemoryRegion::View),
                    (Sampler | CombinedImageSampler | Mutable, 8) => Some(MemoryRegion::Sampler),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the size of an element that contains pointers. All indices are multiples of it.
    pub fn stride(element: Element) -> Option<u64> {
        match element {
            Element::Quad => Some(size_of::<FragmentQuad>() as u64),
            Element::Rectangle => Some(size_of::<Rectangle>() as u64),
            Element::Number | Element::Data | Element::Source | Element::FrameOffset | Element::Attributes => None,
        }
    }

    /// Returns the binding whose first descriptors contain a byte of a set's memory.
    pub fn binding(&self, set: usize, at: i64) -> Option<&BindingLayout> {
        let inside = |b: &&BindingLayout| {
            let bytes = match b.kind {
                DescriptorKind::InlineUniformBlock => i64::from(b.count),
                _ => (i64::from(b.count.max(1)) + i64::from(b.variable)) * DESCRIPTOR_SIZE as i64,
            };
            let own = !matches!(b.kind, DescriptorKind::UniformBufferDynamic | DescriptorKind::StorageBufferDynamic);
            (i64::from(b.offset)..i64::from(b.offset) + bytes).contains(&at) && (own || b.count == 0)
        };
        self.layout.sets.get(set)?.iter().find(inside)
    }

    /// Returns the size of a set's resolved dynamic buffers in bytes.
    pub fn dynamic_bytes(&self, set: usize) -> i64 {
        let dynamic = |b: &&BindingLayout| {
            matches!(b.kind, DescriptorKind::UniformBufferDynamic | DescriptorKind::StorageBufferDynamic)
        };
        let all = self.layout.sets.get(set).into_iter().flatten().filter(dynamic);
        all.map(|b| i64::from(b.dynamic_index + b.count)).max().unwrap_or(0) * DESCRIPTOR_SIZE as i64
    }

    /// Returns the number of bytes of a frame, from its first to behind its last word.
    pub fn frame_span(&self) -> i64 {
        FrameInfo::span(self.frame_words).into()
    }

    /// Returns the largest value of a word of a structure, if it has a bound.
    pub fn limit(&self, base: MemoryRegion, at: i64) -> Option<u64> {
        let quads = self.batch == BatchKind::Quads && !self.rectangles;
        match base {
            MemoryRegion::Batch if quads && at == offset_of!(FragmentBatch, count) as i64 => {
                Some(FragmentBatch::MAX_QUADS as u64)
            }
            MemoryRegion::Sampler if at == offset_of!(Sampler, class) as i64 => Some(SAMPLER_CLASSES as u64 - 1),
            _ => None,
        }
    }
}

/// Returns true if a descriptor may be that of a buffer: an address and a size.
pub fn is_buffer(kind: DescriptorKind) -> bool {
    use DescriptorKind::*;
    matches!(kind, UniformBuffer | StorageBuffer | UniformBufferDynamic | StorageBufferDynamic | Mutable)
}

/// Returns the memory that a pointer of the context points to.
fn context_pointer(place: usize) -> Option<MemoryRegion> {
    let dynamic = offset_of!(ShaderContext, dynamic_buffers) + offset_of!(DynamicBuffers, sets);
    if let Some(set) = set_of_pointer(place, offset_of!(ShaderContext, sets)) {
        return Some(MemoryRegion::Set(set));
    }
    if let Some(set) = set_of_pointer(place, dynamic) {
        return Some(MemoryRegion::Dynamic(set));
    }
    let (addresses, heaps) = (offset_of!(ShaderContext, addresses), offset_of!(ShaderContext, heaps));
    let entries = |heap: HeapKind| heap.at() as usize + offset_of!(HeapContext, entries);
    let all: [(usize, MemoryRegion); 8] = [
        (offset_of!(ShaderContext, abort), MemoryRegion::Abort),
        (offset_of!(ShaderContext, helpers), MemoryRegion::Helpers),
        (addresses + offset_of!(AddressSpace, zeros), MemoryRegion::Zeros),
        (addresses + offset_of!(AddressSpace, live), MemoryRegion::Live(1)),
        (addresses + offset_of!(AddressSpace, runs), MemoryRegion::Live(4)),
        (heaps + offset_of!(Heaps, null_buffer), MemoryRegion::NullBuffer),
        (entries(HeapKind::Resources), MemoryRegion::Entries(HeapKind::Resources)),
        (entries(HeapKind::Samplers), MemoryRegion::Entries(HeapKind::Samplers)),
    ];
    all.iter().find(|p| p.0 == place).map(|p| p.1)
}

/// Returns the number of the set whose pointer is at a byte of the context, in the array of
/// pointers that begins at byte `array`.
fn set_of_pointer(place: usize, array: usize) -> Option<usize> {
    let at = place.checked_sub(array)?;
    let set = at / size_of::<*const u8>();
    (at.is_multiple_of(size_of::<*const u8>()) && set < MAX_DESCRIPTOR_SETS).then_some(set)
}

/// Byte range of the push constants in the context.
pub const PUSH: core::ops::Range<i64> = {
    let first = offset_of!(ShaderContext, push_constants) as i64;
    first..first + MAX_PUSH_CONSTANTS as i64
};

/// Byte range of a set's header, which precedes its descriptors.
pub const HEADER: core::ops::Range<i64> = SET_HEADER as i64..0;

/// Byte offset of the only field of a batch that a stage writes.
pub const WRITTEN_FIELD: i64 = offset_of!(PrimitiveBatch, rows) as i64;

const _: () = assert!(size_of::<QuadPositions>() == 32 && size_of::<SampleGroups>() == 8);
