//! Makes a table of the formulas: every public function of `bouquet-theory` whose arguments are numbers or lists of numbers.
//!
//! The sources are read, not linked: names, signatures and documentation come from them, and the table calls each function with
//! its own types. What takes or gives anything else (closures, iterators, types with private fields) is left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use syn::{Expr, Fields, FnArg, Item, Lit, Meta, Pat, ReturnType, Type, Visibility};

fn main() {
    let sources =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../bouquet-theory/src");
    println!("cargo::rerun-if-changed={}", sources.display());
    let root = parse(&sources.join("lib.rs"));
    let mut modules = vec![(String::new(), root.items.clone())];
    for item in &root.items {
        if let Item::Mod(module) = item
            && matches!(module.vis, Visibility::Public(_))
        {
            let name = module.ident.to_string();
            modules.push((name.clone(), parse(&sources.join(format!("{name}.rs"))).items));
        }
    }
    let records: Vec<_> = modules.iter().flat_map(|(name, items)| records(name, items)).collect();
    let mut out = String::from("static FUNCTIONS: &[Function] = &[\n");
    for (module, items) in &modules {
        for item in items {
            if let Item::Fn(function) = item
                && let Some(row) = row(module, function, &records)
            {
                out += &row;
            }
        }
    }
    out += "];\n";
    for record in &records {
        let fields: String =
            record.fields.iter().map(|field| format!("({field:?}, Value::from(it.{field})), ")).collect();
        let _ = writeln!(
            out,
            "impl From<{0}> for Value {{ fn from(it: {0}) -> Self {{ Value::Record({1:?}, vec![{fields}]) }} }}",
            record.path, record.name
        );
    }
    let docs: BTreeMap<_, _> = modules
        .iter()
        .skip(1)
        .map(|(name, _)| (name, first_paragraph(&documentation(&parse(&sources.join(format!("{name}.rs"))).attrs))))
        .collect();
    let _ = writeln!(out, "static MODULES: &[(&str, &str)] = &{:?};", docs.into_iter().collect::<Vec<_>>());
    let target = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("theory.rs");
    fs::write(target, out).expect("the build directory can be written");
}

fn parse(path: &Path) -> syn::File {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A struct of public fields that are numbers or other such structs.
struct Record {
    module: String,
    name: String,
    path: String,
    fields: Vec<String>,
}

fn records(module: &str, items: &[Item]) -> Vec<Record> {
    let mut found: Vec<Record> = Vec::new();
    for item in items {
        let Item::Struct(of) = item else { continue };
        let Fields::Named(fields) = &of.fields else { continue };
        let all_plain = fields.named.iter().all(|field| {
            let is_record = found.iter().any(|known| plain(&field.ty) == known.name);
            matches!(field.vis, Visibility::Public(_)) && (is_number(&plain(&field.ty)) || is_record)
        });
        if matches!(of.vis, Visibility::Public(_)) && of.generics.params.is_empty() && all_plain {
            let names = fields.named.iter().filter_map(|field| field.ident.as_ref().map(ToString::to_string));
            found.push(Record {
                module: module.into(),
                name: of.ident.to_string(),
                path: path(module, &of.ident.to_string()),
                fields: names.collect(),
            });
        }
    }
    found
}

fn path(module: &str, name: &str) -> String {
    let separator = if module.is_empty() { "" } else { "::" };
    format!("bouquet::theory::{module}{separator}{name}")
}

fn is_number(of: &str) -> bool {
    ["u8", "u16", "u32", "u64", "usize", "i32", "i64", "f64", "bool"].contains(&of)
}

/// A type as text without spaces.
fn plain(of: &Type) -> String {
    match of {
        Type::Path(path) => {
            let segment = path.path.segments.last().expect("a path has a segment");
            let inner: Vec<String> = match &segment.arguments {
                syn::PathArguments::AngleBracketed(arguments) => arguments
                    .args
                    .iter()
                    .map(|argument| match argument {
                        syn::GenericArgument::Type(of) => plain(of),
                        _ => "?".into(),
                    })
                    .collect(),
                _ => Vec::new(),
            };
            if inner.is_empty() { segment.ident.to_string() } else { format!("{}<{}>", segment.ident, inner.join(",")) }
        }
        Type::Reference(of) => format!("&{}", plain(&of.elem)),
        Type::Slice(of) => format!("[{}]", plain(&of.elem)),
        Type::Tuple(of) => format!("({})", of.elems.iter().map(plain).collect::<Vec<_>>().join(",")),
        _ => "?".into(),
    }
}

/// The word that Python's stubs have for a type that can be given.
fn given(of: &str) -> Option<&'static str> {
    Some(match of {
        "f64" => "float",
        "bool" => "bool",
        number if is_number(number) => "int",
        "&[u64]" | "&[u32]" => "Sequence[int]",
        "&[f64]" => "Sequence[float]",
        "&[(u64,u64)]" => "Sequence[tuple[int, int]]",
        "&[(f64,f64)]" => "Sequence[tuple[float, float]]",
        _ => return None,
    })
}

