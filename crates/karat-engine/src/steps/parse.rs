//! Parses a reply's text into a value.

use karat_text::ladder::{self, Expectation, Ladder, Meant, Rung};
use karat_text::schema::Schema;
use karat_text::{half_characters, markdown};
use karat_types::{FinishReason, Note, NoteKind, ParseAs, ParseSpec};
use serde_json::{Map, Value, json};

use super::{StepError, shape};

/// A [`ParseSpec`] with its schema compiled.
pub(crate) struct Parser {
    spec: ParseSpec,
    schema: Option<Schema>,
    exact: bool,
}

/// A reply that the step cannot use, described so that a model can act on it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParseFailure(pub String);

impl ParseFailure {
    /// The failure of a reply without a text that calls a tool which the step does not offer.
    pub fn of_call(tool: &str) -> Self {
        Self(format!(
            "it calls the tool `{}` in place of an answer, and the step offers no tools; offer it under `tools` of the \
             prompt, or ask for the answer as text",
            karat_text::kind::ends(tool, 60, 0)
        ))
    }

    /// Adds a hint if the reply was cut off, which is not the model's mistake.
    pub fn of(self, finish: FinishReason) -> Self {
        match finish {
            FinishReason::Length => {
                Self(format!("{} (the reply was cut off at its limit of tokens: raise `max_tokens`)", self.0))
            }
            FinishReason::Refusal => {
                Self(format!("{} (the reply was ended by its provider's content filter, or is a refusal)", self.0))
            }
            _ => self,
        }
    }
}

impl Parser {
    /// Compiles the schema.
    pub fn new(spec: &ParseSpec) -> Result<Self, StepError> {
        let compile = |schema| Schema::new(schema).map_err(|error| StepError::Schema(error.to_string()));
        let schema = spec.schema.as_deref().map(compile).transpose()?;
        Ok(Self { spec: spec.clone(), schema, exact: false })
    }

    /// The same parser, but for JSON as it stands: a service's broken JSON is an error, never repaired.
    #[must_use]
    pub fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    /// The number of allowed re-asks.
    pub fn reask_limit(&self) -> u32 {
        self.spec.reask
    }

    /// Reads a text.
    pub fn read(&self, text: &str) -> Result<(Value, Option<Note>), ParseFailure> {
        let (value, note) = self.document(text)?;
        let error = self.schema.as_ref().map(|schema| schema.first_error(&value)).transpose();
        match error.map_err(|why| ParseFailure(why.to_string()))?.flatten() {
            Some(error) => Err(ParseFailure(shape::violation(&error))),
            None => Ok((value, note)),
        }
    }

    /// Reads a text without checking it against the schema.
    pub fn document(&self, text: &str) -> Result<(Value, Option<Note>), ParseFailure> {
        let text = self.spec.section.as_deref().and_then(|heading| markdown::section(text, heading)).unwrap_or(text);
        let (value, note) = match self.spec.form {
            ParseAs::Json => self.json(text)?,
            ParseAs::Text => (Value::from(text.trim()), None),
            ParseAs::Lines => (lines(text), None),
            ParseAs::Bullets => bullets(&ladder::without_reasoning(text)),
            ParseAs::Yaml => (yaml(text)?, None),
            ParseAs::Csv => (csv(text)?, None),
        };
        let value = match &self.spec.into {
            Some(name) => Value::Object(Map::from_iter([(name.clone(), value)])),
            None => value,
        };
        Ok((value, note))
    }

    /// True if a value meets the schema, where there is one.
    fn fits(&self, value: &Value) -> bool {
        let Some(schema) = &self.schema else { return true };
        let fits = |value: &Value| matches!(schema.first_error(value), Ok(None));
        match &self.spec.into {
            Some(name) => fits(&Value::Object(Map::from_iter([(name.clone(), value.clone())]))),
            None => fits(value),
        }
    }

    fn json(&self, text: &str) -> Result<(Value, Option<Note>), ParseFailure> {
        if self.exact {
            return exact_json(text).map_err(ParseFailure);
        }
        let meant = Ladder::new(Expectation::Any).choose(text, |value| self.fits(value));
        let Meant { found, choice } = meant.map_err(|error| ParseFailure(error.to_string()))?;
        let repaired =
            (found.rung == Rung::Repaired).then(|| "the reply was not a valid JSON and was repaired".to_owned());
        let text = [repaired, choice].into_iter().flatten().collect::<Vec<_>>().join("; ");
        let note = (!text.is_empty()).then_some(Note { kind: NoteKind::Lenient, text, count: 1 });
        Ok((found.value, note))
    }
}

/// Parses a text that is JSON as a whole, with a note on half characters in it; the error describes what it is instead.
pub(super) fn exact_json(text: &str) -> Result<(Value, Option<Note>), String> {
    let text = text.trim_start_matches('\u{feff}');
    half_characters::value(text).map(|read| (read.value, mended_note(read.was_mended))).map_err(|error| {
        match text.trim() {
            "" => "it is empty".to_owned(),
            text => {
                let begin: String = text.chars().take(80).collect();
                format!("it is not JSON ({error}); it begins {begin:?}")
            }
        }
    })
}

