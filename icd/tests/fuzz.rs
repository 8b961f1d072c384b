//! Mutants of modules as pipelines, run on small buffers and images by all tiers. Every module is
//! refused with a message or runs inside of its memory, and ends (or loses the device for its
//! time). All tiers leave the same bits, unless its invocations are in a race.
//!
//! Variables:
//! - `GRUS_FUZZ=n`: number of mutants (the default is a few hundred).
//! - `GRUS_FUZZ_SEED=s`: first seed; each mutant has a seed of its own.
//! - `GRUS_FUZZ_SHARE=p`: share of the mutants, in percent, that all tiers run (15).
//! - `GRUS_FUZZ_PROCESSES=n`: number of processes at once (as many as there are cores).
//! - `GRUS_FUZZ_TIER=t`: tier that runs all mutants (quick).
//! - `GRUS_FUZZ_EDGES=1`: only modules with pointers, at the ends of live memory, by all tiers.
//! - `GRUS_SPIRV_CORPUS=dir`: folder of further modules to mutate.
//! - `GRUS_FUZZ_KEEP=file`: file to which the current mutant is written.
//! - `GRUS_FUZZ_FILE=file`: module that is run unchanged, by each seed.
//!
//! Many mutants are run by processes (`fuzz/worker_processes.rs`), whose journal names the seed of
//! one that ends its process, hangs, or takes too much memory. The cost of a mutant is processor
//! time: some
//! 0.2 ms if it is refused, 2 ms if it runs, and the budget if it never ends, which is therefore
//! short. The short run also compares what mutants leave over memory with two patterns
//! (`GRUS_POISON`). With `GRUS_FUZZ_POISON=n` only this is done, for `n` mutants. Compiled code is
//! verified (`jit::lir::safety`, and regalloc2's checker). The long run of a release is
//! `GRUS_FUZZ=2000000 GRUS_FUZZ_SHARE=100 cargo test --release -p grus-icd --test fuzz --
//! --nocapture`; it prints its rate.

mod common;
#[path = "../../jit/tests/spirv_common/corpus.rs"]
mod corpus;
#[path = "fuzz/guarded_device.rs"]
mod guarded_device;
#[path = "../../jit/tests/spirv_common/mutate.rs"]
mod mutate;
#[path = "common/pipeline.rs"]
mod pipeline;
#[path = "../../jit/tests/spirv_common/reflect.rs"]
mod reflect;
#[path = "../../jit/tests/spirv_common/structured.rs"]
mod structured;
#[path = "fuzz/worker_processes.rs"]
mod worker_processes;

use base::random::XorshiftStar as Rng;
use base::shader::Stage;
use guarded_device::{GuardedDevice, Program, RunResult, constants};
use jit::emit::lane_count::MORE_LANES;
use jit::error::{Error, ErrorKind};
use jit::spirv::{Accept, Module, Specialization};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use worker_processes::{HANG_TIMEOUT, MAX_MEMORY_KIB};

/// Time limit of one draw or dispatch; programs that end need microseconds.
const BUDGET_MS: u64 = 5;
/// Largest number of mutants in one process; a run of more mutants uses separate processes.
const ALONE: u64 = 5000;
/// Share of the mutants, in percent, that all tiers run without `GRUS_FUZZ_SHARE`; code of the
/// better tiers takes long to make.
const ALL: u64 = 15;
/// Share of the mutants with physical pointers, in percent, whose pointers point to the ends of
/// live memory.
const EDGES: usize = 60;
/// Time after which a mutant counts as slow. A mutant takes well below a second, but machines may
/// be loaded.
const SLOW: Duration = Duration::from_secs(1);

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Returns the small modules of the corpus, because large ones take long and find little more.
fn small_modules() -> Vec<(String, Vec<u32>)> {
    let mut all = corpus::modules(&["jit/tests/data", "icd/tests/data", "cts-runner/src/bench/shaders"]);
    let wanted = |words: &[u32]| !only_edges() || has_pointers(words, &mutate::instructions(words));
    all.retain(|(_, words)| words.len() <= 6 << 10 && wanted(words));
    all
}

/// Values of `GRUS_TIER`.
const TIERS: [&str; 3] = ["quick", "full", "wide"];

/// One device per tier.
struct TierDevices {
    devices: [Option<GuardedDevice>; TIERS.len()],
    /// Index of the tier that runs every mutant.
    first: usize,
}

impl TierDevices {
    fn new() -> TierDevices {
        let name = std::env::var("GRUS_FUZZ_TIER").unwrap_or_else(|_| TIERS[0].into());
        let first = TIERS.iter().position(|&tier| tier == name).expect("a tier's name");
        TierDevices { devices: Default::default(), first }
    }

    fn guarded_device(&mut self, tier: usize) -> &mut GuardedDevice {
        self.devices[tier].get_or_insert_with(|| {
            // SAFETY: this test is the only one of its process, and no thread of a device reads the
            // environment.
            unsafe { std::env::set_var("GRUS_TIER", TIERS[tier]) };
            GuardedDevice::new()
        })
    }

