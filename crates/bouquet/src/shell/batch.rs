//! Batches: one driver with one policy. In a store beyond the cache, a batch of keys is hashed and prefetched before the
//! first of them is looked at; in a near one nothing is faster than one key after the other.

use super::mechanism::{Hashed, Mechanism, Outcome, with_digest};
use crate::error::Result;
use crate::hash::{Digest, Hashing};
use crate::key::{BATCH, Key, digest_batch};

/// Whether prefetching pays.
#[inline(always)]
pub(crate) fn is_far<M: Mechanism>(mechanism: &M) -> bool {
    mechanism.reach() > M::NEAR
}

/// Answers keys, `answers[i]` for `keys[i]`; the longer slice's rest is left alone.
#[inline(always)]
pub(crate) fn answer<M: Mechanism, K: Key, A>(
    mechanism: &M,
    hashing: &Hashing,
    keys: &[K],
    answers: &mut [A],
    answer: impl Fn(Hashed<'_>) -> A,
) {
    if !is_far(mechanism) {
        for (key, out) in keys.iter().zip(answers) {
            *out = with_digest::<M, K, A>(key, key.digest(hashing), &answer);
        }
        return;
    }
    for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
        let digests = digest_batch(hashing, keys, |digest| mechanism.prefetch_to_test(digest));
        for ((key, digest), out) in keys.iter().zip(digests).zip(answers) {
            *out = with_digest::<M, K, A>(key, digest, &answer);
        }
    }
}

/// Answers keys a batch at a time, for stores with a faster way for several digests than for one: `prefetch` gets each
/// digest, then `answer` all of the batch.
#[inline(always)]
pub(crate) fn answer_together<K: Key, A>(
    hashing: &Hashing,
    keys: &[K],
    answers: &mut [A],
    prefetch: impl Fn(Digest),
    answer: impl Fn(&[Digest], &mut [A]),
) {
    for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
        let digests = digest_batch(hashing, keys, &prefetch);
        answer(digests.get(..keys.len()).unwrap_or_default(), answers);
    }
}

/// Puts keys in as [`answer`] answers them: the number that were certainly new. `put` gets each key, in order; the first error
/// stops.
#[inline(always)]
pub(crate) fn put<M: Mechanism, K: Key, O: Outcome>(
    mechanism: &mut M,
    hashing: &Hashing,
    keys: &[K],
    mut put: impl FnMut(&mut M, &K, Hashed<'_>) -> Result<bool>,
) -> O::Many {
    let mut fresh = 0;
    if !is_far(mechanism) {
        for key in keys {
            match with_digest::<M, K, _>(key, key.digest(hashing), |hashed| put(mechanism, key, hashed)) {
                Ok(new) => fresh += u64::from(new),
                Err(error) => return O::many(fresh, Some(error)),
            }
        }
        return O::many(fresh, None);
    }
    for keys in keys.chunks(BATCH) {
        let digests = digest_batch(hashing, keys, |digest| mechanism.prefetch(digest));
        for (key, digest) in keys.iter().zip(digests) {
            match with_digest::<M, K, _>(key, digest, |hashed| put(mechanism, key, hashed)) {
                Ok(new) => fresh += u64::from(new),
                Err(error) => return O::many(fresh, Some(error)),
            }
        }
    }
    O::many(fresh, None)
}