/// The note on half characters in an answer or a recorded row.
pub(super) fn mended_note(was_mended: bool) -> Option<Note> {
    was_mended.then(|| Note { kind: NoteKind::Lenient, text: half_characters::NOTE.to_owned(), count: 1 })
}

/// The lines that are not blank; of an answer that is a code fence with few words around it, those of the fence.
fn lines(text: &str) -> Value {
    let (plain, body) = (ladder::without_reasoning(text), ladder::body(text, &["text", "txt", "plaintext"]));
    let count = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).count();
    // The marks of the fence, a line before it and one behind it.
    let is_wrapped = count(&plain) <= count(&body) + 4;
    let lines = if is_wrapped { body.lines() } else { plain.lines() };
    lines.map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// The items of a list; an answer without any is an empty list, and noted.
fn bullets(text: &str) -> (Value, Option<Note>) {
    let items: Value = markdown::items(text).into_iter().map(|text| json!({ "text": text })).collect();
    let is_empty = items.as_array().is_some_and(Vec::is_empty) && !text.trim().is_empty();
    let said = "the reply has no line that begins an item of a list; it counts as an empty list";
    let note = is_empty.then(|| Note { kind: NoteKind::Lenience, text: said.to_owned(), count: 1 });
    (items, note)
}

fn yaml(text: &str) -> Result<Value, ParseFailure> {
    let body = ladder::body(text, &["yaml", "yml"]);
    karat_suite::parse_yaml(body.trim()).map_err(|error| ParseFailure(format!("not YAML: {error}")))
}

