//! The files of each kind of package, and where they are.

use crate::deb::DRIVER;
use crate::loader_file::LOADER;
use crate::release::Release;
use crate::target::Target;
use crate::tree::Tree;
use crate::{Binaries, Result};

/// File name of the driver's manifest.
pub const MANIFEST: &str = "grus_icd.json";

/// Version, binaries and texts from which the packages of a target are made.
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    /// Version, commit and files of the repository.
    pub release: &'a Release,
    /// The target.
    pub target: Target,
    /// Version of glibc that the binaries need.
    pub glibc: (u32, u32),
    /// The binaries.
    pub binaries: &'a Binaries,
    /// Licences of all that is linked into the binaries.
    pub licences: &'a str,
}

/// Texts that every package has: paths in the repository.
const TEXTS: [&str; 3] = ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Sets the variables of the loader in a shell. The path is that of the script, so that a tarball
/// works in any folder.
const ENVIRONMENT: &str = include_str!("grus-env.sh");

/// Returns the files of the tarball, in one folder.
///
/// # Errors
/// Returns a message if a file of the repository is missing.
pub fn tarball(contents: &Contents<'_>, folder: &str) -> Result<Tree> {
    let library = contents.target.library();
    let mut tree = Tree::default();
    tree.program(format!("{folder}/{library}"), &contents.binaries.library[..]);
    tree.link(format!("{folder}/loader/{LOADER}"), format!("../{library}"));
    tree.program(format!("{folder}/cts-runner"), &contents.binaries.runner[..]);
    tree.file(format!("{folder}/{MANIFEST}"), contents.release.manifest(&format!("./{library}"))?);
    tree.file(format!("{folder}/grus-env.sh"), ENVIRONMENT);
    tree.file(format!("{folder}/LICENSE-THIRD-PARTY"), contents.licences);
    for path in TEXTS {
        tree.file(format!("{folder}/{path}"), contents.release.text(path)?);
    }
    Ok(tree)
}

/// Returns the files of the Debian package, below the root.
///
/// # Errors
/// Returns a message if a file of the repository is missing.
pub fn debian(contents: &Contents<'_>) -> Result<Tree> {
    let mut tree = Tree::default();
    let folder = format!("usr/lib/{}", contents.target.multiarch());
    let library = format!("{folder}/{}", contents.target.library());
    tree.file(format!("usr/share/grus/{MANIFEST}"), contents.release.manifest(&format!("/{library}"))?);
    tree.link(format!("{folder}/grus/{LOADER}"), format!("../{}", contents.target.library()));
    tree.file(library, &contents.binaries.library[..]);
    tree.program("usr/bin/cts-runner", &contents.binaries.runner[..]);
    tree.file("usr/share/grus/grus-env.sh", ENVIRONMENT);
    let [changes, apache, mit] = TEXTS.map(|path| contents.release.text(path));
    tree.file(format!("usr/share/doc/{DRIVER}/CHANGELOG.md"), changes?);
    let copyright = format!("{}\n{}\n{}", mit?, apache?, contents.licences);
    tree.file(format!("usr/share/doc/{DRIVER}/copyright"), copyright);
    Ok(tree)
}
