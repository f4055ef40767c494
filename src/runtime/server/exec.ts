import { CriError } from '../../cri/cri-error.ts';
import { ExecResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import { monitoredName, runtimeOf } from '../container/container-deps.ts';
import { containerNotFound } from '../container/container-failure.ts';
import { stateName } from '../container/container-messages.ts';
import type { ContainerRecord } from '../container/container-record.ts';
import type { ExecStreams, OciRuntimes } from '../oci/oci-runtime.ts';
import type { RuntimePaths } from '../runtime-paths.ts';
import { badField } from '../spec/bad-field.ts';
import { execProcess } from '../spec/exec-process.ts';
import type { RecordStore } from '../store/record-store.ts';
import { EXEC_PROTOCOLS } from '../streaming/exec-channels.ts';
import { serveExec } from '../streaming/exec-session.ts';
import type { StreamingServer } from '../streaming/streaming-server.ts';

export interface ExecDeps {
  readonly containers: Pick<RecordStore<ContainerRecord>, 'find'>;
  readonly runtimes: OciRuntimes;
  readonly paths: Pick<RuntimePaths, 'bundle'>;
  readonly streaming: Pick<StreamingServer, 'urlFor'>;
  readonly clock: Clock;
}

/** A URL at which the command starts as soon as somebody connects. */
export function exec({ containers, runtimes, paths, streaming, clock }: ExecDeps): RuntimeService['exec'] {
  return async ({ containerId, cmd, tty, stdin, stdout, stderr }) => {
    const record = containers.find(containerId);
    if (!record) throw containerNotFound(containerId);
    if (cmd.length === 0) throw badField('cmd', 'must not be empty');
    checkStreams({ tty, stdin, stdout, stderr });
    const { spec } = record;
    if (record.life.phase !== 'running' || !spec) {
      throw new CriError('FailedPrecondition', `container is in ${stateName(record)} state`);
    }
    const process = execProcess(spec, { cmd, tty });
    const start = (signal: AbortSignal): Promise<ExecStreams> =>
      runtimeOf(runtimes, record).exec(monitoredName(paths, record.id), process, signal);
    const url = await streaming.urlFor({
      kind: 'exec',
      protocols: EXEC_PROTOCOLS,
      serve: (connection) => serveExec(connection, { command: cmd, stdin, stdout, stderr }, start, clock),
    });
    return ExecResponse.create({ url });
  };
}

interface WantedStreams {
  readonly tty: boolean;
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** The same for exec and attach. */
export function checkStreams({ tty, stdin, stdout, stderr }: WantedStreams): void {
  if (tty && stderr) throw new CriError('InvalidArgument', 'tty and stderr cannot both be true');
  if (!stdin && !stdout && !stderr) {
    throw new CriError('InvalidArgument', 'one of stdin, stdout, or stderr must be set');
  }
}
