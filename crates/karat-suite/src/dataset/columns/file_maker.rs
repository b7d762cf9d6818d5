//! Ways to create the files of a column that do not exist yet.

use karat_text::env_template::GapTemplate;
use karat_text::template::{Context, Template};
use karat_types::{CommandRequest, HttpRequest, Protocol, Request};
use serde_json::Value;

/// Ways to create the files of a column that do not exist yet.
#[derive(Debug, Clone)]
pub(crate) enum FileMaker {
    Command { run: Vec<Template>, folder: String },
    Http { method: String, url: GapTemplate, headers: Vec<(String, GapTemplate)> },
}

impl FileMaker {
    /// Returns the request for the file of a row, or the error of a template that cannot be rendered.
    pub fn request(&self, context: &Context) -> Result<Request, String> {
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
