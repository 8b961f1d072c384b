//! Descriptor set layouts, pools, sets, update templates and pipeline layouts.

use super::descriptor_write::{apply, elements_of};
use super::memory_of;
use crate::device::Device;
use crate::fallible;
use crate::ffi::handle::{self, dispatchable, get, optional, share};
use crate::ffi::pointer::{find, slice};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, V1_0, V1_1, ext, row};
use crate::object::bind_point::BindPoint;
use crate::object::descriptor::{BindingInfo, SetLayout};
use crate::object::descriptor_pool::{DescriptorPool, DescriptorSet};
use crate::object::descriptor_update::{UpdateTemplate, copy, write};
use crate::object::pipeline_layout::PipelineLayout;
use crate::object::sampler::Sampler;
use ash::vk;
use core::ffi::c_void;
use std::sync::Arc;

type Allocator<'a> = *const vk::AllocationCallbacks<'a>;

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, create_descriptor_set_layout as vk::PFN_vkCreateDescriptorSetLayout, vkCreateDescriptorSetLayout: V1_0),
    row!(Device, destroy_descriptor_set_layout as vk::PFN_vkDestroyDescriptorSetLayout, vkDestroyDescriptorSetLayout: V1_0),
    row!(
        Device,
        get_descriptor_set_layout_support as vk::PFN_vkGetDescriptorSetLayoutSupport,
        vkGetDescriptorSetLayoutSupport: V1_1,
        vkGetDescriptorSetLayoutSupportKHR: ext("VK_KHR_maintenance3")
    ),
    row!(Device, create_pipeline_layout as vk::PFN_vkCreatePipelineLayout, vkCreatePipelineLayout: V1_0),
    row!(Device, destroy_pipeline_layout as vk::PFN_vkDestroyPipelineLayout, vkDestroyPipelineLayout: V1_0),
    row!(Device, create_descriptor_pool as vk::PFN_vkCreateDescriptorPool, vkCreateDescriptorPool: V1_0),
    row!(Device, destroy_descriptor_pool as vk::PFN_vkDestroyDescriptorPool, vkDestroyDescriptorPool: V1_0),
    row!(Device, reset_descriptor_pool as vk::PFN_vkResetDescriptorPool, vkResetDescriptorPool: V1_0),
    row!(Device, allocate_descriptor_sets as vk::PFN_vkAllocateDescriptorSets, vkAllocateDescriptorSets: V1_0),
    row!(Device, free_descriptor_sets as vk::PFN_vkFreeDescriptorSets, vkFreeDescriptorSets: V1_0),
    row!(Device, update_descriptor_sets as vk::PFN_vkUpdateDescriptorSets, vkUpdateDescriptorSets: V1_0),
    row!(
        Device,
        create_descriptor_update_template as vk::PFN_vkCreateDescriptorUpdateTemplate,
        vkCreateDescriptorUpdateTemplate: V1_1,
        vkCreateDescriptorUpdateTemplateKHR: ext("VK_KHR_descriptor_update_template")
    ),
    row!(
        Device,
        destroy_descriptor_update_template as vk::PFN_vkDestroyDescriptorUpdateTemplate,
        vkDestroyDescriptorUpdateTemplate: V1_1,
        vkDestroyDescriptorUpdateTemplateKHR: ext("VK_KHR_descriptor_update_template")
    ),
    row!(
        Device,
        update_descriptor_set_with_template as vk::PFN_vkUpdateDescriptorSetWithTemplate,
        vkUpdateDescriptorSetWithTemplate: V1_1,
        vkUpdateDescriptorSetWithTemplateKHR: ext("VK_KHR_descriptor_update_template")
    ),
];

