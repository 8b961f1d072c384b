//! Debian packages. `grus-vulkan` has the library, and a manifest where the loader does not search;
//! `grus-vulkan-default` has a link to it where the loader does.

use crate::layout::{self, Contents, DEFAULT, DRIVER};
use crate::release::Release;
use crate::tarball::archive;
use crate::tree::Tree;
use crate::{Package, Result};
use std::io;

/// Makes the package with the driver for an architecture of Debian, whose libraries are in the
/// folder `multiarch` below `/usr/lib`.
///
/// # Errors
/// Returns a message if a file of the repository is missing, or if the binaries are not for Linux.
pub fn driver(contents: &Contents<'_>, architecture: &str, multiarch: &str) -> Result<Package> {
    let tree = layout::system(contents, &format!("usr/lib/{multiarch}"))?;
    let glibc = contents.glibc.ok_or("a Debian package needs binaries for Linux")?;
    let fields = format!(
        "Depends: libc6 (>= {glibc})\nSuggests: libvulkan1\nDescription: Vulkan driver that runs on the CPU\n \
         Programs find it by `cts-runner run` or VK_DRIVER_FILES=/usr/share/grus/grus_icd.json.\n \
         The package {DEFAULT} makes the Vulkan loader find it without.\n"
    );
    package(contents.release, DRIVER, architecture, &fields, &tree)
}

/// Makes the package that lets the loader find the driver.
///
/// # Errors
/// Returns a message if a file of the repository is missing.
pub fn default(release: &Release) -> Result<Package> {
    let fields = format!(
        "Depends: {DRIVER} (= {})\nProvides: vulkan-icd\nDescription: Vulkan driver that runs on the CPU, for all programs\n \
         The Vulkan loader finds Grus without any variable.\n",
        release.version
    );
    package(release, DEFAULT, "all", &fields, &layout::default(release)?)
}

fn package(release: &Release, name: &str, architecture: &str, fields: &str, tree: &Tree) -> Result<Package> {
    let control = format!(
        "Package: {name}\nVersion: {}\nArchitecture: {architecture}\nMaintainer: The Grus authors <grus@localhost>\n\
         Installed-Size: {}\nSection: libs\nPriority: optional\n{fields}",
        release.version,
        tree.size().div_ceil(1024)
    );
    let mut controls = Tree::default();
    controls.file("control", control);
    let file = format!("{name}_{}_{architecture}.deb", release.version);
    let bytes = assemble(&controls, tree, release.epoch).map_err(|e| format!("{file}: {e}"))?;
    Ok(Package { name: file, bytes })
}

/// Returns the archive with the three members of a Debian package.
fn assemble(controls: &Tree, tree: &Tree, epoch: u64) -> io::Result<Vec<u8>> {
    let mut builder = ar::Builder::new(Vec::new());
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.xz", archive(controls, "./", epoch)?),
        ("data.tar.xz", archive(tree, "./", epoch)?),
    ];
    for (name, bytes) in members {
        let mut header = ar::Header::new(name.as_bytes().to_vec(), bytes.len() as u64);
        header.set_mode(0o100_644);
        header.set_mtime(epoch);
        builder.append(&header, &bytes[..])?;
    }
    builder.into_inner()
}
