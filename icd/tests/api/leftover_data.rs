//! Checks that memory which a shader reads before it writes contains zeros, and no data of other
//! dispatches (CVE-2023-4969, "LeftoverLocals").

use crate::common::{Chain, Context};
use crate::pipeline::{Set, compute, record_dispatch};
use ash::vk;

/// Runs the shader in many workgroups, which leave secrets or report what they find. Returns the
/// number of words that are not zero, and the number of invocations that looked.
fn run(c: &Context, show: u32) -> [u32; 2] {
    let set = Set::new(c, &[(vk::DescriptorType::STORAGE_BUFFER, 1)]);
    let mut data = c.buffer(64);
    data.fill_words(|_| 0);
    set.buffers(c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(data.buffer, 0, vk::WHOLE_SIZE)]);
    let pipeline = compute(c, vk::PipelineCache::null(), set.layout, &shader!("leftover.comp"), &[]);
    let push: Vec<u8> = [show, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    c.run(|b| record_dispatch(c, b, &set, pipeline, &push, 640)).expect("executed");
    let words = data.words();
    // SAFETY: the pipeline is not in use any more.
    unsafe { c.device.destroy_pipeline(pipeline, None) };
    set.destroy(c);
    c.free(data);
    [words[1], words[2]]
}

#[test]
fn memory_of_earlier_dispatches_reads_as_zero() {
    let first = Context::new(&[], &[]);
    run(&first, 0);
    let all = [0, 640 * 64];
    assert_eq!(run(&first, 1), all, "by the same device");
    let second = Context::new(&[], &[]);
    assert_eq!(run(&second, 1), all, "by another device");
    drop(first);
    assert_eq!(run(&second, 1), all, "by a device that has ended");
}

/// Writes the unbound bytes of a sparse buffer, or reads them.
fn unbound(c: &Context, write: bool) -> u32 {
    let d = &c.device;
    let usage = vk::BufferUsageFlags::TRANSFER_DST | vk::BufferUsageFlags::TRANSFER_SRC;
    let flags = vk::BufferCreateFlags::SPARSE_BINDING | vk::BufferCreateFlags::SPARSE_RESIDENCY;
    let info = vk::BufferCreateInfo::default().size(1 << 20).usage(usage).flags(flags);
    // SAFETY: the usage is valid in all unsafe blocks of this function: unbound ranges may be
    // accessed.
    let sparse = unsafe { d.create_buffer(&info, None) }.expect("addresses");
    let mut data = c.buffer(64);
    data.fill_words(|_| 0);
    let region = [vk::BufferCopy { src_offset: 256, dst_offset: 0, size: 64 }];
    // SAFETY: the usage is valid, because unbound ranges may be accessed.
    c.run(|b| unsafe {
        match write {
            true => d.cmd_fill_buffer(b, sparse, 0, vk::WHOLE_SIZE, 0x5ec2e702),
            false => d.cmd_copy_buffer(b, sparse, data.buffer, &region),
        }
    })
    .expect("executed");
    let word = data.words()[0];
    // SAFETY: the buffer is not in use any more.
    unsafe { d.destroy_buffer(sparse, None) };
    c.free(data);
    word
}

#[test]
fn unbound_sparse_memory_has_no_data_of_another_instance() {
    let sparse = vk::PhysicalDeviceFeatures::default().sparse_binding(true).sparse_residency_buffer(true);
    let context = || {
        let mut features = vk::PhysicalDeviceFeatures2::default().features(sparse);
        let mut chain: [&mut dyn Chain; 1] = [&mut features];
        Context::with(&[], &[], &mut chain)
    };
    let (first, second) = (context(), context());
    unbound(&first, true);
    assert_eq!(unbound(&second, false), 0);
}
