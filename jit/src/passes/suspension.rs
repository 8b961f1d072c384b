//! Suspension points, where a call of generated code ends for a chunk or for single lanes, which
//! continue behind the point in a later call. The operation table names the reason
//! ([`OpInfo::suspends`](crate::ir::OpInfo)), and the reason determines who is suspended
//! ([`FrameLayout`]).
//!
//! Emission only looks up the result of this analysis. It cuts the program into *segments*. A
//! segment begins behind each point. A construct (If, Loop, Scope) with a point in it begins a
//! segment at the start of each of its regions, and one behind the construct.
//!
//! Within a segment the machine values of one instruction dominate the next. A value that is
//! defined in one segment and used in another does not dominate its use, which may be reached by
//! resuming. It is kept in the frame, unless it is a constant, is hoisted above all points, or is
//! *rematerialized*: computed again where it is used.
//!
//! If single lanes are suspended, the frame of an invocation ([`FrameInfo`]) is laid out here too,
//! so that it depends on the IR alone. Lanes that continue together need not have come to the point
//! together. A value that a frame keeps may therefore differ between them, whatever it was when it
//! was defined, which [`super::divergence()`] takes into account. Only what is equal for all
//! invocations at all times is rematerialized, and descriptors, because no memory keeps pointers.

use super::util::query_variables;
use crate::error::{Error, Result};
use crate::ir::{
    CostClass, Effects, Inst, InstData, Meaning, Node, Op, Region, Scope, Shader, Space, Term, Ty, Value, ValueDef, Var,
};
use base::hash::WordMap;
use base::limits::{MAX_FRAME_WORDS, MAX_SUSPENSION_POINTS};
use base::shader::{FrameInfo, FrameLayout, SuspensionPoint};
use cranelift_entity::SecondaryMap;

/// Largest number of operations that are computed again for one value, one above the other.
const MAX_REMATERIALIZED: u8 = 3;
/// Largest number of selections between a descriptor and its use behind a point.
const MAX_DESCRIPTOR_SELECTIONS: u8 = 16;

/// A piece of the program; the first one is the code before the shader's body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Segment(u32);

/// The place of a suspension point in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResumePoint {
    /// Number of the point; 0 is the start of the program.
    pub number: u32,
    /// The segment that begins behind the point.
    pub segment: Segment,
}

/// The segments of a region of a construct with a point in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionSegments {
    /// Segment in which the region begins.
    pub start: Segment,
    /// Segment behind the construct.
    pub after: Segment,
}

/// Source of a value in a segment that does not define it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Crossing {
    /// No other segment uses the value.
    #[default]
    Unused,
    /// The frame keeps the value.
    Kept,
    /// The value's instruction is emitted again.
    Rematerialized,
}

/// The suspension points and segments of a shader; empty for a shader without points.
#[derive(Default)]
pub struct Suspension {
    frame_layout: Option<FrameLayout>,
    /// Segments of regions whose construct has a point in it, by the address of the region: the
    /// shader is borrowed and not moved while it is emitted.
    regions: WordMap<*const Region, RegionSegments>,
    points: SecondaryMap<Inst, Option<ResumePoint>>,
    count: u32,
    defined: SecondaryMap<Value, Segment>,
    crossing: SecondaryMap<Value, Crossing>,
    /// Values of other segments that the outermost loops without points use, by the address of the
    /// loop's body.
    loops: WordMap<*const Region, Vec<Value>>,
    frame: FrameInfo,
    /// First word of each kept value and of each private array, in the frame of an invocation.
    value_words: SecondaryMap<Value, Option<u32>>,
    array_words: SecondaryMap<Var, u32>,
}

