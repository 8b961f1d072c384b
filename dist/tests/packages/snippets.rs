//! Tests that run the snippets of `docs/ci.md` and the step of `action.yml`, as a runner would. The
//! snippets of Rust are tests of the crate `vulkan`, and those of `cts-runner run` of `cts-runner`.

use crate::support::{TARGET, attempt, has, package, root, run, scratch, text};
use grus_dist::release::Release;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the code blocks of a language in `docs/ci.md`, from the section of snippets on.
fn snippets(language: &str) -> Vec<String> {
    let document = std::fs::read_to_string(root().join("docs/ci.md")).expect("a document");
    let (_, section) = document.split_once("\n## Snippets\n").expect("a section");
    let begin = format!("```{language}\n");
    section.split(&begin).skip(1).map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// Returns the only snippet of a language that contains a word.
pub fn snippet(language: &str, word: &str) -> String {
    let mut found = snippets(language).into_iter().filter(|text| text.contains(word));
    let only = found.next().unwrap_or_else(|| panic!("no {language} with {word}"));
    assert!(found.next().is_none(), "two snippets of {language} have {word}");
    only
}

/// Returns a folder with the requirements that the snippets name.
fn checkout(name: &str) -> PathBuf {
    let folder = scratch(name);
    std::fs::write(folder.join("vulkan.json"), r#"{"apiVersion": "1.4", "features": ["rayQuery"]}"#).expect("a file");
    folder
}

fn url() -> String {
    format!("file://{}", package("SHA256SUMS").parent().expect("a folder").display())
}

/// Runs the step of the action with the version of a snippet; returns the result.
fn action(folder: &Path, version: &str, require: &str) -> Output {
    for file in ["environment", "path", "output"] {
        std::fs::write(folder.join(file), "").expect("a file");
    }
    let mut step = Command::new(root().join("packages/action/setup.sh"));
    step.env("GRUS_VERSION", version).env("GRUS_URL", url()).env("GRUS_REQUIRE", require);
    step.env("RUNNER_TEMP", folder.join("temporary")).env("GITHUB_WORKSPACE", folder);
    step.env("GITHUB_ENV", folder.join("environment")).env("GITHUB_PATH", folder.join("path"));
    attempt(step.env("GITHUB_OUTPUT", folder.join("output")))
}

/// Returns the value of a key in lines of YAML.
pub fn value<'a>(yaml: &'a str, key: &str) -> &'a str {
    let line = yaml.lines().find_map(|line| line.trim_start_matches([' ', '-']).strip_prefix(key));
    line.unwrap_or_else(|| panic!("no {key} in {yaml}")).trim()
}

#[test]
fn the_action_sets_up_the_following_steps() {
    if !has("curl") || !has("vulkaninfo") {
        return;
    }
    let yaml = snippet("yaml", "uses:");
    let folder = checkout("action");
    let step = action(&folder, value(&yaml, "version:"), value(&yaml, "require:"));
    assert!(step.status.success(), "{}", text(&step));
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).expect("a file");
    let path = format!("{}:{}", read("path").trim(), std::env::var("PATH").unwrap_or_default());
    let environment = read("environment");
    let variables = environment.lines().filter_map(|line| line.split_once('='));
    let mut next = Command::new("bash");
    // `cts-runner` is in the path of the following steps.
    next.args(["-ec", &format!("cts-runner --help >/dev/null; {}", value(&yaml, "run:"))]);
    let printed = printed_by(next.env("PATH", path).envs(variables));
    assert!(printed.contains("Grus") && !printed.contains("GPU1:"), "{printed}");
}

