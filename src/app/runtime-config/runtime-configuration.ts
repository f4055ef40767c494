import type { HandlerSettings } from '../../runtime/settings/runtime-settings.ts';
import type { TraceTarget } from '../config/trace-environment.ts';
import type { EmbeddedRuntimeConfig } from '../embedded/embedded-settings.ts';

/** Everything that `nodelet cri` can be configured with. */
export interface RuntimeConfiguration extends Omit<EmbeddedRuntimeConfig, 'pinnedImages'> {
  /** `unix://…` */
  readonly listen: string;
  readonly verbosity: number;
  /** Without it the environment is asked. */
  readonly tracing?: TraceTarget;
}

/** Fields that have a flag each. */
export type FlaggedFields = Omit<RuntimeConfiguration, 'handlers' | 'cniMaxConfNum' | 'tracing'>;

/** The flags of `nodelet cri`. */
export interface RuntimeFlags extends FlaggedFields {
  /** The file of `--config`. */
  readonly config: string | undefined;
  /** Fields whose flag was given: they override the file. Other fields hold the defaults. */
  readonly given: ReadonlySet<string>;
  /** `--runtime-handler`: programs by the name of their handler. */
  readonly programs: ReadonlyMap<string, string>;
}

/** A handler of a file; its base spec is in another file. */
export interface FileHandler extends Omit<HandlerSettings, 'baseSpec'> {
  readonly baseRuntimeSpec: string | undefined;
}

/** What a file says. */
export interface FileConfiguration extends Partial<Omit<RuntimeConfiguration, 'handlers'>> {
  /** Without the empty name. */
  readonly handlers: ReadonlyMap<string, FileHandler>;
  readonly defaultRuntimeHandler?: string;
}

/** Names that a RuntimeClass can have in `handler`, and more. */
export function isHandlerName(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9.-]*$/.test(text);
}

export function isEndpoint(text: string): boolean {
  return /^unix:\/\/\/./.test(text);
}

/** `runtimeHandlers["kata"].runtimePath` */
export function handlerField(name: string, field: string): string {
  return `runtimeHandlers[${JSON.stringify(name)}].${field}`;
}
