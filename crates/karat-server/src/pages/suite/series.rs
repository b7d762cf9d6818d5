//! The page of a dated suite: all of its state is in the address.

use axum::extract::{Path, Query};
use karat_app::series_page::{SeriesLinks, SeriesState, document, sorted_by};
use karat_app::{CardFilter, JudgeChoice, SeriesRequest, SuiteSeries, nearest};

use crate::pages::PageResult;
use crate::state::State;

/// The names of the address, in the order in which links write them.
const NAMES: [&str; 9] = ["judge", "system", "as_of", "since", "until", "filter", "q", "sort", "focus"];

pub(in crate::pages) async fn series(
    state: State,
    Path(suite): Path<String>,
    Query(query): Query<Vec<(String, String)>>,
) -> PageResult {
    let address = Address { parts: query };
    let asked = address.request(suite);
    let found = state.read(move |app| app.analysis().series(&asked)).await?;
    let shown = address.state(&found);
    Ok(document(&found.view, &SeriesLinks::live(&found.view.suite, address.address_parts()), &shown).into())
}

/// The parts of an address.
struct Address {
    parts: Vec<(String, String)>,
}

impl Address {
    /// The last value of a name, unless it is empty.
    fn value(&self, name: &str) -> Option<&str> {
        let named = self.parts.iter().rfind(|(of, _)| of == name);
        named.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// The parts that differ from the defaults.
    fn address_parts(&self) -> Vec<(String, String)> {
        NAMES.iter().filter_map(|name| Some(((*name).to_owned(), self.value(name)?.to_owned()))).collect()
    }

    fn request(&self, suite: String) -> SeriesRequest {
        let text = |name: &str| self.value(name).map(str::to_owned);
        SeriesRequest {
            suite,
            run: None,
            judge: JudgeChoice::parse(self.value("judge").unwrap_or_default()),
            system: text("system"),
            as_of: text("as_of"),
            since: text("since"),
            until: text("until"),
        }
    }

    /// The state that the address names; what is not understood is said.
    fn state(&self, found: &SuiteSeries) -> SeriesState {
        let mut notices = found.notices.clone();
        for (name, _) in self.parts.iter().filter(|(name, _)| !NAMES.contains(&name.as_str())) {
            let meant = nearest(name, NAMES).map(|meant| format!(" (did you mean `{meant}`?)")).unwrap_or_default();
            notices.push(format!("`{name}` is not part of this address{meant}: it is not used"));
        }
        let mut or_notice = |name: &str, is_known: bool| {
            if let (Some(value), false) = (self.value(name), is_known) {
                notices.push(format!("`{name}={value}` is not known here: the default is shown"));
            }
        };
        let filter = self.value("filter").and_then(CardFilter::parse);
        or_notice("filter", filter.is_some());
        let sort = self.value("sort").and_then(|sort| sorted_by(&found.view, sort));
        or_notice("sort", sort.is_some());
        let focus = self.value("focus").filter(|key| found.view.card(key).is_some());
        or_notice("focus", focus.is_some());
        SeriesState {
            filter,
            words: self.value("q").unwrap_or_default().to_owned(),
            sort,
            focus: focus.map(str::to_owned),
            notices,
        }
    }
}
