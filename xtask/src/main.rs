//! `cargo xtask generate` writes the generated tables of the driver; `cargo xtask dist` builds the
//! packages.

use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask generate | cargo xtask dist [options]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["generate"] => xtask::generate(),
        ["dist", ..] => dist(&arguments[1..]),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the crate `dist`, which is no member of the workspace, so that builds of the driver compile
/// none of its dependencies.
fn dist(arguments: &[String]) -> Result<(), String> {
    let root = xtask::source::root();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["run", "--quiet", "--locked", "--release", "--manifest-path"]).arg(root.join("dist/Cargo.toml"));
    cargo.arg("--target-dir").arg(root.join("target/dist/tool")).arg("--").args(arguments);
    match cargo.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo xtask dist ended with {status}")),
        Err(error) => Err(format!("cargo: {error}")),
    }
}
