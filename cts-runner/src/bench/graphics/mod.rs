//! Draws: fill rate, sampling, geometry, depth, several samples and attachments, and what applications do with them.
//!
//! Idea: a workload draws to a target (of 1024×1024, but for one) and knows what must be there. Positions are multiples of 1/16 of a
//! pixel and exact as floats all the way through the viewport, so coverage is known to the pixel on every driver; colours
//! are exact where the workload allows it, else a reference computed here must be close.
//!
//! Invariant: what is drawn does not depend on what was there before; passes clear or overwrite all of their attachments.

mod capture;
mod culling;
mod deferred;
mod depth;
mod desktop;
mod divergent;
mod fill;
mod film;
mod foliage;
mod forward;
mod geometry;
mod meshlets;
mod objects;
mod picture;
mod post;
mod primitives;
mod reference;
mod sampling;
mod steps;
mod target;
mod texels;
mod text;
mod ui;

use super::workload::Spec;
pub(super) use reference::{Level, Wrap, hash};

/// The workloads, in the order they are shown.
pub const SPECS: &[&[Spec]] = &[
    fill::SPECS,
    sampling::SPECS,
    divergent::SPECS,
    geometry::SPECS,
    meshlets::SPECS,
    capture::SPECS,
    primitives::SPECS,
    objects::SPECS,
    depth::SPECS,
    deferred::SPECS,
    forward::SPECS,
    culling::SPECS,
    foliage::SPECS,
    post::SPECS,
    film::SPECS,
    desktop::SPECS,
    ui::SPECS,
    text::SPECS,
];
