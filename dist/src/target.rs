//! Targets of the packages: a row each, with its packages and their names.

use crate::loader_file::{AARCH64, X86_64};
use crate::system::System;

/// Version of glibc that packages may need: that of `manylinux_2_28`, Debian 10, RHEL 8 and
/// everything newer.
pub const GLIBC: (u32, u32) = (2, 28);

/// A system with an architecture, and the packages that are made for it.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// Name, which the command line takes.
    pub name: &'static str,
    /// Platform in the names of archives and lists of components.
    pub platform: &'static str,
    /// Target of rustc.
    pub rust: &'static str,
    /// The system, which decides the format of binaries and their names.
    pub system: System,
    /// The linker.
    pub linker: Linker,
    /// Packages that have the binaries.
    pub packages: &'static [Kind],
}

/// Linker of a target.
#[derive(Debug, PartialEq, Eq)]
pub enum Linker {
    /// The C compiler of Zig, with the name of its target without a version of glibc.
    Zig(&'static str),
    /// A C compiler that is installed, with its arguments.
    Installed(&'static str),
}

/// A kind of package, with the names that it uses for the target.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// An archive of `tar`.
    Tarball,
    /// A zip file.
    Zip,
    /// A Debian package.
    Debian {
        /// Architecture of Debian.
        architecture: &'static str,
        /// Folder of the architecture's libraries below `/usr/lib`.
        multiarch: &'static str,
    },
    /// An rpm package.
    Rpm {
        /// Architecture of rpm.
        architecture: &'static str,
    },
    /// A Python wheel.
    Wheel {
        /// Platform in the tag, where `GLIBC` stands for the version that the binaries need.
        platform: &'static str,
    },
    /// A package for npm.
    Npm {
        /// Architecture of Node.js.
        cpu: &'static str,
    },
}

/// All targets.
pub static TARGETS: [Target; 3] = [
    Target {
        name: "x86_64",
        platform: "x86_64-linux",
        rust: "x86_64-unknown-linux-gnu",
        system: System::Linux { machine: X86_64 },
        linker: Linker::Zig("x86_64-linux-gnu"),
        packages: &[
            Kind::Tarball,
            Kind::Debian { architecture: "amd64", multiarch: "x86_64-linux-gnu" },
            Kind::Rpm { architecture: "x86_64" },
            Kind::Wheel { platform: "manylinux_GLIBC_x86_64" },
            Kind::Npm { cpu: "x64" },
        ],
    },
    Target {
        name: "aarch64",
        platform: "aarch64-linux",
        rust: "aarch64-unknown-linux-gnu",
        system: System::Linux { machine: AARCH64 },
        linker: Linker::Zig("aarch64-linux-gnu"),
        packages: &[
            Kind::Tarball,
            Kind::Debian { architecture: "arm64", multiarch: "aarch64-linux-gnu" },
            Kind::Rpm { architecture: "aarch64" },
            Kind::Wheel { platform: "manylinux_GLIBC_aarch64" },
            Kind::Npm { cpu: "arm64" },
        ],
    },
    Target {
        name: "x86_64-windows",
        platform: "x86_64-windows",
        rust: "x86_64-pc-windows-gnu",
        system: System::Windows,
        // The linker writes the time of the build into the header by default.
        linker: Linker::Installed("x86_64-w64-mingw32-gcc -Wl,--no-insert-timestamp"),
        packages: &[Kind::Zip, Kind::Wheel { platform: "win_amd64" }],
    },
];

/// Returns the target with a name.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
