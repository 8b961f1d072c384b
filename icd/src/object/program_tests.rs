//! Tests of programs: their identity, link errors, names, and the table of links.

use super::descriptor::{BindingInfo, SetLayout};
use super::pipeline::{GraphicsCreateInfo, Pipeline, PipelineBuilder, StageCreateInfo, StageOrigin};
use super::pipeline_layout::{LayoutConflict, PipelineLayout};
use super::pipeline_state::{ALL_SUBSETS, CreateInfo, GraphicsState, StateMask};
use super::program::{BoundProgram, ExecutableStages, LinkedStages, Linker, SWEEP};
use crate::ffi::handle;
use crate::shader_compiler::compiler::Compiler;
use crate::shader_compiler::tiered::{Policy, TieredCode};
use ash::vk;
use base::shader::Stage;
use jit::spirv::Specialization;
use rasterizer::Engine;
use rasterizer::api::LinkError;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Weak};

const VERTEX: &[u8] = include_bytes!("../../tests/data/triangle.vert.spv");
const FRAGMENT: &[u8] = include_bytes!("../../tests/data/number.frag.spv");
const COMPUTE: &[u8] = include_bytes!("../../tests/data/count.comp.spv");

/// A device's compiler and linker. The pool's only thread is busy, so that code is made only where
/// it is needed.
struct Setup {
    compiler: Arc<Compiler>,
    linker: Linker,
    busy: Option<Sender<()>>,
}

impl Setup {
    fn new() -> Setup {
        let engine = Arc::new(Engine::new(1));
        let (busy, receive) = channel::<()>();
        engine.pool().work_sharing().pool().expect("a thread").spawn(move || _ = receive.recv());
        let compiler = Compiler::new(Arc::default(), engine, Policy::Auto);
        Setup { compiler, linker: Linker::default(), busy: Some(busy) }
    }

    fn maker(&self) -> PipelineBuilder<'_> {
        let flags = vk::PipelineCreateFlags2KHR::empty();
        PipelineBuilder { compiler: &self.compiler, linker: &self.linker, cache: None, flags }
    }

    /// Makes a graphics pipeline with a layout of its own and these dynamic rows.
    fn pipeline(&self, stages: &[(Stage, u32)], dynamic: StateMask) -> Arc<Pipeline> {
        let stages = stages.iter().map(|&(stage, number)| Some(info(stage, number))).collect();
        let state = GraphicsState::new(&CreateInfo::default(), ALL_SUBSETS, dynamic).expect("supported");
        let made =
            self.maker().graphics(GraphicsCreateInfo { stages, state, layout: Some(layout()), libraries: Vec::new() });
        made.map_err(|failure| failure.message).expect("a pipeline").pipeline
    }

    /// Returns the code of a stage, as any creation of the device finds it.
    fn code(&self, stage: Stage, number: u32) -> Arc<TieredCode> {
        let made = self.maker().compile(info(stage, number), &layout());
        made.map_err(|failure| failure.message).expect("a stage").0
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        drop(self.busy.take());
        self.compiler.stop();
    }
}

/// Makes a layout with one storage buffer, which the compute stage needs.
fn layout() -> Arc<PipelineLayout> {
    Arc::new(PipelineLayout::new(vec![Some(set(vk::DescriptorType::STORAGE_BUFFER))]).expect("small"))
}

/// Makes the layout of a set with one descriptor.
fn set(ty: vk::DescriptorType) -> Arc<SetLayout> {
    let binding = BindingInfo {
        binding: 0,
        ty,
        count: 1,
        immutable_samplers: Vec::new(),
        flags: vk::DescriptorBindingFlags::empty(),
        mutable: Vec::new(),
    };
    Arc::new(SetLayout::new(vec![binding]).expect("supported"))
}

