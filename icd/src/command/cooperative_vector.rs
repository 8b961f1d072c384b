//! Conversions of matrices of cooperative vectors (VK_NV_cooperative_vector) to another layout and
//! component type.
//!
//! Both optimal layouts are row-major without space between rows, as generated code reads them
//! (`jit::spirv::cooperative_vector`). Their size is a multiple of the alignment that the
//! specification demands of such a matrix, so that matrices can follow one another.

#![forbid(unsafe_code)]

use crate::caps::cooperative::{E4M3, E5M2};
use crate::caps::newer;
use ash::vk::ComponentTypeKHR as C;
use base::format::float::{f32_to_half, half_to_f32};
use base::format::small_float::SmallFloat;
use base::mem::DeviceMemory;

/// Values of `VkCooperativeVectorMatrixLayoutNV`.
const ROW_MAJOR: i32 = 0;
const COLUMN_MAJOR: i32 = 1;
const OPTIMAL: [i32; 2] = [2, 3];

/// Alignment in bytes of a matrix in an optimal layout.
const OPTIMAL_ALIGNMENT: u64 = 64;

/// Floats of a component type.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Float {
    Single,
    Half,
    Small(SmallFloat),
}

impl Float {
    fn read(self, bits: u64) -> f32 {
        match self {
            Float::Single => f32::from_bits(bits as u32),
            Float::Half => half_to_f32(bits as u32),
            Float::Small(small) => small.value(bits) as f32,
        }
    }

    /// Returns the bits of the nearest number.
    fn write(self, x: f32) -> u64 {
        match self {
            Float::Single => x.to_bits().into(),
            Float::Half => f32_to_half(x).into(),
            Float::Small(small) => small.nearest(x.into()),
        }
    }
}

/// Component types of matrices, with their sizes in bytes.
static COMPONENTS: &[(C, usize, Option<Float>)] = &[
    (C::FLOAT32, 4, Some(Float::Single)),
    (C::FLOAT16, 2, Some(Float::Half)),
    (E4M3, 1, Some(Float::Small(SmallFloat::E4M3))),
    (E5M2, 1, Some(Float::Small(SmallFloat::E5M2))),
    (C::SINT8, 1, None),
    (C::UINT8, 1, None),
];

/// A matrix in memory, of which the address and the size in bytes are known separately.
#[derive(Clone, Copy, Debug)]
struct MatrixFormat {
    /// Bytes of a component, and its float format unless it is an integer.
    bytes: usize,
    float: Option<Float>,
    /// Bytes from a row to the next, and from a column to the next.
    steps: [u64; 2],
    /// Bytes up to the end of the last component, and of padding behind it.
    size: u64,
}

impl MatrixFormat {
    /// Returns the format of a matrix with rows and columns, or a message if it is not supported.
    fn new(component: C, layout: i32, stride: usize, [rows, columns]: [u32; 2]) -> Result<MatrixFormat, &'static str> {
        let row = COMPONENTS.iter().find(|row| row.0 == component);
        let &(_, bytes, float) = row.ok_or("a component type is not supported")?;
        let (rows, columns, size) = (u64::from(rows), u64::from(columns), bytes as u64);
        let stride = match layout {
            ROW_MAJOR | COLUMN_MAJOR => stride as u64,
            optimal if OPTIMAL.contains(&optimal) => columns * size,
            _ => return Err("a layout is not known"),
        };
        let (steps, lines, line) = match layout {
            COLUMN_MAJOR => ([size, stride], columns, rows * size),
            _ => ([stride, size], rows, columns * size),
        };
        if stride < line {
            return Err("a stride is less than a row or a column");
        }
        let alignment = if OPTIMAL.contains(&layout) { OPTIMAL_ALIGNMENT } else { 1 };
        let end = lines.checked_sub(1).and_then(|last| last.checked_mul(stride)?.checked_add(line));
        let size = end.and_then(|end| end.checked_next_multiple_of(alignment));
        Ok(MatrixFormat { bytes, float, steps, size: size.ok_or("a matrix has no rows or is too large")? })
    }

    fn place(&self, row: u32, column: u32) -> u64 {
        u64::from(row) * self.steps[0] + u64::from(column) * self.steps[1]
    }

    fn read(&self, memory: DeviceMemory, row: u32, column: u32) -> u64 {
        let mut bytes = [0; 8];
        memory.read(self.place(row, column), &mut bytes[..self.bytes]);
        u64::from_le_bytes(bytes)
    }

    fn write(&self, memory: DeviceMemory, row: u32, column: u32, bits: u64) {
        memory.write(self.place(row, column), &bits.to_le_bytes()[..self.bytes]);
    }
}

/// A conversion (`VkConvertCooperativeVectorMatrixInfoNV`).
#[derive(Clone, Copy, Debug)]
pub struct MatrixConversion {
    from: MatrixFormat,
    to: MatrixFormat,
    shape: [u32; 2],
    /// Address of the source.
    pub src: u64,
    /// Address of the destination.
    pub dst: u64,
}

impl MatrixConversion {
    /// Decodes a conversion. Addresses of the device and of the host have the same representation.
    ///
    /// # Errors
    /// Returns a message if a component type or a layout is not supported.
    pub fn new(
        info: &newer::ConvertCooperativeVectorMatrixInfoNV<'_>,
        [src, dst]: [u64; 2],
    ) -> Result<MatrixConversion, &'static str> {
        let shape = [info.num_rows, info.num_columns];
        let from = MatrixFormat::new(info.src_component_type, info.src_layout, info.src_stride, shape)?;
        let to = MatrixFormat::new(info.dst_component_type, info.dst_layout, info.dst_stride, shape)?;
        if info.src_component_type != info.dst_component_type && (from.float.is_none() || to.float.is_none()) {
            return Err("integers are not converted to another component type");
        }
        Ok(MatrixConversion { from, to, shape, src, dst })
    }

    /// Returns the number of bytes of the destination, which does not depend on the source.
    ///
    /// # Errors
    /// Returns a message if the component type or the layout is not supported.
    pub fn destination_size(info: &newer::ConvertCooperativeVectorMatrixInfoNV<'_>) -> Result<u64, &'static str> {
        let shape = [info.num_rows, info.num_columns];
        MatrixFormat::new(info.dst_component_type, info.dst_layout, info.dst_stride, shape).map(|to| to.size)
    }

    /// Returns the number of bytes of the source and of the destination.
    pub fn sizes(&self) -> [u64; 2] {
        [self.from.size, self.to.size]
    }

    /// Converts the matrix. Components outside of the source are 0, and those outside of the
    /// destination are not written.
    pub fn convert(&self, src: DeviceMemory, dst: DeviceMemory) {
        let [rows, columns] = self.shape;
        for row in 0..rows {
            for column in 0..columns {
                let bits = self.converted(self.from.read(src, row, column));
                self.to.write(dst, row, column, bits);
            }
        }
    }

    fn converted(&self, bits: u64) -> u64 {
        match (self.from.float, self.to.float) {
            (Some(from), Some(to)) if from != to => to.write(from.read(bits)),
            _ => bits,
        }
    }
}
