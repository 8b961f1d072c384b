//! The files of a package.

use std::collections::{BTreeMap, BTreeSet};

/// A file or a symbolic link.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A file with its contents, and whether it is a program.
    File {
        /// Contents.
        bytes: Vec<u8>,
        /// True for mode 755, false for 644.
        is_program: bool,
    },
    /// A symbolic link to a path.
    Link(String),
}

/// Files by path, sorted, so that archives do not depend on the order in which they are added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree(BTreeMap<String, Entry>);

impl Tree {
    /// Adds a file.
    pub fn file(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), Entry::File { bytes: bytes.into(), is_program: false });
    }

    /// Adds a program.
    pub fn program(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), Entry::File { bytes: bytes.into(), is_program: true });
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: impl Into<String>, to: impl Into<String>) {
        self.0.insert(path.into(), Entry::Link(to.into()));
    }

    /// Returns all entries by path.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.0.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    /// Returns all folders above entries, parents first.
    pub fn folders(&self) -> BTreeSet<&str> {
        let above = |path: &'_ str| -> Vec<usize> { path.match_indices('/').map(|(at, _)| at).collect() };
        self.0.keys().flat_map(|path| above(path).into_iter().map(|at| &path[..at])).collect()
    }

    /// Returns the bytes of all files.
    pub fn size(&self) -> usize {
        let size = |entry: &Entry| match entry {
            Entry::File { bytes, .. } => bytes.len(),
            Entry::Link(_) => 0,
        };
        self.0.values().map(size).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_before_what_they_have() {
        let mut tree = Tree::default();
        tree.file("usr/lib/x/a.so", "a");
        tree.file("usr/bin/b", "bb");
        assert_eq!(tree.folders().into_iter().collect::<Vec<_>>(), ["usr", "usr/bin", "usr/lib", "usr/lib/x"]);
        assert_eq!(tree.size(), 3);
    }
}
