//! The page of the models that ship with Karat: windows, rates, tiers, and where each price was read.

use std::fmt::Write as _;

use karat_suite::Registry;
use karat_types::{ModelSpec, Price, Pricing, RateSet, Rates, TierPrice};

/// The page.
///
/// # Errors
/// A price that does not say where and when it was read.
pub(super) fn page() -> Result<String, String> {
    let registry = Registry::builtin();
    let mut page = "# Models\n\nThe models that ship with Karat, with list prices in US dollars per million tokens. Other models are called by name, and \
         have a price once an entry states it ([Connect a model](../start/models.md)); `karat models update` reads newer prices. \
         Generated from the code by `cargo xtask generate`; do not edit.\n\n\
         | model | called | input window | longest reply | input | output | other rates | price read |\n\
         |---|---|---:|---:|---:|---:|---|---|\n"
        .to_owned();
    for model in registry.models() {
        page.push_str(&row(model)?);
    }
    page.push_str("\n## Sets\n\nNames that stand for several models, as in `karat plan claims --models starter`.\n\n");
    for (name, ids) in registry.sets() {
        let ids = ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
        // Writing to a String cannot fail.
        let _ = writeln!(page, "- `{name}`: {ids}");
    }
    Ok(page)
}

fn row(model: &ModelSpec) -> Result<String, String> {
    let (rates, read) = match &model.price {
        Pricing::Unmetered => ("0 | 0 | |".to_owned(), String::new()),
        Pricing::Unknown => ("unknown | unknown | |".to_owned(), String::new()),
        Pricing::Known(price) => (rate_cells(price), origin(&model.id, price)?),
    };
    Ok(format!(
        "| `{}` | {} `{}` | {} | {} | {rates} {read} |\n",
        model.id,
        model.provider,
        model.model,
        model.context_window.map_or_else(String::new, |tokens| tokens.to_string()),
        model.max_output.map_or_else(String::new, |tokens| tokens.to_string()),
    ))
}

/// Where and when a price was read.
fn origin(id: &str, price: &Price) -> Result<String, String> {
    match (&price.as_of, &price.source) {
        (Some(day), Some(source)) => Ok(format!("[{day}]({source})")),
        _ => Err(format!("the price of {id} needs its own `as_of` and `source` in registry/models.yaml")),
    }
}

fn rate_cells(price: &Price) -> String {
    let mut others = other_rates(&price.base);
    others.extend(price.batch.iter().map(|tier| format!("batch: {}", tier_text(tier))));
    others.extend(price.service.iter().map(|(name, tier)| format!("{name}: {}", tier_text(tier))));
    format!("{} | {} | {} |", usd(price.base.rates.input), usd(price.base.rates.output), others.join("<br>"))
}

fn tier_text(tier: &TierPrice) -> String {
    match tier {
        TierPrice::Share(share) => format!("× {}", share.millionths as f64 / 1e6),
        TierPrice::Set(set) => {
            let base = format!("{} and {}", usd(set.rates.input), usd(set.rates.output));
            std::iter::once(base).chain(other_rates(set)).collect::<Vec<_>>().join(", ")
        }
    }
}

/// The rates of a set beside input and output, and those of long requests.
fn other_rates(set: &RateSet) -> Vec<String> {
    let Rates { cached_input, cache_write, cache_write_1h, reasoning, audio_input, .. } = &set.rates;
    let named = [
        ("cached", cached_input),
        ("stored", cache_write),
        ("stored for an hour", cache_write_1h),
        ("reasoning", reasoning),
        ("audio", audio_input),
    ];
    let named = named.into_iter().filter_map(|(name, rate)| Some(format!("{name} {}", usd((*rate)?))));
    let long = set.above.iter().filter_map(|long| {
        let rates = long.rates.as_ref()?;
        Some(format!("above {} tokens: {} and {}", long.tokens, usd(rates.input), usd(rates.output)))
    });
    named.chain(long).collect()
}

/// Dollars per million tokens, of nano-dollars.
fn usd(nano: u64) -> String {
    format!("{}", nano as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RE-26: every model that ships stands on the page, each price with its own source and date; one without fails.
    #[test]
    fn every_price_says_where_it_was_read() {
        let page = page().unwrap();
        let registry = Registry::builtin();
        for model in registry.models() {
            assert!(page.contains(&format!("| `{}` |", model.id)), "{}", model.id);
        }
        assert!(page.contains("above 200000 tokens: 2.5 and 15") && page.contains("cached 0.125"), "{page}");
        let Pricing::Known(price) = &registry.get("gpt-5").unwrap().price else { panic!("gpt-5 has a price") };
        assert!(origin("gpt-5", &Price { source: None, ..price.clone() }).is_err());
        assert!(origin("gpt-5", &Price { as_of: None, ..price.clone() }).is_err());
    }
}
