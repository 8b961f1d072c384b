//! Image instructions: sampling, fetching, storing and queries.

use super::module::View;
use super::opcodes::op;
use super::translator::Translator;
use super::types::{ImageType, Type, UNTYPED};
use super::value::{Desc, Flat, Handle, Pointer, PointerTarget, Val};
use crate::error::{Error, Result};
use crate::ir::{Binary, Builtin, Cmp, Convert, ImageQuery, Op, SampleInfo, Ty, Value};
use base::abi::{LodMode, SampleOp, TexelKind};
use smallvec::SmallVec;

const DIM_1D: u32 = 0;
const DIM_3D: u32 = 2;
const DIM_CUBE: u32 = 3;
const DIM_BUFFER: u32 = 5;
const DIM_SUBPASS: u32 = 6;

/// Numbers of image formats.
const FORMAT_RGBA16F: u32 = 2;
const FORMAT_RG16F: u32 = 7;

/// Kinds of texels that generated code can read directly, by format. If the module has no format,
/// the most common one is assumed.
const KINDS: &[(u32, Ty, TexelKind)] = &[
    (0, Ty::F32, TexelKind::Unorm8),
    (0, Ty::I32, TexelKind::Word),
    (1, Ty::F32, TexelKind::Words),
    (3, Ty::F32, TexelKind::Float),
    (4, Ty::F32, TexelKind::Unorm8),
    (21, Ty::I32, TexelKind::Words),
    (24, Ty::I32, TexelKind::Word),
    (30, Ty::I32, TexelKind::Words),
    (33, Ty::I32, TexelKind::Word),
];

/// Returns the kind of an image's texels, as the module declares it.
fn texel_kind(t: &ImageType) -> TexelKind {
    let found = KINDS.iter().find(|(format, ty, _)| (*format, *ty) == (t.format, t.texel));
    found.map_or(TexelKind::None, |(.., kind)| *kind)
}

type Args = SmallVec<[Value; 12]>;

/// Image operands of an instruction.
#[derive(Default)]
struct Operands {
    bias: Option<Value>,
    lod: Option<Value>,
    grad: Option<(Flat, Flat)>,
    offset: Option<Flat>,
    gather_offsets: Option<[i8; 8]>,
    sample: Option<Value>,
    min_lod: Option<Value>,
}

/// Operation and operands of a sampling opcode.
struct Sampling {
    op: SampleOp,
    dref: bool,
    proj: bool,
    /// True for an explicit level of detail or a gather, which have no implicit level.
    explicit: bool,
}

fn sampling(number: u16) -> Option<Sampling> {
    let row = |op, dref, proj, explicit| Some(Sampling { op, dref, proj, explicit });
    match number {
        op::OpImageSampleImplicitLod => row(SampleOp::Sample, false, false, false),
        op::OpImageSampleExplicitLod => row(SampleOp::Sample, false, false, true),
        op::OpImageSampleDrefImplicitLod => row(SampleOp::SampleDref, true, false, false),
        op::OpImageSampleDrefExplicitLod => row(SampleOp::SampleDref, true, false, true),
        op::OpImageSampleProjImplicitLod => row(SampleOp::Sample, false, true, false),
        op::OpImageSampleProjExplicitLod => row(SampleOp::Sample, false, true, true),
        op::OpImageSampleProjDrefImplicitLod => row(SampleOp::SampleDref, true, true, false),
        op::OpImageSampleProjDrefExplicitLod => row(SampleOp::SampleDref, true, true, true),
        op::OpImageGather => row(SampleOp::Gather, false, false, true),
        op::OpImageDrefGather => row(SampleOp::GatherDref, true, false, true),
        op::OpImageQueryLod => row(SampleOp::QueryLod, false, false, false),
        _ => None,
    }
}

/// Returns the instruction that gives the texel of a sparse one. The projective ones are reserved.
fn dense(number: u16) -> Option<u16> {
    match number {
        op::OpImageSparseSampleImplicitLod..=op::OpImageSparseSampleDrefExplicitLod
        | op::OpImageSparseFetch..=op::OpImageSparseDrefGather => {
            Some(number - op::OpImageSparseSampleImplicitLod + op::OpImageSampleImplicitLod)
        }
        op::OpImageSparseRead => Some(op::OpImageRead),
        _ => None,
    }
}

/// Returns the number of spatial dimensions.
fn spatial(t: &ImageType) -> usize {
    match t.dim {
        DIM_1D | DIM_BUFFER => 1,
        DIM_3D | DIM_CUBE => 3,
        _ => 2,
    }
}

