import { CriError } from '../../cri/cri-error.ts';
import type { ExecSyncHint } from '../../cri/exec-sync-hint.ts';
import { invalidField } from '../../cri/field-error.ts';
import { type ExecSyncRequest, ExecSyncResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { type ContainerDeps, monitoredName } from '../container/container-deps.ts';
import { asCriError, containerNotFound } from '../container/container-errors.ts';
import { criStateName } from '../container/container-messages.ts';
import type { ContainerStore } from '../container/container-store.ts';
import { ExecTimeoutError } from '../oci/oci-runtime.ts';
import { runtimeForRecord } from '../oci/runtime-for-record.ts';
import { execProcess } from '../spec/exec-process.ts';

export type ExecSyncDeps = Pick<ContainerDeps, 'paths' | 'runtimes'> & { readonly store: ContainerStore };

/** Limit for both streams together: gRPC's message limit less the overhead. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024 - 1024;

export function execSync({ store, paths, runtimes }: ExecSyncDeps): RuntimeService['execSync'] {
  return async ({ containerId, cmd, timeout, maxStreamBytes }: ExecSyncRequest & ExecSyncHint, signal) => {
    const record = store.find(containerId);
    if (!record) throw containerNotFound(containerId);
    if (cmd.length === 0) throw invalidField('cmd', 'must not be empty');
    if (record.state.phase !== 'running' || !record.spec) {
      throw new CriError(
        'FailedPrecondition',
        `failed to exec in container: container is in ${criStateName(record)} state`,
      );
    }
    const exec = {
      process: execProcess(record.spec, { cmd, tty: false }),
      ...(timeout > 0n && { timeoutMs: Number(timeout) * 1000 }),
      ...(maxStreamBytes !== undefined && { maxStreamBytes }),
      maxOutputBytes: MAX_OUTPUT_BYTES,
    };
    try {
      const runtime = runtimeForRecord(runtimes, record);
      return ExecSyncResponse.create(await runtime.execSync(monitoredName(paths, record.id), exec, signal));
    } catch (error) {
      if (error instanceof ExecTimeoutError) {
        // kubelet recognizes the timeout of a probe by this code.
        const message = `failed to exec in container: timeout ${timeout}s exceeded: context deadline exceeded`;
        throw new CriError('DeadlineExceeded', message, { cause: error });
      }
      throw asCriError('failed to exec in container', error, signal);
    }
  };
}
