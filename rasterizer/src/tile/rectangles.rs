//! The list of rectangles for a fragment stage that writes their pixels itself (`epilogue`).

use base::abi::Rectangle;

/// The rectangles that have been collected.
#[derive(Default)]
pub struct Rectangles(pub(super) Vec<Rectangle>);

/// The pointers of the rectangles are followed only inside the call that pushed them.
// SAFETY: the list is emptied before a tile ends; no other thread follows a pointer in it.
unsafe impl Send for Rectangles {}

impl Rectangles {
    /// Removes all rectangles.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