/// The word for a type that is given back.
fn back(of: &str, module: &str, records: &[Record]) -> Option<String> {
    if let Some(inner) = of.strip_prefix("Result<").and_then(|rest| rest.strip_suffix('>')) {
        return back(inner, module, records);
    }
    if let Some(inner) = of.strip_prefix("Option<").and_then(|rest| rest.strip_suffix('>')) {
        return Some(format!("{} | None", back(inner, module, records)?));
    }
    if let Some(inner) = of.strip_prefix("Vec<").and_then(|rest| rest.strip_suffix('>')) {
        return Some(format!("list[{}]", back(inner, module, records)?));
    }
    if let Some(inner) = of.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        let parts: Vec<_> = inner.split(',').map(|part| back(part, module, records)).collect::<Option<_>>()?;
        return Some(format!("tuple[{}]", parts.join(", ")));
    }
    let record = |of: &str| {
        let near = records.iter().find(|record| record.name == of && record.module == module);
        near.or_else(|| records.iter().find(|record| record.name == of && record.module.is_empty()))
    };
    match of {
        "f64" => Some("float".into()),
        "bool" => Some("bool".into()),
        number if is_number(number) => Some("int".into()),
        name => record(name).map(|record| format!("Record[{}: {}]", record.name, record.fields.join(", "))),
    }
}

/// The row of a function, if all its types are plain.
fn row(module: &str, function: &syn::ItemFn, records: &[Record]) -> Option<String> {
    if !matches!(function.vis, Visibility::Public(_)) || !function.sig.generics.params.is_empty() {
        return None;
    }
    let (mut parameters, mut arguments) = (Vec::new(), Vec::new());
    for (at, input) in function.sig.inputs.iter().enumerate() {
        let FnArg::Typed(input) = input else { return None };
        let Pat::Ident(name) = &*input.pat else { return None };
        let of = plain(&input.ty);
        parameters.push((name.ident.to_string(), given(&of)?));
        arguments.push(match of.strip_prefix('&') {
            Some(slice) => format!("&arguments.get::<Vec<{}>>({at})?", slice.trim_matches(['[', ']'])),
            None => format!("arguments.get({at})?"),
        });
    }
    let ReturnType::Type(_, of) = &function.sig.output else { return None };
    let of = plain(of);
    let returns = back(&of, module, records)?;
    let name = function.sig.ident.to_string();
    let fallible = if of.starts_with("Result<") { ".map_err(|error| crate::errors::raise(error.into()))?" } else { "" };
    let doc = first_paragraph(&documentation(&function.attrs));
    Some(format!(
        "Function {{ module: {module:?}, name: {name:?}, doc: {doc:?}, parameters: &{parameters:?}, returns: {returns:?}, \
         call: |arguments| Ok(Value::from({}({}){fallible})) }},\n",
        path(module, &name),
        arguments.join(", ")
    ))
}

fn documentation(attributes: &[syn::Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(text) => match &text.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).to_string()).collect::<Vec<_>>().join("\n")
}

/// The text before the first example or empty line.
fn first_paragraph(text: &str) -> String {
    text.lines().take_while(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}
