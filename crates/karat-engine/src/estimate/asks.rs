//! What steps ask that can be known before any call, since nothing they need has to be made first.

use karat_types::{Ask, CellError, Turn};
use serde_json::Value;

use crate::files::Library;
use crate::row::{Row, step_input};
use crate::steps::StepEnd;
use crate::systems::{ReadyStep, ReadySystem, Systems};

/// Why a cell is not made: known before any call.
pub(crate) enum Idle {
    /// A condition leaves it out.
    Skipped,
    /// It fails.
    Fails(CellError),
}

/// What a step asks first, given the output before it.
pub(crate) fn first_asks(
    row: &Row,
    system: &ReadySystem,
    step: &ReadyStep,
    output: Option<&Value>,
) -> Result<Vec<Ask>, Idle> {
    let mut input = step_input(row, system, output);
    input.model = step.model.clone().or(input.model);
    match step.step.machine(input).poll(Vec::new()) {
        Turn::Ask(asks) => Ok(asks),
        Turn::Done(StepEnd::Failed(error)) => Err(Idle::Fails(error)),
        // A step that asks nobody has nothing to say either.
        Turn::Done(StepEnd::Skipped(_) | StepEnd::Output { .. }) => Err(Idle::Skipped),
    }
}

/// The output that a recorded step finds.
pub(crate) fn recorded_output(
    systems: &Systems,
    library: &Library,
    row: &Row,
    system: &ReadySystem,
    step: &ReadyStep,
) -> Result<Value, Idle> {
    let mut machine = step.step.machine(step_input(row, system, None));
    let mut answers = Vec::new();
    loop {
        match machine.poll(std::mem::take(&mut answers)) {
            Turn::Done(StepEnd::Output { output, .. }) => return Ok(systems.privacy.output(output)),
            Turn::Done(StepEnd::Skipped(_)) => return Err(Idle::Skipped),
            Turn::Done(StepEnd::Failed(error)) => return Err(Idle::Fails(error)),
            Turn::Ask(asks) => answers = asks.into_iter().map(|ask| library.answer(ask)).collect(),
        }
    }
}
