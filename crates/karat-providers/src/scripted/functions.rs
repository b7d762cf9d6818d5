//! Text functions of scripts beyond minijinja's own filters.

use karat_text::{fence, similar, template};
use karat_types::Key;
use minijinja::value::Rest;
use minijinja::{Environment, Error, ErrorKind, State, Value};
use unicode_segmentation::UnicodeSegmentation;

/// Registers all functions.
pub(super) fn register(environment: &mut Environment<'static>) {
    environment.add_function("fenced", fenced_section);
    environment.add_function("similarity", similarity);
    environment.add_filter("similarity", similarity);
    environment.add_filter("sentences", sentences);
    environment.add_filter("drop_tail", drop_tail);
    environment.add_filter("merge_pairs", merge_pairs);
    environment.add_filter("perturb_numbers", |text: &str, share: f64| perturb_numbers(text, share));
    environment.add_filter("take", |list: Vec<Value>, n: usize| list.into_iter().take(n).collect::<Vec<_>>());
    environment.add_filter("skip", |list: Vec<Value>, n: usize| list.into_iter().skip(n).collect::<Vec<_>>());
    environment.add_filter("json", |value: &Value| json(value));
    environment.add_filter("fromjson", from_json);
    environment.add_filter("unsupported", super::support::unsupported_items);
}

/// `fenced("claims")`: the content of the prompt's first section with this label. Without such a section it returns the
/// second argument, or fails with the labels that exist.
fn fenced_section(state: &State<'_, '_>, label: &str, default: Rest<Value>) -> Result<Value, Error> {
    let prompt = state.lookup("prompt").unwrap_or_default();
    let sections = fence::sections(prompt.as_str().unwrap_or_default());
    let wanted = fence::label(label);
    if let Some((_, content)) = sections.iter().find(|(label, _)| *label == wanted) {
        return Ok(Value::from(content.as_str()));
    }
    default.first().cloned().ok_or_else(|| {
        let labels: Vec<&str> = sections.iter().map(|(label, _)| label.as_str()).collect();
        let known = if labels.is_empty() { "none".to_owned() } else { labels.join(", ") };
        Error::new(ErrorKind::InvalidOperation, format!("the prompt has no section {wanted}; its sections: {known}"))
    })
}

/// `text | sentences`: the sentences of a text by Unicode's rules, trimmed.
fn sentences(text: &str) -> Vec<String> {
    text.unicode_sentences().map(|sentence| sentence.trim().to_owned()).filter(|it| !it.is_empty()).collect()
}

/// `list | drop_tail(0.33)`: the list without this share of its items at the end, rounded to whole items.
fn drop_tail(mut list: Vec<Value>, share: f64) -> Result<Vec<Value>, Error> {
    let dropped = (list.len() as f64 * self::share(share)?).round() as usize;
    list.truncate(list.len() - dropped.min(list.len()));
    Ok(list)
}

/// `list | merge_pairs(2)`: merges every `n` neighbours. Texts are joined by a space; the first of several objects is
/// kept, with the joined `text` of all.
fn merge_pairs(list: Vec<Value>, n: usize) -> Result<Vec<Value>, Error> {
    if n == 0 {
        return Err(Error::new(ErrorKind::InvalidOperation, "merge_pairs joins at least one item"));
    }
    list.chunks(n).map(merge).collect()
}

fn merge(items: &[Value]) -> Result<Value, Error> {
    let texts: Vec<String> = items.iter().map(text_of).collect::<Result<_, _>>()?;
    let joined = texts.join(" ");
    match items.first() {
        Some(first) if first.as_str().is_none() && items.len() > 1 => {
            let mut object = to_json(first)?;
            object["text"] = joined.into();
            Ok(template::from_json(&object))
        }
        Some(only) if items.len() == 1 => Ok(only.clone()),
        _ => Ok(Value::from(joined)),
    }
}

/// A text, or the `text` of an object.
fn text_of(item: &Value) -> Result<String, Error> {
    let text = match item.as_str() {
        Some(text) => Some(text.to_owned()),
        None => item.get_attr("text")?.as_str().map(str::to_owned),
    };
    text.ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "merge_pairs joins texts, or objects with a `text`"))
}

/// `text | perturb_numbers(0.3)`: changes a digit in about this share of the numbers, so that they are wrong but look
/// right. The choice follows from the text and the position of the number.
fn perturb_numbers(text: &str, share: f64) -> Result<String, Error> {
    let share = self::share(share)?;
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    let mut index = 0_u64;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = &rest[start..];
        let length = digits.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',')).unwrap_or(digits.len());
        let number = digits[..length].trim_end_matches(['.', ',']);
        done.push_str(&rest[..start]);
        let draw = draw(text, index);
        if unit_interval(draw) < share {
            done.push_str(&change_digit(number, draw));
        } else {
            done.push_str(number);
        }
        rest = &digits[number.len()..];
        index += 1;
    }
    done.push_str(rest);
    Ok(done)
}

