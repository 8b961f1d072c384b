//! Tests of the conformance version, and of `GRUS_CONFORMANCE_VERSION`. The version is constant for
//! the life of a process, so each value has a child process.

use crate::common::Context;
use ash::vk;

const VARIABLE: &str = "GRUS_CONFORMANCE_VERSION";
const EXPECTED: &str = "GRUS_TEST_WANTED";
const NAME: &str = "conformance::the_variable_sets_the_conformance_version";

/// Returns the version in both structures that report it.
fn reported() -> [[u8; 4]; 2] {
    let c = Context::new(&[], &[]);
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    let mut core = vk::PhysicalDeviceVulkan12Properties::default();
    let mut both = vk::PhysicalDeviceProperties2::default().push_next(&mut driver).push_next(&mut core);
    // SAFETY: valid usage.
    unsafe { c.instance.get_physical_device_properties2(c.physical, &mut both) };
    [driver.conformance_version, core.conformance_version].map(|v| [v.major, v.minor, v.subminor, v.patch])
}

/// Returns the version that may be reported: that of the CTS of which `docs/conformance.md` has a
/// complete run, if that run was clean; else zeros.
fn earned() -> String {
    let page = include_str!("../../../docs/conformance.md");
    let clean = page.lines().any(|line| line.starts_with("Complete: all ") && line.ends_with("; as expected."));
    let version = page.lines().find_map(|line| line.strip_prefix("| CTS | vulkan-cts-")?.split('-').next());
    version.filter(|_| clean).map_or("0 0 0 0".into(), |version| version.replace('.', " "))
}

#[test]
fn the_variable_sets_the_conformance_version() {
    if let Ok(wanted) = std::env::var(EXPECTED) {
        let wanted: Vec<u8> = wanted.split(' ').map(|n| n.parse().unwrap()).collect();
        assert_eq!(reported().map(Vec::from), [wanted.clone(), wanted]);
        return;
    }
    let child = |value: Option<&str>, wanted: &str, ignored: bool| {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", NAME, "--nocapture"]).env(EXPECTED, wanted).env("GRUS_LOG", "1");
        match value {
            Some(value) => command.env(VARIABLE, value),
            None => command.env_remove(VARIABLE),
        };
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{value:?}: {said}");
        assert_eq!(said.contains(&format!("{VARIABLE}={} is ignored", value.unwrap_or(""))), ignored, "{said}");
    };
    let earned = earned();
    child(None, &earned, false);
    child(Some("1.4.1.3"), "1 4 1 3", false);
    child(Some("0"), "0 0 0 0", false);
    for invalid in ["", "1.3", "1.3.0.0.0", "1.3.0.256", "1.3.+1.0", "1.3..0", "yes"] {
        child(Some(invalid), &earned, true);
    }
}
