//! Parts that the examples with `wgpu` share.

use std::error::Error;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use wgpu::*;

/// Returns the Vulkan adapter, and prints its name.
pub fn adapter() -> Result<Adapter, RequestAdapterError> {
    // The default flags of wgpu hide drivers that report no conformance version.
    let descriptor =
        InstanceDescriptor { backends: Backends::VULKAN, ..InstanceDescriptor::new_without_display_handle() };
    let adapter = wait(Instance::new(descriptor).request_adapter(&RequestAdapterOptions::default()))?;
    println!("{}", adapter.get_info().name);
    Ok(adapter)
}

/// Polls a future to its end. The native futures of wgpu need no executor.
pub fn wait<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
        std::thread::yield_now();
    }
}

/// Returns an entry of a bind group.
pub fn entry(binding: u32, resource: BindingResource<'_>) -> BindGroupEntry<'_> {
    BindGroupEntry { binding, resource }
}

/// Reads `size` bytes, which `copy` copies to a buffer.
pub fn read(
    device: &Device,
    queue: &Queue,
    size: u64,
    copy: impl FnOnce(&mut CommandEncoder, &Buffer),
) -> Result<Vec<u8>, Box<dyn Error>> {
    let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
    let staging = device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
    copy(&mut encoder, &staging);
    queue.submit([encoder.finish()]);
    staging.map_async(MapMode::Read, 0..size, |_| ());
    device.poll(PollType::wait_indefinitely())?;
    let bytes = staging.get_mapped_range(0..size)?.to_vec();
    Ok(bytes)
}
