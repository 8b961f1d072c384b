//! Targets of the packages, with their names in each kind of package.

use crate::loader_file;

/// Version of glibc that packages may need: that of `manylinux_2_28`, Debian 10, RHEL 8 and
/// everything newer.
pub const GLIBC: (u32, u32) = (2, 28);

/// An architecture of Linux with glibc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// x86-64.
    X86_64,
    /// AArch64.
    Aarch64,
}

/// All targets.
pub const TARGETS: [Target; 2] = [Target::X86_64, Target::Aarch64];

impl Target {
    /// Returns the name of the architecture, which options and tags of wheels contain.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Returns the platform in the names of tarballs and lists of components.
    pub fn platform(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-linux",
            Self::Aarch64 => "aarch64-linux",
        }
    }

    /// Returns the file name of the driver's library.
    pub fn library(self) -> &'static str {
        match self {
            Self::X86_64 | Self::Aarch64 => "libvulkan_grus.so",
        }
    }

    /// Returns the number of the machine in ELF files.
    pub fn elf_machine(self) -> u16 {
        match self {
            Self::X86_64 => loader_file::X86_64,
            Self::Aarch64 => loader_file::AARCH64,
        }
    }

    /// Returns the tag of wheels whose binaries need a version of glibc.
    pub fn wheel_tag(self, (major, minor): (u32, u32)) -> String {
        match self {
            Self::X86_64 | Self::Aarch64 => format!("py3-none-manylinux_{major}_{minor}_{}", self.name()),
        }
    }

    /// Returns the target of rustc.
    pub fn rust(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-gnu",
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
        }
    }

    /// Returns the architecture of Debian.
    pub fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// Returns the architecture of Node.js.
    pub fn node(self) -> &'static str {
        match self {
            Self::X86_64 => "x64",
            Self::Aarch64 => "arm64",
        }
    }

    /// Returns the folder of Debian's libraries below `/usr/lib`.
    pub fn multiarch(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-linux-gnu",
            Self::Aarch64 => "aarch64-linux-gnu",
        }
    }
}

/// Returns a version as text.
pub fn text((major, minor): (u32, u32)) -> String {
    format!("{major}.{minor}")
}
