//! `karat models`.

use karat_app::{PriceChange, PriceOrigin, PriceRequest, count_noun};
use karat_types::{Exit, ModelSpec, Price, Pricing, RateSet, Rates, TierPrice};

use crate::args::{ModelsArgs, ModelsCommand, PriceFileArgs};
use crate::commands::CommandContext;
use crate::commands::table::table;
use crate::failure::Failure;

pub fn models(context: &CommandContext<'_>, args: &ModelsArgs) -> Result<Exit, Failure> {
    match &args.change {
        Some(ModelsCommand::Add(file)) => return add(context, file, false),
        Some(ModelsCommand::Update(file)) => return add(context, file, true),
        None => {}
    }
    let registry = context.app.project().registry(args.suite.as_deref())?;
    let mut models: Vec<ModelSpec> = registry.models().cloned().collect();
    if let Some(part) = &args.part {
        match registry.set(part) {
            Some(ids) => models.retain(|model| ids.contains(&model.id)),
            None => models.retain(|model| model.id.to_lowercase().contains(&part.to_lowercase())),
        }
        if models.is_empty() {
            let unknown = format!("no model id contains `{part}`; `karat models` lists all models");
            return Err(Failure::Message(unknown));
        }
    }
    if args.json {
        context.print_json(&models)?;
        return Ok(Exit::Pass);
    }
    let rows = models.iter().map(|model| {
        let (input, output, as_of) = price(model);
        vec![
            model.id.clone(),
            model.provider.clone(),
            word(&model.tier),
            number(model.context_window),
            number(model.max_output.map(u64::from)),
            input,
            output,
            as_of,
            word(&Some(model.availability)),
        ]
    });
    let head = ["id", "provider", "tier", "context", "max output", "$/M in", "$/M out", "price as of", "availability"];
    context.printer.text(&table(context, &head, rows))?;
    if args.part.is_none() && !context.quiet {
        let sets = registry.sets().map(|(name, ids)| format!("  {name}: {}", ids.join(", ")));
        let sets: Vec<String> = sets.collect();
        context.printer.say(&format!("\nsets, as in `--models starter`:\n{}", sets.join("\n")));
    }
    Ok(Exit::Pass)
}

/// Adds the prices of a file, and prints what changes.
fn add(context: &CommandContext<'_>, args: &PriceFileArgs, replaces: bool) -> Result<Exit, Failure> {
    let origin = PriceOrigin { as_of: args.as_of.clone(), source: args.source.clone(), ..PriceOrigin::default() };
    let request = PriceRequest { from: args.file.clone(), origin, replaces, is_trial: args.dry_run };
    let done = context.app.imports().add_prices(&request)?;
    for change in &done.changes {
        context.printer.data(&describe(change))?;
    }
    if !context.quiet {
        let new = done.changes.iter().filter(|change| change.before.is_none()).count();
        let skipped = match done.skipped {
            0 => String::new(),
            n => format!("; {n} entries are no chat models of a known provider and were left out"),
        };
        let written = if args.dry_run { "nothing was written".to_owned() } else { done.file.display().to_string() };
        context.printer.say(&format!(
            "{written}: {new} new, {} changed, {} as before{skipped}",
            done.changes.len() - new,
            done.unchanged
        ));
        if let Some(digest) = &done.digest {
            context.printer.say(&format!("read {digest}"));
        }
        if !done.unapplied.is_empty() {
            let fields =
                done.unapplied.iter().map(|(field, models)| format!("{field} ({})", count_noun(*models, "model")));
            let fields: Vec<String> = fields.collect();
            context
                .printer
                .say(&format!("not applied, because Karat's prices have no such rate: {}", fields.join(", ")));
        }
    }
    Ok(Exit::Pass)
}

/// A change of a price in one line.
fn describe(change: &PriceChange) -> String {
    let after = amounts(&change.after);
    match &change.before {
        None => format!("{}: {after}", change.id),
        Some(before) => format!("{}: {} -> {after}", change.id, amounts(before)),
    }
}

fn amounts(price: &Pricing) -> String {
    match price {
        Pricing::Unknown => "unknown".to_owned(),
        Pricing::Unmetered => "free".to_owned(),
        Pricing::Known(price) => {
            let origin: Vec<&str> = [&price.as_of, &price.source].into_iter().flatten().map(String::as_str).collect();
            let parts: Vec<String> = std::iter::once(rates(&price.base.rates)).chain(tiers(price)).collect();
            format!("{} ({})", parts.join("; "), origin.join(", "))
        }
    }
}

/// US dollars a million tokens by their kind, those that are stated.
fn rates(rates: &Rates) -> String {
    let stated = [
        ("in", Some(rates.input)),
        ("out", Some(rates.output)),
        ("cached", rates.cached_input),
        ("stored", rates.cache_write),
        ("stored for an hour", rates.cache_write_1h),
        ("reasoning", rates.reasoning),
        ("audio", rates.audio_input),
    ];
    let amounts = stated.into_iter().filter_map(|(kind, nanos)| Some(format!("{kind} ${}", nanos? as f64 / 1e9)));
    amounts.collect::<Vec<String>>().join(", ")
}

/// The other prices of a model, each with what makes a call have it.
fn tiers(price: &Price) -> Vec<String> {
    let batch = price.batch.iter().map(|tier| ("batch", tier));
    let named = batch.chain(price.service.iter().map(|(name, tier)| (name.as_str(), tier)));
    let named = named.flat_map(|(name, tier)| match tier {
        TierPrice::Share(share) => vec![format!("{name} × {}", share.factor())],
        TierPrice::Set(set) => {
            let long = steps(set).map(|step| format!("{name} {step}"));
            std::iter::once(format!("{name} {}", rates(&set.rates))).chain(long).collect()
        }
    });
    steps(&price.base).chain(named).collect()
}

/// The prices of long requests.
fn steps(set: &RateSet) -> impl Iterator<Item = String> {
    set.above.iter().filter_map(|long| Some(format!("above {} tokens {}", long.tokens, rates(&long.rates?))))
}

fn price(model: &ModelSpec) -> (String, String, String) {
    match &model.price {
        Pricing::Known(price) => {
            let usd = |nanos: u64| format!("{}", nanos as f64 / 1e9);
            (usd(price.base.rates.input), usd(price.base.rates.output), price.as_of.clone().unwrap_or_default())
        }
        Pricing::Unmetered => ("free".to_owned(), "free".to_owned(), String::new()),
        Pricing::Unknown => ("unknown".to_owned(), "unknown".to_owned(), String::new()),
    }
}

fn number(number: Option<u64>) -> String {
    number.map_or_else(|| "unknown".to_owned(), |number| number.to_string())
}

/// Returns the name of an enum value as it is written in files.
fn word<T: serde::Serialize>(value: &Option<T>) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
