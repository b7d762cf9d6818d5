//! Faults that are planted into the answers to some questions.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use crate::answer::Answer;
use crate::library::Library;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Amounts are in euros instead of dollars.
    WrongCurrency,
    /// Millions become billions, and the reverse.
    OffByScale,
    /// Citations name the quarter before.
    WrongQuarter,
    /// The statement is ascribed to another executive.
    WrongSpeaker,
    /// Verification takes 40 times as long.
    SlowStage,
}

impl Fault {
    /// Returns the answer with this fault.
    pub(crate) fn apply(self, answer: Answer, library: &Library) -> Answer {
        match self {
            Self::WrongCurrency => Answer { text: answer.text.replace('$', "€").replace("USD", "EUR"), ..answer },
            Self::OffByScale => Answer { text: swap_scale(&answer.text), ..answer },
            Self::WrongQuarter => {
                Answer { citations: answer.citations.into_iter().map(shift_to_previous_quarter).collect(), ..answer }
            }
            Self::WrongSpeaker => misattribute(answer, library),
            Self::SlowStage => answer,
        }
    }
}

fn swap_scale(text: &str) -> String {
    let swapped = text.replace("million", "\0").replace("billion", "million").replace('\0', "billion");
    swapped.replace("M USD", "bn USD")
}

fn shift_to_previous_quarter(mut citation: Value) -> Value {
    if let Some(quarter) = citation.get_mut("quarter") {
        *quarter = quarter.as_str().and_then(previous_quarter).map_or(Value::Null, Value::from);
    }
    if let Some(citation) = citation.as_object_mut() {
        citation.remove("chunk_id");
    }
    citation
}

/// The quarter before one such as `2025-Q1`.
fn previous_quarter(quarter: &str) -> Option<String> {
    let (year, number) = quarter.split_once("-Q")?;
    let (year, number): (u32, u32) = (year.parse().ok()?, number.parse().ok()?);
    Some(if number > 1 { format!("{year}-Q{}", number - 1) } else { format!("{}-Q4", year - 1) })
}

/// Attributes the answer to the first other speaker of the library.
fn misattribute(answer: Answer, library: &Library) -> Answer {
    let speakers = || library.chunks.iter().filter_map(|chunk| chunk.entry.get("speaker"));
    let Some(own) = answer.speakers.first() else { return answer };
    let Some(other) = speakers().find(|speaker| *speaker != own) else { return answer };
    let face = |speaker: &Value| {
        let part = |key: &str| speaker.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        format!("{} ({})", part("name"), part("role"))
    };
    Answer { text: answer.text.replace(&face(own), &face(other)), speakers: vec![other.clone()], ..answer }
}

/// Faults by question.
#[derive(Debug, Clone, Default)]
pub struct Faults(HashMap<String, Fault>);

impl Faults {
    /// Reads lines of `{question, fault}`.
    ///
    /// # Errors
    /// The first line that is not such an object.
    pub fn read(lines: &str) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Line {
            question: String,
            fault: Fault,
        }
        let lines = lines.lines().filter(|line| !line.trim().is_empty());
        let faults = lines.map(|line| serde_json::from_str(line).map(|line: Line| (line.question, line.fault)));
        faults.collect::<Result<_, _>>().map(Self)
    }

    /// Returns true if there are no faults.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn for_question(&self, question: &str) -> Option<Fault> {
        self.0.get(question).copied()
    }
}
