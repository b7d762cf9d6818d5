//! `recorded`: an output that exists already, in a column or in a file.

use std::sync::Arc;

use karat_suite::RowPath;
use karat_text::half_characters::{self, Mended};
use karat_text::path::Path;
use karat_text::template::Template;
use karat_types::{
    Answer, Ask, AskId, CallErrorCode, CellError, FileRow, FileTrial, Machine, MissingOutput, Note, NoteKind,
    RecordedSpec, Request, StepSpec, Turn, UnreadableOutput, json,
};
use serde_json::Value;

use super::meter::{Meter, Metered};
use super::parse::{Parser, mended_note};
use super::{StepEnd, StepError, StepInput, take, template_error};

/// A recorded step with templates compiled.
pub(crate) struct CompiledRecorded {
    source: RecordedSource,
    missing: MissingOutput,
    broken: UnreadableOutput,
    parser: Option<Parser>,
    meter: Option<Meter>,
    /// Path of an error in place of an output.
    error: Option<Path>,
}

enum RecordedSource {
    Column(Path),
    File {
        from: RowPath,
        by: Option<Template>,
        column: Option<Path>,
        /// Path of the number of a row's trial.
        trial: Option<String>,
    },
}

impl CompiledRecorded {
    pub(crate) fn new(spec: &StepSpec, recorded: &RecordedSpec) -> Result<Self, StepError> {
        let source = match recorded {
            RecordedSpec::Column { column, .. } => RecordedSource::Column(Path::parse(column)?),
            RecordedSpec::File { from, by, column, trial, .. } => {
                let by = by.as_deref().map(Template::compile).transpose()?;
                let column = column.as_deref().map(Path::parse).transpose()?;
                trial.as_deref().map(Path::parse).transpose()?;
                RecordedSource::File { from: RowPath::compile(from)?, by, column, trial: trial.clone() }
            }
        };
        let parser = spec.parse.as_ref().map(Parser::new).transpose()?;
        let meter = spec.meter.as_ref().map(Meter::new).transpose()?;
        Ok(Self {
            source,
            missing: recorded.missing(),
            broken: recorded.unreadable_meaning(),
            parser,
            meter,
            error: recorded.error().map(Path::parse).transpose()?,
        })
    }
}

pub(super) struct RecordedMachine {
    step: Arc<StepSpec>,
    recorded: Arc<CompiledRecorded>,
    input: StepInput,
    /// Description of the requested file or row.
    asked: Option<String>,
}

impl RecordedMachine {
    pub(super) fn new(step: Arc<StepSpec>, recorded: Arc<CompiledRecorded>, input: StepInput) -> Self {
        Self { step, recorded, input, asked: None }
    }

    fn missing_output(&self, what: &str) -> StepEnd {
        let id = &self.step.id;
        match self.recorded.missing {
            MissingOutput::Error => StepEnd::Failed(CellError::new(
                "recorded",
                format!("step `{id}`: {what}. Add it, or say `missing: empty` or `missing: skip`"),
            )),
            MissingOutput::Empty => {
                let metered = Box::new(Metered::none());
                StepEnd::Output { output: self.empty_output(), notes: Vec::new(), metered }
            }
            MissingOutput::Skip => StepEnd::Skipped(format!("step `{id}`: {what}")),
        }
    }

    fn empty_output(&self) -> Value {
        if self.recorded.parser.is_some() { Value::Null } else { Value::from("") }
    }

    /// The failure that a row records in place of an output: a text, an object with a `message`, or any other value that is
    /// not empty.
    fn recorded_failure(&self, row: &Value) -> Option<StepEnd> {
        let message = match self.recorded.error.as_ref()?.first(row)? {
            Value::Null | Value::Bool(false) => return None,
            Value::Array(list) if list.is_empty() => return None,
            Value::Object(error) if error.is_empty() => return None,
            Value::String(text) => text.trim().to_owned(),
            Value::Object(error) => match error.get("message") {
                Some(Value::String(message)) => message.trim().to_owned(),
                _ => Value::Object(error.clone()).to_string(),
            },
            other => other.to_string(),
        };
        (!message.is_empty()).then(|| StepEnd::RecordedFailure {
            error: CellError::new("recorded", format!("step `{}`, as recorded: {message}", self.step.id)),
            metered: Box::new(self.read_meter(row)),
        })
    }

    fn read_meter(&self, document: &Value) -> Metered {
        self.recorded.meter.as_ref().map_or_else(Metered::none, |meter| meter.read(document))
    }

    /// The end for a row of a file, in which half characters may have been replaced.
    fn mended_end(end: StepEnd, was_mended: bool) -> StepEnd {
        match end {
            StepEnd::Output { output, mut notes, metered } => {
                notes.extend(mended_note(was_mended));
                StepEnd::Output { output, notes, metered }
            }
            end => end,
        }
    }

