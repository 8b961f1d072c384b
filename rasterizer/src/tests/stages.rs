//! What makes a pipeline of stages.

use super::*;

#[test]
fn a_pipeline_is_a_list_of_stages_in_order() {
    let fragment = || fragment_stage(fs_color, &[], FragmentFacts::default());
    let compute = stage(Payload::Compute(WorkgroupFacts::default()), fs_color, 4, StageInterface::default());
    let both = GraphicsStages::new([fragment(), vertex_stage()]).expect("a pipeline");
    let names = |s: &GraphicsStages| s.iter().map(|s| s.facts.stage()).collect::<Vec<_>>();
    assert_eq!(names(&both), [Stage::Vertex, Stage::Fragment]);
    assert_eq!(both.fragment().map(|s| s.facts.stage()), Some(Stage::Fragment));
    assert_eq!(both.first().facts.stage(), Stage::Vertex);
    assert_eq!(both.before_rasterizer().facts.stage(), Stage::Vertex);
    assert!(GraphicsStages::new([vertex_stage()]).is_ok_and(|s| s.fragment().is_none()));
    let misfits = [
        (vec![], Misfit::NoVertices),
        (vec![fragment()], Misfit::NoVertices),
        (vec![vertex_stage(), fragment(), fragment()], Misfit::Twice(Stage::Fragment)),
        (vec![vertex_stage(), compute], Misfit::NotGraphics(Stage::Compute)),
    ];
    for (list, misfit) in misfits {
        assert_eq!(GraphicsStages::new(list).err(), Some(misfit));
    }
}
