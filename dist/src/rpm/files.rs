//! The files of an rpm package: an archive of `cpio`, and lists in the header.

use super::header::Value;
use super::tag;
use crate::hex;
use crate::tree::{Entry, Tree};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// A file, a link or a folder of a package.
#[derive(Debug)]
struct File<'a> {
    /// Path without the first `/`.
    path: &'a str,
    /// Type and permissions.
    mode: u16,
    /// Contents; the path of a link's target.
    bytes: &'a [u8],
}

impl File<'_> {
    /// Returns the folder with `/` at both ends, and the name in it.
    fn parts(&self) -> (String, String) {
        let (folder, name) = self.path.rsplit_once('/').unwrap_or(("", self.path));
        (format!("/{folder}/").replace("//", "/"), name.to_owned())
    }

    fn is(&self, kind: u16) -> bool {
        self.mode & 0o170_000 == kind
    }
}

const FOLDER: u16 = 0o040_000;
const REGULAR: u16 = 0o100_000;
const LINK: u16 = 0o120_000;

/// Files by path.
#[derive(Debug)]
pub struct Files<'a>(Vec<File<'a>>);

impl<'a> Files<'a> {
    /// Returns the files of a tree, and the folders that belong to the package: those with its
    /// name. rpm removes no others.
    pub fn of(tree: &'a Tree) -> Self {
        let is_own = |path: &&str| path.rsplit('/').next().is_some_and(|name| name.starts_with("grus"));
        let folders = tree.folders().into_iter().filter(is_own);
        let folders = folders.map(|path| File { path, mode: FOLDER | 0o755, bytes: &[] });
        let files = tree.entries().map(|(path, entry)| match entry {
            Entry::File { bytes, is_program } => {
                File { path, mode: REGULAR | if *is_program { 0o755 } else { 0o644 }, bytes }
            }
            Entry::Link(to) => File { path, mode: LINK | 0o777, bytes: to.as_bytes() },
        });
        let mut all: Vec<_> = folders.chain(files).collect();
        all.sort_by(|a, b| a.path.cmp(b.path));
        Self(all)
    }

    /// Returns the archive, in the format `newc`.
    pub fn archive(&self, time: u32) -> Vec<u8> {
        let mut archive = Vec::new();
        let mut entry = |number: usize, mode: u16, links: u32, path: &str, bytes: &[u8]| {
            let (size, name) = (bytes.len() as u32, path.len() as u32 + 1);
            // Owner and group are root; there is no device, and no checksum.
            let fields = [number as u32, mode.into(), 0, 0, links, time, size, 0, 0, 0, 0, name, 0];
            archive.extend(b"070701");
            archive.extend(fields.iter().flat_map(|field| format!("{field:08x}").into_bytes()));
            for part in [&[path.as_bytes(), &[0]].concat(), bytes] {
                archive.extend(part);
                archive.resize(archive.len().next_multiple_of(4), 0);
            }
        };
        for (at, file) in self.0.iter().enumerate() {
            entry(at + 1, file.mode, 1, &format!("./{}", file.path), file.bytes);
        }
        entry(0, 0, 1, "TRAILER!!!", &[]);
        archive
    }

    /// Returns the lists of the header. They agree with the archive on numbers, sizes and times.
    pub fn values(&self, time: u32) -> BTreeMap<u32, Value> {
        let (folders, names): (Vec<_>, Vec<_>) = self.0.iter().map(File::parts).unzip();
        let sorted: BTreeSet<_> = folders.iter().cloned().collect();
        let index = |folder| sorted.iter().position(|other| other == folder).unwrap_or_default() as u32;
        BTreeMap::from([
            (tag::SIZE, Value::from(self.size())),
            (tag::FILE_SIZES, self.words(|file| file.bytes.len() as u32)),
            (tag::FILE_MODES, Value::Shorts(self.0.iter().map(|file| file.mode).collect())),
            (tag::FILE_NODES, Value::Shorts(vec![0; self.0.len()])),
            (tag::FILE_TIMES, self.words(|_| time)),
            (tag::FILE_DIGESTS, self.texts(digest)),
            (tag::FILE_TARGETS, self.texts(target)),
            (tag::FILE_FLAGS, self.words(flags)),
            (tag::FILE_USERS, self.texts(|_| "root".to_owned())),
            (tag::FILE_GROUPS, self.texts(|_| "root".to_owned())),
            // All attributes are verified.
            (tag::FILE_VERIFIED, self.words(|_| u32::MAX)),
            (tag::FILE_DEVICES, self.words(|_| 1)),
            (tag::FILE_NUMBERS, Value::Words((1..=self.0.len() as u32).collect())),
            (tag::FILE_LANGUAGES, self.texts(|_| String::new())),
            (tag::FILE_FOLDERS, Value::Words(folders.iter().map(index).collect())),
            (tag::FILE_NAMES, Value::Texts(names)),
            (tag::FOLDERS, Value::Texts(sorted.iter().cloned().collect())),
            (tag::FILE_DIGEST_ALGORITHM, Value::from(super::SHA256)),
        ])
    }

    fn size(&self) -> u32 {
        self.0.iter().map(|file| file.bytes.len() as u32).sum()
    }

    fn words(&self, word: impl Fn(&File<'_>) -> u32) -> Value {
        Value::Words(self.0.iter().map(word).collect())
    }

    fn texts(&self, text: impl Fn(&File<'_>) -> String) -> Value {
        Value::Texts(self.0.iter().map(text).collect())
    }
}

/// Returns the hash of a regular file as text.
fn digest(file: &File<'_>) -> String {
    if file.is(REGULAR) { hex(&Sha256::digest(file.bytes)) } else { String::new() }
}

/// Returns the target of a link.
fn target(file: &File<'_>) -> String {
    if file.is(LINK) { String::from_utf8_lossy(file.bytes).into_owned() } else { String::new() }
}

/// Returns the flags of a file: licences are installed even where documentation is not.
fn flags(file: &File<'_>) -> u32 {
    const DOCUMENTATION: u32 = 1 << 1;
    const LICENCE: u32 = 1 << 7;
    match file.path {
        path if file.is(FOLDER) || !path.starts_with("usr/share/doc/") => 0,
        path if path.ends_with("/copyright") => LICENCE,
        _ => DOCUMENTATION,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_package_belong_to_it() {
        let mut tree = Tree::default();
        tree.program("usr/bin/run", "program");
        tree.link("usr/lib64/grus/lib.so", "../x.so");
        let files = Files::of(&tree);
        let paths: Vec<_> = files.0.iter().map(|file| (file.path, file.mode)).collect();
        let expected =
            [("usr/bin/run", 0o100_755), ("usr/lib64/grus", 0o040_755), ("usr/lib64/grus/lib.so", 0o120_777)];
        assert_eq!(paths, expected);
        let values = files.values(9);
        let folders = ["/usr/bin/", "/usr/lib64/", "/usr/lib64/grus/"].map(str::to_owned).to_vec();
        assert_eq!(values[&tag::FOLDERS], Value::Texts(folders));
        assert_eq!(values[&tag::FILE_FOLDERS], Value::Words(vec![0, 1, 2]));
        assert_eq!(values[&tag::SIZE], Value::from(14));
        let archive = files.archive(9);
        assert!(archive.len().is_multiple_of(4) && archive.starts_with(b"0707010000000100008"));
    }
}
