//! Tests of cooperative vectors (VK_NV_cooperative_vector): products with matrices of every
//! combination of types, layout and several shapes against the same sums in Rust, training, and
//! conversions of matrices on the host and in command buffers.

use crate::common::{Buffer, Context, Features};
use crate::generated::{command, tagged};
use crate::pipeline::{Messenger, Set, compute, run};
use ash::vk::{self, ComponentTypeKHR as C};
use vulkan_grus::caps::newer;

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const E4M3: C = C::from_raw(1_000_491_002);
const E5M2: C = C::from_raw(1_000_491_003);
const SINT8_PACKED: C = C::from_raw(1_000_491_000);
const UINT8_PACKED: C = C::from_raw(1_000_491_001);
/// Values of `VkCooperativeVectorMatrixLayoutNV`.
const ROW_MAJOR: i32 = 0;
const COLUMN_MAJOR: i32 = 1;
const INFERENCING_OPTIMAL: i32 = 2;
const TRAINING_OPTIMAL: i32 = 3;
/// Number of invocations, each of which has a vector of its own.
const INVOCATIONS: usize = 19;

struct Device {
    c: Context,
    messenger: Messenger,
    set: Set,
    /// Vectors, matrices, biases, results.
    buffers: [Buffer; 4],
    convert: newer::PFN_vkConvertCooperativeVectorMatrixNV,
    cmd_convert: newer::PFN_vkCmdConvertCooperativeVectorMatrixNV,
}

impl Device {
    fn new() -> Device {
        let mut vectors = Features::<2>::new(1_000_491_000);
        let features = vk::PhysicalDeviceFeatures::default().shader_int16(true);
        let mut features = vk::PhysicalDeviceFeatures2::default().features(features);
        let mut v11 = vk::PhysicalDeviceVulkan11Features::default();
        let mut v12 = vk::PhysicalDeviceVulkan12Features::default()
            .buffer_device_address(true)
            .vulkan_memory_model(true)
            .shader_float16(true)
            .shader_int8(true);
        let extensions = [c"VK_NV_cooperative_vector"];
        let c = Context::with(
            &[c"VK_EXT_debug_utils"],
            &extensions,
            &mut [&mut features, &mut v11, &mut v12, &mut vectors],
        );
        let set = Set::new(&c, &[(STORAGE, 1); 4]);
        let buffers = [(); 4].map(|()| c.addressed_buffer(1 << 20, vk::BufferUsageFlags::STORAGE_BUFFER));
        for (binding, buffer) in (0..).zip(&buffers) {
            set.buffers(&c, binding, STORAGE, &[(buffer.buffer, 0, vk::WHOLE_SIZE)]);
        }
        Device {
            messenger: Messenger::new(&c),
            convert: command!(
                c,
                c"vkConvertCooperativeVectorMatrixNV" as newer::PFN_vkConvertCooperativeVectorMatrixNV
            ),
            cmd_convert: command!(
                c,
                c"vkCmdConvertCooperativeVectorMatrixNV" as newer::PFN_vkCmdConvertCooperativeVectorMatrixNV
            ),
            c,
            set,
            buffers,
        }
    }

    /// Runs one workgroup of a module.
    fn run(&self, words: &[u32]) {
        let pipeline = compute(&self.c, vk::PipelineCache::null(), self.set.layout, words, &[]);
        run(&self.c, &self.set, pipeline, &[]).expect("run");
    }

    /// Converts a matrix between host addresses.
    fn convert_on_host(&self, info: &newer::ConvertCooperativeVectorMatrixInfoNV<'_>) -> vk::Result {
        // SAFETY: valid usage, or errors that the driver finds.
        unsafe { (self.convert)(self.c.device.handle(), info) }
    }

    /// Checks that there was no message, and destroys everything.
    fn end(self) {
        assert_eq!(self.messenger.take(), Vec::<String>::new());
        self.set.destroy(&self.c);
        self.buffers.into_iter().for_each(|buffer| self.c.free(buffer));
    }
}

fn bytes_of(component: C) -> usize {
    match component {
        C::FLOAT16 => 2,
        C::FLOAT32 | C::SINT32 | C::UINT32 => 4,
        _ => 1,
    }
}

