//! Templates of paths that are different by row.

use karat_text::template::{Context, Template, TemplateError};
use karat_types::FilePath;

use super::{folder, join};

/// A template of a path, with parameters written in as literals.
///
/// The literal text at its beginning names the folder that the paths of rows stay in: `cards` for
/// `cards/{{ sample.id }}.md`, the folder of the suite for `{{ sample.path }}`.
#[derive(Debug, Clone)]
pub struct RowPath {
    template: Template,
    folder: String,
    /// Bytes of a rendered path that name the folder.
    named: usize,
}

impl RowPath {
    /// Compiles a template of a path that is absolute or relative to the working directory.
    ///
    /// # Errors
    /// The template has a syntax error.
    pub fn compile(source: &str) -> Result<Self, TemplateError> {
        let template = Template::compile(source)?;
        let beginning = literal_beginning(source);
        let named = beginning.rfind(is_separator).map_or(0, |at| at + 1);
        let folder = join("", folder(&beginning[..named]));
        Ok(Self { template, folder, named })
    }

    /// The names that the template reads; none where the suite's own text is the whole path.
    pub fn reads(&self) -> &[String] {
        self.template.reads()
    }

    /// The folder that the suite's own text names.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// The path of a row.
    ///
    /// # Errors
    /// The template reads what is not there.
    pub fn render(&self, context: &Context) -> Result<FilePath, TemplateError> {
        let rendered = self.template.render(context)?;
        if self.reads().is_empty() {
            return Ok(FilePath::literal(join("", &rendered)));
        }
        let below = rendered.get(self.named..).unwrap_or(&rendered);
        Ok(FilePath::beneath(&self.folder, below))
    }
}

fn is_separator(character: char) -> bool {
    character == '/' || cfg!(windows) && character == '\\'
}

/// The beginning of what a template renders that is the same for every row: its text, and parameters that were written
/// in as literals, `{{ "../data" }}/x.json`.
fn literal_beginning(source: &str) -> String {
    let mut beginning = String::new();
    let mut rest = source;
    while let Some(at) = rest.find('{') {
        let (text, code) = rest.split_at(at);
        beginning.push_str(text);
        if code.starts_with("{%") || code.starts_with("{#") {
            return beginning;
        }
        let Some(inner) = code.strip_prefix("{{") else {
            beginning.push('{');
            rest = &code[1..];
            continue;
        };
        let mut values = serde_json::Deserializer::from_str(inner).into_iter::<String>();
        let Some(Ok(value)) = values.next() else { return beginning };
        let Some(after) = inner[values.byte_offset()..].trim_start().strip_prefix("}}") else { return beginning };
        beginning.push_str(&value);
        rest = after;
    }
    beginning + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// FT-A1: the suite's own text names the folder; what a row adds is relative to it.
    #[test]
    fn the_suites_own_text_names_the_folder() {
        for (source, folder, path) in [
            ("cards/{{ sample.p }}.md", "cards", "P.md"),
            ("cards/a-{{ sample.p }}.md", "cards", "a-P.md"),
            ("suites/{{ sample.p }}", "suites", "P"),
            ("{{ sample.p }}", ".", "P"),
            ("/data/{{ sample.p }}", "/data", "P"),
            ("/{{ sample.p }}", "/", "P"),
            ("./a/../cards/x/{{ sample.p }}/../y", "cards/x", "P/../y"),
            ("{{ \"../data\" }}/{{ sample.p }}.txt", "../data", "P.txt"),
            ("data/{{ \"dev}}\" }}/{{ sample.p }}.txt", "data/dev}}", "P.txt"),
            ("{% if sample.p %}a/b{% endif %}", ".", "a/b"),
            ("preset:x/{{ sample.p }}", "preset:x", "P"),
        ] {
            let row = json!({ "p": "P" });
            let rendered = RowPath::compile(source).unwrap().render(&Context::new().with("sample", &row)).unwrap();
            assert_eq!(rendered, FilePath::beneath(folder, path), "{source}");
        }
        let whole = RowPath::compile("{{ \"../data\" }}/a.txt").unwrap().render(&Context::new()).unwrap();
        assert_eq!(whole, FilePath::literal("../data/a.txt"));
    }
}
