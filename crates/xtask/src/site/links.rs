//! Every address of every page: it leads to a file and to an id of it, and nothing is loaded from another site.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use percent_encoding::percent_decode_str;

use super::page::{Page, Reference, Role};

/// Pages without a policy of their own: mdBook shows this one in a frame where there is no script.
const WITHOUT_POLICY: [&str; 1] = ["toc.html"];

/// A built site.
pub(crate) struct Site<'a> {
    /// The folder of its pages.
    pub folder: &'a Path,
    /// The folder of the Markdown pages that they were made from, for the places of problems.
    pub source: &'a Path,
    /// The path of the site below its host, with a slash at both ends.
    pub base: &'a str,
}

/// The result of a check.
#[derive(Debug)]
pub(crate) struct Checked {
    pub pages: usize,
    pub links: usize,
    pub problems: Vec<Problem>,
}

/// An address that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The file and the line of the address.
    pub place: String,
    /// The address, and what is wrong with it.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.place, self.message)
    }
}

type Pages = BTreeMap<PathBuf, Page>;

impl Site<'_> {
    /// Checks all pages and style sheets.
    ///
    /// # Errors
    /// The folder holds no page, or a file cannot be read.
    pub fn check(&self) -> Result<Checked, String> {
        let files = self.files(Path::new(""))?;
        let has_ending = |path: &Path, ending: &str| path.extension().is_some_and(|own| own == ending);
        let mut pages = Pages::new();
        for file in files.iter().filter(|file| has_ending(file, "html")) {
            pages.insert(file.clone(), Page::read(&self.read(file)?));
        }
        if !pages.contains_key(Path::new("index.html")) {
            return Err(format!("there is no book in {}; build it with `cargo xtask site`", self.folder.display()));
        }
        let mut checked = Checked { pages: pages.len(), links: 0, problems: Vec::new() };
        for (file, page) in &pages {
            checked.links += page.references.len();
            for reference in &page.references {
                if let Err(wrong) = self.check_reference(&pages, file, page, reference) {
                    let place = self.place_of(file, reference);
                    checked.problems.push(Problem { place, message: format!("`{}` {wrong}", reference.address) });
                }
            }
            if let Err(message) = check_policy(file, page).and_then(|()| self.check_style(file, &page.style)) {
                checked.problems.push(Problem { place: file.display().to_string(), message });
            }
        }
        for file in files.iter().filter(|file| has_ending(file, "css")) {
            if let Err(message) = self.check_style(file, &self.read(file)?) {
                checked.problems.push(Problem { place: file.display().to_string(), message });
            }
        }
        Ok(checked)
    }

    fn files(&self, below: &Path) -> Result<Vec<PathBuf>, String> {
        let folder = self.folder.join(below);
        let failed = |error| format!("listing {}: {error}; build the book with `cargo xtask site`", folder.display());
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = below.join(entry.file_name());
            if entry.path().is_dir() {
                files.extend(self.files(&path)?);
            } else {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    fn read(&self, file: &Path) -> Result<String, String> {
        let path = self.folder.join(file);
        std::fs::read_to_string(&path).map_err(|error| format!("reading {}: {error}", path.display()))
    }

    fn check_reference(&self, pages: &Pages, file: &Path, page: &Page, to: &Reference) -> Result<(), String> {
        match scheme_of(&to.address) {
            _ if to.address.starts_with("//") => Err("names no scheme: write https".to_owned()),
            Some("data") if to.role == Role::Resource => Ok(()),
            Some("https" | "http") if to.role == Role::Resource => Err("is loaded from another site".to_owned()),
            Some("https") => check_host(&to.address["https:".len()..]),
            Some("mailto") if to.role == Role::Link => Ok(()),
            Some("http") if is_loopback(&to.address) => Ok(()),
            Some("http") => Err("is not https".to_owned()),
            Some(scheme) => Err(format!("has the scheme `{scheme}`, which no page needs")),
            None => self.check_file(pages, file, page, &to.address),
        }
    }

    /// Checks an address of this site.
    fn check_file(&self, pages: &Pages, file: &Path, page: &Page, address: &str) -> Result<(), String> {
        let (path, fragment) = address.split_once('#').map_or((address, ""), |(path, fragment)| (path, fragment));
        let path = path.split('?').next().unwrap_or_default();
        let target = match (path, page.base.as_deref()) {
            // A fragment alone names the page itself, also where a base moves all other addresses.
            ("", _) => file.to_owned(),
            (path, base) => self.target(file, base, path)?,
        };
        let full = self.folder.join(&target);
        let (target, full) =
            if full.is_dir() { (target.join("index.html"), full.join("index.html")) } else { (target, full) };
        if !full.is_file() {
            return Err(format!("leads nowhere: the book has no {}", target.display()));
        }
        let fragment = decode(fragment)?;
        // `#top` is the beginning of every page; `#filter=x` is a state that a report's script reads.
        let names_id = !fragment.is_empty() && fragment != "top" && !fragment.contains('=');
        match pages.get(&target) {
            Some(other) if names_id && !other.ids.contains(&fragment) => {
                Err(format!("leads nowhere: {} has no id `{fragment}`", target.display()))
            }
            _ => Ok(()),
        }
    }

    /// The file of a path in a page, below the folder of the site.
    fn target(&self, file: &Path, base: Option<&str>, path: &str) -> Result<PathBuf, String> {
        let path = decode(path)?;
        let outside = || format!("leads out of the site, which is at {}", self.base);
        let (mut target, rest) = match (path.strip_prefix(self.base), base) {
            (Some(rest), _) => (PathBuf::new(), rest.to_owned()),
            (None, _) if path.starts_with('/') => return Err(outside()),
            (None, Some(base)) => (PathBuf::from(base.strip_prefix(self.base).ok_or_else(outside)?), path),
            (None, None) => (file.parent().unwrap_or(Path::new("")).to_owned(), path),
        };
        for part in Path::new(&rest).components() {
            match part {
                Component::Normal(name) => target.push(name),
                Component::ParentDir if !target.pop() => return Err(outside()),
                _ => {}
            }
        }
        Ok(target)
    }

    /// Checks the addresses in a style sheet: `url(…)` and `@import`.
    fn check_style(&self, file: &Path, style: &str) -> Result<(), String> {
        for rest in style.split("@import").skip(1) {
            let address = rest.split(';').next().unwrap_or_default().trim();
            if address.contains("//") {
                return Err(format!("`@import {address}` is loaded from another site"));
            }
        }
        for rest in style.split("url(").skip(1) {
            let address = match rest.trim_start().chars().next() {
                Some(quote @ ('"' | '\'')) => rest.trim_start()[1..].split(quote).next(),
                _ => rest.split(')').next(),
            };
            let address = address.unwrap_or_default().trim();
            match scheme_of(address) {
                Some("data") => {}
                Some(_) => return Err(format!("`url({address})` is loaded from another site")),
                None if address.starts_with("//") => {
                    return Err(format!("`url({address})` is loaded from another site"));
                }
                None if address.starts_with('#') => {}
                None => {
                    let path = address.split(['#', '?']).next().unwrap_or_default();
                    let target = self.target(file, None, path)?;
                    if !self.folder.join(&target).is_file() {
                        return Err(format!("`url({address})` leads nowhere: the book has no {}", target.display()));
                    }
                }
            }
        }
        Ok(())
    }

    /// The line of the Markdown that holds the address; without one, the line of the page.
    fn place_of(&self, file: &Path, reference: &Reference) -> String {
        let source = file.with_extension("md");
        let text = std::fs::read_to_string(self.source.join(&source)).unwrap_or_default();
        let written = [reference.address.replace(".html", ".md"), reference.address.clone()];
        let holds = |line: &str| written.iter().any(|address| line.contains(&format!("({address})")));
        match text.lines().position(holds) {
            Some(at) => format!("{}:{}", self.source.join(source).display(), at + 1),
            None => format!("{}:{}", self.folder.join(file).display(), reference.line),
        }
    }
}

fn check_policy(file: &Path, page: &Page) -> Result<(), String> {
    if WITHOUT_POLICY.iter().any(|name| file == Path::new(name)) {
        return Ok(());
    }
    match &page.policy {
        None => Err("has no content security policy (docs/theme/head.hbs)".to_owned()),
        Some(policy) if policy.contains("http") || policy.contains('*') || !policy.contains("default-src 'none'") => {
            Err(format!("has a policy that lets it load from other sites: `{policy}`"))
        }
        Some(_) => Ok(()),
    }
}

/// The scheme of an address, in lower case letters as all pages write it.
fn scheme_of(address: &str) -> Option<&str> {
    let (scheme, _) = address.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then_some(scheme)
}

fn is_loopback(address: &str) -> bool {
    let host = address.trim_start_matches("http://").split(['/', ':']).next();
    matches!(host, Some("127.0.0.1" | "localhost"))
}

/// Checks an address without its scheme: two slashes, a host with a name and an ending, and no space.
fn check_host(address: &str) -> Result<(), String> {
    let rest = address.strip_prefix("//").unwrap_or_default();
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = host.split_once(':').map_or((host, None), |(host, port)| (host, Some(port)));
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_host = host.contains('.') && host.split('.').all(is_label);
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
    match is_host && is_port && !rest.contains(char::is_whitespace) {
        true => Ok(()),
        false => Err("is not a well-formed address".to_owned()),
    }
}

fn decode(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(|text| text.into_owned()).map_err(|_| "is not UTF-8 behind its percent signs".to_owned())
}
