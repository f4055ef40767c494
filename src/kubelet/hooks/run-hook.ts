import { Buffer } from 'node:buffer';
import type { Container, ExecAction, HTTPGetAction, LifecycleHandler, Pod } from '../../api/generated/core-v1.ts';
import { formatPod } from '../../api/pod-names.ts';
import { goQuote } from '../../base/go/go-quote.ts';
import { hasCode } from '../../cri/cri-error.ts';
import { goErrorText } from '../../cri/go-error-text.ts';
import type { Clock } from '../../host/clock.ts';
import type { NetworkClient } from '../../host/network.ts';
import type { PodEvents } from '../events/pod-events.ts';
import type { ExecInContainer } from '../probes/exec-in-container.ts';
import { MAX_OUTPUT_BYTES } from '../probes/probe-handler.ts';
import { formatHandler } from './format-handler.ts';
import { hookChannel } from './hook-channel.ts';
import { runHttpHook } from './http-hook.ts';

/** The container whose hook runs. */
export interface HookSubject {
  readonly pod: Pod;
  readonly container: Container;
  readonly containerId: string;
}

export interface HookDeps {
  readonly clock: Clock;
  readonly network: NetworkClient;
  readonly exec: ExecInContainer;
  readonly events: PodEvents;
  /** The current address of a pod; `undefined` while it has none. */
  podIP(uid: string): string | undefined;
}

export type HookOutcome = { readonly kind: 'done' } | { readonly kind: 'failed'; readonly message: string };

/** Runs a hook to its end, however long it takes. Rejects only with the signal's reason. */
export async function runHook(
  handler: LifecycleHandler,
  subject: HookSubject,
  deps: HookDeps,
  signal: AbortSignal,
): Promise<HookOutcome> {
  const { exec, httpGet, sleep } = handler;
  if (exec) return runExec(exec, subject, deps, signal);
  if (httpGet) return runHttp(httpGet, subject, deps, signal);
  if (sleep) {
    await deps.clock.sleep(sleep.seconds * 1000, signal).catch((error: unknown) => {
      hookChannel.publish({ kind: 'sleepEndedEarly' });
      throw error;
    });
    return { kind: 'done' };
  }
  return failed(`Cannot run handler: invalid handler: ${formatHandler(handler)}`);
}

async function runExec(
  { command = [] }: ExecAction,
  subject: HookSubject,
  { exec }: HookDeps,
  signal: AbortSignal,
): Promise<HookOutcome> {
  const words = command.join(' ');
  const of = `Exec lifecycle hook ([${words}]) for ${containerInPod(subject)}`;
  try {
    const { exitCode, stdout, stderr } = await exec(subject.containerId, command, undefined, signal);
    if (exitCode === 0) return { kind: 'done' };
    const error = `command '${words}' exited with ${exitCode}: ${outputText(stderr)}`;
    return failed(`${of} failed - error: ${error}, message: ${goQuote(outputText(stdout, stderr))}`);
  } catch (error) {
    signal.throwIfAborted();
    return failed(`${of} failed - error: ${execErrorText(error, words)}, message: ""`);
  }
}

async function runHttp(
  action: HTTPGetAction,
  subject: HookSubject,
  { network, events, podIP }: HookDeps,
  signal: AbortSignal,
): Promise<HookOutcome> {
  const { pod, container } = subject;
  const outcome = await runHttpHook(action, container, podIP(pod.metadata.uid), network, signal);
  if (outcome.kind === 'failed') {
    return failed(
      `HTTP lifecycle hook (${action.path ?? ''}) for ${containerInPod(subject)} failed - error: ${outcome.text}`,
    );
  }
  if (outcome.httpFallback !== undefined) {
    hookChannel.publish({ kind: 'httpFallback' });
    const message = `request to HTTPS lifecycle hook ${outcome.httpFallback} got HTTP response, retry with HTTP succeeded`;
    events.record(pod, 'Warning', 'LifecycleHTTPFallback', message);
  }
  return { kind: 'done' };
}

function containerInPod({ pod, container }: HookSubject): string {
  return `Container ${goQuote(container.name)} in Pod ${goQuote(formatPod(pod))}`;
}

function execErrorText(error: unknown, words: string): string {
  if (hasCode(error, 'DeadlineExceeded')) return `command timed out: ${goQuote(words)} timed out after 0s`;
  return goErrorText(error);
}

/** Limits the output as for probes: it becomes part of the pod's status. */
function outputText(...parts: readonly Uint8Array[]): string {
  return Buffer.concat(parts).toString('utf8', 0, MAX_OUTPUT_BYTES);
}

function failed(message: string): HookOutcome {
  return { kind: 'failed', message };
}
