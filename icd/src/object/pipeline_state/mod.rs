//! Fixed-function state of graphics pipelines and of command buffers.
//!
//! A piece of state is a row of the [`table`]: its name, the subset that owns it, its decoding, and
//! its conversion to the rasterizer's draw state. A pipeline and a command buffer have a value for
//! every row ([`Values`]), and masks say which rows are meant ([`StateMask`]). Binding a program
//! copies the rows that are static in it, a [`DynamicState`] is a command that changes one row, and
//! a draw converts all of them.

mod change;
mod create_info;
pub mod decode;
mod table;
mod unused_attachments;

pub use change::{Attachments, BindingStride, Faces, ListChange, VertexLayout};
pub use create_info::{BlendAttachments, CreateInfo, RenderingFormats, VertexInput, ViewportState};
pub use table::{DynamicState, StateMask, StateRow, Subset, Values, join};

/// State of a graphics pipeline.
pub struct GraphicsState {
    /// Values of all rows; those of dynamic rows have no meaning.
    pub values: Values,
    /// Rows that are dynamic.
    pub dynamic: StateMask,
}

impl GraphicsState {
    /// Decodes the state of a pipeline; the error says what is not supported. If nothing is
    /// rasterized, the subsets of fragments are ignored.
    pub fn new(info: &CreateInfo<'_>, dynamic: StateMask) -> Result<GraphicsState, String> {
        let mut values = Values::default();
        let subsets = Subset::ALL.iter().filter(|subset| !info.discards || !subset.is_fragment_subset());
        for &subset in subsets {
            values.decode(info, StateMask::of_subset(subset).without(dynamic))?;
        }
        Ok(GraphicsState { values, dynamic })
    }

    /// Returns the rows that binding the pipeline sets.
    pub fn static_rows(&self) -> StateMask {
        StateMask::ALL.without(self.dynamic)
    }

    /// Returns true if nothing is rasterized, for any state of a command buffer.
    pub fn discards(&self) -> bool {
        self.values.rasterizer_discard && !self.dynamic.has(StateRow::RasterizerDiscardEnable)
    }
}
