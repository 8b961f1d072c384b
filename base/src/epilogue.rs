//! What a fragment stage does with its colours when it writes them itself.

#![forbid(unsafe_code)]

use crate::pixel::{BlendEquations, BlendFactor};

/// Texels of four unsigned normalised bytes, all of which are written, by one sample, without tests and logic operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Epilogue {
    /// B, G, R, A in the place of R, G, B, A.
    pub swap: bool,
    /// How they are blended, in integers: sources are packed first, and a result is rounded once. `None`: they are stored.
    pub blend: Option<BlendEquations>,
    /// Output slots of the stage by component; without one it is 0.
    pub slots: [Option<u16>; 4],
}

impl Epilogue {
    /// Is it one that stages are made with? Without blend constants and a second source.
    pub fn is_possible(&self) -> bool {
        self.blend.is_none_or(|BlendEquations { color, alpha }| {
            [color.0, color.1, alpha.0, alpha.1].into_iter().all(depends_on_texels)
        })
    }
}

/// A factor that follows from source and target.
fn depends_on_texels(factor: BlendFactor) -> bool {
    use BlendFactor::*;
    match factor {
        Zero | One | SrcColor | OneMinusSrcColor | DstColor | OneMinusDstColor | SrcAlpha | OneMinusSrcAlpha
        | DstAlpha | OneMinusDstAlpha => true,
        SrcAlphaSaturate
        | ConstantColor
        | OneMinusConstantColor
        | ConstantAlpha
        | OneMinusConstantAlpha
        | Src1Color
        | OneMinusSrc1Color
        | Src1Alpha
        | OneMinusSrc1Alpha => false,
    }
}
