import { byCodePoint } from '../../base/code-point-order.ts';
import { CpuSet } from '../../base/cpu-set.ts';
import { errorText } from '../../base/error-text.ts';
import { fnv1a32 } from '../../base/go/fnv.ts';
import { goJson } from '../../base/go/go-json.ts';
import { goQuote } from '../../base/go/go-quote.ts';
import { type Checkpoint, checkType, readCheckpoint } from './checkpoint-json.ts';
import type { CpuState } from './cpu-state.ts';

/** The container of a container id. */
export interface ContainerOwner {
  readonly uid: string;
  readonly container: string;
}

/** A checkpoint as it was read. The format of kubelet 1.17 and before has container ids in place of pods and names. */
export type CpuCheckpoint =
  | { readonly version: 1; readonly policy: string; readonly shared: string; readonly cpusById: TextMap }
  | { readonly version: 2; readonly policy: string; readonly shared: string; readonly cpusByPod: TextMaps };

type TextMap = ReadonlyMap<string, string>;
type TextMaps = ReadonlyMap<string, TextMap>;

/** The text of kubelet's `cpu_manager_state`, byte for byte. */
export function encodeCpuState(policy: string, { shared, assignments }: CpuState): string {
  const pods = [...assignments].map(([uid, ofPod]) => {
    return [uid, new Map([...ofPod].map(([container, cpus]) => [container, cpus.toString()]))] as const;
  });
  const entries: TextMaps = new Map(pods);
  const values = { policy, shared: shared.toString(), entries: goMap(entries, (ofPod) => goMap(ofPod)) };
  const checksum = checksumOf({ ...values, type: 'CPUManagerCheckpoint', entriesType: V2_ENTRIES });
  const fields = [
    `"policyName":${goJson(policy)}`,
    `"defaultCpuSet":${goJson(values.shared)}`,
    ...(entries.size > 0 ? [`"entries":${jsonMap(entries, (ofPod) => jsonMap(ofPod, goJson))}`] : []),
    `"checksum":${checksum}`,
  ];
  return `{${fields.join(',')}}`;
}

/** Throws kubelet's message for a text that kubelet rejects too. */
export function decodeCpuCheckpoint(text: string): CpuCheckpoint {
  const checkpoint = readCheckpoint(text);
  try {
    return decodeV2(checkpoint);
  } catch {
    return decodeV1(checkpoint); // kubelet reports the error of the older format
  }
}

/** Throws kubelet's message if the policy or a set of CPUs is wrong. `ownerOf` is only called for the older format. */
export function stateOf(
  checkpoint: CpuCheckpoint,
  policy: string,
  ownerOf: (containerId: string) => ContainerOwner | undefined,
): CpuState {
  const entries = checkpoint.version === 2 ? checkpoint.cpusByPod : byPod(checkpoint.cpusById, ownerOf);
  if (checkpoint.policy !== policy) {
    const [configured, found] = [goQuote(policy), goQuote(checkpoint.policy)];
    throw new Error(`configured policy ${configured} differs from state checkpoint policy ${found}`);
  }
  const shared = parseCpus(checkpoint.shared, () => `could not parse default cpu set ${goQuote(checkpoint.shared)}`);
  const pods = [...entries].map(([uid, ofPod]) => {
    const containers = [...ofPod].map(([container, cpus]) => {
      const where = `container ${goQuote(container)} in pod ${goQuote(uid)}`;
      return [container, parseCpus(cpus, () => `could not parse cpuset ${goQuote(cpus)} for ${where}`)] as const;
    });
    return [uid, new Map(containers)] as const;
  });
  return { shared, assignments: new Map(pods) };
}

