//! Linux's dma-bufs, memory that devices and their programs share. This module recognizes them, and
//! makes them of the driver's own pages if the kernel has a device for it (`udmabuf`).

use base::os::page_size;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::OnceLock;

/// File system in which dma-bufs are files: `DMA_BUF_MAGIC` of `linux/magic.h`.
const FILE_SYSTEM: u64 = 0x444d_4142;

/// The kernel's `struct udmabuf_create` of `linux/udmabuf.h`.
#[repr(C)]
struct Create {
    memfd: u32,
    flags: u32,
    offset: u64,
    size: u64,
}

/// The request `UDMABUF_CREATE`.
const CREATE: libc::c_ulong = 0x4018_7542;
/// The flag `UDMABUF_FLAGS_CLOEXEC`.
const CLOSE_ON_EXEC: u32 = 1;

fn device() -> Option<File> {
    File::options().read(true).write(true).open("/dev/udmabuf").ok()
}

/// Returns true if memory can be exported as a dma-buf. The answer stays the same for the process.
pub fn can_be_made() -> bool {
    static CAN_BE_MADE: OnceLock<bool> = OnceLock::new();
    *CAN_BE_MADE.get_or_init(|| device().is_some())
}

/// Exports the pages of a file that [`super::pages`] made, in whole pages, as a dma-buf. Returns
/// `None` if there is no such device, or if it refuses: it has a limit of its own, usually 64 MiB,
/// and keeps the pages in memory.
pub fn of_file(file: &File) -> Option<File> {
    let size = file.metadata().ok()?.len();
    let create = Create { memfd: u32::try_from(file.as_raw_fd()).ok()?, flags: CLOSE_ON_EXEC, offset: 0, size };
    let device = device()?;
    // SAFETY: the device reads one structure, and makes a descriptor, which only the returned file
    // owns.
    unsafe {
        let fd = libc::ioctl(device.as_raw_fd(), CREATE, &raw const create);
        (fd >= 0).then(|| File::from_raw_fd(fd))
    }
}

/// Returns the size of a dma-buf in bytes, which is fixed and a whole number of pages for every
/// kind of dma-buf. Returns `None` for every other file.
pub fn size(file: &File) -> Option<u64> {
    let system = super::descriptor::file_system(file)?;
    if system.magic != FILE_SYSTEM || system.block != page_size() as u64 {
        return None;
    }
    // SAFETY: the end of such a file is its size, and its position is never used.
    let end = unsafe { libc::lseek(file.as_raw_fd(), 0, libc::SEEK_END) };
    u64::try_from(end).ok().filter(|&size| size > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::backing::{Backing, Pages};

    #[test]
    fn a_file_becomes_a_dma_buf_if_there_is_a_device() {
        let Some(Pages::File(file)) = Pages::new(Backing::Memfd, 1 << 16) else { panic!("a file") };
        assert_eq!(size(&file), None);
        let made = of_file(&file);
        assert_eq!(made.is_some(), can_be_made());
        assert!(made.is_none_or(|made| size(&made) == Some(1 << 16)));
    }
}
