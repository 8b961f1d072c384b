//! Packages of the binaries in `target/release`, and commands on them.

use grus_dist::options::{Options, Prebuilt};
use grus_dist::target::{self, Target};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// The target of this machine.
pub static TARGET: LazyLock<&Target> = LazyLock::new(|| target::find(std::env::consts::ARCH).expect("a target"));

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root of the repository").to_path_buf()
}

fn prebuilt() -> Prebuilt {
    let built = root().join("target/release");
    Prebuilt { library: built.join("libvulkan_grus.so"), runner: built.join("cts-runner") }
}

/// Makes all packages of a repository for a target in a new folder.
pub fn make(root: PathBuf, target: &'static Target, prebuilt: Prebuilt, folder: &str) -> Vec<PathBuf> {
    let options = Options { root, targets: vec![target], out: scratch(folder), prebuilt: Some(prebuilt) };
    grus_dist::run(&options).expect("packages")
}

/// Returns the package whose name ends so.
pub fn package(end: &str) -> PathBuf {
    static ALL: LazyLock<Vec<PathBuf>> = LazyLock::new(|| make(root(), &TARGET, prebuilt(), "packages"));
    ALL.iter().find(|path| path.to_string_lossy().ends_with(end)).expect(end).clone()
}

pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Runs a command without the variables of the loader, and returns what it prints.
pub fn run(command: &mut Command) -> String {
    let output = attempt(command);
    let text = text(&output);
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    text
}

pub fn attempt(command: &mut Command) -> Output {
    command.env_remove("VK_DRIVER_FILES").env_remove("VK_ICD_FILENAMES").env_remove("GRUS_HOME");
    command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"))
}

pub fn text(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat()
}

/// Reports whether a tool is there; prints why a test is skipped otherwise.
pub fn has(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(tool).is_file());
    assert!(found || std::env::var("CI").as_deref() != Ok("true"), "missing in CI: {tool}");
    if !found {
        say(&format!("skipped: {tool} is not installed"));
    }
    found
}

/// Prints a line that the test harness does not hide.
pub fn say(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}
