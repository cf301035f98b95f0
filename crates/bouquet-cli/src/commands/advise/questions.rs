//! The five questions.

use std::io::{BufRead, Write};

use bouquet_advice::{Goal, Workload};

use crate::commands::kinds::verb_named;
use crate::failure::Failure;
use crate::keys::open_stdin;

/// Asks until every answer can be read. Answers come from standard input, questions go to standard error.
pub fn ask() -> Result<Workload, Failure> {
    let mut workload = Workload::new(1, 0.01)?;
    workload.items = question("1/5  How many distinct keys? (such as 5000 or 1e7)", "1e6", super::count)?;
    workload.fpr =
        question("2/5  How often may it say yes to a key that is not in? (such as 0.01)", "0.01", super::rate)?;
    workload.need = question(
        "3/5  Beside being asked, what must it do? (remove, count, merge, ...; or nothing)",
        "nothing",
        |text| {
            let words = text.split([',', ' ']).filter(|word| !word.is_empty() && *word != "nothing");
            words.map(verb_named).collect()
        },
    )?;
    let change = question(
        "4/5  Do keys come later? (later; grows: without end; static: never; or a time to forget after, such as 1h)",
        "later",
        |text| match text {
            "later" => Ok((false, false, None)),
            "grows" => Ok((true, false, None)),
            "static" => Ok((false, true, None)),
            time => super::parse_time(time)
                .map(|seconds| (false, false, Some(seconds)))
                .map_err(|_| Failure::new("later, grows, static or a time such as 1h is expected")),
        },
    )?;
    (workload.grows, workload.is_static, workload.window) = change;
    workload.goal = question("5/5  What is to be little? (memory, speed, bytes-sent)", "memory", |text| {
        let text = if text == "time" { "speed" } else { text };
        Goal::from_name(text).ok_or_else(|| Failure::new("memory, speed or bytes-sent is expected"))
    })?;
    workload.check()?;
    Ok(workload)
}

/// Asks one question until its answer can be read; no answer is the one in brackets, but not where one was wrong before.
fn question<T>(text: &str, default: &str, read: impl Fn(&str) -> Result<T, Failure>) -> Result<T, Failure> {
    let mut refused = None;
    loop {
        // Where standard error is closed, the answers may still come.
        let _ = write!(std::io::stderr(), "{text} [{default}] ");
        let mut line = String::new();
        let len = open_stdin()?.lock().read_line(&mut line);
        let len = len.map_err(|error| Failure::of_file("standard input", &error))?;
        if let Some(message) = refused.take_if(|_| len == 0) {
            return Err(Failure::Message(message));
        }
        let answer = line.trim();
        match read(if answer.is_empty() { default } else { answer }) {
            Ok(value) => return Ok(value),
            Err(Failure::Message(message)) => {
                let _ = writeln!(std::io::stderr(), "     {message}");
                refused = Some(message);
            }
            Err(failure) => return Err(failure),
        }
    }
}
