//! Family `graphics`: fill rate, sampling, geometry, depth, several samples and attachments, and
//! typical draws of applications.
//!
//! Idea: a workload draws to a target (of 1024×1024, with one exception) and knows the expected
//! content. Positions are multiples of 1/16 of a pixel and exact as floats through the whole
//! viewport transformation. Coverage is therefore known to the pixel on every driver. Colours are
//! exact where the workload allows it; otherwise they must be close to a reference that is computed
//! here.
//!
//! Invariant: the result does not depend on the previous content, because passes clear or overwrite
//! all of their attachments.

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
mod rates;
mod reference;
mod sampling;
mod steps;
mod target;
mod texels;
mod text;
mod ui;

use super::workload::Spec;
pub(super) use picture::Picture;
pub(super) use reference::{Level, Wrap, hash};
pub(super) use target::{SIZE, Target};

/// Workloads of the family, in the order in which they are shown.
pub const SPECS: &[&[Spec]] = &[
    fill::SPECS,
    sampling::SPECS,
    divergent::SPECS,
    rates::SPECS,
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
