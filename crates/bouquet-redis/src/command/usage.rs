//! What a command takes, read from one line as people write it.
//!
//! `key` is a key of the command and other small words are values, with their type behind a colon: `capacity:int`. Capital words are
//! tokens; before a value they belong to it. What is in brackets may be left out, parentheses hold together, and `...` behind either
//! or behind a word says that it may come again:
//!
//! ```text
//! key capacity:int [EXPANSION expansion:int] [NONSCALING]
//! destination:key numkeys:int source:key... [WEIGHTS weight:int...]
//! key (item increment:int)...
//! ```

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Any bytes.
    Text,
    /// A whole number.
    Int,
    /// A number.
    Double,
    /// A key of the server.
    Key,
    /// Its token alone.
    Token,
    /// Arguments that come together.
    Block,
}

/// An argument of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// What it is.
    pub sort: Sort,
    /// The word before it.
    pub token: Option<String>,
    /// Whether it may be left out.
    pub optional: bool,
    /// Whether it may come again.
    pub multiple: bool,
    /// The arguments of a block.
    pub parts: Vec<Argument>,
}

/// The arguments of a line.
pub fn parse(usage: &str) -> Vec<Argument> {
    let spaced = ["[", "]", "(", ")", "..."]
        .into_iter()
        .fold(usage.to_owned(), |text, mark| text.replace(mark, &format!(" {mark} ")));
    let words: Vec<&str> = spaced.split_whitespace().collect();
    sequence(&mut words.as_slice())
}

/// Reads arguments up to a closing bracket, which it takes, or to the end.
fn sequence(words: &mut &[&str]) -> Vec<Argument> {
    let mut out: Vec<Argument> = Vec::new();
    while let Some((&word, rest)) = words.split_first() {
        *words = rest;
        match word {
            "]" | ")" => break,
            "..." => {
                if let Some(last) = out.last_mut() {
                    last.multiple = true;
                }
            }
            "[" | "(" => out.push(group(sequence(words), word == "[")),
            word if is_token(word) && words.first().is_some_and(|next| is_value(next)) => {
                out.push(Argument { token: Some(word.to_owned()), ..value(words[0]) });
                *words = &words[1..];
            }
            word => out.push(value(word)),
        }
    }
    out
}

fn is_value(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_lowercase())
}

fn is_token(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_uppercase())
}

/// What stands in brackets or parentheses; one argument alone is itself.
fn group(mut parts: Vec<Argument>, optional: bool) -> Argument {
    let mut whole = match parts.len() {
        1 => parts.remove(0),
        _ => {
            let name = parts.first().map_or_else(String::new, |first| first.name.clone());
            Argument { name, sort: Sort::Block, token: None, optional: false, multiple: false, parts }
        }
    };
    whole.optional |= optional;
    whole
}

fn value(word: &str) -> Argument {
    let (name, of) = word.split_once(':').unwrap_or((word, if word == "key" { "key" } else { "" }));
    let (sort, token) = match of {
        "int" => (Sort::Int, None),
        "double" => (Sort::Double, None),
        "key" => (Sort::Key, None),
        _ if is_token(word) => (Sort::Token, Some(word.to_owned())),
        _ => (Sort::Text, None),
    };
    Argument { name: name.to_ascii_lowercase(), sort, token, optional: false, multiple: false, parts: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let read = parse("key capacity:int [EXPANSION expansion:int] [NONSCALING] ITEMS (item times:int)...");
        let told: Vec<_> = read
            .iter()
            .map(|one| (one.name.as_str(), one.sort, one.token.as_deref(), one.optional, one.multiple))
            .collect();
        let expected = [
            ("key", Sort::Key, None, false, false),
            ("capacity", Sort::Int, None, false, false),
            ("expansion", Sort::Int, Some("EXPANSION"), true, false),
            ("nonscaling", Sort::Token, Some("NONSCALING"), true, false),
            ("items", Sort::Token, Some("ITEMS"), false, false),
            ("item", Sort::Block, None, false, true),
        ];
        assert_eq!(told, expected);
        assert_eq!(read[5].parts.len(), 2);
    }

    #[test]
    fn every_command_says_what_it_takes_and_its_least_number_of_arguments_is_its_arity() {
        fn least(arguments: &[Argument]) -> i32 {
            let words = |one: &Argument| match one.sort {
                Sort::Block => least(&one.parts),
                Sort::Token => 1,
                _ => 1 + i32::from(one.token.is_some()),
            };
            arguments.iter().filter(|one| !one.optional).map(words).sum()
        }
        fn any(arguments: &[Argument], is: fn(&Argument) -> bool) -> bool {
            arguments.iter().any(|one| is(one) || any(&one.parts, is))
        }
        for command in crate::command::all() {
            let arguments = parse(command.usage);
            assert_eq!(1 + least(&arguments), command.arity.abs(), "{}: {}", command.name, command.usage);
            let varies = any(&arguments, |one| one.optional || one.multiple);
            assert_eq!(varies, command.arity < 0, "{}: {}", command.name, command.usage);
        }
    }
}
