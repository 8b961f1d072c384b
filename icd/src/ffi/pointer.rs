//! Slices, strings and structures from pointers, pNext chains, the two-call idiom.

use ash::vk;
use core::ffi::CStr;

/// A slice from a count and a pointer, empty when either is 0.
///
/// # Safety
/// `pointer` is null or points to `count` values that live for `'a`.
pub unsafe fn slice<'a, T>(pointer: *const T, count: u32) -> &'a [T] {
    if pointer.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(pointer, count as usize) }
}

/// As [`slice`], mutable.
///
/// # Safety
/// As [`slice`], and nobody else uses the memory during `'a`.
pub unsafe fn slice_mut<'a, T>(pointer: *mut T, count: u32) -> &'a mut [T] {
    if pointer.is_null() || count == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(pointer, count as usize) }
}

/// The structure of type `T` in a pNext chain.
///
/// # Safety
/// `p_next` is a valid chain that lives for `'a`.
pub unsafe fn find<'a, T: vk::TaggedStructure>(p_next: *const core::ffi::c_void) -> Option<&'a T> {
    let mut next = p_next.cast::<vk::BaseInStructure>();
    while !next.is_null() {
        // SAFETY: an element of the chain.
        let element = unsafe { &*next };
        if element.s_type == T::STRUCTURE_TYPE {
            // SAFETY: the tag says so.
            return Some(unsafe { &*next.cast::<T>() });
        }
        next = element.p_next;
    }
    None
}

/// As [`find`], mutable.
///
/// # Safety
/// As [`find`], and nobody else uses the structure during `'a`.
pub unsafe fn find_mut<'a, T: vk::TaggedStructure>(p_next: *mut core::ffi::c_void) -> Option<&'a mut T> {
    let mut next = p_next.cast::<vk::BaseOutStructure<'_>>();
    while !next.is_null() {
        // SAFETY: an element of the chain.
        let (s_type, following) = unsafe { ((*next).s_type, (*next).p_next) };
        if s_type == T::STRUCTURE_TYPE {
            // SAFETY: the tag says so.
            return Some(unsafe { &mut *next.cast::<T>() });
        }
        next = following;
    }
    None
}

/// The two-call idiom: without `data` stores the count, with `data` stores what fits and answers VK_INCOMPLETE when not all does.
///
/// # Safety
/// `count` is valid; `data` is null or has room for `*count` values.
pub unsafe fn write_array<T: Clone>(items: &[T], count: *mut u32, data: *mut T) -> Result<(), vk::Result> {
    // SAFETY: the caller's promise.
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

/// The two-call idiom with structures of the application's, which keep their tags and chains: `fill` writes the rest of one, and may say VK_INCOMPLETE.
///
/// # Errors
/// VK_INCOMPLETE when not all fits; what `fill` returns.
///
/// # Safety
/// As [`write_array`].
pub unsafe fn fill_array<T, U>(
    items: &[T],
    count: *mut u32,
    out: *mut U,
    mut fill: impl FnMut(&mut U, &T) -> Result<(), vk::Result>,
) -> Result<(), vk::Result> {
    // (It need not have a value on the first call.)
    // SAFETY: (all here) the caller's promise.
    let fits = if out.is_null() { items.len() } else { items.len().min(unsafe { *count } as usize) };
    // SAFETY: as above.
    unsafe { *count = fits as u32 };
    // SAFETY: as above.
    let filled = unsafe { slice_mut(out, fits as u32) }.iter_mut().zip(items).map(|(to, item)| fill(to, item));
    let result = filled.fold(Ok(()), Result::and);
    if fits < items.len() { result.and(Err(vk::Result::INCOMPLETE)) } else { result }
}

/// The two-call idiom of queries that have no result to say VK_INCOMPLETE with: `write` says in a structure of the application's what a value is.
///
/// # Safety
/// As [`write_array`].
pub unsafe fn write_each<T, U>(
    values: impl Iterator<Item = T>,
    count: *mut u32,
    out: *mut U,
    write: impl Fn(&mut U, T),
) {
    // SAFETY: the caller's promise.
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

/// A C string; `None` for null.
///
/// # Safety
/// `pointer` is null or a nul-terminated string that lives as long as the result.
pub unsafe fn c_string<'a>(pointer: *const core::ffi::c_char) -> Option<&'a CStr> {
    // SAFETY: the caller's promise.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) })
}

/// A C string as UTF-8, replacing what is not; `None` for null.
///
/// # Safety
/// `pointer` is null or a nul-terminated string.
pub unsafe fn string(pointer: *const core::ffi::c_char) -> Option<String> {
    // SAFETY: the caller's promise.
    unsafe { c_string(pointer) }.map(|name| name.to_string_lossy().into_owned())
}
