//! The processor that code is made for: which features emission and the back ends may use.
//!
//! Features change which instructions are chosen, never a result: without FMA a fused multiply-add goes through the
//! context's helper.

#![forbid(unsafe_code)]

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
    ($($name:literal $detected:tt $setting:literal),* $(,)?) => {
        vec![$(Feature { name: $name, setting: $setting, present: std::is_x86_feature_detected!($detected) }),*]
    };
}

/// All that matter; the position is the bit in [`cpu_features`].
pub fn features() -> &'static [Feature] {
    static LIST: OnceLock<Vec<Feature>> = OnceLock::new();
    LIST.get_or_init(|| {
        #[cfg(target_arch = "x86_64")]
        {
            features! {
                "has_sse3" "sse3" true,
                "has_ssse3" "ssse3" true,
                "has_sse41" "sse4.1" true,
                "has_sse42" "sse4.2" true,
                "has_avx" "avx" true,
                "has_avx2" "avx2" true,
                "has_fma" "fma" true,
                "has_popcnt" "popcnt" true,
                "has_bmi1" "bmi1" true,
                "has_bmi2" "bmi2" true,
                "has_lzcnt" "lzcnt" true,
                "has_f16c" "f16c" false,
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
