import { CausedError, type ErrorCause } from '../pod/pod-cause.ts';
import type { AttachLimits } from './attach-limits.ts';
import type { AttachedVolumes, PendingAttachment } from './attached-volumes.ts';
import type { NodeVolumes } from './node-volumes.ts';
import type { VolumeSpec } from './volume-spec.ts';
import type { VolumeWaits } from './volume-waits.ts';

export interface PodAttachmentsDeps {
  readonly attachedVolumes: AttachedVolumes;
  readonly nodeVolumes: Pick<NodeVolumes, 'usersOf' | 'isOrphan'>;
  readonly attachLimits: AttachLimits;
}

/** kubelet's messages. */
const MESSAGES: Readonly<Record<PendingAttachment, string>> = {
  notReported: "Volume has not been added to the list of VolumesInUse in the node's volume status",
  notAttached: 'Volume not attached according to node status',
};

/** The attached volumes as the plugins of pods use them. A volume of a pod that is released is not in use any more. */
export class PodAttachments {
  readonly #deps: PodAttachmentsDeps;
  readonly #waits: VolumeWaits;
  readonly #isSetUp: (podUid: string, volume: string) => boolean;
  readonly #idsOfPods = new Map<string, Set<string>>();

  /** `isSetUp`: the pod has the volume, and does not wait if it is not attached any more. */
  constructor(deps: PodAttachmentsDeps, waits: VolumeWaits, isSetUp: (podUid: string, volume: string) => boolean) {
    this.#deps = deps;
    this.#waits = waits;
    this.#isSetUp = isSetUp;
  }

  /** For one volume of a pod. */
  forVolume(podUid: string, spec: VolumeSpec): AttachedVolumes {
    const { attachedVolumes } = this.#deps;
    return {
      pending: (id) => attachedVolumes.pending(id),
      release: (id) => attachedVolumes.release(id),
      waitUntilAttached: async (id, signal) => {
        const pending = attachedVolumes.pending(id);
        if (pending && this.#isSetUp(podUid, spec.volume.name)) throw notAttached(spec, pending);
        this.#idsOfPods.set(podUid, (this.#idsOfPods.get(podUid) ?? new Set()).add(id));
        const causeOf = (): ErrorCause | undefined => causeOfPending(spec, attachedVolumes.pending(id));
        const volume = { podUid, volume: spec.volume.name };
        return this.#waits.during(volume, causeOf, () => attachedVolumes.waitUntilAttached(id, signal), signal);
      },
    };
  }

  /** Whether a volume of the pod is not attached because the node has no room for it. */
  async isLimitExceeded(podUid: string, signal: AbortSignal): Promise<boolean> {
    const { attachedVolumes, attachLimits } = this.#deps;
    const unattached = [...(this.#idsOfPods.get(podUid) ?? [])].filter((id) => attachedVolumes.pending(id));
    const answers = await Promise.all(unattached.map((id) => attachLimits.isExceeded(id, signal)));
    return answers.includes(true);
  }

  /** Called when the volumes of the pod are removed. Covers volumes that were attached, but never mounted. */
  async release(podUid: string, signal: AbortSignal): Promise<void> {
    const ids = this.#idsOfPods.get(podUid) ?? [];
    for (const id of ids) {
      if (this.#deps.nodeVolumes.isOrphan(id)) continue;
      const users = await this.#deps.nodeVolumes.usersOf(id, signal);
      const isShared = [...this.#idsOfPods].some(([uid, others]) => uid !== podUid && others.has(id));
      if (!isShared && [...users].every((uid) => uid === podUid)) this.#deps.attachedVolumes.release(id);
    }
    this.#idsOfPods.delete(podUid);
  }
}

function notAttached(spec: VolumeSpec, pending: PendingAttachment): CausedError {
  return new CausedError(`${MESSAGES[pending]} for volume "${spec.name}"`, causeOfPending(spec, pending));
}

function causeOfPending({ name }: VolumeSpec, pending: PendingAttachment | undefined): ErrorCause | undefined {
  return pending && { kind: 'volumeNotAttached', persistentVolume: name, isReported: pending === 'notAttached' };
}
