//! Tests that compilation takes time and memory in proportion to the module. The output and the
//! allocations of each step are compared for a module and for one twice as large, so the result
//! does not depend on the machine's speed. Modules that require too much must be refused early.

#[path = "spirv_common/bomb.rs"]
#[allow(dead_code, reason = "shared with the driver's tests")]
mod bomb;
mod spirv_common;

use bomb::{KINDS, Kind, module};
use jit::cancel::CancelToken;
use jit::emit::{Emission, EmitOptions, build};
use jit::error::{ErrorKind, Result};
use jit::passes::{PassOptions, divergence, run};
use jit::spirv::{Accept, Module, Specialization, translate};
use jit::tier::{self, Tier};
use spirv_common::layout;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
}

/// Allocator that counts the bytes that a thread allocates.
struct Counting;

// SAFETY: every method forwards to the system allocator, and the counter is a number without
// destructor, so that it allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATED.try_with(|n| n.set(n.get() + layout.size() as u64));
        // SAFETY: the caller fulfils the contract of `GlobalAlloc::alloc`, which is that of the
        // callee.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller fulfils the contract of `GlobalAlloc::dealloc`, and `alloc` returned
        // memory of `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Cost of a step.
#[derive(Clone, Copy, Debug)]
struct Step {
    name: &'static str,
    allocated: u64,
    /// Size of the step's output.
    made: u64,
}

/// Compiles a module up to quick code, on a stack that is large enough for any nesting.
fn measure(kind: Kind, n: u32) -> Result<(Vec<Step>, Emission)> {
    base::stack::with(256 << 20, || measured(kind, n)).expect("a stack")
}

fn measured(kind: Kind, n: u32) -> Result<(Vec<Step>, Emission)> {
    let words = module(kind, n);
    let mut steps = Vec::new();
    let mut last = ALLOCATED.get();
    let mut step = |name, made: usize| {
        let now = ALLOCATED.get();
        steps.push(Step { name, allocated: now - std::mem::replace(&mut last, now), made: made as u64 });
    };
    let parsed = Module::parse(&words)?;
    step("parse", words.len());
    let spec = Specialization::default();
    let accept = Accept::all_implemented();
    let mut shader = translate(&parsed, base::shader::Stage::Compute, "main", &spec, &layout(), &accept)?;
    step("translate", shader.insts.len() + shader.vars.len());
    run(&mut shader, &PassOptions { verify: false })?;
    step("passes", shader.insts.len());
    let options = EmitOptions::default();
    let shapes = divergence(&shader, options.lanes);
    let emission = build(&shader, &shapes, &layout(), &options)?;
    step("build", emission.lir.insts.len());
    step("quick", tier::generate(&emission.lir, Tier::Quick)?.0.bytes.len());
    Ok((steps, emission))
}

/// Returns a size at which a quadratic step is noticeable.
fn size(kind: Kind) -> u32 {
    match kind {
        Kind::Straight | Kind::Shift => 1000,
        Kind::Sin => 40,
        Kind::IfMany => 8,
        Kind::Loops => 60,
        Kind::CopyObject | Kind::Insert | Kind::Extract => 1500,
        Kind::Nest => 90,
        Kind::Names => 20_000,
        Kind::Matrices => 60,
        Kind::Images => 40,
        Kind::Cooperative => 3,
        Kind::BarrierLoops => 12,
        Kind::ConstantArray => 4000,
        _ => 300,
    }
}

#[test]
fn compile_work_is_linear_in_module_size() {
    let mut worse = Vec::new();
    for kind in KINDS {
        let n = size(kind);
        let (once, _) = measure(kind, n).unwrap();
        let (twice, _) = measure(kind, 2 * n).unwrap();
        for (a, b) in once.iter().zip(&twice) {
            // Tables grow by doubling, so allocation increases in steps. A quadratic step allocates
            // four times as much.
            let allocated = b.allocated as f64 / a.allocated.max(1 << 16) as f64;
            let made = b.made as f64 / a.made.max(500) as f64;
            println!("{kind:?} {n} {}: {} bytes, ×{allocated:.2}; makes {}, ×{made:.2}", a.name, a.allocated, a.made);
            if allocated > 2.9 || made > 2.4 {
                worse.push(format!("{kind:?} {}: allocates ×{allocated:.2}, makes ×{made:.2}", a.name));
            }
        }
    }
    assert!(worse.is_empty(), "{worse:#?}");
}

