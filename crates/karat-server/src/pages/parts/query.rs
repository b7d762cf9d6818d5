//! The state of a page as its address has it: a value that makes no sense becomes a notice and the default, never an error.

use karat_app::{CellFlag, CellOrder, CellQuery, Cursor, RunView, nearest};
use karat_types::CellStatus;

/// Names that select and order cells. Pages of a sample and of a cell keep them, so that "next" means next in that list.
pub(in crate::pages) const LIST: [&str; 9] = ["metric", "lt", "gt", "status", "model", "variant", "flag", "q", "sort"];

/// Longest value that is read.
const LONGEST: usize = 4_096;

/// The query of an address.
#[derive(Debug, Clone, Default)]
pub(in crate::pages) struct Query {
    pairs: Vec<(String, String)>,
    /// Remarks on values that were not understood.
    pub notices: Vec<String>,
}

impl Query {
    /// Reads the query of an address whose page knows these names.
    pub fn parse(raw: Option<&str>, known: &[&str]) -> Self {
        let mut query = Self::default();
        for (name, value) in form_urlencoded::parse(raw.unwrap_or_default().as_bytes()) {
            if !known.contains(&name.as_ref()) {
                let near = nearest(&name, known.iter().copied());
                let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                query.notices.push(format!("`{}` is not part of this page's address{near}", short(&name)));
            } else if value.len() > LONGEST {
                query.notices.push(format!("`{name}` is longer than {LONGEST} bytes and was left out"));
            } else if !value.is_empty() {
                query.pairs.push((name.into_owned(), value.into_owned()));
            }
        }
        query
    }

    /// The first value of a name.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// All values of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// A number.
    pub fn number(&mut self, name: &str) -> Option<f64> {
        let value = self.text(name)?.to_owned();
        let number = value.trim().parse().ok().filter(|number: &f64| number.is_finite());
        if number.is_none() {
            self.refuse(name, &value, "a number");
        }
        number
    }

    /// A value that `read` understands; the others are left out with a notice that says what is expected.
    pub fn value<T>(&mut self, name: &str, expected: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let value = self.text(name)?.to_owned();
        let found = read(&value);
        if found.is_none() {
            self.refuse(name, &value, expected);
        }
        found
    }

    /// All values that `read` understands; the others are left out with a notice that says what is expected.
    pub fn values<T>(&mut self, name: &str, expected: &str, read: impl Fn(&str) -> Option<T>) -> Vec<T> {
        let mut found = Vec::new();
        for value in self.all(name).map(str::to_owned).collect::<Vec<_>>() {
            match read(&value) {
                Some(value) => found.push(value),
                None => self.refuse(name, &value, expected),
            }
        }
        found
    }

    fn refuse(&mut self, name: &str, value: &str, expected: &str) {
        self.notices.push(format!("`{name}={}` was left out: expected {expected}", short(value)));
        self.pairs.retain(|(own, other)| own != name || other != value);
    }

    /// The cursor of a page: `after` or `before`.
    pub fn cursor<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> Cursor<T> {
        let expected = "the place that a link of this list names";
        if let Some(place) = self.value("after", expected, &read) {
            return Cursor::After(place);
        }
        self.value("before", expected, &read).map_or(Cursor::Start, Cursor::Before)
    }

    /// The same query without a name.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> Self {
        let pairs = self.pairs.iter().filter(|(name, _)| !names.contains(&name.as_str())).cloned().collect();
        Self { pairs, notices: Vec::new() }
    }

    /// The same query with only these names.
    #[must_use]
    pub fn only(&self, names: &[&str]) -> Self {
        let pairs = self.pairs.iter().filter(|(name, _)| names.contains(&name.as_str())).cloned().collect();
        Self { pairs, notices: Vec::new() }
    }

    /// The same query with one value of a name in place of those that it has.
    #[must_use]
    pub fn with(&self, name: &str, value: impl Into<String>) -> Self {
        self.without(&[name]).and(name, value)
    }

    /// The same query with a further value of a name.
    #[must_use]
    pub fn and(mut self, name: &str, value: impl Into<String>) -> Self {
        self.pairs.push((name.to_owned(), value.into()));
        self
    }

    /// Returns true if nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Names and values.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The address of a path with this query.
    pub fn href(&self, path: &str) -> String {
        if self.pairs.is_empty() {
            return path.to_owned();
        }
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&self.pairs);
        format!("{path}?{}", query.finish())
    }
}

