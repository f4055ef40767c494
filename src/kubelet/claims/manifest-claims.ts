import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '../../api/generated/core-v1.ts';
import type { Log } from '../../base/log.ts';
import { randomUid } from '../../base/random-uid.ts';
import { formatTime } from '../../base/rfc3339.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Random } from '../../host/random.ts';
import { type BoundClaim, LOCAL_PROVISIONER, type PodClaims, PROVISIONED_BY } from '../objects/pod-claims.ts';
import type { PodStep } from '../pod/pod-step.ts';
import type { SourceName } from '../sources/pod-source.ts';
import { joinObjects, type SourceObjects } from '../sources/source-objects.ts';
import { type Binding, bindClaim, LOCAL_CLASS, provisionedName } from './bind-claim.ts';
import type { ClaimRecord, RecordedPod } from './claim-record.ts';
import { type ClaimStore, podText, type RecordsOnDisk } from './claim-store.ts';
import { requestOf } from './match-volume.ts';

export interface ManifestClaimsDeps {
  readonly store: ClaimStore;
  readonly fs: FileSystem;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Random;
  readonly log: Log;
  /** Called when a claim that the pod waits for may have become usable. */
  readonly onChange: (uid: string) => void;
}

/**
 * The claims of a node without a cluster: from the manifests and, for ephemeral volumes, from the pods themselves. It
 * does what the controllers of a cluster do: binds claims to volumes, creates directories for those that none suits, and
 * removes ephemeral volumes with their pods.
 *
 * As a step it ends the uses of a pod after its volumes are released.
 */
export class ManifestClaims implements PodClaims, PodStep {
  readonly wakesPods = true;
  readonly #deps: ManifestClaimsDeps;
  readonly #bySource = new Map<SourceName, SourceObjects>();
  #claims: ReadonlyMap<string, PersistentVolumeClaim> = new Map();
  #volumes: readonly PersistentVolume[] = [];
  /** The claims that pods wait for, by the UID of the pod. */
  readonly #waiting = new Map<string, Set<string>>();

  constructor(deps: ManifestClaimsDeps) {
    this.#deps = deps;
  }

  /** Replaces all objects of a source. Of two objects with the same name the first one wins. */
  set(source: SourceName, objects: SourceObjects): void {
    this.#bySource.set(source, objects);
    const { claims, volumes } = joinObjects([...this.#bySource.values()]);
    this.#claims = new Map(
      claims.toReversed().map((claim) => [keyOf(claim.metadata.namespace, claim.metadata.name), claim]),
    );
    this.#volumes = [
      ...new Map(volumes.toReversed().map((volume) => [volume.metadata.name, volume])).values(),
    ].toReversed();
    this.#wakeWaiting();
  }

