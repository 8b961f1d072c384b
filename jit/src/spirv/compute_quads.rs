//! Quads of a compute stage (SPV_KHR_compute_shader_derivatives): four consecutive lanes, as in all
//! stages.
//!
//! Linear quads are four invocations in the order of LocalInvocationIndex, which is that of the
//! lanes. Square quads are 2×2 invocations of the workgroup's x and y: there the lanes traverse the
//! squares, row by row, and positions are computed from a lane's number.

use super::builtin;
use super::translator::Translator;
use crate::ir::{Binary, Builtin, Op, Ty, Value};

impl Translator<'_> {
    /// Returns a component of LocalInvocationId or GlobalInvocationId, or LocalInvocationIndex,
    /// with square quads.
    pub fn square_position(&mut self, number: u32, component: u32) -> Value {
        let size = self.b.shader.stage_info.workgroup().map_or([2, 2, 1], |w| w.local_size);
        if number == builtin::LOCAL_INVOCATION_INDEX {
            let [x, y, z] = [0, 1, 2].map(|c| self.local_in_squares(c, size));
            let rows = self.b.mul(z, size[1].into());
            let row = self.b.add(rows, y);
            let before = self.b.mul(row, size[0].into());
            return self.b.add(before, x);
        }
        let local = self.local_in_squares(component, size);
        if number == builtin::LOCAL_INVOCATION_ID {
            return local;
        }
        let group = self.b.val(Op::Builtin(Builtin::WorkgroupId(component as u8)), &[], Ty::I32);
        let first = self.b.mul(group, size[component as usize].into());
        self.b.add(first, local)
    }

    fn local_in_squares(&mut self, component: u32, size: [u32; 3]) -> Value {
        let (columns, rows) = (self.b.i32(size[0] / 2), self.b.i32(size[1] / 2));
        // The lane's number in the whole workgroup, whose lowest two bits are the position in the
        // square.
        let n = self.b.val(Op::Builtin(Builtin::LocalInvocationIndex), &[], Ty::I32);
        let (one, two) = (self.b.i32(1), self.b.i32(2));
        let square = self.b.bin(Binary::LShr, n, two);
        let row = self.b.bin(Binary::UDiv, square, columns);
        let (position, bit) = match component {
            0 => (self.b.bin(Binary::UMod, square, columns), n),
            1 => (self.b.bin(Binary::UMod, row, rows), self.b.bin(Binary::LShr, n, one)),
            _ => return self.b.bin(Binary::UDiv, row, rows),
        };
        let bit = self.b.bin(Binary::And, bit, one);
        let position = self.b.mul(position, 2);
        self.b.bin(Binary::Or, position, bit)
    }
}
