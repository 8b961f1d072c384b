//! Tests the dependencies between the crates, read from `cargo metadata`, and those between the
//! modules of each crate, read from its source.

mod module_graph;

use module_graph::ModuleGraph;
use module_graph::methods::Methods;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// A crate of the workspace.
struct Member {
    /// Name of the package.
    package: &'static str,
    /// Folder below the workspace's root.
    folder: &'static str,
    /// Packages of the workspace that it may use.
    uses: &'static [&'static str],
    /// Further packages of the workspace that its tests may use.
    tests_use: &'static [&'static str],
}

/// All crates, with the allowed dependencies between them.
const MEMBERS: [Member; 15] = [
    Member { package: "grus-code-fn", folder: "base/code-fn", uses: &[], tests_use: &[] },
    Member { package: "grus-from-text", folder: "base/from-text", uses: &[], tests_use: &[] },
    Member { package: "grus-base", folder: "base", uses: &["grus-code-fn", "grus-from-text"], tests_use: &[] },
    Member { package: "grus-jit", folder: "jit", uses: &["grus-base"], tests_use: &["grus-jit-test-support"] },
    Member {
        package: "grus-jit-test-support",
        folder: "jit/test-support",
        uses: &["grus-base", "grus-jit"],
        tests_use: &[],
    },
    Member {
        package: "grus-execution",
        folder: "rasterizer/execution",
        uses: &["grus-base"],
        tests_use: &["grus-test-support"],
    },
    Member {
        package: "grus-texture",
        folder: "rasterizer/texture",
        uses: &["grus-base"],
        tests_use: &["grus-test-support", "grus-texture"],
    },
    Member {
        package: "grus-transfer",
        folder: "rasterizer/transfer",
        uses: &["grus-base", "grus-execution"],
        tests_use: &["grus-test-support"],
    },
    Member {
        package: "grus-rays",
        folder: "rasterizer/rays",
        uses: &["grus-base", "grus-execution"],
        tests_use: &["grus-test-support"],
    },
    Member {
        package: "grus-rasterizer",
        folder: "rasterizer",
        uses: &["grus-base", "grus-execution"],
        tests_use: &["grus-test-support"],
    },
    Member {
        package: "grus-icd",
        folder: "icd",
        uses: &[
            "grus-base",
            "grus-jit",
            "grus-execution",
            "grus-texture",
            "grus-transfer",
            "grus-rasterizer",
            "grus-rays",
        ],
        tests_use: &["cts-runner"],
    },
    Member { package: "grus-test-support", folder: "rasterizer/test-support", uses: &["grus-base"], tests_use: &[] },
    Member { package: "cts-runner", folder: "cts-runner", uses: &[], tests_use: &[] },
    Member { package: "grus-vulkan", folder: "vulkan", uses: &["grus-icd"], tests_use: &[] },
    Member { package: "xtask", folder: "xtask", uses: &[], tests_use: &[] },
];

#[test]
fn only_allowed_dependencies_exist() {
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
    let expected: BTreeSet<String> = MEMBERS.iter().map(|member| member.package.to_string()).collect();
    assert_eq!(members, expected, "the crates of the workspace");
    for package in packages {
        let from = name(package);
        let member = MEMBERS.iter().find(|member| member.package == from).expect("a member");
        let manifest = package["manifest_path"].as_str().expect("a path");
        assert!(manifest.ends_with(&format!("/{}/Cargo.toml", member.folder)), "{from} is at {manifest}");
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let to = name(dependency);
            let only_tests = dependency["kind"] == "dev";
            let allowed = member.uses.contains(&to.as_str()) || only_tests && member.tests_use.contains(&to.as_str());
            assert!(!members.contains(&to) || allowed, "{from} -> {to} is not a dependency of the design");
        }
    }
}

/// Returns the packages of `cargo tree` with their features, one a line.
fn packages_with_features(selection: &[&str], kinds: &str) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--prefix", "none", "--no-dedupe", "--format", "{p} {f}", "--edges", kinds])
        .args(selection)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Cargo compiles a package once for each set of features, together with everything that depends on
/// it. The driver, all programs and all tests therefore select equal features, so that
/// `cargo build` and `cargo test --workspace` share what they compile. A difference is removed by a
/// feature in the manifest of a crate of the driver, if this does not make the driver larger.
#[test]
fn builds_and_tests_select_equal_features() {
    let tests = packages_with_features(&["--workspace"], "normal,build,dev");
    for selection in [&["--workspace"][..], &["--package", "grus-icd"]] {
        let built = packages_with_features(selection, "normal,build");
        assert!(built.len() > 50, "{selection:?}: {} packages", built.len());
        let other: Vec<_> = built.difference(&tests).collect();
        assert!(other.is_empty(), "{selection:?} compiles these with other features than the tests: {other:?}");
    }
}

