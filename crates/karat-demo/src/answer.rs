//! Makes answers with citations from tables, calls, slides and press notes.

use serde_json::{Value, json};

use crate::library::{Chunk, Library};
use crate::question::{AnswerKind, Question};
use crate::search;

/// An answer before a fault is applied.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Answer {
    pub text: String,
    pub citations: Vec<Value>,
    pub sources: Vec<Value>,
    pub speakers: Vec<Value>,
}

/// A figure with its label, unit and table.
struct TableFigure<'a> {
    label: &'a str,
    unit: &'a str,
    value: f64,
    table: &'a Value,
}

impl Answer {
    /// The answer to a question; without a matching document, the text says so.
    pub fn to_question(library: &Library, question: &Question) -> Self {
        let made = match question.kind {
            AnswerKind::Figure => Self::figure(library, question),
            AnswerKind::Change { in_percent } => Self::change(library, question, in_percent),
            AnswerKind::Statement => Self::statement(library, question),
            AnswerKind::Slide => Self::slide(library, question),
            AnswerKind::Announcement => Self::announcement(library, question),
        };
        made.unwrap_or_else(|| Self { text: "The filings do not say.".to_owned(), ..Self::default() })
    }

    fn figure(library: &Library, question: &Question) -> Option<Self> {
        let entry = TableFigure::find(library, question, question.quarter())?;
        let text = format!("{} was {} in {}.", entry.label, entry.value_text(), quarter_in_words(question.quarter()));
        Some(Self {
            text,
            citations: vec![entry.citation()],
            sources: vec![entry.source(library)],
            speakers: Vec::new(),
        })
    }

    fn change(library: &Library, question: &Question, in_percent: bool) -> Option<Self> {
        let [from, to] = question.quarters.as_slice() else { return None };
        let (before, after) = (TableFigure::find(library, question, from)?, TableFigure::find(library, question, to)?);
        let change = after.value - before.value;
        let by = match in_percent {
            true => format!("{:.2}%", (after.value / before.value - 1.0).abs() * 100.0),
            false => after.format(change.abs()),
        };
        let verb = if change < 0.0 { "fell" } else { "rose" };
        // Some answers name both ends, so that the metric for contested numbers has something to find.
        let ends = match from.ends_with("Q1") {
            true => format!(", from {} to {}", before.value_text(), after.value_text()),
            false => String::new(),
        };
        let text = format!(
            "{} {verb} by {by} from {} to {}{ends}.",
            after.label,
            quarter_in_words(from),
            quarter_in_words(to)
        );
        Some(Self {
            text,
            citations: vec![after.citation(), before.citation()],
            sources: vec![after.source(library), before.source(library)],
            speakers: Vec::new(),
        })
    }

    fn statement(library: &Library, question: &Question) -> Option<Self> {
        let role = ["ceo", "cfo", "coo"].into_iter().find(|role| question.words.iter().any(|word| word == role));
        let of_role = |chunk: &Chunk| {
            let own = chunk.entry.get("speaker").and_then(|speaker| speaker.get("role")).and_then(Value::as_str);
            role.is_none_or(|role| own.is_some_and(|own| own.eq_ignore_ascii_case(role)))
        };
        let chunk = search::best(library, question, |chunk| {
            is_text(chunk, "transcript", question) && question.text.contains(chunk.field("topic")) && of_role(chunk)
        })?;
        let speaker = chunk.entry.get("speaker")?;
        let (name, role) = (speaker.get("name")?.as_str()?, speaker.get("role")?.as_str()?);
        let said = chunk.field("text").split_once(&format!("{role}, on {}: ", chunk.field("topic")));
        let said = said.or_else(|| chunk.field("text").split_once(&format!("{role}: ")))?.1;
        let quote = said.split_inclusive(". ").next()?.trim();
        let text = format!("{name} ({role}) said: \"{quote}\"");
        Some(Self { speakers: vec![speaker.clone()], ..Self::from_chunk(text, chunk) })
    }