/// Decodes the create info of a descriptor set layout.
///
/// # Safety
/// `info` is valid with its chain and handles.
unsafe fn set_layout(info: &vk::DescriptorSetLayoutCreateInfo<'_>) -> Result<SetLayout, vk::Result> {
    // SAFETY: `info` is valid with its chain and handles, as the `# Safety` section requires.
    unsafe {
        let flags = find::<vk::DescriptorSetLayoutBindingFlagsCreateInfo<'_>>(info.p_next);
        let flags = flags.map_or(&[][..], |f| slice(f.p_binding_flags, f.binding_count));
        let mutable = find::<vk::MutableDescriptorTypeCreateInfoEXT<'_>>(info.p_next);
        let mutable =
            mutable.map_or(&[][..], |m| slice(m.p_mutable_descriptor_type_lists, m.mutable_descriptor_type_list_count));
        let binding = |(i, b): (usize, &vk::DescriptorSetLayoutBinding<'_>)| {
            let types =
                mutable.get(i).map_or(&[][..], |list| slice(list.p_descriptor_types, list.descriptor_type_count));
            let takes_samplers =
                matches!(b.descriptor_type, vk::DescriptorType::SAMPLER | vk::DescriptorType::COMBINED_IMAGE_SAMPLER);
            let samplers = if takes_samplers { slice(b.p_immutable_samplers, b.descriptor_count) } else { &[] };
            Ok(BindingInfo {
                binding: b.binding,
                ty: b.descriptor_type,
                count: b.descriptor_count,
                immutable_samplers: fallible::collect(samplers.iter().map(|s| share::<Sampler>(*s)))?,
                flags: flags.get(i).copied().unwrap_or_default(),
                mutable: fallible::to_vec(types)?,
            })
        };
        let bindings = slice(info.p_bindings, info.binding_count).iter().enumerate().map(binding);
        SetLayout::new(fallible::try_collect(bindings)?)
    }
}

