//! Tests that translate and run SPIR-V modules.

#[path = "../emit_common/mod.rs"]
mod emit_common;
#[path = "../spirv_common/mod.rs"]
mod spirv_common;

mod accepted;
mod corpus;
mod execute;
mod floats;
mod groups;
mod integers;
mod interface;
mod limits;
mod pointers;
mod robust;
mod safety;
