//! Archives of `tar`, compressed by xz: the tarball, and the members of Debian packages.

use crate::layout::{self, Contents};
use crate::tree::{Entry, Tree};
use crate::{Package, Result};
use lzma_rust2::{XzOptions, XzWriter};
use std::io::{self, Write};
use tar::{Builder, EntryType, Header};

/// Makes the tarball: all files in one folder that bears the name of the tarball.
///
/// # Errors
/// Returns a message if a file of the repository is missing.
pub fn package(contents: &Contents<'_>) -> Result<Package> {
    let name = contents.folder();
    let tree = layout::tarball(contents, &name)?;
    let bytes = archive(&tree, "", contents.release.epoch).map_err(|e| format!("{name}: {e}"))?;
    Ok(Package { name: format!("{name}.tar.xz"), bytes })
}

/// Returns a tree as an archive compressed by xz.
///
/// # Errors
/// Returns an error if a path is too long.
pub fn archive(tree: &Tree, prefix: &str, epoch: u64) -> io::Result<Vec<u8>> {
    let mut xz = XzWriter::new(Vec::new(), XzOptions::with_preset(6))?;
    xz.write_all(&uncompressed(tree, prefix, epoch)?)?;
    xz.finish()
}

/// Returns a tree as an archive. All entries belong to root and have one time; paths begin with a
/// prefix.
///
/// # Errors
/// Returns an error if a path is too long.
pub fn uncompressed(tree: &Tree, prefix: &str, epoch: u64) -> io::Result<Vec<u8>> {
    let mut builder = Builder::new(Vec::new());
    let header = |kind, mode, size: usize| {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(size as u64);
        header.set_mtime(epoch);
        header.set_uid(0);
        header.set_gid(0);
        header
    };
    if !prefix.is_empty() {
        builder.append_data(&mut header(EntryType::Directory, 0o755, 0), prefix, io::empty())?;
    }
    for folder in tree.folders() {
        let path = format!("{prefix}{folder}/");
        builder.append_data(&mut header(EntryType::Directory, 0o755, 0), path, io::empty())?;
    }
    for (path, entry) in tree.entries() {
        let path = format!("{prefix}{path}");
        match entry {
            Entry::File { bytes, is_program } => {
                let mode = if *is_program { 0o755 } else { 0o644 };
                builder.append_data(&mut header(EntryType::Regular, mode, bytes.len()), path, &bytes[..])?;
            }
            Entry::Link(to) => builder.append_link(&mut header(EntryType::Symlink, 0o777, 0), path, to)?,
        }
    }
    builder.into_inner()
}
