//! Comparison with SPIRV-Tools' `spirv-val`: valid and mutated modules, judged by both. Skipped
//! without the program.
//!
//! A module that the validator accepts and Grus implements is accepted; one that it rejects is
//! refused, or harmless (the resulting IR verifies).
//!
//! Most of the rules that only `spirv-val` checks are the Vulkan environment's (see
//! `validate/mod.rs`): missing locations, undeclared capabilities, types declared twice,
//! overlapping offsets. 28,000 modules, 8,000 of them of the CTS, gave 440 of these. Four modules
//! are refused only by Grus, although it implements what they ask for; all of them are wrong, which
//! SPIRV-Tools 2023.1 does not notice.
//!
//! `GRUS_SPIRV_VAL=n` sets the number of mutants; `GRUS_SPIRV_CORPUS=dir` adds the modules of that
//! folder. The disagreements are printed.

mod spirv_common;

use base::random::XorshiftStar as Rng;
use base::shader::Stage;
use jit::error::{Error, ErrorKind};
use jit::spirv::{Accept, Module, Specialization, translate};
use spirv_common::corpus::modules;
use spirv_common::mutate::mutant;
use spirv_common::reflect::layout_of;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Returns the verdict of Grus on a module, with all its entry points translated.
fn ours(words: &[u32]) -> Result<(), Error> {
    let module = Module::parse(words)?;
    let layout = layout_of(words);
    for e in module.entry_points() {
        let Some(stage) = Stage::from_execution_model(e.model) else {
            return Err(Error::unsupported(format!("execution model {}", e.model)));
        };
        let accept = Accept::all_implemented();
        let mut shader = translate(&module, stage, &e.name, &Specialization::default(), &layout, &accept)?;
        jit::ir::verify(&shader).map_err(|e| Error::internal(e.to_string()))?;
        jit::passes::run(&mut shader, &jit::passes::PassOptions { verify: true })?;
    }
    Ok(())
}

/// Returns the verdict of `spirv-val`: nothing, or its first line.
fn theirs(file: &Path) -> Result<(), String> {
    let args = [
        "--target-env",
        "vulkan1.3",
        "--scalar-block-layout",
        "--workgroup-scalar-block-layout",
        "--allow-localsizeid",
    ];
    let out = Command::new("spirv-val").args(args).arg(file).output().expect("spirv-val runs");
    if out.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&out.stderr);
    let line = text.lines().find(|l| l.contains("error")).unwrap_or("no message");
    Err(line.to_owned())
}

/// Returns a message without its numbers and names, for counting.
fn kind_of(message: &str) -> String {
    let message = message.split_once(": ").map_or(message, |m| m.1);
    let mut out = String::new();
    for word in message.split_whitespace() {
        if word.chars().any(|c| c.is_ascii_digit() || c == '\'') {
            out.push_str("# ");
        } else {
            out.push_str(word);
            out.push(' ');
        }
    }
    out
}

/// Messages about the layout that the test invents, or about the size that a mutant requests.
const HARNESS: [&str; 2] = ["pipeline layout", "workgroup of no invocations"];

/// Messages about errors that SPIRV-Tools 2023.1 does not notice.
const UNNOTICED: [&str; 6] = [
    // An entry point has one rounding mode and one treatment of denormals per width.
    "contradictory float execution modes of one width",
    // Pointers of the logical addressing model are operands of few instructions (2.16.1), which do
    // not include OpBitcast.
    "a logical pointer is used as a value",
    // "The operands to this mode must be constant instructions" (LocalSizeId), not labels.
    "a size of workgroups is not a constant",
    // Inputs of stages with several vertices are arrays of them, except for some built-in
    // variables.
    "input of a primitive's vertices is no array",
    // Outputs of a tessellation control stage are arrays of the patch's vertices, except for those
    // with Patch.
    "output of a patch's vertices is no array",
    // The intersection that a getter of a ray query reads is RayQueryCandidateIntersectionKHR or
    // RayQueryCommittedIntersectionKHR (enumeration "Ray Query Intersection" of SPIR-V).
    "intersection is neither the candidate nor the committed one",
];

/// Messages of a validator about modules that are newer than it; they decide nothing.
const NEWER: [&str; 2] = ["Invalid capability operand", "requires one of these extensions"];

