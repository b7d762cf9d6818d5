//! Addresses of the live page, and the state that an address names.

use karat_analysis::series::{CardFilter, SeriesCard};
use karat_page::component::linked::SearchForm;
use karat_page::component::shell::NavLink;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that stay as they are in an address.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The places that the page leads to: nowhere from a file, to other states of itself and to traces when it is live.
#[derive(Debug, Clone, Default)]
pub struct SeriesLinks {
    /// The path of the page and the parts of its address that differ from the defaults.
    live: Option<(String, Vec<(String, String)>)>,
}

/// The order of rows: a column and a direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sort {
    /// Position of the column.
    pub column: usize,
    /// True if the largest stands first.
    pub is_descending: bool,
    /// The order as an address has it, such as `-composite`.
    pub text: String,
}

/// The state that the address of a live page names; the state of a file is in its script.
#[derive(Debug, Clone, Default)]
pub struct SeriesState {
    /// The filter.
    pub filter: Option<CardFilter>,
    /// The words looked for.
    pub words: String,
    /// The order of the rows.
    pub sort: Option<Sort>,
    /// The key of the chosen card.
    pub focus: Option<String>,
    /// Remarks on parts of the address that were not understood.
    pub notices: Vec<String>,
}

impl SeriesState {
    /// Returns true if a card passes the filter and has the words in its date, sample, judge, prompt version or notes.
    pub fn shows(&self, card: &SeriesCard) -> bool {
        let words = self.words.trim().to_lowercase();
        let texts = [
            Some(&card.date),
            Some(&card.sample),
            card.judge.as_ref(),
            card.prompt_version.as_ref(),
            Some(&card.notes),
        ];
        let has_words =
            words.is_empty() || texts.into_iter().flatten().any(|text| text.to_lowercase().contains(&words));
        has_words && self.filter.is_none_or(|filter| card.flags.passes(filter))
    }
}

impl SeriesLinks {
    /// The links of a file.
    pub fn none() -> Self {
        Self::default()
    }

    /// The links of a live page of a suite with the parts of its address, in order.
    pub fn live(suite: &str, parts: Vec<(String, String)>) -> Self {
        Self { live: Some((format!("/series/{}", encode(suite)), parts)) }
    }

    /// Returns true for a live page.
    pub(super) fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// The path of the live page.
    pub(super) fn path(&self) -> Option<&str> {
        self.live.as_ref().map(|(path, _)| path.as_str())
    }

    /// The parts of the address apart from some.
    pub(super) fn address_parts(&self, without: &[&str]) -> Vec<(String, String)> {
        let parts = self.live.iter().flat_map(|(_, parts)| parts);
        parts.filter(|(name, _)| !without.contains(&name.as_str())).cloned().collect()
    }

    /// The address with another filter: a query when live, a hash in a file.
    pub(super) fn filter(&self, filter: CardFilter) -> String {
        let key = filter.key();
        let Some((path, parts)) = &self.live else { return format!("#filter={key}") };
        let chosen = (filter != CardFilter::All).then(|| ("filter".to_owned(), key.to_owned()));
        let parts: Vec<String> = parts
            .iter()
            .filter(|(name, _)| name != "filter")
            .chain(&chosen)
            .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
            .collect();
        if parts.is_empty() { path.clone() } else { format!("{path}?{}", parts.join("&")) }
    }

    /// The trace of a card's cell.
    pub(super) fn trace(&self, card: &SeriesCard) -> Option<String> {
        self.is_live().then(|| format!("/runs/{}/cell?n={}", encode(&card.run), card.cell))
    }

    /// The search of a live page.
    pub(super) fn search(&self, state: &SeriesState, columns: &[String]) -> Option<SearchForm> {
        let action = self.path()?.to_owned();
        Some(SearchForm {
            action,
            words: state.words.clone(),
            orders: columns.iter().flat_map(|name| [name.clone(), format!("-{name}")]).collect(),
            order: state.sort.as_ref().map(|sort| sort.text.clone()),
            kept: self.address_parts(&["q", "sort"]),
        })
    }

    /// The way to a live page.
    pub(super) fn breadcrumbs(&self, suite: &str) -> Vec<NavLink> {
        let own = NavLink { is_current: true, ..NavLink::new(suite, "") };
        if self.is_live() { vec![NavLink::new("Runs", "/"), own] } else { vec![own] }
    }
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, KEPT).to_string()
}
