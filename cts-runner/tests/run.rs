//! Tests of `cts-runner run`: the environment and the exit code of the command, and requirements
//! that the driver meets or lacks.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{driver, scratch};

/// Runs `cts-runner run` on the driver under test, without the variables of this process.
fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cts-runner"));
    command.arg("run").arg("--icd").arg(driver()).args(arguments);
    command.env_remove("VK_DRIVER_FILES").env_remove("VK_ICD_FILENAMES");
    command.output().expect("cts-runner starts")
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    path
}

#[test]
#[cfg(unix)] // The commands and the signal are those of a shell of Unix.
fn the_command_sees_the_manifest_and_its_exit_code_is_kept() {
    let output = run(&["--", "sh", "-c", "echo $VK_DRIVER_FILES; echo $VK_ICD_FILENAMES; exit 7"]);
    assert_eq!(output.status.code(), Some(7), "{}", errors(&output));
    let icd = std::path::absolute(driver()).expect("a path");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{0}\n{0}\n", icd.display()));
    // A signal that ends the command is seen by the caller.
    let killed = run(&["sh", "-c", "kill -TERM $$"]);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&killed.status), Some(libc::SIGTERM));
    assert_eq!(run(&["/no/such/program"]).status.code(), Some(127));
    assert_eq!(run(&["/etc/passwd"]).status.code(), Some(126));
    assert_eq!(run(&[]).status.code(), Some(125));
}

/// Checks requirements of each kind that every conforming driver of Vulkan 1.3 meets.
#[test]
fn met_requirements_start_the_command() {
    let folder = scratch("run-met");
    let needs = file(
        &folder,
        "met.json",
        r#"{
            "apiVersion": "1.3",
            "extensions": ["VK_KHR_swapchain", "VK_KHR_surface"],
            "features": ["robustBufferAccess", "timelineSemaphore", "dynamicRendering"],
            "limits": {
                "maxImageDimension2D": 4096, "minUniformBufferOffsetAlignment": 256,
                "maxComputeWorkGroupSize": [128, 128, 64], "pointSizeRange": [1, 1],
                "maxMemoryAllocationSize": 1073741824, "supportedStages": ["VK_SHADER_STAGE_COMPUTE_BIT"],
                "framebufferColorSampleCounts": ["VK_SAMPLE_COUNT_1_BIT", "VK_SAMPLE_COUNT_4_BIT"]
            },
            "formats": {
                "VK_FORMAT_R8G8B8A8_UNORM": {
                    "optimal": ["VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT", "VK_FORMAT_FEATURE_2_BLIT_SRC_BIT"],
                    "buffer": ["VK_FORMAT_FEATURE_VERTEX_BUFFER_BIT"]
                }
            }
        }"#,
    );
    let output = run(&["--require", &needs.display().to_string(), "--", "echo", "started"]);
    assert!(output.status.success() && output.stdout == b"started\n", "{}", errors(&output));
}

/// Checks that every requirement that no driver meets is listed, and that the command does not
/// start.
#[test]
fn missing_requirements_are_listed_and_the_command_does_not_start() {
    let folder = scratch("run-missing");
    let needs = file(
        &folder,
        "missing.json",
        r#"{
            "apiVersion": "9.0",
            "extensions": ["VK_KHR_swapchain", "VK_GRUS_absent"],
            "features": ["robustBufferAccess", "partitionedAccelerationStructure"],
            "limits": {
                "maxImageDimension2D": 4294967295, "minUniformBufferOffsetAlignment": 0,
                "maxComputeWorkGroupSize": [1, 1, 4294967295],
                "framebufferColorSampleCounts": ["VK_SAMPLE_COUNT_64_BIT"]
            },
            "formats": {
                "VK_FORMAT_R8G8B8A8_UNORM": {
                    "optimal": ["VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT", "VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT"]
                }
            }
        }"#,
    );
    let mark = folder.join("started");
    let output = run(&["--require", &needs.display().to_string(), "--", "touch", &mark.display().to_string()]);
    let text = errors(&output);
    assert_eq!(output.status.code(), Some(125), "{text}");
    assert!(!mark.exists(), "the command was started");
    let lines = [
        "apiVersion 9.0.0: the driver has 1.",
        "extension VK_GRUS_absent",
        "feature partitionedAccelerationStructure",
        "limit maxImageDimension2D 4294967295: the driver has ",
        "limit minUniformBufferOffsetAlignment 0: the driver has ",
        "limit maxComputeWorkGroupSize [1, 1, 4294967295]: the driver has [",
        "limit framebufferColorSampleCounts VK_SAMPLE_COUNT_64_BIT: the driver has 0x",
        "format VK_FORMAT_R8G8B8A8_UNORM optimal: VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT",
    ];
    for line in lines {
        assert!(text.contains(line), "{line} is not in:\n{text}");
    }
    assert!(text.contains(&format!("lacks {} of", lines.len())), "{text}");
    let wrong = file(&folder, "wrong.json", r#"{"feature": ["robustBufferAccess"]}"#);
    let output = run(&["--require", &wrong.display().to_string(), "true"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(errors(&output).contains("unknown key `feature`"));
}

/// A tarball has the program, the manifest and the library in one folder.
#[test]
#[cfg(unix)] // A link stands for the library.
fn the_manifest_beside_the_program_is_found() {
    let folder = scratch("run-beside");
    let program = folder.join("cts-runner");
    // A process that another test has just forked inherits the file that a copy writes, and a file
    // that is open for writing cannot be executed.
    std::fs::hard_link(env!("CARGO_BIN_EXE_cts-runner"), &program).expect("a link");
    let library = cts_runner::vk::Manifest::read(&driver()).expect("a manifest").library;
    std::os::unix::fs::symlink(std::path::absolute(library).expect("a path"), folder.join("lib.so")).expect("a link");
    let manifest = file(&folder, "grus_icd.json", r#"{"ICD": {"library_path": "./lib.so"}}"#);
    let needs = file(&folder, "needs.json", r#"{"apiVersion": "1.0"}"#);
    let output = Command::new(&program).args(["run", "--print-icd", "--require"]).arg(&needs).output().expect("output");
    assert!(output.status.success(), "{}", errors(&output));
    let printed = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert_eq!(Path::new(&printed), manifest.canonicalize().expect("a path"));
}
