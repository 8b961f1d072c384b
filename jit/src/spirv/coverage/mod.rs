//! Tests that everything advertised is accepted. For every capability and every instruction that is
//! implemented, tables build a module that all tiers compile. Anything that is not in the tables is
//! refused. If `spirv-val` is installed, it must accept the modules too.

mod asm;
mod images;
mod motion;
mod rays;
mod rows;
mod special;
mod spheres;
mod vectors;

use super::accept::Accept;
use super::{Module, Specialization, capability, opcodes};
use crate::compile::{CompileRequest, prepare};
use crate::error::{Error, ErrorKind};
use crate::tier::{ROWS, Tier};
use asm::{Asm, COMPUTE, Scalar};
use base::shader::{BindingLayout, DescriptorKind as K, HeapMapping, MappingSource, PipelineLayoutInfo, Stage};
use std::collections::BTreeSet;
use std::process::Command;

/// A module that must be accepted.
struct Case {
    name: String,
    words: Vec<u32>,
    used: BTreeSet<u16>,
    capabilities: BTreeSet<u32>,
    stage: Stage,
}

fn case(name: impl Into<String>, model: u32, make: impl FnOnce(&mut Asm)) -> Case {
    let mut a = Asm::new(model);
    make(&mut a);
    let (used, capabilities) = (a.used.clone(), a.capabilities.clone());
    let stage = Stage::from_execution_model(model).expect("a stage");
    Case { name: name.into(), words: a.finish(), used, capabilities, stage }
}

fn cases() -> Vec<Case> {
    let mut list = Vec::new();
    for ty in rows::types() {
        list.push(case(format!("{ty:?}"), COMPUTE, |a| rows::operations(a, ty)));
        list.push(case(format!("{ty:?} groups"), COMPUTE, |a| rows::groups(a, ty)));
    }
    for (of, columns, rows) in
        [16, 32, 64].into_iter().flat_map(|w| (2..=4).flat_map(move |c| (2..=4).map(move |r| (Scalar::Float(w), c, r))))
    {
        list.push(case(format!("matrix {of:?} {columns}x{rows}"), COMPUTE, |a| rows::matrices(a, of, columns, rows)));
    }
    list.push(case("ballots", COMPUTE, rows::ballots));
    list.push(case("old ballots", COMPUTE, rows::old_ballots));
    list.push(case("packing", COMPUTE, rows::packing));
    list.push(case("dots", COMPUTE, rows::dots));
    list.push(case("mixed dots", COMPUTE, rows::mixed_dots));
    let special =
        special::CASES.iter().chain(rays::CASES).chain(spheres::CASES).chain(motion::CASES).chain(vectors::CASES);
    list.extend(special.map(|&(name, model, make)| case(name, model, make)));
    list.extend(
        special::tables().into_iter().chain(images::tables()).map(|(name, model, make)| case(name, model, make)),
    );
    list.extend(files());
    list
}

/// Returns the modules in the test data, which compilers made.
fn files() -> Vec<Case> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let paths = std::fs::read_dir(folder).expect("modules").map(|entry| entry.expect("an entry").path());
    let cases = paths.filter(|path| path.extension().is_some_and(|e| e == "spv")).map(|path| {
        let bytes = std::fs::read(&path).expect("a module");
        let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect();
        let module = Module::parse(&words).expect("a module");
        let stage = Stage::from_execution_model(module.entry_points()[0].model).expect("a stage");
        let used = (0..module.instructions()).map(|inst| module.opcode(inst)).collect();
        let capabilities = module.capabilities.iter().copied().collect();
        Case { name: path.display().to_string(), words, used, capabilities, stage }
    });
    cases.collect()
}

/// Returns a layout in which the kind of a descriptor follows from its set.
fn layout() -> PipelineLayoutInfo {
    let kinds = [
        K::StorageBuffer,
        K::UniformBuffer,
        K::CombinedImageSampler,
        K::SampledImage,
        K::Sampler,
        K::StorageImage,
        K::UniformTexelBuffer,
        K::StorageTexelBuffer,
    ];
    let set = |kind| {
        let binding = |binding| BindingLayout {
            binding,
            kind,
            offset: binding * 256,
            count: 4,
            variable: false,
            dynamic_index: 0,
        };
        (0..32).map(binding).collect()
    };
    let mut sets: Vec<Vec<_>> = kinds.into_iter().map(set).collect();
    // The last kind has two sets.
    sets.push(set(K::InputAttachment));
    sets.push(set(K::AccelerationStructure));
    PipelineLayoutInfo { sets, heap: None }
}

const DESCRIPTOR_HEAP: u32 = 5128;

fn compile(words: &[u32], stage: Stage) -> Result<(), Error> {
    let module = Module::parse(words)?;
    let mut layout = layout();
    if module.capabilities.contains(&DESCRIPTOR_HEAP) {
        layout.heap = Some(vec![HeapMapping {
            set: 0,
            first_binding: 0,
            binding_count: 32,
            resource_mask: u32::MAX,
            source: MappingSource::PushAddress(0),
        }]);
    }
    for row in &ROWS {
        let request = CompileRequest {
            module: &module,
            stage,
            entry: "main",
            specialization: &Specialization::default(),
            layout: &layout,
            accept: &Accept::all_implemented(),
        };
        prepare(&request)?.generate(row.tier)?;
    }
    Ok(())
}

