//! The processor that code is made for: which features emission and the back ends may use.
//!
//! Features change which instructions are chosen, never a result: without FMA a fused multiply-add goes through the
//! context's helper.

#![forbid(unsafe_code)]

use std::sync::OnceLock;

/// A feature's name and whether this CPU has it; the position is the bit in [`cpu_features`].
pub fn features() -> &'static [(&'static str, bool)] {
    static LIST: OnceLock<Vec<(&'static str, bool)>> = OnceLock::new();
    LIST.get_or_init(|| {
        #[cfg(target_arch = "x86_64")]
        {
            vec![
                ("has_sse3", std::is_x86_feature_detected!("sse3")),
                ("has_ssse3", std::is_x86_feature_detected!("ssse3")),
                ("has_sse41", std::is_x86_feature_detected!("sse4.1")),
                ("has_sse42", std::is_x86_feature_detected!("sse4.2")),
                ("has_avx", std::is_x86_feature_detected!("avx")),
                ("has_avx2", std::is_x86_feature_detected!("avx2")),
                ("has_fma", std::is_x86_feature_detected!("fma")),
                ("has_popcnt", std::is_x86_feature_detected!("popcnt")),
                ("has_bmi1", std::is_x86_feature_detected!("bmi1")),
                ("has_bmi2", std::is_x86_feature_detected!("bmi2")),
                ("has_lzcnt", std::is_x86_feature_detected!("lzcnt")),
                ("has_f16c", std::is_x86_feature_detected!("f16c")),
            ]
        }
        #[cfg(not(target_arch = "x86_64"))]
        Vec::new()
    })
}

/// Does this CPU have a feature of the list?
pub fn has(name: &str) -> bool {
    features().iter().any(|&(n, present)| n == name && present)
}

/// CPU features that emitted code may use, a bit each.
pub fn cpu_features() -> u64 {
    features().iter().enumerate().fold(0, |bits, (i, &(_, present))| bits | u64::from(present) << i)
}

/// True when fused multiply-add is one instruction.
pub fn has_fma() -> bool {
    has("has_fma")
}
