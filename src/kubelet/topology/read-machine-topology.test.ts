import assert from 'node:assert/strict';
import { dirname } from 'node:path/posix';
import { test } from 'node:test';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import type { MachineTopology } from './machine-topology.ts';
import { readMachineTopology } from './read-machine-topology.ts';

const CPU = '/sys/devices/system/cpu';
const NODE = '/sys/devices/system/node';

type Files = Readonly<Record<string, string>>;

async function topologyOf(files: Files): Promise<MachineTopology> {
  const disk = new MemoryFileSystem(() => 0);
  for (const [path, text] of Object.entries(files)) {
    await disk.makeDirectory(dirname(path));
    await disk.writeFile(path, `${text}\n`);
  }
  return readMachineTopology(disk);
}

/** `cpu: core socket node cache`. */
function lines({ cpus }: MachineTopology): readonly string[] {
  return [...cpus].map(([cpu, { coreId, socketId, numaNodeId, uncoreCacheId }]) => {
    return `${cpu}: ${coreId} ${socketId} ${numaNodeId} ${uncoreCacheId}`;
  });
}

interface CpuFiles {
  readonly core: number;
  readonly socket: number;
  readonly node?: number;
  /** The last-level cache: its id and the mask of its CPUs. */
  readonly cache?: readonly [id: number, mask: string];
}

function cpuFiles(cpu: number, { core, socket, node, cache }: CpuFiles): Files {
  const index = `${CPU}/cpu${cpu}/cache`;
  return {
    [`${CPU}/cpu${cpu}/topology/core_id`]: String(core),
    [`${CPU}/cpu${cpu}/topology/physical_package_id`]: String(socket),
    ...(node !== undefined && { [`${NODE}/node${node}/cpu${cpu}/uevent`]: '' }),
    ...(cache && {
      [`${index}/index0/id`]: '0',
      [`${index}/index0/level`]: '1',
      [`${index}/index0/size`]: '32K',
      [`${index}/index0/shared_cpu_map`]: '1',
      [`${index}/index3/id`]: String(cache[0]),
      [`${index}/index3/level`]: '3',
      [`${index}/index3/size`]: '16384K',
      [`${index}/index3/shared_cpu_map`]: cache[1],
      [`${index}/uevent`]: '',
    }),
  };
}

function machineFiles(cpus: readonly CpuFiles[], more: Files = {}): Files {
  return Object.assign({}, ...cpus.map((each, cpu) => cpuFiles(cpu, each)), more);
}

test('two sockets with SMT: cores have the number of their first thread, caches of a whole node that of the socket', async () => {
  const files = machineFiles(
    [0, 1, 2, 3, 4, 5, 6, 7].map((cpu) => {
      const node = cpu % 2;
      const core = Math.floor(cpu / 2) % 2; // the ids of cores repeat in each socket
      return { core, socket: node, node, cache: [node + 10, node === 0 ? '55' : 'aa'] };
    }),
    {
      [`${CPU}/online`]: '0-7',
      [`${NODE}/node0/meminfo`]: 'Node 0 MemTotal:       32817192 kB\nNode 0 MemFree: 1 kB',
      [`${NODE}/node1/meminfo`]: 'Node 1 MemTotal:       16408596 kB',
      [`${NODE}/node0/distance`]: '10 21',
      [`${NODE}/node1/distance`]: '21 10',
      [`${NODE}/node0/hugepages/hugepages-2048kB/nr_hugepages`]: '512',
      [`${NODE}/node0/hugepages/hugepages-1048576kB/nr_hugepages`]: '4',
      [`${NODE}/possible`]: '0-1',
    },
  );
  const topology = await topologyOf(files);
  assert.deepEqual(lines(topology), [
    '0: 0 0 0 0',
    '1: 1 1 1 1',
    '2: 2 0 0 0',
    '3: 3 1 1 1',
    '4: 0 0 0 0',
    '5: 1 1 1 1',
    '6: 2 0 0 0',
    '7: 3 1 1 1',
  ]);
  const hugePages = new Map([
    [2048, 512],
    [1_048_576, 4],
  ]);
  assert.deepEqual(topology.numaNodes, [
    { id: 0, memoryBytes: 32_817_192 * 1024, hugePages, distances: [10, 21] },
    { id: 1, memoryBytes: 16_408_596 * 1024, hugePages: new Map(), distances: [21, 10] },
  ]);
});

