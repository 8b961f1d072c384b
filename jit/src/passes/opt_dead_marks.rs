//! Removes the marks of vertices if no strip ends before the last vertex, which is only known after
//! the other passes.

use super::util::for_each_inst;
use crate::ir::{Op, Shader};
use base::shader::{BuiltinSlot, SlotKind};

/// Runs the pass; the other slots keep their order and are renumbered.
pub fn opt_dead_marks(shader: &mut Shader) {
    let mark = SlotKind::Builtin(BuiltinSlot::VertexMark);
    let Some(slot) = shader.outputs.iter().position(|output| output.kind == mark) else { return };
    let mut silent = true;
    for_each_inst(&shader.root.body, &mut |inst| {
        let data = &shader.insts[inst];
        if data.op == Op::StoreVertex(slot as u32) {
            silent &= shader.as_const(data.args[1]) == Some(0);
        }
    });
    if silent {
        let keep: Vec<bool> = (0..shader.outputs.len()).map(|i| i != slot).collect();
        shader.keep_outputs(&keep);
    }
}
