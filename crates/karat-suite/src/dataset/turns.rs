//! Checks of the messages that rows hold: they are read as the prompts read them, before any call.

use karat_text::conversation::{Conversation, name_of};
use karat_text::template::{Context, Expression};
use karat_types::{Message, PromptTurn, Sample};
use serde_json::Value;

use super::DatasetError;
use super::source::raw::RowPlace;
use crate::decode::steps::turns::column_of;

/// The turns of one prompt that read nothing but the row.
pub(crate) struct TurnsCheck(Vec<CheckedTurn>);

enum CheckedTurn {
    /// A written turn: its words do not matter here.
    Written(Message),
    Spliced {
        of: Expression,
        folder: String,
    },
}

impl TurnsCheck {
    /// The check of these turns; `None` if an expression cannot be read.
    pub fn new(turns: &[PromptTurn]) -> Option<Self> {
        let check = |turn: &PromptTurn| match turn {
            PromptTurn::Written { role, .. } => Some(CheckedTurn::Written(Message::new(*role, ""))),
            PromptTurn::Spliced { turns, folder } => {
                Some(CheckedTurn::Spliced { of: Expression::compile(turns).ok()?, folder: folder.clone() })
            }
        };
        turns.iter().map(check).collect::<Option<_>>().map(Self)
    }

    /// Reads the turns of a row. A row that lacks a column is reported elsewhere.
    pub fn check(&self, sample: &Sample, at: &RowPlace) -> Result<(), DatasetError> {
        let row = Value::Object(sample.columns.clone());
        let context =
            Context::new().with("sample", &row).with("input", &sample.input).with("reference", &sample.reference);
        let mut conversation = Conversation::default();
        let mut column = "";
        let mut checked = Ok(());
        for turn in &self.0 {
            match turn {
                CheckedTurn::Written(message) => conversation.push(message.clone()),
                CheckedTurn::Spliced { of, folder } => {
                    let Ok(value) = of.eval(&context) else { return Ok(()) };
                    column = column_of(of.source());
                    checked = conversation.splice(name_of(of.source()), &value, folder);
                }
            }
            if checked.is_err() {
                break;
            }
        }
        let checked = checked.and_then(|()| conversation.finish().map(drop));
        checked.map_err(|problem| at.problem(column, format!("row `{}`: {problem}", sample.id)))
    }
}
