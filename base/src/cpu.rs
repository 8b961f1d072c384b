//! Processor features, as the C library found them.
//!
//! CPUID takes some dozens of cycles, but microseconds if the monitor of a virtual machine answers
//! it, as on most machines of continuous integration. The standard library's detection executes it
//! ten times, once per library. The C library (glibc since 2.33) has executed it before the process
//! runs, and reports the result. With another C library, the standard library's detection is used.
//!
//! The variable `GRUS_CPU` removes features: those of a level of x86-64 remain (`v2`, `v3`, `v4`;
//! with `v1` there is no device). A test can thus compute on one machine what other machines would
//! compute.

#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicU32, Ordering};

macro_rules! features {
    ($($name:ident $text:tt [$leaf:literal $register:literal $bit:literal];)*) => {
        /// A feature; its number is its bit in a [`CpuFeatures`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        #[allow(missing_docs, reason = "the processors' names")]
        pub enum CpuFeature {
            $($name),*
        }

        /// Place of each feature: the number of its CPUID leaf in glibc's `sys/platform/x86.h`, the
        /// register (EAX, EBX, ECX, EDX), and the bit.
        const CPUID_BITS: &[(CpuFeature, usize, usize, u32)] = &[$((CpuFeature::$name, $leaf, $register, $bit)),*];

        /// Returns the features that the standard library detects.
        fn from_std() -> CpuFeatures {
            CpuFeatures::NONE$(.with(CpuFeature::$name, std::is_x86_feature_detected!($text)))*
        }
    };
}

features! {
    Sse3 "sse3" [0 2 0];
    Ssse3 "ssse3" [0 2 9];
    Sse41 "sse4.1" [0 2 19];
    Sse42 "sse4.2" [0 2 20];
    Avx "avx" [0 2 28];
    Avx2 "avx2" [1 1 5];
    Fma "fma" [0 2 12];
    Popcnt "popcnt" [0 2 23];
    Bmi1 "bmi1" [1 1 3];
    Bmi2 "bmi2" [1 1 8];
    Lzcnt "lzcnt" [2 2 5];
    F16c "f16c" [0 2 29];
    Avx512f "avx512f" [1 1 16];
    Avx512cd "avx512cd" [1 1 28];
    Avx512dq "avx512dq" [1 1 17];
    Avx512bw "avx512bw" [1 1 30];
    Avx512vl "avx512vl" [1 1 31];
    Avx512vbmi "avx512vbmi" [1 2 1];
}

/// A set of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuFeatures(u32);

impl CpuFeatures {
    /// The empty set.
    pub const NONE: CpuFeatures = CpuFeatures(0);

    /// Returns the set of the given features.
    pub const fn from_features(features: &[CpuFeature]) -> CpuFeatures {
        let (mut set, mut i) = (CpuFeatures::NONE, 0);
        while i < features.len() {
            set = set.with(features[i], true);
            i += 1;
        }
        set
    }

    const fn with(self, feature: CpuFeature, is: bool) -> CpuFeatures {
        CpuFeatures(self.0 | (is as u32) << feature as u32)
    }

    /// Returns true if the set has all features of `others`.
    #[inline(always)]
    pub const fn contains(self, others: CpuFeatures) -> bool {
        self.0 & others.0 == others.0
    }

    /// Returns the features of this processor that the system lets programs use.
    #[inline(always)]
    pub fn detect() -> CpuFeatures {
        match FOUND.load(Ordering::Relaxed) {
            0 => detect_uncached(),
            found => CpuFeatures(found & !DETECTED),
        }
    }
}

/// The features that were found, with [`DETECTED`]; 0 before the first query.
static FOUND: AtomicU32 = AtomicU32::new(0);
const DETECTED: u32 = 1 << 31;

/// Levels of x86-64 by name, each with the features that it adds to those before it.
const LEVELS: [(&str, CpuFeatures); 4] = {
    use CpuFeature::*;
    [
        ("v1", CpuFeatures::NONE),
        ("v2", CpuFeatures::from_features(&[Sse3, Ssse3, Sse41, Sse42, Popcnt])),
        ("v3", CpuFeatures::from_features(&[Avx, Avx2, Fma, Bmi1, Bmi2, Lzcnt, F16c])),
        ("v4", CpuFeatures::from_features(&[Avx512f, Avx512cd, Avx512dq, Avx512bw, Avx512vl])),
    ]
};

/// Returns the features of the level of that name; for an empty or unknown name, all features.
fn of_level(name: &str) -> CpuFeatures {
    match LEVELS.iter().position(|level| level.0 == name) {
        Some(last) => LEVELS[..=last].iter().fold(CpuFeatures::NONE, |all, level| CpuFeatures(all.0 | level.1.0)),
        None => CpuFeatures(!DETECTED),
    }
}

#[cold]
fn detect_uncached() -> CpuFeatures {
    let max = of_level(&std::env::var("GRUS_CPU").unwrap_or_default());
    let found = CpuFeatures(from_libc().unwrap_or_else(from_std).0 & max.0);
    FOUND.store(found.0 | DETECTED, Ordering::Relaxed);
    found
}

/// Returns the features that the C library reports, if it is one that does.
fn from_libc() -> Option<CpuFeatures> {
    let leaves = crate::os::active_cpuid_leaves()?;
    let found = CPUID_BITS.iter().fold(CpuFeatures::NONE, |set, &(feature, leaf, register, bit)| {
        set.with(feature, leaves[leaf][register] >> bit & 1 != 0)
    });
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libc_and_std_detect_the_same_features() {
        assert!(from_std().contains(CpuFeatures::detect()));
        assert!(from_libc().is_none_or(|from_libc| from_libc == from_std()), "{:?}", from_libc());
    }

    #[test]
    fn levels_include_the_lower_levels() {
        let all = ["v1", "v2", "v3", "v4", "", "v9"].map(of_level);
        assert!(all[..5].windows(2).all(|pair| pair[1].contains(pair[0]) && pair[1] != pair[0]));
        assert_eq!(all[4], all[5]);
        assert!(!all[2].contains(CpuFeatures::from_features(&[CpuFeature::Avx512f])));
    }
}
