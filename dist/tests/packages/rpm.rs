//! The rpm packages: what rpm reads in them, and their installation, upgrade and removal.

use crate::support::{TARGET, has, package, root, run, scratch};
use crate::{as_root, debian, newer, unpacked};
use grus_dist::layout::{DEFAULT, DRIVER};
use grus_dist::release::Release;
use grus_dist::{read, rpm};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

const LIBRARY: &str = "usr/lib64/libvulkan_grus.so";

fn packages() -> [PathBuf; 2] {
    ["64.rpm", "noarch.rpm"].map(package)
}

/// Asks rpm for a package that is not installed.
fn query(arguments: &[&str]) -> String {
    run(Command::new("rpm").args(["--query", "--package"]).args(arguments).arg(&packages()[0]))
}

/// The package names the same files as the Debian package, whose libraries are in another folder,
/// and all of its attributes come from the commit.
#[test]
fn rpm_reads_the_package() {
    if !has("rpm") || !has("dpkg-deb") {
        return;
    }
    for package in packages() {
        let checked = run(Command::new("rpm").args(["--checksig", "--verbose"]).arg(package));
        for digest in ["Header SHA256 digest: OK", "Payload SHA256 digest: OK"] {
            assert!(checked.contains(digest), "{checked}");
        }
    }
    let release = Release::read(&root()).expect("a release");
    let format = "%{VERSION} %{ARCH} %{BUILDTIME} %{BUILDHOST} %{LICENSE} %{PAYLOADCOMPRESSOR}\n";
    let expected = format!("{} {} {} localhost MIT OR Apache-2.0 xz\n", release.version, TARGET.name, release.epoch);
    assert_eq!(query(&["--queryformat", format]), expected);
    let times: BTreeSet<_> = query(&["--queryformat", "[%{FILEMTIMES}\n]"]).lines().map(str::to_owned).collect();
    assert_eq!(times, BTreeSet::from([release.epoch.to_string()]));
    let requires = query(&["--requires"]);
    assert!(requires.lines().any(|line| line.starts_with("libc.so.6(GLIBC_2.") && line.ends_with(")(64bit)")));
    assert!(requires.lines().all(|line| line.starts_with("libc.so.6(") || line.starts_with("rpmlib(")), "{requires}");
    let debian_files = run(Command::new("dpkg-deb").arg("--contents").arg(package(&format!("_{}.deb", debian().0))));
    let path = |line: &str| line.split_whitespace().nth(5).map(|path| format!("/{}", path.trim_start_matches("./")));
    let debian_files: BTreeSet<_> = debian_files.lines().filter_map(path).filter(|path| !path.ends_with('/')).collect();
    let folder = format!("/usr/lib/{}/", debian().1);
    let files = query(&["--queryformat", "[%{FILENAMES} %{FILEMODES:perms}\n]"]);
    let is_file = |(path, mode): (&str, &str)| (!mode.starts_with('d')).then(|| path.replace("/usr/lib64/", &folder));
    let files: BTreeSet<_> = files.lines().filter_map(|line| line.split_once(' ')).filter_map(is_file).collect();
    assert_eq!(files, debian_files);
    // Containers without documentation keep the licences.
    assert_eq!(query(&["--licensefiles"]).trim(), "/usr/share/doc/grus-vulkan/copyright");
    assert_eq!(query(&["--docfiles"]).trim(), "/usr/share/doc/grus-vulkan/CHANGELOG.md");
}

/// Installs, upgrades and removes the packages in a root of their own.
#[test]
fn rpm_packages_install_upgrade_and_remove() {
    if as_root("rpm").is_none() {
        return;
    }
    let folder = scratch("rpm");
    let target = folder.join("root");
    std::fs::create_dir_all(&target).expect("a folder");
    // Only the C library is missing in the root.
    let rpm = |arguments: &[&str], files: &[PathBuf]| {
        let mut command = as_root("rpm").expect("a command");
        command.arg("--root").arg(&target).args(["--dbpath", "/var/lib/rpm"]).args(arguments).args(files);
        run(&mut command)
    };
    let [driver, default] = packages();
    rpm(&["--install", "--nodeps"], &[driver]);
    let link = target.join("usr/share/vulkan/icd.d/grus_icd.json");
    let manifest = target.join("usr/share/grus/grus_icd.json");
    assert!(manifest.is_file() && !link.exists(), "the loader does not find the driver yet");
    let json: serde_json::Value = serde_json::from_slice(&read(&manifest).expect("a file")).expect("JSON");
    assert_eq!(json["ICD"]["library_path"], format!("/{LIBRARY}"));
    let library = target.join(LIBRARY);
    let tarball = unpacked("tarball-of-rpm");
    for (installed, packed) in [(LIBRARY, "libvulkan_grus.so"), ("usr/bin/cts-runner", "cts-runner")] {
        assert!(read(&target.join(installed)) == read(&tarball.join(packed)), "{installed}");
    }
    let loader = target.join("usr/lib64/grus/libvulkan.so.1");
    assert_eq!(loader.canonicalize().ok(), library.canonicalize().ok());
    // The second package needs this version of the first, which is installed.
    rpm(&["--install"], &[default]);
    assert_eq!(link.canonicalize().ok(), manifest.canonicalize().ok(), "the loader finds the driver");
    assert_eq!(rpm(&["--verify", "--nodeps", DRIVER, DEFAULT], &[]), "", "files differ from the header");
    let newer =
        newer(&folder, |contents| Ok(vec![rpm::driver(contents, TARGET.name)?, rpm::default(contents.release)?]));
    rpm(&["--upgrade", "--nodeps"], &newer);
    assert_eq!(rpm(&["--query", "--queryformat", "%{VERSION}\n", DRIVER, DEFAULT], &[]), "99.0.0\n99.0.0\n");
    assert_eq!(std::fs::read(&library).ok().as_deref(), Some(&b"newer library"[..]));
    assert!(link.exists());
    rpm(&["--erase", DEFAULT, DRIVER], &[]);
    let left =
        run(Command::new("find").arg(target.join("usr")).args(["(", "!", "-type", "d", "-o", "-name", "grus*", ")"]));
    assert_eq!(left, "", "files or folders remain");
}
