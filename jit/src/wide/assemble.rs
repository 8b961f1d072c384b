//! Places the bytes of the blocks in their order, the jumps between them, and the jump tables and
//! constants behind them.

#![forbid(unsafe_code)]

use super::alloc::RegallocInput;
use super::encode::Buffer;
use super::frame::{Frame, SavedRegisters};
use super::inst::{Code, Op};
use crate::backend::{MAX_FRAME, MachineCode};
use crate::error::{Error, Result};
use regalloc2::{Block, Edit, Function, InstOrEdit, Output};

/// The block where each block's execution continues, and whether the block has no bytes of its own.
struct Threads {
    empty: Vec<bool>,
    to: Vec<usize>,
}

impl Threads {
    /// Finds the blocks that consist of a jump alone, so that jumps to them go to their target.
    fn of(code: &Code, flow: &RegallocInput<'_>, output: &Output) -> Threads {
        let count = code.blocks.len();
        let empty: Vec<bool> = (0..count)
            .map(|i| {
                let insts = &code.blocks[i].insts;
                i != 0 && insts.len() == 1 && insts[0].op == Op::Jump && {
                    let all = output.block_insts_and_edits(flow, Block::new(i));
                    all.into_iter().all(|item| match item {
                        InstOrEdit::Inst(_) => true,
                        InstOrEdit::Edit(Edit::Move { from, to }) => from == to,
                    })
                }
            })
            .collect();
        let end = |start: usize| {
            let mut at = start;
            // An endless loop of empty blocks stays where it is.
            for _ in 0..count {
                if !empty[at] {
                    return at;
                }
                at = code.blocks[at].targets[0].0;
            }
            start
        };
        let to: Vec<usize> = (0..count).map(end).collect();
        let empty = (0..count).map(|i| empty[i] && to[i] != i).collect();
        Threads { empty, to }
    }
}

/// Makes machine code of a function and its allocated registers.
///
/// # Errors
/// Limit: the frame or the code is too large.
pub fn assemble(code: &Code, flow: &RegallocInput<'_>, output: &Output) -> Result<MachineCode> {
    let too_large = || Error::limit("code is too large");
    let kept = SavedRegisters::of(code, flow, output);
    let frame = Frame::of(code, flow, output, &kept).ok_or_else(|| Error::limit("a frame is too large"))?;
    if frame.total() > MAX_FRAME {
        return Err(Error::limit(format!("a frame of {} bytes", frame.total())));
    }
    let threads = Threads::of(code, flow, output);
    let mut buffer = Buffer::default();
    let mut starts = vec![0; code.blocks.len()];
    let mut tables = Vec::new();
    buffer.enter(&frame);
    for (at, &i) in code.order.iter().enumerate() {
        let block = &code.blocks[i];
        starts[i] = buffer.bytes.len();
        if threads.empty[i] {
            continue;
        }
        let next = code.order[at + 1..].iter().copied().find(|&n| !threads.empty[n]);
        for item in output.block_insts_and_edits(flow, Block::new(i)) {
            let number = match item {
                InstOrEdit::Edit(&Edit::Move { from, to }) => {
                    buffer.edits(&[(from, to)], false, &frame);
                    continue;
                }
                InstOrEdit::Inst(number) => number,
            };
            let (inst, allocations) = (flow.inst(number), output.inst_allocs(number));
            let target = |at: usize| threads.to[block.targets[at].0];
            match inst.op {
                Op::Jump if Some(target(0)) == next => {}
                Op::Jump => buffer.jump(target(0)),
                Op::Branch(_) if target(0) == target(1) => {
                    if Some(target(0)) != next {
                        buffer.jump(target(0));
                    }
                }
                Op::Branch(cc) if Some(target(0)) == next => buffer.branch(cc.not(), target(1)),
                Op::Branch(cc) => {
                    buffer.branch(cc, target(0));
                    if Some(target(1)) != next {
                        buffer.jump(target(1));
                    }
                }
                Op::Table => {
                    let targets: Vec<usize> = (0..block.targets.len()).map(target).collect();
                    buffer.table(allocations, &targets, &mut tables);
                }
                Op::Return => buffer.leave(&frame),
                _ => {
                    let kept = kept.by(number);
                    buffer.edits(kept, false, &frame);
                    buffer.inst(inst, allocations, &frame);
                    buffer.edits(kept, true, &frame);
                }
            }
        }
    }
    let Buffer { mut bytes, constants, jumps } = buffer;
    let distance = |bytes: &mut Vec<u8>, at: usize, from: usize, to: usize| -> Result<()> {
        let by = i32::try_from(to as i64 - from as i64).map_err(|_| too_large())?;
        bytes[at..at + 4].copy_from_slice(&by.to_le_bytes());
        Ok(())
    };
    for (at, to) in jumps {
        distance(&mut bytes, at, at + 4, starts[to])?;
    }
    for (at, targets) in tables {
        let table = bytes.len().next_multiple_of(4);
        bytes.resize(table + 4 * targets.len(), 0);
        distance(&mut bytes, at, at + 4, table)?;
        for (i, to) in targets.into_iter().enumerate() {
            distance(&mut bytes, table + 4 * i, table, starts[to])?;
        }
    }
    let offsets = code.pool.finish(&mut bytes);
    for (at, number, offset, behind) in constants {
        let to = offsets[number as usize] + offset;
        distance(&mut bytes, at, at + 4 + usize::from(behind), to as usize)?;
    }
    debug_assert_eq!(flow.num_blocks(), code.blocks.len());
    Ok(MachineCode { bytes: bytes.into(), frame: frame.total() })
}
