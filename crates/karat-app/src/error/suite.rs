//! Suites and presets that cannot be used.

use super::{Lines, Names, errors};

errors! {
    /// A suite or preset that cannot be used.
    enum SuiteError {
        NotFoundNear { suite: String, preset: String } => "there is no suite file and no preset `{suite}`"
            hint "did you mean the preset `{preset}`?";
        NotFoundFile { suite: String, file: String } => "there is no suite file and no preset `{suite}`"
            hint "did you mean the suite file `{file}`?";
        IsVariant { name: String } => "there is no suite file and no preset `{name}`"
            hint "`{name}` is a variant of karat.yaml: choose it with `--variants {name}`";
        IsModel { name: String } => "there is no suite file and no preset `{name}`"
            hint "`{name}` is a model: lists have commas, as in `--models ID,{name}`";
        NotFoundHereBut { files: String } => "there is no `karat.yaml` in this folder, but {files}"
            hint "name the suite file after the command, or call it `karat.yaml`";
        NotFound { suite: String, presets: Names } => "there is no suite file and no preset `{suite}`"
            hint "name a suite file, or one of the presets: {presets}; `karat init` writes a suite of your own";
        NotFoundHere { presets: Names } => "there is no `karat.yaml` in this folder"
            hint "`karat init faq .` writes one here, `karat run faq` runs a preset without writing anything; presets: {presets}";
        NoSuiteInFolder { folder: String, also: String } => "the folder `{folder}` has no `karat.yaml`{also}"
            hint "name the suite file itself, or write a suite there with `karat init faq {folder}`";
        OutsideRoot { path: String } => "`{path}` lies outside of the server's root, or links to a place outside of it"
            hint "put it below the folder that `karat serve --root` names";
        OtherRows { path: String } => "design: {path} describes other rows (hash differs)"
            hint "write `design: none` for plain means, or draw the rows again with `karat dataset sample`";
        Design { path: String, problem: String } => "reading {path}: {problem}"
            hint "draw the rows again with `karat dataset sample`, or write `design: none` for plain means";
        NotWeighted { what: String, place: String } =>
            "{what} of a weighted sample is not offered: draw proportionally{place}"
            hint "draw with `--alloc proportional` (in a suite: `draw.by` in place of `draw.per`), or write `design: none` for plain figures of these rows";
        Problems { problems: Lines<Box<dyn std::error::Error + Send + Sync>> } => "{problems}";
        NoPresetNear { preset: String, near: String } => "there is no preset `{preset}`" hint "did you mean `{near}`?";
        NoPreset { preset: String, presets: Names } => "there is no preset `{preset}`"
            hint "the presets are {presets}; for a new suite in a folder of this name: `karat init {preset} --task answer`";
        NoRubricNear { rubric: String, near: String } => "there is no ready rubric `{rubric}`" hint "did you mean `{near}`?";
        NoRubric { rubric: String } => "there is no ready rubric `{rubric}`" hint "`karat rubrics` lists them";
        BrokenRubric { rubric: String, problem: String } =>
            "reading the ready rubric `{rubric}`: {problem}. This is a bug in karat";
        KnownModel { id: String, file: String } => "adding {file}: the model `{id}` is known already"
            hint "`karat models update {file}` changes known models, and prints what changes";
        NoTask { task: String, tasks: Names } => "there is no task `{task}`" hint "the tasks are {tasks}";
        NoStarterProvider { provider: String, providers: Names } => "`init` knows no provider `{provider}`"
            hint "choose one of {providers}; a server at another address is an entry with `base_url`";
        PresetWithTask { preset: String } => "`{preset}` is a preset, and `--task` and `--provider` write a suite of your own"
            hint "leave the flags out, or write `./{preset}` for a folder of this name";
        WouldReplace { what: String, files: String } => "writing {what}: {files} would be replaced"
            hint "name another folder, or allow it with `--force`";
        WorkflowExists { path: String } => "writing the workflow {path}: the file exists"
            hint "`--force` replaces it, `-o FILE` names another, and `-o -` prints it";
        UnusablePath { path: String } => "a workflow cannot name the path `{path}`"
            hint "use letters, digits, `.`, `-`, `_`, `/` and spaces in the names of folders and suites";
        NoDemo { preset: String, presets: Names } => "`{preset}` has no demo service" hint "there is one for {presets}";
        Serve { preset: String, port: u16, source: std::io::Error } =>
            "serving the demo of `{preset}` on port {port}: {source}"
            hint "name another port with --port";
    }
}
