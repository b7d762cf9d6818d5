//! The cells of a run: which of them do I read?

use std::sync::Arc;

use axum::extract::{Path, RawQuery};
use karat_app::{CellFlag, CellQuery, CellsPage, CellsRow, RunView, ViewState};
use karat_page::block::Empty;
use karat_page::component::browse::filters::{self, Field, FilterChip};
use karat_page::component::browse::listing::{self, Direction, ListColumn, ListRow, Listing};
use karat_page::component::browse::pager::{self, Pager};
use karat_page::component::shell::NavLink;
use karat_page::component::state;
use karat_page::component::table::link;
use karat_page::number::count_noun;
use karat_page::text::visible::{Name, line};
use karat_page::{Document, Markup, html};
use karat_types::CellStatus;

use crate::pages::PageResult;
use crate::pages::parts::query::{LIST, Query, cell_query, status_name};
use crate::pages::parts::{address, figure, notice, outputs};
use crate::problem::Problem;
use crate::state::State;

/// Metrics that a row shows unless the address names others.
const FEW_METRICS: usize = 3;

/// Names in the address beside those of the list.
const NAMES: [&str; 3] = ["cols", "after", "before"];

pub(super) async fn cells(state: State, Path(run): Path<String>, RawQuery(raw): RawQuery) -> PageResult {
    let document = state.read(move |app| {
        let view = match app.views().run(&run)? {
            ViewState::Ready(view) => view,
            ViewState::Building { run, cells } => return Ok(notice::building("page-cells", "Cells", &run, cells)),
        };
        let mut query = Query::parse(raw.as_deref(), &[&LIST[..], &NAMES[..]].concat());
        let wanted = cell_query(&mut query, &view);
        let at = query.cursor(|ordinal| ordinal.parse().ok());
        let shown = columns(&mut query, &view, &wanted);
        let page = app.views().cells_page(&view, &wanted, at)?;
        Ok::<_, Problem>(List { view, query, wanted, shown, page }.document())
    });
    Ok(document.await?.into())
}

/// The metrics that the table shows, by position: those that the address names, else the headline and what the list is
/// filtered and sorted by.
fn columns(query: &mut Query, view: &RunView, wanted: &CellQuery) -> Vec<usize> {
    let mut shown = query.values("cols", "a metric of this run", |name| view.metric(name));
    if shown.is_empty() {
        shown.extend(view.headline().into_iter().take(FEW_METRICS));
        let asked = wanted.metric.iter().chain(wanted.order.as_ref().map(|order| &order.by));
        shown.extend(asked.filter_map(|name| view.metric(name)));
        shown.extend(view.metric("latency").into_iter().chain(view.metric("cost")));
    }
    let mut seen = Vec::new();
    shown.retain(|at| {
        !seen.contains(at) && {
            seen.push(*at);
            true
        }
    });
    shown
}

/// A page of the list.
struct List {
    view: Arc<RunView>,
    query: Query,
    wanted: CellQuery,
    /// Metrics of the table, by position.
    shown: Vec<usize>,
    page: CellsPage,
}

impl List {
    /// The address of the list with another query; cursors belong to the present one.
    fn to(&self, query: &Query) -> String {
        address::cells(&self.view.header.id, &query.without(&["after", "before"]))
    }

    fn document(&self) -> Document {
        let run = &self.view.header.id;
        let body = html! {
            (filters::notices(&self.query.notices))
            (notice::of_run(&self.view))
            @if self.view.index.is_empty() { (notice::no_cells(&self.view)) } @else {
                div.stack {
                    (self.form())
                    (self.flag_chips())
                    (self.column_chips())
                    @if self.page.rows.is_empty() {
                        (state::empty(&Empty { reason: Some("No cell matches these filters.".to_owned()), command: None }))
                    } @else { (self.table()) (pager::render(&self.pager())) }
                }
            }
        };
        Document {
            lead: Some(self.lead()),
            breadcrumbs: vec![
                NavLink::new("Runs", "/"),
                NavLink::new(run, address::run(run)),
                NavLink { is_current: true, ..NavLink::new("Cells", "") },
            ],
            keys: vec![
                ("e".to_owned(), "open the row in place".to_owned()),
                ("[ ]".to_owned(), "previous and next page".to_owned()),
            ],
            ..Document::new("page-cells", format!("Cells of {}", self.view.plan.suite), body)
        }
    }

