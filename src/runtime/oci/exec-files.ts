import type { RunningProgram } from '../../host/processes.ts';
import { type OciDeps, RUNTIME_ENV } from './oci-deps.ts';
import type { ContainerRef } from './oci-runtime.ts';
import type { OciProcess } from './oci-spec.ts';

/** The files of a running exec, in the bundle. */
export interface ExecFiles {
  readonly process: string;
  /** Written by the runtime once the process runs; missing if it could not be started. */
  readonly pid: string;
}

export interface StartedExec {
  readonly program: RunningProgram;
  readonly files: ExecFiles;
  removeFiles(): Promise<void>;
}

/**
 * Starts `crun exec` in the foreground without a monitor: its streams are those of the process. crun passes its
 * terminal over a socket: otherwise the last output of the process would be mixed with crun's error messages. runc does
 * not support that.
 */
export async function startExec(
  { id, bundle }: ContainerRef,
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
