//! The package for npm: the sources of `packages/npm` with the library and its manifest, in the
//! folder `package` of an archive.

use crate::layout::{Contents, MANIFEST};
use crate::tarball;
use crate::tree::Tree;
use crate::{Package, Result};
use flate2::{Compression, GzBuilder};
use std::io::{self, Write};

/// Folder of the archive with all files, as npm requires it.
const FOLDER: &str = "package";

/// Sources in `packages/npm`.
const SOURCES: [&str; 4] = ["README.md", "index.d.ts", "index.js", "package.json"];

/// Makes the package for an architecture of Node.js.
///
/// # Errors
/// Returns a message if a source is missing.
pub fn package(contents: &Contents<'_>, cpu: &str) -> Result<Package> {
    let name = format!("grus-vulkan-{}-{}.tgz", contents.release.version, contents.target.platform);
    let bytes = archive(&tree(contents, cpu)?, contents.release.epoch).map_err(|e| format!("{name}: {e}"))?;
    Ok(Package { name, bytes })
}

fn tree(contents: &Contents<'_>, cpu: &str) -> Result<Tree> {
    let release = contents.release;
    let mut tree = Tree::default();
    for source in SOURCES {
        let text = release.text(&format!("packages/npm/{source}"))?;
        let text = text.replace("\"0.0.0\"", &format!("\"{}\"", release.version));
        tree.file(format!("{FOLDER}/{source}"), text.replace("\"CPU\"", &format!("\"{cpu}\"")));
    }
    let system = &contents.target.system;
    tree.program(format!("{FOLDER}/{}", system.library()), &contents.binaries.library[..]);
    tree.file(format!("{FOLDER}/{MANIFEST}"), release.manifest(&system.beside())?);
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        tree.file(format!("{FOLDER}/{licence}"), release.text(licence)?);
    }
    tree.file(format!("{FOLDER}/LICENSE-THIRD-PARTY"), contents.licences);
    Ok(tree)
}

/// Returns a tree as an archive compressed by gzip, whose header has no time.
fn archive(tree: &Tree, epoch: u64) -> io::Result<Vec<u8>> {
    let mut gzip = GzBuilder::new().write(Vec::new(), Compression::best());
    gzip.write_all(&tarball::uncompressed(tree, "", epoch)?)?;
    gzip.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_has_no_time_of_its_own() {
        let mut tree = Tree::default();
        tree.file("package/a", "text");
        let bytes = archive(&tree, 7).expect("an archive");
        assert_eq!(bytes[4..8], [0; 4], "the time in the header of gzip");
        assert_eq!(bytes, archive(&tree, 7).expect("an archive"));
        let mut text = Vec::new();
        io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut text).expect("gzip");
        assert_eq!(text, tarball::uncompressed(&tree, "", 7).expect("an archive"));
    }
}
