//! Makes `icd/startup.order`, the list of functions that run between a program's first call and its
//! first pixel, from profiles of callgrind.
//!
//! `icd/build.rs` places the functions of a group together. A group contains the functions that run
//! in one period of time on one thread. Functions that only a first pipeline runs follow those that
//! every start runs.
//!
//! ```sh
//! for w in start/trivial create/solid create/textured create/pbr create/fill create/skinning; do
//!     valgrind --tool=callgrind --demangle=no --separate-threads=yes \
//!         --callgrind-out-file=seen.${w#*/} \
//!         --dump-before='*entry8pipeline20create_shader_module*' \
//!         --dump-before='*entry8pipeline24create_compute_pipelines*' \
//!         --dump-after='*entry8pipeline25create_graphics_pipelines*' \
//!         --dump-after='*entry8pipeline24create_compute_pipelines*' \
//!         target/release/cts-runner bench --child $w \
//!         --icd $PWD/manifest/grus_icd.json --sample-ms 30
//! done
//! cargo run --release -p cts-runner --example startup_order -- \
//!     seen.trivial* seen.[!t]* seen.textured* > icd/startup.order
//! ```

use std::collections::{BTreeSet, HashMap};
use std::error::Error;

const LIBRARY: &str = "libvulkan_grus";
/// Name that valgrind gives to code outside `.text`, where the previous order has placed it.
const ORDERED: &str = "???";
/// End of a legacy-mangled name without the hash: the length of the hash, and the first letter of
/// the hash.
const HASH: &str = "17h";
/// Ends of the names of functions compiled for two processor levels. Valgrind's processor has no
/// AVX-512, so a function seen at one level stands for both.
const TWIN: [&str; 2] = ["4avx217h", "6avx51217h"];

/// Returns a pattern for the beginning of a name that stays the same with other versions of crates
/// and compiler. Returns `None` for functions that are not written in Rust.
fn pattern(name: &str) -> Option<String> {
    if let Some(at) = name.find(HASH) {
        return Some(name[..at + HASH.len()].to_owned());
    }
    // Names of the standard library use the newer mangling scheme. The name of each crate follows
    // `Cs`, a hash in base 62, and `_`.
    let mut parts = name.strip_prefix("_R")?.split('.').next()?.split("Cs");
    let mut pattern = String::from("_R") + parts.next()?;
    for part in parts {
        let (hash, rest) = part.split_once('_').filter(|(hash, _)| !hash.is_empty()).unwrap_or(("", part));
        pattern += if hash.is_empty() { "Cs" } else { "Cs*_" };
        pattern += rest;
    }
    Some(pattern)
}

/// Collects patterns of those functions of the library in which instructions were counted.
fn functions(profile: &str, names: &mut BTreeSet<String>) {
    // `kind=(number) name` defines a name at its first occurrence; later lines contain only the
    // number. Lines of callees begin with a `c`.
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

/// Prints the names of a group: those for every processor, then those of each level. Functions for
/// other processors are therefore in a separate place.
fn print_group(names: &BTreeSet<String>) {
    let twins = names.iter().filter_map(|n| Some(n.strip_suffix(TWIN[0])?.to_owned() + TWIN[1])).collect();
    let levels = TWIN.map(|level| names.union(&twins).filter(|n| n.ends_with(level)).collect::<Vec<_>>());
    let all = names.iter().filter(|n| !TWIN.iter().any(|level| n.ends_with(level))).collect();
    for names in [all].into_iter().chain(levels).filter(|names| !names.is_empty()) {
        for name in names {
            println!("{name}");
        }
        println!();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut before = BTreeSet::new();
    for file in std::env::args().skip(1) {
        let mut names = BTreeSet::new();
        functions(&std::fs::read_to_string(file)?, &mut names);
        names.retain(|name| before.insert(name.clone()));
        print_group(&names);
    }
    Ok(())
}
