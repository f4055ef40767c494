import type { Pod } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import { NamespaceMode, UserNamespace } from '../../cri/generated/runtime-v1.ts';
import { FileSystemError } from '../../host/file-system.ts';
import type { RuntimeFeatures } from '../pleg/runtime-features.ts';
import { CausedError } from '../pod/pod-cause.ts';
import { podDirectory } from '../pod/pod-paths.ts';
import type { PodStep } from '../pod/pod-step.ts';
import { IdRanges } from './id-ranges.ts';
import { IDS_PER_POD, type IdRange, idSpace } from './id-space.ts';
import { type KubeletIdsDeps, kubeletIds } from './kubelet-ids.ts';
import { mappingsText, parseMappings } from './mappings-file.ts';

export interface UserNamespacesDeps extends KubeletIdsDeps {
  readonly features: Pick<RuntimeFeatures, 'refresh'>;
  readonly settings: {
    readonly rootDir: string;
    readonly maxPods: number;
    /** Absent: 65536. */
    readonly userNamespaceIdsPerPod?: number | undefined;
  };
}

/**
 * The user namespaces of pods (`hostUsers: false`): each pod has its own range of host ids.
 *
 * 1. A pod keeps its range as long as anything of it runs, also across restarts: the range is in a file of the pod's
 *    directory before the runtime gets it.
 * 2. The ranges of previous processes are read before the first new one is assigned.
 * 3. A range is free again only after its file is removed.
 */
export class UserNamespaces implements PodStep {
  readonly #deps: UserNamespacesDeps;
  /** The lifetime of the agent: ranges that are read for one pod serve all. */
  readonly #life: AbortSignal;
  #ranges: Promise<IdRanges> | undefined;

  constructor(deps: UserNamespacesDeps, life: AbortSignal) {
    this.#deps = deps;
    this.#life = life;
  }

  /** The user namespace of a pod in CRI terms. Rejects with kubelet's message if it is not available. */
  async namespaceFor({ spec, metadata }: Pod, runtimeHandler: string, signal: AbortSignal): Promise<UserNamespace> {
    if (spec.hostUsers !== false) return UserNamespace.fromPartial({ mode: NamespaceMode.NODE });
    await this.#requireSupport(runtimeHandler, signal);
    const { first, length } = await this.#rangeOf(metadata.uid);
    const mapping = { hostId: first, containerId: 0, length };
    return UserNamespace.fromPartial({ mode: NamespaceMode.POD, uids: [mapping], gids: [mapping] });
  }

  /** The range is assigned with the sandbox, so that a failure is a sandbox error. */
  async prepare(): Promise<void> {}

  async release({ metadata }: Pod): Promise<void> {
    await this.#deps.fs.remove(this.#file(metadata.uid));
    // No range was requested yet, or the existing ones could not be read: then there is nothing to release.
    const ranges = await this.#ranges?.catch(() => undefined);
    ranges?.release(metadata.uid);
  }

  async #requireSupport(handler: string, signal: AbortSignal): Promise<void> {
    const known = await this.#deps.features.refresh(handler, signal);
    if (known !== 'unlisted' && known.userNamespaces) return;
    const subject = handler === '' ? 'runtime' : `RuntimeClass handler "${handler}"`;
    const detail = known === 'unlisted' ? `: the handler "${handler}" is not known` : '';
    const message = `can't set \`spec.hostUsers: false\`, ${subject} does not support user namespaces${detail}`;
    throw new CausedError(message, { kind: 'userNamespacesUnsupported' });
  }

  async #rangeOf(uid: string): Promise<IdRange> {
    const ranges = await this.#allRanges();
    const kept = await withContext('user namespace', async () => {
      const range = await this.#read(uid);
      if (range) ranges.record(uid, range);
      return range;
    });
    return kept ?? withContext('create user namespace', () => this.#newRange(uid, ranges));
  }

  async #newRange(uid: string, ranges: IdRanges): Promise<IdRange> {
    const range = ranges.allocate(uid);
    const path = this.#file(uid);
    try {
      await this.#deps.fs.writeAtomic(path, mappingsText(range), { mode: 0o600 });
      return range;
    } catch (error) {
      // The range is not free while its file may exist.
      await this.#deps.fs.remove(path).then(
        () => ranges.release(uid),
        () => undefined,
      );
      throw error;
    }
  }

  async #allRanges(): Promise<IdRanges> {
    this.#ranges ??= this.#restore();
    try {
      return await this.#ranges;
    } catch (error) {
      this.#ranges = undefined;
      throw error;
    }
  }

  async #restore(): Promise<IdRanges> {
    const { rootDir, maxPods, userNamespaceIdsPerPod = IDS_PER_POD } = this.#deps.settings;
    const ids = await withContext('kubelet mappings', () => kubeletIds(userNamespaceIdsPerPod, this.#deps, this.#life));
    const ranges = new IdRanges(idSpace(ids, userNamespaceIdsPerPod, maxPods));
    for (const { name, kind } of await this.#deps.fs.readDirectory(`${rootDir}/pods`)) {
      if (kind !== 'directory' || name.startsWith('.')) continue;
      await withContext(`record pod mappings for existing pod "${name}"`, async () => {
        const kept = await this.#read(name);
        if (kept) ranges.record(name, kept);
      });
    }
    return ranges;
  }

  async #read(uid: string): Promise<IdRange | undefined> {
    const text = await this.#readFile(uid);
    return text === '' ? undefined : parseMappings(text);
  }

  /** Empty if there is no file: another pod's file may be removed at any time. */
  async #readFile(uid: string): Promise<string> {
    try {
      return await this.#deps.fs.readText(this.#file(uid));
    } catch (error) {
      if (error instanceof FileSystemError && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return '';
      throw error;
    }
  }

  #file(uid: string): string {
    return `${podDirectory(this.#deps.settings.rootDir, uid)}/userns`;
  }
}

async function withContext<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new Error(`${what}: ${errorText(error)}`, { cause: error });
  }
}
