//! Work on several cores whose results come in the order of its items.

use std::num::NonZero;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Loads of results that wait to be taken while others come before them.
const WAITING: usize = 4;

/// Bytes of results that are handed over together, about. To hand over wakes a thread, which costs more than small results.
const LOAD: usize = 1 << 16;

/// The largest number of items that are worked on before their results are handed over.
const MOST: usize = 16;

/// The number of threads that the machine runs at once.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Works on the items on `jobs` threads. Each item gives any number of results; `take` gets all of them in the order of
/// the items, and those of one item in the order in which it gave them. What waits to be taken is bounded, by `size`, the
/// bytes of a result, so that memory does not grow with the number of items.
///
/// Returns the number of the first item whose work broke off, which a fault in the work alone can do.
pub(crate) fn in_order<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    size: fn(&R) -> usize,
    work: &(impl Fn(&T, &mut dyn FnMut(R)) + Sync),
    take: &mut dyn FnMut(R),
) -> Result<(), usize> {
    if let [item] = items {
        // One item needs no thread of its own.
        let alone = AssertUnwindSafe(|| work(item, take));
        return std::panic::catch_unwind(alone).map_err(|_| 0);
    }
    // Few items are handed out one by one, so that no thread is left without while another has many.
    let together = (items.len() / jobs.max(1) / MOST).clamp(1, MOST);
    // Whoever holds the items hands on where its results will come, so that these places stand in the order of the items.
    let (places, taken) = sync_channel(2 * jobs);
    let claims = Mutex::new(Claims { items: items.chunks(together), places });
    std::thread::scope(|scope| {
        // Once nobody takes results any more, workers that wait to hand some over have to notice.
        let taken = taken;
        let worker = || {
            while let Some((items, results)) = claim(&claims) {
                let mut outbox = Outbox { load: Vec::new(), size: 0, results, is_read: true };
                for item in items {
                    work(item, &mut |result| {
                        let bytes = size(&result);
                        outbox.add(Some(result), bytes);
                    });
                    outbox.add(None, 0);
                    if !outbox.is_read {
                        return;
                    }
                }
            }
        };
        let workers: Vec<_> = (0..jobs.min(items.len())).map(|_| scope.spawn(worker)).collect();
        let mut done = 0;
        while done < items.len() {
            let results: Receiver<Load<R>> = match taken.recv() {
                Ok(results) => results,
                Err(_) => break,
            };
            let due = items.len().min(done + together);
            for result in results.iter().flatten() {
                match result {
                    Some(result) => take(result),
                    None => done += 1,
                }
            }
            if done < due {
                break;
            }
        }
        drop(taken);
        for worker in workers {
            // Work that broke off is told of by the number of its item.
            let _ = worker.join();
        }
        if done < items.len() { Err(done) } else { Ok(()) }
    })
}

/// Results in order; none stands for the end of an item.
type Load<R> = Vec<Option<R>>;

/// What some items gave and nobody was handed yet. What is left when it goes, as it does
/// when the work breaks off, is handed over all the same.
struct Outbox<R> {
    load: Load<R>,
    size: usize,
    results: SyncSender<Load<R>>,
    /// Whether somebody still takes results.
    is_read: bool,
}

impl<R> Outbox<R> {
    fn add(&mut self, result: Option<R>, bytes: usize) {
        self.load.push(result);
        self.size = self.size.saturating_add(bytes).saturating_add(size_of::<R>());
        if self.size >= LOAD {
            self.send();
        }
    }

    fn send(&mut self) {
        self.size = 0;
        self.is_read = self.is_read && self.results.send(std::mem::take(&mut self.load)).is_ok();
    }
}

impl<R> Drop for Outbox<R> {
    fn drop(&mut self) {
        self.send();
    }
}

struct Claims<'a, T, R> {
    items: std::slice::Chunks<'a, T>,
    places: SyncSender<Receiver<Load<R>>>,
}

/// The next items, and where their results go; none where there are no more, or nobody takes them.
fn claim<'a, T, R>(claims: &Mutex<Claims<'a, T, R>>) -> Option<(&'a [T], SyncSender<Load<R>>)> {
    let mut claims = claims.lock().unwrap_or_else(PoisonError::into_inner);
    let items = claims.items.next()?;
    let (results, place) = sync_channel(WAITING);
    claims.places.send(place).ok()?;
    Some((items, results))
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
            in_order(&items, jobs, |_| 9, &work, &mut |result| results.push(result)).unwrap();
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
            let ended = in_order(&items, jobs, |_| 9, &work, &mut |result| results.push(result));
            assert_eq!(ended, Err(13), "{jobs} jobs");
            assert_eq!(results, (0..13).collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_item_may_break_off_too() {
        let mut results = Vec::new();
        let work = |item: &u64, give: &mut dyn FnMut(u64)| {
            give(*item);
            assert!(*item != 13, "a fault in the work");
        };
        for item in [12, 13] {
            let ended = in_order(&[item], 2, |_| 9, &work, &mut |result| results.push(result));
            assert_eq!(ended.is_ok(), item == 12);
        }
        assert_eq!(results, [12, 13]);
    }
}
