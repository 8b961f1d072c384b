//! SSA from variables: where a value is joined from several blocks it becomes a block parameter (Braun et al., Simple and Efficient
//! Construction of Static Single Assignment Form). Nothing is recursive: functions have as many blocks as they like.

#![forbid(unsafe_code)]

use super::build::Builder;
use super::ssa::Variable;
use super::{Args, Block, Def, Type, Value, ValueData};

/// A parameter whose arguments are being looked for.
struct Frame {
    block: Block,
    param: Value,
    args: Args,
}

impl Builder {
    /// A new variable.
    pub fn declare_var(&mut self, ty: Type) -> Variable {
        self.ssa.types.push(ty)
    }

    /// Sets a variable.
    pub fn def_var(&mut self, var: Variable, value: Value) {
        debug_assert_eq!(self.ssa.types[var], self.ty(value));
        let block = self.current();
        self.ssa.defs.insert((var, block), value);
    }

    /// What a variable holds; zero where nothing was set.
    pub fn use_var(&mut self, var: Variable) -> Value {
        let block = self.current();
        let mut frames = Vec::new();
        let found = self.look(var, block, &mut frames);
        found.unwrap_or_else(|| self.complete(var, frames))
    }

    /// No more edges to the block will come.
    pub fn seal_block(&mut self, block: Block) {
        let entries = &mut self.ssa.entries[block];
        if std::mem::replace(&mut entries.sealed, true) {
            return;
        }
        for (var, param) in std::mem::take(&mut entries.incomplete) {
            self.complete(var, vec![Frame { block, param, args: Args::new() }]);
        }
    }

    /// Seals what is not sealed.
    pub fn seal_all_blocks(&mut self) {
        for block in self.func.blocks.keys() {
            self.seal_block(block);
        }
    }

    /// Looks from the end of a block upwards. Where several blocks meet there will be a parameter: in a sealed block a new
    /// frame for whose arguments the caller must look.
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
        // The blocks in between have one predecessor each.
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

    /// A parameter for a variable.
    fn param_of(&mut self, var: Variable, block: Block) -> Value {
        let param = self.func.values.push(ValueData { ty: self.ssa.types[var], def: Def::Param(block) });
        self.func.blocks[block].params.push(param);
        if !self.ssa.entries[block].sealed {
            self.ssa.entries[block].incomplete.push((var, param));
        }
        param
    }

    /// Finds the arguments of the frames' parameters; the value of the first one.
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

    /// Gives a parameter its arguments, or drops it when they are all the same.
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
