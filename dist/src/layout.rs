//! The files of each kind of package, and where they are.

use crate::loader_file::LOADER;
use crate::release::Release;
use crate::system::Glibc;
use crate::target::Target;
use crate::tree::Tree;
use crate::{Binaries, Result};

/// Name of the package of a distribution with the driver.
pub const DRIVER: &str = "grus-vulkan";
/// Name of the package that lets the loader find the driver.
pub const DEFAULT: &str = "grus-vulkan-default";

/// File name of the driver's manifest.
pub const MANIFEST: &str = "grus_icd.json";

/// Version, binaries and texts from which the packages of a target are made.
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    /// Version, commit and files of the repository.
    pub release: &'a Release,
    /// The target.
    pub target: &'a Target,
    /// Version of glibc that the binaries need; `None` if they are not for Linux.
    pub glibc: Option<Glibc>,
    /// The binaries.
    pub binaries: &'a Binaries,
    /// Licences of all that is linked into the binaries.
    pub licences: &'a str,
}

impl Contents<'_> {
    /// Returns the name of an archive, which is also that of its only folder.
    pub fn folder(&self) -> String {
        format!("grus-{}-{}", self.release.version, self.target.platform)
    }
}

/// Texts that every package has: paths in the repository.
const TEXTS: [&str; 3] = ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Names of the Vulkan loader: that of its library, and that of its development files, which
/// programs made with `vulkan-hpp` try first.
const LOADERS: [&str; 2] = [LOADER, "libvulkan.so"];

/// Sets the variables of the loader in a shell. The path is that of the script, so that a tarball
/// works in any folder.
const ENVIRONMENT: &str = include_str!("grus-env.sh");

/// Returns the files of the tarball, in one folder.
///
/// # Errors
/// Returns a message if a file of the repository is missing.
pub fn tarball(contents: &Contents<'_>, name: &str) -> Result<Tree> {
    let mut tree = folder(contents, name)?;
    for loader in LOADERS {
        tree.link(format!("{name}/loader/{loader}"), format!("../{}", contents.target.system.library()));
    }
    tree.file(format!("{name}/grus-env.sh"), ENVIRONMENT);
    Ok(tree)
}

/// Returns the files of the zip file, in one folder.
///
/// # Errors
/// Returns a message if a file of the repository is missing, or if the library exports no commands.
pub fn zip(contents: &Contents<'_>, name: &str) -> Result<Tree> {
    let mut tree = folder(contents, name)?;
    let (loader, bytes) = contents.target.system.loader(&contents.binaries.library)?;
    tree.program(format!("{name}/loader/{loader}"), bytes);
    Ok(tree)
}

/// Returns the files that archives of all systems have, in one folder.
///
/// # Errors
/// Returns a message if a file of the repository is missing.
fn folder(contents: &Contents<'_>, folder: &str) -> Result<Tree> {
    let system = &contents.target.system;
    let mut tree = Tree::default();
    tree.program(format!("{folder}/{}", system.library()), &contents.binaries.library[..]);
    tree.program(format!("{folder}/{}", system.runner()), &contents.binaries.runner[..]);
    tree.file(format!("{folder}/{MANIFEST}"), contents.release.manifest(&system.beside())?);
    tree.file(format!("{folder}/LICENSE-THIRD-PARTY"), contents.licences);
    for path in TEXTS {
        tree.file(format!("{folder}/{path}"), contents.release.text(path)?);
    }
    Ok(tree)
}

/// Returns the files of a package of a distribution, below the root. Libraries of the architecture
/// are in a folder of each distribution.
///
/// # Errors
/// Returns a message if a file of the repository is missing.
pub fn system(contents: &Contents<'_>, folder: &str) -> Result<Tree> {
    let mut tree = Tree::default();
    let name = contents.target.system.library();
    let library = format!("{folder}/{name}");
    tree.file(format!("usr/share/grus/{MANIFEST}"), contents.release.manifest(&format!("/{library}"))?);
    for loader in LOADERS {
        tree.link(format!("{folder}/grus/{loader}"), format!("../{name}"));
    }
    tree.file(library, &contents.binaries.library[..]);
    tree.program("usr/bin/cts-runner", &contents.binaries.runner[..]);
    tree.file("usr/share/grus/grus-env.sh", ENVIRONMENT);
    let [changes, apache, mit] = TEXTS.map(|path| contents.release.text(path));
    tree.file(format!("usr/share/doc/{DRIVER}/CHANGELOG.md"), changes?);
    let copyright = format!("{}\n{}\n{}", mit?, apache?, contents.licences);
    tree.file(format!("usr/share/doc/{DRIVER}/copyright"), copyright);
    Ok(tree)
}

/// Returns the files of the package that lets the loader find the driver.
///
/// # Errors
/// Returns a message if a file of the repository is missing.
pub fn default(release: &Release) -> Result<Tree> {
    let mut tree = Tree::default();
    tree.link(format!("usr/share/vulkan/icd.d/{MANIFEST}"), format!("../../grus/{MANIFEST}"));
    tree.file(format!("usr/share/doc/{DEFAULT}/copyright"), release.text("LICENSE-MIT")?);
    Ok(tree)
}
