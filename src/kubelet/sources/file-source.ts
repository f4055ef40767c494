import type { Pod } from '../../api/generated/core-v1.ts';
import { ChangeSignal } from '../../base/change-signal.ts';
import { errorText } from '../../base/error-text.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { FileSystemError } from '../../host/file-system.ts';
import { applyRuntimeClass } from './apply-runtime-class.ts';
import { MAX_MANIFEST_BYTES, parseStaticPods, type StaticReferences } from './parse-static-pods.ts';
import type { PodSource, SourceError, SourceSnapshot } from './pod-source.ts';
import { retainLastGood } from './retain-last-good.ts';
import { joinObjects } from './source-objects.ts';

/** Retry period for a missing directory or file. */
const MISSING_MS = 1_000;

export interface FileSourceOptions {
  /** Files, or directories whose files are read; subdirectories and dot files are ignored. */
  readonly paths: readonly string[];
  readonly nodeName: string;
  /** Safety net beside the watch: the period of complete rescans. */
  readonly rescanMs: number;
  /** Absent: `none`. */
  readonly references?: StaticReferences;
}

export interface FileSourceDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
}

interface Manifest extends SourceSnapshot {
  /** Absent when the file was not read. */
  readonly text: string | undefined;
  /** The last read failed; the other fields are from an earlier read. */
  readonly readFailed: boolean;
}

/**
 * Pods from manifest files.
 *
 * A file that can no longer be read or parsed does not remove pods: its last good pods stay desired until the file is
 * fixed or removed. Snapshots are incomplete until everything was read once.
 *
 * As in kubelet, a file that is removed and written again is a removal and an addition, even in quick succession: its
 * pods are missing from one snapshot, although their UIDs stay the same.
 */
export function createFileSource(options: FileSourceOptions, deps: FileSourceDeps): PodSource {
  const memory: Memory = { known: new Map(), pods: [], wasComplete: false };
  return { name: 'file', snapshots: (signal) => snapshots(options, memory, deps, signal) };
}

/** What was read last. A restarted source keeps the last good pods too. */
interface Memory {
  known: ReadonlyMap<string, Manifest>;
  pods: readonly Pod[];
  wasComplete: boolean;
}

async function* snapshots(
  options: FileSourceOptions,
  memory: Memory,
  deps: FileSourceDeps,
  signal: AbortSignal,
): AsyncGenerator<SourceSnapshot> {
  const changes = new ChangeSignal();
  const removed = new Set<string>();
  signal.addEventListener('abort', () => changes.close(), { once: true });
  const tasks = [
    ...options.paths.map((path) => notifyOnChange(path, removed, changes, deps, signal)),
    rescan(options, changes, deps, signal),
  ];
  let sent: string | undefined;
  do {
    const left = splitRemoved(memory.known, removed);
    removed.clear();
    const { manifests, errors, readFailed } = await readAll(options, left.manifests, deps);
    memory.known = manifests;
    memory.wasComplete ||= !readFailed;
    if (readFailed) notifySoon(changes, deps, signal);
    const all = combine(manifests, errors, options, memory.pods);
    memory.pods = all.pods;
    const snapshot: SourceSnapshot = { ...all, ...(!memory.wasComplete && { incomplete: true }) };
    const without = withoutPods(snapshot, left.uids);
    if (without !== snapshot && !signal.aborted) yield without;
    const state = JSON.stringify(snapshot);
    if ((state !== sent || without !== snapshot) && !signal.aborted) yield snapshot;
    sent = state;
  } while (await changes.next());
  await Promise.all(tasks);
}

/** The manifests without the removed files, and the UIDs of the pods in those files. */
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

/** Returns the same object when it contains none of these pods. */
function withoutPods(snapshot: SourceSnapshot, uids: ReadonlySet<string>): SourceSnapshot {
  const pods = snapshot.pods.filter(({ metadata }) => !uids.has(metadata.uid));
  return pods.length === snapshot.pods.length ? snapshot : { ...snapshot, pods };
}

async function notifyOnChange(
  path: string,
  removed: Set<string>,
  changes: ChangeSignal,
  { fs, clock }: FileSourceDeps,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const files of fs.watchRemovals(path, signal)) {
        for (const file of files) removed.add(file);
        changes.notify();
      }
    } catch {
      // The path is missing: reading it reports the error, and the watch is retried.
      await clock.sleep(MISSING_MS, signal).catch(() => undefined);
    }
  }
}

/** Retries failed reads before the next rescan. */
function notifySoon(changes: ChangeSignal, { clock }: FileSourceDeps, signal: AbortSignal): void {
  clock.sleep(MISSING_MS, signal).then(
    () => changes.notify(),
    () => undefined, // aborted first
  );
}

async function rescan(
  { rescanMs }: FileSourceOptions,
  changes: ChangeSignal,
  { clock }: FileSourceDeps,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(rescanMs, signal).catch(() => undefined);
    changes.notify();
  }
}

async function readAll(
  options: FileSourceOptions,
  known: ReadonlyMap<string, Manifest>,
  { fs, clock }: FileSourceDeps,
): Promise<{ manifests: ReadonlyMap<string, Manifest>; errors: readonly SourceError[]; readFailed: boolean }> {
  const manifests = new Map<string, Manifest>();
  const errors: SourceError[] = [];
  let readFailed = false;
  for (const path of options.paths) {
    const files = await filesAt(path, fs).catch((error: unknown) => {
      errors.push({ location: path, message: errorText(error) });
      if (isMissing(error)) return [];
      // An unreadable directory does not remove its files.
      readFailed = true;
      return [...known.keys()].filter((file) => isBelow(path, file));
    });
    for (const file of files) {
      const manifest = await readManifest(file, known.get(file), options, fs, clock.now());
      if (!manifest) continue;
      manifests.set(file, manifest);
      readFailed ||= manifest.readFailed;
    }
  }
  return { manifests, errors, readFailed };
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
    // Reading a pipe or a device could block forever.
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
    const failure = { location: file, message: errorText(error) };
    return { text: undefined, pods: [], ...before, readFailed: true, errors: [failure] };
  }
}

function unusable(file: string, message: string, before: Manifest | undefined): Manifest {
  const failure = { location: file, message };
  return {
    text: undefined,
    readFailed: false,
    ...retainLastGood(before, { pods: [], errors: [failure], isComplete: false }),
  };
}

function isMissing(error: unknown): boolean {
  return error instanceof FileSystemError && error.code === 'ENOENT';
}

/** A pod that its runtime class no longer allows keeps its previous version. */
function combine(
  manifests: ReadonlyMap<string, Manifest>,
  errors: readonly SourceError[],
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
    errors: [...errors, ...all.flatMap((manifest) => manifest.errors), ...applied.flatMap(({ error }) => error ?? [])],
    ...(references === 'manifests' && { objects }),
  };
}