fn is_float(component: C) -> bool {
    [C::FLOAT16, C::FLOAT32, E4M3, E5M2].contains(&component)
}

/// Returns the bits of a small integer as a component; floats have `fraction` bits of fraction and
/// a bias of the exponent.
fn bits(component: C, x: i32) -> u32 {
    let float = |fraction: u32, bias: i32, sign: u32| {
        let magnitude = x.unsigned_abs();
        if x == 0 {
            return 0;
        }
        let exponent = magnitude.ilog2();
        let rest = (magnitude << fraction >> exponent) & ((1 << fraction) - 1);
        (((exponent as i32 + bias) as u32) << fraction) | rest | if x < 0 { sign } else { 0 }
    };
    match component {
        C::FLOAT32 => (x as f32).to_bits(),
        C::FLOAT16 => float(10, 15, 1 << 15),
        E4M3 => float(3, 7, 1 << 7),
        E5M2 => float(2, 15, 1 << 7),
        _ => x as u32,
    }
}

fn write(buffer: &mut Buffer, at: usize, component: C, x: i32) {
    let bytes = bytes_of(component);
    buffer.bytes_mut()[at..at + bytes].copy_from_slice(&bits(component, x).to_le_bytes()[..bytes]);
}

fn read(buffer: &Buffer, at: usize, component: C) -> u32 {
    let mut word = [0; 4];
    let bytes = bytes_of(component);
    word[..bytes].copy_from_slice(&buffer.bytes()[at..at + bytes]);
    u32::from_le_bytes(word)
}

/// A module of one workgroup, whose invocations load a vector, do something and store a vector.
struct Asm {
    words: Vec<u32>,
    body: Vec<u32>,
    constants: Vec<(u32, u32)>,
    next: u32,
}

const VOID: u32 = 1;
const FUNCTION: u32 = 2;
const MAIN: u32 = 3;
const UINT: u32 = 4;
const UINT3: u32 = 5;
const INPUT: u32 = 6;
const INVOCATION: u32 = 7;
const ARRAY: u32 = 8;
const BLOCK: u32 = 9;
const UNIFORM: u32 = 10;
const FLAG: u32 = 11;
const TRUE: u32 = 12;
const FALSE: u32 = 13;
/// First of the ids of the four buffers.
const BUFFERS: u32 = 14;
/// First of the ids that are free.
const FREE: u32 = 30;

fn put(words: &mut Vec<u32>, op: u32, args: &[u32]) {
    words.push((args.len() as u32 + 1) << 16 | op);
    words.extend_from_slice(args);
}

impl Asm {
    fn new() -> Asm {
        let mut words = Vec::new();
        for capability in [1, 9, 22, 39, 5394, 5435, 5345] {
            put(&mut words, 17, &[capability]);
        }
        let text = |s: &str| -> Vec<u32> {
            let mut bytes = s.as_bytes().to_vec();
            bytes.resize((s.len() / 4 + 1) * 4, 0);
            bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
        };
        for extension in ["SPV_NV_cooperative_vector", "SPV_KHR_vulkan_memory_model"] {
            put(&mut words, 10, &text(extension));
        }
        put(&mut words, 14, &[0, 3]);
        let interface = [INVOCATION, BUFFERS, BUFFERS + 1, BUFFERS + 2, BUFFERS + 3];
        put(&mut words, 15, &[&[5, MAIN], &text("main")[..], &interface].concat());
        put(&mut words, 16, &[MAIN, 17, INVOCATIONS as u32, 1, 1]);
        put(&mut words, 71, &[INVOCATION, 11, 28]);
        put(&mut words, 71, &[ARRAY, 6, 4]);
        put(&mut words, 71, &[BLOCK, 2]);
        put(&mut words, 72, &[BLOCK, 0, 35, 0]);
        for binding in 0..4 {
            put(&mut words, 71, &[BUFFERS + binding, 34, 0]);
            put(&mut words, 71, &[BUFFERS + binding, 33, binding]);
        }
        put(&mut words, 19, &[VOID]);
        put(&mut words, 33, &[FUNCTION, VOID]);
        put(&mut words, 21, &[UINT, 32, 0]);
        put(&mut words, 23, &[UINT3, UINT, 3]);
        put(&mut words, 20, &[FLAG]);
        put(&mut words, 41, &[FLAG, TRUE]);
        put(&mut words, 42, &[FLAG, FALSE]);
        put(&mut words, 32, &[INPUT, 1, UINT3]);
        put(&mut words, 59, &[INPUT, INVOCATION, 1]);
        put(&mut words, 29, &[ARRAY, UINT]);
        put(&mut words, 30, &[BLOCK, ARRAY]);
        put(&mut words, 32, &[UNIFORM, 12, BLOCK]);
        for binding in 0..4 {
            put(&mut words, 59, &[UNIFORM, BUFFERS + binding, 12]);
        }
        Asm { words, body: Vec::new(), constants: Vec::new(), next: FREE }
    }

    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn global(&mut self, op: u32, args: &[u32]) -> u32 {
        let id = self.id();
        put(&mut self.words, op, &[&[id], args].concat());
        id
    }

