//! The text of a row: what makes two rows the same test.

use karat_types::Sample;
use serde_json::Value;

/// The text of a row: its input, or all texts of its columns apart from the id where it names no input. `None` where
/// there is none.
pub fn row_text(sample: &Sample) -> Option<String> {
    let text = match &sample.input {
        Some(input) => value_text(input),
        None => {
            let is_content = |name: &str, value: &Value| {
                let is_id = value_text(value) == *sample.id;
                let is_role = Some(value) == sample.reference.as_ref() || name == "cluster" || name == "date";
                !is_id && !is_role
            };
            let columns = sample.columns.iter().filter(|(name, value)| is_content(name, value));
            let texts = columns.map(|(_, value)| value_text(value)).filter(|text| !text.trim().is_empty());
            texts.collect::<Vec<_>>().join("\n")
        }
    };
    (!text.trim().is_empty()).then_some(text)
}

/// The texts within a value, one a line; numbers and truth values as they are written, keys left out. The texts of
/// messages are joined without their roles.
pub fn value_text(value: &Value) -> String {
    let mut lines = Vec::new();
    collect(value, &mut lines);
    lines.join("\n")
}

fn collect(value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Null => {}
        Value::String(text) => lines.push(text.clone()),
        Value::Bool(_) | Value::Number(_) => lines.push(value.to_string()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, lines)),
        Value::Object(fields) => {
            let is_message = fields.contains_key("role") && fields.contains_key("content");
            let told = fields.iter().filter(|(name, _)| !is_message || *name != "role");
            told.for_each(|(_, value)| collect(value, lines));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample(columns: Value, input: Option<Value>) -> Sample {
        let Value::Object(columns) = columns else { unreachable!() };
        Sample {
            row: 0,
            id: "7".into(),
            input,
            reference: Some(json!("yes")),
            cluster: None,
            date: None,
            columns,
            metadata: Default::default(),
            only: None,
        }
    }

    /// BC-03: the text is the input, else the content of the columns; a row without either has none.
    #[test]
    fn the_text_of_a_row_is_its_content() {
        let row = json!({"id": 7, "ticket": "Where is it?", "label": "yes", "n": 3});
        assert_eq!(row_text(&sample(row.clone(), None)).as_deref(), Some("Where is it?\n3"));
        assert_eq!(row_text(&sample(row, Some(json!("x")))).as_deref(), Some("x"));
        assert_eq!(row_text(&sample(json!({"id": 7}), None)), None);
        assert_eq!(row_text(&sample(json!({"id": 7}), Some(json!(" ")))), None);
        let messages = json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"text": "Hello"}]}]);
        assert_eq!(value_text(&messages), "Hi\nHello");
    }
}
