//! Tests that install the packages and use them, as their users do.
//!
//! The packages are made of the binaries in `target/release`, which `cargo build --release` makes.
//! Missing tools skip a test with the reason; with `CI=true` they fail it. Without the network, the
//! part that installs wgpu and pytest is skipped.

mod npm;
mod rpm;
mod snippets;
mod support;
mod windows;

use grus_dist::options::Prebuilt;
use grus_dist::system::Glibc;
use grus_dist::target::{GLIBC, Kind};
use grus_dist::{Binaries, Package, components, deb, layout, licences, read, release::Release};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{TARGET, attempt, has, make, package, root, run, say, scratch, text};

/// Largest size of a tarball, a wheel and a package for npm, in bytes.
const LARGEST: u64 = 8_000_000;

fn unpacked(name: &str) -> PathBuf {
    let folder = scratch(name);
    run(Command::new("tar").arg("-xJf").arg(package("-linux.tar.xz")).arg("-C").arg(&folder));
    let mut inside = std::fs::read_dir(folder).expect("the files").flatten();
    let only = inside.next().expect("a folder").path();
    assert!(inside.next().is_none(), "the tarball has one folder");
    only
}

/// Makes the packages of one commit in two folders, from two clones of the repository. The binaries
/// are small programs of the system, because compression takes most of the time.
#[test]
fn two_roots_give_the_same_bytes() {
    let in_root = |name: &str| {
        let clone = scratch(name).join("clone");
        run(Command::new("git").args(["clone", "--quiet", "--shared"]).arg(root()).arg(&clone));
        let prebuilt = Prebuilt { library: "/bin/sh".into(), runner: "/bin/cat".into() };
        make(clone, &TARGET, prebuilt, &format!("{name}-packages"))
    };
    let (first, second) = (in_root("root"), in_root("another-root"));
    assert_eq!(first.len(), 9, "{first:?}");
    for (first, second) in first.iter().zip(&second) {
        assert_eq!(first.file_name(), second.file_name());
        assert!(read(first) == read(second), "{} differs", second.display());
    }
}

#[test]
fn packages_are_small() {
    for end in ["-linux.tar.xz", "64.deb", "64.rpm", ".whl", ".tgz"] {
        let bytes = std::fs::metadata(package(end)).expect("a file").len();
        assert!(bytes <= LARGEST, "{end} has {bytes} bytes");
    }
}

#[test]
fn checksums_and_components_are_complete() {
    let sums = package("SHA256SUMS");
    let listed =
        run(Command::new("sha256sum").arg("--check").arg("SHA256SUMS").current_dir(sums.parent().expect("a folder")));
    assert_eq!(listed.lines().filter(|line| line.ends_with(": OK")).count(), 8, "{listed}");
    let bytes = read(&package(".cdx.json")).expect("a file");
    let json: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    let names: Vec<&str> =
        json["components"].as_array().expect("a list").iter().filter_map(|c| c["name"].as_str()).collect();
    assert!(names.contains(&"cranelift-codegen") && !names.contains(&"wgpu"), "{names:?}");
}

/// Every component permits distribution under the terms that its text states.
#[test]
fn licences_of_all_components_are_known_and_have_texts() {
    const KNOWN: [&str; 10] = [
        "0BSD",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "CC0-1.0",
        "ISC",
        "MIT",
        "Zlib",
    ];
    let all = components::read(&root(), &TARGET).expect("components");
    let text = licences::text(&TARGET.system.parts(), &all).expect("a text");
    for component in &all {
        let alternatives = component.licence.split(" OR ").map(|l| l.trim_matches(['(', ')']));
        let accepted =
            alternatives.clone().any(|l| l.split(" AND ").all(|l| KNOWN.contains(&l.trim_matches(['(', ')']))));
        assert!(accepted, "{}: {}", component.id(), component.licence);
        assert!(text.contains(&format!("  {}: {}\n", component.id(), component.licence)));
    }
    assert!(text.contains("Permission is hereby granted") && text.contains("LLVM Exceptions"), "a text is missing");
}

