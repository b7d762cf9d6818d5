//! `karat init`.

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use karat_app::{AppError, StarterRequest, SuiteError, count_noun, preset_names, starter_providers, starter_tasks};
use karat_types::Exit;

use crate::args::InitArgs;
use crate::commands::CommandContext;
use crate::failure::Failure;

pub fn init(context: &CommandContext<'_>, args: &InitArgs) -> Result<Exit, Failure> {
    let has_flags = args.task.is_some() || args.provider.is_some();
    let (folder, written) = match &args.preset {
        Some(preset) if !has_flags => {
            let folder = PathBuf::from(args.dir.as_deref().unwrap_or(preset));
            let written = match &args.corpus {
                Some(corpus) => context.app.project().init_with_corpus(preset, corpus, &folder, args.force)?,
                None => context.app.project().init(preset, &folder, args.force)?,
            };
            (folder, written)
        }
        place => {
            let name = place.as_deref().unwrap_or_default();
            if args.dir.is_some() || preset_names().contains(&name) {
                return Err(AppError::from(SuiteError::PresetWithTask { preset: name.to_owned() }).into());
            }
            let starter = choose_starter(context, args)?;
            let folder = PathBuf::from(name);
            let written = context.app.project().init_starter(&starter, &folder, args.force)?;
            (folder, written)
        }
    };
    let lines: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
    context.printer.text(&lines.join("\n"))?;
    if !context.quiet {
        let files = count_noun(lines.len() as u64, "file");
        let suite = suite_argument(&folder);
        context.printer.say(&match &args.corpus {
            Some(_) => format!(
                "wrote {files}; put the transcripts into `data/transcripts`, or name a program for `karat dataset fetch`; then \
                 `karat validate{suite}`"
            ),
            None => format!("wrote {files}; run the suite with `karat run{suite}`"),
        });
    }
    Ok(Exit::Pass)
}

/// The argument that names the suite of a folder. The bare name of a preset would run the preset.
fn suite_argument(folder: &Path) -> String {
    let folder = folder.display().to_string();
    match folder.as_str() {
        "" | "." => String::new(),
        name if preset_names().contains(&name) => format!(" ./{name}"),
        name => format!(" {name}"),
    }
}

/// The suite that the flags ask for. What they leave open is asked on a terminal; elsewhere the usual answer counts.
fn choose_starter(context: &CommandContext<'_>, args: &InitArgs) -> Result<StarterRequest, Failure> {
    let lookup = context.app.lookup.clone();
    let usual = StarterRequest::usual(&|name| lookup(name));
    let is_asked = std::io::stdin().is_terminal() && context.printer.interactive;
    let mut input = std::io::stdin().lock();
    let say = |line: &str| context.printer.say(line);
    let mut answer = |given: &Option<String>, question: &str, options: &[(&str, &str)], usual: &str| match given {
        Some(given) => Ok(given.clone()),
        None if is_asked => ask(&mut input, &say, question, options, usual),
        None => Ok(usual.to_owned()),
    };
    let task = answer(&args.task, "Which task?", starter_tasks(), &usual.task)?;
    let provider = answer(&args.provider, "Which provider?", &starter_providers(), &usual.provider)?;
    let is_open = args.task.is_none() || args.provider.is_none();
    if is_open && !is_asked && !context.quiet {
        say(&format!("task {task}, provider {provider}; `--task` and `--provider` choose others"));
    }
    Ok(StarterRequest { task, provider })
}

/// Asks until the answer is one of the options, by name or number. An empty answer is the usual one, and so is the end of
/// the input.
fn ask(
    input: &mut impl BufRead,
    say: &dyn Fn(&str),
    question: &str,
    options: &[(&str, &str)],
    usual: &str,
) -> Result<String, Failure> {
    say(question);
    let width = options.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    for (at, (name, about)) in options.iter().enumerate() {
        say(&format!("  {:>2}  {name:<width$}  {about}", at + 1));
    }
    loop {
        say(&format!("Name or number [{usual}]:"));
        let mut line = String::new();
        let read = input.read_line(&mut line);
        read.map_err(|error| Failure::Message(format!("reading the answer: {error}; use --task and --provider")))?;
        let answer = line.trim();
        let numbered = answer.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
        let named = options.iter().find(|(name, _)| *name == answer);
        match numbered.or(named) {
            Some((name, _)) => return Ok((*name).to_owned()),
            None if answer.is_empty() => return Ok(usual.to_owned()),
            None => say(&format!("there is no `{answer}`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io::Cursor;

    use super::*;

    /// Returns the answer to a question with the options one and two, and everything that was said.
    fn answer_to(typed: &str) -> (String, String) {
        let lines = RefCell::new(Vec::new());
        let say = |line: &str| lines.borrow_mut().push(line.to_owned());
        let options = [("one", "the first"), ("two", "the second")];
        let answer = ask(&mut Cursor::new(typed), &say, "Which?", &options, "one");
        (answer.unwrap_or_else(|_| panic!("no answer")), lines.into_inner().join("\n"))
    }

    /// A name, a number, nothing and the end of the input are answers; anything else is asked again.
    #[test]
    fn questions_are_repeated_until_an_option_is_named() {
        for (typed, expected) in [("two\n", "two"), ("2\n", "two"), ("\n", "one"), ("", "one"), ("x\n0\n2", "two")] {
            assert_eq!(answer_to(typed).0, expected, "{typed:?}");
        }
        let (_, said) = answer_to("three\n\n");
        assert!(
            said.starts_with("Which?\n   1  one  the first\n   2  two  the second\nName or number [one]:"),
            "{said}"
        );
        assert!(said.contains("there is no `three`"), "{said}");
    }
}