/// Describes a stage; different numbers make different ones.
fn info(stage: Stage, number: u32) -> StageCreateInfo {
    let bytes = match stage {
        Stage::Vertex => VERTEX,
        Stage::Fragment => FRAGMENT,
        _ => COMPUTE,
    };
    let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    StageCreateInfo {
        stage,
        words: bytes.chunks_exact(4).map(word).collect(),
        module: 0,
        entry: "main".into(),
        specialization: Specialization { entries: vec![(1000 + number, vec![0; 4])], ..Specialization::default() },
        heap: None,
        origin: StageOrigin::default(),
    }
}

fn program(pipeline: &Pipeline) -> &Arc<BoundProgram> {
    pipeline.program().expect("a program")
}

fn names(linked: &LinkedStages) -> Vec<Stage> {
    linked.code().iter().map(|code| code.request().stage).collect()
}

#[test]
fn the_same_stages_are_one_program_whatever_brought_them_together() {
    let setup = Setup::new();
    let stages = [(Stage::Vertex, 0), (Stage::Fragment, 0)];
    let first = setup.pipeline(&stages, StateMask::default());
    let reversed = setup.pipeline(&[stages[1], stages[0]], StateMask::ALL);
    let [code, other] = [0, 1].map(|number| setup.code(Stage::Fragment, number));
    let vertex = setup.code(Stage::Vertex, 0);
    let bound = setup.linker.link(vec![code, vertex.clone()]).expect("linked");
    for pipeline in [&first, &reversed] {
        assert!(Arc::ptr_eq(program(pipeline).stages(), &bound), "another program of the same stages");
    }
    assert_eq!(names(&bound), [Stage::Vertex, Stage::Fragment]);
    let (a, b) = (program(&first), program(&reversed));
    assert!(a.number() != b.number() && !Arc::ptr_eq(a.layout(), b.layout()));
    let rows = [a, b].map(|program| program.state().expect("state").static_rows());
    assert_eq!(rows, [StateMask::ALL, StateMask::default()]);

    let different = setup.linker.link(vec![vertex.clone(), other]).expect("linked");
    assert!(!Arc::ptr_eq(&different, &bound));
    let alone = setup.linker.link(vec![vertex]).expect("linked");
    let ExecutableStages::Graphics(stages) = alone.executable() else { panic!("not a draw's") };
    assert!(stages.fragment().is_none());
}

#[test]
fn dispatches_are_linked_likewise() {
    let setup = Setup::new();
    let made = || setup.maker().compute(info(Stage::Compute, 0), layout());
    let [a, b] = [made(), made()].map(|made| made.map_err(|failure| failure.message).expect("a pipeline").pipeline);
    let bound = setup.linker.link(vec![setup.code(Stage::Compute, 0)]).expect("linked");
    assert!(Arc::ptr_eq(program(&a).stages(), &bound) && Arc::ptr_eq(program(&b).stages(), &bound));
    assert!(matches!(bound.executable(), ExecutableStages::Compute(_)) && program(&a).state().is_none());
}

#[test]
fn stages_that_do_not_fit_are_refused_each_time() {
    let setup = Setup::new();
    let (vertex, fragment) = (setup.code(Stage::Vertex, 0), setup.code(Stage::Fragment, 0));
    let (other, compute) = (setup.code(Stage::Vertex, 1), setup.code(Stage::Compute, 0));
    let lists = [
        (vec![], LinkError::NoVertices),
        (vec![fragment.clone()], LinkError::NoVertices),
        (vec![vertex.clone(), fragment.clone(), other.clone()], LinkError::Duplicate(Stage::Vertex)),
        (vec![vertex.clone(), vertex.clone()], LinkError::Duplicate(Stage::Vertex)),
        (vec![compute.clone(), vertex.clone()], LinkError::NotGraphics(Stage::Compute)),
        (vec![compute.clone(), compute], LinkError::NotCompute),
    ];
    for (list, error) in lists {
        for _ in 0..2 {
            assert_eq!(setup.linker.link(list.clone()).err(), Some(error));
        }
    }
}

