//! Tests of code with more lanes per chunk than a subgroup has: which compute stages have such
//! code, and that its results are the same.

mod emit_common;
mod spirv_common;

use base::shader::{CompiledStage, PipelineLayoutInfo, Stage};
use emit_common::run_compiled;
use jit::cancel::CancelToken;
use jit::code::CodeBlob;
use jit::emit::lane_count::{MORE_LANES, exposes_no_subgroups, work};
use jit::lir::{Access, AccessReason, Builder, Elem, IntCond, Type};
use jit::spirv::{Accept, Module, Specialization};
use jit::tier::Tier;
use jit::wide::has_large_vectors;
use jit::{CompileRequest, PreparedIr, with_prepared_ir};
use jit_test_support::interp::Memory;
use spirv_common::{layout, words};
use std::sync::Arc;

/// Modules whose workgroups are multiples of the lanes. Modules are excluded that depend on
/// subgroups, use more than one atomic, or load lane by lane.
const MORE: [&str; 9] = [
    "append.comp",
    "switches.comp",
    "joins.comp",
    "glsl.comp",
    "integers.comp",
    "halves.comp",
    "floats.comp",
    "control.comp",
    "dot.comp",
];

fn with<T>(name: &str, f: impl FnOnce(&CompileRequest<'_>) -> T) -> T {
    with_layout(name, &layout(), f)
}

fn with_layout<T>(name: &str, layout: &PipelineLayoutInfo, f: impl FnOnce(&CompileRequest<'_>) -> T) -> T {
    let module = Module::parse(&words(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    f(&CompileRequest {
        module: &module,
        stage: Stage::Compute,
        entry: "main",
        specialization: &Specialization::default(),
        layout,
        accept: &Accept::all_implemented(),
    })
}

#[test]
fn subgroup_dependent_stages_keep_their_lane_count() {
    let names = std::fs::read_dir(format!("{}/tests/data", env!("CARGO_MANIFEST_DIR"))).expect("data");
    for name in names.map(|e| e.expect("a file").file_name().to_string_lossy().into_owned()) {
        let Some(name) = name.strip_suffix(".spv").filter(|n| n.ends_with(".comp")) else { continue };
        // Some modules need another layout.
        let Ok(described) = with(name, |r| with_prepared_ir(r, PreparedIr::describe)) else { continue };
        assert_eq!(described.more_lanes.is_some(), MORE.contains(&name) && has_large_vectors(), "{name}");
        assert_eq!(described.info.lanes, 8, "{name}");
    }
}

fn tier_up(request: &CompileRequest<'_>, scratch_limit: u32) -> jit::error::Result<Option<CodeBlob>> {
    with_prepared_ir(request, |ir| ir.tier_up(Tier::FIRST, scratch_limit, &CancelToken::NEVER))
}

fn run(blob: &CodeBlob, memory: &Memory) -> Vec<Vec<u8>> {
    let code = Arc::new(blob.load().expect("executable memory"));
    run_compiled(&CompiledStage { info: blob.info.clone(), code }, memory, [3, 1, 1])
}

#[test]
fn all_tiers_have_equal_info_scratch_and_results() {
    let mut rng = base::random::Rng(0x0bad_cafe_0000_0007);
    let mut ran = 0;
    for name in MORE {
        // Only modules that use nothing but buffers can run here.
        let layout = emit_common::buffers_layout(4);
        let compile = |tier| with_layout(name, &layout, |r| jit::compile(r, tier));
        if compile(Tier::Quick).is_err() {
            continue;
        }
        ran += 1;
        let codes: Vec<CodeBlob> = Tier::ALL.iter().map(|&tier| compile(tier).expect("code")).collect();
        let floats = |rng: &mut base::random::Rng| ((rng.next() % 4096) as f32 / 64.0 - 20.0).to_le_bytes();
        let mut buffer = || (0..4096).flat_map(|_| floats(&mut rng)).collect::<Vec<u8>>();
        let memory = Memory { buffers: (0..4).map(|i| ((0, i), buffer())).collect(), ..Memory::default() };
        let expected = run(&codes[0], &memory);
        for blob in &codes {
            assert!(blob.info == codes[0].info && blob.scratch == codes[0].scratch, "{name} {:?}", blob.tier);
            assert!(run(blob, &memory) == expected, "{name} {:?}", blob.tier);
        }
        // Code that is made later must fit into the scratch memory of the first code.
        let better = with_layout(name, &layout, |r| tier_up(r, codes[0].scratch));
        let better = better.expect("code").expect("a better tier");
        assert!(better.info == codes[0].info && better.scratch == codes[0].scratch, "{name}");
        assert!(run(&better, &memory) == expected, "{name}");
    }
    assert!(ran >= 3, "{ran} were run");
}

/// A cache of another machine may contain code with less scratch memory, and better code must still
/// be made for it.
#[test]
fn tier_up_fits_smaller_scratch() {
    let few =
        with("control.comp", |r| with_prepared_ir(r, PreparedIr::describe)).expect("stage").emission.scratch_bytes;
    let blob = with("control.comp", |r| tier_up(r, few));
    assert_eq!(blob.expect("code").expect("a better tier").scratch, few);
    if few != 0 {
        with("control.comp", |r| tier_up(r, few - 1)).expect_err("too little");
    }
}

#[test]
fn capabilities_decide_subgroup_visibility() {
    // These are Shader, Int64 and StorageBuffer8BitAccess.
    assert!(exposes_no_subgroups(&[1, 11, 4448]));
    // These are GroupNonUniform, SubgroupBallotKHR, CooperativeMatrixKHR,
    // ComputeDerivativeGroupQuads, and a capability that does not exist yet.
    assert!([61, 4423, 6022, 5288, 9999].iter().all(|&c| !exposes_no_subgroups(&[1, c])));
}

#[test]
fn loops_and_scalarized_operations_weigh_more() {
    let of = |around: bool, lanes: usize, gathers: bool| {
        let mut b = Builder::new(&[Type::I64, Type::I64]);
        let (address, n) = (b.params(b.current())[0], b.params(b.current())[1]);
        let [header, exit] = [0, 1].map(|_| b.create_block());
        let left = b.append_param(header, Type::I64);
        b.jump(header, &[n]);
        b.enter_loop(header);
        let next = b.iadd_imm(left, -1);
        let more = b.icmp_imm(IntCond::Ne, next, 0);
        b.branch(more, header, &[next], exit, &[]);
        b.seal_block(header);
        b.seal_block(exit);
        let ty = Elem::I32.by(lanes);
        let work_here = |b: &mut Builder| {
            let offsets = b.load(ty, Access::new(AccessReason::Caller), address);
            let v = if gathers {
                let mask = b.icmp_imm(IntCond::Ne, offsets, 0);
                b.gather(ty, Access::new(AccessReason::Caller), 1, mask, address, offsets)[0]
            } else {
                b.iadd(offsets, offsets)
            };
            b.store(Access::new(AccessReason::Caller), v, address);
        };
        b.switch_to_block(exit);
        if around {
            // A second loop contains the work.
            let again = b.create_block();
            let done = b.create_block();
            b.jump(again, &[]);
            b.enter_loop(again);
            work_here(&mut b);
            let more = b.icmp_imm(IntCond::Ne, n, 0);
            b.branch(more, again, &[], done, &[]);
            b.seal_block(again);
            b.seal_block(done);
            b.switch_to_block(done);
        } else {
            work_here(&mut b);
        }
        b.return_();
        work(&b.finish())
    };
    let lanes = MORE_LANES as usize;
    assert!(of(true, 8, false) > 4 * of(false, 8, false) / 2);
    assert_eq!(of(false, 8, false), of(false, lanes, false));
    assert!(of(true, lanes, true) > 3 * of(true, 8, true) / 2);
}
