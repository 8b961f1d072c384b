//! Place where children run and keep their files. This is the current system or another root, a
//! folder with a system of its own, such as a newer distribution with current versions of the other
//! drivers.
//!
//! Idea: with another root, all children run in it, including those of Grus, so that every driver
//! has the same C library, loader and files. This program and drivers that are not in the root are
//! copied to a folder in its `tmp`, which is removed after the run.
//!
//! Invariant: paths that are given to a child are inside paths, relative to the root. The parent
//! uses outside paths for the same files.

use crate::vk::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that is removed when its owner is dropped.
#[derive(Debug)]
pub struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// Creates a new folder below `parent`.
    fn new(parent: &Path) -> Result<Self> {
        new_folder(parent).map(Self)
    }

    /// Returns the outside path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Root directory in which children run.
#[derive(Debug)]
pub struct Sysroot {
    root: Option<PathBuf>,
    /// Inside path of this program.
    program: PathBuf,
    scratch: ScratchFolder,
}

impl Sysroot {
    /// Returns the root of this process.
    pub fn current() -> Result<Self> {
        Ok(Self { root: None, program: this_program()?, scratch: ScratchFolder::new(&std::env::temp_dir())? })
    }

    /// Returns another root, into which this program is copied.
    pub fn at(root: &Path) -> Result<Self> {
        let root = root.canonicalize().map_err(|e| Error::Io(root.into(), e))?;
        let scratch = ScratchFolder::new(&root.join("tmp"))?;
        let mut sysroot = Self { root: Some(root), program: PathBuf::new(), scratch };
        sysroot.program = sysroot.copy_in(&this_program()?)?;
        Ok(sysroot)
    }

    /// Returns the root, if it is not that of this process.
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Creates a new folder for a child.
    pub fn scratch(&self) -> Result<ScratchFolder> {
        ScratchFolder::new(self.scratch.path())
    }

    /// Returns the outside path of a folder that all children share.
    pub fn shared(&self) -> &Path {
        self.scratch.path()
    }

    /// Converts an outside path to an inside path. A path that is not below the root is assumed to
    /// be an inside path.
    pub fn inside_path(&self, path: &Path) -> PathBuf {
        let below = self.root.as_ref().and_then(|root| path.strip_prefix(root).ok());
        below.map_or_else(|| path.into(), |below| Path::new("/").join(below))
    }

    /// Converts an absolute inside path to an outside path.
    pub fn outside_path(&self, path: &Path) -> PathBuf {
        match &self.root {
            Some(root) if !path.starts_with(root) => root.join(path.strip_prefix("/").unwrap_or(path)),
            _ => path.into(),
        }
    }

    /// Copies a file into the root, and returns its inside path.
    pub fn copy_in(&self, file: &Path) -> Result<PathBuf> {
        let folder = new_folder(self.shared())?;
        let copy = folder.join(file.file_name().unwrap_or_default());
        std::fs::copy(file, &copy).map_err(|e| Error::Io(file.into(), e))?;
        Ok(self.inside_path(&copy))
    }

    /// Copies all files of a folder as [`Self::bring`] does. Without another root, the folder stays
    /// where it is.
    pub fn copy_folder_in(&self, folder: &Path) -> Result<PathBuf> {
        if self.root.is_none() {
            return std::path::absolute(folder).map_err(|e| Error::Io(folder.into(), e));
        }
        let copy = new_folder(self.shared())?;
        for file in std::fs::read_dir(folder).map_err(|e| Error::Io(folder.into(), e))?.flatten() {
            let copied = std::fs::copy(file.path(), copy.join(file.file_name()));
            copied.map_err(|e| Error::Io(file.path(), e))?;
        }
        Ok(self.inside_path(&copy))
    }

    /// Writes a file for children and returns its inside path.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = new_folder(self.shared())?.join(name);
        std::fs::write(&path, text).map_err(|e| Error::Io(path.clone(), e))?;
        Ok(self.inside_path(&path))
    }

    /// Returns a command that runs this program as a child.
    pub fn command(&self) -> Command {
        Command::new(&self.program)
    }

    /// Starts a child.
    pub fn spawn(&self, mut command: Command) -> Result<Child> {
        let program = PathBuf::from(command.get_program());
        if let Some(root) = &self.root {
            crate::os::run_in_root(&mut command, root).map_err(|e| Error::Io(root.clone(), e))?;
        }
        command.spawn().map_err(|e| match (&self.root, e.kind()) {
            (Some(_), std::io::ErrorKind::PermissionDenied) => {
                Error::Missing("chroot for --root: run this as root (CAP_SYS_CHROOT)".into())
            }
            _ => Error::Io(program, e),
        })
    }
}

fn new_folder(parent: &Path) -> Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = parent.join(format!("cts-runner-bench-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&path).map_err(|e| Error::Io(path.clone(), e))?;
    Ok(path)
}

fn this_program() -> Result<PathBuf> {
    std::env::current_exe().map_err(|e| Error::Io("the running program".into(), e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_converted_to_the_root() {
        let folder = Sysroot::current().expect("a folder");
        std::fs::create_dir(folder.shared().join("tmp")).expect("a folder");
        let sysroot = Sysroot::at(folder.shared()).expect("a root");
        let root = folder.shared().canonicalize().expect("a path");
        assert_eq!(sysroot.inside_path(&root.join("opt/x.json")), Path::new("/opt/x.json"));
        assert_eq!(sysroot.inside_path(Path::new("/opt/x.json")), Path::new("/opt/x.json"));
        assert_eq!(sysroot.outside_path(Path::new("/opt/x.json")), root.join("opt/x.json"));
        assert_eq!(sysroot.outside_path(&root.join("opt")), root.join("opt"));
        let program = this_program().expect("this program");
        let copies = [0, 1].map(|_| sysroot.copy_in(&program).expect("a copy"));
        assert_ne!(copies[0], copies[1]);
        assert_eq!(
            std::fs::read(sysroot.outside_path(&copies[0])).expect("it").len(),
            std::fs::read(program).expect("it").len()
        );
        assert!(sysroot.outside_path(&sysroot.program).exists());
        drop(sysroot);
        assert_eq!(std::fs::read_dir(root.join("tmp")).expect("it is there").count(), 0, "nothing is left");
        assert!(Sysroot::at(Path::new("/nonexistent")).is_err());
    }

    #[test]
    fn a_child_finds_itself_in_the_root_or_is_refused() {
        let folder = Sysroot::current().expect("a folder");
        std::fs::create_dir(folder.shared().join("tmp")).expect("a folder");
        let sysroot = Sysroot::at(folder.shared()).expect("a root");
        // The root contains no shell, so even a process that may enter it finds no program to run.
        match sysroot.spawn(Command::new("/bin/sh")) {
            Err(Error::Io(path, error)) => {
                assert_eq!((path.as_path(), error.kind()), (Path::new("/bin/sh"), std::io::ErrorKind::NotFound));
            }
            Err(Error::Missing(what)) => assert!(what.contains("--root"), "{what}"),
            other => panic!("{other:?}"),
        }
    }
}
