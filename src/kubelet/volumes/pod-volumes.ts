import { allContainers } from '../../api/all-containers.ts';
import type { Pod, Volume } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import type { PodEvents } from '../events/pod-events.ts';
import { podCauseOf } from '../pod/pod-cause.ts';
import { PodError } from '../pod/pod-error.ts';
import { podDirectory } from '../pod/pod-paths.ts';
import type { PodStep } from '../pod/pod-step.ts';
import { waitForAll } from '../sync/wait-for-all.ts';
import { type ContentVolume, contentVolume } from './content-sources.ts';
import { type ContentVolumeDeps, type PlacedContent, prepareContent, refreshContent } from './content-volume.ts';
import { prepareEmptyDir } from './empty-dir.ts';
import { prepareHostPath } from './host-path.ts';
import { innermostFirst, mountPointsBelow } from './mount-points.ts';
import { pluginsDirectory, subPathsDirectory, volumesDirectory } from './volume-paths.ts';
import { shownContent } from './write-content.ts';

export interface PodVolumesDeps extends ContentVolumeDeps {
  readonly events: PodEvents;
}

/** A volume as containers get it. */
export interface HostVolume {
  /** On the host. */
  readonly path: string;
  /** Whatever the container says. */
  readonly readOnly: boolean;
}

interface PlacedVolume extends HostVolume {
  /** What is there as long as nobody takes the volume away; absent: it is the machine's own. */
  readonly mark?: string;
  /** Of a volume whose content may change by itself. */
  readonly content?: { readonly volume: ContentVolume; readonly placed: PlacedContent };
  /** The content is that of an earlier version of the pod. */
  readonly isStale?: boolean;
}

type ContentOnHost = PlacedVolume & Required<Pick<PlacedVolume, 'content'>>;

/**
 * The volumes of pods, on the host.
 *
 * 1. `prepare` may be repeated: what is in place stays as it is, also when it could not be made today.
 * 2. `refresh` touches only what is made of objects that are others now; what cannot be had any more stays as it was.
 * 3. `release` is safe without `prepare`; it finds what there is on the machine, not in the pod's spec.
 * 4. Nothing is ever removed through a mount: a volume that cannot be unmounted stays, and `release` rejects.
 */
export class PodVolumes implements PodStep {
  readonly name = 'volumes';
  readonly #deps: PodVolumesDeps;
  readonly #placed = new Map<string, ReadonlyMap<string, PlacedVolume>>();

  constructor(deps: PodVolumesDeps) {
    this.#deps = deps;
  }

