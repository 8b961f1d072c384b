//! Limits of memory and addresses of the process: resource limits and control groups. The module
//! also returns free memory of the C library.

use base::os::page_size;
use std::collections::BTreeSet;
use std::path::Path;

/// Returns the number of bytes of address space that the process may still take; `None` without a
/// limit.
pub fn addresses_left() -> Option<u64> {
    remaining(libc::RLIMIT_AS, 0)
}

/// Returns the number of bytes of private writable memory that the process may still take; `None`
/// without a limit.
pub fn data_left() -> Option<u64> {
    remaining(libc::RLIMIT_DATA, 5)
}

/// Returns free pages of all arenas of the C library to the system. Allocated memory stays in
/// place.
pub fn trim() {
    // SAFETY: the function has no precondition, and moves nothing that is allocated.
    unsafe { libc::malloc_trim(0) };
}

/// Returns the number of bytes of memory that the machine has; `None` if it is unknown.
pub fn physical_memory() -> Option<u64> {
    // SAFETY: `sysconf` only returns a number.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    (pages > 0).then(|| pages as u64 * page_size() as u64)
}

/// Returns the number of bytes that are available without swapping: `MemAvailable` of
/// `/proc/meminfo`.
pub fn memory_available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the largest size of a file in bytes; `None` without a limit.
pub fn file_size() -> Option<u64> {
    limit(libc::RLIMIT_FSIZE)
}

fn limit(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `getrlimit` writes the structure.
    let reported = unsafe { libc::getrlimit(resource, &mut limit) } == 0;
    (reported && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Returns a limit minus the used amount, which a field of `/proc/self/statm` gives in pages.
fn remaining(resource: libc::__rlimit_resource_t, field: usize) -> Option<u64> {
    let limit = limit(resource)?;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split_whitespace().nth(field).and_then(|n| n.parse().ok()).unwrap_or(0);
    Some(limit.saturating_sub(pages.saturating_mul(page_size() as u64)))
}

/// Returns the lowest limit of the control groups that contain the process; `None` without one.
pub fn control_groups() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    lowest_limit(&groups, Path::new("/sys/fs/cgroup"))
}

/// Returns the lowest limit of the groups that `groups` (the text of `/proc/self/cgroup`) names, of
/// their parents, and of the root. In a container the names may be those outside of it, where only
/// the root is the process's own group.
fn lowest_limit(groups: &str, root: &Path) -> Option<u64> {
    let mut files = BTreeSet::new();
    let mut look = |root: &Path, path: &str, file: &str| {
        let groups = Path::new(path.trim_start_matches('/')).ancestors();
        files.extend(groups.map(|group| root.join(group).join(file)));
    };
    look(root, "", "memory.max");
    look(&root.join("memory"), "", "memory.limit_in_bytes");
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        // A path with `..` would lead out of the root.
        if path.split('/').any(|part| part == "..") {
            continue;
        }
        if controllers.is_empty() {
            look(root, path, "memory.max");
        } else if controllers.split(',').any(|c| c == "memory") {
            look(&root.join("memory"), path, "memory.limit_in_bytes");
        }
    }
    files.iter().filter_map(|file| std::fs::read_to_string(file).ok()?.trim().parse().ok()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_limit_of_all_parent_groups_counts() {
        let root = std::env::temp_dir().join(format!("grus-cgroup-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("directory");
            std::fs::write(path, text).expect("file");
        };
        let groups = "12:cpu:/x\n3:memory:/docker/abc\n0::/user/app\n";
        assert_eq!(lowest_limit(groups, &root), None);
        write("user/app/memory.max", "max\n");
        assert_eq!(lowest_limit(groups, &root), None);
        write("user/memory.max", "5000\n");
        assert_eq!(lowest_limit(groups, &root), Some(5000));
        write("user/app/memory.max", "6000\n");
        assert_eq!(lowest_limit(groups, &root), Some(5000));
        write("memory/memory.limit_in_bytes", "4000\n");
        assert_eq!(lowest_limit(groups, &root), Some(4000), "a container's root");
        write("memory/docker/abc/memory.limit_in_bytes", "3000\n");
        assert_eq!(lowest_limit(groups, &root), Some(3000));
        write("other/memory.max", "1\n");
        assert_eq!(lowest_limit("0::/../other\n", &root), Some(4000));
        let _ = std::fs::remove_dir_all(&root);
    }
}
