import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';

/** Kubernetes' `TracingConfiguration`, with the defaults filled in. */
export interface TracingSettings {
  /** A name of gRPC: `host:port`, `dns://…`, `unix:///…` */
  readonly endpoint: string;
  /** With TLS and the certificate authorities of the machine. */
  readonly isSecure?: boolean;
  /** Of the traces that begin here. A trace that began elsewhere is sampled if it is sampled there. */
  readonly samplingRatePerMillion: number;
  /** What the spans are of: `service.name` and others. */
  readonly resource: Readonly<Record<string, string>>;
  /** The instrumentation scope of spans that have no own. */
  readonly scope: string;
}

/** OpenTelemetry's default port for OTLP over gRPC. */
export const DEFAULT_TRACING_ENDPOINT = 'localhost:4317';

export interface TracingDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'deadline'>;
  readonly log: Pick<Log, 'warn' | 'info'>;
}

/** A tracer. Disposing it exports the last spans, within a bounded time. */
export type Tracing = AsyncDisposable;

const NO_TRACING: Tracing = { [Symbol.asyncDispose]: async () => {} };

/**
 * Starts tracing; without settings it does nothing.
 *
 * 1. OpenTelemetry is loaded here, and only here: without tracing it costs no memory and no time.
 * 2. Neither pods nor calls wait for a collector: spans are exported in the background, and dropped if they cannot be.
 * 3. The spans that wait for export are bounded in number.
 */
export async function startTracing(settings: TracingSettings | undefined, deps: TracingDeps): Promise<Tracing> {
  if (settings === undefined) return NO_TRACING;
  const { openTracer } = await import('./open-tracer.ts');
  return openTracer(settings, deps);
}
