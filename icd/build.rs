//! Links the unwinder into the library, and makes the library stay.
//!
//! `dlclose` leaves it where it is: threads of rayon's pool end by themselves some time after the pool is dropped, and nobody can join them.
//!
//! The standard library asks for `gcc_s`, a shared library that libc does not come with. In its place the linker finds a script
//! that names the static unwinder of the same compiler.

use std::env::var;
use std::path::Path;

fn main() -> std::io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    if var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") && var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu") {
        let directory = var("OUT_DIR").map_err(std::io::Error::other)?;
        std::fs::write(Path::new(&directory).join("libgcc_s.so"), "INPUT(-lgcc_eh -lgcc -lc)\n")?;
        println!("cargo:rustc-link-search=native={directory}");
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
    Ok(())
}
