//! Links the unwinder into the library, prevents its unloading, and places the code of a program's
//! start together.
//!
//! `dlclose` does not unload the library, because threads of rayon's pool end some time after the
//! pool is dropped, and cannot be joined.
//!
//! Kernels (the variants that `base::multiversion!` makes) begin at cache lines. The position of
//! their loops in these is worth up to a sixth of their time, and would otherwise change with any
//! code before them.
//!
//! The standard library requests `gcc_s`, a shared library that libc does not provide. In its place
//! the linker finds a script that names the static unwinder of the same compiler.
//!
//! Touching a page of the library loads the fifteen pages around it. `startup.order` names the
//! functions that run before the first pixel (a sixth of the code, scattered over all of it). In a
//! section of their own they take 2 MiB of memory instead of 7. The list has groups, each of
//! functions that one thread runs in one period, followed by a blank line.
//! `cts-runner/examples/startup_order.rs` makes the list. A name that no longer exists is not an
//! error, and the linker places functions that are not listed.

use std::env::var;
use std::fmt::Write;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};

const ORDER: &str = "startup.order";

/// Parts of the mangled names of kernels.
const KERNELS: [&str; 3] = ["8portable17h", "4avx217h", "6avx51217h"];

fn main() -> Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={ORDER}");
    if var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") && var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu") {
        let directory = PathBuf::from(var("OUT_DIR").map_err(Error::other)?);
        std::fs::write(directory.join("libgcc_s.so"), "INPUT(-lgcc_eh -lgcc -lc)\n")?;
        println!("cargo:rustc-link-search=native={}", directory.display());
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
        let script = startup_section(&directory)?;
        println!("cargo:rustc-cdylib-link-arg=-Wl,-T,{}", script.display());
    }
    Ok(())
}

/// Writes a linker script that adds a section of the functions in [`ORDER`], group by group, and
/// one of kernels, those in the list first. The list has prefixes of mangled names, one per line.
fn startup_section(directory: &Path) -> Result<PathBuf> {
    let list = std::fs::read_to_string(ORDER)?;
    let is_kernel = |name: &&str| KERNELS.iter().any(|kernel| name.contains(kernel));
    let mut script = String::from("SECTIONS {\n  .text.startup_order : {\n");
    let groups =
        list.split("\n\n").map(|group| group.trim().lines().filter(|name| !is_kernel(name)).collect::<Vec<_>>());
    // The syntax of GNU's linker does not allow empty groups.
    for group in groups.filter(|group| !group.is_empty()) {
        script += "    *(\n";
        for name in group {
            writeln!(script, "      .text.{name}* .text.unlikely.{name}*").map_err(Error::other)?;
        }
        script += "    )\n";
    }
    script += "  }\n  .text.kernels : SUBALIGN(64) {\n    *(\n";
    for name in list.lines().filter(is_kernel) {
        writeln!(script, "      .text.{name}*").map_err(Error::other)?;
    }
    script += "    )\n    *(";
    for kernel in KERNELS {
        write!(script, " .text.*{kernel}*").map_err(Error::other)?;
    }
    script += " )\n  }\n}\nINSERT BEFORE .text;\n";
    let path = directory.join("startup.ld");
    std::fs::write(&path, script)?;
    Ok(path)
}
