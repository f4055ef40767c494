import type { CriCode } from '../../cri/cri-error.ts';
import type {
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  NodeUnstageVolumeRequest,
  VolumeCapability,
} from '../generated/csi-v1.ts';

/** A rule of the CSI specification that a call broke. */
export class BrokenRule extends Error {
  readonly code: CriCode;

  constructor(code: CriCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Where one volume is on the node. Plain values, so that a driver process can keep them in a file. */
export interface FakeCsiVolume {
  readonly staged: { readonly path: string; readonly capability: string } | undefined;
  readonly published: readonly { readonly path: string; readonly how: string }[];
  readonly capacityBytes: number;
}

const NOWHERE: FakeCsiVolume = { staged: undefined, published: [], capacityBytes: 1024 ** 3 };

/** kubelet sets it for inline volumes, which are never staged. */
const EPHEMERAL = 'csi.storage.k8s.io/ephemeral';

/** The volumes of a driver, and the rules of CSI about the order of calls. Pure: no call has an effect elsewhere. */
export class FakeCsiVolumes {
  readonly #byId = new Map<string, FakeCsiVolume>();

  constructor(volumes: Readonly<Record<string, FakeCsiVolume>> = {}) {
    for (const [id, volume] of Object.entries(volumes)) this.#byId.set(id, volume);
  }

  /** All volumes that are staged or published. */
  all(): Readonly<Record<string, FakeCsiVolume>> {
    return Object.fromEntries(this.#byId);
  }

  find(id: string): FakeCsiVolume | undefined {
    return this.#byId.get(id);
  }

  /** Whether the volume has to be mounted; `false` for a repeated call. Throws a `BrokenRule`. */
  needsStage({ volumeId, stagingTargetPath, volumeCapability }: NodeStageVolumeRequest): boolean {
    const staged = this.find(volumeId)?.staged;
    if (staged === undefined) return true;
    if (staged.path !== stagingTargetPath) {
      throw new BrokenRule('FailedPrecondition', `volume ${volumeId} is already staged at ${staged.path}`);
    }
    if (staged.capability !== textOf(volumeCapability)) {
      throw new BrokenRule('AlreadyExists', `volume ${volumeId} is already staged with a different capability`);
    }
    return false;
  }

  stage({ volumeId, stagingTargetPath, volumeCapability }: NodeStageVolumeRequest): void {
    this.#change(volumeId, { staged: { path: stagingTargetPath, capability: textOf(volumeCapability) } });
  }

  needsUnstage({ volumeId, stagingTargetPath }: NodeUnstageVolumeRequest): boolean {
    const volume = this.find(volumeId);
    if (volume?.staged?.path !== stagingTargetPath) return false;
    const [published] = volume.published;
    if (published) {
      throw new BrokenRule('FailedPrecondition', `volume ${volumeId} is still published at ${published.path}`);
    }
    return true;
  }

  unstage(volumeId: string): void {
    this.#change(volumeId, { staged: undefined });
  }

  needsPublish(request: NodePublishVolumeRequest, stages: boolean): boolean {
    const { volumeId, targetPath, stagingTargetPath, volumeContext } = request;
    const volume = this.find(volumeId) ?? NOWHERE;
    const mustBeStaged = stages && volumeContext[EPHEMERAL] !== 'true';
    if (mustBeStaged && (volume.staged === undefined || volume.staged.path !== stagingTargetPath)) {
      throw new BrokenRule('FailedPrecondition', `volume ${volumeId} is not staged at "${stagingTargetPath}"`);
    }
    const there = volume.published.find(({ path }) => path === targetPath);
    if (there && there.how !== howOf(request)) {
      throw new BrokenRule('AlreadyExists', `volume ${volumeId} is already published at ${targetPath} in another way`);
    }
    return there === undefined;
  }

  publish(request: NodePublishVolumeRequest): void {
    const { volumeId, targetPath } = request;
    const others = this.#publishedElsewhere(volumeId, targetPath);
    this.#change(volumeId, { published: [...others, { path: targetPath, how: howOf(request) }] });
  }

  unpublish(volumeId: string, targetPath: string): void {
    this.#change(volumeId, { published: this.#publishedElsewhere(volumeId, targetPath) });
  }

  /** Never shrinks. Returns the size of the volume. */
  expand(volumeId: string, requiredBytes: number): number {
    const { capacityBytes: before } = this.find(volumeId) ?? NOWHERE;
    const capacityBytes = Math.max(before, requiredBytes);
    this.#change(volumeId, { capacityBytes });
    return capacityBytes;
  }

  #publishedElsewhere(volumeId: string, targetPath: string): FakeCsiVolume['published'] {
    return (this.find(volumeId) ?? NOWHERE).published.filter(({ path }) => path !== targetPath);
  }

  #change(volumeId: string, change: Partial<FakeCsiVolume>): void {
    const volume = { ...(this.find(volumeId) ?? NOWHERE), ...change };
    if (volume.staged === undefined && volume.published.length === 0) this.#byId.delete(volumeId);
    else this.#byId.set(volumeId, volume);
  }
}

/** What must not differ when a volume is published again. The contexts may: kubelet republishes with new tokens. */
function howOf({ readonly, volumeCapability }: NodePublishVolumeRequest): string {
  return `${readonly ? 'readOnly' : 'writable'} ${textOf(volumeCapability)}`;
}

function textOf(capability: VolumeCapability | undefined): string {
  return JSON.stringify(capability);
}
