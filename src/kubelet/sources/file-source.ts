import type { Pod } from '../../api/generated/core-v1.ts';
import { ChangeSignal } from '../../base/change-signal.ts';
import { errorText } from '../../base/error-text.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { FileSystemError } from '../../host/file-system.ts';
import { applyRuntimeClass } from './apply-runtime-class.ts';
import { retainLastGood } from './retain-last-good.ts';
import { MAX_MANIFEST_BYTES, parseStaticPods, type StaticReferences } from './parse-static-pods.ts';
import type { PodSource, SourceError, SourceSnapshot } from './pod-source.ts';
import { joinObjects } from './source-objects.ts';

/** How long a folder or file that is not there is left alone before it is looked for again. */
const MISSING_MS = 1_000;

export interface FileSourceOptions {
  /** Files, or folders whose files are read (not those below them, nor names that begin with a dot). */
  readonly paths: readonly string[];
  readonly nodeName: string;
  /** The net under the watch: everything is read again this often. */
  readonly rescanMs: number;
  /** Absent: `none`. */
  readonly references?: StaticReferences;
}

export interface FileSourceDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
}

interface Manifest extends SourceSnapshot {
  /** Absent: it was not read. */
  readonly text: string | undefined;
  /** The last try to read it failed; the rest is of an earlier one. */
  readonly readFailed: boolean;
}

/**
 * Pods from manifests on this machine's disk.
 *
 * A file that cannot be read or understood any more takes no running pod away: what was last good in it stays wanted
 * until the file is mended or removed. Until everything could be read once, the snapshots are incomplete.
 *
 * As in kubelet, a file that is removed and written again is a removal and an addition, however soon that happens: its
 * pods are missing from one snapshot, though their UIDs stay the same.
 */
export function createFileSource(options: FileSourceOptions, deps: FileSourceDeps): PodSource {
  return { name: 'file', snapshots: (signal) => snapshots(options, deps, signal) };
}

async function* snapshots(
  options: FileSourceOptions,
  deps: FileSourceDeps,
  signal: AbortSignal,
): AsyncGenerator<SourceSnapshot> {
  const bell = new ChangeSignal();
  const removed = new Set<string>();
  signal.addEventListener('abort', () => bell.close(), { once: true });
  const tasks = [
    ...options.paths.map((path) => ringOnChange(path, removed, bell, deps, signal)),
    rescan(options, bell, deps, signal),
  ];
  let known: ReadonlyMap<string, Manifest> = new Map();
  let pods: readonly Pod[] = [];
  let told: string | undefined;
  let wasComplete = false;
  do {
    const left = splitRemoved(known, removed);
    removed.clear();
    const { manifests, problems, isUnread } = await readAll(options, left.manifests, deps);
    known = manifests;
    wasComplete ||= !isUnread;
    if (isUnread) ringSoon(bell, deps, signal);
    const all = combine(manifests, problems, options, pods);
    ({ pods } = all);
    const snapshot: SourceSnapshot = { ...all, ...(!wasComplete && { incomplete: true }) };
    const without = withoutPods(snapshot, left.uids);
    if (without !== snapshot && !signal.aborted) yield without;
    const state = JSON.stringify(snapshot);
    if ((state !== told || without !== snapshot) && !signal.aborted) yield snapshot;
    told = state;
  } while (await bell.next());
  await Promise.all(tasks);
}

/** What is known without the files that were removed, and the UIDs of the pods that these held. */
function splitRemoved(
  known: ReadonlyMap<string, Manifest>,
  removed: ReadonlySet<string>,
): { manifests: ReadonlyMap<string, Manifest>; uids: ReadonlySet<string> } {
  const gone = [...removed].flatMap((file) => known.get(file)?.pods ?? []);
  return {
    manifests: new Map([...known].filter(([file]) => !removed.has(file))),
    uids: new Set(gone.map(({ metadata }) => metadata.uid)),
  };
}

/** The same object when it has none of them. */
function withoutPods(snapshot: SourceSnapshot, uids: ReadonlySet<string>): SourceSnapshot {
  const pods = snapshot.pods.filter(({ metadata }) => !uids.has(metadata.uid));
  return pods.length === snapshot.pods.length ? snapshot : { ...snapshot, pods };
}

async function ringOnChange(
  path: string,
  removed: Set<string>,
  bell: ChangeSignal,
  { fs, clock }: FileSourceDeps,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const files of fs.watchRemovals(path, signal)) {
        for (const file of files) removed.add(file);
        bell.notify();
      }
    } catch {
      // Not there (any more): the reading tells of it, and the watch begins again when it is back.
      await clock.sleep(MISSING_MS, signal).catch(() => undefined);
    }
  }
}

