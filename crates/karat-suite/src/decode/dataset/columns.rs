//! Columns that the dataset's source does not hold.

use std::sync::Arc;

use karat_text::env_template::GapTemplate;
use karat_text::path::Path;
use karat_text::template::{Template, TemplateError};
use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::check::options;
use crate::dataset::columns::earlier_values::{EarlierValues, Window};
use crate::dataset::columns::file_maker::FileMaker;
use crate::dataset::columns::resolver::{ColumnResolver, ResolverFiles};
use crate::dataset::columns::{Column, ColumnKind};
use crate::dataset::{Roles, plain};
use crate::decode::Decoder;
use crate::diagnostics::nearest::suggestion;
use crate::files::RowPath;
use crate::syntax::names;
use crate::syntax::node::{Entry, Node};
use crate::syntax::notation;

impl Decoder<'_> {
    /// The columns, in the suite's order: a later one may read an earlier one.
    ///
    /// While files are `fetching`, a column that can be fetched may be absent.
    pub fn columns(&mut self, node: Option<&Node>, roles: &Roles, fetching: bool) -> Vec<Column> {
        let entries = node.map(Node::entries).unwrap_or_default();
        entries.iter().filter_map(|entry| self.column(entry, roles, fetching)).collect()
    }

    fn column(&mut self, entry: &Entry, roles: &Roles, fetching: bool) -> Option<Column> {
        let node = &entry.node;
        let kind = if let Some(value) = node.main("value") {
            let text = value.text()?;
            let inlined = self.params.inline_template(text, &value.place, &mut self.problems);
            ColumnKind::Value(self.dataset_template(&inlined, value)?)
        } else if let Some(file) = node.field("file") {
            let path = self.row_path(file)?;
            let path = RowPath::compile(&path).ok()?;
            let written = file.text().unwrap_or_default();
            names::check(path.reads(), written, &file.place, names::DATASET, &mut self.pending, &mut self.problems);
            ColumnKind::File(path)
        } else if let Some(prior) = node.field("prior") {
            ColumnKind::Prior(self.prior(node, prior, roles)?)
        } else if let Some(resolver) = node.field("resolve") {
            ColumnKind::Resolve(self.resolving(node, resolver)?)
        } else {
            self.lookup(node)?
        };
        if let Some(with) = node.field("with").filter(|_| !matches!(kind, ColumnKind::Resolve(_))) {
            self.problems.error(&with.place, "`with` needs `resolve`: it contains the options of the resolver");
        }
        if let Some(on) = node.field("on").filter(|_| !matches!(kind, ColumnKind::Lookup { .. })) {
            self.problems.error(&on.place, "`on` needs `lookup`");
        }
        let may_be_empty = node.text_of("missing") == Some("empty") || fetching && node.field("fetch").is_some();
        let fetch = node.field("fetch").and_then(|fetch| self.maker(fetch, &kind));
        let is_fetched = fetching && fetch.is_some();
        Some(Column { name: entry.key.clone(), kind, may_be_empty, is_fetched, fetch })
    }

    /// Decodes `fetch`.
    fn maker(&mut self, node: &Node, kind: &ColumnKind) -> Option<FileMaker> {
        if !matches!(kind, ColumnKind::File(_)) {
            self.problems.error(&node.place, "`fetch` needs `file`: it creates files that do not exist");
            return None;
        }
        if let Some(command) = node.field("command") {
            let words = command.items().iter().map(|word| {
                let inlined = self.params.inline_template(word.text()?, &word.place, &mut self.problems);
                self.dataset_template(&inlined, word)
            });
            let run: Option<Vec<Template>> = words.collect();
            return Some(FileMaker::Command { run: run?, folder: self.program_folder(node) });
        }
        let http = node.field("http")?;
        let gaps = |this: &mut Self, at: &Node, compile: fn(&str) -> Result<GapTemplate, TemplateError>| {
            let inlined = this.params.inline_template(&this.params.splice(at.text()?), &at.place, &mut this.problems);
            let written = at.text().unwrap_or_default();
            let template = match compile(&inlined) {
                Ok(template) => template,
                Err(error) => {
                    notation::report(&error, "template", written, &at.place, &mut this.problems);
                    return None;
                }
            };
            names::check(template.reads(), written, &at.place, names::DATASET, &mut this.pending, &mut this.problems);
            Some(template)
        };
        let url = gaps(self, http.main("url")?, GapTemplate::compile_address)?;
        let headers = http.field("headers").map(Node::entries).unwrap_or_default();
        let headers = headers
            .iter()
            .filter_map(|entry| Some((entry.key.clone(), gaps(self, &entry.node, GapTemplate::compile)?)))
            .collect();
        let method = http.text_of("method").filter(|_| http.text().is_none()).unwrap_or("GET").to_owned();
        Some(FileMaker::Http { method, url, headers })
    }

    /// Earlier values of a column. What they are is found out once all columns are known.
    fn prior(&mut self, node: &Node, prior: &Node, roles: &Roles) -> Option<EarlierValues> {
        let column = self.require_match(prior)?;
        let window =
            match (crate::decode::integer_at::<i64>(node, "days"), crate::decode::integer_at::<usize>(node, "rows")) {
                // A number below 1 has been refused already, and is read on for the other problems.
                (Some(days), None) => Window::Days(days.max(1)),
                (None, Some(rows)) => Window::Rows(rows),
                _ => {
                    self.problems
                        .error(&prior.place, "`prior` needs either `days` or `rows`")
                        .hint("they say how far to look back");
                    return None;
                }
            };
        if matches!(window, Window::Days(_)) && roles.date.is_none() {
            self.problems
                .error(&prior.place, "`prior` with `days` needs `date` in the dataset")
                .hint("name the column with the row's date: `date: COLUMN` in `dataset`");
            return None;
        }
        Some(EarlierValues {
            column,
            window,
            date: roles.date.clone(),
            zone: roles.zone.clone(),
            history: Arc::default(),
        })
    }

    /// A resolver with its folders read.
    fn resolving(&mut self, node: &Node, named: &Node) -> Option<ColumnResolver> {
        let name = named.text()?;
        let Some(registered) = self.catalog.resolvers.get(name) else {
            let hint = suggestion(name, self.catalog.resolvers.keys().map(String::as_str));
            self.problems.error(&named.place, format!("there is no resolver `{name}`")).maybe_hint(hint);
            return None;
        };
        if let Some(with) = node.field("with") {
            options::check(with, &registered.options(), &mut self.problems);
        }
        let may_be_absent = node.text_of("missing") == Some("empty");
        let mut folders = Vec::new();
        for (option, what) in registered.folders {
            let Some(given) = node.field("with").and_then(|with| with.field(option)) else {
                self.problems.error(&named.place, format!("`{name}` needs `with: {{ {option} }}`")).hint(*what);
                return None;
            };
            folders.push(self.resolver_folder(given, what, may_be_absent)?);
        }
        let files = self.files.clone();
        let mut read = ResolverFiles::new(&*files);
        let resolver = (registered.make)(&folders, &mut read);
        let (digest, problems) = read.finish();
        self.digests.insert(digest);
        for problem in problems {
            self.problems.push(problem);
        }
        Some(ColumnResolver { name: name.to_owned(), resolver: resolver.into() })
    }

    /// A folder that a resolver reads; `Some(None)` where it is left empty, or cannot be listed, which is a problem.
    fn resolver_folder(&mut self, given: &Node, what: &str, may_be_empty: bool) -> Option<Option<String>> {
        let is_empty = |text: &str| text.trim().is_empty() || self.params.is_absent(text);
        if may_be_empty && given.text().is_some_and(is_empty) {
            return Some(None);
        }
        let folder = self.path(given)?.trim_end_matches('/').to_owned();
        let Err(error) = self.files.list(&folder) else { return Some(Some(folder)) };
        let empty = if may_be_empty { " If there are none, leave it empty: -p NAME=" } else { "" };
        self.problems
            .error(&given.place, format!("the folder {folder} cannot be listed: {error}"))
            .hint(format!("{what}{empty}"));
        Some(None)
    }

    fn dataset_template(&mut self, text: &str, node: &Node) -> Option<Template> {
        let template = Template::compile(text).ok()?;
        let written = node.text().unwrap_or(text);
        names::check(template.reads(), written, &node.place, names::DATASET, &mut self.pending, &mut self.problems);
        Some(template)
    }

    fn lookup(&mut self, node: &Node) -> Option<ColumnKind> {
        let file = node.field("lookup")?;
        let Some(on) = node.field("on") else {
            self.problems
                .error(&node.place, "`lookup` needs `on`")
                .hint("name name the column that both the row and the file have");
            return None;
        };
        let key = on.text()?.to_owned();
        let path = self.require_match(on)?;
        let rows = self.rows(file)?;
        let name = self.path(file)?;
        if let Ok(bytes) = self.files.read(&name) {
            self.digests.insert(blake3::hash(&bytes).to_hex().to_string());
        }
        let index = self.index(rows, &path, file, &name, &key)?;
        Some(ColumnKind::Lookup { on: path, key, index: Arc::new(index), file: name })
    }

    fn index(
        &mut self,
        rows: Vec<Value>,
        on: &Path,
        node: &Node,
        file: &str,
        key: &str,
    ) -> Option<FxHashMap<String, (usize, Value)>> {
        let mut index = FxHashMap::default();
        let mut without = 0;
        let mut twice = None;
        for (number, row) in rows.into_iter().enumerate() {
            match on.first(&row).filter(|value| !value.is_null()).map(plain) {
                Some(value) if index.contains_key(&value) => twice = twice.or(Some(value)),
                Some(value) => {
                    index.insert(value, (number, row));
                }
                None => without += 1,
            }
        }
        if let Some(value) = &twice {
            self.problems.error(&node.place, format!("{file} has two rows whose `{key}` is {value:?}"));
        }
        if without > 0 {
            self.problems.error(&node.place, format!("{without} rows of {file} have no `{key}`"));
        }
        (twice.is_none() && without == 0).then_some(index)
    }
}
