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
pub use table::{DynamicState, StateMask, StateRow, Values, join};

/// A set of subsets of a graphics pipeline.
pub type SubsetFlags = ash::vk::GraphicsPipelineLibraryFlagsEXT;

/// All subsets, which make a complete pipeline.
pub const ALL_SUBSETS: SubsetFlags = SubsetFlags::from_raw(0xf);

/// State of subsets of a graphics pipeline.
#[derive(Clone)]
pub struct GraphicsState {
    /// Values of the rows of the subsets; those of dynamic rows have no meaning.
    pub values: Values,
    subsets: SubsetFlags,
    /// Rows that the subsets own.
    owned: StateMask,
    /// Rows of the subsets that are dynamic.
    dynamic: StateMask,
}

impl GraphicsState {
    /// Decodes the state of some subsets; the error says what is not supported. Rows of other
    /// subsets are neither static nor dynamic.
    pub fn new(info: &CreateInfo<'_>, subsets: SubsetFlags, dynamic: StateMask) -> Result<GraphicsState, String> {
        let mut values = Values::default();
        let owned = StateMask::of_subsets(subsets);
        values.decode(info, owned.without(dynamic))?;
        Ok(GraphicsState { values, subsets, owned, dynamic: owned.and(dynamic) })
    }

    /// Returns the subsets to which the state belongs.
    pub fn subsets(&self) -> SubsetFlags {
        self.subsets
    }

    /// Returns the rows that binding the pipeline sets.
    pub fn static_rows(&self) -> StateMask {
        self.owned.without(self.dynamic)
    }

    /// Returns true if nothing is rasterized, for any state of a command buffer.
    pub fn discards(&self) -> bool {
        self.values.rasterizer_discard && self.static_rows().has(StateRow::RasterizerDiscardEnable)
    }

    /// Adds the state of other subsets.
    pub fn add(&mut self, other: &GraphicsState) {
        self.values.take(&other.values, other.static_rows());
        self.subsets |= other.subsets;
        self.owned = self.owned.or(other.owned);
        self.dynamic = self.dynamic.or(other.dynamic);
    }

    /// Removes all subsets but these. Binding the pipeline then leaves the rows of the others as
    /// they are.
    pub fn retain(&mut self, subsets: SubsetFlags) {
        self.subsets &= subsets;
        self.owned = StateMask::of_subsets(self.subsets);
        self.dynamic = self.dynamic.and(self.owned);
    }
}
