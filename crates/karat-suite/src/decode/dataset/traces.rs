//! `source: "traces:NAME"`: calls that applications report, by day.

use karat_traces::folder::{day_of_file, is_name};
use karat_types::FilePath;

use super::digests::{Digests, SourceFile, UnreadFile};
use crate::dataset::DatasetSource;
use crate::dataset::date;
use crate::dataset::source::traces::Traces;
use crate::decode::Decoder;
use crate::diagnostics::nearest::suggestion;
use crate::overrides::TraceFiles;
use crate::syntax::node::Node;

/// The beginning of a source that is a dataset of traces.
const PREFIX: &str = "traces:";

/// The name of the dataset of traces that a source is.
pub(super) fn dataset_name(source: &Node) -> Option<&str> {
    source.text()?.strip_prefix(PREFIX)
}

impl Decoder<'_> {
    /// The files of a dataset of traces: those of the days from first to last, or all. `days` are those of the dataset's
    /// zone, and files those of UTC, so that each end has a day more.
    pub(super) fn traces(
        &mut self,
        source: &Node,
        name: &str,
        folder: &TraceFiles,
        days: Option<&(String, String)>,
    ) -> Option<(DatasetSource, Digests)> {
        let Some(files) = folder.files() else {
            self.problems.error(&source.place, "there is no folder of traces here").hint("name a file instead");
            return None;
        };
        let names = files.list("").unwrap_or_default();
        if !is_name(name) || !names.iter().any(|known| known == name) {
            let known = names.iter().map(String::as_str).filter(|known| is_name(known));
            let hint = suggestion(name, known)
                .unwrap_or_else(|| "`karat traces ls` lists what applications have sent to `karat serve`".to_owned());
            self.problems.error(&source.place, format!("there are no traces of the name `{name}`")).hint(hint);
            return None;
        }
        let mut entries = match files.list(name) {
            Ok(entries) => entries,
            Err(error) => {
                self.unreadable(source, name, &error);
                return None;
            }
        };
        let bound = |day: &str, by: i64| day.parse().ok().map(|day| date::before(day, by));
        let (first, last) = days.map(|(first, last)| (bound(first, 1), bound(last, -1))).unwrap_or_default();
        entries.retain(|entry| {
            day_of_file(entry)
                .is_some_and(|day| first.is_none_or(|first| day >= first) && last.is_none_or(|last| day <= last))
        });
        entries.sort();
        let paths: Vec<_> = entries.iter().map(|entry| FilePath::literal(format!("{name}/{entry}"))).collect();
        let sources = paths.iter().map(|path| SourceFile { path: path.clone(), name: path.path.clone() }).collect();
        match Digests::begin(&files, sources) {
            Ok(digests) => Some((DatasetSource::Traces(Traces { files, paths }), digests)),
            Err(UnreadFile { path, error }) => {
                self.unreadable(source, &path, &error);
                None
            }
        }
    }
}