    fn slide(library: &Library, question: &Question) -> Option<Self> {
        let chunk = search::best(library, question, |chunk| {
            is_text(chunk, "slides", question) && question.text.contains(&chunk.field("title").to_lowercase())
        })?;
        let bullets = chunk.entry.get("bullets")?.as_array()?.iter().filter_map(Value::as_str);
        let bullets = bullets.collect::<Vec<_>>().join("; ");
        let text = format!("Slide {}, \"{}\": {bullets}.", chunk.entry.get("slide")?, chunk.field("title"));
        Some(Self::from_chunk(text, chunk))
    }

    fn announcement(library: &Library, question: &Question) -> Option<Self> {
        let chunk = search::best(library, question, |chunk| is_text(chunk, "press", question))?;
        let text = chunk.field("text").split_inclusive(". ").next()?.trim().to_owned();
        Some(Self::from_chunk(text, chunk))
    }

    /// An answer from one chunk.
    fn from_chunk(text: String, chunk: &Chunk) -> Self {
        let keys = ["chunk_id", "doc_type", "quarter", "page", "slide"];
        let citation =
            keys.iter().filter_map(|key| Some(((*key).to_owned(), chunk.entry.get(*key)?.clone()))).collect();
        let source = json!({ "id": chunk.id, "text": chunk.field("text") });
        Self { text, citations: vec![Value::Object(citation)], sources: vec![source], speakers: Vec::new() }
    }
}

/// Returns true if the chunk is a text of this document type and of the question's quarter.
fn is_text(chunk: &Chunk, doc_type: &str, question: &Question) -> bool {
    chunk.space == "text" && chunk.field("doc_type") == doc_type && chunk.field("quarter") == question.quarter()
}

impl<'a> TableFigure<'a> {
    /// The row of a quarter's tables whose label occurs in the question; of several, the longest label.
    fn find(library: &'a Library, question: &Question, quarter: &'a str) -> Option<Self> {
        let rows = library.tables_of(quarter).flat_map(|table| {
            let rows = table.get("rows").and_then(Value::as_array).into_iter().flatten();
            rows.map(move |row| (table, row))
        });
        let entries = rows.filter_map(|(table, row)| {
            let label = row.get("label")?.as_str()?;
            let unit = row.get("unit").and_then(Value::as_str).unwrap_or("million USD");
            let value = row.get("values")?.get(0)?.as_f64()?;
            question.text.contains(&label.to_lowercase()).then_some(Self { label, unit, value, table })
        });
        entries.max_by_key(|entry| entry.label.len())
    }

    /// The value in one of the notations of its unit; which one depends on the quarter.
    fn value_text(&self) -> String {
        self.format(self.value)
    }

    fn format(&self, value: f64) -> String {
        let quarter = self.table.get("quarter").and_then(Value::as_str).unwrap_or_default();
        let notation = quarter.bytes().last().map_or(0, |digit| digit % 3);
        let sign = if value < 0.0 { "-" } else { "" };
        let size = value.abs();
        match (self.unit, notation) {
            ("million USD", 0) => format!("{sign}${size:.1} million"),
            ("million USD", 1) => format!("{sign}{size:.1}M USD"),
            ("million USD", _) => format!("{sign}${:.4} billion", size / 1000.0),
            ("percent", _) => format!("{sign}{size:.1}%"),
            ("bps", 0) => format!("{sign}{:.2}%", size / 100.0),
            ("bps", _) => format!("{sign}{size:.0} bps"),
            ("USD", _) => format!("{sign}${size:.2}"),
            (unit, _) => format!("{sign}{} {unit}", thousands(size)),
        }
    }

    fn citation(&self) -> Value {
        let keys = ["doc_type", "quarter", "page", "table_id"];
        keys.iter().filter_map(|key| Some(((*key).to_owned(), self.table.get(*key)?.clone()))).collect()
    }

    /// The chunk of its table.
    fn source(&self, library: &Library) -> Value {
        let id = self.table.get("table_id").and_then(Value::as_str).unwrap_or_default();
        let text = library.chunks.iter().find(|chunk| chunk.id == id).map(|chunk| chunk.field("text"));
        json!({ "id": id, "text": text })
    }
}

/// `2025-Q2` as `Q2 2025`.
fn quarter_in_words(quarter: &str) -> String {
    quarter.split_once('-').map_or_else(|| quarter.to_owned(), |(year, quarter)| format!("{quarter} {year}"))
}

/// A whole number with commas.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
