//! Building blocks of workloads that dispatch: a kernel, and recordings of its dispatches.

use super::figure::{Amount, CheckError, SetupError, Unit};
use super::recording::{Recording, SetupResult};
use crate::vk::{Buffer, Error, Gpu, Resource, ShaderStage, bindings};
use ash::vk;

/// A compute pipeline with its descriptor set.
pub struct Kernel {
    pipeline: vk::Pipeline,
    layout: vk::PipelineLayout,
    set: vk::DescriptorSet,
}

impl Kernel {
    /// Makes a kernel. Resource `i` is binding `i`. Returns an error if the workgroup exceeds the
    /// device's limits.
    pub fn new(gpu: &Gpu, code: &[u32], resources: &[Resource], push_words: u32) -> Result<Self, SetupError> {
        Self::with_array(gpu, code, resources, &[], push_words)
    }

    /// Makes a kernel as [`Self::new`] does, with an array of descriptors in the binding after the
    /// resources.
    pub fn with_array(
        gpu: &Gpu,
        code: &[u32],
        resources: &[Resource],
        array: &[Resource],
        push_words: u32,
    ) -> Result<Self, SetupError> {
        check_size(gpu, code)?;
        let stages = vk::ShaderStageFlags::COMPUTE;
        let bindings = bindings(resources, array);
        let kinds: Vec<_> = bindings.iter().map(|b| (b.index, b.resource.kind())).collect();
        let set_layout = gpu.set_layout(&kinds, stages)?;
        let layout = gpu.pipeline_layout(set_layout, push_words * 4, stages)?;
        let module = gpu.module(code)?;
        let pipeline = gpu.compute_pipeline(ShaderStage { module, constants: &[] }, layout)?;
        let set = gpu.descriptor_set(set_layout, &bindings)?;
        Ok(Self { pipeline, layout, set })
    }

    /// Records a dispatch.
    pub fn dispatch(&self, d: &ash::Device, cmd: vk::CommandBuffer, push: &[u32], groups: [u32; 3]) {
        let point = vk::PipelineBindPoint::COMPUTE;
        let bytes: Vec<u8> = push.iter().flat_map(|w| w.to_ne_bytes()).collect();
        // SAFETY: `cmd` is being recorded. Pipeline and set were made for this layout and live as
        // long as the device.
        unsafe {
            d.cmd_bind_pipeline(cmd, point, self.pipeline);
            d.cmd_bind_descriptor_sets(cmd, point, self.layout, 0, &[self.set], &[]);
            if !bytes.is_empty() {
                d.cmd_push_constants(cmd, self.layout, vk::ShaderStageFlags::COMPUTE, 0, &bytes);
            }
            d.cmd_dispatch(cmd, groups[0], groups[1], groups[2]);
        }
    }
}

fn check_size(gpu: &Gpu, code: &[u32]) -> Result<(), SetupError> {
    let limits = &gpu.properties.limits;
    let Some(size) = local_size(code) else { return Ok(()) };
    let fits = size.iter().zip(limits.max_compute_work_group_size).all(|(s, most)| *s <= most)
        && size.iter().product::<u32>() <= limits.max_compute_work_group_invocations;
    if fits { Ok(()) } else { Err(SetupError::Unsupported(format!("a workgroup of {size:?}"))) }
}

/// Returns the `LocalSize` of a module with one entry point.
fn local_size(code: &[u32]) -> Option<[u32; 3]> {
    const EXECUTION_MODE: u32 = 16;
    const LOCAL_SIZE: u32 = 17;
    let mut at = 5;
    while at < code.len() {
        let (length, opcode) = ((code[at] >> 16) as usize, code[at] & 0xffff);
        if opcode == EXECUTION_MODE && code.get(at + 2) == Some(&LOCAL_SIZE) {
            return code.get(at + 3..at + 6)?.try_into().ok();
        }
        at += length.max(1);
    }
    None
}

/// Records a barrier between compute shaders, which also covers copies.
pub fn between(d: &ash::Device, cmd: vk::CommandBuffer) {
    let stages = vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER;
    let barrier = vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE)
        .dst_access_mask(
            vk::AccessFlags::SHADER_READ
                | vk::AccessFlags::SHADER_WRITE
                | vk::AccessFlags::TRANSFER_READ
                | vk::AccessFlags::TRANSFER_WRITE,
        );
    // SAFETY: `cmd` is being recorded outside a render pass.
    unsafe { d.cmd_pipeline_barrier(cmd, stages, stages, vk::DependencyFlags::empty(), &[barrier], &[], &[]) }
}

/// Records a fill of a buffer with 0. A barrier must follow.
pub fn zero(d: &ash::Device, cmd: vk::CommandBuffer, buffer: &Buffer) {
    // SAFETY: `cmd` is being recorded outside a render pass. The buffer has the usage and lives as
    // long as the device.
    unsafe { d.cmd_fill_buffer(cmd, buffer.handle, 0, vk::WHOLE_SIZE, 0) }
}

/// Makes a storage buffer that can also be filled and copied.
pub fn storage(gpu: &Gpu, bytes: usize) -> Result<Buffer, Error> {
    let copy = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
    gpu.buffer(bytes, vk::BufferUsageFlags::STORAGE_BUFFER | copy)
}

/// Makes a storage buffer that holds `words`.
pub fn storage_of(gpu: &Gpu, words: &[u32]) -> Result<Buffer, Error> {
    let buffer = storage(gpu, size_of_val(words))?;
    buffer.write(0, words);
    Ok(buffer)
}

/// Makes a storage buffer that holds floats.
pub fn storage_of_floats(gpu: &Gpu, values: &[f32]) -> Result<Buffer, Error> {
    let buffer = storage(gpu, size_of_val(values))?;
    buffer.write_f32(0, values);
    Ok(buffer)
}

/// Records `work` and a barrier, so that iterations run one after the other and the host may read
/// the results.
pub fn job(
    gpu: &Gpu,
    amount: (f64, Unit),
    work: impl FnOnce(&ash::Device, vk::CommandBuffer),
    check: impl Fn(&Gpu) -> Result<(), CheckError> + 'static,
) -> SetupResult {
    let recorded = gpu.record(|d, cmd| {
        work(d, cmd);
        crate::vk::memory_barrier(d, cmd);
    })?;
    Ok(Recording::from_recorded(recorded, Amount::new(amount.0, amount.1), check))
}

#[cfg(test)]
mod tests {
    use super::super::workload::spirv;
    use super::*;

    #[test]
    fn the_local_size_is_found() {
        assert_eq!(local_size(&spirv!("compute/matmul_tiled.comp")), Some([16, 16, 1]));
        assert_eq!(local_size(&[0; 5]), None);
    }
}
