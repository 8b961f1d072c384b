//! Tests the demo from outside: with and without the loader, without messages of the validation
//! layer, and with the same bits in each run.

mod support;

use std::path::Path;
use support::{command, driver, layer, scratch, skip, succeed};

fn demo(icd: &Path, folder: &Path, extra: &[&str]) -> std::process::Command {
    let mut command = command(env!("CARGO_BIN_EXE_cts-runner"), icd);
    command.args(["demo", "--json", "--size", "320x180", "--frames", "3", "--icd"]).arg(icd);
    command.arg("--out").arg(folder.join("demo.png")).args(extra);
    command
}

fn report(output: &std::process::Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).expect("the demo prints JSON")
}

#[test]
fn demo_runs_without_the_loader() {
    let (icd, folder) = (driver(), scratch("demo-direct"));
    let report = report(&succeed(&mut demo(&icd, &folder, &["--no-loader"])));
    assert!(report["triangles"].as_u64() >= Some(200_000));
    assert!(report["draws"].as_u64() >= Some(10));
    let png = std::fs::read(folder.join("demo.png")).expect("the picture is there");
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
}

#[test]
fn demo_is_silent_under_the_validation_layer() {
    if let Err(why) = layer() {
        return skip(&why);
    }
    let (icd, folder) = (driver(), scratch("demo-validation"));
    let output = succeed(&mut demo(&icd, &folder, &["--loader", "--validate"]));
    assert_eq!(report(&output)["validation_messages"], 0);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn demo_gives_the_same_bits_for_any_number_of_threads() {
    let (icd, folder) = (driver(), scratch("demo-threads"));
    let run = |threads: &str| {
        let report = report(&succeed(demo(&icd, &folder, &["--no-loader"]).env("GRUS_THREADS", threads)));
        (report["picture_fnv1a"].clone(), report["bodies_fnv1a"].clone())
    };
    let one = run("1");
    assert_eq!(one, run("2"));
    assert_eq!(one, run("8"));
}

#[test]
fn traced_demo_is_silent_under_the_validation_layer() {
    if let Err(why) = layer() {
        return skip(&why);
    }
    let (icd, folder) = (driver(), scratch("demo-rays-validation"));
    let output = succeed(&mut demo(&icd, &folder, &["--rays", "--loader", "--validate"]));
    assert_eq!(report(&output)["validation_messages"], 0);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn traced_demo_gives_the_same_bits_for_any_number_of_threads() {
    let (icd, folder) = (driver(), scratch("demo-rays-threads"));
    let run = |threads: &str| {
        let mut command = demo(&icd, &folder, &["--rays", "--no-loader"]);
        let report = report(&succeed(command.env("GRUS_THREADS", threads)));
        // Most of the pixels show a surface, of which a ray goes to the sun.
        assert!(report["rays"].as_u64() >= Some(3 * 320 * 180 * 3 / 2), "{report}");
        (report["picture_fnv1a"].clone(), report["rays"].clone())
    };
    let one = run("1");
    assert_eq!(one, run("2"));
    assert_eq!(one, run("8"));
}
