//! The packages for Windows: the zip file under wine, and the wheel as pip installs it there.
//!
//! They are made of the binaries that the step `Windows under wine` of CI builds. Without them, or
//! without the root of wine, the tests are skipped.

use crate::snippets::{snippet, value};
use crate::support::{attempt, has, make, root, run, say, scratch, text};
use grus_dist::options::Prebuilt;
use grus_dist::target;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// Returns the package whose name ends so; `None` if the binaries do not exist.
fn package(end: &str) -> Option<PathBuf> {
    static ALL: LazyLock<Option<Vec<PathBuf>>> = LazyLock::new(|| {
        let built = root().join("target/x86_64-pc-windows-gnu/wine");
        let prebuilt = Prebuilt { library: built.join("vulkan_grus.dll"), runner: built.join("cts-runner.exe") };
        if !prebuilt.library.is_file() || !prebuilt.runner.is_file() {
            say("skipped: no binaries for Windows");
            return None;
        }
        Some(make(root(), target::find("x86_64-windows").expect("a row"), prebuilt, "packages-windows"))
    });
    let all = ALL.as_ref()?;
    Some(all.iter().find(|path| path.to_string_lossy().ends_with(end)).expect(end).clone())
}

/// Reports whether programs for Windows can run; prints why a test is skipped otherwise.
fn has_wine() -> bool {
    let folder = std::env::var_os("GRUS_WINE_ROOT").map_or_else(|| root().join("target/wine"), PathBuf::from);
    let is_there = folder.join("complete").exists();
    if !is_there {
        say("skipped: no root of wine");
    }
    is_there
}

/// Returns a command for a program of a folder. The loader of wine does not stand in its way.
fn wine(folder: &Path, program: &str) -> Command {
    let mut command = Command::new(root().join(".ci/wine"));
    command.arg(program).current_dir(folder).env("WINEDLLOVERRIDES", "vulkan-1=n");
    command
}

/// Returns the hash of the demo's picture.
fn picture(command: &mut Command) -> String {
    let printed = run(command.args(["--size", "320x180", "--frames", "2", "--out", "demo.png"]));
    let line = printed.lines().find_map(|line| line.strip_prefix("picture"));
    line.unwrap_or_else(|| panic!("no picture: {printed}")).trim().to_owned()
}

#[test]
fn the_zip_file_works_in_any_folder() {
    let Some(file) = package(".zip").filter(|_| has_wine() && has("python3")) else { return };
    let unpacked = scratch("zip");
    run(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(&file).arg(&unpacked));
    let folder = unpacked.canonicalize().expect("a path").join(file.file_stem().expect("a name"));
    let icd = run(wine(&folder, "cts-runner.exe").args(["run", "--print-icd"]));
    let icd = icd.trim();
    assert_eq!(Path::new(&icd.trim_start_matches("Z:").replace('\\', "/")), folder.join("grus_icd.json"));
    let printed = attempt(wine(&folder, "cts-runner.exe").args(["run", "--", "cmd", "/c", "set VK_&exit 7"]));
    assert_eq!(printed.status.code(), Some(7), "{}", text(&printed));
    for variable in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] {
        assert!(text(&printed).contains(&format!("{variable}={icd}")), "{}", text(&printed));
    }
    std::fs::write(folder.join("needs.json"), r#"{"apiVersion": "9.0"}"#).expect("a file");
    let refused = attempt(wine(&folder, "cts-runner.exe").args(["run", "--require", "needs.json"]));
    assert!(refused.status.code() == Some(125) && text(&refused).contains("9.0"), "{}", text(&refused));
    // The picture is that of Linux, whether the driver is opened directly or in the loader's place.
    let native = picture(Command::new(root().join("target/release/cts-runner")).arg("demo").current_dir(&unpacked));
    assert_eq!(picture(wine(&folder, "cts-runner.exe").args(["demo", "--no-loader"])), native);
    std::fs::copy(folder.join("loader/vulkan-1.dll"), folder.join("vulkan-1.dll")).expect("a copy");
    assert_eq!(picture(wine(&folder, "cts-runner.exe").args(["demo", "--loader"])), native);
}

/// Installs the wheel as pip does on Windows. Python runs on this system, with the names and
/// functions of Windows in place of its own.
#[test]
fn the_wheel_has_the_names_of_windows() {
    let Some(file) = package("-win_amd64.whl").filter(|_| has("python3")) else { return };
    let folder = scratch("wheel-windows");
    run(Command::new("python3").args(["-m", "venv"]).arg(folder.join("environment")));
    let python = folder.join("environment/bin/python");
    let options = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--only-binary=:all:"];
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install"]).args(options).args(["--platform", "win_amd64", "--target"]);
    run(pip.arg(folder.join("packages")).arg(&file));
    let mut check = Command::new(&python);
    check.arg(root().join("packages/python/tests/windows.py")).arg(&file).arg(folder.join("packages"));
    run(check.env("PYTHONDONTWRITEBYTECODE", "1"));
}

/// Runs the step of the snippet by the shell of this system, and the programs in it by wine.
#[test]
fn the_snippet_for_windows_installs_the_driver() {
    let yaml = snippet("yaml", "-windows");
    let Some(file) = package(".zip") else { return };
    let name = file.file_stem().expect("a name").to_string_lossy();
    assert_eq!(value(&yaml, "GRUS:"), name, "the snippet names this version");
    if !has_wine() || !has("curl") || !has("unzip") {
        return;
    }
    let (_, script) = yaml.split_once("run: |\n").expect("a script");
    let program = "$GRUS/cts-runner.exe";
    assert!(script.contains(program), "{script}");
    let by_wine = format!("'{}' {program}", root().join(".ci/wine").display());
    let folder = scratch("windows-step");
    std::fs::write(folder.join("vulkan.json"), r#"{"features": ["rayQuery"]}"#).expect("a file");
    let packages = file.parent().expect("a folder");
    let mut step = Command::new("bash");
    step.args(["-ec", &script.replace(program, &by_wine)]).current_dir(&folder).env("GRUS", &*name);
    run(step.env("GRUS_URL", format!("file://{}", packages.display())));
    let unpacked = folder.join(&*name);
    let query = [r"query", r"HKLM\SOFTWARE\Khronos\Vulkan\Drivers", "/reg:64"];
    let registered = |registry: &str| registry.contains(r"\Grus\grus_icd.json");
    let installed = run(wine(&unpacked, "reg.exe").args(query));
    assert!(registered(&installed), "{installed}");
    run(wine(&unpacked, "cts-runner.exe").arg("uninstall"));
    assert!(!registered(&text(&attempt(wine(&unpacked, "reg.exe").args(query)))));
}
