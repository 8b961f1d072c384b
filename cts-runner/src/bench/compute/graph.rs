//! Gathers over a random graph in compressed rows: a step of page rank, and breadth-first search.

use super::{Kernel, SetupResult, Unit, between, job, spirv, storage, storage_of, storage_of_floats};
use crate::bench::check::{Random, as_floats, close, equal};
use crate::vk::{Gpu, Resource};

const NODES: usize = 1 << 17;
/// Maximum out-degree of a node. Degrees are 1 to this value, so the lanes of a vector of nodes
/// diverge.
const DEGREE: u32 = 31;
/// Number of levels that are searched.
const LEVELS: u32 = 8;
const FAR: u32 = u32::MAX;

struct Graph {
    rows: Vec<u32>,
    edges: Vec<u32>,
}

impl Graph {
    fn new() -> Self {
        let mut random = Random::new(18);
        let (mut rows, mut edges) = (vec![0], Vec::new());
        for _ in 0..NODES {
            let degree = random.word() % DEGREE + 1;
            edges.extend((0..degree).map(|_| random.word() % NODES as u32));
            rows.push(edges.len() as u32);
        }
        Self { rows, edges }
    }

    fn neighbours(&self, node: usize) -> &[u32] {
        &self.edges[self.rows[node] as usize..self.rows[node + 1] as usize]
    }

    fn resources(&self, gpu: &Gpu) -> Result<[Resource; 2], crate::vk::Error> {
        Ok([storage_of(gpu, &self.rows)?.handle, storage_of(gpu, &self.edges)?.handle].map(Resource::Storage))
    }
}

/// Makes a step of page rank.
pub fn gather(gpu: &Gpu) -> SetupResult {
    let graph = Graph::new();
    let rank = Random::new(19).floats(NODES, 0.0, 1.0);
    let next = storage(gpu, NODES * 4)?;
    let [rows, edges] = graph.resources(gpu)?;
    let input = Resource::Storage(storage_of_floats(gpu, &rank)?.handle);
    let resources = [rows, edges, input, Resource::Storage(next.handle)];
    let kernel = Kernel::new(gpu, &spirv!("compute/graph_gather.comp"), &resources, 0)?;
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &[], [NODES as u32 / 64, 1, 1]);
    job(gpu, (graph.edges.len() as f64, Unit::Element), work, move |_| {
        let sum = |node| graph.neighbours(node).iter().map(|&n| f64::from(rank[n as usize])).sum::<f64>();
        let expected: Vec<f32> = (0..NODES).map(|node| (0.15 + 0.85 * sum(node)) as f32).collect();
        close(&as_floats(&next.read()), &expected, 1e-4)
    })
}

/// Makes a breadth-first search from node 0, with one dispatch per level.
pub fn breadth_first(gpu: &Gpu) -> SetupResult {
    let graph = Graph::new();
    let distances = storage(gpu, NODES * 4)?;
    let [rows, edges] = graph.resources(gpu)?;
    let resources = [rows, edges, Resource::Storage(distances.handle)];
    let kernel = Kernel::new(gpu, &spirv!("compute/graph_bfs.comp"), &resources, 1)?;
    let work = |d: &ash::Device, cmd| {
        // SAFETY: the buffer has the usage and lives as long as the device. The ranges lie inside
        // it and do not overlap.
        unsafe {
            d.cmd_fill_buffer(cmd, distances.handle, 0, 4, 0);
            d.cmd_fill_buffer(cmd, distances.handle, 4, ash::vk::WHOLE_SIZE, FAR);
        }
        for level in 0..LEVELS {
            between(d, cmd);
            kernel.dispatch(d, cmd, &[level], [NODES as u32 / 64, 1, 1]);
        }
    };
    job(gpu, (graph.edges.len() as f64, Unit::Element), work, move |_| equal(&distances.read(), &search(&graph)))
}

fn search(graph: &Graph) -> Vec<u32> {
    let mut distances = vec![FAR; NODES];
    distances[0] = 0;
    let mut frontier = vec![0u32];
    for level in 1..=LEVELS {
        let mut next = Vec::new();
        for &neighbour in frontier.iter().flat_map(|&node| graph.neighbours(node as usize)) {
            if distances[neighbour as usize] == FAR {
                distances[neighbour as usize] = level;
                next.push(neighbour);
            }
        }
        frontier = next;
    }
    distances
}
