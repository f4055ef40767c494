import type { ContainerRecord } from '../store/container-record.ts';
import { type ContainerDeps, runtimeForContainer } from './container-deps.ts';

/** What crun and runc tell of a container whose program has been let go. */
const STARTED_STATUSES = new Set(['running', 'paused', 'stopped']);

/** Of a container whose start nobody saw end; `undefined`: its program never ran. A process, but only for such ones. */
export async function pidOfInterruptedStart(
  record: ContainerRecord,
  { runtimes, ociCommand }: Pick<ContainerDeps, 'runtimes' | 'ociCommand'>,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { program } = runtimeForContainer(runtimes, record);
  const { exitCode, stdout } = await ociCommand(program, ['state', record.id], signal);
  return exitCode === 0 ? pidInState(new TextDecoder().decode(stdout)) : undefined;
}

export function pidInState(text: string): number | undefined {
  let state: { readonly status?: unknown; readonly pid?: unknown };
  try {
    state = JSON.parse(text);
  } catch {
    return undefined; // it was killed while it was being created
  }
  if (typeof state.status !== 'string' || !STARTED_STATUSES.has(state.status)) return undefined;
  return typeof state.pid === 'number' ? state.pid : 0;
}
