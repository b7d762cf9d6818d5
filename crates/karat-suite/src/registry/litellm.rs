//! LiteLLM's list of prices: US dollars a token, by the kind of token, the length of the request and the tier of service.
//!
//! A field's name says all three: `output_cost_per_token_above_200k_tokens_priority`. What a tier does not say costs there what
//! it costs otherwise, as LiteLLM itself counts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{Registry, entry};
use crate::diagnostics::Problems;
use crate::syntax::node::{Entry, Node};

/// Providers of the list that have other names here.
const RENAMED: [(&str, &str); 2] = [("together_ai", "together"), ("fireworks_ai", "fireworks")];

/// Beginnings of the list's fields, and the rates that they are. The first that fits holds.
const KINDS: [(&str, &str); 7] = [
    ("input_cost_per_token", "input"),
    ("output_cost_per_token", "output"),
    ("cache_read_input_token_cost", "cached_input"),
    ("cache_creation_input_token_cost_above_1hr", "cache_write_1h"),
    ("cache_creation_input_token_cost", "cache_write"),
    ("output_cost_per_reasoning_token", "reasoning"),
    ("input_cost_per_audio_token", "audio_input"),
];

/// The ending of fields whose rates are those of batches.
const BATCHES: &str = "batches";

/// Endings of fields whose rates are those of the tier of service with this name.
const SERVICES: [&str; 2] = ["flex", "priority"];

/// Prices by the length of the request, each with its range of input tokens.
const TIERED: &str = "tiered_pricing";

/// The usable part of a list.
#[derive(Debug, Default)]
pub(super) struct List {
    /// Its entries as registries have them.
    pub entries: Vec<Map<String, Value>>,
    /// Entries that were left out: not for chats, or of another provider.
    pub skipped: usize,
    /// Fields with a cost that no price here has, with the number of models that have them.
    pub unapplied: BTreeMap<String, u64>,
}

/// True for a map of models by name with prices a token.
pub(super) fn is_list(node: &Node) -> bool {
    let fields = |entry: &Entry| entry.node.get("litellm_provider").or_else(|| entry.node.get(KINDS[0].0)).is_some();
    node.entries().iter().any(fields)
}

/// The entries of the list for chats with providers that are known here.
pub(super) fn read(node: &Node, known: &Registry, problems: &mut Problems) -> List {
    let mut list = List::default();
    // Two spellings of one model are one model.
    let mut seen = BTreeSet::new();
    for entry in node.entries() {
        let read = identity(entry, known).and_then(|model| Some((model, price(&entry.node, problems)?)));
        let Some((mut model, (price, unapplied))) = read else {
            list.skipped += 1;
            continue;
        };
        if seen.insert(model.get("id").map(Value::to_string)) {
            unapplied.into_iter().for_each(|field| *list.unapplied.entry(field).or_default() += 1);
            model.insert("price".to_owned(), Value::Object(price));
            list.entries.push(model);
        }
    }
    if list.entries.is_empty() {
        problems
            .error(&node.place, "the list has no chat model of a known provider")
            .hint("known are those of `karat models` and of the page on providers");
    }
    list
}

/// The model of an entry and its limits, without a price; `None` unless it is for chats and its provider is known.
fn identity(entry: &Entry, known: &Registry) -> Option<Map<String, Value>> {
    let fields = &entry.node;
    if fields.text_of("mode").is_some_and(|mode| mode != "chat") {
        return None;
    }
    let spelling = fields.text_of("litellm_provider")?;
    let provider = RENAMED.iter().find(|(theirs, _)| *theirs == spelling).map_or(spelling, |(_, ours)| *ours);
    let name = entry.key.strip_prefix(&format!("{spelling}/")).unwrap_or(&entry.key);
    let reference = format!("{provider}:{name}");
    let mut model = Map::new();
    match known.listed_model(&reference) {
        Some(listed) => {
            model.insert("id".to_owned(), json!(listed.id));
            model.insert("like".to_owned(), json!(listed.id));
        }
        None => {
            known.find(&reference)?;
            model.insert("id".to_owned(), json!(reference));
            for (theirs, ours) in [("max_input_tokens", "context_window"), ("max_output_tokens", "max_output")] {
                let tokens = fields.field(theirs).and_then(Node::integer).filter(|tokens| *tokens > 0);
                model.extend(tokens.map(|tokens| (ours.to_owned(), json!(tokens))));
            }
        }
    }
    Some(model)
}