#[test]
fn copies_of_large_composites_share_their_scalars() {
    for kind in [Kind::CopyObject, Kind::Insert, Kind::Extract] {
        let (steps, _) = measure(kind, 3000).unwrap();
        // Each composite has 16,384 scalars, of which 3,000 copies took 200 MB.
        let translated = steps.iter().find(|s| s.name == "translate").unwrap();
        assert!(translated.allocated < 32 << 20, "{kind:?}: {} bytes", translated.allocated);
    }
}

#[test]
fn compile_time_is_bounded_for_any_number_of_live_values() {
    for (kind, n) in [(Kind::IfMany, 20), (Kind::Wide, 4000), (Kind::Switch, 2000), (Kind::SwitchFall, 300)] {
        let (_, emission) = measure(kind, n).unwrap();
        for tier in [Tier::Full, Tier::Wide] {
            let began = Instant::now();
            let (code, by) = tier::generate(&emission.lir, tier).unwrap();
            let took = began.elapsed();
            println!("{kind:?} {n}: {} bytes by {by:?}, {took:?}", code.bytes.len());
            // Each takes a tenth of a second on an idle machine. Before, these modules took half a
            // minute and more.
            assert!(took < Duration::from_secs(8), "{kind:?}: {took:?}");
        }
    }
}

#[test]
fn cancelled_code_generation_makes_no_code() {
    let (_, emission) = measure(Kind::Sin, 10).unwrap();
    let token = CancelToken::new();
    for tier in available() {
        assert!(tier.code(&emission.lir, &token).unwrap().is_some(), "{tier:?}");
    }
    token.cancel();
    for tier in available() {
        assert!(tier.code(&emission.lir, &token).unwrap().is_none(), "{tier:?}");
    }
}

/// Returns the tiers that this machine supports.
fn available() -> impl Iterator<Item = Tier> {
    Tier::ALL.into_iter().filter(|tier| tier.row().backend().is_some())
}

#[test]
fn ordinary_shaders_get_all_tiers() {
    for name in ["control.comp", "glsl.comp", "layout.comp", "scene.frag"] {
        let words = spirv_common::words(name);
        let mut shader = spirv_common::compile(&words, spirv_common::stage(name), &Specialization::default()).unwrap();
        run(&mut shader, &PassOptions { verify: false }).unwrap();
        let options = EmitOptions::default();
        let emission = build(&shader, &divergence(&shader, options.lanes), &layout(), &options).unwrap();
        for tier in available() {
            assert!(tier.code(&emission.lir, &CancelToken::NEVER).unwrap().is_some(), "{name} {tier:?}");
        }
    }
    for tier in available() {
        let (_, emission) = measure(Kind::Sin, 100).unwrap();
        assert!(tier.code(&emission.lir, &CancelToken::NEVER).unwrap().is_some());
        let (_, emission) = measure(Kind::Wide, 4000).unwrap();
        assert_eq!(tier.code(&emission.lir, &CancelToken::NEVER).unwrap().is_none(), tier != Tier::FIRST, "{tier:?}");
    }
}

#[test]
fn excessive_modules_are_refused_early() {
    for (kind, n) in [
        (Kind::Calls, 10),
        (Kind::Sin, 60_000),
        (Kind::IfMany, 6000),
        (Kind::Doubled, 60),
        (Kind::Huge, 15),
        (Kind::Matrices, 40_000),
        (Kind::Images, 60_000),
        (Kind::BarrierLoops, 2000),
    ] {
        let before = ALLOCATED.get();
        let error = measure(kind, n).err().unwrap_or_else(|| panic!("{kind:?} is taken"));
        assert_eq!(error.kind, ErrorKind::Limit, "{kind:?}: {error}");
        let allocated = ALLOCATED.get() - before;
        assert!(allocated < 3 << 30, "{kind:?}: {allocated} bytes");
    }
}
