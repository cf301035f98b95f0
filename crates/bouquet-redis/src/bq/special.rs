//! `BQ.ASK` and `BQ.ACT`: what only one kind can tell or do.

use bouquet::AnyFilter;
use bouquet::capability::{Item, Multiplicity};
use bouquet::kind::{Argument, Reply as Told, SpecialFacts, Takes};

use super::{Held, NOT_FOUND, change, estimated, items, place, read, read_at, whole};
use crate::server::{Call, Failure, Outcome, Reply};

/// `BQ.ASK key question [argument ...]`. A question that makes a filter gives its frame, which `BQ.RESTORE` takes.
pub fn ask(call: &mut Call<'_>) -> Outcome {
    call.at_least(3)?;
    let filter = read(call)?;
    let special = filter.kind().special(call.text(2)?, false)?;
    match special.takes {
        Takes::Key | Takes::Item | Takes::Pair => {
            let replies: Result<Vec<_>, Failure> = arguments(call, filter, special)?
                .into_iter()
                .map(|argument| told(filter.ask(special.name, argument)?))
                .collect();
            Ok(one_or_many(replies?))
        }
        Takes::Filter => {
            call.exactly(4)?;
            told(filter.ask(special.name, read_at(call, 3)?.as_argument())?)
        }
        _ => told(filter.ask(special.name, plain(call, special)?)?),
    }
}

/// `BQ.ACT key action [argument ...]`.
pub fn act(call: &mut Call<'_>) -> Outcome {
    call.at_least(3)?;
    let special = read(call)?.kind().special(call.text(2)?, true)?;
    let reply = match special.takes {
        Takes::Key | Takes::Item | Takes::Pair => {
            let arguments = arguments(call, read(call)?, special)?;
            let mut replies = Vec::with_capacity(arguments.len());
            let mut failed = None;
            let filter = change(call)?;
            for argument in arguments {
                match filter.act(special.name, argument).map_err(Failure::from).and_then(told) {
                    Ok(reply) => replies.push(reply),
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            match failed {
                // Nothing has changed.
                Some(error) if replies.is_empty() => return Err(error),
                Some(Failure::Text(text)) => Reply::Array(replies.into_iter().chain([Reply::Error(text)]).collect()),
                Some(Failure::Arity) => return Err(Failure::Arity),
                None => one_or_many(replies),
            }
        }
        Takes::Filter => {
            call.exactly(4)?;
            let mut filter = read(call)?.clone();
            let reply = told(filter.act(special.name, read_at(call, 3)?.as_argument())?)?;
            place(call, filter, true, c"bq.act")?;
            return Ok(reply);
        }
        _ => {
            let argument = plain(call, special)?;
            told(change(call)?.act(special.name, argument)?)?
        }
    };
    call.write::<Held>(1).or(NOT_FOUND)?.refresh();
    call.changed(1, c"bq.act");
    Ok(reply)
}

/// Keys or items from the fourth argument on.
fn arguments<'a>(call: &Call<'a>, filter: &AnyFilter, special: &SpecialFacts) -> Result<Vec<Argument<'a>>, Failure> {
    call.at_least(4)?;
    let items = items(call, 3..call.len(), special.note(filter.note()))?;
    let argument =
        |item: Item<'a>| if special.takes == Takes::Key { Argument::Key(item.key) } else { Argument::Item(item) };
    Ok(items.into_iter().map(argument).collect())
}

/// Nothing, a number, a share or a span.
fn plain<'a>(call: &Call<'a>, special: &SpecialFacts) -> Result<Argument<'a>, Failure> {
    if special.takes == Takes::Nothing {
        call.exactly(3)?;
        return Ok(Argument::Nothing);
    }
    call.exactly(4)?;
    Ok(special.takes.parse(call.text(3)?)?)
}

fn one_or_many(mut replies: Vec<Reply>) -> Reply {
    match replies.len() {
        1 => replies.remove(0),
        _ => Reply::Array(replies),
    }
}

/// What a filter tells, as the server replies it.
fn told(told_reply: Told) -> Outcome {
    Ok(match told_reply {
        Told::Done => Reply::Done,
        Told::Truth(truth) => Reply::Int(truth.into()),
        Told::Unknown => Reply::Word("unknown".into()),
        Told::Integer(number) => {
            i64::try_from(number).map_or_else(|_| Reply::Bytes(number.to_string().into_bytes()), Reply::Int)
        }
        Told::Real(number) => Reply::Double(number),
        Told::Count(Multiplicity { count, .. }) => whole(count),
        Told::Estimate(estimate) => estimated(estimate),
        Told::Bytes(bytes) => Reply::Bytes(bytes),
        Told::List(list) => Reply::Array(list.into_iter().map(told).collect::<Result<_, _>>()?),
        Told::Table(heads, rows) => {
            let heads = Reply::Array(heads.iter().map(|head| Reply::Bytes((*head).into())).collect());
            let row = |row: Vec<Told>| row.into_iter().map(told).collect::<Result<_, _>>().map(Reply::Array);
            let rows: Vec<Reply> = rows.into_iter().map(row).collect::<Result<_, Failure>>()?;
            Reply::Array([heads].into_iter().chain(rows).collect())
        }
        Told::Filter(made) => Reply::Bytes(AnyFilter::from_made(made)?.to_bytes()),
        _ => return Err("ERR the module does not know this sort of reply".into()),
    })
}
