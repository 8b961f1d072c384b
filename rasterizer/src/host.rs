//! What the host's processor has. Hot loops are compiled twice, for wide hosts and for any host, with the same results: Rust never
//! contracts a multiply and an add, and vectors compute what scalars do.

/// Does the host have what the wide variants use: AVX2 and FMA?
#[inline(always)]
pub fn wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // Both answers are cached by the standard library.
        std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}