impl Suspension {
    /// Walks a shader and finds its segments. `is_hoisted` returns true for values that are
    /// computed before all chunks.
    ///
    /// # Errors
    /// Limit: too many points, or too large a frame of an invocation. Unsupported: a descriptor
    /// that control flow chooses lives across a point of single lanes. Invalid: the reasons of two
    /// points need different frames.
    pub fn analyze(shader: &Shader, is_hoisted: &dyn Fn(Value) -> bool) -> Result<Suspension> {
        if shader.live_insts().all(|data| data.op.suspends().is_none()) {
            let words = shader.inputs.len() as u32;
            return Ok(Suspension {
                frame: FrameInfo { words, queries: words, ..FrameInfo::default() },
                ..Suspension::default()
            });
        }
        let mut suspending = SuspendingRegions { shader, regions: WordMap::default(), frame_layout: None };
        suspending.region(&shader.root.body)?;
        let mut walk = SegmentWalk {
            shader,
            is_hoisted,
            suspending: suspending.regions,
            out: Suspension { frame_layout: suspending.frame_layout, ..Suspension::default() },
            segment: Segment(0),
            segments: 1,
            in_loop: None,
            last_use: SecondaryMap::new(),
            found: Vec::new(),
            refused: false,
        };
        if walk.out.frame_layout.is_some() {
            walk.scope(&shader.root);
        }
        if walk.refused {
            return Err(Error::unsupported("a descriptor that control flow chooses lives across a call of a shader"));
        }
        let SegmentWalk { mut out, found, .. } = walk;
        if out.frame_layout != Some(FrameLayout::Chunk) {
            out.lay_out_frame(shader, &found)?;
        }
        Ok(out)
    }

    /// Returns the layout of frames, or `None` if there are no points.
    pub fn frame_layout(&self) -> Option<FrameLayout> {
        self.frame_layout
    }
    /// Returns the number of points.
    pub fn points(&self) -> u32 {
        self.count
    }
    /// Returns the point of an instruction, if it is one.
    pub fn point(&self, inst: Inst) -> Option<ResumePoint> {
        self.points[inst]
    }
    /// Returns the segments of a region, or `None` if no region of its construct has a point in it.
    pub fn region_segments(&self, region: &Region) -> Option<RegionSegments> {
        self.regions.get(&core::ptr::from_ref(region)).copied()
    }
    /// Returns the segment that defines a value.
    pub fn defined_in(&self, v: Value) -> Segment {
        self.defined[v]
    }
    /// Returns the values of other segments that a loop uses, if it is an outermost loop without
    /// points.
    pub fn loop_uses(&self, body: &Region) -> &[Value] {
        self.loops.get(&core::ptr::from_ref(body)).map_or(&[], Vec::as_slice)
    }
    /// Returns true if the frame keeps the value, because another segment than its own uses it.
    pub fn is_kept(&self, v: Value) -> bool {
        self.crossing[v] == Crossing::Kept
    }
    /// Returns true if the value is computed again where other segments use it.
    pub fn is_rematerialized(&self, v: Value) -> bool {
        self.crossing[v] == Crossing::Rematerialized
    }
    /// Returns the frame of an invocation, for stages whose invocations have frames.
    pub fn frame(&self) -> &FrameInfo {
        &self.frame
    }
    /// Returns the word of an invocation's frame from which on the frame keeps a value.
    pub fn value_word(&self, v: Value) -> Option<u32> {
        self.value_words[v]
    }
    /// Returns the first word of a private array in the frame of an invocation, if the invocations
    /// are suspended.
    pub fn array_word(&self, var: Var) -> Option<u32> {
        (self.frame_layout == Some(FrameLayout::Invocation)).then(|| self.array_words[var])
    }

