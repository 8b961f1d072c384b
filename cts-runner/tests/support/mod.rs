//! Shared parts of the tests: they find drivers and tools and report missing ones.
//!
//! A missing tool skips a test with "skipped: why". With `CI=true` it fails the test, so that no
//! test is skipped there.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// Returns the manifest of the driver under test. It is `GRUS_TEST_ICD`, or Grus from this
/// checkout, brought up to date in the profile of the tests.
pub fn driver() -> PathBuf {
    static DRIVER: LazyLock<PathBuf> = LazyLock::new(|| match std::env::var_os("GRUS_TEST_ICD") {
        Some(path) => path.into(),
        None => cts_runner::driver::grus_up_to_date(!cfg!(debug_assertions)).expect("the driver is built").path,
    });
    DRIVER.clone()
}

/// Returns the manifest of lavapipe, which is the reference driver.
pub fn reference() -> Result<PathBuf, String> {
    reference_in(Path::new("/"))
}

/// Returns the manifest of lavapipe in another root.
pub fn reference_in(root: &Path) -> Result<PathBuf, String> {
    let folder = root.join("usr/share/vulkan/icd.d");
    let found = std::fs::read_dir(folder).ok().and_then(|entries| {
        entries
            .flatten()
            .map(|e| e.path())
            .find(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("lvp_icd")))
    });
    found.ok_or_else(|| "lavapipe is not installed (mesa-vulkan-drivers)".into())
}

/// Returns the path of a program in `PATH`.
pub fn tool(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|p| p.is_file());
    found.ok_or_else(|| format!("{name} is not installed"))
}

/// Opens the Vulkan loader.
pub fn loader() -> Result<cts_runner::vk::Api, String> {
    cts_runner::vk::Api::open_loader().map_err(|e| e.to_string())
}

/// Prints why a test is skipped. With `CI=true`, the test fails instead.
pub fn skip(why: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "missing in CI: {why}");
    println!("skipped: {why}");
    eprintln!("skipped: {why}");
}

/// Returns a command that only sees one driver.
pub fn command(program: impl AsRef<std::ffi::OsStr>, icd: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("VK_ICD_FILENAMES", icd).env("VK_DRIVER_FILES", icd);
    command
}

/// Runs a command, which must succeed.
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Creates a new folder for a test's files.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder
}

/// Builds an example of this crate and returns its path, because `cargo test` builds examples only
/// when it runs all targets. The features of dependencies are those of the workspace's tests, so
/// that `wgpu` and `naga` are compiled once.
pub fn example(name: &str) -> PathBuf {
    let exe = std::env::current_exe().expect("the path of this test");
    let profile = exe.ancestors().nth(2).expect("the folder of the profile");
    let release = profile.ends_with("release").then_some("--release");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--workspace", "--example", name]).args(release);
    succeed(build.current_dir(cts_runner::driver::workspace()));
    profile.join("examples").join(name)
}

/// Checks that the validation layer reported no messages. The environment enabled it, and it
/// reports on standard output.
pub fn assert_silent(output: &Output) {
    for stream in [&output.stdout, &output.stderr] {
        let text = String::from_utf8_lossy(stream);
        let loud = text.lines().find(|l| l.contains("VUID-") || l.contains("Validation Error"));
        assert!(loud.is_none(), "the validation layer says: {}", loud.unwrap_or_default());
    }
}

/// Checks that the loader and the validation layer exist.
pub fn layer() -> Result<(), String> {
    let found = loader()?.has_layer(cts_runner::vk::VALIDATION_LAYER);
    found.then_some(()).ok_or_else(|| "VK_LAYER_KHRONOS_validation is not installed (vulkan-validationlayers)".into())
}
