//! Help, completions and man pages.

use crate::place::Place;

/// The help of the program lists commands by group; that of `run` begins with the everyday flags and ends with examples.
#[test]
fn help_is_grouped() {
    let place = Place::new();
    let help = place.succeed(&["--help"]).stdout;
    let headings = ["Everyday:", "CI:", "Judges and people:", "Data:", "History:", "Housekeeping:", "Options:"];
    let at =
        headings.map(|heading| help.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("{heading}: {help}")));
    assert!(at.is_sorted(), "{help}");
    for long in ["-h", "--help"] {
        let run = place.succeed(&["run", long]).stdout;
        let headings =
            ["Everyday options:", "What to run:", "Limits and retries:", "Gates:", "Output:", "Global options:"];
        let at = headings.map(|heading| run.find(heading).unwrap_or_else(|| panic!("{heading}: {run}")));
        assert!(run.find("--models").unwrap() < at[1] && run.contains("[env: KARAT_MODELS]"), "{run}");
        assert!(run.find("Examples:").unwrap() > at[5], "{run}");
    }
    assert_eq!(place.karat(&[]).code, 1, "no command is a usage error");
}

/// contract: `completions SHELL`, and `completions --man` writes a page for each command.
#[test]
fn completions_and_man_pages_are_generated() {
    let place = Place::new();
    assert!(place.succeed(&["completions", "bash"]).stdout.contains("karat__subcmd__run"));
    place.succeed(&["completions", "--man"]);
    place.succeed(&["completions", "--man", "pages"]);
    for folder in ["man", "pages"] {
        assert!(place.text(&format!("{folder}/karat-run.1")).contains("budget"), "{folder}");
        assert!(place.path().join(folder).join("karat-golden-pin.1").exists());
    }
    assert_eq!(place.karat(&["completions"]).code, 1);
}

/// SV-31: `--version` is one line; with `--verbose`, in any order, it says what was built, in a line for each fact.
#[test]
fn a_version_has_details_on_request() {
    let place = Place::new();
    let short = format!("karat {}\n", env!("CARGO_PKG_VERSION"));
    for arguments in [["--version"], ["-V"]] {
        assert_eq!(place.succeed(&arguments).stdout, short);
    }
    let forms: [&[&str]; 4] = [&["--version", "--verbose"], &["--verbose", "--version"], &["-V", "-v"], &["-Vv"]];
    let details = place.succeed(forms[0]).stdout;
    for form in forms {
        assert_eq!(place.succeed(form).stdout, details, "{form:?}");
    }
    let facts = details.strip_prefix(&short).unwrap();
    let facts: Vec<(&str, &str)> = facts.lines().map(|line| line.split_once(':').unwrap()).collect();
    let names: Vec<&str> = facts.iter().map(|(name, _)| *name).collect();
    let expected = ["commit", "commit date", "target", "profile", "rustc", "store format", "providers"];
    assert_eq!(names, expected, "{details}");
    assert!(facts.iter().all(|(_, value)| !value.trim().is_empty()), "{details}");
    assert!(facts[5].1.trim().parse::<u32>().is_ok_and(|format| format > 0), "{details}");
    assert!(facts[6].1.contains("openai, ") && facts[6].1.contains("scripted"), "{details}");
    let alone = place.karat(&["--verbose"]);
    assert!(alone.code == 1 && alone.stderr.contains("requires a subcommand"), "{}", alone.all());
}
