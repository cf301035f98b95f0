//! `bouquet ask` and `bouquet act`: what only one kind can.

use std::path::{Path, PathBuf};

use bouquet::AnyFilter;
use bouquet::capability::{Item, NoteType};
use bouquet::kind::{Argument, Reply, SpecialFacts, Takes};
use clap::Args;

use super::ask::refuse_stdin_twice;
use super::count::write_count;
use super::estimate::in_words;
use crate::failure::{Failure, Found, Outcome, about};
use crate::filters::Opening;
use crate::keys::{Input, Reader};
use crate::output::{Coding, Destination, Output, Waiting, number, print_rows};

/// What both commands take.
#[derive(Args)]
struct Special {
    /// The filter
    filter: PathBuf,

    /// What to ask or do; without it, what the filter's kind has is listed
    name: Option<String>,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    opening: Opening,
}

/// Ask a filter what only its kind can tell, such as a quantile or its fingerprints
///
/// `bouquet ask FILTER` lists the questions of its kind, and `bouquet explain KIND` too. What follows the question is what it
/// takes: files of keys (or standard input), with something behind a TAB for ITEMS and PAIRS, a number, a share, a range
/// FIRST..LAST, or another filter. Answers to keys are the key, a TAB and the answer; several answers have commas between them,
/// and `?` is where the filter cannot tell. Exit code 1 when every answer is no.
#[derive(Args)]
pub struct Ask {
    #[command(flatten)]
    special: Special,

    /// The file to write, for a question whose answer is a filter
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

/// Do with a filter what only its kind can, in place, such as adding a set or balancing buckets
///
/// `bouquet act FILTER` lists the actions of its kind, and `bouquet explain KIND` too. What follows the action is what it takes, as
/// with `bouquet ask`. On an error nothing is changed.
#[derive(Args)]
pub struct Act {
    #[command(flatten)]
    special: Special,
}

impl Ask {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let Special { filter: path, name, input, waiting, opening } = &self.special;
        let filter = opening.open_warily(path)?;
        let Some(special) = self.special.chosen(&filter, name.as_deref(), false)? else { return Ok(Found::Something) };
        if let Takes::Key | Takes::Item | Takes::Pair = special.takes {
            let note = special.note(filter.note());
            return each_item(path, input, note, input.read_to_answer()?, |item| {
                filter.ask(special.name, special_argument(special, item))
            });
        }
        let other;
        let argument = match special.takes {
            Takes::Filter => {
                other = opening.open(Path::new(one(input, special)?))?;
                other.as_argument()
            }
            _ => plain_argument(input, special)?,
        };
        match filter.ask(special.name, argument).map_err(about(path))? {
            Reply::Filter(made) => {
                let Some(output) = &self.output else {
                    return Err(Failure::new(format!(
                        "the answer to `{}` is a filter; name its file with -o OUT",
                        special.name
                    )));
                };
                let inputs = [vec![path.as_path()], opening.inputs()].concat();
                let destination = Destination::new(output, &[path], &inputs[1..], *waiting)?;
                destination.save(&AnyFilter::from_made(made)?, Coding::Usual)?;
                Ok(Found::Something)
            }
            reply => print_reply(&reply),
        }
    }
}

impl Act {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let Special { filter: path, name, input, waiting, opening } = &self.special;
        let Some(name) = name else {
            self.special.chosen(&opening.open(path)?, None, true)?;
            return Ok(Found::Something);
        };
        let inputs = [input.sources(), opening.inputs()].concat();
        let destination = Destination::to_change(path, &inputs, *waiting)?;
        let mut filter = opening.open(path)?;
        let Some(special) = self.special.chosen(&filter, Some(name), true)? else { return Ok(Found::Nothing) };
        let found = match special.takes {
            Takes::Key | Takes::Item | Takes::Pair => {
                let note = special.note(filter.note());
                each_item(path, input, note, input.read(special.name), |item| {
                    filter.act(special.name, special_argument(special, item))
                })?
            }
            Takes::Filter => {
                let other = opening.open(Path::new(one(input, special)?))?;
                print_reply(&filter.act(special.name, other.as_argument()).map_err(about(path))?)?
            }
            _ => print_reply(&filter.act(special.name, plain_argument(input, special)?).map_err(about(path))?)?,
        };
        destination.save(&filter, Coding::Usual)?;
        Ok(found)
    }
}

