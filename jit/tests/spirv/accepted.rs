//! Modules that are valid, or have only one meaning, and were refused by earlier versions.

use crate::spirv_common::*;
use base::shader::Stage;
use jit::error::Error;
use jit::ir::Shader;
use jit::spirv::{Accept, Module, Specialization, translate};
use jit_test_support::interp::Memory;

/// Translates with a layout that has no binding 2 in set 0.
fn without_binding_2(name: &str, entry: &str) -> Result<Shader, Error> {
    let mut layout = layout();
    layout.sets[0].retain(|binding| binding.binding != 2);
    let module = Module::parse(&words(name))?;
    translate(&module, Stage::Compute, entry, &Specialization::default(), &layout, &Accept::all_implemented())
}

/// A literal may equal the number of a variable's id: in an extended instruction, a component or an
/// alignment. It is not a use of the variable.
#[test]
fn literals_are_not_uses_of_ids() {
    without_binding_2("literal_as_use.comp", "main").expect("a stage that does not use the binding");
    let error = without_binding_2("literal_as_use.comp", "other").expect_err("a stage that uses it");
    assert!(error.to_string().contains("binding 2"), "{error}");
}

/// Debug information is ignored, whatever its operands are.
#[test]
fn debug_information_is_ignored() {
    let memory = Memory { buffers: vec![((0, 0), float_bytes(&[1.25]))], ..Memory::default() };
    let after = execute(&shader("debug_info.comp"), &memory, 8, true);
    assert_eq!(read(&after, 0, 0), [2.5f32.to_bits()]);
}

/// The merge block of a construct may be the continue target of a loop around it. The end of the
/// construct then continues the loop, and the module reports the deviation.
#[test]
fn merge_blocks_may_be_continue_targets() {
    let words = words("merge_is_continue.comp");
    let memory = Memory { buffers: vec![((0, 0), bytes(&[5, 0, 0, 0]))], ..Memory::default() };
    let shader = compile(&words, Stage::Compute, &Specialization::default()).expect("accepted");
    assert_eq!(read(&execute(&shader, &memory, 8, true), 0, 0), [5, 7, 210, 20]);
    let deviations = Module::parse(&words).expect("a module").deviations();
    assert_eq!(deviations.len(), 1);
    assert!(deviations[0].to_string().contains("the continue target of a loop around it"), "{}", deviations[0]);
    for name in ["control.comp", "switches.comp", "joins.comp"] {
        assert_eq!(Module::parse(&self::words(name)).expect("a module").deviations(), [], "{name}");
    }
}
