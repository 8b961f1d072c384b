//! The conformance version that the driver reports (`VkPhysicalDeviceDriverProperties`,
//! `VkPhysicalDeviceVulkan12Properties`).

#![forbid(unsafe_code)]

use ash::vk::ConformanceVersion;
use std::sync::OnceLock;

/// Version of the CTS of which a complete run on Grus was clean (`docs/conformance.md`). Zeros
/// would mean that there was none, so that nothing is claimed.
pub const CONFORMANCE_VERSION: ConformanceVersion = ConformanceVersion { major: 1, minor: 4, subminor: 6, patch: 1 };

/// Variable that replaces [`CONFORMANCE_VERSION`]: `a.b.c.d`, numbers below 256, or `0`.
const VARIABLE: &str = "GRUS_CONFORMANCE_VERSION";

/// Returns the version that the variable gives; the error says why the variable is ignored.
fn requested() -> &'static Result<Option<ConformanceVersion>, String> {
    static REQUESTED: OnceLock<Result<Option<ConformanceVersion>, String>> = OnceLock::new();
    REQUESTED.get_or_init(|| {
        let Some(text) = std::env::var_os(VARIABLE) else { return Ok(None) };
        let text = text.to_string_lossy();
        let invalid = || format!("{VARIABLE}={text} is ignored: neither a.b.c.d, numbers below 256, nor 0");
        parse(&text).map(Some).ok_or_else(invalid)
    })
}

/// Returns `conformanceVersion`.
pub fn conformance_version() -> ConformanceVersion {
    requested().as_ref().ok().copied().flatten().unwrap_or(CONFORMANCE_VERSION)
}

/// Returns the reason why the variable is ignored, if it is.
pub fn ignored_reason() -> Option<&'static str> {
    requested().as_ref().err().map(String::as_str)
}

fn parse(text: &str) -> Option<ConformanceVersion> {
    let text = text.trim();
    if text == "0" {
        return Some(ConformanceVersion::default());
    }
    let mut parts = text.split('.').map(|part| {
        let digits = part.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| part.parse().ok()).flatten()
    });
    let mut next = || parts.next().flatten();
    let version = ConformanceVersion { major: next()?, minor: next()?, subminor: next()?, patch: next()? };
    parts.next().is_none().then_some(version)
}
