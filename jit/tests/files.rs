//! File tests: each file in `tests/files` is an input in text form, a command, and the output that
//! the command gives. `GRUS_DUMP`, `GRUS_LIR` print these text forms, so that any dump can become
//! an input.
//!
//! A file begins with comments and the line `; run: COMMAND`, followed by the input, the line
//! `; ----` and the output. `GRUS_BLESS=1` writes the outputs anew; `git diff` then shows what has
//! changed.
//!
//! - `passes NAME...` runs passes over IR, and prints the IR that they leave.
//! - `verify` and `verify-lir` print the first violation of the rules, or `valid`.
//! - `emit LANES` prints the LIR of a stage whose set 0 has two storage buffers.
//! - `cranelift` and `select LEVEL` print what the back ends make of LIR: Cranelift's IR, and the
//!   instructions that the wide back end selects, before their registers are allocated.
//! - `validate` assembles SPIR-V by SPIRV-Tools, and prints the reason why a module is refused.

mod emit_common;
mod spirv_common;

use base::shader::{PipelineLayoutInfo, Stage};
use jit::cancel::CancelToken;
use jit::emit::{self, EmitOptions};
use jit::error::Error;
use jit::ir::{self, Shader};
use jit::lir;
use jit::passes;
use jit::spirv::{self, Accept, Module, Specialization};
use jit::wide::{self, Settings, VectorLevel};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const OUTPUT: &str = "; ----\n";

/// Runs a command on an input. `None` if this machine lacks what the command requires.
type Run = fn(input: &str, arguments: &[&str]) -> Result<Option<String>, String>;

/// Commands by name.
const COMMANDS: [(&str, Run); 7] = [
    ("passes", run_passes),
    ("verify", run_verify),
    ("verify-lir", run_verify_lir),
    ("emit", run_emit),
    ("cranelift", run_cranelift),
    ("select", run_select),
    ("validate", run_validate),
];

/// A pass over IR.
type Pass = fn(&mut Shader);

/// Passes by name.
const PASSES: [(&str, Pass); 19] = [
    ("compact_vars", passes::compact_vars),
    ("contract", passes::contract),
    ("cse", passes::cse),
    ("dce", passes::dce),
    ("float_modes", passes::float_modes),
    ("fold", passes::fold),
    ("lower_f16", passes::lower_f16),
    ("lower_fdiv", passes::lower_fdiv),
    ("lower_float", passes::lower_float),
    ("lower_math", |shader| passes::lower_math(shader).expect("the shader can be lowered")),
    ("mem2reg", passes::mem2reg),
    ("opt_dead_marks", passes::opt_dead_marks),
    ("opt_if_conversion", passes::opt_if_conversion),
    ("reassociate", passes::reassociate),
    ("simplify_cfg", passes::simplify_cfg),
    ("split_arrays", |shader| _ = passes::split_arrays(shader)),
    ("unroll", |shader| _ = passes::unroll(shader)),
    ("all", |shader| passes::run(shader, &passes::PassOptions { verify: true }).expect("the passes accept the shader")),
    ("none", |_| {}),
];

fn shader(input: &str) -> Result<Shader, String> {
    let shader = ir::parse(input)?;
    ir::verify(&shader)?;
    Ok(shader)
}

fn function(input: &str) -> Result<lir::Function, String> {
    let func = lir::parse(input)?;
    lir::verify(&func)?;
    Ok(func)
}

fn run_passes(input: &str, names: &[&str]) -> Result<Option<String>, String> {
    let mut shader = shader(input)?;
    for name in names {
        let (_, pass) = PASSES.iter().find(|row| row.0 == *name).ok_or(format!("no pass {name}"))?;
        pass(&mut shader);
        ir::verify(&shader).map_err(|e| format!("after {name}: {e}"))?;
    }
    // Read once more, so that numbers do not depend on what passes have removed.
    Ok(Some(ir::parse(&shader.to_string())?.to_string()))
}

fn run_verify(input: &str, _: &[&str]) -> Result<Option<String>, String> {
    Ok(Some(verdict(ir::verify(&ir::parse(input)?))))
}

fn run_verify_lir(input: &str, _: &[&str]) -> Result<Option<String>, String> {
    Ok(Some(verdict(lir::verify(&lir::parse(input)?))))
}

fn verdict(result: Result<(), String>) -> String {
    result.err().unwrap_or("valid".into()) + "\n"
}

fn run_emit(input: &str, arguments: &[&str]) -> Result<Option<String>, String> {
    let shader = shader(input)?;
    let lanes = arguments.first().and_then(|lanes| lanes.parse().ok()).ok_or("a number of lanes is missing")?;
    let layout = emit_common::buffers_layout(2);
    let div = passes::divergence(&shader, lanes);
    let emission = emit::build(&shader, &div, &layout, &EmitOptions::with_lanes(lanes)).map_err(message)?;
    emit::verify(&emission, &shader, &layout, false)?;
    Ok(Some(lir::parse(&emission.lir.to_string())?.to_string()))
}

fn run_cranelift(input: &str, _: &[&str]) -> Result<Option<String>, String> {
    let func = function(input)?;
    if cfg!(not(target_arch = "x86_64")) {
        return Ok(None);
    }
    let step = jit::cranelift::Step::Optimise;
    jit::cranelift::translate(&func, true, step).map(|clif| Some(clif.to_string())).map_err(message)
}

