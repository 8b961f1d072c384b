//! Builds of the binaries.

use crate::options::Prebuilt;
use crate::process::{output, run};
use crate::release::Release;
use crate::target::Target;
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
pub fn compile(root: &Path, target: Target, release: &Release) -> Result<Binaries> {
    let folder = root.join("target/dist");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let linker = Zig::install(&folder.join("zig"))?.linker(target)?;
    let rust = target.rust();
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
    Ok(Binaries { library: read(&built.join(target.library()))?, runner: read(&built.join("cts-runner"))? })
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Writes a program that calls rustc with paths of this machine replaced by fixed ones, and returns
/// its path. As flags of cargo, the replacements would be part of the hashes in symbol names.
fn compiler(root: &Path, folder: &Path) -> Result<PathBuf> {
    let home = match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => PathBuf::from(std::env::var_os("HOME").ok_or("HOME is not set")?).join(".cargo"),
    };
    // The last replacement that matches applies.
    let replace = |from: &Path, to: &str| format!(" '--remap-path-prefix={}={to}'", from.display());
    let flags = [replace(&home, "/cargo"), replace(root, "/grus"), replace(folder, "/build")].concat();
    let path = folder.join("rustc");
    zig::write(&path, &format!("#!/bin/sh\nexec \"$@\"{flags}\n"), 0o755)?;
    Ok(path)
}

/// Reads binaries that exist, without their symbols.
///
/// # Errors
/// Returns a message if a file is missing or `strip` fails.
pub fn prebuilt(files: &Prebuilt) -> Result<Binaries> {
    let strip = |path: &Path| {
        let part = std::env::temp_dir().join(format!("grus-dist-{}", std::process::id()));
        let stripped = output(Command::new("strip").arg("-o").arg(&part).arg(path)).and_then(|_| read(&part));
        let _ = std::fs::remove_file(&part);
        stripped
    };
    Ok(Binaries { library: strip(&files.library)?, runner: strip(&files.runner)? })
}