    fn constant(&mut self, value: u32) -> u32 {
        if let Some((_, id)) = self.constants.iter().find(|(v, _)| *v == value) {
            return *id;
        }
        let id = self.id();
        put(&mut self.words, 43, &[UINT, id, value]);
        self.constants.push((value, id));
        id
    }

    fn val(&mut self, op: u32, ty: u32, args: &[u32]) -> u32 {
        let id = self.id();
        put(&mut self.body, op, &[&[ty, id], args].concat());
        id
    }

    /// Returns the type of vectors of a component type. A type of 32 unsigned bits exists already.
    fn vector(&mut self, scalars: &mut Vec<(C, u32)>, component: C, n: u32) -> u32 {
        let known = scalars.iter().find(|(c, _)| *c == component).map(|(_, id)| *id);
        let scalar = known.unwrap_or_else(|| {
            let id = match component {
                C::FLOAT16 => self.global(22, &[16]),
                C::FLOAT32 => self.global(22, &[32]),
                C::SINT8 => self.global(21, &[8, 1]),
                C::UINT8 => self.global(21, &[8, 0]),
                C::SINT32 => self.global(21, &[32, 1]),
                _ => UINT,
            };
            scalars.push((component, id));
            id
        });
        let n = self.constant(n);
        self.global(5288, &[scalar, n])
    }

    /// Begins the function. Returns pointers to the arrays of the buffers, and the invocation's
    /// number.
    fn begin(&mut self) -> ([u32; 4], u32) {
        let pointer = self.global(32, &[12, ARRAY]);
        let zero = self.constant(0);
        put(&mut self.body, 54, &[VOID, MAIN, 0, FUNCTION]);
        let label = self.id();
        put(&mut self.body, 248, &[label]);
        let arrays = [0, 1, 2, 3].map(|binding| self.val(65, pointer, &[BUFFERS + binding, zero]));
        let all = self.val(61, UINT3, &[INVOCATION]);
        (arrays, self.val(81, UINT, &[all, 0]))
    }

    /// Returns the invocation's number times a number of bytes.
    fn offset(&mut self, invocation: u32, bytes: usize) -> u32 {
        let bytes = self.constant(bytes as u32);
        self.val(132, UINT, &[invocation, bytes])
    }

    fn finish(mut self) -> Vec<u32> {
        put(&mut self.body, 253, &[]);
        put(&mut self.body, 56, &[]);
        [&[0x0723_0203, 0x0001_0600, 0, self.next + 1, 0], &self.words[..], &self.body].concat()
    }
}

/// A product, with a bias.
#[derive(Clone, Copy, Debug)]
struct Product {
    /// Type of the vector and its interpretation, interpretation of the matrix, type of bias and
    /// result.
    types: [C; 4],
    rows: usize,
    columns: usize,
    layout: i32,
    transposed: bool,
    /// True if each invocation has another matrix and bias.
    divergent: bool,
}

/// Bytes from the vector of an invocation to the next, for input, matrix and result.
const VECTOR_BYTES: usize = 1024;
const MATRIX_BYTES: usize = 1 << 15;

impl Product {
    fn packed(&self) -> usize {
        if self.types[1] == SINT8_PACKED || self.types[1] == UINT8_PACKED { 4 } else { 1 }
    }

