//! The pipeline layout that a module's own decorations require.

use base::shader::{BindingLayout, DescriptorKind as K, PipelineLayoutInfo};
use std::collections::{BTreeMap, HashMap};

/// Returns a layout with the bindings that the module declares.
pub fn layout_of(words: &[u32]) -> PipelineLayoutInfo {
    let (mut set, mut binding, mut block) = (HashMap::new(), HashMap::new(), HashMap::new());
    let (mut types, mut vars) = (HashMap::new(), Vec::new());
    let mut at = 5;
    while at < words.len() {
        let (op, len) = (words[at] & 0xffff, (words[at] >> 16).max(1) as usize);
        let Some(w) = words.get(at..at + len) else { break };
        match (op, w) {
            (71, [_, id, 34, v]) => _ = set.insert(*id, *v),
            (71, [_, id, 33, v]) => _ = binding.insert(*id, *v),
            (71, [_, id, 3]) => _ = block.insert(*id, ()),
            (25..=32 | 5341, [_, id, ..]) => _ = types.insert(*id, w.to_vec()),
            (59, [_, ty, id, class, ..]) => vars.push((*ty, *id, *class)),
            _ => {}
        }
        at += len;
    }
    let mut sets: BTreeMap<u32, BTreeMap<u32, BindingLayout>> = BTreeMap::new();
    for (ty, id, class) in vars {
        let (Some(&set), Some(&binding), Some(ptr)) = (set.get(&id), binding.get(&id), types.get(&ty)) else {
            continue;
        };
        let mut t = ptr.get(3).copied().unwrap_or(0);
        while let Some([w, _, elem, ..]) = types.get(&t).map(Vec::as_slice) {
            if !matches!(w & 0xffff, 28 | 29) {
                break;
            }
            t = *elem;
        }
        let Some(w) = types.get(&t) else { continue };
        let word = |w: &[u32], i: usize| w.get(i).copied().unwrap_or(0);
        let image = |w: &[u32]| match (word(w, 3), word(w, 7)) {
            (5, 1) => K::UniformTexelBuffer,
            (5, _) => K::StorageTexelBuffer,
            (6, _) => K::InputAttachment,
            (_, 1) => K::SampledImage,
            _ => K::StorageImage,
        };
        let kind = match w[0] & 0xffff {
            25 => image(w),
            26 => K::Sampler,
            27 => match types.get(&word(w, 2)).map(|w| image(w)) {
                Some(K::UniformTexelBuffer) => K::UniformTexelBuffer,
                _ => K::CombinedImageSampler,
            },
            30 if class == 12 || block.contains_key(&t) => K::StorageBuffer,
            30 => K::UniformBuffer,
            5341 => K::AccelerationStructure,
            _ => continue,
        };
        let b = BindingLayout { binding, kind, offset: 0, count: 16, variable: false, dynamic_index: 0 };
        sets.entry(set & 63).or_default().insert(binding, b);
    }
    let last = sets.keys().last().map_or(0, |n| n + 1);
    PipelineLayoutInfo {
        sets: (0..last).map(|n| sets.remove(&n).map_or_else(Vec::new, |s| s.into_values().collect())).collect(),
        heap: None,
    }
}
