import { Buffer } from 'node:buffer';
import { allContainers } from '../../api/all-containers.ts';
import { podFullName } from '../../api/pod-names.ts';
import { errorText } from '../../base/error-text.ts';
import { goQuote } from '../../base/go/go-quote.ts';
import { formatTime } from '../../base/rfc3339.ts';
import { CriError, hasCode, rpcErrorText } from '../../cri/cri-error.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { ServerResponse } from '../../host/network.ts';
import type { AgentView, PodReport } from '../explain/agent-view.ts';
import { runningContainers } from '../pod/observed-pod.ts';
import { findPodByName } from './find-pod-by-name.ts';
import { HttpError } from './responses.ts';
import type { ContainerTarget } from './serve-container-logs.ts';

export interface ContainerCallDeps {
  readonly view: Pick<AgentView, 'pods'>;
  readonly runtime: Pick<RuntimeService, 'execSync' | 'checkpointContainer'>;
  readonly fs: Pick<FileSystem, 'makeDirectory'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Archives of checkpoints are created here. */
  readonly checkpointFolder: string;
  /** `runtimeRequestTimeout` in seconds: the shortest timeout of a checkpoint. */
  readonly runtimeTimeoutSeconds: number;
}

/** `/run`: the output of a command. The command is split at spaces; a shell is not involved. */
export async function serveRun(
  { view, runtime }: ContainerCallDeps,
  { namespace, pod, container }: ContainerTarget,
  query: URLSearchParams,
  signal: AbortSignal,
): Promise<ServerResponse> {
  const containerId = runningContainerId(existingPod(view, namespace, pod), container);
  if (containerId === undefined) throw new HttpError(500, `container not found (${goQuote(container)})`);
  const cmd = (query.get('cmd') ?? '').split(' ');
  const { exitCode, stdout, stderr } = await runtime
    .execSync({ containerId, cmd, timeout: 0n }, signal)
    .catch((error: unknown) => {
      throw new HttpError(500, execErrorText(cmd, error), { cause: error });
    });
  if (exitCode !== 0) {
    throw new HttpError(500, `command '${cmd.join(' ')}' exited with ${exitCode}: ${Buffer.from(stderr).toString()}`);
  }
  return jsonBytes([stdout, stderr]);
}

function execErrorText(cmd: readonly string[], error: unknown): string {
  if (hasCode(error, 'DeadlineExceeded')) return `command timed out: ${goQuote(cmd.join(' '))} timed out after 0s`;
  return callErrorText(error);
}

/** `/checkpoint`: the path of the archive that the runtime has written. */
export async function serveCheckpoint(
  deps: ContainerCallDeps,
  { namespace, pod, container }: ContainerTarget,
  query: URLSearchParams,
  signal: AbortSignal,
): Promise<ServerResponse> {
  const report = existingPod(deps.view, namespace, pod);
  if (!allContainers(report.pod.spec).some(({ name }) => name === container)) {
    throw new HttpError(404, `container ${container} does not exist`);
  }
  const seconds = requestedSeconds(query.getAll('timeout').at(-1));
  try {
    return jsonBytes([
      Buffer.from(JSON.stringify({ items: [await checkpoint(deps, report, container, seconds, signal)] })),
    ]);
  } catch (error) {
    const message = `checkpointing of ${namespace}/${pod}/${container} failed (${callErrorText(error)})`;
    throw new HttpError(500, message, { cause: error });
  }
}

async function checkpoint(
  { runtime, fs, clock, checkpointFolder, runtimeTimeoutSeconds }: ContainerCallDeps,
  report: PodReport,
  container: string,
  seconds: bigint,
  signal: AbortSignal,
): Promise<string> {
  const containerId = runningContainerId(report, container);
  if (containerId === undefined) throw new Error(`container ${container} not found`);
  if (seconds < 0n) throw new Error('CheckpointContainer requires the timeout value to be > 0');
  const shortest = BigInt(Math.trunc(runtimeTimeoutSeconds));
  const timeout = seconds > shortest ? seconds : shortest;
  const name = `checkpoint-${podFullName(report.pod)}-${container}-${formatTime(clock.now())}.tar`;
  const location = `${checkpointFolder}/${name}`;
  await fs.makeDirectory(checkpointFolder, 0o700);
  await runtime.checkpointContainer({ containerId, location, timeout }, signal);
  return location;
}

const MAX_INT64 = 2n ** 63n - 1n;

function requestedSeconds(text: string | undefined): bigint {
  if (text === undefined) return 0n;
  const value = /^[+-]?\d+$/.test(text) ? BigInt(text.replace(/^\+/, '')) : undefined;
  // As in kubelet, an invalid value is "not found".
  if (value === undefined || value > MAX_INT64 || value < -MAX_INT64 - 1n) {
    throw new HttpError(404, 'cannot parse value of timeout parameter');
  }
  return value;
}

function existingPod(view: Pick<AgentView, 'pods'>, namespace: string, name: string): PodReport {
  const report = findPodByName(view, namespace, name);
  if (!report) throw new HttpError(404, 'pod does not exist');
  return report;
}

function runningContainerId({ observed }: PodReport, name: string): string | undefined {
  return runningContainers(observed).find((container) => container.name === name)?.id;
}

function callErrorText(error: unknown): string {
  return error instanceof CriError ? rpcErrorText(error) : errorText(error);
}

/** As in kubelet, the output of a command has this type too. */
function jsonBytes(chunks: readonly Uint8Array[]): ServerResponse {
  const bytes = Buffer.concat(chunks);
  const headers = { 'content-type': 'application/json', 'content-length': String(bytes.length) };
  return { status: 200, headers, body: oneChunk(bytes) };
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  if (bytes.length > 0) yield bytes;
}
