//! Nunjucks templates as templates of a suite: a variable `x` becomes `sample.x`, `env.X` becomes `params.X`.
//!
//! Only the marks and the names within them are rewritten; filters and tags are those of Jinja, so a template that uses
//! what Nunjucks has beyond Jinja does not compile and is refused with the reason.

use std::collections::BTreeSet;

use karat_text::template::{Context, Template};
use serde_json::{Map, Value, json};

/// Columns of a row that are not variables.
const RESERVED: [&str; 4] = ["id", "assert", "metadata", "only"];

/// The variable with the earlier prompts and outputs of a conversation.
const CONVERSATION: &str = "_conversation";

const KEYWORDS: [&str; 14] =
    ["and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False", "None", "loop"];

const TAGS: [&str; 9] = ["if", "elif", "elseif", "else", "endif", "for", "endfor", "set", "endset"];

/// Operators of more than one character; the first that fits is taken.
const OPERATORS: [&str; 6] = ["===", "!==", "==", "!=", "<=", ">="];

/// The reading of a member of a value that may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Members {
    /// It must be there.
    #[default]
    Required,
    /// It is empty, as in Nunjucks.
    Optional,
}

/// A template of a suite.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Translated {
    pub text: String,
    /// Variables that it reads.
    pub reads: BTreeSet<String>,
    /// Variables of the environment that it reads.
    pub env: BTreeSet<String>,
}

/// Returns true if a text holds a mark of templates.
pub(super) fn is_template(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark))
}

/// Returns true if a template reads a variable.
pub(super) fn reads(text: &str, variable: &str) -> bool {
    translate(text).is_ok_and(|translated| translated.reads.contains(variable))
}

/// The column that holds a variable.
pub(super) fn column_name(variable: &str) -> String {
    if RESERVED.contains(&variable) { format!("{variable}_") } else { variable.to_owned() }
}

/// The template of a suite that does the same.
///
/// # Errors
/// The reason, where Jinja has no such thing.
pub(super) fn translate(source: &str) -> Result<Translated, String> {
    translate_with(source, Members::Required)
}

/// The same with a reading of members of absent values.
pub(super) fn translate_with(source: &str, members: Members) -> Result<Translated, String> {
    let mut translator = Translator { members, ..Translator::default() };
    translator.template(source)?;
    let Translator { out, reads, env, .. } = translator;
    if reads.contains(CONVERSATION) {
        return Err("it reads the earlier tests of a conversation, and rows are independent".to_owned());
    }
    Template::compile(&out).map_err(|error| format!("as a template of a suite it is wrong: {error}"))?;
    Ok(Translated { text: out, reads, env })
}

