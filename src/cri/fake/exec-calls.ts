import { formatDurationMs } from '../../base/duration.ts';
import { CriError } from '../cri-error.ts';
import type { ExecSyncResponse } from '../generated/runtime-v1.ts';
import type { RuntimeService } from '../services.ts';
import { waitForExit } from './container-lifecycle.ts';
import type { FakeWorld } from './fake-world.ts';
import type { FakeProcess } from './records.ts';

type ExecCalls = Pick<RuntimeService, 'execSync' | 'exec' | 'attach' | 'portForward'>;

const STREAMS = 'the in-memory runtime has no streaming server';

export function execCalls(world: FakeWorld): ExecCalls {
  return {
    async execSync({ containerId, cmd, timeout }, signal) {
      const process = runningProcess(world, containerId, 'failed to exec in container: ');
      return execSync(world, process, cmd, Number(timeout), signal);
    },

    async exec({ containerId }) {
      runningProcess(world, containerId, '');
      throw new CriError('Unimplemented', STREAMS);
    },

    async attach({ containerId }) {
      runningProcess(world, containerId, '');
      throw new CriError('Unimplemented', STREAMS);
    },

    async portForward({ podSandboxId }) {
      const sandbox = world.sandboxes.get(podSandboxId);
      if (!sandbox) throw new CriError('NotFound', `failed to find sandbox ${JSON.stringify(podSandboxId)}: not found`);
      if (sandbox.state !== 'ready') throw new CriError('Unknown', 'sandbox container is not running');
      throw new CriError('Unimplemented', STREAMS);
    },
  };
}

function runningProcess(world: FakeWorld, id: string, prefix: string): FakeProcess {
  const container = world.containers.get(id);
  if (!container) {
    throw new CriError('NotFound', `${prefix}failed to find container ${JSON.stringify(id)} in store: not found`);
  }
  if (container.state.phase !== 'running') {
    const state = `CONTAINER_${container.state.phase.toUpperCase()}`;
    throw new CriError('Unknown', `${prefix}container is in ${state} state`);
  }
  return container.state.process;
}

/** A command exits with its container, like all processes of a PID namespace. */
async function execSync(
  world: FakeWorld,
  process: FakeProcess,
  command: readonly string[],
  timeoutSeconds: number,
  signal: AbortSignal,
): Promise<ExecSyncResponse> {
  const answer = process.behaviour.exec?.(command) ?? {};
  if (answer.error !== undefined) {
    throw new CriError(
      'Unknown',
      `failed to exec in container: failed to start exec "${world.newId()}": ${answer.error}`,
    );
  }
  const afterMs = answer.afterMs ?? 0;
  const timeoutMs = timeoutSeconds > 0 ? timeoutSeconds * 1000 : Number.POSITIVE_INFINITY;
  if (afterMs > 0) await waitForExit(world, process, Math.min(afterMs, timeoutMs), signal);
  if (process.ended.aborted) return output('', '', 128 + 9);
  if (afterMs > timeoutMs) {
    const text = `failed to exec in container: timeout ${formatDurationMs(timeoutMs)} exceeded: context deadline exceeded`;
    throw new CriError('DeadlineExceeded', text);
  }
  return output(answer.stdout ?? '', answer.stderr ?? '', answer.exitCode ?? 0);
}

function output(stdout: string, stderr: string, exitCode: number): ExecSyncResponse {
  const encoder = new TextEncoder();
  return { stdout: encoder.encode(stdout), stderr: encoder.encode(stderr), exitCode };
}
