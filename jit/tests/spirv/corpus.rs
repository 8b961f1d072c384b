//! Runs the front end and the passes over a directory of `.spv` files (`GRUS_SPIRV_CORPUS`), with a
//! pipeline layout made from each module's own decorations. Without the variable it reports that
//! and does nothing.

use crate::spirv_common::reflect::layout_of;
use base::shader::Stage;
use jit::error::ErrorKind;
use jit::ir::verify;
use jit::passes::{PassOptions, run};
use jit::spirv::{Accept, Module, Specialization, translate};
use std::collections::BTreeMap;

#[test]
fn corpus() {
    let Ok(dir) = std::env::var("GRUS_SPIRV_CORPUS") else {
        eprintln!("skipped: GRUS_SPIRV_CORPUS is not set");
        return;
    };
    let mut files: Vec<_> = std::fs::read_dir(dir).expect("directory").map(|e| e.expect("entry").path()).collect();
    files.sort();
    let (mut good, mut errors, mut wrong) = (0, BTreeMap::<String, (u32, String)>::new(), 0);
    let mut time = std::time::Duration::ZERO;
    for path in files.iter().filter(|p| p.extension().is_some_and(|e| e == "spv")) {
        let bytes = std::fs::read(path).expect("read");
        let words: Vec<u32> = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let module = match Module::parse(&words) {
            Ok(m) => m,
            Err(e) => {
                errors.entry(e.message.clone()).or_insert((0, name)).0 += 1;
                continue;
            }
        };
        let layout = layout_of(&words);
        for e in module.entry_points() {
            let Some(stage) = Stage::from_execution_model(e.model) else { continue };
            let start = std::time::Instant::now();
            let result =
                translate(&module, stage, &e.name, &Specialization::default(), &layout, &Accept::all_implemented());
            let took = start.elapsed();
            time += took;
            if took.as_millis() > 200 {
                eprintln!("{name}: {} ms", took.as_millis());
            }
            match result {
                Ok(mut s) => {
                    good += 1;
                    if let Err(e) = verify(&s) {
                        wrong += 1;
                        eprintln!("{name}: verifier: {e}");
                    } else if let Err(e) = run(&mut s, &PassOptions { verify: true }) {
                        wrong += 1;
                        eprintln!("{name}: passes: {e}");
                    }
                }
                Err(e) => {
                    wrong += u32::from(e.kind == ErrorKind::Internal);
                    let key = format!("{:?} {} {}", e.kind, e.opcode.map_or("", |o| o.1), e.message);
                    errors.entry(key).or_insert((0, format!("{name} {e}"))).0 += 1;
                }
            }
        }
    }
    for (message, (n, example)) in &errors {
        eprintln!("{n:5} {message}   e.g. {example}");
    }
    eprintln!("{good} translated in {} ms, {} kinds of refusal, {wrong} wrong", time.as_millis(), errors.len());
    assert_eq!(wrong, 0);
}
