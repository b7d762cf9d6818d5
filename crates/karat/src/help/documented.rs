//! Every command of the documentation is a command: it parses, also where no test runs it.

#![cfg(test)]

use std::path::{Path, PathBuf};

/// A command line of a page.
struct Documented {
    place: String,
    line: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md"), root().join("CONTRIBUTING.md"), root().join("python/README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// The command lines in the `sh` and `console` blocks of a page; a `\` at the end of a line continues it.
fn command_lines(path: &Path) -> Vec<Documented> {
    let text = std::fs::read_to_string(path).unwrap();
    let (mut language, mut begun) = (None, String::new());
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if let Some(info) = line.trim_start().strip_prefix("```") {
            language = language.is_none().then(|| info.split_whitespace().next().unwrap_or_default().to_owned());
            continue;
        }
        let line = match language.as_deref() {
            Some("sh") => line,
            Some("console") if !begun.is_empty() => line,
            Some("console") => line.strip_prefix("$ ").unwrap_or_default(),
            _ => continue,
        };
        begun.push_str(line.trim_end().trim_end_matches('\\'));
        if !line.ends_with('\\') {
            found
                .push(Documented { place: format!("{}:{}", path.display(), at + 1), line: std::mem::take(&mut begun) });
        }
    }
    found
}

/// The words of every `karat` in a command line, as a shell would pass them.
fn karat_commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let (mut word, mut quote, mut is_word) = (String::new(), None, false);
    for c in line.chars().chain(" ".chars()) {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => (quote, is_word) = (Some(c), true),
            // A comment.
            (None, '#') if !is_word => break,
            (None, c) if c.is_whitespace() || "|;&<>()".contains(c) => {
                if is_word {
                    commands.last_mut().unwrap().push(std::mem::take(&mut word));
                }
                is_word = false;
                if !c.is_whitespace() {
                    commands.push(Vec::new());
                }
            }
            (_, c) => {
                word.push(c);
                is_word = true;
            }
        }
    }
    // Variables may stand in front of a command.
    let is_variable = |word: &String| {
        word.split_once('=').is_some_and(|(name, _)| name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'))
    };
    let commands = commands.into_iter().map(|words| words.into_iter().skip_while(is_variable).collect::<Vec<_>>());
    commands.filter(|words| words.first().is_some_and(|word| word == "karat")).collect()
}

/// every `karat` command in the documentation is one that this program takes.
#[test]
fn every_documented_command_parses() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for Documented { place, line } in pages().iter().flat_map(|page| command_lines(page)) {
        for words in karat_commands(&line) {
            count += 1;
            match crate::help::command().try_get_matches_from(&words) {
                Err(error)
                    if !matches!(
                        error.kind(),
                        clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion
                    ) =>
                {
                    wrong.push(format!("{place}: {line}\n{error}"));
                }
                _ => {}
            }
        }
    }
    assert!(count > 250, "{count} commands");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn commands_are_found_as_a_shell_finds_them() {
    let of = |line: &str| karat_commands(line).iter().map(|words| words.join("|")).collect::<Vec<_>>();
    assert_eq!(of("A_B=1 karat run 'x y' -p a=\"b c\" # note"), ["karat|run|x y|-p|a=b c"]);
    assert_eq!(of("cat x | karat score - && karat ls > out"), ["karat|score|-", "karat|ls"]);
    assert!(of("cargo install karat").is_empty() && of("# karat run").is_empty());
}
