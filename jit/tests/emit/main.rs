//! Tests that code emitted from IR computes the results of `interp`, in every tier.

#[path = "../emit_common/mod.rs"]
mod emit_common;

mod barriers;
mod compute;
mod floats;
mod global;
mod graphics;
mod memory;
mod random;
mod ray_queries;
mod safety;
mod subgroups;
mod suspension;
mod tiles;
mod windows;
