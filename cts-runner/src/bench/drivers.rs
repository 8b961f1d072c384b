//! Chooses the drivers: either those that the options name, or those that the loader would find.
//!
//! The search follows the loader's document `LoaderDriverInterface.md`, "Driver Discovery on
//! Linux". It uses `VK_DRIVER_FILES` or `VK_ICD_FILENAMES` if set, else `vulkan/icd.d` below the
//! configuration and data folders of XDG. It also looks in the folders where browsers keep
//! SwiftShader.

use super::sysroot::Sysroot;
use crate::driver;
use crate::vk::{Error, Manifest, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Paths of SwiftShader's manifest in browsers, which no loader searches, and of a SwiftShader
/// without a browser.
const BROWSERS: [&str; 6] = [
    "/usr/lib/chromium/vk_swiftshader_icd.json",
    "/usr/lib64/chromium-browser/vk_swiftshader_icd.json",
    "/usr/lib/chromium-browser/vk_swiftshader_icd.json",
    "/opt/google/chrome/vk_swiftshader_icd.json",
    "/opt/microsoft/msedge/vk_swiftshader_icd.json",
    "/opt/swiftshader/vk_swiftshader_icd.json",
];

/// Environment variables and their values.
pub type Environment = Vec<(String, String)>;

/// Splits an `--icd` argument into the driver and its environment variables. A comma that no
/// variable follows is a part of the name.
pub fn environment(what: &str) -> (&str, Environment) {
    let (mut what, mut environment) = (what, Vec::new());
    while let Some((before, (name, value))) =
        what.rsplit_once(',').and_then(|(before, last)| Some((before, last.split_once('=')?)))
    {
        environment.insert(0, (name.to_owned(), value.to_owned()));
        what = before;
    }
    (what, environment)
}

/// Returns the manifest of a driver that one `--icd` names, as a path for the children. With
/// another root, the path is searched inside the root first, with or without the root as a prefix.
/// Otherwise the driver of this machine is copied.
pub fn named(what: &str, sysroot: &Sysroot) -> Result<PathBuf> {
    if what == "grus" {
        return reach(&driver::grus()?, sysroot);
    }
    let path = std::path::absolute(what).map_err(|e| Error::Io(what.into(), e))?;
    let within = sysroot.outside_path(&path);
    if sysroot.root().is_some() && within.exists() {
        return reach_within(&within, sysroot);
    }
    if !is_library(&path) {
        return reach(&Manifest::read(&path)?, sysroot);
    }
    if !path.exists() {
        return Err(Error::Library(path, "there is no such file".into()));
    }
    let library = if sysroot.root().is_some() { sysroot.copy_in(&path)? } else { path };
    manifest_of(&library, sysroot)
}

/// Returns Grus and every other driver of the root, with one manifest per library.
pub fn found(sysroot: &Sysroot) -> Result<Vec<PathBuf>> {
    let grus = driver::grus()?;
    let rivals = candidates(sysroot).into_iter().filter_map(|path| Manifest::read(&path).ok());
    // An installed Grus is the same driver under another path.
    let rivals = rivals.filter(|m| m.library.file_name().is_none_or(|n| n != driver::LIBRARY));
    let key = |m: &Manifest| m.library.canonicalize().unwrap_or_else(|_| m.library.clone());
    let mut seen = HashSet::from([key(&grus)]);
    let mut all = vec![reach(&grus, sysroot)?];
    for rival in rivals.filter(|m| seen.insert(key(m))) {
        all.push(std::path::absolute(sysroot.inside_path(&rival.path)).map_err(|e| Error::Io(rival.path, e))?);
    }
    Ok(all)
}

fn is_library(path: &Path) -> bool {
    path.file_name().is_some_and(|n| n.to_string_lossy().contains(".so"))
}

/// Returns the manifest of a driver of this machine; with another root, the manifest of a copy.
fn reach(manifest: &Manifest, sysroot: &Sysroot) -> Result<PathBuf> {
    if sysroot.root().is_some() {
        return manifest_of(&sysroot.copy_in(&manifest.library)?, sysroot);
    }
    std::path::absolute(&manifest.path).map_err(|e| Error::Io(manifest.path.clone(), e))
}

/// Returns the manifest of a driver in another root.
fn reach_within(path: &Path, sysroot: &Sysroot) -> Result<PathBuf> {
    if is_library(path) {
        return manifest_of(&sysroot.inside_path(path), sysroot);
    }
    Manifest::read(path).map(|m| sysroot.inside_path(&m.path))
}

/// Writes a manifest for a bare library. Both paths are those that the children see.
fn manifest_of(library: &Path, sysroot: &Sysroot) -> Result<PathBuf> {
    let file = library.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let json = serde_json::json!({
        "file_format_version": "1.0.0",
        "ICD": { "library_path": library, "api_version": "1.3.0" }
    });
    sysroot.write(&format!("{file}.json"), &format!("{json:#}\n"))
}

/// Returns paths of possible manifests, as seen from outside the root.
fn candidates(sysroot: &Sysroot) -> Vec<PathBuf> {
    if let Some(root) = sysroot.root() {
        let shares = ["etc", "usr/local/share", "usr/share"].map(|share| root.join(share).join("vulkan/icd.d"));
        let browsers = BROWSERS.iter().map(|path| sysroot.outside_path(Path::new(path))).filter(|p| p.exists());
        return shares.iter().flat_map(|folder| manifests_in(folder)).chain(browsers).collect();
    }
    for variable in driver::MANIFEST_VARIABLES {
        if let Some(list) = std::env::var_os(variable).filter(|v| !v.is_empty()) {
            return std::env::split_paths(&list).collect();
        }
    }
    let mut files: Vec<PathBuf> = folders().iter().flat_map(|folder| manifests_in(folder)).collect();
    files.extend(BROWSERS.iter().map(PathBuf::from).filter(|p| p.exists()));
    files
}

/// Returns the manifest folders in the order of the loader.
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

/// Returns distinct short names. A name is the first word of the device's name; for llvmpipe it is
/// the usual name of its driver.
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
    fn variables_stand_behind_a_driver() {
        let own =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Vec<_>>();
        assert_eq!(environment("grus"), ("grus", vec![]));
        assert_eq!(environment("a,b.so,N=1,M=x=y"), ("a,b.so", own(&[("N", "1"), ("M", "x=y")])));
    }

    #[test]
    fn a_library_gets_a_manifest_and_a_missing_one_is_refused() {
        let sysroot = Sysroot::current().expect("a folder");
        let library = sysroot.shared().join("libvk_test.so");
        assert!(named(&library.display().to_string(), &sysroot).is_err());
        std::fs::write(&library, "").expect("a file");
        let manifest = named(&library.display().to_string(), &sysroot).expect("a manifest");
        assert_eq!(Manifest::read(&manifest).expect("readable").library, library);
    }

    #[test]
    fn in_another_root_its_drivers_are_named_and_found_and_others_are_copied() {
        let here = Sysroot::current().expect("a folder");
        let (root, library) = (here.shared(), here.shared().join("libvk_test.so"));
        let folder = root.join("usr/share/vulkan/icd.d");
        std::fs::create_dir_all(root.join("tmp")).expect("a folder");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(&library, "library").expect("a file");
        let rival = r#"{ "ICD": { "library_path": "/usr/lib/libvk_rival.so" } }"#;
        std::fs::write(folder.join("rival.json"), rival).expect("a file");
        let sysroot = Sysroot::at(root).expect("a root");
        let inside = "/usr/share/vulkan/icd.d/rival.json";
        assert_eq!(candidates(&sysroot), [sysroot.outside_path(Path::new(inside))]);
        for name in [inside.to_owned(), folder.join("rival.json").canonicalize().expect("it").display().to_string()] {
            assert_eq!(named(&name, &sysroot).expect("it is there"), Path::new(inside));
        }
        let elsewhere = Sysroot::current().expect("a folder");
        let own = elsewhere.shared().join("libvk_own.so");
        std::fs::write(&own, "own").expect("a file");
        let manifest = sysroot.outside_path(&named(&own.display().to_string(), &sysroot).expect("a manifest"));
        let copy = Manifest::read(&manifest).expect("readable").library;
        assert_ne!(copy, own);
        assert_eq!(std::fs::read_to_string(sysroot.outside_path(&copy)).expect("the copy"), "own");
        let manifest = named("/usr/lib/libvk_rival.so", &sysroot);
        assert!(manifest.is_err(), "neither there nor here");
        let manifest = sysroot.outside_path(&named("/libvk_test.so", &sysroot).expect("a manifest"));
        assert_eq!(Manifest::read(&manifest).expect("readable").library, Path::new("/libvk_test.so"));
    }
}
