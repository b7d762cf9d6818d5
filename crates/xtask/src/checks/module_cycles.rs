//! `cargo xtask circles`: finds modules of one crate that depend on each other in a cycle.
//!
//! Dependencies between files are read from `use` items and from paths in expressions and types. A child may use its
//! ancestors' own items, which is what a module is for. Every other reference counts. An item that a module re-exports
//! (`pub use`) counts for the file that defines it. So does a call of an accessor: where the root has
//! `fn tasks(&self) -> Tasks`, `app.tasks()` is a reference to `Tasks`. Test code is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{
    Attribute, Expr, ExprMethodCall, ImplItem, Item, ItemMod, ItemUse, Member, ReturnType, Type, UseTree, Visibility,
};

/// A path from the crate root: of a module, or of an item in one.
type ItemPath = Vec<String>;

/// The edges of a crate's module graph: module → modules it uses.
type Graph = BTreeMap<ItemPath, BTreeSet<ItemPath>>;

/// The references of one file.
#[derive(Default)]
struct References {
    used: BTreeSet<ItemPath>,
    /// Re-exported items by the name under which others see them.
    reexports: BTreeMap<String, ItemPath>,
    /// Names of methods that are called on a value named `app`.
    calls: BTreeSet<String>,
    /// Methods that return a type of the crate, with its name.
    accessors: Vec<(String, String)>,
}

/// Collects the references of one module's file.
struct Collector<'a> {
    module: &'a [String],
    /// The names of the module's child modules: a bare path may begin with one.
    children: BTreeSet<String>,
    references: References,
}

impl Collector<'_> {
    /// The path from the crate root, or `None` for a path into another crate.
    fn resolve(&self, path: &[String]) -> Option<ItemPath> {
        let up = path.iter().take_while(|name| *name == "super").count();
        let (base, rest) = match path.first()?.as_str() {
            "crate" => (&[][..], &path[1..]),
            "self" => (self.module, &path[1..]),
            "super" => (&self.module[..self.module.len().checked_sub(up)?], &path[up..]),
            child if self.children.contains(child) && path.len() > 1 => (self.module, path),
            _ => return None,
        };
        Some(base.iter().chain(rest).cloned().collect())
    }

    fn record(&mut self, path: &[String]) {
        let resolved = self.resolve(path);
        self.references.used.extend(resolved);
    }
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(ItemMod { attrs, .. }) | Item::Use(ItemUse { attrs, .. }) => attrs,
            _ => return visit::visit_item(self, item),
        };
        if !attributes.iter().any(is_cfg_test) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut paths = Vec::new();
        flatten_use(&item.tree, &mut Vec::new(), &mut paths);
        for (path, name) in paths {
            match item.vis {
                Visibility::Inherited => self.record(&path),
                _ => {
                    let resolved = self.resolve(&path).unwrap_or_else(|| [self.module, &path].concat());
                    self.references.reexports.insert(name, resolved);
                }
            }
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let is_app = match &*call.receiver {
            Expr::Path(path) => path.path.is_ident("app"),
            Expr::Field(field) => matches!(&field.member, Member::Named(name) if name == "app"),
            _ => false,
        };
        if is_app {
            self.references.calls.insert(call.method.to_string());
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if let ImplItem::Fn(function) = item
            && let ReturnType::Type(_, returned) = &function.sig.output
            && let Type::Path(returned) = &**returned
            && let Some(last) = returned.path.segments.last()
        {
            self.references.accessors.push((function.sig.ident.to_string(), last.ident.to_string()));
        }
        visit::visit_impl_item(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.record(&words);
        visit::visit_path(self, path);
    }
}

/// Returns true for `#[cfg(test)]`.
pub fn is_cfg_test(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Path>().is_ok_and(|what| what.is_ident("test"))
}

/// Collects the paths of a `use` tree, each with the name that it introduces.
fn flatten_use(tree: &UseTree, prefix: &mut Vec<String>, paths: &mut Vec<(Vec<String>, String)>) {
    let mut push = |name: String, alias: String| paths.push(([&prefix[..], &[name]].concat(), alias));
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten_use(&path.tree, prefix, paths);
            prefix.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten_use(tree, prefix, paths)),
        UseTree::Name(name) if name.ident == "self" => {
            paths.push((prefix.clone(), prefix.last().cloned().unwrap_or_default()));
        }
        UseTree::Name(name) => push(name.ident.to_string(), name.ident.to_string()),
        UseTree::Rename(name) => push(name.ident.to_string(), name.rename.to_string()),
        UseTree::Glob(_) => paths.push((prefix.clone(), String::new())),
    }
}

