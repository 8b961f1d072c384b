//! Numbers that several processes see: the payloads of semaphores and fences that are exported as
//! file descriptors. Windows has no such descriptors, so none of these numbers exists.

#![forbid(unsafe_code)]

use std::fs::File;
use std::time::Duration;

/// Time asleep after which a waiter checks the process that it waits for.
pub const OWNER_CHECK_PERIOD: Duration = Duration::from_millis(100);

/// A number in memory that several processes map; there is none.
pub enum SharedCounter {}

impl SharedCounter {
    /// Creates a number of a kind, which the system does not support.
    pub fn new(_kind: u32, _value: u64) -> Option<SharedCounter> {
        None
    }

    /// Imports the number behind a descriptor; there is none.
    pub fn import(_fd: i32, _kind: u32) -> Option<SharedCounter> {
        None
    }

    /// Returns a descriptor of the same number.
    pub fn export(&self) -> Option<File> {
        match *self {}
    }

    /// Returns the value of the number.
    pub fn value(&self) -> u64 {
        match *self {}
    }

    /// Sets the value and wakes waiters.
    pub fn set(&self, _value: u64) {
        match *self {}
    }

    /// Changes the value from `from` to `to` if it is `from`.
    pub fn take(&self, _from: u64, _to: u64) -> bool {
        match *self {}
    }

    /// Returns the number of changes.
    pub fn changes(&self) -> u32 {
        match *self {}
    }

    /// Notes that a thread sleeps, or does not any more.
    pub fn set_sleeping(&self, _on: bool) {
        match *self {}
    }

    /// Announces that this process is going to set the number to `value` or more.
    pub fn promise(&self, _value: u64) {
        match *self {}
    }

    /// Notes that one promise was kept, or will not be.
    pub fn finish_promise(&self) {
        match *self {}
    }

    /// Checks the process that made the last promise, and keeps the promise if the process is gone.
    pub fn check_promise_owner(&self) {
        match *self {}
    }
}
