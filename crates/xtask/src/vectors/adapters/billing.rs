//! The adapter of bills: what a reply is booked at, from a price as registries write it and the body of the reply.

use karat_suite::{Catalog, Registry};
use karat_types::{Billing, Pricing, Usage};
use serde_json::{Value, json};

use crate::vectors::Adapter;
use crate::vectors::input::{field, integer, text};

/// Adapters by the stem of the vector file.
pub const ADAPTERS: &[(&str, Adapter)] = &[("billing", bill_call)];

fn bill_call(input: &Value) -> Result<Value, String> {
    let protocol = text(input, "protocol")?;
    let price = price(protocol, field(input, "price")?)?;
    let reports = field(input, "reports")?.as_str();
    let header = reports.and_then(|name| input["headers"][name.strip_prefix("header:")?].as_str());
    let body = field(input, "body")?.to_string();
    let (usage, billing) = karat_providers::read_bill(protocol, reports, body.as_bytes(), header)?;
    let count = |name| integer(input, name).map(|count| count as u64);
    let most = Usage { input_tokens: count("most_input")?, output_tokens: count("most_output")?, ..Usage::default() };
    let (usage, is_bound) = usage.map_or((most, true), |usage| billing.complete(usage, &most));
    let is_batch = field(input, "batch")? == true;
    let table = match &price {
        Pricing::Known(price) if is_batch => {
            let untiered = Billing { tier: None, ..billing.clone() };
            Pricing::Known(price.of_batches()).bill(&usage, &untiered)
        }
        price => price.bill(&usage, &billing),
    };
    let source = match (billing.reported, table) {
        (Some(_), _) => "reported",
        (None, Some(_)) => "table",
        (None, None) => "unknown",
    };
    let nano = billing.reported.or(table).and_then(|cost| i64::try_from(cost.0).ok());
    Ok(json!({
        "usage": {
            "input": usage.input_tokens,
            "cached": usage.cached_input_tokens,
            "cache_write": usage.cache_write_tokens,
            "cache_write_1h": usage.cache_write_1h_tokens,
            "audio": billing.audio_input_tokens,
            "output": usage.output_tokens,
            "reasoning": billing.counts_reasoning.then_some(usage.reasoning_tokens),
        },
        "tier": billing.tier,
        "bound": is_bound,
        "nano": nano,
        "source": source,
    }))
}

/// The price of an entry, read as from a registry file.
fn price(protocol: &str, price: &Value) -> Result<Pricing, String> {
    let provider = if protocol == "anthropic" { "anthropic" } else { "openai" };
    let mut price = price.clone();
    if let Some(fields) = price.as_object_mut() {
        // Of a price without a source it is asked whether it is that of one token.
        fields.entry("source").or_insert_with(|| json!("oracle"));
    }
    let entry = json!({ "id": "billed", "provider": provider, "model": "m", "price": price });
    let file = json!({ "schema": "karat.models/1", "models": [entry] }).to_string();
    let registry = Registry::builtin().with_entries(("vector", &file), &Catalog::default());
    let registry = registry.map_err(|problems| format!("reading the price: {problems}"))?;
    registry.get("billed").map(|model| model.price.clone()).ok_or_else(|| "the price was not read".to_owned())
}
