//! The package for npm: its options, and a page of WebGL in Chromium.

use crate::support::{attempt, has, package, root, run, scratch, text};
use std::path::PathBuf;
use std::process::Command;

/// Returns a folder with the package among its modules.
fn project(name: &str) -> PathBuf {
    let folder = scratch(name);
    let module = folder.join("node_modules/grus-vulkan");
    std::fs::create_dir_all(&module).expect("a folder");
    let mut tar = Command::new("tar");
    run(tar.arg("-xzf").arg(package("-linux.tgz")).arg("-C").arg(module).arg("--strip-components=1"));
    folder
}

#[test]
fn options_of_launch_select_the_driver() {
    if !has("node") {
        return;
    }
    let folder = project("npm");
    let code = "const { icd, launchOptions } = require('grus-vulkan');
        const own = { headless: true, env: { A: 'b' }, args: ['--enable-features=Own', '--last'] };
        console.log(JSON.stringify({ icd, options: launchOptions(own), default: launchOptions() }))";
    let printed = run(Command::new("node").args(["-e", code]).env("KEPT", "1").current_dir(&folder));
    let json: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    let icd = json["icd"].as_str().expect("a path");
    assert_eq!(PathBuf::from(icd), folder.join("node_modules/grus-vulkan/grus_icd.json"));
    let options = &json["options"];
    assert_eq!(options["headless"], true);
    assert_eq!(options["env"], serde_json::json!({ "A": "b", "VK_DRIVER_FILES": icd, "VK_ICD_FILENAMES": icd }));
    let arguments = ["--use-angle=vulkan", "--enable-unsafe-webgpu", "--last", "--enable-features=Vulkan,Own"];
    assert_eq!(options["args"], serde_json::json!(arguments));
    assert_eq!(json["default"]["env"]["KEPT"], "1", "variables of the process are kept");
}

/// Chromium accepts the driver: a page draws a triangle with WebGL, by ANGLE on Vulkan.
#[test]
fn chromium_draws_webgl_on_the_driver() {
    if !has("node") || !has("chromium-headless-shell") {
        return;
    }
    let folder = project("chromium");
    // Root has no sandbox, and containers have a small /dev/shm.
    let code = "const { args, environment } = require('grus-vulkan');
        const own = ['--no-sandbox', '--disable-dev-shm-usage', '--user-data-dir=profile', '--dump-dom'];
        const all = [...args, ...own, process.argv[1]];
        const shell = require('child_process').spawnSync('chromium-headless-shell', all, { env: environment() });
        process.stdout.write(shell.stdout); process.stderr.write(shell.stderr)";
    let page = format!("file://{}", root().join("packages/npm/tests/webgl.html").display());
    let printed = attempt(Command::new("node").args(["-e", code, &page]).current_dir(&folder));
    let document = String::from_utf8_lossy(&printed.stdout);
    let lines: Vec<&str> =
        document.split(['<', '>']).find(|t| t.contains("ANGLE")).unwrap_or_default().lines().collect();
    let [driver, orange, blue] = lines[..] else { panic!("{}", text(&printed)) };
    assert!(driver.contains("Vulkan") && driver.contains("Grus"), "{driver}");
    assert_eq!((orange, blue), ("255 128 64 255", "0 0 255 255"));
}
