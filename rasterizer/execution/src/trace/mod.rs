//! Launches of ray tracing: wavefronts of suspended invocations, local to a tile of launch ids.
//!
//! A thread owns a tile. Each invocation of a shader has a frame ([`FrameInfo`]); a call of a
//! compiled stage runs a batch of invocations up to their ends or suspension points, and the
//! scheduler answers each of these ends: it traces, calls or continues. Waiting invocations are
//! queued by shader and point, and the queue with the most deeply nested one runs next, in the
//! order of launch ids. Rays wait until no invocation that is as deeply nested can add another one,
//! and are then traced together. Which invocations share a call therefore depends on the launch
//! alone, never on threads.
//!
//! Modules import only modules above them in this list:
//!
//! - `traversal`: the interface to the traversal of acceleration structures ([`Tracer`]);
//! - `launch`: shaders, groups and shader binding tables of a launch;
//! - `plan`: what is set of a shader's inputs;
//! - `records`: shaders of records that were read;
//! - `frames`: frames of a shader's invocations, and calls of its code;
//! - `state`: invocations, rays and their intersections;
//! - `queues`: what waits; `wave` and `slots`: rays that are traced together;
//! - `tile`: calls and returns, with `inputs`; `ray` and `hits`: the loop over the shaders of rays;
//!   `objects`: hit objects;
//! - `dispatch`: tiles over the pool.
//!
//! [`FrameInfo`]: base::shader::FrameInfo

mod dispatch;
mod frames;
mod hits;
mod inputs;
mod launch;
mod objects;
mod plan;
mod queues;
mod ray;
mod records;
mod slots;
mod state;
#[cfg(test)]
mod tests;
mod tile;
mod traversal;
mod wave;

pub use dispatch::trace_rays;
pub use launch::{
    GROUP_HANDLE_BYTES, GroupHandles, Launch, ShaderGroup, ShaderTable, ShaderTables, TraceError, TraceProgram,
};
pub use traversal::{Decide, Instance, Intersection, IntersectionKind, RayArguments, Tracer, ray_flags};
