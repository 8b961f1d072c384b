//! Tests of the compiler's jobs: sharing, waiting, cancelling, tiers, and the contents of caches.

use super::compile::StageRequest;
use super::compiler::{CodeOrigin, CompileError, Compiler};
use super::pipeline_cache::PipelineCache;
use super::tiered::TieredCode;
use super::tiered::{Policy, StageOwner};
use base::abi::{BatchHeader, ShaderContext, VertexBatch};
use base::epilogue::Epilogue;
use base::limits::{MAX_DESCRIPTOR_SETS, MAX_PUSH_CONSTANTS};
use base::shader::{Stage, StageCode};
use jit::spirv::Specialization;
use jit::tier::{ROWS, Tier};
use rasterizer::Engine;
use std::sync::atomic::AtomicU32;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

fn words(bytes: &[u8]) -> Arc<[u32]> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

fn request() -> StageRequest {
    StageRequest {
        words: words(include_bytes!("../../tests/data/triangle.vert.spv")),
        stage: Stage::Vertex,
        entry: "main".into(),
        specialization: Specialization::default(),
        layout: Arc::default(),
        is_validated: false,
    }
}

struct Setup {
    compiler: Arc<Compiler>,
    engine: Arc<Engine>,
}

impl Setup {
    fn new(policy: Policy) -> Setup {
        let engine = Arc::new(Engine::new(1));
        Setup { compiler: Compiler::new(Arc::default(), engine.clone(), policy), engine }
    }

    /// Occupies the pool's only thread until the sender is dropped.
    fn block(&self) -> Sender<()> {
        let (send, receive) = channel::<()>();
        self.engine.pool().work_sharing().pool().expect("a thread").spawn(move || _ = receive.recv());
        send
    }

    fn stage(&self) -> (Arc<TieredCode>, CodeOrigin) {
        self.compiler.stage(request(), None, false).expect("stage")
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        self.compiler.stop();
    }
}

fn wait_for(what: &str, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what} does not happen");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_pool_makes_code() {
    let setup = Setup::new(Policy::Auto);
    let (code, origin) = setup.stage();
    assert_eq!(origin, CodeOrigin::Compiled);
    wait_for("code", || code.tier() == Some(Tier::Quick));
}

#[test]
fn the_first_user_of_waiting_code_makes_it() {
    let setup = Setup::new(Policy::Auto);
    let _busy = setup.block();
    let (code, _) = setup.stage();
    assert_eq!(code.tier(), None, "nobody could make it yet");
    code.ready().expect("code");
    assert_eq!(code.tier(), Some(Tier::Quick));
}

#[test]
fn dropping_a_stage_cancels_its_job() {
    let setup = Setup::new(Policy::Auto);
    let busy = setup.block();
    let (code, _) = setup.stage();
    let weak: Weak<TieredCode> = Arc::downgrade(&code);
    drop(code);
    assert_eq!(weak.strong_count(), 0, "the job keeps its stage");
    drop(busy);
    // The stage is compiled anew, because the dropped one is not found.
    assert_eq!(setup.stage().1, CodeOrigin::Compiled);
}

#[test]
fn the_creator_makes_code_if_too_many_jobs_wait() {
    let setup = Setup::new(Policy::Auto);
    let _busy = setup.block();
    let stages: Vec<_> = (0..40)
        .map(|i| {
            let specialization = Specialization { entries: vec![(1000 + i, vec![0; 4])], ..Specialization::default() };
            let request = StageRequest { specialization, ..request() };
            setup.compiler.stage(request, None, false).expect("stage").0
        })
        .collect();
    let made = stages.iter().filter(|code| code.tier().is_some()).count();
    assert!((1..40).contains(&made), "{made} of 40 made by the creator");
}

#[test]
fn equal_stages_are_shared_even_during_a_compile() {
    let setup = Setup::new(Policy::Auto);
    let _busy = setup.block();
    let (first, _) = setup.stage();
    let (second, origin) = setup.stage();
    assert_eq!(origin, CodeOrigin::Shared);
    assert!(Arc::ptr_eq(&first, &second));
    let other = StageRequest { entry: "other".into(), ..request() };
    assert!(matches!(setup.compiler.stage(other, None, false), Err(CompileError::Shader(_))), "another entry point");
}

#[test]
fn only_cached_stages_are_returned_if_compiling_is_forbidden() {
    let setup = Setup::new(Policy::Auto);
    let cache = PipelineCache::default();
    let strict = |cache| setup.compiler.stage(request(), cache, true);
    assert!(matches!(strict(Some(&cache)), Err(CompileError::CompileRequired)));
    setup.compiler.stage(request(), Some(&cache), false).expect("stage");
    assert_eq!(strict(Some(&cache)).expect("cached").1, CodeOrigin::Cache);
}

/// Runs the stage on a batch of no vertices.
fn run_nothing(code: &TieredCode) {
    static NEVER: AtomicU32 = AtomicU32::new(0);
    let helpers = super::helpers::helpers();
    let context = ShaderContext {
        sets: [std::ptr::null(); MAX_DESCRIPTOR_SETS],
        dynamic_buffers: base::abi::DynamicBuffers::NONE,
        push_constants: [0; MAX_PUSH_CONSTANTS],
        num_workgroups: [0; 3],
        base_vertex: 0,
        base_instance: 0,
        draw_index: 0,
        view_index: 0,
        device_index: 0,
        abort: &NEVER,
        helpers: &helpers,
        addresses: base::abi::AddressSpace::EMPTY,
        heaps: base::abi::Heaps::NONE,
        structures: std::ptr::null(),
    };
    let mut batch = VertexBatch {
        header: BatchHeader { scratch: std::ptr::null_mut(), sink: std::ptr::null_mut() },
        count: 0,
        _pad: 0,
        vertex_index: std::ptr::null(),
        instance_index: std::ptr::null(),
        inputs: std::ptr::null(),
        outputs: std::ptr::null_mut(),
    };
    // SAFETY: the chunk loop of a batch without vertices accesses nothing but the batch's header.
    unsafe { code.run(&context, (&raw mut batch).cast()) };
}

