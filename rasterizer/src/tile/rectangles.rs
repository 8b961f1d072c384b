//! Rectangles that wait for a fragment stage that writes their pixels itself (`epilogue`).

use base::abi::Rectangle;

/// Those that wait.
#[derive(Default)]
pub struct Rectangles(pub(super) Vec<Rectangle>);

/// The rectangles' pointers are only followed inside the call that pushed them.
// SAFETY: the list is emptied before a tile ends; no pointer in it is followed by another thread.
unsafe impl Send for Rectangles {}

impl Rectangles {
    /// Forgets them.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
