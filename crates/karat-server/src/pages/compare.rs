//! Two runs, models or variants compared: did it change, and where?

use axum::extract::RawQuery;
use karat_app::{AppError, CompareRequest, Correction, Party, RunsQuery};
use karat_page::component::browse::filters::{self, Field};
use karat_page::component::shell::NavLink;
use karat_page::{Document, html};

use crate::pages::PageResult;
use crate::pages::parts::query::Query;
use crate::state::State;

/// Names in the address. Models and variants are those of `run`, the latest by default.
const NAMES: [&str; 5] = ["a", "b", "of", "run", "correction"];

/// Samples listed in each direction.
const MOVERS: usize = 20;

/// Runs that the form offers.
const OFFERED: usize = 50;

/// The kinds of sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Of {
    #[default]
    Run,
    Model,
    Variant,
}

impl Of {
    fn of_name(name: &str) -> Option<Self> {
        match name {
            "run" => Some(Self::Run),
            "model" => Some(Self::Model),
            "variant" => Some(Self::Variant),
            _ => None,
        }
    }

    /// The side of a comparison that a word names.
    fn party(self, word: &str, run: &str) -> Party {
        match self {
            Self::Run => Party { run: word.to_owned(), ..Party::default() },
            Self::Model => Party { run: run.to_owned(), model: Some(word.to_owned()), ..Party::default() },
            Self::Variant => Party { run: run.to_owned(), variant: Some(word.to_owned()), ..Party::default() },
        }
    }
}

pub(super) async fn compare(state: State, RawQuery(raw): RawQuery) -> PageResult {
    let mut query = Query::parse(raw.as_deref(), &NAMES);
    let of = query.value("of", "`run`, `model` or `variant`", Of::of_name).unwrap_or_default();
    let corrections = [("holm", Correction::Holm), ("bh", Correction::BenjaminiHochberg), ("none", Correction::None)];
    let correction = query.value("correction", "`holm`, `bh` or `none`", |name| {
        corrections.iter().find(|(known, _)| *known == name).map(|(_, correction)| *correction)
    });
    let words = [query.text("a"), query.text("b")].map(|word| word.map(str::to_owned));
    let run = query.text("run").unwrap_or("latest").to_owned();
    let (compared, offered) = state
        .read(move |app| {
            let offered = match of {
                Of::Run => offered_runs(app)?,
                Of::Model | Of::Variant => offered_parts(app, of, &run)?,
            };
            let [Some(a), Some(b)] = words else { return Ok((None, offered)) };
            let sides = [of.party(&a, &run), of.party(&b, &run)];
            let [baseline, candidate] = &sides;
            let compared =
                app.analysis().comparison_page(baseline, candidate, &request(correction.unwrap_or_default()))?;
            Ok::<_, AppError>((Some(compared), offered))
        })
        .await?;
    Ok(document(&query, compared.as_deref(), offered).into())
}

fn request(correction: Correction) -> CompareRequest {
    CompareRequest {
        metrics: Vec::new(),
        correction,
        confidence: 0.95,
        margins: std::collections::BTreeMap::new(),
        mde: std::collections::BTreeMap::new(),
        allow_changed: false,
        movers: MOVERS,
        outputs: true,
    }
}

/// The newest runs, as value and words of an option.
fn offered_runs(app: &karat_app::App) -> Result<Vec<(String, String)>, AppError> {
    let page = app.views().runs_page(&RunsQuery::default(), &karat_app::Cursor::Start)?;
    let option = |run: karat_app::RunEntry| (run.id.clone(), format!("{} · {}", run.suite, run.id));
    Ok(page.rows.into_iter().take(OFFERED).map(option).collect())
}

/// The models or variants of a run, as value and words of an option.
fn offered_parts(app: &karat_app::App, of: Of, run: &str) -> Result<Vec<(String, String)>, AppError> {
    let parts = app.analysis().compared_parts(run)?;
    let names = if of == Of::Model { parts.models } else { parts.variants };
    Ok(names.into_iter().map(|name| (name.clone(), name)).collect())
}

fn document(query: &Query, found: Option<&Document>, offered: Vec<(String, String)>) -> Document {
    let body = html! {
        (filters::notices(&query.notices))
        (form(query, offered))
        @match found {
            Some(found) => (found.body),
            None => p.state data-testid="empty-state" {
                "Choose a baseline and a candidate. "
                @if query.text("of").is_none_or(|of| of == "run") { "To compare the variants or models of one run, open the run." }
            },
        }
    };
    let breadcrumbs = vec![NavLink::new("Runs", "/"), NavLink { is_current: true, ..NavLink::new("Compare", "") }];
    match found {
        Some(found) => Document { breadcrumbs, body, ..found.clone() },
        None => Document { breadcrumbs, ..Document::new("page-compare", "Comparison", body) },
    }
}

fn form(query: &Query, offered: Vec<(String, String)>) -> karat_page::Markup {
    let side = |name: &'static str, label: &str| {
        let (label, value) = (label.to_owned(), query.text(name).unwrap_or_default().to_owned());
        let mut options = offered.clone();
        if !value.is_empty() && !options.iter().any(|(id, _)| *id == value) {
            options.push((value.clone(), value.clone()));
        }
        // A side that is chosen stays chosen: "none" is not a side.
        let none = value.is_empty().then_some("choose");
        Field::Choice { name, label, value, none, options }
    };
    let corrections = [("holm", "Holm"), ("bh", "Benjamini-Hochberg"), ("none", "none")];
    let mut fields = vec![
        side("a", "Baseline"),
        side("b", "Candidate"),
        Field::Choice {
            name: "correction",
            label: "Correction".to_owned(),
            value: query.text("correction").unwrap_or_default().to_owned(),
            none: Some("the default"),
            options: corrections.map(|(value, words)| (value.to_owned(), words.to_owned())).to_vec(),
        },
    ];
    for name in ["of", "run"] {
        fields.extend(query.text(name).map(|value| Field::Hidden { name: name.to_owned(), value: value.to_owned() }));
    }
    filters::form("/compare", &fields, None)
}
