//! Passes over the IR, one file each. [`run`] applies them in order. [`divergence()`] and
//! [`Suspension`] are the analyses that `emit` uses.
//!
//! Each pass takes a shader that [`verify`] accepts and returns such a shader, with the same
//! results bit for bit. The exceptions are:
//!
//! - `contract`, which decides where two roundings become one,
//! - `lower_fdiv`, which decides which divisions become products,
//! - `lower_math`, which defines the transcendental functions,
//! - `fold`, which may remove products with zero.
//!
//! After [`run`], constants are at the start of the root body, each once. Back ends should
//! materialise them where they are used.

#![forbid(unsafe_code)]

mod compact_vars;
mod contract;
mod cse;
mod dce;
mod divergence;
mod float_modes;
mod fold;
mod lower_f16;
mod lower_fdiv;
mod lower_float;
mod lower_math;
pub mod math;
mod mem2reg;
mod opt_dead_marks;
mod opt_if_conversion;
mod reassociate;
mod simplify_cfg;
mod split_arrays;
mod steps;
mod suspension;
mod unroll;
mod util;

pub use compact_vars::compact_vars;
pub use contract::contract;
pub use cse::cse;
pub use dce::dce;
pub use divergence::{Divergence, Shape, divergence, is_flat};
pub use float_modes::float_modes;
pub use fold::fold;
pub use lower_f16::lower_f16;
pub use lower_fdiv::lower_fdiv;
pub use lower_float::lower_float;
pub use lower_math::lower_math;
pub use mem2reg::mem2reg;
pub use opt_dead_marks::opt_dead_marks;
pub use opt_if_conversion::opt_if_conversion;
pub use reassociate::reassociate;
pub use simplify_cfg::simplify_cfg;
pub use split_arrays::split_arrays;
pub use steps::Steps;
pub use suspension::{Segment, Suspension, words_of};
pub use unroll::unroll;
pub use util::{for_each_inst, query_variables, rewrite_insts};

use crate::budget;
use crate::error::Error;
use crate::ir::{Node, Region, Shader, verify};
use std::sync::OnceLock;

/// Options of [`run`].
#[derive(Clone, Copy, Debug)]
pub struct PassOptions {
    /// True if the shader is verified before the first pass and after each pass.
    pub verify: bool,
}

#[allow(clippy::derivable_impls, reason = "only without debug assertions")]
impl Default for PassOptions {
    fn default() -> Self {
        PassOptions { verify: cfg!(debug_assertions) }
    }
}

/// Transforms a translated shader into the form that `emit` takes.
///
/// # Errors
/// Returns Unsupported for operations that cannot be lowered, Limit for a shader that is too large
/// or nested too deeply, and Internal if verification fails.
pub fn run(shader: &mut Shader, options: &PassOptions) -> Result<(), Error> {
    let mut p = Pipeline { shader, options };
    p.done("input")?;
    p.pass("float_modes", float_modes)?;
    p.pass("lower_f16", lower_f16)?;
    p.pass("lower_float", lower_float)?;
    budget::ir(p.shader)?;
    // Control flow is simplified before the conversion to SSA form, which then needs fewer merges.
    p.pass("simplify_cfg", simplify_cfg)?;
    p.pass("mem2reg", mem2reg)?;
    p.pass("fold", fold)?;
    p.arrays()?;
    p.pass("simplify_cfg", simplify_cfg)?;
    p.pass("dce", dce)?;
    p.pass("cse", cse)?;
    if unroll(p.shader) {
        p.done("unroll")?;
        p.pass("fold", fold)?;
        p.arrays()?;
        p.pass("simplify_cfg", simplify_cfg)?;
        p.pass("dce", dce)?;
    }
    p.pass("lower_fdiv", lower_fdiv)?;
    lower_math(p.shader)?;
    p.done("lower_math")?;
    p.pass("fold", fold)?;
    p.pass("reassociate", reassociate)?;
    p.pass("cse", cse)?;
    p.pass("contract", contract)?;
    p.pass("opt_if_conversion", opt_if_conversion)?;
    p.pass("simplify_cfg", simplify_cfg)?;
    p.pass("fold", fold)?;
    p.pass("opt_dead_marks", opt_dead_marks)?;
    p.pass("dce", dce)?;
    p.pass("compact_vars", compact_vars)?;
    budget::loops(loop_depths(&p.shader.root.body, 0))
}

/// Returns the sum of the depths of all loops in a region that is inside `outer` loops.
fn loop_depths(region: &Region, outer: u64) -> u64 {
    let of = |node: &Node| match node {
        Node::Inst(_) => 0,
        Node::Loop(n) => outer + 1 + loop_depths(&n.body, outer + 1),
        Node::If(n) => loop_depths(&n.then, outer) + loop_depths(&n.else_, outer),
        Node::Scope(n) => loop_depths(&n.body, outer),
    };
    region.nodes.iter().map(of).sum()
}

struct Pipeline<'a> {
    shader: &'a mut Shader,
    options: &'a PassOptions,
}

impl Pipeline<'_> {
    fn pass(&mut self, name: &str, pass: impl FnOnce(&mut Shader)) -> Result<(), Error> {
        pass(self.shader);
        self.done(name)
    }

    /// Converts arrays without dynamic indices to values.
    fn arrays(&mut self) -> Result<(), Error> {
        if split_arrays(self.shader) {
            self.done("split_arrays")?;
            self.pass("mem2reg", mem2reg)?;
            self.pass("fold", fold)?;
        }
        Ok(())
    }

    fn done(&mut self, name: &str) -> Result<(), Error> {
        if dump(name) {
            eprintln!("; after {name}\n{}", self.shader);
        }
        if self.options.verify
            && let Err(message) = verify(self.shader)
        {
            return Err(Error::internal(format!("after {name}: {message}")));
        }
        Ok(())
    }
}

/// Returns true if `GRUS_DUMP=<pass>` or `GRUS_DUMP=all` requests a print of the shader after the
/// pass.
fn dump(name: &str) -> bool {
    static WANTED: OnceLock<Option<String>> = OnceLock::new();
    let wanted = WANTED.get_or_init(|| std::env::var("GRUS_DUMP").ok());
    wanted.as_deref().is_some_and(|w| w == name || w == "all")
}