/// The text of a template for these variables. As in Nunjucks, an undefined one is empty.
///
/// # Errors
/// The reason, where it cannot be rendered.
pub(super) fn render(source: &str, vars: &Map<String, Value>, env: &Map<String, Value>) -> Result<String, String> {
    if !is_template(source) {
        return Ok(source.to_owned());
    }
    let translated = translate(source)?;
    if let Some(name) = translated.env.iter().find(|name| !env.contains_key(*name)) {
        return Err(format!("it reads the environment variable {name}, which is not known when files are imported"));
    }
    let mut sample: Map<String, Value> = translated.reads.iter().map(|name| (column_name(name), json!(""))).collect();
    sample.extend(vars.iter().map(|(name, value)| (column_name(name), value.clone())));
    let context = Context::new().with("sample", &sample).with("params", env);
    let rendered = |text: &str| {
        Template::compile(text).and_then(|template| template.render(&context)).map_err(|error| error.to_string())
    };
    let mut text = match rendered(&translated.text) {
        Ok(text) => text,
        Err(_) => rendered(&translate_with(source, Members::Optional)?.text)?,
    };
    // Templates of a suite end without the newline at the end of their file; Nunjucks keeps it.
    if source.ends_with('\n') && !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

#[derive(Default)]
struct Translator {
    out: String,
    reads: BTreeSet<String>,
    env: BTreeSet<String>,
    /// Names that the template binds itself.
    locals: BTreeSet<String>,
    members: Members,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Token<'s> {
    Space(&'s str),
    Name(&'s str),
    /// A text or a number.
    Literal(&'s str),
    Mark(&'s str),
}

impl Translator {
    fn template(&mut self, source: &str) -> Result<(), String> {
        let mut rest = source;
        while let Some(at) = ["{{", "{%", "{#"].iter().filter_map(|mark| rest.find(mark)).min() {
            let (before, tag) = rest.split_at(at);
            self.out.push_str(before);
            rest = match &tag[..2] {
                "{#" => tag.find("#}").map(|end| &tag[end + 2..]).ok_or("a comment has no end")?,
                open => {
                    let end = tag_end(tag).ok_or_else(|| format!("`{open}` has no end"))?;
                    let inner = &tag[2..end];
                    match raw_body(inner, &tag[end + 2..]) {
                        Some((body, rest)) => {
                            self.out.push_str(&format!("{{% raw %}}{body}{{% endraw %}}"));
                            rest
                        }
                        None => {
                            self.tag(open, inner)?;
                            &tag[end + 2..]
                        }
                    }
                }
            };
        }
        self.out.push_str(rest);
        Ok(())
    }

    /// One `{{ … }}` or `{% … %}`.
    fn tag(&mut self, open: &str, inner: &str) -> Result<(), String> {
        let close = if open == "{{" { "}}" } else { "%}" };
        let tokens = tokens(inner)?;
        self.out.push_str(open);
        // `{{x}}` gets the spaces that templates of a suite have.
        let is_tight = |char: Option<char>| char.is_some_and(|char| !char.is_whitespace() && char != '-');
        self.out.extend(is_tight(inner.chars().next()).then_some(' '));
        if open == "{{" {
            self.expression(&tokens)?;
        } else {
            self.statement(&tokens)?;
        }
        self.out.extend(is_tight(inner.chars().last()).then_some(' '));
        self.out.push_str(close);
        Ok(())
    }

    fn statement(&mut self, tokens: &[Token<'_>]) -> Result<(), String> {
        let at = tokens.iter().position(|token| matches!(token, Token::Name(_))).ok_or("an empty `{% %}`")?;
        let (before, rest) = tokens.split_at(at);
        let Some((Token::Name(tag), rest)) = rest.split_first() else { return Ok(()) };
        if !TAGS.contains(tag) {
            return Err(format!("the tag `{tag}` is not part of templates of a suite"));
        }
        before.iter().for_each(|token| self.push(*token));
        self.out.push_str(if *tag == "elseif" { "elif" } else { tag });
        let bound = match *tag {
            "for" => rest.iter().position(|token| *token == Token::Name("in")).unwrap_or(0),
            "set" => rest.iter().position(|token| *token == Token::Mark("=")).unwrap_or(rest.len()),
            _ => 0,
        };
        let (targets, rest) = rest.split_at(bound);
        let names = targets.iter().filter(|token| matches!(token, Token::Name(_))).count();
        if *tag == "for" && names == 2 {
            return self.pairs(targets, rest);
        }
        for token in targets {
            if let Token::Name(name) = token {
                self.locals.insert((*name).to_owned());
            }
            self.push(*token);
        }
        self.expression(rest)
    }

    /// A loop over two names: there it has the keys and values of a map, and the members of a list's lists.
    fn pairs(&mut self, targets: &[Token<'_>], rest: &[Token<'_>]) -> Result<(), String> {
        for token in targets {
            self.push(*token);
        }
        let at = rest.iter().position(|token| *token == Token::Name("in")).unwrap_or(0);
        let (keyword, over) = rest.split_at(at + 1);
        let end =
            over.iter().rposition(|token| !matches!(token, Token::Space(_) | Token::Mark("-"))).map_or(0, |at| at + 1);
        let (over, trim) = over.split_at(end);
        keyword.iter().for_each(|token| self.push(*token));
        let outer = std::mem::take(&mut self.out);
        self.expression(over)?;
        let over = std::mem::replace(&mut self.out, outer);
        let over = over.trim();
        self.out.push_str(&format!(" ({over} | items if {over} is mapping else {over})"));
        trim.iter().for_each(|token| self.push(*token));
        // Bound only now: the list is read before.
        for token in targets {
            if let Token::Name(name) = token {
                self.locals.insert((*name).to_owned());
            }
        }
        Ok(())
    }

    fn push(&mut self, token: Token<'_>) {
        let (Token::Space(text) | Token::Name(text) | Token::Literal(text) | Token::Mark(text)) = token;
        self.out.push_str(match text {
            "===" => "==",
            "!==" => "!=",
            text => text,
        });
    }

    fn expression(&mut self, tokens: &[Token<'_>]) -> Result<(), String> {
        // The open brackets; of a call of `default` the number of its commas.
        let mut brackets: Vec<Option<usize>> = Vec::new();
        let mut before = Token::Mark("");
        let mut is_default = false;
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let after = tokens.get(at + 1..).unwrap_or_default();
            let next = after.iter().find(|token| !matches!(token, Token::Space(_))).copied();
            match *token {
                Token::Name(name) => match before {
                    Token::Mark("|") if name == "safe" => {
                        let kept = self.out.trim_end().strip_suffix('|').map(|out| out.trim_end().len());
                        self.out.truncate(kept.unwrap_or(self.out.len()));
                    }
                    Token::Mark("|") => {
                        is_default = matches!(name, "default" | "d");
                        self.out.push_str(if name == "dump" { "tojson" } else { name });
                    }
                    Token::Mark(".") if next == Some(Token::Mark("(")) => {
                        return Err(format!("it calls the method `{name}` of JavaScript"));
                    }
                    Token::Mark(".") | Token::Name("is") => self.out.push_str(name),
                    _ if next == Some(Token::Mark("=")) && !brackets.is_empty() => self.out.push_str(name),
                    _ => at += self.name(name, after),
                },
                Token::Mark(mark) => {
                    match (mark, brackets.last_mut()) {
                        ("(" | "[" | "{", _) => brackets.push((mark == "(" && is_default).then_some(0)),
                        (",", Some(Some(commas))) => *commas += 1,
                        (")" | "]" | "}", _) => {
                            // An undefined variable is written as an empty text, which has to count as undefined.
                            let is_bare_default = brackets.pop() == Some(Some(0));
                            self.out.push_str(if is_bare_default { ", true" } else { "" });
                        }
                        _ => {}
                    }
                    is_default = false;
                    self.push(*token);
                }
                token => self.push(token),
            }
            if !matches!(token, Token::Space(_)) {
                before = *token;
            }
            at += 1;
        }
        Ok(())
    }

    /// A name at the beginning of a value; returns the number of the following tokens that belong to it.
    fn name(&mut self, name: &str, after: &[Token<'_>]) -> usize {
        if name == "null" || name == "undefined" {
            self.out.push_str("none");
        } else if name == "env"
            && let [Token::Mark("."), Token::Name(variable), ..] = after
        {
            self.env.insert((*variable).to_owned());
            self.out.push_str(&format!("params.{variable}"));
            return 2;
        } else if KEYWORDS.contains(&name) || after.first() == Some(&Token::Mark("(")) {
            self.out.push_str(name);
        } else {
            let base = if self.locals.contains(name) {
                name.to_owned()
            } else {
                self.reads.insert(name.to_owned());
                format!("sample.{}", column_name(name))
            };
            let members = if self.members == Members::Optional { members(after) } else { Vec::new() };
            let last = members.len().saturating_sub(1);
            let value = members.iter().enumerate().fold(base, |value, (at, member)| {
                format!("({value}.{member} | default({}))", if at == last { "''" } else { "{}" })
            });
            self.out.push_str(&value);
            return 2 * members.len();
        }
        0
    }
}

/// The members that are named behind a value, as `.a.b`; none where a test asks if the value is defined, or a method follows.
fn members<'s>(after: &[Token<'s>]) -> Vec<&'s str> {
    let mut names = Vec::new();
    let mut rest = after;
    while let [Token::Mark("."), Token::Name(name), behind @ ..] = rest {
        names.push(*name);
        rest = behind;
    }
    let next = rest.iter().find(|token| !matches!(token, Token::Space(_)));
    let is_asked = matches!(next, Some(Token::Name("is") | Token::Mark("(")));
    if is_asked { Vec::new() } else { names }
}

/// The text between `{% raw %}` and its end, and what follows; `None` of any other tag.
fn raw_body<'s>(inner: &str, after: &'s str) -> Option<(&'s str, &'s str)> {
    let tag = inner.trim_matches(|char: char| char == '-' || char.is_whitespace());
    if tag != "raw" && tag != "verbatim" {
        return None;
    }
    let mut from = 0;
    while let Some(at) = after.get(from..)?.find("{%").map(|at| from + at) {
        let end = at + after.get(at..)?.find("%}")?;
        let tag = after.get(at + 2..end)?.trim_matches(|char: char| char == '-' || char.is_whitespace());
        if tag == "endraw" || tag == "endverbatim" {
            return Some((after.get(..at)?, after.get(end + 2..)?));
        }
        from = at + 2;
    }
    None
}

/// The byte at which a tag closes, with the marks within texts left out.
fn tag_end(tag: &str) -> Option<usize> {
    let close = if tag.starts_with("{{") { "}}" } else { "%}" };
    let mut quote = None;
    let mut escaped = false;
    for (at, char) in tag.char_indices().skip(2) {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if char == '\\' => escaped = true,
            Some(open) if char == open => quote = None,
            Some(_) => {}
            None if char == '"' || char == '\'' => quote = Some(char),
            None if tag[at..].starts_with(close) => return Some(at),
            None => {}
        }
    }
    None
}

fn tokens(source: &str) -> Result<Vec<Token<'_>>, String> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let is_name = |char: char| char.is_alphanumeric() || char == '_' || char == '$';
        let run = |within: &dyn Fn(char) -> bool| rest.find(|char| !within(char)).unwrap_or(rest.len());
        let token = if first.is_whitespace() {
            Token::Space(&rest[..run(&char::is_whitespace)])
        } else if first.is_ascii_digit() {
            Token::Literal(&rest[..run(&|char| char.is_ascii_digit())])
        } else if is_name(first) {
            Token::Name(&rest[..run(&is_name)])
        } else if first == '"' || first == '\'' {
            Token::Literal(&rest[..text_end(rest, first).ok_or("a text in it has no end")?])
        } else {
            let operator = OPERATORS.iter().find(|operator| rest.starts_with(**operator));
            Token::Mark(&rest[..operator.map_or(first.len_utf8(), |operator| operator.len())])
        };
        let (Token::Space(text) | Token::Name(text) | Token::Literal(text) | Token::Mark(text)) = token;
        rest = &rest[text.len()..];
        tokens.push(token);
    }
    Ok(tokens)
}

