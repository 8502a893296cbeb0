//! crepe, a macro that compiles rules.

use crate::peers::Facts;

crepe::crepe! {
    @input
    struct Edge(u32, u32);
    @input
    struct Start(u32);
    @input
    struct Barred(u32);
    @input
    struct Wanted(u32);

    struct Reached(u32);

    @output
    struct Found(u32);

    Reached(record) <- Start(record);
    Reached(source) <- Reached(dest), Edge(dest, source), !Barred(source);
    Found(record) <- Reached(record), Wanted(record);
}

pub(super) fn finds(facts: &Facts) -> bool {
    let mut walk = Crepe::new();
    walk.extend(facts.edges.iter().map(|&(dest, source)| Edge(dest, source)));
    walk.extend(facts.current.iter().map(|&record| Start(record)));
    walk.extend(facts.barred.iter().map(|&record| Barred(record)));
    walk.extend(facts.wanted.iter().map(|&record| Wanted(record)));
    let (found,) = walk.run();
    !found.is_empty()
}