/// The calls that a field is a rate for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cell<'a> {
    /// The tier; none for the base.
    tier: Option<&'a str>,
    /// Input tokens that the request must have more of; 0 for requests of any length.
    above: u64,
}

const BASE: Cell<'static> = Cell { tier: None, above: 0 };

/// Rates by what makes a call have them, each in US dollars a million tokens.
type Cells<'a> = BTreeMap<Cell<'a>, BTreeMap<&'static str, f64>>;

/// The cell and the rate of a field; `None` if it is none that is known here.
fn read_name(field: &str) -> Option<(Cell<'_>, &'static str)> {
    let (kind, ending) = KINDS.iter().find_map(|(start, kind)| Some((*kind, field.strip_prefix(start)?)))?;
    let mut cell = BASE;
    let mut rest = ending;
    while let Some(part) = rest.strip_prefix('_') {
        let above = part.strip_prefix("above_").and_then(|part| part.split_once("k_tokens"));
        if let Some((thousands, after)) = above {
            cell.above = thousands.parse::<u64>().ok()?.checked_mul(1000)?;
            rest = after;
        } else {
            let tier = part.split('_').next()?;
            (tier == BATCHES || SERVICES.contains(&tier)).then_some(())?;
            cell.tier = Some(tier);
            rest = &part[tier.len()..];
        }
    }
    rest.is_empty().then_some((cell, kind))
}

/// The price of an entry as registries have it, and the fields with a cost that is no part of it. `None` without rates for
/// input and output.
fn price(fields: &Node, problems: &mut Problems) -> Option<(Map<String, Value>, Vec<String>)> {
    let mut cells = Cells::new();
    let mut unapplied = Vec::new();
    for field in fields.entries().iter().filter(|field| !field.node.is_null()) {
        match read_name(&field.key) {
            Some((cell, kind)) => {
                let rates = cells.entry(cell).or_default();
                rates.extend(amount(field, problems).map(|amount| (kind, amount)));
            }
            None if field.key == TIERED => read_ranges(&field.node, &mut cells, problems),
            None if field.key.contains("cost") && field.node.number() != Some(0.0) => unapplied.push(field.key.clone()),
            None => {}
        }
    }
    let base = rates(&cells, BASE).filter(|base| base.contains_key("input") && base.contains_key("output"))?;
    let mut price = base;
    price.extend(steps(&cells, None).map(|steps| ("above".to_owned(), steps)));
    let mut service = Map::new();
    for tier in cells.keys().filter_map(|cell| cell.tier).collect::<BTreeSet<_>>() {
        let mut set = rates(&cells, Cell { tier: Some(tier), above: 0 }).unwrap_or_default();
        set.extend(steps(&cells, Some(tier)).map(|steps| ("above".to_owned(), steps)));
        match tier {
            BATCHES => price.insert("batch".to_owned(), Value::Object(set)),
            _ => service.insert(tier.to_owned(), Value::Object(set)),
        };
    }
    if !service.is_empty() {
        price.insert("service".to_owned(), Value::Object(service));
    }
    Some((price, unapplied))
}

/// Reads prices by the number of input tokens. One range holds for all tokens of a request, as the providers bill it.
fn read_ranges<'a>(ranges: &Node, cells: &mut Cells<'a>, problems: &mut Problems) {
    for range in ranges.items() {
        let start = range.field("range").and_then(|range| range.items().first()?.number());
        let Some(start) = start.filter(|start| *start >= 0.0) else {
            problems.error(&range.place, "no `range` of input tokens, such as `[0, 32000]`");
            continue;
        };
        for field in range.entries() {
            if let Some((BASE, kind)) = read_name(&field.key) {
                let rates = cells.entry(Cell { above: start as u64, ..BASE }).or_default();
                rates.extend(amount(field, problems).map(|amount| (kind, amount)));
            }
        }
    }
}

