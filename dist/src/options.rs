//! Options of the command line.

use crate::target::{self, TARGETS, Target};
use lexopt::{Arg, Parser, ValueExt};
use std::path::{Path, PathBuf};

/// Help of the command.
pub const HELP: &str = "\
cargo xtask dist [options]     build the packages of Grus

    --target NAME     x86_64, aarch64 or x86_64-windows; may be repeated (default: all)
    --out DIR         where the packages go (target/packages)
    --library FILE    package this library instead of building one; with --runner and one --target.
    --runner FILE     The packages then need the glibc of the files.

The packages are tarballs, zip files, Debian and rpm packages, Python wheels, packages for npm, lists
of components (CycloneDX) and SHA256SUMS. Builds for Linux need python3 with pip, which installs the
linker; builds for Windows need mingw-w64 (docs/ci.md).
";

/// Binaries that exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Prebuilt {
    /// The driver's library.
    pub library: PathBuf,
    /// The program `cts-runner`.
    pub runner: PathBuf,
}

/// Options of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Root of the repository.
    pub root: PathBuf,
    /// Targets, in order.
    pub targets: Vec<&'static Target>,
    /// Folder of the packages.
    pub out: PathBuf,
    /// Binaries to package instead of building them.
    pub prebuilt: Option<Prebuilt>,
}

impl Options {
    /// Reads a command line. Returns `None` if help is requested.
    ///
    /// # Errors
    /// Returns an error for unknown or incomplete options.
    pub fn parse(mut parser: Parser) -> Result<Option<Self>, lexopt::Error> {
        let root = root();
        let (mut targets, mut out, mut library, mut runner) = (Vec::new(), None, None, None);
        while let Some(arg) = parser.next()? {
            match arg {
                Arg::Long("target") => targets.push(parser.value()?.parse_with(find)?),
                Arg::Long("out") => out = Some(PathBuf::from(parser.value()?)),
                Arg::Long("library") => library = Some(PathBuf::from(parser.value()?)),
                Arg::Long("runner") => runner = Some(PathBuf::from(parser.value()?)),
                Arg::Long("help") | Arg::Short('h') => return Ok(None),
                other => return Err(other.unexpected()),
            }
        }
        let prebuilt = match (library, runner) {
            (Some(library), Some(runner)) if targets.len() == 1 => Some(Prebuilt { library, runner }),
            (None, None) => None,
            _ => return Err("--library needs --runner and one --target".into()),
        };
        if targets.is_empty() {
            targets.extend(&TARGETS);
        }
        let out = out.unwrap_or_else(|| root.join("target/packages"));
        Ok(Some(Self { root, targets, out, prebuilt }))
    }
}

/// Returns the root of the repository, which is the current folder or one above it, because the
/// path of the sources must not be part of the program.
fn root() -> PathBuf {
    let current = std::env::current_dir().unwrap_or_else(|_| ".".into());
    let is_root = |folder: &&Path| folder.join("icd/Cargo.toml").is_file() && folder.join("dist/Cargo.toml").is_file();
    current.ancestors().find(is_root).unwrap_or(&current).to_path_buf()
}

fn find(name: &str) -> Result<&'static Target, String> {
    let names = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    target::find(name).ok_or_else(|| format!("expected one of {}", names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prebuilt_binaries_are_those_of_one_target() {
        let parse = |line: &str| Options::parse(Parser::from_args(line.split_whitespace()));
        let all = parse("").expect("valid").expect("no help");
        assert_eq!((all.targets, all.prebuilt), (TARGETS.iter().collect(), None));
        assert!(parse("--library a").is_err() && parse("--library a --runner b").is_err());
        let one = parse("--library a --runner b --target aarch64").expect("valid").expect("no help");
        assert_eq!(one.targets.iter().map(|target| target.name).collect::<Vec<_>>(), ["aarch64"]);
        assert!(one.prebuilt.is_some() && parse("--target riscv64").is_err());
    }
}