/// The beginning of a text, for notices.
fn short(text: &str) -> String {
    let mut start: String = text.chars().take(60).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    start
}

/// The name of a status in addresses.
pub(in crate::pages) fn status_name(status: CellStatus) -> &'static str {
    match status {
        CellStatus::Ok => "ok",
        CellStatus::Error => "error",
        CellStatus::Skipped => "skipped",
    }
}

/// Reads the part of a query that selects and orders cells.
pub(in crate::pages) fn cell_query(query: &mut Query, view: &RunView) -> CellQuery {
    let plan = &view.plan;
    let is_model =
        |model: &str| (0..plan.systems.len()).any(|it| plan.system_model(it).is_some_and(|own| own.id == model));
    let is_variant = |variant: &str| (0..plan.systems.len()).any(|it| plan.system_variant(it) == variant);
    let chosen = |is_known: bool, name: &str| is_known.then(|| name.to_owned());
    let statuses = [CellStatus::Ok, CellStatus::Error, CellStatus::Skipped];
    let metric = query.value("metric", "a metric of this run", |name| chosen(view.metric(name).is_some(), name));
    let (below, above) = (query.number("lt"), query.number("gt"));
    if metric.is_none() && (below.is_some() || above.is_some()) {
        query.notices.push("`lt` and `gt` were left out: `metric` names the metric that they are about".to_owned());
    }
    let of_metric = |bound: Option<f64>| bound.filter(|_| metric.is_some());
    let order = query.value("sort", "`sample`, `system` or a metric, with `-` for the largest first", |sort| {
        let (by, descending) = sort.strip_prefix('-').map_or((sort, false), |by| (by, true));
        let is_known = by == "sample" || by == "system" || view.metric(by).is_some();
        is_known.then(|| CellOrder { by: by.to_owned(), descending })
    });
    CellQuery {
        below: of_metric(below),
        above: of_metric(above),
        metric,
        statuses: query.values("status", "`ok`, `error` or `skipped`", |name| {
            statuses.into_iter().find(|status| status_name(*status) == name)
        }),
        models: query.values("model", "a model of this run", |name| chosen(is_model(name), name)),
        variants: query.values("variant", "a variant of this run", |name| chosen(is_variant(name), name)),
        flags: query.values("flag", &flag_names(), CellFlag::of_name),
        words: query.text("q").unwrap_or_default().to_owned(),
        order,
    }
}

fn flag_names() -> String {
    CellFlag::ALL.map(|flag| format!("`{}`", flag.name())).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-10: defaults are left out, unknown names and bad values become notices, and an address reads back as it is.
    #[test]
    fn addresses_are_read_and_written() {
        let raw = "q=a%26b&model=x&model=y&lt=&gt=abc&statsu=1&sort=-m";
        let mut query = Query::parse(Some(raw), &["q", "model", "lt", "gt", "status", "sort"]);
        assert_eq!((query.text("q"), query.all("model").collect::<Vec<_>>()), (Some("a&b"), vec!["x", "y"]));
        assert_eq!((query.number("lt"), query.number("gt")), (None, None));
        assert!(query.notices[0].contains("did you mean `status`?"), "{:?}", query.notices);
        assert!(query.notices[1].contains("`gt=abc` was left out: expected a number"), "{:?}", query.notices);
        assert_eq!(query.href("/x"), "/x?q=a%26b&model=x&model=y&sort=-m");
        assert_eq!(query.only(&["q"]).with("q", "é ").href("/x"), "/x?q=%C3%A9+");
        assert_eq!(query.without(&["q", "model", "sort"]).href("/x"), "/x");
    }
}
