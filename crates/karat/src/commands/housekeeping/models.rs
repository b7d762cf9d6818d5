//! `karat models`.

use karat_types::{Exit, ModelSpec, Pricing};

use crate::args::ModelsArgs;
use crate::commands::CommandContext;
use crate::commands::table::table;
use crate::failure::Failure;

pub fn models(context: &CommandContext<'_>, args: &ModelsArgs) -> Result<Exit, Failure> {
    let registry = context.app.registry(args.suite.as_deref())?;
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

fn price(model: &ModelSpec) -> (String, String, String) {
    match &model.price {
        Pricing::Known(price) => {
            let usd = |nanos: u64| format!("{}", nanos as f64 / 1e9);
            (usd(price.input), usd(price.output), price.as_of.clone().unwrap_or_default())
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
