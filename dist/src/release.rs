//! The version and the commit that packages are made of, and files of the repository that they
//! have.

use crate::process::output;
use crate::{Result, read};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Version, commit and time, which all packages of one commit share.
#[derive(Clone, Debug)]
pub struct Release {
    /// Root of the repository.
    pub root: PathBuf,
    /// Version of the workspace.
    pub version: String,
    /// Hash of the commit.
    pub commit: String,
    /// Time of the commit in seconds since 1970, which all files have.
    pub epoch: u64,
    /// Time of the commit as text in UTC: `2026-11-28T04:00:00Z`.
    pub time: String,
    /// Text of the driver's manifest in the repository.
    pub manifest: String,
}

impl Release {
    /// Reads the repository.
    ///
    /// # Errors
    /// Returns a message if git is not available or a file is missing.
    pub fn read(root: &Path) -> Result<Self> {
        let show = |format: &str| {
            let mut git = Command::new("git");
            git.args(["show", "--no-patch", "--date=format-local:%Y-%m-%dT%H:%M:%SZ"])
                .arg(format!("--format={format}"));
            output(git.arg("HEAD").env("TZ", "UTC").current_dir(root))
        };
        let epoch = show("%ct")?;
        Ok(Self {
            root: root.to_path_buf(),
            version: version(&text(root, "Cargo.toml")?).ok_or("Cargo.toml has no version")?,
            commit: show("%H")?,
            epoch: epoch.parse().map_err(|_| format!("git: {epoch} is no time"))?,
            time: show("%cd")?,
            manifest: text(root, "manifest/grus_icd.json")?,
        })
    }

    /// Reads a text file of the repository.
    ///
    /// # Errors
    /// Returns a message if the file is not readable.
    pub fn text(&self, path: &str) -> Result<String> {
        text(&self.root, path)
    }

    /// Returns the driver's manifest with another path of the library.
    ///
    /// # Errors
    /// Returns a message if the manifest of the repository has none.
    pub fn manifest(&self, library: &str) -> Result<String> {
        let mut json: serde_json::Value =
            serde_json::from_str(&self.manifest).map_err(|e| format!("manifest/grus_icd.json: {e}"))?;
        let path = json.pointer_mut("/ICD/library_path").ok_or("manifest/grus_icd.json has no library_path")?;
        *path = library.into();
        Ok(format!("{json:#}\n"))
    }
}

fn text(root: &Path, path: &str) -> Result<String> {
    String::from_utf8(read(&root.join(path))?).map_err(|_| format!("{path} is not UTF-8"))
}

/// Returns the version in the section of the workspace's packages.
fn version(manifest: &str) -> Option<String> {
    let section = manifest.split("[workspace.package]").nth(1)?;
    let line = section.lines().find(|line| line.starts_with("version"))?;
    line.split('"').nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_workspace() {
        let text = "[workspace]\nversion = \"9\"\n[workspace.package]\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        assert_eq!(version(text).as_deref(), Some("0.1.0"));
        assert_eq!(version("[package]\nversion = \"1\""), None);
    }
}
