//! The raw world, for whoever decodes it: what entry points have around them ([`shim`]), handles ([`handle`]) and what is known by them
//! ([`known`]), slices, strings and pNext chains from pointers ([`pointer`]), rows of the command table ([`table`]), messages to the
//! application's callbacks ([`messages`]), and its allocator ([`allocator`]). Knows no object.

pub mod allocator;
pub mod handle;
pub mod known;
pub mod messages;
pub mod pointer;
pub mod shim;
pub mod table;

handle::objects! { Object: known::PrivateDataSlot => PrivateDataSlot }
