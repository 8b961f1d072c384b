//! `VK_EXT_private_data`: a map per slot.

use parking_lot::Mutex;
use std::collections::HashMap;

/// `VkPrivateDataSlot`.
#[derive(Default)]
pub struct PrivateDataSlot {
    values: Mutex<HashMap<u64, u64>>,
}

impl PrivateDataSlot {
    /// `vkSetPrivateData`.
    pub fn set(&self, object: u64, data: u64) {
        self.values.lock().insert(object, data);
    }
    /// `vkGetPrivateData`; 0 when never set.
    pub fn get(&self, object: u64) -> u64 {
        self.values.lock().get(&object).copied().unwrap_or(0)
    }
}
