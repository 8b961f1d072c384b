//! Tests of programs of shader objects: their identity, layouts, and the tables that keep them.

use super::bound_shaders::{BoundShaders, ProgramError};
use super::descriptor::{BindingInfo, SetLayout};
use super::pipeline::{StageCreateInfo, StageOrigin};
use super::pipeline_layout::PipelineLayout;
use super::program::{BoundProgram, Linker};
use super::shader_object::SWEEP;
use super::shader_object::{ShaderBuilder, ShaderCreateInfo, ShaderObject, ShaderSource};
use super::shared_layouts::SharedLayouts;
use crate::ffi::handle;
use crate::shader_compiler::compiler::Compiler;
use crate::shader_compiler::tiered::Policy;
use ash::vk;
use base::shader::Stage;
use jit::spirv::Specialization;
use rasterizer::Engine;
use rasterizer::api::LinkError;
use std::sync::{Arc, Weak};

const VERTEX: &[u8] = include_bytes!("../../tests/data/triangle.vert.spv");
/// A vertex stage that reads a storage buffer in set 0.
const READING: &[u8] = include_bytes!("../../tests/data/endless.vert.spv");
const FRAGMENT: &[u8] = include_bytes!("../../tests/data/number.frag.spv");
const TEXTURE: &[u8] = include_bytes!("../../tests/data/texture.frag.spv");
const COMPUTE: &[u8] = include_bytes!("../../tests/data/count.comp.spv");

/// A device's compiler, linker and layouts.
struct Setup {
    compiler: Arc<Compiler>,
    linker: Linker,
    layouts: SharedLayouts,
}

impl Setup {
    fn new() -> Setup {
        let compiler = Compiler::new(Arc::default(), Arc::new(Engine::new(1)), Policy::Auto);
        Setup { compiler, linker: Linker::default(), layouts: SharedLayouts::default() }
    }

    /// Makes an object; different numbers make different stages.
    fn object(&self, stage: Stage, bytes: &[u8], number: u32, sets: &[Option<Arc<SetLayout>>]) -> Arc<ShaderObject> {
        let words = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let entries = vec![(1000 + number, vec![0; 4])];
        let specialization = Specialization { entries, ..Specialization::default() };
        let stage = StageCreateInfo {
            stage,
            words,
            module: 0,
            entry: "main".into(),
            specialization,
            heap: None,
            origin: StageOrigin::default(),
        };
        let layout = PipelineLayout::new(sets.to_vec()).expect("small");
        let builder = ShaderBuilder { compiler: &self.compiler, linker: &self.linker, layouts: &self.layouts };
        let info = ShaderCreateInfo { source: ShaderSource::Spirv(stage), layout, is_linked: false };
        builder.create(info).map_err(|failure| failure.message).expect("an object")
    }

    fn vertex(&self, sets: &[Option<Arc<SetLayout>>]) -> Arc<ShaderObject> {
        self.object(Stage::Vertex, VERTEX, 0, sets)
    }

    fn fragment(&self, number: u32) -> Arc<ShaderObject> {
        self.object(Stage::Fragment, FRAGMENT, number, &[])
    }

    fn program(&self, objects: &[&Arc<ShaderObject>]) -> Result<Arc<BoundProgram>, ProgramError> {
        let mut bound = BoundShaders::default();
        objects.iter().for_each(|object| _ = bound.bind(object.stage(), Some(object)));
        bound.program(&self.linker, &self.layouts).expect("objects")
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        self.compiler.stop();
    }
}

/// Returns a set layout with one binding of this type.
fn set(ty: vk::DescriptorType) -> Option<Arc<SetLayout>> {
    let binding = BindingInfo {
        binding: 0,
        ty,
        count: 1,
        immutable_samplers: Vec::new(),
        flags: vk::DescriptorBindingFlags::empty(),
        mutable: Vec::new(),
    };
    Some(Arc::new(SetLayout::new(vec![binding]).expect("supported")))
}

