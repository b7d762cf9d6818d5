//! The tokens of code.

use super::Language;

/// The largest number of tokens that is read: beyond it, code is a program, and its brackets may lie deeper than the stack.
const MAX_TOKENS: usize = 300;

/// A part of the code.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    Text(String),
    Number(f64),
    /// A text with values in it, which is not read.
    Template,
    /// A pattern and its flags.
    Pattern(String, String),
    Mark(&'static str),
}

/// Marks; the first that fits is taken.
const MARKS: [&str; 29] = [
    "===", "!==", "==", "!=", "<=", ">=", "&&", "||", "=>", "?.", "<", ">", "!", "(", ")", "[", "]", ".", ",", ";",
    "=", "?", ":", "+", "-", "*", "/", "{", "}",
];

/// The tokens of code; `None` of what is not an expression, or of too many.
pub(super) fn tokens(code: &str, language: Language) -> Option<Vec<Token>> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut rest = code.trim();
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            rest = rest.trim_start();
            continue;
        }
        if let Some(behind) = behind_comment(rest, language) {
            rest = behind?;
            continue;
        }
        let run = |within: &dyn Fn(char) -> bool| rest.find(|char| !within(char)).unwrap_or(rest.len());
        let (token, length) = if first.is_alphabetic() || first == '_' || first == '$' {
            let end = run(&|char| char.is_alphanumeric() || char == '_' || char == '$');
            (Token::Name(rest[..end].to_owned()), end)
        } else if first.is_ascii_digit() {
            let end = run(&|char| char.is_ascii_digit() || char == '.');
            (Token::Number(rest[..end].parse().ok()?), end)
        } else if matches!(first, '"' | '\'' | '`') {
            match text_literal(rest, first) {
                Some((text, end)) => (Token::Text(text), end),
                None => (Token::Template, template_end(rest).filter(|_| first == '`')?),
            }
        } else if first == '/' && !tokens.last().is_some_and(is_value_end) {
            let (pattern, end) = pattern_literal(rest)?;
            let flags = rest[end..].find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(rest.len() - end);
            (Token::Pattern(pattern, rest[end..end + flags].to_owned()), end + flags)
        } else {
            let mark = MARKS.into_iter().find(|mark| rest.starts_with(mark))?;
            (Token::Mark(mark), mark.len())
        };
        if tokens.len() == MAX_TOKENS {
            return None;
        }
        tokens.push(token);
        rest = &rest[length..];
    }
    Some(tokens)
}

/// The rest behind a comment, if one comes next; none behind one that does not end.
fn behind_comment(rest: &str, language: Language) -> Option<Option<&str>> {
    let line = |mark: &str| rest.starts_with(mark).then(|| rest.split_once('\n').map_or("", |(_, behind)| behind));
    match language {
        Language::Python => line("#").map(Some),
        Language::JavaScript => match rest.strip_prefix("/*") {
            Some(inner) => Some(inner.split_once("*/").map(|(_, behind)| behind)),
            None => line("//").map(Some),
        },
    }
}

/// Returns true of a token behind which a slash divides.
fn is_value_end(token: &Token) -> bool {
    match token {
        Token::Name(name) => name != "return",
        Token::Number(_) | Token::Text(_) | Token::Template | Token::Mark(")" | "]") => true,
        Token::Pattern(..) | Token::Mark(_) => false,
    }
}

/// A text between quotes and the byte behind it. A template with a value in it is none.
fn text_literal(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => text.push(match chars.next()?.1 {
                'n' => '\n',
                't' => '\t',
                char @ ('\\' | '\'' | '"' | '`' | '/') => char,
                _ => return None,
            }),
            '$' if quote == '`' && rest[at + 1..].starts_with('{') => return None,
            char if char == quote => return Some((text, at + char.len_utf8())),
            char => text.push(char),
        }
    }
    None
}

/// The byte behind a template, which holds no other one.
fn template_end(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => drop(chars.next()?),
            '`' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// A pattern between slashes and the byte behind it.
fn pattern_literal(rest: &str) -> Option<(String, usize)> {
    let mut is_class = false;
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => drop(chars.next()?),
            '[' => is_class = true,
            ']' => is_class = false,
            '/' if !is_class => return Some((rest[1..at].replace("\\/", "/"), at + 1)),
            '\n' => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens_of(code: &str) -> Option<Vec<Token>> {
        tokens(code, Language::JavaScript)
    }

    /// F83: code that is long or nested deeply is not an expression.
    #[test]
    fn long_code_has_no_tokens() {
        assert_eq!(tokens_of("a.b === 'c'").map(|tokens| tokens.len()), Some(5));
        assert_eq!(tokens_of(&"(".repeat(MAX_TOKENS)).map(|tokens| tokens.len()), Some(MAX_TOKENS));
        assert_eq!(tokens_of(&"(".repeat(MAX_TOKENS + 1)), None);
        assert_eq!(tokens_of(&"!".repeat(1_000_000)), None);
    }
}
