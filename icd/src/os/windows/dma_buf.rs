//! Linux's dma-bufs, which Windows does not have.

#![forbid(unsafe_code)]

/// Returns true if memory can be exported as a dma-buf.
pub fn can_be_made() -> bool {
    false
}
