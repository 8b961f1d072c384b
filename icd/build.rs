//! The library must need nothing but libc: the unwinder comes from the static libgcc.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-static-libgcc");
}
