//! Files that a column wants and that are not there yet: how they are made.

use std::sync::Arc;

use karat_text::gaps::GapTemplate;
use karat_text::template::{Context, Template};
use karat_types::{CommandRequest, HttpRequest, Protocol, Request, Sample};
use serde_json::Value;

use super::Dataset;
use super::columns::ColumnKind;
use super::rows::Rows;

/// How a column's absent files are made.
#[derive(Debug, Clone)]
pub(crate) enum Maker {
    Command { run: Vec<Template>, folder: String },
    Http { method: String, url: GapTemplate, headers: Vec<(String, GapTemplate)> },
}

/// A file that is not there, and what makes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fetch {
    /// Id of the row that wants it.
    pub sample: String,
    /// The column.
    pub column: String,
    /// Where the file belongs.
    pub path: String,
    /// What is asked for its content; the error is a template that cannot be rendered.
    pub request: Result<Request, String>,
}

impl Maker {
    fn request(&self, context: &Context) -> Result<Request, String> {
        let made = match self {
            Self::Command { run, folder } => {
                let run = run.iter().map(|word| word.render(context)).collect::<Result<_, _>>();
                run.map(|run| {
                    let (input, env, protocol) = (Value::Null, Vec::new(), Protocol::Once);
                    Request::Command(CommandRequest { run, input, env, protocol, folder: folder.clone() })
                })
            }
            Self::Http { method, url, headers } => {
                let headers = headers.iter().map(|(name, text)| Ok((name.clone(), text.render(context)?)));
                headers.collect::<Result<_, _>>().and_then(|headers| {
                    let url = url.render(context)?;
                    Ok(Request::Http(HttpRequest { method: method.clone(), url, headers, body: Value::Null }))
                })
            }
        };
        made.map_err(|error| error.to_string())
    }
}

impl Dataset {
    /// The files that are not there, by row and column. Rows that cannot be read want none.
    pub fn absent(self: &Arc<Self>) -> Vec<Fetch> {
        let mut rows = Rows::new(self.clone());
        let mut absent = Vec::new();
        while let Some(row) = rows.next_kept() {
            let Ok(kept) = row else { continue };
            if self.wants(&kept.sample.id) {
                absent.extend(self.absent_of(&kept.sample));
            }
        }
        absent
    }

    fn absent_of(&self, sample: &Sample) -> Vec<Fetch> {
        let context = Context::new().with("sample", &Value::Object(sample.columns.clone()));
        let wanted = self.columns.iter().filter_map(|column| {
            let (ColumnKind::File(path), Some(maker)) = (&column.kind, &column.fetch) else { return None };
            let path = crate::files::join("", &path.render(&context).ok()?);
            (!self.files.is_file(&path)).then(|| Fetch {
                sample: sample.id.to_string(),
                column: column.name.clone(),
                path,
                request: maker.request(&context),
            })
        });
        wanted.collect()
    }
}