    /// Returns the shape of the matrix in memory.
    fn shape(&self) -> [usize; 2] {
        if self.transposed { [self.columns, self.rows] } else { [self.rows, self.columns] }
    }

    /// Returns the stride in memory of a layout that has one.
    fn stride(&self, layout: i32) -> usize {
        let [rows, columns] = self.shape();
        let line = if layout == COLUMN_MAJOR { rows } else { columns };
        (line * bytes_of(self.types[2])).next_multiple_of(16) + 16
    }

    fn module(&self) -> Vec<u32> {
        let mut a = Asm::new();
        let mut scalars = Vec::new();
        let [input, interpretation, matrix, result] = self.types;
        let from = a.vector(&mut scalars, input, (self.columns.div_ceil(self.packed())) as u32);
        let to = a.vector(&mut scalars, result, self.rows as u32);
        let ([x, w, b, y], invocation) = a.begin();
        let at = a.offset(invocation, VECTOR_BYTES);
        let vector = a.val(5302, from, &[x, at]);
        let zero = a.constant(0);
        let (w_at, b_at) = match self.divergent {
            true => (a.offset(invocation, MATRIX_BYTES), at),
            false => (zero, zero),
        };
        let number = |a: &mut Asm, component: C| a.constant(component.as_raw() as u32);
        let (of_x, of_w, of_b) = (number(&mut a, interpretation), number(&mut a, matrix), number(&mut a, result));
        let [rows, columns, layout] =
            [self.rows, self.columns, self.layout as usize].map(|value| a.constant(value as u32));
        let transposed = if self.transposed { TRUE } else { FALSE };
        let stride = a.constant(self.stride(self.layout) as u32);
        let args = [vector, of_x, w, w_at, of_w, b, b_at, of_b, rows, columns, layout, transposed, stride];
        let product = a.val(5292, to, &args);
        put(&mut a.body, 5303, &[y, at, product]);
        a.finish()
    }

    /// Returns small numbers that every type of the product has.
    fn numbers(&self, seed: usize, count: usize) -> Vec<i32> {
        let [input, interpretation, matrix, _] = self.types;
        let unsigned = [input, interpretation, matrix].iter().any(|c| [C::UINT8, UINT8_PACKED].contains(c));
        let random = |i: usize| ((i + 7 * seed + 3).wrapping_mul(0x9e37_79b9) >> 13) as i32;
        (0..count).map(|i| if unsigned { random(i).rem_euclid(5) } else { random(i).rem_euclid(9) - 4 }).collect()
    }
}

fn info(p: &Product, layouts: [i32; 2]) -> newer::ConvertCooperativeVectorMatrixInfoNV<'static> {
    let mut info = tagged::<newer::ConvertCooperativeVectorMatrixInfoNV<'_>>();
    (info.src_component_type, info.dst_component_type) = (p.types[2], p.types[2]);
    [info.num_rows, info.num_columns] = p.shape().map(|n| n as u32);
    [info.src_layout, info.dst_layout] = layouts;
    [info.src_stride, info.dst_stride] = layouts.map(|layout| p.stride(layout));
    info
}

/// Writes the matrices row-major and converts them to the product's layout, on the host or in a
/// command buffer.
fn write_matrices(d: &mut Device, p: &Product, matrices: &[Vec<i32>], on_host: bool) {
    let [rows, columns] = p.shape();
    let (bytes, stride) = (bytes_of(p.types[2]), p.stride(ROW_MAJOR));
    for (i, matrix) in matrices.iter().enumerate() {
        let start = if p.layout == ROW_MAJOR { i * MATRIX_BYTES } else { 0 };
        d.buffers[2].bytes_mut().fill(0);
        let staging = if p.layout == ROW_MAJOR { 1 } else { 2 };
        for row in 0..rows {
            for column in 0..columns {
                let x = matrix[row * columns + column];
                write(&mut d.buffers[staging], start + row * stride + column * bytes, p.types[2], x);
            }
        }
        if p.layout == ROW_MAJOR {
            continue;
        }
        let mut size = 0;
        let mut info = info(p, [ROW_MAJOR, p.layout]);
        info.src_size = rows * stride;
        info.p_dst_size = &raw mut size;
        assert_eq!(d.convert_on_host(&info), vk::Result::SUCCESS);
        assert!(size >= rows * columns * bytes && size <= MATRIX_BYTES, "{size}");
        if on_host {
            info.src_data = d.buffers[2].pointer as u64;
            info.dst_data = d.buffers[1].pointer as u64 + (i * MATRIX_BYTES) as u64;
            assert_eq!(d.convert_on_host(&info), vk::Result::SUCCESS);
        } else {
            info.src_data = d.c.address(&d.buffers[2]);
            info.dst_data = d.c.address(&d.buffers[1]) + (i * MATRIX_BYTES) as u64;
            // SAFETY: valid usage.
            d.c.run(|b| unsafe { (d.cmd_convert)(b, 1, &info) }).expect("convert");
        }
    }
}

