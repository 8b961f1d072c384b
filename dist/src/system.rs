//! Systems of the targets: the names of binaries, and what packages permit binaries to need.

use crate::elf::Needs;
use crate::loader_file::{LOADER, loader_file};
use crate::target::GLIBC;
use crate::{Binaries, Result, forwarder, pe};
use std::fmt;

/// A system for which there are packages.
#[derive(Debug, PartialEq, Eq)]
pub enum System {
    /// Linux with glibc.
    Linux {
        /// Number of the machine in ELF files.
        machine: u16,
    },
    /// Windows.
    Windows,
}

/// A part of the binaries that is no crate: name, licence as an expression of SPDX, and the file
/// that has its text. Without a file, the text is among those of the crates.
pub type Part = (&'static str, &'static str, Option<&'static str>);

const RUST: Part = ("the standard library of Rust", "MIT OR Apache-2.0", None);

impl System {
    /// Returns the file name of the driver's library.
    pub fn library(&self) -> &'static str {
        match self {
            Self::Linux { .. } => "libvulkan_grus.so",
            Self::Windows => "vulkan_grus.dll",
        }
    }

    /// Returns the file name of `cts-runner`.
    pub fn runner(&self) -> &'static str {
        match self {
            Self::Linux { .. } => "cts-runner",
            Self::Windows => "cts-runner.exe",
        }
    }

    /// Returns the path of the library for a manifest in the same folder. The loader takes a name
    /// without the system's separator for that of a library to be searched.
    pub fn beside(&self) -> String {
        match self {
            Self::Linux { .. } => format!("./{}", self.library()),
            Self::Windows => format!(r".\{}", self.library()),
        }
    }

    /// Returns the program that removes symbols from binaries.
    pub fn strip(&self) -> &'static str {
        match self {
            Self::Linux { .. } => "strip",
            Self::Windows => "x86_64-w64-mingw32-strip",
        }
    }

    /// Returns parts of the binaries that are no crates, those of the linker among them.
    pub fn parts(&self) -> [Part; 2] {
        match self {
            Self::Linux { .. } => [RUST, ("libunwind and compiler-rt of LLVM", "Apache-2.0 WITH LLVM-exception", None)],
            // The exception of libgcc permits programs that contain it under any terms.
            Self::Windows => {
                let text = "/usr/share/doc/mingw-w64-x86-64-dev/copyright";
                let licence = "GPL-3.0-or-later WITH GCC-exception-3.1 AND ZPL-2.1";
                [RUST, ("libgcc of GCC and the runtime of mingw-w64", licence, Some(text))]
            }
        }
    }

    /// Returns the name and the bytes of a file in the folder `loader`, which has the name of the
    /// Vulkan loader and stands for the driver's library.
    ///
    /// # Errors
    /// Returns a message if the library exports no commands.
    pub fn loader(&self, library: &[u8]) -> Result<(&'static str, Vec<u8>)> {
        match self {
            Self::Linux { machine } => Ok((LOADER, loader_file(*machine, self.library(), Some("$ORIGIN/..")))),
            Self::Windows => Ok((forwarder::LOADER, forwarder::forwarder(library, self.library())?)),
        }
    }

    /// Checks the libraries that binaries need, and returns the version of glibc, if they need one.
    /// Binaries that exist already may need a newer glibc than packages allow, and a program that
    /// the compiler of this machine has linked needs gcc's unwinder.
    ///
    /// # Errors
    /// Returns a message with the library or the version that packages do not allow.
    pub fn needs(&self, binaries: &Binaries, is_prebuilt: bool) -> Result<Option<Glibc>> {
        match self {
            Self::Windows => {
                let foreign = pe::foreign(&binaries.library)?.or(pe::foreign(&binaries.runner)?);
                foreign.map_or(Ok(None), |name| Err(format!("the binaries need {name}, which is no part of Windows")))
            }
            Self::Linux { .. } => {
                let (library, runner) = (Needs::read(&binaries.library)?, Needs::read(&binaries.runner)?);
                let glibc = library.glibc()?.max(runner.glibc()?);
                if !is_prebuilt && glibc > GLIBC {
                    let (needs, allowed) = (Glibc(glibc), Glibc(GLIBC));
                    return Err(format!("the binaries need glibc {needs}, and packages allow {allowed}"));
                }
                match library.foreign().or(runner.foreign().filter(|_| !is_prebuilt)) {
                    Some(name) => Err(format!("the binaries need {name}, which is no part of glibc")),
                    None => Ok(Some(Glibc(glibc))),
                }
            }
        }
    }
}

/// A version of glibc, shown as `2.28`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glibc(pub (u32, u32));

impl fmt::Display for Glibc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0.0, self.0.1)
    }
}
