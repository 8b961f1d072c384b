//! Slices, strings and structures from pointers, pNext chains, the two-call idiom.

use ash::vk;
use core::ffi::CStr;

/// Returns a slice from a count and a pointer, empty if either is 0.
///
/// # Safety
/// `pointer` is null or points to `count` values that live for `'a`.
pub unsafe fn slice<'a, T>(pointer: *const T, count: u32) -> &'a [T] {
    if pointer.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: `pointer` is not null, so it points to `count` values that live for `'a`.
    unsafe { std::slice::from_raw_parts(pointer, count as usize) }
}

/// Returns a mutable slice from a count and a pointer, empty if either is 0.
///
/// # Safety
/// `pointer` is null or points to `count` values that live for `'a`, and no other code uses the
/// memory during `'a`.
pub unsafe fn slice_mut<'a, T>(pointer: *mut T, count: u32) -> &'a mut [T] {
    if pointer.is_null() || count == 0 {
        return &mut [];
    }
    // SAFETY: `pointer` is not null, so it points to `count` values that live for `'a` and are not
    // used otherwise.
    unsafe { std::slice::from_raw_parts_mut(pointer, count as usize) }
}

/// Returns the structure of type `T` in a pNext chain.
///
/// # Safety
/// `p_next` is a valid chain that lives for `'a`.
pub unsafe fn find<'a, T: vk::TaggedStructure>(p_next: *const core::ffi::c_void) -> Option<&'a T> {
    let mut next = p_next.cast::<vk::BaseInStructure>();
    while !next.is_null() {
        // SAFETY: `next` is an element of the valid chain.
        let element = unsafe { &*next };
        if element.s_type == T::STRUCTURE_TYPE {
            // SAFETY: the tag identifies the structure's type.
            return Some(unsafe { &*next.cast::<T>() });
        }
        next = element.p_next;
    }
    None
}

/// Returns the structure of type `T` in a pNext chain, to be changed.
///
/// # Safety
/// `p_next` is a valid chain that lives for `'a`, and no other code uses the structure during `'a`.
pub unsafe fn find_mut<'a, T: vk::TaggedStructure>(p_next: *mut core::ffi::c_void) -> Option<&'a mut T> {
    let mut next = p_next.cast::<vk::BaseOutStructure<'_>>();
    while !next.is_null() {
        // SAFETY: `next` is an element of the valid chain.
        let (s_type, following) = unsafe { ((*next).s_type, (*next).p_next) };
        if s_type == T::STRUCTURE_TYPE {
            // SAFETY: the tag identifies the structure's type.
            return Some(unsafe { &mut *next.cast::<T>() });
        }
        next = following;
    }
    None
}

/// Returns the bytes at an address; none if it is null.
///
/// # Safety
/// `address` is null or there are `size` bytes that live as long as the result.
pub unsafe fn bytes<'a>(address: *const core::ffi::c_void, size: usize) -> &'a [u8] {
    if address.is_null() {
        return &[];
    }
    // SAFETY: `address` is not null, so there are `size` bytes that live as long as the result.
    unsafe { std::slice::from_raw_parts(address.cast(), size) }
}

/// Implements the two-call idiom: without `data` it stores the count, with `data` it stores as many
/// as fit and returns VK_INCOMPLETE if not all do.
///
/// # Safety
/// `count` is valid; `data` is null or has space for `*count` values.
pub unsafe fn write_array<T: Clone>(items: &[T], count: *mut u32, data: *mut T) -> Result<(), vk::Result> {
    // SAFETY: `count` is valid and `data` is null or has space for `*count` values, as the
    // `# Safety` section demands.
    unsafe {
        if data.is_null() {
            *count = items.len() as u32;
            return Ok(());
        }
        let fits = items.len().min(*count as usize);
        for (i, item) in items[..fits].iter().enumerate() {
            data.add(i).write(item.clone());
        }
        *count = fits as u32;
        if fits < items.len() { Err(vk::Result::INCOMPLETE) } else { Ok(()) }
    }
}

/// Implements the two-call idiom with structures of the application, which keep their tags and
/// chains: `fill` writes the rest of one, and may return VK_INCOMPLETE.
///
/// # Errors
/// Returns VK_INCOMPLETE if not all fit, or the error of `fill`.
///
/// # Safety
/// The requirements of [`write_array`] hold.
pub unsafe fn fill_array<T, U>(
    items: &[T],
    count: *mut u32,
    out: *mut U,
    mut fill: impl FnMut(&mut U, &T) -> Result<(), vk::Result>,
) -> Result<(), vk::Result> {
    // The count need not have a value on the first call.
    // SAFETY: `count` is valid, as the `# Safety` section demands.
    let fits = if out.is_null() { items.len() } else { items.len().min(unsafe { *count } as usize) };
    // SAFETY: `count` is valid, as the `# Safety` section demands.
    unsafe { *count = fits as u32 };
    // SAFETY: `out` is null or has space for the original `*count` structures, of which there are
    // at least `fits`.
    let filled = unsafe { slice_mut(out, fits as u32) }.iter_mut().zip(items).map(|(to, item)| fill(to, item));
    let result = filled.fold(Ok(()), Result::and);
    if fits < items.len() { result.and(Err(vk::Result::INCOMPLETE)) } else { result }
}

/// Implements the two-call idiom of queries without a result that could be VK_INCOMPLETE: `write`
/// writes a value to a structure of the application.
///
/// # Safety
/// The requirements of [`write_array`] hold.
pub unsafe fn write_each<T, U>(
    values: impl Iterator<Item = T>,
    count: *mut u32,
    out: *mut U,
    write: impl Fn(&mut U, T),
) {
    // SAFETY: `count` is valid and `out` is null or has space for `*count` structures, as the
    // `# Safety` section demands.
    unsafe {
        if out.is_null() {
            *count = values.count() as u32;
            return;
        }
        let room = *count;
        *count = 0;
        for value in values.take(room as usize) {
            write(&mut *out.add(*count as usize), value);
            *count += 1;
        }
    }
}

/// Returns a C string; `None` for null.
///
/// # Safety
/// `pointer` is null or a nul-terminated string that lives as long as the result.
pub unsafe fn c_string<'a>(pointer: *const core::ffi::c_char) -> Option<&'a CStr> {
    // SAFETY: `pointer` is not null, so it is a nul-terminated string.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) })
}

/// Returns a C string as UTF-8, with invalid bytes replaced; `None` for null.
///
/// # Safety
/// `pointer` is null or a nul-terminated string.
pub unsafe fn string(pointer: *const core::ffi::c_char) -> Option<String> {
    // SAFETY: `pointer` is null or a nul-terminated string, as the `# Safety` section demands.
    unsafe { c_string(pointer) }.map(|name| name.to_string_lossy().into_owned())
}