    /// Assigns the words of an invocation's frame; `found` are the points in order.
    fn lay_out_frame(&mut self, shader: &Shader, found: &[Inst]) -> Result<()> {
        if found.len() > MAX_SUSPENSION_POINTS as usize {
            return Err(Error::limit(format!("{} calls of shaders", found.len())));
        }
        let mut last = Vec::new();
        find_last_points(shader, &shader.root.body, &mut last);
        let point = |&inst: &Inst| {
            let data = &shader.insts[inst];
            let reason = data.op.suspends()?;
            let operands = data.args.len() as u32 + reason.new_words();
            let is_last = last.contains(&inst);
            Some(SuspensionPoint { reason, operands, results: data.result_count.into(), is_last })
        };
        let points: Vec<SuspensionPoint> = found.iter().filter_map(point).collect();
        let inputs = points.iter().map(|point| point.operands).max().unwrap_or(0);
        let mut words = u64::from(inputs) + shader.inputs.len() as u64;
        for v in shader.values.keys().filter(|&v| self.crossing[v] == Crossing::Kept) {
            self.value_words[v] = Some(words as u32);
            words += u64::from(words_of(shader.ty(v)));
        }
        let mut queries = words;
        if self.frame_layout.is_some() {
            let of_queries = query_variables(shader);
            for last in [false, true] {
                queries = if last { words } else { queries };
                for (var, data) in shader.vars.iter().filter(|(var, _)| of_queries.contains(*var) == last) {
                    self.array_words[var] = words as u32;
                    words += u64::from(data.len) * u64::from(words_of(data.ty));
                }
            }
        }
        if words > MAX_FRAME_WORDS.into() {
            return Err(Error::limit(format!("{words} words that an invocation keeps during calls of shaders")));
        }
        self.frame = FrameInfo { words: words as u32, inputs, queries: queries as u32, points };
        Ok(())
    }
}

/// Finds the points behind which an invocation has no effect, in a region behind which it has none.
fn find_last_points(shader: &Shader, region: &Region, last: &mut Vec<Inst>) {
    for node in region.nodes.iter().rev() {
        match node {
            Node::Inst(inst) => {
                let info = shader.insts[*inst].op.info();
                if info.effects == Effects::NONE && info.suspends.is_none() {
                    continue;
                }
                last.extend(info.suspends.is_some().then_some(*inst));
            }
            Node::If(n) => [&n.then, &n.else_].into_iter().for_each(|arm| find_last_points(shader, arm, last)),
            Node::Scope(n) => find_last_points(shader, &n.body, last),
            // A point in it may be followed by the next iteration.
            Node::Loop(_) => {}
        }
        return;
    }
}

/// Returns the number of words of a value in the frame of an invocation.
pub fn words_of(ty: Ty) -> u32 {
    ty.bytes().div_ceil(4).max(1)
}

/// Returns true if values of a type are descriptors.
fn is_descriptor(ty: Ty) -> bool {
    matches!(ty, Ty::Buf | Ty::Img | Ty::Smp)
}

/// The regions that contain suspension points.
struct SuspendingRegions<'a> {
    shader: &'a Shader,
    regions: WordMap<*const Region, bool>,
    frame_layout: Option<FrameLayout>,
}

impl SuspendingRegions<'_> {
    /// Visits a region and returns true if it contains a point.
    fn region(&mut self, region: &Region) -> Result<bool> {
        let mut any = false;
        for node in &region.nodes {
            any |= match node {
                Node::Inst(inst) => self.inst(*inst)?,
                Node::If(n) => self.region(&n.then)? | self.region(&n.else_)?,
                Node::Loop(n) => self.region(&n.body)?,
                Node::Scope(n) => self.region(&n.body)?,
            };
        }
        self.regions.insert(core::ptr::from_ref(region), any);
        Ok(any)
    }

    fn inst(&mut self, inst: Inst) -> Result<bool> {
        let Some(reason) = self.shader.insts[inst].op.suspends() else { return Ok(false) };
        match self.frame_layout.replace(reason.frame_layout()) {
            Some(other) if other != reason.frame_layout() => Err(Error::invalid("a barrier beside calls of shaders")),
            _ => Ok(true),
        }
    }
}

/// A segment, and the outermost loop without points that a use lies in.
type LastUse = (Segment, Option<*const Region>);