/// Collects a crate's source files by module path, without test modules.
fn source_files(folder: &Path, module: &[String], files: &mut BTreeMap<ItemPath, PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("reading {}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| format!("reading {}: {error}", folder.display()))?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let inner = [module, std::slice::from_ref(&name)].concat();
        match (path.is_dir(), name.as_str()) {
            (_, "tests" | "testing" | "bin") => {}
            (true, _) => source_files(&path, &inner, files)?,
            (false, _) if path.extension().is_none_or(|extension| extension != "rs") => {}
            (false, "lib" | "main" | "mod") => drop(files.insert(module.to_vec(), path)),
            (false, _) => drop(files.insert(inner, path)),
        }
    }
    Ok(())
}

/// The module whose file defines the item at `path`.
fn defining_module(path: &[String], files: &BTreeMap<ItemPath, References>) -> Option<ItemPath> {
    let module = (0..=path.len()).rev().map(|end| &path[..end]).find(|module| files.contains_key(*module))?;
    match path.get(module.len()).and_then(|name| files[module].reexports.get(name)) {
        Some(target) if target != path => defining_module(target, files),
        _ => Some(module.to_vec()),
    }
}

/// The methods of the root that return a type which the root re-exports, with the path of the type.
fn accessors(files: &BTreeMap<ItemPath, References>) -> BTreeMap<String, ItemPath> {
    let Some(root) = files.get(&ItemPath::new()) else { return BTreeMap::new() };
    let path = |(method, returned): &(String, String)| Some((method.clone(), root.reexports.get(returned)?.clone()));
    root.accessors.iter().filter_map(path).collect()
}

/// The module graph of the crate whose sources lie in `source`.
fn module_graph(source: &Path) -> Result<Graph, String> {
    let mut paths = BTreeMap::new();
    source_files(source, &[], &mut paths)?;
    let mut files = BTreeMap::new();
    for (module, path) in &paths {
        let text = fs::read_to_string(path).map_err(|error| format!("reading {}: {error}", path.display()))?;
        let syntax = syn::parse_file(&text).map_err(|error| format!("parsing {}: {error}", path.display()))?;
        let children = paths.keys().filter(|other| other.len() == module.len() + 1 && other.starts_with(module));
        let children = children.filter_map(|child| child.last().cloned()).collect();
        let mut collector = Collector { module, children, references: References::default() };
        collector.visit_file(&syntax);
        files.insert(module.clone(), collector.references);
    }
    let accessors = accessors(&files);
    let edges = |(module, references): (&ItemPath, &References)| {
        let called = references.calls.iter().filter_map(|name| accessors.get(name));
        let homes = references.used.iter().chain(called).filter_map(|path| defining_module(path, &files));
        (module.clone(), homes.filter(|home| !module.starts_with(home)).collect())
    };
    Ok(files.iter().map(edges).collect())
}

