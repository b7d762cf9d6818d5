//! Help, completions and man pages.

use crate::place::Place;

/// The help of the program lists commands by group; that of `run` begins with the everyday flags and ends with examples.
#[test]
fn help_is_grouped() {
    let place = Place::new();
    let help = place.fine(&["--help"]).stdout;
    let headings = ["Everyday:", "CI:", "Judges and people:", "Data:", "History:", "Housekeeping:", "Options:"];
    let at =
        headings.map(|heading| help.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("{heading}: {help}")));
    assert!(at.is_sorted(), "{help}");
    for long in ["-h", "--help"] {
        let run = place.fine(&["run", long]).stdout;
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
    assert!(place.fine(&["completions", "bash"]).stdout.contains("karat__subcmd__run"));
    place.fine(&["completions", "--man"]);
    place.fine(&["completions", "--man", "pages"]);
    for folder in ["man", "pages"] {
        assert!(place.text(&format!("{folder}/karat-run.1")).contains("budget"), "{folder}");
        assert!(place.path().join(folder).join("karat-golden-pin.1").exists());
    }
    assert_eq!(place.karat(&["completions"]).code, 1);
}
