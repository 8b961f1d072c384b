//! Image operations: fill the argument block, call the view's kernel, read the results.
//!
//! Rows of the block that no operation of the shader sets are zero from the function's start on. A
//! call stores the rows that it has, and zeros only in rows that another operation may have set.
//!
//! Kernels take [`MAX_LANES`] lanes. A wider chunk calls them for one [`KernelCall`] after the
//! other; a narrower one leaves the last lanes idle.
//!
//! Texels that lie side by side need no kernel, if the view allows it (`texels`). With one view
//! (and sampler) for all lanes, the kernel's address is loaded from the view and called. Otherwise
//! the context's helper runs over the distinct pairs. Queries read the view's fields inline.

use super::Emitter;
use super::memory::{guarded, trusted};
use super::value_rep::{ValueRep, elem};
use crate::error::{Error, Result};
use crate::ir::{ImageQuery, InstData, Op, SampleInfo, Ty, Value};
use crate::lir::{AccessReason, Elem, IntCond, Slot, Type, Value as C};
use base::abi::{
    AtomicOp, Dim, Helper, ImageArgs, ImageLevel, ImageView, KERNEL_ATOMIC, KERNEL_FETCH, KERNEL_RESIDENT,
    KERNEL_SAMPLE, KERNEL_STORE, MAX_LANES, SampleOp, Sampler, TexelKind,
};
use base::limits::MAX_LEVELS;
use core::mem::offset_of;

/// Number of bytes of a per-lane array in the argument block.
const ROW: usize = MAX_LANES * 4;

/// A row that is zero if an operation does not set it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionalRow {
    Lod,
    MinLod,
    Offset(usize),
    Coordinate(usize),
    Level,
    Sample,
}

impl OptionalRow {
    const ALL: [OptionalRow; 10] = [
        OptionalRow::Lod,
        OptionalRow::MinLod,
        OptionalRow::Offset(0),
        OptionalRow::Offset(1),
        OptionalRow::Offset(2),
        OptionalRow::Coordinate(0),
        OptionalRow::Coordinate(1),
        OptionalRow::Coordinate(2),
        OptionalRow::Level,
        OptionalRow::Sample,
    ];

    const fn field(self) -> usize {
        match self {
            OptionalRow::Lod => offset_of!(ImageArgs, lod),
            OptionalRow::MinLod => offset_of!(ImageArgs, min_lod),
            OptionalRow::Offset(i) => offset_of!(ImageArgs, offset) + i * ROW,
            OptionalRow::Coordinate(i) => offset_of!(ImageArgs, icoord) + i * ROW,
            OptionalRow::Level => offset_of!(ImageArgs, level),
            OptionalRow::Sample => offset_of!(ImageArgs, sample),
        }
    }

    /// Returns whether an operation sets the row, or `None` if the row does not apply to it.
    fn is_set_by(self, op: &Op) -> Option<bool> {
        match (self, op) {
            (OptionalRow::Lod, Op::Sample(info)) => Some(info.lod),
            (OptionalRow::MinLod, Op::Sample(info)) => Some(info.min_lod),
            (OptionalRow::Offset(i), Op::Sample(info)) => Some(i < usize::from(info.offset)),
            (
                OptionalRow::Coordinate(i),
                Op::ImageFetch { coords, .. }
                | Op::ImageResident { coords, .. }
                | Op::ImageStore { coords, .. }
                | Op::ImageAtomic { coords, .. },
            ) => Some(i < usize::from(*coords)),
            (OptionalRow::Level, Op::ImageFetch { level, .. } | Op::ImageResident { level, .. }) => Some(*level),
            (OptionalRow::Level, Op::ImageStore { .. } | Op::ImageAtomic { .. }) => Some(false),
            (
                OptionalRow::Sample,
                Op::ImageFetch { sample, .. }
                | Op::ImageResident { sample, .. }
                | Op::ImageStore { sample, .. }
                | Op::ImageAtomic { sample, .. },
            ) => Some(*sample),
            _ => None,
        }
    }
}

/// The lanes of one call.
#[derive(Clone, Copy)]
struct KernelCall {
    /// Address of the argument block.
    args: C,
    first: usize,
    lanes: usize,
}

/// The argument block of a function.
pub struct KernelArguments {
    slot: Slot,
    /// Rows that only some operations set: the others store zeros there.
    conditional_rows: Vec<OptionalRow>,
}

