//! Cranelift's target: this processor, with its features.

use crate::error::{Error, Result};
use crate::host;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use std::sync::OnceLock;

/// A step of code generation, which selects Cranelift's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Optimises Cranelift's IR.
    Optimise,
    /// Makes code with registers from a single pass: linear time, much spilling.
    SinglePass,
    /// Makes code with registers from the backtracking allocator, only where
    /// [`crate::regalloc_cost::RegallocCost`] allows it.
    Backtracking,
}

/// Returns the target for a step, which is built once.
///
/// # Errors
/// Unsupported: the driver has no back end for the architecture, or the x86-64 processor has no
/// SSE4.1 (before 2008).
pub fn target(step: Step) -> Result<&'static OwnedTargetIsa> {
    static TARGETS: [OnceLock<Result<OwnedTargetIsa>>; 3] = [const { OnceLock::new() }; 3];
    TARGETS[step as usize].get_or_init(|| build(step)).as_ref().map_err(Clone::clone)
}

fn build(step: Step) -> Result<OwnedTargetIsa> {
    let architecture = host::ARCHITECTURE.filter(|_| host::is_known());
    let Some(architecture) = architecture else {
        return Err(Error::unsupported("shader code needs an AArch64 CPU, or an x86-64 one with SSE4.1"));
    };
    let failed = |e: &dyn std::fmt::Display| Error::internal(format!("Cranelift: {e}"));
    let mut flags = settings::builder();
    let verifier = if cfg!(debug_assertions) { "true" } else { "false" };
    let level = if step == Step::Optimise { "speed" } else { "none" };
    let allocation = if step == Step::SinglePass { "single_pass" } else { "backtracking" };
    for (name, value) in [
        ("opt_level", level),
        ("regalloc_algorithm", allocation),
        ("enable_verifier", verifier),
        ("is_pic", "false"),
        ("unwind_info", "false"),
        // A large frame touches its pages in order, so that it meets a guard page and never skips
        // it.
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
        ("enable_alias_analysis", "true"),
    ] {
        flags.set(name, value).map_err(|e| failed(&e))?;
    }
    let triple = format!("{architecture}-unknown-linux-gnu").parse().map_err(|_| Error::internal("target triple"))?;
    let mut isa = cranelift_codegen::isa::lookup(triple).map_err(|e| failed(&e))?;
    for feature in host::features().iter().filter(|feature| feature.setting) {
        isa.set(feature.name, if feature.present { "true" } else { "false" }).map_err(|e| failed(&e))?;
    }
    isa.finish(settings::Flags::new(flags)).map_err(|e| failed(&e))
}