/** What could not be read is tried again before the next rescan. */
function ringSoon(bell: ChangeSignal, { clock }: FileSourceDeps, signal: AbortSignal): void {
  clock.sleep(MISSING_MS, signal).then(
    () => bell.notify(),
    () => undefined, // the end was first
  );
}

async function rescan(
  { rescanMs }: FileSourceOptions,
  bell: ChangeSignal,
  { clock }: FileSourceDeps,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(rescanMs, signal).catch(() => undefined);
    bell.notify();
  }
}

async function readAll(
  options: FileSourceOptions,
  known: ReadonlyMap<string, Manifest>,
  { fs, clock }: FileSourceDeps,
): Promise<{ manifests: ReadonlyMap<string, Manifest>; problems: readonly SourceError[]; isUnread: boolean }> {
  const manifests = new Map<string, Manifest>();
  const problems: SourceError[] = [];
  let isUnread = false;
  for (const path of options.paths) {
    const files = await filesAt(path, fs).catch((error: unknown) => {
      problems.push({ location: path, message: errorText(error) });
      if (isMissing(error)) return [];
      // The folder is not readable: that says nothing about its files.
      isUnread = true;
      return [...known.keys()].filter((file) => isBelow(path, file));
    });
    for (const file of files) {
      const manifest = await readManifest(file, known.get(file), options, fs, clock.now());
      if (!manifest) continue;
      manifests.set(file, manifest);
      isUnread ||= manifest.readFailed;
    }
  }
  return { manifests, problems, isUnread };
}

async function filesAt(path: string, fs: FileSystem): Promise<string[]> {
  const stat = await fs.stat(path);
  if (!stat) throw new FileSystemError('ENOENT', 'read', path);
  if (stat.kind !== 'directory') return [path];
  const entries = await fs.readDirectory(path);
  const files = entries.filter(({ name, kind }) => !name.startsWith('.') && (kind === 'file' || kind === 'symlink'));
  return files.map(({ name }) => `${path.replace(/\/$/, '')}/${name}`);
}

function isBelow(path: string, file: string): boolean {
  return file === path || file.startsWith(`${path.replace(/\/$/, '')}/`);
}

/** `undefined` when the file is gone. */
async function readManifest(
  file: string,
  before: Manifest | undefined,
  { nodeName, references = 'none' }: FileSourceOptions,
  fs: FileSystem,
  nowMs: number,
): Promise<Manifest | undefined> {
  try {
    const stat = await fs.stat(file);
    if (!stat || stat.kind === 'directory') return undefined;
    // A pipe or a device could be waited for, or read, for ever.
    if (stat.kind !== 'file') return unusable(file, 'path is not a directory or file', before);
    if (stat.size > MAX_MANIFEST_BYTES) {
      return unusable(file, `the file is longer than ${MAX_MANIFEST_BYTES} bytes`, before);
    }
    const text = await fs.readText(file);
    if (before?.text === text && !before.readFailed) return before;
    const snapshot = parseStaticPods(text, { source: 'file', location: file, nodeName, nowMs, references });
    return { text, readFailed: false, ...retainLastGood(before, snapshot) };
  } catch (error) {
    if (isMissing(error)) return undefined;
    const problem = { location: file, message: errorText(error) };
    return { text: undefined, pods: [], ...before, readFailed: true, errors: [problem] };
  }
}

function unusable(file: string, message: string, before: Manifest | undefined): Manifest {
  const problem = { location: file, message };
  return { text: undefined, readFailed: false, ...retainLastGood(before, { pods: [], errors: [problem], isComplete: false }) };
}

function isMissing(error: unknown): boolean {
  return error instanceof FileSystemError && error.code === 'ENOENT';
}

/** A pod that its runtime class would not let in any more stays as it was. */
function combine(
  manifests: ReadonlyMap<string, Manifest>,
  problems: readonly SourceError[],
  { references }: FileSourceOptions,
  before: readonly Pod[],
): SourceSnapshot {
  const known = new Map(before.map((pod) => [pod.metadata.uid, pod]));
  const all = [...manifests.values()];
  const objects = joinObjects(all.flatMap((manifest) => manifest.objects ?? []));
  const wanted = all.flatMap(({ pods }) => pods);
  const applied = wanted.map((pod) => ({ uid: pod.metadata.uid, ...applyRuntimeClass(pod, objects.runtimeClasses) }));
  return {
    pods: applied.flatMap(({ uid, pod }) => pod ?? known.get(uid) ?? []),
    errors: [
      ...problems,
      ...all.flatMap((manifest) => manifest.errors),
      ...applied.flatMap(({ problem }) => problem ?? []),
    ],
    ...(references === 'beside' && { objects }),
  };
}
