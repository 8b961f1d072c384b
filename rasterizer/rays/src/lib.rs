//! Acceleration structures: their bytes, builds, updates, copies, and the traversal of rays.
//!
//! Modules import only modules above them in this list:
//!
//! - `layout`, `sizes`: the bytes of a structure, and how many there are;
//! - `level`, `kernels`, `vec4`, `pack`, `parallel`: processor levels, work that is compiled for
//!   each of them, vectors of four lanes, children in the order of visits, work over threads;
//! - `view`: structures in memory that may contain anything;
//! - `input`, `spheres`, `instance`, `motion`, `leaf`: what a structure is built from, and how it
//!   is read;
//! - `build`, `copy`, `micromap`, `update`: what makes structures;
//! - `traverse`: rays.
//!
//! Nothing here knows Vulkan handles or generated code. Structures are [`DeviceMemory`], and
//! references to other structures are resolved by [`LiveStructures`].
//!
//! [`DeviceMemory`]: base::mem::DeviceMemory

mod build;
mod copy;
mod input;
mod instance;
mod kernels;
mod layout;
mod leaf;
mod level;
mod micromap;
mod motion;
mod pack;
mod parallel;
mod sizes;
mod spheres;
mod traverse;
mod update;
mod vec4;
mod view;

pub use build::{BuildError, BuildInput, Builder, Quality};
pub use copy::{
    PREFIX_BYTES, Prefix, SerializedSizes, Version, compacted_size, copy_structure, deserialize, header, serialize,
    serialized_sizes,
};
pub use input::{
    Aabbs, AddressSpace, Caps, Geometry, GeometryData, IndexType, Indexing, Instances, MOTION_INSTANCE_STRIDE, Spheres,
    SweptSpheres, Triangles, TrianglesMicromap,
};
pub use instance::{InstanceValues, LiveStructure, LiveStructures};
pub use layout::{Bounds, Contents, FORMAT_VERSION, HEADER_BYTES, Header, MICROMAP_ADDRESS_BYTES};
pub use level::HostLevel;
pub use micromap::{
    MAX_MICROMAP_TRIANGLES, MAX_SUBDIVISION_LEVEL, MicromapInput, MicromapUsage, build_micromap, micromap_size,
};
pub use parallel::{HelperThreads, Workers};
pub use sizes::{BuildSizes, build_sizes};
pub use traverse::{Decide, Hit, HitKind, Ray, Scene, TopLevel, Traversal, instance_flags, ray_flags};
pub use update::update;