  /** Binds the claim unless it is bound, and records that the pod uses it. */
  async find(pod: Pod, name: string, signal: AbortSignal): Promise<BoundClaim> {
    const { uid, namespace } = pod.metadata;
    const waiting = this.#waiting.get(uid) ?? new Set();
    this.#waiting.set(uid, waiting.add(name));
    const claim = ephemeralClaim(pod, name) ?? this.#claims.get(keyOf(namespace, name));
    if (!claim) throw new Error(`persistentvolumeclaim "${name}" not found`);
    const { store } = this.#deps;
    const bound = await store.exclusively((onDisk) => this.#use(pod, claim, onDisk), signal);
    waiting.delete(name);
    return bound;
  }

  async prepare(): Promise<void> {}

  async release({ metadata: { uid } }: Pod, signal: AbortSignal): Promise<void> {
    this.#waiting.delete(uid);
    if (await this.#deps.store.stopUsing(uid, signal)) this.#wakeWaiting();
  }

  async purge({ metadata: { uid } }: Pod, signal: AbortSignal): Promise<void> {
    await this.#deps.store.removeOwned(uid, signal);
    this.#wakeWaiting();
  }

  #wakeWaiting(): void {
    for (const [uid, claims] of this.#waiting) if (claims.size > 0) this.#deps.onChange(uid);
  }

  async #use(pod: Pod, claim: PersistentVolumeClaim, { records, unreadable }: RecordsOnDisk): Promise<BoundClaim> {
    const { store, clock, random } = this.#deps;
    const { namespace = '', name } = claim.metadata;
    const error = unreadable.get(keyOf(namespace, name));
    if (error) throw error;
    const binding = bindClaim(claim, { volumes: this.#volumes, records });
    const known = records.find((each) => each.namespace === namespace && each.name === name);
    const owner = claim.metadata.ownerReferences ? recordedPod(pod) : undefined;
    if (known) checkOwner(known, owner, pod);
    const record: ClaimRecord = {
      namespace,
      name,
      uid: known?.uid ?? randomUid(random),
      created: known?.created ?? formatTime(clock.now()),
      spec: claim.spec,
      volume: binding.kind === 'manifest' ? { kind: 'manifest', name: binding.volume.metadata.name } : binding,
      path: pathOf(binding, store.directoryOf({ namespace, name })),
      ...(owner && { owner }),
      usedBy: [...(known?.usedBy ?? []).filter(({ uid }) => uid !== pod.metadata.uid), recordedPod(pod)],
    };
    const bound = boundClaim(claim, record, binding);
    checkOtherPods(bound.volume, record.usedBy, pod);
    if (!known && binding.kind === 'provisioned') await this.#warnIfScarce(claim);
    await store.save(record);
    return bound;
  }

  /** The size of a directory is not limited: the request is compared with the disk once. */
  async #warnIfScarce(claim: PersistentVolumeClaim): Promise<void> {
    const { fs, store, log } = this.#deps;
    const { namespace = '', name } = claim.metadata;
    const { availableBytes } = await fs.usage(store.folder);
    const requestedBytes = requestOf(claim).value();
    if (requestedBytes <= BigInt(availableBytes)) return;
    const facts = { claim: `${namespace}/${name}`, requestedBytes: String(requestedBytes), availableBytes };
    log.warn('the disk has less free space than a claim requests', facts);
  }
}

function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace}/${name}`;
}

function recordedPod({ metadata: { uid, namespace, name } }: Pod): RecordedPod {
  return { uid, namespace, name };
}

/** The claim that a cluster would create for an ephemeral volume; `undefined` for a claim of its own. */
function ephemeralClaim(pod: Pod, claimName: string): PersistentVolumeClaim | undefined {
  const { name: podName, namespace, uid } = pod.metadata;
  const isNamed = ({ name, ephemeral }: Volume): boolean => Boolean(ephemeral) && `${podName}-${name}` === claimName;
  const template = pod.spec.volumes?.find(isNamed)?.ephemeral?.volumeClaimTemplate;
  if (!template) return undefined;
  const owner = { apiVersion: 'v1', kind: 'Pod', name: podName, uid, controller: true, blockOwnerDeletion: true };
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { ...template.metadata, name: claimName, namespace, ownerReferences: [owner] },
    spec: template.spec,
  };
}

/** A claim of the same name that was not created for this pod must not be used. */
function checkOwner(known: ClaimRecord, owner: RecordedPod | undefined, { metadata }: Pod): void {
  if (known.owner?.uid === owner?.uid) return;
  const claim = `${known.namespace}/${known.name}`;
  if (owner) {
    const pod = `${metadata.namespace}/${metadata.name}`;
    throw new Error(`PVC ${claim} was not created for pod ${pod} (pod is not owner)`);
  }
  const pod = known.owner && podText(known.owner);
  throw new Error(`PersistentVolumeClaim "${known.name}" is the ephemeral volume of pod ${pod}`);
}

/** kubelet's rule for a volume whose only access mode is ReadWriteOncePod, which names the other pod here. */
function checkOtherPods({ spec }: PersistentVolume, usedBy: readonly RecordedPod[], pod: Pod): void {
  const modes = spec.accessModes ?? [];
  const other = usedBy.find(({ uid }) => uid !== pod.metadata.uid);
  if (modes.length !== 1 || modes[0] !== 'ReadWriteOncePod' || !other) return;
  throw new Error(
    `volume uses the ReadWriteOncePod access mode and is already in use by another pod (${podText(other)})`,
  );
}

function pathOf(binding: Binding, directory: string): string | undefined {
  if (binding.kind === 'provisioned') return directory;
  return binding.volume.spec.hostPath?.path ?? binding.volume.spec.local?.path;
}

function boundClaim(claim: PersistentVolumeClaim, record: ClaimRecord, binding: Binding): BoundClaim {
  const { namespace, name, uid } = record;
  const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid };
  const volume = binding.kind === 'manifest' ? binding.volume : provisionedVolume(record);
  const { accessModes, capacity } = volume.spec;
  return {
    claim: {
      ...claim,
      metadata: { ...claim.metadata, uid },
      spec: { ...claim.spec, volumeName: volume.metadata.name },
      status: { ...claim.status, phase: 'Bound', accessModes, capacity },
    },
    volume: { ...volume, spec: { ...volume.spec, claimRef }, status: { ...volume.status, phase: 'Bound' } },
  };
}

/** The PersistentVolume that a provisioner would create for a directory: a local volume, so that `fsGroup` and labels apply to it. */
function provisionedVolume({ uid, spec, path = '', owner }: ClaimRecord): PersistentVolume {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: provisionedName(uid), annotations: { [PROVISIONED_BY]: LOCAL_PROVISIONER } },
    spec: {
      accessModes: spec.accessModes,
      capacity: spec.resources?.requests,
      local: { path },
      persistentVolumeReclaimPolicy: owner ? 'Delete' : 'Retain',
      storageClassName: LOCAL_CLASS,
      volumeMode: 'Filesystem',
    },
  };
}