    fn lead(&self) -> String {
        let (cells, rows) = (self.view.index.len() as u64, self.view.index.groups() as u64);
        let run = &self.view.header.id;
        match cells == rows {
            true => format!("{} in run {run}.", count_noun(cells, "cell")),
            false => format!(
                "{} in run {run}; the trials of a sample and a system stand in one row.",
                count_noun(cells, "cell")
            ),
        }
    }

    fn form(&self) -> Markup {
        let text = |name: &str| self.query.text(name).unwrap_or_default().to_owned();
        let same = |text: &str| (text.to_owned(), text.to_owned());
        let (mut models, mut variants): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for system in 0..self.view.plan.systems.len() {
            models.extend(self.view.plan.system_model(system).map(|model| model.id.as_str()));
            variants.push(self.view.plan.system_variant(system));
        }
        let options = |mut names: Vec<&str>| -> Vec<(String, String)> {
            let mut seen = Vec::new();
            names.retain(|name| {
                !seen.contains(name) && {
                    seen.push(*name);
                    true
                }
            });
            names.into_iter().map(same).collect()
        };
        let choice = |name: &'static str, label: &str, options: Vec<(String, String)>| Field::Choice {
            name,
            label: label.to_owned(),
            value: text(name),
            none: Some("any"),
            options,
        };
        let number =
            |name: &'static str, label: &str| Field::Number { name, label: label.to_owned(), value: text(name) };
        let statuses = [CellStatus::Ok, CellStatus::Error, CellStatus::Skipped];
        let mut fields = vec![
            Field::Search { name: "q", label: "Ids, errors, notes".to_owned(), value: text("q") },
            choice("model", "Model", options(models)),
            choice("variant", "Variant", options(variants)),
            choice("status", "Status", statuses.iter().map(|status| same(status_name(*status))).collect()),
            choice("metric", "Metric", self.view.metrics.iter().map(|metric| same(&metric.name)).collect()),
            number("gt", "above"),
            number("lt", "below"),
        ];
        let kept = self.query.only(&["sort", "flag", "cols"]);
        fields
            .extend(kept.pairs().map(|(name, value)| Field::Hidden { name: name.to_owned(), value: value.to_owned() }));
        let reset = self.to(&self.query.only(&["cols"]));
        let is_filtered = !self.query.without(&["cols", "after", "before"]).is_empty();
        filters::form(&address::cells(&self.view.header.id, &Query::default()), &fields, is_filtered.then_some(&reset))
    }

    fn flag_chips(&self) -> Markup {
        let present: Vec<&str> = self.query.all("flag").collect();
        let base = self.query.without(&["flag"]);
        let mut chips = vec![FilterChip {
            key: "all".to_owned(),
            label: "all".to_owned(),
            href: self.to(&base),
            count: Some(self.view.index.len() as u64),
            is_on: present.is_empty(),
        }];
        for flag in CellFlag::ALL {
            let is_on = present.contains(&flag.name());
            let count = self.view.count_flag(flag);
            if count == 0 && !is_on {
                continue;
            }
            chips.push(FilterChip {
                key: flag.name().to_owned(),
                label: match &self.view.moved {
                    Some(moved) if flag == CellFlag::Moved => format!("moved since {}", moved.since),
                    _ => outputs::words(flag).to_owned(),
                },
                href: self.to(&if is_on { base.clone() } else { base.with("flag", flag.name()) }),
                count: Some(count),
                is_on,
            });
        }
        filters::chips("Cells to read", &chips)
    }

    fn column_chips(&self) -> Markup {
        let chip = |at: usize, name: &str| {
            let is_on = self.shown.contains(&at);
            let chosen = self.shown.iter().copied().filter(|other| *other != at).chain((!is_on).then_some(at));
            let names = chosen.filter_map(|at| self.view.metrics.get(at));
            let query =
                names.fold(self.query.without(&["cols"]), |query, metric| query.and("cols", metric.name.as_str()));
            FilterChip {
                key: format!("column-{name}"),
                label: name.to_owned(),
                href: self.to(&query),
                count: None,
                is_on,
            }
        };
        let chips: Vec<FilterChip> =
            self.view.metrics.iter().enumerate().map(|(at, metric)| chip(at, &metric.name)).collect();
        html! { details { summary { "Columns" } (filters::chips("Columns", &chips)) } }
    }

    fn table(&self) -> Markup {
        let mut columns = vec![
            self.column("Sample", "sample", false).wrapping(),
            ListColumn { is_wide_only: true, ..self.column("System", "system", false) },
            ListColumn { is_wide_only: true, ..ListColumn::text("Status") },
        ];
        let metrics = self.shown.iter().filter_map(|at| self.view.metrics.get(*at));
        columns.extend(metrics.map(|metric| self.column(&metric.name, &metric.name, true)));
        columns.extend([ListColumn::text("Flags"), ListColumn::text("Output").wide_only()]);
        listing::render(&Listing {
            caption: "Cells".to_owned(),
            row_name: "cell-row".to_owned(),
            noun: "cell".to_owned(),
            columns,
            rows: self.page.rows.iter().map(|row| self.row(row)).collect(),
            tick_field: None,
        })
    }

    /// A column, and the link that sorts by it: numbers the largest first, then the smallest, then plan order.
    fn column(&self, label: &str, name: &str, is_number: bool) -> ListColumn {
        let order = self.wanted.order.as_ref().filter(|order| order.by == name);
        let direction = order.map(|order| if order.descending { Direction::Descending } else { Direction::Ascending });
        let base = self.query.without(&["sort"]);
        let next = match direction {
            None if is_number => base.with("sort", format!("-{name}")),
            Some(Direction::Descending) if is_number => base.with("sort", name),
            None => base.with("sort", name),
            Some(Direction::Ascending) if !is_number => base.with("sort", format!("-{name}")),
            Some(_) => base,
        };
        ListColumn { name: label.to_owned(), is_number, sort: Some(self.to(&next)), direction, ..ListColumn::default() }
    }

    fn row(&self, row: &CellsRow) -> ListRow {
        let run = &self.view.header.id;
        let mut cells = vec![
            link(&row.sample, &address::sample(run, &row.sample, &self.query)),
            html! {
                (Name(&row.outputs.system))
                @if row.outputs.trials.len() > 1 { " " span.repeats title="Trials" { (row.outputs.trials.len()) "×" } }
            },
            outputs::status(&row.outputs),
        ];
        for at in &self.shown {
            let value = row.values.get(*at).copied().flatten();
            cells.push(self.view.metrics.get(*at).map_or_else(|| html! {}, |metric| figure::value(metric, value)));
        }
        cells.push(html! { span data-flags=(line(&names(&row.flags))) { (outputs::flags(&row.flags)) } });
        cells.push(outputs::snippet(&row.outputs));
        let more = outputs::opened_row(&self.view, &row.outputs, &row.sample, &self.query);
        ListRow { key: row.ordinal.to_string(), cells, more: Some(more), tick: None }
    }

    fn pager(&self) -> Pager {
        let page = &self.page;
        let base = self.query.without(&["after", "before"]);
        let to = |name: &str, ordinal: u64| address::cells(&self.view.header.id, &base.with(name, ordinal.to_string()));
        Pager {
            first: page.start + 1,
            last: page.start + page.rows.len() as u64,
            total: page.total,
            noun: "row".to_owned(),
            note: (page.cells != page.total).then(|| count_noun(page.cells, "cell")),
            previous: page.before.map(|ordinal| to("before", ordinal)),
            next: page.after.map(|ordinal| to("after", ordinal)),
        }
    }
}

fn names(flags: &[CellFlag]) -> String {
    flags.iter().map(|flag| flag.name()).collect::<Vec<_>>().join(" ")
}
