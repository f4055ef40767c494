import type { CpuPlace, MachineTopology } from '../topology/machine-topology.ts';

/** How many of each a machine has, and how its kernel numbers the CPUs. */
interface Shape {
  readonly sockets: number;
  /** In each socket; a fraction: one NUMA node for several sockets. */
  readonly numaPerSocket: number;
  readonly coresPerSocket: number;
  readonly threads: number;
  /** Groups of cores with a last-level cache of their own in each socket. Absent: one cache for each NUMA node. */
  readonly cachesPerSocket?: number;
  /**
   * `blocks`: all first threads, socket after socket, then all second threads. `siblings`: the threads of a core follow each
   * other. `turns`: sockets take turns, as on many machines with two sockets.
   */
  readonly numbering: 'blocks' | 'siblings' | 'turns';
}

/** Real machines. */
const SHAPES = {
  /** A small virtual machine. */
  'vm-4': { sockets: 1, numaPerSocket: 1, coresPerSocket: 4, threads: 1, numbering: 'blocks' },
  /** Core i7-9700K with SMT as in Xeon E-2288G. */
  'xeon-e-2288g': { sockets: 1, numaPerSocket: 1, coresPerSocket: 8, threads: 2, numbering: 'blocks' },
  /** Two sockets of 12 cores; CPUs with even numbers are in socket 0. */
  'xeon-4214-2s': { sockets: 2, numaPerSocket: 1, coresPerSocket: 12, threads: 2, numbering: 'turns' },
  /** Two sockets without SMT. */
  'xeon-5218-2s-nosmt': { sockets: 2, numaPerSocket: 1, coresPerSocket: 16, threads: 1, numbering: 'blocks' },
  /** Sub-NUMA clustering: two NUMA nodes in each socket. */
  'xeon-6230-2s-snc': { sockets: 2, numaPerSocket: 2, coresPerSocket: 20, threads: 2, numbering: 'blocks' },
  /** Eight caches of three cores. */
  'epyc-7402p': {
    sockets: 1,
    numaPerSocket: 1,
    coresPerSocket: 24,
    threads: 2,
    cachesPerSocket: 8,
    numbering: 'blocks',
  },
  /** Four NUMA nodes in one socket, split caches, no SMT. */
  'epyc-7551p-nosmt': {
    sockets: 1,
    numaPerSocket: 4,
    coresPerSocket: 32,
    threads: 1,
    cachesPerSocket: 8,
    numbering: 'blocks',
  },
  /** Eight NUMA nodes in two sockets, split caches. */
  'epyc-7452-2s-nps4': {
    sockets: 2,
    numaPerSocket: 4,
    coresPerSocket: 32,
    threads: 2,
    cachesPerSocket: 8,
    numbering: 'blocks',
  },
  /** Eight sockets without SMT. */
  'xeon-e7-8837-8s': { sockets: 8, numaPerSocket: 1, coresPerSocket: 8, threads: 1, numbering: 'blocks' },
  /** Eight sockets with SMT. */
  'xeon-8s': { sockets: 8, numaPerSocket: 1, coresPerSocket: 6, threads: 2, numbering: 'blocks' },
  /** NUMA is switched off: one node for both sockets. */
  'xeon-2s-numa-off': { sockets: 2, numaPerSocket: 0.5, coresPerSocket: 8, threads: 2, numbering: 'blocks' },
  /** Four threads in each core, which follow each other. */
  'power9-2s': { sockets: 2, numaPerSocket: 1, coresPerSocket: 8, threads: 4, numbering: 'siblings' },
} as const satisfies Readonly<Record<string, Shape>>;

export type MachineName = keyof typeof SHAPES;

export const MACHINES: ReadonlyMap<MachineName, MachineTopology> = new Map(
  Object.entries(SHAPES).map(([name, shape]) => [name as MachineName, machineOf(shape)]),
);

/** Two cores with two threads, and four with one. */
export const HYBRID_MACHINE: MachineTopology = topologyOf(
  [0, 0, 2, 2, 4, 5, 6, 7].map((coreId, cpu) => [cpu, { coreId, socketId: 0, numaNodeId: 0, uncoreCacheId: 0 }]),
);

export function machine(name: MachineName): MachineTopology {
  return MACHINES.get(name) ?? topologyOf([]);
}

function machineOf(shape: Shape): MachineTopology {
  const places: [number, CpuPlace][] = [];
  for (let socket = 0; socket < shape.sockets; socket++) {
    for (let core = 0; core < shape.coresPerSocket; core++) {
      for (let thread = 0; thread < shape.threads; thread++) {
        const cpu = cpuNumber(shape, socket, core, thread);
        places.push([cpu, placeOf(shape, socket, core)]);
      }
    }
  }
  return topologyOf(places.sort(([one], [other]) => one - other));
}

function placeOf(shape: Shape, socket: number, core: number): CpuPlace {
  const { numaPerSocket, coresPerSocket, cachesPerSocket } = shape;
  const share = core / coresPerSocket;
  const numaNodeId = Math.floor((socket + share) * numaPerSocket);
  return {
    coreId: cpuNumber(shape, socket, core, 0),
    socketId: socket,
    numaNodeId,
    // A cache of a whole NUMA node is no split cache: kubelet takes the socket for it.
    uncoreCacheId: cachesPerSocket === undefined ? socket : Math.floor((socket + share) * cachesPerSocket),
  };
}

function cpuNumber(shape: Shape, socket: number, core: number, thread: number): number {
  const { sockets, coresPerSocket, threads, numbering } = shape;
  switch (numbering) {
    case 'siblings':
      return (socket * coresPerSocket + core) * threads + thread;
    case 'turns':
      return (thread * coresPerSocket + core) * sockets + socket;
    case 'blocks':
      return (thread * sockets + socket) * coresPerSocket + core;
  }
}

function topologyOf(places: readonly (readonly [number, CpuPlace])[]): MachineTopology {
  const ids = [...new Set(places.map(([, { numaNodeId }]) => numaNodeId))].sort((a, b) => a - b);
  return {
    cpus: new Map(places),
    numaNodes: ids.map((id) => ({
      id,
      memoryBytes: 16 * 2 ** 30,
      hugePages: new Map(),
      distances: ids.map((other) => (other === id ? 10 : 20)),
    })),
  };
}