fn run_select(input: &str, arguments: &[&str]) -> Result<Option<String>, String> {
    let func = function(input)?;
    let max_level = match arguments {
        ["avx2"] => VectorLevel::Avx2,
        ["avx512"] => VectorLevel::Avx512,
        _ => return Err("a level is missing".into()),
    };
    if VectorLevel::for_host().is_none_or(|level| level < max_level) {
        return Ok(None);
    }
    let mut texts = Vec::new();
    let settings = Settings { optimise: true, limit: None, max_level };
    wide::code(&func, &settings, &CancelToken::NEVER, Some(&mut texts)).map_err(message)?;
    Ok(texts.pop().map(|text| text.text))
}

fn run_validate(input: &str, _: &[&str]) -> Result<Option<String>, String> {
    let Some(words) = assemble(input)? else { return Ok(None) };
    Ok(Some(verdict(translate(&words).map_err(message))))
}

/// Parses a module and translates its entry points.
fn translate(words: &[u32]) -> Result<(), Error> {
    let module = Module::parse(words)?;
    for entry in module.entry_points() {
        let stage = Stage::from_execution_model(entry.model).ok_or_else(|| Error::unsupported("execution model"))?;
        let (none, accept) = (Specialization::default(), Accept::all_implemented());
        spirv::translate(&module, stage, &entry.name, &none, &PipelineLayoutInfo::default(), &accept)?;
    }
    Ok(())
}

fn message(error: Error) -> String {
    error.to_string()
}

/// Assembles a module by SPIRV-Tools. Returns `None` if the program is missing, which is an error
/// in continuous integration.
fn assemble(text: &str) -> Result<Option<Vec<u32>>, String> {
    let arguments = ["--target-env", "vulkan1.3", "--preserve-numeric-ids", "-o", "-", "-"];
    let mut command = Command::new("spirv-as");
    let command = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) if std::env::var_os("CI").is_some() => return Err(format!("spirv-as: {e}")),
        Err(_) => return Ok(None),
    };
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).map_err(|e| e.to_string())?;
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(Some(output.stdout.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect()))
}

/// Runs the test of a file. Returns the command and, if the output is not the expected one, both.
fn test(path: &Path, bless: bool) -> Result<&'static str, String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let (input, expected) = text.split_once(OUTPUT).unwrap_or((&text, ""));
    let line = input.lines().find_map(|line| line.strip_prefix("; run: ")).ok_or("no line `; run: `")?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, arguments) = words.split_first().ok_or("no command")?;
    let (name, run) = COMMANDS.iter().find(|row| row.0 == *name).ok_or(format!("no command {name}"))?;
    let Some(actual) = run(input, arguments)? else { return Ok(name) };
    if bless {
        std::fs::write(path, format!("{input}{OUTPUT}{actual}")).map_err(|e| e.to_string())?;
    } else if actual != expected {
        return Err(format!("expected:\n{expected}\nactual:\n{actual}"));
    }
    Ok(name)
}

#[test]
fn files_give_the_expected_outputs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let entries = std::fs::read_dir(&folder).expect("the folder of the tests");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let bless = std::env::var_os("GRUS_BLESS").is_some();
    let mut commands: Vec<&str> = COMMANDS.iter().map(|row| row.0).collect();
    let mut failures = Vec::new();
    for path in &paths {
        match test(path, bless) {
            Ok(command) => commands.retain(|other| *other != command),
            Err(message) => failures.push(format!("{}: {message}", path.display())),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(commands.is_empty(), "no file tests {commands:?}");
}

/// Reads the texts of a stage's IR and LIR back.
fn round_trip(shader: &Shader, layout: &PipelineLayoutInfo) -> Result<(), String> {
    let text = shader.to_string();
    let read = ir::parse(&text)?;
    ir::verify(&read)?;
    let text = read.to_string();
    if ir::parse(&text)?.to_string() != text {
        return Err("IR changes".into());
    }
    let div = passes::divergence(&read, 8);
    let emission = emit::build(&read, &div, layout, &EmitOptions::with_lanes(8)).map_err(message)?;
    let read = function(&emission.lir.to_string())?;
    let text = read.to_string();
    if lir::parse(&text)?.to_string() != text { Err("LIR changes".into()) } else { Ok(()) }
}

#[test]
fn dumps_of_all_modules_are_read_back() {
    let folders = ["jit/tests/data", "icd/tests/data", "cts-runner/src/bench/shaders"];
    let mut stages = 0;
    for (name, words) in spirv_common::corpus::modules(&folders) {
        let layout = spirv_common::reflect::layout_of(&words);
        let Ok(module) = Module::parse(&words) else { continue };
        for entry in module.entry_points() {
            let Some(stage) = Stage::from_execution_model(entry.model) else { continue };
            let (none, accept) = (Specialization::default(), Accept::all_implemented());
            let Ok(mut shader) = spirv::translate(&module, stage, &entry.name, &none, &layout, &accept) else {
                continue;
            };
            if passes::run(&mut shader, &passes::PassOptions { verify: false }).is_err() {
                continue;
            }
            round_trip(&shader, &layout).unwrap_or_else(|e| panic!("{name}: {e}"));
            stages += 1;
        }
    }
    assert!(stages > 100, "only {stages} stages");
}