impl Emitter<'_> {
    /// Makes the argument block at the function's start, if there are image operations.
    pub fn start_images(&mut self) {
        let with_arguments = |op: &&Op| {
            matches!(
                op,
                Op::Sample(_)
                    | Op::ImageFetch { .. }
                    | Op::ImageResident { .. }
                    | Op::ImageStore { .. }
                    | Op::ImageAtomic { .. }
            )
        };
        let ops: Vec<&Op> = self.shader.live_insts().map(|data| &data.op).filter(with_arguments).collect();
        if ops.is_empty() {
            return;
        }
        let mut conditional_rows = Vec::new();
        let mut zeros = Vec::new();
        for row in OptionalRow::ALL {
            let any_op = |wanted| ops.iter().any(|op| row.is_set_by(op) == Some(wanted));
            match (any_op(true), any_op(false)) {
                (true, true) => conditional_rows.push(row),
                (false, true) => zeros.push(row),
                (_, false) => {}
            }
        }
        let bytes = (size_of::<ImageArgs>() + 2 * MAX_LANES * 8 + 32) as u32;
        let slot = self.b.create_slot(bytes, 4);
        self.image_args = Some(KernelArguments { slot, conditional_rows });
        if let (Ok(args), true) = (self.args_address(), !zeros.is_empty() || self.poison.is_some()) {
            self.poison_slot(args, size_of::<ImageArgs>());
            for row in zeros {
                self.store_zero_row(args, row.field());
            }
        }
    }

    /// Returns the address of the argument block, aligned to 32 bytes; the pointer arrays of
    /// divergent calls lie behind it.
    fn args_address(&mut self) -> Result<C> {
        let Some(args) = &self.image_args else { return Err(Error::internal("an image operation without arguments")) };
        let address = self.b.stack_address(args.slot, 0);
        let address = self.b.iadd_imm(address, 31);
        Ok(self.b.and_imm(address, -32))
    }

    /// Calls a kernel for every lane and defines the results of the instruction. `call` fills the
    /// block for one part of the lanes and calls the kernel.
    fn call_per_part(
        &mut self,
        data: &InstData,
        effects: bool,
        call: impl Fn(&mut Self, KernelCall) -> Result<()>,
    ) -> Result<()> {
        let results = self.call_parts(data, effects, call)?;
        self.define_all(&data.results().collect::<Vec<_>>(), results.into_iter().map(ValueRep::Varying))
    }

    /// Calls a kernel for every lane and returns the results; see [`Emitter::call_per_part`].
    fn call_parts(
        &mut self,
        data: &InstData,
        effects: bool,
        call: impl Fn(&mut Self, KernelCall) -> Result<()>,
    ) -> Result<Vec<C>> {
        let args = self.args_address()?;
        // A kernel writes no results for inactive lanes, whose rows hold values of earlier calls. A
        // derivative or a subgroup operation may read those lanes, so they are masked.
        let mask = if data.result_count == 0 { None } else { self.participating_lanes(effects) };
        let lanes = MAX_LANES.min(self.lanes.count() as usize);
        let mut results: Vec<Vec<C>> = data.results().map(|_| Vec::new()).collect();
        for first in (0..self.lanes.count() as usize).step_by(lanes) {
            let part = KernelCall { args, first, lanes };
            for (i, _) in data.results().enumerate().filter(|(_, v)| self.shader.ty(*v) == Ty::I64) {
                // Kernels of views without high words do not write them, so a value of another
                // texel would remain.
                self.store_zero_row(args, offset_of!(ImageArgs, result_high) + i * ROW);
            }
            call(self, part)?;
            for (i, (v, list)) in data.results().zip(&mut results).enumerate() {
                let mut c = self.load_result(part, i, self.shader.ty(v))?;
                if let Some(mask) = mask {
                    let (mask, none) = (self.b.slice(mask, part.first, part.lanes), self.b.constant(self.b.ty(c), 0));
                    c = self.b.select(mask, c, none);
                }
                list.push(c);
            }
        }
        Ok(results.iter().map(|parts| self.concat(parts)).collect())
    }

    /// Returns the mask of the lanes that take part in an operation, depending on whether it has
    /// effects; `None` for all lanes.
    fn participating_lanes(&mut self, effects: bool) -> Option<C> {
        if effects { self.side_effect_mask() } else { (!self.lanes.is_full()).then(|| self.exec_mask()) }
    }

    /// Stores zeros in a row that this operation does not set, if another one may have set it.
    fn zero_optional_row(&mut self, args: C, row: OptionalRow) {
        if self.image_args.as_ref().is_some_and(|all| all.conditional_rows.contains(&row)) {
            self.store_zero_row(args, row.field());
        }
    }

    /// Returns the lanes of a value that belong to a part.
    fn lanes_of_call(&mut self, part: KernelCall, v: Value) -> Result<C> {
        let c = self.vector(v)?;
        Ok(self.b.slice(c, part.first, part.lanes))
    }

    /// Stores a value's lanes to a row of the block.
    fn store_row(&mut self, part: KernelCall, field: usize, v: Value) -> Result<()> {
        let c = self.lanes_of_call(part, v)?;
        self.b.store(trusted(AccessReason::Frame, field as i32), c, part.args);
        Ok(())
    }

    /// Stores a texel's components, or an atomic's operands; of 64-bit integers the low words and
    /// the high words separately.
    fn store_texel_rows(&mut self, part: KernelCall, values: &[Value]) -> Result<()> {
        let low = offset_of!(ImageArgs, texel);
        if values.first().is_none_or(|&v| self.shader.ty(v) != Ty::I64) {
            return self.store_rows(part, low, values);
        }
        let words = Elem::I32.by(part.lanes);
        for (i, &v) in values.iter().enumerate() {
            let c = self.lanes_of_call(part, v)?;
            let high = self.b.lshr_imm(c, 32);
            for (field, c) in [(low, c), (offset_of!(ImageArgs, texel_high), high)] {
                let word = self.b.narrow(words, c);
                self.b.store(trusted(AccessReason::Frame, (field + i * ROW) as i32), word, part.args);
            }
        }
        Ok(())
    }

    /// Loads a row of words and widens them to 64-bit integers.
    fn load_wide_words(&mut self, part: KernelCall, field: usize, row: usize) -> C {
        let (words, long) = (Elem::I32.by(part.lanes), Elem::I64.by(part.lanes));
        let c = self.b.load(words, trusted(AccessReason::Frame, (field + row * ROW) as i32), part.args);
        self.b.zext(long, c)
    }

    fn store_zero_row(&mut self, args: C, field: usize) {
        let zero = self.b.constant(Elem::I32.by(MAX_LANES.min(self.lanes.count() as usize)), 0);
        self.b.store(trusted(AccessReason::Frame, field as i32), zero, args);
    }

    fn store_word(&mut self, args: C, field: usize, word: u32) {
        let c = self.b.iconst(Type::I32, i64::from(word));
        self.b.store(trusted(AccessReason::Frame, field as i32), c, args);
    }

    /// Stores values to consecutive rows.
    fn store_rows(&mut self, part: KernelCall, field: usize, values: &[Value]) -> Result<()> {
        values.iter().enumerate().try_for_each(|(i, &v)| self.store_row(part, field + i * ROW, v))
    }

    /// Stores the common fields and calls the kernel. If `effects` is set, only lanes that may
    /// write take part.
    fn call_kernel(
        &mut self,
        part: KernelCall,
        kernel: usize,
        view: Value,
        sampler: Option<Value>,
        effects: bool,
    ) -> Result<()> {
        let args = part.args;
        let mask = self.participating_lanes(effects);
        let bits = match mask {
            Some(mask) => {
                let mask = self.b.slice(mask, part.first, part.lanes);
                self.b.mask_bits(mask)
            }
            None => self.b.iconst(Type::I32, (1 << part.lanes) - 1),
        };
        self.b.store(trusted(AccessReason::Frame, offset_of!(ImageArgs, mask) as i32), bits, args);
        let sampler_rep = sampler.map(|s| self.value_rep(s)).transpose()?;
        let view_rep = self.value_rep(view)?;
        if let (ValueRep::Uniform(view), None | Some(ValueRep::Uniform(_))) = (&view_rep, &sampler_rep) {
            let sampler = match sampler_rep {
                Some(ValueRep::Uniform(s)) => s,
                _ => self.b.iconst(Type::I64, 0),
            };
            self.call_uniform(args, kernel, *view, sampler, kernel == KERNEL_SAMPLE);
            return Ok(());
        }
        self.store_word(args, offset_of!(ImageArgs, kernel), kernel as u32);
        self.call_divergent(part, view, sampler)
    }

    fn call_uniform(&mut self, args: C, kernel: usize, view: C, sampler: C, by_class: bool) {
        let field = offset_of!(ImageView, kernels) + kernel * 8;
        let table = if by_class {
            let class =
                self.b.load(Type::I32, guarded(AccessReason::Field, offset_of!(Sampler, class) as i32), sampler);
            let class = self.b.zext(Type::I64, class);
            let offset = self.b.shl_imm(class, 3);
            self.b.iadd(view, offset)
        } else {
            view
        };
        let function = self.b.load(Type::I64, guarded(AccessReason::Field, field as i32), table);
        self.b.call(function, &[view, sampler, args]);
    }

    fn call_divergent(&mut self, part: KernelCall, view: Value, sampler: Option<Value>) -> Result<()> {
        let args = part.args;
        let views = self.b.iadd_imm(args, size_of::<ImageArgs>() as i64);
        let samplers = self.b.iadd_imm(views, MAX_LANES as i64 * 8);
        for lane in 0..part.lanes {
            let c = self.value_lane(view, part.first + lane)?;
            self.b.store(trusted(AccessReason::Frame, lane as i32 * 8), c, views);
            if let Some(sampler) = sampler {
                let c = self.value_lane(sampler, part.first + lane)?;
                self.b.store(trusted(AccessReason::Frame, lane as i32 * 8), c, samplers);
            }
        }
        let none = self.b.iconst(Type::I64, 0);
        let samplers = if sampler.is_some() { samplers } else { none };
        self.call_helper(Helper::ImageDivergent, &[views, samplers, args]);
        Ok(())
    }

    /// Returns component `i` of the results.
    fn load_result(&mut self, part: KernelCall, i: usize, ty: Ty) -> Result<C> {
        let vector = elem(ty).by(part.lanes);
        if ty == Ty::I64 {
            let low = self.load_wide_words(part, offset_of!(ImageArgs, result), i);
            let high = self.load_wide_words(part, offset_of!(ImageArgs, result_high), i);
            let high = self.b.shl_imm(high, 32);
            return Ok(self.b.or(low, high));
        }
        if !matches!(ty, Ty::I32 | Ty::F32) {
            return Err(Error::unsupported("image results of other than 32 bits"));
        }
        let field = offset_of!(ImageArgs, result) + i * ROW;
        Ok(self.b.load(vector, trusted(AccessReason::Frame, field as i32), part.args))
    }

    /// Emits `Op::Sample`.
    pub fn sample(&mut self, info: &SampleInfo, data: &InstData) -> Result<()> {
        self.call_per_part(data, false, |e, part| e.sample_part(part, info, data))
    }

    fn sample_part(&mut self, part: KernelCall, info: &SampleInfo, data: &InstData) -> Result<()> {
        let args = part.args;
        let mut operands = data.args[2..].iter().copied();
        let mut take = |n: usize| -> Vec<Value> { operands.by_ref().take(n).collect() };
        let coords = take(usize::from(info.coords));
        let dref = take(usize::from(info.dref));
        let lod = take(usize::from(info.lod));
        let grad_x = take(usize::from(info.grad));
        let grad_y = take(usize::from(info.grad));
        let offset = take(usize::from(info.offset));
        let min_lod = take(usize::from(info.min_lod));
        self.store_rows(part, offset_of!(ImageArgs, coord), &coords)?;
        self.store_rows(part, offset_of!(ImageArgs, dref), &dref)?;
        self.store_rows(part, offset_of!(ImageArgs, grad_x), &grad_x)?;
        self.store_rows(part, offset_of!(ImageArgs, grad_y), &grad_y)?;
        self.store_rows(part, offset_of!(ImageArgs, lod), &lod)?;
        self.store_rows(part, offset_of!(ImageArgs, min_lod), &min_lod)?;
        self.store_rows(part, offset_of!(ImageArgs, offset), &offset)?;
        self.store_sample_kind(args, info);
        if matches!(info.op, SampleOp::Gather | SampleOp::GatherDref | SampleOp::ResidentGather) {
            self.store_word(args, offset_of!(ImageArgs, component), u32::from(info.component));
            self.store_word(args, offset_of!(ImageArgs, has_gather_offsets), u32::from(info.gather_offsets.is_some()));
        }
        for (i, o) in info.gather_offsets.iter().flatten().enumerate() {
            self.store_word(args, offset_of!(ImageArgs, gather_offsets) + 4 * i, i32::from(*o) as u32);
        }
        let kernel = match info.op {
            SampleOp::Resident | SampleOp::ResidentGather => KERNEL_RESIDENT,
            _ => KERNEL_SAMPLE,
        };
        self.call_kernel(part, kernel, data.args[0], Some(data.args[1]), false)
    }

    /// Stores the kind of a sample, and zeros in the rows that it does not have.
    fn store_sample_kind(&mut self, args: C, info: &SampleInfo) {
        if !info.lod {
            self.zero_optional_row(args, OptionalRow::Lod);
        }
        if !info.min_lod {
            self.zero_optional_row(args, OptionalRow::MinLod);
        }
        for i in usize::from(info.offset)..3 {
            self.zero_optional_row(args, OptionalRow::Offset(i));
        }
        self.store_word(args, offset_of!(ImageArgs, op), info.op as u32);
        self.store_word(args, offset_of!(ImageArgs, lod_mode), info.lod_mode as u32);
        self.store_word(args, offset_of!(ImageArgs, has_offset), u32::from(info.offset != 0));
    }

    /// Emits a sample of two coordinates, and perhaps a level, for all chunks of the batch. The
    /// parameters are the addresses of the rows of coordinates and of results, and the number of
    /// chunks.
    pub fn sample_chunks(
        &mut self,
        info: &SampleInfo,
        data: &InstData,
        [coords, results, count]: [C; 3],
    ) -> Result<()> {
        let args = self.args_address()?;
        let lod = &data.args[2 + usize::from(info.coords)..];
        self.store_rows(KernelCall { args, first: 0, lanes: MAX_LANES }, offset_of!(ImageArgs, lod), lod)?;
        self.store_sample_kind(args, info);
        self.store_word(args, offset_of!(ImageArgs, mask), (1 << MAX_LANES) - 1);
        self.store_word(args, offset_of!(ImageArgs, row_lanes), self.kernel_lanes() as u32);
        let [view, sampler] = [self.scalar(data.args[0])?, self.scalar(data.args[1])?];
        self.call_helper(Helper::SampleChunks, &[view, sampler, args, coords, results, count]);
        Ok(())
    }

    /// Stores coordinates, level and sample of an unfiltered access; an absent one is 0.
    fn store_texel_address(
        &mut self,
        part: KernelCall,
        coords: &[Value],
        level: Option<Value>,
        sample: Option<Value>,
    ) -> Result<()> {
        self.store_rows(part, offset_of!(ImageArgs, icoord), coords)?;
        for i in coords.len()..3 {
            self.zero_optional_row(part.args, OptionalRow::Coordinate(i));
        }
        for (v, row) in [(level, OptionalRow::Level), (sample, OptionalRow::Sample)] {
            match v {
                Some(v) => self.store_row(part, row.field(), v)?,
                None => self.zero_optional_row(part.args, row),
            }
        }
        Ok(())
    }

    /// Emits `Op::ImageFetch` or `Op::ImageResident`, with the numbers of coordinates, levels and
    /// samples.
    pub fn image_fetch(
        &mut self,
        kernel: usize,
        [coords, level, sample]: [u8; 3],
        kind: TexelKind,
        data: &InstData,
    ) -> Result<()> {
        let (coords, rest) = data.args[1..].split_at(usize::from(coords));
        let (level, others) = rest.split_at(usize::from(level));
        let (level, sample) = (level.first().copied(), others.first().copied().filter(|_| sample != 0));
        let call = |e: &mut Self, part: KernelCall| {
            e.store_texel_address(part, coords, level, sample)?;
            e.call_kernel(part, kernel, data.args[0], None, false)
        };
        let first = level.is_none_or(|level| self.constant_bits(level) == Some(0)) && sample.is_none();
        match self.texel_access(if first { kind } else { TexelKind::None }, data, coords)? {
            Some(site) => self.fetch_texels(&site, data, |e| e.call_parts(data, false, call)),
            None => self.call_per_part(data, false, call),
        }
    }

    /// Emits `Op::ImageStore`.
    pub fn image_store(&mut self, coords: u8, sample: bool, kind: TexelKind, data: &InstData) -> Result<()> {
        let (coords, rest) = data.args[1..].split_at(usize::from(coords));
        let (sample, texel) = rest.split_at(usize::from(sample));
        let call = |e: &mut Self, part: KernelCall| {
            e.store_texel_address(part, coords, None, sample.first().copied())?;
            e.store_texel_rows(part, texel)?;
            e.call_kernel(part, KERNEL_STORE, data.args[0], None, true)
        };
        match self.texel_access(if sample.is_empty() { kind } else { TexelKind::None }, data, coords)? {
            Some(site) => self.store_texels(&site, texel, |e| e.call_per_part(data, true, call)),
            None => self.call_per_part(data, true, call),
        }
    }

    /// Emits `Op::ImageAtomic`. Atomic loads and stores are those of ordinary texels, because a
    /// call is not reordered and no machine tears a texel.
    ///
    /// An exchange whose result is unused is not made a store here: its operand is a texel's word,
    /// which consists of two halves if the format has those.
    pub fn image_atomic(&mut self, op: AtomicOp, coords: u8, sample: bool, data: &InstData) -> Result<()> {
        let kernel = match op {
            AtomicOp::Load => KERNEL_FETCH,
            AtomicOp::Store => KERNEL_STORE,
            _ => KERNEL_ATOMIC,
        };
        let n = 1 + usize::from(coords);
        let operands = &data.args[n + usize::from(sample)..];
        self.call_per_part(data, true, |e, part| {
            e.store_texel_address(part, &data.args[1..n], None, sample.then(|| data.args[n]))?;
            e.store_texel_rows(part, operands)?;
            e.store_word(part.args, offset_of!(ImageArgs, atomic_op), op as u32);
            e.call_kernel(part, kernel, data.args[0], None, true)
        })
    }

    /// Emits `Op::ImageQuery`.
    pub fn image_query(&mut self, query: ImageQuery, data: &InstData) -> Result<()> {
        let uniform_level = match data.args.get(1) {
            Some(&v) => matches!(self.value_rep(v)?, ValueRep::Uniform(_)),
            None => true,
        };
        let rep = match self.value_rep(data.args[0])? {
            ValueRep::Uniform(view) if uniform_level => {
                let level = match data.args.get(1) {
                    Some(&v) => Some(self.scalar(v)?),
                    None => None,
                };
                ValueRep::Uniform(self.query_scalar(query, view, level))
            }
            _ => {
                let mut lanes = Vec::new();
                for lane in 0..self.lanes.count() as usize {
                    let view = self.value_lane(data.args[0], lane)?;
                    let level = match data.args.get(1) {
                        Some(&v) => Some(self.value_lane(v, lane)?),
                        None => None,
                    };
                    lanes.push(self.query_scalar(query, view, level));
                }
                ValueRep::Varying(self.b.build(&lanes))
            }
        };
        self.define(data.result(), rep)
    }

    fn query_scalar(&mut self, query: ImageQuery, view: C, level: Option<C>) -> C {
        let word =
            |e: &mut Self, base: C, field: usize| e.b.load(Type::I32, guarded(AccessReason::Field, field as i32), base);
        let dim_is = |e: &mut Self, dim: Dim| {
            let d = word(e, view, offset_of!(ImageView, dim));
            e.b.icmp_imm(IntCond::Eq, d, dim as i64)
        };
        let extent = match query {
            ImageQuery::Levels => return word(self, view, offset_of!(ImageView, levels)),
            ImageQuery::Samples => return word(self, view, offset_of!(ImageView, samples)),
            ImageQuery::Layers => {
                let layers = word(self, view, offset_of!(ImageView, layers));
                let cubes = self.b.udiv_imm(layers, 6);
                let cube = dim_is(self, Dim::Cube);
                return self.b.select(cube, cubes, layers);
            }
            ImageQuery::Width => offset_of!(ImageLevel, width),
            ImageQuery::Height => offset_of!(ImageLevel, height),
            ImageQuery::Depth => offset_of!(ImageLevel, depth),
        };
        let field = offset_of!(ImageView, level) + extent;
        let base = match level {
            Some(level) => {
                let last = self.b.iconst(Type::I32, MAX_LEVELS as i64 - 1);
                let level = self.b.umin(level, last);
                let level = self.b.zext(Type::I64, level);
                let offset = self.b.imul_imm(level, size_of::<ImageLevel>() as i64);
                self.b.iadd(view, offset)
            }
            None => view,
        };
        let size = word(self, base, field);
        if query != ImageQuery::Width {
            return size;
        }
        let texels = word(self, view, offset_of!(ImageView, texels));
        let buffer = dim_is(self, Dim::Buffer);
        self.b.select(buffer, texels, size)
    }
}