struct SegmentWalk<'a> {
    shader: &'a Shader,
    is_hoisted: &'a dyn Fn(Value) -> bool,
    /// The regions that contain points.
    suspending: WordMap<*const Region, bool>,
    out: Suspension,
    segment: Segment,
    segments: u32,
    /// The outermost enclosing loop without points.
    in_loop: Option<*const Region>,
    /// Segment and loop of the last use of each value outside of its own segment.
    last_use: SecondaryMap<Value, Option<LastUse>>,
    /// The points in order.
    found: Vec<Inst>,
    /// True if a descriptor would have to be kept in the frame of an invocation.
    refused: bool,
}

impl<'a> SegmentWalk<'a> {
    fn suspends(&self, region: &Region) -> bool {
        self.suspending.get(&core::ptr::from_ref(region)).is_some_and(|&suspends| suspends)
    }

    fn new_segment(&mut self) -> Segment {
        self.segments += 1;
        Segment(self.segments - 1)
    }

    fn uses(&mut self, values: &[Value]) {
        values.iter().for_each(|&v| self.use_(v, MAX_DESCRIPTOR_SELECTIONS));
    }

    /// Visits a use of a value in the current segment. `depth` bounds the descriptors that are
    /// computed again for one use.
    fn use_(&mut self, v: Value, depth: u8) {
        // Constants are emitted at each use, and values that no chunk changes before all chunks.
        if self.shader.as_const(v).is_some() || self.out.defined[v] == self.segment || (self.is_hoisted)(v) {
            return;
        }
        if self.last_use[v].replace((self.segment, self.in_loop)) == Some((self.segment, self.in_loop)) {
            return;
        }
        let again = match self.out.frame_layout {
            Some(FrameLayout::Invocation) => self.rematerializes(v),
            Some(FrameLayout::Chunk) | None => None,
        };
        let descriptor = is_descriptor(self.shader.ty(v)) && self.out.frame_layout == Some(FrameLayout::Invocation);
        match again {
            Some(data) if depth > 0 => {
                self.out.crossing[v] = Crossing::Rematerialized;
                data.args.iter().for_each(|&arg| self.use_(arg, depth - 1));
            }
            _ if descriptor => self.refused = true,
            _ => self.out.crossing[v] = Crossing::Kept,
        }
        self.in_loop.into_iter().for_each(|body| self.out.loops.entry(body).or_default().push(v));
    }

