//! Labels, and the raters behind them, that cannot be used.

use super::{Lines, Names, errors};

errors! {
    /// Labels or raters that cannot be used.
    enum LabelError {
        NoRuns {} => "there is no finished run to compare" hint "`karat run` makes one";
        NothingShared { shared: String, raters: Names } => "nothing to compare: no output was graded by two raters{shared}"
            hint "raters of this run: {raters}; run with several `--judges`, name several runs over the same outputs \
                  (judged again: `--no-cache`), or give `--labels FILE`";
        NoLabel { place: String, source: serde_json::Error } => "{place}: this is not a label: {source}"
            hint "a label is a line such as {{\"sample\": \"s1\", \"annotator\": \"ann\", \"scores\": {{\"accuracy\": 7}}}}";
        Misfit { place: String, problem: String } => "{place}: {problem}" hint "correct the label, or leave it out";
        Empty { path: String } => "reading the labels {path}: it holds no label"
            hint "a label is a line such as {{\"sample\": \"s1\", \"annotator\": \"ann\", \"scores\": {{\"accuracy\": 7}}}}";
        NoOutputs { run: String } => "run {run} has no output that could be labelled"
            hint "outputs are kept unless the suite says `privacy: {{ keep_content: false }}`";
        WrongTasks { problems: Lines<String> } => "{problems}" hint "fix these lines and import again; nothing was changed";
        NoRubric { scorers: Names } => "labels need a scorer with a rubric and judges, and this suite has none"
            hint "scorers with judges: {scorers}";
        NotJson { place: String, source: serde_json::Error } => "{place}: this is not JSON: {source}";

        TrialsOfRound {} => "`--trials` has no effect on a calibration round: it grades labelled outputs and makes none"
            hint "leave it out; `votes` of the scorer lets a judge grade each output several times";
        NoLabelledRows { scorer: String } => "the labels of `{scorer}` hold no row with `sample`, `output` and `scores`"
            hint "a label is a line such as {{\"sample\": \"s1\", \"output\": {{…}}, \"scores\": {{\"accuracy\": 7}}}}";
        NoRounds { suite: String, path: String } => "no round of calibration of `{suite}` is stored"
            hint "`karat calibrate {path}` makes one";
        NotJudged { scorer: String, scorers: Names } => "calibrating `{scorer}`: this suite has no such scorer with judges"
            hint "scorers with judges: {scorers}";
        NothingToCalibrate {} => "nothing to calibrate: no scorer of this suite has judges and `labels`"
            hint "add `labels: FILE` to a scorer with a `rubric`: lines of {{sample, output, scores}}";
        NoReason {} => "`--threshold` changes what counts as calibrated and needs a reason"
            hint "give it with `--reason`; it is recorded with the round";
    }
}
