//! Suspension points, where a call of generated code ends for a chunk, which continues behind the
//! point in a later call. Today these are the barriers of a workgroup; the operation table marks
//! them ([`Effects::SUSPENDS`]).
//!
//! This pass over the IR runs before emission, which only looks up its result. It cuts the program
//! into *segments*. A segment begins behind each point. A construct (If, Loop, Scope) with a point
//! in it begins a segment at the start of each of its regions, and one behind the construct.
//!
//! Within a segment the machine values of one instruction dominate the next. A value that is
//! defined in one segment and used in another does not dominate its use, which may be reached by
//! resuming; it needs a slot.

use super::licm::{HoistLevel, HoistLevels};
use super::region_info::RegionInfos;
use crate::ir::{Effects, Inst, Node, Op, Region, Scope, Shader, Term, Value, ValueDef};
use base::hash::WordMap;
use cranelift_entity::SecondaryMap;

/// A piece of the program; the first one is the code before the shader's body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Segment(u32);

/// A suspension point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspensionPoint {
    /// Number of the point among the resume indices; 0 is the start of the program.
    pub index: u32,
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

/// The suspension points and segments of a shader; empty for a shader without points.
#[derive(Default)]
pub struct Suspension {
    /// Segments of regions whose construct has a point in it, by the address of the region: the
    /// shader is borrowed and not moved while it is emitted.
    regions: WordMap<*const Region, RegionSegments>,
    points: SecondaryMap<Inst, Option<SuspensionPoint>>,
    count: u32,
    defined: SecondaryMap<Value, Segment>,
    crossing: SecondaryMap<Value, bool>,
    /// Values of other segments that the outermost loops without points use, by the address of the
    /// loop's body.
    loops: WordMap<*const Region, Vec<Value>>,
}

impl Suspension {
    /// Walks a shader and finds its segments.
    pub fn analyze(shader: &Shader, region_infos: &RegionInfos<'_>, hoist_levels: &HoistLevels) -> Suspension {
        let out = Suspension::default();
        let mut walk = SegmentWalk {
            shader,
            region_infos,
            hoist_levels,
            out,
            segment: Segment(0),
            segments: 1,
            in_loop: None,
            loop_of: SecondaryMap::new(),
        };
        if region_infos.suspends(&shader.root.body) {
            walk.scope(&shader.root);
        }
        walk.out
    }

    /// Returns the number of points.
    pub fn points(&self) -> u32 {
        self.count
    }
    /// Returns the point of an instruction, if it is one.
    pub fn point(&self, inst: Inst) -> Option<SuspensionPoint> {
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
    /// Returns true if the value is used in another segment than its own.
    pub fn needs_slot(&self, v: Value) -> bool {
        self.crossing[v]
    }
}

struct SegmentWalk<'a> {
    shader: &'a Shader,
    region_infos: &'a RegionInfos<'a>,
    hoist_levels: &'a HoistLevels,
    out: Suspension,
    segment: Segment,
    segments: u32,
    /// The outermost enclosing loop without points; `loop_of` has the last such loop that used each
    /// value.
    in_loop: Option<*const Region>,
    loop_of: SecondaryMap<Value, Option<*const Region>>,
}

impl SegmentWalk<'_> {
    fn new_segment(&mut self) -> Segment {
        self.segments += 1;
        Segment(self.segments - 1)
    }

    fn uses(&mut self, values: &[Value]) {
        for &v in values {
            // Values that no chunk changes are computed before all chunks.
            if self.hoist_levels.level(v) != HoistLevel::Chunk {
                continue;
            }
            // Constants are emitted at each use.
            let constant = match self.shader.values[v].def {
                ValueDef::Inst(inst, _) => matches!(self.shader.insts[inst].op, Op::Const(_)),
                ValueDef::Region => false,
            };
            if !constant && self.out.defined[v] != self.segment {
                self.out.crossing[v] = true;
                if self.in_loop.is_some() && self.loop_of[v] != self.in_loop {
                    self.loop_of[v] = self.in_loop;
                    self.in_loop.into_iter().for_each(|body| self.out.loops.entry(body).or_default().push(v));
                }
            }
        }
    }

    fn defines(&mut self, values: impl IntoIterator<Item = Value>) {
        for v in values {
            self.out.defined[v] = self.segment;
        }
    }

    fn inst(&mut self, inst: Inst) {
        let data = &self.shader.insts[inst];
        self.uses(&data.args);
        if data.op.effects().intersects(Effects::SUSPENDS) {
            self.segment = self.new_segment();
            self.out.count += 1;
            self.out.points[inst] = Some(SuspensionPoint { index: self.out.count, segment: self.segment });
        }
        self.defines(data.results());
    }

    /// Visits the regions of a construct, and then its results. `params` are defined where the
    /// first region begins.
    fn construct(&mut self, regions: &[&Region], params: &[Value], results: &[Value]) {
        let cut = regions.iter().any(|region| self.region_infos.suspends(region));
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
                    let outermost = self.in_loop.is_none() && !self.region_infos.suspends(&n.body);
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
    use crate::ir::random::{Options, compute_shader};
    use crate::passes::divergence;
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
        let div = divergence(shader, 8);
        let (region_infos, hoist_levels) = (RegionInfos::new(shader, &div), HoistLevels::compute(shader, &div));
        let found = Suspension::analyze(shader, &region_infos, &hoist_levels);
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
                    crossing.extend((cut && hoist_levels.level(v) == HoistLevel::Chunk).then_some(v));
                }),
                Event::Defines(values) => values.iter().for_each(|&v| {
                    homes[v] = Some(cuts);
                    assert_eq!(found.defined_in(v), segment, "{v:?}\n{shader}");
                }),
                Event::Point(inst) => {
                    let point = found.point(*inst).expect("a point");
                    points += 1;
                    assert_eq!(point.index, points, "points are numbered in the order of the text");
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
            assert_eq!(found.needs_slot(v), crossing.contains(&v), "{v:?}\n{shader}");
        }
        (points, crossing.len())
    }

    #[test]
    fn segments_match_program_text() {
        let (mut points, mut slots, mut none) = (0, 0, 0);
        for seed in 0..200 {
            let options = Options { barriers: seed % 8 != 0, results: seed % 2 == 0, size: 90, ..Options::default() };
            let (p, s) = check(&compute_shader(seed, options).shader);
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
        let div = divergence(&shader, 8);
        let found =
            Suspension::analyze(&shader, &RegionInfos::new(&shader, &div), &HoistLevels::compute(&shader, &div));
        let (param, sum) = inner.expect("a body");
        // The parameter and its initial value are used in the segment that defines them; the others
        // are used behind an edge or the point.
        assert_eq!([before, within, param, sum].map(|v| found.needs_slot(v)), [true, false, false, true]);
    }
}