fn check(d: &mut Device, p: &Product, on_host: bool) {
    let [input, interpretation, matrix, result] = p.types;
    let sets = if p.divergent { INVOCATIONS } else { 1 };
    let matrices: Vec<_> = (0..sets).map(|i| p.numbers(i, p.rows * p.columns)).collect();
    write_matrices(d, p, &matrices, on_host);
    let vectors: Vec<_> = (0..INVOCATIONS).map(|i| p.numbers(1000 + i, p.columns)).collect();
    let biases: Vec<_> = (0..sets).map(|i| p.numbers(2000 + i, p.rows)).collect();
    let element = if p.packed() > 1 { interpretation } else { input };
    for (i, vector) in vectors.iter().enumerate() {
        for (k, &x) in vector.iter().enumerate() {
            write(&mut d.buffers[0], i * VECTOR_BYTES + k * bytes_of(element), element, x);
        }
    }
    for (i, bias) in biases.iter().enumerate() {
        for (k, &x) in bias.iter().enumerate() {
            write(&mut d.buffers[2], i * VECTOR_BYTES + k * bytes_of(result), result, x);
        }
    }
    d.buffers[3].bytes_mut().fill(0x5a);
    d.run(&p.module());
    let [_, columns] = p.shape();
    for (i, vector) in vectors.iter().enumerate() {
        let (w, b) = (&matrices[i % sets], &biases[i % sets]);
        for (row, &bias) in b.iter().enumerate() {
            let at = |k: usize| if p.transposed { k * columns + row } else { row * columns + k };
            let sum = (0..p.columns).fold(bias, |sum, k| sum + w[at(k)] * vector[k]);
            let got = read(&d.buffers[3], i * VECTOR_BYTES + row * bytes_of(result), result);
            assert_eq!(got, bits(result, sum), "{p:?}: invocation {i}, row {row}, sum {sum}");
        }
        // Nothing is stored behind the vector.
        let end = i * VECTOR_BYTES + p.rows * bytes_of(result);
        assert_eq!(d.buffers[3].bytes()[end], 0x5a, "{p:?}");
    }
    assert!(is_float(matrix) == is_float(result));
}

/// Checks sums that are exact in each type, so that no order or rounding matters.
#[test]
fn products_have_all_types_layouts_and_shapes() {
    let mut d = Device::new();
    let types = properties(&d);
    assert!(types.len() >= 6, "{types:?}");
    for (n, types) in types.into_iter().enumerate() {
        for (s, (rows, columns)) in [(1, 1), (4, 3), (7, 5), (8, 16), (13, 130)].into_iter().enumerate() {
            for (layout, transposed) in [
                (ROW_MAJOR, false),
                (COLUMN_MAJOR, false),
                (INFERENCING_OPTIMAL, false),
                (TRAINING_OPTIMAL, false),
                (INFERENCING_OPTIMAL, true),
                (TRAINING_OPTIMAL, true),
            ] {
                let divergent = (n + s) % 2 == 0;
                let product = Product { types, rows, columns, layout, transposed, divergent };
                check(&mut d, &product, layout == TRAINING_OPTIMAL);
            }
        }
    }
    d.end();
}