/// The rates of a cell, those that it does not state as they are without its tier or length. Those of a cache and of reasoning
/// follow the length's input and output instead: what they cost in short requests would be too low.
fn rates(cells: &Cells<'_>, cell: Cell<'_>) -> Option<Map<String, Value>> {
    let fallbacks = [cell, Cell { tier: None, ..cell }, Cell { above: 0, ..cell }, BASE];
    let follows = |kind: &str| cell.above > 0 && !["input", "output", "audio_input"].contains(&kind);
    let usable = |kind: &str| if follows(kind) { &fallbacks[..2] } else { &fallbacks[..] };
    let stated = |kind: &str| usable(kind).iter().find_map(|cell| cells.get(cell)?.get(kind));
    let rates: Map<String, Value> =
        KINDS.iter().filter_map(|(_, kind)| Some(((*kind).to_owned(), json!(stated(kind)?)))).collect();
    (!rates.is_empty()).then_some(rates)
}

/// The rates of long requests in a tier; `None` if the list states none.
fn steps(cells: &Cells<'_>, tier: Option<&str>) -> Option<Value> {
    let long = cells.keys().filter(|cell| cell.tier == tier && cell.above > 0);
    let steps = long.filter_map(|cell| {
        let mut step = rates(cells, *cell)?;
        step.insert("tokens".to_owned(), json!(cell.above));
        Some(Value::Object(step))
    });
    let steps: Vec<Value> = steps.collect();
    (!steps.is_empty()).then_some(Value::Array(steps))
}

/// US dollars a million tokens, without the noise of a product of binary fractions.
fn amount(field: &Entry, problems: &mut Problems) -> Option<f64> {
    entry::check_amount(field, problems);
    let per_token = field.node.number();
    if per_token.is_none() {
        problems
            .error(&field.node.place, format!("`{}` is {}, not a number of US dollars", field.key, field.node.kind()))
            .hint("write the price of one token, such as 2.5e-06");
    }
    per_token.map(|per_token| (per_token * 1e15).round() / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RE-24: a name says the kind of token, the length and the tier, in either order.
    #[test]
    fn names_of_fields() {
        let cell = |tier, above| Cell { tier, above };
        for (name, read) in [
            ("input_cost_per_token", Some((BASE, "input"))),
            ("output_cost_per_token_above_200k_tokens", Some((cell(None, 200_000), "output"))),
            ("input_cost_per_token_above_272k_tokens_priority", Some((cell(Some("priority"), 272_000), "input"))),
            ("input_cost_per_token_flex_above_272k_tokens", Some((cell(Some("flex"), 272_000), "input"))),
            ("cache_read_input_token_cost_batches", Some((cell(Some("batches"), 0), "cached_input"))),
            ("cache_creation_input_token_cost_above_1hr", Some((BASE, "cache_write_1h"))),
            (
                "cache_creation_input_token_cost_above_1hr_above_200k_tokens",
                Some((cell(None, 200_000), "cache_write_1h")),
            ),
            ("cache_creation_input_token_cost_above_200k_tokens", Some((cell(None, 200_000), "cache_write"))),
            ("output_cost_per_reasoning_token", Some((BASE, "reasoning"))),
            ("input_cost_per_audio_token", Some((BASE, "audio_input"))),
            ("input_cost_per_token_ultrafast", None),
            ("input_cost_per_token_above_99999999999999999999k_tokens", None),
            ("input_cost_per_tokens", None),
            ("input_cost_per_image", None),
            ("output_cost_per_audio_token", None),
            ("max_input_tokens", None),
        ] {
            assert_eq!(read_name(name), read, "{name}");
        }
    }
}
