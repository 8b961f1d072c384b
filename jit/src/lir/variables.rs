//! SSA from variables: a value that merges from several blocks becomes a block parameter (Braun et
//! al., Simple and Efficient Construction of Static Single Assignment Form). The algorithm is not
//! recursive, because functions may have any number of blocks.

#![forbid(unsafe_code)]

use super::build::Builder;
use super::ssa::Variable;
use super::{Args, Block, Def, Type, Value, ValueData};

/// A parameter whose arguments are being searched.
struct Frame {
    block: Block,
    param: Value,
    args: Args,
}

impl Builder {
    /// Declares a variable.
    pub fn declare_var(&mut self, ty: Type) -> Variable {
        self.ssa.types.push(ty)
    }

    /// Sets a variable in the current block.
    pub fn def_var(&mut self, var: Variable, value: Value) {
        debug_assert_eq!(self.ssa.types[var], self.ty(value));
        let block = self.current();
        self.ssa.defs.insert((var, block), value);
    }

    /// Returns the value of a variable in the current block. It is zero if the variable was never
    /// set.
    pub fn use_var(&mut self, var: Variable) -> Value {
        let block = self.current();
        let mut frames = Vec::new();
        let found = self.look(var, block, &mut frames);
        found.unwrap_or_else(|| self.complete(var, frames))
    }

    /// Seals a block, to which no more edges will be added.
    pub fn seal_block(&mut self, block: Block) {
        let entries = &mut self.ssa.entries[block];
        if std::mem::replace(&mut entries.sealed, true) {
            return;
        }
        for (var, param) in std::mem::take(&mut entries.incomplete) {
            self.complete(var, vec![Frame { block, param, args: Args::new() }]);
        }
    }

    /// Seals all blocks that are not sealed yet.
    pub fn seal_all_blocks(&mut self) {
        for block in self.func.blocks.keys() {
            self.seal_block(block);
        }
    }

    /// Searches a definition upwards from the end of a block. A block with several predecessors
    /// gets a parameter. If it is sealed, that is a new frame, whose arguments the caller must
    /// search.
    fn look(&mut self, var: Variable, from: Block, frames: &mut Vec<Frame>) -> Option<Value> {
        let mut block = from;
        let (found, frame) = loop {
            if let Some(&v) = self.ssa.defs.get(&(var, block)) {
                break (self.resolve(v), false);
            }
            let entries = &self.ssa.entries[block];
            let sealed = entries.sealed;
            match entries.preds[..] {
                [(pred, _)] if sealed => block = pred,
                [] if sealed => break (self.constant(self.ssa.types[var], 0), false),
                _ => break (self.param_of(var, block), sealed),
            }
        };
        // Each of the blocks in between has one predecessor.
        let mut at = from;
        while at != block {
            self.ssa.defs.insert((var, at), found);
            at = self.ssa.entries[at].preds[0].0;
        }
        self.ssa.defs.insert((var, block), found);
        if !frame {
            return Some(found);
        }
        frames.push(Frame { block, param: found, args: Args::new() });
        None
    }

    /// Appends a parameter for a variable to a block.
    fn param_of(&mut self, var: Variable, block: Block) -> Value {
        let param = self.func.values.push(ValueData { ty: self.ssa.types[var], def: Def::Param(block) });
        self.func.blocks[block].params.push(param);
        if !self.ssa.entries[block].sealed {
            self.ssa.entries[block].incomplete.push((var, param));
        }
        param
    }

    /// Finds the arguments of the parameters of all frames. Returns the value of the first frame.
    fn complete(&mut self, var: Variable, mut frames: Vec<Frame>) -> Value {
        loop {
            let top = frames.len() - 1;
            let frame = &frames[top];
            if let Some(&(pred, _)) = self.ssa.entries[frame.block].preds.get(frame.args.len()) {
                if let Some(v) = self.look(var, pred, &mut frames) {
                    frames[top].args.push(v);
                }
                continue;
            }
            let Some(frame) = frames.pop() else { unreachable!("the loop ends with the first frame") };
            let value = self.join(frame);
            match frames.last_mut() {
                Some(parent) => parent.args.push(value),
                None => return value,
            }
        }
    }

    /// Gives a parameter its arguments, or drops it if all arguments are the same.
    fn join(&mut self, Frame { block, param, args }: Frame) -> Value {
        let mut others = args.iter().map(|&v| self.resolve(v)).filter(|&v| v != param);
        let only = match others.next() {
            Some(first) if others.all(|v| v == first) => Some(first),
            Some(_) => None,
            None => Some(self.constant(self.ty(param), 0)),
        };
        if let Some(only) = only {
            self.func.blocks[block].params.retain(|p| *p != param);
            self.func.values[param].def = Def::Alias(only);
            return only;
        }
        let preds = self.ssa.entries[block].preds.clone();
        for ((pred, target), arg) in preds.into_iter().zip(args) {
            self.func.blocks[pred].targets[target as usize].args.push(arg);
        }
        param
    }
}
