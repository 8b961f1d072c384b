//! The mesh stage: a source without any before it, except for a task stage, which has run already
//! ([`MeshDispatchList`]).
//!
//! A call takes as many workgroups, requested together, as fit [`CALL_BYTES`] of memory, in which
//! the stage leaves its output. A batch is the output of one workgroup: its records are the
//! vertices, in place, and a primitive is the number of its record.

use super::mesh_dispatch::MeshDispatchList;
use super::plan::{DrawChunk, FrontDraw};
use super::stream::{Assembled, BATCH_PRIMITIVES, Batch, PrimitiveSource, ShadedVertices};
use super::tessellation::PatternPrimitive;
use crate::api::statistic;
use crate::stages::{MeshLink, NO_SLOT};
use base::abi::{ComputeBatch, MeshBatch};
use base::limits::MAX_MESH_PRIMITIVES;
use base::shader::{CompiledStage, MeshInfo, Records, WORKGROUP_HEADER_BYTES};
use execution::{AlignedBuf, StageMemory, aborted};

const _: () = assert!(MAX_MESH_PRIMITIVES <= BATCH_PRIMITIVES);

/// Number of bytes of workgroups that a call may make, unless a single one takes more.
const CALL_BYTES: usize = 256 << 10;
/// Largest number of workgroups of a call.
const CALL_GROUPS: usize = 64;

/// Memory of the source.
#[derive(Default)]
pub struct MeshScratch {
    groups: AlignedBuf,
    primitives: Vec<Assembled>,
}

/// The primitives that mesh workgroups make.
pub struct MeshSource<'a> {
    draw: FrontDraw<'a>,
    stage: &'a CompiledStage,
    info: &'a MeshInfo,
    link: &'a MeshLink,
    mesh_dispatches: &'a MeshDispatchList,
    scratch: &'a mut MeshScratch,
    /// Next workgroup of the chunk that has not run; `end` is the end of the chunk.
    next: u32,
    end: u32,
    /// Number of workgroups of the last call; `listed` counts those whose primitives have been
    /// listed.
    called: usize,
    listed: usize,
    /// Number of vertices of the batch.
    vertices: usize,
}