/// The byte behind the closing quote.
fn text_end(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, char) in text.char_indices().skip(1) {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            char if char == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str) -> String {
        translate(source).unwrap_or_else(|why| panic!("{source}: {why}")).text
    }

    /// IO-02: variables become columns, filters and tags of Jinja stay.
    #[test]
    fn variables_become_columns() {
        for (source, expected) in [
            ("no marks } here", "no marks } here"),
            ("{{ x }} and {{y}}", "{{ sample.x }} and {{ sample.y }}"),
            ("{{ a.b['x'].c }}", "{{ sample.a.b['x'].c }}"),
            ("{{ text | upper }}", "{{ sample.text | upper }}"),
            ("{{ text | safe }}!", "{{ sample.text }}!"),
            ("{{ text|safe|dump }}", "{{ sample.text|tojson }}"),
            ("{{ x | default('a') }}", "{{ sample.x | default('a', true) }}"),
            ("{{ x | replace('a', b) }}", "{{ sample.x | replace('a', sample.b) }}"),
            ("{{ 'a' if x === 'b' else y }}", "{{ 'a' if sample.x == 'b' else sample.y }}"),
            (
                "{% if a and not b %}1{% elseif c %}2{% else %}3{% endif %}",
                "{% if sample.a and not sample.b %}1{% elif sample.c %}2{% else %}3{% endif %}",
            ),
            (
                "{%- for item in items -%}{{ loop.index }}{{ item.x }}{{ y }}{%- endfor -%}",
                "{%- for item in sample.items -%}{{ loop.index }}{{ item.x }}{{ sample.y }}{%- endfor -%}",
            ),
            (
                "{% for k, v in m %}{{ k }}{{ v.x }}{% endfor %}",
                "{% for k, v in (sample.m | items if sample.m is mapping else sample.m) %}{{ k }}{{ v.x }}{% endfor %}",
            ),
            ("{% set n = 3 %}{{ n }}", "{% set n = 3 %}{{ n }}"),
            ("{% raw %}{{ x }}{% endraw %}{{ x }}", "{% raw %}{{ x }}{% endraw %}{{ sample.x }}"),
            ("a{# {{ x }} #}b", "ab"),
            ("{{ env.REGION }}", "{{ params.REGION }}"),
            ("{{ id }} {{ metadata.x }}", "{{ sample.id_ }} {{ sample.metadata_.x }}"),
            ("{{ \"}} {{ x\" }}", "{{ \"}} {{ x\" }}"),
        ] {
            assert_eq!(text(source), expected, "{source}");
        }
        let read = translate("{{ b }}{{ a | default(c) }}{{ env.Z }}").unwrap();
        assert_eq!(read.reads.iter().map(String::as_str).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert!(read.env.contains("Z"));
    }

    /// IO-02: a template that Jinja has no words for is refused with the reason.
    #[test]
    fn other_templates_are_refused() {
        for (source, why) in [
            ("{{ text.toUpperCase() }}", "the method `toUpperCase`"),
            ("{% include 'x' %}", "the tag `include`"),
            ("{{ x | nl2br }}", "nl2br"),
            ("{{ x", "has no end"),
            ("{% if x %}", "wrong"),
            ("{% for turn in _conversation %}{{ turn.output }}{% endfor %}", "earlier tests"),
        ] {
            let refused = translate(source).unwrap_err();
            assert!(refused.contains(why), "{source}: {refused}");
        }
    }

    /// IO-02: at import, an undefined variable is empty.
    #[test]
    fn undefined_is_empty_when_rendered() {
        let vars = json!({"country": "Japan", "id": 7, "list": ["a"]}).as_object().cloned().unwrap();
        let env = json!({"REGION": "eu"}).as_object().cloned().unwrap();
        for (source, expected) in [
            ("In {{ country }}{{ none_such }}.\n", "In Japan.\n"),
            ("{{ id }}{{ list }}{{ env.REGION }}", "7[\"a\"]eu"),
            ("{{ none_such | default('x') }}", "x"),
        ] {
            assert_eq!(render(source, &vars, &env).unwrap(), expected, "{source}");
        }
        assert!(render("{{ env.OTHER }}", &vars, &env).unwrap_err().contains("OTHER"));
        assert_eq!(render("{{ none_such.x.y }}", &vars, &env).unwrap(), "");
    }
}
