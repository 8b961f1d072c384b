//! Inputs of a shader's invocations that the scheduler sets, found once for a launch.

#![forbid(unsafe_code)]

use base::shader::{BuiltinSlot, CompiledStage, RayValue, SlotKind};

/// Consecutive words of the payload or of the callable data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRun {
    /// The first of the words in the frame.
    pub own: u32,
    /// Number of the first word in the data.
    pub location: u32,
    /// Number of words.
    pub count: u32,
}

/// Consecutive words of a value of the ray.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueRun {
    /// The value.
    pub value: RayValue,
    /// Number of the first word in the value.
    pub first: u32,
    /// The first of the words in the frame.
    pub own: u32,
    /// Number of words.
    pub count: u32,
}

/// The inputs of a shader.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct InputPlan {
    /// Words of the payload or of the callable data.
    pub data: Vec<DataRun>,
    /// Words of `data` that the shader may change.
    pub results: Vec<DataRun>,
    /// Words of values.
    pub values: Vec<ValueRun>,
    /// Words in the frame of inputs that no ray has, which are 0.
    pub zeros: Vec<u32>,
}

impl InputPlan {
    /// Makes the plan of a shader.
    pub fn new(stage: &CompiledStage) -> InputPlan {
        let first = stage.info.frame.as_ref().map_or(0, |frame| frame.inputs);
        let (inputs, outputs) = (&stage.info.interface.inputs, &stage.info.interface.outputs);
        let mut plan = Self::of_inputs(first, inputs.iter().map(|slot| slot.kind));
        // Outputs are in place of the inputs of the same kind.
        let changed = inputs.iter().map(|slot| match slot.kind {
            SlotKind::User { .. } if !outputs.iter().any(|output| output.kind == slot.kind) => None,
            kind => Some(kind),
        });
        let unchanged = SlotKind::Builtin(BuiltinSlot::Position(0));
        plan.results = Self::of_inputs(first, changed.map(|kind| kind.unwrap_or(unchanged))).data;
        plan
    }

    fn of_inputs(first: u32, inputs: impl Iterator<Item = SlotKind>) -> InputPlan {
        let mut plan = InputPlan::default();
        for (own, kind) in (first..).zip(inputs) {
            match kind {
                SlotKind::User { location, .. } => match plan.data.last_mut() {
                    Some(run) if run.own + run.count == own && run.location + run.count == location => run.count += 1,
                    _ => plan.data.push(DataRun { own, location, count: 1 }),
                },
                SlotKind::Builtin(BuiltinSlot::Ray(input)) => {
                    let word = u32::from(input.word);
                    match plan.values.last_mut() {
                        Some(run)
                            if run.value == input.value
                                && run.own + run.count == own
                                && run.first + run.count == word =>
                        {
                            run.count += 1;
                        }
                        _ => plan.values.push(ValueRun { value: input.value, first: word, own, count: 1 }),
                    }
                }
                SlotKind::Builtin(_) => plan.zeros.push(own),
            }
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::shader::RayWord;

    #[test]
    fn consecutive_words_are_runs() {
        let data = |location| SlotKind::User { location, component: 0, index: 0 };
        let value = |value, word| SlotKind::Builtin(BuiltinSlot::Ray(RayWord { value, word }));
        let inputs = [
            data(0),
            data(1),
            value(RayValue::LaunchId, 0),
            value(RayValue::LaunchId, 1),
            value(RayValue::LaunchSize, 2),
            data(2),
            data(4),
        ];
        let plan = InputPlan::of_inputs(10, inputs.into_iter());
        let run = |own, location, count| DataRun { own, location, count };
        assert_eq!(plan.data, [run(10, 0, 2), run(15, 2, 1), run(16, 4, 1)]);
        let run = |value, first, own, count| ValueRun { value, first, own, count };
        assert_eq!(plan.values, [run(RayValue::LaunchId, 0, 12, 2), run(RayValue::LaunchSize, 2, 14, 1)]);
    }
}
