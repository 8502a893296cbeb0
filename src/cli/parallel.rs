//! Work on several cores whose results come in the order of its items.

use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Results of one item that wait to be taken while others come before it.
const WAITING: usize = 4;

/// The number of threads that the machine runs at once.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Works on the items on `jobs` threads. Each item gives any number of results; `take` gets all of them in the order of
/// the items, and those of one item in the order in which it gave them. What waits to be taken is bounded, so that memory
/// does not grow with the number of items.
///
/// Returns the number of the first item whose work broke off, which a fault in the work alone can do.
pub(crate) fn in_order<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    work: &(impl Fn(&T, &mut dyn FnMut(R)) + Sync),
    take: &mut dyn FnMut(R),
) -> Result<(), usize> {
    // Whoever holds the items hands on where its results will come, so that these places stand in the order of the items.
    let (places, taken) = sync_channel(2 * jobs);
    let claims = Mutex::new(Claims { items: items.iter(), places });
    std::thread::scope(|scope| {
        // Once nobody takes results any more, workers that wait to hand some over have to notice.
        let taken = taken;
        let worker = || {
            while let Some((item, results)) = claim(&claims) {
                let mut reader_is_there = true;
                work(item, &mut |result| {
                    reader_is_there = reader_is_there && results.send(Some(result)).is_ok();
                });
                if !reader_is_there || results.send(None).is_err() {
                    return;
                }
            }
        };
        let workers: Vec<_> = (0..jobs.min(items.len())).map(|_| scope.spawn(worker)).collect();
        let ended = (0..items.len()).try_for_each(|number| {
            let results: Receiver<Option<R>> = taken.recv().map_err(|_| number)?;
            loop {
                match results.recv() {
                    Ok(Some(result)) => take(result),
                    Ok(None) => return Ok(()),
                    Err(_) => return Err(number),
                }
            }
        });
        drop(taken);
        for worker in workers {
            // Work that broke off is told of by the number of its item.
            let _ = worker.join();
        }
        ended
    })
}

struct Claims<'a, T, R> {
    items: std::slice::Iter<'a, T>,
    places: SyncSender<Receiver<Option<R>>>,
}

/// The next item, and where its results go; none where there is no more, or nobody takes them.
fn claim<'a, T, R>(claims: &Mutex<Claims<'a, T, R>>) -> Option<(&'a T, SyncSender<Option<R>>)> {
    let mut claims = claims.lock().unwrap_or_else(PoisonError::into_inner);
    let item = claims.items.next()?;
    let (results, place) = sync_channel(WAITING);
    claims.places.send(place).ok()?;
    Some((item, results))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..500).collect();
        for jobs in [1, 2, 7] {
            let mut results = Vec::new();
            let work = |item: &u64, give: &mut dyn FnMut((u64, u64))| {
                // Early items of each dozen take longest, and some give more than can wait.
                std::thread::sleep(std::time::Duration::from_micros(200 * (12 - item % 12)));
                (0..item % 9).for_each(|part| give((*item, part)));
            };
            in_order(&items, jobs, &work, &mut |result| results.push(result)).unwrap();
            let expected: Vec<_> =
                items.iter().flat_map(|&item| (0..item % 9).map(move |part| (item, part))).collect();
            assert_eq!(results, expected, "{jobs} jobs");
        }
    }

    #[test]
    fn work_that_breaks_off_ends_the_rest_with_its_number() {
        let items: Vec<u64> = (0..200).collect();
        for jobs in [1, 2, 4] {
            let mut results = Vec::new();
            let work = |item: &u64, give: &mut dyn FnMut(u64)| {
                assert!(*item != 13, "a fault in the work");
                give(*item);
            };
            let ended = in_order(&items, jobs, &work, &mut |result| results.push(result));
            assert_eq!(ended, Err(13), "{jobs} jobs");
            assert_eq!(results, (0..13).collect::<Vec<_>>());
        }
    }
}