    /// Runs a program by the first tier, or by all tiers, and returns the first tier's result.
    fn run(&mut self, program: &Program<'_>, all: bool, compare: bool) -> (RunResult, Vec<u8>) {
        let (first, a) = self.run_by(self.first, program);
        for (tier, name) in TIERS.iter().enumerate() {
            if tier == self.first || !all || first == RunResult::Lost {
                continue;
            }
            let (end, b) = self.run_by(tier, program);
            assert!(first == end || end == RunResult::Lost, "{first:?} by {}, {end:?} by {name}", TIERS[self.first]);
            if !compare || end == RunResult::Lost || a == b || self.is_race(program, [self.first, tier], [&a, &b]) {
                continue;
            }
            let differs = a.iter().zip(&b).position(|(a, b)| a != b);
            panic!("the {name} tier leaves other bits: byte {differs:?}");
        }
        (first, a)
    }

    /// Returns true if two tiers differ only because of their numbers of lanes. Then the quick tier
    /// gives the bits of the wide one if it has as many lanes. No operation of a stage whose chunks
    /// may have more lanes reports their number, so the invocations are in a race.
    fn is_race(&mut self, program: &Program<'_>, tiers: [usize; 2], hashes: [&[u8]; 2]) -> bool {
        let Some(wide) = tiers.iter().position(|&tier| TIERS[tier] == "wide") else { return false };
        program.stage == Stage::Compute
            && self.run_by(0, &Program { lanes: Some(MORE_LANES), ..*program })
                == (RunResult::Ran, hashes[wide].to_vec())
    }

    fn run_by(&mut self, tier: usize, program: &Program<'_>) -> (RunResult, Vec<u8>) {
        let result = self.guarded_device(tier).run(program);
        if result.0 == RunResult::Lost {
            self.devices[tier] = None;
        }
        result
    }
}

/// Returns false if bits may differ for other reasons: reads of workgroup memory before it is
/// written, clocks, addresses.
fn comparable(words: &[u32], list: &[(usize, usize)]) -> bool {
    list.iter().all(|&(at, len)| match words[at] & 0xffff {
        59 | 4418 => len < 4 || words[at + 3] != 4,
        17 => !matches!(words[at + 1], 5055 | 5347),
        // The operation is checked too, because a capability need not be declared.
        5056 => false,
        _ => true,
    })
}

/// Returns true if the module has physical pointers.
fn has_pointers(words: &[u32], list: &[(usize, usize)]) -> bool {
    list.iter().any(|&(at, len)| words[at] & 0xffff == 14 && len > 1 && words[at + 1] == 5348)
}

/// Returns true if only modules with physical pointers are mutated, which point to the ends of live
/// memory. All tiers run them.
fn only_edges() -> bool {
    static ONLY: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *ONLY.get_or_init(|| std::env::var_os("GRUS_FUZZ_EDGES").is_some())
}

/// Returns the error of the front end, or `None` if it accepts the module.
fn refusal(words: &[u32], stage: Stage, entry: &str, layout: &base::shader::PipelineLayoutInfo) -> Option<Error> {
    let module = match Module::parse(words) {
        Ok(module) => module,
        Err(e) => return Some(e),
    };
    let request = jit::CompileRequest {
        module: &module,
        stage,
        entry,
        specialization: &Specialization::default(),
        layout,
        accept: &Accept::all_implemented(),
    };
    jit::prepare(&request).err()
}

fn attempt(
    pair: &mut TierDevices,
    hashes: &mut worker_processes::ResultHashes,
    words: &[u32],
    rng: &mut Rng,
) -> String {
    let module = match Module::parse(words) {
        Ok(module) => module,
        Err(e) => {
            assert_ne!(e.kind, ErrorKind::Internal, "{e}");
            return format!("parse {:?}", e.kind);
        }
    };
    let points = module.entry_points();
    let point = &points[rng.below(points.len())];
    let Some(stage) = Stage::from_execution_model(point.model) else { return "another stage".into() };
    let layout = reflect::layout_of(words);
    let constants = constants(rng);
    let turn = rng.below(64) as u32;
    let list = mutate::instructions(words);
    let mut views = guarded_device::views_of(words, &list);
    // Some images are of another kind than the shader declares.
    let strange = rng.chance(5);
    if strange {
        views.clear();
    }
    let program = Program {
        words,
        stage,
        entry: &point.name,
        layout: &layout,
        constants: &constants,
        turn,
        views: &views,
        lanes: None,
        edges: None,
    };
    let pointers = has_pointers(words, &list);
    let edges = (pointers && (only_edges() || rng.chance(EDGES))).then(|| rng.below(1 << 30) as u64);
    let program = Program { edges, ..program };
    let all = only_edges() || rng.chance(number("GRUS_FUZZ_SHARE").unwrap_or(ALL) as usize);
    // Addresses differ from device to device.
    let is_comparable = !strange && edges.is_none() && comparable(words, &list);
    let (end, contents) = pair.run(&program, all, is_comparable);
    if end == RunResult::Ran && is_comparable {
        hashes.record(&contents);
    }
    if let RunResult::Refused(_) = end
        && let Some(e) = refusal(words, stage, &point.name, &layout)
    {
        assert_ne!(e.kind, ErrorKind::Internal, "{e}");
        return format!("{end:?} {:?}", e.kind);
    }
    format!("{end:?}")
}

