//! Reader of a binary, which splits words into instructions, definitions, decorations, functions
//! and blocks.
//!
//! Everything here is independent of entry point and specialisation, so one [`Module`] serves many
//! pipelines. Memory is linear in the input: ids beyond [`MAX_BOUND`] are refused, and side tables
//! are indexed by definition, not by raw id. No word of the input is trusted: later stages look ids
//! up with [`Module::def`] and get an error, never a panic.

use super::flow::{BlockIx, FlowGraph};
use super::opcodes::{self, op};
use crate::error::{Error, Result};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Largest id bound (universal limit of the SPIR-V specification).
pub(crate) const MAX_BOUND: u32 = 0x3f_ffff;
/// Member number in [`Module::decoration`] that stands for no member.
pub(crate) const NO_MEMBER: u32 = u32::MAX;

/// Nesting depth of a module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nesting {
    /// Bound on the nesting of regions when an entry point is translated.
    pub regions: u32,
    /// Bound on the nesting of types.
    pub types: u32,
}

/// A parsed module.
#[derive(Clone, Debug)]
pub struct Module {
    words: Arc<[u32]>,
    insts: Vec<Record>,
    /// Definition number of each raw id.
    index: Vec<u32>,
    /// Instruction of each definition number.
    defs: Vec<u32>,
    /// True if there are opcodes that have no row in the table.
    has_unknown: bool,
    decorations: Vec<Decoration>,
    /// Set of the decorations that occur: bit `k` stands for decoration `k` below 64. Most
    /// decorations are looked up everywhere and occur nowhere.
    decoration_kinds: u64,
    /// Ids with the instruction of their OpName, sorted. Of several names of an id, the last one
    /// counts.
    names: Vec<(u32, u32)>,
    /// Instructions before the first function.
    pub(crate) globals: Range<u32>,
    pub(crate) functions: Vec<Function>,
    entry_points: Vec<EntryPoint>,
    pub(crate) capabilities: Vec<u32>,
    pub(crate) extensions: Vec<String>,
    pub(crate) memory_model: (u32, u32),
    /// Imported instruction sets by id, sorted.
    ext_sets: Vec<(u32, ExtSet)>,
    /// Entry point and instruction of every OpExecutionMode and OpExecutionModeId.
    pub(crate) execution_modes: Vec<(u32, u32)>,
    /// Result of [`Module::nesting`], once it is computed.
    pub(super) nesting: OnceLock<Nesting>,
}

/// Returns the bit of a kind of decoration in [`Module::decoration_kinds`], if it has one.
#[inline]
fn kind_bit(kind: u32) -> Option<u64> {
    1u64.checked_shl(kind)
}

/// An entry point of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPoint {
    /// Number of the SPIR-V ExecutionModel.
    pub model: u32,
    /// Id of the function.
    pub function: u32,
    /// Name of the entry point.
    pub name: String,
    /// Ids of the interface variables.
    pub interface: Vec<u32>,
}

/// An imported extended instruction set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExtSet {
    Glsl450,
    /// A `NonSemantic.*` set. Its instructions are ignored, and all of their operands are ids.
    NonSemantic,
    /// Debug information from before `NonSemantic.*`. Its instructions are ignored, and some of
    /// their operands are literals.
    Debug,
    Other(String),
}

#[derive(Clone, Copy, Debug)]
struct Record {
    pos: u32,
    op: u16,
    len: u16,
    /// True if the instruction has a result type, and true if it has a result.
    has: (bool, bool),
}

/// An instruction split into result type, result and operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'m> {
    pub op: u16,
    /// Result type id, or 0.
    pub ty: u32,
    /// Result id, or 0.
    pub result: u32,
    /// Operands that follow result type and result.
    pub args: &'m [u32],
}

impl View<'_> {
    /// Returns number and name of the opcode, for messages.
    pub fn opcode(&self) -> (u16, &'static str) {
        (self.op, opcodes::name(self.op))
    }
    /// Returns an operand, or an error if the instruction is too short.
    pub fn arg(&self, i: usize) -> Result<u32> {
        self.args.get(i).copied().ok_or_else(|| Error::invalid("operand missing").at(self.opcode(), self.result))
    }
}

#[derive(Clone, Copy, Debug)]
struct Decoration {
    target: u32,
    member: u32,
    kind: u32,
    /// Position of the first operand word.
    start: u32,
    len: u32,
}