    /// The end for a row: its recorded failure, or its output.
    fn row_end(&self, row: &Value, column: Option<&Path>, absent: impl FnOnce(&Path) -> String) -> StepEnd {
        if let Some(failure) = self.recorded_failure(row) {
            return failure;
        }
        match column.map(|path| (path, path.first(row))) {
            None => self.output_from(row, row),
            Some((path, None | Some(Value::Null))) => self.missing_output(&absent(path)),
            Some((_, Some(value))) => self.output_from(value, row),
        }
    }

    /// The output from the recorded value, and facts from the row or document around it.
    fn output_from(&self, value: &Value, document: &Value) -> StepEnd {
        let spec = &self.step;
        let (output, mut notes): (Value, Vec<Note>) = match (&self.recorded.parser, value) {
            (Some(parser), Value::String(text)) => match parser.read(text) {
                Ok((value, note)) => (value, note.into_iter().collect()),
                Err(failure) => {
                    let problem = format!("the recorded output could not be read: {}", failure.0);
                    return self.unreadable("parse", problem, text);
                }
            },
            _ => (value.clone(), Vec::new()),
        };
        let metered = self.read_meter(document);
        notes.extend(metered.notes.iter().cloned());
        StepEnd::Output { output: take(spec, output), notes, metered: Box::new(metered) }
    }

    /// The end for an unreadable recording: an error, or a text that says so.
    fn unreadable(&self, code: &str, problem: String, text: &str) -> StepEnd {
        match self.recorded.broken {
            UnreadableOutput::Error => {
                StepEnd::Failed(CellError::new(code, format!("step `{}`: {problem}", self.step.id)))
            }
            UnreadableOutput::Text => {
                // An empty text says what is wrong instead.
                let (output, taken) = match text.trim().is_empty() {
                    true => (problem.clone(), "it counts as a text that says so"),
                    false => (text.to_owned(), "it counts as the text that it is"),
                };
                let note = Note { kind: NoteKind::Lenience, text: format!("{problem}; {taken}"), count: 1 };
                let metered = Box::new(Metered::none());
                StepEnd::Output { output: Value::from(output), notes: vec![note], metered }
            }
        }
    }

    fn locate(&mut self) -> Turn<StepEnd> {
        match &self.recorded.source {
            RecordedSource::Column(path) => {
                let row = Value::Object(self.input.sample.columns.clone());
                Turn::Done(self.row_end(&row, Some(path), |path| format!("the row has no `{path}`")))
            }
            RecordedSource::File { from, by, trial, .. } => {
                let path = from.render(&self.input.context);
                let row = by.as_ref().map(|by| by.render(&self.input.context)).transpose();
                let (path, row) = match (path, row) {
                    (Ok(path), Ok(row)) => (path, row),
                    (Err(error), _) | (_, Err(error)) => {
                        return Turn::Done(StepEnd::Failed(template_error(&self.step, &error)));
                    }
                };
                let trial = trial.as_ref().map(|at| FileTrial::of_cell(at, self.input.trial));
                let row = row.map(|id| FileRow { id, trial });
                self.asked = Some(match &row {
                    Some(row) => format!("{row} of {path}"),
                    None => format!("file {path}"),
                });
                Turn::Ask(vec![Ask { id: AskId::new("file"), request: Request::File { path, row } }])
            }
        }
    }

    fn read(&self, asked: &str, answer: Option<Answer>) -> StepEnd {
        let reply = match answer.map(|answer| answer.outcome) {
            Some(Ok(reply)) => reply,
            Some(Err(error)) if error.code == CallErrorCode::Malformed => {
                return self.unreadable("recorded", error.message, "");
            }
            Some(Err(error)) if error.code != CallErrorCode::NotFound => {
                return StepEnd::Failed(CellError::new("recorded", error.message));
            }
            _ => return self.missing_output(&format!("there is no {asked}")),
        };
        let RecordedSource::File { by: Some(_), column, .. } = &self.recorded.source else {
            let document = half_characters::value(&json::nan_as_null(&reply.text)).map(|read| read.value);
            let document = document.unwrap_or_default();
            return self.output_from(&Value::from(reply.text.clone()), &document);
        };
        let Mended { value: row, was_mended } = match half_characters::value(&json::nan_as_null(&reply.text)) {
            Ok(read) => read,
            Err(error) => return self.unreadable("recorded", format!("reading {asked}: {error}"), &reply.text),
        };
        let end = self.row_end(&row, column.as_ref(), |path| format!("{asked} has no `{path}`"));
        Self::mended_end(end, was_mended)
    }
}

impl Machine for RecordedMachine {
    type Done = StepEnd;

    fn poll(&mut self, mut answers: Vec<Answer>) -> Turn<StepEnd> {
        match self.asked.take() {
            None => self.locate(),
            Some(asked) => Turn::Done(self.read(&asked, answers.pop())),
        }
    }
}
