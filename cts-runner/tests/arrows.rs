//! The arrows between the rooms, read from `cargo metadata`.

use std::collections::BTreeSet;
use std::process::Command;

/// Who may depend on whom.
const ALLOWED: [(&str, &[&str]); 5] = [
    ("grus-base", &[]),
    ("grus-jit", &["grus-base"]),
    ("grus-rasterizer", &["grus-base"]),
    ("grus-icd", &["grus-base", "grus-jit", "grus-rasterizer"]),
    ("cts-runner", &[]),
];

#[test]
fn only_the_allowed_arrows_exist() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let name = |value: &serde_json::Value| value["name"].as_str().expect("a name").to_owned();
    let members: BTreeSet<String> = packages.iter().map(name).collect();
    let expected: BTreeSet<String> = ALLOWED.iter().map(|(room, _)| room.to_string()).collect();
    assert_eq!(members, expected, "the rooms of the workspace");
    for package in packages {
        let room = name(package);
        let allowed = ALLOWED.iter().find(|(n, _)| *n == room).map(|(_, to)| *to).unwrap_or_default();
        // Dev- and build-dependencies count: a test that reaches into another room is an arrow too.
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let to = name(dependency);
            assert!(
                !members.contains(&to) || allowed.contains(&to.as_str()),
                "{room} -> {to} is not an arrow of the design"
            );
        }
    }
}
