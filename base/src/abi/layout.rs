//! Layouts as hashes, of which [`super::VERSION`] is made. A struct's hash is made of its size and
//! of the names, offsets and layouts of its fields. A struct with a field that is not listed does
//! not compile, nor does a field of a type without a layout.

use core::ffi::c_void;
use core::sync::atomic::AtomicU32;
use std::sync::Arc;

/// A type that generated code and Rust code share.
pub trait Layout {
    /// Hash of the layout: equal for equal layouts, and different for others except with negligible
    /// probability.
    const HASH: u64;
}

/// A 64-bit FNV-1a hash that is computed in constants.
#[derive(Clone, Copy)]
pub struct Hash(u64);

impl Hash {
    /// Begins a hash of a kind of item.
    pub const fn new(kind: &str) -> Hash {
        Hash(0xcbf2_9ce4_8422_2325).text(kind)
    }

    const fn byte(self, byte: u8) -> Hash {
        Hash((self.0 ^ byte as u64).wrapping_mul(0x100_0000_01b3))
    }

    /// Adds a number to the hash.
    pub const fn number(mut self, number: u64) -> Hash {
        let bytes = number.to_le_bytes();
        let mut i = 0;
        while i < bytes.len() {
            self = self.byte(bytes[i]);
            i += 1;
        }
        self
    }

    /// Adds a text to the hash.
    pub const fn text(mut self, text: &str) -> Hash {
        let bytes = text.as_bytes();
        let mut i = 0;
        while i < bytes.len() {
            self = self.byte(bytes[i]);
            i += 1;
        }
        self.number(bytes.len() as u64)
    }

    /// Returns the value of the hash.
    pub const fn finish(self) -> u64 {
        self.0
    }
}

/// A field of a struct, or a variant of an enum.
#[derive(Clone, Copy)]
pub struct Field {
    /// Name of the field.
    pub name: &'static str,
    /// Offset of the field, or value of the variant.
    pub at: u64,
    /// Hash of the type's layout.
    pub layout: u64,
}

/// Returns the layout of a type with these fields.
pub const fn hash_of_struct(name: &str, size: usize, align: usize, fields: &[Field]) -> u64 {
    let mut hash = Hash::new(name).number(size as u64).number(align as u64).number(fields.len() as u64);
    let mut i = 0;
    while i < fields.len() {
        hash = hash.text(fields[i].name).number(fields[i].at).number(fields[i].layout);
        i += 1;
    }
    hash.finish()
}

/// Returns the layout of a field's type.
pub const fn hash_of_field<S, T: Layout>(_: fn(&S) -> &T) -> u64 {
    T::HASH
}

/// Implements the layout of a struct, all of whose fields must be listed.
macro_rules! layout {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::abi::layout::Layout for $name {
            const HASH: u64 = {
                const fn _all($name { $($field: _),* }: &$name) {}
                $crate::abi::layout::hash_of_struct(stringify!($name), size_of::<$name>(), align_of::<$name>(), &[$(
                    $crate::abi::layout::Field {
                        name: stringify!($field),
                        at: core::mem::offset_of!($name, $field) as u64,
                        layout: $crate::abi::layout::hash_of_field(|s: &$name| &s.$field),
                    }
                ),*])
            };
        }
    };
    (enum $name:ident { $($variant:ident),* $(,)? }) => {
        impl $crate::abi::layout::Layout for $name {
            const HASH: u64 = {
                const fn _all(value: &$name) {
                    match value { $($name::$variant => {})* }
                }
                $crate::abi::layout::hash_of_struct(stringify!($name), size_of::<$name>(), align_of::<$name>(), &[$(
                    $crate::abi::layout::Field { name: stringify!($variant), at: $name::$variant as u64, layout: 0 }
                ),*])
            };
        }
    };
}
pub(super) use layout;

macro_rules! plain {
    ($($ty:ident)*) => {
        $(impl Layout for $ty {
            const HASH: u64 = Hash::new(stringify!($ty)).number(size_of::<$ty>() as u64).finish();
        })*
    };
}

plain! { c_void u8 u16 u32 u64 i32 f32 AtomicU32 }

impl<T: Layout, const N: usize> Layout for [T; N] {
    const HASH: u64 = Hash::new("array").number(N as u64).number(T::HASH).finish();
}

impl<T: Layout> Layout for *const T {
    const HASH: u64 = Hash::new("const").number(T::HASH).finish();
}

impl<T: Layout> Layout for *mut T {
    const HASH: u64 = Hash::new("mut").number(T::HASH).finish();
}

/// The layout of a field that only Rust code accesses.
impl<T> Layout for Option<Arc<T>> {
    const HASH: u64 = Hash::new("owner").finish();
}

/// The layout of kernels of views. They are called with views, so their arguments cannot be
/// followed here.
impl<A, B, C> Layout for crate::code_type!(unsafe extern "code" fn(A, B, C)) {
    const HASH: u64 = Hash::new("function").number(3).finish();
}

impl<A, B, C, D> Layout for crate::code_type!(unsafe extern "code" fn(A, B, C, D)) {
    const HASH: u64 = Hash::new("function").number(4).finish();
}

impl<A, B, C, D, E, F> Layout for crate::code_type!(unsafe extern "code" fn(A, B, C, D, E, F)) {
    const HASH: u64 = Hash::new("function").number(6).finish();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    struct Pair {
        a: u32,
        b: [f32; 2],
    }
    layout!(Pair { a, b });

    #[test]
    fn layout_hash_covers_every_field() {
        let fields =
            [Field { name: "a", at: 0, layout: u32::HASH }, Field { name: "b", at: 4, layout: <[f32; 2]>::HASH }];
        assert_eq!(Pair::HASH, hash_of_struct("Pair", 12, 4, &fields));
        let changed = |i: usize, field: Field| {
            let mut all = fields;
            all[i] = field;
            hash_of_struct("Pair", 12, 4, &all)
        };
        let others = [
            hash_of_struct("Pear", 12, 4, &fields),
            hash_of_struct("Pair", 16, 4, &fields),
            hash_of_struct("Pair", 12, 8, &fields),
            hash_of_struct("Pair", 12, 4, &fields[..1]),
            hash_of_struct("Pair", 12, 4, &[fields[1], fields[0]]),
            changed(0, Field { name: "c", ..fields[0] }),
            changed(1, Field { at: 8, ..fields[1] }),
            changed(0, Field { layout: f32::HASH, ..fields[0] }),
            changed(1, Field { layout: <[f32; 3]>::HASH, ..fields[1] }),
        ];
        assert!(others.iter().all(|&other| other != Pair::HASH));
    }
}
