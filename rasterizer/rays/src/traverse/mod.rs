//! Traversal of rays: a state that runs until a candidate needs a shader, and continues when the
//! shader has decided.
//!
//! `OpRayQueryProceedKHR` is [`Traversal::proceed`]; a pipeline's loop over any-hit and
//! intersection shaders calls the same function.

mod bundle;
mod bundle_triangle;
mod hit;
mod hull;
mod instances;
mod leaves;
mod leaving;
mod members;
mod micromap;
mod motion;
mod packet;
mod proceed;
mod ray;
mod state;
mod triangle;
mod walk;

pub use hit::{Hit, HitKind, instance_flags, ray_flags};
pub use packet::Decide;
pub use ray::Ray;
pub use state::{Scene, TopLevel, Traversal};
