//! List of the modules, with name, source and topology of each.

use super::fixture::{Program, SIDE};
use crate::bench::workload::{Family, Make, Spec, spirv};
use crate::vk::raw::{PrimitiveTopology as Topology, ShaderStageFlags as Stage};

/// A module of the family.
pub struct Module {
    /// Name of the source, without the stage.
    pub name: &'static str,
    /// True if the picture is a single colour.
    #[cfg(test)]
    pub plain: bool,
    program: fn() -> Program,
}

impl Module {
    /// Returns the stages and the drawing parameters.
    pub fn program(&self) -> Program {
        (self.program)()
    }
}

fn compute(code: Vec<u32>) -> Program {
    Program { stages: vec![(Stage::COMPUTE, code)], topology: Topology::POINT_LIST, vertices: 0 }
}

fn fragment(code: Vec<u32>) -> Program {
    let stages = vec![(Stage::VERTEX, spirv!("create/screen.vert")), (Stage::FRAGMENT, code)];
    Program { stages, topology: Topology::TRIANGLE_LIST, vertices: 3 }
}

fn vertex(code: Vec<u32>) -> Program {
    let stages = vec![(Stage::VERTEX, code), (Stage::FRAGMENT, spirv!("create/passed.frag"))];
    Program { stages, topology: Topology::POINT_LIST, vertices: SIDE * SIDE }
}

fn geometry(vertex: Vec<u32>, geometry: Vec<u32>) -> Program {
    let passed = spirv!("create/passed.frag");
    let stages = vec![(Stage::VERTEX, vertex), (Stage::GEOMETRY, geometry), (Stage::FRAGMENT, passed)];
    Program { stages, topology: Topology::POINT_LIST, vertices: 16 }
}

fn tessellation(vertex: Vec<u32>, control: Vec<u32>, evaluation: Vec<u32>) -> Program {
    let stages = vec![
        (Stage::VERTEX, vertex),
        (Stage::TESSELLATION_CONTROL, control),
        (Stage::TESSELLATION_EVALUATION, evaluation),
        (Stage::FRAGMENT, spirv!("create/passed.frag")),
    ];
    Program { stages, topology: Topology::PATCH_LIST, vertices: 4 }
}

/// Expands to the program of a module with a kind and name.
macro_rules! program {
    (compute $name:literal) => {
        compute(spirv!("create/", $name, ".comp"))
    };
    (fragment $name:literal) => {
        fragment(spirv!("create/", $name, ".frag"))
    };
    (vertex $name:literal) => {
        vertex(spirv!("create/", $name, ".vert"))
    };
    (geometry $name:literal) => {
        geometry(spirv!("create/", $name, ".vert"), spirv!("create/", $name, ".geom"))
    };
    (tessellation $name:literal) => {
        tessellation(
            spirv!("create/", $name, ".vert"),
            spirv!("create/", $name, ".tesc"),
            spirv!("create/", $name, ".tese"),
        )
    };
}

macro_rules! only {
    (quick) => {
        true
    };
    (full) => {
        false
    };
    (plain) => {
        true
    };
    () => {
        false
    };
}

/// Declares one row per module: index, kind, name, part of the run, and whether its picture is a
/// single colour.
macro_rules! modules {
    ($($index:literal $kind:ident $name:literal $run:ident $($plain:ident)?;)*) => {
        /// All modules. The contact sheet contains their pictures in this order.
        pub const MODULES: &[Module] = &[
            $(Module {
                name: $name,
                #[cfg(test)]
                plain: only!($($plain)?),
                program: || program!($kind $name),
            },)*
        ];
        /// Workloads, one per module.
        pub const SPECS: &[Spec] = &[
            $(Spec {
                name: concat!("create/", $name),
                family: Family::Create,
                quick: only!($run),
                make: Make::Fresh(|fresh| super::measure(fresh, $index)),
            },)*
        ];
        /// Workloads that make shader objects beside pipelines, one per module.
        pub const OBJECT_SPECS: &[Spec] = &[
            $(Spec {
                name: concat!("programs/create-", $name),
                family: Family::Programs,
                quick: only!($run),
                make: Make::Fresh(|fresh| super::measure_objects(fresh, $index)),
            },)*
        ];
    };
}