/// Asks about every item, or acts on it; the answers are printed where there are some.
fn each_item(
    path: &Path,
    input: &Input,
    note: NoteType,
    mut reader: Reader,
    mut answer: impl FnMut(Item<'_>) -> bouquet::Result<Reply>,
) -> Result<Found, Failure> {
    refuse_stdin_twice(path, input)?;
    let mut out = Output::stdout();
    let mut any = false;
    let mut text = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        for (index, item) in batch.items(note)?.into_iter().enumerate() {
            let reply = answer(item).map_err(|error| batch.refuse(index, error))?;
            any |= !matches!(reply, Reply::Truth(false));
            if !matches!(reply, Reply::Done) {
                text.clear();
                write_reply(&reply, &mut text);
                out.write(&[item.key, b"\t", &text, &[input.delimiter()]])?;
            }
        }
        out.flush()?;
    }
    Ok(Found::when(any))
}

/// The key, or the key with what it carries.
fn special_argument<'a>(special: &SpecialFacts, item: Item<'a>) -> Argument<'a> {
    if special.takes == Takes::Key { Argument::Key(item.key) } else { Argument::Item(item) }
}

impl Special {
    /// The special of this name; without a name all are listed.
    fn chosen(
        &self,
        filter: &AnyFilter,
        name: Option<&str>,
        acts: bool,
    ) -> Result<Option<&'static SpecialFacts>, Failure> {
        let Some(name) = name else {
            let known = filter.kind().specials().filter(|special| special.acts == acts);
            let rows: Vec<_> =
                known.map(|special| (special.name, format!("{:12}{}", special.takes.name(), special.help))).collect();
            if rows.is_empty() {
                let (id, word) = (filter.kind().facts().id, if acts { "actions" } else { "questions" });
                return Err(Failure::new(format!(
                    "{}: {id} has no {word} of its own; `bouquet explain {id}` tells what it can do",
                    self.filter.display()
                )));
            }
            print_rows(&rows)?;
            return Ok(None);
        };
        Ok(Some(filter.kind().special(name, acts).map_err(about(&self.filter))?))
    }
}

/// The one word behind the name.
fn one<'a>(input: &'a Input, special: &SpecialFacts) -> Result<&'a str, Failure> {
    match input.files.as_slice() {
        [word] => word.to_str().ok_or_else(|| {
            let (name, takes) = (special.name, special.takes.expected());
            Failure::new(format!("`{name}` takes {takes}, but `{}` is not text; give it as text", word.display()))
        }),
        words => {
            let (name, takes, found) = (special.name, special.takes.expected(), words.len());
            Err(Failure::new(format!("`{name}` takes {takes}, but {found} words follow it; give one")))
        }
    }
}

/// A number, a share, a range, or nothing.
fn plain_argument(input: &Input, special: &SpecialFacts) -> Result<Argument<'static>, Failure> {
    if special.takes == Takes::Nothing {
        return match input.files.first() {
            None => Ok(Argument::Nothing),
            Some(word) => {
                let (name, word) = (special.name, word.display());
                Err(Failure::new(format!("`{name}` takes nothing, but `{word}` was given; leave it out")))
            }
        };
    }
    let word = one(input, special)?;
    special.takes.parse(word).map_err(|_| {
        Failure::new(format!("`{}` takes {}, but `{word}` was given", special.name, special.takes.expected()))
    })
}

/// Prints a reply that is not about single keys.
fn print_reply(reply: &Reply) -> Outcome {
    let mut text = Vec::new();
    write_reply(reply, &mut text);
    if !matches!(reply, Reply::Done | Reply::Table(..)) {
        text.push(b'\n');
    }
    let mut out = Output::stdout();
    out.write(&[&text])?;
    out.flush()?;
    Ok(Found::when(!matches!(reply, Reply::Truth(false))))
}

/// A reply as text: tables have a line of heads, and TABs between their columns.
fn write_reply(reply: &Reply, text: &mut Vec<u8>) {
    match reply {
        Reply::Truth(yes) => text.extend_from_slice(if *yes { b"yes" } else { b"no" }),
        Reply::Unknown => text.push(b'?'),
        Reply::Integer(integer) => text.extend_from_slice(integer.to_string().as_bytes()),
        Reply::Real(real) => text.extend_from_slice(number(*real).as_bytes()),
        Reply::Count(count) => write_count(count, text),
        Reply::Estimate(estimate) => text.extend_from_slice(in_words(estimate).as_bytes()),
        Reply::Bytes(bytes) => text.extend_from_slice(bytes),
        Reply::List(list) => {
            for (at, reply) in list.iter().enumerate() {
                text.extend_from_slice(if at > 0 { b"," } else { b"" });
                write_reply(reply, text);
            }
        }
        Reply::Table(heads, rows) => {
            text.extend_from_slice(heads.join("\t").as_bytes());
            text.push(b'\n');
            for row in rows {
                for (at, cell) in row.iter().enumerate() {
                    text.extend_from_slice(if at > 0 { b"\t" } else { b"" });
                    write_reply(cell, text);
                }
                text.push(b'\n');
            }
        }
        // Done says nothing; filters are written to files.
        _ => {}
    }
}
