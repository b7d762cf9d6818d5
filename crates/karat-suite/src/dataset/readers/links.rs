//! Links of a document.

use std::collections::BTreeSet;

/// What ends a link that stands in a text; so does a `)` that closes no `(` of the link.
const ENDS: &[char] = &[' ', '\t', '\n', '\r', '"', '\'', '<', '>', ']', '}', '|', '\\', '`'];
/// What belongs to the sentence around a link, not to it.
const PUNCTUATION: &[char] = &['.', ',', ';', ':', '!', '?', '*', '_'];

/// Links to other hosts sorted, each once, without those to the publication itself: an address without a host, such as a
/// mail address or a script, is no source.
pub(super) fn sources<'a>(links: impl Iterator<Item = &'a str>, own_hosts: &[String]) -> Vec<&'a str> {
    let all: BTreeSet<&str> = links.collect();
    let is_source = |url: &&str| is_web(url) && !own_hosts.iter().any(|own| is_below(host(url), own));
    all.into_iter().filter(is_source).collect()
}

/// The links that stand in a text.
pub(super) fn inline(text: &str) -> impl Iterator<Item = &str> {
    let starts = ["https://", "http://"].into_iter().flat_map(|start| text.match_indices(start)).map(|(at, _)| at);
    starts.filter_map(|at| {
        let rest = &text[at..];
        let link = &rest[..end(rest)];
        let link = link.trim_end_matches(PUNCTUATION);
        (!host(link).is_empty()).then_some(link)
    })
}

/// Where the link ends that a text begins with.
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

/// Whether an address leads to a host on the web.
pub(super) fn is_web(url: &str) -> bool {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web)) && !host(url).is_empty()
}

fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    host.split(':').next().unwrap_or_default().trim_end_matches('.')
}

/// Whether a host is another or lies below it.
fn is_below(host: &str, own: &str) -> bool {
    let (host, own) = (host.to_ascii_lowercase(), own.to_ascii_lowercase());
    host == own || host.strip_suffix(&own).is_some_and(|rest| rest.ends_with('.'))
}
