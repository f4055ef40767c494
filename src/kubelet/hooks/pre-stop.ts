import { decodeManifest } from '../../api/decode/decode-manifest.ts';
import type { Container, LifecycleHandler, Pod } from '../../api/generated/core-v1.ts';
import { ignoreNotFound } from '../../cri/ignore-not-found.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { PodEvents } from '../events/pod-events.ts';
import type { Timeline } from '../events/timeline.ts';
import { containerFieldPath } from '../pod/container-field-path.ts';
import { findContainer } from '../pod/find-container.ts';
import { type HookDeps, type HookSubject, runHook } from './run-hook.ts';

const PRE_STOP = 'io.kubernetes.container.preStopHandler';

const PORTS = 'io.kubernetes.container.ports';

export interface PreStopDeps {
  readonly runtime: RuntimeService;
  readonly timeline: Timeline;
  readonly events: PodEvents;
  readonly hooks: HookDeps;
}

/** A container to stop. */
export interface EndingContainer {
  readonly pod: Pod;
  readonly id: string;
  readonly name: string;
  readonly graceSeconds: number;
}

/**
 * Runs a container's preStop hook, if it has one, then `stop`. A hook that takes longer than the grace period runs on while
 * the container stops, and is aborted afterwards.
 */
export async function runPreStopThen(
  ending: EndingContainer,
  deps: PreStopDeps,
  stop: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const subject = await resolveContainer(ending, deps, signal);
  const preStop = subject?.container.lifecycle?.preStop;
  if (!subject || !preStop || ending.graceSeconds <= 0) return stop();
  const stopped = new AbortController();
  const until = AbortSignal.any([signal, stopped.signal]);
  const hook = runPreStop(preStop, subject, deps, until).catch(() => {
    // A hook that is aborted with the whole sync has not failed: it runs again.
    if (!signal.aborted) recordFailedPreStop(subject, deps);
  });
  try {
    await Promise.race([hook, waitUntil(ending.graceSeconds * 1000, deps.hooks, until)]);
    signal.throwIfAborted();
    await stop();
  } finally {
    stopped.abort(new Error('the container ended before its preStop hook'));
    await hook;
  }
}

async function runPreStop(
  preStop: LifecycleHandler,
  subject: HookSubject,
  { timeline, hooks }: PreStopDeps,
  signal: AbortSignal,
): Promise<void> {
  await timeline.during(subject.pod.metadata.uid, 'preStop hook', subject.container.name, async () => {
    const outcome = await runHook(preStop, subject, hooks, signal);
    if (outcome.kind === 'failed') throw new Error(outcome.message);
  });
}

/** Records only an event: the container ends anyway. The output of the hook may be secret. */
function recordFailedPreStop({ pod, container }: HookSubject, { events }: PreStopDeps): void {
  events.record(pod, 'Warning', 'FailedPreStopHook', 'PreStopHook failed', containerFieldPath(pod, container.name));
}

async function waitUntil(ms: number, { clock }: HookDeps, signal: AbortSignal): Promise<void> {
  await clock.sleep(ms, signal).catch(() => undefined);
}

/** Returns `undefined` for a container that is gone. */
async function resolveContainer(
  { pod, id, name }: EndingContainer,
  { runtime }: PreStopDeps,
  signal: AbortSignal,
): Promise<HookSubject | undefined> {
  const known = findContainer(pod.spec, name);
  if (known) return { pod, container: known, containerId: id };
  const answer = await ignoreNotFound(runtime.containerStatus({ containerId: id, verbose: false }, signal));
  const annotations = answer?.status?.annotations;
  return annotations && { pod, container: restoreContainer(name, annotations), containerId: id };
}

/**
 * Restores the part of a container's spec that its annotations hold: enough to run its preStop hook when its pod is no
 * longer known. Invalid annotations are ignored.
 */
export function restoreContainer(name: string, annotations: Readonly<Record<string, string>>): Container {
  const preStop = parsed(annotations[PRE_STOP]);
  const ports = parsed(annotations[PORTS]);
  const container = { name, ports, lifecycle: { preStop } };
  const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers: [container] } };
  // The manifest decoder validates the fields.
  const [pod] = decodeManifest(JSON.stringify(manifest), { file: '' }).pods;
  return pod?.object.spec.containers[0] ?? { name };
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