/// The step fails for a feature that is missing, an unknown version, and bytes that do not have the
/// checksum.
#[test]
fn the_action_fails_rather_than_skips() {
    if !has("curl") {
        return;
    }
    let folder = checkout("action-fails");
    std::fs::write(folder.join("missing.json"), r#"{"apiVersion": "9.0"}"#).expect("a file");
    let version = &version();
    let missing = action(&folder, version, "missing.json");
    assert!(missing.status.code() == Some(125) && text(&missing).contains("9.0"), "{}", text(&missing));
    assert!(!action(&folder, "77.0.0", "").status.success());
    let changed = scratch("action-changed");
    for end in ["SHA256SUMS", "-linux.tar.xz"] {
        let from = package(end);
        std::fs::copy(&from, changed.join(from.file_name().expect("a name"))).expect("a copy");
    }
    let tarball = package("-linux.tar.xz");
    std::fs::write(changed.join(tarball.file_name().expect("a name")), "other bytes").expect("a file");
    let mut step = Command::new(root().join("packages/action/setup.sh"));
    step.env("GRUS_VERSION", version).env("GRUS_URL", format!("file://{}", changed.display()));
    step.env("GRUS_REQUIRE", "").env("RUNNER_TEMP", folder.join("other")).env("GITHUB_WORKSPACE", &folder);
    for name in ["GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT"] {
        step.env(name, folder.join("unused"));
    }
    assert!(!attempt(&mut step).status.success(), "the checksum is not that of the tarball");
    assert!(!folder.join("unused").exists(), "a failed step sets nothing");
}

#[test]
fn the_script_of_gitlab_runs() {
    if !has("curl") || !has("vulkaninfo") {
        return;
    }
    let yaml = snippet("yaml", "script:");
    let (variables, script) = yaml.split_once("script:").expect("a script");
    let lines: Vec<&str> = script.lines().filter_map(|line| line.trim().strip_prefix("- ")).collect();
    assert!(lines.len() >= 4, "{script}");
    let mut shell = Command::new("bash");
    shell.args(["-ec", &lines.join("\n")]).env("GRUS", native(value(variables, "GRUS:"))).env("GRUS_URL", url());
    let printed = run(shell.current_dir(checkout("gitlab")));
    assert!(printed.contains("Grus") && !printed.contains("GPU1:"), "{printed}");
}

/// Applies `ADD` and `ENV` of the Dockerfile below a folder. The command of `RUN` installs the
/// loader, which is installed here.
#[test]
fn the_dockerfile_selects_the_driver() {
    if !has("vulkaninfo") {
        return;
    }
    let recipe = snippet("dockerfile", "FROM");
    let folder = scratch("docker");
    let words = |key: &str| {
        let line = recipe.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_else(|| panic!("no {key}"));
        line.split([' ', '=']).filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let [archive, target] = &words("ADD ")[..] else { panic!("ADD has a source and a target") };
    let target = folder.join(target.trim_start_matches('/'));
    std::fs::create_dir_all(&target).expect("a folder");
    run(Command::new("tar").arg("-xJf").arg(package(&native(archive))).arg("-C").arg(&target));
    let [name, path] = &words("ENV ")[..] else { panic!("ENV has a name and a value") };
    let path = folder.join(native(path.trim_start_matches('/')));
    let printed =
        printed_by(Command::new("vulkaninfo").arg("--summary").env("VK_ICD_FILENAMES", &path).env(name, &path));
    assert!(printed.contains("Grus") && !printed.contains("GPU1:"), "{printed}");
}

/// Runs a command with the variables that it has, and returns what it prints.
fn printed_by(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}: {}", text(&output));
    text(&output)
}

/// Returns a name in a snippet for the architecture of this machine.
fn native(name: &str) -> String {
    name.replace("x86_64", TARGET.name)
}

/// Returns the version of the packages.
fn version() -> String {
    Release::read(&root()).expect("a release").version
}

/// The names in the snippets are those of the packages.
#[test]
fn snippets_name_this_version() {
    let tarball = package("-linux.tar.xz");
    let name = tarball.file_name().expect("a name").to_string_lossy().replace(TARGET.name, "x86_64");
    for (language, word) in [("yaml", "script:"), ("dockerfile", "FROM")] {
        assert!(snippet(language, word).contains(name.trim_end_matches(".tar.xz")), "{language}: {name}");
    }
    assert_eq!(value(&snippet("yaml", "uses:"), "version:"), version());
}
