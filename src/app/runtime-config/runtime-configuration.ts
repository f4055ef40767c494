import { ipAddressErrors } from '../../base/ip-address.ts';
import type { TcpAddress } from '../../host/tcp-server.ts';
import type { HandlerSettings } from '../../runtime/settings/runtime-settings.ts';
import type { TraceTarget } from '../config/trace-environment.ts';
import type { EmbeddedRuntimeConfig } from '../embedded/embedded-settings.ts';

/** What `metricsAddress` accepts. */
export const METRICS_ADDRESS = 'an address such as 127.0.0.1:1338 or unix:///run/nodelet/metrics.sock';
const LOOPBACK = '127.0.0.1';

/** Everything that `nodelet cri` can be configured with. */
export interface RuntimeConfiguration extends Omit<EmbeddedRuntimeConfig, 'pinnedImages'> {
  /** `unix://…` */
  readonly listen: string;
  /** Where metrics are served; absent: nowhere. */
  readonly metricsListen: MetricsAddress | undefined;
  readonly verbosity: number;
  /** Without it the environment is asked. */
  readonly tracing?: TraceTarget;
}

/** A socket file, or an address of this machine. */
export type MetricsAddress = { readonly socketPath: string } | TcpAddress;

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

/**
 * `unix:///run/nodelet/metrics.sock`, `127.0.0.1:1338`, `[::1]:1338`, or `:1338` for the loopback address. `undefined` for
 * anything else.
 */
export function metricsAddress(text: string): MetricsAddress | undefined {
  if (isEndpoint(text)) return { socketPath: text.slice('unix://'.length) };
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]*)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || digits === undefined || port > 65_535) return undefined;
  if (host !== '' && ipAddressErrors(host).length > 0) return undefined;
  return { host: host === '' ? LOOPBACK : host, port };
}

export function isEndpoint(text: string): boolean {
  return /^unix:\/\/\/./.test(text);
}

/** `runtimeHandlers["kata"].runtimePath` */
export function handlerField(name: string, field: string): string {
  return `runtimeHandlers[${JSON.stringify(name)}].${field}`;
}
