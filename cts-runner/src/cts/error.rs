//! Error type for everything that can end a run before its report. Every message states what to do.

use crate::vk;
use std::fmt;
use std::path::PathBuf;

/// An error of a run.
#[derive(Debug)]
pub enum Error {
    /// A file could not be read or written.
    Io(PathBuf, std::io::Error),
    /// The command line asks for a missing file or contradicts itself.
    Usage(String),
    /// A line of an input file is not in its format.
    Line {
        /// Path of the file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Description of the fault.
        why: String,
    },
    /// The manifest of a driver cannot be used.
    Driver(vk::Error),
    /// The deqp process ends before it runs a case; the text is what it printed.
    Start(String),
    /// It is not proven that the chosen driver ran.
    Unproven(String),
    /// The results in the folder belong to another driver or another deqp.
    OtherRun(PathBuf, String),
    /// The ledger in this file cannot be merged with the run or with another ledger.
    Ledger(PathBuf, String),
    /// The runner has detected a contradiction in its own state.
    Internal(String),
}

/// Result type of a run.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Error::Usage(what) => f.write_str(what),
            Error::Line { path, line, why } => write!(f, "{}:{line}: {why}", path.display()),
            Error::Driver(error) => error.fmt(f),
            Error::Start(output) => {
                write!(f, "deqp dies before it runs a case, three times in a row; it printed:\n{output}")
            }
            Error::Unproven(why) => write!(f, "no proof of which driver ran, so there is nothing to report: {why}"),
            Error::OtherRun(folder, why) => write!(
                f,
                "{} holds the results of another run ({why}); --fresh deletes them, --out names another folder",
                folder.display()
            ),
            Error::Ledger(path, why) => write!(f, "{}: {why}", path.display()),
            Error::Internal(what) => write!(f, "error in cts-runner itself: {what}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<vk::Error> for Error {
    fn from(error: vk::Error) -> Self {
        Error::Driver(error)
    }
}

/// Adds the file name to an I/O error.
pub(crate) trait At<T> {
    /// Turns an I/O error into an [`Error`] that names the file.
    fn at(self, path: impl Into<PathBuf>) -> Result<T>;
}

impl<T> At<T> for std::io::Result<T> {
    fn at(self, path: impl Into<PathBuf>) -> Result<T> {
        self.map_err(|error| Error::Io(path.into(), error))
    }
}