/// The functions of Windows are a dependency on that system only.
#[test]
#[cfg(unix)]
fn the_driver_depends_on_no_package_of_windows() {
    let built = packages_with_features(&["--package", "grus-icd"], "normal,build");
    let windows: Vec<_> = built.iter().filter(|package| package.starts_with("windows")).collect();
    assert!(built.len() > 50 && windows.is_empty(), "{windows:?} of {}", built.len());
}

fn read(folder: &str) -> ModuleGraph {
    ModuleGraph::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder).join("src/lib.rs"))
}

/// The modules of a crate have no cyclic dependencies, so a reader finds everything that a module
/// depends on below it.
#[test]
fn modules_have_no_dependency_cycles() {
    let mut found = String::new();
    for Member { folder, .. } in MEMBERS {
        let graph = read(folder);
        let dependencies = graph.dependencies();
        for cycle in graph.cycles() {
            found += &format!("{folder}: a cycle of {}\n", cycle.len());
            for ((from, to), names) in &dependencies {
                if cycle.contains(from) && cycle.contains(to) {
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    found += &format!("    {} -> {}: {}\n", from.join("::"), to.join("::"), names.join(", "));
                }
            }
        }
    }
    assert!(found.is_empty(), "\n{found}");
}

/// Files that may call each other's methods of one type in a circle.
const MAX_COMPONENT: usize = 6;

/// Fields of one type that more than [`MAX_WRITERS`] files may write.
const MAX_SHARED_FIELDS: usize = 15;

/// Files that may write a field before it counts as shared.
const MAX_WRITERS: usize = 4;

