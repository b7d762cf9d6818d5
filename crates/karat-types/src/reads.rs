//! The parts of a row that a step or rubric reads, and their content: part of the identity of every result (invariant 4, identity is content).

use std::borrow::Cow;

use serde_json::Value;

use crate::{Key, KeyBuilder, Sample, SampleText};

/// Names of the roles among what is read. No column's, since templates reach columns through `sample`.
const INPUT: &str = "{{ input }}";
const REFERENCE: &str = "{{ reference }}";

/// The beginning of the name of a part that only metrics read.
const SCORED: &str = "scored: ";

/// Number of columns whose text is kept for reports.
const SHOWN_COLUMNS: usize = 8;

/// The parts of a cell that the templates of a step or rubric read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reads {
    columns: Vec<String>,
    whole_row: bool,
    input: bool,
    reference: bool,
}

impl Reads {
    /// Sorts the names that templates read: `sample.title`, `input`, `output.claims`, …
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut reads = Self::default();
        for name in names {
            match name.split_once('.') {
                Some(("sample", rest)) => {
                    let column = rest.split(['.', '[']).next().unwrap_or(rest).to_owned();
                    if !reads.columns.contains(&column) {
                        reads.columns.push(column);
                    }
                }
                None if name == "sample" => reads.whole_row = true,
                _ => match name.split('.').next() {
                    Some("input") => reads.input = true,
                    Some("reference") => reads.reference = true,
                    _ => {}
                },
            }
        }
        reads.columns.sort();
        reads
    }

    /// The union of several read sets.
    pub fn union<'a>(sets: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        for set in sets {
            all.whole_row |= set.whole_row;
            all.input |= set.input;
            all.reference |= set.reference;
            all.columns.extend(set.columns.iter().cloned());
        }
        all.columns.sort();
        all.columns.dedup();
        all
    }

    /// Returns true if the part with this name, as in [`Self::digests`], is read.
    pub fn has(&self, name: &str) -> bool {
        match name {
            INPUT => self.input,
            REFERENCE => self.reference,
            column => self.whole_row || self.columns.iter().any(|known| known == column),
        }
    }

    /// The content of what is read of a row.
    pub fn digest(&self, sample: &Sample) -> Key {
        let key = KeyBuilder::new("karat/row/1");
        if self.whole_row {
            return key.json(&sample.columns).finish();
        }
        self.entries(sample).fold(key, |key, (name, value)| key.text(name).value(&value)).finish()
    }

    /// The same by name: a digest of each part, and of every column where the whole row is read.
    pub fn digests(&self, sample: &Sample) -> Vec<(String, Key)> {
        let unread = sample.columns.iter().filter(|(name, _)| self.whole_row && !self.columns.contains(name));
        let unread = unread.map(|(name, value)| (name.as_str(), Cow::Borrowed(value)));
        let digest = |value: &Value| KeyBuilder::new("karat/column/1").value(value).finish();
        self.entries(sample).chain(unread).map(|(name, value)| (name.to_owned(), digest(&value))).collect()
    }

    /// The same, and the parts that only metrics read, which [`scored_part`] tells apart.
    pub fn digests_with_scored(&self, scored: &Self, sample: &Sample) -> Vec<(String, Key)> {
        let only_scored = scored.digests(sample).into_iter().filter(|(name, _)| !self.has(name));
        let only_scored = only_scored.map(|(name, digest)| (format!("{SCORED}{name}"), digest));
        self.digests(sample).into_iter().chain(only_scored).collect()
    }

    /// The texts that a reader needs beside an output: the sample's input and reference, what is read besides them, each
    /// value once, and the columns that only metrics read.
    pub fn texts_with_scored(&self, scored: &Self, sample: &Sample) -> Vec<SampleText> {
        let mut texts = self.texts(sample);
        let expected = scored.columns.iter().filter(|name| !self.has(name));
        let expected = expected.filter_map(|name| Some((name, sample.columns.get(name).filter(|it| !it.is_null())?)));
        let expected = expected.filter(|(_, value)| sample.reference.as_ref() != Some(*value));
        let named =
            |(name, value): (&String, &Value)| SampleText::of(&format!("{}{name}", SampleText::EXPECTED), value);
        texts.extend(expected.take(SHOWN_COLUMNS).map(named));
        texts
    }

    /// The same without what only metrics read.
    fn texts(&self, sample: &Sample) -> Vec<SampleText> {
        let is_column = |name: &str| ![INPUT, REFERENCE, "id"].contains(&name);
        let named = self.columns.iter().filter_map(|name| Some((name, sample.columns.get(name)?)));
        let whole_row = self.whole_row.then(|| sample.columns.iter()).into_iter().flatten();
        let mut values: Vec<&Value> = Vec::new();
        let mut texts = Vec::new();
        let roles = [(SampleText::INPUT, &sample.input), (SampleText::REFERENCE, &sample.reference)];
        for (name, value) in roles.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
            values.push(value);
            texts.push(SampleText::of(name, value));
        }
        let roles = texts.len();
        for (name, value) in named.chain(whole_row).filter(|(name, value)| is_column(name) && !value.is_null()) {
            if texts.len() < roles + SHOWN_COLUMNS && !values.contains(&value) {
                values.push(value);
                texts.push(SampleText::of(name, value));
            }
        }
        texts
    }

    /// The parts that are read, each with the name of its role or column.
    fn entries<'a>(&'a self, sample: &'a Sample) -> impl Iterator<Item = (&'a str, Cow<'a, Value>)> {
        let or_null = |value: Option<&'a Value>| value.map_or(Cow::Owned(Value::Null), Cow::Borrowed);
        let input = self.input.then(|| (INPUT, or_null(sample.input.as_ref())));
        let reference = self.reference.then(|| (REFERENCE, or_null(sample.reference.as_ref())));
        let column = move |name: &'a String| match (name.as_str(), sample.columns.get(name)) {
            (name @ "id", None) => (name, Cow::Owned(Value::from(&*sample.id))),
            (name, value) => (name, or_null(value)),
        };
        input.into_iter().chain(reference).chain(self.columns.iter().map(column))
    }
}

