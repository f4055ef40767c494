import { AttachResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { monitoredName } from '../container/container-deps.ts';
import { containerNotFound } from '../container/container-errors.ts';
import type { AttachedStreams } from '../oci/oci-runtime.ts';
import { runtimeForRecord } from '../oci/runtime-for-record.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import { serveAttach } from '../streaming/serve-attach.ts';
import { checkStreams, type ExecDeps } from './exec.ts';
import { type RunningContainer, requireRunningContainer } from './running-container.ts';
import { sandboxNotFound } from './sandbox-not-found.ts';

export interface AttachDeps extends ExecDeps {
  readonly sandboxes: Pick<RecordStore<SandboxRecord>, 'find'>;
}

/** Returns a URL that carries the streams of the container's first process. The container's config decides about a terminal. */
export function attach(deps: AttachDeps): RuntimeService['attach'] {
  const { containers, runtimes, paths, streaming } = deps;
  return async ({ containerId, tty, stdin, stdout, stderr }) => {
    const streams = { tty, stdin, stdout, stderr };
    const found = containers.find(containerId);
    if (!found) throw containerNotFound(containerId);
    checkStreams(streams);
    const { id, sandboxId, config } = attachable(deps, found.id);
    const join = async (signal: AbortSignal): Promise<AttachedStreams> =>
      runtimeForRecord(runtimes, attachable(deps, id)).attach(monitoredName(paths, id), signal);
    const url = await streaming.urlFor(sandboxId, {
      kind: 'attach',
      streams,
      serve: (client, clock) =>
        serveAttach(client, { streams, endsInput: config.stdinOnce && !config.tty }, join, clock),
    });
    return AttachResponse.create({ url });
  };
}

function attachable({ containers, sandboxes }: AttachDeps, id: string): RunningContainer {
  const container = requireRunningContainer(containers, id);
  if (!sandboxes.find(container.sandboxId)) throw sandboxNotFound(container.sandboxId);
  return container;
}
