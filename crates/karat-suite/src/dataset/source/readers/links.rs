//! Links of a document.

use std::collections::BTreeSet;

use karat_text::host::host_of;

/// Schemes of the web.
const SCHEMES: [&str; 2] = ["https", "http"];
/// Characters that end a link in a text; so does a `)` without a `(` in the link.
const ENDS: &[char] = &[' ', '\t', '\n', '\r', '"', '\'', '<', '>', ']', '}', '|', '\\', '`'];
/// Punctuation that belongs to the sentence around a link.
const PUNCTUATION: &[char] = &['.', ',', ';', ':', '!', '?', '*', '_'];

/// Web addresses of other hosts sorted, each once, without those of the publication itself: an address without a host,
/// such as a mail address or a script, is not a source.
pub(super) fn sources<'a>(links: impl Iterator<Item = &'a str>, own_hosts: &[String]) -> Vec<String> {
    let all: BTreeSet<String> = links.filter_map(web).collect();
    let is_source = |url: &String| !own_hosts.iter().any(|own| is_below(host_of(url), own));
    all.into_iter().filter(is_source).collect()
}

/// The links in a text.
pub(super) fn inline(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.match_indices("://").filter_map(|(at, _)| {
        let start = |scheme: &str| at.checked_sub(scheme.len()).filter(|from| is_there(text, *from, scheme));
        SCHEMES.into_iter().find_map(start)
    });
    starts.filter_map(|at| {
        let rest = &text[at..];
        let link = &rest[..end(rest)];
        let link = link.trim_end_matches(PUNCTUATION);
        (!host_of(link).is_empty()).then_some(link)
    })
}

/// Returns whether there is a scheme at a position of a text.
fn is_there(text: &str, from: usize, scheme: &str) -> bool {
    text.get(from..from + scheme.len()).is_some_and(|found| found.eq_ignore_ascii_case(scheme))
}

/// Returns the end of the link at the beginning of a text.
fn end(text: &str) -> usize {
    let mut open = 0_u32;
    let is_end = |c: char| match c {
        '(' => {
            open += 1;
            false
        }
        ')' if open > 0 => {
            open -= 1;
            false
        }
        c => c == ')' || ENDS.contains(&c),
    };
    text.find(is_end).unwrap_or(text.len())
}

/// The web address of a link, its scheme in small letters: without a scheme (`//host/path`) it is
/// `https`. `None` if it has no host.
pub(super) fn web(url: &str) -> Option<String> {
    let url = url.trim();
    let (scheme, rest) = url.strip_prefix("//").map(|rest| ("https", rest)).or(url.split_once("://"))?;
    let scheme = SCHEMES.iter().find(|known| known.eq_ignore_ascii_case(scheme))?;
    let address = format!("{scheme}://{rest}");
    (!host_of(&address).is_empty()).then_some(address)
}

/// Returns whether a host equals another or is a subdomain of it.
fn is_below(host: &str, own: &str) -> bool {
    let (host, own) = (host.to_ascii_lowercase(), own.to_ascii_lowercase());
    host == own || host.strip_suffix(&own).is_some_and(|rest| rest.ends_with('.'))
}
