import { byCodePoint } from '../../base/code-point-order.ts';
import { parseCpuSet } from '../../base/cpu-set.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { CpuPlace, MachineTopology, NumaNode } from './machine-topology.ts';

const CPUS = '/sys/devices/system/cpu';
const NODES = '/sys/devices/system/node';
const HUGE_PAGES = '/sys/kernel/mm/hugepages';

/**
 * Reads where CPUs and memory are, as kubelet sees it through cAdvisor. On a machine without NUMA nodes each socket is one, and
 * a machine of which nothing is known has one node 0 with all CPUs.
 */
export async function readMachineTopology(fs: FileSystem): Promise<MachineTopology> {
  const online = await onlineCpus(fs);
  const nodeIds = await numbersIn(fs, NODES, /^node([0-9]+)$/);
  if (nodeIds.length === 0) return withoutNumaNodes(fs, online);
  const nodes = await Promise.all(
    nodeIds.map(async (id) => {
      const folder = `${NODES}/node${id}`;
      const cpus = (await numbersIn(fs, folder, /^cpu([0-9]+)$/)).filter(online);
      return { node: await readNode(fs, folder, id), cpus: await readPlaces(fs, id, cpus) };
    }),
  );
  return { cpus: sorted(nodes.flatMap(({ cpus }) => cpus)), numaNodes: nodes.map(({ node }) => node) };
}

/** Without the file, CPUs cannot be switched off. */
async function onlineCpus(fs: FileSystem): Promise<(cpu: number) => boolean> {
  const list = await readIfExists(fs, `${CPUS}/online`);
  if (list === undefined) return () => true;
  const cpus = new Set(parseCpuSet(list));
  return (cpu) => cpus.has(cpu);
}

async function withoutNumaNodes(fs: FileSystem, online: (cpu: number) => boolean): Promise<MachineTopology> {
  const all = (await numbersIn(fs, CPUS, /^cpu([0-9]+)$/)).filter(online);
  const sockets = new Map<number, number[]>();
  for (const cpu of all) {
    const socket = Math.max(0, await readNumber(fs, `${CPUS}/cpu${cpu}/topology/physical_package_id`, 0));
    sockets.set(socket, [...(sockets.get(socket) ?? []), cpu]);
  }
  const ids = sockets.size === 0 ? [0] : [...sockets.keys()].sort((a, b) => a - b);
  const places = await Promise.all(ids.map((id) => readPlaces(fs, id, sockets.get(id) ?? [])));
  const known = new Set(places.flat().map(([cpu]) => cpu));
  const unknown = all.filter((cpu) => !known.has(cpu)).map((cpu) => [cpu, lonePlace(cpu, ids[0] ?? 0)] as const);
  const node = await readNode(fs, '/proc', ids[0] ?? 0, HUGE_PAGES);
  const numaNodes = ids.length === 1 ? [{ ...node, distances: [10] }] : ids.map(emptyNode);
  return { cpus: sorted([...places.flat(), ...unknown]), numaNodes };
}

/** The kernel does not say to which core the CPU belongs. */
function lonePlace(cpu: number, numaNodeId: number): CpuPlace {
  return { coreId: cpu, socketId: 0, numaNodeId, uncoreCacheId: 0 };
}

function emptyNode(id: number): NumaNode {
  return { id, memoryBytes: 0, hugePages: new Map(), distances: [] };
}

async function readNode(
  fs: FileSystem,
  folder: string,
  id: number,
  hugePages = `${folder}/hugepages`,
): Promise<NumaNode> {
  const [memory = '', distances = ''] = await Promise.all(
    ['meminfo', 'distance'].map((file) => readIfExists(fs, `${folder}/${file}`)),
  );
  const kibibytes = /MemTotal:\s*([0-9]+) kB/.exec(memory)?.[1];
  return {
    id,
    memoryBytes: Number(kibibytes ?? 0) * 1024,
    hugePages: await readHugePages(fs, hugePages),
    distances: distances === '' ? [] : distances.split(/\s+/).map(Number),
  };
}

async function readHugePages(fs: FileSystem, folder: string): Promise<ReadonlyMap<number, number>> {
  const sizes = await numbersIn(fs, folder, /^hugepages-([0-9]+)kB$/);
  const pages = sizes.map(async (size) => {
    return [size, await readNumber(fs, `${folder}/hugepages-${size}kB/nr_hugepages`, 0)] as const;
  });
  return new Map(await Promise.all(pages));
}

interface Core {
  readonly socketId: number;
  readonly threads: number[];
}

type PlacedCpu = readonly [cpu: number, place: CpuPlace];

