//! Parses a reply's text into a value.

use karat_text::ladder::{self, Expectation, Rung};
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
            ParseAs::Bullets => (bullets(text), None),
            ParseAs::Yaml => (yaml(text)?, None),
            ParseAs::Csv => (csv(text)?, None),
        };
        let value = match &self.spec.into {
            Some(name) => Value::Object(Map::from_iter([(name.clone(), value)])),
            None => value,
        };
        Ok((value, note))
    }

    fn json(&self, text: &str) -> Result<(Value, Option<Note>), ParseFailure> {
        if self.exact {
            return exact_json(text).map_err(ParseFailure);
        }
        let (value, rung) = ladder::read(text, Expectation::Any).map_err(|error| ParseFailure(error.to_string()))?;
        let note = (rung == Rung::Repaired).then(|| Note {
            kind: NoteKind::Lenient,
            text: "the reply was no valid JSON and was repaired".to_owned(),
            count: 1,
        });
        Ok((value, note))
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
                format!("it is no JSON ({error}); it begins {begin:?}")
            }
        }
    })
}

/// The note on half characters in an answer or a recorded row.
pub(super) fn mended_note(was_mended: bool) -> Option<Note> {
    was_mended.then(|| Note { kind: NoteKind::Lenient, text: half_characters::NOTE.to_owned(), count: 1 })
}

fn lines(text: &str) -> Value {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

fn bullets(text: &str) -> Value {
    markdown::items(text).into_iter().map(|text| json!({ "text": text })).collect()
}

fn yaml(text: &str) -> Result<Value, ParseFailure> {
    let body = text.trim().trim_start_matches("```yaml").trim_start_matches("```").trim_end_matches("```");
    karat_suite::parse_yaml(body).map_err(|error| ParseFailure(format!("not YAML: {error}")))
}

fn csv(text: &str) -> Result<Value, ParseFailure> {
    let mut reader = csv::Reader::from_reader(text.trim().as_bytes());
    let headers = reader.headers().map_err(|error| ParseFailure(format!("not CSV: {error}")))?.clone();
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
        assert!(failure.starts_with("it is no JSON (EOF while parsing a value at line 1 column 18)"), "{failure}");
        assert_eq!(exact.read("\u{feff}[1]").unwrap().0, json!([1]));
        assert_eq!(exact.read(" ").unwrap_err().0, "it is empty");
        // F7: half a character is no reason to throw an answer away.
        let (value, note) = exact.read(r#"{"a": "\ud83d"}"#).unwrap();
        assert_eq!((value, note.map(|note| note.kind)), (json!({"a": "\u{fffd}"}), Some(NoteKind::Lenient)));
        assert!(exact.read(&"[".repeat(1000)).unwrap_err().0.contains("recursion limit"));
        assert!(exact.read(r#"{"a": NaN}"#).is_err());
    }

    #[test]
    fn csv_and_lines_and_yaml() {
        assert_eq!(parser(ParseAs::Csv, None).read("a,b\n1,2\n").unwrap().0, json!([{"a": "1", "b": "2"}]));
        assert_eq!(parser(ParseAs::Lines, None).read(" a \n\nb").unwrap().0, json!(["a", "b"]));
        assert_eq!(parser(ParseAs::Yaml, None).read("a: [1, 2]").unwrap().0, json!({"a": [1, 2]}));
    }
}
