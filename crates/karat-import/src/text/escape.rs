//! Texts of a source within templates.

/// A text as a template that renders to it: marks of templates lose their meaning.
pub(crate) fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = ["{{", "{%", "{#"].iter().filter_map(|mark| rest.find(mark)).min() {
        let (before, mark) = rest.split_at(at);
        out.push_str(before);
        out.push_str("{{ \"");
        out.push_str(&mark[..2]);
        out.push_str("\" }}");
        rest = &mark[2..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use karat_text::template::{Context, Template};

    /// IO-01: texts of a source are literals, whatever marks they hold.
    #[test]
    fn a_literal_renders_to_itself() {
        for text in ["", "plain", "{{ x }}", "{% raw %}{# a", "{{{{%", "a {{", "}} {", "{{ \"{{\" }}", "é{{ü"] {
            let template = Template::compile(&literal(text)).unwrap();
            assert_eq!(template.render(&Context::default()).unwrap(), text, "{text:?}");
        }
    }
}
