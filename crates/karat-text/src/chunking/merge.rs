//! Merges the outputs of pieces into one output.

use std::collections::HashSet;

use karat_types::{MergeHow, MergeSpec};
use serde_json::Value;

use crate::path::Path;
use crate::similar::{Folded, fold};

/// Makes one value of the pieces' values, in their order. No piece gives null, and a single piece is merged like many,
/// so that `union` drops duplicates within it.
///
/// `union` and `concat` work on the list at `of` within each piece; what else the first piece holds is kept. A piece
/// without such a list adds nothing; without `of`, a piece that is no list counts as its own one item. Paths that cannot
/// be read name the whole piece (item); the suite checks them before anything runs.
pub fn merge(merge: &MergeSpec, pieces: Vec<Value>) -> Value {
    match merge.how {
        MergeHow::First => pieces.into_iter().next().unwrap_or(Value::Null),
        MergeHow::Last => pieces.into_iter().next_back().unwrap_or(Value::Null),
        MergeHow::Vote => vote(pieces, &path(merge.of.as_deref())),
        MergeHow::Text => Value::String(pieces.iter().map(text).collect::<Vec<_>>().join("\n\n")),
        MergeHow::Concat => lists(pieces, &path(merge.of.as_deref()), |items| items),
        MergeHow::Union => {
            let same = SameItem { by: path(merge.by.as_deref()), similar: merge.similar };
            lists(pieces, &path(merge.of.as_deref()), |items| same.deduplicate(items))
        }
    }
}

fn path(text: Option<&str>) -> Path {
    text.and_then(|text| Path::parse(text).ok()).unwrap_or_else(Path::root)
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn lists(pieces: Vec<Value>, of: &Path, unite: impl FnOnce(Vec<Value>) -> Vec<Value>) -> Value {
    let mut items = Vec::new();
    let mut frame: Option<Value> = None;
    for mut piece in pieces {
        match of.first_mut(&mut piece) {
            Some(Value::Array(list)) => items.append(list),
            Some(single) if of.is_root() && !single.is_null() => items.push(single.take()),
            _ => {}
        }
        let holds_list = of.first(&piece).is_some();
        if frame.as_ref().is_none_or(|frame| of.first(frame).is_none() && holds_list) {
            frame = Some(piece);
        }
    }
    let list = Value::Array(unite(items));
    if of.is_root() {
        return list;
    }
    let mut frame = frame.unwrap_or(Value::Null);
    if let Some(place) = of.first_mut(&mut frame) {
        *place = list;
    }
    frame
}

/// The value that most pieces have, compared as JSON; ties by first seen. With a path, what lies there is compared.
fn vote(pieces: Vec<Value>, of: &Path) -> Value {
    let ballots: Vec<String> = pieces.iter().map(|piece| of.first(piece).map(fold_value).unwrap_or_default()).collect();
    let votes = |ballot: &String| ballots.iter().filter(|other| *other == ballot).count();
    let most = ballots.iter().map(votes).max().unwrap_or(0);
    let winner = ballots.iter().position(|ballot| votes(ballot) == most);
    winner.and_then(|at| pieces.into_iter().nth(at)).unwrap_or(Value::Null)
}

fn fold_value(value: &Value) -> String {
    match value {
        Value::String(text) => fold(text),
        other => other.to_string(),
    }
}

/// The rule by which two items count as one.
struct SameItem {
    by: Path,
    similar: Option<f64>,
}

impl SameItem {
    /// The items, each kept only if none before it is the same.
    fn deduplicate(&self, items: Vec<Value>) -> Vec<Value> {
        match self.similar.filter(|threshold| *threshold < 1.0) {
            None => {
                let mut seen = HashSet::new();
                items.into_iter().filter(|item| seen.insert(self.key(item))).collect()
            }
            Some(threshold) => {
                let mut kept: Vec<Folded> = Vec::new();
                items.into_iter().filter(|item| is_new(&mut kept, Folded::new(&self.key(item)), threshold)).collect()
            }
        }
    }

    fn key(&self, item: &Value) -> String {
        fold_value(self.by.first(item).unwrap_or(item))
    }
}

fn is_new(kept: &mut Vec<Folded>, text: Folded, threshold: f64) -> bool {
    let new = !kept.iter().any(|other| other.is_similar(&text, threshold));
    if new {
        kept.push(text);
    }
    new
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(how: MergeHow) -> MergeSpec {
        MergeSpec { how, of: None, by: None, similar: None }
    }

    fn claims(texts: &[&str]) -> Value {
        json!({"claims": texts.iter().map(|text| json!({"text": text})).collect::<Vec<_>>(), "note": texts.len()})
    }

    /// CL-05: the raw extractor unites the claims of its chunks, equal ones once.
    #[test]
    fn union_keeps_equal_items_once() {
        let union = MergeSpec { of: Some("$.claims".into()), by: Some("text".into()), ..rule(MergeHow::Union) };
        let merged = merge(&union, vec![claims(&["A b.", "C"]), claims(&["a  B.", "D"])]);
        assert_eq!(merged["claims"], json!([{"text": "A b."}, {"text": "C"}, {"text": "D"}]));
        assert_eq!(merged["note"], 2);
    }

    #[test]
    fn union_folds_similar_items() {
        let union = MergeSpec {
            of: Some("claims".into()),
            by: Some("text".into()),
            similar: Some(0.9),
            ..rule(MergeHow::Union)
        };
        let pieces = vec![
            claims(&["The moon pulls the sea twice a day."]),
            claims(&["The moon pulls the sea twice a day", "Ships wait."]),
        ];
        assert_eq!(merge(&union, pieces)["claims"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn pieces_without_the_list_add_nothing() {
        let union = MergeSpec { of: Some("claims".into()), ..rule(MergeHow::Union) };
        assert_eq!(merge(&union, vec![json!({"x": 1}), claims(&["A"])])["claims"], json!([{"text": "A"}]));
        assert_eq!(
            merge(&rule(MergeHow::Concat), vec![json!([1]), json!(2), json!(null), json!([1])]),
            json!([1, 2, 1])
        );
    }

    #[test]
    fn other_rules() {
        let pieces = || vec![json!("b"), json!("a"), json!("A"), json!("b ")];
        assert_eq!(merge(&rule(MergeHow::First), pieces()), json!("b"));
        assert_eq!(merge(&rule(MergeHow::Last), pieces()), json!("b "));
        assert_eq!(merge(&rule(MergeHow::Vote), pieces()), json!("b"));
        assert_eq!(merge(&rule(MergeHow::Text), vec![json!("x"), json!("y")]), json!("x\n\ny"));
        assert_eq!(merge(&rule(MergeHow::Vote), vec![json!(2), json!(1), json!(1)]), json!(1));
        assert_eq!(merge(&rule(MergeHow::First), vec![]), Value::Null);
    }
}
