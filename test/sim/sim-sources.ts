import type { Pod } from '../../src/api/generated/core-v1.ts';
import { isMirrorPod } from '../../src/api/pod-names.ts';
import type { Log } from '../../src/base/log.ts';
import type { MemoryFileSystem } from '../../src/host/fake/memory-file-system.ts';
import type { Host } from '../../src/host/host.ts';
import type { ApiServer } from '../../src/kubelet/api-client/api-server.ts';
import { withApiTimeouts } from '../../src/kubelet/api-client/api-timeouts.ts';
import { createApiSource } from '../../src/kubelet/sources/api-source.ts';
import { createFileSource } from '../../src/kubelet/sources/file-source.ts';
import { parseStaticPods, type StaticReferences } from '../../src/kubelet/sources/parse-static-pods.ts';
import type { PodSource, SourceSnapshot } from '../../src/kubelet/sources/pod-source.ts';
import type { Gate } from './gate.ts';
import type { SimSource } from './plan-world.ts';

export const NODE_NAME = 'box';
export const MANIFESTS = '/etc/manifests';
const RESCAN_MS = 60_000;

/** The manifests on the machine, by key. */
export class SimManifests {
  readonly #fs: MemoryFileSystem;
  readonly #references: StaticReferences;
  readonly #pods = new Map<string, Pod>();

  constructor(fs: MemoryFileSystem, references: StaticReferences) {
    this.#fs = fs;
    this.#references = references;
  }

  async prepare(): Promise<void> {
    await this.#fs.makeDirectory(MANIFESTS);
  }

  get keys(): string[] {
    return [...this.#pods.keys()];
  }

  get(key: string): Pod | undefined {
    return this.#pods.get(key);
  }

  /** Returns the pod as the agent will read it. */
  async put(key: string, pod: Pod): Promise<Pod> {
    const { uid: _uid, ...metadata } = pod.metadata; // the UID of a static pod derives from its content
    const text = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec: pod.spec });
    const references = this.#references;
    const origin = { source: 'file' as const, location: fileOf(key), nodeName: NODE_NAME, nowMs: 0, references };
    const { pods, errors } = parseStaticPods(text, origin);
    const [seen] = pods;
    if (!seen) throw new Error(`the manifest of ${key} is not valid: ${errors.map(({ message }) => message)}`);
    this.#pods.set(key, seen);
    await this.#fs.writeAtomic(fileOf(key), text);
    return seen;
  }

  async remove(key: string): Promise<void> {
    this.#pods.delete(key);
    await this.#fs.remove(fileOf(key));
  }
}

export interface ProcessSources {
  readonly host: Host;
  /** Absent on a standalone node. */
  readonly api: ApiServer | undefined;
  readonly gate: Gate;
  readonly log: Log;
  /** The delay before each source is read. */
  readonly delaysMs: Readonly<Record<SimSource, number>>;
  /** Receives every snapshot right before the agent reads it, without mirror pods. */
  readonly onSnapshot: (source: SimSource, pods: readonly Pod[]) => void;
}

/** The pod sources of one agent process: the real ones, on a machine and a server behind its gate. */
export function processSources({ host, api, gate, log, delaysMs, onSnapshot }: ProcessSources): PodSource[] {
  const references = api ? 'none' : 'manifests';
  const options = { paths: [MANIFESTS], nodeName: NODE_NAME, rescanMs: RESCAN_MS, references } as const;
  const sources: [SimSource, PodSource][] = [['file', createFileSource(options, host)]];
  const bounded = api && withApiTimeouts(api, host);
  if (bounded) sources.push(['api', createApiSource({ nodeName: NODE_NAME }, { ...host, api: bounded, log })]);
  return sources.map(([name, source]) => ({
    name,
    async *snapshots(signal) {
      if (delaysMs[name] > 0) await gate.clock.sleep(delaysMs[name], signal).catch(() => undefined);
      for await (const snapshot of source.snapshots(signal)) {
        if (gate.isClosed) return;
        yield notifyWhenRead(snapshot, () => {
          const pods = snapshot.pods.filter((pod) => !isMirrorPod(pod));
          if (!gate.isClosed) onSnapshot(name, pods);
        });
      }
    },
  }));
}

function fileOf(key: string): string {
  return `${MANIFESTS}/${key}.json`;
}

/** The agent holds back pods of the API server until their node is known: calls `onRead` when it reads the snapshot. */
function notifyWhenRead(snapshot: SourceSnapshot, onRead: () => void): SourceSnapshot {
  let wasRead = false;
  return {
    ...snapshot,
    get errors() {
      if (!wasRead) onRead();
      wasRead = true;
      return snapshot.errors;
    },
  };
}