/// The name of a part that only metrics read, without the mark that says so; `None` if steps or judges read it.
pub fn scored_part(name: &str) -> Option<&str> {
    name.strip_prefix(SCORED)
}

/// The display name of a part of a row.
pub fn read_label(name: &str) -> String {
    match name {
        INPUT => "input".to_owned(),
        REFERENCE => "reference".to_owned(),
        column => format!("column {column}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample(columns: Value) -> Sample {
        let Value::Object(columns) = columns else { panic!("columns are an object") };
        Sample {
            row: 0,
            id: "a".into(),
            input: None,
            reference: None,
            cluster: None,
            date: None,
            columns,
            metadata: serde_json::Map::new(),
            only: None,
        }
    }

    /// CL-19, field test C1: input, reference and the columns that are read are kept for reports, each value once, and
    /// long ones are cut. F61: columns that only metrics read are kept as what is expected.
    #[test]
    fn texts_for_reports_are_kept_once_and_cut() {
        let mut row =
            sample(json!({"ticket": "help", "lang": "en", "unread": 1, "long": "ü".repeat(5_000), "id": "a"}));
        row.input = Some(json!("help"));
        row.reference = Some(json!({"category": "billing"}));
        let texts = |reads: &Reads| reads.texts_with_scored(&Reads::new(["sample.unread"]), &row);
        let some = Reads::new(["sample.ticket", "sample.long", "sample.lang", "sample.id", "output.x"]);
        let texts_of_all = texts(&Reads::new(["sample"]));
        let texts = texts(&some);
        let names: Vec<&str> = texts.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["input", "reference", "lang", "long", "expected: unread"]);
        assert_eq!(texts.iter().filter(|it| it.is_expected()).count(), 2);
        assert_eq!(texts[1].text, r#"{"category":"billing"}"#);
        assert_eq!((texts[3].text.chars().count(), texts[3].chars), (SampleText::STORED, 5_000));
        assert_eq!(
            texts_of_all.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
            ["input", "reference", "lang", "unread", "long"]
        );
    }

    /// BC-06: a reference that only metrics compare with is told, under the digest that it has where steps read it.
    #[test]
    fn what_only_metrics_read_is_told_apart() {
        let mut row = sample(json!({"question": "q", "gold": 1}));
        row.reference = Some(json!("yes"));
        let (read, scored) = (Reads::new(["sample.question"]), Reads::new(["reference", "sample.question"]));
        let parts = read.digests_with_scored(&scored, &row);
        let names: Vec<&str> = parts.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["question", "scored: {{ reference }}"]);
        assert_eq!(scored_part(names[1]), Some("{{ reference }}"));
        assert_eq!(scored_part(names[0]), None);
        let by_step = Reads::new(["reference"]).digests(&row);
        assert_eq!(by_step[0], ("{{ reference }}".to_owned(), parts[1].1));
    }

    /// CL-07, BY-06: a gold answer that no step reads is not part of a cell's identity.
    #[test]
    fn only_what_is_read_counts() {
        let reads = Reads::new(["sample.question.text", "output.claims"]);
        let one = reads.digest(&sample(json!({"question": {"text": "q"}, "gold": 1})));
        let other = reads.digest(&sample(json!({"question": {"text": "q"}, "gold": 2})));
        let changed = reads.digest(&sample(json!({"question": {"text": "r"}, "gold": 1})));
        assert_eq!(one, other);
        assert_ne!(one, changed);
    }
}
