//! The rows. Sorted by `VkFormat` value.

use super::*;

const NO_CHANNEL: Channel = Channel { name: ChannelName::X, ty: ChannelType::Unorm, bits: 0, shift: 0 };

/// All formats, sorted by `vk`.
pub static TABLE: &[FormatInfo] = &[FormatInfo {
    name: "UNDEFINED",
    vk: 0,
    layout: Layout::None,
    block_bytes: 0,
    block: (1, 1),
    channels: [NO_CHANNEL; 4],
    channel_count: 0,
    image_features: 0,
    buffer_features: 0,
}];
