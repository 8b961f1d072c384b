//! Memory that devices and their programs share (Linux's dma-bufs): what is one, and one of the driver's own pages, where the kernel has a device that makes
//! them (`udmabuf`).

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::OnceLock;

/// `DMA_BUF_MAGIC` of `linux/magic.h`: the file system in which dma-bufs are files.
const FILE_SYSTEM: u64 = 0x444d_4142;

/// `struct udmabuf_create` of `linux/udmabuf.h`.
#[repr(C)]
struct Create {
    memfd: u32,
    flags: u32,
    offset: u64,
    size: u64,
}

/// `UDMABUF_CREATE`.
const CREATE: libc::c_ulong = 0x4018_7542;
/// `UDMABUF_FLAGS_CLOEXEC`.
const CLOSE_ON_EXEC: u32 = 1;

fn device() -> Option<File> {
    File::options().read(true).write(true).open("/dev/udmabuf").ok()
}

/// Can memory be given away as a dma-buf? It stays so for the process.
pub fn can_be_made() -> bool {
    static MADE: OnceLock<bool> = OnceLock::new();
    *MADE.get_or_init(|| device().is_some())
}

/// The pages of a file that [`super::backing`] has made, whole ones, as a dma-buf. None: there is no such device, or it refuses (it has a limit of its own,
/// 64 MiB mostly, and keeps the pages in memory).
pub fn of_file(file: &File) -> Option<File> {
    let size = file.metadata().ok()?.len();
    let create = Create { memfd: u32::try_from(file.as_raw_fd()).ok()?, flags: CLOSE_ON_EXEC, offset: 0, size };
    let device = device()?;
    // SAFETY: the device reads one structure, and makes a descriptor, which is nobody else's.
    unsafe {
        let fd = libc::ioctl(device.as_raw_fd(), CREATE, &raw const create);
        (fd >= 0).then(|| File::from_raw_fd(fd))
    }
}

/// Bytes of a dma-buf, which has as many for life and is mapped page by page, whatever it is made of; None for every other file.
pub fn size(file: &File) -> Option<u64> {
    let system = super::descriptor::file_system(file)?;
    if system.magic != FILE_SYSTEM || system.block != super::descriptor::page_size() {
        return None;
    }
    // SAFETY: the end of such a file is its size; nobody reads it from a place.
    let end = unsafe { libc::lseek(file.as_raw_fd(), 0, libc::SEEK_END) };
    u64::try_from(end).ok().filter(|&size| size > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::backing::{Backing, Pages};

    #[test]
    fn a_file_is_none_and_becomes_one_where_there_is_a_device() {
        let Some(Pages::File(file)) = Pages::new(Backing::Memfd, 1 << 16) else { panic!("a file") };
        assert_eq!(size(&file), None);
        let made = of_file(&file);
        assert_eq!(made.is_some(), can_be_made());
        assert!(made.is_none_or(|made| size(&made) == Some(1 << 16)));
    }
}