impl<'a> MeshSource<'a> {
    /// Makes the source at the chunk's beginning; `None` if the draw has no such stage.
    pub fn new(
        draw: FrontDraw<'a>,
        chunk: &DrawChunk,
        scratch: &'a mut Option<Box<MeshScratch>>,
    ) -> Option<MeshSource<'a>> {
        let (link, mesh_dispatches) = (draw.linkage().mesh.as_ref()?, draw.plan.mesh_dispatches.as_deref()?);
        let (stage, info) = draw.draw.stages.mesh()?;
        let (next, end) = (chunk.primitive, chunk.primitive + chunk.primitives);
        let scratch = &mut **scratch.get_or_insert_default();
        Some(MeshSource {
            draw,
            stage,
            info,
            link,
            mesh_dispatches,
            scratch,
            next,
            end,
            called: 0,
            listed: 0,
            vertices: 0,
        })
    }

    /// Returns the number of words of a workgroup's memory.
    fn words(&self) -> usize {
        self.info.group.workgroup_stride() as usize / 4
    }

    /// Returns the memory of a workgroup of the last call.
    fn group(&self, number: usize) -> &[u32] {
        let words = self.words();
        &self.scratch.groups.as_words(self.called * words)[number * words..][..words]
    }

    /// Runs the next workgroups; returns false if there are none.
    fn run(&mut self, memory: &mut StageMemory) -> bool {
        if self.next == self.end || aborted(&self.draw.draw.context) {
            return false;
        }
        let Some(set) = self.mesh_dispatches.dispatch_of(self.next) else { return false };
        let (words, payload) = (self.words(), self.mesh_dispatches.payload(set));
        let count = (CALL_BYTES / (4 * words)).clamp(1, CALL_GROUPS);
        let count = count.min((self.end - self.next) as usize).min((set.end() - self.next) as usize);
        let groups = self.scratch.groups.words(count * words);
        // Values that the stage does not write are the same every time.
        groups.fill(0);
        let head = WORKGROUP_HEADER_BYTES as usize / 4;
        let given = (self.info.payload_bytes as usize).div_ceil(4).min(payload.len());
        for group in groups.chunks_exact_mut(words) {
            group[head..head + given].copy_from_slice(&payload[..given]);
        }
        let [width, height, _] = set.groups;
        let mut batch = MeshBatch {
            groups: ComputeBatch {
                header: memory.header(self.stage),
                base: [0; 3],
                groups: [width, height],
                first: set.position(self.next),
                count: count as u32,
                _pad: 0,
                shared: groups.as_mut_ptr().cast(),
            },
            num_workgroups: set.groups,
            _pad: 0,
        };
        // SAFETY: there is memory for as many workgroups as the stage's facts say, in whole words.
        // The icd guarantees that stage and context match.
        unsafe { self.stage.run(&self.draw.draw.context, (&raw mut batch).cast()) };
        self.next += count as u32;
        (self.called, self.listed) = (count, 0);
        let invocations = count as u64 * self.info.group.invocations();
        self.draw.draw.queries.count(statistic::MESH_INVOCATIONS, invocations);
        // The results of a stage that was stopped are not complete, so they are not used.
        !aborted(&self.draw.draw.context)
    }

    /// Lists the primitives of a workgroup. (Indices of vertices that do not exist are never
    /// followed, whatever the stage has written.)
    fn list(&mut self, number: usize) {
        let group = self.group(number);
        let vertices = group[0].min(self.info.max_vertices);
        let primitives = if vertices == 0 { 0 } else { group[1].min(self.info.max_primitives) };
        let mut listed = core::mem::take(&mut self.scratch.primitives);
        listed.clear();
        let records = self.records(number, self.info.primitives, primitives);
        let (need, last) = (self.info.output.vertices() as usize, self.draw.draw.state.provoking_last);
        for primitive in 0..primitives {
            let base = records.base(primitive as usize);
            let word = |slot: u16| if slot == NO_SLOT { 0 } else { records.slot(base, slot) };
            if word(self.link.cull) != 0 {
                continue;
            }
            let corners: [u32; 3] = core::array::from_fn(|i| word(self.link.corners[i]).min(vertices - 1));
            listed.push((<[u32; 3]>::of_pattern(&corners[..need], last), primitive));
        }
        self.draw.draw.queries.count_meshes(listed.len() as u64);
        self.scratch.primitives = listed;
        self.vertices = vertices as usize;
    }

    /// Returns the records of a workgroup.
    fn records(&self, number: usize, records: Records, count: u32) -> ShadedVertices<'_> {
        let (first, words) = (records.first as usize / 4, (records.stride * count) as usize / 4);
        ShadedVertices { outputs: &self.group(number)[first..first + words], layout: MeshLink::layout(records) }
    }
}

impl PrimitiveSource for MeshSource<'_> {
    type Vertices = [u32; 3];

    fn advance(&mut self, memory: &mut StageMemory) -> bool {
        loop {
            if self.listed == self.called && !self.run(memory) {
                return false;
            }
            self.list(self.listed);
            self.listed += 1;
            if !self.scratch.primitives.is_empty() {
                return true;
            }
        }
    }

    fn batch(&self) -> Batch<'_> {
        let number = self.listed - 1;
        let shaded = self.records(number, self.info.vertices, self.vertices as u32);
        let records = self.records(number, self.info.primitives, self.info.max_primitives);
        let (primitives, vertices) = (&*self.scratch.primitives, self.vertices);
        Batch {
            stream: 0,
            primitives,
            begins: None,
            shaded,
            records: Some(records),
            vertices,
            written: None,
            same_vertices: false,
        }
    }
}
