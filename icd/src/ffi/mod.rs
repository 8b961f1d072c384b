//! The raw interface of Vulkan and its decoding. It does not depend on any object.
//!
//! - [`shim`] is the frame of entry points.
//! - [`handle`] has handles, [`known`] their names and private data.
//! - [`pointer`] makes slices, strings and pNext chains from pointers.
//! - [`table`] has the rows of the command table.
//! - [`messages`] sends messages to the application's callbacks.
//! - [`allocator`] calls the application's allocator.

pub mod allocator;
pub mod handle;
pub mod messages;
pub mod object_data;
pub mod pointer;
pub mod shim;
pub mod table;

handle::objects! { Object: object_data::PrivateDataSlot => PrivateDataSlot }