#[test]
fn the_tarball_works_in_any_folder() {
    let folder = unpacked("tarball");
    let runner = folder.join("cts-runner");
    let icd = folder.join("grus_icd.json").canonicalize().expect("a manifest");
    let printed = run(Command::new(&runner).args(["run", "--print-icd"]));
    assert_eq!(Path::new(printed.trim()), icd);
    let needs = folder.join("needs.json");
    std::fs::write(&needs, r#"{"apiVersion": "1.4", "features": ["meshShader", "rayQuery"]}"#).expect("a file");
    run(Command::new(&runner).args(["run", "--require"]).arg(&needs).arg("true"));
    if has("vulkaninfo") {
        let info = run(Command::new(&runner).args(["run", "--", "vulkaninfo", "--summary"]));
        assert!(info.contains("Grus") && info.matches("GPU0:").count() == 1 && !info.contains("GPU1:"), "{info}");
        let script = ". ./grus-env.sh && vulkaninfo --summary";
        for (shell, folder) in [("sh", &folder), ("bash", &folder)] {
            let info = run(Command::new(shell).args(["-c", script]).current_dir(folder));
            assert!(info.contains("Grus") && !info.contains("GPU1:"), "{info}");
        }
        let elsewhere = format!(". '{}/grus-env.sh' && echo $VK_DRIVER_FILES", folder.display());
        let printed = run(Command::new("bash").args(["-c", &elsewhere]).current_dir("/"));
        assert_eq!(Path::new(printed.trim()).canonicalize().ok(), Some(icd));
    }
}

/// Checks that programs with a folder in their `LD_LIBRARY_PATH` open the driver's library by the
/// names of the loader. Programs made with `vulkan-hpp` try `libvulkan.so` first.
fn assert_opens(folder: &Path, library: &Path) {
    let script = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).vkGetInstanceProcAddr
print(next(line.split()[-1] for line in open('/proc/self/maps') if 'vulkan' in line))";
    for name in ["libvulkan.so", "libvulkan.so.1"] {
        let mut python = Command::new("python3");
        let opened = run(python.args(["-c", script, name]).env("LD_LIBRARY_PATH", folder));
        assert_eq!(Path::new(opened.trim()), library, "{name}");
    }
}

#[test]
fn the_library_has_the_names_of_the_loader() {
    if !has("python3") || !has("dpkg-deb") {
        return;
    }
    let folder = unpacked("loader").canonicalize().expect("a path");
    assert_opens(&folder.join("loader"), &folder.join("libvulkan_grus.so"));
    let root = scratch("loader-debian");
    run(Command::new("dpkg-deb").arg("--extract").arg(package(&format!("_{}.deb", debian().0))).arg(&root));
    let folder = root.canonicalize().expect("a path").join("usr/lib").join(debian().1);
    assert_opens(&folder.join("grus"), &folder.join("libvulkan_grus.so"));
}

/// Returns the names of the target in Debian: its architecture and the folder of its libraries.
fn debian() -> (&'static str, &'static str) {
    let names = |kind: &Kind| match *kind {
        Kind::Debian { architecture, multiarch } => Some((architecture, multiarch)),
        _ => None,
    };
    TARGET.packages.iter().find_map(names).expect("a Debian package")
}

