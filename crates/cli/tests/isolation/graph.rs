//! A graph of what must have come before what, and the cycles in it.

/// Why one transaction comes before another: Adya's dependencies, and time ("Weak Consistency: A Generalized Theory and
/// Optimistic Implementations for Distributed Transactions", 1999).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// It wrote the version before.
    Ww,
    /// It wrote what the other read.
    Wr,
    /// It read the version before the one the other wrote.
    Rw,
    /// It had been answered before the other was asked.
    Time,
}

#[derive(Default)]
pub struct Graph {
    edges: Vec<Vec<(usize, Edge)>>,
}

impl Graph {
    pub fn with_nodes(n: usize) -> Graph {
        Graph {
            edges: vec![Vec::new(); n],
        }
    }

    pub fn node(&mut self) -> usize {
        self.edges.push(Vec::new());
        self.edges.len() - 1
    }

    pub fn edge(&mut self, from: usize, to: usize, edge: Edge) {
        if from != to {
            self.edges[from].push((to, edge));
        }
    }

    /// Orders nodes by time: whoever ended before another began comes before it. A chain of nodes of its own, one for each end, keeps the
    /// number of edges linear.
    pub fn order_by_time(&mut self, intervals: &[(usize, u64, u64)]) {
        let mut ends: Vec<(u64, usize)> = intervals
            .iter()
            .filter(|(_, _, end)| *end != u64::MAX)
            .map(|(node, _, end)| (*end, *node))
            .collect();
        ends.sort_unstable();
        let chain: Vec<usize> = ends.iter().map(|_| self.node()).collect();
        for (i, (_, node)) in ends.iter().enumerate() {
            self.edge(*node, chain[i], Edge::Time);
            if i > 0 {
                self.edge(chain[i - 1], chain[i], Edge::Time);
            }
        }
        for (node, begin, _) in intervals {
            let before = ends.partition_point(|(end, _)| end < begin);
            if before > 0 {
                self.edge(chain[before - 1], *node, Edge::Time);
            }
        }
    }

    /// The nodes that lie on cycles, by strongly connected component (Tarjan 1972, without recursion).
    pub fn components(&self) -> Vec<Vec<usize>> {
        const UNSEEN: usize = usize::MAX;
        let n = self.edges.len();
        let (mut index, mut low) = (vec![UNSEEN; n], vec![0; n]);
        let (mut on_stack, mut stack) = (vec![false; n], Vec::new());
        let (mut next, mut found) = (0, Vec::new());
        for root in 0..n {
            if index[root] != UNSEEN {
                continue;
            }
            let mut path = vec![(root, 0)];
            while let Some((node, edge)) = path.last_mut() {
                let node = *node;
                if *edge == 0 {
                    (index[node], low[node]) = (next, next);
                    next += 1;
                    stack.push(node);
                    on_stack[node] = true;
                }
                if let Some((to, _)) = self.edges[node].get(*edge) {
                    *edge += 1;
                    if index[*to] == UNSEEN {
                        path.push((*to, 0));
                    } else if on_stack[*to] {
                        low[node] = low[node].min(index[*to]);
                    }
                    continue;
                }
                path.pop();
                if let Some((parent, _)) = path.last() {
                    low[*parent] = low[*parent].min(low[node]);
                }
                if low[node] == index[node] {
                    let from = stack.iter().rposition(|n| *n == node).expect("pushed");
                    let component = stack.split_off(from);
                    component.iter().for_each(|n| on_stack[*n] = false);
                    if component.len() > 1 {
                        found.push(component);
                    }
                }
            }
        }
        found
    }

    /// A shortest cycle of a component: its nodes, each with the edge that leads on.
    pub fn cycle(&self, component: &[usize]) -> Vec<(usize, Edge)> {
        component
            .iter()
            .take(200)
            .filter_map(|start| self.back_to(*start, component))
            .min_by_key(Vec::len)
            .expect("a component of several nodes has a cycle")
    }

    fn back_to(&self, start: usize, component: &[usize]) -> Option<Vec<(usize, Edge)>> {
        let members: std::collections::HashSet<_> = component.iter().copied().collect();
        let mut came: std::collections::HashMap<usize, (usize, Edge)> = Default::default();
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            for (to, edge) in &self.edges[node] {
                if !members.contains(to) || came.contains_key(to) {
                    continue;
                }
                came.insert(*to, (node, *edge));
                if *to == start {
                    let mut cycle = vec![came[&start]];
                    while cycle.last().expect("begun").0 != start {
                        let at = cycle.last().expect("begun").0;
                        cycle.push(came[&at]);
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                queue.push_back(*to);
            }
        }
        None
    }
}

/// What Adya, and Elle after him, call a cycle of these edges.
pub fn name(edges: impl Iterator<Item = Edge> + Clone) -> String {
    let has = |e: Edge| edges.clone().any(|x| x == e);
    let reads = edges.clone().filter(|e| *e == Edge::Rw).count();
    let name = match reads {
        0 if has(Edge::Wr) => "G1c",
        0 => "G0",
        1 => "G-single",
        _ => "G2-item",
    };
    let time = if has(Edge::Time) { "-realtime" } else { "" };
    format!("{name}{time}")
}
