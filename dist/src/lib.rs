//! Builds the packages of Grus: tarballs, zip files, Debian and rpm packages, Python wheels,
//! packages for npm, lists of licences and components, and checksums.
//!
//! Two builds of one commit have the same bytes, in whatever folder they run. [`compile`] makes the
//! binaries with the linker of a row of [`target`], for Linux that of [`zig`]; everything after
//! that is a function of files: a [`tree::Tree`] holds the files of a package, sorted, with fixed
//! owners and times, and [`tarball`], [`zipfile`], [`deb`], [`rpm`], [`wheel`] and [`npm`] write
//! it.

pub mod compile;
pub mod components;
pub mod deb;
pub mod elf;
pub mod forwarder;
pub mod layout;
pub mod licences;
// The crate `vulkan` writes the same file; its workspace is another one.
#[path = "../../vulkan/src/loader_file.rs"]
pub mod loader_file;
pub mod npm;
pub mod options;
pub mod pe;
pub mod process;
pub mod release;
pub mod rpm;
pub mod sbom;
pub mod system;
pub mod tarball;
pub mod target;
pub mod tree;
pub mod wheel;
pub mod zig;
pub mod zipfile;

use options::Options;
use release::Release;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use target::{Kind, Target};

/// Result with a message for the user.
pub type Result<T> = std::result::Result<T, String>;

/// The binaries of a target, stripped.
#[derive(Debug)]
pub struct Binaries {
    /// The driver's library.
    pub library: Vec<u8>,
    /// The program `cts-runner`.
    pub runner: Vec<u8>,
}

/// A package: its file name and its bytes.
#[derive(Debug)]
pub struct Package {
    /// File name.
    pub name: String,
    /// Contents.
    pub bytes: Vec<u8>,
}

/// Makes all packages and writes them, with `SHA256SUMS`, into a folder. Returns their paths.
///
/// # Errors
/// Returns a message if a build fails, a file is missing, or a binary needs a newer glibc than the
/// target allows.
pub fn run(options: &Options) -> Result<Vec<PathBuf>> {
    let release = Release::read(&options.root)?;
    let mut packages = Vec::new();
    // Packages without binaries serve all targets.
    let has = |is_kind: fn(&Kind) -> bool| options.targets.iter().any(|target| target.packages.iter().any(is_kind));
    if has(|kind| matches!(kind, Kind::Debian { .. })) {
        packages.push(deb::default(&release)?);
    }
    if has(|kind| matches!(kind, Kind::Rpm { .. })) {
        packages.push(rpm::default(&release)?);
    }
    for &target in &options.targets {
        let binaries = match &options.prebuilt {
            Some(prebuilt) => compile::prebuilt(prebuilt, target)?,
            None => compile::compile(&options.root, target, &release)?,
        };
        packages.extend(of_target(options, &release, target, &binaries)?);
    }
    write(&options.out, packages)
}

fn of_target(options: &Options, release: &Release, target: &Target, binaries: &Binaries) -> Result<Vec<Package>> {
    let glibc = target.system.needs(binaries, options.prebuilt.is_some())?;
    let components = components::read(&options.root, target)?;
    let licences = licences::text(&target.system.parts(), &components)?;
    let contents = layout::Contents { release, target, glibc, binaries, licences: &licences };
    // Compression takes most of the time, so each package has a thread.
    let mut packages = std::thread::scope(|scope| {
        let start = |kind| scope.spawn(move || package(kind, &contents));
        let threads: Vec<_> = target.packages.iter().map(start).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().expect("a package's thread panicked");
        threads.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    packages.push(sbom::package(release, target, &components)?);
    Ok(packages)
}

fn package(kind: &Kind, contents: &layout::Contents<'_>) -> Result<Package> {
    match kind {
        Kind::Tarball => tarball::package(contents),
        Kind::Zip => zipfile::package(contents),
        Kind::Debian { architecture, multiarch } => deb::driver(contents, architecture, multiarch),
        Kind::Rpm { architecture } => rpm::driver(contents, architecture),
        Kind::Wheel { platform } => wheel::package(contents, platform),
        Kind::Npm { cpu } => npm::package(contents, cpu),
    }
}

/// Writes packages and their checksums.
fn write(folder: &Path, mut packages: Vec<Package>) -> Result<Vec<PathBuf>> {
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    let sums: String = packages.iter().map(|p| format!("{}  {}\n", hex(&Sha256::digest(&p.bytes)), p.name)).collect();
    packages.push(Package { name: "SHA256SUMS".into(), bytes: sums.into_bytes() });
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let write = |package: Package| {
        let path = folder.join(package.name);
        std::fs::write(&path, package.bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    };
    packages.into_iter().map(write).collect()
}

/// Returns bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a file.
///
/// # Errors
/// Returns a message with the path.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}