/// A function with a body.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub id: u32,
    pub result_ty: u32,
    pub params: Vec<u32>,
    pub blocks: Vec<Block>,
    /// All instructions from OpFunction to OpFunctionEnd.
    pub insts: Range<u32>,
    /// Control-flow graph of the function, once it is computed (`validate::dominance::flow`).
    pub flow: OnceLock<FlowGraph>,
}

/// A basic block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub label: u32,
    /// Instructions, without label, merge instruction and terminator.
    pub body: Range<u32>,
    pub merge: Merge,
    pub end: End,
    /// Instruction number of the terminator.
    pub end_inst: u32,
    pub has_phi: bool,
}

/// Merge instruction of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    None,
    Selection(BlockIx),
    Loop { merge: BlockIx, cont: BlockIx },
}

/// Terminator of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Branch(BlockIx),
    Cond(u32, BlockIx, BlockIx),
    /// The targets of a switch are read by the structuriser, because their literals depend on the
    /// selector's type.
    Switch(u32),
    Return,
    ReturnValue(u32),
    Kill,
    /// The terminator is OpEmitMeshTasksEXT.
    Tasks,
    /// The terminator is OpIgnoreIntersectionKHR.
    IgnoreIntersection,
    /// The terminator is OpTerminateRayKHR.
    TerminateRay,
    Unreachable,
    Unsupported,
}

impl Module {
    /// Reads a module. Only lengths, single definitions of ids, and blocks with their ends are
    /// checked.
    pub(super) fn read(words: Arc<[u32]>) -> Result<Module> {
        Reader::new(words)?.read()
    }

    /// Returns the numbers of the capabilities that the module declares.
    pub fn capabilities(&self) -> &[u32] {
        &self.capabilities
    }

    /// Returns the module's entry points.
    pub fn entry_points(&self) -> &[EntryPoint] {
        &self.entry_points
    }

    /// Returns the words that the module was parsed from.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Returns the number of instructions.
    pub(crate) fn instructions(&self) -> u32 {
        self.insts.len() as u32
    }

    /// Returns the opcode of an instruction.
    pub(crate) fn opcode(&self, inst: u32) -> u16 {
        self.insts[inst as usize].op
    }

    /// Returns all decorations with groups expanded: target, member or [`NO_MEMBER`], decoration,
    /// operands.
    pub(crate) fn decorations(&self) -> impl Iterator<Item = (u32, u32, u32, &[u32])> {
        let words = |d: &Decoration| &self.words[d.start as usize..(d.start + d.len) as usize];
        self.decorations.iter().map(move |d| (d.target, d.member, d.kind, words(d)))
    }

    /// Returns true if there are opcodes that have no row in the table.
    pub(crate) fn has_unknown(&self) -> bool {
        self.has_unknown
    }

    /// Returns the number of definitions.
    pub(crate) fn def_count(&self) -> usize {
        self.defs.len()
    }

    /// Returns the definition number of an id.
    #[inline]
    pub(crate) fn dense(&self, id: u32) -> Option<usize> {
        match self.index.get(id as usize) {
            Some(&n) if n != u32::MAX => Some(n as usize),
            _ => None,
        }
    }

