//! Execution of compiled stages: threads that share work, the memory that they keep for stages, and
//! dispatches.
//!
//! Modules import only modules above them in this list:
//!
//! - `mem`: memory that stages read and write; `stage`: calls of compiled stages; [`team`]: threads,
//!   for any kind of work and several owners of work;
//! - `pool`: distribution of work whose participating threads keep state;
//! - `compute`: dispatches.

pub mod team;

mod compute;
mod mem;
mod pool;
mod stage;

pub use compute::{Dispatch, dispatch};
pub use mem::AlignedBuf;
pub use pool::{Effort, Pool, Running, Scratch, Worker};
pub use stage::{StageMemory, aborted};