/// A cycle reachable from `at`: the modules along it, the first repeated at the end.
fn cycle_from(
    at: &ItemPath,
    graph: &Graph,
    path: &mut Vec<ItemPath>,
    seen: &mut BTreeSet<ItemPath>,
) -> Option<Vec<ItemPath>> {
    if let Some(start) = path.iter().position(|module| module == at) {
        return Some(path[start..].iter().chain([at]).cloned().collect());
    }
    if !seen.insert(at.clone()) {
        return None;
    }
    path.push(at.clone());
    let cycle = graph[at].iter().find_map(|next| cycle_from(next, graph, path, seen));
    path.pop();
    cycle
}

/// The number of modules, and the problems of the crates below `root/crates`.
#[derive(Default)]
struct Found {
    modules: usize,
    /// The cycles, one line each.
    cycles: Vec<String>,
    /// By crate, the pairs of folders that use each other.
    mutual: BTreeMap<String, Vec<String>>,
}

fn find_cycles(root: &Path) -> Result<Found, String> {
    let mut found = Found::default();
    let crates = root.join("crates");
    let entries = fs::read_dir(&crates).map_err(|error| format!("reading {}: {error}", crates.display()))?;
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    for folder in folders {
        let graph = module_graph(&folder.join("src"))?;
        let name = folder.file_name().unwrap_or_default().display().to_string();
        found.modules += graph.len();
        let pairs = mutual_folders(&graph).into_iter().map(|(a, b)| format!("{} ↔ {}", a.join("::"), b.join("::")));
        let pairs: Vec<String> = pairs.collect();
        if !pairs.is_empty() {
            found.mutual.insert(name.clone(), pairs);
        }
        let mut seen = BTreeSet::new();
        for module in graph.keys() {
            if let Some(cycle) = cycle_from(module, &graph, &mut Vec::new(), &mut seen) {
                let cycle: Vec<String> = cycle.iter().map(|module| module.join("::")).collect();
                found.cycles.push(format!("{name}: {}", cycle.join(" → ")));
            }
        }
    }
    Ok(found)
}

/// Pairs of folders side by side that use each other, as `crate: a ↔ b`. A file beside a folder counts as one, too.
fn mutual_folders(graph: &Graph) -> BTreeSet<(ItemPath, ItemPath)> {
    let mut edges: BTreeSet<(ItemPath, ItemPath)> = BTreeSet::new();
    for (module, used) in graph {
        for other in used {
            let common = module.iter().zip(other).take_while(|(a, b)| a == b).count();
            if module.len() > common && other.len() > common {
                edges.insert((module[..=common].to_vec(), other[..=common].to_vec()));
            }
        }
    }
    let is_mutual = |(a, b): &&(ItemPath, ItemPath)| a < b && edges.contains(&(b.clone(), a.clone()));
    edges.iter().filter(is_mutual).cloned().collect()
}

/// The crates whose pairs of folders that use each other are still to be undone, with their number. It only shrinks.
#[cfg(test)]
const MUTUAL_FOLDERS: &[(&str, usize)] =
    &[("karat-providers", 2), ("karat-scoring", 2), ("karat-store", 6), ("karat-suite", 6)];