impl Translator<'_> {
    /// Translates an image instruction.
    pub fn image_op(&mut self, v: View<'_>) -> Result<()> {
        // The first member of a sparse instruction's result reports whether the accessed texels are
        // bound to memory.
        let (number, sparse) = dense(v.op).map_or((v.op, false), |number| (number, true));
        if let Some(kind) = sampling(number) {
            let flat = self.sample(v, &kind, sparse)?;
            return self.result(v, flat);
        }
        let flat = match number {
            op::OpSampledImage => {
                let (image, sampler) = (self.handle(v.arg(0)?)?, self.handle(v.arg(1)?)?);
                let h = Handle { image: image.image, sampler: sampler.sampler };
                return self.set(v.result, Val::Handle(h));
            }
            op::OpImage => {
                let h = self.handle(v.arg(0)?)?;
                return self.set(v.result, Val::Handle(Handle { sampler: None, ..h }));
            }
            op::OpImageTexelPointer => return self.texel_pointer(v),
            op::OpUntypedImageTexelPointerEXT => return self.untyped_texel_pointer(v),
            op::OpImageFetch | op::OpImageRead => self.fetch(v, sparse)?,
            op::OpImageSparseTexelsResident => {
                let (code, zero) = (self.operand1(v, 0)?, self.b.i32(0));
                self.all_of(&[code], Ty::I32)?;
                [self.b.cmp(Cmp::INe, code, zero)].into_iter().collect()
            }
            op::OpImageWrite => return self.write(v),
            op::OpImageQuerySizeLod..=op::OpImageQuerySamples => self.query(v)?,
            _ => return Err(Error::unsupported("not implemented")),
        };
        self.result(v, flat)
    }

    /// Returns the handle, descriptor and type of an image operand.
    fn image_operand(&mut self, id: u32) -> Result<(Handle, Desc, ImageType)> {
        let h = self.handle(id)?;
        let (desc, ty) = h.image.ok_or_else(|| Error::invalid("operand is not an image").with_id(id))?;
        Ok((h, desc, self.image_type(ty)?))
    }

    fn image_type(&self, ty: u32) -> Result<ImageType> {
        match *self.s.ty(ty)? {
            Type::Image(t) => Ok(t),
            _ => Err(Error::invalid("not an image type").with_id(ty)),
        }
    }

    fn image_value(&mut self, d: Desc) -> Value {
        self.b.val(Op::ImageDesc { set: d.set, binding: d.binding }, &[d.index], Ty::Img)
    }

    /// Reads the image operands from the operand `at` on.
    fn image_operands(&mut self, v: View<'_>, at: usize) -> Result<Operands> {
        let mut o = Operands::default();
        let Some(&mask) = v.args.get(at) else { return Ok(o) };
        let mut ids = v.args[at + 1..].iter().copied();
        let mut next = || ids.next().ok_or_else(|| Error::invalid("image operand missing"));
        if mask & !0xffff != 0 {
            return Err(Error::unsupported(format!("image operands {mask:#x}")));
        }
        for bit in (0..16).filter(|bit| mask >> bit & 1 != 0) {
            match bit {
                0 => o.bias = Some(self.scalar(next()?)?),
                1 => o.lod = Some(self.scalar(next()?)?),
                2 => o.grad = Some((self.flat(next()?)?, self.flat(next()?)?)),
                3 | 4 => o.offset = Some(self.flat(next()?)?),
                5 => o.gather_offsets = Some(self.const_offsets(next()?)?),
                6 => o.sample = Some(self.scalar(next()?)?),
                7 => o.min_lod = Some(self.scalar(next()?)?),
                // MakeTexelAvailable and MakeTexelVisible have a scope each, which is ignored
                // because memory is coherent here.
                8 | 9 => _ = next()?,
                // NonPrivateTexel, VolatileTexel, SignExtend, ZeroExtend and Nontemporal have no
                // operands and no effect.
                _ => {}
            }
        }
        Ok(o)
    }

    fn const_offsets(&mut self, id: u32) -> Result<[i8; 8]> {
        let bits = self.s.constant_leaves(id)?;
        let mut out = [0; 8];
        if bits.len() != out.len() {
            return Err(Error::invalid("ConstOffsets is not an array of four pairs").with_id(id));
        }
        for (o, &b) in out.iter_mut().zip(bits.iter()) {
            *o = i8::try_from(b as u32 as i32).map_err(|_| Error::limit("gather offset").with_id(id))?;
        }
        Ok(out)
    }

    fn all_of(&self, values: &[Value], ty: Ty) -> Result<()> {
        if values.iter().all(|&v| self.b.ty(v) == ty) {
            Ok(())
        } else {
            Err(Error::invalid("operand of another component type"))
        }
    }

    fn sample(&mut self, v: View<'_>, kind: &Sampling, sparse: bool) -> Result<Flat> {
        let (handle, desc, t) = self.image_operand(v.arg(0)?)?;
        let sampler = handle.sampler.ok_or_else(|| Error::invalid("image without a sampler"))?;
        if t.ms || matches!(t.dim, DIM_BUFFER | DIM_SUBPASS) {
            return Err(Error::invalid("image of this type cannot be sampled"));
        }
        let gather = matches!(kind.op, SampleOp::Gather | SampleOp::GatherDref);
        let query = kind.op == SampleOp::QueryLod;
        let n = spatial(&t) + usize::from(t.arrayed && !query);
        let mut coords = self.operand(v, 1)?;
        if coords.len() < n + usize::from(kind.proj) {
            return Err(Error::invalid("too few coordinates"));
        }
        self.all_of(&coords, Ty::F32)?;
        // The third operand is a reference. Gathers without a reference have a component there.
        let third = (kind.dref || gather).then(|| self.operand1(v, 2)).transpose()?;
        let o = if query { Operands::default() } else { self.image_operands(v, 2 + usize::from(third.is_some()))? };
        let mut dref = third.filter(|_| kind.dref);
        if kind.proj {
            let q = coords[n];
            for c in &mut coords[..n] {
                *c = self.b.bin(Binary::FDiv, *c, q);
            }
            dref = dref.map(|d| self.b.bin(Binary::FDiv, d, q));
        }
        let component = match third {
            Some(_) if kind.op == SampleOp::Gather => (self.s.constant_bits(v.arg(2)?)? & 3) as u8,
            _ => 0,
        };
        // Implicit levels need differences between the lanes of a quad. Without quads, level 0 is
        // used.
        let implicit = !kind.explicit && o.grad.is_none() && o.lod.is_none();
        let (mode, lod) = match (&o.grad, o.lod) {
            (Some(_), _) => (LodMode::Grad, None),
            (None, Some(lod)) => (LodMode::Explicit, Some(lod)),
            _ if implicit && (self.stage.has_quads() || self.compute_quads.is_some()) => (LodMode::Implicit, o.bias),
            _ => (LodMode::Explicit, Some(self.b.float(Ty::F32, 0.0))),
        };
        let lod = lod.map(|l| if self.b.ty(l) == Ty::I32 { self.b.cvt(Convert::SToF, l, Ty::F32) } else { l });
        let mut args = Args::new();
        args.push(self.image_value(desc));
        args.push(self.b.val(
            Op::SamplerDesc { set: sampler.set, binding: sampler.binding },
            &[sampler.index],
            Ty::Smp,
        ));
        args.extend_from_slice(&coords[..n]);
        args.extend(dref);
        args.extend(lod);
        let grad = o.grad.as_ref().map_or(0, |(x, _)| x.len());
        if let Some((x, y)) = &o.grad {
            if x.len() != spatial(&t) || y.len() != spatial(&t) {
                return Err(Error::invalid("gradient of another size"));
            }
            args.extend(x.iter().chain(y).copied());
        }
        self.all_of(&args[2..], Ty::F32)?;
        let offset = o.offset.unwrap_or_default();
        if offset.len() > 3 {
            return Err(Error::invalid("offset of another size"));
        }
        self.all_of(&offset, Ty::I32)?;
        args.extend_from_slice(&offset);
        args.extend(o.min_lod);
        let info = SampleInfo {
            op: kind.op,
            lod_mode: mode,
            coords: n as u8,
            dref: dref.is_some(),
            lod: lod.is_some(),
            grad: grad as u8,
            offset: offset.len() as u8,
            min_lod: o.min_lod.is_some(),
            component,
            gather_offsets: o.gather_offsets,
        };
        let tys: &[Ty] = match kind.op {
            SampleOp::Sample | SampleOp::Gather => &[t.texel; 4],
            SampleOp::GatherDref => &[Ty::F32; 4],
            SampleOp::SampleDref => &[Ty::F32],
            SampleOp::QueryLod => &[Ty::F32; 2],
            SampleOp::Resident | SampleOp::ResidentGather => &[Ty::I32],
        };
        let mut out = Flat::new();
        if sparse {
            let op = if gather { SampleOp::ResidentGather } else { SampleOp::Resident };
            out.push(self.b.val(Op::Sample(SampleInfo { op, component: 0, ..info }), &args, Ty::I32));
        }
        let texel = self.b.vals(Op::Sample(info), &args, tys);
        // The result of a comparison is 0 or 1, or between them if it is filtered. An image of
        // integers gives a number of its own component type.
        let compares = matches!(kind.op, SampleOp::SampleDref | SampleOp::GatherDref);
        let integer = compares && t.texel != Ty::F32;
        out.extend(texel.into_iter().map(|x| if integer { self.b.cvt(Convert::FToU, x, t.texel) } else { x }));
        Ok(out)
    }

    /// Returns integer coordinates: x, y, z or layer.
    fn texel_coords(&mut self, id: u32, t: &ImageType) -> Result<Flat> {
        let mut coords = self.flat(id)?;
        if t.dim == DIM_SUBPASS {
            return self.subpass_coords(&coords);
        }
        let n = (spatial(t) + usize::from(t.arrayed)).min(3);
        if coords.len() < n {
            return Err(Error::invalid("too few coordinates"));
        }
        coords.truncate(n);
        self.all_of(&coords, Ty::I32)?;
        Ok(coords)
    }

    /// Returns the coordinates of a subpass input, which are relative to the fragment. The layer is
    /// the fragment's.
    fn subpass_coords(&mut self, relative: &[Value]) -> Result<Flat> {
        if relative.len() < 2 || !self.stage.has_quads() {
            return Err(Error::invalid("subpass input"));
        }
        self.all_of(relative, Ty::I32)?;
        let mut out = Flat::new();
        for (c, &by) in (0u8..2).zip(relative) {
            let at = self.b.val(Op::Builtin(Builtin::FragCoord(c)), &[], Ty::F32);
            let at = self.b.cvt(Convert::FToS, at, Ty::I32);
            out.push(self.b.add(at, by));
        }
        out.push(self.b.val(Op::Builtin(Builtin::Layer), &[], Ty::I32));
        Ok(out)
    }

    fn fetch(&mut self, v: View<'_>, sparse: bool) -> Result<Flat> {
        let (_, desc, t) = self.image_operand(v.arg(0)?)?;
        let coords = self.texel_coords(v.arg(1)?, &t)?;
        let o = self.image_operands(v, 2)?;
        if o.offset.is_some() && o.offset.as_ref().is_some_and(|f| f.len() > coords.len()) {
            return Err(Error::invalid("offset of another size"));
        }
        let mut args = Args::new();
        args.push(self.image_value(desc));
        let offset = o.offset.unwrap_or_default();
        for (i, &c) in coords.iter().enumerate() {
            args.push(offset.get(i).map_or(c, |&by| self.b.bin(Binary::IAdd, c, by)));
        }
        args.extend(o.lod);
        args.extend(o.sample);
        self.all_of(&args[1..], Ty::I32)?;
        let (coords, level, sample) = (coords.len() as u8, o.lod.is_some(), o.sample.is_some());
        let mut out = Flat::new();
        if sparse {
            out.push(self.b.val(Op::ImageResident { coords, level, sample }, &args, Ty::I32));
        }
        out.extend(self.b.vals(Op::ImageFetch { coords, level, sample, kind: texel_kind(&t) }, &args, &[t.texel; 4]));
        // OpImageRead may ask for fewer components.
        out.truncate(self.s.flat_leaves(v.ty)?);
        Ok(out)
    }

    fn write(&mut self, v: View<'_>) -> Result<()> {
        let (_, desc, t) = self.image_operand(v.arg(0)?)?;
        if t.sampled == 1 {
            return Err(Error::invalid("image of this type cannot be written"));
        }
        let coords = self.texel_coords(v.arg(1)?, &t)?;
        let mut texel = self.operand(v, 2)?;
        let o = self.image_operands(v, 3)?;
        self.all_of(&texel, t.texel)?;
        // Components of a long vector that the format does not have are ignored.
        let zero = self.b.konst(t.texel, 0);
        texel.resize(4, zero);
        let mut args = Args::new();
        args.push(self.image_value(desc));
        args.extend_from_slice(&coords);
        args.extend(o.sample);
        self.all_of(&args[1..], Ty::I32)?;
        args.extend_from_slice(&texel);
        let op = Op::ImageStore { coords: coords.len() as u8, sample: o.sample.is_some(), kind: texel_kind(&t) };
        self.b.emit(op, &args, &[]);
        self.b.shader.side_effects = true;
        Ok(())
    }

    fn texel_pointer(&mut self, v: View<'_>) -> Result<()> {
        let Pointer { ty, place: PointerTarget::Resource(r) } = self.pointer(v.arg(0)?)? else {
            return Err(Error::invalid("operand is not a pointer to an image"));
        };
        let t = self.image_type(ty)?;
        let coords = self.texel_coords(v.arg(1)?, &t)?;
        let sample = if t.ms { Some(self.operand1(v, 2)?) } else { None };
        let Type::Pointer { to, .. } = *self.s.ty(v.ty)? else { return Err(Error::invalid("result is not a pointer")) };
        if !self.fits_texel(ty, to)? {
            return Err(Error::invalid("result does not point to the image's component type"));
        }
        let image = self.image_of(&r, ty)?;
        let place = PointerTarget::Texel { image, image_ty: ty, coords, sample };
        self.set(v.result, Val::Ptr(Pointer { ty: to, place }))
    }

    /// Translates a pointer to a texel whose type the accessing instruction defines.
    fn untyped_texel_pointer(&mut self, v: View<'_>) -> Result<()> {
        let ty = v.arg(0)?;
        let PointerTarget::Resource(r) = self.pointer(v.arg(1)?)?.place else {
            return Err(Error::invalid("operand is not a pointer to an image"));
        };
        let t = self.image_type(ty)?;
        let coords = self.texel_coords(v.arg(2)?, &t)?;
        let sample = if t.ms { Some(self.operand1(v, 3)?) } else { None };
        let place = PointerTarget::Texel { image: self.image_of(&r, ty)?, image_ty: ty, coords, sample };
        self.pointer_result(v, Pointer { ty: UNTYPED, place })
    }

    /// Returns true if an atomic on type `ty` is allowed on the image. Vectors of halves are in
    /// images of floats.
    pub fn fits_texel(&self, image_ty: u32, ty: u32) -> Result<bool> {
        let t = self.image_type(image_ty)?;
        Ok(match self.s.half_vector(ty)? {
            None => self.s.scalar(ty)? == t.texel,
            Some(n) => t.texel == Ty::F32 && t.format == if n == 2 { FORMAT_RG16F } else { FORMAT_RGBA16F },
        })
    }

    /// Returns the arguments of an atomic on a texel (image, coordinates and sample), with the
    /// properties that its operation must have.
    pub fn texel_args(
        &mut self,
        image: Desc,
        coords: &[Value],
        sample: Option<Value>,
    ) -> (SmallVec<[Value; 8]>, u8, bool) {
        let mut args = SmallVec::new();
        args.push(self.image_value(image));
        args.extend_from_slice(coords);
        args.extend(sample);
        (args, coords.len() as u8, sample.is_some())
    }

    fn query(&mut self, v: View<'_>) -> Result<Flat> {
        let (_, desc, t) = self.image_operand(v.arg(0)?)?;
        let img = self.image_value(desc);
        let one = |t: &mut Self, q: ImageQuery, level: Option<Value>| {
            let args: Flat = std::iter::once(img).chain(level).collect();
            t.b.val(Op::ImageQuery(q), &args, Ty::I32)
        };
        match v.op {
            op::OpImageQueryLevels => return Ok(Flat::from_slice(&[one(self, ImageQuery::Levels, None)])),
            op::OpImageQuerySamples => return Ok(Flat::from_slice(&[one(self, ImageQuery::Samples, None)])),
            op::OpImageQuerySizeLod | op::OpImageQuerySize => {}
            _ => return Err(Error::unsupported("not implemented")),
        }
        let level = if v.op == op::OpImageQuerySizeLod { self.operand1(v, 1)? } else { self.b.i32(0) };
        let level = self.b.int_as(level, Ty::I32);
        let dims = if t.dim == DIM_CUBE { 2 } else { spatial(&t) };
        let kinds = [ImageQuery::Width, ImageQuery::Height, ImageQuery::Depth];
        let mut out: Flat = kinds[..dims].iter().map(|&q| one(self, q, Some(level))).collect();
        if t.arrayed {
            out.push(one(self, ImageQuery::Layers, None));
        }
        Ok(out)
    }
}
