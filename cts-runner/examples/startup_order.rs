//! Makes `icd/startup.order`, the functions that run between a program's first call and its first pixel, out of what callgrind has seen.
//! `icd/build.rs` has them laid together.
//!
//! ```sh
//! valgrind --tool=callgrind --trace-children=yes --demangle=no --callgrind-out-file=seen.%p \
//!     target/release/cts-runner bench --quick --icd target/release/libvulkan_grus.so --filter start/trivial
//! cargo run --release -p cts-runner --example startup_order -- seen.* > icd/startup.order
//! ```

use std::collections::{BTreeSet, HashMap};
use std::error::Error;

const LIBRARY: &str = "libvulkan_grus";
/// What valgrind says of code outside of `.text`: that is where the last order has put it.
const ORDERED: &str = "???";
/// What a legacy-mangled name ends with: the length of a hash, and the hash.
const HASH: &str = "17h";
/// Valgrind's processor has no AVX-512: a function at one level of the processor stands for both.
const TWIN: [&str; 2] = ["4avx217h", "6avx51217h"];

/// What stays of a name with other versions of crates and compiler: a pattern of what it begins with. `None` for functions that are not Rust's.
fn pattern(name: &str) -> Option<String> {
    if let Some(at) = name.find(HASH) {
        return Some(name[..at + HASH.len()].to_owned());
    }
    // The standard library's, by the newer scheme: each crate's name is preceded by `Cs`, a hash in base 62, and `_`.
    let mut parts = name.strip_prefix("_R")?.split('.').next()?.split("Cs");
    let mut pattern = String::from("_R") + parts.next()?;
    for part in parts {
        let (hash, rest) = part.split_once('_').filter(|(hash, _)| !hash.is_empty()).unwrap_or(("", part));
        pattern += if hash.is_empty() { "Cs" } else { "Cs*_" };
        pattern += rest;
    }
    Some(pattern)
}

/// Patterns of functions of the library in which instructions were counted.
fn functions(profile: &str, names: &mut BTreeSet<String>) {
    // `kind=(number) name` says a name for the first time; later lines have the number alone. Callees begin with a `c`.
    let mut known: HashMap<(bool, &str), &str> = HashMap::new();
    let mut inside = false;
    for line in profile.lines() {
        let callee = line.starts_with('c');
        let Some((kind, rest)) = line.strip_prefix('c').unwrap_or(line).split_once("=(") else { continue };
        let (Some((number, name)), "fn" | "ob") = (rest.split_once(')'), kind) else { continue };
        let key = (kind == "fn", number);
        let name = match name.trim() {
            "" => known.get(&key).copied().unwrap_or_default(),
            name => name,
        };
        known.insert(key, name);
        match (callee, kind) {
            (true, _) => {}
            (false, "ob") => inside = name.contains(LIBRARY) || name == ORDERED,
            (false, _) => {
                names.extend(pattern(name).filter(|_| inside));
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut names = BTreeSet::new();
    for file in std::env::args().skip(1) {
        functions(&std::fs::read_to_string(file)?, &mut names);
    }
    let twins: Vec<String> = names.iter().filter_map(|n| Some(n.strip_suffix(TWIN[0])?.to_owned() + TWIN[1])).collect();
    names.extend(twins);
    for name in names {
        println!("{name}");
    }
    Ok(())
}
