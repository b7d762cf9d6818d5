//! The details of a chosen row: its facts, a small table, rules that apply to it, a text.
//!
//! A script fills the panel from data in the page; the server renders the panel of a row that the address names. Both show
//! the same elements: a change here is one in `assets/linked.js`.

use maud::{Markup, PreEscaped, html};
use serde_json::{Map, Value, json};

use crate::text::visible::{line, lines, safe_href};

/// The details of the rows of a table. Names and rules that all rows share stand once.
#[derive(Debug, Clone, Default)]
pub struct Details {
    /// Names of the facts; each row has one text for each, empty where there is none.
    pub facts: Vec<String>,
    /// Names of facts for tests, by position, such as `detail-delta`.
    pub fact_names: Vec<Option<String>>,
    /// Heads of the columns of the small table, the first of which is that of its row names.
    pub columns: Vec<String>,
    /// Names of the rows of the small table.
    pub rows: Vec<String>,
    /// Title and texts of the rules.
    pub rules: (String, Vec<String>),
    /// The words of the link to more.
    pub link: String,
    /// The rows.
    pub items: Vec<Detail>,
    /// The key of the row that is shown before any is chosen.
    pub shown: Option<String>,
}

/// The details of one row.
#[derive(Debug, Clone, Default)]
pub struct Detail {
    /// The key of the row.
    pub key: String,
    /// The title.
    pub title: String,
    /// The facts.
    pub facts: Vec<String>,
    /// The cells of the small table, by row.
    pub cells: Vec<Vec<String>>,
    /// Positions of the rules that apply.
    pub rules: Vec<usize>,
    /// The text. A script takes it from the text column of the row, so that a page holds it once.
    pub prose: String,
    /// The place to read more.
    pub href: Option<String>,
}

/// The panel, and the data that a script fills it from.
pub(crate) fn panel(details: &Details) -> Markup {
    let shown = details.shown.as_ref().and_then(|key| details.items.iter().find(|item| item.key == *key));
    html! {
        k-detail.is-open[shown.is_some()] {
            aside.detail data-testid="detail-panel" aria-live="polite" aria-label="Chosen row" tabindex="-1" {
                @if let Some(item) = shown { (content(details, item)) }
            }
            script type="application/json" { (PreEscaped(island(details))) }
        }
    }
}

fn content(details: &Details, item: &Detail) -> Markup {
    html! {
        h3 { (line(&item.title)) }
        dl.facts-list {
            @for (at, (name, value)) in details.facts.iter().zip(&item.facts).enumerate() {
                @if !value.is_empty() {
                    dt { (line(name)) }
                    dd data-testid=[details.fact_names.get(at).and_then(Option::as_deref).map(line)] { (line(value)) }
                }
            }
        }
        @if !details.rows.is_empty() {
            table {
                thead { tr { @for (at, column) in details.columns.iter().enumerate() { th.number[at > 0] scope="col" { (line(column)) } } } }
                tbody {
                    @for (name, cells) in details.rows.iter().zip(&item.cells) {
                        tr { th scope="row" { (line(name)) } @for cell in cells { td.number { (line(cell)) } } }
                    }
                }
            }
        }
        @if !item.rules.is_empty() {
            h4 { (line(&details.rules.0)) }
            ul.notes { @for rule in item.rules.iter().filter_map(|at| details.rules.1.get(*at)) { li { (line(rule)) } } }
        }
        @if !item.prose.is_empty() { p.prose { bdi { (lines(&item.prose)) } } }
        @if let Some(href) = item.href.as_deref().and_then(safe_href) {
            p { a href=(href) data-testid="trace-link" { (line(&details.link)) } }
        }
    }
}

/// The data of all rows as JSON that cannot end its element.
fn island(details: &Details) -> String {
    let texts = |all: &[String]| all.iter().map(|text| line(text).into_owned()).collect::<Vec<String>>();
    let item = |item: &Detail| {
        let cells: Vec<Vec<String>> = item.cells.iter().map(|cells| texts(cells)).collect();
        let href = item.href.as_deref().and_then(safe_href);
        let value = json!([line(&item.title), texts(&item.facts), cells, item.rules, href]);
        (line(&item.key).into_owned(), value)
    };
    let items: Map<String, Value> = details.items.iter().map(item).collect();
    let data = json!({
        "facts": texts(&details.facts), "names": details.fact_names, "columns": texts(&details.columns),
        "rows": texts(&details.rows), "rulesTitle": line(&details.rules.0), "rules": texts(&details.rules.1),
        "link": line(&details.link), "items": items,
    });
    data.to_string().replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-51: no text can end the element of the data.
    #[test]
    fn data_stay_in_their_element() {
        let item = Detail { key: "</script>".to_owned(), title: "<!-- </SCRIPT>".to_owned(), ..Detail::default() };
        let island = island(&Details { items: vec![item], ..Details::default() });
        assert!(
            !island.contains('<') && serde_json::from_str::<Value>(&island).unwrap()["items"]["</script>"].is_array()
        );
    }
}