    /// Returns the instruction that defines an id.
    #[inline]
    pub(crate) fn def(&self, id: u32) -> Result<View<'_>> {
        let n = self.dense(id).ok_or_else(|| Error::invalid("id is not defined").with_id(id))?;
        Ok(self.view(self.defs[n]))
    }

    /// Returns the instruction number of a definition.
    pub(crate) fn definition(&self, number: usize) -> u32 {
        self.defs[number]
    }

    /// Returns the instruction number of an id's definition.
    pub(crate) fn def_inst(&self, id: u32) -> Option<u32> {
        self.dense(id).map(|n| self.defs[n])
    }

    /// Splits an instruction into its parts. `inst` must be an instruction number of this module.
    pub(crate) fn view(&self, inst: u32) -> View<'_> {
        let r = self.insts[inst as usize];
        let words = &self.words[r.pos as usize + 1..r.pos as usize + r.len as usize];
        view(r.op, r.has, words)
    }

    /// Returns the operands of a decoration of an id or of a struct member.
    #[inline]
    pub(crate) fn decoration(&self, target: u32, member: u32, kind: u32) -> Option<&[u32]> {
        if kind_bit(kind).is_some_and(|bit| self.decoration_kinds & bit == 0) {
            return None;
        }
        self.find_decoration(target, member, kind)
    }

    fn find_decoration(&self, target: u32, member: u32, kind: u32) -> Option<&[u32]> {
        let at = self.decorations.partition_point(|d| (d.target, d.member, d.kind) < (target, member, kind));
        let d = self.decorations.get(at)?;
        let found = (d.target, d.member, d.kind) == (target, member, kind);
        found.then(|| &self.words[d.start as usize..(d.start + d.len) as usize])
    }

    /// Returns true if an id has the decoration.
    pub(crate) fn decorated(&self, target: u32, kind: u32) -> bool {
        self.decoration(target, NO_MEMBER, kind).is_some()
    }

    /// Returns the first literal of a decoration.
    pub(crate) fn decoration_value(&self, target: u32, member: u32, kind: u32) -> Option<u32> {
        self.decoration(target, member, kind)?.first().copied()
    }

    /// Returns the OpName of an id, or an empty string.
    pub(crate) fn name(&self, id: u32) -> String {
        let behind = self.names.partition_point(|name| name.0 <= id);
        let inst = self.names[..behind].last().filter(|name| name.0 == id).map(|name| name.1);
        inst.and_then(|i| literal_string(&self.view(i).args[1..])).map_or_else(String::new, |(s, _)| s)
    }

    /// Returns the extended instruction set of an id.
    pub(crate) fn ext_set(&self, id: u32) -> Option<&ExtSet> {
        let at = self.ext_sets.binary_search_by_key(&id, |set| set.0).ok()?;
        Some(&self.ext_sets[at].1)
    }

    /// Returns true for an instruction of a set that is ignored. It does not count as a use of its
    /// operands.
    pub(crate) fn is_ignored(&self, v: View<'_>) -> bool {
        matches!(v.op, op::OpExtInst | op::OpExtInstWithForwardRefsKHR)
            && v.args.first().is_some_and(|&set| matches!(self.ext_set(set), Some(ExtSet::NonSemantic | ExtSet::Debug)))
    }

    /// Returns the number of the function with that id.
    pub(crate) fn function(&self, id: u32) -> Option<usize> {
        let inst = self.def_inst(id)?;
        self.functions.binary_search_by_key(&inst, |f| f.insts.start).ok()
    }

    /// Returns the block of a function with that label id.
    pub(crate) fn block_of(&self, blocks: &[Block], label: u32) -> Option<BlockIx> {
        let inst = self.def_inst(label)?;
        // The label's instruction directly precedes the block's first one.
        let i = blocks.binary_search_by_key(&inst, |b| b.body.start - 1).ok()?;
        Some(i as BlockIx)
    }
}

#[inline]
fn view(op: u16, (has_type, has_result): (bool, bool), words: &[u32]) -> View<'_> {
    let (ty, rest) = taken(has_type, words);
    let (result, args) = taken(has_result, rest);
    View { op, ty, result, args }
}

/// Returns the first word if there is one, or 0, and the remaining words.
#[inline]
fn taken(first: bool, words: &[u32]) -> (u32, &[u32]) {
    match words {
        [word, rest @ ..] if first => (*word, rest),
        _ => (0, words),
    }
}

/// Returns the number of words of a literal string, or `None` if it is not terminated.
pub(crate) fn string_words(words: &[u32]) -> Option<usize> {
    words.iter().position(|w| w.to_le_bytes().contains(&0)).map(|i| i + 1)
}

/// Returns a literal string and its number of words, or `None` if it is not terminated.
pub(crate) fn literal_string(words: &[u32]) -> Option<(String, usize)> {
    let mut bytes = Vec::new();
    for (i, w) in words.iter().enumerate() {
        for b in w.to_le_bytes() {
            if b == 0 {
                return Some((String::from_utf8_lossy(&bytes).into_owned(), i + 1));
            }
            bytes.push(b);
        }
    }
    None
}

/// State of the reader.
struct Reader {
    m: Module,
}

/// A block while it is read. Labels are resolved when the function is complete.
struct RawBlock {
    label: u32,
    start: u32,
    end: u32,
    merge: Option<u32>,
    end_inst: u32,
    has_phi: bool,
}

