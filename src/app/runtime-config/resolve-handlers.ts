import { errorText } from '../../base/error-text.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { type BaseSpec, parseBaseSpec } from '../../runtime/settings/base-spec.ts';
import { DEFAULT_HANDLER, type HandlerSettings } from '../../runtime/settings/runtime-settings.ts';
import { type FileConfiguration, type FileHandler, handlerField } from './runtime-configuration.ts';

export interface HandlerMachine {
  readonly fs: Pick<FileSystem, 'readText' | 'stat'>;
  readonly cgroupVersion: 'v1' | 'v2';
}

/** An error in the field of a file, or in a flag. */
export interface HandlerError {
  readonly path: string;
  readonly message: string;
  readonly isOfFlag?: boolean;
}

export interface ResolvedHandlers {
  /** By name. */
  readonly handlers: ReadonlyMap<string, HandlerSettings>;
  readonly errors: readonly HandlerError[];
}

type Report = (field: string, message: string) => void;

/**
 * Reads what the handlers refer to and checks it on this machine. A flag replaces the program of a handler; its other
 * settings stay.
 */
export async function resolveHandlers(
  { handlers: ofFile }: Pick<FileConfiguration, 'handlers'>,
  programs: ReadonlyMap<string, string>,
  machine: HandlerMachine,
): Promise<ResolvedHandlers> {
  const errors: HandlerError[] = [];
  const handlers = new Map<string, HandlerSettings>();
  for (const [name, handler] of ofFile) {
    const report: Report = (field, message) => errors.push({ path: handlerField(name, field), message });
    const { baseRuntimeSpec: _, ...settings } = handler;
    const baseSpec = await readBaseSpec(handler, machine, report);
    handlers.set(name, { ...settings, baseSpec });
    if (handler.cgroupWritable && machine.cgroupVersion !== 'v2') {
      report('cgroupWritable', 'is only supported on cgroup v2');
    }
    const error = handler.program && !programs.has(name) && (await programError(handler.program, machine));
    if (error) report('runtimePath', error);
  }
  for (const [name, program] of programs) {
    handlers.set(name, { ...(handlers.get(name) ?? DEFAULT_HANDLER), program });
    const error = await programError(program, machine);
    if (error) errors.push({ path: '--runtime-handler', message: `${name}: ${error}`, isOfFlag: true });
  }
  return { handlers, errors };
}

async function readBaseSpec(
  { baseRuntimeSpec: path }: FileHandler,
  { fs }: HandlerMachine,
  report: Report,
): Promise<BaseSpec | undefined> {
  if (path === undefined) return undefined;
  try {
    return parseBaseSpec(await fs.readText(path));
  } catch (error) {
    report('baseRuntimeSpec', `cannot load base runtime spec ${path}: ${errorText(error)}`);
    return undefined;
  }
}

const EXECUTABLE = 0o111;

async function programError(program: string, { fs }: HandlerMachine): Promise<string | undefined> {
  const stat = await fs.stat(program);
  if (stat === undefined) return `${program}: no such file or directory`;
  if (stat.kind !== 'file' || (stat.mode & EXECUTABLE) === 0) return `${program} is not executable`;
  return undefined;
}
