import { CriError } from '../../cri/cri-error.ts';
import { invalidField } from '../../cri/field-error.ts';
import { ExecResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { monitoredName } from '../container/container-deps.ts';
import { containerNotFound } from '../container/container-errors.ts';
import type { ExecStreams, OciRuntimes } from '../oci/oci-runtime.ts';
import { runtimeForRecord } from '../oci/runtime-for-record.ts';
import type { RuntimePaths } from '../settings/runtime-paths.ts';
import { execProcess } from '../spec/exec-process.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { CommandStreams } from '../streaming/command-client.ts';
import { serveExec } from '../streaming/serve-exec.ts';
import type { StreamingServer } from '../streaming/streaming-server.ts';
import { requireRunningContainer } from './running-container.ts';

export interface ExecDeps {
  readonly containers: Pick<RecordStore<ContainerRecord>, 'find'>;
  readonly runtimes: OciRuntimes;
  readonly paths: Pick<RuntimePaths, 'bundle'>;
  readonly streaming: Pick<StreamingServer, 'urlFor'>;
}

/** Returns a URL; the command starts when a client connects to it. */
export function exec({ containers, runtimes, paths, streaming }: ExecDeps): RuntimeService['exec'] {
  return async ({ containerId, cmd, tty, stdin, stdout, stderr }) => {
    const streams = { tty, stdin, stdout, stderr };
    const found = containers.find(containerId);
    if (!found) throw containerNotFound(containerId);
    if (cmd.length === 0) throw invalidField('cmd', 'must not be empty');
    checkStreams(streams);
    const { id, sandboxId } = requireRunningContainer(containers, found.id);
    const start = async (signal: AbortSignal): Promise<ExecStreams> => {
      const record = requireRunningContainer(containers, id);
      const process = execProcess(record.spec, { cmd, tty });
      return runtimeForRecord(runtimes, record).exec(monitoredName(paths, id), process, signal);
    };
    const url = await streaming.urlFor(sandboxId, {
      kind: 'exec',
      streams,
      serve: (client, clock) => serveExec(client, { command: cmd, streams }, start, clock),
    });
    return ExecResponse.create({ url });
  };
}

/** Validates the streams of exec and attach. */
export function checkStreams({ tty, stdin, stdout, stderr }: CommandStreams): void {
  if (tty && stderr) throw new CriError('InvalidArgument', 'tty and stderr cannot both be true');
  if (!stdin && !stdout && !stderr) {
    throw new CriError('InvalidArgument', 'one of stdin, stdout, or stderr must be set');
  }
}