fn csv(text: &str) -> Result<Value, ParseFailure> {
    let body = ladder::body(text, &["csv"]);
    let mut reader = csv::Reader::from_reader(body.trim().as_bytes());
    let headers = reader.headers().map_err(|error| ParseFailure(format!("not CSV: {error}")))?.clone();
    if headers.len() < 2 && body.trim().lines().count() < 2 {
        return Err(ParseFailure("not CSV: it has neither a comma nor a second line".to_owned()));
    }
    reader
        .records()
        .map(|record| {
            let record = record.map_err(|error| ParseFailure(format!("not CSV: {error}")))?;
            let fields = headers.iter().zip(record.iter());
            Ok(Value::Object(fields.map(|(name, field)| (name.to_owned(), Value::from(field))).collect()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parser(form: ParseAs, schema: Option<Value>) -> Parser {
        Parser::new(&ParseSpec { form, section: None, schema: schema.map(Into::into), into: None, reask: 1 }).unwrap()
    }

    /// F59: a reply that is a call of a tool that nobody offered is told as that call, with what to do.
    #[test]
    fn a_call_in_place_of_an_answer_is_named() {
        let said = ParseFailure::of_call("look_up").0;
        assert!(
            said.contains("calls the tool `look_up` in place of an answer") && said.contains("under `tools`"),
            "{said}"
        );
    }

    #[test]
    fn bullets_are_items_and_continuations_join() {
        let text = "Claims:\n- one\n  goes on\n* two\n3. three\n\nWhat I excluded: ads.";
        let read = parser(ParseAs::Bullets, None).read(text).unwrap().0;
        assert_eq!(read, json!([{"text": "one goes on"}, {"text": "two"}, {"text": "three"}]));
    }

    /// CL-09: only the requested section of an answer is read.
    #[test]
    fn a_section_is_read_alone() {
        let text = "---\ndate: x\n---\n# Claims\n- one\n## more\n- two\n# What I excluded and why\n- an ad\n";
        let spec = ParseSpec {
            form: ParseAs::Bullets,
            section: Some("Claims".to_owned()),
            schema: None,
            into: Some("claims".to_owned()),
            reask: 0,
        };
        let read = Parser::new(&spec).unwrap().read(text).unwrap().0;
        assert_eq!(read, json!({"claims": [{"text": "one"}, {"text": "two"}]}));
    }

    #[test]
    fn schema_violations_name_their_place() {
        let schema =
            json!({"type": "object", "properties": {"claims": {"type": "array", "items": {"required": ["text"]}}}});
        let failure = parser(ParseAs::Json, Some(schema)).read(r#"{"claims": [{"txt": 1}]}"#).unwrap_err();
        assert_eq!(failure.0, "`$.claims[0].text` is missing; there is `txt`");
    }

    /// RG-03: a service's JSON is never repaired, a model's is.
    #[test]
    fn exact_json_is_not_repaired() {
        let cut = r#"{"answer": "half","#;
        let spec = ParseSpec { form: ParseAs::Json, section: None, schema: None, into: None, reask: 0 };
        assert!(Parser::new(&spec).unwrap().read(cut).is_ok());
        let exact = Parser::new(&spec).unwrap().exact();
        let failure = exact.read(cut).unwrap_err().0;
        assert!(failure.starts_with("it is not JSON (EOF while parsing a value at line 1 column 18)"), "{failure}");
        assert_eq!(exact.read("\u{feff}[1]").unwrap().0, json!([1]));
        assert_eq!(exact.read(" ").unwrap_err().0, "it is empty");
        // F7: half a character is not a reason to throw an answer away.
        let (value, note) = exact.read(r#"{"a": "\ud83d"}"#).unwrap();
        assert_eq!((value, note.map(|note| note.kind)), (json!({"a": "\u{fffd}"}), Some(NoteKind::Lenient)));
        assert!(exact.read(&"[".repeat(1000)).unwrap_err().0.contains("recursion limit"));
        assert!(exact.read(r#"{"a": NaN}"#).is_err());
    }

    /// F14: `parse: json` takes the corrected or final value with a note; where nothing says which one is meant, the model is
    /// asked again with the reason.
    #[test]
    fn of_several_values_the_meant_one_counts() {
        let text = "Draft: {\"category\": \"bug\"}\nFinal: {\"category\": \"billing\"}";
        let (value, note) = parser(ParseAs::Json, None).read(text).unwrap();
        assert_eq!(value, json!({"category": "billing"}));
        assert!(note.is_some_and(|note| note.text.contains("2 JSON values that differ")));
        let failure = parser(ParseAs::Json, None).read("{\"a\": 1}\n{\"a\": 2}").unwrap_err();
        assert_eq!(failure.0, "the reply holds 2 JSON values that differ, where one is expected");
        let schema = json!({"type": "object", "properties": {"a": {"enum": [2]}}, "required": ["a"]});
        let (value, note) = parser(ParseAs::Json, Some(schema)).read("{\"a\": 1}\n{\"a\": 2}").unwrap();
        assert_eq!((value, note.is_some()), (json!({"a": 2}), true));
        let into = ParseSpec {
            form: ParseAs::Json,
            section: None,
            schema: Some(std::sync::Arc::new(json!({"properties": {"x": {"type": "array"}}}))),
            into: Some("x".to_owned()),
            reask: 0,
        };
        let value = Parser::new(&into).unwrap().read("{\"a\": 1} [{\"a\": 2}]").unwrap().0;
        assert_eq!(value, json!({"x": [{"a": 2}]}));
    }

    /// F15: each form reads an answer as models write it: after reasoning, and in a fence amid words.
    #[test]
    fn every_form_reads_fences_and_leaves_reasoning_out() {
        for (form, mark, body, expected) in [
            (ParseAs::Json, "json", "[\"a\", \"b\"]", json!(["a", "b"])),
            (ParseAs::Yaml, "yaml", "- a\n- b", json!(["a", "b"])),
            (ParseAs::Csv, "csv", "x,y\n1,2", json!([{"x": "1", "y": "2"}])),
            (ParseAs::Lines, "text", "a\nb", json!(["a", "b"])),
            (ParseAs::Bullets, "markdown", "・a\n・b", json!([{"text": "a"}, {"text": "b"}])),
        ] {
            let read = |text: &str| parser(form, None).read(text).unwrap().0;
            assert_eq!(read(body), expected, "{form:?}");
            assert_eq!(read(&format!("Here it is:\n\n```{mark}\n{body}\n```\nDone.")), expected, "{form:?}");
            assert_eq!(read(&format!("<think>\n- x\n- y: 1\n</think>\n```\n{body}\n```")), expected, "{form:?}");
            assert_eq!(read(&format!("<think>\n- z\n</think>\n{body}")), expected, "{form:?}");
        }
        let (empty, note) = parser(ParseAs::Bullets, None).read("None of it.").unwrap();
        assert_eq!((empty, note.map(|note| note.kind)), (json!([]), Some(NoteKind::Lenience)));
        let long = "a\nb\n```\nc\n```\nd\ne\nf";
        assert_eq!(parser(ParseAs::Lines, None).read(long).unwrap().0.as_array().map(Vec::len), Some(8));
        let code = "- a\n```\n- not seen twice\n```\n- b";
        assert_eq!(parser(ParseAs::Bullets, None).read(code).unwrap().0.as_array().map(Vec::len), Some(3));
        assert!(parser(ParseAs::Csv, None).read("I cannot do that.").is_err());
    }

    #[test]
    fn csv_and_lines_and_yaml() {
        assert_eq!(parser(ParseAs::Csv, None).read("a,b\n1,2\n").unwrap().0, json!([{"a": "1", "b": "2"}]));
        assert_eq!(parser(ParseAs::Lines, None).read(" a \n\nb").unwrap().0, json!(["a", "b"]));
        assert_eq!(parser(ParseAs::Yaml, None).read("a: [1, 2]").unwrap().0, json!({"a": [1, 2]}));
    }
}