/// Returns the combinations of types that the device reports.
fn properties(d: &Device) -> Vec<[C; 4]> {
    // SAFETY: the type is that of the command.
    let get = unsafe {
        let name = c"vkGetPhysicalDeviceCooperativeVectorPropertiesNV";
        let function = d.c.entry.get_instance_proc_addr(d.c.instance.handle(), name.as_ptr()).expect("a command");
        std::mem::transmute::<unsafe extern "system" fn(), newer::PFN_vkGetPhysicalDeviceCooperativeVectorPropertiesNV>(
            function,
        )
    };
    let mut count = 0;
    // SAFETY: valid usage.
    assert_eq!(unsafe { get(d.c.physical, &mut count, std::ptr::null_mut()) }, vk::Result::SUCCESS);
    let mut all = vec![tagged::<newer::CooperativeVectorPropertiesNV<'_>>(); count as usize];
    let mut fewer = count - 1;
    // SAFETY: valid usage.
    unsafe {
        assert_eq!(get(d.c.physical, &mut fewer, all.as_mut_ptr()), vk::Result::INCOMPLETE);
        assert_eq!(fewer, count - 1);
        assert_eq!(get(d.c.physical, &mut count, all.as_mut_ptr()), vk::Result::SUCCESS);
    }
    let types = all.iter().map(|p| {
        assert_eq!((p.bias_interpretation, p.transpose), (p.result_type, vk::TRUE));
        [p.input_type, p.input_interpretation, p.matrix_interpretation, p.result_type]
    });
    types.collect()
}

/// Checks that the order of a sum is the order of the columns, with one rounding of each product
/// and sum.
#[test]
fn sums_of_floats_are_in_the_order_of_columns() {
    let mut d = Device::new();
    let (rows, columns) = (6, 150);
    let types = [C::FLOAT32; 4];
    let p = Product { types, rows, columns, layout: ROW_MAJOR, transposed: false, divergent: false };
    let number = |i: usize| f32::from_bits(0x3f00_0000 + (i.wrapping_mul(0x9e37_79b9) >> 8) as u32 % 0x0100_0000) - 1.0;
    let stride = p.stride(ROW_MAJOR) / 4;
    d.buffers[0].fill_words(|i| number(i as usize).to_bits());
    d.buffers[1].fill_words(|i| number(i as usize + 77).to_bits());
    d.buffers[2].fill_words(|i| number(i as usize + 777).to_bits());
    d.run(&p.module());
    let out = d.buffers[3].words();
    for i in 0..INVOCATIONS {
        for row in 0..rows {
            let x = |k: usize| number(i * VECTOR_BYTES / 4 + k);
            let w = |k: usize| number(row * stride + k + 77);
            let sum = (0..columns).fold(number(row + 777), |sum, k| w(k).mul_add(x(k), sum));
            assert_eq!(out[i * VECTOR_BYTES / 4 + row], sum.to_bits(), "invocation {i}, row {row}");
        }
    }
    d.end();
}

/// Checks that the components and the outer products of all invocations are added to memory.
#[test]
fn training_adds_to_memory() {
    let mut d = Device::new();
    for component in [C::FLOAT32, C::FLOAT16] {
        let (n, m) = (11usize, 6usize);
        let bytes = bytes_of(component);
        let number = |i: usize, k: usize| ((i * 5 + k * 3) % 7) as i32 - 3;
        for i in 0..INVOCATIONS {
            for k in 0..n + m {
                write(&mut d.buffers[0], i * VECTOR_BYTES + k * bytes, component, number(i, k));
            }
        }
        [1, 3].into_iter().for_each(|i| d.buffers[i].bytes_mut().fill(0));
        let mut a = Asm::new();
        let mut scalars = Vec::new();
        let [left, right] = [n, m].map(|n| a.vector(&mut scalars, component, n as u32));
        let ([x, matrix, _, sums], invocation) = a.begin();
        let at = a.offset(invocation, VECTOR_BYTES);
        let first = a.val(5302, left, &[x, at]);
        let behind = a.constant((n * bytes) as u32);
        let at = a.val(128, UINT, &[at, behind]);
        let second = a.val(5302, right, &[x, at]);
        let zero = a.constant(0);
        put(&mut a.body, 5291, &[sums, zero, first]);
        let (layout, of) = (a.constant(TRAINING_OPTIMAL as u32), a.constant(component.as_raw() as u32));
        put(&mut a.body, 5290, &[matrix, zero, first, second, layout, of]);
        d.run(&a.finish());
        for k in 0..n {
            let sum = (0..INVOCATIONS).map(|i| number(i, k)).sum();
            assert_eq!(read(&d.buffers[3], k * bytes, component), bits(component, sum), "component {k}");
        }
        let p = Product {
            types: [component; 4],
            rows: n,
            columns: m,
            layout: TRAINING_OPTIMAL,
            transposed: false,
            divergent: false,
        };
        let mut size = n * p.stride(ROW_MAJOR);
        let mut info = info(&p, [TRAINING_OPTIMAL, ROW_MAJOR]);
        (info.src_size, info.p_dst_size) = (1 << 20, &raw mut size);
        (info.src_data, info.dst_data) = (d.buffers[1].pointer as u64, d.buffers[2].pointer as u64);
        assert_eq!(d.convert_on_host(&info), vk::Result::SUCCESS);
        for row in 0..n {
            for column in 0..m {
                let sum = (0..INVOCATIONS).map(|i| number(i, row) * number(i, n + column)).sum();
                let at = row * p.stride(ROW_MAJOR) + column * bytes;
                assert_eq!(read(&d.buffers[2], at, component), bits(component, sum), "{row} {column}");
            }
        }
    }
    d.end();
}

#[test]
fn conversions_that_are_not_valid_write_nothing() {
    let d = Device::new();
    let types = [C::FLOAT16; 4];
    let p = Product { types, rows: 3, columns: 5, layout: ROW_MAJOR, transposed: false, divergent: false };
    let (source, mut target) = ([0x5au8; 256], [7u8; 256]);
    let mut size = 0;
    let mut good = info(&p, [ROW_MAJOR, INFERENCING_OPTIMAL]);
    (good.src_size, good.p_dst_size) = (source.len(), &raw mut size);
    assert_eq!(d.convert_on_host(&good), vk::Result::SUCCESS);
    let needed = size;
    (good.src_data, good.dst_data) = (source.as_ptr() as u64, target.as_mut_ptr() as u64);
    // Too little space.
    size = needed - 1;
    assert_eq!(d.convert_on_host(&good), vk::Result::INCOMPLETE);
    assert_eq!((size, target), (needed - 1, [7; 256]));
    assert_eq!(d.messenger.take(), Vec::<String>::new());
    // SAFETY: `good` points to it.
    unsafe { *good.p_dst_size = 256 };
    let bad: [fn(&mut newer::ConvertCooperativeVectorMatrixInfoNV<'_>); 5] = [
        |i| i.dst_layout = 17,
        |i| i.src_component_type = C::FLOAT64,
        |i| i.dst_component_type = C::SINT8,
        |i| i.src_stride = 2,
        |i| i.num_rows = 0,
    ];
    for change in bad {
        let mut info = good;
        change(&mut info);
        assert_eq!(d.convert_on_host(&info), vk::Result::ERROR_FEATURE_NOT_PRESENT);
        assert_eq!(d.messenger.take().len(), 1);
        (info.src_data, info.dst_data) = (d.c.address(&d.buffers[0]), d.c.address(&d.buffers[1]));
        // SAFETY: the driver finds the errors.
        d.c.run(|b| unsafe { (d.cmd_convert)(b, 1, &info) }).expect("nothing to do");
        assert_eq!(d.messenger.take().len(), 1);
    }
    assert_eq!(target, [7; 256]);
    // Addresses without memory, and matrices that reach out of it.
    let end = d.c.address(&d.buffers[1]) + d.buffers[1].size;
    for (src, dst, rows) in [(8, end - 4096, 3), (end - 4096, 8, 3), (end - 4096, end - 8192, u32::MAX)] {
        let mut info = good;
        (info.src_data, info.dst_data, info.num_rows) = (src, dst, rows);
        // SAFETY: the driver finds the errors.
        d.c.run(|b| unsafe { (d.cmd_convert)(b, 1, &info) }).expect("nothing to do");
        assert!(!d.messenger.take().is_empty());
    }
    d.end();
}