/// Prints the cycles; `Ok(false)` when there is one.
pub fn run(root: &Path, out: &mut dyn std::io::Write) -> Result<bool, String> {
    let Found { modules, cycles, mutual } = find_cycles(root)?;
    let pairs = mutual.iter().flat_map(|(name, pairs)| pairs.iter().map(move |pair| format!("{name}: {pair}")));
    for line in cycles.iter().cloned().chain(pairs) {
        writeln!(out, "{line}").map_err(|error| error.to_string())?;
    }
    let pairs: usize = mutual.values().map(Vec::len).sum();
    writeln!(out, "{modules} modules, {} cycles, {pairs} pairs of folders that use each other", cycles.len())
        .map_err(|error| error.to_string())?;
    Ok(cycles.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_modules_depend_on_each_other_in_a_cycle() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let found = find_cycles(&root).unwrap();
        assert!(found.cycles.is_empty(), "move what both ends need into its own module:\n{}", found.cycles.join("\n"));
        for (name, pairs) in &found.mutual {
            let allowed = MUTUAL_FOLDERS.iter().find(|(of, _)| of == name).map_or(0, |(_, number)| *number);
            assert!(
                pairs.len() <= allowed,
                "{name}: folders use each other, {allowed} are allowed:\n{}",
                pairs.join("\n")
            );
        }
    }

    /// LI-10: folders of the use cases use those above them in ARCHITECTURE.md only, also by way of a third.
    #[test]
    fn folders_of_use_cases_form_no_cycle() {
        let graph = module_graph(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../karat-app/src")).unwrap();
        let folder = |module: &ItemPath| -> ItemPath { module.iter().take(1).cloned().collect() };
        let mut folders = Graph::new();
        for (module, used) in &graph {
            let own = folder(module);
            let others: Vec<ItemPath> = used.iter().map(folder).filter(|other| *other != own).collect();
            folders.entry(own).or_default().extend(others);
        }
        assert!(folders.len() > 10, "{folders:?}");
        let mut seen = BTreeSet::new();
        for folder in folders.keys() {
            assert_eq!(cycle_from(folder, &folders, &mut Vec::new(), &mut seen), None);
        }
    }

    /// A bare path through a child module (`leaf::run()`) is a reference like any other.
    #[test]
    fn bare_child_paths_count() {
        let scratch = tempfile::tempdir().unwrap();
        let source = scratch.path().join("crates/sample/src");
        fs::create_dir_all(source.join("analyses")).unwrap();
        fs::write(source.join("lib.rs"), "mod analyses;\nmod findings;\n").unwrap();
        fs::write(source.join("findings.rs"), "use crate::analyses;\nfn all() { analyses::run() }\n").unwrap();
        fs::write(source.join("analyses/mod.rs"), "mod leaf;\npub fn run() { leaf::run() }\n").unwrap();
        fs::write(source.join("analyses/leaf.rs"), "pub fn run() { crate::findings::all() }\n").unwrap();
        let found = find_cycles(scratch.path()).unwrap();
        assert_eq!(found.modules, 4);
        assert_eq!(found.mutual["sample"], ["analyses ↔ findings"]);
        assert_eq!(found.cycles, ["sample: analyses → analyses::leaf → findings → analyses"]);
    }

    /// LI-11: a call through an accessor of the root is a reference to the folder behind it.
    #[test]
    fn calls_of_accessors_count() {
        let scratch = tempfile::tempdir().unwrap();
        let source = scratch.path().join("crates/sample/src");
        fs::create_dir_all(source.join("runs")).unwrap();
        fs::create_dir_all(source.join("tasks")).unwrap();
        let accessors = "impl App { fn runs(&self) -> Runs<'_> { todo() } fn tasks(&self) -> Tasks<'_> { todo() } }";
        let root = "mod runs;\nmod tasks;\npub use crate::runs::Runs;\npub use crate::tasks::Tasks;\n";
        fs::write(source.join("lib.rs"), format!("{root}{accessors}\n")).unwrap();
        fs::write(source.join("runs/mod.rs"), "mod leaf;\npub struct Runs;\n").unwrap();
        fs::write(source.join("runs/leaf.rs"), "fn all(app: &App) { app.tasks().list() }\n").unwrap();
        fs::write(source.join("tasks/mod.rs"), "mod leaf;\npub struct Tasks;\n").unwrap();
        let leaf =
            |call: &str| fs::write(source.join("tasks/leaf.rs"), format!("fn all(it: &It) {{ {call} }}\n")).unwrap();
        leaf("it.runs().list()");
        assert_eq!(find_cycles(scratch.path()).unwrap().mutual.get("sample"), None, "another value has such a method");
        leaf("it.app.runs().list()");
        assert_eq!(find_cycles(scratch.path()).unwrap().mutual["sample"], ["runs ↔ tasks"]);
    }
}
