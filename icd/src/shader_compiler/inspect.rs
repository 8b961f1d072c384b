//! Descriptions of a pipeline's code for tools (VK_KHR_pipeline_executable_properties): an
//! executable per stage and tier whose code may run it.
//!
//! Nothing about compilation is kept for such queries, and no code is made earlier or differently
//! because of them. A query makes the code again on the application's thread. The same request
//! gives the same code, so the description matches the code that runs, or that will run after
//! tier-up. The answers about one pipeline are remembered until another one is queried, because the
//! commands are called twice each, and once per executable.

#![forbid(unsafe_code)]

use super::tiered::{Policy, TieredCode};
use base::shader::Stage;
use jit::backend::{MachineCode, Text};
use jit::error::Error;
use jit::tier::{Tier, generate};
use jit::{CompileDescription, PreparedIr};
use parking_lot::Mutex;
use std::fmt::Write;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Code of a stage by one tier.
pub struct Executable {
    /// The stage.
    pub stage: Stage,
    /// Number of lanes of a subgroup.
    pub lanes: u32,
    /// Name, unique in the pipeline.
    pub name: String,
    /// Description in one sentence.
    pub description: String,
    /// Statistics.
    pub statistics: Vec<Statistic>,
    /// Internal representations, if they were requested.
    pub texts: Vec<Text>,
}

/// A statistic of an executable.
pub struct Statistic {
    /// Name.
    pub name: &'static str,
    /// Description.
    pub description: &'static str,
    /// Value.
    pub value: u64,
}

/// The executables of the pipeline that was queried last.
#[derive(Default)]
pub struct ExecutableCache(Mutex<Option<CachedExecutables>>);

struct CachedExecutables {
    codes: Vec<Weak<TieredCode>>,
    texts: bool,
    executables: Arc<[Executable]>,
}

impl ExecutableCache {
    /// Returns the executables of a pipeline's stages in their order; `texts` requests
    /// [`Executable::texts`].
    ///
    /// # Errors
    /// Limit: there is no memory for a compile. Internal otherwise, because all other errors are
    /// found when the pipeline is created.
    pub fn of_pipeline(&self, codes: &[Arc<TieredCode>], texts: bool) -> Result<Arc<[Executable]>, Error> {
        let mut last = self.0.lock();
        let same = |answer: &&CachedExecutables| {
            let mut pairs = answer.codes.iter().zip(codes);
            // (A weak reference keeps the allocation, so its address is not reused.)
            answer.texts == texts
                && answer.codes.len() == codes.len()
                && pairs.all(|(a, b)| a.as_ptr() == Arc::as_ptr(b))
        };
        if let Some(answer) = last.as_ref().filter(same) {
            return Ok(answer.executables.clone());
        }
        let mut executables = Vec::new();
        for code in codes {
            inspect(code, texts, &mut executables)?;
        }
        let executables: Arc<[Executable]> = executables.into();
        let codes = codes.iter().map(Arc::downgrade).collect();
        *last = Some(CachedExecutables { codes, texts, executables: executables.clone() });
        Ok(executables)
    }
}

/// Appends the executables of a stage.
fn inspect(code: &TieredCode, texts: bool, out: &mut Vec<Executable>) -> Result<(), Error> {
    let began = Instant::now();
    let described = code.request().with_prepared_ir(PreparedIr::describe)?;
    let before = began.elapsed();
    let policy = code.policy();
    let mut made = vec![compile_with_tier(&described, policy.first(), texts)?];
    if let Some(better) = policy.first().better_tiers().next().filter(|_| policy.tiers_up()) {
        made.push(compile_with_tier(&described, better, texts)?);
        // If the better tiers do not accept the function, the first tier's code stays.
        made.dedup_by_key(|made| made.tier);
    }
    let words = code.key().words().len();
    out.extend(made.into_iter().map(|made| executable(&described, words, before, policy, made)));
    Ok(())
}

/// Code made by a tier.
struct CompiledCode {
    tier: Tier,
    code: MachineCode,
    time: Duration,
    texts: Vec<Text>,
}

fn compile_with_tier(described: &CompileDescription, wanted: Tier, texts: bool) -> Result<CompiledCode, Error> {
    let began = Instant::now();
    let (mut code, mut tier) = generate(&described.emission_of(wanted).lir, wanted)?;
    if tier != wanted {
        (code, tier) = generate(&described.emission.lir, tier)?;
    }
    let time = began.elapsed();
    // The code is made again for the texts, because they would add to the measured time.
    let texts = if texts { tier.described(&described.emission_of(tier).lir)?.2 } else { Vec::new() };
    Ok(CompiledCode { tier, code, time, texts })
}

fn executable(
    described: &CompileDescription,
    words: usize,
    before: Duration,
    policy: Policy,
    made: CompiledCode,
) -> Executable {
    let (info, emission) = (&described.info, described.emission_of(made.tier));
    let (stage, lanes, tier) = (info.stage_info.stage(), info.lanes, made.tier.row().name);
    let when = if made.tier == policy.first() || !policy.tiers_up() {
        "made for the pipeline's creation"
    } else {
        "takes the first code's place when that has run for long"
    };
    let statistic = |name, description, value| Statistic { name, description, value };
    let shared = info.stage_info.workgroup().map_or(0, |info| info.shared_bytes);
    let statistics = vec![
        statistic("Code size", "Bytes of machine code, with its constants and tables", made.code.bytes.len() as u64),
        statistic("Stack frame", "Bytes of stack: most are registers that were spilled", made.code.frame.into()),
        statistic("Scratch memory", "Bytes of private memory of a chunk of lanes", emission.scratch_bytes.into()),
        statistic("Workgroup memory", "Bytes of memory of a workgroup", shared.into()),
        statistic("SPIR-V words", "Length of the module", words as u64),
        statistic("IR instructions", "Instructions after all passes", described.ir_instructions as u64),
        statistic("LIR instructions", "Instructions that code is selected from", emission.lir.insts.len() as u64),
        statistic("Compile time", "Nanoseconds from SPIR-V to LIR, when last asked", before.as_nanos() as u64),
        statistic("Code time", "Nanoseconds from LIR to machine code, when last asked", made.time.as_nanos() as u64),
    ];
    let mut texts = Vec::new();
    if !made.texts.is_empty() {
        let text = |name, description, text| Text { name, description, text };
        texts.push(text("IR", "Structured SIMT SSA, after all passes", described.ir.clone()));
        texts.push(text("LIR", "Low SSA on vectors of all lanes", emission.lir.to_string()));
        texts.extend(made.texts);
        texts.push(text("Machine code", "Offset and bytes, in hexadecimal", hexadecimal(&made.code.bytes)));
    }
    Executable {
        stage,
        lanes,
        name: format!("{stage:?} by tier {tier}"),
        description: format!("{stage:?} stage, {lanes} lanes, code of tier {tier}: {when}"),
        statistics,
        texts,
    }
}

/// Formats bytes in hexadecimal, 16 to a line.
fn hexadecimal(code: &[u8]) -> String {
    let mut text = String::with_capacity(code.len() * 4);
    for (i, line) in code.chunks(16).enumerate() {
        let _ = write!(text, "{:06x}:", 16 * i);
        for byte in line {
            let _ = write!(text, " {byte:02x}");
        }
        text.push('\n');
    }
    text
}
