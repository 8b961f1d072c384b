//! Checks that every machine gives the same bits, with any number of threads and on all tiers and
//! processor levels: results are compared with committed hashes (`data/hashes.txt`). A difference
//! is a broken guarantee, unless the change was meant to change results. In that case
//! `GRUS_RECORD_HASHES=1` writes the file anew.

mod support;

use cts_runner::hashes::{Rows, beginning, committed, differences, file, of_demo, rows};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use support::{driver, succeed};

/// Number of threads, tier, and highest processor level. The driver reads them from the
/// environment, once per process.
type Configuration = (&'static str, &'static str, &'static str);
const CONFIGURATIONS: [Configuration; 11] = [
    ("1", "quick", ""),
    ("2", "quick", "v3"),
    ("8", "quick", "v2"),
    ("1", "full", ""),
    ("2", "full", "v3"),
    ("8", "full", "v2"),
    ("1", "wide", ""),
    ("2", "wide", ""),
    ("8", "wide", ""),
    ("2", "wide", "v4"),
    ("2", "wide", "v3"),
];

/// Compares rows, or replaces the rows of the file whose names begin with `prefix`.
fn check(prefix: &str, found: &Rows, how: &str) {
    // Tests that record run one after the other.
    static FILE: Mutex<()> = Mutex::new(());
    let _turn = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut all = committed();
    if std::env::var_os("GRUS_RECORD_HASHES").is_some() {
        all.retain(|name, _| !name.starts_with(prefix));
        all.extend(found.clone());
        let lines: String = all.iter().map(|(name, hash)| format!("{name} {hash}\n")).collect();
        let text = format!("# FNV-1a of what Grus computes, the same on every machine: see hashes.rs.\n{lines}");
        return std::fs::write(file(), text).expect("the file");
    }
    let expected = beginning(prefix, all);
    let different = differences(&expected, found);
    assert!(different.is_empty(), "{how}: {} of {} differ\n{}", different.len(), expected.len(), different.join("\n"));
}

fn configured(command: &mut Command, (threads, tier, cpu): Configuration) -> String {
    command.env("GRUS_THREADS", threads).env("GRUS_TIER", tier).env("GRUS_CPU", cpu);
    format!("GRUS_THREADS={threads} GRUS_TIER={tier} GRUS_CPU={cpu}")
}

#[test]
fn programs_drawings_and_traced_scenes() {
    for configuration in CONFIGURATIONS {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cts-runner"));
        command.args(["hashes", "--print", "--icd"]).arg(driver());
        let how = configured(&mut command, configuration);
        let output = succeed(&mut command);
        let found = rows(String::from_utf8_lossy(&output.stdout).lines());
        for prefix in ["shader/", "rays/"] {
            check(prefix, &beginning(prefix, found.clone()), &how);
        }
    }
}

/// Compares the hashes of the demo's last picture and its bodies after this number of frames.
fn demo(frames: u32, (width, height): (u32, u32), configurations: &[Configuration]) {
    for &configuration in configurations {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cts-runner"));
        let size = format!("{width}x{height}");
        command.args(["demo", "--no-loader", "--json", "--frames", &frames.to_string(), "--size", &size, "--icd"]);
        let how = configured(command.arg(driver()), configuration);
        let out = support::scratch(&format!("hashes-{frames}")).join("demo.png");
        let output = succeed(command.arg("--out").arg(out));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("the demo's JSON");
        let hash = |field: &str| report[field].as_str().unwrap_or("").to_owned();
        let found = of_demo(frames, (width, height), &hash("picture_fnv1a"), &hash("bodies_fnv1a"));
        check(&format!("demo/{frames}-frames-{size}/"), &found, &how);
    }
}

#[test]
fn demo_small() {
    demo(2, (320, 180), &CONFIGURATIONS);
}

#[test]
fn demo_8_frames() {
    // The driver of a debug build is too slow for all configurations.
    demo(8, (1280, 720), if cfg!(debug_assertions) { &CONFIGURATIONS[1..2] } else { &CONFIGURATIONS });
}

#[test]
fn demo_60_frames() {
    // This is the picture that users see, once per tier; eight frames are drawn in all
    // configurations. Continuous integration builds in release.
    if !cfg!(debug_assertions) {
        demo(60, (1280, 720), &[CONFIGURATIONS[0], CONFIGURATIONS[4], CONFIGURATIONS[9]]);
    }
}

/// Checks that the table in `docs/equal-bits.md` shows the committed hashes of the demo's pictures.
#[test]
fn documentation_has_the_current_pictures() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/equal-bits.md");
    let page = std::fs::read_to_string(page).expect("docs/equal-bits.md");
    let all = committed();
    for frames in [8, 60] {
        let picture = &all[&format!("demo/{frames}-frames-1280x720/picture")];
        let row = |line: &str| line.contains(&format!("`--frames {frames}`")) && line.contains(picture);
        assert!(page.lines().any(row), "{frames} frames: {picture}");
    }
}