#[test]
fn code_that_runs_long_tiers_up() {
    let setup = Setup::new(Policy::Auto);
    let (code, _) = setup.stage();
    run_nothing(&code);
    code.ready().expect("code");
    wait_for("the best tier", || {
        (0..1000).for_each(|_| run_nothing(&code));
        code.tier() == Tier::FIRST.better_tiers().next()
    });
    run_nothing(&code);
}

fn fragment_request() -> StageRequest {
    let words = words(include_bytes!("../../tests/data/triangle.frag.spv"));
    StageRequest { words, stage: Stage::Fragment, ..request() }
}

/// Returns an epilogue that stores colours of the stage's first outputs, different for each number.
fn epilogue(number: u16) -> Epilogue {
    Epilogue {
        swap: number & 1 != 0,
        blend: None,
        slots: [Some(0), (number & 2 != 0).then_some(1), None, (number & 4 != 0).then_some(3)],
    }
}

#[test]
fn a_hot_fragment_stage_gets_the_requested_epilogues() {
    let setup = Setup::new(Policy::Auto);
    let (code, _) = setup.compiler.stage(fragment_request(), None, false).expect("stage");
    code.ready().expect("code");
    assert!(code.with_epilogue(&epilogue(0)).is_none(), "it has not run");
    setup.compiler.clone().tier_up(Arc::downgrade(&code));
    wait_for("the best tier", || code.tier() == Tier::FIRST.better_tiers().next());
    for number in 0..4 {
        wait_for("the epilogue", || code.with_epilogue(&epilogue(number)).is_some());
    }
    assert!(code.with_epilogue(&epilogue(0)).is_some());
    std::thread::sleep(Duration::from_millis(20));
    assert!(code.with_epilogue(&epilogue(5)).is_none(), "too many");
}

#[test]
fn a_single_tier_makes_epilogues_at_once() {
    for tier in ROWS.iter().map(|row| row.tier) {
        let setup = Setup::new(Policy::Only(tier));
        let (code, _) = setup.compiler.stage(fragment_request(), None, false).expect("stage");
        code.ready().expect("code");
        assert!(code.with_epilogue(&epilogue(1)).is_some());
        // A stage without colours has no epilogues.
        let (vertices, _) = setup.stage();
        vertices.ready().expect("code");
        assert!(vertices.with_epilogue(&epilogue(1)).is_none());
    }
}

#[test]
fn a_single_tier_policy_never_tiers_up() {
    for tier in ROWS.iter().map(|row| row.tier) {
        let setup = Setup::new(Policy::Only(tier));
        let (code, _) = setup.stage();
        code.ready().expect("code");
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(50) {
            run_nothing(&code);
        }
        assert_eq!(code.tier(), Some(tier));
    }
}

#[test]
fn a_cache_stores_finished_code_and_loads_it_without_a_job() {
    for policy in [Policy::Auto, Policy::Only(Tier::Full)] {
        let setup = Setup::new(policy);
        let busy = setup.block();
        let cache = PipelineCache::default();
        let (code, _) = setup.compiler.stage(request(), Some(&cache), false).expect("stage");
        assert_eq!(code.tier(), None);
        let (data, complete) = cache.data(None);
        assert!(complete && code.tier().is_some(), "the cache waits for the code");
        let tier = code.tier();
        drop((busy, code, cache));

        let setup = Setup::new(policy);
        let _busy = setup.block();
        let cache = PipelineCache::new(&data);
        let (code, origin) = setup.compiler.stage(request(), Some(&cache), true).expect("stage");
        assert_eq!((origin, code.tier()), (CodeOrigin::Cache, tier));
        assert_eq!(cache.data(None).0, data);
        // Quick code from a cache can be improved like any other.
        if policy == Policy::Auto {
            setup.compiler.clone().tier_up(Arc::downgrade(&code));
            wait_for("the best tier", || code.tier() == Tier::FIRST.better_tiers().next());
            assert_ne!(cache.data(None).0, data);
        }
    }
}

#[test]
fn tier_up_between_size_and_data_queries_is_harmless() {
    let setup = Setup::new(Policy::Auto);
    let cache = PipelineCache::default();
    let (code, _) = setup.compiler.stage(request(), Some(&cache), false).expect("stage");
    let (announced, _) = cache.data(None);
    assert_eq!(code.tier(), Some(Tier::Quick));
    setup.compiler.clone().tier_up(Arc::downgrade(&code));
    wait_for("the best tier", || code.tier() == Tier::FIRST.better_tiers().next());
    // The application's buffer has the announced size; it gets everything, and that is usable.
    let (data, complete) = cache.data(Some(announced.len()));
    assert!(complete && data.len() == announced.len());
    let again = PipelineCache::new(&data);
    assert_eq!(setup.compiler.stage(request(), Some(&again), true).expect("cached").1, CodeOrigin::Cache);
}
