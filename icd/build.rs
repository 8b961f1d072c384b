//! Links the unwinder into the library, makes the library stay, and lays together what a program's start needs.
//!
//! `dlclose` leaves it where it is: threads of rayon's pool end by themselves some time after the pool is dropped, and nobody can join them.
//!
//! Kernels (the variants that `base::compiled!` makes) begin at cache lines: where their loops lie in these is worth up to a sixth of their time, and else
//! changes with any code before them.
//!
//! The standard library asks for `gcc_s`, a shared library that libc does not come with. In its place the linker finds a script
//! that names the static unwinder of the same compiler.
//!
//! A page of the library that is touched brings in the fifteen around it. `startup.order` names the functions that run before the first pixel
//! (a sixth of the code, scattered over all of it); in a section of their own they are 2 MiB of memory instead of 7. They are groups, of what
//! one thread runs in one stretch of time, with a blank line behind each. The list is made by `cts-runner/examples/startup_order.rs`; a name that is not there any more is no error, and what is missing lies where the linker puts it.

use std::env::var;
use std::fmt::Write;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};

const ORDER: &str = "startup.order";

/// What the mangled names of kernels have in them.
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

/// A linker script that adds a section of the functions in [`ORDER`], group by group, and one of kernels, those in the list first. The list has patterns of what
/// their mangled names begin with, one per line.
fn startup_section(directory: &Path) -> Result<PathBuf> {
    let list = std::fs::read_to_string(ORDER)?;
    let is_kernel = |name: &&str| KERNELS.iter().any(|kernel| name.contains(kernel));
    let mut script = String::from("SECTIONS {\n  .text.startup_order : {\n");
    let groups =
        list.split("\n\n").map(|group| group.trim().lines().filter(|name| !is_kernel(name)).collect::<Vec<_>>());
    // (A group of nothing is no syntax of GNU's linker.)
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