#[derive(Default)]
struct Tally {
    both_accept: u32,
    both_reject: u32,
    /// Modules that are refused as wrong and not as unsupported.
    wrongly: Vec<String>,
    /// Number of modules and an example, by kind of message.
    only_ours_refuses: BTreeMap<String, (u32, String)>,
    only_theirs_refuses: BTreeMap<String, (u32, String)>,
}

impl Tally {
    fn add(&mut self, name: &str, ours: Result<(), Error>, theirs: Result<(), String>) {
        match (ours, theirs) {
            (Ok(()), Ok(())) => self.both_accept += 1,
            (Err(e), _) if e.kind == ErrorKind::Internal => panic!("{name}: {e}"),
            (Err(_), Err(_)) => self.both_reject += 1,
            (Err(e), Ok(())) => {
                let mut right = HARNESS.iter().chain(&UNNOTICED);
                if e.kind == ErrorKind::Invalid && !right.any(|h| e.message.contains(h)) {
                    self.wrongly.push(format!("{name} {e}"));
                }
                let key = format!("{:?} {}", e.kind, kind_of(&format!(": {e}")));
                self.only_ours_refuses.entry(key).or_insert((0, format!("{name} {e}"))).0 += 1;
            }
            (Ok(()), Err(m)) => {
                let entry = self.only_theirs_refuses.entry(kind_of(&m)).or_insert((0, format!("{name} {m}")));
                entry.0 += 1;
            }
        }
    }

    fn print(&self) {
        for (what, list) in
            [("ONLY GRUS REFUSES", &self.only_ours_refuses), ("ONLY SPIRV-VAL REFUSES", &self.only_theirs_refuses)]
        {
            let mut list: Vec<_> = list.iter().collect();
            list.sort_by_key(|(_, (n, _))| std::cmp::Reverse(*n));
            eprintln!("{what}: {}", list.iter().map(|(_, (n, _))| n).sum::<u32>());
            for (kind, (n, example)) in list {
                eprintln!("{n:5} {kind}   e.g. {example}");
            }
        }
        eprintln!("both accept {}, both reject {}", self.both_accept, self.both_reject);
    }
}

#[test]
fn validator_agrees_with_spirv_val() {
    if Command::new("spirv-val").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "spirv-val is not installed");
        eprintln!("skipped: spirv-val is not installed");
        return;
    }
    let count = std::env::var("GRUS_SPIRV_VAL").ok().and_then(|n| n.parse().ok()).unwrap_or(1000);
    let folder = std::env::temp_dir().join(format!("grus-spirv-val-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    let file = folder.join("module.spv");
    let verdict = |words: &[u32]| {
        std::fs::write(&file, spirv_common::bytes(words)).expect("write");
        theirs(&file)
    };
    let mut corpus = modules(&["jit/tests", "cts-runner", "icd/tests"]);
    let is_known = |words: &[u32]| verdict(words).err().is_none_or(|m| !NEWER.iter().any(|n| m.contains(n)));
    corpus.retain(|(_, words)| is_known(words));
    let mut tally = Tally::default();
    let mut judge = |name: &str, words: &[u32]| {
        let theirs = verdict(words);
        let ours = ours(words);
        if let Ok(keep) = std::env::var("GRUS_SPIRV_KEEP")
            && ours.is_ok() != theirs.is_ok()
        {
            std::fs::copy(&file, Path::new(&keep).join(format!("{name}.spv"))).expect("copy");
        }
        tally.add(name, ours, theirs);
    };
    let mut rng = Rng::new(0x5a1_5a1);
    for (name, words) in &corpus {
        judge(name, words);
    }
    for i in 0..count {
        let (name, words) = &corpus[rng.below(corpus.len())];
        judge(&format!("{i}-{name}"), &mutant(words, &mut rng));
    }
    std::fs::remove_dir_all(&folder).expect("remove");
    tally.print();
    assert!(tally.wrongly.len() * 2000 <= corpus.len() + count, "{:#?}", tally.wrongly);
    let lenient: u32 = tally.only_theirs_refuses.values().map(|v| v.0).sum();
    assert!(lenient * 20 < tally.both_reject, "{lenient} mutants pass that spirv-val refuses");
    assert!(tally.both_accept > 100 && tally.both_reject > 100, "the mutants are all alike");
}
