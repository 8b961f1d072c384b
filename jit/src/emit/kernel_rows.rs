//! Rows of coordinates and results of samples that a helper takes for several kernel chunks.

use super::Emitter;
use super::memory::{access_at_offset, trusted};
use super::value_rep::elem;
use crate::ir::Ty;
use crate::lir::{Access, AccessReason, Type, Value as C};
use base::abi::MAX_LANES;

/// Number of bytes of a row that hold one chunk of a kernel.
pub const ROW: u64 = 4 * MAX_LANES as u64;

/// One row in each of a chunk's parts, which lie one behind the other.
#[derive(Clone, Copy)]
pub struct KernelRows {
    /// First byte of the chunk's rows.
    pub first: u64,
    /// Number of rows of a part.
    pub per_chunk: u64,
    /// Index of the row in a part.
    pub row: u64,
}

impl Emitter<'_> {
    /// Returns the address of the chunk's first row; each chunk of a kernel has `per_chunk` rows.
    pub fn hoisted_row(&mut self, rows: C, per_chunk: u64) -> C {
        let chunk = self.b.zext(Type::I64, self.function.chunk());
        let offset = self.b.shl_imm(chunk, (per_chunk * ROW * self.kernel_parts()).trailing_zeros());
        self.b.iadd(rows, offset)
    }

    /// Returns the number of kernel chunks in a chunk.
    pub fn kernel_parts(&self) -> u64 {
        u64::from(self.lanes.count()) / MAX_LANES as u64
    }

    /// Returns the number of lanes of a row, which holds one or two chunks of a kernel.
    pub fn kernel_lanes(&self) -> usize {
        (2 * MAX_LANES).min(self.lanes.count() as usize)
    }

    /// Returns the first lane and the offset of each part of a vector; each part is one row.
    pub fn kernel_row_offsets(&self, rows: KernelRows) -> impl Iterator<Item = (usize, i32)> + use<> {
        let lanes = self.kernel_lanes();
        let place = move |part: usize| rows.first + (part as u64 * rows.per_chunk + rows.row) * 4 * lanes as u64;
        (0..self.lanes.count() as usize / lanes).map(move |part| (part * lanes, place(part) as i32))
    }

    /// Stores a vector to the rows of its parts.
    pub fn store_kernel_rows(&mut self, v: C, base: C, rows: KernelRows, reason: AccessReason) {
        for (first, at) in self.kernel_row_offsets(rows) {
            let lanes = self.b.slice(v, first, self.kernel_lanes());
            self.b.store(trusted(reason, at), lanes, base);
        }
    }

    /// Loads a vector from the rows of its parts.
    pub fn load_kernel_rows(&mut self, ty: Ty, base: C, rows: KernelRows, access: Access) -> C {
        let row = elem(ty).by(self.kernel_lanes());
        let parts: Vec<C> =
            self.kernel_row_offsets(rows).map(|(_, at)| self.b.load(row, access_at_offset(access, at), base)).collect();
        self.concat(&parts)
    }
}