/// Replaces the first nonzero digit of a number (the last digit if all are 0) by another from 1 to 9.
fn change_digit(number: &str, draw: u64) -> String {
    let at = number.find(|c: char| ('1'..='9').contains(&c)).unwrap_or(number.len() - 1);
    let old = number.as_bytes()[at] - b'0';
    let new = match old {
        0 => 1 + (draw % 9) as u8,
        old => 1 + (old - 1 + 1 + (draw % 8) as u8) % 9,
    };
    format!("{}{new}{}", &number[..at], &number[at + 1..])
}

fn draw(text: &str, index: u64) -> u64 {
    let Key(key) = karat_types::KeyBuilder::new("karat/perturb/1").text(text).number(index).finish();
    key.iter().take(8).fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// A number from 0 up to 1.
fn unit_interval(draw: u64) -> f64 {
    (draw >> 11) as f64 / (1_u64 << 53) as f64
}

fn share(share: f64) -> Result<f64, Error> {
    if (0.0..=1.0).contains(&share) {
        return Ok(share);
    }
    Err(Error::new(ErrorKind::InvalidOperation, format!("a share is between 0 and 1, this is {share}")))
}

/// `similarity(a, b)`: how alike two texts are, 0 to 1.
fn similarity(a: &str, b: &str) -> f64 {
    similar::similarity(a, b)
}

/// `value | json`: as JSON.
pub(super) fn json(value: &Value) -> Result<String, Error> {
    to_json(value).map(|json| json.to_string())
}

fn to_json(value: &Value) -> Result<serde_json::Value, Error> {
    template::to_json(value).map_err(|problem| Error::new(ErrorKind::BadSerialization, problem))
}

/// `text | fromjson`: the value of a JSON text.
fn from_json(text: &str) -> Result<Value, Error> {
    let json = karat_types::json::parse(text)
        .map_err(|error| Error::new(ErrorKind::InvalidOperation, format!("fromjson: {error}")))?;
    Ok(template::from_json(&json))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perturbed_numbers_differ_keep_their_form_and_are_deterministic() {
        let text = "In 2024, 1,234.50 of 0.05 tons cost 0 euros and 7.";
        let all = perturb_numbers(text, 1.0).unwrap();
        assert_eq!(perturb_numbers(text, 1.0).unwrap(), all);
        assert_eq!(perturb_numbers(text, 0.0).unwrap(), text);
        let digitless = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "#");
        assert_eq!(digitless(&all), digitless(text));
        let numbers = |text: &str| {
            text.split(' ')
                .filter(|it| it.contains('#') || it.contains(|c: char| c.is_ascii_digit()))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert!(numbers(text).iter().zip(numbers(&all)).all(|(old, new)| *old != new), "{all}");
        assert!(perturb_numbers(text, 1.5).is_err());
    }

    #[test]
    fn a_share_of_the_numbers_is_perturbed() {
        let text = (100..1100).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
        let perturbed = perturb_numbers(&text, 0.3).unwrap();
        let changed = text.split(' ').zip(perturbed.split(' ')).filter(|(old, new)| old != new).count();
        assert!((250..350).contains(&changed), "{changed}");
    }

    #[test]
    fn every_digit_becomes_another() {
        for digit in 0..=9 {
            for draw in 0..100 {
                let old = digit.to_string();
                assert_ne!(change_digit(&old, draw), old);
            }
        }
    }

    #[test]
    fn tails_are_dropped_in_whole_items() {
        let kept = |n: i64, share| drop_tail((0..n).map(Value::from).collect(), share).unwrap().len();
        assert_eq!([kept(3, 0.33), kept(10, 0.33), kept(1, 0.33), kept(0, 0.5), kept(4, 1.0)], [2, 7, 1, 0, 0]);
    }

    #[test]
    fn neighbours_are_merged() {
        let texts: Vec<Value> = ["a", "b", "c"].map(Value::from).into();
        assert_eq!(json(&Value::from(merge_pairs(texts, 2).unwrap())).unwrap(), r#"["a b","c"]"#);
        let claims = from_json(r#"[{"text":"a","at":1},{"text":"b","at":2}]"#).unwrap();
        let merged = merge_pairs(claims.try_iter().unwrap().collect(), 2).unwrap();
        assert_eq!(json(&Value::from(merged)).unwrap(), r#"[{"text":"a b","at":1}]"#);
    }

    #[test]
    fn sentences_are_trimmed_and_never_empty() {
        assert_eq!(sentences("One is 1.5 km.  Two!\n\nThree"), ["One is 1.5 km.", "Two!", "Three"]);
        assert!(sentences("").is_empty());
    }
}