/// Makes packages of another version in a folder, for upgrades. The binaries are small.
fn newer(folder: &Path, make: impl Fn(&layout::Contents<'_>) -> grus_dist::Result<Vec<Package>>) -> Vec<PathBuf> {
    let mut release = Release::read(&root()).expect("a release");
    release.version = "99.0.0".into();
    let binaries = Binaries { library: b"newer library".to_vec(), runner: b"newer program".to_vec() };
    let glibc = Some(Glibc(GLIBC));
    let contents =
        layout::Contents { release: &release, target: &TARGET, glibc, binaries: &binaries, licences: "none" };
    let write = |package: Package| {
        let path = folder.join(package.name);
        std::fs::write(&path, package.bytes).expect("a file");
        path
    };
    make(&contents).expect("packages").into_iter().map(write).collect()
}

/// Returns a command for a program that installs packages, which runs as root. In a namespace of
/// its own a user is root, as far as such programs are concerned. Returns `None` with a reason if
/// there is no way.
fn as_root(program: &str) -> Option<Command> {
    let is_root = run(Command::new("id").arg("-u")).trim() == "0";
    if !has(program) || !is_root && !has("unshare") {
        return None;
    }
    let mut command = Command::new(if is_root { "env" } else { "unshare" });
    command.args((!is_root).then_some("--map-root-user")).arg(program);
    Some(command)
}

/// Installs, upgrades and removes the packages in a root of their own.
#[test]
fn debian_packages_install_upgrade_and_remove() {
    if as_root("dpkg").is_none() {
        return;
    }
    let folder = scratch("debian");
    let target = folder.join("root");
    let database = target.join("var/lib/dpkg");
    for path in ["info", "updates", "triggers"] {
        std::fs::create_dir_all(database.join(path)).expect("a folder");
    }
    std::fs::write(database.join("status"), "").expect("a file");
    let dpkg = |arguments: &[&str], files: &[PathBuf]| {
        let mut command = as_root("dpkg").expect("a command");
        command.arg(format!("--root={}", target.display()));
        command.args(["--force-depends", "--log=/dev/null"]).args(arguments).args(files);
        run(&mut command)
    };
    let driver = package(&format!("_{}.deb", debian().0));
    let default = package("_all.deb");
    dpkg(&["--install"], std::slice::from_ref(&driver));
    let link = target.join("usr/share/vulkan/icd.d/grus_icd.json");
    let manifest = target.join("usr/share/grus/grus_icd.json");
    assert!(manifest.is_file() && !link.exists(), "the loader does not find the driver yet");
    let json: serde_json::Value = serde_json::from_slice(&read(&manifest).expect("a file")).expect("JSON");
    let library = json["ICD"]["library_path"].as_str().expect("a path").to_owned();
    let library = target.join(library.trim_start_matches('/'));
    assert!(library.is_file(), "{}", library.display());
    dpkg(&["--install"], &[default]);
    assert_eq!(link.canonicalize().ok(), manifest.canonicalize().ok(), "the loader finds the driver");
    let (architecture, multiarch) = debian();
    let newer = newer(&folder, |contents| {
        Ok(vec![deb::driver(contents, architecture, multiarch)?, deb::default(contents.release)?])
    });
    let upgraded = dpkg(&["--install"], &newer);
    assert!(upgraded.contains("99.0.0"), "{upgraded}");
    assert_eq!(std::fs::read(&library).ok().as_deref(), Some(&b"newer library"[..]));
    assert!(link.exists());
    dpkg(&["--purge", layout::DEFAULT, layout::DRIVER], &[]);
    assert!(!library.exists() && !manifest.exists() && std::fs::symlink_metadata(&link).is_err());
    assert!(!target.join("usr").exists(), "files or folders remain");
}

/// Installs the wheel in a new environment, where wgpu draws a triangle on Grus, and pytest names
/// it.
#[test]
fn the_wheel_draws_a_triangle_and_names_the_driver() {
    if !has("python3") {
        return;
    }
    let folder = scratch("wheel");
    let environment = folder.join("environment");
    run(Command::new("python3").args(["-m", "venv"]).arg(&environment));
    let python = environment.join("bin/python");
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(Command::new(&python).args(pip).arg(package(".whl")));
    let printed = run(Command::new(&python).args(["-m", "grus_vulkan", "--icd"]).current_dir(&folder));
    let icd = PathBuf::from(printed.trim());
    assert!(icd.starts_with(environment.canonicalize().expect("a path")) && icd.is_file(), "{printed}");
    let status = attempt(Command::new(&python).args(["-m", "grus_vulkan", "--", "sh", "-c", "exit 7"])).status;
    assert_eq!(status.code(), Some(7));
    let version = run(Command::new(&python).args(["-m", "grus_vulkan", "--version"]));
    assert!(version.starts_with("grus-vulkan 0.") && version.contains("Vulkan 1.4"), "{version}");
    run(Command::new(&python).args(["-m", "pip", "check"]));
    let tests = root().join("packages/python/tests");
    let requirements = attempt(Command::new(&python).args(pip).arg("-r").arg(tests.join("requirements.txt")));
    if !requirements.status.success() {
        say(&format!("skipped: pip cannot install pytest and wgpu: {}", text(&requirements)));
        return;
    }
    // The cache stays out of the repository.
    let options = ["-m", "pytest", "--grus", "-p", "no:cacheprovider", "-v"];
    let report = run(Command::new(&python).args(options).arg(&tests).env("PYTHONDONTWRITEBYTECODE", "1"));
    assert!(report.contains("vulkan: Grus") && report.contains(" passed") && !report.contains("skipped"), "{report}");
    // The snippet of the documentation, for a project with one test.
    let project = scratch("pytest");
    let wheel = package(".whl");
    std::fs::copy(&wheel, project.join(wheel.file_name().expect("a name"))).expect("a copy");
    std::fs::write(project.join("test_one.py"), "def test_one():\n    pass\n").expect("a file");
    let path = format!("{}:{}", environment.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    let snippet = snippets::snippet("sh", "pytest");
    let report = run(Command::new("bash").args(["-ec", &snippet]).env("PATH", path).current_dir(&project));
    assert!(report.contains("vulkan: Grus") && report.contains("1 passed"), "{report}");
}