test('caches of a part of a NUMA node split it', async () => {
  const files = machineFiles(
    [0, 1, 2, 3].map((cpu) => ({
      core: cpu,
      socket: 0,
      node: 0,
      cache: [cpu < 2 ? 4 : 5, cpu < 2 ? '3' : '0,0000000c'],
    })),
  );
  assert.deepEqual(lines(await topologyOf(files)), ['0: 0 0 0 4', '1: 1 0 0 4', '2: 2 0 0 5', '3: 3 0 0 5']);
});

test('caches without an id are not known: sockets take their place', async () => {
  const files = machineFiles([0, 1].map((cpu) => ({ core: cpu, socket: 7, node: 0, cache: [cpu, String(cpu + 1)] })));
  delete (files as Record<string, string>)[`${CPU}/cpu0/cache/index0/id`];
  assert.deepEqual(lines(await topologyOf(files)), ['0: 0 7 0 7', '1: 1 7 0 7']);
});

test('CPUs that are offline are left out, and nodes without CPUs are kept', async () => {
  const files = machineFiles(
    [0, 1, 2].map((cpu) => ({ core: cpu % 2, socket: 0, node: 0 })),
    {
      [`${CPU}/online`]: '1-2',
      [`${NODE}/node1/meminfo`]: 'Node 1 MemTotal: 1024 kB',
    },
  );
  const topology = await topologyOf(files);
  assert.deepEqual(lines(topology), ['1: 1 0 0 0', '2: 2 0 0 0']);
  assert.deepEqual(
    topology.numaNodes.map(({ id, memoryBytes }) => [id, memoryBytes]),
    [
      [0, 0],
      [1, 1024 * 1024],
    ],
  );
});

test('a machine without NUMA nodes has one with all memory and huge pages', async () => {
  const files = machineFiles(
    [0, 1].map(() => ({ core: 0, socket: 0 })),
    {
      '/proc/meminfo': 'MemTotal:       1000 kB',
      '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages': '3',
    },
  );
  const topology = await topologyOf(files);
  assert.deepEqual(lines(topology), ['0: 0 0 0 0', '1: 0 0 0 0']);
  assert.deepEqual(topology.numaNodes, [
    { id: 0, memoryBytes: 1000 * 1024, hugePages: new Map([[2048, 3]]), distances: [10] },
  ]);
});

test('on a machine without NUMA nodes each socket is one', async () => {
  const files = machineFiles([0, 1].map((cpu) => ({ core: 0, socket: cpu })));
  const topology = await topologyOf(files);
  assert.deepEqual(lines(topology), ['0: 0 0 0 0', '1: 1 1 1 1']);
  assert.deepEqual(
    topology.numaNodes.map(({ id }) => id),
    [0, 1],
  );
});

test('CPUs of which the kernel says nothing are cores of node 0', async () => {
  const topology = await topologyOf({ [`${CPU}/cpu0/uevent`]: '', [`${CPU}/cpu1/uevent`]: '' });
  assert.deepEqual(lines(topology), ['0: 0 0 0 0', '1: 1 0 0 0']);
  assert.equal(topology.numaNodes.length, 1);
});

test('a machine without /sys has one NUMA node', async () => {
  const { cpus, numaNodes } = await topologyOf({});
  assert.equal(cpus.size, 0);
  assert.deepEqual(numaNodes, [{ id: 0, memoryBytes: 0, hugePages: new Map(), distances: [10] }]);
});
