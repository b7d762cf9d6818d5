//! The `unsupported` filter: items of a list without support in another, by which scripted judges grade.

use std::collections::HashMap;

use karat_text::similar::Folded;
use minijinja::{Error, ErrorKind, Value};

/// `items | unsupported(sources, 0.85)`: the items of which no single source holds at least that share of the words.
pub(super) fn unsupported_items(items: Vec<Value>, sources: Vec<Value>, share: f64) -> Result<Vec<Value>, Error> {
    if !(0.0..=1.0).contains(&share) {
        return Err(Error::new(ErrorKind::InvalidOperation, format!("a share is between 0 and 1, this is {share}")));
    }
    let sources: Vec<Folded> = sources.iter().map(fold_item).collect::<Result<_, _>>()?;
    let mut holders: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, source) in sources.iter().enumerate() {
        for word in source.words() {
            let holders = holders.entry(word).or_default();
            if holders.last() != Some(&at) {
                holders.push(at);
            }
        }
    }
    let mut kept = Vec::new();
    for item in items {
        let words = fold_item(&item)?;
        let wanted = words.words().len() as f64 * share;
        let mut held: HashMap<usize, u32> = HashMap::new();
        for holder in words.words().filter_map(|word| holders.get(word)).flatten() {
            *held.entry(*holder).or_default() += 1;
        }
        if held.values().max().map_or(0.0, |most| f64::from(*most)) < wanted {
            kept.push(item);
        }
    }
    Ok(kept)
}

fn fold_item(item: &Value) -> Result<Folded, Error> {
    let text = item.as_str().ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "unsupported compares texts"))?;
    Ok(Folded::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<Value> {
        texts.iter().map(|text| Value::from(*text)).collect()
    }

    #[test]
    fn an_item_is_supported_by_one_source_not_by_all_together() {
        let sources = texts(&["Oats lower hunger by 40 percent.", "Rye lowers it by 12 percent."]);
        let items = texts(&["oats lower hunger by 40 percent", "Oats lower hunger by 12 percent.", "Rye keeps."]);
        let unsupported = unsupported_items(items, sources, 0.9).unwrap();
        let unsupported: Vec<&str> = unsupported.iter().filter_map(|item| item.as_str()).collect();
        assert_eq!(unsupported, ["Oats lower hunger by 12 percent.", "Rye keeps."]);
    }
}
