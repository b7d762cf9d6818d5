//! Merges the outputs of pieces into one output.

use std::collections::HashMap;

use karat_types::{MergeHow, MergeSpec};
use serde_json::Value;

use crate::path::Path;
use crate::similar::{Statement, fold};

/// The value of several pieces.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// The value.
    pub value: Value,
    /// The items that were dropped because another one says the same, in their order.
    pub dropped: Vec<DroppedItem>,
}

/// An item that another one stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedItem {
    /// Its text.
    pub text: String,
    /// The text of the item that is kept.
    pub kept: String,
}

/// Makes one value of the pieces' values, in their order. No piece gives null, and a single piece is merged like many,
/// so that `union` drops duplicates within it.
///
/// Items of which one says what the other says are one by the rule of [`Statement`]; those that are not texts are one only if
/// they are equal.
///
/// `union` and `concat` work on the list at `of` within each piece; what else the first piece holds is kept. A piece
/// without such a list adds nothing; without `of`, a piece that is not a list counts as its own one item. Paths that cannot
/// be read name the whole piece (item); the suite checks them before anything runs.
pub fn merge(merge: &MergeSpec, pieces: Vec<Value>) -> Merged {
    let mut dropped = Vec::new();
    let value = match merge.how {
        MergeHow::First => pieces.into_iter().next().unwrap_or(Value::Null),
        MergeHow::Last => pieces.into_iter().next_back().unwrap_or(Value::Null),
        MergeHow::Vote => vote(pieces, &path(merge.of.as_deref())),
        MergeHow::Text => Value::String(pieces.iter().map(text).collect::<Vec<_>>().join("\n\n")),
        MergeHow::Concat => lists(pieces, &path(merge.of.as_deref()), |items| items),
        MergeHow::Union => {
            let same = SameItem { by: path(merge.by.as_deref()), similar: merge.similar };
            lists(pieces, &path(merge.of.as_deref()), |items| same.deduplicate(items, &mut dropped))
        }
    };
    Merged { value, dropped }
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
    fn deduplicate(&self, items: Vec<Value>, dropped: &mut Vec<DroppedItem>) -> Vec<Value> {
        let mut equal: HashMap<String, String> = HashMap::new();
        let mut kept: Vec<(Statement, String)> = Vec::new();
        items.into_iter().filter(|item| self.is_new(item, &mut equal, &mut kept, dropped)).collect()
    }

    /// `equal` has the text of each kept item by its key, `kept` those that another one may be like.
    fn is_new(
        &self,
        item: &Value,
        equal: &mut HashMap<String, String>,
        kept: &mut Vec<(Statement, String)>,
        dropped: &mut Vec<DroppedItem>,
    ) -> bool {
        let compared = self.by.first(item).unwrap_or(item);
        let (text, statement) = match compared {
            Value::String(text) => (text.clone(), Some(Statement::new(text))),
            other => (other.to_string(), None),
        };
        let key = statement.as_ref().map_or_else(|| format!("json {text}"), |it| format!("text {}", it.key()));
        let like = statement.as_ref().filter(|_| self.similar.is_some());
        let is_like = |own: &Statement| kept.iter().find(|(other, _)| own.is_one_with(other, self.similar));
        let same = equal.get(&key).or_else(|| like.and_then(is_like).map(|(_, text)| text));
        if let Some(kept) = same {
            dropped.push(DroppedItem { kept: kept.clone(), text });
            return false;
        }
        equal.insert(key, text.clone());
        kept.extend(statement.filter(|_| self.similar.is_some()).map(|statement| (statement, text)));
        true
    }
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
        let merged = merge(&union, vec![claims(&["A b.", "C"]), claims(&["a  B.", "D"])]).value;
        assert_eq!(merged["claims"], json!([{"text": "A b."}, {"text": "C"}, {"text": "D"}]));
        assert_eq!(merged["note"], 2);
    }

    fn union_of(similar: Option<f64>, pieces: Vec<Value>) -> (Vec<String>, Vec<DroppedItem>) {
        let union = MergeSpec { of: Some("claims".into()), by: Some("text".into()), similar, ..rule(MergeHow::Union) };
        let merged = merge(&union, pieces);
        let texts = merged.value["claims"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap().to_owned());
        (texts.collect(), merged.dropped)
    }

    /// F12: distinct items of one piece and of several stay at any likeness, and what is dropped is named.
    #[test]
    fn union_keeps_distinct_items_at_any_likeness() {
        let first = claims(&[
            "The price fell by 4 percent in the first year of the study.",
            "The price fell by 12 percent in the first year of the study.",
            "Naps lower the risk of a stroke in older people.",
        ]);
        let second = claims(&[
            "Naps do not lower the risk of a stroke in older people.",
            "The price rose by 4 percent in the first year of the study.",
            "the price fell by 4 percent, in the first year of the study",
        ]);
        for similar in [None, Some(0.9), Some(0.5), Some(0.01)] {
            let (kept, dropped) = union_of(similar, vec![first.clone(), second.clone()]);
            assert_eq!(kept.len(), 5, "{similar:?}: {kept:?}");
            assert_eq!(dropped.len(), 1);
            assert!(dropped[0].text.starts_with("the price") && dropped[0].kept == kept[0]);
        }
    }

    /// F12: only with a likeness are items one that are not equal.
    #[test]
    fn union_folds_items_that_only_add_words() {
        let pieces = || {
            vec![
                claims(&["The moon pulls the sea twice a day."]),
                claims(&["The moon pulls the sea twice a day, as is known.", "Ships wait."]),
            ]
        };
        let counts = |similar| (union_of(similar, pieces()).0.len(), union_of(similar, pieces()).1.len());
        assert_eq!((counts(Some(0.7)), counts(None), counts(Some(1.0))), ((2, 1), (3, 0), (3, 0)));
    }

    #[test]
    fn pieces_without_the_list_add_nothing() {
        let union = MergeSpec { of: Some("claims".into()), ..rule(MergeHow::Union) };
        assert_eq!(merge(&union, vec![json!({"x": 1}), claims(&["A"])]).value["claims"], json!([{"text": "A"}]));
        assert_eq!(
            merge(&rule(MergeHow::Concat), vec![json!([1]), json!(2), json!(null), json!([1])]).value,
            json!([1, 2, 1])
        );
    }

    #[test]
    fn other_rules() {
        let pieces = || vec![json!("b"), json!("a"), json!("A"), json!("b ")];
        assert_eq!(merge(&rule(MergeHow::First), pieces()).value, json!("b"));
        assert_eq!(merge(&rule(MergeHow::Last), pieces()).value, json!("b "));
        assert_eq!(merge(&rule(MergeHow::Vote), pieces()).value, json!("b"));
        assert_eq!(merge(&rule(MergeHow::Text), vec![json!("x"), json!("y")]).value, json!("x\n\ny"));
        assert_eq!(merge(&rule(MergeHow::Vote), vec![json!(2), json!(1), json!(1)]).value, json!(1));
        assert_eq!(merge(&rule(MergeHow::First), vec![]).value, Value::Null);
    }
}
