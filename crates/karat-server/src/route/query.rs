//! The query of an address of the API. An unknown name is an error, with the nearest name that there is.

use std::str::FromStr;

use http::Uri;
use karat_app::nearest;
use percent_encoding::percent_decode_str;

use crate::problem::Problem;
use crate::target::encode;

/// Names and values of a query.
#[derive(Debug, Clone)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads a query that may have these names, each once.
    ///
    /// # Errors
    /// Another name, a name twice, or text that is not UTF-8.
    pub fn read(uri: &Uri, names: &[&str]) -> Result<Self, Problem> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            check_name(&name, names, "query name")?;
            if pairs.iter().any(|(known, _)| *known == name) {
                return Err(Problem::bad_request(format!("`{name}` is given twice")));
            }
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    /// The value of a name. An empty value counts as none.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// The query without a name, to be continued.
    pub fn without(&self, name: &str) -> String {
        let kept = self.0.iter().filter(|(known, value)| known != name && !value.is_empty());
        kept.map(|(name, value)| format!("{name}={}&", encode(value))).collect()
    }

    /// The value of a name that may be left out, and may not be empty.
    ///
    /// # Errors
    /// It is there without a value. `form` says what it must be.
    pub fn value_if_given(&self, name: &str, form: &str) -> Result<Option<&str>, Problem> {
        let value = self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        match value {
            Some("") => Err(Problem::bad_request(format!("`{name}` must be {form}"))),
            value => Ok(value),
        }
    }

    /// The value of a name, read as what `form` says it must be.
    ///
    /// # Errors
    /// It is something else.
    pub fn parse<T: FromStr>(&self, name: &str, form: &str) -> Result<Option<T>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.parse().map(Some).map_err(|_| Problem::bad_request(format!("`{name}` must be {form}")))
    }

    /// The rows of a page: `limit`, from 1 to 200, 50 without it.
    ///
    /// # Errors
    /// It is something else.
    pub fn page_limit(&self) -> Result<usize, Problem> {
        let limit = self.parse::<usize>("limit", "a number from 1 to 200")?.unwrap_or(50);
        match limit {
            1..=200 => Ok(limit),
            _ => Err(Problem::bad_request("`limit` must be a number from 1 to 200")),
        }
    }

    /// The choice among values by their names; the first is the default.
    ///
    /// # Errors
    /// Another value, with the nearest that there is.
    pub fn choose<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match choices.iter().find(|(known, _)| *known == value) {
            Some((_, choice)) => Ok(Some(*choice)),
            None => {
                let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
                Err(check_name(value, &names, &format!("value of `{name}`")).err().unwrap_or_else(Problem::internal))
            }
        }
    }
}

/// Checks a name against those that there are.
///
/// # Errors
/// It is not among them; the problem says which is nearest.
pub(crate) fn check_name(name: &str, names: &[&str], what: &str) -> Result<(), Problem> {
    if names.contains(&name) {
        return Ok(());
    }
    let shown: String = name.chars().take(64).collect();
    let problem = Problem::bad_request(format!("`{shown}` is no {what} here"));
    Err(match nearest(name, names.iter().copied()) {
        Some(near) => problem.with_hint(format!("did you mean `{near}`?")),
        None if names.is_empty() => problem,
        None => problem.with_hint(format!("there are: {}", names.join(", "))),
    })
}

fn decode(text: &str) -> Result<String, Problem> {
    let plain = text.replace('+', " ");
    let decoded = percent_decode_str(&plain).decode_utf8().map(|text| text.into_owned());
    decoded.map_err(|_| Problem::bad_request("the query is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<Query, Problem> {
        Query::read(&format!("/x?{query}").parse().unwrap(), &["limit", "suite"])
    }

    /// SV-01: an unknown name is an error that names the nearest.
    #[test]
    fn an_unknown_name_is_an_error_with_the_nearest() {
        let query = read("suite=a%20b+c&limit=").unwrap();
        assert_eq!((query.get("suite"), query.get("limit")), (Some("a b c"), None));
        let wrong = read("limt=1").unwrap_err();
        assert_eq!(wrong.hint.as_deref(), Some("did you mean `limit`?"));
        assert!(read("limit=1&limit=2").is_err() && read("suite=%FF").is_err());
        assert!(read("limit=x").unwrap().parse::<u32>("limit", "a number").is_err());
        assert!(
            query.value_if_given("limit", "a number").is_err()
                && query.value_if_given("x", "a number").unwrap().is_none()
        );
        let choice = read("suite=al").unwrap().choose("suite", &[("none", 0), ("all", 1)]).unwrap_err();
        assert_eq!(choice.hint.as_deref(), Some("did you mean `all`?"));
    }
}
