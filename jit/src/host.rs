//! The processor that code is made for: the features that emission and the back ends may use.
//!
//! Features change which instructions are chosen, never a result: without FMA, a fused multiply-add
//! calls the context's helper. A feature that every processor of one architecture has is listed too
//! if another architecture may lack it.

#![forbid(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use base::cpu::{CpuFeature, CpuFeatures};
use std::sync::OnceLock;

/// A feature of processors.
pub struct Feature {
    /// Name of the feature, here and in Cranelift's settings if it has one.
    pub name: &'static str,
    /// Cranelift has a setting for the feature.
    pub setting: bool,
    /// This processor has the feature.
    pub present: bool,
}

/// Name of the architecture as in a target triple; `None` for one that no back end supports.
pub const ARCHITECTURE: Option<&str> = if cfg!(target_arch = "x86_64") {
    Some("x86_64")
} else if cfg!(target_arch = "aarch64") {
    Some("aarch64")
} else {
    None
};

/// Features that code relies on for every processor of the architecture, as the rasterizer's
/// kernels do ([`base::host::SimdLevel::Portable`]).
pub const REQUIRED: &[&str] = if cfg!(target_arch = "x86_64") { &["has_sse3", "has_ssse3", "has_sse41"] } else { &[] };

#[cfg(target_arch = "x86_64")]
macro_rules! features {
    ($($name:literal $feature:ident $setting:literal),* $(,)?) => {{
        let here = CpuFeatures::detect();
        let present = |feature| here.contains(CpuFeatures::from_features(&[feature]));
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

/// Returns all features that matter, in the order of their bits in [`cpu_features`].
pub fn features() -> &'static [Feature] {
    static LIST: OnceLock<Vec<Feature>> = OnceLock::new();
    LIST.get_or_init(found)
}

/// Returns true if this processor has a feature of the list.
pub fn has(name: &str) -> bool {
    features().iter().any(|f| f.name == name && f.present)
}

/// Returns true if code can be made for this processor.
pub fn is_known() -> bool {
    ARCHITECTURE.is_some() && REQUIRED.iter().all(|name| has(name))
}

/// Number of the first bit of the architecture's features. No other architecture has these bits, so
/// that none accepts its code.
const FIRST_BIT: u32 = if cfg!(target_arch = "aarch64") { 32 } else { 0 };

/// Returns the processor features that emitted code may use, a bit each.
pub fn cpu_features() -> u64 {
    (FIRST_BIT..).zip(features()).fold(0, |bits, (i, f)| bits | u64::from(f.present) << i)
}

/// Returns true if fused multiply-add is one instruction.
pub fn has_fma() -> bool {
    has("has_fma")
}
