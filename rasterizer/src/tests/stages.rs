//! Tests of the combinations of stages that form a pipeline.

use super::*;

#[test]
fn a_pipeline_is_a_list_of_stages_in_order() {
    let fragment = || fragment_stage(fs_color, &[], FragmentFacts::default());
    let compute = stage(Payload::Compute(WorkgroupFacts::default()), fs_color, 4, StageInterface::default());
    let of = |kind| stage(Payload::new(kind), fs_color, 4, StageInterface::default());
    let both = GraphicsStages::new([fragment(), vertex_stage()]).expect("a pipeline");
    let names = |s: &GraphicsStages| s.iter().map(|s| s.facts.stage()).collect::<Vec<_>>();
    assert_eq!(names(&both), [Stage::Vertex, Stage::Fragment]);
    assert_eq!(both.fragment().map(|s| s.facts.stage()), Some(Stage::Fragment));
    assert_eq!(both.first().facts.stage(), Stage::Vertex);
    assert_eq!(both.before_rasterizer().facts.stage(), Stage::Vertex);
    assert!(GraphicsStages::new([vertex_stage()]).is_ok_and(|s| s.fragment().is_none()));
    let meshes = GraphicsStages::new([of(Stage::Mesh), fragment(), of(Stage::Task)]).expect("a pipeline");
    assert_eq!(names(&meshes), [Stage::Task, Stage::Mesh, Stage::Fragment]);
    assert_eq!(meshes.before_rasterizer().facts.stage(), Stage::Mesh);
    assert!(meshes.task().is_some() && meshes.mesh().is_some() && both.mesh().is_none());
    let misfits = [
        (vec![], Misfit::NoVertices),
        (vec![fragment()], Misfit::NoVertices),
        (vec![vertex_stage(), fragment(), fragment()], Misfit::Twice(Stage::Fragment)),
        (vec![vertex_stage(), compute], Misfit::NotGraphics(Stage::Compute)),
        (vec![of(Stage::Task), fragment()], Misfit::NoVertices),
        (vec![vertex_stage(), of(Stage::Mesh), fragment()], Misfit::Displaced(Stage::Vertex)),
        (vec![of(Stage::Geometry), of(Stage::Mesh)], Misfit::Displaced(Stage::Geometry)),
        (vec![vertex_stage(), of(Stage::Task)], Misfit::Displaced(Stage::Task)),
    ];
    for (list, misfit) in misfits {
        assert_eq!(GraphicsStages::new(list).err(), Some(misfit));
    }
}