/// Returns the error message of `spirv-val`, if it is installed and rejects the module.
fn objection(case: &Case) -> Option<String> {
    let program = std::env::var_os("GRUS_SPIRV_VAL_PROGRAM").unwrap_or_else(|| "spirv-val".into());
    let file = std::env::temp_dir().join(format!("grus-coverage-{}.spv", std::process::id()));
    let bytes: Vec<u8> = case.words.iter().flat_map(|w| w.to_le_bytes()).collect();
    std::fs::write(&file, bytes).expect("write");
    let args = ["--target-env", "vulkan1.3", "--scalar-block-layout", "--workgroup-scalar-block-layout"];
    let out = Command::new(program).args(args).arg(&file).output();
    std::fs::remove_file(&file).expect("remove");
    let out = out.ok().filter(|out| !out.status.success())?;
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    // These messages come from versions of `spirv-val` that are older than the tested features.
    let newer = [
        // Bases of any width are allowed with maintenance9.
        "Expected 32-bit int type for Base",
        // Derivatives are allowed in task and mesh stages, too.
        "Derivative instructions require Fragment or GLCompute execution model",
        "Invalid opcode",
        "Invalid capability operand",
        "Invalid instruction",
        "Invalid storage class",
    ];
    (!newer.iter().any(|n| text.contains(n))).then_some(text)
}

#[test]
fn every_capability_and_instruction_has_an_accepted_module() {
    let cases = cases();
    let mut wrong = Vec::new();
    for case in &cases {
        if let Err(e) = compile(&case.words, case.stage) {
            wrong.push(format!("{}: {e}", case.name));
        }
        // Modules made by compilers are not validated again.
        if !case.name.contains(".spv")
            && let Some(text) = objection(case)
        {
            wrong.push(format!("{}: spirv-val: {text}", case.name));
        }
    }
    let declared: BTreeSet<u32> = cases.iter().flat_map(|c| c.capabilities.iter().copied()).collect();
    for capability in Accept::all_implemented().capabilities {
        if !declared.contains(&capability) {
            wrong.push(format!("capability {capability} is in no module"));
        }
    }
    let used: BTreeSet<u16> = cases.iter().flat_map(|c| c.used.iter().copied()).collect();
    for number in 0..u16::MAX {
        if let Some(row) = opcodes::row(number)
            && !used.contains(&number)
            && !special::ELSEWHERE.contains(&number)
            && !is_refused(row)
        {
            wrong.push(format!("{} is in no module", row.name));
        }
    }
    assert!(wrong.is_empty(), "{} modules, {wrong:#?}", cases.len());
}

#[test]
fn every_other_capability_is_refused() {
    let implemented = Accept::all_implemented().capabilities;
    for capability in (0..8192).filter(|c| !implemented.contains(c)) {
        let case = case("refused", COMPUTE, |a| _ = a.capabilities.insert(capability));
        let error = compile(&case.words, Stage::Compute).expect_err("refused");
        assert_eq!(error.kind, ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains(&format!("capability {} is", capability::name(capability))), "{error}");
    }
    // Each implemented capability is also refused by a device that does not list it.
    for &capability in implemented.iter().filter(|&&c| c > 1) {
        let case = case("refused", COMPUTE, |a| _ = a.capabilities.insert(capability));
        let module = Module::parse(&case.words).expect("a module");
        let accept = Accept {
            capabilities: implemented.iter().copied().filter(|&c| c != capability).collect(),
            extensions: None,
        };
        let error = accept.check(&module).expect_err("refused");
        assert_eq!(error.kind, ErrorKind::Unsupported, "{error}");
        assert!(error.message.contains("is not accepted by this device"), "{error}");
    }
    assert_eq!(Tier::FIRST, ROWS[0].tier);
}

/// Returns true for an instruction that no implemented capability enables, and for a reserved one.
fn is_refused(row: &opcodes::Row) -> bool {
    let mut needs = row.capabilities.iter().peekable();
    let disabled = needs.peek().is_some() && !needs.any(|&c| capability::implemented(c as u32).is_some());
    disabled || special::RESERVED.contains(&row.number)
}

#[test]
fn unimplemented_instructions_are_refused_where_reached() {
    let taken = |number: &u16| special::ELSEWHERE.contains(number);
    for number in (0..u16::MAX).filter(|n| !taken(n) && opcodes::row(*n).is_some_and(is_refused)) {
        let row = opcodes::row(number).expect("a row");
        let case = case("refused", COMPUTE, |a| {
            let word = a.ty(asm::U32);
            let value = a.value(asm::U32);
            let args = vec![value; usize::from(row.least) - usize::from(row.has.0) - usize::from(row.has.1)];
            if row.has.0 { _ = a.r(number, word, &args) } else { a.i(number, &args) }
        });
        let error = compile(&case.words, Stage::Compute).expect_err(row.name);
        assert!(matches!(error.kind, ErrorKind::Unsupported | ErrorKind::Invalid), "{}: {error}", row.name);
    }
}
