//! The processor that code is made for: which features emission and the back ends may use.
//!
//! Features change which instructions are chosen, never a result: without FMA a fused multiply-add goes through the
//! context's helper. What every processor of an architecture has is a feature too where another one may lack it.

#![forbid(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use base::cpu::{CpuFeature, CpuFeatures};
use std::sync::OnceLock;

/// A feature of processors.
pub struct Feature {
    /// What it is called, here and by Cranelift, where that has a setting of it.
    pub name: &'static str,
    /// Cranelift has one, and is told of it.
    pub setting: bool,
    /// This CPU has it.
    pub present: bool,
}

/// The architecture's name, as in a target triple; `None` for one that no back end knows.
pub const ARCHITECTURE: Option<&str> = if cfg!(target_arch = "x86_64") {
    Some("x86_64")
} else if cfg!(target_arch = "aarch64") {
    Some("aarch64")
} else {
    None
};

/// What code takes for granted on every processor of the architecture, as the rasterizer's kernels do ([`base::host::Level::Portable`]).
pub const REQUIRED: &[&str] = if cfg!(target_arch = "x86_64") { &["has_sse3", "has_ssse3", "has_sse41"] } else { &[] };

#[cfg(target_arch = "x86_64")]
macro_rules! features {
    ($($name:literal $feature:ident $setting:literal),* $(,)?) => {{
        let here = CpuFeatures::here();
        let present = |feature| here.contains(CpuFeatures::of(&[feature]));
        vec![$(Feature { name: $name, setting: $setting, present: present(CpuFeature::$feature) }),*]
    }};
}

#[cfg(target_arch = "x86_64")]
fn found() -> Vec<Feature> {
    features! {
        "has_sse3" Sse3 true,
        "has_ssse3" Ssse3 true,
        "has_sse41" Sse41 true,
        "has_sse42" Sse42 true,
        "has_avx" Avx true,
        "has_avx2" Avx2 true,
        "has_fma" Fma true,
        "has_popcnt" Popcnt true,
        "has_bmi1" Bmi1 true,
        "has_bmi2" Bmi2 true,
        "has_lzcnt" Lzcnt true,
        "has_f16c" F16c false,
        "has_avx512f" Avx512f false,
        "has_avx512cd" Avx512cd false,
        "has_avx512dq" Avx512dq false,
        "has_avx512bw" Avx512bw false,
        "has_avx512vl" Avx512vl false,
    }
}

#[cfg(target_arch = "aarch64")]
fn found() -> Vec<Feature> {
    vec![
        Feature { name: "has_fma", setting: false, present: true },
        Feature { name: "has_lse", setting: true, present: std::arch::is_aarch64_feature_detected!("lse") },
    ]
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn found() -> Vec<Feature> {
    Vec::new()
}

/// All that matter, in the order of their bits in [`cpu_features`].
pub fn features() -> &'static [Feature] {
    static LIST: OnceLock<Vec<Feature>> = OnceLock::new();
    LIST.get_or_init(found)
}

/// Does this CPU have a feature of the list?
pub fn has(name: &str) -> bool {
    features().iter().any(|f| f.name == name && f.present)
}

/// Can code be made for this CPU?
pub fn is_known() -> bool {
    ARCHITECTURE.is_some() && REQUIRED.iter().all(|name| has(name))
}

/// The first bit of the architecture's features: no other architecture has them, so none takes its code.
const FIRST_BIT: u32 = if cfg!(target_arch = "aarch64") { 32 } else { 0 };

/// CPU features that emitted code may use, a bit each.
pub fn cpu_features() -> u64 {
    (FIRST_BIT..).zip(features()).fold(0, |bits, (i, f)| bits | u64::from(f.present) << i)
}

/// True when fused multiply-add is one instruction.
pub fn has_fma() -> bool {
    has("has_fma")
}