/// Names of ends, and the number of mutants with each.
type ResultCounts = BTreeMap<String, u64>;

/// Runs the mutants of these seeds; returns their ends and the problems found.
fn run(seeds: std::ops::Range<u64>, limit: Option<Duration>) -> (ResultCounts, Vec<String>) {
    let keep = std::env::var_os("GRUS_FUZZ_KEEP").map(PathBuf::from);
    let only = std::env::var_os("GRUS_FUZZ_FILE").map(|f| common::spirv(&std::fs::read(f).expect("a module")));
    let corpus = small_modules();
    let journal = worker_processes::Journal::open();
    let mut hashes = worker_processes::ResultHashes::open();
    let mut devices = TierDevices::new();
    let (mut ends, mut worst) = (ResultCounts::new(), worker_processes::peak());
    let mut wrong = Vec::new();
    let began = Instant::now();
    for seed in seeds {
        journal.record(seed);
        hashes.seed = seed;
        let mut rng = Rng::new(seed);
        let (name, words) = &corpus[rng.below(corpus.len())];
        let mut mutant = structured::mutant(words, &mut rng);
        if let Some(file) = &only {
            mutant.clone_from(file);
        }
        if let Some(file) = &keep {
            let bytes: Vec<u8> = mutant.iter().flat_map(|w| w.to_le_bytes()).collect();
            std::fs::write(file, bytes).expect("the mutant is written");
        }
        let start = Instant::now();
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            attempt(&mut devices, &mut hashes, &mutant, &mut rng)
        }));
        let end = caught.unwrap_or_else(|why| {
            let why = why.downcast_ref::<String>().cloned().unwrap_or_default();
            wrong.push(format!("seed {seed}, a mutant of {name}: {why}"));
            devices = TierDevices::new();
            "wrong".into()
        });
        let took = start.elapsed();
        if took > SLOW {
            eprintln!("seed {seed}, a mutant of {name}, {end}: {took:?}");
        }
        assert!(took < HANG_TIMEOUT, "seed {seed}, a mutant of {name}, {end}: {took:?}");
        *ends.entry(end).or_default() += 1;
        // Reading the peak costs as much as refusing a module.
        if seed % 8 == 0 || took > SLOW / 20 {
            let now = worker_processes::peak();
            if now > worst + (256 << 10) {
                eprintln!("seed {seed} or one of the 8 before, a mutant of {name}: {now} KiB");
                worst = now;
            }
            assert!(now < MAX_MEMORY_KIB, "seed {seed}, a mutant of {name}: {now} KiB");
        }
        if limit.is_some_and(|limit| began.elapsed() > limit) {
            break;
        }
    }
    (ends, wrong)
}

#[test]
fn mutants_are_refused_or_run_inside_of_their_memory() {
    // SAFETY: this test is the only one of its process, and no device exists yet.
    unsafe {
        std::env::set_var("GRUS_SHADER_TIMEOUT_MS", BUDGET_MS.to_string());
        std::env::set_var("GRUS_VERIFY", "1");
    }
    let (count, first) = (number("GRUS_FUZZ"), number("GRUS_FUZZ_SEED").unwrap_or(1));
    let began = Instant::now();
    let seeds = first..first + count.unwrap_or(3000);
    let (ends, wrong) = match count {
        _ if number("GRUS_FUZZ_POISON").is_some() => (
            ResultCounts::new(),
            worker_processes::compare_poisoned_runs(first..first + number("GRUS_FUZZ_POISON").unwrap_or(0)),
        ),
        Some(count) if count > ALONE => worker_processes::run(seeds, ALONE),
        Some(_) => run(seeds, None),
        None => {
            // A developer waits for the result; continuous integration tests all of the seeds.
            let limit = if std::env::var_os("CI").is_some() { 15 } else { 4 };
            let (ends, mut wrong) = run(seeds, Some(Duration::from_secs(limit)));
            wrong.extend(worker_processes::compare_poisoned_runs(first..first + 300));
            (ends, wrong)
        }
    };
    eprintln!("{:?}: {ends:?}", began.elapsed());
    worker_processes::write_report(&ends);
    assert!(wrong.is_empty(), "{wrong:#?}");
    let few = count.is_some_and(|count| count < 1000) || number("GRUS_FUZZ_POISON").is_some();
    assert!(few || ends.get("Ran").is_some_and(|&n| n > 20), "the mutants are all broken: {ends:?}");
}
