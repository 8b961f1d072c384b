//! Runs `examples/wgpu_scene.rs` on the driver under test and on lavapipe, and
//! `examples/wgpu_rays.rs` on the driver under test, each in a process of its own. If
//! `GRUS_TEST_ROOT` names another root, the lavapipe there traces the same rays, for its figures.

mod support;

use cts_runner::bench::drivers;
use cts_runner::bench::sysroot::Sysroot;
use std::path::Path;
use std::process::Stdio;
use support::{
    assert_silent, command, driver, example, layer, loader, reference, reference_in, scratch, skip, succeed,
};

/// Number of bytes of compute results at the beginning of the output.
const RESULTS: usize = 4096 * 4;

fn run(icd: &Path, out: &Path, threads: &str) -> Vec<u8> {
    succeed(command(example("wgpu_scene"), icd).arg(out).env("GRUS_THREADS", threads));
    std::fs::read(out).expect("the example's output")
}

#[test]
fn wgpu_scene_equals_lavapipe() {
    if let Err(why) = loader() {
        return skip(&why);
    }
    let reference = match reference() {
        Ok(reference) => reference,
        Err(why) => return skip(&why),
    };
    let folder = scratch("wgpu-lavapipe");
    let expected = run(&reference, &folder.join("reference"), "2");
    let actual = run(&driver(), &folder.join("driver"), "2");
    assert_eq!(expected.len(), actual.len());
    assert!(expected[..RESULTS] == actual[..RESULTS], "compute results differ");
    let pairs = expected[RESULTS..].iter().zip(&actual[RESULTS..]);
    let far: Vec<_> = pairs.enumerate().filter(|(_, (e, a))| e.abs_diff(**a) > 1).collect();
    let show: Vec<String> = far
        .iter()
        .take(8)
        .map(|(i, (e, a))| format!("({}, {}) channel {}: {e} and {a}", i / 4 % 256, i / 1024, i % 4))
        .collect();
    assert!(far.is_empty(), "{} channels differ by more than 1/255: {}", far.len(), show.join(", "));
}

#[test]
fn wgpu_scene_gives_the_same_bytes_for_any_number_of_threads() {
    if let Err(why) = loader() {
        return skip(&why);
    }
    let (icd, folder) = (driver(), scratch("wgpu-threads"));
    let one = run(&icd, &folder.join("1"), "1");
    for threads in ["2", "8"] {
        assert!(one == run(&icd, &folder.join(threads), threads), "{threads} threads give other bytes than one");
    }
}

#[test]
fn wgpu_scene_is_silent_under_the_validation_layer() {
    if let Err(why) = layer() {
        return skip(&why);
    }
    // The environment enables the layer, as for any unmodified program.
    let folder = scratch("wgpu-validation");
    let mut command = command(example("wgpu_scene"), &driver());
    let output = succeed(command.arg(folder.join("out")).env("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation"));
    assert_silent(&output);
}

/// Traces rays on a driver. The example compares hits and pixels with those that it computes, and
/// prints figures.
fn rays(icd: &Path, out: &Path, threads: &str) -> Vec<u8> {
    let output = succeed(command(example("wgpu_rays"), icd).arg(out).env("GRUS_THREADS", threads));
    print!("{}", String::from_utf8_lossy(&output.stdout));
    std::fs::read(out).expect("the example's output")
}

#[test]
fn wgpu_rays_hit_what_a_test_of_each_triangle_hits() {
    if let Err(why) = loader() {
        return skip(&why);
    }
    let (icd, folder) = (driver(), scratch("wgpu-rays"));
    let one = rays(&icd, &folder.join("1"), "1");
    for threads in ["2", "8"] {
        assert!(one == rays(&icd, &folder.join(threads), threads), "{threads} threads give other bytes than one");
    }
    if let Some(root) = std::env::var_os("GRUS_TEST_ROOT") {
        figures_in(Path::new(&root)).expect("drivers run in the other root");
    }
}

/// Prints the figures of the driver under test and of the lavapipe of another root, such as a newer
/// distribution whose lavapipe has ray queries. Both run in that root.
fn figures_in(root: &Path) -> cts_runner::vk::Result<()> {
    let sysroot = Sysroot::at(root)?;
    let program = sysroot.copy_in(&example("wgpu_rays"))?;
    let lavapipe = reference_in(root).expect("the other root has lavapipe");
    for icd in [driver(), lavapipe] {
        let icd = drivers::named(&icd.display().to_string(), &sysroot)?;
        let mut command = command(&program, &icd);
        command.arg(sysroot.inside_path(sysroot.shared()).join("picture")).stdout(Stdio::piped());
        // The other driver may lack ray queries, or give other hits.
        let output = sysroot.spawn(command)?.wait_with_output().expect("the output of a child");
        println!("{}: {}\n{}", icd.display(), output.status, String::from_utf8_lossy(&output.stdout));
    }
    Ok(())
}

#[test]
fn wgpu_rays_are_silent_under_the_validation_layer() {
    if let Err(why) = layer() {
        return skip(&why);
    }
    let folder = scratch("wgpu-rays-validation");
    let mut command = command(example("wgpu_rays"), &driver());
    let output = succeed(command.arg(folder.join("out")).env("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation"));
    assert_silent(&output);
}
