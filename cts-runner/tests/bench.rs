//! Tests `cts-runner bench` from outside: its output, the arguments that it refuses, and that its
//! workloads are valid Vulkan.

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{driver, layer, scratch, skip, succeed};

fn bench(icds: &[&Path], args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cts-runner"));
    command.arg("bench");
    for icd in icds {
        command.arg("--icd").arg(icd);
    }
    command.args(args);
    command
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn two_drivers_are_compared_round_by_round() {
    let (icd, folder) = (driver(), scratch("bench-two"));
    let (json, svg) = (folder.join("all.json"), folder.join("all.svg"));
    let args = ["--filter", "compute/empty-dispatch", "--filter", "create/solid", "--rounds", "2", "--sample-ms", "5"];
    let mut command = bench(&[&icd, &icd], &args);
    let output = succeed(command.arg("--json").arg(&json).arg("--svg").arg(&svg));
    let report: Value = serde_json::from_slice(&std::fs::read(&json).expect("the JSON")).expect("JSON");
    let label = report["drivers"][0]["label"].as_str().expect("a label").to_owned();
    assert_eq!(report["drivers"][1]["label"], format!("{label}-2"));
    let results = report["results"].as_array().expect("results");
    let names: Vec<_> = results.iter().filter_map(|r| r["name"].as_str()).collect();
    let expected = ["create/solid cold", "create/solid first-use", "create/solid warm", "compute/empty-dispatch"];
    assert_eq!(names, expected);
    for result in results {
        for driver in 0..2 {
            let cell = &result["drivers"][driver];
            assert_eq!(cell["outcome"], "ok", "{result}");
            let rounds = cell["rounds"].as_array().expect("rounds");
            assert!(rounds.len() == 2 && rounds.iter().all(|r| r.as_f64() > Some(0.0)), "{cell}");
            assert!(cell["peak_memory"].as_u64() > Some(1 << 20), "{cell}");
        }
        let ratio = |key: &str| result["ratios"][0][key].as_f64().expect("a ratio");
        assert!(ratio("least") <= ratio("median") && ratio("median") <= ratio("most"), "{result}");
    }
    assert!(report["machine"]["limits"]["copy"].as_f64() > Some(1e8), "bytes per second");
    assert!(std::fs::read_to_string(&svg).expect("the chart").starts_with("<svg"));
    let table = text(&output);
    assert!(table.contains("geometric mean") && table.contains("empty-dispatch"), "{table}");
}

/// Makes a folder of modules: pairs that match (`forward`) and that do not, single stages, kernels,
/// and a file that is not a module.
fn corpus(name: &str) -> PathBuf {
    let (folder, shaders) = (scratch(name), Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/shaders"));
    let modules = [
        "graphics/forward.vert",
        "graphics/forward.frag",
        "graphics/text.vert",
        "create/skinning.vert",
        "create/pbr_textured.frag",
        "create/bvh_any.comp",
        "compute/convolve_sampled.comp",
    ];
    for file in modules {
        let file = format!("{file}.spv");
        let to = folder.join(file.rsplit('/').next().expect("a name"));
        std::fs::copy(shaders.join(&file), to).expect("a copy");
    }
    std::fs::copy(shaders.join("graphics/forward.frag.spv"), folder.join("text.frag.spv")).expect("a copy");
    std::fs::write(folder.join("notes.txt"), "no module").expect("a file");
    folder
}

#[test]
fn a_corpus_is_measured_module_by_module() {
    let (icd, folder) = (driver(), corpus("bench-corpus"));
    let json = scratch("bench-corpus-json").join("all.json");
    let mut command = bench(&[&icd, &icd], &["--rounds", "1"]);
    let output = succeed(command.arg("--corpus").arg(&folder).arg("--json").arg(&json));
    let report: Value = serde_json::from_slice(&std::fs::read(&json).expect("the JSON")).expect("JSON");
    let results = report["results"].as_array().expect("results");
    let names: Vec<_> = results.iter().filter_map(|r| r["name"].as_str()?.strip_suffix(" first-use")).collect();
    let expected = ["bvh_any.comp", "convolve_sampled.comp", "forward", "pbr_textured.frag", "skinning.vert"];
    let expected = [&expected[..], &["text.frag", "text.vert"]].concat();
    assert_eq!(names, expected.iter().map(|name| format!("corpus/{name}")).collect::<Vec<_>>());
    for result in results {
        assert_eq!([&result["drivers"][0]["outcome"], &result["drivers"][1]["outcome"]], ["ok", "ok"], "{result}");
    }
    for group in report["groups"].as_array().expect("groups") {
        assert_eq!(group["ratios"][0]["count"], 7, "{group}");
        assert!(group["ratios"][0]["sums"][1].as_f64() > Some(0.0), "{group}");
    }
    assert!(text(&output).contains("sum of what both do"), "{}", text(&output));
}

#[test]
fn a_corpus_is_valid_vulkan() {
    if let Err(why) = layer() {
        return skip(&why);
    }
    let mut command = bench(&[&driver()], &["--validate"]);
    succeed(command.arg("--corpus").arg(corpus("bench-corpus-valid")));
}

/// The functions of a start lie together in the library (`icd/startup.order`). If they were
/// scattered, a start would touch 4 MiB more. `examples/startup_order.rs` makes a new list if it is
/// out of date.
#[test]
#[cfg_attr(debug_assertions, ignore = "code without optimisation is larger")]
fn a_start_touches_little_of_the_library() {
    const MAX_TOUCHED: u64 = 12_500 << 10;
    let json = scratch("bench-start").join("all.json");
    succeed(bench(&[&driver()], &["--filter", "start/trivial", "--rounds", "3"]).arg("--json").arg(&json));
    let report: Value = serde_json::from_slice(&std::fs::read(&json).expect("the JSON")).expect("JSON");
    let results = report["results"].as_array().expect("results");
    let memory = results.iter().find(|r| r["name"] == "start/trivial memory").expect("its memory");
    let bytes = memory["drivers"][0]["median"].as_f64().expect("a number") as u64;
    assert!((4 << 20..MAX_TOUCHED).contains(&bytes), "{} KiB with the benchmark's own", bytes >> 10);
}

#[test]
fn a_failure_is_reported_with_an_exit_code() {
    // With a heap of 1 MiB every allocation of the workload fails.
    let icd = driver();
    let args = ["--filter", "compute/particles-aos", "--rounds", "2", "--sample-ms", "5"];
    let output = bench(&[&icd], &args).env("GRUS_HEAP_MB", "1").output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let table = text(&output);
    assert!(table.contains("failed: vkAllocateMemory returned ERROR_OUT_OF_DEVICE_MEMORY"), "{table}");
}

#[test]
fn unusable_arguments_are_refused() {
    let missing = bench(&[Path::new("/nonexistent/icd.json")], &[]).output().expect("it runs");
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("/nonexistent/icd.json"));
    let nothing = bench(&[&driver()], &["--filter", "no-such-workload"]).output().expect("it runs");
    assert_eq!(nothing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("bench --list"));
}

#[test]
fn workloads_are_correct_and_valid() {
    if let Err(why) = layer() {
        return skip(&why);
    }
    // A debug build of the driver runs these workloads in seconds. `cts-runner bench --validate`
    // runs all of them.
    let names = [
        "convolve-sampled",
        "dispatches-1000",
        "fft",
        "graph-bfs",
        "scan-shared",
        "histogram-shared",
        "bitonic-sort",
        "create/phong",
        "create/skinning",
        "create/bvh_any",
        "create/tess_patch",
        "create/geometry_quads",
        "start/trivial",
        "programs/link",
        "programs/draws",
        "programs/generated",
        "programs/create-phong",
        "programs/create-tess_patch",
    ];
    let filters: Vec<&str> = names.iter().flat_map(|name| ["--filter", name]).collect();
    let output = bench(&[&driver()], &[&filters[..], &["--validate"]].concat()).output().expect("it runs");
    assert!(output.status.success(), "{}{}", text(&output), String::from_utf8_lossy(&output.stderr));
}