#[test]
fn the_same_objects_are_one_program() {
    let setup = Setup::new();
    let (vertex, fragments) = (setup.vertex(&[]), [0, 1].map(|number| setup.fragment(number)));
    let programs = [0, 1].map(|i| setup.program(&[&vertex, &fragments[i]]).expect("a program"));
    assert!(!Arc::ptr_eq(&programs[0], &programs[1]));
    for (program, fragment) in programs.iter().zip(&fragments) {
        assert!(Arc::ptr_eq(program, &setup.program(&[&vertex, fragment]).expect("a program")));
        assert_eq!(program.number(), handle::raw(&vertex), "the first stage names the program");
        assert!(program.state().is_none());
    }
    // Draws with either program use the same context, and the same links as other objects.
    assert!(Arc::ptr_eq(programs[0].layout(), programs[1].layout()));
    let equal = setup.program(&[&setup.vertex(&[]), &fragments[0]]).expect("a program");
    assert!(Arc::ptr_eq(equal.stages(), programs[0].stages()) && !Arc::ptr_eq(&equal, &programs[0]));
    let compute = setup.object(Stage::Compute, COMPUTE, 0, &[set(vk::DescriptorType::STORAGE_BUFFER)]);
    let dispatched = setup.program(&[&compute]).expect("a program");
    assert!(Arc::ptr_eq(&dispatched, &setup.program(&[&compute]).expect("a program")));
    assert!(setup.program(&[&vertex]).is_ok(), "without fragments");
    assert_eq!(setup.program(&[&fragments[0]]).err(), Some(ProgramError::Link(LinkError::NoVertices)));
}

#[test]
fn binding_reports_changes() {
    let setup = Setup::new();
    let (vertex, fragment) = (setup.vertex(&[]), setup.fragment(0));
    let mut bound = BoundShaders::default();
    assert!(bound.is_empty() && bound.program(&setup.linker, &setup.layouts).is_none());
    assert!(bound.bind(Stage::Vertex, Some(&vertex)) && !bound.bind(Stage::Vertex, Some(&vertex)));
    assert!(!bound.bind(Stage::Fragment, None) && !bound.is_empty());
    assert!(!bound.bind(Stage::Geometry, Some(&fragment)), "an object of another stage");
    assert!(bound.bind(Stage::Vertex, None) && bound.is_empty());
    bound.bind(Stage::Fragment, Some(&fragment));
    bound.clear();
    assert!(bound.is_empty());
}

/// Checks that a program has the layout of each set by which a stage reads it, whatever the other
/// objects were created with.
#[test]
fn layouts_are_joined_by_use() {
    let setup = Setup::new();
    let (image, buffer) = (set(vk::DescriptorType::COMBINED_IMAGE_SAMPLER), set(vk::DescriptorType::UNIFORM_BUFFER));
    // The fragment stage reads set 0, and the vertex stage none.
    let textured = setup.object(Stage::Fragment, TEXTURE, 0, std::slice::from_ref(&image));
    for (vertex_sets, joined) in [
        (vec![], vec![image.clone()]),
        (vec![buffer.clone(), None, buffer.clone()], vec![image.clone(), None, buffer.clone()]),
        (vec![None, buffer.clone()], vec![image.clone(), buffer.clone()]),
    ] {
        let program = setup.program(&[&setup.vertex(&vertex_sets), &textured]).expect("a program");
        let address = |set: &Option<Arc<SetLayout>>| set.as_ref().map(Arc::as_ptr);
        let addresses = |sets: &[Option<Arc<SetLayout>>]| sets.iter().map(address).collect::<Vec<_>>();
        assert_eq!(addresses(&program.layout().sets), addresses(&joined));
    }
    // Stages that read the same set must agree about it.
    let reading = setup.object(Stage::Vertex, READING, 0, &[set(vk::DescriptorType::STORAGE_BUFFER)]);
    let error = setup.program(&[&reading, &textured]).err();
    assert_eq!(error, Some(ProgramError::Set(0, Stage::Vertex, Stage::Fragment)));
}

/// Checks that programs live as long as their first object, and do not keep the objects.
#[test]
fn programs_end_with_their_objects() {
    let setup = Setup::new();
    let (vertex, fragment) = (setup.vertex(&[]), setup.fragment(0));
    let program = Arc::downgrade(&setup.program(&[&vertex, &fragment]).expect("a program"));
    assert!(program.upgrade().is_some());
    let objects: [Weak<ShaderObject>; 2] = [&vertex, &fragment].map(Arc::downgrade);
    drop(fragment);
    assert!(objects[1].upgrade().is_none(), "the program keeps an object");
    drop(vertex);
    assert!(objects[0].upgrade().is_none() && program.upgrade().is_none(), "a cycle");

    // Programs of destroyed objects are forgotten.
    let vertex = setup.vertex(&[]);
    let live = setup.fragment(0);
    let kept = setup.program(&[&vertex, &live]).expect("a program");
    for number in 1..3 * SWEEP as u32 {
        setup.program(&[&vertex, &setup.fragment(number)]).expect("a program");
    }
    assert!(vertex.programs.len() <= SWEEP + 1, "{} programs", vertex.programs.len());
    assert!(Arc::ptr_eq(&kept, &setup.program(&[&vertex, &live]).expect("a program")));
}