impl Reader {
    fn new(words: Arc<[u32]>) -> Result<Reader> {
        let [magic, version, _, bound, _, ..] = *words else {
            return Err(Error::invalid("module shorter than its header"));
        };
        if magic != 0x0723_0203 {
            return Err(Error::invalid("wrong magic number"));
        }
        if !(0x1_0000..=0x1_06ff).contains(&version) || version & 0xff != 0 {
            return Err(Error::unsupported(format!("SPIR-V version {}.{}", version >> 16, version >> 8 & 0xff)));
        }
        if bound > MAX_BOUND {
            return Err(Error::limit(format!("id bound {bound} is above {MAX_BOUND}")));
        }
        let m = Module {
            words,
            insts: Vec::new(),
            index: Vec::new(),
            defs: Vec::new(),
            has_unknown: false,
            decorations: Vec::new(),
            decoration_kinds: 0,
            names: Vec::new(),
            globals: 0..0,
            functions: Vec::new(),
            entry_points: Vec::new(),
            capabilities: Vec::new(),
            extensions: Vec::new(),
            memory_model: (0, 0),
            ext_sets: Vec::new(),
            execution_modes: Vec::new(),
            nesting: OnceLock::new(),
        };
        Ok(Reader { m })
    }

    fn read(mut self) -> Result<Module> {
        self.split()?;
        let count = self.m.insts.len() as u32;
        let first = self.m.insts.iter().position(|r| r.op == op::OpFunction).map_or(count, |i| i as u32);
        self.m.globals = 0..first;
        let mut groups = Vec::new();
        for inst in 0..first {
            self.global(inst, &mut groups)?;
        }
        self.m.names.sort_unstable();
        self.m.ext_sets.sort_unstable_by_key(|set| set.0);
        self.sort_decorations();
        if !groups.is_empty() {
            self.expand_groups(&groups)?;
        }
        self.functions(first..count)?;
        Ok(self.m)
    }

    /// Splits the words into instructions and records definitions.
    fn split(&mut self) -> Result<()> {
        let bound = self.m.words[3];
        // Instructions have three or four words on average, and at most about as many ids are
        // defined.
        self.m.insts.reserve(self.m.words.len() / 3);
        self.m.defs.reserve(self.m.words.len() / 5);
        self.m.index.resize((bound as usize).min(self.m.words.len()), u32::MAX);
        let mut pos = 5;
        while pos < self.m.words.len() {
            let word = self.m.words[pos];
            let (op, len) = (word as u16, (word >> 16) as usize);
            if len == 0 || pos + len > self.m.words.len() {
                return Err(Error::invalid("instruction does not fit the module").at((op, opcodes::name(op)), 0));
            }
            let mut has = (false, false);
            if let Some(row) = opcodes::row(op) {
                has = row.has;
                if len - 1 < usize::from(row.least) {
                    return Err(Error::invalid("instruction too short").at((op, row.name), 0));
                }
                let id = view(op, has, &self.m.words[pos + 1..pos + len]).result;
                if row.has.1 {
                    self.define(id, bound).map_err(|e| e.at((op, row.name), id))?;
                }
            } else {
                self.m.has_unknown = true;
            }
            self.m.insts.push(Record { pos: pos as u32, op, len: len as u16, has });
            pos += len;
        }
        Ok(())
    }

    fn define(&mut self, id: u32, bound: u32) -> Result<()> {
        if id == 0 || id >= bound {
            return Err(Error::invalid("result id outside the id bound"));
        }
        if self.m.index.len() <= id as usize {
            self.m.index.resize(id as usize + 1, u32::MAX);
        }
        let slot = &mut self.m.index[id as usize];
        if *slot != u32::MAX {
            return Err(Error::invalid("result id is defined twice"));
        }
        *slot = self.m.defs.len() as u32;
        self.m.defs.push(self.m.insts.len() as u32);
        Ok(())
    }

