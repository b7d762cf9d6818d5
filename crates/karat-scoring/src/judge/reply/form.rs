//! The form of a reply, as an example for the prompt and as a JSON Schema for providers that can force it.

use karat_text::fence::CODE_DESCRIPTION;
use karat_types::{DiagnosticSpec, Dimension, FieldType, OverallMethod, ReplyShape, Rubric, Scale};
use serde_json::{Map, Value, json};

use super::choice::code_field;
use crate::judge::rubric::scale::placeholder;

/// The reply's form as JSON with placeholders. The rationale stands before the scores: a judge that reasons first grades better
/// than one that finds reasons for its grade.
pub fn form(rubric: &Rubric) -> String {
    let mut fields = vec![
        format!("{:?}: \"<the code of the fences>\"", code_field(rubric)),
        format!("{:?}: \"{}\"", rubric.rationale.field, words(rubric)),
    ];
    let line = |dimension: &Dimension| format!("{:?}: {}", dimension.name, placeholder(&dimension.scale));
    match rubric.reply {
        ReplyShape::Flat => fields.extend(rubric.dimensions.iter().map(line)),
        _ if rubric.dimensions.is_empty() => {}
        ReplyShape::Nested => {
            let scores: Vec<String> = rubric.dimensions.iter().map(line).collect();
            fields.push(format!("\"scores\": {{\n    {}\n  }}", scores.join(",\n    ")));
        }
        ReplyShape::List => {
            let items = rubric.dimensions.iter().map(|dimension| {
                let score = placeholder(&dimension.scale);
                format!("{{\"dimension\": {:?}, \"reason\": \"<text>\", \"score\": {score}}}", dimension.name)
            });
            fields.push(format!("\"dimensions\": [\n    {}\n  ]", items.collect::<Vec<_>>().join(",\n    ")));
        }
    }
    if let Some(overall) = rubric.overall.as_ref().filter(|overall| overall.method == OverallMethod::Given) {
        fields.push(format!("{:?}: {}", overall.id, placeholder(&widest(rubric))));
    }
    fields.extend(rubric.breakdowns.iter().map(|breakdown| {
        let scores: Vec<String> = breakdown.scores.iter().map(line).collect();
        let rows = breakdown.over.iter().map(|member| format!("{member:?}: {{{}}}", scores.join(", ")));
        format!("{:?}: {{\n    {}\n  }}", breakdown.name, rows.collect::<Vec<_>>().join(",\n    "))
    }));
    fields.extend(rubric.diagnostics.iter().map(|spec| format!("{:?}: [{}]", spec.name, item(spec))));
    format!("{{\n  {}\n}}", fields.join(",\n  "))
}

fn words(rubric: &Rubric) -> String {
    let bounds = match (rubric.rationale.min_chars, rubric.rationale.max_chars) {
        (0, None) => String::new(),
        (0, Some(max)) => format!(", at most {max} characters"),
        (min, None) => format!(", at least {min} characters"),
        (min, Some(max)) => format!(", {min} to {max} characters"),
    };
    format!("<why, in plain words{bounds}>")
}

fn item(spec: &DiagnosticSpec) -> String {
    if spec.fields.is_empty() {
        return "\"<text>\"".to_owned();
    }
    let fields = spec.fields.iter().map(|(name, kind)| {
        let value = match kind {
            FieldType::Text | FieldType::TextOr(_) => "\"<text>\"".to_owned(),
            FieldType::Number => "<number>".to_owned(),
            FieldType::Integer => "<whole number>".to_owned(),
            FieldType::Boolean => "true | false".to_owned(),
            FieldType::OneOf { words, .. } => {
                words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" | ")
            }
            FieldType::IndexOf(list) => format!("<position in {list}, from 0>"),
        };
        format!("{name:?}: {value}")
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
}

/// The scale from the lowest to the highest bound of all dimensions: that of an overall which the judge gives.
fn widest(rubric: &Rubric) -> Scale {
    let bounds = rubric.dimensions.iter().map(|dimension| dimension.scale.bounds());
    let (lo, hi) = bounds.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (lo, hi)| (low.min(lo), high.max(hi)));
    Scale::Range { lo, hi, step: None }
}

/// The reply's JSON Schema: every field required, none beside them. It is the same for all calls of a rubric, since providers
/// compile and cache schemas: the code's value stands in the prompt alone.
pub fn schema(rubric: &Rubric) -> Value {
    let code = json!({"type": "string", "description": CODE_DESCRIPTION});
    let mut properties = Map::from_iter([
        (code_field(rubric).to_owned(), code),
        (rubric.rationale.field.clone(), json!({"type": "string"})),
    ]);
    match rubric.reply {
        ReplyShape::Flat => properties.extend(scores(&rubric.dimensions)),
        _ if rubric.dimensions.is_empty() => {}
        ReplyShape::Nested => {
            properties.insert("scores".to_owned(), object(scores(&rubric.dimensions)));
        }
        ReplyShape::List => {
            let names: Vec<&str> = rubric.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
            let fields = [
                ("dimension", json!({"type": "string", "enum": names})),
                ("reason", json!({"type": "string"})),
                ("score", rubric.dimensions.first().map_or(json!({"type": "number"}), |first| score(&first.scale))),
            ];
            let item = object(fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect());
            properties.insert("dimensions".to_owned(), json!({"type": "array", "items": item}));
        }
    }
    if let Some(overall) = rubric.overall.as_ref().filter(|overall| overall.method == OverallMethod::Given) {
        properties.insert(overall.id.clone(), score(&widest(rubric)));
    }
    for breakdown in &rubric.breakdowns {
        let rows = breakdown.over.iter().map(|member| (member.clone(), object(scores(&breakdown.scores))));
        properties.insert(breakdown.name.clone(), object(rows.collect()));
    }
    for spec in &rubric.diagnostics {
        properties.insert(spec.name.clone(), json!({"type": "array", "items": finding(spec)}));
    }
    object(properties)
}

fn object(properties: Map<String, Value>) -> Value {
    let required: Vec<&String> = properties.keys().collect();
    json!({"type": "object", "additionalProperties": false, "required": required, "properties": properties})
}

fn scores(dimensions: &[Dimension]) -> Map<String, Value> {
    dimensions.iter().map(|dimension| (dimension.name.clone(), score(&dimension.scale))).collect()
}

fn score(scale: &Scale) -> Value {
    match scale {
        Scale::Choices(choices) => {
            json!({"type": "string", "enum": choices.iter().map(|(word, _)| word).collect::<Vec<_>>()})
        }
        Scale::Range { lo, hi, step } => {
            let whole = |number: f64| number.fract().abs() < f64::EPSILON;
            match step {
                Some(step) if whole(*step) && whole(*lo) => {
                    json!({"type": "integer", "minimum": *lo as i64, "maximum": hi.floor() as i64})
                }
                _ => json!({"type": "number", "minimum": lo, "maximum": hi}),
            }
        }
    }
}

fn finding(spec: &DiagnosticSpec) -> Value {
    if spec.fields.is_empty() {
        return json!({"type": "string"});
    }
    let fields = spec.fields.iter().map(|(name, kind)| {
        let schema = match kind {
            FieldType::Text | FieldType::TextOr(_) => json!({"type": "string"}),
            FieldType::Number => json!({"type": "number"}),
            FieldType::Integer | FieldType::IndexOf(_) => json!({"type": "integer"}),
            FieldType::Boolean => json!({"type": "boolean"}),
            FieldType::OneOf { words, .. } => json!({"type": "string", "enum": words}),
        };
        (name.clone(), schema)
    });
    object(fields.collect())
}
