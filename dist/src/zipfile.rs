//! Zip files: the archive of a system without `tar`, and the format of wheels.

use crate::layout::{self, Contents};
use crate::tree::{Entry, Tree};
use crate::{Package, Result};
use std::io::{Cursor, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// Makes the zip file: all files in one folder that bears the name of the file.
///
/// # Errors
/// Returns a message if a file of the repository is missing.
pub fn package(contents: &Contents<'_>) -> Result<Package> {
    let folder = contents.folder();
    let name = format!("{folder}.zip");
    let bytes = archive(&layout::zip(contents, &folder)?).map_err(|e| format!("{name}: {e}"))?;
    Ok(Package { name, bytes })
}

/// Returns a tree as a zip file, without its links. The time of all files is the first that the
/// format has. A file `RECORD` is the last one, as wheels require.
///
/// # Errors
/// Returns an error if the tree has more bytes than the format allows.
pub fn archive(tree: &Tree) -> zip::result::ZipResult<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(9))
        .last_modified_time(DateTime::default());
    let is_record = |path: &str| path.ends_with("/RECORD");
    let (lists, files): (Vec<_>, Vec<_>) = tree.entries().partition(|(path, _)| is_record(path));
    for (path, entry) in files.into_iter().chain(lists) {
        if let Entry::File { bytes, is_program } = entry {
            zip.start_file(path, options.unix_permissions(if *is_program { 0o755 } else { 0o644 }))?;
            zip.write_all(bytes)?;
        }
    }
    Ok(zip.finish()?.into_inner())
}