    /// Reads one instruction before the first function. `groups` collects group decorations.
    fn global(&mut self, inst: u32, groups: &mut Vec<u32>) -> Result<()> {
        let v = self.m.view(inst);
        let bad_string = || Error::invalid("string is not terminated").at(v.opcode(), v.result);
        match v.op {
            op::OpCapability => {
                let cap = v.args[0];
                self.m.capabilities.push(cap);
            }
            op::OpExtension => {
                let name = literal_string(v.args).ok_or_else(bad_string)?.0;
                self.m.extensions.push(name);
            }
            op::OpExtInstImport => {
                let name = literal_string(v.args).ok_or_else(bad_string)?.0;
                let set = match name.as_str() {
                    "GLSL.std.450" => ExtSet::Glsl450,
                    "OpenCL.DebugInfo.100" | "DebugInfo" => ExtSet::Debug,
                    n if n.starts_with("NonSemantic.") => ExtSet::NonSemantic,
                    _ => ExtSet::Other(name),
                };
                let result = v.result;
                self.m.ext_sets.push((result, set));
            }
            op::OpMemoryModel => self.m.memory_model = (v.args[0], v.args[1]),
            op::OpEntryPoint => {
                let (name, used) = literal_string(&v.args[2..]).ok_or_else(bad_string)?;
                let interface = v.args[2 + used..].to_vec();
                let e = EntryPoint { model: v.args[0], function: v.args[1], name, interface };
                self.m.entry_points.push(e);
            }
            op::OpExecutionMode | op::OpExecutionModeId => {
                let target = v.args[0];
                self.m.execution_modes.push((target, inst));
            }
            op::OpName => {
                let target = v.args[0];
                self.m.names.push((target, inst));
            }
            op::OpDecorate | op::OpDecorateId | op::OpDecorateString => self.decorate(inst, false)?,
            op::OpMemberDecorate | op::OpMemberDecorateString | op::OpMemberDecorateIdEXT => {
                self.decorate(inst, true)?
            }
            op::OpGroupDecorate | op::OpGroupMemberDecorate => groups.push(inst),
            _ => {}
        }
        Ok(())
    }

    fn decorate(&mut self, inst: u32, of_member: bool) -> Result<()> {
        let v = self.m.view(inst);
        let target = v.args[0];
        let (member, at) = if of_member { (v.args[1], 2) } else { (NO_MEMBER, 1) };
        let kind = v.arg(at)?;
        let len = (v.args.len() - at - 1) as u32;
        let r = self.m.insts[inst as usize];
        let start = r.pos + u32::from(r.len) - len;
        self.m.decoration_kinds |= kind_bit(kind).unwrap_or(0);
        self.m.decorations.push(Decoration { target, member, kind, start, len });
        Ok(())
    }

    fn sort_decorations(&mut self) {
        self.m.decorations.sort_by_key(|d| (d.target, d.member, d.kind));
    }

    /// Copies the decorations of groups to their targets.
    fn expand_groups(&mut self, groups: &[u32]) -> Result<()> {
        let mut copies = Vec::new();
        for &inst in groups {
            let v = self.m.view(inst);
            let group = v.args[0];
            let from = self.m.decorations.partition_point(|d| d.target < group);
            let to = self.m.decorations.partition_point(|d| d.target <= group);
            let step = if v.op == op::OpGroupDecorate { 1 } else { 2 };
            for pair in v.args[1..].chunks_exact(step) {
                let member = if step == 1 { NO_MEMBER } else { pair[1] };
                copies.extend(self.m.decorations[from..to].iter().map(|d| Decoration {
                    target: pair[0],
                    member,
                    ..*d
                }));
                if copies.len() > 64 * 1024 + 4 * self.m.words.len() {
                    return Err(Error::limit("too many group decorations").at(v.opcode(), group));
                }
            }
        }
        self.m.decorations.extend(copies);
        self.sort_decorations();
        Ok(())
    }

    /// Reads the function section.
    fn functions(&mut self, range: Range<u32>) -> Result<()> {
        let mut inst = range.start;
        while inst < range.end {
            let v = self.m.view(inst);
            match v.op {
                op::OpFunction => inst = self.function(inst, range.end)?,
                op::OpLine | op::OpNoLine | op::OpNop | op::OpExtInst | op::OpExtInstWithForwardRefsKHR => inst += 1,
                _ => return Err(Error::invalid("instruction outside a function").at(v.opcode(), v.result)),
            }
        }
        Ok(())
    }