#[test]
fn linking_makes_no_code_and_waits_for_none() {
    let setup = Setup::new();
    let list = vec![setup.code(Stage::Vertex, 0), setup.code(Stage::Fragment, 0)];
    let linked = setup.linker.link(list.clone()).expect("linked");
    assert!(list.iter().all(|code| code.tier().is_none()));
    linked.ready().expect("code");
    assert!(list.iter().all(|code| code.tier().is_some()));
    linked.ready().expect("code");
}

/// Checks that links live as long as a program has them, and that the table forgets them.
#[test]
fn links_end_with_their_programs() {
    let setup = Setup::new();
    let vertex = setup.code(Stage::Vertex, 0);
    let link = || setup.linker.link(vec![vertex.clone()]).expect("linked");
    let weak: Weak<LinkedStages> = Arc::downgrade(&link());
    assert!(weak.upgrade().is_none(), "the linker keeps them");
    let again = link();
    assert!(Arc::ptr_eq(&again, &link()));
    for number in 0..3 * SWEEP as u32 {
        setup.linker.link(vec![vertex.clone(), setup.code(Stage::Fragment, number)]).expect("linked");
    }
    assert!(setup.linker.len() <= SWEEP + 1, "{} entries", setup.linker.len());
    assert!(Arc::ptr_eq(&again, &link()), "a living one was forgotten");
}

/// Checks that a program names its pipeline by its handle, and that no other pipeline has this
/// number as long as the program lives, with the pipeline or without it.
#[test]
fn a_program_keeps_the_number_of_its_pipeline() {
    let setup = Setup::new();
    let make = || setup.pipeline(&[(Stage::Vertex, 0)], StateMask::default());
    let pipeline = make();
    let of_pipeline = program(&pipeline).clone();
    let number = handle::raw(&pipeline);
    assert_eq!(of_pipeline.number(), number);
    drop(pipeline);
    let others: Vec<_> = (0..100).map(|_| make()).collect();
    assert!(others.iter().all(|other| handle::raw(other) != number && program(other).number() != number));
    assert_eq!(of_pipeline.number(), number);
}

/// Checks that a union has the sets of both layouts, is one of them if that has all sets, and does
/// not exist if a set differs.
#[test]
fn layouts_are_joined_set_by_set() {
    let [uniform, storage] = [vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC, vk::DescriptorType::STORAGE_BUFFER_DYNAMIC];
    let make = |sets: Vec<Option<Arc<SetLayout>>>| Arc::new(PipelineLayout::new(sets).expect("small"));
    let low = make(vec![Some(set(uniform)), None, Some(set(uniform))]);
    let high = make(vec![None, Some(set(storage))]);
    let union = low.union(&high).expect("independent sets");
    let kinds = |layout: &PipelineLayout| -> Vec<_> { layout.info.sets.iter().map(|set| set[0].kind).collect() };
    use base::shader::DescriptorKind::{StorageBufferDynamic as S, UniformBufferDynamic as U};
    assert_eq!(kinds(&union), [U, S, U]);
    assert_eq!((&union.dynamic_base[..], union.dynamic_count), (&[0, 1, 2][..], 3));
    for part in [&low, &high, &union] {
        assert!(Arc::ptr_eq(&union.union(part).expect("a part of it"), &union));
        assert!(Arc::ptr_eq(&part.union(&union).expect("a part of it"), &union));
    }
    let other = make(vec![None, None, Some(set(storage))]);
    assert_eq!(union.union(&other).err(), Some(LayoutConflict::Set(2)));
    assert_eq!(other.union(&low).err(), Some(LayoutConflict::Set(2)));
    let heap = Arc::new(PipelineLayout::for_heap(Vec::new()).expect("small"));
    assert_eq!(heap.union(&low).err(), Some(LayoutConflict::Heaps));
}
