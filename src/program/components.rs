//! Relations that need each other.
//!
//! In: what each relation reads. Out: the strongly connected components of that graph, by Tarjan's algorithm, in time
//! linear in the graph and without recursion. Never: knows why one relation reads another.

/// A graph over the numbers from 0, by the number that an edge starts from.
pub(crate) type Edges = Vec<Vec<u32>>;

/// The edges by where they start, in ascending order, each once.
pub(crate) fn edges(size: usize, pairs: impl Iterator<Item = (u32, u32)>) -> Edges {
    let mut edges = vec![Vec::new(); size];
    for (from, to) in pairs {
        if let Some(list) = edges.get_mut(from as usize) {
            list.push(to);
        }
    }
    for list in &mut edges {
        list.sort_unstable();
        list.dedup();
    }
    edges
}

/// What an edge from this number leads to.
pub(crate) fn from(edges: &Edges, at: u32) -> &[u32] {
    edges.get(at as usize).map_or(&[], Vec::as_slice)
}

/// The components, those that are read before those that read them, each in ascending order.
pub(crate) fn components(edges: &Edges) -> Vec<Vec<u32>> {
    let nodes = vec![Node::default(); edges.len()];
    let mut search = Search { edges, nodes, open: Vec::new(), found: Vec::new(), entered: 0 };
    for root in (0..).take(edges.len()) {
        if search.node(root).number == 0 {
            search.visit(root);
        }
    }
    search.found
}

/// The number of the component that each is in.
pub(crate) fn numbered(size: usize, components: &[Vec<u32>]) -> Vec<usize> {
    let mut of = vec![usize::MAX; size];
    for (number, component) in components.iter().enumerate() {
        for &at in component {
            if let Some(slot) = of.get_mut(at as usize) {
                *slot = number;
            }
        }
    }
    of
}

#[derive(Debug, Clone, Copy, Default)]
struct Node {
    /// The place in the order of visits, from 1; 0 before the visit.
    number: u32,
    /// The least number that is reached from here within the component.
    low: u32,
    /// Whether its component is still being found.
    is_open: bool,
    /// How many of its edges were followed.
    followed: usize,
}

struct Search<'e> {
    edges: &'e Edges,
    nodes: Vec<Node>,
    open: Vec<u32>,
    found: Vec<Vec<u32>>,
    entered: u32,
}

impl Search<'_> {
    fn node(&self, at: u32) -> Node {
        self.nodes.get(at as usize).copied().unwrap_or_default()
    }

    fn change(&mut self, at: u32, change: impl FnMut(&mut Node)) {
        self.nodes.get_mut(at as usize).into_iter().for_each(change);
    }

    fn visit(&mut self, root: u32) {
        let mut path = vec![root];
        self.enter(root);
        while let Some(&at) = path.last() {
            let node = self.node(at);
            if let Some(&next) = from(self.edges, at).get(node.followed) {
                self.change(at, |node| node.followed += 1);
                let other = self.node(next);
                if other.is_open {
                    self.change(at, |node| node.low = node.low.min(other.number));
                } else if other.number == 0 && (next as usize) < self.nodes.len() {
                    self.enter(next);
                    path.push(next);
                }
                continue;
            }
            path.pop();
            if let Some(&before) = path.last() {
                self.change(before, |before| before.low = before.low.min(node.low));
            }
            if node.low == node.number {
                self.leave(at);
            }
        }
    }

    fn enter(&mut self, at: u32) {
        self.entered += 1;
        let number = self.entered;
        self.change(at, |node| *node = Node { number, low: number, is_open: true, followed: 0 });
        self.open.push(at);
    }

    /// Everything that was entered since is one component.
    fn leave(&mut self, first: u32) {
        let at = self.open.iter().rposition(|&other| other == first).unwrap_or(0);
        let mut component = self.open.split_off(at);
        for &member in &component {
            self.change(member, |node| node.is_open = false);
        }
        component.sort_unstable();
        self.found.push(component);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Size, edges, components.
    type Row<'r> = (usize, &'r [(u32, u32)], &'r [&'r [u32]]);

    #[test]
    fn what_needs_each_other_is_one_and_comes_after_what_it_reads() {
        let rows: [Row<'_>; 5] = [
            (3, &[], &[&[0], &[1], &[2]]),
            (3, &[(0, 1), (1, 2)], &[&[2], &[1], &[0]]),
            (4, &[(0, 1), (1, 2), (2, 0), (3, 0)], &[&[0, 1, 2], &[3]]),
            (5, &[(0, 1), (1, 0), (0, 2), (2, 3), (3, 2), (4, 4)], &[&[2, 3], &[0, 1], &[4]]),
            (4, &[(3, 2), (3, 1), (2, 1), (1, 0), (1, 0)], &[&[0], &[1], &[2], &[3]]),
        ];
        for (size, pairs, expected) in rows {
            assert_eq!(components(&edges(size, pairs.iter().copied())), expected, "{pairs:?}");
        }
    }

    #[test]
    fn a_long_chain_takes_no_stack() {
        let size = 200_000;
        let circle = edges(size as usize, (0..size).map(|at| (at, (at + 1) % size)));
        assert_eq!(components(&circle).len(), 1);
        let chain = edges(size as usize, (1..size).map(|at| (at, at - 1)));
        assert_eq!(components(&chain).len(), size as usize);
    }
}
