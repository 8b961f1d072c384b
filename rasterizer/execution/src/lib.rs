//! Execution of compiled stages: threads that share work, the memory that they keep for stages, and
//! dispatches.
//!
//! Modules import only modules above them in this list:
//!
//! - `mem`: memory that stages read and write; `stage`: calls of compiled stages; [`work_sharing`]:
//!   threads, for any kind of work and several owners of work;
//! - `worker_pool`: distribution of work whose participating threads keep state;
//! - `compute`: dispatches; [`trace`]: launches of ray tracing.

pub mod trace;
pub mod work_sharing;

mod compute;
mod mem;
#[cfg(test)]
mod only_stages;
mod stage;
mod worker_pool;

pub use compute::{Dispatch, dispatch};
pub use mem::AlignedBuf;
pub use stage::{StageMemory, aborted};
pub use worker_pool::{CostHint, RunningCommand, Worker, WorkerPool, WorkerScratch};
