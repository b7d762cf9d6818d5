//! Runs a page of the documentation in a folder of its own.
//!
//! A block with a title is written into that file. In a `console` block a line with `$` is a command and the lines below it
//! are its output: `…` alone stands for any number of lines, `…` at the end of a line for the rest of it, and runs of
//! spaces are alike. A command succeeds unless it says `# exit code N`. In a `sh` block every line is a command.

use super::blocks::{Block, Page};
use crate::place::Place;

/// Writes the files of a page and runs its commands, in order.
pub fn run(page: &Page, place: &Place) {
    for block in page.blocks().iter().filter(|block| !block.no_run) {
        run_block(page, block, place);
    }
}

/// Writes the files of a page, in order.
pub fn write_files(page: &Page, place: &Place) {
    for block in page.blocks().iter().filter(|block| block.title.is_some()) {
        run_block(page, block, place);
    }
}

fn run_block(page: &Page, block: &Block, place: &Place) {
    match (&block.title, block.language.as_str()) {
        (Some(title), _) if block.append => {
            let before = place.text(title);
            place.write(title, &(before + &block.text));
        }
        (Some(title), _) => {
            place.write(title, &block.text);
        }
        (None, "console") => {
            for (command, output) in commands(&block.text) {
                let printed = run_command(page, command, place);
                if let Err(line) = matches(&printed, &output) {
                    panic!("{}: `{command}` does not print {line:?}; it prints\n{printed}", page.path);
                }
            }
        }
        (None, "sh") => {
            for command in block.text.lines() {
                run_command(page, command, place);
            }
        }
        _ => {}
    }
}

/// The commands of a console block, each with the output that the page shows.
fn commands(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command, Vec::new())),
            (None, Some((_, output))) => output.push(line),
            (None, None) => panic!("output without a command: {line:?}"),
        }
    }
    commands
}

/// Runs a command and returns its standard output.
fn run_command(page: &Page, line: &str, place: &Place) -> String {
    let (command, comment) = line.split_once('#').unwrap_or((line, ""));
    let expected = comment.trim().strip_prefix("exit code ").map_or(0, |code| code.trim().parse().unwrap());
    let words = words(command);
    assert_eq!(words.first().map(String::as_str), Some("karat"), "{}: only karat is run: {line:?}", page.path);
    let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    let result = place.karat(&arguments);
    assert_eq!(result.code, expected, "{}: `{command}`\n{}", page.path, result.all());
    result.stdout
}

/// The words of a command line; quotes of either kind keep a word together.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote, mut begun) = (String::new(), None, false);
    for c in command.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => (quote, begun) = (Some(c), true),
            (None, c) if c.is_whitespace() => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (_, c) => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

/// Compares what a command printed with what the page shows; the error is the shown line that is not there.
fn matches(printed: &str, shown: &[&str]) -> Result<(), String> {
    let mut lines = printed.lines();
    let mut gap = false;
    for expected in shown {
        if expected.trim() == "…" {
            gap = true;
            continue;
        }
        let found = if gap {
            lines.by_ref().any(|line| is_same(line, expected))
        } else {
            lines.next().is_some_and(|line| is_same(line, expected))
        };
        if !found {
            return Err((*expected).to_owned());
        }
        gap = false;
    }
    match lines.next() {
        Some(rest) if !gap => Err(format!("the end before {rest:?}")),
        _ => Ok(()),
    }
}

fn is_same(line: &str, expected: &str) -> bool {
    let collapsed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    match expected.trim_end().strip_suffix('…') {
        Some(start) => collapsed(line).starts_with(&collapsed(start)),
        None => collapsed(line) == collapsed(expected),
    }
}

#[test]
fn shown_output_may_leave_lines_out() {
    let printed = "a  b\nc\nd 12\n";
    for (shown, same) in [
        (vec!["a b", "c", "d 12"], true),
        (vec!["a b", "…"], true),
        (vec!["…", "d …"], true),
        (vec!["a b", "d 12"], false),
        (vec!["a b"], false),
        (vec!["…", "x"], false),
    ] {
        assert_eq!(matches(printed, &shown).is_ok(), same, "{shown:?}");
    }
    assert_eq!(words(r#"karat run -p "a b" 'c'"#), ["karat", "run", "-p", "a b", "c"]);
}
