//! Measures the compile time of shaders by stage:
//! `cargo run --release -p grus-jit --example stage_times -- FILE.spv...`
//!
//! Each file has one row: microseconds of parsing, translation, passes, divergence, LIR and CLIF
//! building, estimate and code generation by each tier (CLIF building included); instructions of
//! IR, LIR and CLIF, the estimate's excess, bytes of each tier's code (0: it would take too long;
//! `GRUS_EXCESS` is another limit). The figures are medians of `GRUS_ROUNDS` rounds (5). With
//! `GRUS_CLIF=1` the CLIF goes to stderr, with `GRUS_CODE=FILE` the wide tier's code to a file
//! (`objdump -D -b binary -m i386:x86-64 FILE`).

#[path = "../tests/spirv_common/reflect.rs"]
#[allow(missing_docs, reason = "shared with the tests")]
mod reflect;

use base::shader::Stage;
use jit::cancel::CancelToken;
use jit::cranelift;
use jit::emit::{EmitOptions, build};
use jit::passes::{PassOptions, divergence, run};
use jit::regalloc_cost::RegallocCost;
use jit::spirv::{Accept, Module, Specialization, translate};
use jit::tier::Tier;
use std::time::Instant;

fn main() {
    let rounds = std::env::var("GRUS_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(5);
    let columns = [
        "parse", "trans", "passes", "diverg", "lir", "clif", "cost", "quick", "full", "wide", "ir", "lir", "clif",
        "excess", "bytes q", "bytes f", "bytes w",
    ];
    println!("{:24}{}", "", columns.map(|c| format!("{c:>9}")).concat());
    for path in std::env::args().skip(1) {
        let Ok(bytes) = std::fs::read(&path) else {
            eprintln!("{path}: can't be read");
            continue;
        };
        let words: Vec<u32> = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let name = path.rsplit('/').next().unwrap_or(&path);
        match measure(&words, rounds) {
            Ok((times, sizes)) => {
                let cells = times.iter().map(|t| *t as usize).chain(sizes);
                println!("{name:24}{}", cells.map(|n| format!("{n:9}")).collect::<String>());
            }
            Err(e) => println!("{name:32}{e}"),
        }
    }
}

fn measure(words: &[u32], rounds: usize) -> jit::error::Result<([u128; 10], [usize; 7])> {
    let layout = reflect::layout_of(words);
    let mut times = [const { Vec::new() }; 10];
    let mut sizes = [0; 7];
    for _ in 0..rounds.max(1) {
        let mut last = Instant::now();
        let mut lap = |i: usize| {
            let now = Instant::now();
            times[i].push((now - last).as_micros());
            last = now;
        };
        let module = Module::parse(words)?;
        lap(0);
        let entry = module.entry_points().first();
        let (stage, name) = entry.map_or((Stage::Vertex, "main"), |e| {
            (Stage::from_execution_model(e.model).unwrap_or(Stage::Vertex), &*e.name)
        });
        let mut shader =
            translate(&module, stage, name, &Specialization::default(), &layout, &Accept::all_implemented())?;
        lap(1);
        run(&mut shader, &PassOptions::default())?;
        lap(2);
        let options = EmitOptions::default();
        let shapes = divergence(&shader, options.lanes);
        lap(3);
        let lir = build(&shader, &shapes, &layout, &options)?.lir;
        lap(4);
        let function = cranelift::translate(&lir, true, cranelift::Step::Optimise)?;
        lap(5);
        let cost = cranelift::cost_of(&function);
        lap(6);
        sizes[0] = shader.insts.len();
        sizes[1] = lir.insts.len();
        sizes[2] = cost.insts;
        sizes[3] = usize::try_from(cost.excess).unwrap_or(usize::MAX);
        sizes[4] = Tier::Quick.code(&lir, &CancelToken::NEVER)?.map_or(0, |code| code.bytes.len());
        lap(7);
        let limit = std::env::var("GRUS_EXCESS").ok().and_then(|n| n.parse().ok());
        for (i, tier) in (8..).zip([Tier::Full, Tier::Wide]) {
            let Some(backend) = tier.row().backend() else { continue };
            let code = match limit {
                Some(n) => backend.limited(Some(RegallocCost {
                    insts: if n == 0 { 0 } else { usize::MAX },
                    excess: n,
                    merges: n,
                })),
                None => *backend,
            };
            let code = code.code(&lir, &CancelToken::NEVER)?;
            if let (Some(path), Some(code), Tier::Wide) = (std::env::var_os("GRUS_CODE"), &code, tier) {
                std::fs::write(path, &code.bytes[..]).ok();
            }
            sizes[i - 3] = code.map_or(0, |code| code.bytes.len());
            lap(i);
        }
    }
    let medians = times.map(|mut list| {
        list.sort_unstable();
        list[list.len() / 2]
    });
    Ok((medians, sizes))
}
