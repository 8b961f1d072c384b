//! The key that authenticates pipeline-cache data: 32 random bytes in a file that only the user can
//! read.
//!
//! The file is `grus/pipeline-cache.key` in `$XDG_STATE_HOME` or `~/.local/state`. It is written
//! completely under another name and then linked to its own, so that processes that start at the
//! same time agree and none reads a partial key. It counts only if it is a regular file of this
//! user that no other user can read or write, in a directory that no other user can write to.
//! Otherwise, and in processes that run with more rights than their user's (`AT_SECURE`), the
//! process has its own key. Caches then work inside the process, and their data is useless outside.

#![forbid(unsafe_code)]

use crate::os::private_file;
use crate::os::user::{is_secure_execution, random};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A 256-bit key.
pub type SecretKey = [u8; 32];

const NAME: &str = "pipeline-cache.key";

/// Returns the key of this user and this build of the driver. It is read or made at the first use,
/// which is when a cache with data is created or a cache is stored. `None` means that there is no
/// source of randomness, so that no data is authentic.
pub fn cache_key() -> Option<&'static SecretKey> {
    static KEY: OnceLock<Option<SecretKey>> = OnceLock::new();
    KEY.get_or_init(|| {
        let of_user = directory().and_then(|directory| user_key(&directory));
        of_user.or_else(random).map(|key| derive_for_build(&key, &crate::caps::build_id()))
    })
    .as_ref()
}

/// Derives the key for one build, so that data of another build is not authentic.
fn derive_for_build(key: &SecretKey, build: &[u8]) -> SecretKey {
    let mut hasher = blake3::Hasher::new_derive_key("grus 2026 pipeline cache data");
    hasher.update(key).update(build);
    *hasher.finalize().as_bytes()
}

/// Returns the directory of the driver's state.
fn directory() -> Option<PathBuf> {
    if is_secure_execution() {
        return None;
    }
    private_file::state_directory()
}

/// Returns the key in `directory`; makes one if there is none.
fn user_key(directory: &Path) -> Option<SecretKey> {
    let path = directory.join(NAME);
    if let Err(error) = std::fs::symlink_metadata(&path) {
        if error.kind() != std::io::ErrorKind::NotFound {
            return None;
        }
        private_file::create_directory(directory)?;
        make(directory, &path)?;
    }
    if private_file::is_private_directory(directory) { read(&path) } else { None }
}

/// Makes a key at `path`, unless another process is faster.
fn make(directory: &Path, path: &Path) -> Option<()> {
    let name = random()?;
    let name: String = name[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let draft = directory.join(format!(".{NAME}.{name}"));
    let mut file = private_file::create(&draft)?;
    let written = random().is_some_and(|key| file.write_all(&key).and_then(|()| file.sync_all()).is_ok());
    // The link does not replace a file: a process that comes second reads the first one's key.
    let linked = written.then(|| std::fs::hard_link(&draft, path));
    // A draft that cannot be removed is only a superfluous file.
    let _ = std::fs::remove_file(&draft);
    match linked? {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => None,
        _ => Some(()),
    }
}

/// Reads the key in the file, if no other user can access it.
fn read(path: &Path) -> Option<SecretKey> {
    let mut file = private_file::open(path)?;
    if file.metadata().ok()?.len() != size_of::<SecretKey>() as u64 {
        return None;
    }
    let mut key = SecretKey::default();
    file.read_exact(&mut key).ok()?;
    Some(key)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    /// A directory that is removed with the value.
    struct TempDirectory(PathBuf);
    impl TempDirectory {
        fn new(name: &str) -> TempDirectory {
            let place = std::env::temp_dir().join(format!("grus-key-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&place).expect("directory");
            TempDirectory(place)
        }
    }
    impl Drop for TempDirectory {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("mode");
    }

    #[test]
    fn a_key_is_created_once_and_found_again() {
        let place = TempDirectory::new("made");
        let directory = place.0.join("state/grus");
        let key = user_key(&directory).expect("a key");
        assert_eq!(user_key(&directory), Some(key));
        let file = std::fs::metadata(directory.join(NAME)).expect("the file");
        assert_eq!((file.mode() & 0o777, file.len()), (0o600, 32));
        assert_eq!(std::fs::metadata(&directory).expect("directory").mode() & 0o777, 0o700);
        assert_eq!(std::fs::read_dir(&directory).expect("directory").count(), 1, "drafts are gone");
        assert_ne!(user_key(&place.0.join("other")), Some(key), "another place, another key");
    }

    #[test]
    fn concurrent_callers_get_the_same_key() {
        let place = TempDirectory::new("race");
        let directory = place.0.join("grus");
        let keys: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| user_key(&directory))).collect();
            threads.into_iter().map(|t| t.join().expect("thread")).collect()
        });
        assert!(keys[0].is_some() && keys.iter().all(|k| *k == keys[0]), "{keys:?}");
    }

    #[test]
    fn files_that_other_users_can_access_are_ignored() {
        let place = TempDirectory::new("bad");
        let directory = place.0.join("grus");
        let path = directory.join(NAME);
        let key = user_key(&directory);
        assert!(key.is_some());
        for bad in [0o644, 0o640, 0o620, 0o602, 0o604] {
            mode(&path, bad);
            assert_eq!(user_key(&directory), None, "mode {bad:o}");
        }
        mode(&path, 0o600);
        for bad in [0o777, 0o720, 0o702] {
            mode(&directory, bad);
            assert_eq!(user_key(&directory), None, "directory's mode {bad:o}");
        }
        mode(&directory, 0o700);
        assert_eq!(user_key(&directory), key);
        // The file is damaged, or replaced by a link, a pipe or a directory.
        let replace = |with: &dyn Fn()| {
            std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path)).expect("removed");
            with();
            assert_eq!(user_key(&directory), None);
        };
        std::fs::copy(&path, directory.join("kept")).expect("copy");
        for length in [0, 31, 33] {
            replace(&|| {
                std::fs::write(&path, vec![7; length]).expect("written");
                mode(&path, 0o600);
            });
        }
        replace(&|| std::os::unix::fs::symlink(directory.join("kept"), &path).expect("link"));
        replace(&|| {
            let made = std::process::Command::new("mkfifo").args(["-m", "600"]).arg(&path).status();
            assert!(made.expect("mkfifo").success());
        });
        replace(&|| std::fs::create_dir(&path).expect("directory"));
    }

    #[test]
    fn there_is_no_key_without_a_directory() {
        assert_eq!(user_key(Path::new("/proc/grus")), None);
        assert_eq!(user_key(Path::new("/dev/null/grus")), None);
    }

    #[test]
    fn builds_have_different_keys() {
        let key = random().expect("randomness");
        assert_ne!(random(), Some(key));
        assert_ne!(derive_for_build(&key, &[0; 16]), derive_for_build(&key, &[1; 16]));
        assert_ne!(derive_for_build(&key, &[0; 16]), key);
    }
}