/** The places of the CPUs of one NUMA node. CPUs of which the kernel does not know the core are left out. */
async function readPlaces(fs: FileSystem, numaNodeId: number, cpus: readonly number[]): Promise<readonly PlacedCpu[]> {
  // cAdvisor's order, by name: it decides for which cores caches are known if those of one cannot be read.
  const cores = await readCores(
    fs,
    cpus.toSorted((one, other) => byCodePoint(`${one}`, `${other}`)),
  );
  const caches = await uncoreCaches(fs, cores);
  return cores.flatMap(({ socketId, threads }, index) => {
    const place = { coreId: Math.min(...threads), socketId, numaNodeId, uncoreCacheId: caches[index] ?? socketId };
    return threads.map((cpu) => [cpu, place] as const);
  });
}

async function readCores(fs: FileSystem, cpus: readonly number[]): Promise<readonly Core[]> {
  // Books and drawers are levels of the topology of s390x.
  const files = ['core_id', 'physical_package_id', 'book_id', 'drawer_id'];
  const ids = await Promise.all(
    cpus.map((cpu) => Promise.all(files.map((file) => readIfExists(fs, `${CPUS}/cpu${cpu}/topology/${file}`)))),
  );
  const cores = new Map<string, Core>();
  for (const [index, cpu] of cpus.entries()) {
    const [core, socket, ...others] = ids[index] ?? [];
    if (core === undefined || socket === undefined) continue;
    const key = [core, socket, ...others].join(' ');
    const known = cores.get(key);
    if (known) known.threads.push(cpu);
    else cores.set(key, { socketId: Number(socket), threads: [cpu] });
  }
  return [...cores.values()];
}

/** The id of the split last-level cache of each core. A cache of the whole node is no split one. */
async function uncoreCaches(fs: FileSystem, cores: readonly Core[]): Promise<readonly (number | undefined)[]> {
  const read = await Promise.all(cores.map(({ threads }) => readCaches(fs, threads[0] ?? 0)));
  const firstUnknown = read.indexOf(undefined); // cAdvisor stops at the first core that it cannot read the caches of
  return cores.map(({ threads }, index) => {
    if (firstUnknown >= 0 && index >= firstUnknown) return undefined;
    const ofNode = cores.length * threads.length;
    return read[index]?.find(({ level, cpuCount }) => level > 2 && cpuCount !== ofNode)?.id;
  });
}

interface Cache {
  readonly id: number;
  readonly level: number;
  readonly cpuCount: number;
}

/** `undefined`: they cannot be read, as on virtual machines of some architectures. */
async function readCaches(fs: FileSystem, cpu: number): Promise<readonly Cache[] | undefined> {
  const folder = `${CPUS}/cpu${cpu}/cache`;
  const indexes = await numbersIn(fs, folder, /^index([0-9]+)$/);
  const caches = await Promise.all(
    indexes.map(async (index) => {
      const files = ['id', 'level', 'size', 'shared_cpu_map'];
      const texts = await Promise.all(files.map((file) => readIfExists(fs, `${folder}/index${index}/${file}`)));
      const [id = '', level = '', size = '', map = ''] = texts;
      const isReadable = /^[0-9]+$/.test(id) && /^[0-9]+$/.test(level) && /^[0-9]+K/.test(size);
      return isReadable ? { id: Number(id), level: Number(level), cpuCount: bitCount(map) } : undefined;
    }),
  );
  const known = caches.filter((cache) => cache !== undefined);
  return known.length === caches.length && caches.length > 0 ? known : undefined;
}

/** Of a mask in hexadecimal groups: `ff,00000f0f`. */
function bitCount(mask: string): number {
  return Array.from(mask.matchAll(/[0-9a-f]/gi), ([digit]) => {
    return Number.parseInt(digit, 16).toString(2).replaceAll('0', '').length;
  }).reduce((sum, bits) => sum + bits, 0);
}

function sorted(cpus: readonly PlacedCpu[]): ReadonlyMap<number, CpuPlace> {
  return new Map([...cpus].sort(([one], [other]) => one - other));
}

/** The numbers in the names of a folder, in ascending order; none of a missing folder. */
async function numbersIn(fs: FileSystem, folder: string, pattern: RegExp): Promise<readonly number[]> {
  try {
    const names = (await fs.readDirectory(folder)).flatMap(({ name }) => pattern.exec(name)?.[1] ?? []);
    return names.map(Number).sort((a, b) => a - b);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

async function readNumber(fs: FileSystem, path: string, otherwise: number): Promise<number> {
  const text = await readIfExists(fs, path);
  return text !== undefined && /^-?[0-9]+$/.test(text) ? Number(text) : otherwise;
}

async function readIfExists(fs: FileSystem, path: string): Promise<string | undefined> {
  try {
    return (await fs.readText(path)).trim();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof FileSystemError && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
