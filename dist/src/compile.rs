//! Builds of the binaries.

use crate::options::Prebuilt;
use crate::process::{output, run};
use crate::release::Release;
use crate::target::{Linker, Target};
use crate::zig::{self, Zig};
use crate::{Binaries, Result, read};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variables that would change the bytes of a build.
const FOREIGN: [&str; 6] = [
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
];

/// Builds the library and `cts-runner` for a target, below `target/dist` of the repository.
///
/// # Errors
/// Returns a message if a tool is missing or the build fails.
pub fn compile(root: &Path, target: &Target, release: &Release) -> Result<Binaries> {
    let folder = root.join("target/dist");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let linker = linker(&target.linker, &folder)?;
    let rust = target.rust;
    let variable = format!("CARGO_TARGET_{}_LINKER", rust.to_uppercase().replace('-', "_"));
    let mut cargo = cargo();
    FOREIGN.iter().for_each(|name| {
        cargo.env_remove(name);
    });
    // Settings of folders above the repository do not apply, because cargo runs in another one.
    cargo.current_dir("/").arg("--config").arg(root.join(".cargo/config.toml"));
    cargo.args(["build", "--locked", "--release", "--lib", "--bins", "-p", "grus-icd", "-p", "cts-runner"]);
    cargo.args(["--target", rust]).arg("--manifest-path").arg(root.join("Cargo.toml"));
    cargo.arg("--target-dir").arg(&folder).env("RUSTC_WRAPPER", compiler(root, &folder)?);
    cargo.env(variable, linker).env("SOURCE_DATE_EPOCH", release.epoch.to_string()).env("GRUS_PACKAGE", "1");
    cargo.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_RELEASE_DEBUG", "0");
    cargo.env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    run(&mut cargo)?;
    let built = folder.join(rust).join("release");
    let file = |name: &str| read(&built.join(name));
    let binaries = Binaries { library: file(target.system.library())?, runner: file(target.system.runner())? };
    reject_paths(&binaries, root)?;
    Ok(binaries)
}

/// Returns the path of a program that links for a target.
fn linker(linker: &Linker, folder: &Path) -> Result<PathBuf> {
    match linker {
        Linker::Zig(target) => Zig::install(&folder.join("zig"))?.linker(target),
        Linker::Installed(command) => {
            let path = folder.join("link");
            zig::write(&path, &format!("#!/bin/sh\nexec {command} \"$@\"\n"), 0o755)?;
            Ok(path)
        }
    }
}

/// Refuses binaries that contain a path of the repository or of cargo's home. `env!` puts such
/// paths into programs, and no flag of rustc replaces them.
fn reject_paths(binaries: &Binaries, root: &Path) -> Result<()> {
    const FOLDERS: [&str; 6] = ["base", "cts-runner", "icd", "jit", "rasterizer", "target"];
    // In a folder with the name of the replacement, the bytes are those of every build.
    let in_root = FOLDERS.iter().filter(|_| root != Path::new(ROOT)).map(|folder| root.join(folder));
    let home = home()?;
    let in_home = (home != Path::new(HOME)).then(|| home.join("registry"));
    for path in in_root.chain(in_home) {
        let text = path.as_os_str().as_encoded_bytes();
        let contains = |bytes: &[u8]| bytes.windows(text.len()).any(|part| part == text);
        if contains(&binaries.library) || contains(&binaries.runner) {
            return Err(format!("the binaries contain the path {}", path.display()));
        }
    }
    Ok(())
}

/// Replacement of the repository's path in binaries.
const ROOT: &str = "/grus";
/// Replacement of the path of cargo's home.
const HOME: &str = "/cargo";

/// Returns cargo's home, where the sources of crates are.
fn home() -> Result<PathBuf> {
    match std::env::var_os("CARGO_HOME") {
        Some(home) => Ok(PathBuf::from(home)),
        None => Ok(PathBuf::from(std::env::var_os("HOME").ok_or("HOME is not set")?).join(".cargo")),
    }
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Writes a program that calls rustc for the linker of a target, with paths of this machine
/// replaced by fixed ones, and returns its path. As flags of cargo, the replacements would be part
/// of the hashes in symbol names.
fn compiler(root: &Path, folder: &Path) -> Result<PathBuf> {
    // The last replacement that matches applies.
    let replace = |from: &Path, to: &str| format!(" '--remap-path-prefix={}={to}'", from.display());
    let flags = [replace(&home()?, HOME), replace(root, ROOT), replace(folder, "/build")].concat();
    // rustc guesses the kind of a linker by its name: `link` would be that of MSVC, which takes
    // other options. All linkers are C compilers.
    let path = folder.join("rustc");
    zig::write(&path, &format!("#!/bin/sh\nexec \"$@\"{flags} -Clinker-flavor=gcc\n"), 0o755)?;
    Ok(path)
}

/// Reads binaries that exist, without their symbols.
///
/// # Errors
/// Returns a message if a file is missing or symbols cannot be removed.
pub fn prebuilt(files: &Prebuilt, target: &Target) -> Result<Binaries> {
    let strip = |path: &Path| {
        let part = std::env::temp_dir().join(format!("grus-dist-{}", std::process::id()));
        let stripped =
            output(Command::new(target.system.strip()).arg("-o").arg(&part).arg(path)).and_then(|_| read(&part));
        let _ = std::fs::remove_file(&part);
        stripped
    };
    Ok(Binaries { library: strip(&files.library)?, runner: strip(&files.runner)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Links a program for Windows by the files that a build uses.
    #[test]
    fn rustc_calls_the_linker_as_a_compiler() {
        let target = crate::target::find("x86_64-windows").expect("a row");
        let libraries = output(Command::new("rustc").args(["--print", "target-libdir", "--target", target.rust]));
        let is_installed = libraries.is_ok_and(|folder| Path::new(folder.trim()).is_dir());
        if !is_installed || output(Command::new("x86_64-w64-mingw32-gcc").arg("--version")).is_err() {
            eprintln!("skipped: no mingw-w64, or no Rust target {}", target.rust);
            return;
        }
        let folder = std::env::temp_dir().join(format!("grus-link-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let source = folder.join("program.rs");
        std::fs::write(&source, "fn main() {}").expect("a file");
        let wrapper = compiler(Path::new("/src/grus"), &folder).expect("a wrapper");
        let linker = linker(&target.linker, &folder).expect("a linker");
        let mut rustc = Command::new(wrapper);
        rustc.args(["rustc", "--target", target.rust]).arg(format!("-Clinker={}", linker.display()));
        let linked = run(rustc.arg(&source).arg("--out-dir").arg(&folder));
        let program = read(&folder.join("program.exe"));
        std::fs::remove_dir_all(&folder).expect("removal");
        assert_eq!(linked, Ok(()));
        assert!(program.expect("a program").starts_with(b"MZ"));
    }

    #[test]
    fn binaries_with_paths_of_the_build_are_refused() {
        let check = |library: &str, root: &str| {
            let binaries = Binaries { library: library.into(), runner: Vec::new() };
            reject_paths(&binaries, Path::new(root))
        };
        assert!(check("a byte/src/grus/cts-runner/tests", "/src/grus").is_err());
        assert_eq!(check("/grus/icd/src/lib.rs", "/src/grus"), Ok(()));
        assert_eq!(check("/grus/icd/src/lib.rs", ROOT), Ok(()));
    }
}