modules! {
    0 fragment "alpha_foliage" full;
    1 fragment "blinn_lights" full;
    2 fragment "bloom_threshold" full;
    3 fragment "blur_bilateral" full;
    4 fragment "blur_box" full;
    5 fragment "blur_gauss" quick;
    6 fragment "blur_kawase_unrolled" full;
    7 fragment "checker" full;
    8 fragment "clouds" quick;
    9 fragment "crt" full;
    10 fragment "deferred" full;
    11 fragment "dither" full;
    12 fragment "fire" full;
    13 fragment "forward_unrolled" quick;
    14 fragment "fxaa" full;
    15 fragment "gradient" full;
    16 fragment "grading" full;
    17 fragment "julia" full;
    18 fragment "lambert" full;
    19 fragment "mandelbulb" full;
    20 fragment "noise_fbm" quick;
    21 fragment "noise_simplex" full;
    22 fragment "noise_value" full;
    23 fragment "noise_warp" full;
    24 fragment "noise_worley" full;
    25 fragment "parallax" full;
    26 fragment "pbr" quick;
    27 fragment "pbr_lights" full;
    28 fragment "pbr_textured" full;
    29 fragment "pbr_uber" quick;
    30 fragment "phong" full;
    31 fragment "plasma" full;
    32 fragment "raytrace_spheres" full;
    33 fragment "sdf_scene1" full;
    34 fragment "sdf_scene2" quick;
    35 fragment "sdf_scene3" full;
    36 fragment "sky" full;
    37 fragment "solid" quick plain;
    38 fragment "ssao" full;
    39 fragment "switch_materials" full;
    40 fragment "terrain" full;
    41 fragment "text_msdf" full;
    42 fragment "textured" quick;
    43 fragment "tonemap" full;
    44 fragment "toon" quick;
    45 fragment "toon_outlined" full;
    46 fragment "ui_rounded" full;
    47 fragment "uniforms" full;
    48 fragment "voronoi" full;
    49 fragment "water" full;
    50 compute "axpy" full;
    51 compute "bitonic" full;
    52 compute "bvh_any" full;
    53 compute "bvh_closest" quick;
    54 compute "dct" full;
    55 compute "fft_16" full;
    56 compute "fft_4" full;
    57 compute "fft_8" full;
    58 compute "fft_shared" quick;
    59 compute "fill" full plain;
    60 compute "histogram" full;
    61 compute "jacobi" full;
    62 compute "keccak_2" full;
    63 compute "keccak_5" full;
    64 compute "life" full;
    65 compute "mandelbrot" full;
    66 compute "matmul_16_1" full;
    67 compute "matmul_16_4" quick;
    68 compute "matmul_32_4" full;
    69 compute "matmul_8_1" full;
    70 compute "matmul_naive" full;
    71 compute "matvec_q4" full;
    72 compute "nbody" full;
    73 compute "particles" quick;
    74 compute "pathtrace" full;
    75 compute "reduce" full;
    76 compute "scan" full;
    77 compute "sha256_loop" full;
    78 compute "sha256_unrolled" quick;
    79 compute "skin_compute" full;
    80 compute "softmax_attention" full;
    81 compute "strassen_unrolled" full;
    82 compute "tree_switch" full;
    83 vertex "grass" full;
    84 vertex "morph_wave" full;
    85 vertex "skinning" quick;
    86 vertex "skinning_dual" full;
    87 vertex "transform" full;
    88 geometry "geometry_fur" full;
    89 geometry "geometry_quads" full;
    90 tessellation "tess_patch" full;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_its_place() {
        // The closure of a `Spec` contains the index as a number, so the names must be in the same
        // order.
        assert!(MODULES.len() >= 60);
        for ((module, spec), objects) in MODULES.iter().zip(SPECS).zip(OBJECT_SPECS) {
            assert_eq!(spec.name, format!("create/{}", module.name));
            assert_eq!(objects.name, format!("programs/create-{}", module.name));
        }
        let rows = include_str!("modules.rs").lines().filter(|l| l.ends_with(';') && l.starts_with("    "));
        let numbers = rows.filter_map(|l| l.trim_start().split(' ').next()?.parse::<usize>().ok());
        assert!(numbers.eq(0..MODULES.len()), "the first column counts from 0");
    }

    #[test]
    fn every_source_is_a_module() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bench/shaders/create");
        for entry in std::fs::read_dir(folder).expect("the sources").flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let Some((name, extension)) = file.rsplit_once('.') else { continue };
            let helper = ["screen", "passed"].contains(&name) || ["spv", "glsl"].contains(&extension);
            assert!(helper || MODULES.iter().any(|m| m.name == name), "{file} is in no row");
        }
    }

    #[test]
    fn sizes_run_from_trivial_to_thousands_of_instructions() {
        let sizes = || MODULES.iter().map(|m| m.program().stages.iter().map(|(_, code)| code.len()).max().unwrap_or(0));
        assert!(sizes().min().is_some_and(|n| n < 200), "words of the smallest");
        assert!(sizes().max().is_some_and(|n| n > 20_000), "words of the largest");
    }
}