shims! {
    fn create_descriptor_set_layout(
        device: vk::Device,
        info: *const vk::DescriptorSetLayoutCreateInfo<'_>,
        allocator: Allocator<'_>,
        layout: *mut vk::DescriptorSetLayout,
    ) -> VkResult {
        let (memory, device) = (memory_of(device, allocator), dispatchable::<Device>(device));
        // Only pipelines need a descriptor set layout.
        device.compiler.expect_stages();
        let made = set_layout(&*info).inspect_err(|&e| {
            device.report_unsupported(match e {
                vk::Result::ERROR_FEATURE_NOT_PRESENT => "vkCreateDescriptorSetLayout: a type of descriptor that is not supported",
                _ => "vkCreateDescriptorSetLayout: the descriptors take more than 2 GiB, or there is no memory for the layout",
            });
        })?;
        *layout = handle::create(Arc::new(made), memory)?;
        Ok(())
    }

    fn destroy_descriptor_set_layout(device: vk::Device, layout: vk::DescriptorSetLayout, allocator: Allocator<'_>) {
        handle::destroy::<SetLayout>(layout, memory_of(device, allocator));
    }

    fn get_descriptor_set_layout_support(
        _device: vk::Device,
        info: *const vk::DescriptorSetLayoutCreateInfo<'_>,
        support: *mut vk::DescriptorSetLayoutSupport<'_>,
    ) {
        let layout = set_layout(&*info);
        (*support).supported = u32::from(layout.is_ok());
        let variable = crate::ffi::pointer::find_mut::<vk::DescriptorSetVariableDescriptorCountLayoutSupport<'_>>((*support).p_next);
        if let Some(variable) = variable {
            variable.max_variable_descriptor_count = layout.as_ref().map_or(0, SetLayout::max_variable_count);
        }
    }

    fn create_pipeline_layout(
        device: vk::Device,
        info: *const vk::PipelineLayoutCreateInfo<'_>,
        allocator: Allocator<'_>,
        layout: *mut vk::PipelineLayout,
    ) -> VkResult {
        let (memory, device) = (memory_of(device, allocator), dispatchable::<Device>(device));
        device.compiler.expect_stages();
        let info = &*info;
        let sets = slice(info.p_set_layouts, info.set_layout_count).iter().map(|l| optional::<SetLayout>(*l)).collect();
        let made = PipelineLayout::new(sets).map_err(|e| {
            device.report_unsupported(&format!("vkCreatePipelineLayout: {e}"));
            vk::Result::from(e)
        })?;
        *layout = handle::create(Arc::new(made), memory)?;
        Ok(())
    }

    fn destroy_pipeline_layout(device: vk::Device, layout: vk::PipelineLayout, allocator: Allocator<'_>) {
        handle::destroy::<PipelineLayout>(layout, memory_of(device, allocator));
    }

    fn create_descriptor_pool(
        device: vk::Device,
        info: *const vk::DescriptorPoolCreateInfo<'_>,
        allocator: Allocator<'_>,
        pool: *mut vk::DescriptorPool,
    ) -> VkResult {
        let memory = memory_of(device, allocator);
        *pool = handle::create(Arc::new(DescriptorPool::new((*info).max_sets, memory)), memory)?;
        Ok(())
    }

    fn destroy_descriptor_pool(device: vk::Device, pool: vk::DescriptorPool, allocator: Allocator<'_>) {
        // The sets end with the pool's handle, even if something still refers to the pool.
        if let Some(pool) = optional::<DescriptorPool>(pool) {
            pool.reset();
        }
        handle::destroy::<DescriptorPool>(pool, memory_of(device, allocator));
    }

    fn reset_descriptor_pool(_device: vk::Device, pool: vk::DescriptorPool, _flags: vk::DescriptorPoolResetFlags) -> VkResult {
        get::<DescriptorPool>(pool).reset();
        Ok(())
    }

    fn allocate_descriptor_sets(_device: vk::Device, info: *const vk::DescriptorSetAllocateInfo<'_>, sets: *mut vk::DescriptorSet) -> VkResult {
        let info = &*info;
        let pool = get::<DescriptorPool>(info.descriptor_pool);
        let counts = find::<vk::DescriptorSetVariableDescriptorCountAllocateInfo<'_>>(info.p_next);
        let counts = counts.map_or(&[][..], |c| slice(c.p_descriptor_counts, c.descriptor_set_count));
        let layouts = slice(info.p_set_layouts, info.descriptor_set_count);
        for (i, layout) in layouts.iter().enumerate() {
            match pool.allocate(share::<SetLayout>(*layout), counts.get(i).copied()) {
                Ok(set) => *sets.add(i) = set,
                Err(error) => {
                    for done in 0..layouts.len() {
                        if done < i {
                            pool.free(*sets.add(done));
                        }
                        *sets.add(done) = vk::DescriptorSet::null();
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn free_descriptor_sets(_device: vk::Device, pool: vk::DescriptorPool, count: u32, sets: *const vk::DescriptorSet) -> VkResult {
        let pool = get::<DescriptorPool>(pool);
        slice(sets, count).iter().for_each(|s| pool.free(*s));
        Ok(())
    }

    fn update_descriptor_sets(
        _device: vk::Device,
        write_count: u32,
        writes: *const vk::WriteDescriptorSet<'_>,
        copy_count: u32,
        copies: *const vk::CopyDescriptorSet<'_>,
    ) {
        for w in slice(writes, write_count) {
            let (elements, count) = elements_of(w);
            write(get::<DescriptorSet>(w.dst_set), w.dst_binding, w.dst_array_element, count, &elements);
        }
        for c in slice(copies, copy_count) {
            copy(get::<DescriptorSet>(c.src_set), get::<DescriptorSet>(c.dst_set), c);
        }
    }

    fn create_descriptor_update_template(
        device: vk::Device,
        info: *const vk::DescriptorUpdateTemplateCreateInfo<'_>,
        allocator: Allocator<'_>,
        template: *mut vk::DescriptorUpdateTemplate,
    ) -> VkResult {
        let info = &*info;
        let entries = fallible::to_vec(slice(info.p_descriptor_update_entries, info.descriptor_update_entry_count))?;
        // Only templates of push descriptors need to have a bind point.
        let bind_point = BindPoint::from_vk(info.pipeline_bind_point).unwrap_or(BindPoint::Graphics);
        *template = handle::create(Arc::new(UpdateTemplate { entries, bind_point }), memory_of(device, allocator))?;
        Ok(())
    }

    fn destroy_descriptor_update_template(device: vk::Device, template: vk::DescriptorUpdateTemplate, allocator: Allocator<'_>) {
        handle::destroy::<UpdateTemplate>(template, memory_of(device, allocator));
    }

    fn update_descriptor_set_with_template(
        _device: vk::Device,
        set: vk::DescriptorSet,
        template: vk::DescriptorUpdateTemplate,
        data: *const c_void,
    ) {
        apply(get::<UpdateTemplate>(template), get::<DescriptorSet>(set), data);
    }
}
