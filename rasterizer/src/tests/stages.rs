//! Tests of the combinations of stages that form a pipeline.

use super::*;
use crate::api::{LinkError, link_compute};

#[test]
fn a_pipeline_is_a_list_of_stages_in_order() {
    let fragment = || fragment_stage(fs_color, &[], FragmentInfo::default());
    let compute = stage(StageSpecificInfo::Compute(WorkgroupInfo::default()), fs_color, 4, StageInterface::default());
    let of = |kind| stage(StageSpecificInfo::new(kind), fs_color, 4, StageInterface::default());
    let both = GraphicsStages::new([fragment(), vertex_stage()]).expect("a pipeline");
    let names = |s: &GraphicsStages| s.iter().map(|s| s.info.stage()).collect::<Vec<_>>();
    assert_eq!(names(&both), [Stage::Vertex, Stage::Fragment]);
    assert_eq!(both.fragment().map(|s| s.info.stage()), Some(Stage::Fragment));
    assert_eq!(both.first().info.stage(), Stage::Vertex);
    assert_eq!(both.before_rasterizer().info.stage(), Stage::Vertex);
    assert!(GraphicsStages::new([vertex_stage()]).is_ok_and(|s| s.fragment().is_none()));
    let meshes = GraphicsStages::new([of(Stage::Mesh), fragment(), of(Stage::Task)]).expect("a pipeline");
    assert_eq!(names(&meshes), [Stage::Task, Stage::Mesh, Stage::Fragment]);
    assert_eq!(meshes.before_rasterizer().info.stage(), Stage::Mesh);
    assert!(meshes.task().is_some() && meshes.mesh().is_some() && both.mesh().is_none());
    let errors = [
        (vec![], LinkError::NoVertices),
        (vec![fragment()], LinkError::NoVertices),
        (vec![vertex_stage(), fragment(), fragment()], LinkError::Duplicate(Stage::Fragment)),
        (vec![vertex_stage(), compute], LinkError::NotGraphics(Stage::Compute)),
        (vec![of(Stage::Task), fragment()], LinkError::NoVertices),
        (vec![vertex_stage(), of(Stage::Mesh), fragment()], LinkError::Incompatible(Stage::Vertex)),
        (vec![of(Stage::Geometry), of(Stage::Mesh)], LinkError::Incompatible(Stage::Geometry)),
        (vec![vertex_stage(), of(Stage::Task)], LinkError::Incompatible(Stage::Task)),
    ];
    for (list, error) in errors {
        assert_eq!(GraphicsStages::new(list).err(), Some(error));
    }
    let control = of(Stage::TessellationControl);
    let half = GraphicsStages::new([vertex_stage(), control.clone()]);
    assert_eq!(half.err(), Some(LinkError::IncompleteTessellation));
    let both = GraphicsStages::new([vertex_stage(), of(Stage::TessellationEvaluation), control]);
    assert_eq!(both.err(), Some(LinkError::NoDomain));
}

#[test]
fn a_dispatch_has_one_compute_stage() {
    let compute =
        || stage(StageSpecificInfo::Compute(WorkgroupInfo::default()), fs_color, 4, StageInterface::default());
    assert_eq!(link_compute([compute()]).map(|stage| stage.info.stage()), Ok(Stage::Compute));
    for list in [vec![], vec![compute(), compute()], vec![vertex_stage()]] {
        assert_eq!(link_compute(list).map(|_| ()), Err(LinkError::NotCompute));
    }
}

/// Checks that the links depend on the list of stages and on nothing else, neither their order nor
/// other links of the same stages, and that another stage changes them.
#[test]
fn the_same_stages_have_the_same_links() {
    let fragment = |inputs: &[u8]| {
        let inputs = inputs.iter().map(|&component| slot(user(0, component), Interpolation::Smooth)).collect();
        let outputs = (0..4).map(|i| slot(user(0, i), Interpolation::Smooth)).collect();
        let interface = StageInterface { inputs, outputs, placements: Vec::new() };
        stage(StageSpecificInfo::Fragment(FragmentInfo::default()), fs_color, 8, interface)
    };
    let links = |list: [CompiledStage; 2]| {
        let stages = GraphicsStages::new(list).expect("a pipeline");
        format!("{:?}", stages.linkage())
    };
    let (vertex, all) = (vertex_stage(), fragment(&[0, 1, 2, 3]));
    let linked = links([vertex.clone(), all.clone()]);
    assert_eq!(links([all.clone(), vertex.clone()]), linked);
    assert_eq!(links([vertex.clone(), all]), linked);
    assert_ne!(links([vertex, fragment(&[1, 2])]), linked);
}
