//! Error type of the harness, which covers every step from reading a manifest to reading back
//! results.

use ash::vk;
use std::fmt;
use std::path::PathBuf;

/// An error of the harness.
#[derive(Debug)]
pub enum Error {
    /// A Vulkan command returned an error code.
    Vulkan(&'static str, vk::Result),
    /// A file could not be read or written.
    Io(PathBuf, std::io::Error),
    /// A shared library could not be opened or lacks a symbol.
    Library(PathBuf, String),
    /// A manifest is not what the loader's documentation describes.
    Manifest(PathBuf, &'static str),
    /// The driver or the checkout lacks something that the caller needs.
    Missing(String),
}

/// Result type of the harness.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Vulkan(command, code) => write!(f, "{command} returned {code:?} ({})", code.as_raw()),
            Error::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Error::Library(path, why) => write!(f, "cannot open {}: {why}", path.display()),
            Error::Manifest(path, why) => write!(f, "{}: {why}", path.display()),
            Error::Missing(what) => write!(f, "not available: {what}"),
        }
    }
}

impl std::error::Error for Error {}

/// Adds the name of the command that returned an error code.
pub(crate) trait Context<T> {
    /// Turns a `vk::Result` into an [`Error`] that names the command that failed.
    fn context(self, command: &'static str) -> Result<T>;
}

impl<T> Context<T> for std::result::Result<T, vk::Result> {
    fn context(self, command: &'static str) -> Result<T> {
        self.map_err(|code| Error::Vulkan(command, code))
    }
}
