//! The findings of several pieces as one list.

use karat_text::similar::Folded;
use karat_types::{DiagnosticSpec, FieldType, FindingFold};
use serde_json::Value;

use super::case::Piece;

/// Similarity from which two findings of different pieces are one.
const SAME_FINDING: f64 = 0.85;

/// The findings of all pieces, equal ones once, the first `max` of them.
///
/// An `all` finding stands only where every piece that could see it names it: a member that was sent to some pieces only
/// is judged by those. An `any` finding falls where it is about a member of the list that its piece was not shown: what
/// looks absent there is judged with another piece.
pub(super) fn unite(spec: &DiagnosticSpec, found: &[(&Piece, &[Value])]) -> Vec<Value> {
    let pieces: Vec<Seen> = found.iter().map(|(piece, items)| Seen::new(spec, piece, items)).collect();
    let mut kept: Vec<&Finding> = Vec::new();
    let mut united = Vec::new();
    for (at, (_, items)) in found.iter().enumerate() {
        for (item, finding) in items.iter().zip(pieces.get(at).map(|piece| &piece.findings).into_iter().flatten()) {
            let known = kept.iter().any(|other| other.is(finding));
            if !known && stands(spec.chunks, &pieces, at, finding) {
                kept.push(finding);
                united.push(item.clone());
            }
        }
    }
    match spec.max {
        Some(max) => united.into_iter().take(max as usize).collect(),
        None => united,
    }
}

fn stands(fold: FindingFold, pieces: &[Seen], at: usize, finding: &Finding) -> bool {
    let shown: Vec<bool> = pieces.iter().map(|piece| piece.shows(finding)).collect();
    let nowhere = !shown.contains(&true);
    match fold {
        FindingFold::All => {
            let mut judges = pieces.iter().zip(&shown).filter(|(_, shows)| nowhere || **shows);
            judges.all(|(piece, _)| piece.names(finding))
        }
        FindingFold::Any => nowhere || shown.get(at) == Some(&true),
        FindingFold::Once => true,
    }
}

/// What one piece was shown of a routed list, and what it found.
struct Seen {
    shown: Vec<Said>,
    findings: Vec<Finding>,
}

impl Seen {
    fn new(spec: &DiagnosticSpec, piece: &Piece, items: &[Value]) -> Self {
        Self {
            shown: piece.routed.iter().flat_map(texts).map(Said::new).collect(),
            findings: items.iter().map(|item| Finding::new(spec, item)).collect(),
        }
    }

    fn shows(&self, finding: &Finding) -> bool {
        self.shown.iter().any(|member| finding.is_about(member))
    }

    fn names(&self, finding: &Finding) -> bool {
        self.findings.iter().any(|other| other.is(finding))
    }
}

/// A finding as it is compared: its texts by similarity, positions in lists exactly, words such as a severity not at all.
pub(super) struct Finding {
    text: Said,
    positions: Vec<Value>,
}

impl Finding {
    pub fn new(spec: &DiagnosticSpec, item: &Value) -> Self {
        let fields = |wanted: fn(&FieldType) -> bool| {
            spec.fields.iter().filter(move |(_, kind)| wanted(kind)).filter_map(|(name, _)| item.get(name))
        };
        let texts: Vec<String> = fields(FieldType::is_text).map(words).collect();
        let text = if texts.is_empty() { words(item) } else { texts.join(" | ") };
        let positions = fields(|kind| matches!(kind, FieldType::IndexOf(_) | FieldType::Integer | FieldType::Number));
        Self { text: Said::new(&text), positions: positions.cloned().collect() }
    }

    /// Whether it quotes a text.
    pub fn is_about(&self, text: &Said) -> bool {
        self.text.is(text)
    }

    fn is(&self, other: &Self) -> bool {
        self.positions == other.positions && self.text.is(&other.text)
    }
}

/// A text as it is compared: by similarity, but what has other numbers says something else.
pub(super) struct Said {
    text: Folded,
    numbers: Vec<String>,
}

impl Said {
    pub fn new(text: &str) -> Self {
        let text = Folded::new(text);
        let mut numbers: Vec<String> =
            text.words().filter(|word| word.contains(|c: char| c.is_ascii_digit())).map(str::to_owned).collect();
        numbers.sort_unstable();
        Self { text, numbers }
    }

    fn is(&self, other: &Self) -> bool {
        self.numbers == other.numbers && self.text.is_similar(&other.text, SAME_FINDING)
    }
}

/// The texts within a member of a list: a finding quotes one of them.
pub(super) fn texts(member: &Value) -> Vec<&str> {
    match member {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// All texts and numbers of a value.
fn words(item: &Value) -> String {
    match item {
        Value::Object(members) => members.values().map(words).collect::<Vec<_>>().join(" | "),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