  /** Rejects with a `PodError` (`FailedMount`) that names the volume. */
  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const volumes = mountedVolumes(pod);
    const folder = podDirectory(this.#deps.settings.rootDir, pod.metadata.uid);
    const mountPoints = volumes.length > 0 ? await mountPointsBelow(folder, this.#deps) : [];
    const place = (volume: Volume): Promise<PlacedVolume> =>
      this.#place(pod, volume, mountPoints, signal).catch((error: unknown) => this.#keep(pod, volume, error, signal));
    const { done, failures } = await forEach(volumes, place, signal);
    this.#refuse(pod, failures);
    this.#placed.set(pod.metadata.uid, done);
  }

  isStale(uid: string): boolean {
    return [...(this.#placed.get(uid)?.values() ?? [])].some(({ isStale = false }) => isStale);
  }

  async refresh(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const before = this.#placed.get(uid) ?? new Map<string, PlacedVolume>();
    if (!(await this.#areInPlace(before.values()))) return this.prepare(pod, signal);
    const changing = [...before].flatMap(([name, volume]) => {
      const { content } = volume;
      return content ? [{ name, update: () => this.#update(pod, { ...volume, content }, signal) }] : [];
    });
    const { done, failures } = await forEach(changing, ({ update }) => update(), signal);
    this.#placed.set(uid, new Map([...before, ...done]));
    this.#refuse(pod, failures);
  }

  /** Volumes of a prepared pod, by name. */
  volumes(uid: string): ReadonlyMap<string, HostVolume> {
    return this.#placed.get(uid) ?? new Map();
  }

  async release(pod: Pod, signal: AbortSignal): Promise<void> {
    await this.releaseByUid(pod.metadata.uid, signal);
  }

  /** For a pod of which nothing but its folder is known. */
  async releaseByUid(uid: string, signal: AbortSignal): Promise<void> {
    const { fs, mounts, settings } = this.#deps;
    const { rootDir } = settings;
    this.#placed.delete(uid);
    this.#deps.tokens.forget(uid);
    const own = [subPathsDirectory(rootDir, uid), volumesDirectory(rootDir, uid)];
    const mountPoints = await mountPointsBelow(podDirectory(rootDir, uid), this.#deps);
    const ours = mountPoints.filter((each) => own.some((folder) => each.startsWith(`${folder}/`)));
    for (const group of innermostFirst(ours)) {
      signal.throwIfAborted();
      await waitForAll(group.map((path) => mounts.unmount(path)));
    }
    // First what says that volumes are ready: half-removed ones must not look it.
    await fs.removeTree(pluginsDirectory(rootDir, uid));
    for (const folder of own) await fs.removeTree(folder);
  }

  async #place(pod: Pod, volume: Volume, mountPoints: readonly string[], signal: AbortSignal): Promise<PlacedVolume> {
    const { name, hostPath, emptyDir } = volume;
    if (hostPath) return { path: await prepareHostPath(this.#deps.fs, hostPath), readOnly: false };
    if (emptyDir) {
      const folder = { name, type: 'emptyDir', source: emptyDir } as const;
      const path = await prepareEmptyDir(pod, folder, mountPoints, this.#deps);
      return { path, readOnly: false, mark: path };
    }
    const content = contentVolume(volume);
    if (!content) throw unsupported(volume);
    const placed = await prepareContent(pod, content, mountPoints, this.#deps, signal);
    const { path } = placed;
    return { path, readOnly: true, mark: shownContent(path), content: { volume: content, placed } };
  }

  async #update(pod: Pod, before: ContentOnHost, signal: AbortSignal): Promise<PlacedVolume> {
    const { volume, placed } = before.content;
    const now = await refreshContent(pod, volume, placed, this.#deps, signal);
    return { ...before, content: { volume, placed: now }, isStale: false };
  }

  /** What an earlier version of the pod got serves this one too, as in kubelet; that it is old is told. */
  async #keep(pod: Pod, { name }: Volume, trouble: unknown, signal: AbortSignal): Promise<PlacedVolume> {
    const kept = this.#placed.get(pod.metadata.uid)?.get(name);
    if (signal.aborted || !kept || !(await this.#areInPlace([kept]))) throw trouble;
    const { reason, message, podCause } = mountError(name, trouble);
    this.#deps.events.record(pod, 'Warning', reason, message, undefined, podCause);
    if (!kept.content) return kept;
    // Whatever is found next time, it is not what the content was made of for this version.
    const { volume, placed } = kept.content;
    return { ...kept, content: { volume, placed: { ...placed, sources: [] } }, isStale: true };
  }

  async #areInPlace(volumes: Iterable<PlacedVolume>): Promise<boolean> {
    const marks = Array.from(volumes).flatMap(({ mark }) => mark ?? []);
    const found = await Promise.all(marks.map((mark) => this.#deps.fs.stat(mark)));
    return !found.includes(undefined);
  }

  /** Each volume has an event of its own. */
  #refuse(pod: Pod, failures: readonly PodError[]): void {
    const [first, ...others] = failures;
    if (first === undefined) return;
    if (others.length === 0) throw first;
    for (const { reason, message, podCause } of failures) {
      this.#deps.events.record(pod, 'Warning', reason, message, undefined, podCause);
    }
    const message = failures.map((error) => error.message).join(', ');
    // Several volumes failed: the typed cause names the first one, the message has the errors of all.
    const { podCause } = first;
    const cause = podCause?.kind === 'volumeFailed' ? { podCause: { ...podCause, cause: undefined } } : {};
    throw new PodError('FailedMount', message, { silent: true, ...cause });
  }
}

/** Those that some container mounts; the others might as well not be there. */
function mountedVolumes({ spec }: Pod): readonly Volume[] {
  const { volumes = [] } = spec;
  const names = new Set(allContainers(spec).flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)));
  return volumes.filter(({ name }) => names.has(name));
}

interface Outcomes {
  readonly done: ReadonlyMap<string, PlacedVolume>;
  readonly failures: readonly PodError[];
}

/** Side by side: one that has to wait for its objects does not hold up the others. */
async function forEach<T extends Pick<Volume, 'name'>>(
  volumes: readonly T[],
  work: (volume: T) => Promise<PlacedVolume>,
  signal: AbortSignal,
): Promise<Outcomes> {
  const outcomes = await Promise.allSettled(volumes.map(work));
  signal.throwIfAborted();
  const done = new Map<string, PlacedVolume>();
  const failures: PodError[] = [];
  for (const [index, { name }] of volumes.entries()) {
    const outcome = outcomes[index];
    if (outcome?.status === 'fulfilled') done.set(name, outcome.value);
    else failures.push(mountError(name, outcome?.reason));
  }
  return { done, failures };
}

function mountError(name: string, cause: unknown): PodError {
  if (cause instanceof PodError) return cause;
  const podCause = { kind: 'volumeFailed', volume: name, cause: podCauseOf(cause) } as const;
  const message = `MountVolume.SetUp failed for volume "${name}" : ${errorText(cause)}`;
  return new PodError('FailedMount', message, { cause, podCause });
}

function unsupported({ name, ...source }: Volume): PodError {
  const type = Object.entries(source).find(([, value]) => value !== undefined)?.[0] ?? 'none';
  const message = `volume "${name}" is of type ${type}, which is not supported yet`;
  return new PodError('FailedMount', message, { podCause: { kind: 'volumeFailed', volume: name, cause: undefined } });
}
