//! Parts of a Markdown answer: its front matter, its sections, the items of its lists.

/// Marks that begin an item of a list; people paste the dashes and dots that their chat window shows.
const BULLETS: [char; 11] = ['-', '*', '+', '•', '–', '—', '‣', '◦', '▪', '●', '·'];

/// Marks that begin nothing else, so that no space need follow them.
const SURE_BULLETS: [char; 20] =
    ['・', '･', '∙', '⁃', '○', '■', '□', '◆', '◇', '★', '☆', '➤', '➢', '►', '▶', '➜', '✓', '✔', '☐', '☑'];

/// The front matter between two lines `---` that a text begins with, and what follows it; `None` where there is none.
pub fn front_matter(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches('\u{feff}');
    let is_rule = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| is_rule(line))?;
    let mut at = first.len();
    for line in lines {
        if is_rule(line) {
            return Some((&text[first.len()..at], &text[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

/// Returns the text under a heading, up to the next one of its level or above; case and what emphasises it do not matter.
/// Headings are `# Title`, `Title` over `===` or `---`, and `**Title**` on a line of its own; the last is below all others.
pub fn section<'a>(text: &'a str, title: &str) -> Option<&'a str> {
    let (mut found, mut at) = (None, 0);
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let underline = lines.peek().and_then(|next| underline_level(line, next));
        let length = line.len() + underline.map_or(0, |_| lines.next().map_or(0, str::len));
        let heading = underline.map(|level| (level, line)).or_else(|| heading(line));
        match (found, heading) {
            (Some((from, level)), Some((this, _))) if this <= level => return text.get(from..at),
            (None, Some((level, name))) if plain(name).eq_ignore_ascii_case(plain(title)) => {
                found = Some((at + length, level));
            }
            _ => {}
        }
        at += length;
    }
    found.and_then(|(from, _)| text.get(from..))
}

/// The items of its lists; text outside of lists is left out. A line that is indented below an item and is none itself
/// continues it.
pub fn items(text: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for line in text.trim_start_matches('\u{feff}').lines() {
        let trimmed = line.trim_start();
        if let Some(item) = item(trimmed) {
            items.push(item.trim().to_owned());
        } else if trimmed.len() < line.len()
            && !trimmed.is_empty()
            && let Some(last) = items.last_mut()
        {
            last.push(' ');
            last.push_str(trimmed.trim_end());
        }
    }
    items.retain(|item| !item.is_empty());
    items
}

/// The level of a heading line, and its words.
fn heading(line: &str) -> Option<(usize, &str)> {
    let line = line.trim_start_matches('\u{feff}').trim();
    let marks = line.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&marks) && line.as_bytes().get(marks).is_some_and(u8::is_ascii_whitespace) {
        return Some((marks, line[marks..].trim_end_matches('#')));
    }
    let bold = line.strip_suffix(':').unwrap_or(line).strip_prefix("**")?.strip_suffix("**")?;
    (!bold.is_empty() && !bold.contains("**")).then_some((7, bold))
}

/// The level that a line under another one makes of it.
fn underline_level(line: &str, next: &str) -> Option<usize> {
    let next = next.trim_end();
    let is_of = |mark: char| next.len() >= 3 && next.chars().all(|c| c == mark);
    let is_words = !line.trim().is_empty() && item(line.trim_start()).is_none() && heading(line).is_none();
    match (is_words, is_of('='), is_of('-')) {
        (true, true, _) => Some(1),
        (true, _, true) => Some(2),
        _ => None,
    }
}

/// A title without what emphasises or ends it.
fn plain(title: &str) -> &str {
    title.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | ':' | '\u{feff}'))
}

/// Returns the text of an item, of a line that begins one; the box of a task is none of it.
fn item(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix(SURE_BULLETS) {
        return Some(rest.trim_start_matches('\u{fe0f}'));
    }
    if let Some(rest) = line.strip_prefix(BULLETS).filter(|rest| is_gap(rest)) {
        let task = ["[ ] ", "[x] ", "[X] "].iter().find_map(|task| rest.trim_start().strip_prefix(task));
        return Some(task.unwrap_or(rest));
    }
    list_number(line).or_else(|| line.strip_prefix(|c| ('①'..='⑳').contains(&c)))
}

/// The rest of a line after the number that it begins with: `3.`, `3)`, `(3)`, `３．`, `3、`.
fn list_number(line: &str) -> Option<&str> {
    let (line, most) = line.strip_prefix('(').map_or((line, 9), |inside| (inside, 2));
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit() || ('０'..='９').contains(&c));
    let digits = line[..line.len() - rest.len()].chars().count();
    if !(1..=most).contains(&digits) {
        return None;
    }
    match rest.strip_prefix(['、', '．']) {
        Some(after) => (!after.starts_with(char::is_numeric)).then_some(after),
        None => rest.strip_prefix(['.', ')', '）']).filter(|rest| is_gap(rest)),
    }
}

fn is_gap(rest: &str) -> bool {
    rest.starts_with([' ', '\t', '\u{a0}', '\u{3000}'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_found_whatever_marks_them() {
        let text = "\u{feff}Claims:\n- one\n  goes on\n* two\n3. three\n4) four\n– five\n—\tsix\n•\u{a0}seven\n\nAds\n-no\n2.5 m\n";
        assert_eq!(items(text), ["one goes on", "two", "three", "four", "five", "six", "seven"]);
    }

    /// F15: the marks of other scripts and of check lists begin items, too.
    #[test]
    fn marks_of_other_scripts_begin_items() {
        let text =
            "・一\n･二\n1、三\n２．四\n(5) five\n①六\n- [ ] seven\n* [x] eight\n✓ nine\n■十\n(2024) no\n３．５倍\n";
        assert_eq!(items(text), ["一", "二", "三", "四", "five", "六", "seven", "eight", "nine", "十"]);
    }

    /// CL-09: of an answer with several sections only the one that is asked for is read.
    #[test]
    fn a_section_is_read_alone() {
        let text = "---\ndate: x\n---\n# Claims\n- one\n## more\n- two\n# What I excluded and why\n- an ad\n";
        assert_eq!(section(text, "claims"), Some("- one\n## more\n- two\n"));
        assert_eq!(section(text, "what i excluded and why"), Some("- an ad\n"));
        assert_eq!(section(text, "Summary"), None);
        for text in [
            "\u{feff}# **Claims:**\r\n- one\r\n# Rest\r\n- no",
            "**Claims**\n- one\n\n**Excluded**\n- no",
            "Claims\n======\n- one\n\nExcluded\n========\n- no",
            " ## Claims ##\n- one\n# Excluded\n- no",
        ] {
            assert_eq!(items(section(text, "Claims").unwrap_or_default()), ["one"], "{text}");
        }
    }

    #[test]
    fn front_matter_begins_a_text() {
        assert_eq!(front_matter("---\na: b\n---\nc"), Some(("a: b\n", "c")));
        assert_eq!(front_matter("\u{feff}---\r\na: b\r\n---\r\nc"), Some(("a: b\r\n", "c")));
        for none in ["", "a\n---\n", "---\na: b\n", "--- a\n---\n"] {
            assert_eq!(front_matter(none), None, "{none}");
        }
    }
}
