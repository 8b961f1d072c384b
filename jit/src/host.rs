//! The processor that code is made for: which features emission and the back ends may use.
//!
//! Features change which instructions are chosen, never a result: without FMA a fused multiply-add goes through the
//! context's helper.

#![forbid(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use base::cpu::{CpuFeature, CpuFeatures};
use std::sync::OnceLock;

/// A feature of processors.
pub struct Feature {
    /// What it is called, here and by Cranelift, where that has a setting of it.
    pub name: &'static str,
    /// Cranelift has one.
    pub setting: bool,
    /// This CPU has it.
    pub present: bool,
}

macro_rules! features {
    ($($name:literal $feature:ident $setting:literal),* $(,)?) => {{
        let here = CpuFeatures::here();
        let present = |feature| here.contains(CpuFeatures::of(&[feature]));
        vec![$(Feature { name: $name, setting: $setting, present: present(CpuFeature::$feature) }),*]
    }};
}

/// All that matter; the position is the bit in [`cpu_features`].
pub fn features() -> &'static [Feature] {
    static LIST: OnceLock<Vec<Feature>> = OnceLock::new();
    LIST.get_or_init(|| {
        #[cfg(target_arch = "x86_64")]
        {
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
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        Vec::new()
    })
}

/// Does this CPU have a feature of the list?
pub fn has(name: &str) -> bool {
    features().iter().any(|f| f.name == name && f.present)
}

/// CPU features that emitted code may use, a bit each.
pub fn cpu_features() -> u64 {
    features().iter().enumerate().fold(0, |bits, (i, f)| bits | u64::from(f.present) << i)
}

/// True when fused multiply-add is one instruction.
pub fn has_fma() -> bool {
    has("has_fma")
}
