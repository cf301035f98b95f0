//! Threads that search parts of a structure for the same keys.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use crate::hash::Digest;

/// Answers keys that `workers` threads look for, each in its own part: `holds(worker, digest)`. A key that one has found is not
/// looked for any more by the others. The calling thread is one of them; where no thread can be had it does their parts too.
pub(crate) fn search(
    workers: usize,
    digests: &[Digest],
    answers: &mut [bool],
    holds: impl Fn(usize, Digest) -> bool + Sync,
) {
    let found: Vec<AtomicBool> = digests.iter().map(|_| AtomicBool::new(false)).collect();
    let work = |worker: usize| {
        for (digest, found) in digests.iter().zip(&found) {
            if !found.load(Relaxed) && holds(worker, *digest) {
                found.store(true, Relaxed);
            }
        }
    };
    let work = &work;
    thread::scope(|scope| {
        let start = |worker| (worker, thread::Builder::new().spawn_scoped(scope, move || work(worker)).is_ok());
        let started: Vec<_> = (1..workers).map(start).collect();
        work(0);
        started.into_iter().filter(|(_, started)| !started).for_each(|(worker, _)| work(worker));
    });
    answers.iter_mut().zip(found).for_each(|(answer, found)| *answer = found.into_inner());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_in_whichever_part_it_is() {
        let digests: Vec<Digest> = (0..1_000).map(|h1| Digest { h1, h2: 0 }).collect();
        for workers in [1, 2, 5] {
            let mut answers = vec![true; digests.len()];
            search(workers, &digests, &mut answers, |worker, digest| digest.h1 % 7 == worker as u64);
            assert!((0..).zip(answers).all(|(h1, answer)| answer == (h1 % 7 < workers as u64)));
        }
    }
}
