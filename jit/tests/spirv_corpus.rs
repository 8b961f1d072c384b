//! Runs the frontend and the passes over a directory of `.spv` files (`GRUS_SPIRV_CORPUS`), with a pipeline layout made from each
//! module's own decorations. Without the variable it says so and does nothing.

mod spirv_common;

use base::shader::{BindingLayout, DescriptorKind as K, PipelineLayoutInfo, Stage};
use jit::error::ErrorKind;
use jit::ir::verify;
use jit::passes::{PassOptions, run};
use jit::spirv::{Accept, Module, Specialization, translate};
use std::collections::{BTreeMap, HashMap};

/// A layout with what the module declares.
fn layout_of(words: &[u32]) -> PipelineLayoutInfo {
    let (mut set, mut binding, mut block) = (HashMap::new(), HashMap::new(), HashMap::new());
    let (mut types, mut vars) = (HashMap::new(), Vec::new());
    let mut at = 5;
    while at < words.len() {
        let (op, len) = (words[at] & 0xffff, (words[at] >> 16).max(1) as usize);
        let Some(w) = words.get(at..at + len) else { break };
        match (op, w) {
            (71, [_, id, 34, v]) => _ = set.insert(*id, *v),
            (71, [_, id, 33, v]) => _ = binding.insert(*id, *v),
            (71, [_, id, 3]) => _ = block.insert(*id, ()),
            (25..=32, [_, id, ..]) => _ = types.insert(*id, w.to_vec()),
            (59, [_, ty, id, class, ..]) => vars.push((*ty, *id, *class)),
            _ => {}
        }
        at += len;
    }
    let mut sets: BTreeMap<u32, BTreeMap<u32, BindingLayout>> = BTreeMap::new();
    for (ty, id, class) in vars {
        let (Some(&set), Some(&binding), Some(ptr)) = (set.get(&id), binding.get(&id), types.get(&ty)) else {
            continue;
        };
        let mut t = ptr[3];
        while let Some([w, _, elem, ..]) = types.get(&t).map(Vec::as_slice) {
            if !matches!(w & 0xffff, 28 | 29) {
                break;
            }
            t = *elem;
        }
        let Some(w) = types.get(&t) else { continue };
        let image = |w: &[u32]| match (w[3], w[7]) {
            (5, 1) => K::UniformTexelBuffer,
            (5, _) => K::StorageTexelBuffer,
            (6, _) => K::InputAttachment,
            (_, 1) => K::SampledImage,
            _ => K::StorageImage,
        };
        let kind = match w[0] & 0xffff {
            25 => image(w),
            26 => K::Sampler,
            27 => match types.get(&w[2]).map(|w| image(w)) {
                Some(K::UniformTexelBuffer) => K::UniformTexelBuffer,
                _ => K::CombinedImageSampler,
            },
            30 if class == 12 || block.contains_key(&t) => K::StorageBuffer,
            30 => K::UniformBuffer,
            _ => continue,
        };
        let b = BindingLayout { binding, kind, offset: 0, count: 16, dynamic_index: 0 };
        sets.entry(set & 63).or_default().insert(binding, b);
    }
    let last = sets.keys().last().map_or(0, |n| n + 1);
    PipelineLayoutInfo {
        sets: (0..last).map(|n| sets.remove(&n).map_or_else(Vec::new, |s| s.into_values().collect())).collect(),
    }
}

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
            let stage = match e.model {
                0 => Stage::Vertex,
                4 => Stage::Fragment,
                5 => Stage::Compute,
                _ => continue,
            };
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
