import type { RunningProgram } from '../../host/processes.ts';
import { type OciDeps, RUNTIME_ENV } from './oci-deps.ts';
import type { MonitoredName } from './oci-runtime.ts';
import type { OciProcess } from './oci-spec.ts';

/** What lies beside the bundle's files while an exec runs. */
export interface ExecFiles {
  readonly process: string;
  /** The runtime writes it once the process runs, and not at all when it cannot. */
  readonly pid: string;
}

export interface StartedExec {
  readonly program: RunningProgram;
  readonly files: ExecFiles;
  removeFiles(): Promise<void>;
}

/**
 * Starts `crun exec` in the foreground: no monitor, its streams are the process's own. A terminal of crun is handed to us:
 * what the process writes last would otherwise come out between the marks of crun's error messages. runc refuses to.
 */
export async function startExec(
  { id, bundle }: MonitoredName,
  process: OciProcess,
  name: string,
  deps: Pick<OciDeps, 'program' | 'stateRoot' | 'crun' | 'fs' | 'processes'>,
  streams: 'outputOnly' | 'all',
): Promise<StartedExec> {
  const files = { process: `${bundle}/exec-${name}.json`, pid: `${bundle}/exec-${name}.pid` };
  const removeFiles = async (): Promise<void> => {
    await Promise.all([deps.fs.remove(files.process), deps.fs.remove(files.pid)]);
  };
  try {
    await deps.fs.writeFile(files.process, JSON.stringify(process));
    const terminalSocket = process.terminal && deps.crun ? `${bundle}/exec-${name}.sock` : undefined;
    const console = terminalSocket === undefined ? [] : [`--console-socket=${terminalSocket}`];
    const program = await deps.processes.spawn({
      program: deps.program,
      args: [`--root=${deps.stateRoot}`, 'exec', ...console, '--process', files.process, '--pid-file', files.pid, id],
      env: RUNTIME_ENV,
      streams: process.terminal ? 'terminal' : streams,
      ...(terminalSocket !== undefined && { terminalSocket }),
      sealed: true,
    });
    return { program, files, removeFiles };
  } catch (error) {
    await removeFiles();
    throw error;
  }
}
