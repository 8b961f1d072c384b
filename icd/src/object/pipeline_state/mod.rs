//! Fixed-function state of graphics pipelines.
//!
//! A piece of state is a row of the [`table`]: what it is called, who owns it, how it is decoded, how it goes into the rasterizer's draw state.
//! Of state that can be dynamic a pipeline has its static values and a command buffer the current ones ([`Values`]): binding a pipeline
//! copies the values that are static in it, a [`DynamicState`] is a command that changes one, and a draw joins them with what can't be
//! dynamic ([`Fixed`]).

mod change;
mod create_info;
pub mod decode;
mod table;
mod unused;

pub use change::{Attachments, BindingStride, Elements, Faces, VertexLayout};
pub use create_info::{BlendAttachments, CreateInfo, RenderingFormats, VertexInput, ViewportState};
pub use table::{Dynamic, DynamicState, Fixed, Row, Subset, Values, join};

/// Everything of a graphics pipeline that is not code.
pub struct GraphicsState {
    /// State that cannot be dynamic.
    pub fixed: Fixed,
    /// Static values of the rest.
    pub values: Values,
    /// Which of them are dynamic.
    pub dynamic: Dynamic,
}

impl GraphicsState {
    /// The state of a pipeline; `Err` says what is not supported. Where nothing is rasterized there are no subsets of fragments.
    pub fn new(info: &CreateInfo<'_>, dynamic: Dynamic) -> Result<GraphicsState, String> {
        let (mut fixed, mut values) = (Fixed::default(), Values::default());
        let subsets = Subset::ALL.iter().filter(|subset| !info.discards || !subset.is_of_fragments());
        for &subset in subsets {
            fixed.decode(info, subset)?;
            values.decode(info, subset, dynamic)?;
        }
        Ok(GraphicsState { fixed, values, dynamic })
    }

    /// Nothing is rasterized, whatever a command buffer says.
    pub fn discards(&self) -> bool {
        self.values.rasterizer_discard && !self.dynamic.has(Row::RasterizerDiscardEnable)
    }
}
