//! Which drivers take part: those named, or those the loader would find.
//!
//! The search is the loader's (its document `LoaderDriverInterface.md`, "Driver Discovery on Linux"): `VK_DRIVER_FILES` or `VK_ICD_FILENAMES`
//! when set, else `vulkan/icd.d` below the configuration and data folders of XDG. Beside them we look where browsers keep SwiftShader.

use crate::driver;
use crate::vk::{Error, Manifest, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Where browsers put SwiftShader's manifest, which no loader looks at.
const BROWSERS: [&str; 5] = [
    "/usr/lib/chromium/vk_swiftshader_icd.json",
    "/usr/lib64/chromium-browser/vk_swiftshader_icd.json",
    "/usr/lib/chromium-browser/vk_swiftshader_icd.json",
    "/opt/google/chrome/vk_swiftshader_icd.json",
    "/opt/microsoft/msedge/vk_swiftshader_icd.json",
];

/// A driver as one `--icd` names it; `scratch` takes the manifest of a bare library.
pub fn named(what: &str, scratch: &Path) -> Result<Manifest> {
    if what == "grus" {
        return driver::grus();
    }
    let path = std::path::absolute(what).map_err(|e| Error::Io(what.into(), e))?;
    let is_library = path.file_name().is_some_and(|n| n.to_string_lossy().contains(".so"));
    if !is_library {
        return Manifest::read(&path);
    }
    if !path.exists() {
        return Err(Error::Library(path, "there is no such file".into()));
    }
    let file = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let manifest = scratch.join(format!("{file}.json"));
    let json = serde_json::json!({
        "file_format_version": "1.0.0",
        "ICD": { "library_path": path, "api_version": "1.3.0" }
    });
    std::fs::write(&manifest, format!("{json:#}\n")).map_err(|e| Error::Io(manifest.clone(), e))?;
    Manifest::read(&manifest)
}

/// Grus and every other driver on the system, one manifest per library.
pub fn found() -> Result<Vec<Manifest>> {
    let rivals = candidates().into_iter().filter_map(|path| Manifest::read(&path).ok());
    let mut seen = HashSet::new();
    let key = |m: &Manifest| m.library.canonicalize().unwrap_or_else(|_| m.library.clone());
    let all = std::iter::once(driver::grus()?).chain(rivals);
    // A Grus that is installed besides is the same driver under another path.
    let again = |m: &Manifest, first: bool| !first && m.library.file_name().is_some_and(|n| n == driver::LIBRARY);
    Ok(all.enumerate().filter(|(i, m)| !again(m, *i == 0) && seen.insert(key(m))).map(|(_, m)| m).collect())
}

fn candidates() -> Vec<PathBuf> {
    for variable in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] {
        if let Some(list) = std::env::var_os(variable).filter(|v| !v.is_empty()) {
            return std::env::split_paths(&list).collect();
        }
    }
    let mut files: Vec<PathBuf> = folders().iter().flat_map(|folder| manifests_in(folder)).collect();
    files.extend(BROWSERS.iter().map(PathBuf::from).filter(|p| p.exists()));
    files
}

/// The loader's folders, in its order.
fn folders() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let below_home = |variable: &str, tail: &str| {
        let set = std::env::var_os(variable).filter(|v| !v.is_empty()).map(PathBuf::from);
        set.or_else(|| home.as_ref().map(|h| h.join(tail)))
    };
    let list = |variable: &str, default: &str| {
        let set = std::env::var_os(variable).filter(|v| !v.is_empty());
        std::env::split_paths(&set.unwrap_or_else(|| default.into())).collect::<Vec<_>>()
    };
    let mut roots: Vec<PathBuf> = below_home("XDG_CONFIG_HOME", ".config").into_iter().collect();
    roots.extend(list("XDG_CONFIG_DIRS", "/etc/xdg"));
    roots.push("/etc".into());
    roots.extend(below_home("XDG_DATA_HOME", ".local/share"));
    roots.extend(list("XDG_DATA_DIRS", "/usr/local/share:/usr/share"));
    roots.into_iter().map(|root| root.join("vulkan/icd.d")).collect()
}

fn manifests_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    files
}

/// Short names that differ: the first word of the device's name, llvmpipe under the name its driver is known by.
pub fn labels(devices: &[String]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for device in devices {
        let word = device.split([' ', '(']).find(|w| !w.is_empty()).unwrap_or("driver");
        let base = if word == "llvmpipe" { "lavapipe" } else { word }.to_owned();
        let taken = |l: &String| labels.contains(l);
        let numbered = (2..).map(|n| format!("{base}-{n}"));
        let label = std::iter::once(base.clone()).chain(numbered).find(|l| !taken(l)).unwrap_or(base);
        labels.push(label);
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short_and_differ() {
        let devices = ["Grus (CPU)", "llvmpipe (LLVM 15.0.6, 256 bits)", "SwiftShader Device (Subzero)", "Grus"];
        assert_eq!(labels(&devices.map(String::from)), ["Grus", "lavapipe", "SwiftShader", "Grus-2"]);
    }

    #[test]
    fn a_library_gets_a_manifest_and_a_missing_one_is_refused() {
        let scratch = std::env::temp_dir().join(format!("cts-runner-drivers-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).expect("a folder");
        let library = scratch.join("libvk_test.so");
        assert!(named(&library.display().to_string(), &scratch).is_err());
        std::fs::write(&library, "").expect("a file");
        let manifest = named(&library.display().to_string(), &scratch).expect("a manifest");
        assert_eq!(manifest.library, library);
        assert_eq!(Manifest::read(&manifest.path).expect("readable").library, library);
        std::fs::remove_dir_all(&scratch).expect("gone");
    }
}