function decodeV2(checkpoint: Checkpoint): CpuCheckpoint {
  const { policy, shared, entries, checksum } = checkType(checkpoint, 'CPUManagerCheckpointV2', V2_ENTRIES);
  const cpusByPod = new Map<string, TextMap>();
  const texts = new Map<string, string>();
  for (const [uid, ofPod] of entries ?? []) {
    if (typeof ofPod === 'string') throw new Error('unreachable: the type was checked');
    cpusByPod.set(uid, ofPod ?? new Map());
    texts.set(uid, ofPod === undefined ? NIL : goMap(ofPod));
  }
  const values = { policy, shared, entries: entries ? goMap(texts) : NIL, entriesType: V2_ENTRIES };
  // kubelet 1.36 writes the checksum of the type's former name; its own name is accepted too.
  const names = ['CPUManagerCheckpointV2', 'CPUManagerCheckpoint'];
  const valid = [0, ...names.map((type) => checksumOf({ ...values, type }))];
  if (!valid.includes(checksum)) throw new Error(CORRUPTED);
  return { version: 2, policy, shared, cpusByPod };
}

function decodeV1(checkpoint: Checkpoint): CpuCheckpoint {
  const { policy, shared, entries, checksum } = checkType(checkpoint, 'CPUManagerCheckpointV1', V1_ENTRIES);
  const cpusById = new Map([...(entries ?? [])].map(([id, cpus]) => [id, typeof cpus === 'string' ? cpus : '']));
  const values = { policy, shared, entries: entries ? goMap(cpusById) : NIL, entriesType: V1_ENTRIES };
  const valid = [0, checksumOf({ ...values, type: 'CPUManagerCheckpoint' })];
  if (!valid.includes(checksum)) throw new Error(CORRUPTED);
  return { version: 1, policy, shared, cpusById };
}

function byPod(cpusById: TextMap, ownerOf: (containerId: string) => ContainerOwner | undefined): TextMaps {
  const pods = new Map<string, Map<string, string>>();
  for (const [id, cpus] of cpusById) {
    const owner = ownerOf(id);
    if (owner === undefined) {
      throw new Error(
        `failed to migrate checkpoint from v1 to v2: containerID '${id}' not found in initial containers list`,
      );
    }
    const ofPod = pods.get(owner.uid) ?? new Map<string, string>();
    pods.set(owner.uid, ofPod.set(owner.container, cpus));
  }
  return pods;
}

const CORRUPTED = 'checkpoint is corrupted';
const NIL = '<nil>';
const V1_ENTRIES = 'map[string]string';
const V2_ENTRIES = 'map[string]map[string]string';

interface PrintedCheckpoint {
  readonly type: string;
  readonly policy: string;
  readonly shared: string;
  readonly entriesType: string;
  /** As Go prints the map. */
  readonly entries: string;
}

/** The hash of how Go prints the checkpoint. */
function checksumOf({ type, policy, shared, entriesType, entries }: PrintedCheckpoint): number {
  const texts = `PolicyName:(string)${policy} DefaultCPUSet:(string)${shared}`;
  return fnv1a32(`(*state.${type}){${texts} Entries:(${entriesType})${entries} Checksum:(checksum.Checksum)0}`);
}

function goMap(map: TextMap): string;
function goMap<T>(map: ReadonlyMap<string, T>, print: (value: T) => string): string;
function goMap<T>(map: ReadonlyMap<string, T>, print: (value: T) => string = String): string {
  return `map[${sorted(map)
    .map(([key, value]) => `${key}:${print(value)}`)
    .join(' ')}]`;
}

function jsonMap<T>(map: ReadonlyMap<string, T>, json: (value: T) => string): string {
  return `{${sorted(map)
    .map(([key, value]) => `${goJson(key)}:${json(value)}`)
    .join(',')}}`;
}

function sorted<T>(map: ReadonlyMap<string, T>): readonly (readonly [string, T])[] {
  return [...map].sort(([one], [other]) => byCodePoint(one, other));
}

function parseCpus(text: string, what: () => string): CpuSet {
  try {
    return CpuSet.parse(text);
  } catch (error) {
    throw new Error(`${what()}: ${errorText(error)}`, { cause: error });
  }
}