    /// Reads one function from OpFunction on. Returns the instruction that follows its end.
    fn function(&mut self, start: u32, limit: u32) -> Result<u32> {
        let head = self.m.view(start);
        let (id, result_ty) = (head.result, head.ty);
        let fail = |message: &str| Error::invalid(message).at((op::OpFunction, "OpFunction"), id);
        let (mut params, mut blocks) = (Vec::new(), Vec::<RawBlock>::new());
        let mut open = false;
        let mut inst = start + 1;
        loop {
            if inst >= limit {
                return Err(fail("function has no OpFunctionEnd"));
            }
            let v = self.m.view(inst);
            match v.op {
                op::OpFunctionEnd if !open => break,
                op::OpFunctionParameter if blocks.is_empty() => params.push(v.result),
                op::OpLabel if !open => {
                    open = true;
                    blocks.push(RawBlock {
                        label: v.result,
                        start: inst + 1,
                        end: inst + 1,
                        merge: None,
                        end_inst: 0,
                        has_phi: false,
                    });
                }
                op::OpLine | op::OpNoLine | op::OpNop if !open => {}
                // Compilers emit debug information after the end of a block.
                _ if !open && self.m.is_ignored(v) => {}
                op::OpFunction | op::OpFunctionEnd | op::OpFunctionParameter | op::OpLabel => {
                    return Err(Error::invalid("misplaced in a function").at(v.opcode(), v.result));
                }
                _ => {
                    let Some(block) = blocks.last_mut().filter(|_| open) else {
                        return Err(Error::invalid("instruction outside a block").at(v.opcode(), v.result));
                    };
                    if block.merge.is_some() && !is_terminator(v.op) && !matches!(v.op, op::OpLine | op::OpNoLine) {
                        return Err(Error::invalid("instruction between merge and terminator").at(v.opcode(), v.result));
                    }
                    match v.op {
                        op::OpSelectionMerge | op::OpLoopMerge => block.merge = Some(inst),
                        op::OpPhi => block.has_phi = true,
                        _ => {}
                    }
                    if is_terminator(v.op) {
                        block.end_inst = inst;
                        block.end = block.merge.unwrap_or(inst);
                        open = false;
                    }
                }
            }
            inst += 1;
        }
        let blocks = self.resolve(&blocks)?;
        self.m.functions.push(Function {
            id,
            result_ty,
            params,
            blocks,
            insts: start..inst + 1,
            flow: OnceLock::new(),
        });
        Ok(inst + 1)
    }

    /// Resolves label ids to block indices.
    fn resolve(&self, raw: &[RawBlock]) -> Result<Vec<Block>> {
        let target = |label: u32, v: View<'_>| -> Result<BlockIx> {
            let inst = self.m.def_inst(label);
            let found = inst.and_then(|i| raw.binary_search_by_key(&i, |b| b.start - 1).ok());
            found
                .map(|i| i as BlockIx)
                .ok_or_else(|| Error::invalid("target is not a block of this function").at(v.opcode(), label))
        };
        raw.iter()
            .map(|b| {
                let merge = match b.merge.map(|i| self.m.view(i)) {
                    None => Merge::None,
                    Some(v) if v.op == op::OpSelectionMerge => Merge::Selection(target(v.args[0], v)?),
                    Some(v) => Merge::Loop { merge: target(v.args[0], v)?, cont: target(v.args[1], v)? },
                };
                let v = self.m.view(b.end_inst);
                let end = match v.op {
                    op::OpBranch => End::Branch(target(v.args[0], v)?),
                    op::OpBranchConditional => End::Cond(v.args[0], target(v.args[1], v)?, target(v.args[2], v)?),
                    op::OpSwitch => End::Switch(v.args[0]),
                    op::OpReturn => End::Return,
                    op::OpReturnValue => End::ReturnValue(v.args[0]),
                    op::OpKill | op::OpTerminateInvocation => End::Kill,
                    op::OpUnreachable => End::Unreachable,
                    op::OpEmitMeshTasksEXT => End::Tasks,
                    op::OpIgnoreIntersectionKHR => End::IgnoreIntersection,
                    op::OpTerminateRayKHR => End::TerminateRay,
                    _ => End::Unsupported,
                };
                Ok(Block { label: b.label, body: b.start..b.end, merge, end, end_inst: b.end_inst, has_phi: b.has_phi })
            })
            .collect()
    }
}

fn is_terminator(number: u16) -> bool {
    matches!(
        number,
        op::OpBranch
            | op::OpBranchConditional
            | op::OpSwitch
            | op::OpReturn
            | op::OpReturnValue
            | op::OpKill
            | op::OpTerminateInvocation
            | op::OpUnreachable
            | op::OpIgnoreIntersectionKHR
            | op::OpTerminateRayKHR
            | op::OpEmitMeshTasksEXT
    )
}