/// The methods of a type, of its fields and of the functions that take it call each other in
/// circles within few files only, so that a reader finds what a file builds upon below it.
/// `module_graph::methods` says which calls count.
#[test]
fn method_calls_form_small_components() {
    let mut wrong = String::new();
    for Member { folder, .. } in MEMBERS {
        let graph = read(folder);
        let methods = Methods::read(&graph);
        for of in methods.types() {
            let name = of.0.iter().chain([&of.1]).map(String::as_str).collect::<Vec<_>>().join("::");
            let components = methods.components(of);
            let largest = components.iter().max_by_key(|files| files.len());
            let size = largest.map_or(0, |files| files.len());
            if size > MAX_COMPONENT {
                wrong += &format!("{folder} {name}: {size} files, and not {MAX_COMPONENT} at most:\n");
                for ((from, to), names) in methods.calls(of) {
                    if largest.is_some_and(|files| files.contains(&from) && files.contains(&to)) {
                        let stem = |file: &Path| file.file_stem().map(|s| s.to_string_lossy().into_owned());
                        let (from, to) = (stem(&from).unwrap_or_default(), stem(&to).unwrap_or_default());
                        let names: Vec<&str> = names.iter().map(String::as_str).collect();
                        wrong += &format!("    {from} -> {to}: {}\n", names.join(", "));
                    }
                }
            }
            let shared = methods.writers(of).into_iter().filter(|(_, files)| files.len() > MAX_WRITERS);
            let shared: Vec<_> = shared.map(|(field, files)| format!("{field} ({} files)", files.len())).collect();
            if shared.len() > MAX_SHARED_FIELDS {
                wrong += &format!("{folder} {name}: too many files write {}\n", shared.join(", "));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Modules that may contain `unsafe`, by the folder of their crate. In the crates of the driver,
/// the compiler forbids it in all files except these and those that contain one of these.
const UNSAFE: &[(&str, &[&str])] = &[
    (
        "base",
        &[
            "abi::calling_convention",
            "abi::context",
            "abi::descriptor",
            "abi::helper",
            "abi::image",
            "abi::layout",
            "abi::stage",
            "alloc",
            "deferred_atomics",
            "format::astc::texels",
            "format::lanes",
            "format::pack",
            "fma",
            "fp",
            "host",
            "host::avx2",
            "host::intrinsics",
            "host::neon",
            "host::plain",
            "host::sse41",
            "mem",
            "os::linux",
            "os::windows",
            "shader::code",
        ],
    ),
    (
        "cts-runner",
        &[
            "bench::child",
            "bench::compute::graph",
            "bench::compute::latency",
            "bench::compute::words",
            "bench::corpus::fixture",
            "bench::create::fixture",
            "bench::kernel",
            "bench::limits",
            "bench::start",
            "demo",
            "hashes",
            "hashes::rays",
            "hashes::run",
            "demo::rays",
            "demo::scene",
            "demo::textures",
            "driver",
            "os::linux",
            "vk::api",
            "vk::core",
            "vk::draw",
            "vk::generated",
            "vk::generated_api",
            "vk::gpu",
            "vk::graphics",
            "vk::library",
            "vk::memory",
            "vk::optional",
            "vk::pipeline",
            "vk::programs",
            "vk::ray_program",
            "vk::rays",
            "vk::record",
            "vk::recorder",
            "vk::report",
            "vk::shader_object",
            "vk::structure",
            "vk::submit",
            "vk::ycbcr",
        ],
    ),
    (
        "icd",
        &[
            "shader_compiler::heap_table",
            "shader_compiler::helpers",
            "shader_compiler::ray_query",
            "shader_compiler::set_memory",
            "shader_compiler::tiered",
            "caps::features",
            "caps::formats",
            "caps::modifiers",
            "caps::newer",
            "caps::properties",
            "command::execute::draw",
            "command::execute::device_range",
            "command::execute::query",
            "command::execute::structures",
            "command::structures",
            "command::transfer",
            "entry",
            "entry::acceleration_structure",
            "entry::calibration",
            "entry::cmd_address",
            "entry::cmd_draw",
            "entry::cmd_extended_state",
            "entry::cmd_state",
            "entry::cmd_transfer",
            "entry::cmd_transform_feedback",
            "entry::command_buffer",
            "entry::cooperative_vector",
            "entry::deferred_operation",
            "entry::descriptor",
            "entry::descriptor_buffer",
            "entry::descriptor_heap",
            "entry::descriptor_write",
            "entry::device",
            "entry::device_fault",
            "entry::display",
            "entry::external",
            "entry::external_fd",
            "entry::external_win32",
            "entry::generated_commands",
            "entry::host_image_copy",
            "entry::instance",
            "entry::micromap",
            "entry::micromap_input",
            "entry::physical_device",
            "entry::pipeline",
            "entry::pipeline_binary",
            "entry::pipeline_executable",
            "entry::pipeline_info",
            "entry::pipeline_state",
            "entry::ray_tracing",
            "entry::recording",
            "entry::render_pass",
            "entry::resource",
            "entry::sampler",
            "entry::shader_object",
            "entry::sparse",
            "entry::sphere_input",
            "entry::stage_source",
            "entry::sync",
            "entry::validation_cache",
            "ffi::allocator",
            "ffi::handle",
            "ffi::messages",
            "ffi::pointer",
            "ffi::shim",
            "ffi::table",
            "os::arena",
            "os::arena::sparse",
            "os::linux::clock",
            "os::linux::descriptor",
            "os::linux::dma_buf",
            "os::linux::futex",
            "os::linux::library",
            "os::linux::memory_limits",
            "os::linux::pages",
            "os::linux::private_file",
            "os::linux::process",
            "os::linux::reservation",
            "os::linux::shared_page",
            "os::linux::user",
            "os::windows::clock",
            "os::windows::descriptor",
            "os::windows::futex",
            "os::windows::library",
            "os::windows::memory_limits",
            "os::windows::pages",
            "os::windows::process",
            "os::windows::reservation",
            "os::windows::section",
            "os::windows::shared_page",
            "os::windows::user",
            "wsi::client",
            "wsi::entry",
            "wsi::swapchain",
            "wsi::unix_entry",
            "wsi::wayland::connection",
            "wsi::wayland::library",
            "wsi::win32",
            "wsi::win32_entry",
            "wsi::x11",
            "wsi::x11_stream",
        ],
    ),
    (
        "jit",
        &["code::blob", "code::call", "code::coherence::aarch64", "code::memory", "lir::eval", "lir::eval::memory"],
    ),
    ("jit/test-support", &["lir_random"]),
    (
        "rasterizer",
        &[
            "front",
            "front::assemble",
            "front::capture",
            "front::soa_fetch",
            "front::geometry",
            "front::mesh",
            "front::non_temporal",
            "front::mesh_dispatch",
            "front::tessellation",
            "front::vertex",
            "interpolate",
            "interpolate::avx512",
            "prim::coverage",
            "prim::record",
            "prim::screen",
            "scene",
            "surface",
            "tile",
            "tile::destination",
            "tile::early",
            "tile::hi_z",
            "tile::coarse",
            "tile::color",
            "tile::color::advanced",
            "tile::color::unorm8_blend",
            "tile::color::unorm8",
            "tile::color::flat",
            "tile::color::any_format",
            "tile::color::quad_pairs",
            "tile::color::quad_texels",
            "tile::color::source",
            "tile::color::srgb",
            "tile::color::avx512",
            "tile::depth",
            "tile::depth::block",
            "tile::depth::general",
            "tile::depth::format",
            "tile::depth::rows",
            "tile::depth::rows::square",
            "tile::epilogue",
            "tile::flat",
            "tile::fragment",
            "tile::visibility_buffer",
            "tile::quads",
            "tile::rectangles",
            "tile::resolve",
            "tile::small_primitives",
        ],
    ),
    ("rasterizer/execution", &["compute", "mem", "stage", "trace::frames", "work_sharing::scoped_closure"]),
    ("rasterizer/rays", &["kernels", "pack", "traverse::proceed", "vec4::sse", "view"]),
    ("rasterizer/test-support", &["guard", "image", "stage"]),
    (
        "rasterizer/texture",
        &[
            "chunk_batch",
            "chunk_batch::avx512",
            "decode_cache",
            "divergent",
            "kernels",
            "memory",
            "sparse",
            "taps",
            "words",
            "ycbcr",
        ],
    ),
    ("rasterizer/transfer", &["conversion", "kernels", "rows"]),
    ("vulkan", &["functions", "select"]),
];

#[test]
fn unsafe_code_is_in_listed_modules_only() {
    let mut found = String::new();
    for Member { folder, .. } in MEMBERS {
        let graph = read(folder);
        let allowed = UNSAFE.iter().find(|(of, _)| *of == folder).map(|(_, modules)| *modules).unwrap_or_default();
        let allowed: BTreeSet<Vec<String>> =
            allowed.iter().map(|m| m.split("::").filter(|n| !n.is_empty()).map(str::to_owned).collect()).collect();
        for (name, module) in &graph.modules {
            let (may, has) = (allowed.contains(name), module.has_unsafe());
            let around = || allowed.iter().any(|a| a.starts_with(name));
            let forbidden = || (0..=name.len()).any(|n| graph.modules[&name[..n]].forbids_unsafe);
            let inline = || name.split_last().is_some_and(|(_, outer)| graph.modules[outer].file == module.file);
            let free = || folder == "cts-runner" || inline() || around() || forbidden();
            let what = match (may, has) {
                (false, true) => "has `unsafe`, and may not",
                (true, false) => "has no `unsafe`: it need not be in the list",
                (false, false) if !free() => "lacks #![forbid(unsafe_code)], here or further out",
                _ => continue,
            };
            found += &format!("{folder} {}: {what} ({})\n", name.join("::"), module.file.display());
        }
        for name in allowed.iter().filter(|name| !graph.modules.contains_key(*name)) {
            found += &format!("{folder} {}: is in the list and nowhere else\n", name.join("::"));
        }
    }
    assert!(found.is_empty(), "\n{found}");
}

/// Upper bounds of the unsafe items (blocks, functions, implementations) of crates outside of their
/// tests, by the folder of the crate. A bound only goes down.
const UNSAFE_ITEMS: &[(&str, usize)] = &[
    ("base", 225),
    ("jit", 45),
    ("rasterizer", 250),
    ("rasterizer/execution", 9),
    ("rasterizer/rays", 21),
    ("rasterizer/texture", 67),
    ("rasterizer/transfer", 44),
];

/// Number of items by which a crate may fall below its bound before the bound must go down.
const UNSAFE_SLACK: usize = 8;

#[test]
fn unsafe_items_become_fewer() {
    let mut wrong = String::new();
    for &(folder, bound) in UNSAFE_ITEMS {
        let items: usize = read(folder).modules.values().map(|module| module.unsafe_items()).sum();
        if items > bound || items + UNSAFE_SLACK < bound {
            wrong += &format!("(\"{folder}\", {items}), and not {bound}\n");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// A test program consists of `main.rs` and files beside it. A file that `main.rs` does not declare
/// would never run.
#[test]
fn test_programs_name_their_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path());
    let mut programs = 0;
    for Member { folder, .. } in MEMBERS {
        let tests = root.join(folder).join("tests");
        for main in entries(&tests).map(|folder| folder.join("main.rs")).filter(|main| main.exists()) {
            programs += 1;
            let text = std::fs::read_to_string(&main).expect("text");
            for file in entries(main.parent().expect("a folder")).filter(|f| f.extension().is_some_and(|e| e == "rs")) {
                let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
                assert!(
                    name == "main" || text.contains(&format!("\nmod {name};")),
                    "{} is in no program",
                    file.display()
                );
            }
        }
    }
    assert!(programs >= 3, "{programs}");
}