    /// Returns the instruction of a value that is computed again behind points of single lanes.
    fn rematerializes(&self, v: Value) -> Option<&'a InstData> {
        let ValueDef::Inst(inst, _) = self.shader.values[v].def else { return None };
        let again = is_descriptor(self.shader.ty(v)) || self.is_invariant(v, MAX_REMATERIALIZED);
        again.then(|| &self.shader.insts[inst])
    }

    /// Returns true if a value is equal for all invocations at all times, and cheap: at most
    /// `depth` operations lie one above the other.
    fn is_invariant(&self, v: Value, depth: u8) -> bool {
        let ValueDef::Inst(inst, _) = self.shader.values[v].def else { return false };
        let data = &self.shader.insts[inst];
        let info = data.op.info();
        let again = match &data.op {
            Op::Const(_) => return true,
            Op::Load(Space::Push, flags) => !flags.volatile,
            Op::BufferDesc { .. } | Op::ImageDesc { .. } | Op::SamplerDesc { .. } => true,
            Op::StructureDesc { .. } | Op::BufferSize => true,
            _ => info.meaning == Meaning::Exact && info.cost == CostClass::Cheap && info.effects == Effects::NONE,
        };
        again && depth > 0 && data.args.iter().all(|&arg| self.is_invariant(arg, depth - 1))
    }

    fn defines(&mut self, values: impl IntoIterator<Item = Value>) {
        for v in values {
            self.out.defined[v] = self.segment;
        }
    }

    fn inst(&mut self, inst: Inst) {
        let shader = self.shader;
        let data = &shader.insts[inst];
        self.uses(&data.args);
        if data.op.suspends().is_some() {
            self.segment = self.new_segment();
            self.out.count += 1;
            self.out.points[inst] = Some(ResumePoint { number: self.out.count, segment: self.segment });
            self.found.push(inst);
        }
        self.defines(data.results());
    }

    /// Visits the regions of a construct, and then its results. `params` are defined where the
    /// first region begins.
    fn construct(&mut self, regions: &[&Region], params: &[Value], results: &[Value]) {
        let cut = regions.iter().any(|region| self.suspends(region));
        let starts: Vec<Segment> =
            regions.iter().map(|_| if cut { self.new_segment() } else { self.segment }).collect();
        let after = if cut { self.new_segment() } else { self.segment };
        for (&region, start) in regions.iter().zip(starts) {
            if cut {
                self.out.regions.insert(core::ptr::from_ref(region), RegionSegments { start, after });
            }
            self.segment = start;
            self.defines(params.iter().copied());
            self.region(region);
        }
        self.segment = after;
        self.defines(results.iter().copied());
    }

    fn scope(&mut self, n: &Scope) {
        self.construct(&[&n.body], &[], &n.results);
    }

    fn region(&mut self, region: &Region) {
        for node in &region.nodes {
            match node {
                Node::Inst(inst) => self.inst(*inst),
                Node::If(n) => {
                    self.uses(&[n.cond]);
                    self.construct(&[&n.then, &n.else_], &[], &n.results);
                }
                Node::Loop(n) => {
                    self.uses(&n.inits);
                    let outermost = self.in_loop.is_none() && !self.suspends(&n.body);
                    if outermost {
                        self.in_loop = Some(core::ptr::from_ref(&n.body));
                    }
                    self.construct(&[&n.body], &n.params, &n.results);
                    if outermost {
                        self.in_loop = None;
                    }
                }
                Node::Scope(n) => self.scope(n),
            }
        }
        match &region.term {
            Term::Yield(values) | Term::Break(_, values) => self.uses(values),
            Term::Unreachable => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse;
    use jit_test_support::ir_random::{Options, compute_shader};
    use std::collections::HashSet;

    /// Events of the program in textual order.
    enum Event {
        Uses(Vec<Value>),
        Defines(Vec<Value>),
        Point(Inst),
        /// Start of a region of a construct with a point in it; `End` is the end of the construct.
        Begin(*const Region),
        End(*const Region),
    }

    fn suspends(shader: &Shader, region: &Region) -> bool {
        region.nodes.iter().any(|node| match node {
            Node::Inst(i) => shader.insts[*i].op == Op::Barrier,
            Node::If(n) => suspends(shader, &n.then) || suspends(shader, &n.else_),
            Node::Loop(n) => suspends(shader, &n.body),
            Node::Scope(n) => suspends(shader, &n.body),
        })
    }

    fn construct(shader: &Shader, regions: &[&Region], params: &[Value], results: &[Value], out: &mut Vec<Event>) {
        let cut = regions.iter().any(|r| suspends(shader, r));
        for &region in regions {
            out.extend(cut.then_some(Event::Begin(region)));
            out.push(Event::Defines(params.to_vec()));
            events(shader, region, out);
        }
        out.extend(cut.then(|| Event::End(regions[0])));
        out.push(Event::Defines(results.to_vec()));
    }

    fn events(shader: &Shader, region: &Region, out: &mut Vec<Event>) {
        for node in &region.nodes {
            match node {
                Node::Inst(i) => {
                    let data = &shader.insts[*i];
                    if matches!(data.op, Op::Const(_)) {
                        continue;
                    }
                    out.push(Event::Uses(data.args.to_vec()));
                    out.extend((data.op == Op::Barrier).then_some(Event::Point(*i)));
                    out.push(Event::Defines(data.results().collect()));
                }
                Node::If(n) => {
                    out.push(Event::Uses(vec![n.cond]));
                    construct(shader, &[&n.then, &n.else_], &[], &n.results, out);
                }
                Node::Loop(n) => {
                    out.push(Event::Uses(n.inits.to_vec()));
                    construct(shader, &[&n.body], &n.params, &n.results, out);
                }
                Node::Scope(n) => construct(shader, &[&n.body], &[], &n.results, out),
            }
        }
        if let Term::Yield(values) | Term::Break(_, values) = &region.term {
            out.push(Event::Uses(values.to_vec()));
        }
    }

    /// Compares the segments of a shader with its text. Returns the number of points and the number
    /// of values that need slots.
    fn check(shader: &Shader) -> (u32, usize) {
        // Some values are hoisted, as emission does.
        let is_hoisted = |v: Value| v.as_u32().is_multiple_of(5);
        let found = Suspension::analyze(shader, &is_hoisted).expect("an analysis");
        let mut text = Vec::new();
        construct(shader, &[&shader.root.body], &[], &shader.root.results, &mut text);
        let (mut cuts, mut points) = (0, 0);
        let mut homes: SecondaryMap<Value, Option<u32>> = SecondaryMap::new();
        let mut crossing = HashSet::new();
        let (mut segment, mut seen) = (Segment(0), HashSet::from([Segment(0)]));
        for event in &text {
            match event {
                Event::Uses(values) => values.iter().for_each(|&v| {
                    // A cut lies in between, so the definition does not dominate the use.
                    let cut = homes[v].is_some_and(|home| home != cuts);
                    crossing.extend((cut && !is_hoisted(v)).then_some(v));
                }),
                Event::Defines(values) => values.iter().for_each(|&v| {
                    homes[v] = Some(cuts);
                    assert_eq!(found.defined_in(v), segment, "{v:?}\n{shader}");
                }),
                Event::Point(inst) => {
                    let point = found.point(*inst).expect("a point");
                    points += 1;
                    assert_eq!(point.number, points, "points are numbered in the order of the text");
                    segment = point.segment;
                }
                Event::Begin(region) => segment = found.regions[region].start,
                Event::End(region) => segment = found.regions[region].after,
            }
            if matches!(event, Event::Point(_) | Event::Begin(_) | Event::End(_)) {
                cuts += 1;
                assert!(seen.insert(segment), "{segment:?} begins twice\n{shader}");
            }
        }
        assert_eq!(found.points(), points);
        for v in shader.values.keys() {
            assert_eq!(found.is_kept(v), crossing.contains(&v), "{v:?}\n{shader}");
        }
        (points, crossing.len())
    }

    #[test]
    fn segments_match_program_text() {
        let (mut points, mut slots, mut none) = (0, 0, 0);
        for seed in 0..200 {
            let options = Options { barriers: seed % 8 != 0, results: seed % 2 == 0, size: 90, ..Options::default() };
            let (p, s) = check(&parse(&compute_shader(seed, options).shader.to_string()).expect("IR"));
            (points, slots, none) = (points + p, slots + s, none + u32::from(p == 0));
            assert!(p != 0 || s == 0, "slots without points");
        }
        assert!(points > 200 && slots > 400 && none > 20, "{points} points, {slots} slots, {none} without");
    }

    #[test]
    fn loop_carried_values_need_slots() {
        use crate::ir::{Builder, Builtin, Ty};
        let mut shader = Shader::new(base::shader::Stage::Compute, "test");
        let mut b = Builder::new(&mut shader);
        let (before, within) =
            (b.builtin(Builtin::LocalInvocationIndex, Ty::I32), b.builtin(Builtin::SubgroupInvocation, Ty::I32));
        let mut inner = None;
        b.loop_(&[within], &[Ty::I32], |b, label, p| {
            let sum = b.binary(crate::ir::Binary::IAdd, p[0], before);
            b.inst(Op::Barrier, &[], &[]);
            inner = Some((p[0], sum));
            Term::Break(label, vec![sum])
        });
        b.finish();
        check(&shader);
        let found = Suspension::analyze(&shader, &|_| false).expect("an analysis");
        let (param, sum) = inner.expect("a body");
        // The parameter and its initial value are used in the segment that defines them; the others
        // are used behind an edge or the point.
        assert_eq!([before, within, param, sum].map(|v| found.is_kept(v)), [true, false, false, true]);
    }
}
