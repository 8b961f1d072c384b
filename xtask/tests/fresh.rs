//! Tests that the generated files of the repository are what the generator makes.

use xtask::{files, source};

/// Checks each file. The test fails, with the reason, if the sources are not available.
#[test]
fn generated_files_are_fresh() {
    let files = files().unwrap_or_else(|message| panic!("{message}"));
    let stale = files.iter().filter(|file| {
        let text = std::fs::read_to_string(source::root().join(file.path));
        text.is_err() || text.is_ok_and(|text| text != file.text)
    });
    let stale: Vec<&str> = stale.map(|file| file.path).collect();
    assert!(stale.is_empty(), "run `cargo xtask generate`: {stale:?} are not what the generator makes");
}

/// Checks that a number that both published files have is the same: each capability that the
/// registry of Vulkan names is one of the grammar, unless it is an older name.
#[test]
fn capabilities_of_vulkan_are_in_the_grammar() {
    let published = xtask::Published::read().unwrap_or_else(|message| panic!("{message}"));
    let known = |name: &str| published.grammar.capabilities().iter().any(|c| c.name == name);
    let all = &published.registry.spirv_capabilities;
    let missing = all.iter().filter(|c| !known(&c.name)).count();
    assert!(all.len() > 150 && missing * 5 < all.len(), "{missing} of {} are unknown", all.len());
}
