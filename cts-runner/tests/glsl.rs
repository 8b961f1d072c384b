//! Runs GLSL shaders of many kinds on two drivers with the same random inputs, and compares the
//! outputs.
//!
//! The `//!` lines of a shader define its input and the comparison of its output:
//!
//! - `input uint | float LOW HIGH`;
//! - `output uint | float TOLERANCE | bytes TOLERANCE` (relative above 1, absolute below);
//! - `outliers SHARE` (of the words, because drivers may assign texel and pixel edges differently);
//! - `bind textures | images | texels`;
//! - `push WORDS`;
//! - `spec ID=VALUE…`;
//! - `topology NAME` (of a draw; triangles without it);
//! - `patch POINTS` (number of control points of a patch);
//! - `api 1.1`;
//! - `glslang 15` (the oldest compiler that supports its extensions).
//!
//! The .spv files are committed beside the sources. A test compiles the sources again and compares.

#[path = "glsl/harness.rs"]
mod harness;
mod support;

use cts_runner::hashes::{self, Shader};
use harness::run_on_both;

/// Declares one test per shader, and the list that a test compares with the folder.
macro_rules! shaders {
    ($($name:ident)*) => {
        const LISTED: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { run_on_both(&Shader::read(stringify!($name)).expect("a shader")); })*
    };
}

shaders! {
    array_of_arrays
    array_tables
    arrays
    atomics_buffer
    atomics_shared
    bit_casts
    bit_counts
    bit_fields
    bit_logic
    booleans
    branches_nested
    buffer_layouts
    conversion_large
    conversions
    draw_derivatives
    draw_discard
    draw_early_depth
    draw_flat
    draw_frag_coord
    draw_frag_depth
    draw_front_facing
    draw_geometry_adjacency
    draw_geometry_divergent
    draw_geometry_invocations
    draw_geometry_lines
    draw_geometry_lines_adjacency
    draw_geometry_outputs
    draw_geometry_pass
    draw_geometry_quads
    draw_gouraud
    draw_loop
    draw_mesh_points
    draw_mesh_triangles
    draw_noperspective
    draw_perspective
    draw_tessellation_geometry
    draw_tessellation_isolines
    draw_tessellation_large
    draw_tessellation_points
    draw_tessellation_quads
    draw_tessellation_triangles
    draw_texture
    early_return
    float_arithmetic
    float_exponent
    float_exponentials
    float_fraction
    float_hyperbolic
    float_interpolation
    float_inverse_trigonometry
    float_nans
    float_powers
    float_rounding
    float_special
    float_ties
    float_trigonometry
    functions
    geometry
    geometry_refract
    half_floats
    image_atomics
    image_load_store
    int_arithmetic
    int_modulo
    loop_collatz
    loop_do_while
    loop_exits
    loop_nested
    mandelbrot
    matrices
    matrix_indexing
    matrix_inverse
    noise_hash
    pack_norm
    push_constants
    runtime_array
    shared_reduce
    shared_scan
    shared_sort
    shared_transpose
    short_circuit
    spec_constants
    structs
    subgroup_ballot
    subgroup_vote
    switch_cases
    switch_in_loop
    texel_buffers
    texture_arrays
    texture_cube
    texture_gather
    texture_integer
    texture_linear
    texture_lod
    texture_nearest
    texture_projective
    texture_query
    texture_separate
    texture_shadow
    uint_arithmetic
    uint_extended
    uniform_buffer
    unpack_norm
    vectors
    workgroup_ids
}

#[test]
fn every_shader_is_listed() {
    let found = hashes::names().expect("the folder of the shaders");
    let mut listed = LISTED.to_vec();
    listed.sort_unstable();
    assert_eq!(found, listed);
}

/// Returns the major version of glslang, such as 15 for `Glslang Version: 11:15.1.0`; 0 if the
/// output has another form.
fn version(compiler: &std::path::Path) -> u32 {
    let out = std::process::Command::new(compiler).arg("--version").output().map(|o| o.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&out).into_owned();
    let number = text.split(':').nth(2).and_then(|rest| rest.split('.').next());
    number.and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[test]
fn committed_spirv_is_what_the_compiler_makes() {
    let compiler = match support::tool("glslangValidator") {
        Ok(compiler) => compiler,
        Err(why) => return support::skip(&why),
    };
    let scratch = support::scratch("glsl");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let benches = std::fs::read_dir(root.join("bench/shaders")).expect("the shaders of the benchmarks").flatten();
    let folders = [hashes::folder(), root.join("demo/shaders"), root.join("hashes/shaders")]
        .into_iter()
        .chain(benches.map(|e| e.path()));
    let sources = folders.flat_map(|folder| hashes::sources(&folder).expect("a folder of shaders"));
    for source in sources {
        let name = source.file_name().and_then(|n| n.to_str()).expect("a name");
        let out = scratch.join(format!("{name}.spv"));
        let text = std::fs::read_to_string(&source).expect("a source");
        let directive = |name: &str| text.split(name).nth(1).and_then(|rest| rest.split_whitespace().next());
        if directive("//! glslang ")
            .and_then(|least| least.parse().ok())
            .is_some_and(|least: u32| least > version(&compiler))
        {
            continue;
        }
        let target = format!("vulkan{}", directive("//! api ").unwrap_or("1.0"));
        let mut command = std::process::Command::new(&compiler);
        support::succeed(command.args(["--target-env", &target, "--quiet", "-o"]).arg(&out).arg(&source));
        let committed = source.with_file_name(format!("{name}.spv"));
        let (new, old) = (words(&out), words(&committed));
        // Word 2 is the version of the generator, which is not compared because another release of
        // the compiler may generate the same code.
        assert!(new.len() == old.len() && new[3..] == old[3..], "{} is stale", committed.display());
    }
}

fn words(path: &std::path::Path) -> Vec<u32> {
    cts_runner::vk::spirv_words(&std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}
