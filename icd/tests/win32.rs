//! Tests of what only Windows has: handles that other processes inherit or open by a name, and
//! windows.

#![cfg(windows)]

mod common;
#[path = "win32/handles.rs"]
mod handles;
#[path = "win32/window.rs"]
mod window;
