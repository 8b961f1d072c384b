//! The Python wheel: a zip file with the Python sources of `packages/python`, the library and its
//! manifest, and a list of all files with their hashes.

use crate::layout::{Contents, MANIFEST};
use crate::tree::{Entry, Tree};
use crate::zipfile::archive;
use crate::{Package, Result};
use sha2::{Digest, Sha256};

/// Python sources in `packages/python`.
const SOURCES: [&str; 6] = ["__init__.py", "__main__.py", "_query.py", "_system.py", "py.typed", "pytest_plugin.py"];

/// Makes the wheel for a platform, where `GLIBC` stands for the version that the binaries need.
///
/// # Errors
/// Returns a message if a source is missing.
pub fn package(contents: &Contents<'_>, platform: &str) -> Result<Package> {
    let version = &contents.release.version;
    let glibc = contents.glibc.map(|glibc| glibc.to_string().replace('.', "_"));
    let tag = format!("py3-none-{}", platform.replace("GLIBC", &glibc.unwrap_or_default()));
    let name = format!("grus_vulkan-{version}-{tag}.whl");
    let bytes = archive(&tree(contents, &tag)?).map_err(|e| format!("{name}: {e}"))?;
    Ok(Package { name, bytes })
}

fn tree(contents: &Contents<'_>, tag: &str) -> Result<Tree> {
    let release = contents.release;
    let mut tree = Tree::default();
    for source in SOURCES {
        let text = release.text(&format!("packages/python/grus_vulkan/{source}"))?;
        tree.file(format!("grus_vulkan/{source}"), text.replace("\"0.0.0\"", &format!("\"{}\"", release.version)));
    }
    let system = &contents.target.system;
    tree.program(format!("grus_vulkan/{}", system.library()), &contents.binaries.library[..]);
    tree.file(format!("grus_vulkan/{MANIFEST}"), release.manifest(&system.beside())?);
    let (name, loader) = system.loader(&contents.binaries.library)?;
    tree.program(format!("grus_vulkan/loader/{name}"), loader);
    let info = format!("grus_vulkan-{}.dist-info", release.version);
    let metadata = format!(
        "Metadata-Version: 2.4\nName: grus-vulkan\nVersion: {}\nSummary: A Vulkan driver that runs on the CPU\n\
         License-Expression: MIT OR Apache-2.0\nLicense-File: LICENSE-APACHE\nLicense-File: LICENSE-MIT\n\
         License-File: LICENSE-THIRD-PARTY\nClassifier: Framework :: Pytest\nRequires-Python: >=3.8\n\
         Description-Content-Type: text/markdown\n\n{}",
        release.version,
        release.text("packages/python/README.md")?
    );
    tree.file(format!("{info}/METADATA"), metadata);
    let wheel = format!("Wheel-Version: 1.0\nGenerator: grus-dist\nRoot-Is-Purelib: false\nTag: {tag}\n");
    tree.file(format!("{info}/WHEEL"), wheel);
    tree.file(format!("{info}/entry_points.txt"), "[pytest11]\ngrus_vulkan = grus_vulkan.pytest_plugin\n");
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        tree.file(format!("{info}/licenses/{licence}"), release.text(licence)?);
    }
    tree.file(format!("{info}/licenses/LICENSE-THIRD-PARTY"), contents.licences);
    let record = format!("{info}/RECORD");
    tree.file(record.clone(), records(&tree, &record));
    Ok(tree)
}

/// Returns the list of files with hashes and sizes; the list itself has neither.
fn records(tree: &Tree, own: &str) -> String {
    let row = |(path, entry): (&str, &Entry)| match entry {
        Entry::File { bytes, .. } => format!("{path},sha256={},{}\n", base64(&Sha256::digest(bytes)), bytes.len()),
        Entry::Link(_) => String::new(),
    };
    tree.entries().map(row).collect::<String>() + own + ",,\n"
}

/// Encodes bytes by the alphabet of base64 for URLs, without padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..=chunk.len() {
            text.push(char::from(ALPHABET[(word >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_wheels() {
        assert_eq!(base64(b""), "");
        assert_eq!(base64(b"f"), "Zg");
        assert_eq!(base64(b"fo"), "Zm8");
        assert_eq!(base64(b"foo"), "Zm9v");
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "-__-");
    }

    #[test]
    fn the_list_of_files_is_last_and_has_no_hash() {
        let mut tree = Tree::default();
        tree.file("a/x", "x");
        tree.file("z/y", "y");
        let own = "b/RECORD".to_owned();
        tree.file(own.clone(), records(&tree, &own));
        let bytes = archive(&tree).expect("an archive");
        let mut zip = zip::ZipArchive::new(std::io::Cursor::new(bytes)).expect("a zip file");
        assert_eq!(zip.file_names().last().and_then(|name| name.ok()).as_deref(), Some("b/RECORD"));
        let list = std::io::read_to_string(zip.by_name("b/RECORD").expect("the list")).expect("text");
        assert!(list.starts_with("a/x,sha256=LXEWQrcmsEQBYnyp-6wy9chTD7GQPMTbAiWHF5IaSIE,1\n"), "{list}");
        assert!(list.ends_with("\nb/RECORD,,\n"));
    }
}
