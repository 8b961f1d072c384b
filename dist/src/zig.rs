//! The linker for an old glibc: the C compiler of Zig, which has the symbols of every version of
//! glibc, start-up code for old versions, and LLVM's unwinder. It is a package of PyPI.
//!
//! The C compiler of the build machine would bind to its own glibc (2.34 and 2.35 on Debian 12:
//! threads, `stat`, `_dl_find_object` of its unwinder).

use crate::Result;
use crate::process::{output, run};
use crate::system::Glibc;
use crate::target::GLIBC;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Version of the package. Another one may give other bytes.
const VERSION: &str = "0.17.1";

/// SHA-256 of the package's files for build machines of x86-64 and AArch64.
const HASHES: [&str; 2] = [
    "ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54",
    "b7c5f02fccd40f89b999ee16a1f5ddced56e6182370f8affe494bcf8a28cf07e",
];

/// Zig, installed in a folder.
#[derive(Debug)]
pub struct Zig {
    program: PathBuf,
    folder: PathBuf,
}

impl Zig {
    /// Finds Zig in a folder, or installs it there.
    ///
    /// # Errors
    /// Returns a message if Python or pip fails.
    pub fn install(folder: &Path) -> Result<Self> {
        let folder = folder.join(VERSION);
        let python = folder.join("bin/python3");
        let find = || {
            let code = "import os, ziglang; print(os.path.dirname(ziglang.__file__))";
            output(Command::new(&python).args(["-c", code]))
        };
        if !folder.join("installed").exists() {
            eprintln!("installing ziglang {VERSION} in {}", folder.display());
            run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
            let requirements = folder.join("requirements.txt");
            let hashes = HASHES.map(|hash| format!(" --hash=sha256:{hash}")).concat();
            write(&requirements, &format!("ziglang=={VERSION}{hashes}\n"), 0o644)?;
            let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r"];
            run(Command::new(&python).args(pip).arg(&requirements))?;
            write(&folder.join("installed"), "", 0o644)?;
        }
        Ok(Self { program: PathBuf::from(find()?).join("zig"), folder })
    }

    /// Writes a program that links for a target of Zig, and returns its path.
    ///
    /// # Errors
    /// Returns a message if the file cannot be written.
    pub fn linker(&self, target: &str) -> Result<PathBuf> {
        let path = self.folder.join(format!("link-{target}"));
        let script = format!(
            "#!/bin/sh\nexport ZIG_GLOBAL_CACHE_DIR='{}'\nexec '{}' cc -target {target}.{} -Wl,--build-id=sha1 \"$@\"\n",
            self.folder.join("cache").display(),
            self.program.display(),
            Glibc(GLIBC)
        );
        write(&path, &script, 0o755)?;
        Ok(path)
    }
}

/// Writes a file with a mode.
///
/// # Errors
/// Returns a message with the path.
pub fn write(path: &Path, text: &str, mode: u32) -> Result<()> {
    std::fs::write(path, text)
        .and_then(|()| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)))
        .map_err(|e| format!("{}: {e}", path.display()))
}
